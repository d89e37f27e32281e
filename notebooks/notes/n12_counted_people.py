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
# # The people who were counted
#
# *You need chapters [1](01_observational_audit) (the counted gap) and [11](11_who_was_right) (its truth). Reading:
# {{minutes}} minutes.*
#
# Chapter 1 counted errors on portraits of women. The experiment of chapters 5 to 10 asks about made faces. An auditor
# wants to know about the counted women: how would a model's errors on them change if only their skin were darker?
# This note tries two ways to say so, and holds both against the truth of chapter 11. The first cells load the models, the
# portraits and the answers about made women.
#
# ```{glue:md} found
# :format: myst
# ```

# %% tags=["hide-cell"]
import json
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
import torch
from IPython.display import Markdown
from myst_nb import glue
from scipy import stats
from scipy.special import logit

import facerender
from faceaudit import effects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils.formatting import in_points, with_minus
from faceworld import do, load_generator, networks
from faceworld.networks import portrait_encoder
from faceworld.networks.training import Lazy
from faceworld.rendering import render_to_store
from faceworld.scorecard import counted_gap, counted_people
from helpers import figures
from helpers.artifacts import Stage, lineage

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
n_transects = 400
n_truth = 1600
n_train = 10000

# %% tags=["remove-cell"]
stage = Stage("n12_counted_people", profile=profile, device=device, seed=seed)
figures.style()
NARROW = 4.8  # inches; a phone shows this width with its text still readable

# %%
MODELS = ("celeba-like", "fairface-like", "plantskin")
world = load_generator("known-truth", device=device, size=image_size)
audited = networks.load_all(stage, "02_face_world", MODELS)
ppb = stage.load("01_observational_audit", "ppb.parquet")
made = stage.load("08_stratified_errors", "audit.parquet").query("gender_level == 0")


# %%
def draw(parameters: torch.Tensor, name: str) -> np.ndarray:
    """Pictures of faces, uint8 (n, 3, size, size)."""
    return render_to_store(parameters, image_size, stage.path(f"{name}.npy"), device=device)


# %%
def log_odds(model: str, pictures: np.ndarray) -> np.ndarray:
    """Log odds of a man, in the shape of the leading axes of the pictures."""
    flat = np.ascontiguousarray(pictures.reshape(-1, *pictures.shape[-3:]))
    probability = networks.predict(audited[model], flat).clip(1e-9, 1 - 1e-9)
    return logit(probability).reshape(pictures.shape[:-3])


# %% [markdown]
# ```{glue:figure} edited-women
# :name: fig-edited-women
# :alt: Four rows of six portraits. In each row a woman as she was counted, her portrait as the encoder redraws it, the portrait edited to light and to dark skin, and the true faces with light and with dark skin.
#
# Four counted women, two from each group of skin colour. *Portrait*: as raters saw her. *Redrawn*: from the code that the encoder read.
# *Edited*: the portrait with what a step along skin changes in the redrawn one. *True*: the same woman with another skin, which only this
# world can draw. Drawn under [](#edit-their-portraits).
# ```

# %% [markdown]
# ## Whom we ask about
#
# To save time we take the first of the counted women only. Numbers of [](11_who_was_right) are about all of them, and differ. Raters called all of them women, so a model errs where it
# says *man*. The truth is that of [](11_who_was_right), about these women: each gets the skin of a light-skinned and of a
# dark-skinned counted woman, and all else stays.

# %%
counted = np.flatnonzero(ppb["group"].eq("female"))[:n_truth]
women = ppb.iloc[counted]
came = stage.load("01_observational_audit", "ppb_parameters.npy")[counted]
portraits = np.array(stage.load("01_observational_audit", "ppb.npy")[counted])
donors = counted_gap.draw_donors(women["skin"].astype(str), seed)

# %%
faces = torch.from_numpy(came)
given = faces[:, facerender.INDEX["skin_colour"]][torch.from_numpy(donors)]
true_pairs = torch.stack([do(faces, skin_colour=skin) for skin in given.T], dim=1)
true_pictures = draw(true_pairs.flatten(0, 1), "true").reshape(-1, 2, *portraits.shape[1:])


