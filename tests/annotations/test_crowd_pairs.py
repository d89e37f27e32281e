import numpy as np
import pandas as pd
import pytest
import torch

import facerender
from facerender import INDEX, PARAMETERS
from facerender.parameters import IDENTITY_LIMIT
from helpers.annotations.crowd import LASTING, VISIBILITY, annotate_pairs, identity_distance
from helpers.utils import seeding

IDENTITY = [parameter.name for parameter in PARAMETERS if parameter.group == "identity"]


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
