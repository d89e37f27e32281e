"""What the experiment says about the people who were counted, two ways, against their truth.

Chapter 11 gives each counted woman the skin colour of a light-skinned and of a dark-skinned woman:
the truth about these women, which an auditor does not have. Here networks, portraits, raters,
directions and transects are made anew for every seed, and each way to estimate that truth is tried
on the same seeds:

- what there was: a constant, the counted gap, the effect found on made women;
- *standardisation*: the effect on made women, with the counted women's hair, or as a function of
  what raters and measures say of a face; and its change of the log odds, added to the model's own
  answers about the counted women;
- *editing*: each portrait is read by an encoder, moved along skin, and drawn again. The pair is
  asked as it is drawn, or with the change added to the portrait, or with the change of the log odds
  added to the model's answer about the portrait; and all of these with twins that calibrate them.

Seeds are cheap ones: the networks see fewer faces in fewer epochs than those of the book, and fewer
women are counted. So truth and constant are those of these seeds. It takes a minute of one core a
seed. The answers of every finished seed stay in `build/counted_people`, to go on from after an
interruption; remove it after a change of the code.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import instrument
import numpy as np
import pandas as pd
import torch
from record import write_rows
from scipy import stats
from scipy.special import logit
from sklearn.linear_model import LogisticRegression, RidgeCV

import facerender
from faceaudit import effects
from faceaudit.effects import error_rates
from faceaudit.effects.calibrated_change import calibrated_change
from faceaudit.utils import seeding
from faceworld import crowd, do, networks, populations
from faceworld.networks import AuditedModel
from faceworld.networks.portrait_encoder import PortraitEncoder
from faceworld.raters import MEASURED_PARAMETERS
from faceworld.rendering import render_to_store
from faceworld.scorecard import counted_people
from faceworld.scorecard.counted_people import Axis
from helpers.artifacts import lineage

SEEDS = range(1, 21)
AUDITED = ("celeba-like", "fairface-like")
COUNTING = "01_observational_audit"
"""Whose raters label the portraits."""
N_TRAIN, EPOCHS = 2500, 6
PORTRAITS = 2000
WOMEN = 800
RATED = ("gender", "age", "makeup", "smiling", "facial_hair", "hair_length", "hair_colour")
WORK = lineage.ROOT / "build" / "counted_people"
WORLD = instrument.GENERATOR
SIZE = instrument.SIZE
ENCODER = PortraitEncoder.read(networks.SHIPPED_NETWORKS / "encoder.safetensors")
Answers = dict[str, np.ndarray]


def trained(seed: int) -> dict[str, AuditedModel]:
    """Networks of the seed, trained on few faces."""
    made = {}
    for name in AUDITED:
        people = populations.sample(name, N_TRAIN, seed)
        made[name] = networks.train_classifier(
            render_to_store(people.parameters, SIZE, WORK / "people.npy"),
            people.frame["gender"].to_numpy(),
            WORK / f"{seed}_{name}.safetensors",
            seed=seed,
            epochs=EPOCHS,
        )
    return made


def counted_women(seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Parameters (n, P) of the women who are counted, and whether their skin is light or dark."""
    portraits = populations.sample("ppb-like", PORTRAITS, seed)
    visible = facerender.visible_scores(portraits.parameters)
    seen = crowd.perceived(visible.set_axis([f"ppb_{item:05d}" for item in range(PORTRAITS)]))
    answers = crowd.annotate(seen, instrument.RATERS, seed=seed, stage=COUNTING)
    scores = crowd.mean_scores(answers)
    women = np.flatnonzero(error_rates.majority(scores["gender"]).eq(0))[:WOMEN]
    skin = error_rates.discretize(scores["skin_colour"], *error_rates.STRATA["skin_colour"])
    return portraits.parameters[women], skin.iloc[women].astype(str).to_numpy()


def draw(parameters: torch.Tensor) -> np.ndarray:
    return np.array(render_to_store(parameters, SIZE, WORK / "pictures.npy"))


def draw_codes(codes: np.ndarray) -> np.ndarray:
    return draw(instrument.parameters_of(codes))


def seen(faces: torch.Tensor, seed: int, stage: str) -> pd.DataFrame:
    """What raters and automatic measures say of faces."""
    rated = instrument.rated(faces, seed, stage)
    return rated.join(instrument.measured(faces, seed, stage))


def log_odds(model: AuditedModel, pictures: np.ndarray) -> np.ndarray:
    """Log odds of a man, in the shape of the leading axes of the pictures."""
    flat = pictures.reshape(-1, *pictures.shape[-3:])
    probability = networks.predict(model, flat).clip(1e-9, 1 - 1e-9)
    return logit(probability).reshape(pictures.shape[:-3])


def answers_of(seed: int, aims: dict) -> Answers:
    """All answers of a seed's networks; kept, so that an interrupted run goes on."""
    kept = WORK / f"{seed}.npz"
    if kept.is_file():
        return dict(np.load(kept))
    women, group = counted_women(seed)
    donors = counted_people.donors_of(group, seed)
    skins = women[:, facerender.INDEX["skin_colour"]][torch.from_numpy(donors)]
    planes, dual = instrument.calibrated_directions(seed)
    axis = Axis(planes.select(["skin_colour"]), dual.loc["skin_colour"].to_numpy())

    def read(portraits: np.ndarray) -> np.ndarray:
        return ENCODER.encode(WORLD, portraits)

    portraits = draw(women)
    edits = counted_people.edit_portraits(portraits, donors, axis, read, draw_codes)
    of_twins = counted_people.edit_portraits(edits.redrawn, donors, axis, read, draw_codes)
    codes = instrument.calibrated(seed, aims)
    of_women = codes.reshape(-1, 2, 2, 2, codes.shape[-1])[:, :, :, 0]  # transect, skin, hair
    made = instrument.parameters_of(of_women)
    pictures = {
        "portrait": portraits,
        "truth": np.stack([draw(do(women, skin_colour=skin)) for skin in skins.T], axis=1),
        "redrawn": edits.redrawn,
        "pair": edits.pairs,
        "on portrait": edits.on(portraits),
        "twin redrawn": of_twins.redrawn,
        "twin pair": of_twins.pairs,
        "on twin": of_twins.on(edits.redrawn),
        "made": draw(made).reshape(*of_women.shape[:3], 3, SIZE, SIZE),
    }
    answers = {f"{name}: {what}": log_odds(model, shown) for name, model in trained(seed).items()
               for what, shown in pictures.items()}
    answers["dark"] = group == "dark"
    answers["donors"] = donors
    answers["seen of counted"] = seen(women, seed, "counted people").to_numpy()
    answers["seen of made"] = seen(made, seed, "made people").to_numpy()
    np.savez_compressed(kept, **answers)
    return answers
