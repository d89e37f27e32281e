"""What people see change along a vector, and how much of the score's change that accounts for.

Chapter 15 asks a simulated crowd; a real one's scores come in the same frames.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.resampling import as_codes, as_resamples, draw_weights
from helpers.sensitivity.intervals import CONFIDENCE, Interval, as_table, mean_interval
from helpers.utils.checks import as_changes, as_finite, require_alike


def perception_sensitivity(
    before: pd.DataFrame, after: pd.DataFrame, cluster: ArrayLike | None = None
) -> pd.DataFrame:
    """Mean change of every perceived attribute a' along a vector (sensitivity, eq 4).

    Args:
        before: perceived attributes of G(z), (n, A).
        after: those of G(z + d); rows and columns as in `before`.
        cluster: code of every row, (n,), where several rows share one; else rows are codes.

    Returns:
        Index attribute; columns n (codes), estimate, low, high: 95 % t interval over codes.

    Raises:
        ValueError: other columns or another number of rows, or a value that is no finite number.

    Example:
        >>> import pandas as pd
        >>> from helpers import sensitivity
        >>> before = pd.DataFrame({"age": [0.2, 0.4], "smiling": [0.5, 0.5]})
        >>> table = sensitivity.perception_sensitivity(before, before + [0.1, 0])
        >>> table["estimate"].round(2).to_dict()
        {'age': 0.1, 'smiling': 0.0}
    """
    if list(before.columns) != list(after.columns):
        raise ValueError(f"after: columns {list(after.columns)}, expected {list(before.columns)}")
    start, end = as_finite(before, "before", ndim=2), as_finite(after, "after", ndim=2)
    require_alike(end, "after", start, "before")
    codes = as_codes(cluster, len(start))
    count = len(np.unique(codes))
    rows = {
        attribute: (count, *mean_interval(change, codes))
        for attribute, change in zip(before.columns, (end - start).T, strict=True)
    }
    return as_table(rows, "attribute")


def perception_matrix(
    pairs: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]], cluster: ArrayLike | None = None
) -> pd.DataFrame:
    """Perception sensitivities of several vectors: the leakage from vectors to attributes.

    Source: sensitivity, eq 4, for every pair of vector and attribute.

    Args:
        pairs: attribute vector → perceived attributes (before, after), as `perception_sensitivity`
            takes them, the same columns for all.
        cluster: code of every row, the same for all vectors.

    Returns:
        A row per vector; columns (statistic, attribute) with the statistics estimate, low, high:
        `matrix["estimate"]` is the matrix (vectors, attributes), `matrix["low"]` its lower limits.

    Raises:
        ValueError: no vectors, or as `perception_sensitivity`.

    Example:
        >>> import pandas as pd
        >>> from helpers import sensitivity
        >>> before = pd.DataFrame({"age": [0.2, 0.4], "smiling": [0.5, 0.5]})
        >>> matrix = sensitivity.perception_matrix({"Young": (before, before - [0.1, 0])})
        >>> matrix["estimate"].round(2).to_dict("index")
        {'Young': {'age': -0.1, 'smiling': 0.0}}
    """
    if not pairs:
        raise ValueError("pairs: expected at least one attribute vector")
    tables = {vector: perception_sensitivity(*pair, cluster) for vector, pair in pairs.items()}
    matrices = {
        statistic: pd.DataFrame({vector: table[statistic] for vector, table in tables.items()}).T
        for statistic in Interval._fields
    }
    return pd.concat(matrices, axis=1, names=["statistic", "attribute"]).rename_axis("vector")


def explained(
    score_change: ArrayLike,
    perceived_change: ArrayLike,
    calibration_score_change: ArrayLike,
    calibration_perceived_change: ArrayLike,
    *,
    n_boot: int,
    seed: int,
    cluster: ArrayLike | None = None,
) -> pd.DataFrame:
    """Does a vector move the score more than the smile that people see change accounts for?

    The split is the book's own.

    A vector d_a that widens the smile should raise the score of smiling. How much it should is
    calibrated along the smiling vector itself, on the same codes:

        β = mean change of the score / mean change of the perceived smiling (calibration)
        explained = β · mean change of the perceived smiling along d_a
        rest = total - explained

    β takes the score to be proportional to the perceived smile, along any vector and at any step:
    a saturating score breaks this, so calibrate at a step with about the same perceived change.
    Raters' noise in perceived changes averages out of a ratio of means; it widens the interval and
    does not attenuate β, as it would a regression slope.

    Args:
        score_change: of f along d_a, in [-1, 1], (n,).
        perceived_change: of perceived smiling along d_a, (n,).
        calibration_score_change: of f along the smiling vector, (n,), rows as above.
        calibration_perceived_change: of perceived smiling along the smiling vector, (n,).
        n_boot: resamples of codes; each gives all three rows.
        seed: of the resamples.
        cluster: code of every row, (n,), where several rows share one; else rows are codes.

    Returns:
        Index part: total, explained, rest; columns estimate, low, high: 95 % percentile interval.
        explained and rest are missing where the calibration's mean perceived change is not
        distinguishable from zero, so that β may be anything.

    Raises:
        ValueError: values that are no changes, shapes that differ, or fewer than two codes.

    Example:
        >>> from helpers import sensitivity
        >>> along, smiling = [0.2, 0.3, 0.4], [0.4, 0.5, 0.6]
        >>> table = sensitivity.explained(along, [0.1] * 3, smiling, smiling, n_boot=50, seed=1)
        >>> table["estimate"].round(3).to_dict()
        {'total': 0.3, 'explained': 0.1, 'rest': 0.2}
    """
    changes = _as_columns(
        score_change=score_change,
        perceived_change=perceived_change,
        calibration_score_change=calibration_score_change,
        calibration_perceived_change=calibration_perceived_change,
    )
    codes = as_codes(cluster, len(changes))
    count = codes.max() + 1
    if count < 2:
        raise ValueError("cluster: one code only, expected at least two")
    index = pd.Index(["total", "explained", "rest"], name="part")
    table = pd.DataFrame(np.nan, index, ["estimate", "low", "high"])
    calibration = mean_interval(changes[:, 3], codes)
    if calibration.low <= 0 <= calibration.high:
        table.loc["total"] = mean_interval(changes[:, 0], codes)
        return table
    sums = np.stack([np.bincount(codes, column) for column in changes.T], axis=1)
    weights = draw_weights(count, as_resamples(n_boot), seed, "explained")
    draws = _parts(weights @ sums / (weights @ np.bincount(codes))[:, None])
    ends = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    table[:] = np.stack([_parts(changes.mean(axis=0)), *ends], axis=1)
    return table


def _parts(means: np.ndarray) -> np.ndarray:
    """total, explained, rest (..., 3) of the four mean changes (..., 4)."""
    total, perceived, scored, seen = np.moveaxis(means, -1, 0)
    share = scored / seen * perceived
    return np.stack([total, share, total - share], axis=-1)


def _as_columns(**changes: ArrayLike) -> np.ndarray:
    """The four changes side by side, (n, 4), checked against the first."""
    columns = {name: as_changes(values, name) for name, values in changes.items()}
    first, start = next(iter(columns.items()))
    for name, values in columns.items():
        require_alike(values, name, start, first)
    return np.stack(list(columns.values()), axis=1)
