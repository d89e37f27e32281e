"""The vertex bootstrap: against a loop, and coverage of known rates."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from simulated import SHIFT, verification_pairs

from helpers.resampling import draw_weights
from helpers.verification import bootstrap, vertex_bootstrap


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
    rates, size = np.asarray(rates), n
    for _ in range(8):
        tried = wilson(rate, size, student.ppf(0.975, n - 1))[end]
        size = np.sqrt(size * sizes[np.abs(rates - tried).argmin()])
    return min(size, sizes[np.abs(rates - rate).argmin()])


def test_bands_are_those_of_a_loop():
    n, n_boot = 15, 60
    scores, positive, vertices = verification_pairs(n, np.random.default_rng(5))
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
        monkeypatch.setattr(bootstrap, "CHUNK", chunk)
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
    """At the size of the laptop profile; 95 % nominal, at least 92 % wanted."""
    rates = np.array([0.01, 0.05, 0.2])
    points = np.concatenate([SHIFT + norm.ppf(rates), norm.isf(rates)])
    truth = norm.cdf(norm.isf(rates) - SHIFT)
    rng, covered = np.random.default_rng(8), []
    for repetition in range(120):
        scores, positive, vertices = verification_pairs(40, rng, *dependence)
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
