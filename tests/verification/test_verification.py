"""Consensus, curves, vertex bands, disparities and steps, against loops and scikit-learn."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import norm, trim_mean, ttest_1samp
from scipy.stats import t as student
from sklearn.metrics import det_curve

from helpers.resampling import draw_weights
from helpers.verification import (
    disparities,
    equal_error_rate,
    error_curves,
    fixed_threshold,
    fnmr_at_fmr,
    hcic,
    is_match,
    load_embeddings,
    similarity,
    step_effects,
    vertex_bootstrap,
)

# --- consensus


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


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([[0] * 9, [0] * 8 + [5]], "row 1, rater 8: 5 where"),
        ([[0.0] * 9, [0.5] + [0.0] * 8], "row 1, rater 0: 0.5 where"),
        ([[0.0] * 8 + [np.nan]], "row 0, rater 8: nan where"),
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


# --- embeddings


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
    for scale in (1e200, 1e-200, 1e-300):
        np.testing.assert_allclose(similarity(vectors * scale, pairs), found, atol=1e-6)
    both = np.vstack([1e200 * vectors[0], 1e-200 * vectors[0]])
    assert similarity(both, [[0, 1]])[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("row", "message"), [([np.nan, 1.0], "row 2: a number that is not"), ([0, 0], "row 2: nothing")]
)
def test_embeddings_without_a_direction_are_named(row, message):
    vectors = np.ones((4, 2))
    vectors[2] = row
    with pytest.raises(ValueError, match=message):
        similarity(vectors, [[0, 1]])


def test_pairs_without_an_embedding_are_named():
    with pytest.raises(ValueError, match=r"pairs, row 1: images \[0, 4\]"):
        similarity(np.ones((4, 2)), [[0, 1], [0, 4]])
    with pytest.raises(ValueError, match=r"\(m, 2\)"):
        similarity(np.ones((4, 2)), [0, 1])


@pytest.fixture
def vectors():
    return np.random.default_rng(2).normal(size=(5, 3))


def test_embeddings_are_read_from_every_format(tmp_path, vectors):
    np.save(tmp_path / "e.npy", vectors)
    np.savez(tmp_path / "e.npz", vectors)
    np.savetxt(tmp_path / "e.csv", vectors, delimiter=",")
    for name in ("e.npy", "e.npz", "e.csv"):
        read = load_embeddings(tmp_path / name, 5, 3)
        assert read.dtype == np.float64
        np.testing.assert_allclose(read, vectors)


def test_embedding_files_that_do_not_fit_are_named(tmp_path, vectors):
    path = tmp_path / "e.npy"
    np.save(path, vectors)
    with pytest.raises(ValueError, match=r"e.npy: 5 rows where 6"):
        load_embeddings(path, 6)
    with pytest.raises(ValueError, match=r"e.npy: width 3 where 4"):
        load_embeddings(path, 5, 4)
    vectors[3, 1] = np.inf
    np.save(path, vectors)
    with pytest.raises(ValueError, match=r"e.npy, row 3: a number that is not finite"):
        load_embeddings(path, 5)
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"e.npy: not a file of numbers"):
        load_embeddings(path, 1)
    np.savez(tmp_path / "two.npz", a=vectors, b=vectors)
    with pytest.raises(ValueError, match="where a single one"):
        load_embeddings(tmp_path / "two.npz", 5)
    with pytest.raises(ValueError, match="file ending in"):
        load_embeddings(tmp_path / "e.txt", 5)


def test_broken_files_are_named(tmp_path, vectors):
    path = tmp_path / "e.npz"
    message = "e.npz: not a file of numbers as numpy saves it"
    np.savez_compressed(path, np.tile(vectors, (20, 1)))
    content = path.read_bytes()
    middle = len(content) // 2
    wrong = bytes(255 - byte for byte in content[middle : middle + 20])
    for broken in (
        content[:-30],  # without the directory of the archive
        content[:middle] + wrong + content[middle + 20 :],
        b"",
    ):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=message):
            load_embeddings(path, 100)
    np.savez(path, np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match=message):
        load_embeddings(path, 1)
    np.save(tmp_path / "e.npy", vectors)
    (tmp_path / "e.npy").rename(tmp_path / "e.csv")
    with pytest.raises(ValueError, match="e.csv: not a table of numbers"):
        load_embeddings(tmp_path / "e.csv", 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "line 1, column 1: 'a' where a number"),
        ("1,2\n3,\n", "row 1: a number that is not finite"),
        ("1,2\n3,4,5\n", "not a table"),
        ("", "not a table"),
    ],
)
def test_csv_that_is_no_matrix_is_named(tmp_path, text, message):
    path = tmp_path / "e.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_embeddings(path, 2)


# --- curves


def scored(n=600, ties=True, seed=3):
    """Similarities of two groups, positives the more similar, with ties."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    scores = rng.normal(size=n) + 1.5 * positive
    return np.round(scores, 2) if ties else scores, positive, rng.choice(["b", "a"], n)


