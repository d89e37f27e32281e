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
# # Lab 7. Pairs, and effects that cancel
#
# *35 minutes. Afterwards you can count whom a change of skin harms and whom it helps, test and bound that effect
# from matched pairs, and show how one coefficient hides two opposite effects. Needs: labs 1 and 6, a standard error,
# logistic regression.*

# %% [markdown] tags=["slide"]
# # Pairs, and effects that cancel
#
# ## Long hair raises the errors?
#
# Faces were made with short and with long hair. A model guesses their gender.
#
# *Predict:* draw the effect of long hair on the errors on women, and on men.

# %% tags=["slide"]
import matplotlib.pyplot as plt

from course.lab import load

BLUE, RED, PALE = "#0072B2", "#D55E00", "#eeeeee"
LARGE = {"font.size": 14, "axes.spines.top": False, "axes.spines.right": False}
made = load("images")
rates = 100 * made.groupby("hair_length_level")["error_celeba-like"].mean()
with plt.rc_context(LARGE):
    fig, ax = plt.subplots(figsize=(9, 2.8))
    ax.barh(["short hair", "long hair"], rates, color=["#bbbbbb", "#777777"])
    ax.bar_label(ax.containers[0], [f"{rate:.1f}%" for rate in rates], padding=6)
    ax.invert_yaxis()
    ax.set(xlabel="wrong answers of celeba-like, women and men together (%)")
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## A pair
#
# Above with short hair, below the same face with long hair.
#
# ![Five drawn faces with short hair, and below the same five faces with long hair.](faces/07.jpg)
#
# *What cancels in a difference?*

# %% [markdown] tags=["slide"]
# ## One face, eight pictures
#
# A **matched pair**: two pictures of one face, made to differ in skin alone.
# Only pairs that change sides show a difference. All pairs count in the rate.

# %% tags=["slide"]
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from scipy.stats import binom

from faceaudit import effects

CELLS = ["women, short hair", "women, long hair", "men, short hair", "men, long hair"]
levels = ["transect", "gender_level", "hair_length_level"]
wide = made.pivot_table("error_celeba-like", levels, "skin_colour_level").astype(int)
women = wide.xs((0, 0), level=levels[1:])
counts = pd.crosstab(women[0], women[1]).to_numpy()
face = wide.loc[women.index[women[1] > women[0]][0]].to_numpy()
with plt.rc_context({"font.size": 14}):
    fig, axes = plt.subplots(1, 2, figsize=(11.5, 4.2))
    axes[0].imshow(face, cmap=ListedColormap([PALE, "#f4b183"]), aspect="auto")
    axes[1].imshow(np.eye(2), cmap=ListedColormap(["#bdd7ee", PALE]), aspect="auto")
    for (row, column), wrong in np.ndenumerate(face):
        axes[0].text(column, row, ("right", "wrong")[wrong], ha="center", va="center")
    for (row, column), pairs in np.ndenumerate(counts):
        axes[1].text(column, row, pairs, ha="center", va="center", fontsize=20)
    axes[0].set_xticks([0, 1], ["light skin", "dark skin"])
    axes[0].set_yticks(range(4), CELLS)
    axes[0].set_title("celeba-like: answers to one face")
    axes[1].set_xticks([0, 1], ["right", "wrong"])
    axes[1].set_yticks([0, 1], ["right", "wrong"])
    axes[1].set(xlabel="with dark skin", ylabel="with light skin")
    axes[1].set_title(f"All {len(women)} pairs of women, short hair")
    fig.tight_layout()
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## A fair coin
#
# - **Harmed**: right with light skin, wrong with dark skin. **Helped**: the reverse.
# - If skin harms as many as it helps, a face that changes sides is a fair coin.
# - *McNemar's test*: how often is a coin so uneven?

