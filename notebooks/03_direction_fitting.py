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
# # Direction fitting
#
# *You need chapter 2 (the generator and its latent code), linear regression and the dot product. Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# A generator makes a face from a random code. An experiment needs the *same* face with one attribute changed. So
# we need a map of the latent space. In which direction does each attribute grow, how many annotated faces does
# it take to find it, and are the directions of different attributes independent?
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
# | **Population** | faces of random codes, as the generator makes them |
# | **Unit** | one face: its latent code $w$ and the crowd's mean score of each attribute |
# | **Intervention** | none; later chapters use the directions to intervene |
# | **Held fixed** | nothing; faces come with all correlations of the generator |
# | **Outcome and who labels it** | the score of each attribute from zero to one, the mean level that raters chose |
# | **Estimand** | normal $n_j$ of each attribute's hyperplane; its intercept $b_j$ is fitted and not judged here |
# | **Tolerance and n** | no tolerance; the number of annotated faces is under the learning curve |
# | **Decision at stake** | how many faces to annotate, and which question to ask |
# | **Known failure** | normals inherit the correlations of the sample: the direction of hair length contains gender |
# :::

# %% tags=["hide-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue
from sklearn.linear_model import Ridge

import facerender
from faceaudit import annotations
from faceaudit.latents import directions
from faceaudit.utils.formatting import with_minus
from faceworld import crowd, load_generator, raters
from faceworld.known_truth import LATENTS, correlations
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim, question

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
figure_size = 256
n_directions = 5000
n_raters = 5

# %% tags=["remove-cell"]
PHONE = 4.8  # inches: a figure as wide as this can be read on a phone
stage = Stage("03_direction_fitting", profile=profile, device=device, seed=seed)
figures.style()


# %% [markdown]
# The first figure is a sketch in two dimensions. One is the *exact* {term}`normal` of hair length, which this world knows. The
# other lies at a right angle to it. Below, one adult face walks along the normal.


# %%
def unit(vector):
    """A vector at length one."""
    return vector / np.linalg.norm(vector)


generator = load_generator("known-truth", device=device)
(of_hair,), (zero,) = generator.exact_hyperplanes(["hair_length"])
of_skin = generator.exact_hyperplanes(["skin_colour"])[0][0]
along = unit(of_hair)
beside = unit(of_skin - (of_skin @ along) * along)

# %%
few = generator.sample(150, seed + 3)
seen = facerender.visible_scores(generator.parameters(few))
few = few.cpu().numpy()
distance = few @ along + zero / np.linalg.norm(of_hair)
sideways = few @ beside

# %%
# The adult face that is nearest to the middle of the scale.
middle = np.abs(seen["age"] - 0.5) + seen["makeup"] + seen["fakeness"]
start = np.where(np.abs(distance) < 0.4, middle + np.abs(seen["hair_length"] - 0.5), 9).argmin()
WALK = np.linspace(-1.8, 1.8, 5)
steps = few[start] + (WALK - distance[start])[:, None] * along
walked = facerender.render(generator.parameters(generator.sample(5, seed).new_tensor(steps)), 192)


# %% tags=["hide-cell"]
TURN = np.radians(28)
axes_of_sketch = np.array([[np.cos(TURN), np.sin(TURN)], [-np.sin(TURN), np.cos(TURN)]])
places = np.c_[distance, sideways] @ axes_of_sketch
normal, edge = axes_of_sketch[0], 2.6 * axes_of_sketch[1]
one = np.argmin(np.abs(distance - 1.7) + np.abs(sideways + 1))
foot = places[one] - distance[one] * normal
origin = np.array([zero / np.linalg.norm(of_hair), 0]) @ axes_of_sketch

