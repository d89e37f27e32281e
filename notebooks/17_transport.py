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
# # Carrying the result elsewhere
#
# A transect shows what a model does to a face when one thing about it changes. Whoever is to use the
# model asks another question: how often will it err among *my* people, whom nobody arranged in a
# grid? An audit that cannot say anything about them stays in the laboratory. One that claims too
# much does harm. This chapter carries the audit's error rates to two other populations, and counts
# how far the predictions miss.

# %% [markdown]
# ## Question
#
# Can error rates measured on transects predict error rates, and differences of error rates, in a
# population with another mix of faces? And where a prediction misses, what had it not seen?

# %% [markdown]
# ## Design contract
#
# | | |
# |---|---|
# | Unit | one face of the target population |
# | Intervention | skin colour, hair length and gender on the transects; none in the targets |
# | Held fixed | the error rate of each stratum; only the mix of strata changes |
# | Outcome | error against the raters' majority, 0 or 1 |
# | Estimand | [the transported rate](estimands): error rate and disparity in the target population |
# | Known failure | faces of one stratum are not alike: what differs inside it, and matters to the model, is not carried over |

# %% [markdown]
# ## Prerequisites
#
# You need the transects and their errors from [](05_transect_generation) to
# [](08_stratified_errors), the test set of [](01_observational_audit), and the models and faces of
# [](02_face_world). From statistics: what a weighted average is. The chapter takes about half an
# hour to read and less than a minute to run. *Female* and *male* stand for perceived gender.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown

import facerender
from helpers import annotations, effects, errors, figures, models
from helpers.annotations import crowd
from helpers.artifacts import Stage
from helpers.claims import told
from helpers.effects import labels
from helpers.utils import seeding
from helpers.world import populations

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 20200715
n_train = 10000
n_heldout = 1000
n_raters = 5

# %%
stage = Stage("17_transport", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:.3f}".format

# %%
TRAINED = ("celeba-like", "fairface-like", "plantskin")
MODELS = (*TRAINED, "null")

# %% [markdown]
# ## From strata to a population
#
# A test set tells what happens to the people in it, and a transect what a model does to a face. Can
# the second say something about the first? {cite:t}`transects` claims so: by combining the
# contributions of the attributes, one may predict disparate impact in a specific population. The
# claim is not put to a test there. It can be put to one here, on two populations whose
# images were really rendered, rated and judged.

# %% [markdown]
# The recipe is direct standardisation. Let $\hat e(x)$ be the error rate on the transects in
# stratum
# $x$, such as *seen as female, short hair, dark skin*, and $P(x)$ the share of that stratum in the
# target. The target needs annotations of its attributes, but no labels and no answers of the model:
#
# $$
# R(P) = \sum_x P(x)\, \hat e(x)
# $$

# %% [markdown]
# What licenses it is one assumption, that the error rate of a stratum is the same here and there
# {cite:p}`transportability`. Nothing in the data of the experiment can check it. The first target
# is the PPB-like test set with which the book began. All images of the transects enter, since
# pruning would remove the very faces that models find difficult.

# %% [markdown]
# A stratum needs cuts. They are those of {cite:t}`transects`, as in [](01_observational_audit): gender and skin
# colour are cut in the middle of their scales, hair length somewhat below. The scores are what people
# saw, here and there, because in a population nobody knows more. Cut elsewhere, the shares would
# change, and so would the rates.


# %%
CUT = {"seen_as": "gender", "hair": "hair_length", "skin": "skin_colour"}
STRATA = tuple(CUT)


def with_strata(frame: pd.DataFrame) -> pd.DataFrame:
    """Strata from perceived scores, as words."""
    strata = {
        name: errors.discretize(frame[score], *errors.STRATA[score]) for name, score in CUT.items()
    }
    return frame.assign(**{name: levels.astype(str) for name, levels in strata.items()})


# %%
audit = with_strata(stage.load("08_stratified_errors", "audit.parquet"))
ppb = stage.load("01_observational_audit", "ppb.parquet").rename_axis("face").reset_index()
ppb = with_strata(ppb)

