"""What the study renders, trains and reads, at toy size."""

import pandas as pd

import facerender
from facerender.parameters import defaults
from helpers import identities
from helpers.verification import study


def test_people_are_rendered_as_composed_and_train_four_recognisers(tmp_path):
    n, settings = 12, {"images_each": 2, "size": 32, "device": "cpu"}
    wanted = identities.pool_composition(n)
    pool = study.render_people(wanted, path=tmp_path / "pool.npy", seed=1, **settings)
    fresh = study.render_people(
        dict.fromkeys(identities.GROUPS, 1), path=tmp_path / "fresh.npy", seed=2, **settings
    )
    assert pool.images.shape == (2 * sum(wanted.values()), 3, 32, 32)
    assert pd.Series(pool.group).value_counts().to_dict() == {g: 2 * k for g, k in wanted.items()}
    found = study.train(pool, fresh, n, 1, tmp_path.joinpath, seed=1, device="cpu")
    assert list(found) == list(identities.RECOGNISERS)
    for name, recogniser in found.items():
        assert recogniser.training.identities == n
        assert recogniser.training.loss == identities.RECOGNISERS[name].loss
        assert {(tmp_path / f"{name}{end}").is_file() for end in (".safetensors", ".json")} == {
            True
        }


def test_ratings_come_back_from_an_export_in_the_order_of_the_pairs(tmp_path):
    parameters = defaults(6)
    parameters[3:, facerender.INDEX["face_width"]] = 2.0
    parameters[3:, facerender.INDEX["hair_volume"]] = -2.0
    pairs = pd.DataFrame(
        {"first": [0, 0, 1], "second": [1, 3, 2], "kind": ["positive", "negative", "positive"]},
        index=["a", "b", "c"],
    )
    read = study.rate_pairs(parameters, pairs, tmp_path / "pairs.json", 9, seed=1, stage="test")
    assert read.ratings.shape == (3, 9) and list(read.ratings.index) == ["a", "b", "c"]
    means = read.ratings.mean(axis=1)
    assert means["b"] > max(means["a"], means["c"])
