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
# # Remedies and sensitivity measures
#
# *This note belongs to chapter 13. It has the other measures of the paper on flips, and tries what could
# save an audit whose generator moves too much. Reading: {{minutes}} minutes.*
#
# *The paper* is the later one of Denton and colleagues {cite}`sensitivity`, which follows their workshop paper
# {cite}`sensitivity-w`. The first cells load what chapter 13 computed: scores, vectors and codes of its faces. A
# {term}`code <latent code>` is the list of numbers from which the generator makes a face.

# %% tags=["hide-cell"]
from dataclasses import replace
from itertools import combinations
from math import hypot

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
import torch
from IPython.display import Markdown
from myst_nb import glue
from statsmodels.stats.weightstats import DescrStatsW

import faceworld
from faceaudit import sensitivity
from faceaudit.annotations import ATTRIBUTES
from faceaudit.annotations.schema import n_levels
from faceaudit.sensitivity.measures import mean_changes, share_table
from faceaudit.sensitivity.vectors import as_uint8, attribute_vector, balanced_rows, traverse
from faceaudit.utils import seeding
from facerender.parameters import to_frame, visible_scores
from faceworld import celeba, crowd, networks, populations
from faceworld.rendering import render_to_store
from faceworld.scorecard import flips
from helpers import claims, figures
from helpers.artifacts import Stage

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64
n_train = 10000
epochs = 7
n_heldout = 1000
n_raters = 5
n_boot = 1000
n_inferred = 600
n_codes = 250
n_reader = 3000
n_do = 300

# %% tags=["remove-cell"]
stage = Stage("n04_remedies", profile=profile, device=device, seed=seed)
figures.style()
NARROW = 4.8  # inches; a phone shows this width with its text still readable

# %%
renders = stage.load("02_face_world", "celeba-like.npy")
classifier = networks.AuditedModel.read(stage.load("13_sensitivity_flips", "smiling.safetensors"))

# %%
curves = stage.load("13_sensitivity_flips", "curves.parquet")
accuracy = stage.load("13_sensitivity_flips", "accuracy.parquet").set_index("attribute")
directions = stage.load("13_sensitivity_flips", "directions.npz")
scores = stage.load("13_sensitivity_flips", "scores.npz")
steps = stage.load("13_sensitivity_flips", "steps.npz")

# %%
codes = stage.load("13_sensitivity_flips", "codes.npy")
PARAMETERS = stage.load("13_sensitivity_flips", "parameters.json")
by_hand = stage.load("13_sensitivity_flips", "by_hand.parquet")
along_fitted = stage.load("13_sensitivity_flips", "along_fitted.parquet")

# %%
SMILES, NEAR, LAMBDAS = 0.5, (0.3, 0.7), np.linspace(-1, 1, 5)  # as in chapter 13
drawn, after_chance = directions.pop("random"), scores.pop("random")
at_rest = scores.pop("at rest")
VECTORS = [name for name in directions if name != "Smiling"]
ends_of = dict(zip(directions, stage.load("13_sensitivity_flips", "ends.npy"), strict=True))
truth = mean_changes(by_hand)
positive, blind = at_rest >= SMILES, accuracy.index[accuracy["low"] <= 0.5]

# %%
generator = faceworld.WGANGenerator(device, image_size)
z = generator.sample(max(n_codes, 16), seed)
samples = as_uint8(generator.synthesize(z))
z = z[:n_codes]
population = populations.sample("celeba-like", n_train + n_heldout, seed)
attributes = celeba.celeba_attributes(population.parameters)
seen, unseen = slice(n_train), slice(n_train, None)


# %%
def score(pictures):
    """Probability of a smile of images (…, 3, height, width), in the shape of the leading axes."""
    flat = pictures.reshape(-1, *pictures.shape[-3:])
    return networks.predict(classifier, flat).reshape(pictures.shape[:-3])


def clear(table):
    """Whether an interval excludes zero."""
    return (table["low"] > 0) | (table["high"] < 0)


# %% tags=["hide-cell"]
def listed(names):
    """Attributes as a sentence lists them."""
    *some, last = [f"*{name.replace('_', ' ').lower()}*" for name in names] or [""]
    return f"{', '.join(some)} and {last}" if some else last


def with_interval(table, form, missing="no codes"):
    """Every row as text: estimate [low, high], the ends in order whatever the sign."""
    rows = table[["estimate", "low", "high"]].to_numpy(float)
    told = [
        missing if np.isnan(one) else f"{one:{form}} [{min(ends):{form}}, {max(ends):{form}}]"
        for one, *ends in rows
    ]
    return pd.Series(told, table.index)


def spoken(name):
    """The name of an attribute as a table's row has it."""
    return name.replace("_", " ")


# %% [markdown]
# [](13_sensitivity_flips) walks along attribute vectors of a learned generator and counts flips. Here we reuse
# its codes, vectors and scores. The first half of this note has the paper's other measures. The second half tries four
# remedies: exact directions, balanced samples, raters who say what changed, and a score without the smile.
#
# ```{glue:md} in-short
# :format: myst
# ```

# %% [markdown]
# ## Measures of the score
#
# The {term}`score sensitivity` is a mean change, and a mean can hide opposite movements. *Stability* is the mean
# absolute change, so a large value means little stability (the name is the paper's). Codes whose score lies between the two limits in the last column are *near the boundary*. There the classifier is
# in doubt, so a small push can change its decision.

# %%
last = curves[curves["λ"] == LAMBDAS[-1]].set_index(["measure", "vector"])
measures = ("score sensitivity", "stability", "near the boundary")
told = {name: with_interval(last.loc[name].loc[[*directions]], "+z.3f") for name in measures}
near = last.loc["near the boundary", "n"]
assert (near == near.iloc[0]).all()  # all vectors start at the same codes
title = f"near ({NEAR[0]} to {NEAR[1]}), n = {near.iloc[0]:.0f}"
pd.DataFrame(told).rename(spoken).rename(columns={"near the boundary": title})

