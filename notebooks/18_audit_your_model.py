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
# All chapters so far looked at models that the book itself had trained. This one takes a model as an
# auditor gets it: a file that answers, and nothing else. One text file says what is to be audited,
# and one report comes out. Here every step between the two is shown, with the decision in it. The
# command `make audit` goes through the same steps, for any model.

# %% [markdown]
# ## Question
#
# What has to be decided before a model is asked, what does the report then say, and where is it
# wrong? The first model is one whose true effects can be looked up. The second audit has nothing
# but a table, and the third is of a system that recognises faces.

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Population | the face world's adults, in transects; a table; the pictures of [](14_verification_measures) |
# | Unit | one matched face; of the recogniser, one seed |
# | Intervention | skin colour, hair length and gender, and the hue of the clothes as a placebo |
# | Held fixed | everything else of the face |
# | Outcome | error against the raters' majority; having no answer is an outcome of its own |
# | Estimand | change of the error rate in every cell and on average; differences of match rates between groups |
# | Tolerance and n | in the audit file, and from there in the plan |
# | Decision at stake | whether a build with this model may pass |
# | Known failure | what moves along with an axis, in the images or in the labels, is part of its effect |

# %% [markdown]
# ## Prerequisites
#
# You need the matched effects and the verdicts of [](10_matched_pairs), the plan's sizes from
# [](16_planning), the networks of [](02_face_world), and for the last part the rates of
# [](15_verification_curves). The chapter takes about forty minutes to read and about a minute to run.
# *Female* and *male* stand for perceived gender.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import yaml
from IPython.display import Markdown

from faceaudit import (
    analyse,
    analyse_pairs,
    build_report,
    compare,
    from_table,
    gate,
    read_json,
    read_specification,
    write_card,
    write_json,
)
from faceaudit.model_input import better_preparation, check_preparation
from faceaudit.models import ask, check_model, model_of
from faceaudit.examples import write_faces, write_onnx
from faceaudit.plan import departures, keep_plan, make_plan
from faceaudit.pairs import ask_recogniser
from faceaudit.report_page import write_html
from faceaudit.tables import judged
from faceaudit.wording import by_chance, spaced
from faceaudit.faces import World, render_faces, simulated_answers
from helpers import claims, figures, models
from helpers.artifacts import Stage
from helpers.artifacts.lineage import ROOT
from helpers.verification.pairs import image_index

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
n_transects = 400
audit = "audits/example.yml"

# %%
stage = Stage("18_audit_your_model", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:.1f}".format

# %% [markdown]
# ## One file
#
# An audit file names the question, the images, the people, the model and the design. A key that
# nobody knows is an error, because a misspelt tolerance would otherwise be a tolerance by default.
# This is the example that ships with the book:

# %% tags=["hide-input"]
text = (ROOT / audit).read_text(encoding="utf-8")
Markdown(f"```yaml\n{text}```")

# %% [markdown]
# Four values are exchanged here. The model is one that an earlier chapter trained on faces as photo
# collections show them, written to an ONNX file. The audit has half of the transects of this run's
# profile. The truth takes twice as many faces, since it must be the more exact of the two.

# %%
before, after = "celeba-like", "fairface-like"
for name, network in models.load_all(stage, "02_face_world", [before, after]).items():
    write_onnx(network.network, stage.path(f"{name}.onnx"), image_size)

