"""Prototypes lie where they were sent, and keep what makes the person."""

import numpy as np
import pandas as pd
import pytest
import torch

from facerender.parameters import INDEX, visible_scores
from helpers import verification
from helpers.verification.people import nearest_ancestry


def test_prototypes_lie_at_the_decision_values_asked_for(codes, planes, prototypes):
    latents, index = prototypes
    assert index["group"].tolist() == list(verification.GROUPS) * 8
    values = pd.DataFrame(planes.decision_values(latents), columns=planes.names)
    ancestry, male = verification.split_groups(index["group"])
    np.testing.assert_allclose(values["gender"], np.where(male, 0.8, -0.8), atol=1e-9)
    np.testing.assert_allclose(values[["age", "smiling"]], 0, atol=1e-9)
    own = planes.select(["skin_colour"]).decision_values(codes)[:, 0]
    np.testing.assert_allclose(values["skin_colour"], np.repeat(own, 6), atol=1e-9)
    for row, name in enumerate(ancestry):
        others = [other for other in verification.ANCESTRIES if other != name]
        assert values.loc[row, name] == pytest.approx(1.8)
        assert values.loc[row, others[0]] == pytest.approx(values.loc[row, others[1]])
        assert values.loc[row, others[0]] < 0


def test_svms_from_true_labels_point_along_the_exact_normals(generator):
    codes = generator.sample(1500, 3)
    parameters = generator.parameters(codes)
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]]
    fitted = verification.group_planes(
        codes, visible_scores(parameters)["gender"], nearest_ancestry(place)
    )
    assert fitted.names == ("gender", *verification.ANCESTRIES)
    np.testing.assert_allclose(np.linalg.norm(fitted.normals, axis=1), 1)
    cosines = (fitted.normals * verification.exact_planes(generator).normals).sum(1)
    assert (cosines > 0.7).all() and min(fitted.scores.values()) > 0.75


def brute_force(landmarks, n):
    chosen = [0]
    while len(chosen) < n:
        rest = [s for s in range(len(landmarks)) if s not in chosen]
        distance = [
            min(
                np.linalg.norm(landmarks[s, g] - landmarks[f, g])
                for f in chosen
                for g in range(landmarks.shape[1])
            )
            for s in rest
        ]
        chosen.append(rest[int(np.argmax(distance))])
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_max_min_selection_is_the_printed_algorithm(seed):
    landmarks = np.random.default_rng(seed).normal(size=(15, 3, 4, 2))
    for n in (1, 2, 8, 15):
        assert verification.max_min_selection(landmarks, n).tolist() == brute_force(landmarks, n)


def accepted(judged):
    """As chapter 16 accepts: not too fake, and perceived as intended."""
    return (judged["fakeness"] < 0.8) & (judged["perceived"] == judged["group"])


def test_the_crowd_sees_fakes_and_wrong_groups(generator, prototypes):
    latents, index = prototypes
    parameters = generator.parameters(torch.from_numpy(latents))
    parameters[:, INDEX["artefacts"]] = 0
    judged = verification.judge_prototypes(parameters, index, 9, seed=1, stage="test")
    assert accepted(judged).mean() > 0.9
    again = verification.judge_prototypes(parameters[6:], index.iloc[6:], 9, seed=1, stage="test")
    pd.testing.assert_frame_equal(again, judged.iloc[6:])
    parameters[3, INDEX["artefacts"]] = 1  # a fake of the first seed
    parameters[10, INDEX["ancestry_x"]] *= -1  # and a prototype of the second in the wrong place
    parameters[10, INDEX["ancestry_y"]] = -0.6
    spoiled = verification.judge_prototypes(parameters, index, 9, seed=1, stage="test")
    assert spoiled["fakeness"][3] >= 0.8 and spoiled["perceived"][10] != spoiled["group"][10]
    others = judged.index.difference([3, 10])
    pd.testing.assert_frame_equal(spoiled.loc[others], judged.loc[others])