# %% tags=["hide-input"] mystnb={"image": {"alt": "Above, a sketch of the latent space: each mark is a face, short-haired ones at one side and long-haired ones at the other. A line, the hyperplane, separates them. An arrow at a right angle to it, the normal, points to longer hair, and a dashed line from one face to the plane is that face's decision value. A cross marks the code zero. Below, five pictures of one face whose hair grows along the arrow while other features change too."}, "figure": {"name": "fig-hyperplane", "caption": "A sketch in two of the many dimensions of the latent space. Each mark is a face. The line is the hyperplane of hair length, the arrow its normal, at a right angle. With a normal of length one, the dashed distance is the decision value of one face. The intercept is the decision value of the code zero, the cross. Below: one face at five decision values along the arrow. Drawn with the exact plane of this world, which the chapter has to find from people's answers."}}
# Computed by faceworld.known_truth.KnownTruthGenerator.exact_hyperplanes.
figure = plt.figure(figsize=(PHONE, 4.9))
above, below = figure.subfigures(2, 1, height_ratios=[3, 1])
axis = above.subplots()
for name, chosen in (("short", seen["hair_length"] < 0.4), ("long", seen["hair_length"] >= 0.4)):
    look = figures.look(name)
    axis.plot(*places[chosen].T, look.marker, color=look.colour, markersize=5, alpha=0.6)
axis.plot([-edge[0], edge[0]], [-edge[1], edge[1]], color=figures.BLACK, linewidth=2)
axis.annotate("", 1.8 * normal, (0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2.5, "color": "k"})
axis.plot(*np.c_[places[one], foot], "--", color=figures.BLACK)
axis.plot(*places[one], "o", color="none", markeredgecolor=figures.BLACK, markersize=13)
axis.plot(*origin, "X", color=figures.BLACK, markersize=9)
box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
words = {"fontsize": 10, "bbox": box}
axis.text(*(1.85 * normal + (0.05, 0.1)), "normal n:\nhair grows", **words, va="bottom")
axis.text(*((places[one] + foot) / 2 - (0, 0.12)), "decision value d", **words, ha="left", va="top")
axis.text(*(0.92 * edge - (0.12, 0)), "hyperplane:\nd = 0", **words, va="top", ha="right")
axis.text(*(origin - (0.2, 0.05)), "code zero:\nd = b", **words, va="center", ha="right")
axis.set_title(
    f"Short hair ▼ and long hair ✚ of {len(few)} faces:\nwhich way does hair grow?", fontsize=12
)
axis.set(aspect="equal", xlim=(-3.7, 3.7), ylim=(-2.3, 2.3), xticks=[], yticks=[])
axis.spines[:].set_visible(False)
pictures = figures.as_pixels(walked.image)
for part, picture, value in zip(below.subplots(1, 5), pictures, WALK, strict=True):
    part.imshow(picture)
    part.set_title(with_minus(f"d = {value:+.1f}"), fontsize=11)
    part.axis("off")

# %% [markdown]
# ## Ask people about random faces
#
# We follow {cite:t}`transects`, below the *transects paper*: sample codes, draw the faces, and let several people annotate each face. In the
# {term}`face world` we also know the true parameters. Here they serve one purpose: they decide what the
# simulated raters see.

# %%
w = generator.sample(n_directions, seed)
parameters = generator.parameters(w)
image_ids = [f"{number:05d}" for number in range(n_directions)]
visible = facerender.visible_scores(parameters).set_axis(image_ids)

# %% [markdown]
# Raters disagree. Some are biased, some are careless, and all choose from a few levels. Their spread is calibrated on
# published annotations of generated faces {cite:p}`matching`. They judge *perceived* gender and the visible tone of the
# skin, as for any other face in this book. Their answers go through a file of Mechanical Turk, a market for small tasks. Our reading function also accepts such a file from you.

# %%
answers = crowd.annotate(crowd.perceived(visible), n_raters, seed=seed, stage=stage.name)
annotations.write_mturk(answers, stage.path("batch.csv"))
ingest = annotations.read_mturk(stage.path("batch.csv"))
scores = annotations.scores(ingest.frame).loc[image_ids]
tie = scores["gender"].corr(scores["hair_length"])

