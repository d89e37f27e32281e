"""What callers may pass: checks of arguments that modules share.

`as_*` converts and checks; `require_*` checks a frame or an array, and `check_*` one number,
without a change. All raise a ValueError of one wording: the place, what stands there, and what was
expected: "column 'error', row 4 is None, 0 or 1 was expected (3 such values)".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import torch

SCORE_DIGITS = 6  # scores are means of few whole levels; digits beyond are rounding


# --- numbers


def check_range(name: str, value: float, low: float, high: float, ends: str = "[]") -> float:
    """The number itself; ValueError unless it lies between two, ends included "[]" or not "()"."""
    above = low <= value if ends[0] == "[" else low < value
    if not (above and (value <= high if ends[1] == "]" else value < high)):
        where = f"{ends[0]}{low:g}, {high:g}{ends[1]}"
        raise ValueError(f"{name} is {value}, a number in {where} was expected")
    return value


def check_whole(name: str, value: int, least: int) -> None:
    """Raise ValueError unless a number is whole and at least `least`."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is {value!r}, a whole number of at least {least} was expected")


def resolve_device(device: str | torch.device) -> torch.device:
    """The torch device of a name such as "cpu", "cuda" or "cuda:1"; ValueError without one."""
    import torch  # statistics do without it

    try:
        resolved = torch.device(device)
    except RuntimeError:
        raise ValueError(f"unknown DEVICE={device}: expected cpu or cuda") from None
    if resolved.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"DEVICE={device} asked for, but torch sees no GPU; run with DEVICE=cpu")
    return resolved


# --- frames


def require_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise ValueError when `frame` lacks one of `columns`."""
    if missing := [column for column in columns if column not in frame.columns]:
        raise ValueError(f"the frame has no column {missing}; it has {list(frame.columns)}")


def require_rows(frame: pd.DataFrame) -> None:
    """Raise ValueError for a frame without rows."""
    if frame.empty:
        raise ValueError("the frame has no rows")


def require_present(values: pd.Series, expected: str) -> None:
    """Raise ValueError naming the column and the first row of `values` that is missing."""
    refuse(values.isna().to_numpy(), values, str(values.name), expected)


def require_distinct(frame: pd.DataFrame, columns: Sequence[str], place: str) -> None:
    """Raise ValueError when two rows agree in all `columns`, which together name a `place`."""
    if (repeated := frame.duplicated(list(columns))).any():
        first = frame.loc[repeated, list(columns)].iloc[0].to_dict()
        raise ValueError(f"two images in one {place}: {first}")


def require_members(names: Sequence[str], known: Sequence[str] | Mapping, what: str) -> None:
    """Raise ValueError naming those of `names` that are not among the known ones of `what`."""
    if missing := [name for name in names if name not in known]:
        raise ValueError(f"no {what} of {', '.join(missing)} among {', '.join(map(str, known))}")


# --- columns and arrays


def as_binary(values: ArrayLike, name: str = "error") -> np.ndarray:
    """Outcomes as an int64 array of 0 and 1, shape (n,).

    Args:
        values: (n,); a Series is named in the error by its own name and index.
        name: what to call other arrays.

    Raises:
        ValueError: naming the place of the first missing or fractional value.
    """
    numbers = _floats(values, name, 1)
    refuse((numbers != 0) & (numbers != 1), values, name, "0 or 1")
    return numbers.astype(np.int64)


def as_rates(values: pd.Series) -> np.ndarray:
    """Outcomes in [0, 1] as float64, shape (n,): 0, 1, or the rate of several; NaN where missing.

    ValueError names column and row of the first that is outside or not a number.
    """
    rates = _floats(values, "rates", 1)
    bad = ~values.isna().to_numpy() & ~((rates >= 0) & (rates <= 1))
    refuse(bad, values, "rates", "a number in [0, 1]")
    return rates


def as_scores(score: pd.Series) -> np.ndarray:
    """Scores in [0, 1] as float64, shape (n,), rounded to `SCORE_DIGITS`.

    ValueError names column and row of the first score that is missing or outside.
    """
    scores = np.round(_floats(score, "scores", 1), SCORE_DIGITS)
    refuse(~((scores >= 0) & (scores <= 1)), score, "scores", "a score in [0, 1]")
    return scores


def as_score_table(frame: pd.DataFrame) -> np.ndarray:
    """Scores in [0, 1] of a whole frame as float64 (n, columns), not rounded.

    ValueError names column and row of the first score that is missing or outside.
    """
    return np.column_stack([_within((0, 1), frame[c], c, 1, "a score in [0, 1]") for c in frame])


def as_probabilities(values: ArrayLike, name: str, ndim: int = 1) -> np.ndarray:
    """Probabilities as float64 of `ndim` axes; ValueError for the first outside [0, 1]."""
    hint = "; does the classifier return logits?"
    return _within((0, 1), values, name, ndim, "a probability in [0, 1]", hint)


def as_finite(values: ArrayLike, name: str, ndim: int = 1) -> np.ndarray:
    """Any finite numbers as float64 of `ndim` axes; ValueError for the first that is not."""
    largest = np.finfo(np.float64).max
    return _within((-largest, largest), values, name, ndim, "a finite number")


def require_same_shape(values: np.ndarray, name: str, like: np.ndarray, other: str) -> None:
    """Raise ValueError unless both have the same shape."""
    if values.shape != like.shape:
        raise ValueError(f"{name}: shape {values.shape}, expected {like.shape} as of {other}")


def require_shape(values: np.ndarray, name: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array has this shape; -1 stands for any length."""
    fits = all(n in (-1, m) for n, m in zip(shape, values.shape, strict=False))
    if len(shape) != values.ndim or not fits:
        raise ValueError(f"{name}: shape {values.shape}, expected {shape}".replace("-1", "D"))


