"""Attribute vectors: directions in latent space that add an attribute (sensitivity, section 4.2).

A linear classifier separates the latent codes of images with an attribute from those without it.
The samples are balanced, so that what goes along with the attribute, above all smiling itself, is
as frequent on both sides and does not enter the vector. `traverse` draws images along a vector;
`lines` gives codes between those of one class, of which 98% are of that class too (section 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.svm import LinearSVC
from torch import Tensor

from faceaudit.effects.risks import wilson_interval
from faceaudit.generators.image_cache import Generator
from faceaudit.latents.directions import SVM_C
from faceaudit.utils import seeding
from faceaudit.utils.arguments import as_binary, as_finite, require_columns
from faceaudit.utils.errors import InputError

IMAGES_AT_A_TIME = 64
"""Images drawn at a time."""


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class AttributeVector:
    """The direction of an attribute, and how well it tells held-out codes apart.

    Attributes:
        name: the attribute.
        direction: (D,) float64 of unit length, pointing to codes with the attribute.
        accuracy: share of the held-out codes on the right side of the boundary.
        low, high: Wilson 95% interval of the accuracy.
        n_test: held-out codes.
    """

    name: str
    direction: np.ndarray
    accuracy: float
    low: float
    high: float
    n_test: int


def balanced_rows(
    attributes: pd.DataFrame, name: str, n: int, balance: Sequence, halved: str | None, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with and without an attribute that are alike in other attributes (section 4.2).

    Both classes take the same number of rows from every cell of `balance` (combination of its
    levels); a cell that one class lacks, such as men with makeup, drops out for both. All cells
    give equally many, except that a cell with fewer gives all it has and the others share the
    rest equally; an odd row goes to the first cells with rows to spare. If `halved` is in
    `balance`, this holds within faces that have it and within faces that do not, which give half
    of `n` each.

    Args:
        attributes: bool (n, K), for example of `celeba_attributes`.
        name: the attribute to separate.
        n: rows of each class (the paper: 800).
        balance: other columns, for example ("Smiling", "Male"), or () for any rows.
        halved: the one of them that half of each class has, such as the classifier's target.
        seed: of the choice within cells; more rows add to those of fewer.

    Returns:
        Positions of the positive and of the negative rows, each int (n,), ascending.

    Raises:
        InputError: a column is missing or not binary, or there are too few rows.
    """
    balance = list(balance)
    require_columns(attributes, [name, *balance])
    cells = np.zeros(len(attributes), np.int64)
    for column in balance:
        cells = 2 * cells + as_binary(attributes[column])
    n_cells = 2 ** len(balance)
    is_positive = as_binary(attributes[name]) == 1
    available = np.minimum(
        np.bincount(cells[is_positive], minlength=n_cells),
        np.bincount(cells[~is_positive], minlength=n_cells),
    )
    bit = None
    if halved in balance:
        bit = len(balance) - 1 - balance.index(halved)  # the last column is the lowest bit
    strata = _strata(n_cells, bit)
    n_of_stratum = n // len(strata)
    n_of_cell = np.zeros(n_cells, np.int64)
    for stratum in strata:
        alike = available[stratum].sum()
        if alike < n_of_stratum:
            raise InputError(
                f"{name}: {n_of_stratum} rows of each class asked for, {alike} of each class are "
                f"alike in {balance}",
                field=name,
                found=int(alike),
                expected=f"{n_of_stratum} rows of each class",
            )
        n_of_cell[stratum] = _share_equally(n_of_stratum, available[stratum])
    positive = _choose(np.where(is_positive, cells, -1), n_of_cell, seed, f"{name}/True")
    negative = _choose(np.where(is_positive, -1, cells), n_of_cell, seed, f"{name}/False")
    return np.sort(positive), np.sort(negative)


def _strata(n_cells: int, bit: int | None) -> list[np.ndarray]:
    """Cells without and with the attribute of a bit of their numbers, bool (cells,) each.

    Without such an attribute all cells are one stratum.
    """
    if bit is None:
        return [np.ones(n_cells, bool)]
    has_attribute = (np.arange(n_cells) >> bit & 1).astype(bool)
    return [~has_attribute, has_attribute]


def _share_equally(n: int, available: np.ndarray) -> np.ndarray:
    """n rows from cells that hold `available` (cells,), as equal as these allow."""
    n_of_cell = np.zeros(len(available), np.int64)
    for _ in range(n):
        # The next row comes from the cell that gave least, the first of equals; never an empty one.
        n_of_cell[np.where(n_of_cell < available, n_of_cell, n).argmin()] += 1
    return n_of_cell


