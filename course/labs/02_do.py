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


def draw(arrows, title="", width=5.5):
    """Draw causes and what they change."""
    _, ax = plt.subplots(figsize=(width, 0.4 * width))
    for name, place in PLACES.items():
        ax.text(*place, name, ha="center", va="center", fontsize=2.5 * width)
    for cause, result in arrows:
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
draw(arrows, "Two paths join skin and error", 9)

# %% [markdown] tags=["slide"]
# *Predict:* remove the arrow from skin to error. Does a gap by skin remain?

# %% [markdown] tags=["slide"]
# ## Set skin by hand: do(skin)
#
# The album still decides about hair. It no longer decides about skin.

# %% tags=["slide"]
draw([arrows[1], arrows[2], arrows[3]], "One path is left", 9)

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
# ## Exercise 1. Cut the arrow (5 minutes)
#
# `arrows` lists pairs of a cause and what it changes. `draw(arrows)` draws them. Each picture
# comes from an album.
#
# You now set skin by hand, whatever the album says: **do(skin)**. An arrow says who decides. Which
# arrows are cut, now that your hand decides about skin, and about skin alone? Make the list `left`
# of those that stay, in their old order, and draw it with `draw(left)`.

# %%
draw(arrows, "Pictures as they come")

# %% tags=["solution"]
# A list of the arrows that pass a test: [arrow for arrow in arrows if ...]
left = [arrow for arrow in arrows if arrow[1] != "skin"]
draw(left, "Skin is set by hand")

# %% tags=["check"]
check("do-arrows", left)

# %% tags=["mistake"]
# You cut the arrow that leaves skin. The model still reacts to skin. Which arrow ends at skin?
left = [arrow for arrow in arrows if arrow[0] != "skin"]

# %% tags=["mistake"]
# You cut all arrows that touch skin. Then setting skin would change no answer of the model.
left = [arrow for arrow in arrows if "skin" not in arrow]

# %% tags=["mistake"]
# You cut both arrows that leave the album. It still decides about hair.
left = [arrow for arrow in arrows if arrow[0] != "album"]

# %% [markdown] tags=["hint"]
# Your hand decides about skin now. Which arrow ends at skin?

# %% [markdown] tags=["hint"]
# In a pair `arrow`, `arrow[0]` is the cause, and `arrow[1]` is what it changes.

# %% [markdown]
# ## Exercise 2. See, then set (11 minutes)
#
# Here is a small world with these arrows. Each face has its luck, four random numbers that stay
# the same. `world()` gives the faces as they come. `world(dark=True)` sets the skin of **all**
# faces to dark and keeps their luck. Read the function: which line holds which arrow?

# %%
luck = np.random.default_rng(2).random((4, 20_000))


def world(dark=None, short=None):
    """The faces of a small world. What you pass is set by hand, for all faces."""
    album = luck[0] < 0.5
    seen_dark = luck[1] < np.where(album, 0.8, 0.2)
    seen_short = luck[2] < np.where(album, 0.7, 0.2)
    faces = pd.DataFrame({"album": album, "dark": seen_dark, "short": seen_short})
    faces = faces if dark is None else faces.assign(dark=dark)
    faces = faces if short is None else faces.assign(short=short)
    error = luck[3] < 0.02 + 0.02 * faces["dark"] + 0.12 * faces["short"]
    return faces.assign(error=error)


world().head()

# %% [markdown]
# **See.** Compute the error rate of dark faces minus that of light faces, as they come: `gap`, in
# percentage points. `faces[faces["dark"]]` keeps the dark faces, and `faces[~faces["dark"]]` the
# others.

# %% tags=["solution"]
faces = world()
gap = 100 * (faces[faces["dark"]]["error"].mean() - faces[~faces["dark"]]["error"].mean())

# %% tags=["check"]
check("do-gap", gap)

# %% tags=["mistake"]
# You set skin by hand. Here take the faces as they come.
gap = 100 * (world(dark=True)["error"].mean() - world(dark=False)["error"].mean())

# %% tags=["mistake"]
# This is a difference of shares. Give it in percentage points.
gap = faces[faces["dark"]]["error"].mean() - faces[~faces["dark"]]["error"].mean()

# %% [markdown] tags=["hint"]
# The mean of a column of true and false is a share: `faces[faces["dark"]]["error"].mean()`.
# Multiply the difference of two such shares by 100.

# %% [markdown]
# **Set.** Compute the error rate with all skin set dark, minus that with all skin set light:
# `effect`, in points.

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
# Call `world` twice, once with `dark=True` and once with `dark=False`, and take the mean of
# `error` of all faces.

# %% [markdown]
# **Why do they differ?** Give the share of short hair in percent, as a list of two numbers: among
# the faces that *are* dark, and among all faces once you *set* them dark.

# %% tags=["solution"]
short_hair = [100 * faces[faces["dark"]]["short"].mean(), 100 * world(dark=True)["short"].mean()]

# %% tags=["check"]
check("do-hair", short_hair)

# %% tags=["mistake"]
# The two numbers have changed places. First the faces that are dark, then those that are set dark.
short_hair = [100 * world(dark=True)["short"].mean(), 100 * faces[faces["dark"]]["short"].mean()]

# %% tags=["mistake"]
# The numbers are shares. Give them in percent.
short_hair = [faces[faces["dark"]]["short"].mean(), world(dark=True)["short"].mean()]

# %% tags=["mistake"]
# Your first number is of the light faces.
short_hair = [100 * faces[~faces["dark"]]["short"].mean(), 100 * world(dark=True)["short"].mean()]

# %% [markdown] tags=["hint"]
# `faces` came as they are, and `world(dark=True)` is set. Take the mean of `short` of the dark
# faces of each.

