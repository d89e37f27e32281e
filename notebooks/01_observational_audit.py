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
# # Counting errors
#
# *You need one course of statistics: proportions, intervals, regression. Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# A famous audit counted the errors of systems that guess gender from a portrait. They erred most often on
# dark-skinned women {cite}`gender-shades`. The pictures below come from a small copy of that audit.
# Would the classifier err less often on a dark-skinned woman if only her skin were lighter?
#
# ```{glue:md} answer
# :format: myst
# ```

# %% [markdown]
# :::{admonition} Design contract
# :class: dropdown
#
# | Part | In this chapter |
# |---|---|
# | **Population** | portraits that imitate the Pilot Parliaments Benchmark |
# | **Unit** | one portrait |
# | **Intervention** | none: the portraits are taken as they come |
# | **Held fixed** | nothing; groups differ in everything that goes with skin colour |
# | **Outcome and who labels it** | error: the model's answer differs from the raters' majority on perceived gender |
# | **Estimand** | [the counted gap](estimands): difference of error rates between dark- and light-skinned women; then the adjusted log odds of dark skin among women |
# | **Tolerance and n** | no tolerance is tested here; the number of portraits is under each bar |
# | **Decision at stake** | collect more dark-skinned faces for training, or look for another cause first |
# | **Known failure** | every cause of errors that goes with skin colour is counted as an effect of skin |
# :::

# %% [markdown]
# ```{glue:figure} women-of-the-test-set
# :name: fig-trap-portraits
# :alt: Two rows of six portraits of women. Above light skin, mostly with long hair; below dark skin, mostly with cropped or short hair. Above each row stand the error rate of one model and the number of such women.
#
# Women of the test set, the first six of each group as raters see them. Above each row: the error
# rate of one gender classifier on all such women, and their number.
# Drawn under [](#count-the-errors).
# ```

# %% tags=["hide-cell"]
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from IPython.display import Markdown
from matplotlib import pyplot as plt
from myst_nb import glue
from statsmodels.genmod.families import Binomial
from statsmodels.stats.proportion import confint_proportions_2indep

import facerender
from faceaudit import annotations
from faceaudit.effects import error_rates
from faceaudit.utils import seeding
from faceaudit.utils.formatting import with_minus
from faceworld import crowd, networks, populations
from faceworld.networks import classifiers
from faceworld.rendering import render_to_store
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import claim, margin_above, question
from helpers.figures import causes, widgets

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
figure_size = 256
n_test = 6000
n_raters = 5

# %% tags=["hide-cell"]
stage = Stage("01_observational_audit", profile=profile, device=device, seed=seed)
figures.style()
NARROW = 4.8  # inches: letters of ten points can then be read on a phone


def percent(rate, digits=1):
    """A rate in per cent, as text."""
    return f"{100 * rate:.{digits}f}%"


# %% [markdown]
# ## A test set and what people see in it
#
# The Pilot Parliaments Benchmark holds official portraits from parliaments of Africa and northern Europe.
# Adults look into the camera in even light, and about half of them have dark skin. Our imitation copies this. It also
# copies a later observation of {cite:t}`transects`, below called the {term}`transects <transect>` paper: few of the light-skinned women have short hair. The faces are
# drawn, as the [next chapter](02_face_world) explains.

# %%
ppb = populations.sample("ppb-like", n_test, seed)
image_ids = pd.Index([f"ppb_{item:05d}" for item in ppb.frame["item"]], name="image_id")
pictures = render_to_store(ppb.parameters, image_size, stage.path("ppb.npy"), device=device)

# %% [markdown]
# An audit needs a label to compare a model's answer with. We use the label of the papers: the opinion of
# several people who look at the picture. Our raters are simulated, with noise that was calibrated on real ratings
# ([](06_annotation_ingestion)). Their answers travel through a file, as those of a real {term}`crowd` do. Scores are
# means over raters, from zero to one.

# %%
visible = facerender.visible_scores(ppb.parameters).set_index(image_ids)
answers = crowd.annotate(crowd.perceived(visible), n_raters, seed=seed, stage=stage.name)
annotations.write_mturk(answers, stage.path("crowd.csv"))
tidy, report = annotations.read_mturk(stage.path("crowd.csv"))
frame = annotations.scores(tidy)

