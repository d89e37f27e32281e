"""The same audit again and again, on faces whose errors under every intervention are known.

One audit says little about how often its intervals are right: twelve cells share their faces, so
they are right or wrong together. Here a pool of faces, each asked at every combination of doses
(`helpers.scorecard.truth.errors_under_do`), is itself the population. Audits are samples from it,
and its own effects are the truth, without any error. An audit of the book, whose truth is known
from a sample of faces only, is compared with audits whose truth is a sample too. Chapters 10 and 11
use it.
"""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from helpers.effects import mcnemar, paired_interval
from helpers.effects.labels import Z
from helpers.effects.partial_pooling import cell_covariance, partial_pooling
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
        seed: of the draws.

    Returns:
        Rows of `matched_audits`; `truth`, the effect in the whole pool, which has no error; and
        `estimated_truth`, the effect in as many faces as the pool has, drawn from it anew for every
        audit: what an audit is held against whose truth is itself known from that many faces.

    Example:
        >>> pool = np.zeros((20, 2, 2))
        >>> pool[:10, 1] = 1  # the high level of the first axis misleads on half of the faces
        >>> table = ideal_audits(pool, ["skin", "gender"], n_transects=50, repetitions=3, seed=1)
        >>> table[table["attribute"] == "skin"]["truth"].unique().tolist()
        [0.5]
        >>> table[table["attribute"] == "skin"]["estimated_truth"].nunique()
        3
    """
    audits = draw(errors, n_transects, repetitions, seed)
    table = with_truth(matched_audits(audits, attributes), errors, attributes)
    again = cells_of(_means_of_samples(errors, repetitions, seed), attributes, _estimated_cell)
    return table.merge(again, on=["audit", "attribute", *attributes], validate="1:1")


def matched_audits(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`helpers.effects.matched_effects` of every audit in every cell of the other attributes.

    Args:
        audits: (repetitions, n_transects, 2, …, 2), see `draw`; NaN where an image is missing.
        attributes: names of the axes.

    Returns:
        A row per audit and cell: audit, attribute, a column per attribute with the level at which
        it is held (<NA> for the attribute itself), estimate, low, high (fractions), p.

    Example:
        >>> matched_audits(np.zeros((4, 30, 2, 2)), ["skin", "gender"]).shape
        (16, 8)
    """
    return cells_of(audits, attributes, _matched_cell)


