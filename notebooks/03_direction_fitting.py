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
# # Fitting directions
#
# A generator that is asked for a face gives one at random. An experiment needs a face that is the
# same *except* for one attribute. The first step towards it is a map of the latent space: for every
# attribute a {term}`hyperplane` that says where the attribute is neutral, and a {term}`normal` that
# says which way it grows. People draw that map, by looking at faces and saying what they see.

# %% [markdown]
# ## Question
#
# Given latent codes and what a crowd says about their faces, in which direction of the latent space
# does each attribute grow? How many faces must be annotated to find it, how close does one come to
# the right direction, and are the directions of different attributes independent of each other?

# %% [markdown]
# ## Design contract
#
# Unit
# : One sampled face: a latent code $w$ and the crowd's mean score of every attribute it shows.
#
# Intervention
# : None. This chapter only observes; the directions found here are used to intervene later.
#
# Held fixed
# : Nothing. Faces come as the generator makes them, with all of its correlations.
#
# Outcome
# : The score of each attribute, from zero to one, as the mean level that raters chose.
#
# Estimand
# : The normal $n_j$ and the intercept $b_j$ of each attribute's hyperplane.
#
# Known failure
# : Normals inherit the correlations of the sample: the direction of hair length contains gender.

# %% [markdown]
# ## Prerequisites
#
# Linear regression, the idea of cross-validation, and the dot product of two vectors. The chapter
# on the [face world](02_face_world) introduces the generator, but nothing computed there is needed
# here. Reading takes half an hour; the cells run in about a minute on a laptop.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from sklearn.linear_model import Ridge

import facerender
from helpers import annotations, directions, figures
from helpers.annotations import crowd, observers
from helpers.artifacts import Stage
from helpers.claims import claim
from helpers.generators import load_generator
from helpers.world.known_truth import LATENTS, correlations

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
figure_size = 256
n_directions = 5000
n_raters = 5

