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
# # Audit your own model
#
# *You need chapter [10](10_matched_pairs) (pairs and verdicts) and chapter [16](16_planning) (power). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# You have a model, or a table of its answers, or a generator of faces. How do you get from there to a report? What
# must you decide first, and how far can you trust what the report says?
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
# | Population | a table; adults of the face world, in transects; pictures of invented people; adults as a generator of your own samples them |
# | Unit | one matched face; of the recogniser, one seed |
# | Intervention | skin colour, hair length and perceived gender; the hue of the clothes as a placebo |
# | Held fixed | everything else of the face; with a generator of your own, what people were asked about or readers measured |
# | Outcome and who labels it | error against the majority of the raters; a missing answer is an outcome of its own |
# | Estimand | [change of the error rate](estimands) in every cell and on average; differences of match rates between groups |
# | Tolerance and n | in the call or the audit file, and from there in the plan |
# | Decision at stake | whether a build with this model may pass |
# | Known failure | what moves along with an axis, in the images or in the labels, is part of its effect |
# :::

# %% tags=["hide-cell", "study"]
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import yaml
from IPython.display import Markdown, display
from myst_nb import glue

import faceaudit
import facerender
from faceaudit import effects
from faceaudit.annotations.schema import ATTRIBUTES, LEVEL_NAMES
from faceaudit.effects import error_rates
from faceaudit.effects.pruning import ADULT_RULE, PAPER_RULES, completeness, prune
from faceaudit.images.generator_kinds import generator_of
from faceaudit.latents import directions, orthogonalization
from faceaudit.latents.directions import Hyperplanes, out_of_range
from faceaudit.utils.formatting import spaced, with_minus
from faceaudit.verification.prototypes import image_index
from faceworld import load_generator, networks
from faceworld.audit import answer_tasks, folders_of, pictures_of_the_world, write_faces
from faceworld.networks.onnx_export import write_onnx
from faceworld.scorecard.truth import errors_under_do, true_effects
from helpers import figures
from helpers.artifacts import Stage, lineage
from helpers.claims import claim, question
from helpers.study import keywords_of, require_questions

# %% tags=["parameters", "hide-cell", "study"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
n_directions = 5000
n_transects = 400
study = "audits/study.yml"

# %% tags=["remove-cell", "study"]
PHONE = 4.8  # inches: a figure as wide as this can be read on a phone
stage = Stage("18_audit_your_model", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:z.2f}".format
EXAMPLE = "audits/study.yml"
results = {}


# %% tags=["hide-cell"]
def draw_report(result: faceaudit.AuditResult, limits: int = 2) -> None:
    """A report on one page: the answer, every planned comparison, and the first limits."""
    report = result.report
    rows = result.effects[::-1]
    ends, margin = 100 * rows[["estimate", "low", "high"]].astype(float), 100 * report.tolerance
    figure = plt.figure(figsize=(PHONE, 8.6), layout="none", edgecolor="#777777", linewidth=2)
    ax = figure.add_axes((0.4, 0.232, 0.57, 0.465))
    ax.axvspan(-margin, margin, color="#DDDDDD", zorder=0)
    ax.axvline(0, color=figures.BLACK, linewidth=1)
    for place, (one, verdict) in enumerate(zip(ends.to_numpy(), rows["verdict"], strict=True)):
        reach = np.clip([[one[0] - one[1]], [one[2] - one[0]]], 0, None)
        how = figures.look(verdict).mark | {"linestyle": "none", "capsize": 3}
        ax.errorbar(one[0], place, xerr=reach, **how)
    names = [f"{spaced(a)}:\n{c}" for a, c in zip(rows["axis"], rows["cell"], strict=True)]
    ax.set_yticks(range(len(rows)), names, fontsize=9.5)
    ax.tick_params(axis="x", labelsize=10)
    ax.set_xlabel(f"points of the error rate\ngrey: tolerance of {margin:g} points", fontsize=10)
    counts = rows["verdict"].value_counts()
    title = f"{counts.get('exceeds', 0)} of {len(rows)} cells beyond the tolerance,\n"
    title += f"{counts.get('inconclusive', 0)} undecided"
    head, how = {"fontsize": 11, "fontweight": "bold", "va": "top"}, {"fontsize": 9.5, "va": "top"}
    figure.text(0.02, 0.988, title, fontsize=12, fontweight="bold", va="top")
    figure.text(0.02, 0.929, "1  The answer", **head)
    figure.text(0.02, 0.906, in_lines([report.question, *report.answer.splitlines()[:2]]), **how)
    figure.text(0.02, 0.728, "2  Every planned cell", **head)
    figure.text(0.02, 0.132, "3  The limits", **head)
    figure.text(0.02, 0.109, in_lines(report.limits[:limits], "– "), **how)


# %% tags=["hide-input"] mystnb={"image": {"alt": "One page of a report. On top an answer in words. In the middle twelve changes of the error rate with intervals, in three groups for skin colour, hair length and perceived gender, around a grey band for the tolerance; crosses are beyond it, open circles are undecided, filled circles are within. At the bottom two limits in words."}, "figure": {"name": "fig-report", "caption": "Another audit: the first page of the report on the table that ships with the book; 95% intervals. A cross is a change beyond the tolerance, an open circle is undecided, a filled circle is within. An interval speaks of one cell and the verdict *beyond* of the whole family, so an interval beyond the grey band can still be undecided. *Within* is judged by a shorter interval, so the 95% interval of a cell within can leave the band."}}
# Computed by faceaudit.table.
def in_lines(texts: list[str], start: str = "", width: int = 60) -> str:
    """Texts as lines that fit a page of the report."""
    lines = (fill(start + text, width, subsequent_indent=" " * len(start)) for text in texts)
    return with_minus("\n".join(lines))


examples = lineage.ROOT / "src/faceaudit/examples"


def audit_of_the_table() -> faceaudit.AuditResult:
    """The audit of the first section, whose report is shown before it."""
    frame = pd.read_csv(examples / "invented-faces.csv")
    return faceaudit.table(
        frame,
        unit="face",
        label=["rater_1", "rater_2", "rater_3"],
        score="p_male",
        axes={name: LEVEL_NAMES[name] for name in ("skin_colour", "hair_length", "gender")},
        classes=LEVEL_NAMES["gender"],
        tolerance=0.1,
        question="Does darker skin make the model err more often?",
    )


