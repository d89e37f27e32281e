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
# # Planning an audit, and carrying it elsewhere
#
# The audit is done and has been compared with the truth. Two questions remain, one for before and
# one for after. Before: how many faces and how many raters would it have taken, and what would they
# have cost? After: what does an experiment on made faces say about people in another data set, whom
# nobody arranged in a grid? Between them lie two leaks through which an effect can shrink
# unnoticed: raters who err, and images that were thrown away.

# %% [markdown]
# ## Question
#
# How large must an audit be before "no effect found" means something? By how much do noisy ratings
# and pruning move its estimates? And can error rates measured on transects predict error rates,
# and differences of error rates, in a population with another mix of faces?

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Unit | one transect when planning; one face of the target population when predicting |
# | Intervention | skin colour, hair length and gender on the transects; none in the targets |
# | Held fixed | when carrying results over: the error rate of each stratum; only the mix of strata changes |
# | Outcome | error against the raters' majority, 0 or 1 |
# | Estimand | power and smallest detectable effect; error rate and disparity in the target population |
# | Known failure | faces of one stratum are not alike: what differs inside it, and matters to the model, is not carried over |

# %% [markdown]
# ## Prerequisites
#
# You need the transects and their annotations from [](05_transect_generation) to
# [](08_stratified_errors), the test set of [](01_observational_audit), and the truth of
# [](10_effects_and_truth). From statistics: what the power of a test is, and what a weighted average is.
# The chapter takes about an hour to read and less than a minute to run. *Female* and *male* stand
# for perceived gender.

# %%
from itertools import product

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

from helpers import annotations, effects, errors, faces, figures, models
from helpers.annotations import crowd
from helpers.artifacts import Stage
from helpers.effects import labels, planning, populations_carried
from helpers.effects.figures import draw_power, draw_pruning, draw_slopes, draw_transport
from helpers.faces import populations
from helpers.utils import seeding

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_train = 10000
n_heldout = 1000
n_raters = 5
n_boot = 1000

# %%
stage = Stage("12_planning", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:.3f}".format

# %% [markdown]
# ## How many transects?
#
# {term}`Power` is the chance that a study finds an effect that is there. Besides the number of
# transects, four things decide it: the size of the effect $\Delta = p_1 - p_0$, how alike the two
# errors of a pair are, how many pairs a transect keeps, and how alike these pairs are. Of the two
# images of a pair, only those matter on which the model errs in one and not in the other. Their
# share $\psi$ is small when errors follow the face.
#
# $$
# \begin{aligned}
# S = {}& \frac{(z_{\alpha/2} + z_\beta)^2}{\Delta^2}\,(\psi - \Delta^2) \\
# & \times \frac{1 + (m - 1)\rho_d}{m}
# \end{aligned}
# $$
#
# $$
# \begin{aligned}
# \psi = {}& p_0 (1 - p_1) + p_1 (1 - p_0) \\
# & - 2 \rho \sqrt{p_0 (1 - p_0)\, p_1 (1 - p_1)}
# \end{aligned}
# $$

# %% [markdown]
# Here $S$ counts transects, $\rho$ is the correlation of the errors in a pair, $\rho_d$ that of the
# differences of two pairs of one transect, and $m$ the complete pairs that a transect keeps: all
# four, or fewer after pruning, because a pair needs both its images. The table asks for a
# difference that an auditor would want to see, at an error rate that is usual for these models. It
# takes the least $\rho_d$ that is possible, as if the effect were alike for all faces. Its numbers
# are **lower bounds**.

# %%
RETENTION = {"nothing pruned": 1.0, "two thirds kept": 2 / 3}
PLANNED = {"difference": 0.02, "base_rate": 0.05, "within": 0.05}
formulas = {"plain": effects.printed_transects, "refined": effects.transects_needed}
needed = {
    name: {images: formula(**PLANNED, retention=kept) for images, kept in RETENTION.items()}
    for name, formula in formulas.items()
}
pd.DataFrame(needed).rename_axis("at least").style.format("{:,.0f}")

# %% [markdown]
# Losing a third of the images costs far more than a third of the information. A pair survives only
# with both its images, so the pairs shrink with the *square* of the share kept. The second column
# refines the formula: it takes the number of surviving pairs as random, which it is, and lets a
# shared difficulty of the face tie the differences of a transect together, instead of setting
# $\rho_d$ to zero.

# %% [markdown]
# ### The formula against simulation
#
# A formula is a promise about a test that somebody will run. So we run it: transects are drawn with
# errors of the stated rate and correlation, images are dropped at random, the matched difference is
# tested as in [](10_effects_and_truth), and the share of rejections is counted. The grid crosses the
# base rate, the size of the difference, the share kept, the correlation of the errors of a pair, and
# the number of transects; table and figure show the base rate of the plan.

# %%
TARGETS = (0.25, 0.5, 0.8, 0.95)
grid = effects.power_grid(seed=seed, target=TARGETS)
print(f"{len(grid)} designs at {grid['base_rate'].nunique()} base rates")
usual = grid[grid["base_rate"] == PLANNED["base_rate"]]
usual.iloc[::16].drop(columns=["base_rate", "target", "pair_correlation", "printed_shared"])

