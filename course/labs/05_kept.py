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
# # Lab 5. Which faces are kept
#
# *35 minutes. Afterwards you can say what a rule of selection leaves of images, pairs and transects, and show how a
# selection creates a gap that was not there. Needs: shares, tables of two features, and matched faces (session 3).*

# %% [markdown] tags=["slide"]
# # Which faces are kept
#
# ## Would you keep this face?
#
# Before an audit, people drop images that look fake, or that raters find hard to read.
#
# *Predict:* a tenth of the images goes. How many sets of eight matched faces stay whole?

# %% [markdown] tags=["slide"]
# ## Hair grows
#
# Two faces, from short to long hair. The middle of the scale is neither.
#
# ![Two drawn faces in a row each; from left to right their hair grows from short to shoulder length.](faces/05.jpg)
#
# *Which of these pictures would you leave out?*

# %% [markdown] tags=["slide"]
# ## A rule is a band of scores

# %% tags=["slide"]
import matplotlib.pyplot as plt
import numpy as np

from course.lab import load
from faceaudit.effects import pruning

plt.rc("font", size=13)
images = load("images")
band = pruning.PAPER_RULES["hair_length"]
fig, ax = plt.subplots(figsize=(10, 4))
edges = np.arange(-0.025, 1.05, 0.05)
for level, (name, colour) in enumerate([("made short", "peru"), ("made long", "steelblue")]):
    scores = images.loc[images["hair_length_level"] == level, "hair_length"]
    ax.hist(scores, edges, color=colour, alpha=0.7, label=name)
ax.axvspan(band.left - 0.025, band.right + 0.025, color="grey", alpha=0.3, zorder=0)
inside = images["hair_length"].between(band.left - 1e-9, band.right + 1e-9).mean()
ax.set(xlabel="perceived hair length", ylabel="images")
ax.set_title(f"The grey band drops {100 * inside:.0f}% of the images")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## One lost image breaks more than itself
#
# - A **pair** needs both of its images.
# - A **transect** needs all eight.
# - If each image stays with chance *p*, independently, a pair stays with *p*², a transect with *p*⁸.

# %% [markdown] tags=["slide"]
# ## Two causes of one result
#
# A college admits people who are good at sport **or** at maths.
#
# Among the admitted, those who are bad at sport are good at maths.
#
# Did sport harm their maths?

# %% [markdown] tags=["slide"]
# ## Selection ties its causes together
#
# **skin → kept ← hair**
#
# - In all images, skin and hair were set independently.
# - Both help to decide which image is kept.
# - *Among the kept*, one tells something about the other.

# %% [markdown] tags=["slide"]
# ## A selection by chance leaves them apart

# %% tags=["slide"]
missed = images[images["error_null"] == 1]
long = 100 * missed.groupby("skin_colour_level")["hair_length_level"].mean()
fig, ax = plt.subplots(figsize=(10, 3))
ax.barh(["made light", "made dark"], long, color=["tan", "saddlebrown"])
ax.bar_label(ax.containers[0], fmt="%.0f %%", padding=3)
ax.axvline(50, color="black", linestyle="--", linewidth=1)
ax.set(xlim=(0, 100), xlabel="share with long hair (%)")
ax.set_title(f"The {len(missed)} images that a model misreads by pure chance")
ax.spines[["top", "right"]].set_visible(False)

# %% tags=["slide"]
plt.rcdefaults()  # the figures of the lab are smaller

# %% [markdown] tags=["slide"]
# ## For whom does the effect hold?
#
# | Faces | Fair comparison? | About whom? |
# |---|---|---|
# | all images | yes | all made faces |
# | kept images | perhaps not | a mixture |
# | complete pairs | yes | faces that pass in both versions |

# %% [markdown]
# A row of `images` is a drawn face. Each of 400 faces was made in eight versions: light or dark skin, short or long hair,
# female or male shape. The eight are a *transect*. `skin_colour_level`, `hair_length_level` and `gender_level` say what
# was **made** (0 low, 1 high). `skin_colour`, `hair_length`, `gender` and `fakeness` are what five raters **saw**. In
# this lab "women" and "men" are short for faces that were made female and male, and that raters perceive so.
# Give your answers unrounded.

# %%
import pandas as pd

from course.lab import check, load
from faceaudit.effects import pruning