# %%
def change(pairs: np.ndarray) -> np.ndarray:
    """Change of the answer from light to dark skin, -1, 0 or 1, of log odds (n, 2)."""
    return np.diff((pairs > 0).astype(float), axis=1)[:, 0]


# %%
def mean_with_interval(values: np.ndarray) -> dict[str, float]:
    """Mean of independent values with Student's 95% interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return {"estimate": values.mean(), "low": values.mean() - half, "high": values.mean() + half}


# %%
own = {model: log_odds(model, portraits) for model in MODELS}
truth = {model: change(log_odds(model, true_pictures)) for model in MODELS}

# %% [markdown]
# ## Standardise the experiment
#
# The first way takes the experiment as it is. Each made woman has two lengths of hair and two colours of skin, which
# gives pairs that differ in skin alone. Raters scored what else they saw. We fit the change of the error as a linear
# function of these scores, and predict it at the mean of the counted women.

# %%
ATTRIBUTES = ["hair_length", "gender", "age", "makeup", "smiling", "facial_hair"]
pair = ["transect", "hair_length_level"]
scores_of_pairs = made.groupby(pair)[ATTRIBUTES].mean()
transect = scores_of_pairs.index.get_level_values("transect")


# %%
def by_skin(column: str) -> np.ndarray:
    """A column of the made women at both skins, a row for each pair, (n, 2)."""
    return made.pivot_table(column, pair, "skin_colour_level").to_numpy()


# %%
def change_of_error(model: str) -> dict[str, float]:
    """Effect on the error as a linear function of attributes, at the counted women's mean."""
    fit = sm.OLS(np.diff(by_skin(f"error_{model}"))[:, 0], sm.add_constant(scores_of_pairs))
    fit = fit.fit(cov_type="cluster", cov_kwds={"groups": np.asarray(transect)})
    at = fit.get_prediction(np.r_[1, women[ATTRIBUTES].mean()]).summary_frame().iloc[0]
    return {"estimate": at["mean"], "low": at["mean_ci_lower"], "high": at["mean_ci_upper"]}


# %% [markdown]
# An error turns only where a model is unsure. Made women are as typical as raters could make them, so models are
# rarely unsure about them. The same push turns more answers about portraits. So we also standardise the push
# itself, the change of the {term}`log odds <log odds ratio>`. We add it to the log odds of the model's own answer about
# each counted woman, and count the answers that turn.

# %%
dose = np.diff(by_skin("skin_colour").mean(axis=0))


def change_of_log_odds(model: str) -> dict[str, float]:
    """Answers about the counted women that turn by the experiment's change of the log odds."""
    push = np.diff(logit(by_skin(f"score_{model}").clip(1e-9, 1 - 1e-9)))[:, 0] / dose
    skin = women["skin_colour"].to_numpy()
    pairs = effects.MadePairs(push, scores_of_pairs.to_numpy(), transect)
    people = effects.AskedPeople(own[model], women[ATTRIBUTES].to_numpy(), skin, skin[donors])
    found = effects.standardised_shift(pairs, people, seed=seed)
    return {"estimate": found.estimate, "low": found.low, "high": found.high}


# %% [markdown]
# Which attributes does the push depend on, and do the counted women differ in them? In this world we can look. The
# table has the slopes of the true push on the counted women, for a difference of one standard deviation. Beside it is
# how far the counted women lie from the made ones, in the same unit. The product is what a standardisation gets wrong
# that leaves this attribute out. A real auditor cannot make this table.

# %%
parameters_of_made = stage.load("05_transect_generation", "fitted_parameters.npy")
parameters_of_made = parameters_of_made.reshape(n_transects, 2, 2, 2, -1)[:, :, :, 0]
parameters_of_made = facerender.to_frame(torch.tensor(parameters_of_made).flatten(0, 2))
parameters = facerender.to_frame(faces)
changing = parameters.columns.drop(["skin_colour", "artefacts"])
changing = [name for name in changing if parameters[name].std() > 0]
unit = parameters[changing].std()
unit["hair_style"] = np.inf  # a name, no amount

