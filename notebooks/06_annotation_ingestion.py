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
# # Annotation ingestion
#
# *You need [chapter 5](05_transect_generation) (the images of the transects).
# Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# We intended a face to be male, long-haired and dark-skinned. People may see something else. What do
# {term}`annotators <annotator>` see in the images of the transects, how far do they agree, and did each change reach its
# target and move only that?
#
# ```{glue:md} answer
# :format: myst
# ```

# %% [markdown]
# :::{admonition} Design contract
# :class: dropdown
#
# | | |
# |---|---|
# | Population | all images of the main arm's transects |
# | Unit | one answer: an annotator's level for one attribute of one image |
# | Intervention | here none; the levels of the axes were set in [](05_transect_generation) |
# | Held fixed | the questions, their levels and the number of annotators of each image |
# | Outcome and who labels it | perceived score: mean level over the highest level, from zero to one, by a simulated crowd |
# | Estimand | the perceived change of every attribute when one axis goes from low to high, within transects |
# | Tolerance and n | a rater is flagged beyond three robust standard deviations; intervals are over images or transects |
# | Decision at stake | which label a model is judged by, and which leaks the analysis has to know |
# | Known failure | agreement measures noise; an error that all annotators share is invisible |
# :::

# %% tags=["hide-cell"]
import json
from collections import Counter
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import statsmodels.api as sm
import torch
from IPython.display import Markdown
from myst_nb import glue
from scipy.stats import median_abs_deviation, norm
from statsmodels.stats.proportion import confint_proportions_2indep

import facerender
from faceaudit import annotations
from faceaudit.annotations import ATTRIBUTES
from faceaudit.effects import error_rates
from faceaudit.utils.formatting import with_minus
from faceworld import crowd, load_generator
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim, margin_above
from helpers.figures import charts, widgets

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
figure_size = 256
n_population = 2000
n_raters = 5
n_boot = 1000

