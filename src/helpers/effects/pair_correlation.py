"""Errors of the pairs of a transect, as planned and as found: correlated within pairs and between.

Planned: an image errs where a normal variable falls below a threshold, and the images of one
transect share part of that variable. Given what they share, their errors are independent, so that
the chance of every possible transect is an integral over it. A transect of one pair needs no such
variable: two rates and their correlation say all of it, and the correlation may be negative, as
where an attribute decides who is misread. Found: the same rates and correlations, counted in the
errors of a finished audit. A plan needs both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from helpers.utils.checks import check_number, check_range, check_whole

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
ROUNDING = 1e-12
"""Chances that are less below 0 are 0."""
MOST_SHARED = 0.995
"""Largest latent correlation: beyond it, the integrals over the transects would be inaccurate."""


@dataclass(frozen=True)
class Design:
    """What an audit is planned for: an effect, and how the errors of pairs hang together.

    Args:
        difference: risk at the higher level minus at the lower, as a fraction.
        base_rate: risk at the lower level.
        within: correlation of the errors of the two images of a pair, from 0 on, or below 0 where a
            transect has one pair.
        retention: chance that an image survives pruning, independently of the others.
        pairs: pairs per transect before pruning: 4 averages over a 2 x 2 x 2 design, 1 is a cell.
        pair_correlation: ρ_d, of the differences of two pairs of a transect. None is the least that
            is possible (`shared_pair_correlation`), and 0 for the plain formula; more means an
            effect that varies between transects.

    Raises:
        ValueError: a number outside its range.

    Example:
        >>> from dataclasses import replace
        >>> from helpers import effects
        >>> plan = effects.Design(difference=0.02, base_rate=0.05)
        >>> replace(plan, retention=2 / 3).pairs_left
        1.7777777777777777
    """

    difference: float
    base_rate: float
    within: float = 0.05
    retention: float = 1.0
    pairs: int = 4
    pair_correlation: float | None = None

    def __post_init__(self) -> None:
        check_range("base_rate", self.base_rate, 0, 1, "()")
        if not 0 < self.base_rate + check_number("difference", self.difference) < 1:
            raise ValueError(
                f"difference is {self.difference}: base_rate + difference must lie between 0 and 1"
            )
        check_range("retention", self.retention, 0, 1, "(]")
        check_whole("pairs", self.pairs, 1)
        least, ends = (-1, "()") if self.pairs == 1 else (0, "[)")
        check_range("within", self.within, least, 1, ends)

    @property
    def risks(self) -> tuple[float, float]:
        """Risks at the lower and at the higher level."""
        return self.base_rate, self.base_rate + self.difference

    @property
    def pairs_left(self) -> float:
        """Complete pairs that a transect keeps on average: a pair needs both its images."""
        return self.pairs * self.retention**2

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


def shared_pair_correlation(design: Design) -> float:
    """The least ρ_d: what `within` alone implies when transects share one effect, latently.

    Args:
        design: of which the two risks and `within` count.

    Returns:
        Correlation of the differences of two pairs of one transect.

    Raises:
        ValueError: errors with these risks cannot correlate by `within`.

    Example:
        >>> from helpers import effects
        >>> plan = effects.Design(difference=0.02, base_rate=0.05, within=0.4)
        >>> round(effects.shared_pair_correlation(plan), 4)
        0.0181
    """
    return _pair_correlation(*_with_one_effect(design, _across(design)))


def planning_values(
    frame: pd.DataFrame, outcome: str, attribute: str, by: Sequence[str], transect: str
) -> dict[str, float]:
    """What the errors of a finished audit say about the pairs along one axis.

    Args:
        frame: a row per image; complete pairs count.
        outcome: column of the errors, 0 or 1.
        attribute: column of the level (0 or 1) in which the images of a pair differ.
        by: columns of the other axes' levels, in which they agree.
        transect: column of the transects.

    Returns:
        low and high, the error rates at the two levels; differ, the share of pairs in which one
        image is an error and the other is not; within, the correlation of the errors of a pair;
        between (ρ_d), the mean correlation of the differences of two pairs of a transect.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> frame = pd.DataFrame({"face": [0, 0, 1, 1, 2, 2], "skin": [0, 1] * 3, "hair": 0})
        >>> frame["error"] = [0, 1, 0, 0, 1, 1]
        >>> found = effects.planning_values(frame, "error", "skin", ["hair"], "face")
        >>> round(found["differ"], 3), round(found["within"], 3)
        (0.333, 0.5)
    """
    pairs = frame.pivot_table(outcome, [transect, *by], attribute).dropna()
    change = (pairs[1] - pairs[0]).rename("change").reset_index()
    alike = change.pivot_table("change", transect, list(by)).corr().to_numpy()
    between = alike[np.triu_indices(len(alike), 1)]
    return {
        "low": float(pairs[0].mean()),
        "high": float(pairs[1].mean()),
        "differ": float((pairs[0] != pairs[1]).mean()),
        "within": float(pairs[0].corr(pairs[1])),
        "between": float(np.nanmean(between)) if len(between) else np.nan,
    }


@cache
def transect_types(design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Possible transects: complete, worse and better pairs (T, 3), and their chances (T,)."""
    weights, worse, better = _one_pair(design) if design.pairs == 1 else _alike_pairs(design)
    types, chances = [], []
    for n in range(design.pairs + 1):
        for up, down in ((i, j) for i in range(n + 1) for j in range(n + 1 - i)):
            ways = comb(n, up) * comb(n - up, down)
            equal = (1 - worse - better) ** (n - up - down)
            left = binom.pmf(n, design.pairs, design.retention**2)
            types.append((n, up, down))
            chances.append(left * ways * (weights @ (worse**up * better**down * equal)))
    return np.array(types), np.array(chances) / np.sum(chances)