# %%
standard = (parameters[changing] - parameters[changing].mean()) / unit
away = (parameters[changing].mean() - parameters_of_made[changing].mean()) / unit
slopes = {
    model: sm.OLS(
        np.diff(log_odds(model, true_pictures))[:, 0],
        sm.add_constant(standard.drop(columns="hair_style")),
    )
    .fit()
    .params
    for model in MODELS[:2]
}

# %%
shown = pd.DataFrame({f"slope, {model}": slope for model, slope in slopes.items()})
shown = shown.drop(index="const").assign(distance=away)
shown.columns = [*shown.columns[:-1], "counted − made (SD)"]
largest = (shown.iloc[:, :2].abs().max(axis=1) * shown.iloc[:, 2].abs()).nlargest(6).index
shown = shown.loc[largest].rename(index=lambda name: name.replace("_", " "))
shown.style.format("{:+z.2f}")

# %% [markdown]
# (edit-their-portraits)=
# ## Edit their portraits
#
# The second way leaves made faces aside. A network, the *encoder*, reads a code off each portrait, from which the
# generator draws a similar face. It was trained on renders of random codes and has seen no portrait. We move the
# code along the experiment's step from light to dark skin, which began as a row of the dual basis and was calibrated on
# made faces ([](05_transect_generation)), until its decision value is that of a {term}`donor`. Then the generator draws the
# moved code.

# %%
EPOCHS = 8
n_learned = n_train * 8 // 5  # an encoder reads all of a face, a classifier one thing
drawn = portrait_encoder.draw_coordinates(n_learned, seed)


def renders() -> np.ndarray:
    """Faces of random codes, to learn from."""
    codes = torch.from_numpy(portrait_encoder.codes_of(world, drawn))
    return draw(world.parameters(codes), "learned")


# %%
encoder = networks.train_encoder(
    Lazy((n_learned, 3, image_size, image_size), renders),
    portrait_encoder.targets_of(drawn),
    stage.path("encoder.safetensors"),
    seed=seed,
    epochs=EPOCHS,
    device=device,
)

# %%
planes = Hyperplanes.from_arrays(stage.load("03_direction_fitting", "calibrated.npz"))
steps = stage.load("05_transect_generation", "steps.npy").reshape(2, 2, 2, -1)
to_dark = np.diff(steps[:, :, 0], axis=0).mean(axis=(0, 1))  # of women, over hair
skin_axis = counted_people.Axis.of_step(planes.select(["skin_colour"]), to_dark)


# %%
def draw_codes(codes: np.ndarray) -> np.ndarray:
    """The generator's pictures of codes."""
    return np.array(draw(world.parameters(torch.from_numpy(codes)), "edited"))


# %%
read = partial(encoder.encode, world)
edits = counted_people.edit_portraits(portraits, donors, skin_axis, read, draw_codes)
edited = edits.on(portraits)

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Four rows of six portraits: each woman as counted, redrawn, edited to light and to dark skin, and with the true light and dark skin."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by faceworld.scorecard.counted_people.edit_portraits.
some = [np.flatnonzero(women["skin"] == skin)[:2] for skin in counted_people.LEVELS]
some = np.concatenate(some)
columns = [portraits, edits.redrawn, *edited.swapaxes(0, 1), *true_pictures.swapaxes(0, 1)]
pictures = np.stack([column[some] for column in columns], axis=1)
titles = ["portrait", "redrawn", "edited, light", "edited, dark", "true, light", "true, dark"]
figure = figures.gallery(pictures.reshape(-1, *portraits.shape[1:]), 6, titles)
glue("edited-women", figure, display=False)
plt.close(figure)

# %% [markdown]
# A redrawn face differs from the portrait. The table has the root mean square difference of their pixels, and that of
# two women's portraits. So we do not ask about the redrawn face. We add to the portrait what the step changes in the
# redrawn one, and ask about the edited portrait.

# %%
off = (edits.redrawn.astype(float) - portraits).std()
between = portraits.astype(float).std(axis=0).mean() * 2**0.5
differ = {"a portrait and its redrawing": off, "portraits of two women": between}
pd.Series(differ).map("{:.0f}".format).to_frame("grey levels of 255")