# %% tags=["remove-cell"]
PHONE = 4.8  # inches: a figure as wide as this can be read on a phone
stage = Stage("06_annotation_ingestion", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# Chapter 5 left a row of parameters for each image. From these we know what an image really shows (`shown`). In the first figure nine
# annotators judge the faces along one direction. A logistic curve is fitted to their mean scores.

# %%
index = stage.load("05_transect_generation", "fitted_index.parquet").set_index("image_id")
parameters = np.array(stage.load("05_transect_generation", "fitted_parameters.npy"))
shown = facerender.visible_scores(torch.from_numpy(parameters)).set_index(index.index)
del parameters  # of a long study hundreds of megabytes

# %%
walked = stage.load("05_transect_generation", "lines.parquet")
walked.index = [f"line-{number:02}" for number in range(len(walked))]
faces = torch.from_numpy(walked[[*facerender.INDEX]].to_numpy("float32", copy=True))
along = facerender.visible_scores(faces).set_axis(walked.index)
nine = crowd.annotate(crowd.perceived(along), 9, seed=seed, stage=f"{stage.name}/lines")
nine = nine[nine["status"] == "accepted"]

# %% tags=["remove-cell"]
_ = stage.save("lines_answers.parquet", nine[["image_id", *ATTRIBUTES]].reset_index(drop=True))

# %%
value = walked.loc[walked["attribute"] == "gender", "decision value"]
levels = ATTRIBUTES["gender"]
top = len(levels) - 1
chosen = pd.crosstab(nine["image_id"], nine["gender"])
chosen = chosen.reindex(value.index, columns=range(top + 1), fill_value=0)
mean = chosen @ range(top + 1) / (9 * top)
curve = sm.GLM(mean, sm.add_constant(value), family=sm.families.Binomial()).fit()
strip = stage.load("05_transect_generation", "lines.npy")[:, :, ::2, ::2]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Seven drawn faces of one person in a row, more and more masculine from left to right. Under each face a column of cells counts how many of nine annotators chose each of five levels, from female to male. The counts move from the bottom left to the top right, and a curve runs through them."}, "figure": {"name": "fig-nine", "caption": "Seven images of a one-dimensional transect in gender. The cells count how many of nine annotators chose each level. The curve is a logistic fit to the mean scores. After Fig. 7 of the transects paper. Note N9 has hair and skin."}}
# Computed by faceworld.crowd.annotate and statsmodels.api.GLM.
figure, (above, below) = plt.subplots(2, 1, figsize=(PHONE, 3.6), height_ratios=[1, 4])
every = np.flatnonzero(walked["attribute"] == "gender")[::2]
above.imshow(np.hstack(figures.as_pixels(strip[every])))
above.set_axis_off()
cells = chosen.iloc[::2].set_axis([*levels], axis=1).T[::-1]
heat = {"cmap": "Blues", "vmin": 0, "vmax": 11, "cbar": False, "linewidths": 1}
sns.heatmap(cells, annot=True, mask=cells == 0, xticklabels=False, ax=below, **heat)
heights = top + 0.5 - top * curve.fittedvalues
below.plot(np.arange(len(value)) / 2 + 0.5, heights, color=figures.VERMILION, alpha=0.7)
below.set(xlabel="", ylabel="")
title = (
    f"Nine annotators’ mean score of gender\nrises from {mean.iloc[0]:.2f} to {mean.iloc[-1]:.2f}"
)
_ = figure.suptitle(title, fontsize=12)

# %% [markdown]
# (erratum-levels)=
# ## Eight questions
#
# Each attribute is a question with a few ordered levels. They follow the interface in Fig. 6 of
# {cite:t}`transects`. Skin colour has six levels named after the types of {cite:t}`fitzpatrick`, as a
# scale of colour and not of origin. Section 4.3 of the paper speaks of three to six levels. The lists that
# its authors published with their answers {cite:p}`matching` have four to six. Six of these lists are used
# here word for word.

# %%
pd.set_option("display.max_colwidth", None)
asked = pd.Series({name: ", ".join(levels) for name, levels in ATTRIBUTES.items()})
asked.str.lower().to_frame("levels, from low to high").rename(lambda name: name.replace("_", " "))

# %% [markdown]
# The same questions set up the annotation tool. Label Studio takes a small XML file and shows one question
# per `Choices` element beside the image. A class can work without a server, with one
# HTML page. [](a-study-with-label-studio) sets up either.

# %%
config = annotations.labelling_config()
_ = stage.path("config.xml").write_text(config, encoding="utf-8")

# %% [markdown]
# (erratum-attributes)=
# Section 4.3 of {cite:t}`transects` says that seven attributes were asked about, and then lists eight: seven
# and {term}`fakeness`. The total decides. The paper annotates five thousand single images and a thousand
# transects of eight images, each attribute five times, and reports 0.52 million annotations. <!-- paper -->
# Only eight attributes give this total. A study that budgets for seven forgets an eighth of the bill, and
# has no question to prune fakes by.

# %%
images_annotated = 5_000 + 1_000 * 8
totals = {count: images_annotated * count * 5 for count in (7, 8)}
pd.Series(totals, name="annotations").rename_axis("attributes").to_frame().style.format("{:,}")

# %% tags=["remove-cell"]
assert len(ATTRIBUTES) == 8
assert images_annotated * len(ATTRIBUTES) * 5 == 520_000

# %% [markdown]
# ## A simulated crowd
#
# This book must run without a crowd, so it simulates one. A simulated {term}`annotator` reads an attribute
# off the renderer's parameters, adds a personal bias and some noise, and answers with the nearest level. A few are careless and answer half of the questions at random. The noise was fitted to real
# answers about five thousand StyleGAN2 images {cite:p}`matching`. [](n09_replication_gallery) lists it.

# %% [markdown]
# All annotators share one habit. People name the gender of nearly all photographs without hair, beard and
# makeup {cite:p}`burton-gender`, but hair alone calls up a gender {cite:p}`macrae-hair`. So these annotators
# start from the shape of the face and add something for each {term}`cue`: a beard counts towards male, makeup
# and long hair towards female. The strength of the cues is an assumption, and [](n02_when_transects_fail) varies
# it. The table has the noise of an answer, and what a cue adds to perceived gender (zero female, one male)
# from one end of its own scale to the other.

# %%
noise = {name: one.noise for name, one in crowd.DISAGREEMENT.items()}
cues = {name: cue.strength for name, cue in crowd.CUES.items()}
of_crowd = pd.DataFrame({"noise, levels": noise, "cue": pd.Series(cues)}, [*noise])
of_crowd.rename(charts.spaced).style.format("{:.2f}", na_rep="")

# %% [markdown]
# Apart from the cues these annotators err independently of the picture and of each other. Real people see
# skin as darker in dim light, differ by where they grew up, and get tired. So wherever this chapter finds
# the crowd trustworthy, a real study has to show it again.

# %% [markdown]
# The table `shown` holds the scores that a {term}`perfect crowd` would give, with gender as the shape of the
# face alone. It exists only in a world with {term}`known truth`. It drives the simulated crowd, settles
# {term}`gold questions <gold question>`, and says at the end how much of the crowd's report is in the
# pictures. Later estimates may never look at it. A *visit* is one image with answers to all questions. Each
# visit that was rejected or cancelled is replaced by another.

# %%
answers = crowd.annotate(crowd.perceived(shown), n_raters, seed=seed, stage=stage.name)
n_annotators = answers["rater"].nunique()
in_all = {"annotators": n_annotators, "visits": len(answers), **answers["status"].value_counts()}
pd.Series(in_all, name="number").to_frame().style.format("{:,}")

# %% [markdown]
# ## Written to a file and read back
#
# The crowd writes the file that a real Label Studio project exports, and the package reads it as it would
# read yours. Reading turns every format into one tidy table with a row per answer. It also leaves a report,
# with a line for each reason for which an answer was dropped or noted, and the
# place of the first case.

# %%
export = stage.path("export.json")
annotations.write_label_studio(answers, export)
first = index.index[:10_000]  # are enough to know a rater by; in a long study all take gigabytes
answers = answers[answers["image_id"].isin(first)]
tidy, report = annotations.read_label_studio(export)
reasons = report[report["count"] > 0].set_index("reason")[["unit", "count", "dropped"]]
reasons.assign(dropped=reasons["dropped"].map({True: "yes", False: "no"}))


# %%
def tasks() -> Iterator[dict]:
    """The tasks of the export; each has a line, so that no more than one is held at a time."""
    with export.open(encoding="utf-8") as lines:
        yield from (json.loads(line.strip("[],\n")) for line in lines)


# %% [markdown]
# Rejected assignments appear as cancelled ones, because Label Studio knows no rejection. A duplicate is a
# second submission by one annotator about one image: the first answer counts, or eager annotators would
# vote twice. The accounts must balance. The next cell counts the answers in the file and compares. A cancelled
# visit carries no answers, a rejected one eight.

# %%
counted = Counter()
for task in tasks():
    for visit in task["annotations"]:
        counted[visit["was_cancelled"]] += len(visit["result"])
repeated = report.set_index("reason").loc["duplicate", "count"]

# %%
written = counted.total()
voided = counted[True]
account = {"written": written, "kept": len(tidy), "voided": voided, "repeated": repeated}
pd.Series(account, name="answers").to_frame().style.format("{:,}")

# %% tags=["remove-cell"]
assert written == len(tidy) + voided + repeated
assert len(tidy) == len(index) * len(ATTRIBUTES) * n_raters
assert not tidy["annotator_id"].str.contains("@").any()
assert tidy["annotator_id"].nunique() <= n_annotators

# %% [markdown]
# One worker signed with an e-mail address. Addresses are personal data, and
# worker numbers can be traced to people. So both leave the reader as a keyed hash, a code made with a secret: an annotator keeps one
# pseudonym, and the address is gone. The hash protects as long as its secret, the salt, is private. Set your own before
# you publish a table, and keep the export to yourself. Damaged files are refused or repaired row by row, as
# [](a-study-with-label-studio) shows.

# %% [markdown]
# ## From answers to scores
#
# Mean, spread, majority and every measure of agreement depend only on how often each level was chosen for an
# image. So the long table folds into one array of counts per attribute, with images in rows and levels in
# columns. The table has the counts of one image, for the question about gender.

# %%
image_ids, counts = annotations.count_tensor(tidy)
pd.Series(counts["gender"][0], [*ATTRIBUTES["gender"]], name="answers about image 1").to_frame()

# %% tags=["remove-cell"]
stage.save("annotations.parquet", tidy)

# %% [markdown]
# The score of an image is its mean level divided by the highest level, from zero to one. The label that
# models are judged by is one if the mean score of gender is at least a half. We call it the *majority label*;
# a mean can differ from a vote. A face exactly in between must fall on one side. [](07_pruning) removes such faces and asks for the price.

# %%
scores = annotations.scores(tidy).reindex(index.index)
scores["label"] = error_rates.majority(scores["gender"])
kept = len(tidy)
tidy = tidy[tidy["image_id"].isin(first)]  # from here on only to know raters by
first_three = scores.head(3).T.rename(charts.spaced).rename_axis(columns="image")
first_three.style.format("{:.2g}").format_index(escape="html", axis=1)

# %% tags=["remove-cell"]
stage.save("scores.parquet", scores)
spread = pd.DataFrame({name: annotations.standard_deviation(c) for name, c in counts.items()})
_ = stage.save("spread.parquet", spread)

# %% [markdown]
# ### Try it: label ten faces
#
# Answer the question about age for ten of the images. Afterwards the annotators' answers
# appear beside yours. The label of a face is what most people say.

# %% tags=["hide-input"]
ten = np.linspace(0, len(image_ids) - 1, 10).astype(int)
rows = index.index.get_indexer(image_ids[ten])
widgets.explorable(
    "label",
    "Ten made faces, one after the other, and six buttons for the age that you perceive.",
    sheet=widgets.sheet(stage.load("05_transect_generation", "fitted_images.npy")[rows][None]),
    scale=list(ATTRIBUTES["age"]),
    crowd=counts["age"][ten].tolist(),
    attribute="Age that you perceive",
)

# %% [markdown]
# ## Do annotators agree?
#
# {term}`Krippendorff's alpha` compares the disagreement within images with that between answers drawn from
# all images: one is perfect, zero is chance {cite:p}`krippendorff`. The {term}`ICC` is the share of the
# variance of *mean* scores that comes from the images {cite:p}`shrout-fleiss`. More annotators raise the ICC
# and leave alpha as it is. Intervals {term}`resample <bootstrap>` images.

# %%
agreement = annotations.agreement_table(counts, n_boot=n_boot, seed=seed)

# %% tags=["remove-cell"]
_ = stage.save("agreement.parquet", agreement)

# %% [markdown]
# Real values come from the published ratings: alpha and ICC of seven annotators per image, nine for gender.
# We restate each ICC for as many annotators as we have, by the Spearman–Brown formula. It solves for the
# {term}`reliability` of a single annotator, then averages over the wanted number.

# %%
published = pd.DataFrame(
    {
        "gender": {"alpha": 0.867, "icc": 0.986, "raters": 9},
        "facial_hair": {"alpha": 0.430, "icc": 0.834, "raters": 7},
        "skin_colour": {"alpha": 0.213, "icc": 0.686, "raters": 7},
        "age": {"alpha": 0.562, "icc": 0.925, "raters": 7},
        "makeup": {"alpha": 0.289, "icc": 0.733, "raters": 7},
        "hair_length": {"alpha": 0.571, "icc": 0.901, "raters": 7},
    }
).T
single = published["icc"] / (published["raters"] - (published["raters"] - 1) * published["icc"])
published["icc"] = n_raters * single / (1 + (n_raters - 1) * single)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, alpha on the left and ICC on the right, one row per attribute. Filled circles with intervals are the simulated crowd on the transects, open diamonds the published real crowd on random StyleGAN2 images. The simulated crowd's values for skin colour lie far to the right of the real ones, those for facial hair and makeup far to the left."}, "figure": {"name": "fig-agreement", "caption": "Agreement about the transects (circles, 95% intervals over images) and the published values for random StyleGAN2 images (diamonds). No values were published for smiling and fakeness. The two sets of images differ."}}
# Computed by faceaudit.annotations.agreement.agreement_table.
fig, axes = plt.subplots(1, 2, figsize=(PHONE, 4.6), sharey=True, sharex=True)
rows = np.arange(len(agreement))[::-1]
for ax, name in zip(axes, ("alpha", "icc"), strict=True):
    value = agreement[name]
    whiskers = [value - agreement[f"{name}_low"], agreement[f"{name}_high"] - value]
    ax.errorbar(value, rows, xerr=whiskers, fmt="o", capsize=4, label="here, 95% interval")
    real = published[name].reindex(agreement.index)
    ax.plot(real, rows, "D", color=figures.VERMILION, markerfacecolor="none", label="published")
    ax.set(xlabel={"alpha": "Krippendorff's alpha", "icc": "ICC of the mean"}[name])
    ax.set(xlim=(-0.08, 1.08), xticks=[0, 0.5, 1])
axes[0].set_yticks(rows, [name.replace("_", " ") for name in agreement.index])
fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncol=2)
here, there = agreement.loc["skin_colour", "alpha"], published.loc["skin_colour", "alpha"]
title = f"Alpha of skin colour: {here:.2f} on {len(image_ids):,} images\nhere, {there:.2f} on random faces"
_ = fig.suptitle(title, fontsize=12)

