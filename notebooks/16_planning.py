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
# # Planning
#
# *You need chapter [10](10_matched_pairs) (pairs, families of tests) and chapter [6](06_annotation_ingestion) (raters). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# An audit that finds no effect may have looked too little. How many transects does it need, before "no effect
# found" means something? And what do they cost?
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
# | Population | base faces of the transects, as in [](10_matched_pairs) |
# | Unit | one transect: eight images of one face, four pairs along each axis |
# | Intervention | skin colour, hair length and gender on the transects |
# | Held fixed | everything else about the face; between the two images of a pair, the other two axes |
# | Outcome and who labels it | error against the raters' majority, 0 or 1 |
# | Estimand | power and smallest detectable effect; slopes and effects without noise and pruning |
# | Tolerance and n | from [the plan](#what-is-planned), as are the level, the power and the size of the family of tests |
# | Decision at stake | how many faces to make, and how many raters to pay |
# | Known failure | planning values are guesses until an audit has been made, and raters are taken as independent |
# :::

# %% tags=["hide-cell"]
from dataclasses import replace
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import statsmodels.api as sm
import torch
from IPython.display import Markdown
from myst_nb import glue
from scipy.stats import t as student

import facerender
from faceaudit import annotations, effects
from faceaudit.effects import error_rates, planning, verdicts
from faceaudit.utils import seeding
from faceaudit.utils.formatting import with_minus
from faceworld import crowd
from helpers import audit_plan, figures
from helpers.artifacts import Stage, lineage
from helpers.figures import widgets

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_raters = 5

# %% tags=["remove-cell"]
stage = Stage("16_planning", profile=profile, device=device, seed=seed)
figures.style()
sns.set_context("notebook", font_scale=0.85)  # for figures that a phone can show
pd.options.display.float_format = "{:z.3f}".format

# %%
# We load the plan, with its tolerance, level, power and families of tests.
plan = audit_plan.read_plan(stage.load("audit_plan", "plan.json"))
family = plan.families["effects by cell"]


# %% tags=["hide-input"] mystnb={"image": {"alt": "Rising curves of power against the number of transects on a logarithmic axis, one solid and one dashed curve for each of three sizes of effect. Larger effects lie further to the left. The dashed curves, for one cell in a family of tests, lie far to the right of the solid ones. Marks on the dotted line of the wanted power carry the number of transects needed."}, "figure": {"name": "fig-power", "caption": "Power of the matched test at a base error rate of 0.05, for three true effects. Solid: the average over cells, one test, all images used; the label says how many transects it needs. Dashed: one cell, tested in its family. Dotted: the wanted power."}}
def draw_power(differences: tuple[float, ...], base_rate: float) -> None:
    """Power against transects for several effects on the average, and for one cell of a family."""
    ax = plt.figure(figsize=(4.8, 4.6)).gca()
    sizes = np.unique(np.geomspace(10, 5000, 120).round().astype(int))
    for look, difference in zip(figures.SPARE, differences, strict=False):
        design = effects.Design(difference, base_rate)
        cell = replace(design, pairs=1)
        ax.plot(sizes, [effects.power(n, design) for n in sizes], color=look.colour)
        level = plan.level / family.size
        ax.plot(sizes, [effects.power(n, cell, level) for n in sizes], "--", color=look.colour)
        n = effects.transects_needed(design, plan.level, plan.power)
        ax.plot(n, plan.power, look.marker, color=look.colour, markersize=8)
        ax.plot([n, n], [plan.power, 1.03], ":", color=look.colour, linewidth=1)
        words = f"{100 * difference:.0f}\npoints:\n{n:,}"
        how = {"color": look.colour, "ha": "center", "va": "bottom", "fontsize": 9.5}
        ax.text(n, 1.035, words, **how)
    ax.text(10, 0.62, "average,\none test", fontsize=9)
    ax.text(5000, 0.2, "one cell,\nin its\nfamily", fontsize=9, ha="right")
    ax.axhline(plan.power, color=figures.BLACK, linestyle=":", linewidth=1)
    ticks = [10, 30, 100, 300, 1000, 3000]
    ax.set(xscale="log", xlabel="transects", ylabel="power", ylim=(0, 1.27))
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.minorticks_off()
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    ends = [effects.transects_needed(effects.Design(d, base_rate)) for d in (0.02, 0.10)]
    ax.set_title(f"From {ends[1]:,} to {ends[0]:,} transects, by the size of the effect")


draw_power((0.02, 0.05, 0.10), 0.05)