# %%
mixes = {"transects": audit, "PPB-like": ppb}
shares = {name: frame.value_counts([*STRATA]) for name, frame in mixes.items()}
shares = pd.DataFrame(shares).fillna(0)
(shares / shares.sum()).style.format("{:.1%}")

# %% [markdown]
# The transects fill the strata evenly, the test set does not, which is the whole difference between
# the two columns. `effects.transport` takes the rates from one frame and the shares from another.
# Given the same frame for both, it returns that frame's own rates, so one function yields three
# rows to compare: the transects in their own mix, the prediction, and what was observed. Three
# quantities matter here: the rate of all faces, and the disparity between dark and light skin, among
# women and among men.

# %% [markdown]
# A predicted rate has Wilson's interval, as in [](08_stratified_errors), for an *effective size*: the
# number of independent images that would leave as much uncertainty. Transects are the units, or faces
# for the observed, so that eight renderings of one face do not count as eight. The size never exceeds
# that of independent images with a few more errors in every stratum: a stratum without any error so
# far is not known to be free of errors. Both groups of a disparity come from the same transects, so
# its interval takes in the correlation of their rates {cite:p}`mover`. The mix of the target is taken
# as known. Simulated audits in [](n01_truth_scorecard) count how often such intervals hold the truth.

# %%
QUANTITIES = {
    ("all", ""): "all faces",
    ("female, dark", "female, light"): "women, dark − light",
    ("male, dark", "male, light"): "men, dark − light",
}


# %%
def carry(frame, target, cluster="transect", strata=STRATA, labelled=None) -> pd.DataFrame:
    """The quantities in a target for every model, from the strata's rates in a frame."""
    by = ["seen_as", "skin"]
    tables = {
        model: effects.transport(frame, f"error_{model}", strata, target, cluster, by, labelled)
        for model in MODELS
    }
    table = pd.concat(tables, names=["model", "row"]).reset_index("model")
    sides = zip(table["group"], table["reference"], strict=True)
    table["quantity"] = [QUANTITIES.get(side) for side in sides]
    table["points"] = labels.points(table)
    return table.dropna(subset="quantity").set_index(["model", "quantity"])


# %%
parliament = {
    "transects' own mix": carry(audit, audit),
    "predicted": carry(audit, ppb),
    "observed": carry(ppb, ppb, "face"),
}
wide = pd.DataFrame({name: table["points"] for name, table in parliament.items()})
wide.loc[[*TRAINED]]


