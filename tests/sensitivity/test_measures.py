"""Sensitivity measures against loops, statsmodels and simulated truth."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.api import OLS
from statsmodels.stats.proportion import proportion_confint

from helpers.effects import paired_interval
from helpers.sensitivity import (
    consistency,
    curve,
    dose_response,
    explained,
    flips,
    lines,
    perception_matrix,
    perception_sensitivity,
    score_sensitivity,
)

RNG = np.random.default_rng(0)
BEFORE = RNG.random(90)
AFTER = np.clip(BEFORE + RNG.normal(0.1, 0.2, 90), 0, 1)
THREES = np.repeat(np.arange(30), 3)
INTERVAL = ["estimate", "low", "high"]


def robust(values, cluster):
    """Mean and its cluster-robust t interval, by statsmodels."""
    fit = OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True
    )
    # statsmodels also multiplies the variance by (n - 1) / (n - k), here 1.
    return fit.params[0], *fit.conf_int()[0]


def test_score_sensitivity_of_codes_is_the_paired_t_interval():
    table = score_sensitivity(BEFORE, AFTER)
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


def test_score_sensitivity_of_repeated_codes_is_cluster_robust():
    table = score_sensitivity(BEFORE, AFTER, cluster=[f"z{code}" for code in THREES])
    assert table.loc["score sensitivity", "n"] == 30
    np.testing.assert_allclose(
        table.loc["score sensitivity", INTERVAL], robust(AFTER - BEFORE, THREES)
    )
    close = (BEFORE > 0.3) & (BEFORE < 0.7)
    near = table.loc["near the boundary"]
    assert near["n"] == len(set(THREES[close]))
    np.testing.assert_allclose(near[INTERVAL], robust((AFTER - BEFORE)[close], THREES[close]))


def test_the_boundary_itself_is_not_near():
    table = score_sensitivity([0.3, 0.7, 0.5, 0.31], [1, 1, 1, 1])
    assert table.loc["near the boundary", "n"] == 2


@pytest.mark.parametrize(("before", "estimate"), [([0.1, 0.9], np.nan), ([0.1, 0.5], 0.2)])
def test_too_few_codes_near_the_boundary_have_no_interval(before, estimate):
    near = score_sensitivity(before, [0.7, 0.7]).loc["near the boundary"]
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
    assert flips([0.5], [0.49]).loc["joint_10", "events"] == 1
    assert flips([0.49], [0.5]).loc["joint_01", "events"] == 1


def test_flips_of_an_empty_class_are_missing():
    table = flips([0.6, 0.7], [0.6, 0.2])
    assert table.loc["conditional_01", ["n", "events"]].tolist() == [0, 0]
    assert table.loc["conditional_01", INTERVAL].isna().all()
    assert table.loc["conditional_10", "estimate"] == 0.5


def test_identical_copies_of_codes_add_nothing():
    """Copies leave the effective number of rows at the number of codes; only t replaces z."""
    few = flips(BEFORE, AFTER)
    many = flips(np.tile(BEFORE, 4), np.tile(AFTER, 4), cluster=[*range(90)] * 4)
    np.testing.assert_allclose(many["estimate"], few["estimate"])
    assert (many["n"] == 4 * few["n"]).all()
    width, plain = (table["high"] - table["low"] for table in (many, few))
    assert width.between(plain, 1.06 * plain).all()


def test_copies_without_any_flip_count_once():
    table = flips([0.1] * 40, [0.2] * 40, cluster=[*range(8)] * 5)
    quantile = stats.t.ppf(0.975, 7)
    assert table.loc["joint_01", "high"] == pytest.approx(quantile**2 / (8 + quantile**2))


def test_one_code_has_rates_without_intervals():
    table = flips([0.1, 0.2, 0.9, 0.9], [0.6, 0.2, 0.9, 0.9], cluster=["z"] * 4)
    assert table.loc[["joint_01", "net"], "estimate"].tolist() == [0.25, 0.25]
    assert table[["low", "high"]].isna().all(axis=None)


def test_net_covers_where_few_codes_flip():
    """Cover over all outcomes of 200 codes that flip up in 2 % and down in 0.5 %."""
    cover = 0
    for up, down in product(range(12), range(6)):
        after = np.repeat([1, 0, 0, 1], [up, 100 - up, down, 100 - down])
        low, high = flips(np.repeat([0, 1], 100), after).loc["net", ["low", "high"]]
        chance = stats.multinomial.pmf([up, down, 200 - up - down], 200, [0.02, 0.005, 0.975])
        cover += chance * (low <= 0.015 <= high)
    assert 0.93 < cover < 0.97


def test_intervals_cover_where_codes_repeat():
    """60 codes with 5 images each, whose flips are alike: as rows, they would cover too rarely."""
    codes, runs, hits = np.repeat(np.arange(60), 5), 120, {}
    for run in range(runs):
        rng = np.random.default_rng(run)
        after = rng.random(300) < rng.beta(0.3, 2.7, 60)[codes]
        for cluster in (True, False):
            table = flips(np.zeros(300), after, cluster=codes if cluster else None)
            held = table["low"].le(0.1) & table["high"].ge(0.1)
            hits[cluster] = hits.get(cluster, 0) + held[["net", "joint_01"]] / runs
    assert hits[True].between(0.92, 0.985).all()
    assert (hits[False] < 0.9).all()


LAMBDAS = np.array([-1, 1, 0, 0.5])
SCORES = np.clip(BEFORE[:, None] + 0.2 * LAMBDAS + RNG.normal(0, 0.1, (90, 4)), 0, 1)


@pytest.mark.parametrize("cluster", [None, THREES])
def test_curve_holds_the_measures_of_every_step(cluster):
    table = curve(SCORES, LAMBDAS, cluster)
    assert list(table.columns) == ["λ", "measure", "n", *INTERVAL]
    assert table["λ"].unique().tolist() == [-1, 0, 0.5, 1]
    assert (table.groupby("λ").size() == 9).all()
    last = table[table["λ"] == 1].set_index("measure").drop(columns="λ")
    pair = SCORES[:, 2], SCORES[:, 1]
    expected = [
        score_sensitivity(*pair, cluster=cluster),
        flips(*pair, cluster=cluster).drop(columns="events"),
    ]
    pd.testing.assert_frame_equal(last.iloc[:-1], pd.concat(expected), check_names=False)


def test_curve_has_net_flips_near_the_boundary():
    table = curve(SCORES, LAMBDAS)
    net = table[(table["λ"] == -1) & (table["measure"] == "net near the boundary")].iloc[0]
    close = (SCORES[:, 2] > 0.3) & (SCORES[:, 2] < 0.7)
    expected = flips(SCORES[close, 2], SCORES[close, 0]).loc["net", ["n", *INTERVAL]]
    np.testing.assert_allclose(net[["n", *INTERVAL]].astype(float), expected.astype(float))


def test_nothing_moves_at_zero():
    table = curve([[0.1, 0.2], [0.2, 0.8]], [0, 1])
    still = table[table["λ"] == 0].set_index("measure")[INTERVAL]
    empty = ["near the boundary", "conditional_10", "net near the boundary"]
    assert still.loc[empty].isna().all(axis=None)
    assert (still.drop(index=empty) == 0).all(axis=None)


def test_dose_response_is_the_mean_of_fitted_slopes():
    table = dose_response(SCORES, LAMBDAS)
    slopes = [np.polyfit(LAMBDAS, row, 1)[0] for row in SCORES]
    interval = stats.ttest_1samp(slopes, 0).confidence_interval(0.95)
    np.testing.assert_allclose(table.loc["slope", INTERVAL], [np.mean(slopes), *interval])
    ordered = SCORES[:, np.argsort(LAMBDAS)]
    rising = sum(all(b >= a for a, b in pairwise(row)) for row in ordered)
    falling = sum(all(b <= a for a, b in pairwise(row)) for row in ordered)
    assert table.loc["monotone", "estimate"] == pytest.approx((rising + falling) / 90)
    wilson = proportion_confint(rising + falling, 90, method="wilson")
    np.testing.assert_allclose(table.loc["monotone", ["low", "high"]], wilson)
    clustered = dose_response(SCORES, LAMBDAS, THREES).loc["slope", INTERVAL]
    np.testing.assert_allclose(clustered, robust(np.array(slopes), THREES))


def test_monotone_scores_move_and_never_turn_back():
    scores = [[0.1, 0.2, 0.2], [0.9, 0.5, 0.1], [0.3, 0.3, 0.3], [0.1, 0.5, 0.4]]
    assert dose_response(scores, [-1, 0, 1]).loc["monotone", "estimate"] == 0.5


def test_lines_join_codes_of_one_class_and_use_none_twice():
    z, positive = RNG.standard_normal((50, 6)), np.arange(50) < 31
    codes, ends = lines(z, positive, seed=3)
    assert codes.shape == (24, 6) and ends.shape == (24, 2)
    assert len(np.unique(ends)) == 48
    assert positive[ends[:15]].all() and not positive[ends[15:]].any()
    along = z[ends[:, 1]] - z[ends[:, 0]]
    offset = codes - z[ends[:, 0]]
    place = (offset * along).sum(axis=1) / (along**2).sum(axis=1)
    assert ((place >= 0) & (place < 1)).all() and place.std() > 0.1
    np.testing.assert_allclose(offset, place[:, None] * along, atol=1e-12)


def test_lines_depend_on_the_seed():
    z, positive = RNG.standard_normal((50, 6)), np.arange(50) < 30
    first, again, other = (lines(z, positive, seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_lines_of_one_class_alone_and_what_is_refused():
    z, positive = np.zeros((10, 2)), np.arange(10) < 7
    assert len(lines(z, np.ones(10, bool), 0)[0]) == 5
    with pytest.raises(ValueError, match="z: 2 codes, no two of them of one class"):
        lines(z[:2], np.array([True, False]), 0)
    with pytest.raises(ValueError, match=r"positive: expected bool \(10,\), got bool \(9,\)"):
        lines(z, positive[1:], 0)
    with pytest.raises(ValueError, match="positive: expected bool .* got int64"):
        lines(z, positive.astype(int), 0)
    with pytest.raises(ValueError, match="z: row 1, column 0 is nan, a finite number was"):
        lines(np.where(np.arange(10)[:, None] == 1, np.nan, z), positive, 0)


def test_consistency_counts_codes_that_keep_their_class():
    table = consistency(np.array([True, True, True, False]), [0.5, 0.9, 0.1, 0.2])
    assert table[["n", "events"]].to_numpy().tolist() == [[4, 3], [3, 2], [1, 1]]
    for ends in table.index:
        n, kept, *interval = table.loc[ends]
        np.testing.assert_allclose(interval[1:], proportion_confint(kept, n, method="wilson"))
    assert consistency(np.array([True]), [0.5]).loc["negative", INTERVAL].isna().all()
    with pytest.raises(ValueError, match="positive_ends: expected bool, got int64"):
        consistency(np.array([1]), [0.5])
    with pytest.raises(ValueError, match=r"positive_ends: shape \(2,\), expected \(1,\)"):
        consistency(np.array([True, False]), [0.5])


PERCEIVED = pd.DataFrame({"age": RNG.random(90), "smiling": RNG.random(90)})
SEEN = PERCEIVED + RNG.normal(0.05, 0.1, (90, 2))


def test_perception_sensitivity_of_every_attribute():
    table = perception_sensitivity(PERCEIVED, SEEN, THREES)
    assert table["n"].tolist() == [30, 30]
    for attribute in PERCEIVED:
        change = (SEEN - PERCEIVED)[attribute].to_numpy()
        np.testing.assert_allclose(table.loc[attribute, INTERVAL], robust(change, THREES))
    assert perception_sensitivity(PERCEIVED, SEEN)["n"].tolist() == [90, 90]


def test_perception_matrix_has_a_row_per_vector():
    pairs = {"Young": (PERCEIVED, SEEN), "No_Beard": (SEEN, PERCEIVED)}
    matrix = perception_matrix(pairs, THREES)
    assert matrix["estimate"].shape == (2, 2)
    for vector, pair in pairs.items():
        table = perception_sensitivity(*pair, THREES)
        for statistic in INTERVAL:
            np.testing.assert_allclose(matrix[statistic].loc[vector], table[statistic])


def test_perception_names_what_is_wrong():
    with pytest.raises(
        ValueError, match=r"after: columns \['age'\], expected \['age', 'smiling'\]"
    ):
        perception_sensitivity(PERCEIVED, SEEN[["age"]])
    with pytest.raises(
        ValueError, match=r"after: shape \(89, 2\), expected \(90, 2\) as of before"
    ):
        perception_sensitivity(PERCEIVED, SEEN[1:])
    holes = SEEN.mask(SEEN["age"][4] == SEEN)
    with pytest.raises(ValueError, match="after: row 4, column 0 is nan, a finite number was"):
        perception_sensitivity(PERCEIVED, holes)
    with pytest.raises(ValueError, match="vector 'Young': after: row 4"):
        perception_matrix({"Young": (PERCEIVED, holes)})
    with pytest.raises(ValueError, match="at least one attribute vector"):
        perception_matrix({})


def simulated_changes(rng, n=80, direct=0.03, noise=0.05):
    """Score changes are 1.5 times the true smile's, plus `direct`; people see it with noise."""
    smile, full = rng.normal(0.05, 0.03, n), rng.normal(0.3, 0.05, n)
    error = rng.normal(0, noise, (4, n))
    return (
        1.5 * smile + direct + 0.5 * error[0],
        smile + error[1],
        1.5 * full + 0.5 * error[2],
        full + error[3],
    )


