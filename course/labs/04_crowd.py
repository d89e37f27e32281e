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
# # Lab 4. What a crowd sees
#
# *35 minutes. Afterwards you can turn raters' answers into a score and a label, say what one rater costs instead of
# five, and read a number of agreement. Needs: means, shares, and the standard deviation.*

# %% [markdown] tags=["slide"]
# # What a crowd sees
#
# ## Who says that a model errs?
#
# A model is wrong where its answer differs from a **label**.
# The label is what most raters say.
#
# *Predict:* how often do all five raters give the same answer?

# %% [markdown] tags=["slide"]
# ## Five answers to one question

# %% tags=["slide"]
import matplotlib.pyplot as plt
import pandas as pd

from course.lab import load
from faceaudit import annotations
from faceaudit.annotations import ATTRIBUTES

plt.rc("font", size=13)
answers = load("answers")
ids, counts = annotations.count_tensor(answers)
spread = pd.Series(annotations.standard_deviation(counts["gender"])).sort_values(kind="stable")
shown = spread.index[[0, 1600, 2400, 3000, 3160, 3199]]
fig, ax = plt.subplots(figsize=(10, 4))
ax.imshow(counts["gender"][shown], cmap="Blues", vmax=8, aspect="auto")
for row, image in enumerate(shown):
    for level, count in enumerate(counts["gender"][image]):
        ax.text(level, row, count or "", ha="center", va="center")
ax.set_xticks(range(5), ATTRIBUTES["gender"])
ax.set_yticks(range(6), [f"image {number}" for number in range(1, 7)])
equal = 100 * (counts["gender"] == 5).any(axis=1).mean()
ax.set_title(f"All five raters agree exactly on {equal:.0f}% of the images")
ax.spines[:].set_visible(False)

# %% [markdown] tags=["slide"]
# ## Faces in the middle of the scale
#
# What would five raters say about their gender?
#
# ![Six drawn faces whose perceived gender is set to the middle of its scale.](faces/04.jpg)
#
# *Write down your six answers before you talk.*

# %% [markdown] tags=["slide"]
# ## From answers to a label
#
# - **Level**: one answer, from 0 (*female*) to 4 (*male*).
# - **Score**: mean level / highest level.
# - **Label**: 1 where the score is at least one half.
#
# They say how a face is *perceived*.

# %% [markdown] tags=["slide"]
# ## How far do they agree?
#
# **Krippendorff's alpha** is 1 if raters agree about each image, and 0 if they agree as often as chance would make them.

# %% tags=["slide"]
alpha = annotations.agreement_table(counts, n_boot=10)["alpha"].sort_values()
fig, ax = plt.subplots(figsize=(10, 3.6))
ax.barh(alpha.index.str.replace("_", " "), alpha, color="steelblue")
ax.bar_label(ax.containers[0], fmt="%.2f", padding=3)
low, high = alpha.index[0].replace("_", " "), alpha.index[-1].replace("_", " ")
ax.set(xlim=(0, 1), xlabel="Krippendorff's alpha", title=f"They agree on {high}, not on {low}")
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## Bad raters, or little to see?
#
# Facial hair was held low on all of these faces.
#
# *Predict:* take the light-skinned faces alone. What happens to the agreement about skin colour?

# %% [markdown] tags=["slide"]
# ## An error that all raters share
#
# Only the hair was meant to change.

# %% tags=["slide"]
seen = load("images").pivot_table("gender", "gender_level", "hair_length_level")
moved = 100 * (seen[1] - seen[0]).mean()
fig, ax = plt.subplots(figsize=(9, 4))
for level, (name, colour) in enumerate([("made female", "purple"), ("made male", "green")]):
    ax.plot(["short hair", "long hair"], seen.loc[level], "o-", color=colour, label=name)
ax.set(ylim=(0, 1), ylabel="perceived gender\n(0 female, 1 male)")
ax.set_title(f"The same faces with longer hair: {moved:+.1f} hundredths")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %% tags=["slide"]
plt.rcdefaults()  # the figures of the lab are smaller

# %% [markdown] tags=["slide"]
# ## What more raters can mend
#
# - **Noise** of single raters: yes. It averages out.
# - **A habit that all share**: no. Long hair makes a face look more female to these raters.
#
# Agreement measures noise.

