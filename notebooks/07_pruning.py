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
# # Pruning
#
# *You need [chapter 6](06_annotation_ingestion) (the raters' scores of each image). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# Some images look fake. On others raters see a gender or a skin colour in the middle of the scale, or hair
# of unclear length. {cite:t}`transects` leave such images out. Which images do their rules
# remove, and are the remaining images still matched?
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
# | Population | the made faces of [](05_transect_generation) with fitted directions |
# | Unit | one image; pairs and transects are groups of images of one face |
# | Intervention | the levels of skin colour, hair length and gender |
# | Held fixed | everything else about the face, as far as leakage allows, in the *complete* transect |
# | Outcome and who labels it | whether an image is kept, by the mean scores of the simulated raters |
# | Estimand | shares kept by cell; differences in other attributes between the levels of an axis |
# | Tolerance and n | no tolerance, since no model is judged here; n stands in each figure |
# | Decision at stake | on which images later chapters count errors |
# | Known failure | pruning reads scores that the treatment has changed: selection after treatment |
# :::

# %% tags=["hide-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from matplotlib.ticker import MultipleLocator, PercentFormatter
from myst_nb import glue
from scipy.stats import norm, ttest_ind
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.multitest import multipletests

import facerender
from faceaudit import annotations
from faceaudit.annotations import ATTRIBUTES
from faceaudit.effects import error_rates, pruning, resampling
from faceaudit.effects.pruning import ADULT_RULE, PAPER_RULES
from faceaudit.utils.formatting import p_value, with_minus
from faceworld import crowd, populations
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import Margin, claim, question
from helpers.figures import panels

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
stage = Stage("07_pruning", profile=profile, device=device, seed=seed)
figures.style()
pd.set_option("display.precision", 3)

# %% [markdown]
# We join the raters' scores of chapter 6 to the images of chapter 5. The rules of this chapter then decide which images stay. The first figure also counts the
# transects that stay whole.

# %%
index = stage.load("05_transect_generation", "fitted_index.parquet").set_index("image_id")
parameters = np.array(stage.load("05_transect_generation", "fitted_parameters.npy"))
parameters = torch.from_numpy(parameters)
frame = index.join(stage.load("06_annotation_ingestion", "scores.parquet"))

# %%
stays = frame.index.isin(pruning.prune(frame, PAPER_RULES)[0].index)
whole = pd.Series(stays).groupby(frame["transect"].to_numpy()).all()

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two squares of one hundred tiles. In the left one, which stands for images, few tiles are empty. In the right one, which stands for complete transects, far more tiles are empty."}, "figure": {"name": "fig-waffle", "caption": "Each tile is one per cent. Left: the images that the four rules keep. Right: the transects that keep all eight images. Empty tiles are lost."}}
_, pair = plt.subplots(1, 2, figsize=(PHONE, 3.1))
kinds = (("images", "are kept", stays, "estimate"), ("transects", "are complete", whole, "truth"))
across, up = np.arange(100) % 10, np.arange(100) // 10
for ax, (name, state, keeps, role) in zip(pair, kinds, strict=True):
    filled = np.arange(100) < round(100 * np.mean(keeps))
    colour = figures.LOOKS[role].colour
    ax.scatter(across[filled], up[filled], 85, colour, marker="s")
    ax.scatter(across[~filled], up[~filled], 85, "white", marker="s", edgecolors="#999999")
    ax.set_title(f"{np.mean(keeps):.0%} of {len(keeps):,} {name}\n{state}", fontsize=11)
    ax.set(aspect="equal", xlim=(-0.7, 9.7), ylim=(-0.7, 9.7))
    ax.axis("off")

# %% [markdown]
# ## The rules of the paper
#
# {term}`Pruning` means to remove images before the analysis. Each image has a row with its
# {term}`transect`, the intended level of each axis (zero is low, one is high), the mean scores that raters gave, and its
# {term}`fakeness`. Here are four rows, turned into columns.

