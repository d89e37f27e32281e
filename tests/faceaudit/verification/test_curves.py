"""Similarities and error rates by group, against loops and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import det_curve

from faceaudit.verification import fixed_threshold, similarity
from faceaudit.verification.curves import by_group, euclidean_distance, held_rates, rate_table


def scored(n=600, ties=True, seed=3):
    """Similarities of two groups, positives the more similar, with ties."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    scores = rng.normal(size=n) + 1.5 * positive
    return np.round(scores, 2) if ties else scores, positive, rng.choice(["b", "a"], n)


def all_points(*pairs):
    """Rates of every group at every distinct similarity."""
    return pd.concat([rate_table(one, one.thresholds) for one in by_group(*pairs)])


def held(*pairs, fmr):
    return pd.concat([held_rates(one, np.array([fmr])) for one in by_group(*pairs)])


@pytest.mark.parametrize("ties", [False, True])
def test_curves_equal_det_curve_exactly(ties):
    scores, positive, group = scored(ties=ties)
    table = all_points(scores, positive, group)
    assert table["group"].unique().tolist() == ["a", "b"]
    for label, rows in table.groupby("group"):
        some = group == label
        np.testing.assert_array_equal(rows["threshold"], np.unique(scores[some]))
        fmr, fnmr, at = det_curve(positive[some], scores[some], drop_intermediate=False)
        finite = np.isfinite(at)
        ours = rows.set_index("threshold").loc[at[finite]]
        assert len(ours) > 100
        np.testing.assert_array_equal(ours["fmr"], fmr[finite])
        np.testing.assert_array_equal(ours["fnmr"], fnmr[finite])
        assert (rows["positives"] == positive[some].sum()).all()


def test_a_group_without_a_kind_has_no_rate_and_says_so():
    group = pd.Categorical(list("aabbcc"), categories=list("dcba"))
    pairs = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1, 1, 0, 0, 0, 1], group
    table = fixed_threshold(*pairs, 0.2)
    assert table["group"].tolist() == list("dcba")
    assert table["reason"].tolist() == ["no pairs", "", "no positives", "no negatives"]
    np.testing.assert_array_equal(table["fnmr"], [np.nan, 0, np.nan, 0.5])
    np.testing.assert_array_equal(table["fmr"], [np.nan, 1, 1, np.nan])
    table = held(*pairs, fmr=0.5)
    reasons = ["no pairs", "not estimable below 1/1", "no positives", "no negatives"]
    assert table["reason"].tolist() == reasons and table["fnmr"].isna().all()


@pytest.mark.parametrize("target", [0.004, 0.01, 0.07, 0.29, 0.5])
def test_fnmr_at_fmr_is_the_best_threshold_that_holds(target):
    scores, positive, group = scored()
    curves = all_points(scores, positive, group)
    for row in held(scores, positive, group, fmr=target).itertuples():
        rows = curves[curves["group"] == row.group]
        if target < 1 / row.negatives:
            assert np.isnan(row.fnmr)
            assert row.reason == f"not estimable below 1/{row.negatives}"
            continue
        best = rows[rows["fmr"] <= target]
        assert row.fnmr == best["fnmr"].min()
        assert row.threshold == best["threshold"].min()


def test_similarity_is_the_cosine_at_any_scale():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(30, 7)) * rng.uniform(0.01, 50, (30, 1))
    pairs = rng.integers(30, size=(10_000, 2))
    found = similarity(vectors.astype(np.float32), pairs)
    assert found.dtype == np.float64
    for k in (0, 8191, 8192, 9999):
        a, b = vectors[pairs[k]]
        assert found[k] == pytest.approx(a @ b / np.sqrt(a @ a * (b @ b)), abs=1e-6)
    assert found.max() <= 1


def test_euclidean_distances_equal_scipy_s():
    rng = np.random.default_rng(8)
    vectors = rng.normal(size=(40, 128)) * rng.uniform(0.1, 3, (40, 1))
    pairs = rng.integers(0, 40, (20_000, 2))
    expected = cdist(vectors, vectors)[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_allclose(euclidean_distance(vectors, pairs), expected, atol=1e-12)
