"""Power against the book's numbers, statsmodels, enumeration and audits image by image."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from statsmodels.stats.power import TTestPower

from helpers.effects import (
    Design,
    matched_effects,
    mcnemar,
    power,
    power_grid,
    printed_power,
    printed_transects,
    simulated_power,
    transects_needed,
)
from helpers.effects.pair_correlation import transect_types
from helpers.effects.planning import _matched_test

PLAN = Design(difference=0.02, base_rate=0.05)


def test_the_printed_examples():
    assert round(printed_transects(Design(0.02, 0.05))) == 525
    assert round(printed_transects(Design(0.02, 0.05, retention=2 / 3))) == 1181


def test_printed_power_and_transects_are_inverse():
    design = Design(0.03, 0.1, within=0.23, retention=0.8, pair_correlation=0.1)
    for wanted in (0.5, 0.8, 0.95):
        transects = printed_transects(design, alpha=0.01, power=wanted)
        assert printed_power(transects, design, alpha=0.01) == pytest.approx(wanted)
    reverse = replace(design, difference=-0.03, base_rate=0.13)
    assert printed_transects(reverse) == pytest.approx(printed_transects(design))


def test_the_printed_formula_is_a_paired_test_of_effective_pairs():
    transects, difference, base = 3000, 0.02, 0.05
    single = 2 * 0.05 * 0.95 + 0.02 * (1 - 2 * base) - 2 * 0.1 * np.sqrt(0.05 * 0.95 * 0.07 * 0.93)
    effect = difference / np.sqrt(single - difference**2)
    reference = TTestPower().power(effect, transects, 0.05, alternative="two-sided")
    found = printed_power(transects, Design(difference, base, within=0.1, pairs=1))
    assert found == pytest.approx(reference, abs=1e-3)


def test_the_printed_bracket_undercounts_dependence_after_pruning():
    design = Design(0.03, 0.1, within=0.23, retention=2 / 3, pair_correlation=0.3)
    transects = round(printed_transects(design))
    simulated = simulated_power(transects, design, n_simulations=10_000)
    assert power(transects, design) == pytest.approx(simulated, abs=0.02)
    assert printed_power(transects, design) - simulated > 0.03
    alone = Design(0.03, 0.1, retention=0.4)
    tied = replace(alone, pair_correlation=0.2)
    assert printed_transects(tied) < printed_transects(alone)


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


def test_power_grows_with_transects_and_is_the_level_without_a_difference():
    powers = [power(s, Design(0.03, 0.05)) for s in (50, 100.5, 200, 400, 800)]
    assert (np.diff(powers) > 0).all()
    assert power(400, Design(0.0, 0.05)) == pytest.approx(0.05, abs=0.005)
    reverse = power(400, Design(-0.03, 0.08, within=0.2))
    assert reverse == pytest.approx(power(400, Design(0.03, 0.05, within=0.2)))


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


def test_simulation_depends_on_the_seed_alone():
    design = Design(0.05, 0.1)
    first, again, other = (simulated_power(100, design, seed=s) for s in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power(1, PLAN), "transects is 1, a number of at least 2"),
        (lambda: power(np.nan, PLAN), "transects is nan"),
        (lambda: power("a", PLAN), "transects is 'a', a number was expected"),
        (lambda: power(100.5, replace(PLAN, pairs=1)), "transects is 100.5, a whole number"),
        (lambda: power(100, PLAN, alpha=0.0), "alpha is 0.0, a number in .0, 1. was"),
        (lambda: simulated_power(2.5, PLAN), "transects is 2.5, a whole number"),
        (lambda: printed_power(0, PLAN), "transects is 0, a positive number"),
        (lambda: printed_transects(Design(0.0, 0.05)), "difference is 0: no number of transects"),
        (lambda: printed_transects(PLAN, power=80), "power is 80, a number in .0, 1."),
        (lambda: transects_needed(Design(0.0, 0.05)), "difference is 0: no number of transects"),
        (lambda: transects_needed(Design(1e-6, 0.05)), "needs more than 10000000 transects"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