# %%
axes = ["skin_colour", "hair_length", "gender"]
levels = [f"{axis}_level" for axis in axes]
shown = frame[["transect", *levels, *axes, "fakeness"]].head(4).T
shown = shown.rename(lambda name: name.replace("_", " ")).rename_axis(columns="image")
shown.style.format("{:g}").format_index(escape="html", axis=1)

# %% [markdown]
# Section 5.2.1 of the paper has four rules, and each one names a range of scores. The first rule
# removes an image that raters call "likely fake" or worse. The other three remove ambiguous images:
# gender and skin colour near the middle of their scales, and hair length in a band below the middle.
# The rules read the scores that raters gave. The intended levels play no part.

# %%
kept, report = pruning.prune(frame, PAPER_RULES)
shown = report.drop(columns="reason").rename(columns={"dropped_here": "dropped here"})
shown.replace({"attribute": "_"}, {"attribute": " "}, regex=True)

# %% tags=["remove-cell"]
stage.save("report.parquet", report)

# %% [markdown]
# *Dropped* counts the images that match a rule. *Dropped here* leaves out those that an earlier rule
# had removed, so it depends on the order of the rules. The next cell keeps one column of decisions
# for each rule beside each image. Dropped images stay in the file, so a later chapter can combine
# the rules in another way.

# %%
frame["kept"] = frame.index.isin(kept.index)
adults, _ = pruning.prune(frame, ADULT_RULE)
frame["adult"] = frame.index.isin(adults.index)
for name, interval in PAPER_RULES.items():
    frame[f"drop_{name}"] = ~frame.index.isin(pruning.prune(frame, {name: interval})[0].index)

# %% [markdown]
# One more rule serves the comparison with a test set of parliamentarians, who are adults. Section 5.4
# of the paper removes faces that look like children or teenagers. Only adults were made
# ([](05_transect_generation)). But some images look younger to raters, and the rule reads their scores.
# The table sets our numbers of images beside those of the paper.

# %%
kept_adults = frame[frame["kept"] & frame["adult"]]
STEPS = ["generated", "after the four rules", "and adult"]
sizes = {"paper": [8_000, 5_713, 5_335], "here": [len(frame), len(kept), len(kept_adults)]}
sizes = pd.DataFrame(sizes, STEPS).T
sizes["share after four rules"] = sizes["after the four rules"] / sizes["generated"]
sizes.style.format({"share after four rules": "{:.0%}"}, thousands=",")

# %% tags=["hide-input"]
young = (~frame["adult"]).groupby(frame["transect"]).sum()
Markdown(
    f"The rule for age removes images of {(young > 0).sum()} transects, and all eight images of {(young == 8).sum()} of them."
)

# %% tags=["remove-cell"]
assert len(kept_adults) <= len(kept) <= len(frame)
assert report["remaining"].iloc[-1] == len(kept)
assert (frame["kept"] == ~frame.filter(like="drop_").any(axis=1)).all()

# %% [markdown]
# ### Look at what is dropped
#
# Look at the excluded images before you look at any result. Each row below shows images in the order
# of their mean score for one attribute, as evenly spaced as possible. A cross marks a score that the
# rule removes. Ask yourself in each row: would you hesitate where the crosses are?

# %%
shuffled = frame.sample(frac=1, random_state=seed)
lined_up = {}
for axis in axes:
    one_per_score = shuffled.drop_duplicates(axis).sort_values(axis).index
    lined_up[axis] = one_per_score[np.linspace(0, len(one_per_score) - 1, 7).astype(int)]
chosen = [image for row in lined_up.values() for image in row]
portraits = facerender.render(parameters[frame.index.get_indexer(chosen)], figure_size).image

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three rows of seven rendered faces each, ordered by perceived skin colour, hair length and gender. The mean score is printed above each face, and a cross follows the scores in the middle of a row, which are dropped."}, "figure": {"name": "fig-pruned-faces", "caption": "Images in the order of their mean score for one attribute, printed above. A cross marks a score that the attribute's rule drops. As in Fig. 10 of the transects paper."}}
# Computed by faceaudit.effects.pruning.prune.
marks = [
    f"{frame[axis][image]:.2f}{' ✗' if frame[f'drop_{axis}'][image] else ''}"
    for axis, row in lined_up.items()
    for image in row
]
row_names = [axis.replace("_", "\n") for axis in axes]
figure = figures.gallery(portraits, 7, titles=marks, row_labels=row_names)
_ = figure.set_size_inches(PHONE, 2.7)