LEVELS = ["skin_colour_level", "hair_length_level", "gender_level"]
images = load("images")
kept, report = pruning.prune(images, pruning.PAPER_RULES)
report[["attribute", "interval", "dropped"]]

# %% [markdown]
# A row of this report is a rule. It drops an image if raters' mean score of the attribute lies in the interval.
# `dropped` counts these images. `images["kept"]` says whether an image passes all four rules.
#
# ## Exercise 1. What is left? (9 minutes)
#
# Give `shares`, three numbers in percent: how many of the **images** are kept, how many of the **pairs along skin colour**
# keep both images, and how many of the **transects** keep all eight. The two images of such a pair have the same
# transect, hair length level and gender level. The next cell finds out for each pair. `all()` of a group is true if each
# of its rows is true.

# %%
in_pairs = images.groupby(["transect", "hair_length_level", "gender_level"])["kept"].all()
in_pairs.head(3)

# %% tags=["solution"]
# Do the same for transects. The mean of true and false is a share.
in_transects = images.groupby("transect")["kept"].all()
shares = [100 * stays.mean() for stays in (images["kept"], in_pairs, in_transects)]
print([f"{share:.1f}%" for share in shares])

# %% tags=["check"]
check("kept-shares", shares)

# %% tags=["mistake"]
# The first number is right. You took powers of it, as if images were lost independently. Count instead.
p = images["kept"].mean()
shares = [100 * p, 100 * p**2, 100 * p**8]

# %% tags=["mistake"]
# You asked whether any image stays. A pair or a transect needs all of them: `all()`.
groups = [["transect", "hair_length_level", "gender_level"], ["transect"]]
shares = [100 * images["kept"].mean()]
shares += [100 * images.groupby(by)["kept"].any().mean() for by in groups]

# %% tags=["mistake"]
# A transect that lost all of its images is missing from your count. Divide by all transects: `all()` keeps them.
whole = kept.groupby("transect").size() == 8
shares = [100 * stays.mean() for stays in (images["kept"], in_pairs, whole)]

# %% tags=["mistake"]
# These are numbers of images, pairs and transects. Take means in place of sums, times 100.
shares = [stays.sum() for stays in (images["kept"], in_pairs, in_transects)]

# %% [markdown] tags=["hint", "3"]
# `images.groupby("transect")["kept"].all()` is true for each transect that keeps all of its images.

# %% [markdown] tags=["hint", "1", "2"]
# The mean of `images["kept"]` is the share of images. Of pairs it is the mean of `in_pairs`.

# %% [markdown]
# ## Exercise 2. One effect, three sets of faces (7 minutes)
#
# The function `gap` gives the error rate at dark minus that at light skin, in percentage points. In all images each face
# occurs as often light as dark, so there the gap is an **effect** of the change.


# %%
def gap(rows: pd.DataFrame, model: str) -> float:
    """Error rate of a model on dark minus that on light skin, in points."""
    if rows["skin_colour_level"].nunique() < 2:
        raise ValueError("light and dark images are needed: look at how you chose the rows")
    rates = 100 * rows.groupby("skin_colour_level")[f"error_{model}"].mean()
    return rates[1] - rates[0]


# %% [markdown]
# `stay` are the kept images, and `whole` their complete pairs along skin colour: the partner is of the same transect, has
# another level of skin, and the same levels of hair length and gender. Give `effects`, the gap of the model `fairface-like`
# in **all images**, in the **kept images**, and in their **complete pairs**.

# %%
stay = images[images["kept"]]
others = ["hair_length_level", "gender_level"]
whole = pruning.complete_pairs(images, stay, "skin_colour_level", others)
print(f"{len(images)} images, {len(stay)} of them kept, {len(whole)} of these in complete pairs")

# %% tags=["solution"]
# Call `gap` three times. The gap is in points already.
effects = [gap(rows, "fairface-like") for rows in (images, stay, whole)]
print([f"{effect:+.2f} points" for effect in effects])

# %% tags=["check"]
check("kept-effects", effects)

# %% tags=["mistake"]
# This is another model. The question is about `fairface-like`.
effects = [gap(rows, "celeba-like") for rows in (images, stay, whole)]

# %% tags=["mistake"]
# These are the gaps of `plantskin`. The question is about `fairface-like`.
effects = [gap(rows, "plantskin") for rows in (images, stay, whole)]

