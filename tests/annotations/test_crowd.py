import numpy as np
import pandas as pd
import pytest
from simulated import perceived_scores

import facerender
from helpers.annotations import ATTRIBUTES, crowd
from helpers.generators import load_generator


@pytest.fixture
def perceived() -> pd.DataFrame:
    return perceived_scores()


def annotate(perceived, n_raters=5, **kwargs):
    return crowd.annotate(perceived, n_raters, seed=1, stage="test", **kwargs)


def test_answers_do_not_depend_on_the_other_images(perceived):
    everything = annotate(perceived)
    some = perceived.sample(frac=0.3, random_state=0)
    alone = annotate(some)
    order = ["image_id", "rater", "visit"]
    expected = everything[everything["image_id"].isin(some.index)].sort_values(order)
    pd.testing.assert_frame_equal(
        alone.sort_values(order).reset_index(drop=True), expected.reset_index(drop=True)
    )


def test_answers_do_not_depend_on_how_many_images_are_drawn_together(perceived, monkeypatch):
    together = annotate(perceived, spread=np.linspace(0.5, 2, len(perceived)))
    monkeypatch.setattr(crowd, "_IMAGES", 7)
    apart = annotate(perceived, spread=np.linspace(0.5, 2, len(perceived)))
    pd.testing.assert_frame_equal(apart, together)


def test_the_pool_has_exactly_the_calibrated_disagreement():
    for n_raters in (5, 60):
        pool = crowd.rater_pool(3, n_raters)
        variance = (pool.bias**2 + pool.noise**2).mean(axis=0)
        noise = [crowd.DISAGREEMENT[attribute].noise for attribute in ATTRIBUTES]
        np.testing.assert_allclose(np.sqrt(variance), noise)
        np.testing.assert_allclose(pool.bias.mean(axis=0), 0, atol=1e-12)
        assert len(set(pool.worker_ids)) == n_raters


def test_careless_raters_give_the_calibrated_share_of_random_answers():
    pool = crowd.rater_pool(0)
    careless = pool.random > 0
    assert careless.sum() == 4
    accepted = 1 - pool.rejected
    share = (pool.random * accepted).sum() / accepted.sum()
    assert share == pytest.approx(crowd.RANDOM_ANSWERS, abs=0.002)
    assert pool.seconds[careless].mean() < pool.seconds[~careless].mean()


BEARDED = 0.4  # score from which annotated images count as bearded, see `crowd.CUES`


@pytest.fixture(scope="module")
def visible() -> pd.DataFrame:
    generator = load_generator("known-truth")
    return facerender.visible_scores(generator.parameters(generator.sample(4000, 1)))


def bearded_women(scores: pd.DataFrame) -> float:
    return (scores.loc[scores["gender"] < 0.5, "facial_hair"] >= BEARDED).mean()


def test_hardly_anybody_who_is_perceived_as_female_has_a_beard(visible):
    assert bearded_women(visible) > 0.03
    assert bearded_women(crowd.perceived(visible)) < 0.01


def test_the_scores_are_those_of_a_loop_over_faces(visible):
    some = visible.head(50)
    seen = crowd.perceived(some, strength=2.0)["gender"]
    for face, gender in zip(some.to_dict("records"), seen, strict=True):
        for name, cue in crowd.CUES.items():
            face["gender"] += 2 * cue.strength * (face[name] - cue.neutral)
        assert gender == pytest.approx(min(max(face["gender"], 0), 1))