# %% [markdown]
# (erratum-match)=
# ## Pairs and transects break
#
# A {term}`matched pair` compares two images of one face that differ in one attribute. If one of them
# goes, the other has lost its partner. A transect has eight images, and it breaks when any of them
# goes. Suppose that each image is dropped independently of the others. Then a pair survives with the square of an
# image's chance, and a transect with its eighth power. The last column shows this.

# %%
table = pruning.completeness(frame, kept, levels)
exponent = table["unit"].map({"image": 1, "pair": 2, "transect": 8})
independent = table["share"].iloc[0] ** exponent
shown = table.assign(**{"if independent": independent}).replace("_", " ", regex=True)
shown.set_index(["unit", "axis"]).round(2)

# %%
share = table.groupby("unit")["share"].max()
pairs = pruning.completeness(frame, kept_adults, levels)

# %% tags=["hide-input"]
claim(
    "{image:.0%} of the images survive, at most {pair:.0%} of the pairs along an axis "
    "and {transect:.0%} of the transects. If images were dropped independently, {alone:.0%} of the "
    "transects would survive.",
    holds=share["image"] > share["pair"] > share["transect"],
    alone=independent[table["unit"] == "transect"].item(),
    **share,
)

# %% [markdown]
# A face that is hard to read in one version may be hard to read in the others too. Then images of one
# face leave together, and more transects survive than the eighth power says. Each transect adds its
# own part to this surplus, so the spread of the parts gives the standard error.

# %%
part = frame.groupby("transect")["kept"].mean()  # the share of a transect's images that are kept
slope = 8 * part.mean() ** 7  # of the eighth power
more = (part == 1) - part.mean() ** 8 - slope * (part - part.mean())

# %% tags=["hide-input"]
surplus, reach = more.mean(), norm.isf(0.025) * more.sem()
question(
    "Do more transects survive than independent losses would leave? The surplus is {surplus:points} points.",
    margin=surplus,
    error=more.sem(),
    surplus={"estimate": surplus, "low": surplus - reach, "high": surplus + reach},
)

# %% [markdown]
# So an analyst has three options: to use complete transects, complete pairs, or all images that pass the
# rules. The first two leave fewer images and cost precision. The third compares partly
# different faces, and may cost the match. [](n10_direct_effects) gives the average effect of skin for pairs
# and for complete transects.

# %% [markdown]
# (erratum-pruning)=
# ## Pruning selects after the treatment
#
# Random losses would cost precision only. Here a rule reads the *perceived* score, and the
# treatment changes that score. The treatment therefore helps to decide which version of a face
# survives. This is *selection after treatment*. As a first test, we ask whether the eight cells of
# the design lose equal shares. We form cells by the *intended* levels, which were assigned before any
# rater saw the images.

# %%
names = {"skin_colour": ["light skin", "dark skin"], "hair_length": ["short hair", "long hair"]}
skin, hair = (frame[f"{axis}_level"].map(pd.Series(two)) for axis, two in names.items())
cells = pd.DataFrame({"intended skin, hair": skin + ",\n" + hair, "dropped": ~frame["kept"]})
cells["gender"] = frame["gender_level"].map({0: "female", 1: "male"})
losses = error_rates.stratified_errors(cells, ["intended skin, hair", "gender"], "dropped")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grouped bars, four combinations of intended skin colour and hair length with one bar for intended female and one for male faces: the share of images dropped, with 95% intervals and the count under each bar."}, "figure": {"name": "fig-losses", "caption": "Share of images that the four rules drop, in each cell of the design (intended levels), with Wilson 95% intervals and the number of images generated."}}
# Computed by faceaudit.effects.error_rates.stratified_errors.
ax = plt.figure(figsize=(PHONE, 4.4)).gca()
figures.bars(losses, ylabel="share dropped", ax=ax)
ax.yaxis.set_major_locator(MultipleLocator(0.05))
ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
ax.tick_params(labelsize=10)
title = f"The eight cells lose {losses['rate'].min():.0%} to\n{losses['rate'].max():.0%} of their images"
_ = ax.set_title(title, pad=32)

