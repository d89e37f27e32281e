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
# # Direct effects and simulated verdicts
#
# *You need [chapter 10](10_matched_pairs) (effects by cell) and [chapter 11](11_who_was_right) (the truth and
# the steps from it to the found effect). Reading: {{minutes}} minutes.*
#
# This note has the finer checks behind chapters 10 and 11. It asks what a beard carries, what else moves
# along an axis, how often intervals and verdicts are right in repeated audits, and whether the audit kept to
# its plan. *Female* and *male* mean perceived gender.

# %% [markdown]
# ## Question
#
# Can we trust the effects of chapter 10 and the verdicts of chapter 11? We repeat the audit on simulated data,
# and count how often its intervals and its words are wrong.
#
# ```{glue:md} answer
# :format: myst
# ```

# %% [markdown]
# ```{glue:figure} simulated-words
# :name: fig-simulated-words
# :alt: Two panels, one per audited model, with nine stacked bars each, for true shares from none to more than all of the gap. Colours show how often the rule says misplaced blame, partly right, the blame is right, or undecided.
#
# Words that the rule of chapter 11 gives in simulated audits, by the true share of skin in the counted gap. Gap and
# effect scatter as in this run. How often is a firm word wrong? Drawn with [the simulated audits](#firm-and-wrong).
# ```

# %% tags=["hide-cell"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from myst_nb import glue
from scipy.stats import binom, ks_2samp, norm
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.weightstats import DescrStatsW

import facerender
from faceaudit import effects
from faceaudit.effects import contrasts, display_names, error_rates, verdicts
from faceaudit.utils import seeding
from faceworld import load_generator, networks, scorecard
from faceworld.crowd import perceived
from faceworld.scorecard import error_sources, truth
from faceworld.scorecard.truth import CONTRASTS, name_cells
from helpers import audit_plan, figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim
from helpers.figures import panels

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_raters = 5
n_transects = 400

# %% tags=["remove-cell"]
stage = Stage("n10_direct_effects", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:.3f}".format

# %%
MODELS = ("celeba-like", "fairface-like", "plantskin", "null")
TRAINED, AUDITED = MODELS[:3], MODELS[:2]
AXES = ["skin_colour", "hair_length", "gender"]
INTERVAL = ["estimate", "low", "high"]

# %%
plan = audit_plan.read_plan(stage.load("audit_plan", "plan.json"))
by_cell = plan.families["effects by cell"]
audit = stage.load("08_stratified_errors", "audit.parquet")
before = stage.load("11_who_was_right", "results.json")
rungs = stage.load("11_who_was_right", "ladder.parquet")
crowd = rungs[rungs["arm"] == "C crowd"]

# %%
wrong_under_do = {m: stage.load("11_who_was_right", f"under_do_{m}.npy") for m in TRAINED}

# %% [markdown]
# ## Does anything matter at all?
#
# Before asking which attribute matters, one may ask whether any does. Are the eight images of a transect
# equally likely to be misread? *Cochran's Q* {cite:p}`cochran` extends the test of pairs to whole transects.
# It needs complete transects, and it tells neither which attribute matters nor how much. It also spreads its
# power over seven degrees of freedom, so it can miss one clear cell. We take it as a first look. Holm's
# adjustment protects the cells with or without it.

# %%
complete = {m: contrasts.outcome_grid(audit, f"error_{m}", AXES, "transect") for m in MODELS}
tests = {m: cochrans_q(grid.reshape(len(grid), -1)) for m, grid in complete.items()}
within = pd.DataFrame({m: [q.statistic, q.df, q.pvalue] for m, q in tests.items()})
within = within.set_axis(["statistic", "df", "p"]).T
within["transects"] = [len(grid) for grid in complete.values()]

# %%
within["df"] = within["df"].astype(int)
within["p"] = ["< 0.001" if p < 0.001 else f"{p:.3f}" for p in within["p"]]
within.rename(columns={"statistic": "Cochran's Q", "df": "degrees of freedom"})

# %% [markdown]
# ## Intervals for many cells at once
#
# Which effect is the largest? The table lists all cells of the two audited models in points, sorted by size.
# A sorted table invites readers to compare its rows, and the largest of many is large by chance too. So the
# last column has {term}`simultaneous intervals`: all of them hold together as often as one interval does alone.
# They are Tango's, at the quantile that Bonferroni's inequality asks for. A bootstrap of the largest
# deviation would fail here, because its standard errors vanish where hardly any pair disagrees.

# %%
ranked = crowd[(crowd["scope"] == "cell") & crowd["model"].isin(AUDITED)]
ranked = ranked.sort_values("estimate", key=np.abs, ascending=False)
ranked = ranked.sort_values("model", kind="stable")

# %%
quantile = norm.ppf(1 - plan.level / (2 * by_cell.size))
ends = [
    effects.paired_interval(*row, quantile) for row in ranked[["worse", "better", "n"]].to_numpy()
]
wider = ranked[["estimate"]].assign(**dict(zip(("low", "high"), np.transpose(ends), strict=True)))

# %%
shown = ranked.assign(
    contrast=ranked["attribute"].map(CONTRASTS),
    points=display_names.estimates_in_points(ranked),
    simultaneous=display_names.estimates_in_points(wider),
)
shown.set_index(["model", "contrast"])[["cell", "points", "n", "simultaneous"]]

# %% tags=["remove-cell"]
assert (wider["low"] <= ranked["low"]).all() and (wider["high"] >= ranked["high"]).all()

# %% [markdown]
# ## Does an effect differ between women and men?
#
# The next lines average each effect over the cells of one perceived gender, and take the difference of the
# two averages. Such a difference of two effects is an {term}`interaction`. It is computed inside each transect, so
# transects are the units of its interval and of its t test. The plan names the *interactions with gender* as
# a family of their own. Their intervals are simultaneous. Holm's p-values can find a little more. All effects are in points
# of the error rate.

# %%
of_gender = plan.families["interactions with gender"]


