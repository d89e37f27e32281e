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
# # What published models do when the skin is darkened
#
# People install models that read faces from package registries. We asked those of three packages about faces that look like
# photographs and exist nowhere. Each face was made with light, medium and dark skin. Hair, pose, proportions and
# background are measured and held, on average. [](19_published_models) has the study, with its code.
#
# ```{glue:md} answer
# :format: myst
# ```

# %% tags=["remove-cell"]
import json

import numpy as np
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue
from PIL import Image

from faceaudit.utils.formatting import with_minus
from helpers import artifacts, figures
from helpers.artifacts.lineage import ROOT
from helpers.figures import panels

# %% tags=["parameters", "remove-cell"]
profile = "laptop"

# %% tags=["hide-cell"]
figures.style()
manifest = json.loads((ROOT / "audits/published/manifest.json").read_text("utf-8"))
plan = json.loads((ROOT / "audits/published/plan.json").read_text("utf-8"))
tolerance = {one["outcome"]: one["tolerance"] for one in plan["outcomes"]}
results = artifacts.load("19_published_models", "results.json", profile)
measured, again, by_people, dimmed = (
    pd.DataFrame(results[name])
    for name in ("effects", "repeated", "to people", "dimmed light on faces of the planes")
)

# %% [markdown]
# ## The faces

# %% tags=["hide-input"] mystnb={"image": {"alt": "Rows of photographic faces of adults who exist nowhere, five pictures each: light, medium and dark skin, a version with other small changes, and the light face in dimmed light. Within a row expression, pose and background stay alike."}, "figure": {"name": "fig-what-faces", "caption": "Eight of the first faces of the study. From left to right: light, medium and dark skin, a step at random, dimmed light. Generated faces; no such person exists."}}
# Made by published.sheet.
sheet = np.asarray(Image.open(ROOT / "audits/published/faces.jpg")).transpose(2, 0, 1)
side = sheet.shape[2] // 5
tiles = sheet.reshape(3, -1, side, 5, side).transpose(1, 3, 0, 2, 4)
_ = figures.gallery(tiles.reshape(-1, 3, side, side), 5)

# %% [markdown]
# *Dark skin* is steered until cheeks and forehead have the lightness of the seventh of the ten tones of the Monk Skin Tone scale, as
# measured on the pixels. These are light faces whose skin was darkened, and no pictures of people with dark skin. Two controls stand beside it. *A step at random* goes as far along an axis that keeps all measures as they are. *Dimmed light*
# darkens the whole picture of the light face instead of its skin.

# %% [markdown]
# A second axis is
# *people's skin plane*:
# a plane that others fitted to people's answers, which moves whatever people see together with dark skin. *Longer hair* is
# an axis of the same kind. Both were tried on other faces than the measured axis, whose light pictures were dimmed as well.

# %% [markdown]
# So there are two axes of skin, and they can disagree, even in the sign. Neither is the right one: the first moves colour
# and little else that is measured, the second moves a look.


# %% tags=["hide-cell"]
def rows_of(answer: str, unit: float = 1.0) -> pd.DataFrame:
    """Changes of an answer along both skin axes, hair, and the controls, for a figure."""
    changes = pd.concat([measured.query("change != 'medium skin'"), by_people, dimmed])
    chosen = changes[(changes["answer"] == answer) & (changes["change"] != "male look")]
    ends = chosen[["estimate", "low_family", "high_family"]].astype(float) / unit
    ends.columns = ["estimate", "low", "high"]
    return ends.assign(network=chosen["network"], change=chosen["change"])


# %% [markdown]
# ## Perceived gender
#
# The score runs from 0 (female) to 1 (male). The face is the same in all of its pictures, so the scores alone are enough to see a change.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Intervals of the change of the score P(male) of each network along six axes: dark skin as measured, a step at random, dimmed light, people's skin plane, longer hair, and the dimmed light of the plane's faces, around a grey band of the tolerance."}, "figure": {"name": "fig-what-gender", "caption": "Change of the score P(male), in points; joint intervals over all answers of all networks of a part of the study. Grey: the tolerance."}}
# Computed by faceaudit.side_by_side (chapter 19).
figure = panels.intervals(rows_of("P(male)"), "network", "change", xlabel="points of P(male)")
most = 100 * tolerance["P(male)"]
_ = figure.axes[0].axvspan(-most, most, color="#DDDDDD", zorder=0)

# %% [markdown]
# ## Age

# %% tags=["hide-input"] mystnb={"image": {"alt": "Intervals of the change of the age in years that each network tells along six axes: dark skin as measured, a step at random, dimmed light, people's skin plane, longer hair, and the dimmed light of the plane's faces, around a grey band of the tolerance."}, "figure": {"name": "fig-what-ages", "caption": "Change of the age that a network tells, in years; joint intervals over all answers of all networks of a part of the study. Grey: the tolerance."}}
# Computed by faceaudit.side_by_side (chapter 19).
figure = panels.intervals(rows_of("age", 100), "network", "change", xlabel="years")
_ = figure.axes[0].axvspan(-tolerance["age"], tolerance["age"], color="#DDDDDD", zorder=0)

# %% [markdown]
# ## The models
#
# Each network was asked through its package, which finds the face and cuts it out. Settings are the package's own, but for those that
# choose networks, switch off what the study leaves out, and keep the score of every emotion. The threshold of a decision is one
# half of a score.

# %% tags=["hide-input"]
SKIN = measured[measured["change"] == "dark skin"]
SKIN_AGAIN = again[again["change"] == "dark skin"]
VERDICTS = {"exceeds": "beyond", "within": "within", "inconclusive": "undecided"}


