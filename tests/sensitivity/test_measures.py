"""Score sensitivity and flips against a t test, statsmodels and loops."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from helpers.effects import paired_interval
from helpers.sensitivity import flips, score_sensitivity

RNG = np.random.default_rng(0)
BEFORE = RNG.random(90)
AFTER = np.clip(BEFORE + RNG.normal(0.1, 0.2, 90), 0, 1)
THREES = np.repeat(np.arange(30), 3)
INTERVAL = ["estimate", "low", "high"]
NEAR = (0.3, 0.7)


def test_score_sensitivity_of_codes_is_the_paired_t_interval():
    table = score_sensitivity(BEFORE, AFTER, NEAR)
    change = AFTER - BEFORE
    close = (BEFORE > 0.3) & (BEFORE < 0.7)
    expected = {
        "score sensitivity": change,
        "near the boundary": change[close],
        "stability": np.abs(change),
    }
    assert list(table.index) == list(expected)
    for measure, values in expected.items():
        test = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert table.loc[measure, "n"] == len(values)
        np.testing.assert_allclose(table.loc[measure, INTERVAL], [values.mean(), *test])


def test_score_sensitivity_of_repeated_codes_is_cluster_robust(robust):
    table = score_sensitivity(BEFORE, AFTER, NEAR, cluster=[f"z{code}" for code in THREES])
    assert table.loc["score sensitivity", "n"] == 30
    np.testing.assert_allclose(
        table.loc["score sensitivity", INTERVAL], robust(AFTER - BEFORE, THREES)
    )
    close = (BEFORE > 0.3) & (BEFORE < 0.7)
    near = table.loc["near the boundary"]
    assert near["n"] == len(set(THREES[close]))
    np.testing.assert_allclose(near[INTERVAL], robust((AFTER - BEFORE)[close], THREES[close]))


def test_the_boundary_itself_is_not_near():
    table = score_sensitivity([0.3, 0.7, 0.5, 0.31], [1, 1, 1, 1], NEAR)
    assert table.loc["near the boundary", "n"] == 2


@pytest.mark.parametrize(("before", "estimate"), [([0.1, 0.9], np.nan), ([0.1, 0.5], 0.2)])
def test_too_few_codes_near_the_boundary_have_no_interval(before, estimate):
    near = score_sensitivity(before, [0.7, 0.7], NEAR).loc["near the boundary"]
    np.testing.assert_allclose(near[INTERVAL], [estimate, np.nan, np.nan])


def test_flips_are_those_of_a_loop():
    table = flips(BEFORE, AFTER, 0.4)
    y = [(b >= 0.4, a >= 0.4) for b, a in zip(BEFORE, AFTER, strict=True)]
    up, down = y.count((False, True)), y.count((True, False))
    zeros, ones = up + y.count((False, False)), down + y.count((True, True))
    assert table["events"].to_dict() == {
        "joint_01": up,
        "joint_10": down,
        "conditional_01": up,
        "conditional_10": down,
        "net": up - down,
    }
    assert table["n"].tolist() == [90, 90, zeros, ones, 90]
    np.testing.assert_allclose(table["estimate"], table["events"] / table["n"], rtol=1e-14)
    for flip in table.index[:-1]:
        wilson = proportion_confint(table.events[flip], table.n[flip], method="wilson")
        np.testing.assert_allclose(table.loc[flip, ["low", "high"]], wilson)
    net = paired_interval(up, down, 90, stats.norm.ppf(0.975))
    np.testing.assert_allclose(table.loc["net", ["low", "high"]], net)


@pytest.mark.parametrize("cluster", [None, THREES])
def test_conditional_is_joint_over_the_share_of_the_class(cluster):
    rate = flips(BEFORE, AFTER, 0.4, cluster)["estimate"]
    share = (BEFORE >= 0.4).mean()
    assert rate["conditional_01"] == pytest.approx(rate["joint_01"] / (1 - share), abs=1e-12)
    assert rate["conditional_10"] == pytest.approx(rate["joint_10"] / share, abs=1e-12)
    assert rate["net"] == pytest.approx(rate["joint_01"] - rate["joint_10"], abs=1e-12)
    net = np.mean((AFTER >= 0.4).astype(int) - (BEFORE >= 0.4))
    assert rate["net"] == pytest.approx(net, abs=1e-12)


def test_a_score_on_the_threshold_is_a_smile():
    assert flips([0.5], [0.49], 0.5).loc["joint_10", "events"] == 1
    assert flips([0.49], [0.5], 0.5).loc["joint_01", "events"] == 1


def test_flips_of_an_empty_class_are_missing():
    table = flips([0.6, 0.7], [0.6, 0.2], 0.5)
    assert table.loc["conditional_01", ["n", "events"]].tolist() == [0, 0]
    assert table.loc["conditional_01", INTERVAL].isna().all()
    assert table.loc["conditional_10", "estimate"] == 0.5


def test_one_code_has_rates_without_intervals():
    table = flips([0.1, 0.2, 0.9, 0.9], [0.6, 0.2, 0.9, 0.9], 0.5, cluster=["z"] * 4)
    assert table.loc[["joint_01", "net"], "estimate"].tolist() == [0.25, 0.25]
    assert table[["low", "high"]].isna().all(axis=None)


def test_scores_must_be_probabilities():
    logits = np.where(np.arange(90) == 3, -2.31, BEFORE)
    words = "row 3 is -2.31, a probability in \\[0, 1\\] was expected; does the classifier"
    with pytest.raises(ValueError, match=f"scores_before: {words}"):
        score_sensitivity(logits, AFTER, NEAR)
    with pytest.raises(ValueError, match=f"scores_after: {words}"):
        flips(AFTER, logits, 0.5)
    for bad in (np.nan, None):
        with pytest.raises(ValueError, match="row 1 is (nan|None), a probability .* was expected$"):
            flips([0.1, 0.2], [0.3, bad], 0.5)
    with pytest.raises(ValueError, match="scores_before: row 0 is 'high'"):
        flips(["high"], [0.1], 0.5)


def test_shapes_and_settings_must_fit():
    with pytest.raises(ValueError, match=r"scores_after: shape \(89,\), expected \(90,\) as of"):
        flips(BEFORE, AFTER[1:], 0.5)
    with pytest.raises(ValueError, match=r"scores_before: shape \(0,\), at least one row"):
        flips([], [], 0.5)
    with pytest.raises(ValueError, match="cluster: 89 identifiers for 90 rows"):
        flips(BEFORE, AFTER, 0.5, cluster=THREES[1:])
    with pytest.raises(ValueError, match="row 1 has no cluster identifier"):
        flips([0.1, 0.2], [0.1, 0.2], 0.5, cluster=["a", None])
    with pytest.raises(ValueError, match=r"threshold is 1.5, a number in \[0, 1\] was"):
        flips(BEFORE, AFTER, threshold=1.5)
    with pytest.raises(ValueError, match="near: expected 0 <= low < high <= 1"):
        score_sensitivity(BEFORE, AFTER, near=(0.7, 0.3))
