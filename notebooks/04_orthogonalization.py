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
# # Orthogonalization
#
# *You need chapter 3 (planes and their normals) and the dot product. Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# A {term}`decision value` is the signed distance of a face's code from the plane that chapter 3 fitted for an attribute. Ask for
# longer hair along the {term}`normal` of that plane, and the face turns female (first row below). An experiment then mixes two causes.
# How can we walk so that one attribute changes and the other annotated attributes keep their values? And what is the price?
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
# | **Population** | new faces of random codes, which were not used for fitting |
# | **Unit** | one face, walked to both sides along one direction |
# | **Intervention** | a step of fixed length in the decision value of one attribute |
# | **Held fixed** | by construction, the decision values of all other annotated attributes |
# | **Outcome and who labels it** | the true change of every attribute, which this world lets us read |
# | **Estimand** | {term}`leakage`: unintended change for one unit of intended change |
# | **Tolerance and n** | no tolerance; the number of faces is in the title of the figure |
# | **Decision at stake** | which directions the transects of the next chapter use |
# | **Known failure** | attributes without a plane move along, such as hair colour with skin and earrings with gender |
# :::

# %% [markdown]
# ```{glue:figure} raw-and-dual
# :name: fig-raw-and-dual
# :alt: Four rows of five faces of the same person. In the first row hair grows from left to right along the raw normal and the face becomes more feminine; in the second, along the dual vector, hair grows while the face stays more alike. In the third and fourth row the skin darkens; along the raw normal the hair becomes shorter as well, along the dual vector it keeps its length. Hair colour changes along both; at the end of the second row the hair turns wavy.
#
# One face walks from left to right along the raw normal and along the dual vector of this chapter, in hair length and in skin
# colour. Above the faces: their signed distance from the plane. In the title: how far the shape of the face moves in gender between both
# ends. At the end of the second row the hair is wavy. A clear case, after Fig. 5 of {cite:t}`transects`
# (below: the *transects paper*): of a few dozen new faces, the adult with little makeup whose gender moves most along the raw normal of hair length.
# Drawn under [](#raw-against-dual).
# ```

# %% tags=["hide-cell"]
from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from myst_nb import glue

import facerender
from faceaudit.latents import orthogonalization, transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils.formatting import with_minus
from faceworld import load_generator
from faceworld.rendering import render_to_store
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim
from helpers.figures import charts, widgets

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
figure_size = 256

# %% tags=["remove-cell"]
stage = Stage("04_orthogonalization", profile=profile, device=device, seed=seed)
figures.style()
NARROW = 4.8  # inches: letters of ten points can then be read on a phone


# %% tags=["hide-cell"]
def walked(pictures: np.ndarray, values: np.ndarray, labels: list[str], title: str) -> plt.Figure:
    """A row of faces for each label, in letters that can be read on a phone."""
    figure = figures.gallery(pictures, 5, [with_minus(f"{v:+.1f}") for v in values], labels)
    figure.suptitle(title, fontsize=14)
    for axis in figure.axes:
        axis.tick_params(labelsize=14)
        axis.yaxis.label.set_fontsize(14)
    return figure


# %% [markdown]
# ## Along a normal, others move too
#
# The normal is the shortest way to change a decision value, and earlier work walks along it {cite:p}`interfacegan`. But
# normals of two attributes are seldom at right angles. A step of one along a normal then also changes the decision value of the
# other attribute, by the cosine of the angle between both. For normals of length one, the dot product gives this cosine. The table has
# what one step along the normal of hair length does. A minus means more female, less beard, less makeup, younger, lighter skin.

# %%
generator = load_generator("known-truth", device=device)
planes = Hyperplanes.from_arrays(stage.load("03_direction_fitting", "hyperplanes.npz")).unit()
normals = planes.normals
names = list(planes.names)
gender = names.index("gender")
hair = names.index("hair_length")

# %%
of_one_step = pd.Series(
    normals @ normals[hair], [*map(charts.spaced, names)], name="decision value"
)
of_one_step.sort_values(key=abs, ascending=False).round(2).to_frame()

# %% [markdown]
# ## The dual basis
#
# We want one direction for each attribute. A step along it changes this attribute's decision value by one unit and
# all others by zero. The drawing shows such a direction for hair length, with gender as the only other attribute.

# %%
rho = float(normals[gender] @ normals[hair])
n_gender = np.array([1.0, 0.0])
n_hair = np.array([rho, np.sqrt(1 - rho**2)])
v_hair = (n_hair - rho * n_gender) / (1 - rho**2)

