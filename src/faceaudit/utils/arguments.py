"""What callers may pass: checks of arguments that modules share.

`as_*` converts and checks; `require_*` checks a frame or an array, and `check_*` one number,
without a change. All raise an InputError of one wording: the place, what stands there, and what was
expected: "column 'error', row 4 is None, 0 or 1 was expected (3 such values)".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from faceaudit.utils.errors import InputError, missing_in_frame

if TYPE_CHECKING:
    import torch

SCORE_DIGITS = 6  # scores are means of few whole levels; digits beyond are rounding


# --- numbers


def check_range(name: str, value: float, low: float, high: float, ends: str = "[]") -> float:
    """The number itself; InputError unless it lies in an interval.

    Args:
        name: of the number, for the message.
        value: the number.
        low: of the interval.
        high: of the interval.
        ends: a bracket for each end of the interval: "[" and "]" where it is included, "(" and ")"
            where it is not.
    """
    above = low <= value if ends[0] == "[" else low < value
    below = value <= high if ends[1] == "]" else value < high
    if not (above and below):
        expected = f"a number in {ends[0]}{low:g}, {high:g}{ends[1]}"
        raise InputError(
            f"{name} is {value}, {expected} was expected",
            field=name,
            found=value,
            expected=expected,
        )
    return value


def check_whole(name: str, value: float, least: int, most: int | None = None) -> None:
    """Raise InputError unless a number is whole, at least `least`, and at most `most`."""
    is_whole = isinstance(value, Integral)
    too_large = is_whole and most is not None and value > most
    if not is_whole or value < least or too_large:
        expected = f"a whole number of at least {least}"
        if too_large:
            expected = f"a whole number of at most {most:,}"
        raise InputError(
            f"{name} is {value!r}, {expected} was expected",
            field=name,
            found=value,
            expected=expected,
        )


def resolve_device(device: str | torch.device) -> torch.device:
    """The torch device of a name such as "cpu", "cuda" or "cuda:1"; InputError without one."""
    import torch  # statistics do without it

    try:
        resolved = torch.device(device)
    except RuntimeError:
        raise InputError(
            f"unknown DEVICE={device}: expected cpu or cuda",
            field="DEVICE",
            found=device,
            expected="cpu or cuda",
        ) from None
    if resolved.type == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"DEVICE={device} asked for, but torch sees no GPU; run with DEVICE=cpu",
            field="DEVICE",
            found=device,
            expected="cpu",
        )
    return resolved


# --- frames


def require_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise InputError when `frame` lacks one of `columns`."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise missing_in_frame(missing, frame.columns)


def require_rows(frame: pd.DataFrame) -> None:
    """Raise InputError for a frame without rows."""
    if frame.empty:
        raise InputError("the frame has no rows", field="frame", expected="at least one row")


def require_present(values: pd.Series, expected: str) -> None:
    """Raise InputError naming the column and the first row of `values` that is missing."""
    refuse(values.isna().to_numpy(), values, str(values.name), expected)


def require_distinct(frame: pd.DataFrame, columns: Sequence[str], place: str) -> None:
    """Raise InputError when two rows agree in all `columns`, which together name a `place`."""
    repeated = frame.duplicated(list(columns))
    if repeated.any():
        first = frame.loc[repeated, list(columns)].iloc[0].to_dict()
        raise InputError(
            f"two images in one {place}: {first}",
            field=", ".join(columns),
            found=first,
            expected=f"one image in a {place}",
        )


def require_members(names: Sequence[str], known: Sequence[str] | Mapping, kind: str) -> None:
    """Raise InputError naming those of `names` that are not among the known ones of a kind."""
    missing = [name for name in names if name not in known]
    if missing:
        known_names = ", ".join(map(str, known))
        raise InputError(
            f"no {kind} of {', '.join(missing)} among {known_names}",
            field=kind,
            found=missing[0],
            expected=f"one of {known_names}",
        )


# --- columns and arrays


def as_binary(values: ArrayLike, name: str = "error") -> np.ndarray:
    """Outcomes as an int64 array of 0 and 1, shape (n,).

    Args:
        values: (n,); a Series is named in the error by its own name and index.
        name: what to call other arrays.

    Raises:
        InputError: naming the place of the first missing or fractional value.
    """
    numbers = _floats(values, name, 1)
    refuse((numbers != 0) & (numbers != 1), values, name, "0 or 1")
    return numbers.astype(np.int64)


def as_rates(values: pd.Series) -> np.ndarray:
    """Outcomes in [0, 1] as float64, shape (n,): 0, 1, or the rate of several; NaN where missing.

    InputError names column and row of the first that is outside or not a number.
    """
    rates = _floats(values, "rates", 1)
    outside = ~values.isna().to_numpy() & ~((rates >= 0) & (rates <= 1))
    refuse(outside, values, "rates", "a number in [0, 1]")
    return rates


def as_scores(score: pd.Series) -> np.ndarray:
    """Scores in [0, 1] as float64, shape (n,), rounded to `SCORE_DIGITS`.

    InputError names column and row of the first score that is missing or outside.
    """
    scores = np.round(_floats(score, "scores", 1), SCORE_DIGITS)
    refuse(~((scores >= 0) & (scores <= 1)), score, "scores", "a score in [0, 1]")
    return scores


def as_score_table(frame: pd.DataFrame) -> np.ndarray:
    """Scores in [0, 1] of a whole frame as float64 (n, columns), not rounded.

    InputError names column and row of the first score that is missing or outside.
    """
    columns = [_within((0, 1), frame[column], column, 1, "a score in [0, 1]") for column in frame]
    return np.column_stack(columns)


def as_probabilities(values: ArrayLike, name: str, ndim: int = 1) -> np.ndarray:
    """Probabilities as float64 of `ndim` axes; InputError for the first outside [0, 1]."""
    hint = "; does the classifier return logits?"
    return _within((0, 1), values, name, ndim, "a probability in [0, 1]", hint)


def as_finite(values: ArrayLike, name: str, ndim: int = 1) -> np.ndarray:
    """Any finite numbers as float64 of `ndim` axes; InputError for the first that is not."""
    largest = np.finfo(np.float64).max
    return _within((-largest, largest), values, name, ndim, "a finite number")


def require_same_shape(values: np.ndarray, name: str, like: np.ndarray, other: str) -> None:
    """Raise InputError unless an array, and another one to which it belongs, have the same shape.

    Args:
        values: the array.
        name: of the array.
        like: the other array.
        other: name of the other array.
    """
    if values.shape != like.shape:
        raise InputError(
            f"{name}: shape {values.shape}, expected {like.shape} as of {other}",
            field=name,
            found=values.shape,
            expected=f"{like.shape} as of {other}",
        )


def require_shape(values: np.ndarray, name: str, shape: tuple[int, ...]) -> None:
    """Raise InputError unless an array has this shape; -1 stands for any length."""
    fits = all(
        expected in (-1, length) for expected, length in zip(shape, values.shape, strict=False)
    )
    if len(shape) != values.ndim or not fits:
        raise InputError(
            f"{name}: shape {values.shape}, expected {shape}".replace("-1", "D"),
            field=name,
            found=values.shape,
            expected=str(shape).replace("-1", "D"),
        )


def _within(
    limits: tuple[float, float],
    values: ArrayLike,
    name: str,
    ndim: int,
    expected: str,
    hint: str = "",
) -> np.ndarray:
    """Numbers within the limits, at least one of them, as float64; InputError for others."""
    numbers = _floats(values, name, ndim)
    if not numbers.size:
        raise InputError(
            f"{name}: shape {numbers.shape}, at least one row was expected",
            field=name,
            found=numbers.shape,
            expected="at least one row",
        )
    low, high = limits
    refuse(~((numbers >= low) & (numbers <= high)), values, name, expected, hint)
    return numbers


def _is_series(values: object) -> TypeGuard[pd.Series]:
    """Whether values are a Series.

    A type checker without the types of pandas takes them for any kind of `ArrayLike` even behind
    an `isinstance`, and so needs to be told.
    """
    return isinstance(values, pd.Series)


def _floats(values: ArrayLike, name: str, ndim: int) -> np.ndarray:
    """Numbers as float64, NaN for all else; a text is no number, even if it reads like one."""
    if _is_series(values) and values.dtype.kind in "biuf":
        return values.to_numpy(np.float64, na_value=np.nan)
    array = np.asarray(values)
    if array.ndim != ndim:
        raise InputError(
            f"{name}: shape {array.shape}, expected {ndim} axes",
            field=name,
            found=array.shape,
            expected=f"{ndim} axes",
        )
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    cells = array.ravel().tolist()
    numbers = [float(cell) if isinstance(cell, Real) else np.nan for cell in cells]
    return np.array(numbers, np.float64).reshape(array.shape)


def refuse(bad: np.ndarray, values: ArrayLike, name: str, expected: str, hint: str = "") -> None:
    """Raise the InputError that names the first bad place of an array or a Series, if any.

    Args:
        bad: which of the values are not as expected, bool.
        values: a Series is named in the message by its own name and index.
        name: what to call other arrays.
        expected: what should stand there, in words.
        hint: is added where a number stands there.
    """
    if not bad.any():
        return
    position = np.argwhere(bad)[0]
    if _is_series(values):
        # Lists hold Python's own numbers: a reader's row is 4, not np.int64(4).
        place = f"column {values.name!r}, row {values.index[bad].tolist()[0]!r}"
        value = values[bad].tolist()[0]
    else:
        axes = zip(("row", "column"), position, strict=False)
        place = f"{name}: " + ", ".join(f"{axis} {number}" for axis, number in axes)
        value = np.asarray(values).astype(object)[tuple(position)]
    # The hint is about numbers on another scale, not about missing ones.
    if not (isinstance(value, Real) and isfinite(value)):
        hint = ""
    number = f" ({bad.sum()} such values)" if bad.sum() > 1 else ""
    raise InputError(
        f"{place} is {value!r}, {expected} was expected{number}{hint}",
        field=place,
        found=value,
        expected=expected,
    )


def check_images(images: np.ndarray) -> None:
    """Raise InputError unless images are uint8 (n, 3, height, width)."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
        array = f"{images.dtype} {images.shape}"
        expected = "uint8 (n, 3, height, width)"
        raise InputError(
            f"images must be {expected}, not {array}",
            field="images",
            found=array,
            expected=expected,
        )
