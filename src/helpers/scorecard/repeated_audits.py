"""The same audit again and again, on faces whose errors under every intervention are known.

One audit says little about how often its intervals are right: twelve cells share their faces, so
they are right or wrong together. Here a pool of faces, each asked at every combination of doses
(`helpers.scorecard.truth.errors_under_do`), is itself the population. Audits are samples from it,
and its own effects are the truth, without any error.
"""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from helpers.effects import mcnemar, paired_interval
from helpers.utils import seeding


def ideal_audits(
    errors: np.ndarray, attributes: Sequence[str], n_transects: int, repetitions: int, seed: int
) -> pd.DataFrame:
    """Matched effects in every cell, of audits with exact directions and perfect raters.

    Args:
        errors: (n, 2, …, 2), 1 where the model errs, one axis of two levels per attribute.
        attributes: names of the axes.
        n_transects: faces per audit.
        repetitions: number of audits; audit k depends on the seed and k alone.

    Returns:
        Rows of `matched_audits` with the pool's own effect as `truth`.
    """
    audits = draw(errors, n_transects, repetitions, seed)
    return with_truth(matched_audits(audits, attributes), errors, attributes)


def matched_audits(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`helpers.effects.matched_effects` of every audit in every cell of the other attributes.

    Args:
        audits: (repetitions, n_transects, 2, …, 2), see `draw`.
        attributes: names of the axes.

    Returns:
        A row per audit and cell: audit, attribute, a column per attribute with the level at which
        it is held (<NA> for the attribute itself), estimate, low, high, p.
    """
    return cells_of(audits, attributes, _matched_cell)


def with_truth(
    estimates: pd.DataFrame, errors: np.ndarray, attributes: Sequence[str]
) -> pd.DataFrame:
    """Estimates per cell with the effect in the whole pool (n, 2, …, 2) as `truth`."""
    pool = cells_of(errors[None], attributes, lambda cell: pd.DataFrame({"truth": cell.mean(1)}))
    return estimates.merge(pool, on=["attribute", *attributes], validate="m:1")


def cells_of(
    audits: np.ndarray,
    attributes: Sequence[str],
    summarize: Callable[[np.ndarray], pd.DataFrame],
) -> pd.DataFrame:
    """A table per cell of the differences high minus low, (repetitions, n), with keys, stacked."""
    tables = []
    for axis, attribute in enumerate(attributes):
        differences = audits.take(1, axis + 2) - audits.take(0, axis + 2)
        others = [name for name in attributes if name != attribute]
        for held in itertools.product((0, 1), repeat=len(others)):
            table = summarize(differences[(slice(None), slice(None), *held)])
            tables.append(table.assign(attribute=attribute, **dict(zip(others, held, strict=True))))
    frame = pd.concat(tables, ignore_index=True)
    frame[list(attributes)] = frame.reindex(columns=list(attributes)).astype("Int64")
    keys = ["attribute", *attributes]
    first = [name for name in ("audit", *keys) if name in frame]
    return frame[first + [name for name in frame if name not in first]]


def draw(errors: np.ndarray, n_transects: int, repetitions: int, seed: int) -> np.ndarray:
    """Audits drawn from the pool with replacement: (repetitions, n_transects, 2, …, 2).

    Audit k depends on the seed and k alone; the same seed draws the same faces for every model.
    """
    draws = seeding.rngs(seed, "repeated audits", range(repetitions))
    chosen = [random.integers(len(errors), size=n_transects) for random in draws]
    return errors[np.array(chosen)]


def _matched_cell(differences: np.ndarray) -> pd.DataFrame:
    worse, better = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    n, quantile = differences.shape[1], norm.ppf(0.975)
    # Audits often share their two counts, and with them the interval and the test.
    counts, where = np.unique(np.column_stack([worse, better]), axis=0, return_inverse=True)
    summary = np.array(
        [
            (*paired_interval(up, down, n, quantile), mcnemar(up, down))
            for up, down in counts.tolist()
        ]
    )
    table = pd.DataFrame(summary[where], columns=["low", "high", "p"])
    table.insert(0, "audit", np.arange(len(differences)))
    table.insert(1, "estimate", (worse - better) / n)
    return table
