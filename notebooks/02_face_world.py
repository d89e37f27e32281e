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
# # A world with a known answer
#
# *You need chapter 1 (the trap of counting). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# Would a model answer differently if one attribute of a face changed and everything else stayed? Only faces
# made to order can show it, so this book draws its faces. Where do the faces, the people in a test set and the audited
# models come from, and how do we look up a true effect?
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
# | **Population** | drawn faces of five populations, which we describe below |
# | **Unit** | one drawn face, or one latent code that stands for it |
# | **Intervention** | setting a parameter of the renderer by hand, written $\mathrm{do}(\cdot)$ |
# | **Held fixed** | all other parameters, also light, pose and background |
# | **Outcome and who labels it** | a model's answer to "is this face perceived as male?"; the label is the gender that the face was drawn with |
# | **Estimand** | error rate of each model on unseen faces of its own population |
# | **Tolerance and n** | the tolerance of the audit is fixed in a plan before any model is trained |
# | **Decision at stake** | is this world a fair testing ground for audits? |
# | **Known failure** | the world is stylised: its sizes of effects do not carry over to photographs |
# :::

# %% tags=["hide-cell"]
from dataclasses import replace
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue

import facerender
import faceworld
from faceaudit.annotations import ATTRIBUTES
from faceaudit.effects import error_rates
from faceaudit.utils.formatting import with_minus
from faceworld import do, known_truth, networks, populations
from faceworld.networks import classifiers
from faceworld.networks.training import Lazy
from faceworld.rendering import render_to_store
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import claim, margin_below
from helpers.figures import widgets

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
figure_size = 256
architecture = "small"
n_train = 10000
epochs = 7
n_heldout = 1000

# %% tags=["remove-cell"]
PHONE = 4.8  # inches: a figure as wide as this can be read on a phone
stage = Stage("02_face_world", profile=profile, device=device, seed=seed)
figures.style()


# %% tags=["hide-cell"]
def draw(parameters, name, size=figure_size):
    """Images of faces, uint8 (n, 3, size, size), at the size of figures unless told otherwise."""
    path = stage.path(f"figures/{name}.npy")
    return render_to_store(parameters, size, path, device=device)


# %% [markdown]
# The face of the first figure is a row of numbers, `base`. The function `do` sets some of them by hand. A sweep repeats the face
# and moves one parameter evenly through its range. The figure shows three sweeps.

# %%
ATTRIBUTE_PARAMETERS = [name if name != "fakeness" else "artefacts" for name in ATTRIBUTES]
base = do(facerender.defaults(), hair_length=0.45, hair_style=1, smiling=0.6, yaw=8)


def sweep(name, steps, face=base):
    """The face repeated, with one parameter moved evenly through its range."""
    column = facerender.PARAMETERS[facerender.INDEX[name]]
    values = np.linspace(column.low, column.high, steps)
    return do(face.repeat(steps, 1), **{name: values})


# %%
SHOWN = ("hair_length", "skin_colour", "gender")
rows = np.concatenate([sweep(name, 5) for name in SHOWN])


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three rows of five pictures of one drawn face. In the first row the hair grows from shaved to long, in the second the skin darkens, in the third the shape of the face changes from feminine to masculine. Pose, light and all else stay."}, "figure": {"name": "fig-world-sweeps", "caption": "One drawn face. In each row one attribute moves through its whole range, and every other parameter is held. Gender is the drawn one, the shape of the face."}}
row_names = ["hair\nlength", "skin\ncolour", "gender\n(shape)"]
figure = figures.gallery(draw(rows, "sweeps"), 5, ["low", "", "middle", "", "high"], row_names)
figure.set_size_inches(PHONE, 3.2)
_ = figure.suptitle(
    f"One of {len(facerender.PARAMETERS)} parameters changes in each row", fontsize=13
)