def test_explained_is_a_ratio_of_means():
    changes = simulated_changes(np.random.default_rng(1))
    table = explained(*changes, None, n_boot=50, seed=2)
    total, seen, scored, calibrated = (change.mean() for change in changes)
    share = scored / calibrated * seen
    np.testing.assert_allclose(table["estimate"], [total, share, total - share])
    assert list(table.index) == ["total", "explained", "rest"]


def test_explained_resamples_codes():
    """Copies of codes leave the interval as it is; as codes of their own they would halve it."""
    changes = simulated_changes(np.random.default_rng(1))
    table = explained(*changes, None, n_boot=200, seed=2)
    copies = [np.repeat(change, 4) for change in changes]
    repeated = explained(*copies, np.repeat(np.arange(80), 4), n_boot=200, seed=2)
    np.testing.assert_allclose(repeated, table)
    single = explained(*copies, None, n_boot=200, seed=2)
    width, half = table["high"] - table["low"], single["high"] - single["low"]
    assert (half / width).between(0.35, 0.65).all()


def test_explained_covers_the_rest():
    """Perception noise larger than the perceived change itself does not pull β to zero."""
    hits, runs = np.zeros(3), 100
    for run in range(runs):
        changes = simulated_changes(np.random.default_rng(run), n=200, noise=0.1)
        table = explained(*changes, None, n_boot=120, seed=run)
        hits += table["low"].le([0.105, 0.075, 0.03]) & table["high"].ge([0.105, 0.075, 0.03])
    assert (hits / runs).between(0.9, 0.99).all()


