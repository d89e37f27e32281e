"""How many transects an audit needs: power, sample size, crowd and cost.

The test is that of `helpers.effects.matched_effects`: the mean difference of an error (0 or 1)
over the pairs of images that differ in one attribute. A transect of a 2 x 2 x 2 design gives up to
four such pairs, one per cell of the two other attributes; averaged over them, m' = 4 retention²
are expected, since a pair needs both of its images. Two correlations matter:

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

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import binom, norm
from scipy.stats import t as student

from helpers.effects.misclassification import label_noise, noisy_design, noisy_pair_correlation
from helpers.effects.pair_correlation import (
    check_design,
    discordant_share,
    shared_pair_correlation,
    transect_types,
)
from helpers.utils import seeding
from helpers.utils.checks import check_inside, check_number, check_positive, check_whole

MOST_TRANSECTS = 10**7

GRID = {
    "base_rate": (0.02, 0.05, 0.10, 0.20),
    "difference": (0.02, 0.03, 0.05),
    "within": (0.05, 0.23, 0.41),
    "retention": (1.0, 2 / 3),
    "target": (0.5, 0.65, 0.8, 0.95),
}
"""Designs of `power_grid`; `target` is the power for which the transects are chosen."""


def printed_power(
    transects: float,
    difference: float,
    base_rate: float,
    within: float = 0.05,
    retention: float = 1.0,
    pairs: int = 4,
    pair_correlation: float = 0.0,
    alpha: float = 0.05,
) -> float:
    """Power by the closed formula that `printed_transects` solves for the transects."""
    one = _printed_unit(difference, base_rate, within, retention, pairs, pair_correlation)
    return float(
        norm.cdf(np.sqrt(check_positive("transects", transects) / one) + norm.ppf(alpha / 2))
    )


def printed_transects(
    difference: float,
    base_rate: float,
    within: float = 0.05,
    retention: float = 1.0,
    pairs: int = 4,
    pair_correlation: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Transects for a given power by the closed formula, not rounded.

    S = (z_α/2 + z_β)² (ψ − Δ²) [1 + (m' − 1) ρ_d] / (m' Δ²) with m' = pairs · retention² and the
    share of discordant pairs ψ = p₀q₁ + p₁q₀ − 2 ρ √(p₀q₀p₁q₁). Arguments as for `power`, but for
    `pair_correlation` (ρ_d), which is 0 unless given. Once m' < 1 the bracket falls below one: the
    printed formula then takes dependent pairs for an advantage.
    """
    one = _printed_unit(difference, base_rate, within, retention, pairs, pair_correlation)
    return float((norm.isf(alpha / 2) + norm.ppf(check_inside("power", power))) ** 2 * one)


def power(
    transects: float,
    difference: float,
    base_rate: float,
    within: float = 0.05,
    retention: float = 1.0,
    pairs: int = 4,
    pair_correlation: float | None = None,
    alpha: float = 0.05,
) -> float:
    """Chance that the matched test finds a difference of error rates, two-sided at level `alpha`.

    With one pair per transect, the exact power of McNemar's exact test. With several, the score
    test with a design effect is nearly √S times a mean over a standard deviation, of the sums of
    the transects' differences. By the delta method, such a ratio with the standardised mean δ,
    skewness γ and kurtosis κ has variance 1 − δγ + δ²(κ − 1)/4, not one. The moments are those of
    transects that share a normal effect on a latent scale.

    Args:
        transects: faces, each shown at every combination of the attributes. A curve may run
            through fractions, but for one pair per transect.
        difference: risk at the higher level minus at the lower, as a fraction.
        base_rate: risk at the lower level.
        within: correlation of the errors of the two images of a pair.
        retention: chance that an image survives pruning, independently of the others.
        pairs: pairs per transect before pruning: 4 averages over a 2 x 2 x 2 design, 1 is a cell.
        pair_correlation: ρ_d; None is the least, which the shared effect alone implies
            (`shared_pair_correlation`). More means an effect that varies between transects.
        alpha: level of the test.

    Raises:
        ValueError: an argument outside its range, or correlations that no such errors can have.
    """
    if not 2 <= check_number("transects", transects) < np.inf:
        raise ValueError(f"transects is {transects}, a number of at least 2 was expected")
    check_inside("alpha", alpha)
    arguments = (difference, base_rate, within, retention, pairs, pair_correlation)
    types, chance = transect_types(*arguments)
    if pairs == 1:
        check_whole("transects", transects, 2)
        return _exact_power(transects, types, chance, alpha)
    return _moments_power(transects, types, chance, alpha)