# %% mystnb={"image": {"alt": "Two panels, nothing pruned and two thirds kept. In each, three rising curves of power against the number of transects on a logarithmic axis, one per size of difference, larger differences further to the left. Markers from simulation lie on or near the solid curves; dashed curves of the plain formula run close by. The curves of the second panel lie further to the right."}, "figure": {"name": "fig-power", "caption": "Power of the matched test against the number of transects, for three true differences in error rate. Solid lines are the refined formula, dashed ones the plain formula, markers the simulation. The dotted line is the usual target."}}
_ = draw_power(usual, RETENTION, PLANNED["within"])

# %% [markdown]
# How far apart are line and marker, over the whole grid, base rates included, and not only where it
# is drawn? The table shows the largest distance from the simulation, in points of power, by
# correlation and share kept. Chance alone moves a simulated power by a point or so. Where errors of a
# face hang together strongly, the plain formula is the one to leave its marker: a difficult face is
# difficult in all its pairs. Where few rare errors are expected and the power is low, the refined
# formula leaves it a little, too; nobody would plan such an audit.

# %%
gap = 100 * grid[["power", "printed"]].sub(grid["simulated"], axis=0).abs()
gap = gap.set_axis(["refined formula", "plain formula"], axis=1)
keys = [grid["within"].rename("correlation"), grid["retention"]]
gap.groupby(keys).max().style.format("{:.1f}").format_index("{:.2f}")

# %%
distance = gap["refined formula"].to_numpy()
far, planned = grid.loc[distance.argmax()], grid["target"] >= 0.5
Markdown(
    f"The refined formula leaves the simulation most, by {distance.max():.1f} points, at a base rate "
    f"of {far['base_rate']:.0%} with {far['transects']:.0f} transects, which have a power of "
    f"{far['simulated']:.0%}; on average the distance is {distance.mean():.1f} points. Among designs "
    f"that the plain formula gives an even chance or better it is {distance[planned].max():.1f} points."
)

# %% tags=["remove-cell"]
# A power of a quarter is drawn to complete the curves; at rare errors the formula is five points off.
assert distance[planned].max() <= 5, distance[planned].max()
assert distance[grid["base_rate"] == PLANNED["base_rate"]].max() <= 5

# %% [markdown]
# ## What this audit could detect
#
# Planning values are guesses. An audit that is finished can look them up in its own errors. Each
# row below is one model and one axis: the error rates at its two levels, the share of pairs in
# which the two errors differ, and the correlations within and between pairs, $\rho$ and $\rho_d$.
# All images enter, pruned or not.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
MODELS, AXES = (*TRAINED, "null"), ("skin_colour", "hair_length", "gender")
audit = populations_carried.with_strata(stage.load("08_stratified_errors", "audit.parquet"))
values = {model: planning.planning_values(audit, f"error_{model}", AXES) for model in MODELS}
values = pd.concat(values, names=["model"])
values

# %% [markdown]
# A high correlation within pairs is good news: the face decides much of the error, and the pair takes
# it out. It is low, or negative, where the axis itself decides who is misread. A high correlation
# between pairs is bad news: the effect differs from face to face, so that the pairs of a transect
# repeat each other.
#
# What follows is the {term}`minimum detectable effect`, the true effect that this audit would have
# found four times out of five. It belongs beside every "no effect". It differs between an average
# over everybody and a single cell, which rests on a quarter of the pairs; of the cells, the least
# precise one is shown. All numbers are in points.


# %%
audit["used"] = audit["kept"] & audit["adult"]
DATA = {"all": audit, "pruned": audit[audit["used"]]}
reach = {
    name: pd.concat({m: planning.detectable(frame, f"error_{m}", AXES) for m in MODELS})
    for name, frame in DATA.items()
}
reach = pd.concat(reach, axis=1).rename_axis(["model", "axis"])
reach.style.format("{:.1f}", na_rep="not estimable")

# %%
worst = reach.max()
Markdown(
    f"With {audit['transect'].nunique():,} transects, an average effect of up to "
    f"{worst['all', 'average']:.1f} points, or one of {worst['all', 'cell']:.1f} points in a "
    f"single cell, would be overlooked in one audit out of five. After pruning these are "
    f"{worst['pruned', 'average']:.1f} and {worst['pruned', 'cell']:.1f} points."
)

# %% [markdown]
# Whoever reads "no effect of skin colour" off such an audit should hear: none of that size. A
# sentence of this kind costs nothing, and it turns a claim about the world into a claim about what
# was looked at. More transects help slowly: to halve the smallest detectable effect takes four
# times as many.

# %% [markdown]
# ## What the crowd costs
#
# Money buys transects or raters. More raters make better labels: a wrong label turns a right answer
# into an "error" and the reverse, so noise raises the error rate *and* shrinks every difference.
# How often is the label wrong? In this world the question has an answer, because the shown gender
# is known. The table compares it with what independent raters would give.

# %%
RATERS = range(1, n_raters + 1)
answers = stage.load("06_annotation_ingestion", "annotations.parquet")
turn = answers.groupby(["image_id", "attribute"], sort=False).cumcount()
seen = {r: annotations.scores(answers[turn < r]).reindex(audit.index) for r in RATERS}

