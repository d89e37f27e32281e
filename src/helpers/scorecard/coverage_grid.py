"""Coverage of every interval that the book prints, by size of an audit and rate of errors.

Rare errors and few transects are where intervals that rest on large samples fail. The populations
are those of `helpers.scorecard.simulated_audits`, at one correlation within transects. The stage of
`helpers.scorecard.coverage_study` makes the table, and chapter 11 reads it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from statsmodels.stats.proportion import proportion_confint

from helpers.effects import (
    hybrid_score_interval,
    matched_effects,
    ratio_interval,
    risk_differences,
)
from helpers.effects.labels import Z
from helpers.scorecard.coverage_estimators import ENDS, sandwich_logits, transported
from helpers.scorecard.audits import matched_audits, pooled_audits, with_truth
from helpers.scorecard.simulated_audits import MANIPULATED, SEED_LEVEL, Population
from helpers.utils import seeding

ERROR_RATES = (0.02, 0.05, 0.1)
TRANSECTS = (25, 100, 400)
CORRELATION = 0.23
HAIR = "hair_level"
"""The attribute of average effects and of shares of a gap; its log odds ratio is the largest."""
COUNTED = 300
"""Women of either length of hair among found portraits, about as many as PPB has of either skin."""
SHARE = 0.5
"""Of the gap counted between them that is the effect of hair."""


def population_at(error_rate: float, log_odds: Mapping[str, float]) -> Population:
    """The population that errs on this share of images, all manipulated levels being as common."""

    def excess(intercept: float) -> float:
        return Population(intercept, log_odds, CORRELATION).rates().mean() - error_rate

    return Population(brentq(excess, -15, 15), log_odds, CORRELATION)


def intervals(
    population: Population, transects: int, seed: int, numbers: Sequence[int], with_logit: int
) -> pd.DataFrame:
    """All intervals on the audits of these numbers, with the truth that they should hold.

    Args:
        population: that faces and errors are drawn from.
        transects: of an audit.
        seed: of the audits.
        numbers: of the audits.
        with_logit: audits below this number get a regression, which takes longer than all else.

    Returns:
        Columns estimator, audit, estimate, low, high, truth; NaN where there is no interval.
    """
    audits = population.audits(transects, seed, numbers)
    errors, rates = by_cell(audits, transects), population.rates()
    averages = {
        "matched pairs, average": matched_effects(audits, "error", HAIR, ["audit"], "transect"),
        "g-computation, average": risk_differences(
            audits, "error", HAIR, "audit", "transect", [a for a in MANIPULATED if a != HAIR]
        ),
    }
    true = population.true_effects()
    cells = {
        "matched pairs, cells": matched_audits(errors, MANIPULATED),
        "partial pooling, cells": pooled_audits(errors, MANIPULATED),
    }
    parts = {
        **{
            name: with_truth(
                table.assign(audit=np.asarray(numbers)[table["audit"]]), rates[None], MANIPULATED
            )
            for name, table in cells.items()
        },
        **{
            name: table.reset_index().assign(truth=true.loc[HAIR, "risk difference"])
            for name, table in averages.items()
        },
        **_carried(audits, population),
        "share of a gap": _shares_of_gap(audits, rates, seed),
        **_log_odds(audits[audits["audit"] < with_logit], true["log odds"]),
    }
    table = pd.concat(parts, names=["estimator", None]).reset_index("estimator")
    return table.reset_index(drop=True)[["estimator", "audit", *ENDS, "truth"]]


def by_cell(audits: pd.DataFrame, transects: int) -> np.ndarray:
    """Errors of several audits (R, n, 2, 2, 2) by transect and manipulated level; NaN if pruned."""
    audit, _ = pd.factorize(audits["audit"])
    errors = np.full((audit.max() + 1, transects, 2, 2, 2), np.nan)
    errors[audit, audits["transect"], *audits[list(MANIPULATED)].to_numpy().T] = audits["error"]
    return errors


def _carried(audits: pd.DataFrame, population: Population) -> dict[str, pd.DataFrame]:
    """A rate and a difference in another population."""
    true = population.true_transport().max()  # of either column, whose other entry is NaN
    tables = transported(audits).groupby("scale", sort=False)
    return {name: table.assign(truth=true[name]) for name, table in tables}


def _shares_of_gap(audits: pd.DataFrame, rates: np.ndarray, seed: int) -> pd.DataFrame:
    """The matched effect on women over a gap between found women that is partly that effect."""
    women = audits[audits["gender_level"] == 0]
    found = matched_effects(women, "error", HAIR, ["audit"], "transect")[ENDS]
    short, long = rates[:, :, 0].mean(axis=0)
    gap = (long - short) / SHARE
    risk = [
        seeding.rng(seed, f"coverage grid/counted/{short:.6f}", number).binomial(
            COUNTED, [short, short + gap]
        )
        for number in found.index
    ]
    risk = np.array(risk) / COUNTED
    size = np.full(risk.shape, float(COUNTED))
    low, high = hybrid_score_interval(risk, size, np.zeros(len(risk)), Z)
    counted = np.column_stack([risk[:, 1] - risk[:, 0], low, high])
    ends = [ratio_interval(*pair) for pair in zip(found.to_numpy(), counted, strict=True)]
    table = pd.DataFrame(ends, found.index, ["low", "high"]).reset_index()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = found["estimate"].to_numpy() / counted[:, 0]
    return table.assign(estimate=share, truth=SHARE)


def _log_odds(audits: pd.DataFrame, true: pd.Series) -> dict[str, pd.DataFrame]:
    """Coefficients of the logit with CR2: of what is manipulated, and of the faces' own."""
    if audits.empty:
        return {}
    table = sandwich_logits(audits)
    table = table.assign(truth=table["attribute"].map(true))
    own = table["attribute"].isin(SEED_LEVEL)
    return {"cluster logit, manipulated": table[~own], "cluster logit, of faces": table[own]}