def _one_pair(design: Design) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A weight of 1 and the chances of a worse and of a better pair, (1,) each."""
    p0, p1 = design.risks
    cells = np.array([p1 - p0 * p1, p0 - p0 * p1]) - design.covariance
    both, neither = p0 * p1 + design.covariance, (1 - p0) * (1 - p1) + design.covariance
    if min(*cells, both, neither) < -ROUNDING:
        unit = design.covariance / design.within
        least = -min(p0 * p1, (1 - p0) * (1 - p1)) / unit
        most = min(p0, p1) * (1 - max(p0, p1)) / unit
        raise ValueError(
            f"within is {design.within}, but errors with the rates {p0:.3g} and {p1:.3g} correlate "
            f"by {least:.2f} at least and {most:.2f} at most"
        )
    worse, better = cells.clip(0)
    return np.ones(1), np.array([worse]), np.array([better])


def _alike_pairs(design: Design) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of transects, and in each the chances of a worse and of a better pair, (Q,)."""
    weights, low, high = _conditional_risks(design)
    return weights, high * (1 - low), low * (1 - high)


def _across(design: Design) -> float:
    """Correlation of the normal variables of two images that differ in the attribute."""
    p0, p1 = design.risks
    check_range("within", design.within, 0, 1, "[)")

    def excess(across: float) -> float:
        weights, low, high = _with_one_effect(design, across)
        return weights @ (low * high) - p0 * p1 - design.covariance

    if excess(MOST_SHARED) < 0:
        most = design.within * (excess(MOST_SHARED) + design.covariance) / design.covariance
        raise ValueError(
            f"within is {design.within}, but errors with the rates {p0:.3g} and {p1:.3g} correlate "
            f"by {most:.2f} at most"
        )
    return brentq(excess, 0.0, MOST_SHARED) if design.within > 0 else 0.0


def _with_one_effect(design: Design, across: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights and the two risks (Q,) of transects whose images all correlate by `across`."""
    return WEIGHTS, *(_conditional(p, across, NODES) for p in design.risks)


def _conditional_risks(design: Design) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights and the two risks of transects (Q,), at the nodes of a quadrature.

    Normal variables of one transect correlate by `across` when they differ in the attribute and by
    `same` when they do not.
    """
    across = _across(design)
    if design.pair_correlation is None:
        return _with_one_effect(design, across)
    weights = np.outer(WEIGHTS, WEIGHTS).ravel()
    first, second = (axis.ravel() for axis in np.meshgrid(NODES, NODES, indexing="ij"))

    def risks(same: float) -> tuple[np.ndarray, np.ndarray]:
        share = across / same if same else 0.0
        other = share * first + np.sqrt(1 - share**2) * second
        p0, p1 = design.risks
        return _conditional(p0, same, first), _conditional(p1, same, other)

    def surplus(same: float) -> float:
        return _pair_correlation(weights, *risks(same)) - design.pair_correlation

    least, most = (surplus(same) + design.pair_correlation for same in (across, MOST_SHARED))
    if not least - 1e-9 <= design.pair_correlation <= most:
        raise ValueError(
            f"pair_correlation is {design.pair_correlation}; with these rates and "
            f"within={design.within} it lies between {least:.4f} and {most:.4f}"
        )
    same = brentq(surplus, across, MOST_SHARED) if design.pair_correlation > least else across
    return weights, *risks(same)


def _conditional(p: float, correlation: float, node: np.ndarray) -> np.ndarray:
    return ndtr((ndtri(p) - np.sqrt(correlation) * node) / np.sqrt(1 - correlation))


def _pair_correlation(weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Variance of the transects' expected differences, over that of single differences."""
    mean = weights @ (high - low)
    discordant = weights @ (high * (1 - low) + low * (1 - high))
    return float((weights @ (high - low) ** 2 - mean**2) / (discordant - mean**2))
