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
# # Lab 11. Your class labels, the models answer
#
# *32 minutes. Afterwards you can make labels of a class's answers, give error rates of a network by skin with their
# intervals, compare pictures of the same face, and say whose labels an error rate hangs on. Needs: shares, the standard
# error of a mean, matched pairs (lab 7).*

# %% [markdown] tags=["slide"]
# # Your class labels, the models answer
#
# ## Real networks, no labels
#
# Chapter 19 asks published networks about faces that look like photographs.
# It tells *changes*, and no error rate.
#
# *Predict:* why not? What is missing?

# %% [markdown] tags=["slide"]
# ## Generated faces, measured skin
#
# From left to right: light, medium and dark skin, a step at random, and dimmed light.
#
# ![Three rows of generated photographic faces of adults who exist nowhere, five pictures each: light, medium and dark skin, a step at random, and the light face in dimmed light.](faces/11.jpg)
#
# *No such person exists.*

# %% [markdown] tags=["slide"]
# ## Before you label
#
# - The faces are **generated**. No such person exists.
# - Say how a face **looks to you**. No picture shows somebody's gender.
# - *Cannot tell* is an answer.
# - Taking part is voluntary. Take a pseudonym.
# - The generator learned from photographs for **non-commercial** use. Keep the pictures in class.

# %% [markdown] tags=["slide"]
# ## Who labels what
#
# Each face has three pictures: light, medium and dark skin.
#
# - **No face twice** on one page: you would remember your answer.
# - **Three people or more** for each picture.
# - A label needs **more than half** of them.

# %% [markdown] tags=["slide"]
# ## From answers to labels
#
# The example of the lab: 18 *simulated* raters.

# %% tags=["slide"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from course.lab import load

plt.rcParams.update({"font.size": 14, "axes.titlesize": 15})
said = load("class_answers").query("question == 'gender'")
shares = said["level"].value_counts(normalize=True).sort_index()
words = ["female", "probably\nfemale", "cannot\ntell", "probably\nmale", "male"]
fig, ax = plt.subplots(figsize=(9, 3.4))
ax.bar(words, 100 * shares, color="#0072B2")
ax.set(ylabel="answers (%)", title=f"{100 * shares[2]:.0f}% of the answers are “cannot tell”")
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## An error needs somebody who is right
#
# An **error** is a difference between two opinions: the network's, and the class's.
#
# - Another class, other labels, other error rates.
# - Pictures that divide the class have no label. They drop out, and they are the hard ones.

# %% [markdown] tags=["slide"]
# ## Two comparisons
#
# | | What differs | What it says |
# |---|---|---|
# | error rates by skin | skin, and which pictures have a label | where the network differs from the class |
# | the same face, light and dark | skin, and what is bundled with it | what skin changes |
#
# *Predict:* the class itself sees a man in the dark picture, and a woman in the light one. Does that hide an effect?

# %% [markdown] tags=["slide"]
# ## What you may say afterwards
#
# - "On *generated* faces, by the labels of *our class*, network X in version Y …"
# - Never: "X errs on so many percent of dark-skinned people."
# - Dimmed light can do what skin seems to do: read the controls of chapter 19.

# %% tags=["slide"]
plt.rcdefaults()  # the figures of the lab are smaller

# %% [markdown]
# This lab begins with an **example**. Its 18 raters are simulated, and so is its network: no person and no published
# model said any of this. Your own class's files have the same columns; the last section says how to take them.
#
# *Women* and *men* are short for faces that raters perceive so. Every face has three pictures, with light, medium and
# dark skin, and three raters looked at each picture.

# %%
import numpy as np
import pandas as pd  # your own class's files need it, at the end

from course.lab import check, load

pd.set_option("display.precision", 2)
answers = load("class_answers")
images = load("class_images").set_index("image")
gender = answers[answers["question"] == "gender"]
gender.head(3)

# %% [markdown]
# ## Exercise 1. From answers to labels (7 minutes)
#
# `level` is 0 (female), 1 (probably female), 2 (cannot tell), 3 (probably male) or 4 (male). A picture gets the label
# 1 (a man) where **more than half of its raters** answered 3 or 4, and the label 0 (a woman) where more than half answered
# 0 or 1. Else it has no label. Give `unlabelled`, the number of pictures without a label.

# %% tags=["solution"]
# A comparison is true or false, and its mean by picture is a share of raters.
men = (gender["level"] > 2).groupby(gender["image"]).mean()
women = (gender["level"] < 2).groupby(gender["image"]).mean()
unlabelled = ((men <= 0.5) & (women <= 0.5)).sum()

# %% tags=["check"]
check("class-unlabelled", unlabelled)

# %% tags=["mistake"]
# These are the pictures with a label. Count those without.
unlabelled = ((men > 0.5) | (women > 0.5)).sum()

