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
# # Doses, scores, thresholds, harm and help
#
# *This note belongs to chapter 10. You need its matched effects and its truth. Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# [](10_matched_pairs) gives differences of two error rates, at one threshold, between two levels, averaged over faces. Doses,
# scores and single faces tell more. What does the summary leave out?
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
# | Population | base faces of transects, as in [](10_matched_pairs); for the counted gap, the women of [](01_observational_audit) |
# | Unit | a transect |
# | Intervention | skin colour or hair length, from the lowest level to each step above it; for interactions also perceived gender |
# | Held fixed | the other axes at one level (a *cell*), and the rest of the face as well as the directions manage |
# | Outcome and who labels it | error against the raters' majority at each threshold; probability of the wrong answer; in the truth, against the level that was set |
# | Estimand | [dose-response, effect on the score, effect at a threshold, calibration, harmed and helped, interaction](estimands), found and true |
# | Tolerance and n | none is set: no new verdict is made; all transects enter unpruned; intervals hold for a whole figure or table at once, but those of reliability, of shares and of the verdict one by one |
# | Decision at stake | whether to trust a verdict that rests on two levels, one threshold and an average |
# | Known failure | directions move more than one attribute, raters err; calibration within a labelled gender is misread |
# :::

# %% [markdown]
# ```{glue:figure} one-face
# :name: fig-dose-faces
# :alt: Two rows of four drawn faces. In the upper row one face gets darker skin from left to right, and its hair may darken too; in the lower row the same face gets longer hair.
#
# The first transect in four steps of skin colour (above) and of hair length (below), each with the other axes at their
# low level. An error rate at the ends sees the first and the last picture of a row. Does half the way do half the harm?
# Drawn under [](#doses-in-steps).
# ```

# %% tags=["hide-cell"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from matplotlib.ticker import PercentFormatter
from myst_nb import glue
from scipy.special import expit, stdtrit
from scipy.stats import norm
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import facerender
from faceaudit import effects
from faceaudit.annotations import schema
from faceaudit.annotations.schema import n_levels
from faceaudit.effects import contrasts, display_names, error_rates, max_t_intervals
from faceaudit.effects.verdicts import Z
from faceaudit.latents import transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils import seeding
from faceaudit.utils.formatting import with_minus
from faceworld import counterfactuals, crowd, do, load_generator, networks
from faceworld.raters import loose_hair
from faceworld.rendering import render_to_store
from faceworld.scorecard import truth
from helpers import audit_plan, figures
from helpers.artifacts import Stage
from helpers.claims import question

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
figure_size = 256
n_transects = 400
n_truth = 1600
n_raters = 5
n_boot = 1000

# %% tags=["remove-cell"]
NARROW = 4.8  # inches, so that a phone shows the words of a figure
stage = Stage("n07_beyond_error_rates", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:.3f}".format

# %% [markdown]
# The axes come from [](05_transect_generation). An audit without a gender axis has other axes there, and all functions below take
# them. It loses only the verdict on the counted women. We audit the three trained models. The null control, which answers by chance,
# joins where only errors matter.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
MODELS = (*TRAINED, "null")
doses = stage.load("05_transect_generation", "doses.json")
AXES = list(doses)

# %%
audit = stage.load("08_stratified_errors", "audit.parquet")
audited_models = networks.load_all(stage, "02_face_world", TRAINED)

# %% [markdown]
# ## Every number is a mean over transects
#
# Write a transect as a small array with one outcome for each combination of levels. Compute your number inside each
# transect, then average over transects. So one kind of interval serves all numbers: a difference of errors, a point of a curve, an interaction. The
# truth has the same shape, because an intervened base face is an array too.


# %%
def grid(outcome: str) -> np.ndarray:
    """One outcome of all transects, (transects, 2, 2, 2)."""
    return contrasts.outcome_grid(audit, outcome, AXES, "transect")


errors_found = {model: grid(f"error_{model}") for model in MODELS}
errors_true = {model: stage.load("11_who_was_right", f"under_do_{model}.npy") for model in TRAINED}
label_found = grid("label")

# %% [markdown]
# A curve or a table makes the reader look for its largest entry. Intervals that hold one at a time are too narrow for that. So the
# intervals of one figure or table hold *together*, for all models at once. We draw transects again with replacement, and note the largest deviation
# among all entries, in standard errors. The value that one draw in twenty exceeds is the reach of every interval {cite:p}`max-t`. Errors are
# rare, so we add one error of each kind {cite:p}`paired-wald`.


# %%
def together(values: pd.DataFrame, unit: float = 0.0) -> pd.DataFrame:
    """Simultaneous intervals of the columns; unit: what one more error changes in a value."""
    return max_t_intervals(values, unit, n_boot=n_boot, seed=seed, stage="18_beyond_error_rates")


def beside_truth(found: pd.DataFrame, true_values: pd.DataFrame) -> pd.DataFrame:
    """The intervals of `together`, beside the mean of the true values and its standard error."""
    table = found.assign(truth=true_values.mean(), truth_se=true_values.sem())
    reach = found.attrs["critical"] * np.hypot(table["se"], table["truth_se"])
    return table.assign(
        clear=(table["low"] > 0) | (table["high"] < 0),
        holds=table["truth"].between(table["low"], table["high"]),
        agrees=(table["estimate"] - table["truth"]).abs() <= reach,
    )


# %% [markdown]
# The truth is computed on samples of faces, so it has an error too. `holds` says whether an interval contains the estimated truth. `agrees` says
# whether the two differ by no more than both errors allow. A miss can come from the method or from the pictures. Repeated ideal audits at the
# end test the method. [](11_who_was_right) took the errors of the pictures apart.

# %% [markdown]
# (doses-in-steps)=
# ## Doses
#
# Two levels compare the ends. Does half the way do half the harm? Each transect gets two more steps along skin colour and along hair
# length, in every cell of the other axes. The ends exist already. The steps between are made as in [](05_transect_generation), rendered, and shown to
# models and raters.

# %%
STEPS = 4
MOVED = AXES[:2]  # skin colour and hair length
BETWEEN = np.arange(1, STEPS - 1) / (STEPS - 1)

# %%
steps = stage.load("05_transect_generation", "steps.npy").copy()  # of the eight cells
base = stage.load("05_transect_generation", "fitted_base.npy").copy()
world = load_generator("known-truth", device=device, size=image_size)


# %%
def walked(axis: str) -> torch.Tensor:
    """Faces at the inner steps of an axis, in every cell of the others."""
    place = AXES.index(axis)
    low, high = np.split(steps.reshape(2, 2, 2, -1), 2, axis=place)
    share = np.reshape(BETWEEN, [-1 if k == place else 1 for k in range(4)])
    between = (1 - share) * low + share * high
    codes = base[:, None, None, None] + between
    return world.parameters(torch.from_numpy(codes.reshape(-1, world.latent_dim)))


# %% [markdown]
# The raters say of each new image its gender and how much of the attribute it shows. Their answer is the dose, because an audit of a real
# generator has only that. We count it in steps of the raters' scale: five from *Light* to *Black* for skin colour, four for hair length.


# %%
def rated(parameters: torch.Tensor, axis: str) -> pd.DataFrame:
    """The raters' mean scores of gender and of one axis, for new images."""
    seen = crowd.perceived(facerender.visible_scores(parameters))[["gender", axis]]
    seen.index = [f"{axis}_{number:06d}" for number in range(len(seen))]
    answers = crowd.annotate(seen, n_raters, seed=seed, stage="18_beyond_error_rates")
    return crowd.mean_scores(answers).reindex(seen.index)


# %%
def asked(parameters: torch.Tensor, name: str) -> dict[str, np.ndarray]:
    """Every model's P(male) of faces that are rendered for it."""
    path = stage.path(f"{name}.npy")
    pictures = render_to_store(parameters, image_size, path, device=device)
    return {model: networks.predict(network, pictures) for model, network in audited_models.items()}


# %%
SCALE = {axis: n_levels(axis) - 1 for axis in MOVED}

# %%
people = {axis: walked(axis) for axis in MOVED}
between = {}
for axis in MOVED:
    scores = asked(people[axis], f"between_{axis}")
    seen = rated(people[axis], axis)
    label = error_rates.majority(seen["gender"])
    between[axis] = {model: (scores[model] > 0.5) != label for model in TRAINED}
    between[axis] |= {"rated": seen[axis], "exact": facerender.to_frame(people[axis])[axis]}


# %% [markdown]
# The inner steps join the two ends of each transect. One array per model and axis then has the errors of all transects at all steps.

# %%
SHAPE = {axis: [STEPS - 2 if a == axis else 2 for a in AXES] for axis in MOVED}


