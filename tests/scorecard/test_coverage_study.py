"""The coverage study: its tables, and that it can go on."""

import numpy as np
import pandas as pd
import pytest

from helpers import artifacts
from helpers.artifacts import lineage
from helpers.scorecard import coverage_study
from helpers.scorecard.coverage import bootstrap_effects
from helpers.scorecard.coverage_study import INTERCEPT, LOG_ODDS, Size, coverage, study
from helpers.scorecard.simulated_audits import Population

SMALL = Size(transects=30, repetitions=3, n_boot=20, seed=1)


@pytest.fixture
def one_correlation(monkeypatch):
    monkeypatch.setattr(coverage_study, "CORRELATIONS", (0.23,))


def test_image_bootstrap_is_too_narrow_for_seeds_and_too_wide_for_what_is_manipulated():
    population = Population(INTERCEPT, LOG_ODDS, 0.41)
    truth = population.true_effects().melt(var_name="scale", value_name="truth", ignore_index=False)
    audits = population.audits(100, 1, range(80))
    seeds = {number: number for number in range(80)}
    drawn = pd.concat(
        bootstrap_effects(audits, unit, 100, seeds).assign(estimator=unit)
        for unit in ("image", "transect")
    ).merge(truth.reset_index(), on=["attribute", "scale"])
    table = coverage(drawn.assign(correlation=0.41)).query("scale == 'risk difference'")
    ratio = table.groupby(["estimator", "kind"])["width_ratio"].mean()
    assert ratio["image", "seed-level"] < 0.75
    assert ratio["image", "manipulated"] > 1.1
    assert 0.85 < ratio["transect"].min() < ratio["transect"].max() < 1.15
    covered = table.groupby(["estimator", "kind"])["coverage"].mean()
    assert covered["image", "seed-level"] + 0.1 < covered["transect", "seed-level"]


def test_coverage_counts():
    drawn = pd.DataFrame(
        {
            "estimator": "a",
            "correlation": 0.1,
            "attribute": "skin_level",
            "scale": "log odds",
            "truth": 1.0,
            "estimate": [0.0, 2.0, 1.0, 9.0],
            "low": [-1.0, 1.0, 1.5, np.nan],
            "high": [0.9, 3.0, 2.5, np.nan],
        }
    )
    row = coverage(drawn).iloc[0]
    assert (row["attribute"], row["kind"]) == ("skin", "manipulated")
    assert (row["repetitions"], row["coverage"], row["bias"]) == (3, pytest.approx(1 / 3), 0)
    assert row["width_ratio"] == pytest.approx(4.9 / 3 / (2 * 1.959964), rel=1e-6)
    assert row["low"] == pytest.approx(0.0615, abs=1e-4)  # Wilson's, one of three


def test_coverage_of_the_grid_counts_the_intervals_there_are():
    audit = np.repeat(np.arange(50), 2)
    high = np.where(audit < 40, 1.0, -0.5)
    high[-2:] = np.nan
    drawn = pd.DataFrame({"estimator": "a", "error_rate": 0.1, "transects": 25, "audit": audit})
    drawn = drawn.assign(low=-1.0, high=high, truth=0.0)
    drawn.loc[0, "high"] = np.inf
    row = coverage_study.grid_coverage(drawn).iloc[0]
    assert (row["audits"], row["estimable"]) == (50, 0.98)
    assert row["coverage"] == pytest.approx(80 / 98)
    assert row["unbounded"] == pytest.approx(1 / 98)
    # Both intervals of an audit hold the truth or neither does: they count as one.
    assert row[["low", "high"]].tolist() == pytest.approx([0.686, 0.900], abs=0.003)
    nothing = coverage_study.grid_coverage(drawn.assign(high=np.nan)).iloc[0]
    assert nothing["estimable"] == 0
    assert np.isnan(nothing["coverage"])


def test_an_interrupted_study_goes_on(tmp_path, one_correlation, monkeypatch):
    expected = study(SMALL, tmp_path / "at once", workers=1)

    def interrupt(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(coverage_study, "null_tests", interrupt)
        with pytest.raises(KeyboardInterrupt):
            study(SMALL, tmp_path / "parts", workers=1)
    monkeypatch.setattr(coverage_study, "all_estimates", interrupt)  # all of these are there
    resumed = study(SMALL, tmp_path / "parts", workers=1)
    for one, other in zip(expected, resumed, strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_the_command_leaves_a_stage(artifacts_folder, monkeypatch):
    tiny = lineage.load_profile("smoke")
    vars(tiny).update(n_transects=20, n_coverage=2, n_boot=10)
    monkeypatch.setattr(lineage, "load_profile", lambda _name: tiny)
    coverage_study.main(["--profile", "smoke"])
    table = artifacts.load("coverage_study", "coverage.parquet", "smoke")
    assert {"coverage", "low", "high", "width_ratio", "kind"} <= set(table.columns)
    results = artifacts.load("coverage_study", "results.json", "smoke")
    assert results["repetitions"] == 2
    assert set(table["correlation"]) == set(coverage_study.CORRELATIONS)
    assert set(results["coverage"]["matched pairs"]) == {"manipulated"}
    grid = artifacts.load("coverage_study", "grid.parquet", "smoke")
    assert len(grid[["error_rate", "transects"]].drop_duplicates()) == 9
    assert set(grid["audits"]) == {1}
    files = {path.name for path in (artifacts_folder / "smoke" / "coverage_study").iterdir()}
    tables = {f"{name}.parquet" for name in ("coverage", "null", "grid")}
    assert files == tables | {"results.json", "manifest.json"}
