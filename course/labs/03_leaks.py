# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 3. Matched faces, and what comes along
#
# *35 minutes. Afterwards you can measure what else changes when a generator changes skin, say how
# sure you are, and find what it does to an effect. Needs: labs 1 and 2, standard deviations, the
# interval of a mean. "Women" and "men" are short for faces that raters perceive so.*

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from course.lab import check, load

# %% [markdown] tags=["slide"]
# # Matched faces, and what comes along
#
# ## A generator has no button for skin
#
# It has a direction along which skin darkens. A **transect** moves one face along such directions,
# to all combinations of skin, hair and gender.
#
# **Is skin all that changes?**

# %% [markdown] tags=["slide"]
# ## One face, moved along skin

# %% tags=["slide"]
walk = load("walks").query("attribute == 'skin_colour'").reset_index(drop=True)
moved = walk["hair_colour"].iloc[-1] - walk["hair_colour"].iloc[0]
with plt.rc_context({"font.size": 17}):
    fig, ax = plt.subplots(figsize=(9, 4.6))
    for name in ("skin_colour", "hair_colour", "earrings", "hair_length"):
        width = 3 if name in ("skin_colour", "hair_colour") else 1
        ax.plot(walk["decision value"], walk[name], lw=width)
        ax.text(1.65, walk[name].iloc[-1], name.replace("_", " "), va="center")
    ax.set(xlim=(-1.5, 2.5), xlabel="step along skin", ylabel="true value, 0 to 1")
    ax.set_title(f"Hair colour changes too, by {moved:.2f}".replace("-", "−"))
    ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## What came along?
#
# Above, skin alone changes. Below, the hair darkens with it.
#
# ![One drawn woman in two rows of five. From left to right her skin darkens; in the lower row her hair darkens too.](faces/03.jpg)
#
# *In which row could you blame skin?*

# %% [markdown] tags=["slide"]
# ## Leak
#
# A **leak** is the mean change of something that should have stayed.
#
# Its unit is a standard deviation among sampled faces.
#
# *Predict:* by how many does hair colour move when skin goes from light to dark?

# %% [markdown] tags=["slide"]
# ## Three kinds of vectors
#
# - **raw**: where the attribute grows fastest
# - **printed**: the papers' algorithm, as printed
# - **dual**: moves one attribute and holds all others *that raters were asked about*

# %% tags=["slide"]
table = load("leakage").query("moved != measured")
size = (table["change"] / table["measured"].map(load("sampled").std())).abs()
asked = ~table["measured"].isin(["hair_colour", "earrings"])
kinds = ["raw", "printed", "dual"]
with plt.rc_context({"font.size": 17}):
    fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, sharex=True)
    for ax, rows, title in zip(axes, (asked, ~asked), ("asked about", "not asked"), strict=True):
        mean = size[rows].groupby(table["basis"]).mean()[kinds[::-1]]
        ax.barh(mean.index, mean, color="steelblue")
        for row, value in enumerate(mean):
            ax.text(value + 0.01, row, f"{value:.2f}", va="center")
        ax.set(title=title, xlabel="mean size of a leak (SD)", xlim=(0, 0.5))
        ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## A hidden leak
#
# A **hidden leak** is a leak in something that raters were not asked about.
#
# If the model reacts to it, its effect is booked as an effect of skin.

# %% [markdown] tags=["slide"]
# ## The gate
#
# The book's own arm is corrected in rounds, until a **gate** is passed.
#
# No model is asked before. Raters and automatic measures must see all leaks below a limit that was
# fixed in advance.

# %% [markdown] tags=["slide"]
# ## What you will measure
#
# 1. what moves along, by the papers' recipe
# 2. what moves along in the book's arm
# 3. how sure we are
# 4. what it does to an effect

