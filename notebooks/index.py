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
# # Auditing face-analysis models causally

# %% tags=["remove-cell"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from myst_nb import glue

import facerender
from helpers import artifacts, figures, models
from helpers.claims import claim
from helpers.figures import widgets
from helpers.world import do
from helpers.claims import in_points, with_minus

# %% tags=["parameters", "remove-cell"]
profile = "laptop"
audited = "fairface-like"
other = "celeba-like"

# %% tags=["remove-cell"]
SIZE, STEPS, TRIED = 192, 9, 60  # pixels; of each slider; faces, of which one is shown
figures.style()
doses = artifacts.load("05_transect_generation", "doses.json", profile)
made = artifacts.load("05_transect_generation", "fitted_parameters.npy", profile)

# %% tags=["remove-cell"]
networks = {
    name: models.AuditedModel.read(artifacts.load("02_face_world", f"{name}.safetensors", profile))
    for name in (audited, other)
}


def asked(parameters):
    """Both models' scores of faces, by the model's name."""
    size = networks[audited].training.size
    pixels = figures.as_pixels(facerender.render(parameters, size).image)
    seen = pixels.transpose(0, 3, 1, 2)
    return {name: models.predict(network, seen) for name, network in networks.items()}


# %% tags=["remove-cell"]
plain = {"makeup": 0.0, "facial_hair": 0.0, "glasses": 0.0, "earrings": 0.0, "age": 0.5}
bare = do(torch.from_numpy(made[: 8 * TRIED : 8].copy()), **plain)
skins, hairs = (np.linspace(*doses[name], STEPS) for name in ("skin_colour", "hair_length"))
ends = [do(bare, skin_colour=s, hair_length=h) for s in skins[[0, -1]] for h in hairs[[0, -1]]]
unsure = np.array([*asked(torch.cat(ends)).values()]).reshape(2, 4, -1)
shown = np.ptp(unsure, axis=1).min(axis=0).argmax()  # both models change their answers most

# %% tags=["remove-cell"]
face = bare[shown : shown + 1]
every = torch.cat([do(face, skin_colour=s, hair_length=h) for s in skins for h in hairs])
faces = facerender.render(every, SIZE).image.reshape(STEPS, STEPS, 3, SIZE, SIZE)
scores = {k: np.char.mod("%.2f", v).reshape(STEPS, STEPS) for k, v in asked(every).items()}

# %% [markdown]
# **Is it the skin, or the hair?** Two models guess the gender that people perceive in a face. Guess
# first: which slider will move their answers more?

# %% tags=["remove-input"]
ends = {"skin colour": ("light", "dark"), "length of hair": ("short", "long")}
heads = ("model", "its score for “male”")
widgets.two_sliders(faces, ends, scores, heads, alt="a made face")

# %% [markdown]
# ::::{grid} 1 1 3 3
# :gutter: 2
#
# :::{grid-item}
# ```{button-ref} tour
# :color: primary
# :expand:
# What this book found
# ```
# :::
#
# :::{grid-item}
# ```{button-ref} 01_observational_audit
# :color: primary
# :outline:
# :expand:
# Start with chapter 1
# ```
# :::
#
# :::{grid-item}
# ```{button-ref} 18_audit_your_model
# :color: primary
# :outline:
# :expand:
# Audit a model of yours
# ```
# :::
# ::::
#
# For data scientists, auditors and teachers who know some Python and have had one course in statistics. It
# runs on a laptop. All faces are drawn, and no photographs of people are used.

# %% [markdown]
# In a famous audit, systems that guess gender from a portrait erred most often on dark-skinned women
# {cite}`gender-shades`. Was it because of their skin? Counting errors on collected portraits cannot
# tell, because skin colour comes with hair, age, makeup and light. This book audits classifiers twice:
# by counting, and by an experiment in which faces are made to order and are meant to change in one
# attribute at a time {cite}`transects`. Then it looks up the truth. Three findings lead. They were true
# with all of [twenty other seeds](#twenty-other-seeds).

# %% tags=["remove-cell"]
strata = artifacts.load("01_observational_audit", "strata.parquet", profile)
ladder = artifacts.load("10_matched_pairs", "ladder.parquet", profile)
experiment = artifacts.load("10_matched_pairs", "results.json", profile)
carried = artifacts.load("17_transport", "results.json", profile)


