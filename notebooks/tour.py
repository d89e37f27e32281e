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
# # The book in twenty minutes
#
# *You need one course in statistics.* This page tells what the book found. Numbers come from the run behind these pages, and code prints them. A statement with a bold title, not a question, was
# true in at least nineteen of [twenty other runs](#twenty-other-seeds), each with its own {term}`seed <seed (of a run)>`. If this run contradicts a
# sentence, or is too small to decide it, a box in its place says so.

# %% tags=["remove-cell"]
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

import facerender
import faceworld
from faceaudit.effects.verdicts import Z
from faceaudit.utils.formatting import with_minus
from faceworld.scorecard import counted_gap
from helpers import artifacts, figures
from helpers.artifacts.lineage import ROOT
from helpers.claims import Margin, claim, margin_above, margin_below, question
from helpers.figures import causes

# %% tags=["parameters", "remove-cell"]
profile = "laptop"
audited = "fairface-like"
other = "celeba-like"

# %% tags=["remove-cell"]
figures.style()
BOTH = (audited, other)
NARROW = 4.8  # inches: text of ten points can then be read on a phone
RECORDS = ROOT / "benchmarks" / "results"
GOAL = 0.95  # share of intervals that should hold the truth


# %% tags=["remove-cell"]
def plain(value):
    """Results, with numbers that are not to be had as NaN, which makes no comparison true."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return np.nan if value is None else value


# %% tags=["remove-cell"]
projection = plain(artifacts.load("04_orthogonalization", "results.json", profile))
crowd = plain(artifacts.load("06_annotation_ingestion", "results.json", profile))
pruned = plain(artifacts.load("07_pruning", "results.json", profile))
experiment = plain(artifacts.load("10_matched_pairs", "results.json", profile))
experiment |= plain(artifacts.load("11_who_was_right", "results.json", profile))
experiment |= plain(artifacts.load("n10_direct_effects", "results.json", profile))
scored = plain(artifacts.load("n01_truth_scorecard", "results.json", profile))
planned = plain(artifacts.load("16_planning", "results.json", profile))
carried = plain(artifacts.load("17_transport", "results.json", profile))
hidden = plain(artifacts.load("12_hidden_attributes", "results.json", profile))
recognised = artifacts.load("15_verification_curves", "results.json", profile)

# %% [markdown]
# ## The question
#
# A model looks at a portrait and guesses which gender people perceive. In a famous audit such models erred most
# often on dark-skinned women {cite}`gender-shades`. Did their skin cause the errors? A count of errors cannot tell,
# because other things go with skin in a collection of portraits: hair, age, makeup, light. This book counts first. Then it
# makes an experiment {cite}`transects`. At the end it looks up the true answer.
#
# Three results matter most, and they were true in all of the other runs. Counts overstate what skin does. Averages hide what cells show. An
# experiment does not carry to portraits by reweighting.

# %% [markdown]
# The page counts first, makes the experiment and looks up the truth. Then it asks how much of the gap is hair, and what follows for
# the people who were counted. At its end stand models that people install.

# %% [markdown]
# The true answer is known here because the faces are drawn. A {term}`face world` draws them from numbers for {term}`skin colour`, hair, shape of the
# face and much else. Models are really trained on these faces and tested. The raters are simulated, with noise that was fitted to real ratings, and
# each estimate is compared with what happens when one number of a face is changed.

# %% [markdown]
# ## Counting misleads
#
# In the portraits dark-skinned women often have short hair, and light-skinned women often have long hair. Both models have learned that
# long hair goes with women. Their names, *celeba-like* and *fairface-like*, say which real data sets their training faces imitate. The pictures
# show four portraits and how often one model errs.

# %% tags=["remove-cell"]
portraits = artifacts.load("01_observational_audit", "ppb.parquet", profile)
sitters = artifacts.load("01_observational_audit", "ppb_parameters.npy", profile)
strata = artifacts.load("01_observational_audit", "strata.parquet", profile)
counted = strata[strata["model"] == audited].set_index(["gender", "skin"])
kinds = portraits[["skin", "hair"]].astype(str).agg(" ".join, axis="columns")
women = kinds.where(portraits["label"] == 0).to_numpy()
longest = np.argsort(-portraits["hair_length"].to_numpy(), kind="stable")
by_length = {"light long": longest[len(longest) // 10 :], "dark short": np.arange(len(women))}
typical = [order[women[order] == kind][:2] for kind, order in by_length.items()]


# %% tags=["remove-cell"]
def strip(parameters, titles, part):
    """Faces in a row, each under its title."""
    images = facerender.render(torch.from_numpy(parameters), 256).image
    axes = part.subplots(1, len(titles), gridspec_kw={"wspace": 0.02})
    for ax, picture, title in zip(axes, figures.as_pixels(images), titles, strict=True):
        ax.imshow(picture)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_title(title, fontsize=14, pad=4)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Four portraits of women: two with light skin and long hair, two with dark skin and short hair."}, "figure": {"name": "fig-tour-portraits", "caption": "Portraits as they come. Titles: skin colour and hair length, as raters see them."}}
# Computed by faceworld.populations.sample (chapter 1).
seen = sitters[np.concatenate(typical)]
figure = plt.figure(figsize=(figures.WIDTH, 2.1))
strip(seen, ("light, long", "light, long", "dark, short", "dark, short"), figure)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Bars of the error rate of one model by perceived gender and skin colour, with intervals and the number of portraits under each bar."}, "figure": {"name": "fig-tour-counting", "caption": "How often one model errs on the portraits, by perceived gender and skin colour. Whiskers are 95% intervals."}}
# Computed by faceaudit.effects.error_rates.stratified_errors (chapter 1).
dark, light = (counted.loc[("female", skin), "rate"] for skin in ("dark", "light"))
ax = figures.bars(counted, ylabel="error rate", ax=plt.figure(figsize=(NARROW, 3.8)).gca())
ax.set_xlabel("perceived gender")
_ = ax.set_title(
    f"The {audited} model errs on {100 * dark:.0f}% of\ndark-skinned and {100 * light:.0f}% of light-skinned women",
    fontsize=12,
    pad=28,
)

# %% tags=["remove-cell"]
skin = experiment["skin_on_women"]
gap, same = skin["counted gap"], skin["true effect on the counted"]
made, found = skin["true effect on transects"], skin["found effect on transects"]

# %% tags=["hide-input"]
claim(
    "On the portraits both models err more often on dark-skinned women. The gap is {gap_one:points} points for the "
    "{one} model and {gap_two:points} points for the {two} model.",
    margins=[margin_above(gap[name], 0) for name in BOTH],
    title="Both models look biased",
    one=audited,
    two=other,
    gap_one=gap[audited],
    gap_two=gap[other],
)

# %% [markdown]
# [](01_observational_audit) counts, and [](02_face_world) builds the world with the known answer. The next step leaves the collected portraits
# and makes faces to order, one {term}`attribute` at a time.

# %% [markdown]
# ## Make matched faces
#
# With a real model the true answer is out of reach. So the experiment makes faces in groups of eight, called
# {term}`transects <transect>`. The eight are meant to share everything but three attributes: skin colour, {term}`hair length` and {term}`perceived gender`,
# each at two levels. If the model errs on one face and is right about its neighbour, the attribute between them is the likely reason.

# %% tags=["remove-cell"]
index = artifacts.load("05_transect_generation", "fitted_index.parquet", profile).reset_index()
made_faces = artifacts.load("05_transect_generation", "fitted_parameters.npy", profile)
short_haired = index[(index["gender_level"] == 0) & (index["hair_length_level"] == 0)]
pairs = short_haired.sort_values(["transect", "skin_colour_level"]).index[:4]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two made women, each shown twice: with light and with dark skin. Shape of the face, hair and expression stay."}, "figure": {"name": "fig-tour-pairs", "caption": "Two pairs of made faces. Within a pair skin changes, and the rest of the face is meant to stay."}}
# Computed by faceaudit.latents.calibration.step_to_targets (chapter 5).
figure = plt.figure(figsize=(figures.WIDTH, 2.1))
strip(made_faces[pairs], ("light", "→ dark") * 2, figure)

# %% tags=["hide-input"]
style = made_faces[:, facerender.INDEX["hair_style"]]
light, dark = (style[index["skin_colour_level"] == level] for level in (0, 1))
Markdown(
    f"The attribute that we meant to change is not always the only one that changes. In {(light != dark).mean():.0%} of the pairs that differ in skin, the style of hair changes, too ([chapter 5](05_transect_generation.html))."
)

# %% [markdown]
# A {term}`generator` has no button for skin. It takes a list of numbers, a *code*, and draws a face. Raters annotate sampled faces, and
# a plane is fitted to their answers for each attribute ([](03_direction_fitting)). The {term}`raw direction` of an attribute is the shortest way
# across its plane, and other attributes change along it. A move along a direction of the {term}`dual basis` changes the score of one
# attribute and leaves the other scores as they are ([](04_orthogonalization)). The transects paper describes this basis, and prints another formula for it.

# %% tags=["hide-input"]
leak = projection["leakage_mean"]
claim(
    "Scores are estimates, so in the faces the other attributes still move a little. Along the dual basis they move by {dual:percent}% of the intended change, on "
    "average over the annotated attributes. By the paper's formula it is {printed:percent}%, and along the raw directions it is {raw:percent}%. "
    "An attribute that raters were not asked about may move along all three.",
    margins=[Margin(**margin) for margin in projection["leakage_margins"]],
    title="The dual basis leaks least",
    **leak,
)

# %% [markdown]
# The transects are then made and checked ([](05_transect_generation)), five raters look at each image
# ([](06_annotation_ingestion)), and unclear images can be dropped ([](07_pruning)). What we call the {term}`paper's recipe` uses the
# dual basis, not the printed formula, for the paper's seven attributes. So four attributes besides the three of the experiment stay fixed. An {term}`arm` is one version of the experiment. The {term}`main arm`, the version of this page, also keeps
# fixed what else raters are asked about, and what else is measured.

# %% tags=["hide-input"]
agree = [crowd["alpha"][axis] for axis in ("gender", "skin_colour", "hair_length")]
alpha = artifacts.load("06_annotation_ingestion", "agreement.parquet", profile)
alpha = alpha.filter(like="alpha").set_axis(["estimate", "low", "high"], axis=1)
claim(
    "The simulated raters agree on the three attributes of the experiment: Krippendorff's alpha, one if raters always agree "
    "and zero if only by chance, is {low:.2f} to {high:.2f}. They hardly agree on whether a face looks fake ({fake:.2f}), because the images differ little in that.",
    margins=[
        *(margin_above(alpha.loc[axis], 0.6) for axis in ("gender", "skin_colour", "hair_length")),
        margin_below(alpha.loc["fakeness"], 0.3),
    ],
    title="What raters agree on",
    low=min(agree),
    high=max(agree),
    fake=crowd["alpha"]["fakeness"],
)

# %% tags=["remove-cell"]
plan = artifacts.load("audit_plan", "plan.json", profile)

# %% tags=["hide-input"]
needed = planned["transects_needed"]["refined"]
claim(
    "To find an average effect of {effect:.0f} points with a chance of {power:.0%}, an experiment needs {all:,} transects if every image is used. To *prune* means to drop unclear "
    "images, and a pair needs both of its images. If pruning drops every third image, about 2/3 × 2/3 = 4/9 of the pairs stay. Then the "
    "experiment needs {pruned:,} transects, about 9/4 times as many.",
    holds=needed["two thirds kept"] > 2 * needed["nothing pruned"],
    title="Dropping a third of the images more than doubles the price",
    effect=100 * planned["difference"],
    power=plan["power"],
    all=needed["nothing pruned"],
    pruned=needed["two thirds kept"],
)

# %% tags=["remove-cell"]
ladder = artifacts.load("11_who_was_right", "ladder.parquet", profile)
of_cells = ladder[(ladder["scope"] == "cell") & (ladder["model"] != "null")]
wide = 100 * (of_cells["high"] - of_cells["low"]).groupby(of_cells["arm"]).mean()
n_made = pruned["generated"] // 8
asked_for = {
    what: row["the tolerance"] for what, row in planned["transects_needed_in_family"].items()
}
dropped = 1 - pruned["kept_adults"] / pruned["generated"]
pairs_lost = 1 - pruned["complete_pairs"]["skin_colour"] / (pruned["generated"] // 2)
FINDS = {
    "average, one test": "on average over everybody",
    "cell, one test": "in one group that is tested alone",
    "cell, in its family": "in each group of an audit that tests all",
}

# %% tags=["hide-input"]
finds = [words for what, words in FINDS.items() if asked_for[what] <= n_made]
Markdown(
    f"Our experiment looks for larger effects: {100 * plan['tolerance']:.0f} points, the *tolerance* of this book. "
    f"To find such an effect with a chance of {plan['power']:.0%}, an experiment needs {asked_for['average, one test']:,} transects on average over everybody. In a group, such as women with short hair, it needs "
    f"{asked_for['cell, one test']:,} if this group alone is tested, and up to {asked_for['cell, in its family']:,} if all groups are tested (chapter 16). "
    f"So our {n_made:,} transects are enough for an effect {', or '.join(finds) or 'in none of these ways'}.\n\n"
    f"In this run pruning drops less: {dropped:.0%} of the images, and with them {pairs_lost:.0%} of the pairs that differ in skin. "
    f"In a group such as women with short hair, intervals are {wide['C crowd']:.1f} points wide on average with every image, and {wide['D pruned']:.1f} points "
    "after pruning. The results on this page use every image."
)

# %% [markdown]
# ## Check against the truth
#
# The model is asked about every image, and errors are compared within transects. Each comparison is made in its own
# {term}`cell`: women with short hair, women with long hair, men with short hair, men with long hair. Then the same change is made to the faces
# themselves, and the true effect is computed.

# %% tags=["remove-cell"]
found_cells = ladder[(ladder["model"] == audited) & (ladder["arm"] == "C crowd")]
found_cells = found_cells.set_index(["attribute", "cell"]).sort_index()

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four intervals of the effect of dark skin on the error rate, one for each cell of perceived gender and hair length, with a diamond for the true effect in each."}, "figure": {"name": "fig-tour-cells", "caption": "Effect of dark skin on the error rate of one model on these made faces, cell by cell. Bars are 95% intervals of the experiment, diamonds the true effects."}}
# Computed by faceworld.scorecard.error_sources.compare_with_truth (chapter 11).
rows = found_cells.loc["skin_colour"]
rows = rows[rows.index.str.contains(",")].sort_index(ascending=True)  # no averages
held = rows["truth"].between(rows["low"], rows["high"])
ax = figures.forest(
    100 * rows[["estimate", "low", "high"]],
    100 * rows["truth"],
    "change in error rate, points",
    plt.figure(figsize=(NARROW, 3.4)).gca(),
)
title = f"{audited} model: {held.sum()} of {len(rows)}\nintervals hold the true effect"
_ = ax.set_title(title, fontsize=12, pad=28)

# %% [markdown]
# Why cells? One number for everybody can hide two opposite effects. A third model shows it, because a bias was planted
# in it on purpose.

# %% tags=["hide-input"]
claim(
    "The planted bias harms dark-skinned women and helps dark-skinned men. A regression with one effect of skin for "
    "everybody does not report that dark skin raises errors. The analysis by cell finds that it does for women.",
    margins=[Margin(**margin) for margin in experiment["plantskin"]["margins"].values()],
    title="Averages hide what cells show",
)

# %% tags=["remove-cell"]
in_cells = {name: part for name, part in experiment["misses"].items() if name != "null"}
cells = sum(count for part in in_cells.values() for count in part.values())
unpruned = sum(experiment["missed_cells"]["C crowd"].values())

# %% [markdown]
# How good is the method in general? A method *covers* if nineteen in twenty of its 95% intervals hold the truth. [](n01_truth_scorecard) repeats the audit many
# times with *ideal* pairs. In these one attribute moves and no other, and labels are perfect. The other way
# is to *adjust*: a regression on portraits gets the {term}`confounders <confounder>` as further variables.

# %% tags=["remove-cell"]
card = {(row["asked"], row["estimator"]): plain(row) for row in scored["cards"]}
pairs, adjustment = card["part", "matched pairs"], card["part", "5 confounders"]
of_models = artifacts.load("n01_truth_scorecard", "scores.parquet", profile)
of_models = of_models.set_index(["asked", "estimator", "model"]).sort_index()


def with_ends(asked, estimator, measure):
    """What each model scores by a measure, with its Monte-Carlo interval."""
    ends = {"estimate": measure, "low": f"{measure}_low", "high": f"{measure}_high"}
    rows = of_models.loc[(asked, estimator), [*ends.values()]].astype(float).dropna()
    return rows.set_axis([*ends], axis=1).sort_values("estimate")


# %% tags=["hide-input"]
lowest = with_ends("part", "5 confounders", "coverage").iloc[0]
in_audits = artifacts.load("n01_truth_scorecard", "experiments.parquet", profile)
in_audits = in_audits.query("asked == 'part' and estimator == 'matched pairs'")
in_audits = in_audits.assign(held=in_audits["truth"].between(in_audits["low"], in_audits["high"]))
in_audits = in_audits.assign(held=in_audits["held"].astype(float))
in_audits = in_audits.pivot_table("held", "audit", "model")
of_pairs = in_audits[in_audits.mean().idxmin()]  # a share in each audit, whose cells share faces
claim(
    "In {audits} repeated audits the intervals of ideal pairs hold the truth of a cell in {pairs:percent}% on "
    "average. Those of a regression on portraits, with five confounders measured, hold theirs in "
    "{adjustment:percent}%. For each method this is the model with its lowest share. Part of the difference is built in: "
    "portraits have raters' labels, and some of their confounders were not measured.",
    margins=[
        Margin(of_pairs.mean() - 0.9, of_pairs.sem()),
        margin_below(lowest, GOAL),
    ],
    title="Ideal pairs cover, adjustment does not",
    audits=scored["audits"],
    pairs=pairs["coverage"],
    adjustment=adjustment["coverage"],
)

# %% tags=["remove-cell"]
record = json.loads((RECORDS / "seeds_effects.json").read_text(encoding="utf-8"))["rows"]
in_other_runs = sum(
    row["mean"]
    for row in record
    if "cells of 12" in row["what"] and not row["what"].startswith("null")
)
# Half a cell less is no difference: it is what these runs can tell.
often = "less often than" if in_other_runs < GOAL * cells - 0.5 else "about as often as"
off_by = (of_cells["estimate"] - of_cells["truth"])[of_cells["arm"] == "C crowd"]
by_model = artifacts.load("n01_truth_scorecard", "scores.parquet", profile)
by_model = by_model.set_index(["asked", "estimator", "model"]).loc[("part", "5 confounders")]
adjusted_off_by = by_model.loc[[*BOTH, "plantskin"], "rmse"]
off_by, adjusted_off_by = (100 * np.sqrt(np.mean(one**2)) for one in (off_by, adjusted_off_by))
by_adjustment = f"{adjusted_off_by:.1f} points"
if np.isnan(adjusted_off_by):  # audits of a small run can all lack a group
    by_adjustment = "cannot be estimated in a run as small as this one"

# %% tags=["hide-input"]
Markdown(
    "**And real pairs?** The pairs of our experiment have fitted directions and raters who err. "
    f"Three attributes, four cells and three trained models make {cells} effects. Over the [twenty other runs](#twenty-other-seeds), "
    f"their intervals held the truth of {in_other_runs:.1f} on average. Intervals that cover would hold it in about {GOAL * cells:.1f}. "
    f"So real pairs hold the truth {often} ideal pairs. In this run alone they hold {cells - unpruned} ({1 - unpruned / cells:.1%}). Made faces of one level do not all get the same [dose](glossary.html#term-dose), and "
    "[chapter 5](05_transect_generation.html) counts how much this matters. In a single run luck can matter more: "
    "cells of one model share their faces and are often missed together (chapter 11).\n\n"
    f"A missed truth can be near or far. These estimates of real pairs typically lie {off_by:.1f} points from the truth, and those by adjustment {by_adjustment} "
    "(root mean square over the three trained models)."
)

# %% tags=["hide-input"]
average, by_cell = (card[asked, "paper's logit"] for asked in ("average", "part"))
biases = {asked: with_ends(asked, "paper's logit", "bias") for asked in ("average", "part")}
claim(
    "The paper's regression has one coefficient for everybody. On ideal transects its average over everybody has a bias of at most "
    "{average:.2f} points. It is wrong for cells: there its bias reaches {cells:.1f} points. "
    "Where its intervals do worst, they hold the average in {coverage:percent}% of audits.",
    margins=[
        *(margin_below(row, 0.01) for _, row in biases["average"].iterrows()),
        margin_above(biases["part"].iloc[-1], 0.05),
    ],
    title="The paper's regression has little bias for averages",
    average=100 * average["bias"],
    coverage=average["coverage"],
    cells=100 * by_cell["bias"],
)

# %% [markdown]
# [](08_stratified_errors) counts errors by group, [](09_logistic_ate) fits the regression, [](10_matched_pairs) compares pairs, [](11_who_was_right) looks up
# the truth, and [](12_hidden_attributes) asks what else moved. These five
# chapters hold the results of the experiment.

# %% [markdown]
# ## How much of the gap is hair?
#
# What part of the {term}`counted gap` is due to skin, and what part to hair? In the face world the answer can be computed. Take the same women, give them all the skin of
# light-skinned and then of dark-skinned ones, change nothing else, and ask the models again. The change in the error rate is the *true effect* of skin on these women.
# Then do the same with the length of their hair, and with both.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, one for each model, with four intervals in points: the counted gap between dark- and light-skinned women, the change of the same women's errors with other skin, with other hair length, and with both. That of skin alone lies to the left of the counted gap."}, "figure": {"name": "fig-tour-gap", "caption": "Above in each panel: difference in error rates, dark minus light skin, among the women of the portraits. Below: what changes if the same women get skin, hair length, or both, of dark- instead of light-skinned women. Bars are 95% intervals."}}
# Computed by statsmodels.stats.proportion.confint_proportions_2indep (chapter 1) and
# faceworld.scorecard.counted_gap.take_apart (chapter 11).
apart = {name: pd.DataFrame(experiment["gap_taken_apart"][name]).T for name in BOTH}
GIVEN = ("skin alone", "hair length alone", "both")
figure, panels_of = plt.subplots(2, 1, figsize=(NARROW, 4.8), sharex=True)
for ax, name in zip(panels_of, BOTH, strict=True):
    rows = {"counted gap": gap[name]} | apart[name].loc[[*GIVEN]].T.to_dict()
    rows = 100 * pd.DataFrame(rows).T[["estimate", "low", "high"]].astype(float)
    figures.forest(rows, xlabel="", ax=ax)
    ax.set_title(name, fontsize=11)
ax.set_xlabel("error rate of women, dark − light (points)", fontsize=11)
shares = {
    given: " and ".join(f"{apart[name].loc[given, 'share']:.0%}" for name in BOTH)
    for given in GIVEN
}
_ = figure.suptitle(
    f"Of the counted gaps, skin alone makes {shares['skin alone']},\n"
    f"hair length alone {shares['hair length alone']}",
    fontsize=12,
)

# %% tags=["hide-input"]
share = experiment["share_on_counted"]
claim(
    "If we change only the skin of these women, their errors change by {one:.0%} of the gap for the "
    "{audited} model and by {two:.0%} for the {other} model. Both estimates are below the whole gap. "
    "In other runs an interval may reach the whole gap.",
    margins=[margin_below(share[name], 1) for name in BOTH],
    title="Counts overstate what skin does",
    one=share[audited],
    two=share[other],
    audited=audited,
    other=other,
)

# %% tags=["remove-cell"]
adjusted = plain(artifacts.load("01_observational_audit", "results.json", profile))
adjusted = adjusted["adjusted_skin_log_odds"]
astray = sum(adjusted[name]["estimate"] * same[name]["estimate"] < 0 for name in BOTH)
raised = sum(same[name]["estimate"] > 0 for name in BOTH)

# %% tags=["remove-cell"]
record = json.loads((RECORDS / "seeds_runs.json").read_text(encoding="utf-8"))["rows"]
each_run = pd.DataFrame(record).set_index("what")
of_counted = {name: each_run[f"{name}, true effect on the counted"] for name in BOTH}
lowered = [effect < 0 for effect in of_counted.values()]
found_in_runs = {name: each_run[f"{name}, found effect on transects"] for name in BOTH}
understated = [found_in_runs[name].abs() < of_counted[name].abs() for name in BOTH]

# %% tags=["hide-input"]
Markdown(
    f"In this run dark skin itself adds errors for {raised} of {len(BOTH)} models. The [twenty other runs](#twenty-other-seeds) trained both models anew, and "
    f"in {sum(map(sum, lowered))} of {sum(map(len, lowered))} cases skin took errors away. A regression on the portraits that adjusts for the "
    f"true length of hair has the wrong sign for {astray} of {len(BOTH)} models here, and [chapter 11](11_who_was_right.html) counts one reason for it. "
    "And hair, the other suspect? [Chapter 1](01_observational_audit.html) asks with a diagram. Here it is again, with the answers."
)

# %% tags=["remove-cell"]
short = (portraits["hair"] == "short")[portraits["label"] == 0]
short = short.groupby(portraits["skin"], observed=True).mean()
tie = [f"{100 * short[skin]:.0f}% of {skin}" for skin in ("dark", "light")]
OTHER = "other differences between the groups"
HAIR_ALONE = "hair length alone"


def on_both(row):
    """Points of both models, one below the other."""
    return with_minus(
        "\n".join(f"{100 * apart[name].loc[row, 'estimate']:+.1f} ({name})" for name in BOTH)
    )


# %% tags=["hide-input"] mystnb={"image": {"alt": "A diagram with four boxes. From the box 'who is in the test set' arrows lead to 'skin colour' and to 'hair length', and from these to 'error'. Beside the arrows to 'error' stand the Shapley shares of skin and of hair length, in points, for two models."}, "figure": {"name": "fig-tour-causes", "caption": "The diagram of chapter 1 with the answers: what the skin and the hair length of dark- instead of light-skinned women add to the errors of the same women. Numbers are Shapley shares, in points: the two of a model sum to the effect of both."}}
# Computed by faceworld.scorecard.counted_gap.take_apart (chapter 11).
axis = causes.two_causes(
    tie=f"short hair:\n{tie[0]}-skinned,\n{tie[1]}-skinned",
    skin=on_both("Shapley share of skin"),
    hair=on_both("Shapley share of hair length"),
    known=True,
)
_ = axis.set_title("What skin and hair length add to women's errors", fontsize=12)

# %% tags=["hide-input"]
recorded = json.loads((RECORDS / "counted_gap.json").read_text(encoding="utf-8"))["rows"]
by_seed = counted_gap.by_seed(recorded)
more = by_seed["Shapley share of hair length"] > by_seed["Shapley share of skin"]


def over_seeds(name):
    """What hair length alone changes in other seeds, and whether this run lies beyond that."""
    values, here = by_seed.loc[name, HAIR_ALONE], apart[name].loc[HAIR_ALONE, "estimate"]
    beyond = "" if values.min() <= here <= values.max() else ", so this run lies outside"
    return f"over {len(values)} other seeds: {100 * values.min():+.1f} to {100 * values.max():+.1f}{beyond}"


lines = [
    f"- **{name}**: both together change the errors by {100 * apart[name].loc['both', 'estimate']:+.1f} points, and the counted gap is {100 * gap[name]['estimate']:+.1f}. "
    f"So other differences between the groups make {100 * apart[name].loc[OTHER, 'estimate']:+.1f}. In other seeds hair length had the "
    f"larger share in {more[name].sum()} of {len(more[name])}. Hair length alone changes the errors by "
    f"{100 * apart[name].loc[HAIR_ALONE, 'estimate']:+.1f} ({over_seeds(name)})."
    for name in BOTH
]
Markdown(
    with_minus(
        "Skin and hair need not add up, so their [Shapley shares](glossary.html#term-Shapley-share) divide the effect of both.\n\n"
        + "\n".join(lines)
    )
)

# %% tags=["hide-input"]
of_hair = ladder[(ladder["arm"] == "C crowd") & (ladder["attribute"] == "hair_length")]
of_hair = of_hair[(of_hair["scope"] == "cell") & of_hair["model"].isin(BOTH)]
of_women = of_hair["cell"].str.startswith("female")
reach = [
    " to ".join(f"{100 * end:+.1f}" for end in (part["estimate"].min(), part["estimate"].max()))
    for part in (of_hair[of_women], of_hair[~of_women])
]
Markdown(
    with_minus(
        f"The experiment sees little of this. Long instead of short hair changes the errors on made women by {reach[0]} points and on made men by {reach[1]} (four cells each, both models). "
        "Short-haired women in the portraits differ in more than length: many have faces that divide the raters ([chapter 8](08_stratified_errors.html)), and made faces seldom do."
    )
)

# %% [markdown]
# ## The people who were counted
#
# So what does an effect on made women say about the women of the portraits? [](n12_counted_people) asks in two ways: it
# carries the experiment over to them by their attributes, and it changes the skin in their own portraits.

# %% tags=["hide-input"]
Markdown(
    f"The experiment can understate. In {sum(map(sum, understated))} of {sum(map(len, understated))} cases of the "
    "[twenty other runs](#twenty-other-seeds) the effect that it finds on made women is smaller in size than what skin does to the "
    "counted women. Changing their own portraits comes nearer on average over seeds, though not in every run."
)

# %% [markdown]
# ## What the method cannot tell you
#
# The experiment speaks of the faces that it made. Can its result explain the gap among the portraits? One idea is to
# *reweight* its error rates ([](17_transport)). Dark-skinned women of the experiment get the hair that dark-skinned women have in the
# portraits, and light-skinned women get theirs. The difference of the two error rates is a predicted gap. Skin and hair are both in it, so it
# should equal the counted gap.

# %% tags=["hide-input"]
of_networks = {
    way: {name: part["women, dark − light"] for name, part in by_network.items()}
    for way, by_network in carried["transport_misses_by_network"]["PPB-like"].items()
}
after = of_networks["three attributes"]
misses = {way: np.mean([*part.values()]) for way, part in of_networks.items()}
miss_errors = carried["transport_miss_errors"]["PPB-like"]["three attributes"]
claim(
    "After reweighting by skin, hair and gender, the predicted gap of women differs from the counted gap by {one:.1f} points for the "
    "{audited} model, by {two:.1f} for the {other} model and by {planted:.1f} for the one with the planted bias. The mean "
    "of these differences is {mean:.1f} points. Without reweighting it is {before:.1f}.",
    margins=[Margin(misses["three attributes"] - 5, miss_errors["women, dark − light"])],
    title="An experiment does not carry to portraits by reweighting",
    one=after[audited],
    two=after[other],
    planted=after["plantskin"],
    mean=misses["three attributes"],
    before=misses["no reweighting"],
    audited=audited,
    other=other,
)

# %% tags=["hide-input"]
SOURCES = {
    "transects' own mix": "experiment",
    "predicted": "reweighted",
    "observed": "counted",
}
WOMEN = "women, dark − light"
gaps = pd.DataFrame(
    {
        said: {
            name: 100 * carried["transport"]["ppb-like"][way][name][WOMEN]["estimate"]
            for name in after
        }
        for way, said in SOURCES.items()
    }
).loc[[audited, other, "plantskin"]]
gaps = gaps.rename({"plantskin": "planted bias"})
gaps.style.format(lambda gap: with_minus(f"{gap:+.2f}")).set_caption(
    "Gap of women, dark minus light skin, in points: by the experiment as it is, reweighted to the portraits, and counted in the portraits"
)

# %% tags=["hide-input"]
planted = experiment["planted_on_counted"]
Markdown(
    with_minus(
        "How much of the planted bias did the experiment find? On made women the gap of this model is "
        f"{gaps.loc['planted bias', 'experiment']:+.1f} points. Change only the skin of the counted women, and its errors change by "
        f"{100 * planted['estimate']:+.1f} points, of {gaps.loc['planted bias', 'counted']:+.1f} that were counted. An effect on made faces need not be the one on portraits. "
        "Skin can tip an answer where a face divides the raters, and few made faces do."
    )
)

# %% [markdown]
# If reweighting worked, the last two columns would differ only by chance. So read each effect of the experiment as an effect on
# these made faces. Do not read it as a part of the counted gap.

# %% [markdown]
# A generator must also be fit for the question. [](13_sensitivity_flips) asks when a smile detector changes its mind, with a generator that
# learned from pictures. [](14_verification_measures) and [](15_verification_curves) turn to models that
# compare two faces, for which raters say who is who.

# %% tags=["hide-input"]
gate = faceworld.WGANGenerator().card["gate"]
claim(
    "From the generator's codes a linear rule tells smiling correctly for {smile:.1%} of new faces, and both eyes and the mouth are "
    "found in {parts:.1%} of its samples. That is too little for an audit of smiles. Chapter 13 shows what goes wrong "
    "with this generator. Then it repeats the audit in the world whose truth is known.",
    margins=[margin_below(gate["smiling"], 0.65), margin_below(gate["parts"]["samples"], 0.95)],
    title="The learned generator fails its check",
    smile=gate["smiling"]["estimate"],
    parts=gate["parts"]["samples"]["estimate"],
)

# %% tags=["hide-input"]
wrong = recognised["crowd_wrong"]["one person, called one"]
genuine = artifacts.load("14_verification_measures", "pairs.parquet", profile)
genuine = genuine[genuine["kind"] == "positive"]
limit = float(max(wrong, key=wrong.get).removeprefix("limit "))
strictest = (genuine["hcic"] > limit + 1e-9).groupby(genuine["seed_first"])
# Pairs of one seed go together: what each seed adds to the share.
each_seed = strictest.sum() - max(wrong.values()) * strictest.size()
claim(
    "Of the pairs that show one person, raters fail to say so in {low:percent} to {high:percent}%, "
    "depending on how much doubt is allowed. A recogniser that is right counts as wrong on these pairs.",
    margins=[
        Margin(max(wrong.values()) - 0.05, (each_seed**2).sum() ** 0.5 / len(genuine)),
    ],
    title="The crowd is no perfect yardstick",
    low=min(wrong.values()),
    high=max(wrong.values()),
)

# %% tags=["hide-input"]
sets = [plain(row) for row in recognised["over_trainings"]]
clear = [row for row in sets if row["p_holm"] < 0.05]
more = [row["estimate"] > 0 for row in clear if row["measure"] == "FMR"]
fewer = [row["estimate"] < 0 for row in clear if row["measure"] == "FNMR"]
claim(
    "One trained network does not prove what its data caused. So networks were trained many times: on skewed sets, in which some groups are rare, and on balanced ones. "
    "With {fewer} of {n} skewed sets more pairs of one person are rejected than with balanced sets. Against what one may expect, these rejections rise less in the rare groups than in the groups that "
    "fill the set. Among pairs of two people, the mistake is a *false match*: they are accepted as one person. In false matches no skewed set shows a clear difference between rare and frequent groups. A single network may suggest that rare groups are harmed more, and the book does not claim it.",
    # The record of trainings is the same in every run.
    holds=sum(fewer) > 0
    and not any(more)
    and len(fewer) + len(more) == sum(fewer)
    and all(row["rare"] > 0 for row in clear),
    title="A skewed training set need not harm its rare groups more",
    fewer=sum(fewer),
    n=sum(row["measure"] == "FNMR" for row in sets),
)

# %% [markdown]
# ## Models that people install
#
# The drawn world checks the method against the truth. [](19_published_models) leaves that world, and there no truth is known: it asks
# published models about photographic faces that exist nowhere, along two axes of skin. One is measured on the pixels, the other
# was fitted to people's answers.

# %% tags=["hide-input"]
published = artifacts.load("19_published_models", "results.json", profile)
hair = published["less male with longer hair"]
ages = published["more years along the measured axis, fewer along people's"]
Markdown(
    f"Longer hair makes all {hair['networks']} networks that tell gender find a face less male, by {100 * hair['least']:.0f} to "
    f"{100 * hair['most']:.0f} points of a score. What darker skin does depends on the axis: {ages['both']} of {ages['networks']} networks "
    "that tell ages say more years along the measured axis, and fewer along that of people's answers."
)

# %% [markdown]
# (what-hangs-on-the-seed)=
# ## What hangs on the seed
#
# Each seed draws other faces, trains other networks and asks other raters. Some results then change by more than the
# intervals of a single audit say, so this page asks six questions and claims no answer. *Yes* or *no* means that chance alone hardly explains
# the difference in this run: it is larger than two standard errors. *Undecided* means that chance may explain it, even where an
# interval misses the truth by a little.


# %% tags=["remove-cell"]
def error_of(row):
    """Standard error of an estimate with an interval of 95%."""
    return (row["high"] - row["low"]) / (2 * Z)


def apart(one, two):
    """A difference of two estimates and its standard error, as `question` takes them, and in points."""
    margin = one["estimate"] - two["estimate"]
    error = np.hypot(error_of(one), error_of(two))
    return {"margin": margin, "error": error, "by": 100 * margin, "about": 100 * error}


def numbered(first, questions):
    """Questions as a list whose first number is given."""
    return Markdown("\n".join(f"{number}. {one}" for number, one in enumerate(questions, first)))


# %% tags=["hide-input"]
differs = apart(same[other], same[audited])
skin_differs = question(
    "**Does skin change more errors of the {other} model?** On the women of the portraits its true effect is {two:points} "
    "points there, and {one:points} points for the {audited} model. The difference is {by:+.1f} points, with a standard error of {about:.1f}.",
    **differs,
    one=same[audited],
    two=same[other],
    audited=audited,
    other=other,
)


def off_truth(name):
    """Whether the effect found on the women of the experiment is another than the true one."""
    off = apart(found[name], made[name])
    return question(
        "For the {name} model it is {found:+.2f} points, and the truth is {made:+.2f}. The difference is {by:+.2f} points, with a standard error of {about:.2f}.",
        **off | {"margin": abs(off["margin"])},
        found={end: 100 * value for end, value in found[name].items()},
        made={end: 100 * value for end, value in made[name].items()},
        name=name,
    ).data


off = " ".join(map(off_truth, BOTH))
off = f"**On made women, does the found effect of skin differ from its truth?** {off}"
numbered(1, [skin_differs.data, off])

# %% tags=["hide-input"]
squares = [
    part
    for name, parts in experiment["squared_contributions"].items()
    if name != "null"
    for part in parts.values()
]
faces = [sum(part[step] for step in ("base faces", "doses", "leakage")) for part in squares]
beyond = 100 * np.sqrt(max(np.mean(faces), 0))
told = "Here chance alone explains it"
if beyond >= 0.05:
    told = f"On average it has {beyond:.1f} points beyond chance here (root mean square over the cells of three models)"
faces_matter = question(
    "**Do imperfect faces move an estimate?** Made faces differ a little from those that we meant. Is the movement larger than "
    "chance explains? {told}. A small movement, or one in a single cell, can go unnoticed.",
    margin=np.mean(faces),
    error=np.std(faces, ddof=1) / np.sqrt(len(faces)),
    told=told,
)
numbered(3, [faces_matter.data])

# %% tags=["hide-input"]
sizes, lows = hidden["part_points"]["P(wrong)"], hidden["part_points_low"]["P(wrong)"]
together = {name: parts["all together"] for name, parts in sizes.items()}
unsure = {name: (together[name] - lows[name]["all together"]) / Z for name in sizes}
most = max(BOTH, key=together.get)
moved_along = question(
    "**Does leakage matter most for the planted bias?** We set back what moved along in faces of the paper's recipe. The "
    "effect on the probability of the wrong answer then changes by {planted:.1f} points for the planted bias (root mean square "
    "over the cells), by {one:.1f} for the {audited} model and by {two:.1f} for the {other} one.",
    margin=together["plantskin"] - together[most],
    error=np.hypot(unsure["plantskin"], unsure[most]),
    planted=together["plantskin"],
    one=together[audited],
    two=together[other],
    audited=audited,
    other=other,
)
numbered(4, [moved_along.data])

# %% tags=["hide-input"]
drawn = experiment["as_drawn"]
share = drawn["women_with_beard"]


def asked_of_beards(name):
    """Whether base faces on which a model errs wear beards more often than others."""
    errors = drawn["errors_counted"][name]
    n = max(errors["faces"], 1)
    return question(
        "Among all of these faces, with or without a beard, the {name} model errs on {n}, and {k} of these {n} have a beard ({part:percent}%).",
        margin=errors["faces_with_beard"] / n - share,
        error=np.sqrt(share * (1 - share) / n),
        part=errors["faces_with_beard"] / n,
        k=errors["faces_with_beard"],
        n=errors["faces"],
        name=name,
    ).data


beards = (
    "**Are beards more frequent where a model errs?** The experiment takes beards off. Without this step, "
    f"{100 * share:.1f}% of the faces made with a woman's shape would have a visible one ([chapter 5](05_transect_generation.html)). "
    f"{' '.join(map(asked_of_beards, BOTH))}"
)
numbered(5, [beards])

# %% tags=["hide-input"]
transects, complete = pruned["generated"] // 8, pruned["complete_transects"]
whole = 8 * complete / pruned["kept_adults"]
pruning_breaks = question(
    "**With other faces, too, would fewer than half of the kept images belong to complete transects?** Image by image, pruning drops what is unclear or looks under age, "
    "and keeps {kept:,} of {generated:,} images. Only {complete:,} of {transects:,} transects keep all eight images. These hold {whole:percent}% of the kept images.",
    margin=0.5 - whole,
    error=8 * np.sqrt(complete * (1 - complete / transects)) / pruned["kept_adults"],
    kept=pruned["kept_adults"],
    generated=pruned["generated"],
    complete=complete,
    transects=transects,
    whole=whole,
)
numbered(6, [pruning_breaks.data])

# %% [markdown]
# (twenty-other-seeds)=
# ## Twenty other seeds
#
# The whole audit was run twenty more times, each time with its own seed. The figure shows skin's effect in each of these runs. It is
# a record. To save time its runs use fewer test faces and fewer repetitions than the run behind these pages. Their classifiers learn from as many
# faces, and their experiments have as many transects. Their true effects come from more faces.

# %% tags=["remove-cell"]
NUMBERS = {
    "counted gap": "estimate",
    "true effect on the counted": "truth",
    "found effect on transects": "estimate",
}
counted, caused, _ = NUMBERS
farther = [each_run[f"{name}, {counted}"] > each_run[f"{name}, {caused}"] for name in BOTH]
record = json.loads((RECORDS / "seeds.json").read_text(encoding="utf-8"))["rows"]
always = [row["runs"] == len(each_run) for row in record]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, one for each model. Each has three rows of dots, one dot for each of twenty runs: the counted gap far to the right of zero, the true effect of skin on the counted women nearer to it, and the effect that the experiment finds on made faces nearest to it."}, "figure": {"name": "fig-tour-seeds", "caption": "Dark minus light, errors of women, in each of twenty runs with other seeds: faces, raters and trained models all differ. A dot is a run. Above: the gap that one counts among portraits. Middle: what skin causes among the same women. Below: what the experiment finds on its own made faces."}}
# Computed by effects in benchmarks/seeds.py, which wrote the record.
figure, panels_of = plt.subplots(2, 1, figsize=(NARROW, 5.2), sharex=True)
for ax, name in zip(panels_of, BOTH, strict=True):
    for place, (what, role) in enumerate(NUMBERS.items()):
        values = np.sort(each_run[f"{name}, {what}"])
        look = figures.look(role)
        spread = place + 0.09 * (np.arange(len(values)) % 5 - 2)  # so that dots do not hide others
        ax.plot(values, spread, look.marker, color=look.colour, alpha=0.7, markersize=6)
    ax.axvline(0, color=figures.BLACK, linewidth=1)
    names = [what.replace(" effect", " effect\n") for what in NUMBERS]
    ax.set_yticks(range(len(names)), names, fontsize=10)
    ax.set(ylim=(len(names) - 0.5, -0.5))
    ax.grid(axis="y", visible=False)
    ax.set_title(name, fontsize=11)
ax.set_xlabel("error rate of women, dark − light (points)", fontsize=10)
_ = figure.suptitle(
    "The counted gap exceeds what skin causes\n"
    f"in {sum(map(sum, farther))} of {sum(map(len, farther))} runs of a model",
    fontsize=12,
)

# %% tags=["hide-input"]
Markdown(
    f"Of the {len(always)} sentences with a bold title, {sum(always)} were true in all {len(each_run)} runs."
)

# %% [markdown]
# Some sentences were weakened after they had failed with one of these seeds, so the counts flatter them a little.
#
# :::{admonition} The record in numbers
# :class: dropdown
# Names such as `n_boot` are settings, and the file `profiles/laptop.yml` says what each of them counts. *plantskin* is the model
# with the planted bias. *null* errs at random.
#
# ```{include} _seeds.txt
# ```
#
# Effects of skin on women, in points: the standard deviation of an effect over the runs, the standard error that one run prints, and
# in how many runs its interval holds the truth of that run. Each run trains its own networks, so its truth differs as well, and
# the effects spread more widely than one run's error. The last rows count cells of all three attributes.
#
# ```{include} _seeds_effects.txt
# ```
# :::

# %% tags=["hide-input"]
compared = json.loads((RECORDS / "instrument.json").read_text(encoding="utf-8"))
seeds_compared = compared["facts"]["seeds"].split(", ")
cells_held = {row["what"]: row["cells held"] for row in compared["rows"]}
Markdown(
    "The paper's recipe misses its truth far more often. A [benchmark](benchmarks.html) makes that recipe and the book's main arm "
    f"([chapter 5](05_transect_generation.html)) anew for {len(seeds_compared)} other seeds. The intervals of the recipe hold the truth of "
    f"{cells_held['papers']} cells, and those of the main arm of {cells_held['calibrated']}."
)

# %% [markdown]
# ## What follows
#
# Count errors first, because people bear the errors that are counted. Do not read a cause off the counts. Make the
# experiment, look at every attribute that its faces move, and report cells. Compare the instrument with a truth wherever there is
# one.
#
# This page makes no statement about any group of people. The world is drawn, and its classifiers are small. A result about
# a real model needs an audit of that model.

# %% [markdown]
# **What do you do next?**
#
# - To learn the method step by step, start with [](01_observational_audit).
# - To audit a model of yours, read [](18_audit_your_model). [](16_planning) says how many faces it takes.
# - To run a chapter and change it, [open it on your computer](open-a-chapter).