# %% tags=["slide"]
harmed, helped = counts[0, 1], counts[1, 0]
heads = np.arange(harmed + helped + 1)
chance = 100 * binom.pmf(heads, harmed + helped, 0.5)
uneven = abs(2 * heads - harmed - helped) >= abs(harmed - helped)
with plt.rc_context(LARGE):
    fig, ax = plt.subplots(figsize=(9.5, 3.6))
    ax.bar(heads, chance, color=np.where(uneven, RED, "#999999"))
    arrow = {"arrowstyle": "->"}
    ax.annotate(f"harmed: {harmed}", (harmed, chance[harmed]), (harmed + 1, 14), arrowprops=arrow)
    ax.set(xlabel=f"heads in {harmed + helped} tosses", ylabel="chance (%)")
    ax.set_title(f"As uneven as {harmed} to {helped}: {chance[uneven].sum():.1f}% (coloured)")
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## What a pair saves
#
# - A difficult face is difficult in both pictures. In the difference, this part cancels.
# - Two separate groups keep it, twice.
# - **Eight pictures of one face are one face.** Count faces, not pictures.

# %% [markdown] tags=["slide"]
# ## Long hair raises the errors. Whose?
#
# The average tells what happens to women and men together. Look at women alone.
#
# With a share *w* of women: average = *w* · women + (1 − *w*) · men.

# %% tags=["slide"]
how = "hair_length_level", ["gender_level", "skin_colour_level"], "transect"
by_cell = effects.matched_effects(made, "error_celeba-like", *how)
mean = effects.matched_effects(made, "error_celeba-like", how[0], [], how[2])
rows = 100 * pd.concat([by_cell, mean])[["estimate", "low", "high"]].reset_index(drop=True)
names = ["women, light skin", "women, dark skin", "men, light skin", "men, dark skin", "average"]
fewer, clearly = (rows[["estimate", "high"]][:4] < 0).sum()
with plt.rc_context(LARGE):
    fig, ax = plt.subplots(figsize=(10.5, 4.2))
    ax.axvline(0, color="black", lw=1)
    for name, row in zip(names, rows.to_dict("records"), strict=True):
        colour = RED if row["estimate"] > 0 else BLUE
        ax.plot([row["low"], row["high"]], [name, name], color=colour, lw=2)
        ax.plot(row["estimate"], name, "D" if name == "average" else "o", ms=9, color=colour)
    ax.invert_yaxis()
    ax.set(xlabel="change in the error rate with long hair (points)")
    said = f"{rows['estimate'][4]:+.1f} points on average. Estimates fall in {fewer} of 4 cells"
    ax.set_title(f"celeba-like: {said}, clearly in {clearly}")
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## One coefficient, or two
#
# - `error ~ hair + gender + skin`: one coefficient of long hair.
# - `error ~ hair * gender + skin`: women *b*, men *b* + *e*.
#
# The formula chooses the question. More faces do not change it.

# %% tags=["slide"]
import statsmodels.formula.api as smf

short = {"hair_length_level": "hair", "gender_level": "gender", "skin_colour_level": "skin"}
named = made[[*short, "error_plantskin"]].set_axis([*short.values(), "error"], axis=1)
formulas = [f"error ~ hair {sign} gender + skin" for sign in "+*"]
added, crossed = (smf.logit(formula, named).fit(disp=0).params for formula in formulas)
on_men = crossed["hair"] + crossed["hair:gender"]
shown = {"one coefficient": added["hair"], "women: b": crossed["hair"], "men: b + e": on_men}
with plt.rc_context(LARGE):
    fig, ax = plt.subplots(figsize=(10.5, 2.8))
    ax.axvline(0, color="black", lw=1)
    for name, value in shown.items():
        ax.plot(value, name, "o", ms=10, color=RED if value > 0 else BLUE)
        ax.annotate(f"{value:+.2f}", (value, name), (0, 9), textcoords="offset points", ha="center")
    ax.margins(0.1, 0.4)
    ax.invert_yaxis()
    ax.set(xlabel="log odds ratio of an error of plantskin, long against short hair")
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## What to report
#
# 1. Points for readers, log odds for those who ask.
# 2. An interval from pairs. The unit is the face.
# 3. An average only with its mix of faces. Another mix has another average.
#
# *What can an average of zero hide? Keep your answer for the exit ticket.*

# %% [markdown]
# A row is a made image. Each face was made eight times, and `transect` is the number of the face. The columns that end
# in `_level` say what was set:
#
# | Column | 0 | 1 |
# |---|---|---|
# | `skin_colour_level` | light skin | dark skin |
# | `hair_length_level` | short hair | long hair |
# | `gender_level` | a face that is perceived as a woman's | as a man's |
#
# "Women" and "men" are short for faces with level 0 and 1 in the last row. `error_…` is 1 where a model's answer
# differs from what most raters said.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy.stats import binomtest