# %%
level = stage.load("audit_plan", "plan.json")["level"]
lost = frame.assign(lost=~frame["kept"]).pivot_table("lost", "transect", levels)
equal = cochrans_q(lost.to_numpy(dtype=int)).pvalue

# %% tags=["hide-input"]
said = "The cells lose unequal shares." if equal <= level else "The cells may lose equal shares."
Markdown(f"{said} Cochran's test, with transects as units, has a p-value of {p_value(equal)}.")

# %% [markdown]
# The band of hair length lies below the middle of its scale, so its rule need not treat both lengths alike. The table
# has the share of images that this rule drops, at each intended length.

# %%
at_length = frame.groupby("hair_length_level")["drop_hair_length"].mean()
at_length.set_axis(["short", "long"]).to_frame("dropped for hair").style.format("{:.1%}")

# %% [markdown]
# Unequal losses tie the axes together. In the full grid each hair length has as many women as men.
# Suppose that short-haired women are dropped more often. Then women are rarer among the short-haired
# images that remain, and hair length now goes together with gender. The transects were built to
# remove this very confounding.

# %% [markdown]
# ### Does the match survive?
#
# A {term}`standardised difference` says how far two groups differ in another attribute: the
# difference of their means, divided by the standard deviation of all images. In a perfect match it
# is zero for all attributes but the manipulated one. The function computes it for the data and for
# many resamples of whole transects at once.

# %%
transects = np.unique(frame["transect"])
names = list(ATTRIBUTES)


def imbalance(rows: pd.DataFrame, axis: str) -> np.ndarray:
    """Standardised differences high − low: (data and resamples, attributes)."""
    summed = [*names, "n"]
    sums = rows.assign(n=1).pivot_table(summed, "transect", f"{axis}_level", "sum", fill_value=0)
    sums = sums[summed].reindex(transects, fill_value=0)
    resampled = resampling.resampled_sums(sums, range(n_boot), seed)
    totals = np.vstack([sums.sum(), resampled]).reshape(n_boot + 1, len(names) + 1, 2)
    means = totals[:, :-1] / totals[:, -1:]
    return (means[:, :, 1] - means[:, :, 0]) / frame[names].std().to_numpy()


# %% [markdown]
# For each axis we compare all images with the kept ones. Both sets share images, so we take the
# *change* of a difference within each resample. Seven changes for each of three axes make many tests,
# and the largest of them looks large by chance alone. {term}`Holm's procedure` corrects the p-values
# for this. A small corrected p-value says that pruning has upset the balance. The table counts the changes
# that are clear of zero after Holm, and has the change that such a study would find about half of the time.

# %%
shifts = {axis: imbalance(frame[frame["kept"]], axis) - imbalance(frame, axis) for axis in axes}
changes = {
    axis: pd.DataFrame({"change": shift[0], "se": shift[1:].std(axis=0)}, names).drop(axis)
    for axis, shift in shifts.items()
}
upset = pd.concat(changes, names=["axis", "attribute"])
upset["p, Holm"] = multipletests(2 * norm.sf(upset["change"].abs() / upset["se"]), method="holm")[1]

# %%
clear = (upset["p, Holm"] <= level).sum()
half_found = norm.isf(level / 2 / len(upset)) * upset["se"].median()
found = {
    "changes": len(upset),
    "clear of zero": clear,
    "change found half of the time (SD)": half_found,
}
pd.DataFrame(found, ["here"]).round(2)