# %%
def gender_interaction(model: str, axis: str) -> dict[str, float]:
    """Effect of an axis on men minus that on women, each the mean of its cells."""
    signs = (2 * audit[f"{axis}_level"] - 1) * (2 * audit["gender_level"] - 1)
    contrast = (signs * audit[f"error_{model}"]).groupby(audit["transect"]).sum() / 2
    found = DescrStatsW(contrast)
    low, high = found.tconfint_mean(plan.level / of_gender.size)
    return {"estimate": found.mean, "low": low, "high": high, "p": found.ttest_mean(0)[1]}


# %%
pairs = [(model, axis) for model in TRAINED for axis in AXES[:2]]
crossed = pd.DataFrame({pair: gender_interaction(*pair) for pair in pairs}).T
crossed = crossed.rename_axis(["model", "attribute"])
together = crossed.index.get_level_values("model").map(of_gender.group_of)
crossed["p, Holm"] = crossed.groupby(together)["p"].transform(effects.holm)

# %%
halves = crowd[(crowd["scope"] == "partial average") & crowd["gender"].notna()]
halves = 100 * halves.pivot_table("estimate", ["model", "attribute"], "gender")
halves = halves.loc[crossed.index]

# %%
shown = halves.set_axis(["women", "men"], axis=1).map("{:+z.1f}".format)
shown["men minus women, simultaneous"] = display_names.estimates_in_points(crossed)
shown["p, Holm"] = ["< 0.001" if p < 0.001 else f"{p:.3f}" for p in crossed["p, Holm"]]
shown.rename(CONTRASTS, level="attribute")

# %% tags=["remove-cell"]
apart = halves[1] - halves[0]
assert np.allclose(apart, 100 * crossed["estimate"]), "interactions are differences of effects"

# %% [markdown]
# ## Total and direct effects
#
# A matched difference contains everything that the direction moves. It is the *total* effect of the step. If
# a manlier face comes with a beard, the beard is a part of it. Figure 18 of {cite:t}`transects` shows such a
# case. The {term}`controlled direct effect` asks for the rest: what would the step change if beard and makeup
# stayed as they are? A regression that adjusts for both estimates it, by {term}`g-computation`
# {cite:p}`what-if`: it predicts all images twice, with the high and with the low level.

# %%
CUT = {"beard": "facial_hair", "painted": "makeup"}
cut = {
    name: error_rates.discretize(audit[score], *effects.PAPER_LEVELS[score])
    for name, score in CUT.items()
}
carried = audit.assign(**cut)

# %%
direct = {}
for model, axis in product(TRAINED, AXES):
    outcome, treatment = f"error_{model}", f"{axis}_level"
    found = effects.direct_effects(carried, outcome, treatment, [*CUT], cluster="transect")
    direct[model, axis] = found.droplevel("cell")
direct = pd.concat(direct, names=["model", "attribute"])

# %%
rows = direct.assign(points=display_names.estimates_in_points(direct))
rows = rows.rename({"total - direct": "portion eliminated"}, level="effect").reset_index()
rows["attribute"] = rows["attribute"].map(CONTRASTS)
rows.pivot_table("points", ["model", "attribute"], "effect", "first", sort=False)

# %% [markdown]
# All numbers are points of the error rate, with transects as units. The last column, total minus direct, is
# the *portion eliminated*: it would vanish if beard and makeup were held. It needs assumptions that matched
# pairs do without: a correct regression, and that only the step moves beard or makeup together with the
# errors. The coefficients of {cite:t}`transects` are direct effects in this sense. The truth of chapter 11 is
# one as well, because it sets one parameter and holds the others.

# %% [markdown]
# The plan names the *portions eliminated* as a family. A portion counts as carried by beard or makeup when
# its p-value stays below the level after Holm's adjustment.

# %%
eliminated = direct.xs("total - direct", level="effect")
portions = plan.families["portions eliminated"]

# %%
together = eliminated.index.get_level_values("model").map(portions.group_of)
p_holm = eliminated.groupby(together)["p"].transform(effects.holm)
carried_off = eliminated[p_holm < plan.level]

# %% tags=["hide-input"]
rows = zip(carried_off.index, display_names.estimates_in_points(carried_off), strict=True)
named = [f"{CONTRASTS[axis]} in {model}: {text}" for (model, axis), text in rows]
Markdown(
    f"The portion eliminated is clear of zero for {'; '.join(named)} points."
    if named
    else "All portions eliminated have p-values above the level after the adjustment."
)

# %% [markdown]
# The main arm brought beard and makeup to one mean in all cells, so little can be eliminated here. With other
# instruments, and with faces of which some are bearded, this table finds more.

# %% [markdown]
# ## What else moves along
#
# Beards and makeup were at least annotated. Figure 19 of the paper shows a change that its annotators were
# not asked about: earrings that come with a face made to look female. Here all parameters of a face are
# known. We follow each one along each axis, from the low to the high level, in every transect. The unit is
# the parameter's standard deviation (SD) among sampled faces. The style of hair is left out, because its
# values have no order. The table counts the notable movements of each axis, beside that of its own parameter.

# %%
fitted = stage.load("05_transect_generation", "fitted_parameters.npy").copy()
fitted_faces = torch.from_numpy(fitted)
generator = load_generator("known-truth", device=device)
population = generator.parameters(generator.sample(4000, seed)).cpu()

