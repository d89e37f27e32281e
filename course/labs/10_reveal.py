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
# # Lab 10. The reveal, and hidden causes
#
# *35 minutes. Afterwards you can score intervals against a truth, measure the part of an effect that a hidden cause
# makes, and say which findings a hidden cause of that size could undo. Needs: the mean of a sample and its standard
# error, matched pairs (lab 7).*

# %% [markdown] tags=["slide"]
# # The reveal, and hidden causes
#
# ## What did you miss?
#
# We set skin, hair length and gender. Seven annotated attributes should stay.
# **Hair colour went along with skin.** It has no column.
#
# *Predict:* we put hair colour back. Does the estimate come nearer to the truth?

# %% [markdown] tags=["slide"]
# ## Nearer, or farther?
#
# One effect of one model, before and after.

# %% tags=["slide"]
import matplotlib.pyplot as plt
import numpy as np

from course.lab import load

plt.rcParams.update({"font.size": 15, "axes.titlesize": 16})
ARMS = ["as audited", "adjusted", "orthogonalised", "held by do"]
cells = load("remedies").query("scope == 'cell'")
one = cells.query("model == 'plantskin' and attribute == 'skin_colour'").set_index("arm")
one = one[one["cell"] == "male, long hair"].loc[["as audited", "held by do"]]
found, truth = 100 * one[["estimate", "low", "high"]], 100 * one["truth"].iloc[0]
reach = [found["estimate"] - found["low"], found["high"] - found["estimate"]]
moved = (found["estimate"] - truth).abs().diff().iloc[-1]
fig, ax = plt.subplots(figsize=(10, 3.6))
ax.errorbar(
    found["estimate"], ["as audited", "hair colour\nput back"], xerr=reach, fmt="o", capsize=4
)
ax.axvline(truth, color="black", ls="--")
ax.text(truth, 0.5, " truth", va="center")
ax.set(ylim=(1.5, -0.5), xlabel="effect of dark skin on errors, men with long hair (points)")
ax.set_title(f"plantskin: {abs(moved):.1f} points {'nearer' if moved < 0 else 'farther'}")
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## A cause that the table does not have
#
# Above, skin alone changes. Below, the colour of the hair goes along, and no column has it.
#
# ![One drawn man in two rows of five. From left to right his skin darkens; in the lower row his hair darkens too.](faces/10.jpg)
#
# *Where is the effect of hair colour booked?*

# %% [markdown] tags=["slide"]
# ## Two worlds, one table
#
# - **World A.** Skin makes the whole effect.
# - **World B.** Skin makes a part. Hair colour, which travels along, makes the rest.
#
# Your table is the same in both. More faces leave it the same.

# %% tags=["slide"]
total, skin = found["estimate"]
fig, ax = plt.subplots(figsize=(9, 2.8))
ax.barh(["world A", "world B"], [total, skin], color="#0072B2", label="skin")
ax.barh(["world B"], [total - skin], left=[skin], color="#E69F00", hatch="//", label="hair colour")
ax.axvline(total, color="black", ls="--")
ax.set(xlabel="change in the error rate (points)", title=f"Both worlds show −{-total:.1f} points")
ax.invert_yaxis()
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## Leak times effect
#
# **part = δ · γ**
#
# - δ: how far the hidden attribute moves along.
# - γ: how much the errors change for each unit of it.
#
# One of them is zero? Then the part is zero. Parts can add up, or cancel.

# %% [markdown] tags=["slide"]
# ## What your table can tell
#
# | Question | From your table? |
# |---|---|
# | How unsure is chance? | yes |
# | How large must a hidden part be to matter? | yes |
# | Is there one? | look at the images, ask raters |
# | How large is it? | put it back, or make new images |

# %% [markdown] tags=["slide"]
# ## Three remedies
#
# 1. **Ask** raters about the attribute.
# 2. **Adjust**: compare old images at equal answers.
# 3. **Orthogonalise**: make new images that hold it.
#
# A remedy mends one leak. Others stay, or grow.

