"""How a step along a vector moves scores and flips decisions, and what people perceive of it.

f(x) is the probability of smiling, y(x) = 1(f(x) ≥ c) the decision. Codes are the units, one row
each: means have t intervals, shares Wilson's, and differences of shares Tango's.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from scipy.stats import norm

from faceaudit.effects.paired_proportions import paired_interval
from faceaudit.effects.resampling import as_resamples, draw_weights
from faceaudit.effects.risks import wilson_interval
from faceaudit.utils.arguments import as_probabilities, check_range, require_same_shape

CONFIDENCE = 0.95
"""Level of every interval of this package."""
INTERVAL = ["estimate", "low", "high"]

Interval = tuple[float, float, float]


# --- scores and decisions


def score_sensitivity(
    scores_before: ArrayLike, scores_after: ArrayLike, near: tuple[float, float]
) -> pd.DataFrame:
    """How much the score moves along a vector (sensitivity, section 4.3).

    Index measure:

    - "score sensitivity": mean of after - before (eq 3);
    - "near the boundary": the same over the rows with near[0] < before < near[1] (section 5);
    - "stability": mean of |after - before| (footnote 1).

    Args:
        scores_before: P(smiling) of G(z), (n,).
        scores_after: that of G(z + d), (n,), rows as in `scores_before`.
        near: what counts as near the boundary, both ends excluded.

    Returns:
        Columns n (codes), estimate, low, high: 95% t interval over codes, NaN with fewer than two.

    Raises:
        InputError: scores that are no probabilities, or shapes that differ.
    """
    before, after = _pair(scores_before, scores_after)
    change = after - before
    close = near_boundary(before, near)
    parts = {
        "score sensitivity": change,
        "near the boundary": change[close],
        "stability": np.abs(change),
    }
    rows = {measure: (len(values), *mean_interval(values)) for measure, values in parts.items()}
    return as_table(rows, "measure")


def flips(scores_before: ArrayLike, scores_after: ArrayLike, threshold: float) -> pd.DataFrame:
    """How often the decision y = 1(score ≥ threshold) flips along a vector (sensitivity, eq 5).

    The two versions of the paper define flip rates differently. Index flip:

    - joint_01, joint_10: share of all rows that flip from 0 to 1, from 1 to 0 (sensitivity
      workshop, eqs 7-8, the first factor read as an indicator);
    - conditional_01, conditional_10: share of the rows with y = 0 (1) before that flip. The later
      paper restricts Z so and keeps the sign: its S0→1 is +conditional_01 and its S1→0 is
      -conditional_10 (sensitivity, section 4.5). conditional_ab = joint_ab / P(y = a before);
    - net: joint_01 - joint_10, the mean of y after - y before (eq 6).

    Args:
        scores_before: P(smiling) of G(z), (n,).
        scores_after: that of G(z + d), (n,), rows as in `scores_before`.
        threshold: c in eq 5, in [0, 1].

    Returns:
        Columns n (rows in the denominator), events, estimate (events / n; for net, the events are
        flips up less flips down), low, high: 95% intervals by Wilson, for net by Tango. NaN where
        n is 0.

    Raises:
        InputError: as `score_sensitivity`, or a threshold outside of [0, 1].
    """
    before, after = _pair(scores_before, scores_after)
    before = decisions(before, threshold)
    after = decisions(after, threshold)
    up = ~before & after
    down = before & ~after
    shares = {
        "joint_01": up,
        "joint_10": down,
        "conditional_01": up[~before],
        "conditional_10": down[before],
    }
    differences = up.astype(float) - down
    net = (len(differences), int(differences.sum()), *net_interval(differences))
    net_table = as_table({"net": net}, "flip", ["n", "events"])
    return pd.concat([share_table(shares, "flip"), net_table])


def curve(
    scores: np.ndarray, lambdas: np.ndarray, near: tuple[float, float], threshold: float
) -> pd.DataFrame:
    """All measures of every step λ d against λ = 0 (sensitivity, section 5, Figs 5 and 6).

    Args:
        scores: P(smiling) of G(z + λ d), (n, L).
        lambdas: steps λ, (L,), distinct, one of them 0.
        near: what counts as near the boundary, by the score at λ = 0, both ends excluded.
        threshold: of the decision.

    Returns:
        Long: a row per λ (ascending) and measure, with the columns λ, measure, n, estimate, low,
        high. Measures and n are those of `score_sensitivity` and `flips`; "net near the boundary"
        is the net of the rows near it (Fig 5, bottom right). At λ = 0 nothing moves: the interval
        is the estimate.
    """
    before = scores[:, np.flatnonzero(lambdas == 0)[0]]
    close, smiles = near_boundary(before, near), decisions(scores, threshold).astype(np.float64)
    parts = []
    for column in np.argsort(lambdas):
        moved = score_sensitivity(before, scores[:, column], near)
        flipped = flips(before, scores[:, column], threshold).drop(columns="events")
        table = pd.concat([moved, flipped]).rename_axis("measure")
        net = smiles[close, column] - decisions(before[close], threshold)
        table.loc["net near the boundary"] = (len(net), *net_interval(net))
        table.insert(0, "λ", lambdas[column])
        parts.append(table.reset_index())
    curves = pd.concat(parts, ignore_index=True).astype({"n": np.int64})
    ends, still = ["low", "high"], curves["λ"] == 0
    curves[ends] = curves[ends].mask(still, curves["estimate"], axis=0)
    return curves[["λ", "measure", "n", *INTERVAL]]


def decisions(scores: np.ndarray, threshold: float) -> np.ndarray:
    """y = 1(score ≥ threshold) as bool (sensitivity, eq 5)."""
    return scores >= check_range("threshold", threshold, 0, 1)


def near_boundary(scores: np.ndarray, near: tuple[float, float]) -> np.ndarray:
    """Rows with near[0] < score < near[1], bool."""
    return (scores > near[0]) & (scores < near[1])


def _pair(scores_before: ArrayLike, scores_after: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 (n,); InputError unless they are probabilities of the same codes."""
    before = as_probabilities(scores_before, "scores_before")
    after = as_probabilities(scores_after, "scores_after")
    require_same_shape(after, "scores_after", before, "scores_before")
    return before, after


