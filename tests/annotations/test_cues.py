"""What raters take perceived gender from beside the shape of a face."""

import numpy as np
import pandas as pd
import pytest

import facerender
from helpers.annotations import cues
from helpers.generators import load_generator

BEARDED = 0.4  # score from which annotated images count as bearded, see `cues.CUES`


@pytest.fixture(scope="module")
def visible() -> pd.DataFrame:
    generator = load_generator("known-truth")
    return facerender.visible_scores(generator.parameters(generator.sample(4000, 1)))


def bearded_women(scores: pd.DataFrame) -> float:
    return (scores.loc[scores["gender"] < 0.5, "facial_hair"] >= BEARDED).mean()


def test_hardly_anybody_who_is_perceived_as_female_has_a_beard(visible):
    assert bearded_women(visible) > 0.03
    assert bearded_women(cues.perceived(visible)) < 0.01


def test_the_scores_are_those_of_a_loop_over_faces(visible):
    some = visible.head(50)
    seen = cues.perceived(some, strength=2.0)["gender"]
    for face, gender in zip(some.to_dict("records"), seen, strict=True):
        for name, cue in cues.CUES.items():
            face["gender"] += 2 * cue.strength * (face[name] - cue.neutral)
        assert gender == pytest.approx(min(max(face["gender"], 0), 1))


def test_without_cues_nothing_changes_and_gender_alone_ever_does(visible):
    pd.testing.assert_frame_equal(cues.perceived(visible, strength=0.0), visible.clip(0, 1))
    others = visible.columns.drop("gender")
    pd.testing.assert_frame_equal(cues.perceived(visible)[others], visible[others])
    assert not np.allclose(cues.perceived(visible)["gender"], visible["gender"])


def test_a_missing_cue_is_named(visible):
    with pytest.raises(ValueError, match="makeup"):
        cues.perceived(visible.drop(columns="makeup"))