def test_explained_estimates_no_part_without_a_calibration_that_is_seen():
    changes = list(simulated_changes(np.random.default_rng(1)))
    weak = [*changes[:3], changes[3] - changes[3].mean()]
    table = explained(*weak, None, 50, 2)
    assert table.loc["total"].notna().all()
    assert table.loc[["explained", "rest"]].isna().all(axis=None)
    with pytest.raises(ValueError, match="cluster: one code only"):
        explained(*changes, np.zeros(80), 50, 2)
    with pytest.raises(ValueError, match="score_change: row 3 is -2.31, a change in"):
        explained(np.where(np.arange(80) == 3, -2.31, changes[0]), *changes[1:], None, 50, 2)
    with pytest.raises(ValueError, match=r"perceived_change: shape \(79,\), expected \(80,\)"):
        explained(changes[0], changes[1][1:], *changes[2:], None, 50, 2)


def test_scores_must_be_probabilities():
    logits = np.where(np.arange(90) == 3, -2.31, BEFORE)
    words = "row 3 is -2.31, a probability in .* was expected; does the classifier return logits"
    with pytest.raises(ValueError, match=f"scores_before: {words}"):
        score_sensitivity(logits, AFTER)
    with pytest.raises(ValueError, match=f"scores_after: {words}"):
        flips(AFTER, logits)
    with pytest.raises(ValueError, match=f"scores: {words}"):
        consistency(np.ones(90, bool), logits)
    for bad in (np.nan, None):
        with pytest.raises(
            ValueError, match=r"scores_after: row 1 is (nan|None), .* was expected$"
        ):
            flips([0.1, 0.2], [0.3, bad])
    with pytest.raises(ValueError, match="scores: row 1, column 0 is 3.0, a probability"):
        curve([[0.1, 0.2], [3, 0.1]], [0, 1])
    with pytest.raises(ValueError, match="scores_before: row 0 is .high., a probability"):
        flips(["high"], [0.1])


