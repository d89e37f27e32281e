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
# # Lab 1. A gap is not an effect
#
# *35 minutes. Afterwards you can compute error rates by group with an interval, and show with one table why a gap
# between groups need not be an effect of what the groups are called by. Needs: proportions and intervals.*

# %% [markdown] tags=["slide"]
# # A gap is not an effect
#
# ## Who errs, and on whom?
#
# A classifier guesses gender from a portrait.
# It errs more often on dark-skinned women.
#
# **Is it their skin?**

# %% tags=["slide"]
import matplotlib.pyplot as plt

from course.lab import load

women = load("portraits").query("group == 'female'")
rates = 100 * women.groupby("skin", observed=True)["error_celeba-like"].mean()
fig, ax = plt.subplots(figsize=(6, 3))
ax.barh(rates.index.astype(str), rates, color=["tan", "saddlebrown"])
ax.set(xlabel="wrong answers (%)", title=f"A gap of {rates['dark'] - rates['light']:.1f} points")
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown] tags=["slide"]
# ## Twelve faces, as they come
#
# Twelve different faces. Skin, hair, light and look all differ at once.
#
# ![Twelve drawn faces of adults, with other skin, hair, light and expression each.](faces/01.jpg)
#
# *Name three things in which the first two faces differ.*

# %% [markdown] tags=["slide"]
# ## What else differs?
#
# - The two groups differ in skin.
# - They differ in everything that goes with skin in these pictures.
# - *Predict before you look:* how many of the light-skinned women have short hair?

# %% [markdown] tags=["slide"]
# ## The trap
#
# If short hair makes the model err, and dark-skinned women have short hair more often,
# then a gap by skin appears **without any effect of skin**.

# %% [markdown]
# The table holds a row per portrait. `label` is what most raters said, 1 for a man. "Women" is short for faces
# that raters perceive so. `skin` and `hair` are the raters' mean scores, cut in two. Four models guessed the gender: `error_…` is
# 1 where a model's answer differs from `label`. This lab looks at one of them, `celeba-like`.

# %%
from statsmodels.stats.proportion import proportion_confint

from course.lab import check, load

portraits = load("portraits")
women = portraits[portraits["group"] == "female"]
women.head()

# %% [markdown]
# ## Exercise 1. Count (9 minutes)
#
# Compute the share of wrong answers of the model `celeba-like` on light- and on dark-skinned women.
# `women.groupby("skin", observed=True)[column].mean()` gives the mean of a column for each skin.
# Give the **gap**, dark minus light, in percentage points.

# %% tags=["solution"]
# `rates` has the share of wrong answers by skin. The mean of a column of zeros and ones is a share.
rates = women.groupby("skin", observed=True)["error_celeba-like"].mean()
gap = 100 * (rates["dark"] - rates["light"])

# %% tags=["check"]
check("trap-gap", gap)

# %% tags=["mistake"]
# You took all portraits. The question is about women alone.
rates = portraits.groupby("skin", observed=True)["error_celeba-like"].mean()
gap = 100 * (rates["dark"] - rates["light"])

# %% [markdown] tags=["hint"]
# The column is `error_celeba-like`. Its mean in a group is the share of wrong answers there.

# %% [markdown] tags=["hint"]
# `rates["dark"]` is one of the two rates. Subtract the rate of "light" from it, and multiply by 100.

# %% [markdown]
# ## Exercise 2. How sure? (9 minutes)
#
# Give Wilson's 95% interval of the error rate on dark-skinned women, in percent: `interval = [100 * low, 100 * high]`.
# (Wilson's interval never leaves 0 to 100%, also if errors are few.) `proportion_confint(errors, faces, method="wilson")`
# returns `low` and `high` as shares, from the number of errors and the number of faces.

# %% tags=["solution"]
# `dark` has the errors on dark-skinned women, zeros and ones.
dark = women[women["skin"] == "dark"]["error_celeba-like"]
interval = [100 * end for end in proportion_confint(dark.sum(), len(dark), method="wilson")]

# %% tags=["check"]
check("trap-interval", interval)

# %% tags=["mistake"]
# This is the normal interval. Ask for `method="wilson"`.
interval = [100 * end for end in proportion_confint(dark.sum(), len(dark))]

# %% tags=["mistake"]
# This is the normal interval, as shares. Ask for `method="wilson"`, and give both ends in percent.
interval = list(proportion_confint(dark.sum(), len(dark)))

# %% [markdown] tags=["hint"]
# The errors are the sum of the column among dark-skinned women, and the faces are their number, `len(dark)`.

# %% [markdown]
# ## Exercise 3. Hold hair equal (12 minutes)
#
# Compute the error rate of each combination of `hair` and `skin` among women, in percent: a table with a row for
# `short` and one for `long` hair, and the columns `light` and `dark`. `women.pivot_table(values, rows, columns, observed=True)`
# gives the mean of the column `values` in each combination. Draw the table with `table.plot.barh()`. Then compute the gap by
# skin that is left **among women with long hair**: `table.loc[row, column]` is one number of it.

# %% tags=["solution"]
# `table` is a pivot table: means by two columns. `gap_of_long` is a gap in its row of long hair.
table = 100 * women.pivot_table("error_celeba-like", "hair", "skin", observed=True)
gap_of_long = table.loc["long", "dark"] - table.loc["long", "light"]
table.plot.barh(color=["tan", "saddlebrown"], xlabel="wrong answers (%)", figsize=(5, 2.6))

# %% tags=["check"]
check("trap-table", table)

# %% tags=["mistake"]
# You took all portraits. The question is about women alone.
table = 100 * portraits.pivot_table("error_celeba-like", "hair", "skin", observed=True)

# %% [markdown] tags=["hint"]
# The values are `"error_celeba-like"`, the rows `"hair"` and the columns `"skin"`.

# %% tags=["check"]
check("trap-long", gap_of_long)

# %% tags=["mistake"]
# This is the gap among women with short hair.
gap_of_long = table.loc["short", "dark"] - table.loc["short", "light"]

# %% [markdown] tags=["hint"]
# Take the row `long` of your table, and subtract "light" from "dark".

# %% [markdown]
# ## What would change your mind? (5 minutes)
#
# Write three sentences. Which comparison would show that skin itself matters to this model? (Look at the three numbers of
# [the handout](handouts/01.html).) What could still be wrong in your table: what else, besides hair, might go with skin?
# What would you decide about the model today?

# %% [markdown] tags=["instructor"]
# The gap shrinks, and it does not vanish. That is no proof of an effect of skin either: other features go with
# skin too. Keep the question open. Session 3 makes faces that differ in skin alone.