def by_step(ends: np.ndarray, middle: np.ndarray, axis: str) -> np.ndarray:
    """Both ends and the steps between as (faces, steps, cells of the other axes)."""
    along = AXES.index(axis) + 1
    low, high = np.split(ends, 2, axis=along)
    middle = np.asarray(middle, float).reshape(-1, *SHAPE[axis])
    steps = np.moveaxis(np.concatenate([low, middle, high], axis=along), along, 1)
    return steps.reshape(len(steps), STEPS, -1)


# %%
set_to = torch.from_numpy(stage.load("05_transect_generation", "fitted_parameters.npy").copy())
for axis in MOVED:
    audit[f"exact_{axis}"] = facerender.to_frame(set_to)[axis].to_numpy()

# %%
exact_dose = {a: by_step(grid(f"exact_{a}"), between[a]["exact"], a) for a in MOVED}
rated_dose = {a: SCALE[a] * by_step(grid(a), between[a]["rated"], a) for a in MOVED}
typical = {axis: np.median(dose, axis=(0, 2)) for axis, dose in exact_dose.items()}

# %% [markdown]
# Look once more at the face of {numref}`fig-dose-faces`. It goes through all steps of each axis. Watch for anything else that changes from
# left to right: hair that darkens with the skin, a jaw that widens, earrings that appear. Such a change is a part of the dose, and the
# estimates of this section include it. The table has the mean dose that raters see at each step.

# %%
ends = np.arange(len(audit)).reshape(-1, *[2] * len(AXES))  # images stand in the order of levels


def first_transect(axis: str) -> torch.Tensor:
    """The first transect's faces at all steps of an axis, the other axes at their low levels."""
    inner = len(audit) + np.arange(len(people[axis]))
    steps = by_step(ends, inner, axis)[0, :, 0].astype(int)
    return torch.cat([set_to, people[axis].cpu()])[steps]


# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Two rows of four drawn faces. In the upper row one face gets darker skin from left to right, and its hair may darken too; in the lower row the same face gets longer hair."}, "figure": {"caption": "The figure at the top of this page."}}
portraits = facerender.render(
    torch.cat([first_transect(axis) for axis in MOVED]), figure_size
).image
titles = [f"step {step}" for step in range(STEPS)]
figure = figures.gallery(portraits, STEPS, titles, [axis.replace("_", " ") for axis in MOVED])
figure.set_size_inches(NARROW, 2.8)
glue("one-face", figure, display=False)
plt.close(figure)

# %%
mean_dose = {axis.replace("_", " "): dose.mean((0, 2)) for axis, dose in rated_dose.items()}
pd.DataFrame(mean_dose).rename_axis("step").style.format("{:.1f}")

# %% [markdown]
# The steps are equal in the latent space, and less equal to the eye. The truth takes the same doses, as the renderer counts them. We set each
# dose by intervention on new base faces, the first ones of the truth of [](11_who_was_right), and change only that.

# %%
recipe = stage.load("05_transect_generation", "results.json")
names = (*AXES, *recipe["held"], "age")
exact_planes = Hyperplanes(names, *world.exact_hyperplanes(names))
youngest = float(world.decision_value("age", recipe["adult"]))
held = {name: float(world.decision_value(name, dose)) for name, dose in recipe["held"].items()}