# %% [markdown]
# ## A face is a row of numbers
#
# A renderer turns a table into pictures, one row for each face. Each column is a parameter with a range and
# a meaning. There are attributes such as age or hair length. There is the scene: pose, light, background. And there is
# identity: the shape of eyes, nose and jaw. To set a parameter by hand is an {term}`intervention`, written $\mathrm{do}(\cdot)$.
# It changes one column and keeps all others. Here `base` is the face
# of {numref}`fig-world-sweeps`. The table lists all parameters. Fitzpatrick's scale has six types of
# skin. The unit *turn* is once round the circle of colours.

# %%
long_haired = do(base, hair_length=0.9)
changed = (facerender.to_frame(long_haired) != facerender.to_frame(base)).loc[0]
assert list(changed.index[changed]) == ["hair_length"]

# %%
table = pd.DataFrame(facerender.PARAMETERS).set_index("name").drop(columns="group")
table.style.format(precision=2)

# %% [markdown]
# Choose an attribute and move its slider. All pictures were drawn beforehand, so this works offline.
# Watch the parts that stay: pose and light. Gender and age each shape several parts of the face, and age turns hair grey.

# %% tags=["hide-input"]
WIDGET_STEPS = 9
frames = {name: sweep(name, WIDGET_STEPS) for name in ATTRIBUTE_PARAMETERS}
drawn = draw(np.concatenate([*frames.values()]), "widget", size=min(figure_size, 128))
steps = [f"step {step + 1} of {WIDGET_STEPS}" for step in range(WIDGET_STEPS)]
spoken = [name.replace("_", " ") for name in frames]
shown = dict(zip(spoken, np.split(drawn, len(frames)), strict=True))
widgets.attribute_explorer(shown, dict.fromkeys(shown, steps), alt="a drawn face")

# %% [markdown]
# The gender parameter moves the shape of a face. Raters read such shapes as feminine or masculine, together with
# beard, makeup and hair. The result is {term}`perceived gender`. It does not tell how a person identifies, and
# a scale with two ends simplifies {cite}`sensitivity`. Raters judge appearance, and so do the audited models.
#
# Hair has a length and a style. Ancestry is a pair of axes for the shape of the face, and it is separate from skin
# colour. Its three reference points are stylised corners of a continuous space. Four groups of interventions on the face follow.

# %%
STYLES = ("straight", "afro", "braids", "covered")
POINTS = [(0.0, 0.0), *facerender.ANCESTRY_REFERENCES.values()]
kinds = {
    "hair style": [do(base, hair_style=facerender.HAIR_STYLES.index(one)) for one in STYLES],
    "ancestry": [do(base, ancestry_x=x, ancestry_y=y) for x, y in POINTS],
    "pose": [do(base, yaw=yaw) for yaw in (-40, -15, 15, 40)],
    "light": [do(base, light_azimuth=side, light_power=0.9) for side in (-80, -30, 30, 80)],
}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four rows of four pictures of one drawn face: four hair styles, from straight to covered by a cloth; four ancestry points, with other shapes of the face at one skin colour; four turns of the head; four directions of the light with its shadows."}, "figure": {"name": "fig-world-scene", "caption": "The same face with other hair styles, ancestry, pose and light. In each row one group of parameters changes. Ancestry: the average, then the three reference points."}}
pictures = draw(np.concatenate([np.concatenate(faces) for faces in kinds.values()]), "scene")
figure = figures.gallery(pictures, 4, row_labels=[*kinds])
figure.set_size_inches(PHONE, 4.9)
_ = figure.suptitle("Hair, ancestry, pose and light can be set as well", fontsize=12)

# %% [markdown]
# ## A latent space that ties attributes together
#
# Generators such as StyleGAN2 {cite}`stylegan2` take a long vector instead of parameters, the {term}`latent code`.
# Its entries have no names. In networks trained on photographs, attributes lie along directions of that space. The
# values along these directions are correlated, because attributes are correlated in photographs. This is {term}`entanglement`. Our default
# {term}`generator` copies it: every parameter is a smooth function of the code's coordinate along its own direction.
# The code is called $w$.

# %%
generator = faceworld.load_generator("known-truth", device, figure_size)
codes = generator.sample(2000, seed)
world = facerender.to_frame(generator.parameters(codes))

