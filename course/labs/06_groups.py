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
# # Lab 6. By group, and a model that errs by chance
#
# *35 minutes. Afterwards you can give the error rate of every group with an interval, tell which pattern chance
# alone makes, and widen intervals so that all of them hold together. Needs: proportions and intervals, and lab 1.*

# %% [markdown] tags=["slide"]
# # By group, and a model that errs by chance
#
# ## Eight groups, eight rates
#
# An audit splits portraits by perceived gender, hair and skin.
# Of eight error rates, one is always the largest.
#
# **Is the largest one a finding?**
#
# *Predict:* which group would you repair first?

# %% tags=["slide"]
import matplotlib.pyplot as plt
import numpy as np

from course.lab import load
from faceaudit.effects import error_rates

BY, LARGE = ["group", "hair", "skin"], {"font.size": 14, "axes.spines.top": False}
LARGE["axes.spines.right"] = False
table = error_rates.stratified_errors(load("portraits"), BY, "error_null")
names = [f"{' '.join(key)}, n = {n:,}" for key, n in table["n"].items()]
rate, low, high = (100 * table[end].to_numpy() for end in ("rate", "low", "high"))
with plt.rc_context(LARGE):
    fig, ax = plt.subplots(figsize=(10, 4.4))
    reach = [rate - low, high - rate]
    ax.errorbar(rate, names, xerr=reach, fmt="o", ms=8, color="#0072B2", capsize=4)
    ax.invert_yaxis()
    ax.set(xlabel="wrong answers (%), 95% interval")
    ax.set_title(f"The highest rate is {rate.max() / rate.min():.1f} times the lowest")
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## This model errs by chance
#
# - It errs at **one rate for every face**. We call it the *null control*.
# - Every pattern in its errors is chance.
# - Look at it before you believe a pattern of another model.

# %% [markdown] tags=["slide"]
# ## Four groups, other faces in each
#
# Above light skin, below dark skin; at the left short hair, at the right long hair.
#
# ![Twelve drawn women in four groups of three, by skin colour and hair length.](faces/06.jpg)
#
# *Three faces to a group: how sure could you be of a rate?*

# %% [markdown] tags=["slide"]
# ## Small groups show large rates, and small ones
#
# The grey band holds 95% of the rates that chance makes.

# %% tags=["slide"]
n = np.geomspace(30, 2000, 200)
band = 1.96 * np.sqrt(0.1 * 0.9 / n)
inside = np.abs(rate / 100 - 0.1) <= 1.96 * np.sqrt(0.1 * 0.9 / table["n"].to_numpy())
with plt.rc_context(LARGE):
    fig, ax = plt.subplots(figsize=(10, 4.4))
    ax.fill_between(n, 100 * (0.1 - band), 100 * (0.1 + band), color="#dddddd", lw=0)
    ax.axhline(10, color="black", lw=1)
    ax.plot(table["n"], rate, "o", ms=8, color="#0072B2")
    ax.set(xscale="log", xlabel="faces in the group", ylabel="wrong answers (%)", ylim=0)
    ax.set_xticks([50, 100, 200, 500, 1000, 2000], ["50", "100", "200", "500", "1,000", "2,000"])
    ax.minorticks_off()
    ax.set_title(f"{inside.sum()} of 8 groups of the null control lie in the band")
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## A group without an error
#
# Forty faces, no error. How high may the error rate be?
#
# - **Wald:** rate ± 1.96 standard errors: 0 to 0%.
# - **Wilson:** all rates that a test does not reject: 0 to 8.8%.
#
# Which one do you print?

# %% [markdown] tags=["slide"]
# ## Eight intervals at once
#
# - One 95% interval misses the truth in one case of twenty.
# - All eight hold with a chance of 0.95⁸: **in one audit of three, some interval misses.**
# - *Bonferroni:* share the 5% among the eight.

# %% tags=["slide"]
k = np.arange(1, 41)
with plt.rc_context(LARGE):
    fig, ax = plt.subplots(figsize=(10, 2.9))
    ax.plot(k, 100 * (1 - 0.95**k), color="#D55E00")
    ax.plot(k, 100 * (1 - (1 - 0.05 / k) ** k), color="#0072B2", ls="--")
    ax.text(24, 54, "95% each", color="#D55E00")
    ax.text(24, 10, "Bonferroni", color="#0072B2")
    ax.set(xlabel="intervals in the table", ylabel="audits (%)", ylim=(0, 100))
    ax.set_title("Audits in which at least one interval misses")
    fig.canvas.draw()