# %% tags=["mistake"]
# You left out who cannot tell before you counted. They are raters too: half of all raters must be beaten.
sure = gender[gender["level"] != 2]
share = (sure["level"] > 2).groupby(sure["image"]).mean()
unlabelled = gender["image"].nunique() - (share != 0.5).sum()

# %% tags=["mistake"]
# These are pictures where the mean answer is "cannot tell". Count raters, not means.
unlabelled = (gender.groupby("image")["level"].mean() == 2).sum()

# %% [markdown] tags=["hint"]
# `(gender["level"] > 2).groupby(gender["image"]).mean()` is the share of raters who see a man, for each picture.

# %% [markdown] tags=["hint"]
# A picture has no label where neither this share nor that of women is above 0.5. Join the two conditions with `&`.

# %% [markdown]
# From here on `images` has the labels. The cell makes them in another way: an answer is −1, 0 or 1, and the middle one of a
# picture's answers is its label. `differs` is 1 where the network's answer is not the label.

# %%
side = np.sign(gender["level"] - 2)
middle = side.groupby(gender["image"]).median()
images["label"] = middle.map({-1.0: 0.0, 1.0: 1.0})
images["says"] = (images["P(male)"] > 0.5).astype(float)
images["differs"] = (images["says"] != images["label"]).where(images["label"].notna()).astype(float)
images[["face", "skin", "P(male)", "says", "label", "differs"]].head(4)

# %% [markdown]
# ## Exercise 2. Error rates by skin (7 minutes)
#
# Give `rates`: the error rates at light, medium and dark skin, in this order and in percent. Pictures without a label do
# not count.

# %% tags=["solution"]
# `mean()` leaves missing values out.
by_skin = images.groupby("skin")["differs"]
rates = 100 * by_skin.mean()[["light", "medium", "dark"]]

# %% tags=["check"]
check("class-rates", rates)

# %% tags=["mistake"]
# The order is the alphabet's. Put light first, then medium and dark.
rates = 100 * by_skin.mean()

# %% tags=["mistake"]
# Pictures without a label count as errors here, because a missing value equals none. Leave them out.
wrong = images["says"] != images["label"]
rates = 100 * wrong.groupby(images["skin"]).mean()[["light", "medium", "dark"]]

# %% tags=["mistake"]
# You divided by all pictures. Divide by those that have a label.
rates = 100 * (by_skin.sum() / by_skin.size())[["light", "medium", "dark"]]

# %% tags=["mistake"]
# These are shares of pictures with the answer "man". An error is a difference from the label.
rates = 100 * images.groupby("skin")["says"].mean()[["light", "medium", "dark"]]

# %% [markdown] tags=["hint"]
# `images.groupby("skin")["differs"].mean()` has a rate for each level of skin.

# %% [markdown] tags=["hint"]
# `series[["light", "medium", "dark"]]` puts three values in this order. Times 100 they are percent.

# %% [markdown]
# Give the 95% interval of the rate at **dark** skin, `interval`, as `[low, high]` in percent: the rate, plus and minus
# 1.96 · √(rate · (1 − rate) / n). Which n?

# %% tags=["solution"]
# `count()` counts what is not missing.
rate = by_skin.mean()["dark"]
half = 1.96 * np.sqrt(rate * (1 - rate) / by_skin.count()["dark"])
interval = [100 * (rate - half), 100 * (rate + half)]

# %% tags=["check"]
check("class-interval", interval)

# %% tags=["mistake"]
# This n counts pictures without a label, too.
half = 1.96 * np.sqrt(rate * (1 - rate) / by_skin.size()["dark"])
interval = [100 * (rate - half), 100 * (rate + half)]

# %% tags=["mistake"]
# You forgot the root.
half = 1.96 * rate * (1 - rate) / by_skin.count()["dark"]
interval = [100 * (rate - half), 100 * (rate + half)]

# %% tags=["mistake"]
# This n counts the pictures of all three levels.
half = 1.96 * np.sqrt(rate * (1 - rate) / images["differs"].count())
interval = [100 * (rate - half), 100 * (rate + half)]

# %% tags=["mistake"]
# This is one standard error. Take 1.96 of them.
half = np.sqrt(rate * (1 - rate) / by_skin.count()["dark"])
interval = [100 * (rate - half), 100 * (rate + half)]

# %% [markdown] tags=["hint"]
# n is the number of dark pictures that have a label. `by_skin.count()` counts what is not missing.

# %% [markdown] tags=["hint"]
# Compute with shares, and multiply both ends by 100 at last.

# %% [markdown]
# The report of your class has Wilson's interval. It is nearly the same, and stays above 0% where there are few errors.

