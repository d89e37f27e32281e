"""Risk differences by g-computation, clustered, with intervals that hold when errors are rare.

Chapter 10 introduces them; chapters 11, 12 and 14 use them.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from helpers.effects.gcomputation import (
    Cell,
    Risks,
    adjusted_risks,
    corrected_influence,
    crude_risks,
    read_cells,
)
from helpers.effects.verdicts import holm, mde, verdict

LARGEST_QUANTILE = 40.0
"""Where p-values are told apart from zero no more."""
SECTIONS, ROUNDS = 32, 10
"""Into how many parts that range is cut, and how often: to 2^-50 of it."""


def risk_differences(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    adjust: Sequence[str] = (),
    tolerance: float = 0.05,
) -> pd.DataFrame:
    """Risk of `outcome` at the higher level of `treatment` minus at the lower, by cell of `by`.

    Without `adjust` it is the difference of two rates. With it, both risks are predicted for all
    images of the cell, from a logit of its own with main effects of the treatment and of the
    categorical columns `adjust`, and averaged (g-computation; Hernán & Robins, Causal Inference:
    What If, chapter 13).

    Args:
        frame: one row per image.
        outcome: column of 0 and 1, or in between where it is a rate, such as of several answers.
        treatment: column of the levels that are compared.
        by: columns of the cells.
        cluster: column of the units of inference; None: rows are independent.
        adjust: categorical columns.
        tolerance: for the verdict.

    Returns:
        One row per combination of levels of `by` ("all" without), with the columns

        - estimate, low, high: difference and 95 % interval, see `hybrid_score_interval`, with
          Student quantiles;
        - p: at which the interval would end in zero; p_holm: Holm over the rows;
        - n: images; dropped: those left out, for want of an outcome, a treatment or a cluster;
          clusters: those with an image in the cell;
        - verdict: against ±`tolerance`, see `helpers.effects.verdict`; mde: the minimum detectable
          effect at the standard error that the width of the interval implies, with Student
          quantiles;
        - reason: why something is not estimable (NaN), else empty.

        `attrs["firth"]` says whether Firth's penalty was needed, because a coefficient would be
        infinite.

    Raises:
        ValueError: an empty frame, a missing column, a missing level of `by` or `adjust`, an
            outcome outside of [0, 1], more than two levels of the treatment, a covariate of more
            levels than bins have (`logits.MOST_LEVELS`), or a column in two roles.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> dark, error = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1]
        >>> frame = pd.DataFrame({"dark": dark, "error": error})
        >>> effects.risk_differences(frame, "error", "dark").loc["all", "estimate"].item()
        0.5
    """
    cells, index = read_cells(frame, outcome, treatment, by, cluster, adjust)
    risks = [(adjusted_risks if adjust else crude_risks)(cell) for cell in cells]
    table = pd.DataFrame(_differences(cells, risks, tolerance), index=index)
    table.attrs["firth"] = any(found.firth for found in risks)
    return table


def direct_effects(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    mediators: Sequence[str],
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    tolerance: float = 0.05,
) -> pd.DataFrame:
    """Total effect, controlled direct effect and their difference, by cell.

    The total effect lets the `mediators` (what the manipulation itself changes, such as facial hair
    and makeup) follow the treatment; the direct effect is `risk_differences` with them in `adjust`.
    It takes them to act alike at both levels of the treatment (no interaction, in log odds), and
    nothing unadjusted to move both a mediator and the errors.

    Args:
        frame, outcome, treatment, by, cluster, tolerance: as of `risk_differences`.
        mediators: categorical columns.

    Returns:
        Rows: cells, then effect ("total", "direct", "total - direct"); columns of
        `risk_differences`. The interval of the difference is a Student interval from the same
        influence functions, both estimates being from the same images; Holm covers each effect.

    Raises:
        ValueError: as of `risk_differences`.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> male, beard, error = [*"00001111"], [*"00010111"], [0, 1, 0, 1, 1, 0, 1, 1]
        >>> frame = pd.DataFrame({"male": male, "beard": beard, "error": error})
        >>> table = effects.direct_effects(frame, "error", "male", ["beard"])
        >>> table.index.get_level_values("effect").tolist()
        ['total', 'direct', 'total - direct']
    """
    cells, index = read_cells(frame, outcome, treatment, by, cluster, mediators)
    total, direct = [crude_risks(cell) for cell in cells], [adjusted_risks(cell) for cell in cells]
    tables = {
        "total": _differences(cells, total, tolerance),
        "direct": _differences(cells, direct, tolerance),
        "total - direct": _eliminated(cells, total, direct, tolerance),
    }
    tables = {name: pd.DataFrame(table, index=index) for name, table in tables.items()}
    table = pd.concat(tables, names=["effect"])
    table = table.reorder_levels([*index.names, "effect"]).loc[list(index)]
    table.attrs["firth"] = any(found.firth for found in direct)
    return table


def score_interval(
    risk: np.ndarray, size: np.ndarray, quantile: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a risk whose variance is that of `size` independent images.

    Args:
        risk: (...), in [0, 1].
        size: (...), above 0; it need not be whole.
        quantile: of the normal or Student distribution.

    Returns:
        Lower and upper ends, (...) each.

    Example:
        >>> import numpy as np
        >>> from helpers import effects
        >>> low, high = effects.score_interval(np.array([0.0]), np.array([40.0]), 1.96)
        >>> round(high.item(), 3)
        0.088
    """
    middle = (risk + quantile**2 / (2 * size)) / (1 + quantile**2 / size)
    spread = np.sqrt(risk * (1 - risk) / size + (quantile / (2 * size)) ** 2)
    spread *= quantile / (1 + quantile**2 / size)
    return middle - spread, middle + spread


