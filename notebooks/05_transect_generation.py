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
# # Transects on a GPU
#
# *You need [chapter 3](03_direction_fitting) (hyperplanes) and [chapter 4](04_orthogonalization) (the
# dual basis). Reading: {{minutes}} minutes.*
#
# *A laptop without a graphics card (GPU) runs all of it. The folded box [On a GPU](#on-a-gpu) says what a card adds.*

# %% [markdown]
# ## Question
#
# In {numref}`fig-question` the upper row changes everything at once, so it cannot say which attribute moves a model. How do we
# make rows like the lower one for thousands of faces, and keep earrings too? How near do the faces come to
# their targets?
#
# ```{glue:md} answer
# :format: myst
# ```

# %% [markdown]
# :::{admonition} Design contract
# :class: dropdown
#
# | Part | In this chapter |
# |---|---|
# | **Population** | adult faces of the generator with loose hair, clean-shaven and lightly made up |
# | **Unit** | a transect: one base face at every combination of levels, eight images |
# | **Intervention** | steps in skin colour, hair length and perceived gender, the same for all transects |
# | **Held fixed** | the rest of the latent code; by the paper's recipe the decision values of facial hair, makeup, age and smiling; in the corrected transects the cell means of all that is asked or measured |
# | **Outcome and who labels it** | images; raters label them in [](06_annotation_ingestion) |
# | **Estimand** | a leak: the mean change of a held attribute along an axis; a dose: the level that faces reach |
# | **Tolerance and n** | the limits of the gate below, set by hand; the number of transects is the profile's |
# | **Decision at stake** | whether a model may be asked about these images |
# | **Known failure** | fitted directions miss, and attributes that we neither ask about nor measure can leak |
# :::

# %% tags=["hide-cell"]
import json
import math
from collections.abc import Iterator
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from myst_nb import glue
from numpy.typing import ArrayLike
from scipy.special import logit

import facerender
from faceaudit.effects.pruning import PAPER_RULES
from faceaudit.latents import calibration, transects
from faceaudit.latents.directions import Hyperplanes
from faceworld import load_generator, raters
from faceworld.rendering import render_to_store
from helpers import figures
from helpers.artifacts import Stage, lineage
from helpers.claims import Margin, claim
from helpers.figures import widgets

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
figure_size = 256
n_transects = 400
n_raters = 5

# %% tags=["remove-cell"]
stage = Stage("05_transect_generation", profile=profile, device=device, seed=seed)
figures.style()


# %% tags=["hide-cell"]
def in_words(name: str) -> str:
    """A column's name in words."""
    return name.replace("_", " ")


def benchmark(name: str) -> dict:
    """The record of a benchmark."""
    path = lineage.ROOT / "benchmarks/results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def legible(gallery: plt.Figure, title: str) -> None:
    """A title, and letters that a phone can show."""
    for axis in gallery.axes:
        axis.tick_params(labelsize=14)
        axis.yaxis.label.set_size(14)
    gallery.suptitle(title, fontsize=14)


# %% [markdown]
# The first figure compares random faces with matched ones. From a pool of plain adult faces we take the four that lie
# nearest to four combinations of skin colour and hair length. Then we move the first of them to the same four
# combinations, by the {term}`paper's recipe`: that of {cite:t}`transects`, below the *transects paper*.

# %%
generator = load_generator("known-truth", device=device)
fitted = Hyperplanes.from_arrays(stage.load("03_direction_fitting", "hyperplanes.npz"))
planes = fitted.unit()  # so that a decision value is a signed distance in W
basis = stage.load("04_orthogonalization", "directions.npz")
dual = pd.DataFrame(basis["dual"], basis["names"])


# %%
def parameters_of(codes: np.ndarray) -> torch.Tensor:
    """The face parameters of codes (…, D), one row each."""
    return generator.parameters(torch.from_numpy(codes.reshape(-1, generator.latent_dim)))


# %%
pool = generator.sample(800, seed + 5).cpu().numpy().astype(np.float64)
faces = facerender.to_frame(parameters_of(pool))
plain = (faces["makeup"] < 0.2) & (faces["facial_hair"] < 0.2) & (faces["age"] > 0.5)
plain &= (faces["hair_style"] < 2) & (faces["glasses"] < 0.2)

# %%
CORNERS = {"light, short": (0.2, 0.2), "light, long": (0.2, 0.7), "dark, short": (0.8, 0.2)}
CORNERS["dark, long"] = (0.8, 0.7)
ends = [faces.loc[plain, ["skin_colour", "hair_length"]] - [*at] for at in CORNERS.values()]
nearest = [np.square(away).sum(axis=1).idxmin() for away in ends]

# %%
pair = planes.select(["skin_colour", "hair_length"])
levels = [(-0.95, 1.25), (-1.0, 0.45)]
two_axes = (pair.normals, pair.intercepts, dual.loc[[*pair.names]], levels)
matched = transects.grid(pool[nearest[:1]], *two_axes).reshape(4, -1)

# %%
other = faces.columns.drop([*pair.names, "hair_style", "texture_seed", "artefacts"])


def apart(codes: np.ndarray) -> pd.Series:
    """Mean distance of two faces in each attribute off the axes, in standard deviations."""
    values = facerender.to_frame(parameters_of(codes))[other].to_numpy(float)
    values = values / faces[other].std().to_numpy()
    away = np.abs(values[:, None] - values)[~np.eye(len(codes), dtype=bool)]
    return pd.Series(away.mean(axis=0), other)


# %%
moved = apart(matched)
random_pairs = apart(pool[nearest]).mean()

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two rows of four faces under the same headings: light skin with short hair, light with long, dark with short, dark with long. The upper row shows four different people. The lower row shows one person four times, with other skin and other hair."}, "figure": {"name": "fig-question", "caption": "Above: four faces as the generator draws them, of a pool of sampled faces the nearest to each combination. Below: the first of them, moved to the same four combinations of skin and hair by the paper's recipe. That recipe keeps the attributes that raters are asked about. Others move along, such as hair colour and earrings. The experiment of this chapter keeps these two as well. SD: standard deviations among sampled faces."}}
# Computed by apart (above); the matched faces by faceaudit.latents.transects.grid.
rows = np.concatenate([pool[nearest], matched])
asked = render_to_store(parameters_of(rows), figure_size, stage.path("question.npy"), device=device)
most = [f"{in_words(name)} {by:.1f}" for name, by in moved.nlargest(2).items()]
figure = figures.gallery(asked, 4, [*CORNERS], ["random", "matched"])
title = (
    f"Other attributes differ by {random_pairs:.1f} SD on average between\nrandom faces, by {moved.mean():.1f} between "
    f"matched ones\n(most in the lower row: {', '.join(most)})"
)
legible(figure, title)

