"""From transects to another population: reweighting the strata's error rates to its mix.

The transects paper (Balakrishnan et al. 2020) claims that effects found by experiment predict
disparate impact elsewhere and does not show it. The prediction is R(P) = Σ P(x) ê(x) over the
strata x: direct standardisation. It holds when the strata take in everything that differs
between the experiment and the population and matters for errors. What is the same everywhere but
a shift of all log odds, such as easier photographs, a calibrated intercept takes up.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from statsmodels.stats.proportion import proportion_confint

from helpers.effects.batched_logit import pattern_counts
from helpers.resampling import cluster_weights
from helpers.utils.checks import as_binary, cluster_codes, require_columns, require_present

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
        - share: of the group in the target; n: images of the experiment in its strata;
        - missing: share of the group whose strata the experiment lacks (in a difference, the larger
          of the two); lower, upper: bounds of the estimate when those err never or always;
        - reason: which strata are missing, or why there is no estimate, else empty.

        `attrs["intercept"]` is the shift of the log odds, 0 without `labelled`.

    Raises:
        ValueError: a missing column or value, an outcome other than 0 and 1, `by` outside of
            `strata`, one cluster, or a labelled sample that admits no intercept.
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
    weights = cluster_weights(frame[cluster], n_boot, seed)
    weights = np.vstack([np.ones(weights.shape[1]), weights])
    trials, errors = np.split(weights @ counts, 2, axis=1)
    rates = np.divide(errors, trials, out=np.full_like(errors, np.nan), where=trials > 0)
    shift = np.zeros(n_boot + 1)
    if labelled is not None:
        shift = _labelled_shift(rates, labelled, outcome, strata, cells, n_boot, seed)
        rates = expit(_logit(rates) + shift[:, None])

    groups = _groups(target, strata, by, cells)
    shares = np.array([group["shares"] for group in groups])
    draws = _standardise(rates, shares)
    present = (counts[:, : len(cells)] > 0).sum(axis=0)
    table = [
        _rate_row(group, draw, trials[0], errors[0], present)
        for group, draw in zip(groups, draws.T, strict=True)
    ]
    rows = list(zip(table, draws.T, strict=True))
    table += [_difference_row(*first, *second) for first, second in combinations(rows[1:], 2)]
    result = pd.DataFrame(table).drop(columns="errors")
    result.attrs["intercept"] = float(shift[0])
    return result


def calibrate_intercept(rates: ArrayLike, n: ArrayLike, errors: float) -> float:
    """Shift of the log odds with which the rates predict the errors of a labelled sample.

    Solves Σ n_x expit(logit ê_x + a) = errors for a: the maximum-likelihood intercept of a logit
    with the offset logit ê (calibration in the large; Cox, Biometrika 45 (1958) 562-565). Rates
    of exactly 0 and 1 stay what they are.

    Args:
        rates: (S,) error rate of every stratum in the experiment.
        n: (S,) labelled faces in every stratum.
        errors: how many of them the model got wrong.

    Raises:
        ValueError: rates outside [0, 1], or errors that no finite shift gives.
    """
    rates, n = np.asarray(rates, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if rates.shape != n.shape or not ((rates >= 0) & (rates <= 1)).all() or (n < 0).any():
        raise ValueError("rates in [0, 1] and as many counts n of at least 0 were expected")
    movable = (rates > 0) & (rates < 1)
    least = n[rates == 1].sum()
    most = least + n[movable].sum()
    if not least < errors < most:
        raise ValueError(
            f"errors is {errors}: a shift of the log odds gives more than {least:g} and fewer "
            f"than {most:g} errors among these {n.sum():g} labelled faces"
        )
    return float(_solve(rates[None], n[None], np.array([errors]))[0])


def _check(frame: pd.DataFrame, strata: list[str], name: str) -> None:
    if frame.empty:
        raise ValueError(f"{name} has no rows")
    require_columns(frame, strata)
    for column in strata:
        require_present(frame[column], "a level")


def _groups(
    target: pd.DataFrame, strata: list[str], by: list[str], cells: pd.MultiIndex
) -> list[dict]:
    """Per group: its name, share of the target, shares of the cells (S,), and what is missing."""
    parts = [("all", target)]
    if by:
        parts += [(", ".join(map(str, key)), part) for key, part in target.groupby(by, sort=True)]
    groups = []
    for name, part in parts:
        found = pd.MultiIndex.from_frame(part[strata]).value_counts() / len(part)
        known = found.index.isin(cells)
        groups.append(
            {
                "group": name,
                "share": len(part) / len(target),
                "shares": found[known].reindex(cells, fill_value=0).to_numpy(),
                "missing": float(found[~known].sum()),
                "unseen": ["/".join(map(str, cell)) for cell in found.index[~known].sort_values()],
            }
        )
    return groups


def _standardise(rates: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Mean rates of the groups (B, groups), over the strata that a resample has."""
    known = ~np.isnan(rates)
    covered = known @ shares.T
    total = np.where(known, rates, 0) @ shares.T
    return np.divide(total, covered, out=np.full_like(total, np.nan), where=covered > 0)


