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
# # A study of your own
#
# {cite:t}`transects` had a generator that had learned from photographs, people who answered, and two
# models. They had no truth. This chapter goes through their whole study in that situation: with a
# generator of which nothing is known but codes and images, and with files that people's answers came
# in. It is written to be run again with yours.

# %% [markdown]
# ## Question
#
# What does the study of [](03_direction_fitting) to [](09_logistic_ate) look like when every step
# rests on answers alone? What can be checked on the way? And how far from the truth does it end, on a
# generator where that can be looked up afterwards?

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Population | adults as the generator samples them, made neutral in the axes, with beards and makeup held |
# | Unit | one such face, shown at all combinations of levels |
# | Intervention | the level of each axis, as a quantile of what sampled faces have |
# | Held fixed | cell means of everything else that people were asked about, or readers measured |
# | Outcome | error against the majority of the people who saw the image |
# | Estimand | [the effect within transects](estimands), by cell; the regression's coefficients beside it |
# | Tolerance and n | of the study's file |
# | Decision at stake | whether a model may be said to err because of an attribute |
# | Known failure | what was neither asked nor measured moves along, and is part of every effect |

# %% [markdown]
# ## Prerequisites
#
# You need the chapters that are named above, and [](18_audit_your_model) for the file. The chapter
# takes half an hour to read and about a minute to run. *Female* and *male* stand for perceived gender:
# what people saw, which is not anybody's identity.

# %%
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
import yaml
from IPython.display import Markdown

import facerender
from faceaudit import read_specification
from faceaudit.models import ask, model_of
from faceaudit import Specification
from faceaudit.people import hidden_names
from faceaudit.examples import write_onnx
from faceaudit.own_generator import LAST, SAMPLES, Views, faces_and_steps, find_directions
from faceaudit.own_generator import gate, generator_of, require_questions, sampled_codes
from faceaudit.plan import make_plan
from faceaudit.run import folders
from faceaudit.people import Said, said_of
from faceaudit.tables import judged
from faceaudit.wording import spaced
from helpers import annotations, claims, directions, effects, errors, figures
from helpers import models, orthogonalization, pruning
from helpers.annotations import ATTRIBUTES, crowd, observers
from helpers.artifacts import Stage
from helpers.artifacts.lineage import ROOT
from helpers.generators import load_generator, realism
from helpers.models.training import SHIPPED
from helpers.scorecard import truth

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_directions = 5000
n_transects = 400
n_boot = 1000
study = "audits/study.yml"

# %%
stage = Stage("21_own_study", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:z.2f}".format

# %% [markdown]
# ## One file
#
# A study is an audit file: where the faces come from, who looks at them, which model is asked. What the
# command `make reproduce GENERATOR=…` writes for a generator of yours has the same keys
# ([](bring-your-generator)). The one below ships with the book.

# %% tags=["hide-input"]
EXAMPLE = "audits/study.yml"
text = (ROOT / study).read_text(encoding="utf-8")
Markdown(f"```yaml\n{text}```")

# %% [markdown]
# In the example the generator is the book's own, treated as a stranger: the study asks it for codes
# and for images of codes, and for nothing else. Only the sizes are those of this run's profile, and the
# model is one that ships with the book. A study of your own is left as its file says, and what was made
# and answered before is used again.


# %% tags=["hide-input"]
def in_the_example(say: Callable[[], Markdown]) -> Markdown | None:
    """A sentence about the example's run; of a study of your own the book has nothing to say."""
    return say() if study == EXAMPLE else None


# %%
file, folder = ROOT / study, stage.folder
if study == EXAMPLE:
    told = yaml.safe_load(text)
    told["generator"]["samples"] = n_directions
    told["design"]["transects"] = n_transects
    told["calibration"]["transects"] = n_transects // 4
    network = models.AuditedModel.read(SHIPPED / "celeba-like.safetensors").network
    path = write_onnx(network, folder / "example.onnx", 64)  # it learned from images of this size
    told["model"] |= {"path": path.name, "input": {"size": 64}}
    file = stage.path("study.yml")
    file.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
own = read_specification(file)
if study != EXAMPLE:
    folder, _ = folders(own)
axes, sizes = [*own.axes], make_plan(own)["sizes"]

# %% tags=["remove-cell"]
require_questions(own)

