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
# # Logistic ATE
#
# *You need [chapter 8](08_stratified_errors) (the errors of each image) and logistic regression. Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# {cite:t}`transects` predict a classifier's errors by one logistic regression on all annotated
# attributes, and read the coefficient of dark skin as its average effect ({term}`ATE`). Does that
# coefficient find the bias of a model that we biased on purpose? The plantskin model was trained on
# faces where dark skin predicts men. The unit here is the {term}`log odds ratio`. It is positive if dark
# skin goes with more errors.
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
# | Population | the made faces of the transects that pruning kept, adults only |
# | Unit | a transect: one base face in all eight combinations of skin, hair and gender |
# | Intervention | skin colour, hair length or gender from its low to its high level |
# | Held fixed | by the design: other attributes, up to leakage; in the regression they are covariates |
# | Outcome and who labels it | error against the raters' majority, 0 or 1 |
# | Estimand | [adjusted log odds](estimands): the log odds ratio of an error between two levels of an attribute, for everybody and by gender |
# | Tolerance and n | no tolerance, since this chapter gives no verdict; n in the first table |
# | Decision at stake | whether a coefficient near zero may be read as "skin does little" |
# | Known failure | effects of opposite sign cancel in one coefficient; images of one transect are not independent |
# :::

# %% tags=["hide-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from faceaudit import effects
from faceaudit.effects import error_rates, verdicts
from faceaudit.utils import seeding
from faceaudit.utils.formatting import with_minus
from faceworld.networks import classifiers
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim, margin_above, margin_below
from helpers.figures import panels, widgets

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_boot = 1000

# %% tags=["remove-cell"]
stage = Stage("09_logistic_ate", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:z.3f}".format

# %% [markdown]
# We load the errors of [](08_stratified_errors), one row per image. The table `pruned` has the images that pruning kept,
# adults only. For the figure we count plantskin's errors by perceived gender and skin colour.

# %%
MODELS = ("celeba-like", "fairface-like", "plantskin", "null")
AXES = ["skin_colour", "hair_length", "gender"]
audit = stage.load("08_stratified_errors", "audit.parquet")
audit["item"] = np.arange(len(audit))
pruned = audit[audit["kept"] & audit["adult"]]

# %%
groups = {"women": pruned["label"] == 0, "men": pruned["label"] == 1, "all faces": pruned["kept"]}
planted = {
    who: error_rates.stratified_errors(pruned[rows], "skin", "error_plantskin")
    for who, rows in groups.items()
}
planted = pd.concat({who: table.loc[["light", "dark"]] for who, table in planted.items()})

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three pairs of bars, light beside dark skin: the plantskin model's error rate on women, on men and on all faces, with intervals and counts. From light to dark skin the bar of women grows, and that of men shrinks."}, "figure": {"name": "fig-two-effects", "caption": "Error rates of the plantskin model on the made faces, by perceived gender and skin colour, with Wilson 95% intervals and the number of images under each bar."}}
# Computed by faceaudit.effects.error_rates.stratified_errors.
NARROW = 4.8  # inches: at this width a phone shows letters that can be read
_, ax = plt.subplots(figsize=(NARROW, 4.2))
figures.bars(planted, ylabel="plantskin’s error rate, 95% intervals", ax=ax)
ends = {who: " → ".join(f"{100 * rate:.1f}" for rate in planted["rate"][who]) for who in groups}
title = f"Light → dark skin, errors in %:\nwomen {ends['women']}, men {ends['men']}.\nWhich single coefficient describes both?"
_ = ax.set_title(title, pad=32, fontsize=11)

# %% [markdown]
# ## The paper's regression
#
# Section 5.5 of the paper cuts each score into levels. Each level becomes a column of zeros and ones:
# two columns for each of hair, skin, gender, beard and makeup, three for expression, and four for age.
# The regression predicts the errors from all of these columns together.

# %% [markdown]
# The paper does not give all cuts. Hair, skin and gender are cut in the middle of the ranges that
# pruning removes. We cut the others halfway between two answers of a rater: a minimal beard and a
# mustache, minimal and full makeup, a neutral face and a slight frown or smile. Ages go to the nearest
# answer. The fewer images a level has, the less the regression can say about it.