def transects_needed(
    difference: float,
    base_rate: float,
    within: float = 0.05,
    retention: float = 1.0,
    pairs: int = 4,
    pair_correlation: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Least number of transects at which `power` reaches the given power; arguments as there."""
    check_inside("power", power)
    if difference == 0:
        raise ValueError("difference is 0: no number of transects detects it")
    arguments = (difference, base_rate, within, retention, pairs, pair_correlation)
    types, chance = transect_types(*arguments)
    method = _exact_power if pairs == 1 else _moments_power
    few, many = 1, 2
    while method(many, types, chance, alpha) < power:
        few, many = many, 2 * many
        if many > MOST_TRANSECTS:
            raise ValueError(f"difference {difference}: needs more than {MOST_TRANSECTS} transects")
    while many - few > 1:
        middle = (few + many) // 2
        enough = method(middle, types, chance, alpha) >= power
        few, many = (few, middle) if enough else (middle, many)
    return many


def simulated_power(
    transects: int,
    difference: float,
    base_rate: float,
    within: float = 0.05,
    retention: float = 1.0,
    pairs: int = 4,
    pair_correlation: float | None = None,
    alpha: float = 0.05,
    n_simulations: int = 2000,
    seed: int = 0,
) -> float:
    """Share of simulated audits in which the test of `matched_effects` finds the difference.

    Arguments as for `power`. An audit is a multinomial draw of transects over the possible counts
    of complete, worse and better pairs.
    """
    check_whole("transects", transects, 2)
    arguments = (difference, base_rate, within, retention, pairs, pair_correlation)
    types, chance = transect_types(*arguments)
    rng = seeding.rng(seed, "simulated power")
    p = _matched_test(rng.multinomial(transects, chance, size=n_simulations), types)
    return float((p < alpha).mean())


def power_grid(
    n_simulations: int = 2000, seed: int = 0, **choices: Sequence[float]
) -> pd.DataFrame:
    """Both formulas against simulation, a row per design of `GRID`.

    Columns base_rate, difference, within, retention, target, transects (that the closed formula
    with ρ_d = 0 asks for), pair_correlation (`shared_pair_correlation`), simulated, power,
    printed (ρ_d = 0) and printed_shared (with that ρ_d). `choices` replace entries of `GRID`.
    """
    if unknown := sorted(set(choices) - set(GRID)):
        raise ValueError(f"the grid has no {unknown}; it has {sorted(GRID)}")
    grid = GRID | choices
    rows = []
    for item, values in enumerate(product(*grid.values())):
        *_, retention, target = values
        pair = dict(zip(["base_rate", "difference", "within"], values, strict=False))
        design = pair | {"retention": retention}
        shared = shared_pair_correlation(**pair)
        transects = int(np.ceil(printed_transects(**design, power=target)))
        simulated = simulated_power(
            transects, **design, n_simulations=n_simulations, seed=seed + item
        )
        found = {
            "simulated": simulated,
            "power": power(transects, **design),
            "printed": printed_power(transects, **design),
            "printed_shared": printed_power(transects, **design, pair_correlation=shared),
        }
        context = {"target": target, "transects": transects, "pair_correlation": shared}
        rows.append(design | context | found)
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
    difference: float,
    base_rate: float,
    rater_error: float,
    *,
    price: float,
    seconds: float,
    within: float = 0.05,
    retention: float = 1.0,
    pair_correlation: float | None = None,
) -> pd.DataFrame:
    """Power and cost of each number of transects with each number of raters.

    `rater_error` is the chance that one rater mislabels an image; the majority of more raters errs
    less (`label_noise`), and its errors dilute the difference (`noisy_design`). Rates and
    correlations are those without such errors; `pair_correlation` None is the least possible, with
    which the power is an upper bound. Index transects, raters; columns label_noise, power, and
    those of `cost`.
    """
    true = difference, base_rate, within
    rows = {}
    for count in raters:
        noise = label_noise(rater_error, count)
        seen = noisy_design(*true, noise)
        between = pair_correlation
        if between is not None:
            between = noisy_pair_correlation(between, *true, noise)
        for size in transects:
            row = {
                "label_noise": noise,
                "power": power(size, *seen, retention, pair_correlation=between),
            }
            rows[size, count] = row | cost(size, count, price=price, seconds=seconds)
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis(["transects", "raters"]).sort_index()


def _printed_unit(
    difference: float,
    base_rate: float,
    within: float,
    retention: float,
    pairs: int,
    pair_correlation: float,
) -> float:
    """Transects for z_α/2 + z_β = 1."""
    check_design(difference, base_rate, within, retention, pairs)
    if difference == 0:
        raise ValueError("difference is 0: no number of transects detects it")
    expected = pairs * retention**2
    variance = discordant_share(difference, base_rate, within) - difference**2
    return variance * (1 + (expected - 1) * pair_correlation) / (expected * difference**2)


def _moments_power(transects: int, types: np.ndarray, chance: np.ndarray, alpha: float) -> float:
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


def _exact_power(transects: int, types: np.ndarray, chance: np.ndarray, alpha: float) -> float:
    """Power of McNemar's exact test: a binomial number of discordant pairs, then of worse ones."""
    up, down = (chance @ types[:, column] for column in (1, 2))
    discordant = np.arange(*binom.interval(1 - 1e-10, transects, up + down) + np.array([0, 1]))
    # Largest count of the rarer kind with which the two-sided test rejects; -1 where none does.
    most = binom.ppf(alpha / 2, discordant, 0.5)
    most -= 2 * binom.cdf(most, discordant, 0.5) >= alpha
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
        rarer = np.minimum(worse, better)[single_pairs]
        discordant = (worse + better)[single_pairs]
        p[single_pairs] = np.minimum(2 * binom.cdf(rarer, discordant, 0.5), 1)
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