# %%
stage = Stage("03_direction_fitting", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# ## Sample faces and ask people
#
# The transects paper {cite:p}`transects` sampled latent codes, rendered them, and had every face
# annotated by several people. We do the same in the {term}`face world <known truth>`, where the
# true parameters of each face are known as well. They are used for one thing only at this point: to
# decide what the simulated raters see.

# %%
generator = load_generator("known-truth", device=device)
w = generator.sample(n_directions, seed)
parameters = generator.parameters(w)

# %% [markdown]
# Raters see the face, not the latent code, and they disagree: some are biased, some are careless,
# and all of them choose from a handful of levels. Their spread is calibrated on published human
# annotations of generated faces {cite:p}`matching`. What they judge is *perceived* gender and the
# visible tone of the skin. Neither is an identity, and nobody should read one into them.

# %%
image_ids = [f"{number:05d}" for number in range(n_directions)]
visible = facerender.visible_scores(parameters).set_axis(image_ids)
answers = crowd.annotate(crowd.perceived(visible), n_raters, seed=seed, stage=stage.name)

# %% [markdown]
# A real crowd leaves a file. So does this one: the answers are written as a batch of Mechanical
# Turk results and read back by the same reader that your own file would go through. The reader
# keeps a record of everything it did not take at face value, with the line where it first occurred.

# %%
batch = stage.path("batch.csv")
annotations.write_mturk(answers, batch)
ingest = annotations.read_mturk(batch)
ingest.report.query("count > 0").drop(columns="file").set_index("reason").fillna("")

# %% [markdown]
# Rejected assignments are left out, an answer submitted twice counts once, and an annotator who
# signed with an e-mail address is kept under a pseudonym, as all annotators are. What remains
# becomes one score per face and attribute: the mean level, divided by the highest level.

# %%
scores = annotations.scores(ingest.frame).loc[image_ids]
scores.describe().loc[["count", "mean", "std", "min", "max"]].T.round(2)

# %% [markdown]
# ## One hyperplane per attribute
#
# For each attribute $j$ we want a linear function of the latent code, its {term}`decision value`
#
# $$d_j(w) = \langle n_j, w\rangle + b_j,$$
#
# that is zero for a neutral face and grows with the attribute. Attributes that come in every
# shade are fitted by ridge regression of the score on the latent code, with the intercept shifted
# so that zero means the middle of the scale. Facial hair and makeup, which most faces lack, and
# smiling are cut in two and fitted by a linear support vector machine. This is the transects
# paper's choice (its sections 4.1.1 and 5.2).

# %%
CONTINUOUS = ("gender", "skin_colour", "age", "hair_length")
# Facial hair from "Mustache" on, makeup from halfway to "Full" on, more smile than frown.
BINARY = {"facial_hair": 0.4, "makeup": 0.4, "smiling": 0.5}
planes = directions.fit_hyperplanes(w.cpu(), scores, CONTINUOUS, BINARY)

# %% [markdown]
# How well do they predict what raters say? Cross-validation answers without using the truth, as
# one would have to with a real generator. For the regressions it reports the share of variance
# explained, for the classifiers the balanced accuracy, both on faces that the fit has not seen. A
# score of one cannot be reached: raters disagree about the same face, and a straight line cannot
# follow a scale that ends.

# %%
quality = pd.DataFrame({"score": planes.scores})
quality["measure"] = ["R²" if name in CONTINUOUS else "balanced accuracy" for name in quality.index]
quality["annotated faces"] = len(scores)
quality.round({"score": 2})

# %% [markdown]
# A table of scores hides how a fit fails. So we sample new faces, compute their decision values, and
# set them against what these faces really show. Dividing the decision values by the length of the
# normal makes them comparable between attributes: they become signed distances from the plane.

# %%
FRESH = 1000
fresh = generator.sample(FRESH, seed + 1)
distance = planes.unit().decision_values(fresh.cpu())
shown = facerender.visible_scores(generator.parameters(fresh))


# %% [markdown]
# Each panel below bins the new faces by their distance and draws the mean of what is visible, with
# its 95 % interval, on top of the single faces. A good direction gives a narrow rising band. Where
# the curve is an S, the attribute saturates; a linear model cannot follow that, but it does not
# need to, since only the *direction* of steepest growth is wanted. The few points far below the curve
# of hair length are heads that are covered, or hair that is tied back: raters see less than is there.


# %% mystnb={"image": {"alt": "Seven small panels, one per attribute, of the visible score against the signed distance from the fitted hyperplane. In every panel the binned means rise from left to right through a cloud of single faces."}, "figure": {"name": "fig-decision-values", "caption": "Signed distance from the fitted hyperplane against what new faces show. Grey: single faces; blue: means of ten equally large groups with 95 % intervals. Every panel shows the same new faces."}}
def draw_binned(axis: plt.Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Single faces, and the mean with its 95 % interval in ten bins of equally many faces."""
    axis.plot(x, y, ".", color=figures.GREY, alpha=0.25, markersize=3)
    bins = pd.DataFrame({"x": x, "y": y}).groupby(pd.qcut(x, 10, labels=False))
    centre, error = bins.mean(), 1.96 * bins["y"].sem()
    axis.errorbar(centre["x"], centre["y"], error, color=figures.BLUE, marker="o", markersize=4)


figure, axes = plt.subplots(2, 4, figsize=(figures.WIDTH, 4.4), sharey=True)
for axis, name, x in zip(axes.flat, planes.names, distance.T, strict=False):
    draw_binned(axis, x, shown[name].to_numpy())
    axis.set_title(name.replace("_", " "))
axes.flat[-1].axis("off")
figure.supxlabel("signed distance from the hyperplane")
label = figure.supylabel("visible score")

# %% [markdown]
# ## Why $W$ and not $z$
#
# A style-based generator {cite:p}`stylegan2` draws normal codes $z$ and maps them to style codes
# $w$. Either could serve as the latent space. The transects paper found style codes better suited for
# telling attributes apart. The face world's mapping from $z$ to $w$ is bent on purpose, so that
# attributes are closer to linear in $w$. Does a fit notice? The same scores, the same fit, the other
# space:

# %%
z = generator.normal_codes(n_directions, seed).cpu()
spaces = {"style code w": planes.scores}
spaces["normal code z"] = {
    "hair_length": directions.fit_ridge(z, scores["hair_length"]).score,
    "smiling": directions.fit_svm(z, scores["smiling"], BINARY["smiling"]).score,
}
in_both = pd.DataFrame(spaces).loc[["hair_length", "smiling"]]
in_both.round(2)

# %% tags=["remove-input"]
claim(
    "**In this run** both attributes are fitted less well in *z*: for hair length R² falls from "
    "{w[0]:.2f} to {z[0]:.2f}, for smiling the balanced accuracy from {w[1]:.2f} to {z[1]:.2f}.",
    holds=(in_both["style code w"] > in_both["normal code z"]).all(),
    w=in_both["style code w"].tolist(),
    z=in_both["normal code z"].tolist(),
)

# %% [markdown]
# With unlimited annotations a more flexible model could make up for it, but a straight walk in $z$
# would still not be a straight walk in what one sees. From here on "latent code" means the style
# code $w$.

# %% [markdown]
# ## The map is entangled
#
# Here are the first faces of the sample, with what the crowd said about three of the attributes.
# Look for women with short hair, or bearded faces with makeup. They are the minority: a sample in
# which two attributes often come together tells one from the other only with many faces.

# %% mystnb={"image": {"alt": "Twelve stylised faces in two rows, of different skin colour, age and hair; above each stand the crowd's scores of perceived gender, skin colour and hair length."}, "figure": {"name": "fig-sampled-faces", "caption": "The first sampled faces, with the crowd's mean scores of perceived gender (g, zero female to one male), skin colour (s, zero light to one dark) and hair length (h, zero short to one long)."}}
examples = facerender.render(parameters[:12].cpu(), figure_size // 2).image
columns = scores[["gender", "skin_colour", "hair_length"]].head(12)
titles = ["g {:.2f}\ns {:.2f}  h {:.2f}".format(*row) for row in columns.to_numpy()]
gallery = figures.gallery(examples, 6, titles)

# %% [markdown]
# If attributes were independent, their normals would be at right angles and all cosines between
# them zero. They are not. In this world we know why: its latent coordinates were planted with
# correlations, such as longer hair on faces perceived as female. The cosine between two *exact*
# normals equals the planted correlation up to rounding, so the fitted cosines can be compared.

# %%
cosines = directions.cosines(planes)
names = list(planes.names)
planted = pd.DataFrame(correlations(), LATENTS, LATENTS).loc[names, names]
both = pd.DataFrame(np.tril(cosines, -1) + np.triu(planted, 1), names, names)

# %% mystnb={"image": {"alt": "A square matrix of seven attributes. Below the diagonal the cosines of the fitted normals, above it the planted correlations; most pairs have the same sign in both triangles, age and makeup do not; perceived gender is strongly related to hair length, facial hair and makeup."}, "figure": {"name": "fig-cosines", "caption": "Below the diagonal: cosines between fitted normals. Above it: the correlations that were planted. A perfect map would be symmetric. The sample size is that of the table above."}}
axis = figures.heatmap(both.mask(np.eye(len(names), dtype=bool)))
axis.grid(False)

# %% [markdown]
# Gender, hair length, facial hair and makeup form a knot; skin colour stands nearly free. Walk along
# the direction of hair length and you walk towards another perceived gender as well. Three
# effects move fitted cosines away from planted ones. With few annotations normals are noisy, which
# pulls cosines towards zero. The binary attributes of facial hair and makeup occur on adults only, so
# that their normals also lean towards age. And raters take a beard, makeup and long hair for signs
# of gender, which pulls the fitted normal of gender towards these. More annotations mend the first
# only.

# %% tags=["remove-cell"]
assert cosines.loc["gender", "hair_length"] < -0.2
assert cosines.loc["gender", "facial_hair"] > 0.2 and cosines.loc["gender", "makeup"] < -0.2
assert cosines.loc["skin_colour"].drop("skin_colour").abs().max() < 0.3
assert cosines.loc["age", ["facial_hair", "makeup"]].min() > 0.1

# %% [markdown]
# Is this a peculiarity of an invented world? The authors of the transects paper published the
# hyperplanes they had fitted to a real generator, StyleGAN2 trained on photographs of faces, along
# with a later paper {cite:p}`matching`. The cell below lists cosines computed from those files
# beside ours.

# %%
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
comparison.round(2)

# %% [markdown]
# The real space is tangled in these four places, too. One sign differs, that of facial hair. A
# classifier's normal points to whichever class was called positive, and the files do not say which
# that was; beards are not women's in photographs either, so we read only the size. This world was
# planted to be tangled like the real one, so the comparison is no independent finding. Nor need the
# sizes be equal.

# %% [markdown]
# ## How close to the truth
#
# No real generator can answer this question, and this one can: what is the angle between a fitted
# normal and the exact one? In a space of so many dimensions two random directions are practically at
# a right angle, so anything well below that is knowledge.

# %%
exact = directions.Hyperplanes(planes.names, *generator.exact_hyperplanes(planes.names))
alignment = (planes.unit().normals * exact.unit().normals).sum(axis=1)
angle = pd.Series(np.degrees(np.arccos(alignment)), names, name="degrees from exact normal")
angle.round(1).to_frame()

# %% [markdown]
# Annotations are what such a study pays for, so it is worth knowing what more of them buy. Below,
# hair length (a regression) and facial hair (a classifier) are fitted to parts of the sample.
# Parts of one size do not overlap; parts of different sizes share faces. The spread of the dots
# at one size hints at what luck does there.

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

# %% mystnb={"image": {"alt": "Angle between fitted and exact normal against the number of annotated faces, for hair length and facial hair. Both curves fall as the number grows; facial hair stays above hair length."}, "figure": {"name": "fig-learning-curve", "caption": "What annotations buy: angle to the exact normal of fits to parts of the sample, disjoint within one size. One mark per fit, lines through the means; the last point is the whole sample, fitted once."}}
axis = plt.figure(figsize=(figures.WIDTH, 3.6)).gca()
for position, (name, fits) in enumerate(curve.groupby("attribute")):
    look = figures.look(name, position)
    axis.plot(fits["faces"], fits["angle"], look.marker, color=look.colour, alpha=0.6)
    means = fits.groupby("faces")["angle"].mean()
    axis.plot(
        means.index, means, look.marker + "-", color=look.colour, label=name.replace("_", " ")
    )
axis.set(xscale="log", xlabel="annotated faces", ylabel="degrees from exact normal", ylim=(0, None))
axis.set_xticks(means.index, [f"{n:,}" for n in means.index], minor=False)
axis.minorticks_off()
legend = axis.legend()

# %% tags=["remove-cell"]
means = curve.pivot_table("angle", "attribute", "faces")
assert (means.iloc[:, -1] < means.iloc[:, 0]).all()
assert means.loc["hair_length", n_directions] < means.loc["facial_hair", n_directions]

# %% [markdown]
# Facial hair lags behind, and two reasons are known. Most faces have none, and a face without a beard
# says nothing about *how far* it is from having one. And its normal leans towards age, however many
# faces there are. What remains is direction error: the later chapters carry it along, and chapter
# [ten](10_matched_pairs) asks what it adds to the audit's misses.

# %% tags=["remove-input"]
claim(
    "**In this run** {n:,} annotated faces bring hair length to {hair:.1f} degrees from the exact "
    "normal, and facial hair to {beard:.1f}. Half as many leave them {hair_half:.1f} and "
    "{beard_half:.1f} degrees away, on average.",
    holds=(means.iloc[:, -1] < means.iloc[:, -2]).all(),
    n=n_directions,
    hair=angle["hair_length"],
    beard=angle["facial_hair"],
    hair_half=means.loc["hair_length"].iloc[-2],
    beard_half=means.loc["facial_hair"].iloc[-2],
)

# %% [markdown]
# ## Why a classifier must not label
#
# Asking people is slow. Why not let a classifier of gender label the faces? Because its errors would
# become part of the direction. Suppose a labeller, human or machine, that takes long hair as a sign
# of a woman, as the classifiers that we are about to audit may do. We give it the crowd's scores
# and let hair sway them.

# %%
SWAY = 0.5
swayed = scores["gender"] - SWAY * (scores["hair_length"] - 0.5)
labels = pd.DataFrame({"crowd": scores["gender"], "swayed by hair": swayed.clip(0, 1)})
of_labels = directions.fit_hyperplanes(w.cpu(), labels, [*labels], {})
normals = dict(zip(labels, of_labels.normals, strict=True))

# %%
targets = exact.unit().select(["gender", "hair_length"])
leaning = pd.DataFrame(
    {who: targets.normals @ normal / np.linalg.norm(normal) for who, normal in normals.items()},
    index=["cosine with exact gender", "cosine with exact hair length"],
).T
leaning["cross-validated R²"] = pd.Series(of_labels.scores)
leaning.round(2)

# %% tags=["remove-cell"]
hair_cosine = leaning["cosine with exact hair length"]
assert hair_cosine["swayed by hair"] < hair_cosine["crowd"] - 0.05

# %% [markdown]
# Cross-validation need not warn: it asks how well labels are predicted, and not whether they are
# right. The swayed direction leans further towards short hair, so a walk along it changes hair
# more. The [next chapter](04_orthogonalization) makes directions independent of each other's
# planes, and moves this error instead of mending it: a walk in hair that keeps the *swayed*
# gender constant has to change the perceived one. An audit would report an effect of hair that is
# partly one of gender. {cite:t}`transects` avoid classifiers as labellers; the later study of
# face recognition {cite:p}`verification` uses one, on many more samples.

# %% [markdown]
# ## The question decides the direction
#
# The experiment is to change the shape of a face and leave hair, beard and makeup alone. But
# raters who see a whole picture take these for signs of gender. Their plane is that of
# *perceived* gender, and more raters only find it more exactly. Another question takes the hair
# out of it. So a second task asks for gender on a crop that hides the hair, and for all else on
# the whole picture. It also asks about hair colour, earrings and glasses, which the paper left
# unasked.

# %%
on_crops = observers.rated(parameters, n_raters, seed=seed, stage=f"{stage.name}/crops")

# %% [markdown]
# A second change concerns the fit. A scale ends, and a straight line does not. A *fractional
# logit* {cite:p}`fractional-logit` takes the mean score $y$ of a face for a probability, and its
# decision value $d$ for the logit of it:
#
# $$\max_{n, b}\; \sum_i y_i \log \sigma(d_i) + (1 - y_i) \log(1 - \sigma(d_i)) - \tfrac{\lambda}{2}
# \lVert n\rVert^2, \qquad d_i = \langle w_i, n\rangle + b.$$
#
# It uses all levels of an answer where a classifier knows two classes; $\lambda$ is the constant
# `PENALTY`. A fitted normal is too long for faces that it has not seen. Half of the faces tell
# how much: $g$ is the slope of a logit on the decision values of a fit to the other half. The
# normal of all faces is multiplied by $(1 + (g^{-2} - 1) / 2)^{-1/2}$ where $g < 1$. A step of
# one is one logit, for every attribute.

# %%
calibrated = directions.fit_fractional(w.cpu(), on_crops)
pictures = directions.fit_fractional(w.cpu(), scores[["gender"]])

# %% [markdown]
# What is a plane of gender made of? We write its unit normal, as nearly as possible, as a sum of
# the *exact* normals of all seven attributes. The shape alone would have all the weight on
# gender. Beards and makeup count on crops as well. The experiment holds both, so they do no harm.
# Hair is moved on purpose. If the plane of gender contains hair, the shape of the face must move
# to keep its value.

# %%
asked = {"whole pictures": pictures, "crops": calibrated.select(["gender"])}
made_of = pd.DataFrame(
    {
        what: np.linalg.lstsq(exact.unit().normals.T, one.unit().normals[0])[0]
        for what, one in asked.items()
    },
    names,
)
exact_gender = exact.unit().select(["gender"]).normals[0]
cosines_of = {what: exact_gender @ one.unit().normals[0] for what, one in asked.items()}
away = np.degrees(np.arccos(pd.Series(cosines_of)))
made_of.T.assign(**{"degrees from exact": away}).round(2)

# %% tags=["remove-input"]
of_hair = made_of.loc["hair_length"]
Markdown(
    f"**In this run** hair length has a weight of {of_hair['whole pictures']:+.2f} in the plane of gender "
    f"that whole pictures give, and of {of_hair['crops']:+.2f} in that of crops. The planes lie "
    f"{away['whole pictures']:.1f} and {away['crops']:.1f} degrees from the exact one."
)

# %% [markdown]
# What else moves along an axis? Shapes of nose and jaw, ancestry, the turn of the head, the light. No
# rater was asked, but automatic measures tell. Here the readings are the world's own parameters, with an
# error as large as faces differ. A real model of landmarks gives other quantities, and hardly all of
# these. Each measure gets a plane of its own by ridge regression. The next chapter holds all of them, and [](05_transect_generation) uses them as the main
# instrument beside the paper's.

# %%
read = observers.measured(parameters.cpu(), parameters.cpu(), seed=seed, stage=stage.name)
ridge = Ridge(100).fit(w.cpu(), read)
calibrated = calibrated.join(directions.Hyperplanes(tuple(read), ridge.coef_, ridge.intercept_))
print(f"{len(on_crops.columns)} attributes that raters see, {len(read.columns)} automatic measures")

# %% [markdown]
# ## What would change our mind
#
# If directions fitted to disjoint halves of the annotations differed by more than the attributes
# do, there would be no map to speak of. If raters' scores followed hair rather than face, every
# direction of gender would be one of hair. And if attributes bent strongly through $W$, a straight
# normal would be right near the plane and wrong further out; the binned means above would then fold
# back instead of rising.

# %% [markdown]
# ## Exercises
#
# ```{exercise}
# :label: exercise-fewer-raters
#
# Is it better to have many faces annotated by one rater or fewer faces by several, at the same
# price? Work out an answer from the variance of a mean score before you try it.
# ```

# %% [markdown]
# ```{solution} exercise-fewer-raters
# :class: dropdown
#
# Write a score as the face's own value plus a rater's noise. Ridge regression averages over faces,
# so noise enters as the residual variance, divided by the number of faces. With $k$ raters on $N/k$
# faces the residual is (what the latent code leaves unexplained) + (rater noise) / $k$, over $N/k$
# faces: $k$ times the first plus the second, over $N$. It grows with $k$: many faces by one rater
# each are better *for directions*. Several raters are needed to measure agreement, and to detect
# careless raters.
# ```

# %% [markdown]
# ```{exercise}
# :label: exercise-cosine
#
# Show that the cosine between two exact normals is the correlation of the two coordinates when
# latent codes have independent components of equal variance.
# ```

# %% [markdown]
# ```{solution} exercise-cosine
# :class: dropdown
#
# Let $s_j = \langle n_j, w\rangle$ and let $w$ have covariance $\sigma^2 I$. Then the covariance of
# $s_j$ and $s_k$ is $n_j^\top (\sigma^2 I)\, n_k = \sigma^2 \langle n_j, n_k\rangle$ and each
# variance is $\sigma^2 \lVert n_j\rVert^2$, so their correlation is $\langle n_j, n_k\rangle /
# (\lVert n_j\rVert \lVert n_k\rVert)$, which is the cosine. Entangled directions and correlated
# attributes are the same thing seen from two sides.
# ```

# %% [markdown]
# ```{exercise}
# :label: exercise-intercept
#
# The ridge intercept is shifted by half a unit. What would go wrong in a transect if it were not?
# ```

# %% [markdown]
# ```{solution} exercise-intercept
# :class: dropdown
#
# The plane would then be where the predicted score is zero, at the extreme end of the scale instead
# of in its middle. Projecting a face onto it would make every face as light, as young or as
# short-haired as the scale goes, far from the faces that the fit has seen, and steps to both sides
# would no longer straddle the neutral face.
# ```

# %% [markdown]
# ## Takeaways
#
# - A crowd and a linear model are enough to find where attributes lie in a latent space.
#   Cross-validation says how well labels are predicted, not how near a normal is to the right
#   one.
# - Fit in $W$, let people label, and keep the intercept.
# - What raters are asked, and what they are shown, decides which direction is found.
# - Normals are entangled in the way that attributes are correlated. They are a map of the
#   population, not yet a tool to change one thing at a time.
# - Attributes that most faces lack, such as beards and makeup, are hard to find a direction for.

# %% tags=["hide-input"]
planes.save(stage.path("hyperplanes.npz"))
calibrated.save(stage.path("calibrated.npz"))
stage.save("scores.parquet", scores)
stage.save("crop_scores.parquet", on_crops)
stage.save("cosines.parquet", cosines)
results = {"cv_score": planes.scores, "angle_to_exact_degrees": angle.to_dict()}
results["plane_of_gender"] = made_of.to_dict()
_ = stage.finish(results)