# %% [markdown]
# Fixed cuts turn scores into groups. Gender and {term}`skin colour` are cut in the middle of the scale, and {term}`hair
# length` at shoulder length, as in the paper's figures. The label is {term}`perceived gender`, the majority of
# the raters. *Women* and *men* in this book are short for faces that raters perceive so. The words do
# not describe a person's identity.

# %%
frame["label"] = error_rates.majority(frame["gender"])
CUT = {"skin": "skin_colour", "hair": "hair_length", "group": "gender"}
for name, score in CUT.items():
    frame[name] = error_rates.discretize(frame[score], *error_rates.STRATA[score])

# %% [markdown]
# ## Four models answer
#
# The book has four models. The first two are ordinary classifiers, one trained on CelebA-like and one
# on FairFace-like faces. The third, `plantskin`, has a bias that we planted. The last is a {term}`null control`:
# it errs at random, so an audit should find no effect in it.

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
LEADING = TRAINED[:2]
MODELS = (*TRAINED, "null")
for name, model in networks.load_all(stage, "02_face_world", TRAINED).items():
    frame[f"score_{name}"] = networks.predict(model, pictures)

# %%
item = ppb.frame["item"]
frame["score_null"] = classifiers.null_control(
    frame["label"], item, item, rate=0.1, icc=0.2, seed=seed
)

# %% [markdown]
# Each model gives a probability of *male*. An {term}`error` is an answer that differs from the raters' label.
# It is a disagreement with the people who looked at the picture.

# %%
for name in MODELS:
    frame[f"error_{name}"] = ((frame[f"score_{name}"] > 0.5) != (frame["label"] == 1)).astype(int)

# %% [markdown]
# (count-the-errors)=
# ## Count the errors
#
# Now comes the audit itself. For each combination of perceived gender and skin colour we count portraits
# and errors. Each rate has a {term}`Wilson interval` {cite}`wilson`, which also works for small groups and for rates
# near zero. Among women we compare dark with light skin. The first six of each group stand at the top of the page.

# %%
strata = pd.concat(
    {
        name: error_rates.stratified_errors(frame, ["group", "skin"], error=f"error_{name}")
        for name in MODELS
    },
    names=["model", "gender", "skin"],
)

# %% tags=["remove-cell"]
saved = [stage.save("strata.parquet", strata.reset_index())]

# %%
of_women = strata.xs("female", level="gender")
dark, light = (of_women.xs(skin, level="skin") for skin in ("dark", "light"))
ratio = dark["rate"] / light["rate"]
gap = dark["rate"] - light["rate"]

# %%
asked = of_women.loc[LEADING[1]]
in_group = [(frame["group"] == "female") & (frame["skin"] == skin) for skin in ("light", "dark")]
first_six = np.concatenate([np.flatnonzero(members)[:6] for members in in_group])
faces = ppb.parameters[first_six]

# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Two rows of six portraits of women, light skin above and dark skin below, which the page shows at its top."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by faceaudit.effects.error_rates.stratified_errors.
portraits = render_to_store(faces, figure_size, stage.path("portraits.npy"), device=device)
figure = figures.gallery(portraits, ncol=6)
for axis, (skin, row) in zip(figure.axes, asked.iterrows(), strict=True):
    rate = f"{percent(row['rate'])} errors (n = {row['n']:,.0f})"
    axis.set_title(f"Women with {skin} skin: {rate}", fontsize=14, loc="left")