@pytest.mark.parametrize("ties", [False, True])
def test_curves_equal_det_curve_exactly(ties):
    scores, positive, group = scored(ties=ties)
    table = error_curves(scores, positive, group)
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
    table = error_curves([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1, 1, 0, 0, 0, 1], group)
    rows = dict(list(table.groupby("group", sort=False)))
    assert list(rows) == list("dcba")
    assert rows["a"]["reason"].unique() == ["no negatives"]
    assert rows["a"]["fmr"].isna().all() and rows["a"]["fnmr"].tolist() == [0, 0.5]
    assert rows["b"]["reason"].unique() == ["no positives"]
    assert rows["b"]["fnmr"].isna().all() and rows["b"]["fmr"].tolist() == [1, 0.5]
    assert rows["c"]["reason"].unique() == [""]
    assert rows["d"][["threshold", "fnmr", "fmr"]].isna().all(axis=None) and len(rows["d"]) == 1
    held = fnmr_at_fmr([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1, 1, 0, 0, 0, 1], group, fmr=[0.5])
    assert held["reason"].tolist() == ["no pairs", "not estimable below 1/1", *held["reason"][2:]]
    assert held["reason"].tolist()[2:] == ["no positives", "no negatives"]
    assert held["fnmr"].isna().all()


@pytest.mark.parametrize("target", [0.004, 0.01, 0.07, 0.29, 0.5])
def test_fnmr_at_fmr_is_the_best_threshold_that_holds(target):
    scores, positive, group = scored()
    curves = error_curves(scores, positive, group)
    for row in fnmr_at_fmr(scores, positive, group, [target]).itertuples():
        rows = curves[curves["group"] == row.group]
        if target < 1 / row.negatives:
            assert np.isnan(row.fnmr)
            assert row.reason == f"not estimable below 1/{row.negatives}"
            continue
        held = rows[rows["fmr"] <= target]
        assert row.fnmr == held["fnmr"].min()
        assert row.threshold == held["threshold"].min()


def test_an_fmr_that_no_threshold_holds_rejects_all():
    # Both negatives share the highest similarity.
    (row,) = fnmr_at_fmr([1, 1, 0.5], [0, 0, 1], list("aaa"), [0.5]).itertuples()
    assert row.threshold == np.inf and row.fnmr == 1


def test_a_share_of_negatives_is_counted_without_rounding():
    # 0.29 of 100 negatives is 28.999999999999996 in floating point; 29 of them are above 70.
    scores = np.append(np.arange(100.0), [70.5, 71.5])
    (row,) = fnmr_at_fmr(scores, scores % 1 > 0, ["a"] * 102, [0.29]).itertuples()
    assert (row.threshold, row.fnmr) == (70.5, 0)


def test_a_fixed_threshold_counts_by_group():
    scores, positive, group = scored()
    for row in fixed_threshold(scores, positive, group, 0.5).itertuples():
        some = group == row.group
        assert row.fnmr == (scores[some & positive] < 0.5).mean()
        assert row.fmr == (scores[some & ~positive] >= 0.5).mean()


def test_infinity_is_a_threshold_and_nan_is_none():
    arguments = [0.1, 0.9, 0.4, 0.6], [0, 1, 0, 1], list("aabb")
    assert fixed_threshold(*arguments, np.inf)["fnmr"].tolist() == [1, 1]
    assert fixed_threshold(*arguments, -np.inf)["fmr"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="threshold, number 1 of 1: nan where a similarity"):
        fixed_threshold(*arguments, np.nan)