# %%
file = ROOT / audit
if audit == "audits/example.yml":
    told = yaml.safe_load(text)
    told["model"] |= {"path": f"{before}.onnx", "input": {"size": image_size}}
    units = max(n_transects // 2, min(n_transects, 40))
    told["design"]["transects"] = units
    told["generator"]["base_faces"] = 2 * units
    file = stage.path("audit.yml")
    file.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
own = read_specification(file)

# %% [markdown]
# ## The plan
#
# Before any model is asked, the plan is written: tolerance, level, sizes, and by name every comparison
# that will be tested. It has a date and a hash. A later run of the same audit keeps the first plan, so
# that nobody can move the tolerance once the result is known. This page is made anew each time, so it
# removes its plan first. An audit never does.

# %%
stage.path("plan.json").unlink(missing_ok=True)
plan = keep_plan(make_plan(own, inputs=[own.path]), stage.folder / "plan.json")
families = {name: len(comparisons) for name, comparisons in plan["families"].items()}
pd.Series(families, name="comparisons").to_frame()

# %% [markdown]
# Cells, averages and missing answers are judged together: the chance that any of them is called beyond
# the tolerance by mistake is the plan's level. Each family has an equal share of it (Holm's method, with
# weights), so that three averages do not drown among twelve cells. The placebo is a control of its own.
# The sizes say what such a design can find. The planned number of faces is a price: with fewer, an effect of the
# size of the tolerance stays undecided more often than not. The report's column *detectable*
# says what each comparison reached.

# %% tags=["hide-input"]
sizes = plan["sizes"]
detectable = sizes["detectable"]
found = "no change at all" if detectable is None else f"changes from {100 * detectable:.0f} points"
Markdown(
    f"{sizes['units']} faces, {sizes['images']:,} images: in a cell, the design finds {found} with a "
    f"power of {plan['power']:.0%}, if the model errs on {sizes['expected error']:.0%} of images. An "
    f"effect as large as the tolerance of {100 * plan['tolerance']:g} points it tells from zero with a "
    f"power of {sizes['power at the tolerance']:.0%}."
)

# %% [markdown]
# ## The faces
#
# The audit makes transects by the recipe of [](05_transect_generation), with the world's exact
# directions. With a generator of your own, directions are fitted from annotations first
# ([](03_direction_fitting)). The clothes are an axis as well, a placebo: their colour should make no
# face harder to classify.

# %%
world = World.of(own)
index, parameters = world.faces(sizes["units"])
images = render_faces(parameters, own.size, stage.folder)
len(images), images.shape[1:]

# %% mystnb={"image": {"alt": "One drawn face sixteen times, in two rows of eight. From left to right skin colour, hair length and gender change; the lower row shows the same faces in clothes of another hue."}, "figure": {"name": "fig-own-transect", "caption": "One matched face: two levels of skin colour, hair length and gender in every combination. Upper and lower row differ in the placebo, the hue of the clothes."}}
first = images[index["unit"] == index["unit"][0]]
rows = index["clothing_level"][: len(first)].to_numpy()
_ = figures.gallery([*first[rows == 0], *first[rows == 1]], 8, row_labels=["one hue", "another"])

# %% [markdown]
# ## The people
#
# What counts as an error is decided by labels, and labels come from people. In the example a simulated
# crowd looks at every image. Where raters tie, the image has no label and takes part in nothing. For
# an audit with real people the file names the tool they work in, as [](a-study-with-label-studio)
# describes. The model's makers should not be these people.

# %%
labelled = simulated_answers(index, parameters, own)
ties = labelled["label"].isna()
Markdown(f"{ties.sum()} of {len(labelled):,} images have no label, because raters tie.")

# %% [markdown]
# ## The model
#
# The report trusts the model's answers, so the model is tried first: it must answer, answer
# differently for different images, and twice the same for one image. A wrong preparation is harder to
# see, since a network that gets blue for red still answers. So other preparations are tried as well,
# and the first line says whether one separates the classes better.

# %%
model = model_of(own)
check_model(model, images)
some = labelled.index[~ties][::5][:200]
tried = check_preparation(model, images[some], labelled["label"][some])
print(better_preparation(tried) or "no other preparation separates better")
tried[["channels", "pixels", "separation", "gain"]].style.format(precision=3)

# %% [markdown]
# Separation is the share of pairs, one face of each class, in which the right one has the higher
# score. Then the model is asked about all images. Answers are kept by the image and by the model's
# hash, so that nothing is asked twice. An image without an answer is no error: it is an outcome of its
# own, because systems that find no face in dark pictures harm people without ever being wrong.

# %%
labelled["score"] = ask(model, images, stage.folder / "answers")
data = judged(labelled, plan["threshold"], True, "the face world")
data.frame[["score", "no_answer", "error"]].describe().loc[["count", "mean"]].style.format("{:.3g}")

# %% [markdown]
# ## The verdicts
#
# The analysis makes the comparisons that were planned, and no others. A comparison *exceeds* the
# tolerance if its effect is beyond it after adjustment. It is *within* if two one-sided tests say so,
# and else *inconclusive*: the images cannot tell. Beside the verdicts stand other thresholds, scores,
# and how far every annotated attribute moved along every axis.

# %%
tables = analyse(data, plan)
tables["effects by cell"]["verdict"].value_counts().to_frame("cells")

# %% [markdown]
# In the face world one more thing can be done, which no audit of a real generator can do: look the
# answer up. Other faces are rendered with each axis set by hand, and the same file is asked. The
# truth counts an error against what was set; the audit counts it against what people saw.


# %%
def score_of(faces: np.ndarray) -> np.ndarray:
    """What the model says of images."""
    return ask(model, faces, stage.folder / "answers")


truth = world.truth(
    score=score_of,
    threshold=plan["threshold"],
    specification=own,
    path=stage.folder / "truth.npy",
)
now = make_plan(own, inputs=[own.path])
report = build_report(data, tables, plan, now, truth=truth, model=model.card())

# %% [markdown]
# ## The report
#
# Three files are written, which hold the same sentences. `report.html` begins with what a manager reads in
# two minutes. `report.json` has a published schema, for machines. `model_card.md` has the sections of a
# model card. The first sentences:

# %%
write_json(report, stage.path("report.json"))
write_html(report, stage.path("report.html"))
write_card(report, stage.path("model_card.md"))
Markdown(f"> **{report.question}** {report.answer}")

# %% tags=["hide-input"]
cells = pd.DataFrame([one.model_dump() for one in report.effects])
cells["change"] = cells["axis"].map(spaced) + ": " + cells["cell"]
NUMBERS = ["estimate", "low", "high", "truth", "truth_se"]
cells[NUMBERS] = 100 * cells[NUMBERS].astype(float)
beyond = cells[cells["verdict"] == "exceeds"]
truth_known = cells.dropna(subset=["truth", "low"])
inside = truth_known["truth"].between(truth_known["low"], truth_known["high"])

# %% tags=["hide-input"] mystnb={"image": {"alt": "Forest of twelve changes of the error rate, in three groups for skin colour, hair length and gender, each in four cells. Points with intervals around a line at zero, and a diamond at the true change of each."}, "figure": {"name": "fig-own-effects", "caption": "Changes of the error rate in points, when an attribute goes from its low to its high level, in every cell of the others; 95 % intervals and the truth by intervention."}}
drawn = cells.set_index("change")
ax = figures.forest(drawn[NUMBERS[:3]], drawn["truth"], "change of the error rate (points)")
_ = ax.set_title(
    f"{len(beyond)} of {len(cells)} changes are beyond the tolerance", loc="left", pad=28
)

# %% [markdown]
# ### Where it is wrong
#
# Does each interval hold the truth? Not always, and there are three reasons to tell apart. The truth
# is itself an estimate, from other faces. The audit counts an error against what people saw, and the
# truth against what was set. And a moved face carries more than the axis, such as the hue of its
# clothes and the artefacts of a generator. The first reason is chance, and can be reckoned with: how far
# are the two apart, in their common standard error?

# %%
ERROR = (cells["high"] - cells["low"]) / (2 * 1.96)
cells["apart"] = (cells["estimate"] - cells["truth"]) / (ERROR**2 + cells["truth_se"] ** 2) ** 0.5

# %% tags=["hide-input"]
outside = truth_known[~inside]
told = [
    f"{row.change} ({row.truth:+.1f}; {abs(cells['apart'][row.Index]):.1f} standard errors away)"
    for row in outside.itertuples()
]
Markdown(
    f"The interval holds the truth in {inside.sum()} of {len(truth_known)} cells. Outside of it: "
    f"{'; '.join(told) or 'none'}. {by_chance(len(outside), len(truth_known))} The truth has a "
    f"standard error of up to {truth_known['truth_se'].max():.1f} points."
)

# %% [markdown]
# The second reason can be taken away, since in this world it is known what was set. The same images
# and answers get the intended level as their label. If the misses shrink, the raters were their cause;
# if they do not, it was the faces. No audit of a real generator can make this check, and there the
# disagreement of raters is all that is known of their errors.

# %% tags=["hide-input"]
level = labelled[f"{own.attribute}_level"].astype(float)
as_set = judged(labelled.assign(label=level), plan["threshold"], True, "as set")
without_people = 100 * analyse(as_set, plan)["effects by cell"]["estimate"].to_numpy()
misses = pd.DataFrame(
    {
        "people's labels": (cells["estimate"] - cells["truth"]).abs(),
        "labels as set": (without_people - cells["truth"]).abs(),
    }
)
axis_names = cells["axis"].map(spaced).rename("mean miss (points)")
misses.groupby(axis_names, sort=False).mean()

# %% tags=["hide-input"]
differ = (labelled["label"] != level)[~ties].mean()
Markdown(f"The majority of raters saw another gender than was set in {differ:.1%} of images.")

# %% [markdown]
# The placebo is read next. If the hue of the clothes changed errors as much as an axis does, the axis
# would prove nothing. It need not be exactly zero: clothes throw colour on a small picture, and a
# network that reads hair may well react to what lies beside it. The report says what it found, and
# names effects that are no larger.

# %% tags=["remove-input"]
placebo, largest = report.placebos[0], max(report.averages, key=lambda one: abs(one.estimate))
claims.told(
    "Another hue of the clothes changes the error rate by {change:points} points, and the largest average "
    "effect of an axis is {most:points} points. Is that more, whatever the sign?",
    margin=abs(largest.estimate) - abs(placebo.estimate),
    error=sum((one.high - one.low) ** 2 for one in (placebo, largest)) ** 0.5 / (2 * 1.96),
    change={"estimate": placebo.estimate, "low": placebo.low, "high": placebo.high},
    most={"estimate": largest.estimate, "low": largest.low, "high": largest.high},
)

# %% [markdown]
# What the report does not say is a part of the report. Its limits are worked out from the data: how many
# images have no label or no answer, what moved along an axis that should not have, what was undecided.

# %% tags=["hide-input"]
Markdown("\n".join(f"- {limit}" for limit in report.limits))

# %% [markdown]
# ### Did the axis move what people see?
#
# An audit whose axis moves nothing would pass every model. So the report shows how far people saw an
# axis move along itself, if they were asked about it. Here that is gender. What makes a report hard to
# believe, such as an axis that was not moved or errors of guessing, is a *doubt*. It stands in the first
# box.

# %%
seen = [(spaced(one.axis), 100 * one.estimate) for one in report.manipulation]
pd.DataFrame(seen, columns=["axis", "points of its scale"]).set_index("axis")

# %% [markdown]
# ### What departs from the plan
#
# Somebody who does not like the answer may want a larger tolerance. The audit runs with what the file
# says by then. But the first plan stays: the report lists what departs from it, and the gate fails.

# %%
lenient = own.design.model_copy(update={"tolerance": 0.2})
moved = make_plan(own.model_copy(update={"design": lenient}), inputs=[own.path])
print(*departures(plan, moved, {}), sep="\n")

# %% [markdown]
# ## The gate
#
# A build server wants an exit code: zero if the model may pass; one if any judged comparison is beyond
# the tolerance, the plan was not kept, or a doubt stands; two if it is undecided, where that is asked;
# three if there is no sound report. *Undecided* passes by default, so a small audit passes everything.
# `--fail-on inconclusive` closes this way.

# %%
code, lines = gate(stage.folder / "report.json")
again = read_json(stage.folder / "report.json")
code, gate(again, "inconclusive")[0], len(lines)

# %% tags=["remove-input"]
beyond = sum(one.verdict == "exceeds" for one in report.judged)
claims.claim(
    "{n} comparisons of cells, averages and missing answers are beyond the tolerance, and the gate names "
    "each of them. Its exit code is {code}.",
    holds=sum(line.startswith("exceeds: ") for line in lines) == beyond
    and (code == 1 or not beyond),
    code=code,
    n=beyond,
)

# %% [markdown]
# ## Did retraining help?
#
# The makers train a second model on a balanced collection. Is it better, and for whom? Both answer on
# the same images, so their errors are compared image by image. That takes out what is hard about a
# face, and finds smaller changes than two audits side by side.

# %%
second = own.model_copy(
    update={"model": own.model.model_copy(update={"path": stage.folder / f"{after}.onnx"})}
)
newer = model_of(second)
score = ask(newer, images, stage.folder / "answers")
retrained = labelled.assign(score=score)
changed = compare(data, judged(retrained, plan["threshold"], True, after), plan)["errors"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Forest of nine rows, all images and eight groups by skin colour, hair length and gender: the change of the error rate from the first model to the second, with intervals around a line at zero."}, "figure": {"name": "fig-own-versions", "caption": "Change of the error rate from the model trained on the celeba-like collection to that trained on the fairface-like one, on the same images; 95 % intervals."}}
clear = changed[changed["cell"] != "all images"]["verdict"].value_counts()
table = 100 * changed.set_index("cell")[["estimate", "low", "high"]]
ax = figures.forest(table, xlabel="second model minus first (points of the error rate)")
_ = ax.set_title(
    f"Retraining: better in {clear.get('better', 0)} groups, worse in {clear.get('worse', 0)}",
    loc="left",
)

# %% [markdown]
# ## A table is enough
#
# An auditor seldom gets the model. Somebody else made the images, asked the people and asked the
# system, and sends a table: a row per image, with the face it belongs to, the levels, the raters'
# answers and the score. That is all the statistics need. The table that ships with the book came from
# the face world; its reader does not know that.

# %%
of_table = read_specification(ROOT / "audits/table.yml")
rows = from_table(ROOT / "audits/table.csv", of_table)
plan_of_table = make_plan(of_table, rows.frame["unit"].nunique())
table_report = build_report(rows, analyse(rows, plan_of_table), plan_of_table, plan_of_table)
Markdown(f"> **{table_report.question}** {table_report.answer}")

# %% [markdown]
# The question was about skin, and the answer is about hair and perceived gender. That is not
# evasion: all comparisons share one error rate, and the report gives all of them. What it says
# about skin in each cell stands in its sentences:

# %% tags=["hide-input"]
about_skin = [one for one in table_report.effects if one.axis == "skin_colour"]
Markdown("\n".join(f"- {one.sentence}" for one in about_skin))

# %% tags=["remove-input"]
verdicts = pd.Series([one.verdict for one in about_skin]).value_counts()
claims.claim(
    "In this table no effect of skin is shown to be beyond the tolerance: {within} of {n} cells are "
    "within it, and {open} are undecided with so few faces. The model gave no answer for {silent} "
    "images.",
    holds=verdicts.get("exceeds", 0) == 0 and verdicts.get("inconclusive", 0) > 0,
    within=verdicts.get("within", 0),
    n=len(about_skin),
    open=verdicts.get("inconclusive", 0),
    silent=table_report.data["no_answer"],
)

# %% [markdown]
# Tables are where mistakes come in: a face twice, a level misspelt, a unit that lacks an image. Each
# is refused with one sentence, which names the file, the row or column and what was expected. Here the
# last row is dropped, as an export that was cut off would do:

# %%
cut_off = pd.read_csv(ROOT / "audits/table.csv").iloc[:-1]
try:
    from_table(cut_off, of_table)
except ValueError as error:
    print(error)

# %% [markdown]
# ## A recogniser
#
# A system that recognises faces says nothing about one picture. It makes a vector of it, an *embedding*,
# and the cosine of two embeddings is the similarity of two faces. Its errors are errors on pairs. So the
# audit file names pictures of known people; the audit asks for embeddings, and makes the pairs. This is
# the example that ships with the book:

# %% tags=["hide-input"]
of_people = (ROOT / "audits" / "verification.yml").read_text(encoding="utf-8")
Markdown(f"```yaml\n{of_people}```")

# %% [markdown]
# Pictures and recogniser are exchanged for those of [](14_verification_measures): six prototypes of
# every seed, in seventeen pictures each. A prototype is an identity. Prototypes of one seed resemble
# each other across the groups, so `unit` says that they are matched, and intervals take seeds as units.

# %%
NAME = "arcface-a"
prototypes = stage.load("14_verification_measures", "prototypes.parquet")
people = image_index(prototypes).rename(columns={"prototype": "identity"})
pictures = stage.load("14_verification_measures", "faces.npy")
write_faces(pictures, people[["identity", "seed", "group"]], stage.folder / "people.csv")
weights = stage.load("14_verification_measures", f"{NAME}.safetensors")
recogniser = models.Recogniser.read(weights)
_ = write_onnx(recogniser.network, stage.path(f"{NAME}.onnx"), image_size)

# %% [markdown]
# The threshold is the one that was set there on other people's pictures, and the tolerance that of the
# first audit. The example sets its threshold by the false match rate of the reference, which is usual
# where a product comes without one. But a threshold that is set on the audited pairs is less of a test.

# %%
threshold = stage.load("14_verification_measures", "recognisers.parquet")["threshold"][NAME]
told = yaml.safe_load(of_people)
told |= {"images": "people.csv", "columns": {"image": "file", "unit": "seed"}}
told["model"] |= {"path": f"{NAME}.onnx", "threshold": float(threshold)}
told["model"] |= {"input": {"size": image_size}, "fmr": None}
told["design"] |= {"tolerance": own.design.tolerance, "seed": seed}
file = stage.path("verification.yml")
file.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
of_recogniser = read_specification(file)
plan_of_pairs = make_plan(of_recogniser, inputs=[file])

# %% [markdown]
# Which pairs are compared follows from the table and the seed, before the model is asked. Pairs of one
# person are all pairs of different pictures of an identity. Pairs of two people are drawn within a
# group, up to the number in the file: like is compared with like, as in the reports of NIST, because
# people of different groups are easy to tell apart. A picture without an embedding is a *failure to
# enrol*. It is counted by group, and its pairs take no part in the error rates.

# %%
similar, asked = ask_recogniser(of_recogniser, stage.folder / "recogniser", print)
compared = analyse_pairs(similar, plan_of_pairs)
pair_report = build_report(similar, compared, plan_of_pairs, plan_of_pairs, **asked)
Markdown(f"> **{pair_report.question}** {pair_report.answer}")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of error rates with intervals for six groups, by perceived gender and ancestry: false non-matches on the left and false matches on the right, all at one threshold."}, "figure": {"name": "fig-own-recogniser", "caption": "Error rates of the recogniser by group at one threshold; 95 % intervals, with seeds as the units."}}
shown_rates = compared["rates"].set_index("group")
figure, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 4.2), sharey=True)
for ax, rate, name in zip(axes, ("fnmr", "fmr"), ("false non-match", "false match"), strict=True):
    part = 100 * shown_rates[[rate, f"{rate}_low", f"{rate}_high"]]
    figures.forest(part.set_axis(["estimate", "low", "high"], axis=1), None, f"{name} rate (%)", ax)
