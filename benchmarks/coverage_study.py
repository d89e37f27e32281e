"""Do nominal 95% intervals cover the truth 95% of the time, and does a null stay quiet?

Run `python benchmarks/coverage_study.py smoke laptop` after a change of an estimator, for two
minutes of two cores. Pruned audits are simulated again and again from populations whose effects are
known (`simulated_audits`), at three intraclass correlations of errors within transects. The tables
that note N3 shows lie beside `faceworld.scorecard.audits`, for the sizes of both runs:

- coverage: for every estimator, correlation, attribute and scale how often its intervals hold the
  true effect, and how wide they are compared with what the estimates' spread asks for; of
  estimates carried to another population, one rate ("strata") and one difference;
- null: how often audits of a model whose errors depend on nothing raise any alarm;
- grid: coverage of every interval that the book prints, at three sizes of an audit and three rates
  of errors, where intervals that rest on large samples fail.

Audits are keyed by their number. `tests/test_coverage.py` makes a part of the record again, and
fails where an estimator has changed.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
from coverage_estimators import all_estimates, intervals, null_tests, population_at
from joblib import delayed
from scipy.stats import norm
from simulated_audits import ATTRIBUTES, SEED_LEVEL, Population
from statsmodels.stats.proportion import proportion_confint

from faceaudit.effects import holm
from faceaudit.utils import seeding
from faceworld.scorecard import audits
from helpers.parallel import processes, share_of_cores

CORRELATIONS = (0.05, 0.23, 0.41)
LOG_ODDS = dict(zip(ATTRIBUTES, (0.0, 0.6, -0.4, 0.3, 0.5), strict=True))
INTERCEPT = -2.5
"""About one image in ten is an error, as in the papers; one attribute has no effect."""
NULL_LOG_ODDS = dict.fromkeys(ATTRIBUTES, 0.0)
NULL_INTERCEPT = -2.2
ERROR_RATES = (0.02, 0.05, 0.1)
TRANSECTS = (25, 100, 400)
ALPHA = 0.05
PART = 25
"""Audits whose frame is read together; results do not depend on it."""
NEEDED = 2 * norm.ppf(0.975)
"""Width of a normal 95% interval in standard deviations of its estimate."""


@dataclass(frozen=True)
class Size:
    """Of every simulated audit, and how many there are per correlation."""

    transects: int
    repetitions: int
    n_boot: int
    seed: int


SIZES = {"smoke": Size(40, 10, 200, 20200715), "laptop": Size(400, 400, 1000, 20200715)}
"""Profile → its study."""


# --- some audits


def estimates(population: Population, size: Size, numbers: Sequence[int]) -> pd.DataFrame:
    """`all_estimates` on the audits of these numbers."""
    audits = population.audits(size.transects, size.seed, numbers)
    keyed = zip(numbers, seeding.rngs(size.seed, "coverage study", numbers), strict=True)
    seeds = {number: int(random.integers(2**62)) for number, random in keyed}
    return all_estimates(audits, size.n_boot, seeds).assign(correlation=population.correlation)


def alarms(population: Population, size: Size, numbers: Sequence[int]) -> pd.DataFrame:
    """Number of tests and of adjusted p-values below 0.05 in every audit, by family of tests."""

    def flags(p: pd.Series) -> int:
        return int((holm(p) < ALPHA).sum())

    families = null_tests(population.audits(size.transects, size.seed, numbers))
    counts = {
        family: tests.groupby("audit")["p"].agg(tests="size", alarms=flags)
        for family, tests in families.items()
    }
    table = pd.concat(counts, names=["estimator"]).reset_index()
    return table.assign(correlation=population.correlation)


def grid_intervals(population: Population, size: Size, numbers: Sequence[int]) -> pd.DataFrame:
    """`coverage.intervals` on the audits of these numbers, half of them with a regression."""
    with_logit = (size.repetitions + 1) // 2
    return intervals(population, size.transects, size.seed, numbers, with_logit)


# --- summaries


def coverage(drawn: pd.DataFrame) -> pd.DataFrame:
    """Coverage and width of every estimator, from rows of `estimates` with their `truth`.

    Audits in which an effect could not be estimated do not count as repetitions.
    """
    drawn = drawn.dropna(subset=["estimate", "low", "high"])
    drawn = drawn.assign(
        width=drawn["high"] - drawn["low"],
        covers=(drawn["low"] <= drawn["truth"]) & (drawn["truth"] <= drawn["high"]),
        error=drawn["estimate"] - drawn["truth"],
    )
    groups = drawn.groupby(["estimator", "correlation", "attribute", "scale"], sort=False)
    table = groups.agg(
        repetitions=("covers", "size"),
        covered=("covers", "sum"),
        truth=("truth", "first"),
        bias=("error", "mean"),
        spread=("estimate", "std"),
        width=("width", "mean"),
    ).reset_index()
    table["width_ratio"] = table["width"] / (NEEDED * table["spread"])
    of_the_face = table["attribute"].isin(SEED_LEVEL)
    table.insert(3, "kind", np.where(of_the_face, "seed-level", "manipulated"))
    table["attribute"] = table["attribute"].str.removesuffix("_level")
    return _with_share(table, "covered", "coverage")


def false_alarms(drawn: pd.DataFrame) -> pd.DataFrame:
    """Share of audits with any alarm, from rows of `alarms`."""
    groups = drawn.assign(any=drawn["alarms"] > 0).groupby(["estimator", "correlation"], sort=False)
    table = groups.agg(
        repetitions=("any", "size"), tests=("tests", "first"), alarmed=("any", "sum")
    )
    return _with_share(table.reset_index(), "alarmed", "false_alarms")


def _with_share(table: pd.DataFrame, count: str, name: str) -> pd.DataFrame:
    """The table with a count as a share of its repetitions and Wilson's interval."""
    low, high = proportion_confint(table[count], table["repetitions"], method="wilson")
    share = table[count] / table["repetitions"]
    return table.drop(columns=count).assign(**{name: share, "low": low, "high": high})