def test_equal_error_rate_of_two_normals():
    scores, positive, _ = scored(n=200_000, ties=False)
    assert equal_error_rate(scores, positive) == pytest.approx(norm.cdf(-0.75), abs=0.003)
    assert np.isnan(equal_error_rate([0.1, 0.2], [1, 1]))
    assert equal_error_rate([0.1, 0.9], [0, 1]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, np.nan], [0, 1], list("aa")), "similarity, row 1: nan"),
        (([0.1, 0.2], [0, 2], list("aa")), "is_match: row 1 is 2, 0 or 1 was"),
        (([0.1, 0.2], [0, 1], ["a", None]), "group, row 1"),
        (([0.1, 0.2], [0, 1], ["a"]), "1 values of group for 2"),
        (([0.1, 0.2], [0], ["a", "a"]), "1 values of is_match for 2"),
        (([], [], []), r"\(pairs,\) was expected"),
    ],
)
def test_bad_pairs_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        error_curves(*arguments)


@pytest.mark.parametrize("fmr", [0, 1, [0.1, np.nan]])
def test_a_target_that_is_no_rate_is_refused(fmr):
    with pytest.raises(ValueError, match="between 0 and 1"):
        fnmr_at_fmr([0.1, 0.2], [0, 1], list("aa"), fmr)


# --- vertex bootstrap

PER_PAIR, OTHERS, SHIFT = 4, 3, 2.5


def audit(n, rng, own=0.5, shared=0.2, dyad=0.2):
    """Pairs of `n` identities: similarity, is_match and vertices, each rate known in closed form.

    Positives are normal about SHIFT and negatives about 0, both of variance 1, of which `own` is an
    identity's among positives, `shared` that of either identity, and `dyad` their pair's.
    """
    first = np.repeat(np.arange(n), OTHERS)
    steps = np.stack([rng.permutation(np.arange(1, n))[:OTHERS] for _ in range(n)])
    second = (first + steps.ravel()) % n
    ease, confusable = rng.normal(size=(2, n)) * np.sqrt([[own], [shared]])
    common = confusable[first] + confusable[second] + rng.normal(0, np.sqrt(dyad), n * OTHERS)
    rest = 1 - own, 1 - 2 * shared - dyad
    positive, negative = (
        np.repeat(mean, PER_PAIR) + rng.normal(0, np.sqrt(left), len(mean) * PER_PAIR)
        for mean, left in ((SHIFT + ease, rest[0]), (common, rest[1]))
    )
    ids = np.arange(n)
    vertices = np.concatenate([np.column_stack([ids, ids]), np.column_stack([first, second])])
    scores = np.concatenate([positive, negative])
    return scores, np.arange(len(scores)) < len(positive), np.repeat(vertices, PER_PAIR, axis=0)


def resampled(scores, positive, vertices, n_boot, seed):
    """Weights of the pairs, one resample at a time: (n_boot, m)."""
    for weight in draw_weights(vertices.max() + 1, range(n_boot), seed, "verification"):
        yield np.array([weight[a] if a == b else weight[a] * weight[b] for a, b in vertices])


def wilson(share, size, quantile):
    """Roots of (p - share)² = quantile² p (1 - p) / size."""
    factor = quantile**2 / size
    root = np.sqrt((2 * share + factor) ** 2 - 4 * (1 + factor) * share**2)
    return np.array([2 * share + factor - root, 2 * share + factor + root]) / (2 * (1 + factor))


def settled(rate, rates, sizes, n):
    """The smaller of the sizes at a rate and in the middle of its interval, by its own loop."""
    rates, squared, size = np.asarray(rates), student.ppf(0.975, n - 1) ** 2, n
    for _ in range(8):
        middle = (size * rate + squared / 2) / (size + squared)
        size = np.sqrt(size * sizes[np.abs(rates - middle).argmin()])
    return min(size, sizes[np.abs(rates - rate).argmin()])


