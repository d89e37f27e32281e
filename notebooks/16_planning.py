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
# # Planning an audit
#
# The audit is done and has been compared with the truth. One question should have come before it:
# how many faces and how many raters does it take, and what do they cost? The answer needs two
# numbers that only a finished audit has: how alike the errors of a pair are, and how much raters
# and pruning take away. Raters who err and images that were thrown away are two leaks through which
# an effect can shrink unnoticed.

# %% [markdown]
# ## Question
#
# How large must an audit be before "no effect found" means something? What do its faces and raters
# cost? And by how much do noisy ratings and pruning move its estimates?

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Unit | one transect: eight images of one face, four pairs along each axis |
# | Intervention | skin colour, hair length and gender on the transects |
# | Held fixed | everything else about the face; between the two images of a pair, the other two axes |
# | Outcome | error against the raters' majority, 0 or 1 |
# | Estimand | power and smallest detectable effect; slopes and effects without noise and pruning |
# | Tolerance and n | from [the plan](#what-is-planned), as are the level, the power and the size of the family of tests |
# | Known failure | planning values are guesses until an audit has been made, and raters are taken as independent |

# %% [markdown]
# ## Prerequisites
#
# You need the transects and their annotations from [](05_transect_generation) to
# [](08_stratified_errors) and the truth of [](10_matched_pairs). From statistics: what the power
# of a test is, and what a regression slope is. The chapter takes about half an hour to read and less
# than a minute to run. *Female* and *male* stand for perceived gender.

# %%
from dataclasses import replace
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
import torch
from IPython.display import Markdown
from scipy.stats import t as student

import facerender
from helpers import annotations, effects, errors, figures
from helpers.annotations import crowd
from helpers.artifacts import Stage
from helpers.effects import audit_plan, labels, planning
from helpers.utils import seeding

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_raters = 5

# %%
stage = Stage("16_planning", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:z.3f}".format
GENDERS = {0: "women", 1: "men"}


# %% tags=["hide-cell"]
def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """A table with spaces for the underscores of attributes' names."""
    spaced = {name: name.replace("_", " ") for name in AXES}
    return table.rename(index=spaced, columns=spaced)


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
# are **lower bounds**. Level and power, $\alpha$ and $1 - \beta$ of the formula, come from the plan of
# the audit and are the usual ones; whoever can afford fewer misses asks for more power.

# %%
plan = audit_plan.read(stage.load("audit_plan", "plan.json"))
RETENTION = {"nothing pruned": 1.0, "two thirds kept": 2 / 3}
PLANNED = effects.Design(difference=0.02, base_rate=0.05, within=0.05)

