"""The known-truth generator: its geometry is exact, and its entanglement is as planted."""

import numpy as np
import pytest
import torch

from faceaudit.generators.image_cache import synthesize_to_store
from facerender.parameters import INDEX, NAMES
from faceworld import known_truth, load_generator

AUDITED = ("gender", "skin_colour", "hair_length", "age", "facial_hair", "makeup", "smiling")


@pytest.fixture(scope="module")
def generator():
    return load_generator("known-truth", size=16)


@pytest.fixture(scope="module")
def codes(generator):
    return generator.sample(3000, seed=2)


def test_codes_are_standardised_and_keyed(generator, codes):
    np.testing.assert_allclose(known_truth._CALIBRATION, known_truth.calibration(), rtol=1e-12)
    assert codes.shape == (3000, 512) and codes.dtype == torch.float32
    assert codes.mean().abs() < 0.01 and codes.std().item() == pytest.approx(1, abs=0.02)
    torch.testing.assert_close(generator.sample(5, seed=2), codes[:5])
    assert not torch.equal(generator.sample(5, seed=3), codes[:5])


def test_a_set_of_images_is_what_the_generator_draws(generator, codes, tmp_path):
    straight = generator.synthesize(codes[:2], yaw=0.0).mul(255).round().to(torch.uint8).numpy()
    images = synthesize_to_store(generator, codes[:2], tmp_path / "made.npy", yaw=0.0)
    np.testing.assert_array_equal(images, straight)


def test_latent_coordinates_have_the_planted_correlations(generator, codes):
    found = np.corrcoef(generator.coordinates(codes, known_truth.LATENTS).T)
    np.testing.assert_allclose(found, known_truth.correlations(), atol=0.09)


def test_planted_correlations_are_possible():
    matrix = known_truth.correlations()
    assert np.linalg.eigvalsh(matrix).min() > 0.1
    pairs = {frozenset(row[:2]) for row in known_truth.CORRELATIONS}
    assert len(pairs) == len(known_truth.CORRELATIONS)


def test_exact_directions_move_one_coordinate_only(generator):
    directions = torch.from_numpy(generator.exact_directions(AUDITED))
    moved = generator.coordinates(directions, known_truth.LATENTS)
    expected = np.eye(len(NAMES))[[INDEX[name] for name in AUDITED]]
    np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_a_step_along_an_exact_direction_changes_one_parameter(generator, codes):
    direction = torch.from_numpy(generator.exact_directions(["skin_colour"])[0])
    w = codes[:20].double()
    before, after = (generator.parameters(w + step * direction) for step in (0.0, 0.8))
    changed = (after - before).abs().max(0).values
    # The distance term of the artefacts sees the length of w; nothing else may move.
    moved = {name for name in NAMES if changed[INDEX[name]] > 1e-5}
    assert moved - {"artefacts"} == {"skin_colour"}


@pytest.mark.parametrize("name", AUDITED)
def test_hyperplanes_agree_with_the_inverse_link(generator, codes, name):
    normals, intercepts = generator.exact_hyperplanes([name])
    w = codes[:30].numpy().astype(np.float64)
    decision = w @ normals[0] + intercepts[0]
    link = known_truth.LINKS[name]
    value = link.value(generator.coordinates(codes[:30], [name])[:, 0])
    np.testing.assert_allclose(generator.decision_value(name, value), decision, atol=1e-6)
    np.testing.assert_allclose(generator.decision_value(name, 0.5), 0, atol=1e-12)


def test_exact_doses_are_reached(generator, codes):
    names, doses = ("skin_colour", "hair_length"), np.array([0.8, 0.25])
    target = np.array(
        [generator.latent_coordinate(*pair) for pair in zip(names, doses, strict=True)]
    )
    steps = (target - generator.coordinates(codes, names)) @ generator.exact_directions(names)
    reached = generator.parameters(codes + torch.from_numpy(steps))
    for name, dose in zip(names, doses, strict=True):
        np.testing.assert_allclose(reached[:, INDEX[name]], dose, atol=1e-5)


def test_bad_input_is_named(generator, codes):
    with pytest.raises(ValueError, match="no scene parameters: \\['age'\\]"):
        generator.synthesize(codes[:1], age=0.5)
    with pytest.raises(ValueError, match="no latent coordinate 'beard'"):
        generator.exact_hyperplanes(["beard"])
    with pytest.raises(ValueError, match="gender never takes the value 1.5"):
        generator.latent_coordinate("gender", 1.5)
    with pytest.raises(ValueError, match="'hair_style' has no smooth link"):
        generator.latent_coordinate("hair_style", 1)