# %%
X = effects.paper_columns(pruned)

# %%
levels = X.sum().astype(int).to_frame("images").reset_index()
cuts = {name: " and ".join(map(str, cut)) for name, (cut, _) in effects.PAPER_LEVELS.items()}
levels["cut at"] = levels["attribute"].map(cuts).fillna("nearest answer")
levels = levels.replace({"attribute": "_"}, {"attribute": " "}, regex=True)
levels.set_index(["attribute", "level"])

# %% tags=["remove-cell"]
assert X.shape[1] == 17

# %% [markdown]
# We fit one logistic regression for each model. Like the paper's, it has a {term}`penalty` that pulls
# coefficients towards zero. A {term}`bootstrap` fits again and again to resampled data, and takes the spread of the results as the standard error. The first
# of two resamples images, as the paper probably does. The second one resamples whole transects, and a later section says why.

# %%
by_image = {}
by_transect = {}
for model in MODELS:
    error = pruned[f"error_{model}"]
    by_image[model] = effects.regression_draws(X, error, n_boot, seed)
    by_transect[model] = effects.regression_draws(X, error, n_boot, seed, pruned["transect"])

# %% [markdown]
# The summary keeps both standard deviations, and takes its interval from the transects. If no kept
# image carries a level, its coefficient stays empty. A penalised fit would print a zero there, and a
# reader could take this zero for a finding.

# %%
logit = {name: effects.summarize_draws(draws) for name, draws in by_transect.items()}
logit = pd.concat(logit, names=["model"]).rename(columns={"sd": "sd_transect"})
image_sd = {name: effects.summarize_draws(draws)["sd"] for name, draws in by_image.items()}
logit["sd_image"] = pd.concat(image_sd, names=["model"])

# %% tags=["remove-cell"]
_ = stage.save("paper_logit.parquet", logit.reset_index())

# %% [markdown]
# Figure 15 of the paper shows the coefficients with bars of one standard deviation. A positive
# coefficient goes with more errors. The regression has a column for *each* of two levels, so one coefficient is
# **half** of the log odds ratio in the answer above. The [next section](#erratum-logit) shows why.
#
# The paper reads from its figure that facial hair, gender, makeup, hair and
# age matter, and that skin colour is negligible. Here is that figure for our two ordinary models. The
# [gallery](n09_replication_gallery) has the controls.

# %%
ORDINARY = MODELS[:2]
size = logit["estimate"].abs()[list(ORDINARY)].groupby(["attribute", "level"]).mean()
order = size.sort_values(ascending=False).index

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of dots, one per model, for the seventeen levels of the paper's regression. Each dot is a coefficient with a bar of one standard deviation; a vertical line marks zero. Levels of two-level attributes lie mirrored around zero."}, "figure": {"name": "fig-paper-logit", "caption": "Coefficients of the paper's regression of errors on attribute levels, with bars of plus and minus one bootstrap standard deviation (images resampled). Levels are sorted by the size of their coefficients, averaged over both models. After Figure 15 of the paper."}}
# Computed by faceaudit.effects.regression.regression_draws and
# faceaudit.effects.regression.summarize_draws.
figure, axes = plt.subplots(1, 2, figsize=(NARROW, 6.6), sharex=True, sharey=True)
for ax, model in zip(axes, ORDINARY, strict=True):
    bars = logit.loc[model].loc[order].droplevel("attribute")
    bars["low"] = bars["estimate"] - bars["sd_image"]
    bars["high"] = bars["estimate"] + bars["sd_image"]
    figures.forest(bars, xlabel="", ax=ax)
    dark = f"{bars.loc['Dark skin', 'estimate']:z.2f}"
    ax.set_title(with_minus(f"{model}\ndark skin: {dark}"), fontsize=11)
    ax.tick_params(labelsize=10)
label = f"coefficient (log odds) ± 1 SD, n = {len(pruned):,} images"
_ = figure.supxlabel(label, fontsize=10)

