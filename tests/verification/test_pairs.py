"""Pairs of images against the arithmetic of the paper."""

import numpy as np
import pandas as pd
import pytest

import facerender
from facerender.parameters import INDEX
from helpers import verification
from helpers.verification.pairs import LIGHTS, NEUTRAL

TARGETS = {"expression": 0.9, "age": 0.8}


def prototype_frame(seeds):
    return pd.DataFrame(
        {
            "seed": np.repeat(np.arange(seeds) + 100, 6),
            "group": np.tile(verification.GROUPS, seeds),
        }
    )


@pytest.mark.parametrize("seeds", [8, 100])
def test_paper_pairs_have_the_papers_counts(seeds):
    prototypes = prototype_frame(seeds)
    frame = verification.image_pairs(prototypes, paper=True, seed=1)
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
    index = verification.image_index(prototypes)
    frame = verification.image_pairs(prototypes, paper=paper, seed=1)
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
    frame = verification.image_pairs(prototype_frame(9), seed=4)
    negative = frame[frame["kind"] == "negative"]
    used = [
        set(zip(part["seed_first"], part["seed_second"], strict=True))
        for _, part in negative.groupby("group")
    ]
    assert all(pairs == used[0] for pairs in used) and len(used[0]) == 27
    assert set(negative.groupby("prototype_second").size()) == {51}
    other = verification.image_pairs(prototype_frame(9), seed=5)
    assert not other.equals(frame) and verification.image_pairs(prototype_frame(9), seed=4).equals(
        frame
    )


def test_cross_pairs_differ_in_seed_and_group_and_visit_all_groups():
    prototypes = prototype_frame(10)
    frame = verification.cross_pairs(prototypes, seed=2)
    assert len(frame) == len(prototypes) * 3 * 17
    assert (frame["seed_first"] != frame["seed_second"]).all()
    assert (frame["group"] != frame["group_second"]).all()
    assert frame.groupby(["group", "group_second"]).ngroups == 30
    assert not frame.duplicated(["first", "second"]).any()
    index = verification.image_index(prototypes)
    assert (index["group"].to_numpy()[frame["second"]] == frame["group_second"]).all()


def test_variants_change_what_they_should_and_nothing_else(generator, prototypes):
    latents, index = prototypes
    directions = dict(zip(TARGETS, generator.exact_directions(["smiling", "age"]), strict=True))
    parameters, frame = verification.variants(generator, latents, index, directions, TARGETS)
    assert parameters.shape == (48 * 17, len(INDEX)) and len(frame) == len(parameters)
    pd.testing.assert_frame_equal(frame, verification.image_index(index))
    values = facerender.to_frame(parameters)
    prototype = values[frame["attribute"] == "prototype"].set_axis(range(48))
    for name, value in NEUTRAL.items():
        np.testing.assert_allclose(prototype[name], value)
    touched = {
        "pose": ["yaw"],
        "light": ["light_azimuth", "light_elevation", "light_power"],
        "expression": ["smiling"],
        "age": ["age", "makeup", "facial_hair"],  # children wear neither
    }
    for attribute, columns in touched.items():
        part = values[frame["attribute"] == attribute]
        same = prototype.loc[np.repeat(np.arange(48), 4)].set_axis(part.index)
        moved = (part - same).abs().max()
        assert set(moved[moved > 1e-3].index) - {"artefacts"} <= set(columns)
        assert moved[columns[0]] > 0.1
    steps = {name: frame["attribute"] == name for name in touched}
    assert values[steps["pose"]]["yaw"].tolist() == [-30, -15, 15, 30] * 48
    for light, scene in LIGHTS.items():
        lit = values[steps["light"] & (frame["step"] == light)]
        assert len(lit) == 48 and np.allclose(lit[list(scene)], pd.Series(scene))
    assert set(LIGHTS) == set(verification.STEPS["light"])


def test_two_steps_of_expression_and_age_reach_the_papers_scores(generator, prototypes):
    latents, index = prototypes
    directions = dict(zip(TARGETS, generator.exact_directions(["smiling", "age"]), strict=True))
    parameters, frame = verification.variants(generator, latents, index, directions, TARGETS)
    for attribute, name in (("expression", "smiling"), ("age", "age")):
        score = parameters[:, INDEX[name]].numpy()
        last = score[(frame["attribute"] == attribute) & (frame["step"] == "2")]
        np.testing.assert_allclose(last, TARGETS[attribute], atol=0.02)
        # Steps are equally long in latent space.
        codes = np.log(score / (1 - score)).reshape(48, 17)
        place = 9 if attribute == "expression" else 13
        walk = np.insert(codes[:, place : place + 4], 2, codes[:, 0], axis=1)
        np.testing.assert_allclose(np.diff(walk), np.diff(walk)[:, :1].repeat(4, 1), atol=1e-3)