# %% tags=["slide"]
squares = (100 * (cells["estimate"] - cells["truth"])) ** 2
far = cells.assign(square=squares).pivot_table("square", "model", "arm").pow(0.5)[ARMS]
nearer = (far["held by do"] < far["as audited"]).sum()
ax = far.plot.barh(figsize=(9, 3.8), width=0.8, color=["#999999", "#56B4E9", "#0072B2", "#E69F00"])
ax.set(xlabel="typical distance from the truth (points)", ylabel="")
ax.set_title(f"Hair colour put back: nearer to the truth for {nearer} of {len(far)} models")
ax.invert_yaxis()
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## Sealed, then revealed
#
# - *Before:* a fingerprint of the key was published.
# - *Today:* the key itself. Compute its fingerprint and compare.
# - Then compute the truth anew from the key.
#
# A changed model would have another fingerprint.

# %% [markdown] tags=["slide"]
# ## The score of an interval
#
# **S = width + 40 · miss**, in points. A smaller S is better.
#
# *Predict:* you halve all your intervals. Does S fall?

# %% tags=["slide"]
half = np.linspace(0, 8, 161)
price = 2 * half + 40 * np.maximum(3 - half, 0)
fig, ax = plt.subplots(figsize=(10, 3.6))
ax.plot(half, price, color="#0072B2")
ax.annotate("it just reaches the truth", (3, 6), (4, 50), arrowprops={"arrowstyle": "->"})
ax.set(xlabel="estimate ± this many points", ylabel="S (points)")
ax.set_title("An estimate that is 3 points from the truth")
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown]
# The faces of this lab were made as the papers of the book made them: each of 400 faces at all eight combinations of
# skin, hair length and gender. *Women* and *men* are short for faces made to be perceived so. Three models answered. An
# *effect* is an error rate at the high level (dark, long, male) minus the rate at the low level. We give it in
# percentage points.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from course.lab import check, load

# %% [markdown]
# ## Exercise 1. The price of an interval (6 minutes)
#
# The league charges **S = width + 40 · miss**. *Miss* is the distance from the truth to the nearer end of the interval.
# It is 0 when the interval holds the truth. All numbers are points.
#
# Four teams answer the same question:

# %%
teams = pd.DataFrame(
    {"low": [2, 7, -10, -3], "high": [8, 8, 20, 4.5], "truth": 5},
    index=["honest", "bold", "timid", "unlucky"],
)
teams

# %% [markdown]
# Write the function `price`, which gives S of an interval. Apply it to the four teams as `prices`:
# `price(teams["low"], teams["high"], teams["truth"])`.


# %% tags=["solution"]
# `np.maximum(x, 0)` keeps positive numbers, and puts 0 in place of negative ones.
# End the function with `return`.
def price(low, high, truth):
    """S of intervals: width, and 40 times the miss."""
    miss = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    return high - low + 40 * miss


prices = price(teams["low"], teams["high"], teams["truth"])

# %% tags=["check"]
check("reveal-prices", prices)

# %% tags=["mistake"]
# You forgot intervals that end below the truth. An interval can miss on two sides.
width = teams["high"] - teams["low"]
prices = width + 40 * np.maximum(teams["low"] - teams["truth"], 0)

# %% tags=["mistake"]
# You forgot intervals that begin above the truth. An interval can miss on two sides.
width = teams["high"] - teams["low"]
prices = width + 40 * np.maximum(teams["truth"] - teams["high"], 0)

# %% tags=["mistake"]
# These are 40 times the misses. The width costs too.
prices = price(teams["low"], teams["high"], teams["truth"]) - (teams["high"] - teams["low"])

# %% tags=["mistake"]
# This is the width plus the miss. Multiply the miss by 40.
width = teams["high"] - teams["low"]
prices = width + (price(teams["low"], teams["high"], teams["truth"]) - width) / 40

# %% tags=["mistake"]
# Every miss costs 40 here, whatever its distance. Multiply 40 by the distance.
width = teams["high"] - teams["low"]
prices = width + 40 * (price(teams["low"], teams["high"], teams["truth"]) > width)