# %% [markdown]
# ## A calculator
#
# {term}`Power` is the chance that a study finds an effect that is there. Seven things decide it:
#
# - the number of transects $S$,
# - the size of the effect $\Delta = p_1 - p_0$, a difference of two error rates,
# - the error rate without the effect, $p_0$,
# - the level $\alpha$ of the test,
# - the correlation $\rho$ of the two errors of a pair,
# - the complete pairs $m$ that a transect keeps, four at most,
# - the correlation $\rho_d$ of the differences of two pairs of one transect.
#
# Only pairs in which exactly one answer is wrong count. Their share is $\psi$. It is small when the same faces are difficult at both levels:
# the higher the correlation, the fewer faces are needed. A pilot only estimates the correlation, so plan with a lower one.
#
# $$
# \begin{aligned}
# S = {} & \frac{(z_{\alpha/2} + z_\beta)^2}{\Delta^2}\,(\psi - \Delta^2) \\
# & \times \frac{1 + (m - 1)\rho_d}{m}
# \end{aligned}
# $$
#
# $$
# \begin{aligned}
# \psi = {} & p_0 (1 - p_1) + p_1 (1 - p_0) \\
# & - 2 \rho \sqrt{p_0 (1 - p_0)\, p_1 (1 - p_1)}
# \end{aligned}
# $$

# %% [markdown]
# Try it. `effects.Design` holds the planning values, and `effects.transects_needed` solves the formula. Level and
# power, $\alpha$ and $1 - \beta$, come from [the plan](#what-is-planned), and $z$ is a quantile of the normal
# distribution. The effect below is one that an auditor
# would want to see. The base rate is usual for these models. The plan takes the least $\rho_d$ that is possible, as if
# the effect were the same for all faces. So read its numbers as lower bounds.

# %%
PLANNED = effects.Design(difference=0.02, base_rate=0.05, within=0.05)
RETENTION = {"nothing pruned": 1.0, "two thirds kept": 2 / 3}

# %% [markdown]
# ### Try it: the chance of finding an effect
#
# The sliders set an effect, the error rate without it, the number of transects and how many images pruning keeps. The
# curve is the formula above, called *plain* below, for one test of the average, with the correlation of a pair from above and $\rho_d = 0$.

# %% tags=["hide-input"]
widgets.explorable(
    "power",
    "A curve of the chance to find an effect by the number of transects, with sliders for effect, error rate, transects and images kept.",
    within=PLANNED.within,
    pairs=PLANNED.pairs,
    raters=n_raters,
    guess={
        "question": "Pruning keeps seven images in ten. How many pairs keep both of their images?",
        "options": ["Seven in ten", "About half", "Nearly all"],
        "right": 1,
        "because": "Both images must survive: 0.7 times 0.7 is 0.49. The slider for pruning shows what that costs.",
    },
)

# %% [markdown]
# ### The price of pruning
#
# The table has the transects by the formula above and by a refined one. Its second row shows the price of {term}`pruning`. A pair
# survives only with both its images. So the pairs shrink with the *square* of the share that is kept. The refined formula also takes
# the number of surviving pairs as random, and lets a difficult face tie the pairs of its transect together.

# %%
formulas = {"plain": planning.printed_transects, "refined": effects.transects_needed}
needed = {
    name: {
        images: formula(replace(PLANNED, retention=kept), plan.level, plan.power)
        for images, kept in RETENTION.items()
    }
    for name, formula in formulas.items()
}
pd.DataFrame(needed).rename_axis("transects, at least").style.format("{:,.0f}")

# %% [markdown]
# ### One cell, one family
#
# The table is for one test of an average. The audit asks more: [](10_matched_pairs) tests every cell of two models in one
# {term}`family of comparisons`, by {term}`Holm's procedure`. In the worst case a cell must then pass the level divided by
# the size of the family. And a cell has one pair a transect where the average has four. Both together multiply the price.
# The second table gives the power of this book's plan in a cell, for an effect as large as the tolerance.

# %%
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
in_words = {size: f"{size}, {100 * value:g} points" for size, value in SIZES.items()}
for_family_shown = pd.DataFrame(for_family).rename(in_words).rename_axis("transects for")
for_family_shown.style.format("{:,.0f}")

# %%
n_planned = plan.design["transects"]
cell = replace(PLANNED, difference=plan.tolerance, pairs=1)
chance = {test: effects.power(n_planned, cell, TESTS[test][1]) for test in list(TESTS)[1:]}
planned_power = pd.Series(chance | {"wanted": plan.power}).to_frame("power by the formula")
caption = f"{n_planned:,} transects, {family.size} tests in the family"
planned_power.style.format("{:.0%}").set_caption(caption)

# %% [markdown]
# Often the family costs less. Holm's procedure divides the level by fewer tests as soon as it finds some effects. The verdict *within*
# is free of the family: it speaks of one cell. The verdict *beyond* is adjusted for all comparisons of an audit. And power is the chance to see that
# an effect is not zero. To call it *beyond* takes a larger effect or more transects. The plan of an audit counts these ([](18_audit_your_model)).

# %% [markdown]
# ### A gate that is asked again
#
# A model is gated with every release, and the chances of error of all gates add up. A
# {term}`confidence sequence` holds at every {term}`look`, and each release has its own share of the level
# ([](a-gate-asked-again)). What does that cost? We draw gates of one cell that stop as soon as they know. We count the faces after which
# the planned share of them has its verdict: *within* for no effect, *beyond* for twice the tolerance. The first table gives this number
# and the mean number for the verdict that takes more faces, in multiples of the faces of one look. Further looks at the same release are free.