# %% [markdown]
# ## Exercise 1. What moves along with skin (12 minutes)
#
# A *leak* is a change of something that should have stayed. **Play.** `play` shows what changes
# (column) when one attribute is moved on purpose (row), on average over faces whose truth is
# known. Colours are standard deviations (SD) among sampled faces. There are three kinds of vectors
# to move along:
#
# - "raw" goes where the attribute grows fastest.
# - "printed" respects the attributes listed before, as the papers' algorithm was printed.
# - "dual" holds all others that raters were asked about.
#
# Run `play` with each. In the row `skin_colour`, which columns stay coloured in all three?

# %%
leakage = load("leakage")
sd = load("sampled").std()  # standard deviation of each attribute among sampled faces
sd.round(3)


# %%
def play(basis):
    """Show what moves along with each attribute, by one kind of vectors."""
    rows = leakage[leakage["basis"] == basis]
    grid = rows.pivot_table("change", "moved", "measured") / sd
    grid = grid[[*grid.index, "hair_colour", "earrings"]]
    away = grid.where(grid.index.to_numpy()[:, None] != grid.columns.to_numpy())
    _, ax = plt.subplots(figsize=(6.5, 4))
    mesh = ax.pcolormesh(away, cmap="PuOr", vmin=-1, vmax=1, edgecolors="white")
    ax.set_xticks(np.arange(grid.shape[1]) + 0.5, grid.columns, rotation=40, ha="right")
    ax.set_yticks(np.arange(len(grid)) + 0.5, grid.index)
    ax.set(ylabel="moved", title=f"{basis}: change along each attribute")
    ax.figure.colorbar(mesh, label="SD")


play("raw")

# %% [markdown]
# **Compute.** The papers' recipe uses the basis "dual". Take its rows with `moved` "skin_colour".
# Divide each `change` by the standard deviation of what was measured. Leave out skin itself. The
# result is `leak_papers`, a series with the names of what changed, in the order of the table.
# `leak_papers.sort_values(key=abs).plot.barh()` draws it, the largest on top.
#
# - `.set_index("measured")["change"]` turns the rows into a series with names.
# - `.drop("skin_colour")` leaves a name out.
# - `series / sd[series.index]` divides each by the number of the same name.

# %% tags=["solution"]
# First the rows, then the series of changes, then leaks. Draw them.
row = leakage[(leakage["basis"] == "dual") & (leakage["moved"] == "skin_colour")]
change = row.set_index("measured")["change"].drop("skin_colour")
leak_papers = change / sd[change.index]
leak_papers.sort_values(key=abs).plot.barh(xlabel="leak along skin (SD)", figsize=(5, 2.8))

# %% tags=["check"]
check("leak-papers", leak_papers)

# %% tags=["mistake"]
# These are changes on the attributes' own scales. Divide each by its standard deviation.
leak_papers = change

# %% tags=["mistake"]
# Skin itself is still in. Leave it out.
leak_papers = row.set_index("measured")["change"] / sd[row["measured"]]

# %% tags=["mistake"]
# You lost the signs. A leak has a direction.
leak_papers = (change / sd[change.index]).abs()

# %% tags=["mistake"]
# These are the raw vectors. The papers' recipe uses the basis "dual".
raw = leakage.query("basis == 'raw' and moved == 'skin_colour'").set_index("measured")["change"]
leak_papers = (raw / sd[raw.index]).drop("skin_colour")

# %% tags=["mistake"]
# These are changes of skin along the others. Keep the rows whose `moved` is "skin_colour".
other = leakage.query("basis == 'dual' and measured == 'skin_colour'").set_index("moved")["change"]
leak_papers = (other / sd["skin_colour"]).drop("skin_colour")

# %% [markdown] tags=["hint"]
# `leakage[(leakage["basis"] == …) & (leakage["moved"] == …)]` keeps the rows. Make them a series
# with names.

# %% [markdown] tags=["hint"]
# Name the series `change`, without skin. Divide it by `sd[change.index]`.