# %% tags=["hide-input"] mystnb={"image": {"alt": "A drawing in two dimensions. Two solid arrows of length one, the normals of gender and of hair length, with an obtuse angle between them. Grey lines at right angles to the normal of gender join points of equal gender. A dashed arrow, the dual vector of hair length, runs along such a line and is longer than the normal; the tips of both lie on one dotted line of equal hair length."}, "figure": {"name": "fig-normals-and-dual-vectors", "caption": "The fitted normals of gender and hair length, drawn to scale in their plane, and the dual vector of hair length for these two. Grey lines join codes of equal gender. The normal of hair length crosses them; the dual vector runs along one. Both reach the dotted line, on which the decision value of hair length is one."}}
# Computed by faceaudit.latents.directions.fit_hyperplanes (chapter 3).
axis = plt.figure(figsize=(NARROW, 3.5)).gca()
for place in np.arange(-1.5, 1.6, 0.25):
    axis.axvline(place, color="#CCCCCC", linewidth=1, zorder=0)
across = np.array([-n_hair[1], n_hair[0]])
axis.plot(*np.c_[n_hair - 2 * across, n_hair + 2 * across], ":", color=figures.BLACK)
ARROWS = {
    "normal of gender": (n_gender, figures.GREY, "-", (0, -0.14), "right"),
    "normal of\nhair length": (n_hair, figures.VERMILION, "-", (0.2, -0.47), "right"),
    "dual vector\nof hair length": (v_hair, figures.BLUE, "--", (0.08, -0.55), "left"),
}
for name, (arrow, colour, line, shift, side) in ARROWS.items():
    how = {"arrowstyle": "-|>", "lw": 3, "shrinkA": 0, "shrinkB": 0}
    how |= {"color": colour, "linestyle": line}
    axis.annotate("", arrow, (0, 0), arrowprops=how)
    axis.text(*(arrow + shift), name, color=colour, ha=side, va="center", fontsize=11)
axis.text(-1.47, -0.36, "grey lines: equal gender", fontsize=10, backgroundcolor="white")
axis.set(aspect="equal", xlim=(-1.5, 1.5), ylim=(-0.45, 1.5))
axis.axis("off")
_ = axis.set_title(
    with_minus(f"Cosine {rho:+.2f}: the dual vector is {np.linalg.norm(v_hair):.2f} times as long"),
    fontsize=12,
)

# %% [markdown]
# The dashed arrow is the *dual vector* of hair length. The dual vectors of all attributes together are their {term}`dual basis`.
# Solving one linear system gives all of them at once. The last line checks that
# every step changes its own decision value by one and the others by zero.
#
# :::{admonition} The algebra
# :class: dropdown
# The rows of $N$ are the normals $n_k$, the rows of $V$ the directions $v_j$. A step along $v_j$ changes decision value $k$ by
# $\langle v_j, n_k\rangle$, so we want $V N^\top = I$. In a large space many $V$ do this. The one with the shortest steps is
# the dual basis, $V = (N N^\top)^{-1} N$.
# :::

# %%
dual = orthogonalization.dual_basis(normals)  # a row for each attribute
by_hand = np.linalg.solve(normals @ normals.T, normals)
assert np.allclose(dual, by_hand)
assert np.allclose(dual @ normals.T, np.eye(len(names)))  # what each step changes

# %% [markdown]
# (raw-against-dual)=
# ### Try it: raw normal against dual vector
#
# The slider moves the first figure's face along the raw normal of hair length (left) and along its dual vector (right). Compare
# chin and jaw at both ends. On the left they change from male to female, on the right they stay more alike. The cells walk
# faces along a direction, and choose a clear case.


# %%
def parameters_of(w: np.ndarray) -> torch.Tensor:
    """The face parameters of codes (…, D), one row each."""
    return generator.parameters(torch.from_numpy(w.reshape(-1, generator.latent_dim)))


# %%
def walk(
    w: np.ndarray, name: str, basis: np.ndarray, values: np.ndarray, fitted: Hyperplanes = planes
) -> np.ndarray:
    """Codes at the given decision values of one attribute along its direction, (n, L, D)."""
    row = [names.index(name)]
    return transects.grid(w, fitted.normals[row], fitted.intercepts[row], basis[row], [values])


# %%
# A clear case: of a few dozen new faces, the adult with little makeup whose gender moves most.
WALK = np.linspace(-1.6, 1.6, 5)  # signed distances, from clearly low to clearly high
few = generator.sample(60, seed + 2).cpu().numpy()
ends = facerender.to_frame(parameters_of(walk(few, "hair_length", normals, WALK[[0, -1]])))
low_high = ends["gender"].to_numpy().reshape(-1, 2)
adult = ends["age"].to_numpy().reshape(-1, 2).min(axis=1) > 0.4
bare = ends["makeup"].to_numpy().reshape(-1, 2).max(axis=1) < 0.5
chosen = few[[np.where(adult & bare, low_high[:, 0] - low_high[:, 1], 0).argmax()]]