# %%
parameters = torch.from_numpy(stage.load("05_transect_generation", "fitted_parameters.npy").copy())
shown = faces.visible_scores(parameters).set_axis(audit.index)

# %%
right = errors.majority(shown["gender"])
wrong = {r: (errors.majority(seen[r]["gender"]) != right).mean() for r in RATERS}
noise = pd.DataFrame({"wrong labels": wrong}).rename_axis("raters")
noise["if independent"] = [effects.label_noise(wrong[1], r) for r in RATERS]
noise.style.format("{:.2%}")

# %% [markdown]
# Where the first column lies below the second, the crowd does better than a vote would: raters
# answer on a scale, so that a clear answer outweighs a hesitant one. For a real crowd, the first
# row can be estimated from how often two raters disagree.
#
# Now the prices. They are assumptions, stated here to be changed: a fee per answer, without a
# source, in whatever currency you pay. The time per answer is the median of the simulated crowd, and
# making the faces is taken as free.

# %%
PRICE = 0.02
seconds = answers["seconds"].median() / answers["attribute"].nunique()
found = {"within": values["within"].clip(lower=0).median(), "retention": audit["used"].mean()}
least = effects.shared_pair_correlation(**PLANNED | {"within": found["within"]})
between = values.loc[[*TRAINED], "between"]
found["pair_correlation"] = max(between.median(), least)
Markdown(
    f"The plan takes ρ_d = {found['pair_correlation']:.2f}, the median over the trained models and "
    f"axes; they range from {between.min():.2f} to {between.max():.2f}. The least that is possible "
    f"here is {least:.2f}."
)

# %%
plan = effects.design_table(
    (100, 200, 400, 800, 1600),
    (1, 3, 5, 9),
    **PLANNED | found,
    rater_error=wrong[1],
    price=PRICE,
    seconds=seconds,
)

# %%
bills = plan.xs(5, level="raters")[["images", "judgements", "hours", "money"]]
bills.style.format("{:,.0f}")

# %% [markdown]
# Those are the bills for five raters. The next table crosses transects with raters, for the planned
# difference, at both correlations and the loss to pruning that were found above: power in each cell,
# and the money in units of the price list. Read along a row to see what raters buy, and down a
# column to see what transects buy.

# %%
plan["cell"] = [f"{row.power:.0%} for {row.money:,.0f}" for row in plan.itertuples()]
plan.pivot_table("cell", "transects", "raters", "first")

# %% [markdown]
# The table cannot hold every size. So the question is turned round: for each number of raters, how
# many transects reach the usual power, and at what price? The column *at least* is what the plan
# would be with the least possible $\rho_d$; money is reckoned with the measured one.

# %%
designs = {}
true = PLANNED | {"within": found["within"]}
for r in (1, 3, 5, 9):
    share = effects.label_noise(wrong[1], r)
    design = effects.noisy_design(**true, noise=share)
    tied = effects.noisy_pair_correlation(found["pair_correlation"], **true, noise=share)
    options = {"retention": found["retention"]}
    needs = effects.transects_needed(*design, **options, pair_correlation=tied)
    bill = effects.cost(needs, r, price=PRICE, seconds=seconds)
    fewest = effects.transects_needed(*design, **options)
    designs[r] = {"wrong labels (%)": 100 * share, "at least": fewest, "transects": needs, **bill}
designs = pd.DataFrame(designs).T.rename_axis("raters")
designs.style.format("{:,.0f}").format("{:.1f}", subset="wrong labels (%)")

# %%
cheapest = int(designs["money"].idxmin())
transects, money = designs.loc[cheapest, ["transects", "money"]]
Markdown(
    f"Cheapest here: raters per image {cheapest}, transects {transects:,.0f}, for {money:,.0f}."
)

# %% [markdown]
# If few raters win, do not be surprised. A further rater brings an opinion, a further face brings an
# opinion and a pair, and wrong labels average out over faces too. The advice holds for a *matched*
# analysis by intended level, in which raters only supply the label. It leans on independent raters,
# and on label errors that fall on right and wrong answers alike, which is optimistic where a face is
# truly between two answers. And raters have a second task, for which a single one may not do: they
# measure the attributes.

# %% [markdown]
# ## What noise in an attribute does
#
# Outside of an experiment nobody has an intended level; there are only ratings. Errors in a
# *predictor* pull its slope towards zero {cite:p}`spearman`. If a score is the truth plus
# independent noise, the slope shrinks by the score's {term}`reliability`, the share of its variance
# that is truth. [](06_annotation_ingestion) measured it: it is the ICC. Dividing by it undoes the
# harm, on average, and widens the interval as it should.


# %%
icc = stage.load("06_annotation_ingestion", "agreement.parquet")["icc"]
single = icc / (n_raters - (n_raters - 1) * icc)
reliability = pd.DataFrame({r: r * single / (1 + (r - 1) * single) for r in RATERS})
reliability.loc[[*AXES]].style.format("{:.2f}")

