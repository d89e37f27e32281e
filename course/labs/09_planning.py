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
# # Lab 9. Planning
#
# *35 minutes. Afterwards you can take planning values from a pilot, say how many faces an audit needs, which effects it
# can overlook, and whether money should buy faces or raters. Needs: lab 7 (pairs), and what a test's level is.*
#
# *Women* and *men* are short for drawn faces that raters perceive so. No number here is about groups of real people.

# %% [markdown] tags=["slide"]
# # Planning
#
# ## "We found no effect"
#
# Two audits say this sentence. One looked at 50 faces such as these, the other at 1,000.
# Each face is one unit, whatever number of pictures is made of it.
#
# ![Twenty-one drawn faces of different adults in three rows.](faces/09.jpg)
#
# *Predict:* the true effect is 5 points, in one cell. How often does each audit find it?

# %% [markdown] tags=["slide"]
# ## Power
#
# The chance that a study finds an effect that is there.
#
# It grows with the effect, with the faces, and with errors that go together within a pair.
# Wrong labels and pruning lower it.

# %% tags=["slide"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from course.lab import load
from faceaudit.effects import Design, power, transects_needed
from faceaudit.effects.planning import label_noise, noisy_design

sizes = np.unique(np.geomspace(20, 2000, 60).round().astype(int))
plt.rcParams["font.size"] = 15
fig, ax = plt.subplots(figsize=(11, 4))
for difference, colour, style in ((0.10, "black", "-"), (0.05, "tab:red", "--")):
    chances = [power(n, Design(difference, 0.05, pairs=1)) for n in sizes]
    ax.plot(sizes, chances, style, color=colour)
    at = np.searchsorted(chances, 0.5)
    ax.text(sizes[at] * 0.93, 0.55, f"{100 * difference:.0f} points", color=colour, ha="right")
few, many = (power(n, Design(0.05, 0.05, pairs=1)) for n in (50, 1000))
ax.axhline(0.8, color="grey", linestyle=":")
what = "faces (transects); 5% errors at the low level, correlation 0.05"
ax.set(xscale="log", xlabel=what, ylabel="power", ylim=(0, 1.05))
ax.set_xticks([20, 50, 100, 200, 500, 1000, 2000], [20, 50, 100, 200, 500, "1,000", "2,000"])
ax.minorticks_off()
ax.set_title(f"5 points in one cell: found by {few:.0%} of audits of 50, {many:.0%} of 1,000")
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# ## What you must guess
#
# | | |
# |---|---|
# | `difference` | the effect that would matter |
# | `base_rate` | errors at the low level |
# | `within` | correlation of the two errors of a pair |
# | `pairs` | 4 for an average, 1 for a cell |
#
# A **pilot** helps with the second and third.
#
# *Predict:* how many times more faces does a cell need: alone, and in a family of 24 cells?

# %% [markdown] tags=["slide"]
# ## One cell costs more
#
# A face gives four pairs to an average, and one to a cell.
#
# Testing 24 cells as one family asks for a stricter level in each.

# %% tags=["slide"]
asked = {"average, one test": (4, 1), "cell, one test": (1, 1), "cell, in a family of 24": (1, 24)}
counts = {
    name: transects_needed(Design(0.05, 0.05, pairs=pairs), 0.05 / tests)
    for name, (pairs, tests) in asked.items()
}
plt.rcParams["font.size"] = 15
fig, ax = plt.subplots(figsize=(11, 3.8))
bars = ax.barh([*counts], [*counts.values()], color=["grey", "tan", "saddlebrown"])
ax.bar_label(bars, padding=4)
ax.invert_yaxis()
what = "faces for a power of 80%: 5 points, 5% errors at the low level, correlation 0.05"
ax.set(xlabel=what)
ratio = counts["cell, in a family of 24"] / counts["average, one test"]
ax.set_title(f"A cell in its family needs {ratio:.1f} times the faces of the average")
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# ## Pruning costs twice
#
# A pair needs **both** of its images.
#
# Keep 7 images in 10 by chance, and of the pairs 0.7 × 0.7 are left: about half.

