"""Images, masks and landmarks: what must hold for every face, and what each parameter does."""

import numpy as np
import pytest
import torch

import facerender
from facerender.parameters import ANCESTRY_SHIFTS, ancestry_shift
from facerender.textures import textures
from faceworld import populations

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
        (faces_with(2, makeup=[0, 1.5]), {}, r"'makeup', row 1: .* is not in \[0, 1\] \(score\)"),
        (faces_with(1, age=float("nan")), {}, "'age', row 0: nan"),
    ],
)
def test_bad_arguments_are_refused(parameters, options, words):
    with pytest.raises(ValueError, match=words):
        facerender.render(parameters, **{"size": 32} | options)


def test_ancestry_shifts_hold_at_the_references_and_vanish_at_the_centre():
    for name, values in ANCESTRY_SHIFTS.items():
        assert sum(values) == pytest.approx(0, abs=1e-9)
        for (x, y), value in zip(facerender.ANCESTRY_REFERENCES.values(), values, strict=True):
            shift = ancestry_shift(torch.tensor([x]), torch.tensor([y]), name)
            assert shift.item() == pytest.approx(value, abs=2e-3)
        assert ancestry_shift(torch.zeros(1), torch.zeros(1), name).item() == 0
    assert ancestry_shift(torch.ones(1), torch.ones(1), "chin").item() == 0


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
    found = facerender.landmarks_of(parameters, SIZE)
    np.testing.assert_allclose(found, rendered.landmarks, atol=1e-3)


# --- as a reader sees them

AT = facerender.LANDMARK_NAMES.index


@pytest.mark.parametrize("ancestry", facerender.ANCESTRY_REFERENCES)
def test_neutral_faces_look_neutral(ancestry):
    """At rest the corners of the mouth lie level with its middle, and the brows too, in all."""
    drawn = populations.sample("fairface-like", 100, seed=5).parameters
    x, y = facerender.ANCESTRY_REFERENCES[ancestry]
    neutral = {"ancestry_x": x, "ancestry_y": y, "smiling": 0.5, "yaw": 0.0, "pitch": 0.0}
    for name, value in neutral.items():
        drawn[:, facerender.INDEX[name]] = value
    points = facerender.render(drawn, 64).landmarks
    width = points[:, AT("mouth_corner_right"), 0] - points[:, AT("mouth_corner_left"), 0]
    middle = 0.5 * (points[:, AT("upper_lip"), 1] + points[:, AT("lower_lip"), 1])
    droop = (points[:, AT("mouth_corner_right"), 1] - middle) / width
    assert droop.max() < 0.08
    slant = points[:, AT("brow_inner_right"), 1] - points[:, AT("brow_outer_right"), 1]
    assert (slant / width).max() < 0.06


def linear(colour):
    """Linear light (…, 3) of sRGB colours."""
    return torch.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return linear(colour) @ torch.tensor([0.2126, 0.7152, 0.0722])


def test_the_darkest_skin_is_not_black():
    """Where light falls on it, weak or strong, it is lighter than the ninth Monk tone (L* 21)."""
    sides, powers = torch.meshgrid(
        torch.tensor([-60.0, 0, 60]), torch.tensor([0.1, 1]), indexing="ij"
    )
    parameters = faces_with(6, skin_colour=1.0, light_azimuth=sides.flatten(), hair_length=0.0)
    parameters[:, facerender.INDEX["light_power"]] = powers.flatten()
    rendering = facerender.render(parameters, 64)
    for image, points in zip(rendering.image, rendering.landmarks, strict=True):
        left, right = (points[AT(f"cheekbone_{side}"), 0].int() for side in ("left", "right"))
        top, bottom = points[AT("forehead"), 1].int(), points[AT("chin"), 1].int() - 2
        light = luminance(image[:, top:bottom, left:right].flatten(1).T)
        assert 116 * light.quantile(0.75) ** (1 / 3) - 16 > 21


def skin_around(image, points):
    """Median colour (3,) of the face between forehead and chin."""
    left, right = (points[AT(f"cheekbone_{side}"), 0].int() for side in ("left", "right"))
    top, bottom = points[AT("forehead"), 1].int(), points[AT("chin"), 1].int() - 8
    return image[:, top:bottom, left:right].flatten(1).median(1).values


@pytest.mark.parametrize("gender", [0.1, 0.9])
@pytest.mark.parametrize("skin", [0.7, 1.0])
def test_lips_follow_dark_skin(skin, gender):
    """Bare lips are a redder tone of the skin, and no lipstick shines out of a dark face."""
    parameters = faces_with(2, skin_colour=skin, gender=gender, makeup=[0, 1])
    rendering = facerender.render(parameters, 256)
    for image, points in zip(rendering.image, rendering.landmarks, strict=True):
        x, low = points[AT("lower_lip")].round().long()
        y = (0.55 * low + 0.225 * (low + points[AT("upper_lip"), 1])).round().long()
        around, lips = (
            skin_around(image, points),
            image[:, y - 2 : y + 3, x - 2 : x + 3].mean((1, 2)),
        )
        red = linear(lips) / linear(around)
        assert red[0] > 1.05 * red[1]
        assert luminance(lips) + 0.05 < 1.2 * (luminance(around) + 0.05)
        assert lips.max() - lips.min() < 0.35


@pytest.mark.parametrize("power", [0.1, 1.0])
def test_whites_do_not_stare_out_of_dark_faces(power):
    rendering = facerender.render(faces_with(1, skin_colour=1.0, light_power=power), 256)
    image, points = rendering.image[0], rendering.landmarks[0]
    half = 0.5 * (points[AT("eye_outer_right"), 0] - points[AT("eye_inner_right"), 0]) / 0.95
    x, y = (points[AT("eye_centre_right")] + half * torch.tensor([0.62, 0])).round().long()
    white = luminance(image[:, y - 3 : y + 4, x - 2 : x + 3].flatten(1).T).max()
    assert 1.5 < (white + 0.05) / (luminance(skin_around(image, points)) + 0.05) < 4.2


@pytest.mark.parametrize("smiling", [0.5, 1.0])
def test_mouths_stay_in_place_on_turned_heads(smiling):
    """Their far half is shorter than the near one, but not half as long."""
    points = facerender.render(faces_with(1, yaw=25.0, smiling=smiling), 256).landmarks[0, :, 0]
    middle = 0.5 * (points[AT("upper_lip")] + points[AT("lower_lip")])
    near, far = middle - points[AT("mouth_corner_left")], points[AT("mouth_corner_right")] - middle
    assert 0.55 * near < far < near