# %% [markdown]
# ### Little agreement may mean little to agree about
#
# The noise was fitted to the real crowd, and agreement about skin colour is still far higher here. The images
# differ: the real ones show mostly light skin, and the transects go from light to dark. Facial hair and
# makeup are held low on purpose, and agreement about them is far lower. This is *restriction of range*. We
# reproduce it with the images of one intended level of skin only, and the same answers.

# %%
level = index["skin_colour_level"].reindex(image_ids).to_numpy()
skin = {"all images": counts["skin_colour"]}
skin |= {f"intended level {k}": counts["skin_colour"][level == k] for k in np.unique(level)}
restricted = annotations.agreement_table(skin, n_boot=n_boot, seed=seed)

# %%
# Half of alpha in all images, minus alpha within a level; the error joins those of both.
one_level = restricted["alpha"].iloc[1:]
fall = restricted["alpha"].iloc[0] / 2 - one_level
alpha_error = (restricted["alpha_high"] - restricted["alpha_low"]) / (2 * norm.ppf(0.975))
fall_error = np.hypot(alpha_error.iloc[0] / 2, alpha_error.iloc[1:])

# %% tags=["hide-input"]
claim(
    "Alpha falls from {all:.2f} in all images to {levels[0]:z.2f} and {levels[1]:z.2f} "
    "within a level, with the same annotators. That of random StyleGAN2 images is {real:.2f}.",
    margins=list(map(Margin, fall, fall_error)),
    all=restricted["alpha"].iloc[0],
    levels=one_level.tolist(),
    real=published.loc["skin_colour", "alpha"],
)