# %% tags=["slide"]
table = load("images")
by_pair = ["transect", "hair_length_level", "gender_level"]
images_kept = 100 * table["kept"].mean()
pairs_kept = 100 * table.groupby(by_pair)["kept"].all().mean()
shares = np.linspace(0.4, 1, 61)
plt.rcParams["font.size"] = 15
fig, ax = plt.subplots(figsize=(11, 3.4))
ax.plot(100 * shares, 100 * shares**2, color="black")
ax.plot([70, 70, 40], [0, 49, 49], ":", color="grey")
ax.text(72, 42, "7 in 10 by chance")
ax.plot(images_kept, pairs_kept, "D", color="tab:red")
ax.text(images_kept + 1, pairs_kept - 11, "the book's images", color="tab:red")
ax.set(xlabel="images kept (%)", ylabel="pairs kept (%)", xlim=(40, 106), ylim=(0, 105))
ax.set_title(f"The book keeps {images_kept:.0f}% of its images, and {pairs_kept:.0f}% of its pairs")
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# *Predict:* for the same money, one rater on many faces or five on few?

# %% [markdown] tags=["slide"]
# ## Faces or raters?
#
# - A wrong label hides an error, or makes one. Differences shrink.
# - A second rater improves one label.
# - A second face adds a label **and** a pair.