# %% [markdown]
# How large is the coefficient of dark skin, compared with its bar and with the other attributes? The
# table answers for all four models. The log odds ratio is twice the coefficient. For plantskin it is the number in the answer above.
# The last column ranks seven attributes by the size of their largest coefficient. A rank compares sizes only: the smallest of seven
# can still change the error rate. A reader of the paper would call an attribute near the end negligible.

# %%
largest = logit["estimate"].abs().groupby(["model", "attribute"]).max()
skin = logit.xs(("skin_colour", "Dark skin"), level=["attribute", "level"]).loc[list(MODELS)]
place = largest.groupby("model").rank(ascending=False).xs("skin_colour", level="attribute")
shown = pd.DataFrame({"coefficient": skin["estimate"], "bar": skin["sd_image"]})
shown["log odds ratio"] = 2 * shown["coefficient"]
shown["rank among 7"] = place
shown.style.format("{:z.2f}", shown.columns[:3]).format("{:.0f}", "rank among 7")

# %% [markdown]
# Is the coefficient of plantskin true for everybody? We compare it with the difference of plantskin's error rates, dark
# minus light skin, on all faces and on women. The standard error of this difference takes transects as the units.


# %%
def dark_minus_light(rows: pd.DataFrame) -> dict[str, float]:
    """Difference of plantskin's error rates, with its 95% interval over transects."""
    by_skin = rows.groupby("skin")["error_plantskin"]
    difference = by_skin.mean()["dark"] - by_skin.mean()["light"]
    part = (rows["error_plantskin"] - by_skin.transform("mean")) / by_skin.transform("size")
    part = part.where(rows["skin"] == "dark", -part).groupby(rows["transect"]).sum()
    reach = verdicts.Z * (part**2).sum() ** 0.5
    return {"estimate": difference, "low": difference - reach, "high": difference + reach}


lowers_all = margin_below(dark_minus_light(pruned), 0)
raises_women = margin_above(dark_minus_light(pruned[pruned["label"] == 0]), 0)

# %% tags=["hide-input"]
claim(
    "**In this run** the regression says that dark skin lowers plantskin's errors: its coefficient is "
    "{skin:z.2f}, half of the log odds ratio {ratio:z.2f}. That is true on average and false for women. From light to dark skin errors "
    "on all faces fall from {all_light:percent} to {all_dark:percent}%, and those on women rise from "
    "{light:percent} to {dark:percent}%.",
    margins=[
        Margin(-skin.loc["plantskin", "estimate"], skin.loc["plantskin", "sd_transect"]),
        lowers_all,
        raises_women,
    ],
    all_light=planted["rate"]["all faces", "light"],
    all_dark=planted["rate"]["all faces", "dark"],
    **planted["rate"]["women"],
    skin=skin.loc["plantskin", "estimate"],
    ratio=2 * skin.loc["plantskin", "estimate"],
)

# %% [markdown]
# (erratum-logit)=
# ## A coefficient is half of an effect
#
# The paper calls a coefficient the change in log odds for one unit of its {term}`covariate`. The regression has
# *both* levels of an attribute, so an image that leaves one level enters the other. Many pairs of coefficients
# have the same difference. The penalty prefers the pair with the smallest sum of squares: a number and its opposite. Each is half of the {term}`log odds ratio`.
# Let us plant a log odds ratio of one and look. The table has both coefficients and their difference.

# %%
generator = seeding.rng(seed, "09_logistic_ate: planted odds ratio")
dark = generator.integers(2, size=100_000)
error = (generator.random(len(dark)) < expit(-2 + dark)).astype(int)
_, light_b, dark_b = effects.paper_logit(np.column_stack([1 - dark, dark]), error)

# %%
pd.DataFrame({"light": light_b, "dark": dark_b, "dark − light": dark_b - light_b}, ["coefficient"])

# %% [markdown]
# The difference of the two coefficients gives back the planted value. One alone gives half of it. The
# regression of the *fairface-like* model behaves in the same way: for each attribute of two levels the coefficients sum to zero, and
# their difference is the log odds ratio, a little shrunken by the penalty.