# %% [markdown] tags=["slide"]
# ## Read a table of groups
#
# 1. Counts before rates.
# 2. The null control before the audited model.
# 3. How many intervals are there? Widen them together.
# 4. A clear difference between groups is a counted gap. **It is no effect yet.**

# %% [markdown]
# A row is a portrait. `group` is what most raters said of its gender, `hair` and `skin` are their mean scores,
# cut in the middle. "Women" and "men" are short for faces that raters perceive so. `error_…` is 1 where a model's
# answer differs from the raters' majority. The model in `error_null` is the **null control**: it errs at a rate
# of 10%, whatever the face looks like.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from course.lab import check, load

portraits = load("portraits")
by = ["group", "hair", "skin"]
portraits[[*by, "error_fairface-like", "error_null"]].head()

# %% [markdown]
# ## Exercise 1. Every group with its interval (8 minutes)
#
# Make two tables with a row for each of the eight groups.
#
# - `groups`: the number of faces and the number of errors of the model `fairface-like`. Group the portraits by the three
#   columns in `by`. Then `.agg(["size", "sum"])` of the column of errors makes a column `size` and a column `sum`.
# - `intervals`: Wilson's 95% intervals of the error rates in **percent**, in the columns `low` and `high`.
#   `ends = proportion_confint(errors, faces, method="wilson")` takes whole columns. Errors come first, faces second. It
#   returns a pair of shares: `ends[0]` are all low ends, `ends[1]` all high ends. Make the table with
#   `pd.DataFrame({"low": …, "high": …})`.

# %% tags=["solution"]
# One row for each group: the number of faces, and the number of errors.
groups = portraits.groupby(by, observed=True)["error_fairface-like"].agg(["size", "sum"])
ends = proportion_confint(groups["sum"], groups["size"], method="wilson")
intervals = 100 * pd.DataFrame({"low": ends[0], "high": ends[1]})

# %% tags=["check"]
check("groups-intervals", intervals)

# %% tags=["mistake"]
# This is the normal interval, also called Wald's. Ask for `method="wilson"`.
ends = proportion_confint(groups["sum"], groups["size"])
intervals = 100 * pd.DataFrame({"low": ends[0], "high": ends[1]})

# %% tags=["mistake"]
# These are the errors of the null control. Take the column `error_fairface-like`.
null = portraits.groupby(by, observed=True)["error_null"].agg(["size", "sum"])
ends = proportion_confint(null["sum"], null["size"], method="wilson")
intervals = 100 * pd.DataFrame({"low": ends[0], "high": ends[1]})

# %% [markdown] tags=["hint"]
# `portraits.groupby(by, observed=True)[column].agg(["size", "sum"])` counts faces and errors.

# %% [markdown] tags=["hint"]
# Hand `groups["sum"]` and `groups["size"]` to `proportion_confint`, and multiply the table by 100.

# %% [markdown]
# The function below draws the rates with their intervals, and writes the number of faces beside the name of each
# group. Call it with your two tables.


# %%
def draw(counts, intervals):
    """Draw the error rate of each group with its interval."""
    rates = 100 * counts["sum"] / counts["size"]
    names = [f"{' '.join(key)}, n = {size:,}" for key, size in counts["size"].items()]
    plt.figure(figsize=(6, 3))
    plt.hlines(names, intervals["low"], intervals["high"])
    plt.plot(rates, names, "o")
    plt.xlabel("wrong answers of fairface-like (%), 95% interval")


# %% tags=["solution"]
# Call the function.
draw(groups, intervals)

# %% [markdown]
# ## Exercise 2. A pattern by chance (9 minutes)
#
# Call the largest of the eight rates minus the smallest the **spread**. Compute the spread of the null control
# (`error_null`), in percentage points.
#
# Could chance alone make such a spread? The next cell repeats the audit a thousand times with a model that errs
# on 10% of all faces. A row of `audits` is an audit, and a column is a group: it holds the number of errors.
# `audit_rates` has the rates, in percent.