within = sum(one.verdict == "within" for one in pair_report.disparities)
_ = figure.suptitle(
    f"{within} of {len(pair_report.disparities)} differences are within the tolerance"
)

# %% [markdown]
# The rates are not those of [](15_verification_curves), because the pairs are others. There a crowd said
# who is one person, and one picture of a pair is always the prototype: from the front, in plain light.
# Here two variants meet as well, one head turned to the left and the other to the right. Whoever
# compares two audits should compare their pairs first.

# %% tags=["hide-input"]
chosen = stage.load("14_verification_measures", "pairs.parquet")
chosen = chosen.loc[chosen["kind"] == "positive", f"similarity_{NAME}"]
every = similar.frame.loc[similar.frame["same"] == 1, "similarity"]
Markdown(
    f"**In this run** {(every < threshold).mean():.1%} of all pairs of one prototype lie below the "
    f"threshold, and {(chosen < threshold).mean():.1%} of those pairs in which one picture is the "
    "prototype itself."
)

# %% [markdown]
# Groups differ here in more than their names: all were made with the same steps, but what a step does
# to a picture may differ. The report says so among its limits. Whether a gap between groups is caused
# by what names the group is the question that matched faces are for. An auditor who has similarities
# and no model brings [a table of pairs](audit-a-table) to the same analysis.