# %%
several = X.columns.get_level_values("attribute").isin(["smiling", "age"])
pairs = logit["estimate"]["fairface-like"][X.columns[~several]].groupby("attribute", sort=False)
levels = {"first level": pairs.first(), "second level": pairs.last(), "sum": pairs.sum()}
mirror = pd.DataFrame(levels)
mirror["log odds ratio"] = mirror["second level"] - mirror["first level"]
mirror.rename(lambda name: name.replace("_", " "))

# %% tags=["remove-cell"]
assert abs(dark_b + light_b) < 1e-6 and abs(dark_b - light_b - 1) < 0.1
assert mirror.dropna()["sum"].abs().max() < 1e-6

# %% [markdown]
# ## One coefficient is enough for the average
#
# The paper asks for the average effect over everybody, and for this the regression works. Let it predict the
# error of each face, once with light and once with dark skin. The average difference is in points of the error
# rate. Now compare it with the difference of the counted rates. The table has both changes from light to dark skin.

# %%
both = X.columns.get_indexer([("skin_colour", "Light skin"), ("skin_colour", "Dark skin")])


def predicted_rate(coefficients: np.ndarray, skin: list[int]) -> float:
    """Mean predicted error rate if every face had this skin, as columns of light and dark."""
    faces = X.to_numpy(copy=True)
    faces[:, both] = skin
    return expit(coefficients[0] + faces @ np.nan_to_num(coefficients[1:])).mean()


# %%
average = {}
for model in MODELS:
    error = pruned[f"error_{model}"]
    dark = pruned["skin"] == "dark"
    fit = effects.paper_logit(X, error)
    regression = predicted_rate(fit, [0, 1]) - predicted_rate(fit, [1, 0])
    counted = error[dark].mean() - error[~dark].mean()
    average[model] = {"regression": 100 * regression, "counted": 100 * counted}

# %%
pd.DataFrame(average).T.style.format("{:+z.1f}")

# %% [markdown]
# The two agree because each skin level has nearly the same mix of the other attributes. Portraits that
# somebody found lack this balance. There one needs a {term}`doubly robust` estimate: it models who has dark skin as well as
# the errors, and gives no number where light- and dark-skinned faces have nothing in common. [Note N1](n01_truth_scorecard)
# repeats the audit many times, scores that estimate too, and finds only a small bias of the averages here. For a group of faces, one coefficient is too little, as the next section shows.

# %% [markdown]
# (erratum-main-effects)=
# ## Two opposing effects, one coefficient
#
# Read for groups, the same coefficient can mislead. This is the most serious problem of the paper's regression. Suppose that dark skin makes a model answer "male" more often. Then
# it causes errors on women and prevents errors on men. The regression has *one* coefficient of dark
# skin, for all faces. **One coefficient mixes both effects. It follows the change of the error rate of all faces together, and if that is zero, it is about zero.** So a biased model can pass with a small coefficient, or with the wrong sign for the
# people whom it harms.

# %% [markdown]
# We can repair this within the regression. Skin and hair get their own effect in each gender: the
# design gains one column for each combination of a level with a gender. These products are called
# {term}`interactions <interaction>`. The log odds ratio for women adds the products with "Female" to the {term}`main effect`.

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

# %% tags=["remove-cell"]
_ = stage.save("interactions.parquet", interactions.reset_index())

# %% tags=["hide-input"] mystnb={"image": {"alt": "Twelve intervals of the log odds ratio of an error, dark against light skin: for each of four models one from the main-effects regression, one among women and one among men, around a vertical line at zero."}, "figure": {"name": "fig-skin-interaction", "caption": "Log odds ratio of an error, dark against light skin, with 95% intervals from resampling transects: one number for all faces (main effects), and one for each gender (interactions)."}}
# Computed by faceaudit.effects.regression.log_odds_ratios and
# faceaudit.effects.regression.summarize_draws.
told = interactions.xs("skin_colour", level="attribute").rename_axis(["model", "group"])
names = {"main effects": "all faces", "Female": "women", "Male": "men"}
ours = told.loc["plantskin"]["estimate"].rename(names)
counted = f"n = {len(pruned):,} images of {pruned['transect'].nunique():,} transects"
label = f"log odds ratio, dark against light,\n95% intervals, {counted}"
figure, ax = plt.subplots(figsize=(NARROW, 5.4))
figures.forest(told.rename(names, level="group"), ax=ax, xlabel="")
ax.tick_params(labelsize=10)
figure.supxlabel(label, fontsize=10)
title = f"plantskin: {ours['women']:+.1f} for women, {ours['men']:+.1f} for men,\n{ours['all faces']:+.1f} in one number for all faces"
_ = figure.suptitle(with_minus(title), fontsize=11)

