"""Chances of verdicts against enumeration by intervals, and against simulated audits."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import multinomial

from faceaudit.effects import (
    Design,
    chances_of_verdicts,
    holm,
    levels_of_cells,
    matched_effects,
    paired_interval,
    transects_to_decide,
)
from faceaudit.effects.planning import transect_types
from faceaudit.effects.verdict_chances import _share_rejected
from faceaudit.verdicts import judge


def pair_design(difference, base_rate=0.1, within=0.0):
    """One pair per transect."""
    return Design(difference, base_rate, within, pairs=1)


def chances(design=None, transects=9, tolerance=0.05, levels=(0.05,)):
    """Of a design with one pair per transect, unless another is given."""
    return chances_of_verdicts(transects, design or pair_design(0.1), tolerance, levels)


def enumerated(transects, design, tolerance, level):
    """Chances of beyond and within, by the intervals of every audit that can happen."""
    types, chance_of_type = transect_types(design)
    chances = [chance_of_type @ types[:, 1], chance_of_type @ types[:, 2]]
    beyond = within = 0.0
    for worse in range(transects + 1):
        for better in range(transects + 1 - worse):
            counts = [worse, better, transects - worse - better]
            chance = multinomial.pmf(counts, transects, [*chances, 1 - sum(chances)])
            low, high = paired_interval(worse, better, transects, ndtri(1 - level / 2))
            low90, high90 = paired_interval(worse, better, transects, ndtri(0.95))
            beyond += chance * (low > tolerance or high < -tolerance)
            within += chance * (low90 > -tolerance and high90 < tolerance)
    return beyond, within


@pytest.mark.parametrize("transects", [2, 3, 7, 24, 45])
@pytest.mark.parametrize(
    ("design", "tolerance", "level"),
    [
        (pair_design(0.0), 0.15, 0.05),
        (pair_design(0.4), 0.1, 0.01),
        (pair_design(-0.35, 0.5, within=0.3), 0.2, 0.05),
        (pair_design(0.05, 0.02), 0.3, 0.05 / 24),
    ],
)
def test_chances_are_those_of_the_intervals(transects, design, tolerance, level):
    found = chances_of_verdicts(transects, design, tolerance, [level])
    expected = enumerated(transects, design, tolerance, level)
    assert (found.beyond, found.within) == pytest.approx(expected, abs=1e-7)
    assert found.beyond + found.within + found.undecided == pytest.approx(1)


@pytest.mark.parametrize(("difference", "tolerance"), [(0.0, 0.1), (0.2, 0.08)])
def test_chances_are_those_of_simulated_audits(difference, tolerance):
    audits = 1000
    faces = 120
    level = 0.05 / 8
    base_rate = 0.1
    frame = pd.DataFrame({"transect": np.arange(audits * faces)})
    frame["audit"] = frame["transect"] // faces
    rng = np.random.default_rng(0)
    images = [
        frame.assign(skin_level=skin, error=(rng.random(len(frame)) < rate).astype(int))
        for skin, rate in enumerate((base_rate, base_rate + difference))
    ]
    effects = matched_effects(
        pd.concat(images), "error", "skin_level", ["audit"], "transect", tolerance
    )
    within = (effects["verdict"] == "within").mean()
    beyond = (judge(effects.assign(exact=True), tolerance)["p_beyond"] < level).mean()
    found = chances_of_verdicts(faces, pair_design(difference, base_rate), tolerance, [level])
    # Three standard errors of a share of so many audits, at most.
    assert (found.beyond, found.within) == pytest.approx((beyond, within), abs=0.047)
    assert max(found.beyond, found.within) > 0.3


def test_larger_effects_are_beyond_more_often_and_within_less_often():
    chances = [
        chances_of_verdicts(900, pair_design(0.05 * k), 0.05, [0.05]) for k in (0, 1, 1.5, 2)
    ]
    beyond = [chance.beyond for chance in chances]
    within = [chance.within for chance in chances]
    assert beyond == sorted(beyond)
    assert within == sorted(within, reverse=True)
    # At the tolerance itself, either claim is a false one.
    assert chances[1].beyond == pytest.approx(0.025, abs=0.002)
    assert chances[1].within == pytest.approx(0.05, abs=0.002)


def test_a_stricter_level_leaves_more_undecided():
    loose, strict = (
        chances_of_verdicts(900, pair_design(0.1), 0.05, [level]) for level in (0.05, 0.05 / 24)
    )
    assert strict.beyond < loose.beyond
    assert strict.within == loose.within


@pytest.mark.parametrize("axes", [1, 3])
@pytest.mark.parametrize("tolerance", [0.02, 0.1])
def test_so_many_transects_decide_and_one_fewer_does_not(tolerance, axes):
    levels = levels_of_cells([2] * axes, 0.05)
    design = pair_design(2 * tolerance)
    least = transects_to_decide(design, tolerance, levels, power=0.9)

    def chances(transects):
        at_zero = chances_of_verdicts(transects, pair_design(0.0), tolerance, levels)
        return at_zero.within, chances_of_verdicts(transects, design, tolerance, levels).beyond

    assert min(chances(least)) >= 0.9
    assert min(chances(least - 1)) < 0.9


def share_rejected_by_holm(p, cells):
    """Share of tests of an axis's cells that Holm's method rejects after its average, at 5%."""
    of_average = np.zeros((len(p), 1))
    of_other_axes = np.ones((len(p), 2 * cells + 2))
    together = np.hstack([p, of_average, of_other_axes])
    weights = np.array(
        [1 / (3 * cells)] * cells + [1 / 3] + [1 / (3 * cells)] * 2 * cells + [1 / 3] * 2
    )
    rejected = [(holm(row, weights) < 0.05)[:cells].mean() for row in together]
    return np.mean(rejected)


def test_cells_of_one_axis_are_rejected_step_by_step():
    """Three axes: the average's share passes on first, then that of each cell that is beyond."""
    levels = levels_of_cells([2, 2, 2], 0.05)
    assert levels == pytest.approx([0.05 / steps for steps in (20, 19, 18, 17)])
    # p-values that are rejected with chances of .2 to .5, at these levels.
    uniform = np.random.default_rng(1).random((4000, 4))
    chances = np.array([0.2, 0.3, 0.4, 0.5])
    p = np.interp(uniform, [0, *chances, 1], [0, *levels, 1])
    found = _share_rejected(chances)
    assert found == pytest.approx(share_rejected_by_holm(p, 4), abs=0.015)
    assert chances[0] < found < chances[-1]
    assert _share_rejected(chances[:1]) == pytest.approx(chances[0])