def _rate_row(
    group: dict, draws: np.ndarray, trials: np.ndarray, errors: np.ndarray, clusters: np.ndarray
) -> dict[str, object]:
    estimate, *resampled = draws
    shares, missing = group["shares"], group["missing"]
    used = shares > 0
    reason = ""
    if group["unseen"]:
        reason = f"not in the experiment: {'; '.join(group['unseen'])}"
    row = {
        "kind": "rate",
        "group": group["group"],
        "reference": "",
        "estimate": estimate,
        "low": np.nan,
        "high": np.nan,
        "share": group["share"],
        "n": int(trials[used].sum()),
        "missing": missing,
        "lower": 0.0,
        "upper": 1.0,
        "errors": int(errors[used].sum()),
        "reason": reason,
    }
    if not used.any():
        return row
    wrong = row["errors"]
    if wrong in (0, row["n"]):
        effective = 1 / np.sum((shares[used] / shares[used].sum()) ** 2 / clusters[used])
        low, high = proportion_confint(estimate * effective, effective, method="wilson")
    else:
        low, high = np.nanquantile(resampled, [0.025, 0.975])
    lower = (1 - missing) * estimate
    return row | {"low": low, "high": high, "lower": lower, "upper": lower + missing}


def _difference_row(
    first: dict[str, object],
    first_draws: np.ndarray,
    second: dict[str, object],
    second_draws: np.ndarray,
) -> dict[str, object]:
    estimate, *resampled = first_draws - second_draws
    if any(side["errors"] in (0, side["n"]) for side in (first, second)):
        # Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10.
        low = estimate - np.hypot(
            first["estimate"] - first["low"], second["high"] - second["estimate"]
        )
        high = estimate + np.hypot(
            first["high"] - first["estimate"], second["estimate"] - second["low"]
        )
    else:
        low, high = np.nanquantile(resampled, [0.025, 0.975])
    reasons = [f"{side['group']} {side['reason']}" for side in (first, second) if side["reason"]]
    return {
        "kind": "difference",
        "group": first["group"],
        "reference": second["group"],
        "estimate": estimate,
        "low": low,
        "high": high,
        "share": first["share"] + second["share"],
        "n": first["n"] + second["n"],
        "missing": max(first["missing"], second["missing"]),
        "lower": first["lower"] - second["upper"],
        "upper": first["upper"] - second["lower"],
        "errors": first["errors"] + second["errors"],
        "reason": "; ".join(reasons),
    }


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
    rows = np.arange(len(stratum))
    weights = cluster_weights(rows, n_boot, seed + 1)
    weights = np.vstack([np.ones(len(rows)), weights])
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