# %% [markdown]
# The Spearman–Brown formula turns the reliability of all raters together into that of one, two or
# three. Now the experiment on the experiment: take the first rater's answers only, then the first
# two's, and so on, and regress errors on perceived hair length, among women and among men. What the
# slope should be without noise can be looked up: a simulated crowd can be as large as we please,
# and the mean of very many raters is all but free of noise.

# %%
MANY = 40
many = crowd.annotate(
    shown[["hair_length"]], MANY, seed=seed, stage="14_planning_and_transport/many"
)
many = many[(many["status"] == "accepted") & (many["visit"] == 0)]
many = many.groupby("image_id")["hair_length"].mean().reindex(audit.index)
scores = {r: seen[r]["hair_length"] for r in RATERS} | {MANY: many / 4}

# %%
slopes = pd.concat(
    {m: planning.slopes(audit, f"error_{m}", scores, "gender_level") for m in TRAINED}
).rename_axis(["model", "gender_level", "raters"])

# %%
measured, reference = slopes.drop(index=MANY, level="raters"), slopes.xs(MANY, level="raters")
factor = reliability.loc["hair_length"]
by_raters = measured.groupby("raters", group_keys=False)
corrected = by_raters.apply(lambda part: effects.disattenuate(part, factor[part.index[0][-1]]))

# %% mystnb={"image": {"alt": "Two panels, women and men. Against the number of raters, from one up, the slope of errors on perceived hair length: circles as measured, squares corrected for the reliability of so many raters, both with intervals. If the correction works, circles approach a horizontal line with every rater and squares lie around it from the start. The line marks the slope on the mean of very many raters."}, "figure": {"name": "fig-attenuation", "caption": "Slope of the FairFace-like model's errors on hair length as seen by one or more raters, as measured and divided by the reliability; 95 % intervals, clustered by transect. The line is the slope on the mean of many raters, all but free of noise."}}
_ = draw_slopes(
    {"as measured": measured.loc["fairface-like"], "corrected": corrected.loc["fairface-like"]},
    reference["estimate"]["fairface-like"],
    label=f"{MANY} raters",
    ylabel="slope of errors on hair length",
)

# %% [markdown]
# One model and one set of answers are an anecdote. The table adds up the slopes of all trained
# models in both groups, regardless of sign, and divides by the same sum for the many raters. The
# first column should follow the second, the reliability, and the last should stay near one.


# %%
signs = np.sign(reference["estimate"])
left = {"as measured": measured, "corrected": corrected}
left = {name: (table["estimate"] * signs).groupby("raters").sum() for name, table in left.items()}
left = pd.DataFrame(left) / reference["estimate"].abs().sum()
left.insert(1, "reliability", factor)
left.style.format("{:.2f}")

# %% [markdown]
# The correction need not land on the line. It mends the noise, not the scale: what many raters see
# is still not what is shown, since scales bend at their ends. Raters who share a bias make errors
# that do not average out. And the chance with which noise happened to fall on this sample stays in
# the estimate; with a very unreliable score it is multiplied.

# %% [markdown]
# ### Intended against perceived
#
# The papers cut scores in two and compare the halves. What does it cost to compare by what was
# *seen* rather than by what was *intended*? Only images that land on the wrong side dilute the
# difference. The function `effects.attenuation` predicts how much remains for a bell-shaped
# attribute. Transects are not bell-shaped: their levels were set apart, so that fewer images should
# change sides. The table shows how many do, what remains of the effect, and what the bell predicts.

# %%
CUTS = {"skin_colour": 0.5, "hair_length": 0.4}
sides = {}
for axis, r in product(CUTS, RATERS):
    side = (seen[r][axis] >= CUTS[axis]).astype(int)
    audit[f"{axis}_seen_by_{r}"] = side
    remaining = side.corr(audit[f"{axis}_level"])
    other_side = (side != audit[f"{axis}_level"]).mean()
    sides[axis, r] = other_side, remaining, effects.attenuation(reliability[r][axis])
columns = ["on the other side", "effect left", "if bell-shaped"]
pd.DataFrame(sides, columns).T.rename_axis(["axis", "raters"]).style.format("{:.1%}")

# %% [markdown]
# Where the second column lies above the third, one and the same reliability harms a population,
# whose faces crowd around the cut, more than a designed experiment. The correction must fit the
# use: dividing the transects' differences by the bell-shaped factor would then *over*correct them.
# Below are the effects themselves, among women and among men: by intended level, as perceived by
# all raters and by one, and the truth by intervention.

# %%
KEYS = ["model", "attribute", "gender"]
truth = stage.load("10_effects_and_truth", "truth.parquet").query("scope == 'partial average'")
truth = 100 * truth.dropna(subset="gender").set_index(KEYS)["effect"]
TREATMENTS = {"intended": "level", "all raters": f"seen_by_{n_raters}", "one rater": "seen_by_1"}

# %%
compared = {
    (model, axis, name): effects.risk_differences(
        audit, f"error_{model}", f"{axis}_{suffix}", by="gender_level", cluster="transect"
    )
    for model, axis, (name, suffix) in product(TRAINED, CUTS, TREATMENTS.items())
}