# %%
changed = (world(dark=True)["short"] != world(dark=False)["short"]).sum()
print(f"Setting skin changes the hair of {changed} faces.")

# %% [markdown]
# ## Exercise 3. Faces set by hand (8 minutes)
#
# The book's renderer can do the same with pictures. `by_hand` has 400 faces, each at light and
# dark skin, short and long hair, and two shapes, female and male. All else stays.
# `error_fairface-like` is 1 where the model is wrong.
#
# Compute `effects`: the error rate at dark minus at light skin, in points, for each combination of
# `gender` and `hair`. Keep the order of the pivot table, rows `female, long` first. Draw it with
# `.plot.barh()`.

# %%
WORDS = {
    "skin": ("skin_colour_level", {0: "light", 1: "dark"}),
    "hair": ("hair_length_level", {0: "short", 1: "long"}),
    "gender": ("gender_level", {0: "female", 1: "male"}),
}
by_hand = load("arms").query("arm == 'A exact'")
by_hand = by_hand.assign(**{name: by_hand[level].map(of) for name, (level, of) in WORDS.items()})
by_hand[["transect", "skin", "hair", "gender", "error_fairface-like"]].head(4)

# %% tags=["solution"]
# Rows of the pivot table: ["gender", "hair"]. Columns: "skin".
rates = 100 * by_hand.pivot_table("error_fairface-like", ["gender", "hair"], "skin")
effects = rates["dark"] - rates["light"]
effects.plot.barh(color="saddlebrown", xlabel="dark minus light (points)", figsize=(5, 2.4))

# %% tags=["check"]
check("do-cells", effects)

# %% tags=["mistake"]
# You subtracted dark from light. The effect is dark minus light.
effects = rates["light"] - rates["dark"]

# %% tags=["mistake"]
# These are shares. Give them in percentage points.
effects = (rates["dark"] - rates["light"]) / 100

# %% tags=["mistake"]
# This is another model. The question is about fairface-like.
rates = 100 * by_hand.pivot_table("error_celeba-like", ["gender", "hair"], "skin")
effects = rates["dark"] - rates["light"]

# %% [markdown] tags=["hint"]
# `by_hand.pivot_table(values, rows, columns)` gives the mean in each cell, as in lab 1. Rows may
# be a list.

# %% [markdown] tags=["hint"]
# Take the column "dark" of your table, and subtract the column "light".

# %% [markdown]
# ## Exercise 4. Three numbers (7 minutes)
#
# Each number below has been called *the effect of dark skin on women*. Give `three`, in points,
# for the model `fairface-like`, in this order:
#
# 1. the **counted gap**: women of `portraits`, dark minus light, as in lab 1
# 2. the **true effect on the counted**: `truth` in any row of `counted_truth` that has the model
#    and the `cell` "women: skin"
# 3. the **true effect on made faces**: `effect` in the row of `truth` that has the model, the
#    `attribute` "skin_colour" and the `cell` "female"
#
# `table.query("model == 'fairface-like' and …")` keeps rows, and `["effect"].iloc[0]` takes the
# first number of a column.

# %%
portraits, counted_truth, truth = load("portraits"), load("counted_truth"), load("truth")
women = portraits[portraits["group"] == "female"]
counted_truth.drop_duplicates()

# %%
truth[["model", "attribute", "cell", "scope", "n", "effect"]].head(3)

# %% tags=["solution"]
of_women = women.groupby("skin", observed=True)["error_fairface-like"].mean()
of_model = counted_truth.query("model == 'fairface-like'")
counted = of_model.query("cell == 'women: skin'")["truth"].iloc[0]
effect_rows = truth.query("model == 'fairface-like' and attribute == 'skin_colour'")
made = effect_rows.query("cell == 'female'")["effect"].iloc[0]
three = [100 * (of_women["dark"] - of_women["light"]), 100 * counted, 100 * made]

# %% tags=["check"]
check("do-three", three)

# %% tags=["mistake"]
# The third number is your estimate from 400 faces. The table `truth` has more of them.
three = [100 * (of_women["dark"] - of_women["light"]), 100 * counted, effects["female"].mean()]

# %% tags=["mistake"]
# These are shares. Give all three in percentage points.
three = [of_women["dark"] - of_women["light"], counted, made]

# %% tags=["mistake"]
# The second number is about all counted people. Take the cell "women: skin".
everybody = of_model.query("cell == 'all: skin'")["truth"].iloc[0]
three = [three[0], 100 * everybody, three[2]]

# %% tags=["mistake"]
# The third number is the average over women and men. Take the cell "female".
average = effect_rows.query("cell == 'average'")["effect"].iloc[0]
three = [100 * (of_women["dark"] - of_women["light"]), 100 * counted, 100 * average]

# %% [markdown] tags=["hint"]
# `truth.query("model == 'fairface-like' and cell == 'female'")` keeps some rows. There are still
# three attributes.

# %% [markdown] tags=["hint"]
# The first number is exercise 1 of lab 1 with `error_fairface-like` in place of
# `error_celeba-like`.

# %% [markdown]
# ## What would change your mind? (4 minutes)
#
# A newspaper prints the first of your three numbers and calls it *the effect of dark skin*. Write
# three sentences. Which arrows does that number follow? What could be wrong in it: population,
# contrast, label, or what is held? What would you decide: print it, or print what instead?

# %% [markdown] tags=["instructor"]
# The counted gap follows both paths, through skin and through the album. The other two follow the
# arrow from skin alone. These two may differ because the faces do: the counted women have the
# hair, age and light of their portraits, and the made ones are adults with loose hair in cells of
# equal size. All three numbers are right answers to different questions. In the table of note N1,
# `truth` holds one number a model, so any row gives it.
