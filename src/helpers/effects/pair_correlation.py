"""Errors of the pairs of a transect, as planned: correlated within pairs and between them.

An image errs where a normal variable falls below a threshold, and the images of one transect share
part of that variable. Given what they share, their errors are independent, so that the chance of
every possible transect is an integral over it.
"""

from functools import cache
from math import comb

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from helpers.utils.checks import check_inside, check_number, check_whole

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
MOST_SHARED = 0.995
"""Largest latent correlation: beyond it, the integrals over the transects would be inaccurate."""


def shared_pair_correlation(difference: float, base_rate: float, within: float = 0.05) -> float:
    """ρ_d that follows from `within` alone, when transects share one effect on a latent scale."""
    check_design(difference, base_rate, within, retention=1.0, pairs=1)
    weights, low, high = _risks(difference, base_rate, within, None)
    return _pair_correlation(weights, low, high)


def transect_types(
    difference: float,
    base_rate: float,
    within: float,
    retention: float,
    pairs: int,
    pair_correlation: float | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Possible transects: complete, worse and better pairs (T, 3), and their chances (T,)."""
    check_design(difference, base_rate, within, retention, pairs)
    if pair_correlation is not None:
        check_number("pair_correlation", pair_correlation)
    return _transect_types(difference, base_rate, within, retention, pairs, pair_correlation)


@cache
def _transect_types(
    difference: float,
    base_rate: float,
    within: float,
    retention: float,
    pairs: int,
    pair_correlation: float | None,
) -> tuple[np.ndarray, np.ndarray]:
    weights, low, high = _risks(difference, base_rate, within, pair_correlation)
    worse, better = high * (1 - low), low * (1 - high)
    types, chances = [], []
    for n in range(pairs + 1):
        for up, down in ((i, j) for i in range(n + 1) for j in range(n + 1 - i)):
            ways = comb(n, up) * comb(n - up, down)
            equal = (1 - worse - better) ** (n - up - down)
            types.append((n, up, down))
            chances.append(
                binom.pmf(n, pairs, retention**2)
                * ways
                * (weights @ (worse**up * better**down * equal))
            )
    return np.array(types), np.array(chances) / np.sum(chances)


def discordant_share(difference: float, base_rate: float, within: float) -> float:
    """ψ, the chance that the model errs on exactly one image of a pair."""
    p0, p1 = base_rate, base_rate + difference
    deviations = np.sqrt(p0 * (1 - p0) * p1 * (1 - p1))
    return p0 * (1 - p1) + p1 * (1 - p0) - 2 * within * deviations


def _risks(
    difference: float, base_rate: float, within: float, pair_correlation: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights and the two risks of transects (Q,), at the nodes of a quadrature.

    An image errs where a normal variable falls below a threshold. Those of one transect correlate
    by `across` when they differ in the attribute and by `same` when they do not.
    """
    p0, p1 = base_rate, base_rate + difference
    covariance = within * np.sqrt(p0 * (1 - p0) * p1 * (1 - p1))

    def excess(across: float) -> float:
        low, high = (_conditional(p, across, NODES) for p in (p0, p1))
        return WEIGHTS @ (low * high) - p0 * p1 - covariance

    if excess(MOST_SHARED) < 0:
        most = within * (excess(MOST_SHARED) + covariance) / covariance
        raise ValueError(
            f"within is {within}, but errors with the rates {p0:.3g} and {p1:.3g} correlate by "
            f"{most:.2f} at most"
        )
    across = brentq(excess, 0.0, MOST_SHARED) if within > 0 else 0.0
    if pair_correlation is None:
        return WEIGHTS, _conditional(p0, across, NODES), _conditional(p1, across, NODES)

    weights = np.outer(WEIGHTS, WEIGHTS).ravel()
    first, second = (axis.ravel() for axis in np.meshgrid(NODES, NODES, indexing="ij"))

    def risks(same: float) -> tuple[np.ndarray, np.ndarray]:
        shared = across / same if same else 0.0
        other = shared * first + np.sqrt(1 - shared**2) * second
        return _conditional(p0, same, first), _conditional(p1, same, other)

    def surplus(same: float) -> float:
        return _pair_correlation(weights, *risks(same)) - pair_correlation

    least, most = (surplus(same) + pair_correlation for same in (across, MOST_SHARED))
    if not least - 1e-9 <= pair_correlation <= most:
        raise ValueError(
            f"pair_correlation is {pair_correlation}; with these rates and within={within} it "
            f"lies between {least:.4f} and {most:.4f}"
        )
    same = brentq(surplus, across, MOST_SHARED) if pair_correlation > least else across
    return weights, *risks(same)


def _conditional(p: float, correlation: float, node: np.ndarray) -> np.ndarray:
    return ndtr((ndtri(p) - np.sqrt(correlation) * node) / np.sqrt(1 - correlation))


def _pair_correlation(weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Variance of the transects' expected differences, over that of single differences."""
    mean = weights @ (high - low)
    discordant = weights @ (high * (1 - low) + low * (1 - high))
    return float((weights @ (high - low) ** 2 - mean**2) / (discordant - mean**2))


def check_design(
    difference: float, base_rate: float, within: float, retention: float, pairs: int
) -> None:
    check_inside("base_rate", base_rate)
    if not 0 < base_rate + check_number("difference", difference) < 1:
        raise ValueError(
            f"difference is {difference}: base_rate + difference must lie between 0 and 1, "
            f"not at {base_rate + difference:.3g}"
        )
    if not 0 <= check_number("within", within) < 1:
        raise ValueError(f"within is {within}, a correlation in [0, 1) was expected")
    if not 0 < check_number("retention", retention) <= 1:
        raise ValueError(f"retention is {retention}, a share in (0, 1] was expected")
    check_whole("pairs", pairs, 1)