# %% [markdown]
# ## Anatomy of a transect
#
# A {term}`transect` is a grid of images made from one {term}`base face`. We make it in two moves. First we *project*
# the face: we move its code to the nearest point where all attributes of the grid are neutral, that is,
# where their {term}`decision values <decision value>` are zero. Then we *step* from there to each {term}`cell`,
# along vectors of the {term}`dual basis`. The next figure shows both moves for two attributes. In the code `planes`
# are the fitted hyperplanes of [](03_direction_fitting), and `dual` has the dual vectors of [](04_orthogonalization).
#
# Only adults take part: later chapters call a face an adult from a score of age of 0.4, and `ADULT` adds a margin.

# %%
ADULT = 0.45  # predicted score of age from which a face takes part
youngest = ADULT - 0.5  # as a decision value of the fitted plane

# %%
N_FRAMES = 13
SPANS = {  # signed distances from the plane to both ends of a walk, set by eye
    "skin_colour": (-1.4, 1.6),
    "hair_length": (-1.3, 1.3),
    "gender": (-1.2, 1.2),
    "age": (-1.6, 1.8),
    "facial_hair": (-1.2, 1.5),
    "makeup": (-1.2, 1.5),
    "smiling": (-1.5, 1.5),
}

# %%
adults = transects.base_latents(
    generator, fitted, (), 40, youngest=youngest, held={}, seed=seed, stage=f"{stage.name}/figures"
)
shown = facerender.to_frame(parameters_of(adults))
loose = shown[
    (shown["hair_style"] < facerender.HAIR_STYLES.index("tied back")) & (shown["makeup"] < 0.2)
]
people = adults[loose["artefacts"].nsmallest(len(SPANS)).index]

# %%
both = planes.select(["hair_length", "skin_colour"])
values = [np.linspace(*SPANS[name], 5) for name in both.names]
walk = (both.normals, both.intercepts, dual.loc[list(both.names)], values)
square = transects.grid(people[:1], *walk)

# %% tags=["remove-cell"]
_ = render_to_store(parameters_of(square), figure_size, stage.path("square.npy"), device=device)
_ = stage.save(
    "square.json", {name: at.tolist() for name, at in zip(both.names, values, strict=True)}
)

# %%
friendly = pool[(plain & (faces["smiling"] > 0.5)).to_numpy()]
at = both.decision_values(friendly)[:, ::-1]  # skin, then hair
start = np.square(at - [-2.6, 0]).sum(axis=1).argmin()
some = transects.grid(friendly[[start]], *walk)[0, ::2, ::2]

# %%
spots = [at[start], *product(values[1][::2], values[0][::2])]  # the sampled face, then the grid
codes = np.concatenate([friendly[[start]], some.swapaxes(0, 1).reshape(9, -1)])
used = [0, 5, 1, 3, 7, 9]  # the sampled face, the neutral one, and the corners

# %% tags=["hide-input"] mystnb={"image": {"alt": "A plane with the decision value of skin colour on the horizontal axis and of hair length on the vertical one. A sampled face lies at the left. An arrow leads from it to the crossing of two dashed lines, where the neutral face lies. Four arrows lead from there to four corners: the same face with light or dark skin and short or long hair."}, "figure": {"name": "fig-anatomy", "caption": "Anatomy of a transect with two axes. Dashed: the hyperplanes, where an attribute is neutral. Every face stands at its decision values."}}
# Computed by faceaudit.latents.transects.grid.
NARROW = 4.8  # inches: at this width a phone shows letters that can be read
portraits = render_to_store(
    parameters_of(codes[used]), figure_size, stage.path("anatomy.npy"), device=device
)
figure, axis = plt.subplots(figsize=(NARROW, 4))
for line_at_zero in (axis.axhline, axis.axvline):
    line_at_zero(0, color=figures.GREY, linestyle="--", linewidth=1)
places = np.array([spots[k] for k in used])
for (x, y), picture in zip(places, figures.as_pixels(portraits), strict=True):
    axis.imshow(picture, extent=(x - 0.45, x + 0.45, y - 0.45, y + 0.45), zorder=3)
arrow = {"arrowstyle": "-|>", "linewidth": 2, "shrinkA": 25, "shrinkB": 25, "mutation_scale": 12}
for first, last in [(0, 1), *((1, k) for k in range(2, 6))]:
    colour = figures.VERMILION if first == 0 else figures.BLUE
    axis.annotate("", places[last], places[first], arrowprops=arrow | {"color": colour}, zorder=4)
axis.text(
    *places[0] / 2 + [0, 0.16], "1 project", color=figures.VERMILION, ha="center", fontsize=11
)
axis.text(0.66, 0.2, "2 step", color=figures.BLUE, fontsize=11)
axis.text(*places[0] + [0, 0.54], "sampled", ha="center", fontsize=10)
under = {"facecolor": "white", "edgecolor": "none", "pad": 1}
axis.text(0, -0.68, "neutral", fontsize=10, ha="center", bbox=under)
axis.text(0.05, 1.95, "skin’s plane", fontsize=10, color=figures.GREY)
axis.text(2.6, -0.07, "hair’s plane", fontsize=10, color=figures.GREY, ha="right", va="top")
axis.set_xlabel("decision value of skin colour", fontsize=10)
axis.set_ylabel("decision value of hair length", fontsize=10)
axis.set(xlim=(-3.5, 2.6), ylim=(-2, 2.2))
axis.set_title("One projection, then one step along each axis", fontsize=11)
axis.tick_params(labelsize=10)
axis.grid(visible=False)

# %% [markdown]
# ### Project
#
# Many moves bring a face to a place where all decision values are zero. We take the shortest one, so the
# face changes as little as possible. {cite:t}`transects` project onto one hyperplane after the other, round
# after round. One formula does it at once, and [](n09_replication_gallery) compares both.
#
# The paper calls the result a single point. It is a space: each face keeps the part of its
# code that does not matter here. The table shows both: values of zero, up to rounding,
# and faces far apart.
#
# :::{admonition} The algebra
# :class: dropdown
# The matrix $N$ has the {term}`normals <normal>` as rows, and $b$ the intercepts. So $N w + b$ are the
# decision values of a face $w$. The pseudoinverse $N^{+}$ turns decision values into the shortest move that
# brings them. We subtract this move: $P(w) = w - N^{+}(N w + b)$.
# :::

# %%
some = generator.sample(200, seed + 3).cpu().numpy().astype(np.float64)
neutral = transects.project(some, planes.normals, planes.intercepts)

# %%
projection = {
    name: (np.abs(planes.decision_values(codes)).max(), np.linalg.norm(codes[0] - codes[1]))
    for name, codes in {"sampled": some, "projected": neutral}.items()
}
projection = pd.DataFrame(projection, ["largest decision value", "distance of two faces"])
(projection.T.round(9) + 0).style.format("{:.2g}")