def test_bands_are_those_of_a_loop():
    n, n_boot = 15, 60
    scores, positive, vertices = audit(n, np.random.default_rng(5))
    scores, points = np.round(scores, 1), np.array([-1.0, 0.4, 1.5, 2.2])
    bands = vertex_bootstrap(
        scores, positive, np.full(len(scores), "a"), vertices,
        fmr=[0.1, 0.03], n_boot=n_boot, seed=7, thresholds=points,
    )  # fmt: skip
    every = np.append(np.unique(scores), np.inf)
    rates, held = [], []
    for weight in resampled(scores, positive, vertices, n_boot, 7):
        positives, negatives = weight * positive, weight * ~positive
        below = scores < every[:, None]
        rates.append([(below @ w) / w.sum() for w in (positives, negatives)])
        at = []
        for target in (0.1, 0.03):
            for threshold in every:
                if negatives[scores >= threshold].sum() <= target * negatives.sum() + 1e-9:
                    at.append(positives[scores < threshold].sum() / positives.sum())
                    break
        held.append(at)
    variance, quantile = np.var(rates, axis=0), student.ppf(0.975, n - 1)
    variance[0] *= n / (n - 1)
    sets = [set(pair) for pair in vertices[~positive].tolist()]
    apart = np.mean([[not first & second for first in sets] for second in sets])
    dyads = [str(sorted(pair)) for pair in vertices[~positive].tolist()]
    shares, sizes = ([], []), ([], [])
    for k, threshold in enumerate(every):
        for kind, some in enumerate((positive, ~positive)):
            error = pd.Series((scores < threshold)[some])
            share, corrected = error.mean(), variance[kind, k]
            if kind == 1:
                # A pair of identities counts once instead of three times.
                own = ((error - share).groupby(dyads).sum() ** 2).sum() / len(error) ** 2
                corrected = max(corrected - 2 * own, own) / apart
            shares[kind].append(share)
            sizes[kind].append(share * (1 - share) / corrected if 0 < share < 1 else n)
    fewer = 0
    for k, point in enumerate(points):
        row, errors = bands.curves.iloc[k], ((scores < point), (scores >= point))
        names = ["fnmr", "fmr"]
        for kind, (name, some) in enumerate(zip(names, (positive, ~positive), strict=True)):
            share = errors[kind][some].mean()
            assert row[name] == share
            below = (scores < point)[some].mean()
            size = settled(below, shares[kind], sizes[kind], n)
            fewer += size < sizes[kind][np.argmax(every >= point)]
            low, high = wilson(share, size, quantile)
            assert row[[f"{name}_low", f"{name}_high"]].tolist() == pytest.approx([low, high])
    assert 0 < fewer < 8
    for k in range(2):
        row = bands.at_fmr.iloc[k]
        size = row["fnmr"] * (1 - row["fnmr"]) / np.var(held, axis=0)[k] * (n - 1) / n
        expected = wilson(row["fnmr"], size, quantile)
        assert row[["low", "high"]].tolist() == pytest.approx(expected.tolist())


def test_bands_do_not_depend_on_chunks_groups_or_names():
    scores, positive, vertices = audit(12, np.random.default_rng(6))
    group = np.where(np.arange(len(scores)) % 3 > 0, "a", "b")
    options = {"n_boot": 50, "seed": 1, "fmr": [0.1]}
    bands = vertex_bootstrap(scores, positive, group, vertices, **options)
    assert bands.curves["threshold"].tolist() == (
        error_curves(scores, positive, group)["threshold"].tolist()
    )
    for chunk in (1, 7, 10_000):
        other = vertex_bootstrap(scores, positive, group, vertices, **options, chunk=chunk)
        pd.testing.assert_frame_equal(bands.curves, other.curves)
        pd.testing.assert_frame_equal(bands.at_fmr, other.at_fmr)
    # Draws belong to identities, in sorted order, and serve all groups.
    named = np.array(list("abcdefghijkl"))[vertices]
    other = vertex_bootstrap(scores, positive, np.full(len(group), "a"), named, **options)
    alone = vertex_bootstrap(scores, positive, np.full(len(group), "z"), vertices, **options)
    pd.testing.assert_frame_equal(
        other.curves.drop(columns="group"), alone.curves.drop(columns="group")
    )


@pytest.mark.parametrize("dependence", [(0.5, 0.2, 0.2), (0.5, 0.0, 0.4)])
def test_bands_cover_the_known_rates(dependence):
    """At the size of the laptop profile; 95 % nominal, at least 90 % wanted."""
    rates = np.array([0.01, 0.05, 0.2])
    points = np.concatenate([SHIFT + norm.ppf(rates), norm.isf(rates)])
    truth = norm.cdf(norm.isf(rates) - SHIFT)
    rng, covered = np.random.default_rng(8), []
    for repetition in range(120):
        scores, positive, vertices = audit(40, rng, *dependence)
        bands = vertex_bootstrap(
            scores, positive, np.zeros(len(scores)), vertices,
            fmr=rates, n_boot=150, seed=repetition, thresholds=points,
        )  # fmt: skip
        fnmr, fmr = bands.curves[:3], bands.curves[3:]
        covered.append(
            [
                fnmr["fnmr_low"].le(rates) & fnmr["fnmr_high"].ge(rates),
                fmr["fmr_low"].le(rates).to_numpy() & fmr["fmr_high"].ge(rates).to_numpy(),
                bands.at_fmr["low"].le(truth) & bands.at_fmr["high"].ge(truth),
            ]
        )
    share = np.mean(covered, axis=0)
    # Each of nine shares of 120 has a standard error of at most 2.7 points; their mean has less.
    assert share.mean(axis=1).min() >= 0.9
    assert share.min() >= 0.86