def hybrid_score_interval(
    risk: np.ndarray, size: np.ndarray, correlation: np.ndarray, quantile: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Interval of risk[:, 1] - risk[:, 0] from Wilson's intervals of the two risks.

    Newcombe, Statistics in Medicine 17 (1998) 873-890 (independent risks, method 10) and 2635-2650
    (paired ones). Wider than zero, and on either side of the estimate, even where there is no
    error at all.

    Args:
        risk: (..., 2), in [0, 1].
        size: (..., 2), sizes of samples of independent images with equal variances.
        correlation: (...), of the two estimated risks.
        quantile: (...), of the normal or Student distribution.

    Returns:
        Lower and upper ends, (...) each.

    Example:
        >>> import numpy as np
        >>> from helpers import effects
        >>> low, high = effects.hybrid_score_interval(
        ...     np.array([[0.1, 0.3]]), np.array([[100.0, 100.0]]), np.array([0.0]), 1.96
        ... )
        >>> low.round(3).item(), high.round(3).item()
        (0.09, 0.306)
    """
    lower, upper = score_interval(risk, size, np.asarray(quantile)[..., None])
    below, above = risk - lower, upper - risk
    estimate = risk[..., 1] - risk[..., 0]
    low = estimate - _joined(below[..., 1], above[..., 0], correlation)
    high = estimate + _joined(above[..., 1], below[..., 0], correlation)
    return low, high


def hybrid_score_p(
    risk: np.ndarray, size: np.ndarray, correlation: np.ndarray, df: np.ndarray
) -> np.ndarray:
    """Two-sided p at whose quantile `hybrid_score_interval` ends in zero, by section.

    Args:
        risk: (C, 2), in [0, 1].
        size: (C, 2), NaN where there is no test.
        correlation: (C,), of the two estimated risks.
        df: (C,), degrees of freedom.

    Returns:
        (C,) float64.

    Example:
        >>> import numpy as np
        >>> from helpers import effects
        >>> sizes, none, many = np.array([[100.0, 100.0]]), np.array([0.0]), np.array([np.inf])
        >>> effects.hybrid_score_p(np.array([[0.1, 0.3]]), sizes, none, many).round(4).item()
        0.0005
    """
    # With the arms in order of their risks, the lower end is the one that reaches zero.
    order = np.argsort(risk, axis=1)
    cells = np.arange(len(risk))
    risk, size = (np.take_along_axis(values, order, 1) for values in (risk, size))
    estimate = risk[:, 1] - risk[:, 0]
    inside, width = np.zeros(len(risk)), LARGEST_QUANTILE / SECTIONS
    for _ in range(ROUNDS):
        # Many quantiles at once: with few cells, the calls cost more than the arithmetic.
        quantiles = inside + width * np.arange(SECTIONS + 1)[:, None]
        lower, upper = score_interval(risk, size, quantiles[1:-1, :, None])
        below, above = risk[:, 1] - lower[..., 1], upper[..., 0] - risk[:, 0]
        holds = estimate <= _joined(below, above, correlation)
        first = np.where(holds.any(axis=0), holds.argmax(axis=0), SECTIONS - 1)
        inside, width = quantiles[first, cells], width / SECTIONS
    outside = inside + width * SECTIONS
    return np.where(np.isnan(size).any(axis=1), np.nan, 2 * stdtr(df, -outside))


def _joined(first: np.ndarray, second: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    return np.sqrt((first**2 + second**2 - 2 * correlation * first * second).clip(0))


def _differences(
    cells: Sequence[Cell], risks: Sequence[Risks], tolerance: float
) -> dict[str, np.ndarray]:
    """Columns of `risk_differences`, (C,) each."""
    n = np.array([cell.n for cell in cells])
    arms = np.array([cell.present.sum(axis=0) for cell in cells])
    risk = np.array([found.risk for found in risks])
    influence, df = zip(*map(corrected_influence, cells, risks), strict=True)
    variance = np.array([(moved**2).sum(axis=0) for moved in influence])
    covariance = np.array([moved.prod(axis=1).sum() for moved in influence])
    df, reason = np.array(df), np.array([*map(_reason, cells, risks)], dtype=object)
    binomial = risk * (1 - risk)
    # Where clusters do not differ (no error, or as many in each), each counts as one image.
    # Rounding must not tell apart the clusters of an arm in which all or none err.
    equal = variance <= 1e-9 * np.maximum(binomial, 1e-9) / np.maximum(n, 1)
    size = np.where(equal, arms, binomial / np.where(equal, 1.0, variance))
    # Newcombe's correction of a positive correlation, without which a width could be zero.
    covariance -= np.clip(covariance, 0, 0.5 / np.where(arms > 0, size, 1.0).prod(axis=1))
    scale = np.sqrt(np.where(equal, np.inf, variance).prod(axis=1))
    correlation = np.divide(covariance, scale, out=np.zeros(scale.shape), where=scale > 0)
    correlation = correlation.clip(-1, 1)

    obstacle = np.array([found.obstacle != "" for found in risks])
    estimate = np.where((n == 0).any(axis=1) | obstacle, np.nan, risk[:, 1] - risk[:, 0])
    size = np.where((reason == "")[:, None], size, np.nan)
    quantile = stdtrit(df, 0.975)
    low, high = hybrid_score_interval(risk, size, correlation, quantile)
    inner = hybrid_score_interval(risk, size, correlation, stdtrit(df, 0.95))
    p = hybrid_score_p(risk, size, correlation, df)
    return {
        "estimate": estimate,
        "low": low,
        "high": high,
        "p": p,
        "p_holm": holm(p),
        "n": n.sum(axis=1),
        "dropped": np.array([cell.dropped for cell in cells]),
        "clusters": np.array([len(cell.present) for cell in cells]),
        "verdict": verdict(low, high, *inner, tolerance),
        "mde": mde((high - low) / (2 * quantile), df=df),
        "reason": reason,
    }


def _reason(cell: Cell, risks: Risks) -> str:
    """Why a cell has no interval, else empty."""
    absent, single = cell.n == 0, cell.present.sum(axis=0) == 1
    if absent.all():
        lacking = "every image lacks its outcome, treatment or cluster"
        return lacking if cell.dropped else "no image"
    if not all(cell.levels):
        return "constant treatment"
    if absent.any():
        return f"no image with {cell.levels[absent.argmax()]}"
    if risks.obstacle:
        return risks.obstacle
    if len(cell.present) == 1:
        return "one cluster"
    return f"one {cell.unit} with {cell.levels[single.argmax()]}" if single.any() else ""


def _eliminated(
    cells: Sequence[Cell], total: Sequence[Risks], direct: Sequence[Risks], tolerance: float
) -> dict[str, np.ndarray]:
    """Columns of `_differences` for the total minus the direct effect, by a Student interval."""
    table = _differences(cells, direct, tolerance)
    first, second = (
        [corrected_influence(*pair) for pair in zip(cells, risks, strict=True)]
        for risks in (total, direct)
    )
    gaps = [np.diff(a - b, axis=1) for (a, _), (b, _) in zip(first, second, strict=True)]
    se, df = np.array([np.sqrt((gap**2).sum()) for gap in gaps]), np.array([df for _, df in first])
    risk = np.array([a.risk - b.risk for a, b in zip(total, direct, strict=True)])
    same = (table["reason"] == "") & (se == 0)
    table["reason"] = np.where(same, "no image tells the effects apart", table["reason"])
    se = np.where(table["reason"] == "", se, np.nan)
    estimate = np.where(np.isnan(table["estimate"]), np.nan, risk[:, 1] - risk[:, 0])
    limits = [
        estimate + sign * stdtrit(df, level) * se for level in (0.975, 0.95) for sign in (-1, 1)
    ]
    p = 2 * stdtr(df, -np.abs(estimate) / se)
    changed = {"estimate": estimate, "low": limits[0], "high": limits[1], "p": p, "p_holm": holm(p)}
    return table | changed | {"verdict": verdict(*limits, tolerance), "mde": mde(se, df=df)}