# %% [markdown]
# Sixty simulated raters looked at drawn faces, five of them at each image. A row of `answers` is one rater's answer
# to one question. `level` counts from 0. In the lab "women" and "men" are short for faces that raters perceive so.
# Give your answers unrounded.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from course.lab import check, load
from faceaudit import annotations
from faceaudit.annotations import ATTRIBUTES

answers = load("answers")
gender = answers[answers["attribute"] == "gender"]
print(dict(enumerate(ATTRIBUTES["gender"])))
gender.head()

# %% [markdown]
# ## Exercise 1. From answers to a label (8 minutes)
#
# Compute `score`, with one number for each image: the mean level, divided by the highest level. The label of an image
# is 1 (a man) where its score is at least one half. Give `mean_of_men`, the **mean score of the images labelled 1**.

# %% tags=["solution"]
# One number for each image is a mean by group.
score = gender.groupby("image_id", observed=True)["level"].mean() / 4
mean_of_men = score[score >= 0.5].mean()

# %% tags=["check"]
check("crowd-score", mean_of_men)

# %% tags=["mistake"]
# You divided by the number of levels. The highest level is 4, because they count from 0.
score = gender.groupby("image_id", observed=True)["level"].mean() / 5
mean_of_men = score[score >= 0.5].mean()

# %% tags=["mistake"]
# This is a mean level. Divide by the highest level, and the score runs from 0 to 1.
score = gender.groupby("image_id", observed=True)["level"].mean()
mean_of_men = score[score >= 2].mean()

# %% tags=["mistake"]
# This is the mean of all images. Take those whose score is at least one half.
mean_of_men = score.mean()

# %% [markdown] tags=["hint"]
# `gender.groupby("image_id")["level"].mean()` is the mean level of each image.

# %% [markdown] tags=["hint"]
# `score[score >= 0.5]` keeps the scores of the images with the label 1.

# %% [markdown]
# ## Exercise 2. One rater instead of five (7 minutes)
#
# Five raters cost five times as much as one. A row of `images` is an image. `label` is its label from exercise 1, and
# `model_says` is the answer of the model `celeba-like`. `first` is the answer that stands first in the table for this
# image. The rater differs from image to image. What if this one answer had made the label?

# %%
images = load("images").set_index("image_id")
first_rows = gender.drop_duplicates("image_id").astype({"image_id": "str"})
images["first"] = first_rows.set_index("image_id")["level"]
wrong = images["error_celeba-like"] == 1  # where the model's answer differs from the label
images["model_says"] = np.where(wrong, 1 - images["label"], images["label"])
images[["label", "first", "model_says"]].head(3)

# %% [markdown]
# Let `one_label` be 1 where `first` is at least 2. Give `differ`, the share of images in percent where it differs from
# `label`.

# %% tags=["solution"]
# A comparison is true or false. Its mean is a share.
one_label = (images["first"] >= 2).astype(int)
differ = 100 * (one_label != images["label"]).mean()

# %% tags=["check"]
check("crowd-differ", differ)

# %% tags=["mistake"]
# This rater's "in between" counts as 0 here. The label is 1 where `first` is at least 2.
differ = 100 * ((images["first"] > 2) != images["label"]).mean()

# %% tags=["mistake"]
# These are the images where they are equal. Give the share where they differ.
differ = 100 * (one_label == images["label"]).mean()

# %% tags=["mistake"]
# You compared a level with a label. Make `one_label` first, and compare it with `label`.
differ = 100 * (images["first"] != images["label"]).mean()

# %% [markdown] tags=["hint"]
# `images["first"] >= 2` is true where the label by one answer is 1.

# %% [markdown] tags=["hint"]
# `(a != b).mean()` is the share of rows in which two columns differ.

# %% [markdown]
# The model stays as it is. Which error rate would you report for it if `one_label` were the label? Give `rate_by_one`
# in percent. By `label` it is `100 * wrong.mean()`.

# %% tags=["solution"]
# An error is an answer of the model that differs from the label.
rate_by_one = 100 * (images["model_says"] != one_label).mean()
print(f"by five raters {100 * wrong.mean():.2f}%, by one {rate_by_one:.2f}%")