# %% [markdown]
# A score is the mean level of a face, divided by the highest level. Here are the first faces. Look for women with
# short hair, or bearded faces with makeup. They are rare, so the sample says little about them.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Ten stylised faces in two rows, of different skin colour, age and hair; above each stand the crowd's scores of perceived gender and hair length."}, "figure": {"name": "fig-sampled-faces", "caption": "The first ten sampled faces, not chosen, with the crowd's mean scores of perceived gender (zero female, one male) and hair length (zero short, one long). So few faces need not show the tie."}}
# Computed by faceaudit.annotations.schema.scores.
examples = facerender.render(parameters[:10].cpu(), figure_size // 2).image
columns = scores[["gender", "hair_length"]].head(10).to_numpy()
titles = ["gender {:.2f}\nhair {:.2f}".format(*row) for row in columns]
figure = figures.gallery(examples, 5, titles)
figure.set_size_inches(PHONE, 3.2)
_ = figure.suptitle(
    with_minus(f"Scores of gender and hair correlate: {tie:+.2f} (n = {len(scores):,})"),
    fontsize=12,
)

# %% [markdown]
# ## One hyperplane for each attribute
#
# For each attribute $j$ we look for a linear function of the code, its {term}`decision value`
#
# $$d_j(w) = \langle n_j, w\rangle + b_j.$$
#
# It is zero for a face in the middle of the scale, and it grows with the attribute. All codes with the value zero form the
# {term}`hyperplane`. The vector $n_j$ is its {term}`normal`, and $b_j$ its {term}`intercept`.

# %% [markdown]
# Attributes with a continuous scale are fitted by ridge regression, a linear regression that keeps its weights small, and the intercept is shifted so that zero
# means the middle of the scale. Facial hair, makeup and smiling are cut in two and fitted by a linear support vector
# machine, which separates two groups. These are the choices of {cite:t}`transects`.

# %%
CONTINUOUS = ("gender", "skin_colour", "age", "hair_length")
# Facial hair from "Mustache" on, makeup from halfway to "Full" on, more smile than frown.
BINARY = {"facial_hair": 0.4, "makeup": 0.4, "smiling": 0.5}
planes = directions.fit_hyperplanes(w.cpu(), scores, CONTINUOUS, BINARY)
names = list(planes.names)

# %% [markdown]
# Chapter 4 tells how far its numbers depend on which faces were annotated. For this we fit all planes again, five times. Each time
# a fifth of the annotated faces is left out.

# %%
FIFTHS = 5


def fit_without(part: int) -> tuple[np.ndarray, np.ndarray]:
    """Normals and intercepts of all planes, fitted without a fifth of the annotated faces."""
    keep = np.arange(n_directions) % FIFTHS != part
    codes, some = w[keep].cpu(), scores[keep]
    fits = [directions.fit_ridge(codes, some[name], folds=2) for name in CONTINUOUS]
    fits += [directions.fit_svm(codes, some[name], cut, folds=2) for name, cut in BINARY.items()]
    lengths = [np.linalg.norm(fit.normal) for fit in fits]
    normals = [fit.normal / length for fit, length in zip(fits, lengths, strict=True)]
    intercepts = [fit.intercept / length for fit, length in zip(fits, lengths, strict=True)]
    return np.stack(normals), np.array(intercepts)


# %%
without = [fit_without(part) for part in range(FIFTHS)]
normals_without, intercepts_without = map(np.stack, zip(*without, strict=True))

# %% tags=["remove-cell"]
_ = stage.save("refits.npz", {"normals": normals_without, "intercepts": intercepts_without})

# %% [markdown]
# We test the fit on new faces. With normals of length one, a decision value is a signed distance from the plane.
# The figure compares it with the visible attribute.

# %%
fresh = generator.sample(1000, seed + 1)
distance = planes.unit().decision_values(fresh.cpu())
shown = facerender.visible_scores(generator.parameters(fresh))
PLOTTED = ("hair_length", "facial_hair")
from_plane = {name: distance[:, names.index(name)] for name in PLOTTED}
correlation_of = {name: np.corrcoef(from_plane[name], shown[name])[0, 1] for name in PLOTTED}


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, for hair length and facial hair, of the visible score against the signed distance from the fitted hyperplane. In both the binned means rise from left to right through a cloud of single faces."}, "figure": {"name": "fig-decision-values", "caption": "Signed distance from the fitted hyperplane against the visible score of new faces. Grey: single faces; blue: means of ten equally large groups with 95% intervals."}}
# Computed by faceaudit.latents.directions.fit_hyperplanes and
# facerender.parameters.visible_scores.
def draw_binned(axis, x, y):
    """Single faces, and the mean with its 95% interval in ten bins of equally many faces."""
    axis.plot(x, y, ".", color=figures.GREY, alpha=0.25, markersize=3, rasterized=True)
    bins = pd.DataFrame({"x": x, "y": y}).groupby(pd.qcut(x, 10, labels=False))
    centre, error = bins.mean(), 1.96 * bins["y"].sem()
    axis.errorbar(centre["x"], centre["y"], error, color=figures.BLUE, marker="o", markersize=4)


figure, axes = plt.subplots(1, 2, figsize=(PHONE, 3.8), sharey=True)
for axis, name in zip(axes, PLOTTED, strict=True):
    draw_binned(axis, from_plane[name], shown[name].to_numpy())
    axis.set_title(
        f"{name.replace('_', ' ')}:\ncorrelation {correlation_of[name]:.2f}", fontsize=12
    )
axes[0].set_ylabel(f"visible score of {len(fresh):,} new faces")
_ = figure.supxlabel("signed distance from the hyperplane", fontsize=12)

# %% [markdown]
# A good direction gives a narrow band that rises. An S-shaped curve means that the scale ends. This is harmless, because we only
# want the *direction* of growth. Some points lie far below the curve of hair length. There hair is covered or tied back,
# so raters see less of it than there is.

# %% [markdown]
# ## The directions are entangled
#
# Independent attributes would have normals at right angles, with cosines of zero, because the entries of the code are independent with equal variance. We compare the cosines of our fitted
# normals with the correlations that we planted. For *exact* normals the two are equal.

# %%
cosines = directions.cosines(planes)
planted = pd.DataFrame(correlations(), LATENTS, LATENTS).loc[names, names]
both = pd.DataFrame(np.tril(cosines, -1) + np.triu(planted, 1), names, names)
pair = cosines.loc["hair_length", "gender"], planted.loc["hair_length", "gender"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "A square matrix of seven attributes. Below the diagonal the cosines of the fitted normals, above it the planted correlations; most pairs have the same sign in both triangles, age and makeup do not; perceived gender is strongly related to hair length, facial hair and makeup."}, "figure": {"name": "fig-cosines", "caption": "Below the diagonal: cosines between fitted normals. Above it: the correlations that were planted. A perfect map would be symmetric."}}
# Computed by faceaudit.latents.directions.cosines and faceworld.known_truth.correlations.
axis = plt.figure(figsize=(PHONE, 5)).gca()
figures.heatmap(both.mask(np.eye(len(names), dtype=bool)), ax=axis)
axis.grid(False)
_ = axis.set_title(
    with_minus("Hair length and gender:\ncosine {:+.2f}, planted {:+.2f}".format(*pair)),
    fontsize=12,
)