# %% [markdown]
# We chose which attributes go together. The matrix lists our choices. Men have beards and shorter hair. Makeup
# and earrings go with women. These are stereotypes, and we planted them because photographs contain them.
# An audit has to work in spite of them.

# %%
tied = [*ATTRIBUTE_PARAMETERS[:-1], "earrings"]
at = [known_truth.LATENTS.index(name) for name in tied]
planted = pd.DataFrame(known_truth.correlations()[np.ix_(at, at)], tied, tied)

# %% tags=["hide-input"] mystnb={"image": {"alt": "The lower half of a matrix of planted correlations between latent coordinates. The strongest cells tie drawn gender to hair length and makeup negatively and to facial hair positively; earrings go with female-looking faces."}, "figure": {"name": "fig-world-correlations", "caption": "Planted correlations of latent coordinates. Orange is negative, purple positive. Gender grows from female to male, skin colour from light to dark."}}
# Computed by faceworld.known_truth.correlations.
below_diagonal = planted.where(np.tri(len(tied), k=-1, dtype=bool)).iloc[1:, :-1]
axis = figures.heatmap(below_diagonal, ax=plt.figure(figsize=(PHONE, 4.9)).gca())
axis.grid(False)
pair = planted.loc["hair_length", "gender"]
_ = axis.set_title(
    with_minus(f"We tied hair length to gender:\ncorrelation {pair:+.2f}"), fontsize=12
)

# %% tags=["remove-cell"]
drawn_codes = np.corrcoef(generator.coordinates(codes, tied).T)
assert np.abs(drawn_codes - planted).to_numpy().max() < 0.1, "codes do not follow the plan"

# %% [markdown]
# ## Five populations
#
# A data set is a habit of choosing faces. Four of our populations copy *which attributes go together* in a well-known data
# set, and use none of its images. Three serve for training: one imitates CelebA {cite}`celeba`, one FairFace {cite}`fairface`, and
# `plantskin` is our invention. One imitates the Pilot Parliaments Benchmark (PPB) {cite}`gender-shades`, on which chapter 1 counts. The last one
# imitates FFHQ, the photographs behind StyleGAN2.

# %%
samples = {name: populations.sample(name, 6, seed) for name in populations.POPULATIONS}

# %% tags=["hide-input"] mystnb={"image": {"alt": "One row of six faces per population. The PPB-like row shows adults who look straight ahead under even light; the other rows are more mixed in age, pose and light."}, "figure": {"name": "fig-world-populations", "caption": "Six faces of each population, drawn at random. No photographs were used."}}
# Computed by faceworld.populations.sample.
row_names = [name.replace("-like", "\nlike") for name in samples]
members = np.concatenate([one.parameters for one in samples.values()])
figure = figures.gallery(draw(members, "populations"), ncol=6, row_labels=row_names)
figure.set_size_inches(PHONE, 4.2)
_ = figure.suptitle("Six faces drawn from each population", fontsize=13)

# %% [markdown]
# The table gives some of the planted shares. Look at short-haired women: only in the PPB-like population does
# their share differ much between light and dark skin. This one difference makes the trap of [chapter 1](01_observational_audit).
# These are planted shares. Chapter 1 counts what raters see: tied or covered hair looks short, and raters err.
#
# All shares are our choice. We tuned two kinds, those of short-haired women and of long-haired men, so that models of this size show
# the papers' pattern. We looked at true effects and error rates for this, and never at an estimate.

# %%
described = pd.DataFrame(list(populations.POPULATIONS.values()), list(populations.POPULATIONS))
shares = {
    "men": described["men"],
    "short-haired women, light skin": described["women_short"].str[0],
    "short-haired women, dark skin": described["women_short"].str[1],
    "long-haired men": described["men_long"],
}
pd.DataFrame(shares).astype(float).round(2)

# %% tags=["remove-cell"]
short = described["women_short"].str[1] - described["women_short"].str[0]
assert short.idxmax() == "ppb-like" and short.drop("ppb-like").abs().max() < 0.1
(light_length, _), (dark_length, _) = populations.POPULATIONS["ppb-like"].women_length
assert dark_length < light_length