# %% [markdown]
# ## Twins show what the edits get wrong
#
# The encoder makes mistakes, and they bias the edits. A redrawn portrait is a *twin* of the portrait: its code is
# known, because it was drawn from it. We edit the twin as if it were a portrait: the encoder reads it anew. And we move its
# known code exactly. The difference of the two changes is the error of edits on twins. We take it off the mean change
# on the portraits, and the interval gets wider by what the twins leave uncertain.

# %%
of_twins = counted_people.edit_portraits(edits.redrawn, donors, skin_axis, read, draw_codes)
on_twins = of_twins.on(edits.redrawn)


def calibrated(model: str) -> effects.CalibratedChange:
    """Mean change on the edited portraits, less the error of edits on twins."""
    asked = (edited, on_twins, edits.pairs)
    return effects.calibrated_change(*(change(log_odds(model, one)) for one in asked), women.index)


# %% [markdown]
# ## Both ways against the truth
#
# The figure has all estimates for each model. The diamond is the truth about these women. All rows but the first
# are answers to one question, what skin does to the counted women, so compare each with the diamond. *Found on made
# women* answers it with other faces. The counted gap compares different women.
# The table counts the models whose interval lies above the truth, holds it, or lies below it.


# %%
def counted_difference(model: str) -> dict[str, float]:
    """Error rate of dark-skinned women minus that of light-skinned ones, with Newcombe's interval."""
    is_dark = women["skin"].eq("dark").to_numpy()
    errors = (own[model] > 0).astype(int)
    counts = [errors[is_dark].sum(), is_dark.sum(), errors[~is_dark].sum(), (~is_dark).sum()]
    low, high = sm.stats.confint_proportions_2indep(*counts, compare="diff", method="newcomb")
    gap = errors[is_dark].mean() - errors[~is_dark].mean()
    return {"estimate": gap, "low": low, "high": high}


# %%
ways = {}
for model in MODELS:
    found = np.diff(by_skin(f"error_{model}"))[:, 0].reshape(-1, 2).mean(axis=1)
    edit = calibrated(model)
    ways[model] = {
        "counted gap": counted_difference(model),
        "found on made women": mean_with_interval(found),
        "standardised error": change_of_error(model),
        "standardised log odds": change_of_log_odds(model),
        "edited portraits": mean_with_interval(change(log_odds(model, edited))),
        "edited, calibrated": {"estimate": edit.estimate, "low": edit.low, "high": edit.high},
    }

# %%
table = pd.concat({model: pd.DataFrame(of_model).T for model, of_model in ways.items()})
known = pd.Series({model: values.mean() for model, values in truth.items()})

# %% tags=["remove-cell"]
_ = stage.save("ways.parquet", table.rename_axis(["model", "way"]).reset_index())

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one for each model, with six rows: the counted gap, the effect found on made women, two standardisations, and edited portraits without and with twins. Each row has an interval. A diamond in each row marks the truth."}, "figure": {"name": "fig-two-ways", "caption": "What each way says about the counted women, with 95% intervals, and the truth about them (diamonds). Each panel has a scale of its own."}}
# Computed by faceaudit.effects.standardised_shift and faceaudit.effects.calibrated_change.
figure, axes = plt.subplots(len(MODELS), 1, figsize=(NARROW, 10.5), layout="constrained")
for ax, model in zip(axes, MODELS, strict=True):
    rows = 100 * table.loc[model]
    figures.forest(rows, 100 * known[[model] * len(rows)].set_axis(rows.index), "points", ax)
    ax.get_legend().remove()
    ax.set_title(f"{model}: truth {with_minus(in_points(known[model]))}", fontsize=11)
_ = figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=1)

# %%
at_truth = known.reindex(table.index, level=0)
above, below = table["low"].gt(at_truth), table["high"].lt(at_truth)
held = ~(above | below)
places = pd.DataFrame({"above the truth": above, "hold the truth": held, "below the truth": below})
places.groupby(level=1, sort=False).sum().rename_axis("models whose intervals lie")

