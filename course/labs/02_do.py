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
# # Lab 2. What "effect" means
#
# *35 minutes. Afterwards you can draw what makes a gap, tell "faces that are dark" from "faces
# that are set dark", and say whose effect a number is. Needs: lab 1, means by group. "Women" and
# "men" are short for faces that raters perceive so.*

# %% [markdown]
# The first cell makes a function that draws causes as arrows. You can run it and go on.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from course.lab import check, load

PLACES = {"album": (0, 0.5), "skin": (1, 1), "hair": (1, 0), "error": (2, 0.5)}
arrows = [("album", "skin"), ("album", "hair"), ("skin", "error"), ("hair", "error")]


def draw(stays, title="", width=5.5):
    """Draw the arrows that stay."""
    _, ax = plt.subplots(figsize=(width, 0.4 * width))
    for name, place in PLACES.items():
        ax.text(*place, name, ha="center", va="center", fontsize=2.5 * width)
    for cause, result in [arrow for arrow, stay in zip(arrows, stays, strict=True) if stay]:
        look = {"arrowstyle": "-|>", "lw": 2, "shrinkA": 4.5 * width, "shrinkB": 4.5 * width}
        ax.annotate("", PLACES[result], PLACES[cause], arrowprops=look)
    ax.set(xlim=(-0.3, 2.3), ylim=(-0.25, 1.25))
    ax.set_title(title, fontsize=2.2 * width)
    ax.axis("off")


# %% [markdown] tags=["slide"]
# # What "effect" means
#
# ## One word, three questions
#
# "The effect of dark skin on errors is 8 points."
#
# - On whose faces?
# - Compared with what?
# - What stayed the same?

# %% [markdown] tags=["slide"]
# ## Pictures as they come
#
# Each picture comes from an album. The album decides which skin is common in it, and which hair.

# %% tags=["slide"]
draw([True] * 4, "Two paths join skin and error", 9)

# %% [markdown] tags=["slide"]
# *Predict:* remove the arrow from skin to error. Does a gap by skin remain?

# %% [markdown] tags=["slide"]
# ## Set skin by hand: do(skin)
#
# The album still decides about hair. It no longer decides about skin.

# %% tags=["slide"]
draw([False, True, True, True], "One path is left", 9)

# %% [markdown] tags=["slide"]
# ## The same five faces, twice
#
# Above with light skin, below with dark skin. All else is as it was.
#
# ![Five drawn faces with light skin, and below the same five faces with dark skin.](faces/02.jpg)
#
# *Can you find anything else that changed?*

# %% [markdown] tags=["slide"]
# ## To see, and to set
#
# | | faces | hair |
# |---|---|---|
# | see dark skin | those that are dark | as it is in their albums |
# | set dark skin | all | as it was before |

# %% [markdown] tags=["slide"]
# ## Say four things with every effect
#
# - **population**: whose faces
# - **contrast**: which two levels
# - **label**: who says what is right
# - **held**: what stays the same

# %% [markdown] tags=["slide"]
# ## Three numbers about women and skin

# %% tags=["slide"]
model = "celeba-like"
women = load("portraits").query("group == 'female'").groupby("skin", observed=True)
rates = women[f"error_{model}"].mean()
counted = load("counted_truth").query("model == @model and cell == 'women: skin'")["truth"]
made = load("truth").query("model == @model and attribute == 'skin_colour' and cell == 'female'")
numbers = 100 * pd.Series(
    {
        "made faces, skin set": made["effect"].iloc[0],
        "counted women, skin set": counted.iloc[0],
        "counted gap": rates["dark"] - rates["light"],
    }
)
with plt.rc_context({"font.size": 17}):
    fig, ax = plt.subplots(figsize=(9, 4.2))
    ax.barh(numbers.index, numbers, color=["tan", "tan", "saddlebrown"])
    for row, value in enumerate(numbers):
        ax.text(value + 0.1, row, f"{value:.1f}", va="center")
    ax.set(xlabel="dark minus light (points)", title=f"{model}: one word, three numbers")
    ax.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Exercise 1. Cut the arrow (6 minutes)
#
# `arrows` lists four pairs of a cause and what it changes. Each picture comes from an album.
#
# You now set skin by hand, whatever the album says: **do(skin)**. An arrow says who decides. Which
# arrows are cut, now that your hand decides about skin, and about skin alone? Give the list
# `stays`: for each arrow, `True` if it stays and `False` if it is cut. `draw(stays)` draws what is
# left.

# %%
draw([True, True, True, True], "Pictures as they come")
arrows

# %% tags=["solution"]
# Four times True or False.
stays = [False, True, True, True]