# %% [markdown]
# Gender, hair length, facial hair and makeup form a knot, and skin colour is nearly free. A walk along the direction
# of hair length is also a walk towards another perceived gender. Three effects move fitted cosines away from planted
# ones. Few annotations make normals noisy. Beards and makeup occur on adults only, so their normals lean towards age. And raters
# take beard, makeup and hair for signs of gender. More annotations remove only the first effect.

# %% tags=["remove-cell"]
assert cosines.loc["gender", "hair_length"] < -0.2
assert cosines.loc["gender", "facial_hair"] > 0.2 and cosines.loc["gender", "makeup"] < -0.2
assert cosines.loc["skin_colour"].drop("skin_colour").abs().max() < 0.3
assert cosines.loc["age", ["facial_hair", "makeup"]].min() > 0.1

# %% [markdown]
# Does a real generator show the same knot? The authors published the hyperplanes of StyleGAN2, trained on photographs, with a later
# paper {cite:p}`matching`. We computed the cosines of these files. Compare only their sizes: a
# classifier's normal points to the class that was called positive, and the files leave open which class that was for facial hair. Our
# world was planted to be like the real one, so an agreement is no independent finding. The first column says which sizes of the fitted and
# the published cosines lie close together.

# %%
CLOSE = 0.1
# Cosines of unit normals, derived from the hyperplanes of StyleGAN2-FFHQ released with Singh,
# Balakrishnan and Perona (2021): github.com/csinva/matching-with-gans, annotations_stylegan2.
PUBLISHED = {
    ("hair_length", "gender"): -0.67,
    ("gender", "facial_hair"): -0.30,
    ("gender", "makeup"): -0.28,
    ("hair_length", "makeup"): 0.24,
}
comparison = pd.Series(PUBLISHED, name="StyleGAN2-FFHQ").to_frame()
comparison["fitted here"] = [cosines.loc[pair] for pair in PUBLISHED]
comparison["planted here"] = [planted.loc[pair] for pair in PUBLISHED]
sizes = comparison.abs()
near = (sizes["fitted here"] - sizes["StyleGAN2-FFHQ"]).abs() <= CLOSE
comparison.insert(0, f"sizes within {CLOSE:g}", near.map({True: "yes", False: "no"}))
comparison.index = [" and ".join(pair).replace("_", " ") for pair in PUBLISHED]
comparison.round(2)

