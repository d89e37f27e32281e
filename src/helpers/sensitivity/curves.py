"""Sensitivity along λ, and the dose-response of single codes: the curves of chapter 15."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.resampling import as_codes
from helpers.sensitivity.intervals import as_table, mean_interval, net_interval, share_interval
from helpers.sensitivity.measures import decisions, flips, near_boundary, score_sensitivity
from helpers.utils.checks import as_probabilities, as_steps


def curve(
    scores: ArrayLike,
    lambdas: ArrayLike,
    near: tuple[float, float],
    threshold: float,
    cluster: ArrayLike | None = None,
) -> pd.DataFrame:
    """All measures of every step λ d against λ = 0 (sensitivity, section 5, Figs 5 and 6).

    Args:
        scores: P(smiling) of G(z + λ d), (n, L).
        lambdas: steps λ, (L,), distinct, one of them 0.
        near: what counts as near the boundary, by the score at λ = 0, both ends excluded.
        threshold: of the decision.
        cluster: code of every row, (n,), where several rows share one; else rows are codes.

    Returns:
        Long: a row per λ (ascending) and measure, with the columns λ, measure, n, estimate, low,
        high. Measures and n are those of `score_sensitivity` and `flips`; "net near the boundary"
        is the net of the rows near it (Fig 5, bottom right). At λ = 0 nothing moves: the interval
        is the estimate.

    Raises:
        ValueError: as `score_sensitivity` and `flips`, or steps that do not fit.

    Example:
        >>> from helpers import sensitivity
        >>> scores = [[0.2, 0.3, 0.4], [0.4, 0.6, 0.8]]
        >>> table = sensitivity.curve(scores, [-1, 0, 1], near=(0.3, 0.7), threshold=0.5)
        >>> table.loc[table["measure"] == "score sensitivity", ["λ", "estimate"]].round(3).values
        array([[-1.  , -0.15],
               [ 0.  ,  0.  ],
               [ 1.  ,  0.15]])
    """
    scores = as_probabilities(scores, "scores", ndim=2)
    lambdas = as_steps(lambdas, scores.shape[1])
    if 0 not in lambdas:
        raise ValueError(f"lambdas: none of {lambdas} is 0, where the counterfactuals start")
    codes = as_codes(cluster, len(scores))
    before = scores[:, np.flatnonzero(lambdas == 0)[0]]
    close = near_boundary(before, near)
    smiles = decisions(scores, threshold).astype(np.float64)
    parts = []
    for column in np.argsort(lambdas):
        after = scores[:, column]
        moved = score_sensitivity(before, after, near, codes)
        flipped = flips(before, after, threshold, codes).drop(columns="events")
        table = pd.concat([moved, flipped]).rename_axis("measure")
        net = smiles[close, column] - decisions(before[close], threshold)
        table.loc["net near the boundary"] = (len(net), *net_interval(net, codes[close]))
        table.insert(0, "λ", lambdas[column])
        parts.append(table.reset_index())
    curves = pd.concat(parts, ignore_index=True).astype({"n": np.int64})
    ends, still = ["low", "high"], curves["λ"] == 0
    curves[ends] = curves[ends].mask(still, curves["estimate"], axis=0)
    return curves[["λ", "measure", "n", "estimate", "low", "high"]]


def dose_response(
    scores: ArrayLike, lambdas: ArrayLike, cluster: ArrayLike | None = None
) -> pd.DataFrame:
    """Whether single codes respond to λ as their mean does (sensitivity, section 5: "linear").

    Index measure: "slope", the mean over rows of each one's least-squares slope of the score on λ,
    with its t interval over codes; "monotone", the share of rows whose scores only rise, or only
    fall, along λ (steps without a change are allowed, rows without any are not), with Wilson's.

    Args:
        scores: P(smiling) of G(z + λ d), (n, L).
        lambdas: steps λ, (L,), distinct, at least two.
        cluster: code of every row, (n,), where several rows share one; else rows are codes.

    Returns:
        Columns n (rows), estimate, low, high; slopes are in score per unit of λ.

    Raises:
        ValueError: as `curve`; no λ need be 0.

    Example:
        >>> from helpers import sensitivity
        >>> table = sensitivity.dose_response([[0.2, 0.3, 0.4], [0.4, 0.8, 0.6]], [-1, 0, 1])
        >>> table["estimate"].round(2).to_dict()
        {'slope': 0.1, 'monotone': 0.5}
    """
    scores = as_probabilities(scores, "scores", ndim=2)
    lambdas = as_steps(lambdas, scores.shape[1])
    codes = as_codes(cluster, len(scores))
    centred = lambdas - lambdas.mean()
    slopes = scores @ centred / (centred @ centred)
    steps = np.diff(scores[:, np.argsort(lambdas)])
    one_way = (steps >= 0).all(axis=1) | (steps <= 0).all(axis=1)
    monotone = one_way & (steps != 0).any(axis=1)
    rows = {
        "slope": (len(scores), *mean_interval(slopes, codes)),
        "monotone": (len(scores), *share_interval(monotone, codes)),
    }
    return as_table(rows, "measure")