# %% [markdown]
# So a low alpha is no verdict on annotators. It is a warning about estimates: where true scores hardly vary,
# noise makes up most of the observed variation. An effect that is regressed on such scores is multiplied
# roughly by the ICC. An attribute that varies little cannot be audited well by any crowd.

# %% [markdown]
# ## Does anybody answer at random?
#
# A few members of the crowd may hardly look. To find them we compare every answer with the mean of the
# *others'* answers to the same question, in units of the scale, and average the distances for each rater.
# This works without knowing the right answer. A rater is *flagged* whose mean distance lies more than three
# robust standard deviations above that of the median rater. A robust standard deviation comes from the median
# distance to the median {cite:p}`median-deviation`. Times and gold questions play no part in the flag.

# %%
CUT = 3
early = index["transect"].isin(range(20))
nearest = (shown["skin_colour"][early] * (len(ATTRIBUTES["skin_colour"]) - 1)).round().astype(int)
gold = {(image, "skin_colour"): {k - 1, k, k + 1} for image, k in nearest.items()}
screened = annotations.screen_raters(tidy, cut=CUT, gold=gold)

# %% tags=["remove-cell"]
_ = stage.save("raters.parquet", screened)

# %% [markdown]
# A simulated crowd knows its careless members. An answer's image and time lead from a pseudonym to the
# crowd's own list. The holder of a platform's records can do the same in a real study, so publish rounded
# times.

# %%
accepted = answers[answers["visit"] == 0]
of_each = tidy.drop_duplicates("annotator_id").astype({"image_id": "str", "annotator_id": "str"})
person = of_each.merge(accepted, on=["image_id", "seconds"]).set_index("annotator_id")["rater"]
screened["careless"] = crowd.rater_pool(seed).random[person[screened.index] - 1] > 0

