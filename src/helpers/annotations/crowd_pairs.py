"""A simulated crowd that says whether two faces are the same person (verification, 3.5).

Raters see how far two identities lie apart, not who the faces were meant to be. Their answers on
the five-point scale follow `crowd`'s model: what is seen, plus a rater's bias, plus noise, rounded.
A difference in pose makes a pair harder: what is seen is pulled towards "Not sure", and answers
spread more.

What is known of real raters is little: the median over pairs of the standard deviation of nine
ratings is about .3 of the scale's range (verification, supplement F, Fig. 13), they "generally
agreed with our intended synthesis, but there are also a significant number of images where they
did not" (4.1, Fig. 4), and no differences between demographic groups were found (Fig. 4), so there
are none here. The noise is set by the first; everything else is assumed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from facerender.parameters import INDEX, shifted_identity, validate
from helpers.annotations import crowd
from helpers.annotations.pairs import SCALES
from helpers.utils.checks import refuse

VISIBILITY: dict[str, float] = {
    "face_width": 0.83,
    "face_length": 0.52,
    "jaw_width": 0.49,
    "chin": 0.32,
    "cheekbones": 0.10,
    "eye_size": 0.18,
    "eye_gap": 0.29,
    "eye_tilt": 0.10,
    "iris": 0.05,
    "brow_thickness": 0.05,
    "brow_height": 0.14,
    "nose_length": 0.07,
    "nose_width": 0.03,
    "nose_bridge": 0.01,
    "lip_fullness": 0.03,
    "mouth_width": 0.03,
    "hair_curl": 0.33,
    "hair_fringe": 0.24,
    "hair_parting": 0.23,
    "hair_volume": 0.80,
}
"""How much one SD of an identity parameter changes a face: RMS, in units of the grey scale, over
the .5 % of pixels that change most, mean of 16 frontal faces at 64 pixels on white."""

LASTING: dict[str, tuple[float, float]] = {"gender": (2.04, 0.33), "skin_colour": (0.71, 0.27)}
"""The same of attributes that stay with a person: change over the whole scale, and the SD of the
attribute in the generator's samples. Hair length, hair colour, beard, makeup, glasses, expression
and age are not counted: a person may change them and stay the same."""

HALF_SEEN = 0.55
"""Identity distance at which two faces look as much the same as not. Assumed: two people of one
group at distance 1 then get .9 on the scale from same to different."""
POSE_PULL = 0.3
POSE_NOISE = 0.2
POSE_UNIT = 30.0
"""30 degrees of difference take .3 of the way to "Not sure" and add .2 to the noise. Assumed."""

DISAGREEMENT: dict[str, crowd.Disagreement] = {
    "identity": crowd.Disagreement(1.9, 0.5, "from the median spread of a pair's ratings")
}
"""The noise is where nine ratings of a pair have a median standard deviation of about .3 of the
range, with one positive pair in four and the generator's identities; the margin is assumed."""


def identity_distance(parameters_a: Tensor, parameters_b: Tensor) -> np.ndarray:
    """How different two people look, whatever their pose, light, expression and age.

    The root of the sum of squared differences of the identity parameters as they are drawn (after
    ancestry shift and clipping) and of perceived gender and skin colour, in SD. The weight of a
    square is `VISIBILITY`: weights of the differences themselves are then its root, as seeing
    compresses contrasts (assumed); otherwise outline and hair alone would decide. Two unrelated
    people of one group, gender and skin colour, identity parameters standard normal, have a
    distance whose root mean square is 1; the generator's are a little nearer, with a median of .82.

    Args:
        parameters_a, parameters_b: the renderer's parameters of the faces, (n, P) each.

    Returns:
        float64 (n,); 0 for the same person.

    Raises:
        ValueError: the parameters are no faces or of different numbers.
    """
    if len(parameters_a) != len(parameters_b):
        raise ValueError(
            f"expected two faces of every pair, got {len(parameters_a)} and {len(parameters_b)}"
        )
    # Squares of differences of two standard normals have mean 2.
    unit = 2 * sum(VISIBILITY.values())
    difference = _looks(parameters_a) - _looks(parameters_b)
    return np.sqrt((difference**2).sum(axis=1) / unit)


