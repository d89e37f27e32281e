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
# # What nobody annotated
#
# Transects hold fixed what people annotated. What nobody thought of is free to move. The authors of
# {cite:t}`transects` met a case when all annotations were already paid for: where a dark-skinned face
# was made to look female, their method tended to add earrings (their Figure 19). Our face world was
# built to do something alike. This chapter follows the earrings from their discovery to their
# removal, and then asks what one can still say about attributes that nobody ever discovers.

# %% [markdown]
# ## Question
#
# If an attribute that was not annotated changes along with the one that was meant to change, how
# wrong does the audit become? Does it help to annotate it afterwards, and is it better to correct the
# analysis or to make new images? And when there is nothing left to annotate, can a sensitivity
# analysis tell which findings are safe?

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Unit | a transect: one base face in eight combinations of skin, hair and gender |
# | Intervention | skin colour, hair length or gender, low to high; and earrings alone, put on and taken off |
# | Held fixed | seven annotated attributes; in the second half of the chapter eight, with earrings |
# | Outcome | error against the raters' majority, 0 or 1 |
# | Estimand | change in error rate by cell, with earrings held where the base face has them |
# | Known failure | a {term}`confounder` that nobody has thought of; the crowd here is simulated and its raters never take earrings for a sign of gender |

# %% [markdown]
# ## Prerequisites
#
# You need [](03_direction_fitting) to [](05_transect_generation) for directions, the dual basis and
# transects, [](08_stratified_errors) for the errors, and the matched effects of
# [](10_effects_and_truth), whose true effects serve as the yardstick again. No other statistics are
# assumed; each sensitivity measure is explained where it is used. Reading takes about an hour,
# running a minute or two.

# %%
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from matplotlib.ticker import LogLocator, NullFormatter

from helpers import (
    annotations,
    directions,
    effects,
    errors,
    faces,
    figures,
    models,
    orthogonalization,
    transects,
)
from helpers.annotations import crowd
from helpers.artifacts import Stage
from helpers.effects import labels
from helpers.faces import interventions
from helpers.faces.batches import render_to_store
from helpers.generators import load_generator
from helpers.scorecard import error_sources, hidden_attribute, truth
from helpers.scorecard.figures import draw_ladder
from helpers.scorecard.hidden_attribute import plus_minus

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
figure_size = 256
n_directions = 5000
n_raters = 5

# %%
stage = Stage("14_hidden_attributes", profile=profile, device=device, seed=seed)
figures.style()
generator = load_generator("known-truth", device=device)

# %%
MODELS = ("celeba-like", "fairface-like", "plantskin")
AXES = list(labels.CONTRASTS)  # skin colour, hair length, gender
TOLERANCE = 0.05  # of the verdicts in the saved table, as in chapter 10; the pages show none
audit = stage.load("08_stratified_errors", "audit.parquet")
table = stage.load("05_transect_generation", "fitted_parameters.npy")
audited_faces = torch.from_numpy(table.copy())

# %% [markdown]
# The null control is left out: its answers follow the label and look at no image, so no earring can
# change them. All three networks look at images, and nobody told them which parts to look at.

# %% [markdown]
# ## An attribute on nobody's list
#
# The crowd of [](03_direction_fitting) was asked seven questions about the face, and how fake it
# looks. Earrings were not among them. In the training population, however, they go with being
# perceived as a woman, with longer hair, with makeup and with darker skin. A direction that was
# fitted without knowing of earrings inherits these correlations, and the {term}`dual basis` cannot
# remove them: it keeps still only what it was told about.

# %% [markdown]
# In a known world we can look at what was not asked: the presence of earrings in every image, from
# zero to one, as far as it shows. A scarf hides them, hair does not. The three people below are those
# of the audit whose earrings change most while their hair is short.

# %%
shown = hidden_attribute.earrings_shown(audited_faces).to_numpy()
spread = np.ptp(hidden_attribute.short_haired(shown), axis=1)
clearest = np.argsort(-spread, kind="stable")[:3]

