"""Faces harmed and faces helped: both sides of a difference of error rates.

In a matched pair the answer may turn from right to wrong (harmed), from wrong to right (helped), or
stay. The risk difference is the share harmed minus the share helped, so it can be zero while many
faces change sides.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from helpers.effects.contrasts import held_in_words
from helpers.effects.labels import Z
from helpers.effects.risks import score_interval
from helpers.utils.checks import require_shape


def harmed_and_helped(errors: np.ndarray, axes: Sequence[str]) -> pd.DataFrame:
    """Shares of pairs that the higher level of each attribute turns wrong, and right.

    Args:
        errors: (n, 2, ..., 2) of 0 and 1, of `helpers.effects.contrasts.outcome_grid` or of
            `helpers.scorecard.truth.errors_under_do`.
        axes: names of the axes after the first.

    Returns:
        Rows and keys as those of `helpers.scorecard.truth.effects`: the attribute, a column per
        attribute with the level at which it is held, or <NA>; then cell (these levels in words), n
        (transects), and

        - harmed, harmed_low, harmed_high: share of pairs that only the higher level gets wrong,
          with Wilson's 95 % interval; where transects give several pairs, for the number of
          independent pairs that would leave as much uncertainty;
        - helped, helped_low, helped_high: share that only the lower level gets wrong;
        - net: harmed minus helped, the risk difference; changed: their sum.

    Raises:
        ValueError: errors whose axes are not those named.

    Example:
        >>> import numpy as np
        >>> from helpers.effects.flips import harmed_and_helped
        >>> table = harmed_and_helped(np.array([[0, 1], [1, 0], [0, 0], [1, 1]]), ["skin"])
        >>> table[["harmed", "helped", "net"]].values.tolist()
        [[0.25, 0.25, 0.0]]
    """
    require_shape(errors, "errors", (len(errors), *[2] * len(axes)))
    rows = []
    for axis, attribute in enumerate(axes):
        change = errors.take(1, axis + 1) - errors.take(0, axis + 1)
        others = [name for name in axes if name != attribute]
        for held in product((None, 0, 1), repeat=len(others)):
            index = tuple(slice(None) if level is None else level for level in held)
            pairs = change[(slice(None), *index)].reshape(len(errors), -1)
            levels = dict(zip(others, held, strict=True))
            row = {"attribute": attribute, **levels, "cell": held_in_words(levels)}
            row |= {"n": len(pairs), **_share("harmed", pairs > 0), **_share("helped", pairs < 0)}
            row |= {"net": row["harmed"] - row["helped"], "changed": row["harmed"] + row["helped"]}
            rows.append(row)
    table = pd.DataFrame(rows)
    keys = ["attribute", *axes]
    table[list(axes)] = table.reindex(columns=list(axes)).astype("Int64")
    return table[keys + [column for column in table if column not in keys]]


def _share(name: str, turned: np.ndarray) -> dict[str, float]:
    """Share of the pairs (n, k) that turned, with Wilson's interval for its effective size."""
    n, k = turned.shape
    by_transect = turned.mean(axis=1)
    share, variance = by_transect.mean(), by_transect.var() / n
    # Between the number of transects and that of pairs; for one pair a transect both are n.
    size = np.clip(share * (1 - share) / variance, n, n * k) if variance > 0 else n
    low, high = map(float, score_interval(np.array(share), np.array(size, float), Z))
    # Rounding must not put an end beyond a share of zero or one.
    return {name: share, f"{name}_low": min(low, share), f"{name}_high": max(high, share)}
