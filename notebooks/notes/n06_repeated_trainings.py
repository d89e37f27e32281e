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
# # Repeated trainings
#
# *You need chapter [15](15_verification_curves) (error rates of groups, and the effect of a training set). Reading:
# {{minutes}} minutes.*
#
# Chapter 15 states the effect of a training set over several trainings. This note looks at the single networks. How
# far do networks of one composition lie apart? How often would an audit of one network have found an effect? Then it
# tests whether the walk in latent space changed more than the group.
#
# ```{glue:md} found
# :format: myst
# ```

# %% tags=["hide-cell"]
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from IPython.display import Markdown
from myst_nb import glue

from faceaudit import verification
from faceaudit.verification.composition import composition_effects, training_effects
from faceaudit.verification.prototypes import IMAGES_EACH, STEPS, over_seeds
from faceworld import do, networks, people
from faceworld.people import ancestry_point, recorded_trainings
from helpers import audit_plan, claims, figures
from helpers.artifacts import Stage

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715
image_size = 64

# %% [markdown]
# ```{glue:figure} each-training
# :name: fig-trainings-each
# :alt: Two panels with a row per error rate and composition. Above a mark for every trained network, and the mean over trainings with an interval. Below two bars a row, the standard error of one network's audit and the standard deviation between trainings.
#
# Effect of every composition on the gap in false matches (FMR) and false non-matches (FNMR) between rare and familiar
# groups. Above: each trained network, and the mean over trainings with a 95% interval over faces and trainings. Below:
# the error that an audit of one network states, beside the spread between trainings. A missing bar: the estimate is
# zero, because the choice of faces alone can explain the spread of the marks. Drawn under [](#every-network-of-the-record).
# ```

# %% [markdown]
# ## Four networks, each trained once
#
# The four audited networks judge the same pairs. The training sets of *arcface-a* and *sphereface* are mostly European,
# that of *arcface-b* is mostly East Asian. *Rare* groups are those that a network's training set shows less
# often than the average group, *familiar* groups the others. The control, trained on a balanced set, has rare and
# familiar groups only by name. So the difference of the two gaps compares the two networks on the same faces. Each
# group counts the same, however many pairs it has. The table has the error rates ({term}`FNMR and FMR`) and their
# differences in points. *Estimate* is the rate of rare groups minus that of familiar ones.

# %% tags=["remove-cell"]
stage = Stage("n06_repeated_trainings", profile=profile, device=device, seed=seed)
figures.style()
sns.set_context("notebook", font_scale=0.85)  # for figures that a phone can show

# %%
pairs = stage.load("14_verification_measures", "pairs.parquet").set_index("pair_id")
ratings = stage.load("14_verification_measures", "ratings.npy")
setup = stage.load("14_verification_measures", "recognisers.parquet")
plan = audit_plan.read_plan(stage.load("audit_plan", "plan.json"))

# %%
GROUPS = list(people.GROUPS)
REFERENCE = "european male"
CONSENSUS_LIMIT = 0.3
names = list(setup.index)
thresholds = setup["threshold"]

# %%
accepted = pd.DataFrame({name: pairs[f"similarity_{name}"] >= thresholds[name] for name in names})
match = pd.Series(verification.is_match(ratings, CONSENSUS_LIMIT), pairs.index)
errors = accepted.ne(match, axis=0)
kinds = {"FNMR": match.to_numpy(), "FMR": ~match.to_numpy()}

# %%
group = pd.Categorical(pairs["group"], GROUPS)
seeds = pairs[["seed_first", "seed_second"]]


# %%
def familiar(shares: dict[str, float]) -> list[str]:
    """Groups that a training set shows more often than the average group."""
    return [one for one in GROUPS if shares[one] > 1 / len(GROUPS)]


# %%
def composition(name: str, rows: np.ndarray) -> pd.DataFrame:
    """Gap of one network in the errors of some pairs, against the control."""
    both = errors.loc[rows, name], errors.loc[rows, people.BALANCED]
    known = familiar(people.RECOGNISERS[name].shares)
    return composition_effects(*both, group[rows], seeds[rows], known)


# %%
effects = {(n, m): composition(n, rows) for n, (m, rows) in product(names[:3], kinds.items())}
effects = pd.concat(effects, names=["recogniser", "measure", "row"])
points = 100 * effects[["rare", "familiar", "estimate", "low", "high"]]
forms = dict.fromkeys(points, "{:z.1f}") | {"p": "{:.3f}"}
points.assign(p=effects["p"]).style.format(forms, na_rep="not estimable")