# %%
formulas = {"plain": planning.printed_transects, "refined": effects.transects_needed}
needed = {
    name: {
        images: formula(replace(PLANNED, retention=kept), plan.level, plan.power)
        for images, kept in RETENTION.items()
    }
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
# ### A family of tests
#
# The table above is about one test of one average. The audit makes more: [](10_matched_pairs)
# tests every cell of both audited models, a {term}`family of comparisons` whose p-values Holm's
# method adjusts together. In the worst case for the audit, no other effect of the family is found
# before. Then an effect is found only if its p-value lies below the level divided by the size of the
# family. A cell also has a single pair per transect, where an average over cells has four. The next
# table plans for both, for the difference above and for one as large as the tolerance.

# %%
family = plan.families["effects by cell"]
TESTS = {
    "average, one test": (4, plan.level),
    "cell, one test": (1, plan.level),
    "cell, in its family": (1, plan.level / family.size),
}
SIZES = {"the difference above": PLANNED.difference, "the tolerance": plan.tolerance}

# %%
for_family = {
    test: {
        size: effects.transects_needed(
            replace(PLANNED, difference=value, pairs=pairs), level, plan.power
        )
        for size, value in SIZES.items()
    }
    for test, (pairs, level) in TESTS.items()
}
pd.DataFrame(for_family).rename_axis("transects for").style.format("{:,.0f}")

# %% tags=["hide-input"]
n_planned = plan.design["transects"]
cell = replace(PLANNED, difference=plan.tolerance, pairs=1)
chance = {test: effects.power(n_planned, cell, level) for test, (_, level) in TESTS.items()}
enough = n_planned >= for_family["cell, in its family"]["the tolerance"]
Markdown(
    f"**In this run** the plan has {n_planned:,} transects and {family.size} tests in the family. An "
    f"effect as large as the tolerance in a given cell is found with a power of "
    f"{chance['cell, one test']:.0%} by a test alone and of {chance['cell, in its family']:.0%} in its "
    f"family, in the worst case. That is {'' if enough else '**not** '}the power that was asked for"
    + ("." if enough else ": where no cell is flagged, an effect of that size may hide.")
)

# %% [markdown]
# In other cases the family costs less. Holm's method divides the level by fewer tests as soon as
# some effects are found, so an audit of a model with many clear effects comes near the column of the
# single test. The verdicts against the tolerance do not depend on the family either: each speaks of
# one cell.

# %% [markdown]
# ### The formula against simulation
#
# A formula is a promise about a test that somebody will run. So we run it: transects are drawn with
# errors of the stated rate and correlation, images are dropped at random, the matched difference is
# tested as in [](10_matched_pairs), and the share of rejections is counted. The grid crosses the
# base rate, the size of the difference, the correlation of the errors of a pair, the share kept, and
# the *target*, a power for which the plain formula chooses the number of transects. Table and
# figure show the base rate of the plan.

# %%
GRID = {
    "base_rate": (0.02, 0.05, 0.10, 0.20),
    "difference": (0.02, 0.03, 0.05),
    "within": (0.05, 0.23, 0.41),
    "retention": (1.0, 2 / 3),
    "target": (0.25, 0.5, 0.8, 0.95),
}


# %% tags=["hide-cell"]
def clustered_p(counts: np.ndarray, types: np.ndarray) -> np.ndarray:
    """p of `effects.matched_effects`, of audits (B, T) that count transects of several pairs."""
    pairs, worse, better = (counts @ column for column in types.T)
    clusters = counts @ (types[:, 0] > 0)
    estimate, least = (worse - better) / pairs, clusters / pairs
    residual = (types[:, 1] - types[:, 2]) - estimate[:, None] * types[:, 0]
    clustered = (counts * residual**2).sum(axis=1) * clusters / (clusters - 1)
    single = worse + better - pairs * estimate**2
    ratio = np.divide(clustered, single, out=1 / least, where=single > 0)
    deff = np.where(single > 0, np.maximum(ratio, least), ratio)
    score = np.abs(worse - better) / np.sqrt(np.maximum(worse + better, 1) * deff)
    several = 2 * student.sf(score, clusters - 1)
    return np.where(pairs == clusters, effects.mcnemar(worse, better), several)


# %% tags=["hide-cell"]
def simulated_power(transects: int, design: effects.Design, seed: int) -> float:
    """Share of 2,000 simulated audits that find the difference."""
    types, chance = planning.transect_types(design)
    random = seeding.rng(seed, "simulated power")
    return (clustered_p(random.multinomial(transects, chance, 2000), types) < 0.05).mean()


# %% tags=["hide-input"]
rows = []
for item, values in enumerate(product(*GRID.values())):
    row = dict(zip(GRID, values, strict=True))
    design = effects.Design(row["difference"], row["base_rate"], row["within"], row["retention"])
    row["transects"] = int(np.ceil(planning.printed_transects(design, power=row["target"])))
    row["simulated"] = simulated_power(row["transects"], design, seed=seed + item)
    row["power"] = effects.power(row["transects"], design)
    row["printed"] = planning.printed_power(row["transects"], design)
    rows.append(row)

# %%
grid = pd.DataFrame(rows)
print(f"{len(grid)} designs at {grid['base_rate'].nunique()} base rates")
usual = grid[grid["base_rate"] == PLANNED.base_rate]
usual.iloc[::16].drop(columns=["base_rate", "target"])


# %% tags=["hide-cell"]
def whiskers(rows: pd.DataFrame) -> np.ndarray:
    """How far an interval reaches on either side of its estimate, for `errorbar`."""
    return np.clip([rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]], 0, None)


def with_legend(figure):
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=3)


# %% tags=["hide-cell"]
def draw_power(grid: pd.DataFrame, retention: dict[str, float], within: float) -> None:
    """Both formulas as lines, simulations as marks; a panel per share of the images kept."""
    figure = plt.figure(figsize=(figures.WIDTH, 4.2))
    axes = figure.subplots(1, len(retention), sharey=True)
    sizes = np.unique(np.geomspace(20, 2000, 60).round().astype(int))
    for ax, (name, kept) in zip(axes, retention.items(), strict=True):
        part = grid[(grid["within"] == within) & np.isclose(grid["retention"], kept)]
        lines = zip(figures.SPARE, part.groupby("difference"), strict=False)
        for look, (difference, dots) in lines:
            design = effects.Design(difference, grid["base_rate"].iloc[0], within, kept)
            ax.plot(sizes, [effects.power(size, design) for size in sizes], color=look.colour)
            plain = [planning.printed_power(size, design) for size in sizes]
            ax.plot(sizes, plain, "--", color=look.colour, linewidth=1)
            style = {"color": look.colour, "label": f"difference of {100 * difference:.0f} points"}
            ax.plot(dots["transects"], dots["simulated"], look.marker, linestyle="", **style)
        ax.axhline(0.8, color=figures.BLACK, linestyle=":", linewidth=1)
        ax.set(xscale="log", title=name, xlabel="transects")
        ticks = [20, 50, 100, 200, 500, 1000, 2000]
        ax.set_xticks(ticks, ticks, rotation=45)
        ax.minorticks_off()
    axes[0].set_ylabel("power")
    with_legend(figure)