# %%
GATE = replace(PLANNED, difference=2 * plan.tolerance, pairs=1)
RELEASES = (1, 2, 10)
once = effects.transects_to_decide(GATE, plan.tolerance, (plan.level,), plan.power)


# %%
def faces_until(verdict: str, release: int, gates: int = 400) -> np.ndarray:
    """Faces at which gates say a verdict on its effect; one more than all if they never do."""
    effect = {"within": 0.0, "beyond": GATE.difference}[verdict]
    types, chance = planning.transect_types(replace(GATE, difference=effect))
    random = seeding.rng(seed, f"16_planning/gates {verdict}")
    drawn = random.choice(types[:, 1] - types[:, 2], (gates, 8 * once), p=chance)
    level = plan.level * effects.share_of_release(release)
    games = effects.betting_sequence(drawn, level, plan.tolerance)
    # Who bets on differences above the one end, and who bets on differences below the other.
    end = plan.tolerance if verdict == "beyond" else -plan.tolerance
    up = games.coins(end, 1)
    down = games.coins(-end, -1)
    said = np.maximum(up, down) >= 2 / level
    if verdict == "within":
        said = np.minimum(up, down) >= 1 / level
    return np.where(said.any(axis=1), said.argmax(axis=1) + 1, drawn.shape[1] + 1)


# %%
until = {
    release: [faces_until(verdict, release) for verdict in ("within", "beyond")]
    for release in RELEASES
}
price = {
    release: max(np.quantile(faces, plan.power, method="higher") for faces in both) / once
    for release, both in until.items()
}
mean_price = {release: np.mean(both, axis=1).max() / once for release, both in until.items()}

# %%
share = f"faces until {plan.power:.0%} of gates have a verdict"
gates = pd.DataFrame({share: price, "mean faces": mean_price})
print(
    f"Ten gates that each err at the level let a bad model pass with a chance of {1 - (1 - plan.level) ** 10:.0%}"
)
caption = f"Both verdicts, in multiples of the {once:,} faces that one look needs"
gates.rename_axis("release").style.format("{:.1f}").set_caption(caption)

# %%
recorded = pd.read_csv(lineage.ROOT / "benchmarks/results/confidence_sequences_price.csv")
recorded = recorded[recorded["bets"] == "seeking the tolerance"]
of_record = recorded.groupby(["verdict", "release"], sort=False)["price"].agg(["min", "max"])
caption = "Planned share of gates over designs, in multiples for each verdict"
of_record.style.format("{:.1f}").set_caption(caption)

# %%
larger = {
    release: ("within", "beyond")[np.argmax([np.quantile(faces, plan.power) for faces in both])]
    for release, both in until.items()
}
by_release = [f"*{verdict}* at release {release}" for release, verdict in larger.items()]
if len(set(larger.values())) == 1:
    by_release = [f"*{larger[1]}* at each of these releases"]

# %% tags=["hide-input"]
bases = [f"{base:.0%}" for base in recorded["base"].unique()]
Markdown(
    f"The first table is for one design, with an error rate of {GATE.base_rate:.0%}. The verdict that takes more faces is "
    + ", ".join(by_release)
    + f". The second table has the range over the [benchmark record](benchmarks.html#a-gate-that-is-asked-again): error rates of {', '.join(bases)}, and for "
    "*beyond* two sizes of effect. Each number there is a multiple of the faces that a gate of one look needs for the same verdict. "
    "A release passes with *within*."
)

# %% [markdown]
# ### Does the formula keep its promise?
#
# A formula promises something about a test. We run the test to check. We draw transects with the stated error rates and
# correlations, drop images at random, test the matched difference and count how often it is found. The grid crosses base
# rate, effect, correlation, the share of images kept, and a wanted power.

# %%
GRID = {
    "base_rate": (0.02, 0.05, 0.10, 0.20),
    "difference": (0.02, 0.03, 0.05),
    "within": (0.05, 0.23, 0.41),
    "retention": (1.0, 2 / 3),
    "target": (0.25, 0.5, 0.8, 0.95),
}


# %%
def clustered_p(counts: np.ndarray, types: np.ndarray) -> np.ndarray:
    """p of `effects.matched_effects`, of audits (B, T) that count transects of several pairs."""
    pairs, worse, better = (counts @ column for column in types.T)
    clusters = counts @ (types[:, 0] > 0)
    estimate = (worse - better) / pairs
    least = clusters / pairs
    residual = (types[:, 1] - types[:, 2]) - estimate[:, None] * types[:, 0]
    clustered = (counts * residual**2).sum(axis=1) * clusters / (clusters - 1)
    single = worse + better - pairs * estimate**2
    ratio = np.divide(clustered, single, out=1 / least, where=single > 0)
    deff = np.where(single > 0, np.maximum(ratio, least), ratio)
    score = np.abs(worse - better) / np.sqrt(np.maximum(worse + better, 1) * deff)
    several = 2 * student.sf(score, clusters - 1)
    return np.where(pairs == clusters, effects.mcnemar(worse, better), several)


