"""The ladder of arms: names of cells, coverage of the truth, and which step to blame."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import figures
from helpers.effects import labels
from helpers.scorecard import error_sources
from helpers.scorecard.figures import draw_cells, draw_ladder

AXES = ["skin_colour", "hair_length", "gender"]
STEPS = {"A": "sampling", "B": "directions", "C": "perception"}


def effects(**columns) -> pd.DataFrame:
    """Skin in its four cells, then averaged over hair (two rows), then over everything."""
    held = [(0, 0), (0, 1), (1, 0), (1, 1), (None, 0), (None, 1), (None, None)]
    table = pd.DataFrame(held, columns=["hair_length", "gender"]).astype("Int64")
    table.insert(0, "skin_colour", pd.array([pd.NA] * len(held), dtype="Int64"))
    return table.assign(attribute="skin_colour", model="m", **columns)


def arm(name: str, estimates: list[float], width: float = 0.1) -> pd.DataFrame:
    estimate = np.array([*estimates, 0.0, 0.0, 0.0])
    limits = {"low": estimate - width, "high": estimate + width}
    return labels.name_cells(effects(arm=name, estimate=estimate, n=50, **limits))


@pytest.fixture
def rungs() -> pd.DataFrame:
    """True effects of zero; missed from A on, from B on, at B and again at C, and never."""
    arms = [
        arm("A", [0.2, 0.0, 0.0, 0.0]),
        arm("B", [0.3, 0.2, 0.2, 0.2]),
        arm("C", [0.2, 0.3, 0.3, 0.05]),
    ]
    estimates = pd.concat(arms, ignore_index=True)
    again = (estimates["arm"] == "B") & (estimates["cell"] == "female, long hair")
    estimates.loc[again, ["estimate", "low", "high"]] = [0.05, -0.05, 0.15]
    return error_sources.compare(estimates, effects(effect=0.0, se=0.02))


def test_cells_are_named_by_what_is_held():
    named = labels.name_cells(effects())
    assert list(named["cell"][:2]) == ["female, short hair", "male, short hair"]
    assert list(named["cell"][4:]) == ["female", "male", "average"]
    assert list(named["scope"]) == ["cell"] * 4 + ["partial average"] * 2 + ["average"]


def test_compare_marks_the_intervals_that_hold_the_truth(rungs):
    expected = (rungs["low"] <= 0) & (rungs["high"] >= 0)
    pd.testing.assert_series_equal(rungs["contained"], expected, check_names=False)
    nothing = effects(arm="A", estimate=np.nan, low=np.nan, high=np.nan)
    assert error_sources.compare(nothing, effects(effect=0.5, se=0.0))["contained"].all()


def test_the_blame_goes_to_the_step_after_which_the_truth_stays_outside(rungs):
    table = error_sources.causes(rungs, STEPS)
    cause = table["cause"].droplevel(["model", "attribute"])
    assert cause.to_dict() == {
        "female, short hair": "sampling",
        "male, short hair": "directions",
        "female, long hair": "perception",
        "male, long hair": "contained",
    }
    total = table["truth"] + table[list(STEPS.values())].sum(axis=1)
    np.testing.assert_allclose(total, table["estimate"])


def test_coverage_expects_less_when_the_truth_is_uncertain():
    draws = np.random.default_rng(0)
    n, se, truth_se = 4000, 0.03, 0.03
    estimate, truth = draws.normal(0, se, n), draws.normal(0, truth_se, n)
    half = labels.Z * se
    rows = pd.DataFrame({"estimate": estimate, "low": estimate - half, "high": estimate + half})
    rows = rows.assign(truth=truth, truth_se=truth_se)
    rows["contained"] = (rows["low"] <= truth) & (truth <= rows["high"])
    found = error_sources.coverage(rows)
    assert found["cells"] == n and found["median_se"] == pytest.approx(se)
    assert (
        found["contained"]
        == pytest.approx(found["expected"], abs=0.02)
        == pytest.approx(0.83, abs=0.02)
    )
    assert found["allowing"] == pytest.approx(0.95, abs=0.015)


def test_flags_are_counted_by_direction():
    table = labels.name_cells(effects(estimate=[0.2, -0.2, 0.2, 0.1, 9, 9, 9]))
    table["p_holm"] = [0.01, 0.01, 0.2, np.nan, 0.0, 0.0, 0.0]
    row = error_sources.count_flags(table).loc[("m", "skin_colour")]
    assert row.to_dict() == {"raises": 1, "lowers": 1, "cells": 3}


def test_figures_show_every_arm_and_cell(rungs):
    with plt.rc_context():
        figures.style()
        drawn = draw_ladder(rungs, "m")
        assert [text.get_text() for text in drawn.legends[0].get_texts()] == list(STEPS)
        labels = [tick.get_text() for tick in drawn.axes[0].get_xticklabels()]
        assert labels[0] == "female\nshort hair" and len(labels) == 4
        panels = draw_cells(rungs[rungs["arm"] == "A"], "skin_colour", ["m"])
        assert panels.axes[0].get_title() == "m"
        plt.close("all")


@pytest.mark.parametrize(
    ("gap", "interval", "word"),
    [
        (10, (0.5, -1, 2), "misplaced"),
        (10, (-3, -5, -1), "misplaced"),
        (10, (1, 0.5, 1.5), "misplaced"),
        (10, (5, 3, 7), "partly right: 5.0 of 10.0 points"),
        (10, (11, 8, 14), "the blame is right"),
        (10, (4, -3, 11), "undecided"),
        (-1, (4, 3, 5), "nothing to blame"),
    ],
)
def test_the_verdict_sets_the_effect_against_the_gap(gap, interval, word):
    assert word in error_sources.verdict(gap, *interval)


def test_a_tolerance_is_kept_broken_or_too_close_to_call():
    cases = [(3, 1), (-5.5, 1), (4.8, 1), (7, 1)]
    words = [error_sources.tolerated(*case, 5).split()[:2] for case in cases]
    assert words == [["within"], ["just", "outside,"], ["just", "within,"], ["outside"]]


def test_results_in_words_follow_the_numbers(rungs):
    one = rungs[(rungs["arm"] == "A") & (rungs["scope"] == "cell")]
    table = error_sources.tally(one)
    assert table.loc["all", ["cells", "contained"]].tolist() == [4, 3]
    text = error_sources.reached(error_sources.coverage(one), 0.9)
    assert "3 (75.0%)" in text and "**not reached**" in text
    missed = error_sources.misses(error_sources.causes(rungs, STEPS), STEPS)
    assert missed.columns[:3].tolist() == ["model", "cause", "effect"] and "contained" not in set(
        missed
    )
    row = pd.Series({"estimate": 0.05, "low": 0.03, "high": 0.07, "truth": 0.07, "truth_se": 0.001})
    said = error_sources.sentence("m", 10.0, row, row, 5)
    assert "partly right: 5.0 of 10.0 points" in said and "lies outside the tolerance" in said


def test_hair_by_gender_is_compared_with_skin_by_gender():
    rows = pd.DataFrame(
        {"attribute": ["hair_length"] * 2 + ["skin_colour"] * 2, "gender": [0, 1] * 2}
    )
    rows = rows.assign(model="m", scope="partial average", estimate=[-0.1, 0.1, 0.0, 0.05])
    assert "is the larger: the genders lie 20.0 points" in error_sources.by_gender(rows, ["m"])


def test_verdicts_are_counted_by_model():
    cells = pd.DataFrame(
        {
            "model": ["m"] * 4,
            "attribute": "skin_colour",
            "verdict": ["within", "within", "exceeds", "inconclusive"],
        }
    )
    words = error_sources.verdicts_in_words(cells, "skin_colour", 5)
    assert "within ±5 points in 2 of 4 cells" in words and "exceeds them in 1" in words


def test_carried_effects_are_those_clear_of_zero():
    index = pd.MultiIndex.from_product(
        [["m"], ["gender", "hair_length"], ["total", "total - direct"]],
        names=["model", "attribute", "effect"],
    )
    direct = pd.DataFrame({"estimate": [0.3, 0.02, 0.3, 0.0]}, index=index)
    direct = direct.assign(low=direct["estimate"] - 0.01, high=direct["estimate"] + 0.01)
    words = error_sources.carried_in_words(direct)
    assert "male − female in m: +2.0 (+1.0 to +3.0)" in words and "hair" not in words
    assert "No effect" in error_sources.carried_in_words(direct.assign(low=-1.0))


def test_repeated_audits_in_words():
    repeated = pd.DataFrame({"audit": np.repeat([0, 1], 10), "contained": [True] * 19 + [False]})
    ours = pd.Series({"cells": 10, "contained": 8})
    words = error_sources.repeated_in_words(repeated, ours, 0.9)
    assert "95.0% of all intervals" in words and "0% of them contain no more than the 8" in words
    assert words.index("**reached**") < words.index("**not reached**")


def test_populations_are_compared_but_for_what_is_held():
    rng = np.random.default_rng(0)
    first = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    second = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"]).add([0, 1, 9])
    assert "Of 2 parameters, 1 differ" in error_sources.compare_populations(
        first, second, held=["c"]
    )
