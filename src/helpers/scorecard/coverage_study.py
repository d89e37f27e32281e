"""Do nominal 95 % intervals cover the truth 95 % of the time, and does a null stay quiet?

    python -m helpers.scorecard.coverage_study --profile laptop

Pruned audits are simulated again and again from populations whose effects are known
(`helpers.scorecard.simulated_audits`), at three intraclass correlations of errors within transects.
The stage `artifacts/<profile>/coverage_study/` holds

- coverage.parquet: for every estimator, correlation, attribute and scale how often its intervals
  hold the true effect, and how wide they are compared with what the estimates' spread asks for; of
  estimates carried to another population, one rate ("strata") and one difference;
- null.parquet: how often audits of a model whose errors depend on nothing raise any alarm;
- grid.parquet: coverage of every interval that the book prints, at three sizes of an audit and
  three rates of errors, where intervals that rest on large samples fail.

Audits are keyed by their number and finished parts are kept, so an interrupted study goes on where
it stopped, with the same results.
"""

import argparse
import io
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import delayed
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from helpers.artifacts import Stage, kept, lineage, manifests
from helpers.effects import holm
from helpers.scorecard.coverage import all_estimates, intervals, null_tests, population_at
from helpers.scorecard.simulated_audits import ATTRIBUTES, SEED_LEVEL, Population
from helpers.utils import seeding
from helpers.utils.parallel import processes, share_of_cores

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
"""Audits per finished part, whose frame is read once; results do not depend on it."""
NEEDED = 2 * norm.ppf(0.975)
"""Width of a normal 95 % interval in standard deviations of its estimate."""


@dataclass(frozen=True)
class Size:
    """Of every simulated audit, and how many there are per correlation."""

    transects: int
    repetitions: int
    n_boot: int
    seed: int


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
        share that is unbounded, and the 95 % interval of coverage, low and high. Intervals of one
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


def headline(covered: pd.DataFrame, null: pd.DataFrame) -> dict[str, object]:
    """Coverage pooled over attributes of a kind, its extremes over correlations, most alarms."""
    keys = ["estimator", "kind", "scale", "correlation"]
    # Every row has (nearly) the same number of repetitions, so the mean of shares pools them.
    pooled = covered.groupby(keys, sort=False)["coverage"].mean().reset_index()
    ranges = pooled.groupby(["estimator", "kind"], sort=False)["coverage"].agg(["min", "max"])
    return {
        "repetitions": int(covered["repetitions"].max()),
        "coverage": {
            name: part.droplevel("estimator").T.to_dict("list")
            for name, part in ranges.groupby("estimator", sort=False)
        },
        "false_alarms": null.groupby("estimator", sort=False)["false_alarms"].max().to_dict(),
    }


# --- the study


def study(
    size: Size, folder: Path, workers: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of `coverage` and `false_alarms`; finished parts stay in `folder`."""
    effects = [Population(INTERCEPT, LOG_ODDS, r) for r in CORRELATIONS]
    nulls = [Population(NULL_INTERCEPT, NULL_LOG_ODDS, r) for r in CORRELATIONS]
    truth = pd.concat(
        true.melt(var_name="scale", value_name="truth", ignore_index=False)
        .dropna()
        .assign(correlation=population.correlation)
        for population in effects
        for true in (population.true_effects(), population.true_transport())
    )
    estimated = _repeat(estimates, effects, size, folder, workers)
    estimated = estimated.merge(truth.reset_index(), on=["correlation", "attribute", "scale"])
    return coverage(estimated), false_alarms(_repeat(alarms, nulls, size, folder, workers))


def grid(size: Size, folder: Path, workers: int | None = None) -> pd.DataFrame:
    """The table of `grid_coverage`, of half as many audits in each of its cells."""
    tables = []
    for error_rate, transects in product(ERROR_RATES, TRANSECTS):
        case = replace(size, transects=transects, repetitions=(size.repetitions + 1) // 2)
        parts = folder / f"{error_rate}-{transects}"
        drawn = _repeat(grid_intervals, [population_at(error_rate, LOG_ODDS)], case, parts, workers)
        tables.append(drawn.assign(error_rate=error_rate, transects=transects))
    return grid_coverage(pd.concat(tables))


def _repeat(
    some_audits: Callable[[Population, Size, Sequence[int]], pd.DataFrame],
    populations: Sequence[Population],
    size: Size,
    folder: Path,
    workers: int | None,
) -> pd.DataFrame:
    """Rows of `some_audits` for every population and part of its repetitions, in that order."""
    parts = processes(workers or share_of_cores())(
        delayed(_part)(some_audits, population, size, start, folder)
        for population, start in product(populations, range(0, size.repetitions, PART))
    )
    return pd.concat(parts, ignore_index=True)


def _part(
    some_audits: Callable[[Population, Size, Sequence[int]], pd.DataFrame],
    population: Population,
    size: Size,
    start: int,
    folder: Path,
) -> pd.DataFrame:
    """Rows of the audits from `start` on, made now or by an earlier run."""
    path = folder / f"{some_audits.__name__}-{population.correlation}-{start}.part"
    content = kept.read(path)
    if content is None:
        numbers = range(start, min(start + PART, size.repetitions))
        content = some_audits(population, size, numbers).to_parquet(index=False)
        kept.write(path, content)
    return pd.read_parquet(io.BytesIO(content))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True)
    name = parser.parse_args(arguments).profile
    profile = lineage.load_profile(name)
    size = Size(profile.n_transects, profile.n_coverage, profile.n_boot, profile.seed)
    stage = Stage("coverage_study", profile=name, device="cpu", seed=profile.seed)
    # Parts of another size or of other code are not mixed with these.
    code = kept.made_by(Path(__file__), manifests.versions())
    parts = stage.folder / "parts"
    folder = parts / sha256(f"{size}{code}".encode()).hexdigest()[:12]
    covered, null = study(size, folder)
    stage.save("coverage.parquet", covered)
    stage.save("null.parquet", null)
    stage.save("grid.parquet", grid(size, folder))
    stage.finish(headline(covered, null))
    shutil.rmtree(parts)


if __name__ == "__main__":
    main(sys.argv[1:])
