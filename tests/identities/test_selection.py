"""Seeds by brute force, and what a crowd says of their prototypes."""

import numpy as np
import pandas as pd
import pytest
import torch

from facerender.parameters import INDEX
from helpers import identities


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
        assert identities.max_min_selection(landmarks, n).tolist() == brute_force(landmarks, n)


def test_max_min_selection_takes_duplicates_last():
    landmarks = np.random.default_rng(0).normal(size=(6, 2, 5, 2))
    landmarks[3] = landmarks[0]
    chosen = identities.max_min_selection(landmarks, 6)
    assert chosen[-1] == 3 and sorted(chosen) == list(range(6))


def test_max_min_selection_rejects_what_it_cannot_use():
    landmarks = np.zeros((3, 2, 4, 2))
    with pytest.raises(ValueError, match="from 1 to the 3 seeds"):
        identities.max_min_selection(landmarks, 4)
    with pytest.raises(ValueError, match=r"not \(3, 2, 4\)"):
        identities.max_min_selection(landmarks[..., 0], 2)
    landmarks[2, 1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="seed 2: not all are finite"):
        identities.max_min_selection(landmarks, 2)


def accepted(judged):
    """As chapter 16 accepts: not too fake, and perceived as intended."""
    return (judged["fakeness"] < 0.8) & (judged["perceived"] == judged["group"])


def test_the_crowd_sees_fakes_and_wrong_groups(generator, prototypes):
    latents, index = prototypes
    parameters = generator.parameters(torch.from_numpy(latents))
    parameters[:, INDEX["artefacts"]] = 0
    judged = identities.judge(parameters, index, 9, seed=1, stage="test")
    assert accepted(judged).mean() > 0.9
    again = identities.judge(parameters[6:], index.iloc[6:], 9, seed=1, stage="test")
    pd.testing.assert_frame_equal(again, judged.iloc[6:])
    parameters[3, INDEX["artefacts"]] = 1  # a fake of the first seed
    parameters[10, INDEX["ancestry_x"]] *= -1  # and a prototype of the second in the wrong place
    parameters[10, INDEX["ancestry_y"]] = -0.6
    spoiled = identities.judge(parameters, index, 9, seed=1, stage="test")
    assert spoiled["fakeness"][3] >= 0.8 and spoiled["perceived"][10] != spoiled["group"][10]
    others = judged.index.difference([3, 10])
    pd.testing.assert_frame_equal(spoiled.loc[others], judged.loc[others])
    with pytest.raises(ValueError, match="5 rows of parameters for 48"):
        identities.judge(parameters[:5], index, 9, seed=1, stage="test")