# %% [markdown]
# ## Exercise 2. The book's arm, and how sure we are (9 minutes)
#
# An *arm* is a set of faces made in one way. `perceived` has the book's own arm, with the mean
# scores of raters. Each of 400 faces (`transect`) is there with four images of light skin
# (`skin_colour_level` 0) and four of dark skin (1). Here are its leaks beside the papers'.
#
# The papers' leaks are known truth. The book's are means of raters, with noise. Raters were not
# asked about hair colour and earrings: the book's gate asked automatic measures instead.

# %%
perceived = load("images")
ASKED = ["gender", "facial_hair", "age", "makeup", "smiling", "hair_length"]
means = perceived.groupby("skin_colour_level")[ASKED].mean()
leak_book = (means.loc[1] - means.loc[0]) / sd[ASKED]
pd.DataFrame({"papers": leak_papers, "book": leak_book})

# %% [markdown]
# How sure is a leak? Take `facial_hair`. For each face, compute the mean score of its images with
# dark skin minus that with light skin, in SD. The faces are the units: 400 differences. Give the
# 95% interval of their mean, `[low, high]`, as mean ± 1.96 · s / √n, where s is the standard
# deviation of the differences (`.std()`).

# %% tags=["solution"]
by_face = perceived.pivot_table("facial_hair", "transect", "skin_colour_level")
differences = (by_face[1] - by_face[0]) / sd["facial_hair"]
half = 1.96 * differences.std() / len(differences) ** 0.5
interval = [differences.mean() - half, differences.mean() + half]

# %% tags=["check"]
check("leak-interval", interval)

# %% tags=["mistake"]
# You divided by the root of all images. They come in eights from one face. The faces are the units.
wrong = 1.96 * differences.std() / len(perceived) ** 0.5
interval = [differences.mean() - wrong, differences.mean() + wrong]

# %% tags=["mistake"]
# You compared two groups of images. Compare each face with itself: the faces are the units.
groups = perceived.groupby("skin_colour_level")["facial_hair"]
wrong = 1.96 * (groups.var() / groups.size()).sum() ** 0.5 / sd["facial_hair"]
interval = [differences.mean() - wrong, differences.mean() + wrong]

# %% tags=["mistake"]
# This interval is about single faces. For their mean, divide by the root of their number.
wrong = 1.96 * differences.std()
interval = [differences.mean() - wrong, differences.mean() + wrong]

# %% tags=["mistake"]
# The ends are on the scale of the raters. Give them in standard deviations.
interval = [end * sd["facial_hair"] for end in interval]

# %% [markdown] tags=["hint"]
# `perceived.pivot_table("facial_hair", "transect", "skin_colour_level")` has a row per face, with
# columns 0 and 1.

# %% [markdown] tags=["hint"]
# Subtract column 0 from column 1, and divide by `sd["facial_hair"]`. Then use `.mean()`, `.std()`
# and `len`.

# %% [markdown]
# Does your interval contain 0? Does it reach beyond 0.15 SD, the limit of the book's gate? These
# are two questions.

# %% [markdown]
# ## Exercise 3. What leaks do to an effect (8 minutes)
#
# `women` has errors on women with short hair, made in four ways. In "papers" and "book" faces are
# as their recipe made them. In "papers, held" and "book, held" the same faces have the same skin,
# but hair colour, earrings and all else that should have stayed are set back by hand. Only a world
# with known truth allows this. An error is a difference from what raters without noise would say.
#
# The model is `plantskin`, a control into which a bias was planted. Compute the effect of dark skin
# on its errors, in points, in all four ways: `effect`, a series. Give `cost` as two numbers: first
# `papers` minus `papers, held`, then `book` minus `book, held`.

