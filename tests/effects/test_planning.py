"""Power and costs against the book, statsmodels, enumeration and audits image by image."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm
from statsmodels.stats.power import TTestPower

from helpers.effects import (
    Design,
    cost,
    design_table,
    label_noise,
    matched_effects,
    mcnemar,
    power,
    power_grid,
    printed_power,
    printed_transects,
    transects_needed,
)
from helpers.effects.planning import _matched_test, transect_types

PLAN = Design(difference=0.02, base_rate=0.05)


def test_the_printed_examples():
    assert round(printed_transects(Design(0.02, 0.05))) == 525
    assert round(printed_transects(Design(0.02, 0.05, retention=2 / 3))) == 1181


def test_the_printed_formula_is_a_paired_test_of_effective_pairs():
    transects, difference, base = 3000, 0.02, 0.05
    single = 2 * 0.05 * 0.95 + 0.02 * (1 - 2 * base) - 2 * 0.1 * np.sqrt(0.05 * 0.95 * 0.07 * 0.93)
    effect = difference / np.sqrt(single - difference**2)
    reference = TTestPower().power(effect, transects, 0.05, alternative="two-sided")
    found = printed_power(transects, Design(difference, base, within=0.1, pairs=1))
    assert found == pytest.approx(reference, abs=1e-3)


def test_power_agrees_with_simulation_over_a_part_of_the_grid():
    grid = {"base_rate": (0.02, 0.2), "difference": (0.02, 0.05), "within": (0.05, 0.41)}
    table = power_grid(grid | {"retention": (1.0, 2 / 3), "target": (0.5, 0.8)})
    assert len(table) == 32
    gap = (table["power"] - table["simulated"]).abs()
    assert gap.max() < 0.05
    assert gap.mean() < 0.015
    # The closed formula is optimistic where few transects share much: a rare error, a large effect.
    too_good = table[table["printed"] - table["simulated"] > 0.05]
    assert len(too_good) > 0
    assert (too_good["base_rate"] == 0.02).all()
    assert too_good["transects"].max() < 200


@pytest.mark.parametrize("pairs", [1, 4])
def test_transects_needed_are_the_fewest(pairs):
    design = Design(0.05, 0.1, within=0.23, retention=0.8, pairs=pairs)
    least = transects_needed(design, power=0.9)
    assert power(least, design) >= 0.9
    assert power(least - 1, design) < 0.9
    # With one pair the mid-p test needs what the closed formula says; the exact test needs more.
    printed = printed_transects(design, power=0.9)
    assert least == pytest.approx(printed, rel=0.005 if pairs == 1 else 0.1)


def test_power_of_a_single_cell_sums_over_what_mcnemars_test_rejects():
    transects, difference, base, within, retention = 40, 0.1, 0.1, 0.2, 0.9
    p1 = base + difference
    both = within * np.sqrt(base * (1 - base) * p1 * (1 - p1)) + base * p1
    worse, better = (p1 - both) * retention**2, (base - both) * retention**2
    share = worse / (worse + better)
    expected = sum(
        binom.pmf(n, transects, worse + better) * binom.pmf(k, n, share)
        for n in range(1, transects + 1)
        for k in range(n + 1)
        if mcnemar(k, n - k) < 0.05
    )
    found = power(transects, Design(difference, base, within, retention, pairs=1))
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("pairs", "retention"), [(4, 1.0), (4, 0.6), (1, 0.8)])
def test_simulated_audits_are_tested_as_matched_effects_tests(pairs, retention):
    types, chance = transect_types(Design(0.1, 0.1, 0.2, retention, pairs))
    counts = np.random.default_rng(0).multinomial(40, chance, size=12)
    found = _matched_test(counts, types)
    reference = [matched_p(audit, types, pairs) for audit in counts]
    np.testing.assert_allclose(found, reference, rtol=1e-9)


def matched_p(audit, types, pairs):
    """p-value of `matched_effects` for the transects that an audit counts."""
    cells = list(product((0, 1), repeat=2))[:pairs]
    rows = []
    for transect, (n, worse, better) in enumerate(np.repeat(types, audit, axis=0)):
        outcomes = [(0, 1)] * worse + [(1, 0)] * better + [(0, 0)] * (n - worse - better)
        for cell, pair in zip(cells, outcomes, strict=False):
            rows += [(transect, *cell, level, pair[level]) for level in (0, 1)]
    columns = ["transect", "hair_level", "gender_level", "skin_level", "error"]
    frame = pd.DataFrame(rows, columns=columns)
    return matched_effects(frame, "error", "skin_level", [], "transect").loc["all", "p"]


def test_cost_of_the_papers_audit():
    # 1.2 cents an answer at 12.5 dollars an hour (transects, section 4.3).
    seconds = 3600 * 0.012 / 12.5
    spent = cost(1000, 5, price=0.012, seconds=seconds)
    assert spent["images"] == 8000
    assert spent["judgements"] == 320_000
    assert spent["money"] == pytest.approx(3840)
    assert spent["money"] / spent["hours"] == pytest.approx(12.5)


def test_design_table_trades_transects_for_raters():
    table = design_table([100, 400], [1, 5], Design(0.03, 0.05), 0.1, price=0.012, seconds=4)
    assert table.index.tolist() == [(100, 1), (100, 5), (400, 1), (400, 5)]
    few, many = (table["power"].xs(raters, level="raters") for raters in (1, 5))
    assert (many > few).all()
    assert table.loc[(400, 5), "label_noise"] == label_noise(0.1, 5)
    assert table.loc[(400, 5), "judgements"] == 400 * 8 * 8 * 5
    # Labels flipped one by one: image by image, this is the same power.
    rng, noise = np.random.default_rng(0), 0.1
    rejected = [noisy_audit(rng, 400, 0.05, 0.03, noise) for _ in range(2000)]
    assert table.loc[(400, 1), "power"] == pytest.approx(np.mean(rejected), abs=0.04)


def noisy_audit(rng, n, base, difference, noise):
    """Does a t-test of the transects' mean differences find it, with flipped labels?"""
    shared, own = rng.standard_normal((n, 1)), rng.standard_normal((n, 8))
    latent = np.sqrt(0.16) * shared + np.sqrt(0.84) * own
    error = latent < norm.ppf([base] * 4 + [base + difference] * 4)
    seen = error ^ (rng.random((n, 8)) < noise)
    mean = seen[:, 4:].mean(axis=1) - seen[:, :4].mean(axis=1)
    return abs(mean.mean()) > 1.966 * mean.std(ddof=1) / np.sqrt(n)