def grid_coverage(drawn: pd.DataFrame) -> pd.DataFrame:
    """How often intervals hold the truth, by estimator, error_rate and transects.

    Args:
        drawn: rows of `grid_intervals`, with the columns transects and error_rate.

    Returns:
        Per row audits; estimable, the share of intervals that exist; of these their coverage, the
        share that is unbounded, and the 95% interval of coverage, low and high. Intervals of one
        audit are as many observations as the scatter of coverage between audits says.
    """
    keys = ["estimator", "error_rate", "transects"]
    groups = {key: _coverage(part) for key, part in drawn.groupby(keys, sort=False)}
    return pd.DataFrame(groups).T.rename_axis(keys).reset_index()


def _coverage(part: pd.DataFrame) -> dict[str, float]:
    known = part.dropna(subset=["low", "high"])
    row = {"audits": part["audit"].nunique(), "estimable": len(known) / len(part)}
    if known.empty:
        return row | dict.fromkeys(("coverage", "unbounded", "low", "high"), np.nan)
    inside = known["truth"].between(known["low"], known["high"])
    by_audit, share = inside.groupby(known["audit"]).mean().to_numpy(), inside.mean()
    # As many independent intervals as scatter like the audits' shares; at least one an audit.
    variance = by_audit.var(ddof=1) / len(by_audit) if len(by_audit) > 1 else 0.0
    effective = share * (1 - share) / variance if variance > 0 else 0.0
    n = float(np.clip(effective, len(by_audit), len(inside)))
    low, high = proportion_confint(n * share, n, method="wilson")
    unbounded = np.isinf(known["high"]).mean()
    return row | {"coverage": share, "unbounded": unbounded, "low": low, "high": high}


# --- the study

EFFECTS = [Population(INTERCEPT, LOG_ODDS, r) for r in CORRELATIONS]
NULLS = [Population(NULL_INTERCEPT, NULL_LOG_ODDS, r) for r in CORRELATIONS]


def effects_study(size: Size, populations: Sequence[Population] = EFFECTS) -> pd.DataFrame:
    """The table of `coverage`."""
    truth = pd.concat(
        true.melt(var_name="scale", value_name="truth", ignore_index=False)
        .dropna()
        .assign(correlation=population.correlation)
        for population in populations
        for true in (population.true_effects(), population.true_transport())
    )
    estimated = _repeat(estimates, populations, size)
    keys = ["correlation", "attribute", "scale"]
    return coverage(estimated.merge(truth.reset_index(), on=keys))


def null_study(size: Size, populations: Sequence[Population] = NULLS) -> pd.DataFrame:
    """The table of `false_alarms`."""
    return false_alarms(_repeat(alarms, populations, size))


def grid_study(
    size: Size, error_rates: Sequence[float] = ERROR_RATES, transects: Sequence[int] = TRANSECTS
) -> pd.DataFrame:
    """The table of `grid_coverage`, of half as many audits in each of its cells."""
    tables = []
    for error_rate, n in product(error_rates, transects):
        case = replace(size, transects=n, repetitions=(size.repetitions + 1) // 2)
        drawn = _repeat(grid_intervals, [population_at(error_rate, LOG_ODDS)], case)
        tables.append(drawn.assign(error_rate=error_rate, transects=n))
    return grid_coverage(pd.concat(tables))


def _repeat(
    some_audits: Callable[[Population, Size, Sequence[int]], pd.DataFrame],
    populations: Sequence[Population],
    size: Size,
) -> pd.DataFrame:
    """Rows of `some_audits` for every population and part of its repetitions, in that order."""
    workers = share_of_cores() if size.repetitions > PART else 1
    parts = processes(workers)(
        delayed(some_audits)(population, size, range(start, min(start + PART, size.repetitions)))
        for population, start in product(populations, range(0, size.repetitions, PART))
    )
    return pd.concat(parts, ignore_index=True)


def main(profiles: list[str]) -> None:
    for name, study in {"coverage": effects_study, "null": null_study, "grid": grid_study}.items():
        path = audits.study_table_path(name)
        made = pd.read_csv(path)
        tables = [made[~made["profile"].isin(profiles)]]
        tables += [study(SIZES[profile]).assign(profile=profile) for profile in profiles]
        pd.concat(tables).to_csv(path, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
