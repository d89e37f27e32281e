"""What people see against statsmodels; the smile's share against simulated truth."""

import numpy as np
import pandas as pd
import pytest

from helpers.sensitivity import explained, perception_matrix, perception_sensitivity

RNG = np.random.default_rng(0)
THREES = np.repeat(np.arange(30), 3)
INTERVAL = ["estimate", "low", "high"]
PERCEIVED = pd.DataFrame({"age": RNG.random(90), "smiling": RNG.random(90)})
SEEN = PERCEIVED + RNG.normal(0.05, 0.1, (90, 2))


def test_perception_sensitivity_of_every_attribute(robust):
    table = perception_sensitivity(PERCEIVED, SEEN, THREES)
    assert table["n"].tolist() == [30, 30]
    for attribute in PERCEIVED:
        change = (SEEN - PERCEIVED)[attribute].to_numpy()
        np.testing.assert_allclose(table.loc[attribute, INTERVAL], robust(change, THREES))
    assert perception_sensitivity(PERCEIVED, SEEN)["n"].tolist() == [90, 90]


def test_perception_matrix_has_a_row_per_vector():
    pairs = {"Young": (PERCEIVED, SEEN), "No_Beard": (SEEN, PERCEIVED)}
    matrix = perception_matrix(pairs, THREES)
    assert matrix["estimate"].shape == (2, 2)
    for vector, pair in pairs.items():
        table = perception_sensitivity(*pair, THREES)
        for statistic in INTERVAL:
            np.testing.assert_allclose(matrix[statistic].loc[vector], table[statistic])


def test_perception_names_what_is_wrong():
    with pytest.raises(
        ValueError, match=r"after: columns \['age'\], expected \['age', 'smiling'\]"
    ):
        perception_sensitivity(PERCEIVED, SEEN[["age"]])
    with pytest.raises(
        ValueError, match=r"after: shape \(89, 2\), expected \(90, 2\) as of before"
    ):
        perception_sensitivity(PERCEIVED, SEEN[1:])
    holes = SEEN.mask(SEEN["age"][4] == SEEN)
    with pytest.raises(ValueError, match="after: row 4, column 0 is nan"):
        perception_sensitivity(PERCEIVED, holes)
    with pytest.raises(ValueError, match="after: row 4"):
        perception_matrix({"Young": (PERCEIVED, holes)})
    with pytest.raises(ValueError, match="at least one attribute vector"):
        perception_matrix({})


def simulated_changes(rng, n=80, direct=0.03, noise=0.05):
    """Score changes are 1.5 times the true smile's, plus `direct`; people see it with noise."""
    smile, full = rng.normal(0.05, 0.03, n), rng.normal(0.3, 0.05, n)
    error = rng.normal(0, noise, (4, n))
    return (
        1.5 * smile + direct + 0.5 * error[0],
        smile + error[1],
        1.5 * full + 0.5 * error[2],
        full + error[3],
    )


def test_explained_is_a_ratio_of_means():
    changes = simulated_changes(np.random.default_rng(1))
    table = explained(*changes, n_boot=50, seed=2)
    total, seen, scored, calibrated = (change.mean() for change in changes)
    share = scored / calibrated * seen
    np.testing.assert_allclose(table["estimate"], [total, share, total - share])
    assert list(table.index) == ["total", "explained", "rest"]


def test_explained_resamples_codes():
    """Copies of codes leave the interval as it is; as codes of their own they would halve it."""
    changes = simulated_changes(np.random.default_rng(1))
    table = explained(*changes, n_boot=200, seed=2)
    copies = [np.repeat(change, 4) for change in changes]
    repeated = explained(*copies, n_boot=200, seed=2, cluster=np.repeat(np.arange(80), 4))
    np.testing.assert_allclose(repeated, table)
    single = explained(*copies, n_boot=200, seed=2)
    width, half = table["high"] - table["low"], single["high"] - single["low"]
    assert (half / width).between(0.35, 0.65).all()


def test_explained_covers_the_rest():
    """Perception noise larger than the perceived change itself does not pull β to zero."""
    hits, runs = np.zeros(3), 100
    for run in range(runs):
        changes = simulated_changes(np.random.default_rng(run), n=200, noise=0.1)
        table = explained(*changes, n_boot=120, seed=run)
        hits += table["low"].le([0.105, 0.075, 0.03]) & table["high"].ge([0.105, 0.075, 0.03])
    assert (hits / runs).between(0.9, 0.99).all()


def test_explained_estimates_no_part_without_a_calibration_that_is_seen():
    changes = list(simulated_changes(np.random.default_rng(1)))
    weak = [*changes[:3], changes[3] - changes[3].mean()]
    table = explained(*weak, n_boot=50, seed=2)
    assert table.loc["total"].notna().all()
    assert table.loc[["explained", "rest"]].isna().all(axis=None)
    with pytest.raises(ValueError, match="cluster: one code only"):
        explained(*changes, n_boot=50, seed=2, cluster=np.zeros(80))
    with pytest.raises(ValueError, match="score_change: row 3 is -2.31, a change in"):
        explained(np.where(np.arange(80) == 3, -2.31, changes[0]), *changes[1:], n_boot=50, seed=2)
    with pytest.raises(ValueError, match=r"perceived_change: shape \(79,\), expected \(80,\)"):
        explained(changes[0], changes[1][1:], *changes[2:], n_boot=50, seed=2)