# %%
def simulated_power(transects: int, design: effects.Design, seed: int) -> float:
    """Share of 2,000 simulated audits that find the difference."""
    types, chance = planning.transect_types(design)
    random = seeding.rng(seed, "simulated power")
    return (clustered_p(random.multinomial(transects, chance, 2000), types) < 0.05).mean()


# %%
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
gap = 100 * grid[["power", "printed"]].sub(grid["simulated"], axis=0).abs()
gap = gap.set_axis(["refined formula", "plain formula"], axis=1)
keys = [grid["within"].rename("correlation"), grid["retention"]]
gap = gap.groupby(keys).max()


# %% tags=["hide-input"] mystnb={"image": {"alt": "Scatter of the power by formula against the power of simulated audits, with a diagonal of equality. Circles of the refined formula lie on the diagonal, except a few at low power. Squares of the plain formula lie above it, most of all filled ones, where errors of a face are strongly correlated."}, "figure": {"name": "fig-power-check", "caption": "Power by formula and in simulated audits, one mark for each design and formula. Filled marks: errors of one face are strongly correlated. On the line the formula is right."}}
# Computed by simulated_power (above), faceaudit.effects.planning.power and
# faceaudit.effects.planning.printed_power.
def draw_check(grid: pd.DataFrame, within: float) -> None:
    """Power by both formulas against the power of simulated audits."""
    ax = plt.figure(figsize=(4.8, 4.6)).gca()
    ax.plot([0, 1], [0, 1], color=figures.BLACK, linewidth=1)
    strong = grid["within"] == within
    for formula, look in zip(("power", "printed"), figures.SPARE, strict=False):
        for part, face in ((grid[~strong], "none"), (grid[strong], look.colour)):
            style = {"color": look.colour, "markerfacecolor": face, "markersize": 5}
            ax.plot(part["simulated"], part[formula], look.marker, linestyle="", **style)
    ax.text(0.12, 0.56, "plain formula", color=figures.SPARE[1].colour)
    ax.text(0.52, 0.42, "refined formula", color=figures.SPARE[0].colour)
    ax.set(xlabel="power of 2,000 simulated audits", ylabel="power by the formula")
    off = [(grid[f] - grid["simulated"]).abs().mean() * 100 for f in ("power", "printed")]
    title = f"The refined formula is off by {off[0]:.1f} points\non average, the plain one by {off[1]:.1f}"
    ax.set_title(title, loc="left")


draw_check(grid, 0.41)

# %% [markdown]
# The plain formula promises too much where errors of a face are strongly correlated: a difficult face is difficult in all its
# pairs. The refined formula is off a little where few rare errors are expected and power is low. An audit with so little
# power is a bad plan anyway. The table has the designs where the refined formula differs most from the simulation.

# %%
distance = 100 * (grid["power"] - grid["simulated"]).abs().to_numpy()
planned = grid["target"] >= 0.5

# %%
farthest = {
    "of all designs": distance.argmax(),
    "of those with a wanted power of one half or more": (distance * planned).argmax(),
}
places = list(farthest.values())
shown_designs = grid.loc[places, ["base_rate", "transects", "simulated", "power"]]
heads = ["error rate", "transects", "power, simulated", "power, formula"]
shown_designs = shown_designs.set_axis(list(farthest)).set_axis(heads, axis=1)
shown_designs.assign(**{"difference, points": distance[places]}).round(3)

# %% tags=["remove-cell"]
# A power of a quarter is drawn to complete the curves; at rare errors the formula is five points off.
assert distance[planned].max() <= 5, distance[planned].max()
assert distance[grid["base_rate"] == PLANNED.base_rate].max() <= 5

# %% [markdown]
# ## What this audit could detect
#
# The plan was frozen before the answers came, so its tolerance and its family cannot follow them. A finished audit can
# replace the guesses by its own numbers. Its {term}`minimum detectable effect` is the true effect that it would have
# found four times out of five. It belongs beside every "no effect". We compute it for the average, for the least precise cell, and
# for that cell in its family, from all images and after pruning. The table gives the largest of all models and axes.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
MODELS = (*TRAINED, "null")
AXES = ("skin_colour", "hair_length", "gender")
OTHERS = {axis: [f"{other}_level" for other in AXES if other != axis] for axis in AXES}
audit = stage.load("08_stratified_errors", "audit.parquet")
audit["used"] = audit["kept"] & audit["adult"]


# %%
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
    errors = (found["cell"]["high"] - found["cell"]["low"]) / (2 * verdicts.Z)
    largest["in family"] = effects.mde(errors, plan.level / tests[model], plan.power).max()
    return 100 * pd.Series(largest)


# %%
DATA = {"all": audit, "pruned": audit[audit["used"]]}
reach = {
    name: pd.DataFrame({key: detectable(frame, *key) for key in product(MODELS, AXES)}).T
    for name, frame in DATA.items()
}
reach = pd.concat(reach, axis=1).rename_axis(["model", "axis"])
worst = reach.max()
pd.DataFrame({name: worst[name] for name in DATA}).style.format("{:.1f} points")