# %%
leaks = error_sources.parameter_changes(fitted_faces, population)
leaked = leaks[leaks["group"] != error_sources.MOVED_BY_DESIGN]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one per axis of the transects, each with the eight other parameters that move most along it, in standard deviations, with short confidence intervals around a line at zero, sorted by size."}, "figure": {"name": "fig-leaks", "caption": "Leakage of the main arm: mean change of every other parameter from the low to the high level of an axis, in standard deviations of sampled faces (95% intervals, transects are the units). The eight largest of each axis. After Figure 19 of the paper on transects."}}
# Computed by faceworld.scorecard.error_sources.parameter_changes.
MOST = 8  # rows of a panel
figure, axes = plt.subplots(3, 1, figsize=(4.8, 1.2 + 0.78 * MOST), sharex=True)
look = figures.LOOKS["estimate"]
style = {"fmt": look.marker, "color": look.colour, "capsize": 2}
for ax, axis in zip(axes, AXES, strict=True):
    rows = leaked[leaked["attribute"] == axis]
    rows = rows.sort_values("effect", key=np.abs, ascending=False, kind="stable").head(MOST)
    ax.errorbar(rows["effect"], range(len(rows)), xerr=verdicts.Z * rows["se"], **style)
    ax.axvline(0, **panels.ZERO)
    panels.name_rows(ax, [name.replace("_", " ") for name in rows["parameter"]])
    ax.set_title(CONTRASTS[axis], fontsize=11)
axes[-1].set_xlabel("change from low to high (SD of the population)")
most = leaked["effect"].abs().max()
_ = figure.suptitle(f"The largest unasked change is {most:.2f} SD", fontsize=12)

# %%
NOTABLE = 0.1  # SD
wide = leaks.pivot_table("effect", "parameter", "attribute")[AXES]
others = wide.drop(AXES).abs()
moved = pd.DataFrame({"own parameter (SD)": np.diag(wide.loc[AXES])}, AXES)
moved["largest other (SD)"] = others.max()
moved[f"others above {NOTABLE} SD"] = (others > NOTABLE).sum()
moved.rename(CONTRASTS).style.format("{:z.2f}", subset=["own parameter (SD)", "largest other (SD)"])

# %% [markdown]
# A gate bounded those movements that raters or measures can see, before the experiment asked any model
# ([](05_transect_generation)). Other movements passed it, such as the parting of hair. They are small. So a
# mean effect is the effect of an axis together with these changes. Faces of the paper's recipe move more. The
# next section and [](12_hidden_attributes) measure the consequence.

# %% [markdown]
# ## What fitted directions add
#
# Chapter 11 goes from the truth to the found effect in steps. Three of them come from fitted directions: other base faces, other doses,
# and leakage. The figure shows them cell by cell. Faces are the units of the intervals. A face that two
# versions share cancels in their difference.

# %%
added = stage.load("11_who_was_right", "steps.parquet")
BETWEEN = ["base faces", "doses", "leakage"]
parts = added[added["step"].isin(BETWEEN) & (added["model"] != "null")]
parts = parts.assign(estimate=parts["change"])

# %%
margin = verdicts.Z * parts["se"]
parts["low"] = parts["change"] - margin
parts["high"] = parts["change"] + margin
parts["clear"] = parts["change"].abs() > margin
parts["excess"] = parts["change"] ** 2 - parts["se"] ** 2  # the square without its noise

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for other base faces, realised doses and leakage. Each has twelve rows, the cells of the effects of skin colour, hair length and gender, with the contribution of that part to the estimates of three models and its confidence interval around a line at zero."}, "figure": {"name": "fig-direction-parts", "caption": "Contribution of fitted directions to each estimate, by part: other base faces, realised doses and leakage. 95% intervals with sampled faces as units."}}
# Computed by step_errors (chapter 11).
short = parts["attribute"].map({"skin_colour": "skin", "hair_length": "hair"}).fillna("gender")
shown = parts.assign(effect=short + ": " + parts["cell"])
contribution = "contribution to the estimate (points)"
drawing = panels.intervals(shown, "effect", "model", "step", contribution, across=1)
drawing.set_size_inches(4.8, 11)
drawing.legends[0].remove()
reach = 100 * shown[["low", "high"]].abs().to_numpy().max()
largest = 100 * shown["estimate"].abs().max()
legend = panels.legend_above(drawing, columns=2).legends[0]
legend.set_title(f"The largest contribution is {largest:.1f} points", {"size": 12})
for ax in drawing.axes:
    ax.set(xlim=(-1.1 * reach, 1.1 * reach), xticks=[-np.floor(reach), 0, np.floor(reach)])

# %%
counts = parts.pivot_table("clear", "model", "step", "sum", sort=False)
sizes = 100 * np.sqrt(parts.pivot_table("excess", "model", "step", sort=False).clip(lower=0))
pd.concat({"size (points)": sizes.map("{:.1f}".format), "clear of zero": counts}, axis=1)

# %% [markdown]
# The size of a part is its root mean square over the twelve cells of a model, less the part that noise alone
# would give. The second half of the table counts cells whose interval excludes zero, without an adjustment
# for their number. Base faces and doses say that the made faces differ a little from the intended ones.
# Leakage is a bias: it adds the effect of looks that were meant to stay.

# %% [markdown]
# So two true effects belong beside each found one. $T_1$ is the effect at the median doses, for all faces of
# the truth. $T_2$ is the mean effect at the doses that each transect got, which is the version with realised doses (A3 in the
# code). B are the made faces, labelled by the shape alone, and C the same faces labelled by raters. The difference
# of B from $T_2$ is the bias. The same faces are in both, so the draw of faces cancels. The table has the
# effects of skin.

# %%
left = parts[parts["step"] == "leakage"].set_index(["model", "attribute", "cell"])
both = rungs[rungs["scope"] == "cell"].set_index(["model", "attribute", "cell"]).loc[left.index]

# %%
arm = {name: both[both["arm"] == name] for name in ("A3 doses", "C crowd")}

# %%
in_points = pd.Series(display_names.estimates_in_points(left), left.index)
beside = {
    "found (C)": display_names.estimates_in_points(arm["C crowd"]),
    "T₁": (100 * arm["C crowd"]["truth"]).map("{:+z.1f}".format),
    "T₂": (100 * arm["A3 doses"]["estimate"]).map("{:+z.1f}".format),
    "bias, B − T₂": in_points.mask(left["se"] == 0, "+0.0 (no pair changed)"),
}
pd.DataFrame(beside, left.index).xs("skin_colour", level="attribute")

