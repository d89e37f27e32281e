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
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from myst_nb import glue
from PIL import Image

import facerender
from faceaudit.utils import seeding
from faceaudit.utils.formatting import in_points, with_minus
from faceworld import do, networks
from faceworld.scorecard import counted_gap
from helpers import artifacts, figures
from helpers.artifacts.lineage import ROOT
from helpers.claims import Margin, claim, margin_below
from helpers.figures import widgets

# %% tags=["parameters", "remove-cell"]
profile = "laptop"
audited = "fairface-like"
other = "celeba-like"

# %% tags=["remove-cell"]
SIZE = 192  # pixels
STEPS = 9  # of each slider
FACES = 60  # of which one is drawn at random
figures.style()
doses = artifacts.load("05_transect_generation", "doses.json", profile)
made = artifacts.load("05_transect_generation", "fitted_parameters.npy", profile)

# %% tags=["remove-cell"]
audited_models = {
    name: networks.AuditedModel.read(
        artifacts.load("02_face_world", f"{name}.safetensors", profile)
    )
    for name in (audited, other)
}


def asked(parameters):
    """Both models' scores of faces, by the model's name."""
    size = audited_models[audited].training.size
    pixels = figures.as_pixels(facerender.render(parameters, size).image)
    seen = pixels.transpose(0, 3, 1, 2)
    return {name: networks.predict(network, seen) for name, network in audited_models.items()}


# %% tags=["remove-cell"]
plain = {"makeup": 0.0, "facial_hair": 0.0, "glasses": 0.0, "earrings": 0.0, "age": 0.5}
bare = do(torch.from_numpy(made[: 8 * FACES : 8].copy()), **plain)
skins, hairs = (np.linspace(*doses[name], STEPS) for name in ("skin_colour", "hair_length"))
shown = seeding.rng(0, "index: the face of the widget").integers(len(bare))

# %% tags=["remove-cell"]
face = bare[shown : shown + 1]
every = torch.cat([do(face, skin_colour=s, hair_length=h) for s in skins for h in hairs])
faces = facerender.render(every, SIZE).image.reshape(STEPS, STEPS, 3, SIZE, SIZE)
scores = {k: np.char.mod("%.2f", v).reshape(STEPS, STEPS) for k, v in asked(every).items()}

# %% tags=["remove-cell"]
ends = [do(bare, skin_colour=s, hair_length=h) for s in skins[[0, -1]] for h in hairs[[0, -1]]]
rows = []
for name, of_ends in asked(torch.cat(ends)).items():
    by_end = of_ends.reshape(2, 2, len(bare))  # skin, hair, face
    of_skin, of_hair = (np.diff(by_end, axis=axis).ravel() for axis in (0, 1))
    larger = "hair" if abs(of_hair.mean()) > abs(of_skin.mean()) else "skin"
    rows.append(f"| {name} | {of_skin.mean():+.2f} | {of_hair.mean():+.2f} | {larger} |")
over_all = Markdown(
    with_minus(
        f"The face was drawn at random among {len(bare)} made faces. Over all of them, the score changes on average by:\n\n"
        "| model | dark instead of light skin | long instead of short hair | larger change |\n|---|---|---|---|\n"
        + "\n".join(rows)
    )
)
glue("over_all", over_all, display=False)

# %% [markdown]
# **Is it the skin, or the hair?** Two models guess the gender that people perceive in a face. Guess
# first: which slider will move their answers more? A score near one
# means *male*.

# %% tags=["hide-input"]
ends = {"skin colour": ("light", "dark"), "length of hair": ("short", "long")}
heads = ("model", "score: male")
widgets.explorable(
    "face",
    "A made face whose skin colour and length of hair two sliders change, with both models' scores.",
    sheet=widgets.sheet(faces),
    alt="a made face",
    heads=heads,
    sliders=ends,
    answers={name: text.tolist() for name, text in scores.items()},
)

# %% [markdown]
# :::{admonition} And over all faces?
# :class: dropdown
# ```{glue:md} over_all
# :format: myst
# ```
# :::
#
# ::::{grid} 2 2 4 4
# :gutter: 2
#
# :::{grid-item}
# ```{button-ref} tour
# :color: primary
# :expand:
# The book in twenty minutes
# ```
# :::
#
# :::{grid-item}
# ```{button-ref} 01_observational_audit
# :color: primary
# :outline:
# :expand:
# Start chapter 1
# ```
# :::
#
# :::{grid-item}
# ```{button-ref} 18_audit_your_model
# :color: primary
# :outline:
# :expand:
# Audit my model
# ```
# :::
#
# :::{grid-item}
# ```{button-ref} teach
# :color: primary
# :outline:
# :expand:
# Teach with it
# ```
# :::
#
# ::::
#
# How to audit a face model with an experiment, tested where the true answer is known. For data scientists, auditors and teachers
# who know some Python and have had one course in statistics. It runs on a laptop.

