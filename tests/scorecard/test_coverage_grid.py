"""The grid of coverages: its populations, what its intervals should hold, and how it counts."""

import numpy as np
import pandas as pd
import pytest

from helpers.scorecard.coverage_grid import (
    SHARE,
    by_cell,
    grid_coverage,
    intervals,
    population_at,
)
from helpers.scorecard.coverage_study import LOG_ODDS
from helpers.scorecard.simulated_audits import MANIPULATED


@pytest.fixture(scope="module")
def population():
    return population_at(0.1, LOG_ODDS)


def test_a_population_errs_as_often_as_it_should(population):
    errors = population.audits(400, 1, range(40))["error"]
    assert errors.mean() == pytest.approx(0.1, abs=0.004)
    rates = by_cell(population.audits(400, 2, range(40)), 400)
    np.testing.assert_allclose(np.nanmean(rates, axis=(0, 1)), population.rates(), atol=0.012)


def test_errors_stand_at_their_transect_and_levels(population):
    audits = population.audits(30, 1, [4, 9])
    errors = by_cell(audits, 30)
    assert np.isfinite(errors).sum() == len(audits)
    for row in audits.sample(20, random_state=0).itertuples():
        place = [4, 9].index(row.audit), row.transect, *(getattr(row, a) for a in MANIPULATED)
        assert errors[place] == row.error


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


def test_an_audit_depends_on_its_own_number_only(population):
    few, many = (intervals(population, 30, 3, numbers, 9) for numbers in ([4], [1, 4]))
    again = many[many["audit"] == 4].reset_index(drop=True)
    pd.testing.assert_frame_equal(few.reset_index(drop=True), again)


def test_coverage_counts_the_intervals_there_are():
    audit = np.repeat(np.arange(50), 2)
    high = np.where(audit < 40, 1.0, -0.5)
    high[-2:] = np.nan
    drawn = pd.DataFrame({"estimator": "a", "error_rate": 0.1, "transects": 25, "audit": audit})
    drawn = drawn.assign(low=-1.0, high=high, truth=0.0)
    drawn.loc[0, "high"] = np.inf
    row = grid_coverage(drawn).iloc[0]
    assert (row["audits"], row["estimable"]) == (50, 0.98)
    assert row["coverage"] == pytest.approx(80 / 98)
    assert row["unbounded"] == pytest.approx(1 / 98)
    # Both intervals of an audit hold the truth or neither does: they count as one.
    assert row[["low", "high"]].tolist() == pytest.approx([0.686, 0.900], abs=0.003)
    nothing = grid_coverage(drawn.assign(high=np.nan)).iloc[0]
    assert nothing["estimable"] == 0
    assert np.isnan(nothing["coverage"])