# %% [markdown]
# ## The paper's instrument
#
# We do the same with transects of the paper's recipe. Its images are compared with the same faces at the
# same doses and everything else as in their base face. Raters without noise judge both. A face of the
# paper's recipe may change its hair colour or its earrings from one image to the next. The table shows how
# much such changes bias the estimates in each network, and then over all cells and networks.

# %%
arms = stage.load("11_who_was_right", "arms.parquet")
ARMS = dict(iter(arms.groupby("arm", sort=False)))

# %%
BIASES = {"the paper's": ("papers", "papers, doses"), "main arm": ("B fitted", "A3 doses")}


def error_changes(found: str, held: str, model: str) -> np.ndarray:
    """Errors of one arm minus those of another, by transect and level."""
    both = [ARMS[arm][f"error_{model}"].to_numpy(float) for arm in (found, held)]
    return truth.as_grid(both[0] - both[1])


# %%
bias = {
    (name, model): error_sources.typical_size(error_changes(*both, model), seed)
    for name, both in BIASES.items()
    for model in TRAINED
}
bias = 100 * pd.DataFrame(bias).T.rename_axis(["instrument", "model"])

# %%
bias.style.format("{:.1f}")

# %%
pooled = (bias["size"] ** 2).groupby("instrument").mean() ** 0.5
clear = (bias["low"] > 0).groupby("instrument").sum()
paper_bias, main_bias = pooled[[*BIASES]]
over_all = pd.DataFrame({"size over all": pooled, "networks clear of zero": clear})
over_all.loc[[*BIASES]].style.format("{:.1f}", subset=["size over all"])

# %% [markdown]
# The size is a root mean square over the twelve cells of a network, less noise, with intervals from resampled
# transects. A lower end of zero means that noise alone can explain the size. Both instruments share the
# networks and most sampled faces. Their base faces differ, because the main arm leaves out hair that shows no
# length, and so do their doses a little. How often intervals hold their truth is a question for many
# experiments. The [benchmark of both instruments](benchmarks) repeats the whole experiment and counts.

# %% [markdown]
# ## Does the ideal version work?
#
# In the ideal version of the experiment, only the draw of faces is uncertain. Its intervals should contain the truth
# about as often as they promise. The truth is estimated too, so even honest intervals contain the *estimated*
# truth a little less often. The table gives this expected share. The second table says whether our goal is reached over
# all networks, for the truth as estimated and with its own error allowed for.

# %%
GOAL = 0.9  # share of a run's intervals that must hold the truth
ideal = rungs.query("arm == 'A exact' and scope == 'cell' and model != 'null'")

# %%
covered = error_sources.interval_coverage(ideal)
by_model = ideal.groupby("model", sort=False)
rates = {name: error_sources.interval_coverage(part) for name, part in by_model}
rates = pd.DataFrame(rates | {"all": covered}).T

# %%
tally = rates[["contained", "allowing"]].mul(rates["cells"], axis=0).round()
tally.insert(0, "cells", rates["cells"])
tally = tally.astype(int).assign(expected=rates["expected"])
names = {"contained": "contain the truth", "allowing": "allowing for the truth's error"}
tally.rename(columns=names).style.format({"expected": "{:.0%}"})

# %%
held = covered[["contained", "allowing"]]
goal = pd.DataFrame({"share": held.map("{:.1%}".format)}).rename(names)
goal[f"goal of {GOAL:.0%}"] = np.where(held >= GOAL, "reached", "missed")
goal

# %% [markdown]
# Cells of one model share their faces and tend to be missed together, so one experiment cannot separate a
# flaw of the intervals from chance. Many experiments can. The faces of the truth were asked under every
# intervention, so they can serve as a population whose effects are known exactly. We draw samples from it,
# each as large as ours, and check the intervals each time. We check them once more against a truth that is
# estimated as ours is.

# %%
AUDITS = 500  # samples, each as large as ours
repeated = {
    name: scorecard.ideal_audits(wrong, AXES, n_transects, AUDITS, seed)
    for name, wrong in wrong_under_do.items()
}
repeated = pd.concat(repeated, names=["model"]).reset_index("model")

# %%
against = {"the truth": "truth", "a truth estimated as ours": "estimated_truth"}
contained = {
    name: repeated[column].between(repeated["low"], repeated["high"])
    for name, column in against.items()
}
contained = repeated[["model", "audit"]].assign(**contained)
contained.groupby("model", sort=False)[list(against)].mean().map("{:.1%}".format)

# %%
share, share_of_estimated = contained[list(against)].mean()
# Audit k has the same faces for all models, and so has its truth.
held_counts = contained.groupby("audit")["a truth estimated as ours"].sum()
ours = tally.loc["all", "contained"]
as_unlucky = (held_counts <= ours).mean()

# %% tags=["hide-input"]
in_audits = contained.groupby("audit")[list(against)].mean().set_axis(["share", "fewer"], axis=1)
in_audits = in_audits.assign(difference=in_audits["share"] - in_audits["fewer"])
error = in_audits.sem()
claim(
    "Used again and again, the intervals of the ideal experiment hold the truth in {share:.1%}, "
    "and a truth "
    "that is estimated as ours is in fewer, {estimated:.1%}.",
    margins=[
        Margin(share - 0.92, error["share"]),
        Margin(0.98 - share, error["share"]),
        Margin(share - share_of_estimated, error["difference"]),
    ],
    share=share,
    estimated=share_of_estimated,
)

# %%
low, high = held_counts.quantile([0.025, 0.975])
single = {"this run": ours, "middle 95%, from": low, "to": high, "as few as this run": as_unlucky}
single = pd.DataFrame(single, ["truths in their interval"])
single.style.format("{:.0f}").format("{:.1%}", subset=["as few as this run"])

# %% [markdown]
# The last table sets this run beside single audits of the repetition. *As few* is the share of them with no more truths in
# their intervals than this run. Repeated use knows only faces of the truth. So we
# also compare the faces of the ideal version with those of the truth, parameter by parameter. Both claim to be
# samples of one population. A small shift would stay unseen. The three axes and the artefacts are left out,
# because the manipulation itself changes them. The tests are adjusted by Holm's method.

