# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Cell by cell: matched pairs
#
# *You need [chapter 5](05_transect_generation) (what a transect is) and [chapter 9](09_logistic_ate) (one
# coefficient for each attribute). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# Chapter 9 gives each attribute one number for everybody. But whom does dark skin harm? Does it
# change the errors on women with short hair as it changes those on men with long hair?
#
# ```{glue:md} answer
# :format: myst
# ```

# %% [markdown]
# :::{admonition} Design contract
# :class: dropdown
#
# | | |
# |---|---|
# | Population | base faces of transects: clean-shaven, lightly made-up adults with loose hair |
# | Unit | a transect: one base face in all eight combinations of skin, hair and gender |
# | Intervention | skin colour, hair length or gender from its low to its high level |
# | Held fixed | the other two axes at one level (a *cell*), and the rest of the face as well as the directions manage |
# | Outcome and who labels it | error against the majority of five raters, 0 or 1 |
# | Estimand | [the found effect on transects](estimands): change in the error rate, high minus low, in each cell |
# | Tolerance and n | from [the plan](#what-is-planned), made before any model was trained |
# | Decision at stake | for which groups a model has to be repaired |
# | Known failure | pairs of one cell can still cancel; directions move more than one attribute; raters err |
# :::

# %% tags=["hide-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from myst_nb import glue
from scipy.stats import norm

import facerender
from faceaudit import effects
from faceaudit.effects import verdicts
from faceaudit.utils.formatting import in_points, with_minus
from faceaudit.verdicts import judged_effects
from faceworld.scorecard import truth
from helpers import audit_plan, figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim
from helpers.figures import panels

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
figure_size = 256