# %% tags=["remove-cell"]
assert projection.loc["largest decision value", "projected"] < 1e-10
assert projection.loc["distance of two faces", "projected"] > 10

# %% [markdown]
# (erratum-step)=
# ### Step
#
# How long must a step be? Adding the vector $v$ to a code changes the decision value by the dot product of
# $v$ and the normal, $\langle v, n\rangle$. So the step from a neutral face to the decision value $c$ is
#
# $$\frac{c}{\langle v, n\rangle}\, v .$$
#
# Algorithm 1 of {cite:t}`transects` divides by the length of $v$ once more. That is right for vectors of
# length one only, and dual vectors are longer. We ask both variants for a decision value of one. The formula above
# reaches it, and the printed step reaches one over the length of the vector. Steps that are set by eye, as the
# authors set them, make up for that attribute by attribute.


# %%
def reached(name: str, variant: str) -> float:
    """Decision value that a step of one along the dual vector of an attribute leads to."""
    plane = planes.select([name])
    normal, intercept = plane.normals, plane.intercepts
    code = transects.grid(some[:1], normal, intercept, dual.loc[[name]], [[1.0]], variant)
    return float(plane.decision_values(code[0]).item())


# %%
steps = pd.DataFrame(
    {kind: [reached(name, kind) for name in dual.index] for kind in ("exact", "paper")}, dual.index
)
steps["length of v"] = np.linalg.norm(dual, axis=1)
steps.rename(in_words).round(2)

# %% tags=["remove-cell"]
assert np.allclose(steps["exact"], 1, atol=1e-12)
assert np.allclose(steps["paper"], 1 / steps["length of v"], atol=1e-12)

# %% [markdown]
# ## One attribute at a time
#
# Each row of the next figure starts from another adult face, puts it on the plane of one attribute, and
# walks along the dual vector of that attribute in equal steps. The two ends were set by eye.


# %%
def line(person: np.ndarray, name: str) -> np.ndarray:
    """One-dimensional transect of one face, (frames, D)."""
    plane = planes.select([name])
    values = [np.linspace(*SPANS[name], N_FRAMES)]
    walk = (plane.normals, plane.intercepts, dual.loc[[name]], values)
    return transects.grid(person[None], *walk)[0]


# %%
codes = np.stack([line(*each) for each in zip(people, SPANS, strict=True)])
walked = facerender.to_frame(parameters_of(codes))
walked["attribute"] = np.repeat([*SPANS], N_FRAMES)
walked["decision value"] = np.ravel([np.linspace(*span, N_FRAMES) for span in SPANS.values()])

# %% tags=["remove-cell"]
_ = stage.save("lines.parquet", walked)

# %% tags=["sheet", "hide-input"] mystnb={"image": {"alt": "Seven rows of five faces, each row one person. From left to right one attribute grows in each row: darker skin, longer hair, a more masculine, an older, a more bearded, a more made-up, a more smiling face. Within each row the rest of the face stays mostly the same."}, "figure": {"name": "fig-one-dimensional", "caption": "One-dimensional transects: five steps along the dual vector of each attribute, from its low end on the left to its high end. Every row is another adult base face. After Fig. 3 of the transects paper."}}
# Computed by faceaudit.latents.transects.grid.
store = stage.path("lines.npy")
frames = render_to_store(parameters_of(codes), figure_size, store, device=device)
lines = frames.reshape(len(SPANS), N_FRAMES, *frames.shape[1:])
above = [title for name in SPANS for title in ("", "", in_words(name), "", "")]
gallery = figures.gallery(np.concatenate(lines[:, ::3]), 5, above)
legible(gallery, f"One attribute grows in each row:\ndual vectors of {len(SPANS)} attributes")

# %% [markdown]
# The slider has the same transects in finer steps. Look for what else changes, such as earrings or the colour of hair. Each such change
# is {term}`leakage`.

# %% tags=["hide-input"]
spoken = [*map(in_words, SPANS)]
ticks = [[f"{c:+.2f}" for c in np.linspace(*span, N_FRAMES)] for span in SPANS.values()]
widgets.attribute_explorer(
    dict(zip(spoken, lines, strict=True)),
    dict(zip(spoken, ticks, strict=True)),
    "One face along a one-dimensional transect",
)

# %% [markdown]
# ## The audit's grid, by the paper's recipe
#
# The audit needs three axes with two levels each: eight images give every contrast. Levels are set by
# hand. They should be seen by everybody, and lie clear of the ranges that [](07_pruning) drops as
# ambiguous. A very long level of hair would look unusual on faces perceived as male, so we stop earlier.
#
# We call the transects of one recipe an {term}`arm` of the experiment. This section makes the arm of the paper's recipe (*papers* in files). The next
# section makes the {term}`main arm`, which later chapters audit.
#
# | Arm | What differs | Who can make it |
# |---|---|---|
# | *paper's recipe* | the dual basis of seven attributes and the right length of steps, without a correction | everybody with a generator and raters |
# | *main* | raters and measures bring the faces to their targets | everybody who also has measures |
# | *drawn* | the main arm's faces, with beard and makeup as they were drawn | as the main arm |
# | *exact* | true hyperplanes and directions, at the main arm's median {term}`doses <dose>` | this world alone |

# %%
# Signed distances from the hyperplanes: levels of the axes, and where beard and makeup are held.
DISTANCES = {"skin_colour": (-0.95, 1.25), "hair_length": (-1.0, 0.45), "gender": (-0.7, 0.7)}
HELD = {"facial_hair": -0.8, "makeup": -0.6}
AXES = list(DISTANCES)

# %% [markdown]
# Facial hair and makeup are held low. A step in perceived gender keeps them, so a bearded man would become
# a bearded woman, whom few people see as a woman. The design therefore estimates a narrow effect, that
# of gendered *shape*, plus what leaks. The *drawn* arm leaves beard and makeup alone, and
# [](n10_direct_effects) compares both arms.

# %% [markdown]
# Who takes part? We sample faces, keep adults, and project them onto the planes of the three axes. We
# also hold each face at its own decision value of age, so that every face stays as old as it was. This
# recipe *is* the population of every effect that follows. [](11_who_was_right) calls it again for the
# true effects.


# %%
def base_of(
    arm_planes: Hyperplanes,
    youngest: float,
    held: dict[str, float],
    n: int = n_transects,
    other: str = "",
) -> np.ndarray:
    """Base codes (n, D); arms sample the same faces, unless `other` are asked for, and keep their own."""
    recipe = {"youngest": youngest, "held": held, "seed": seed, "stage": stage.name + other}
    return transects.base_latents(generator, arm_planes, AXES, n, **recipe)


# %%
def in_decision_values(distances: dict[str, float]) -> dict[str, float]:
    """Decision values of the fitted planes at signed distances from them."""
    lengths = {name: np.linalg.norm(fitted.select([name]).normals) for name in distances}
    return {name: distance * lengths[name] for name, distance in distances.items()}