# %%
compared = pd.concat(compared, names=["model", "attribute", "treatment", "gender"])
compared = compared.assign(points=labels.points(compared)).reset_index()
compared = compared.pivot_table("points", KEYS, "treatment", "first", sort=False)
compared["truth"] = truth.map("{:+.1f}".format)
compared = compared.rename(index=planning.GENDERS, level="gender")
compared = compared.rename(index=lambda axis: axis.split("_")[0], level="attribute")
compared.rename_axis(["model", "axis", "gender"]).rename_axis(columns=None)

# %% [markdown]
# All numbers are in points. Where the first two columns agree, it does not matter which definition
# one takes. Where one rater's column is nearer to zero, that is attenuation at work. The intended
# level can be diluted as well: a step that was meant to lengthen hair, and did not, counts as if it
# had. Distances to the truth that all columns share have other causes: leaky directions, and
# labels.

# %% [markdown]
# ## What pruning does
#
# Ratings that are too close to call are pruned, and with them images. The paper analyses what is
# left. An analyst who has never seen the errors of the pruned images can still say what they could
# have done *at worst*: each was an error or not, so put in whichever makes the effect largest, then
# smallest {cite:p}`manski`. Between these bounds lies the effect for all images, with no assumption
# whatever about who was pruned.

# %%
pruned = planning.pruned_effects(audit, "used", TRAINED, tuple(CUTS))
pruned = pruned.join(truth.rename("truth"), on=KEYS)
one = pruned.query("model == 'fairface-like' and attribute == 'skin_colour'")
one.drop(columns=["model", "attribute"]).style.hide().format(precision=1, na_rep="—")

# %% mystnb={"image": {"alt": "Six panels, two rows for skin colour and hair length, three columns for the models. In each, for women and for men, three points with intervals: all images, the pruned ones, complete transects. A wide grey bar behind them shows the worst-case bounds, a diamond the truth by intervention. A vertical line marks zero."}, "figure": {"name": "fig-pruning-bounds", "caption": "Effects of dark skin and of long hair on errors, by perceived gender: from all images, after pruning, and from complete transects, with 95 % intervals; n counts pairs. Grey bars are the worst-case bounds, diamonds the truth."}}
_ = draw_pruning(pruned)

# %% tags=["remove-cell"]
arms = {arm: part.set_index(KEYS) for arm, part in pruned.groupby("arm")}
limits, everything = arms["worst case"], arms["all"]["estimate"]
assert limits["lower"].le(everything).all() and limits["upper"].ge(everything).all(), limits

# %%
pruned["distance from truth"] = (pruned["estimate"] - pruned["truth"]).abs()
pruned["width of interval"] = pruned["high"] - pruned["low"]
summary = pruned.groupby("arm")[["distance from truth", "width of interval", "n"]].mean()
summary.loc[[*planning.ARMS, "worst case"]].style.format("{:.1f}", na_rep="—")

# %% [markdown]
# Read the table, in points, from top to bottom. Whether pruning brings an estimate nearer to the
# truth or takes it away differs from effect to effect; what it always does is to cost pairs. The
# bounds say how much of the conclusion rests on trust in the pruning. Where a grey bar lies on one
# side of zero, even the least favourable images could not have turned the sign.

# %%
bounds = pruned[pruned["arm"] == "worst case"]
signs_open = int(((bounds["lower"] <= 0) & (bounds["upper"] >= 0)).sum())
width = (bounds["upper"] - bounds["lower"]).mean()
Markdown(
    f"The worst case leaves the sign open in {signs_open} of {len(bounds)} effects; the bounds are "
    f"{width:.0f} points wide on average."
)

# %% [markdown]
# ## Carrying the result elsewhere
#
# A test set tells what happens to the people in it, and a transect what a model does to a face. Can
# the second say something about the first? {cite:t}`transects` claims so: by combining the
# contributions of the attributes, one may predict disparate impact in a specific population. The
# claim is not put to a test there. It can be put to one here, on two populations whose
# images were really rendered, rated and judged.

# %% [markdown]
# The recipe is direct standardisation. Let $\hat e(x)$ be the error rate on the transects in
# stratum
# $x$, such as *seen as female, short hair, dark skin*, and $P(x)$ the share of that stratum in the
# target. The target needs annotations of its attributes, but no labels and no answers of the model:
#
# $$
# R(P) = \sum_x P(x)\, \hat e(x)
# $$

# %% [markdown]
# What licenses it is one assumption, that the error rate of a stratum is the same here and there
# {cite:p}`transportability`. Nothing in the data of the experiment can check it. The first target
# is the PPB-like test set with which the book began. All images of the transects enter, since
# pruning would remove the very faces that models find difficult.

# %%
ppb = stage.load("01_observational_audit", "ppb.parquet").rename_axis("face").reset_index()
ppb = populations_carried.with_strata(ppb)
mixes = {"transects": audit, "PPB-like": ppb}
shares = {
    name: frame.value_counts(list(populations_carried.STRATA)) for name, frame in mixes.items()
}
shares = pd.DataFrame(shares).fillna(0)
(shares / shares.sum()).style.format("{:.1%}")