def grid_coverage(drawn: pd.DataFrame) -> pd.DataFrame:
    """How often intervals hold the truth, from rows of `intervals` with two more keys.

    Args:
        drawn: those rows, with the columns transects and error_rate.

    Returns:
        A row per estimator, error_rate and transects: audits; estimable, the share of intervals
        that exist; of these their coverage, the share that is unbounded, and the 95 % interval of
        coverage, low and high. Intervals of one audit are as many observations as the scatter of
        coverage between audits says.
    """
    keys = ["estimator", "error_rate", "transects"]
    groups = {key: _coverage(part) for key, part in drawn.groupby(keys, sort=False)}
    return pd.DataFrame(groups).T.rename_axis(keys).reset_index()


def _coverage(part: pd.DataFrame) -> dict[str, float]:
    known = part.dropna(subset=["low", "high"])
    inside = known["truth"].between(known["low"], known["high"])
    row = {"audits": part["audit"].nunique(), "estimable": len(known) / len(part)}
    if known.empty:
        return row | dict.fromkeys(("coverage", "unbounded", "low", "high"), np.nan)
    share = inside.mean()
    n = _observations(inside.groupby(known["audit"]).mean().to_numpy(), share, len(inside))
    low, high = proportion_confint(n * share, n, method="wilson")
    unbounded = np.isinf(known["high"]).mean()
    return row | {"coverage": share, "unbounded": unbounded, "low": low, "high": high}


def _observations(shares: np.ndarray, share: float, most: int) -> float:
    """As many independent intervals as scatter like the audits' shares; at least one an audit."""
    variance = shares.var(ddof=1) / len(shares) if len(shares) > 1 else 0.0
    effective = share * (1 - share) / variance if variance > 0 else 0.0
    return float(np.clip(effective, len(shares), most))