# %% tags=["remove-cell"]
stage = Stage("10_matched_pairs", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# We begin with six pairs of one cell, such as men with long hair. Does dark skin turn an audited model's answers from
# right to wrong, or from wrong to right? We take the model and the cell with the most changes in both directions. Of the
# pairs that pruning kept, we show those whose probability of a wrong answer rises or falls most.

# %%
MODELS = ("celeba-like", "fairface-like", "plantskin", "null")
AUDITED = MODELS[:2]
AXES = ["skin_colour", "hair_length", "gender"]
audit = stage.load("08_stratified_errors", "audit.parquet")

# %%
by_level = audit.reset_index().set_index(["gender_level", "hair_length_level", "transect"])
by_level = by_level.sort_index()
light, dark = (by_level[by_level["skin_colour_level"] == level] for level in (0, 1))
turns = {
    model: (dark[f"error_{model}"] - light[f"error_{model}"].reindex(dark.index)).dropna()
    for model in AUDITED
}

# %%
both_ways = {
    (model, *cell): min((change > 0).sum(), (change < 0).sum())
    for model, changes in turns.items()
    for cell, change in changes.groupby(level=[0, 1])
}
model, *cell = max(both_ways, key=both_ways.get)

# %%
SHOWN = 3
doubt = (by_level[f"score_{model}"] - by_level["label"]).abs()
rows = [by_level["skin_colour_level"] == level for level in (0, 1)]
loss = (doubt[rows[1]] - doubt[rows[0]]).loc[tuple(cell)].sort_values()

# %%
clean = [
    by_level[row & by_level["kept"] & by_level["adult"]].loc[tuple(cell)].index for row in rows
]
loss = loss[loss.index.isin(clean[0].intersection(clean[1]))]
faces = [*loss.index[: -SHOWN - 1 : -1], *loss.index[:SHOWN]]
drawn = pd.concat([by_level[row].loc[tuple(cell)].loc[faces] for row in rows])

# %%
change = turns[model].loc[tuple(cell)]
harmed = int((change > 0).sum())
helped = int((change < 0).sum())

# %%
parameters = torch.from_numpy(stage.load("05_transect_generation", "fitted_parameters.npy").copy())
places = audit.index.get_indexer(drawn["image_id"])
portraits = facerender.render(parameters[places], figure_size).image

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two rows of six drawn faces. Each column is one face with light skin above and with dark skin below, and a word says whether the model's answer is right or wrong. In the three columns on the left the answer gets worse with dark skin, in the three on the right it gets better."}, "figure": {"name": "fig-same-step", "caption": "Six matched pairs from one cell, of those that pruning kept. Only the skin was meant to change, from light in the upper to dark in the lower row. The style of hair can change, too. The left half shows the three faces for which the probability of a wrong answer rises most, the right half the three for which it falls most. Above each face: whether the model is right."}}
# Computed by faceworld.networks.classifiers.predict (chapter 8).
said = ["wrong" if wrong else "right" for wrong in drawn[f"error_{model}"]]
where = f"{('women', 'men')[cell[0]]} with {('short', 'long')[cell[1]]} hair"
of_whom = f"for the {model} model, among {where}"
drawing = figures.gallery(portraits, 2 * SHOWN, said, ["light", "dark"])
for axis in drawing.axes:  # letters that a phone can show
    axis.tick_params(labelsize=14)
    axis.yaxis.label.set_size(14)
title = f"{model}, {where}: dark skin turns {harmed} of\n{len(change)} answers wrong, and turns {helped} right"
_ = drawing.suptitle(title, fontsize=14)

# %% [markdown]
# ## Subtract inside a transect
#
# A {term}`matched pair` has two images of one transect. They were meant to differ in one attribute
# only. Take women with short hair, one model, and subtract the
# error with light skin from the error with dark skin.

# %%
cell = audit.query("gender_level == 0 and hair_length_level == 0")
errors = cell.pivot_table("error_celeba-like", "transect", "skin_colour_level")
change = errors[1] - errors[0]
change.astype(int).value_counts().rename_axis("change").rename("pairs").to_frame()

# %% [markdown]
# Plus one means that the answer is right with light skin and wrong with dark skin. We call this face
# *harmed*. Minus one means the opposite: the face is *helped*. Zero means that both answers are right,
# or that both are wrong. The mean of the change, over all pairs, is the change in the error rate.

# %%
summary = {"change of the error rate, points": 100 * change.mean(), "pairs": len(change)}
pd.DataFrame(summary, ["dark − light"]).round(1)

# %% [markdown]
# We compute it in every {term}`cell`. The table has it in points. A cell fixes the other two attributes, for example women with short hair.
# Each attribute has four cells. Pairs of different cells stay apart, so their effects cannot cancel.
#
# The interval comes from {cite:t}`tango`. {term}`Tango's interval` counts only pairs that change sides, and
# it keeps a width when all pairs agree. A test of {cite:t}`mid-p` for the same pairs gives the p-value.

# %%
plan = audit_plan.read_plan(stage.load("audit_plan", "plan.json"))


def found(images: pd.DataFrame, model: str) -> pd.DataFrame:
    """Effects of the three axes on a model's errors, in every cell and averaged over cells."""
    error = f"error_{model}"
    return judged_effects(images, error, AXES, "transect", plan.tolerance, plan.level)


# %%
one = truth.name_cells(found(audit, "celeba-like"))
one = one[(one["scope"] == "cell") & (one["attribute"] == "skin_colour")]
in_points_by_cell = 100 * one.set_index("cell")[["estimate", "low", "high"]]
in_points_by_cell.assign(n=one["n"].to_numpy()).style.format("{:+.1f}").format("{:,}", subset="n")

# %% [markdown]
# ## Many cells, few false alarms
#
# Every test can raise a false alarm. Two audited models have twelve cells each, so we make many tests at
# once. {term}`Holm's procedure` raises the p-values, so that the chance of *any* false alarm stays at the
# planned level. It needs a list of tests that was fixed before the data were seen. The plan of this audit names
# that list: all cells of both audited models. The control models, *plantskin* and *null*, serve to test the
# method. The p-values of each control model are adjusted separately, so that the controls do not make the tests
# of the audited models stricter.

# %%
by_cell = plan.families["effects by cell"]


def matched(images: pd.DataFrame) -> pd.DataFrame:
    """Effects of all models, with p-values adjusted over the planned family of cells."""
    tables = [found(images, model).assign(model=model) for model in MODELS]
    table = truth.name_cells(pd.concat(tables, ignore_index=True))
    cells = table[table["scope"] == "cell"]
    family = cells["model"].map(by_cell.group_of)
    return table.assign(p_holm=cells.groupby(family)["p"].transform(effects.holm))


# %%
pruned = audit[audit["kept"] & audit["adult"]]
crowd, after_pruning = matched(audit), matched(pruned)

# %% [markdown]
# Two versions are computed. The first, the version of this book, uses all images. The second uses
# only images that pruning kept, as {cite:t}`transects` do. Pruning chooses images after they were made,
# and this choice can change an effect ([](07_pruning)).
#
# A cell is *flagged* if its adjusted p-value is below the level of the plan. We then say that the attribute
# *raises* or *lowers* the errors in this cell, from its low to its high level. The table counts flagged cells.


# %%
def count_flags(table: pd.DataFrame) -> pd.DataFrame:
    """Cells by what their adjusted p-values say, and those tested, by model and attribute."""
    cells = table[table["scope"] == "cell"]
    flagged = cells["p_holm"] < plan.level
    counts = {
        "raises": flagged & (cells["estimate"] > 0),
        "lowers": flagged & (cells["estimate"] < 0),
        "cells": cells["p_holm"].notna(),
    }
    by = [cells["model"], cells["attribute"]]
    return pd.DataFrame(counts).groupby(by, sort=False).sum()


# %%
versions = {"all images": crowd, "after pruning": after_pruning}
flagged = {name: count_flags(table) for name, table in versions.items()}
shown = pd.concat(flagged, axis=1).rename(truth.CONTRASTS, level="attribute")
shown.rename_axis([None, None])

# %%
by_flag = {}
for name, table in versions.items():
    tested = table[table["scope"] == "cell"].set_index(["model", "attribute", "cell"])
    by_flag[name] = tested["p_holm"] < plan.level
by_flag = pd.DataFrame(by_flag)
differ = by_flag.index[by_flag["all images"] != by_flag["after pruning"]]

# %% tags=["hide-input"]
which = "; ".join(f"{model}, {truth.CONTRASTS[axis]} ({cell})" for model, axis, cell in differ)
Markdown(
    f"With pruning the flag differs in {len(differ)} of {len(by_flag)} cells{f': {which}' if which else ''}."
)

# %% [markdown]
# The last three rows test the tester. The *null* model answers by chance, and images of one
# transect tend to err together. A flag in its rows is a
# false alarm. In twenty such audits we expect about one with any false alarm. The table counts them.

# %%
alarms = {name: table.loc["null", ["raises", "lowers"]] for name, table in flagged.items()}
null_flags = {name: int(table.to_numpy().sum()) for name, table in alarms.items()}
pd.Series(null_flags, name="flags of the null model").to_frame()

# %% [markdown]
# ## Exceeds, within or inconclusive
#
# A flag says that an effect differs from zero. It may still be too small to matter. And a cell without a
# flag may have a large effect that the experiment is too small to find.
# So the plan names a {term}`tolerance`: an effect up to this size would not matter for the decision. Each
# cell gets one of three words, its *verdict*:
#
# - *exceeds*: a test excludes every effect up to the tolerance, after Holm's procedure over the cells of the model,
# - *within*: two one-sided tests exclude every larger effect, the method that {cite:t}`tost` calls an
#   {term}`equivalence test`,
# - *inconclusive*: the data allow both a smaller and a larger effect.

# %% [markdown]
# So a cell can be flagged and within the tolerance: its effect is real and small. The function above has
# given the verdicts already, with the test of [](18_audit_your_model). We count them for skin and hair in both
# audited models. Intervals are about each cell alone, without Holm's adjustment. So an interval can exclude zero in a cell
# without a flag. The table counts such cells, too.

# %%
cells = crowd[crowd["scope"] == "cell"].sort_values(["gender", "hair_length", "skin_colour"])
judged = cells[cells["model"].isin(AUDITED) & (cells["attribute"] != "gender")]
words = judged["verdict"].value_counts()
words = words.reindex(["exceeds", "within", "inconclusive"], fill_value=0)

# %%
by_axis = pd.crosstab(judged["attribute"], judged["verdict"])
by_axis = by_axis.reindex(columns=words.index, fill_value=0)

# %%
clear = (judged["low"] > 0) | (judged["high"] < 0)
flag = judged["p_holm"] < plan.level
SAID = {True: "yes", False: "no"}
heads = {"rownames": ["interval excludes zero"], "colnames": ["flagged"]}
pd.crosstab(clear.map(SAID), flag.map(SAID), **heads)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Four panels, one above the other: effects of dark skin for two models, then of long hair for both. Each panel has four rows, one for each cell, with an estimate and its interval over a grey band that marks the tolerance. The mark shows the verdict: a cross for exceeds, a filled circle for within, an open circle for inconclusive."}, "figure": {"name": "fig-cells", "caption": "Found effects of skin colour and hair length on these made faces, cell by cell, with Tango's 95% intervals. All panels have one scale. The grey band is the tolerance. The two tests for *within* are one-sided, so a 95% interval may end a little outside the band. The test for *exceeds* is adjusted, so an interval beyond the band may be *inconclusive*. Positive values mean more errors with dark skin, or with long hair."}}
# Computed by faceaudit.verdicts.judged_effects.
def draw_cells(ax, part: pd.DataFrame) -> None:
    """Intervals of the four cells of an effect, marked by verdict, over the band of tolerance."""
    ax.axvspan(-100 * plan.tolerance, 100 * plan.tolerance, color="#E6E6E6", zorder=0)
    ax.axvline(0, **panels.ZERO)
    for word, mine in part.assign(y=range(len(part))).groupby("verdict"):
        panels.lying(ax, mine["y"], mine, figures.look(word), word, markersize=8, capsize=3)
    panels.name_rows(ax, in_words(part["cell"]))


def in_words(cells: pd.Series) -> list[str]:
    """Names of cells for axes: women and men."""
    return [cell.replace("female", "women").replace("male", "men") for cell in cells]


NARROW = 4.8  # inches: at this width a phone shows letters that can be read


figure, axes = plt.subplots(4, 1, figsize=(NARROW, 7.6), sharex=True)
shown = [(axis, model) for axis in AXES[:2] for model in AUDITED]
for ax, (axis, model) in zip(axes, shown, strict=True):
    draw_cells(ax, judged[(judged["attribute"] == axis) & (judged["model"] == model)])
    ax.set_title(f"{model}: {truth.CONTRASTS[axis]}", fontsize=11)
    ax.tick_params(labelsize=10)
pairs = f"95% intervals, n = {judged['n'].min():,} pairs a cell"
figure.supxlabel(f"change in the error rate (points),\n{pairs}", fontsize=10)
panels.legend_above(figure, words.index, 3)
title = f"Cells by verdict, tolerance ±{100 * plan.tolerance:g} points\n" + "\n".join(
    f"{name}: " + ", ".join(f"{n} {word}" for word, n in by_axis.loc[axis].items())
    for axis, name in (("skin_colour", "dark skin"), ("hair_length", "long hair"))
)
figure.legends[0].set_title(title, {"size": 11})

# %% [markdown]
# The rows of one panel share the faces, the model and the attribute. Compare their effects, above all those of hair
# on women and on men. [Note N10](n10_direct_effects) tests such differences. An *inconclusive* cell asks for more transects. [](16_planning) says how many.
# The table has the verdicts for dark skin, and the {term}`minimum detectable effect` of each cell.

# %%
of_skin = judged[judged["attribute"] == "skin_colour"].sort_values("model", kind="stable")
shown = of_skin.assign(cell=in_words(of_skin["cell"])).set_index(["model", "cell"])
shown = shown[["verdict", "mde"]].rename(columns={"mde": "minimum detectable effect, points"})
shown.style.format(lambda rate: f"{100 * rate:.1f}", shown.columns[1])

# %% [markdown]
# If an effect is as large as the minimum detectable effect, its interval, taken alone, excludes zero in about four
# of five such experiments. A flag needs more. A cell with a large minimum says little when it finds no effect.
# Note N10 adds intervals that hold for all cells together.

# %% [markdown]
# And hair, the suspect of chapter 1? The table has the smallest and the largest effect of long instead of short hair, over the
# cells of both models. Among the portraits of chapter 1 hair can do something else, because the faces differ. The gender of
# many short-haired women in the portraits divides the raters ([](08_stratified_errors)). On made faces raters are
# seldom divided ([](17_transport)).

# %%
of_hair = judged[judged["attribute"] == "hair_length"]
ends = of_hair.groupby("gender")["estimate"].agg(["min", "max"]).rename({0: "women", 1: "men"})
ends.style.format(in_points).set_caption("Effect of long hair, in points")

# %% [markdown]
# ## Averages hide opposite effects
#
# The plantskin model serves as a {term}`positive control`. Its training data were composed so that it errs more often on
# dark-skinned women and less often on dark-skinned men. The figure shows its four cells beside their average.
# It counts every image, and chapter 9 counted only those that pruning kept. Skin has two levels here;
# [note N1](six-skin-types) compares six.

# %%
planted = cells.query("model == 'plantskin' and attribute == 'skin_colour'")
of_women, of_men = (planted[planted["gender"] == level]["estimate"] for level in (0, 1))
averages = crowd.query("scope == 'average' and attribute == 'skin_colour'")
mean = averages.set_index("model").loc["plantskin", "estimate"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, the planted control above and the null model below. Each has five rows: the effect of dark skin in four cells of perceived gender and hair length, and the average over all cells. In the planted control the estimates for women lie right of zero, and one for men lies far left; the average lies left. In the null model all lie near zero."}, "figure": {"name": "fig-opposite", "caption": "Effect of dark skin on the errors of the positive control (above) and of the null model (below), in each cell and on average, with 95% intervals. Both panels have one scale."}}
# Computed by faceaudit.effects.matched.all_matched_effects.
figure, axes = plt.subplots(2, 1, figsize=(NARROW, 5.2), sharex=True)
for ax, model in zip(axes, MODELS[2:], strict=True):
    part = cells[(cells["attribute"] == "skin_colour") & (cells["model"] == model)]
    average = averages[averages["model"] == model]
    ax.axvline(0, **panels.ZERO)
    panels.lying(ax, range(4), part, figures.look("estimate"), "", markersize=7, capsize=3)
    diamond = figures.Look(figures.BLACK, "D", "")
    panels.lying(ax, [4], average, diamond, "", markersize=8, capsize=3)
    panels.name_rows(ax, [*in_words(part["cell"]), "average"])
    ax.set_title(f"{model}, n = {part['n'].min():,} pairs a cell", fontsize=11)
    ax.tick_params(labelsize=10)
label = "change in the error rate,\ndark − light skin (points), 95% intervals"
figure.supxlabel(label, fontsize=10)
low, high, average = map(in_points, (of_women.min(), of_women.max(), mean))
title = f"Planted bias: women {low} and {high} points,\naverage {with_minus(average)}"
_ = figure.suptitle(title, fontsize=11)

# %% [markdown]
# Chapter 9 fitted one coefficient for skin. It *raises* or *lowers* errors if its interval excludes zero. We say that this regression *misses* the harm if it does not
# report that dark skin raises errors. We say that the analysis by cell *catches* it if, after Holm's
# adjustment, dark skin raises errors in at least one cell of women.


# %%
def direction(row: pd.Series) -> str:
    """What an interval says about the sign of an effect."""
    return "raises" if row["low"] > 0 else "lowers" if row["high"] < 0 else "no clear effect"


# %%
main = stage.load("09_logistic_ate", "interactions.parquet").query("group == 'main effects'")
main = main[main["attribute"] == "skin_colour"].set_index("model")

# %%
women = crowd.query("model == 'plantskin' and attribute == 'skin_colour' and scope == 'cell'")
women = women[women["gender"] == 0]
caught = bool(((women["p_holm"] < plan.level) & (women["estimate"] > 0)).any())
overlooked = direction(main.loc["plantskin"]) != "raises"

# %%
# A test statistic has a standard error of one: how far is it from the critical value?
critical = norm.isf(plan.level / 2)
of_main = main.loc["plantskin"]
reported = of_main["estimate"] / ((of_main["high"] - of_main["low"]) / (2 * verdicts.Z))
in_cells = np.sign(women["estimate"]) * norm.isf(women["p_holm"] / 2)
planted_margins = {
    "missed": Margin(critical - reported, 1.0),
    "caught": Margin(in_cells.max() - critical, 1.0),
}

# %% tags=["hide-input"]
claim(
    "The main-effects log odds ratio of dark skin is {odds:+.2f}: the regression "
    "*misses* the harm. Cell by cell, dark skin changes women's error rate by {least:points} to "
    "{most:points} points: the analysis by cell *catches* it.",
    margins=[*planted_margins.values()],
    odds=main.loc["plantskin", ["estimate", "low", "high"]].to_dict(),
    least=women["estimate"].min(),
    most=women["estimate"].max(),
)

# %% [markdown]
# One coefficient mixes the four cells. A large effect of one sign on men
# outweighs a smaller effect of the other sign on women. More faces would narrow the interval of the
# coefficient, but would not split it into its parts.

# %% [markdown]
# ## Harmed and helped
#
# A cell can hide opposite effects as well. Its effect is the share of harmed faces minus the share of
# helped faces. If both shares are equal, the effect is zero. Matched pairs show both shares, because each
# face has an answer with light and with dark skin.
#
# Two things besides skin can add to both shares. Raters may see another gender in the second picture, and
# that changes an error too. A direction may also move more than skin, which [](12_hidden_attributes)
# measures. So read the bars as answers that change, and the diamond as the found effect.

# %%
shares = cells[cells["attribute"] == "skin_colour"]
shares = shares.assign(harmed=shares["worse"] / shares["n"], helped=shares["better"] / shares["n"])
assert np.allclose(shares["harmed"] - shares["helped"], shares["estimate"])

# %%
audited_skin = shares[shares["model"].isin(AUDITED)]
mixed = (audited_skin[["worse", "better"]] > 0).all(axis=1)

# %%
wilson = {
    side: effects.score_interval(shares[side].to_numpy(), shares["n"].to_numpy(float), verdicts.Z)
    for side in ("harmed", "helped")
}
for side, (low, high) in wilson.items():
    shares[f"{side}_low"] = low
    shares[f"{side}_high"] = high


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, one above the other, one for each audited model. Each has four rows, the cells of perceived gender and hair length, with a bar to the right for the share of pairs that dark skin turns wrong, a bar to the left for the share that it turns right, their intervals, and a diamond for the difference."}, "figure": {"name": "fig-harmed-helped", "caption": "Dark skin on these made faces: share of pairs that turn wrong (right, hatched) and that turn right (left), with Wilson's 95% intervals, and their difference (diamond). Both panels have one scale."}}
# Computed by faceaudit.effects.matched.all_matched_effects and
# faceaudit.effects.risks.score_interval.
def draw_sides(ax, part: pd.DataFrame) -> None:
    """Helped to the left, harmed to the right with Wilson intervals, and their difference."""
    y = np.arange(len(part))
    ax.axvline(0, color=figures.BLACK, linewidth=1)
    sides = {"harmed": (1, figures.VERMILION, "///"), "helped": (-1, figures.BLUE, "")}
    for side, (sign, colour, hatch) in sides.items():
        share, low, high = (part[f"{side}{end}"].to_numpy() for end in ("", "_low", "_high"))
        reach = np.clip([share - low, high - share], 0, None)[::sign]
        how = {"color": colour, "hatch": hatch, "edgecolor": "white", "capsize": 3, "label": side}
        ax.barh(y, 100 * sign * share, 0.62, xerr=100 * reach, **how)
    net = {"marker": "D", "markerfacecolor": "white", "color": figures.BLACK, "linestyle": ""}
    ax.plot(100 * part["estimate"], y, label="harmed − helped", markersize=7, **net)
    panels.name_rows(ax, in_words(part["cell"]))
    ax.xaxis.set_major_formatter(lambda share, _: f"{abs(share):.3g}")


figure, axes = plt.subplots(2, 1, figsize=(NARROW, 5.2), sharex=True)
for ax, model in zip(axes, AUDITED, strict=True):
    draw_sides(ax, shares[shares["model"] == model])
    ax.set_title(model, fontsize=11)
    ax.tick_params(labelsize=10)
label = f"← helped{6 * chr(160)}harmed →\nshare of pairs (%), 95% intervals, n = {shares['n'].min():,} a cell"
figure.supxlabel(label, fontsize=10)
title = f"In {mixed.sum()} of {len(mixed)} cells (two models)\ndark skin harms some faces and helps others"
_ = figure.suptitle(title, fontsize=11)

# %% [markdown]
# Compare the null model. Its true effect is zero, and yet pairs turn wrong and right, because it answers by chance. The table
# has both shares, in each of the four cells.

# %%
by_chance = shares[shares["model"] == "null"].set_index("cell")
by_chance[["harmed", "helped"]].style.format("{:.1%}")

# %% [markdown]
# A trained network always gives one picture the same answer, so it adds no such chance. Raters' noise adds
# to both shares alike, and cancels in their difference, if raters err as often with dark skin as with light.
# [Note N7](n07_beyond_error_rates) compares both shares with the truth and follows them along doses and
# thresholds. The table counts the images in which raters named another gender than was meant. Both goals for gender lie far from the
# middle ([](05_transect_generation)).

# %%
GENDERS = {0: "female", 1: "male"}
pd.crosstab(
    audit["gender_level"].map(GENDERS).rename("meant as"),
    audit["label"].map(GENDERS).rename("named by most raters"),
)

# %% tags=["hide-cell"]
states, overall = of_skin["verdict"], direction(main.loc["plantskin"])
said = {word: f"says that dark skin *{word}* errors" for word in ("raises", "lowers")}
overall = said.get(overall, "shows no clear effect of dark skin")
(least, most), (women_low, women_high), (men_low, men_high) = (
    map(in_points, (part.min(), part.max())) for part in (of_skin["estimate"], of_women, of_men)
)
largest = of_skin.loc[of_skin["estimate"].idxmax()]
low, high = map(in_points, largest[["low", "high"]])
beyond = (states == "exceeds").sum()
exceed = {0: "none exceeds", 1: "1 exceeds"}.get(beyond, f"{beyond} exceed")
answer = (
    "**On these made faces, dark skin changes the error rate of an audited model by "
    f"{least} points in one cell and by {most} in another.** The largest effect is on {in_words(pd.Series(largest['cell']))[0]} "
    f"({largest['model']} model, 95% interval {low} to {high}). With a "
    f"tolerance of {100 * plan.tolerance:g} points, {(states == 'within').sum()} of these "
    f"{len(states)} effects, four cells of each model, lie within it, "
    f"{exceed} it in a test that is adjusted over the cells of the model, and "
    f"{(states == 'inconclusive').sum()} are *inconclusive*: the data allow smaller and "
    "larger effects. Long hair changes the errors on women by "
    f"{in_points(ends.loc['women', 'min'])} to {in_points(ends.loc['women', 'max'])} points, and those on men by "
    f"{in_points(ends.loc['men', 'min'])} to {in_points(ends.loc['men', 'max'])}. For the model with a planted bias, the one "
    f"coefficient of chapter 9 {overall}, while cells of women show {women_low} to "
    f"{women_high} points and cells of men {men_low} to {men_high}. One cell also mixes faces: "
    f"{of_whom}, dark skin turns {harmed} answers wrong and {helped} right."
)
glue("answer", Markdown(with_minus(answer)), display=False)

# %% [markdown]
# ## What would change our mind
#
# - Flags in several cells of the null model would speak against the tests.
# - Equal effects in all cells would make one average sufficient.
# - Other verdicts after pruning would show that the choice of images matters.
# - A truth outside the intervals would speak against the directions, the raters or the draw of faces.
#   [](11_who_was_right) looks it up.

# %% [markdown]
# ## Exercises
#
# ```{exercise} A bias that cancels, 15 minutes, medium
# :label: exercise-cancel
# Plant errors in the transects yourself. Let the error probability be 0.05 where skin level and gender
# level agree, and 0.25 where they differ. Compute the effect of skin in every cell and on average. Then
# plant the bias in women only. What happens to the average?
#
# **Check:** in the first case the cells of women and of men have opposite signs. In the second case the
# average lies between the cells of women and the cells of men.
# ```

# %% [markdown]
# ```{solution-start} exercise-cancel
# :class: dropdown
# ```

# %% tags=["solution"]
random = np.random.default_rng(seed)
differ = audit["skin_colour_level"] != audit["gender_level"]
in_women = differ & (audit["gender_level"] == 0)
averaged = {}
for name, risky in {"both genders": differ, "women only": in_women}.items():
    errors = random.random(len(audit)) < np.where(risky, 0.25, 0.05)
    table = found(audit.assign(error_mine=errors.astype(int)), "mine")
    table = truth.name_cells(table).query("attribute == 'skin_colour'")
    averaged[name] = table.set_index("cell")["estimate"]
pd.DataFrame(averaged).round(3)

# %% [markdown]
# The average of the first column is small, because opposite effects of equal size cancel. With a bias in
# women only, the average is half as large as the effect on women. It describes no group: too little for
# women, and too much for men.

# %% tags=["remove-cell"]
planted_by_us = pd.DataFrame(averaged)
halves = planted_by_us.loc[["female", "male"]]
assert np.allclose(planted_by_us.loc["average"], halves.mean(), atol=1e-9)
assert halves.loc["female", "both genders"] > 0 > halves.loc["male", "both genders"]

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} The same numbers by hand, 10 minutes, easy
# :label: ex-by-hand
# Choose a model and a cell. Count its harmed and helped pairs with `pivot_table`, as above. Compute the effect
# and compare it with the row of `crowd`. How does `effects.paired_interval` change if two more pairs are
# harmed and two more are helped?
#
# **Check:** your effect and the row agree exactly. The interval gets wider, and its middle hardly moves.
# ```

# %% [markdown]
# ```{solution-start} ex-by-hand
# :class: dropdown
# ```

# %% tags=["solution"]
one = audit.query("gender_level == 1 and hair_length_level == 1")
pair = one.pivot_table("error_fairface-like", "transect", "skin_colour_level")
worse, better = ((pair[1] - pair[0] == sign).sum() for sign in (1, -1))
row = crowd.query("model == 'fairface-like' and attribute == 'skin_colour'").set_index("cell")
assert np.isclose((worse - better) / len(pair), row.loc["male, long hair", "estimate"])
ends = [effects.paired_interval(worse + k, better + k, len(pair), verdicts.Z) for k in (0, 2)]
(100 * pd.DataFrame(ends, ["as counted", "two more of each"], ["low", "high"])).round(1)

# %% [markdown]
# The effect stays the same, because the added pairs cancel. The interval grows with the number of pairs
# that change sides. So two cells with one effect can have different intervals.

# %% tags=["remove-cell"]
assert ends[1][1] - ends[1][0] > ends[0][1] - ends[0][0]

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - Subtract errors inside a transect. The result is in points, one cell at a time.
# - State a tolerance first. Then each cell exceeds it, lies within it, or is inconclusive.
# - An average can hide harm between cells, and a cell can hide harm between faces.
#
# **Next:** [](11_who_was_right) takes the effects of this chapter and holds each one against the truth.

# %% tags=["remove-cell"]
matched_table = pd.concat(
    [crowd.assign(arm="C crowd"), after_pruning.assign(arm="D pruned")], ignore_index=True
)
_ = stage.save("matched.parquet", matched_table)

# %% tags=["hide-cell"]
of_hair_and_skin = crowd.query("scope == 'cell' and attribute != 'gender'")
size = of_hair_and_skin["estimate"].abs()
largest = of_hair_and_skin.loc[
    size.groupby([of_hair_and_skin["model"], of_hair_and_skin["attribute"]]).idxmax()
]


def records(table: pd.DataFrame) -> dict:
    """Rows of effects as {model: [{attribute, cell, estimate, low, high, p_holm}]}."""
    columns = ["attribute", "cell", "estimate", "low", "high", "p_holm"]
    return {model: part[columns].to_dict("records") for model, part in table.groupby("model")}


# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "cells": records(crowd[crowd["scope"] == "cell"]),
        "largest_hair_and_skin_effects": records(largest),
        "null_flags": dict(zip(("unpruned", "pruned"), null_flags.values(), strict=True)),
        "plantskin": {
            "missed_by_main_effects": overlooked,
            "caught_by_cells": caught,
            "margins": {name: vars(margin) for name, margin in planted_margins.items()},
        },
    }
)
