"""How far annotators agree: spread per image, Krippendorff's alpha and the intraclass correlation.

All three follow from the counts of levels per image, so images with the same counts are
interchangeable. A bootstrap over images is then a multinomial draw over the distinct patterns of
counts, and every resample's statistic is a matrix product with per-pattern sufficient statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd

from helpers.annotations.counts import standard_deviation
from helpers.utils import seeding

Metric = Literal["nominal", "ordinal", "interval", "ratio"]

# (weights (B, n), counts (n, levels)) -> statistic (B,); a row of weights says how often each image
# is in the resample.
Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]


def krippendorff_alpha(counts: np.ndarray, metric: Metric = "ordinal") -> float:
    """Krippendorff's alpha: 1 - observed / expected disagreement; 0 is agreement by chance.

    Args:
        counts: (n images, levels); images with fewer than two answers do not count.
        metric: distance between levels. "ratio" takes levels as 1, 2, 3, ...

    Returns:
        alpha, nan where all answers are equal.

    Source:
        Krippendorff, Computing Krippendorff's alpha-reliability (2011), section on any metric and
        missing data.
    """
    return float(_alpha(np.ones((1, len(counts))), counts, metric)[0])


def icc(counts: np.ndarray) -> float:
    """ICC(1,k): reliability of an image's mean answer, one-way random effects.

    1 - MSW / MSB from the analysis of variance of answers by image (Shrout and Fleiss 1979, case
    1). With unequal numbers of answers it is that of a typical number of them.

    Args:
        counts: (n images, levels); images without answers do not count.
    """
    return float(_icc(np.ones((1, len(counts))), counts)[0])


def mean_deviation(counts: np.ndarray, ddof: int = 1) -> float:
    """Mean over images of the standard deviation of an image's answers, in units of the range."""
    return float(np.nanmean(standard_deviation(counts, ddof)))


def agreement_table(
    counts: dict[str, np.ndarray],
    *,
    metric: Metric = "ordinal",
    ddof: int = 1,
    n_boot: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Agreement of every attribute with 95 % percentile intervals from a bootstrap over images.

    Args:
        counts: attribute -> (n images, levels), from `counts.count_tensor`.
        metric: of alpha.
        ddof: of the per-image standard deviation.
        n_boot: resamples.
        seed: of the resamples, drawn for each attribute by its own key.

    Returns:
        Index attribute; columns `images`, `raters` (mean number of answers per image), and of each
        of `sd`, `alpha`, `icc` the value, `<name>_low` and `<name>_high`.
    """
    statistics: dict[str, Statistic] = {
        "sd": lambda weights, c: _mean_deviation(weights, c, ddof),
        "alpha": lambda weights, c: _alpha(weights, c, metric),
        "icc": _icc,
    }
    rows = {}
    for attribute, count in counts.items():
        count = count[count.sum(axis=1) > 0]
        rng = seeding.rng(seed, f"agreement/{attribute}")
        row: dict[str, float] = {"images": len(count), "raters": count.sum() / len(count)}
        patterns, frequency = np.unique(count, axis=0, return_counts=True)
        resamples = rng.multinomial(len(count), frequency / len(count), size=n_boot)
        weights = np.vstack([frequency, resamples]).astype(float)
        for name, statistic in statistics.items():
            value, *resampled = statistic(weights, patterns)
            low, high = np.nanquantile(resampled, [0.025, 0.975])
            row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        rows[attribute] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("attribute")


def squared_distance(marginal: np.ndarray, metric: Metric) -> np.ndarray:
    """Krippendorff's squared distances between levels.

    Args:
        marginal: (B, levels), how often each level occurs; only the ordinal metric depends on it.
        metric: "ratio" takes levels as 1, 2, 3, ...

    Returns:
        (B or 1, levels, levels)

    Raises:
        ValueError: the metric is unknown.
    """
    level = np.arange(marginal.shape[1])
    if metric == "nominal":
        return (level[:, None] != level)[None].astype(float)
    if metric == "interval":
        return ((level[:, None] - level) ** 2)[None].astype(float)
    if metric == "ratio":
        value = level + 1.0
        return (((value[:, None] - value) / (value[:, None] + value)) ** 2)[None]
    if metric == "ordinal":
        # Mid-ranks: the answers between two levels, plus half of those at either.
        rank = marginal.cumsum(axis=1) - marginal / 2
        return (rank[:, :, None] - rank[:, None, :]) ** 2
    raise ValueError(f"unknown metric {metric!r}, expected nominal, ordinal, interval or ratio")


def _mean_deviation(weights: np.ndarray, counts: np.ndarray, ddof: int) -> np.ndarray:
    deviation = standard_deviation(counts, ddof)
    known = np.isfinite(deviation)
    return weights[:, known] @ deviation[known] / weights[:, known].sum(axis=1)


def _icc(weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    answered = counts.sum(axis=1) > 0
    weights, counts = weights[:, answered], counts[answered]
    levels = np.arange(counts.shape[1])
    answers, total = counts.sum(axis=1), counts @ levels
    images, n = weights.sum(axis=1), weights @ answers
    between_images = weights @ (total**2 / answers)
    between = (between_images - (weights @ total) ** 2 / n) / (images - 1)
    within = (weights @ (counts @ levels**2) - between_images) / (n - images)
    return 1 - _ratio(within, between)


def _alpha(weights: np.ndarray, counts: np.ndarray, metric: Metric) -> np.ndarray:
    pairable = counts.sum(axis=1) > 1
    weights, counts = weights[:, pairable], counts[pairable]
    levels = counts.shape[1]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(levels)
    pairs = pairs / (counts.sum(axis=1) - 1)[:, None, None]
    observed = (weights @ pairs.reshape(len(counts), -1)).reshape(-1, levels, levels)
    marginal = observed.sum(axis=2)
    distance = squared_distance(marginal, metric)
    expected = marginal[:, :, None] * marginal[:, None, :]
    disagreement = (observed * distance).sum(axis=(1, 2))
    by_chance = (expected * distance).sum(axis=(1, 2)) / (marginal.sum(axis=1) - 1)
    return 1 - _ratio(disagreement, by_chance)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    undefined = np.full(len(denominator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)