# --- what people perceive


def decompose_score_change(
    score_change: ArrayLike,
    perceived_change: ArrayLike,
    calibration_score_change: ArrayLike,
    calibration_perceived_change: ArrayLike,
    *,
    n_boot: int,
    seed: int,
) -> pd.DataFrame:
    """Split a change of the score into what perceived smiling explains, and a rest.

    The split is the book's own. A vector d_a that widens the smile should raise the score of
    smiling. How much it should is calibrated along the smiling vector itself, on the same codes:

        β = mean change of the score / mean change of the perceived smiling (calibration)
        explained = β · mean change of the perceived smiling along d_a
        rest = total - explained

    β takes the score to be proportional to the perceived smile, along any vector and at any step:
    a saturating score breaks this, so calibrate at a step with about the same perceived change.
    Raters' noise in perceived changes averages out of a ratio of means; it widens the interval and
    does not attenuate β, as it would a regression slope.

    Args:
        score_change: change of f along d_a, (n,), a row per code.
        perceived_change: change of perceived smiling along d_a, (n,).
        calibration_score_change: change of f along the smiling vector, (n,), rows as above.
        calibration_perceived_change: change of perceived smiling along the smiling vector, (n,).
        n_boot: resamples of codes; each gives all three rows.
        seed: of the resamples.

    Returns:
        Index part: total, explained, rest; columns estimate, low, high: 95% percentile interval.
        explained and rest are missing where the calibration's mean perceived change is not
        distinguishable from zero, so that β may be anything.
    """
    columns = [
        score_change,
        perceived_change,
        calibration_score_change,
        calibration_perceived_change,
    ]
    changes = np.stack(columns, axis=1).astype(np.float64)
    index = pd.Index(["total", "explained", "rest"], name="part")
    table = pd.DataFrame(np.nan, index, INTERVAL)
    _, lowest, highest = mean_interval(changes[:, 3])
    if lowest <= 0 <= highest:
        table.loc["total"] = mean_interval(changes[:, 0])
        return table
    weights = draw_weights(len(changes), as_resamples(n_boot), seed, "explained")
    draws = _parts(weights @ changes / weights.sum(axis=1)[:, None])
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    table[:] = np.stack([_parts(changes.mean(axis=0)), low, high], axis=1)
    return table


def _parts(means: np.ndarray) -> np.ndarray:
    """total, explained, rest (..., 3) of the four mean changes (..., 4)."""
    total, perceived, calibration_score, calibration_perceived = np.moveaxis(means, -1, 0)
    explained = calibration_score / calibration_perceived * perceived
    return np.stack([total, explained, total - explained], axis=-1)


# --- intervals over codes


def mean_changes(changes: pd.DataFrame) -> pd.DataFrame:
    """Mean of every column of changes (n, K), a row per code, with its 95% t interval: (K, 3)."""
    rows = {name: mean_interval(column.to_numpy()) for name, column in changes.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=INTERVAL)


def share_table(shares: Mapping[str, np.ndarray], index: str) -> pd.DataFrame:
    """A row per key of `shares`, which hold events (n,), bool, with Wilson's interval."""
    counts = {name: (len(events), events.sum()) for name, events in shares.items()}
    table = pd.DataFrame.from_dict(counts, orient="index", columns=["n", "events"])
    n = table["n"].where(table["n"] > 0)
    table["estimate"] = table["events"] / n
    low, high = wilson_interval(table["events"], n)
    table["low"] = low
    table["high"] = high
    return table.rename_axis(index)


def as_table(rows: Mapping[str, tuple], index: str, counts: Sequence = ("n",)) -> pd.DataFrame:
    """A row per key of `rows`, which hold the `counts` and then an interval."""
    columns = [*counts, *INTERVAL]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(index)


def mean_interval(values: np.ndarray) -> Interval:
    """Mean of the values (n,) with its t interval."""
    if len(values) == 0:
        return np.nan, np.nan, np.nan
    if len(values) == 1:
        return values.mean(), np.nan, np.nan
    mean = values.mean()
    se = values.std(ddof=1) / np.sqrt(len(values))
    half_width = stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2) * se
    return mean, mean - half_width, mean + half_width


def net_interval(differences: np.ndarray) -> Interval:
    """Mean of `differences` (n,) in {-1, 0, 1} with Tango's interval of paired proportions.

    Tango, Statistics in Medicine 17 (1998) 891-908, see `faceaudit.effects.paired_interval`: it has
    a width even where nothing flips, and covers well where few do.
    """
    n = len(differences)
    if n == 0:
        return np.nan, np.nan, np.nan
    up = (differences > 0).sum()
    down = (differences < 0).sum()
    low, high = paired_interval(up, down, n, norm.ppf((1 + CONFIDENCE) / 2))
    return (up - down) / n, low, high