def _within(
    limits: tuple, values: ArrayLike, name: str, ndim: int, expected: str, hint: str = ""
) -> np.ndarray:
    """Numbers within the limits, at least one of them."""
    numbers = _floats(values, name, ndim)
    if not numbers.size:
        raise ValueError(f"{name}: shape {numbers.shape}, at least one row was expected")
    within = (numbers >= limits[0]) & (numbers <= limits[1])
    refuse(~within, values, name, expected, hint)
    return numbers


def _floats(values: ArrayLike, name: str, ndim: int) -> np.ndarray:
    """Numbers as float64, NaN for what is none; words are none, even if they read like one."""
    if isinstance(values, pd.Series) and values.dtype.kind in "biuf":
        return values.to_numpy(np.float64, na_value=np.nan)
    array = np.asarray(values)
    if array.ndim != ndim:
        raise ValueError(f"{name}: shape {array.shape}, expected {ndim} axes")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    numbers = [float(v) if isinstance(v, Real) else np.nan for v in array.ravel().tolist()]
    return np.array(numbers, np.float64).reshape(array.shape)


def refuse(bad: np.ndarray, values: ArrayLike, name: str, expected: str, hint: str = "") -> None:
    """Raise the ValueError that names the first `bad` place of an array or a Series, if any."""
    if not bad.any():
        return
    place = np.argwhere(bad)[0]
    if isinstance(values, pd.Series):
        # Lists hold Python's own numbers: a reader's row is 4, not np.int64(4).
        words = f"column {values.name!r}, row {values.index[bad].tolist()[0]!r}"
        found = values[bad].tolist()[0]
    else:
        words = f"{name}: " + ", ".join(map("{} {}".format, ("row", "column"), place))
        found = np.asarray(values).astype(object)[tuple(place)]
    # The hint is about numbers on another scale, not about missing ones.
    hint *= isinstance(found, Real) and bool(np.isfinite(found))
    number = f" ({bad.sum()} such values)" if bad.sum() > 1 else ""
    raise ValueError(f"{words} is {found!r}, {expected} was expected{number}{hint}")


def check_images(images: np.ndarray) -> None:
    """Raise ValueError unless images are uint8 (n, 3, height, width)."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
        found = f"{images.dtype} {images.shape}"
        raise ValueError(f"images must be uint8 (n, 3, height, width), not {found}")
