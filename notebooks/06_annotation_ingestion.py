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
# # What people see
#
# The generator intended a face to be male, long-haired and dark-skinned. Whether it *is* has no
# answer: nobody sat for the picture. What can be asked is how the face looks to people, and that is
# what an audit needs, because a model is given the same pixels. So every image of the transects
# goes to a crowd, and from here on the crowd's answers, not the generator's intentions, say what an
# image shows {cite:p}`transects`.

# %% [markdown]
# ## Question
#
# What do annotators see in the images, how far do they agree, and did the manipulation reach its
# target without moving anything else? Three things can go wrong between an image and the table that
# an analysis reads: the file may hold nonsense, the answers may be noise, or the images may show
# something other than intended. This chapter checks them in that order.

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Unit | one answer: an annotator's level for one attribute of one image |
# | Intervention | none here; the intended levels of the axes were set in [](05_transect_generation) |
# | Held fixed | the questions, their levels and the number of annotators of each image |
# | Outcome | perceived score: mean level over the highest level, from zero to one |
# | Estimand | the perceived change of every attribute when one axis goes from low to high, within transects |
# | Known failure | what all annotators get wrong together is invisible: agreement measures noise, not error |

# %% [markdown]
# ## Prerequisites
#
# You need the images of [](05_transect_generation) and the words mean, standard deviation and
# confidence interval. Two measures of agreement, {term}`Krippendorff's alpha` and the {term}`ICC`,
# are explained where they are used. The chapter takes about half an hour to read and runs in well
# under a minute. *Female* and *male* always mean perceived gender.

# %%
import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import statsmodels.api as sm
import torch
from scipy.stats import median_abs_deviation, norm

import facerender
from helpers import annotations, errors, figures
from helpers.annotations import ATTRIBUTES, crowd
from helpers.artifacts import Stage
from helpers.claims import claim
from helpers.generators import load_generator

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
figure_size = 256
n_population = 2000
n_raters = 5
n_boot = 1000

# %%
stage = Stage("06_annotation_ingestion", profile=profile, device=device, seed=seed)
figures.style()
pd.set_option("display.max_colwidth", None, "display.precision", 3)

# %% [markdown]
# (erratum-levels)=
# ## What the crowd is asked
#
# Each attribute is a question with a few ordered levels. They follow the interface shown in Fig. 6
# of {cite:t}`transects`; skin colour uses six levels named after the types of
# {cite:t}`fitzpatrick`, as a scale of colour and not of origin. Ordinary onlookers can answer such
# questions about a small picture. They could not tell, and are not asked, what a person *is*. Section
# 4.3 of the paper speaks of three to six levels. The lists that its authors published with their answers
# {cite:p}`matching` have four to six, and the six of them that are asked here are used word for word.

# %%
pd.DataFrame(
    {
        "levels": {name: len(levels) for name, levels in ATTRIBUTES.items()},
        "from lowest to highest": {name: ", ".join(levels) for name, levels in ATTRIBUTES.items()},
    }
)

# %% [markdown]
# The table is also what the annotation tool is set up with. Label Studio takes a small XML file,
# the labelling configuration, and shows one question per `Choices` element beside the image. Keeping
# the questions in the package rather than in a web form means that the answers can later be checked
# against exactly the levels that were offered.

# %%
config = annotations.labelling_config()
stage.path("config.xml").write_text(config, encoding="utf-8")
print("\n".join(config.splitlines()[:9]))

# %% [markdown]
# A class does not need a server. `write_page` puts questions and images into one HTML file that works
# in any browser, without a network. Each person saves a file of answers, which is read like an export
# of Label Studio. The next cell writes such a page with the first three transects, into the folder of
# this chapter's results. [](a-study-with-label-studio) says when to use which.

# %%
in_class = stage.load("05_transect_generation", "fitted_images.npy")[:24].transpose(0, 2, 3, 1)
numbered = {f"face-{number:02}": picture for number, picture in enumerate(in_class)}
annotations.write_page(numbered, ATTRIBUTES, stage.path("class.html"))
print(f"{len(numbered)} faces, {stage.path('class.html').stat().st_size / 1e6:.2f} MB")

# %% [markdown]
# (erratum-attributes)=
# ### Seven attributes are eight
#
# Section 4.3 of {cite:t}`transects` says that each image was evaluated for seven attributes, and
# then lists eight: seven, and image fakeness. The total decides which number was meant. The paper
# annotates five thousand single images for the directions and a thousand transects of eight images,
# each attribute five times, and reports about half a million annotations.

# %%
images_annotated = 5_000 + 1_000 * 8
for attributes in (7, 8):
    print(f"{attributes} attributes: {images_annotated * attributes * 5:,} annotations")

# %% tags=["remove-cell"]
assert len(ATTRIBUTES) == 8
assert images_annotated * len(ATTRIBUTES) * 5 == 520_000

# %% [markdown]
# Only eight attributes give the 0.52 million annotations of the paper, and the forty per image. <!-- paper -->
# The slip is harmless for the results, but not for somebody who budgets a study by it: the eighth
# question is an eighth of the bill, and without it there is nothing to prune by in
# [](07_pruning).

# %% [markdown]
# ### What an answer is paid
#
# The paper paid 1.2 cents per annotation and reports earnings of 10 to 15 dollars an hour. <!-- paper -->
# Both can hold only at a certain speed, which the next cell works out. The pace at which answers
# arrived, ten to twenty in a second, is that of the whole crowd and says nothing about one person's
# hour.

# %%
pay = pd.DataFrame({"dollars per hour": [10.0, 15.0]})
pay["answers per hour"] = pay["dollars per hour"] / 0.012
pay["seconds per answer"] = 3600 / pay["answers per hour"]
pay

