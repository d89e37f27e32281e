"""The vertex bootstrap and differences of groups: against loops, and coverage of known rates."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from simulated import OTHERS, SHIFT, verification_pairs

from faceaudit.effects.resampling import draw_weights
from faceaudit.verification import bootstrap, disparities, fixed_threshold, vertex_bootstrap
from faceaudit.verification.bootstrap import disparities_at_threshold


def resampled(scores, positive, vertices, n_boot, seed):
    """Weights of the pairs, one resample at a time: (n_boot, m)."""
    for weight in draw_weights(vertices.max() + 1, range(n_boot), seed, "verification"):
        yield np.array([weight[a] if a == b else weight[a] * weight[b] for a, b in vertices])


def wilson(share, size, quantile):
    """Roots of (p - share)² = quantile² p (1 - p) / size."""
    factor = quantile**2 / size
    root = np.sqrt((2 * share + factor) ** 2 - 4 * (1 + factor) * share**2)
    return np.array([2 * share + factor - root, 2 * share + factor + root]) / (2 * (1 + factor))


def settled(rate, rates, sizes, n, end):
    """The smaller of the sizes at a rate and at an end of its interval, by its own loop."""
    rates = np.asarray(rates)
    size = n
    for _ in range(8):
        tried = wilson(rate, size, student.ppf(0.975, n - 1))[end]
        size = np.sqrt(size * sizes[np.abs(rates - tried).argmin()])
    return min(size, sizes[np.abs(rates - rate).argmin()])


def test_bands_are_those_of_a_loop():
    n = 15
    n_boot = 60
    scores, positive, vertices = verification_pairs(n, np.random.default_rng(5))
    scores = np.round(scores, 1)
    points = np.array([-1.0, 0.4, 1.5, 2.2])
    bands = vertex_bootstrap(
        scores, positive, np.full(len(scores), "a"), vertices,
        fmr=[0.1, 0.03], n_boot=n_boot, seed=7, thresholds=points,
    )  # fmt: skip
    every = np.append(np.unique(scores), np.inf)
    rates = []
    held = []
    for weight in resampled(scores, positive, vertices, n_boot, 7):
        positives = weight * positive
        negatives = weight * ~positive
        below = scores < every[:, None]
        rates.append([(below @ w) / w.sum() for w in (positives, negatives)])
        at = []
        for target in (0.1, 0.03):
            for threshold in every:
                if negatives[scores >= threshold].sum() <= target * negatives.sum() + 1e-9:
                    at.append(positives[scores < threshold].sum() / positives.sum())
                    break
        held.append(at)
    variance = np.var(rates, axis=0)
    quantile = student.ppf(0.975, n - 1)
    variance[0] *= n / (n - 1)
    sets = [set(pair) for pair in vertices[~positive].tolist()]
    apart = np.mean([[not first & second for first in sets] for second in sets])
    dyads = [str(sorted(pair)) for pair in vertices[~positive].tolist()]
    shares = ([], [])
    sizes = ([], [])
    for k, threshold in enumerate(every):
        for kind, some in enumerate((positive, ~positive)):
            error = pd.Series((scores < threshold)[some])
            share = error.mean()
            corrected = variance[kind, k]
            if kind == 1:
                # A pair of identities counts once instead of three times.
                own = ((error - share).groupby(dyads).sum() ** 2).sum() / len(error) ** 2
                corrected = max(corrected - 2 * own, own) / apart
            shares[kind].append(share)
            sizes[kind].append(share * (1 - share) / corrected if 0 < share < 1 else n)
    fewer = 0
    for k, point in enumerate(points):
        row = bands.curves.iloc[k]
        errors = ((scores < point), (scores >= point))
        names = ["fnmr", "fmr"]
        for kind, (name, some) in enumerate(zip(names, (positive, ~positive), strict=True)):
            share = errors[kind][some].mean()
            assert row[name] == share
            below = (scores < point)[some].mean()
            ends = [settled(below, shares[kind], sizes[kind], n, end) for end in (0, 1)]
            fewer += max(ends) < sizes[kind][np.argmax(every >= point)]
            # The FMR is the share above: its upper end is the lower one of the share below.
            ends = ends[:: 1 if kind == 0 else -1]
            low, high = (wilson(share, size, quantile)[end] for end, size in enumerate(ends))
            assert row[[f"{name}_low", f"{name}_high"]].tolist() == pytest.approx([low, high])
    assert 0 < fewer < 8
    for k in range(2):
        row = bands.at_fmr.iloc[k]
        size = row["fnmr"] * (1 - row["fnmr"]) / np.var(held, axis=0)[k] * (n - 1) / n
        expected = wilson(row["fnmr"], size, quantile)
        assert row[["low", "high"]].tolist() == pytest.approx(expected.tolist())


def test_bands_do_not_depend_on_chunks_groups_or_names(monkeypatch):
    scores, positive, vertices = verification_pairs(12, np.random.default_rng(6))
    group = np.where(np.arange(len(scores)) % 3 > 0, "a", "b")
    options = {"n_boot": 50, "seed": 1, "fmr": [0.1]}
    bands = vertex_bootstrap(scores, positive, group, vertices, **options)
    for chunk in (1, 7):
        monkeypatch.setattr(bootstrap, "WEIGHTED_PAIRS_AT_ONCE", chunk)
        other = vertex_bootstrap(scores, positive, group, vertices, **options)
        pd.testing.assert_frame_equal(bands.curves, other.curves)
        pd.testing.assert_frame_equal(bands.at_fmr, other.at_fmr)
    # Draws belong to identities, in sorted order, and serve all groups.
    named = np.array(list("abcdefghijkl"))[vertices]
    other = vertex_bootstrap(scores, positive, np.full(len(group), "a"), named, **options)
    alone = vertex_bootstrap(scores, positive, np.full(len(group), "a"), vertices, **options)
    pd.testing.assert_frame_equal(other.curves, alone.curves)


@pytest.mark.parametrize("dependence", [(0.5, 0.2, 0.2), (0.5, 0.0, 0.4)])
def test_bands_cover_the_known_rates(dependence):
    """At the size of the laptop profile; 95% nominal, at least 92% wanted."""
    rates = np.array([0.01, 0.05, 0.2])
    points = np.concatenate([SHIFT + norm.ppf(rates), norm.isf(rates)])
    truth = norm.cdf(norm.isf(rates) - SHIFT)
    rng = np.random.default_rng(8)
    covered = []
    for repetition in range(120):
        scores, positive, vertices = verification_pairs(40, rng, *dependence)
        bands = vertex_bootstrap(
            scores, positive, np.zeros(len(scores)), vertices,
            fmr=rates, n_boot=150, seed=repetition, thresholds=points,
        )  # fmt: skip
        fnmr = bands.curves[:3]
        fmr = bands.curves[3:]
        covered.append(
            [
                fnmr["fnmr_low"].le(rates) & fnmr["fnmr_high"].ge(rates),
                fmr["fmr_low"].le(rates).to_numpy() & fmr["fmr_high"].ge(rates).to_numpy(),
                bands.at_fmr["low"].le(truth) & bands.at_fmr["high"].ge(truth),
            ]
        )
    share = np.mean(covered, axis=0)
    # Each of nine shares of 120 has a standard error of at most 2.7 points; their mean has less.
    assert share.mean(axis=1).min() >= 0.92
    assert share.min() >= 0.89


def test_bands_of_groups_that_lack_pairs():
    scores, positive, vertices = verification_pairs(10, np.random.default_rng(1))
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
    assert bands.at_fmr[["fnmr", "low", "high"]].isna().all(axis=None)
    # Any two pairs of three identities have one in common.
    three = (vertices < 3).all(axis=1)
    arguments = [values[three] for values in (scores, positive, np.zeros(len(scores)), vertices)]
    few = vertex_bootstrap(*arguments, n_boot=30, seed=0, thresholds=[1.0]).curves
    assert few["reason"].tolist() == ["too few identities"]
    assert few[["fmr_low", "fmr_high"]].isna().all(axis=None) and few["fnmr_high"].notna().all()


# --- differences between groups


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
    # Between the ends of the two intervals the verdict is the 90% interval's to give.
    just = table.loc["FMR at threshold", ["low90", "high90"]].abs().max() * 1.001
    within = disparities(*data, **OPTIONS | {"tolerance": just}).set_index("measure")
    assert within.loc["FMR at threshold", "verdict"] == "within"
    assert within.loc["FMR at threshold", ["low", "high"]].abs().max() > just


def test_differences_at_one_threshold_are_the_same_without_resamples():
    data = two_groups(np.random.default_rng(0), harm=1.0)
    table = disparities(*data, **OPTIONS)
    at_threshold = disparities_at_threshold(
        *data, threshold=1.2, tolerance=0.05, reference="european male"
    )
    same = table[table["measure"] != "FNMR at FMR"].reset_index(drop=True)
    pd.testing.assert_frame_equal(at_threshold, same)


def test_disparities_cover_no_difference():
    rng = np.random.default_rng(4)
    covered = []
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
    rng = np.random.default_rng(12)
    rates = np.array(rates)
    options = {"n_boot": 200, "fmr": [0.1]}
    apart = rates[1:] - rates[0]
    covered = ([], [])
    for seed in range(60):
        data = ring(40, rng, rates, *dependence)
        curves = vertex_bootstrap(*data, **options, seed=seed, thresholds=[0.0]).curves
        covered[0].append(curves["fmr_low"].le(rates) & curves["fmr_high"].ge(rates))
        table = disparities_at_threshold(*data, threshold=0.0, tolerance=0.05, reference=0)
        table = table.set_index("measure").loc["FMR at threshold"]
        covered[1].append(table["low"].le(apart) & table["high"].ge(apart))
    rate, difference = (np.mean(cover) for cover in covered)
    assert rate >= 0.9
    assert 0.9 <= difference <= 0.99