def test_the_number_for_power_against_no_effect_does_not_decide():
    """The case that a reader of a plan met: 1,341 faces were promised to suffice."""
    level = 0.05 / 24
    undecided = [
        round(chances_of_verdicts(1341, pair_design(0.05 * k), 0.05, [level]).undecided, 2)
        for k in (1, 1.5, 2)
    ]
    assert undecided == [0.95, 0.88, 0.28]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: chances(transects=1), "transects is 1, a whole number"),
        (lambda: chances(tolerance=0.0), "tolerance is 0.0, a number"),
        (lambda: chances(levels=[1.0]), "levels is 1.0, a number"),
        (lambda: chances(Design(0.1, 0.1)), "pairs is 4 and retention 1"),
        (lambda: chances(Design(0.1, 0.1, 0, 0.5, 1)), "retention 0.5: one complete pair"),
        (lambda: transects_to_decide(pair_design(0.05), 0.05, (0.05,)), "difference is 0.05: it"),
        (lambda: transects_to_decide(pair_design(0.1), 0.05, (0.05,), 1.0), "power is 1.0"),
        (lambda: transects_to_decide(pair_design(2e-4), 1e-4, (0.05,)), "over 10000000 transects"),
    ],
)
def test_what_has_no_chances_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_trend_is_one_comparison_of_its_axis():
    assert levels_of_cells([6], 0.05, [1]) == (0.05,)
    # Two cells of the trend and six of the contrast, and two averages that share as much.
    assert levels_of_cells([6, 2], 0.05, [1, 1])[0] == pytest.approx(0.05 / (2 * 8 - 8 / 2))