# %%
sizes = portraits.groupby(by, observed=True).size().to_numpy()
audits = np.random.default_rng(6).binomial(sizes, 0.1, size=(1000, 8))
audit_rates = 100 * audits / sizes
audit_rates[:3].round(1)

# %% tags=["solution"]
# The spread of the null control, in points.
null_rates = 100 * portraits.groupby(by, observed=True)["error_null"].mean()
spread = null_rates.max() - null_rates.min()

# %% tags=["check"]
check("groups-spread", spread)

# %% tags=["mistake"]
# This is the spread of `fairface-like`. Take the null control, `error_null`.
rates = 100 * portraits.groupby(by, observed=True)["error_fairface-like"].mean()
spread = rates.max() - rates.min()

# %% tags=["mistake"]
# You divided. The spread is the largest rate minus the smallest.
spread = null_rates.max() / null_rates.min()

# %% [markdown] tags=["hint"]
# The mean of `error_null` in each group is its rate. Then use `.max()` and `.min()`.

# %% [markdown]
# Now give the **percentage of the thousand audits** whose spread is at least as large: `as_large`.
# `.max(axis=0)` of an array goes down its columns, and `.max(axis=1)` goes along its rows. The mean of a comparison, as in
# `(a >= b).mean()`, is the share of places where it is true.

# %% tags=["solution"]
# A spread for each audit: the largest and the smallest rate of each row.
spreads = audit_rates.max(axis=1) - audit_rates.min(axis=1)
as_large = 100 * np.mean(spreads >= spread)

# %% tags=["check"]
check("groups-chance", as_large)

# %% tags=["mistake"]
# `axis=0` goes down the columns, over audits. A spread is over the eight groups of one audit: `axis=1`.
as_large = 100 * np.mean(audit_rates.max(axis=0) - audit_rates.min(axis=0) >= spread)

# %% tags=["mistake"]
# These are the audits with a smaller spread.
as_large = 100 * np.mean(spreads < spread)

# %% tags=["mistake"]
# This is the mean spread. Give the percentage of audits whose spread is at least `spread`.
as_large = spreads.mean()

# %% tags=["mistake"]
# You compared numbers of errors. Take `audit_rates`.
counts = audits.max(axis=1) - audits.min(axis=1)
as_large = 100 * np.mean(counts >= spread)

# %% tags=["mistake"]
# This is a number of audits. Give a percentage of the thousand.
as_large = np.sum(spreads >= spread)

# %% [markdown] tags=["hint"]
# `audit_rates.max(axis=1)` takes the largest rate of each audit.

# %% [markdown] tags=["hint"]
# Compare the thousand spreads with `spread`: the mean of `spreads >= spread` is a share.

# %% [markdown]
# A percentage far above 5 says: a spread like this is what chance makes in groups of these sizes.
#
# ## Exercise 3. How many intervals miss? (7 minutes)
#
# In `audits` you know the truth: every group has a rate of 0.1. The next cell computes Wilson's 95% intervals of all
# 8,000 rates, as shares.

# %%
low, high = proportion_confint(audits, sizes, method="wilson")

# %% [markdown]
# An interval **misses** if it lies wholly above or wholly below 0.1. Between arrays write `|` for "or", as in
# `(a > 1) | (b < 0)`. Give in percent:
#
# - `alone`: how many of all intervals miss,
# - `any_of_eight`: in how many audits **at least one** of the eight intervals misses. `.any(axis=1)` of a table of true
#   and false says for each row whether there is a true in it.

# %% tags=["solution"]
# A table of true and false: does this interval miss 0.1?
missed = (low > 0.1) | (high < 0.1)
alone = 100 * missed.mean()
any_of_eight = 100 * missed.any(axis=1).mean()

# %% tags=["check"]
check("groups-alone", alone)

# %% tags=["mistake"]
# You counted intervals that hold 0.1. Count those that miss it.
alone = 100 * (1 - missed.mean())

# %% tags=["mistake"]
# You counted intervals above 0.1 alone. An interval can also miss from below.
alone = 100 * (low > 0.1).mean()

# %% tags=["mistake"]
# This is a number of intervals. Give a percentage of the 8,000.
alone = missed.sum()

# %% [markdown] tags=["hint"]
# `low > 0.1` is true where an interval lies wholly above. Join both cases by `|`, each in brackets.

# %% tags=["check"]
check("groups-any", any_of_eight)