from course.lab import check, load
from faceaudit import effects

images = load("images")
print(f"{len(images):,} images of {images['transect'].nunique()} faces")
images.filter(regex="transect|level|error").head(8)

# %% [markdown]
# ## Exercise 1. The same face, twice (8 minutes)
#
# A **cell** is a set of images with the same levels of hair and gender. Take men with long hair, and the model
# `fairface-like`. In this cell each face has two images: one with light and one with dark skin. They are a pair.
#
# `pairs` has a row for each face and a column for each skin colour, 0 and 1. A number in it is 1 where the model errs.

# %%
cell = images.query("gender_level == 1 and hair_length_level == 1")
pairs = cell.pivot_table("error_fairface-like", "transect", "skin_colour_level").astype(int)
pairs.head()

# %% [markdown]
# A face is **harmed** if the answer is right with light skin and wrong with dark skin. It is **helped** if the
# answer is wrong with light skin and right with dark skin. Compute:
#
# - `change`: for each face, the error with dark skin minus the error with light skin,
# - `turned`: the list `[harmed, helped]`, two numbers of faces,
# - `effect`: the mean of `change`, in percentage points. It is the change in the error rate.

# %% tags=["solution"]
# One number for each face: 1 is harmed, -1 is helped, 0 is as before.
change = pairs[1] - pairs[0]
turned = [(change == 1).sum(), (change == -1).sum()]

# %% tags=["check"]
check("pairs-turned", turned)

# %% tags=["mistake"]
# These are all errors, with dark and with light skin. Count only the faces whose two answers differ.
turned = [pairs[1].sum(), pairs[0].sum()]

# %% tags=["mistake"]
# These are shares. Give numbers of faces.
turned = [(change == 1).mean(), (change == -1).mean()]

# %% tags=["mistake"]
# The second number counts faces. It has no minus.
turned = [(change == 1).sum(), -(change == -1).sum()]

# %% [markdown] tags=["hint"]
# `pairs[1]` is the column of dark skin, and `pairs[0]` that of light skin. Subtract one from the other.

# %% [markdown] tags=["hint"]
# `(change == 1).sum()` counts the faces with a change of 1.

# %% tags=["solution"]
# Harmed faces count up, helped faces count down, and all faces are in the mean.
effect = 100 * change.mean()

# %% tags=["check"]
check("pairs-effect", effect)

# %% tags=["mistake"]
# You divided by the faces that change sides. An error rate is a share of all faces of the cell.
effect = 100 * change.sum() / (change != 0).sum()

# %% tags=["mistake"]
# This counts harmed faces alone. Subtract those who are helped.
effect = 100 * (change == 1).mean()

# %% [markdown] tags=["hint"]
# The mean of `change` is (harmed − helped) / faces. Multiply it by 100.

# %% [markdown]
# ## Exercise 2. A fair coin (4 minutes)
#
# Suppose that skin harms as many faces as it helps. Then a face that changes sides turns wrong or right with equal
# chance, like a fair coin. `binomtest(heads, tosses).pvalue` says how often a fair coin is at least as uneven.
# This is **McNemar's test**. Give its p-value `p` for the faces that change sides.

# %% tags=["solution"]
# A toss is a face that changes sides.
p = binomtest(turned[0], sum(turned)).pvalue

# %% tags=["check"]
check("pairs-coin", p)

# %% tags=["mistake"]
# You tossed the coin for all faces. Toss it for faces that change sides. Equal answers are no toss.
p = binomtest(turned[0], len(change)).pvalue

# %% tags=["mistake"]
# This counts one direction only. Leave `alternative` as it is: a coin can be uneven either way.
p = binomtest(turned[0], sum(turned), alternative="greater").pvalue

# %% [markdown] tags=["hint"]
# Heads are the harmed faces. The tosses are the harmed and the helped faces together. Take `.pvalue` of the result.