# %% [markdown] tags=["hint", "1"]
# `gap(images, "fairface-like")` is the first number.

# %% [markdown] tags=["hint", "2", "3"]
# The kept images are `stay`, and their complete pairs are `whole`. Hand them to `gap`.

# %% [markdown]
# ## Exercise 3. The hard images (11 minutes)
#
# A team wants a hard test. It keeps those images that an older model gets **wrong**: the model `plantskin`, in whose
# training faces dark skin went with men. `error_plantskin` is 1 there. Then the team tests `fairface-like` on them. In all
# images, half of each skin colour has long hair.
#
# Give `long_share`, the share of long hair in percent among the hard images: first of light skin, then of dark skin.

# %% tags=["solution"]
# `hair_length_level` is 1 for long hair, so its mean is a share.
hard = images[images["error_plantskin"] == 1]
long_share = 100 * hard.groupby("skin_colour_level")["hair_length_level"].mean()

# %% tags=["check"]
check("kept-hard", long_share)

# %% tags=["mistake"]
# These are all images. Take those that `plantskin` gets wrong.
long_share = 100 * images.groupby("skin_colour_level")["hair_length_level"].mean()

# %% tags=["mistake"]
# This is the share of dark skin by hair length. Group by skin colour, and average hair length.
long_share = 100 * hard.groupby("hair_length_level")["skin_colour_level"].mean()

# %% tags=["mistake"]
# These are the easy images. The hard ones have an error of 1.
easy = images[images["error_plantskin"] == 0]
long_share = 100 * easy.groupby("skin_colour_level")["hair_length_level"].mean()

# %% tags=["mistake"]
# These are hard images among the kept ones. The team chooses from all images.
long_share = (
    100
    * kept.query("error_plantskin == 1").groupby("skin_colour_level")["hair_length_level"].mean()
)

# %% tags=["mistake"]
# You chose by what raters saw. Take the level of hair length.
long_share = 100 * (hard["hair"] == "long").groupby(hard["skin_colour_level"]).mean()

# %% [markdown] tags=["hint"]
# `hard = images[images["error_plantskin"] == 1]`

# %% [markdown] tags=["hint"]
# `hair_length_level` is 1 for long hair, so its mean is a share. Group the hard images first. By which column?

# %% [markdown]
# Give `hard_gap`, the gap of `fairface-like` on the hard images. Compare it with all images in exercise 2.

# %% tags=["solution"]
# `gap` gives points already.
hard_gap = gap(hard, "fairface-like")
print(f"all images {gap(images, 'fairface-like'):+.1f}, hard images {hard_gap:+.1f} points")

# %% tags=["check"]
check("kept-gap", hard_gap)

# %% tags=["mistake"]
# This is the effect in all images. Use the hard ones.
hard_gap = gap(images, "fairface-like")

# %% tags=["mistake"]
# This is the gap of `plantskin`, which errs on all of the hard images. Test `fairface-like`.
hard_gap = gap(hard, "plantskin")

# %% tags=["mistake"]
# These are hard images among the kept ones. The team chooses from all images.
hard_gap = gap(kept[kept["error_plantskin"] == 1], "fairface-like")

# %% tags=["mistake"]
# This is the gap in the kept images. Use the hard ones.
hard_gap = gap(kept, "fairface-like")

# %% [markdown] tags=["hint"]
# `gap(rows, model)` takes the hard images and the name of the model.

# %% [markdown] tags=["hint"]
# The rows are `hard`, and the model is `"fairface-like"`, as in exercise 2.

# %% [markdown]
# In session 1 you held hair equal. Does that help here? Give `long_gap`, the gap of `fairface-like` among the hard images
# with **long hair**.

# %% tags=["solution"]
# Choose the rows first, then call the function.
long_gap = gap(hard[hard["hair_length_level"] == 1], "fairface-like")
print(f"hard images {hard_gap:+.1f}, hard images with long hair {long_gap:+.1f} points")

# %% tags=["check"]
check("kept-long", long_gap)

# %% tags=["mistake"]
# This is the gap among short hair. Long hair has level 1.
long_gap = gap(hard[hard["hair_length_level"] == 0], "fairface-like")

# %% tags=["mistake"]
# You chose by what raters saw. Take the level of hair length.
long_gap = gap(hard[hard["hair_length"] > 0.5], "fairface-like")

