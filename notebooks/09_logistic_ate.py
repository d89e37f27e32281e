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
# # The paper's regression and its errata
#
# This chapter reads the transects as {cite:t}`transects` does: with one logistic regression of the
# errors on all annotated attributes, whose coefficients are the paper's main result. It repeats the
# figure, and then shows four reasons why the figure does not answer the question: halved
# coefficients, a solver that stops early, bars for independent images, and main effects that cancel.
# [](10_matched_pairs) asks the same transects without a regression, and holds the answers
# against the truth.

# %% [markdown]
# ## Question
#
# What does a coefficient of the paper's regression say about skin colour, hair length and perceived
# gender as causes of a classifier's errors? A coefficient near zero may mean that the attribute does
# nothing. It may also mean that the regression cannot see what it does. Which of the two holds for
# the four classifiers of gender in this book?

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Unit | a transect: one base face rendered in all eight combinations of skin, hair and gender |
# | Intervention | skin colour, hair length or gender from its low to its high level |
# | Held fixed | nothing by design; the other annotated attributes are covariates of the regression |
# | Outcome | error against the raters' majority, 0 or 1, on the images that pruning kept |
# | Estimand | [adjusted log odds](estimands): the log odds ratio of an error between two levels of an attribute, for everybody and by gender |
# | Known failure | effects of opposite sign cancel in one coefficient; images of one transect are not independent |

# %% [markdown]
# ## Prerequisites
#
# You need [](08_stratified_errors), whose table this chapter reads, and the transects of
# [](05_transect_generation). From statistics: logistic regression, odds ratios, and what a
# bootstrap does. Reading takes about three quarters of an hour, and the chapter runs in a few
# seconds. *Female* and *male* stand for perceived gender throughout.

# %%
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from helpers import effects, figures, models
from helpers.artifacts import Stage
from helpers.claims import claim
from helpers.effects import labels
from helpers.effects.paper import PAPER_AGES
from helpers.utils import seeding

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_boot = 1000

# %%
stage = Stage("09_logistic_ate", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:z.3f}".format

# %%
MODELS = ("celeba-like", "fairface-like", "plantskin", "null")
AXES = ["skin_colour", "hair_length", "gender"]
audit = stage.load("08_stratified_errors", "audit.parquet")
audit["item"] = np.arange(len(audit))
pruned = audit[audit["kept"] & audit["adult"]]
pd.Series({"images": len(audit), "kept adults": len(pruned)}).to_frame("n")

# %% [markdown]
# ## The paper's regression
#
# Section 5.5 of the paper predicts each image's error from all annotated attributes at once. Scores
# are cut into levels, and each level becomes a column of zeros and ones: two columns for each of
# hair, skin, gender, beard and makeup, three for expression, four for age, seventeen in all.

# %% [markdown]
# Where the cuts lie is a decision, and the paper does not state all of them. Hair, skin and gender
# are cut in the middle of the ranges that its pruning removes. For the others it gives no number;
# here they are cut halfway between two answers that raters could give: a minimal beard and a
# mustache, minimal and full makeup, a neutral face and a slight frown or smile. A score on a cut
# belongs to the higher level. Ages go to the nearest answer.

# %%
strata = pd.DataFrame(effects.PAPER_LEVELS, index=["cuts", "levels"]).T
strata.loc["age"] = [["nearest answer"], PAPER_AGES]
strata.map(lambda entries: " | ".join(map(str, entries))).rename_axis("attribute")

# %% [markdown]
# Children and teenagers were removed by pruning, so age has four levels left. The table shows how
# many images carry each level. The fewer they are, the less the regression can say about the level.

# %%
X = effects.paper_columns(pruned)
X.sum().astype(int).to_frame("images")

# %% tags=["remove-cell"]
assert X.shape[1] == 17