# %% mystnb={"image": {"alt": "Three rows of four faces. Each row is one person with short hair: perceived as female with light and with dark skin, then as male with light and with dark skin. Golden earrings hang on some faces of a row and are missing on others."}, "figure": {"name": "fig-hidden-earrings", "caption": "Three transects of the audit, short hair only. Skin colour and perceived gender were changed; earrings were not supposed to. After Figure 19 of the transects paper."}}
COLUMNS = ["female\nlight", "female\ndark", "male\nlight", "male\ndark"]
chosen = np.concatenate(hidden_attribute.short_haired(audited_faces.numpy())[clearest])
store = stage.path("found.npy")
pictures = render_to_store(chosen, figure_size // 2, store, device=device)
gallery = figures.gallery(pictures, 4, COLUMNS)

# %% [markdown]
# These are the clearest cases, chosen to be seen. How common are they? For each transect we subtract
# the earrings at the low level of an axis from those at its high level, and average. That is the
# {term}`leakage` of the axis, δ: the change of the hidden attribute along with the intended one. The
# interval takes transects as the units. The helper that computes the truth does the arithmetic,
# because leakage is an effect too, on earrings instead of errors.

# %%
leak = hidden_attribute.changes(shown)
leak["δ"] = plus_minus(leak)
leak_at = leak.pivot_table("δ", "attribute", "cell", "first")
labels.in_words(leak_at.loc[AXES, ["average", "female", "male"]].fillna(""))

# %%
average_leak = leak[leak["scope"] == "average"].set_index("attribute")
clear = average_leak["effect"].abs() > labels.Z * average_leak["se"]

# %% tags=["hide-input"]
lines = [
    f"- **{labels.CONTRASTS[axis]}**: {row['effect']:+z.2f}, "
    f"{'clearly a leak' if clear[axis] else 'not distinguishable from none'}."
    for axis, row in average_leak.iterrows()
]
Markdown("\n".join(lines))

# %% [markdown]
# A leak of minus one would mean that every woman of a pair wears earrings and no man does. The
# leaks follow the planted correlations: what the training population puts together, the directions
# put together. On real images nobody could print this table without asking the raters once more,
# which is what the paper recommends and what we do further down.

# %% tags=["remove-cell"]
measurable = labels.Z * average_leak["se"].max() < 0.06
assert not measurable or average_leak.loc["gender", "effect"] < -0.1
assert not measurable or average_leak.loc["skin_colour", "effect"] > 0.05

# %% [markdown]
# ## Does it matter?
#
# A leak alone biases nothing. It needs a classifier that cares. So we intervene on earrings and
# nothing else: take base faces of the transects, put each combination of skin, hair and gender on
# them at the audit's doses, once with earrings and once without, and ask the models. A quarter of
# the base faces is enough to see effects that could matter.

# %%
planes = directions.Hyperplanes.from_arrays(stage.load("03_direction_fitting", "hyperplanes.npz"))
doses = stage.load("05_transect_generation", "doses.json")
adult = stage.load("05_transect_generation", "results.json")["adult"]
n_transects = audit["transect"].nunique()
recipe = {"youngest": adult - 0.5, "seed": seed, "stage": "05_transect_generation"}
base = transects.base_latents(generator, planes, AXES, n_transects, **recipe)
base_faces = generator.parameters(torch.from_numpy(base)).cpu()

# %% [markdown]
# The call repeats the recipe of [](05_transect_generation), word for word, and so finds the same
# base faces again. They lie in the middle of their transects: neutral in skin, hair and gender, and
# with the earrings that the face has before any walk begins.

# %%
networks = models.load_all(stage, "02_face_world", MODELS)
ASKED = max(n_transects // 4, min(n_transects, 40))
with_earrings = doses | {"earrings": (0.0, 1.0)}
rendering = {"size": image_size, "path": stage.path("put_on.npy"), "device": device}


# %%
def put_on(model: str) -> np.ndarray:
    """Errors on base faces by level of skin, hair and gender, without (0) and with (1) earrings."""
    score = partial(models.predict, networks[model])
    return truth.errors_under_do(score, base_faces[:ASKED], with_earrings, **rendering)


asked = {name: put_on(name) for name in MODELS}


# %%
def effect_of_earrings(errors: np.ndarray) -> pd.DataFrame:
    """Each face with against without earrings, by gender and hair, averaged over skin."""
    rows = transects.index(len(errors), with_earrings).assign(error=errors.ravel().astype(int))
    by = ["gender_level", "hair_length_level"]
    options = {"by": by, "transect": "transect", "tolerance": TOLERANCE}
    return effects.matched_effects(rows, "error", "earrings_level", **options).reset_index()


worn = {name: effect_of_earrings(errors) for name, errors in asked.items()}
worn = hidden_attribute.stacked(worn, ["model"])
worn["points"] = labels.points(worn)
worn.pivot_table("points", "cell", "model", "first", sort=False)

# %% [markdown]
# This is γ, the effect of earrings on errors in points, with Tango's 95 % intervals. A negative number
# for women means that earrings help the model to read a woman as a woman; a positive one for men, that
# they lead it astray. A number clear of zero is a cue that nobody asked for: the network found it in
# its training images, where it is informative. It counts where the model is in doubt; where hair
# already settles the matter, little is left for earrings to do.

# %% tags=["hide-input"]
strongest = worn.loc[worn.groupby("model", sort=False)["estimate"].idxmin()]
Markdown(
    "\n".join(
        f"- **{row['model']}**: the largest help is {row['points']} points ({row['cell']})."
        for _, row in strongest.iterrows()
    )
)

# %% tags=["remove-cell"]
by_look = worn.pivot_table("estimate", "model", "cell")
if (worn["high"] - worn["low"]).max() < 0.15:
    assert (by_look["female, short hair"] < by_look["female, long hair"].clip(upper=0)).all()

# %% [markdown]
# ### Bias is leakage times effect
#
# Put the two tables together. In some combination of skin, hair and gender the walk has added
# earrings to a share of the faces, and each added earring changes the error rate by γ *of that
# combination*. The product is what earrings add to the error rate there. An audited effect is a
# difference of two combinations, so its bias is the difference of two products; where γ is equal at
# both ends, that is simply δ γ.

# %%
before = hidden_attribute.earrings_shown(base_faces).to_numpy()
gained = hidden_attribute.as_grid(shown) - before[:, None, None, None]
gamma = {name: (wrong[..., 1] - wrong[..., 0]).mean(axis=0) for name, wrong in asked.items()}
expected = {name: hidden_attribute.changes(gained * g) for name, g in gamma.items()}
expected = hidden_attribute.stacked(expected, ["model"])

# %% [markdown]
# That is an expectation from two averages. It can be checked without averages. We give each image
# of the audit the earrings of its base face, by *do*, change nothing else, and render again. Only
# images in which an earring appears, vanishes or changes size have to be rendered; the others would
# come out the same. The raters' labels stay, since earrings are no part of what they call gender.

# %%
own = audited_faces[:, faces.INDEX["earrings"]]
kept = base_faces[:, faces.INDEX["earrings"]].repeat_interleave(8)
held_faces = interventions.do(audited_faces, earrings=kept)
INVISIBLE = 0.3  # the renderer draws nothing below this presence
touched = (torch.maximum(own, kept) > INVISIBLE).numpy()
store = stage.path("held.npy")
held_pictures = render_to_store(held_faces[touched], image_size, store, device=device)
print(f"{touched.mean():.0%} of {len(audit):,} images had to be rendered again")


# %%
def held_scores(model: str) -> np.ndarray:
    """Answers to the audit's images with the earrings of the base face."""
    score = audit[f"score_{model}"].to_numpy().copy()
    score[touched] = models.predict(networks[model], held_pictures)
    return score


def wrong(score: np.ndarray, label: pd.Series) -> np.ndarray:
    """Errors against the raters' majority, 0 or 1."""
    return ((score > 0.5) != label.to_numpy()).astype(int)


# %%
audited = {name: wrong(audit[f"score_{name}"].to_numpy(), audit["label"]) for name in MODELS}
held = {name: wrong(held_scores(name), audit["label"]) for name in MODELS}
measured = {name: hidden_attribute.changes(audited[name] - held[name]) for name in MODELS}

# %% [markdown]
# `measured` is the part of each estimate that came from earrings: the estimate of the audit minus
# the estimate that the audit would have given, had earrings stayed where they were. Below it is
# drawn against the product. One mark is one effect in one cell. On the dashed line both agree.

# %%
bias = hidden_attribute.stacked(measured, ["model"]).assign(expected=expected["effect"])
bias = bias[bias["scope"] == "cell"].reset_index(drop=True)

# %% tags=["hide-input"] mystnb={"image": {"alt": "A scatter of the measured against the expected part of earrings in each effect, in points, with vertical intervals; three kinds of marks for three models around a dashed diagonal. Most marks lie near the origin, and the marks far from it belong to single cells."}, "figure": {"name": "fig-earrings-bias", "caption": "Part of each effect that is due to earrings: expected from leakage times effect (horizontal) and measured by giving every image the earrings of its base face (vertical, 95 % intervals). Twelve cells per model; where no answer changed, there is no interval."}}
axis = plt.figure(figsize=(figures.WIDTH, 4.8)).gca()
for name, rows in bias.groupby("model", sort=False):
    look = figures.look(name)
    x, y, margin = 100 * rows["expected"], 100 * rows["effect"], 100 * labels.Z * rows["se"]
    axis.errorbar(x, y, margin, fmt=look.marker, color=look.colour, label=name)
axis.axline((0, 0), slope=1, color=figures.GREY, linestyle="--")
axis.set_xlabel("leakage × effect (points)")
axis.set_ylabel(f"measured (points, n = {n_transects:,} transects)")
_ = axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=4)

# %% tags=["remove-cell"]
# Precise, and no single face weighs as much as the effects in question.
known = labels.Z * bias["se"].max() < 0.03 and 1 / n_transects < 0.005
assert not known or bias["effect"].abs().median() < 0.01

# %%
largest = bias.loc[bias["effect"].abs().groupby(bias["model"]).idxmax()].set_index("model")
largest["part"] = plus_minus(largest, 100, 1)

# %% tags=["hide-input"]
Markdown(
    "\n".join(
        f"- **{name}**: the largest part is {row['part']} points, in "
        f"{labels.CONTRASTS[row['attribute']]} ({row['cell']}); expected {100 * row['expected']:+z.1f}."
        for name, row in largest.loc[list(MODELS)].iterrows()
    )
)

# %% [markdown]
# The product says *where* a leak hurts: where both factors are large at once. It is rough, because
# earrings do not go to random faces, and γ was measured on all. Two things are worth remembering.
# Most cells are hardly touched although the leak is everywhere. And where earrings do matter, they
# need not make an effect look larger: given to women whom a model fails for their dark skin, they
# can *hide* part of the failure. The plantskin control fails them by design.

# %%
planted = bias.query("model == 'plantskin' and attribute == 'skin_colour'").set_index("cell")
planted = planted.loc["female, short hair"]
part, margin = 100 * planted["effect"], 100 * labels.Z * planted["se"]
if abs(part) <= margin:
    did = "which cannot be told from nothing"
else:
    did = "so they hide part of it" if part < 0 else "so they make it look larger"

# %% tags=["hide-input"]
Markdown(
    "**In this run** the part of earrings in the effect of dark skin on short-haired women is "
    f"{part:+z.1f} ± {margin:.1f} points for the plantskin control, {did}; from leakage and effect "
    f"{100 * planted['expected']:+z.1f} points were expected."
)

# %% [markdown]
# ### With and without
#
# Now the estimates themselves, as chapter 10 reports them: for each model the cell with the largest
# part of earrings, as audited and with earrings held, beside the {term}`known truth`. The truth comes
# from faces that keep their earrings whatever else is changed, so it is the second estimate that
# aims at it. The rest of the distance is sampling, directions and raters, which chapter 10 took apart.

# %%
AUDITED, ADJUSTED = "as audited", "adjusted"
ORTHOGONAL, HELD = "orthogonalised", "earrings held"
places = audit[["transect", *(f"{axis}_level" for axis in AXES)]]


def matched(errors: dict[str, np.ndarray], arm: str) -> pd.DataFrame:
    """Errors subtracted within transects: effects in every cell and averaged, for each model."""
    tables = {
        (arm, name): effects.all_matched_effects(
            places.assign(error=e), "error", AXES, "transect", tolerance=TOLERANCE
        )
        for name, e in errors.items()
    }
    return hidden_attribute.stacked(tables, ["arm", "model"])


arms = {AUDITED: matched(audited, AUDITED), HELD: matched(held, HELD)}


# %%
true_effects = stage.load("10_effects_and_truth", "truth.parquet")


def beside_truth(names: list[str]) -> pd.DataFrame:
    """Estimates of some arms, their intervals in points, and the truth."""
    estimates = pd.concat([arms[name] for name in names], ignore_index=True)
    known = true_effects[true_effects["model"].isin(MODELS)]
    return error_sources.compare(estimates, known).assign(points=lambda table: labels.points(table))


# %%
KEYS = ["model", "attribute", "cell"]
pair = beside_truth([AUDITED, HELD]).set_index(KEYS)
where = list(largest.reset_index()[KEYS].itertuples(index=False, name=None))
worst = pair.pivot_table("points", KEYS, "arm", "first", sort=False)
worst["truth"] = (100 * pair.groupby(KEYS)["truth"].first()).map("{:+z.1f}".format)
labels.in_words(worst.loc[where])

# %%
verdicts = pair[pair["scope"] == "cell"].pivot_table("p_holm", KEYS, "arm", "first") < 0.05
turned = verdicts.index[verdicts[AUDITED] != verdicts[HELD]].tolist()

# %% tags=["hide-input"]
Markdown(
    f"Of {len(verdicts)} cells, {verdicts[AUDITED].sum()} are flagged after Holm's adjustment as "
    f"audited and {verdicts[HELD].sum()} with earrings held. Changing sides: "
    + ("; ".join(f"{m}, {labels.CONTRASTS[axis]}, {cell}" for m, axis, cell in turned) or "none")
    + "."
)

# %% [markdown]
# So is the audit biased? Yes, by a known amount, which differs from cell to cell. Does it change
# what one would report? The sentence above names the cells. Statistical significance is a
# coarse measure of that: an effect can stay flagged and still be wrong by several points.

# %% [markdown]
# ## Annotate it
#
# The paper's remedy has three parts: annotate the attribute once it is discovered, compensate for
# it in the analysis, and orthogonalise it away in the synthesis. The annotation comes first. The
# faces of [](03_direction_fitting) are drawn again, and raters answer a ninth question about them.

# %% [markdown]
# How much raters would disagree about earrings, nobody has measured. We assume, openly, that they
# disagree as about facial hair: something that is mostly absent, and plain to see when present. The
# batch below is therefore written and read in the place of that question, on its five levels from
# none to full, by the same functions as before. Nothing else of the question is borrowed.

# %%
LIKE = "facial_hair"  # whose disagreement, and whose scale, the ninth question borrows


def ask(seen: pd.DataFrame, batch: str, draws: str = "14_hidden_attributes") -> pd.DataFrame:
    """Mean answers about what is seen in images, from zero to one, through a file."""
    path = stage.path(f"{batch}.csv")
    answers = crowd.annotate(seen, n_raters, seed=seed, stage=draws)
    annotations.write_mturk(answers, path)
    return annotations.scores(annotations.read_mturk(path).frame).loc[seen.index]


# %%
w = generator.sample(n_directions, seed)
sample = hidden_attribute.earrings_shown(generator.parameters(w)).to_frame(LIKE)
sample.index = [f"{number:05d}" for number in range(n_directions)]
scores = ask(sample, "directions")[LIKE]
print(f"{(scores > 0.5).mean():.0%} of {len(scores):,} faces are said to wear earrings")

# %% [markdown]
# A hyperplane is fitted as for the other attributes that are mostly absent, by a linear support
# vector machine. Its cross-validated accuracy would be known with a real generator as well; the
# angle to the exact normal is known only here.

# %%
plane = directions.fit_svm(w.cpu(), scores, 0.4)
unit = planes.unit()
normal = plane.normal / np.linalg.norm(plane.normal)
exact = generator.exact_hyperplanes(["earrings"])[0][0]
angle = np.degrees(np.arccos(normal @ exact / np.linalg.norm(exact)))
print(f"balanced accuracy {plane.score:.2f}, {angle:.0f}° from the exact normal")

# %%
cosines = pd.Series(unit.normals @ normal, unit.names, name="cosine with earrings")
labels.in_words(cosines.sort_values(key=np.abs, ascending=False).to_frame().T.round(2))

# %% [markdown]
# The cosines show the entanglement that had been invisible. A direction that was orthogonal to the
# seven others is not orthogonal to this one. Those with the largest cosines have been carrying
# earrings along.

# %% [markdown]
# ## Orthogonalise it away
#
# With a plane of its own, earrings become the eighth attribute of the dual basis. Nothing else
# changes: the same base faces, the same hyperplanes of the axes, the same decision values, only
# directions that now also keep the decision value of earrings. The price is the length of the step,
# which the {term}`VIF` states.

# %%
normals = {"seven annotated": unit.normals, "with earrings": np.vstack([unit.normals, normal])}
inflation = {kind: orthogonalization.variance_inflation(n)[:7] for kind, n in normals.items()}
labels.in_words(pd.DataFrame(inflation, unit.names).loc[AXES].round(2))

# %%
axes = unit.select(AXES)
levels = [np.unique(audit[f"{axis}_decision"]) for axis in AXES]


def faces_along(held_normals: np.ndarray) -> torch.Tensor:
    """Faces of all transects along the axes' dual vectors, with other normals held."""
    basis = orthogonalization.dual_basis(np.vstack([axes.normals, held_normals]))[: len(AXES)]
    cells = transects.grid(base, axes.normals, axes.intercepts, basis, levels)
    return generator.parameters(torch.from_numpy(cells.reshape(-1, generator.latent_dim))).cpu()


# %%
OFF_GRID = [name for name in unit.names if name not in AXES]
annotated = unit.select(OFF_GRID).normals
cleaned_faces = faces_along(np.vstack([annotated, normal]))

# %% tags=["remove-cell"]
again = faces_along(annotated)
assert (again - audited_faces).abs().max() < 1e-2, "these are not the transects of chapter 5"

# %% [markdown]
# Did it work? The first table is the leakage before and after. The second checks that the cure did
# no harm: the intended changes should be what they were, and so should the leaks into the attributes
# that had been annotated before. Figure 18 of the paper is of this kind: beards that came with longer
# hair although beards had been annotated. What is left of that here stands in its own column.

# %%
cleaned = hidden_attribute.earrings_shown(cleaned_faces).to_numpy()
after = hidden_attribute.changes(cleaned)
after["δ"] = plus_minus(after)
leak_after = after.pivot_table("δ", "attribute", "cell", "first")
labels.in_words(pd.DataFrame({"before": leak_at["average"], "after": leak_after["average"]}))


# %%
def average_changes(parameters: torch.Tensor) -> pd.DataFrame:
    """Mean change of everything that raters can see (columns) along each axis (rows)."""
    visible = faces.visible_scores(parameters).drop(columns="fakeness")
    moved = {name: hidden_attribute.changes(values) for name, values in visible.items()}
    averages = pd.concat(moved, names=["seen"]).query("scope == 'average'").reset_index("seen")
    return averages.pivot_table("effect", "attribute", "seen")


side_effects = {
    "before": average_changes(audited_faces),
    "after": average_changes(cleaned_faces),
}
changed = pd.concat(side_effects, names=["when"]).swaplevel()
labels.in_words(changed.sort_index(ascending=[True, False]).round(2))

# %% tags=["remove-cell"]
moved_before = average_leak["effect"].abs().mean()
moved_after = after.loc[after["scope"] == "average", "effect"].abs().mean()
if measurable and plane.score > 0.85:
    assert moved_after < 0.3 * moved_before
for axis in AXES:
    dose = [side_effects[when].loc[axis, axis] for when in ("before", "after")]
    assert abs(dose[1] - dose[0]) < 0.05

# %% mystnb={"image": {"alt": "Two rows of four faces of one person with short hair, perceived as female and as male, with light and dark skin. In the upper row, made before, earrings come and go; in the lower row, made after, they stay as they are while everything else looks as above."}, "figure": {"name": "fig-earrings-removed", "caption": "One transect before and after earrings were annotated and orthogonalised away. The base face and the levels are the same."}}
remaining = np.ptp(hidden_attribute.short_haired(cleaned), axis=1)
person = clearest[np.argmax((spread - remaining)[clearest])]
both = [hidden_attribute.short_haired(f.numpy())[person] for f in (audited_faces, cleaned_faces)]
store = stage.path("removed.npy")
pictures = render_to_store(np.concatenate(both), figure_size // 2, store, device=device)
gallery = figures.gallery(pictures, 4, COLUMNS, ["before", "after"])

# %% [markdown]
# The new transects are a new experiment: all images are rendered again, the crowd labels them, and
# the networks answer. The crowd is given the same raters in the same mood, image by image (its
# random draws are keyed by the image's name and the stage), so that labels change only where faces do.

# %%
store = stage.path("cleaned.npy")
cleaned_pictures = render_to_store(cleaned_faces, image_size, store, device=device)
visible = faces.visible_scores(cleaned_faces)[["gender"]].set_index(audit.index)
label = errors.majority(ask(visible, "relabelled", "06_annotation_ingestion")["gender"])

# %%
answers = {name: models.predict(network, cleaned_pictures) for name, network in networks.items()}
orthogonal = {name: wrong(score, label) for name, score in answers.items()}
arms[ORTHOGONAL] = matched(orthogonal, ORTHOGONAL)
print(f"{(label != audit['label']).mean():.1%} of {len(label):,} labels differ from the audit's")

# %% [markdown]
# ## Or compensate in the analysis
#
# Making new images is expensive when a generator is slow and raters are paid. The cheaper remedy
# keeps the images, asks the ninth question about them, and adjusts: within each cell, a regression
# of the error on the audited attribute *and* on perceived earrings, then {term}`risk differences
# <risk difference>` as if earrings were distributed alike at both levels. Each cell has a
# regression of its own, because earrings may matter more where hair is short. Transects are the
# clusters, as everywhere.

# %%
perceived = ask(pd.DataFrame({LIKE: shown}, audit.index), "audited")[LIKE]
asked_again = audit.assign(earrings=perceived > 0.5)
share = (asked_again["earrings"].to_numpy() == (shown > 0.5)).mean()
print(f"raters agree with the true presence on {share:.0%} of {len(audit):,} images")


# %%
def adjusted_in_cells(model: str, attribute: str) -> pd.DataFrame:
    """Effects of an attribute by g-computation, one regression for every cell of the others."""
    others = [f"{axis}_level" for axis in AXES if axis != attribute]
    options = {"cluster": "transect", "adjust": ["earrings"], "tolerance": TOLERANCE}
    tables = {
        held: effects.risk_differences(cell, "error", f"{attribute}_level", **options)
        for held, cell in asked_again.assign(error=audited[model]).groupby(others)
    }
    return pd.concat(tables, names=others).reset_index(others)


keys = [(ADJUSTED, name, axis) for name in MODELS for axis in AXES]
tables = {key: adjusted_in_cells(*key[1:]) for key in keys}
arms[ADJUSTED] = hidden_attribute.stacked(tables, ["arm", "model", "attribute"])

# %% [markdown]
# ## Which remedy was right?
#
# Four estimates of each effect now stand side by side: as audited, adjusted, orthogonalised, and
# with earrings held by intervention, which no real audit can do. The truth is the black line, with
# its own uncertainty in grey. Hair length is left out of the figures since it leaks least; it is in
# the table that follows.

# %%
ORDER = [AUDITED, ADJUSTED, ORTHOGONAL, HELD]
rungs = beside_truth(ORDER)
_ = stage.save("estimates.parquet", rungs)
leaky = rungs[rungs["attribute"] != "hair_length"]

# %% mystnb={"image": {"alt": "Two panels, effects of skin colour and of gender on the errors of the celeba-like model. In each of four cells four estimates with confidence intervals, from as audited to earrings held, on a grey band that marks the truth."}, "figure": {"name": "fig-remedies-celeba", "caption": "CelebA-like model: effects with earrings not annotated, adjusted for, orthogonalised away and held by intervention (95 % intervals), over the true effect (grey)."}}
_ = draw_ladder(leaky, "celeba-like")

# %% mystnb={"image": {"alt": "Two panels, effects of skin colour and of gender on the errors of the fairface-like model. In each of four cells four estimates with confidence intervals, from as audited to earrings held, on a grey band that marks the truth."}, "figure": {"name": "fig-remedies-fairface", "caption": "The same for the FairFace-like model."}}
_ = draw_ladder(leaky, "fairface-like")

# %% mystnb={"image": {"alt": "Two panels, effects of skin colour and of gender on the errors of the plantskin control. In each of four cells four estimates with confidence intervals, from as audited to earrings held, on a grey band that marks the truth."}, "figure": {"name": "fig-remedies-plantskin", "caption": "The same for the positive control, in which dark skin was made to matter."}}
_ = draw_ladder(leaky, "plantskin")

# %% [markdown]
# Intervals overlap, because one sample of faces underlies all four and its luck is shared. Two
# numbers separate the remedies from that luck. The first is the mean distance of an arm's estimates
# from those with earrings held: what is left of the earrings' part, or newly introduced. The second is
# the root mean square distance from the truth, in which sampling and everything else is included.

# %%
cells = rungs[rungs["scope"] == "cell"]
wide = 100 * cells.pivot_table("estimate", KEYS, "arm", sort=False)[ORDER]
true_points = 100 * cells.groupby(KEYS, sort=False)["truth"].first()
left = wide.sub(wide[HELD], axis=0).abs().groupby("model", sort=False).mean()
far = np.sqrt(wide.sub(true_points, axis=0).pow(2).groupby("model", sort=False).mean())
pd.concat({"from earrings held": left, "from the truth": far}, names=["distance"]).round(2)

# %%
REMEDIES = [ADJUSTED, ORTHOGONAL]
gone = {name: hidden_attribute.changes(orthogonal[name] - held[name]) for name in MODELS}
gone = hidden_attribute.stacked(gone, ["model"]).query("scope == 'cell'")
# The mean size of a normal error is √(2 / π) of its standard deviation.
by_chance = 100 * np.sqrt(2 / np.pi) * gone.groupby("model", sort=False)["se"].mean()

# %% tags=["hide-input"]
helps = {True: "less", False: "**more**"}
lines = [
    f"- **{name}**: {row[AUDITED]:.2f} points as audited; adjusted {row[ADJUSTED]:.2f}, "
    f"{helps[row[ADJUSTED] < row[AUDITED]]}; orthogonalised {row[ORTHOGONAL]:.2f}, "
    f"{helps[row[ORTHOGONAL] < row[AUDITED]]}; chance alone leaves {by_chance[name]:.2f}."
    for name, row in left.iterrows()
]
less = left[REMEDIES].lt(left[AUDITED], axis=0).sum()
lines.append(
    f"\n**In this run** adjusting leaves less distance from earrings held than there was for "
    f"{less[ADJUSTED]} of {len(left)} models, and orthogonalising for {less[ORTHOGONAL]}."
)
Markdown("\n".join(lines))

# %% [markdown]
# Why does a remedy not always help? Earrings added little to most effects, so there is little to
# take out. Orthogonalising renders new images, which differ from the old ones by a trace in
# everything, and models change some answers for that alone. The list says how far apart chance would
# put two such sets of images if earrings were held in both. The second distance is that from the
# truth.

# %%
nearer = far[[*REMEDIES, HELD]].lt(far[AUDITED], axis=0)
off = wide.sub(true_points, axis=0).abs()
away = off[HELD] > off[AUDITED]

# %% tags=["hide-input"]
became = nearer.replace({True: "nearer", False: "farther away"})
lines = [
    f"- **{name}**: {row[AUDITED]:.2f} points from the truth as audited; "
    + "; ".join(f"{arm} {row[arm]:.2f}, {became.loc[name, arm]}" for arm in nearer)
    + "."
    for name, row in far.iterrows()
]
count = nearer.sum()
lines.append(
    f"\n**In this run** estimates come nearer to the truth for {count[ADJUSTED]} of {len(far)} "
    f"models when adjusted, for {count[ORTHOGONAL]} when orthogonalised, and for {count[HELD]} with "
    f"earrings held, which moves {away.sum()} of {len(away)} single estimates away from it."
)
Markdown("\n".join(lines))

# %% [markdown]
# The two distances need not agree. A remedy takes out what earrings added. What sampling, raters and
# other leaks added is left, and where that had the opposite sign, the two had hidden each other: the
# estimate then leaves the truth although the remedy did its work. The arm with earrings held shows
# it, since there the remedy is perfect. So a remedy is judged by the first distance, and the second
# says how much else is wrong.

# %% [markdown]
# Adjusting can also fail at its own task. A regression learns what earrings do from the faces that
# wear them, and those are not a random choice: within a cell they also wear more makeup and look more
# feminine in other ways. The regression credits earrings with all of it and corrects too much. It
# also takes their effect to be alike at both levels of the audited attribute, and it sees them through the raters' eyes. Inside
# the experiment we would be back to observational data, with all the worries of
# [](01_observational_audit). Orthogonalising changes the experiment instead and needs none of these
# assumptions, only a good plane.

# %% [markdown]
# A word on whether one *should*. Whether earrings belong to what people mean by looking female
# depends on time and place, as the paper remarks. If they do, an effect that runs through them is
# part of the effect of perceived gender, and removing it answers a narrower question. For skin
# colour there is hardly such a reading: nobody means "wears earrings" by dark skin.

# %% [markdown]
# ## When there is nothing left to annotate
#
# Earrings were found because somebody looked. The next one may not be found. A *sensitivity
# analysis* turns the question round: how strong would something hidden have to be to explain a finding
# away? Three such measures are in use. All three are computed for every effect of the audit as it was
# before the discovery, by somebody who has never thought of earrings. One of them needs a base rate:
# the error rate of the same cell at the low level of the attribute.

# %%
claims = arms[AUDITED].query("scope == 'cell'").reset_index(drop=True)
low = claims[AXES].fillna(0).astype(int).to_numpy()  # the attribute itself at its low level
rates = {name: hidden_attribute.as_grid(e).mean(axis=0) for name, e in audited.items()}
pairs = zip(claims["model"], low, strict=True)
claims["base rate"] = [rates[name][tuple(place)] for name, place in pairs]

# %% [markdown]
# ### Leakage tipping point
#
# A hidden attribute with leakage δ and effect γ adds δ γ to an estimate. It accounts for the whole
# estimate, the risk difference RD, when $|\delta\gamma| \ge |\mathrm{RD}|$. So for any δ there is a
# tipping point, the γ that would be needed. But which δ? Without an annotation it cannot be
# measured. A benchmark can: forget, one after another, the attributes that *were* annotated but are
# not on the grid, and see how far each would have leaked.


# %%
def forget(name: str) -> pd.Series:
    """Leakage of an annotated attribute along each axis, had it not been annotated."""
    others = [other for other in OFF_GRID if other != name]
    return average_changes(faces_along(unit.select(others).normals))[name]


forgotten = pd.DataFrame({name: forget(name) for name in OFF_GRID}).T
forgotten.loc["earrings, in fact"] = average_leak["effect"]
labels.in_words(forgotten[AXES].round(2))

# %%
benchmark = forgotten.loc[OFF_GRID, AXES].abs().max()
fair = benchmark >= average_leak.loc[AXES, "effect"].abs()

# %% tags=["hide-input"]
lines = [
    f"- {labels.CONTRASTS[axis]}: the benchmark leaks {benchmark[axis]:.2f}, earrings "
    f"{abs(average_leak.loc[axis, 'effect']):.2f}; it "
    f"**{'would have warned' if fair[axis] else 'would have promised too much'}**."
    for axis in AXES
]
Markdown("\n".join(lines))

# %% tags=["remove-cell"]
if measurable:
    assert forgotten.loc["facial_hair", "gender"] > 0.1 > -0.1 > forgotten.loc["makeup", "gender"]
    assert benchmark["skin_colour"] < 0.1

# %% [markdown]
# The benchmark is as good as the likeness between what was annotated and what was not. Forgotten
# beards or makeup leak along gender, and so do earrings. Along skin colour none of the annotated
# attributes need leak, since none is tied to it in this population; that earrings are is something
# the benchmark has no way of knowing.

# %% [markdown]
# ### E-value
#
# The E-value {cite:p}`e-value` asks on another scale. Express the effect as a ratio of two error rates, with
# the lower level's rate, taken as known, as the base. Something hidden could explain the ratio away if it were more
# frequent at one level by some factor, *and* raised errors by some factor. The E-value is the
# smallest value that both factors must reach. One is the worst: nothing at all is needed. The
# version for the interval's nearer limit asks what would suffice to make the effect no longer clear;
# it is one as soon as the interval holds zero.

# %%
claims["tipping γ"] = effects.leakage_tipping_point(
    claims["estimate"], claims["attribute"].map(benchmark)
)
ratios = effects.e_values(claims, claims["base rate"])
claims[["E-value", "E of limit"]] = ratios[["e_value", "e_value_limit"]]

# %% [markdown]
# ### Rosenbaum's Γ
#
# The third measure was made for matched pairs {cite:p}`rosenbaum`. In a pair whose two images
# disagree, either one may be the one with the error. Were the audited attribute without effect, each
# would be equally likely, and McNemar's test relies on it. Something hidden could tip the odds to as
# much as Γ to one. The table gives the largest Γ at which the test would still reject. It is empty
# where the test does not reject in the first place, for there is nothing to be sensitive about.

# %%
claims["Γ"] = effects.rosenbaum_gamma(claims["worse"], claims["better"])

# %% [markdown]
# Here are all three for the main effects: for each model and attribute the cell with the largest
# estimate. Estimates are in points. The tipping γ is in points per unit of a hidden attribute that
# leaks as much as the benchmark; more than a hundred is impossible for an error rate.

# %%
MEASURES = ["tipping γ", "E-value", "E of limit", "Γ"]
claims["points"] = labels.points(claims)
main = claims.loc[claims["estimate"].abs().groupby([claims["model"], claims["attribute"]]).idxmax()]
report = main.set_index(["model", "attribute", "cell"])[["points", *MEASURES]]
report["tipping γ"] *= 100
labels.in_words(report.loc[list(MODELS)]).style.format(precision=1, na_rep="—", subset=MEASURES)

# %% [markdown]
# How does one read a row? Compare the tipping γ with the largest effect that anything has been seen
# to have; ask whether you can imagine a hidden cue with both factors of the E-value; and read Γ as
# the odds that a nuisance would have to put on one side of every disagreeing pair. Where hardly
# anybody is misread at the lower level, any ratio is huge, and so is its E-value: keep the points in
# view. There is no threshold that holds for all studies, and a report that offers one should be read
# with caution.

# %% [markdown]
# ### Would they have warned?
#
# For once the answer can be looked up, since we know what earrings did. Each mark below is one effect
# in one cell. The horizontal axis is what a measure said before the discovery; to the right means
# "safe". The vertical axis is the size of the part that earrings really had. Good measures would put the large parts on the left.

# %%
parts = bias.set_index(KEYS)["effect"]
claims["part"] = claims.set_index(KEYS).index.map(parts.to_dict())
claims["part"] = 100 * claims["part"].abs()
claims["share"] = claims["part"] / (100 * claims["estimate"].abs())
ASKED_OF = ["tipping γ", "E-value", "Γ"]


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three scatter plots that share the vertical axis, the size of the earrings' part in points. Horizontally, on logarithmic scales, the tipping point, the E-value and Rosenbaum's gamma of each effect; three kinds of marks for three models."}, "figure": {"name": "fig-would-have-warned", "caption": "What each sensitivity measure said of an effect (horizontal, log scale, safer to the right), and the part of that effect that earrings really had (vertical). Effects without a value of the measure, or with none but zero, are left out."}}
def few_plain_ticks(axis: plt.Axes, values: pd.Series) -> None:
    """Plain numbers along a log axis, few enough not to touch."""
    decades = np.log10(values.max() / values.min()) if len(values) else 0
    steps = (1, 2, 5) if decades < 1 else (1, 3) if decades < 2 else (1,)
    axis.xaxis.set_major_locator(LogLocator(subs=steps))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())


figure, panels = plt.subplots(1, 3, figsize=(figures.WIDTH, 3.6), sharey=True)
in_points = claims.assign(**{"tipping γ": 100 * claims["tipping γ"]})
for axis, measure in zip(panels, ASKED_OF, strict=True):
    usable = in_points[np.isfinite(in_points[measure]) & (in_points[measure] > 0)]
    for name in MODELS:
        look, rows = figures.look(name), usable[usable["model"] == name]
        axis.plot(rows[measure], rows["part"], look.marker, color=look.colour, label=name)
    unit = " (points)" if measure == "tipping γ" else ""
    axis.set(xscale="log", xlabel=f"{measure}{unit}\n(n = {len(usable)} effects)")
    few_plain_ticks(axis, usable[measure])
panels[0].set_ylabel("hidden part (points)")
handles = panels[0].get_legend_handles_labels()
_ = figure.legend(*handles, loc="outside upper center", ncol=4)

# %%
rank = claims[[*ASKED_OF, "part", "share"]].corr("spearman").loc[ASKED_OF, ["part", "share"]]
rank["effects"] = claims[ASKED_OF].notna().sum()
rank.rename(columns={"part": "with the part", "share": "with its share of the estimate"}).round(2)

# %%
flagged = claims[claims["p_holm"] < 0.05]
largest_share = flagged["share"].max()

# %% tags=["hide-input"]
Markdown(
    f"Among the {len(flagged)} effects that the audit flagged, "
    + (
        f"earrings account for at most {largest_share:.0%} of an estimate."
        if len(flagged)
        else "there is none to be explained away."
    )
)

# %% [markdown]
# A negative number in the table's first column means that low values went with large parts, as they
# should; a positive one, that the largest errors sat where the measure felt safest. In the second
# column a negative number is to be expected without any foresight: a small estimate is sensitive to
# anything, and the same part is a larger share of it. The effects overlap, since they share faces
# and images, and each measure leaves out some. So read the numbers as a description of this audit and
# not as a test.

# %% tags=["hide-input"]
signs = {
    column: ", ".join(f"{name} {value:+z.2f}" for name, value in rank[column].items())
    for column in ("part", "share")
}
warned = [name for name, value in rank["part"].items() if value < 0]
Markdown(
    f"**In this run** the correlations with the part are {signs['part']}, so low values went with "
    f"large parts for {' and '.join(warned) or 'no measure'}. Those with the share of the estimate "
    f"are {signs['share']}: {(rank['share'] < 0).sum()} of {len(rank)} are negative. All three "
    "measures know the size of an effect and nothing of earrings. They grade *findings*, not biases."
)

# %% [markdown]
# ### What these numbers cannot do
#
# - They answer "could something hidden explain all of it?". A bias that leaves half of an effect, or
#   hides half of it, passes all three.
# - They start from an effect. Where the audit found none, they are silent, though a hidden cue may
#   have cancelled a real one. For "no effect", ask instead how much confounding could hide an effect
#   as large as the tolerance; `effects.e_values` takes it as `null`.
# - A large value is no evidence that nothing is hidden, and a small one none that something is. Only
#   looking at images and asking people tells.
# - They treat one hidden attribute at a time. Several small ones can add up.

# %% [markdown]
# ## What would change our mind
#
# - If holding earrings by intervention moved estimates away from the truth in most cells, the story
#   told here about their role would be wrong.
# - If the leak after orthogonalising were as large as before, although the plane predicts earrings
#   well, attributes would bend through the latent space and one plane could not hold them.
# - If real raters were swayed by earrings in what they call gender, labels would move together with
#   the confounder, and holding labels fixed, as here, would no longer be right.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Earrings on the E-value's own scale
# :label: exercise-e-value-scale
# Take the cell with the largest part of earrings. Compute how much more frequent earrings are at
# one level than at the other, and by which factor they change errors there. Would these two factors
# have explained its effect away?
# ```
#
# ```{solution} exercise-e-value-scale
# :class: dropdown
# With factors $a$ and $b$, confounding can change a risk ratio by at most $ab/(a + b - 1)$. The first
# factor comes from `hidden_attribute.as_grid(shown).mean(axis=0)`, the second from `asked[name].mean(axis=0)`,
# with against without earrings. Compare the bound with the ratio `ratios["rr"]` of that cell. Where the
# effect is large the bound falls short, so the effect survives; it may be several points off all
# the same.
# ```

# %% [markdown]
# ```{exercise} Half an annotation budget
# :label: exercise-half-budget
# Ask the ninth question about a tenth of the directions sample only and repeat the
# orthogonalisation. Does the leak stay small? What does that say about the order in which to spend
# money on a newly discovered attribute?
# ```
#
# ```{solution} exercise-half-budget
# :class: dropdown
# Fit `directions.fit_svm(w.cpu()[:m], scores.iloc[:m], 0.4)` for a smaller `m` and call `faces_along`
# again. With a tenth most of the leak stays: there are then fewer annotated faces than dimensions in
# the latent space, and the plane points too far astray to hold anything. An attribute that is
# discovered late needs about as many answers as the others had. So look first, with a few questions
# about many suspects, and pay for a plane only where a leak and an effect have been seen.
# ```

# %% [markdown]
# ```{exercise} Adjusting within transects
# :label: exercise-within
# The regression compares faces that wear earrings with faces that do not. Design an adjustment that
# uses only transects in which earrings change. What does it gain, and what does it cost?
# ```
#
# ```{solution} exercise-within
# :class: dropdown
# Regress the paired difference of errors on the paired difference of perceived earrings, without a
# covariate between faces; the intercept is the effect at unchanged earrings. It no longer confuses
# earrings with the kind of face that wears them. It costs precision, because few pairs change, and it still
# assumes that earrings change for no reason that also moves the errors.
# ```

# %% [markdown]
# ## Takeaways
#
# - Orthogonalisation holds what was annotated. Everything else may move, and correlations of the
#   training population say which way.
# - A leak biases an estimate by leakage times effect, cell by cell, and can hide harm as well as
#   invent it.
# - Once found, an attribute can be annotated and orthogonalised away at the price of new images.
#   Adjusting in the analysis is cheaper and brings observational assumptions back in.
# - Tipping points, E-values and Γ grade how large a finding is against what might be hidden. They do
#   not find what is hidden.

# %% tags=["hide-input"]
_ = stage.finish(
    {
        "leakage": {
            "before": average_leak["effect"].to_dict(),
            "after": after[after["scope"] == "average"].set_index("attribute")["effect"].to_dict(),
        },
        "plane": {"score": plane.score, "angle_to_exact_degrees": float(angle)},
        "largest_part": largest[["attribute", "cell", "effect", "se", "expected"]].to_dict("index"),
        "flags_changed": len(turned),
        "remainder_points": left.to_dict("index"),
        "rmse_points": far.to_dict("index"),
        "benchmark_leakage": benchmark.to_dict(),
        "rank_correlation_with_part": rank["part"].to_dict(),
    }
)