# %% tags=["mistake"]
# You chose by what raters saw. Take the level of hair length: `hair_length_level`.
long_gap = gap(hard[hard["hair"] == "long"], "fairface-like")

# %% tags=["mistake"]
# These are hard images among the kept ones. The team chooses from all images.
long_gap = gap(kept.query("error_plantskin == 1 and hair_length_level == 1"), "fairface-like")

# %% tags=["mistake"]
# This is long hair among all images. Take the hard ones.
long_gap = gap(images[images["hair_length_level"] == 1], "fairface-like")

# %% [markdown] tags=["hint"]
# `hard[hard["hair_length_level"] == 1]` are the hard images with long hair.

# %% [markdown] tags=["hint"]
# Pass these rows to `gap`.

# %% [markdown]
# The gap has become larger. Who is left? Give `versions`, the number of hard images of each version:
# `hard[LEVELS].value_counts().sort_index()`. The last of the three levels is gender. Versions without images are left out.
# Among long hair, compare light with dark skin.

# %% tags=["solution"]
# Look at the numbers, too: `versions` in the last line shows them.
versions = hard[LEVELS].value_counts().sort_index()
versions

# %% tags=["check"]
check("kept-versions", versions)

# %% tags=["mistake"]
# These are all images. Take the hard ones.
versions = images[LEVELS].value_counts().sort_index()

# %% tags=["mistake"]
# These are hard images among the kept ones. The team chooses from all images.
versions = kept.query("error_plantskin == 1")[LEVELS].value_counts().sort_index()

# %% [markdown] tags=["hint"]
# Copy the line from the text. Is `hard` as in `kept-hard`?

# %% [markdown]
# ## What would change your mind? (8 minutes)
#
# Write three sentences. Holding hair equal made the gap larger, not smaller. What else differs between the light and the
# dark images of the hard set, and why? Would it be enough to hold gender equal, too? What would you decide: which faces
# would you test instead? The [handout](handouts/05.html) says what a selection ties together.

# %% [markdown] tags=["instructor"]
# Light skin and long hair mislead `plantskin` about men. A light-skinned man with long hair needs no further reason to be
# in the hard set. A dark-skinned one needs one: perhaps the shape of the face is hard to read. The other model stumbles
# over this reason too. So the selection ties skin to everything that makes a face hard. Hair and gender are only a part
# of it: among men with long hair the gap is larger still, and few of them are dark-skinned. Test all images, or choose
# faces before skin is changed, and keep all eight versions. Some cells below are small, so ask for the interval.

# %% tags=["instructor"]
hard.pivot_table("error_fairface-like", LEVELS[1:], LEVELS[0], aggfunc=["mean", "size"]).round(2)

# %% [markdown]
# ## If you have time
#
# Who is dropped? Give `lost`, the share of dropped images in percent for each of the eight versions. Its rows are the
# combinations of skin colour level and hair length level, in this order, and its columns the gender levels. Use the
# levels that were **made**. Draw it with `lost.plot.barh()`. Which feature matters most?

# %% tags=["solution"]
# `pivot_table` takes a list of columns for its rows.
images["dropped"] = ~images["kept"]
lost = 100 * images.pivot_table("dropped", LEVELS[:2], LEVELS[2])
lost.plot.barh(
    color=["purple", "green"],
    xlabel="dropped (%)",
    ylabel="(skin colour, hair length)",
    xlim=(0, 22),
    figsize=(5, 2.8),
)

# %% tags=["check"]
check("kept-lost", lost)

# %% tags=["mistake"]
# These are the kept images. Give the share of the dropped ones.
lost = 100 * images.pivot_table("kept", LEVELS[:2], LEVELS[2])

# %% tags=["mistake"]
# You grouped by what raters saw, and the rules read the same answers. Group by the levels that were made.
lost = 100 * images.pivot_table("dropped", ["skin", "hair"], "label")

# %% tags=["mistake"]
# These are numbers of images. The mean of true and false is a share.
lost = images.pivot_table("dropped", LEVELS[:2], LEVELS[2], aggfunc="sum")

# %% [markdown] tags=["hint"]
# First make a column: `images["dropped"] = ~images["kept"]`. The mean of true and false is a share.

# %% [markdown] tags=["hint"]
# `images.pivot_table(values, rows, columns)` gives means. Rows may be a list: `LEVELS[:2]`.