# %% tags=["hide-input"] mystnb={"image": {"alt": "Twelve rows, one for each of four models and three axes. Each row has three dots, from left to right the smallest detectable effect of the average, of one cell, and of a cell in its family. A dotted vertical line marks the tolerance."}, "figure": {"name": "fig-detectable", "caption": "The smallest effect that the audit of this book finds with the planned power, by model and axis, all images used: on the average, in the least precise cell, and in that cell within its family."}}
# Computed by detectable (above) with faceaudit.effects.matched.matched_effects and
# faceaudit.effects.verdicts.mde.
def draw_reach(reach: pd.DataFrame) -> None:
    """Smallest detectable effects as dots, a row per model and axis."""
    ax = plt.figure(figsize=(4.8, 5.8)).gca()
    rows = [f"{model}, {axis.replace('_', ' ')}" for model, axis in reach.index]
    words = {"average": "average", "cell": "one\ncell", "in family": "cell in\nits family"}
    for look, (scope, name) in zip(figures.SPARE, words.items(), strict=False):
        dots = reach["all", scope].to_numpy()
        ax.plot(dots, range(len(rows)), look.marker, color=look.colour, markersize=8)
        ax.text(dots[0], -0.9, name, color=look.colour, ha="center", fontsize=9)
    ax.axvline(100 * plan.tolerance, color=figures.BLACK, linestyle=":", linewidth=1)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel="smallest detectable effect (points)\ndotted: the tolerance", xlim=(0, None))
    ax.set_ylim(len(rows) - 0.4, -1.9)
    over = (reach["all", "in family"] > 100 * plan.tolerance).sum()
    title = f"In {over} of {len(rows)} rows, a cell in its family\nneeds over {100 * plan.tolerance:g} points"
    ax.set_title(title, loc="left")


draw_reach(reach)

# %% [markdown]
# So write in a report: "an effect of this size would have been found in four audits of five; the interval is …". The first part tells how
# far you looked. Only the interval excludes a size. More transects help slowly. Four times as many halve the smallest detectable effect.

# %% [markdown]
# ## Faces or raters?
#
# Money buys transects or raters. A wrong label turns a right answer into an error and the reverse. So noise raises the
# error rate and shrinks every difference: with a share $e$ of wrong labels, $1 - 2e$ of it is left, however many faces
# there are. In this world we can count wrong labels, because we know the picture that raters
# saw before they erred. Several raters label an image by their mean on the scale of five answers. It is cut in the middle, and a tie counts
# as male. The table compares wrong labels with those of a majority of raters who err independently.

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
right = error_rates.majority(crowd.perceived(shown)["gender"])
wrong = {r: (error_rates.majority(seen[r]["gender"]) != right).mean() for r in RATERS}

# %%
independent = {r: planning.label_noise(wrong[1], r) for r in RATERS if r % 2}
wrong_labels = pd.DataFrame({"wrong labels": wrong, "if raters err independently": independent})
wrong_labels.rename_axis("raters").style.format("{:.2%}", na_rep="–")

# %% [markdown]
# Prices are assumptions, so change them: a fee per answer, in your currency, and the median time per answer of the simulated crowd.
# Our fee is above what {cite:t}`transects` paid, which [](05_transect_generation) uses. It leaves room for a platform's share.
# Making the faces is free here. We plan with the audit's own values: its correlations, and the share of images that pruning left.

# %%
PRICE = 0.02
asked = answers["attribute"].nunique()
seconds = answers["seconds"].median() / asked


# %%
def cost(transects: int, raters: int) -> dict[str, float]:
    """Raters judge each attribute of eight images a transect."""
    judgements = 8 * transects * asked * raters
    return {"hours": judgements * seconds / 3600, "money": judgements * PRICE}


# %% tags=["remove-cell"]
assert 8 * 1000 * asked * 5 == 320_000, "not the paper's audit, section 4.3"

# %%
within = values["within"].clip(lower=0).median()
informed = replace(PLANNED, within=within, retention=audit["used"].mean())
least = planning.shared_pair_correlation(informed)
between = values.loc[[*TRAINED], "between"]  # the null control's effects do not vary with the face
informed = replace(informed, pair_correlation=max(between.median(), least))

# %% [markdown]
# For each number of raters the next table gives the transects that reach the planned power, for the average and for one cell in its family,
# and the bill for the cell. The audit gives its verdicts by cell, so that is the column to pay for. People are also asked before the
# model is: for directions, base faces, rounds and the gate (chapter 5). The second table has the price of these answers.


# %%
def priced(raters: int) -> dict[str, float]:
    """Transects that the planned effect needs with so many raters, and the price for a cell."""
    seen = planning.noisy_design(informed, planning.label_noise(wrong[1], raters))
    cell = replace(seen, pairs=1, pair_correlation=None), plan.level / family.size
    average = effects.transects_needed(seen, plan.level, plan.power)
    transects = effects.transects_needed(*cell, plan.power)
    return {"average": average, "cell": transects} | cost(transects, raters)