# %% [markdown]
# The transects fill the strata evenly, the test set does not, which is the whole difference between
# the two columns. `effects.transport` takes the rates from one frame and the shares from another.
# Given the same frame for both, it returns that frame's own rates, so one function yields three
# rows to compare: the transects in their own mix, the prediction, and what was observed. Intervals
# resample transects, or faces for the observed.


# %%
options = {"models": MODELS, "n_boot": n_boot, "seed": seed}
parliament = {
    "transects' own mix": populations_carried.carry(audit, audit, cluster="transect", **options),
    "predicted": populations_carried.carry(audit, ppb, cluster="transect", **options),
    "observed": populations_carried.carry(ppb, ppb, cluster="face", **options),
}
wide = pd.DataFrame({name: table["points"] for name, table in parliament.items()})
wide.loc[[*TRAINED]]

# %% mystnb={"image": {"alt": "Four panels, one per model. In each, three rows: the error rate of all faces, and the differences dark minus light skin among women and among men. In every row a circle for the transects in their own mix, a square for the prediction and a triangle for what was observed in the PPB-like set, with intervals, around a line at zero."}, "figure": {"name": "fig-transport-ppb", "caption": "Error rates and disparities in the PPB-like set: the transects in their own mix, the transects' strata in the mix of the target (predicted), and the target's own errors (observed); 95 % intervals, n images."}}
_ = draw_transport(parliament)

# %% [markdown]
# The first marks are what a naive reader of the audit would expect: an effect of skin with all else
# equal. The second marks let hair go with skin as it does in the target. If they move towards the
# third, then much of the disparity *is* predictable from an experiment, and comes with the mix and
# not with skin. The next lines say how much, wherever there is a disparity to predict.


# %%
WOMEN = "women, dark − light"
Markdown(populations_carried.explained(parliament["observed"], parliament["predicted"], WOMEN))

# %% [markdown]
# ### A few labels from the target
#
# If photographs are merely harder or easier there than here, all log odds shift alike. A small
# labelled sample of the target is enough to estimate such a shift: one number, the calibrated
# intercept. The strata keep their order. It repairs the level of the error rate; a disparity it
# can only stretch.

# %%
LABELLED = 200
drawn = seeding.rng(seed, "14_planning_and_transport/labelled").permutation(len(ppb))[:LABELLED]
calibrated = populations_carried.carry(
    audit, ppb, cluster="transect", labelled=ppb.iloc[drawn], **options
)
wide["calibrated"] = calibrated["points"]
wide.loc[[*TRAINED], ["predicted", "calibrated", "observed"]].rename_axis([None, None])

# %%
gone = {"plain": parliament["predicted"], "calibrated": calibrated}
gone = {k: (t["estimate"] - parliament["observed"]["estimate"]).abs() for k, t in gone.items()}
nearer = (gone["calibrated"] < gone["plain"]).groupby("quantity", sort=False).sum()
counts = "; ".join(f"{name}: {count} of {len(MODELS)}" for name, count in nearer.items())
Markdown(f"Models for which calibration brings the prediction nearer: {counts}.")

# %% [markdown]
# The price is precision: the sample's own chance enters all rates. And if an error rate is all one
# wants, a labelled sample gives it without any experiment. What the experiment adds is the
# disparity between groups that are rare in the sample.

# %% [markdown]
# ### A second population
#
# The FairFace-like faces come from the other end: balanced skin colours, all ages, more poses, hair
# that goes with gender and not with skin. Their held-out images were rendered in
# [](02_face_world). Here raters see them, and all models judge them.

# %%
everyone = populations.sample("fairface-like", n_train + n_heldout, seed).parameters[n_train:]
visible = faces.visible_scores(everyone).set_axis([f"ff_{k:05d}" for k in range(n_heldout)])
ratings = crowd.annotate(visible, n_raters, seed=seed, stage="14_planning_and_transport")
annotations.write_mturk(ratings, stage.path("fairface.csv"))
fairface = annotations.scores(annotations.read_mturk(stage.path("fairface.csv"))[0])
fairface = (
    populations_carried.with_strata(fairface.reindex(visible.index))
    .rename_axis("face")
    .reset_index()
)

# %%
pictures = stage.load("02_face_world", "fairface-like.npy")[n_train:]
for name in TRAINED:
    network = models.load(stage.load("02_face_world", f"{name}.safetensors"), device)
    fairface[f"score_{name}"] = models.predict(network, pictures)

# %%
label, item = errors.majority(fairface["gender"]), np.arange(n_heldout)
NULL = stage.load("08_stratified_errors", "results.json")["null_control"]
fairface["score_null"] = models.null_control(label, item, item, **NULL, seed=seed)
for name in MODELS:
    fairface[f"error_{name}"] = ((fairface[f"score_{name}"] > 0.5) != label).astype(int)

# %% mystnb={"image": {"alt": "Four panels, one per model, in the same layout as the figure before, now for the FairFace-like population: transects in their own mix, prediction and observation for the error rate of all faces and for the differences dark minus light skin among women and men."}, "figure": {"name": "fig-transport-fairface", "caption": "The same for the held-out FairFace-like faces, which include children and teenagers; 95 % intervals."}}
street = {
    "transects' own mix": parliament["transects' own mix"],
    "predicted": populations_carried.carry(audit, fairface, cluster="transect", **options),
    "observed": populations_carried.carry(fairface, fairface, cluster="face", **options),
}
_ = draw_transport(street)

