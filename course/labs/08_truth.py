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
# # Lab 8. The verdict against the truth
#
# *35 minutes. Afterwards you can hold an estimate against the truth of its own faces, say how many intervals should
# miss by chance, and read a verdict with a tolerance. Needs: labs 6 and 7 (intervals, pairs, a regression).*
#
# *Women* and *men* are short for drawn faces that raters perceive so, or whose gender was set so. No number here is
# about groups of real people.

# %% [markdown] tags=["slide"]
# # The verdict against the truth
#
# ## One question, two answers
#
# Does dark skin make the model err on women?
#
# - Session 1 **counted** portraits.
# - Session 7 **experimented** on made faces.
#
# *Predict:* where does the truth lie?

# %% tags=["slide"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from course.lab import load

women = load("portraits").query("group == 'female'")
effect = load("versions").query(
    "arm == 'C crowd' and cell == 'female' and attribute == 'skin_colour'"
)
effect = effect.set_index("model").loc[["celeba-like", "fairface-like"]]
plt.rcParams["font.size"] = 15
fig, axes = plt.subplots(1, 2, figsize=(11, 3.4), sharex=True, sharey=True)
for ax, model in zip(axes, ("celeba-like", "fairface-like"), strict=True):
    by_skin = women.groupby("skin", observed=True)[f"error_{model}"].agg(["mean", "sem"])
    gap = 100 * (by_skin.loc["dark", "mean"] - by_skin.loc["light", "mean"])
    margin = 196 * np.hypot(*by_skin["sem"])
    row = 100 * effect.loc[model, ["estimate", "low", "high"]].astype(float)
    ends = [[row["estimate"] - row["low"]], [row["high"] - row["estimate"]]]
    ax.errorbar(gap, 2, xerr=margin, fmt="o", color="saddlebrown", capsize=4)
    ax.errorbar(row["estimate"], 1, xerr=ends, fmt="s", color="black", capsize=4)
    ax.text(4, 0, "?", fontsize=16, weight="bold", va="center", ha="center")
    ax.axvline(0, color="grey", linewidth=1)
    ax.set(title=f"{model}: {gap:+.1f} or {row['estimate']:+.1f} points", ylim=(-0.6, 2.6))
    ax.set_yticks([2, 1, 0], ["counted gap", "found effect", "truth"])
    ax.set_xlabel("dark − light, women (points)")
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# ## The truth, by intervention
#
# 1. Take a drawn face. Set its skin to light, then to dark.
# 2. Keep **everything else**.
# 3. Ask the model twice. Subtract the errors.
#
# The mean over many faces is the true effect.

# %% tags=["slide"]
plt.rcParams["font.size"] = 15
fig, ax = plt.subplots(figsize=(10, 2.8))
for place, row in enumerate(effect.iloc[::-1].to_dict("records")):
    found, low, high = (100 * row[name] for name in ("estimate", "low", "high"))
    ends = [[found - low], [high - found]]
    ax.errorbar(found, place, xerr=ends, fmt="s", color="black", capsize=4)
    ax.plot(100 * row["truth"], place + 0.22, "v", color="tab:red", markersize=10)
    ax.annotate(f"truth {100 * row['truth']:+.1f}", (100 * row["truth"], place + 0.36))
ax.axvline(0, color="grey", linewidth=1)
ax.set_yticks([0, 1], ["fairface-like", "celeba-like"])
ax.set(ylim=(-0.4, 1.7), xlabel="effect of dark skin on women, made faces (points)")
held = ((effect["low"] <= effect["truth"]) & (effect["truth"] <= effect["high"])).sum()
ax.set_title(f"{held} of 2 found intervals hold their truth")
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# ## One face, all eight versions
#
# Above perceived as female, below as male; light and dark skin; short and long hair.
#
# ![One drawn face in eight versions: two rows by perceived gender, with light and dark skin and with short and long hair.](faces/08.jpg)
#
# *In this world we know the true effect on each version.*

