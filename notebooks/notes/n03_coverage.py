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
# # Coverage
#
# *You need [N1](n01_truth_scorecard) (the scorecard). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# A 95% interval promises to hold the truth in nineteen of twenty studies. Does it? We repeat studies and
# count: with images or transects as units, with few faces and rare errors, with other raters, and where every
# effect is zero.
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
# | **Unit** | one whole audit, drawn again and again |
# | **Intervention** | the unit that is resampled, the size of an audit, the rate of errors, the raters |
# | **Held fixed** | the population, and the estimator that an interval belongs to |
# | **Outcome** | whether an interval holds its estimand, and whether an audit raises an alarm |
# | **Estimand** | {term}`coverage` of nominal 95% intervals |
# | **Known failure** | the simulated errors of an audit depend on each other in one way only, a tie within transects |
# :::

# %% tags=["hide-cell"]
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from myst_nb import glue
from scipy.stats import norm

import facerender
from faceaudit.annotations.schema import n_levels
from faceaudit.effects import verdicts
from faceaudit.utils import seeding
from faceaudit.utils.arguments import SCORE_DIGITS
from faceworld import crowd, scorecard
from faceworld.scorecard import truth
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim
from helpers.figures import panels

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_transects = 400
n_audits = 100
n_sweep = 60