# %%
total = images_annotated * len(ATTRIBUTES) * 5
slow, fast = pay["seconds per answer"]
pace = pd.DataFrame({"answers per second": [10.0, 20.0]})
pace["hours for all"] = total / pace["answers per second"] / 3600
pace["people at work, slow"] = pace["answers per second"] * slow
pace["people at work, fast"] = pace["answers per second"] * fast
print(f"{total:,} answers at 1.2 cents: {total * 0.012:,.0f} dollars, before the platform's fee")
pace

# %% [markdown]
# The figures fit together: the paper's ten hours lie inside the range, and a few dozen people must
# have been at work at any moment. But an hourly wage computed this way assumes that nobody waits
# for the next image, reads instructions or has work rejected. Those minutes are unpaid, so the true
# wage is lower, by an amount that nobody published. Whoever runs a real crowd should time a pilot,
# pay for the slow worker rather than the median one, and pay rejected work unless it was done in
# bad faith. [](annotators-guide) goes through a study with real people from its wording to its report.

# %% [markdown]
# ## The simulated crowd
#
# This book must run without a crowd, so it simulates one. A simulated annotator reads an attribute
# off the renderer's own parameters (never the pixels), adds a constant personal bias and some
# noise, and answers with the nearest level. A few are careless and answer half of the time at
# random. How noisy answers are was fitted to real ones: five thousand StyleGAN2 images, seven to
# nine answers each, published by the transects paper's authors with {cite:t}`matching`. The table
# lists the result; "assumed" means that no data existed.

# %%
noise = pd.DataFrame(
    {name: vars(disagreement) for name, disagreement in crowd.DISAGREEMENT.items()}
).T.rename(columns={"noise": "noise (levels)", "margin": "margin (levels)"})
noise

# %% [markdown]
# *Noise* is the standard deviation, in levels, of answers around what an image shows. The *margin*
# says how far, again in levels, the clearest faces lie beyond the ends of the scale. With a margin
# everybody gives a clear case the end's answer, even one that is a little less clear than the
# clearest, and disagreement is left to the middle. Only gender has one. It was chosen so that
# agreement about gender comes out as high as among the real annotators, on the scores that were fitted
# to their images; for the other attributes it is set to zero.

# %% [markdown]
# One habit all annotators share. Of photographs that show neither hair nor beard nor makeup, people
# name the gender of nearly all {cite:p}`burton-gender`, but where hair is seen it alone calls up a
# gender {cite:p}`macrae-hair`. These annotators therefore start from the shape of the face and add
# something for each of three cues: a beard towards male, makeup and long hair towards female. How
# strong the cues are among raters of portraits, nobody has measured. The table states what is
# assumed, and [](n01_truth_scorecard) multiplies it.

# %%
pd.DataFrame({name: vars(cue) for name, cue in crowd.CUES.items()}).T

# %% [markdown]
# A *strength* is what a cue adds to the score of perceived gender, from zero (female) to one (male),
# between the two ends of its own scale; at its *neutral* score it adds nothing.

# %% [markdown]
# What the crowd is *not* matters more. Real people see skin as darker in dim light, differ by where
# they grew up, and get tired. None of that is in here: apart from the cues, these annotators err
# independently of the picture and of each other's errors. Wherever this chapter finds the crowd
# trustworthy, a real study has to show it again.

# %%
index = stage.load("05_transect_generation", "fitted_index.parquet").set_index("image_id")
images = stage.load("05_transect_generation", "fitted_images.npy")
parameters = np.array(stage.load("05_transect_generation", "fitted_parameters.npy"))
shown = facerender.visible_scores(torch.from_numpy(parameters)).set_index(index.index)
del parameters  # of a long study hundreds of megabytes

# %% [markdown]
# `shown` holds what an image shows, attribute by attribute, gender as the shape of the face alone: what
# a {term}`perfect crowd` would score. It exists only in a world with
# known truth and is used for three things: to drive the simulated crowd, to settle gold questions, and, near the end, to say
# how much of what the crowd reports is really there. Nothing that later chapters estimate may look
# at it.

# %%
answers = crowd.annotate(crowd.perceived(shown), n_raters, seed=seed, stage=stage.name)
answers["status"].value_counts().rename("assignments").to_frame()

# %% [markdown]
# An assignment is one annotator's visit to one image, with an answer to all eight questions. (The
# paper asked one question at a time; the answers are treated alike.) A requester rejects a few
# assignments of careless workers, some are cancelled, and each is replaced, so that every image
# ends up with the same number of accepted ones.

# %%
seconds = answers["seconds"].median() / len(ATTRIBUTES)
n_annotators = answers["rater"].nunique()
print(f"{n_annotators} annotators, {len(answers):,} assignments")
print(f"median time for one answer {seconds:.1f} s: {0.012 * 3600 / seconds:.1f} dollars an hour")

# %% [markdown]
# ## Written to a file and read back
#
# It would be easy to hand this table to the analysis and leave every question about file formats to
# the reader's first real study. Instead the crowd writes the file that a real Label Studio project
# exports, and the package reads it as it would read anybody's. Here is the first answer of the
# first image, as it stands in the file.

# %%
export = stage.path("export.json")
annotations.write_label_studio(answers, export)
first = index.index[:10_000]  # are enough to know a rater by; in a long study all take gigabytes
answers = answers[answers["image_id"].isin(first)]


def tasks() -> Iterator[dict]:
    """The tasks of the export; each has a line, so that no more than one is held at a time."""
    with export.open(encoding="utf-8") as lines:
        yield from (json.loads(line.strip("[],\n")) for line in lines)


example = next(tasks())["annotations"][0]
print(json.dumps(example | {"result": example["result"][:1]}, indent=1))

# %% [markdown]
# Reading turns every format into one tidy table, with a row per answer, and leaves a report. The
# report is the important half. It has a line for each reason why something was not taken as it
# stood, says where in the file the first example is, and distinguishes what was dropped from what
# was only noted.

# %%
tidy, report = annotations.read_label_studio(export)
report[report["count"] > 0].set_index("reason").drop(columns="file").fillna("")

