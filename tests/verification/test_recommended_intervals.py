"""The interval that Fogliato, Patil & Perona recommend, as the benchmark has it, and the book's."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from simulated import SHIFT, verification_pairs
from statsmodels.stats.proportion import proportion_confint

from helpers.verification import vertex_bootstrap


@pytest.fixture
def benchmark(repository: Path, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import verification_intervals

    return verification_intervals


def variance_by_loop(error, vertices) -> float:
    """Products of residuals over all pairs of pairs that have an identity in common."""
    residual, total = error - error.mean(), 0.0
    sets = [set(pair) for pair in vertices.tolist()]
    for mine, one in zip(sets, residual, strict=True):
        total += sum(
            one * other for theirs, other in zip(sets, residual, strict=True) if mine & theirs
        )
    return total / len(error) ** 2


@pytest.mark.parametrize("kind", ["positives", "negatives"])
def test_the_plug_in_variance_is_that_of_a_loop(benchmark, kind):
    scores, positive, vertices = verification_pairs(15, np.random.default_rng(3), 0.5, 0.3, 0.1)
    some = positive == (kind == "positives")
    error, vertices = scores[some] < np.quantile(scores[some], 0.3), vertices[some]
    rate, m = error.mean(), len(error)
    size = rate * (1 - rate) / variance_by_loop(error, vertices)
    assert 5 < size < 0.8 * m
    counts = rate * size, size
    expected = proportion_confint(*counts, method="wilson")
    assert benchmark.recommended(error, vertices) == pytest.approx(expected)
    mirrored = benchmark.recommended(error, vertices[:, ::-1])
    assert mirrored == pytest.approx(expected)


def test_without_an_error_every_pair_counts_as_independent(benchmark):
    vertices = np.repeat(np.column_stack([np.arange(10)] * 2), 16, axis=0)
    expected = proportion_confint(0, 160, method="wilson")
    assert benchmark.recommended(np.zeros(160), vertices) == pytest.approx(expected, abs=1e-12)


def test_with_many_identities_and_errors_both_intervals_agree_and_with_few_ours_is_wider(benchmark):
    rng, ratio = np.random.default_rng(5), {}
    for n, rate in ((400, 0.2), (25, 0.02)):
        widths = []
        for repetition in range(8):
            scores, positive, vertices = verification_pairs(n, rng)
            points = [SHIFT + norm.ppf(rate), norm.isf(rate)]
            curves = vertex_bootstrap(
                scores, positive, np.zeros(len(scores)), vertices,
                n_boot=200, seed=repetition, thresholds=points,
            ).curves  # fmt: skip
            low, high = benchmark.recommended(scores[~positive] >= points[1], vertices[~positive])
            ours = curves.loc[1, "fmr_high"] - curves.loc[1, "fmr_low"]
            widths.append((ours, high - low))
        ours, theirs = np.sum(widths, axis=0)
        ratio[n] = ours / theirs
    assert ratio[400] == pytest.approx(1, abs=0.06)
    assert ratio[25] > 1.15


def test_pairs_of_the_benchmark_err_at_the_stated_rates(benchmark):
    scores, positive, vertices = benchmark.pairs(3000, 2, np.random.default_rng(1))
    assert (vertices[positive][:, 0] == vertices[positive][:, 1]).all()
    assert positive.sum() == 3000 * benchmark.OWN
    assert (~positive).sum() == 3000 * benchmark.OTHERS * benchmark.OTHERS_EACH
    for some in (positive, ~positive):
        assert scores[:, some].mean() == pytest.approx(0, abs=0.05)
        assert scores[:, some].std() == pytest.approx(1, abs=0.03)
        assert 0.1 < np.corrcoef(scores[:, some])[0, 1] < 0.5