# %%
drawn = {"youngest": youngest, "held": held, "seed": seed, "stage": "10_effects_and_truth"}
n_scored = n_truth // 4
n_dosed = min(n_transects // 2, n_scored)
latents = transects.base_latents(world, exact_planes, AXES, n_dosed * 3 // 2, **drawn)

# %%
true_base = world.parameters(torch.from_numpy(latents))
true_base = true_base[torch.from_numpy(loose_hair(true_base))][:n_dosed]


# %%
def intervened(axis: str) -> torch.Tensor:
    """The true base faces at the inner doses of an axis, in every cell of the others."""
    ends = doses | {axis: typical[axis][1:-1].tolist()}
    settings = (dict(zip(AXES, levels, strict=True)) for levels in product(*ends.values()))
    return torch.stack([do(true_base, **levels) for levels in settings], 1).flatten(0, 1)


true_between = {axis: asked(intervened(axis), f"true_{axis}") for axis in MOVED}

# %% [markdown]
# We ask for the scores at the ends once more, on the pictures that [](11_who_was_right) left, for a quarter of its faces. The next section needs them
# too. The right answer to a picture follows from the errors that were noted there.

# %%
cells = (n_scored, *[2] * len(AXES))
pictures = stage.load("11_who_was_right", "truth.npy")[: np.prod(cells)]
score_true = {
    m: networks.predict(net, pictures).reshape(cells) for m, net in audited_models.items()
}
label_true = (score_true[TRAINED[0]] > 0.5) != errors_true[TRAINED[0]][:n_scored]

# %% tags=["remove-cell"]
for model in TRAINED:  # the same pictures, the same answers
    assert (((score_true[model] > 0.5) != label_true) == errors_true[model][:n_scored]).all()
# The faces of the inner doses are those of the pictures at the ends.
same = counterfactuals(true_base[:2], doses).flatten(0, len(AXES))
again = render_to_store(same, image_size, stage.path("same.npy"), device=device)
assert np.abs(again.astype(int) - pictures[: len(again)]).max() <= 1


# %%
def true_steps(axis: str, model: str) -> np.ndarray:
    """True errors at every step of an axis; the right answer is that of the lowest step."""
    answers = true_between[axis][model].reshape(-1, *SHAPE[axis]) > 0.5
    right = label_true[:n_dosed].take([0], AXES.index(axis) + 1)
    return by_step(errors_true[model][:n_dosed], answers != right, axis)


steps_found = {(a, m): by_step(errors_found[m], between[a][m], a) for a in MOVED for m in TRAINED}
steps_true = {(a, m): true_steps(a, m) for a in MOVED for m in TRAINED}

# %% [markdown]
# We read three things off each curve: the change of the error rate at each step, the mean effect of one step of the raters' scale, and the *bend*. The
# bend is the height of the inner points above a straight line between the ends. The mean change divided by the mean dose is Wald's estimator
# {cite:p}`wald`. Noise of the raters would flatten a regression on rated doses. It leaves this ratio alone, because the steps that we asked for carry no
# noise.


# %%
def per_unit(change: np.ndarray, dose: np.ndarray) -> np.ndarray:
    """Values (n, m) whose mean is the mean change of the outcome per unit of dose, for changes
    (n, m); their standard deviation is that of the ratio's influence function (delta method)."""
    change, dose = change.astype(float), dose.astype(float)
    ratio = change.mean(axis=0) / dose.mean(axis=0)
    return ratio + (change - ratio * dose) / dose.mean(axis=0)


def bend(outcome: np.ndarray, dose: np.ndarray) -> np.ndarray:
    """Values (n, m) whose mean is how far the inner steps of outcomes (n, K, m) lie above the
    straight line that joins the ends, read at the mean doses (n or 1, K, m)."""
    outcome, dose = outcome.astype(float), dose.astype(float)
    rise, run = outcome - outcome[:, :1], dose - dose[:, :1]
    share = run.mean(axis=0) / run[:, -1].mean(axis=0)
    slope = rise[:, -1].mean(axis=0) / run[:, -1].mean(axis=0)
    # The place on the line is estimated too: a face with a larger dose at a step moves it.
    moved = slope * (run - share * run[:, -1:])
    return (rise - share * rise[:, -1:] - moved)[:, 1:-1].mean(axis=1)


# %%
def readings(steps: dict, dose: dict[str, np.ndarray]) -> pd.DataFrame:
    """Changes, slopes and bends, a row per face; columns reading, axis, model, step, cell."""
    parts = {}
    for (axis, model), outcome in steps.items():
        change, run = (each - each[:, :1] for each in (outcome, dose[axis]))
        for step in range(STEPS):
            parts["change", axis, model, step] = change[:, step]
        run = np.broadcast_to(run[:, -1], change[:, -1].shape)
        parts["per step", axis, model, STEPS - 1] = per_unit(change[:, -1], run)
        parts["bend", axis, model, STEPS - 1] = bend(outcome, dose[axis])
    frames = {key: pd.DataFrame(part, columns=CELLS[key[1]]) for key, part in parts.items()}
    return pd.concat(frames, axis=1, names=["reading", "axis", "model", "step", "cell"])


# %%
SIMPLE = contrasts.factorial_contrasts(AXES, [1])
CELLS = {a: SIMPLE.loc[a.replace("_", " ")].index.drop("average") for a in MOVED}

# %%
true_dose = {
    a: SCALE[a] * np.broadcast_to(typical[a][:, None], rated_dose[a].shape[1:])[None] for a in MOVED
}

# %%
found = readings(steps_found, rated_dose)
true = readings(steps_true, true_dose)
spans = {axis: (dose[:, -1] - dose[:, 0]).mean() for axis, dose in rated_dose.items()}
one_error = {"change": lambda _: 1, "bend": lambda _: 1 / (STEPS - 2), "per step": lambda a: 1 / a}
unit = [one_error[reading](spans[axis]) for reading, axis, *_ in found.columns]
dosed = beside_truth(together(found, np.array(unit)), true).sort_index()


# %%
def plotted(axis: str) -> pd.DataFrame:
    """The curves of an axis, with their doses; at the lowest one nothing has changed yet."""
    table = dosed.loc[("change", axis)].copy()
    table.loc[table.index.get_level_values("step") == 0, ["low", "high"]] = 0
    places = pd.MultiIndex.from_product([range(STEPS), CELLS[axis]], names=["step", "cell"])
    for name, dose in {"dose": rated_dose, "true_dose": true_dose}.items():
        mean = pd.Series(dose[axis].mean(axis=0).ravel(), places)
        table[name] = mean.reindex(table.index.droplevel("model")).to_numpy()
    return table.reorder_levels(["model", "cell", "step"]).sort_index()


# %% tags=["hide-cell"]
def draw_band(ax, x, curve: pd.DataFrame, look: figures.Look, label: str, marker: str = "") -> None:
    """A curve with a band from low to high around it."""
    ax.fill_between(x, curve["low"], curve["high"], color=look.colour, alpha=0.2, linewidth=0)
    ax.plot(x, curve["estimate"], color=look.colour, marker=marker, markersize=5, label=label)


def finish(
    figure, axes, titles: list[str], xlabel: str, ylabel: str = "", columns: int = 2
) -> None:
    """Titles of the columns, labels of the whole figure, and one legend."""
    for ax, title in zip(axes.flat, titles, strict=False):
        ax.set_title(with_minus(title), fontsize=11)
    figure.supxlabel(xlabel, fontsize=12)
    figure.supylabel(ylabel, fontsize=12)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=columns)


# %% tags=["hide-cell"]
def draw_doses(curves: pd.DataFrame, axis: str, xlabel: str) -> None:
    """Change of the error rate by dose, found and true: a row per model, a column per gender."""
    other = next(name for name in MOVED if name != axis)
    groups, looks = schema.LEVEL_NAMES[AXES[-1]], schema.LEVEL_NAMES[other]
    size = (NARROW, 1.4 + 2.3 * len(TRAINED))
    shape = {"sharex": True, "sharey": "row", "squeeze": False}
    figure, axes = plt.subplots(len(TRAINED), len(groups), figsize=size, **shape)
    for (row, model), (column, who) in product(enumerate(TRAINED), enumerate(groups)):
        ax = axes[row, column]
        ax.axhline(0, color=figures.BLACK, linewidth=1)
        for cell in CELLS[axis]:
            if who not in cell.split(", "):
                continue
            name = next(word for word in looks if word in cell)
            curve, look = curves.loc[(model, cell)], figures.look(name)
            draw_band(ax, curve["dose"], curve, look, name, look.marker)
            style = {"fmt": f"{look.marker}--", "color": look.colour, "markersize": 5}
            reach = Z * curve["truth_se"]
            x, y = curve["true_dose"], curve["truth"]
            ax.errorbar(x, y, yerr=reach, mfc="white", label=f"{name}, true", **style)
        ax.yaxis.set_major_formatter(PercentFormatter(1, 0, ""))
        axes[row, 0].set_ylabel(model)
    bends = dosed.loc[("bend", axis)]["clear"]
    cells = bends.index.get_level_values("cell").str.split(", ")
    bent = {who: bends[[who in cell for cell in cells]] for who in groups}
    titles = [f"{who}: {one.sum()} of {len(one)}\ncurves clearly bend" for who, one in bent.items()]
    finish(figure, axes, titles, xlabel, "change in error rate (points)")


# %% mystnb={"image": {"alt": "Three rows of panels, one per model, and two columns, women and men. Each panel has two lines with bands, short and long hair, for the change in error rate over four doses of skin colour, and two dashed lines for the truth. Curves may rise or fall steadily, or bend."}, "figure": {"name": "fig-doses-skin", "caption": "Change in the error rate as skin darkens, against the lightest step, for women and men with short and with long hair. Solid: found, with a band that holds for this section as a whole. Dashed: true, with 95% intervals."}}
# Computed by readings (above) and faceaudit.effects.verdicts.max_t_intervals.
draw_doses(plotted("skin_colour"), "skin_colour", "skin colour, in steps of the raters' scale")

# %% mystnb={"image": {"alt": "Three rows of panels, one per model, and two columns, women and men. Each panel has two lines with bands, light and dark skin, for the change in error rate over four doses of hair length, and two dashed lines for the truth."}, "figure": {"name": "fig-doses-hair", "caption": "The same as hair grows, against the shortest step, for light and for dark skin."}}
# Computed by readings (above) and faceaudit.effects.verdicts.max_t_intervals.
draw_doses(plotted("hair_length"), "hair_length", "hair length, in steps of the raters' scale")

# %% [markdown]
# Look for a curve that falls and rises again, or the reverse. Two levels compare only its ends, and the same levels elsewhere could give another
# answer. The first table lists the steepest curves: points of the error rate for one step of the raters' scale.


# %%
def in_words(table: pd.DataFrame):
    """A table to look at: points with a sign, yes or no, names without underscores."""
    said = np.where(table["agrees"], "yes", "no")
    shown = table.assign(agrees=said)[["agrees", "points", "true"]]
    shown = shown.rename(columns={"points": "found (points)", "true": "true (points)"}).style
    return shown.format({"true (points)": "{:+z.1f}"}).format_index(
        lambda name: name.replace("_", " ")
    )


# %%
slopes = dosed.loc["per step"].droplevel("step")
slopes = slopes.assign(points=display_names.estimates_in_points(slopes), true=100 * slopes["truth"])
largest = slopes[slopes["clear"]].sort_values("estimate", key=np.abs, ascending=False)
in_words(largest.head(8))

# %% [markdown]
# A step of the scale is a unit that people can see, so effects of different audits can be compared in it. A mean slope is a good summary only where
# the curve is straight. The bends say by how much it is not: the next table lists the largest, in points. The last table counts, of each kind, the shares that are clear of zero, whose interval
# holds the truth, and that agree with it.

# %%
bends = dosed.loc["bend"].droplevel("step")
bends = bends.assign(points=display_names.estimates_in_points(bends), true=100 * bends["truth"])
bent = bends[bends["clear"]].sort_values("estimate", key=np.abs, ascending=False)
in_words(bent.head(8))

# %%
points_on = dosed.loc["change"].query("step > 0")
kinds = {"points of the curves": points_on, "slopes": slopes, "bends": bends}
shares = {name: part[["clear", "holds", "agrees"]].mean() for name, part in kinds.items()}
heads = {"clear": "clear of zero", "holds": "hold the truth", "agrees": "agree with it"}
shares = pd.DataFrame(shares).T.rename(columns=heads).style.format("{:.0%}")
shares.format_index(lambda name: f"{len(kinds[name])} {name}")

# %% tags=["hide-input"]
Markdown(
    f"Does half the way do half the harm? {len(bent)} of {len(bends)} curves clearly bend. On the others a "
    "straight line may do."
)

# %% [markdown]
# ## Scores
#
# An error is a score that has crossed a line. A model can come nearer to the line for one group without crossing it. So here the outcome is
# the probability that the model gives to the *wrong* answer. We compare it within pairs, like errors. The table below the figure counts in how
# many cells the effect is clear of zero, on the scores and on the errors. It counts the cells of gender too, which the figure leaves out.

# %%
wrong_found = {m: np.abs(grid(f"score_{m}") - label_found) for m in TRAINED}
wrong_true = {m: np.abs(score_true[m] - label_true) for m in TRAINED}


# %%
def of_all(grids: dict, coefficients: pd.DataFrame) -> pd.DataFrame:
    """Values of every contrast of every model, a row per transect."""
    values = {model: contrasts.contrast_values(each, coefficients) for model, each in grids.items()}
    return pd.concat(values, axis=1, names=["model"])


# %%
one_error = SIMPLE.abs().max(axis=1)
of_errors = {model: errors_found[model] for model in TRAINED}
found = {"scores": of_all(wrong_found, SIMPLE), "errors": of_all(of_errors, SIMPLE)}
true = {"scores": of_all(wrong_true, SIMPLE), "errors": of_all(errors_true, SIMPLE)}

# %%
unit = np.concatenate([np.zeros(3 * len(SIMPLE)), np.tile(one_error, 3)])
section = together(pd.concat(found, axis=1), unit)

# %%
compared = {}
for outcome in found:
    part = section.loc[outcome]
    part.attrs["critical"] = section.attrs["critical"]
    compared[outcome] = beside_truth(part, true[outcome])
compared = pd.concat(compared, names=["outcome"])

# %%
in_cells = compared.query("held != 'average'")
by_scores = in_cells.loc["scores"].query("contrast in ['skin colour', 'hair length']")


# %% tags=["hide-cell"]
def draw_beside_truth(table: pd.DataFrame, xlabel: str) -> None:
    """Estimates with their intervals beside the truth: a row per contrast, a mark per model."""
    rows = table.loc[[TRAINED[0]]].droplevel(0).index
    ax = plt.figure(figsize=(NARROW, 2 + 0.66 * len(rows))).gca()
    ax.axvline(0, color=figures.BLACK, linewidth=1)
    for place, model in enumerate(TRAINED):
        part, look = table.loc[model].reindex(rows), figures.look(model)
        y = np.arange(len(rows)) + 0.28 * (place - 1)
        reach = np.clip([part["estimate"] - part["low"], part["high"] - part["estimate"]], 0, None)
        style = {"fmt": look.marker, "color": look.colour, "markersize": 5, "capsize": 2}
        ax.errorbar(part["estimate"], y, xerr=reach, label=model, **style)
        style = {"fmt": "D", "color": look.colour, "markersize": 6, "mfc": "white"}
        ax.errorbar(part["truth"], y + 0.09, xerr=Z * part["truth_se"], **style)
    ax.xaxis.set_major_formatter(PercentFormatter(1, 0, ""))
    named = [",\n".join(filter(None, key)) for key in rows]
    named = [name.replace("skin colour", "skin").replace("hair length", "hair") for name in named]
    ax.set_yticks(range(len(rows)), named)
    ax.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.5))
    known = table.loc[[*TRAINED]]
    held = f"{known['holds'].sum()} of {len(known)} intervals hold\nthe truth (open diamonds)"
    ax.figure.legend(loc="outside upper center", ncol=2, title=held, title_fontsize=12)