# %%
record = json.loads(
    (lineage.ROOT / "benchmarks/results/counted_people.json").read_text(encoding="utf-8")
)
seeds = record["facts"]["seeds"]
experiments = record["facts"]["experiments"]
card = pd.DataFrame(record["rows"]).set_index("what")
share_held = card["truth held"] / seeds
ONE_STEP = "portrait edited, calibrated"
STEPS = f"portrait edited along {experiments} steps, calibrated"


# %%
def shares_held(way: str) -> str:
    """In how many of the recorded seeds the intervals of a way hold the truth, by model."""
    return " and ".join(f"{share_held[f'{name}: {way}']:.0%} ({name})" for name in MODELS[:2])


# %% tags=["hide-input"]
Markdown(
    "Beware of the row *edited, calibrated*. Its edits go along one step, and its interval leaves out the error of that "
    f"step. Over {seeds} [other seeds](#over-seeds) such intervals hold the truth in {shares_held(ONE_STEP)}, and 95% would be "
    f"right. Those along the steps of {experiments} experiments hold it in {shares_held(STEPS)}."
)

# %% [markdown]
# (over-seeds)=
# ## Over seeds
#
# One run says little: luck can favour any way. `benchmarks/counted_people.py` repeats all of this with other networks,
# portraits, raters, directions and made faces. A constant, the mean truth of twenty seeds, is the yardstick: a way is of
# use where its error is clearly smaller. *Truth held* is the share of the seeds in which the interval contains the truth.
#
# The first table is about runs of the whole book with other seeds. It compares sizes, without the sign, which is stricter than the tour. It counts the runs in which the counted gap is larger in size
# than what skin does to the counted women, and those in which the effect found on made women is smaller in size.

# %%
runs = json.loads((lineage.ROOT / "benchmarks/results/seeds_runs.json").read_text("utf-8"))["rows"]
of_runs = pd.DataFrame(runs)
counts = {}
for name in MODELS[:2]:
    true = of_runs[f"{name}, true effect on the counted"].abs()
    larger = of_runs[f"{name}, counted gap"].abs() > true
    smaller = of_runs[f"{name}, found effect on transects"].abs() < true
    counts[name] = {"gap larger": larger.sum(), "effect smaller": smaller.sum(), "runs": len(runs)}
pd.DataFrame(counts).T

# %%
in_order = ["truth held", "bias", "RMSE", "RMSE / constant's", "half-width"]
shown = card.assign(**{"truth held": share_held})[in_order]
formats = {"bias": "{:+z.1f}", "RMSE": "{:.1f}", "RMSE / constant's": "{:.2f}"}
formats |= {"truth held": "{:.0%}", "half-width": "{:.1f}"}
AS_DRAWN = {
    "effect found on made women": "found on made women",
    "change of the error by attributes": "standardised error",
    "change of the log odds by attributes": "standardised log odds",
    "portrait edited": "edited portraits",
    "portrait edited, calibrated": "edited, calibrated",
}
named = {f"{name}: {old}": f"{name}: {new}" for name in MODELS for old, new in AS_DRAWN.items()}
shown.rename(named).rename_axis(None).style.format(formats, na_rep="").set_caption(
    "Bias, RMSE and half-width in points"
)

# %% [markdown]
# We had set a goal for each network, which the next cell has. The constant and the counted gap are yardsticks, and all other
# rows are ways. The table has the way with the smallest error for each network.

# %%
GOAL, HELD, RATIO = 0.5, 0.9, "RMSE / constant's"
network, way = (card.index.str.partition(": ").get_level_values(part) for part in (0, 2))
ways_of_goal = card.assign(network=network, way=way)[~way.isin(["a constant", "counted gap"])]
enough = HELD * seeds
reaches = (ways_of_goal[RATIO] <= GOAL) & (ways_of_goal["truth held"] >= enough)
nearest = ways_of_goal.loc[ways_of_goal.groupby("network", sort=False)[RATIO].idxmin()]

# %%
shown = nearest[["RMSE", RATIO, "truth held"]].rename_axis("smallest error of a network")
shown.style.format({"RMSE": "{:.1f}", RATIO: "{:.0%}", "truth held": "{:.0f}"})