def test_product_weights_alone_would_be_too_wide():
    """Without what pairs share, the SD of the FMR is √3 too large: what is taken off matters."""
    rng, rates, sizes, raw = np.random.default_rng(9), [], [], []
    for repetition in range(60):
        scores, positive, vertices = audit(40, rng, 0.5, 0.0, 0.4)
        negative = scores[~positive] >= norm.isf(0.1)
        rates.append(negative.mean())
        weights = np.stack(list(resampled(scores, positive, vertices, 40, repetition)))
        draws = weights[:, ~positive] @ negative / weights[:, ~positive].sum(axis=1)
        raw.append(draws.var())
        bands = vertex_bootstrap(
            scores, positive, np.zeros(len(scores)), vertices,
            n_boot=200, seed=repetition, thresholds=[norm.isf(0.1)],
        )  # fmt: skip
        sizes.append(bands.curves.loc[0, "fmr_high"] - bands.curves.loc[0, "fmr_low"])
    truth = np.std(rates)
    assert np.sqrt(np.mean(raw)) / truth > 1.4
    assert np.mean(sizes) / (2 * 2.02 * truth) == pytest.approx(1, abs=0.2)


def test_bands_without_an_error_are_not_empty():
    scores = np.append(np.full(40, 0.9), np.full(40, 0.1))
    ids = np.tile(np.arange(20), 2)
    vertices = np.concatenate([np.column_stack([ids, ids]), np.column_stack([ids, (ids + 1) % 20])])
    bands = vertex_bootstrap(
        scores, scores > 0.5, ["a"] * 80, vertices, fmr=[0.1], n_boot=50, seed=0, thresholds=[0.5]
    )
    row, held = bands.curves.iloc[0], bands.at_fmr.iloc[0]
    low, high = wilson(0.0, 20, 2.093024)
    for found in (
        row[["fnmr_low", "fnmr_high"]],
        row[["fmr_low", "fmr_high"]],
        held[["low", "high"]],
    ):
        assert found.tolist() == pytest.approx([low, high], abs=1e-6)
    assert 0.1 < high < 0.25


def test_bands_of_groups_that_lack_pairs():
    scores, positive, vertices = audit(10, np.random.default_rng(1))
    group = np.where(positive, "only positives", "only negatives").astype(object)
    group[(vertices == 3).all(axis=1)] = "one identity"
    group = pd.Categorical(group, [*np.unique(group), "nothing"])
    bands = vertex_bootstrap(scores, positive, group, vertices, n_boot=30, seed=0, thresholds=[1.0])
    curves = bands.curves.set_index("group")
    assert curves["reason"].to_dict() == {
        "one identity": "no negatives",
        "only negatives": "no positives",
        "only positives": "no negatives",
        "nothing": "no pairs",
    }
    assert curves.loc["only positives", ["fmr", "fmr_low", "fmr_high"]].isna().all()
    assert curves.loc["only positives", ["fnmr", "fnmr_low", "fnmr_high"]].notna().all()
    assert curves.loc["one identity", ["fnmr_low", "fnmr_high"]].isna().all()
    assert curves.loc["only negatives", ["fmr_low", "fmr_high"]].notna().all()
    assert bands.at_fmr[["fnmr", "low", "high"]].isna().all(axis=None)
    # Any two pairs of three identities have one in common.
    three = (vertices < 3).all(axis=1)
    arguments = [values[three] for values in (scores, positive, np.zeros(len(scores)), vertices)]
    few = vertex_bootstrap(*arguments, n_boot=30, seed=0, thresholds=[1.0]).curves
    assert few["reason"].tolist() == ["too few identities"]
    assert few[["fmr_low", "fmr_high"]].isna().all(axis=None) and few["fnmr_high"].notna().all()
    with pytest.raises(ValueError, match=r"identities \(160, 2\)"):
        vertex_bootstrap(scores, positive, group, vertices[1:], n_boot=3, seed=0)
    with pytest.raises(ValueError, match="row 2: an identity is missing"):
        missing = vertices.astype(float)
        missing[2, 1] = np.nan
        vertex_bootstrap(scores, positive, group, missing, n_boot=3, seed=0)
    with pytest.raises(ValueError, match="at least two clusters"):
        vertex_bootstrap(scores, positive, group, 0 * vertices, n_boot=3, seed=0)
    with pytest.raises(ValueError, match="thresholds, number 2 of 2: nan where a similarity"):
        points = [1.0, np.nan]
        vertex_bootstrap(scores, positive, group, vertices, n_boot=3, seed=0, thresholds=points)


