"""From transects to another population: reweighting the strata's error rates to its mix.

The transects paper (Balakrishnan et al. 2020) claims that effects found by experiment predict
disparate impact elsewhere and does not show it. The prediction is R(P) = Σ P(x) ê(x) over the
strata x: direct standardisation. It holds when the strata take in everything that differs
between the experiment and the population and matters for errors. What is the same everywhere but
a shift of all log odds, such as easier photographs, a calibrated intercept takes up. Chapter 13
puts the claim to a test.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from statsmodels.stats.proportion import proportion_confint

from helpers.effects.batched_logit import pattern_counts
from helpers.resampling import cluster_codes, cluster_weights
from helpers.utils.checks import as_binary, require_columns, require_present

STEPS = 60
FARTHEST = 40.0
"""Log odds beyond which a rate is 0 or 1 in double precision."""


def transport(
    frame: pd.DataFrame,
    outcome: str,
    strata: Sequence[str],
    target: pd.DataFrame,
    cluster: str,
    by: Sequence[str] = (),
    labelled: pd.DataFrame | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Predicted error rates and disparities in another population, from an experiment's strata.

    Introduced in chapter 13.

    Args:
        frame: the experiment, a row per image with `outcome` (0 or 1), the strata and `cluster`.
        outcome: column of the errors.
        strata: columns with the levels that define a stratum.
        target: the population, a row per face with the columns `strata`; taken as known.
        cluster: column of the transects, which the bootstrap resamples.
        by: columns among `strata` whose combinations are the groups to compare.
        labelled: faces of the target whose `outcome` is known, with the strata. All predicted log
            odds are shifted so that this sample's errors come out right (`calibrate_intercept`);
            the bootstrap resamples its rows too. None: the experiment's rates as they are.
        n_boot: resamples.
        seed: of the resamples.

    Returns:
        A row for "all", per group, and per pair of groups (kind "rate" or "difference"; then
        `group` minus `reference`), with the columns

        - estimate, low, high: over the strata that the experiment has, with a 95 % percentile
          interval. Without any error among a group's images, Wilson's interval with transects as
          units, and Newcombe's for its differences;
        - n: images of the experiment in its strata;
        - missing: share of the group whose strata the experiment lacks (in a difference, the larger
          of the two); lower, upper: bounds of the estimate when those err never or always;
        - reason: which strata are missing, else empty.

        `attrs["intercept"]` is the shift of the log odds, 0 without `labelled`.

    Raises:
        ValueError: a missing column or value, an outcome other than 0 and 1, `by` outside of
            `strata`, one cluster, or a labelled sample that admits no intercept.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> here = pd.DataFrame({"hair": ["short", "long"] * 4, "error": [1, 0, 0, 0] * 2})
        >>> there = pd.DataFrame({"hair": ["short", "short", "short", "long"]})
        >>> faces = here.assign(face=range(8))
        >>> table = effects.transport(faces, "error", ["hair"], there, "face", n_boot=20)
        >>> table["estimate"].tolist()
        [0.375]
    """
    strata, by = list(strata), list(by)
    if not strata or not set(by) <= set(strata):
        raise ValueError(f"by is {by}: columns among the strata {strata} were expected")
    _check(frame, strata, "frame")
    _check(target, strata, "target")
    require_columns(frame, [outcome, cluster])

    cells = pd.MultiIndex.from_frame(frame[strata].drop_duplicates()).sort_values()
    stratum = cells.get_indexer(pd.MultiIndex.from_frame(frame[strata]))
    clusters, _ = cluster_codes(frame[cluster])
    counts = pattern_counts(stratum, as_binary(frame[outcome]), clusters)
    weights = _with_own(cluster_weights(frame[cluster], n_boot, seed))
    trials, errors = np.split(weights @ counts, 2, axis=1)
    rates = np.divide(errors, trials, out=np.full_like(errors, np.nan), where=trials > 0)
    shift = np.zeros(n_boot + 1)
    if labelled is not None:
        shift = _labelled_shift(rates, labelled, outcome, strata, cells, n_boot, seed)
        rates = expit(_logit(rates) + shift[:, None])

    parts = {"all": target}
    if by:
        parts |= {", ".join(map(str, key)): part for key, part in target.groupby(by)}
    mixes = [pd.MultiIndex.from_frame(p[strata]).value_counts() / len(p) for p in parts.values()]
    shares = np.array([mix.reindex(cells, fill_value=0) for mix in mixes])
    draws = _standardise(rates, shares)
    present = (counts[:, : len(cells)] > 0).sum(axis=0)
    n, wrong = (shares > 0) @ trials[0], (shares > 0) @ errors[0]
    # Without any error, or with errors only, all resamples are alike.
    alike = (wrong == 0) | (wrong == n)
    rows = pd.DataFrame({"kind": "rate", "group": list(parts), "reference": ""})
    rows["estimate"] = draws[:, 0]
    rows["low"], rows["high"] = _limits(draws, alike, _wilson(draws[:, 0], shares, present))
    rows["n"] = n.astype(np.int64)
    rows = pd.concat([rows, pd.DataFrame(_unseen(mix, cells) for mix in mixes)], axis=1)
    rows["lower"] = (1 - rows["missing"]) * rows["estimate"].fillna(0)
    rows["upper"] = rows["lower"] + rows["missing"]
    table = pd.concat([rows, _differences(rows, draws, alike)], ignore_index=True)
    table.attrs["intercept"] = float(shift[0])
    return table