# %% mystnb={"image": {"alt": "Two panels, nothing pruned and two thirds kept. In each, three rising curves of power against the number of transects on a logarithmic axis, one per size of difference, larger differences further to the left. Markers from simulation lie on or near the solid curves; dashed curves of the plain formula run close by. The curves of the second panel lie further to the right."}, "figure": {"name": "fig-power", "caption": "Power of the matched test against the number of transects, for three true differences in error rate. Solid lines are the refined formula, dashed ones the plain formula, markers the simulation. The dotted line is the usual target."}}
draw_power(usual, RETENTION, PLANNED.within)

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
assert distance[grid["base_rate"] == PLANNED.base_rate].max() <= 5

# %% [markdown]
# ## What this audit could detect
#
# Planning values are guesses. An audit that is finished can look them up in its own errors. Each
# row below is one model and one axis: the error rates at its two levels, the share of pairs in
# which the two errors differ, and the correlations within and between pairs, $\rho$ and $\rho_d$.
# All images enter, pruned or not. The two images of a pair agree on the *other* two axes.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
MODELS, AXES = (*TRAINED, "null"), ("skin_colour", "hair_length", "gender")
OTHERS = {axis: [f"{other}_level" for other in AXES if other != axis] for axis in AXES}
audit = stage.load("08_stratified_errors", "audit.parquet")


# %% tags=["hide-input"]
def planning_values(outcome: str, axis: str) -> dict[str, float]:
    """What the audit's errors say about the pairs along one axis."""
    pairs = audit.pivot_table(outcome, ["transect", *OTHERS[axis]], f"{axis}_level").dropna()
    change = (pairs[1] - pairs[0]).rename("change").reset_index()
    alike = change.pivot_table("change", "transect", OTHERS[axis]).corr().to_numpy()
    return {
        "low": pairs[0].mean(),
        "high": pairs[1].mean(),
        "differ": (pairs[0] != pairs[1]).mean(),
        "within": pairs[0].corr(pairs[1]),
        "between": np.nanmean(alike[np.triu_indices(len(alike), 1)]),
    }


# %%
values = {(m, axis): planning_values(f"error_{m}", axis) for m, axis in product(MODELS, AXES)}
values = pd.DataFrame(values).T.rename_axis(["model", "axis"])
in_words(values)

# %% [markdown]
# A high correlation within pairs is good news: the face decides much of the error, and the pair takes
# it out. It is low, or negative, where the axis itself decides who is misread. A high correlation
# between pairs is bad news: the effect differs from face to face, so that the pairs of a transect
# repeat each other.

# %% [markdown]
# What follows is the {term}`minimum detectable effect`, the true effect that this audit would have
# found four times out of five. It belongs beside every "no effect". It differs between an average
# over everybody and a single cell, which rests on a quarter of the pairs; of the cells, the least
# precise one is shown. A cell is tested in its family, and then an effect has to be larger, as the
# third number says for the worst case of Holm's method. The family of a control has only its own
# cells. All numbers are in points.

# %%
together = pd.Series(family.group_of)
tests = len(family.comparisons) * together.map(together.value_counts())


# %%
def detectable(frame: pd.DataFrame, model: str, axis: str) -> pd.Series:
    """Smallest effects that the matched test finds with the usual power, in points."""
    scopes = {"average": [], "cell": OTHERS[axis]}
    found = {
        scope: effects.matched_effects(
            frame, f"error_{model}", f"{axis}_level", by, "transect", tolerance=plan.tolerance
        )
        for scope, by in scopes.items()
    }
    largest = {scope: table["mde"].max() for scope, table in found.items()}
    errors = (found["cell"]["high"] - found["cell"]["low"]) / (2 * labels.Z)
    largest["in family"] = effects.mde(errors, plan.level / tests[model], plan.power).max()
    return 100 * pd.Series(largest)