# %% tags=["remove-cell"]
def points(value):
    """A difference of rates in percentage points, with its sign."""
    return with_minus(in_points(value))


ROWS = {
    "gap": "counted gap",
    "same": "true effect on the counted",
    "made": "true effect on transects",
    "found": "found effect on transects",
}
for number, row in ROWS.items():
    for name, model in (("", audited), ("other-", other)):
        one = experiment["skin_on_women"][row][model]
        told = f"{points(one['estimate'])} ({points(one['low'])} to {points(one['high'])})"
        glue(f"{name}{number}", told, display=False)


# %% tags=["remove-cell"]
counted = strata[strata["model"] == audited].set_index(["gender", "skin"])
found = ladder[(ladder["model"] == audited) & (ladder["arm"] == "C crowd")]
found = found.set_index(["attribute", "cell"]).sort_index()

# %% tags=["remove-cell"]
dark, light = (counted.loc[("female", skin), "rate"] for skin in ("dark", "light"))
glue("rates", f"{100 * dark:.1f} against {100 * light:.1f} %", display=False)
for name, model in (("", audited), ("other-", other)):
    glue(f"{name}model", model, display=False)

# %% tags=["remove-input"]
share = experiment["share_on_counted"]
claim(
    "To change only the skin of the counted women changes their errors by {one:.0%} of the gap for "
    "the {audited} model, and by {two:.0%} for the {other} one. Both estimates are below the whole gap.",
    holds=max(one["estimate"] for one in share.values()) < 1,
    title="Counts overstate what skin does",
    one=share[audited],
    two=share[other],
    audited=audited,
    other=other,
)

# %% tags=["remove-input"]
claim(
    "A third model has a planted bias, which harms dark-skinned women and helps dark-skinned men. A "
    "regression with one effect for everybody does not report that dark skin raises errors. The analysis "
    "by cell finds that it does for women.",
    holds=experiment["plantskin"]["missed_by_main_effects"]
    and experiment["plantskin"]["caught_by_cells"],
    title="Averages hide harm",
)

# %% tags=["remove-input"]
missed = carried["transport_misses_by_network"]["PPB-like"]["three attributes"]
missed = [part["women, dark − light"] for part in missed.values()]
claim(
    "The groups of the experiment can be given the shares that they have among the portraits. What the "
    "experiment then says about the counted gap of women is off by {mean:.1f} points, on average over three "
    "models, one of them with a planted bias.",
    holds=np.mean(missed) > 5,
    title="Made faces do not carry to portraits by reweighting",
    mean=np.mean(missed),
)

# %% [markdown]
# Here are the numbers for two models. The {glue:text}`model` one errs on {glue:text}`rates` of dark-
# and of light-skinned women among the portraits. All others are points of the error rate, dark minus
# light skin, with 95 % intervals.
#
# | | {glue:text}`model` | {glue:text}`other-model` |
# |---|---|---|
# | **Counting**: portraits of women as they come | {glue:text}`gap` | {glue:text}`other-gap` |
# | **Truth about these women**: only their skin is changed | {glue:text}`same` | {glue:text}`other-same` |
# | **Experiment**: effect that is found on its made faces | {glue:text}`found` | {glue:text}`other-found` |
# | **Truth about these made faces** | {glue:text}`made` | {glue:text}`other-made` |

# %% [markdown]
# The first two rows speak of the same women. Where they differ, other things go with skin in the
# collected portraits, such as short hair. The last two rows speak of other women, half of whom have
# short hair, whatever their skin, so their truth is another number. [What each number
# estimates](estimands) is a page of its own.
#
# The table is one run. Networks that are trained anew on other faces differ in what skin does to their
# errors. [What this book found](tour) says by how much, and [a benchmark](benchmarks) how often the
# experiment holds its own truth.

# %% tags=["remove-cell"]
portraits = artifacts.load("01_observational_audit", "ppb.parquet", profile)
pictures = artifacts.load("01_observational_audit", "ppb.npy", profile)
kinds = portraits[["skin", "hair"]].astype(str).agg(" ".join, axis="columns")
seen = kinds.where(portraits["label"] == 0).to_numpy()
typical = [np.flatnonzero(seen == kind)[:2] for kind in ("light long", "dark short")]