# %% mystnb={"image": {"alt": "Eight rows with a mark for each of three models: the effect of skin colour in the cells of hair length and gender, and of hair length in the cells of skin colour and gender, on the probability of the wrong answer. Each mark has an interval, and an open diamond beside it for the truth."}, "figure": {"name": "fig-scores", "caption": "Change in the probability of the wrong answer, high minus low level, in each cell: found, with intervals that hold together, and true, with 95% intervals."}}
# Computed by faceaudit.effects.contrasts.contrast_values and
# faceaudit.effects.verdicts.max_t_intervals.
draw_beside_truth(by_scores, "change in the probability of the wrong answer (points)")

# %%
clear = in_cells.groupby("outcome")["clear"].sum()
both = pd.DataFrame({name: in_cells["clear"].loc[name] for name in found})
finer = clear["scores"], clear["errors"], len(both)
both.map({True: "clear", False: "not clear"}.get).value_counts().to_frame("cells")

# %% [markdown]
# Scores are finer than errors, so the same transects show more. They also show what matters less: a model that is sure of one picture and a little less
# sure of the other. And narrow intervals can miss the truth because of flaws in the pictures.

# %% [markdown]
# ### Is the model as often right as it is sure?
#
# A score that is called a probability makes a promise: of the answers with a confidence of eight in ten, eight in ten are right. If the promise holds
# for one group and fails for another, one score means two things. The figure shows this *reliability* {cite:p}`modern-calibration` by skin colour and by
# the gender that the model *answers*. Grouping by the label would be a mistake, because the score predicts the label.

# %%
EDGES = np.linspace(0.5, 1, 6)  # of the bins of confidence
ANSWERS = dict(enumerate(schema.LEVEL_NAMES["gender"]))
SKINS = dict(enumerate(schema.LEVEL_NAMES["skin_colour"]))
skin_axis = AXES.index("skin_colour")


# %%
def variance(residual: np.ndarray, face: np.ndarray) -> float:
    """Variance of a mean with whole faces (transects) as units; NaN for one of them."""
    sums = np.bincount(np.unique(face, return_inverse=True)[1], residual)
    faces = len(np.unique(face))
    small = faces / (faces - 1) if faces > 1 else np.nan
    return small * (sums**2).sum() / len(residual) ** 2


# %%
def reliability_of(sure: np.ndarray, right: np.ndarray, face: np.ndarray) -> dict[str, float]:
    """How often answers of one bin are right: Wilson's interval, for the number of independent
    images that would leave as much uncertainty, and the gap between confidence and rate."""
    n, faces, rate, gap = len(right), len(np.unique(face)), right.mean(), (sure - right).mean()
    spread, gap_spread = (variance(v - v.mean(), face) for v in (right, sure - right))
    # Where all or none are right, each face counts as one image.
    size = min(rate * (1 - rate) / spread, n) if spread > 0 else faces
    low, high = np.nan, np.nan
    if faces > 1:
        low, high = effects.score_interval(rate, size, stdtrit(faces - 1, 0.975))
    row = {"n": n, "confidence": sure.mean(), "rate": rate, "low": low, "high": high}
    return row | {"gap": gap, "gap_se": np.sqrt(gap_spread)}


# %%
def reliability(sure: np.ndarray, right: np.ndarray, face: np.ndarray) -> pd.DataFrame:
    """`reliability_of` every bin with an image in it, whose number is the index."""
    bins = np.minimum(np.searchsorted(EDGES, sure, "right") - 1, len(EDGES) - 2)
    parts = {k: [each[bins == k] for each in (sure, right, face)] for k in np.unique(bins)}
    rows = {k: reliability_of(*part) for k, part in parts.items()}
    return pd.DataFrame(rows).T.astype({"n": int}).rename_axis("bin")


# %%
def by_group(score: np.ndarray, label: np.ndarray) -> pd.DataFrame:
    """Reliability of a model's answers, by answer and skin colour."""
    answer, face = score > 0.5, np.indices(score.shape)
    right, sure = (answer == label).astype(int), np.maximum(score, 1 - score).astype(float)
    tables = {}
    for (level, said), (skin, skin_name) in product(ANSWERS.items(), SKINS.items()):
        chosen = (answer == level) & (face[1 + skin_axis] == skin)
        if chosen.any():
            parts = (each[chosen] for each in (sure, right, face[0]))
            tables[said, skin_name] = reliability(*parts)
    return pd.concat(tables, names=["answer", "group"])


# %%
score_found = {m: grid(f"score_{m}") for m in TRAINED}
reliable = {("found", m): by_group(score_found[m], label_found) for m in TRAINED}
reliable |= {("true", m): by_group(score_true[m], label_true) for m in TRAINED}
reliable = pd.concat(reliable, names=["source", "model"])


# %% tags=["hide-cell"]
FEW = 10
SOURCES = ("found", "true")


def draw_bins(ax, found: pd.DataFrame, true: pd.DataFrame, group: str) -> None:
    """Reliability of a group: marks with intervals are found, lines are true."""
    look = figures.look(group)
    reach = np.clip([found["rate"] - found["low"], found["high"] - found["rate"]], 0, 1)
    style = {"fmt": look.marker, "color": look.colour, "capsize": 2, "markersize": 5}
    ax.errorbar(found["confidence"], found["rate"], yerr=reach, label=group, **style)
    ax.plot(true["confidence"], true["rate"], color=look.colour, label=f"{group}, true")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, 0, ""))


def draw_reliability(bins: pd.DataFrame) -> None:
    """Rate of right answers by confidence: a row per model, a column per answer."""
    answers = list(bins.index.unique("answer"))
    size = (NARROW, 1.3 + 2.1 * len(TRAINED))
    shape = len(TRAINED), len(answers)
    figure, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey=True, squeeze=False)
    drawn = bins[bins["n"] >= FEW]
    for row, model in zip(axes, TRAINED, strict=True):
        for ax, answer in zip(row, answers, strict=True):
            ax.plot([0.5, 1.0], [0.5, 1.0], color=figures.BLACK, linewidth=1, linestyle="--")
            for group in bins.index.unique("group"):
                here = drawn[[key[1:4] == (model, answer, group) for key in drawn.index]]
                draw_bins(ax, *(here[here.index.isin([s], "source")] for s in SOURCES), group)
        row[0].set_ylabel(model)
    known = bins.loc["found"].groupby("answer")
    right = known.apply(lambda part: np.average(part["rate"], weights=part["n"]))
    titles = [f"answer: {answer},\n{right[answer]:.1%} right" for answer in answers]
    finish(figure, axes, titles, "confidence in the answer (%)", "right answers (%)")


