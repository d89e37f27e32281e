"""The study's parts, put together at toy size and compared with plain loops."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from helpers import faces, identities, verification
from helpers.faces.parameters import defaults
from helpers.verification import study
from helpers.verification.study import Audit, People


def as_vectors(images: np.ndarray) -> np.ndarray:
    """Stands in for a recogniser: the pixels themselves, of unit length."""
    flat = images.reshape(len(images), -1).astype(float)
    return flat / np.linalg.norm(flat, axis=1, keepdims=True)


@pytest.fixture
def people():
    draws = np.random.default_rng(3).integers(0, 256, (12, 3, 4, 4), dtype=np.uint8)
    groups = np.repeat(identities.GROUPS, 2)
    return People(draws, np.repeat(np.arange(6), 2), groups)


@pytest.fixture
def audit():
    index = pd.DataFrame(
        [(seed, group) for seed in range(9) for group in identities.GROUPS],
        columns=["seed", "group"],
    )
    pairs = identities.pairs(index, seed=1)
    rng = np.random.default_rng(5)
    same = (pairs["kind"] == "positive").to_numpy()
    similarity = {name: rng.normal(0.6 * same, 0.3) for name in ("one", "two")}
    return Audit(pairs, similarity, {"one": 0.3, "two": 0.4}, n_boot=50, seed=2), same


def test_threshold_lets_the_share_of_other_people_through(people):
    threshold = study.threshold_at(as_vectors, people, 0.1)
    vectors = as_vectors(people.images)
    alike = [
        vectors[a] @ vectors[b]
        for a in range(12)
        for b in range(a)
        if people.person[a] != people.person[b]
    ]
    assert threshold == pytest.approx(np.quantile(alike, 0.9))


def test_one_attribute_takes_its_pairs_and_those_of_prototypes(audit):
    audit, same = audit
    matches = pd.Series(same, audit.pairs.index)
    given = audit.of("one", matches, "pose")
    rows = audit.pairs["attribute"].isin(["pose", "prototype"])
    assert len(given["similarity"]) == rows.sum() == len(audit.vertices("pose"))
    assert np.array_equal(given["similarity"], audit.similarity["one"][rows])
    assert len(audit.of("one", matches)["similarity"]) == len(audit.pairs)


def test_bands_and_gaps_hold_every_recogniser_at_its_own_threshold(audit):
    audit, same = audit
    matches = pd.Series(same, audit.pairs.index)
    curves, at_fmr, fixed = audit.bands(matches, ["pose", "age"])
    for table in (curves, at_fmr, fixed):
        named = table[["attribute", "recogniser"]].drop_duplicates().itertuples(index=False)
        assert set(named) == {(a, r) for a in ("pose", "age") for r in ("one", "two")}
    assert set(audit.bands(matches)[0]["attribute"]) == {"all"}
    expected = verification.fixed_threshold(**audit.of("two", matches, "age"), threshold=0.4)
    found = fixed[(fixed["recogniser"] == "two") & (fixed["attribute"] == "age")]
    found = found.drop(columns=["recogniser", "attribute"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)
    gaps = audit.gaps(matches, fmr=0.05, tolerance=0.05, reference="european male")
    rows = gaps[(gaps["recogniser"] == "two") & (gaps["measure"] == "FNMR at threshold")]
    group = audit.pairs["group"].to_numpy()
    missed = audit.similarity["two"] < 0.4
    for row in rows.itertuples():
        rate, base = (missed[same & (group == g)].mean() for g in (row.group, "european male"))
        assert row.estimate == pytest.approx(rate - base)
    together = audit.rates("two", matches)
    assert together["fnmr"] == pytest.approx(missed[same].mean())
    assert together["fmr"] == pytest.approx((~missed[~same]).mean())
    assert together["fnmr_low"] < together["fnmr"] < together["fnmr_high"]


def test_rater_accuracy_counts_the_true_side_of_not_sure(audit):
    audit, same = audit
    ratings = np.random.default_rng(6).integers(0, 5, (len(same), 9))
    table = study.rater_accuracy(audit.pairs, ratings)
    row = table.loc["negative", "african male"]
    chosen = (~same) & (audit.pairs["group"] == "african male").to_numpy()
    seeds = audit.pairs["seed_first"].to_numpy()
    means = [(ratings[chosen & (seeds == seed)] > 2).mean() for seed in range(9)]
    low, high = stats.t.interval(0.95, 8, np.mean(means), stats.sem(means))
    assert [row["mean"], row["low"], row["high"]] == pytest.approx([np.mean(means), low, high])
    assert row["seeds"] == 9


def test_groups_under_do_change_the_group_and_the_pose_alone():
    base = defaults(3)
    base[:, faces.INDEX["chin"]] = torch.tensor([-1.0, 0.0, 1.0])
    turned = study.groups_under_do(base, (0, 15)).reshape(6, 2, 3, -1)
    moved = {
        name
        for name in faces.INDEX
        if (turned[..., faces.INDEX[name]] != base[:, faces.INDEX[name]]).any()
    }
    assert moved == {"gender", "ancestry_x", "ancestry_y", "yaw"}
    assert (turned[:, 1, :, faces.INDEX["yaw"]] == 15).all()
    where = turned[:, 0, 0][:, [faces.INDEX["ancestry_x"], faces.INDEX["ancestry_y"]]].numpy()
    names = [identities.ANCESTRIES[k] for k in identities.nearest_ancestry(where)]
    assert names == list(identities.split(identities.GROUPS)[0])


def test_rates_under_do_compare_with_the_first_pose():
    pictures = np.random.default_rng(8).integers(0, 256, (6 * 3 * 2, 3, 4, 4), dtype=np.uint8)
    vectors = as_vectors(pictures).reshape(6, 3, 2, -1)
    rates = study.fnmr_under_do(as_vectors, pictures, 2, 0.75)
    for place, group in enumerate(identities.GROUPS):
        alike = [vectors[place, 0, n] @ vectors[place, y, n] for y in (1, 2) for n in (0, 1)]
        assert rates[group].mean() == pytest.approx(np.mean(np.array(alike) < 0.75))


def test_paired_differences_are_student_intervals_over_seeds():
    rng = np.random.default_rng(1)
    first, second = (pd.DataFrame(rng.random((9, 2)), columns=["a", "b"]) for _ in range(2))
    second.loc[3, "b"] = np.nan
    table = study.paired_difference(first, second)
    assert table["seeds"].tolist() == [9, 8]
    for column in "ab":
        kept = second[column].notna()
        test = stats.ttest_rel(first.loc[kept, column], second.loc[kept, column])
        ends = test.confidence_interval(0.95)
        row = table.loc[column]
        np.testing.assert_allclose(row[["low", "high"]].astype(float), [ends.low, ends.high])
        assert row["estimate"] == pytest.approx(row["first"] - row["second"])
    nothing = study.paired_difference(first, first)
    assert (nothing["estimate"] == 0).all() and nothing[["low", "high"]].isna().all(axis=None)


def test_ratings_come_back_from_an_export_in_the_order_of_the_pairs(tmp_path):
    parameters = defaults(6)
    parameters[3:, faces.INDEX["face_width"]] = 2.0
    parameters[3:, faces.INDEX["hair_volume"]] = -2.0
    pairs = pd.DataFrame(
        {"first": [0, 0, 1], "second": [1, 3, 2], "kind": ["positive", "negative", "positive"]},
        index=["a", "b", "c"],
    )
    read = study.rate_pairs(parameters, pairs, tmp_path / "pairs.json", 9, seed=1, stage="test")
    assert read.ratings.shape == (3, 9) and list(read.ratings.index) == ["a", "b", "c"]
    means = read.ratings.mean(axis=1)
    assert means["b"] > max(means["a"], means["c"])


def test_composition_effects_compare_each_recogniser_with_the_control(audit):
    plain, same = audit
    matches = pd.Series(same, plain.pairs.index)
    rng = np.random.default_rng(9)
    names = list(identities.RECOGNISERS)
    similarity = {name: rng.normal(0.6 * same, 0.3) for name in names}
    both = Audit(plain.pairs, similarity, dict.fromkeys(names, 0.3), n_boot=10, seed=2)
    table = both.composition_effects(matches)
    assert list(table.index.get_level_values("recogniser").unique()) == names[:3]
    group, accepted = plain.pairs["group"].to_numpy(), similarity["arcface-a"] >= 0.3
    rates = pd.Series(accepted[~same]).groupby(group[~same]).mean()
    known = rates.index.str.startswith("european")
    row = table.loc["arcface-a", "FMR", "recogniser"]
    assert row["familiar"] == pytest.approx(rates[known].mean())
    assert row["rare"] == pytest.approx(rates[~known].mean())
    seeds = plain.pairs["seed_first"].nunique()
    assert table.loc["sphereface", "FNMR", "difference"]["identities"] == seeds


def test_sweep_has_the_threshold_in_the_middle_and_ends_at_many_errors(audit):
    audit, same = audit
    matches = pd.Series(same, audit.pairs.index)
    table = audit.sweep("two", matches, 3)
    thresholds = table["threshold"].unique()
    assert len(thresholds) == 7 and thresholds[3] == audit.thresholds["two"]
    steps = np.diff(thresholds)
    np.testing.assert_allclose(steps, np.repeat([steps[0], steps[-1]], 3))
    similarity = audit.similarity["two"]
    assert np.isclose((similarity[~same] >= thresholds[0]).mean(), 0.5, atol=0.02)
    assert np.isclose((similarity[same] < thresholds[-1]).mean(), 0.9, atol=0.02)
    middle = table[table["threshold"] == thresholds[3]].reset_index(drop=True)
    fixed = verification.fixed_threshold(**audit.of("two", matches), threshold=thresholds[3])
    pd.testing.assert_frame_equal(middle[fixed.columns], fixed)