# %%
audit["used"] = audit["kept"] & audit["adult"]
DATA = {"all": audit, "pruned": audit[audit["used"]]}
reach = {
    name: pd.DataFrame({key: detectable(frame, *key) for key in product(MODELS, AXES)}).T
    for name, frame in DATA.items()
}
reach = pd.concat(reach, axis=1).rename_axis(["model", "axis"])
in_words(reach).style.format("{:.1f}", na_rep="not estimable")

# %%
worst = reach.max()
Markdown(
    f"With {audit['transect'].nunique():,} transects, an average effect of up to "
    f"{worst['all', 'average']:.1f} points, or one of {worst['all', 'cell']:.1f} points in a "
    f"single cell, would be overlooked in one audit out of five; at the worst that Holm's method does "
    f"in the family, one of {worst['all', 'in family']:.1f} points in a cell. After pruning these are "
    f"{worst['pruned', 'average']:.1f}, {worst['pruned', 'cell']:.1f} and "
    f"{worst['pruned', 'in family']:.1f} points."
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
# How often is the label wrong? In this world the question has an answer, because what raters see
# before they err is known, cues of beard, makeup and hair included. The table compares it with what
# independent raters would give.

# %%
RATERS = range(1, n_raters + 1)
columns = ["image_id", "attribute", "level", "seconds"]
answers = stage.load("06_annotation_ingestion", "annotations.parquet", columns)
turn = answers.groupby(["image_id", "attribute"], sort=False).cumcount()
seen = {r: annotations.scores(answers[turn < r]).reindex(audit.index) for r in RATERS}

# %%
parameters = torch.from_numpy(stage.load("05_transect_generation", "fitted_parameters.npy").copy())
shown = facerender.visible_scores(parameters).set_axis(audit.index)

# %%
right = errors.majority(crowd.perceived(shown)["gender"])
wrong = {r: (errors.majority(seen[r]["gender"]) != right).mean() for r in RATERS}
noise = pd.DataFrame({"wrong labels": wrong}).rename_axis("raters")
noise["if independent"] = [planning.label_noise(wrong[1], r) for r in RATERS]
noise.style.format("{:.2%}")

# %% [markdown]
# Where the first column lies below the second, the crowd does better than a vote would: raters
# answer on a scale, so that a clear answer outweighs a hesitant one. Where it lies above, raters tend
# to err on the same faces, and then the prices below are too low, since they take raters as
# independent. For a real crowd, the first row can be estimated from how often two raters disagree.

# %% [markdown]
# Now the prices. They are assumptions, stated here to be changed: a fee per answer, without a
# source, in whatever currency you pay. The time per answer is the median of the simulated crowd, and
# making the faces is taken as free.

# %%
PRICE = 0.02
asked = answers["attribute"].nunique()
seconds = answers["seconds"].median() / asked


def cost(transects: int, raters: int) -> dict[str, float]:
    """What the annotation takes: raters judge each attribute of eight images a transect."""
    images = 8 * transects
    judgements = images * asked * raters
    hours, money = judgements * seconds / 3600, judgements * PRICE
    return {"images": images, "judgements": judgements, "hours": hours, "money": money}


# %% tags=["remove-cell"]
assert cost(1000, 5)["judgements"] == 320_000, "not the paper's audit, section 4.3"

# %% [markdown]
# The audit's own values replace the guesses: the median correlation within pairs, the share of
# images that pruning left, and the median correlation between pairs. The last is taken over the
# trained models alone, because the null control's effects do not vary with the face. If the
# estimate is below the smallest possible value, that value is used.

# %%
within = values["within"].clip(lower=0).median()
informed = replace(PLANNED, within=within, retention=audit["used"].mean())
least = planning.shared_pair_correlation(informed)
between = values.loc[[*TRAINED], "between"]
informed = replace(informed, pair_correlation=max(between.median(), least))

# %% tags=["hide-input"]
Markdown(
    f"For the correlation between two pairs of a transect the plan takes "
    f"{informed.pair_correlation:z.2f}, the median over the trained models and axes, which range from "
    f"{between.min():z.2f} to {between.max():z.2f}. The least that is possible here is {least:.2f}."
)

# %%
rows = {}
for size, r in product((100, 200, 400, 800, 1600), (1, 3, 5, 9)):
    seen_design = planning.noisy_design(informed, planning.label_noise(wrong[1], r))
    bill = cost(size, r)
    rows[size, r] = {"power": effects.power(size, seen_design)} | bill

# %%
offers = pd.DataFrame(rows).T.rename_axis(["transects", "raters"])

# %%
bills = offers.xs(5, level="raters")[["images", "judgements", "hours", "money"]]
bills.style.format("{:,.0f}")

# %% [markdown]
# People are also asked before any model is: for the directions, about neutral faces, in the rounds and
# at the gate ([](05_transect_generation)). The same prices give the bill of the main arm. Directions
# are paid for once, and serve every later audit of this generator. The rest is paid for each new set of
# transects.

# %%
before = pd.Series(stage.load("05_transect_generation", "results.json")["answers"], name="answers")
before["all"] = before.sum()
before = before.to_frame().assign(hours=before * seconds / 3600, money=before * PRICE)
before.style.format("{:,.0f}")

# %% [markdown]
# The bills of the first of these tables are for five raters. The next one crosses transects with
# raters, for the planned difference, at both correlations and the loss to pruning that were found
# above: power in each cell, and the money in units of the price list. Read along a row to see what
# raters buy, and down a column to see what transects buy.

# %%
offers["cell"] = [f"{row.power:.0%} for {row.money:,.0f}" for row in offers.itertuples()]
offers.pivot_table("cell", "transects", "raters", "first")

# %% [markdown]
# The table cannot hold every size. So the question is turned round: for each number of raters, how
# many transects reach the planned power, and at what price? The column *average* answers for the
# planned difference of an average, with the measured $\rho_d$, and *at least* with the least that is
# possible. The column *cell* answers for the same difference in one cell, tested in its family. The
# audit gives its verdicts by cell, so the bill is for that column.

# %%
designs = {}
for r in (1, 3, 5, 9):
    share = planning.label_noise(wrong[1], r)
    seen_design = planning.noisy_design(informed, share)
    plans = {
        "at least": (replace(seen_design, pair_correlation=None), plan.level),
        "average": (seen_design, plan.level),
        "cell": (replace(seen_design, pairs=1, pair_correlation=None), plan.level / family.size),
    }
    needs = {name: effects.transects_needed(*one, plan.power) for name, one in plans.items()}
    bill = cost(needs["cell"], r)
    designs[r] = {"wrong labels (%)": 100 * share, **needs, **bill}
designs = pd.DataFrame(designs).T.rename_axis("raters")
designs.style.format("{:,.0f}").format("{:.1f}", subset="wrong labels (%)")

# %%
cheapest = int(designs["money"].idxmin())
transects, money = designs.loc[cheapest, ["cell", "money"]]
Markdown(
    f"Cheapest here: raters per image {cheapest}, transects {transects:,.0f}, for {money:,.0f}."
)

# %% [markdown]
# If few raters win, do not be surprised. One more rater improves one label. One more face adds a
# rating and a new matched pair, and wrong labels average out over faces too. The advice holds for a *matched*
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
in_words(reliability.loc[[*AXES]]).style.format("{:.2f}")

# %% [markdown]
# The Spearman–Brown formula turns the reliability of all raters together into that of one, two or
# three. Now the experiment on the experiment: take the first rater's answers only, then the first
# two's, and so on, and regress errors on perceived hair length, among women and among men. What the
# slope should be without noise can be looked up: a simulated crowd can be as large as we please,
# and the mean of very many raters is all but free of noise.

# %%
MANY = 40
many = crowd.annotate(shown[["hair_length"]], MANY, seed=seed, stage="12_planning/many")
many = many[(many["status"] == "accepted") & (many["visit"] == 0)]
many = many.groupby("image_id")["hair_length"].mean().reindex(audit.index)
scores = {r: seen[r]["hair_length"] for r in RATERS} | {MANY: many / 4}

# %% [markdown]
# The slope is that of a line by least squares: the change of the error rate from one end of the scale
# to the other. Its interval comes from the sandwich that takes each transect as one unit, because
# the eight images of a face err together.


# %%
def slope(part: pd.DataFrame, model: str, score: pd.Series) -> dict[str, float]:
    """Change of a model's error rate per unit of a score, with its 95 % interval."""
    design = sm.add_constant(score[part.index].to_numpy())
    line = sm.OLS(part[f"error_{model}"], design)
    fit = line.fit(cov_type="cluster", cov_kwds={"groups": part["transect"]})
    low, high = fit.conf_int().iloc[1]
    return {"estimate": fit.params.iloc[1], "low": low, "high": high, "n": len(part)}


# %%
slopes = {
    (model, level, raters): slope(part, model, score)
    for model in TRAINED
    for level, part in audit.groupby("gender_level")
    for raters, score in scores.items()
}
slopes = pd.DataFrame(slopes).T.rename_axis(["model", "gender_level", "raters"])

# %%
measured, reference = slopes.drop(index=MANY, level="raters"), slopes.xs(MANY, level="raters")
factor = reliability.loc["hair_length"]
ends = measured[["estimate", "low", "high"]]
corrected = measured.assign(**ends.div(factor, axis=0, level="raters"))


# %% tags=["hide-cell"]
def draw_slopes(versions: dict[str, pd.DataFrame], reference: pd.Series, label: str) -> None:
    """Slopes by number of raters, a panel per gender, with a line at the reference."""
    figure, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 4), sharex=True)
    for ax, (level, group) in zip(axes, GENDERS.items(), strict=True):
        places = np.linspace(-0.1, 0.1, len(versions))
        for look, place, (name, table) in zip(
            figures.SPARE, places, versions.items(), strict=False
        ):
            part = table.xs(level, level="gender_level")
            style = {"fmt": look.marker, "color": look.colour, "capsize": 3, "label": name}
            ax.errorbar(part.index + place, part["estimate"], yerr=whiskers(part), **style)
        ax.axhline(reference[level], color=figures.BLACK, label=label)
        title = f"{group}, n = {part['n'].iloc[0]:,.0f} images"
        ax.set(title=title, xlabel="raters per image", xticks=part.index)
    axes[0].set_ylabel("slope of errors on hair length")
    with_legend(figure)