# %%
truth_faces = torch.from_numpy(stage.load("11_who_was_right", "base.npy").copy())
exact_faces = torch.from_numpy(stage.load("05_transect_generation", "exact_parameters.npy").copy())

# %%
own = facerender.to_frame(exact_faces[:: 2 ** len(AXES)])
others = facerender.to_frame(truth_faces)
free = own.columns.drop([*AXES, "artefacts"])
p = np.array([ks_2samp(own[name], others[name]).pvalue for name in free])
differing = (effects.holm(p) < plan.level).sum()

# %%
compared = {"parameters": len(free), "that differ": differing, "smallest p, unadjusted": p.min()}
pd.DataFrame(compared, ["Kolmogorov–Smirnov"])

# %% [markdown]
# A group of faces with, say, many long noses shifts the error rate of a whole combination of skin, hair and
# gender. Each combination takes part in three of the twelve effects, so its three intervals tend to fail
# together. An auditor of a real model sees one experiment only, and should expect such bad luck now and then.
# It is one more reason to run an audit again on new faces. More transects narrow all intervals, but such
# misses stay as frequent.

# %% [markdown]
# ## Pruned and unpruned
#
# The headline of the transects is the average difference between dark and light skin. Here it is in three
# versions: all pairs, the pairs that survived pruning, and transects that survived whole. The last column is
# the truth. It has an error of its own, so small differences between two distances from it say little.

# %%
averages = rungs[rungs["scope"] == "average"]
skin_averages = averages.query("attribute == 'skin_colour' and arm > 'C'")
skin_averages = skin_averages.assign(points=display_names.estimates_in_points(skin_averages))

# %%
headline = skin_averages.pivot_table("points", "model", "arm", "first", sort=False)
true_average = 100 * skin_averages.groupby("model")["truth"].first()
heads = {"C crowd": "all pairs", "D pruned": "after pruning", "E complete": "complete transects"}
headline = headline.rename(columns=heads).rename_axis(columns=None)
headline.assign(truth=true_average.map("{:+z.1f}".format))

# %% [markdown]
# The next table splits the misses after pruning. Each column is a cell whose interval excludes the truth
# after pruning. It starts at the truth, adds every step of chapter 11, and ends at the estimate after pruning. *Noise* and
# *cues* are the raters' mistakes, and their look at beard, makeup and hair.
# All numbers are points, with 95% intervals of each step.

# %%
STEPS = dict(added.drop_duplicates("arm").set_index("arm")["step"])
keys = ["model", "attribute", "cell"]
from_truth = rungs.query("arm == 'A exact' and scope == 'cell'").set_index(keys)["truth_se"]
step_se = added.pivot_table("se", keys, "step", sort=False)
step_se["sampling"] = np.hypot(step_se["sampling"], from_truth)

# %%
split = error_sources.contributions(rungs, STEPS)
missed = split.index[split["missed"]]
texts = (100 * split.loc[missed, ["truth", *STEPS.values(), "estimate"]]).map("{:+z.1f}".format)
for step in STEPS.values():
    texts[step] += (100 * verdicts.Z * step_se.loc[missed, step]).map(" ± {:.1f}".format)
texts.index = [f"{m}, {a.split('_')[0]}: {c}" for m, a, c in missed]
texts.rename(columns={"estimate": "after pruning"}).T.style.set_table_attributes(
    'style="font-size: 85%"'
)

# %% [markdown]
# ## Faces as drawn
#
# The base faces of the experiment are clean-shaven and lightly made up, by design. How would the effects look
# if each face kept the beard and the makeup that it was drawn with? Here are the same faces and steps with
# both, labelled by the shape alone, beside the version with leakage.

# %%
audited_models = networks.load_all(stage, "02_face_world", TRAINED)
drawn_faces = torch.from_numpy(stage.load("05_transect_generation", "drawn_parameters.npy").copy())
drawn_images = stage.load("05_transect_generation", "drawn_images.npy")
drawn = stage.load("05_transect_generation", "drawn_index.parquet").set_index("image_id")

# %%
shape = facerender.visible_scores(drawn_faces)["gender"].set_axis(drawn.index)
drawn["label"] = error_rates.majority(shape)

# %%
for name, network in audited_models.items():
    drawn[f"score_{name}"] = networks.predict(network, drawn_images)
    drawn[f"error_{name}"] = ((drawn[f"score_{name}"] > 0.5) != drawn["label"]).astype(int)

# %%
with_beards = []
for model in AUDITED:
    found = effects.all_matched_effects(drawn, f"error_{model}", AXES, "transect", plan.tolerance)
    with_beards.append(found.assign(model=model))
with_beards = pd.concat(with_beards)
with_beards = name_cells(with_beards.reset_index(drop=True)).assign(faces="as drawn")

# %%
shaved = rungs[rungs["arm"] == "B fitted"].assign(faces="shaved, little makeup")
both = pd.concat([shaved, with_beards]).query("cell == 'female' and attribute != 'gender'")
both = both[both["model"].isin(AUDITED)].copy()

# %%
both["points"] = display_names.estimates_in_points(both)
both["effect on women"] = both["attribute"].map(CONTRASTS)
both.pivot_table("points", ["model", "effect on women"], "faces", "first", sort=False)

# %% [markdown]
# The two columns are estimates from different base faces, and their difference is not tested here. If a beard
# outweighs the hair above it, the model reads the face as a man's, with short and with long hair. Such errors
# come on top of those that the audit asks about. They can hide an effect, and they can imitate one. The tables
# count them among the faces that were meant to be women. People may agree with the model there, so the second
# table also says how many faces with such a beard the raters call men. Effects on women are therefore read from
# the shaved faces.

# %%
BEARD = 0.375  # nearer to a mustache than to a minimal beard
bearded = (facerender.to_frame(drawn_faces)["facial_hair"] >= BEARD).set_axis(drawn.index)
bearded = bearded[drawn["gender_level"] == 0]