# %% [markdown]
# One L2-penalised logit per model, with penalty parameter one as in the paper, and two bootstraps.
# The first resamples images, as the paper probably does. The second resamples whole transects and is
# explained below. Both come from one batched fit, which equals a loop over scikit-learn fits to
# many digits and takes a second instead of minutes.

# %%
by_image, by_transect = {}, {}
for model in MODELS:
    error = pruned[f"error_{model}"]
    by_image[model] = effects.regression_draws(X, error, n_boot, seed)
    by_transect[model] = effects.regression_draws(X, error, n_boot, seed, pruned["transect"])

# %% [markdown]
# The summary keeps both standard deviations, and the middle of the transect bootstrap as the
# interval. A coefficient is empty where no kept image carries the level, since nothing can be said
# about it; a penalised fit would report a zero there, and a reader would take it for a finding.

# %%
logit = {name: effects.summarize_draws(draws) for name, draws in by_transect.items()}
logit = pd.concat(logit, names=["model"]).rename(columns={"sd": "sd_transect"})
image_sd = {name: effects.summarize_draws(draws)["sd"] for name, draws in by_image.items()}
logit["sd_image"] = pd.concat(image_sd, names=["model"])
_ = stage.save("paper_logit.parquet", logit.reset_index())

# %% [markdown]
# Figure 15 of the paper shows the coefficients with bars of one standard deviation. Positive
# coefficients go with more errors. The paper reads off that facial hair, gender, makeup, hair and
# age matter, and that skin colour is negligible. Here is the same figure for the two ordinary
# models. The levels are sorted by the size of their coefficients, averaged over both.

# %% mystnb={"image": {"alt": "Two panels of dots, one per model, for the seventeen levels of the paper's regression. Each dot is a coefficient with a bar of one standard deviation; a vertical line marks zero. Levels of two-level attributes lie mirrored around zero."}, "figure": {"name": "fig-paper-logit", "caption": "Coefficients of the paper's regression of errors on attribute levels, with bars of plus and minus one bootstrap standard deviation (images resampled). After Figure 15 of the paper."}}
ORDINARY, CONTROLS = MODELS[:2], MODELS[2:]
size = logit["estimate"].abs()[list(ORDINARY)].groupby(["attribute", "level"]).mean()
order = size.sort_values(ascending=False).index


def draw_coefficients(pair: tuple[str, ...]) -> None:
    """The paper's Figure 15 for two models, side by side."""
    _, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 6.6), sharex=True, sharey=True)
    for ax, model in zip(axes, pair, strict=True):
        bars = logit.loc[model].loc[order].droplevel("attribute")
        bars["low"] = bars["estimate"] - bars["sd_image"]
        bars["high"] = bars["estimate"] + bars["sd_image"]
        figures.forest(bars, xlabel="coefficient (log odds)", ax=ax)
        ax.set_title(model)


draw_coefficients(ORDINARY)

# %% [markdown]
# The two controls deserve the same look. The plantskin model was trained so that dark skin makes it
# answer "male"; its errors depend on skin by construction. The null control's errors depend on
# nothing. Whoever reads Figure 15 would have to tell these two apart by their skin coefficients.

# %% mystnb={"image": {"alt": "Two panels of dots for the plantskin and the null control: the seventeen coefficients of the paper's regression with bars of one standard deviation around a vertical line at zero."}, "figure": {"name": "fig-paper-logit-controls", "caption": "The same regression for the positive control, whose errors depend on skin colour, and for the null control, whose errors depend on nothing."}}
draw_coefficients(CONTROLS)

# %%
largest = logit["estimate"].abs().groupby(["model", "attribute"]).max()
skin = logit.xs(("skin_colour", "Dark skin"), level=["attribute", "level"]).loc[list(MODELS)]
place = largest.groupby("model").rank(ascending=False).xs("skin_colour", level="attribute")
shown = skin[["estimate", "sd_image"]].assign(**{"place among 7": place})
shown.style.format("{:z.2f}").format("{:.0f}", "place among 7")