# %%
planted = interactions.xs(("plantskin", "skin_colour"), level=("model", "attribute"))

# %% tags=["hide-input"]
claim(
    "**In this run** the main effect of plantskin is {main:z.1f}: dark skin would *prevent* errors, as it "
    "does on average. Among women it is {women:+z.1f}, among men {men:z.1f}. The two do not cancel to "
    "zero, and the one number is not their mean: it follows the group with most errors. Its sign is wrong for the people who are harmed.",
    margins=[
        margin_below(planted.loc["main effects"], 0),
        margin_above(planted.loc["Female"], 0),
        margin_below(planted.loc["Male"], 0),
        lowers_all,
    ],
    main=planted.loc["main effects"].to_dict(),
    women=planted.loc["Female"].to_dict(),
    men=planted.loc["Male"].to_dict(),
)

# %% tags=["hide-input"]
behind = pruned[pruned["label"] == 0].groupby("skin")["error_plantskin"].sum()
behind = behind.reindex(["light", "dark"], fill_value=0)
Markdown(
    f"Count the errors behind a number. On women plantskin errs on {behind['light']} light- and {behind['dark']} dark-skinned images. "
    "Where such a count is small, the penalty pulls the estimate towards zero. The end of "
    "*Bars for independent images* has an estimate for that case."
)

# %% [markdown]
# Hair can behave in the same way. Long hair may help a model to read a face as female. Then it
# prevents errors on women and causes errors on men, and the main effect shows the rest only. The
# table has the log odds ratios of long against short hair, with their intervals.

# %%
hair = interactions.xs("hair_length", level="attribute")
spans = hair[["estimate", "low", "high"]].to_numpy()
told = hair.assign(ratio=["{:+z.1f} ({:+z.1f} to {:+z.1f})".format(*row) for row in spans])
told = told.pivot_table("ratio", "model", "group", "first", sort=False)
told[["main effects", "Female", "Male"]].rename(columns=names)

# %% [markdown]
# Interactions separate women from men. They do not separate short from long hair. The regression still assumes that
# skin adds the same log odds for short and for long hair, and its effects are hard to translate into
# errors. A regression with *all* interactions would be a table of cells. [](10_matched_pairs) looks at
# the cells themselves.

# %% [markdown]
# ### Try it: what one coefficient reports
#
# Set what dark skin does to the errors on women and on men. The third bar is the effect that a regression with one
# coefficient for skin reports, at equal numbers of women and men.

# %% tags=["hide-input"]
widgets.explorable(
    "opposing",
    "Three bars: the effect of dark skin on women, on men, and the one that a regression with one coefficient reports.",
    rate=0.15,
    guess={
        "question": "Dark skin adds six points of errors on women and takes off six on men. What does one coefficient report?",
        "options": ["About six points more", "About zero", "About six points less"],
        "right": 1,
        "because": "One coefficient mixes both effects. Opposite effects of equal size cancel.",
    },
)

# %% [markdown]
# (erratum-bootstrap)=
# ## Bars for independent images
#
# The paper resamples its data set. We infer that it draws single images, as if each were a new face,
# because the text names no other unit. But eight images of a transect show one face. For a changed
# attribute each face is its own control, so such bars can be too *wide*. For an attribute of the face,
# such as age, a few faces pretend to be many, and the bars can be too *narrow*. The remedy is the
# {term}`cluster bootstrap`: draw whole transects {cite:p}`cluster-bootstrap`.

