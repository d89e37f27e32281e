"""Interventions: exactly what is asked for changes, and effects are what a known rule implies."""

import numpy as np
import pandas as pd
import pytest
import torch

from facerender.parameters import INDEX, defaults
from helpers.scorecard import truth
from helpers.world import counterfactuals, do
from helpers.world.populations import sample

DOSES = {"skin_colour": (0.2, 0.8), "hair_length": (0.1, 0.7), "gender": (0.2, 0.8)}


@pytest.fixture(scope="module")
def base():
    return sample("ppb-like", 24, seed=4).parameters


@pytest.fixture
def bright_store(monkeypatch):
    """Images whose three channels are the three manipulated parameters, instead of faces."""

    def store(parameters, size, path, **_):
        values = parameters[:, [INDEX[name] for name in DOSES]]
        pixels = (values * 255).round().byte().numpy()
        return np.broadcast_to(pixels[:, :, None, None], (*pixels.shape, size, size))

    monkeypatch.setattr(truth, "render_to_store", store)


def says_male_when_short(images):
    return (images[:, 1, 0, 0] < 0.4 * 255).astype(float)


def test_do_sets_what_it_says_and_nothing_else(base):
    ages = torch.linspace(0.3, 0.9, len(base))
    changed = do(base, hair_length=0.5, age=ages)
    assert (changed[:, INDEX["hair_length"]] == 0.5).all()
    torch.testing.assert_close(changed[:, INDEX["age"]], ages)
    others = [c for name, c in INDEX.items() if name not in ("hair_length", "age")]
    assert torch.equal(changed[:, others], base[:, others])
    assert not torch.equal(changed, base)


def test_do_refuses_unknown_names(base):
    with pytest.raises(ValueError, match="no such face parameters: \\['hair'\\]"):
        do(base, hair=0.1)


def test_counterfactuals_cross_all_doses(base):
    faces = counterfactuals(base, DOSES)
    assert faces.shape == (24, 2, 2, 2, base.shape[1])
    dark_short_female = faces[3, 1, 0, 0]
    expected = do(base[3:4], skin_colour=0.8, hair_length=0.1, gender=0.2)[0]
    assert torch.equal(dark_short_female, expected)


def test_effects_of_a_known_rule(base, bright_store, tmp_path):
    errors = truth.errors_under_do(says_male_when_short, base, DOSES, size=4, path=tmp_path / "x")
    assert errors.shape == (24, 2, 2, 2)
    # Short-haired women and long-haired men are misread, whatever their skin colour.
    assert errors.mean(axis=(0, 1)).tolist() == [[1, 0], [0, 1]]
    effects = truth.effects(errors, list(DOSES))
    averaged = effects[effects[list(DOSES)].isna().all(axis=1)].set_index("attribute")["effect"]
    # Long hair helps women as much as it hurts men: the main effect cancels.
    assert averaged.to_dict() == {"skin_colour": 0, "hair_length": 0, "gender": 0}
    by_gender = effects[
        (effects["attribute"] == "hair_length")
        & effects["gender"].notna()
        & effects["skin_colour"].isna()
    ]
    assert by_gender.set_index("gender")["effect"].to_dict() == {0: -1, 1: 1}


def test_effects_average_over_cells_and_standard_errors_cluster_by_face():
    errors = np.random.default_rng(0).integers(0, 2, (200, 2, 2)).astype(float)
    errors[:, 1] = errors[:, :1].max(2)  # strong dependence within a face
    frame = truth.effects(errors, ["a", "b"])
    assert list(frame.columns) == ["attribute", "a", "b", "n", "effect", "se"]
    assert len(frame) == 6
    row = frame.iloc[0]
    assert row["attribute"] == "a" and pd.isna(row["b"])
    per_face = (errors[:, 1] - errors[:, 0]).mean(1)
    assert row["effect"] == pytest.approx(per_face.mean())
    assert row["se"] == pytest.approx(per_face.std(ddof=1) / np.sqrt(200))
    held = frame.query("attribute == 'a' and b == 1").iloc[0]
    assert held["effect"] == pytest.approx((errors[:, 1, 1] - errors[:, 0, 1]).mean())


def test_without_a_gender_axis_the_own_gender_is_the_right_answer(base, bright_store, tmp_path):
    doses = {"skin_colour": (0.2, 0.8)}
    errors = truth.errors_under_do(
        lambda images: np.ones(len(images)), base, doses, size=4, path=tmp_path / "x"
    )
    own = (base[:, INDEX["gender"]] > 0.5).numpy()
    np.testing.assert_array_equal(errors, np.repeat(~own[:, None], 2, axis=1))


def test_real_renders_are_cached_and_reach_the_classifier(tmp_path):
    seen = []

    def score(images):
        seen.append(np.array(images))
        return np.zeros(len(images))

    doses = {"skin_colour": (0.1, 0.9)}
    for _ in range(2):
        truth.errors_under_do(score, defaults(2), doses, size=16, path=tmp_path / "x")
    assert seen[0].dtype == np.uint8 and seen[0].shape == (4, 3, 16, 16)
    np.testing.assert_array_equal(*seen)
    light, dark = seen[0].reshape(2, 2, -1).mean(2).T
    assert (light > dark).all()


def test_wrong_axes_are_named():
    with pytest.raises(ValueError, match="shape \\(n, 2, 2\\)"):
        truth.effects(np.zeros((5, 2)), ["a", "b"])