def told_of(changes: pd.DataFrame) -> pd.Series:
    """Changes and their verdicts in words, by network and answer."""
    unit = changes["answer"].eq("age").map({True: 1.0, False: 100.0})
    size = (changes["estimate"].astype(float) * unit).map("{:+.1f}".format).map(with_minus)
    told = size + " " + changes["verdict"].map(VERDICTS)
    return told.set_axis(pd.MultiIndex.from_frame(changes[["network", "answer"]]))


columns = {
    f"dark skin, {results['faces']} faces": SKIN,
    f"dark skin, {len(manifest['parts']['repeated']['faces'])} other faces": SKIN_AGAIN,
    "dimmed light": measured[measured["change"] == "dimmed light"],
    "a step at random": measured[measured["change"] == "a step at random"],
}
told = pd.DataFrame({name: told_of(changes) for name, changes in columns.items()})
told = told.reindex(told_of(SKIN).index).reset_index()
glue("networks", Markdown(told.to_markdown(index=False)), display=False)

# %% [markdown]
# ```{glue:md} networks
# :format: myst
# ```

# %% tags=["hide-input"]
Markdown(
    f"Changes of ages are years, all others are points of a score. The tolerance of the plan is {100 * tolerance['P(male)']:g} points of a score and "
    f"{tolerance['age']:g} years of age. *Beyond* is a test against it, adjusted for all answers. *Within* is two one-sided tests for this answer alone, at the "
    f"level of the plan. Otherwise the answer is *undecided*. The joint intervals of the figures are a third thing: a verdict can differ from what they show. "
    f"One network, ssrnet-gender-imdb, gives no score for any picture. The plan of {plan['made'][:10]} came before the first recorded answer."
)

# %% [markdown]
# The packages, in the words in which their authors describe them. These words name what a package tells, and leave out what it is
# meant for.

# %% tags=["hide-input"]
networks_of = {one["package"]: [] for one in manifest["models"]}
for one in manifest["models"]:
    networks_of[one["package"]] += dict.fromkeys(one["told"].values())
listed_packages = [
    f"- **{one['package']}** {one['versions'][one['package']]}, recorded {manifest['parts']['measured']['made'][:10]}; networks: "
    f"{', '.join(networks_of[one['package']])}. Its authors say: “{one['summary']}”"
    for one in manifest["models"]
]
glue("packages", Markdown("\n".join(dict.fromkeys(listed_packages))), display=False)

# %% [markdown]
# ```{glue:md} packages
# :format: myst
# ```

# %% [markdown]
# ## What must be said
#
# - Gender here is *perceived* gender. An audit is no endorsement of telling gender from faces.
# - The faces are generated and exist nowhere. The numbers are effects on generated faces, and no rates for people.
# - These faces lack labels by people, so this page leaves out error rates of named models. In [](session-11) a class labels them.
# - Before its skin was changed, three networks called each base face adult. Networks err: of some changed pictures they say fewer than
#   18 years. People looked only at the faces that are shown here.

# %% tags=["hide-input"]
beside = manifest["parts"]["measured"]["beside given planes"]
steps = {name: one["step in sd"] for name, one in beside.items()}
Markdown(
    with_minus(
        f"- By planes fitted to people's answers the dark versions move in age too ({steps['age']:+.1f} standard deviations of random faces), in facial hair "
        f"({steps['facial_hair']:+.1f}) and in smiling ({steps['smiling']:+.1f}). So we cannot say that colour alone adds the years."
    )
)

# %% [markdown]
# - The record is a second making of the faces, by the same plan. The answers of the first making were known by then ([](19_published_models)).
# - Another version, another setting or other faces may give other numbers.
# - FFHQ, from whose photographs the generator learned, and StyleGAN2 are for non-commercial use. That may hold for
#   the distilled network as well, in spite of its licence ([](data-and-ethics)).

# %% tags=["hide-input"]
counts = SKIN["verdict"].value_counts()
beyond = SKIN[SKIN["verdict"] == "exceeds"].merge(SKIN_AGAIN, on=["network", "answer"])
in_both = beyond[beyond["verdict_y"] == "exceeds"]
hair = by_people.query("answer == 'P(male)' and change == 'longer hair'")["estimate"].astype(float)
exceeding = measured[measured["verdict"] == "exceeds"]
of_random, of_light = (
    exceeding[exceeding["change"] == name] for name in ("a step at random", "dimmed light")
)
at_random = f"{len(of_random)} answers change" if len(of_random) else "No answer changes"
both = of_light.merge(beyond, on=["network", "answer"])
listed = [f"the {row.answer} that *{row.network}* tells" for row in in_both.itertuples()]
glue(
    "answer",
    Markdown(
        f"**Of {len(SKIN)} answers {counts.get('exceeds', 0)} change beyond the tolerance when skin darkens, "
        f"{counts.get('within', 0)} stay within it, and {counts.get('inconclusive', 0)} are undecided**, with "
        f"{results['faces']} faces; one more network gives no score. With half as many other faces, {len(in_both)} of the "
        f"{counts.get('exceeds', 0)} are beyond it again: {' and '.join(listed)}. {at_random} beyond it with a step at random. With dimmed "
        f"light {len(of_light)} change beyond it, {len(both)} of them among the {counts.get('exceeds', 0)}: these react to brightness as well. Along people's "
        f"plane of hair, all {len(hair)} networks that give a gender score find faces with longer hair less male, by {-100 * hair.max():.0f} to {-100 * hair.min():.0f} points."
    ),
    display=False,
)