# %% [markdown]
# The table answers the question of the paper's figure: how large is the coefficient of dark skin,
# compared with its bar and with the other attributes? Attributes are ranked by the largest
# coefficient of their levels. The next section shows four reasons why that is not yet the question
# of this chapter.

# %% tags=["remove-input"]
of_all, of_women = (
    rows.groupby("skin")["error_plantskin"].mean()
    for rows in (pruned, pruned[pruned["label"] == 0])
)
claim(
    "**In this run** the figure says that dark skin lowers plantskin's errors: its coefficient is "
    "{skin:z.2f}. That is true on average and false for women. From light to dark skin errors "
    "on all faces fall from {all_light:percent} to {all_dark:percent} %, and those on women rise from "
    "{light:percent} to {dark:percent} %.",
    holds=skin.loc["plantskin", "estimate"] < -3 * skin.loc["plantskin", "sd_image"]
    and of_all["dark"] < of_all["light"]
    and of_women["dark"] > of_women["light"],
    all_light=of_all["light"],
    all_dark=of_all["dark"],
    **of_women,
    skin=skin.loc["plantskin", "estimate"],
)

# %% [markdown]
# ## What is wrong with reading it
#
# (erratum-logit)=
# ### Mirror images, each half of the effect
#
# The paper calls a coefficient the change in log odds for one unit of its covariate. With *both*
# levels of an attribute in the model, no image can change one without the other. The penalty makes
# the split unique: the two coefficients are equal in size and opposite in sign, so each is half of
# the log odds ratio. Simulated errors with a planted log odds ratio of one show it.

# %%
generator = seeding.rng(seed, "09_logistic_ate: planted odds ratio")
dark = generator.integers(2, size=100_000)
error = (generator.random(len(dark)) < expit(-2 + dark)).astype(int)
_, light_b, dark_b = effects.paper_logit(np.column_stack([1 - dark, dark]), error)
pd.Series({"Light skin": light_b, "Dark skin": dark_b, "difference": dark_b - light_b})

# %% [markdown]
# The difference of the two coefficients recovers what was planted; either one alone is half of it.
# The same holds in the audit. For each two-level attribute the coefficients sum to zero, and their
# difference is the (shrunken) log odds ratio, twice of what a bar in the figure shows. A level that
# no image has cannot be estimated and stays empty.

# %%
several = X.columns.get_level_values("attribute").isin(["smiling", "age"])
pairs = logit["estimate"]["fairface-like"][X.columns[~several]].groupby("attribute", sort=False)
mirror = pd.DataFrame({"first": pairs.first(), "second": pairs.last(), "sum": pairs.sum()})
mirror["log odds ratio"] = mirror["second"] - mirror["first"]
mirror

# %% tags=["remove-cell"]
assert abs(dark_b + light_b) < 1e-6 and abs(dark_b - light_b - 1) < 0.1
assert mirror.dropna()["sum"].abs().max() < 1e-6

# %% [markdown]
# (erratum-solver)=
# ### The solver stops early
#
# The paper used scikit-learn's `LogisticRegression`. Its default solver stops when the gradient is
# small, not when the coefficients have settled, and with one-hot columns the two are not the same.
# The table fits each model's errors with different solvers and tolerances and shows the largest
# distance of a coefficient from the converged solution.

# %%
SOLVERS = {
    "lbfgs (default)": LogisticRegression(C=1.0),
    "newton-cholesky": LogisticRegression(C=1.0, solver="newton-cholesky"),
    "newton-cholesky, tol=1e-10": LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10),
}
distance = pd.DataFrame(index=MODELS, columns=list(SOLVERS), dtype=float)
for model, name in product(MODELS, SOLVERS):
    fit = SOLVERS[name].fit(X, pruned[f"error_{model}"]).coef_[0]
    distance.loc[model, name] = np.abs(fit - by_image[model].loc["fit"].fillna(0)).max()
distance.style.format("{:.1e}")

# %% tags=["remove-cell"]
assert distance["newton-cholesky, tol=1e-10"].max() < 1e-5