def cells_of(base: np.ndarray, axes: Hyperplanes, *steps: ArrayLike) -> Iterator[np.ndarray]:
    """Codes of the grid, of up to a thousand transects at a time: all would fill the memory."""
    for part in np.array_split(base, math.ceil(len(base) / 1000)):
        yield transects.grid(part, axes.normals, axes.intercepts, *steps)


# %% [markdown]
# A cell of the grid is the neutral face plus one step for each axis. One product of matrices gives all cells
# of all transects. Each image gets an `image_id` that names its transect and its level on each axis. Later chapters find matched images by it.

# %%
base = {"papers": base_of(fitted, youngest, in_decision_values(HELD))}
walk = (planes.select(AXES), dual.loc[AXES], list(DISTANCES.values()))
parameters = {
    "papers": torch.cat([parameters_of(cells) for cells in cells_of(base["papers"], *walk)])
}
index = {"papers": transects.index(n_transects, DISTANCES)}

# %%
intended = index["papers"][[f"{name}_decision" for name in AXES]].to_numpy()
for cells in cells_of(base["papers"], *walk):
    codes = cells.reshape(-1, generator.latent_dim)
    values = planes.select(AXES).decision_values(codes)
    assert np.abs(values - intended[: len(values)]).max() < 1e-9  # the same in every transect
    ages = planes.select(["age"]).decision_values(codes)
    assert np.ptp(ages.reshape(len(cells), -1), axis=1).max() < 1e-9

# %% tags=["hide-cell"]
record = benchmark("gpu")
a_second = {row["what"]: row["a second"] for row in record["rows"]}
WORK = {
    "images of StyleGAN2, 1024 × 1024": "StyleGAN2, 1024 x 1024, {}, float32",
    "the same in bfloat16": "StyleGAN2, 1024 x 1024, {}, bfloat16",
    "answers of a ResNet-50": "resnet50, 128 x 128, {}: asked",
    "faces of this book": "faces of the world, 128 x 128, {}: drawn",
}
gpu = {
    name: [a_second.get(what.format(on)) for on in ("cpu", "cuda")] for name, what in WORK.items()
}
devices = [f"{record['machine']['cores']} processor cores", record["facts"]["GPU"]]
gpu = pd.DataFrame(gpu, devices, dtype=float).T.rename_axis("in one second")
gpu = gpu.map("{:,.1f}".format).replace("nan", "–").to_markdown(disable_numparse=True)
glue("gpu", Markdown(gpu), display=False)

# %% [markdown]
# :::{admonition} On a GPU
# :class: tip, dropdown
# :name: on-a-gpu
#
# Projection and steps are products of matrices, so thousands of faces cost one call on any device. Making
# images and asking networks takes the time. With `DEVICE=cuda` both run on the card. The table has measured speeds. A
# card speeds up networks. The faces of this book are drawn by the processor in either case.
# [](benchmarks) has the whole record.
#
# ```{glue:md} gpu
# :format: myst
# ```
# :::

# %% [markdown]
# ## The main arm: brought to its targets
#
# Decision values are exact, and faces are approximate. Fitted directions miss the true ones by an angle,
# and the link from code to face is curved. We call the level that a face really reaches its {term}`dose`. Doses *spread*:
# the same step leads to different levels in different faces. And other attributes move along, such as earrings.
# People and measures can see both faults before a model is asked. The main arm corrects them in three parts:
# better directions, neutral faces and steps.

# %% [markdown]
# The targets are mean scores $y$ of raters, from zero to one. The goal of a level is near the score that
# the paper's step reaches, and beard and makeup should be low. The directions are the second set of
# [](03_direction_fitting):
#
# - Raters judge gender on *crops*, pictures that are cut so that hair is hidden.
# - The directions keep all attributes that raters are asked about or that automatic measures see.
# - Decision values are not distances here. They are *logits* of scores: the logarithm of $y / (1 - y)$.

# %%
GOALS = {"skin_colour": (0.19, 0.86), "hair_length": (0.18, 0.69), "gender": (0.06, 0.91)}
LITTLE = {"facial_hair": 0.1, "makeup": 0.17}

# %%
calibrated = Hyperplanes.from_arrays(stage.load("03_direction_fitting", "calibrated.npz"))
basis = stage.load("04_orthogonalization", "calibrated.npz")
dual_of_all = pd.DataFrame(basis["dual"], basis["names"])
along = dual_of_all.loc[AXES].to_numpy()

# %% [markdown]
# ### Neutral faces
#
# Thirty raters see every neutral face. If they find it more feminine than most neutral faces, say, we move
# it towards the median. We move it only part of the way, because part of its score is chance. The
# {term}`reliability` of the scores says how far. We do this twice. Before the first move, other faces replace two kinds: those with
# tied or covered hair, which hides a step along hair length, and those whose score lies over a quarter of
# the scale from the median.

# %%
RATERS_OF_NEUTRAL = 30