def pooled_audits(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`matched_audits`, with the cells of every attribute pooled by `effects.partial_pooling`.

    Standard errors are half the width of the cells' score intervals over the normal quantile,
    covariances those of the transects that cells share.

    Args:
        audits: (repetitions, n_transects, 2, …, 2) of at least three attributes.
        attributes: names of the axes.

    Returns:
        Rows as those of `matched_audits`, with normal intervals and p-values of the posterior, and
        the column between: how far the cells of an attribute differ (standard deviation).

    Example:
        >>> errors = np.zeros((4, 30, 2, 2, 2))
        >>> errors[:, :9, 1, 1, 1] = 1  # in a single one of all cells
        >>> table = pooled_audits(errors, ["skin", "hair", "gender"])
        >>> (table.query("attribute == 'skin' and audit == 0")["estimate"] > 0).tolist()
        [True, True, True, True]
    """
    table = matched_audits(audits, attributes)
    parts = []
    for axis, attribute in enumerate(attributes):
        rows = table[table["attribute"] == attribute]
        by_cell = rows[["estimate", "low", "high"]].to_numpy().reshape(-1, len(audits), 3)
        estimate, low, high = np.moveaxis(by_cell, (0, 1, 2), (2, 1, 0))
        differences = np.diff(np.moveaxis(audits, axis + 2, -1))
        differences = differences.reshape(*audits.shape[:2], -1)
        covariance = cell_covariance(differences, (high - low) / (2 * Z))
        found = partial_pooling(estimate, covariance)
        shape, margin = found.estimate.shape, Z * found.se
        columns = {
            "estimate": found.estimate,
            "low": found.estimate - margin,
            "high": found.estimate + margin,
            "p": 2 * norm.sf(np.abs(found.estimate) / found.se),
            "between": np.broadcast_to(found.between[:, None], shape),
        }
        parts.append(rows.assign(**{name: part.T.ravel() for name, part in columns.items()}))
    return pd.concat(parts, ignore_index=True)


def with_truth(
    estimates: pd.DataFrame, errors: np.ndarray, attributes: Sequence[str]
) -> pd.DataFrame:
    """Estimates per cell, and on average, beside the effect in the whole pool.

    Args:
        estimates: a row per audit and cell, with the keys of `cells_of` and `averages_of`.
        errors: the pool, (n, 2, …, 2).
        attributes: names of its axes.

    Returns:
        The estimates with the column truth.

    Example:
        >>> pool = np.zeros((20, 2, 2))
        >>> estimates = matched_audits(draw(pool, 10, 2, seed=1), ["skin", "gender"])
        >>> with_truth(estimates, pool, ["skin", "gender"])["truth"].abs().max().item()
        0.0
    """

    def true_effect(differences: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame({"truth": differences.mean(axis=1)})

    tables = [each(errors[None], attributes, true_effect) for each in (cells_of, averages_of)]
    pool = pd.concat(tables).drop_duplicates(["attribute", *attributes])
    return estimates.merge(pool, on=["attribute", *attributes], validate="m:1")


def cells_of(
    audits: np.ndarray,
    attributes: Sequence[str],
    summarize: Callable[[np.ndarray], pd.DataFrame],
) -> pd.DataFrame:
    """Tables of all cells below each other, with their keys.

    Args:
        audits: (repetitions, n, 2, …, 2).
        attributes: names of the axes.
        summarize: differences high minus low in one cell, (repetitions, n) → its table.

    Returns:
        audit where the tables have it, attribute, a column per attribute with the level at which
        it is held (<NA> for the attribute itself), then the tables' other columns.

    Example:
        >>> def mean(cell):
        ...     return pd.DataFrame({"mean": cell.mean(axis=1)})
        >>> cells_of(np.zeros((1, 5, 2, 2)), ["skin", "gender"], mean).shape
        (4, 4)
    """
    tables = []
    for axis, attribute in enumerate(attributes):
        differences = audits.take(1, axis + 2) - audits.take(0, axis + 2)
        others = [name for name in attributes if name != attribute]
        for held in itertools.product((0, 1), repeat=len(others)):
            table = summarize(differences[(slice(None), slice(None), *held)])
            tables.append(table.assign(attribute=attribute, **dict(zip(others, held, strict=True))))
    return _keyed(tables, attributes)


def averages_of(
    audits: np.ndarray,
    attributes: Sequence[str],
    summarize: Callable[[np.ndarray], pd.DataFrame],
) -> pd.DataFrame:
    """`cells_of`, for the effects averaged over all cells of the other attributes.

    Args:
        audits: (repetitions, n, 2, …, 2).
        attributes: names of the axes.
        summarize: as of `cells_of`, of differences averaged over cells.

    Returns:
        Rows as those of `cells_of`, <NA> in the columns of all attributes.

    Example:
        >>> def mean(cell):
        ...     return pd.DataFrame({"mean": cell.mean(axis=1)})
        >>> averages_of(np.zeros((1, 5, 2, 2)), ["skin", "gender"], mean)["attribute"].tolist()
        ['skin', 'gender']
    """
    tables = []
    for axis, attribute in enumerate(attributes):
        differences = np.diff(audits, axis=axis + 2)
        averaged = differences.reshape(*audits.shape[:2], -1).mean(axis=2)
        tables.append(summarize(averaged).assign(attribute=attribute))
    return _keyed(tables, attributes)


def _keyed(tables: Sequence[pd.DataFrame], attributes: Sequence[str]) -> pd.DataFrame:
    """Tables below each other, their keys first."""
    frame = pd.concat(tables, ignore_index=True)
    frame[list(attributes)] = frame.reindex(columns=list(attributes)).astype("Int64")
    keys = ["attribute", *attributes]
    first = [name for name in ("audit", *keys) if name in frame]
    return frame[first + [name for name in frame if name not in first]]


def draw(errors: np.ndarray, n_transects: int, repetitions: int, seed: int) -> np.ndarray:
    """Audits drawn from a pool of faces, with replacement.

    Audit k depends on the seed and k alone; the same seed draws the same faces for every model.

    Args:
        errors: the pool, (n, 2, …, 2).
        n_transects: faces per audit.
        repetitions: number of audits.
        seed: of the draws.

    Returns:
        (repetitions, n_transects, 2, …, 2).

    Example:
        >>> draw(np.zeros((20, 2, 2)), n_transects=10, repetitions=3, seed=1).shape
        (3, 10, 2, 2)
    """
    draws = seeding.rngs(seed, "repeated audits", range(repetitions))
    chosen = [random.integers(len(errors), size=n_transects) for random in draws]
    return errors[np.array(chosen)]


def _means_of_samples(errors: np.ndarray, repetitions: int, seed: int) -> np.ndarray:
    """Error rates (repetitions, 1, 2, …, 2) of samples from the pool (n, 2, …, 2), of its size."""
    n = len(errors)
    draws = seeding.rngs(seed, "repeated audits/truth", range(repetitions))
    counts = np.array([np.bincount(rng.integers(n, size=n), minlength=n) for rng in draws])
    return (counts @ errors.reshape(n, -1) / n).reshape(repetitions, 1, *errors.shape[1:])


def _estimated_cell(differences: np.ndarray) -> pd.DataFrame:
    """The truth as it would be estimated in every audit, in one cell."""
    audit = np.arange(len(differences))
    return pd.DataFrame({"audit": audit, "estimated_truth": differences[:, 0]})


def _matched_cell(differences: np.ndarray) -> pd.DataFrame:
    """Estimate, interval and McNemar's p of every audit in one cell."""
    worse, better = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    n = np.isfinite(differences).sum(axis=1)
    # Audits often share their counts, and with them the interval and the test.
    counts, where = np.unique(np.column_stack([worse, better, n]), axis=0, return_inverse=True)
    limits = [paired_interval(*pairs, Z) for pairs in counts.tolist()]
    summary = np.column_stack([limits, mcnemar(*counts.T[:2])])
    table = pd.DataFrame(summary[where], columns=["low", "high", "p"])
    table.insert(0, "audit", np.arange(len(differences)))
    table.insert(1, "estimate", (worse - better) / n)
    return table
