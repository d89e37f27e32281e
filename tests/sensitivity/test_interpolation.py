"""Codes on lines between codes of one class, and how many keep it."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from helpers.sensitivity import consistency, lines

RNG = np.random.default_rng(0)
INTERVAL = ["estimate", "low", "high"]


def test_lines_join_codes_of_one_class_and_use_none_twice():
    z, positive = RNG.standard_normal((50, 6)), np.arange(50) < 31
    codes, ends = lines(z, positive, seed=3)
    assert codes.shape == (24, 6) and ends.shape == (24, 2)
    assert len(np.unique(ends)) == 48
    assert positive[ends[:15]].all() and not positive[ends[15:]].any()
    along = z[ends[:, 1]] - z[ends[:, 0]]
    offset = codes - z[ends[:, 0]]
    place = (offset * along).sum(axis=1) / (along**2).sum(axis=1)
    assert ((place >= 0) & (place < 1)).all() and place.std() > 0.1
    np.testing.assert_allclose(offset, place[:, None] * along, atol=1e-12)


def test_lines_depend_on_the_seed():
    z, positive = RNG.standard_normal((50, 6)), np.arange(50) < 30
    first, again, other = (lines(z, positive, seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_lines_of_one_class_alone_and_what_is_refused():
    z, positive = np.zeros((10, 2)), np.arange(10) < 7
    assert len(lines(z, np.ones(10, bool), 0)[0]) == 5
    with pytest.raises(ValueError, match="z: 2 codes, no two of them of one class"):
        lines(z[:2], np.array([True, False]), 0)
    with pytest.raises(ValueError, match=r"positive: expected bool \(10,\), got bool \(9,\)"):
        lines(z, positive[1:], 0)
    with pytest.raises(ValueError, match="positive: expected bool .* got int64"):
        lines(z, positive.astype(int), 0)
    with pytest.raises(ValueError, match="z: row 1, column 0 is nan, a finite number was expected"):
        lines(np.where(np.arange(10)[:, None] == 1, np.nan, z), positive, 0)


def test_consistency_counts_codes_that_keep_their_class():
    table = consistency(np.array([True, True, True, False]), [0.5, 0.9, 0.1, 0.2], 0.5)
    assert table[["n", "events"]].to_numpy().tolist() == [[4, 3], [3, 2], [1, 1]]
    for ends in table.index:
        n, kept, *interval = table.loc[ends]
        np.testing.assert_allclose(interval[1:], proportion_confint(kept, n, method="wilson"))
    assert consistency(np.array([True]), [0.5], 0.5).loc["negative", INTERVAL].isna().all()
    with pytest.raises(ValueError, match="positive_ends: expected bool, got int64"):
        consistency(np.array([1]), [0.5], 0.5)
    with pytest.raises(ValueError, match=r"positive_ends: shape \(2,\), expected \(1,\)"):
        consistency(np.array([True, False]), [0.5], 0.5)