# %% [markdown]
# The next figure repeats four panels of the paper. It shows the change of the score and the net share of decisions that flip, for
# all codes and for those near the boundary. All panels of a row have the same scale.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four panels of lines with bands against the step along six attribute vectors: change of the score for all codes and near the boundary, and net flips for all codes and near the boundary. All lines pass through zero at zero. Scores change smoothly; net flips count whole codes."}, "figure": {"name": "fig-flips-curves", "caption": "Change of the smiling classifier against the step along six vectors; bands are 95% intervals over codes. Upper panels: score; lower panels: net share of decisions that flip. After Figure 5 of the paper."}}
# Computed by faceaudit.sensitivity.measures.curve (chapter 13).
SHOWN = ("Smiling", "Young", "Heavy_Makeup", "No_Beard", "Long_Hair", "High_Cheekbones")
PANELS = {"score sensitivity": "score, all codes", "near the boundary": "score, near the boundary"}
PANELS |= {"net": "net flips, all codes", "net near the boundary": "net flips, near the boundary"}


def draw_curves(panels, height, sharey="row"):
    """Lines with bands of measures against the step, a panel each, two in a row."""
    size = (NARROW, height)
    figure, axes = plt.subplots(len(panels) // 2, 2, figsize=size, sharex=True, sharey=sharey)
    for axis, (measure, title) in zip(axes.flat, panels.items(), strict=True):
        for name, look in zip(SHOWN, figures.SPARE, strict=False):
            line = curves[(curves["vector"] == name) & (curves["measure"] == measure)]
            band = {"color": look.colour, "alpha": 0.15, "linewidth": 0}
            axis.fill_between(line["λ"], line["low"], line["high"], **band)
            mark = {"color": look.colour, "marker": look.marker, "label": spoken(name)}
            axis.plot(line["λ"], line["estimate"], **mark)
        axis.axhline(0, color=figures.BLACK, linewidth=1)
        axis.set(xlabel="step λ", ylabel="change", xticks=(-1, 0, 1))
        axis.set_title(title.replace(", ", ",\n"), fontsize=10.5)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=2, fontsize=9.5)
    return axes


_ = draw_curves(PANELS, 6.8)

# %% [markdown]
# The rates of the next figure are conditional, as in Figure 6 of the paper: of the codes that start on
# one side, the share that leaves it. A step can raise both rates at once. Then much of it cancels in the net rate.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of lines with bands against the step along six attribute vectors: on the left the share of codes that flip to smiling, on the right the share that flip away from it. All lines are at zero where no step is taken and rise towards both sides."}, "figure": {"name": "fig-flips-both-ways", "caption": "Flips of both directions against the step along six vectors: of the codes that do not smile, those that flip to smiling (left), and of those that smile, those that flip away (right); bands are 95% intervals over codes. After Figure 6 of the paper."}}
# Computed by faceaudit.sensitivity.measures.curve (chapter 13).
BOTH_WAYS = {"conditional_01": "flips to smiling", "conditional_10": "flips away from smiling"}
for axis in draw_curves(BOTH_WAYS, 4.2):
    axis.set(ylabel="share of codes")

# %% [markdown]
# ### Doses of single codes
#
# The paper found nearly straight lines. But a straight mean says little about single faces: some may
# rise and fall while their mean goes straight up. Each code has its own slope of the score on the
# step. Their mean is the *dose-response*. The share of codes whose score only rises, or only falls,
# says how orderly single faces respond. On a short path much of this order belongs to the path, in any direction.

# %%
slopes, one_way = {}, {}
for name, one in scores.items():
    slopes[name] = one @ LAMBDAS / (LAMBDAS @ LAMBDAS)  # the mean step is zero
    rises = np.diff(one)
    ordered = (rises >= 0).all(axis=1) | (rises <= 0).all(axis=1)
    one_way[name] = ordered & (rises != 0).any(axis=1)

# %%
orderly = share_table(one_way, "vector")[["estimate", "low", "high"]]
doses = {"slope": mean_changes(pd.DataFrame(slopes)), "monotone": orderly}
doses = pd.concat(doses, axis=1).rename(spoken).rename_axis("vector")
doses.style.format("{:+z.3f}", subset="slope").format("{:.0%}", subset="monotone")

# %% [markdown]
# ### Is the space in between consistent?
#
# Flips mean little if answers jump between neighbouring codes anyway. The
# paper draws codes on straight lines between pairs of codes of the same class and asks how many
# keep the class. It reports <!-- paper --> 98%. We use no code in two lines, so that the lines
# are independent and Wilson's interval applies. The last column has the share of random codes with this class, because
# a common class is easy to keep. The second table has the share with a smile, and with a score near the boundary.

# %%
between, ends = sensitivity.lines(z.cpu().numpy(), positive, seed)
on_lines = generator.synthesize(torch.from_numpy(between).float())
both_smile = positive[ends[:, 0]]
kept = (score(as_uint8(on_lines)) >= SMILES) == both_smile
sides = {"total": kept, "positive": kept[both_smile], "negative": kept[~both_smile]}

# %%
kept_class = share_table(sides, "ends")
of_random = {"positive": positive.mean(), "negative": 1 - positive.mean()}
kept_class["share of random codes"] = pd.Series(of_random)
heads = {"n": "lines", "events": "that keep the class", "estimate": "share that keeps it"}
sides = {"total": "all lines", "positive": "smile", "negative": "no smile"}
shown = kept_class.rename(sides).rename(columns=heads)
shown.style.format("{:z.3f}", na_rep="—")

# %% tags=["hide-input"]
of_all = kept_class.loc["total"]
Markdown(
    f"Of all lines {of_all['estimate']:.0%} ({of_all['low']:.0%} to {of_all['high']:.0%}) keep the class, and 98% in the paper."
)

# %%
seen_smiling = {"samples": at_rest, "renders": networks.predict(classifier, renders[unseen])}
seen_smiling = {
    name: {
        "smile": (one >= SMILES).mean(),
        "near the boundary": ((one > NEAR[0]) & (one < NEAR[1])).mean(),
    }
    for name, one in seen_smiling.items()
}
pd.DataFrame(seen_smiling).T.style.format("{:.0%}")

# %% tags=["hide-input"]
few_smile = seen_smiling["samples"]["smile"] < 0.5 * seen_smiling["renders"]["smile"]
Markdown(
    "Rates among codes that smile rest on few codes, and their intervals are wide."
    if few_smile
    else "Among the samples, smiles are at least half as common as among the renders."
)