# %% tags=["remove-cell"]
index = artifacts.load("05_transect_generation", "fitted_index.parquet", profile).reset_index()
images = artifacts.load("05_transect_generation", "fitted_images.npy", profile)
short_haired = index[(index["gender_level"] == 0) & (index["hair_length_level"] == 0)]
pairs = short_haired.sort_values(["transect", "skin_colour_level"]).index[:4]


# %% tags=["remove-cell"]
def strip(images, titles, heading, part):
    """Faces in a row, each under its title."""
    part.suptitle(heading, weight="bold", fontsize=12)
    axes = part.subplots(1, len(titles), gridspec_kw={"wspace": 0.02})
    for ax, picture, title in zip(axes, figures.as_pixels(images), titles, strict=True):
        ax.imshow(picture)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_title(title, fontsize=10, pad=3)


# %% tags=["remove-input"] mystnb={"image": {"alt": "Two halves. Left, audit by counting: portraits of light-skinned women with hair to the chin and dark-skinned women with short hair, above bars of error rates by perceived gender and skin colour. Right, audit by experiment: two made women, each with light and with dark skin, above intervals of the change in error rate when skin turns dark, for women and men with short and long hair, and when hair grows, each with a diamond that marks the true effect."}, "figure": {"name": "fig-two-audits", "caption": "One classifier, audited twice. Left: errors on portraits as they come, by perceived gender and skin colour. Right: change in the error rate, in percentage points, when one attribute of a face is changed, and what comes along; diamonds mark the truth, where all else is held. Bars are rates; whiskers are 95 % intervals."}}
def draw_effects(table, title, ax):
    """Intervals of one attribute's effects in points, and how many pairs they rest on."""
    held = [("female", "women"), ("male", "men")]
    lengths = [", short hair", ", long hair"] if "skin" in title else [""]
    names = {one + hair: other + hair for one, other in held for hair in lengths}
    named = table.loc[list(names)].rename(names)
    percent = 100 * named[["estimate", "low", "high"]]
    figures.forest(percent, 100 * named["truth"], xlabel="", ax=ax).get_legend().remove()
    counts = " to ".join(f"{n:,}" for n in sorted({named["n"].min(), named["n"].max()}))
    ax.set_title(f"{title}\nn = {counts} pairs", fontsize=11)


figure = plt.figure(figsize=(figures.WIDTH, 5.8))
faces, numbers = figure.subfigures(2, 1, height_ratios=[1, 3])
left, right = faces.subfigures(1, 2, wspace=0.05)
seen = pictures[np.concatenate(typical)]
strip(seen, ("light", "light", "dark", "dark"), "Counting: faces as they come", left)
strip(images[pairs], ("light", "→ dark") * 2, "Experiment: faces made to order", right)
left, right = numbers.subfigures(1, 2, width_ratios=[1, 1.25], wspace=0.05)
figures.bars(counted, ylabel="error rate", ax=left.subplots()).set_xlabel("perceived gender")
skin, hair = right.subplots(2, 1, sharex=True, height_ratios=[4.2, 2.2])
draw_effects(found.loc["skin_colour"], "dark − light skin", skin)
draw_effects(found.loc["hair_length"], "long − short hair", hair)
hair.set_xlabel("change in errors, points")
_ = right.legend(*skin.get_legend_handles_labels(), loc="outside lower center", ncol=2)

# %% [markdown]
# In the *face world* the truth can be looked up: it is a generator of drawn faces whose attributes are
# known exactly, and everything around it is real. Classifiers are
# trained, a crowd with calibrated noise annotates images through the files that real tools write,
# and each estimate is scored against an intervention on the faces themselves. The readers take the
# files of a real crowd, from Label Studio or Mechanical Turk. A model of your own takes one file and
# one command, [](18_audit_your_model): as a file or an address, or as a [table](audit-a-table) of its
# answers; so does a [recogniser](audit-a-recogniser).