# %%
wrong_on = {name: drawn.loc[bearded.index, f"error_{name}"] == 1 for name in AUDITED}
fall_on_beards = {name: bearded[wrong].mean() for name, wrong in wrong_on.items()}

# %%
face_of = drawn.loc[bearded.index, "transect"]
errors_counted = {
    name: {
        "errors": int(wrong.sum()),
        "on_beards": int((wrong & bearded).sum()),
        "faces": face_of[wrong].nunique(),
        "faces_with_beard": face_of[wrong & bearded].nunique(),
    }
    for name, wrong in wrong_on.items()
}

# %%
raters = {"raters": n_raters, "noise": 1.0, "seed": seed, "stage": "10_effects_and_truth"}
seen_drawn = perceived(facerender.visible_scores(drawn_faces).set_index(drawn.index))
taken_for_men = scorecard.labels_by(seen_drawn.loc[bearded.index[bearded]], **raters).mean()

# %%
pd.DataFrame(errors_counted).T.rename(columns=lambda name: name.replace("_", " "))

# %%
beards = {"women with a beard": bearded.mean(), "of these, called men by raters": taken_for_men}
pd.Series(beards).to_frame("share of faces").style.format("{:.0%}")

# %% [markdown]
# ## What adjusting the portraits would say
#
# Chapter 1 regressed errors on skin colour in its portraits. Here is its log odds ratio, which is about
# women, beside the one that is adjusted for the true length of their hair.

# %%
counted = stage.load("01_observational_audit", "results.json")


# %%
def direction(row: pd.Series) -> str:
    """What an interval says about the sign of an effect."""
    return "raises" if row["low"] > 0 else "lowers" if row["high"] < 0 else "no clear effect"


# %%
def log_odds(key: str) -> pd.DataFrame:
    """One of chapter 1's log odds ratios of dark skin; empty where it could not be fitted."""
    found = {model: one or {} for model, one in (counted[key] or {}).items()}
    return pd.DataFrame(found).T.reindex(index=list(AUDITED), columns=INTERVAL).astype(float)


# %%
odds = {"observed": log_odds("naive_skin_log_odds")}
odds["adjusted for true hair length"] = log_odds("adjusted_skin_log_odds")
odds = pd.concat(odds)
said = odds.apply(direction, axis=1).where(odds["estimate"].notna(), "—")
odds.insert(0, "dark skin", said)
odds.style.format("{:+.2f}", subset=INTERVAL, na_rep="not estimable")

# %% [markdown]
# The adjustment changes the number, even with the true length of hair. But it rests on the few women who
# break the pattern of the test set, and on a model of how hair acts. The data cannot tell when to stop. The
# adjusted number can fall short of the truth or go beyond it, to the other side of zero. An experiment, or a
# known truth, can tell.

# %% [markdown]
# A {term}`doubly robust` estimate adds two things to such a regression. It models who has dark skin besides who errs, and is right in large
# samples if one of the two models is. And it says where the portraits do not overlap, and gives no number there. Neither
# helps against an attribute that was not recorded. Note N1 drew audits of portraits again and again, and scored both with the same
# covariate, the true length of hair. Bias, RMSE and width are in points, the rest in per cent. Bias is shown without
# its sign.

# %%
of_women = stage.load("n01_truth_scorecard", "scores.parquet").query("asked == 'part'")
by_both = {"regression": "true hair length", "doubly robust": "doubly robust, true hair"}
of_women = of_women.set_index(["estimator", "model"]).loc[[*by_both.values()]]

# %%
widths = stage.load("n01_truth_scorecard", "observed.parquet").query("asked == 'part'")
widths = widths.assign(width=(widths["high"] - widths["low"]).astype(float))
of_women["width"] = widths.groupby(["estimator", "model"])["width"].mean()

# %%
of_women = of_women[["bias", "rmse", "coverage", "width", "estimable"]].astype(float)
of_women = of_women.rename(index={old: new for new, old in by_both.items()}, level="estimator")
heads = {"bias": "size of the bias", "rmse": "RMSE"}
(100 * of_women).rename(columns=heads).style.format("{:.1f}", na_rep="—")

# %% [markdown]
# (firm-and-wrong)=
# ## How often is the verdict firm and wrong?
#
# Chapter 11 gave one word for each model, by a rule. Here the rule judges simulated audits whose true share
# is known. Gap and effect are drawn independently, around the counted gap as if it were true. They have the
# standard errors of this run, and the effect has the error of the instrument besides. A firm word is wrong
# if the true share lies elsewhere. *Partly right* counts as right for every share between none and all, so near the ends
# two words are right. Another training of the network would add to the error and is left out.

# %%
instrument = before["instrument_error"]
four = {name: pd.DataFrame(one).T for name, one in before["skin_on_women"].items()}
four = pd.concat(four, names=["number", "model"])[INTERVAL].astype(float)


# %%
def widened(effect: tuple[float, ...]) -> tuple[float, ...]:
    """A found effect whose interval takes in the error of the instrument as well."""
    estimate, low, high = effect
    margin = np.hypot((high - low) / 2, verdicts.Z * instrument)
    return estimate, estimate - margin, estimate + margin


# %%
WORDS = {"little": "misplaced blame", "most": "the blame is right", "partly": "partly right"}


def weigh_blame(effect: tuple[float, ...], gap: tuple[float, ...]) -> str:
    """The rule of chapter 11."""
    if gap[1] <= 0:
        return "there was nothing to blame on it" if gap[2] <= 0 else "undecided"
    word = effects.share_of_gap(effect, gap, plan.little, plan.most)["word"]
    return WORDS.get(word, word)


# %% tags=["remove-cell"]
for model in AUDITED:
    gap, _, _, found = (tuple(four.loc[(name, model)]) for name in before["skin_on_women"])
    assert weigh_blame(widened(found), gap) == before["blame"][model], model

# %%
SHARES = (0, 0.1, 0.2, 0.35, 0.5, 0.8, 0.9, 1, 1.2)
DRAWS = 1000
TRUE = {"misplaced blame": (-9, plan.little), "partly right": (0, 1)}
TRUE["the blame is right"] = (plan.most, 9)