# %% [markdown]
# Rejected assignments appear as cancelled ones, because Label Studio knows no rejection. Duplicates
# are second submissions of the same annotator about the same image: the first answer counts,
# otherwise an eager annotator would vote twice. The visits that gave them are noted as several answers
# of one name, since two people may have chosen the same one. Whatever the reasons, the accounts must balance,
# and the next cell checks that they do: answers written equal answers kept plus answers dropped.

# %%
counted = Counter()
for task in tasks():
    for visit in task["annotations"]:
        counted[visit["was_cancelled"]] += len(visit["result"])
written, voided = counted.total(), counted[True]
repeated = report.set_index("reason").loc["duplicate", "count"]
print(f"{written:,} answers = {len(tidy):,} kept + {voided:,} voided + {repeated:,} repeated")

# %% tags=["remove-cell"]
assert written == len(tidy) + voided + repeated
assert len(tidy) == len(index) * len(ATTRIBUTES) * n_raters
assert not tidy["annotator_id"].str.contains("@").any()
assert tidy["annotator_id"].nunique() <= n_annotators

# %% [markdown]
# ### Annotators are people too
#
# One worker signed with an e-mail address, which happens in real exports. Addresses are personal
# data, and worker numbers can be traced to people, so both leave the reader as a keyed hash: the
# same annotator keeps the same pseudonym, and nobody can be written to. The hash protects only as
# long as its salt is private. Set your own before publishing a table, and never publish the export.

# %%
stage.save("annotations.parquet", tidy)
tidy.drop(columns="source").take(range(4))

# %% [markdown]
# ### A wrong file is refused
#
# Good input proves little. Take the first few tasks and spoil them the way real files are spoiled:
# a level that was never offered, a question nobody asked, two answers to a single choice, a rating
# beyond its scale, a task that has lost its image. Each should cost exactly the answers concerned,
# be named in the report, and leave the rest alone.

# %%
spoiled = list(islice(tasks(), 5))
result = [next(v["result"] for v in t["annotations"] if not v["was_cancelled"]) for t in spoiled]
result[0][0]["value"]["choices"] = ["Surely female"]
result[1][1]["from_name"] = "beauty"
result[2][2]["value"]["choices"] = ["Light", "Black"]
result[3][3]["value"] = {"rating": 9}
spoiled[4]["data"] = {}

# %%
doctored = stage.path("doctored.json")
doctored.write_text("[" + ",\n".join(map(json.dumps, spoiled)) + "]\n", encoding="utf-8")
rest, spoiled_report = annotations.read_label_studio(doctored)
concerned = spoiled_report[(spoiled_report["count"] > 0) & spoiled_report["dropped"]]
concerned.set_index("reason").drop(columns=["file", "dropped"]).fillna("")

# %% tags=["remove-cell"]
counted = spoiled_report.set_index("reason")["count"]
for reason in ("unknown level", "unknown attribute", "several levels", "level outside the scale"):
    assert counted[reason] == 1, reason
assert counted["missing image"] >= n_raters
assert not rest.empty

# %% [markdown]
# A file that is not an export at all, such as a download that broke off half-way, has no good rows
# to save. Guessing would be worse than stopping, so the reader stops, and says which file, which
# line, what it expected and what it found.

# %%
text = doctored.read_text(encoding="utf-8")
doctored.write_text(text[: len(text) // 2], encoding="utf-8")
try:
    annotations.read_label_studio(doctored)
except ValueError as refused:
    print(textwrap.fill(str(refused).removeprefix(f"{stage.folder}/"), 78))

# %% [markdown]
# ## Counts are enough
#
# Mean, spread, majority and every measure of agreement below depend only on how often each level
# was chosen for an image, not on who chose it. So the long table folds into one small array of
# counts per attribute, with images in rows and levels in columns. Here are three images' counts for
# one attribute; every row sums to the number of annotators.

# %%
image_ids, counts = annotations.count_tensor(tidy)
pd.DataFrame(counts["gender"][:3], image_ids[:3], ATTRIBUTES["gender"])

# %% [markdown]
# The score of an image is its mean level, divided by the highest level, so that it runs from zero to
# one on every scale. The label that models will be judged by is the majority's perceived gender: one
# if the mean score is at least a half. A face exactly in between must fall on one side; [](07_pruning)
# removes such faces and asks what that costs.

# %%
scores = annotations.scores(tidy).reindex(index.index)
scores["label"] = errors.majority(scores["gender"])
stage.save("scores.parquet", scores)
kept = len(tidy)
scores.head(3).T.style.format("{:.2g}").format_index(escape="html", axis=1)

# %%
tidy = tidy[tidy["image_id"].isin(first)]

# %% [markdown]
# ## Do annotators agree?
#
# The plainest measure is the spread of an image's answers: the standard deviation in units of the
# scale's range, one value per image. It is zero when all agree. The distance between two
# neighbouring levels is a natural yardstick, because answers that fall on two adjacent levels are
# all one can hope for. It is marked by a diamond.

# %% mystnb={"image": {"alt": "Eight horizontal box plots, one per attribute, of the standard deviation of the answers to one image. A diamond on each row marks the distance between two neighbouring levels; most boxes lie around or to the left of it."}, "figure": {"name": "fig-spread", "caption": "Spread of the answers to one image, by attribute: median, quartiles, and whiskers to the most extreme image within one and a half box lengths. Diamonds mark one step of the scale. As in Fig. 8, top left, of the transects paper."}}
spread = pd.DataFrame({name: annotations.standard_deviation(c) for name, c in counts.items()})
steps = [1 / (len(ATTRIBUTES[name]) - 1) for name in spread]
rows, (_, ax) = range(len(steps)), plt.subplots()
ax.boxplot(
    [values.dropna() for _, values in spread.items()],
    positions=rows,
    tick_labels=[name.replace("_", " ") for name in spread],
    orientation="horizontal",
    widths=0.8,
    showfliers=False,
    patch_artist=True,
    boxprops={"facecolor": figures.SKY},
    medianprops={"color": figures.BLACK},
)
ax.invert_yaxis()
ax.plot(steps, rows, "D", color=figures.VERMILION, label="one step of the scale")
ax.set(xlabel=f"standard deviation of an image's answers (n = {len(spread):,} images)", ylabel="")
_ = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1))