# %%
by_fmr = points.xs("FMR", level="measure")
excludes_zero = (by_fmr["low"] > 0) | (by_fmr["high"] < 0)
clear = excludes_zero.xs("difference", level="row")

# %% tags=["hide-input"] mystnb={"image": {"alt": "For each skewed recogniser three intervals: its gap in false matches between rare and familiar groups, the same gap of the balanced control, and the difference of both."}, "figure": {"name": "fig-composition", "caption": "False match rate of rare groups minus that of familiar groups: the skewed network, the balanced control on the same pairs, and the difference. 95% intervals over faces, for these four networks."}}
# Computed by faceaudit.verification.composition.composition_effects.
ax = plt.figure(figsize=(4.8, 4.6)).gca()
figures.forest(by_fmr, xlabel="difference in false match rate (points)", ax=ax)
_ = ax.set_title(f"{clear.sum()} of {len(clear)} differences to the control exclude zero")

# %% [markdown]
# Read the rows named *recogniser* first. An interval to the right of zero says that the network takes strangers of
# rare groups for one person more often. Then read the control. If its interval lies away from zero, the test faces
# themselves differ. The last row compares two networks, each trained once. Its interval covers the choice of faces only. It
# leaves out the training, and it is not adjusted for the number of rows. The next table says on which side of zero each
# interval lies.

# %%
gap = pd.Series("no clear gap", by_fmr.index)
gap[by_fmr["low"] > 0] = "more false matches in rare groups"
gap[by_fmr["high"] < 0] = "fewer false matches in rare groups"
gap[by_fmr[["low", "high"]].isna().any(axis=1)] = "not estimable"
gap = gap.to_frame("gap").pivot_table("gap", "recogniser", "row", "first")
gap.loc[names[:3], ["recogniser", "control", "difference"]]

# %% [markdown]
# (every-network-of-the-record)=
# ## Every network of the record
#
# `benchmarks/training_runs.py` trained every composition again and again, the balanced one too, at the size of the
# laptop profile. A run draws other people, other first weights and another order of the pictures. A balanced set and
# a skewed one of the same number share a seed. The record holds all networks, also those that show no gap. Its pairs
# are those of the laptop run but for a few: at that time five people judged each image, and some others looked
# fake.

# %%
recorded, accepts = recorded_trainings()
mistakes = accepts.ne(recorded["match"], axis=0)


# %%
def compared(name: str, match: bool) -> tuple:
    """Errors of a composition's networks and of the control's, a row each, with their pairs."""
    rows = (recorded["match"] == match).to_numpy()
    judged = recorded[rows]
    wrong = mistakes[rows]
    ends = judged[["seed_first", "seed_second"]]
    known = familiar(people.COMPOSITIONS[name])
    return wrong[name].T, wrong[people.BALANCED].T, judged["group"], ends, known


# %% [markdown]
# A meta-analysis would take each training for a study with faces of its own. It would believe that more trainings make
# even the faces certain. `training_effects` adds two variances instead {cite:p}`readers-and-cases`. One is the variance
# of the networks' gaps on these faces, divided by their number. It includes face errors on which networks disagree,
# and shrinks as trainings are added. The other is the covariance of the gaps: faces that are hard for all networks.
# Only more faces shrink it. Chapter 15 computed these effects, and we load them.

# %%
skewed = [name for name in people.COMPOSITIONS if name != people.BALANCED]
match_of = {"FMR": False, "FNMR": True}  # whose errors these rates count

# %%
by_set = stage.load("15_verification_curves", "results.json")["over_trainings"]
by_set = pd.DataFrame(by_set).set_index(["measure", "composition"])

# %%
shown = 100 * by_set[["estimate", "low", "high", "within", "between"]]
shown = shown.join(by_set[["p", "p_holm"]]).rename(columns={"p_holm": "p after Holm"})
shown = shown.rename(index=str.title, level="composition")
shown.style.format("{:z.1f}").format("{:.3f}", subset=["p", "p after Holm"])