# %%
def simulated_words(model: str, share: float, rule) -> pd.Series:
    """The words of a rule on audits like this one, whose true share is known."""
    gap, effect = (four.loc[(name, model)] for name in ("counted gap", "found effect on transects"))
    margins = np.array([gap["high"] - gap["low"], effect["high"] - effect["low"]]) / 2
    spread = np.hypot(margins / verdicts.Z, [0, instrument])
    draw = seeding.rng(seed, f"blame/{model}/{share}")
    drawn = draw.normal(gap["estimate"] * np.array([1, share]), spread, (DRAWS, 2))
    audits = np.stack([drawn, drawn - margins, drawn + margins], 2)
    return pd.Series([rule(effect, gap) for gap, effect in audits])


# %%
RULES = {
    "firm and wrong": lambda effect, gap: weigh_blame(widened(effect), gap),
    "the same, not widened": weigh_blame,
}


# %%
def firm_and_wrong(said: pd.DataFrame) -> pd.Series:
    """Share of the firm words that do not say where the true share lies."""
    shares = said.index.get_level_values("true share")
    false = [
        (said == word).mean(axis=1).where((shares <= low) | (shares >= high), 0)
        for word, (low, high) in TRUE.items()
    ]
    return sum(false)


# %%
simulated = {}
for name, rule in RULES.items():
    said = {(m, share): simulated_words(m, share, rule) for m in AUDITED for share in SHARES}
    simulated[name] = pd.DataFrame(said).rename_axis(columns=["model", "true share"]).T

# %%
said = simulated["firm and wrong"]
words = {word: (said == word).mean(axis=1) for word in [*TRUE, "undecided"]}
wrong_words = {name: firm_and_wrong(said) for name, said in simulated.items()}
table = pd.DataFrame({**words, **wrong_words})
table.style.format("{:.1%}").format_index("{:.0%}", level=1)

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Two panels, one per audited model, with nine stacked bars each, for true shares from none to more than all of the gap. Colours show how often the rule says misplaced blame, partly right, the blame is right, or undecided."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by simulated_words (above) with faceaudit.effects.reweighting.share_of_gap.
COLOURS = dict(zip(words, (figures.BLUE, figures.SKY, figures.VERMILION, "#DDDDDD"), strict=True))
figure, axes = plt.subplots(2, 1, figsize=(4.8, 5.4), sharex=True, sharey=True)
for ax, model in zip(axes, AUDITED, strict=True):
    below = np.zeros(len(SHARES))
    for word, colour in COLOURS.items():
        often = 100 * table.loc[model, word].to_numpy()
        ax.bar(range(len(SHARES)), often, 0.86, below, color=colour, label=word)
        below += often
    ax.set(title=model, ylabel="audits (%)")
    ax.grid(axis="x", visible=False)
axes[-1].set_xticks(range(len(SHARES)), [f"{100 * share:.0f}" for share in SHARES])
axes[-1].set_xlabel("true share of the counted gap (%)")
legend = panels.legend_above(figure, columns=2).legends[0]
title = f"Firm and wrong in at most {table['firm and wrong'].max():.1%}\nof the simulated audits of a bar"
legend.set_title(title, {"size": 12})
glue("simulated-words", figure, display=False)
plt.close(figure)

# %% [markdown]
# Each row is one true share. The first four columns give how often the rule uses each word, and the fifth
# how often it is firm and wrong. The last one has the same rule without the error of the instrument. If
# effect and gap are normal, Fieller's interval excludes a true share on one side in one audit of forty. At a
# limit of the rule, about that many firm words should be wrong. The rule pays for this with *undecided*
# verdicts. More transects, more counted portraits and a better instrument make them rarer. The second table has
# the worst row of each rule.

# %%
worst, unaware = (table[name].max() for name in RULES)
shares = table.index.get_level_values("true share")
unsure = table.loc[(shares >= plan.most) & (shares <= 1), "undecided"].min()
rows = {
    "firm and wrong, at most": worst,
    "the same, not widened": unaware,
    "undecided, at least": unsure,
}
pd.Series(rows).to_frame("simulated audits").style.format("{:.1%}")

# %% tags=["hide-input"]
at_least = binom.sf(round(worst * DRAWS) - 1, DRAWS, 1 / 40)  # in one row
by_chance = 1 - (1 - at_least) ** len(table)
Markdown(
    f"If each of the {len(table)} rows were wrong in one audit of forty, the largest would reach {worst:.1%} "
    f"with a probability of {by_chance:.1%}."
    + " The estimated error of the instrument is zero, so both rules agree."
    * (instrument == 0)
)

# %% [markdown]
# The last line of the table is about true shares from the plan's
# *most* to all of the gap.
#
# Beside the word we give the average over everybody, women and men, with its truth. An average can be small
# because all effects are small, or because they oppose each other. Chapter 10 tells which. All numbers are points,
# and the truth has a 95% interval.

# %%
everybody = rungs.query("arm == 'C crowd' and attribute == 'skin_colour' and scope == 'average'")
everybody = everybody.set_index("model").loc[[*AUDITED]]
truths = 100 * everybody["truth"]
margin = 100 * verdicts.Z * everybody["truth_se"]
averaged = pd.DataFrame({"found": display_names.estimates_in_points(everybody)}, everybody.index)
averaged["truth"] = truths.map("{:+z.1f}".format) + margin.map(" ± {:.1f}".format)
averaged

# %% [markdown]
# ## Kept to the plan
#
# The verdicts are given, so we can hold the plan against the work. [](02_face_world) recorded the hash of the
# plan before it trained the models. A comparison that was left out, added or made twice would be a departure,
# and so would another number of faces. Pruning decides how many transects stay whole, so this is only counted.

# %%
cells = crowd[crowd["scope"] == "cell"].set_index(["model", "attribute", "cell"])
made = {"effects by cell": cells, "interactions with gender": crossed}
made["portions eliminated"] = eliminated
departures = []
for name, table in made.items():
    departures += plan.families[name].departures(table.index)