# %%
distance = screened["distance"]
limit = distance.median() + CUT * median_abs_deviation(distance, scale="normal")
careless = screened["careless"]
flagged = screened["flagged"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "A scatter of raters: their mean distance from the others on the horizontal axis, their median seconds for an answer on the vertical one. Most form a cloud at the left; the careless ones, drawn as filled diamonds, lie far to the right of a dashed line, and low."}, "figure": {"name": "fig-raters", "caption": "Raters by their mean distance from the others' mean answer and their median time for an answer. Beyond the dashed line a rater is flagged. Only a simulated crowd can name the careless ones."}}
# Computed by faceaudit.annotations.agreement.screen_raters.
figure, ax = plt.subplots(figsize=(PHONE, 3.8))
GROUPS = {
    "attentive": (~careless, "o", figures.BLUE, (0.02, 0.98), "left"),
    "careless": (careless, "D", figures.VERMILION, (0.98, 0.5), "right"),
}
for name, (members, marker, colour, place, side) in GROUPS.items():
    some = screened[members]
    ax.plot(some["distance"], some["seconds"], marker, color=colour, linestyle="")
    text = {"ha": side, "va": "top", "fontsize": 10, "color": colour, "transform": ax.transAxes}
    ax.text(*place, f"{name},\nn = {len(some)}", **text)
ax.axvline(limit, color=figures.BLACK, linestyle="--", linewidth=1)
ax.set_ylim(top=1.25 * ax.get_ylim()[1])
place = (limit, 0.9 * ax.get_ylim()[1])
ax.annotate("flagged →", place, (6, 0), textcoords="offset points", fontsize=10)
ax.set(xlabel="mean distance from the others, share of scale", ylabel="seconds per answer")
_ = ax.set_title(f"{flagged.sum()} of {len(flagged)} raters are flagged")

# %%
found = [
    number
    for raters in (flagged[careless], flagged[~careless])
    for number in (raters.sum(), len(raters))
]
low, high = confint_proportions_2indep(*found, compare="diff", method="newcomb")
more_often = flagged[careless].mean() - flagged[~careless].mean()
more_often = {"estimate": more_often, "low": low, "high": high}

# %% tags=["hide-input"]
claim(
    "The flag finds {found} of the {careless} careless raters, and falls on {wrongly} "
    "of the {attentive} others.",
    margins=[margin_above(more_often, 0)],
    found=int(flagged[careless].sum()),
    careless=int(careless.sum()),
    wrongly=int(flagged[~careless].sum()),
    attentive=int((~careless).sum()),
)

# %% [markdown]
# Gold questions are a second check. They ask about the skin colour in the first transects, where the known
# truth says which levels are acceptable. The table has the share of acceptable answers.

# %%
weighed = screened.assign(hits=screened["gold"] * screened["gold_right"].fillna(0))
weighed = weighed.groupby("careless")[["hits", "gold"]].sum()
hits = (weighed["hits"] / weighed["gold"]).reindex([True, False])
hits.set_axis(["careless", "others"]).to_frame("acceptable answers").style.format("{:.0%}")

# %% [markdown]
# A flag says that a rater answers unlike
# the others. The reason may be carelessness, a poor screen, a misunderstood scale, or eyes that were trained
# elsewhere. The last of these belongs to the subject of the study. So we compute the results with and without
# the flagged raters.

# %%
unlike = set(screened.index[screened["flagged"]])
without = tidy[~tidy["annotator_id"].isin(unlike)]
fewer = annotations.agreement_table(annotations.count_tensor(without)[1], n_boot=n_boot, seed=seed)
relabelled = error_rates.majority(annotations.scores(without)["gender"])

# %%
moved = int((relabelled != scores["label"].reindex(relabelled.index)).sum())
alphas = pd.DataFrame({"all raters": agreement["alpha"], "without flagged": fewer["alpha"]})
alphas["gain"] = alphas["without flagged"] - alphas["all raters"]
note = f"Alpha. The label of gender changes for {moved} of {len(relabelled):,} images. Gains are computed before rounding."
alphas.rename(charts.spaced).style.format("{:z.2f}").set_caption(note)

# %% [markdown]
# Better agreement alone is a poor reason to leave raters out: it tends to rise when dissenters go, right or
# wrong. Decide in the plan, before the answers arrive, by a rule that ignores the outcome. Report both
# versions, and pay everybody ([](annotators-guide)). This book keeps all raters.

# %%
n_flagged = int(screened["flagged"].sum())
del answers, accepted, of_each, tidy, without

# %% [markdown]
# ## Did the manipulation arrive?
#
# Intended levels are coordinates in latent space. People's answers decide. So we check each axis against its
# own perceived score. Where the two levels overlap, some image that was meant as one thing is seen as the
# other. We count the pairs in which high is seen as higher, and the table has the median score of each level.
# With the intended level as label, a model would be counted wrong for the generator's failure.

# %%
AXES = ("skin_colour", "hair_length", "gender")
joined = index.join(scores)
right = {}
for axis in AXES:
    others = [f"{other}_level" for other in AXES if other != axis]
    pairs = joined.pivot_table(index=["transect", *others], columns=f"{axis}_level", values=axis)
    right[axis] = (pairs[1] > pairs[0]).mean()