# %% [markdown]
# Each row is the gap of a skewed set minus that of the balanced one, in points: the effect of the composition.
# *Within* is the standard error of an audit of one network. *Between* is the standard deviation of networks around
# their mean if we could test them on all faces. An audit of one network cannot see it. If both are equal, the
# variance of a statement on the composition is twice the one that such an audit prints.
#
# Now audit each network by itself, once for each error rate. The table counts the audits whose interval
# excludes zero, beside the effect over trainings in points. *Holds* says whether that effect stays clear of zero after Holm's adjustment.


# %%
def alone(rate: str, name: str) -> pd.DataFrame:
    """The effect in each training's network, audited by itself."""
    errors, control, *rest = compared(name, match_of[rate])
    recognisers = zip(errors.to_numpy(), control.to_numpy(), strict=True)
    audits = [composition_effects(*both, *rest) for both in recognisers]
    return pd.DataFrame([audit.loc["difference"] for audit in audits])


# %%
labels = {key: f"{key[0]}, {key[1].title()}".replace("Mostly", "mostly") for key in by_set.index}
one_by_one = pd.concat({label: alone(*key) for key, label in labels.items()}).droplevel(1)

# %%
means = (100 * by_set[["estimate", "low", "high"]]).set_axis(labels.values())
clear = (one_by_one["low"] > 0) | (one_by_one["high"] < 0)
found = clear.sum()

# %%
audits = clear.groupby(level=0, sort=False).agg(["sum", "size"])
audits = audits.set_axis(["audits clear of zero", "of audits"], axis=1).join(means)
audits.insert(0, "holds", np.where(by_set["p_holm"] < plan.level, "yes", "no"))
audits.style.format("{:z.1f}", subset=list(means))

# %%
spreads = 100 * by_set[["within", "between"]]
least = spreads.min()
most = spreads.max()


# %% tags=["hide-cell"] mystnb={"code_prompt_show": "Show how the figure at the top of the page is drawn", "image": {"alt": "Two panels with a row per error rate and composition: every trained network with the mean and its interval, and two bars for the error of one audit and the spread between trainings."}, "figure": {"caption": "The figure at the top of this page."}}
# Computed by faceaudit.verification.composition.composition_effects and
# faceaudit.verification.composition.training_effects (chapter 15).
def draw_networks(ax) -> None:
    """A mark for every network above the mean of its composition."""
    figures.forest(means, xlabel="effect of the composition (points)", ax=ax)
    for place, label in enumerate(reversed(labels.values())):
        own = one_by_one.loc[label].sort_values("estimate")
        clear = (own["low"] > 0) | (own["high"] < 0)
        # In turns a little higher, so that like marks do not hide each other.
        heights = place + 0.2 + 0.09 * (np.arange(len(own)) % 2)
        face = np.where(clear, figures.ORANGE, "white")
        named = "one network (filled: clear of zero)" if place == 0 else None
        dots = {"c": face, "edgecolors": figures.BLACK, "zorder": 3, "label": named}
        ax.scatter(100 * own["estimate"], heights, **dots)
    title = f"{found} of {len(one_by_one)} audits are clear of zero"
    ax.set_title(f"{title}\n\n\n", loc="left")


figure, (upper, lower) = plt.subplots(2, 1, figsize=(4.8, 7.2), height_ratios=[3, 2])
draw_networks(upper)
bars = {"within": (0.18, "white", "standard error of one network's audit")}
bars["between"] = (-0.18, figures.ORANGE, "between trainings")
for column, (shift, colour, named) in bars.items():
    heights = np.arange(len(by_set))[::-1] + shift
    look = {"color": colour, "edgecolor": figures.BLACK, "label": named}
    lower.barh(heights, 100 * by_set[column], 0.3, **look)
lower.set_yticks(range(len(labels)), [*labels.values()][::-1])
lower.set(xlabel="spread (points)", ylim=(-0.7, len(labels) - 0.3))
for ax in (upper, lower):
    ax.legend(loc="lower left", bbox_to_anchor=(-0.45, 1), ncol=1)
glue("each-training", figure, display=False)
plt.close(figure)

# %% [markdown]
# So one network may or may not show the effect of its set. Most of the uncertainty about false matches comes from the
# faces, which all trainings share. These results hold for this loss, this size of set and these faces. Sets that are
# skewed less may do less.

# %% tags=["remove-cell"]
assert (spreads.loc["FMR", "between"] < spreads.loc["FMR", "within"]).all()