# %%
done = {
    "transects": audit["transect"].nunique(),
    "images of a transect": audit.groupby("transect").size().min(),
    "base faces of the truth": len(truth_faces),
}
departures += [
    f"{k}: {n}, planned {plan.design[k]}" for k, n in done.items() if n != plan.design[k]
]
recorded = stage.load("02_face_world", "results.json")["plan"]
departures += ["the models were trained under another plan"] * (recorded != plan.sha256)

# %%
rows = {name: {"planned": plan.design[name], "done": number} for name, number in done.items()}
whole = ARMS["E complete"]["transect"].nunique() if "E complete" in ARMS else 0
rows["transects that pruning left whole"] = {"planned": "—", "done": whole}

# %%
for name, table in made.items():
    family = plan.families[name]
    planned = len(family.comparisons) * len(family.group_of)
    rows[name] = {"planned": planned, "done": f"{len(table)}, with a p-value {table['p'].count()}"}
pd.DataFrame(rows).T

# %% tags=["hide-input"]
same = "the same as" if recorded == plan.sha256 else "another than"
Markdown(
    f"The plan has the SHA-256 `{plan.sha256}`, {same} before the models were trained. "
    f"Departures from it: {len(departures)}. {'; '.join(departures)}"
)

# %% tags=["remove-cell"]
assert not departures, departures

# %% tags=["remove-cell"]
upper = bias.loc["main arm", "high"]
upper = f"upper ends of {upper.min():.1f} to {upper.max():.1f} points"
in_main = f"In the main arm it is {main_bias:.1f} points ({upper} in single networks)."
if f"{main_bias:.1f}" == "0.0":
    in_main = f"In the main arm noise explains all of it ({upper} in single networks)."
answer = (
    f"**Answer.** In repeated ideal audits {share:.1%} of the 95% intervals hold the truth. After noise is "
    f"subtracted, leakage biases the paper's instrument by {paper_bias:.1f} points. {in_main} The rule for a verdict is firm and wrong in at most {worst:.1%} of "
    f"simulated audits. Departures from the plan: {len(departures)}."
)
glue("answer", Markdown(answer), display=False)

# %% [markdown]
# ## Exercises
#
# ```{exercise} The price of many intervals, 10 minutes, easy
# :label: ex-simultaneous-price
# Count the cells of the two audited models whose usual interval excludes zero. Count them again with the
# simultaneous intervals. How much wider is a simultaneous interval, on average?
#
# **Check:** the second count cannot exceed the first.
# ```

# %% [markdown]
# ```{solution-start} ex-simultaneous-price
# :class: dropdown
# ```

# %% tags=["solution"]
both = {"usual": ranked, "simultaneous": wider}
clear = {name: (one["low"] > 0) | (one["high"] < 0) for name, one in both.items()}
assert (clear["usual"] | ~clear["simultaneous"]).all()
widths = {name: (one["high"] - one["low"]).mean() for name, one in both.items()}
price = {name: [clear[name].sum(), f"{100 * widths[name]:.1f}"] for name in both}
pd.DataFrame(price, ["cells clear of zero", "mean width (points)"])

# %% [markdown]
# A simultaneous interval contains the usual one, so it can only lose findings. The quantile grows slowly with the
# number of cells. So a plan with twice as many cells costs little more.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Cochran's Q by hand, 15 minutes, medium
# :label: ex-cochran-by-hand
# A model has $C_j$ errors in combination $j$ of $k$, and $R_i$ errors in transect $i$. There are $N$ errors in all. Compute
#
# $$Q = (k-1)\,\frac{k\sum_j C_j^2 - N^2}{kN - \sum_i R_i^2}.$$
#
# Then leave out all transects whose images are all right or all wrong. Does $Q$ change?
#
# **Check:** your first number is the one of the table at the top of this note.
# ```

# %% [markdown]
# ```{solution-start} ex-cochran-by-hand
# :class: dropdown
# ```


# %% tags=["solution"]
def cochran(errors: np.ndarray) -> float:
    """Cochran's Q of errors (transects, combinations)."""
    k, n = errors.shape[1], errors.sum()
    columns, rows = errors.sum(axis=0), errors.sum(axis=1)
    return (k - 1) * (k * (columns**2).sum() - n**2) / (k * n - (rows**2).sum())


flat = {name: grid.reshape(len(grid), -1).astype(float) for name, grid in complete.items()}
mixed = {name: rows[rows.std(axis=1) > 0] for name, rows in flat.items()}
assert all(np.isclose(cochran(rows), tests[name].statistic) for name, rows in flat.items())
assert all(np.isclose(cochran(flat[name]), cochran(rows)) for name, rows in mixed.items())
pd.DataFrame({"Q": map(cochran, mixed.values()), "transects": map(len, mixed.values())}, [*mixed])

# %% [markdown]
# $Q$ stays the same. A transect that is read right in all images, or wrong in all, says how hard a face is. Only
# transects with both kinds of answers tell which combination matters. The table counts them.

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "exact_coverage": covered["contained"],
        "repeated_coverage": contained["the truth"].mean(),
        "repeated_coverage_of_estimated_truth": contained["a truth estimated as ours"].mean(),
        "as_unlucky": float(as_unlucky),
        "exact_coverage_details": covered.to_dict(),
        "exact_coverage_by_model": tally.to_dict("index"),
        "bias": {arm: bias.loc[arm].to_dict("index") for arm in BIASES},
        "blame_firm_and_wrong": {"widened": worst, "not widened": unaware},
        "interactions_with_gender": {
            m: one.droplevel(0).to_dict("index") for m, one in crossed.groupby(level=0)
        },
        "plan": {"sha256": plan.sha256, "departures": departures},
        "as_drawn": {
            "women_with_beard": bearded.mean(),
            "of_errors_on_women": fall_on_beards,
            "errors_counted": errors_counted,
        },
    }
)
