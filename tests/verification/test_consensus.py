"""Consensus of raters, against a trimmed mean and exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import trim_mean

from helpers.verification import hcic, is_match


def test_consensus_is_the_mean_of_the_middle_five():
    ratings = np.random.default_rng(0).integers(5, size=(200, 9))
    np.testing.assert_allclose(hcic(ratings), trim_mean(ratings, 0.25, axis=1) / 4, atol=1e-15)
    np.testing.assert_allclose(hcic(ratings, 0, 0), ratings.mean(axis=1) / 4)
    assert hcic([[0, 0, 1, 2, 3, 4, 4, 4, 4]], 0, 4)[0] == 6 / 20
    assert hcic([[0, 0, 1, 2, 3, 4, 4, 4, 4]], 4, 0)[0] == 19 / 20


@given(
    arrays.arrays(np.int64, (20, 9), elements=st.integers(0, 4)),
    st.sampled_from([0.2, 0.3, 0.4, 0.35, 0.7]),
)
def test_a_match_is_decided_in_whole_numbers(ratings, t):
    expected = [
        Fraction(int(sum(sorted(row)[2:7])), 20) <= Fraction(str(t)) for row in ratings.tolist()
    ]
    np.testing.assert_array_equal(is_match(ratings, t), expected)


def test_pairs_exactly_on_the_threshold_match():
    # Five ratings that sum to 6 have the consensus 0.3; 0.7 · 20 is 14.000000000000002 or less.
    on = np.array([[0, 0, 0, 1, 1, 2, 2, 4, 4], [0, 0, 2, 3, 3, 3, 3, 3, 4]])
    assert is_match(on, 0.3).tolist() == [True, False]
    assert is_match(on, 0.7).tolist() == [True, True]
    assert is_match(on[1:], 0.699).tolist() == [False]


@pytest.mark.parametrize("t", [0.2, 0.3, 0.4])
def test_only_single_against_double_precision_moves_pairs_and_all_of_them_one_way(t):
    """The erratum of chapter 16: every consensus of five ratings, in both precisions."""
    sums = np.arange(21)
    middle = np.stack([sums // 5 + (k < sums % 5) for k in range(5)], axis=1)
    ratings = np.column_stack([np.zeros((21, 2), int), np.sort(middle), np.full((21, 2), 4)])
    mean, match = hcic(ratings), is_match(ratings, t)
    assert (mean.astype(np.float32) <= np.float32(t)).tolist() == match.tolist()
    assert (mean <= np.float64(t)).tolist() == match.tolist()
    assert (mean <= np.float32(t)).tolist() == match.tolist()
    mixed = mean.astype(np.float32) <= np.float64(t)
    assert np.flatnonzero(match & ~mixed).tolist() == [round(20 * t)] and not (mixed & ~match).any()


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([[0] * 9, [0] * 8 + [5]], "ratings: row 1, column 8 is 5, a whole"),
        ([[0.0] * 9, [0.5] + [0.0] * 8], "row 1, column 0 is 0.5, a whole"),
        ([[0.0] * 8 + [np.nan]], "row 0, column 8 is nan, a whole"),
        ([0, 1, 2], r"shape \(3,\)"),
        ([["0"] * 9], "whole numbers"),
        ([[0, 1, 2, 3]], "2 lowest and 2 highest of 4"),
    ],
)
def test_ratings_that_are_none_are_named(ratings, message):
    with pytest.raises(ValueError, match=message):
        hcic(ratings)
    with pytest.raises(ValueError, match=message):
        is_match(ratings, 0.3)


def test_a_threshold_of_raw_ratings_is_refused():
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        is_match([[0] * 9], 1.2)