def _choose(cells: np.ndarray, n_of_cell: np.ndarray, seed: int, stage: str) -> np.ndarray:
    """Rows drawn from cells.

    Args:
        cells: number of every row's cell, negative for rows that are not available.
        n_of_cell: how many rows to draw from each cell, (cells,).
        seed: of the draws.
        stage: of the draws.
    """
    chosen = []
    for cell, number in enumerate(n_of_cell):
        draw = seeding.rng(seed, f"balanced rows/{stage}", cell)
        chosen.append(draw.permutation(np.flatnonzero(cells == cell))[:number])
    return np.concatenate(chosen)


def attribute_vector(
    codes: ArrayLike,
    positive: np.ndarray,
    negative: np.ndarray,
    share: float,
    seed: int,
    name: str = "",
) -> AttributeVector:
    """Direction orthogonal to a linear SVM's boundary between codes with and without an attribute.

    A random part of each class trains it; its accuracy is that on the rest (sensitivity, section
    5).

    Args:
        codes: latent codes (n, D), finite, of about unit variance in each coordinate.
        positive, negative: rows of the codes with and without the attribute, as of `balanced_rows`.
        share: part of each class to train on (the paper: 0.8); one row at least is left.
        seed: of the split.
        name: the attribute, to be kept with its vector.
    """
    codes = as_finite(codes, "codes", ndim=2)
    test_parts = []
    training_parts = []
    for side, rows in {"positive": positive, "negative": negative}.items():
        draw = seeding.rng(seed, f"attribute vector/{name}/{side}")
        held_out = len(rows) - min(round(share * len(rows)), len(rows) - 1)
        order = draw.permutation(rows)
        test_parts.append(order[:held_out])
        training_parts.append(order[held_out:])
    test = np.concatenate(test_parts)
    training = np.concatenate(training_parts)
    is_positive = np.isin(np.arange(len(codes)), positive)
    model = LinearSVC(C=SVM_C, dual=False).fit(codes[training], is_positive[training])
    right = int((model.predict(codes[test]) == is_positive[test]).sum())
    low, high = map(float, wilson_interval(right, len(test)))
    direction = model.coef_[0] / np.linalg.norm(model.coef_[0])
    return AttributeVector(name, direction, right / len(test), low, high, len(test))


# --- along vectors and between codes


@torch.no_grad()
def traverse(
    generator: Generator, z: Tensor, direction: ArrayLike, lambdas: Sequence[float]
) -> np.ndarray:
    """Images G(z + λ d) of every code at every step along a direction (sensitivity, section 4.2).

    Args:
        generator: draws the images.
        z: codes (n, D).
        direction: attribute vector d (D,).
        lambdas: steps λ, (L,).

    Returns:
        uint8 (n, L, 3, height, width).
    """
    direction = torch.as_tensor(np.asarray(direction), dtype=z.dtype, device=z.device)
    steps = torch.as_tensor(list(lambdas), dtype=z.dtype, device=z.device)
    moved = (z[:, None] + steps[:, None] * direction).flatten(0, 1)
    # As floats, all images of a walk would fill gigabytes.
    images = np.concatenate(
        [as_uint8(generator.synthesize(part)) for part in moved.split(IMAGES_AT_A_TIME)]
    )
    return images.reshape(len(z), len(steps), *images.shape[1:])


def as_uint8(images: Tensor) -> np.ndarray:
    """Images (n, 3, height, width) in [0, 1] as uint8; what lies outside is clipped."""
    return images.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()


def lines(z: np.ndarray, positive: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes uniform on lines between pairs of codes of the same class, as many as there are pairs.

    No code is an end of two lines, so that the lines are independent of each other (sensitivity,
    section 5).

    Args:
        z: codes (n_codes, D).
        positive: class of every code, bool (n_codes,), for example y(G(z)).
        seed: of the pairs and of the places on the lines.

    Returns:
        codes (n, D) float64, one on each line, those between positive codes first, and the rows
        of `z` at the lines' ends, int (n, 2).
    """
    z = as_finite(z, "z", ndim=2)
    pairs = []
    for side in (True, False):
        rows = seeding.rng(seed, f"lines/{side}").permutation(np.flatnonzero(positive == side))
        pairs.append(rows[: len(rows) // 2 * 2].reshape(-1, 2))
    ends = np.concatenate(pairs)
    place = seeding.uniforms(seed, "lines/place", ends[:, 0], 1)
    return (1 - place) * z[ends[:, 0]] + place * z[ends[:, 1]], ends
