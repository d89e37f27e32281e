"""Attribute vectors: directions in latent space that add an attribute (sensitivity, section 4.2).

A linear classifier separates the latent codes of images with an attribute from those without it.
The samples are balanced, so that what goes along with the attribute, above all smiling itself, is
as frequent on both sides and does not enter the vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.svm import LinearSVC
from statsmodels.stats.proportion import proportion_confint

from helpers.directions import C
from helpers.utils import seeding
from helpers.utils.checks import as_finite, require_columns

HALVED = "Smiling"
"""The audited classifier's own target: half of each class has it."""
TRAINING_SHARE = 0.8


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
    """Directions of unit length that mean nothing, uniform over the sphere: (count, dimension)."""
    drawn = seeding.normals(seed, "random directions", range(count), dimension)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def balanced_rows(
    attributes: pd.DataFrame, name: str, n_each: int, balance: Sequence[str], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with and without an attribute that are alike in other attributes.

    Both classes take the same number of rows from every cell of `balance` (combination of its
    levels); a cell that one class lacks, such as men with makeup, drops out for both. All cells
    give equally many, except that a cell with fewer gives all it has and the others share the
    rest equally; an odd row goes to the first cells with rows to spare. If "Smiling" is in
    `balance`, this holds within smiling and within not smiling, which give half of `n_each` each.

    Args:
        attributes: bool (n, K), for example of `celeba_attributes`.
        name: the attribute to separate.
        n_each: rows of each class (the paper: 800).
        balance: columns, for example ("Smiling", "Male"), or () for any rows.
        seed: of the choice within cells; more rows add to those of fewer.

    Returns:
        Positions of the positive and of the negative rows, each int (n_each,), ascending.

    Raises:
        ValueError: a column is missing or not bool, `name` is in `balance`, `n_each` is less than 1
            or cannot be halved, or there are too few rows; the message has the counts.
    """
    balance = [balance] if isinstance(balance, str) else list(balance)
    _require(attributes, name, n_each, balance)
    cells, levels = _cells(attributes, balance)
    positive = attributes[name].to_numpy()
    counts = [np.bincount(cells[positive == side], minlength=len(levels)) for side in (True, False)]
    available = np.minimum(*counts)
    take = np.zeros(len(levels), np.int64)
    # The scarcer one first, so that an error names it.
    for stratum in sorted(_strata(levels, balance), key=lambda cells: available[cells].sum()):
        wanted = n_each if stratum.all() else n_each // 2
        if available[stratum].sum() < wanted:
            found = [count[stratum].sum() for count in (*counts, available)]
            raise ValueError(_too_few(name, levels[stratum], balance, wanted, *found))
        take[stratum] = _share_equally(wanted, available[stratum])
    chosen = [
        np.sort(_choose(np.where(positive == side, cells, -1), take, seed, f"{name}/{side}"))
        for side in (True, False)
    ]
    return chosen[0], chosen[1]


def attribute_vector(
    codes: ArrayLike, positive: ArrayLike, negative: ArrayLike, seed: int, name: str = ""
) -> AttributeVector:
    """Direction orthogonal to a linear SVM's boundary between codes with and without an attribute.

    A random 80 % of each class train it; its accuracy is that on the rest (sensitivity, section 5).

    Args:
        codes: latent codes (n, D), of about unit variance in each coordinate.
        positive: rows of the codes with the attribute, as `balanced_rows` gives them.
        negative: those of the codes without it.
        seed: of the split.
        name: the attribute, to be kept with its vector.

    Raises:
        ValueError: codes that are not finite, no matrix or all the same, rows that the codes lack,
            a row in both classes or twice in one, or fewer than 2 rows of a class.
    """
    codes = as_finite(codes, "codes", ndim=2)
    rows = {"positive": np.asarray(positive), "negative": np.asarray(negative)}
    _require_rows(rows, len(codes))
    parts = []
    for side, members in rows.items():
        draw = seeding.rng(seed, f"attribute vector/{name}/{side}")
        held_out = len(members) - min(round(TRAINING_SHARE * len(members)), len(members) - 1)
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
    """Held-out accuracy of every vector: index attribute; columns n_test, accuracy, low, high.

    Sensitivity, Fig 8 (Appendix).
    """
    columns = ["n_test", "accuracy", "low", "high"]
    rows = {vector.name: [getattr(vector, column) for column in columns] for vector in vectors}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.rename_axis("attribute")


def _require(attributes: pd.DataFrame, name: str, n_each: int, balance: list[str]) -> None:
    require_columns(attributes, [name, *balance])
    for column in (name, *balance):
        if attributes[column].dtype != bool:
            raise ValueError(f"column {column!r} is {attributes[column].dtype}, expected bool")
    if name in balance:
        raise ValueError(f"{name!r} cannot be separated and balanced at once")
    halves = HALVED in balance
    if n_each < 1 or (halves and n_each % 2):
        expected = f"an even number, as half of each class is {HALVED}" if halves else "at least 1"
        raise ValueError(f"n_each is {n_each}, expected {expected}")


def _cells(attributes: pd.DataFrame, balance: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Number of every row's cell (n,), and the levels of every cell, bool (cells, balance)."""
    levels = np.array(list(product([False, True], repeat=len(balance))), bool)
    powers = 2 ** np.arange(len(balance))[::-1]
    return attributes[balance].to_numpy(np.int64) @ powers, levels


def _strata(levels: np.ndarray, balance: list[str]) -> list[np.ndarray]:
    """Sets of cells, each bool (cells,), that give equally many rows."""
    if HALVED not in balance:
        return [np.ones(len(levels), bool)]
    has = levels[:, balance.index(HALVED)]
    return [has, ~has]


def _share_equally(wanted: int, available: np.ndarray) -> np.ndarray:
    """`wanted` rows from cells that hold `available` (cells,), as equal as these allow."""
    by_size = np.sort(available)
    left = len(available) - np.arange(len(available))
    # If the k smallest cells give all they have, the others can give this much each.
    level = (wanted - np.append(0, by_size.cumsum()[:-1])) // left
    level = level[np.argmax(level < by_size)] if (level < by_size).any() else by_size[-1]
    take = np.minimum(available, level)
    spare = np.flatnonzero(available > level)[: wanted - take.sum()]
    take[spare] += 1
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


def _too_few(
    name: str,
    levels: np.ndarray,
    balance: list[str],
    wanted: int,
    n_with: int,
    n_without: int,
    matched: int,
) -> str:
    fewer = "positive" if n_with <= n_without else "negative"
    where = f" with {HALVED} = {levels[0, balance.index(HALVED)]}" if HALVED in balance else ""
    alike = f"; alike in {', '.join(balance)} are {matched} of each" if balance else ""
    return (
        f"{name}: {min(n_with, n_without)} {fewer} rows{where} for the {wanted} asked for "
        f"({n_with} positive, {n_without} negative{alike})"
    )


def _require_rows(rows: dict[str, np.ndarray], n: int) -> None:
    for side, members in rows.items():
        if members.ndim != 1 or len(members) < 2 or members.dtype.kind not in "iu":
            raise ValueError(
                f"{side}: expected at least 2 row numbers, got shape {members.shape}, "
                f"{members.dtype}"
            )
        if members.min() < 0 or members.max() >= n:
            wrong = members[(members < 0) | (members >= n)][0]
            raise ValueError(f"{side}: row {wrong} is none of the {n} codes'")
    numbers, times = np.unique(np.concatenate(list(rows.values())), return_counts=True)
    if times.max() > 1:
        raise ValueError(f"row {numbers[times > 1][0]} occurs twice among positive and negative")