@pytest.mark.parametrize("n_boot", [1, 0, -1, 2.5])
def test_fewer_than_two_resamples_are_refused(n_boot):
    data = two_groups(np.random.default_rng(0), harm=1.0, n=12)
    message = f"n_boot is {n_boot}, a whole number of at least 2"
    with pytest.raises(ValueError, match=message):
        vertex_bootstrap(*data, n_boot=n_boot, seed=0)
    with pytest.raises(ValueError, match=message):
        disparities(*data, **OPTIONS | {"n_boot": n_boot})
    assert len(disparities(*data, **OPTIONS | {"n_boot": 2})) == 3


# --- disparities


def two_groups(rng, harm, n=60):
    """The same seeds in two groups; positives of the second are `harm` less similar."""
    scores, positive, vertices = audit(n, rng)
    other, _, _ = audit(n, rng)
    other[positive] = 0.7 * other[positive] + 0.3 * scores[positive] - harm
    group = np.repeat(["european male", "african female"], len(scores))
    both = np.concatenate([scores, other]), np.tile(positive, 2), group
    return *both, np.tile(vertices, (2, 1))


OPTIONS = {"threshold": 1.2, "tolerance": 0.05, "fmr": 0.1, "n_boot": 200, "seed": 3}


def test_disparities_are_differences_with_verdicts():
    data = two_groups(np.random.default_rng(0), harm=1.0)
    table = disparities(*data, **OPTIONS).set_index("measure")
    fixed = fixed_threshold(*data[:3], 1.2).set_index("group")[["fnmr", "fmr"]]
    gap = fixed.loc["african female"] - fixed.loc["european male"]
    assert table.loc["FNMR at threshold", "estimate"] == pytest.approx(gap["fnmr"])
    assert table.loc["FMR at threshold", "estimate"] == pytest.approx(gap["fmr"])
    held = fnmr_at_fmr(*data[:3], [0.1])["fnmr"]
    assert table.loc["FNMR at FMR", "estimate"] == pytest.approx(held[0] - held[1])
    assert (table["low"] < table["estimate"]).all() and (table["estimate"] < table["high"]).all()
    assert table.loc["FNMR at threshold", "verdict"] == "exceeds"
    assert table.loc["FNMR at threshold", "p"] < 1e-4
    assert table.loc["FMR at threshold", "verdict"] != "exceeds"
    assert ((table["p"] < 0.05) == (table["low"] * table["high"] > 0)).all()


def test_disparities_need_a_threshold():
    data = two_groups(np.random.default_rng(0), harm=1.0, n=12)
    with pytest.raises(ValueError, match="threshold, number 1 of 1: nan where a similarity"):
        disparities(*data, **OPTIONS | {"threshold": np.nan})


def test_disparities_cover_no_difference():
    rng, covered = np.random.default_rng(4), []
    for _ in range(60):
        scores, positive, group, vertices = two_groups(rng, harm=0.0)
        # Positives of both groups have one distribution: those of the second are drawn anew.
        fresh = positive & (group == "african female")
        scores[fresh] = audit(60, rng)[0][: fresh.sum()]
        table = disparities(scores, positive, group, vertices, **OPTIONS | {"n_boot": 80})
        covered.append((table["low"] <= 0) & (table["high"] >= 0))
    assert np.mean(covered, axis=0).min() >= 0.88