# %% [markdown]
# ## Exercise 3. Four cells, and their average (8 minutes)
#
# The code below does your exercise 1 in all four cells at once. `estimate` is the effect as a share. `low` and `high`
# are the ends of *Tango's interval*: a 95% interval for pairs, which keeps a width where few faces change sides. `*how`
# hands over three parts: what changes, what is equal within a cell, and which column numbers the faces. Find your own
# numbers of exercise 1 in the table.

# %%
how = "skin_colour_level", ["gender_level", "hair_length_level"], "transect"
found = effects.matched_effects(images, "error_fairface-like", *how)
found = found.rename(columns={"worse": "harmed", "better": "helped"})
found[["harmed", "helped", "n", "estimate", "low", "high"]]

# %% [markdown]
# The model `plantskin` was trained on faces in which dark skin goes with men. Make the same table for it. Give
# `estimate`, `low` and `high` in **points**, as the table `four`. Then take the mean of the four estimates:
# `average`.

# %% tags=["solution"]
# `planted` is the table of four effects. `four` has three of its columns, in points.
planted = effects.matched_effects(images, "error_plantskin", *how)
four = 100 * planted[["estimate", "low", "high"]]

# %% tags=["check"]
check("pairs-four", four)

# %% tags=["mistake"]
# This is the model `fairface-like`. Take the column `error_plantskin`.
four = 100 * found[["estimate", "low", "high"]]

# %% tags=["mistake"]
# This is the effect of hair. The first part of `how` names what changes: `skin_colour_level`.
by_hair = "hair_length_level", ["gender_level", "skin_colour_level"], "transect"
planted = effects.matched_effects(images, "error_plantskin", *by_hair)
four = 100 * planted[["estimate", "low", "high"]]

# %% [markdown] tags=["hint"]
# `planted` comes from the call above, with the errors of the other model. Then choose three columns, and mind the unit.

# %% tags=["solution"]
# What one number says.
average = four["estimate"].mean()

# %% tags=["check"]
check("pairs-average", average)

# %% tags=["mistake"]
# This is the mean without signs. Effects of opposite sign may cancel: keep the signs.
average = four["estimate"].abs().mean()

# %% tags=["mistake"]
# This is the mean over women alone. Take all four cells.
average = four["estimate"].loc[0].mean()

# %% tags=["mistake"]
# This is the mean over all three columns. `low` and `high` are ends of intervals: take the estimates alone.
average = four.to_numpy().mean()

# %% tags=["mistake"]
# This is the sum of the four effects. Divide it by four.
average = four["estimate"].sum()

# %% [markdown] tags=["hint"]
# Four numbers go into this mean: one estimate for each cell, with its sign.

# %% [markdown]
# The function below draws a point with its interval for each cell, and a diamond for the average. Call it with your
# `four` and `average`. Which cells does the diamond speak for?


# %%
def draw(four, average):
    """Draw four effects with intervals, and their average."""
    names = ["women, short hair", "women, long hair", "men, short hair", "men, long hair"]
    ax = plt.figure(figsize=(6, 2.8)).gca()
    ax.hlines(names, four["low"], four["high"])
    ax.plot(four["estimate"], names, "o")
    ax.plot(average, "average", "D", color="black")
    ax.axvline(0, color="black", lw=1)
    ax.set(xlabel="change in the errors of plantskin with dark skin (points)")


# %% tags=["solution"]
# Call the function.
draw(four, average)

# %% [markdown]
# ## Exercise 4. One coefficient (10 minutes)
#
# Many audits fit a logistic regression and read one coefficient. Its unit is the **log odds ratio**: it is positive
# if an error is more likely with dark skin. This is how to fit one, here without skin. `disp=0` keeps the fit quiet.

# %%
fit = smf.logit("error_plantskin ~ hair_length_level + gender_level", images).fit(disp=0)
fit.params

# %% [markdown]
# 1. Add `skin_colour_level`. Its coefficient is `one`.
# 2. Let women and men have effects of their own: in the formula, write `skin_colour_level * gender_level` for the
#    two, and keep hair. Now the coefficient of `skin_colour_level` is the effect on **women** (level 0). The effect on
#    **men** adds the coefficient of `skin_colour_level:gender_level`. Give `both = [women, men]`.