# %%
spans = upset.rename(columns={"change": "estimate"}).reset_index().replace("_", " ", regex=True)
reach = norm.isf(0.025) * spans["se"]
spans = spans.assign(low=spans["estimate"] - reach, high=spans["estimate"] + reach)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Eight attributes in rows. In each row there are two or three points with intervals, one for each axis of the design other than the attribute itself: the change of the standardised difference when pruned images are left out, around a line at zero."}, "figure": {"name": "fig-balance", "caption": "Change of the standardised difference in every other attribute between the high and the low level of an axis, when pruned images are left out: in hundredths of a standard deviation, with 95% intervals from resampled transects. Each interval is for one change alone. The title counts the changes after Holm's correction for all of them, which is stricter."}}
# Computed by imbalance (above) with faceaudit.effects.resampling.resampled_sums.
unit = "change, hundredths of a standard deviation"
drawn = panels.intervals(spans, "attribute", "axis", xlabel=unit)
drawn.set_size_inches(PHONE, 6)
drawn.legends[0].set_title("high − low level of")
_ = drawn.axes[0].set_title(f"After Holm, {clear} of {len(upset)} changes\nare clear of zero")

# %% [markdown]
# Complete pairs keep the match, up to {term}`leakage`: both levels then show the same faces. We keep
# an image only if its partner along the axis is kept too, and take the largest standardised difference of
# any other attribute in each set. The part that is left in complete pairs is leakage.

# %%
sets = {"all images": dict.fromkeys(axes, frame), "kept images": dict.fromkeys(axes, kept)}
sets["complete pairs"] = {
    axis: pruning.complete_pairs(frame, kept, level, [other for other in levels if other != level])
    for axis, level in zip(axes, levels, strict=True)
}

# %%
largest = {}
for which, rows in sets.items():
    sizes = {axis: np.abs(imbalance(rows[axis], axis)[0]) for axis in axes}
    sizes = {axis: pd.Series(size, names).drop(axis) for axis, size in sizes.items()}
    sizes = pd.concat(sizes)
    axis, other = sizes.idxmax()
    largest[which] = {"largest difference": sizes.max(), "of attribute": other, "along axis": axis}
pd.DataFrame(largest).T.replace("_", " ", regex=True).style.format(precision=2)

# %% [markdown]
# The selection remains. Faces whose two versions are *both* clear to raters are special faces, and an
# effect that is estimated on them holds for them. For all faces it may be smaller or larger.

# %% [markdown]
# ### The divided cases go
#
# There is a second consequence. Suppose that the audited model were one of the {term}`annotator`s,
# picked at random and compared with the majority of all. Its error rate tells how hard a set of
# images is. It is too favourable, because each annotator is part of the majority. An answer
# in the middle counts as half an error.

# %%
columns = ["image_id", "attribute", "level"]
tidy = stage.load("06_annotation_ingestion", "annotations.parquet", columns)
seen = tidy[tidy["attribute"] == "gender"].set_index("image_id")["level"] / 4
label = frame["label"].reindex(seen.index)
one_annotator = ((np.sign(seen - 0.5) * (1 - 2 * label) + 1) / 2).groupby(level=0).mean()

# %%
dropped = frame.index[frame["drop_gender"]]
sets = {"all images": frame.index, "kept": kept.index, "dropped for gender": dropped}
alone = {which: one_annotator[rows].mean() for which, rows in sets.items()}
sure = {which: one_annotator[rows].sem() for which, rows in sets.items()}

# %%
# Do the dropped images have more than one and a half times the errors of the kept ones?
harder = alone["dropped for gender"] - 1.5 * alone["kept"]
harder_error = np.hypot(sure["dropped for gender"], 1.5 * sure["kept"])

# %% tags=["remove-cell"]
assert one_annotator.between(0, 1).all()

# %% tags=["hide-input"]
claim(
    "A single annotator errs on {dropped:.0%} of the {n} images that are dropped "
    "for gender, and on {kept:.0%} of those that are kept.",
    margins=[Margin(harder, harder_error)],
    n=len(dropped),
    dropped=alone["dropped for gender"],
    kept=alone["kept"],
)