# %% tags=["remove-input"]
worst = distance["lbfgs (default)"].max()
smallest = logit["sd_image"].min()
Markdown(
    f"**In this run** the default leaves a coefficient off by up to {worst:.2g}. The narrowest bar in "
    f"the figures is {smallest:.2g}."
)

# %% [markdown]
# An error that is small beside the bars changes no reading of the figures. How much the default loses
# depends on the data, and one cannot know without comparing. A solver that is exact costs nothing at
# this size, so there is no reason to take the risk. The book's regressions all converge to the last
# digits shown.

# %% [markdown]
# (erratum-bootstrap)=
# ### Bars for independent images
#
# The paper bootstraps its data set. We infer that it resamples images one by one, as if each were a
# new face; the text does not say so. Eight images of a transect are one face. Where errors of one
# face hang together, two things can go wrong, in opposite directions. For an attribute that was
# manipulated, each face serves as its own control, and the bars can be too *wide*. For an attribute
# that belongs to the face, such as age or smiling, a handful of faces pretends to be many, and the
# bars can be too *narrow*. How much depends on the model, as the table below shows. The remedy is
# to resample whole transects {cite:p}`cluster-bootstrap`.

# %% [markdown]
# The null control lets us check which bars are honest. Its errors can be drawn again and again, on
# the same images, so the true spread of every coefficient can be watched directly. A bootstrap sees
# one sample of errors, and another sample would give another bar. So both bootstraps are run on
# several of the samples. The figure divides the standard deviation that a bootstrap claims, averaged
# over these samples, by the one that really occurs.

# %%
NULL = stage.load("08_stratified_errors", "results.json")["null_control"]
REDRAWS, BOOTSTRAPPED, RESAMPLES = 100, 20, 100
redrawn, bars = [], []
for k in range(REDRAWS):
    own = seed + 1 + k
    score = models.null_control(
        pruned["label"], pruned["item"], pruned["transect"], **NULL, seed=own
    )
    error = ((score > 0.5) != pruned["label"]).astype(int)
    redrawn.append(effects.paper_logit(X, error)[1:])
    if k < BOOTSTRAPPED:
        for unit, cluster in {"images": None, "transects": pruned["transect"]}.items():
            draws = effects.bootstrap_paper_logit(X, error, RESAMPLES, own, cluster)
            bars.append(pd.Series(np.nanstd(draws[:, 1:], 0, ddof=1), X.columns, name=unit))

# %%
spread = pd.DataFrame(redrawn, columns=X.columns).std()
ratios = pd.DataFrame(bars).div(spread, axis=1).groupby(level=0)
claims = ratios.mean().T.add_prefix("resampling ")

# %% mystnb={"image": {"alt": "Dots for the seventeen levels: the standard deviation claimed by the bootstrap of images and by that of transects, on average over samples of errors, divided by the spread that occurs when the null control's errors are drawn again; a vertical line marks agreement."}, "figure": {"name": "fig-bootstrap-claims", "caption": "Claimed over actual standard deviation of each coefficient of the null control, the claim averaged over samples of errors. One is honest, above one is too wide, below one too narrow. Circles resample images, squares transects."}}
_, ax = plt.subplots(figsize=(figures.WIDTH, 6))
y = np.arange(len(claims))[::-1]
for (unit, ratio), look in zip(claims.items(), figures.SPARE[:2], strict=True):
    ax.plot(ratio, y, look.marker, color=look.colour, markersize=8, label=unit)
ax.axvline(1, color=figures.BLACK, linewidth=1)
ax.set_yticks(y, claims.index.get_level_values("level"))
ax.set(xlabel="claimed SD / actual SD", ylim=(-0.7, len(claims) - 0.3))
ax.grid(axis="y", visible=False)
_ = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)

