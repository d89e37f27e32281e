"""Chances of verdicts against enumeration by intervals, and against simulated audits."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import multinomial

from faceaudit.effects import (
    Design,
    matched_effects,
    paired_interval,
    transects_to_decide,
    verdict_chances,
)
from faceaudit.effects.planning import transect_types
from faceaudit.verdicts import judge


def pair_design(difference, base_rate=0.1, within=0.0):
    """One pair per transect."""
    return Design(difference, base_rate, within, pairs=1)


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
    found = verdict_chances(transects, design, tolerance, level)
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
    found = verdict_chances(faces, pair_design(difference, base_rate), tolerance, level)
    # Three standard errors of a share of so many audits, at most.
    assert (found.beyond, found.within) == pytest.approx((beyond, within), abs=0.047)
    assert max(found.beyond, found.within) > 0.3


def test_larger_effects_are_beyond_more_often_and_within_less_often():
    chances = [verdict_chances(900, pair_design(0.05 * k), 0.05, 0.05) for k in (0, 1, 1.5, 2)]
    beyond = [chance.beyond for chance in chances]
    within = [chance.within for chance in chances]
    assert beyond == sorted(beyond)
    assert within == sorted(within, reverse=True)
    # At the tolerance itself, either claim is a false one.
    assert chances[1].beyond == pytest.approx(0.025, abs=0.002)
    assert chances[1].within == pytest.approx(0.05, abs=0.002)


def test_a_stricter_level_leaves_more_undecided():
    loose, strict = (
        verdict_chances(900, pair_design(0.1), 0.05, level) for level in (0.05, 0.05 / 24)
    )
    assert strict.beyond < loose.beyond
    assert strict.within == loose.within


@pytest.mark.parametrize("level", [0.05, 0.05 / 24])
@pytest.mark.parametrize("tolerance", [0.02, 0.1])
def test_so_many_transects_decide_and_one_fewer_does_not(tolerance, level):
    design = pair_design(2 * tolerance)
    least = transects_to_decide(design, tolerance, level, power=0.9)

    def chances(transects):
        at_zero = verdict_chances(transects, pair_design(0.0), tolerance, level)
        return at_zero.within, verdict_chances(transects, design, tolerance, level).beyond

    assert min(chances(least)) >= 0.9
    assert min(chances(least - 1)) < 0.9


def test_the_number_for_power_against_no_effect_does_not_decide():
    """The case that a reader of a plan met: 1,341 faces were promised to suffice."""
    level = 0.05 / 24
    undecided = [
        round(verdict_chances(1341, pair_design(0.05 * k), 0.05, level).undecided, 2)
        for k in (1, 1.5, 2)
    ]
    assert undecided == [0.95, 0.88, 0.28]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: verdict_chances(1, pair_design(0.1), 0.05, 0.05), "transects is 1, a whole"),
        (lambda: verdict_chances(9, pair_design(0.1), 0.0, 0.05), "tolerance is 0.0, a number"),
        (lambda: verdict_chances(9, pair_design(0.1), 0.05, 1.0), "level_of_comparison is 1.0"),
        (lambda: verdict_chances(9, Design(0.1, 0.1), 0.05, 0.05), "pairs is 4 and retention 1"),
        (
            lambda: verdict_chances(9, Design(0.1, 0.1, 0, 0.5, 1), 0.05, 0.05),
            "retention 0.5: one complete pair per transect",
        ),
        (lambda: transects_to_decide(pair_design(0.05), 0.05, 0.05), "difference is 0.05: it is"),
        (lambda: transects_to_decide(pair_design(0.1), 0.05, 0.05, 1.0), "power is 1.0"),
        (lambda: transects_to_decide(pair_design(2e-4), 1e-4, 0.05), "over 10000000 transects"),
    ],
)
def test_what_has_no_chances_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