# %% [markdown] tags=["slide"]
# ## Whose truth?
#
# - The counted gap is about **women in portraits**.
# - The found effect is about **made faces**.
# - Each has a truth of its own. Compare with that one alone.
#
# *Predict:* of 36 honest 95% intervals, how many should miss?

# %% [markdown] tags=["slide"]
# ## Honest intervals miss too
#
# An honest 95% interval holds its truth 19 times in 20. Cells that share faces miss together.
#
# Below: an **ideal** experiment, with perfect raters.

# %% tags=["slide"]
shown = load("versions").query("arm == 'A exact' and scope == 'cell' and model != 'null'")
missed = (shown["truth"] < shown["low"]) | (shown["truth"] > shown["high"])
plt.rcParams["font.size"] = 15
fig, ax = plt.subplots(figsize=(11, 3.7))
ax.axhline(0, color="black", linewidth=1)
for part, colour, marker in ((~missed, "grey", "o"), (missed, "tab:red", "X")):
    off = 100 * shown[["estimate", "low", "high"]].sub(shown["truth"], axis=0)[part]
    ends = [off["estimate"] - off["low"], off["high"] - off["estimate"]]
    at = np.flatnonzero(part)
    ax.errorbar(at, off["estimate"], yerr=ends, fmt=marker, color=colour, markersize=7)
ax.set(ylabel="found − truth (points)", xlabel="cells of three models", xticks=[])
ax.set_title(
    f"{missed.sum()} of {len(shown)} intervals miss (red crosses), 0.05 × {len(shown)} expected"
)
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# ## Three words
#
# Effects up to a **tolerance** do not matter: 5 points.
#
# - *exceeds*: the 95% interval lies wholly beyond
# - *within*: the 90% interval lies wholly inside
# - *inconclusive*: the data cannot tell

# %% [markdown] tags=["slide"]
# ## One coefficient, or pairs?
#
# A regression with one coefficient for skin gives **one sign** to all four cells.
#
# Pairs give each cell its own number.
#
# You will hold both against the truth.

# %% [markdown]
# The table `versions` holds a row per effect. The attribute goes from its low to its high level: from light to dark
# skin, from short to long hair, from a female to a male face. An effect is the change of the model's error rate. In a
# *cell* the two other attributes stay at one level.
#
# The experiment was repeated in versions (`arm`). This lab looks at four:
#
# | `arm` | Images |
# |---|---|
# | `A exact` | ideal ones: one attribute moves, others stay, and raters make no mistake |
# | `C crowd` | those of session 7, the real experiment |
# | `D pruned` | those of C, without images that look fake or unclear |
# | `E complete` | those of C, from the faces that lost no image in D |
#
# `truth` is the true effect of the same cell, by intervention. `worse` and `better` count the pairs in which the model errs
# at the high level alone, and at the low level alone. `n` counts all pairs.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy.stats import binom

from course.lab import check, load
from faceaudit import effects

versions = load("versions")
points = ["estimate", "low", "high", "truth", "truth_se"]
versions[points] = 100 * versions[points]  # in percentage points

# %% [markdown]
# The model `null` errs by chance alone. Leave it out: look at the other three models, cell by cell.

# %%
every = versions[(versions["scope"] == "cell") & (versions["model"] != "null")]
every = every[every["arm"].isin(["A exact", "C crowd", "D pruned", "E complete"])]
cells = every[every["arm"] == "C crowd"].reset_index(drop=True)
cells[["model", "attribute", "cell", "estimate", "low", "high", "truth"]].head()

# %% [markdown]
# ## Exercise 1. Do the intervals hold the truth? (8 minutes)
#
# Count the rows of `cells` whose interval, from `low` to `high`, contains `truth`: give `caught`. Join two conditions on
# columns by `&`, each in brackets: `(a <= b) & (b <= c)`.

# %% tags=["solution"]
# A comparison of two columns is a column of True and False, and its sum is a count.
inside = (cells["low"] <= cells["truth"]) & (cells["truth"] <= cells["high"])
caught = inside.sum()

