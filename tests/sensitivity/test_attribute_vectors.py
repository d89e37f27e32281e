"""Balanced samples against counts, attribute vectors against planted directions."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC
from statsmodels.stats.proportion import proportion_confint

from helpers import directions
from helpers.sensitivity.attribute_vectors import (
    _share_equally,
    attribute_vector,
    balanced_rows,
    random_directions,
    vector_table,
)

HALVED, SHARE = "Smiling", 0.8
RNG = np.random.default_rng(0)
N = 2000
SMILING, MALE = RNG.random(N) < 0.6, RNG.random(N) < 0.4
ATTRIBUTES = pd.DataFrame(
    {
        "Smiling": SMILING,
        "Male": MALE,
        "Heavy_Makeup": ~MALE & (RNG.random(N) < np.where(SMILING, 0.5, 0.3)),
        "Young": RNG.random(N) < np.where(MALE, 0.5, 0.8),
        "Goatee": np.zeros(N, bool),
    }
)


def counts(rows, *balance):
    return ATTRIBUTES.iloc[rows].groupby(list(balance)).size().to_dict()


def test_both_classes_have_the_same_cells_and_half_smile():
    positive, negative = balanced_rows(
        ATTRIBUTES, "Young", 200, ("Smiling", "Male"), HALVED, seed=1
    )
    assert ATTRIBUTES["Young"].to_numpy()[positive].all()
    assert not ATTRIBUTES["Young"].to_numpy()[negative].any()
    cells = dict.fromkeys(product([False, True], repeat=2), 50)
    assert counts(positive, "Smiling", "Male") == counts(negative, "Smiling", "Male") == cells
    for rows in (positive, negative):
        assert len(np.unique(rows)) == 200 and (np.diff(rows) > 0).all()


def test_a_cell_that_one_class_lacks_drops_out():
    positive, negative = balanced_rows(
        ATTRIBUTES, "Heavy_Makeup", 100, ("Smiling", "Male"), HALVED, 1
    )
    cells = {(False, False): 50, (True, False): 50}
    assert counts(positive, "Smiling", "Male") == counts(negative, "Smiling", "Male") == cells


def test_a_scarce_cell_gives_all_it_has():
    frame = ATTRIBUTES.copy()
    scarce = np.flatnonzero(frame["Young"] & frame["Smiling"] & frame["Male"])
    frame.loc[scarce[7:], "Young"] = False
    positive, negative = balanced_rows(frame, "Young", 200, ("Male", "Smiling"), HALVED, seed=1)
    for rows in (positive, negative):
        cells = frame.iloc[rows].groupby(["Smiling", "Male"]).size().tolist()
        assert cells == [50, 50, 93, 7]
    assert set(scarce[:7]) <= set(positive)


def test_without_smiling_cells_are_equal_and_without_any_balance_rows_are_free():
    positive, negative = balanced_rows(ATTRIBUTES, "Smiling", 101, ("Male",), HALVED, seed=1)
    assert counts(positive, "Male") == counts(negative, "Male") == {False: 51, True: 50}
    positive, negative = balanced_rows(ATTRIBUTES, "Young", 101, (), HALVED, seed=1)
    assert len(positive) == len(negative) == 101
    # Unbalanced, the young are more often women, as in the population.
    assert ATTRIBUTES["Male"][positive].mean() < ATTRIBUTES["Male"][negative].mean() - 0.1


def test_more_rows_add_to_those_of_fewer_and_seeds_differ():
    balance = ("Smiling", "Male")
    few = balanced_rows(ATTRIBUTES, "Young", 100, balance, HALVED, seed=1)
    more = balanced_rows(ATTRIBUTES, "Young", 106, balance, HALVED, seed=1)
    other = balanced_rows(ATTRIBUTES, "Young", 100, balance, HALVED, seed=2)
    for side in (0, 1):
        assert set(few[side]) < set(more[side])
        assert set(few[side]) != set(other[side])


def test_shares_are_as_equal_as_the_cells_allow():
    """Against the plain loop: give one row at a time to the cell that has given least."""
    for _ in range(200):
        available = RNG.integers(0, 12, RNG.integers(1, 7))
        if available.sum() == 0:
            continue
        wanted = int(RNG.integers(1, available.sum() + 1))
        take = np.zeros(len(available), int)
        for _ in range(wanted):
            open_cells = np.flatnonzero(take < available)
            take[open_cells[np.argmin(take[open_cells])]] += 1
        np.testing.assert_array_equal(_share_equally(wanted, available), take)


def test_all_there_is_can_be_asked_for_and_no_more():
    makeup, rest = ATTRIBUTES["Heavy_Makeup"], ~MALE
    most = 2 * min((makeup & ~SMILING).sum(), (makeup & SMILING).sum())
    assert most < 2 * (~makeup & rest & SMILING).sum()
    positive, _ = balanced_rows(ATTRIBUTES, "Heavy_Makeup", most, ("Smiling", "Male"), HALVED, 1)
    assert len(positive) == most
    half, there = most // 2 + 1, most // 2
    words = f"Heavy_Makeup: {half} rows of each class with Smiling = 0 .*of {there} positive"
    with pytest.raises(ValueError, match=words):
        balanced_rows(ATTRIBUTES, "Heavy_Makeup", most + 2, ("Smiling", "Male"), HALVED, 1)


def test_errors_have_the_counts():
    with pytest.raises(ValueError, match="Goatee: 5 rows .* of 0 positive and 2000 negative"):
        balanced_rows(ATTRIBUTES, "Goatee", 5, (), HALVED, 1)
    rare = ATTRIBUTES.assign(Goatee=~ATTRIBUTES["Goatee"])
    rare.loc[3, "Goatee"] = False
    with pytest.raises(ValueError, match="and 1 negative 1 of each are alike in .'Male'"):
        balanced_rows(rare, "Goatee", 5, ("Male",), HALVED, 1)


def test_balanced_rows_needs_sensible_columns():
    with pytest.raises(ValueError, match="no column .*Hat"):
        balanced_rows(ATTRIBUTES, "Hat", 5, (), HALVED, 1)
    with pytest.raises(ValueError, match="column 'Male', row 0 is 2, 0 or 1 was expected"):
        balanced_rows(ATTRIBUTES.assign(Male=2), "Young", 5, ("Male",), HALVED, 1)
    with pytest.raises(ValueError, match="'Smiling' cannot be separated and balanced"):
        balanced_rows(ATTRIBUTES, "Smiling", 4, ("Smiling",), HALVED, 1)
    with pytest.raises(ValueError, match="n_each is 5, expected a positive multiple of 2"):
        balanced_rows(ATTRIBUTES, "Young", 5, ("Smiling",), HALVED, 1)
    with pytest.raises(ValueError, match="n_each is 0, expected a positive multiple of 1"):
        balanced_rows(ATTRIBUTES, "Young", 0, (), HALVED, 1)


PLANTED = np.linalg.qr(RNG.standard_normal((16, 2)))[0].T
CODES = RNG.standard_normal((N, 16)).astype(np.float32)
ALONG = CODES @ PLANTED[0] + RNG.normal(0, 0.3, N)
POSITIVE, NEGATIVE = np.flatnonzero(ALONG > 0.3)[:300], np.flatnonzero(ALONG < 0.3)[:300]


def test_vector_points_along_the_planted_direction():
    vector = attribute_vector(CODES, POSITIVE, NEGATIVE, SHARE, seed=1, name="Young")
    assert vector.direction.dtype == np.float64 and vector.name == "Young"
    assert np.linalg.norm(vector.direction) == pytest.approx(1, abs=1e-12)
    assert vector.direction @ PLANTED[0] > 0.97
    reverse = attribute_vector(CODES, NEGATIVE, POSITIVE, SHARE, seed=1)
    assert reverse.direction @ PLANTED[0] < -0.97


def test_accuracy_is_that_of_the_held_out_fifth():
    vector = attribute_vector(CODES, POSITIVE, NEGATIVE, SHARE, seed=1)
    assert vector.n_test == 120
    assert 0.8 < vector.accuracy < 1
    right = round(vector.accuracy * 120)
    assert vector.accuracy == right / 120
    wilson = proportion_confint(right, 120, method="wilson")
    np.testing.assert_allclose([vector.low, vector.high], wilson)
    # Codes that say nothing of the class are told apart by chance, as held-out codes should be.
    noise = attribute_vector(RNG.standard_normal((N, 200)), POSITIVE, NEGATIVE, SHARE, seed=1)
    assert noise.low < 0.5 < noise.high


def test_direction_is_scikit_learns_on_four_fifths():
    """Nearly that of all rows, and exactly the same for the same seed only."""
    vector = attribute_vector(CODES, POSITIVE, NEGATIVE, SHARE, seed=1)
    rows = np.concatenate([POSITIVE, NEGATIVE])
    model = LinearSVC(C=directions.C, dual=False).fit(CODES[rows], np.arange(600) < 300)
    assert vector.direction @ model.coef_[0] / np.linalg.norm(model.coef_[0]) > 0.99
    again, other = (
        attribute_vector(CODES, POSITIVE, NEGATIVE, SHARE, seed=seed) for seed in (1, 2)
    )
    np.testing.assert_array_equal(again.direction, vector.direction)
    assert not np.allclose(other.direction, vector.direction)


def test_balancing_keeps_a_correlated_attribute_out():
    """Young codes smile more often: only the balanced vector is free of smiling."""
    smiling, young = CODES @ PLANTED[0] > 0, CODES @ PLANTED[1] + 0.7 * CODES @ PLANTED[0] > 0
    frame = pd.DataFrame({"Smiling": smiling, "Young": young})
    leaks = [
        attribute_vector(
            CODES, *balanced_rows(frame, "Young", 400, balance, HALVED, 1), SHARE, 1
        ).direction
        @ PLANTED[0]
        for balance in ((), ("Smiling",))
    ]
    assert leaks[1] < leaks[0]


def test_vector_table_has_a_row_per_vector():
    vectors = [
        attribute_vector(CODES, POSITIVE, NEGATIVE, SHARE, 1, name) for name in ("Young", "Bald")
    ]
    table = vector_table(vectors)
    assert table.index.tolist() == ["Young", "Bald"]
    assert list(table.columns) == ["n", "estimate", "low", "high"]
    assert table.loc["Bald", "estimate"] == vectors[1].accuracy


def refused(words, codes=CODES, positive=POSITIVE, negative=NEGATIVE, share=SHARE, name=""):
    with pytest.raises(ValueError, match=words):
        attribute_vector(codes, positive, negative, share, 1, name)


def test_codes_and_rows_must_fit():
    refused(r"codes: shape \(16,\), expected 2 axes", CODES[0])
    refused("codes: all are the same, nothing separates makeup", np.ones_like(CODES), name="makeup")
    broken = np.where(np.arange(N)[:, None] == 3, np.nan, CODES)
    refused("codes: row 3, column 0 is nan", broken)
    refused("negative: row 2000 is none of the 2000 rows", negative=[0, N])
    refused("negative: row -1 is none of the 2000 rows", negative=[0, -1])
    refused("positive: expected at least 2 rows, got 1", positive=POSITIVE[:1])
    refused("positive: expected row numbers, got bool", positive=np.ones(N, bool))
    refused("positive: row 7 occurs twice", positive=[7, 7, 8])
    refused(f"positive and negative: row {POSITIVE[0]} occurs twice", negative=POSITIVE[:5])
    refused("training_share is 1, a number in .0, 1. was", share=1)


def test_random_directions_are_unit_vectors_that_depend_on_their_number_alone():
    few, many = (random_directions(n, 16, seed=3) for n in (2, 400))
    np.testing.assert_array_equal(few, many[:2])
    np.testing.assert_allclose(np.linalg.norm(many, axis=1), 1)
    assert np.abs(many.mean(axis=0)).max() < 0.06  # no direction is preferred: SD 0.0125
