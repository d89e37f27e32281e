"""A classifier that labels faces by group, as the paper's did (Liang et al. 2023, section 3.1).

The paper takes labels from a public network trained on photographs. Here four small networks, of
perceived gender and of each ancestry group against the rest, are trained on a skewed population of
the face world; whatever goes with a group in that population can enter the labels, and from there
the latent directions (`identities.label_leakage`).
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from helpers.identities.groups import ANCESTRIES
from helpers.models.training import AuditedModel, predict


def labelling_jobs(
    images: np.ndarray,
    male: np.ndarray,
    ancestry: np.ndarray,
    folder: Path,
    *,
    seed: int,
    epochs: int,
) -> dict[str, dict]:
    """Jobs for `models.train_all`: "gender" and each of `ANCESTRIES` → arguments of `train`.

    Args:
        images: uint8 (n, 3, size, size).
        male: (n,) 0 or 1.
        ancestry: (n,) index in `ANCESTRIES`.
        folder: where the weights go.
        seed: of the training.
        epochs: of each.

    Raises:
        ValueError: rows that do not match.
    """
    if not len(images) == len(male) == len(ancestry):
        raise ValueError(f"{len(images)} images, {len(male)} genders, {len(ancestry)} ancestries")
    labels = {"gender": np.asarray(male).astype(int)}
    labels |= {name: (np.asarray(ancestry) == k).astype(int) for k, name in enumerate(ANCESTRIES)}
    return {
        name: {
            "images": images,
            "labels": label,
            "path": Path(folder) / f"label-{name.replace(' ', '-')}.safetensors",
            "seed": seed,
            "epochs": epochs,
        }
        for name, label in labels.items()
    }


def classify(labellers: Mapping[str, AuditedModel], images: np.ndarray) -> tuple[np.ndarray, ...]:
    """What the classifier says of images: P(male) float64 (n,), and ancestry int64 (n,).

    Args:
        labellers: trained by `labelling_jobs`, under the same names.

    Raises:
        ValueError: a labeller is missing.
    """
    if missing := [name for name in ("gender", *ANCESTRIES) if name not in labellers]:
        raise ValueError(f"no labeller of {', '.join(missing)}; there are {list(labellers)}")
    scores = np.stack([predict(labellers[name], images) for name in ANCESTRIES])
    return predict(labellers["gender"], images), scores.argmax(0)