# %% [markdown]
# The rule for gender removes images with a mean score in the middle: raters are divided, or choose the
# middle. So the kept images are easier for people. For models, [](08_stratified_errors) counts both sets. Easy faces may be useful in an
# audit. But a camera at a door also meets people whose gender others find hard to read, and an audit
# without them says little about these people.

# %% [markdown]
# ### The file for later chapters
#
# Later chapters read one row of decisions for each image. [](08_stratified_errors) counts errors
# among kept and among dropped images. [](n10_direct_effects) gives the average effect of skin for all
# pairs, for kept pairs, and for complete transects, beside the truth. If the three agree, pruning
# did little harm to that number.

# %%
complete = pruning.complete_transects(kept_adults, size=2 ** len(axes))
frame["complete_transect"] = frame.index.isin(complete.index)
decisions = frame[["kept", "adult", "complete_transect", *frame.filter(like="drop_")]]

# %% tags=["remove-cell"]
_ = stage.save("kept.parquet", decisions)
# %% [markdown]
# ## Transects beside collected sets
#
# Is it worth making faces instead of collecting photographs? In collected sets attributes come in
# bundles. We let the same crowd rate three *collected sets*. Ours are drawn: they imitate a set of
# parliamentarians, celebrities, and a photo-sharing site, and borrow only the proportions of the real
# sets (see [](data-and-ethics)).

# %%
WILD = {"ppb-like": "ppb", "celeba-like": "celeba", "ffhq-like": "ffhq"}


def perceived(name: str) -> pd.DataFrame:
    """Scores of a sample of a population, as the crowd gives them."""
    shown = facerender.visible_scores(populations.sample(name, n_population, seed).parameters)
    answers = crowd.annotate(
        crowd.perceived(shown), n_raters, seed=seed, stage=f"{stage.name}/{name}"
    )
    answers = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    tidy = answers.melt("image_id", names, var_name="attribute", value_name="level")
    return annotations.scores(tidy).reset_index(drop=True).assign(population=name)


wild = pd.concat(map(perceived, WILD), ignore_index=True)

# %% tags=["remove-cell"]
stage.save("populations.parquet", wild)

# %% [markdown]
# The transects enter twice: all adults, and the adults that pruning keeps. Each face is sorted by
# perceived gender and by perceived skin colour. Then we compare the mean hair length of women and men.

# %%
grid = {"transects": frame[frame["adult"]], "kept transects": kept_adults}
grids = [rows.assign(population=name) for name, rows in grid.items()]
both = pd.concat([wild.replace({"population": WILD}), *grids])
both = both[[*names, "population"]].reset_index(drop=True)
both["seen as"] = error_rates.majority(both["gender"]).map({0: "female", 1: "male"})
both["skin"] = error_rates.discretize(both["skin_colour"], *error_rates.STRATA["skin_colour"])
both["population"] = pd.Categorical(both["population"], [*WILD.values(), *grid])

# %%
means = both.pivot_table("hair_length", "population", "seen as", observed=True)
gap = (means["female"] - means["male"]).abs()
gap_error = both.groupby(["population", "seen as"], observed=True)["hair_length"].sem()
gap_error = (gap_error**2).groupby("population", observed=True).sum() ** 0.5

# %%
# Is each gap of the collected sets more than twice each gap of the transects?
wider_gaps = [
    Margin(gap[name] - 2 * gap[made], np.hypot(gap_error[name], 2 * gap_error[made]))
    for name in WILD.values()
    for made in grid
]

# %% tags=["hide-input"]
claim(
    "Mean hair length of women and men differs by {least:.2f} to {most:.2f} of its scale "
    "in the collected sets, and by at most {ours:.3f} in the transects, before and after pruning.",
    margins=wider_gaps,
    least=gap[[*WILD.values()]].min(),
    most=gap[[*WILD.values()]].max(),
    ours=gap[[*grid]].max(),
)

# %% [markdown]
# Chapter 1 met a bundle of three: in a set like that of the parliaments, dark-skinned women mostly
# wear short hair. So we now compare hair length between light and dark skin *within* each gender.
# A model that stumbles over hair will look as if it stumbled over skin wherever the two go together.