# %% tags=["mistake"]
# You added half of the width. The width is high minus low.
width = teams["high"] - teams["low"]
prices = price(teams["low"], teams["high"], teams["truth"]) - width / 2

# %% [markdown] tags=["hint"]
# An interval that begins above the truth misses by `low - truth`. One that ends below it misses by `truth - high`.

# %% [markdown] tags=["hint"]
# Cut both distances at 0 with `np.maximum(…, 0)`, and add them: that is the miss. Return `high - low` plus 40 times the miss.

# %% [markdown]
# ## Exercise 2. The best width (10 minutes)
#
# Now score real estimates. `found` holds 36 effects of three models, estimated from matched pairs, with 95% intervals.
# The truth is known, because the faces are drawn. `stretch` makes every interval `factor` times as wide around its
# estimate.

# %%
found = load("remedies").query("arm == 'as audited' and scope == 'cell'").reset_index(drop=True)
numbers = ["estimate", "low", "high", "truth"]
found[numbers] = 100 * found[numbers]


def stretch(table, factor):
    """The table with intervals that are `factor` times as wide around their estimates."""
    middle = table["estimate"]
    low = middle + factor * (table["low"] - middle)
    high = middle + factor * (table["high"] - middle)
    return table.assign(low=low, high=high)


FACTORS = [0.25, 0.5, 1, 1.5, 2, 3]
found[["model", "attribute", "cell", *numbers]].round(1).head()

# %% [markdown]
# Guess first: which factor gives the smallest mean S? Then write `mean_prices`, the mean S of each model at one factor: stretch
# `found`, take prices, and return `prices.groupby(found["model"]).mean()`. Make the table `scores` of it, with a row for each
# of `FACTORS`.


# %% tags=["solution"]
# A table of it: `pd.DataFrame({factor: mean_prices(factor) for factor in FACTORS}).T`
# Draw it: `scores.plot(style=["o-", "s--", "^:"])`
def mean_prices(factor):
    """Mean S of each model, with intervals that are `factor` times as wide."""
    wide = stretch(found, factor)
    return price(wide["low"], wide["high"], wide["truth"]).groupby(found["model"]).mean()


scores = pd.DataFrame({factor: mean_prices(factor) for factor in FACTORS}).T
scores.plot(style=["o-", "s--", "^:"], figsize=(6, 3), xlabel="factor", ylabel="mean S")

# %% tags=["check"]
check("reveal-scores", scores)

# %% tags=["mistake"]
# These are sums over twelve effects. Take the mean, so that S stays on the scale of one interval.
scores = 12 * scores

# %% tags=["mistake"]
# All rows are alike. Take the price of the stretched table in place of `found`.
scores = pd.DataFrame({factor: mean_prices(1) for factor in FACTORS}).T

# %% [markdown] tags=["hint"]
# `wide = stretch(found, factor)` is the stretched table. `price` takes its columns `low`, `high` and `truth`.

# %% [markdown] tags=["hint"]
# Give these columns to `price`, and take the means of what it returns.

# %% [markdown]
# For each model, give the factor with the smallest mean S: `best`, in the order of the columns. `table.idxmin()`
# finds it.

# %% tags=["solution"]
best = scores.idxmin()

# %% tags=["check"]
check("reveal-best", best)

# %% tags=["mistake"]
# You took the largest S. A smaller S is better.
best = scores.idxmax()

# %% tags=["mistake"]
# These are the smallest values of S. Give the factors at which they occur.
best = scores.min()

# %% tags=["mistake"]
# These are numbers of rows. Name the rows of `scores` by the factors.
best = scores.reset_index(drop=True).idxmin()

# %% [markdown] tags=["hint"]
# `idxmin` gives the row in which each column is smallest. Your rows are named by the factors.

# %%
inside = found["truth"].between(found["low"], found["high"]).groupby(found["model"]).mean()
share = (100 * inside).round()
pd.DataFrame({"best factor": best, "intervals that hold the truth (%)": share})