# %% tags=["check"]
check("crowd-rate", rate_by_one)

# %% tags=["mistake"]
# This is the error rate by the label of five raters. Compare the model's answer with `one_label`.
rate_by_one = 100 * wrong.mean()

# %% tags=["mistake"]
# You added two rates. Where both the first rater and the model are wrong, they agree.
rate_by_one = 100 * wrong.mean() + differ

# %% tags=["mistake"]
# You compared the errors with the label. Compare `model_says` with it.
rate_by_one = 100 * (wrong != one_label).mean()

# %% tags=["mistake"]
# You compared a label with a level. Take `one_label` instead of `first`.
rate_by_one = 100 * (images["model_says"] != images["first"]).mean()

# %% [markdown] tags=["hint"]
# An error is now an image where the model's answer differs from `one_label`.

# %% [markdown] tags=["hint"]
# Do as for `differ`, with `images["model_says"]` in place of `images["label"]`.

# %% [markdown]
# ## Exercise 3. Agreement where there is little to see (8 minutes)
#
# `count_tensor` gives two things: the images' names, and counts. They say how many raters chose each level: a row for
# each image, a column for each level. `agreement_table` takes a dictionary of such counts, and gives a row for each of
# its names. Its `alpha` is 1 if raters agree, and 0 if they agree as often as chance would make them. A little below 0
# means the same.

# %%
ids, counts = annotations.count_tensor(answers)
meant = images["skin_colour_level"].reindex(ids).to_numpy()  # 0: made light, 1: made dark
print("answers about the first image's gender:", counts["gender"][0])
# `n_boot=100` keeps it quick. Alpha does not depend on it.
annotations.agreement_table({"gender": counts["gender"]}, n_boot=100)[["images", "alpha"]]

# %% [markdown]
# Compute alpha of the answers about `skin_colour` for **all** images, for those made **light**, and for those made
# **dark**: `alphas`, with three numbers in this order. Did the raters get worse?

# %% tags=["solution"]
# Choose rows of the counts by `meant`.
skin = counts["skin_colour"]
sets = {"all": skin, "light": skin[meant == 0], "dark": skin[meant == 1]}
alphas = annotations.agreement_table(sets, n_boot=100)["alpha"]
alphas.round(2)

# %% tags=["check"]
check("crowd-range", alphas)

# %% tags=["mistake"]
# These are the answers about gender. The question is about `skin_colour`.
other = counts["gender"]
sets = {"all": other, "light": other[meant == 0], "dark": other[meant == 1]}
alphas = annotations.agreement_table(sets, n_boot=100)["alpha"]

# %% [markdown] tags=["hint"]
# `counts["skin_colour"][meant == 0]` are the counts of the images that were made light.

# %% [markdown] tags=["hint"]
# Pass a dictionary of three: `{"all": …, "light": …, "dark": …}`. The column `alpha` is your answer.

# %% [markdown]
# ## Exercise 4. Who answers unlike the others? (7 minutes)
#
# `distance` is how far a rater's answers lie from the mean of the other raters, on average. `gold_right` is the share of
# test questions that the rater answered acceptably.

# %%
raters = load("raters").set_index("annotator_id")
raters.plot.scatter("distance", "seconds", figsize=(5, 2.8), ylabel="seconds per answer")
raters.head(3)

# %% [markdown]
# Flag a rater whose distance is more than **three robust standard deviations above the median**. The robust one is
# `median_abs_deviation(distance, scale="normal")`. Give `n_flagged`. Why not the mean and the usual standard deviation?

# %% tags=["solution"]
# Compute the limit first.
distance = raters["distance"]
limit = distance.median() + 3 * median_abs_deviation(distance, scale="normal")
n_flagged = (distance > limit).sum()

# %% tags=["check"]
check("crowd-flagged", n_flagged)

# %% tags=["mistake"]
# You used the mean and the usual standard deviation. The raters far out make both larger, and so one of them is missed.
n_flagged = (distance > distance.mean() + 3 * distance.std()).sum()

# %% tags=["mistake"]
# The deviation lacks its scale. Ask for `scale="normal"`, so that it compares with a standard deviation.
n_flagged = (distance > distance.median() + 3 * median_abs_deviation(distance)).sum()