# %% tags=["solution"]
# `formula` is the one above, with skin. A fit has its coefficients in `params`.
formula = "error_plantskin ~ skin_colour_level + hair_length_level + gender_level"
one = smf.logit(formula, images).fit(disp=0).params["skin_colour_level"]

# %% tags=["check"]
check("pairs-one", one)

# %% tags=["mistake"]
# You left out hair and gender. Add skin to the formula above, and keep the rest.
one = (
    smf.logit("error_plantskin ~ skin_colour_level", images).fit(disp=0).params["skin_colour_level"]
)

# %% tags=["mistake"]
# This is an odds ratio. Give the coefficient itself, which is its logarithm.
one = np.exp(one)

# %% tags=["mistake"]
# This is the coefficient of hair. Take `.params["skin_colour_level"]`.
one = smf.logit(formula, images).fit(disp=0).params["hair_length_level"]

# %% [markdown] tags=["hint"]
# The formula has three terms, joined by `+`. `fit.params["skin_colour_level"]` is one coefficient.

# %% tags=["solution"]
# `formula` has the product, and `fitted` are all coefficients of its fit.
formula = "error_plantskin ~ skin_colour_level * gender_level + hair_length_level"
fitted = smf.logit(formula, images).fit(disp=0).params
on_women = fitted["skin_colour_level"]
both = [on_women, on_women + fitted["skin_colour_level:gender_level"]]
print(f"one coefficient {one:+.2f}: women {both[0]:+.2f}, men {both[1]:+.2f}")

# %% tags=["check"]
check("pairs-both", both)

# %% tags=["mistake"]
# The second number is the *difference* between men and women. Add it to the effect on women to get that on men.
both = [on_women, fitted["skin_colour_level:gender_level"]]

# %% tags=["mistake"]
# These are odds ratios. Add the coefficients as they are, without `np.exp`.
both = [np.exp(both[0]), np.exp(both[1])]

# %% tags=["mistake"]
# Keep hair in the formula: `… * gender_level + hair_length_level`.
c = smf.logit("error_plantskin ~ skin_colour_level * gender_level", images).fit(disp=0).params
both = [c["skin_colour_level"], c["skin_colour_level"] + c["skin_colour_level:gender_level"]]

# %% [markdown] tags=["hint"]
# `a * b` in a formula stands for `a + b + a:b`. Look at `fit.params` of the new fit.

# %% [markdown] tags=["hint"]
# Women have gender level 0, so the product is 0 for them. Men have level 1, so the product adds its coefficient.

# %% [markdown]
# ## What would change your mind? (5 minutes)
#
# A report says: "The coefficient of dark skin is below zero, so this model treats dark skin well." Write three
# sentences to its author. Which table would you ask for, and which result in it would make you agree? What could still be
# wrong in that table? What would you decide about the model today?

# %% [markdown] tags=["instructor"]
# Ask for the effect in every cell, with its interval. You would agree if no interval lies above the tolerance, and few
# faces were harmed. The regression is right about its own question: on average over these faces, errors fall. The question
# was wrong. What could still be wrong: the directions that change skin may move other features (session 3), and raters say what
# is an error (session 4). Session 8 compares all this with the truth. A decision names the group: not for women, until
# their intervals lie below the tolerance. The last cell prints the key numbers of the lab and of its slides.

# %% [markdown]
# ## If you have time
#
# **What a pair saves.** Compare two standard errors of exercise 1, both in points. Compute them, with `.std()` for a
# standard deviation, `.var()` for a variance, and `np.sqrt` for a root:
#
# `se_pairs` = 100 · standard deviation of `change` / √n
#
# `se_groups` = 100 · √(variance of `pairs[0]` / n + variance of `pairs[1]` / n)
#
# The second one would be right if the light-skinned and the dark-skinned faces were two groups of different faces.
# `times_as_many` says how many times as many **images** two groups need for the same precision. (`.std()` and `.var()`
# divide by n − 1. `np.std` and `np.var` divide by n, unless you write `ddof=1`.)

# %%
n = len(pairs)

