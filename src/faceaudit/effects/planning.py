"""How many transects an audit needs: power, sample size, and what noisy answers do to both.

The test is that of `faceaudit.effects.matched_effects`: the mean difference of an error (0 or 1)
over the pairs of images that differ in one attribute. A transect of a 2 x 2 x 2 design gives up to
four such pairs, one per cell of the two other attributes; averaged over them, m' = 4 retention²
are expected, since a pair needs both of its images. Two correlations of a `Design` matter:

- `within`: of the errors of the two images of a pair. The more a transect's face decides whether
  the model errs, the more of that cancels in the difference.
- `pair_correlation` (ρ_d): of the differences of two pairs of one transect. It is nought only where
  nothing but chance distinguishes the transects' differences. An effect that varies from face to
  face raises it, and so does a face that is difficult: where all its images are near the threshold,
  all its differences are larger.

An image errs where a normal variable falls below a threshold, and the images of one transect share
part of that variable. Given the shared part, their errors are independent, so that the chance of
every possible transect is an integral over it. A transect of one pair needs no such variable: the
two rates and their correlation determine all chances.

`printed_power` and `printed_transects` are the closed formula (the book's own; paired proportions
as in Connett, Smith & McHugh, Statistics in Medicine 6 (1987) 163-169, averaged over correlated
pairs). It takes the test statistic as normal with variance one. Under a rare error with a large
effect, differences are mostly 0, sometimes 1 and hardly ever -1: the denominator of the statistic
then rises with its numerator, and the statistic varies less. It also counts m' pairs in every
transect, although m' is a mean. `power` and `transects_needed` correct for both. `noisy_design` and
`rogan_gladen` say how noisy labels change an effect, and how to correct a rate for them.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cache
from math import comb

import numpy as np
import scipy  # whose parts are imported at their first use
from scipy.special import ndtr, ndtri, stdtrit

from faceaudit.effects.paired_proportions import mcnemar
from faceaudit.utils.arguments import check_range, check_whole
from faceaudit.utils.errors import InputError

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
LARGEST_LATENT_CORRELATION = 0.995
"""Beyond it, the integrals over the transects would be inaccurate."""
MOST_TRANSECTS = 10**7
"""Where the search for the number of transects ends."""
PRINTED_LEVEL = 0.05
"""Level of the test in `printed_power`."""


@dataclass(frozen=True)
class Design:
    """What an audit is planned for: an effect, and how the errors of pairs correlate.

    Args:
        difference: risk at the higher level minus at the lower, as a fraction.
        base_rate: risk at the lower level.
        within: correlation of the errors of the two images of a pair, from 0 on.
        retention: chance that an image survives pruning, independently of the others.
        pairs: pairs per transect before pruning: 4 averages over a 2 x 2 x 2 design, 1 is a cell.
        pair_correlation: ρ_d, of the differences of two pairs of a transect. None is the least that
            is possible (`shared_pair_correlation`), and 0 for the plain formula; more means an
            effect that varies between transects.

    Raises:
        ValueError: a number outside its range.

    Example:
        >>> from faceaudit import effects
        >>> effects.Design(difference=0.02, base_rate=0.05).risks
        (0.05, 0.07)
    """

    difference: float
    base_rate: float
    within: float = 0.05
    retention: float = 1.0
    pairs: int = 4
    pair_correlation: float | None = None

    def __post_init__(self) -> None:
        check_range("base_rate", self.base_rate, 0, 1, "()")
        if not 0 < self.base_rate + self.difference < 1:
            raise InputError(
                f"difference is {self.difference}: base_rate + difference is no rate",
                field="difference",
                found=self.difference,
                expected="base_rate + difference between 0 and 1",
            )
        check_range("retention", self.retention, 0, 1, "(]")
        check_whole("pairs", self.pairs, 1)
        check_range("within", self.within, 0, 1, "[)")

    @property
    def risks(self) -> tuple[float, float]:
        """Risks at the lower and at the higher level."""
        return self.base_rate, self.base_rate + self.difference

    @property
    def covariance(self) -> float:
        """Covariance of the errors of the two images of a pair."""
        p0, p1 = self.risks
        return self.within * np.sqrt(p0 * (1 - p0) * p1 * (1 - p1))

    @property
    def discordant(self) -> float:
        """ψ, the chance that the model errs on exactly one image of a pair."""
        p0, p1 = self.risks
        return p0 * (1 - p1) + p1 * (1 - p0) - 2 * self.covariance

    @property
    def variance(self) -> float:
        """Variance ψ − Δ² of the difference of a pair."""
        return self.discordant - self.difference**2


def printed_power(transects: float, design: Design) -> float:
    """Power by the closed formula that `printed_transects` solves for the transects.

    The test is two-sided at the level `PRINTED_LEVEL`, of which the formula counts the likelier
    side.

    Args:
        transects: number of them, fractions allowed.
        design: with a `pair_correlation` of None taken as 0.

    Returns:
        The power, from 0 to 1.

    Raises:
        ValueError: a design without a difference.

    Example:
        >>> from faceaudit.effects import planning
        >>> plan = planning.Design(difference=0.02, base_rate=0.05)
        >>> round(planning.printed_power(525, plan), 2)
        0.8
    """
    difference, deviation = _per_transect(design)
    return float(ndtr(difference * np.sqrt(transects) / deviation + ndtri(PRINTED_LEVEL / 2)))


def printed_transects(design: Design, alpha: float = 0.05, power: float = 0.8) -> float:
    """Transects for a given power by the closed formula, not rounded.

    S = (z_α/2 + z_β)² (ψ − Δ²) [1 + (m' − 1) ρ_d] / (m' Δ²) with m' = pairs · retention² and the
    share of discordant pairs ψ = p₀q₁ + p₁q₀ − 2 ρ √(p₀q₀p₁q₁), where ρ is `within` and ρ_d
    `pair_correlation`. Once m' < 1 the bracket falls below one, as if dependent pairs were an
    advantage.

    Args:
        design: with a `pair_correlation` of None taken as 0.
        alpha: level of the two-sided test.
        power: to be reached, between 0 and 1.

    Returns:
        The number of transects.

    Raises:
        ValueError: a design without a difference, a power outside its range.

    Example:
        >>> from faceaudit.effects import planning
        >>> round(planning.printed_transects(planning.Design(difference=0.02, base_rate=0.05)))
        525
    """
    difference, deviation = _per_transect(design)
    check_range("power", power, 0, 1, "()")
    # Of the two-sided test, the likelier side alone, as in `printed_power`.
    quantiles = ndtri(power) - ndtri(alpha / 2)
    return float((max(quantiles, 0.0) * deviation / difference) ** 2)


def power(transects: float, design: Design, alpha: float = 0.05) -> float:
    """Chance that the matched test finds a difference of error rates, two-sided at level `alpha`.

    With one pair per transect, the power of McNemar's mid-p test, summed over all audits that can
    happen. With several, the score test with a design effect is nearly √S times a mean over a
    standard deviation, of the sums of the transects' differences. By the delta method, such a ratio
    with the standardised mean δ, skewness γ and kurtosis κ has variance 1 − δγ + δ²(κ − 1)/4, not
    one. The moments are those of transects that share a normal effect on a latent scale.

    Args:
        transects: faces, each shown at every combination of the attributes. A curve may run
            through fractions, but for one pair per transect.
        design: what is planned for.
        alpha: level of the test.

    Returns:
        The power, from 0 to 1.

    Raises:
        ValueError: an argument outside its range, or correlations that no such errors can have.

    Example:
        >>> from faceaudit import effects
        >>> round(effects.power(525, effects.Design(difference=0.02, base_rate=0.05)), 2)
        0.8
    """
    if not 2 <= transects < np.inf:
        raise InputError(
            f"transects is {transects}, a number of at least 2 was expected",
            field="transects",
            found=transects,
            expected="a number of at least 2",
        )
    if design.pairs == 1:
        check_whole("transects", transects, 2)
    check_range("alpha", alpha, 0, 1, "()")
    return _power(transects, design, alpha)


def transects_needed(design: Design, alpha: float = 0.05, power: float = 0.8) -> int:
    """Least number of transects at which `faceaudit.effects.power` reaches the given power.

    Args:
        design: what is planned for.
        alpha: level of the test.
        power: to be reached, between 0 and 1.

    Returns:
        The number of transects. With one pair per transect, the power rises in a saw-tooth,
        and some larger numbers may fall short again.

    Raises:
        ValueError: an argument outside its range, a design without a difference, or more than
            `MOST_TRANSECTS`.

    Example:
        >>> from faceaudit import effects
        >>> effects.transects_needed(effects.Design(difference=0.05, base_rate=0.05))
        106
    """
    check_range("power", power, 0, 1, "()")
    check_range("alpha", alpha, 0, 1, "()")
    _require_difference(design)
    sizes = range(2, MOST_TRANSECTS)
    reaches = bisect_left(sizes, True, key=lambda size: _power(size, design, alpha) >= power)
    if reaches == len(sizes):
        raise InputError(
            f"difference {design.difference}: over {MOST_TRANSECTS} transects",
            field="difference",
            found=design.difference,
            expected=f"one that {MOST_TRANSECTS} transects detect",
        )
    return sizes[reaches]


def attenuation(reliability: float, prevalence: float = 0.5) -> float:
    """Share of an attribute's effect that is visible when images are split by a noisy score.

    True and observed score are taken as bivariate normal with correlation √reliability and both
    are cut at the same quantile. Images on the wrong side dilute the difference of the two sides by
    PPV + NPV − 1, here the phi coefficient of the true and the observed side, provided that the
    noise depends on nothing else (non-differential misclassification; Fuller, Measurement Error
    Models (1987), section 1.1, has the continuous case, in which the factor is the reliability).
    At prevalence 0.5 it is (2/π) arcsin √reliability. It concerns comparisons by the *perceived*
    attribute; transects compared by the intended level are not diluted by it.

    Args:
        reliability: of an image's mean score, such as ICC(1,k) of the agreement study.
        prevalence: share of images above the cut.

    Returns:
        The share, from 0 to 1.

    Raises:
        ValueError: a reliability outside [0, 1].

    Example:
        >>> from faceaudit.effects import planning
        >>> round(planning.attenuation(0.5), 6)
        0.5
    """
    check_range("reliability", reliability, 0, 1)
    if reliability == 1:
        return 1.0
    cut = -ndtri(prevalence)
    r = np.sqrt(reliability)
    both = scipy.stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([-cut, -cut])
    return float((both - prevalence**2) / (prevalence * (1 - prevalence)))


def label_noise(rater_error: float, raters: int) -> float:
    """Chance that the majority of raters mislabels an image; a tie is decided by a coin.

    Args:
        rater_error: chance that a single rater does, in [0, 0.5), independently of the others.
            Where raters err together, a majority of them gains less.
        raters: their number.

    Returns:
        The chance, in [0, 0.5).

    Example:
        >>> from faceaudit.effects import planning
        >>> round(planning.label_noise(0.1, 3), 3)
        0.028
    """
    binom = scipy.stats.binom
    tie = binom.pmf(raters / 2, raters, rater_error) if raters % 2 == 0 else 0.0
    return float(binom.sf(raters // 2, raters, rater_error) + tie / 2)


def noisy_design(design: Design, noise: float) -> Design:
    """A design with the rates that are observed under label noise ε.

    A wrong label turns an error of the model into a right answer and the reverse: a rate p is
    observed as p(1 − ε) + (1 − p)ε, and differences shrink by 1 − 2ε. Covariances, within a pair
    and of the differences of two pairs, shrink by (1 − 2ε)². Noise must not depend on the image.

    Args:
        design: without noise; a `pair_correlation` of None stays None.
        noise: chance that a label is wrong, in [0, 0.5).

    Returns:
        The design with the difference, rate and correlations that will be observed.

    Raises:
        ValueError: noise outside its range.

    Example:
        >>> from faceaudit.effects import planning
        >>> noisy = planning.noisy_design(planning.Design(difference=0.02, base_rate=0.05), 0.1)
        >>> round(noisy.base_rate, 3), round(noisy.difference, 3)
        (0.14, 0.016)
    """
    check_range("noise", noise, 0, 0.5, "[)")
    true = np.array(design.risks)
    observed = true + noise - 2 * noise * true
    deviations = np.sqrt((true * (1 - true)).prod() / (observed * (1 - observed)).prod())
    noisy = replace(
        design,
        difference=float(observed[1] - observed[0]),
        base_rate=float(observed[0]),
        within=float(design.within * (1 - 2 * noise) ** 2 * deviations),
    )
    if design.pair_correlation is None:
        return noisy
    shrunk = design.pair_correlation * (1 - 2 * noise) ** 2 * design.variance / noisy.variance
    return replace(noisy, pair_correlation=float(shrunk))


def rogan_gladen(rate: float, noise: float) -> float:
    """Error rate corrected for label noise, clipped to [0, 1].

    Rogan & Gladen, American Journal of Epidemiology 107 (1978) 71-76, for a sensitivity and
    specificity of 1 − noise. Differences of rates are divided by 1 − 2 noise.

    Args:
        rate: observed error rate, in [0, 1].
        noise: chance that a label is wrong, in [0, 0.5), whether the model is right or not.

    Returns:
        The corrected rate.

    Raises:
        ValueError: a rate or noise outside its range.

    Example:
        >>> from faceaudit import effects
        >>> round(effects.rogan_gladen(0.14, 0.1), 3)
        0.05
    """
    check_range("noise", noise, 0, 0.5, "[)")
    check_range("rate", rate, 0, 1)
    return float(np.clip((rate - noise) / (1 - 2 * noise), 0, 1))


def shared_pair_correlation(design: Design) -> float:
    """The least ρ_d: that of transects with one effect in common, on the latent scale.

    Args:
        design: only its two risks and `within` are used.

    Returns:
        Correlation of the differences of two pairs of one transect.

    Raises:
        ValueError: errors with these risks cannot correlate by `within`.

    Example:
        >>> from faceaudit.effects import planning
        >>> plan = planning.Design(difference=0.02, base_rate=0.05, within=0.4)
        >>> round(planning.shared_pair_correlation(plan), 4)
        0.0181
    """
    return _pair_correlation(*_with_one_effect(design, _across(design)))


@cache
def transect_types(design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Possible transects: complete, worse and better pairs (T, 3), and their chances (T,).

    Both arrays can only be read.
    """
    if design.pairs == 1:
        p0, p1 = design.risks
        # The chances that the model errs on one image of a pair only: the higher, or the lower one.
        discordant_chances = np.array([p1 - p0 * p1, p0 - p0 * p1]) - design.covariance
        if discordant_chances.min() < -1e-12:  # nearer to 0 it is rounding
            raise _impossible_within(design)
        weights = np.ones(1)
        worse, better = discordant_chances.clip(0)[:, None]
    else:
        weights, low, high = _conditional_risks(design)
        worse = high * (1 - low)
        better = low * (1 - high)
    counts_of_type = []
    chance_of_type = []
    for n in range(design.pairs + 1):
        survival = _chance_of_pairs(n, design)
        for n_worse in range(n + 1):
            for n_better in range(n + 1 - n_worse):
                orders = comb(n, n_worse) * comb(n - n_worse, n_better)
                equal = (1 - worse - better) ** (n - n_worse - n_better)
                chance = weights @ (worse**n_worse * better**n_better * equal)
                counts_of_type.append((n, n_worse, n_better))
                chance_of_type.append(survival * orders * chance)
    types = np.array(counts_of_type)
    chances = np.array(chance_of_type) / np.sum(chance_of_type)
    # All callers with an equal design get these two arrays: none may change them for the others.
    types.flags.writeable = False
    chances.flags.writeable = False
    return types, chances


def _chance_of_pairs(n: int, design: Design) -> float:
    """Chance that n of the pairs of a transect are complete."""
    if design.retention == 1:
        return float(n == design.pairs)
    return scipy.stats.binom.pmf(n, design.pairs, design.retention**2)


def _impossible_within(design: Design) -> InputError:
    """The error of a correlation that errors with the design's two rates cannot have."""
    return InputError(
        f"within is {design.within}: no errors with such rates correlate so",
        field="within",
        found=design.within,
        expected="a correlation that errors with these rates can have",
    )


def _across(design: Design) -> float:
    """Correlation of the normal variables of two images that differ in the attribute.

    Raises:
        InputError: no correlation gives errors that correlate by `within`.
    """
    p0, p1 = design.risks

    def excess(across: float) -> float:
        weights, low, high = _with_one_effect(design, across)
        return float(weights @ (low * high) - p0 * p1 - design.covariance)

    if excess(LARGEST_LATENT_CORRELATION) < 0:
        raise _impossible_within(design)
    if design.within == 0:
        return 0.0
    return scipy.optimize.brentq(excess, 0.0, LARGEST_LATENT_CORRELATION)


def _with_one_effect(design: Design, across: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights and the two risks (Q,) of transects whose images all correlate by `across`."""
    p0, p1 = design.risks
    return NODE_WEIGHTS, _conditional(p0, across, NODES), _conditional(p1, across, NODES)


def _conditional_risks(design: Design) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights and the two risks of transects (Q,), at the nodes of a quadrature.

    Normal variables of one transect correlate by `across` when they differ in the attribute and by
    `same` when they do not.

    Raises:
        InputError: a `pair_correlation` that no such transects have.
    """
    across = _across(design)
    pair_correlation = design.pair_correlation
    if pair_correlation is None:
        return _with_one_effect(design, across)
    weights = np.outer(NODE_WEIGHTS, NODE_WEIGHTS).ravel()
    first, second = (axis.ravel() for axis in np.meshgrid(NODES, NODES, indexing="ij"))

    def risks(same: float) -> tuple[np.ndarray, np.ndarray]:
        share = across / same if same else 0.0
        other = share * first + np.sqrt(1 - share**2) * second
        p0, p1 = design.risks
        return _conditional(p0, same, first), _conditional(p1, same, other)

    def surplus(same: float) -> float:
        return _pair_correlation(weights, *risks(same)) - pair_correlation

    least = surplus(across) + pair_correlation
    most = surplus(LARGEST_LATENT_CORRELATION) + pair_correlation
    if not least - 1e-9 <= pair_correlation <= most:
        raise InputError(
            f"pair_correlation is {pair_correlation}: here it is {least:.4f} to {most:.4f}",
            field="pair_correlation",
            found=pair_correlation,
            expected=f"{least:.4f} to {most:.4f}",
        )
    same = across
    if pair_correlation > least:
        same = scipy.optimize.brentq(surplus, across, LARGEST_LATENT_CORRELATION)
    return weights, *risks(same)


def _conditional(p: float, correlation: float, node: np.ndarray) -> np.ndarray:
    """Risks (Q,) given the shared variable, of images with the mean risk p.

    Normal variables of two images correlate by `correlation` through the shared one, `node` (Q,).
    """
    return ndtr((ndtri(p) - np.sqrt(correlation) * node) / np.sqrt(1 - correlation))


def _pair_correlation(weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Variance of the transects' expected differences, over that of single differences."""
    mean = weights @ (high - low)
    discordant = weights @ (high * (1 - low) + low * (1 - high))
    return float((weights @ (high - low) ** 2 - mean**2) / (discordant - mean**2))


def _per_transect(design: Design) -> tuple[float, float]:
    """Size of the difference, and standard deviation of a transect's, by the closed formula."""
    _require_difference(design)
    pairs = design.pairs * design.retention**2  # on average: a pair needs both of its images
    bracket = 1 + (pairs - 1) * (design.pair_correlation or 0)
    return abs(design.difference), np.sqrt(design.variance * bracket / pairs)


def _require_difference(design: Design) -> None:
    """Raise InputError where the planned difference is 0."""
    if design.difference == 0:
        raise InputError(
            "difference is 0: no number of transects detects it",
            field="difference",
            found=design.difference,
            expected="a number other than 0",
        )


def _power(transects: float, design: Design, alpha: float) -> float:
    """As `power`, for arguments that have been checked."""
    types, chances = transect_types(design)
    if design.pairs == 1:
        return _summed_power(int(transects), types, chances, alpha)
    return _moments_power(transects, types, chances, alpha)


def _moments_power(transects: float, types: np.ndarray, chance: np.ndarray, alpha: float) -> float:
    """Power of the score test with a design effect, from the moments of the transects' sums."""
    n, worse, better = types.T
    mean = chance @ (worse - better) / (chance @ n)
    discordant = chance @ (worse + better) / (chance @ n)
    residual = worse - better - mean * n
    deviation = np.sqrt(chance @ residual**2)
    delta = abs(mean) * (chance @ n) / deviation
    skewness = np.sign(mean) * (chance @ residual**3) / deviation**3
    kurtosis = (chance @ residual**4) / deviation**4
    # Never negative, since the kurtosis is at least one plus the squared skewness.
    spread = np.sqrt(1 - delta * skewness + delta**2 * (kurtosis - 1) / 4)
    # The score test divides by the variance under the null, ψ instead of ψ − Δ².
    null = np.sqrt(1 - mean**2 / discordant)
    quantile = -stdtrit(transects - 1, alpha / 2) / null
    centre = np.sqrt(transects) * delta
    return float(ndtr((centre - quantile) / spread) + ndtr((-centre - quantile) / spread))


def _summed_power(transects: int, types: np.ndarray, chance: np.ndarray, alpha: float) -> float:
    """Power of McNemar's mid-p test: a binomial number of discordant pairs, then of worse ones."""
    binom = scipy.stats.binom
    worse = chance @ types[:, 1]
    better = chance @ types[:, 2]
    fewest, most = binom.interval(1 - 1e-10, transects, worse + better)
    discordant = np.arange(fewest, most + 1)
    # Largest count of the rarer kind with which the two-sided test rejects; -1 where none does.
    rarer = binom.ppf(alpha / 2, discordant, 0.5)
    rarer -= mcnemar(rarer, discordant - rarer) >= alpha
    share = worse / (worse + better)
    rejects = binom.cdf(rarer, discordant, share) + binom.cdf(rarer, discordant, 1 - share)
    return float(binom.pmf(discordant, transects, worse + better) @ rejects)
