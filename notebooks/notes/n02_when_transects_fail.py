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
# # When transects fail: raters, cues, entangled directions
#
# *You need [N1](n01_truth_scorecard) (the scorecard) and chapter 12 (leaks), whose remedies and sensitivity measures
# fill the second half. Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# [N1](n01_truth_scorecard) tried matched pairs under ideal conditions: exact directions, labels without
# error, many transects, all attributes held. How far does an estimate leave the truth when one of these
# conditions fails? And can an auditor notice?
#
# ```{glue:md} answer
# :format: myst
# ```

# %% [markdown]
# :::{admonition} Design contract
# :class: dropdown
#
# | Part | In this note |
# |---|---|
# | **Unit** | a transect, or a whole audit that is repeated |
# | **Intervention** | one condition of the experiment is spoiled, step by step |
# | **Held fixed** | the audited models, and in each sweep all other conditions |
# | **Outcome** | the departure of a matched estimate from the truth on the same faces |
# | **Estimand** | [the effect on transects](estimands), in cells |
# | **Known failure** | real audits spoil several conditions at once |
# :::

# %% tags=["hide-cell"]
import textwrap
from functools import partial
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from matplotlib.ticker import LogLocator, NullFormatter
from myst_nb import glue
from statsmodels.stats.proportion import proportion_confint

import facerender
from faceaudit import annotations, effects
from faceaudit.effects import display_names, error_rates, verdicts
from faceaudit.latents import directions, transects
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.utils import seeding
from faceaudit.utils.formatting import with_minus
from faceworld import crowd, do, load_generator, networks, raters, scorecard
from faceworld.rendering import render_to_store
from faceworld.scorecard import draw_audits, matched_audits, truth
from faceworld.scorecard.truth import CONTRASTS, name_cells
from helpers import audit_plan, figures
from helpers.artifacts import Stage
from helpers.claims import question
from helpers.figures import panels

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
n_transects = 400
n_audits = 100
n_sweep = 60
n_directions = 5000
n_raters = 5

