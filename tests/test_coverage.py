"""The coverage study: its record against its code, and its parts against plain computations."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from faceaudit.effects.resampling import cluster_codes, draw_weights
from faceworld import scorecard

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import coverage_study
import few_clusters
from coverage_estimators import bootstrap_effects, by_cell, intervals, population_at
from simulated_audits import ATTRIBUTES, Population

SMOKE = coverage_study.SIZES["smoke"]


@pytest.fixture(scope="module")
def audit():
    return coverage_study.EFFECTS[1].audits(150, seed=3, repetitions=[0])


@pytest.mark.parametrize(
    ("table", "make"),
    [
        ("coverage", lambda: coverage_study.effects_study(SMOKE, coverage_study.EFFECTS[1:2])),
        ("null", lambda: coverage_study.null_study(SMOKE, coverage_study.NULLS[1:2])),
        ("grid", lambda: coverage_study.grid_study(SMOKE, [0.1], [25])),
    ],
)
def test_the_record_is_what_the_study_finds(table, make):
    """A third of the smoke run's study, bit for bit."""
    recorded, made = scorecard.coverage_study(table, "smoke"), make()
    keys = {"grid": ["error_rate", "transects"]}.get(table, ["correlation"])
    recorded = recorded.merge(made[keys].drop_duplicates()).reset_index(drop=True)
    assert len(made) == {"coverage": 40, "null": 4, "grid": 9}[table]
    pd.testing.assert_frame_equal(
        recorded, made.astype(recorded.dtypes), check_exact=True, check_like=True
    )


def test_both_runs_have_the_same_rows():
    for table, columns in (("coverage", 5), ("null", 2), ("grid", 3)):
        smoke, laptop = (scorecard.coverage_study(table, name) for name in ("smoke", "seed-1"))
        pd.testing.assert_frame_equal(smoke.iloc[:, :columns], laptop.iloc[:, :columns])


def test_the_record_has_rate_differences_that_hold_the_truth():
    """Of manipulated and of seed-level attributes, at three correlations, each in 400 audits."""
    found = scorecard.coverage_study("coverage", "laptop").query(
        "estimator == 'difference of rates'"
    )
    assert len(found) == 15 and found["coverage"].between(0.92, 0.98).all()


def test_transect_bootstrap_equals_a_loop_over_statsmodels(audit):
    def reference(weight):
        """Risk differences, then log odds, of the weighted logit."""
        design = sm.add_constant(audit[list(ATTRIBUTES)])
        family = sm.families.Binomial()
        fit = sm.GLM(audit["error"], design, family=family, freq_weights=weight).fit(tol=1e-12)
        change = [
            fit.predict(design.assign(**{name: 1})) - fit.predict(design.assign(**{name: 0}))
            for name in ATTRIBUTES
        ]
        return np.append(np.average(change, axis=1, weights=weight), fit.params.iloc[1:])

    table = bootstrap_effects(audit, "transect", 2, {0: 5})
    np.testing.assert_allclose(table["estimate"], reference(np.ones(len(audit))), atol=1e-6)
    codes, transects = cluster_codes(audit["transect"])
    draws = [reference(weight[codes]) for weight in draw_weights(len(transects), range(2), seed=5)]
    np.testing.assert_allclose(table["low"], np.quantile(draws, 0.025, axis=0), atol=1e-6)
    np.testing.assert_allclose(table["high"], np.quantile(draws, 0.975, axis=0), atol=1e-6)


def test_the_truth_is_what_many_audits_find():
    population = population_at(0.1, coverage_study.LOG_ODDS)
    assert population.rates().mean() == pytest.approx(0.1)
    rates = by_cell(population.audits(400, 2, range(40)), 400)
    np.testing.assert_allclose(np.nanmean(rates, axis=(0, 1)), population.rates(), atol=0.012)
    table = intervals(population, 150, 3, range(24), with_logit=8)
    table = table[table["estimator"] != "share of a gap"]
    off = table["estimate"] - table["truth"]
    for name, errors in off.groupby(table["estimator"]):
        assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(table["audit"].nunique()), name


def test_errors_correlate_as_asked():
    frame = Population(-2.0, coverage_study.LOG_ODDS, 0.23).audit(60_000, seed=2, repetition=0)
    residual = frame["error"] - frame.groupby(list(ATTRIBUTES))["error"].transform("mean")
    sums = residual.groupby(frame["transect"]).agg(["sum", "count"])
    pairs = (sums["count"] * (sums["count"] - 1)).sum()
    covariance = ((sums["sum"] ** 2).sum() - (residual**2).sum()) / pairs
    assert covariance / (residual**2).mean() == pytest.approx(0.23, abs=0.008)


def test_the_sandwich_of_few_clusters_equals_dense_matrices():
    rng, k = np.random.default_rng(1), 4
    codes = rng.permutation(np.repeat(np.arange(10), [1, 2, 3, 4, 5, 6, 7, 8, 8, 40]))
    n, shared = len(codes), (rng.random(10) < 0.5)[codes]
    design = np.column_stack([np.ones(n), rng.normal(size=(n, k - 2)), shared])
    weights = rng.uniform(0.05, 0.25, n)
    X = np.sqrt(weights)[:, None] * design
    residual = sm.OLS(rng.normal(size=n), X).fit().resid
    bread = np.linalg.inv(X.T @ X)
    rest = np.eye(n) - X @ bread @ X.T
    found = few_clusters.bias_reduced(design, weights, residual, codes, np.eye(k))
    for one, se, df in zip(np.eye(k), *found, strict=True):
        pulls = np.zeros((10, n))
        for cluster, pull in enumerate(pulls):
            rows = codes == cluster
            size, axis = np.linalg.eigh(rest[np.ix_(rows, rows)])
            axis, size = axis[:, size > 1e-9], size[size > 1e-9]
            pull[rows] = axis / np.sqrt(size) @ axis.T @ X[rows] @ bread @ one
        gram = pulls @ rest @ pulls.T
        assert se**2 == pytest.approx(((pulls @ residual) ** 2).sum(), rel=1e-6)
        assert df == pytest.approx(np.trace(gram) ** 2 / (gram**2).sum(), rel=1e-6)


def test_the_logit_of_few_clusters_is_statsmodels(audit):
    table = few_clusters.logit(audit, "error", ATTRIBUTES, "transect")
    design = sm.add_constant(audit[list(ATTRIBUTES)])
    model = sm.GLM(audit["error"], design, family=sm.families.Binomial())
    expected = model.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": audit["transect"]})
    np.testing.assert_allclose(table["estimate"], expected.params, atol=1e-9)
    # With a hundred and fifty clusters the usual correction is nearly the same.
    np.testing.assert_allclose(table["se"], expected.bse, rtol=0.03)