# %% [markdown]
# ## Who it is for, and how to read it
#
# You need some Python and basic statistics; every other term is explained where it first occurs
# and in the [glossary](glossary.md). Read the chapters in order: each opens with a question and a
# design contract, and ends with what would change our mind and exercises with solutions. Teachers
# can take a chapter as a class. Names in code cells lead to the [package](api.md), whose pages show
# what a function does, an example and its source. Where a paper's formula needs mending, the
# [errata](errata.md) say so, and [data and ethics](data-and-ethics.md) says what the numbers must
# not be used for.

# %% [markdown]
# ## Map
#
# | Chapter | Question |
# |---|---|
# | [The trap](01_observational_audit.ipynb) | What does counting errors on portraits tell us? |
# | [The face world](02_face_world.ipynb) | Where do faces, populations and models come from? |
# | [Directions](03_direction_fitting.ipynb) | Where in the latent space does an attribute grow? |
# | [Orthogonalization](04_orthogonalization.ipynb) | How does one attribute change without the others? |
# | [Transects](05_transect_generation.ipynb) | How are grids of matched faces made? |
# | [Annotation](06_annotation_ingestion.ipynb) | What do people see, and how far do they agree? |
# | [Pruning](07_pruning.ipynb) | Which images may be dropped, and at what price? |
# | [Errors by group](08_stratified_errors.ipynb) | Where does the model err on matched faces? |
# | [Regression](09_logistic_ate.ipynb) | What does the paper's regression say, and what can it not say? |
# | [Effects and truth](10_matched_pairs.ipynb) | What causes the errors, and is the answer true? |

# %% [markdown]
# The ten chapters are one audit, from the question to the verdict. Four more ask what such a
# verdict is worth, how to plan the next audit, how far its result carries, and what may have been
# overlooked.
#
# | Chapter | Question |
# |---|---|
# | [Truth scorecard](n01_truth_scorecard.ipynb) | Which estimator can be trusted, and when does each fail? |
# | [Planning](16_planning.ipynb) | How large must an audit be, and what do noise and pruning cost it? |
# | [Transport](17_transport.ipynb) | What does an audit say about people elsewhere? |
# | [Hidden attributes](12_hidden_attributes.ipynb) | What about attributes that people were not asked about? |

# %% [markdown]
# What if the generator was learned from pictures, and the meaning of its codes is not known? One
# chapter asks when a smile detector changes its mind, and whether the change was its fault.
#
# | Chapter | Question |
# |---|---|
# | [Sensitivity flips](13_sensitivity_flips.ipynb) | What besides a smile flips a smile classifier? |

# %% [markdown]
# Two chapters turn from classifying a face to recognising it. There errors belong to pairs of
# pictures, and what people agree on is taken for the truth.
#
# | Chapter | Question |
# |---|---|
# | [Verification measures](14_verification_measures.ipynb) | How alike are two pictures of one person, to a recogniser and to people? |
# | [Verification audit](15_verification_curves.ipynb) | Whom does a recogniser fail, and is the crowd a fair yardstick? |

# %% [markdown]
# One chapter goes back to the transects, and asks them what the paper that invented them leaves
# open: about doses, scores, single faces and interactions.
#
# | Chapter | Question |
# |---|---|
# | [Beyond error rates](n07_beyond_error_rates.ipynb) | What does a difference of two error rates hide? |

# %% [markdown]
# Everything so far is drawn by this book. Whoever audits a model for use brings a generator that learned
# from photographs, or images that somebody else made.
#
# | Chapter | Question |
# |---|---|
# | [Real generators](n08_real_generators.ipynb) | How does a generator's file become transects, and which checks come first? |

# %% [markdown]
# The last two chapters turn all of this round: model and generator could be yours, and the book is the tool. One
# file says what is to be audited, and one report comes out; or the papers' whole study, step by step.
#
# | Chapter | Question |
# |---|---|
# | [Audit your own model](18_audit_your_model.ipynb) | What has to be decided before a model is asked, and what does the report say? |

# %% [markdown]
# ## Run it
#
# Numbers and figures come from one run of the whole book, unless a page says that it shows a record. The first command sets
# everything up, runs what changed and builds these pages; the second opens them in a browser on
# your own computer. No page loads anything from elsewhere.
#
# ```bash
# make reproduce
# make serve
# ```