# %% tags=["remove-input"]
of_claim = (ratios.sem() / ratios.mean()).T.add_prefix("resampling ")
blur = labels.Z * np.hypot(of_claim, np.sqrt(1 / (2 * (REDRAWS - 1))))
twin = ~several & X.columns.get_level_values("attribute").duplicated()  # a mirror image
beyond = ((claims - 1).abs() > blur)[~twin].sum()
Markdown(
    f"**In this run** {beyond['resampling images']} of {(~twin).sum()} ratios (mirror images count once) "
    f"are further from one than their margin if images are resampled, and "
    f"{beyond['resampling transects']} if transects are. The margins are ±{blur.min(axis=None):.0%} to "
    f"±{blur.max(axis=None):.0%}; honest bars would leave about one ratio in twenty beyond them."
)

# %% [markdown]
# Both parts of a ratio are estimated. The margin counts the number of redraws, from which the actual
# spread comes, and how much the claim varies from one sample of errors to the next, its resamples
# included. An auditor has one sample, and so a claim that is less certain than the mean of several.

# %% [markdown]
# The same comparison for each audited model needs no truth: the ratio of its two bootstrap standard
# deviations. Values above one mean that the paper's bar is wider than the transect bar, values
# below one that it is narrower. The table averages over the levels of the three manipulated
# attributes and over those of the others.

# %%
ratio = (logit["sd_image"] / logit["sd_transect"]).rename("ratio").reset_index()
ratio["attributes"] = np.where(ratio["attribute"].isin(AXES), "manipulated", "of the face")
ratio = ratio.pivot_table("ratio", "model", "attributes", sort=False)
ratio.style.format("{:.2f}")

# %%
width = ratio.map(lambda r: "wider" if r > 1.05 else "narrower" if r < 0.95 else "about as wide")
Markdown(
    "The paper's bars, compared with those from transects:\n\n"
    + "\n".join(
        f"- **{model}**: {row['manipulated']} for the manipulated attributes, "
        f"{row['of the face']} for those of the face."
        for model, row in width.iterrows()
    )
)

# %% [markdown]
# (erratum-main-effects)=
# ### Main effects cancel
#
# The fourth problem is the most serious one, and no better bar can mend it. A main-effects model has
# one coefficient for dark skin, for everybody. If dark skin makes a model answer "male" more often,
# it produces errors in women and prevents errors in men. The two meet in one coefficient, where they
# cancel as far as they are equally large; only what is left over shows. A biased model can pass with
# a coefficient near zero, or with a sign that is wrong for those whom it harms.

# %% [markdown]
# The repair within the regression is to let skin and hair have their own effect in each gender. The
# design gains a column for every combination of a level with a gender. The log odds ratio among
# women then adds the products with "Female" to the main effect. Intervals are the middle of the
# transect bootstrap.

# %%
Z = effects.interaction_columns(X, ["skin_colour", "hair_length"])
interacted = {
    model: effects.regression_draws(Z, pruned[f"error_{model}"], n_boot, seed, pruned["transect"])
    for model in MODELS
}

# %%
ENDS = {name: effects.PAPER_LEVELS[name][1] for name in ("skin_colour", "hair_length")}
ratios = {
    (model, attribute): pd.concat(
        effects.summarize_draws(effects.log_odds_ratios(draws[model], attribute, *ends))
        for draws in (by_transect, interacted)
    )
    for model in MODELS
    for attribute, ends in ENDS.items()
}
interactions = pd.concat(ratios, names=["model", "attribute", "group"])
_ = stage.save("interactions.parquet", interactions.reset_index())

# %% mystnb={"image": {"alt": "Twelve intervals of the log odds ratio of an error, dark against light skin: for each of four models one from the main-effects regression, one among women and one among men, around a vertical line at zero."}, "figure": {"name": "fig-skin-interaction", "caption": "Log odds ratio of an error, dark against light skin, with confidence intervals from resampling transects: one number for everybody (main effects), and with gender interactions."}}
_ = figures.forest(
    interactions.xs("skin_colour", level="attribute"), xlabel="log odds ratio, dark against light"
)