# %%
designs = pd.DataFrame({r: priced(r) for r in (1, 3, 5, 9)}).T.rename_axis("raters")
heads = ["transects, average", "transects, one cell", "hours, one cell", "bill, one cell"]
designs.set_axis(heads, axis=1).style.format("{:,.0f}")

# %%
cheapest = int(designs["money"].idxmin())
transects, money = designs.loc[cheapest, ["cell", "money"]]
before = pd.Series(stage.load("05_transect_generation", "results.json")["answers"]).sum()
asked_before = {"answers": before, "hours": before * seconds / 3600, "money": before * PRICE}
pd.DataFrame(asked_before, ["before the model"]).style.format("{:,.0f}")

# %% [markdown]
# Few raters can win because one more rater improves one label, while one more face adds a label and a new pair. This holds for a *matched*
# analysis by intended level, with raters who err independently. Raters have a second task, measuring the attributes, and for that a
# single rater is too few.

# %% [markdown]
# ## Noise and pruning, in short
#
# Outside of an experiment only ratings of an attribute exist. Noise in a *predictor* pulls its slope towards zero
# {cite:p}`spearman`. The slope is multiplied by the {term}`reliability` of the score, which is its {term}`ICC`. Dividing by it undoes the harm on
# average. The result may overshoot, but not more with every rater. To test this we regress errors on the hair length that one, two or more raters saw, and compare with the mean of very many
# raters, which is almost free of noise.

# %%
icc = stage.load("06_annotation_ingestion", "agreement.parquet")["icc"]
single = icc / (n_raters - (n_raters - 1) * icc)
reliability = pd.DataFrame({r: r * single / (1 + (r - 1) * single) for r in RATERS})

# %%
MANY = 40
many = crowd.annotate(shown[["hair_length"]], MANY, seed=seed, stage="12_planning/many")
many = many[(many["status"] == "accepted") & (many["visit"] == 0)]
many = many.groupby("image_id")["hair_length"].mean().reindex(audit.index)
scores = {r: seen[r]["hair_length"] for r in RATERS} | {MANY: many / 4}


# %%
def slope(part: pd.DataFrame, model: str, score: pd.Series) -> dict[str, float]:
    """Change of a model's error rate per unit of a score, with its 95% interval."""
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
measured = slopes.drop(index=MANY, level="raters")
reference = slopes.xs(MANY, level="raters")
factor = reliability.loc["hair_length"]
ends = measured[["estimate", "low", "high"]]
corrected = measured.assign(**ends.div(factor, axis=0, level="raters"))

# %%
signs = np.sign(reference["estimate"])
left = {"as measured": measured, "corrected": corrected}
left = {name: (table["estimate"] * signs).groupby("raters").sum() for name, table in left.items()}
left = pd.DataFrame(left) / reference["estimate"].abs().sum()
left.insert(1, "reliability", factor)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three lines against the number of raters. The slope as measured rises with the number of raters and lies close to the line of the reliability. The corrected slope stays near the dotted line at one hundred percent."}, "figure": {"name": "fig-attenuation", "caption": "Slopes of errors on perceived hair length, summed over three trained models and two groups, as a share of the slope on the mean of many raters: as measured, and divided by the reliability."}}
# Computed by slope (above) with statsmodels.api.OLS.
def draw_attenuation(left: pd.DataFrame) -> None:
    """Share of the slope without noise that is left, as measured and corrected."""
    ax = plt.figure(figsize=(4.8, 3.8)).gca()
    for look, name in zip(figures.SPARE, left, strict=False):
        ax.plot(left.index, 100 * left[name], look.marker + "-", color=look.colour)
        at = (left.index[-1] + 0.08, 100 * left[name].iloc[-1])
        shift = {"as measured": 7, "reliability": -7}.get(name, 0)
        ax.annotate(
            name, at, (0, shift), textcoords="offset points", color=look.colour, va="center"
        )
    ax.axhline(100, color=figures.BLACK, linewidth=1, linestyle=":")
    ax.set(xlabel="raters per image", ylabel="% of the slope of many raters", xticks=left.index)
    ax.set_xlim(0.8, left.index[-1] + 1.6)
    one = left.iloc[0]
    title = f"One rater: {one['as measured']:.0%} of the slope is left,\n{one['corrected']:.0%} after the correction"
    ax.set_title(title, loc="left")


draw_attenuation(left)

# %% [markdown]
# The correction mends noise only. Raters who share a bias make errors that stay after averaging, and the scale still bends at its ends.
#
# A designed contrast can lose less. {cite:t}`transects` cut scores in two and compare the halves. Only images that land on the wrong side
# dilute that difference, and on transects the levels were set apart. The table is for one rater: images on the other side, the share
# of the effect that is left, and the share that a bell-shaped attribute would keep.

# %%
CUTS = {axis: error_rates.STRATA[axis][0][0] for axis in ("skin_colour", "hair_length")}
sides = {}
for axis, r in product(CUTS, RATERS):
    side = (seen[r][axis] >= CUTS[axis]).astype(int)
    audit[f"{axis}_seen_by_{r}"] = side
    remaining = side.corr(audit[f"{axis}_level"])
    other_side = (side != audit[f"{axis}_level"]).mean()
    sides[axis, r] = other_side, remaining, planning.attenuation(reliability[r][axis])