# %% tags=["check"]
check("truth-caught", caught)

# %% tags=["mistake"]
# You counted the intervals that miss the truth.
caught = (~inside).sum()

# %% tags=["mistake"]
# You counted the intervals that contain zero. The question is about the truth.
caught = ((cells["low"] <= 0) & (cells["high"] >= 0)).sum()

# %% tags=["mistake"]
# You took all versions of the experiment. Take the rows of `cells`.
caught = ((every["low"] <= every["truth"]) & (every["truth"] <= every["high"])).sum()

# %% [markdown] tags=["hint"]
# Two conditions must hold: `low` is at most `truth`, and `truth` is at most `high`.

# %% [markdown]
# How bad is that? An honest 95% interval misses with a chance of 0.05. Suppose that the intervals of `cells` missed
# independently. Give `luck = [expected, chance]`: the number of misses that you would **expect**, and the **chance**, as a
# share, of at least as many misses as you found. `binom.sf(k, n, p)` is the chance of *more than* k misses among n.

# %% tags=["solution"]
missed = len(cells) - caught
expected = 0.05 * len(cells)
luck = [expected, binom.sf(missed - 1, len(cells), 0.05)]

# %% tags=["check"]
check("truth-luck", luck)

# %% tags=["mistake"]
# `binom.sf(k, …)` is the chance of more than k. At least k is more than k - 1.
luck = [expected, binom.sf(missed, len(cells), 0.05)]

# %% tags=["mistake"]
# This is the chance of exactly so many misses. Take "at least".
luck = [expected, binom.pmf(missed, len(cells), 0.05)]

# %% tags=["mistake"]
# This is how many intervals you expect to hold the truth. Give the expected misses.
luck = [0.95 * len(cells), binom.sf(missed - 1, len(cells), 0.05)]

# %% [markdown] tags=["hint"]
# The expected number is 0.05 times the number of rows. For the chance use `binom.sf` with the misses less one.

# %% [markdown]
# Cells share their faces, so their misses come together more often than this calculation allows. Read the chance as a
# guide.

# %% [markdown]
# ## Exercise 2. Who was right: one coefficient, or pairs? (9 minutes)
#
# The table `images` holds the images of the same experiment. The next cell fits a logistic regression of one model's
# errors on the three levels, without interactions, as in lab 7. What does it say about dark instead of light skin in each of
# four cells? `of_skin` has the pairs' estimates and the truth in these cells, which stand in `places`.

# %%
model = "plantskin"
images = load("images").rename(columns={f"error_{model}": "error"})
formula = "error ~ skin_colour_level + hair_length_level + gender_level"
fit = smf.logit(formula, images).fit(disp=0)
places = pd.DataFrame(
    {"hair_length_level": [0, 0, 1, 1], "gender_level": [0, 1, 0, 1]},
    index=["female, short hair", "male, short hair", "female, long hair", "male, long hair"],
)
of_skin = cells[(cells["model"] == model) & (cells["attribute"] == "skin_colour")]
of_skin = of_skin.set_index("cell").loc[places.index]
of_skin[["estimate", "low", "high", "truth"]].round(1).rename_axis(columns=model)

# %% [markdown]
# Predict the error rate in `places` with dark skin (level 1) and with light skin (level 0). Give `implied`, the four
# differences in percentage points. `fit.predict(table)` gives the rate for each row. `table.assign(column=0)` sets a column.

# %% tags=["solution"]
# The rates with dark skin, the rates with light skin, and their difference.
dark = fit.predict(places.assign(skin_colour_level=1))
light = fit.predict(places.assign(skin_colour_level=0))
implied = 100 * (dark - light)

# %% tags=["check"]
check("truth-implied", implied)

# %% tags=["mistake"]
# These are error rates with dark skin. Subtract those with light skin.
implied = 100 * dark

# %% [markdown] tags=["hint"]
# `places.assign(skin_colour_level=1)` is the table of the four cells with dark skin. Hand it to `fit.predict`.