# %% tags=["check"]
check("do-arrows", stays)

# %% tags=["mistake"]
# You cut the arrow that leaves skin. The model still reacts to skin. Which arrow ends at skin?
stays = [True, True, False, True]

# %% tags=["mistake"]
# You cut all arrows that touch skin. Then setting skin would change no answer of the model.
stays = [False, True, False, True]

# %% tags=["mistake"]
# You cut both arrows that leave the album. It still decides about hair.
stays = [False, False, True, True]

# %% tags=["mistake"]
# You cut the arrow from album to hair. The album still decides about hair.
stays = [True, False, True, True]

# %% tags=["mistake"]
# You cut the arrow from hair to error. The model still reacts to hair.
stays = [True, True, True, False]

# %% tags=["mistake"]
# You cut none. As long as the album decides about skin, your hand does not.
stays = [True, True, True, True]

# %% tags=["mistake"]
# You marked what is cut. True is for what stays.
stays = [True, False, False, False]

# %% [markdown] tags=["hint"]
# Your hand decides about skin now. Which arrow ends at skin?

# %% [markdown] tags=["hint"]
# In a pair the second is what is changed. Arrows that end elsewhere than at skin stay.

# %% [markdown]
# ## Exercise 2. See, then set (14 minutes)
#
# Here is a small world with these arrows. Each face has its luck: four random numbers, drawn once
# and kept. `world()` gives the faces as they come. `world(dark=True)` sets the skin of **all**
# faces to dark and keeps their luck. Read the function: which line holds which arrow?

# %%
luck = np.random.default_rng(2).random((4, 20_000))


def world(dark=None, short=None):
    """The faces of a small world. What you pass is set by hand, for all faces."""
    album = luck[0] < 0.5  # one of two albums
    seen_dark = luck[1] < np.where(album, 0.8, 0.2)  # 80% are dark in it, 20% in the other
    seen_short = luck[2] < np.where(album, 0.7, 0.2)
    faces = pd.DataFrame({"album": album, "dark": seen_dark, "short": seen_short})
    faces = faces if dark is None else faces.assign(dark=dark)
    faces = faces if short is None else faces.assign(short=short)
    error = luck[3] < 0.02 + 0.02 * faces["dark"] + 0.12 * faces["short"]
    return faces.assign(error=error)


world().head()

# %% [markdown]
# **See.** Take the faces as they come. `faces[faces["dark"]]` keeps the dark ones, and
# `faces[~faces["dark"]]` the others. `gap` is the error rate of dark faces minus that of light faces,
# in percentage points:

# %%
faces = world()
gap = 100 * (faces[faces["dark"]]["error"].mean() - faces[~faces["dark"]]["error"].mean())
gap

# %% [markdown]
# **Set.** Now set skin by hand. Compute the error rate with all skin set dark, minus that with all
# skin set light: `effect`, in points.

# %% tags=["solution"]
effect = 100 * (world(dark=True)["error"].mean() - world(dark=False)["error"].mean())

# %% tags=["check"]
check("do-effect", effect)

# %% tags=["mistake"]
# You compared with the faces as they come. Some of those are dark already. Set the others light.
effect = 100 * (world(dark=True)["error"].mean() - world()["error"].mean())

# %% tags=["mistake"]
# This is the gap of the faces as they come. Set skin by hand.
effect = gap

# %% tags=["mistake"]
# You set hair. The question is about skin.
effect = 100 * (world(short=True)["error"].mean() - world(short=False)["error"].mean())

# %% [markdown] tags=["hint"]
# Call `world` twice, once with `dark=True` and once with `dark=False`.

# %% [markdown] tags=["hint"]
# `world(dark=True)["error"].mean()` is the share of errors with all skin set dark. Keep all faces.

# %% [markdown]
# **Why do they differ?** Give the share of short hair in percent, as a list of two numbers: among
# the faces that *are* dark, and among all faces once you *set* them dark.

# %% tags=["solution"]
short_hair = [100 * faces[faces["dark"]]["short"].mean(), 100 * world(dark=True)["short"].mean()]

# %% tags=["check"]
check("do-hair", short_hair)

# %% tags=["mistake"]
# Your first number is of the light faces.
short_hair = [100 * faces[~faces["dark"]]["short"].mean(), 100 * world(dark=True)["short"].mean()]

# %% [markdown] tags=["hint", "1"]
# First number: in `faces`, keep those that are dark, and take the mean of `short`.

# %% [markdown] tags=["hint", "2"]
# Second number: in `world(dark=True)` all are dark. Take the mean of `short` of all.