# %% [markdown]
# ## The models that we audit
#
# We train one gender classifier on each training population, as {cite:t}`transects` do (below: the *transects paper*). It sees an image and answers
# with a probability that the face is perceived as male. The share of men is that of the population, so it is not always one
# half. Some faces are held out of the training to measure errors.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
samples = {name: populations.sample(name, n_train + n_heldout, seed) for name in TRAINED}
labels = {name: one.frame["gender"].to_numpy() for name, one in samples.items()}

# %%
seen = slice(n_train)
unseen = slice(n_train, None)


def renders(name, rows, path):
    return render_to_store(samples[name].parameters[rows], image_size, path, device=device)


# %%
_ = renders("celeba-like", slice(None), stage.path("celeba-like.npy"))
heldout_images = {
    name: renders(name, unseen, stage.path(f"{name}_heldout.npy")) for name in TRAINED
}


# %% [markdown]
# The network is small on a laptop, and a ResNet-50 in the run that has the paper's size. All models
# share architecture, number of {term}`epochs <epoch>` and {term}`seed <seed (of a run)>`. They differ only in the faces that they saw. Before training, a
# {term}`plan` ([](16_planning)) fixed the {term}`tolerance` and the comparisons of the audit. This chapter records its hash, a fingerprint of the file.


# %%
plan = stage.load("audit_plan", "plan.json")

# %% tags=["remove-cell"]
assert {*TRAINED} < {*sum(plan["families"]["effects by cell"]["together"], [])}


# %%
def job(name):
    """One training: images, labels, held-out faces, and where the weights go."""
    draw = partial(renders, name, seen, stage.folder / f"{name}_training.npy")
    return {
        "images": Lazy((n_train, 3, image_size, image_size), draw),
        "labels": labels[name][seen],
        "held_out": (heldout_images[name], labels[name][unseen]),
        "path": stage.path(f"{name}.safetensors"),
        "seed": seed,
        "epochs": epochs,
        "architecture": architecture,
        "device": device,
    }


# %%
trained = networks.train_classifiers([job(name) for name in TRAINED])
audited = dict(zip(TRAINED, trained, strict=True))
# Learning curves, for the file of this chapter.
curves = pd.concat({name: model.curve for name, model in audited.items()}, names=["model", "row"])
curves = curves.reset_index("model").reset_index(drop=True)

# %% tags=["remove-cell"]
settings = [stage.path(f"{name}.json") for name in TRAINED]
_ = stage.save("curves.parquet", curves)

# %% [markdown]
# Now we ask each model about the held-out faces of its own population and count its errors. Such a number would
# appear on a product page. It does not tell who bears the errors.


# %%
def answers(name):
    """A model's answers about held-out faces of its population."""
    score = networks.predict(audited[name], heldout_images[name])
    return pd.DataFrame({"population": name, "label": labels[name][unseen], "score": score})


heldout = pd.concat([answers(name) for name in TRAINED], ignore_index=True)
heldout["error"] = ((heldout["score"] > 0.5) != (heldout["label"] == 1)).astype(int)
own = error_rates.stratified_errors(heldout, "population")
own.style.format("{:.1%}", subset=["rate", "low", "high"])

# %% tags=["remove-cell"]
_ = stage.save("heldout.parquet", heldout)

# %% tags=["hide-input"]
GUESSING = 0.5
unseen_errors = own.rename(columns={"rate": "estimate"})
claim(
    "No model guesses: each errs on {least:percent} to {most:percent}% of the unseen faces of its own population.",
    margins=[margin_below(row, GUESSING) for _, row in unseen_errors.iterrows()],
    least=own["rate"].min(),
    most=own["rate"].max(),
)

# %% [markdown]
# ## Look up a true effect
#
# The paper's first grid shows one face at several hair lengths and skin colours, with a model's answer to each
# {cite}`transects`. Here $\mathrm{do}(\cdot)$ makes it directly. Numbers above one half mean *male*. If the answer
# changes along a row, hair length has an effect on this face. If it changes down a column, skin colour has one.