def looks_different(distance: np.ndarray, pose_difference: np.ndarray) -> np.ndarray:
    """What a rater without bias and noise sees, float64 (n,): 0 the same, 1 different.

    Args:
        distance: `identity_distance` (n,).
        pose_difference: degrees between the two head poses, (n,), at least 0.
    """
    seen = 1 - 0.5 ** ((distance / HALF_SEEN) ** 2)
    clear = np.clip(1 - POSE_PULL * pose_difference / POSE_UNIT, 0, 1)
    return 0.5 + clear * (seen - 0.5)


def pair_pool(seed: int, n_raters: int = 60) -> crowd.Pool:
    """Raters of pairs: as `crowd.rater_pool`, but drawn anew, with the noise of `DISAGREEMENT`."""
    return crowd.rater_pool(seed, n_raters, DISAGREEMENT, stage="crowd_pairs/raters")


def annotate_pairs(
    distance: pd.Series,
    pose_difference: pd.Series,
    n_raters: int = 9,
    *,
    seed: int,
    stage: str,
    pool: crowd.Pool | None = None,
) -> pd.DataFrame:
    """Let raters of the pool compare the faces of pairs (verification, 3.5).

    What is answered about a pair depends on (seed, stage, the pair's label) only; more raters add
    answers to those of fewer.

    Args:
        distance: `identity_distance` of every pair; the index names the pairs.
        pose_difference: degrees between the head poses, at least 0, with the same index.
        n_raters: accepted answers per pair.
        seed: of the run.
        stage: that the annotation belongs to.
        pool: who annotates, `pair_pool(seed)` if not given.

    Returns:
        One row per assignment as `crowd.annotate`, with `pair_id` (the label as text) and the
        integer level `identity`, 0 "Likely same" to 4 "Likely different".

    Raises:
        ValueError: the two indices differ or name a pair twice, a value is missing or negative, or
            the pool has fewer than `n_raters` raters.
    """
    if not distance.index.equals(pose_difference.index):
        raise ValueError("distance and pose_difference name different pairs in their indices")
    if not distance.index.is_unique:
        twice = distance.index[distance.index.duplicated()][0]
        raise ValueError(f"pair {twice!r} occurs twice in the index of distance")
    _require_lengths(distance, "distance")
    _require_lengths(pose_difference, "pose_difference")
    pose = pose_difference.to_numpy(np.float64)
    seen = looks_different(distance.to_numpy(np.float64), pose)
    answers = crowd.annotate(
        pd.DataFrame({"identity": seen}, index=distance.index),
        n_raters,
        seed=seed,
        stage=stage,
        pool=pair_pool(seed) if pool is None else pool,
        scales=SCALES,
        spread=1 + POSE_NOISE * pose / POSE_UNIT,
    )
    return answers.rename(columns={"image_id": "pair_id"})


def _looks(parameters: Tensor) -> np.ndarray:
    """Weighted identity coordinates, float64 (n, identity parameters + lasting attributes)."""
    validate(parameters)
    identity = [
        shifted_identity(parameters, name)[:, None] * weight**0.5
        for name, weight in VISIBILITY.items()
    ]
    # Visibility per SD, as that of the identity parameters, is change over the scale times the SD.
    lasting = [
        parameters[:, [INDEX[name]]] / spread * (change * spread) ** 0.5
        for name, (change, spread) in LASTING.items()
    ]
    return torch.cat(identity + lasting, dim=1).cpu().numpy().astype(np.float64)


def _require_lengths(values: pd.Series, name: str) -> None:
    refuse(
        ~((values >= 0) & (values < np.inf)).to_numpy(),
        values.rename(name),
        name,
        "a number of at least 0",
    )
