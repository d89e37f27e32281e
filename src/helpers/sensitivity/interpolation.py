"""Is the space between codes of one class of that class too? (sensitivity, section 5: 98 %).

Chapter 15 asks before it counts flips.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.sensitivity.intervals import as_table, share_interval
from helpers.sensitivity.measures import decisions
from helpers.utils import seeding
from helpers.utils.checks import as_finite, as_probabilities, require_alike


def lines(z: ArrayLike, positive: ArrayLike, seed: int) -> tuple[np.ndarray, np.ndarray]:
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

    Raises:
        ValueError: codes and classes that do not match, or no class with two codes.

    Example:
        >>> import numpy as np
        >>> from helpers import sensitivity
        >>> z = np.random.default_rng(0).standard_normal((6, 3))
        >>> codes, ends = sensitivity.lines(z, np.array([True] * 4 + [False] * 2), seed=1)
        >>> codes.shape, sorted(ends.ravel().tolist())
        ((3, 3), [0, 1, 2, 3, 4, 5])
    """
    z = as_finite(z, "z", ndim=2)
    positive = np.asarray(positive)
    if positive.dtype != bool or positive.shape != z.shape[:1]:
        raise ValueError(
            f"positive: expected bool {z.shape[:1]}, got {positive.dtype} {positive.shape}"
        )
    ends = np.concatenate([_pairs(positive, seed, side) for side in (True, False)])
    if not len(ends):
        raise ValueError(f"z: {len(z)} codes, no two of them of one class")
    place = seeding.uniforms(seed, "lines/place", ends[:, 0], 1)
    return (1 - place) * z[ends[:, 0]] + place * z[ends[:, 1]], ends


def consistency(positive_ends: ArrayLike, scores: ArrayLike, threshold: float) -> pd.DataFrame:
    """How often a code on a line keeps the class of the line's ends (sensitivity, section 5).

    Args:
        positive_ends: class of the ends, bool (n,): `positive[ends[:, 0]]` of `lines`.
        scores: P(smiling) of the codes on the lines, (n,).
        threshold: of the decision.

    Returns:
        Index ends: "total", "positive", "negative"; columns n (lines), events (kept), estimate,
        low, high (Wilson 95 %), NaN where there are no lines.

    Raises:
        ValueError: scores that are no probabilities, or shapes that differ.

    Example:
        >>> import numpy as np
        >>> from helpers import sensitivity
        >>> ends = np.array([True, True, False])
        >>> sensitivity.consistency(ends, [0.9, 0.4, 0.1], threshold=0.5)["estimate"].tolist()
        [0.6666666666666666, 0.5, 1.0]
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


def _pairs(positive: np.ndarray, seed: int, side: bool) -> np.ndarray:
    """Rows of one class in pairs (n, 2), none twice; an odd one is left over."""
    rows = seeding.rng(seed, f"lines/{side}").permutation(np.flatnonzero(positive == side))
    return rows[: len(rows) // 2 * 2].reshape(-1, 2)