# %% [markdown]
# ## Faces that people describe
#
# The generator draws codes at random, and images of them are shown to people
# ([](03_direction_fitting)). These are the first ones. Before money is spent, look at them: what the
# generator cannot draw, no study will show.


# %% tags=["hide-input"]
def as_codes(rows: np.ndarray) -> torch.Tensor:
    """Codes (…, D) as the face world takes them."""
    return torch.from_numpy(rows.reshape(-1, rows.shape[-1]).astype(np.float32))


def play_the_crowd(audit: Specification, images: np.ndarray, asked: list[str], part: str) -> None:
    """Leave an export of simulated people where the study expects one."""
    codes = np.load(folder / f"{part.removesuffix('-crops')}_codes.npy")
    shown = facerender.visible_scores(load_generator("known-truth").parameters(as_codes(codes)))
    seen = observers.on_crops(shown) if part.endswith("-crops") else crowd.perceived(shown)
    seen = seen.set_axis(hidden_names(images))
    seen = seen[~seen.index.duplicated()]
    answers = crowd.annotate(seen[asked], audit.people.raters, seed=seed, stage=f"21 {part}")
    place = folder / "people" / part / "answers"
    place.mkdir(parents=True, exist_ok=True)
    annotations.write_label_studio(answers, place / "export.json")


# %% tags=["hide-input"]
def ask_people(audit: Specification, images: np.ndarray, asked: list[str], stage: str) -> Said:
    """What people say of a part of the study."""
    if study == EXAMPLE:
        play_the_crowd(audit, images, asked, stage)
    return said_of(audit, images, asked, folder, model, lambda _: None, stage)


# %%
generator, model = generator_of(own, device), model_of(own)
views = Views(own, generator, folder, ask_people)
codes = sampled_codes(generator, own.generator.samples, own.design.seed, SAMPLES)
samples = views.made(codes, "samples")
print(f"{len(samples):,} images of {samples.shape[-1]} × {samples.shape[-1]} pixels")

# %% mystnb={"image": {"alt": "Twelve faces in two rows, as the generator of the study draws them."}, "figure": {"name": "fig-study-samples", "caption": "The first sampled faces. None was selected."}}
_ = figures.gallery(samples[:12], 6)

# %% [markdown]
# People answer in a tool, and the tool's export is read. Names of images are hashes of their pixels,
# so nobody can tell which images belong together. With a generator of yours the command has stopped
# here, written tasks, and gone on once the export was there. The example has no people. So a
# simulated crowd is shown what the faces truly show, and leaves the same kind of file. Gender is asked
# on crops that hide the hair, where the study's file has a `crop`.

# %%
_, first = views.look(samples, "samples", own.asked_of_samples)
agreed = [row for one in views.about for row in one.get("agreement", [])]

# %% [markdown]
# How well do people agree? Krippendorff's alpha is one where all say the same, and zero where they might as well have
# guessed ([](06_annotation_ingestion)). An attribute that people do not agree about cannot have a
# good direction.

# %% tags=["hide-input"]
COUNTED = ["images", "raters", "alpha", "alpha_low", "alpha_high"]
agreement = pd.DataFrame(agreed, columns=["attribute", *COUNTED])
agreement = agreement.set_index("attribute").rename(spaced, axis=1)
nobody = Markdown("A classifier read the images, so that there is nobody to agree.")
agreement.rename(spaced) if len(agreement) else nobody

# %% [markdown]
# ## Directions
#
# Each attribute gets a hyperplane, fitted to the mean answers. Its quality is what it tells about
# images that it was not fitted to: R², or balanced accuracy where an attribute was cut in two, for
# which one half is chance. Look at fakeness. People hardly agree about it, so there may be little to
# fit. It is no axis, and no step is taken along it, but pruning leaves images out by these answers.

# %%
found = find_directions(codes, first.scores, own, views.measured(samples))
planes = found.planes.select([name for name in found.planes.names if name in ATTRIBUTES])
quality = pd.Series(planes.scores, name="quality").to_frame()
cut = {} if own.calibration else own.generator.binary
quality["measure"] = ["balanced accuracy" if name in cut else "R²" for name in quality.index]
quality.rename(spaced)

# %% mystnb={"image": {"alt": "A square matrix of the cosines between the fitted normals of all attributes that people were asked about, violet where two go together and orange where they exclude each other."}, "figure": {"name": "fig-study-cosines", "caption": "Cosines between the fitted normals. Far from zero, two attributes are tied together in this generator."}}
cosines = directions.cosines(planes).rename(spaced, axis=0).rename(spaced, axis=1)
axis = figures.heatmap(cosines.mask(np.eye(len(cosines), dtype=bool)))
axis.grid(False)

