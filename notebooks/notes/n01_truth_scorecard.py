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
# # The scorecard of estimators
#
# *You need chapters 1 (found portraits), 9 (logits), 10 (matched pairs) and 11 (the truth). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# Which estimates of an effect can we trust? We repeat each audit many times, compare every estimate with the
# true effect on the same made faces, and count how often it is wrong.
#
# ```{glue:md} answer
# :format: myst
# ```

# %% [markdown]
# :::{admonition} Design contract
# :class: dropdown
#
# | Part | In this note |
# |---|---|
# | **Unit** | one whole audit, drawn again and again from a population of faces |
# | **Intervention** | in the truth: attributes of the same faces are set, all others stay |
# | **Held fixed** | the audited models; the faces that an audit may draw from; the size of an audit |
# | **Outcome** | the error of an estimate, whether its interval holds the truth, whether it is flagged |
# | **Estimand** | [true effects](estimands) on transects and on the counted: differences of error rates, on average and in cells of transects, among everybody and among women of a found test set |
# | **Known failure** | a scorecard speaks of the conditions it was made under; [](n02_when_transects_fail) varies them |
# :::

# %% tags=["hide-cell"]
import textwrap
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from myst_nb import glue
from scipy.special import expit
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

import facerender
from faceaudit import effects
from faceaudit.annotations.schema import ATTRIBUTES
from faceaudit.effects.pruning import ADULT_RULE
from faceaudit.effects.risks import fit_logits
from faceaudit.effects.verdicts import Z
from faceaudit.outcomes import TITLES
from faceaudit.utils import seeding
from faceaudit.utils.formatting import with_minus
from faceworld import do, networks, populations, scorecard
from faceworld.rendering import render_to_store
from faceworld.scorecard import draw_audits, matched_audits, pooled_audits, truth, with_truth
from helpers import audit_plan, figures
from helpers.artifacts import Stage
from helpers.claims import claim, margin_below
from helpers.figures import panels

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
n_test = 6000
n_transects = 400
n_audits = 100