# %% tags=["remove-cell"]
stage = Stage("n03_coverage", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# ```{glue:figure} units
# :name: fig-units
# :alt: Six rows, for images and for transects as units at three strengths of their tie. Filled marks are manipulated attributes, open ones attributes of the face, with intervals. A grey band marks acceptable coverage.
#
# How often nominal 95% intervals hold the truth in simulated audits, if images or transects are resampled, for
# attributes that differ within transects (filled) and attributes of the face (open). Each mark is one attribute. Grey is the accepted band that the answer names.
# Which unit would you resample? Drawn under “[Images or transects?](#images-or-transects)”
# ```

# %% [markdown]
# (images-or-transects)=
# ## Images or transects?
#
# Images of one transect share a face, so their errors are alike. The coverage study simulates audits at three
# strengths of this tie. It looks at attributes that are manipulated within transects and at attributes of the
# face, with a third of the images pruned at random. Two more rows are about the numbers that [](17_transport)
# carries to people with another mix of hair: an error rate, and its difference between dark- and light-skinned
# women. `benchmarks/coverage_study.py` makes this study once, and we read its tables. {term}`Bootstrap <bootstrap>` is resampling. A
# {term}`cluster sandwich` is a standard error that takes a transect as one unit.

# %% [markdown]
# Which coverage is good enough? Few methods hit the nominal rate exactly, so we accept a band
# of a few points around it, which the next cells set. Below the band an auditor is misled clearly more often than announced. Above it, intervals are
# wider than they need to be. Coverage is itself a count of audits. It leaves the band beyond Monte-Carlo error
# only if its own interval lies outside: the first column of the table counts these entries.

# %%
study = scorecard.coverage_study("coverage", profile)
study = study[study["scale"] != "log odds"].replace({"kind": {"seed-level": "of the face"}})
study.loc[study["scale"].str.startswith("transported"), "kind"] = "transported"

# %%
BAND = (0.92, 0.97)
outside = ~study["coverage"].between(*BAND)
clearly = (study["high"] < BAND[0]) | (study["low"] > BAND[1])

# %%
images = study[study["estimator"] == "image bootstrap"]["coverage"]
clustered = study[study["estimator"] == "transect bootstrap"]["coverage"]
title = f"Lowest coverage: images {images.min():.0%}, transects {clustered.min():.0%}"

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Six rows, for images and for transects as units at three strengths of their tie. Filled marks are manipulated attributes, open ones attributes of the face, with intervals. A grey band marks acceptable coverage."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by coverage in benchmarks/coverage_study.py; faceworld.scorecard.audits.coverage_study
# reads its record.
KINDS = list(zip(study["kind"].unique(), figures.SPARE, (-1, 1, -1), strict=False))


def draw_coverage(ax: plt.Axes, rows: pd.DataFrame, by: str) -> None:
    """Coverage with its intervals in named rows, over the accepted band."""
    ax.axvspan(100 * BAND[0], 100 * BAND[1], color="#DDDDDD", zorder=0)
    ax.axvline(95, **panels.DASHED, zorder=1)
    named = list(rows[by].unique())
    for kind, look, side in (one for one in KINDS if one[0] in set(rows["kind"])):
        mine = rows[rows["kind"] == kind].rename(columns={"coverage": "estimate"})
        places = mine[by].map(named.index) + side * (0.12 + 0.1 * mine.groupby(by).cumcount())
        filled = look.colour if kind == "manipulated" else "none"
        panels.lying(ax, places, mine, look, kind, markerfacecolor=filled)
    panels.name_rows(ax, named)


two = study[study["estimator"].isin(["image bootstrap", "transect bootstrap"])]
unit = two["estimator"].str.replace(" bootstrap", "s")
ties = zip(unit, two["correlation"], strict=True)
two = two.assign(row=[f"{one},\ncorrelation {tie:g}" for one, tie in ties])
figure, ax = plt.subplots(figsize=(4.8, 4))
draw_coverage(ax, two.sort_values("estimator", kind="stable"), "row")
ax.set_xlabel("coverage (%)")
panels.legend_above(figure).legends[0].set_title(title, {"size": 12})
glue("units", figure, display=False)
plt.close(figure)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one per within-transect correlation. Rows are estimators; filled marks are manipulated attributes, open ones attributes of the face or transported numbers, with intervals. A grey band marks acceptable coverage around a dashed line."}, "figure": {"name": "fig-score-coverage", "caption": "Coverage of nominal 95% intervals in simulated audits, by within-transect correlation of errors, for manipulated attributes (filled), attributes of the face and transported numbers (open), with Wilson intervals. Each mark is one attribute, or one transported number. Grey is the accepted band that the answer names."}}
# Computed by coverage in benchmarks/coverage_study.py; faceworld.scorecard.audits.coverage_study
# reads its record.
shape = {"figsize": (4.8, 9), "sharex": True, "sharey": True}
figure, axes = plt.subplots(study["correlation"].nunique(), 1, **shape)
for ax, (correlation, rows) in zip(axes, study.groupby("correlation", sort=False), strict=True):
    draw_coverage(ax, rows, "estimator")
    ax.set_title(f"correlation {correlation:g}", fontsize=11)
axes[-1].set_xlabel("coverage (%)")
panels.legend_above(figure, columns=2).legends[0].set_title(title, {"size": 12})

# %%
entries = study.assign(outside=outside, clearly=clearly).groupby("estimator", sort=False)
shown = entries["coverage"].agg(["size", "min", "max"]).join(entries[["outside", "clearly"]].sum())
shown.columns = ["entries", "lowest", "highest", "outside the band", "clearly outside"]
shown["audits of an entry"] = entries["repetitions"].min()
in_order = ["clearly outside", "outside the band", "entries", "lowest", "highest"]
in_order.append("audits of an entry")
shown[in_order].style.format("{:.1%}", subset=["lowest", "highest"])

# %% [markdown]
# An interval can be wrong in both directions. Resampling images ignores the match, so intervals of manipulated
# attributes tend to be too wide. It also takes several pictures of one face for several faces, so intervals of
# the face's own attributes are too narrow. Resampling or clustering by transect mends both at once. It costs
# one column, which says which images belong together.

# %% [markdown]
# ## Small audits, rare errors
#
# In these audits one image in ten is an error, and there are many transects. Intervals have a harder task where
# both are few. A grid of three sizes and three rates of errors counts the coverage of every kind of interval
# that the book prints. For differences these are Tango's {term}`score interval` of matched pairs (in cells and on average),
# {term}`g-computation`, {term}`partial pooling` and two transported score intervals. For ratios they are Fieller's interval of
# the share of a counted gap, and log odds with the {term}`cluster sandwich`.

# %%
grid = scorecard.coverage_study("grid", profile)
below, above = grid["high"] < BAND[0], grid["low"] > BAND[1]

# %%
grid["marked"] = (100 * grid["coverage"]).map("{:.1f}".format) + np.select(
    [below, above], [" ▼", " ▲"], ""
)
wide = grid.pivot_table("marked", "estimator", ["error_rate", "transects"], "first", sort=False)
wide = wide.rename(columns="{:.0%} errors".format, level="error_rate").replace("nan", "—")
wide.rename_axis(columns=["errors", "transects"])

# %% [markdown]
# Columns are the rate of errors and the number of transects, entries are per cent. A triangle that points down
# marks coverage below the band beyond Monte-Carlo error, one that points up coverage above it. A dash means
# that every audit lacked an interval. With few errors a level of an attribute may have zero of them. Its log
# odds would be infinite, and the audit is left out. The next table counts the triangles. It also has the shares of an
# entry's intervals that exist, and that have no end.


# %%
summary = {
    "entries": grid["coverage"].notna().sum(),
    "audits of an entry": f"{grid['audits'].min():.0f} to {grid['audits'].max():.0f}",
    "clearly below the band": below.sum(),
    "clearly above the band": above.sum(),
    "intervals that exist, at least": f"{grid['estimable'].min():.0%}",
    "intervals without an end, at most": f"{grid['unbounded'].max():.0%}",
}
pd.Series(summary).to_frame("grid")

# %% [markdown]
# Score intervals are too wide rather than too narrow when errors are rare. They allow for errors that an audit
# of this size could have missed by chance. This misleads few readers, but a small audit of a good model says
# less than it might. Pooled intervals can be wide here too: the four cells of this population are nearly
# alike, and four cells are too few to show it. The share of a gap has no end where the gap itself may be zero,
# and then it holds every truth.

# %% [markdown]
# ## Alarms where every effect is zero
#
# The study also audits a model whose errors depend on no attribute. The table has the share of such audits that
# raise any alarm after Holm's adjustment, by the tie within transects. The first row takes images for
# independent, as an analysis without clusters does. The *cluster sandwich* tests the coefficients of a logit.
# Its standard errors and degrees of freedom are those of Bell and McCaffrey
# {cite:p}`few-clusters,few-clusters-logit,few-clusters-fixed`, which hold with few transects too. The usual ones
# are too small where few faces have an attribute.

# %%
quiet = scorecard.coverage_study("null", profile)
alarms = quiet.pivot_table("false_alarms", "estimator", "correlation", sort=False)
alarms.style.format("{:.1%}").format_index("{:g}", axis=1)

# %% [markdown]
# ## Other raters, other labels
#
# An interval is computed as if labels were facts. Other raters would give some other labels. Is this
# uncertainty missing? There are two kinds of study. On a platform, nearly every image has raters of its own. In
# a class, a {term}`panel` of the same people labels all images, and its habits go into every label. We draw
# audits of both kinds from the book's transects, with five raters drawn anew each time, at twice the calibrated
# noise.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
AXES = ["skin_colour", "hair_length", "gender"]
audit = stage.load("08_stratified_errors", "audit.parquet")
parameters = torch.from_numpy(stage.load("05_transect_generation", "fitted_parameters.npy").copy())
shown = facerender.visible_scores(parameters).set_index(audit.index)

# %%
N_PANEL, RESAMPLES, TOP = 5, 50, n_levels("gender") - 1
STUDIES = {"raters of its own": False, "one panel for all": True}
people = crowd.rater_pool(seed)
people = replace(people, noise=2 * people.noise, bias=2 * people.bias)
# Everybody is asked about every image, and no answer is rejected, cancelled or repeated.
people = replace(people, rejected=0 * people.rejected, cancelled=0.0, repeated=0.0)

# %%
draws = {"seed": seed, "stage": "11_truth_scorecard: all raters", "pool": people}
answers = crowd.annotate(shown[["gender"]], len(people.worker_ids), **draws)

# %%
levels = answers.pivot_table("gender", "image_id", "rater").loc[shown.index].to_numpy()
says = {name: (audit[f"score_{name}"] > 0.5).to_numpy(int).reshape(-1, 2, 2, 2) for name in TRAINED}


# %%
def average_effects(errors: np.ndarray) -> np.ndarray:
    """Mean at the high level of each axis minus at its low one, of errors (..., 2, 2, 2)."""
    signs = (2 * np.indices((2, 2, 2)) - 1).reshape(3, 8) / 4
    return errors.reshape(*errors.shape[:-3], 8) @ signs.T


# %%
def called_male(scores: np.ndarray) -> np.ndarray:
    """`errors.majority` of an array."""
    return np.round(scores, SCORE_DIGITS) >= 0.5


# %%
def rated_effects(said: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Effects within transects (versions, transects, 3), of labels by scores (images, versions)."""
    wrong = (said != called_male(scores)).T.astype(float)
    return average_effects(wrong.reshape(len(wrong), -1, 2, 2, 2))


# %%
def resampled_scores(tidy: pd.DataFrame, n_boot: int, *, of: str, key="raters") -> pd.DataFrame:
    """Scores of gender, (images, n_boot), as other raters would have given them.

    Whole raters come with all of their answers: what a rater does to every image stays together.
    Answers drawn within images vary from image to image only (Cameron, Gelbach and Miller 2011).
    """
    answers = tidy[(tidy["attribute"] == "gender").to_numpy()]
    image, images = pd.factorize(answers["image_id"].to_numpy(), sort=True)
    order = np.argsort(image, kind="stable")
    image, unit = image[order], answers["level"].to_numpy()[order] / TOP
    rater = pd.factorize(answers["annotator_id"].to_numpy()[order])[0]
    size, people, scores = np.bincount(image), rater.max() + 1, []
    first, own = (size.cumsum() - size)[image], np.bincount(image, unit) / size
    for random in seeding.rngs(seed, key, range(n_boot)):
        if of == "raters":
            drawn = np.bincount(random.integers(people, size=people), minlength=people)[rater]
            total, weight = np.bincount(image, drawn * unit), np.bincount(image, drawn)
        else:
            total = np.bincount(image, unit[first + random.integers(size[image])])
            weight = size
        # An image none of whose raters was drawn keeps its own score.
        scores.append(np.divide(total, weight, out=own.copy(), where=weight > 0))
    return pd.DataFrame(np.transpose(scores), images)


# %%
def given_by(panel: bool, random: np.random.Generator) -> tuple[np.ndarray, pd.DataFrame]:
    """Transects of an audit, and the answers of its raters: of a panel, or of each image's own."""
    faces = random.integers(n_transects, size=n_sweep)
    said = levels.reshape(n_transects, -1)[faces].reshape(8 * n_sweep, -1)
    if panel:
        who = np.tile(random.permutation(said.shape[1])[:N_PANEL], (len(said), 1))
    else:
        who = random.random(said.shape).argsort(axis=1)[:, :N_PANEL]
    columns = {"image_id": np.repeat(np.arange(len(said)), N_PANEL), "annotator_id": who.ravel()}
    columns["level"] = np.take_along_axis(said, who, axis=1).ravel()
    return faces, pd.DataFrame(columns).assign(attribute="gender")


# %%
def rated_by(said: np.ndarray, scores: dict[str, np.ndarray]) -> pd.DataFrame:
    """A model's average effects, and what their standard errors are made of."""
    found = {of: rated_effects(said.reshape(-1, 1), score) for of, score in scores.items()}
    usual = found["estimate"][0]
    columns = {"estimate": usual.mean(axis=0)}
    columns["transects"] = usual.std(axis=0, ddof=1) / np.sqrt(n_sweep)
    columns |= {o: found[o].mean(axis=1).std(axis=0, ddof=1) for o in ("raters", "answers")}
    return pd.DataFrame(columns).assign(axis=range(3))


# %%
def rated_audits(panel: bool) -> pd.DataFrame:
    """The same of repeated audits, each with transects and raters of its own."""
    rows, kind = [], "one panel" if panel else "raters of its own"
    key = f"scorecard: rated by {kind}"
    for number, random in enumerate(seeding.rngs(seed, key, range(n_audits // 2))):
        faces, given = given_by(panel, random)
        means = given["level"].to_numpy().reshape(-1, N_PANEL).mean(axis=-1)
        scores = {"estimate": (means / TOP)[:, None]}
        for of in ("raters", "answers"):
            resampled = resampled_scores(given, RESAMPLES, of=of, key=f"{key}, audit {number}")
            scores[of] = resampled.to_numpy()
        tables = [rated_by(male[faces], scores).assign(model=m) for m, male in says.items()]
        rows.append(pd.concat(tables).assign(audit=number))
    return pd.concat(rows, ignore_index=True)


# %%
tables = {study: rated_audits(panel) for study, panel in STUDIES.items()}
rated = pd.concat(tables, names=["study", None]).reset_index("study")

# %% [markdown]
# Which number should the intervals hold? The effect with perfect labels is the wrong one: wrong labels dilute
# it, as [N2](n02_when_transects_fail) shows, and no width undoes that. The right one is the effect with the
# labels that this crowd gives on average, over all choices of five raters.

# %%
# Forty times the raters are put in another order, and cut into groups of five.
groups, chances = levels.shape[1] // N_PANEL, []
for random in seeding.rngs(seed, "scorecard: rated, expected", range(40)):
    order = random.permuted(np.tile(np.arange(levels.shape[1]), (len(levels), 1)), axis=1)
    drawn = np.take_along_axis(levels, order[:, : groups * N_PANEL], axis=1)
    means = drawn.reshape(len(levels), groups, N_PANEL).mean(axis=-1)
    chances.append(called_male(means / TOP).mean(axis=1))
expected = (sum(chances) / len(chances)).reshape(-1, 2, 2, 2)

# %%
diluted = {
    name: average_effects(np.abs(male - expected)).mean(axis=0) for name, male in says.items()
}
pairs = zip(rated["model"], rated["axis"], strict=True)
rated["truth"] = [diluted[model][axis] for model, axis in pairs]

# %% [markdown]
# Three variances are tried. The first is the usual one, from the spread between *transects*. The second adds
# the variance that comes from resampling the *answers* of each image. The third resamples whole *raters*, each
# with all their answers, adds that variance, and takes away that of the answers {cite:p}`multiway`. Without the
# subtraction a slip would count twice: it makes an image's transect unlike the others, so the spread between
# transects has it already. With few raters both resampled variances are somewhat small.

# %%
of_transects, of_answers, of_raters = (rated[c] ** 2 for c in ("transects", "answers", "raters"))
VARIANCES = {
    "transects": of_transects,
    "transects + answers": of_transects + of_answers,
    "transects + raters − answers": of_transects + (of_raters - of_answers).clip(lower=0),
}
away = (rated["estimate"] - rated["truth"]).abs()
held = {name: away <= verdicts.Z * np.sqrt(variance) for name, variance in VARIANCES.items()}

# %%
rated = rated.assign(**held, attribute=rated["axis"].map(dict(enumerate(AXES))))
over_studies = rated.pivot_table(list(held), ["study", "attribute"], sort=False)[list(held)]
over_studies.rename(truth.CONTRASTS, level="attribute").style.format("{:.1%}")

# %%
own, shared = (rated[rated["study"] == study][list(held)].mean() for study in STUDIES)
of_gender = over_studies.loc[("one panel for all", "gender"), "transects"]
usual, twice, whole = held
with_panel = rated[rated["study"] == "one panel for all"].groupby("audit")[list(held)].mean()
mended = with_panel[whole] - with_panel[usual]  # share of intervals, in each audit

# %% tags=["hide-input"]
claim(
    "With one panel of five, resampled raters make intervals wider. **In this run** the usual interval "
    "holds the effect there in {shared:.0%} of cases, and the effect of gender in {gender:.0%}. With whole "
    "raters resampled it is {mended:.0%}. Where every image has raters of its own, the usual interval "
    "holds the effect in {own:.0%} of cases, and with resampled answers added in {twice:.0%}. So few "
    "audits leave a few points to chance.",
    margins=[Margin(mended.mean(), mended.sem())],
    own=own[usual],
    twice=own[twice],
    shared=shared[usual],
    gender=of_gender,
    mended=shared[whole],
)

# %% [markdown]
# If images are shared out among many people, the spread between transects has their slips already. If a few
# people label everything, their habits move all labels of women, or of men, together. More transects leave
# that as it is. More people reduce it. Resampling raters widens the interval for it, roughly, because there are
# only five. [](a-study-with-label-studio) says how to share images out in a class.

# %% [markdown]
# How much does this add in the book's own audit? Each of its images was rated by five of sixty raters, with the
# calibrated noise. The table has the average effects and half the width of their intervals, as usual and with
# whole raters resampled, all in points.

# %%
tidy = stage.load("06_annotation_ingestion", "annotations.parquet")
other_labels = {
    of: resampled_scores(tidy, 4 * RESAMPLES, of=of) >= 0.5 for of in ("raters", "answers")
}


# %%
def half_widths(name: str) -> pd.DataFrame:
    """A model's average effects, and half of two intervals, in points."""
    male = says[name].reshape(-1, 1)
    wrong = {of: (male != label.loc[audit.index]).T for of, label in other_labels.items()}
    wrong["labels"] = male.T != audit[["label"]].to_numpy().T
    found = {
        of: average_effects(np.reshape(table, (-1, n_transects, 2, 2, 2)) * 1.0)
        for of, table in wrong.items()
    }
    own = found["labels"][0]
    added = {of: found[of].mean(axis=1).var(axis=0, ddof=1) for of in other_labels}
    usual = own.var(axis=0, ddof=1) / n_transects
    whole = usual + np.clip(added["raters"] - added["answers"], 0, None)
    columns = own.mean(axis=0), verdicts.Z * np.sqrt(usual), verdicts.Z * np.sqrt(whole)
    table = pd.DataFrame(dict(zip(("effect", "±", "± with raters"), columns, strict=True)), AXES)
    # What so few resamples leave to chance, of the ratio of both widths.
    noise = np.hypot(added["raters"], added["answers"]) * np.sqrt(2 / (4 * RESAMPLES - 1))
    return (100 * table).assign(error=noise / (2 * np.sqrt(usual * whole)))


# %%
of_book = pd.concat({name: half_widths(name) for name in TRAINED}, names=["model", "attribute"])
wider = of_book["± with raters"] / of_book["±"] - 1
shown = of_book.drop(columns="error").rename(truth.CONTRASTS, level="attribute")
shown.style.format("{:z.2f}")


# %% tags=["hide-cell"]
def held_by(lack: float) -> float:
    """Coverage of a normal interval that should be wider by this share."""
    return 2 * norm.cdf(verdicts.Z / (1 + lack)) - 1


# %% tags=["hide-input"]
claim(
    "**In this run** resampled raters widen each interval of the book's audit by at most {most:.1%}, and by {middle:.1%} "
    "in the middle. An interval that is too narrow by so much holds its effect in {least:.1%} and {usual:.1%} of audits, in "
    "place of 95%. The chapters keep the usual one; read effects of {attribute} with this in mind.",
    margins=list(map(Margin, 0.2 - wider, of_book["error"])),
    most=wider.max(),
    middle=wider.median(),
    least=held_by(wider.max()),
    usual=held_by(wider.median()),
    attribute=wider.idxmax()[1].replace("_", " "),
)

# %% tags=["remove-cell"]
glue(
    "answer",
    Markdown(
        f"**Answer.** If transects are resampled, coverage in the simulated audits is {clustered.min():.0%} to "
        f"{clustered.max():.0%}. If images are resampled, it is {images.min():.0%} to {images.max():.0%}. In a "
        f"grid of small audits and rare errors {above.sum()} of {grid['coverage'].notna().sum()} entries "
        f"are clearly above the accepted band of {BAND[0]:.0%} to {BAND[1]:.0%}, and {below.sum()} clearly below. If one panel of five labels all images, "
        f"the usual interval holds the effect in {shared[usual]:.0%} of the audits of this run."
    ),
    display=False,
)

# %% [markdown]
# ## What would change our mind
#
# - If clusters of transects covered too little where errors are tied more strongly, we would need another unit.
# - If raters added much to the intervals of the book's audit, the chapters would have to print wider ones.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Count the Monte-Carlo error, 10 minutes, easy
# :label: ex-monte-carlo-coverage
# The grid's smallest coverage is a count of audits. Simulate honest 95% intervals: draw as many shares as the
# grid has entries in which every interval exists, each from as many audits as the study has. How low is the smallest of them by chance?
#
# **Check:** the mean of your shares is close to the nominal rate.
# ```

# %% [markdown]
# ```{solution-start} ex-monte-carlo-coverage
# :class: dropdown
# ```

# %% tags=["solution"]
full = grid[grid["estimable"] == 1]["coverage"]
audits_of_grid = int(grid["audits"].max())
random = seeding.rng(seed, "exercise: honest intervals")
honest = random.binomial(audits_of_grid, 0.95, size=(1000, len(full))) / audits_of_grid
assert abs(honest.mean() - 0.95) < 0.005
smallest = {"honest, middle of repetitions": np.median(honest.min(axis=1)), "grid": full.min()}
pd.Series(smallest).map("{:.1%}".format).to_frame(f"smallest of {len(full)} shares")

# %% [markdown]
# The least of many shares is low by chance alone. So compare it with the least of honest shares, or widen its
# interval for the number of shares, as [N1](n01_truth_scorecard) does for the worst cell.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - The unit of an interval is the transect. Images of one face count as one draw.
# - With rare errors, score intervals are wide. A wide interval is honest, and says little.
# - Raters are a second source of chance. Share images out among many people.

# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "coverage_with_raters": over_studies.reset_index().to_dict("records"),
        "half_widths_with_raters": of_book.reset_index().to_dict("records"),
    }
)
