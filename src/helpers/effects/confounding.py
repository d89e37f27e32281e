"""How strong something not annotated would have to be to change a conclusion (note N2)."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize.elementwise import find_root
from scipy.special import bdtrc

from helpers.utils.checks import check_range, require_columns


def e_value(rr: ArrayLike, null: ArrayLike = 1.0) -> np.ndarray | float:
    """E-value of a risk ratio: rr + √(rr (rr − 1)), ratios below one inverted first.

    The least risk ratio by which an unmeasured confounder must be associated with both attribute
    and error to move the estimate to `null`. For a finding, that is 1; beside "no effect", set it
    to the smallest ratio that would matter, and the E-value says how much could be hidden.
    VanderWeele & Ding, Annals of Internal Medicine 167 (2017) 268-274.

    Args:
        rr: risk ratios (...), at least 0.
        null: a positive ratio for all, or one for each.

    Returns:
        E-values (...): infinite for a ratio of 0, NaN where a ratio is.

    Raises:
        ValueError: a negative ratio, or a `null` that is not positive.

    Example:
        >>> from helpers import effects
        >>> effects.e_value([1.0, 2.0, 0.5]).round(2).tolist()
        [1.0, 3.41, 3.41]
    """
    rr, null = np.asarray(rr, dtype=np.float64), np.asarray(null, dtype=np.float64)
    if (rr < 0).any():
        raise ValueError(f"rr is {rr[rr < 0].flat[0]}, a risk ratio of at least 0 was expected")
    if ((null <= 0) | np.isinf(null)).any():
        raise ValueError(f"null is {null}, a positive risk ratio was expected")
    with np.errstate(divide="ignore"):
        ratio = np.maximum(rr / null, null / rr)
    return (ratio + np.sqrt(ratio * (ratio - 1)))[()]


def e_values(effects: pd.DataFrame, base_rate: ArrayLike, null: float = 0.0) -> pd.DataFrame:
    """E-values of risk differences: how much confounding would move them to the difference `null`.

    Args:
        effects: columns estimate, low and high, risk differences as fractions.
        base_rate: error rate without the attribute, of every row or one for all; taken as known.
        null: the difference to explain away, or the tolerance that might be hidden.

    Returns:
        Index of `effects`; rr, rr_low, rr_high, e_value, e_value_limit, and reason, which says why
        a row has none.

    Raises:
        ValueError: a missing column.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> found = pd.DataFrame({"estimate": [0.05], "low": [0.02], "high": [0.08]})
        >>> effects.e_values(found, 0.05)["e_value"].round(2).tolist()
        [3.41]
    """
    require_columns(effects, ["estimate", "low", "high"])
    base = pd.Series(np.broadcast_to(base_rate, len(effects)), effects.index, dtype=float)
    base = base.where(base + null > 0)
    ratio = (base + null) / base
    # An interval may reach below a rate of zero; no risk ratio does.
    columns = {"rr": "estimate", "rr_low": "low", "rr_high": "high"}
    table = pd.DataFrame({name: (base + effects[c]) / base for name, c in columns.items()})
    table = table.clip(lower=0)
    # Of the limit that is nearest to the null; 1 where the interval holds it.
    unknown = table["rr_low"].isna() | table["rr_high"].isna()
    nearest = np.clip(ratio, table["rr_low"], table["rr_high"])
    reason = np.where(base.notna() & table["rr"].isna(), "no estimate", "")
    return table.assign(
        e_value=e_value(table["rr"], ratio),
        e_value_limit=e_value(np.where(unknown, np.nan, nearest), ratio),
        reason=np.where(base.isna(), "no error at the base", reason),
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
        Γ (...); NaN where the test does not reject: there is nothing to be sensitive.

    Raises:
        ValueError: counts that are not whole numbers of at least 0, a level outside (0, 1).

    Example:
        >>> from helpers import effects
        >>> effects.rosenbaum_gamma([30, 10], [5, 10]).round(2).tolist()
        [2.46, nan]
    """
    b, c = np.asarray(b, dtype=np.float64), np.asarray(c, dtype=np.float64)
    if not all(((count >= 0) & (count == np.floor(count))).all() for count in (b, c)):
        raise ValueError(f"b is {b}, c is {c}: whole numbers of at least 0 were expected")
    check_range("alpha", alpha, 0, 1, "()")
    n, commoner = (b + c).astype(np.int64), np.maximum(b, c)

    def excess(chance: np.ndarray, commoner: np.ndarray, n: np.ndarray) -> np.ndarray:
        return bdtrc(commoner - 1, n, chance) + bdtrc(commoner, n, chance) - alpha

    found = find_root(excess, (0.5, 1.0), args=(commoner, n))
    return np.where(found.success, found.x / (1 - found.x), np.nan)[()]


def leakage_tipping_point(effect: ArrayLike, leakage: ArrayLike) -> np.ndarray | float:
    """Effect γ per unit of a hidden attribute that would account for an estimated effect.

    Moving along a direction also changes the hidden attribute, by `leakage` (δ) on average. That
    adds δ γ to the risk difference, which reaches it where |δ γ| ≥ |RD|: at |RD| / |δ|.

    Args:
        effect: risk differences (...); of an interval, the limit nearest to zero.
        leakage: change of the hidden attribute from the lower to the higher level (...).

    Returns:
        γ (...): infinite without leakage, since nothing the attribute does could then explain the
        effect; NaN where an effect is.

    Example:
        >>> from helpers import effects
        >>> effects.leakage_tipping_point([0.05, -0.05], [0.1, 0.0]).tolist()
        [0.5, inf]
    """
    size, leakage = np.abs(effect), np.abs(np.asarray(leakage, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((leakage == 0) & ~np.isnan(size), np.inf, size / leakage)[()]