# %% mystnb={"image": {"alt": "Three rows of panels, one per model, and two columns, for answers of female and of male. Each has marks with intervals for the rate of right answers at rising confidence, for light and dark skin, lines for the truth, and a dashed diagonal where confidence and rate agree."}, "figure": {"name": "fig-reliability", "caption": "Rate of right answers by confidence, for faces with light and with dark skin: marks with 95% intervals from the transects, lines from the truth. On the dashed line a model is as often right as it is sure; below it is too sure. Bins of few images are left out."}}
# Computed by reliability_of (above) with faceaudit.effects.risks.score_interval.
draw_reliability(reliable)

# %% [markdown]
# One summary of such a curve is the expected calibration error, the mean distance from the diagonal. Distances are positive, so chance alone makes it
# positive, and more so in small groups. The column *of it chance* gives its size for a perfect model with intervals like these. The two columns after it are root mean
# squares with chance subtracted {cite:p}`verified-calibration`, found and true. A root mean square weighs large distances more, so it can exceed the mean
# distance. The last column counts the images.


# %%
def calibration_error(bins: pd.DataFrame) -> pd.Series:
    """The expected calibration error, what of it chance alone makes, and a version without it."""
    bins = bins[bins["gap_se"].notna()]
    weight = bins["n"] / bins["n"].sum()
    square = (weight * (bins["gap"] ** 2 - bins["gap_se"] ** 2)).sum()
    return pd.Series(
        {
            "ece": (weight * bins["gap"].abs()).sum(),
            "chance": (weight * bins["gap_se"]).sum() * np.sqrt(2 / np.pi),
            "rms": np.sqrt(max(square, 0.0)),
            "n": float(bins["n"].sum()),
        }
    )


# %%
keys = ["source", "model", "answer", "group"]
erring = reliable.groupby(keys, sort=False).apply(calibration_error)
table = erring.loc["found"].assign(true=erring.loc["true", "rms"])
COLUMNS = {"ece": "mean distance", "chance": "of it chance"}
COLUMNS |= {"rms": "root mean square without chance, found", "true": "the same, true"}
shown = (100 * table[["ece", "chance", "rms", "true"]]).rename(columns=COLUMNS)
shown.assign(n=table["n"]).style.format("{:.1f}").format("{:.0f}", subset=["n"])

# %% [markdown]
# The signed mean says in which direction a model is wrong: confidence minus rate of right answers, over all images of a skin colour. It is free
# of that bias, and it is a mean over transects again.


# %%
def too_sure(score: np.ndarray, label: np.ndarray) -> pd.DataFrame:
    """Confidence minus right, by skin colour and as a difference, a row per transect."""
    gap = np.maximum(score, 1 - score) - ((score > 0.5) == label)
    light, dark = (
        gap.take(level, skin_axis + 1).reshape(len(gap), -1).mean(axis=1) for level in (0, 1)
    )
    return pd.DataFrame({SKINS[0]: light, SKINS[1]: dark, "dark − light": dark - light})


# %%
found = pd.concat({m: too_sure(score_found[m], label_found) for m in TRAINED}, axis=1)
true = pd.concat({m: too_sure(score_true[m], label_true) for m in TRAINED}, axis=1)
sure = beside_truth(together(found, 1 / 2 ** (len(AXES) - 1)), true)
sure = sure.assign(points=display_names.estimates_in_points(sure), true=100 * sure["truth"])
in_words(sure)

# %% tags=["hide-input"]
apart = sure.xs("dark − light", level=1)
says = ["makes no clear difference", "is too sure of dark skin", "is not sure enough of dark skin"]
signs = np.sign(apart["low"]).where(np.sign(apart["low"]) == np.sign(apart["high"]), 0).astype(int)
words = [f"**{model}** {says[sign]}" for model, sign in signs.items()]
Markdown(
    "Compared with light skin, " + "; ".join(words) + ". "
    "The calibration error is larger than chance makes on average in "
    f"{(table['ece'] > table['chance']).sum()} of {len(table)} groups; with chance taken off, "
    f"{(table['rms'] > 0).sum()} of them keep an error above zero."
)

# %% [markdown]
# ## Other thresholds
#
# One half is a habit. At another threshold the same model makes other errors. So we compute the effect on errors at every threshold, for women and for
# men, averaged over the third axis. The band holds over all thresholds, attributes and models together. Dashed lines are the truth.

# %%
THRESHOLDS = expit(np.linspace(-4, 4, 33))
WHO = schema.LEVEL_NAMES[AXES[-1]]


# %%
def at_thresholds(score: np.ndarray, label: np.ndarray) -> pd.DataFrame:
    """Effects on the error at each threshold, a row per transect; columns contrast, held, threshold."""
    errs = ((score[..., None] > THRESHOLDS) != (label[..., None] == 1)).astype(float)
    parts = {}
    for axis, (level, who) in product(MOVED, enumerate(WHO)):
        along = AXES.index(axis) + 1
        change = errs.take(1, along) - errs.take(0, along)
        mean = change.take(level, -2).reshape(len(score), -1, len(THRESHOLDS)).mean(axis=1)
        parts[truth.CONTRASTS[axis], who] = pd.DataFrame(mean, columns=THRESHOLDS)
    return pd.concat(parts, axis=1, names=["contrast", "held", "threshold"])


# %%
found = {m: at_thresholds(score_found[m], label_found) for m in TRAINED}
true = {m: at_thresholds(score_true[m], label_true) for m in TRAINED}
found, true = (pd.concat(each, axis=1, names=["model"]) for each in (found, true))
everywhere = beside_truth(together(found, 1 / 2 ** (len(AXES) - 2)), true)
everywhere = everywhere.reorder_levels(["contrast", "model", "held", "threshold"]).sort_index()


# %% tags=["hide-cell"]
def draw_panel(part: pd.DataFrame, ax) -> None:
    """Effects of one attribute on one model at every threshold, on a logistic axis."""
    ax.axhline(0, color=figures.BLACK, linewidth=1)
    ax.axvline(0.5, color=figures.GREY, linewidth=1, linestyle=":")
    for held in part.index.unique("held"):
        curve, look = part.loc[held], figures.look(held)
        draw_band(ax, curve.index, curve, look, held)
        style = {"color": look.colour, "linestyle": "--", "linewidth": 1.5}
        ax.plot(curve.index, curve["truth"], label=f"{held}, true", **style)
    ax.set_xscale("logit")
    ax.set_xticks([0.05, 0.2, 0.5, 0.8, 0.95], [".05", ".2", ".5", ".8", ".95"])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(PercentFormatter(1, 0, ""))


def draw_thresholds(table: pd.DataFrame) -> None:
    """Effects at every threshold of decision: a row per model, a column per contrast."""
    kinds = list(table.index.unique("contrast"))
    shape, size = (len(TRAINED), len(kinds)), (NARROW, 1.5 + 2.1 * len(TRAINED))
    figure, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey="row", squeeze=False)
    for row, model in zip(axes, TRAINED, strict=True):
        for ax, contrast in zip(row, kinds, strict=True):
            draw_panel(table.loc[(contrast, model)], ax)
        row[0].set_ylabel(model)
    xlabel = "threshold above which the answer is “male”"
    ends = {kind: 100 * table.loc[kind]["estimate"] for kind in kinds}
    titles = [f"{kind}:\n{one.min():+.0f} to {one.max():+.0f} points" for kind, one in ends.items()]
    finish(figure, axes, titles, xlabel, "change in error rate (points)")


# %% mystnb={"image": {"alt": "Three rows of panels, one per model, and two columns, for dark minus light skin and long minus short hair. In each, curves with bands for women and men show the change in error rate over thresholds from low to high, with dashed lines for the truth."}, "figure": {"name": "fig-thresholds", "caption": "Effect on the error rate at every threshold of decision, for women and for men, with a band that holds for the whole figure; dashed, the truth. The dotted line marks one half. A low threshold calls more faces male."}}
# Computed by at_thresholds (above) and faceaudit.effects.verdicts.max_t_intervals.
draw_thresholds(everywhere)

# %% [markdown]
# At a low threshold the model calls more women men, and an attribute can then decide about more women. At a high threshold the same holds for men. So *the*
# effect of skin belongs to one way of using the model. The first column of the table says at how many thresholds the band holds the truth.