# %% tags=["hide-input"]
farthest = (sizes["fitted here"] - sizes["StyleGAN2-FFHQ"]).abs().idxmax()
here, published = sizes.loc[farthest, ["fitted here", "StyleGAN2-FFHQ"]]
Markdown(
    f"**In this run** the sizes of {near.sum()} of {len(near)} pairs lie within {CLOSE:g} of the published ones. The pair "
    f"*{' and '.join(farthest).replace('_', ' ')}* differs most: {here:.2f} here, {published:.2f} in StyleGAN2."
)

# %% [markdown]
# ## How close to the truth?
#
# Only a known world can answer this. We compute the angle between a fitted and an exact normal. In a space of so many
# dimensions two random directions are nearly at a right angle, so a much smaller angle shows that the fit works. The table sets it beside
# the {term}`cross-validated <cross-validation>` quality of the fit, which needs no truth: fits to a part of the faces predict the others. It is the share of variance explained, $R^2$, or the
# {term}`balanced accuracy`, the mean of the shares right in the two groups.

# %% [markdown]
# The last column is the *lean*. We keep of the fitted normal only what a weighted sum of the exact normals can explain, and measure its
# angle again. This removes most of the noise, so more faces would hardly make it smaller. A large lean has two causes: raters see gender also in beard, makeup
# and hair, and beards and makeup occur on adults only.

# %%
exact = directions.Hyperplanes(planes.names, *generator.exact_hyperplanes(planes.names))
alignment = (planes.unit().normals * exact.unit().normals).sum(axis=1)
angle = pd.Series(np.degrees(np.arccos(alignment)), names, name="degrees from exact normal")
weights = np.linalg.lstsq(exact.normals.T, planes.normals.T)[0]
inside = (exact.normals.T @ weights).T  # what the exact normals can explain
inside /= np.linalg.norm(inside, axis=1, keepdims=True)
lean = np.degrees(np.arccos((inside * exact.unit().normals).sum(axis=1)))

# %%
quality = pd.DataFrame({"quality of the fit": planes.scores}).round(2)
quality["measure"] = ["R²" if name in CONTINUOUS else "balanced accuracy" for name in names]
quality.assign(**{angle.name: angle.round(1), "lean (degrees)": lean.round(1)}).rename(
    index=lambda name: name.replace("_", " ")
)

# %% [markdown]
# Annotations cost money. So we ask how much more of them would help, and fit two attributes to parts of the sample. Parts of one size
# share no faces.

# %%
FITS = {
    "hair_length": lambda part, score: directions.fit_ridge(part, score, folds=2),
    "facial_hair": lambda part, score: directions.fit_svm(part, score, 0.4, folds=2),
}


def angle_of_fit(name: str, rows: slice) -> float:
    """Angle in degrees between the exact normal and one fitted to some rows of the sample."""
    normal = FITS[name](w[rows].cpu(), scores[name].iloc[rows]).normal
    target = exact.unit().select([name]).normals[0]
    return float(np.degrees(np.arccos(normal @ target / np.linalg.norm(normal))))