# %% mystnb={"image": {"alt": "Two panels, women and men. Against the number of raters, from one up, the slope of errors on perceived hair length: circles as measured, squares corrected for the reliability of so many raters, both with intervals. If the correction works, circles approach a horizontal line with every rater and squares lie around it from the start. The line marks the slope on the mean of very many raters."}, "figure": {"name": "fig-attenuation", "caption": "Slope of the FairFace-like model's errors on hair length as seen by one or more raters, as measured and divided by the reliability; 95 % intervals, clustered by transect. The line is the slope on the mean of many raters, all but free of noise."}}
versions = {"as measured": measured, "corrected": corrected}
versions = {name: table.loc["fairface-like"] for name, table in versions.items()}
draw_slopes(versions, reference["estimate"]["fairface-like"], f"{MANY} raters")

# %% [markdown]
# One model and one set of answers are an anecdote. The table adds up the slopes of all trained
# models in both groups, regardless of sign, and divides by the same sum for the many raters. The
# first column should follow the second, the reliability, and the last should stay near one.


# %%
signs = np.sign(reference["estimate"])
left = {"as measured": measured, "corrected": corrected}
left = {name: (table["estimate"] * signs).groupby("raters").sum() for name, table in left.items()}
left = pd.DataFrame(left) / reference["estimate"].abs().sum()