# %% [markdown]
# ### Two attributes at once
#
# The paper leaves open how attributes interact. A step along two vectors at once may do more or less than both
# steps do one by one. For each code we take the change of the decision along both vectors, and
# subtract the changes along each. The mean is the net share of flips *beyond the sum*. We also walk random directions
# in pairs, because the score bends along any path. We read all pairs together, so Bonferroni's inequality widens the intervals.
# The table is in per cent of codes. Its first column asks whether a pair is clear of zero and beyond all random ones.

# %%
chosen = z[:200]
CROSSED = ("Young", "Heavy_Makeup", "No_Beard", "Long_Hair")
pairs = {pair: [directions[name] for name in pair] for pair in combinations(CROSSED, 2)}
pairs |= {(f"random {k}", f"random {k + 1}"): drawn[k - 1 : k + 1] for k in (1, 3, 5)}


# %%
def decision_changes(after):
    """Of each code: one if a smile appears, minus one if it goes."""
    return (after >= SMILES).astype(int) - positive[: len(chosen)]


alone = {name: decision_changes(scores[name][: len(chosen), -1]) for name in CROSSED}
alone |= {f"random {k}": decision_changes(one) for k, one in enumerate(after_chance, 1)}
walks = {pair: traverse(generator, chosen, sum(two), [1.0])[:, 0] for pair, two in pairs.items()}
together = {pair: decision_changes(score(walk)) for pair, walk in walks.items()}

# %%
crossed = {}
for pair, both in together.items():
    first, second = (alone[name] for name in pair)
    beyond_sum = DescrStatsW(both - first - second)
    low, high = beyond_sum.tconfint_mean(0.05 / len(together))
    crossed[pair] = {"first": first.mean(), "second": second.mean(), "both": both.mean()}
    crossed[pair] |= {"estimate": beyond_sum.mean, "low": low, "high": high}
crossed = 100 * pd.DataFrame(crossed).T.rename_axis(["first vector", "second vector"])

# %%
of_attributes = crossed.index.get_level_values(0).isin(CROSSED)
farthest_pair = crossed.loc[~of_attributes, "estimate"].abs().max()
beyond_chance = clear(crossed) & (crossed["estimate"].abs() > farthest_pair)

# %%
shown = crossed[["first", "second", "both"]].map("{:+z.1f}".format)
shown["beyond the sum"] = with_interval(crossed, "+z.1f")
shown.insert(0, "beyond random pairs", np.where(beyond_chance, "yes", "no"))
shown.rename(spoken)

# %% tags=["hide-input"]
Markdown(
    f"Of {of_attributes.sum()} pairs of attributes, {clear(crossed)[of_attributes].sum()} are clear of zero, and "
    f"{beyond_chance[of_attributes].sum()} of these lie beyond all random pairs."
)

# %% [markdown]
# ## Exact directions
#
# From here on we look for remedies. Would the audit find the truth if its directions were exact? The {term}`known truth` generator has
# directions that move one attribute and no other. The first test audits with them. The figure leaves out *smiling*,
# the classifier's own attribute, and the table has it alone.