# %%
WAYS = {"papers": "papers", "papers, doses": "papers, held"}  # the book's names, and ours
WAYS |= {"B fitted": "book", "A3 doses": "book, held"}
arms = load("arms").query("arm in @WAYS").replace({"arm": WAYS})
arms["skin"] = arms["skin_colour_level"].map({0: "light", 1: "dark"})
women = arms[(arms["gender_level"] == 0) & (arms["hair_length_level"] == 0)]
women[["arm", "transect", "skin", "error_plantskin"]].head(4)

# %% tags=["solution"]
rates = 100 * women.pivot_table("error_plantskin", "arm", "skin")
effect = rates["dark"] - rates["light"]
cost = [effect["papers"] - effect["papers, held"], effect["book"] - effect["book, held"]]

# %% tags=["check"]
check("leak-cost", cost)

# %% tags=["mistake"]
# These are the effects themselves. Subtract from each the effect on the faces that were held.
cost = [effect["papers"], effect["book"]]

# %% tags=["mistake"]
# This is `effect`. `cost` has two differences of its numbers.
cost = effect

# %% tags=["mistake"]
# These are all faces. Take the table `women`.
rates = 100 * arms.pivot_table("error_plantskin", "arm", "skin")
effect = rates["dark"] - rates["light"]
cost = [effect["papers"] - effect["papers, held"], effect["book"] - effect["book, held"]]

# %% tags=["mistake"]
# This is another model. The question is about plantskin.
rates = 100 * women.pivot_table("error_celeba-like", "arm", "skin")
effect = rates["dark"] - rates["light"]
cost = [effect["papers"] - effect["papers, held"], effect["book"] - effect["book, held"]]

# %% tags=["mistake"]
# This is the model fairface-like. The question is about plantskin.
rates = 100 * women.pivot_table("error_fairface-like", "arm", "skin")
effect = rates["dark"] - rates["light"]
cost = [effect["papers"] - effect["papers, held"], effect["book"] - effect["book, held"]]

# %% [markdown] tags=["hint"]
# Make a pivot table of `women`, with rows `arm` and columns `skin`.

# %% [markdown] tags=["hint"]
# `effect = rates["dark"] - rates["light"]` has one number a way of making faces.
# `effect["papers"]` is one of them.

# %% [markdown]
# Look at `effect`, too. Does what travels with skin add to the effect of skin, or hide some of it?
# With faces as units, the 95% intervals of the two costs are your numbers ± 2.3 and ± 1.3. Which
# of them contains 0? We chose this cell of this model after we had seen all cells, because it
# shows the idea well.

# %% [markdown]
# ## What would change your mind? (6 minutes)
#
# A report by the papers' recipe gives the effect of dark skin on women with short hair, as your
# `effect["papers"]`. Write three sentences. Which of your numbers would you show its authors?
# Which measurements, taken before any model is asked, would let you trust the report, and what
# could still be wrong then? What would you decide about the report today?
# [Handout 3](handouts/03.html) helps.

# %% [markdown] tags=["instructor"]
# What changes once all else is put back was carried by things that travel with skin. It can add to
# an effect or hide some of it. The next cell has the cost in all cells and models, with intervals
# whose units are faces. Note N10 has the size over all cells. The measurements to ask for: leaks of
# everything that a model can see, also of what the audit did not ask about.

# %% tags=["instructor"]
rows = {}
arms["cell"] = arms["gender_level"].map({0: "women, ", 1: "men, "})
arms["cell"] += arms["hair_length_level"].map({0: "short", 1: "long"})
for model in ("celeba-like", "fairface-like", "plantskin"):
    grid = arms.pivot_table(f"error_{model}", ["cell", "transect"], ["arm", "skin"])
    one = {arm: 100 * (grid[arm]["dark"] - grid[arm]["light"]) for arm in WAYS.values()}
    for arm in ("papers", "book"):
        more = (one[arm] - one[f"{arm}, held"]).groupby("cell")
        rows[model, arm] = pd.concat({"cost": more.mean(), "±": 1.96 * more.sem()}, axis=1)
pd.concat(rows, names=["model", "made by"]).round(1)
