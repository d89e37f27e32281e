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
# # Lab 3. Matched faces, and what stows away
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
# # Matched faces, and what stows away
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
# ## A stowaway
#
# A **stowaway** is a leak that travels unseen: in something that raters were not asked about.
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
# ## A picture to play with (part of exercise 1)
#
# `play` shows what moves along. A row is moved on purpose, and a column is what changed, on
# average over faces whose truth is known. Colours are standard deviations among sampled faces. Run
# it with "raw", "printed" and "dual". Which columns stay coloured in all three?

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
# ## Exercise 1. What moves along with skin (9 minutes)
#
# The papers' recipe uses the basis "dual". Take its rows with `moved` "skin_colour". Divide each
# `change` by the standard deviation of what was measured. Leave out skin itself. Sort from the
# largest to the smallest **size**, whatever the sign. The result is `leak_papers`, a series with
# the names of what changed. Draw it with `.plot.barh()`.
#
# - `.set_index("measured")["change"]` turns the rows into a series with names.
# - `.drop("skin_colour")` leaves a name out.
# - `series / sd[series.index]` divides each by the number of the same name.
# - `.sort_values(key=abs, ascending=False)` sorts by size.

# %% tags=["solution"]
# First the rows, then the series of changes, then leaks.
row = leakage[(leakage["basis"] == "dual") & (leakage["moved"] == "skin_colour")]
change = row.set_index("measured")["change"].drop("skin_colour")
leak_papers = (change / sd[change.index]).sort_values(key=abs, ascending=False)
leak_papers[::-1].plot.barh(color="steelblue", xlabel="leak along skin (SD)", figsize=(5, 2.8))

# %% tags=["check"]
check("leak-papers", leak_papers)

# %% tags=["mistake"]
# These are changes on the attributes' own scales. Divide each by its standard deviation.
leak_papers = change.sort_values(key=abs, ascending=False)

# %% tags=["mistake"]
# You sorted with the sign. Sort by size: `sort_values(key=abs, ascending=False)`.
leak_papers = (change / sd[change.index]).sort_values(ascending=False)

# %% tags=["mistake"]
# These are the raw vectors. The papers' recipe uses the basis "dual".
raw = leakage.query("basis == 'raw' and moved == 'skin_colour'").set_index("measured")["change"]
leak_papers = (raw / sd[raw.index]).drop("skin_colour").sort_values(key=abs, ascending=False)

# %% tags=["mistake"]
# These are changes of skin along the others. Keep the rows whose `moved` is "skin_colour".
other = leakage.query("basis == 'dual' and measured == 'skin_colour'").set_index("moved")["change"]
leak_papers = (other / sd["skin_colour"]).drop("skin_colour").sort_values(key=abs, ascending=False)

# %% [markdown] tags=["hint"]
# `leakage[(leakage["basis"] == …) & (leakage["moved"] == …)]` keeps eight rows and the one of skin
# itself.

# %% [markdown] tags=["hint"]
# Name the series of changes, then drop skin, then divide by `sd[...]` with the index of the
# series. Sort last.

# %% [markdown]
# ## Exercise 2. The book's arm (7 minutes)
#
# `perceived` has the images of the book's own arm, with the mean scores of raters. Each of 400
# faces (`transect`) is there with four images of light skin (`skin_colour_level` 0) and four of
# dark skin (1).
#
# Compute the mean of each attribute in `ASKED` at dark skin minus that at light skin, in standard
# deviations: `leak_book`, a series in the order of `ASKED`.

# %%
perceived = load("images")
ASKED = ["gender", "facial_hair", "age", "makeup", "smiling", "hair_length"]
perceived.head(3)

# %% tags=["solution"]
means = perceived.groupby("skin_colour_level")[ASKED].mean()
leak_book = (means.loc[1] - means.loc[0]) / sd[ASKED]

# %% tags=["check"]
check("leak-book", leak_book)

# %% tags=["mistake"]
# These are changes on the attributes' own scales. Divide by `sd[ASKED]`.
leak_book = means.loc[1] - means.loc[0]

# %% tags=["mistake"]
# You subtracted dark from light. A leak is dark minus light.
leak_book = (means.loc[0] - means.loc[1]) / sd[ASKED]

# %% tags=["mistake"]
# This is the leak along hair length. The question is about skin.
of_hair = perceived.groupby("hair_length_level")[ASKED].mean()
leak_book = (of_hair.loc[1] - of_hair.loc[0]) / sd[ASKED]

# %% [markdown] tags=["hint"]
# `perceived.groupby("skin_colour_level")[ASKED].mean()` has a row for light (0) and one for dark
# (1).

# %% [markdown] tags=["hint"]
# `.loc[1]` takes the row of dark skin. Divide by `sd[ASKED]`.

# %% [markdown]
# Put both side by side: `pd.DataFrame({"papers": leak_papers, "book": leak_book})`. Two cells are
# empty in the column "book": raters of the book's audit were not asked about hair colour and
# earrings. The book's gate asked automatic measures instead (chapter 5).