def calibrate_intercept(rates: ArrayLike, n: ArrayLike, errors: float) -> float:
    """Shift of the log odds with which the rates predict the errors of a labelled sample.

    Solves Σ n_x expit(logit ê_x + a) = errors for a: the maximum-likelihood intercept of a logit
    with the offset logit ê (calibration in the large; Cox, Biometrika 45 (1958) 562-565). Rates
    of exactly 0 and 1 stay what they are.

    Serves chapter 13, through `transport`.

    Args:
        rates: (S,) error rate of every stratum in the experiment.
        n: (S,) labelled faces in every stratum.
        errors: how many of them the model got wrong.

    Returns:
        The shift a.

    Raises:
        ValueError: rates outside [0, 1], or errors that no finite shift gives.

    Example:
        >>> from helpers import effects
        >>> round(effects.calibrate_intercept([0.1, 0.5], [100, 100], 80), 2)
        0.56
    """
    rates, n = np.asarray(rates, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if rates.shape != n.shape or not ((rates >= 0) & (rates <= 1)).all() or (n < 0).any():
        raise ValueError("rates in [0, 1] and as many counts n of at least 0 were expected")
    least, most = n[rates == 1].sum(), n[rates > 0].sum()
    if not least < errors < most:
        raise ValueError(
            f"errors is {errors}: a shift of the log odds gives more than {least:g} and fewer "
            f"than {most:g} errors among these {n.sum():g} labelled faces"
        )
    return float(_solve(rates[None], n[None], np.array([errors]))[0])


def ratio_interval(
    top: tuple[float, float, float], bottom: tuple[float, float, float]
) -> tuple[float, float]:
    """95 % interval of a ratio of two independent estimates, such as predicted over observed.

    Fieller, Journal of the Royal Statistical Society B 16 (1954) 175-185: the ratios that the two
    estimates do not reject. Each is taken as normal, with half its interval's width as margin.

    Introduced in chapter 13.

    Args:
        top: estimate, low and high of the numerator.
        bottom: those of the denominator.

    Returns:
        The limits; (-inf, inf) where the denominator may be 0, so that the ratio has none.

    Example:
        >>> from helpers import effects
        >>> low, high = effects.ratio_interval((0.05, 0.03, 0.07), (0.10, 0.06, 0.14))
        >>> round(float(low), 2), round(float(high), 2)
        (0.27, 0.92)
    """
    (a, low_a, high_a), (b, low_b, high_b) = top, bottom
    square = b**2 - ((high_b - low_b) / 2) ** 2
    if not square > 0:
        return -np.inf, np.inf
    root = np.sqrt(max((a * b) ** 2 - square * (a**2 - ((high_a - low_a) / 2) ** 2), 0))
    return (a * b - root) / square, (a * b + root) / square


def _check(frame: pd.DataFrame, strata: list[str], name: str) -> None:
    if frame.empty:
        raise ValueError(f"{name} has no rows")
    require_columns(frame, strata)
    for column in strata:
        require_present(frame[column], "a level")


def _with_own(weights: np.ndarray) -> np.ndarray:
    """The sample itself, then its resamples."""
    return np.vstack([np.ones(weights.shape[1]), weights])


def _standardise(rates: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Mean rates of the groups (groups, B), over the strata that a resample has."""
    known = ~np.isnan(rates)
    covered = known @ shares.T
    total = np.where(known, rates, 0) @ shares.T
    return np.divide(total, covered, out=np.full_like(total, np.nan), where=covered > 0).T


def _unseen(mix: pd.Series, cells: pd.MultiIndex) -> dict[str, object]:
    """Share of a group whose strata the experiment lacks, and their names."""
    lacking = mix[~mix.index.isin(cells)].sort_index()
    names = "; ".join("/".join(map(str, cell)) for cell in lacking.index)
    reason = f"not in the experiment: {names}" if names else ""
    return {"missing": float(lacking.sum()), "reason": reason}


def _wilson(rates: np.ndarray, shares: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Wilson's limits (2, groups) with clusters as units, fewer where the mix is uneven."""
    covered = shares.sum(axis=1)
    share = shares / np.where(covered > 0, covered, np.nan)[:, None]
    size = 1 / (share**2 / clusters).sum(axis=1)
    return np.array(proportion_confint(rates * size, size, method="wilson"))


def _limits(draws: np.ndarray, alike: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Percentile limits (2, rows) of resampled rows; the `other` ones where those are alike."""
    limits = other.copy()
    for row in np.flatnonzero(~alike):
        limits[:, row] = np.nanquantile(draws[row, 1:], [0.025, 0.975])
    return limits


def _differences(rows: pd.DataFrame, draws: np.ndarray, alike: np.ndarray) -> pd.DataFrame:
    """Rows of the differences between each two groups, the first one being all."""
    first, second = np.array([*combinations(range(1, len(rows)), 2)], int).reshape(-1, 2).T
    one, two = (rows.iloc[side].reset_index(drop=True) for side in (first, second))
    estimate = one["estimate"] - two["estimate"]
    # Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10.
    below = np.hypot(one["estimate"] - one["low"], two["high"] - two["estimate"])
    above = np.hypot(one["high"] - one["estimate"], two["estimate"] - two["low"])
    newcombe = np.array([estimate - below, estimate + above])
    low, high = _limits(draws[first] - draws[second], alike[first] | alike[second], newcombe)
    reasons = (rows["group"] + " " + rows["reason"]).where(rows["reason"] != "", "")
    reasons = zip(reasons[first], reasons[second], strict=True)
    return pd.DataFrame(
        {
            "kind": "difference",
            "group": one["group"],
            "reference": two["group"],
            "estimate": estimate,
            "low": low,
            "high": high,
            "n": one["n"] + two["n"],
            "missing": np.maximum(one["missing"], two["missing"]),
            "reason": ["; ".join(filter(None, both)) for both in reasons],
            "lower": one["lower"] - two["upper"],
            "upper": one["upper"] - two["lower"],
        }
    )


def _labelled_shift(
    rates: np.ndarray,
    labelled: pd.DataFrame,
    outcome: str,
    strata: list[str],
    cells: pd.MultiIndex,
    n_boot: int,
    seed: int,
) -> np.ndarray:
    """Intercepts (B,): the labelled sample's own, then of its resamples."""
    _check(labelled, strata, "labelled")
    require_columns(labelled, [outcome])
    stratum = cells.get_indexer(pd.MultiIndex.from_frame(labelled[strata]))
    known = stratum >= 0
    if known.sum() < 2:
        raise ValueError("labelled has fewer than two faces in the strata of the experiment")
    wrong, stratum = as_binary(labelled[outcome])[known], stratum[known]
    weights = _with_own(cluster_weights(np.arange(len(stratum)), n_boot, seed + 1))
    n = weights @ np.eye(len(cells))[stratum]
    calibrate_intercept(rates[0], n[0], wrong.sum())
    return _solve(rates, n, weights @ wrong)


def _solve(rates: np.ndarray, n: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Shift of every row's log odds, by bisection; at most ±FARTHEST, where errors admit none."""
    odds = _logit(rates)
    n = np.where(np.isnan(rates), 0, n)
    odds = np.where(np.isnan(odds), 0, odds)
    low, high = np.full(len(rates), -FARTHEST), np.full(len(rates), FARTHEST)
    for _ in range(STEPS):
        middle = (low + high) / 2
        too_few = (n * expit(odds + middle[:, None])).sum(axis=1) < errors
        low, high = np.where(too_few, middle, low), np.where(too_few, high, middle)
    return (low + high) / 2


def _logit(rates: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return logit(rates)