# %%
changed = (world(dark=True)["short"] != world(dark=False)["short"]).sum()
print(f"Setting skin changes the hair of {changed} faces.")

# %% [markdown]
# ## Exercise 3. Three numbers to compare (6 minutes)
#
# Each number below has been called *the effect of dark skin on women*. Each is an error rate with
# dark skin minus one with light skin. Guess first: which is the largest? Then run the cell.
#
# | | Whose faces | Light and dark |
# |---|---|---|
# | **counted gap** | women of `portraits` | light-skinned women, and dark-skinned women |
# | **true effect on the counted** | adult women in half of the portraits | every woman drawn again twice: with skin of the light-skinned ones, and with skin of the dark-skinned ones |
# | **true effect on made faces** | 1,600 made women, each with short and with long hair | every woman drawn twice, at the same two levels of skin |
#
# Portraits are drawings too, so each can be drawn again. The first two rows differ in their women,
# too: the second leaves out half of the portraits, and of the rest the young, about 7 in 100.

# %%
model, portraits = "fairface-like", load("portraits")
women = portraits[portraits["group"] == "female"]
rates = women.groupby("skin", observed=True)[f"error_{model}"].mean()
counted = load("counted_truth").query("model == @model and cell == 'women: skin'")
made = load("truth").query("model == @model and attribute == 'skin_colour' and cell == 'female'")
three = {
    "counted gap": rates["dark"] - rates["light"],
    "true effect on the counted": counted["truth"].iloc[0],
    "true effect on made faces": made["effect"].iloc[0],
}
(100 * pd.Series(three)).round(1)

# %% [markdown]
# ## What would change your mind? (9 minutes)
#
# A newspaper prints the first of these three numbers and calls it *the effect of dark skin*. Write
# three sentences.
#
# 1. Through which arrows do skin and album reach the error in it?
# 2. What could be wrong in it? Choose one: population (whose faces), contrast (from which level to
#    which), label (who says what is right), or held (what stays the same).
# 3. Which of the three would you print, and under which name?
#
# [Handout 2](handouts/02.html) helps.

# %% [markdown] tags=["instructor"]
# The counted gap follows both paths, through skin and through the album. The other two follow the
# arrow from skin alone. These two may differ because the faces do: the counted women have the
# hair, age and light of their portraits, and the made ones are adults with loose hair in cells of
# equal size. All three numbers are right answers to different questions.

# %% [markdown]
# ## If you have time: faces set by hand
#
# The program that draws the faces can do the same with pictures. `by_hand` has 400 faces, each at light and
# dark skin, short and long hair, and two shapes, female and male. All else stays.
# `error_fairface-like` is 1 where the model's answer differs from that of raters without noise.
#
# Compute `effects`: the error rate at dark minus at light skin, in points, for each combination of
# `gender` and `hair`, in the order of the pivot table. `effects.plot.barh()` draws its first row,
# `female, long`, at the bottom. Two bars are zero.

# %%
WORDS = {
    "skin": ("skin_colour_level", {0: "light", 1: "dark"}),
    "hair": ("hair_length_level", {0: "short", 1: "long"}),
    "gender": ("gender_level", {0: "female", 1: "male"}),
}
by_hand = load("arms").query("arm == 'A exact'")  # the faces set by hand
by_hand = by_hand.assign(**{name: by_hand[level].map(of) for name, (level, of) in WORDS.items()})
by_hand[["transect", "skin", "hair", "gender", "error_fairface-like"]].head(4)

# %% tags=["solution"]
# Rows of the pivot table: ["gender", "hair"]. Columns: "skin". Then draw `effects`.
cells = 100 * by_hand.pivot_table("error_fairface-like", ["gender", "hair"], "skin")
effects = cells["dark"] - cells["light"]
effects.plot.barh(xlabel="dark minus light (points)", figsize=(5, 2.4))

# %% tags=["check"]
check("do-cells", effects)

# %% tags=["mistake"]
# This is another model. The question is about fairface-like.
cells = 100 * by_hand.pivot_table("error_celeba-like", ["gender", "hair"], "skin")
effects = cells["dark"] - cells["light"]

# %% [markdown] tags=["hint"]
# `by_hand.pivot_table(values, rows, columns)` gives the mean in each cell, as in lab 1. Rows may
# be a list.

# %% [markdown] tags=["hint"]
# Take the column "dark" of your table, and subtract the column "light".

# %% [markdown]
# The mean of your two effects on women is not the third number of exercise 3. Its faces are 1,600
# others, and its step of skin is another. Of 400 faces, one is 0.25 points.