# %%
medians = {axis: joined.groupby(f"{axis}_level")[axis].median() for axis in AXES}
medians = pd.DataFrame(medians).rename({0: "low level", 1: "high level"})
medians.rename(columns=charts.spaced).round(2)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three histograms below each other, for skin colour, hair length and gender: the perceived scores of images intended as light and dark, short and long, female and male. In each the two levels form separate humps, coloured and hatched as everywhere in the book."}, "figure": {"name": "fig-manipulation", "caption": "Perceived score by intended level, for each axis of the transects. Dashed lines are medians; n counts images of one level."}}
# Computed by faceaudit.annotations.schema.scores.
ENDS = (("light", "dark"), ("short", "long"), ("female", "male"))
figure, panels = plt.subplots(3, 1, figsize=(PHONE, 5.8), sharex=True)
for ax, (axis, names) in zip(panels, zip(AXES, ENDS, strict=True), strict=True):
    width = 1 / (n_raters * (len(ATTRIBUTES[axis]) - 1))
    edges = np.arange(-width / 2, 1 + width, width)
    for k, name in enumerate(names):
        look, values = figures.look(name), joined.loc[joined[f"{axis}_level"] == k, axis]
        ax.hist(values, edges, color=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0)
        ax.axvline(values.median(), 0, 0.66, color=figures.BLACK, linestyle="--", linewidth=1)
        place = {"ha": "center", "va": "top", "transform": ax.get_xaxis_transform(), "fontsize": 10}
        ax.text(np.clip(values.median(), 0.12, 0.88), 0.98, f"{name}\nn = {len(values):,}", **place)
    ax.set(xlim=(-0.03, 1.03), ylabel=f"{charts.spaced(axis)}\nimages")
    ax.set_ylim(top=1.55 * ax.get_ylim()[1])
panels[-1].set_xlabel("perceived score")
title = f"In {min(right.values()):.1%} to {max(right.values()):.1%} of the pairs,\nhigh is seen as higher"
_ = figure.suptitle(title, fontsize=12)

# %% tags=["remove-cell"]
assert (medians.loc["high level"] > medians.loc["low level"]).all()

# %% [markdown]
# ### Did anything else move?
#
# {term}`Leakage <leakage>` is the change in attributes that should have stayed. For each transect we take the
# mean score at the high level minus that at the low level, for every attribute, and average over transects.
# A leak is another possible cause of any effect that we find later, because a model may react to it.


