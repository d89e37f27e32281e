"""How many transects an audit needs, and what they cost: power, sample size, answers and money.

The test is that of `helpers.effects.matched_effects`: the mean difference of an error (0 or 1)
over the pairs of images that differ in one attribute. A transect of a 2 x 2 x 2 design gives up to
four such pairs, one per cell of the two other attributes; averaged over them, m' = 4 retention²
are expected, since a pair needs both of its images. Two correlations of a `Design` matter:

- `within`: of the errors of the two images of a pair. The more a transect's face decides whether
  the model errs, the more of that cancels in the difference.
- `pair_correlation` (ρ_d): of the differences of two pairs of one transect. It is nought only where
  nothing but chance distinguishes the transects' differences. An effect that varies from face to
  face raises it, and so does a face that is difficult: where all its images are near the threshold,
  all its differences are larger.

`printed_power` and `printed_transects` are the closed formula (the book's own; paired proportions
as in Connett, Smith & McHugh, Statistics in Medicine 6 (1987) 163-169, averaged over correlated
pairs). It takes the test statistic as normal with variance one. Under a rare error with a large
effect, differences are mostly 0, sometimes 1 and hardly ever -1: the denominator of the statistic
then rises with its numerator, and the statistic varies less. It also counts m' pairs in every
transect, although m' is a mean. `power` and `transects_needed` correct for both.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import binom, norm
from scipy.stats import t as student
from statsmodels.stats.power import normal_power, normal_sample_size_one_tail

from helpers.effects.matched import mcnemar
from helpers.effects.misclassification import label_noise, noisy_design
from helpers.effects.pair_correlation import Design, transect_types
from helpers.utils import seeding
from helpers.utils.checks import check_number, check_positive, check_range, check_whole

MOST_TRANSECTS = 10**7


def printed_power(transects: float, design: Design, alpha: float = 0.05) -> float:
    """Power by the closed formula that `printed_transects` solves for the transects.

    Args:
        transects: number of them, fractions allowed.
        design: with a `pair_correlation` of None taken as 0.
        alpha: level of the two-sided test, of which the formula counts the likelier side.

    Returns:
        The power, from 0 to 1.

    Raises:
        ValueError: no transects, or a design without a difference.

    Example:
        >>> from helpers import effects
        >>> plan = effects.Design(difference=0.02, base_rate=0.05)
        >>> round(effects.printed_power(525, plan), 2)
        0.8
    """
    difference, deviation = _per_transect(design)
    check_positive("transects", transects)
    return float(normal_power(difference, transects, alpha / 2, "larger", deviation))


def printed_transects(design: Design, alpha: float = 0.05, power: float = 0.8) -> float:
    """Transects for a given power by the closed formula, not rounded.

    S = (z_α/2 + z_β)² (ψ − Δ²) [1 + (m' − 1) ρ_d] / (m' Δ²) with m' = pairs · retention² and the
    share of discordant pairs ψ = p₀q₁ + p₁q₀ − 2 ρ √(p₀q₀p₁q₁). Once m' < 1 the bracket falls below
    one: the printed formula then takes dependent pairs for an advantage.

    Args:
        design: with a `pair_correlation` of None taken as 0.
        alpha: level of the two-sided test.
        power: wanted, between 0 and 1.

    Returns:
        The number of transects.

    Raises:
        ValueError: a design without a difference, a power outside its range.

    Example:
        >>> from helpers import effects
        >>> round(effects.printed_transects(effects.Design(difference=0.02, base_rate=0.05)))
        525
    """
    difference, deviation = _per_transect(design)
    check_range("power", power, 0, 1, "()")
    return float(normal_sample_size_one_tail(difference, power, alpha / 2, deviation))


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
        >>> from helpers import effects
        >>> round(effects.power(525, effects.Design(difference=0.02, base_rate=0.05)), 2)
        0.8
    """
    if not 2 <= check_number("transects", transects) < np.inf:
        raise ValueError(f"transects is {transects}, a number of at least 2 was expected")
    if design.pairs == 1:
        check_whole("transects", transects, 2)
    return _method(design)(
        transects, *transect_types(design), check_range("alpha", alpha, 0, 1, "()")
    )


def transects_needed(design: Design, alpha: float = 0.05, power: float = 0.8) -> int:
    """Least number of transects at which `helpers.effects.power` reaches the given power.

    Args:
        design: what is planned for.
        alpha: level of the test.
        power: wanted, between 0 and 1.

    Returns:
        The number of transects. With one pair per transect, the power rises in a saw-tooth,
        and some larger numbers may fall short again.

    Raises:
        ValueError: an argument outside its range, a design without a difference, or more than
            `MOST_TRANSECTS`.

    Example:
        >>> from helpers import effects
        >>> effects.transects_needed(effects.Design(difference=0.05, base_rate=0.05))
        106
    """
    check_range("power", power, 0, 1, "()")
    _check_difference(design)
    sizes = range(2, MOST_TRANSECTS)
    arguments = (*transect_types(design), check_range("alpha", alpha, 0, 1, "()"))
    reaches = bisect_left(sizes, True, key=lambda s: _method(design)(s, *arguments) >= power)
    if reaches == len(sizes):
        raise ValueError(
            f"difference {design.difference}: needs more than {MOST_TRANSECTS} transects"
        )
    return sizes[reaches]


def simulated_power(
    transects: int, design: Design, alpha: float = 0.05, n_simulations: int = 2000, seed: int = 0
) -> float:
    """Share of simulated audits in which the test of `matched_effects` finds the difference.

    An audit is a multinomial draw of transects over the possible counts of complete, worse and
    better pairs.

    Args:
        transects: of every audit.
        design: what is planned for.
        alpha: level of the test.
        n_simulations: number of audits.
        seed: of the draws.

    Returns:
        The share, from 0 to 1.

    Raises:
        ValueError: an argument outside its range, or correlations that no such errors can have.

    Example:
        >>> from helpers import effects
        >>> sure = effects.Design(difference=0.5, base_rate=0.05)
        >>> effects.simulated_power(100, sure, n_simulations=20)
        1.0
    """
    check_whole("transects", transects, 2)
    types, chance = transect_types(design)
    rng = seeding.rng(seed, "simulated power")
    p = _matched_test(rng.multinomial(transects, chance, size=n_simulations), types)
    return float((p < alpha).mean())


def power_grid(
    grid: Mapping[str, Sequence[float]], n_simulations: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Both formulas against simulation, a row per combination of a grid's values.

    Args:
        grid: values of arguments of `Design`, and of target: the power for which the closed
            formula chooses the transects.
        n_simulations: audits per row.
        seed: of the draws; the rows have seeds of their own.

    Returns:
        A column per entry of the grid, transects, and the power by simulation, by `power` and by
        `printed_power` (simulated, power, printed).

    Raises:
        ValueError: a value outside its range, or correlations that no such errors can have.

    Example:
        >>> from helpers import effects
        >>> grid = {"base_rate": [0.1], "difference": [0.05], "target": [0.5, 0.8]}
        >>> effects.power_grid(grid, n_simulations=10)["transects"].tolist()
        [80, 163]
    """
    rows = []
    for item, values in enumerate(product(*grid.values())):
        row = dict(zip(grid, values, strict=True))
        design = Design(**{name: value for name, value in row.items() if name != "target"})
        transects = int(np.ceil(printed_transects(design, power=row["target"])))
        found = {
            "transects": transects,
            "simulated": simulated_power(
                transects, design, n_simulations=n_simulations, seed=seed + item
            ),
            "power": power(transects, design),
            "printed": printed_power(transects, design),
        }
        rows.append(row | found)
    return pd.DataFrame(rows)


def cost(
    transects: int,
    raters: int,
    *,
    price: float,
    seconds: float,
    images: int = 8,
    attributes: int = 8,
) -> dict[str, float]:
    """What annotating the transects takes (transects, section 4.3: 8 attributes, 5 raters).

    Args:
        transects: number of them, with `images` images each.
        raters: answers per image and attribute.
        price: money per answer; the currency is the caller's.
        seconds: working time per answer.
        images: per transect.
        attributes: asked of every image.

    Returns:
        images, judgements, hours (of raters' work) and money.

    Raises:
        ValueError: a count that is no whole number of at least 1, a price or time not above 0.

    Example:
        >>> from helpers import effects
        >>> effects.cost(1000, 5, price=0.012, seconds=3.6)["judgements"]
        320000
    """
    counts = {"transects": transects, "raters": raters, "images": images, "attributes": attributes}
    for name, count in counts.items():
        check_whole(name, count, 1)
    check_positive("price", price)
    check_positive("seconds", seconds)
    judgements = transects * images * attributes * raters
    return {
        "images": transects * images,
        "judgements": judgements,
        "hours": judgements * seconds / 3600,
        "money": judgements * price,
    }


def design_table(
    transects: Sequence[int],
    raters: Sequence[int],
    design: Design,
    rater_error: float,
    *,
    price: float,
    seconds: float,
) -> pd.DataFrame:
    """Power and cost of each number of transects with each number of raters.

    Args:
        transects: numbers of transects to compare.
        raters: numbers of raters per image to compare.
        design: without errors of labels. A `pair_correlation` of None is the least possible, with
            which the power is an upper bound.
        rater_error: chance that one rater mislabels an image; the majority of more raters errs less
            (`label_noise`), and its errors dilute the difference (`noisy_design`).
        price: money per answer.
        seconds: working time per answer.

    Returns:
        Index transects, raters; columns label_noise, power, and those of `cost`.

    Raises:
        ValueError: as `noisy_design`, `power` and `cost` do.

    Example:
        >>> from helpers import effects
        >>> plan = effects.Design(difference=0.05, base_rate=0.05)
        >>> table = effects.design_table([100, 200], [1], plan, 0.1, price=0.02, seconds=4)
        >>> table["power"].round(1).tolist()
        [0.3, 0.6]
    """
    rows = {}
    for count in raters:
        noise = label_noise(rater_error, count)
        seen = noisy_design(design, noise)
        for size in transects:
            row = {"label_noise": noise, "power": power(size, seen)}
            rows[size, count] = row | cost(size, count, price=price, seconds=seconds)
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis(["transects", "raters"]).sort_index()


def _check_difference(design: Design) -> None:
    if design.difference == 0:
        raise ValueError("difference is 0: no number of transects detects it")


def _per_transect(design: Design) -> tuple[float, float]:
    """Size of the difference, and standard deviation of a transect's, by the closed formula."""
    _check_difference(design)
    bracket = 1 + (design.pairs_left - 1) * (design.pair_correlation or 0)
    return abs(design.difference), np.sqrt(design.variance * bracket / design.pairs_left)


def _method(design: Design):
    return _summed_power if design.pairs == 1 else _moments_power


def _moments_power(transects: float, types: np.ndarray, chance: np.ndarray, alpha: float) -> float:
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
    quantile = student.isf(alpha / 2, transects - 1) / null
    centre = np.sqrt(transects) * delta
    return float(norm.cdf((centre - quantile) / spread) + norm.cdf((-centre - quantile) / spread))


def _summed_power(transects: int, types: np.ndarray, chance: np.ndarray, alpha: float) -> float:
    """Power of McNemar's mid-p test: a binomial number of discordant pairs, then of worse ones."""
    up, down = (chance @ types[:, column] for column in (1, 2))
    discordant = np.arange(*binom.interval(1 - 1e-10, transects, up + down) + np.array([0, 1]))
    # Largest count of the rarer kind with which the two-sided test rejects; -1 where none does.
    most = binom.ppf(alpha / 2, discordant, 0.5)
    most -= mcnemar(most, discordant - most) >= alpha
    share = up / (up + down)
    rejects = binom.cdf(most, discordant, share) + binom.cdf(most, discordant, 1 - share)
    return float(binom.pmf(discordant, transects, up + down) @ rejects)


def _matched_test(counts: np.ndarray, types: np.ndarray) -> np.ndarray:
    """p-values of `matched_effects`, of audits given by their counts of transect types (B, T)."""
    pairs, worse, better = (counts @ column for column in types.T)
    clusters = counts @ (types[:, 0] > 0)
    p = np.ones(len(counts))
    single_pairs = (pairs == clusters) & (clusters > 1)
    if single_pairs.any():
        p[single_pairs] = mcnemar(worse[single_pairs], better[single_pairs])
    several = (pairs > clusters) & (clusters > 1)
    pairs, worse, better, clusters = (x[several] for x in (pairs, worse, better, clusters))
    estimate = (worse - better) / pairs
    residual = (types[:, 1] - types[:, 2]) - estimate[:, None] * types[:, 0]
    clustered = (counts[several] * residual**2).sum(axis=1) * clusters / (clusters - 1)
    single = worse + better - pairs * estimate**2
    least = clusters / pairs
    ratio = np.divide(clustered, single, out=1 / least, where=single > 0)
    deff = np.where(single > 0, np.maximum(ratio, least), ratio)
    score = np.abs(worse - better) / np.sqrt(np.maximum(worse + better, 1) * deff)
    p[several] = 2 * student.sf(score, clusters - 1)
    return p