# %%
kinds = {"raw": normals, "dual": dual}
rows = [(name, kind) for name in ("hair_length", "skin_colour") for kind in kinds]
cells = np.concatenate([walk(chosen, name, kinds[kind], WALK)[0] for name, kind in rows])
on_walk = parameters_of(cells)
travelled = facerender.to_frame(on_walk)["gender"].to_numpy().reshape(-1, len(WALK))
raw_change, dual_change = np.ptp(travelled, axis=1)[:2]
raw_end, dual_end = (travelled[:, -1] - travelled[:, 0])[:2]

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Four rows of five faces of the same person, which the page shows at its top."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by facerender.parameters.to_frame; the vectors by
# faceaudit.latents.orthogonalization.dual_basis.
pictures = render_to_store(on_walk, figure_size, stage.path("raw_and_dual.npy"), device=device)
labels = [f"{name.split('_')[0]}\n{kind}" for name, kind in rows]
title = (
    "Towards longer hair, gender (0 female, 1 male)\n"
    f"changes by {raw_end:+.2f} (raw) and by {dual_end:+.2f} (dual)"
)
glue("raw-and-dual", walked(pictures, WALK, labels, with_minus(title)), display=False)
plt.close()

# %% tags=["remove-cell"]
assert dual_change < raw_change

# %% tags=["hide-input"]
FRAMES = np.linspace(-1.6, 1.6, 9)
frames = {kind: walk(chosen, "hair_length", basis, FRAMES) for kind, basis in kinds.items()}
cells = parameters_of(np.concatenate(list(frames.values())))
stack = render_to_store(cells, figure_size, stage.path("widget.npy"), device=device)
widgets.side_by_side(
    {"raw normal": stack[: len(FRAMES)], "dual vector": stack[len(FRAMES) :]},
    [f"{value:+.1f}" for value in FRAMES],
    "hair length",
    "One face at growing hair length",
    width=280,
)

# %% [markdown]
# ### Try it: two normals and their dual vectors
#
# Two normals of length one meet at an angle that you choose. Dashed arrows are their dual vectors. The slider
# starts at a right angle, where each dual vector equals its normal. Watch the lengths of the dashed arrows.

# %% tags=["hide-input"]
widgets.explorable(
    "dual",
    "Two normals at an angle that a slider changes, and their two dual vectors, which grow longer as the angle shrinks.",
    names=["gender", "hair"],
    guess={
        "question": "The angle between two normals shrinks from 90°. What happens to their dual vectors?",
        "options": ["They get longer", "They get shorter", "Their lengths stay"],
        "right": 0,
        "because": "A dual vector uses only the part of its normal that the other one lacks. So it must go further. "
        f"Angles above 90° do the same. The drawing above has {np.degrees(np.arccos(rho)):.0f}°: try it.",
    },
)

# %% [markdown]
# ### The price is a longer step
#
# A dual vector uses only the part of its normal that the other normals do not share. So it must go
# further for the same change. The table has this factor, compared with a step along the normal. It is the square root of the
# {term}`variance inflation factor <VIF>` (VIF), which is known from regression. Long steps lead away from the faces that the
# generator knows. Two attributes that always occur together would make the price infinite. `dual_basis` then stops and names them.

# %%
vif = orthogonalization.variance_inflation(normals)
price = pd.DataFrame({"VIF": vif, "step length": np.sqrt(vif)}, [*map(charts.spaced, names)])
price.round(2)

# %% [markdown]
# (erratum-algorithm-2)=
# ## The printed algorithm does something else
#
# Algorithm 2 of {cite:t}`transects` promises vectors at right angles (*orthogonal*) to the normals of all other attributes. It goes through a list,
# and removes from each normal only what lies along the normals *before* it. This is the Gram–Schmidt procedure.
#
# So Algorithm 2 makes the vectors orthogonal to each other. But each vector must be orthogonal to the *other attributes' normals*.
#
# :::{admonition} The algebra
# :class: dropdown
# Let $N^\top = Q R$, where the columns $q_j$ of $Q$ have length one and are at right angles to each other. Algorithm 2
# removes from $n_i$ its components along all columns $q_j$ with $j \ne i$. But $n_i$ lies in the span of the first $i$
# columns, so $\tilde n_i = \langle q_i, n_i\rangle\, q_i$ remains. This is orthogonal to $n_k$ for $k < i$ only.
# :::

# %%
printed = orthogonalization.gram_schmidt(normals)
q, r = np.linalg.qr(normals.T)  # columns of q: Gram–Schmidt at length one
gram_schmidt = np.diag(r)[:, None] * q.T
same = np.allclose(printed, gram_schmidt, atol=1e-12)
change = printed @ normals.T

