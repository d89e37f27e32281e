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
# Ask for longer hair, and the face turns female. Nothing is broken: in the population that the
# generator has learnt, the two go together, and the direction in which hair grows is also a
# direction of gender. For an experiment that is useless, because whatever an audit then finds may
# be due to either. This chapter bends each direction until a step along it moves one annotated
# attribute and stays at the same distance from the *fitted planes* of all others.

# %% [markdown]
# ## Question
#
# How can one walk in latent space so that one attribute changes and all other annotated attributes
# keep their values? What does that cost, does the algorithm that {cite:t}`transects` print deliver it, and
# what happens to attributes that nobody annotated?

# %% [markdown]
# ## Design contract
#
# Unit
# : A new face, not used for fitting, walked to both sides along one direction.
#
# Intervention
# : A step of fixed length in the decision value of one attribute.
#
# Held fixed
# : By construction, the decision values of all other annotated attributes.
#
# Outcome
# : The true change of every attribute, which this world lets us read off.
#
# Estimand
# : {term}`Leakage <leakage>`: unintended change per unit of intended change.
#
# Known failure
# : What is not annotated is not held: in the basis of seven, hair colour keeps moving with skin, earrings
#   with gender.

# %% [markdown]
# ## Prerequisites
#
# Dot products, matrix inversion and the idea of a basis; the hyperplanes of the chapter on
# [fitting directions](03_direction_fitting). Reading takes half an hour; the cells run in less than
# a minute on a laptop, most of it for rendering faces.

# %%
from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from myst_nb import glue

import facerender
from helpers import figures, orthogonalization, transects
from helpers.artifacts import Stage
from helpers.claims import claim
from helpers.directions import Hyperplanes
from helpers.figures import widgets
from helpers.generators import load_generator
from helpers.world.batches import render_to_store

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
figure_size = 256

# %%
stage = Stage("04_orthogonalization", profile=profile, device=device, seed=seed)
figures.style()
generator = load_generator("known-truth", device=device)

# %% [markdown]
# ## What goes wrong along a normal
#
# We take the fitted hyperplanes and scale every normal to length one, so that a decision value is a
# signed distance. The simplest walk, the one that earlier work {cite:p}`interfacegan` takes first,
# is straight along the normal: it is the shortest way to change the decision value.

# %%
planes = Hyperplanes.from_arrays(stage.load("03_direction_fitting", "hyperplanes.npz")).unit()
normals, names = planes.normals, list(planes.names)

# %% [markdown]
# Moving a code from $w$ to $w + c\,v$ changes the decision value of attribute $k$ by
# $c\,\langle v, n_k\rangle$. With $v = n_j$ the changes are therefore the cosines of the last
# chapter: whoever walks along the normal of one attribute moves every other in proportion to its
# cosine. Here is the row of hair length, per unit step.

# %%
hair = names.index("hair_length")
pd.Series(normals @ normals[hair], names, name="change of decision value").round(2).to_frame()

# %% [markdown]
# ## The dual basis
#
# Wanted are directions $v_1, \dots, v_K$ with
#
# $$\langle v_j, n_k\rangle = \begin{cases}1 & j = k\\ 0 & j \ne k\end{cases}
# \qquad\text{or}\qquad V N^\top = I,$$
#
# where the rows of $V$ and $N$ are the directions and the normals. In a space of $D > K$ dimensions
# many $V$ satisfy this; the shortest one lies in the span of the normals. It is their
# {term}`dual basis`, $V = (N N^\top)^{-1} N$. For normals of unit length, $N N^\top$ is just the
# matrix of cosines.

# %% [markdown]
# The formula is right and the obvious way of computing it is not. Inverting $N N^\top$ squares the
# condition number of $N$. The helper factorises $N^\top = Q R$ instead, with orthonormal columns in
# $Q$ and a triangular $R$, and solves for $V = R^{-1} Q^\top$. The result does not depend on the
# order in which the attributes are listed, because the definition does not.

# %%
bases = {
    "raw": normals,
    "printed": orthogonalization.gram_schmidt(normals),
    "dual": orthogonalization.dual_basis(normals),
}
deviation = np.abs(bases["dual"] @ normals.T - np.eye(len(names))).max()
print(f"largest deviation of V Nᵀ from the identity: {deviation:.1e}")

# %% tags=["remove-cell"]
assert deviation < 1e-12