# %%
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
# {cite:t}`transects` cut scores in two and compare the halves. What does it cost to compare by what was
# *seen* rather than by what was *intended*? Only images that land on the wrong side dilute the
# difference. The function `planning.attenuation` predicts how much remains for a bell-shaped
# attribute. Transects are not bell-shaped: their levels were set apart, so that fewer images should
# change sides. The table shows how many do, what remains of the effect, and what the bell predicts.

# %%
CUTS = {axis: errors.STRATA[axis][0][0] for axis in ("skin_colour", "hair_length")}
sides = {}
for axis, r in product(CUTS, RATERS):
    side = (seen[r][axis] >= CUTS[axis]).astype(int)
    audit[f"{axis}_seen_by_{r}"] = side
    remaining = side.corr(audit[f"{axis}_level"])
    other_side = (side != audit[f"{axis}_level"]).mean()
    sides[axis, r] = other_side, remaining, planning.attenuation(reliability[r][axis])
columns = ["on the other side", "effect left", "if bell-shaped"]
sides = pd.DataFrame(sides, columns).T.rename_axis(["axis", "raters"])
in_words(sides).style.format("{:.1%}")

# %% [markdown]
# Where the second column lies above the third, one and the same reliability harms a population,
# whose faces crowd around the cut, more than a designed experiment. The correction must fit the
# use: dividing the transects' differences by the bell-shaped factor would then *over*correct them.
# Below are the effects themselves, among women and among men: by intended level, as perceived by
# all raters and by one, and the truth by intervention.

# %%
KEYS = ["model", "attribute", "gender"]
truth = stage.load("10_matched_pairs", "truth.parquet").query("scope == 'partial average'")
truth = 100 * truth.dropna(subset="gender").set_index(KEYS)["effect"]
TREATMENTS = {"intended": "level", "all raters": f"seen_by_{n_raters}", "one rater": "seen_by_1"}

