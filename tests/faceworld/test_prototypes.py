"""Prototypes lie where they were sent, and keep what makes the person."""

import numpy as np
import pandas as pd
import pytest

from faceworld import people
from faceworld.people import ANCESTRIES
from faceworld.prototypes import max_min_selection


def test_prototypes_lie_at_the_decision_values_asked_for(codes, planes, prototypes):
    latents, index = prototypes
    assert index["group"].tolist() == list(people.GROUPS) * 8
    values = pd.DataFrame(planes.decision_values(latents), columns=planes.names)
    ancestry, male = people.split_groups(index["group"])
    np.testing.assert_allclose(values["gender"], np.where(male, 0.8, -0.8), atol=1e-9)
    np.testing.assert_allclose(values[["age", "smiling"]], 0, atol=1e-9)
    own = planes.select(["skin_colour"]).decision_values(codes)[:, 0]
    np.testing.assert_allclose(values["skin_colour"], np.repeat(own, 6), atol=1e-9)
    for row, name in enumerate(ancestry):
        others = [other for other in ANCESTRIES if other != name]
        assert values.loc[row, name] == pytest.approx(1.8)
        assert values.loc[row, others[0]] == pytest.approx(values.loc[row, others[1]])
        assert values.loc[row, others[0]] < 0


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
        assert max_min_selection(landmarks, n).tolist() == brute_force(landmarks, n)
