"""From intervals to verdicts: several tests, a stated tolerance, and minimum detectable effects.

An interval that holds zero is no evidence of no effect. A verdict compares the effect with a stated
tolerance: the effect exceeds it, it is within it, or the interval is too wide to say.

Readers of a curve over doses or thresholds, or of a table of contrasts, look for the largest entry.
The intervals of `max_t_intervals` hold for all entries of such a family together.
`partial_pooling` draws the effects of several cells towards their mean, the more the less the cells
differ; it gives estimates, and no interval of a single cell. E-values and Γ say how strong an
attribute that is not annotated would have to be to change the conclusion.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import bdtrc, ndtri, stdtr, stdtrit

from faceaudit.effects.resampling import as_resamples, resampled_sums
from faceaudit.utils.arguments import as_finite, check_range, require_columns

Z = ndtri(0.975)
"""Standard errors on either side of an estimate in a 95% interval."""

# The verdicts.
EXCEEDS = "exceeds"
WITHIN = "within"
INCONCLUSIVE = "inconclusive"
NOT_ESTIMABLE = "not estimable"  # There is no interval.


def holm(p: ArrayLike, weights: ArrayLike = 1.0) -> np.ndarray:
    """Holm's adjusted p-values (Scandinavian Journal of Statistics 6 (1979) 65-70).

    Args:
        p: (n,) p-values; NaN (not estimable) stays and is not counted.
        weights: (n,) positive shares of the level, of any sum; by default all alike.

    Returns:
        (n,) float64.

    Example:
        >>> from faceaudit import effects
        >>> effects.holm([0.01, 0.04, float("nan")]).tolist()
        [0.02, 0.04, nan]
    """
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    # Not statsmodels' multipletests: it runs the garbage collector, which costs 50 ms a call.
    weights = np.broadcast_to(np.asarray(weights, dtype=np.float64), p.shape)
    order = np.argsort(p / weights)[: np.count_nonzero(~np.isnan(p))]
    shares = weights[order]
    steps = p[order] * (np.cumsum(shares[::-1])[::-1] / shares)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def verdict(
    low: ArrayLike, high: ArrayLike, low90: ArrayLike, high90: ArrayLike, tolerance: float
) -> np.ndarray | str:
    """Compare effects with ±`tolerance`, by their 95% and 90% intervals.

    - "exceeds": the 95% interval (low, high) lies wholly beyond one end of the tolerance;
    - "within": the 90% interval lies wholly inside, which is the two one-sided tests of
      equivalence at 5% (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680);
    - "inconclusive": neither;  "not estimable": the interval is NaN.

    Args:
        low, high: ends of the 95% intervals.
        low90, high90: ends of the 90% intervals, of the same shape.
        tolerance: largest effect that does not matter, in the units of the effects.

    Returns:
        Strings of the intervals' shape, one string for one interval.

    Raises:
        ValueError: a tolerance that is not above zero.

    Example:
        >>> from faceaudit import effects
        >>> effects.verdict([0.06, -0.02], [0.09, 0.03], [0.07, -0.01], [0.08, 0.02], 0.05).tolist()
        ['exceeds', 'within']
    """
    check_range("tolerance", tolerance, 0, np.inf, "()")
    low, high, low90, high90 = (np.asarray(limit, float) for limit in (low, high, low90, high90))
    states = {
        NOT_ESTIMABLE: np.isnan(low) | np.isnan(high),
        EXCEEDS: (low > tolerance) | (high < -tolerance),
        WITHIN: (low90 > -tolerance) & (high90 < tolerance),
    }
    return np.select(list(states.values()), list(states), INCONCLUSIVE)[()]


def mde(
    se: ArrayLike, alpha: float = 0.05, power: float = 0.8, df: ArrayLike = np.inf
) -> np.ndarray:
    """Minimum detectable effect at a standard error: the sum of two quantiles, times the error.

    The effect that a two-sided test of no effect at level `alpha` finds with the given power: the
    quantiles at 1 - alpha / 2 and at the power, added. They are Student's with `df` degrees of
    freedom, by default the normal's. It exceeds half the width of the 1 - alpha interval; where it
    exceeds the largest effect that there can be (1, of a risk), none is sure to be found.

    Args:
        se: standard errors, in the units of the effects.
        alpha: level of the test.
        power: chance to find the effect.
        df: degrees of freedom, of the shape of `se`.

    Returns:
        float64 of the shape of `se`.

    Example:
        >>> from faceaudit import effects
        >>> round(float(effects.mde(0.01)), 3)
        0.028
    """
    return (stdtrit(df, 1 - alpha / 2) + stdtrit(df, power)) * np.asarray(se, dtype=np.float64)


def max_t_intervals(
    values: pd.DataFrame, unit: ArrayLike = 0.0, *, n_boot: int, seed: int, stage: str = "max-t"
) -> pd.DataFrame:
    """Simultaneous 95% intervals of the means of several columns, a row per transect.

    All intervals have the same number of standard errors on either side: the 95% quantile, over
    resamples of transects, of the largest studentised deviation among the columns (Romano & Wolf,
    Econometrica 73 (2005) 1237-1282, section 4; Beran, Journal of the American Statistical
    Association 83 (1988) 679-686). Correlated columns therefore cost less than by Bonferroni.

    Errors are rare, and a column may hold nothing but zeros, whose standard error would be zero. So
    two transects are added to every column, one at `unit` and one at `-unit`. In a difference of
    two paired proportions, whose unit is 1, this is the interval of Bonett & Price (Journal of
    Educational and Behavioral Statistics 37 (2012) 479-488). The estimate is the plain mean.

    Args:
        values: (n, m), a row per transect, a column per quantity.
        unit: (m,) or one for all, the change of a value when one more image is misread; 0 where
            values are no errors, such as differences of scores.
        n_boot: resamples of the transects.
        seed: of the run.
        stage: what is resampled; families of one stage and one number of transects share resamples.

    Returns:
        A row per column of `values`: estimate, se, low, high. `attrs["critical"]` is the number of
        standard errors on either side.

    Raises:
        ValueError: a value that is missing, fewer than two transects or two resamples.

    Example:
        >>> from faceaudit.effects import max_t_intervals
        >>> values = pd.DataFrame({"skin": [0, 1, 0, -1] * 25, "hair": [0, 1, 1, 0] * 25})
        >>> table = max_t_intervals(values, unit=1, n_boot=200, seed=1)
        >>> table["estimate"].tolist(), bool(1.96 < table.attrs["critical"] < 3)
        ([0.0, 0.5], True)
    """
    value = as_finite(values.to_numpy(), "values", 2)
    resamples = as_resamples(n_boot, 2)
    n, m = value.shape
    unit = np.broadcast_to(np.asarray(unit, dtype=np.float64), m)
    sums = resampled_sums(np.hstack([value, value**2]), resamples, seed, stage)
    mean, se = _regularised(sums[:, :m], sums[:, m:], n, unit)
    centre, error = _regularised(value.sum(axis=0), (value**2).sum(axis=0), n, unit)
    # A column that never varies has a standard error of zero, and does not deviate either.
    deviation = np.divide(np.abs(mean - centre), se, out=np.zeros_like(mean), where=se > 0)
    critical = np.quantile(deviation.max(axis=1), 0.95)
    critical = float(max(critical, stdtrit(n - 1, 0.975)))  # at least that of a single column
    columns = {
        "estimate": value.mean(axis=0),
        "se": error,
        "low": centre - critical * error,
        "high": centre + critical * error,
    }
    intervals = pd.DataFrame(columns, index=values.columns)
    intervals.attrs["critical"] = critical
    return intervals


def _regularised(
    total: np.ndarray, squares: np.ndarray, n: int, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard errors (..., m) of n transects and two added ones, at ±unit.

    `total` and `squares` (..., m) are the sums over the n transects of values and their squares.
    """
    size = n + 2 * (unit > 0)
    mean = total / size
    variance = (squares + 2 * unit**2) / size - mean**2
    # Without added transects: the sample's variance, with n - 1.
    variance *= np.where(unit > 0, 1.0, n / max(n - 1, 1))
    return mean, np.sqrt(variance.clip(0) / size)