columns = ["on the other side", "effect left", "if bell-shaped"]
sides = pd.DataFrame(sides, columns).T.rename_axis(["axis", "raters"])

# %%
one_rater = sides.xs(1, level="raters").rename(lambda axis: axis.replace("_", " "))
one_rater.rename_axis(None).style.format("{:.1%}")

# %% [markdown]
# Pruning removes images that are too close to call. An analyst who has not seen their errors can still bound the effect for all
# images: take each missing answer as right or wrong, whichever makes the effect largest, then smallest {cite:p}`manski`. Between these bounds lies
# the effect of all images, without an assumption about the pruned ones. So their width says how much of a conclusion rests on trust in
# the pruning. The table compares the estimates with the truth, in points.

# %%
KEYS = ["model", "attribute", "gender"]
truth = stage.load("11_who_was_right", "truth.parquet").query("scope == 'partial average'")
truth = 100 * truth.dropna(subset="gender").set_index(KEYS)["effect"]

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
pruned["distance from truth"] = (pruned["estimate"] - pruned["truth"]).abs()
pruned["width of interval"] = pruned["high"] - pruned["low"]
summary = pruned.groupby("arm")[["distance from truth", "width of interval", "n"]].mean()

# %% tags=["remove-cell"]
arms = {arm: part.set_index(KEYS) for arm, part in pruned.groupby("arm")}
limits, everything = arms["worst case"], arms["all"]["estimate"]
assert limits["lower"].le(everything).all() and limits["upper"].ge(everything).all(), limits

# %%
bounds = pruned[pruned["arm"] == "worst case"]
signs_open = int(((bounds["lower"] <= 0) & (bounds["upper"] >= 0)).sum())
width = (bounds["upper"] - bounds["lower"]).mean()
print(f"On average the bounds are {width:.0f} points wide")
by_images = summary.loc[["all", "pruned"], ["distance from truth", "width of interval"]]
by_images.rename_axis("images").style.format("{:.1f}")


# %% tags=["hide-input"] mystnb={"image": {"alt": "Twelve rows, one for each of three models, two attributes and two groups. In each row two points with intervals, all images and after pruning, lie on a wide grey bar of the worst-case bounds. A vertical line marks zero."}, "figure": {"name": "fig-pruning-bounds", "caption": "Effects of dark skin and of long hair on errors, for women and men, from all images and after pruning, with 95% intervals. Grey bars: worst-case bounds."}}
# Computed by faceaudit.effects.matched.pruning_bounds.
def draw_bounds(pruned: pd.DataFrame, bounds: pd.DataFrame) -> None:
    """Effects before and after pruning over the worst-case bounds, a row per effect."""
    arms = {arm: part.set_index(KEYS) for arm, part in pruned.groupby("arm")}
    names = {"all": "all images", "pruned": "after pruning"}
    ax = plt.figure(figsize=(4.8, 6)).gca()
    y = np.arange(len(bounds))
    ax.barh(y, bounds["upper"] - bounds["lower"], 0.75, bounds["lower"], color="#DDDDDD")
    ax.axvline(0, color=figures.BLACK, linewidth=1)
    for look, shift, (arm, name) in zip(figures.SPARE, (-0.17, 0.17), names.items(), strict=False):
        rows = arms[arm].loc[pd.MultiIndex.from_frame(bounds[KEYS])]
        reach = np.clip([rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]], 0, None)
        n = f"{name}, n ≈ {rows['n'].median():,.0f} pairs"
        ax.errorbar(
            rows["estimate"], y + shift, xerr=reach, fmt=look.marker, color=look.colour, label=n
        )
    genders = {0: "women", 1: "men"}
    words = [f"{m}, {a.split('_')[0]}, {genders[g]}" for m, a, g in bounds[KEYS].to_numpy()]
    ax.set_yticks(y, words)
    ax.set(
        xlabel="effect on the error rate (points)\ngrey: worst-case bounds",
        ylim=(len(y) - 0.4, -0.6),
    )
    ax.legend(loc="lower left", bbox_to_anchor=(-0.4, 1), ncol=1)
    title = f"The worst case leaves the sign open\nin {signs_open} of {len(bounds)} effects"
    ax.set_title(title, loc="left", pad=36)


draw_bounds(pruned, bounds)

# %% [markdown]
# ## What would change our mind
#
# - If simulated power differed from the refined formula by more than five points where the power is one half or more, all plans made
#   with it would be wrong.
# - If the correction for unreliability took slopes past the slope without noise, and further with every rater, noise would
#   not be independent.
# - If the worst-case bounds missed the effect from all images, they would be no bounds.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Fewer faces, more often, 15 minutes, medium
# :label: exercise-budget
# You can pay for a fixed number of answers. Find the best number of raters an image with `planning.noisy_design` and
# `effects.power`, for the rater error found above and for four times as much. What changes?
#
# **Check:** a rater error of zero gives each number of raters $r$ the power `effects.power(budget // r, informed)`.
# ```