# %% tags=["remove-cell"]
experiment = artifacts.load("10_matched_pairs", "results.json", profile)
experiment |= artifacts.load("11_who_was_right", "results.json", profile)
carried = artifacts.load("17_transport", "results.json", profile)
published = artifacts.load("19_published_models", "results.json", profile)

# %% tags=["remove-cell"]
ladder = artifacts.load("11_who_was_right", "ladder.parquet", profile)
portraits = artifacts.load("01_observational_audit", "ppb.parquet", profile)
sitters = artifacts.load("01_observational_audit", "ppb_parameters.npy", profile)
index = artifacts.load("05_transect_generation", "fitted_index.parquet", profile).reset_index()

# %% tags=["remove-cell"]
kinds = portraits[["skin", "hair"]].astype(str).agg(" ".join, axis="columns")
women = kinds.where(portraits["label"] == 0).to_numpy()
counted = [
    np.flatnonzero(women == kind)[k] for k in range(2) for kind in ("light long", "dark short")
]
short_haired = index[(index["gender_level"] == 0) & (index["hair_length_level"] == 0)]
pairs = short_haired.sort_values(["transect", "skin_colour_level"]).index[:4]


# %% tags=["remove-cell"]
def keep(name, figure):
    """Glue a figure of a card."""
    glue(name, figure, display=False)
    plt.close(figure)


def square(parameters):
    """Four faces in two rows."""
    pictures = facerender.render(torch.from_numpy(parameters), SIZE).image
    figure, axes = plt.subplots(2, 2, figsize=(3.2, 3.2))
    for ax, picture in zip(axes.flat, figures.as_pixels(pictures), strict=True):
        ax.imshow(picture)
        ax.set_axis_off()
    return figure


# %% tags=["remove-cell"] mystnb={"image": {"alt": "Portraits as they come, and made faces in pairs."}, "figure": {"caption": "Portraits and made faces."}}
# Computed by faceworld.populations.sample (chapter 1) and
# faceaudit.latents.calibration.step_to_targets (chapter 5).
keep("counting", square(sitters[counted]))
keep("made", square(made[pairs]))
of_model = ladder[(ladder["model"] == audited) & (ladder["arm"] == "C crowd")]
cells = of_model[(of_model["attribute"] == "skin_colour") & of_model["cell"].str.contains(",")]

# %% tags=["remove-cell"] mystnb={"image": {"alt": "Intervals of the effect of dark skin on errors in four cells, each with a diamond."}, "figure": {"caption": "What the experiment found, and the truth."}}
# Computed by faceworld.scorecard.error_sources.compare_with_truth (chapter 11).
figure, ax = plt.subplots(figsize=(2.6, 2.9))  # small, so that its letters are large in a card
rows = 100 * cells.set_index("cell")[["estimate", "low", "high", "truth"]].sort_index()
rows = rows.rename(lambda cell: cell.replace(", ", ",\n"))
figures.forest(rows[["estimate", "low", "high"]], rows["truth"], "effect of dark\nskin, points", ax)
ax.get_legend().remove()
keep("checked", figure)

# %% [markdown]
# ::::{grid} 1 1 3 3
# :gutter: 3
#
# :::{grid-item-card} Counting misleads
# :link: 01_observational_audit
# :link-type: doc
# ```{glue:figure} counting
# :alt: Four portraits of women, two with light skin and hair to the chin, two with dark skin and short hair.
# ```
# Dark skin and short hair come together in collected portraits. A count of errors blames skin for both.
# :::
#
# :::{grid-item-card} Make matched faces
# :link: 05_transect_generation
# :link-type: doc
# ```{glue:figure} made
# :alt: Two made women, each with light and with dark skin. The rest of each face stays.
# ```
# A generator makes faces to order. Each pair is meant to differ in one attribute.
# :::
#
# :::{grid-item-card} Check against the truth
# :link: 11_who_was_right
# :link-type: doc
# ```{glue:figure} checked
# :alt: Intervals of the effect of dark skin on errors in four cells, each with a diamond for the true effect.
# ```
# Bars show what the experiment found. Diamonds show the true effects, which the drawn world knows.
# :::
# ::::