# %% tags=["solution"]
# `times_as_many` is (se_groups / se_pairs) ** 2. The square is there because a variance falls like 1/n.
se_pairs = 100 * change.std() / np.sqrt(n)
se_groups = 100 * np.sqrt(pairs[0].var() / n + pairs[1].var() / n)
times_as_many = (se_groups / se_pairs) ** 2
print(
    f"{effect:.1f} points: ± {1.96 * se_pairs:.1f} as pairs, ± {1.96 * se_groups:.1f} as two groups"
)

# %% tags=["check"]
check("pairs-saved", times_as_many)

# %% tags=["mistake"]
# This is the ratio of the standard errors. Square it: the number of images goes with the variance.
times_as_many = se_groups / se_pairs

# %% tags=["mistake"]
# This is the ratio upside down. Divide the variance of two groups by that of pairs.
times_as_many = (se_pairs / se_groups) ** 2

# %% tags=["mistake"]
# You counted faces: a pair has two images of one face. The question is about images. Leave out the factor 2.
times_as_many = 2 * (se_groups / se_pairs) ** 2

# %% tags=["mistake"]
# One of the two divides by n, and the other by n − 1. Use `.var()` of the column, or `np.var` with `ddof=1`.
times_as_many = (100 * np.sqrt((np.var(pairs[0]) + np.var(pairs[1])) / n) / se_pairs) ** 2

# %% tags=["mistake"]
# One of the two divides by n, and the other by n − 1. Use `change.std()`, or `np.std` with `ddof=1`.
times_as_many = (se_groups / (100 * np.std(change) / np.sqrt(n))) ** 2

# %% tags=["mistake"]
# `se_groups` is in points, as `se_pairs` is. Multiply it by 100.
times_as_many = (np.sqrt(pairs[0].var() / n + pairs[1].var() / n) / se_pairs) ** 2

# %% [markdown] tags=["hint"]
# `pairs[0].var()` is a variance. Add the two, divide by n, and take `np.sqrt` of the result.

# %% [markdown]
# **A mix.** An average belongs to a mix of faces. In these images half of the faces are women. Take the mean effect on women
# and that on men from `four`. If a test set had a share *w* of women, its average would be
# *w* · women + (1 − *w*) · men. Which **percentage** of women makes it zero? Call it `zero_at`.

# %% tags=["solution"]
# `women` and `men` are means from `four`, in points. Solve w * women + (1 - w) * men = 0 for w.
women, men = four["estimate"].loc[0].mean(), four["estimate"].loc[1].mean()
zero_at = 100 * men / (men - women)

# %% tags=["check"]
check("pairs-mix", zero_at)

# %% tags=["mistake"]
# This is the percentage of men. The question is how many women there are.
zero_at = -100 * women / (men - women)

# %% tags=["mistake"]
# Check the sign in your equation: `w * (men - women)` equals `men`.
zero_at = 100 * men / (men + women)

# %% tags=["mistake"]
# These are log odds ratios from `both`. An average of rates needs points: take the means from `four`.
zero_at = 100 * both[1] / (both[1] - both[0])

# %% [markdown] tags=["hint"]
# `four.loc[0]` are the two cells of women, and `four.loc[1]` those of men.

# %% [markdown] tags=["hint"]
# Collect the terms with *w* on one side of *w* · women + (1 − *w*) · men = 0, then divide.

# %% tags=["instructor"]
rates = 100 * images.groupby("hair_length_level")["error_celeba-like"].mean()
print(f"Slide 2: {rates[0]:.1f}% wrong with short hair, {rates[1]:.1f}% with long hair")
print(f"Exercise 1: {turned[0]} harmed, {turned[1]} helped, effect {effect:+.2f} points")
print(f"Exercise 2: p = {p:.3f}")
print(f"Exercise 3: average {average:+.2f} points")
print(f"Exercise 4: one {one:+.2f}, women {both[0]:+.2f}, men {both[1]:+.2f}")
print(f"Mean of the last two: {np.mean(both):+.2f}. It is not the one coefficient.")
print(f"What a pair saves: two groups need {times_as_many:.2f} times as many images")
print(f"A mix: zero on average with {zero_at:.1f}% women. Effects of plantskin in each cell:")
cells = planted.rename(columns={"worse": "harmed", "better": "helped"})[["harmed", "helped"]]
cells.join(four.round(1))