# %% tags=["mistake"]
# This is the mean number of misses in an audit, times 100. Ask of each audit whether any interval misses.
any_of_eight = 100 * missed.sum(axis=1).mean()

# %% tags=["mistake"]
# This is the formula for independent intervals that miss in exactly 5%. Count it in the audits.
any_of_eight = 100 * (1 - 0.95**8)

# %% tags=["mistake"]
# `axis=0` asks of each group whether it is missed in any audit. An audit is a row: `axis=1`.
any_of_eight = 100 * missed.any(axis=0).mean()

# %% tags=["mistake"]
# This is a number of audits. Give a percentage of the thousand.
any_of_eight = missed.any(axis=1).sum()

# %% [markdown] tags=["hint"]
# `missed.any(axis=1)` is true for an audit with at least one miss.

# %% [markdown]
# ## Exercise 4. Intervals that hold together (6 minutes)
#
# Bonferroni's method gives each of the eight intervals an eighth of the five percent: add `alpha=0.05 / 8` to the call of
# exercise 3. Compute again in how many percent of the audits at least one interval misses: `together`.

# %% tags=["solution"]
# The same count with wider intervals, a pair of low and high ends.
wide = proportion_confint(audits, sizes, alpha=0.05 / 8, method="wilson")
together = 100 * ((wide[0] > 0.1) | (wide[1] < 0.1)).any(axis=1).mean()

# %% tags=["check"]
check("groups-together", together)

# %% tags=["mistake"]
# These are the intervals of exercise 3. Ask for `alpha=0.05 / 8`.
together = any_of_eight

# %% tags=["mistake"]
# `alpha` is the share that may miss: 0.05 / 8, and not 0.95 / 8.
wide = proportion_confint(audits, sizes, alpha=0.95 / 8, method="wilson")
together = 100 * ((wide[0] > 0.1) | (wide[1] < 0.1)).any(axis=1).mean()

# %% tags=["mistake"]
# This is the percentage of intervals that miss. Count audits with at least one miss: `.any(axis=1)`.
wide = proportion_confint(audits, sizes, alpha=0.05 / 8, method="wilson")
together = 100 * ((wide[0] > 0.1) | (wide[1] < 0.1)).mean()

# %% [markdown] tags=["hint"]
# Copy the lines of exercise 3, and add `alpha=0.05 / 8` to the call.

# %% [markdown]
# Now a model whose errors depend on the face: `plantskin`. `planted` has its counts, and `overall` is its error rate on all
# portraits, as a share. Take it as a known number. In how many of the eight groups does the **widened** Wilson interval lie
# wholly above it? Call the number `clear`.

# %%
planted = portraits.groupby(by, observed=True)["error_plantskin"].agg(["size", "sum"])
overall = portraits["error_plantskin"].mean()

# %% tags=["solution"]
# Compare the low ends with the rate on all portraits.
ends = proportion_confint(planted["sum"], planted["size"], alpha=0.05 / 8, method="wilson")
clear = np.sum(ends[0] > overall)

# %% tags=["check"]
check("groups-clear", clear)

# %% tags=["mistake"]
# This is the number with 95% intervals, each by itself. Widen them with `alpha=0.05 / 8`.
ends = proportion_confint(planted["sum"], planted["size"], method="wilson")
clear = np.sum(ends[0] > overall)

# %% tags=["mistake"]
# You also counted groups whose interval lies wholly below. Take the low ends alone.
clear = np.sum((ends[0] > overall) | (ends[1] < overall))

# %% [markdown] tags=["hint"]
# Call `proportion_confint` as in exercise 1, with `alpha=0.05 / 8`, and compare the low ends with `overall`.

# %% [markdown]
# ## What would change your mind? (5 minutes)
#
# Write three sentences. Choose the group with the largest rate in your figure of exercise 1. Which result would show
# that its rate is more than chance? What could still be wrong: would that result show that one of the features in its name
# causes the errors (see the end of [the handout](handouts/06.html))? What would you decide: repair the model for this group, or
# measure first?

# %% [markdown] tags=["instructor"]
# The first question is about chance: a widened interval, or a spread that chance hardly ever makes, answers it. The
# second is about causes, and more portraits of the same kind leave it open: the groups differ in more than their
# names. Session 7 changes one feature of one face.