# %%
gaps = {}
for (population, gender), rows in both.groupby(["population", "seen as"], observed=True):
    light, dark = (rows.loc[rows["skin"] == skin, "hair_length"] for skin in ("light", "dark"))
    interval = ttest_ind(dark, light, equal_var=False).confidence_interval()
    gap = {"estimate": dark.mean() - light.mean(), "low": interval.low, "high": interval.high}
    gaps[population, gender] = gap | {"n": len(rows)}
gaps = pd.DataFrame(gaps).T.astype({"n": int})

# %%
ppb, ours = (gaps.loc[(name, "female")].to_dict() for name in ("ppb", "transects"))
ppb_error, our_error = ((one["high"] - one["low"]) / (2 * norm.ppf(0.975)) for one in (ppb, ours))
shorter = -ppb["estimate"] - 2 * abs(ours["estimate"])
shorter_error = np.hypot(ppb_error, 2 * our_error)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Ten horizontal intervals around a line at zero: the difference in mean hair length between dark and light skin, by data set and perceived gender. That of women in the ppb set lies far to the left of zero."}, "figure": {"name": "fig-hair-gap", "caption": "Difference in mean perceived hair length, dark minus light skin, within data set and perceived gender, with 95% intervals. The sets imitate portraits of parliaments (ppb), of celebrities (celeba) and of a photo-sharing site (ffhq). Intervals of the transects ignore the match and are too wide if anything."}}
# Computed by scipy.stats.ttest_ind.
ax = plt.figure(figsize=(PHONE, 5.8)).gca()
figures.forest(gaps, None, "hair length, dark − light skin", ax)
ax.locator_params(axis="x", nbins=5)
title = f"Women's hair, dark − light skin:\n{ppb['estimate']:z.2f} (ppb), {ours['estimate']:z.2f} (transects)"
_ = ax.figure.suptitle(with_minus(title), fontsize=12)

# %% tags=["hide-input"]
claim(
    "Women of the set that imitates parliaments have shorter hair where their skin is "
    "dark, by {by:z.2f} of the scale. In the transects the difference, dark minus light, is {ours:z.2f}.",
    margins=[Margin(shorter, shorter_error)],
    by={"estimate": -ppb["estimate"], "low": -ppb["high"], "high": -ppb["low"]},
    ours=ours,
)

# %% [markdown]
# The match has a price. All base faces are clean-shaven and lightly made up, and they stay so when
# their gender changes. In the collected sets beards and makeup differ between women and men. An
# effect of gender on these made faces is an effect of the *shape* of the face, and of unrated
# attributes that leak. The [gallery](n09_replication_gallery) shows all attributes in all sets.

# %% [markdown]
# ## What would change our mind
#
# - If all cells lost the same share and all standardised differences stayed equal, pruning would not upset
#   the match. It would cost precision, and the effect would be that on faces which are clear to raters.
# - If images were ambiguous because of artefacts of the generator, dropping them would be right. A
#   broken image is a failure of the instrument.
# - If the effects for all pairs, kept pairs and complete transects agree in [](n10_direct_effects), the
#   selection is real but does little to the audited models.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Independent losses, 5 minutes, easy
# :label: ex-half-kept
# Images are dropped independently of each other, each with a chance of one quarter. Which share of
# the pairs and of the transects of eight images stays complete? Simulate it, and compare with the formula.
#
# **Check:** your simulated shares come within a hundredth of the formula when you draw a hundred
# thousand transects.
# ```

# %% [markdown]
# ```{solution-start} ex-half-kept
# :class: dropdown
# ```

# %% tags=["solution"]
draws = np.random.default_rng(0).random((100_000, 8)) > 0.25
simulated = draws[:, :2].all(axis=1).mean(), draws.all(axis=1).mean()
assert np.allclose(simulated, [0.75**2, 0.75**8], atol=0.01)
stay = {"simulated": simulated, "formula": (0.75**2, 0.75**8)}
pd.DataFrame(stay, ["pair", "transect"]).round(2)