# %%
def change(frame: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Mean score at the high minus that at the low level: transects × attributes."""
    levels = frame[list(ATTRIBUTES)].groupby([index[f"{axis}_level"], index["transect"]]).mean()
    return levels.loc[1] - levels.loc[0]


# %%
changes = {axis: change(scores, axis) for axis in AXES}
actual = {axis: change(shown, axis).mean() for axis in AXES}

# %%
matrix = pd.DataFrame({axis: table.mean() for axis, table in changes.items()}).T

# %% [markdown]
# Transects are the independent units, so intervals come from the spread between transects. The figure shows
# the largest of many changes, so we widen them: with 95% probability all intervals hold their truth
# ({term}`Bonferroni <Bonferroni's rule>`). Only a known world can answer the next question: is a leak in the picture, or in the eye? The
# diamonds are the same changes in the scores that the images really show.

# %%
leaks = pd.concat(changes, axis=1).drop(columns=[(axis, axis) for axis in AXES])
half = norm.isf(0.025 / leaks.shape[1]) * leaks.sem()
unintended = pd.DataFrame({"estimate": leaks.mean(), "low": leaks.mean() - half})
unintended = unintended.assign(high=leaks.mean() + half)
unintended = unintended.sort_values("estimate", key=np.abs, ascending=False).head(8)
really = pd.Series([actual[moves][sees] for moves, sees in unintended.index], unintended.index)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Eight horizontal intervals, one per pair of moved and perceived attribute, sorted by size, around a vertical line at zero: the largest unintended changes. Open diamonds mark the change that the images really show. For the largest, the diamond lies near zero, away from the interval."}, "figure": {"name": "fig-unintended", "caption": "The eight largest unintended changes, with simultaneous 95% intervals. Diamonds: the change that the images really show. Fig. 18 of the transects paper has such a leak: beards that come along with hair length."}}
# Computed by change (above), of what faceaudit.annotations.schema.scores gives.
labels = [f"{moved} moves\n{seen}".replace("_", " ") for moved, seen in unintended.index]
ax = plt.figure(figsize=(PHONE, 5.6)).gca()
figures.forest(
    unintended.set_axis(labels), really.set_axis(labels), "perceived change, share of the scale", ax
)
marks = ax.get_legend_handles_labels()[0]
words = ["as shown", "as seen, simultaneous 95% intervals"]
ax.legend(marks, words, **charts.ABOVE)
ax.locator_params(axis="x", nbins=4)
largest = unintended["estimate"].iloc[0]
title = f"The largest leak is {largest:+z.3f} as seen and\n{really.iloc[0]:+z.3f} as shown (n = {len(leaks)})"
_ = ax.figure.suptitle(with_minus(title), fontsize=12)

# %% [markdown]
# Look for intervals that leave out zero. Where estimate and diamond agree, such a leak is in the images:
# directions that were fitted to finitely many noisy answers point slightly astray. More raters of the transects
# cannot average it away. {cite:t}`transects` annotate every
# attribute, so that the analysis can adjust for it. That reaches as far as the questions do: hair colour and
# earrings are not asked about.

# %% [markdown]
# Where they differ, the leak is in the eye. Hair is a cue, so longer hair makes the same face look more
# feminine to the raters. To adjust for this reported change would be wrong, because in the image only the hair
# has changed. In each transect we compare the change of shape with the reported one.

# %%
hair = leaks["hair_length", "gender"]
margin = norm.ppf(0.975) * hair.sem()
seen = {"estimate": hair.mean(), "low": hair.mean() - margin, "high": hair.mean() + margin}
further = change(shown, "hair_length")["gender"] - hair  # in each transect

# %% tags=["hide-input"]
claim(
    "As hair grows, raters move a face further towards female than its shape moves. "
    "Perceived gender changes by {seen:+z.3f} of the scale, and shape by {shown:+z.3f}. A minus sign "
    "means towards female.",
    margins=[Margin(further.mean(), further.sem())],
    seen=seen,
    shown=actual["hair_length"]["gender"],
)

# %% [markdown]
# ### The scale bends, and a few faces look fake
#
# At the lowest level noise can only push an answer upwards, and at the highest only downwards. So noise draws
# mean scores towards the middle. The first table has this shift in the lightest and the darkest tenth of the
# images. The eighth question guards against the generator: an image that looks fake
# may upset a model for reasons that have little to do with the face. The second table has the share of images
# rated "likely fake" or above. [](n09_replication_gallery) shows more.

# %%
before = crowd.perceived(shown)["skin_colour"]
tenth = pd.qcut(before.rank(method="first"), 10, labels=False)
bent = (scores["skin_colour"] - before).groupby(tenth).mean().iloc[[0, 9]]
bent.set_axis(["lightest tenth", "darkest tenth"]).to_frame("seen − before noise").round(3)

# %%
generator = load_generator("known-truth", device=device)
plain = generator.parameters(generator.sample(n_population, seed)).cpu()

# %%
plain_shown = facerender.visible_scores(plain)[["fakeness"]]
plain_answers = crowd.annotate(plain_shown, n_raters, seed=seed, stage=f"{stage.name}/plain")
annotations.write_label_studio(plain_answers, stage.path("plain_export.json"))
plain_tidy = annotations.read_label_studio(stage.path("plain_export.json")).frame
fakeness = annotations.scores(plain_tidy)["fakeness"]

# %%
fake = {"random faces": fakeness, "transects": scores["fakeness"]}
fake = {name: (values >= 0.75).mean() for name, values in fake.items()}
pd.Series(fake, name="likely fake").to_frame().style.format("{:.1%}")

# %%
# Random faces from the least to the most fake, for note N9.
fakeness.index = fakeness.index.astype(int)
ranked = fakeness.sort_values(kind="stable")
place = 1 - np.geomspace(1, 1 / len(ranked), 12)
picked = ranked.iloc[(place * len(ranked)).astype(int)]
portraits = facerender.render(plain[picked.index], figure_size).image

# %% tags=["remove-cell"]
stage.save("fakeness_faces.npy", np.rint(255 * np.asarray(portraits)).astype(np.uint8))
stage.save("fakeness_of_faces.parquet", picked.to_frame())
_ = stage.save("fakeness_random.parquet", fakeness.to_frame())

# %% [markdown]
# ## What would change our mind
#
# - Here answers about gender move with hair beyond the images (a halo effect). If other attributes did the
#   same, the analysis would adjust for the wrong thing. A second crowd that sees single features could tell.
# - Alpha could stay low among images that clearly differ. Then the questions would be at fault.
# - Annotators of different origin could give different scores. Then "the majority" would be that of the
#   people who were hired, and every error rate would depend on the hiring.

# %% [markdown]
# ## Exercises
#
# ```{exercise} One rater instead of all, 15 minutes, medium
# :label: ex-one-rater
# From the ICC $r$ of the mean of all annotators, predict that of a single annotator by the Spearman–Brown
# formula. For which attribute would you least like to rely on one person? Which attribute loses most, in
# absolute terms and as a share?
#
# **Check:** from your single values, the formula leads back to the ICC in `agreement`.
# ```
#
# ```{solution-start} ex-one-rater
# :class: dropdown
# ```

# %% [markdown]
# With $k$ annotators and reliability $r$ of their mean, one annotator has $r_1 = r / (k - (k - 1)\,r)$.

# %% tags=["solution"]
k = n_raters
r = agreement["icc"]
alone = pd.DataFrame({"all": r, "one": r / (k - (k - 1) * r)})
alone["loss"] = alone["all"] - alone["one"]
alone["share kept"] = alone["one"] / alone["all"]
assert np.allclose(k * alone["one"] / (1 + (k - 1) * alone["one"]), r, equal_nan=True)
heads = {"all": "ICC, mean of all raters", "one": "ICC, one rater"}
alone.rename(charts.spaced).sort_values("all").rename(columns=heads).round(3)

# %% [markdown]
# The formula rises with $r$, and its slope $k / (k - (k - 1)\,r)^2$ rises too. So the attribute with the lowest
# ICC has the least reliable single person and keeps the smallest share. The loss $r - r_1$ behaves differently.
# It grows as long as the slope is below one, and shrinks beyond that point. It is zero at both ends: a mean that
# is worthless or perfect loses little when one person replaces it.

# %% tags=["solution"]
grid = np.linspace(0.001, 0.999, 999)
one = grid / (k - (k - 1) * grid)
slope = k / (k - (k - 1) * grid) ** 2
turn = np.sqrt(k) / (1 + np.sqrt(k))
assert (np.diff(one / grid) > 0).all() and (np.diff(slope) > 0).all()
assert abs(grid[(grid - one).argmax()] - turn) < 0.001
assert ((slope < 1) == (grid < turn)).mean() > 0.998
order = alone["loss"].rename(charts.spaced).dropna().sort_values()
print(f"The loss is largest where all have an ICC of {turn:.2f}.")
print(
    f"Here it is largest for {order.index[-1]} ({order.iloc[-1]:.2f}), least for {order.index[0]}."
)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Nominal agreement, 10 minutes, easy
# :label: ex-nominal
# Compute alpha by `annotations.agreement_table` with `metric="nominal"`, and compare it with the default, which is
# ordinal. Why is it lower where answers fall on neighbouring levels?
#
# **Check:** where ordinal alpha is near zero, the nominal one is near zero as well.
# ```
#
# ```{solution-start} ex-nominal
# :class: dropdown
# ```

# %% [markdown]
# Nominal distance treats neighbouring levels like opposite ends. Annotators disagree mostly by one level. The
# ordinal metric forgives that, and the nominal one counts it in full. So observed disagreement grows more than
# the disagreement that chance would make.

# %% tags=["solution"]
nominal = annotations.agreement_table(counts, metric="nominal", n_boot=10, seed=seed)["alpha"]
both = pd.DataFrame({"ordinal": agreement["alpha"], "nominal": nominal})
both.rename(charts.spaced).round(2)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} A scale upside down, 15 minutes, medium
# :label: ex-polarity
# A colleague exports hair length upside down: every answer is reversed. Would the reading function notice? Would alpha?
# Which check would?
#
# **Check:** reverse `counts["hair_length"]`, and compare alpha and the change of hair length with those above.
# ```
#
# ```{solution-start} ex-polarity
# :class: dropdown
# ```

# %% [markdown]
# The reading function cannot notice, since all levels are valid. Alpha stays: annotators agree as before, in the mirror.
# The manipulation check notices at once, because images intended as long are seen as short, and the perceived
# change of hair length turns negative. If only *some* annotators used the reversed scale, alpha would fall too.

# %% tags=["solution"]
mirror = {"hair_length": counts["hair_length"][:, ::-1]}
of_mirror = annotations.agreement_table(mirror, n_boot=10, seed=seed).loc["hair_length", "alpha"]
assert np.isclose(of_mirror, agreement.loc["hair_length", "alpha"], equal_nan=True)
turned = change(scores.assign(hair_length=1 - scores["hair_length"]), "hair_length")["hair_length"]
assert np.isclose(turned.mean(), -changes["hair_length"]["hair_length"].mean())
was, becomes = (f"{sign * turned.mean():+.2f}" for sign in (-1, 1))
Markdown(
    with_minus(f"alpha {of_mirror:.2f} in either case; perceived change {becomes}, which was {was}")
)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - The label of an image comes from its raters' mean score, read from a file, with an account of every answer
#   that was dropped.
# - Agreement measures noise. A low alpha may come from a restricted range, and a high alpha allows an error
#   that all annotators share.
# - The manipulation check has two halves: the intended change arrived, and the others stayed. A known truth
#   says whether a leak is in the picture or in the eye.
#
# **Next:** [](07_pruning) takes these scores and drops images that are ambiguous or look fake.

# %% tags=["remove-cell"]
dropped = report[report["dropped"] & (report["count"] > 0)].set_index("reason")["count"]
_ = stage.finish(
    {
        "rows": kept,
        "dropped": dropped.to_dict(),
        "alpha": agreement["alpha"].to_dict(),
        "icc": agreement["icc"].to_dict(),
        "leakage": matrix.T.to_dict(),
        "likely_fake": float((scores["fakeness"] >= 0.75).mean()),
        "flagged_raters": n_flagged,
        "alpha_without_flagged_raters": fewer["alpha"].to_dict(),
    }
)

# %% tags=["remove-cell"]
on_axes = agreement.loc[[*AXES], "alpha"]
answer = (
    f"Each image has answers from {n_raters} simulated annotators, {kept:,} in all. They agree about the "
    f"three axes (Krippendorff's alpha {on_axes.min():.2f} to {on_axes.max():.2f}, where one is perfect) and "
    f"hardly about makeup ({agreement.loc['makeup', 'alpha']:.2f}), which is held low on purpose. The "
    f"intended changes arrive: in {min(right.values()):.1%} or more of the pairs, high is seen as higher. The "
    f"leak from hair to gender, an unintended change, is in the eye: longer hair moves perceived gender by "
    f"{seen['estimate']:+z.3f} of the scale, and the shape of the face by {actual['hair_length']['gender']:+z.3f}."
)
glue("answer", Markdown(with_minus(answer)), display=False)