# %% [markdown]
# ## Your own
#
# Thirty minutes are enough for each way in, with a page to follow: [a classifier](audit-a-classifier),
# [a recogniser](audit-a-recogniser), [a table](audit-a-table), and [a generator](bring-your-generator),
# as in [](21_own_study). Each begins with a copy of a shipped file, and ends with a report and a gate.
# The commands are the same.
#
# ```bash
# make audit-plan AUDIT=audits/mine.yml
# make audit AUDIT=audits/mine.yml
# ```

# %% [markdown]
# ## What would change our mind
#
# - If the effects with labels as they were set lay further from the truth than the two standard errors
#   allow, run after run, the fault would lie with the analysis and not with chance or people.
# - If reports of models without any effect raised alarms more often than the level allows, no verdict
#   would be worth having. [Fifty sealed models](benchmarks.md) were audited to
#   count this.

# %% [markdown]
# ## Exercises
#
# ```{exercise} A smaller audit
# :label: exercise-smaller-audit
# Copy `audits/example.yml`, halve the number of faces, and write the plan with `make audit-plan`. What
# can the design still find? Then let the plan choose the number: leave `transects` out.
# ```
#
# ```{solution} exercise-smaller-audit
# :class: dropdown
# `detectable` in the plan's sizes grows by about the square root of two. Without `transects`, the plan
# takes as many faces as the wanted power needs for an effect as large as the tolerance, with the level
# shared among all cells. That is many more, because a small tolerance is expensive.
# ```