TAU_GRID = np.arange(0.5, 200) / 200
"""Values of τ / (τ + typical standard error), evenly spread between 0 and 1."""


def partial_pooling(estimate: ArrayLike, covariance: ArrayLike) -> tuple:
    """Effects of all cells, each drawn towards their mean, the more the less the cells differ.

    Two levels: estimates y ~ N(θ, V) scatter around the effects θ of their cells, and these around
    a mean, θ ~ N(μ, τ²). How far cells differ, τ, is itself estimated, by the restricted likelihood
    (REML; Harville, Journal of the American Statistical Association 72 (1977) 320-338). Few cells
    tell τ badly, and a plugged-in zero would make every interval too narrow. So all values of τ are
    averaged over, each with its restricted likelihood as weight: the posterior under flat priors on
    μ and on τ (Gelman et al., Bayesian Data Analysis, section 5.4), whose mode is the REML
    estimate. With two cells it does not exist. statsmodels' `combine_effects` has neither, nor the
    covariances V of cells that share their transects.

    A cell that truly differs from all others is drawn towards them too. So the standard deviations
    are about cells like these, on average, and give no interval of a single cell: 1.96 of them on
    either side hold the effect of a cell that differs from three others by two standard errors in
    87 to 88% of simulated audits, and that of an outer one of four cells that are spread evenly in
    88 to 90% (`benchmarks/pooled_cells.py`). Give the cell's own interval beside the estimate.
    Effects are taken as normal, which few and rare errors are not.

    Args:
        estimate: (..., K), effects as estimated cell by cell, of the same attribute.
        covariance: (..., K, K), of these estimates, positive definite, see `cell_covariance`.

    Returns:
        Posterior means (..., K), standard deviations (..., K), and posterior median (...) of τ, the
        standard deviation between cells, in the units of the estimates.

    Example:
        Coaching in eight schools (Bayesian Data Analysis, table 5.2): school A gains 28 points by
        itself, and less than half of that in the company of the others.

        >>> effect = np.array([28, 8, -3, 7, -1, 1, 18, 12])
        >>> se = np.array([15, 10, 16, 11, 9, 11, 10, 18])
        >>> partial_pooling(effect, np.diag(se**2))[0][0].round(1).item()
        11.4
    """
    estimate = np.asarray(estimate, float)
    covariance = np.asarray(covariance, float)
    # In the principal axes of V all conditional posteriors are sums over cells. `y` are the
    # estimates and `ones` the vector of ones along these axes. Given τ, an estimate is drawn
    # towards the mean by the share `shrinkage` of their distance.
    noise, axes = np.linalg.eigh(covariance)
    scale = np.sqrt(noise.mean(axis=-1, keepdims=True))
    tau = scale * TAU_GRID / (1 - TAU_GRID)
    precision = 1 / (noise[..., None, :] + tau[..., None] ** 2)  # (..., T, K)
    shrinkage = noise[..., None, :] * precision
    y = np.einsum("...ij,...i->...j", axes, estimate)[..., None, :]
    ones = axes.sum(axis=-2)[..., None, :]
    variance_of_mean = 1 / (precision * ones**2).sum(axis=-1)
    mean = variance_of_mean * (precision * ones * y).sum(axis=-1)
    residual = y - mean[..., None] * ones

    likelihood = np.log(precision).sum(axis=-1) + np.log(variance_of_mean)
    likelihood = (likelihood - (precision * residual**2).sum(axis=-1)) / 2
    weight = np.exp(likelihood - likelihood.max(axis=-1, keepdims=True)) / (1 - TAU_GRID) ** 2
    weight /= weight.sum(axis=-1, keepdims=True)

    shrunken = estimate[..., None, :] - np.einsum("...ij,...tj->...ti", axes, shrinkage * residual)
    variance_given_mean = np.einsum(
        "...ij,...tj->...ti", axes**2, noise[..., None, :] * (1 - shrinkage)
    )
    of_mean = np.einsum("...ij,...tj->...ti", axes, shrinkage * ones) ** 2
    variance = variance_given_mean + variance_of_mean[..., None] * of_mean
    centre = np.einsum("...t,...ti->...i", weight, shrunken)
    spread = variance + (shrunken - centre[..., None, :]) ** 2
    middle = (weight.cumsum(axis=-1) < 0.5).sum(axis=-1, keepdims=True)
    between = np.take_along_axis(tau, middle, axis=-1)[..., 0]
    return centre, np.sqrt(np.einsum("...t,...ti->...i", weight, spread)), between


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
    differences = np.asarray(differences, float)
    se = np.asarray(se, float)
    present = np.isfinite(differences)
    pairs = np.maximum(present.sum(axis=-2, keepdims=True), 1)
    mean = np.where(present, differences, 0.0).sum(axis=-2, keepdims=True) / pairs
    contribution = np.where(present, differences - mean, 0.0) / pairs
    covariance = np.swapaxes(contribution, -1, -2) @ contribution
    diagonal = np.eye(se.shape[-1], dtype=bool)
    covariance[..., diagonal] = np.maximum(covariance[..., diagonal], se**2)
    return covariance