glue("women-of-the-test-set", figure, display=False)
plt.close(figure)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of bars, the CelebA-like model above and the FairFace-like one below: error rates of light- and dark-skinned faces, for women at the left and men at the right, with intervals and the number of portraits under each bar."}, "figure": {"name": "fig-trap-strata", "caption": "The audit by counting: error rates by perceived gender and skin colour on the PPB-like test set, with 95% Wilson intervals. Numbers under the bars count portraits."}}
# Computed by faceaudit.effects.error_rates.stratified_errors.
def paired_bars(tables, xlabel, title):
    """One panel of bars for each leading model; the bars of one group carry their names."""
    figure, axes = plt.subplots(2, 1, figsize=(NARROW, 6.2), sharex=True, sharey=True)
    for axis, (name, table) in zip(axes, tables.items(), strict=True):
        figures.bars(table, ax=axis, ylabel="error rate").get_legend().remove()
        axis.set(xlabel="")
        axis.set_title(f"{name} model", fontsize=12)
        above = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        above["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        tops = table["high"].iloc[:2].droplevel(0)
        for place, (skin, top) in zip((-0.2, 0.2), tops.items(), strict=True):
            axis.annotate(skin, (place, top), fontsize=11, **above)
    axes[0].set(ylim=(0, 1.15 * pd.concat(tables)["high"].max()))
    axes[1].set(xlabel=xlabel)
    figure.suptitle(title, fontsize=12)


paired_bars(
    {name: strata.loc[name] for name in LEADING},
    "perceived gender",
    f"{ratio[LEADING[0]]:.1f} and {ratio[LEADING[1]]:.1f} times as many errors\non dark- as on "
    "light-skinned women",
)

# %% [markdown]
# A report would give the gap (the difference of the two rates, in percentage points, or *points*) and the ratio of the rates. Both need an interval.
# The ratio grows quickly when the lower rate is near zero, so quote it together with the rates. A ratio of one
# means equal rates, as does a gap of zero. See whether the intervals contain these values.

# %%
counts = pd.concat([table[["errors", "n"]] for table in (dark, light)], axis=1)
interval = {
    name: confint_proportions_2indep(*counts.loc[name], compare="ratio") for name in LEADING
}
gaps = {
    name: confint_proportions_2indep(*counts.loc[name], compare="diff", method="newcomb")
    for name in MODELS
}


# %%
ENDS = ["estimate", "low", "high"]
of_ratio = pd.DataFrame({name: [ratio[name], *interval[name]] for name in LEADING}, ENDS).T
of_gap = pd.DataFrame({name: [gap[name], *gaps[name]] for name in LEADING}, ENDS).T
pd.concat({"dark / light": of_ratio, "dark − light, points": 100 * of_gap}).round(1)

# %% tags=["hide-input"]
claim(
    "Both models err more often on dark-skinned women, by more than chance explains.",
    margins=[margin_above(of_gap.loc[name], 0) for name in LEADING],
)

# %% [markdown]
# How does this compare with the real audit? {cite:t}`gender-shades` counted the errors of three commercial
# systems. The table sets them above our two models. Our portraits are drawn and our networks are small, so compare
# only the pattern: which group has most errors, and how the two groups of women compare (last column).

# %%
GROUPS = [("female", "dark"), ("female", "light"), ("male", "dark"), ("male", "light")]
PUBLISHED = {  # errors in per cent, table 4 of the paper
    "Microsoft, 2017": (20.8, 1.7, 6.0, 0.0),
    "Face++, 2017": (34.5, 6.0, 0.7, 0.8),
    "IBM, 2017": (34.7, 7.1, 12.0, 0.3),
}
ours = {name: 100 * strata.loc[name].loc[GROUPS, "rate"].to_numpy() for name in LEADING}
columns = pd.MultiIndex.from_tuples(GROUPS, names=["perceived gender", "skin"])
systems = pd.DataFrame.from_dict(PUBLISHED | ours, "index").set_axis(columns, axis=1)
systems["women", "dark / light"] = systems["female", "dark"] / systems["female", "light"]
systems.style.format("{:.1f}").set_caption("Errors in per cent")

# %% [markdown]
# ## A regression repeats the gap
#
# A careful analyst fits a logistic regression next. It writes the log odds of an error as a sum of effects.
# With skin colour alone, its coefficient is the {term}`log odds ratio` of dark against light skin. This is another unit than points. Zero means
# that errors are equally likely in both groups. A number above zero means more errors with dark skin, and one below zero means fewer.

# %%
women = frame[frame["group"] == "female"].rename(columns=lambda name: name.replace("-", "_"))
women = women.assign(dark=(women["skin"] == "dark").astype(int))


def logit(name, formula, data):
    """Logistic regression of a model's errors."""
    return smf.glm(f"error_{name.replace('-', '_')} ~ {formula}", data, family=Binomial()).fit()


# %%
def log_odds(name, formula="dark", data=women):
    """Coefficient of dark skin in a logistic regression of a model's errors."""
    fit = logit(name, formula, data)
    low, high = fit.conf_int().loc["dark"]
    row = {"estimate": fit.params["dark"], "low": low, "high": high}
    # A group that always or never errs has infinite log odds: no estimate.
    return row if fit.bse["dark"] < 10 else dict.fromkeys(row, np.nan)


naive = pd.DataFrame({name: log_odds(name) for name in MODELS}).T
naive.round(2)

# %% [markdown]
# The regression repeats the counts in its own unit. The function below turns a coefficient back into a difference of error rates: the mean
# prediction with every woman dark-skinned, minus that with every woman light-skinned. The last table under [](#adjust-for-hair) shows the result: its row
# *not adjusted* has the points of the gap that we counted.


# %%
def in_error_rates(name, formula="dark"):
    """What a regression says of dark skin as a difference of mean error rates, in points."""
    fit = logit(name, formula, women)
    dark, light = (fit.predict(women.assign(dark=skin)).mean() for skin in (1, 0))
    return 100 * (dark - light)


# %% tags=["remove-cell"]
assert all(np.isclose(in_error_rates(name), 100 * gap[name], atol=1e-4) for name in LEADING)

# %% [markdown]
# The errors of the null control do not depend on how a face looks, so any difference there is chance. Compare the other rows with it. An interval
# that contains zero is compatible with equal rates. An
# interval above zero in those rows tempts a reader to say that *skin makes the model worse*, and to collect more dark-skinned
# faces for training. For `plantskin` the sentence is true: we planted it ([chapter 2](02_face_world)). Look at the first figure again before you spend the money.

# %% [markdown]
# ## Who has short hair?
#
# The two rows of portraits differ in more than skin. We count how many women and men of each group the
# raters call short-haired. The same was seen in the real benchmark {cite}`transects`.

# %%
short = (frame["hair"] == "short").groupby([frame["group"], frame["skin"]], observed=False)
share = short.mean()
(100 * share).rename("short-haired, %").to_frame().style.format("{:.0f}")

# %% tags=["remove-cell"]
assert share["female", "dark"] > share["female", "light"] + 0.3

# %% [markdown]
# Among women, dark skin and short hair come together. The models learned from populations in which short hair
# mostly means a man. So there is a second explanation. Perhaps the models take *short-haired* women for men, and more
# of the dark-skinned women have short hair. We call hair a {term}`confounder`: it goes with skin and may itself
# cause errors.

# %%
by_hair = women.groupby("hair", observed=True)["error_fairface_like"].mean()

# %% tags=["hide-input"] mystnb={"image": {"alt": "A diagram with four boxes. From the box 'who is in the test set' arrows lead to 'skin colour' and to 'hair length'. Dashed arrows with question marks lead from 'hair length' and from 'skin colour' to 'error'. The arrows carry the shares of short-haired women and the error rates by hair length."}, "figure": {"name": "fig-confounding", "caption": "Two reasons why skin and errors go together, for the women of the test set. Solid: the test set ties hair to skin. Dashed: what may cause the errors. A count takes both ways together."}}
# Computed by groupby of pandas (share and by_hair, above).
tie = [f"{percent(share['female', skin], 0)} of {skin}" for skin in ("dark", "light")]
rates = f"{percent(by_hair['short'])} with short,\n{percent(by_hair['long'])} with long hair"
axis = causes.two_causes(
    tie=f"short hair:\n{tie[0]}-skinned,\n{tie[1]}-skinned",
    skin="effect of skin?",
    hair="effect of hair?",
    beside_hair=f"errors:\n{rates}",
)
_ = axis.set_title(
    f"Two explanations of one gap\n({LEADING[1]} model, n = {len(women):,})", fontsize=12
)

# %% [markdown]
# Split the women by hair, to compare light and dark skin at one length. The groups become small, so look at their
# counts under the bars and at the width of the intervals.

# %%
split = {
    name: error_rates.stratified_errors(women, ["hair", "skin"], f"error_{name.replace('-', '_')}")
    for name in LEADING
}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of bars, one above the other, for the same two models, women only: error rates by hair length, short and long, and skin colour, with wide intervals for the groups of few portraits."}, "figure": {"name": "fig-trap-split", "caption": "Errors on women by perceived hair length and skin colour, with 95% Wilson intervals. Some groups are small: read the counts."}}
# Computed by faceaudit.effects.error_rates.stratified_errors.
at_short = split[LEADING[1]].loc["short"]
paired_bars(
    split,
    "perceived hair length",
    f"Short hair, {LEADING[1]}: {percent(at_short['rate']['light'])} errors\nwith light skin, "
    f"{percent(at_short['rate']['dark'])} with dark",
)

# %% [markdown]
# First compare dark with light skin in one row, at one length. Then compare short with long hair in one column, at one skin colour. The
# table has the rates of the lower panel. A few wrong labels count for much in the smallest group.

# %%
error_at_length = split[LEADING[1]].pivot_table("rate", "hair", "skin", observed=True)
(100 * error_at_length).style.format("{:.1f}").set_caption("Errors on women, in per cent")

# %% [markdown]
# ### Try it: only hair matters
#
# Take a model on which skin has no effect, and only hair matters. Its error rates for short and long hair are those of the
# diagram with the arrows ({numref}`fig-confounding`). Change how many of the dark-skinned women have short hair.

# %% tags=["hide-input"]
widgets.explorable(
    "confounding",
    "Two bars, the error rates of light- and dark-skinned women. The second one grows with the share of dark-skinned women with short hair.",
    short=float(by_hair["short"]),
    long=float(by_hair["long"]),
    light=round(100 * share["female", "light"]),
    guess={
        "question": "Skin does nothing here. Can a gap between dark and light skin still appear?",
        "options": ["Yes", "No"],
        "right": 0,
        "because": "Errors follow hair. The group with more short hair bears more errors.",
    },
)

# %% [markdown]
# (adjust-for-hair)=
# ## Adjust for hair
#
# The textbook answer is to adjust: add hair to the regression, so that women are compared at equal hair.
# This works under four conditions. All confounders are known. They are measured without error. The regression has the right form. Each hair
# length occurs with both skin colours. Here we can vary the second condition, because we drew the faces and know their true hair length.

# %%
SWAPPED = 0.15
swap = seeding.uniforms(seed, "01_observational_audit/swap", range(len(frame)), 1)[:, 0] < SWAPPED
is_short = frame["hair"] == "short"
measured = pd.DataFrame({"hair_short": is_short, "hair_noisy": is_short ^ swap}).astype(int)
measured["hair_true"] = visible["hair_length"]
women = women.join(measured)

# %% [markdown]
# Five versions of one regression follow, from no measure of hair to the best one. The first leaves hair out. The second uses the labels *short* and *long* after
# a random part of them was swapped, as hurried raters would do. The third uses the labels as rated. The last two use length as a
# number: the raters' mean score, and the true length, which a real study lacks.

# %%
ADJUSTMENTS = {
    "not adjusted": "dark",
    f"labels, {SWAPPED:.0%} swapped": "dark + hair_noisy",
    "labels, as rated": "dark + hair_short",
    "length, as rated": "dark + hair_length",
    "length, true": "dark + hair_true",
}
adjusted = {
    name: pd.DataFrame({k: log_odds(name, f, women) for k, f in ADJUSTMENTS.items()}).T
    for name in LEADING
}

# %%
with_length = pd.DataFrame({k: log_odds(k, ADJUSTMENTS["length, true"], women) for k in MODELS}).T
moved = pd.DataFrame({name: table["estimate"] for name, table in adjusted.items()}).iloc[[0, -1]]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of intervals, one per model. From top to bottom: the log odds ratio of dark skin without adjustment, adjusted for swapped hair labels, for labels as rated, for rated length and for true length. A line at zero stands for no association."}, "figure": {"name": "fig-trap-adjusted", "caption": "The coefficient of dark skin among women under five adjustments for hair, from none (top) to the true length (bottom), with 95% intervals."}}
# Computed by log_odds (under "A regression repeats the gap").
figure, axes = plt.subplots(2, 1, figsize=(NARROW, 6.4), sharex=True)
for axis, (name, table) in zip(axes, adjusted.items(), strict=True):
    figures.forest(table, xlabel="", ax=axis)
    first, last = moved[name]
    title = f"{name}: {first:+z.2f} without hair,\n{last:+z.2f} with its true length"
    axis.set_title(with_minus(title), fontsize=12)
    axis.tick_params(labelsize=10)
_ = axes[1].set_xlabel(
    f"log odds ratio of an error,\ndark against light skin (n = {len(women):,})", fontsize=11
)

# %% [markdown]
# Read each panel from top to bottom. Over the first three rows hair is measured better and better, so the regression can assign
# more errors to hair. What remains of the gap counts as skin's, and it can be negative. The last two rows use the length itself. The data give no warning: all rows look equally trustworthy.
# The table sets the first row beside the last, also as the difference of error rates that the fit predicts.

# %%
implied = {
    name: [in_error_rates(name, ADJUSTMENTS[row]) for row in moved.index] for name in LEADING
}
implied = pd.DataFrame(implied, moved.index)
pd.concat({"log odds ratio": moved, "difference, points": implied}).round(2)

# %% [markdown]
# A negative coefficient says that dark skin goes with *fewer* errors at equal length. Is that true, or did the
# adjustment take away too much? The regression cannot tell. [Chapter 11](11_who_was_right) will compare its sign with the sign of the true effect, after the
# chapters before it have built the tools. One possible cause of a wrong sign can be counted here.

# %%
style = pd.Series(ppb.frame["hair_style"].to_numpy(), image_ids, name="hair style")
cropped = women[women["hair"] == "short"]
hidden = style[cropped.index].isin(["tied back", "covered"]).groupby(cropped["skin"], observed=True)
counted = [hidden.agg(how)[skin] for skin in ("light", "dark") for how in ("sum", "size")]
low, high = confint_proportions_2indep(*counted, compare="diff", method="newcomb")
difference = {"estimate": hidden.mean()["light"] - hidden.mean()["dark"], "low": low, "high": high}

# %% tags=["hide-input"]
claim(
    "Among the women whom raters call short-haired, hair is tied back or covered for {light:percent}% of the "
    "light-skinned and {dark:percent}% of the dark-skinned ones.",
    margins=[margin_above(difference, 0)],
    **hidden.mean(),
)

# %% [markdown]
# Tied hair looks shorter than it is, and covered hair has no visible length. So "short" means different looks
# in the two groups. Adjusting for length does not adjust for the look that a model sees. Hair colour and other
# things that go with skin are left out altogether. So the coefficient for dark skin mixes all these things.

# %% [markdown]
# ## Impact and cause
#
# The counts remain true. On portraits like these, dark-skinned women bear more errors, and those who deploy the
# model answer for that. This is *disparate impact*, a fact about one population. To repair a model we need causes.
#
# So the book asks: **can we audit a model by an experiment, changing one {term}`attribute` of a face and
# holding the others fixed?** {cite:t}`transects` let a generative network make the faces. We do the same and check
# each step against a {term}`known truth`.

# %% tags=["remove-cell"]
columns = [*annotations.ATTRIBUTES, "label", "group", "skin", "hair"]
columns += [f"{kind}_{name}" for name in MODELS for kind in ("score", "error")]
saved.append(stage.save("ppb.parquet", frame[columns]))
saved.append(stage.save("ppb_parameters.npy", ppb.parameters.numpy()))

# %% tags=["remove-cell"]
sign = {1: "**more**", -1: "**fewer**"}
first, last = (sign.get(value, "as many") for value in np.sign(moved[LEADING[1]]))
glue(
    "answer",
    Markdown(
        f"**Counting cannot tell.** One of our classifiers ({LEADING[1]}, see below) errs on {percent(asked['rate']['dark'])} of "
        f"dark-skinned and on {percent(asked['rate']['light'])} of light-skinned women. But "
        f"{percent(share['female', 'dark'], 0)} of the dark-skinned and "
        f"{percent(share['female', 'light'], 0)} of the light-skinned women have short hair, so skin or "
        f"hair may cause the gap. A regression without hair finds {first} errors with dark skin. With the true hair length in it, the same "
        f"regression finds {last} than with light skin. These data cannot say which is right, so the book makes an experiment."
    ),
    display=False,
)

# %% [markdown]
# ## What would change our mind
#
# Two things together make a count mislead. Women of the two skin colours wear their hair differently in the test set, as
# shown above. And hair, or what goes with it, has to cause errors. This is a suspicion, and counting cannot prove it.
# [](10_matched_pairs) tests it on made faces, and [chapter 11](gap-taken-apart) on these very women.

# %% [markdown]
# ## Exercises
#
# ```{exercise} The other direction, 10 minutes, medium
# :label: exercise-trap-simpson
#
# Could adjusting for hair *create* an association of skin with errors where the raw rates are equal? Invent
# a population of four groups, with dark-skinned women who have *longer* hair, and compute both rates.
#
# **Check:** the raw rates of the two skin colours are equal, and at each hair length they differ.
# ```

# %% [markdown]
# ```{solution-start} exercise-trap-simpson
# :class: dropdown
# ```
#
# Yes. Let dark skin and short hair both raise errors, and let dark-skinned women have longer hair. The two effects
# can cancel in the raw rates. An audit that finds equal rates can therefore miss an effect of skin.

# %% tags=["solution"]
groups = pd.DataFrame({"dark": [0, 0, 1, 1], "short": [0, 1, 0, 1], "n": [200, 800, 800, 200]})
groups["rate"] = 0.04 + 0.06 * groups["dark"] + 0.10 * groups["short"]
raw = groups.assign(errors=groups["rate"] * groups["n"]).groupby("dark")[["errors", "n"]].sum()
raw["errors"] / raw["n"]

# %% tags=["solution"]
at_equal_hair = groups.pivot_table("rate", "short", "dark")
assert np.isclose(*(raw["errors"] / raw["n"])) and (at_equal_hair[1] > at_equal_hair[0]).all()
at_equal_hair

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} How noisy is noisy? 15 minutes, easy
# :label: exercise-trap-noise
#
# Repeat the adjustment for several shares of swapped labels, from zero to one half, and then for one. How
# does the coefficient of dark skin change with the share?
#
# **Check:** the shares zero and one give the same coefficient.
# ```