# %%
woman = do(base, gender=0.3)
lengths = np.linspace(0.1, 0.85, 4)
skins = np.linspace(0.1, 0.9, 4)
grid = np.concatenate([do(woman, hair_length=h, skin_colour=s) for s in skins for h in lengths])
asked = draw(grid, "asked", size=image_size)
said = {name: networks.predict(model, asked) for name, model in audited.items()}
male = said["celeba-like"].reshape(4, 4)
by_hair = (male[:, -1] - male[:, 0]).mean()
by_skin = (male[-1] - male[0]).mean()

# %% tags=["remove-cell"]
_ = stage.save("synopsis.parquet", pd.DataFrame(said))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four rows and four columns of one woman's face. Hair grows from left to right, skin darkens from top to bottom. Above each face stands the model's probability that it is male."}, "figure": {"name": "fig-world-synopsis", "caption": "One face at four hair lengths (columns, from shortest to longest) and four skin colours (rows, from light to dark). Above each, the answer of the CelebA-like model: its probability of male. After Fig. 2 of the transects paper."}}
# Computed by faceworld.networks.classifiers.predict.
titles = [f"male: {p:.2f}" for p in male.ravel()]
figure = figures.gallery(draw(grid, "synopsis"), 4, titles, ["light", "", "", "dark"])
figure.set_size_inches(PHONE, 6)
_ = figure.suptitle(
    with_minus(
        f"Shortest to longest hair changes the answer by {by_hair:+.2f},\n"
        f"lightest to darkest skin by {by_skin:+.2f} (means of this grid)"
    ),
    fontsize=12,
)

# %% [markdown]
# This is one face. The book repeats the comparison on many faces. Real generators have no such
# buttons, and chapters 3 and 4 show how to make matched faces with them.

# %% [markdown]
# ## Two controls
#
# We test the method on models whose bias is known. The first control, `plantskin`, has a planted bias: in its
# training faces dark skin goes with men. The bias is opposite for women and men: dark-skinned women are often taken for men, light-skinned
# men for women. So an average over both hides it. An audit has to find it. The table counts its training faces.

# %%
of_plant = samples["plantskin"].frame[:n_train]
skin = np.where(of_plant["skin_colour"] > 0.5, "dark skin", "light skin")
gender = of_plant["gender"].map({0: "women", 1: "men"})
pd.crosstab(gender, skin, rownames=["drawn gender"], colnames=["skin colour"])

# %% [markdown]
# The second is the {term}`null control`. It errs at one rate, independently of the face. An audit that finds an
# effect in it raises a false alarm. Here it judges held-out faces with light and with dark skin. Any difference between the two
# rows of the table is chance.

# %%
judged = samples["plantskin"].frame[n_train:]
item = judged["item"]
truth = judged["gender"]
score = classifiers.null_control(truth, item, item, rate=0.1, icc=0.2, seed=seed)
judged = judged.assign(error=((score > 0.5) != (truth == 1)).astype(int))

# %%
judged["skin"] = np.where(judged["skin_colour"] > 0.5, "dark", "light")
chance = error_rates.stratified_errors(judged, "skin")
chance.style.format("{:.1%}", subset=["rate", "low", "high"])

# %% tags=["remove-cell"]
row = male[0]
glue(
    "answer",
    Markdown(
        f"**A renderer draws each face from {len(facerender.PARAMETERS)} numbers, so one attribute can be set alone.** "
        "The true effect of an attribute is then a difference of two answers of the same model. For example, "
        f"one classifier takes a light-skinned woman with short hair for male with probability {row[0]:.2f}, and "
        f"with long hair with probability {row[-1]:.2f}. Five populations and four audited models complete the world, and every "
        "estimate of the book is compared with such a truth."
    ),
    display=False,
)

# %% [markdown]
# ## Where this world is unlike ours
#
# - **The faces are stylised.** Models learn them faster than photographs, and from other {term}`cues <cue>`.
# - **The crowd is simulated.** Its noise is calibrated on real ratings. Its signs of gender are assumed, and
#   other prejudices are left out.
# - **The correlations are ours.** So the sizes of effects do not carry over.
# - **Causes are few.** Photographs hide more confounders than the parameters of a face.
#
# The method carries over, and so do the ways in which it fails.

