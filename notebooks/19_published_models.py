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
# # Published models
#
# *You need chapter [10](10_matched_pairs) (pairs and verdicts). Reading: {{minutes}} minutes.*

# %% [markdown]
# ## Question
#
# Until here we audited networks of our own, on faces that we drew. What do models that people install from
# package registries say of faces that look like photographs? Does the colour of skin alone change it?
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
# | Population | faces that a generator of photographic faces samples and that three networks call adult; they exist nowhere |
# | Unit | one base face |
# | Intervention | the lightness of skin, measured on the pixels, at three levels; two controls |
# | Held fixed | background, hair colour, pose, mouth and proportions of the face, as measured |
# | Outcome and who labels it | what the model says: a score, an age, or no answer; no label, so no error rate |
# | Estimand | [mean change](estimands) of the answer between two levels, over base faces |
# | Tolerance and n | in the plan, for every outcome; all base faces that reached their colours |
# | Decision at stake | whether a product may use this answer |
# | Known failure | what moves with the axis and is not measured is part of its effect |
# :::

# %% tags=["hide-cell"]
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue
from PIL import Image

import faceaudit
from faceaudit.utils.formatting import in_points, spaced, with_minus
from helpers import figures
from helpers.artifacts import Stage, lineage
from helpers.claims import Margin, claim, margin_above
from helpers.figures import panels

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715

# %% tags=["remove-cell"]
stage = Stage("19_published_models", profile=profile, device=device, seed=seed)
figures.style()
pd.options.display.float_format = "{:z.2f}".format

# %% [markdown]
# ## Faces that differ in the colour of skin
#
# The faces come from MobileStyleGAN {cite:p}`mobilestylegan`, a small network that was {term}`distilled <distilled network>` from StyleGAN2
# {cite:p}`stylegan2`. It learned from photographs, so its faces look like photographs. Each face is made with light, medium and
# dark skin. Instead of asking people what dark skin looks like, we *measure* lightness on cheeks and forehead, as L\* of the
# colour space CIELAB: black has 0, white has 100. Each face is steered until it has the lightness of the fifth, sixth or seventh of
# the ten tones of the Monk Skin Tone scale {cite:p}`monk`; its three darkest tones are out of reach.
# Background, hair, pose and proportions are measured too, and keep their values.

# %%
published = lineage.ROOT / "audits/published"
manifest = json.loads((lineage.ROOT / "audits/published/manifest.json").read_text("utf-8"))
plan = json.loads((lineage.ROOT / "audits/published/plan.json").read_text("utf-8"))
measured = manifest["parts"]["measured"]

# %%
by_level = measured["by level"]
names = {"low": "light", "middle": "medium", "high": "dark"}
means = pd.DataFrame({names[level]: by_level[level]["mean"] for level in names})
spread = pd.DataFrame({names[level]: by_level[level]["sd"] for level in names})
in_words = {"L": "L*", "a": "a*, green to red", "b": "b*, blue to yellow"}
pd.concat({"mean": means, "SD": spread}, axis=1).loc[[*in_words]].rename(in_words)

# %% tags=["hide-input"]
before, faces = measured["asked to take part"], len(measured["faces"])
explained = manifest["fitted"]["R²"]["L"]
correlation = measured["correlation of measures with their planes"]["L"]
Markdown(
    f"The plan says who takes part: {plan['exclusions']['adult']}, and {plan['exclusions']['reached']}. {faces} of "
    f"{before} faces met the second rule. The first rule is asked of the face before its skin is changed, and networks err: of some "
    f"changed pictures they say fewer than 18 years. One step along a plane of lightness would miss its goal: the plane explains {explained:.0%} of the "
    f"variance (cross-validated; the correlation on unseen faces is {correlation:.2f}). So images are made and measured in "
    f"{plan['rounds']} rounds, and each face gets steps of its own."
)

# %%
held = pd.DataFrame({level: by_level[level]["change in sd"] for level in ("middle", "high")})
held = held.drop(index=["L", "a", "b"])