def ring(n, rng, rates, shared, dyad, images=17):
    """Negatives of groups of the same `n` seeds, each compared with the next three in a ring.

    Those above 0 are errors, at the given rates; of the variance of 1, `shared` is that of either
    seed and `dyad` that of their pair, half of it common to the groups.
    """
    first = np.repeat(np.arange(n), OTHERS)
    second = (first + np.tile(np.arange(1, OTHERS + 1), n)) % n
    seeds, pairs = (rng.normal(size=(1 + len(rates), size)) for size in (n, len(first)))
    seeds, pairs = (part[0] + part[1:] for part in (seeds, pairs))
    common = np.sqrt(shared / 2) * (seeds[:, first] + seeds[:, second]) + np.sqrt(dyad / 2) * pairs
    rest = rng.normal(0, np.sqrt(1 - 2 * shared - dyad), (*common.shape, images))
    scores = (common[..., None] + rest).reshape(len(rates), -1) - norm.isf(rates)[:, None]
    vertices = np.repeat(np.column_stack([first, second]), images, axis=0)
    group = np.repeat(np.arange(len(rates)), len(vertices))
    return scores.ravel(), np.zeros(len(group)), group, np.tile(vertices, (len(rates), 1))


@pytest.mark.parametrize(
    ("dependence", "rates"),
    [((0.2, 0.2), [0.01] * 6), ((0.1, 0.6), [0.01] * 5 + [0.05])],
)
def test_rare_false_matches_of_six_groups_are_covered(dependence, rates):
    """At the size of the laptop profile, where a few pairs of seeds make all the errors."""
    rng, rates = np.random.default_rng(12), np.array(rates)
    options, apart, covered = {"n_boot": 200, "fmr": [0.1]}, rates[1:] - rates[0], ([], [])
    for seed in range(60):
        data = ring(40, rng, rates, *dependence)
        curves = vertex_bootstrap(*data, **options, seed=seed, thresholds=[0.0]).curves
        covered[0].append(curves["fmr_low"].le(rates) & curves["fmr_high"].ge(rates))
        table = disparities(
            *data, threshold=0.0, tolerance=0.05, reference=0, n_boot=200, seed=seed
        ).set_index("measure").loc["FMR at threshold"]  # fmt: skip
        covered[1].append(table["low"].le(apart) & table["high"].ge(apart))
    rate, difference = (np.mean(cover) for cover in covered)
    assert rate >= 0.9
    assert 0.9 <= difference <= 0.99


def test_what_groups_share_through_seeds_cancels():
    rng = np.random.default_rng(2)
    scores, positive, vertices = audit(60, rng)
    jittered = scores + rng.normal(0, 0.05, len(scores))
    data = np.concatenate([scores, jittered]), np.tile(positive, 2)
    group = np.repeat(["european male", "other"], len(scores))
    paired = disparities(*data, group, np.tile(vertices, (2, 1)), **OPTIONS)
    apart = disparities(*data, group, np.vstack([vertices, vertices + 60]), **OPTIONS)
    width, apart = (table["high"] - table["low"] for table in (paired, apart))
    assert (width < 0.7 * apart).all()


def test_holm_covers_the_groups_of_a_measure():
    scores, positive, group, vertices = two_groups(np.random.default_rng(0), harm=0.4)
    third = np.where(np.arange(len(group)) % 2, group, "european male")
    third = np.where((group != "european male") & (third == "european male"), "x", third)
    table = disparities(scores, positive, third, vertices, **OPTIONS)
    assert len(table) == 6
    for _, rows in table.groupby("measure"):
        small, large = np.sort(rows["p"])
        expected = min(2 * small, 1), min(max(2 * small, large), 1)
        assert np.sort(rows["p_holm"]).tolist() == pytest.approx(expected)


def test_disparities_that_cannot_be_estimated_say_why():
    scores, positive, group, vertices = two_groups(np.random.default_rng(0), harm=0.0)
    kept = positive | (group == "european male")
    data = [values[kept] for values in (scores, positive, group, vertices)]
    table = disparities(*data, **OPTIONS).set_index("measure")
    assert table["reason"].to_dict() == {
        "FNMR at FMR": "no negatives",
        "FNMR at threshold": "",
        "FMR at threshold": "no negatives",
    }
    assert table.loc["FMR at threshold", ["estimate", "low", "p", "mde"]].isna().all()
    assert table.loc["FMR at threshold", "verdict"] == "not estimable"
    table = disparities(*data, **OPTIONS, reference="african female")
    assert table["reason"][0] == "reference: no negatives"
    low = disparities(scores, positive, group, vertices, **OPTIONS | {"fmr": 1e-4})
    assert low["reason"][0] == "not estimable below 1/720"
    with pytest.raises(ValueError, match="the reference 'martian' is none"):
        disparities(*data, **OPTIONS, reference="martian")
    with pytest.raises(ValueError, match="tolerance"):
        disparities(*data, **OPTIONS | {"tolerance": 0})