# %% tags=["remove-cell"]
stage = Stage("n01_truth_scorecard", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# ```{glue:figure} opposing
# :name: fig-score-cancel
# :alt: Four cells of perceived gender and hair length for the plantskin control. In each, the mean and range over all audits of the estimated effect of dark skin, for three estimators, beside a diamond for the truth. The main-effects logit has one sign in all cells.
#
# The effect of dark skin on the errors of one model, in four cells, as three methods estimate it in repeated audits:
# mean, and range without the most extreme fortieth on either side. Diamonds mark the truth. Which method would you trust?
# Drawn under [](#what-a-main-effect-hides).
# ```

# %% [markdown]
# ## Audits by transects
#
# In this note *women* and *men* are short for faces perceived as such.
#
# Chapter 11 rendered faces under every combination of skin, hair and gender, and asked each model about all
# of them. Here these faces *are* the population, so its effects are known without error. An audit is a sample
# of faces, as many as the book's experiment has transects, each with its eight images. We draw such audits
# again and again. This shows how the same analysis would have come out with other faces.

# %%
MODELS = ("celeba-like", "fairface-like", "plantskin", "null")
TRAINED = MODELS[:3]
AXES = ["skin_colour", "hair_length", "gender"]
pool = {name: stage.load("11_who_was_right", f"under_do_{name}.npy") for name in TRAINED}
audits = {name: draw_audits(answers, n_transects, n_audits, seed) for name, answers in pool.items()}

# %% [markdown]
# The null control errs at random. A fixed set of random errors would have small accidental effects, so its
# errors are made anew in every audit, with the rate and the tie within transects of
# [](08_stratified_errors). Its true effects are zero by construction.


# %%
def null_audits(rate: float, icc: float) -> np.ndarray:
    """Audits of a model with one error rate; icc is the correlation of errors in a transect."""
    audits = np.empty((n_audits, n_transects, 2, 2, 2))
    concentration = (1 - icc) / icc
    for number, audit in enumerate(audits):
        random = seeding.rng(seed, "scorecard: null", number)
        rates = random.beta(rate * concentration, (1 - rate) * concentration, n_transects)
        audit[:] = random.random(audit.shape) < rates.reshape(-1, 1, 1, 1)
    return audits


# %%
NULL = stage.load("08_stratified_errors", "results.json")["null_control"]
pool["null"] = np.zeros((1, 2, 2, 2))
audits["null"] = null_audits(**NULL)

# %% [markdown]
# Six estimators are compared.
#
# - *paper's logit*: that of {cite:t}`transects`, penalised, main effects only, interval from resampled images.
# - *logit, transects*: the same fit, but transects are resampled.
# - *logit by gender*: in addition, skin and hair may act differently on women and men.
# - *matched pairs*: errors are subtracted within transects, cell by cell or over all pairs.
# - {term}`partial pooling`: the matched pairs of a cell, helped by the other cells.
# - *g-computation*: rates are compared, in each cell or over all, with transects as clusters.
#
# {term}`Logits <logit>` speak in log odds. We read off which change in the error rate their fitted risks imply.

# %%
logit = partial(scorecard.logit_audits, attributes=AXES, seed=seed)


def averaged(frame: pd.DataFrame, name: str) -> list[pd.DataFrame]:
    """Matched pairs of an attribute, averaged over all pairs of an audit."""
    found = effects.matched_effects(frame, "error", f"{name}_level", ["audit"], "transect")
    return [found.reset_index()]


def matched(audits: np.ndarray) -> pd.DataFrame:
    """Matched pairs, in every cell and averaged over all pairs."""
    averages = scorecard.of_frames(audits, AXES, averaged)
    return pd.concat([matched_audits(audits, AXES), averages])


# %%
def g_computation(frame: pd.DataFrame, name: str) -> list[pd.DataFrame]:
    """Differences of rates along an attribute, with transects as clusters, by cell and over all."""
    others = {f"{other}_level": other for other in AXES if other != name}
    differences = partial(effects.risk_differences, frame, "error", f"{name}_level")
    cells = differences(by=["audit", *others], cluster="transect")
    average = differences(by=["audit"], cluster="transect")
    return [cells.reset_index().rename(columns=others), average.reset_index()]


# %%
BY_TRANSECTS = {
    "paper's logit": partial(logit, resample="images"),
    "logit, transects": logit,
    "logit by gender": partial(logit, with_="gender"),
    "matched pairs": matched,
    "partial pooling": partial(pooled_audits, attributes=AXES),
    "g-computation": partial(scorecard.of_frames, attributes=AXES, estimate=g_computation),
}

# %% [markdown]
# We ask two questions. The *average effect* of an attribute is the change in the error rate over all
# transects. The paper's regression reports it. The effect in a *cell* is the change for women with long hair,
# say. An auditor needs it to see *who* is harmed. A regression with one
# coefficient for everybody leaves it open. We read it off all the same, because readers do.

# %% [markdown]
# The same faces are drawn for every estimator and model, so luck of the draw cancels
# between estimators. {term}`Holm's procedure` adjusts the p-values of each audit over the planned
# {term}`family of comparisons`: the cells of both audited models together, those of each control alone. An
# estimate whose adjusted p-value lies below the planned level is *flagged*. A report would call it a finding.


# %%
plan = audit_plan.read_plan(stage.load("audit_plan", "plan.json"))
by_cell = plan.families["effects by cell"]


def flag(table: pd.DataFrame) -> pd.DataFrame:
    """Add `flagged`: p below the level after Holm's adjustment over what an audit was asked."""
    together = table["model"].map(by_cell.group_of)
    adjusted = table.groupby([together, "estimator", "asked", "audit"])["p"].transform(effects.holm)
    return table.assign(flagged=adjusted < plan.level)


# %%
tables = [
    with_truth(estimator(drawn), pool[model], AXES).assign(model=model, estimator=name)
    for model, drawn in audits.items()
    for name, estimator in BY_TRANSECTS.items()
]

# %%
experiments = scorecard.name_cells_with_attribute(pd.concat(tables, ignore_index=True))
experiments["asked"] = np.where(experiments["scope"] == "average", "average", "part")
experiments = flag(experiments)
averages = experiments[experiments["asked"] == "average"]
cells = experiments[experiments["asked"] == "part"]

# %%
sizes = {"audits of each model": n_audits, "transects of an audit": n_transects}
pd.Series(sizes | {"estimates": len(experiments)}).to_frame("number")

# %% [markdown]
# ### The average effect
#
# Three numbers describe the errors of an estimator. *Bias* is the error that stays when we average over audits. What chance alone adds is subtracted, so 0.0 means no more than chance.
# *RMSE*, the root mean square error, adds the scatter from audit to audit. {term}`Coverage <coverage>` is the
# share of nominal 95% intervals that hold the truth. Here they are for the average effects of skin colour,
# hair length and gender. Thin lines are {term}`Monte-Carlo intervals <Monte-Carlo error>`, because the number of audits is finite. The table
# has the largest and the lowest value of all models for each estimator.

# %%
average_scores = scorecard.score_estimators(averages)

# %% tags=["hide-cell"]
PANELS = {"bias": "bias (points)", "rmse": "RMSE (points)", "coverage": "coverage (%)"}
LOOK = {"labelled": PANELS, "lines": {"coverage": 0.95}}


def titled(figure: plt.Figure, title: str, height: float) -> None:
    """The figure as wide as a phone shows well, its finding and its marks above."""
    figure.legends[0].remove()
    figure.set_size_inches(4.8, height)
    marks = panels.legend_above(figure, columns=2).legends[0]
    marks.set_title(textwrap.fill(with_minus(title), 46), {"size": 12})


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for bias, root mean square error and coverage of the average effects. Rows are the five estimators that claim them, marks the four models. A dashed line marks nominal coverage."}, "figure": {"name": "fig-score-average", "caption": "Average effects of skin colour, hair length and gender on repeated audits by transects, by the five estimators that claim them: bias, root mean square error, and coverage of nominal 95% intervals. Thin lines are Monte-Carlo intervals."}}
# Computed by faceworld.scorecard.audits.score_estimators.
def draw_scores(
    scores: pd.DataFrame, labelled: dict, lines: dict, title: str, logarithmic: tuple = ()
) -> None:
    """Scores of every estimator (rows) and model (marks): a panel per score, lines as they should be."""
    ends = {"": "estimate", "_low": "low", "_high": "high"}
    parts = {
        name: scores[[name + end for end in ends]].astype(float).set_axis(ends.values(), axis=1)
        for name in labelled
    }
    table = pd.concat(parts, names=["score"]).reset_index()
    figure = panels.intervals(table, "estimator", "model", "score", across=1, shared=False)
    for ax, (name, label) in zip(figure.axes, labelled.items(), strict=True):
        ax.set(title="", xlabel=label)
        if name in lines:
            ax.axvline(100 * lines[name], **panels.DASHED, zorder=1)
        if name in logarithmic:
            ax.set_xscale("symlog", linthresh=1, linscale=0.6)
            ax.set_xticks(ticks := (0, 1, 3, 10, 30, 100), map(str, ticks))
            ax.minorticks_off()
            ax.set_xlim(-0.1, 125 * scores[f"{name}_high"].max())
    rows, marks = (table[column].nunique() for column in ("estimator", "model"))
    titled(figure, title, 1 + len(labelled) * (0.6 + rows * (0.2 + 0.04 * marks)))


bias, held = average_scores["bias"].max(), average_scores["coverage"].min()
title = f"Averages: largest bias {100 * bias:.2f} points, lowest coverage {held:.0%}"
draw_scores(average_scores, **LOOK, title=title)


# %%
def over_models(scores: pd.DataFrame) -> pd.DataFrame:
    """What every estimator reaches over models, in points or per cent."""
    extremes = {
        "largest bias": ("bias", "max"),
        "largest RMSE": ("rmse", "max"),
        "lowest coverage": ("coverage", "min"),
        "highest coverage": ("coverage", "max"),
    }
    return 100 * scores.astype(float).groupby("estimator", sort=False).agg(**extremes)


# %%
averages_over_models = over_models(average_scores)
averages_over_models.style.format("{:.2f}")

# %% [markdown]
# The five agree, and there is a reason. A logit fitted by maximum likelihood gives, at each level of an
# attribute, as many errors as were counted there. In complete transects every level has the same mix of the
# other attributes. So the averaged difference of its risks *is* the difference of the counted rates, and
# matched pairs average to the same number. Only the penalty of the paper's logit changes it a little. Pruning
# ends this equality, because some cells then have fewer images. Found portraits lack it from the start.

# %%
# By how much the bias exceeds one point, with its Monte-Carlo interval.
excess = average_scores.xs("paper's logit", level="estimator")[["bias_low", "bias_high"]] - 0.01

# %% tags=["hide-input"]
Markdown(
    "By its bias the paper's logit is not ruled out for average effects on complete transects."
    if (excess["bias_high"] < 0).all()
    else "The paper's logit has a bias beyond one point, so it is not enough even for average effects."
    if (excess["bias_low"] > 0).any()
    else "So many audits leave it undecided whether the bias of the paper's logit is within one point."
)

# %% [markdown]
# The next table has the same averages with a {term}`confidence sequence`, for a check that is repeated while faces come in. Its interval has to hold the truth
# at every {term}`look` while the faces come, and not at the last one alone. It shrinks from look to look, so the last one
# holds the truth exactly where all do. The interval of the matched pairs promises this for one look. Width is the mean over audits and attributes, in
# points.

# %%
sequences = [
    with_truth(scorecard.sequence_audits(drawn, AXES, plan.tolerance), pool[model], AXES).assign(
        model=model, estimator="confidence sequence"
    )
    for model, drawn in audits.items()
]

# %%
sequences = scorecard.name_cells_with_attribute(pd.concat(sequences, ignore_index=True))
looked = pd.concat([averages.query("estimator == 'matched pairs'"), sequences], ignore_index=True)
of_looks = scorecard.score_estimators(looked)[["bias", "rmse", "coverage"]].astype(float)
widths = looked.assign(width=looked["high"] - looked["low"])
of_looks["width"] = widths.groupby(["model", "estimator"])["width"].mean()
(100 * of_looks).rename(columns={"rmse": "RMSE"}).style.format("{:.1f}")

# %% [markdown]
# (what-a-main-effect-hides)=
# ### What a main effect hides
#
# An average can be right and hide what matters. The plantskin control harms one gender and favours the other
# when skin is dark. {numref}`fig-score-cancel` shows where the estimates of all audits fall, cell by cell, for
# three of the estimators. An estimator that works scatters around the diamond. The table has the true effects
# and the mean estimates of the paper's logit, in points.

# %%
planted = cells.query("model == 'plantskin' and attribute == 'skin_colour'")
shown = planted[planted["estimator"].isin(["paper's logit", "logit by gender", "matched pairs"])]
SKIN = "change in error rate, dark − light skin (points)"


# %%
def middle(estimates: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean and middle 95% of the estimates of all audits, with their truth."""
    groups = estimates.groupby(by, sort=False)
    ends = {"low": groups["estimate"].quantile(0.025), "high": groups["estimate"].quantile(0.975)}
    known = {"estimate": groups["estimate"].mean(), **ends, "truth": groups["truth"].first()}
    return pd.DataFrame(known).reset_index()


# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Four cells of perceived gender and hair length for the plantskin control. In each, the mean and range over all audits of the estimated effect of dark skin, for three estimators, beside a diamond for the truth. The main-effects logit has one sign in all cells."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by middle (above), of what the estimators give: faceworld.scorecard.audits.logit_audits
# and faceworld.scorecard.audits.matched_audits.
ranges = middle(shown.assign(cell=shown["cell"].str.replace(": ", ":\n")), ["cell", "estimator"])
figure = panels.intervals(ranges, "cell", "estimator", xlabel=SKIN)
main = ranges[ranges["estimator"] == "paper's logit"]
said, true = (100 * main[column] for column in ("estimate", "truth"))
true, said = (f"{v.min():+.0f} to {v.max():+.0f}" for v in (true, said))
titled(figure, f"True effects {true} points, the paper's logit {said}", 4.4)
glue("opposing", figure, display=False)
plt.close(figure)

# %%
main_effects = planted[planted["estimator"] == "paper's logit"].groupby("cell")
main_effects = 100 * main_effects[["truth", "estimate"]].mean()
main_effects.loc["mean of the cells"] = main_effects.mean()
main_effects.rename(columns={"estimate": "paper's logit"}).style.format("{:+z.1f}")

# %% [markdown]
# A model with main effects has one number for dark skin, in log odds. In points it differs from cell to cell, but it keeps its sign. If women and men pull it in opposite directions, it
# ends up between them, and is far from the truth in each cell. With more data the estimates gather more
# closely around the wrong place. A logit with effects by gender repairs most of this. The rest comes from hair,
# which also changes the effect of skin, and from the penalty.

# %% [markdown]
# ### Effects in cells
#
# Now the same three numbers over the twelve cells. Bias is their root mean square. RMSE and coverage are taken
# over all cells and audits. The figure shows the logits as if they were read cell by cell. Those with main
# effects claim averages only.

# %%
scores = scorecard.score_estimators(cells)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for bias, root mean square error and coverage. Rows are the six estimators, marks the four models. A dashed line marks nominal coverage."}, "figure": {"name": "fig-score-transects", "caption": "Six estimators on repeated audits by transects, cell by cell: bias and root mean square error over twelve cells (axes logarithmic beyond one point), and coverage of nominal 95% intervals. Thin lines are Monte-Carlo intervals."}}
# Computed by faceworld.scorecard.audits.score_estimators.
LOOK["logarithmic"] = ["bias", "rmse"]
lowest = scores["coverage"].groupby("estimator").min()
title = "Cells, lowest coverage: matched pairs {:.0%}, paper's logit {:.0%}"
title = title.format(*lowest[["matched pairs", "paper's logit"]])
draw_scores(scores, **LOOK, title=title)

# %%
over_models(scores).style.format("{:.1f}")

# %% [markdown]
# These shares are means over cells, and a mean can hide one cell that is missed often. So each estimator is
# also judged by its *worst cell*: of all cells and models, the one whose truth its intervals hold least often.
# The least of many shares is low by chance alone. Its Monte-Carlo interval is therefore widened for the number
# of shares ({term}`Bonferroni's rule`). The last columns have its ends.

# %%
answered = cells.dropna(subset=["low"])
held = answered["truth"].between(answered["low"], answered["high"])
by_cell_of = ["model", "estimator", "attribute", "cell"]
in_cell = held.groupby([answered[name] for name in by_cell_of]).agg(["mean", "sum", "size"])
shares_judged = in_cell.groupby("estimator").size().max()
in_cell["low"], in_cell["high"] = proportion_confint(
    in_cell["sum"], in_cell["size"], alpha=0.05 / shares_judged, method="wilson"
)
worst_cells = in_cell.loc[in_cell.groupby("estimator", sort=False)["mean"].idxmin()]
worst_cells = worst_cells.reset_index().set_index("estimator")

# %%
shown = worst_cells.loc[list(BY_TRANSECTS), ["model", "cell", "mean", "low", "high"]]
shown = shown.rename(columns={"mean": "held in", "low": "at least", "high": "at most"})
shown.style.format("{:.1%}", subset=["held in", "at least", "at most"])

# %% [markdown]
# Another way of resampling does not repair a biased estimator: compare the coverage of the paper's logit when images and
# when transects are resampled. In this design every attribute varies within faces, where the two ways of
# resampling differ least. For attributes of the face the choice matters, as [](n03_coverage) shows.
#
# The null control teaches something else. Where all effects are zero, every estimator is unbiased and nearly
# every interval is honest. A method should be tested on data with effects too.

# %% [markdown]
# ### Cells that help each other
#
# A cell's estimate uses its own pairs alone. *Partial pooling* takes the true effects $\theta$ of an
# attribute's four cells to scatter around a mean, and the estimates $y$ around them:
#
# $$y \sim N(\theta, V), \qquad \theta_c \sim N(\mu, \tau^2).$$
#
# Every estimate moves towards the mean: far if cells seem alike, hardly if they clearly differ. The
# covariances $V$ come from the pairs, because cells share their faces. Four cells say little about their
# spread $\tau$. So all its values count, each as much as the data support it {cite:p}`bda,eight-schools`.

# %%
SIZES_POOLED = (25, 100, n_transects)
BOTH = {"alone": matched_audits, "pooled": pooled_audits}

# %%
sized = [
    with_truth(
        estimator(draw_audits(pool[model], size, n_audits, seed), AXES), pool[model], AXES
    ).assign(model=model, estimator=name, transects=size)
    for model in TRAINED
    for size in SIZES_POOLED
    for name, estimator in BOTH.items()
]
sized = scorecard.name_cells_with_attribute(pd.concat(sized, ignore_index=True))

# %% [markdown]
# Does a cell gain? Audits of three sizes are drawn, and each attribute's four cells are scored with both
# estimators. The table has the RMSE in points. Its last columns have the coverage, in per cent, of the cell, of all
# attributes, whose intervals hold the truth least often. An average over cells would hide this one, and it
# may be the cell that a reader asks about.

# %%
sized["square"] = (sized["estimate"] - sized["truth"]) ** 2
sized["held"] = sized["truth"].between(sized["low"], sized["high"]).astype(float)

# %%
ROWS = ["model", "transects"]
of_cells = sized.pivot_table("held", [*ROWS, "estimator", "cell"], sort=False)
gains = {
    "RMSE": np.sqrt(sized.pivot_table("square", ROWS, "estimator", sort=False)),
    "worst cell": of_cells.pivot_table("held", ROWS, "estimator", "min", sort=False),
}
gains = 100 * pd.concat(gains, axis=1)
gains.style.format("{:.1f}")

# %% [markdown]
# Does the gain depend on how alike cells are? For the smallest audits the next table has the RMSE of each attribute's cells,
# and the standard deviation of their true effects. The last column has what the audits take it for, on average.
# All are in points.

# %%
few = sized[sized["transects"] == SIZES_POOLED[0]]
by = ["attribute", "model"]
of_alike = np.sqrt(few.pivot_table("square", by, "estimator", sort=False))
of_alike["true spread"] = few.drop_duplicates([*by, "cell"]).groupby(by)["truth"].std()
of_alike["estimated spread"] = few.groupby(by)["between"].mean()
(100 * of_alike).rename(truth.CONTRASTS, level="attribute").style.format("{:.1f}")

# %% [markdown]
# Pooling pays where audits are small and cells alike. The last columns of the first table show its price. A single cell that
# differs from the three others by about as much as its noise looks like noise, and moves towards them. The
# {term}`pooled interval <posterior>` promises to hold cells *like these*, on average. So it is **no interval of a single cell**. The
# [benchmarks](benchmarks) draw more audits, and say where a cell is held too rarely. An auditor who looks for the one
# group that is harmed reads the cell's own interval, and takes the pooled number for an estimate.

# %% [markdown]
# (outcomes-besides-errors)=
# ### Outcomes besides errors
#
# An audit can also ask for false positives, false negatives, selection, scores, flips or abstentions. Here
# *positive* and *selected* mean that the model says male. Do such effects come out as well as those on errors?
# The models are asked for their scores on the same faces, and the same audits are drawn. The null control
# stays out, since it has no scores.

# %%
pictures = stage.load("11_who_was_right", "truth.npy")
audited_models = networks.load_all(stage, "02_face_world", TRAINED)
pool_scores = {
    name: networks.predict(network, pictures).astype(float).reshape(pool[name].shape)
    for name, network in audited_models.items()
}

# %% tags=["remove-cell"]
for name, answers in pool_scores.items():
    assert np.array_equal((answers > 0.5) != np.array([False, True]), pool[name] == 1)

# %% [markdown]
# Our models answer every image. To have abstentions too, we let a version of each model abstain where its
# score lies near its threshold. The library counts failed calls and faces that were not found in the same
# way, as images without an answer for one reason.

# %%
BAND = 0.2  # scores this close to the threshold get no answer
limits = {"tolerance": plan.tolerance, "level": plan.level}
audited = partial(scorecard.OutcomeAudits, tuple(AXES), "gender", **limits)
studies = [audited(scorecard.ANSWERED), audited(("abstention",), band=BAND)]

# %% [markdown]
# Average effects, intervals and verdicts are those of the library's report on matched images. The truth is
# counted in the scores of all faces, by code that shares nothing with the library:
#
# - *False positives* are counted among faces set to female, *false negatives* among those set to male. A pair
#   needs one label. Along gender the label changes, so there is no such pair and no such effect.
# - A *flip* is a pair with two decisions. The flip rate has no sign, and whatever differs between the images of
#   a pair can cause one. Here only the attribute differs. The truth is the share over all pairs.
# - The version that *abstains* is judged by how often it does so.

# %%
further = [
    study.estimates_with_truth(answers, n_transects, n_audits, seed).assign(model=model)
    for study in studies
    for model, answers in pool_scores.items()
]

# %%
further = pd.concat(further, ignore_index=True)
further["estimator"], further["cell"] = further["outcome"].map(TITLES), further["attribute"]

# %%
of_errors = averages.query("estimator == 'matched pairs' and model != 'null'")
outcomes = pd.concat([of_errors.assign(estimator=TITLES["error"]), further], ignore_index=True)
outcome_scores = scorecard.score_estimators(outcomes)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for bias, root mean square error and coverage. Rows are seven outcomes of matched pairs, from the error rate to abstentions, marks the three trained models. A dashed line marks nominal coverage."}, "figure": {"name": "fig-score-outcomes", "caption": "Average effects of skin colour, hair length and gender on seven outcomes, by matched pairs: bias, root mean square error, and coverage of nominal 95% intervals. Thin lines are Monte-Carlo intervals."}}
# Computed by faceworld.scorecard.outcomes.OutcomeAudits and
# faceworld.scorecard.audits.score_estimators.
bias, held = outcome_scores["bias"].max(), outcome_scores["coverage"].min()
title = f"Outcomes: largest bias {100 * bias:.2f} points, lowest coverage {held:.0%}"
draw_scores(outcome_scores, PANELS, {"coverage": 0.95}, title)

# %%
over_models(outcome_scores).style.format("{:.2f}")

# %% [markdown]
# Selection has an impact ratio besides: the selection rate at the high level over that at the low one. The table has
# the smallest and the largest true ratio along skin and hair, and the coverage of the ratio's intervals over all three axes.

# %%
ratios = scorecard.impact_ratios(further)
held_ratio = scorecard.score_estimators(ratios)["coverage"].astype(float)
among = ratios.query("attribute != 'gender'").groupby("model", sort=False)["truth"]
among = among.agg(["min", "max"]).assign(coverage=held_ratio.groupby("model").min())
among.style.format("{:.2f}").format("{:.0%}", subset="coverage")

# %% [markdown]
# (six-skin-types)=
# ### Six types of skin
#
# The raters' scale of skin has six names, from *Light* to *Black*, and an audit may ask about all of them. It then
# has to say which types it compares. With *reference* each type is compared with the first, with *adjacent* each
# with the one before it, and the last with the first. The {term}`trend contrast` asks once: how far does the error rate rise or fall along a
# straight line through all six?
#
# The first faces of the truth get the skin of each name, as women and as men, and nothing else of them changes. So the
# effects in these faces are known exactly.

# %%
TYPES = ATTRIBUTES["skin_colour"]
doses_of_types = {"skin_colour": tuple(np.linspace(0, 1, len(TYPES)))}
doses_of_types["gender"] = stage.load("05_transect_generation", "doses.json")["gender"]
faces = torch.from_numpy(stage.load("11_who_was_right", "base.npy")[:200].copy())

# %%
drawing = {"size": image_size, "path": stage.path("types.npy"), "device": device}
of_types = {
    name: truth.errors_under_do(
        partial(networks.predict, network), faces, doses_of_types, **drawing
    )
    for name, network in audited_models.items()
}

# %% [markdown]
# Audits draw half as many faces as there are, again and again. The library compares the types in all three ways, each time on
# average over women and men. The true differences, and the true slope, are counted in all faces.

# %%
KINDS = ("reference", "adjacent", "trend")
asked = {kind: scorecard.LevelAudits("skin_colour", TYPES, ("gender",), kind) for kind in KINDS}
by_type = pd.concat(
    [
        study.estimates_with_truth(errors, len(faces) // 2, n_audits, seed).assign(
            model=model, estimator=kind
        )
        for model, errors in of_types.items()
        for kind, study in asked.items()
    ],
    ignore_index=True,
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one for each trained model. Six black diamonds show the true error rate at the six types of skin, from Light to Black, and a dashed line the true trend. Dots show the rates in the first audit, and a solid line its trend."}, "figure": {"name": "fig-score-types", "caption": "Error rates at six types of skin, each panel with a scale of its own. Diamonds and dashed line: all faces, and their trend. Dots and solid line: the faces of the first audit, and theirs. A trend sums up how far the rates go from the first type to the last; it does not say that they go straight."}}
# Computed by faceworld.scorecard.truth.errors_under_do.
figure, axes = plt.subplots(1, len(of_types), figsize=(figures.WIDTH, 3))
for ax, (model, errors) in zip(axes, of_types.items(), strict=True):
    (first,) = draw_audits(errors, len(faces) // 2, 1, seed)
    for part, marks, line in ((errors, "kD", "k--"), (first, "C0o", "C0-")):
        rates, places = 100 * part.mean(axis=(0, 2)), np.arange(len(TYPES))
        ax.plot(places, rates, marks)
        ax.plot(places, np.polyval(np.polyfit(places, rates, 1), places), line)
    ax.set_title(model)
    ax.set_ylim(bottom=min(0, ax.dataLim.y0))
    ax.set_xticks(places, TYPES, rotation=90)
_ = axes[0].set(ylabel="errors in 100 images")

# %% [markdown]
# Bias, RMSE and width are in points, per comparison. *Coverage* is that of single intervals. *All hold* is the share of
# audits whose {term}`simultaneous intervals` hold all truths of their kind: five for *reference*, six for *adjacent*, one
# for *trend*. The second table has the true trend, and the mean width of the contrast of the last type with the first:
# alone, and together with the four others of its kind.

# %%
type_scores = scorecard.score_estimators(by_type)[["bias", "rmse", "coverage"]].astype(float)
keys = ["model", "estimator"]
held_together = by_type["truth"].between(by_type["low_family"], by_type["high_family"])
all_hold = held_together.groupby([by_type[key] for key in [*keys, "audit"]]).all()
type_scores["all hold"] = all_hold.groupby(keys).mean()
type_scores["width"] = (
    (by_type["high"] - by_type["low"]).groupby([by_type[key] for key in keys]).mean()
)
(100 * type_scores).rename(columns={"rmse": "RMSE"}).style.format("{:.1f}")

# %%
LAST = f"{TYPES[-1]} instead of {TYPES[0]}"
contrast = by_type.query("estimator == 'reference' and cell == @LAST")
contrast = contrast.assign(
    alone=contrast["high"] - contrast["low"],
    together=contrast["high_family"] - contrast["low_family"],
)

# %%
widths = contrast.groupby("model", sort=False)[["alone", "together"]].mean()
trends = by_type.query("estimator == 'trend'").groupby("model", sort=False)["truth"].first()
widths.insert(0, "true trend", trends)
(100 * widths).style.format("{:.1f}").format("{:+z.1f}", subset="true trend")

# %% [markdown]
# A trend is one comparison in place of five, so it shares the level with no other, and the types between the ends
# help to tell it. It has a price. A rate that rises in the middle and falls at the end can have no trend at all. So
# look at the rates of the types beside it. An axis without an order, such as ancestry, has no trend.

# %% [markdown]
# ## Audits of found portraits
#
# Now count errors in portraits as they come. The population is the first half of chapter 1's PPB-like test
# set, adults only. An audit draws as many portraits as the Pilot Parliaments Benchmark holds. The question is the one that such audits are read to answer: how does dark skin change the error rate of women?

# %%
PPB_SIZE, ADULT = 1270, ADULT_RULE["age"].right
portraits = stage.load("01_observational_audit", "ppb.parquet").iloc[: n_test // 2]
grown = np.flatnonzero(portraits["age"] >= ADULT)
portraits = portraits.iloc[grown]
world = populations.sample("ppb-like", n_test, seed).parameters[grown]

# %%
women = np.flatnonzero(portraits["label"] == 0)
light, dark = (women[portraits["skin"].iloc[women] == group] for group in ("light", "dark"))
pd.Series({"light-skinned women": len(light), "dark-skinned women": len(dark)}).to_frame("number")

# %% [markdown]
# ### The truth for this population
#
# Every woman is rendered twice more: once with the skin of one of the light-skinned women, once with that of
# one of the dark-skinned. Each {term}`donor` is used equally often, and the rest of her stays. The difference of the
# two error rates is the effect of skin colour *for these faces*. It is exact, and it makes the observer's
# comparison: the skin of one group against the skin of the other. [](11_who_was_right) does the same for all women of
# the test set. Men are rendered in the same way.
# Both genders together give the average effect for everybody who was counted.


# %%
def with_skin_of(people: np.ndarray, donors: np.ndarray) -> torch.Tensor:
    """All of these people, each with the skin colour of one of the donors."""
    order = seeding.rng(seed, f"11_truth_scorecard: skin of {len(donors)}").permutation(donors)
    skin = world[np.resize(order, len(people)), facerender.INDEX["skin_colour"]]
    return do(world[people], skin_colour=skin)


# %%
men = np.flatnonzero(portraits["label"] == 1)

# %%
versions = [
    with_skin_of(people, people[portraits["skin"].iloc[people] == group])
    for people in (women, men)
    for group in ("light", "dark")
]

# %%
rendered = render_to_store(torch.cat(versions), image_size, stage.path("skins.npy"), device=device)

# %%
which = np.repeat(np.arange(4), [len(version) for version in versions])


def skin_effects(name: str) -> np.ndarray:
    """Effect of dark skin on a model's errors on women, and on men."""
    wrong = (networks.predict(audited_models[name], rendered) > 0.5) != (which > 1)
    light_women, dark_women, light_men, dark_men = np.bincount(which, wrong) / np.bincount(which)
    return np.array([dark_women - light_women, dark_men - light_men])


# %%
by_gender = {name: skin_effects(name) for name in TRAINED} | {"null": np.zeros(2)}
skin_effect = {name: float(effect[0]) for name, effect in by_gender.items()}

# %%
everybody = [len(women), len(men)]
average_effect = {
    name: float(np.average(effect, weights=everybody)) for name, effect in by_gender.items()
}

# %% tags=["sheet", "hide-input"] mystnb={"image": {"alt": "Two rows of the same portraits of women, the upper row with light and the lower row with dark skin; hair, pose and light agree between the rows."}, "figure": {"name": "fig-score-skins", "caption": "The first women of the test set, given light and dark skin by intervention. Their errors differ because of skin alone."}}
# Computed by with_skin_of (above).
first = np.r_[:8, len(women) : len(women) + 8]
_ = figures.gallery(rendered[first], ncol=8, row_labels=["light", "dark"])

# %% [markdown]
# ### The estimators of an observer
#
# Eight analyses follow. Six estimate a {term}`risk difference` among women by {term}`g-computation`, and adjust for
# more and more. The first compares skin alone. The others adjust for short or long hair as rated with some labels
# swapped at random, for the same labels as rated, for the true length, for the true length and the gender of the
# face's shape, and for a list of five true attributes, the *five confounders*. The last three are beyond a real auditor.
#
# The seventh is the paper's logit on all attributes as rated, fitted to everybody, with images resampled. It
# claims the average over everybody. We read off its number for women as well.

# %%
SWAPPED = 0.15
seen = facerender.visible_scores(world).set_index(portraits.index)
real = (
    facerender.to_frame(world).set_index(portraits.index)[["hair_colour", "earrings"]].astype(float)
)
draws = seeding.uniforms(seed, "11_truth_scorecard: swap", range(len(portraits)), 1)[:, 0]

# %% [markdown]
# True values are cut into bins, which frees the regression from straight lines. The gender of the shape gets
# the finest bins, in the range where women and men meet. Makeup and earrings are present or absent. Hair
# colour joins the list because dark skin and dark hair go together in this world, and a model may look at
# hair.

# %%
CUTS = {
    "hair_length": (0.2, 0.4, 0.6),
    "gender": (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55),
    "makeup": (0.05,),
    "hair_colour": (0.1, 0.2, 0.4),
    "earrings": (0.5,),
}
found = portraits.assign(skin=pd.Categorical(portraits["skin"], ["light", "dark"]))
for name, cuts in CUTS.items():
    found[f"true {name}"] = np.digitize(seen.join(real)[name], cuts)
found["swapped hair"] = (found["hair"] == "short") ^ (draws < SWAPPED)

# %% [markdown]
# The estimator is the one of [](n10_direct_effects). A logit predicts every woman's risk with light and with
# dark skin at her own covariates, and the two mean risks are subtracted. Without covariates that is the plain
# difference of two rates. One table holds the samples of many audits, and its column `audit` keeps them apart:
# each has a regression of its own.


# %%
def adjusted(*covariates: str, everybody: bool = False) -> scorecard.Estimator:
    """Risk difference of dark against light skin, averaged over women's covariates, or all."""

    def estimate(samples: pd.DataFrame) -> pd.DataFrame:
        among = samples if everybody else samples[samples["label"] == 0]
        return effects.risk_differences(among, "error", "skin", by="audit", adjust=covariates)

    return estimate


# %% [markdown]
# The eighth takes the true length of hair too, and is {term}`doubly robust`: it models the errors *and* the skin.
# If one of the two models is right, so is the estimate in large samples. Without {term}`overlap` it gives no number.


# %%
def doubly_robust(*covariates: str) -> scorecard.Estimator:
    """Doubly robust difference of dark and light skin, over all women of an audit."""

    def estimate(samples: pd.DataFrame) -> pd.DataFrame:
        found = {}
        for audit, women in samples[samples["label"] == 0].groupby("audit"):
            difference = effects.doubly_robust_difference(women, "error", "skin", covariates)
            found[audit] = difference.effects.loc["adjusted", ["estimate", "low", "high", "p"]]
        return pd.DataFrame(found).T.astype(float)

    return estimate


# %%
columns = effects.paper_columns(portraits)
values, found["pattern"] = np.unique(columns, axis=0, return_inverse=True)
patterns = pd.DataFrame(values, columns=columns.columns)


# %%
def with_skin(level: str) -> np.ndarray:
    """What people would be rated as if all of them had the skin of this level."""
    table = patterns.copy()
    for other in ("Light skin", "Dark skin"):
        table["skin_colour", other] = float(other == level)
    return table.to_numpy()


# %%
def paper(samples: pd.DataFrame, everybody: bool = False) -> pd.DataFrame:
    """What the paper's logit, fitted to everybody, says of dark skin among women, or all.

    The risks that it predicts with light and with dark skin are averaged over those in question;
    the interval comes from resampled images (transects, section 5.5).
    """
    found, size = {}, len(patterns)
    for audit, sample in samples.groupby("audit"):
        pattern, error, label = sample[["pattern", "error", "label"]].to_numpy().T
        among = (label == 0) | everybody
        counts = np.bincount(pattern + size * error, minlength=2 * size)
        random = seeding.rng(seed, "scorecard: images")
        fits = fit_logits(patterns.to_numpy(), *scorecard.resample_images(counts, 100, random))
        people = np.bincount(pattern[among], minlength=size)
        light, dark = (
            expit(fits[:, :1] + fits[:, 1:] @ with_skin(level).T) @ people / among.sum()
            for level in ("Light skin", "Dark skin")
        )
        change = dark - light
        found[audit] = scorecard.normal_interval(change[0], np.nanstd(change[1:], ddof=1))
    return pd.DataFrame(found).T


# %%
BY_OBSERVATION = {
    "raw difference": adjusted(),
    f"hair, {SWAPPED:.0%} swapped": adjusted("swapped hair"),
    "hair as rated": adjusted("hair"),
    "true hair length": adjusted("true hair_length"),
    "true hair, gender": adjusted("true hair_length", "true gender"),
    f"{len(CUTS)} confounders": adjusted(*(f"true {name}" for name in CUTS)),
    "doubly robust, true hair": doubly_robust("true hair_length"),
    "paper's logit, found": paper,
}

# %% [markdown]
# All eight are asked about the same samples of portraits. The figure has the estimates of all audits beside the truth.
# The table has the mean errors, and in its last row the true effects, in points.

# %%
observe = partial(scorecard.observational_audits, n=PPB_SIZE, seed=seed, null_rate=NULL["rate"])
observed = observe(found, MODELS, BY_OBSERVATION, repetitions=n_audits)
observed["truth"] = observed["model"].map(skin_effect)
observed = flag(observed.assign(cell="women: skin", attribute="skin_colour", asked="part"))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four panels, one per model. In each, eight rows of estimators with the mean and range over audits of the estimated effect of dark skin among women, and a diamond and line at the truth. The adjustments move the estimates, by different amounts in different models."}, "figure": {"name": "fig-score-found", "caption": "Estimates of the effect of dark skin on women's errors in found portraits: mean and range over all audits (without the most extreme fortieth on either side). Diamonds and lines mark the truth by intervention."}}
# Computed by faceaudit.effects.risks.risk_differences, through adjusted and paper (above), in
# faceworld.scorecard.audits.observational_audits.
ranges = middle(observed, ["model", "estimator"]).assign(mark="estimates: mean, middle 95%")
figure = panels.intervals(ranges, "estimator", "mark", "model", SKIN, across=1)
raw = observed[observed["estimator"] == "raw difference"].groupby("model")
raw = 100 * (raw["estimate"].mean() - raw["truth"].first())
title = f"Mean error of the raw difference: {raw.min():+.1f} to {raw.max():+.1f} points"
titled(figure, title, 9)

# %%
mean_error = observed.assign(error=100 * (observed["estimate"] - observed["truth"]).astype(float))
mean_error = mean_error.pivot_table("error", "estimator", "model", dropna=False)
mean_error = mean_error.loc[list(BY_OBSERVATION), list(MODELS)]
mean_error.loc["the true effect"] = 100 * pd.Series(skin_effect)
mean_error.style.format("{:+z.1f}", na_rep="not estimable")

# %% [markdown]
# Read the rows from top to bottom. The raw difference counts everything that goes with skin as skin. Adjusting
# for badly labelled hair takes part of that away. Adjusting for well-measured hair can take away *more* than
# there was, and a model may then look kinder to dark-skinned women. So better measurement alone can lead away from the truth. Something else
# must be wrong.

# %% [markdown]
# How often does an analysis with all five confounders give a number? Whether there is {term}`overlap` depends on the covariates
# and not on the errors, so one model is enough to ask. Where a kind of woman occurs with one skin colour alone, the
# regression extrapolates.

# %%
ALL = f"{len(CUTS)} confounders"
by_both = {ALL: doubly_robust(*(f"true {name}" for name in CUTS))}
both = observe(found, MODELS[:1], by_both, repetitions=n_audits)
regression = observed.query("estimator == @ALL and model == @MODELS[0]")
numbers = {"doubly robust": both["estimate"], "regression": regression["estimate"]}
numbers = {name: estimates.notna().mean() for name, estimates in numbers.items()}
pd.DataFrame(numbers, ["audits with a number"]).style.format("{:.0%}")

# %% [markdown]
# ### Why adjusting for hair can overshoot
#
# Adjustment compares dark- and light-skinned women at equal hair. The comparison rests on the few
# light-skinned women with short hair. Who are they? The table counts the women whom raters call short-haired,
# and gives the share of them whose shape is near the border of gender.

# %%
NEAR = 0.35
short = found.iloc[women].query("hair == 'short'")
near = (seen["gender"].loc[short.index] > NEAR).groupby(short["skin"], observed=False)
border = near.agg(**{"short-haired women": "size", "near the border": "mean"})
odd = border.loc["light", "near the border"] > border.loc["dark", "near the border"]
border.style.format({"near the border": "{:.0%}"})

# %% tags=["hide-input"]
at_border = border["near the border"]
Markdown(
    f"Of the light-skinned short-haired women, {at_border['light']:.0%} have a shape near the border "
    f"of gender, of the dark-skinned {at_border['dark']:.0%}. Adjusting for hair compares "
    "the second group with the first."
    if odd
    else "In this sample the short-haired women of either skin are equally clear cases, so "
    "the adjustment is led astray by something else."
)

# %% [markdown]
# To be called a woman by a crowd is a filter. Among long-haired faces it passes few with a masculine shape.
# Among short-haired ones it also passes faces whose shape lies in between. Where short-haired women are rare,
# these can be much of the group. A model often errs on them, for reasons other than skin. To adjust for hair
# is to compare dark-skinned women with *them*. Adjusting for the shape as well removes a part of the error,
# as the rows with true gender and with five confounders show. Found data are silent about the rest.

# %%
found_scores = scorecard.score_estimators(observed)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for bias, root mean square error and coverage, of eight observational estimators for four models."}, "figure": {"name": "fig-score-observers", "caption": "Eight estimators on repeated observational audits: bias and root mean square error (axes logarithmic beyond one point), and coverage of nominal 95% intervals."}}
# Computed by faceworld.scorecard.audits.score_estimators.
lowest = found_scores["coverage"].groupby("estimator").min()
title = "Found portraits, lowest coverage: raw difference {:.0%}, five confounders {:.0%}"
title = title.format(*lowest[["raw difference", f"{len(CUTS)} confounders"]])
draw_scores(found_scores, **LOOK, title=title)

# %% [markdown]
# ### Hair labels that are wrong
#
# In found data raters report the {term}`confounder`. A confounder that is measured with noise is only
# partly adjusted for. This sweep swaps ever more of the hair labels, up to one half. At one half they are independent of
# hair, and the estimate is the raw difference. The table has the estimates at both ends, in points, and says whether the
# path between them passes the truth. It has fewer audits than the table above, so its *labels as rated* differ a little from *hair as rated*.

# %%
SWAPS = (0.0, 0.05, 0.15, 0.3, 0.5)
for share in SWAPS:
    found[f"swapped {share}"] = (found["hair"] == "short") ^ (draws < share)
by_share = {share: adjusted(f"swapped {share}") for share in SWAPS}
confounded = observe(found, TRAINED[:2], by_share, repetitions=n_audits // 2)
confounded["truth"] = confounded["model"].map(skin_effect)

# %%
ranges = middle(confounded, ["model", "estimator"])

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, for the celeba-like and the fairface-like model. The estimated effect of dark skin among women, adjusted for hair, against the share of hair labels that are swapped: mean and range over audits, with a dashed line at the truth."}, "figure": {"name": "fig-score-swapped", "caption": "Observational estimates adjusted for hair labels of which a share was swapped: mean and range over audits. The dashed line is the truth; at one half the labels are independent of hair."}}
# Computed by faceaudit.effects.risks.risk_differences, through adjusted (above), in
# faceworld.scorecard.audits.observational_audits.
figure, axes = plt.subplots(2, 1, figsize=(4.8, 5.6), sharex=True, sharey=True)
for ax, (model, part) in zip(axes, ranges.groupby("model", sort=False), strict=True):
    panels.upright(ax, 100 * part["estimator"].astype(float), part, figures.look(model), model)
    ax.axhline(100 * part["truth"].iloc[0], **panels.DASHED)
    ax.set_title(with_minus(f"{model}, truth {100 * part['truth'].iloc[0]:+.1f}"))
    ax.set_ylabel("dark − light skin (points)")
_ = axes[1].set_xlabel("share of hair labels swapped (%)")

# %%
path = 100 * confounded.pivot_table("estimate", "model", "estimator")
aim = 100 * pd.Series(skin_effect)[path.index]
passes = (path.min(axis=1) < aim) & (aim < path.max(axis=1))

# %%
ends_of_path = path.iloc[:, [0, -1]].set_axis(["labels as rated", "half swapped"], axis=1)
ends_of_path = ends_of_path.assign(truth=aim).map("{:+z.1f}".format)
ends_of_path.insert(0, "passes the truth", passes.map({True: "yes", False: "no"}))
ends_of_path

# %% [markdown]
# The curve leads from the estimate with the labels as given to the raw difference. If it crosses the truth on
# its way, two errors cancel there by luck. An auditor sees one point of this curve, and cannot know which.

# %% [markdown]
# ### Everybody who was counted
#
# The paper's regression speaks of everybody, women and men. So we ask the same analyses for the average effect of
# dark skin over everybody who was counted. Their truth is that of women and men together. All but the raw
# difference adjust for the rated gender or for the true one. One more analysis makes a regression for each
# gender, and averages the two effects by how many women and men there are, with their intervals
# {cite:p}`mover`. The table has each bias in points, and in its last row the true effect.


# %%
def by_gender_adjusted(*covariates: str) -> scorecard.Estimator:
    """Risk differences of women and of men, each from its own regression, averaged over all."""

    def estimate(samples: pd.DataFrame) -> pd.DataFrame:
        both = ["audit", "label"]
        table = effects.risk_differences(samples, "error", "skin", by=both, adjust=covariates)
        share = samples.groupby("audit")["label"].value_counts(normalize=True)
        parts = table[["estimate", "low", "high"]].mul(share, axis=0)
        margin = parts[["low", "high"]].sub(parts["estimate"], axis=0)
        estimate = parts["estimate"].groupby("audit").sum(min_count=2)
        ends = np.sqrt((margin**2).groupby("audit").sum(min_count=2))
        p = 2 * norm.sf(estimate.abs() / (ends.mean(axis=1) / Z))
        ends = {"low": estimate - ends["low"], "high": estimate + ends["high"]}
        return pd.DataFrame({"estimate": estimate, **ends, "p": p})

    return estimate


# %%
OF_EVERYBODY = {
    "raw difference": adjusted(everybody=True),
    "hair as rated": adjusted("hair", "label", everybody=True),
    "true hair length": adjusted("true hair_length", "label", everybody=True),
    "true hair, gender": adjusted("true hair_length", "true gender", everybody=True),
    f"{len(CUTS)} confounders": adjusted(*(f"true {name}" for name in CUTS), everybody=True),
    "confounders, by gender": by_gender_adjusted(*(f"true {name}" for name in CUTS)),
    "paper's logit, found": partial(paper, everybody=True),
}

# %%
of_everybody = observe(found, MODELS, OF_EVERYBODY, repetitions=n_audits // 2)
of_everybody["truth"] = of_everybody["model"].map(average_effect)
of_everybody = flag(of_everybody.assign(cell="all: skin", attribute="skin_colour", asked="average"))
everybody_scores = scorecard.score_estimators(of_everybody)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, for bias, root mean square error and coverage, of seven observational estimators of the average effect of dark skin over everybody, for four models."}, "figure": {"name": "fig-score-everybody", "caption": "The average effect of dark skin over everybody in found portraits: bias and root mean square error of seven estimators, and coverage of nominal 95% intervals."}}
# Computed by faceworld.scorecard.audits.score_estimators.
largest = 100 * everybody_scores["bias"].groupby("estimator").max()
title = f"Everybody, largest bias with {len(CUTS)} confounders: "
title += "one regression {:.1f} points, one for each gender {:.1f}"
title = title.format(*largest[[f"{len(CUTS)} confounders", "confounders, by gender"]])
draw_scores(everybody_scores, PANELS, {"coverage": 0.95}, title)

# %%
bias_by_model = everybody_scores.astype(float).pivot_table("bias", "estimator", "model", sort=False)
bias_by_model.loc["the true effect"] = pd.Series(average_effect)
(100 * bias_by_model[list(MODELS)]).style.format("{:z.1f}")

# %% [markdown]
# In found portraits a main effect can be wrong even about the average. In complete transects every level meets
# the same mix of the others. In found portraits the people whom a regression can compare best count most. One
# coefficient for two genders with opposite effects is then no longer their average, even if confounders are measured well. A regression for each gender lets both count by their number. Attributes that ratings miss stay a
# problem. Errors of women and men can cancel in an average, as they may for the paper's logit. That is luck.

# %% [markdown]
# ## The scorecard
#
# There is one table for each question, in per cent or points. The first two have the bias, the RMSE and the coverage for
# the model on which an estimator does *worst*, since an auditor audits an unknown model. Two
# wrong verdicts follow, after Holm's adjustment within each audit. A *false alarm* is an audit of the null
# control that flags any cell. A *missed* bias is a large effect of *skin* in the plantskin control that an
# audit fails to flag with the right sign.

# %%
LARGE = plan.tolerance
judged = pd.concat([experiments, observed, of_everybody], ignore_index=True)
judged["false_alarm"] = judged["flagged"].astype(float).where(judged["model"] == "null")

# %%
noticed = judged["flagged"] & (judged["estimate"] * judged["truth"] > 0)
of_skin = (judged["attribute"] == "skin_colour") & (judged["model"] == "plantskin")
of_skin &= judged["truth"].abs() > LARGE
judged["missed"] = (~noticed).astype(float).where(of_skin)

# %% [markdown]
# Cells of an audit share their faces, so audits are counted. An audit gives a false alarm as soon as one of its
# cells is flagged, hence the maximum. It may miss some of the large biases and find others, hence the mean.
# Wilson's intervals take audits as observations.

# %%
HOW = {"false_alarm": "max", "missed": "mean"}
by_question = judged.groupby("asked", sort=False)
verdicts = {asked: scorecard.share_of_audits(part, HOW) for asked, part in by_question}

# %%
summaries = {
    "average": pd.concat([average_scores, everybody_scores]),
    "part": pd.concat([scores, found_scores]),
}
everything = pd.concat(
    {asked: table.join(verdicts[asked]) for asked, table in summaries.items()}, names=["asked"]
)

# %%
WORST = {"bias": "max", "rmse": "max", "coverage": "min", "false_alarm": "max", "missed": "max"}
card = everything.groupby(["asked", "estimator"], sort=False).agg(WORST).astype(float)
width = (judged["high"] - judged["low"]).astype(float)
width = width.groupby([judged[name] for name in ("asked", "model", "estimator")]).mean()
in_points = card.mul(100).rename(columns={"false_alarm": "false alarms"})
in_points.insert(3, "width", 100 * width.groupby(["asked", "estimator"]).max())
in_points.loc["average"].rename(columns={"rmse": "RMSE"}).style.format("{:.1f}", na_rep="—")

# %% [markdown]
# This was the card for average effects. Its upper rows average over all transects, its lower rows over everybody
# who was counted. The next
# one is for effects in parts: in the cells of transects, and among the women who were counted. *Coverage* is an average
# over cells, and *worst cell* that of the cell that is held least often. *Width* is the mean width of intervals, of the model
# with the widest.

# %%
of_parts = in_points.loc["part"].rename(columns={"rmse": "RMSE"})
of_parts.insert(3, "worst cell", 100 * worst_cells["mean"])
of_parts.style.format("{:.1f}", na_rep="—")

# %%
OF_A_CELL = 0.93
none_of_cells = worst_cells.index[worst_cells["high"] < OF_A_CELL]

# %% tags=["hide-input"]
Markdown(
    f"An interval that holds a single cell in fewer than {OF_A_CELL:.0%} of audits is no interval of that cell. This is stricter "
    "than the mark for a list of estimators below, since a cell is read alone. By the "
    f"Monte-Carlo intervals of the worst cells, this is so for: "
    f"{'; '.join(f'*{name}*' for name in none_of_cells) or 'none of the estimators of this run'}."
)

# %% [markdown]
# The third one is for outcomes besides errors, on average over complete transects, by matched pairs. Errors are
# repeated for comparison. A *wrong* verdict calls an effect beyond the tolerance that is not, or within where it is larger. Wrong verdicts are
# counted among all effects that an audit can estimate.

# %%
beyond_tolerance = outcomes["truth"].abs() > plan.tolerance
verdict = outcomes["verdict"]
wrong = ((verdict == "exceeds") & ~beyond_tolerance) | ((verdict == "within") & beyond_tolerance)

# %%
judged_at_all = verdict.notna() & outcomes["estimate"].notna()
outcomes["wrong"] = wrong.astype(float).where(judged_at_all)
outcomes["width"] = outcomes["high"] - outcomes["low"]
means = outcomes.groupby(["model", "estimator"], sort=False)[["width", "wrong"]].mean()

# %%
outcome_scores = outcome_scores.join(means)
worst = {"bias": "max", "rmse": "max", "coverage": "min", "width": "max", "wrong": "max"}
of_outcomes = outcome_scores.groupby("estimator", sort=False).agg(worst).astype(float)

# %%
shown = of_outcomes.mul(100).rename(columns={"rmse": "RMSE", "wrong": "wrong verdicts"})
shown.rename_axis("outcome").style.format("{:.1f}", na_rep="—")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of dots with intervals for all estimators of effects in parts: above the share of audits that accuse the null control, around a dashed line; below the share of large biases of the plantskin control that are missed."}, "figure": {"name": "fig-score-verdicts", "caption": "Wrong verdicts on effects in parts, with Wilson intervals. Above: audits that flag anything in the null control; the dashed line is the nominal rate. Below: large biases of the plantskin control that an audit misses."}}
# Computed by faceworld.scorecard.audits.share_of_audits.
extremes = verdicts["part"].loc[["null", "plantskin"]]
extremes.loc["plantskin", ["false_alarm"]] = np.nan
SHARES = {"false_alarm": "false alarms (%)", "missed": "missed biases (%)"}
missed = extremes.loc["plantskin", "missed"]
title = "Missed biases: matched pairs {:.0%}, paper's logit {:.0%}"
title = title.format(*missed[["matched pairs", "paper's logit"]])
draw_scores(extremes, SHARES, {"false_alarm": plan.level}, title)

# %% [markdown]
# When does an estimator fail? We set five marks. The bias may be one point, a fifth of an effect that we call
# large. Intervals must hold the truth in nine cases of ten, on average and in their worst cell. False alarms
# may come in one audit of ten, twice the nominal rate. One large bias in twenty may be missed. An estimator
# *fails* by a mark if, for any model, its whole Monte-Carlo interval lies beyond the mark. It *passes* if, for
# every model, the whole interval lies within. Otherwise it is *undecided*.

# %% [markdown]
# Every estimator is judged by what it claims. Regressions with one coefficient for an attribute, or one for
# each gender, are judged by averages only. The mark for the worst cell applies to transects, because the found
# portraits have a single cell per model. With this many audits one miss can leave the worst cell undecided.

# %%
MARKS = {"bias": 0.01, "coverage": 0.9, "worst cell": 0.9, "false alarms": 0.1}
MARKS["missed effects of skin"] = 0.05
AT_LEAST = ["coverage", "worst cell"]  # the other marks are upper limits
COLUMNS = dict(zip(MARKS, ("bias", "coverage", "cell", "false_alarm", "missed"), strict=True))

# %%
of_cells = in_cell.groupby(["model", "estimator"])[["low", "high"]].min().add_prefix("cell_")
spans = everything.join(pd.concat({"part": of_cells}, names=["asked"])).astype(float)
beyond, within, asked_for = {}, {}, {}
for name, mark in MARKS.items():
    ends = [spans[f"{COLUMNS[name]}_{end}"] for end in ("low", "high")]
    low, high = (mark - end for end in ends[::-1]) if name in AT_LEAST else (e - mark for e in ends)
    beyond[name], within[name] = low > 0, high < 0
    asked_for[name] = low.notna() | (name in ("bias", "coverage"))
beyond, within, asked_for = (pd.DataFrame(one) for one in (beyond, within, asked_for))
ESTIMATOR = ["asked", "estimator"]
failed = beyond.groupby(ESTIMATOR, sort=False).any()
undecided = (asked_for & ~within).groupby(ESTIMATOR, sort=False).any() & ~failed
AVERAGES_ONLY = ["paper's logit", "logit, transects", "logit by gender", "paper's logit, found"]
judged_by = failed.drop([("part", name) for name in AVERAGES_ONLY])
undecided = undecided.loc[judged_by.index]

# %% [markdown]
# Is an estimator enough for its question? The table says so, or names the marks by which it fails or is
# undecided. One that passes all marks but that of the worst cell is enough *on average*. Its entry says how
# often that cell is held. The upper rows are audits by transects, the lower ones audits of found portraits.
# *Not claimed* means that the method does not estimate this. The number is the bias if you use it anyway.


# %%
def enough_for(asked: str, name: str) -> str:
    """Whether an estimator is enough for a question, or by which marks it is not."""
    if (asked, name) not in failed.index:
        return "not estimated"
    if (asked, name) not in judged_by.index:
        return f"not claimed (bias up to {in_points.loc[(asked, name), 'bias']:.1f} points)"
    bad, open_ = ([*t.columns[t.loc[(asked, name)]]] for t in (judged_by, undecided))
    if bad + open_ == ["worst cell"]:
        mean, worst = in_points.loc[(asked, name), "coverage"], worst_cells.loc[name, "mean"]
        word = "not" if bad else "undecided"
        return f"on average ({mean:.0f}%), {word} in its worst cell ({worst:.0%})"
    if bad:
        return "no: " + ", ".join(bad)
    return "undecided: " + ", ".join(open_) if open_ else "enough"


# %%
QUESTIONS = {"average": "average effect", "part": "effect in cells, or among women"}
names_of_all = dict.fromkeys([*BY_TRANSECTS, *BY_OBSERVATION, *OF_EVERYBODY])
purpose = {
    words: {name: enough_for(asked, name) for name in names_of_all}
    for asked, words in QUESTIONS.items()
}
pd.DataFrame(purpose).style

# %% tags=["hide-input"]
claimed = ~(judged_by | undecided).any(axis=1)
lines = []
for asked, words in QUESTIONS.items():
    passed = [f"*{name}*" for name, good in claimed.loc[asked].items() if good]
    lines.append(f"- **{words}**: {'; '.join(passed) or 'none'}.")
    for word, table in (("fail", judged_by), ("undecided", undecided)):
        for mark, those in table.loc[asked].items():
            if those.any():
                named = "; ".join(f"*{name}*" for name in those.index[those])
                lines.append(f"  - {word} by {mark}: {named}.")
Markdown(
    "These pass by every mark of what they claim. The others fail or are undecided as listed:\n\n"
    + "\n".join(lines)
    + "\n\nA share of so few audits passes its mark only if it lies well beyond it, so an honest interval can stay undecided."
)

# %% [markdown]
# An analysis can be enough for one question and too little for the other. If you want one number for an
# attribute, over all faces of a complete design, you may use the regression where no mark rules it out; *undecided* is no fault, and no proof. Up to
# its penalty it gives what matched pairs give. If you want to know whether some are harmed and others
# favoured, you need effects by cell, because opposite signs cancel in an average. A small average does not
# show that a model is fair.

# %% [markdown]
# The mark for false alarms is looser than the nominal rate in the figure, so a dot may lie beyond the dashed
# line and its estimator still pass. The plantskin model has other large effects than the planted one. Below is the
# book's own estimator, matched pairs, on all of them. An effect counts as found when it is flagged with the
# right sign. It counts as seldom found below four audits of five, the {term}`power` that studies usually plan. The first
# column says whether the book's one audit found it.

# %%
OFTEN = 0.8
own = cells.query("model == 'plantskin' and estimator == 'matched pairs'")
true = own.groupby("cell")["truth"].mean()
large = true.index[true.abs() > LARGE]

# %%
noticed = own["flagged"] & (own["estimate"] * own["truth"] > 0)
share = noticed.groupby(own["cell"]).mean()[large].sort_values()

# %%
one = stage.load("10_matched_pairs", "matched.parquet")
one = one.query("model == 'plantskin' and arm == 'C crowd' and scope == 'cell'")
one = scorecard.name_cells_with_attribute(one).set_index("cell")
found_once = (one["p_holm"] < plan.level) & (one["estimate"] * true > 0)

# %%
large_effects = pd.DataFrame({"truth": 100 * true[large], "found in": 100 * share}, share.index)
large_effects["seldom found"] = np.where(share < OFTEN, "yes", "no")
large_effects["in the book's one audit"] = np.where(found_once[share.index], "found", "missed")
in_order = ["in the book's one audit", "seldom found", "truth", "found in"]
large_effects[in_order].style.format({"truth": "{:+z.1f}", "found in": "{:.0f}%"})

# %% [markdown]
# How well does the book's own estimator do in parts? The table has its coverage for the worst model, on average over cells
# and in the worst cell. Then come the large effects of skin in the plantskin model that it misses, and the audits in
# which it accuses the null control. Fitted directions and a crowd are another matter: the last row has the cells whose
# truth the book's one audit holds.

# %%
in_parts = verdicts["part"]
outside = stage.load("11_who_was_right", "results.json")["missed_cells"]["C crowd"].values()
of_pairs = {
    "coverage over cells": scores.xs("matched pairs", level="estimator")["coverage"].min(),
    "coverage of the worst cell": worst_cells.loc["matched pairs", "mean"],
    "large effects of skin missed": in_parts.loc[("plantskin", "matched pairs"), "missed"],
    "false alarms": in_parts.loc[("null", "matched pairs"), "false_alarm"],
    "cells held by the book's one audit": 1 - sum(outside) / (len(outside) * len(one)),
}
pd.Series(of_pairs).map("{:.1%}".format).to_frame("matched pairs")

# %% [markdown]
# Two sentences follow about the regression and about the raw difference. Each is bound to the Monte-Carlo intervals of its
# scores: this page prints it only where these are clear of the marks.


# %%
def with_ends(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """A measure of a table of scores, with its Monte-Carlo interval."""
    ends = table[[measure, f"{measure}_low", f"{measure}_high"]].astype(float)
    return ends.set_axis(["estimate", "low", "high"], axis=1)


# %%
biases = with_ends(average_scores.xs("paper's logit", level="estimator"), "bias")
in_cells = with_ends(scores, "coverage").loc[("plantskin", "paper's logit")]
unseen = in_parts.loc[("plantskin", "paper's logit"), "missed"]
of_raw = with_ends(found_scores, "coverage").loc[("fairface-like", "raw difference")]

# %% tags=["hide-input"]
claim(
    "The bias of the paper's regression on average effects is at most {bias:.2f} points **in this run**. Read "
    "for cells, its intervals hold the truth of the plantskin model in {in_cells:.0%}, and it misses "
    "{unseen:.0%} of the large effects of skin.",
    margins=[
        *(margin_below(row, MARKS["bias"]) for _, row in biases.iterrows()),
        margin_below(in_cells, 0.5),
    ],
    bias=averages_over_models.loc["paper's logit", "largest bias"],
    in_cells=in_cells["estimate"],
    unseen=unseen,
)

# %% tags=["hide-input"]
claim(
    "The interval of the raw difference on found portraits holds the effect of skin on these women in "
    "{raw:.0%} of the audits of the fairface-like model **in this run**.",
    margins=[margin_below(of_raw, MARKS["coverage"])],
    raw=of_raw["estimate"],
)

# %% [markdown]
# Two cautions. First, the design favours pairs. Their faces have exact directions and perfect labels, so only
# the draw of faces can lead them astray. Portraits are labelled by a crowd, and some of their confounders stay unmeasured. So part of the difference in coverage is built in. [](n02_when_transects_fail) takes these
# favours away. Second, both kinds of audits answer *their own* question: one about made faces, the other about
# a test set. Counting says how often people are misread. Read it as impact, and leave the cause to the
# experiment.

# %% tags=["remove-cell"]
largest = averages_over_models["largest bias"]
largest = largest[["paper's logit", "matched pairs"]].to_numpy()
pairs, papers = (
    scores.xs(name, level="estimator")["coverage"].min()
    for name in ("matched pairs", "paper's logit")
)
glue(
    "answer",
    Markdown(
        f"**Answer.** For averages over complete transects the paper's regression and matched pairs agree: the "
        f"largest bias is {largest[0]:.2f} and {largest[1]:.2f} points. In cells the "
        f"intervals of matched pairs hold the truth in {pairs:.0%} on average over the cells of the model where they do so least, "
        f"and in {worst_cells.loc['matched pairs', 'mean']:.0%} in the worst single cell. Those of the paper's regression hold it in "
        f"{papers:.0%}, on average over the cells of its worst model. On found portraits the raw difference holds the "
        f"effect of skin on women in {of_raw['estimate']:.0%} of the audits of the fairface-like model. These are numbers of this "
        "run, and all effects are effects on made faces or on the drawn portraits."
    ),
    display=False,
)

# %% [markdown]
# ## What would change our mind
#
# - If matched pairs missed large biases of the plantskin control in ideal audits, or flagged the null control
#   more often than they promise, we would stop recommending them.
# - If an observational estimator with a real auditor's knowledge were unbiased for all four models, rendering
#   transects would be a luxury.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Coverage without skill, 10 minutes, easy
# :label: exercise-coverage-trick
# An estimator always reports the interval from minus one to one. Which columns of the scorecard does it win?
# Which column exposes it? Add a column that is fair to wide but honest intervals.
#
# **Check:** your new column must rank matched pairs before the trick.
# ```

# %% [markdown]
# ```{solution-start} exercise-coverage-trick
# :class: dropdown
# ```

# %% tags=["solution"]
trick = cells.query("estimator == 'matched pairs'").assign(
    estimator="trick", low=-1.0, high=1.0, flagged=False
)
both = pd.concat([cells.query("estimator == 'matched pairs'"), trick])
both["held"] = both["truth"].between(both["low"], both["high"])
below, above = (both["low"] - both["truth"]).clip(0), (both["truth"] - both["high"]).clip(0)
both["interval score"] = both["high"] - both["low"] + 2 / 0.05 * (below + above)
table = both.groupby("estimator")[["held", "flagged", "interval score"]].mean()
assert table.loc["trick", "held"] == 1 and table.loc["trick", "flagged"] == 0
assert table.loc["matched pairs", "interval score"] < table.loc["trick", "interval score"]
table.round(3)

# %% [markdown]
# The trick always covers, and it never raises a false alarm. It also misses every bias, so that column exposes
# it. The *interval score* charges for the width and, forty times, for the distance by which the truth is
# missed. A smaller score is better.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} A larger parliament, 15 minutes, medium
# :label: exercise-larger-parliament
# Draw audits with ten times as many portraits. Do bias, RMSE and coverage improve or get worse?
#
# **Check:** the bias of the raw difference should hardly move.
# ```

# %% [markdown]
# ```{solution-start} exercise-larger-parliament
# :class: dropdown
# ```

# %% tags=["solution"]
large_audits = partial(observe.func, **observe.keywords | {"n": 10 * PPB_SIZE})
one = {"raw difference": adjusted()}
bigger = large_audits(found, MODELS, one, repetitions=max(n_audits // 5, 2))
bigger["truth"] = bigger["model"].map(skin_effect)
bigger["held"] = bigger["truth"].between(bigger["low"], bigger["high"])
usual = observed[observed["estimator"] == "raw difference"].copy()
usual["held"] = usual["truth"].between(usual["low"], usual["high"])
usual, bigger = (
    t.assign(error=t["estimate"] - t["truth"]).groupby("model") for t in (usual, bigger)
)
compared = {"mean error": "error", "held": "held"}
parts = {
    (k, n): t[c].mean()
    for k, c in compared.items()
    for n, t in (("usual", usual), ("tenfold", bigger))
}
(100 * pd.DataFrame(parts)).round(1)

# %% tags=["solution"]
widths = [t["high"].mean() - t["low"].mean() for t in (usual, bigger)]
assert (widths[1] < widths[0]).all()

# %% [markdown]
# Bias stays, and RMSE falls towards the bias. The interval becomes narrower around the same wrong value, so
# coverage falls wherever there is bias. The null control, for which every estimator is unbiased, keeps its
# coverage.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - Judge an estimator by its bias, scatter and coverage under a known truth.
# - A regression with main effects gives the average effect of a complete design, up to its penalty. Where
#   effects oppose each other it misleads about cells.
# - Partial pooling sharpens small audits of cells that agree, and can fail the one that differs. It has no
#   interval of a single cell.
# - Found data answer a causal question only with every confounder measured well, and with the right people on
#   both sides of each comparison.
#
# **Next:** [](n02_when_transects_fail) takes the ideal conditions away, one by one.

# %% tags=["remove-cell"]
_ = stage.save("scores.parquet", everything.reset_index())
_ = stage.save("experiments.parquet", experiments)
_ = stage.save("outcomes.parquet", outcome_scores.reset_index())
_ = stage.save("observed.parquet", pd.concat([observed, of_everybody]))
_ = stage.finish(
    {
        "audits": n_audits,
        "skin_effect_of_found_women": skin_effect,
        "average_skin_effect_of_found": average_effect,
        "cards": card.reset_index()
        .astype(object)
        .where(lambda t: t.notna(), None)
        .to_dict("records"),
        "purpose": purpose,
        "at_every_look": of_looks.xs("confidence sequence", level="estimator").to_dict("index"),
        "worst_cells": {
            name: {"model": row["model"], "cell": row["cell"], "coverage": row["mean"]}
            for name, row in worst_cells.iterrows()
        },
        "outcomes": of_outcomes.astype(object).where(of_outcomes.notna(), None).to_dict("index"),
        "types": (100 * type_scores).reset_index().to_dict("records"),
        "swapped": confounded.groupby(["model", "estimator"])["estimate"]
        .mean()
        .reset_index()
        .to_dict("records"),
    }
)