draw_report(audit_of_the_table())

# %% [markdown]
# ## A table is enough
#
# An auditor seldom gets the model. Somebody else makes the images, asks people and the system, and sends
# a table. It has a row per image: the face it belongs to, the levels, the raters' answers and the score.
# That is all that the statistics need.
#
# One call makes the audit. It takes the frame, the names of columns, the levels of each axis with the low one
# first, and the tolerance: the largest effect that does not matter. The result holds the report of {numref}`fig-report`,
# and tables such as `effects`. The command `make audit AUDIT=src/faceaudit/examples/table.yml` does the same from a file.

# %%
levels = {
    "skin_colour": ["light skin", "dark skin"],
    "hair_length": ["short hair", "long hair"],
    "gender": ["female", "male"],
}

# %%
settings = {
    "unit": "face",
    "label": ["rater_1", "rater_2", "rater_3"],  # the majority is right, and a tie is no label
    "score": "p_male",
    "axes": levels,
    "classes": levels["gender"],
    "tolerance": 0.1,
    "question": "Does darker skin make the model err more often?",
}
frame = pd.read_csv(examples / "invented-faces.csv")
of_table = faceaudit.table(frame, **settings)

# %% tags=["hide-input"]
verdicts = of_table.effects.query("axis == 'skin_colour'")["verdict"]
claim(
    "In this table no effect of skin is shown to be beyond the tolerance: {within} of {n} cells are "
    "within it, and {open} are undecided with so few faces. The model gave no answer for {silent} "
    "images.",
    holds=not verdicts.eq("exceeds").any() and verdicts.eq("inconclusive").any(),
    within=int(verdicts.eq("within").sum()),
    n=len(verdicts),
    open=int(verdicts.eq("inconclusive").sum()),
    silent=of_table.report.data["no_answer"],
)

# %% [markdown]
# The question of this table is about skin. The answer begins with the axes by their verdicts. Then it has a line for every axis, in the
# order of the call: all comparisons share one chance of a false alarm, and the report shows all of them.
#
# Tables bring mistakes along: a face twice, a misspelt level, a missing image. Each is refused with one
# sentence, which names the row and what was expected. Here we drop the last row:

# %%
try:
    faceaudit.table(frame[:-1], **settings)
except ValueError as error:
    print(fill(str(error), 90))

# %% [markdown]
# ## A model file
#
# Now we have the model itself, as an ONNX file, a common format for networks. `faceaudit.classifier` asks it about
# pictures of yours, and `faceaudit.generator` about faces that a generator makes. We take the second call, and the
# faces of this book. The model was trained in [](02_face_world) on faces as photo collections show them.

# %%
before, after = "celeba-like", "fairface-like"
for name, network in networks.load_all(stage, "02_face_world", [before, after]).items():
    write_onnx(network.network, stage.path(f"{name}.onnx"), image_size)