# %% [markdown]
# Factors whose S differs by less than 0.1 are a tie. A 95% interval counts chance alone. Of those of `plantskin`, far fewer hold the
# truth. So something else moves its estimates, and wider intervals are cheaper. What could that be?

# %% [markdown]
# ## Exercise 3. A cause without a column (9 minutes)
#
# Hair colour moved when skin was moved. In this world we can put it back: each image gets the hair colour of its *base
# face*, the one from which all eight were made. Then the models answer again. The model here is `plantskin`. `before` is
# 1 where it errs on the image as audited, and `after` is 1 where it errs with hair colour put back.

# %%
audited, put_back = load("recipe"), load("recipe_hair_colour_held")
name = audited["image_id"].str  # characters 0 to 4: face, 6: skin, 7: hair length, 8: gender
images = pd.DataFrame({"face": name[:5].astype(int), "skin": name[6].astype(int)})
images["hair_length"], images["gender"] = name[7].astype(int), name[8].astype(int)
images["before"], images["after"] = audited["plantskin"], put_back["plantskin"]
images.tail(3)

# %% [markdown]
# Each face gives a matched pair of men with long hair: `skin` 0 and 1. `pivot_table` sets the pair in one row, so
# `as_audited` is the effect of dark skin on each face.

# %%
long_men = images.query("hair_length == 1 and gender == 1")
wide = long_men.pivot_table(index="face", columns="skin", values=["before", "after"])
as_audited = wide["before"][1] - wide["before"][0]
wide[["before", "after"]].head(3)

# %% [markdown]
# The **part** of hair colour (δ · γ on the [handout](handouts/10.html)) is this effect minus the same effect with hair colour put
# back. Compute it for every face, in points. The first 100 faces served to choose among hair colour, earrings and glasses. So
# keep faces 100 to 399 as `of_faces`, and give their mean as `part`.

# %% tags=["solution"]
# `series.loc[100:]` are faces 100 to 399. The next step needs `of_faces` too.
put_back_effect = wide["after"][1] - wide["after"][0]
of_faces = 100 * (as_audited - put_back_effect).loc[100:]
part = of_faces.mean()

# %% tags=["check"]
check("reveal-part", part)

# %% tags=["mistake"]
# You took all faces. The first 100 chose hair colour because its part was large there. Leave them out.
part = 100 * (as_audited - put_back_effect).mean()

# %% tags=["mistake"]
# This is the effect as audited. Subtract the effect with hair colour put back.
part = 100 * as_audited.loc[100:].mean()

# %% tags=["mistake"]
# This is the effect with hair colour put back. Subtract it from the effect as audited.
part = 100 * put_back_effect.loc[100:].mean()

# %% [markdown] tags=["hint"]
# `as_audited` is the effect of each face. Compute the same from `after`.

# %% [markdown] tags=["hint"]
# Subtract the two effects face by face, keep `.loc[100:]`, multiply by 100, and take the mean.

# %% [markdown]
# Faces are independent. Give the 95% interval of the part, `interval`, as `[low, high]`: the mean, plus and minus 1.96
# standard errors. `series.std()` and `len(series)` help.

# %% tags=["solution"]
error = of_faces.std() / np.sqrt(len(of_faces))
interval = [part - 1.96 * error, part + 1.96 * error]

# %% tags=["check"]
check("reveal-interval", interval)

# %% tags=["mistake"]
# You used the standard deviation of faces. The standard error of their mean is smaller: divide by √n.
interval = [part - 1.96 * of_faces.std(), part + 1.96 * of_faces.std()]

# %% tags=["mistake"]
# This is one standard error on each side. A 95% interval takes 1.96 of them.
interval = [part - error, part + error]

# %% tags=["mistake"]
# This divides by n inside the standard deviation. Use `series.std()`, which divides by n − 1.
error_n = of_faces.std(ddof=0) / np.sqrt(len(of_faces))
interval = [part - 1.96 * error_n, part + 1.96 * error_n]

# %% tags=["mistake"]
# You counted 400 faces. The part is a mean of 300.
interval = [part - 1.96 * of_faces.std() / 20, part + 1.96 * of_faces.std() / 20]