# %%
grouped = everywhere.groupby(["contrast", "model", "held"], sort=False)
low, high = everywhere["low"] > 0, everywhere["high"] < 0
spread = pd.DataFrame(
    {
        "bands that hold the truth": grouped["holds"].mean(),
        "least (points)": 100 * grouped["estimate"].min(),
        "most (points)": 100 * grouped["estimate"].max(),
        "thresholds that raise": low.groupby(level=[0, 1, 2], sort=False).mean(),
        "that lower": high.groupby(level=[0, 1, 2], sort=False).mean(),
    }
)
spread.style.format("{:.0%}").format("{:+.1f}", subset=["least (points)", "most (points)"])

# %% [markdown]
# ### Does the verdict depend on it?
#
# The verdict of [](11_who_was_right) compares the found effect of skin on women with the counted gap between dark- and light-skinned women. Both change
# with the threshold. We repeat its rule word for word, with the shares of the plan, at several thresholds. The found effect is widened by the error of the
# instrument, as measured at one half. The words compare the share of the gap with the plan's limits ([](11_who_was_right)). Plantskin is left out:
# chapter 11 gives no verdict on it. The first table has the verdict at each threshold, the second one counts the words.

# %%
plan = audit_plan.read_plan(stage.load("audit_plan", "plan.json"))
verdict_there = stage.load("11_who_was_right", "results.json")


# %%
def widened(effect: tuple[float, ...]) -> tuple[float, ...]:
    """A found effect whose interval takes in the error of the instrument (chapter 11)."""
    estimate, low, high = effect
    margin = np.hypot((high - low) / 2, Z * verdict_there["instrument_error"])
    return estimate, estimate - margin, estimate + margin


# %%
WORDS = {"little": "misplaced blame", "most": "the blame is right", "partly": "partly right"}


def weigh_blame(effect: tuple[float, ...], gap: tuple[float, ...]) -> str:
    """Whether a counted gap is the effect of the attribute that was blamed (chapter 11)."""
    if gap[1] <= 0:
        return "there was nothing to blame on it" if gap[2] <= 0 else "undecided"
    word = effects.share_of_gap(effect, gap, plan.little, plan.most)["word"]
    return WORDS.get(word, word)


# %%
INTERVAL = ["estimate", "low", "high"]
portraits = stage.load("01_observational_audit", "ppb.parquet").query("group == 'female'")
women = audit[audit["gender_level"] == 0]


# %%
def counted_gap(model: str, threshold: float) -> tuple[float, ...]:
    """Dark minus light error rate of the women who were counted, with Newcombe's interval."""
    wrong = (portraits[f"score_{model}"] > threshold) != portraits["label"]
    counts = wrong.groupby(portraits["skin"], observed=True).agg(["sum", "size"])
    dark, light = counts.loc["dark"], counts.loc["light"]
    ends = confint_proportions_2indep(*dark, *light, compare="diff", method="newcomb")
    return dark["sum"] / dark["size"] - light["sum"] / light["size"], *ends


# %%
def found_effect(model: str, threshold: float) -> tuple[float, ...]:
    """Effect of dark skin on the women of the transects, with its interval."""
    wrong = ((women[f"score_{model}"] > threshold) != women["label"]).astype(int)
    frame = women.assign(wrong=wrong)
    table = effects.matched_effects(frame, "wrong", "skin_colour_level", [], "transect")
    return tuple(table.loc["all", INTERVAL])


# %%
CHOSEN = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)

# %%
rows = {}
found_there = {}
for model, threshold in product(TRAINED[:2], CHOSEN):
    gap = counted_gap(model, threshold)
    found = found_effect(model, threshold)
    found_there[model, threshold] = found
    both = {"counted gap": gap, "found effect": found}
    words = dict(
        zip(both, display_names.estimates_in_points(pd.DataFrame(both, INTERVAL).T), strict=True)
    )
    rows[model, threshold] = words | {"blame on skin": weigh_blame(widened(found), gap)}

# %%
verdicts = pd.DataFrame(rows).T.rename_axis(["model", "threshold"])
in_order = ["blame on skin", "counted gap", "found effect"]
verdicts[in_order].style.format_index(precision=2, level="threshold")

# %% tags=["remove-cell"]
there = verdict_there["blame"]
for model in TRAINED[:2]:  # the same rule on the same numbers gives the same word
    assert verdicts.loc[(model, 0.5), "blame on skin"] == there[model], (model, there)

# %%
said = verdicts.groupby("model", sort=False)["blame on skin"].value_counts()
said.sort_index().to_frame("thresholds")

# %% tags=["hide-input"]
error_there = 100 * verdict_there["instrument_error"]
Markdown(
    f"The error of the instrument is estimated at {error_there:.1f} points"
    + (
        ", so it widens the found effects."
        if error_there > 0
        else ", so the found effects stay as they are."
    )
)

# %% [markdown]
# The verdict rests on the found effect. Does this hold its truth at every threshold? The table compares the two in points. The truth is taken on the
# faces and pictures of the section on scores.


# %%
def true_effect(model: str, threshold: float) -> tuple[float, ...]:
    """Effect of dark skin on women, from the faces of the truth, with its interval."""
    wrong = ((score_true[model] > threshold) != (label_true == 1)).astype(float)
    light, dark = (wrong.take(0, -1).take(level, 1 + skin_axis) for level in (0, 1))
    change = pd.Series((dark - light).reshape(len(wrong), -1).mean(axis=1))
    estimate, margin = change.mean(), Z * change.sem()
    return estimate, estimate - margin, estimate + margin


truly = pd.DataFrame([true_effect(*key) for key in verdicts.index], columns=INTERVAL)
in_points = pd.Series(display_names.estimates_in_points(truly))
in_points = in_points.mask(truly["low"] == truly["high"], "+0.0 (no pair changed)")
beside = verdicts[["found effect"]].assign(truth=in_points.to_list())
beside.style.format_index(precision=2, level="threshold")

# %% tags=["hide-input"]
reach = pd.DataFrame(found_there, INTERVAL).T.reset_index(drop=True)
in_reach = truly["estimate"].between(reach["low"], reach["high"])
Markdown(
    f"The found interval holds the estimated truth in {in_reach.sum()} of {len(in_reach)} rows."
)

# %% [markdown]
# Trust a verdict more if it stays the same at other thresholds. Where the found effect misses its truth, the verdict rests on a wrong number. Name
# the threshold in your {term}`design contract`, and show the curve.

# %% [markdown]
# ## Harmed and helped
#
# [](10_matched_pairs) sorts pairs by their change. Some answers turn from right to wrong when the skin is darker: these faces are *harmed*. Others turn from wrong to
# right: they are *helped*. The {term}`risk difference` is the share harmed minus the share helped, so it is zero if both are equal. Here we add the true shares.

# %% [markdown]
# Medicine can only bound these shares, because each patient has one observed outcome. Here both pictures exist and both answers are known, so each pair can be
# sorted. Shares have Wilson's intervals.


# %%
def share(name: str, pairs: np.ndarray) -> dict[str, float]:
    """Share of the pairs that turned, with Wilson's interval."""
    turned, size = pairs.mean(), np.array(len(pairs), float)
    low, high = map(float, effects.score_interval(np.array(turned), size, Z))
    # Rounding must not put an end beyond a share of zero or one.
    return {name: turned, f"{name}_low": min(low, turned), f"{name}_high": max(high, turned)}


# %%
def sides(grids: dict) -> pd.DataFrame:
    """Shares harmed and helped in the cells of every model; index attribute, model, cell."""
    rows = []
    for (model, errs), (along, axis) in product(grids.items(), enumerate(AXES, 1)):
        change = errs.take(1, along) - errs.take(0, along)
        others = [name for name in AXES if name != axis]
        for held in product((0, 1), repeat=len(others)):
            pairs, levels = change[:, *held], dict(zip(others, held, strict=True))
            row = {"attribute": axis, "model": model, "cell": display_names.held_in_words(levels)}
            row |= levels | {"n": len(pairs)} | share("harmed", pairs > 0)
            rows.append(row | share("helped", pairs < 0))
    table = pd.DataFrame(rows).set_index(["attribute", "model", "cell"])
    net = table["harmed"] - table["helped"]
    return table.assign(net=net, changed=table["harmed"] + table["helped"])


# %%
turned, truly = (sides(errs).loc[MOVED] for errs in (errors_found, errors_true))
turned[["true_harmed", "true_helped"]] = truly[["harmed", "helped"]]

# %% tags=["hide-cell"]
SIDES = {
    "harmed": (1, {"color": figures.VERMILION, "hatch": "///"}),
    "helped": (-1, {"color": figures.BLUE}),
}