# %% tags=["slide"]
rivals = {r: int(1000 // (8 * 8 * r * 0.02)) for r in (1, 3, 5, 7)}
plt.rcParams["font.size"] = 15
fig, ax = plt.subplots(figsize=(11, 3.8))
for error, marker, colour in ((0.04, "o-", "black"), (0.16, "s--", "tab:red")):
    chances = [
        power(n, noisy_design(Design(0.05, 0.05, pairs=1), label_noise(error, r)))
        for r, n in rivals.items()
    ]
    ax.plot([*rivals], chances, marker, color=colour)
    ax.text(1.15, chances[0] + 0.06, f"a rater errs in {error:.0%}", color=colour)
ax.set_xticks([*rivals], [f"raters: {r}\nfaces: {n}" for r, n in rivals.items()])
ax.set(
    ylabel="power",
    ylim=(0, 1.05),
    title="The same money, spent in four ways (5 points in a cell, 5% errors, correlation 0.05)",
)
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# ## What power leaves out
#
# Power asks whether you find an effect. It is silent about a **wrong size**.
#
# Wrong labels in a share e shrink differences by 1 − 2e, at any number of faces.

# %% tags=["slide"]
plt.rcParams["font.size"] = 15
fig, ax = plt.subplots(figsize=(11, 3.2))
for error, marker, colour, below in ((0.04, "o-", "black", 0.35), (0.16, "s--", "tab:red", 0.4)):
    points = [5 * (1 - 2 * label_noise(error, r)) for r in rivals]
    ax.plot([*rivals], points, marker, color=colour)
    ax.text(1.15, points[0] - below, f"a rater errs in {error:.0%}", color=colour)
ax.axhline(5, color="grey", linestyle=":")
ax.set_xticks([*rivals], [f"raters: {r}\nfaces: {n}" for r, n in rivals.items()])
ax.set(ylabel="points", ylim=(2.5, 5.3), title="What wrong labels leave of 5 points, on average")
ax.spines[["top", "right"]].set_visible(False)
plt.rcdefaults()

# %% [markdown] tags=["slide"]
# Two ways lead out: errors against the gender that was **set**, or against what people **see**, by three raters or more.

# %% [markdown] tags=["slide"]
# ## Freeze it
#
# Write the plan **before** the data exist.
#
# | It says | For example |
# |---|---|
# | what is compared | errors with dark and light skin, by cell |
# | who is right | the gender that was set, or most raters |
# | level, tolerance | 5% shared among all tests; 5 points |
# | no effect found | "no effect of this size or larger" |
#
# Hand in its hash. It proves that the question came before the answer.

# %% [markdown]
# The table `images` holds the images of an experiment with 400 faces, a row per image. A *transect* is one face, shown in eight
# combinations of skin, hair and gender. `…_level` says which: 0 is light skin, short hair, female, and 1 is dark skin, long
# hair, male. `error_…` is 1 where a model's answer differs from the raters' label.
#
# Suppose that you have seen 50 transects only: your pilot.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from course.lab import check, load
from faceaudit.effects import Design, power, transects_needed
from faceaudit.effects.planning import label_noise, noisy_design

images = load("images")
pilot = images[images["transect"] < 50]
rows = ["transect", "hair_length_level", "gender_level"]
errors = pilot.pivot_table("error_fairface-like", rows, "skin_colour_level")
errors.head()

# %% [markdown]
# ## Exercise 1. What a pilot tells (6 minutes)
#
# Each row of `errors` is a pair: the same face with light skin (column 0) and with dark skin (column 1). Compute `base_rate`,
# the error rate with light skin, and `within`, the correlation of the two columns, both as fractions. Give them in this order as
# the list `values`.

# %% tags=["solution"]
# `one.corr(other)` is the correlation of two columns.
base_rate = errors[0].mean()
within = errors[0].corr(errors[1])
values = [base_rate, within]

# %% tags=["check"]
check("planning-pilot", values)

# %% tags=["mistake"]
# The base rate is the error rate at the low level alone: light skin, column 0.
values = [errors.to_numpy().mean(), within]

# %% tags=["mistake"]
# This is a covariance. Ask for the correlation.
values = [base_rate, errors[0].cov(errors[1])]

# %% tags=["mistake"]
# The base rate is that of dark skin here. Light skin is column 0.
values = [errors[1].mean(), within]

# %% tags=["mistake"]
# Keep the base rate as a fraction: planning counts in fractions.
values = [100 * base_rate, within]

# %% [markdown] tags=["hint", "1"]
# `errors[0]` is the column of light skin. Its mean is the base rate.

# %% [markdown] tags=["hint", "2"]
# A correlation takes two columns of `errors`: that of light skin and that of dark skin. Which method does the comment name?

# %% [markdown]
# A pilot is small, so chance moves its values. Compare yours with those of the whole experiment:

# %%
whole = images.pivot_table("error_fairface-like", rows, "skin_colour_level")
print(f"base rate {whole[0].mean():.3f}, correlation {whole[0].corr(whole[1]):.3f}")

# %% [markdown]
# ## Exercise 2. How many faces? (8 minutes)
#
# `Design(difference, base_rate, within, pairs=…)` holds what you plan for. `transects_needed(design, alpha)` gives the least
# number of transects that finds such an effect with a power of 80%. The level `alpha` is 0.05 if you do not give it.
#
# Plan for an effect of 5 points with the values of your pilot. Give `needed`, a list of three numbers of transects:
#
# 1. for the **average** over four cells, women and men with short and with long hair (a face has four pairs: `pairs=4`),
# 2. for **one cell** (`pairs=1`),
# 3. for one cell **in its family**: it is one of 24 tests that are judged together. The strictest of them has the level
#    0.05 / 24.
#
# *Write down your guess of the third number first.*

# %% tags=["solution"]
# An effect of 5 points is a difference of 0.05: the design of the average is `Design(0.05, base_rate, within, pairs=4)`.
average = Design(0.05, base_rate, within, pairs=4)
cell = Design(0.05, base_rate, within, pairs=1)
needed = [transects_needed(average), transects_needed(cell), transects_needed(cell, 0.05 / 24)]

# %% tags=["check"]
check("planning-needed", needed)

# %% tags=["mistake"]
# A cell has one pair a transect, in the third number too. Set `pairs=1`.
family = transects_needed(average, 0.05 / 24)
needed = [transects_needed(average), transects_needed(cell), family]

# %% tags=["mistake"]
# The family divides the *level*: 0.05 / 24. You multiplied the number of faces.
needed = [transects_needed(average), transects_needed(cell), 24 * transects_needed(cell)]

# %% tags=["mistake"]
# You left out `within`, so `Design` took 0.05. Hand over the correlation of your pilot.
average, cell = (Design(0.05, base_rate, pairs=pairs) for pairs in (4, 1))
needed = [transects_needed(average), transects_needed(cell), transects_needed(cell, 0.05 / 24)]

# %% tags=["mistake"]
# Use your pilot's two values, not those of the whole experiment.
known = whole[0].mean(), whole[0].corr(whole[1])
average, cell = (Design(0.05, *known, pairs=pairs) for pairs in (4, 1))
needed = [transects_needed(average), transects_needed(cell), transects_needed(cell, 0.05 / 24)]

# %% tags=["mistake"]
# You took `within=0.2`. Hand over the correlation of your pilot.
average, cell = (Design(0.05, base_rate, 0.2, pairs=pairs) for pairs in (4, 1))
needed = [transects_needed(average), transects_needed(cell), transects_needed(cell, 0.05 / 24)]

# %% tags=["mistake"]
# The third number has a level of its own. Hand it over as the second argument.
needed = [transects_needed(average), transects_needed(cell), transects_needed(cell)]

# %% tags=["mistake"]
# These are designs. Hand each of them to `transects_needed`.
needed = [average, cell, cell]

# %% [markdown] tags=["hint", "1"]
# First number: is `planning-pilot` right? The design takes both of its values, and `pairs=4`.

# %% [markdown] tags=["hint", "2", "3"]
# `Design(0.05, base_rate, within, pairs=1)` is a cell. Hand it to `transects_needed`.

# %% [markdown] tags=["hint", "3"]
# The third number is `transects_needed(cell, 0.05 / 24)`.

# %% [markdown]
# The slide *One cell costs more* asks for more faces, because it plans before there is a pilot: it guesses a base rate of 0.05
# and a correlation of 0.05. Your pilot has fewer errors, and the errors of a pair go together more. Here are both in one table:

# %%
lecture = Design(0.05, 0.05, 0.05, pairs=1)
of_slide = [
    transects_needed(Design(0.05, 0.05, 0.05, pairs=4)),
    transects_needed(lecture),
    transects_needed(lecture, 0.05 / 24),
]
kinds = ["average", "cell", "cell in its family"]
pd.DataFrame({"slide": of_slide, "your pilot": needed}, index=kinds)

# %% [markdown]
# ## Exercise 3. Faces or raters? (12 minutes)
#
# Raters judge eight attributes in each of the eight images of a transect. An answer costs 0.02, and you have 1,000. So these
# are the most transects that you can pay with 1, 3 and 5 raters an image:

# %%
raters = [1, 3, 5]
shares = [0.04, 0.16]  # in which a rater errs: usual, and of a hard cell
affordable = [int(1000 / (8 * 8 * r * 0.02)) for r in raters]
affordable

# %% [markdown]
# Three functions tell what an order is worth. Each needs what the one before it gives:
#
# - `label_noise(share, r)`: a rater's label is wrong in a `share` of images. So how often is the *majority* of `r` raters wrong?
# - `noisy_design(design, noise)`: the design as it looks through such labels.
# - `power(transects, design)`: the chance to find the effect of the design, by one test at the level 0.05.
#
# Here is one place of a table, for one rater who errs in 4 images of 100. Its base rate, 0.10, is invented.

# %%
example = Design(0.05, 0.10, 0.2, pairs=1)  # 5 points in one cell
power(781, noisy_design(example, label_noise(0.04, 1)))

# %% [markdown]
# Give `chances`: the power to find 5 points in one cell, a row for 1, 3 and 5 raters, a column for each of `shares`. Take your
# pilot's base rate. Its correlation is uncertain, so keep the 0.2 of the example. A small correlation is the careful side: it asks
# for more faces.

# %% tags=["solution"]
# `careful` is the example with your base rate. Put the power in place of the dots. It is a power of n, r and share:
# `[[… for share in shares] for n, r in zip(affordable, raters)]`
careful = Design(0.05, base_rate, 0.2, pairs=1)
chances = [
    [power(n, noisy_design(careful, label_noise(share, r))) for share in shares]
    for n, r in zip(affordable, raters, strict=True)
]

# %% tags=["check"]
check("planning-chances", chances)

# %% tags=["mistake"]
# You used the noise of a single rater in every row. The majority of several raters errs less.
chances = [[power(n, noisy_design(careful, share)) for share in shares] for n in affordable]

# %% tags=["mistake"]
# You gave every row the same number of transects. More raters mean fewer faces for the same money.
noises = [[label_noise(share, r) for share in shares] for r in raters]
chances = [[power(affordable[0], noisy_design(careful, one)) for one in row] for row in noises]

# %% tags=["mistake"]
# There is no noise in this table: both columns are alike. Hand `noisy_design` to `power`.
chances = [[power(n, careful)] * 2 for n in affordable]

# %% tags=["mistake"]
# These are the powers with your pilot's correlation. Use 0.2.
chances = [
    [power(n, noisy_design(cell, label_noise(share, r))) for share in shares]
    for n, r in zip(affordable, raters, strict=True)
]

# %% tags=["mistake"]
# These are the powers of the average. A cell has `pairs=1`.
of_four = Design(0.05, base_rate, 0.2)
chances = [
    [power(n, noisy_design(of_four, label_noise(share, r))) for share in shares]
    for n, r in zip(affordable, raters, strict=True)
]

# %% tags=["mistake"]
# Use your pilot's base rate, not that of the whole experiment.
of_all = Design(0.05, whole[0].mean(), 0.2, pairs=1)
chances = [
    [power(n, noisy_design(of_all, label_noise(share, r))) for share in shares]
    for n, r in zip(affordable, raters, strict=True)
]

# %% tags=["mistake"]
# These are the powers of the example. Use your pilot's base rate.
chances = [
    [power(n, noisy_design(example, label_noise(share, r))) for share in shares]
    for n, r in zip(affordable, raters, strict=True)
]

# %% [markdown] tags=["hint"]
# `careful` is `Design(0.05, base_rate, 0.2, pairs=1)`.

# %% [markdown] tags=["hint"]
# One place of the table is `power(n, noisy_design(careful, label_noise(share, r)))`.

# %% [markdown]
# The next table has your powers beside those of the slide *Faces or raters?* The slide guesses a base rate of 0.05 and a correlation
# of 0.05. Yours are higher, because your base rate is lower, and the 0.2 of the example is a higher correlation.

# %%
slide = pd.DataFrame(index=raters, columns=shares, dtype=float)
transects = dict(zip(raters, affordable, strict=True))
for r in raters:
    for share in shares:
        design = noisy_design(lecture, label_noise(share, r))
        slide.loc[r, share] = power(transects[r], design)
yours = pd.DataFrame(chances, index=raters, columns=shares)
pd.concat({"slide": slide, "your pilot": yours}, axis=1).round(2)

# %% [markdown]
# So power alone says: one rater, in all columns. But power is silent about a wrong size. The next table has what wrong labels
# leave of 5 points on average. The slide *What power leaves out* has the same numbers.

# %%
left = [[5 * (1 - 2 * label_noise(share, r)) for share in shares] for r in raters]
pd.DataFrame(left, index=raters, columns=shares).round(2)

# %% [markdown]
# More faces never shrink this **bias**: the interval becomes narrower around a wrong number. More raters do. In this lab's table
# the label is always the gender that was set. In the league it is not. A single rater there errs in about 4 images of 100, and in
# about 9 if a woman has short hair. So the bias differs between cells.
#
# Two ways lead out of it. You count errors against the gender that was *set*, and then one rater is enough. Or you count them
# against what people *see*, and then you take at least three. Each way answers another question. Your class debates them.

# %% [markdown]
# ## What would change your mind? (9 minutes)
#
# Your team has 1,000 to spend, and the label comes from the raters, as in the league. Write three sentences for a plan. The list
# at the end of the [handout](handouts/09.html) helps.
#
# 1. Will you find a gap or an effect of skin? Say what changes within a pair, and what is held.
# 2. Which of your guesses could be wrong, and would hurt the plan most?
# 3. How many faces and how many raters do you order, and which result of a pilot would change this?

# %% [markdown] tags=["instructor"]
# Within a pair skin is set, and the face, its hair and its gender stay. So the plan finds an effect of this step of skin on made
# faces, as far as what moves along with skin is held, too. The pilot is off by chance, up or down: that is why exercise 3 takes a careful correlation. With good raters, one rater on many
# faces has the most power for the same money. With poor raters the ways to spend it are nearly alike, and all have little power.
# Power ignores the bias of wrong labels, and more faces do not mend it. So one rater goes with errors against the gender that was
# set, and several raters go with errors against what people see. Several raters also show disagreement, and measure other
# attributes better. A good answer says which of the two its errors are about. The debate comes after this question.

# %% [markdown]
# ## If you have time: what can be overlooked?
#
# Make `curves`, a table of the power in **one cell**: a row for each of `effects`, and a column for each of `orders`. Keep your
# pilot's base rate, and a correlation of 0.2. The pilot's own correlation does not go with effects from 11 points on: no
# errors with such rates correlate so.

# %%
effects = range(1, 16)  # in points
orders = [100, 400, 1600]  # transects

# %% tags=["solution"]
# Put the power in place of the dots. It is a power of n and of points:
# `pd.DataFrame({n: [… for points in effects] for n in orders}, index=effects)`
# Draw it: `curves.plot(style=["o-", "s--", "^:"], xlabel="points", ylabel="power")`, and `plt.axhline(0.8)`.
curves = {
    n: [power(n, Design(points / 100, base_rate, 0.2, pairs=1)) for points in effects]
    for n in orders
}
curves = pd.DataFrame(curves, index=effects)
curves.plot(style=["o-", "s--", "^:"], figsize=(6, 3), xlabel="points", ylabel="power")
plt.axhline(0.8)

# %% tags=["check"]
check("planning-curves", curves)

# %% tags=["mistake"]
# These are the powers of the average. A cell has `pairs=1`.
designs = [Design(points / 100, base_rate, 0.2) for points in effects]
curves = pd.DataFrame({n: [power(n, design) for design in designs] for n in orders})

# %% tags=["mistake"]
# You left out the correlation, so `Design` took 0.05. Take 0.2.
designs = [Design(points / 100, base_rate, pairs=1) for points in effects]
curves = pd.DataFrame({n: [power(n, design) for design in designs] for n in orders})

# %% tags=["mistake"]
# Use your pilot's base rate, not that of the whole experiment.
designs = [Design(points / 100, whole[0].mean(), 0.2, pairs=1) for points in effects]
curves = pd.DataFrame({n: [power(n, design) for design in designs] for n in orders})

# %% [markdown] tags=["hint"]
# `Design(points / 100, base_rate, 0.2, pairs=1)` is the design for one row.

# %% [markdown] tags=["hint"]
# `power(n, …)` is one place of the table. It takes the design of its row.

# %% [markdown]
# An effect that a study finds with a power of 80% is called *detectable*. Give `smallest`: for each column of `curves`, the
# smallest effect in whole points whose power is at least 0.8. You may read them from `curves.round(2)`.

# %% tags=["solution"]
# With code: `column[column >= 0.8].index[0]` is the first row that fulfils the condition.
smallest = [column[column >= 0.8].index[0] for _, column in curves.items()]

# %% tags=["check"]
check("planning-smallest", smallest)

# %% tags=["mistake"]
# Each is one too small. Take the first row with at least 0.8. Rows begin at 1 point: ask for `index=effects`.
smallest = [column[column < 0.8].index[-1] for _, column in curves.items()]

# %% tags=["mistake"]
# This is the row with an even chance. Ask for a power of 0.8.
smallest = [column[column >= 0.5].index[0] for _, column in curves.items()]

# %% [markdown] tags=["hint"]
# Look at one column: `curves[100]`. Which is the first row with at least 0.8?

# %% [markdown]
# So write "no effect of this size or larger" beside every "no effect found".

# %% [markdown]
# ## Your team's order
#
# Your teacher gives your team a folder with `pilot/`. Without a league, write a plan
# from the pilot of this lab, and stop there. Begin after the debate. The rest is homework,
# about 30 minutes.
#
# Take base rate and correlation of each model from your pilot. Choose your numbers of transects and raters. Write your plan.
# [The rules](teams.md) say how `plan.json` and `order.yml` look, and how to compute the hash. Hand in `order.yml` by the day
# that your teacher names. It is final.
#
# Five raters stand behind each label of your pilot, so almost all of its labels are the gender that was set. With one rater they
# will not be. The truth of the league is about the gender that was set. This counts the errors of model A against it, in a table `table`:
#
# ```python
# wrong = table["label"] != table["gender_level"]
# table["error_A"] = table["error_A"].where(~wrong, 1 - table["error_A"])
# ```