# %% [markdown]
# ```{solution-start} exercise-budget
# :class: dropdown
# ```
# Give each number of raters as many transects as the budget divided by the raters, and compare the powers. With good raters, single
# opinions on many faces do best. With poor raters all designs do badly. What speaks for several raters is trust: they show
# where labels are in doubt.


# %% tags=["solution"]
def powers(rater_error: float, budget: int = 800) -> dict[int, float]:
    """Power by number of raters, when raters times transects is the budget."""
    noise = {r: planning.label_noise(rater_error, r) for r in (1, 3, 5)}
    return {r: effects.power(budget // r, planning.noisy_design(informed, noise[r])) for r in noise}


assert all(np.isclose(power, effects.power(800 // r, informed)) for r, power in powers(0).items())

# %% tags=["solution"]
four = {"rater error as found": powers(wrong[1]), "four times as large": powers(4 * wrong[1])}
pd.DataFrame(four).rename_axis("raters")

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Undoing wrong labels, 15 minutes, hard
# :label: exercise-rogan
# Compute one model's error rate with the labels of a single rater, correct it with `effects.rogan_gladen` and the noise found
# above, `wrong[1]`, and compare it with the rate under `right`, the gender that raters see before they err. By how much is
# the corrected rate off?
#
# **Check:** with `right` itself as the label and a noise of zero, your code returns the true rate.
# ```

# %% [markdown]
# ```{solution-start} exercise-rogan
# :class: dropdown
# ```
# Let $p$ be the model's error rate under `right`, $e$ the share of wrong labels, and $a$ the share of images on which answer and
# label are both wrong. A wrong label turns a right answer into an error and hides a wrong one. So the rate seen is $p + e - 2a$. The
# formula returns $(p - 2a)/(1 - 2e)$, which is $p$ only if $a = pe$: wrong labels must fall on right and wrong answers alike. Where
# rater and model err on the same faces more often than chance, the corrected rate is too low. Where they avoid each other's errors, it
# is too high.

# %% tags=["solution"]
answer = audit["score_celeba-like"] > 0.5
label = error_rates.majority(seen[1]["gender"])
p = (answer != right).mean()
e = wrong[1]
a = ((answer != right) & (label != right)).mean()
corrected_rate = effects.rogan_gladen((answer != label).mean(), e)
assert np.isclose(corrected_rate - p, -2 * (a - p * e) / (1 - 2 * e))
assert np.isclose(effects.rogan_gladen(p, 0), p)

# %% tags=["solution"]
print(f"true rate {p:.4f}, corrected {corrected_rate:.4f}")

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - Say how large an effect the audit could have found. Without this, "no effect" is empty.
# - A cell in a family of tests needs many times the transects of an average. The share of pairs left is the square of the share of images kept.
# - Noise in an attribute multiplies its slope by the reliability. A designed contrast can lose far less.
#
# **Next:** [](17_transport) takes the error rates of the transects to other populations.

# %% tags=["remove-cell"]
two = needed["refined"]
glue(
    "answer",
    Markdown(
        with_minus(
            f"An average effect of {100 * PLANNED.difference:g} points, at an error rate of {100 * PLANNED.base_rate:g}%, needs at least "
            f"{two['nothing pruned']:,} transects, and {two['two thirds kept']:,} if pruning leaves two thirds of the images. One cell in its "
            f"family of tests needs {for_family['cell, in its family']['the difference above']:,}. With its "
            f"{audit['transect'].nunique():,} transects the audit of this book can overlook effects of "
            f"{worst['all', 'in family']:.1f} points in a cell, in one audit of five. At a fee of {PRICE:g} for an answer, labels for the "
            f"{PLANNED.difference * 100:g} points in a cell cost at least {money:,.0f}, with {'one rater' if cheapest == 1 else f'{cheapest} raters'} per image. "
            f"Raters err and images are pruned, so this takes {transects:,.0f} transects. Answers before the model cost {before * PRICE:,.0f} more."
        )
    ),
    display=False,
)


# %% tags=["remove-cell"]
def as_record(table: pd.DataFrame) -> dict:
    """Rows by name, with null where there is no estimate."""
    return table.astype(object).where(table.notna(), None).to_dict("index")


# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "difference": PLANNED.difference,
        "transects_needed": needed,
        "transects_needed_in_family": for_family,
        "price_of_asking_again": {
            str(release): {"faces": price[release], "mean": mean_price[release]}
            for release in RELEASES
        },
        "plan": plan.sha256,
        "power_gap_points": gap.max().to_dict(),
        "detectable_points": {
            name: {model: as_record(reach[name].loc[model]) for model in MODELS} for name in DATA
        },
        "wrong_labels": wrong,
        "cheapest": {"raters": cheapest, "transects": transects, "money": money},
        "attenuation": as_record(left),
        "pruning": as_record(summary),
        "signs_open_in_worst_case": signs_open,
    }
)