# %% tags=["mistake"]
# This is an interval of all 400 faces. Keep faces 100 to 399 in `of_faces`.
of_all = 100 * (as_audited - put_back_effect)
interval = [of_all.mean() - 1.96 * of_all.std() / 20, of_all.mean() + 1.96 * of_all.std() / 20]

# %% tags=["mistake"]
# You divided by n. Divide the standard deviation by the root of n.
error_n = of_faces.std() / len(of_faces)
interval = [part - 1.96 * error_n, part + 1.96 * error_n]

# %% [markdown] tags=["hint"]
# The standard error of a mean is the standard deviation of the faces' numbers, divided by the root of their number.

# %% [markdown]
# ## Exercise 4. Which findings could it undo? (6 minutes)
#
# Suppose another cause is hidden, and its part is as large as the largest that hair colour makes in any effect.
# You do not know its sign, so take the worse one. An effect **stands** if its interval stays away from zero even then.

# %%
parts = load("hair_colour_parts").rename(columns={"effect": "part"})
largest = 100 * parts["part"].abs().max()
print(f"The largest part of hair colour in any of {len(found)} effects: {largest:.1f} points.")

# %% [markdown]
# This is the part of Exercise 3 again: an estimate, and the largest of many. Its interval shows how unsure it is.
#
# For each row of `found`, compute `margin`: the distance from zero to the nearer end of the interval, and 0 if the
# interval holds zero.

# %% tags=["solution"]
# How far does an interval lie above zero, or below it?
margin = np.maximum(found["low"], 0) + np.maximum(-found["high"], 0)

# %% tags=["check"]
check("reveal-margin", margin)

# %% tags=["mistake"]
# You forgot effects below zero. There, the end nearer to zero is `high`.
margin = np.maximum(found["low"], 0)

# %% tags=["mistake"]
# This is the distance of the estimate from zero. Take the nearer end of its interval.
margin = found["estimate"].abs()

# %% tags=["mistake"]
# An interval that holds zero has the margin 0.
margin = np.minimum(found["low"].abs(), found["high"].abs())

# %% [markdown] tags=["hint"]
# The margin is the *miss* of Exercise 1, with zero in place of the truth.

# %% [markdown]
# An effect with a margin above 0 is clear of zero, if chance alone is counted. If its margin is also below `largest`, a hidden
# cause could undo it. Give `fragile`, the number of such effects.

# %% tags=["solution"]
# `(margin > 0).sum()` counts the effects that are clear of zero: those that stand, and the fragile ones.
fragile = int(((margin > 0) & (margin < largest)).sum())

# %% tags=["check"]
check("reveal-fragile", fragile)

# %% tags=["mistake"]
# You counted intervals that hold zero too. They were no finding in the first place.
fragile = int((margin < largest).sum())

# %% tags=["mistake"]
# These are the effects that stand. Count those that do not.
fragile = int((margin >= largest).sum())

# %% tags=["mistake"]
# These are all effects that are clear of zero. Count those whose margin is also below `largest`.
fragile = int((margin > 0).sum())

# %% [markdown] tags=["hint"]
# Join two conditions with `&`, each in its own parentheses. The sum of the result counts the rows for which both hold.

# %% [markdown]
# This lab knows the truth: all of these fragile effects are real. So fragile does not mean wrong. Your table alone cannot tell.

# %% [markdown]
# ## What would change your mind? (4 minutes)
#
# Write three sentences on an audit like this one, or on your team's. What could still be wrong: name a cause that it could
# have missed. Which measurement would show how large its part is? Which result would make you withdraw a finding?

# %% [markdown] tags=["instructor"]
# Say after Exercise 2 that more than one thing separates these estimates from the truth: other doses, other base
# faces, and all leaks together. After Exercise 3, show the slide *Nearer, or farther?* again, and ask what was gained.
# One cause less is certain. Whether the estimate is nearer to the truth depends on all other differences: if the leak
# had cancelled one of them, the estimate moves away. In Exercise 4, take the far end of the interval of Exercise 3 as the size:
# then 9 effects stand instead of 14.
