"""Repeated audits, against the same estimators on the table of one audit's images."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from faceaudit import effects
from faceaudit.effects.verdicts import partial_pooling
from faceaudit.utils import seeding
from faceworld import scorecard
from faceworld.scorecard.audits import as_frame

AXES = ["skin_colour", "hair_length", "gender"]


def test_an_audit_equals_matched_effects_on_the_drawn_faces(pool):
    table = scorecard.ideal_audits(pool, AXES, n_transects=50, repetitions=3, seed=7)
    drawn = pool[seeding.rng(7, "repeated audits", 2).integers(300, size=50)]
    expected = effects.all_matched_effects(as_frame(drawn[None], AXES), "error", AXES, "transect")
    both = table[table["audit"] == 2].merge(
        expected, on=["attribute", *AXES], suffixes=("", "_expected")
    )
    assert len(both) == 12
    for name in ("estimate", "low", "high"):
        np.testing.assert_allclose(both[name], both[f"{name}_expected"], atol=1e-12)


def test_intervals_hold_the_pools_own_effects(pool):
    table = scorecard.ideal_audits(pool, AXES, n_transects=100, repetitions=200, seed=1)
    cell = table[(table["attribute"] == "gender") & table["skin_colour"].eq(1).fillna(False)]
    expected = (pool[:, 1, :, 1] - pool[:, 1, :, 0]).mean(axis=0)
    np.testing.assert_allclose(cell.groupby("hair_length")["truth"].first(), expected)
    assert 0.92 < table["truth"].between(table["low"], table["high"]).mean() < 0.98
    few = scorecard.ideal_audits(pool, AXES, n_transects=100, repetitions=2, seed=1)
    pd.testing.assert_frame_equal(few, table[table["audit"] < 2].reset_index(drop=True))


def test_pooled_cells_of_an_audit_are_pooled_from_its_pairs(pool):
    audits = scorecard.draw_audits(pool, 80, 3, seed=4)
    table, cells = scorecard.pooled_audits(audits, AXES), scorecard.matched_audits(audits, AXES)
    for axis, attribute in enumerate(AXES):
        rows = cells.query(f"audit == 1 and attribute == {attribute!r}")
        low, high = np.split(audits[1], 2, axis=axis + 1)
        covariance = np.cov((high - low).reshape(80, 4).T, bias=True) / 80
        se = (rows["high"] - rows["low"]) / (2 * norm.ppf(0.975))
        np.fill_diagonal(covariance, np.maximum(np.diag(covariance), se**2))
        mean, spread, between = partial_pooling(rows["estimate"], covariance)
        found = table.query(f"audit == 1 and attribute == {attribute!r}")
        np.testing.assert_allclose(found["estimate"], mean)
        np.testing.assert_allclose(found["high"] - found["estimate"], spread * norm.ppf(0.975))
        np.testing.assert_allclose(found["between"], between)
    assert ((table["p"] < 0.05) == ((table["low"] > 0) | (table["high"] < 0))).all()


def test_the_logit_of_an_audit_equals_the_papers_on_its_images(pool):
    audits = scorecard.draw_audits(pool, 40, 2, seed=5)
    table = scorecard.logit_audits(audits, AXES, n_boot=3)
    frame = as_frame(audits[1:], AXES)
    levels = frame[[f"{name}_level" for name in AXES]].to_numpy()
    X = np.stack([1 - levels, levels], axis=2).reshape(len(levels), -1)
    beta = effects.paper_logit(X, frame["error"])
    # Dark against light skin of short-haired women: skin is the first pair of columns.
    women = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0]])
    light, dark = 1 / (1 + np.exp(-(beta[0] + women @ beta[1:])))
    cell = table.query("audit == 1 and attribute == 'skin_colour'").iloc[0]
    assert (cell["hair_length"], cell["gender"]) == (0, 0)
    assert cell["estimate"] == pytest.approx(dark - light, abs=1e-9)


def test_averages_and_cells_are_those_of_the_pairs_and_the_rates(pool):
    audits = scorecard.draw_audits(pool, 60, 3, seed=5)
    frame = as_frame(audits[2:], AXES)
    pairs = effects.all_matched_effects(frame, "error", AXES, "transect")
    pairs = pairs[pairs[AXES].isna().all(axis=1)].set_index("attribute")

    def averaged(some, name):
        found = effects.matched_effects(some, "error", f"{name}_level", ["audit"], "transect")
        return [found.reset_index()]

    matched = scorecard.of_frames(audits, AXES, averaged).query("audit == 2").set_index("attribute")
    for name in ("estimate", "low", "high", "p"):
        np.testing.assert_allclose(matched[name], pairs.loc[AXES, name])
    table = scorecard.logit_audits(audits, AXES, with_="gender", n_boot=3)
    whole = table[AXES].isna().all(axis=1)
    average = table[whole].query("audit == 2").set_index("attribute")["estimate"]
    cells = table[~whole].query("audit == 2").groupby("attribute")["estimate"].mean()
    np.testing.assert_allclose(average[AXES], cells[AXES])


def test_sequences_of_averages_are_those_of_single_audits():
    random = seeding.rng(7, "sequences of averages")
    audits = (random.random((5, 80, 2, 2)) < [[0.1, 0.1], [0.2, 0.3]]).astype(float)
    table = scorecard.sequence_audits(audits, ("skin", "hair"), 0.05)
    for row in table.query("attribute == 'skin'").itertuples():
        differences = (audits[row.audit, :, 1] - audits[row.audit, :, 0]).mean(axis=1)
        games = effects.betting_sequence(differences, sought=0.05)
        low, high = games.interval(0.05)
        assert (row.low, row.high) == (low.item(), high.item())
        assert abs(row.estimate - differences.mean()) < 1e-12
        assert (row.p < 0.05) == (row.low > 0 or row.high < 0)
