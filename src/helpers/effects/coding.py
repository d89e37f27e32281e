"""Categorical columns as codes and indicators: levels, patterns and independent columns."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers.utils.checks import require_columns, require_present, require_rows

RANK_TOLERANCE = 1e-9
"""A column is a combination of others when less than this part of it is left."""
MOST_LEVELS = 50
"""A column with more of them is a number that was not cut into bins, or an identifier."""
MOST_COEFFICIENTS = 200
"""The memory of a regression grows with the square of their number."""
MOST_KEYS = 2**62
"""Combinations beyond these are numbered anew: products of many numbers of levels overflow."""


def complete_rows(frame: pd.DataFrame, needed: Sequence[str], factors: Sequence[str]) -> np.ndarray:
    """Which rows (n,) have a value in all columns `needed`.

    Raises ValueError for an empty frame, a missing column, and a missing level of `factors`.
    """
    require_columns(frame, [*needed, *factors])
    require_rows(frame)
    for column in factors:
        require_present(frame[column], "a level")
    return np.logical_and.reduce([frame[column].notna() for column in needed])


def code_covariate(values: pd.Series) -> tuple[np.ndarray, list]:
    """`code_levels` of a column that gets a coefficient per level; ValueError for too many."""
    code, levels = code_levels(values)
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"column {values.name!r} has {len(levels):,} levels: cut it into bins, of which there "
            f"may be {MOST_LEVELS}"
        )
    return code, levels


def check_size(coefficients: int) -> None:
    """Raise ValueError for a regression of more than `MOST_COEFFICIENTS`: memory may not hold it.

    Example:
        >>> check_size(17)
    """
    if coefficients > MOST_COEFFICIENTS:
        raise ValueError(
            f"the regression has {coefficients:,} coefficients, of which there may be "
            f"{MOST_COEFFICIENTS}: use fewer levels, cells or products"
        )


def code_levels(values: pd.Series) -> tuple[np.ndarray, list]:
    """Code of every row (n,), and the levels that occur: in order of the categories, or sorted.

    The code of a missing value is -1.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.cat.remove_unused_categories()
        return values.cat.codes.to_numpy(np.int64), values.cat.categories.tolist()
    codes, levels = pd.factorize(values.to_numpy(), sort=True)
    return codes, levels.tolist()


def code_cells(frame: pd.DataFrame, by: Sequence[str]) -> tuple[np.ndarray, pd.Index]:
    """Cell of every row (n,) by the levels of the columns `by`, and the index of all cells.

    Without columns there is one cell, "all".
    """
    cell, levels = np.zeros(len(frame), np.int64), []
    for column in by:
        code, names = code_levels(frame[column])
        cell = cell * len(names) + code
        levels.append(names)
    if not levels:
        return cell, pd.Index(["all"], name="cell")
    if len(levels) == 1:
        return cell, pd.Index(levels[0], name=by[0])
    return cell, pd.MultiIndex.from_product(levels, names=by)


def numbered(code: np.ndarray) -> np.ndarray:
    """Codes (n,) as 0, 1, … in the order of those that occur."""
    return np.unique(code, return_inverse=True)[1]


def rows_by_code(code: np.ndarray, size: int) -> list[np.ndarray]:
    """Rows with each of the codes 0 ... size - 1, ascending: every row is looked at once."""
    ends = np.cumsum(np.bincount(code, minlength=size))
    return np.split(np.argsort(code, kind="stable"), ends[:-1])


def collapse(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A row of every distinct combination of codes (P,), and the combination of every row (n,)."""
    key, *rest = codes
    size = int(key.max(initial=0)) + 1
    for code in rest:
        levels = int(code.max(initial=0)) + 1
        if size * levels > MOST_KEYS:
            numbers, key = np.unique(key, return_inverse=True)
            size = len(numbers)
        key, size = key * levels + code, size * levels
    _, first, key = np.unique(key, return_index=True, return_inverse=True)
    return first, key


def independent_columns(design: np.ndarray) -> np.ndarray:
    """Which columns (k,) of a design are no combination of those before them."""
    rest, keep = design.astype(np.float64), np.zeros(design.shape[1], bool)
    size = np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
    for column in range(design.shape[1]):
        length = np.linalg.norm(rest[:, column])
        keep[column] = length > RANK_TOLERANCE * size[column]
        if keep[column]:
            axis = rest[:, column] / length
            rest[:, column + 1 :] -= np.outer(axis, axis @ rest[:, column + 1 :])
    return keep
