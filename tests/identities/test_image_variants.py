"""Images of a prototype differ in what was varied, and in nothing else."""

import numpy as np
import pandas as pd
import pytest
import torch

import facerender
from facerender.parameters import INDEX
from helpers import identities
from helpers.identities.image_variants import LIGHTS, NEUTRAL, walk_to_score

TARGETS = {"expression": 0.9, "age": 0.8}


def test_variants_change_what_they_should_and_nothing_else(generator, prototypes):
    latents, index = prototypes
    directions = dict(zip(TARGETS, generator.exact_directions(["smiling", "age"]), strict=True))
    parameters, frame = identities.variants(generator, latents, index, directions, TARGETS)
    assert parameters.shape == (48 * 17, len(INDEX)) and len(frame) == len(parameters)
    pd.testing.assert_frame_equal(frame, identities.image_index(index))
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
    assert set(LIGHTS) == set(identities.STEPS["light"])


def test_two_steps_of_expression_and_age_reach_the_papers_scores(generator, prototypes):
    latents, index = prototypes
    directions = dict(zip(TARGETS, generator.exact_directions(["smiling", "age"]), strict=True))
    parameters, frame = identities.variants(generator, latents, index, directions, TARGETS)
    for attribute, name in (("expression", "smiling"), ("age", "age")):
        score = parameters[:, INDEX[name]].numpy()
        last = score[(frame["attribute"] == attribute) & (frame["step"] == "2")]
        np.testing.assert_allclose(last, TARGETS[attribute], atol=0.02)
        # Steps are equally long in latent space.
        codes = np.log(score / (1 - score)).reshape(48, 17)
        place = 9 if attribute == "expression" else 13
        walk = np.insert(codes[:, place : place + 4], 2, codes[:, 0], axis=1)
        np.testing.assert_allclose(np.diff(walk), np.diff(walk)[:, :1].repeat(4, 1), atol=1e-3)


def test_a_walk_names_the_face_that_does_not_arrive():
    codes, direction = np.zeros((3, 2)), np.array([1.0, 0.0])
    codes[1, 1] = 1  # flat there
    rises = lambda w: np.where(w[:, 1] > 0, 0.0, w[:, 0])  # noqa: E731
    distance = walk_to_score(codes[:1], direction, rises, 0.8)
    assert distance == pytest.approx(0.8, abs=0.05)
    with pytest.raises(ValueError, match="row 1 does not score 0.8"):
        walk_to_score(codes, direction, rises, 0.8)
    with pytest.raises(ValueError, match="row 0 scores 0.0 or more already"):
        walk_to_score(codes, direction, rises, 0.0)


def test_faces_at_a_target_have_no_step_left(generator):
    codes = generator.sample(200, 5).numpy()
    scores = facerender.visible_scores(generator.parameters(torch.from_numpy(codes)))
    expected = (scores["smiling"] < TARGETS["expression"]) & (scores["age"] < TARGETS["age"])
    found = identities.below_targets(generator, codes, TARGETS)
    assert 0 < found.sum() < 200 and (found == expected.to_numpy()).all()


def test_variants_name_what_is_missing(generator, prototypes):
    latents, index = prototypes
    with pytest.raises(ValueError, match="no direction of age; there are .'expression'."):
        identities.variants(generator, latents, index, {"expression": latents[0]}, TARGETS)
    with pytest.raises(ValueError, match="48 codes for 47 prototypes"):
        identities.variants(generator, latents, index[:-1], {}, {})
