"""Effects in several cells, each drawn towards their mean as far as the cells seem to agree.

Cell by cell, an estimate uses its own pairs alone. If effects differ little between cells, all of
them say something about each. Two levels say so: estimates y ~ N(θ, V) scatter around the effects
θ of their cells, and these around a mean, θ ~ N(μ, τ²). How far cells differ, τ, is itself
estimated, by the restricted likelihood (REML; Harville, Journal of the American Statistical
Association 72 (1977) 320-338). Four cells tell τ badly, and a plugged-in zero would make every
interval too narrow. So all values of τ are averaged over, each with its restricted likelihood as
weight: the posterior under flat priors on μ and on τ (Gelman et al., Bayesian Data Analysis,
section 5.4), whose mode is the REML estimate. statsmodels' `combine_effects` has neither, nor the
covariances V of cells that share their transects.

What it cannot do: a cell that truly differs from all others is drawn towards them too, so intervals
hold the truth of 95 % of cells like these, not of every single one. Effects are taken as normal,
which few and rare errors are not.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

LEAST_CELLS = 3
"""With two, a flat prior on τ has no posterior: its weights would not sum to anything finite."""
GRID = np.arange(0.5, 200) / 200
"""Values of τ / (τ + typical standard error), evenly spread between 0 and 1."""


class Pooled(NamedTuple):
    """Posterior of the effects.

    Attributes:
        estimate: (..., K), posterior means.
        se: (..., K), posterior standard deviations.
        between: (...), posterior median of τ, the standard deviation between cells.
    """

    estimate: np.ndarray
    se: np.ndarray
    between: np.ndarray


def partial_pooling(estimate: ArrayLike, covariance: ArrayLike) -> Pooled:
    """Effects of all cells, pooled as far as they agree.

    Args:
        estimate: (..., K), effects as estimated cell by cell, of the same attribute.
        covariance: (..., K, K), of these estimates, positive definite, see `cell_covariance`.

    Returns:
        Means, standard deviations and the spread between cells, in the units of the estimates.

    Raises:
        ValueError: fewer than three cells, shapes that do not fit, or a number that is not finite.

    Example:
        Coaching in eight schools (Bayesian Data Analysis, table 5.2): school A gains 28 points by
        itself, and less than half of that in the company of the others.

        >>> effect = np.array([28, 8, -3, 7, -1, 1, 18, 12])
        >>> se = np.array([15, 10, 16, 11, 9, 11, 10, 18])
        >>> partial_pooling(effect, np.diag(se**2)).estimate[0].round(1).item()
        11.4
    """
    estimate, covariance = np.asarray(estimate, float), np.asarray(covariance, float)
    cells = estimate.shape[-1]
    if cells < LEAST_CELLS:
        raise ValueError(f"the spread between {cells} cells is unknown: {LEAST_CELLS} are needed")
    if covariance.shape != (*estimate.shape, cells):
        raise ValueError(f"covariances {covariance.shape} of estimates {estimate.shape}")
    if not (np.isfinite(estimate).all() and np.isfinite(covariance).all()):
        raise ValueError("an estimate or a covariance is not finite: leave that cell out")
    return _pooled(estimate, covariance)


def _pooled(estimate: np.ndarray, covariance: np.ndarray) -> Pooled:
    """`partial_pooling` of finite numbers.

    In the principal axes of V all conditional posteriors are sums over cells. Given τ, these axes
    carry y, a one for μ, and the shares `kept` of the noise that stay in the estimates.
    """
    noise, axes = np.linalg.eigh(covariance)
    scale = np.sqrt(noise.mean(axis=-1, keepdims=True))
    tau = scale * GRID / (1 - GRID)
    precision = 1 / (noise[..., None, :] + tau[..., None] ** 2)  # (..., T, K)
    kept = noise[..., None, :] * precision
    y = np.einsum("...ij,...i->...j", axes, estimate)[..., None, :]
    one = axes.sum(axis=-2)[..., None, :]
    variance_of_mean = 1 / (precision * one**2).sum(axis=-1)
    mean = variance_of_mean * (precision * one * y).sum(axis=-1)
    rest = y - mean[..., None] * one

    likelihood = np.log(precision).sum(axis=-1) + np.log(variance_of_mean)
    likelihood = (likelihood - (precision * rest**2).sum(axis=-1)) / 2
    weight = np.exp(likelihood - likelihood.max(axis=-1, keepdims=True)) / (1 - GRID) ** 2
    weight /= weight.sum(axis=-1, keepdims=True)

    drawn = estimate[..., None, :] - np.einsum("...ij,...tj->...ti", axes, kept * rest)
    own = np.einsum("...ij,...tj->...ti", axes**2, noise[..., None, :] * (1 - kept))
    of_mean = np.einsum("...ij,...tj->...ti", axes, kept * one) ** 2
    variance = own + variance_of_mean[..., None] * of_mean
    centre = np.einsum("...t,...ti->...i", weight, drawn)
    spread = variance + (drawn - centre[..., None, :]) ** 2
    middle = (weight.cumsum(axis=-1) < 0.5).sum(axis=-1, keepdims=True)
    between = np.take_along_axis(tau, middle, axis=-1)[..., 0]
    return Pooled(centre, np.sqrt(np.einsum("...t,...ti->...i", weight, spread)), between)


def cell_covariance(differences: ArrayLike, se: ArrayLike) -> np.ndarray:
    """Covariances of the mean differences of cells that share their transects.

    They are those of the transects' contributions, but no variance is below that of the given
    standard error: the sample's is zero where by chance no pair of a cell differs, while half the
    width of a score interval over its quantile never is.

    Args:
        differences: (..., n, K), of every transect in every cell, NaN where it has no pair.
        se: (..., K), standard errors of the means over transects, above zero.

    Returns:
        (..., K, K), positive definite if the standard errors are above those of the sample.

    Example:
        >>> differences = np.array([[1, 1, 0], [0, 0, 0], [-1, -1, 0]])
        >>> cell_covariance(differences, [0.5, 0.5, 0.5]).round(2).tolist()
        [[0.25, 0.22, 0.0], [0.22, 0.25, 0.0], [0.0, 0.0, 0.25]]
    """
    differences, se = np.asarray(differences, float), np.asarray(se, float)
    seen = np.isfinite(differences)
    pairs = np.maximum(seen.sum(axis=-2, keepdims=True), 1)
    mean = np.where(seen, differences, 0.0).sum(axis=-2, keepdims=True) / pairs
    moved = np.where(seen, differences - mean, 0.0) / pairs
    covariance = np.swapaxes(moved, -1, -2) @ moved
    own = np.eye(se.shape[-1], dtype=bool)
    covariance[..., own] = np.maximum(covariance[..., own], se**2)
    return covariance
