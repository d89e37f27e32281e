"""Directions that move one attribute and leave the others where they are, made in chapter 04.

Source: transects 4.1.3. Such directions have v_j ⟂ n_k for every k ≠ j: they are the dual basis of
the normals. Algorithm 2 of the paper does not give them, and is here for comparison. All matrices
hold one vector per row.
"""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from faceaudit.utils.arguments import as_finite
from faceaudit.utils.errors import InputError

VIF_CAP = 10.0
"""Variance inflation from which `dual_basis` warns, as is usual in regression.

At 10, steps are √10 ≈ 3.2 times as long as for orthogonal attributes.
"""


class OffTarget(NamedTuple):
    """Summary of a leakage matrix.

    Attributes:
        mean, max: of |off-target| / |on-target| changes.

    Example:
        >>> OffTarget(mean=0.1, max=0.3).max
        0.3
    """

    mean: float
    max: float


def dual_basis(normals: ArrayLike, vif_cap: float = VIF_CAP) -> np.ndarray:
    """Vectors v_j with ⟨v_j, n_k⟩ = 1 if j = k, else 0, in the span of the normals.

    V = Q R⁻ᵀ from the QR factorisation of N = [n_1 … n_K]; inverting NᵀN instead squares the
    condition number. Unlike Algorithm 2 the result does not depend on the order of the attributes.

    Args:
        normals: (K, D), linearly independent rows of any length.
        vif_cap: warn about rows whose variance inflation exceeds this.

    Returns:
        (K, D) float64 with `dual @ normals.T` the identity. Moving by `dual[j]` changes decision
        value j by one and no other.

    Raises:
        InputError: the rows are linearly dependent, naming those that depend on each other.

    Example:
        >>> dual_basis([[1.0, 0.0], [1.0, 1.0]]).round(3).tolist()
        [[1.0, -1.0], [0.0, 1.0]]
    """
    dual, inflation = _dual(normals)
    if (inflation > vif_cap).any():
        by_row = inflation.round(1).tolist()
        warnings.warn(
            f"nearly collinear normals: steps get √VIF times as long; VIF by row: {by_row}",
            stacklevel=2,
        )
    return dual


def variance_inflation(normals: ArrayLike) -> np.ndarray:
    """Variance inflation factors, (K,): 1 / (1 − R²) of each normal on all the others.

    √VIF_j = ‖v_j‖·‖n_j‖ is the price of orthogonality: how much longer the step along the dual
    vector is than the one along the normal, for the same change of decision value.

    Args:
        normals: (K, D), linearly independent rows of any length.

    Returns:
        (K,) float64, 1 for a normal that is orthogonal to all others.

    Raises:
        InputError: linearly dependent rows.

    Example:
        >>> variance_inflation([[1.0, 0.0], [1.0, 1.0]]).round(3).tolist()
        [2.0, 2.0]
    """
    return _dual(normals)[1]


def gram_schmidt(normals: ArrayLike) -> np.ndarray:
    """Algorithm 2 of the transects paper exactly as printed, (K, D).

    Erratum: the paper promises ñ_j ⟂ n_k for all k ≠ j. Subtracting from n_i its components along
    all Q_j with j ≠ i leaves ⟨Q_i, n_i⟩ Q_i, which is plain Gram–Schmidt: it holds for k < j only,
    the first vector stays as it was, and the result depends on the order of the attributes. Use
    `dual_basis`.

    Args:
        normals: (K, D), linearly independent rows of any length.

    Returns:
        (K, D) float64.

    Raises:
        InputError: linearly dependent rows.

    Example:
        >>> changed = gram_schmidt([[1.0, 0.0], [1.0, 1.0]])
        >>> (changed @ np.array([[1.0, 0.0], [1.0, 1.0]]).T).round(3).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    normals = _as_independent(normals)
    q = np.linalg.qr(normals.T)[0].T
    changed = normals.copy()
    for i in range(len(normals)):
        for j in range(len(normals)):
            if i != j:
                # As printed, over the squared length, which is 1 here up to rounding.
                changed[i] -= q[j] * (q[j] @ changed[i]) / (q[j] @ q[j])
    return changed


def leakage(low: Mapping[str, pd.DataFrame], high: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Leakage matrix: how much each perceived attribute moves per unit of the intended one.

    Args:
        low, high: for every intended attribute the perceived scores at the lower and upper end of
            its transects, one row per transect and one column per perceived attribute.

    Returns:
        Intended (rows) × perceived (columns): mean change of the perceived score from low to high
        divided by that of the intended attribute itself; the diagonal is therefore 1.

    Raises:
        InputError: the intended attribute's own score does not change.

    Example:
        >>> low = pd.DataFrame({"a": [0.2], "b": [0.5]})
        >>> high = pd.DataFrame({"a": [0.7], "b": [0.6]})
        >>> leakage({"a": low}, {"a": high}).round(3).loc["a"].tolist()
        [1.0, 0.2]
    """
    matrix = {}
    for intended in low:
        change = high[intended].mean() - low[intended].mean()
        if not abs(change[intended]) > 0:
            raise InputError(
                f"moving along {intended} leaves its own score unchanged",
                field=intended,
                found=change[intended],
                expected="a score that changes",
            )
        matrix[intended] = change / change[intended]
    return pd.DataFrame(matrix).T.rename_axis(index="intended", columns="perceived")


def off_target(matrix: pd.DataFrame) -> OffTarget:
    """Mean and largest |off-target| / |on-target| change in a leakage matrix.

    Args:
        matrix: intended (rows) × perceived (columns), from `leakage`.

    Returns:
        The two numbers.

    Example:
        >>> off_target(pd.DataFrame([[1, -0.2], [0.1, 1]], ["a", "b"], ["a", "b"])).max
        0.2
    """
    on_target = matrix.index.to_numpy()[:, None] == matrix.columns.to_numpy()
    ratios = matrix.abs().mask(on_target)
    return OffTarget(float(np.nanmean(ratios)), float(np.nanmax(ratios)))


def _as_independent(normals: ArrayLike) -> np.ndarray:
    """The normals as float64 (K, D).

    Raises:
        InputError: names rows that are zero, or that take part in a vanishing linear combination.
    """
    normals = as_finite(normals, "normals", ndim=2)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    if not lengths.all():
        rows = np.flatnonzero(lengths == 0).tolist()
        raise InputError(
            f"normals: rows {rows} are zero",
            field="normals",
            found=f"rows {rows}",
            expected="rows that are not zero",
        )
    combinations, values, _ = np.linalg.svd(normals / lengths)
    values = np.pad(values, (0, len(normals) - len(values)))
    tolerance = max(normals.shape) * np.finfo(np.float64).eps * values[0]
    vanishing = combinations[:, values <= tolerance]
    if vanishing.size:
        rows = np.flatnonzero(np.abs(vanishing).max(axis=1) > 1e-8).tolist()
        raise InputError(
            f"normals: rows {rows} are linearly dependent, so no dual basis exists",
            field="normals",
            found=f"rows {rows}",
            expected="linearly independent rows",
        )
    return normals


def _dual(normals: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The dual basis (K, D), and the variance inflation of its rows (K,)."""
    normals = _as_independent(normals)
    q, r = np.linalg.qr(normals.T)
    dual = solve_triangular(r, q.T)
    return dual, (dual**2).sum(axis=1) * (normals**2).sum(axis=1)