# %% [markdown]
# Read the matrix row by row. An axis whose row is pale can be changed by itself. One that is tied to
# others cannot, unless those are held still, and the stronger the tie the more it costs to hold them.

# %% [markdown]
# ## The dual basis
#
# A step along a normal drags its neighbours along. The dual basis takes each attribute's step at right
# angles to all the other normals ([](04_orthogonalization)). That has a price, the length of the
# step: its square, for the same change, is the *variance inflation* below. A step that is long leads
# to unusual faces.

# %%
inflation = orthogonalization.variance_inflation(planes.normals)
pd.Series(inflation, [*map(spaced, planes.names)], name="variance inflation").to_frame()

# %% [markdown]
# A value of one costs nothing: the attribute stands alone. Above ten the step leads to unusual faces, and
# the report of the study says so among its limits. Then ask about fewer attributes, or make two that go
# together one axis.

# %% [markdown]
# ## Transects
#
# Levels are quantiles of what sampled faces have. Base faces are adults, by the fitted plane of age.
# They are made neutral in the axes and keep their own age; beards and makeup are held, as in
# [](05_transect_generation), so that no face meant as female has a beard. Values are logits of scores
# where the study has a `calibration`.

# %% tags=["hide-input"]
levels = pd.DataFrame(found.levels, ["low", "high"]).T
levels["held"] = ""
for name, value in found.held.items():
    levels.loc[name, "held"] = f"{value:.2f}"
levels.rename(spaced).style.format("{:.2f}", ["low", "high"], na_rep="")

# %% [markdown]
# Fitted directions miss. So the study brings faces and levels to their targets before the model is
# asked. People see neutral faces, which are moved to the middle, and the least neutral are left out. Then people see some transects in
# each of several rounds, and the means of the cells are brought to their goals. The steps are those of
# [](05_transect_generation). What readers measure is held too; the example has none. With a generator of yours, the
# command stops at each part for its answers.

# %%
base, steps = faces_and_steps(found, views, sizes["units"])
index, cells = found.transects(base, steps)
images = views.made(cells, LAST)
print(f"{len(images):,} images of {index['unit'].nunique():,} faces")

