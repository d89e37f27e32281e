"""What annotators' noise does to an effect, and how to undo it (chapter 12)."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import binom, multivariate_normal, norm

from helpers.effects.pair_correlation import Design, shared_pair_correlation
from helpers.utils.checks import check_range, check_whole, require_columns


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

    Returns:
        The share, from 0 to 1.

    Raises:
        ValueError: a reliability outside [0, 1], a prevalence outside (0, 1).

    Example:
        >>> from helpers import effects
        >>> round(effects.attenuation(0.5), 6)
        0.5
    """
    check_range("reliability", reliability, 0, 1)
    check_range("prevalence", prevalence, 0, 1, "()")
    if reliability == 1:
        return 1.0
    cut = norm.isf(prevalence)
    r = np.sqrt(reliability)
    both = multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([-cut, -cut])
    return float((both - prevalence**2) / (prevalence * (1 - prevalence)))


def disattenuate(effects: pd.DataFrame, factor: float, margin: float = 0.0) -> pd.DataFrame:
    """Effects corrected for a dilution by `factor`, such as `attenuation` or 1 − 2 label noise.

    The correction makes an effect larger, never more certain: an interval that holds zero still
    does. Spearman, American Journal of Psychology 15 (1904) 72-101.

    Args:
        effects: columns estimate, low and high, which are divided by the factor.
        factor: share of the effect that is left, in (0, 1].
        margin: half the width of the factor's 95 % interval; widens both sides by its share of the
            corrected estimate, in quadrature.

    Returns:
        The frame with the three columns corrected.

    Raises:
        ValueError: a missing column, a factor or margin outside its range.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> slope = pd.DataFrame({"estimate": [0.05], "low": [0.01], "high": [0.09]})
        >>> effects.disattenuate(slope, 0.5).values.round(2).tolist()
        [[0.1, 0.02, 0.18]]
    """
    require_columns(effects, ["estimate", "low", "high"])
    check_range("factor", factor, 0, 1, "(]")
    check_range("margin", margin, 0, np.inf, "[)")
    estimate = effects["estimate"] / factor
    added = estimate * margin / factor
    below = np.hypot((effects["estimate"] - effects["low"]) / factor, added)
    above = np.hypot((effects["high"] - effects["estimate"]) / factor, added)
    return effects.assign(estimate=estimate, low=estimate - below, high=estimate + above)


def label_noise(rater_error: float, raters: int) -> float:
    """Chance that the majority of raters mislabels an image; a tie is decided by a coin.

    Args:
        rater_error: chance that one rater does, in [0, 0.5), independently of the others: raters
            who share their errors gain less.
        raters: their number.

    Returns:
        The chance, in [0, 0.5).

    Raises:
        ValueError: an error or a number of raters outside its range.

    Example:
        >>> from helpers import effects
        >>> round(effects.label_noise(0.1, 3), 3)
        0.028
    """
    check_range("rater_error", rater_error, 0, 0.5, "[)")
    check_whole("raters", raters, 1)
    tie = binom.pmf(raters / 2, raters, rater_error) if raters % 2 == 0 else 0.0
    return float(binom.sf(raters // 2, raters, rater_error) + tie / 2)


def noisy_design(design: Design, noise: float) -> Design:
    """A design as it is seen with label noise ε.

    A wrong label turns an error of the model into a right answer and the reverse: a rate p is seen
    as p(1 − ε) + (1 − p)ε, and differences shrink by 1 − 2ε. Covariances, within a pair and of the
    differences of two pairs, shrink by (1 − 2ε)². Noise must not depend on the image.

    Args:
        design: without noise; a `pair_correlation` of None stays None.
        noise: chance that a label is wrong, in [0, 0.5).

    Returns:
        The design with the difference, rate and correlations that will be seen.

    Raises:
        ValueError: noise outside its range, or a `pair_correlation` that is less than the other
            values imply (`shared_pair_correlation`).

    Example:
        >>> from helpers import effects
        >>> seen = effects.noisy_design(effects.Design(difference=0.02, base_rate=0.05), 0.1)
        >>> round(seen.base_rate, 3), round(seen.difference, 3)
        (0.14, 0.016)
    """
    check_range("noise", noise, 0, 0.5, "[)")
    true = np.array(design.risks)
    seen = true + noise - 2 * noise * true
    deviations = np.sqrt((true * (1 - true)).prod() / (seen * (1 - seen)).prod())
    noisy = replace(
        design,
        difference=float(seen[1] - seen[0]),
        base_rate=float(seen[0]),
        within=float(design.within * (1 - 2 * noise) ** 2 * deviations),
    )
    if design.pair_correlation is None:
        return noisy
    least = shared_pair_correlation(design)
    if not least - 1e-9 <= design.pair_correlation < 1:
        raise ValueError(
            f"pair_correlation is {design.pair_correlation}, a number in [{least:.4f}, 1) was "
            f"expected with these rates and within={design.within}"
        )
    shrunk = design.pair_correlation * (1 - 2 * noise) ** 2 * design.variance / noisy.variance
    return replace(noisy, pair_correlation=float(shrunk))


def rogan_gladen(rate: float, noise: float) -> float:
    """Error rate behind the rate seen with label noise, kept in [0, 1].

    Rogan & Gladen, American Journal of Epidemiology 107 (1978) 71-76, for a sensitivity and
    specificity of 1 − noise. Differences of rates: `disattenuate` with the factor 1 − 2 noise.

    Args:
        rate: error rate that was seen, in [0, 1].
        noise: chance that a label is wrong, in [0, 0.5), whether the model is right or not.

    Returns:
        The corrected rate.

    Raises:
        ValueError: a rate or noise outside its range.

    Example:
        >>> from helpers import effects
        >>> round(effects.rogan_gladen(0.14, 0.1), 3)
        0.05
    """
    check_range("noise", noise, 0, 0.5, "[)")
    check_range("rate", rate, 0, 1)
    return float(np.clip((rate - noise) / (1 - 2 * noise), 0, 1))