# --- sensitivity to attributes that are not annotated


def e_value(rr: ArrayLike) -> np.ndarray | float:
    """E-value of a risk ratio: rr + √(rr (rr − 1)), ratios below one inverted first.

    The least risk ratio by which an unmeasured confounder must be associated with both attribute
    and error to move the estimate to 1. VanderWeele & Ding, Annals of Internal Medicine 167 (2017)
    268-274.

    Args:
        rr: risk ratios (...), at least 0.

    Returns:
        E-values (...): infinite for a ratio of 0, NaN where a ratio is.

    Example:
        >>> from faceaudit import effects
        >>> effects.e_value([1.0, 2.0, 0.5]).round(2).tolist()
        [1.0, 3.41, 3.41]
    """
    rr = np.asarray(rr, dtype=np.float64)
    with np.errstate(divide="ignore"):
        ratio = np.maximum(rr, 1 / rr)
    return (ratio + np.sqrt(ratio * (ratio - 1)))[()]


def e_values(effects: pd.DataFrame, base_rate: ArrayLike) -> pd.DataFrame:
    """E-values of risk differences: how much confounding would explain them away.

    Args:
        effects: columns estimate, low and high, risk differences as fractions.
        base_rate: error rate without the attribute, of every row or one for all; taken as known.

    Returns:
        Index of `effects`; rr, rr_low, rr_high, e_value and e_value_limit, missing without an
        estimate or an error at the base.

    Raises:
        ValueError: a missing column.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import effects
        >>> table = pd.DataFrame({"estimate": [0.05], "low": [0.02], "high": [0.08]})
        >>> effects.e_values(table, 0.05)["e_value"].round(2).tolist()
        [3.41]
    """
    require_columns(effects, ["estimate", "low", "high"])
    base = pd.Series(np.broadcast_to(base_rate, len(effects)), effects.index, dtype=float)
    base = base.where(base > 0)
    # An interval may reach below a rate of zero; no risk ratio does.
    columns = {"rr": "estimate", "rr_low": "low", "rr_high": "high"}
    table = pd.DataFrame({name: (base + effects[c]) / base for name, c in columns.items()})
    table = table.clip(lower=0)
    # Of the limit that is nearest to no effect; 1 where the interval holds it.
    unknown = table["rr_low"].isna() | table["rr_high"].isna()
    nearest = np.clip(1.0, table["rr_low"], table["rr_high"])
    return table.assign(
        e_value=e_value(table["rr"]), e_value_limit=e_value(np.where(unknown, np.nan, nearest))
    )


