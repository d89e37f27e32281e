"""The same audit again and again, on faces whose errors under every intervention are known.

One audit says little about how often its intervals are right: twelve cells share their faces, so
they are right or wrong together. Here a pool of faces, each asked at every combination of doses
(`helpers.truth.errors_under_do`), is itself the population. Audits are samples from it, and its own
effects are the truth, without any error.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from helpers import keyed
from helpers.effects import paired_interval


def ideal_audits(
    errors: np.ndarray, attributes: Sequence[str], n_transects: int, repetitions: int, seed: int
) -> pd.DataFrame:
    """Matched effects in every cell, of audits with exact directions and perfect raters.

    Estimates and intervals are those of `helpers.effects.matched_effects` on transects drawn from
    the pool with replacement.

    Args:
        errors: (n, 2, …, 2), 1 where the model errs, one axis of two levels per attribute.
        attributes: names of the axes.
        n_transects: faces per audit.
        repetitions: number of audits; audit k depends on the seed and k alone.

    Returns:
        A row per audit and cell: audit, attribute, a column per attribute with the level at which
        it is held (<NA> for the attribute itself), truth, estimate, low, high.
    """
    draws = np.array(
        [
            keyed.generator(seed, "repeated audits", k).integers(len(errors), size=n_transects)
            for k in range(repetitions)
        ]
    )
    tables = []
    for axis, attribute in enumerate(attributes):
        differences = errors.take(1, axis + 1) - errors.take(0, axis + 1)
        others = [name for name in attributes if name != attribute]
        for held in itertools.product((0, 1), repeat=len(others)):
            cell = differences[(slice(None), *held)]
            table = _audits_of_a_cell(cell, draws)
            tables.append(table.assign(attribute=attribute, **dict(zip(others, held, strict=True))))
    frame = pd.concat(tables, ignore_index=True)
    frame = frame.astype(dict.fromkeys(attributes, "Int64"))
    return frame[["audit", "attribute", *attributes, "truth", "estimate", "low", "high"]]


def _audits_of_a_cell(differences: np.ndarray, draws: np.ndarray) -> pd.DataFrame:
    drawn = differences[draws]
    worse, better = (drawn > 0).sum(axis=1), (drawn < 0).sum(axis=1)
    n, quantile = draws.shape[1], norm.ppf(0.975)
    # Audits often share their two counts, and with them the interval.
    counts, where = np.unique(np.column_stack([worse, better]), axis=0, return_inverse=True)
    intervals = np.array([paired_interval(*pair, n, quantile) for pair in counts.tolist()])
    low, high = intervals[where].T
    return pd.DataFrame(
        {
            "audit": np.arange(len(draws)),
            "truth": differences.mean(),
            "estimate": (worse - better) / n,
            "low": low,
            "high": high,
        }
    )