# %% tags=["hide-input"]
claim(
    "What is held moves by at most {most:.2f} standard deviations of random faces, while L\\* moves by {skin:.1f}.",
    holds=held.abs().max().max() < 0.1,
    most=held.abs().max().max(),
    skin=abs(by_level["high"]["change in sd"]["L"]),
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Rows of photographic faces of adults who exist nowhere, five pictures each: light, medium and dark skin, a version with other small changes, and the light face in dimmed light. Within a row expression, pose and background stay alike."}, "figure": {"name": "fig-published-faces", "caption": "Eight of the first faces of the study. From left to right: light, medium and dark skin, a step at random, dimmed light. Generated faces; no such person exists."}}
# Made by published.sheet.
sheet = np.asarray(Image.open(published / "faces.jpg")).transpose(2, 0, 1)
side = sheet.shape[2] // 5
tiles = sheet.reshape(3, -1, side, 5, side).transpose(1, 3, 0, 2, 4)
_ = figures.gallery(tiles.reshape(-1, 3, side, side), 5)

# %% [markdown]
# These are light faces whose skin was darkened, and not pictures of people with dark skin: their features stay. What is held is held on
# average, and single faces differ: the hair of one turns grey, and some look older.

# %% [markdown]
# Two controls stand beside every effect. *Dimmed light* is the light face again, but the light of the whole picture is dimmed until
# the skin reflects as much light, on average, as at the dark level. If a model reacts to it alike, its answer is about brightness. *A step at
# random* goes as far from the light face as the dark one lies, along an axis that keeps all measures as they are. If a model
# reacts to it, the model is unsteady.

# %% [markdown]
# Other instruments look at the axis from outside. One is the face mesh of an audited product: on dark skin its points should
# be as close to ours {cite:p}`landmarks` as on light skin. The others are the planes that the authors of {cite:t}`transects` fitted to people's
# answers ([](bring-your-generator)). They say what else of a perceived face moves along.

# %% tags=["hide-input"]
mesh = measured["landmarks beside the mesh"]
claim(
    "Points of eyes, nose and mouth lie {light:.1%} of the distance between the eyes from the product's in light faces, and "
    "{dark:.1%} in dark ones. Darkness moves them very little.",
    holds=abs(mesh["high"]["median distance"] - mesh["low"]["median distance"]) < 0.01,
    light=mesh["low"]["median distance"],
    dark=mesh["high"]["median distance"],
)

# %%
beside = pd.DataFrame(measured["beside given planes"]).T
heads = {"cosine": "cosine with the plane of lightness", "step in sd": "light to dark, in SD"}
beside.rename(spaced).rename(columns=heads)

# %%
along = beside["step in sd"].drop("skin_colour")

# %% tags=["hide-input"]
claim(
    "The plane of skin moves most, by {skin:+.1f} standard deviations of random faces. Those of gender and hair length "
    "stay. The plane of age moves by {age:+.1f}: by that plane, the dark version looks older.",
    holds=along.abs().max() < beside.loc["skin_colour", "step in sd"]
    and along[["gender", "hair_length"]].abs().max() < 0.1 < along["age"],
    skin=beside.loc["skin_colour", "step in sd"],
    age=along["age"],
)

# %%
LEAK = 0.15  # standard deviations, the most that chapter 5 allows
leaking = along[along.abs() > LEAK].sort_values(key=abs, ascending=False)

# %% tags=["hide-input"]
claim(
    "Chapter 5 allows an attribute that is held to move by {gate} standard deviations. All that is measured and held here "
    "keeps to that, and so do the planes of gender and hair length. {leaking} planes of people's answers move more: {listed}. "
    "A sentence about one of these, such as age, mixes colour with look.",
    holds=held.abs().max().max() <= LEAK and along[["gender", "hair_length"]].abs().max() <= LEAK,
    gate=LEAK,
    leaking=len(leaking),
    listed=", ".join(spaced(name) for name in leaking.index),
)

# %% [markdown]
# ## Models, as their users run them
#
# All models are free software and run offline. Packages of npm run in node, the one of PyPI runs in Python.
# Each finds the face itself and cuts it out itself, as it does for its users. *Human* offers several networks for one question; each
# setting is asked on its own. The line in which a package describes itself names what it
# tells, such as age, gender and emotion; it leaves out any use.

# %%
rows = [
    {"package": one["package"], "version": one["versions"][one["package"]], "network": network}
    for one in manifest["models"]
    for network in dict.fromkeys(one["told"].values())
]
pd.DataFrame(rows).assign(recorded=measured["made"][:10]).set_index(["package", "version"])

# %% [markdown]
# ## The plan came first
#
# A trial came before the study, and is left out of it. Then the plan was written: which outcomes count, what change of each is
# tolerated, who takes part, and that all answers share one chance of a mistake. It has a hash, and is dated before the first
# recorded answer. The table has what it tolerates, as a share of a score or in years, and how many networks tell each answer. Which
# answer is right does not matter here: it is the same face in all of its pictures.

# %%
planned = pd.DataFrame(plan["outcomes"]).groupby("outcome", sort=False)
tolerance = planned["tolerance"].first().to_dict()
planned.agg(tolerance=("tolerance", "first"), networks=("model", "nunique"))

# %% [markdown]
# ## What one call computes
#
# The record has a row for each image, network and outcome. The light face is the reference of four changes. For each network and
# outcome, `faceaudit.table` takes the rows and computes paired changes with base faces as units. Then `faceaudit.side_by_side`
# judges all of them together. Its intervals are {term}`joint <simultaneous intervals>`.

# %%
answers = pd.read_csv(published / "answers.csv", keep_default_na=False, na_values={"value": [""]})
kinds = {
    "low": "light",
    "middle": "medium skin",
    "high": "dark skin",
    "random": "a step at random",
    "placebo": "dimmed light",
}

# %%
reasons = {"answered": "", "abstained": "abstention", "failed": "failed call"}
answers["reason"] = answers["state"].replace(reasons)
part = answers[answers["study"].isin(["measured", "random", "placebo"])]
kind = part["skin"].where(part["study"] == "measured", part["study"])
part = part.assign(change=kind.map(kinds))

# %% [markdown]
# The next table has the lightness L\* of the skin in all pictures: mean and standard deviation over faces. A step at random keeps the
# planes of all measures, and still moves some faces. Dimmed light is set by the mean light that the skin reflects, and not by L\*.

# %%
lit = part.drop_duplicates("image").groupby("change")["lightness"].agg(mean="mean", SD="std")
lit.loc[[*kinds.values()]].rename_axis("L* of the skin").style.format("{:.1f}")

# %%
settings = {"unit": "transect", "image": "image", "reason": "reason", "incomplete": "pairs"}
asked_for = {
    "P(male)": {"score": "value", "outcomes": ["score", "flip"]},
    "age": {"outcome": "value"},
}
SCORE = {"score": "value", "outcomes": ["score"]}


# %%
def audit_of(rows: pd.DataFrame, outcome: str, axes: dict[str, list[str]]) -> faceaudit.AuditResult:
    """The audit of what one network says of one outcome; the first levels are the references."""
    how = settings | asked_for.get(outcome, SCORE)
    return faceaudit.table(rows, axes=axes, tolerance=tolerance[outcome], **how)


def by_network(table: pd.DataFrame) -> pd.DataFrame:
    """A table of all models, with columns for the network, its answer and the change."""
    parts = table["model"].str.rsplit(" ", n=1, expand=True)
    change = table["contrast"].str.split(" instead of ").str[0]
    return table.assign(network=parts[0], answer=parts[1], change=change)


# %%
def judged_together(rows: pd.DataFrame, axes: dict[str, list[str]]) -> dict[str, pd.DataFrame]:
    """Changes, flips and silence of all networks, with joint intervals."""
    told = rows.groupby(["model", "outcome"], sort=False)
    audits = {
        f"{network} {outcome}": audit_of(of_one, outcome, axes)
        for (network, outcome), of_one in told
        if of_one["value"].notna().any()
    }
    together = faceaudit.side_by_side(audits)
    return {
        "changes": by_network(together.averages),
        "flips": by_network(together.outcomes).query("outcome == 'flip'"),
        "silence": by_network(together.missing),
    }


# %%
together = judged_together(part, {"change": [*kinds.values()]})
effects = together["changes"]

# %% [markdown]
# The table has the verdict on each answer, for all changes. *Beyond* is a test against the tolerance, adjusted for all answers. *Within*
# is two one-sided tests for this answer alone, at the level of the plan. The joint intervals of the figures are a third thing: a verdict can differ from
# what they show. One network tells a side and no score, so it has no line here.

# %%
by_answer = effects.assign(verdict=effects["verdict"].astype(str))
verdicts = by_answer.pivot_table(
    "verdict", ["network", "answer"], "change", aggfunc="first", sort=False
)
in_words = {"exceeds": "beyond", "inconclusive": "undecided"}
verdicts[[*kinds.values()][1:]].rename_axis(columns=None).replace(in_words)

# %% [markdown]
# The plan has a second study, with faces of another seed and half as many. They were made and asked like the first ones, but for the
# controls. A sentence about a score or an age along the measured axis names both studies. What rests on one part says so.

# %%
skin_levels = {name: kinds[name] for name in ("low", "middle", "high")}
repeated = answers[answers["study"] == "repeated"]
repeated = repeated.assign(change=repeated["skin"].map(skin_levels))
again = judged_together(repeated, {"change": [*skin_levels.values()]})["changes"]


# %%
def beyond_tolerance(answers: list[str]) -> str:
    """How many of these answers change beyond the tolerance where the skin is dark."""
    verdict = effects[effects["answer"].isin(answers) & (effects["change"] == "dark skin")][
        "verdict"
    ]
    return f"{verdict.eq('exceeds').sum()} of {len(verdict)}"


# %%
def joint(
    answers: list[str], row: str, unit: float = 1.0, changes: pd.DataFrame = effects
) -> pd.DataFrame:
    """Changes with joint intervals, for a figure in hundredths of a unit."""
    chosen = changes[changes["answer"].isin(answers)]
    ends = chosen[["estimate", "low_family", "high_family"]].astype(float) / unit
    ends.columns = ["estimate", "low", "high"]
    return ends.assign(row=chosen[row], change=chosen["change"])


def with_tolerance(figure: plt.Figure, answer: str) -> plt.Figure:
    """The figure with a grey band of the tolerance of an answer, in points or in years."""
    most = tolerance[answer] * (1 if answer == "age" else 100)
    figure.axes[0].axvspan(-most, most, color="#DDDDDD", zorder=0)
    return figure


def change_of(
    network: str, answer: str, change: str = "dark skin", changes: pd.DataFrame = effects
) -> dict[str, float]:
    """A change with its joint interval."""
    row = changes.query("network == @network and answer == @answer and change == @change").iloc[0]
    return {"estimate": row["estimate"], "low": row["low_family"], "high": row["high_family"]}


# %% [markdown]
# ## Perceived gender
#
# A product that tells gender tells how a face looks to it. Its score P(male) runs from 0 to 1. The change of the score needs no label.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Intervals of the change of the score P(male) for each network: medium skin, dark skin, a step at random and dimmed light, each against the light face, around a grey band of the tolerance."}, "figure": {"name": "fig-published-gender", "caption": "Change of the score P(male) against the light face, in points; joint intervals over all answers of all networks. Grey: the tolerance."}}
# Computed by faceaudit.side_by_side.
figure = panels.intervals(
    joint(["P(male)"], "network"), "row", "change", xlabel="points of P(male)"
)
figure = with_tolerance(figure, "P(male)")
beyond = beyond_tolerance(["P(male)"])
_ = figure.axes[0].set_title(f"P(male): dark skin moves {beyond} beyond the tolerance", fontsize=12)

# %% tags=["hide-input"]
gear, dimmed = change_of("gear", "P(male)"), change_of("gear", "P(male)", "dimmed light")
gear_again = change_of("gear", "P(male)", changes=again)
claim(
    "Dark skin changes the score P(male) that *gear* gives by {gear:points} points, and by {again:points} in the second study. "
    "Dimmed light alone changes it by {dimmed:points}: much of the change is brightness.",
    margins=[margin_above(change, 0) for change in (gear, gear_again, dimmed)],
    gear=gear,
    again=gear_again,
    dimmed=dimmed,
)

# %% tags=["hide-input"]
others = effects.query("answer == 'P(male)' and change == 'dark skin' and network != 'gear'")
others_again = again.query("answer == 'P(male)' and change == 'dark skin' and network != 'gear'")
claim(
    "No other network that tells gender is shown to be beyond the tolerance, in either study. Their changes run from "
    "{least:points} to {most:points} points, and in the second study from {least_again:points} to {most_again:points}.",
    holds=not pd.concat([others, others_again])["verdict"].eq("exceeds").any(),
    least=others["estimate"].min(),
    most=others["estimate"].max(),
    least_again=others_again["estimate"].min(),
    most_again=others_again["estimate"].max(),
)

# %% tags=["hide-input"]
random_steps = effects.query("change == 'a step at random'")["verdict"]
claim(
    "A step at random is within the tolerance for {within} of {n} answers on average, and beyond it for none.",
    holds=not random_steps.eq("exceeds").any(),
    within=int(random_steps.eq("within").sum()),
    n=len(random_steps),
)

# %% [markdown]
# ## Age and emotion, without a gender axis
#
# The same faces and the same call answer for ages and emotions. Readers who want to leave gender out
# can begin here: this section stands without the one before.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Intervals of the change of the age in years that each network tells: medium skin, dark skin, a step at random and dimmed light, each against the light face, around a grey band of the tolerance."}, "figure": {"name": "fig-published-ages", "caption": "Change of the age that a network tells, in years, against the light face; joint intervals over all answers of all networks. Grey: the tolerance."}}
# Computed by faceaudit.side_by_side.
figure = panels.intervals(joint(["age"], "network", 100), "row", "change", xlabel="years")
figure = with_tolerance(figure, "age")
beyond = beyond_tolerance(["age"])
_ = figure.axes[0].set_title(f"Ages: dark skin moves {beyond} beyond the tolerance", fontsize=12)

# %% tags=["hide-input"]
ages_in_dim_light = effects.query("answer == 'age' and change == 'dimmed light'")[
    "estimate"
].astype(float)
Markdown(
    with_minus(
        f"Dimmed light alone changes the ages by {ages_in_dim_light.min():+.1f} to {ages_in_dim_light.max():+.1f} years."
    )
)

# %% [markdown]
# Ages rise where both studies agree: the {term}`joint interval <simultaneous intervals>` lies above zero in each. Beyond the tolerance is a network whose verdict says
# so in both.

# %%
first_age, second_age = (
    changes.query("answer == 'age' and change == 'dark skin'").set_index("network")
    for changes in (effects, again)
)
older = first_age.index[(first_age["low_family"] > 0) & (second_age["low_family"] > 0)].tolist()
far = first_age.index[[*first_age["verdict"].eq("exceeds") & second_age["verdict"].eq("exceeds")]]
years = {
    name: [change_of(name, "age", changes=study) for study in (effects, again)] for name in older
}

# %% tags=["hide-input"]
by_light = {name: change_of(name, "age", "dimmed light") for name in far}
told = [
    f"{name} {first['estimate']:+.1f} and {second['estimate']:+.1f}"
    for name, (first, second) in years.items()
]
claim(
    "**Ages rise along the measured axis for {count} of {n} networks, in both studies**: {told} years. Beyond the tolerance in both are "
    "{far}. For these, dimmed light changes ages by {least:+.1f} to {most:+.1f} years, so dimming the picture does not do this. The axis moves people's "
    "plane of age too, so part of the change may be an older look. A section below returns to this.",
    margins=[
        *(margin_above(change, 0) for changes in years.values() for change in changes),
        *(Margin(tolerance["age"] - change["high"], 0) for change in by_light.values()),
    ],
    count=len(older),
    n=len(first_age),
    told=", ".join(told),
    far=" and ".join(far),
    least=min(change["estimate"] for change in by_light.values()),
    most=max(change["estimate"] for change in by_light.values()),
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Intervals of the change of four scores, happy, angry, real and live, of each network that tells them: medium skin, dark skin, a step at random and dimmed light, each against the light face, around a grey band of the tolerance."}, "figure": {"name": "fig-published-emotions", "caption": "Change of the scores of two emotions, and of being real and live, in points, against the light face; joint intervals over all answers of all networks. Grey: the tolerance."}}
# Computed by faceaudit.side_by_side.
scores = ["happy", "angry", "real", "live"]
figure = panels.intervals(joint(scores, "model"), "row", "change", xlabel="points of the score")
figure = with_tolerance(figure, "happy")  # the others have the same tolerance
beyond = beyond_tolerance(scores)
_ = figure.axes[0].set_title(f"Dark skin moves {beyond} scores beyond the tolerance", fontsize=12)

# %% [markdown]
# *Real* and *live* are meant to tell a person before the camera from a picture of one. Here only pictures are before the camera, so a high
# score is no success; what counts is the change.

# %%
guards = effects.query("answer in ['real', 'live']").set_index(["answer", "change"])["estimate"]

# %% tags=["hide-input"]
claim(
    "Dark skin changes *real* by {real:points} points and *live* by {live:points}, dimmed light by {real_dimmed:points} and "
    "{live_dimmed:points}. Dimmed light does about as much, so a sentence about skin has no ground here.",
    holds=bool((guards[:, "dimmed light"] / guards[:, "dark skin"] > 0.75).all()),
    real=guards["real", "dark skin"],
    live=guards["live", "dark skin"],
    real_dimmed=guards["real", "dimmed light"],
    live_dimmed=guards["live", "dimmed light"],
)

# %% [markdown]
# ## Flips and silence
#
# A *flip* is another decision about the same face: the score crosses the threshold of one half. A missing answer is an outcome
# of its own: a product that misses a face, or stays silent about it, does harm without a wrong answer. The table has the share
# of the decisions about P(male) that each change flips, in the first study. Part of it is unsteadiness: a step at random flips decisions too.

# %%
often = together["flips"].pivot_table("estimate", "network", "change", sort=False)
often.style.format("{:.1%}")

# %% tags=["hide-input"]
unsteady = often["a step at random"] > 0.5 * often["dark skin"]
Markdown(
    f"A step at random flips, for {unsteady.sum()} of {len(unsteady)} networks, more than half as many decisions as dark skin does."
)

# %%
states = part[part["outcome"] == "P(male)"].groupby("model")["state"]
shares = states.agg(lambda kinds: (kinds == "abstained").mean())
unseen = states.agg(lambda kinds: (kinds == "no face").sum()).sum()

# %% tags=["hide-input"]
mute, partly = shares.index[shares == 1], shares[(shares > 0) & (shares < 1)]
of_images = [f"{name} for {share:.1%} of the images" for name, share in partly.items()]
sides = manifest["parts"]["repeated"]["sides without a score"]
one_sided = [
    f"*{name}* gives no score for any image, and says male of {sides[name]['male']} of {sides[name]['images']} images of the "
    "second study"
    for name in mute
]
Markdown(
    f"Images in which a package found no face: {unseen}. Some networks sometimes withhold gender: "
    f"{', '.join(of_images)}. {'; '.join(one_sided)}. The figures leave it out: one answer for every face "
    "is not fairness."
)

# %% [markdown]
# Silence is judged like an answer, with the tolerance of P(male). The table has how far each change moves the share of silent images, in
# points, for the networks that are ever silent.

# %%
silence = together["silence"].query("answer == 'P(male)'")
moved_silence = 100 * silence.pivot_table("estimate", "network", "change", sort=False)
moved_silence.style.format("{:+z.1f}")

# %% tags=["hide-input"]
beyond = silence["verdict"].eq("exceeds").sum()
Markdown(f"Beyond the tolerance are {beyond} of these {len(silence)} changes.")

# %% [markdown]
# ## The same with other faces
#
# Intervals say how far another sample of faces may lead. The second study is such a sample. Two studies *agree* about a
# change if their difference lies within what both joint intervals allow together.


# %%
def held_together(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Changes of two studies, their difference, and whether both joint intervals allow it."""
    both = one.merge(other, on=["network", "answer", "change"], suffixes=("", " again"))
    lengths = [
        (both[f"high_family{study}"] - both[f"low_family{study}"]).astype(float)
        for study in ("", " again")
    ]
    both["difference"] = (both["estimate again"] - both["estimate"]).astype(float)
    both["agree"] = both["difference"].abs() <= np.hypot(*lengths) / 2
    return both


# %%
both = held_together(effects, again)
agree = both["agree"]

# %% tags=["hide-input"]
claim(
    "With {faces} other faces {agree} of {n} changes do not differ by more than the intervals allow.",
    holds=bool(agree.mean() > 0.9),
    faces=len(manifest["parts"]["repeated"]["faces"]),
    agree=int(agree.sum()),
    n=len(agree),
)

# %% tags=["hide-input"]
apart = [
    f"{row.answer} of *{row.network}* with {row.change}, which is {in_points(row.estimate)} and "
    f"{in_points(row.estimate_again)} points"
    for row in both[~agree].rename(columns={"estimate again": "estimate_again"}).itertuples()
]
Markdown(
    with_minus(
        f"The rest is {'; '.join(apart)}. It has one sign in both studies, but its size is unsettled: take the size from no "
        "single study. By chance alone, at most about one pair of studies in twenty has such a difference."
    )
    if apart
    else "No change differs more than that."
)

# %% [markdown]
# Both studies along this axis were made twice, by the same plan, and the answers of the first making were known when the second was
# made. The first record lacked the steps of the faces, so that another machine could not draw the same pictures. The second one has
# them. Its steps are rounded in every round, and the step at random of a face depends on the number of the face alone. Most faces
# take part in both records, with other pictures. The table says how much that moves: the largest difference of a change, beside
# the half-width of its joint interval, and how many verdicts turned.

# %%
first = dict(iter(pd.read_csv(published / "first_record.csv").groupby("study")))
second = {"measured": effects, "repeated": again}
twice = {
    name: held_together(changes, first[name].drop(columns="study"))
    for name, changes in second.items()
}
remade = pd.concat(twice, names=["study"]).reset_index("study")
unit = remade["answer"].eq("age").map({True: 1.0, False: 100.0})  # years, or points of a score
remade["size"] = unit * remade["difference"].abs()
remade["half-width"] = unit * (remade["high_family"] - remade["low_family"]).astype(float) / 2
remade["turned"] = remade["verdict"].astype(str) != remade["verdict again"]

# %%
by_answer = remade.groupby(["study", "answer"], sort=False)
how = {"size": "max", "half-width": "median", "turned": "sum"}
heads = ["largest difference", "median half-width", "verdicts that turned"]
table = by_answer.agg(how).set_axis(heads, axis=1)
studies = {"measured": "first study", "repeated": "second study"}
caption = "Differences and half-widths in points of a score, those of ages in years"
table.rename(studies, level="study").style.format("{:.2f}", subset=heads[:2]).set_caption(caption)

# %%
in_first = held_together(*(first[name].drop(columns="study") for name in second))
unsettled = in_first[~in_first["agree"]]

# %% tags=["hide-input"]
Markdown(
    with_minus(
        f"In the first record {in_first['agree'].sum()} of {len(in_first)} changes agreed between its two studies. The rest: "
        + "; ".join(
            f"{row.answer} of *{row.network}* with {row.change}, {in_points(row.estimate)} and "
            f"{in_points(row.estimate_again)} points"
            for row in unsettled.rename(columns={"estimate again": "estimate_again"}).itertuples()
        )
        + ". So take the size of such a change from no single study."
    )
)

# %% [markdown]
# ## What people call dark skin, and the length of hair
#
# The measured axis needs pixels alone. The usual way needs people: they answer questions about faces, and planes are fitted to
# their answers ([](03_direction_fitting)). This part has one control, dimmed light; steps at random were made along the measured axis
# alone. We take the planes that the authors of {cite:t}`transects` fitted, and make faces
# in their design: light and dark skin, short and longer hair, a female and a male look, in all combinations. The planes
# lack a licence, so this book holds only the answers: it leaves out the planes and these pictures.

# %%
by_people = answers[answers["study"] == "planes"].assign(
    skin=lambda rows: rows["skin"].map({"low": "light", "high": "people's skin plane"}),
    hair=lambda rows: rows["hair"].map({"low": "short", "high": "longer hair"}),
    gender=lambda rows: rows["gender"].map({"low": "female", "high": "male look"}),
)
undimmed = by_people["exposure"] == ""
axes = {
    "skin": ["light", "people's skin plane"],
    "hair": ["short", "longer hair"],
    "gender": ["female", "male look"],
}

# %%
to_people = judged_together(by_people[undimmed], axes)["changes"]

# %%
dimmed = by_people["exposure"] == "darkened"
light = by_people["skin"] == "light"
control = by_people[light].assign(skin=np.where(dimmed[light], "plane's faces dimmed", "light"))
of_control = axes | {"skin": ["light", "plane's faces dimmed"]}
dimmed_again = judged_together(control, of_control)["changes"]

# %%
dark_or_dimmed = by_people[dimmed | ~light]
named = np.where(dimmed[dark_or_dimmed.index], "plane's faces dimmed", "people's skin plane")
of_both = axes | {"skin": ["plane's faces dimmed", "people's skin plane"]}
beyond_light = judged_together(dark_or_dimmed.assign(skin=named), of_both)["changes"]

# %% [markdown]
# How light is the skin of these pictures, and how much does it differ between faces? The table has means and standard deviations of
# L\*, for light faces and for those that are dark to people.

# %%
pictures = by_people[undimmed].drop_duplicates("image").groupby("skin", sort=False)["lightness"]
pictures.agg(mean="mean", SD="std")

# %% [markdown]
# On the measured axis faces of one level differ less: the first table of this page has it. So the lightness that people's
# plane reaches varies, and its dark end is darker. And it changes what people see together with dark skin: the table has the
# measures that the measured axis holds. The axes answer different questions: *does colour matter*, and *does a look matter that
# people call dark-skinned*.

# %%
moved = pd.DataFrame(manifest["parts"]["planes"]["change in sd"])
beside_skin = pd.DataFrame(
    {
        "measured axis": by_level["high"]["change in sd"],
        "people's skin plane": moved["skin"],
        "people's hair plane": moved["hair"],
    }
)
beside_skin.drop(["L", "a", "b"]).round(2)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Intervals of the change of the score P(male) for each network along four axes: dark skin as measured, people's skin plane, the light of its light faces dimmed, and longer hair, around a grey band of the tolerance."}, "figure": {"name": "fig-published-planes", "caption": "Change of the score P(male), in points: dark skin as it is measured, people's plane of skin, dimmed light on the faces of that plane, and longer hair; joint intervals over all answers of all networks of a part. Grey: the tolerance."}}
# Computed by faceaudit.side_by_side.
of_axes = [
    effects.query("change == 'dark skin'"),
    to_people.query("change != 'male look'"),
    dimmed_again.query('change == "plane\'s faces dimmed"'),
]
along_axes = joint(["P(male)"], "network", changes=pd.concat(of_axes))
figure = panels.intervals(along_axes, "row", "change", xlabel="points of P(male)")
_ = with_tolerance(figure, "P(male)")

# %%
by_hair = to_people.query("answer == 'P(male)' and change == 'longer hair'")

# %% tags=["hide-input"]
claim(
    "**Along people's plane of hair length the score P(male) of all {n} networks falls**, by {least:.0f} to {most:.0f} points. That "
    "plane is a look, too: it makes hair and background darker on average. It has one study and lacks a control of its own.",
    margins=[Margin(-row.high_family, 0) for row in by_hair.itertuples()],
    n=len(by_hair),
    least=-100 * by_hair["estimate"].max(),
    most=-100 * by_hair["estimate"].min(),
)

# %%
by_plane = to_people.query("answer == 'P(male)' and change == \"people's skin plane\"")
upward = by_plane[by_plane["low_family"] > 0]
downward = by_plane[by_plane["high_family"] < 0]
gear_plane = change_of("gear", "P(male)", "people's skin plane", to_people)
gear_dimmed = change_of("gear", "P(male)", "plane's faces dimmed", dimmed_again)

# %% tags=["hide-input"]
claim(
    "Skin along people's plane moves the networks in different directions: {up} upwards, {down} downwards. For *gear*, the "
    "dimmed light of the same faces does {dimmed:points} points, which is more than the plane does ({plane:points}).",
    margins=[
        *(Margin(row.low_family, 0) for row in upward.itertuples()),
        *(Margin(-row.high_family, 0) for row in downward.itertuples()),
        Margin(gear_dimmed["low"] - gear_plane["high"], 0),
    ],
    up=" and ".join(upward["network"]),
    down=", ".join(downward["network"]),
    dimmed=gear_dimmed,
    plane=gear_plane["estimate"],
)

# %%
plane_ages = to_people.query("answer == 'age' and change == \"people's skin plane\"")
plane_ages = plane_ages.set_index("network")
turned = [name for name in older if plane_ages.loc[name, "high_family"] < 0]
dimmed_ages = dimmed_again.query("answer == 'age' and change == \"plane's faces dimmed\"")
dimmed_ages = dimmed_ages.set_index("network")

# %%
more_than_light = beyond_light.query("answer == 'age' and change == \"people's skin plane\"")
more_than_light = more_than_light.set_index("network")["high_family"].loc[turned] < 0

# %% tags=["hide-input"]
signs = [
    f"{name} {first_age.loc[name, 'estimate']:+.1f} and {plane_ages.loc[name, 'estimate']:+.1f} "
    f"[{dimmed_ages.loc[name, 'estimate']:+.1f}]"
    for name in turned
]
claim(
    "**The two axes of skin disagree, even in the sign**: {count} networks say more years along the measured axis and fewer along "
    "people's plane ({signs}; in brackets what dimmed light does to the same faces). For {k} of them, {names}, people's plane takes away "
    "more years than dimmed light. People's plane of age is held along people's plane of skin, and moves along the measured axis. The axes also differ "
    "in the lightness that they reach, in the look and in the faces. So we cannot say that colour alone adds the years.",
    margins=[Margin(-plane_ages.loc[name, "high_family"], 0) for name in turned],
    count=len(turned),
    signs=with_minus(", ".join(signs)),
    k=int(more_than_light.sum()),
    names=" and ".join(more_than_light.index[more_than_light]),
)

# %%
of_gender = by_people[by_people["outcome"] == "P(male)"]
face_api = of_gender[of_gender["model"] == "face-api"]
missed = face_api["state"].eq("no face").groupby(face_api["exposure"]).mean()
faceres = of_gender.query("model == 'faceres' and exposure == ''")
dim = of_gender.query("model == 'faceres' and exposure == 'darkened'")["state"]
untold = faceres["state"].eq("abstained").groupby(faceres["skin"]).mean()

# %% tags=["hide-input"]
Markdown(
    f"Silence changes too. Where these pictures are dimmed, *face-api* misses the face in {missed['darkened']:.0%} of them, "
    f"and in {missed['']:.0%} otherwise. *faceres* withholds gender for {untold['light']:.1%} of the light faces, for "
    f"{dim.eq('abstained').mean():.1%} of these in dimmed light, and for {untold.drop('light').item():.1%} of those that are dark to people."
)

# %% [markdown]
# ## Run it yourself
#
# This page shows the record, `audits/published/answers.csv`, and computes all effects from it with every build of the book. One
# command makes faces and answers anew on your machine and compares them with the record. Afterwards it
# works offline. The record has the steps of each face, so the same faces are made again. [The same study on another day (Benchmarks)](published-again) shows
# what comes of it.
#
# ```bash
# make published LIVE=6   # the first six faces of the record
# make published          # both studies along the measured axis, in two or three hours
# ```

# %% [markdown]
# ## What it does not say
#
# - Perceived gender only. An audit is no endorsement of telling gender from faces.
# - The faces exist nowhere. The numbers are effects on generated faces, and no rates for people.
# - These faces lack labels by people, so this page leaves out error rates of named models. In session 11 of the course
#   a class labels them.
# - The photographs from which the generator learned, and StyleGAN2 itself, are for non-commercial use. That may hold
#   for the distilled network as well, in spite of its licence ([](data-and-ethics)).
# - Another version may answer otherwise.

# %% [markdown]
# ## What would change our mind
#
# - If a step at random moved scores as far as skin does, the networks would be unsteady, and no sentence about skin could stand.
# - If any of the changes differed by more than both joint intervals allow in more than one study of twenty, the intervals
#   would be too short.
# - If people saw another person in the dark version of a face, the axis would move more than colour.

# %% [markdown]
# ## Exercises
#
# ```{exercise} Skin or darkness, 15 minutes, medium
# :label: exercise-skin-or-darkness
# Compare dark skin with dimmed light directly: the skin reflects about as much light in both. For which networks does a
# difference of P(male) remain?
#
# **Check:** it is close to the difference of the two effects in {numref}`fig-published-gender`.
# ```

# %% [markdown]
# ```{solution-start} exercise-skin-or-darkness
# :class: dropdown
# ```
# The dimmed face is the reference now, and two levels are left. Faces count where a network answers at both. This comparison is
# outside of the plan: read it as a question for the next study.

# %% tags=["solution"]
two = {"change": ["dimmed light", "dark skin"]}
both = part.query("outcome == 'P(male)' and change in ['dimmed light', 'dark skin']")
by_name = both[both["value"].notna()].groupby("model", sort=False)
alone = {name: audit_of(rows, "P(male)", two).averages.iloc[0] for name, rows in by_name}
100 * pd.DataFrame(alone).T[["estimate", "low", "high"]].astype(float)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} Fewer faces, 10 minutes, easy
# :label: exercise-fewer-faces
# How many faces would have been enough to see that ages rise along the measured axis? Take the first of them only, and compute mean
# and half-width of the change of one network.
#
# **Check:** four times the faces about halve the half-width.
# ```

# %% [markdown]
# ```{solution-start} exercise-fewer-faces
# :class: dropdown
# ```
# We take the mean of one network's differences with its normal interval: what the audit computes, without the joint
# adjustment.

# %% tags=["solution"]
of_one = part.query("model == 'face-api' and outcome == 'age'")
wide = of_one.pivot_table("value", "transect", "change")
change = wide["dark skin"] - wide["light"]
rows = {n: [change[:n].mean(), 1.96 * change[:n].sem()] for n in (25, 100, len(change))}
pd.DataFrame(rows, ["mean", "half-width"]).T.rename_axis("faces").round(2)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ## Takeaways
#
# - Steer what you can measure, and show what was reached.
# - Put dimmed light and a step at random beside every sentence about skin.
# - Speak of a named model by version, settings and date, and only of what was measured.
#
# **Next:** the [advanced notes](notes), for steps you want to know better.

# %% tags=["remove-cell"]
skin = effects.query("change == 'dark skin'")
counts = skin["verdict"].value_counts()
skin_beyond = skin[skin["verdict"].eq("exceeds")]
keys = ["network", "answer"]
dim_beyond = effects.query("change == 'dimmed light' and verdict == 'exceeds'")
of_these = len(dim_beyond.merge(skin_beyond, on=keys))
again_beyond = again.query("change == 'dark skin' and verdict == 'exceeds'")
beyond_again = len(again_beyond.merge(skin_beyond, on=keys))
most_years = max(first["estimate"] for first, _ in years.values())
glue(
    "answer",
    Markdown(
        with_minus(
            f"Yes, for some answers. We darken the skin of {faces} faces and hold what else is measured. Of {len(skin)} answers "
            f"of published networks {counts.get('exceeds', 0)} change beyond the tolerance, {counts.get('within', 0)} are within it, and "
            f"{counts.get('inconclusive', 0)} are undecided. With other faces, {beyond_again} of the {len(skin_beyond)} are beyond it again. Dimmed light "
            f"changes {len(dim_beyond)} answers beyond it, {of_these} of them among the {len(skin_beyond)}: these react to brightness as well. "
            f"Between the two studies, {agree.sum()} of {len(agree)} changes do not differ by more than the intervals allow. "
            f"{len(older)} of {len(first_age)} networks that tell ages say more years, up to {most_years:.1f}; along another axis, "
            f"the plane of what people call dark skin, {len(turned)} of them say fewer. So say which axis was used whenever you state an effect of skin. "
            f"Along people's plane of hair, all {len(by_hair)} networks that give a gender score find faces with longer hair less male."
        )
    ),
    display=False,
)

# %% tags=["remove-cell"]
kept = ["network", "answer", "change", "estimate", "low_family", "high_family", "n", "verdict"]
dimmed_again = dimmed_again.query('change == "plane\'s faces dimmed"')
results = {
    "faces": faces,
    "effects": effects[kept].to_dict("records"),
    "repeated": again[kept].to_dict("records"),
    "to people": to_people[kept].to_dict("records"),
    "dimmed light on faces of the planes": dimmed_again[kept].to_dict("records"),
    "less male with longer hair": {
        "networks": len(by_hair),
        "least": -by_hair["estimate"].max(),
        "most": -by_hair["estimate"].min(),
    },
    "more years along the measured axis, fewer along people's": {
        "networks": len(first_age),
        "both": len(turned),
    },
}
_ = stage.finish(results)