# %% [markdown]
# The null control shows which bars are right. Its errors do not depend on how a face looks, but images of one
# transect tend to err together, as those of a real model do. We can draw such errors again and again on the same images. The standard deviation of the many coefficients is their *actual spread*. A bootstrap has to
# guess this spread from a single draw of errors. We divide the bar of the bootstrap by the actual spread, and
# average this ratio over several draws. One is right. Above one the bar is too wide, below one too narrow.

# %%
NULL = stage.load("08_stratified_errors", "results.json")["null_control"]
REDRAWS, BOOTSTRAPPED, RESAMPLES = 100, 20, 100
UNITS = {"images": None, "transects": pruned["transect"]}


def null_errors(seed: int) -> pd.Series:
    """Errors of the null control, drawn with another seed on the same images."""
    images = pruned["label"], pruned["item"], pruned["transect"]
    score = classifiers.null_control(*images, **NULL, seed=seed)
    return ((score > 0.5) != pruned["label"]).astype(int)


# %%
redrawn = []
bars = []
for k in range(REDRAWS):
    own = seed + 1 + k
    error = null_errors(own)
    redrawn.append(effects.paper_logit(X, error)[1:])
    if k < BOOTSTRAPPED:
        for unit, cluster in UNITS.items():
            draws = effects.bootstrap_paper_logit(X, error, RESAMPLES, own, cluster)
            bar = np.nanstd(draws.coefficients[:, 1:], 0, ddof=1)
            bars.append(pd.Series(bar, X.columns, name=unit))

# %%
spread = pd.DataFrame(redrawn, columns=X.columns).std()
ratios = pd.DataFrame(bars).div(spread, axis=1).groupby(level=0)
twin = ~several & X.columns.get_level_values("attribute").duplicated("last")  # a mirror image
shown = ratios.mean().T[~twin]

# %% [markdown]
# The number of draws is limited, so a right bar also misses the value one a little. Grey bars in the figure show how
# far it may lie from one by chance, in 19 of 20 cases. Two levels that mirror each other have the same ratio, so the figure
# shows one of them.

# %%
relative_error = (ratios.sem() / ratios.mean()).T[~twin]
chance = verdicts.Z * np.hypot(relative_error, np.sqrt(1 / (2 * (REDRAWS - 1))))
wrong = ((shown - 1).abs() > chance).sum()

# %% tags=["hide-input"] mystnb={"image": {"alt": "Dots for twelve levels: the standard deviation from the bootstrap of images and that from the bootstrap of transects, on average over draws of errors, divided by the spread of the coefficients when the null control's errors are drawn again; a vertical line marks agreement."}, "figure": {"name": "fig-bootstrap-claims", "caption": "Bar of the bootstrap divided by the actual spread, for each coefficient of the null control. Right of the line the bar is too wide, left of it too narrow. Circles resample images, squares transects. A mark beyond its grey bar is off by more than chance explains."}}
# Computed by faceaudit.effects.regression.bootstrap_paper_logit and
# faceaudit.effects.regression.paper_logit.
figure, ax = plt.subplots(figsize=(NARROW, 5.4))
y = np.arange(len(shown))[::-1]
for (unit, ratio), look, up in zip(shown.items(), figures.SPARE[:2], (0.17, -0.17), strict=True):
    ax.barh(y + up, 2 * chance[unit], 0.3, 1 - chance[unit], color="#DDDDDD")
    named = f"resampling {unit}: {wrong[unit]} wrong"
    ax.plot(ratio, y + up, look.marker, color=look.colour, markersize=7, label=named)
ax.axvline(1, color=figures.BLACK, linewidth=1)
ax.set_yticks(y, shown.index.get_level_values("level"))
ax.set(xlabel="bar of the bootstrap / actual spread", ylim=(-0.7, len(shown) - 0.3))
ax.tick_params(labelsize=10)
ax.grid(axis="y", visible=False)
panels.legend_above(figure, columns=1)
title = f"Clearly wrong bars among {len(shown)} coefficients"
figure.legends[0].set_title(title, {"size": 11})