# %% [markdown]
# ## Exercise 3. The same face (8 minutes)
#
# The three rates are of partly different faces, because pictures that divide the class drop out. So compare within a face.
# `wide` has a row for each face, and `differs` of its three pictures. For faces that have both, give `effect`: the mean of
# dark minus light, in points.

# %%
wide = images.pivot_table("differs", "face", "skin")
wide.head(3)

# %% tags=["solution"]
# A difference with a missing value is missing, and `dropna()` drops it. The next step needs `of_faces` too.
of_faces = 100 * (wide["dark"] - wide["light"]).dropna()
effect = of_faces.mean()

# %% tags=["check"]
check("class-effect", effect)

# %% tags=["mistake"]
# This is the difference of two rates, whose faces are not all the same. Subtract within each face first.
effect = 100 * (wide["dark"].mean() - wide["light"].mean())

# %% tags=["mistake"]
# A face without a label at one level counts here, as if the network agreed. Leave such faces out.
effect = 100 * (wide["dark"].fillna(0) - wide["light"].fillna(0)).mean()

# %% tags=["mistake"]
# This is medium minus light. Take dark.
effect = 100 * (wide["medium"] - wide["light"]).mean()

# %% [markdown] tags=["hint"]
# `wide["dark"] - wide["light"]` is the difference of each face: −1, 0, 1, or missing.

# %% [markdown] tags=["hint"]
# Drop the missing ones, take the mean, and multiply by 100.

# %% [markdown]
# Faces are independent. Give the 95% interval of the effect, `effect_interval`, as `[low, high]`: the mean, plus and minus
# 1.96 standard errors. `of_faces.sem()` is the standard error of its mean.

# %% tags=["solution"]
error = 1.96 * of_faces.sem()
effect_interval = [effect - error, effect + error]

# %% tags=["check"]
check("class-effect-interval", effect_interval)

# %% tags=["mistake"]
# This is the spread of faces. The standard error of their mean is smaller: divide by √n, as `sem()` does.
error = 1.96 * of_faces.std()
effect_interval = [effect - error, effect + error]

# %% tags=["mistake"]
# This is one standard error. Take 1.96 of them.
error = of_faces.sem()
effect_interval = [effect - error, effect + error]

# %% tags=["mistake"]
# You took two independent rates. The same faces stand in both, so take the spread of their differences.
variance = wide["dark"].var() / wide["dark"].count() + wide["light"].var() / wide["light"].count()
error = 100 * 1.96 * np.sqrt(variance)
effect_interval = [effect - error, effect + error]

# %% [markdown] tags=["hint"]
# Low is `effect` minus 1.96 times `of_faces.sem()`.

# %% [markdown] tags=["hint"]
# High is the same with a plus. Put both into a list.

# %% [markdown]
# ## Exercise 4. Whose label? (6 minutes)
#
# Does the class itself see another gender in the dark picture? `labels` has the three labels of each face. For faces with a
# label at light and at dark skin, give `changed`: how many have another label at dark skin.

# %%
labels = images.pivot_table("label", "face", "skin")
labels.head(3)

# %% tags=["solution"]
# Leave faces out that lack one of the two.
both = labels[["light", "dark"]].dropna()
changed = (both["light"] != both["dark"]).sum()

# %% tags=["check"]
check("class-changed", changed)

# %% tags=["mistake"]
# A missing label differs from every label. Leave faces out that lack one of the two.
changed = (labels["light"] != labels["dark"]).sum()

# %% tags=["mistake"]
# These keep their label. Count the others.
changed = (both["light"] == both["dark"]).sum()

# %% tags=["mistake"]
# Changes from man to woman and from woman to man cancel here. Count both.
changed = (both["dark"] - both["light"]).sum()

# %% [markdown] tags=["hint"]
# `labels[["light", "dark"]].dropna()` keeps faces with both labels.

# %% [markdown] tags=["hint"]
# Count where the two columns differ: `(a != b).sum()`.

# %% [markdown]
# Where network and class change together, the network does not differ. Now hold the label: every picture of a face gets
# one label, `held`, the middle of all **nine** answers about the face. Give `effect_held`: the mean of dark minus light in
# points, for faces that have this label.

# %%
of_face = side.groupby(gender["image"].map(images["face"])).median()
images["held"] = images["face"].map(of_face).map({-1.0: 0.0, 1.0: 1.0})
images[["face", "skin", "says", "label", "held"]].tail(3)

# %% tags=["solution"]
# Do as in exercise 3, with `held` in place of `label`.
unlike = images["says"] != images["held"]
images["against"] = unlike.where(images["held"].notna()).astype(float)
beside = images.pivot_table("against", "face", "skin")
effect_held = 100 * (beside["dark"] - beside["light"]).mean()

# %% tags=["check"]
check("class-held", effect_held)

