"""Differences between groups: against plain rates, and coverage of known ones."""

import numpy as np
import pytest
from scipy.stats import norm
from simulated import OTHERS, verification_pairs

from helpers.verification import disparities, fixed_threshold, vertex_bootstrap


def two_groups(rng, harm, n=60):
    """The same seeds in two groups; positives of the second are `harm` less similar."""
    scores, positive, vertices = verification_pairs(n, rng)
    other, _, _ = verification_pairs(n, rng)
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
    held = vertex_bootstrap(*data, fmr=[0.1], n_boot=2, seed=1).at_fmr["fnmr"]
    assert table.loc["FNMR at FMR", "estimate"] == pytest.approx(held[0] - held[1])
    assert (table["low"] < table["estimate"]).all() and (table["estimate"] < table["high"]).all()
    assert table.loc["FNMR at threshold", "verdict"] == "exceeds"
    assert table.loc["FNMR at threshold", "p"] < 1e-4
    assert table.loc["FMR at threshold", "verdict"] != "exceeds"
    assert ((table["p"] < 0.05) == (table["low"] * table["high"] > 0)).all()
    ends = table[["low", "low90", "estimate", "high90", "high"]]
    assert (np.diff(ends, axis=1) > 0).all()
    # Between the ends of the two intervals the verdict is the 90 % interval's to give.
    just = table.loc["FMR at threshold", ["low90", "high90"]].abs().max() * 1.001
    within = disparities(*data, **OPTIONS | {"tolerance": just}).set_index("measure")
    assert within.loc["FMR at threshold", "verdict"] == "within"
    assert within.loc["FMR at threshold", ["low", "high"]].abs().max() > just


def test_disparities_cover_no_difference():
    rng, covered = np.random.default_rng(4), []
    for _ in range(60):
        scores, positive, group, vertices = two_groups(rng, harm=0.0)
        # Positives of both groups have one distribution: those of the second are drawn anew.
        fresh = positive & (group == "african female")
        scores[fresh] = verification_pairs(60, rng)[0][: fresh.sum()]
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
    ("dependence", "rates"), [((0.2, 0.2), [0.01] * 6), ((0.1, 0.6), [0.01] * 5 + [0.05])]
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
