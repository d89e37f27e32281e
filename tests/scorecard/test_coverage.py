"""Intervals of the coverage study against loops over statsmodels, audits and plain rates."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from helpers.effects import transport
from helpers.resampling import cluster_codes, draw_weights
from helpers.scorecard.coverage import (
    SHARE,
    all_estimates,
    bootstrap_effects,
    by_cell,
    intervals,
    null_tests,
    population_at,
    transported,
)
from helpers.scorecard.coverage_study import INTERCEPT, LOG_ODDS
from helpers.scorecard.simulated_audits import (
    ATTRIBUTES,
    MANIPULATED,
    STRATA,
    Population,
    carried_mixes,
)


@pytest.fixture(scope="module")
def audit():
    return Population(INTERCEPT, LOG_ODDS, 0.23).audits(150, seed=3, repetitions=[0])


def reference(frame, weight):
    """Risk differences, then log odds, of the weighted logit."""
    design = sm.add_constant(frame[list(ATTRIBUTES)])
    family = sm.families.Binomial()
    fit = sm.GLM(frame["error"], design, family=family, freq_weights=weight).fit(tol=1e-12)
    change = [
        fit.predict(design.assign(**{name: 1})) - fit.predict(design.assign(**{name: 0}))
        for name in ATTRIBUTES
    ]
    return np.append(np.average(change, axis=1, weights=weight), fit.params.iloc[1:])


def test_transect_bootstrap_equals_a_loop_over_statsmodels(audit):
    table = bootstrap_effects(audit, "transect", 2, {0: 5})
    np.testing.assert_allclose(table["estimate"], reference(audit, np.ones(len(audit))), atol=1e-6)
    codes, transects = cluster_codes(audit["transect"])
    weights = draw_weights(len(transects), range(2), seed=5)
    draws = [reference(audit, weight[codes]) for weight in weights]
    np.testing.assert_allclose(table["low"], np.quantile(draws, 0.025, axis=0), atol=1e-6)
    np.testing.assert_allclose(table["high"], np.quantile(draws, 0.975, axis=0), atol=1e-6)


def test_every_estimator_estimates_what_it_says(audit):
    table = all_estimates(audit, 20, {0: 1}).set_index(["estimator", "scale", "attribute"])
    table = table.sort_index()
    expected = table.loc["transect bootstrap", "estimate"]
    for estimator in ("image bootstrap", "cluster sandwich"):
        found = table.loc[estimator, "estimate"].reindex(expected.index)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    for name in ATTRIBUTES:
        rates = audit.groupby(name)["error"].mean()
        row = table.loc["difference of rates", "risk difference", name]
        assert row["estimate"] == pytest.approx(rates[1] - rates[0])
    assert set(table.loc["matched pairs"].index.get_level_values("attribute")) == set(MANIPULATED)
    assert ((table["low"] < table["estimate"]) & (table["estimate"] < table["high"])).all()


def test_what_is_carried_elsewhere_is_what_transport_says(audit):
    counts = (80 * carried_mixes()[0]).round().astype(int)
    target = pd.DataFrame(np.repeat(STRATA, counts, axis=0), columns=list(MANIPULATED))
    by = ["gender_level", "skin_level"]
    table = transport(audit, "error", MANIPULATED, target, "transect", by)
    rows = table.set_index(["group", "reference"])[["estimate", "low", "high"]]
    found = transported(audit).set_index("scale")[["estimate", "low", "high"]]
    np.testing.assert_allclose(found.loc["transported rate"], rows.loc["all", ""])
    # Women with light skin minus women with dark skin there, the reverse here.
    between = -rows.loc["0, 0", "0, 1"].to_numpy()[[0, 2, 1]]
    np.testing.assert_allclose(found.loc["transported difference"], between)


def test_an_audit_among_others_is_estimated_as_it_is_alone():
    audits = Population(INTERCEPT, LOG_ODDS, 0.23).audits(60, seed=3, repetitions=[4, 7])
    together, tests = all_estimates(audits, 10, {4: 1, 7: 2}), null_tests(audits)
    for number, seed in ((4, 1), (7, 2)):
        alone = audits[audits["audit"] == number]
        found = together[together["audit"] == number].reset_index(drop=True)
        expected = all_estimates(alone, 10, {number: seed}).reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        for family, table in null_tests(alone).items():
            p = tests[family].query("audit == @number")["p"]
            np.testing.assert_array_equal(p, table["p"])


@pytest.fixture(scope="module")
def population():
    return population_at(0.1, LOG_ODDS)


def test_a_population_errs_as_often_as_it_should(population):
    errors = population.audits(400, 1, range(40))["error"]
    assert errors.mean() == pytest.approx(0.1, abs=0.004)
    rates = by_cell(population.audits(400, 2, range(40)), 400)
    np.testing.assert_allclose(np.nanmean(rates, axis=(0, 1)), population.rates(), atol=0.012)


def test_estimates_scatter_around_what_intervals_should_hold(population):
    table = intervals(population, 150, 3, range(24), with_logit=8)
    off = table["estimate"] - table["truth"]
    gap = table["estimator"] == "share of a gap"
    for name, errors in off[~gap].groupby(table["estimator"]):
        assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(table["audit"].nunique()), name
    assert table.loc[gap, "estimate"].median() == pytest.approx(SHARE, abs=0.25)
    counts = table.groupby("estimator")["audit"].agg(["nunique", "size"])
    assert counts.loc["matched pairs, cells"].tolist() == [24, 24 * 12]
    assert counts.loc["cluster logit, manipulated"].tolist() == [8, 24]
    assert counts.loc["cluster logit, of faces"].tolist() == [8, 16]