# %% [markdown]
# For each model we can compare the two bootstraps, without any truth. The table has the paper's bar divided by the bar from
# transects, on average over levels: of the three attributes that the transects change, and of those of the face. The
# legend of the figure counts the bars that are clearly wrong.

# %%
ratio = (logit["sd_image"] / logit["sd_transect"]).rename("ratio").reset_index()
ratio["attributes"] = np.where(ratio["attribute"].isin(AXES), "changed", "of the face")
both_bars = ratio.pivot_table("ratio", "model", "attributes", sort=False)
both_bars.style.format("{:.2f}")

# %% tags=["hide-input"]
of_trained, of_null = both_bars.drop(index="null").to_numpy(), both_bars.loc["null"]
Markdown(
    f"For the trained models the bar from images is {of_trained.min():.2f} to {of_trained.max():.2f} times the bar from transects, "
    f"for the null model {of_null.min():.2f} to {of_null.max():.2f} times. A bar from transects is an estimate as well: in the figure, "
    f"{wrong['transects']} of {len(shown)} of them are clearly wrong, and {wrong['images']} of those from images."
)

# %% [markdown]
# A bootstrap fails in another way where faces are few and errors are rare. Some resamples have no error at all, and then
# there is no fit. If one level has no error, all resamples repeat that, and their spread is far too small. The summary counts
# the resamples that are lost. If they are more than one in twenty, it gives no interval. For such an audit use
# `effects.firth_log_odds_ratios`. Its {term}`penalty <Firth's penalty>` acts as half an error and half a success, and its interval counts them
# as observations. The page [](benchmarks) says how often both intervals hold a known truth.

# %% [markdown]
# (erratum-solver)=
# ## The solver stops early
#
# The paper used scikit-learn's `LogisticRegression`. Its default solver stops when the gradient is
# small. With columns of zeros and ones the coefficients may still be moving then. We fit each model's
# errors with the defaults, and look at the distance of each coefficient from the converged solution. The table has the
# largest distances. A shift that both levels share cancels in their log odds ratio, and opposite shifts add up.

# %%
off = {}
for model in MODELS:
    default = LogisticRegression(C=1.0).fit(X, pruned[f"error_{model}"]).coef_[0]
    off[model] = pd.Series(default - by_image[model].loc["fit"].fillna(0), X.columns)

# %%
exact = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10)
for model in MODELS:
    fit = exact.fit(X, pruned[f"error_{model}"]).coef_[0]
    assert np.abs(fit - by_image[model].loc["fit"].fillna(0)).max() < 1e-5

# %%
off = pd.DataFrame(off)  # rows: levels; columns: models
two = off.loc[X.columns[~several]].groupby(level=0, sort=False)
moved = (two.last() - two.first()).abs()
largest = {"distance of a coefficient": off.abs().max(), "of a log odds ratio": moved.max()}
largest = pd.DataFrame(largest)
largest["of the log odds ratio of skin"] = moved.loc["skin_colour"]
largest["of a coefficient, divided by its bar"] = pd.Series(
    {model: (off[model].abs() / logit.loc[model]["sd_image"]).max() for model in off}
)
largest.style.format("{:.2g}")

# %% [markdown]
# The size of the error depends on the data, so one has to compare. For the question about skin, look at the column of
# skin. The solver `newton-cholesky` with a
# small tolerance is exact and as fast at this size, so use it. All regressions of this book converge to
# the last digit shown.

# %% [markdown]
# ## What would change our mind
#
# - If every model's effects on women and on men had the same sign as its main effect, the average would
#   hide no harm.
# - If the bars from images were as wide as the actual spread of the null control's coefficients, the paper's bars
#   could be used as printed.
# - If the default solver moved the log odds ratio of skin by more than its bar, the early stop would
#   change the answer about skin.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Plant two opposing effects, 10 minutes, easy
# :label: ex-opposing-effects
# Simulate the errors of a model: dark skin raises the log odds of an error by two for women and
# lowers it by two for men. Give both genders the same average. Fit `effects.paper_logit` to the four columns light, dark, female,
# male. Then add the four products. Predict the log odds ratio of dark skin in each fit.
#
# **Check:** your two effects by gender have opposite signs and about equal size.
# ```

