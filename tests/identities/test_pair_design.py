"""Pairs of images against the arithmetic of the paper."""

import numpy as np
import pandas as pd
import pytest

from helpers import identities


def prototype_frame(seeds):
    return pd.DataFrame(
        {
            "seed": np.repeat(np.arange(seeds) + 100, 6),
            "group": np.tile(identities.GROUPS, seeds),
        }
    )


@pytest.mark.parametrize("seeds", [8, 40])
def test_default_pairs_are_unique_and_as_many_as_stated(seeds):
    prototypes = prototype_frame(seeds)
    frame = identities.pairs(prototypes, seed=1)
    n = len(prototypes)
    assert frame["kind"].value_counts().to_dict() == {"positive": 16 * n, "negative": 51 * n}
    unordered = np.sort(frame[["first", "second"]], axis=1)
    assert len(np.unique(unordered, axis=0)) == len(frame)
    assert (frame["first"] != frame["second"]).all()


@pytest.mark.parametrize("seeds", [8, 100])
def test_paper_pairs_have_the_papers_counts(seeds):
    prototypes = prototype_frame(seeds)
    frame = identities.pairs(prototypes, paper=True, seed=1)
    positive, negative = (frame[frame["kind"] == kind] for kind in ("positive", "negative"))
    assert (len(positive), len(negative)) == (120 * seeds, 360 * seeds)  # 12,000 and 36,000 of 100
    trivial = positive[positive["first"] == positive["second"]]
    assert len(trivial) == len(positive) / 5
    assert set(trivial["attribute"].value_counts()) == {len(prototypes)}
    times = negative.groupby(["first", "second"]).size()
    assert set(times[times.index.get_level_values("second") % 17 == 0]) == {4}
    assert set(times[times.index.get_level_values("second") % 17 != 0]) == {1}
    assert len(positive.drop_duplicates(["first", "second"])) == 17 * len(prototypes)


@pytest.mark.parametrize("paper", [False, True])
def test_pairs_agree_with_the_images_they_point_to(paper):
    prototypes = prototype_frame(8).sample(frac=1, random_state=0, ignore_index=True)
    index = identities.image_index(prototypes)
    frame = identities.pairs(prototypes, paper=paper, seed=1)
    first, second = index.iloc[frame["first"]], index.iloc[frame["second"]]
    assert (first["attribute"] == "prototype").all()
    assert (frame["group"].to_numpy() == first["group"].to_numpy()).all()
    assert (frame["group"].to_numpy() == second["group"].to_numpy()).all()
    assert (frame["step"].to_numpy() == second["step"].to_numpy()).all()
    varied = second["attribute"].to_numpy() != "prototype"
    assert (frame["attribute"].to_numpy() == second["attribute"].to_numpy())[varied].all()
    for side, rows in (("first", first), ("second", second)):
        assert (frame[f"seed_{side}"].to_numpy() == rows["seed"].to_numpy()).all()
        assert (frame[f"prototype_{side}"].to_numpy() == rows["prototype"].to_numpy()).all()
    same = frame["prototype_first"] == frame["prototype_second"]
    assert (same == (frame["kind"] == "positive")).all()


def test_all_groups_compare_the_same_seeds_and_use_each_equally():
    frame = identities.pairs(prototype_frame(9), seed=4)
    negative = frame[frame["kind"] == "negative"]
    used = [
        set(zip(part["seed_first"], part["seed_second"], strict=True))
        for _, part in negative.groupby("group")
    ]
    assert all(pairs == used[0] for pairs in used) and len(used[0]) == 27
    assert set(negative.groupby("prototype_second").size()) == {51}
    other = identities.pairs(prototype_frame(9), seed=5)
    assert not other.equals(frame) and identities.pairs(prototype_frame(9), seed=4).equals(frame)


def test_pairs_need_prototypes_that_differ():
    with pytest.raises(ValueError, match="has 6 prototypes; .* at least 7"):
        identities.pairs(prototype_frame(6), seed=1)
    assert len(identities.pairs(prototype_frame(6), 2, seed=1)) == 36 * (16 + 34)
    twice = pd.concat([prototype_frame(8), prototype_frame(1)])
    with pytest.raises(ValueError, match="seed 100 has two prototypes of group 'african female'"):
        identities.pairs(twice, seed=1)
    with pytest.raises(ValueError, match="no column .*group"):
        identities.pairs(prototype_frame(8)[["seed"]], seed=1)


def test_the_order_of_the_ring_has_a_default():
    prototypes = prototype_frame(8)
    pd.testing.assert_frame_equal(
        identities.pairs(prototypes), identities.pairs(prototypes, seed=0)
    )
    assert not identities.pairs(prototypes).equals(identities.pairs(prototypes, seed=1))


@pytest.mark.parametrize("column", ["seed", "group"])
def test_prototypes_without_a_group_or_seed_are_named(column):
    prototypes = prototype_frame(8).astype(object)
    prototypes.loc[5, column] = None
    for pairs in (identities.pairs, identities.cross_pairs):
        with pytest.raises(ValueError, match=f"column '{column}', row 5 is .*, the {column} of a"):
            pairs(prototypes, seed=1)
        with pytest.raises(ValueError, match="no prototypes"):
            pairs(prototypes.iloc[:0], seed=1)


def test_cross_pairs_differ_in_seed_and_group_and_visit_all_groups():
    prototypes = prototype_frame(10)
    frame = identities.cross_pairs(prototypes, 3, seed=2)
    assert len(frame) == len(prototypes) * 3 * 17
    assert (frame["seed_first"] != frame["seed_second"]).all()
    assert (frame["group"] != frame["group_second"]).all()
    assert frame.groupby(["group", "group_second"]).ngroups == 30
    assert not frame.duplicated(["first", "second"]).any()
    index = identities.image_index(prototypes)
    assert (index["group"].to_numpy()[frame["second"]] == frame["group_second"]).all()
    alone = prototypes[prototypes["group"] == "european male"]
    with pytest.raises(ValueError, match="at least two groups"):
        identities.cross_pairs(alone, seed=2)