# %% [markdown]
# A small spread can still be useless. If all images look the same, annotators agree because there
# is nothing to disagree about. {term}`Krippendorff's alpha` compares the disagreement within images
# with that between answers drawn at random from all images: one is perfect, zero is chance
# {cite:p}`krippendorff`. The {term}`ICC` asks what share of the variance of *mean* scores comes from
# the images {cite:p}`shrout-fleiss`; more annotators raise it, whereas alpha stays. Intervals
# resample images.

# %%
agreement = annotations.agreement_table(counts, n_boot=n_boot, seed=seed)
stage.save("agreement.parquet", agreement)
unshown = ["images", "raters", "sd_low", "sd_high"] + ["reason"] * (not agreement["reason"].any())
agreement.drop(columns=unshown).round(2)

# %% [markdown]
# Beside these belong the real values. They come from the published ratings named above: alpha and
# ICC of seven annotators per image, nine for gender. An ICC with more annotators is higher, so it
# is first restated for as many as we have, by the Spearman–Brown formula: solve for the reliability
# of a single annotator, then average over the wanted number.

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

# %% mystnb={"image": {"alt": "Two panels, alpha on the left and ICC on the right, one row per attribute. Filled circles with intervals are the simulated crowd on the transects, open diamonds the published real crowd on random StyleGAN2 images. The simulated crowd's values for skin colour lie far to the right of the real ones."}, "figure": {"name": "fig-agreement", "caption": "Agreement about the transects (circles, 95 % intervals over images) and the published values for random StyleGAN2 images (diamonds). No values were published for smiling and fakeness. The two sets of images differ, which is the point of the next section."}}
fig, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 4.2), sharey=True)
rows = np.arange(len(agreement))[::-1]
for ax, name in zip(axes, ("alpha", "icc"), strict=True):
    value = agreement[name]
    whiskers = [value - agreement[f"{name}_low"], agreement[f"{name}_high"] - value]
    ax.errorbar(value, rows, xerr=whiskers, fmt="o", capsize=4, label="here, 95 % interval")
    real = published[name].reindex(agreement.index)
    ax.plot(real, rows, "D", color=figures.VERMILION, markerfacecolor="none", label="published")
    ax.set(xlabel={"alpha": "Krippendorff's alpha", "icc": "ICC of the mean"}[name])
axes[0].set_yticks(rows, [name.replace("_", " ") for name in agreement.index])
_ = fig.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncol=2)

# %% [markdown]
# ### Little agreement may mean little to agree about
#
# The noise was calibrated on the real crowd and its images, yet agreement about skin colour is
# far higher here. The annotators did not improve; the images differ. The real ones show mostly light
# skin, the transects go from light to dark on purpose. Facial hair and makeup are held low on
# purpose, and agreement about them is far lower. This is *restriction of range*, and it can be
# reproduced: keep the transects' images of one intended level of skin only, and ask the same
# annotators' answers again.

# %%
level = index["skin_colour_level"].reindex(image_ids).to_numpy()
skin = {"all images": counts["skin_colour"]}
skin |= {f"intended level {k}": counts["skin_colour"][level == k] for k in np.unique(level)}
restricted = annotations.agreement_table(skin, n_boot=n_boot, seed=seed)
restricted[["images", "sd", "alpha", "alpha_low", "alpha_high", "icc"]].round(2)

# %% tags=["remove-input"]
one_level = restricted["alpha"].iloc[1:]
claim(
    "**In this run** alpha falls from {all:.2f} in all images to {levels[0]:.2f} and {levels[1]:.2f} "
    "within a level, with the same annotators. That of random StyleGAN2 images is {real:.2f}.",
    holds=one_level.max() < restricted["alpha"].iloc[0] / 2,
    all=restricted["alpha"].iloc[0],
    levels=one_level.tolist(),
    real=published.loc["skin_colour", "alpha"],
)

# %% [markdown]
# The spread of answers within a level is of the same order as before. So a low
# alpha is no verdict on annotators. It still is a warning about estimates: where true scores hardly
# vary, noise makes up much of the observed variation, and an effect regressed on such scores shrinks
# towards zero. The ICC says by roughly how much. Look at fakeness in the table further up: where
# hardly any image looks fake, answers are mostly noise. An attribute that varies little cannot be
# audited well, whoever looks at it.

# %% [markdown]
# Agreement about gender can fall short of the published value. The crowd was fitted to real answers,
# so a likely reason is that the images differ: real faces may lie more often at the very ends of the
# scale, where the margin makes everybody agree. The transects were placed short of the ends, at faces
# that are clear but no caricatures. The lines below count the faces that annotators, by shape and
# cues together, see near the ends.

# %%
generator = load_generator("known-truth", device=device)
plain = generator.parameters(generator.sample(n_population, seed)).cpu()
seen = {"random faces": facerender.visible_scores(plain), "transects": shown}
seen = {name: crowd.perceived(score) for name, score in seen.items()}
for name, score in seen.items():
    print(f"{name}: {1 - score['gender'].between(0.1, 0.9).mean():.0%} show a very clear gender")

# %% [markdown]
# ### One transect, nine annotators
#
# Numbers about agreement become believable when one sees what was agreed on. The transects paper shows
# nine annotators a transect of thirteen images, and fits a logistic curve to their answers. The same is
# done here with three of the [one-dimensional transects](fig-one-dimensional).

# %%
walked = stage.load("05_transect_generation", "lines.parquet")
walked.index = [f"line-{number:02}" for number in range(len(walked))]
faces = torch.from_numpy(walked[[*facerender.INDEX]].to_numpy("float32", copy=True))
along = facerender.visible_scores(faces).set_axis(walked.index)
nine = crowd.annotate(crowd.perceived(along), 9, seed=seed, stage=f"{stage.name}/lines")
nine = nine[nine["status"] == "accepted"]

