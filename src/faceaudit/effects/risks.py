"""Risk differences by g-computation, clustered, with intervals that hold when errors are rare.

A risk is the rate of errors that a cell would have if all of its images had one level of the
treatment (Hernán & Robins, Causal Inference: What If, chapter 13). Its uncertainty is that of its
influence function summed over the images of a cluster, so that images of a transect need not be
independent, whether the treatment varies within transects (manipulated) or between them (of the
seed).

Covariates that are levels of attributes leave few distinct patterns, so a logit needs only the
numbers of trials and errors of every pattern. One product of weights and counts gives them for
every resample, and one batched Newton iteration fits all of them (transects, section 5.5,
bootstraps the same logit 1,000 times).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import expit, logit, stdtr, stdtrit

from faceaudit.effects.resampling import as_codes
from faceaudit.effects.verdicts import Z, holm, mde, verdict
from faceaudit.utils.arguments import (
    as_rates,
    refuse,
    require_columns,
    require_present,
    require_rows,
)
from faceaudit.utils.errors import InputError

RANK_TOLERANCE = 1e-9
"""A column is a combination of others when less than this part of it remains without them."""
NEWTON_TOLERANCE = 1e-8
"""Largest change of a linear predictor in the last Newton step; the error is then its square."""
MAX_STEPS = 2000
"""Most Newton steps; Firth's converge slowly where a level has a single image."""
SEPARATED = 30.0
"""A linear predictor that Newton takes beyond this, without a penalty, has no finite limit."""
LARGEST_QUANTILE = 40.0
"""Beyond this quantile, p-values cannot be distinguished from zero."""
SECTIONS = 32
"""Parts into which every round of the search for a quantile cuts its range."""
SEARCH_ROUNDS = 10
"""Rounds of that search, which narrow the range to 2^-50 of it."""
FEWEST_CLUSTERS = 10
"""Clusters of a level below which no adjusted difference compares it with another one."""
FEWEST_CLUSTERS_OF_SLOPE = 50
"""The same of a linear regression, whose sandwich takes more.

Where fewer people have a level, its 95% intervals hold the truth in as few as 88% of simulated
audits (`benchmarks/few_people.py`). The further rule of `alike_at_a_level` is needed as well.
"""
PEOPLE = ("identity", "person")
"""Names of columns of clusters that are people."""


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

        - estimate, low, high: difference and 95% interval, see `hybrid_score_interval`. Where no
          two images of a cell share a cluster, outcomes are 0 or 1 and there is no `adjust`, it is
          Newcombe's interval of independent risks, with their numbers of images and quantiles of
          the normal distribution. Otherwise sizes are those that clusters are worth, and quantiles
          are Student's;
        - low90, high90: the 90% interval, from which the verdict "within" follows;
        - p: at which the interval would end in zero; p_holm: Holm over the rows;
        - n: images; dropped: those left out, for want of an outcome, a treatment or a cluster;
          clusters: those with an image in the cell;
        - verdict: against ±`tolerance`, see `faceaudit.effects.verdict`; mde: the minimum
          detectable effect at the standard error that the width of the interval implies, with the
          same quantiles;
        - reason: why something is not estimable (NaN), else empty.

        `attrs["firth"]` says whether Firth's penalty was needed, because a coefficient would be
        infinite.

    Raises:
        ValueError: an empty frame, a missing column, a missing level of `by` or `adjust`, an
            outcome outside of [0, 1], or more than two levels of the treatment.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import effects
        >>> dark, error = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1, 1]
        >>> frame = pd.DataFrame({"dark": dark, "error": error})
        >>> effects.risk_differences(frame, "error", "dark").loc["all", "estimate"].item()
        0.5
    """
    cells, index = read_cells(frame, outcome, treatment, by, cluster, adjust)
    estimate = adjusted_risks if adjust else crude_risks
    risks = [estimate(cell) for cell in cells]
    table = pd.DataFrame(difference_columns(cells, risks, tolerance), index=index)
    table.attrs["firth"] = any(cell_risks.firth for cell_risks in risks)
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
        >>> from faceaudit import effects
        >>> male, beard, error = [*"00001111"], [*"00010111"], [0, 1, 0, 1, 1, 0, 1, 1]
        >>> frame = pd.DataFrame({"male": male, "beard": beard, "error": error})
        >>> table = effects.direct_effects(frame, "error", "male", ["beard"])
        >>> table.index.get_level_values("effect").tolist()
        ['total', 'direct', 'total - direct']
    """
    cells, index = read_cells(frame, outcome, treatment, by, cluster, mediators)
    total = [crude_risks(cell) for cell in cells]
    direct = [adjusted_risks(cell) for cell in cells]
    columns = {
        "total": difference_columns(cells, total, tolerance),
        "direct": difference_columns(cells, direct, tolerance),
        "total - direct": _eliminated_columns(cells, total, direct, tolerance),
    }
    tables = {effect: pd.DataFrame(table, index=index) for effect, table in columns.items()}
    table = pd.concat(tables, names=["effect"])
    table = table.reorder_levels([*index.names, "effect"]).loc[list(index)]
    table.attrs["firth"] = any(cell_risks.firth for cell_risks in direct)
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
        >>> from faceaudit import effects
        >>> low, high = effects.score_interval(np.array([0.0]), np.array([40.0]), 1.96)
        >>> round(high.item(), 3)
        0.088
    """
    middle = (risk + quantile**2 / (2 * size)) / (1 + quantile**2 / size)
    spread = np.sqrt(risk * (1 - risk) / size + (quantile / (2 * size)) ** 2)
    spread *= quantile / (1 + quantile**2 / size)
    return middle - spread, middle + spread


def wilson_interval(events: ArrayLike, n: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95% interval of a share: `score_interval` of independent images.

    Args:
        events: (...), how many of them.
        n: (...), of how many; NaN where there is none, and no interval.

    Returns:
        Lower and upper ends from 0 to 1, (...) each.

    Example:
        >>> from faceaudit.effects.risks import wilson_interval
        >>> [end.round(3).item() for end in wilson_interval(0, 40)]
        [0.0, 0.088]
    """
    size = np.asarray(n, float)
    low, high = score_interval(np.asarray(events, float) / size, size, Z)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def hybrid_score_interval(
    risk: np.ndarray, size: np.ndarray, correlation: np.ndarray, quantile: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Interval of risk[:, 1] - risk[:, 0] from Wilson's intervals of the two risks, within ±1.

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
        >>> from faceaudit.effects.risks import hybrid_score_interval
        >>> low, high = hybrid_score_interval(
        ...     np.array([[0.1, 0.3]]), np.array([[100.0, 100.0]]), np.array([0.0]), 1.96
        ... )
        >>> low.round(3).item(), high.round(3).item()
        (0.09, 0.306)
    """
    lower, upper = score_interval(risk, size, np.asarray(quantile)[..., None])
    below = risk - lower
    above = upper - risk
    estimate = risk[..., 1] - risk[..., 0]
    low = estimate - _joint_margin(below[..., 1], above[..., 0], correlation)
    high = estimate + _joint_margin(above[..., 1], below[..., 0], correlation)
    # Rounding may carry an end a little beyond 1, where all err at one level and none at the other.
    return np.clip(low, -1, 1), np.clip(high, -1, 1)


def hybrid_score_p(
    risk: np.ndarray, size: np.ndarray, correlation: np.ndarray, df: np.ndarray
) -> np.ndarray:
    """Two-sided p at whose quantile `hybrid_score_interval` ends in zero.

    The quantile is found by section: each round cuts its range into `SECTIONS` parts.

    Args:
        risk: (C, 2), in [0, 1].
        size: (C, 2), NaN where there is no test.
        correlation: (C,), of the two estimated risks.
        df: (C,), degrees of freedom.

    Returns:
        (C,) float64.

    Example:
        >>> import numpy as np
        >>> from faceaudit.effects.risks import hybrid_score_p
        >>> risk = np.array([[0.1, 0.3]])
        >>> size = np.array([[100.0, 100.0]])
        >>> hybrid_score_p(risk, size, np.array([0.0]), np.array([np.inf])).round(4).item()
        0.0005
    """
    # With the arms in order of their risks, the lower end is the one that reaches zero.
    order = np.argsort(risk, axis=1)
    cells = np.arange(len(risk))
    risk, size = (np.take_along_axis(values, order, 1) for values in (risk, size))
    estimate = risk[:, 1] - risk[:, 0]
    inside = np.zeros(len(risk))
    width = LARGEST_QUANTILE / SECTIONS
    for _ in range(SEARCH_ROUNDS):
        # Many quantiles at once: with few cells, the calls cost more than the arithmetic.
        quantiles = inside + width * np.arange(SECTIONS + 1)[:, None]
        lower, upper = score_interval(risk, size, quantiles[1:-1, :, None])
        below = risk[:, 1] - lower[..., 1]
        above = upper[..., 0] - risk[:, 0]
        holds = estimate <= _joint_margin(below, above, correlation)
        first = np.where(holds.any(axis=0), holds.argmax(axis=0), SECTIONS - 1)
        inside = quantiles[first, cells]
        width = width / SECTIONS
    outside = inside + width * SECTIONS
    return np.where(np.isnan(size).any(axis=1), np.nan, 2 * stdtr(df, -outside))


def _joint_margin(first: np.ndarray, second: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """Margin (...) of a difference, from the margins of two correlated risks (...)."""
    return np.sqrt((first**2 + second**2 - 2 * correlation * first * second).clip(0))


@dataclass(frozen=True)
class Cell:
    """Images of one cell.

    Attributes:
        error: outcomes (n,).
        arm: level of the treatment (n,), 0 or 1.
        cluster: code of the cluster (n,), 0 ... G - 1.
        covariates: for each one, codes (n,) of the levels that occur, in their order.
        dropped: number of rows that lack an outcome, a treatment or a cluster.
        levels: names of the two arms, "" for a level that no image has.
        unit: what a cluster is called, as of `name_of_unit`.
    """

    error: np.ndarray
    arm: np.ndarray
    cluster: np.ndarray
    covariates: list[np.ndarray]
    dropped: int
    levels: tuple[str, str]
    unit: str

    @cached_property
    def n(self) -> np.ndarray:
        """Images of either arm (2,)."""
        return np.bincount(self.arm, minlength=2)

    @cached_property
    def present(self) -> np.ndarray:
        """Which clusters have an image in either arm (G, 2)."""
        present = np.zeros((self.cluster.max(initial=-1) + 1, 2), bool)
        present[self.cluster, self.arm] = True
        return present


@dataclass(frozen=True)
class Risks:
    """Risks of the two arms of a cell.

    Attributes:
        risk: (2,), NaN for an arm without an image.
        influence: of the clusters on the risks (G, 2).
        share: (G,), proportional to the variance that every cluster would add to a difference if
            all images varied alike.
        obstacle: why there is no estimate, else empty.
        firth: whether Firth's penalty was needed.
        adjusted: whether a regression predicted the risks.
    """

    risk: np.ndarray
    influence: np.ndarray
    share: np.ndarray
    obstacle: str = ""
    firth: bool = False
    adjusted: bool = False


def read_cells(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    by: str | Sequence[str] | None,
    cluster: str | None,
    adjust: Sequence[str],
) -> tuple[list[Cell], pd.Index]:
    """The cells of `by` and their index; arguments and errors as of `risk_differences`."""
    by = [by] if isinstance(by, str) else list(by or [])
    required = [outcome, treatment] if cluster is None else [outcome, treatment, cluster]
    complete = complete_rows(frame, required, [*by, *adjust])
    error = as_rates(frame[outcome])[complete]
    arm, present = arms_of_levels(frame, treatment)
    # A treatment may have one level, or none: the names of the other arms are then empty.
    arm_names = [f"{treatment} = {level}" for level in present] + ["", ""]
    place, index = code_cells(frame, by)
    # Columns are read once for all cells, of which there may be thousands in repeated audits.
    clusters = as_codes(None if cluster is None else frame[cluster][complete], len(error))
    covariates = [code_levels(frame[column])[0][complete] for column in adjust]
    unit = name_of_unit(cluster, clusters)
    dropped = np.bincount(place[~complete], minlength=len(index))
    arm = arm[complete]
    cells = []
    for number, rows in enumerate(rows_by_code(place[complete], len(index))):
        cell = Cell(
            error=error[rows],
            arm=arm[rows],
            cluster=numbered(clusters[rows]),
            covariates=[numbered(code[rows]) for code in covariates],
            dropped=int(dropped[number]),
            levels=(arm_names[0], arm_names[1]),
            unit=unit,
        )
        cells.append(cell)
    return cells, index


def crude_risks(cell: Cell) -> Risks:
    """The rates of errors of the two arms."""
    errors = np.bincount(cell.arm, cell.error, minlength=2)
    risk = np.divide(errors, cell.n, out=np.full(2, np.nan), where=cell.n > 0)
    return _with_influence(cell, risk, np.tile(risk, (len(cell.arm), 1)), _rate_slopes(cell))


def adjusted_risks(cell: Cell) -> Risks:
    """Risks predicted by a logit of the arm and the covariates, averaged over the cell's images.

    An arm in which all or none err keeps its rate, which is the limit of maximum likelihood.
    Firth's penalty, which draws risks towards a half, is used only where another coefficient would
    be infinite.
    """
    crude = replace(crude_risks(cell), adjusted=True)
    mixed = (crude.risk > 0) & (crude.risk < 1)
    if not cell.n.all() or not mixed.any():
        return crude
    # Images with equal levels share their row of the regression, and few rows occur.
    first, pattern = collapse([cell.arm, *cell.covariates])
    arms = cell.arm[first]
    n = np.bincount(pattern)
    indicators = [code[first] == k for code in cell.covariates for k in range(1, code.max() + 1)]
    covariates = np.column_stack([*indicators, arms])[:, :-1]
    # Intercept, the arm where both are modelled, and the covariates, of all images in one arm.
    ends = [[[1.0], [arm]] if mixed.all() else 1.0 for arm in (0, 1)]
    by_arm = [np.insert(covariates.astype(np.float64), 0, end, axis=1) for end in ends]
    X = np.where(arms[:, None] == 1, by_arm[1], by_arm[0])
    fitted = mixed[arms]
    keep = independent_columns(X[fitted])
    if not all(_is_determined(X[fitted], by_arm[arm], keep) for arm in np.flatnonzero(mixed)):
        return replace(crude, obstacle="confounded with the covariates")
    X = X[:, keep]
    by_arm = [design[:, keep] for design in by_arm]
    errors = np.bincount(pattern, cell.error)
    coefficients, firth = _fit_cell(X[fitted], n[fitted], errors[fitted], mixed.sum())
    if not np.isfinite(coefficients).all():
        return replace(crude, obstacle="the regression does not converge", firth=firth)

    predicted = np.tile(crude.risk, (len(X), 1))
    slopes = _rate_slopes(cell)[first]
    fitted_risk = expit(X[fitted] @ coefficients)
    information = (X[fitted].T * (n[fitted] * fitted_risk * (1 - fitted_risk))) @ X[fitted]
    for arm in np.flatnonzero(mixed):
        risk = expit(by_arm[arm] @ coefficients)
        predicted[:, arm] = risk
        gradient = (n * risk * (1 - risk)) @ by_arm[arm] / n.sum()
        slopes[fitted, arm] = X[fitted] @ np.linalg.solve(information, gradient)
    average = np.where(mixed, n @ predicted / n.sum(), crude.risk)
    risks = _with_influence(cell, average, predicted[pattern], slopes[pattern])
    return replace(risks, firth=firth, adjusted=True)


def corrected_influence(cell: Cell, risks: Risks) -> tuple[np.ndarray, float]:
    """Influence (G, 2) corrected for few clusters in an arm, and degrees of freedom.

    With equal clusters, squares then sum to the variances of the one- and two-sample t test. The
    degrees of freedom are those of Satterthwaite for images that vary alike.
    """
    arms = cell.present.sum(axis=0)
    correction = np.sqrt(np.where(arms > 1, arms, np.nan) / np.maximum(arms - 1, 1))
    total = risks.share.sum()
    squares = (risks.share**2).sum()
    effective = total**2 / squares if squares > 0 else 1.0
    return risks.influence * correction, max(effective - 1, 1.0)


def _rate_slopes(cell: Cell) -> np.ndarray:
    """Influence of an image's error on the rates of both arms (n, 2)."""
    return (cell.arm[:, None] == [0, 1]) / np.maximum(cell.n, 1)


def _with_influence(
    cell: Cell, average: np.ndarray, predicted: np.ndarray, slopes: np.ndarray
) -> Risks:
    """Average risks of a cell with their influence function, summed over the images of a cluster.

    A cluster moves an average by its errors, through the coefficients (delta method), and by the
    covariates of its images, over which the risks are averaged.

    Args:
        cell: of n images.
        average: risks of the two arms (2,).
        predicted: risk that every image would have in either arm (n, 2).
        slopes: change of the average of either arm for each unit of an image's residual (n, 2).
    """
    residual = cell.error - predicted[np.arange(len(predicted)), cell.arm]
    of_image = (predicted - average) / max(len(predicted), 1) + slopes * residual[:, None]
    clusters = len(cell.present)
    influence = [np.bincount(cell.cluster, of_image[:, arm], minlength=clusters) for arm in (0, 1)]
    # An image's residual moves the difference of the two risks by the difference of its slopes. If
    # all residuals had one variance, the squares would add up to the variance of the difference in
    # units of it: `share` is the part of every cluster, from which the degrees of freedom follow.
    squared_contrast = (slopes[:, 1] - slopes[:, 0]) ** 2
    share = np.bincount(cell.cluster, squared_contrast, minlength=clusters)
    return Risks(average, np.column_stack(influence), share)


def _is_determined(fitted: np.ndarray, design: np.ndarray, keep: np.ndarray) -> bool:
    """Whether a fit of the columns `keep` alone determines all linear predictors of a design."""
    relation = np.linalg.lstsq(fitted[:, keep], fitted[:, ~keep], rcond=None)[0]
    gap = np.abs(design[:, ~keep] - design[:, keep] @ relation)
    return gap.max(initial=0.0) < np.sqrt(RANK_TOLERANCE)


def _fit_cell(
    X: np.ndarray, trials: np.ndarray, errors: np.ndarray, arms: int
) -> tuple[np.ndarray, bool]:
    """Coefficients of a cell's logit, and whether Firth's penalty was needed.

    The intercept is first, then the arm if there are two. The fit has no penalty, unless a
    coefficient is infinite, as in most of the observational audits of chapter 11. After Firth's
    fit, the intercepts of the arms are estimated again without the penalty, so that the mean
    predicted risk of every arm is its rate of errors, as in maximum likelihood (Puhr, Heinze, Nold,
    Lusa & Geroldinger, Statistics in Medicine 36 (2017) 2302-2317).
    """
    coefficients = fit_logits(X[:, 1:], trials[None], errors[None], C=np.inf)[0]
    if np.isfinite(coefficients).all():
        return coefficients, False
    coefficients = firth_logits(X[:, 1:], trials[None], errors[None])[0]
    indicators = np.column_stack([1 - X[:, 1], X[:, 1]]) if arms == 2 else X[:, :1]
    for _ in range(MAX_STEPS if np.isfinite(coefficients).all() else 0):
        risk = expit(X @ coefficients)
        steps = (errors - trials * risk) @ indicators / (trials * risk * (1 - risk) @ indicators)
        if np.abs(steps).max() < NEWTON_TOLERANCE:
            break
        # Shortened as in `_newton`, so that no step goes too far.
        steps = np.sign(steps) * np.log1p(np.abs(steps))
        coefficients[:arms] += np.diff(steps, prepend=0.0)
    return coefficients, True


def difference_columns(
    cells: Sequence[Cell], risks: Sequence[Risks], tolerance: float
) -> dict[str, np.ndarray]:
    """Columns of `risk_differences`, (C,) each."""
    n = np.array([cell.n for cell in cells])
    arms = np.array([cell.present.sum(axis=0) for cell in cells])
    risk = np.array([cell_risks.risk for cell_risks in risks])
    influences, df = zip(*map(corrected_influence, cells, risks), strict=True)
    variance = np.array([(influence**2).sum(axis=0) for influence in influences])
    covariance = np.array([influence.prod(axis=1).sum() for influence in influences])
    df = np.array(df)
    reason = np.array(list(map(_reason, cells, risks)), dtype=object)
    binomial = risk * (1 - risk)
    # Where clusters do not differ (no error, or as many in each), each counts as one image.
    # The tolerance keeps rounding from making clusters differ in an arm in which all or none err.
    equal = variance <= 1e-9 * np.maximum(binomial, 1e-9) / np.maximum(n, 1)
    size = np.where(equal, arms, binomial / np.where(equal, 1.0, variance))
    # Newcombe's correction of a positive correlation, without which a width could be zero.
    covariance -= np.clip(covariance, 0, 0.5 / np.where(arms > 0, size, 1.0).prod(axis=1))
    independent = np.array(list(map(_is_binomial, cells, risks)))
    size = np.where(independent[:, None], n, size)
    df = np.where(independent, np.inf, df)
    scale = np.sqrt(np.where(equal, np.inf, variance).prod(axis=1))
    correlation = np.divide(covariance, scale, out=np.zeros(scale.shape), where=scale > 0)
    correlation = correlation.clip(-1, 1)

    obstacle = np.array([cell_risks.obstacle != "" for cell_risks in risks])
    estimate = np.where((n == 0).any(axis=1) | obstacle, np.nan, risk[:, 1] - risk[:, 0])
    size = np.where((reason == "")[:, None], size, np.nan)
    quantile = stdtrit(df, 0.975)
    low, high = hybrid_score_interval(risk, size, correlation, quantile)
    low90, high90 = hybrid_score_interval(risk, size, correlation, stdtrit(df, 0.95))
    p = hybrid_score_p(risk, size, correlation, df)
    return {
        "estimate": estimate,
        "low": low,
        "high": high,
        "low90": low90,
        "high90": high90,
        "p": p,
        "p_holm": holm(p),
        "n": n.sum(axis=1),
        "dropped": np.array([cell.dropped for cell in cells]),
        "clusters": np.array([len(cell.present) for cell in cells]),
        "verdict": np.asarray(verdict(low, high, low90, high90, tolerance)),
        "mde": mde((high - low) / (2 * quantile), df=df),
        "reason": reason,
    }


def _is_binomial(cell: Cell, risks: Risks) -> bool:
    """Whether the risks are rates of independent images, each of which errs or does not.

    Newcombe's interval is then shorter than the one with Student quantiles, and its coverage is
    closer to 95%, above all of few images (`tests/faceaudit/effects/test_risks.py` computes both).
    """
    single = len(cell.present) == len(cell.error)
    return single and not risks.adjusted and bool(np.isin(cell.error, (0.0, 1.0)).all())


def _reason(cell: Cell, risks: Risks) -> str:
    """Why a cell has no interval, else empty."""
    if not cell.n.all():
        return obstacle_of_cell(cell)
    return risks.obstacle or obstacle_of_cell(cell)


def obstacle_of_cell(cell: Cell) -> str:
    """Why the images of a cell allow no comparison by clusters, else empty."""
    absent = cell.n == 0
    single = cell.present.sum(axis=0) == 1
    if absent.all():
        return "every image lacks its outcome, treatment or cluster" if cell.dropped else "no image"
    if not all(cell.levels):
        return "constant treatment"
    if absent.any():
        return f"no image with {cell.levels[absent.argmax()]}"
    if len(cell.present) == 1:
        return f"all images are of one {cell.unit}"
    if single.any():
        return f"one {cell.unit} with {cell.levels[single.argmax()]}"
    return ""


def name_of_unit(cluster: str | None, code: np.ndarray) -> str:
    """What a unit of inference is called where a comparison is refused.

    Args:
        cluster: column of the units; None: rows are independent.
        code: number of the unit of every image (n,).

    Returns:
        "image" where no unit has two of them, "person" where the column is one of people, else the
        name of the column, such as "transect".

    Example:
        >>> from faceaudit.effects.risks import name_of_unit
        >>> codes = np.array([0, 0, 1])
        >>> name_of_unit("identity", codes), name_of_unit("face", codes), name_of_unit(None, codes)
        ('person', 'face', 'image')
    """
    if cluster is None or len(np.unique(code)) == len(code):
        return "image"
    return "person" if cluster in PEOPLE else str(cluster)


def several(number: int, unit: str) -> str:
    """A number of units in words.

    Example:
        >>> from faceaudit.effects.risks import several
        >>> several(1, "person"), several(3, "person"), several(3, "image")
        ('one person', '3 people', '3 images')
    """
    if number == 1:
        return f"one {unit}"
    return f"{number} people" if unit == "person" else f"{number} {unit}s"


def few_at_a_level(
    clusters: ArrayLike, levels: Sequence[str], unit: str, fewest: int = FEWEST_CLUSTERS
) -> str:
    """Why levels with so few clusters are not compared by a regression, else empty.

    Args:
        clusters: how many each level has (K,).
        levels: names of the levels, K.
        unit: what a cluster is called.
        fewest: clusters that a level needs.

    Example:
        >>> from faceaudit.effects.risks import few_at_a_level
        >>> few_at_a_level([290, 9], ["skin = light", "skin = dark"], "person")
        '9 people with skin = dark, fewer than 10'
    """
    clusters = np.asarray(clusters)
    rarest = int(clusters.argmin())
    if clusters[rarest] >= fewest:
        return ""
    found = f"{several(int(clusters[rarest]), unit)} with {levels[rarest]}"
    # As `obstacle_of_cell` says it.
    return found if clusters[rarest] == 1 else f"{found}, fewer than {fewest}"


def alike_at_a_level(outcome: np.ndarray, arm: np.ndarray, levels: Sequence[str]) -> str:
    """Why two levels are not compared of which one has no variation, else empty.

    The sandwich takes what does not vary for known, as if no further image could err.

    Args:
        outcome: (n,) of the images.
        arm: level of each (n,), 0 or 1; both occur.
        levels: names of the two levels.

    Example:
        >>> from faceaudit.effects.risks import alike_at_a_level
        >>> levels = ["skin = light", "skin = dark"]
        >>> alike_at_a_level(np.array([0, 1, 0, 0]), np.array([0, 0, 1, 1]), levels)
        'all images with skin = dark have the same outcome'
    """
    for level, name in enumerate(levels):
        if np.ptp(outcome[arm == level]) == 0:
            return f"all images with {name} have the same outcome"
    return ""


def _eliminated_columns(
    cells: Sequence[Cell], total: Sequence[Risks], direct: Sequence[Risks], tolerance: float
) -> dict[str, np.ndarray]:
    """Columns of `risk_differences` for total minus direct effect, with Student intervals.

    Args:
        cells: C of them.
        total: risks of every cell without the mediators, from `crude_risks`.
        direct: the same with the mediators adjusted for, from `adjusted_risks`.
        tolerance: for the verdict.

    Returns:
        The columns, (C,) each.
    """
    direct_effect = difference_columns(cells, direct, tolerance)
    # The degrees of freedom are those of the total effect: they follow from the numbers of images
    # in clusters alone, those of the direct effect from its regression too.
    of_total, df = zip(*map(corrected_influence, cells, total), strict=True)
    of_direct, _ = zip(*map(corrected_influence, cells, direct), strict=True)
    df = np.array(df)
    # Both effects are of the same images, so their influences are subtracted before the squares.
    gaps = [np.diff(a - b, axis=1) for a, b in zip(of_total, of_direct, strict=True)]
    se = np.array([np.sqrt((gap**2).sum()) for gap in gaps])
    equal_effects = (direct_effect["reason"] == "") & (se == 0)
    reason = np.where(equal_effects, "no image tells the effects apart", direct_effect["reason"])
    se = np.where(reason == "", se, np.nan)
    eliminated = np.array([a.risk - b.risk for a, b in zip(total, direct, strict=True)])
    difference = eliminated[:, 1] - eliminated[:, 0]
    estimate = np.where(np.isnan(direct_effect["estimate"]), np.nan, difference)
    margin = stdtrit(df, 0.975) * se
    margin90 = stdtrit(df, 0.95) * se
    low = estimate - margin
    high = estimate + margin
    low90 = estimate - margin90
    high90 = estimate + margin90
    p = 2 * stdtr(df, -np.abs(estimate) / se)
    return {
        "estimate": estimate,
        "low": low,
        "high": high,
        "low90": low90,
        "high90": high90,
        "p": p,
        "p_holm": holm(p),
        "n": direct_effect["n"],
        "dropped": direct_effect["dropped"],
        "clusters": direct_effect["clusters"],
        "verdict": np.asarray(verdict(low, high, low90, high90, tolerance)),
        "mde": mde(se, df=df),
        "reason": reason,
    }


def complete_rows(frame: pd.DataFrame, needed: Sequence[str], factors: Sequence[str]) -> np.ndarray:
    """Which rows (n,) have a value in all columns `needed`.

    Raises InputError for an empty frame, a missing column, and a missing or infinite level of
    `factors`.
    """
    require_columns(frame, [*needed, *factors])
    require_rows(frame)
    for column in factors:
        require_present(frame[column], "a level")
        if frame[column].dtype.kind == "f":
            infinite = np.isinf(frame[column].to_numpy(float))
            refuse(infinite, frame[column], column, "a finite number")
    return np.logical_and.reduce([frame[column].notna() for column in needed])


def code_levels(values: pd.Series) -> tuple[np.ndarray, list]:
    """Code of every row (n,), and the levels that occur: in order of the categories, or sorted.

    The code of a missing value is -1.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.cat.remove_unused_categories()
        return values.cat.codes.to_numpy(np.int64), values.cat.categories.tolist()
    codes, levels = pd.factorize(values.to_numpy(), sort=True)
    return codes, levels.tolist()


def arms_of_levels(frame: pd.DataFrame, treatment: str) -> tuple[np.ndarray, list]:
    """Code of every row (n,) as of `code_levels`, and the levels of a treatment, two at most.

    Raises InputError for more levels.
    """
    arm, levels = code_levels(frame[treatment])
    if len(levels) > 2:
        raise InputError(
            f"column {treatment!r} has the levels {levels}: keep two of them",
            field=treatment,
            found=levels,
            expected="two levels",
        )
    return arm, levels


def code_cells(frame: pd.DataFrame, by: Sequence[str]) -> tuple[np.ndarray, pd.Index]:
    """Cell of every row (n,) by the levels of the columns `by`, and the index of all cells.

    Without columns there is one cell, "all".
    """
    cell = np.zeros(len(frame), np.int64)
    levels = {}
    for column in by:
        code, levels[column] = code_levels(frame[column])
        cell = cell * len(levels[column]) + code
    if len(by) > 1:
        return cell, pd.MultiIndex.from_product(list(levels.values()), names=by)
    name = by[0] if by else "cell"
    return cell, pd.Index(levels.get(name, ["all"]), name=name)


def numbered(code: np.ndarray) -> np.ndarray:
    """Codes (n,) as 0, 1, … in the order of those that occur."""
    return np.unique(code, return_inverse=True)[1]


def rows_by_code(code: np.ndarray, size: int) -> list[np.ndarray]:
    """Numbers of the rows with each of the codes 0 ... size - 1, ascending."""
    ends = np.cumsum(np.bincount(code, minlength=size))
    return np.split(np.argsort(code, kind="stable"), ends[:-1])


def collapse(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct combinations of several codes (n,).

    Returns:
        The first row of every combination (P,), and the number of every row's combination (n,).
    """
    sizes = [int(code.max(initial=0)) + 1 for code in codes]
    key = np.ravel_multi_index(tuple(codes), sizes)
    _, first, key = np.unique(key, return_index=True, return_inverse=True)
    return first, key


def independent_columns(design: np.ndarray) -> np.ndarray:
    """Which columns (k,) of a design are no combination of those before them."""
    residual = design.astype(np.float64)
    independent = np.zeros(design.shape[1], bool)
    size = np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
    for column in range(design.shape[1]):
        length = np.linalg.norm(residual[:, column])
        independent[column] = length > RANK_TOLERANCE * size[column]
        if independent[column]:
            axis = residual[:, column] / length
            residual[:, column + 1 :] -= np.outer(axis, axis @ residual[:, column + 1 :])
    return independent


def pattern_counts(
    pattern: np.ndarray, error: np.ndarray, cluster: np.ndarray, n_patterns: int | None = None
) -> csr_array:
    """Trials, then errors, of every pattern in every cluster: (G, 2 P), from codes of rows (n,).

    `weights @ pattern_counts(...)` gives the counts of every resample. P is `n_patterns`, by
    default up to the last one that occurs.
    """
    width = pattern.max() + 1 if n_patterns is None else n_patterns
    rows = np.concatenate([cluster, cluster])
    columns = np.concatenate([pattern, width + pattern])
    values = np.concatenate([np.ones(len(error)), error])
    return csr_array((values, (rows, columns)), shape=(cluster.max() + 1, 2 * width))


def fit_logits(
    patterns: np.ndarray, trials: np.ndarray, errors: np.ndarray, C: float = 1.0
) -> np.ndarray:
    """L2-penalised logit of every resample, with scikit-learn's penalty.

    Args:
        patterns: distinct rows of covariates (P, p).
        trials: weighted numbers of rows with each pattern (B, P), one row per resample.
        errors: weighted numbers of their errors (B, P).
        C: inverse of the penalty's weight. Infinity is no penalty; the columns must then be
            independent.

    Returns:
        Coefficients (B, 1 + p), first the intercept, which is not penalised. A row is NaN when its
        errors are all 0 or all 1 (the intercept is infinite), when another coefficient is infinite
        for lack of a penalty, or when Newton does not converge.
    """
    coefficients = np.full((len(trials), 1 + patterns.shape[1]), np.nan)
    all_trials = trials.sum(axis=1)
    all_errors = errors.sum(axis=1)
    mixed = (all_errors > 0) & (all_errors < all_trials)
    if mixed.any():
        trials = trials[mixed]
        errors = errors[mixed]
        # Starting from the fit of the mean counts saves the batch three of its eight steps.
        mean_trials = trials.mean(axis=0, keepdims=True)
        mean_errors = errors.mean(axis=0, keepdims=True)
        start = np.zeros((1, coefficients.shape[1]))
        start[0, 0] = logit(mean_errors.sum() / mean_trials.sum())
        start = _newton(patterns, mean_trials, mean_errors, C, start)
        single = len(trials) == 1
        coefficients[mixed] = start if single else _newton(patterns, trials, errors, C, start)
    return coefficients


def firth_logits(patterns: np.ndarray, trials: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Logit with Jeffreys' penalty of every resample; arguments and shapes as in `fit_logits`.

    Finite for any outcomes, also where the likelihood has no maximum (Firth, Biometrika 80 (1993)
    27-38; Heinze & Schemper, Statistics in Medicine 21 (2002) 2409-2419). Columns must be
    independent.
    """
    return _newton(patterns, trials, errors, np.inf, np.zeros((1, 1 + patterns.shape[1])), True)


def _newton(
    patterns: np.ndarray,
    trials: np.ndarray,
    errors: np.ndarray,
    C: float,
    start: np.ndarray,
    firth: bool = False,
) -> np.ndarray:
    """Newton from `start` (1, 1 + p), with steps that minimise an upper bound of the loss.

    Along a step that changes no linear predictor by more than r, the third derivative of the loss
    is at most r times the second, so a step of log(1 + r) / r never overshoots; it tends to 1.
    """
    design = np.column_stack([np.ones(len(patterns)), patterns])
    size = design.shape[1]
    row, column = np.tril_indices(size)
    products = design[:, row] * design[:, column]
    ridge = np.diag(np.append(0.0, np.full(size - 1, 1 / C)))

    def hessian(weights: np.ndarray) -> np.ndarray:
        """Sum over patterns of the outer products of their rows, by weights (B, P)."""
        sums = weights @ products
        matrices = np.empty((len(weights), size, size))
        matrices[:, row, column] = sums
        matrices[:, column, row] = sums
        return matrices

    beta = np.repeat(start, len(trials), axis=0)
    predictor = beta @ design.T
    reach = np.full(len(trials), np.inf)
    for _ in range(MAX_STEPS):
        if (reach[np.isfinite(beta[:, 0])] < NEWTON_TOLERANCE).all():
            break
        risk = expit(predictor)
        residual = errors - trials * risk
        curvature = trials * risk * (1 - risk)
        if firth:
            # Jeffreys' penalty is half an error and half a success per unit of leverage.
            solved = np.linalg.solve(hessian(curvature), design.T[None])
            leverage = curvature * np.einsum("pi,bip->bp", design, solved)
            residual += leverage * (0.5 - risk)
            curvature += leverage * risk * (1 - risk)
        gradient = residual @ design - beta @ ridge
        step = np.linalg.solve(hessian(curvature) + ridge, gradient[..., None])[..., 0]
        change = step @ design.T
        reach = np.abs(change).max(axis=1)
        length = np.log1p(reach) / np.maximum(reach, np.finfo(float).tiny)
        beta += length[:, None] * step
        predictor += length[:, None] * change
        if not (np.isfinite(C) or firth):
            infinite = np.abs(predictor * (trials > 0)).max(axis=1) > SEPARATED
            beta[infinite] = np.nan
            predictor[infinite] = 0.0
    beta[reach >= NEWTON_TOLERANCE] = np.nan
    return beta