# %% [markdown]
# If the observed share is higher than the column *if independent* of the table, the images of one face
# tend to be kept or dropped together.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Prune whole transects, 5 minutes, medium
# :label: ex-prune-intended
# A colleague proposes to drop a *whole transect* as soon as one of its images is ambiguous. Is that
# still selection after treatment? Which faces does the effect describe then?
#
# **Check:** compare the share of women at each hair length among the complete transects.
# ```

# %% [markdown]
# ```{solution-start} ex-prune-intended
# :class: dropdown
# ```

# %% tags=["solution"]
entire = pruning.complete_transects(kept, size=8)
women = (1 - entire["gender_level"]).groupby(entire["hair_length_level"]).mean()
assert (women == 0.5).all() or entire.empty
women.rename({0: "short hair", 1: "long hair"}).rename_axis(None).to_frame("share of women")

# %% [markdown]
# Both levels of each axis keep the same faces, so the comparison is fair. But the treatment still helps
# to decide which faces remain. The effect holds for faces that are clear to raters in all eight
# versions, and it may differ for the others. Pruning by the *base* face, before any change, would avoid
# this.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} A wider band, 10 minutes, medium
# :label: ex-wider-band
# Double the width of the ambiguous range of gender and prune again. Predict first: how many more
# images go, and how far does the error of one annotator fall?
#
# **Check:** the wider rule drops all images that the paper's rule drops.
# ```

# %% [markdown]
# ```{solution-start} ex-wider-band
# :class: dropdown
# ```

# %% tags=["solution"]
wider = dict(PAPER_RULES) | {"gender": pd.Interval(0.3, 0.7, closed="both")}
stricter = pruning.prune(frame, wider)[0].index
assert stricter.isin(kept.index).all()
rules = {"the paper's rule": kept.index, "the wider rule": stricter}
price = pd.DataFrame({"kept": [len(rows) for rows in rules.values()]}, [*rules])
price["error of one annotator"] = [one_annotator[rows].mean() for rows in rules.values()]
price.style.format({"error of one annotator": "{:.1%}"}, thousands=",")

# %% [markdown]
# Raters were evenly divided about the images that the paper's rule drops, so these go in both cases.
# The wider band takes images on which most raters agree. Compare its price in images with its gain in
# agreement.

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - Losing some images loses a larger share of the pairs, and a still larger share of the transects.
# - Pruning reads scores that the treatment changes, so it selects after treatment. Report the average
#   effect pruned and unpruned.
# - Complete pairs keep the match, up to leakage. They describe the faces that are clear to raters.
#
# **Next:** [chapter 8](08_stratified_errors) counts the models' errors on the kept images, group by group.

# %% tags=["remove-cell"]
count = table.set_index("unit")["share"]
glue(
    "answer",
    Markdown(
        "The rules drop images that look fake, and those with a gender or skin colour in the middle of the scale, or with hair of "
        f"unclear length. They keep {count['image']:.0%} of the images, but only {count['transect']:.0%} of the transects keep "
        "all eight of theirs. One lost image is enough to break a transect. "
        f"The eight combinations of skin, hair and gender lose {losses['rate'].min():.0%} to {losses['rate'].max():.0%} of their images, and "
        f"{clear} of {len(upset)} checks of the match find that pruning upset it. "
        "The rules read scores that a change of skin, hair or gender moves. So [note N10](n10_direct_effects) gives the "
        "average effect with and without pruning."
    ),
    display=False,
)

# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "generated": len(frame),
        "kept": len(kept),
        "kept_adults": len(kept_adults),
        "complete_transects": len(complete) // 2 ** len(axes),
        "complete_pairs": dict(
            zip(axes, pairs.loc[pairs["unit"] == "pair", "after"].tolist(), strict=True)
        ),
        "share_dropped": {", ".join(k).replace("\n", " "): r for k, r in losses["rate"].items()},
        "hair_gap_women": gaps.xs("female", level=1)["estimate"].to_dict(),
    }
)