# %% tags=["remove-cell"]
stage = Stage("n02_when_transects_fail", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# ```{glue:figure} one-by-one
# :name: fig-one-by-one
# :alt: Five rows, one per condition: raw normals, one rater, raters who look at hair, hidden earrings, few transects. A line joins the largest departure in points while the condition is kept, an open dot, to the one when it fails, a filled dot.
#
# Five conditions of a good experiment. Each row lets one of them fail and keeps the others. Dots are the largest
# among effects and models: root mean square over four cells (rows one and two), change of the estimate (three and four), RMSE (five). Which of these could you notice?
# Drawn under [](#something-hidden).
# ```

# %% [markdown]
# ## Entangled directions
#
# At one end of this sweep a face moves along the {term}`dual basis` of all annotated attributes. At the other
# end it moves along the raw normals, which drag correlated attributes along. In between it moves along a
# mixture. The hyperplanes are exact, so {term}`entanglement` is the only thing that changes. The same faces
# under intervention give the truth, and sampling noise cancels.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
AXES = ["skin_colour", "hair_length", "gender"]
audited_models = networks.load_all(stage, "02_face_world", TRAINED)
pool = {name: stage.load("11_who_was_right", f"under_do_{name}.npy") for name in TRAINED}

# %%
generator = load_generator("known-truth", device=device, size=image_size)
doses = stage.load("05_transect_generation", "doses.json")
recipe = stage.load("05_transect_generation", "results.json")
names = (*AXES, "age", "facial_hair", "makeup", "smiling")
exact = directions.Hyperplanes(names, *generator.exact_hyperplanes(names))

# %%
decision = {name: float(generator.decision_value(name, x)) for name, x in recipe["held"].items()}
youngest = float(generator.decision_value("age", recipe["adult"]))

# %%
base = transects.base_latents(
    generator,
    exact,
    AXES,
    n_sweep,
    youngest=youngest,
    held=decision,
    seed=seed,
    stage="11_truth_scorecard",
)

# %%
MIXTURES = np.linspace(0, 1, 5)

# %%
targets = [generator.decision_value(name, np.array(doses[name])) for name in AXES]
own = exact.select(AXES)
clean = dual_basis(exact.normals)[[names.index(name) for name in AXES]]
raw = own.normals / (own.normals**2).sum(axis=1, keepdims=True)


def along_mixture(share: float) -> np.ndarray:
    """Latents of transects along both kinds of step, each of which changes its own score by one."""
    steps = (1 - share) * clean + share * raw
    return transects.grid(base, own.normals, own.intercepts, steps, targets)


# %%
latents = [along_mixture(share).reshape(-1, base.shape[-1]) for share in MIXTURES]
moved = generator.parameters(torch.from_numpy(np.concatenate(latents)))

# %%
WATCHED = [*AXES, "facial_hair", "makeup", "earrings"]
grid = (len(MIXTURES), n_sweep, 2, 2, 2)

# %%
moves = facerender.to_frame(moved)[WATCHED].to_numpy(float).reshape(*grid, -1)

# %%
drift = {
    (axis, f"{MIXTURES[end]:.0%} raw"): np.diff(moves[end], axis=1 + k).mean(axis=(0, 1, 2, 3))
    for k, axis in enumerate(AXES)
    for end in (0, -1)
}
drift = pd.DataFrame(drift, [name.replace("_", " ") for name in WATCHED]).T
drift = drift.rename(lambda name: name.replace("_", " "), level=0)
drift.rename_axis(["axis", "directions"]).style.format("{:+z.2f}")

# %% [markdown]
# The table shows how far attributes move from the low to the high level of each axis, in units of the
# parameters' range, at the two ends of the sweep. A clean direction has one large entry, its own. Raw normals
# also move attributes that are correlated with their axis. Raters were never asked about earrings, so earrings
# move even along the dual basis.

# %%
swept = render_to_store(moved, image_size, stage.path("swept.npy"), device=device)
label = error_rates.majority(facerender.visible_scores(moved)["gender"]).to_numpy()
swept_errors = {
    name: ((networks.predict(network, swept) > 0.5) != label).reshape(grid).astype(float)
    for name, network in audited_models.items()
}


# %%
def under_do(values: dict, file: str) -> dict[str, np.ndarray]:
    """Errors of the trained models on the sweep's faces under intervention."""
    own = generator.parameters(torch.from_numpy(base))
    ask = partial(truth.errors_under_do, base=own, doses=values, size=image_size, device=device)
    return {
        name: ask(partial(networks.predict, network), path=stage.path(file))
        for name, network in audited_models.items()
    }


same_faces = under_do(doses, "same_faces.npy")

# %%
entangled = [
    scorecard.differences_from_reference(swept_errors[name], same_faces[name], AXES).assign(
        model=name
    )
    for name in TRAINED
]
entangled = pd.concat(entangled)
entangled["share"] = MIXTURES[entangled["version"]]


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for the effects of skin colour, hair length and gender. In each, the typical departure of the matched estimate from the truth in points, for three models, as the directions change from the dual basis at the left to raw normals at the right, with intervals."}, "figure": {"name": "fig-score-entangled", "caption": "Departure of the matched estimates from the truth on the same faces (root mean square over four cells), as directions go from the dual basis (left) to raw normals (right). What chance alone adds is subtracted. Bars are intervals over faces."}}
# Computed by faceworld.scorecard.audits.differences_from_reference.
LINES, DEPARTURE = ("x", "model", "effect"), "departure (points)"


def in_panels(table: pd.DataFrame, x: str, scale: float = 1) -> pd.DataFrame:
    """Departures along a condition, ready to be drawn: a panel per effect, a line per model."""
    effect = table["attribute"].map(CONTRASTS)
    return table.assign(effect=effect, x=scale * table[x]).rename(columns={"value": "estimate"})


def titled(figure: plt.Figure, title: str, height: float) -> None:
    """The figure as wide as a phone shows well, its finding and its marks above."""
    figure.legends[0].remove()
    figure.set_size_inches(4.8, height)
    marks = panels.legend_above(figure, columns=2).legends[0]
    marks.set_title(textwrap.fill(with_minus(title), 46), {"size": 12})


def draw_paths(table, x, marks, panel, xlabel, ylabel, title, nudge=0.0) -> plt.Figure:
    """Intervals along a condition, joined by lines, a panel below the other."""
    groups = list(table.groupby(panel, sort=False))
    figure, axes = plt.subplots(len(groups), 1, sharex=True, sharey=True)
    for ax, (name, part) in zip(axes, groups, strict=True):
        for number, (kind, mine) in enumerate(part.groupby(marks, sort=False)):
            places, look = mine[x] + nudge * (number - 1), figures.look(kind, number)
            panels.upright(ax, places, mine, look, kind)
        ax.set(title=name, ylabel=ylabel)
    axes[-1].set_xlabel(xlabel)
    titled(panels.legend_above(figure), title, 1.4 + 2.3 * len(groups))
    return figure


along = "share of the raw normal (%)"
ends = 100 * entangled.groupby("share")["value"].max()
title = f"Largest departure: {ends[0]:.1f} points at the left, {ends[1]:.1f} at the right"
figure = draw_paths(in_panels(entangled, "share", 100), *LINES, along, DEPARTURE, title)
_ = figure.axes[0].set_ylim(0, None)


# %%
def at_ends(table: pd.DataFrame, x: str, names: tuple[str, str]) -> pd.DataFrame:
    """Departures of every effect and model at both ends of a sweep over the column `x`, in points."""
    wide = 100 * table.pivot_table("value", ["attribute", "model"], x, sort=False)
    wide = wide.iloc[:, [0, -1]].set_axis(names, axis=1)
    return wide.rename(CONTRASTS, level="attribute").round(1)


at_ends(entangled, "share", ("dual basis", "raw normals"))

# %% [markdown]
# An entangled direction gives a clean estimate of something else, such as longer hair *together with* a more
# feminine face. With more transects its interval closes around that. A departure at the left end has another
# source, because exact planes of annotated attributes are free of entanglement. Unannotated attributes, such as the
# earrings of the table, are one candidate. So the book measures leakage before it
# measures bias.

# %% [markdown]
# ## Raters who err
#
# Errors are counted against raters' labels. The sweep takes the book's own transects and lets ever fewer
# raters label them, once with the calibrated noise and once with twice as much. These raters look at the shape
# of the face alone. The reference is a {term}`perfect crowd` on the same images, so only labels differ.
# The first table shows how many labels come out wrong. The second has the departures with the calibrated noise,
# which the figure leaves out.

# %%
audit = stage.load("08_stratified_errors", "audit.parquet")
parameters = torch.from_numpy(stage.load("05_transect_generation", "fitted_parameters.npy").copy())
shown = facerender.visible_scores(parameters).set_index(audit.index)
right = error_rates.majority(shown["gender"]).to_numpy()
CROWDS, NOISES = (1, 3, 5, 9, 15), {"calibrated": 1.0, "twice the noise": 2.0}

# %%
versions = [(noise, count) for noise in NOISES for count in CROWDS]
said = [
    scorecard.labels_by(shown, count, NOISES[noise], seed, "11_truth_scorecard")
    for noise, count in versions
]

# %%
wrong_labels = pd.DataFrame((said != right).mean(axis=1).reshape(len(NOISES), -1), NOISES, CROWDS)
wrong_labels.rename_axis(columns="raters").style.format("{:.1%}")


# %%
def with_crowds(name: str) -> pd.DataFrame:
    """What raters' mistakes add to a model's matched effects, by version of the crowd."""
    answers = (audit[f"score_{name}"] > 0.5).to_numpy(int)
    perfect, by_crowd = answers != right, answers != np.array(said)
    shape = (-1, n_transects, 2, 2, 2)
    table = scorecard.differences_from_reference(
        by_crowd.reshape(shape).astype(float), perfect.reshape(shape)[0].astype(float), AXES
    )
    return table.assign(model=name)


noisy = pd.concat([with_crowds(name) for name in TRAINED])
noisy["noise"], noisy["raters"] = zip(*[versions[k] for k in noisy["version"]], strict=True)

# %%
doubled = noisy[noisy["noise"] == "twice the noise"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for the effects of skin colour, hair length and gender. In each, the typical departure of the matched estimate from that of a perfect crowd, in points, for three models, against the number of raters, who have twice the calibrated noise."}, "figure": {"name": "fig-score-raters", "caption": "Departure of the matched estimates from those with a perfect crowd, by number of raters, at twice the calibrated noise (root mean square over four cells). What chance alone adds is subtracted. Bars are intervals over transects."}}
# Computed by faceworld.scorecard.audits.differences_from_reference.
ends = 100 * doubled.groupby("raters")["value"].max()
title = f"Largest departure: {ends.iloc[0]:.1f} points with one rater, {ends.iloc[-1]:.1f} with the most"
figure = draw_paths(in_panels(doubled, "raters"), *LINES, "raters per image", DEPARTURE, title)
_ = figure.axes[0].set_ylim(0, None)

# %%
calibrated = noisy[noisy["noise"] == "calibrated"]
at_ends(calibrated, "raters", ("one rater", f"{CROWDS[-1]} raters"))

# %% [markdown]
# A wrong label turns an error into a right answer and a right answer into an error. So differences can shrink,
# the large ones most. Transects are lenient here: gender was set to clear levels, and several raters seldom
# disagree about it. In found data raters also report the confounder, and wrong hair labels do more harm there
# ([N1](n01_truth_scorecard)). Wrong labels also make intervals too narrow if few people label all
# images ([N3](n03_coverage)).

# %% [markdown]
# ## Raters whose eye goes to the hair
#
# The book's crowd takes {term}`perceived gender` from the shape of a face and from beard, makeup and hair, by
# strengths that [](06_annotation_ingestion) assumes. Each such sign is a {term}`cue`. Here all three strengths
# are multiplied: zero is a crowd that looks at the shape alone, one is the book's. The base faces are shaved
# and hardly made up, so hair is the cue that is left. The tables have the labels that change, and the effect of long hair
# on errors on women, in points.

# %%
CUES = (0.0, 1.0, 2.0, 3.0)  # times the strength of the book's raters
by_cues = [
    scorecard.labels_by(crowd.perceived(shown, cue), 5, 1.0, seed, "11_truth_scorecard")
    for cue in CUES
]

# %%
unlike = (np.array(by_cues) != right).mean(axis=1)
unlike = pd.Series(unlike, pd.Index(CUES, name="cues times"))
unlike.map("{:.1%}".format).rename("labels other than the shape's").to_frame()


# %%
def on_women(name: str) -> pd.DataFrame:
    """Matched effect of hair on a model's errors on women, by the strength of the cues."""
    answers = (audit[f"score_{name}"] > 0.5).to_numpy(int)
    versions = [audit.assign(error=(answers != label).astype(int)) for label in by_cues]
    tables = [
        effects.matched_effects(version, "error", "hair_length_level", ["gender_level"], "transect")
        for version in versions
    ]
    return pd.concat([table.loc[[0]] for table in tables]).assign(cues=CUES, model=name)


women = pd.concat([on_women(name) for name in TRAINED])
women = women.assign(points=display_names.estimates_in_points(women)).rename(
    columns={"cues": "cues times"}
)
women.pivot_table("points", "model", "cues times", "first", sort=False)

# %% [markdown]
# Such raters sometimes call a short-haired woman a man. A model that answers *woman* is then wrong by their
# label, and one that answers *man* is right by it. So the effect of hair can grow for a model that reads such
# women well, and shrink for one that misreads them, although all answers stayed the same. More raters of this
# kind err the same way. An effect found with a crowd is an effect on the *disagreement of model
# and crowd*.

# %% [markdown]
# ## Too few transects
#
# An unbiased method still needs numbers. Audits of several sizes are drawn from the population of
# [N1](n01_truth_scorecard). The figure takes three cells at most, chosen by the size of their true effect.
# It shows how often {term}`McNemar's test` finds each, in its mid-p form {cite:p}`mid-p`. The lines are the {term}`power`
# formula of [](16_planning), which knows only two error rates and their correlation within pairs. A mark that
# lies off its line by more than its interval shows where the formula promises too little or too much. The first table
# counts such sizes, and has the largest distance of formula and audits.

# %%
SIZES = (25, 50, 100, 200, 400, 800, 1600)

# %%
known = {name: truth.true_effects(pool[name], AXES) for name in TRAINED}
known = name_cells(pd.concat(known, names=["model", None]).reset_index("model"))

# %%
known = known[(known["scope"] == "cell") & known["attribute"].isin(AXES[:2])]
known = known.reset_index(drop=True)
nearest = [(known["effect"].abs() - size).abs().idxmin() for size in (0.02, 0.05, 0.1)]


# %%
def errors_of(row: pd.Series) -> np.ndarray:
    """Errors of a model in one cell, at both levels of an attribute (faces, 2)."""
    levels = [slice(None) if pd.isna(row[name]) else row[name] for name in AXES]
    return pool[row["model"]][:, *levels]


# %%
def design_of(errors: np.ndarray) -> effects.Design | None:
    """What the formula knows; it is not made for an error rate of 0 or 1 at one level."""
    # The formula takes effects that raise errors; naming the levels anew changes nothing else.
    ordered = errors[:, np.argsort(errors.mean(axis=0))]
    low, high = ordered.mean(axis=0)
    if low > 0 and high < 1:
        return effects.Design(high - low, low, float(np.corrcoef(ordered.T)[0, 1]), pairs=1)
    return None


# %%
def power_at(size: int, errors: np.ndarray, design: effects.Design | None) -> dict[str, float]:
    """How often audits of a size find the effect in a cell, and what the formula says."""
    change = float(np.diff(errors.mean(axis=0))[0])
    table = matched_audits(draw_audits(errors, size, n_audits, seed), ["level"])
    found = int((table["p"] < 0.05).sum())
    low, high = proportion_confint(found, n_audits, method="wilson")
    row = {"transects": size, "found": found / n_audits, "low": low, "high": high}
    row["formula"] = effects.power(size, design) if design else np.nan
    row["truth"] = change
    row["rmse"] = np.sqrt(((table["estimate"] - change) ** 2).mean())
    return row


# %%
NO_LINE = "an error rate of 0 or 1 at one level, for which the formula is not made"


def power_of_cell(row: pd.Series) -> pd.DataFrame:
    """The same for all sizes, with the name of the cell."""
    errors = errors_of(row)
    design = design_of(errors)
    table = pd.DataFrame([power_at(size, errors, design) for size in SIZES])
    name = f"{row['model']}, {row['cell']}: {CONTRASTS[row['attribute']]}"
    name = with_minus(f"{name}, {100 * row['effect']:+z.1f} points")
    return table.assign(reason="" if design else NO_LINE, cell=name)


power = pd.concat([power_of_cell(known.loc[row]) for row in dict.fromkeys(nearest)])

# %% tags=["hide-input"] mystnb={"image": {"alt": "Share of audits that detect an effect against the number of transects, for three cells with a small, a medium and a large true effect. Marks with intervals are repeated audits, lines the power formula; both rise from the left to the right."}, "figure": {"name": "fig-score-power", "caption": "How often one cell's effect is found, by number of transects: repeated audits (marks, Wilson intervals) and the power formula (lines). A dashed line marks four in five."}}
# Computed by power_of_cell (above) with faceworld.scorecard.audits.matched_audits and
# faceaudit.effects.planning.power.
figure, ax = plt.subplots(figsize=(4.8, 6))
for (cell, rows), look in zip(power.groupby("cell", sort=False), figures.SPARE, strict=False):
    ax.plot(rows["transects"], 100 * rows["formula"], color=look.colour, linewidth=1)
    name = f"{cell} (marks only)" if rows["reason"].any() else cell
    found = rows.rename(columns={"found": "estimate"})
    name = textwrap.fill(name, 44)
    panels.upright(ax, rows["transects"], found, look, name, linestyle="none", linewidth=None)
ax.axhline(80, **panels.DASHED)
ax.set_xscale("log", base=2)
ax.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
ax.set(xlabel="transects in an audit", ylabel="audits that find it (%)", ylim=(-3, 103))
shares = power[power["transects"] == n_transects]["found"]
title = f"With {n_transects} transects found: " + ", ".join(f"{share:.0%}" for share in shares)
ax.set_title(title, fontsize=12)
_ = figure.legend(loc="outside lower left", title="cell: contrast, true effect")

# %%
beside = power.assign(
    gap=100 * (power["found"] - power["formula"]).abs(),
    outside=(power["formula"] < power["low"]) | (power["formula"] > power["high"]),
)
beside = beside.groupby("cell", sort=False).agg({"gap": "max", "outside": "sum"})
beside = beside.rename(columns={"gap": "largest gap (points)", "outside": "sizes outside"})
beside.style.format("{:.0f}", na_rep="no formula", subset="largest gap (points)")

# %%
rmse = power.assign(points=100 * power["rmse"]).pivot_table(
    "points", "cell", "transects", sort=False
)
rmse.style.format("{:.1f}")

# %% [markdown]
# The second table shows the RMSE of the same cells, in points. Honest estimates have half the error with four
# times the transects. The failures above were of another kind: more transects would leave them as they are.

# %% [markdown]
# (something-hidden)=
# ## Something hidden
#
# More data also leave a hidden attribute hidden. Suppose that earrings appear in a share of the transects whenever
# hair grows long, or skin turns dark, and that raters were asked about other things only. We plant that share
# ourselves: the faces of the first sweep are rendered in all cells without and with earrings, and the sweep
# picks from the two. [](12_hidden_attributes) treats the real leak of directions by the paper's recipe.

# %%
hidden = under_do({**doses, "earrings": (0.0, 1.0)}, "earrings.npy")

# %%
LEAKS = (0.0, 0.25, 0.5, 0.75, 1.0)


# %%
def leaking(model: str, axis: str) -> pd.DataFrame:
    """Effect of an axis on women's errors when earrings come along in a share of the transects."""
    women = hidden[model].take(0, 1 + AXES.index("gender"))  # faces, skin, hair, earrings
    ordered = np.moveaxis(women, 1 + AXES.index(axis), -2)  # …, other axis, level, earrings
    order = seeding.rng(0, "scorecard: leaking").permutation(len(ordered))
    places = np.indices(ordered.shape[:-1])
    frame = pd.DataFrame(places.reshape(3, -1).T, columns=["transect", "other_level", "level"])
    rows = []
    for share in LEAKS:
        worn = places[2] * (order[places[0]] < share * len(ordered))
        one = frame.assign(error=np.take_along_axis(ordered, worn[..., None], -1).ravel())
        rows.append(effects.matched_effects(one, "error", "level", [], "transect"))
    earrings = np.diff(ordered[..., 1, :]).mean()  # what they themselves do
    table = pd.concat(rows).assign(share=LEAKS, hidden=earrings)
    return table.assign(attribute=axis, model=model)


# %%
leaked = pd.concat(
    leaking(name, axis) for name in TRAINED for axis in ("skin_colour", "hair_length")
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, for the effects of skin colour and hair length on women's errors. The matched estimate with its interval against the planted share of transects in which earrings come along, for three models; dashed lines mark the estimates without a leak."}, "figure": {"name": "fig-score-hidden", "caption": "Matched estimates of effects on women's errors when a share of transects gains earrings together with the manipulated attribute; bars are 95% intervals, dashed lines the estimates without the leak."}}
# Computed by leaking (above) with faceaudit.effects.matched.matched_effects.
WOMEN = "effect on women (points)"
along = "transects with earrings (%)"
drawn = in_panels(leaked, "share", 100)
does = 100 * leaked["hidden"]
title = f"Earrings alone change women's errors by {does.min():+.1f} to {does.max():+.1f} points"
figure = draw_paths(drawn, *LINES, along, WOMEN, title, nudge=1.5)
for ax, (_, rows) in zip(figure.axes, drawn.groupby("effect", sort=False), strict=True):
    ax.axhline(0, **panels.ZERO)
    for model, first in rows[rows["share"] == 0].set_index("model")["estimate"].items():
        colour = figures.look(model).colour
        ax.axhline(100 * first, color=colour, linewidth=0.8, linestyle="--")

# %% [markdown]
# Could earrings explain an estimate away? We ask this where half of the transects leak. A hidden attribute
# accounts for an estimate if it works in the same direction, and at least as strongly as the {term}`tipping
# point`: the estimate divided by the leak. If the interval holds zero, there is little to explain.

# %%
HALF = 0.5
half = leaked[leaked["share"] == HALF].set_index(["model", "attribute"])
needed = (half["estimate"] / HALF).abs()

# %%
clear = (half["low"] > 0) | (half["high"] < 0)
same_way = half["estimate"] * half["hidden"] > 0
explained = same_way & (half["hidden"].abs() >= needed)

# %%
tipped = half[["estimate", "low", "high"]]
tipped = 100 * tipped.assign(**{"tipping point": needed, "hidden does": half["hidden"]})
numbers = list(tipped.columns)
tipped["explained away"] = np.where(clear, np.where(explained, "yes", "no"), "no clear effect")
shown = tipped[["explained away", *numbers]].rename(CONTRASTS, level="attribute")
shown = shown.rename(columns={"hidden does": "hidden effect"})
shown.style.format("{:z.1f}", subset=shown.columns[1:])

# %% [markdown]
# The rows are in points. An auditor can compute the tipping point in ignorance of earrings. It says how much they would have to change the error rate to account for the whole estimate. *Hidden effect* is
# their true effect, which only this world tells. Where it stays below the tipping point, the estimate survives. It may still be several points off.


# %%
def moved_by(table: pd.DataFrame, condition: str, keys: list[str]) -> pd.Series:
    """Largest change of an estimate since the first version of a condition."""
    wide = table.pivot_table("estimate", keys, condition)
    return wide.sub(wide.iloc[:, 0], axis=0).abs().max()


# %%
spoiled = {
    "steps along raw normals": entangled.groupby("share")["value"].max(),
    "one rater, twice the noise": doubled.groupby("raters")["value"].max()[::-1],
    "raters look at the hair": moved_by(women, "cues times", ["model"]),
    "hidden earrings come along": moved_by(leaked, "share", ["model", "attribute"]),
    f"only {SIZES[0]} transects": power.groupby("transects")["rmse"].max()[::-1],
}
spoiled = {name: 100 * one.to_numpy()[[0, -1]] for name, one in spoiled.items()}

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Five rows, one per condition: raw normals, one rater, raters who look at hair, hidden earrings, few transects. A line joins the largest departure in points while the condition is kept, an open dot, to the one when it fails, a filled dot."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by moved_by (above), of what other sections compute with
# faceworld.scorecard.audits.differences_from_reference, faceaudit.effects.matched.matched_effects
# and faceworld.scorecard.audits.matched_audits.
figure, ax = plt.subplots()
kept, failing = np.transpose([*spoiled.values()])
ax.hlines(range(len(spoiled)), kept, failing, color=figures.GREY)
for look, side, name in (("truth", kept, "kept"), ("estimate", failing, "fails")):
    style = {"mfc": "white"} if name == "kept" else {}
    style |= {"color": figures.LOOKS[look].colour, "markersize": 8, "label": name}
    ax.plot(side, range(len(spoiled)), "o", **style)
for row, value in enumerate(failing):
    where = {"xytext": (9, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(f"{value:.1f}", (value, row), **where)
panels.name_rows(ax, [textwrap.fill(name, 16) for name in spoiled])
ax.set(xlabel="largest departure (points)", xlim=(-0.05 * failing.max(), 1.2 * failing.max()))
title = "One failed condition moves an estimate by up to {:.1f} to {:.1f} points"
title = title.format(failing.min(), failing.max())
titled(panels.legend_above(figure), title, 4.8)
glue("one-by-one", figure, display=False)
plt.close(figure)

# %% [markdown]
# ## Chapter 12's remedies, cell by cell
#
# [](12_hidden_attributes) follows one real leak, in the transects of the paper's recipe, and tries three remedies. It compares them by one distance for
# each model. Here are the estimates themselves: as audited, adjusted, orthogonalised, and with the attribute held by intervention, which only a world
# with a known truth allows. The horizontal line is the truth, with its own
# uncertainty in grey.

# %%
rungs = stage.load("12_hidden_attributes", "estimates.parquet")
rungs["arm"] = rungs["arm"].replace({"held by do": "held by intervention"})
contrast = rungs["attribute"].map(CONTRASTS)
ladders = dict(iter(rungs.assign(contrast=contrast).query("scope == 'cell'").groupby("model")))


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, effects of skin colour, hair length and gender on the errors of the celeba-like model. In each of four cells four estimates with confidence intervals, from as audited to held by intervention, on a grey band that marks the truth."}, "figure": {"name": "fig-remedies-celeba", "caption": "CelebA-like model: effects with the attribute not annotated, adjusted for, orthogonalised away and held by intervention (95% intervals), over the true effect (grey)."}}
# Computed by faceworld.scorecard.error_sources.compare_with_truth (chapter 12).
def draw_rungs(ax, table: pd.DataFrame) -> None:
    """Estimates of all arms side by side in every cell, over the truth and its 95% band."""
    names, arms = list(table["cell"].unique()), table.groupby("arm", sort=False)
    how = {"linestyle": "none", "linewidth": None, "markersize": 6, "capsize": 2}
    shifts = np.linspace(-0.32, 0.32, len(arms))
    for (arm, mine), shift, look in zip(arms, shifts, figures.SPARE, strict=False):
        panels.upright(ax, mine["cell"].map(names.index) + shift, mine, look, arm, **how)
    known, places = table.drop_duplicates("cell"), np.arange(len(names))
    truth, reach = 100 * known["truth"], 100 * verdicts.Z * known["truth_se"]
    ax.bar(places, 2 * reach, 0.84, truth - reach, color="#BBBBBB", zorder=0)
    ax.hlines(truth, places - 0.42, places + 0.42, color=figures.BLACK, linewidth=1, zorder=1)
    ax.axhline(0, **panels.ZERO)
    ax.set_xticks(range(len(names)), [name.replace(", ", "\n") for name in names])


def draw_ladder(model: str) -> None:
    """A model's estimates of all arms over the truth."""
    contrasts = ladders[model].groupby("contrast", sort=False)
    size = figures.WIDTH, 2.8 * len(contrasts)
    figure, axes = plt.subplots(len(contrasts), 1, figsize=size, squeeze=False)
    for ax, (contrast, table) in zip(axes.flat, contrasts, strict=True):
        draw_rungs(ax, table)
        ax.set_ylabel(f"{contrast} (points)")
    held = ladders[model].groupby("arm", sort=False)["contained"].sum()
    panels.legend_above(figure, columns=len(held))
    counts = ", ".join(f"{arm} {count}" for arm, count in held.items())
    titled(figure, f"{model}, intervals of twelve that hold the truth: {counts}", 9)


draw_ladder("celeba-like")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, effects of skin colour, hair length and gender on the errors of the fairface-like model. In each of four cells four estimates with confidence intervals, from as audited to held by intervention, on a grey band that marks the truth."}, "figure": {"name": "fig-remedies-fairface", "caption": "The same for the FairFace-like model."}}
# Computed by faceworld.scorecard.error_sources.compare_with_truth (chapter 12).
draw_ladder("fairface-like")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, effects of skin colour, hair length and gender on the errors of the plantskin control. In each of four cells four estimates with confidence intervals, from as audited to held by intervention, on a grey band that marks the truth."}, "figure": {"name": "fig-remedies-plantskin", "caption": "The same for the positive control, in which dark skin was made to matter."}}
# Computed by faceworld.scorecard.error_sources.compare_with_truth (chapter 12).
draw_ladder("plantskin")

# %% tags=["hide-input"]
followed = stage.load("12_hidden_attributes", "results.json")["attribute"]["followed"]
contained = (
    rungs[rungs["scope"] == "cell"].groupby("arm", sort=False)["contained"].agg(["sum", "size"])
)
first, held = contained.iloc[0], contained.loc["held by intervention"]
Markdown(
    f"The leak is that of {followed.replace('_', ' ')}. With it held by intervention, {held['sum']:.0f} of {held['size']:.0f} intervals "
    f"hold the truth, and as audited {first['sum']:.0f}."
)

# %% [markdown]
# All four estimates come from the same faces. So overlapping intervals say little, and the chapter compares
# paired distances instead. The table counts the verdicts of [](10_matched_pairs) in all cells: does an effect
# exceed the planned {term}`tolerance`, lie within it, or stay undecided? As there, the test for *exceeds* is adjusted
# by {term}`Holm's procedure` over the cells of a model, in each version by itself.

# %%
ARMS = list(rungs["arm"].unique())
judged = rungs[rungs["scope"] == "cell"]
pd.crosstab(judged["arm"], judged["verdict"]).reindex(ARMS).dropna(how="all")

# %%
KEYS = ["model", "attribute", "cell"]
wide = 100 * judged.pivot_table("estimate", KEYS, "arm", sort=False)[ARMS]
true_points = 100 * judged.groupby(KEYS, sort=False)["truth"].first()
without_leaks = stage.load("11_who_was_right", "matched_papers.parquet")
without_leaks = without_leaks.query("arm == 'papers, doses'").set_index(KEYS)["estimate"]

# %%
as_audited = (wide[ARMS[0]] - true_points).abs()
farther = (100 * without_leaks.loc[wide.index] - true_points).abs() > as_audited

# %% tags=["hide-input"]
question(
    "With every leak held, {off} of {n} estimates lie farther from the truth than as audited. One sample's "
    "luck, its doses and its base faces can weigh as much as all leaks. Are these more than half?",
    margin=farther.mean() - 0.5,
    error=np.sqrt(0.25 / len(farther)),
    off=farther.sum(),
    n=len(farther),
)

# %% [markdown]
# Why can adjusting add error? A regression learns the attribute's effect from faces that differ
# in it, and they differ in other ways too. Made faces with earrings look more feminine, and those with light
# hair have other lips. The regression credits the attribute with all of it. It also takes the effect to be
# alike at both levels of the audited attribute, and sees it through raters' eyes. That is an observational
# analysis inside the experiment, with all the worries of [](01_observational_audit). Orthogonalising changes
# the experiment instead. It needs a good plane, and it can make other leaks larger.

# %% [markdown]
# ## Directions that should do nothing
#
# Would the method find an effect along any direction? A laboratory would run a {term}`negative control`: the
# same procedure with a treatment that cannot work. There are two kinds here. A random direction in latent space is meaningless. And some attributes should be irrelevant to the answer, such as
# the hue of the clothes.
# Both kinds are orthogonalised against all annotated attributes, like the axes of the audit, and walked as far
# as the longest of them. The transects are those of the paper's recipe.

# %%
audit = stage.load("05_transect_generation", "papers_index.parquet").set_index("image_id")
arm = {
    what: stage.load("05_transect_generation", f"papers_{what}.npy")
    for what in ("parameters", "base")
}
audited_faces, papers_base = torch.from_numpy(arm["parameters"].copy()), arm["base"].copy()

# %%
audited = stage.load("12_hidden_attributes", "audited.parquet")
generator = load_generator("known-truth", device=device)
w = generator.sample(n_directions, seed)  # the faces of chapter 3
population = generator.parameters(w).cpu()

# %%
planes = directions.Hyperplanes.from_arrays(stage.load("03_direction_fitting", "hyperplanes.npz"))
ask_model = {name: partial(networks.predict, network) for name, network in audited_models.items()}
plan = audit_plan.read_plan(stage.load("audit_plan", "plan.json"))
planned = plan.families["effects by cell"]
places = audit[["transect", *(f"{axis}_level" for axis in AXES)]]
n_papers = audit["transect"].nunique()

# %%
CANDIDATES = ("background_hue", "clothing", "texture_seed", "hair_parting")
N_RANDOM = 8
unit = planes.unit()
levels = [np.unique(audit[f"{axis}_decision"]) for axis in AXES]
FAR = max(float(np.ptp(values)) for values in levels)  # signed distance from low to high

# %%
random = seeding.rng(seed, "14_hidden_attributes/placebo").standard_normal(
    (N_RANDOM, generator.latent_dim)
)

# %%
seen = facerender.to_frame(population).astype(float)
of_looks = directions.fit_hyperplanes(w.cpu(), seen, CANDIDATES, {})
fitted = dict(zip(CANDIDATES, of_looks.normals, strict=True))
placebos = {f"random {number + 1}": row for number, row in enumerate(random)} | fitted

# %% [markdown]
# The candidates are the hues of the background and of the clothes, the pattern of the skin's texture and the
# side on which hair is parted. Here their true values are known, so raters are left out. Every image of the
# first transects, an eighth of all or forty if that is more, is moved by the same step along each placebo.

# %%
FEW = max(n_papers // 8, min(n_papers, 40))
axes = unit.select(AXES)

# %%
OFF_GRID = [name for name in unit.names if name not in AXES]
annotated = unit.select(OFF_GRID).normals


# %%
def codes_along(held_normals: np.ndarray, which: slice = slice(None)) -> np.ndarray:
    """Codes of transects' grids along the axes' dual vectors, with other normals held."""
    basis = dual_basis(np.vstack([axes.normals, held_normals]))[: len(AXES)]
    cells = transects.grid(papers_base[which], axes.normals, axes.intercepts, basis, levels)
    return cells.reshape(-1, generator.latent_dim)


# %%
def moved_along(normal: np.ndarray, which: slice) -> torch.Tensor:
    """Faces of some transects after the step along a placebo's dual vector."""
    normal = normal / np.linalg.norm(normal)
    step = FAR * dual_basis(np.vstack([normal, unit.normals]))[0]
    return generator.parameters(torch.from_numpy(codes_along(annotated, which) + step)).cpu()


# %% [markdown]
# The crowd labels the new images, by the same raters in the same mood. Its random draws are keyed by the name
# of the image and the stage, so labels change only where faces do. The networks answer. Each new image is
# compared with the one that it was made from, within transects: in four cells of gender and hair, with light
# and dark skin as two pairs of one transect.


# %%
def wrong(score: np.ndarray, label: pd.Series) -> np.ndarray:
    """Errors against the raters' majority, 0 or 1."""
    return ((score > 0.5) != label.to_numpy()).astype(int)


# %%
def label_of(changed: torch.Tensor, index: pd.Index, batch: str) -> pd.Series:
    """The majority's label of changed images, through a file as any crowd's answers come."""
    seen = crowd.perceived(facerender.visible_scores(changed))[["gender"]].set_index(index)
    path = stage.path(f"{batch}.csv")
    answers = crowd.annotate(seen, n_raters, seed=seed, stage="06_annotation_ingestion")
    annotations.write_mturk(answers, path)
    scores = annotations.scores(annotations.read_mturk(path).frame).loc[seen.index]
    return error_rates.majority(scores["gender"])


# %%
def found_along(changed: torch.Tensor, rows: slice, name: str) -> pd.DataFrame:
    """Effects of a change of the audit's images on errors, by gender and hair, and averaged."""
    pictures = render_to_store(changed, image_size, stage.path(f"{name}.npy"), device=device)
    label = label_of(changed, audit.index[rows], "placebo")
    tables = {}
    for model, score in ask_model.items():
        before = places.iloc[rows].assign(error=audited[model][rows], moved_level=0)
        after = places.iloc[rows].assign(error=wrong(score(pictures), label), moved_level=1)
        pairs = pd.concat([before, after], ignore_index=True)
        options = {"transect": "transect", "tolerance": plan.tolerance}
        for scope, by in (("cell", ["gender_level", "hair_length_level"]), ("average", [])):
            table = effects.matched_effects(pairs, "error", "moved_level", by, **options)
            tables[model, scope] = table.reset_index(drop=True)
    return pd.concat(tables, names=["model", "scope"]).reset_index(["model", "scope"])


# %% [markdown]
# A candidate might matter after all, since a network may learn anything. So it is tested first, by
# intervention on other transects, the last ones. Their images get the new value, and the rest stays. A candidate
# passes if the intervals of all models hold zero. Passing does not show that a candidate is harmless: look at how wide its intervals are. Their number is left out of account: it is better to lose a harmless candidate than to keep one that matters. Those that pass and the random directions
# are the planned family *placebo directions*. In a small run first and last transects are the same.

# %%
last, last_rows = slice(n_papers - FEW, None), slice(8 * (n_papers - FEW), None)
alone = {}
for name, normal in fitted.items():
    value = moved_along(normal, last)[:, facerender.INDEX[name]]
    only = do(audited_faces[last_rows], **{name: value})
    alone[name] = found_along(only, last_rows, f"do_{name}").query("scope == 'average'")
alone = pd.concat(alone, names=["candidate"]).reset_index("candidate")
alone["clear"] = (alone["low"] > 0) | (alone["high"] < 0)

# %%
passed = ~alone.groupby("candidate")["clear"].any()
PLACEBOS = [name for name in placebos if passed.get(name, True)]
failed = [name.replace("_", " ") for name in CANDIDATES if not passed[name]]

# %%
alone["points"] = display_names.estimates_in_points(alone)
by_do = alone.pivot_table("points", "candidate", "model", "first").loc[list(CANDIDATES)]
by_do.insert(0, "placebo", passed.map({True: "yes", False: "no"}))
by_do.rename(lambda name: name.replace("_", " "))

# %% tags=["hide-input"]
Markdown(
    f"Not harmless, and no placebo: {', '.join(failed)}. What fails is left out below."
    if failed
    else "No candidate has an effect that this test can see; all serve as placebos."
)

# %%
few, few_rows = slice(0, FEW), slice(0, 8 * FEW)
walked = {
    name.replace("_", " "): found_along(
        moved_along(placebos[name], few), few_rows, f"placebo_{name.replace(' ', '_')}"
    )
    for name in PLACEBOS
}

# %%
walked = pd.concat(walked, names=["placebo"]).reset_index("placebo")

# %% tags=["hide-input"] mystnb={"image": {"alt": "A row for each placebo, random directions first, then attributes that passed the test by intervention. Each has the average effect on the errors of three models with a confidence interval in points, around a line at zero."}, "figure": {"name": "fig-placebos", "caption": "Negative controls: the average effect of a step along a placebo direction on the error rate, by the same estimator as the audit (95% intervals, transects are the units)."}}
# Computed by found_along (above) with faceaudit.effects.matched.matched_effects.
averages = walked[walked["scope"] == "average"]
away = ((averages["low"] > 0) | (averages["high"] < 0)).sum()
change = "change in error rate (points)"
figure = panels.intervals(averages, "placebo", "model", xlabel=change)
titled(figure, f"{away} of {len(averages)} intervals of placebos exclude zero", 6)

# %%
in_cells = walked[walked["scope"] == "cell"]
alarms, after_holm = in_cells["p"] < plan.level, effects.holm(in_cells["p"]) < plan.level
of_audit = rungs[(rungs["arm"] == ARMS[0]) & (rungs["scope"] == "cell")].reset_index(drop=True)
axis_alarms = of_audit["p"] < plan.level

# %% tags=["remove-cell"]
cells = np.array([cell for axis, cell in planned.comparisons if axis == "skin_colour"])
number = in_cells.groupby(["model", "placebo"]).cumcount()
done = in_cells[["model", "placebo"]].assign(cell=cells[number])
plan.families["placebo directions"].check(
    [*done.itertuples(index=False, name=None), *product(TRAINED, failed, cells)]
)

# %%
counts = {
    "placebos, p below the level": f"{alarms.sum()} of {len(alarms)} cells",
    "the same without any effect, at most": f"{plan.level * len(alarms):.0f}",
    "placebos, after Holm's adjustment": f"{after_holm.sum()}",
    "axes of the audit, p below the level": f"{axis_alarms.sum()} of {len(axis_alarms)} cells",
    "effect found in four of five repetitions (median cell)": f"{100 * in_cells['mde'].median():.1f} points",
}
pd.Series(counts).to_frame("this run")

# %% tags=["hide-input"]
Markdown(
    f"The placebos have {FEW} transects and the axes of the audit {n_papers}, so the two counts are not comparable. An effect "
    "on a placebo's cell that is smaller than in the last row can pass unseen."
)

# %% [markdown]
# Cells of one model share their faces, so alarms come in company. A fixed random direction moves every parameter a little, so it may have a small
# effect of its own. Many alarms would say that the estimator takes noise for effects, or that any step of this
# length changes the answer. A leak that comes with a particular axis
# stays unseen here. To see it, look at the attributes that move along *that* axis.

# %% [markdown]
# ## When there is nothing left to annotate
#
# The attribute of chapter 12 was found because somebody looked. The next one may stay unseen. A *sensitivity
# analysis* turns the question round: how strong would something hidden have to be to explain a finding away?
# Three such measures are in use. We compute all three for every effect of the audit as it was before the
# discovery.

# %%
hidden_name = stage.load("12_hidden_attributes", "results.json")["attribute"]["followed"]
average_leak = pd.Series(stage.load("12_hidden_attributes", "results.json")["leakage"]["before"])
claims = of_audit.copy()
low = claims[AXES].fillna(0).astype(int).to_numpy()  # the attribute itself at its low level

# %%
rates = {name: truth.as_grid(audited[name].to_numpy()).mean(axis=0) for name in TRAINED}
pairs = zip(claims["model"], low, strict=True)
claims["base rate"] = [rates[name][tuple(place)] for name, place in pairs]

# %% [markdown]
# ### Leakage tipping point
#
# A hidden attribute with leakage δ and effect γ adds δ γ to an estimate. It accounts for the whole estimate,
# the risk difference RD, when $|\delta\gamma| \ge |\mathrm{RD}|$. So every δ has a tipping point, the γ that
# would be needed. But which δ? It is unknown for an
# unannotated attribute. A benchmark gives an idea. Forget the other annotated attributes, one after another, and see
# how far each would have leaked. The largest leak along an axis is the benchmark.


# %%
def faces_along(held_normals: np.ndarray) -> torch.Tensor:
    """Faces of all transects along the axes' dual vectors, with other normals held."""
    return generator.parameters(torch.from_numpy(codes_along(held_normals))).cpu()


# %%
def forget(name: str) -> pd.Series:
    """Leakage of an annotated attribute along each axis, had it not been annotated."""
    others = [other for other in OFF_GRID if other != name]
    seen = facerender.visible_scores(faces_along(unit.select(others).normals))[name]
    leakage = truth.parameter_effects(seen).query("scope == 'average'")
    return leakage.set_index("attribute")["effect"]


forgotten = pd.DataFrame({name: forget(name) for name in OFF_GRID}).T

# %%
benchmark = forgotten.loc[OFF_GRID, AXES].abs().max()
fair = benchmark >= average_leak[AXES].abs()

# %%
forgotten.loc[f"{hidden_name}, in fact"] = average_leak
forgotten = forgotten[AXES].rename(lambda name: name.replace("_", " "))
forgotten = forgotten.map("{:z.2f}".format)
forgotten.loc["benchmark"] = benchmark.map("{:.2f}".format)
forgotten.loc["benchmark is large enough"] = fair.map({True: "yes", False: "no"})
forgotten.rename(columns=CONTRASTS)

# %% [markdown]
# The benchmark is as good as the likeness between annotated attributes and hidden ones. It knows how far the
# annotated ones leak, along the axes to which they are tied. An attribute that is tied to another axis leaks there, unseen by
# the benchmark. Where the benchmark is not large enough, the tipping point, which divides by it, promises too much.

# %% [markdown]
# ### E-value
#
# The {term}`E-value` {cite:p}`e-value` uses another scale. Express the effect as a ratio of two error rates,
# with the lower level's rate, taken as known, as the base. Something hidden could explain the ratio away if it
# were more frequent at one level by some factor, *and* raised errors by some factor. The E-value is the
# size that is needed if both factors are equal; if one is smaller, the other must be larger. At one, the two rates are equal, and there is no effect to explain. The version for the
# interval's nearer limit asks how much would make the effect unclear. It is one as soon as the interval holds
# zero.

# %%
claims["tipping γ"] = 100 * (claims["estimate"] / claims["attribute"].map(benchmark)).abs()
ratios = effects.e_values(claims, claims["base rate"])
claims[["E-value", "E-value of limit"]] = ratios[["e_value", "e_value_limit"]]

# %% [markdown]
# ### Rosenbaum's Γ
#
# {term}`Rosenbaum's Γ` was made for matched pairs {cite:p}`rosenbaum`. Take the pairs whose two images
# disagree: one has the error. Without an effect either image is equally likely to have it, and McNemar's test
# relies on that. Something hidden could tip the odds to as much as Γ to one. The table gives the largest Γ at
# which the test, by its mid-p, would still reject. It is empty where the test itself finds no effect.

# %%
claims["Γ"] = effects.rosenbaum_gamma(claims["worse"], claims["better"])

# %% [markdown]
# Here are all three for the main effects: for each model and attribute the cell with the largest estimate.
# Estimates are in points. The tipping γ is in points per unit of a hidden attribute that leaks as much as the
# benchmark. More than a hundred is impossible for an error rate.

# %%
MEASURES = ["tipping γ", "E-value", "E-value of limit", "Γ"]
claims["points"] = display_names.estimates_in_points(claims)
main = claims.loc[claims["estimate"].abs().groupby([claims["model"], claims["attribute"]]).idxmax()]

# %%
report = main.assign(contrast=main["attribute"].map(CONTRASTS))
report = report.set_index(["model", "contrast", "cell"])[["points", *MEASURES]]
report.loc[list(TRAINED)].style.format(precision=1, na_rep="—", subset=MEASURES)

# %% [markdown]
# How does one read a row? Compare the tipping γ with the largest effect that any attribute was seen to have.
# Ask whether you can imagine a hidden cue with both factors of the E-value. Read Γ as the odds that a nuisance
# would have to put on one side of every disagreeing pair. Where few faces are misread at the lower level, any
# ratio is huge, and so is its E-value: keep the points in view.

# %% [markdown]
# ### Would they have warned?
#
# Here the answer can be measured, though roughly. Each mark below is one effect in one cell. The horizontal
# axis is the value of a measure before the discovery, and right means "safe". The vertical axis is the size of
# the attribute's measured part, from chapter 12. Good measures would put the large parts on the left. Most
# parts are within noise of zero, and large effects have noisier parts, which alone can make a correlation.

# %%
bias = stage.load("12_hidden_attributes", "parts.parquet")
parts_of = bias.set_index(KEYS)["effect"]
claims["part"] = claims.set_index(KEYS).index.map(parts_of.to_dict())

# %%
claims["part"] = 100 * claims["part"].abs()
claims["share"] = claims["part"] / (100 * claims["estimate"].abs())

# %%
ASKED_OF = ["tipping γ", "E-value", "Γ"]
rank = claims[[*ASKED_OF, "part", "share"]].corr("spearman").loc[ASKED_OF, ["part", "share"]]
rank["effects"] = claims[ASKED_OF].notna().sum()


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three scatter plots below each other, with one vertical axis: the size of the attribute's part in points. Horizontally, on logarithmic scales, the tipping point, the E-value and Rosenbaum's gamma of each effect; three kinds of marks for three models."}, "figure": {"name": "fig-would-have-warned", "caption": "What each sensitivity measure said of an effect (horizontal, log scale, safer to the right), and the measured part of that effect (vertical), most often not clear of zero. The panels leave out values of zero or infinity, which have no place on a log axis."}}
# Computed by faceaudit.effects.verdicts.e_values and faceaudit.effects.verdicts.rosenbaum_gamma;
# the part by faceworld.scorecard.truth.parameter_effects (chapter 12).
def few_plain_ticks(ax, values: pd.Series) -> None:
    """Plain numbers along a log axis, few enough not to touch."""
    decades = np.log10(values.max() / values.min()) if len(values) else 0
    steps = (1, 2, 5) if decades < 1 else (1, 3) if decades < 2 else (1,)
    ax.xaxis.set_major_locator(LogLocator(subs=steps))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


figure, axes = plt.subplots(3, 1, sharey=True)
for ax, measure in zip(axes, ASKED_OF, strict=True):
    usable = claims[np.isfinite(claims[measure]) & (claims[measure] > 0)]
    for name in claims["model"].unique():
        look, rows = figures.look(name), usable[usable["model"] == name]
        ax.plot(rows[measure], rows["part"], look.marker, color=look.colour, label=name)
    ax.set(xscale="log", xlabel=f"{measure} (n = {len(usable)} effects)", ylabel="part (points)")
    few_plain_ticks(ax, usable[measure])
panels.legend_above(figure)
title = "Rank correlation with the part: " + ", ".join(f"{value:+.2f}" for value in rank["part"])
titled(figure, title, 8)

# %% tags=["hide-input"]
Markdown(
    f"A measure that warns has a clearly negative correlation. In this run {(rank['part'] < 0).sum()} of {len(rank)} "
    "measures have a negative one at all."
)

# %%
heads = {"part": "rank correlation with the part"}
heads |= {"share": "with its share of the estimate", "effects": "number of effects"}
rank.rename(columns=heads).round(2)

# %% [markdown]
# A negative number in the first column means that low values went with large parts, as they should. A positive
# one means that the largest parts were where the measure felt safest. The second column divides by the
# estimate, and a small estimate makes every share large. The effects share faces and images, and each measure
# leaves out some. An E-value is infinite where no face is misread at the lower level. The table ranks it as the
# largest, and the figure has no place for it. So the numbers describe this audit, without a test. All three measures
# grade *findings*, because they depend on the estimate alone.

# %% [markdown]
# ### Limits of these numbers
#
# - They answer "could something hidden explain all of it?". A bias that leaves half of an effect, or hides
#   half of it, passes all three.
# - They start from an effect. Where the audit found none, a hidden cue may have cancelled a real one. For "no
#   effect", ask how much confounding could hide an effect as large as the tolerance; `effects.e_values` takes
#   it as `null`.
# - A large value is a statement about strength. To learn whether all attributes were held, look at images and
#   ask people.
# - They treat one hidden attribute at a time. Several small ones can add up.


# %% tags=["remove-cell"]
ends = entangled[entangled["share"].isin([0, 1])].groupby("share")["value"].max()
fewest = noisy[(noisy["raters"] == CROWDS[0]) & (noisy["noise"] == "twice the noise")][
    "value"
].max()
glue(
    "answer",
    Markdown(
        f"**Answer.** With raw normals the largest departure from the truth, typical over four cells, is {100 * ends[1]:.1f} points in "
        f"this run, with the dual basis {100 * ends[0]:.1f}. One rater with twice the calibrated noise moves an "
        f"estimate by up to {100 * fewest:.1f} points. More transects help against sampling error only. "
        f"Along directions that should have no effect, {alarms.sum()} of {len(alarms)} cells raise an alarm "
        f"({plan.level * len(alarms):.0f} are expected by chance alone), and {after_holm.sum()} after Holm's adjustment.\n\n"
        "An auditor can notice raw normals (measure what else moves), few transects (wide intervals) and noisy raters "
        "(they disagree). Raters who all follow one cue, and a hidden attribute, leave no trace in the audit's own numbers."
    ),
    display=False,
)

# %% [markdown]
# ## What would change our mind
#
# - If departures grew faster than the leakage that can be measured, the leakage matrix would be the wrong
#   instrument to guard with.
# - If placebo directions were flagged about as often as the axes of the audit, the audit would have found what
#   the method does to any direction.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Another hidden attribute, 15 minutes, medium
# :label: exercise-hidden-glasses
# Replace earrings by glasses in the sweep of the hidden attribute. Before you run it, predict from the
# populations of [](02_face_world) whether the shift will be larger or smaller, and for which model.
#
# **Check:** your array has one more axis than the faces' grid, with two levels.
# ```

# %% [markdown]
# ```{solution-start} exercise-hidden-glasses
# :class: dropdown
# ```

# %% tags=["solution"]
worn = under_do({**doses, "glasses": (0.0, 1.0)}, "glasses.npy")
by_attribute = {"earrings": hidden, "glasses": worn}
women = 1 + AXES.index("gender")
does = {
    what: {name: np.diff(e.take(0, women), axis=-1).mean() for name, e in answers.items()}
    for what, answers in by_attribute.items()
}
assert all(e.shape == hidden[name].shape for name, e in worn.items())
(100 * pd.DataFrame(does)).round(1)

# %% [markdown]
# The table has the change of women's error rate, in points, when each is put on. In all training populations
# glasses are independent of gender, so they are a poor sign of it. They can still
# disturb it, because they cover the eyes. Earrings occur on women only, so a model may learn them as a cue.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} A leak on the E-value's own scale, 15 minutes, hard
# :label: exercise-e-value-scale
# Two factors $a$ and $b$ can change a risk ratio by at most $ab/(a + b - 1)$. Write a function that gives this
# bound, and apply it with both factors at the E-value of each effect.
#
# **Check:** you get the risk ratio of the effect back.
# ```

# %% [markdown]
# ```{solution-start} exercise-e-value-scale
# :class: dropdown
# ```


# %% tags=["solution"]
def bound(a, b):
    """The most by which two factors can change a risk ratio."""
    return a * b / (a + b - 1)


finite = ratios[np.isfinite(ratios["e_value"]) & np.isfinite(ratios["rr"]) & (ratios["rr"] > 0)]
away_from_one = np.maximum(finite["rr"], 1 / finite["rr"])
assert np.allclose(bound(finite["e_value"], finite["e_value"]), away_from_one)
pd.DataFrame({"risk ratio": away_from_one, "E-value": finite["e_value"]}).head(4).round(2)

# %% [markdown]
# The E-value is the point where both factors are equal and the bound reaches the ratio. If you know one
# factor, such as how much more frequent the attribute is at one level, the other one has to be larger than
# the E-value whenever the first is smaller.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Adjusting within transects, 20 minutes, hard
# :label: exercise-within
# The regression of chapter 12 compares faces that differ in the attribute. Adjust with the changes inside a
# transect only: regress the paired difference of errors on the paired difference of the attribute. Name one gain and one cost.
#
# **Check:** with a difference of zero in all pairs, the intercept is the matched estimate.
# ```

# %% [markdown]
# ```{solution-start} exercise-within
# :class: dropdown
# ```

# %% tags=["solution"]
NAME = hidden_name.replace(" ", "_")
worn = np.diff(
    truth.as_grid(raters.visible_parameter(audited_faces, NAME).to_numpy()), axis=1
).ravel()


def within(name: str, change: np.ndarray) -> tuple[float, float]:
    """Intercept of the skin effect at an unchanged attribute, and its standard error."""
    y = np.diff(truth.as_grid(audited[name].to_numpy()), axis=1).ravel()
    columns = np.stack([np.ones_like(change), change], axis=1)
    fit, *_ = np.linalg.lstsq(columns, y, rcond=None)
    left = y - columns @ fit
    cover = np.linalg.pinv(columns.T @ columns) * left.var()
    return fit[0], np.sqrt(cover[0, 0])


plain = {name: within(name, 0 * worn)[0] for name in TRAINED}
matched = {
    name: np.diff(truth.as_grid(audited[name].to_numpy()), axis=1).mean() for name in TRAINED
}
assert np.allclose([*plain.values()], [*matched.values()])
table = {name: (matched[name], *within(name, worn)) for name in TRAINED}
(100 * pd.DataFrame(table, ["matched", "within", "its standard error"]).T).round(1)

# %% [markdown]
# The table has effects of dark skin, in points. The intercept separates the attribute from the kind of
# face that has it. It costs precision. Where nearly all pairs change by the same amount, it is an
# extrapolation. It also assumes that the attribute changes for reasons that
# leave the errors alone.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} A placebo for the raters, 10 minutes, medium
# :label: exercise-placebo-raters
# The placebos above test directions and networks. Which negative control would test the crowd? Make it, for
# the images of this audit.
#
# **Check:** the effect of a control is zero by design, so you know its right answer.
# ```

# %% [markdown]
# ```{solution-start} exercise-placebo-raters
# :class: dropdown
# ```

# %% tags=["solution"]
seen = crowd.perceived(facerender.visible_scores(audited_faces))
names = [prefix + audit.index for prefix in ("a", "b")]
rating = {"raters": n_raters, "noise": 1.0, "seed": seed, "stage": "exercise: rated twice"}
twice = [scorecard.labels_by(seen.set_index(name), **rating) for name in names]
twice = [np.asarray(label, dtype=float) for label in twice]
change = (twice[0] - twice[1]).reshape(n_papers, 8).mean(axis=1)
question(
    "The same images under two names: {share:.1%} of labels differ, and the mean difference is {mean:+.4f}. Is "
    "it away from zero?",
    margin=abs(change.mean()),
    error=change.std(ddof=1) / np.sqrt(n_papers) + 1e-12,
    share=(twice[0] != twice[1]).mean(),
    mean=change.mean(),
)

# %% [markdown]
# Show raters the same image twice under two names. The mean difference of labels should be zero, and the share
# of changed labels is the noise of the crowd. Pruning has a placebo too: prune by a rating that was permuted
# over images. The estimates should stay, with wider intervals.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - Entangled directions give a precise estimate of another effect. Measure leakage first.
# - Few raters blur an estimate, and raters who follow a cue move it. More of the same raters help only against
#   the first.
# - Random placebo directions work in a real study too.
# - Tipping points, E-values and Γ grade a finding. Finding the hidden attribute is another task.

# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "entangled": entangled.to_dict("records"),
        "raters": noisy.to_dict("records"),
        "power": power.astype(object).where(power.notna(), None).to_dict("records"),
        "tipping": tipped.reset_index().to_dict("records"),
        "placebos": {
            "cells": len(alarms),
            "alarms": int(alarms.sum()),
            "after_holm": int(after_holm.sum()),
        },
        "benchmark_leakage": benchmark.to_dict(),
        "rank_correlation_with_part": rank["part"].to_dict(),
    }
)