def draw_sides(part: pd.DataFrame, ax) -> None:
    """Harmed to the right, helped to the left, their difference, and the true shares."""
    y = -np.arange(len(part), dtype=float)
    ax.axvline(0, color=figures.BLACK, linewidth=1)
    for side, (sign, style) in SIDES.items():
        bar = part[side]
        reach = np.clip([bar - part[f"{side}_low"], part[f"{side}_high"] - bar], 0, None)[::sign]
        style = {"edgecolor": "white", "capsize": 3, "label": side, **style}
        ax.barh(y, sign * bar, 0.6, xerr=reach, **style)
        style = {"color": figures.BLACK, "markersize": 14, "markeredgewidth": 2}
        style["label"] = "true" if side == "harmed" else None
        ax.plot(sign * part[f"true_{side}"], y, "|", linestyle="", **style)
    style = {"markerfacecolor": "white", "color": figures.BLACK, "linestyle": ""}
    ax.plot(part["net"], y, "D", label="harmed − helped", markersize=6, **style)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * abs(share):.3g}")


def draw_flips(table: pd.DataFrame) -> None:
    """`draw_sides` in a panel per model, a row per cell."""
    cells = list(table.index.unique("cell"))
    size = (NARROW, 1.3 + len(MODELS) // 2 * (0.7 + 0.5 * len(cells)))
    figure, axes = plt.subplots(len(MODELS) // 2, 2, figsize=size, sharey=True, squeeze=False)
    for ax, model in zip(axes.flat, MODELS, strict=True):
        draw_sides(table.loc[model].reindex(cells), ax)
    axes[0, 0].set_yticks(-np.arange(len(cells)), [cell.replace(", ", ",\n") for cell in cells])
    mixed = (table[["harmed", "helped"]] > 0).all(axis=1).groupby("model").sum()
    titles = [f"{model}:\n{mixed[model]} of {len(cells)} both ways" for model in MODELS]
    finish(figure, axes, titles, "helped ←   share of pairs (%)   → harmed")


# %% mystnb={"image": {"alt": "Four panels, one per model. Each has four rows, the cells of perceived gender and hair length, with a bar to the right for the share of pairs that darker skin turns wrong, a bar to the left for the share that it turns right, intervals, a diamond for the difference, and short lines for the true shares."}, "figure": {"name": "fig-flips", "caption": "Darker skin: share of pairs harmed (right) and helped (left) with 95% intervals, their difference (diamond), and the true shares (short thick lines). The null control errs by chance and has no true ones."}}
# Computed by sides (above) with faceaudit.effects.risks.score_interval.
draw_flips(turned.loc["skin_colour"])

# %% [markdown]
# The null control turns pairs both ways although its true effects are zero: it answers by lot. A trained network gives one picture the same answer
# each time, so a change of its answer is a fact about the two pictures. A flip of the *error* can also come from the raters' label, which may differ between
# the pictures. This turns pairs both ways alike, cancels in the difference, and adds to both shares.

# %% [markdown]
# Which small differences hide most? We choose cells on the first half of the transects: trained models whose difference may be zero there (Tango's
# interval), sorted by how many faces change sides. A cell chosen for a large number is large by luck as well. So we measure it on the other half.
# *Net* is harmed minus helped there, in points with its interval. The second table has the share of cells whose intervals hold the true shares.


# %%
def with_net_interval(table: pd.DataFrame) -> pd.DataFrame:
    """Shares of cells, and Tango's interval of harmed minus helped."""
    counts = (table[["harmed", "helped"]].mul(table["n"], axis=0)).round().assign(n=table["n"])
    ends = [effects.paired_interval(*row, Z) for row in counts.to_numpy()]
    return table.assign(**dict(zip(("low", "high"), np.transpose(ends), strict=True)))


turned = with_net_interval(turned)
halves = [
    with_net_interval(sides({m: errs[half] for m, errs in errors_found.items()}).loc[MOVED])
    for half in np.split(np.arange(n_transects), [n_transects // 2])
]

# %%
first_half, other_half = (half.drop(index="null", level="model") for half in halves)
zero = first_half[(first_half["low"] <= 0) & (first_half["high"] >= 0)]
chosen = zero["changed"].sort_values(ascending=False).rename("changed, first half")

# %%
hidden = other_half.join(turned[["true_harmed", "true_helped"]]).join(chosen, how="right")
columns = ["harmed", "helped", "net", "low", "high", "true_harmed", "true_helped"]
listed = hidden[chosen > 0].head(5)
net = display_names.estimates_in_points(listed.assign(estimate=listed["net"]))
shown = listed[[chosen.name, *columns]].assign(net=net).drop(columns=["low", "high"])
shown.columns = shown.columns.str.replace("_", " ")
percent = dict.fromkeys(shown.columns.drop("net"), "{:.1%}")
shown.style.format(percent).format_index(lambda name: name.replace("_", " "), level="attribute")

# %% tags=["hide-input"]
apart = (listed["low"] > 0) | (listed["high"] < 0)
Markdown(
    f"On the other half {apart.sum()} of these {len(listed)} differences are clear of zero. On average "
    f"{listed[chosen.name].mean():.1%} of the faces change sides on the first half, and "
    f"{listed['changed'].mean():.1%} on the other."
)

# %%
held = {
    side: turned[f"true_{side}"].between(turned[f"{side}_low"], turned[f"{side}_high"])
    for side in ("harmed", "helped")
}
held = pd.DataFrame(held).drop(index="null", level="model")
held.groupby("model", sort=False).mean().style.format("{:.0%}")

# %% [markdown]
# Where fewer hold than the level promises: the intervals know of sampling only, and leave out the error of the truth, of the labels and of the pictures.
#
# Here are faces of the first of the chosen cells: on the left those that lose most by the change, on the right those that gain most. The model's answer is written
# above each picture. Look at ears and torn pictures too. They may have a share in the gain.

# %%
attribute, model, cell = hidden.index[0]
others = [axis for axis in AXES if axis != attribute]
level_of = {axis: int(hidden.iloc[0][axis]) for axis in others}

# %%
chosen = audit.reset_index().assign(
    doubt=(audit[f"score_{model}"] - audit["label"]).abs().to_numpy()
)
for axis, level in level_of.items():
    chosen = chosen[chosen[f"{axis}_level"] == level]
pair = {level: part.set_index("transect") for level, part in chosen.groupby(f"{attribute}_level")}
loss = (pair[1]["doubt"] - pair[0]["doubt"]).sort_values()

# %%
SHOWN = 3
picked = [*loss.index[: -SHOWN - 1 : -1], *loss.index[:SHOWN]]
places = [audit.index.get_loc(pair[level]["image_id"][face]) for level in (0, 1) for face in picked]

# %%
large = render_to_store(set_to[places], figure_size, stage.path("turned.npy"), device=device)
right = audit.iloc[places][f"error_{model}"] == 0
male = audit.iloc[places][f"score_{model}"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two rows of six faces. Each column is one person at the low level of the attribute above and at its high level below; the model's probability of male and whether its answer is right stand above each picture. In the three columns on the left the answer gets worse from top to bottom, in the three on the right it gets better."}, "figure": {"name": "fig-turned", "caption": "Pairs of one cell whose difference may be zero on the first half of the transects: the three that lose most by the high level, then the three that gain most. Low level above, high level below. Above each picture: the probability of male, and whether the answer is right."}}
# Computed by faceworld.networks.classifiers.predict (chapter 8).
titles = [f"{p:.2f}\n{'right' if ok else 'wrong'}" for p, ok in zip(male, right, strict=True)]
figure = figures.gallery(large, 2 * SHOWN, titles, schema.LEVEL_NAMES[attribute])
figure.set_size_inches(NARROW, 2.8)

# %% [markdown]
# ## Interactions
#
# That two cells differ is a claim of its own, and two intervals side by side are no test of it. The test is a contrast: the effect in one cell minus the effect in the
# other, inside each transect, then averaged. Three attributes have three such pairs, each at both levels of the third attribute and on average, and
# one contrast of all three.

# %%
INTERACTIONS = contrasts.factorial_contrasts(AXES, range(2, len(AXES) + 1))
one_error = INTERACTIONS.abs().max(axis=1)
found = of_all(errors_found, INTERACTIONS)
true = of_all(errors_true, INTERACTIONS)
true = pd.concat({"null": 0 * true[TRAINED[0]]} | {m: true[m] for m in TRAINED}, axis=1)
crossed = beside_truth(together(found, np.tile(one_error, len(MODELS))), true)

# %% mystnb={"image": {"alt": "Ten rows with a mark for each of three models: the interactions of skin with hair, skin with gender and hair with gender, on average and at each level of the third attribute, and that of all three. Each mark has an interval, and an open diamond beside it for the truth."}, "figure": {"name": "fig-interactions", "caption": "Interaction contrasts of the error rate: how much one effect differs between the levels of the other attribute. Found, with intervals that hold together for all models, and true, with 95% intervals."}}
# Computed by faceaudit.effects.contrasts.contrast_values and
# faceaudit.effects.verdicts.max_t_intervals.
draw_beside_truth(crossed, "difference of two effects (points)")

# %% [markdown]
# Do intervals miss because of the method or because of the pictures? We can test the method alone. The faces of the truth serve as a population
# whose interactions are known exactly. We draw audits as large as ours from it, and ask each time whether *all* intervals of the family hold. The
# table counts the interactions of this run that are clear of zero, and those whose interval holds the truth.

# %%
AUDITS = 100
RESAMPLES = 200
values = true[list(TRAINED)]
unit = np.tile(one_error, len(TRAINED))


def audited(number: int) -> pd.Series:
    """Whether each interval of an ideal audit holds the truth of the population."""
    random = seeding.rng(seed, f"18_beyond_error_rates/audit/{number}")
    sample = values.iloc[random.integers(len(values), size=n_transects)]
    table = max_t_intervals(
        sample, unit, n_boot=RESAMPLES, seed=number, stage="18_beyond_error_rates"
    )
    return values.mean().between(table["low"], table["high"])


# %%
ideal = pd.DataFrame([audited(number) for number in range(AUDITS)])

all_hold = ideal.all(axis=1)
low, high = proportion_confint(all_hold.sum(), AUDITS, method="wilson")

# %%
by_model = crossed.groupby("model", sort=False)
counts = by_model[["clear", "holds"]].sum().assign(interactions=by_model.size())
counts.rename(columns={"clear": "clear of zero", "holds": "hold the truth"})

# %% tags=["hide-input"]
question(
    "The simultaneous intervals all hold together in {all:.0%} of {n} ideal audits ({low:.0%} to "
    "{high:.0%}), where 95% are promised. One such interval in twenty leaves out 95% although the "
    "promise is kept. Do they hold together less often than promised?",
    margin=0.95 - all_hold.mean(),
    error=np.sqrt(0.95 * 0.05 / AUDITS),
    all=all_hold.mean(),
    n=AUDITS,
    low=low,
    high=high,
)

# %% [markdown]
# If ideal audits keep the promise, a miss comes from the pictures: directions that take something else along, doses that vary, raters who err. An interaction needs
# four pictures instead of two, and sums up the flaws of all four. So say that its interval knows of sampling only.

# %% [markdown]
# ## What would change our mind
#
# - If all curves were straight, two levels would say everything.
# - If the intervals of ideal audits missed clearly more often than in one audit in twenty, the method would be at fault.
# - If a trained model gave other answers to the same picture, its flips would be noise like those of the null control.
# - If another firm word appeared at another threshold, the verdict would be about a threshold and less about a model.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Harm without a difference, 15 minutes, medium
# :label: exercise-harm
# Write down errors of ten transects at two levels such that the risk difference is zero and six faces change sides. How large can the shares
# harmed and helped be at most, given two error rates, and how small at least? Which of these bounds can be computed from two *different* groups of people?
#
# **Check:** harmed minus helped equals the difference of the two error rates, in your example and in your bounds.
# ```

# %% [markdown]
# ```{solution-start} exercise-harm
# :class: dropdown
# ```
# Three transects with errors 0 and 1, three with 1 and 0, four with equal errors. With error rates $p$ at the high and $q$ at the low level, the share harmed lies
# between $\max(0, p - q)$ and $\min(p, 1 - q)$, and the share helped is smaller by $p - q$. Two different groups give $p$ and $q$, and so these bounds. The
# shares themselves need each face twice.

# %% tags=["solution"]
low, high = np.array([0] * 3 + [1] * 3 + [0] * 4), np.array([1] * 3 + [0] * 3 + [0] * 4)
p, q = high.mean(), low.mean()
harmed, helped = (high > low).mean(), (high < low).mean()
assert harmed - helped == p - q == 0 and max(0, p - q) <= harmed <= min(p, 1 - q)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Calibrated, and yet not within a gender, 20 minutes, hard
# :label: exercise-calibrated
# Let a model be perfectly calibrated: of the faces with score $s$ a share $s$ is male. Take only the faces that are labelled male. How often is an answer of confidence $c$
# right among them? Show that it is $c$ only if as many faces have the score $c$ as have $1 - c$.
#
# **Check:** your formula gives $c$ for a symmetric density of scores.
# ```

# %% [markdown]
# ```{solution-start} exercise-calibrated
# :class: dropdown
# ```
# Let $f$ be the density of scores. Among faces labelled male, those with score $c$ (right answers) have weight $c\,f(c)$, those with score $1 - c$ (wrong answers) weight
# $(1 - c)\,f(1 - c)$. So the rate of right answers is $c f(c) / (c f(c) + (1 - c) f(1 - c))$, which is $c$ if $f(c) = f(1 - c)$. A model that often says *probably
# female* looks too sure among men, although it is well calibrated.


# %% tags=["solution"]
def right_among_men(c: float, f_here: float, f_there: float) -> float:
    """Rate of right answers of confidence c among faces labelled male."""
    return c * f_here / (c * f_here + (1 - c) * f_there)


assert np.isclose(right_among_men(0.8, 1, 1), 0.8)  # a symmetric density
assert right_among_men(0.8, 1, 2) < 0.8  # more faces that are probably female

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} The price of looking everywhere, 10 minutes, easy
# :label: exercise-price
# Print the critical value of each family of this note (`attrs["critical"]` of the tables that `together` returns), and compare it with Bonferroni's,
# `scipy.stats.norm.ppf(1 - 0.025 / m)` for m entries. A change at step 0 is zero by definition, so it is no entry. Where is the value smaller than Bonferroni's, where is it larger, and why?
#
# **Check:** each critical value is larger than that of one interval.
# ```

# %% [markdown]
# ```{solution-start} exercise-price
# :class: dropdown
# ```
# Entries that move together behave like fewer entries, and this makes the value smaller. Bonferroni's value also takes each entry as normal.
# Errors are rare, so some draws have few of them and a small standard error, and this makes the value larger.

# %% tags=["solution"]
families = {
    "doses": dosed.query("step > 0"),
    "scores and errors": section,
    "thresholds": everywhere,
}
families["interactions"] = crossed
reach = {name: (one.attrs["critical"], len(one)) for name, one in families.items()}
reach = pd.DataFrame(reach, ["critical value", "entries"]).T
reach["Bonferroni"] = norm.ppf(1 - 0.025 / reach["entries"])
assert (reach["critical value"] > Z).all()
reach.style.format("{:.2f}").format("{:.0f}", subset=["entries"])

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - A curve over doses can bend, and even turn. Two levels compare its ends.
# - Scores are finer than errors: the same images show more, and narrower intervals can miss the truth more often.
# - An effect on errors belongs to a threshold. Name it, and show the curve.
# - A difference near zero can hide harmed and helped faces. Test differences of effects directly, and count how many you looked at.


# %% tags=["remove-cell"]
of_women = spread.xs((truth.CONTRASTS["skin_colour"], TRAINED[0], WHO[0]))
ends = of_women["least (points)"], of_women["most (points)"]
both_sides = ((turned["harmed"] > 0) & (turned["helped"] > 0)).drop(index="null", level="model")
glue(
    "answer",
    Markdown(
        with_minus(
            f"**Answer.** Doses: {len(bent)} of {len(bends)} curves clearly bend. Scores: {finer[0]} of {finer[2]} cells have a clear effect on "
            f"the probability of the wrong answer, and {finer[1]} on errors. Thresholds: for {TRAINED[0]} the effect of dark skin on women "
            f"ranges from {ends[0]:+.1f} to {ends[1]:+.1f} points. Harm and help: in {both_sides.sum()} of {len(both_sides)} cells at least one face is "
            f"harmed and one helped."
        )
    ),
    display=False,
)


# %% tags=["remove-cell"]
def records(table: pd.DataFrame, columns: list[str]) -> list[dict]:
    """Rows with their keys, for `results.json`."""
    rows = table[columns].reset_index().astype(object)
    return rows.where(rows.notna(), None).to_dict("records")


ENDS = [*INTERVAL, "truth", "truth_se"]
_ = stage.finish(
    {
        "doses": records(points_on, ENDS),
        "per_step": records(slopes, ENDS),
        "bends": records(bends, ENDS),
        "scores": records(by_scores, ENDS),
        "calibration": records(table, ["ece", "chance", "rms", "true", "n"]),
        "too_sure": records(sure, ENDS),
        "blame_by_threshold": records(verdicts, [*verdicts]),
        "flips": records(turned, columns),
        "interactions": records(crossed, ENDS),
        "ideal_families": all_hold.mean(),
    }
)