# %% [markdown]
# ```{exercise} Gaming the gate
# :label: exercise-gate
# Find two ways to make a biased model pass `gate` without changing the model. Which parts of the report
# give each of them away?
# ```
#
# ```{solution} exercise-gate
# :class: dropdown
# Raise the tolerance before the plan is written: nothing departs from it then, and only the report's
# tolerance shows it. After the plan, the gate fails. Take few faces: all is *undecided*, which passes by
# default; the last line and the limits say so, and `--fail-on inconclusive` closes this way. A third is
# to delete the plan: its date, after the answers, gives that away.
# ```

# %% [markdown]
# ## Takeaways
#
# - An audit is a file, a plan that is written before the model is asked, and a report that owns up to
#   what departs from it.
# - A verdict has three values. *Undecided* is one of them, and a gate must say what it does with it.
# - An interval is about these faces and these labels. Where a truth can be looked up, see how far it
#   lies away before you trust the interval.


# %% tags=["hide-input"]
_ = stage.finish(
    {
        "answer": report.answer,
        "verdict": report.verdict,
        "cells": cells[["axis", "cell", "verdict", *NUMBERS]].to_dict("records"),
        "intervals_with_truth": int(inside.sum()),
        "placebo": placebo.estimate,
        "gate": code,
        "retrained": {row.cell: row.estimate for row in changed.itertuples()},
        "table": table_report.verdict,
        "recogniser": pair_report.verdict,
    }
)