# %%
PARTS = {8: 4, 4: 3, 2: 2}  # the sample's share is 1 / key; that many parts are fitted
curve = pd.DataFrame(
    (name, n_directions // share, angle_of_fit(name, slice(start, start + n_directions // share)))
    for name in FITS
    for share, parts in PARTS.items()
    for start in range(0, parts * (n_directions // share), n_directions // share)
)
whole = pd.DataFrame((name, n_directions, angle[name]) for name in FITS)
curve = pd.concat([curve, whole]).set_axis(["attribute", "faces", "angle"], axis=1)
means = curve.pivot_table("angle", "attribute", "faces")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Angle between fitted and exact normal against the number of annotated faces, for hair length and facial hair. Both curves fall as the number grows; facial hair stays above hair length."}, "figure": {"name": "fig-learning-curve", "caption": "Angle to the exact normal of fits to parts of the sample, disjoint within one size. One mark per fit, lines through the means; the last point is the whole sample, fitted once."}}
# Computed by angle_of_fit (above) with faceaudit.latents.directions.fit_ridge and
# faceaudit.latents.directions.fit_svm.
axis = plt.figure(figsize=(PHONE, 4)).gca()
for position, (name, fits) in enumerate(curve.groupby("attribute")):
    look = figures.look(name, position)
    axis.plot(fits["faces"], fits["angle"], look.marker, color=look.colour, alpha=0.6)
    of_name = means.loc[name]
    axis.plot(of_name.index, of_name, look.marker + "-", color=look.colour)
    above = (of_name.index[1], of_name.iloc[1] + 3.5)
    axis.text(*above, name.replace("_", " "), color=look.colour, fontsize=12)
axis.set(xscale="log", xlabel="annotated faces", ylabel="degrees from exact normal", ylim=(0, None))
axis.set_xticks(means.columns, [f"{n:,}" for n in means.columns], minor=False)
axis.minorticks_off()
last = means[n_directions]
_ = axis.set_title(
    f"With {n_directions:,} faces: hair length {last['hair_length']:.0f}°,\n"
    f"facial hair {last['facial_hair']:.0f}°",
    fontsize=12,
)

# %% tags=["remove-cell"]
assert (means.iloc[:, -1] < means.iloc[:, 0]).all()
assert means.loc["hair_length", n_directions] < means.loc["facial_hair", n_directions]

# %%
# Chance of one fit: the variance among fits to disjoint parts of one size, averaged over sizes.
chance = curve.groupby(["attribute", "faces"])["angle"].var().groupby("attribute").mean()
half = means.iloc[:, -2]
all_faces = means.iloc[:, -1]
error = {name: (chance[name] * (1 + 1 / PARTS[2])) ** 0.5 for name in FITS}

# %% tags=["hide-input"]
claim(
    "{n:,} annotated faces bring hair length to {hair:.1f} degrees from the exact normal, and facial hair to "
    "{beard:.1f}. With half as many, the angles are {hair_half:.1f} and {beard_half:.1f} degrees on average.",
    margins=[Margin(half[name] - all_faces[name], error[name]) for name in FITS],
    n=n_directions,
    hair=angle["hair_length"],
    beard=angle["facial_hair"],
    hair_half=half["hair_length"],
    beard_half=half["facial_hair"],
)

# %% [markdown]
# Facial hair is harder for two reasons. Most faces have no beard, and such a face does not tell *how far* it is
# from having one. And its normal leans towards age, so its curve has a floor near its lean. Later chapters carry this error along.

# %% [markdown]
# ## The question decides the direction
#
# Why not save the cost of raters and let a classifier label the faces? Because its errors would become part of the
# direction. Suppose a labeller takes long hair for a sign of a woman. We let hair sway the crowd's scores and fit again. The table has the
# cosine with the exact direction of hair length, and the cross-validated $R^2$. This $R^2$ asks only whether labels can be predicted, so it cannot warn.
# An audit along the swayed direction would report an effect of gender that is partly one of hair.

# %%
SWAY = 0.5
swayed = scores["gender"] - SWAY * (scores["hair_length"] - 0.5)
labels = pd.DataFrame({"crowd": scores["gender"], "swayed by hair": swayed.clip(0, 1)})
of_labels = directions.fit_hyperplanes(w.cpu(), labels, [*labels], {})
hair_normal = exact.unit().select(["hair_length"]).normals[0]
leaning = dict(zip(labels, of_labels.unit().normals @ hair_normal, strict=True))
exact_gender = exact.unit().select(["gender"]).normals[0]
by_labels = pd.DataFrame({"cosine with hair length": leaning, "R²": of_labels.scores})
by_labels.loc["exact normal of gender"] = [exact_gender @ hair_normal, np.nan]
by_labels.style.format("{:.2f}", na_rep="–")

# %% tags=["remove-cell"]
assert leaning["swayed by hair"] < leaning["crowd"] - 0.05

# %% [markdown]
# People have the same weakness. Our experiment has to change the shape of a face and to leave hair, beard and makeup
# alone. But raters who see a whole picture take these for signs of gender. So a second task asks for gender on a
# crop that hides the hair, and for everything else on the whole picture. It also asks about hair colour, earrings and glasses.

# %%
on_crops = raters.rate_faces(parameters, n_raters, seed=seed, stage=f"{stage.name}/crops")

# %% [markdown]
# A second change concerns the fit. A scale ends, and a straight line goes on. A *fractional logit*
# {cite:p}`fractional-logit` treats the mean score $y$ as a probability and the decision value $d$ as its {term}`logit`:
#
# $$\begin{aligned}
# \max_{n, b}\; & \sum_i \bigl[y_i \log \sigma(d_i) + (1 - y_i) \log(1 - \sigma(d_i))\bigr] \\
# & - \tfrac{\lambda}{2} \lVert n\rVert^2.
# \end{aligned}$$
#
# The logistic function $\sigma$ turns a logit into a probability, and $\lambda$ keeps weights small. A step of one is then one logit, for every attribute.
# A fit on half of the faces, tested on the other half, shows by what factor its normal is too long. The normal of all faces has less noise, and we shorten it
# by less.

# %%
calibrated = directions.fit_fractional(w.cpu(), on_crops)
pictures = directions.fit_fractional(w.cpu(), scores[["gender"]])

# %% [markdown]
# Is there less hair in the new plane of gender? We write its unit normal, as nearly as possible, as a weighted sum
# of the *exact* normals of all seven attributes, and read the weight of hair length. The table also has the angle between the plane's
# normal and the exact one. The angle holds noise and other signs, such as beards, so it may grow where the weight falls. That of whole pictures
# differs from the table above, because this fit is a fractional logit and that one a ridge regression.

# %%
asked = {"whole pictures": pictures, "crops": calibrated.select(["gender"])}
made_of = pd.DataFrame(
    {
        what: np.linalg.lstsq(exact.unit().normals.T, one.unit().normals[0])[0]
        for what, one in asked.items()
    },
    names,
)

# %%
alignment = pd.Series({what: exact_gender @ one.unit().normals[0] for what, one in asked.items()})
away = np.degrees(np.arccos(alignment))
of_hair = made_of.loc["hair_length"]
of_gender = pd.DataFrame({"weight of hair length": of_hair, "degrees from exact normal": away})
of_gender.round({"weight of hair length": 2, "degrees from exact normal": 1})

# %% [markdown]
# Along an {term}`axis`, other things move as well: the shape of nose and jaw, the turn of the head, the light. Automatic measures
# can tell. On photographs programs find points of the face, its {term}`landmarks <landmark>`, and measure shape, pose and light. Here the measures are the world's
# own parameters plus noise, whose standard deviation is that of the faces. Each measure gets a plane by ridge regression. From
# [](05_transect_generation) on, the book uses this larger set of planes besides the paper's seven.

# %%
read = raters.measure_faces(parameters.cpu(), parameters.cpu(), seed=seed, stage=stage.name)
ridge = Ridge(100).fit(w.cpu(), read)
calibrated = calibrated.join(directions.Hyperplanes(tuple(read), ridge.coef_, ridge.intercept_))

# %% tags=["remove-cell"]
glue(
    "answer",
    Markdown(
        f"**People's answers and a linear fit give each attribute a direction.** With {n_directions:,} annotated "
        f"faces, the direction of hair length lies {angle['hair_length']:.0f} degrees from the exact one, and that "
        f"of facial hair {angle['facial_hair']:.0f}. The directions are *not* independent: hair length and perceived "
        + with_minus(
            f"gender have a cosine of {pair[0]:+.2f}, so a walk towards longer hair also changes the shape of the face towards female."
        )
    ),
    display=False,
)

# %% [markdown]
# ## What would change our mind
#
# The map would be useless if two halves of the annotations gave directions of one attribute as different as those of two attributes.
# {numref}`fig-learning-curve` shows how far the halves lie from the exact normal.
# Every direction of gender would be one of hair if scores followed hair instead of the face. And if attributes bent strongly through
# the space, the binned means above would fold back instead of rising.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Many faces or many raters? 15 minutes, hard
# :label: exercise-fewer-raters
#
# At the same price, is it better to have many faces with one rater each, or fewer faces with several raters?
# Answer from the variance of a mean score first. Then fit hair length both ways.
#
# **Check:** both fits use the same number of answers.
# ```

# %% [markdown]
# ```{solution-start} exercise-fewer-raters
# :class: dropdown
# ```
#
# Ridge regression averages over faces. With $k$ raters on $N/k$ faces, the residual variance is $u + r/k$, where $u$ is
# left unexplained by the code and $r$ is the raters' noise. Divided by $N/k$ faces it is $(ku + r)/N$. This grows with
# $k$, so one rater for each face is best *for directions*. Several raters are needed to measure agreement.

# %% tags=["solution"]
k, u, r = np.arange(1, 10), 0.02, 0.03
assert (np.diff((k * u + r) / n_directions) > 0).all()
of_hair_length = ingest.frame[ingest.frame["attribute"] == "hair_length"]
single = of_hair_length.groupby("image_id").head(1)
one_rater = annotations.scores(single)["hair_length"].reindex(image_ids)

# %% tags=["solution"]
known = one_rater.notna().to_numpy()
fifth = n_directions // 5
normal = directions.fit_ridge(w.cpu().numpy()[known], one_rater[known], folds=2).normal
many = np.degrees(np.arccos(unit(normal) @ hair_normal))
parts = [angle_of_fit("hair_length", slice(i * fifth, (i + 1) * fifth)) for i in range(4)]
question(
    "One rater for each face: {many:.1f} degrees from the exact normal. Five raters for a fifth of the faces: "
    "{few:.1f} degrees on average. Is the first closer?",
    margin=np.mean(parts) - many,
    error=np.std(parts, ddof=1),
    many=many,
    few=np.mean(parts),
)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Cosine and correlation, 10 minutes, medium
# :label: exercise-cosine
#
# Show that the cosine of two normals is the correlation of the two decision values when the entries of the code are independent
# and have equal variance.
#
# **Check:** draw random codes and compare `np.corrcoef` with the cosine.
# ```

# %% [markdown]
# ```{solution-start} exercise-cosine
# :class: dropdown
# ```
#
# Let $s_j = \langle n_j, w\rangle$, and let $w$ have covariance $\sigma^2 I$. Then the covariance of $s_j$ and $s_k$
# is $n_j^\top (\sigma^2 I)\, n_k = \sigma^2 \langle n_j, n_k\rangle$, and the variance of $s_j$ is $\sigma^2 \lVert n_j\rVert^2$. Their
# correlation is the cosine. Entangled directions and correlated attributes are two views of one fact.

# %% tags=["solution"]
random = np.random.default_rng(0).standard_normal((20_000, w.shape[1]))
correlation = np.corrcoef(planes.decision_values(random).T)
largest = np.abs(correlation - cosines.to_numpy()).max()
assert largest < 0.05
f"largest difference between correlation and cosine: {largest:.3f}"

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} The shifted intercept, 10 minutes, easy
# :label: exercise-intercept
#
# The ridge intercept is shifted by one half. Project a face onto the plane of hair length with and without the
# shift. Which score does the regression predict there?
#
# **Check:** the two predictions differ by the shift.
# ```

# %% [markdown]
# ```{solution-start} exercise-intercept
# :class: dropdown
# ```
#
# Without the shift, the plane lies at the end of the scale: the predicted score is zero. Every face would become as short-haired
# as the scale goes, and steps to both sides would miss the middle.

# %% tags=["solution"]
hair = planes.select(["hair_length"])
n, b, code = hair.normals[0], hair.intercepts[0], w[0].cpu().numpy().astype(float)
predicted = {}
for name, intercept in (("shifted", b), ("not shifted", b + 0.5)):
    on_plane = code - (code @ n + intercept) / (n @ n) * n
    predicted[name] = on_plane @ n + b + 0.5  # the regression's own prediction
assert np.allclose([*predicted.values()], [0.5, 0])  # they differ by the shift
pd.Series(predicted, name="predicted score").round(2).to_frame()

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - A crowd and a linear model find where attributes lie in a latent space.
# - Let people label, and choose the question and the picture with care: they decide which direction is found.
# - Normals are entangled because attributes are correlated. Normals describe the population.
#
# **Next:** chapter 4 turns normals into directions that change one attribute at a time.

# %% tags=["remove-cell"]
planes.save(stage.path("hyperplanes.npz"))
calibrated.save(stage.path("calibrated.npz"))
stage.save("scores.parquet", scores)
stage.save("crop_scores.parquet", on_crops)
stage.save("cosines.parquet", cosines)
results = {"cv_score": planes.scores, "angle_to_exact_degrees": angle.to_dict()}
results["plane_of_gender"] = made_of.to_dict()
_ = stage.finish(results)
