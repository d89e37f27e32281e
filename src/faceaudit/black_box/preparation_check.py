"""Is this the preparation that a model was trained with? The others are tried (chapter 20).

A network that gets BGR for RGB still answers. Public descriptions of one and the same file disagree
about its scale. So the model's faces are prepared in other ways too, and if one of them separates
the classes, or the people, better than the one that was declared, the audit says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata

from faceaudit.black_box.local_models import LocalModel
from faceaudit.black_box.preparation import Preparation
from helpers.utils.checks import as_binary

SCALES: dict[str, tuple[float, float]] = {
    "0 to 255": (1.0, 0.0),
    "0 to 1": (1 / 255, 0.0),
    "−1 to 1": (1 / 127.5, 1.0),
}
"""The usual ones: scale and mean."""
FALSE_ALARMS = 0.01
"""How often a right preparation is warned of, at most, over all that are tried."""


def check_preparation(
    model: LocalModel,
    images: np.ndarray,
    groups: ArrayLike,
    points: np.ndarray | None = None,
) -> pd.DataFrame:
    """Try a model behind other channels and scales, and warn if one of them separates better.

    Separation is the probability that a face of class 1 scores higher than one of class 0 (of a
    recogniser: that two images of one person are more similar than images of two). Differences are
    judged by a jackknife over faces (people), with Bonferroni's correction.

    Args:
        model: one that computes here, with a preparation.
        images: uint8 (n, 3, height, width), fifty or more, of known class or person.
        groups: (n,) 0 or 1, the class; of a recogniser, whose face it is: three people or more,
            some with several images.
        points: (n, 5, 2), for `align` "arcface".

    Returns:
        One row per preparation, the declared one first: channels, pixels (the range), separation,
        gain over the declared one, and its one-sided lower limit `low`. Where a model refuses to
        answer, separation is missing.

    Raises:
        ValueError: a model without a preparation, or groups that do not allow the question.

    Example:
        >>> import numpy as np
        >>> from faceaudit import black_box
        >>> images = np.random.default_rng(0).integers(0, 256, (40, 3, 8, 8)).astype(np.uint8)
        >>> red = images[:, 0].mean((1, 2)) > images[:, 2].mean((1, 2))
        >>> model = black_box.LocalModel(
        ...     "redder", {}, lambda x: (x[:, 0] - x[:, 2]).mean((1, 2)),
        ...     black_box.Preparation(), black_box.Reading(activation="sigmoid"),
        ... )
        >>> black_box.check_preparation(model, images, red.astype(int))["separation"].iloc[0]
        np.float64(1.0)
    """
    if model.preparation is None:
        raise ValueError(f"{model.name}: takes images as they are, there is nothing to check")
    groups = np.asarray(groups)
    recogniser = model.reading.gives == "embedding"
    units = _people(groups, len(images)) if recogniser else np.arange(len(images))
    groups = units if recogniser else _classes(groups, len(images))
    measure = _separation_of_people if recogniser else _separation_of_classes
    rows, kept = [], []
    for name, preparation in _preparations(model.preparation):
        values = _asked(model.prepared_by(preparation), images, points, declared=not rows)
        whole, without = np.nan, np.full(units.max() + 1, np.nan)
        if values is not None:
            whole = measure(values, groups, np.ones(len(images), bool))
            without = np.array([measure(values, groups, units != u) for u in range(len(without))])
        rows.append({"channels": preparation.channels, "pixels": name, "separation": whole})
        kept.append(without)
    table = pd.DataFrame(rows)
    table["gain"] = table["separation"] - table["separation"].iloc[0]
    differences = np.array(kept) - kept[0]
    n = differences.shape[1]
    centred = differences - differences.mean(1, keepdims=True)
    error = np.sqrt((n - 1) / n * (centred**2).sum(1))
    z = norm.isf(FALSE_ALARMS / max(len(rows) - 1, 1))
    table["low"] = table["gain"] - z * error
    if sentence := better_preparation(table):
        warnings.warn(f"{model.name}: {sentence}", stacklevel=2)
    return table


def better_preparation(table: pd.DataFrame) -> str:
    """Say which preparation separates better than the declared one.

    Args:
        table: of `check_preparation`.

    Returns:
        A sentence about the best of them, without the model's name; "" if none is better.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import black_box
        >>> table = pd.DataFrame([["bgr", "as declared", 0.9, 0.0]])
        >>> table.columns = ["channels", "pixels", "separation", "low"]
        >>> black_box.better_preparation(table)
        ''
    """
    better = table[table["low"] > 0]
    if better.empty:
        return ""
    best, first = better.loc[better["separation"].idxmax()], table.iloc[0]
    return (
        f"with the preparation {best['channels']}, pixels {best['pixels']}, it separates faces "
        f"better ({best['separation']:.3f}) than with the declared one "
        f"({first['separation']:.3f}, {first['channels']}); check input.channels and input.range "
        "against the model's training"
    )


def _preparations(declared: Preparation) -> Iterator[tuple[str, Preparation]]:
    """The declared one, then those that differ in channels or scale."""
    yield "as declared", declared
    other = "bgr" if declared.channels == "rgb" else "rgb"
    yield "as declared", replace(declared, channels=other)
    for channels in (declared.channels, other):
        for name, (scale, mean) in SCALES.items():
            one = replace(declared, channels=channels, scale=scale, mean=mean, std=1.0)
            if not _alike(one, replace(declared, channels=channels)):
                yield name, one


def _alike(one: Preparation, other: Preparation) -> bool:
    """Whether both make the same of every pixel."""
    return np.allclose(one.ends(), other.ends())


def _asked(
    model: LocalModel, images: np.ndarray, points: np.ndarray | None, declared: bool
) -> np.ndarray | None:
    """Answers; None if a preparation that nobody declared makes the model refuse them."""
    try:
        return model(images, points)
    except ValueError:
        if declared:
            raise
        return None


def _separation_of_classes(scores: np.ndarray, labels: np.ndarray, used: np.ndarray) -> float:
    """P(score of class 1 > score of class 0), ties a half: Mann and Whitney's U."""
    used = used & np.isfinite(scores)
    scores, labels = scores[used], labels[used]
    ones, zeros = (labels == 1).sum(), (labels == 0).sum()
    if not ones or not zeros:
        return np.nan
    return (rankdata(scores)[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros)


def _separation_of_people(vectors: np.ndarray, person: np.ndarray, used: np.ndarray) -> float:
    """P(similarity within a person > similarity between two)."""
    used = used & np.isfinite(vectors).all(1)
    vectors, person = vectors[used], person[used]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
    first, second = np.triu_indices(len(unit), 1)
    similarity = (unit @ unit.T)[first, second]
    together = (person[first] == person[second]).astype(int)
    return _separation_of_classes(similarity, together, np.ones(len(together), bool))


def _classes(labels: np.ndarray, n: int) -> np.ndarray:
    labels = as_binary(labels, "groups")
    if len(labels) != n or min((labels == 0).sum(), (labels == 1).sum()) < 2:
        raise ValueError(f"groups: two faces or more of each class among {n} images were expected")
    return labels


def _people(names: np.ndarray, n: int) -> np.ndarray:
    """Whose face each is, numbered from 0."""
    known, numbers, counts = np.unique(names, return_inverse=True, return_counts=True)
    if len(names) != n or len(known) < 3 or (counts > 1).sum() < 2:
        raise ValueError(
            f"groups: three people or more among {n} images, two of them with several images, "
            "were expected"
        )
    return numbers