# %% tags=["mistake"]
# This is the effect with each picture's own label. Take `held`.
effect_held = 100 * (wide["dark"] - wide["light"]).mean()

# %% tags=["mistake"]
# Faces without this label count as errors at both levels here, and make the mean smaller. Leave them out.
every = images.assign(against=(images["says"] != images["held"]).astype(float))
beside = every.pivot_table("against", "face", "skin")
effect_held = 100 * (beside["dark"] - beside["light"]).mean()

# %% tags=["mistake"]
# This is the change of the network's answer, in both directions together. Compare it with `held`.
beside = images.pivot_table("says", "face", "skin")
effect_held = 100 * (beside["dark"] - beside["light"]).mean()

# %% [markdown] tags=["hint"]
# Make a column of differences from `held`, missing where `held` is, and a table of it as `wide` was made.

# %% [markdown] tags=["hint"]
# `images["against"] = …`, then `images.pivot_table("against", "face", "skin")`. Subtract light from dark, and take the mean.

# %% [markdown]
# ## What would change your mind? (4 minutes)
#
# Write three sentences. Your class has error rates of a named network, and they differ by skin. What may you say of the
# network, and of whom may you not speak? Which of the two labels of exercise 4 do you take, and for which question? Which
# result would make you withdraw the finding: of the controls of chapter 19, of another class, of the pictures without a
# label? The [handout](handouts/11.html) helps.

# %% [markdown] tags=["instructor"]
# An error rate is a difference from one class's labels, on generated faces. With each picture's own label the effect says
# where the network differs from what the class sees *in this picture*. With the label held it says how far skin alone
# moves the network's answer about a face. Both are right answers, to two questions. A finding falls if dimmed light does the
# same (chapter 19), if another class's labels give another sign, or if it rests on the pictures that hardly had a label.

# %% [markdown]
# ## If you have time: ages, without a gender axis
#
# Nothing above is needed here. `level` of an age is a group: under 20, 20 to 29, and so on to 60 or older. The label of a
# picture is its middle answer. The network tells an age in years, and `group` is its group. Give `age_rates`: how often it
# lies outside of the class's group, at light, medium and dark skin, in percent.

# %%
ages = load("class_answers").query("question == 'age'")
seen = load("class_images").set_index("image")
seen["group"] = np.searchsorted([20, 30, 40, 50, 60], seen["age"], side="right")
ages.head(3)

# %% tags=["solution"]
# `groupby("image")["level"].median()` is the middle answer of each picture.
seen["label"] = ages.groupby("image")["level"].median()
outside = seen["group"] != seen["label"]
age_rates = 100 * outside.groupby(seen["skin"]).mean()[["light", "medium", "dark"]]

# %% tags=["check"]
check("class-ages", age_rates)

# %% tags=["mistake"]
# You took the mean answer. Few means are whole numbers, so nearly all pictures differ. Take the middle one.
mean_level = ages.groupby("image")["level"].mean()
outside = seen["group"] != mean_level.reindex(seen.index)
age_rates = 100 * outside.groupby(seen["skin"]).mean()[["light", "medium", "dark"]]

# %% tags=["mistake"]
# The order is the alphabet's. Put light first, then medium and dark.
age_rates = 100 * outside.groupby(seen["skin"]).mean()

# %% [markdown] tags=["hint"]
# Put the middle answers into a column of `seen`, and compare it with `group`.

# %% [markdown] tags=["hint"]
# Group the comparison by `seen["skin"]`, take the mean, and put the levels in order.

# %% [markdown]
# How many years more does the network say at dark skin than at light skin, on average over faces? Give `years`. Is this what
# the error rates say?

# %% tags=["solution"]
# No label is needed for a change.
by_face = seen.pivot_table("age", "face", "skin")
years = (by_face["dark"] - by_face["light"]).mean()

# %% tags=["check"]
check("class-years", years)

# %% tags=["mistake"]
# This is medium minus light. Take dark.
years = (by_face["medium"] - by_face["light"]).mean()

# %% [markdown] tags=["hint"]
# Make a table with a row for each face and a column for each level of skin, and take the mean difference.

# %% [markdown] tags=["instructor"]
# The network adds years at dark skin, and its error rate falls. At light skin it called many faces younger than the class
# did. An error rate by groups hides a shift: look at changes too.

# %% [markdown]
# ## Your own class
#
# Your teacher's report has a folder `lab` with two files. Put them beside this lab, and take them in place of the example:
#
# ```python
# answers = pd.read_csv("answers.csv")
# images = pd.read_csv("images.csv").query("network == 'faceres'").set_index("image")
# ```
#
# `pd.read_csv("images.csv")["network"].unique()` lists the networks. The checks know the example alone, so compare with a
# neighbour. Do not publish what you find as an error rate of the network: it is one class's opinion of generated faces.