# %% [markdown]
# ## Four findings
#
# The table has what counting said, what the experiment said, what was true, and how much was hair: differences in the error
# rate of women, dark minus light skin, in points. The numbers are those of the run behind these pages.

# %% tags=["hide-input"]
of_women = experiment["skin_on_women"]
of_hair_alone = {
    name: experiment["gap_taken_apart"][name]["hair length alone"] for name in (audited, other)
}
said = {
    "counting: the gap between portraits": of_women["counted gap"],
    "the experiment: skin, on made women": of_women["found effect on transects"],
    "the truth: skin, on the same made women": of_women["true effect on transects"],
    "the truth: skin, on the women who were counted": of_women["true effect on the counted"],
    "the truth: hair length alone, on the women who were counted": of_hair_alone,
}
table = {
    row: {name: in_points(values[name]["estimate"]) for name in (audited, other)}
    for row, values in said.items()
}
pd.DataFrame(table).T

# %% [markdown]
# What skin and hair change one by one need not add up to the gap. Where a finding names no other source, it was true in all of
# [twenty other runs](#twenty-other-seeds), each with its own seed.

# %% tags=["remove-cell"]
RECORDS = ROOT / "benchmarks" / "results"
by_seed = json.loads((RECORDS / "counted_gap.json").read_text(encoding="utf-8"))["rows"]
by_seed = counted_gap.by_seed(by_seed)["hair length alone"]


def over_seeds(name):
    """Least and most that hair length alone changes in other seeds, and in this run, in points."""
    least, most = by_seed.loc[name].min(), by_seed.loc[name].max()
    here = of_hair_alone[name]["estimate"]
    beyond = "" if least <= here <= most else ", outside this range"
    return (
        f"{in_points(least)} to {in_points(most)} points ({name}; here {in_points(here)}{beyond})"
    )


# %% tags=["hide-input"]
share = experiment["share_on_counted"]
of_hair = {
    name: {"estimate": row["share"], "low": row["share_low"], "high": row["share_high"]}
    for name, row in (
        (name, experiment["gap_taken_apart"][name]["hair length alone"]) for name in share
    )
}
claim(
    "If we change only the skin of the counted women, their errors change by {one:.0%} of the gap for the "
    "{audited} model and by {two:.0%} for the {other} model. Both estimates are below the whole gap. If we change only the length of "
    "their hair, the errors change by {hair_one:.0%} and by {hair_two:.0%} of it. Over {seeds} other seeds they change by {seeds_one}, and by {seeds_two}.",
    margins=[margin_below(part, 1) for part in share.values()],
    title="Counts overstate what skin does",
    one=share[audited],
    two=share[other],
    hair_one=of_hair[audited],
    hair_two=of_hair[other],
    seeds=len(by_seed.loc[audited]),
    seeds_one=over_seeds(audited),
    seeds_two=over_seeds(other),
    audited=audited,
    other=other,
)

# %% tags=["hide-input"]
claim(
    "A third model has a planted bias. It harms dark-skinned women and helps dark-skinned men. A "
    "regression with one effect for everybody does not report that dark skin raises errors. The analysis "
    "by cell finds that it does for women.",
    margins=[Margin(**margin) for margin in experiment["plantskin"]["margins"].values()],
    title="Averages hide what cells show",
)

# %% tags=["hide-input"]
runs = json.loads((RECORDS / "seeds_runs.json").read_text(encoding="utf-8"))["rows"]
runs = pd.DataFrame(runs)
smaller = {
    name: (
        runs[f"{name}, found effect on transects"].abs()
        < runs[f"{name}, true effect on the counted"].abs()
    ).sum()
    for name in (audited, other)
}
Markdown(
    f"**The experiment can understate.** It tells what skin does to made women. In {smaller[audited]} of {len(runs)} other runs ({audited}) "
    f"and in {smaller[other]} ({other}) that is smaller in size than what skin does to the women who were counted. [Note N12](n12_counted_people.html) "
    "changes the skin in the counted women's own portraits, which comes nearer on average over seeds, though not in every run."
)

# %% tags=["hide-input"]
missed, missed_error = (
    carried[name]["PPB-like"]["three attributes"]["women, dark − light"]
    for name in ("transport_misses", "transport_miss_errors")
)
claim(
    "We give each group of the experiment the weight that it has among the portraits, and predict the gap of women. "
    "The prediction is off by {mean:.1f} points on average over three models, one of them with a planted bias.",
    margins=[Margin(missed - 5, missed_error)],
    title="Made faces do not carry to portraits by reweighting",
    mean=missed,
)