def test_shapes_and_settings_must_fit():
    with pytest.raises(ValueError, match=r"scores_after: shape \(89,\), expected \(90,\) as of"):
        flips(BEFORE, AFTER[1:])
    with pytest.raises(ValueError, match=r"scores_before: shape \(0,\), at least one row"):
        flips([], [])
    with pytest.raises(ValueError, match="cluster: 89 identifiers for 90 rows"):
        flips(BEFORE, AFTER, cluster=THREES[1:])
    with pytest.raises(ValueError, match="row 1 has no cluster identifier"):
        flips([0.1, 0.2], [0.1, 0.2], cluster=["a", None])
    with pytest.raises(ValueError, match="threshold: expected a probability in .* got 1.5"):
        flips(BEFORE, AFTER, threshold=1.5)
    with pytest.raises(ValueError, match="near: expected 0 <= low < high <= 1"):
        score_sensitivity(BEFORE, AFTER, near=(0.7, 0.3))
    with pytest.raises(ValueError, match="lambdas: 3 steps for 4 columns of scores"):
        curve(SCORES, LAMBDAS[1:])
    with pytest.raises(ValueError, match="lambdas: none of .* is 0"):
        curve(SCORES, LAMBDAS + 5)
    with pytest.raises(ValueError, match="lambdas: expected at least 2 steps, all distinct"):
        dose_response(SCORES, [0, 0, 1, 2])
    with pytest.raises(ValueError, match="lambdas: row 0 is inf, a finite number was"):
        dose_response(SCORES, [np.inf, 0, 1, 2])