# %% mystnb={"image": {"alt": "Rows of faces, one person after the other at all combinations of the levels of the axes; pose, light and background hardly change within a person."}, "figure": {"name": "fig-study-transects", "caption": "The first transects: each face at all combinations of the axes' levels, the last axis changing fastest."}}
in_a_row = min(max(1, 8 // 2 ** len(axes)), index["unit"].nunique())
shown = index[index["unit"].isin(index["unit"].unique()[: 4 * in_a_row])]
in_words = [
    "\n".join(own.axes[name][level] for name, level in zip(axes, row, strict=True))
    for row in shown[[f"{name}_level" for name in axes]].to_numpy()[: 2 ** len(axes) * in_a_row]
]
_ = figures.gallery(images[shown.index], len(in_words), in_words)

# %% [markdown]
# Do the cells lie where the generator samples at all? Outside of that range an image comes out of any
# code too, and nothing says that it is a face of this population ([](n08_real_generators)).

# %% tags=["hide-input"]
drawn = generator.sample(max(2000, len(codes)), seed).cpu().numpy()
outside = realism.out_of_range(cells, drawn, planes)["outside"]
by_level = {
    (spaced(name), word): (outside[index[f"{name}_level"] == level] != "").mean()
    for name, words in own.axes.items()
    for level, word in enumerate(words)
}
fresh = generator.sample(len(cells), seed + 1).cpu().numpy()
by_level["sampled", "anew"] = (realism.out_of_range(fresh, drawn, planes)["outside"] != "").mean()
pd.Series(by_level, name="share outside").to_frame().T.style.format("{:.1%}")

# %% [markdown]
# Compare each share with that of faces sampled anew. A share of a tenth or more at one level would be a
# reason to bring the quantiles nearer to each other, and one at *one side* of an axis would be worse.
# The model would then meet odd images on that side alone, and their oddness would be told as an effect
# of the axis.

# %% [markdown]
# ## What people see in them
#
# People describe the transects as they did the samples. Their answers are the labels, and they say
# whether the levels were seen that were meant, and what else has moved.

# %%
whole, seen = views.look(images, LAST, own.asked_of_samples if own.calibration else own.asked)
labelled = whole.labelled(index, own)
labelled[own.attribute] = whole.scores[own.attribute].to_numpy()

# %% [markdown]
# Each column below is an axis. Its rows say how much of each attribute's scale people saw change
# between its low level and its high one. The change of the axis itself was meant. All others are
# leakage, and whatever they do to errors will be read as an effect of the axis. A table that is clean
# is so as far as a study can see. The last section asks whether that is clean enough.

# %%
names = [*axes, *(name for name in own.asked if name not in axes)]
moved = {name: labelled.groupby(f"{name}_level")[names].mean().diff().iloc[-1] for name in axes}
moved = pd.DataFrame(moved).T
moved.rename(spaced, axis=0).rename(spaced, axis=1).T

# %% [markdown]
# ### The gate
#
# The same answers decide whether the model may be asked. An axis may move what is held by no more than a
# limit, in standard deviations of sampled faces, and faces may lie apart within a level by no more than another. Both are
# limits for one-sided upper bounds. Here are the largest bounds of each kind. If the gate is closed, the command ends
# and says what leaks. This chapter goes on in any case.

# %%
told = gate(found, views, steps, seen) if own.calibration else {"leaks": [], "doses": []}
largest = pd.DataFrame(told["leaks"], columns=["attribute", "axis", "change", "upper"]).head(6)
largest.rename(spaced, axis=1).replace("_", " ", regex=True)

# %% tags=["hide-input"]
doses = pd.DataFrame(told["doses"], columns=["axis", "level", "sd", "upper"])
doses.replace("_", " ", regex=True).style.format("{:.3f}", ["sd", "upper"])

# %% tags=["remove-input"]
in_the_example(
    lambda: Markdown(
        f"**In this run** the gate is {'open' if told['passed'] else '**closed**'}: the limits are "
        f"{told['most_leak']:.2f} standard deviations, and {told['most_spread']:.2f} of the scale."
    )
)

# %% [markdown]
# ## Pruning
#
# Images that people find ambiguous or fake are left out by the rules of {cite:t}`transects`, and then those
# that look like children or teenagers. Each rule takes images from some cells more than from others
# ([](07_pruning)), so the counts of pairs below matter more than those of images. Error rates and the
# regression are of images that are kept. Effects within transects come with and without.

# %%
kept, rules = pruning.prune(labelled, pruning.PAPER_RULES)
adults, young = pruning.prune(kept, pruning.ADULT_RULE)
every_rule = pd.concat([rules, young]).set_index("attribute").rename(spaced, axis=0)
every_rule.rename(spaced, axis=1)

# %%
grid = [f"{name}_level" for name in axes]
complete = pruning.completeness(labelled, adults, grid, "unit").set_index(["unit", "axis"])
complete.rename(lambda name: spaced(name.removesuffix("_level")), level="axis")

# %% [markdown]
# ## Errors by group
#
# The model is asked about every image, and an error is an answer that differs from the majority.
# Groups are formed as in [](08_stratified_errors), by what people saw, of the images that pruning kept.

# %%
score = ask(model, images, folder / "answers")
data = judged(labelled.assign(score=score), own.model.cut, True, own.name).frame
data["kept"] = data.index.isin(adults.index)
answered = data[data["error"].notna()]
rows = answered[answered["kept"]]
counts = {"images": len(data), "with label and answer": len(answered), "of these kept": len(rows)}
pd.Series(counts).to_frame("n").T


# %% tags=["hide-input"]
def groups(name: str) -> pd.Series:
    """What people saw on an axis; where the paper has no cut, what was meant."""
    if name in errors.STRATA:
        return errors.discretize(rows[name], *errors.STRATA[name])
    meant = pd.Categorical.from_codes(rows[f"{name}_level"], own.axes[name], ordered=True)
    return pd.Series(meant, rows.index)


strata = {name: groups(name) for name in axes}
table = errors.stratified_errors(rows.assign(**strata), axes[::-1])
if len(axes) > 2:
    named = [(",\n".join(words[:-1]), words[-1]) for words in table.index]
    table.index = pd.MultiIndex.from_tuples(named, names=["group", axes[0]])

# %% mystnb={"image": {"alt": "Bars of the model's error rate by the levels of the axes that people saw, side by side for the first axis, with 95 % intervals and counts."}, "figure": {"name": "fig-study-errors", "caption": "Error rates by what people saw, of images that pruning kept; Wilson intervals, counts under the bars."}}
if len(rows):
    figures.bars(table)
else:
    print("no rate: no image was kept")

# %% [markdown]
# The bars compare groups that were made alike, so bars that differ inside a pair speak of the first
# axis. They carry no interval of the *difference*. That needs the pairing, and comes two sections below.

# %% [markdown]
# ## The regression
#
# The regression of {cite:t}`transects` takes all attributes at once ([](09_logistic_ate)). Shown are log odds ratios
# between the two levels of skin colour and of hair length, for everybody and by perceived gender;
# whole faces are resampled, not images. A level that no image has leaves no estimate.

# %%
draws = []
if len(set(rows["unit"])) > 1:  # of one face nothing can be resampled
    X = effects.paper_columns(rows)
    for columns in (X, effects.interaction_columns(X, ["skin_colour", "hair_length"])):
        draws.append(effects.regression_draws(columns, rows["error"], n_boot, seed, rows["unit"]))
ratios = {}
for name in ("skin_colour", "hair_length"):
    for fitted in draws:
        odds = effects.log_odds_ratios(fitted, name, *effects.PAPER_LEVELS[name][1])
        odds = effects.summarize_draws(odds).rename(str.lower)
        ratios |= {(spaced(name), group): one for group, one in odds.iterrows()}
logit = pd.DataFrame(ratios, ["estimate", "sd", "low", "high"]).T

# %% mystnb={"image": {"alt": "Six intervals around a line at zero: the log odds ratio of an error for dark against light skin and for long against short hair, for everybody, among women and among men."}, "figure": {"name": "fig-study-regression", "caption": "Log odds ratios of an error, dark against light skin and long against short hair: main effects, and by perceived gender. 95 % intervals from resampled faces."}}
if logit["estimate"].notna().any():
    figures.forest(logit, xlabel="log odds ratio")
else:
    print("no estimate: a level has no image that was kept")

# %% tags=["remove-input"]
hair = {group: one for (name, group), one in ratios.items() if name == "hair length"}
in_the_example(
    lambda: claims.told(
        "The main effect of long hair is {main:z.1f}. It averages {women:z.1f} among women and {men:+z.1f} "
        "among men. Are these two different? Then whoever stops at main effects misses both.",
        margin=abs(hair["male"]["estimate"] - hair["female"]["estimate"]),
        error=np.hypot(hair["male"]["sd"], hair["female"]["sd"]),
        main=hair["main effects"].to_dict(),
        women=hair["female"].to_dict(),
        men=hair["male"].to_dict(),
    )
)

# %% [markdown]
# ## Effects within transects
#
# The regression compares images; the transects were made to compare *versions of one face*. Each row
# is the change in the error rate from the low to the high level of an axis, in a cell of the others,
# in points. The figure is of all images, as the report of the study is, which gives a verdict besides.


# %% tags=["hide-input"]
def by_cell(part: pd.DataFrame) -> pd.DataFrame:
    """Matched effects in the finest cells, by axis and cell."""
    every = effects.all_matched_effects(part, "error", axes, "unit", own.design.tolerance)
    finest = every[every[axes].notna().sum(axis=1) == len(axes) - 1]
    named = [
        ", ".join(own.axes[name][row[name]] for name in axes if name != row["attribute"]) or "all"
        for _, row in finest.iterrows()
    ]
    return finest.assign(cell=named).set_index(["attribute", "cell"])


def in_points(table: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Rates times a hundred, and axes in words."""
    return (100 * table).rename(spaced, level="attribute")


everything = by_cell(data)
pruned = by_cell(data.assign(error=data["error"].where(data["kept"])))
RATES = ["estimate", "low", "high"]
change = in_points(everything[RATES]).assign(n=[*everything["n"]])

# %% mystnb={"image": {"alt": "Intervals of the effect of each axis on the error rate, one for each combination of the other axes' levels, around a line at zero."}, "figure": {"name": "fig-study-effects", "caption": "Change of the error rate from the low to the high level of an axis, in points, in each cell of the others; all images, 95 % intervals, and n pairs."}}
CHANGE = "change of the error rate, points"
axis = figures.forest(change, xlabel=CHANGE)

# %% tags=["hide-input"]
both = {"all images": everything, "kept by pruning": pruned}
beside = {
    f"{which}, {what}": in_points(one["estimate"]) if what == "points" else [*one["n"]]
    for which, one in both.items()
    for what in ("points", "pairs")
}
pd.DataFrame(beside).style.format("{:+z.1f}", [name for name in beside if "points" in name])

# %% [markdown]
# ## What your generator will not tell
#
# Here the study of a real generator ends. In the example it can be judged, since the faces are those of
# a world that is known. The same base faces are rendered with each axis set to the median of what its images
# really show, everything else exactly as it was, and the model is asked ([](10_matched_pairs)).
# A study of your own leaves this section empty.


# %% tags=["hide-input"]
def errors_by_intervention() -> np.ndarray:
    """The model's errors on the study's own base faces, at the doses that its images have."""
    doses = {
        name: [real.loc[index[f"{name}_level"] == level, name].median() for level in (0, 1)]
        for name in axes
    }
    return truth.errors_under_do(
        lambda pictures: ask(model, pictures, folder / "answers"),
        world.parameters(as_codes(base)),
        doses,
        size=images.shape[-1],
        path=folder / "truth.npy",
    )


# %% tags=["hide-input"]
true, tolerance = pd.Series(np.nan, everything.index), own.design.tolerance
if study == EXAMPLE:
    world = load_generator("known-truth", device=device)
    real = facerender.to_frame(world.parameters(as_codes(cells))).astype(float)
    misread = errors_by_intervention()
    known = truth.effects(misread, axes).rename(columns={"effect": "truth"})
    keys = ["attribute", *axes]
    true = everything.reset_index().merge(known[[*keys, "truth"]], on=keys)
    true = true.set_index(["attribute", "cell"])["truth"]

# %% mystnb={"image": {"alt": "The intervals of the figure before, with a diamond for the truth by intervention in each row. Diamonds outside of their interval are misses."}, "figure": {"name": "fig-study-truth", "caption": "The effects of the figure before, with diamonds for the truth by intervention on the same base faces."}}
if study == EXAMPLE:
    axis = figures.forest(change, in_points(true), CHANGE)

# %% tags=["hide-input"]
sets = dict(both)
if study == EXAMPLE:
    wrong = (data["score"] > own.model.cut) != data[f"{own.attribute}_level"]
    sets["meant level as label"] = by_cell(data.assign(error=wrong.astype(float)))
large = true.abs() > tolerance
compared = {
    which: {
        "cells": len(true),
        "hold the truth": true.between(one["low"], one["high"]).sum(),
        "mean distance, points": 100 * (one["estimate"] - true).abs().mean(),
        "true effect beyond the tolerance": large.sum(),
        "of these with the right sign": (one["estimate"] * true > 0)[large].sum(),
    }
    for which, one in sets.items()
    if study == EXAMPLE
}
pd.DataFrame(compared).style.format("{:.2g}") if compared else Markdown("No truth is known here.")

# %% tags=["remove-input"]
inside = true.between(everything["low"], everything["high"])
in_the_example(
    lambda: claims.told(
        "{inside} of {n} intervals hold the truth; by chance one in twenty would miss. With the meant level "
        "as the label {meant} hold it. On average an estimate is {off:.1f} points from the truth. Do more intervals miss than chance allows? The answer takes the "
        "cells as independent, which they are not quite.",
        margin=(~inside).mean() - 0.05,
        error=np.sqrt(0.05 * 0.95 / len(inside)),
        inside=int(inside.sum()),
        n=len(inside),
        meant=compared["meant level as label"]["hold the truth"],
        off=100 * (everything["estimate"] - true).abs().mean(),
    )
)


# %% tags=["remove-input"]
def the_farthest_corner() -> Markdown:
    """Where the images are farthest from the truth, and how many of the missed effects end there."""
    truly = misread.mean(axis=0)
    images_say = data.groupby(grid)["error"].mean().to_numpy().reshape(truly.shape)
    place = np.unravel_index(np.abs(images_say - truly).argmax(), truly.shape)
    levels = dict(zip(axes, map(int, place), strict=True))
    there = (everything[axes].isna() | everything[axes].eq(levels)).all(axis=1)
    corner = ", ".join(own.axes[name][level] for name, level in levels.items())
    return Markdown(
        f"**In this run** the images are farthest from the truth in this corner: {corner}. The model "
        f"misreads {images_say[place]:.0%} of them, and {truly[place]:.0%} of the same faces where nothing "
        f"but the axes was changed. Of {(~inside).sum()} effects that were missed, "
        f"{there[~inside].sum()} end in this corner."
    )


in_the_example(the_farthest_corner)

# %% [markdown]
# Labels aside, two things can make the difference: attributes that moved along without anybody being asked
# about them, and doses that differ from face to face. [](10_matched_pairs) takes such distances
# apart. A part of it can be seen in the figure of the transects, by whoever looks for it.


# %% tags=["remove-input"]
def what_moved_along() -> Markdown:
    """Earrings and jaws: seen in the images, and in no question."""
    female, jaw = index["gender_level"] == 0, real["jaw_width"]
    worn = index[female].assign(worn=(real["earrings"] > 0.5).astype(float))
    worn = worn.pivot_table("worn", "unit", "skin_colour_level")
    more = worn[1] - worn[0]
    return claims.told(
        "{dark:.0%} of the images that were meant to look dark-skinned and female wear earrings, and "
        "{light:.0%} of the light-skinned versions of the same faces. Jaws change by {wider:+.1f} standard "
        "deviations from female to male. Do earrings come along with skin?",
        margin=more.mean(),
        error=more.sem(),
        dark=worn[1].mean(),
        light=worn[0].mean(),
        wider=(jaw[~female].mean() - jaw[female].mean()) / jaw.std(),
    )


in_the_example(what_moved_along)

# %% [markdown]
# The gate did not see this, since neither people nor readers were asked. What was seen here can be asked
# about in another study, or measured by a reader, and then be held. [](benchmarks) counts how often the same audit
# holds its truths with readers. How much of an effect is due to such a leak cannot be read from the
# study, whose intervals know of chance alone. Read its signs and its orders of
# magnitude, and let a verdict rest on effects that are far beyond the tolerance.

# %% [markdown]
# ## What would change our mind
#
# - If people saw a level differently from how it was meant, the transects would be a treatment that
#   nobody took.
# - If an attribute that was not meant moved by more than a tenth of its scale, the effect beside it
#   could be that attribute's.
# - If most cells lay outside of the sampled range, the study would be about odd images.
# - If the study of the known world had signs wrong where effects are large, no study of this kind
#   could be trusted with less.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Without holding
# :label: exercise-study-held
# Write `held: {}` under `generator` in `audits/study.yml`, run `make chapter STAGE=21_own_study`, and undo it
# afterwards. Which attributes move along now, and how many cells hold the truth?
# ```
#
# ```{solution} exercise-study-held
# :class: dropdown
# Beards and makeup can now move with perceived gender. See how far in the table of what people saw, and
# how many images pruning takes because they are ambiguous about gender. Then compare how many intervals
# hold the truth, and how many faces meant as female are seen as male.
# ```

# %% [markdown]
# ```{exercise} Fewer answers
# :label: exercise-study-answers
# Fit the directions again from the first five hundred images only. What happens to the table of
# quality, to the cosines, and to the gate? (`faces_and_steps` and `transects` give new codes, where
# `views` has another folder.)
# ```
#
# ```{solution} exercise-study-answers
# :class: dropdown
# `find_directions(codes[:500], first.scores.head(500), own)`. There are fewer faces than numbers in a
# code, so the planes lean on the penalty. Expect lower quality, and smaller cosines because normals are
# noisy. A step along noisy normals changes its own attribute less and others more.
# ```

# %% [markdown]
# ## Takeaways
#
# - A whole study asks people several times: to find directions, to bring faces to their targets, and for
#   labels.
# - Agreement, quality, variance inflation, range and the gate are looked at before the model is asked.
# - Its intervals tell chance. They do not tell leakage: questions do, and a look at the images.
# - Read signs before sizes. Just beyond the tolerance, a verdict may be wrong.

# %% tags=["hide-input"]
kept_columns = ["estimate", "low", "high", "n"]
_ = stage.finish(
    {
        "study": own.name,
        "quality": planes.scores,
        "leakage": moved.to_dict("index"),
        "images": {"made": len(data), "kept": len(rows)},
        "regression": {", ".join(key): row for key, row in logit.to_dict("index").items()},
        "effects": everything[kept_columns].reset_index().to_dict("records"),
        "truth": true.dropna().reset_index().to_dict("records"),
    }
)