# %% [markdown]
# ## Models that people install
#
# In the drawn world the method is checked against the truth. The last chapter leaves that world, and there no truth is known: it asks
# published models about faces that look like photographs and exist nowhere, with light, medium and dark skin.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two photographic faces of adults who exist nowhere, each with light, medium and dark skin. Within a row expression, pose and background stay alike."}, "figure": {"name": "fig-index-published", "caption": "Two faces of the study, made with light, medium and dark skin. Generated faces; no such person exists."}}
# Made by published.sheet (chapter 19).
sheet = np.asarray(Image.open(ROOT / "audits/published/faces.jpg")).transpose(2, 0, 1)
side = sheet.shape[2] // 5
shown_faces = sheet[:, : 2 * side, : 3 * side].reshape(3, 2, side, 3, side)
_ = figures.gallery(shown_faces.transpose(1, 3, 0, 2, 4).reshape(-1, 3, side, side), 3)

# %% tags=["hide-input"]
hair = published["less male with longer hair"]
ages = published["more years along the measured axis, fewer along people's"]
Markdown(
    f"Along a plane of hair length that was fitted to people's answers, all {hair['networks']} networks that tell gender find faces with longer "
    f"hair less male, by {100 * hair['least']:.0f} to {100 * hair['most']:.0f} points of a score. What darker skin does depends on the axis: "
    f"{ages['both']} of {ages['networks']} networks that tell ages say more years along an axis that is measured on the pixels, and fewer along one "
    "that was fitted to people's answers. [What published models do](what-published-models-do.html) has all networks, with controls."
)

# %% [markdown]
# **What the method cannot tell you.** The experiment speaks of the faces that it made, and of the networks that it asked. Other
# networks, trained on other faces, differ in what skin does to their errors. The book makes no statement about
# photographs or about any group of people, and [data and ethics](data-and-ethics.md) says what its numbers must not be used for.

# %% [markdown]
# ## The path
#
# **Question.** The chapters follow one audit from the question to the report. Each begins with its question and its answer, and ends
# with exercises that have solutions. The first two pose the question.
#
# :::::{grid} 2 2 3 3
# :gutter: 2
#
# ::::{grid-item-card} 1 Counting errors
# :link: 01_observational_audit
# :link-type: doc
# :img-top: _01_observational_audit.*
# :img-alt: First picture of chapter 1
# What does a count of errors on portraits tell us?
# :::{card-footer}
# {{minutes 01_observational_audit}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 2 A world with a known answer
# :link: 02_face_world
# :link-type: doc
# :img-top: _02_face_world.*
# :img-alt: First picture of chapter 2
# Where do faces, portraits and models come from?
# :::{card-footer}
# {{minutes 02_face_world}} minutes
# :::
# ::::
# :::::

# %% [markdown]
# **Experiment.** Five chapters make the experiment.
#
# :::::{grid} 2 2 3 3
# :gutter: 2
#
# ::::{grid-item-card} 3 Direction fitting
# :link: 03_direction_fitting
# :link-type: doc
# :img-top: _03_direction_fitting.*
# :img-alt: First picture of chapter 3
# Where among the codes does an attribute grow?
# :::{card-footer}
# {{minutes 03_direction_fitting}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 4 Orthogo­nalization
# :link: 04_orthogonalization
# :link-type: doc
# :img-top: _04_orthogonalization.*
# :img-alt: First picture of chapter 4
# How does one attribute change without the others?
# :::{card-footer}
# {{minutes 04_orthogonalization}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 5 Transects on a GPU
# :link: 05_transect_generation
# :link-type: doc
# :img-top: _05_transect_generation.*
# :img-alt: First picture of chapter 5
# How are groups of matched faces made?
# :::{card-footer}
# {{minutes 05_transect_generation}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 6 Annotation ingestion
# :link: 06_annotation_ingestion
# :link-type: doc
# :img-top: _06_annotation_ingestion.*
# :img-alt: First picture of chapter 6
# What do people see, and how far do they agree?
# :::{card-footer}
# {{minutes 06_annotation_ingestion}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 7 Pruning
# :link: 07_pruning
# :link-type: doc
# :img-top: _07_pruning.*
# :img-alt: First picture of chapter 7
# Which images may be dropped, and at what price?
# :::{card-footer}
# {{minutes 07_pruning}} minutes
# :::
# ::::
# :::::

