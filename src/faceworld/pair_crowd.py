"""A simulated crowd's ratings of pairs of faces, and their export files."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from faceaudit.annotations.label_studio import write_export
from faceaudit.annotations.pair_ratings import PAIR_SCALES
from faceaudit.utils.arguments import require_columns
from facerender.parameters import INDEX, shifted_identity
from facerender.parameters import validate as require_faces
from faceworld.crowd import Disagreement, annotate, rater_pool


def pair_ids(pairs: pd.DataFrame) -> pd.Index:
    """Name pairs by the numbers of their images.

    A pair that occurs again, as in the design of Liang et al. (2023), is a pair of its own.

    Args:
        pairs: columns `first` and `second`, row numbers of the images.

    Returns:
        Names, str (n,), all different.

    Raises:
        ValueError: the table lacks a column.

    Example:
        >>> import pandas as pd
        >>> from faceworld import pair_crowd
        >>> pair_crowd.pair_ids(pd.DataFrame({"first": [17, 17], "second": 18})).tolist()
        ['00017-00018', '00017-00018.2']
    """
    require_columns(pairs, ["first", "second"])
    names = pairs["first"].map("{:05d}".format) + "-" + pairs["second"].map("{:05d}".format)
    occurrence = names.groupby(names).cumcount() + 1
    names = names.where(occurrence == 1, names + "." + occurrence.astype("str"))
    return pd.Index(names, name="pair_id")


def write_pair_export(answers: pd.DataFrame, path: str | Path, pairs: pd.DataFrame) -> None:
    """Write a crowd's answers as a full JSON export, one task a line.

    Args:
        answers: as `annotate_pairs` returns them.
        path: JSON file to write.
        pairs: the pairs table that the answers are about, (n, …) with `first` and `second`.

    Raises:
        ValueError: the table lacks a column.

    Example:
        >>> import pandas as pd, tempfile
        >>> from faceworld import pair_crowd
        >>> from faceaudit.annotations import pair_ratings
        >>> pairs = pd.DataFrame({"first": [0], "second": [7], "kind": ["negative"]})
        >>> pairs.index = pair_crowd.pair_ids(pairs)
        >>> apart = pd.Series(1.0, pairs.index)
        >>> answers = pair_crowd.annotate_pairs(apart, 0 * apart, 9, seed=1, stage="example")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pair_crowd.write_pair_export(answers, f"{folder}/pairs.json", pairs)
        ...     pair_ratings.read_pair_export(f"{folder}/pairs.json", pairs).ratings.shape
        (1, 9)
    """
    require_columns(pairs, ["first", "second"])
    images = zip(pairs["first"], pairs["second"], strict=True)
    data = {
        label: {"first": f"images/{a:05d}.png", "second": f"images/{b:05d}.png", "pair_id": label}
        for label, (a, b) in zip(pairs.index.map(str), images, strict=True)
    }
    write_export(answers, path, item="pair", to_name="first", scales=PAIR_SCALES, data=data)


# --- visible differences

VISIBILITY = {
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
the .5% of pixels that change most, mean of 16 frontal faces at 64 pixels on white."""

LASTING: dict[str, tuple[float, float]] = {"gender": (2.04, 0.33), "skin_colour": (0.71, 0.27)}
"""The same of attributes that stay with a person: change over the whole scale, and the SD of the
attribute in the generator's samples. Hair length, hair colour, beard, makeup, glasses, expression
and age are not counted: a person may change them and stay the same."""

HALF_SEEN = 0.55
"""Identity distance at which two faces look as much the same as not. Assumed: two people of one
group at distance 1 then get .9 on the scale from same to different."""
POSE_PULL = 0.3
"""Share of the way to "Not sure" that a pose difference of `POSE_UNIT` takes. Assumed."""
POSE_NOISE = 0.2
"""Addition to the factor of the noise by a pose difference of `POSE_UNIT`. Assumed."""
POSE_UNIT = 30.0
"""Degrees."""

OF_PAIRS = {"identity": Disagreement(1.9, 0.5, "from the median spread of a pair's ratings")}
"""The noise is where nine ratings of a pair have a median standard deviation of about .3 of the
range, with one positive pair in four and the generator's identities; the margin is assumed."""


def identity_distance(parameters_a: Tensor, parameters_b: Tensor) -> np.ndarray:
    """Visible difference of two people, apart from pose, light, expression and age.

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
        ValueError: the parameters are no faces.
    """
    # Squares of differences of two standard normals have mean 2.
    unit = 2 * sum(VISIBILITY.values())
    difference = _looks(parameters_a) - _looks(parameters_b)
    return np.sqrt((difference**2).sum(axis=1) / unit)


def annotate_pairs(
    distance: pd.Series, pose_difference: pd.Series, n_raters: int = 9, *, seed: int, stage: str
) -> pd.DataFrame:
    """Let raters of `rater_pool`, drawn anew, compare the faces of pairs (verification, 3.5).

    The answers about a pair depend on (seed, stage, the pair's label) only; more raters add answers
    to those of fewer.

    Args:
        distance: `identity_distance` of every pair; the index names the pairs.
        pose_difference: degrees between the head poses, at least 0, with the same index.
        n_raters: accepted answers per pair.
        seed: of the run.
        stage: that the annotation belongs to.

    Returns:
        One row per assignment as `annotate`, with `pair_id` (the label as text) and the
        integer level `identity`, 0 "Likely same" to 4 "Likely different".

    Raises:
        ValueError: a value is missing, or the pool has fewer than `n_raters` raters.
    """
    pose = pose_difference.to_numpy(np.float64)
    different = 1 - 0.5 ** ((distance.to_numpy(np.float64) / HALF_SEEN) ** 2)
    clear = np.clip(1 - POSE_PULL * pose / POSE_UNIT, 0, 1)
    # What a rater without bias and noise sees: 0 the same, 1 different.
    seen = pd.DataFrame({"identity": 0.5 + clear * (different - 0.5)}, index=distance.index)
    pool = rater_pool(seed, disagreement=OF_PAIRS, stage="crowd_pairs/raters")
    answers = annotate(
        seen,
        n_raters,
        seed=seed,
        stage=stage,
        pool=pool,
        scales=PAIR_SCALES,
        spread=1 + POSE_NOISE * pose / POSE_UNIT,
    )
    return answers.rename(columns={"image_id": "pair_id"})


def _looks(parameters: Tensor) -> np.ndarray:
    """Weighted identity coordinates, float64 (n, identity parameters + lasting attributes)."""
    require_faces(parameters)
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