# %% [markdown]
# ## What would change our mind
#
# The world would be a poor testing ground if setting one parameter changed the value of another one, if the models guessed on unseen
# faces, or if the null control showed more differences than chance allows. Tests of the package check the first. A
# look may still change: age greys the hair. The error
# rates above answer the second, and [](10_matched_pairs) the third.

# %% [markdown]
# ## Exercises
#
# ```{exercise} A face of your own, 10 minutes, easy
# :label: exercise-world-face
#
# Draw an elderly woman with long, curly, light hair, lit from above. Which parameters did you set, and how many did
# you leave at their default? Does her hair show its colour?
#
# **Check:** change `hair_colour` of your face, once at age 0.3 and once at 0.95, and compare the pictures.
# ```

# %% [markdown]
# ```{solution-start} exercise-world-face
# :class: dropdown
# ```
#
# A default is a decision, too. Skin colour, expression and pose keep theirs here.

# %% tags=["solution"]
face = do(
    facerender.defaults(),
    gender=0.2,
    age=0.95,
    hair_length=0.8,
    hair_style=facerender.HAIR_STYLES.index("curly"),
    hair_colour=0.9,
    light_elevation=80,
)
own_choice = facerender.to_frame(face) != facerender.to_frame(facerender.defaults())
f"{int(own_choice.sum(axis=1).iloc[0])} parameters set, {int((~own_choice).sum(axis=1).iloc[0])} left"

# %% [markdown]
# Age turns hair grey in this world. So the colour of her hair hardly shows, and to set age is to change two
# things that people see. The cell compares pictures with dark and with light hair.

# %% tags=["solution"]
pairs = {a: [do(face, age=a, hair_colour=c) for c in (0.1, 0.9)] for a in (0.3, 0.95)}
moved = {
    a: np.ptp([facerender.render(f, 64).image.numpy() for f in p], 0).mean()
    for a, p in pairs.items()
}
assert moved[0.95] < moved[0.3]
pd.Series(moved, name="mean change of a pixel").rename_axis("age").round(3)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} A population without a trap, 15 minutes, medium
# :label: exercise-world-population
#
# `populations.POPULATIONS["ppb-like"]` is a data class. Make a variant in which hair length and skin colour are
# independent among women. Which other attributes still go with skin there?
#
# **Check:** among women of your variant the correlation of skin colour and hair length is close to zero.
# ```

# %% [markdown]
# ```{solution-start} exercise-world-population
# :class: dropdown
# ```
#
# Equal shares and equal lengths remove the tie. Other attributes still go with skin: hair colour, ancestry and, in
# the full table, hair style. Such a list is never known to be complete. This is the argument for experiments.

# %% tags=["solution"]
populations.POPULATIONS["no-trap"] = replace(
    populations.POPULATIONS["ppb-like"],
    women_short=(0.4, 0.4),
    women_length=((0.55, 0.14), (0.55, 0.14)),
)
people = populations.sample("no-trap", 4000, seed)
del populations.POPULATIONS["no-trap"]

# %% tags=["solution"]
columns = ["hair_length", "hair_colour", "ancestry_x", "ancestry_y", "makeup"]
parameters = facerender.to_frame(people.parameters)[people.frame["gender"] == 0]
with_skin = parameters[columns].corrwith(parameters["skin_colour"])
assert abs(with_skin["hair_length"]) < 0.1 < abs(with_skin["hair_colour"])
with_skin.rename("correlation with skin colour").round(2)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - A face is a row of parameters. Each can be set alone, so true effects can be looked up.
# - The latent space ties attributes together on purpose, as photographs do.
# - Three models are trained, one of them with a planted bias. A null control has no bias by design.
#
# **Next:** chapter 3 looks for the direction of each attribute in the latent space, using only people's answers.

# %% tags=["remove-cell"]
accuracy = 1 - heldout.groupby("population")["error"].mean()
_ = stage.finish(
    {
        "heldout_accuracy": accuracy.to_dict(),
        "n_train": n_train,
        "plan": plan["sha256"],
    }
)
