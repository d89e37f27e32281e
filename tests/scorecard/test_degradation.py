"""Worse conditions, one at a time, against plain arithmetic."""

import numpy as np
import pandas as pd

from helpers import scorecard
from helpers.directions import Hyperplanes

AXES = ["skin_colour", "hair_length", "gender"]


def test_departures_are_those_of_the_versions_not_of_the_faces(pool):
    worse = pool.copy()
    worse[:, 1, 0, 0] = 1 - worse[:, 1, 0, 0]
    table = scorecard.departures(np.stack([pool, worse]), pool, AXES)
    same, other = (table[table["version"] == k].set_index("attribute")["value"] for k in (0, 1))
    assert (same == 0).all()
    # One cell of eight changed: it takes part in one of the four effects of each attribute.
    shift = abs(worse[:, 1, 0, 0].mean() - pool[:, 1, 0, 0].mean())
    np.testing.assert_allclose(other, shift / 2, atol=0.005)


def test_power_of_a_cell_rises_with_its_transects_as_the_formula_says(pool):
    cells = scorecard.nearest_cells({"a": pool}, AXES, of=AXES[:1], sizes=[0.2])
    ((name, cell),) = cells.items()
    assert "points" in name
    table = scorecard.power_of_cell(cell, [20, 100, 400], 300, seed=0)
    assert table["found"].is_monotonic_increasing
    np.testing.assert_allclose(table["found"], table["formula"], atol=0.08)


def test_the_formula_takes_errors_that_exclude_each_other():
    # A model that misreads either level, seldom both: the errors correlate negatively.
    errors = np.repeat([[1, 0], [0, 1], [0, 0]], [100, 250, 650], axis=0)
    assert np.corrcoef(errors.T)[0, 1] < -0.1
    table = scorecard.power_of_cell(errors, [20, 50, 100], 400, seed=3)
    assert (table["reason"] == "").all()
    np.testing.assert_allclose(table["found"], table["formula"], atol=0.08)


def test_a_rate_of_zero_has_no_formula_and_says_so():
    errors = np.repeat([[0, 1], [0, 0]], [10, 90], axis=0)
    table = scorecard.power_of_cell(errors, [20, 50], 5, seed=3)
    assert table["formula"].isna().all()
    assert table["reason"].str.startswith("an error rate of 0 or 1").all()


def test_a_planted_leak_shifts_the_estimate_by_what_the_hidden_attribute_does():
    generator = np.random.default_rng(0)
    risk = np.full((2, 2, 2, 2), 0.1)
    risk[1, :, 0, 1] = 0.4  # dark-skinned women with the hidden attribute
    errors = (generator.random((4000, 2, 2, 2, 2)) < risk).astype(float)
    table = scorecard.leaking(errors, AXES, "skin_colour", [0.0, 0.5, 1.0])
    np.testing.assert_allclose(table["estimate"], [0, 0.15, 0.3], atol=0.03)
    np.testing.assert_allclose(table["hidden"], 0.3, atol=0.03)
    women = errors[:, :, :, 0].mean(axis=2)
    change = women[:, 1, 1] - women[:, 0, 0]
    ends = change.mean() + 1.959964 * change.std(ddof=1) / np.sqrt(4000) * np.array([-1, 1])
    np.testing.assert_allclose(table[["low", "high"]].iloc[-1].astype(float), ends, rtol=1e-6)


def test_mixtures_of_directions_reach_the_targets_of_a_single_axis():
    rng = np.random.default_rng(2)
    planes = Hyperplanes(("gender", "age"), rng.normal(size=(2, 6)), np.array([0.1, -0.2]))
    base = rng.normal(size=(5, 6))
    for share in (0, 0.5, 1):
        w = scorecard.between_directions(base, planes, ["gender"], [[-1.0, 2.0]], share)
        values = planes.decision_values(w).reshape(5, 2, 2)
        np.testing.assert_allclose(values[:, :, 0], np.tile([-1, 2], (5, 1)), atol=1e-12)
        drift = np.ptp(values[:, :, 1], axis=1)
        assert (drift < 1e-12).all() == (share == 0)


def test_more_raters_and_less_noise_make_better_labels():
    index = [f"image {k}" for k in range(300)]
    perceived = pd.DataFrame({"gender": np.random.default_rng(0).random(300)}, index=index)
    right = (perceived["gender"] >= 0.5).to_numpy()
    wrong = [
        (scorecard.labels_by(perceived, raters, noise, seed=1, stage="test") != right).mean()
        for raters, noise in ((1, 2.0), (1, 1.0), (15, 1.0))
    ]
    assert wrong[0] > wrong[1] > wrong[2]