# %% tags=["remove-cell"]
assert same
residual = change / np.diag(change)[:, None]
assert np.abs(np.tril(residual, -1)).max() < 1e-12 < np.abs(np.triu(residual, 1)).max()
assert np.allclose(printed[0], normals[0])

# %% [markdown]
# The first printed vector is its normal unchanged, and the result depends on the order of the list. We apply the algorithm to all
# orders of four attributes that are strongly linked. How much does the decision value of gender change for one unit of the decision
# value of hair length? There should be one answer, zero.


# %%
def gender_per_hair(order: tuple[str, ...]) -> float:
    """Change of the gender decision per unit of hair length, along the printed vector."""
    order = [*order, *(name for name in names if name not in order)]
    rows = planes.select(order).normals
    vector = orthogonalization.gram_schmidt(rows)[order.index("hair_length")]
    return float(vector @ normals[gender] / (vector @ normals[hair]))


# %%
KNOT = ("gender", "hair_length", "facial_hair", "makeup")
by_order = pd.Series({order: gender_per_hair(order) for order in permutations(KNOT)})
early = np.array([order.index("gender") < order.index("hair_length") for order in by_order.index])
left = by_order[~early]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Bars counting orders of the attributes by the change of gender per unit of hair length. Some orders give zero, the others several different negative values; a marked line at zero is the dual basis, and another marks the raw normal."}, "figure": {"name": "fig-order-dependence", "caption": "Change of the gender decision for one unit of hair length, along the printed vector, for every order of four attributes. Each bar counts orders. The raw normal and the dual basis do not depend on the order."}}
# Computed by gender_per_hair (above) with faceaudit.latents.orthogonalization.gram_schmidt.
axis = plt.figure(figsize=(NARROW, 3.6)).gca()
bins = np.arange(by_order.min() - 0.01, 0.03, 0.02)
axis.hist(by_order, bins, color=figures.SKY, edgecolor="white")
top = axis.get_ylim()[1]
axis.axvline(rho, color=figures.VERMILION)
axis.axvline(0, color=figures.BLACK, linestyle="--")
axis.text(rho + 0.01, top, "raw normal", color=figures.VERMILION, va="top", fontsize=11)
axis.text(-0.02, top, "dual basis", ha="right", va="top", fontsize=11)
axis.yaxis.set_major_locator(plt.MaxNLocator(integer=True))
axis.set(xlabel="change of gender per unit of hair length", ylabel="orders")
title = (
    f"{early.sum()} of {len(by_order)} orders remove the leak,\n"
    f"the others leave {left.max():.2f} to {left.min():.2f}"
)
_ = axis.set_title(with_minus(title), fontsize=12)

# %% tags=["remove-cell"]
assert by_order[early].abs().max() < 1e-12
assert by_order[~early].abs().min() > 0.05

# %% [markdown]
# If gender comes before hair length, the leak is gone. If it comes after, most of the leak stays. An analyst who happened to
# list gender first would see no problem with this pair. Then the vector of gender still moves hair: see the first row of the middle matrix in
# {numref}`fig-leakage`. The dual basis is the same for every order.

# %% [markdown]
# ## Does the face change as intended?
#
# So far we checked algebra on *fitted* planes. Now we look at faces. New faces walk the same distance to both
# sides of every plane, and we read their true attributes at both ends. We also read two attributes that the paper's
# questions leave out: hair colour and earrings. The {term}`leakage` of a pair of attributes is the change of the measured one for each unit by
# which the moved one changes. A table keeps change and ratio of every pair for later chapters.

# %%
STEP = 1.0  # signed distance to either side, about one standard deviation
HELD_OUT = 1000  # faces
UNASKED = ["hair_colour", "earrings"]
MEASURED = [*names, *UNASKED]
held_out = generator.sample(HELD_OUT, seed + 1).cpu().numpy()


# %%
def ends_of(
    basis: np.ndarray, step: float = STEP, fitted: Hyperplanes = planes, faces=held_out
) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """True attributes of the held-out faces at the low and the high end of every walk."""
    low, high = {}, {}
    for name in names:
        codes = walk(faces, name, basis, [-step, step], fitted)
        truth = facerender.to_frame(parameters_of(codes))[MEASURED]
        low[name] = truth[::2].astype(float)
        high[name] = truth[1::2].astype(float)
    return low, high


# %%
bases = {"raw": normals, "printed": printed, "dual": dual}
ends = {kind: ends_of(basis) for kind, basis in bases.items()}
leakage = {kind: orthogonalization.leakage(*both) for kind, both in ends.items()}
off = {kind: orthogonalization.off_target(matrix[names]) for kind, matrix in leakage.items()}