# %% [markdown]
# ```{solution-start} ex-opposing-effects
# :class: dropdown
# ```

# %% tags=["solution"]
rng = np.random.default_rng(0)
dark, male = rng.integers(2, size=(2, 100_000))
slope = np.where(male, -2, 2)  # log odds, opposite for men and women
error = (rng.random(len(dark)) < expit(-2 + slope * (dark - 0.5))).astype(int)
main = np.column_stack([1 - dark, dark, 1 - male, male])
products = [d * m for d in main.T[:2] for m in main.T[2:]]  # light f, light m, dark f, dark m

# %% tags=["solution"]
_, light_b, dark_b, *_ = effects.paper_logit(main, error)
b = effects.paper_logit(np.column_stack([main, *products]), error)
women, men = b[2] - b[1] + b[7] - b[5], b[2] - b[1] + b[8] - b[6]
assert abs(dark_b - light_b) < 0.1 and abs(women - 2) < 0.15 and abs(men + 2) < 0.15
ratios = {"main effects": dark_b - light_b, "women": women, "men": men}
pd.Series(ratios, name="log odds ratio").round(2).to_frame()

# %% [markdown]
# Each fit is right about its own question. The average effect is about zero here, and both genders
# have a large effect.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Reference coding, 10 minutes, medium
# :label: exercise-reference-coding
# Drop one level of every attribute from `X` and fit a regression with almost no penalty (a very large `C`).
# Compare the coefficient of dark skin with the difference of the two coefficients in the table of
# mirror images. Why are they close but not equal?
#
# **Check:** with `C=1` and all columns you get the table's number back.
# ```

# %% [markdown]
# ```{solution-start} exercise-reference-coding
# :class: dropdown
# ```

# %% tags=["solution"]
first = X.columns[~X.columns.get_level_values(0).duplicated()]
error = pruned["error_fairface-like"]
free = pd.Series(
    effects.paper_logit(X.drop(columns=first), error, C=1e9)[1:], X.columns.drop(first)
)
again = pd.Series(effects.paper_logit(X, error)[1:], X.columns)["skin_colour"]
ours = mirror.loc["skin_colour", "log odds ratio"]
assert np.isclose(again["Dark skin"] - again["Light skin"], ours, equal_nan=True)
coded = {"reference coding": free["skin_colour", "Dark skin"], "mirror images": ours}
pd.Series(coded, name="log odds ratio of dark skin").round(2).to_frame()

# %% [markdown]
# The coefficient with reference coding *is* the log odds ratio. The difference of the mirror images is
# the same quantity after the penalty, which pulls it towards zero, most of all for rare levels.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - One coefficient is enough for the average over everybody. Groups need their own effects, because
#   opposite effects cancel in it.
# - The two coefficients of an attribute mirror each other. Their difference is the log odds ratio.
# - Resample transects, since eight images show one face. Let the solver converge.
#
# **Next:** [chapter 10](10_matched_pairs) compares matched images cell by cell, beside the one coefficient of this chapter.

# %% tags=["remove-cell"]
main, female, male = (
    f"{row['estimate']:+.1f} ({row['low']:+.1f} to {row['high']:+.1f})"
    for row in planted.loc[["main effects", "Female", "Male"]].to_dict("records")
)
glue(
    "answer",
    Markdown(
        with_minus(
            "**The regression is enough for the average over these made faces, but it hides opposite effects.** For plantskin it says that "
            f"dark skin changes the error rate by {average['plantskin']['regression']:+.1f} points, and counting says "
            f"{average['plantskin']['counted']:+.1f}. As a log odds ratio the effect is {main} for all faces, {female} for women and "
            f"{male} for men. So use one coefficient for averages, read effects by group, and take error bars from transects, because "
            "eight images show one face."
        )
    ),
    display=False,
)

# %% tags=["remove-cell"]
one = interactions.loc[("plantskin", "skin_colour", "main effects")]
_ = stage.finish(
    {"plantskin": {"main_effects_log_odds": one[["estimate", "low", "high"]].to_dict()}}
)