# %% [markdown]
# ## Two sets that were kept, one that was left out
#
# Two of the three skewed sets were kept for the audit ([](14_verification_measures)). Do they change false matches as
# the third does? Two effects that are both unclear may still differ. So we take their difference within trainings and
# within faces. We compare it with the tolerance of the plan by two one-sided tests. Each pair is weighted by its share
# in the gap of its set.

# %%
audited = [people.RECOGNISERS[name].shares for name in names[:3]]
kept = [name for name in skewed if people.COMPOSITIONS[name] in audited]
(dropped,) = [name for name in skewed if name not in kept]
of_set = {name: compared(name, match=False) for name in skewed}
part = {name: 1 / len(kept) for name in kept} | {dropped: -1}


# %%
def in_gap(name: str) -> np.ndarray:
    """Weight of each pair in a set's gap, but for how many pairs its group has."""
    *_, known = of_set[name]
    return np.where(
        np.isin(of_set[name][2], known), -1 / len(known), 1 / (len(GROUPS) - len(known))
    )


# %%
*_, group_of, ends, known = of_set[dropped]
apart = [
    part[name] * in_gap(name) / in_gap(dropped) * (errors.to_numpy(float) - control.to_numpy(float))
    for name, (errors, control, *_) in of_set.items()
]
paired = training_effects(sum(apart), 0 * apart[0], group_of, ends, known)
paired = paired.loc["recogniser"]

# %% tags=["hide-input"]
of_fmr = by_set.loc["FMR"]
claims.question(
    "Over trainings, the effect on the gap in false matches is {kept:points} points on average of the "
    "sets that were kept for the audit, and {without:points} of the one that was left out. The first "
    "minus the second is {paired:points} points. Is the difference smaller than the tolerance of {tolerance:.0f} "
    "points? The tolerance is wide: it is larger than the effects themselves.",
    margin=plan.tolerance - abs(paired["estimate"]),
    error=(paired["high"] - paired["low"]) / (2 * 1.96),
    kept=of_fmr.loc[kept, "estimate"].mean(),
    without=of_fmr.loc[dropped, "estimate"],
    paired=paired[["estimate", "low", "high"]].to_dict(),
    tolerance=100 * plan.tolerance,
)

# %% [markdown]
# ## The group itself, set by intervention
#
# Prototypes are walked in latent space, along directions that were fitted to labels. More than the group may have
# moved. The renderer allows a cleaner experiment. We take the reference prototype of every seed, and set its ancestry
# group and its perceived gender by $\mathrm{do}(\cdot)$, in the same poses. Everything else stays.

# %%
drawn = torch.from_numpy(stage.load("14_verification_measures", "parameters.npy").copy())
prototypes = stage.load("14_verification_measures", "prototypes.parquet")
chosen = (prototypes["group"] == REFERENCE).to_numpy(copy=True)
reference = drawn[::IMAGES_EACH][chosen]
of_seeds = prototypes.loc[chosen, "seed"]

# %%
ancestry, male = people.split_groups(GROUPS)
places = ancestry_point(ancestry)

# %% [markdown]
# The intervention needs two decisions. Perceived gender is set near either end of its scale. The place in the ancestry
# plane is the centre of the group's faces, as for the people on whom the recognisers were trained. The first pose is
# frontal, and the others are compared with it.

# %%
YAWS = (0, *STEPS["pose"])
turned = [
    do(reference, gender=0.9 if man else 0.1, ancestry_x=x, ancestry_y=y, yaw=yaw)
    for man, (x, y) in zip(male, places, strict=True)
    for yaw in YAWS
]
changed = people.store_heads(torch.cat(turned), image_size, stage.path("do.npy"), device)


# %%
def under_do(name: str) -> pd.Series:
    """Share of each seed's turned pictures that a recogniser rejects, by group."""
    weights = stage.load("14_verification_measures", f"{name}.safetensors")
    vectors = networks.Recogniser.read(weights, device)(changed)
    vectors = vectors.reshape(len(GROUPS), len(YAWS), len(reference), -1)
    alike = np.einsum("gnd,gynd->gyn", vectors[:, 0], vectors[:, 1:])
    fails = (alike < thresholds[name]).mean(axis=1)
    cells = pd.MultiIndex.from_product([GROUPS, of_seeds], names=["group", "seed_first"])
    return pd.Series(fails.ravel(), cells)