# %%
world = faceworld.load_generator("known-truth", device, image_size)
few, many = world.sample(n_codes // 3, seed), world.sample(n_do, seed + 1)


def score_faces(parameters, name):
    """The classifier's scores of faces (n, P), rendered into a file of that name."""
    made = render_to_store(parameters, image_size, stage.path(f"{name}.npy"), device=device)
    return networks.predict(classifier, made)


# %%
known_truth = flips.KnownTruth(world, PARAMETERS, few, many, score_faces)
exact_steps = known_truth.exact_steps()
along_exact = known_truth.changes(exact_steps, "exact")
exact = flips.compare_sensitivities(along_exact, truth)

# %%
held = exact["holds"].map({True: "yes", False: "no"})
shown = exact.drop(columns="holds")
shown.insert(0, "interval holds the truth", held)
shown.loc[["Smiling"]].style.format("{:z.3f}", subset=shown.columns[1:])

# %% tags=["hide-input"] mystnb={"image": {"alt": "One interval per attribute with a diamond for the true effect: the smiling classifier's score sensitivity along exact directions. Diamonds outside of their intervals are misses."}, "figure": {"name": "fig-flips-exact", "caption": "Score sensitivity along exact directions of the known-truth generator, 95% intervals, and the truth by intervention."}}
# Computed by faceworld.scorecard.flips.compare_sensitivities.
others = exact.drop(index="Smiling")
axis = plt.figure(figsize=(NARROW, 1.4 + 0.42 * len(others))).gca()
figures.forest(others, others["truth"], f"change of the smile score, n = {len(few)} codes", axis)
title = (
    f"Apart from smiling, {int(others['holds'].sum())} of {len(others)}\nintervals hold the truth"
)
_ = axis.set_title(title, pad=34, fontsize=12)

# %% [markdown]
# How many of these intervals should hold the truth? The truth is computed from faces too, so it has an
# error of its own. Then fewer than the nominal share hold it. To see how few is too few, we draw audits again and again from the
# faces of the truth. First we compare them with the mean of all these faces, then with
# a truth that is drawn anew as well.

# %% [markdown]
# An exact direction does to a code what $\mathrm{do}(\cdot)$ does to its face,
# parameter by parameter, except for artefacts in a few codes that are far out. So only the choice of faces can
# set the two apart.

# %%
expected = flips.expected_to_hold(exact, truth)
again = flips.repeated_audits(by_hand, len(few), n_boot, seed)
beside = flips.repeated_audits(by_hand, len(few), n_boot, seed, n_truth=len(many))
as_unlucky = (beside.sum(axis=1) <= exact["holds"].sum()).mean()

# %% tags=["remove-cell"]
for name, step in exact_steps.items():
    walked = to_frame(world.parameters(flips.take_step(few, step)))
    by_do = to_frame(flips.do_step(world, few, step, PARAMETERS[name][0]))
    apart = (walked - by_do).abs()
    assert (apart.drop(columns="artefacts") < 1e-3).all(axis=None)
    assert (apart["artefacts"] > 1e-3).mean() < 0.05

# %%
missed = exact.index[~exact["holds"].astype(bool)]
hold = beside.mean(axis=1)

# %% tags=["hide-input"]
claims.question(
    "With smiling, {held} of {n} intervals along exact directions hold the truth, where {expected:.0%} can be "
    "expected. These miss it: {missed}. All come from the same few codes, so they can miss in "
    "company: of audits drawn again {unlucky:.0%} hold no more. Held against the mean of all faces, "
    "{again:.0%} of their intervals hold. Do fewer hold here than in audits drawn again?",
    margin=hold.mean() - exact["holds"].mean(),
    error=hold.std(),
    held=int(exact["holds"].sum()),
    n=len(exact),
    expected=expected,
    missed=listed(missed) or "no vector",
    unlucky=as_unlucky,
    again=again.mean().mean(),
)

# %% [markdown]
# ### What leakage predicts
#
# Fitted vectors of the face world also move other attributes. That is their {term}`leakage`. Each
# coordinate's change, times what that coordinate does to the score, predicts the error of an
# estimate. The table has all fitted vectors of chapter 13, and eyeglasses. Prediction and error agree if effects add up and the listed
# attributes are all that matters. Pose, light and identity leak as well, and they have no column. Prediction and error are
# differences of uncertain numbers, so the sign of a small error may be chance.

# %%
fitted = flips.compare_sensitivities(along_fitted, truth)
brought = known_truth.predicted_error(steps, truth)
fitted["predicted"], fitted["most through"] = brought.sum(axis=1), brought.abs().idxmax(axis=1)

# %%
agrees = fitted["error"] * fitted["predicted"] > 0
numbers = ["estimate", "truth", "error", "predicted error"]
shown = fitted.rename(columns={"predicted": "predicted error"})
shown = shown.assign(**{"same sign": np.where(agrees, "yes", "no")})
shown["most through"] = shown["most through"].map(spoken)
shown = shown[["same sign", *numbers, "most through"]]
shown.rename(spoken).style.format("{:+z.3f}", subset=numbers)

# %% tags=["hide-input"]
guessed = ", no more than guessing would give" if agrees.mean() <= 0.5 else ""
Markdown(
    f"Prediction and error have the same sign in {agrees.sum()} of {len(agrees)} rows{guessed}."
)

# %% [markdown]
# ## Balance the samples
#
# A classifier may take one attribute for another if they come together in its training faces. So may a
# vector. Makeup, lipstick and long hair go together here, and they rarely go with beards. Smiling goes with
# almost no other attribute, because the population links it to no other.

# %%
named = attributes.loc[seen, [*VECTORS, "Smiling", "Male"]].astype(float)
together = named.corr()

# %% tags=["hide-input"] mystnb={"image": {"alt": "The lower half of a matrix of correlations between binary attributes of the training faces. Makeup, lipstick, long hair and earrings correlate positively with each other; Male correlates negatively with them and positively with beards; Smiling is near zero with all."}, "figure": {"name": "fig-flips-correlations", "caption": "Correlations of the binary attributes among the training faces. After Figure 3 of the paper."}}
# Computed by faceworld.celeba.celeba_attributes.
below = together.where(np.tri(len(together), k=-1, dtype=bool)).iloc[1:, :-1]
axis = plt.figure(figsize=(NARROW, 4.6)).gca()
figures.heatmap(below, ax=axis)
for number in axis.texts:
    number.set(text=number.get_text().replace("0.", "."), fontsize=9)
axis.grid(False)

# %% tags=["remove-cell"]
assert n_train < 5000 or together["Smiling"].drop("Smiling").abs().max() < 0.1
assert n_train < 5000 or together.loc["No_Beard", ["Heavy_Makeup", "Long_Hair"]].min() > 0.1

# %% [markdown]
# The labels are binary rules on parameters that the renderer knows. A threshold on a continuous quality is somebody's
# decision, so the table shows all of them. Most names are CelebA's; long hair exists only in this world.

# %%
rules = pd.Series(celeba.RULES, name="rule").rename_axis("attribute").to_frame()
rules["origin"] = [
    "this world" if name in celeba.ADDED_ATTRIBUTES else "CelebA" for name in rules.index
]
rules.rename(spoken).style.set_properties(**{"text-align": "left"})

# %% [markdown]
# Chapter 13 balances each sample by smiling and perceived gender. How much does that change? We fit the vectors again without
# balance. Then we take faces that are alike in the vector's own attribute. How far apart along the
# vector are smiling and other faces, and how far those perceived as male and others? A regression on both
# attributes holds the vector's own one fixed.

# %%
HALVED, TRAINING_SHARE = "Smiling", 0.8  # as in chapter 13


def unbalanced(name):
    """The direction of an attribute from samples that are not balanced."""
    chosen = balanced_rows(attributes, name, n_inferred, (), HALVED, seed)
    return attribute_vector(codes, *chosen, TRAINING_SHARE, seed, name).direction


# %%
kinds = {"unbalanced": {name: unbalanced(name) for name in VECTORS}, "balanced": directions}


def brought_along(name, other, kind):
    """Distance, in SD along a vector, that goes with another attribute; its own is held."""
    place = codes @ kinds[kind][name]
    design = sm.add_constant(attributes[[name, other]].astype(float))
    return sm.OLS(place / place.std(), design).fit().params[other]


# %%
pairs = [("smiling", "Smiling"), ("perceived gender", "Male")]
along = {
    (title, kind): {name: brought_along(name, other, kind) for name in VECTORS}
    for title, other in pairs
    for kind in kinds
}
along = pd.DataFrame(along)
along.rename(spoken).style.format("{:+z.2f}")

# %%
far_along = along.abs()
kept_out = far_along["perceived gender", "unbalanced"] - far_along["perceived gender", "balanced"]

# %% tags=["hide-input"]
claims.question(
    "What comes along on average, in standard deviations: of perceived gender {plain:.2f} without "
    "balance and {balanced:.2f} with it, and of smiling {smile:.2f} and {smile_balanced:.2f}. Does balancing "
    "keep perceived gender out, on average over vectors?",
    margin=kept_out.mean(),
    error=kept_out.sem(),
    plain=far_along["perceived gender", "unbalanced"].mean(),
    balanced=far_along["perceived gender", "balanced"].mean(),
    smile=far_along["smiling", "unbalanced"].mean(),
    smile_balanced=far_along["smiling", "balanced"].mean(),
)

# %% [markdown]
# ## Ask what people see
#
# A vector named "Young" may move the mouth. Only people can say what they see, and the paper asks for
# their judgement. In this world the crowd is simulated, and it needs eyes: the attributes of a learned image are unknown.
# So a network learns to read attributes off renders whose attributes
# are drawn independently of each other. The raters judge what it reads. We measure its error on renders it has not seen, and
# add that error to the raters' noise.

# %% [markdown]
# This cannot replace people. The reader learned from renders, so it is blind to everything that makes a
# learned image unlike them, and it knows only the attributes on its list. `make reproduce TRAIN=1` trains it anew.
# Otherwise the one that ships with the package is used.

# %%
READ = [name for name in ATTRIBUTES if name != "fakeness"]


def to_read(parameters: torch.Tensor) -> pd.DataFrame:
    """What a perfect reader would read: tied hair looks shorter than it is."""
    rest = to_frame(parameters)[["hair_colour", "earrings", "glasses"]].astype(np.float64)
    return visible_scores(parameters)[READ].join(rest)


# %%
known = networks.decorrelated_faces(n_reader + n_reader // 5, seed)
targets = to_read(known)
pictures = render_to_store(known, image_size, stage.path("known.npy"), device=device)
taught, asked = slice(n_reader), slice(n_reader, None)

# %%
path, kept = stage.path("reader.safetensors"), stage.path("reader.json")
settings = {"seed": seed, "epochs": 3 * epochs // 2, "device": device}
reader = networks.train_reader(pictures[taught], targets[taught], path, **settings)

# %%
true = np.column_stack([targets[name][asked] for name in targets])
error = reader(pictures[asked])[[*targets]].to_numpy() - true
centred, square = true - true.mean(0), error**2
rmse, half = square.mean(0), 1.96 * square.std(0, ddof=1) / np.sqrt(len(true))
reading = {
    "n": len(true),
    "bias": error.mean(0),
    "rmse": np.sqrt(rmse),
    "rmse_low": np.sqrt((rmse - half).clip(0)),
    "rmse_high": np.sqrt(rmse + half),
    "r2": 1 - rmse / (centred**2).mean(0),
    "slope": 1 + (centred * error).mean(0) / (centred**2).mean(0),
}
reading = pd.DataFrame(reading, index=pd.Index(targets.columns, name="attribute"))

# %%
as_found = to_read(population.parameters[unseen])[[*targets]].to_numpy()
missed = (reader(renders[unseen])[[*targets]].to_numpy() - as_found) ** 2
reading["r2, CelebA-like"] = 1 - missed.mean(0) / as_found.var(0)
heads = {
    "n": ("", "faces"),
    "bias": ("", "mean error"),
    "rmse": ("error", "estimate"),
    "rmse_low": ("error", "low"),
    "rmse_high": ("error", "high"),
    "slope": ("", "slope"),
    "r2": ("r²", "drawn evenly"),
    "r2, CelebA-like": ("r²", "CelebA-like"),
}
shown = reading[[*heads]].rename({"gender": "perceived gender"}).rename(spoken)
shown.columns = pd.MultiIndex.from_tuples(heads.values())
shown.style.format(precision=3)

# %% [markdown]
# The error is the root of the mean square, with its 95% interval, in units of the whole scale of an attribute. The r² is the share of the variance that is read,
# and the slope is the share of a change. Where r² is below zero, the reader is worse than saying the mean each time. A slope
# below zero says that it turns a change round. The faces of this test are drawn evenly over every scale. Most CelebA-like
# faces lie closer together, as the samples do. So the last column has r² on such renders, held out.

# %% [markdown]
# We call a reader *too weak* for an attribute if it reads less than
# half of that variance. We warn where less than three quarters of a change get through: there a leak
# would look clearly smaller than it is.

# %%
read_share = reading.loc[READ, "slope"]
shrunk = read_share[read_share < 0.75].rename({"gender": "perceived gender"})
on_alike = reading.loc[READ, "r2, CelebA-like"]
weak = on_alike[on_alike < 0.5].rename({"gender": "perceived gender"})

# %% tags=["hide-input"]
told = [f"{name.replace('_', ' ')} ({share:.0%})" for name, share in shrunk.items()]
Markdown(
    (
        f"Of a change in {', '.join(told)} the reader sees only the share in brackets, and so do the "
        "raters. Their reports of these attributes are too small."
        if told
        else "Of a change in any attribute the reader sees three quarters or more."
    )
    + f" It is too weak for {listed(weak.index) or 'no attribute'}: what raters say of single faces "
    "there is mostly error. Means over many faces need less, but an attribute of this list "
    "may have moved even if its mean seems still."
)

# %%
raters = {}
rated = [name for name in crowd.DISAGREEMENT if name in READ]
for name, rmse in reading.loc[rated, "rmse"].items():
    # The error is in scores, the noise in levels; they add in quadrature.
    spec = crowd.DISAGREEMENT[name]
    noise = hypot(spec.noise, rmse * (n_levels(name) - 1 + 2 * spec.margin))
    raters[name] = replace(spec, noise=noise)
asked = {"pool": crowd.rater_pool(seed, disagreement=raters), "seed": seed}
asked["scales"] = {name: ATTRIBUTES[name] for name in raters}


# %% [markdown]
# Now the raters see every sample before and after a unit step along each vector. They see one image at a
# time, and never learn which images belong together. The matrix has a row per vector and a column per
# perceived attribute. The paper calls it attribute perception sensitivity. A vector that moves
# only its own attribute has one strong cell. Raters are not asked about hair colour, earrings or
# cheekbones, so the rows of those vectors show leakage only.


# %%
def perceived(pictures, name):
    """Mean scores that raters give to images as the reader sees them, one row each."""
    seen = reader(pictures)[list(raters)]
    seen.index = [f"{name}/{row}" for row in range(len(pictures))]
    answers = crowd.annotate(seen, n_raters, stage="15_sensitivity_flips", **asked)
    return crowd.mean_scores(answers, asked["scales"]).loc[seen.index].reset_index(drop=True)


rest = perceived(samples[:n_codes], "rest")
seen_after = {name: perceived(end, name) for name, end in ends_of.items()}
matrix = {name: mean_changes(after - rest) for name, after in seen_after.items()}


# %% tags=["hide-input"] mystnb={"image": {"alt": "A matrix with a row per attribute vector and a column per perceived attribute. Coloured cells of attributes other than a vector's own are leakage. Cells that cannot be told from zero are empty."}, "figure": {"name": "fig-flips-perception", "caption": "Perception sensitivity: change of the mean perceived score (columns) under a unit step along a vector (rows), in units of the scale. Cells whose 95% interval over codes includes zero are left empty. Of cells without any change about one in twenty would be filled by chance. After Equation 4 of the paper."}}
# Computed by faceaudit.sensitivity.measures.mean_changes.
def draw_matrix(tables):
    """Cells of vector and perceived attribute whose interval excludes zero."""
    shown = {name: table["estimate"].where(clear(table)) for name, table in tables.items()}
    shown = pd.DataFrame(shown).T.rename_axis(index="vector", columns="attribute")
    shown = shown.rename(columns={"gender": "perceived gender"})
    axis = plt.figure(figsize=(NARROW, 5.4)).gca()
    figures.heatmap(shown, float(shown.abs().max().max()), axis)
    for number in axis.texts:
        number.set(text=number.get_text().replace("0.", "."), fontsize=9)
    axis.grid(False)
    title = f"{int(shown.notna().sum().sum())} of {shown.size} cells are clear of zero"
    axis.set_title(title, fontsize=12)


draw_matrix(matrix)

# %% [markdown]
# A mean change can hide changes in both directions, so the paper also gives a binary form: is a
# difference perceived at all? We count one if the mean answer of a code moves to another
# level of its scale. Raters' noise moves answers too. So the raters see every sample a second time, without a
# step, and we subtract the share of answers that differ then. The table has this share, and the number of vectors along
# which more answers differ.


# %%
def differs(scores):
    """Whether mean answers lie at other levels than those about the samples: codes × attributes."""
    steps = pd.Series({name: n_levels(name) - 1 for name in rest})
    return ((scores * steps).round() != (rest * steps).round()).astype(float)


twice = differs(perceived(samples[:n_codes], "rest, again"))
noticed = {name: mean_changes(differs(after) - twice) for name, after in seen_after.items()}

# %% tags=["hide-input"] mystnb={"image": {"alt": "A matrix with a row per attribute vector and a column per perceived attribute. A coloured cell is the share of codes for which raters see a difference, beyond the share for which they see one where there is none. Cells that cannot be told from zero are empty."}, "figure": {"name": "fig-flips-noticed", "caption": "Share of codes for which raters see any difference in an attribute (columns) after a unit step along a vector (rows), less the share in samples that they see twice. Cells whose 95% interval over codes includes zero are left empty. Of cells without any change about one in twenty would be filled by chance. After the binary form of Equation 4."}}
# Computed by differs (above) and faceaudit.sensitivity.measures.mean_changes.
draw_matrix(noticed)

# %%
often = twice.mean().rename("differ without a step")
vectors = pd.DataFrame({name: clear(table) for name, table in noticed.items()}).sum(axis=1)
told = often.map("{:.0%}".format).to_frame().assign(**{"vectors with a difference": vectors})
told.rename({"gender": "perceived gender"}).rename(spoken)

# %% [markdown]
# (better-controlled)=
# ### Which generator is better controlled?
#
# The verification paper asks how generators compare in what a walk changes {cite:p}`verification`.
# We compare two: the face world along its fitted vectors, and the learned generator along its own. The
# same raters see both, through the same reader. A vector controls its attribute well if that attribute makes up most of what
# raters see change.

# %% [markdown]
# We square the changes of all attributes and subtract the square of each
# standard error. The *share* is what a vector's own attribute has of the sum. The length of a step
# cancels if changes grow with it. A share can be small although the vector moves its own attribute. For example, if
# few faces have a beard, few can lose one.

# %%
OWN = {"Young": "age", "Heavy_Makeup": "makeup", "No_Beard": "facial_hair"}
OWN |= {"Pale_Skin": "skin_colour", "Long_Hair": "hair_length"}

# %%
here = known_truth.audit_codes
ends = [here, *(flips.take_step(here, steps[name]) for name in OWN)]
faces = torch.cat([world.parameters(codes) for codes in ends])
shown = render_to_store(faces, image_size, stage.path("compared.npy"), device=device)
sets = zip(np.split(shown, len(ends)), ["rest", *OWN], strict=True)
at_rest_there, *after_there = (perceived(part, f"world/{name}") for part, name in sets)
rows = seeding.rng(seed, "15: shares of vectors")


# %%
def own_share(change, own):
    """What the own attribute has of all that raters see change, with an interval over codes."""
    drawn = change.to_numpy()[rows.integers(len(change), size=(n_boot, len(change)))]
    noise = change.sem().to_numpy() ** 2  # a mean of drawn codes has it twice
    means = np.vstack([change.mean(), drawn.mean(1)])
    squares = (means**2 - np.vstack([noise, np.tile(2 * noise, (n_boot, 1))])).clip(0)
    squares = pd.DataFrame(squares, columns=change.columns)
    share = squares[own] / squares.sum(axis=1)  # NaN where all is noise
    return share[0], *share[1:].quantile([0.025, 0.975])


# %%
changes = {"face world": [after - at_rest_there for after in after_there]}
changes["learned"] = [seen_after[name] - rest for name in OWN]
shares, parts = {}, ["estimate", "low", "high"]
for where, seen_there in changes.items():
    shares[where] = pd.DataFrame(map(own_share, seen_there, OWN.values()), [*OWN], parts)

# %%
told = {where: with_interval(table, ".0%") for where, table in shares.items()}
pd.DataFrame(told).rename(spoken).rename_axis("vector")

# %%
shares = pd.DataFrame({where: table["estimate"] for where, table in shares.items()})
more = shares["face world"] - shares["learned"]

# %% tags=["hide-input"]
claims.question(
    "On average over vectors, {here:.0%} of what raters see change in the face world is the vector's own "
    "attribute, and {there:.0%} in the learned generator. Is the face world better controlled, on average over these "
    "vectors?",
    margin=more.mean(),
    error=more.sem(),
    here=shares["face world"].mean(),
    there=shares["learned"].mean(),
)

# %% [markdown]
# ## Take the smile out
#
# If a vector moves the smile as well, a good classifier has to change its mind. How much of its
# change is that? The vector of smiling tells how far the score goes for one unit of seen smiling.
# We multiply this rate by the smile that another vector brings along. That part is *explained*. The
# *rest* is due to something else.


# %%
def split_by_smile(moves, smiles):
    """Total, explained part and rest of every vector but that of smiling, which calibrates."""
    calibration, split = (moves["Smiling"], smiles["Smiling"]), {}
    for name in [name for name in moves if name != "Smiling"]:
        along = moves[name], smiles[name]
        split[name] = sensitivity.decompose_score_change(
            *along, *calibration, n_boot=n_boot, seed=seed
        )
    return split


# %% [markdown]
# ### First where the truth is known
#
# Here the remedy can be tested. The seen smile is known, and the exact step of smiling calibrates. If the smile is what
# leaked, the rest along each fitted vector should be closer to the truth than the total was.

# %%
smiled = steps | {"": np.zeros(world.latent_dim), "Smiling": exact_steps["Smiling"]}
moved = {name: world.parameters(flips.take_step(few, step)) for name, step in smiled.items()}
seen_smiles = pd.DataFrame({name: visible_scores(one)["smiling"] for name, one in moved.items()})
seen_smiles = seen_smiles.sub(seen_smiles.pop(""), axis=0)

# %%
moves = {name: change.to_numpy() for name, change in along_fitted.items()}
moves["Smiling"] = along_exact["Smiling"].to_numpy()
tested = split_by_smile(moves, seen_smiles)

# %%
rests = pd.DataFrame({name: table.loc["rest"] for name, table in tested.items()}).T
rests["truth"] = truth["estimate"]

# %%
checked = {"total": fitted, "rest": rests}
holds = {k: one["truth"].between(one["low"], one["high"]).sum() for k, one in checked.items()}
off = {k: (one["estimate"] - one["truth"]).astype(float).abs() for k, one in checked.items()}
nearer = off["total"] - off["rest"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "One interval per attribute with a diamond for the true effect: what is left of the score's change along fitted vectors once the change of the seen smile is taken out."}, "figure": {"name": "fig-flips-rests", "caption": "The rest along fitted vectors of the known-truth generator, 95% bootstrap intervals, and the truth by intervention."}}
# Computed by split_by_smile (under "Take the smile out") with
# faceaudit.sensitivity.measures.decompose_score_change.
axis = plt.figure(figsize=(NARROW, 1.4 + 0.42 * len(rests))).gca()
figures.forest(rests, rests["truth"], "change of the smile score, without the smile", axis)
title = f"{holds['rest']} of {len(rests)} intervals of the rest\nhold the truth"
_ = axis.set_title(title, pad=34, fontsize=12)

# %% tags=["hide-input"]
claims.question(
    "The totals hold the truth for {hold[total]} of {n} vectors and are {total:.3f} off on average. The "
    "rests hold it for {hold[rest]} and are {rest:.3f} off. Does taking out the smile bring the audit "
    "nearer to the truth, on average over vectors?",
    margin=nearer.mean(),
    error=nearer.sem(),
    n=len(rests),
    hold=holds,
    total=off["total"].mean(),
    rest=off["rest"].mean(),
)

# %% [markdown]
# ### Then in the learned generator
#
# There are two differences: raters say how much the smile changed, and the fitted vector of smiling calibrates. Is that vector
# *fit* to calibrate? It must tell held-out codes apart
# better than chance. Raters must see the smile change along no other vector more. And
# the reader must be strong enough for smiles.

# %%
score_change = {name: scores[name][:, -1] - at_rest for name in directions}
smile_change = {name: (after - rest)["smiling"] for name, after in seen_after.items()}
explained = split_by_smile(score_change, smile_change)

# %%
mean_smile = pd.Series({name: abs(change.mean()) for name, change in smile_change.items()})
smiles_more = mean_smile.index[mean_smile > mean_smile["Smiling"]]
fit = "Smiling" not in blind and smiles_more.empty and "smiling" not in weak

# %%
apart = {
    part: sum(clear(table.loc[[part]]).item() for table in explained.values())
    for part in ("total", "rest")
}
split = all(table.loc["rest"].notna().all() for table in explained.values())

# %% tags=["hide-input"]
doubts = []
if "Smiling" in blind:
    doubts.append("On these few held-out codes the vector of smiling is within chance.")
if len(smiles_more):
    doubts.append(
        "In the point estimates the raters see the smile change more along "
        f"{listed(smiles_more)} than along it."
    )
if "smiling" in weak:
    doubts.append(f"The reader's r² for smiles of such faces is {weak['smiling']:.2f}.")
Markdown(
    "The vector of smiling is fit: in the point estimates, raters see the smile change most along it."
    if fit
    else f"**Do not trust the parts here.** {' '.join(doubts)} Reader and vector know too little of smiles on these "
    f"samples. So the figure below {'shows how to ask, and its answer is open' if split else 'has totals only'}."
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three intervals per attribute vector: the total change of the score, the part that the perceived change of the smile accounts for, and the rest, around a line at zero. Where raters see no clear change of the smile along its own vector, only the total is drawn."}, "figure": {"name": "fig-flips-explained", "caption": "Change of the smiling score under a unit step towards each attribute: total, what the perceived change of the smile accounts for, and the rest; 95% bootstrap intervals over codes. Where raters see no clear change of the smile along its own vector, only the total is drawn."}}
# Computed by split_by_smile (under "Take the smile out") with
# faceaudit.sensitivity.measures.decompose_score_change.
axis = plt.figure(figsize=(NARROW, 1.4 + 0.6 * len(VECTORS))).gca()
axis.axvline(0, color=figures.BLACK, linewidth=1)
places = np.arange(len(VECTORS))[::-1]
looks = {"total": ("total", 0.24, figures.BLACK, "o")}
looks["explained"] = ("accounted for by the perceived smile", 0, figures.GREY, "s")
looks["rest"] = ("the rest", -0.24, figures.BLUE, "D")
for part, (label, shift, colour, marker) in looks.items():
    side = pd.DataFrame({name: explained[name].loc[part] for name in VECTORS}).T
    ends = np.stack([side["estimate"] - side["low"], side["high"] - side["estimate"]]).clip(0)
    mark = {"fmt": marker, "color": colour, "label": label, "capsize": 3}
    axis.errorbar(side["estimate"], places + shift, xerr=ends, **mark)
axis.set_yticks(places, [spoken(name) for name in VECTORS])
axis.set_ylim(-0.7, len(VECTORS) - 0.3)
axis.grid(axis="y", visible=False)
axis.set_xlabel(f"change of the score, n = {len(z)} codes")
if split:
    axis.legend(loc="lower center", bbox_to_anchor=(0.4, 1))
found = f"{apart['total']} of {len(explained)} totals "
found += (
    f"and {apart['rest']} rests are clear of zero"
    if split
    else "are clear of zero;\nrests cannot be estimated"
)
_ = axis.set_title(found, pad=66 if split else 8, fontsize=12)

# %% [markdown]
# Which rests count? They pass the same two tests as the score in chapter 13. A rest must be
# *clear*, so its interval excludes zero. And it must exceed the change along the farthest random direction.

# %%
chance = mean_changes(pd.DataFrame((after_chance - at_rest[: len(chosen)]).T))
farthest = chance["estimate"].abs().max()
left = pd.DataFrame({name: table.loc["rest"] for name, table in explained.items()}).T
owed = left.loc[clear(left), "estimate"]
far = owed.index[owed.abs() > farthest]

# %% tags=["hide-input"]
told = [f"{listed([name])} ({size:+z.3f})" for name, size in owed.items()]
Markdown(
    "The raters see no clear change of the smile along the vector of smiling, so the parts cannot be estimated "
    "from so few codes."
    if left["estimate"].isna().any()
    else f"The rest is clear of zero for {', '.join(told) or 'no vector'}, and is "
    f"larger than the score's change along any of the random directions ({farthest:.3f}) for "
    f"{listed(far) or 'no vector'}. A smile that the reader misses would be counted as bias."
)

# %% [markdown]
# ### Back to the truth
#
# Chapter 13 compares the totals with the change that we make by hand. The table adds the rests where they can be estimated. Signs can be compared even
# if steps differ in length. The score moves the *other way* along a vector than by hand if both changes are
# clear and their signs differ. If an effect is far from zero and the change by hand is close to zero, the vector moved
# something else. Then the effect must not be attributed to the attribute.

# %%
known = [name for name in explained if name in truth.index]
totals = pd.DataFrame({name: explained[name].loc["total"] for name in known}).T
sides = {"total": totals, "rest": left.loc[known], "by hand": truth.loc[known]}
told = {
    k: with_interval(one, "+z.3f", "not estimable")
    for k, one in sides.items()
    if one["estimate"].notna().any()
}
pd.DataFrame(told).rename(spoken)

# %%
truly = truth.loc[known]
contrary = clear(totals) & clear(truly) & (totals["estimate"] * truly["estimate"] < 0)
opposite = totals.index[contrary]
within = truly[["low", "high"]].abs().max(axis=1) < totals["estimate"].abs()
moved_else = totals.index[clear(totals) & within]

# %% tags=["hide-input"]
Markdown(
    f"Along {listed(opposite)} the score moves the other way than when the attribute is set by hand."
    if len(opposite)
    else "Along no vector the score clearly moves the other way than by hand."
)

# %% tags=["hide-input"]
Markdown(
    f"The total is clear of zero, and the whole interval by hand lies nearer to zero, for {listed(moved_else) or 'no vector'}. By the "
    "rule above such an effect must not be attributed to the attribute."
)

# %% [markdown]
# ## Exercise
#
# This exercise walks along one more vector and asks the raters again. It takes a few seconds, and it needs the
# variables of this note, so run it at the end of the note.

# %% [markdown]
# ```{exercise} Is a zero cosine enough? 20 minutes, hard
# :label: ex-flips-orthogonal
#
# Make the vector of makeup orthogonal to the vector of smiling, walk along it, and compare the
# perceived smile with that along the vector as fitted.
#
# **Check:** the dot product of your new vector with the vector of smiling is zero.
# ```

# %% [markdown]
# ```{solution-start} ex-flips-orthogonal
# :class: dropdown
# ```
#
# Orthogonality to the *fitted* vector of smiling removes what that vector measures. The generator need not
# respect the geometry of this space, and a vector that hardly tells smiles apart
# has little to remove. So the perceived smile is the test. Compare both rows below with their intervals.

# %% tags=["solution"]
smile, makeup = directions["Smiling"], directions["Heavy_Makeup"]
apart = makeup - (makeup @ smile) * smile
apart /= np.linalg.norm(apart)
assert abs(apart @ smile) < 1e-9
walked = perceived(traverse(generator, z, apart, [1.0])[:, 0], "apart")["smiling"]
changes = {"as fitted": smile_change["Heavy_Makeup"], "orthogonal": walked - rest["smiling"]}
mean_changes(pd.DataFrame(changes)).rename_axis("change of the perceived smile")

# %% [markdown]
# ```{solution-end}
# ```


# %% tags=["remove-cell"]
gender = far_along["perceived gender"].mean()
in_short = (
    f"In short: along exact directions {int(exact['holds'].sum())} of {len(exact)} intervals hold the truth. The perceived gender that comes along is {gender['unbalanced']:.2f} standard deviations without "
    f"balance and {gender['balanced']:.2f} with it, on average over vectors. In the face world, estimates along fitted "
    f"vectors miss the truth by {off['total'].mean():.3f} on average, and by {off['rest'].mean():.3f} if the smile is taken out"
)
in_short += (
    ", a difference that this run cannot decide. "
    if abs(nearer.mean()) < 2 * nearer.sem()
    else ". "
)
in_short += (
    "In the learned generator the smile can be taken out."
    if fit
    else "In the learned generator we cannot take the smile out, because reader and vector know too little of smiles."
)
glue("in-short", Markdown(in_short), display=False)


# %% tags=["remove-cell"]
def nullable(table):
    """Rows of a table by name, with null where there is no estimate."""
    return table.astype(object).where(table.notna(), None).T.to_dict()


parts = pd.concat(explained).loc[(slice(None), "rest"), :].droplevel(1)
results = {"exact": exact, "rest": parts, "controlled": shares}
_ = stage.finish({name: nullable(one) for name, one in results.items()})