# %% tags=["hide-cell"]
def draw_transport(carried: dict[str, pd.DataFrame]) -> None:
    """Rates and disparities of a population, one mark per source; a panel per model."""
    size = (figures.WIDTH, 0.8 + 2.3 * (len(MODELS) // 2))
    figure, axes = plt.subplots(len(MODELS) // 2, 2, figsize=size, sharey=True, sharex="row")
    for model, ax in zip(MODELS, axes.flat, strict=True):
        for place, (source, look) in enumerate(zip(carried, figures.SPARE, strict=False)):
            rows = 100 * carried[source].loc[model, ["estimate", "low", "high"]]
            y = -np.arange(len(rows)) + 0.22 * (1 - place)
            reach = [rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]]
            style = {"fmt": look.marker, "color": look.colour}
            style["label"] = f"{source}, n = {carried[source]['n'].max():,}"
            ax.errorbar(rows["estimate"], y, xerr=np.clip(reach, 0, None), **style)
        ax.axvline(0, color=figures.BLACK, linewidth=1)
        ax.set_title(model)
        ax.set_yticks(-np.arange(len(rows)), rows.index)
    figure.supxlabel("points of error rate", fontsize=12)
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncol=3)


# %% mystnb={"image": {"alt": "Four panels, one per model. In each, three rows: the error rate of all faces, and the differences dark minus light skin among women and among men. In every row a circle for the transects in their own mix, a square for the prediction and a triangle for what was observed in the PPB-like set, with intervals, around a line at zero."}, "figure": {"name": "fig-transport-ppb", "caption": "Error rates and disparities in the PPB-like set: the transects in their own mix, the transects' strata in the mix of the target (predicted), and the target's own errors (observed); 95 % intervals, n images."}}
draw_transport(parliament)

# %% [markdown]
# The first marks are what a naive reader of the audit would expect: an effect of skin with all else
# equal. The second marks let hair go with skin as it does in the target. What the second has more
# than the first comes with the mix: hair that goes with skin, and other weights for cells in which
# skin does more or less. What the third has more than the second was
# not predicted.

# %% [markdown]
# How much is it? The question makes sense wherever there is a disparity to predict: its interval
# must leave out zero. A share is a ratio of two estimates, each with chance of its own, and takes an
# interval that knows of both, Fieller's. Where the disparity itself is only just told from zero,
# that interval may have no limits, and no share should be quoted.

# %%
WOMEN = "women, dark − light"
found, said = (
    parliament[source].xs(WOMEN, level="quantity") for source in ("observed", "predicted")
)
clear = found[(found["low"] > 0) | (found["high"] < 0)].index
INTERVAL = ["estimate", "low", "high"]
limits = {
    model: effects.ratio_interval(said.loc[model, INTERVAL], found.loc[model, INTERVAL])
    for model in clear
}

# %% tags=["hide-input"]
lines = []
for model in found.index:
    line = f"- **{model}**, {WOMEN}: {found['points'][model]} points observed, "
    if model in limits:
        share = said["estimate"][model] / found["estimate"][model]
        ends = "{:.0%} to {:.0%}".format(*limits[model])
        ends = ends if np.isfinite(limits[model][0]) else "with no limits to the share"
        line += f"{said['points'][model]} predicted, which is {share:.0%} of it ({ends})."
    else:
        line += "so there is no clear disparity to predict."
    lines.append(line)
Markdown("\n".join(lines))

# %% [markdown]
# ### A few labels from the target
#
# If photographs are merely harder or easier there than here, all log odds shift alike. A small
# labelled sample of the target is enough to estimate such a shift: one number, the calibrated
# intercept. The strata keep their order. It can repair the level of the error rate, as far as chance in the
# sample allows; a disparity it can only stretch.

# %%
LABELLED = 200
drawn = seeding.rng(seed, "13_transport/labelled").permutation(len(ppb))[:LABELLED]
calibrated = carry(audit, ppb, labelled=ppb.iloc[drawn])
wide["calibrated"] = calibrated["points"]
wide.loc[[*TRAINED], ["predicted", "calibrated", "observed"]].rename_axis([None, None])

# %%
gone = {"plain": parliament["predicted"], "calibrated": calibrated}
gone = {k: (t["estimate"] - parliament["observed"]["estimate"]).abs() for k, t in gone.items()}
nearer = (gone["calibrated"] < gone["plain"]).groupby("quantity", sort=False).sum()
counts = "; ".join(f"{name}: {count} of {len(MODELS)}" for name, count in nearer.items())
Markdown(f"Models for which calibration brings the prediction nearer: {counts}.")

# %% [markdown]
# The price is precision: the sample's own chance enters all rates, and all intervals. And if an
# error rate is all one wants, a labelled sample gives it without any experiment. What the experiment
# could add is the disparity between groups that are rare in the sample, and that is stretched by a
# factor which knows nothing of it: if it comes nearer to the counted one, that is luck.

# %% [markdown]
# ### A second population
#
# The FairFace-like faces come from the other end: balanced skin colours, all ages, more poses, hair
# that goes with gender and not with skin. Their held-out images were rendered in
# [](02_face_world). Here raters see them, and all models judge them.

# %%
everyone = populations.sample("fairface-like", n_train + n_heldout, seed).parameters[n_train:]
visible = facerender.visible_scores(everyone).set_axis([f"ff_{k:05d}" for k in range(n_heldout)])
ratings = crowd.annotate(crowd.perceived(visible), n_raters, seed=seed, stage="13_transport")
annotations.write_mturk(ratings, stage.path("fairface.csv"))
fairface = annotations.scores(annotations.read_mturk(stage.path("fairface.csv"))[0])
fairface = with_strata(fairface.reindex(visible.index)).rename_axis("face").reset_index()

# %%
pictures = stage.load("02_face_world", "fairface-like_heldout.npy")
for name, network in models.load_all(stage, "02_face_world", TRAINED).items():
    fairface[f"score_{name}"] = models.predict(network, pictures)

# %%
label, item = errors.majority(fairface["gender"]), np.arange(n_heldout)
NULL = stage.load("08_stratified_errors", "results.json")["null_control"]
fairface["score_null"] = models.null_control(label, item, item, **NULL, seed=seed)
for name in MODELS:
    fairface[f"error_{name}"] = ((fairface[f"score_{name}"] > 0.5) != label).astype(int)

# %% mystnb={"image": {"alt": "Four panels, one per model, in the same layout as the figure before, now for the FairFace-like population: transects in their own mix, prediction and observation for the error rate of all faces and for the differences dark minus light skin among women and men."}, "figure": {"name": "fig-transport-fairface", "caption": "The same for the held-out FairFace-like faces, which include children and teenagers; 95 % intervals."}}
street = {
    "transects' own mix": parliament["transects' own mix"],
    "predicted": carry(audit, fairface),
    "observed": carry(fairface, fairface, "face"),
}
draw_transport(street)

# %% [markdown]
# ## Where it fails
#
# A prediction that misses should be taken apart by stratum, because the recipe has only two
# ingredients. The shares are known, so the rates must be wrong: the faces of a stratum there err at
# another rate than the faces of the same stratum here. The scatter holds them against each other
# for one model. On the dashed line, the assumption of transport is right.

# %% mystnb={"image": {"alt": "Scatter of error rates by stratum: on the transects on the horizontal axis, in the PPB-like set on the vertical, one marker for each combination of perceived gender, hair and skin, with intervals both ways and a dashed line of equality."}, "figure": {"name": "fig-transport-strata", "caption": "Error rates of the FairFace-like model in the same strata of two data sets, transects and PPB-like; Wilson intervals. On the dashed line a stratum errs alike in both."}}
both = pd.concat(mixes, names=["data"]).reset_index("data")
both["data"] = pd.Categorical(both["data"], list(mixes))
pairs = errors.matched_groups(both, "data", STRATA, "error_fairface-like")
_ = figures.matched_scatter(pairs)

# %% [markdown]
# The miss of the overall rate is a sum over the strata: the difference of the two rates, times the
# stratum's share of the target. So each stratum's part in it can be named.

# %%
here, there = (
    errors.stratified_errors(frame, STRATA, "error_fairface-like") for frame in (audit, ppb)
)
adds = 100 * (there["rate"] - here["rate"]) * there["n"] / len(ppb)

# %% tags=["remove-cell"]
OVERALL = ("fairface-like", "all faces")
miss = parliament["observed"]["estimate"][OVERALL] - parliament["predicted"]["estimate"][OVERALL]
assert abs(adds.sum() - 100 * miss) < 1e-9, (adds.sum(), miss)

# %% tags=["hide-input"]
largest = adds.loc[adds.abs().nlargest(3).index]
named = "; ".join(f"{', '.join(key)} ({points:+.1f} points)" for key, points in largest.items())
Markdown(f"To a miss of {adds.sum():+.1f} points in the overall rate, these add most: {named}.")

# %% [markdown]
# ### What a stratum hides
#
# What differs inside? The strata cut perceived gender in two. On the transects it was *set*, far
# from the middle on both sides; in a population it spreads, and some faces divide the raters. If
# these are the hard ones, a population with more of them errs more. And they may collect in odd
# places: where hardly any man wears long hair, a long-haired face that is seen as male may just be a
# face that can be seen either way.

# %% [markdown]
# How clear a face is, the raters say themselves: by the distance of their mean from the middle, as a
# part of half the scale. Below a quarter of it they are *divided*, above half of it *clear*.

# %%
CLARITY = ["divided", "leaning", "clear"]
for frame in (audit, ppb, fairface):
    distance = (2 * frame["gender"] - 1).abs()
    frame["clarity"] = errors.discretize(distance, [0.25, 0.5], CLARITY).astype(str)

# %%
targets = {"PPB-like": ppb, "FairFace-like": fairface}
clarity = {
    name: errors.stratified_errors(frame, "clarity", "error_fairface-like")
    for name, frame in {"transects": audit, **targets}.items()
}
clarity = pd.concat(clarity, axis=1).swaplevel(axis=1)
clarity = clarity.loc[CLARITY, ["n", "rate"]]
clarity.style.format("{:.1%}", subset=["rate"])

# %% tags=["remove-input"]
odd = ppb[(ppb["seen_as"] == "male") & (ppb["hair"] == "long")]
extremes = clarity.xs("PPB-like", axis=1, level=1).loc[["divided", "clear"]]
errors_of = (extremes["rate"] * (1 - extremes["rate"]) / extremes["n"]) ** 0.5
told(
    "The fairface-like model errs on {divided:.0%} of the faces in the PPB-like set that divide the "
    "raters and on {clear:.0%} of the clear ones. {all:.0%} of that set is less than clear, {ours:.0%} "
    "of the transects, and {odd:.0%} of the {n} faces that are seen as male with long hair. Does the "
    "model err more often on faces that divide the raters?",
    margin=extremes["rate"]["divided"] - extremes["rate"]["clear"],
    error=np.hypot(*errors_of),
    divided=extremes["rate"]["divided"],
    clear=extremes["rate"]["clear"],
    ours=(audit["clarity"] != "clear").mean(),
    all=(ppb["clarity"] != "clear").mean(),
    odd=(odd["clarity"] != "clear").mean(),
    n=len(odd),
)

# %% [markdown]
# The second thing that differs is age. The transects are adults by design, the FairFace-like faces
# are not. Transport can be told so: with the age group among the strata, it names what the
# experiment has never seen, and reports its share instead of guessing. Bounds then say how far the
# overall rate could lie from the estimate if those faces erred never or always.

# %%
for frame in (audit, fairface):
    frame["age_group"] = errors.age_group(frame["age"]).astype(str)

# %%
aged = carry(audit, fairface, strata=(*STRATA, "age_group"))
aged = aged.xs("all faces", level="quantity")
aged["observed"] = street["observed"]["estimate"].xs("all faces", level="quantity")
100 * aged[["estimate", "missing", "lower", "upper", "observed"]]

# %%
unseen = aged["reason"].iloc[0].removeprefix("not in the experiment: ").split("; ")
Markdown(f"Strata that the experiment lacks: {len(unseen)}, among them {'; '.join(unseen[:4])}.")

# %% [markdown]
# ### Does a finer mix help?
#
# A stratum can be cut more finely, as long as the experiment has faces in all of its parts. The
# table compares three predictions, by how far they miss what was observed, in points and averaged
# over the trained models: with no reweighting, with the three attributes, and with the clarity of
# the perceived gender as well.

# %%
observed = {"PPB-like": parliament["observed"], "FairFace-like": street["observed"]}
finer = {name: carry(audit, frame, strata=(*STRATA, "clarity")) for name, frame in targets.items()}

# %%
chosen = {
    ("PPB-like", "no reweighting"): parliament["transects' own mix"],
    ("PPB-like", "three attributes"): parliament["predicted"],
    ("PPB-like", "and clarity"): finer["PPB-like"],
    ("FairFace-like", "no reweighting"): street["transects' own mix"],
    ("FairFace-like", "three attributes"): street["predicted"],
    ("FairFace-like", "and clarity"): finer["FairFace-like"],
}
apart = {
    (target, prediction): (table["estimate"] - observed[target]["estimate"]).abs()
    for (target, prediction), table in chosen.items()
}
apart = pd.DataFrame(apart).loc[[*TRAINED]]
misses = 100 * apart.groupby("quantity", sort=False).mean().T
misses.style.format("{:.1f}")

# %% [markdown]
# These are means over three models, and the models differ. Here is the miss in the disparity among
# women for each of them. The bias of plantskin was planted, so a mean in which it has a part need not
# speak for a model without such a bias.

# %%
of_women = 100 * apart.xs(WOMEN, level="quantity").T
of_women.style.format("{:.1f}")

# %% [markdown]
# In the table of means an overall rate can be nearer without any reweighting:
# transects hold more faces of rare strata than the target, and fewer faces that divide people. If
# models err often on both, the two errors cancel. Reweighting removes the first and leaves the second.

# %% [markdown]
# What is left after the finest mix may be due to what no stratum holds: pose, light, glasses, hair that
# is tied back, the many ways in which a face can be clear to people and not to a model. None of these was measured here. A designer
# can add axes to the experiment, or give up the claim. The claim that survives is a modest one: an
# experiment predicts what comes with *these* attributes among faces like *its own*. How much of an
# observed disparity that is has to be counted, model by model.

# %% [markdown]
# There is a moral side to this. A prediction from an experiment is no substitute for
# counting errors among the people whom a system will meet; it may say *fair enough* because the
# experiment left out the very faces that suffer. What is missing is reported here for that reason,
# and whoever quotes the estimate should quote the share that it covers.

# %% [markdown]
# ## What would change our mind
#
# - If predictions were nowhere nearer to the observed disparities than the transects' own mix, the
#   claim of {cite:t}`transects` about other populations would be refuted in this world.
# - If the strata erred alike here and there and predictions missed all the same, the fault would lie
#   with the reckoning and not with the assumption.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Your own population
# :label: exercise-population
# Make a frame with the columns `seen_as`, `hair` and `skin` for a population in which hair goes
# with neither gender nor skin. Predict the disparity between dark- and light-skinned women in it.
# What does the answer estimate?
# ```
#
# ```{solution} exercise-population
# :class: dropdown
# `pd.MultiIndex.from_product([...], names=STRATA).to_frame(index=False)` gives one face per
# stratum, and `carry(audit, frame)` the prediction. Hair is alike for all groups, so that only the
# effect of skin itself is left: the average of the two hair lengths' effects, which
# [](10_matched_pairs) estimates from pairs. Disparate impact and effect coincide where nothing
# goes with skin.
# ```

# %% [markdown]
# ## Takeaways
#
# - Error rates travel by stratum, as far as strata hold what matters. Name what they do not hold.
# - A few labels from the target can repair the level of a prediction. A disparity they can only
#   stretch, for better or worse.
# - What the experiment has never seen is reported with its share, not guessed.


# %% tags=["hide-input"]
def rows(table: pd.DataFrame) -> dict:
    """Rows by name, with null where there is no estimate."""
    return table.astype(object).where(table.notna(), None).to_dict("index")


def nested(carried: dict[str, pd.DataFrame]) -> dict:
    """Rows as {source: {model: {quantity: {estimate, low, high}}}}."""
    interval = ["estimate", "low", "high"]
    return {
        source: {model: rows(table.loc[model, interval]) for model in MODELS}
        for source, table in carried.items()
    }


# %% tags=["hide-input"]
_ = stage.finish(
    {
        "transport": {"ppb-like": nested(parliament), "fairface-like": nested(street)},
        "transport_misses": {name: rows(misses.loc[name]) for name in targets},
        "transport_misses_by_network": {
            name: {
                prediction: {model: part[model].to_dict() for model in TRAINED}
                for prediction, part in (100 * apart[name]).items()
            }
            for name in targets
        },
    }
)