# %% [markdown]
# ## Where it fails
#
# A prediction that misses should be taken apart by stratum, because the recipe has only two
# ingredients. The shares are known, so the rates must be wrong: the faces of a stratum there err at
# another rate than the faces of the same stratum here. The scatter holds them against each other
# for one model. On the dashed line, the assumption of transport is right.

# %% mystnb={"image": {"alt": "Scatter of error rates by stratum: on the transects on the horizontal axis, in the PPB-like set on the vertical, one marker for each combination of perceived gender, hair and skin, with intervals both ways and a dashed line of equality."}, "figure": {"name": "fig-transport-strata", "caption": "Error rates of the FairFace-like model in the same strata of two data sets, transects and PPB-like; Wilson intervals. On the dashed line a stratum errs alike in both."}}
both = pd.concat(mixes, names=["data"]).reset_index("data")
both["data"] = pd.Categorical(both["data"], list(mixes))
pairs = errors.matched_groups(both, "data", populations_carried.STRATA, "error_fairface-like")
_ = figures.matched_scatter(pairs)

# %%
adds = populations_carried.contributions(audit, ppb, "error_fairface-like")
largest = adds.loc[adds.abs().nlargest(3).index]
named = "; ".join(f"{', '.join(key)} ({points:+.1f} points)" for key, points in largest.items())
Markdown(f"To a miss of {adds.sum():+.1f} points in the overall rate, these add most: {named}.")

# %% [markdown]
# ### What a stratum hides
#
# What differs inside? The strata cut perceived gender in two. On the transects it was *set*, far
# from the middle on both sides; in a population it spreads, and some faces divide the raters. If
# these are the hard ones, errors fall from the first row of the table to the last, and a population
# with more of the first errs more. And they may collect in odd places: where hardly any man wears
# long hair, a long-haired face that is seen as male may just be a face that can be seen either way.

# %%
targets = {"PPB-like": ppb, "FairFace-like": fairface}
clarity = {
    name: errors.stratified_errors(frame, "clarity", "error_fairface-like")
    for name, frame in {"transects": audit, **targets}.items()
}
clarity = pd.concat(clarity, axis=1).swaplevel(axis=1)
clarity = clarity.loc[list(populations_carried.CLARITY[1]), ["n", "rate"]]
clarity.style.format("{:.1%}", subset=["rate"])

# %%
odd = ppb[(ppb["seen_as"] == "male") & (ppb["hair"] == "long")]
unclear = {"all": (ppb["clarity"] != "clear").mean(), "odd": (odd["clarity"] != "clear").mean()}
Markdown(
    f"In the PPB-like set {unclear['all']:.0%} of the faces leave the raters less than clear; of the "
    f"{len(odd)} that are seen as male with long hair, {unclear['odd']:.0%}."
)

# %% [markdown]
# The second thing that differs is age. The transects are adults by design, the FairFace-like faces
# are not. Transport can be told so: with the age group among the strata, it names what the
# experiment has never seen, and reports its share instead of guessing. Bounds then say how far the
# overall rate could lie from the estimate if those faces erred never or always.

# %%
aged = (*populations_carried.STRATA, "age_group")
aged = populations_carried.carry(audit, fairface, cluster="transect", strata=aged, **options)
aged = aged.xs("all faces", level="quantity")
aged["observed"] = street["observed"]["estimate"].xs("all faces", level="quantity")
100 * aged[["estimate", "missing", "lower", "upper", "observed"]]

# %%
unseen = aged["reason"].iloc[0].removeprefix("not in the experiment: ").split("; ")
Markdown(f"Strata that the experiment lacks: {len(unseen)}, among them {'; '.join(unseen[:4])}.")

# %% [markdown]
# ### Does a finer mix help?
#
# A stratum can be cut more finely, as long as the experiment has faces in all of its parts. The
# table compares three predictions, by how far they miss what was observed, in points and averaged
# over the trained models: with no reweighting, with the three attributes, and with the clarity of
# the perceived gender as well.

# %%
observed = {"PPB-like": parliament["observed"], "FairFace-like": street["observed"]}
finer = {
    name: populations_carried.carry(
        audit, frame, cluster="transect", strata=(*populations_carried.STRATA, "clarity"), **options
    )
    for name, frame in targets.items()
}

# %%
chosen = {
    ("PPB-like", "no reweighting"): parliament["transects' own mix"],
    ("PPB-like", "three attributes"): parliament["predicted"],
    ("PPB-like", "and clarity"): finer["PPB-like"],
    ("FairFace-like", "no reweighting"): street["transects' own mix"],
    ("FairFace-like", "three attributes"): street["predicted"],
    ("FairFace-like", "and clarity"): finer["FairFace-like"],
}
misses = {
    k: populations_carried.misses(table, observed[k[0]], TRAINED) for k, table in chosen.items()
}
misses = pd.DataFrame(misses).T
misses.style.format("{:.1f}")