def of_neutral(codes: np.ndarray, turn: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of neutral faces on the axes, and their squared standard errors."""
    faces = parameters_of(codes).cpu()
    name = f"{stage.name}/neutral {turn}"
    return raters.rate_faces_with_error(faces, AXES, RATERS_OF_NEUTRAL, seed=seed, stage=name)


grown = float(logit(ADULT))
in_logits = {name: float(logit(score)) for name, score in LITTLE.items()}

# %%
start = base_of(calibrated, grown, in_logits, 5 * n_transects)
loose = np.flatnonzero(raters.loose_hair(parameters_of(start)))
start = start[loose]
seen, error = of_neutral(start, 0)
ordinary = np.flatnonzero(calibration.is_inlier(seen))[:n_transects]

# %%
main = start[ordinary] + calibration.center_neutral(seen.iloc[ordinary], error).to_numpy() @ along
again, error = of_neutral(main, 1)
main = main + calibration.center_neutral(again, error).to_numpy() @ along

# %% [markdown]
# ### Eight cells, in rounds
#
# A first step to the logits of the goals brings each cell near its target. Then four rounds correct it. In every
# round raters and automatic measures see *all* transects. Where the mean score of a cell misses its goal, all
# its faces take one more step: the missing score divided by the *slope*, the change of the score for one
# logit.
#
# We go only a part of this step, the *gain*. It falls from round to round and each round asks other raters,
# so chance averages out. An attribute without a goal is brought to one common mean in all cells. The table after the
# rounds has the longest move along each axis, in logits.

# %% [markdown]
# :::{admonition} The algebra
# :class: dropdown
# Let $t_c$ be the goal of a cell and $g$ the gain. A bar is a mean over the faces of the cell, so $\bar y_c$
# is their mean score. The slope at one face is $y\,(1 - y)$. The step is
# $D_c = g\,(t_c - \bar y_c) \big/ \overline{y\,(1 - y)}_c$.
# :::

# %%
GAINS = (0.7, 0.7, 0.4, 0.3)
CELLS = dict(zip(AXES, np.indices((2, 2, 2)).reshape(3, 8), strict=True))
goals = {name: np.take(GOALS[name], level) for name, level in CELLS.items()}

# %%
population = generator.parameters(generator.sample(2000, seed + 4)).cpu()


# %%
def measured(codes: np.ndarray, turn: str) -> pd.DataFrame:
    """What automatic measures say of images."""
    faces = parameters_of(codes).cpu()
    return raters.measure_faces(faces, population, seed=seed, stage=f"{stage.name}/{turn}")


def rated(codes: np.ndarray, turn: str) -> pd.DataFrame:
    """What raters say of images."""
    faces = parameters_of(codes).cpu()
    return raters.rate_faces(faces, n_raters, seed=seed, stage=f"{stage.name}/{turn}")


# %%
steps = np.stack([logit(goals[name]) for name in AXES], axis=1) @ along  # (8, D)
moved = []
for turn, gain in enumerate(GAINS):
    some = main[:, None] + steps
    seen = rated(some, f"round {turn}").join(measured(some, f"round {turn}"))
    seen = seen[np.repeat(calibration.is_inlier(seen[AXES], 8), 8)]
    more = calibration.step_to_targets(seen, 8, goals | LITTLE, gain, raters.MEASURED_PARAMETERS)
    steps = steps + more.to_numpy() @ dual_of_all.loc[[*more]].to_numpy()
    moved.append(more.abs().max())

# %%
moved = pd.DataFrame(moved, range(1, len(GAINS) + 1)).rename_axis("round")[AXES]
moved.rename(columns=in_words).round(2)

# %% [markdown]
# The *drawn* arm has the same faces and steps, and gives each face its own beard and makeup back. For the paper's recipe and
# the main arm we compare the true values of the parameters, by axis and level.

# %%
base["fitted"] = main
own = base_of(calibrated, grown, {}, 5 * n_transects)[loose[ordinary]]
own = calibrated.select([*LITTLE]).decision_values(own) - [*in_logits.values()]
base["drawn"] = main + own @ dual_of_all.loc[[*LITTLE]].to_numpy()
decisions = {name: logit(np.array(ends)) for name, ends in GOALS.items()}
for arm in ("fitted", "drawn"):
    parameters[arm] = parameters_of(base[arm][:, None] + steps)
    index[arm] = transects.index(n_transects, decisions)


# %%
def by_level(arm: str) -> dict[tuple[str, int], pd.Series]:
    """True values of the images of an arm, by axis and level."""
    realised = facerender.to_frame(parameters[arm])[AXES].astype(float)
    level = {name: index[arm][f"{name}_level"] for name in AXES}
    return {(name, k): realised.loc[level[name] == k, name] for name in AXES for k in (0, 1)}


true_values = {arm: by_level(arm) for arm in ("papers", "fitted")}

# %%
LEVELS = {
    "skin_colour": ("light", "dark"),
    "hair_length": ("short", "long"),
    "gender": ("female", "male"),
}
spreads = pd.DataFrame(
    {arm: {k: v.std() for k, v in some.items()} for arm, some in true_values.items()}
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three rows of two panels of histograms, for skin colour, hair length and perceived gender; the paper's recipe at the left, the main arm at the right. In each panel the low and the high level form two separate humps on either side of a shaded ambiguous range. The humps at the right are narrower."}, "figure": {"name": "fig-realised-levels", "caption": "True values of the images, by intended level. Shaded: ranges that pruning drops as ambiguous. Dashed: medians. SD: standard deviation of a level."}}
# Computed by by_level (above) with facerender.parameters.to_frame.
BINS = np.linspace(0, 1, 51)
FILLED = {"histtype": "stepfilled", "edgecolor": "none", "alpha": 0.9}
figure, panels = plt.subplots(3, 2, figsize=(NARROW, 6), sharex=True, sharey="row")
for column, (arm, values) in zip(panels.T, true_values.items(), strict=True):
    for axis, name in zip(column, AXES, strict=True):
        axis.axvspan(PAPER_RULES[name].left, PAPER_RULES[name].right, color=figures.GREY, alpha=0.2)
        for level, label in enumerate(LEVELS[name]):
            look, value = figures.look(label), values[name, level]
            axis.hist(value, BINS, **FILLED, color=look.colour, hatch=look.hatch)
            axis.axvline(value.median(), 0, 0.7, color=figures.BLACK, linestyle="--", linewidth=1)
            place = {"ha": "center", "va": "top", "transform": axis.get_xaxis_transform()}
            told = f"{label}\nSD {spreads.loc[(name, level), arm]:.3f}"
            axis.text(np.clip(value.median(), 0.2, 0.8), 0.98, told, **place, fontsize=9.5)
        axis.set(xlim=(0, 1), xticks=(0.1, 0.5, 0.9))
        axis.tick_params(labelsize=10)
tallest = max(np.histogram(v, BINS)[0].max() for v in true_values["fitted"].values())
for axis, name in zip(panels[:, 0], AXES, strict=True):
    axis.set_ylabel(f"{in_words(name)}\nimages", fontsize=10)
    axis.set_ylim(0, 1.5 * tallest)
for axis, arm in zip(panels[0], ("the paper’s recipe", "the main arm"), strict=True):
    axis.set_title(arm, fontsize=11)
shrunk = spreads.mean()
title = f"Mean SD within a level: {shrunk['papers']:.3f}\nby the paper’s recipe, {shrunk['fitted']:.3f} in the main arm"
figure.suptitle(title, fontsize=11)
label = f"true value, n = {len(index['papers']):,} images in each arm"
_ = figure.supxlabel(label, fontsize=10)

# %% [markdown]
# ## The gate
#
# Before any model is asked, the main arm has to pass a {term}`gate`, a test with two parts. The first part
# tests *leaks*: how far each attribute that is held moves along each axis on average, in standard deviations of
# sampled faces. The second part tests *doses*: how far faces lie apart within a level, as raters see them,
# on the scale from zero to one.

# %%
LEAK, SPREAD = 0.15, 0.03  # limits: of leaks in standard deviations, of doses in scores

# %% [markdown]
# Why these limits? They are our choice, made before a model was asked. Both lie above the values of
# trial runs with other seeds. A [benchmark of the instrument](benchmarks) repeats the experiment with new seeds.

# %% [markdown]
# How good are the effects that such an arm gives? The benchmark compares them with two truths. For the truth *at real
# doses*, other faces of the same population get the doses of the transects, which differ a little from face to face. For the
# truth *at one dose*, all faces get the intended dose, the median of what faces got. [](11_who_was_right) and [the tour](tour) use
# this one. A real study may do worse at one dose,
# because the goals of the benchmark were set with knowledge of the world.


# %%
def in_percent(row: dict) -> list[str]:
    """Shares of cells that held the truth at real doses and at one dose."""
    held, cells = map(int, row["cells held"].split(" of "))
    return [f"{count / cells:.0%}" for count in (held, row["intended doses"])]


# %%
record = benchmark("instrument")
truths = {row["what"]: in_percent(row) for row in record["rows"]}
record_of_costs = benchmark("instrument_costs")
smallest = min(record_of_costs["rows"], key=lambda row: row["answers"])

# %%
TRUTHS = ["truth at real doses", "truth at one dose"]
coverage = pd.DataFrame(truths | {"smallest": in_percent(smallest)}, TRUTHS).T
runs = {name: len(record["facts"]["seeds"].split(",")) for name in truths}
coverage["runs"] = pd.Series(runs | {"smallest": len(record_of_costs["facts"]["seeds"].split(","))})
of_designs = {"papers": "paper’s recipe", "calibrated": "main arm", "smallest": "cheapest design"}
shown = coverage.rename(of_designs)
shown.style.set_caption("Share of 95% intervals of effects that contain the truth")

# %% [markdown]
# First the leaks. Raters judge the audit's transects once more. Automatic measures are free, so they are taken
# of five times as many fresh faces. The fresh faces are not moved towards the median, and the hair of a few is tied or covered. The table has the largest leaks. All its
# upper limits must lie below the first limit of the gate.

# %%
cells = main[:, None] + steps
crop_scores = stage.load("03_direction_fitting", "crop_scores.parquet")
unit = crop_scores.std()
said = rated(cells, "gate") / unit

# %%
fresh = base_of(calibrated, grown, in_logits, 5 * n_transects, "/gate")
instruments = measured(fresh[:, None] + steps, "gate")
leaked = pd.concat([calibration.leaks(one, CELLS) for one in (said, instruments)])
leaked = leaked.drop([(name, name) for name in AXES])  # an axis is to move itself

# %%
limits = leaked.pivot_table("upper", "attribute", "axis")[AXES]
largest = limits.loc[limits.max(axis=1).nlargest(4).index].rename(index=in_words)
largest = largest.rename(columns=lambda name: f"along {in_words(name)}").rename_axis(columns=None)
largest.style.format("{:.3f}").set_caption("Upper limit of the leak (95%), in SD")

# %% [markdown]
# Then the doses. The raters' noise is taken out of these SDs. The second column has upper limits of the same
# kind, and all must lie below the second limit. The last column is known in this world alone, in units of the true
# parameter. The two SDs are on different scales.

# %%
faces = parameters_of(cells).cpu()
stream = {"seed": seed, "stage": f"{stage.name}/gate"}
scores, error = raters.rate_faces_with_error(faces, AXES, n_raters, **stream)
spread = calibration.dose_spread(scores, error, CELLS)

# %%
true = facerender.to_frame(faces)[AXES]
spread["true sd"] = calibration.dose_spread(true, 0 * true, CELLS)["sd"]
shown = spread.rename(columns={"sd": "SD of scores", "upper": "upper limit", "true sd": "SD, true"})
shown.index = [f"{in_words(name)}: {LEVELS[name][level]}" for name, level in shown.index]
shown.round(3)

# %%
passed = bool(leaked["upper"].max() <= LEAK and spread["upper"].max() <= SPREAD)

# %% tags=["hide-input"]
Markdown(
    f"**In this run** the main arm {'passes' if passed else 'does **not** pass'} the gate: its largest upper "
    f"limit of a leak is {leaked['upper'].max():.3f} standard deviations ({LEAK:.2f} is allowed), that of a spread of doses "
    f"{spread['upper'].max():.3f} ({SPREAD:.2f} is allowed)."
)

# %% [markdown]
# What would a real study pay for this? The table counts the answers of the simulated raters, at the price of an answer in the
# transects paper. The last row is the cheapest design of the benchmark, before its gate. It held the truth at one dose
# less often (table above). The sorting of faces by loose hair is not counted.

# %%
answers = {
    "directions": len(unit) * n_raters * len(crop_scores),
    "neutral faces": (len(start) + n_transects) * RATERS_OF_NEUTRAL * len(AXES),
    "rounds": len(GAINS) * n_transects * 8 * n_raters * len(unit),
    "gate": n_transects * 8 * n_raters * len(unit),
}
in_all = {"main arm, all of these": sum(answers.values()), "cheapest design": smallest["answers"]}
bill = pd.Series(answers | in_all, name="answers").to_frame()
bill["dollars"] = bill["answers"] * smallest["dollars"] / smallest["answers"]
bill.style.format("{:,.0f}")

# %% [markdown]
# The [benchmark of costs](instrument-costs) compares this design with others, and [](16_planning) has the bill of the main arm at a higher price,
# which leaves room for a platform's share.
#
# The gate is blind to attributes that are neither asked about nor measured, such as the style of hair, and to
# changes that cancel between cells. Raters could be asked for the style. An arm that fails should get more rounds. This book goes on in any case,
# and prints the result.

# %% [markdown]
# How often does the style of hair differ between two images that differ in the level of skin? The table has the share
# of such pairs, and the length of the step from light to dark skin in units of the code. A direction that keeps more attributes takes longer
# steps. So attributes that it does not keep can move more. What such changes do to the errors is part of *leakage* in
# [chapter 11](11_who_was_right).

# %%
by_skin = [steps[CELLS["skin_colour"] == level] for level in (0, 1)]
step = {
    "fitted": np.linalg.norm((by_skin[1] - by_skin[0]).mean(axis=0)),
    "papers": np.linalg.norm(np.ptp(DISTANCES["skin_colour"]) * dual.loc["skin_colour"]),
}
switched = {}
for arm in step:
    style = facerender.to_frame(parameters[arm])["hair_style"].to_numpy()
    light, dark = (style[index[arm]["skin_colour_level"] == level] for level in (0, 1))
    switched[arm] = (light != dark).mean()

# %%
moved = pd.DataFrame({"other style of hair": switched, "length of the step": step})
moved.rename({"fitted": "main arm", "papers": "paper’s recipe"}).style.format(
    {moved.columns[0]: "{:.1%}", moved.columns[1]: "{:.1f}"}
)

# %% [markdown]
# ### Beards and makeup
#
# Was holding them worth it? We count images meant as women with a visible beard, and images meant as men
# with visible makeup. The cuts are those of [](09_logistic_ate).

# %%
BEARD, PAINT = 0.375, 0.5  # of the true parameters
unlike = {}
in_transects = {}
for arm in base:
    seen = facerender.to_frame(parameters[arm])
    level = index[arm]["gender_level"]
    visible = {
        "women with a beard": seen.loc[level == 0, "facial_hair"] >= BEARD,
        "men with makeup": seen.loc[level == 1, "makeup"] >= PAINT,
    }
    unlike[arm] = {what: images.mean() for what, images in visible.items()}
    transect = index[arm]["transect"]
    shares = {what: images.groupby(transect).mean() for what, images in visible.items()}
    in_transects[arm] = pd.DataFrame(shares)

# %%
halved = in_transects["drawn"] - 2 * in_transects["fitted"]  # shares, a row for each transect

# %% tags=["hide-input"]
claim(
    "Holding them works. With faces as drawn {drawn[0]:.0%} of the intended women "
    "would have a beard and {drawn[1]:.0%} of the intended men makeup. In the main arm these are "
    "{held[0]:.1%} and {held[1]:.1%}.",
    margins=list(map(Margin, halved.mean(), halved.sem())),
    drawn=[*unlike["drawn"].values()],
    held=[*unlike["fitted"].values()],
)

# %% [markdown]
# ## The exact arm
#
# This world also knows the exact directions, so we make the fourth arm. Results of the main and the exact arm
# differ by leaks, by the spread of doses and by other base faces. [](11_who_was_right) separates the three, and
# calls the exact arm its *ideal version*.

# %%
typical = facerender.to_frame(parameters["fitted"])[[*HELD]].median()
held = {name: float(value) for name, value in typical.items()}
doses = {name: [float(true_values["fitted"][name, k].median()) for k in (0, 1)] for name in AXES}

# %%
exact = Hyperplanes(fitted.names, *generator.exact_hyperplanes(fitted.names))
at_doses = {name: generator.decision_value(name, np.array(doses[name])) for name in AXES}
index["exact"] = transects.index(n_transects, at_doses)

# %%
exact_held = {name: float(generator.decision_value(name, dose)) for name, dose in held.items()}
adult = float(generator.decision_value("age", ADULT))
everybody = base_of(exact, adult, exact_held, n_transects * 3 // 2)
base["exact"] = everybody[raters.loose_hair(parameters_of(everybody))][:n_transects]
walk = (exact.select(AXES), generator.exact_directions(AXES), list(at_doses.values()))
parameters["exact"] = torch.cat([parameters_of(cells) for cells in cells_of(base["exact"], *walk)])

# %% [markdown]
# How much moves along in each arm? Within each transect we take the range of every parameter that is
# *off* the axes, and average it over transects. The table has the parameters that move most by the paper's recipe, in standard
# deviations among sampled faces. *Ancestry x* and *y* are two parameters that shape the face.

# %%
within = {}
for arm, table in parameters.items():
    by_transect = facerender.to_frame(table).astype(float).groupby(index[arm]["transect"])
    within[arm] = (by_transect.max() - by_transect.min()).drop(columns=AXES)
del within["drawn"]

# %%
unit = facerender.to_frame(population).std()
ranges = pd.DataFrame({arm: table.mean() / unit[table.columns] for arm, table in within.items()})
ranges = ranges.drop("hair_style")  # its values have no order
most = ranges["papers"].drop("artefacts").nlargest(8).index
largest = ranges.loc[[*most, "artefacts"]]
largest.rename(index=in_words, columns={"fitted": "main", "papers": "paper’s recipe"}).round(3)

# %%
truth = facerender.to_frame(parameters["exact"])
for name in AXES:
    intended = np.take(doses[name], index["exact"][f"{name}_level"])
    assert np.abs(truth[name] - intended).max() < 1e-6, name

# %% tags=["remove-cell"]
# Angles are in degrees and float32, hence the tolerance.
assert within["exact"].drop(columns="artefacts").max().max() < 1e-4
assert within["exact"]["artefacts"].max() < 0.2
assert within["exact"]["artefacts"].mean() < 0.005

# %% [markdown]
# In the exact arm everything off the axes stays where it is, with one exception in the last row. Codes
# far from the centre of the latent space look a little more artificial, and a step changes that distance.
# By the paper's recipe, directions hold the attributes that were annotated. The others go with the axes as
# they do in the population. We count those that are not among the paper's questions.

# %%
free = [in_words(name) for name in most if name not in planes.names]
moves = within["papers"].drop(columns=["artefacts", "hair_style"])
moves = moves / unit[moves.columns]
moves = moves[moves.mean().sort_values(ascending=False).index]

# %%
is_asked = moves.columns.isin(planes.names)
# More than half are free if the fifth of the free ones moves more than the fourth of the others.
ahead = moves.loc[:, ~is_asked].iloc[:, 4] - moves.loc[:, is_asked].iloc[:, 3]

# %% tags=["hide-input"]
claim(
    "Of the {most} parameters that move most by the paper's recipe, {free} "
    "are not among the paper's questions: {names}. The first of them moves by {first:.2f} standard deviations, and by {main:.2f} in "
    "the main arm.",
    margins=[Margin(ahead.mean(), ahead.sem())],
    free=len(free),
    most=len(most),
    names=", ".join(free),
    first=ranges.loc[most[0], "papers"],
    main=ranges.loc[most[0], "fitted"],
)

# %% [markdown]
# ### Rendering
#
# All images of an arm go into one array on disk. An interrupted run goes on where it stopped. The array of the
# main arm is `fitted_images.npy` (*fitted* is the main arm's name in files).

# %%
for arm, table in parameters.items():
    path = stage.path(f"{arm}_images.npy")
    render_to_store(table, image_size, path, device=device)
n_images = sum(len(table) for table in parameters.values())

# %% tags=["sheet", "hide-input"] mystnb={"image": {"alt": "Four rows of eight faces. Each row is one person with light and dark skin, short and long hair, perceived as female and as male, in all eight combinations; pose, light, background and expression stay nearly the same along a row."}, "figure": {"name": "fig-three-dimensional", "caption": "The first four transects of the main arm. Columns: skin light or dark, hair short or long, perceived as female or male. After Fig. 9 of the transects paper."}}
# Computed by faceaudit.latents.calibration.step_to_targets.
shown, store = parameters["fitted"][: 4 * 8], stage.path("examples.npy")
pictures = render_to_store(shown, figure_size // 2, store, device=device)
titles = ["\n".join(cell) for cell in product(*LEVELS.values())]
gallery = figures.gallery(pictures, 8, titles)
legible(gallery, f"One face a row, in all eight cells:\nfour of {n_transects} transects")

# %% [markdown]
# Compare neighbours in a row. The gender parameter shapes jaw and brow, and
# that is intended: people perceive gender by it. "Female" and "male" are labels of perception on a drawn
# face. The transition between them is a tool for finding errors, and describes no person.

# %% [markdown]
# ## What would change our mind
#
# - Raters might miss the intended levels. [](06_annotation_ingestion) checks this.
# - The main and the exact arm might lead to different conclusions. Then results from real generators,
#   which lack an exact arm, would be in doubt. [](11_who_was_right) compares them.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Projecting twice, 10 minutes, easy
# :label: exercise-projection-idempotent
#
# Show that projecting a projected code leaves it as it is. Show also that a step along the dual vector of
# one attribute and the projection onto the plane of another one can be done in either order.
#
# **Check:** both differences are zero up to rounding, for all sampled faces.
# ```
#
# ```{solution-start} exercise-projection-idempotent
# :class: dropdown
# ```

# %% [markdown]
# $N P(w) + b = N w + b - N N^{+}(N w + b) = 0$, because $N N^{+} = I$ for independent normals. So the second
# projection subtracts zero. For the other claim let $\langle v_j, n_k\rangle = 0$. The projection onto
# plane $k$ subtracts a multiple of $n_k$ that depends on $\langle n_k, w\rangle$ only, and a step along $v_j$
# leaves that number as it is.

# %% tags=["solution"]
codes = generator.sample(200, seed + 3).cpu().numpy().astype(np.float64)
once = transects.project(codes, planes.normals, planes.intercepts)
assert np.allclose(transects.project(once, planes.normals, planes.intercepts), once)

age = planes.select(["age"])
step = dual.loc["skin_colour"].to_numpy()
before = transects.project(codes + step, age.normals, age.intercepts)
after = transects.project(codes, age.normals, age.intercepts) + step
assert np.allclose(before, after)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Hold age at one value, 15 minutes, medium
# :label: exercise-hold-age
#
# One could hold age at one value for all transects. Here each face keeps its own. Make base faces of both
# kinds, and compare how age varies between transects and within them. What does each choice do to the
# estimated effects?
#
# **Check:** within a transect, age varies in neither kind.
# ```
#
# ```{solution-start} exercise-hold-age
# :class: dropdown
# ```

# %% [markdown]
# One value gives effects at that age: less variance, and no word about other ages. Own ages give effects
# averaged over the ages of the population, and allow asking whether they differ by age. In both cases age
# is constant within a transect, so it cannot confound.

# %% tags=["solution"]
own = base_of(fitted, youngest, {}, 50)
with_age = fitted.select([*AXES, "age"])
one_age = transects.project(own, with_age.normals, with_age.intercepts, [0, 0, 0, 0.1])
age = fitted.select(["age"])
walk = (planes.select(AXES), dual.loc[AXES], [*DISTANCES.values()])
by_kind = {}
for kind, codes in {"own ages": own, "one age": one_age}.items():
    cells = np.concatenate([*cells_of(codes, *walk)])
    ages = age.decision_values(cells.reshape(-1, cells.shape[-1])).reshape(len(codes), 8)
    by_kind[kind] = (age.decision_values(codes).std(), np.ptp(ages, axis=1).max())
    assert by_kind[kind][1] < 1e-9
by_kind = pd.DataFrame(by_kind, ["SD between transects", "largest range within one"])
(by_kind.T.round(9) + 0).style.format("{:.2g}")

# %% tags=["solution", "remove-cell"]
assert np.ptp(age.decision_values(one_age)) < 1e-9 < age.decision_values(own).std()

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Other axes, 20 minutes, hard
# :label: exercise-another-axis
#
# Build transects in age, smiling and makeup for a few faces. What has to change in the recipe for the
# base faces?
#
# **Check:** every image has the decision values that you asked for, and one decision value of skin colour
# within each transect.
# ```
#
# ```{solution-start} exercise-another-axis
# :class: dropdown
# ```

# %% [markdown]
# Take makeup out of `HELD`, because an axis cannot be held. Drop the hold on age for the same reason, and
# choose two levels that are both adult: skin, hair and gender are then left as they were drawn. The
# number of images follows from the precision that you want ([](16_planning)).

# %% tags=["solution"]
others = {"age": (0.2, 1.2), "smiling": (-1, 1), "makeup": (-0.6, 0.9)}
on = planes.select([*others])
cells = transects.grid(
    adults[:3], on.normals, on.intercepts, dual.loc[[*others]], [*others.values()]
)
cells = cells.reshape(3, 8, -1)
wanted = np.stack(np.meshgrid(*others.values(), indexing="ij"), axis=-1).reshape(8, 3)
for transect in cells:
    assert np.allclose(on.decision_values(transect), wanted)
    assert np.ptp(planes.select(["skin_colour"]).decision_values(transect)) < 1e-9

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - One formula projects a face onto many hyperplanes, and one step along each dual vector leads from there to a cell.
# - By the paper's recipe decision values are exact and faces approximate. Raters and measures can bring
#   the faces near their targets, and a gate tests this before a model is asked.
# - The recipe of the base faces defines the population of every effect that follows.
#
# **Next:** [](06_annotation_ingestion) takes the images of the main arm and asks people what they see.

# %% tags=["remove-cell"]
for arm, table in parameters.items():
    stage.save(f"{arm}_index.parquet", index[arm])
    stage.save(f"{arm}_parameters.npy", table.cpu().numpy())
    stage.save(f"{arm}_base.npy", base[arm])
stage.save("steps.npy", steps)
stage.save("doses.json", doses)
_ = stage.finish(
    {
        "transects": n_transects,
        "images": n_images,
        "doses": doses,
        "held": held,
        "adult": ADULT,
        "unlike": unlike,
        "gate": {
            "leak": leaked["upper"].max(),
            "dose": spread["upper"].max(),
            "passed": passed,
        },
        "answers": answers,
    }
)

# %% tags=["remove-cell"]
wide, narrow = (spreads.loc["gender", arm] for arm in ("papers", "fitted"))
answer = (
    "**Move each sampled face to a neutral point, then add one step along the dual vector of each axis. Raters look where "
    f"the faces arrive, and we correct the neutral points and, in {len(GAINS)} rounds, the steps.** So the faces of one level are more alike "
    "than by the paper's recipe. On the scale of gender, from zero to one, their standard deviations are "
    f"{narrow[0]:.2f} (female) and {narrow[1]:.2f} (male) instead of {wide[0]:.2f} and {wide[1]:.2f} in this run. Before any model is "
    "asked, a test called the *gate* checks whether other attributes moved and whether the faces of one level are alike, and this run "
    f"{'passes' if passed else 'does not pass'} it. In the runs of a benchmark, 95% intervals contained the true effect in "
    f"{truths['calibrated'][0]} of the effects on such faces, and by the paper's recipe in {truths['papers'][0]}. If the true effect is computed with the same dose for all faces, these shares are {truths['calibrated'][1]} and {truths['papers'][1]}. What the gate does not "
    f"see can move more: in {switched['fitted']:.1%} of pairs that differ in skin, the style of hair differs, too."
)
glue("answer", Markdown(answer), display=False)