# %%
table = pd.DataFrame(
    {
        "basis": kind,
        "moved": moved,
        "measured": measured,
        "change": high[moved][measured].mean() - low[moved][measured].mean(),
        "ratio": leakage[kind].loc[moved, measured],
    }
    for kind, (low, high) in ends.items()
    for moved in names
    for measured in MEASURED
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three small matrices below each other, of moved against measured attributes, for raw normals, the printed algorithm and the dual basis, and a scale of colours. The raw matrix has strong cells among gender, hair length, facial hair and makeup; the printed one keeps them in its upper rows; in the dual one they are pale, except in the last two columns, hair colour and earrings."}, "figure": {"name": "fig-leakage", "caption": "True change of every attribute (columns) per unit of intended change (rows), mean over held-out faces. Cells in the colour of 0.0 on the bar are what we want; the diagonal is left out. The last two columns, hair colour and earrings, are not among the paper's questions. In the titles: mean size over the annotated attributes, without the diagonal."}}
# Computed by faceaudit.latents.orthogonalization.leakage and
# faceaudit.latents.orthogonalization.off_target.
KINDS = {"raw": "raw normals", "printed": "printed algorithm", "dual": "dual basis"}
figure, axes = plt.subplots(3, 1, figsize=(NARROW, 8.8), sharex=True)
for axis, (kind, matrix) in zip(axes, leakage.items(), strict=True):
    shown = matrix.where(matrix.index.to_numpy()[:, None] != matrix.columns.to_numpy())
    limits = {"cmap": "PuOr", "vmin": -0.6, "vmax": 0.6}
    mesh = axis.pcolormesh(shown[::-1], **limits, edgecolors="white", linewidth=1)
    title = f"{KINDS[kind]}: mean leakage {off[kind].mean:.3f}, n = {HELD_OUT:,}"
    axis.set_title(title, fontsize=11)
    axis.axvline(len(names), color=figures.BLACK, linewidth=1.5)
    axis.grid(visible=False)
    axis.tick_params(length=0)
    axis.set_yticks(np.arange(len(names)) + 0.5, map(charts.spaced, names[::-1]), fontsize=11)
    axis.set_ylabel("moved")
places = np.arange(len(MEASURED)) + 0.5
axis.set_xticks(places, map(charts.spaced, MEASURED), rotation=50, ha="right")
bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", fraction=0.03, pad=0.02)
bar.set_label("true change per unit of intended change")


# %% [markdown]
# How far do these means depend on the faces? We compute them again five times, each time without a fifth of the annotated and of the
# held-out faces. The spread of the five values gives a standard error (a *jackknife*).

# %%
refits = stage.load("03_direction_fitting", "refits.npz")
FIFTHS = len(refits["normals"])
keeps = [np.arange(HELD_OUT) % FIFTHS != part for part in range(FIFTHS)]


# %%
def jackknife_error(values: pd.Series) -> float:
    """Standard error of a number, from its values without each fifth of the faces."""
    return float(np.sqrt((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()))


# %%
def bases_of(fitted: Hyperplanes) -> dict[str, np.ndarray]:
    """The three kinds of directions of some fitted planes."""
    return {
        "raw": fitted.normals,
        "printed": orthogonalization.gram_schmidt(fitted.normals),
        "dual": orthogonalization.dual_basis(fitted.normals),
    }


# %%
def without_fifth(part: int) -> dict[str, float]:
    """Mean leakages and the leak of facial hair, without a fifth of annotated and of held-out faces."""
    fitted = Hyperplanes(planes.names, refits["normals"][part], refits["intercepts"][part])
    found = {}
    for kind, basis in bases_of(fitted).items():
        matrix = orthogonalization.leakage(*ends_of(basis, STEP, fitted, held_out[keeps[part]]))
        found[kind] = orthogonalization.off_target(matrix[names]).mean
    return found | {"shape": matrix.loc["facial_hair", "gender"]}  # of the last kind, the dual


# %%
fifths = pd.DataFrame(map(without_fifth, range(FIFTHS)))
by_kind = {KINDS[kind]: (off[kind].mean, jackknife_error(fifths[kind])) for kind in KINDS}
pd.DataFrame(by_kind, ["mean leakage", "standard error"]).T.round(3)

# %%
dual_to_raw = off["dual"].mean / off["raw"].mean


# %%
def below(kind: str, other: str, share: float = 1.0) -> Margin:
    """By how much the mean leakage of a basis is below a share of that of another."""
    error = jackknife_error(share * fifths[other] - fifths[kind])
    return Margin(share * off[other].mean - off[kind].mean, error)


# %% tags=["hide-input"]
claim(
    "**In this run** the mean leakage of the dual basis is {share:.0%} of that of the raw normals.",
    margins=[below("dual", "raw", 0.5)],
    share=dual_to_raw,
)

# %% [markdown]
# Does the leakage depend on the length of the walk? The table has the mean leakage of the dual basis for walks of half to
# twice our step, to either side.

# %%
by_step = {
    step: orthogonalization.off_target(orthogonalization.leakage(*ends_of(dual, step))[names]).mean
    for step in (STEP / 2, STEP, 3 * STEP / 2, 2 * STEP)
}
pd.Series(by_step, name="mean leakage").rename_axis("step").round(3).to_frame()

# %% [markdown]
# The dual basis removes the leak between the *fitted* normals exactly. The leakage that remains in the faces has three sources: fitted
# normals differ from the true ones, attributes cause each other, and raters take one attribute for a sign of another.
#
# The third source needs an example. Raters judge gender by the shape of a face and also by beard, makeup and hair. The planes
# follow the raters, so the dual basis keeps *perceived* gender. A growing beard makes raters say "male". So the shape of the
# face must say "female" to balance it.

# %% tags=["hide-input"]
shape = leakage["dual"]["gender"]
claim(
    "For one unit more of facial hair, the shape of the face moves by {facial_hair:+z.2f}: towards female. For one unit more of hair length "
    "it moves by {hair_length:+z.2f}, and of makeup by {makeup:+z.2f}. A plus sign means towards male.",
    margins=[Margin(-shape["facial_hair"], jackknife_error(fifths["shape"]))],
    **shape[["facial_hair", "hair_length", "makeup"]],
)

# %% [markdown]
# Should an audit keep perception or shape? That depends on its question, and algebra cannot decide it. The second source shows
# with age. Children wear neither beards nor makeup in this world. So a walk towards a younger age removes beard and makeup from the face,
# although their decision values stay the same: a linear direction cannot separate a cause from its effect.

# %% [markdown]
# ## Attributes without a plane still move
#
# Look at the last two columns of the three matrices above, hair colour and earrings. Would better planes close these leaks? We
# compare five kinds of directions.
#
# - *raw*: the normals
# - *dual, fitted*: the dual basis of the fitted planes of seven attributes
# - *dual, exact*: the dual basis of the exact planes of the same seven attributes
# - *dual, more held*: the dual basis of everything that [](03_direction_fitting) asked about and measured
# - *all known*: directions that know every coordinate of this world

# %%
exact_normals, _ = generator.exact_hyperplanes(names)
calibrated = Hyperplanes.from_arrays(stage.load("03_direction_fitting", "calibrated.npz"))
dual_of_all = orthogonalization.dual_basis(calibrated.normals, vif_cap=np.inf)
dual_of_all = pd.DataFrame(dual_of_all, calibrated.names)

# %%
bases_known = {
    "raw": bases["raw"],
    "dual, fitted": bases["dual"],
    "dual, exact": orthogonalization.dual_basis(exact_normals),
    "dual, more held": dual_of_all.loc[names].to_numpy(),
    "all known": generator.exact_directions(names),
}

# %%
AXES = ("gender", "hair_length", "skin_colour")  # those of the transects to come
ends_known = {kind: ends_of(basis) for kind, basis in bases_known.items()}

# %%
unasked = {
    kind: orthogonalization.leakage(*both)[UNASKED].loc[list(AXES)]
    for kind, both in ends_known.items()
}
unasked = pd.concat(unasked, axis=1).swaplevel(axis=1)[UNASKED]

# %% tags=["remove-cell"]
# Exact planes and this world's own geometry: no run can change these.
assert abs(unasked.loc["gender", ("earrings", "dual, exact")]) > 0.05
assert abs(unasked.loc["skin_colour", ("hair_colour", "dual, exact")]) > 0.05
assert unasked.xs("all known", axis=1, level=1).abs().max().max() < 0.01

# %%
LEAKS = {"gender": "earrings", "skin_colour": "hair_colour"}
leaks = {f"{name} along {axis}": unasked.loc[axis, name] for axis, name in LEAKS.items()}
leaks = pd.DataFrame(leaks).rename(columns=charts.spaced)
(leaks.loc[[*bases_known]].round(2) + 0.0).style.format("{:.2f}")


# %%
def without_fifths(both: tuple) -> list[list[dict[str, pd.DataFrame]]]:
    """The low and the high ends of walks, without each fifth of the held-out faces."""
    return [
        [{name: table[keep] for name, table in side.items()} for side in both] for keep in keeps
    ]


# %%
fitted_exact = ["dual, fitted", "dual, exact"]
earrings, colour = (unasked.loc[axis, name][fitted_exact].tolist() for axis, name in LEAKS.items())
held = [unasked.loc[axis, (name, "dual, more held")] for axis, name in LEAKS.items()]

# %%
# Errors over held-out faces: the sentence below is about the directions of this run.
exact, kept = (
    pd.DataFrame(
        np.abs([orthogonalization.leakage(*some).loc[axis, name] for axis, name in LEAKS.items()])
        for some in without_fifths(ends_known[kind])
    )
    for kind in ("dual, exact", "dual, more held")
)
sizes = np.abs([earrings[1], colour[1]])
margins = [
    *map(Margin, sizes - 0.2, exact.agg(jackknife_error)),
    *map(Margin, sizes - np.abs(held), (exact - kept).agg(jackknife_error)),
]

# %% tags=["hide-input"]
claim(
    "A better fit does not close these leaks. Along gender, earrings change by {earrings[0]:z.2f} with fitted and by "
    "{earrings[1]:z.2f} with exact planes of the same attributes. Along skin colour, hair colour changes by "
    "{hair[0]:z.2f} and {hair[1]:z.2f}. Where they are asked about and held, {held[0]:z.2f} and {held[1]:z.2f} are left.",
    margins=margins,
    earrings=earrings,
    hair=colour,
    held=held,
)

# %% [markdown]
# Exact planes can move earrings more than fitted ones do, because noise in the fitted normal of gender weakens its tie to earrings.
# We take out of the fitted normals what the exact ones cannot explain, and set the three leaks side by side.

# %%
weights = np.linalg.lstsq(exact_normals.T, normals.T)[0]
cleaned = orthogonalization.dual_basis((exact_normals.T @ weights).T)
cleaned = orthogonalization.leakage(*ends_of(cleaned)).loc["gender", "earrings"]
of_earrings = {"fitted": earrings[0], "fitted, without noise": cleaned, "exact": earrings[1]}
pd.Series(of_earrings, name="earrings along gender").round(2).to_frame()

# %% [markdown]
# An attribute stays still only if a direction knows its plane. So raters have to be asked about it, or a measure has to see it. On
# real images something is always left out: a {term}`confounder` that an experiment in latent space cannot exclude.

# %%
SPAN = np.linspace(-1.2, 1.2, 5)
kinds = {"dual": bases["dual"], "all known": bases_known["all known"]}
rows = {kind: walk(few, "gender", basis, SPAN) for kind, basis in kinds.items()}

# %%
worn = facerender.to_frame(parameters_of(rows["dual"]))[["earrings", "hair_length"]].to_numpy()
worn, length = worn.T.reshape(2, len(few), len(SPAN))
kept = facerender.to_frame(parameters_of(rows["all known"]))["earrings"].to_numpy()
kept = np.ptp(kept.reshape(worn.shape), axis=1)
best = np.where(length.max(axis=1) < 0.4, worn[:, 0] - worn[:, -1], 0).argmax()

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two rows of five faces of one person whose perceived gender changes from female to male. In the upper row earrings are there at one end and gone at the other; in the lower row they stay as they are."}, "figure": {"name": "fig-earrings", "caption": "Perceived gender changed along the dual vector of the annotated attributes (upper row) and along the direction that knows earrings as well (lower row). A clear case: of the new faces with hair that leaves the ears free, the one whose earrings change most. After Fig. 19 of the transects paper."}}
# Computed by facerender.parameters.to_frame; the vectors by
# faceaudit.latents.orthogonalization.dual_basis.
store = stage.path("earrings.npy")
cells = parameters_of(np.concatenate([row[best] for row in rows.values()]))
pictures = render_to_store(cells, figure_size, store, device=device)
lost = with_minus(f"{worn[best, -1] - worn[best, 0]:+.2f}")
title = f"Earrings change by {lost} in the upper row,\nby {kept[best]:.2f} in the lower"
_ = walked(pictures, SPAN, ["dual", "all\nknown"], title)

# %% tags=["remove-cell"]
glue(
    "answer",
    Markdown(
        "**Walk along the dual basis: each of its vectors changes one decision value and keeps the others exactly.** "
        f"In the faces a little still moves. Scales of attributes run from zero to one. The mean absolute change of another annotated attribute, for each unit of the attribute that a walk changes, is {off['raw'].mean:.3f} along "
        f"raw normals and {off['dual'].mean:.3f} along the dual basis. The algorithm as the paper prints it gives {off['printed'].mean:.3f}, and this number depends on the order of the attributes. "
        f"The price is a step that is up to {price['step length'].max():.1f} times as long as along a normal. Attributes that "
        "raters were not asked about, such as earrings, still move."
    ),
    display=False,
)

# %% [markdown]
# ## What would change our mind
#
# If the dual basis leaked as much as the raw normals, the fitted planes would be the problem. Leakage depends on
# the length of the walk, as the table of walks shows. So [](05_transect_generation) corrects faces where they arrive. [](06_annotation_ingestion) compares seen with true attributes.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Two attributes by hand, 10 minutes, medium
# :label: exercise-two-attributes
#
# Two unit normals have the cosine $\rho$. Write down the dual vector of the first and its length. Compare with the
# drawing and with the table of step lengths.
#
# **Check:** your vector has the dot products one and zero with the two normals.
# ```

# %% [markdown]
# ```{solution-start} exercise-two-attributes
# :class: dropdown
# ```
#
# $v_1 = (n_1 - \rho\, n_2) / (1 - \rho^2)$. Its squared length is $1 / (1 - \rho^2)$, the VIF of two predictors. With
# more attributes, $\rho^2$ becomes the $R^2$ of one normal on all others, so the values of the table are at least as large.

# %% tags=["solution"]
n_1 = normals[hair]
n_2 = normals[gender]
v_1 = (n_1 - rho * n_2) / (1 - rho**2)
assert np.allclose([v_1 @ n_1, v_1 @ n_2, v_1 @ v_1], [1, 0, 1 / (1 - rho**2)])
assert vif[hair] >= v_1 @ v_1
f"length {np.sqrt(v_1 @ v_1):.2f} for two attributes, {np.sqrt(vif[hair]):.2f} for all"

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Only the axes of the grid? 10 minutes, medium
# :label: exercise-only-the-grid
#
# A {term}`transect` varies hair length, skin colour and gender. Why hold facial hair, makeup, age and smiling fixed as well? Build the dual basis of the three axes alone and look at the four other decision values.
#
# **Check:** the new steps are shorter, and the four others move.
# ```

# %% [markdown]
# ```{solution-start} exercise-only-the-grid
# :class: dropdown
# ```
#
# The others would move, and the audit would count their effects as effects of the axes. To hold them costs step
# length. Whether it is *right* depends on the question: the total effect of looking male includes more beards.

# %% tags=["solution"]
three = [names.index(name) for name in AXES]
of_three = orthogonalization.dual_basis(normals[three])
steps = np.linalg.norm(of_three, axis=1)
assert (steps <= np.linalg.norm(bases["dual"][three], axis=1) + 1e-12).all()
moved = pd.DataFrame(of_three @ normals.T, AXES, names).drop(columns=[*AXES])
moved.rename(index=charts.spaced, columns=charts.spaced).round(2)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} A lucky order, 10 minutes, easy
# :label: exercise-lucky-order
#
# Which order of the attributes makes the printed algorithm look best for a transect in hair length alone? Does such an
# order exist for all attributes at once?
#
# **Check:** in your order the printed vector is parallel to the dual vector.
# ```

# %% [markdown]
# ```{solution-start} exercise-lucky-order
# :class: dropdown
# ```
#
# Put hair length last. Its vector is then orthogonal to all other normals, so it is parallel to the dual vector. Only one attribute
# can be last, so one order cannot serve all attributes, unless the normals are orthogonal already.

# %% tags=["solution"]
order = [name for name in names if name != "hair_length"] + ["hair_length"]
last = orthogonalization.gram_schmidt(planes.select(order).normals)[-1]
cosine = last @ dual[hair] / np.linalg.norm(last) / np.linalg.norm(dual[hair])
assert np.isclose(cosine, 1)
f"cosine of the printed and the dual vector: {cosine:.3f}"

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - A normal shows where an attribute grows fastest. A dual vector changes it alone.
# - The dual basis is exact and independent of the order. Algorithm 2 as printed is Gram–Schmidt.
# - The price is step length, $\sqrt{\mathrm{VIF}}$. Leaks remain where planes are inexact, where attributes cause each other,
#   where raters use cues, and where attributes have no plane.
#
# **Next:** chapter 5 walks along these vectors and makes grids of matched faces.

# %% tags=["remove-cell"]
stage.save("directions.npz", {"names": np.array(names), **bases})
stage.save("calibrated.npz", {"names": np.array(calibrated.names), "dual": dual_of_all.to_numpy()})
stage.save("leakage.parquet", table)
_ = stage.finish(
    {
        "leakage_mean": {kind: one.mean for kind, one in off.items()},
        "leakage_max": {kind: one.max for kind, one in off.items()},
        "vif": dict(zip(names, vif, strict=True)),
        "dual_to_raw": dual_to_raw,
        "leakage_margins": [vars(below("dual", "printed")), vars(below("printed", "raw"))],
    }
)