# %% [markdown]
# An overall rate that is met without any reweighting is met by accident: transects hold too many
# faces of rare strata and too few on which people are divided, and the two errors can cancel. The
# disparities, where they cannot, show it.

# %% [markdown]
# What is left after the finest mix is due to what no stratum holds: pose, light, glasses, hair that
# is tied back, the many ways in which a face can be clear to people and not to a model. A designer
# can add axes to the experiment, or give up the claim. The claim that survives is a modest one: the
# part of a disparity that comes with *these* attributes can be predicted, and its size is a lesson
# about the disparity's cause.

# %% [markdown]
# There is a moral side to this. A prediction from an experiment is no substitute for
# counting errors among the people whom a system will meet; it may say *fair enough* because the
# experiment left out the very faces that suffer. What is missing is reported here for that reason,
# and whoever quotes the estimate should quote the share that it covers.

# %% [markdown]
# ## What would change our mind
#
# - If simulated power left the formula by more than chance allows, plans made with it would be wrong,
#   and so would every "could have been detected" above.
# - If the correction for unreliability took slopes *past* the one without noise and ever further
#   as raters are added, its premise of independent noise would have failed.
# - If the worst-case bounds did not contain the effect from all images, they would be no bounds.
# - If predictions were no nearer to the observed disparities than the transects' own mix, the
#   paper's claim about other populations would be refuted in this world.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Fewer faces, more often
# :label: exercise-budget
# You can pay for a fixed number of answers. Use `effects.design_table` to find the best number of
# raters per image, first with the rater error found above and then with one four times as large. What
# changes, and what does not?
# ```
#
# ```{solution} exercise-budget
# :class: dropdown
# Call it once for each number of raters, with `transects` set to the budget divided by the raters,
# and compare the powers. Single opinions on many faces do best with good raters. With poor ones all
# designs do badly and differ little: label noise adds apparent errors and shrinks the difference, but
# the majority that would remedy it is paid for in faces. What speaks for several raters is not power
# but trust: they show where labels are in doubt.
# ```

# %% [markdown]
# ```{exercise} Undoing wrong labels
# :label: exercise-rogan
# Compute one model's error rate with the labels of a single rater, correct it with
# `effects.rogan_gladen` and the noise found above, and compare it with the
# rate under the shown gender. Why is the corrected rate not exact?
# ```
#
# ```{solution} exercise-rogan
# :class: dropdown
# The formula turns the rate seen into the rate behind it, provided that wrong labels fall on right
# and wrong answers alike. A face that confuses raters confuses models too. Their errors then go
# together, a wrong label often *hides* an error of the model, and the correction subtracts too
# much.
# ```

# %% [markdown]
# ```{exercise} Your own population
# :label: exercise-population
# Make a frame with the columns `seen_as`, `hair` and `skin` for a population in which hair goes
# with neither gender nor skin. Predict the disparity between dark- and light-skinned women in it.
# What does the answer estimate?
# ```
#
# ```{solution} exercise-population
# :class: dropdown
# `pd.MultiIndex.from_product([...], names=elsewhere.STRATA).to_frame(index=False)` gives one face
# per stratum, and `populations_carried.carry(audit, frame, MODELS, "transect")` the prediction. Hair is alike
# for all groups, so that only the effect of skin itself is left: the average of the two hair
# lengths' effects, which [](10_effects_and_truth) estimates from pairs. Disparate impact and effect
# coincide where nothing goes with skin.
# ```

# %% [markdown]
# ## Takeaways
#
# - Say how large an effect the audit could have found; without it "no effect" is empty.
# - Pruning costs pairs by the square of the share kept. Plan for it.
# - Noise in an attribute shrinks its slope by the reliability; a designed contrast is all but immune.
# - Worst-case bounds show what a conclusion owes to the images that were thrown away.
# - Error rates travel by stratum, as far as strata hold what matters. Name what they do not hold.


# %% tags=["hide-input"]
def rows(table: pd.DataFrame) -> dict:
    """Rows by name, with null where there is no estimate."""
    return table.astype(object).where(table.notna(), None).to_dict("index")


def nested(carried: dict[str, pd.DataFrame]) -> dict:
    """Rows as {source: {model: {quantity: {estimate, low, high}}}}."""
    interval = ["estimate", "low", "high"]
    return {
        source: {model: rows(table.loc[model, interval]) for model in MODELS}
        for source, table in carried.items()
    }


# %% tags=["hide-input"]
_ = stage.finish(
    {
        "transects_needed": needed,
        "power_gap_points": gap.max().to_dict(),
        "detectable_points": {
            name: {model: rows(reach[name].loc[model]) for model in MODELS} for name in DATA
        },
        "wrong_labels": wrong,
        "cheapest": {"raters": cheapest, "transects": transects, "money": money},
        "attenuation": rows(left),
        "pruning": rows(summary),
        "signs_open_in_worst_case": signs_open,
        "transport": {"ppb-like": nested(parliament), "fairface-like": nested(street)},
        "transport_misses": {name: rows(misses.loc[name]) for name in targets},
    }
)
