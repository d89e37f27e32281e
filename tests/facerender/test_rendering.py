"""Images, masks and landmarks: what must hold for every face, and what each parameter does."""

import numpy as np
import pytest
import torch

import facerender
from facerender.textures import textures

SIZE = 48


def faces_with(n: int, **values) -> torch.Tensor:
    parameters = facerender.defaults(n)
    for name, value in values.items():
        parameters[:, facerender.INDEX[name]] = torch.as_tensor(value, dtype=torch.float32)
    return parameters


def random_faces(n: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    low = torch.tensor([p.low for p in facerender.PARAMETERS])
    high = torch.tensor([p.high for p in facerender.PARAMETERS])
    middle = torch.tensor([p.default for p in facerender.PARAMETERS])
    drawn = low + (high - low) * torch.rand(n, len(low), generator=generator)
    drawn = 0.3 * middle + 0.7 * drawn
    for name in ("artefacts", "glasses", "earrings"):
        drawn[: n // 2, facerender.INDEX[name]] = 0
    drawn[:, facerender.INDEX["hair_style"]] = torch.arange(n) % len(facerender.HAIR_STYLES)
    return drawn


@pytest.fixture(scope="module")
def batch():
    parameters = random_faces(16)
    return parameters, facerender.render(parameters, SIZE)


def test_same_parameters_same_image(batch):
    parameters, rendering = batch
    state = torch.get_rng_state()
    assert torch.equal(facerender.render(parameters, SIZE).image, rendering.image)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_no_image_depends_on_its_batch_or_on_threads(batch, threads, monkeypatch):
    parameters, rendering = batch
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    for rows in ([0], [1, 2, 3], [15, 6], list(range(16))):
        alone = facerender.render(parameters[rows], SIZE)
        for part in ("image", "head_mask", "landmarks"):
            assert torch.equal(getattr(alone, part), getattr(rendering, part)[rows]), (rows, part)


def test_textures_are_the_same_whenever_they_are_made():
    for _ in range(5):
        again = textures.__wrapped__(1)
        assert all(map(np.array_equal, again, textures(1)))


def test_every_tensor_follows_the_parameters_device(batch):
    """With another default device, any tensor made without naming one would clash."""
    parameters, rendering = batch
    with torch.device("meta"):
        again = facerender.render(parameters, SIZE)
    assert torch.equal(again.image, rendering.image)


@pytest.mark.parametrize("parameter", facerender.PARAMETERS, ids=lambda p: p.name)
def test_each_parameter_changes_the_image(parameter):
    extremes = faces_with(2, hair_length=0.6)
    # Hues come back to where they started after a whole turn.
    high = 0.5 if parameter.unit == "turn" else parameter.high
    extremes[:, facerender.INDEX[parameter.name]] = torch.tensor([parameter.low, high])
    low, high = facerender.render(extremes, 32).image
    assert (low - high).abs().max() > 0.02


@pytest.mark.parametrize(
    ("parameters", "options", "words"),
    [
        (facerender.defaults(), {"size": 8}, "size is 8, expected a whole number of at least 16"),
        (facerender.defaults(), {"supersampling": 0.5}, "supersampling is 0.5, expected a whole"),
        (facerender.defaults()[:0], {}, "at least one row"),
        (torch.zeros(2, 3), {}, "expected shape"),
        (facerender.defaults().long(), {}, "floating-point tensor, got torch"),
        ([[0.0]], {}, "floating-point tensor, got list"),
        (faces_with(2, makeup=[0, 1.5]), {}, r"'makeup', row 1: .* is not in \[0, 1\] \(score\)"),
        (faces_with(1, age=float("nan")), {}, "'age', row 0: nan"),
    ],
)
def test_bad_arguments_are_refused(parameters, options, words):
    with pytest.raises(ValueError, match=words):
        facerender.render(parameters, **{"size": 32} | options)


def test_ancestry_leaves_skin_colour_alone():
    references = torch.tensor(list(facerender.ANCESTRY_REFERENCES.values()))
    parameters = faces_with(3, ancestry_x=references[:, 0], ancestry_y=references[:, 1])
    rendering = facerender.render(parameters, SIZE)
    row, column = int(SIZE * 0.28), SIZE // 2  # forehead
    forehead = rendering.image[:, :, row - 2 : row + 2, column - 3 : column + 3].mean((2, 3))
    assert (forehead - forehead[0]).abs().max() < 0.03
    assert (rendering.image[0] - rendering.image[1]).abs().max() > 0.1


def test_landmarks_alone_are_those_of_a_portrait(batch):
    parameters, rendered = batch
    found = facerender.landmarks_of(parameters, SIZE, batch=3)
    np.testing.assert_allclose(found, rendered.landmarks, atol=1e-3)