# %% [markdown]
# ## What it looks like
#
# Fig. 5 of {cite:t}`transects` shows transects with and without orthogonalization. Ours takes one new face,
# puts it on the hyperplane of the attribute that is to change, and walks to both sides in equal
# steps of the decision value. Upper row of each pair: along the raw normal. Lower row: along the
# dual vector.

# %%
WALK = np.linspace(-1.6, 1.6, 5)  # signed distances, from clearly low to clearly high


def walk(w: np.ndarray, name: str, basis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Codes at the given decision values of one attribute along its direction, (n, L, D)."""
    row = [names.index(name)]
    return transects.grid(w, normals[row], planes.intercepts[row], basis[row], [values])


def parameters_of(w: np.ndarray) -> torch.Tensor:
    """The face parameters of codes (…, D), one row each."""
    return generator.parameters(torch.from_numpy(w.reshape(-1, generator.latent_dim)))


# %% [markdown]
# Which face? To make the leak visible we choose, among a few dozen new faces, the adult with little
# makeup whose gender parameter moves most under the raw walk in hair length. So the figure shows a clear case, not a
# typical one; the averages over many faces follow below.

# %%
few = generator.sample(60, seed + 2).cpu().numpy()
ends = facerender.to_frame(parameters_of(walk(few, "hair_length", normals, WALK[[0, -1]])))
gender = ends["gender"].to_numpy().reshape(-1, 2)
adult = ends["age"].to_numpy().reshape(-1, 2).min(axis=1) > 0.4
bare = ends["makeup"].to_numpy().reshape(-1, 2).max(axis=1) < 0.5
chosen = few[[np.where(adult & bare, gender[:, 0] - gender[:, 1], 0).argmax()]]

# %% mystnb={"image": {"alt": "Four rows of five faces of the same person. In the first row hair grows from left to right along the raw normal and the face becomes more feminine; in the second, along the dual vector, hair grows while the face stays more alike. In the third and fourth row the skin darkens; along the raw normal the hair becomes shorter as well, along the dual vector it keeps its length. Hair colour changes along both; at the end of the second row the hair turns wavy."}, "figure": {"name": "fig-raw-and-dual", "caption": "One face at five decision values of hair length (upper pair) and of skin colour (lower pair), along the raw normal and along the dual vector. After Fig. 5 of the transects paper."}}
rows = [(name, kind) for name in ("hair_length", "skin_colour") for kind in ("raw", "dual")]
cells = np.concatenate([walk(chosen, name, bases[kind], WALK)[0] for name, kind in rows])
pictures = render_to_store(
    parameters_of(cells), figure_size, stage.path("raw_and_dual.npy"), device=device
)
labels = [f"{name.split('_')[0]}\n{kind}" for name, kind in rows]
gallery = figures.gallery(pictures, 5, [f"{value:+.1f}" for value in WALK], labels)

# %% [markdown]
# Watch the jaw, the brows and the lips in the first row: they follow the hair. In the second row hair
# changes and they are nearly held. Skin colour is less entangled, and that paper found its two rows
# nearly the same. Look at the length of the hair all the same: what the raw walk changes, the dual
# one holds. Nothing holds earrings or the colour of hair, which nobody annotated, and they may come
# and go in any row. The table prints how far the gender parameter of this face travels in each.

# %%
travelled = facerender.to_frame(parameters_of(cells))["gender"].to_numpy().reshape(-1, len(WALK))
gender_change = pd.DataFrame({"change of gender": np.ptp(travelled, axis=1)}, labels)
gender_change.rename(lambda label: label.replace("\n", ", ")).round(2)

# %% tags=["remove-cell"]
raw_change, dual_change = np.ptp(travelled, axis=1)[:2]
assert dual_change < raw_change

# %% [markdown]
# ## The price of independence
#
# A vector that avoids all other normals can use only the part of its own normal that they do not
# share, so it must go further for the same change of decision value. How much further is
# $\lVert v_j\rVert\,\lVert n_j\rVert = \sqrt{\mathrm{VIF}_j}$, the square root of the
# {term}`variance inflation factor <VIF>` known from regression. Long steps lead away from the faces
# that the generator knows.

# %%
vif = orthogonalization.variance_inflation(normals)
price = pd.DataFrame({"VIF": vif, "step length": np.sqrt(vif)}, names)
price.round(2)

# %% [markdown]
# The most entangled attribute is {glue:text}`dearest-attribute`, whose steps are
# {glue:text}`dearest-step:.2f` times as long as along its normal. Two attributes
# that always occur together would make the price infinite, and `dual_basis` refuses them by name; near
# that limit it warns. It never trades a little leakage for a shorter step without being asked.

# %% tags=["remove-cell"]
glue("dearest-attribute", price["step length"].idxmax().replace("_", " "), display=False)
glue("dearest-step", float(price["step length"].max()), display=False)

# %% [markdown]
# (erratum-algorithm-2)=
# ## The printed algorithm is Gram–Schmidt
#
# Algorithm 2 of {cite:t}`transects` takes the same QR factorisation and promises $\tilde n_j \perp n_k$ for all
# $k \ne j$. It then removes from $n_i$ its components along every column $q_j$ with $j \ne i$. But
# $n_i$ lies in the span of the first $i$ columns, so all that survives is its component along $q_i$:
#
# $$\tilde n_i = \langle q_i, n_i\rangle\, q_i.$$
#
# That is plain Gram–Schmidt. The vectors are orthogonal *to each other*, which nobody asked for.

# %%
q, r = np.linalg.qr(normals.T)
same = np.allclose(bases["printed"], np.diag(r)[:, None] * q.T, atol=1e-12)
print(f"Algorithm 2 equals Gram–Schmidt: {same}")

# %% tags=["remove-cell"]
assert same

# %% [markdown]
# The matrix shows what a step along each printed vector does to all decision values, divided by the
# intended change. What is wanted is an identity. Below the diagonal it is one: each vector respects
# the attributes *before* it in the list. Above the diagonal the leaks remain, and the first vector
# is its normal unchanged.

# %% mystnb={"image": {"alt": "A square matrix with ones on the diagonal, zeros below it and many non-zero entries above it."}, "figure": {"name": "fig-printed-residual", "caption": "Change of every decision value (columns) per unit of intended change (rows), along the vectors of Algorithm 2 as printed."}}
change = bases["printed"] @ normals.T
residual = pd.DataFrame(change / np.diag(change)[:, None], names, names)
axis = figures.heatmap(residual.round(12) + 0.0)

# %% tags=["remove-cell"]
above = np.triu(residual, 1)
assert np.abs(np.tril(residual, -1)).max() < 1e-12 < np.abs(above).max()
assert np.allclose(bases["printed"][0], normals[0])

# %% [markdown]
# A list has to begin somewhere, and nothing in the problem says with what. So we apply the printed
# algorithm to every possible order of the four attributes of the knot, followed by the others, and
# ask how much gender moves when hair length is changed by one unit. One number should come out.


# %%
def gender_per_hair(order: tuple[str, ...]) -> float:
    """Change of the gender decision per unit of hair length, along the printed vector."""
    order = [*order, *(name for name in names if name not in order)]
    rows = planes.select(order).normals
    vector = orthogonalization.gram_schmidt(rows)[order.index("hair_length")]
    return float(vector @ normals[names.index("gender")] / (vector @ normals[hair]))


KNOT = ("gender", "hair_length", "facial_hair", "makeup")
by_order = pd.Series({order: gender_per_hair(order) for order in permutations(KNOT)})

# %% mystnb={"image": {"alt": "Bars counting orders of the attributes by the change of gender per unit of hair length. Some orders give zero, the others several different negative values; a marked line at zero is the dual basis, and another marks the raw normal."}, "figure": {"name": "fig-order-dependence", "caption": "The printed algorithm gives a different answer for different orders of the attributes. Each bar counts orders; lines mark the raw normal and the dual basis, which do not depend on the order."}}
axis = plt.figure(figsize=(figures.WIDTH, 3.2)).gca()
bins = np.arange(by_order.min() - 0.01, 0.03, 0.02)
axis.hist(by_order, bins, color=figures.SKY, edgecolor="white", label="printed, by order")
axis.axvline(normals[hair] @ normals[names.index("gender")], color=figures.VERMILION, label="raw")
axis.axvline(0, color=figures.BLACK, linestyle="--", label="dual")
axis.set(xlabel="change of gender decision per unit of hair length", ylabel="orders")
legend = axis.figure.legend(loc="outside upper center", ncol=3)

# %% tags=["remove-cell"]
early = [order.index("gender") < order.index("hair_length") for order in by_order.index]
assert by_order[early].abs().max() < 1e-12
assert by_order[np.logical_not(early)].abs().min() > 0.05

# %% [markdown]
# If gender comes before hair length, the leak is gone; if it comes after, most of it is still there.
# Somebody who happened to list gender first would never notice. The dual basis is the same for every
# order of the attributes.

# %% [markdown]
# ## Measuring leakage
#
# So far we have checked algebra: decision values of *fitted* planes. What matters is the face. We
# walk new faces by the same distance to both sides of every plane, along all three kinds of
# direction, and read off the true attributes at both ends. Two attributes that the paper's
# questions leave out are read off too, the colour of hair and earrings. These bases know neither.

# %%
STEP = 1.0  # signed distance to either side, about one standard deviation of a latent coordinate
HELD_OUT = 1000
UNASKED = ["hair_colour", "earrings"]
MEASURED = [*names, *UNASKED]
held_out = generator.sample(HELD_OUT, seed + 1).cpu().numpy()


def ends_of(basis: np.ndarray) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """True attributes of the held-out faces at the low and the high end of every walk."""
    low, high = {}, {}
    for name in names:
        truth = facerender.to_frame(parameters_of(walk(held_out, name, basis, [-STEP, STEP])))
        low[name], high[name] = (
            truth[MEASURED][::2].astype(float),
            truth[MEASURED][1::2].astype(float),
        )
    return low, high


# %%
ends = {kind: ends_of(basis) for kind, basis in bases.items()}
leakage = {kind: orthogonalization.leakage(*both) for kind, both in ends.items()}

# %% mystnb={"image": {"alt": "Three matrices of intended against measured change, for raw normals, the printed algorithm and the dual basis. The raw matrix has large entries among gender, hair length, facial hair and makeup; the printed one keeps them in its upper rows; in the dual one they are much smaller, except in the last two columns, hair colour and earrings."}, "figure": {"name": "fig-leakage", "caption": "True change of every attribute (columns) per unit of intended change (rows), mean over held-out faces. The last two columns, hair colour and earrings, are not among the paper's questions."}}
figure, axes = plt.subplots(3, 1, figsize=(figures.WIDTH, 11.5), sharex=True)
for axis, (kind, matrix) in zip(axes, leakage.items(), strict=True):
    figures.heatmap(matrix, ax=axis)
    axis.set(title=f"{kind} ({HELD_OUT:,} faces)", xlabel="", ylabel="moved")

# %% [markdown]
# Two numbers per matrix: the mean and the largest off-diagonal entry in size, over the annotated
# attributes. The gain of the dual basis is bounded by how well the planes were fitted. It removes
# the leak between the *fitted* normals exactly. What is left comes from the angle between fitted and
# true normals, from attributes that cause each other, and from what raters take for a sign of what.

# %%
off = {kind: orthogonalization.off_target(matrix[names]) for kind, matrix in leakage.items()}
summary = pd.DataFrame(off, index=["mean", "max", "intended", "perceived"]).T
summary = summary.astype({"mean": float, "max": float})
dual_to_raw = off["dual"].mean / off["raw"].mean
summary.round(3).replace("_", " ", regex=True)

# %% tags=["remove-input"]
claim(
    "**In this run** the mean leakage of the dual basis is {share:.0%} of that of the raw normals.",
    holds=dual_to_raw < 0.5,
    share=dual_to_raw,
)

# %% [markdown]
# With enough annotations, part of what remains is no mistake of the directions. Raters judge gender
# by the shape of a face, but a beard, makeup and hair count for something, too. The planes were
# fitted to what raters say, so the dual basis holds *perceived* gender still. A beard may then grow
# only if the shape of the face turns more feminine at once, and longer hair or makeup only if it
# turns a little more masculine. The matrix counts the shape. Whether perception or shape should be
# held is a question about the audit, which no algebra answers.

# %% tags=["remove-input"]
shape = leakage["dual"]["gender"]
claim(
    "**In this run** the shape of the face moves towards female along facial hair, by "
    "{facial_hair:+z.2f}. Along hair length it moves by {hair_length:+z.2f}, along makeup by "
    "{makeup:+z.2f}; a plus sign means towards male.",
    holds=shape["facial_hair"] < 0,
    **shape[["facial_hair", "hair_length", "makeup"]],
)

# %% [markdown]
# The row of age is another case. Children wear neither beards nor makeup in this world, so a walk
# towards a younger age must take both away: one attribute *causes* the other, and no linear direction
# can separate a cause from its effect. With few annotations, the poor planes of the rare attributes
# dominate instead.

# %% [markdown]
# ## What nobody annotated
#
# Now the last two columns. Would better hyperplanes close these leaks? Here we can use the exact
# normals of the seven annotated attributes, and compare five ways of walking: the raw fitted
# normals, the dual basis of the fitted planes, the dual basis of the *exact* planes of the same
# attributes, the dual basis of all that [](03_direction_fitting) asked and measured in the end, and
# directions that know every coordinate of this world.

# %%
AXES = ("gender", "hair_length", "skin_colour")  # those of the transects to come


def spoken(name: str) -> str:
    """A column's name in words."""
    return name.replace("_", " ")


exact_normals, _ = generator.exact_hyperplanes(names)
calibrated = Hyperplanes.from_arrays(stage.load("03_direction_fitting", "calibrated.npz"))
dual_of_all = orthogonalization.dual_basis(calibrated.normals, vif_cap=np.inf)
dual_of_all = pd.DataFrame(dual_of_all, calibrated.names)
bases_known = {
    "raw": bases["raw"],
    "dual, fitted": bases["dual"],
    "dual, exact": orthogonalization.dual_basis(exact_normals),
    "dual, more held": dual_of_all.loc[names].to_numpy(),
    "all known": generator.exact_directions(names),
}
unasked = {
    kind: orthogonalization.leakage(*ends_of(basis))[UNASKED].loc[list(AXES)]
    for kind, basis in bases_known.items()
}
unasked = pd.concat(unasked, axis=1).swaplevel(axis=1)[UNASKED]
(unasked.round(3) + 0.0).rename(columns=spoken, index=spoken)

# %% tags=["remove-cell"]
# Exact planes and this world's own geometry: no run can change these.
assert abs(unasked.loc["gender", ("earrings", "dual, exact")]) > 0.05
assert abs(unasked.loc["skin_colour", ("hair_colour", "dual, exact")]) > 0.05
assert unasked.xs("all known", axis=1, level=1).abs().max().max() < 0.01

# %% [markdown]
# What is tied to an axis stays still only if a direction knows it. Asking for it is cheap, and
# measuring more than raters see is cheaper. To hold a part only can make the rest worse, so the
# basis of the fourth column holds all at once. These two leaks are not the only ones:
# [](10_matched_pairs) follows every parameter of a face, and [](12_hidden_attributes) asks
# which of them matter. On real images there is always something that nobody thought of
# annotating, a {term}`confounder` that an experiment in latent space cannot rule out. Of these
# two, earrings are the easier ones to see.

# %% tags=["remove-input"]
earrings, hair = (
    unasked.loc[axis, name][["dual, fitted", "dual, exact"]].tolist()
    for axis, name in (("gender", "earrings"), ("skin_colour", "hair_colour"))
)
held = [
    unasked.loc[axis, (name, "dual, more held")]
    for axis, name in (("gender", "earrings"), ("skin_colour", "hair_colour"))
]
claim(
    "**In this run** a better fit does not close these leaks. Along gender earrings change by "
    "{earrings[0]:z.2f} with fitted and by {earrings[1]:z.2f} with exact planes of everything that was "
    "annotated, and along skin colour hair colour changes by {hair[0]:z.2f} and {hair[1]:z.2f}. Where "
    "they are asked about and held, {held[0]:z.2f} and {held[1]:z.2f} are left.",
    holds=min(abs(earrings[1]), abs(hair[1])) > 0.2 and max(map(abs, held)) < 0.15,
    earrings=earrings,
    hair=hair,
    held=held,
)

# %%
SPAN = np.linspace(-1.2, 1.2, 5)
kinds = {"dual": bases["dual"], "all known": bases_known["all known"]}
rows = {kind: walk(few, "gender", basis, SPAN) for kind, basis in kinds.items()}
shown = facerender.to_frame(parameters_of(rows["dual"]))[["earrings", "hair_length"]].to_numpy()
worn, length = shown.T.reshape(2, len(few), len(SPAN))
best = np.where(length.max(axis=1) < 0.4, worn[:, 0] - worn[:, -1], 0).argmax()

# %% [markdown]
# The faces below are again a clear case: among new faces with hair that leaves the ears free, the
# one whose earrings change most. The paper's seven questions would not show this change, because none
# is about earrings. The second task of [](03_direction_fitting) asks about them.

# %% mystnb={"image": {"alt": "Two rows of five faces of one person whose perceived gender changes from female to male. In the upper row earrings are there at one end and gone at the other; in the lower row they stay as they are."}, "figure": {"name": "fig-earrings", "caption": "Perceived gender changed along the dual vector of the annotated attributes (upper row) and along the direction that knows earrings as well (lower row)."}}
store = stage.path("earrings.npy")
cells = parameters_of(np.concatenate([row[best] for row in rows.values()]))
pictures = render_to_store(cells, figure_size, store, device=device)
gallery = figures.gallery(pictures, 5, [f"{value:+.1f}" for value in SPAN], list(kinds))

# %% [markdown]
# ## Try it
#
# The slider moves the same face along the raw normal of hair length on the left and along its dual
# vector on the right. Nothing is computed in your browser: all frames are in the page, so it works
# without Python. Compare chin and jaw at both ends.

# %%
FRAMES = np.linspace(-1.6, 1.6, 9)
frames = {kind: walk(chosen, "hair_length", bases[kind], FRAMES) for kind in ("raw", "dual")}
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
# ## What would change our mind
#
# If the matrix of the dual basis were no better than that of the raw normals, the fitted planes
# would be the problem, not the algebra. If leakage grew with the length of the walk, attributes
# would bend through the space and a local basis would be needed. And if raters took more attributes
# than gender from one another, for example a face for older because of its hair, then holding
# perception would move more of the face than it does here. Chapter [six](06_annotation_ingestion)
# compares with the crowd what is seen and what is there.

# %% [markdown]
# ## Exercises
#
# ```{exercise}
# :label: exercise-two-attributes
#
# For two unit normals with cosine $\rho$, write down the dual vector of the first and its length.
# Check the result against the column of step lengths above for the pair that dominates it.
# ```

# %% [markdown]
# ```{solution} exercise-two-attributes
# :class: dropdown
#
# $v_1 = (n_1 - \rho\, n_2) / (1 - \rho^2)$: it has $\langle v_1, n_1\rangle = 1$ and
# $\langle v_1, n_2\rangle = 0$, and $\lVert v_1\rVert^2 = 1 / (1 - \rho^2)$, the textbook VIF of two
# predictors. With more than two attributes $\rho^2$ becomes the $R^2$ of one normal regressed on all
# the others, so the table's values are at least as large.
# ```

# %% [markdown]
# ```{exercise}
# :label: exercise-only-the-grid
#
# A transect varies hair length, skin colour and gender. Why orthogonalise against facial hair,
# makeup, age and smiling as well, although they are not on the grid?
# ```

# %% [markdown]
# ```{solution} exercise-only-the-grid
# :class: dropdown
#
# Because they would move. A dual basis of three normals does not avoid the other normals, and
# gender's would bring along beards and take away makeup. The audit would then attribute to gender
# what may be due to a beard. Holding them costs step length, which the VIF of all seven states.
# Whether holding them is *right* depends on the question: the total effect of looking male
# includes looking bearded more often.
# ```

# %% [markdown]
# ```{exercise}
# :label: exercise-lucky-order
#
# Which order of the attributes would you choose to make the printed algorithm look best for a
# transect in hair length alone? Does one exist for all attributes at once?
# ```

# %% [markdown]
# ```{solution} exercise-lucky-order
# :class: dropdown
#
# Put hair length last: its vector is then orthogonal to all other normals, and equals the dual
# vector up to length. For all attributes at once no order does it, unless the normals are already
# orthogonal, because only one attribute can be last.
# ```

# %% [markdown]
# ## Takeaways
#
# - Normals say where an attribute grows fastest; dual vectors say how to change it alone.
# - The dual basis comes from one QR factorisation, is exact, and knows no order. Algorithm 2 as
#   printed is Gram–Schmidt and holds only the attributes that were listed earlier.
# - The price is step length, $\sqrt{\mathrm{VIF}}$; report it.
# - Leakage that remains comes from fitted planes that are not the true ones, from raters who take one
#   attribute for a sign of another, from attributes that cause each other, and from attributes that
#   were neither asked about nor measured. The last kind has no number.

# %% tags=["hide-input"]
stage.save("directions.npz", {"names": np.array(names), **bases})
stage.save("calibrated.npz", {"names": np.array(calibrated.names), "dual": dual_of_all.to_numpy()})
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
stage.save("leakage.parquet", table)
_ = stage.finish(
    {
        "leakage_mean": {kind: one.mean for kind, one in off.items()},
        "leakage_max": {kind: one.max for kind, one in off.items()},
        "vif": dict(zip(names, vif, strict=True)),
        "dual_to_raw": dual_to_raw,
    }
)