# %%
curves, chosen, CURVES = {}, {}, ("hair_length", "gender", "skin_colour")
for name in CURVES:
    value = walked.loc[walked["attribute"] == name, "decision value"]
    counted, levels = pd.crosstab(nine["image_id"], nine[name]), range(len(ATTRIBUTES[name]))
    chosen[name] = counted.reindex(value.index, columns=levels, fill_value=0)
    mean = chosen[name] @ levels / (9 * levels[-1])
    curves[name] = sm.GLM(mean, sm.add_constant(value), family=sm.families.Binomial()).fit()

# %% mystnb={"image": {"alt": "Three strips of thirteen rendered faces, along which hair grows longer, the face looks more masculine, and skin becomes darker. Under each face a column of cells counts how many of nine annotators chose each level. The counts rise from left to right, most of them on a few neighbouring levels, and a curve runs through them."}, "figure": {"name": "fig-consistency", "caption": "Thirteen images of a one-dimensional transect each, and how many of nine annotators chose each level. The curve is a logistic fit to the mean scores. After Fig. 7 of the transects paper."}}
lines = stage.load("05_transect_generation", "lines.npy")[:, :, ::4, ::4]
fig, axes = plt.subplots(6, 1, figsize=(figures.WIDTH, 7.6), height_ratios=[1, 2.3] * 3)
for top, bottom, name in zip(axes[::2], axes[1::2], CURVES, strict=True):
    rows = np.flatnonzero(walked["attribute"] == name)
    top.imshow(np.hstack(figures.as_pixels(lines[rows])))
    top.set_title(name.replace("_", " "), loc="left", fontsize=12)
    top.set_axis_off()
    cells = chosen[name].set_axis([*ATTRIBUTES[name]], axis=1).T[::-1]
    heat = {"cmap": "Blues", "vmin": 0, "vmax": 11, "cbar": False, "linewidths": 1}
    sns.heatmap(cells, annot=True, mask=cells == 0, xticklabels=False, ax=bottom, **heat)
    heights = len(cells) - 0.5 - (len(cells) - 1) * curves[name].fittedvalues
    bottom.plot(np.arange(len(rows)) + 0.5, heights, color=figures.VERMILION, alpha=0.6)
    bottom.set(xlabel="", ylabel="")

# %%
fits = pd.DataFrame({name: fit.params.to_numpy() for name, fit in curves.items()})
middle, width = -fits.loc[0] / fits.loc[1], 2 * np.log(9) / fits.loc[1]
pd.DataFrame({"middle": middle, "from a tenth to nine tenths": width}).round(2)

# %% [markdown]
# The table is in decision values. At the *middle* the fitted score is one half. A plane that is right
# for its raters has it near zero. The second number says how far one has to walk until answers turn
# from one end of the scale to the other.

# %% [markdown]
# ## Does anybody answer at random?
#
# Agreement describes the crowd. A few of its members may hardly look, and to find them one has to
# know who gave which answer. So every answer is compared with the mean of the *others'* answers to
# the same question, in units of the scale, and the distances are averaged for each rater. Nobody
# needs to know what is right. A rater is flagged who lies more than three robust standard
# deviations above the median rater. The median and its absolute deviations are used because they
# do not follow the very raters who are sought {cite:p}`median-deviation`.

# %% [markdown]
# Two more things help to judge a flag, and do not enter it. One is the median time for an answer.
# The other is {term}`gold questions <gold question>`, for which somebody settled beforehand what is
# accepted. Here they are about the skin colour in the first twenty transects: the level nearest to
# what an image shows, and the two beside it.

# %%
CUT = 3
early = index["transect"].isin(range(20))
nearest = (shown["skin_colour"][early] * (len(ATTRIBUTES["skin_colour"]) - 1)).round().astype(int)
gold = {(image, "skin_colour"): {k - 1, k, k + 1} for image, k in nearest.items()}
screened = annotations.screen_raters(tidy, cut=CUT, gold=gold)

# %%
_ = stage.save("raters.parquet", screened)
screened = screened.sort_values("distance", ascending=False)
screened[["answers", "distance", "flagged", "seconds", "gold", "gold_right"]].head(8)

# %% [markdown]
# The simulated crowd lets us check the flags, since it knows who was careless: those who answer half
# of the questions at random. An answer's image and time lead from the pseudonym in the file to the
# crowd's own list. They would do so in a real study as well. Whoever holds the platform's
# records can undo a pseudonym, and this is one more reason not to publish times to the millisecond.

# %%
accepted = answers[answers["visit"] == 0]
of_each = tidy.drop_duplicates("annotator_id").astype({"image_id": "str", "annotator_id": "str"})
person = of_each.merge(accepted, on=["image_id", "seconds"]).set_index("annotator_id")["rater"]
screened["careless"] = crowd.rater_pool(seed).random[person[screened.index] - 1] > 0

# %% mystnb={"image": {"alt": "A scatter of raters: their mean distance from the others on the horizontal axis, their median seconds for an answer on the vertical one. Most form a cloud at the left; the careless ones, drawn as filled diamonds, lie far to the right of a dashed line, and low."}, "figure": {"name": "fig-raters", "caption": "Raters by their mean distance from the others' mean answer and their median time for an answer. Beyond the dashed line a rater is flagged. Diamonds are the careless ones, whom only a simulated crowd can name."}}
distance = screened["distance"]
limit = distance.median() + CUT * median_abs_deviation(distance, scale="normal")
_, ax = plt.subplots(figsize=(figures.WIDTH, 3.6))
for careless, marker, name in ((False, "o", "attentive"), (True, "D", "careless")):
    some = screened[screened["careless"] == careless]
    look = {"color": figures.VERMILION if careless else figures.BLUE, "linestyle": ""}
    ax.plot(some["distance"], some["seconds"], marker, label=f"{name}, n = {len(some)}", **look)
