"""Scores of differences of two groups: against loops over pairs of pairs, and published values."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from simulated import verification_pairs

from faceaudit.verification import disparities
from faceaudit.verification.differences import (
    OTHER_SHARE,
    DifferenceScore,
    difference_score,
    effective_sizes,
    ordered_pairs,
    restricted_rates,
)


def some_pairs(rng, shared=0.0, identities=9, pairs=60):
    """Similarities and identities of pairs, some within an identity, some of one dyad turned.

    `shared` is the standard deviation of what an identity adds to all of its pairs.
    """
    codes = rng.integers(identities, size=(pairs, 2))
    codes = np.concatenate([codes[:40], codes[:20, ::-1]])
    common = shared * rng.normal(size=identities)[codes].sum(axis=1)
    return common + rng.normal(size=pairs), codes


def products(codes, residuals, other_codes, other_residuals, dyads=False):
    """Sum over pairs of pairs that share an identity, one by one; or over those of one dyad."""
    total = 0.0
    for (ends, residual), (other_ends, other) in product(
        zip(codes.tolist(), residuals, strict=True),
        zip(other_codes.tolist(), other_residuals, strict=True),
    ):
        if set(ends) == set(other_ends) or (not dyads and set(ends) & set(other_ends)):
            total += residual * other
    return total


def apart(codes):
    """Share of pairs of pairs without an identity in common."""
    sets = [set(ends) for ends in codes.tolist()]
    return np.mean([not first & second for first in sets for second in sets])


def test_variances_and_covariances_are_those_of_a_loop_over_pairs_of_pairs():
    rng = np.random.default_rng(1)
    groups = [some_pairs(rng, shared) for shared in (0.0, 2.0)]
    errors = [17, 9]
    curves = []
    residuals = []
    kept = []
    for (scores, codes), count in zip(groups, errors, strict=True):
        curves.append(ordered_pairs(scores, codes, 9))
        wrong = scores >= np.sort(scores)[-count]
        residuals.append(wrong - wrong.mean())
    sums = [curve.residuals(np.array([k])) for curve, k in zip(curves, errors, strict=True)]
    for (_, codes), curve, residual, by_dyad in zip(groups, curves, residuals, sums, strict=True):
        loop = products(codes, residual, codes, residual)
        alone = products(codes, residual, codes, residual, dyads=True)
        kept.append(loop > alone)
        # No less than pairs of identities that share nothing would have.
        expected = max(loop, alone) / len(codes) ** 2 / apart(codes)
        assert curve.design.variance(by_dyad) == pytest.approx([expected])
        assert curve.design.inflation == pytest.approx(1 / apart(codes))
        same = 0
        one = 0
        for first, second in product(range(len(codes)), repeat=2):
            ends = set(codes[first].tolist())
            other = set(codes[second].tolist())
            same += first != second and ends == other
            one += ends != other and bool(ends & other)
        assert (curve.design.same_dyad, curve.design.one_identity) == (same, one)
    assert {*kept} == {True, False}
    loop = products(groups[0][1], residuals[0], groups[1][1], residuals[1]) / 60**2
    loop /= np.sqrt(apart(groups[0][1]) * apart(groups[1][1]))
    covariance = curves[0].design.covariance(sums[0], curves[1].design, sums[1])
    assert covariance == pytest.approx([loop])
    score = difference_score(*curves, np.array([errors]))
    total = sum(c.design.variance(s) for c, s in zip(curves, sums, strict=True)) - 2 * covariance
    assert score.robust == pytest.approx(total)


def test_effective_sizes_are_those_of_correlations_by_a_loop():
    rng = np.random.default_rng(2)
    groups = [some_pairs(rng) for _ in range(2)]
    curves = [ordered_pairs(scores, codes, 9) for scores, codes in groups]
    correlations = []
    possible = []
    for scores, codes in groups:
        wrong = scores >= np.sort(scores)[-15]
        residual = (wrong - 0.25) / np.sqrt(0.25 * 0.75)
        sums = np.zeros(2)
        counts = np.zeros(2)
        for first, second in product(range(60), repeat=2):
            ends = set(codes[first].tolist())
            other = set(codes[second].tolist())
            if first != second and ends & other:
                kind = int(ends != other)
                sums[kind] += residual[first] * residual[second]
                counts[kind] += 1
        correlations.append(sums / counts)
        possible.append(counts)
    sizes = effective_sizes(tuple(curves), np.array([0.25]))
    for k in (0, 1):
        mixed = (1 - OTHER_SHARE) * correlations[k] + OTHER_SHARE * correlations[1 - k]
        pairs = 60 + (mixed.clip(0) * possible[k]).sum()
        assert sizes[k] == pytest.approx([60**2 / pairs * apart(groups[k][1])])


def test_restricted_rates_are_the_most_likely_ones():
    rng = np.random.default_rng(3)
    rate = rng.random((40, 2))
    size = rng.uniform(5, 200, (40, 2))
    difference = rng.uniform(-0.9, 0.9, 40)
    first, second = restricted_rates(rate, size, difference)
    assert second - first == pytest.approx(difference)
    for k in range(40):

        def unlikely(low, k=k):
            rates = np.array([low, low + difference[k]]).clip(1e-12, 1 - 1e-12)
            likely = rate[k] * np.log(rates) + (1 - rate[k]) * np.log1p(-rates)
            return -(size[k] * likely).sum()

        bounds = max(0, -difference[k]), min(1, 1 - difference[k])
        best = minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-9})
        assert first[k] == pytest.approx(best.x, abs=1e-5)


def test_independent_pairs_have_the_published_intervals():
    """Newcombe, Statistics in Medicine 17 (1998) 873-890, Table II: methods 5 and 6."""
    published = {
        (56, 70, 48, 80): ((0.0533, 0.3377), (0.0528, 0.3382)),
        (9, 10, 3, 10): ((0.1821, 0.8370), (0.1700, 0.8406)),
        (5, 56, 0, 29): ((-0.0313, 0.1926), (-0.0326, 0.1933)),
    }
    for (second, of_second, first, of_first), intervals in published.items():
        rate = np.array([[first / of_first, second / of_second]])
        total = of_first + of_second
        for factor, expected in zip((1, (total - 1) / total), intervals, strict=True):
            size = factor * np.array([[of_first, of_second]], float)
            score = DifferenceScore(rate, size, np.zeros(1), np.zeros(1), np.inf)
            assert [end.item() for end in score.interval()] == pytest.approx(expected, abs=6e-5)


def test_the_p_is_the_level_at_which_the_interval_ends_in_zero():
    rate = np.array([[0.02, 0.09]])
    size = np.array([[60.0, 40.0]])
    score = DifferenceScore(rate, size, np.array([0.3]), np.array([0.002]), 19)
    low, high = score.interval(1 - score.p()[0])
    assert low == pytest.approx([0], abs=1e-9)
    assert high > score.estimate


def table_of(scores, positive, vertices, group, **options):
    rules = {"threshold": 1.2, "tolerance": 0.05, "fmr": 0.1, "n_boot": 20, "seed": 3}
    table = disparities(scores, positive, group, vertices, **rules | options)
    return table.set_index("measure").drop("FNMR at FMR")


def test_disparities_do_not_depend_on_orders_ends_or_names_and_turn_with_the_reference():
    rng = np.random.default_rng(4)
    one, two = (verification_pairs(12, rng) for _ in range(2))
    scores, positive, vertices = (np.concatenate(pair) for pair in zip(one, two, strict=True))
    group = np.repeat(["a", "b"], len(one[0]))
    table = table_of(scores, positive, vertices, group, reference="a")
    order = rng.permutation(len(scores))
    names = np.array(list("lkjihgfedcba"))
    other = table_of(
        scores[order], positive[order], names[vertices[order][:, ::-1]], group[order], reference="a"
    )
    numbers = ["estimate", "low", "high", "low90", "high90", "p", "mde"]
    assert other[numbers].to_numpy() == pytest.approx(table[numbers].to_numpy())
    turned = table_of(scores, positive, vertices, group, reference="b")
    assert turned[["estimate", "low", "high"]].to_numpy() == pytest.approx(
        -table[["estimate", "high", "low"]].to_numpy(), abs=1e-12
    )
    assert turned["p"].to_numpy() == pytest.approx(table["p"].to_numpy())
    # Other people in the second group: their likeness to the first one's seeds cancels no more.
    apart = table_of(
        scores, positive, vertices + 12 * (group == "b")[:, None], group, reference="a"
    )
    assert apart["estimate"].to_numpy() == pytest.approx(table["estimate"].to_numpy())
    assert (apart["high"] - apart["low"] != table["high"] - table["low"]).all()


def test_no_error_at_all_has_an_interval_on_either_side_that_more_identities_narrow():
    widths = []
    for identities in (10, 40):
        rng = np.random.default_rng(5)
        one, two = (verification_pairs(identities, rng) for _ in range(2))
        scores, positive, vertices = (np.concatenate(pair) for pair in zip(one, two, strict=True))
        group = np.repeat(["a", "b"], len(one[0]))
        highest = scores[~positive].max() + 1
        row = table_of(scores, positive, vertices, group, threshold=highest, reference="a")
        row = row.loc["FMR at threshold"]
        assert (row["estimate"], row["p"]) == (0, 1)
        assert row["low"] < row["low90"] < 0 < row["high90"] < row["high"]
        widths.append(row["high"] - row["low"])
    assert widths[1] < 0.5 * widths[0]


def test_two_values_of_similarity_tell_no_clustering_and_an_identity_counts_as_one_pair():
    """As where failures to enrol are compared, and none fails."""
    people = np.repeat(np.arange(24), 5)
    vertices = np.column_stack([people, people])
    group = np.where(people < 12, "a", "b")
    table = table_of(
        np.ones(len(people)), np.ones(len(people)), vertices, group, threshold=0.5, reference="a"
    )
    row = table.loc["FNMR at threshold"]
    expected = DifferenceScore(np.zeros((1, 2)), np.full((1, 2), 12.0), *np.zeros((2, 1)), 11)
    assert (row["low"], row["high"]) == pytest.approx([end[0] for end in expected.interval()])


def ring_of(rng, n, rates, images=17):
    """Negatives of two groups of the same seeds, each compared with the next three in a ring."""
    first = np.repeat(np.arange(n), 3)
    second = (first + np.tile([1, 2, 3], n)) % n
    seeds, dyads = (rng.normal(size=(3, size)) for size in (n, 3 * n))
    seeds, dyads = (np.sqrt(0.5) * (part[:1] + part[1:]) for part in (seeds, dyads))
    common = np.sqrt(0.15) * (seeds[:, first] + seeds[:, second]) + np.sqrt(0.2) * dyads
    rest = rng.normal(0, np.sqrt(0.5), (*common.shape, images))
    scores = (common[..., None] + rest).reshape(2, -1) - norm.isf(rates)[:, None]
    vertices = np.repeat(np.column_stack([first, second]), images, axis=0)
    group = np.repeat(["a", "b"], len(vertices))
    return scores.ravel(), np.zeros(len(group)), np.tile(vertices, (2, 1)), group


def test_rare_false_matches_of_few_matched_seeds_are_covered_by_intervals_that_are_not_too_wide():
    """Newcombe's of two Wilson intervals were 1.8 times as wide here, and covered no better."""
    rng = np.random.default_rng(6)
    covered = []
    widths = []
    estimates = []
    for _ in range(200):
        table = table_of(*ring_of(rng, 40, np.array([0.01, 0.01])), threshold=0.0, reference="a")
        row = table.loc["FMR at threshold"]
        covered.append(row["low"] <= 0 <= row["high"])
        widths.append(row["high"] - row["low"])
        estimates.append(row["estimate"])
    assert np.mean(covered) >= 0.92
    assert np.mean(widths) < 1.45 * 2 * 1.96 * np.std(estimates)