# --- steps


def sequences(n=12, seed=0):
    """Positives of two groups per seed; each attribute lowers similarity by known steps."""
    rng = np.random.default_rng(seed)
    drops = {
        "pose": {-30: 0.3, -15: 0.1, 15: 0.12, 30: 0.25},
        "light": {"up": 0.05, "left": 0.2},
    }
    rows = [
        (seed, seed, group, attribute, step, 1 - drop - 0.02 * (group == "b") + wobble)
        for seed in range(n)
        for group in "ab"
        for attribute, steps in drops.items()
        for (step, drop), wobble in zip(steps.items(), rng.normal(0, 0.01, len(steps)), strict=True)
    ]
    names = ["seed_first", "seed_second", "group", "attribute", "step", "similarity"]
    return pd.DataFrame(rows, columns=names)


def test_steps_are_compared_with_the_next_towards_the_prototype():
    frame = sequences()
    table = step_effects(frame).set_index(["group", "attribute", "step"])
    steps = [("pose", step) for step in (-30, -15, 15, 30)] + [("light", "up"), ("light", "left")]
    assert list(table.index) == [(group, *step) for group in ("a", "b", "all") for step in steps]
    table = table.sort_index(key=lambda level: level.astype(str))
    references = table.loc["a"]["reference"].to_dict()
    assert references["pose", -30] == -15 and references["pose", 30] == 15
    assert references["pose", -15] == references["light", "up"] == "prototype"
    of = frame[(frame["group"] == "b") & (frame["attribute"] == "pose")]
    wide = of.pivot_table(index="seed_first", columns="step", values="similarity")
    test = ttest_1samp(wide[-30] - wide[-15], 0)
    row = table.loc[("b", "pose", -30)]
    assert row["estimate"] == pytest.approx(test.statistic * test._standard_error)
    interval = test.confidence_interval()
    assert row[["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert row["similarity"] == pytest.approx(wide[-30].mean())
    up = frame[(frame["group"] == "a") & (frame["step"] == "up")]["similarity"]
    assert table.loc[("a", "light", "up"), "estimate"] == pytest.approx(up.mean() - 1)


def test_over_all_groups_the_seed_is_the_unit():
    frame = sequences()
    table = step_effects(frame).set_index(["group", "attribute", "step"])
    row = table.loc[("all", "pose", 30)]
    wide = frame[frame["attribute"] == "pose"].pivot_table(
        index=["seed_first", "group"], columns="step", values="similarity"
    )
    by_seed = (wide[30] - wide[15]).groupby("seed_first").mean()
    interval = ttest_1samp(by_seed, 0).confidence_interval()
    assert row["seeds"] == 12
    assert row[["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])


def test_prototypes_without_the_nearer_step_do_not_count():
    frame = sequences()
    gone = (frame["seed_first"] == 4) & (frame["step"] == 15) & (frame["group"] == "a")
    table = step_effects(frame[~gone]).set_index(["group", "attribute", "step"])
    assert table.loc[("a", "pose", 30), "seeds"] == table.loc[("a", "pose", 15), "seeds"] == 11
    assert table.loc[("a", "pose", -30), "seeds"] == 12


def test_one_seed_has_no_interval():
    table = step_effects(sequences(n=1))
    assert (table["reason"] == "one seed").all()
    assert table[["low", "high"]].isna().all(axis=None) and table["estimate"].notna().all()


def test_frames_that_are_no_sequences_are_named():
    frame = sequences()
    with pytest.raises(ValueError, match="no column"):
        step_effects(frame.drop(columns="step"))
    with pytest.raises(ValueError, match="row 3 is a pair of two seeds"):
        step_effects(frame.assign(seed_second=frame["seed_first"].where(frame.index != 3, 99)))
    with pytest.raises(ValueError, match="row 144: its prototype has this step already"):
        step_effects(pd.concat([frame, frame[:1]], ignore_index=True))
    with pytest.raises(ValueError, match="'similarity', row 2"):
        step_effects(frame.assign(similarity=frame["similarity"].where(frame.index != 2)))