def rosenbaum_gamma(b: ArrayLike, c: ArrayLike, alpha: float = 0.05) -> np.ndarray | float:
    """Largest Γ at which McNemar's mid-p test of b against c discordant pairs still rejects.

    Were the two images of a pair to differ in something hidden, the error of a discordant pair
    could fall on the image with the attribute with a chance of up to Γ/(1 + Γ) instead of 1/2
    (Rosenbaum, Observational Studies, 2nd ed. (2002), section 4.3.2). This bounds both binomial
    tails, with and without the split that occurred, and so their sum: the two-sided mid-p. At
    Γ = 1 that is `mcnemar`, so that Γ exists where its p is below `alpha`. Pairs must be
    independent, one per transect.

    Args:
        b, c: pairs (...) in which only the one or only the other image has an error.
        alpha: level of the two-sided test.

    Returns:
        Γ (...); NaN where the test does not reject even at Γ = 1.

    Raises:
        ValueError: counts that are not whole numbers of at least 0, a level outside (0, 1).

    Example:
        >>> from faceaudit import effects
        >>> effects.rosenbaum_gamma([30, 10], [5, 10]).round(2).tolist()
        [2.46, nan]
    """
    b = np.asarray(b, dtype=np.float64)
    c = np.asarray(c, dtype=np.float64)
    if not all(((count >= 0) & (count == np.floor(count))).all() for count in (b, c)):
        raise ValueError(f"b is {b}, c is {c}: whole numbers of at least 0 were expected")
    check_range("alpha", alpha, 0, 1, "()")
    n = (b + c).astype(np.int64)
    commoner = np.maximum(b, c)

    def excess(chance: np.ndarray, commoner: np.ndarray, n: np.ndarray) -> np.ndarray:
        return bdtrc(commoner - 1, n, chance) + bdtrc(commoner, n, chance) - alpha

    from scipy.optimize.elementwise import find_root  # a tenth of a second to import

    root = find_root(excess, (0.5, 1.0), args=(commoner, n))
    return np.where(root.success, root.x / (1 - root.x), np.nan)[()]