# %% [markdown] tags=["hint"]
# Predict twice, with level 1 and with level 0. Subtract, and multiply by 100.

# %% [markdown]
# The function below draws both beside the truth. Call it with your `implied`.


# %%
def draw(implied):
    """Draw what the coefficient and the pairs say, and the truth."""
    shown = {"truth": of_skin["truth"], "pairs": of_skin["estimate"], "one coefficient": implied}
    ax = pd.DataFrame(shown).plot.barh(color=["black", "tab:blue", "tan"], figsize=(6, 3))
    ax.set(title=model, xlabel="effect of dark skin (points)", ylabel="")


# %% tags=["solution"]
# Call the function.
draw(implied)

# %% [markdown]
# Now give `distances = [one coefficient, pairs]`: the **typical distance** of each from the truth over the four cells. It
# is the root of the mean squared difference.

# %% tags=["solution"]
# Square the differences, take their mean, and then the root.
truth = of_skin["truth"]
distances = [np.sqrt(((one - truth) ** 2).mean()) for one in (implied, of_skin["estimate"])]

# %% tags=["check"]
check("truth-distances", distances)

# %% tags=["mistake"]
# Differences of both signs cancel in a plain mean. Square them first.
distances = [(one - truth).mean() for one in (implied, of_skin["estimate"])]

# %% tags=["mistake"]
# This is the mean distance. Take the root of the mean *squared* difference.
distances = [(one - truth).abs().mean() for one in (implied, of_skin["estimate"])]

# %% tags=["mistake"]
# A standard deviation leaves out the mean difference. Square the differences themselves.
distances = [(one - truth).std() for one in (implied, of_skin["estimate"])]

# %% [markdown] tags=["hint"]
# `np.sqrt(((estimate - truth) ** 2).mean())` is the typical distance of an estimate.

# %% [markdown]
# ## Exercise 3. Three words, and the truth (8 minutes)
#
# The tolerance is 5 points. A verdict needs the 95% interval and the 90% interval. The next cell computes the latter
# from the pairs, with 1.645 instead of 1.96.

# %%
ends = [
    effects.paired_interval(row["worse"], row["better"], row["n"], 1.645)
    for _, row in cells.iterrows()
]
cells = cells.assign(low90=[100 * low for low, _ in ends], high90=[100 * high for _, high in ends])
cells[["low", "low90", "estimate", "high90", "high"]].head().round(1)

# %% [markdown]
# `effects.verdict(low, high, low90, high90, tolerance)` says *exceeds*, *within* or *inconclusive* of each row. It takes whole
# columns, without a loop: `low` is `cells["low"]`. Give `verdicts`. Then set the verdicts beside the truth: `truly` says whether the
# true effect lies beyond 5 points, up or down. `counts` is a table of counts with a row per verdict and a column per value of
# `truly`: `pd.crosstab(rows, columns)` makes it.

# %% tags=["solution"]
# The tolerance has the unit of the intervals. A true effect below -5 is beyond the tolerance too.
verdicts = effects.verdict(cells["low"], cells["high"], cells["low90"], cells["high90"], 5)
truly = cells["truth"].abs() > 5
counts = pd.crosstab(verdicts, truly)
print(counts)

# %% tags=["check"]
check("truth-verdicts", verdicts)

# %% tags=["mistake"]
# The intervals are in points, so the tolerance is 5.
verdicts = effects.verdict(cells["low"], cells["high"], cells["low90"], cells["high90"], 0.05)

# %% tags=["mistake"]
# You took the 95% interval twice. "Within" asks for the 90% interval.
verdicts = effects.verdict(cells["low"], cells["high"], cells["low"], cells["high"], 5)

# %% [markdown] tags=["hint"]
# Hand over four columns of `cells`, in the order of the names, and then the tolerance in points.

# %% tags=["check"]
check("truth-counts", counts)

