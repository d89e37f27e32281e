"""Is the space between codes of one class of that class too? (sensitivity, section 5: 98 %)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers import keyed
from helpers.sensitivity.checks import as_finite, as_probabilities, require_alike
from helpers.sensitivity.intervals import as_table, share_interval
from helpers.sensitivity.measures import THRESHOLD, decisions


def lines(z: ArrayLike, positive: ArrayLike, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes uniform on lines between pairs of codes of the same class, half the lines in each.

    No code is an end of two lines, so that the lines are independent of each other.

    Args:
        z: codes (n_codes, D).
        positive: class of every code, bool (n_codes,), for example y(G(z)).
        n: lines; of an odd number, one more is between positive codes.
        seed: of the pairs and of the places on the lines; more lines keep the first of each class.

    Returns:
        codes (n, D) float64, one on each line, those between positive codes first, and the rows
        of `z` at the lines' ends, int (n, 2).

    Raises:
        ValueError: codes and classes that do not match, or a class with too few codes for `n`.
    """
    z = as_finite(z, "z", ndim=2)
    positive = np.asarray(positive)
    if positive.dtype != bool or positive.shape != z.shape[:1]:
        raise ValueError(
            f"positive: expected bool {z.shape[:1]}, got {positive.dtype} {positive.shape}"
        )
    if n < 1:
        raise ValueError(f"n: expected at least 1 line, got {n}")
    parts = [
        _ends(np.flatnonzero(positive), n - n // 2, seed, "positive"),
        _ends(np.flatnonzero(~positive), n // 2, seed, "negative"),
    ]
    ends = np.concatenate([pairs for pairs, _ in parts])
    place = np.concatenate([place for _, place in parts])[:, None]
    return (1 - place) * z[ends[:, 0]] + place * z[ends[:, 1]], ends


def consistency(
    positive_ends: ArrayLike, scores: ArrayLike, threshold: float = THRESHOLD
) -> pd.DataFrame:
    """How often a code on a line keeps the class of the line's ends.

    Args:
        positive_ends: class of the ends, bool (n,): `positive[ends[:, 0]]` of `lines`.
        scores: P(smiling) of the codes on the lines, (n,).
        threshold: of the decision.

    Returns:
        Index ends: "total", "positive", "negative"; columns n (lines), events (kept), estimate,
        low, high (Wilson 95 %), NaN where there are no lines.

    Raises:
        ValueError: scores that are no probabilities, or shapes that differ.
    """
    scores = as_probabilities(scores, "scores")
    positive_ends = np.asarray(positive_ends)
    require_alike(positive_ends, "positive_ends", scores, "scores")
    if positive_ends.dtype != bool:
        raise ValueError(f"positive_ends: expected bool, got {positive_ends.dtype}")
    kept = decisions(scores, threshold) == positive_ends
    parts = {"total": kept, "positive": kept[positive_ends], "negative": kept[~positive_ends]}
    rows = {
        ends: (len(part), int(part.sum()), *share_interval(part, np.arange(len(part))))
        for ends, part in parts.items()
    }
    return as_table(rows, "ends", ["n", "events"])


def _ends(rows: np.ndarray, n: int, seed: int, side: str) -> tuple[np.ndarray, np.ndarray]:
    """`n` pairs (n, 2) of `rows`, none twice, and a place in [0, 1) on each (n,)."""
    if len(rows) < 2 * n:
        raise ValueError(
            f"n: {n} lines between {side} codes take {2 * n} of them, there are {len(rows)}"
        )
    order = keyed.generator(seed, f"lines/{side}").permutation(rows)
    place = keyed.uniforms(seed, f"lines/{side}/place", range(n), 1)
    return order[: 2 * n].reshape(n, 2), place[:, 0]