# %% [markdown]
# ```{solution-start} exercise-trap-noise
# :class: dropdown
# ```
#
# At one half the label is a coin toss. It carries no information about hair, so the coefficient returns to its
# unadjusted value, up to chance. A share of one only exchanges the names *short* and *long*.

# %% tags=["solution"]
draws = seeding.uniforms(seed, "exercise", range(len(frame)), 1)[:, 0]
shares = (0, 0.1, 0.2, 0.3, 0.5, 1)

# %% tags=["solution"]
noisy = {s: (is_short ^ (draws < s)).astype(int).rename("noisy") for s in shares}
curve = pd.DataFrame(
    {s: log_odds(LEADING[1], "dark + noisy", women.join(one)) for s, one in noisy.items()}
).T
curve.rename_axis("share swapped").round(2)

# %% tags=["solution"]
assert np.isclose(curve["estimate"][0], curve["estimate"][1], equal_nan=True)
away = (curve["estimate"] - naive.loc[LEADING[1], "estimate"]).abs()
question(
    "The coefficient lies {none:.2f} from its unadjusted value when labels are as rated, and {half:.2f} "
    "when half of them are swapped. Is the second distance smaller?",
    margin=away[0] - away[0.5],
    error=(curve["high"] - curve["low"])[0] / 3.92,
    none=away[0],
    half=away[0.5],
)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - An audit that counts errors by group describes one population. It shows impact.
# - Skin comes with hair in this test set, so the counts fit two causes.
# - Adjusting needs well-measured hair, all other confounders, and enough women in every group. The data give
#   no warning when one of these is missing.
#
# **Next:** chapter 2 builds the world in which these faces are drawn and the true answer is known.


# %% tags=["remove-cell"]
def nullable(table):
    """Rows of a table by name, with null where there is no estimate."""
    return table.astype(object).where(table.notna(), None).T.to_dict()


_ = stage.finish(
    {
        "error_dark_women": dark["rate"].to_dict(),
        "error_light_women": light["rate"].to_dict(),
        "ratio": ratio.to_dict(),
        "gap_of_women": {
            name: {"estimate": gap[name], "low": low, "high": high}
            for name, (low, high) in gaps.items()
        },
        "naive_skin_log_odds": nullable(naive),
        "adjusted_skin_log_odds": nullable(with_length),
    }
)