def beyond_by_interval(
    table: pd.DataFrame, tolerance: ArrayLike, df: ArrayLike, level: float = 0.05
) -> np.ndarray:
    """Two-sided p of the hypothesis that an effect is no larger than the tolerance.

    The standard error follows from the part of the interval between the estimate and the end that
    is nearer to zero. p is below the level exactly where the interval lies beyond the tolerance.

    Args:
        table: columns estimate, low and high.
        tolerance: largest effect that does not matter, of each row or one for all.
        df: degrees of freedom of the interval's Student quantile.
        level: one minus that of the interval.

    Returns:
        p (n,): 1 where the estimate itself is within the tolerance, NaN without an interval.
    """
    estimate, low, high = (table[column].to_numpy(float) for column in ("estimate", "low", "high"))
    side = np.where(estimate > 0, estimate - low, high - estimate)
    distance = np.abs(estimate) - tolerance
    scaled = distance * stdtrit(df, 1 - level / 2)
    # A side of no width is an estimate at the end of what there can be.
    ratio = np.divide(scaled, side, out=np.full(len(side), np.inf), where=side > 0)
    p = np.where(distance > 0, 2 * stdtr(df, -ratio), 1.0)
    return np.where(np.isnan(low) | np.isnan(high), np.nan, p)


def settled(table: pd.DataFrame, level: float, weights: ArrayLike = 1.0) -> pd.DataFrame:
    """Add Holm's adjustment of p_beyond, and derive the verdicts from it.

    Args:
        table: columns p_beyond (see `beyond_by_interval`) and verdict.
        level: of the tests together.
        weights: the comparisons' shares of the level, as of `faceaudit.effects.holm`.

    Returns:
        The table with p_beyond_holm and new verdicts. A row that was "within" before stays so
        unless its adjusted p is below the level.
    """
    adjusted = holm(table["p_beyond"], weights)
    states = [np.isnan(adjusted), adjusted < level, table["verdict"] == WITHIN]
    verdicts = np.select(states, [NOT_ESTIMABLE, EXCEEDS, WITHIN], INCONCLUSIVE)
    return table.assign(p_beyond_holm=adjusted, verdict=verdicts)
