"""What annotators' noise does to an effect, and how to undo it."""

import numpy as np
import pandas as pd
from scipy.stats import binom, multivariate_normal, norm

from helpers.effects.pair_correlation import discordant_share, shared_pair_correlation
from helpers.utils.checks import check_number, check_whole, require_columns


def attenuation(reliability: float, prevalence: float = 0.5) -> float:
    """Share of an attribute's effect that remains when images are split by a noisy score.

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
    """
    if not 0 <= reliability <= 1:
        raise ValueError(f"reliability is {reliability}, a number in [0, 1] was expected")
    if not 0 < prevalence < 1:
        raise ValueError(f"prevalence is {prevalence}, a number between 0 and 1 was expected")
    if reliability == 1:
        return 1.0
    cut = norm.isf(prevalence)
    r = np.sqrt(reliability)
    both = multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([-cut, -cut])
    return float((both - prevalence**2) / (prevalence * (1 - prevalence)))


def disattenuate(effects: pd.DataFrame, factor: float, margin: float = 0.0) -> pd.DataFrame:
    """Effects corrected for a dilution by `factor`, such as `attenuation` or 1 − 2 label noise.

    Divides estimate, low and high. `margin` is half the width of the factor's 95 % interval, and
    widens both sides by its share of the corrected estimate, in quadrature. The correction
    makes an effect larger, never more certain: an interval that holds zero still does.
    """
    require_columns(effects, ["estimate", "low", "high"])
    if not 0 < factor <= 1:
        raise ValueError(f"factor is {factor}, a number in (0, 1] was expected")
    if not margin >= 0:
        raise ValueError(f"margin is {margin}, a number of at least 0 was expected")
    estimate = effects["estimate"] / factor
    added = estimate * margin / factor
    below = np.hypot((effects["estimate"] - effects["low"]) / factor, added)
    above = np.hypot((effects["high"] - effects["estimate"]) / factor, added)
    return effects.assign(estimate=estimate, low=estimate - below, high=estimate + above)


def label_noise(rater_error: float, raters: int) -> float:
    """Chance that the majority of raters mislabels an image; a tie is decided by a coin.

    Each errs with chance `rater_error`, independently: raters who share their errors gain less.
    """
    if not 0 <= check_number("rater_error", rater_error) < 0.5:
        raise ValueError(f"rater_error is {rater_error}, a number in [0, 0.5) was expected")
    check_whole("raters", raters, 1)
    tie = binom.pmf(raters / 2, raters, rater_error) if raters % 2 == 0 else 0.0
    return float(binom.sf(raters // 2, raters, rater_error) + tie / 2)


def noisy_design(
    difference: float, base_rate: float, within: float, noise: float
) -> tuple[float, float, float]:
    """Difference, base rate and within-pair correlation of errors, as seen with label noise.

    A wrong label turns an error of the model into a right answer and the reverse: a rate p is seen
    as p(1 − ε) + (1 − p)ε, and differences shrink by 1 − 2ε. Noise must not depend on the image.
    """
    _check_noise(noise)
    true = np.array([base_rate, base_rate + difference])
    seen = true + noise - 2 * noise * true
    deviations = np.sqrt((true * (1 - true)).prod() / (seen * (1 - seen)).prod())
    correlation = within * (1 - 2 * noise) ** 2 * deviations
    return float(seen[1] - seen[0]), float(seen[0]), float(correlation)


def noisy_pair_correlation(
    pair_correlation: float, difference: float, base_rate: float, within: float, noise: float
) -> float:
    """ρ_d, the correlation of two pairs' differences, as seen with label noise ε.

    Noise shrinks the covariance of two differences by (1 − 2ε)² and changes their variance ψ − Δ²
    to that of `noisy_design`. The other arguments are of the errors without noise. Raises
    ValueError where `pair_correlation` is less than these imply (`shared_pair_correlation`).
    """
    least = shared_pair_correlation(difference, base_rate, within)
    if not least - 1e-9 <= check_number("pair_correlation", pair_correlation) < 1:
        raise ValueError(
            f"pair_correlation is {pair_correlation}, a number in [{least:.4f}, 1) was expected "
            f"with these rates and within={within}"
        )
    true = difference, base_rate, within
    seen = noisy_design(*true, noise)
    before, after = (discordant_share(*design) - design[0] ** 2 for design in (true, seen))
    return float(pair_correlation * (1 - 2 * noise) ** 2 * before / after)


def rogan_gladen(rate: float, noise: float) -> float:
    """Error rate behind the rate seen with label noise, kept in [0, 1].

    Rogan & Gladen, American Journal of Epidemiology 107 (1978) 71-76, for a sensitivity and
    specificity of 1 − noise. Differences of rates: `disattenuate` with the factor 1 − 2 noise.
    """
    _check_noise(noise)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}, a number in [0, 1] was expected")
    return float(np.clip((rate - noise) / (1 - 2 * noise), 0, 1))


def _check_noise(noise: float) -> None:
    if not 0 <= check_number("noise", noise) < 0.5:
        raise ValueError(f"noise is {noise}, a number in [0, 0.5) was expected")