ax.axvline(limit, color=figures.BLACK, linestyle="--", linewidth=1)
ax.text(limit, ax.get_ylim()[1], " flagged", va="top")
ax.set(xlabel="mean distance from the others, in units of the scale", ylabel="seconds per answer")
_ = ax.legend()

# %% tags=["remove-input"]
careless, flagged = screened["careless"], screened["flagged"]
claim(
    "**In this run** the flag finds {found} of the {careless} careless raters, and falls on {wrongly} "
    "of the {attentive} others.",
    holds=flagged[careless].mean() > 0.5 > flagged[~careless].mean(),
    found=int(flagged[careless].sum()),
    careless=int(careless.sum()),
    wrongly=int(flagged[~careless].sum()),
    attentive=int((~careless).sum()),
)

# %% [markdown]
# A flag says that a rater answers unlike the others, and not why. The reason may be carelessness, a
# poor screen, a misunderstood scale, or eyes that were trained elsewhere. The last of these belongs
# to what a study of perception is about. With few answers the distance itself is mostly noise. So
# the function drops nobody. It is still worth asking what the flagged raters do to the results.

# %%
unlike = set(screened.index[screened["flagged"]])
without = tidy[~tidy["annotator_id"].isin(unlike)]
fewer = annotations.agreement_table(annotations.count_tensor(without)[1], n_boot=n_boot, seed=seed)
of_alpha = ["alpha", "alpha_low", "alpha_high"]
choice = {"all raters": agreement, "without flagged ones": fewer}
pd.concat({name: table[of_alpha] for name, table in choice.items()}, axis=1).round(2)

# %%
relabelled = errors.majority(annotations.scores(without)["gender"])
moved = int((relabelled != scores["label"].reindex(relabelled.index)).sum())
gained = fewer["alpha"] - agreement["alpha"]
print(f"alpha rises for {(gained > 0).sum()} of {len(gained)} attributes")
print(f"the majority label of gender changes for {moved} of {len(relabelled):,} images")

# %% [markdown]
# Better agreement is no reason to leave them out. Agreement tends to rise when dissenters are removed,
# whoever is right. An analyst who decides after seeing the effects whom to drop can choose
# among several results. Decide in the plan, before the answers arrive, by a rule that does not
# know the outcome. Report both versions, and pay everybody. This book keeps all raters, in
# this chapter and in all that follow. [](n01_truth_scorecard) asks how much of an effect's
# uncertainty comes from who the raters were.

# %% tags=["remove-cell"]
n_flagged = int(screened["flagged"].sum())
del answers, accepted, of_each, tidy, without

# %% [markdown]
# ## Did the manipulation arrive?
#
# Intended levels are coordinates in latent space. What counts is what people see, so each axis is
# checked against its own perceived score. The two halves of a violin should barely overlap. Where
# they do, some image that was meant to be one thing is seen as the other, and using the intended
# level as the label would blame a model for the generator's failure.

# %%
AXES = ("skin_colour", "hair_length", "gender")
joined = index.join(scores)
perceived = pd.concat(
    pd.DataFrame(
        {
            "axis": axis.replace("_", " "),
            "perceived score": joined[axis],
            "intended": joined[f"{axis}_level"].map({0: "low", 1: "high"}),
        }
    )
    for axis in AXES
)

# %% mystnb={"image": {"alt": "Three split violins, for skin colour, hair length and gender: the perceived scores of images intended to be low on the left half and high on the right half. The halves are centred at clearly different heights."}, "figure": {"name": "fig-manipulation", "caption": "Perceived score by intended level, for each axis of the transects. Dashed lines are quartiles; counts are images of both levels."}}
_ = figures.violins(perceived, "perceived score", by="axis", hue="intended")
# %% [markdown]
# One transect makes the plot concrete. Below are the eight images of the first one, which was not
# selected. Above each stands the gender that was intended and the mean score that raters gave, from
# zero (female) to one (male). Fig. 9b of {cite:t}`transects` compares the two in the same way.

# %% mystnb={"image": {"alt": "The eight rendered faces of one transect in two rows of four, those intended as female above, those intended as male below. Above each face stands the intended gender and the mean score of perceived gender that raters gave it."}, "figure": {"name": "fig-one-transect-seen", "caption": "The first transect: intended gender, and the mean perceived score from zero (female) to one (male). After Fig. 9b of the transects paper."}}
one = joined.reset_index()[lambda table: table["transect"] == table["transect"].min()]
one = one.sort_values("gender_level", kind="stable")
meant = one["gender_level"].map({0: "female", 1: "male"})
titles = [f"meant {word}\nseen {seen:.2f}" for word, seen in zip(meant, one["gender"], strict=True)]
_ = figures.gallery(images[one.index], 4, titles)

# %%
for axis in AXES:
    others = [f"{other}_level" for other in AXES if other != axis]
    pairs = joined.pivot_table(index=["transect", *others], columns=f"{axis}_level", values=axis)
    right = (pairs[1] > pairs[0]).mean()
    print(f"{axis}: in {100 * right:.1f} % of {len(pairs):,} pairs, high is seen as higher")

# %% tags=["remove-cell"]
centres = perceived.pivot_table("perceived score", "axis", "intended", aggfunc="median")
assert (centres["high"] > centres["low"]).all()

# %% [markdown]
# ### And did anything else move?
#
# The other half of the check is {term}`leakage`: the change in attributes that should have stayed.
# For each transect take the mean score of its images at the high level minus that at the low level,
# for every attribute, then average over transects. The diagonal is what was intended. Everything off
# it is an alternative explanation for any effect found later, because a model may react to the
# stowaway.