# %% tags=["remove-input"]
planted = interactions.xs(("plantskin", "skin_colour"), level=("model", "attribute"))
claim(
    "**In this run** the main effect of plantskin is {main:z.1f}: dark skin would *prevent* errors, as it "
    "does on average. Among women it is {women:+z.1f}, among men {men:z.1f}. The two do not cancel to "
    "zero; they leave a number whose sign is wrong for the people who are harmed.",
    holds=planted.loc["main effects", "high"] < 0 < planted.loc["Female", "low"]
    and of_all["dark"] < of_all["light"]
    and planted.loc["Male", "high"] < 0,
    main=planted.loc["main effects"].to_dict(),
    women=planted.loc["Female"].to_dict(),
    men=planted.loc["Male"].to_dict(),
)

# %% [markdown]
# Hair can behave in the same way. Where long hair helps a model to read a face as
# female, it prevents errors in women and causes them in men, and the main effect shows only what is
# left over. The table gives the log odds ratios of long against short hair, with their intervals.

# %%
hair = interactions.xs("hair_length", level="attribute")
spans = hair[["estimate", "low", "high"]].to_numpy()
told = hair.assign(ratio=["{:+z.1f} ({:+z.1f} to {:+z.1f})".format(*row) for row in spans])
told = told.pivot_table("ratio", "model", "group", "first", sort=False)
told[["main effects", "Female", "Male"]]

# %% [markdown]
# Interactions mend the cancellation between genders, and only that one. The model still assumes that
# skin adds the same amount on the log-odds scale for short and for long hair, it still shrinks, and
# its effects are still log odds ratios, which few readers can translate into errors. A regression
# with all interactions would be a table of cells in disguise. [](10_matched_pairs) looks
# at the cells themselves.

# %% [markdown]
# ## What would change our mind
#
# - If the bootstrap of images claimed the spread that the null control's redrawn errors really have,
#   the paper's bars could stand as printed.
# - If every model's main effect lay between its effects in women and in men, and all three had one
#   sign, nothing would have been cancelled here.
# - If the default solver were off by more than the narrowest bar, its early stop would have changed
#   what the figures say.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Reference coding
# :label: exercise-reference-coding
# Drop one level of every attribute from `X` and fit an unpenalised logit (a very large `C`). Compare the
# coefficient of dark skin with the difference of the two coefficients in the table of mirror
# images. Why are they close but not equal?
# ```
#
# ```{solution} exercise-reference-coding
# :class: dropdown
# `first = X.columns[~X.columns.get_level_values(0).duplicated()]` names the levels to drop,
# `error = pruned["error_fairface-like"]` is the outcome of the table, and
# `effects.paper_logit(X.drop(columns=first), error, C=1e9)` hardly penalises. The reference-coded
# coefficient *is* the log odds ratio. The one-hot difference is the same quantity after shrinkage
# by the penalty, so it is a little closer to zero, most so for rare levels.
# ```

# %% [markdown]
# ## Takeaways
#
# - Two one-hot coefficients of one attribute are one number, halved and mirrored. Read their
#   difference, and let the solver converge.
# - Resample what was sampled: transects, not images.
# - Main effects average over everybody. A model can harm one group and favour another and pass.
# - An interaction mends the cancellation it was written for, and only that one.

# %% [markdown]
# ### What this chapter leaves
#
# `paper_logit.parquet` has a row per model, attribute and level with the coefficient, its two
# standard deviations and the interval from transects. `interactions.parquet` has a row per model,
# attribute and group (main effects, Female, Male) with the log odds ratio and its interval, which
# [](10_matched_pairs) reads for the verdict on each model.

# %% tags=["hide-cell"]
one = interactions.loc[("plantskin", "skin_colour", "main effects")]
_ = stage.finish(
    {"plantskin": {"main_effects_log_odds": one[["estimate", "low", "high"]].to_dict()}}
)
