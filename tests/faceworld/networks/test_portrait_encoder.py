"""The encoder: faces it learns from, codes that give back what is read, and training."""

import numpy as np
import pytest
import torch

import facerender
from facerender.parameters import HAIR_STYLES, INDEX
from faceworld import load_generator
from faceworld.known_truth import LATENTS
from faceworld.networks import portrait_encoder
from faceworld.networks.portrait_encoder import (
    DRAWN_STYLES,
    READ_LATENTS,
    SPREAD,
    PortraitEncoder,
    codes_of,
    draw_coordinates,
    style_coordinates,
    targets_of,
    train_encoder,
)
from faceworld.rendering import render_to_store

SIZE = 16


@pytest.fixture(scope="module")
def world():
    return load_generator("known-truth", size=SIZE)


@pytest.fixture(scope="module")
def drawn():
    return draw_coordinates(4000, seed=5)


def test_coordinates_are_wide_and_independent(drawn):
    plain = [INDEX[n] for n in READ_LATENTS if n not in ("artefacts", "earrings", "glasses")]
    np.testing.assert_allclose(drawn[:, plain].std(0), SPREAD, rtol=0.06)
    correlation = np.corrcoef(drawn.T) - np.eye(len(LATENTS))
    assert np.abs(correlation).max() < 0.08  # five standard errors
    styles = np.abs(drawn[:, [INDEX["hair_style"]]] - style_coordinates()).argmin(1)
    shares = np.bincount(styles, minlength=len(HAIR_STYLES)) / 4000
    np.testing.assert_allclose(shares, [DRAWN_STYLES[s] for s in HAIR_STYLES], atol=0.03)
    assert sum(DRAWN_STYLES.values()) == pytest.approx(1)


def test_codes_have_the_coordinates_and_faces_the_styles(world, drawn):
    codes = codes_of(world, drawn[:50])
    assert codes.shape == (50, 512)
    np.testing.assert_allclose(
        world.coordinates(torch.from_numpy(codes), LATENTS), drawn[:50], atol=1e-9
    )
    faces = facerender.to_frame(world.parameters(torch.from_numpy(codes)))
    np.testing.assert_array_equal(faces["hair_style"], targets_of(drawn[:50])[:, -1])
    every = np.zeros((len(HAIR_STYLES), len(LATENTS)))
    every[:, INDEX["hair_style"]] = style_coordinates()
    faces = facerender.to_frame(world.parameters(torch.from_numpy(codes_of(world, every))))
    assert faces["hair_style"].tolist() == list(range(len(HAIR_STYLES)))


def test_half_of_the_faces_wear_an_item(world, drawn):
    faces = facerender.to_frame(world.parameters(torch.from_numpy(codes_of(world, drawn))))
    for name in ("earrings", "glasses"):
        assert (faces[name] > 0.5).mean() == pytest.approx(0.5, abs=0.04)
        assert ((faces[name] > 0.25) & (faces[name] < 0.75)).mean() < 0.02


@pytest.fixture(scope="module")
def trained(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    drawn = draw_coordinates(320, seed=1)
    faces = world.parameters(torch.from_numpy(codes_of(world, drawn)))
    images = render_to_store(faces, SIZE, folder / "faces.npy")
    data = images[:256], targets_of(drawn[:256])
    held_out = images[256:], targets_of(drawn[256:])
    made = train_encoder(*data, folder / "x.safetensors", seed=3, epochs=3, held_out=held_out)
    return made, images, drawn, folder / "x.safetensors"


def test_training_learns_to_read(trained, world):
    made, images, drawn, _ = trained
    assert made.curve["epoch"].tolist() == [1, 2, 3]
    assert made.curve["loss"].iloc[-1] < made.curve["loss"].iloc[0]
    codes = made.encode(world, images[256:])
    assert codes.shape == (64, 512) and codes.dtype == np.float64
    skin = world.coordinates(torch.from_numpy(codes), ["skin_colour"])[:, 0]
    known = drawn[256:, INDEX["skin_colour"]]
    assert np.corrcoef(skin, known)[0, 1] > 0.4


def test_the_network_is_the_one_that_is_read_in_half_precision(trained):
    made, images, _, path = trained
    read = PortraitEncoder.read(path)
    assert torch.equal(made.outputs(images[:8]), read.outputs(images[:8]))
    for name, weight in made.network.state_dict().items():
        assert weight.dtype in (torch.float32, torch.int64)
        assert torch.equal(weight, weight.half().to(weight.dtype)), name


def test_a_batch_changes_no_code(trained, world):
    made, images, _, _ = trained
    few, many = (made.encode(world, images[:n]) for n in (3, 320))
    np.testing.assert_allclose(few, many[:3], atol=1e-12)


def test_images_are_learned_as_they_are():
    task = portrait_encoder.EncodingTask(8, 1e-3, 0.0, portrait_encoder.one_cycle)
    moved, mirrored = task.variation(np.arange(5), 64, np.random.default_rng(0), (0, "x"))
    assert not moved.any() and not mirrored.any() and moved.shape == (2, 5, 1)