units = max(n_transects // 2, min(n_transects, 40))

# %% [markdown]
# An audit has parts: the generator, the people, the model and the design. An unknown key or keyword is an error.
# Otherwise a misspelt tolerance would become a tolerance by default. The file `audits/example.yml` says the same
# as these lines, with sizes and a model of its own.

# %%
parts = {
    "generator": {"kind": "known-truth", "base_faces": 2 * units},  # the truth is the more exact
    "people": {"kind": "simulated", "raters": 5},
}
design = {
    "axes": list(levels),
    "placebos": {"clothing": ["one colour of clothes", "another colour of clothes"]},
    "annotated": ["makeup", "facial_hair", "age", "smiling"],
    "classes": levels["gender"],
    "tolerance": 0.05,
    "transects": units,
}


# %%
def model_file(name: str) -> dict:
    """The part of an audit that says what is asked, and how."""
    path, prepared = stage.folder / f"{name}.onnx", {"size": image_size}
    output = {"activation": "sigmoid"}  # the file gives logits
    return {"kind": "onnx", "path": path, "input": prepared, "output": output}


# %% [markdown]
# ### The plan comes first
#
# Before the model is asked, we make the plan: tolerance, level, sizes and every comparison by name.
# The plan has a date and a hash (a fingerprint of its text), and later runs keep it. So the tolerance cannot move once the result is
# known. `plan.save` writes it to a file. Without a plan of yours, the first run leaves one in the folder of the audit. The tables give
# its sizes, and the chances of the verdicts for an effect of zero and of twice the tolerance.

# %%
plan = faceaudit.plan(**parts, **design, model=model_file(before))

# %%
families = plan.content["families"]
sizes = plan.content["sizes"]
count = sum(len(one) for name, one in families.items() if name.startswith("effects"))
of_silence = len(families.get("effects on being missing", []))

# %%
planned_sizes = {
    "faces": plan.units,
    "images": sizes["images"],
    "comparisons of error rates": count - of_silence,
    "comparisons of what is missing": of_silence,
    f"faces for a chance of {plan.content['power']:.0%} of each verdict": sizes["needed"],
}
pd.Series(planned_sizes).to_frame("plan").style.format("{:,}")

# %%
chances = plan.power.query("comparison == 'cell'").set_index("times the tolerance")
chances.index = [f"{times:g}" for times in chances.index]
chances.index.name = "effect, times the tolerance"
caption = f"Chances in a cell, if the model errs on {sizes['expected error']:.0%} of images"
chances.loc[["0", "2"], ["within", "beyond"]].style.format("{:.0%}").set_caption(caption)

# %% tags=["hide-input"]
Markdown(
    f"This plan is too small: it has {plan.units:,} of the {sizes['needed']:,} faces that it needs. We keep it so that the page runs fast. "
    "Expect *undecided*."
    if plan.units < sizes["needed"]
    else "This plan has the faces that it needs."
)

# %% [markdown]
# ### Faces, people, answers
#
# The audit makes transects by the recipe of [](05_transect_generation). It also gives the clothes another
# hue. This change is a {term}`placebo <negative control>`: it should make no face harder to classify. A simulated crowd then labels
# every image. For real people, `people` names the tool they work in ([](a-study-with-label-studio)).
#
# Then the model answers for all images. An image without an answer counts as an outcome of its own: a
# system that finds no face in dark pictures harms people without a wrong answer. The folder keeps images and
# answers, so that no image is asked about twice.

# %%
given = {"plan": plan, "folder": stage.folder / "kept", "pictures": pictures_of_the_world}
said = []
audit = faceaudit.generator(**parts, **design, model=model_file(before), **given, say=said.append)
print(*said[-4:], sep="\n")

# %% [markdown]
# The analysis makes the planned comparisons only. A change *exceeds* the tolerance if it lies beyond it after adjustment. It is
# *within* if two one-sided tests say so. Otherwise it is *undecided*: more images are needed.
#
# The report trusts the model's answers, so the audit tests the model first. It must give different answers for
# different images, and the same answer twice for one image. A network that is given swapped colour channels still answers. So
# the audit also tries other preparations of the image. One that separates the classes better raises a *doubt* in the report.

# %%
doubts = [doubt.sentence for doubt in audit.report.doubts]
print(fill(" ".join(doubts) or "The report has no doubt.", 90))
_ = audit.save(stage.folder)
report = audit.report

# %% tags=["remove-cell"]
for name in ("report.json", "report.html", "model_card.md", "images.csv"):
    stage.path(name)

# %% tags=["hide-input"]
silent = report.data["no_answer"]
so = f"so the report judges {len(report.judged)} of the {count} planned comparisons."
Markdown(
    f"The model gave no answer for {silent} images, {so}"
    if silent
    else f"The model answered every image. The {of_silence} comparisons of missing answers have "
    f"nothing to compare, {so}"
)

# %% tags=["remove-cell"]
assert len(report.judged) == count - (0 if silent else of_silence)

# %% [markdown]
# `save` writes a page for people, JSON with a published schema for machines, a {term}`model card`, and the table of images.
# In the face world we can do one more thing: look the answer up. We render other faces with each axis
# set by hand, ask the same file, and draw the true change as a diamond.

# %%
cells = audit.effects
cells["change"] = cells["axis"].map(spaced) + ":\n" + cells["cell"]
NUMBERS = ["estimate", "low", "high", "truth", "truth_se"]
cells[NUMBERS] = 100 * cells[NUMBERS].astype(float)
truth_known = cells.dropna(subset=["truth", "low"])
inside = truth_known["truth"].between(truth_known["low"], truth_known["high"])
intervals_held, intervals = int(inside.sum()), len(inside)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Forest of twelve changes of the error rate, in three groups for skin colour, hair length and perceived gender, each in four cells. Points with intervals around a line at zero, and a diamond at the true change of each."}, "figure": {"name": "fig-own-effects", "caption": "Changes of the model's error rate in points, from the low to the high level of an attribute, in every cell of the others; 95% intervals and the truth by intervention."}}
# Computed by faceaudit.generator; the truth by faceworld.audit.World.truth.
drawn = cells.set_index("change")
ax = plt.figure(figsize=(PHONE, 7)).gca()
figures.forest(drawn[NUMBERS[:3]], drawn["truth"], "change of the error rate (points)", ax)
ax.tick_params(labelsize=10)
title = f"{intervals_held} of {intervals} intervals hold the truth"
_ = ax.figure.suptitle(title, fontsize=12)

# %% tags=["hide-input"]
question(
    "One interval in twenty would miss if the truth were exact and the cells independent. Here the truth comes from other faces and has an "
    "error of its own. Do more than one in twenty miss, if {held} of {n} intervals hold the truth?",
    margin=1 - intervals_held / intervals - 0.05,
    error=np.sqrt(0.05 * 0.95 / intervals),
    held=intervals_held,
    n=intervals,
)

# %% [markdown]
# ### How far to trust it
#
# Apart from its own chance of one in twenty, an interval can miss its truth for three reasons. The truth is itself an estimate, from other faces. Raters
# may see another gender than was set. And a moved face carries more than its axis. In this world we can remove
# the second reason. The result has a table of images, and with it we audit the same answers once more, with the
# intended level as the label. The distance from the truth that is left then comes from chance and from what moves
# along with an axis.

# %%
images_of_audit = audit.images.rename(columns={"clothing_level": "clothing"})
same_faces = {"unit": "unit", "axes": levels, "placebos": {"clothing": [0, 1]}}
same_faces |= {"classes": levels["gender"], "tolerance": 0.05}
as_set = faceaudit.table(images_of_audit, label="gender", score="score", **same_faces)

# %%
with_label = images_of_audit.dropna(subset="label")
differ = (with_label["label"] != with_label["gender"].eq("male")).mean()
print(f"Raters saw another gender than was set in {differ:.1%} of the images.")

# %%
distances = {
    "distance from the truth, labels of people": (cells["estimate"] - cells["truth"]).abs().mean(),
    "labels as set": (100 * as_set.effects["estimate"] - cells["truth"]).abs().mean(),
    "largest standard error of the truth": truth_known["truth_se"].max(),
}
pd.Series(distances).to_frame("points").style.format("{:.1f}")

# %% [markdown]
# Read the placebo next. If clothes changed errors as much as an axis does, the effect of the axis would prove
# little. Clothes throw some colour on a small picture, so an effect of exactly zero is too much to ask. The
# report names all effects that are smaller than the placebo's.

# %%
placebo = report.placebos[0]
largest = max(report.averages, key=lambda one: abs(one.estimate))

# %% tags=["hide-input"]
question(
    "Another hue of the clothes changes the error rate by {change:points} points, and this interval {zero} zero. The largest average "
    "effect of an axis is {most:points} points. Is that more, whatever the sign?",
    margin=abs(largest.estimate) - abs(placebo.estimate),
    error=sum((one.high - one.low) ** 2 for one in (placebo, largest)) ** 0.5 / (2 * 1.96),
    change={"estimate": placebo.estimate, "low": placebo.low, "high": placebo.high},
    zero="holds" if placebo.low <= 0 <= placebo.high else "leaves out",
    most={"estimate": largest.estimate, "low": largest.low, "high": largest.high},
)

# %% [markdown]
# ### The gate
#
# A build server needs an exit code, the number that a program ends with. Zero: the model may pass. One: a comparison is beyond the tolerance, the
# plan was not kept, or the report has a *doubt*, such as an axis that people did not see move. Two: too little is
# known. No average is decided, or there are fewer faces or answers than the *policy* of the audit file asks for.
# Three: there is no sound report. A single cell may stay *undecided*, unless you ask for `--fail-on inconclusive`.

# %%
code, lines = faceaudit.gate(audit.report)

# %% tags=["hide-input"]
beyond = sum(one.verdict == "exceeds" for one in report.judged)
claim(
    "{n} comparisons of cells, averages and missing answers are beyond the tolerance, and the gate names "
    "each of them. Its exit code is {code}.",
    holds=sum(line.startswith("exceeds: ") for line in lines) == beyond
    and (code == 1 or not beyond),
    code=code,
    n=beyond,
)

# %% [markdown]
# `audit.gate()` gives the code alone. Somebody who dislikes the answer may raise the tolerance afterwards. The audit
# then runs with the new value. But the first plan stays, the report lists the departure, and the gate fails:

# %%
moved = design | {"tolerance": 0.2}
lenient = faceaudit.generator(**parts, **moved, model=model_file(before), **given, say=said.append)
print(*lenient.report.plan.departures, sep="\n")

# %% [markdown]
# ### Did retraining help?
#
# The makers train a second model on a balanced collection. Both models answer on the same images, so
# `faceaudit.compare` compares their errors image by image. This removes what is hard about a face, and finds smaller changes than
# two separate audits. The version takes the place of an axis: the two images of a pair are one image, asked twice. The table gives
# the change of the error rate in points, on all images and in each group.

# %%
retrained = faceaudit.generator(
    **parts, **design, model=model_file(after), **given, say=said.append
)
changes = faceaudit.compare(audit, retrained).changes

# %%
by_group = 100 * changes[["estimate", "low", "high"]].astype(float)
by_group.index = ["all images", *changes["cell"].iloc[1:]]
by_group["p after Holm"] = changes["p_holm"].astype(float).to_numpy()


def p_in_words(p: float) -> str:
    """A p-value with three decimals, or that it is smaller."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


by_group.style.format("{:+z.1f}").format(p_in_words, subset="p after Holm")

# %% tags=["hide-input"]
groups_alone = by_group.iloc[1:]
found_in = groups_alone[groups_alone["p after Holm"] < plan.content["level"]]["estimate"]
on_average = changes.iloc[0]
question(
    "After the adjustment, errors fall in {fewer} of {n} groups and rise in {more}. Does retraining help on average, where the error rate changes by "
    "{change:points} points?",
    margin=-on_average["estimate"],
    error=(on_average["high"] - on_average["low"]) / (2 * 1.96),
    fewer=int((found_in < 0).sum()),
    n=len(groups_alone),
    more=int((found_in > 0).sum()),
    change=on_average[["estimate", "low", "high"]].to_dict(),
)

# %% tags=["remove-cell"]
results |= {
    "answer": report.answer,
    "verdict": report.verdict,
    "cells": cells[["axis", "cell", "verdict", *NUMBERS]].to_dict("records"),
    "intervals_with_truth": intervals_held,
    "placebo": placebo.estimate,
    "gate": code,
    "retrained": {"all images": changes.iloc[0]["estimate"]},
    "table": of_table.verdict,
}

# %% [markdown]
# ## A recogniser
#
# A system that recognises faces makes a vector of each picture, an {term}`embedding`. The cosine of two embeddings is
# the similarity of two faces. Its errors are errors on pairs ([](15_verification_curves)). So the audit file
# `audits/verification.yml` names pictures of known people and a group for each. We take the recogniser and
# the pictures of [](14_verification_measures), where people of one *seed* are matched across groups.

# %%
NAME = "arcface-a"
prototypes = stage.load("14_verification_measures", "prototypes.parquet")
people = image_index(prototypes).rename(columns={"prototype": "identity"})
pictures = stage.load("14_verification_measures", "faces.npy")
_ = write_faces(pictures, people[["identity", "seed", "group"]], stage.folder / "people.csv")

# %%
weights = stage.load("14_verification_measures", f"{NAME}.safetensors")
recogniser = networks.Recogniser.read(weights)
_ = write_onnx(recogniser.network, stage.path(f"{NAME}.onnx"), image_size)

# %%
threshold = stage.load("14_verification_measures", "recognisers.parquet")["threshold"][NAME]
settings = yaml.safe_load(
    (lineage.ROOT / "audits" / "verification.yml").read_text(encoding="utf-8")
)
settings |= {"images": "people.csv", "columns": {"image": "file", "unit": "seed"}}
settings["model"] |= {"path": f"{NAME}.onnx", "threshold": float(threshold)}
settings["model"] |= {"input": {"size": image_size}, "fmr": None}
settings["design"] |= {"tolerance": design["tolerance"], "seed": seed}

# %%
file = stage.path("verification.yml")
file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
out = stage.folder / "recogniser"
shutil.rmtree(out, ignore_errors=True)  # with its plan

# %% [markdown]
# A table of pairs with similarities goes to `faceaudit.pairs`. Here the recogniser is still to be asked, so the
# command runs the file, and we read the report that it leaves.

# %%
command = [sys.executable, "-m", "faceaudit", "run", file, "--out", out]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
of_pairs = faceaudit.read_report(out / "report.json")

# %%
rates = pd.DataFrame([dict(row) for row in of_pairs.match_rates]).set_index("group")

# %% tags=["remove-cell"]
results["recogniser"] = of_pairs.verdict

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of error rates with intervals for six groups, by perceived gender and ancestry: false non-matches on the left and false matches on the right, all at one threshold."}, "figure": {"name": "fig-own-recogniser", "caption": "Error rates of the recogniser by group at one threshold; 95% intervals, with seeds as the units. The title counts the differences of every other group from European-looking men, in both rates, by their verdicts."}}
# Computed by faceaudit.designs.pairs.Pairs.analyse.
figure, axes = plt.subplots(1, 2, figsize=(PHONE, 4.2), sharey=True)
for ax, rate, name in zip(axes, ("fnmr", "fmr"), ("false non-match", "false match"), strict=True):
    part = 100 * rates[[rate, f"{rate}_low", f"{rate}_high"]]
    part = part.set_axis(["estimate", "low", "high"], axis=1)
    figures.forest(part, None, f"{name}\nrate (%)", ax)
found_verdicts = [one.verdict for one in of_pairs.disparities]
within, beyond_it = found_verdicts.count("within"), found_verdicts.count("exceeds")
title = f"{within} of {len(found_verdicts)} differences are within {100 * of_pairs.tolerance:g} points,\n"
title += f"{beyond_it} beyond, {found_verdicts.count('inconclusive')} undecided"
_ = figure.suptitle(title, fontsize=12)

# %% [markdown]
# The pairs follow from the table and the random seed, before the model is asked. Two people are compared within a
# group only, as in the reports of NIST, because people of different groups are easy to tell apart. A
# picture without an embedding is a {term}`failure to enrol` and is counted by group. Two audits can be compared only
# if their pairs are alike. The table has all pairs of one prototype, and those in which one picture is the prototype
# itself, as in [chapter 15](15_verification_curves):

# %%
chosen = stage.load("14_verification_measures", "pairs.parquet")
chosen = chosen.loc[chosen["kind"] == "positive", f"similarity_{NAME}"]
missed = (rates["fnmr"] * rates["positives"]).sum() / rates["positives"].sum()
below = {"all pairs": missed, "with the prototype itself": (chosen < threshold).mean()}
pd.Series(below).to_frame("below the threshold").style.format("{:.1%}")

# %% [markdown]
# (a-generator-of-your-own)=
# ## A generator of your own
#
# {cite:t}`transects` had a generator that had learned from photographs. Its true effects are unknown. Here
# we go through their whole study in this situation, with `audits/study.yml`. Every step rests on codes,
# images and people's answers. The shipped example treats the book's own generator as if it were unknown; at the end
# we can look up the truth. `make reproduce GENERATOR=…` shows your study in this place
# ([](bring-your-generator)).


# %% tags=["study"]
def for_your_study(*tables: object) -> None:
    """Tables and words that a study of your own shows; of the example the text tells them."""
    if study != EXAMPLE:
        display(*tables)


# %% tags=["study"]
file = lineage.ROOT / study
folder = stage.folder / "study"
own = keywords_of(file)
text = file.read_text(encoding="utf-8")
require_questions(faceaudit.read_specification(file))

# %% tags=["study"]
if study == EXAMPLE:
    own["generator"]["samples"] = n_directions
    own["transects"] = n_transects
    own["calibration"]["transects"] = n_transects // 4
    shipped = networks.SHIPPED_NETWORKS / "celeba-like.safetensors"
    classifier = networks.AuditedModel.read(shipped)
    learned_size = 64  # of the images that it learned from
    path = write_onnx(classifier.network, stage.path("example.onnx"), learned_size)
    own["model"] |= {"path": path, "input": {"size": learned_size}}
    own["accept"] = ["gate"]
    own["plan"] = faceaudit.plan(**own)
    for place in ("study/people", "few"):  # with answers of another run
        shutil.rmtree(stage.folder / place, ignore_errors=True)
else:
    folder = folders_of(faceaudit.read_specification(file)).artifacts

# %% tags=["hide-input", "study"]
for_your_study(Markdown(f"```yaml\n{text}```"))

# %% [markdown]
# ### People describe sampled faces
#
# The generator draws codes at random. People describe the images in a tool, and the study reads the tool's
# export. Here `own` has the parts of the file as keywords. The call stops with `PeopleNeeded`, and says where the tasks
# are and where the answers go.


# %% tags=["study"]
def audit_of_the_study(settings: dict, folder: Path) -> faceaudit.AuditResult:
    """The call of the study. Paths in an audit file count from the folder of the file."""
    with chdir(file.parent):
        return faceaudit.generator(**settings, folder=folder, device=device, say=said.append)


# %% tags=["study"]
said = []
try:
    found = audit_of_the_study(own, folder)
except faceaudit.PeopleNeeded as stop:
    first = str(stop).splitlines()[0]  # the second line is about crops of the same images
    print(fill(first.replace(f"{folder}/", ""), 90))

# %% [markdown]
# The same call goes on once the export is there. The example has simulated people, who leave the same kind of file. They
# answer about sampled faces, about neutral faces, in every round of the calibration, and about the final images.


# %% tags=["study"]
def with_simulated_people() -> faceaudit.AuditResult:
    """Make the same call again after each stop, once people have answered."""
    while True:
        answer_tasks(folder, own["calibration"]["crop"], seed)
        try:
            return audit_of_the_study(own, folder)
        except faceaudit.PeopleNeeded:
            continue


# %% tags=["study"]
if study == EXAMPLE:
    found = with_simulated_people()
frame, planned = found.frame, found.report.plan.content

# %% tags=["study"]
axes, level_names = [*planned["axes"]], planned["axes"]
level_columns = [f"{name}_level" for name in axes]
codes, cells = (np.load(folder / f"{part}_codes.npy") for part in ("samples", "transects"))
samples, images = (
    np.load(folder / f"{part}.npy", mmap_mode="r") for part in ("samples", "transects")
)

# %% [markdown]
# Each attribute gets a {term}`hyperplane`, fitted to the mean answers. Three numbers warn you early. *Alpha* is the
# agreement of people, one if they all agree. *Quality* is the R² on images that the plane was not fitted to. *Step
# cost* is the variance inflation of the {term}`dual basis`: one is free, above ten a step leads to
# unusual faces.

# %% tags=["study"]
fitted = Hyperplanes.from_arrays(np.load(folder / "directions.npz"))
planes = fitted.select([name for name in fitted.names if name in ATTRIBUTES])
inflation = orthogonalization.variance_inflation(planes.normals)
checks = pd.DataFrame({"quality": planes.scores, "step cost": [*inflation]}, planes.names)

# %% tags=["study"]
asked = [one for one in found.report.people if "sampled" in one.stage]
alphas = {row.attribute: row.alpha for one in asked for row in one.agreement}
checks.insert(0, "alpha", pd.Series(alphas, dtype=float))  # none if a classifier looked
checks.rename(spaced)

# %% [markdown]
# People hardly agree about fakeness, so there is little to fit. It is no axis, and we take no step along it. With
# your generator this place also shows the cosines between the normals.

# %% tags=["hide-input", "study"]
cosines = directions.cosines(planes).rename(spaced, axis=0).rename(spaced, axis=1)
halved = "Quality of facial hair, makeup and smiling: balanced accuracy, not R²."
for_your_study(cosines, *[Markdown(halved)] * ("calibration" not in own))

# %% [markdown]
# ### Transects, and a gate before the model
#
# Fitted directions miss their targets. So people see neutral faces, and some transects in several rounds, and each time
# faces and levels are corrected ([](05_transect_generation)). Then every face is shown at all levels, and people describe the
# final images. Their answers are the labels. They also open or close a *gate*: held attributes may
# move only within a limit. A study stops at a closed gate, unless its settings say `accept: [gate]`, as those of the example do.

# %% tags=["study"]
names = [*axes, *(name for name in ATTRIBUTES if name not in axes)]
moved = {name: frame.groupby(f"{name}_level")[names].mean().diff().iloc[-1] for name in axes}
moved = pd.DataFrame(moved)
moved_in_words = moved.rename(spaced, axis=0).rename(spaced, axis=1)
caption = (
    "Change of the mean answer (scale 0 to 1) from the low to the high level of the column's axis"
)
moved_in_words.style.format("{:z.2f}", na_rep="–").set_caption(caption)

# %% tags=["hide-cell", "study"]
in_a_row = min(max(1, 8 // 2 ** len(axes)), frame["unit"].nunique())
across = 2 ** len(axes) * in_a_row
drawn = frame[frame["unit"].isin(frame["unit"].unique()[: 3 * in_a_row])]
in_words = [
    "\n".join(level_names[name][level] for name, level in zip(axes, row, strict=True))
    for row in drawn[level_columns].to_numpy()
]


def draw_transects(rows: int, columns: int) -> plt.Figure:
    """The first rows of transects, perhaps in fewer columns, and a row of sampled faces."""
    shown, step = drawn.index[: rows * across], across // columns
    titles = in_words[:across] if step == 1 else in_words[: len(shown)] + [""] * columns
    names = [f"transect {k // step + 1}" for k in range(len(shown) // columns)]
    names = [name if in_a_row == 1 and k % step == 0 else "" for k, name in enumerate(names)]
    named = [*names, "sampled"] if len(names) * columns == len(shown) else []
    return figures.gallery([*images[shown], *samples[:columns]], columns, titles, named)


# %% tags=["narrow", "hide-input", "study"] mystnb={"image": {"alt": "Two transects of a study: each face at all combinations of the levels of the axes, in rows of half as many faces; the last row shows faces as the generator samples them."}}
# Computed by faceaudit.generator.
figure = draw_transects(2, max(1, across // 2))
figure.set_size_inches(4.2, len(figure.axes) * (8.4 / across + 0.45))

# %% tags=["wide", "hide-input", "study"] mystnb={"image": {"alt": "Rows of faces. Each row but the last is one person at all combinations of the levels of the axes; pose, light and background hardly change within a person. The last row shows faces as the generator samples them."}, "figure": {"name": "fig-study-transects", "caption": "The first transects, each face at all combinations of the axes' levels, the last axis changing fastest. Last row: the first sampled faces, none of them selected."}}
# Computed by faceaudit.generator.
_ = draw_transects(3, across)

# %% tags=["study"]
gate = found.report.calibration
leaks = pd.DataFrame([dict(row) for row in gate.leaks] if gate else [])
doses = pd.DataFrame([dict(row) for row in gate.doses] if gate else [])
for_your_study(leaks.head(6), doses)


# %% tags=["study"]
with chdir(file.parent):
    generator = generator_of(faceaudit.read_specification(file), device)
drawn = generator.sample(max(2000, len(codes)), seed).cpu().numpy()
fresh = generator.sample(len(cells), seed + 1).cpu().numpy()
outside = [(out_of_range(one, drawn, planes)["outside"] != "") for one in (cells, fresh)]
by_level = {
    (spaced(name), word): np.asarray(outside[0])[frame[f"{name}_level"] == level].mean()
    for name, words in level_names.items()
    for level, word in enumerate(words)
}
for_your_study(pd.Series(by_level, name="share outside of the sampled range").to_frame())

# %% tags=["hide-input", "study"]
gate_says = (
    f"The gate is {'open' if gate.passed else '**closed**'}: the largest upper limit of a held "
    f"attribute is {leaks['upper'].max():.2f} standard deviations, and {gate.most_leak:.2f} are allowed. "
    if len(leaks)
    else ""
)
Markdown(
    f"{gate_says}{outside[0].mean():.1%} of the images lie outside of the range that the generator samples; "
    f"of faces sampled anew it is {outside[1].mean():.1%}."
)

# %% [markdown]
# ### Errors and effects
#
# Images that people find ambiguous, fake or too young are pruned by the paper's rules ([](07_pruning)). The regression
# of {cite:t}`transects` uses what remains. Its penalty is {term}`Firth's <Firth's penalty>` here, and its intervals are those of whole faces:
# in a small study with few errors, a bootstrap of the paper's fit would miss the truth too often ([](benchmarks)).
# Effects within transects use all images. The interval of an effect knows about chance only. In the known world we also
# audit the same answers with the meant level as the label.

# %% tags=["study"]
kept, rules = prune(frame, PAPER_RULES)
adults, young = prune(kept, ADULT_RULE)
everything = found.effects.rename(columns={"axis": "attribute"})

# %% tags=["study"]
data = frame.assign(kept=frame.index.isin(adults.index))
answered = data[data["error"].notna()]
rows = answered[answered["kept"]]
complete = completeness(frame, adults, level_columns, "unit").set_index(["unit", "axis"])
for_your_study(pd.concat([rules, young]).set_index("attribute").rename(spaced), complete)


# %% tags=["study"]
def groups(name: str) -> pd.Series:
    """What people saw on an axis; where the paper has no cut, what was meant."""
    if name in error_rates.STRATA:
        return error_rates.discretize(rows[name], *error_rates.STRATA[name])
    meant = pd.Categorical.from_codes(rows[f"{name}_level"], level_names[name], ordered=True)
    return pd.Series(meant, rows.index)


# %% tags=["study"]
if len(rows):
    strata = {name: groups(name) for name in axes}
    for_your_study(error_rates.stratified_errors(rows.assign(**strata), axes[::-1]))
else:
    print("no rate: no image was kept")

# %% tags=["study"]
ratios = {}
if len(rows):
    X = effects.paper_columns(rows)
    interacted = effects.interaction_columns(X, ["skin_colour", "hair_length"])
    for name in ("skin_colour", "hair_length"):
        ends = effects.PAPER_LEVELS[name][1]
        for columns in (X, interacted):
            odds = effects.firth_log_odds_ratios(columns, rows["error"], name, *ends, rows["unit"])
            odds = odds.rename(str.lower).drop(columns=["df", "clusters"])
            ratios |= {(spaced(name), group): row for group, row in odds.iterrows()}
logit = pd.DataFrame(ratios, ["estimate", "sd", "low", "high", "reason"]).T
for_your_study(logit)

# %% tags=["study"]
held = pd.DataFrame([*everything["held"]], columns=axes).astype("Int64")
everything = everything.join(held).set_index(["attribute", "cell"])
in_rates = (100 * everything[["estimate", "low", "high"]]).rename(spaced, level="attribute")
change = in_rates.assign(n=[*everything["n"]])


# %% tags=["study"]
def errors_by_intervention() -> np.ndarray:
    """The model's errors on the study's own base faces, at the doses that its images have."""
    doses = {
        name: [real.loc[frame[f"{name}_level"] == level, name].median() for level in (0, 1)]
        for name in axes
    }
    return errors_under_do(
        lambda pictures: networks.predict(classifier, pictures),
        world.parameters(torch.from_numpy(np.load(folder / "base_codes.npy"))),
        doses,
        size=images.shape[-1],
        path=folder / "truth.npy",
    )


# %% tags=["study"]
true = pd.Series(np.nan, everything.index)
if study == EXAMPLE:
    world = load_generator("known-truth", device=device)
    real = facerender.to_frame(world.parameters(torch.from_numpy(cells))).astype(float)
    misread = errors_by_intervention()
    known = true_effects(misread, axes).rename(columns={"effect": "truth"})
    keys = ["attribute", *axes]
    true = everything[axes].reset_index().merge(known[[*keys, "truth"]], on=keys)
    true = true.set_index(["attribute", "cell"])["truth"]
inside = true.between(everything["low"], everything["high"])

# %% tags=["study"]
if study == EXAMPLE:
    same_faces = {"unit": "unit", "axes": level_names, "classes": planned["classes"]}
    as_set = faceaudit.table(
        found.images, label="gender", score="score", tolerance=planned["tolerance"], **same_faces
    )
    meant = as_set.effects.set_index(["axis", "cell"])

# %% tags=["hide-input", "study"] mystnb={"image": {"alt": "Intervals of the effect of each axis on the error rate, one for each combination of the other axes' levels, around a line at zero, with a diamond for the truth by intervention where it is known."}, "figure": {"name": "fig-study-effects", "caption": "Study of a generator: change of the error rate from the low to the high level of an axis, in each cell of the others; all images, 95% intervals. Diamonds: the truth by intervention on the same base faces, which a study of your own does not have."}}
# Computed by faceaudit.generator; the truth by faceworld.scorecard.truth.true_effects.
answer = (100 * true).rename(spaced, level="attribute") if study == EXAMPLE else None
ax = plt.figure(figsize=(PHONE, 1.6 + 0.45 * len(change))).gca()
figures.forest(change.drop(columns="n"), answer, "change of the error rate, points", ax)
names = [f"{axis}:\n{cell}" for axis, cell in change.index]
ax.set_yticks(np.arange(len(change))[::-1], names, fontsize=10)
pairs = " to ".join(f"{n:,}" for n in sorted({change["n"].min(), change["n"].max()}))
title = f"{pairs} pairs in each cell"
if study == EXAMPLE:
    title = f"{inside.sum()} of {len(inside)} intervals hold the truth\n({title})"
_ = ax.figure.suptitle(title, fontsize=12)

# %% tags=["hide-input", "study"]
sentence = None
if study == EXAMPLE:
    sentence = question(
        "Here the truth is that of the same faces. On average an estimate is {off:.1f} points from it. With the meant level as the label, {meant} of "
        "{n} intervals hold it. One in twenty would miss if the cells were independent. Do more miss, if {inside} of {n} hold the truth?",
        margin=(~inside).mean() - 0.05,
        error=np.sqrt(0.05 * 0.95 / len(inside)),
        inside=int(inside.sum()),
        n=len(inside),
        meant=int(true.between(meant["low"], meant["high"]).sum()),
        off=100 * (everything["estimate"] - true).abs().mean(),
    )
sentence

# %% [markdown]
# The regression of the paper has the weakness of [](09_logistic_ate) here too. One coefficient averages effects that
# differ. So look at groups before you read a main effect.

# %% tags=["hide-input", "study"]
sentence = None
if study == EXAMPLE:
    hair = {group: one for (name, group), one in ratios.items() if name == "hair length"}
    sentence = question(
        "The main effect of long hair, as a log odds ratio, is {main:z.1f}. It averages {women:z.1f} among women "
        "and {men:+z.1f} among men. Are these two different?",
        margin=abs(hair["male"]["estimate"] - hair["female"]["estimate"]),
        error=np.hypot(hair["male"]["sd"], hair["female"]["sd"]),
        main=hair["main effects"].to_dict(),
        women=hair["female"].to_dict(),
        men=hair["male"].to_dict(),
    )
sentence

# %% [markdown]
# ### What the gate cannot see
#
# An attribute that was neither asked about nor measured can move along with an axis. Look at the rows of
# {numref}`fig-study-transects` for it, then ask about it in the next study, or let a *reader* (a model that
# measures an attribute) measure it, and hold it.
# [](benchmarks) counts how often the same audit holds its truths with readers.

# %% tags=["study"]
if study == EXAMPLE:
    female, jaw = frame["gender_level"] == 0, real["jaw_width"]
    worn = frame[female].assign(worn=(real["earrings"] > 0.5).astype(float))
    worn = worn.pivot_table("worn", "unit", "skin_colour_level")
    more = worn[1] - worn[0]

# %% tags=["hide-input", "study"]
sentence = None
if study == EXAMPLE:
    sentence = question(
        "Jaws change by {wider:+.1f} standard deviations from female to male. Do earrings come along with skin: are they in more of the images "
        "that were meant to look dark-skinned and female ({dark:.0%}) than of the light-skinned versions of the same faces ({light:.0%})?",
        margin=more.mean(),
        error=more.sem(),
        dark=worn[1].mean(),
        light=worn[0].mean(),
        wider=(jaw[~female].mean() - jaw[female].mean()) / jaw.std(),
    )
sentence

# %% [markdown]
# ## Your own
#
# Half an hour is enough for each way in, with a page to follow: [a table](audit-a-table),
# [a classifier](audit-a-classifier), [a recogniser](audit-a-recogniser), [a generator](bring-your-generator).
# Each begins with a copy of a shipped file, and ends with a report and a gate. The commands are the same.
#
# ```bash
# make audit-plan AUDIT=audits/mine.yml
# make audit AUDIT=audits/mine.yml
# ```

# %% [markdown]
# ## What would change our mind
#
# - If estimates with the labels as set lay further from the truth than both standard errors allow, run after
#   run, the analysis would be at fault.
# - If reports of models without any effect raised alarms more often than the level allows, verdicts would be
#   worthless. [Fifty sealed models](benchmarks.md) were audited to count this.
# - If the study of the known world had wrong signs where effects are large, we could not trust a study of
#   a real generator.

# %% [markdown]
# ## Exercises
#
# ```{exercise} A smaller audit, 10 minutes, easy
# :label: exercise-smaller-audit
# Halve the number of faces in `audits/example.yml` and write the plan with `make audit-plan`. What can the
# design still call beyond the tolerance? Then leave `transects` out, so that the plan chooses the number.
#
# **Check:** write the plan of the unchanged file first. With half of the faces you have half of its images.
# ```

# %% [markdown]
# ```{solution-start} exercise-smaller-audit
# :class: dropdown
# ```
# `faceaudit.plan` computes the sizes. The distance from the tolerance to the detectable change grows by about the square root of two. A plan that chooses
# its own number takes many more faces, because a small tolerance is expensive: an effect of zero is to be called
# within it, and one of twice the tolerance beyond it.


# %% tags=["solution"]
def sizes_with(transects: int | None) -> dict:
    """Sizes of the plan with another number of faces."""
    changed = design | {"transects": transects}
    return faceaudit.plan(**parts, **changed, model=model_file(before)).content["sizes"]


# %% tags=["solution"]
faces = {"as it is": units, "half": units // 2, "chosen": None}
whole, half = sizes_with(faces["as it is"]), sizes_with(faces["half"])
assert half["images"] * whole["units"] == whole["images"] * half["units"]
heads = {"units": "faces", "detectable": "smallest detectable effect"}
sizes = pd.DataFrame({name: sizes_with(n) for name, n in faces.items()})
sizes.loc[[*heads]].rename(heads).T

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Gaming the gate, 15 minutes, medium
# :label: exercise-gate
# Find two ways to make a biased model pass `gate` without a change to the model. Which parts of the report
# give each of them away?
#
# **Check:** for each way, point to the line of the report that an attentive reader would question.
# ```

# %% [markdown]
# ```{solution-start} exercise-gate
# :class: dropdown
# ```
# Raise the tolerance before the plan is written. Then the report lists no departure, and only its tolerance shows the
# trick. Or take few faces and set `faces: 2` in the file's `policy`. The averages must still be decided, but single
# cells stay open: the first box has the number of faces, and `--fail-on inconclusive` closes this way. A third way is to
# delete the plan. Its new date, after the answers, gives that away.

# %% tags=["solution"]
asked = retrained.images.rename(columns={"clothing_level": "clothing"})
clothes = {"clothing": [0, 1]}
wide = faceaudit.table(
    asked, unit="unit", error="error", axes=levels, placebos=clothes, tolerance=0.2
)
assert not wide.report.plan.departures  # the first plan had this tolerance already
print(f"tolerance of the report: {wide.report.tolerance:.0%}; departures: none")

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Fewer answers, 20 minutes, hard
# :label: exercise-study-answers
# Let the study sample five hundred faces only. It stops before people see neutral faces, and its folder has the
# directions by then. What happens to their quality and to the cost of a step?
#
# **Check:** the file of directions of the whole study gives the table of checks above.
# ```

# %% [markdown]
# ```{solution-start} exercise-study-answers
# :class: dropdown
# ```
# There are fewer faces than numbers in a code, so the fit leans on its penalty. A step along noisy normals
# changes its own attribute less, and others more. Read the step cost with care: noise pulls normals towards
# random directions, which are nearly orthogonal. So a low cost is no sign of good directions.

# %% tags=["solution", "study"]
if study == EXAMPLE:
    place = stage.folder / "few"
    smaller = own | {"generator": own["generator"] | {"samples": 500}}
    for _ in range(2):  # before people see the sampled faces, and after it
        answer_tasks(place, own["calibration"]["crop"], seed)
        try:
            audit_of_the_study(smaller, place)
        except faceaudit.PeopleNeeded:
            continue

# %% tags=["solution", "study"]
if study == EXAMPLE:
    few = Hyperplanes.from_arrays(np.load(place / "directions.npz")).select(planes.names)
    both = {"quality, all": planes.scores, "quality, few": few.scores}
    both |= {"step cost, all": inflation}
    both |= {"step cost, few": orthogonalization.variance_inflation(few.normals)}
    display(pd.DataFrame(both, planes.names).rename(spaced))

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - An audit is one call or one file, a plan that is written before the model is asked, and a report that lists every departure.
# - A verdict has three values. Decide beforehand what your gate does with *undecided*.
# - Intervals know about chance. Look at images and placebos for leakage, and trust effects far beyond the tolerance first.
#
# **Next:** audit your own model. [](19_published_models) audits models that people install, and the [advanced notes](notes) go deeper.

# %% tags=["remove-cell", "study"]
kept_columns = ["estimate", "low", "high", "n"]
results |= {
    "study": own["name"],
    "quality": planes.scores,
    "leakage": moved.to_dict(),
    "images": {"made": len(data), "kept": len(rows)},
    "regression": {", ".join(key): row for key, row in logit.to_dict("index").items()},
    "effects": everything[kept_columns].reset_index().to_dict("records"),
    "truth": true.dropna().reset_index().to_dict("records"),
}

# %% tags=["remove-cell"]
reached = (
    f"In the study of a generator {inside.sum()} of {len(inside)} intervals hold the truth of the same faces."
    if study == EXAMPLE
    else "Your own generator has no truth to compare with."
)
undecided = sum(one.verdict == "inconclusive" for one in report.judged)
glue(
    "answer",
    Markdown(
        with_minus(
            f"One call or one audit file goes in and one report comes out, from a table, a model or a generator. For the "
            f"model file of this chapter {beyond} of {len(report.judged)} judged comparisons are beyond the tolerance "
            f"and {undecided} are undecided, so the gate gives exit code {code}. The truth is known from other faces, with an error of its own: "
            f"{intervals_held} of {intervals} intervals hold it. {reached}"
        )
    ),
    display=False,
)

# %% tags=["remove-cell", "study"]
_ = stage.finish(results)