# %%
compared = {
    (model, axis, name): effects.risk_differences(
        audit,
        f"error_{model}",
        f"{axis}_{suffix}",
        by="gender_level",
        cluster="transect",
        tolerance=plan.tolerance,
    )
    for model, axis, (name, suffix) in product(TRAINED, CUTS, TREATMENTS.items())
}

# %%
compared = pd.concat(compared, names=["model", "attribute", "treatment", "gender"])
compared = compared.assign(points=labels.points(compared)).reset_index()
compared = compared.pivot_table("points", KEYS, "treatment", "first", sort=False)
compared["truth"] = truth.map("{:+z.1f}".format)
compared = compared.rename(index=GENDERS, level="gender")
compared = compared.rename(index=lambda axis: axis.split("_")[0], level="attribute")
compared.rename_axis(["model", "axis", "gender"]).rename_axis(columns=None)

# %% [markdown]
# All numbers are in points. Where the first two columns agree, it does not matter which definition
# one takes. Where one rater's column is nearer to zero, that is attenuation at work. The intended
# level can be diluted as well: a step that was meant to lengthen hair, and did not, counts as if it
# had. Distances to the truth that all columns share have other causes: leaky directions, other
# doses, and labels.

# %% [markdown]
# ## What pruning does
#
# Ratings that are too close to call are pruned, and with them images. The paper analyses what is
# left. An analyst who has never seen the errors of the pruned images can still say what they could
# have done *at worst*: each was an error or not, so put in whichever makes the effect largest, then
# smallest {cite:p}`manski`. Between these bounds lies the effect for all images, with no assumption
# whatever about who was pruned.

# %%
bounded = {
    (model, axis): effects.pruning_bounds(
        audit, "used", f"error_{model}", f"{axis}_level", ["gender_level"], "transect"
    )
    for model, axis in product(TRAINED, CUTS)
}

# %%
ARMS = ["all", "pruned", "complete transects", "worst case"]
NUMBERS = ["estimate", "low", "high", "lower", "upper"]
pruned = pd.concat(bounded, names=["model", "attribute", "arm", "gender"]).reset_index()
pruned[NUMBERS] *= 100
pruned = pruned.join(truth.rename("truth"), on=KEYS)
one = pruned.query("model == 'fairface-like' and attribute == 'skin_colour'")
forms = dict.fromkeys([*NUMBERS, "truth"], "{:z.1f}") | {"n": "{:,.0f}"}
one[["gender", "arm", *NUMBERS, "n", "truth"]].style.hide().format(forms, na_rep="—")


# %% tags=["hide-cell"]
def draw_cell(part: pd.DataFrame, pairs: pd.Series, ax) -> None:
    """One model and attribute: the three arms, the worst-case bounds as bars, the truth."""
    arms = {arm: rows.set_index("gender") for arm, rows in part.groupby("arm")}
    worst = arms["worst case"]
    ax.use_sticky_edges = False
    width = worst["upper"] - worst["lower"]
    ax.barh(-worst.index, width, 0.8, worst["lower"], color="#DDDDDD", label="worst case")
    style = {"color": figures.BLACK, "markerfacecolor": "none", "markersize": 10}
    ax.plot(worst["truth"], -worst.index, "D", label="truth", **style)
    for place, (arm, look) in enumerate(zip(ARMS[:-1], figures.SPARE, strict=False)):
        rows = arms[arm]
        style = {"fmt": look.marker, "color": look.colour, "markersize": 5}
        style["label"] = f"{arm}, n ≈ {pairs[arm]:,.0f}"
        y = 0.25 * (1 - place) - rows.index
        ax.errorbar(rows["estimate"], y, xerr=whiskers(rows), **style)
    ax.axvline(0, color=figures.BLACK, linewidth=1)
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks([-level for level in GENDERS], GENDERS.values())