# %%
turning = pairs[pairs["attribute"].eq("pose") & pairs["kind"].eq("positive")]
rejected = turning.assign(**~accepted.loc[turning.index])
walked = rejected.groupby(["group", "seed_first"])[names].mean()
both = {name: pd.DataFrame({"walked": walked[name], "do": under_do(name)}) for name in names}
both = pd.concat(both, names=["recogniser"]).dropna()

# %%
cell = ["recogniser", "group"]
difference = over_seeds(both["walked"] - both["do"], cell)
constant = difference["low"] == difference["high"]  # every seed alike: no interval
difference.loc[constant, ["low", "high"]] = np.nan
compared_cells = (
    both.groupby(cell).mean().join(difference).loc[names].reindex(GROUPS, level="group")
)

# %%
NAMED = {one: one.title().replace("Fem", "fem").replace(" Male", " male") for one in GROUPS}
estimable = compared_cells.dropna(subset=["low", "high"])
named = estimable.rename(index=NAMED)[["walked", "do", "estimate", "low", "high"]]
(100 * named).style.format("{:z.1f}")

# %%
apart = (estimable["low"] > 0) | (estimable["high"] < 0)
counts = {"all": len(compared_cells), "with an interval": len(estimable)}
pd.Series(counts | {"clear of zero": apart.sum()}).to_frame("comparisons")

# %% [markdown]
# *Do* is the truth of the groups in these poses, as a false non-match rate in per cent. *Walked* is the rate of the
# prototypes in the same poses, with known identity. *Estimate* is the difference, taken within seeds. If its interval
# contains zero, these seeds show no fault of the walk. Otherwise something moved along with the group. A comparison whose
# seeds all differ equally has no interval, and is left out of the first table. The second one counts the comparisons. The
# intervals are not adjusted for their number.

# %% [markdown]
# ## Exercise
#
# ```{exercise} More trainings or more faces? 15 minutes, hard
# :label: exercise-trainings
#
# You may train twice as many networks of every composition, or make twice as many faces for the networks that there
# are. Which of the two narrows the interval of a composition more? Use `by_set` and `one_by_one`. The variance of the
# mean of $R$ trainings is $s^2/R + c$. Here $s^2$ is the variance of the networks' gaps on the same faces, and $c$ their
# covariance.
#
# **Check:** neither number exceeds one.
# ```

# %% [markdown]
# ```{solution-start} exercise-trainings
# :class: dropdown
# ```

# %% [markdown]
# Twice as many trainings halve $s^2/R$, the variance of the networks' gaps over their number. Twice as many faces halve
# what the faces add, also inside $s^2$. The two savings overlap, so they need not sum to one. The code prints
# the width that is left, as a part of the present width. The smaller number of a row shows which of the two helps more.

# %% tags=["solution"]
half_width = (by_set["high"] - by_set["low"]) / 2
of_mean = (half_width / 1.96) ** 2
trainings = by_set["trainings"].astype(float)
of_gaps = one_by_one["estimate"].astype(float).groupby(level=0, sort=False).var()
of_gaps = of_gaps[[*labels.values()]].set_axis(by_set.index)  # s²
halved = {"twice the trainings": of_gaps / trainings}
halved["twice the faces"] = of_mean - by_set["between"] ** 2 / trainings
saved = pd.DataFrame(halved).div(of_mean, axis=0).clip(0, 1) / 2
left = (1 - saved).pow(0.5)
left.style.format("{:.2f} of the width")

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["remove-cell"]
glue(
    "found",
    Markdown(
        f"**Found.** Audited one by one, {found} of {len(one_by_one)} audits (each network has two error rates) are clear of "
        f"zero. Tested on all faces, networks of one composition would differ with an estimated standard deviation of "
        f"{least['between']:.1f} to {most['between']:.1f} points. The standard error that an audit of one network states is "
        f"{least['within']:.1f} to {most['within']:.1f} points. Of {len(compared_cells)} error rates of walked prototypes, "
        f"{len(estimable)} have an interval for their difference from the group set by intervention. Clear of zero, of "
        f"these: {int(apart.sum())}."
    ),
    display=False,
)

# %% tags=["remove-cell"]
_ = stage.finish(
    {"composition": effects.reset_index().to_dict("records"), "walk_apart": int(apart.sum())}
)