# %% [markdown]
# ## Exercise 3. How sure? (6 minutes)
#
# Take `facial_hair`. For each face, compute the mean score of its images with dark skin minus that
# with light skin, in standard deviations. The faces are the units: 400 differences. Give the 95 %
# interval of their mean, `[low, high]`, as mean ± 1.96 · s / √n, where s is the standard deviation
# of the differences (`.std()`).

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
# ## Exercise 4. What stowaways do to an effect (9 minutes)
#
# `arms` has errors on faces made in four ways. In "papers" and "book" faces are as their recipe
# made them. In "papers, held" and "book, held" the same faces have the same skin, hair length and
# gender, and all else was put back by hand. Only a world with known truth allows this. Labels are
# those of raters without noise.
#
# The model is `plantskin`, a control into which a bias was planted (chapter 2). Compute for
# **women with short hair** the effect of dark skin on its errors, in points, in all four ways:
# `effect`, a series. Give `cost` as two numbers: first `papers` minus `papers, held`, then `book`
# minus `book, held`.

# %%
WAYS = {"papers": "papers", "papers, doses": "papers, held"}
WAYS |= {"B fitted": "book", "A3 doses": "book, held"}
arms = load("arms").query("arm in @WAYS").replace({"arm": WAYS})
arms["skin"] = arms["skin_colour_level"].map({0: "light", 1: "dark"})
arms["hair"] = arms["hair_length_level"].map({0: "short", 1: "long"})
arms["gender"] = arms["gender_level"].map({0: "female", 1: "male"})
arms.groupby("arm").size()

# %% tags=["solution"]
women = arms[(arms["gender"] == "female") & (arms["hair"] == "short")]
rates = 100 * women.pivot_table("error_plantskin", "arm", "skin")
effect = rates["dark"] - rates["light"]
cost = [effect["papers"] - effect["papers, held"], effect["book"] - effect["book, held"]]

# %% tags=["check"]
check("leak-cost", cost)

# %% tags=["mistake"]
# These are the effects themselves. Subtract from each the effect on the faces that were held.
cost = [effect["papers"], effect["book"]]

# %% tags=["mistake"]
# The sign is turned around. Take the faces as made, minus those with the rest put back.
cost = [effect["papers, held"] - effect["papers"], effect["book, held"] - effect["book"]]

# %% tags=["mistake"]
# These are all women, also those with long hair.
table = 100 * arms[arms["gender"] == "female"].pivot_table("error_plantskin", "arm", "skin")
all_women = table["dark"] - table["light"]
cost = [
    all_women["papers"] - all_women["papers, held"],
    all_women["book"] - all_women["book, held"],
]

# %% tags=["mistake"]
# This is another model. The question is about plantskin.
table = 100 * women.pivot_table("error_celeba-like", "arm", "skin")
other = table["dark"] - table["light"]
cost = [other["papers"] - other["papers, held"], other["book"] - other["book, held"]]

# %% [markdown] tags=["hint"]
# Keep the rows with `gender` "female" and `hair` "short", then make a pivot table with rows `arm`
# and columns `skin`.

# %% [markdown] tags=["hint"]
# `effect = rates["dark"] - rates["light"]` has one number a way of making faces.
# `effect["papers"]` is one of them.

# %% [markdown]
# Look at `effect`, too. Does what travels with skin add to the effect of skin, or hide some of it?
# We chose this cell of this model after we had seen all cells, because it shows the idea well.
# Note N10 has the size over all of them.

# %% [markdown]
# ## What would change your mind? (4 minutes)
#
# A report by the papers' recipe gives the effect of dark skin on women with short hair, as your
# `effect["papers"]`. Write three sentences. Which of your numbers would you show its authors? Which
# one measurement, taken before any model is asked, would let you trust the report, and what could still be wrong
# then? What would you decide about the report today?

# %% [markdown] tags=["instructor"]
# What changes once all else is put back was carried by things that travel with skin. It can add to
# an effect or hide some of it. The next cell has the cost in all cells and models, with intervals
# whose units are faces. Note N10 has the size over all cells. The measurement to ask for: leaks of
# everything that a model can see, also of what the audit did not ask about.

# %% tags=["instructor"]
rows = {}
for model in ("celeba-like", "fairface-like", "plantskin"):
    grid = arms.pivot_table(f"error_{model}", ["gender", "hair", "transect"], ["arm", "skin"])
    one = {arm: 100 * (grid[arm]["dark"] - grid[arm]["light"]) for arm in WAYS.values()}
    for arm in ("papers", "book"):
        more = (one[arm] - one[f"{arm}, held"]).groupby(["gender", "hair"])
        rows[model, arm] = pd.concat({"cost": more.mean(), "±": 1.96 * more.sem()}, axis=1)
pd.concat(rows, names=["model", "made by"]).round(1)
