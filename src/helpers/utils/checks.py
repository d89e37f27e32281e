"""What callers may pass: one validator for each kind of argument; errors name the place."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


def check_number(name: str, value: float) -> float:
    if not isinstance(value, Real):
        raise ValueError(f"{name} is {value!r}, a number was expected")
    return value


def check_inside(name: str, value: float) -> float:
    if not 0 < check_number(name, value) < 1:
        raise ValueError(f"{name} is {value}, a number between 0 and 1 was expected")
    return value


def check_range(name: str, value: float, low: float, high: float, ends: str = "[]") -> float:
    """Raise ValueError unless a number lies between two; `ends` are included "[]" or left out."""
    above = low <= check_number(name, value) if ends[0] == "[" else low < check_number(name, value)
    if not (above and (value <= high if ends[1] == "]" else value < high)):
        where = f"{ends[0]}{low:g}, {high:g}{ends[1]}"
        raise ValueError(f"{name} is {value}, a number in {where} was expected")
    return value


def check_positive(name: str, value: float) -> float:
    if not 0 < check_number(name, value) < np.inf:
        raise ValueError(f"{name} is {value}, a positive number was expected")
    return value


def check_whole(name: str, value: float, least: int) -> None:
    if not np.isfinite(check_number(name, value)) or value != int(value) or value < least:
        raise ValueError(f"{name} is {value}, a whole number of at least {least} was expected")


def require_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise ValueError when `frame` lacks one of `columns`."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ValueError(f"the frame has no column {missing}; it has {list(frame.columns)}")


def _reject(values: pd.Series, bad: np.ndarray, expected: str) -> None:
    if bad.any():
        # Lists hold Python's own numbers: a reader's row is 4, not np.int64(4).
        row, found = values.index[bad].tolist()[0], values[bad].tolist()[0]
        raise ValueError(
            f"column {values.name!r}, row {row!r}: {found!r} where {expected} was "
            f"expected ({int(bad.sum())} such rows)"
        )


def require_present(values: pd.Series, expected: str) -> None:
    """Raise ValueError naming the column and the first row of `values` that is missing."""
    _reject(values, values.isna().to_numpy(), expected)


def as_binary(values: ArrayLike, name: str = "error") -> np.ndarray:
    """Outcomes as an int64 array of 0 and 1, shape (n,).

    Raises ValueError naming the column and row of the first missing or fractional value.
    """
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values), name=name)
    _reject(series, ~series.isin([0, 1]).to_numpy(), "0 or 1")
    return series.to_numpy(np.int64)


def as_rates(values: pd.Series) -> np.ndarray:
    """Outcomes in [0, 1] as float64, shape (n,): 0, 1, or the rate of several; NaN where missing.

    Raises ValueError naming the column and row of the first that is outside or not a number.
    """
    number = present = values.notna().to_numpy()
    if values.dtype.kind not in "biuf":
        number = present & np.array([isinstance(value, Real) for value in values.tolist()], bool)
    rates = np.full(len(values), np.nan)
    rates[number] = values[number].to_numpy(np.float64)
    _reject(values, present & ~((rates >= 0) & (rates <= 1)), "a number in [0, 1]")
    return rates


def cluster_codes(clusters: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Code 0 ... G - 1 of every row's cluster, and the G identifiers in sorted order.

    Raises ValueError naming the first row without an identifier.
    """
    clusters = pd.Series(clusters)
    if clusters.isna().any():
        raise ValueError(
            f"row {clusters.index[clusters.isna()].tolist()[0]!r} has no cluster identifier"
        )
    codes, identifiers = pd.factorize(clusters.to_numpy(), sort=True)
    return codes, identifiers


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


def as_places(rows: ArrayLike, n: int, name: str) -> np.ndarray:
    """Positions among `n` rows as int (m,); ValueError unless whole, in range and all different."""
    rows = np.asarray(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected row numbers, got {rows.dtype} {rows.shape}")
    if (wrong := rows[(rows < 0) | (rows >= n)]).size:
        raise ValueError(f"{name}: row {wrong[0]} is none of the {n} rows")
    numbers, times = np.unique(rows, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"{name}: row {numbers[times > 1][0]} occurs twice")
    return rows


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
