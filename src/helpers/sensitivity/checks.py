"""What the sensitivity measures take: probabilities, changes of them, codes and steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helpers.resampling import cluster_codes


def as_probabilities(values: ArrayLike, name: str, ndim: int = 1) -> np.ndarray:
    """Scores as float64; ValueError naming `name` and the first that is outside [0, 1]."""
    values = _as_numbers(values, name, ndim)
    _require(
        (values >= 0) & (values <= 1),
        values,
        f"{name}: {{place}} is {{value:g}}, expected probabilities in [0, 1]",
        hint="; does the classifier return logits?",
    )
    return values


def as_changes(values: ArrayLike, name: str, ndim: int = 1) -> np.ndarray:
    """Changes of a score in [0, 1] as float64; ValueError for the first outside [-1, 1]."""
    values = _as_numbers(values, name, ndim)
    _require(
        np.abs(values) <= 1,
        values,
        f"{name}: {{place}} is {{value:g}}, expected changes in [-1, 1]",
        hint="; is it a change of probabilities?",
    )
    return values


def as_finite(values: ArrayLike, name: str, ndim: int = 1) -> np.ndarray:
    """Any finite numbers as float64; ValueError for the first that is not."""
    values = _as_numbers(values, name, ndim)
    _require(np.isfinite(values), values, f"{name}: {{place}} is {{value:g}}, expected a number")
    return values


def as_steps(lambdas: ArrayLike, n_columns: int) -> np.ndarray:
    """Steps λ as float64 (L,); ValueError unless finite, distinct and one per column of scores."""
    lambdas = as_finite(lambdas, "lambdas")
    if len(lambdas) != n_columns:
        raise ValueError(f"lambdas: {len(lambdas)} steps for {n_columns} columns of scores")
    if len(np.unique(lambdas)) < max(len(lambdas), 2):
        raise ValueError(f"lambdas: expected at least 2 steps, all distinct, got {lambdas}")
    return lambdas


def as_codes(cluster: ArrayLike | None, n: int) -> np.ndarray:
    """Number of every row's code, int (n,); rows are codes where `cluster` is None."""
    if cluster is None:
        return np.arange(n)
    codes, _ = cluster_codes(cluster)
    if codes.shape != (n,):
        raise ValueError(f"cluster: {len(codes)} identifiers for {n} rows")
    return codes


def require_alike(values: np.ndarray, name: str, like: np.ndarray, other: str) -> None:
    """Raise ValueError unless both have the same shape."""
    if values.shape != like.shape:
        raise ValueError(f"{name}: shape {values.shape}, expected {like.shape} as of {other}")


def _as_numbers(values: ArrayLike, name: str, ndim: int) -> np.ndarray:
    try:
        values = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected numbers ({error})") from error
    if values.ndim != ndim or values.size == 0:
        expected = "one row at least" if ndim == 1 else "one row and one column at least"
        raise ValueError(f"{name}: shape {values.shape}, expected {ndim} axes, {expected}")
    return values


def _require(good: np.ndarray, values: np.ndarray, message: str, hint: str = "") -> None:
    if good.all():
        return
    place = np.argwhere(~good)[0]  # NaN is not good either
    value = values[tuple(place)]
    words = ", ".join(
        f"{axis} {number}" for axis, number in zip(("row", "column"), place, strict=False)
    )
    # The hint is about numbers on another scale, not about missing ones.
    raise ValueError(message.format(place=words, value=value) + hint * bool(np.isfinite(value)))