# %% tags=["hide-input"]
def verdict(name: str) -> str:
    """Whether a network's ways reach the goal, and what the nearest lacks."""
    of_network = reaches[ways_of_goal["network"] == name]
    ways_there = [what.partition(": ")[2] for what in of_network.index[of_network]]
    if ways_there:
        return (
            f"- **{name}**: reached by {len(ways_there)} of {len(of_network)} ways, "
            f"*{'*, *'.join(ways_there)}*."
        )
    best = nearest.set_index("network").loc[name]
    lacks = []
    if best[RATIO] > GOAL:
        lacks.append(f"its error is {best[RATIO]:.0%} of the constant's")
    if best["truth held"] < enough:
        lacks.append(
            f"its intervals hold the truth in {best['truth held']:.0f} of {seeds} seeds, and the goal asks for {np.ceil(enough):.0f}"
        )
    return f"- **{name}**: reached by none of {len(of_network)} ways. The nearest is *{best['way']}*: {'; '.join(lacks)}."


SEEDS_OF_GOAL = 20
too_few = f"\n\nThe goal asks for {SEEDS_OF_GOAL} seeds, so this record does not decide yet."
Markdown(
    f"The goal: an error of at most {GOAL:.0%} of the constant's, and intervals that hold the truth in at least {HELD:.0%} of "
    f"{SEEDS_OF_GOAL} seeds.\n\n"
    + "\n".join(verdict(name) for name in MODELS[:2])
    + (too_few if seeds < SEEDS_OF_GOAL else "")
)

# %% [markdown]
# These seeds have helped to develop what they judge. Seeds 1, 2, 19 and 20 were looked at first, with one step. The steps of several
# experiments were added after that, and all twenty are counted above. No seeds were held out. So the best of many ways can
# look better than it is. `benchmarks/counted_people.py` has the log of what was tried.


# %% tags=["remove-cell"]
def told_of(model: str) -> str:
    """The truth of a model, and what three ways say."""
    points = table.loc[model].map(in_points)
    edit = points.loc["edited, calibrated"]
    return (
        f"For *{model}* the truth about these women is {in_points(known[model])} points. The effect "
        f"found on made women is {points.loc['found on made women', 'estimate']}, standardised log odds give "
        f"{points.loc['standardised log odds', 'estimate']}, and portraits edited along one step, with twins, "
        f"{edit['estimate']} ({edit['low']} to {edit['high']})."
    )


# %% tags=["remove-cell"]
def error_over_seeds(way: str) -> str:
    """Typical error of a way over seeds as a share of the constant's, by model."""
    ratios = card["RMSE / constant's"]
    return " and ".join(f"{ratios[f'{name}: {way}']:.0%}" for name in MODELS[:2])


# %% [markdown]
# ## What the edits rest on
#
# Three things must hold. The generator must be able to draw the counted people: here it can, and a StyleGAN draws faces
# like those that it was trained on. Edits must err on twins as they err on portraits. A twin is what the encoder saw, so
# what the encoder overlooks is missing in the twin. And the step must move skin alone, which the gate of
# [](05_transect_generation) checks.

# %% [markdown]
# The step was calibrated with raters' noise. Its error is the same for all women and models, and the interval of this
# page leaves it out: more women would not make it smaller. More experiments do, each with directions, raters and made
# faces of its own. The mean over their steps has a smaller error, and their spread belongs in the interval.
# `effects.calibrated_change` takes the answers along several steps, and the record has them too.

# %% tags=["remove-cell"]
glue(
    "found",
    Markdown(
        with_minus(
            "**Found.** Portraits can be edited along the step of one experiment, or along those of several. "
            f"The intervals of one step are too narrow: over {seeds} other seeds they hold the truth in {shares_held(ONE_STEP)}. "
            f"Along the steps of {experiments} experiments they hold it in {shares_held(STEPS)}, with an error of "
            f"{error_over_seeds(STEPS)} of that of always guessing the mean truth of the seeds. "
            + " ".join(told_of(model) for model in MODELS)
        )
    ),
    display=False,
)

# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "truth": known.to_dict(),
        "ways": {model: table.loc[model].to_dict("index") for model in MODELS},
        "held": {model: held.loc[model].astype(bool).to_dict() for model in MODELS},
    }
)