# %% tags=["mistake"]
# These are the raters who were not flagged.
n_flagged = (distance <= limit).sum()

# %% [markdown] tags=["hint"]
# `raters["distance"].median()` is the median of the distances.

# %% [markdown] tags=["hint"]
# The limit is the median plus three times the robust deviation. Count the distances above it.

# %% [markdown]
# Print the flagged raters' rows. Look at `seconds` and `gold_right`. Are all of them careless?

# %% tags=["solution"]
# A condition in brackets chooses rows of a table.
raters[distance > limit]

# %% [markdown]
# ## What would change your mind? (5 minutes)
#
# Write three sentences. A colleague says: "Agreement is high, so the labels are right." What could still be wrong in
# these labels? How would you look for it? What would you decide about raters who answer unlike the others, and when?
# The tables of the [handout](handouts/04.html) help.

# %% [markdown] tags=["instructor"]
# A habit that all raters share stays hidden: longer hair makes a face look more female to all of them. A second crowd
# that sees single features, or faces with another hair, could show it. The rule for leaving raters out belongs in the
# plan, before the answers arrive. One of the flagged raters takes as long as others, and answers each test question well. This rater
# is unlike the others, and not careless.

# %% [markdown]
# ## If you have time
#
# Leave the flagged raters' answers out, and compute alpha of `gender` once more: `alpha_without`, one value.
# `column.isin(names)` is true where an entry is one of the names, and `~` turns true and false around.
# `table.loc["gender", "alpha"]` is one value of a table.

# %% tags=["solution"]
# The names of the raters are the index of their table.
unlike = raters.index[distance > limit]
rest = gender[~gender["annotator_id"].isin(unlike)]
of_rest = annotations.count_tensor(rest)[1]
alpha_without = annotations.agreement_table(of_rest, n_boot=100).loc["gender", "alpha"]

# %% tags=["check"]
check("crowd-without", alpha_without)

# %% tags=["mistake"]
# All raters are still in. Leave out those whom you flagged. `isin` needs their names: `raters.index[…]`.
every = annotations.agreement_table({"gender": counts["gender"]}, n_boot=100)
alpha_without = every.loc["gender", "alpha"]

# %% tags=["mistake"]
# These are the flagged raters alone. `~` turns a condition into its opposite.
alone = annotations.count_tensor(gender[gender["annotator_id"].isin(unlike)])[1]
alpha_without = annotations.agreement_table(alone, n_boot=100).loc["gender", "alpha"]

# %% [markdown] tags=["hint"]
# `raters.index[distance > limit]` names the flagged raters.

# %% [markdown] tags=["hint"]
# `annotations.count_tensor(rest)[1]` gives the counts of the answers that are left. Pass it to `agreement_table`.

# %% tags=["instructor"]
again = rest.groupby("image_id", observed=True)["level"].mean() / 4
changed = ((again >= 0.5) != (score >= 0.5)).sum()
print(f"Without the flagged raters {changed} of {len(score)} labels change.")

# %% [markdown]
# On how many images do raters fall on **both sides** of the middle: one of them below level 2, and one above it?
# Give `divided`, their share of all images in percent. Two conditions are joined by `(a) & (b)`.

# %% tags=["solution"]
# Look at the lowest and at the highest of the five answers.
levels = gender.groupby("image_id", observed=True)["level"]
divided = 100 * ((levels.min() < 2) & (levels.max() > 2)).mean()

# %% tags=["check"]
check("crowd-divided", divided)

# %% tags=["mistake"]
# These raters differ, perhaps by one level on the same side. Ask for answers below 2 and above 2.
divided = 100 * (levels.min() < levels.max()).mean()

# %% tags=["mistake"]
# You counted the middle itself as a side. Ask for answers below 2 and above 2.
divided = 100 * ((levels.min() <= 2) & (levels.max() >= 2)).mean()

# %% [markdown] tags=["hint"]
# `levels.min()` and `levels.max()` of a group-by give the lowest and the highest answer to each image.

# %% [markdown] tags=["hint"]
# Ask where the lowest is below 2 and the highest above 2. The mean of true and false is a share.