# %% tags=["hide-cell"]
def draw_pruning(table: pd.DataFrame) -> None:
    """Effects before and after pruning: a row per attribute, a column per model."""
    names, attributes = list(table["model"].unique()), list(table["attribute"].unique())
    size = (figures.WIDTH, 1.1 + 2.1 * len(attributes))
    figure, axes = plt.subplots(
        len(attributes), len(names), figsize=size, sharex="row", sharey=True
    )
    pairs = table.groupby("arm")["n"].median()
    for row, attribute in zip(axes, attributes, strict=True):
        for ax, model in zip(row, names, strict=True):
            chosen = (table["model"] == model) & (table["attribute"] == attribute)
            draw_cell(table[chosen], pairs, ax)
        row[len(row) // 2].set_xlabel(f"{labels.CONTRASTS[attribute]}, points of error rate")
    for ax, model in zip(axes[0], names, strict=True):
        ax.set_title(model)
    with_legend(figure)


# %% mystnb={"image": {"alt": "Six panels, two rows for skin colour and hair length, three columns for the models. In each, for women and for men, three points with intervals: all images, the pruned ones, complete transects. A wide grey bar behind them shows the worst-case bounds, a diamond the truth by intervention. A vertical line marks zero."}, "figure": {"name": "fig-pruning-bounds", "caption": "Effects of dark skin and of long hair on errors, by perceived gender: from all images, after pruning, and from complete transects, with 95 % intervals; n counts pairs. Grey bars are the worst-case bounds, diamonds the truth."}}
draw_pruning(pruned)

# %% tags=["remove-cell"]
arms = {arm: part.set_index(KEYS) for arm, part in pruned.groupby("arm")}
limits, everything = arms["worst case"], arms["all"]["estimate"]
assert limits["lower"].le(everything).all() and limits["upper"].ge(everything).all(), limits

# %%
pruned["distance from truth"] = (pruned["estimate"] - pruned["truth"]).abs()
pruned["width of interval"] = pruned["high"] - pruned["low"]
summary = pruned.groupby("arm")[["distance from truth", "width of interval", "n"]].mean()
summary.loc[ARMS].style.format("{:.1f}", na_rep="—")

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
# ## What would change our mind
#
# - If simulated power left the refined formula by more than five points where the power is one half
#   or more, plans made with it would be wrong, and so would every "could have been detected" above.
# - If the correction for unreliability took slopes *past* the one without noise and ever further
#   as raters are added, its premise of independent noise would have failed.
# - If the worst-case bounds did not contain the effect from all images, they would be no bounds.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Fewer faces, more often
# :label: exercise-budget
# You can pay for a fixed number of answers. Find the best number of raters per image with
# `planning.noisy_design` and `effects.power`, for the rater error found above and for four times as
# much. What changes?
# ```
#
# ```{solution} exercise-budget
# :class: dropdown
# Give each number of raters as many transects as the budget divided by the raters, and compare the
# powers. Single opinions on many faces do best with good raters. With poor ones all
# designs do badly and differ little: label noise adds apparent errors and shrinks the difference, but
# the majority that would remedy it is paid for in faces. What speaks for several raters is not power
# but trust: they show where labels are in doubt.
# ```

# %% [markdown]
# ```{exercise} Undoing wrong labels
# :label: exercise-rogan
# Compute one model's error rate with the labels of a single rater, correct it with
# `effects.rogan_gladen` and the noise found above, `wrong[1]`, and compare it with the rate under
# `right`, the gender that raters see before they err. By how much is the corrected rate off?
# ```

# %% [markdown]
# ```{solution} exercise-rogan
# :class: dropdown
# Let $p$ be the model's error rate under `right`, $e$ the share of wrong labels, and $a$ the share of
# images on which answer and label are both wrong. A wrong label turns a right answer into an error and
# hides a wrong one, so the rate seen is $p + e - 2a$. The formula returns
# $(p + e - 2a - e) / (1 - 2e)$, which is $p$ only if $a = pe$: if wrong labels fall on right and wrong
# answers alike. Otherwise it is off by exactly $-2\,(a - pe) / (1 - 2e)$. Where rater and model err on
# the same faces more often than chance, $a > pe$ and the corrected rate is too low; where they avoid
# each other's errors, it is too high.
# ```

# %% [markdown]
# ## Takeaways
#
# - Say how large an effect the audit could have found; without it "no effect" is empty.
# - Pruning costs pairs by the square of the share kept. Plan for it.
# - Noise in an attribute shrinks its slope by the reliability; a designed contrast can lose far less.
# - Worst-case bounds show what a conclusion owes to the images that were thrown away.


# %% tags=["hide-input"]
def rows(table: pd.DataFrame) -> dict:
    """Rows by name, with null where there is no estimate."""
    return table.astype(object).where(table.notna(), None).to_dict("index")


# %% tags=["hide-input"]
_ = stage.finish(
    {
        "transects_needed": needed,
        "transects_needed_in_family": for_family,
        "plan": plan.sha256,
        "power_gap_points": gap.max().to_dict(),
        "detectable_points": {
            name: {model: rows(reach[name].loc[model]) for model in MODELS} for name in DATA
        },
        "wrong_labels": wrong,
        "cheapest": {"raters": cheapest, "transects": transects, "money": money},
        "attenuation": rows(left),
        "pruning": rows(summary),
        "signs_open_in_worst_case": signs_open,
    }
)
