"""Attribute vectors: directions in latent space that add an attribute (sensitivity, section 4.2).

A linear classifier separates the latent codes of images with an attribute from those without it.
The samples are balanced, so that what goes along with the attribute, above all smiling itself, is
as frequent on both sides and does not enter the vector. Chapter 15 fits and checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.svm import LinearSVC
from statsmodels.stats.proportion import proportion_confint

from helpers.directions import C
from helpers.sensitivity.intervals import as_table
from helpers.utils import seeding
from helpers.utils.checks import as_binary, as_finite, as_places, check_range, require_columns


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class AttributeVector:
    """The direction of an attribute, and how well it tells held-out codes apart.

    Attributes:
        name: the attribute.
        direction: (D,) float64 of unit length, pointing to codes with the attribute.
        accuracy: share of the held-out codes on the right side of the boundary.
        low, high: Wilson 95 % interval of the accuracy.
        n_test: held-out codes.
    """

    name: str
    direction: np.ndarray
    accuracy: float
    low: float
    high: float
    n_test: int


def random_directions(count: int, dimension: int, seed: int) -> np.ndarray:
    """Directions of unit length that mean nothing, uniform over the sphere: (count, dimension).

    More directions add to those of fewer.

    Example:
        >>> from helpers.sensitivity import attribute_vectors
        >>> drawn = attribute_vectors.random_directions(3, 16, seed=1)
        >>> drawn.shape, (drawn**2).sum(axis=1).round(6).tolist()
        ((3, 16), [1.0, 1.0, 1.0])
    """
    drawn = seeding.normals(seed, "random directions", range(count), dimension)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def balanced_rows(
    attributes: pd.DataFrame,
    name: str,
    n_each: int,
    balance: Sequence[str],
    halved: str | None,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with and without an attribute that are alike in other attributes.

    Source: sensitivity, section 4.2.

    Both classes take the same number of rows from every cell of `balance` (combination of its
    levels); a cell that one class lacks, such as men with makeup, drops out for both. All cells
    give equally many, except that a cell with fewer gives all it has and the others share the
    rest equally; an odd row goes to the first cells with rows to spare. If `halved` is in
    `balance`, this holds within faces that have it and within faces that do not, which give half
    of `n_each` each.

    Args:
        attributes: bool (n, K), for example of `celeba_attributes`.
        name: the attribute to separate.
        n_each: rows of each class (the paper: 800).
        balance: columns, for example ("Smiling", "Male"), or () for any rows.
        halved: the one of them that half of each class has, such as the classifier's target.
        seed: of the choice within cells; more rows add to those of fewer.

    Returns:
        Positions of the positive and of the negative rows, each int (n_each,), ascending.

    Raises:
        ValueError: a column is missing or not binary, `name` is in `balance`, `n_each` is less than
            1 or cannot be halved, or there are too few rows; the message has the counts.

    Example:
        >>> import pandas as pd
        >>> from helpers.sensitivity import attribute_vectors
        >>> faces = pd.DataFrame({"Young": [1, 1, 0, 0, 1, 0], "Male": [0, 1, 0, 1, 0, 0]})
        >>> rows = attribute_vectors.balanced_rows(faces, "Young", 2, ("Male",), None, seed=1)
        >>> [int(faces["Male"][side].sum()) for side in rows]
        [1, 1]
    """
    balance = list(balance)
    require_columns(attributes, [name, *balance])
    if name in balance:
        raise ValueError(f"{name!r} cannot be separated and balanced at once")
    levels = [as_binary(attributes[column]) for column in balance]
    cells = np.zeros(len(attributes), np.int64)
    for level in levels:
        cells = 2 * cells + level
    n_cells = 2 ** len(balance)
    sides = {side: as_binary(attributes[name]) == side for side in (True, False)}
    found = [np.bincount(cells[rows], minlength=n_cells) for rows in sides.values()]
    half = np.zeros(n_cells, int)
    if halved in balance:
        half = np.arange(n_cells) >> (len(balance) - 1 - balance.index(halved)) & 1
    strata = [half == level for level in np.unique(half)]
    if n_each < 1 or n_each % len(strata):
        raise ValueError(f"n_each is {n_each}, expected a positive multiple of {len(strata)}")
    take = np.zeros(n_cells, np.int64)
    for stratum in strata:
        available = np.minimum(*found)[stratum]
        if available.sum() < n_each // len(strata):
            n_with, n_without = (count[stratum].sum() for count in found)
            where = f" with {halved} = {half[stratum][0]}" if len(strata) > 1 else ""
            raise ValueError(
                f"{name}: {n_each // len(strata)} rows of each class{where} asked for, of "
                f"{n_with} positive and {n_without} negative {available.sum()} of each are alike "
                f"in {balance}"
            )
        take[stratum] = _share_equally(n_each // len(strata), available)
    positive, negative = (
        np.sort(_choose(np.where(rows, cells, -1), take, seed, f"{name}/{side}"))
        for side, rows in sides.items()
    )
    return positive, negative


def attribute_vector(
    codes: ArrayLike,
    positive: ArrayLike,
    negative: ArrayLike,
    training_share: float,
    seed: int,
    name: str = "",
) -> AttributeVector:
    """Direction orthogonal to a linear SVM's boundary between codes with and without an attribute.

    A random part of each class trains it; its accuracy is that on the rest (sensitivity, section
    5).

    Args:
        codes: latent codes (n, D), of about unit variance in each coordinate.
        positive: rows of the codes with the attribute, as `balanced_rows` gives them.
        negative: those of the codes without it.
        training_share: part of each class to train on (the paper: 0.8); one row at least is left.
        seed: of the split.
        name: the attribute, to be kept with its vector.

    Raises:
        ValueError: codes that are not finite, no matrix or all the same, rows that the codes lack,
            a row in both classes or twice in one, or fewer than 2 rows of a class.

    Example:
        >>> import numpy as np
        >>> from helpers.sensitivity import attribute_vectors
        >>> codes = np.array([[1.0, 0.1], [1.2, 0.2], [-1.0, 0.1], [-1.1, 0.2]])
        >>> vector = attribute_vectors.attribute_vector(codes, [0, 1], [2, 3], 0.5, seed=1)
        >>> vector.direction.round(1).tolist(), vector.accuracy, vector.n_test
        ([1.0, 0.0], 1.0, 2)
    """
    codes = as_finite(codes, "codes", ndim=2)
    check_range("training_share", training_share, 0, 1, "()")
    rows = {"positive": positive, "negative": negative}
    rows = {side: as_places(members, len(codes), side) for side, members in rows.items()}
    as_places(np.concatenate([*rows.values()]), len(codes), "positive and negative")
    parts = []
    for side, members in rows.items():
        if len(members) < 2:
            raise ValueError(f"{side}: expected at least 2 rows, got {len(members)}")
        draw = seeding.rng(seed, f"attribute vector/{name}/{side}")
        held_out = len(members) - min(round(training_share * len(members)), len(members) - 1)
        parts.append(np.split(draw.permutation(members), [held_out]))
    test, training = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    is_positive = np.isin(np.arange(len(codes)), rows["positive"])
    if not np.ptp(codes[training], axis=0).any():
        raise ValueError(f"codes: all are the same, nothing separates {name or 'the classes'}")
    model = LinearSVC(C=C, dual=False).fit(codes[training], is_positive[training])
    right = int((model.predict(codes[test]) == is_positive[test]).sum())
    low, high = proportion_confint(right, len(test), method="wilson")
    direction = model.coef_[0] / np.linalg.norm(model.coef_[0])
    return AttributeVector(name, direction, right / len(test), low, high, len(test))


def vector_table(vectors: Sequence[AttributeVector]) -> pd.DataFrame:
    """Held-out accuracy of every vector: index attribute; columns n, estimate, low, high.

    Source: sensitivity, Fig 8, Appendix.

    Example:
        >>> import numpy as np
        >>> from helpers.sensitivity import attribute_vectors
        >>> vector = attribute_vectors.AttributeVector("Young", np.ones(1), 0.8, 0.7, 0.9, 60)
        >>> attribute_vectors.vector_table([vector]).loc["Young"].tolist()
        [60.0, 0.8, 0.7, 0.9]
    """
    rows = {one.name: (one.n_test, one.accuracy, one.low, one.high) for one in vectors}
    return as_table(rows, "attribute")


def _share_equally(wanted: int, available: np.ndarray) -> np.ndarray:
    """`wanted` rows from cells that hold `available` (cells,), as equal as these allow."""
    take = np.zeros(len(available), np.int64)
    for _ in range(wanted):
        # The next row comes from the cell that gave least, the first of equals; never an empty one.
        take[np.where(take < available, take, wanted).argmin()] += 1
    return take


def _choose(cells: np.ndarray, take: np.ndarray, seed: int, stage: str) -> np.ndarray:
    """Rows of the cells, `take` (cells,) of each; rows of a negative cell are not available."""
    chosen = [
        seeding.rng(seed, f"balanced rows/{stage}", cell).permutation(
            np.flatnonzero(cells == cell)
        )[:number]
        for cell, number in enumerate(take)
    ]
    return np.concatenate(chosen)
