import numpy as np
import pandas as pd
import pytest
import torch
from simulated import perceived_scores

import facerender
from faceaudit.annotations import ATTRIBUTES
from faceaudit.utils import seeding
from facerender import INDEX, PARAMETERS
from facerender.parameters import IDENTITY_LIMIT
from faceworld import crowd, load_generator
from faceworld.pair_crowd import LASTING, VISIBILITY, annotate_pairs, identity_distance

IDENTITY = [parameter.name for parameter in PARAMETERS if parameter.group == "identity"]


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


def people(n: int, seed: int = 1) -> torch.Tensor:
    """Average looks, identities distributed as the generator's."""
    parameters = facerender.defaults(n)
    normal = seeding.normals(seed, "people", range(n), len(IDENTITY))
    identity = IDENTITY_LIMIT * np.tanh(normal / IDENTITY_LIMIT)
    parameters[:, [INDEX[name] for name in IDENTITY]] = torch.from_numpy(identity).float()
    return parameters


def changed(parameters: torch.Tensor, **values: float) -> torch.Tensor:
    parameters = parameters.clone()
    for name, value in values.items():
        parameters[:, INDEX[name]] = value
    return parameters


def design(n: int = 1200) -> pd.DataFrame:
    """Pairs as in the paper: a quarter positive, half of a sequence's steps in pose 30 degrees."""
    row = np.arange(n)
    distance = identity_distance(people(n), people(n, seed=2))
    return pd.DataFrame(
        {
            "distance": np.where(row % 4 == 0, 0.0, distance),
            "pose": np.select([row % 16 < 2, row % 16 < 4], [30.0, 15.0], 0.0),
            "positive": row % 4 == 0,
        },
        index=[f"pair {number}" for number in row],
    )


def rate(pairs: pd.DataFrame, n_raters: int = 9, stage: str = "test") -> np.ndarray:
    """Accepted ratings (n, n_raters)."""
    answers = annotate_pairs(pairs["distance"], pairs["pose"], n_raters, seed=1, stage=stage)
    good = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    assert (good.groupby("pair_id").size() == n_raters).all()
    assert good["pair_id"].drop_duplicates().tolist() == pairs.index.tolist()
    return good["identity"].to_numpy().reshape(len(pairs), n_raters)


def consensus(ratings: np.ndarray) -> np.ndarray:
    return np.sort(ratings, axis=1)[:, 2:-2].mean(axis=1) / 4


def test_distance_of_one_parameter_against_the_formula():
    a = changed(facerender.defaults(3), chin=0.5)
    b = changed(a, chin=torch.tensor([0.5, 1.5, -1.0]))
    expected = np.sqrt(VISIBILITY["chin"] / (2 * sum(VISIBILITY.values()))) * np.array([0, 1, 1.5])
    np.testing.assert_allclose(identity_distance(a, b), expected, rtol=1e-6)
    change, spread = LASTING["gender"]
    pair = changed(facerender.defaults(1), gender=0.2), changed(facerender.defaults(1), gender=0.8)
    squared = change * spread * (0.6 / spread) ** 2 / (2 * sum(VISIBILITY.values()))
    np.testing.assert_allclose(identity_distance(*pair) ** 2, squared, rtol=1e-6)


def test_unrelated_people_are_at_the_documented_distance():
    distance = identity_distance(people(4000), people(4000, seed=2))
    assert np.median(distance) == pytest.approx(0.82, abs=0.02)
    np.testing.assert_allclose(distance, identity_distance(people(4000, seed=2), people(4000)))


def test_median_spread_of_a_pair_is_the_papers():
    spread = rate(design()).std(axis=1, ddof=1) / 4
    assert np.median(spread) == pytest.approx(0.3, abs=0.02)


def test_most_raters_agree_with_the_intention_but_not_all():
    pairs = design()
    score = consensus(rate(pairs))
    positive = pairs["positive"].to_numpy()
    assert 0.9 < (score[positive] <= 0.3).mean() < 1
    assert 0.9 < (score[~positive] > 0.3).mean() < 1
    assert score[positive].mean() < 0.2 < 0.6 < score[~positive].mean()