# %% [markdown]
# **Results.** Five chapters analyse the experiment and look up the truth.
#
# :::::{grid} 2 2 3 3
# :gutter: 2
#
# ::::{grid-item-card} 8 Stratified errors
# :link: 08_stratified_errors
# :link-type: doc
# :img-top: _08_stratified_errors.*
# :img-alt: First picture of chapter 8
# Where does the model err on matched faces?
# :::{card-footer}
# {{minutes 08_stratified_errors}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 9 Logistic ATE
# :link: 09_logistic_ate
# :link-type: doc
# :img-top: _09_logistic_ate.*
# :img-alt: First picture of chapter 9
# What does the paper's regression say?
# :::{card-footer}
# {{minutes 09_logistic_ate}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 10 Cell by cell: matched pairs
# :link: 10_matched_pairs
# :link-type: doc
# :img-top: _10_matched_pairs.*
# :img-alt: First picture of chapter 10
# What changes the answer within a pair?
# :::{card-footer}
# {{minutes 10_matched_pairs}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 11 Who was right?
# :link: 11_who_was_right
# :link-type: doc
# :img-top: _11_who_was_right.*
# :img-alt: First picture of chapter 11
# Did the experiment find the true effects?
# :::{card-footer}
# {{minutes 11_who_was_right}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 12 What leaked
# :link: 12_hidden_attributes
# :link-type: doc
# :img-top: _12_hidden_attributes.*
# :img-alt: First picture of chapter 12
# Which other attributes moved along?
# :::{card-footer}
# {{minutes 12_hidden_attributes}} minutes
# :::
# ::::
# :::::

# %% [markdown]
# **Other tasks.** Three chapters ask other models.
#
# :::::{grid} 2 2 3 3
# :gutter: 2
#
# ::::{grid-item-card} 13 Sensitivity flips
# :link: 13_sensitivity_flips
# :link-type: doc
# :img-top: _13_sensitivity_flips.*
# :img-alt: First picture of chapter 13
# What besides a smile flips a smile detector?
# :::{card-footer}
# {{minutes 13_sensitivity_flips}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 14 Same face?
# :link: 14_verification_measures
# :link-type: doc
# :img-top: _14_verification_measures.*
# :img-alt: First picture of chapter 14
# How alike are two pictures of one person?
# :::{card-footer}
# {{minutes 14_verification_measures}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 15 Verification curves
# :link: 15_verification_curves
# :link-type: doc
# :img-top: _15_verification_curves.*
# :img-alt: First picture of chapter 15
# Whom does a recogniser fail?
# :::{card-footer}
# {{minutes 15_verification_curves}} minutes
# :::
# ::::
# :::::

# %% [markdown]
# **Use it.** Three chapters prepare an audit of your own, and one asks models that people install.
#
# :::::{grid} 2 2 3 3
# :gutter: 2
#
# ::::{grid-item-card} 16 Planning
# :link: 16_planning
# :link-type: doc
# :img-top: _16_planning.*
# :img-alt: First picture of chapter 16
# How many faces does an audit need?
# :::{card-footer}
# {{minutes 16_planning}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 17 Carrying results elsewhere
# :link: 17_transport
# :link-type: doc
# :img-top: _17_transport.*
# :img-alt: First picture of chapter 17
# What does an audit say about other people?
# :::{card-footer}
# {{minutes 17_transport}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 18 Audit your own model
# :link: 18_audit_your_model
# :link-type: doc
# :img-top: _18_audit_your_model.*
# :img-alt: First picture of chapter 18
# How does one file become a report?
# :::{card-footer}
# {{minutes 18_audit_your_model}} minutes
# :::
# ::::
#
# ::::{grid-item-card} 19 Published models
# :link: 19_published_models
# :link-type: doc
# :img-top: _19_published_models.*
# :img-alt: First picture of chapter 19
# What do models that people install say of darker skin?
# :::{card-footer}
# {{minutes 19_published_models}} minutes
# :::
# ::::
# :::::

# %% [markdown]
# Do you have less time? Read the [tour](tour) and chapters 1, 2, 4, 5, 8, 9, 10, 11, 13 and 15. The [advanced notes](notes) go further: which
# estimators can be trusted, when transects fail, how real generators are read. The [manual](manual) leads through an audit with files of yours,
# and the [glossary](glossary.md) explains the terms.

# %% [markdown]
# ## Run it
#
# The first command sets everything up, runs the chapters and builds these pages. The second opens them in a browser on
# your own computer. The pages load every file from this site. [Open a chapter](open-a-chapter) says how to change one.
#
# ```bash
# make reproduce
# make serve
# ```
#
# Cite the book as `CITATION.cff` says, together with the [papers](references.md) that it implements. The text is under CC BY 4.0, the
# code under BSD 3-Clause.