# %% tags=["mistake"]
# An effect of -6 points is beyond the tolerance too. Take the absolute value of the truth.
counts = pd.crosstab(verdicts, cells["truth"] > 5)

# %% tags=["mistake"]
# You compared the estimate with 5 points. Take the truth.
counts = pd.crosstab(verdicts, cells["estimate"].abs() > 5)

# %% [markdown] tags=["hint"]
# Rows are `verdicts`, columns are `truly`. The absolute value of a column is `column.abs()`.

# %% [markdown]
# Read your table. How many verdicts are firm (not *inconclusive*) and wrong? How many true effects beyond the tolerance were called
# *inconclusive*? Session 9 asks how many faces would have told.

# %% [markdown]
# ## Exercise 4. Fewer misses, better method? (5 minutes)
#
# For each of the four versions in `every`, give the number of intervals that **missed** and the mean **width** in points: a
# table `by_version` with the columns `missed` and `width`. `every.assign(missed=…, width=…)` adds columns, and
# `.groupby("arm").agg({"missed": "sum", "width": "mean"})` sums up the one and averages the other.

# %% tags=["solution"]
# Group by `arm`. A sum of True and False is a count.
outside = (every["truth"] < every["low"]) | (every["truth"] > every["high"])
both = every.assign(missed=outside, width=every["high"] - every["low"])
by_version = both.groupby("arm").agg({"missed": "sum", "width": "mean"})
print(by_version.round(1))

# %% tags=["check"]
check("truth-versions", by_version)

# %% tags=["mistake"]
# `missed` is a share here. Give the number.
by_version = both.groupby("arm")[["missed", "width"]].mean()

# %% tags=["mistake"]
# You counted misses on one side. An interval can lie wholly below the truth, or wholly above it.
one = every.assign(missed=every["truth"] < every["low"], width=every["high"] - every["low"])
by_version = one.groupby("arm").agg({"missed": "sum", "width": "mean"})

# %% tags=["mistake"]
# You counted misses on one side. An interval can lie wholly above the truth, or wholly below it.
one = every.assign(missed=every["truth"] > every["high"], width=every["high"] - every["low"])
by_version = one.groupby("arm").agg({"missed": "sum", "width": "mean"})

# %% tags=["mistake"]
# This is half the width. The width is `high` minus `low`.
half = both.assign(width=both["width"] / 2)
by_version = half.groupby("arm").agg({"missed": "sum", "width": "mean"})

# %% tags=["mistake"]
# You grouped by model. Group by the version, `arm`.
by_version = both.groupby("model").agg({"missed": "sum", "width": "mean"})

# %% [markdown] tags=["hint"]
# An interval missed where `truth` is below `low` or above `high`. "Or" is `|`. Its width is `high` minus `low`.

# %% [markdown]
# `A exact` is ideal, and its intervals miss too: by chance its faces differ from all faces. Compare `C crowd` with
# `E complete`. Which one misses less often? Look at the width of its intervals before you recommend it.

# %% [markdown]
# ## What would change your mind? (5 minutes)
#
# Write three sentences. You trust pairs more than one coefficient: which result of exercise 2 would have turned this
# around? What could still be wrong with pairs: which misses would tell you that the *method* is at fault, and not bad luck? (The
# last table of [the handout](handouts/08.html) lists causes.) What would you decide about `plantskin`?

# %% [markdown]
# ## If you have time
#
# Is one coefficient always worse? Set `model` to `"fairface-like"` in exercise 2. Run the cells from there to `distances`, and
# print `distances`. (Their checks are for `plantskin`.)

# %% [markdown] tags=["instructor"]
# More misses than expected in many repetitions of version A would speak against the method. Misses of one experiment come in
# clusters, since cells share faces. In the table of exercise 3 look for firm and wrong verdicts, and for true effects beyond the
# tolerance that stay undecided. In that of exercise 4 the version with the fewest misses has the widest intervals: it pays for its
# safety. Where a model's effects have two signs, one coefficient fails. Where nearly all are small, it does no harm.