# %%
def change(frame: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Mean score at the high minus that at the low level: transects × attributes."""
    levels = frame[list(ATTRIBUTES)].groupby([index[f"{axis}_level"], index["transect"]]).mean()
    return levels.loc[1] - levels.loc[0]


changes = {axis: change(scores, axis) for axis in AXES}
matrix = pd.DataFrame({axis: table.mean() for axis, table in changes.items()}).T

# %% mystnb={"image": {"alt": "A matrix with three rows, the manipulated attributes, and eight columns, the perceived ones. Every cell prints the mean change. The three intended cells are saturated; most others are near white."}, "figure": {"name": "fig-leakage-perceived", "caption": "Perceived change of every attribute (columns) when one axis goes from low to high (rows), as a mean over transects in units of the scale's range."}}
ax = figures.heatmap(matrix)
_ = ax.set(xlabel="perceived", ylabel="intended")
# %% [markdown]
# A mean over transects deserves an interval, and transects are the independent units: the eight
# images of one share a face. The largest unintended changes are drawn below with intervals from the
# spread between transects. As the largest of many are shown, the intervals are widened so that all
# pairs together hold their truth (Bonferroni). One that excludes zero shows leakage; one that
# includes it does not exclude leakage up to its ends.

# %%
leaks = pd.concat(changes, axis=1).drop(columns=[(axis, axis) for axis in AXES])
half = norm.isf(0.025 / leaks.shape[1]) * leaks.sem()
stowaways = pd.DataFrame({"estimate": leaks.mean(), "low": leaks.mean() - half})
stowaways = stowaways.assign(high=leaks.mean() + half, n=len(leaks))
stowaways = stowaways.sort_values("estimate", key=np.abs, ascending=False).head(8)

# %% mystnb={"image": {"alt": "Eight horizontal intervals, one per pair of moved and perceived attribute, sorted by size, around a vertical line at zero: the largest unintended changes."}, "figure": {"name": "fig-stowaways", "caption": "The eight largest unintended changes, with simultaneous 95 % intervals; n counts transects."}}
labels = [f"{moved} moves {seen}".replace("_", " ") for moved, seen in stowaways.index]
_ = figures.forest(stowaways.set_axis(labels), xlabel="perceived change, in units of the scale")
# %% [markdown]
# Facial hair is the classic stowaway. Fig. 18 of {cite:t}`transects` shows beards that appear on
# men when only hair length was to change, and a model that reads a beard as male is then right for
# the wrong reason. Is such a leak in the picture, or in the eye? Only a known world can tell: the
# same changes, computed from what the images really show.

# %%
actual = {axis: change(shown, axis).mean() for axis in AXES}
pd.DataFrame(
    {
        "perceived": stowaways["estimate"],
        "shown": [actual[moved][seen] for moved, seen in stowaways.index],
    }
).rename_axis(["moved", "seen"])

# %% [markdown]
# Where the two columns agree, the leak is a property of the images: directions fitted to finitely
# many noisy answers point slightly astray. It cannot be averaged away by asking more people. The
# remedy of {cite:t}`transects` is to know about it: every attribute is annotated, so that the
# analysis can adjust for it. That reaches as far as the questions do. The crowd is not asked about
# hair colour or earrings, which can move as well ([](05_transect_generation)).

# %% [markdown]
# Where the columns differ, the leak is in the eye. Hair is a cue, so longer hair makes the same face
# look more feminine to the raters. The directions were fitted to what raters see and work against
# that: they can turn the shape of the face the other way as hair grows ([](04_orthogonalization)).
# To adjust for the change that raters report would be wrong, because nothing in the image
# stands behind it but the hair itself.

# %% tags=["remove-input"]
hair = leaks["hair_length", "gender"]
margin = norm.ppf(0.975) * hair.sem()
seen = {"estimate": hair.mean(), "low": hair.mean() - margin, "high": hair.mean() + margin}
claim(
    "As hair grows, raters move a face further towards female than its shape moves. **In this run** "
    "perceived gender changes by {seen:+z.3f} of the scale, and shape by {shown:+z.3f}; a minus sign "
    "means towards female.",
    holds=seen["high"] < actual["hair_length"]["gender"],
    seen=seen,
    shown=actual["hair_length"]["gender"],
)

# %% [markdown]
# ### The scale bends
#
# Answers cannot fall off the end of a scale. At the lowest level noise can only push upwards, at the
# highest only downwards, so noise draws mean scores towards the middle. Gender may be an exception,
# because of its margin: a face that is only fairly clear already gets the end's answer, which pushes
# means outwards, against the noise. The table compares the mean scores with what raters see before
# they choose a level, cues included, for images in its lowest and highest tenth; its last column
# says where they moved, or *no one way* if the two ends do not agree.

# %%
before, ends = crowd.perceived(shown), {}
for name in ATTRIBUTES:
    tenth = pd.qcut(before[name].rank(method="first"), 10, labels=False)
    gap = (scores[name] - before[name]).groupby(tenth).mean()
    ends[name] = {"score − seen, lowest tenth": gap[0], "highest tenth": gap[9]}
ends = pd.DataFrame(ends).T
lowest, highest = np.sign(ends.to_numpy()).T
ways = {(1, -1): "to the middle", (-1, 1): "outwards"}
ends["moved"] = [ways.get(way, "no one way") for way in zip(lowest, highest, strict=True)]
ends.assign(margin=noise["margin (levels)"])

# %% tags=["remove-cell"]
assert (noise["margin (levels)"].drop("gender") == 0).all() and noise.loc["gender"].iloc[1] > 0

# %% [markdown]
# Every error of a model is counted against these answers. Where they differ from what is shown, a
# model that reads the image perfectly is counted as wrong. That is not a flaw to be repaired but the
# definition of the outcome: agreement with people. It does put a floor under the error rate of
# faces about which people are divided.

# %% [markdown]
# ## Do the faces look real?
#
# The eighth question guards against the generator. An image that looks fake may upset a model for
# reasons that have nothing to do with the face. Section 4.3 of {cite:t}`transects` judges realism on
# faces sampled at random, so the same crowd rates a random sample as well, for this attribute only
# and through a file of its own.

# %%
plain_shown = facerender.visible_scores(plain)[["fakeness"]]
plain_answers = crowd.annotate(plain_shown, n_raters, seed=seed, stage=f"{stage.name}/plain")
annotations.write_label_studio(plain_answers, stage.path("plain_export.json"))
plain_tidy = annotations.read_label_studio(stage.path("plain_export.json")).frame
fakeness = annotations.scores(plain_tidy)["fakeness"]
fakeness.index = fakeness.index.astype(int)

# %% mystnb={"image": {"alt": "Two overlaid outlines of histograms of the mean fakeness score, for random faces and for transects. Both lie mostly at the left end, on the side of real, and a dotted vertical line marks the level likely fake."}, "figure": {"name": "fig-fakeness", "caption": "Mean fakeness score of random faces and of the transects' images, as shares of each set. The dotted line is the level \"likely fake\". As in Fig. 8, top right, of the transects paper."}}
fig, ax = plt.subplots(figsize=(figures.WIDTH, 3.4))
steps = n_raters * (len(ATTRIBUTES["fakeness"]) - 1)
edges = (np.arange(steps + 2) - 0.5) / steps
for name, values, line in (
    ("random faces", fakeness, "--"),
    ("transects", scores["fakeness"], "-"),
):
    share = np.histogram(values, edges)[0] / len(values)
    ax.stairs(share, edges, linestyle=line, linewidth=2, label=f"{name}, n = {len(values):,}")
ax.axvline(0.75, color=figures.BLACK, linestyle=":", linewidth=1)
ax.set(xlabel="mean fakeness score", ylabel="share of images", xlim=(-0.03, 1.03))
_ = ax.legend()

# %%
for name, values in {"random faces": fakeness, "transects": scores["fakeness"]}.items():
    print(f'{name}: {(values >= 0.75).mean():.1%} of images are rated "likely fake" or above')

# %% [markdown]
# Transects start from a projection that pulls codes towards the middle of the latent space, away
# from the sparsely populated regions where artefacts live; the steps along the axes then lead
# outwards again. The gallery below shows random faces in the order of their fakeness.

# %% mystnb={"image": {"alt": "Twelve rendered faces in two rows, ordered by mean fakeness score, which is printed above each. The first look clean; the last show ripples, blotches and warped outlines."}, "figure": {"name": "fig-fakeness-faces", "caption": "Random faces from the lowest to the highest mean fakeness score, printed above each; the right half of the ranking is sampled more densely. As in Fig. 8, bottom, of the transects paper."}}
ranked = fakeness.sort_values(kind="stable")
place = 1 - np.geomspace(1, 1 / len(ranked), 12)
chosen = ranked.iloc[(place * len(ranked)).astype(int)]
portraits = facerender.render(plain[chosen.index], figure_size).image
_ = figures.gallery(portraits, 6, titles=[f"{score:.2f}" for score in chosen])
# %% [markdown]
# ## What would change our mind
#
# - Here answers about gender move with hair in a way that the images do not explain (a halo effect).
#   If that were so of attributes that the analysis adjusts for, it would adjust for the wrong thing.
#   Among real raters a second crowd, shown single features, could tell.
# - If alpha stayed low among images that clearly differ, the questions would be at fault, not the
#   range.
# - If annotators of different origin gave different scores, "the majority" would be the majority of
#   whoever was hired, and every error rate would depend on the hiring.

# %% [markdown]
# ## Exercises
#
# ```{exercise}
# :label: ex-one-rater
# From the ICC of the mean of all annotators, predict that of a single annotator by the
# Spearman–Brown formula. For which attribute would you least like to rely on one person?
# ```
#
# ```{solution} ex-one-rater
# :class: dropdown
# With $k$ annotators and reliability $r$ of their mean, one annotator has
# $r_1 = r / (k - (k - 1)\,r)$, the formula used above for the published values. In code:
# `agreement["icc"] / (n_raters - (n_raters - 1) * agreement["icc"])`. The formula rises with $r$. So
# the attribute with the lowest ICC is also the one for which a single person is least reliable, and
# it keeps the smallest *share* of its reliability, because $r_1 / r = 1 / (k - (k - 1)\,r)$ rises with
# $r$ too. The *difference* $r - r_1$ is largest in between, at $r = \sqrt k / (1 + \sqrt k)$, and zero
# at both ends: where the mean is worth little, or everything, one person takes little away.
# ```

# %% [markdown]
# ```{exercise}
# :label: ex-nominal
# Compute alpha with `metric="nominal"` and compare it with the ordinal one. Why is it lower for
# every attribute with a rising band in the consistency figure?
# ```
#
# ```{solution} ex-nominal
# :class: dropdown
# Call `annotations.agreement_table(counts, metric="nominal")`. Nominal distance treats neighbouring
# levels as no better than opposite ends. Annotators disagree mostly by one level, which the ordinal
# metric forgives and the nominal one punishes in full, so observed disagreement grows more than that
# expected by chance.
# ```

# %% [markdown]
# ```{exercise}
# :label: ex-polarity
# Somebody exports a scale upside down: every answer about hair length is reversed. Would the reader
# notice? Would alpha? What would?
# ```
#
# ```{solution} ex-polarity
# :class: dropdown
# The reader cannot notice, since all levels are valid, and alpha does not change: annotators agree
# as before, in the mirror. The manipulation check notices at once, because images intended to be
# long are seen as short and the diagonal cell of the leakage matrix turns negative. If only *some*
# annotators use the reversed scale, alpha falls too.
# ```

# %% [markdown]
# ## Takeaways
#
# - The label of an image is what people see in it, read from a file, with an account of every answer
#   that was not used.
# - Agreement measures noise. Low alpha may mean restricted range; high alpha does not exclude an
#   error that all share.
# - Raters who answer unlike the others are found without knowing what is right. Whether they count
#   is decided by a rule made beforehand, and told.
# - The manipulation check has two halves: the intended change arrived, and the others stayed. The
#   leakage that remains is measured, attribute by attribute, with intervals.
# - Behind each answer is a person, who is paid, and whose identity is nobody's business.

# %% tags=["hide-input"]
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
