"""Eyes, mouth and skin as a reader sees them, at the size of the book's portraits."""

import pytest
import torch

import facerender
from helpers.world import populations

SIZE = 256
AT = facerender.LANDMARK_NAMES.index


def faces_with(n: int, **values) -> torch.Tensor:
    parameters = facerender.defaults(n)
    for name, value in values.items():
        parameters[:, facerender.INDEX[name]] = torch.as_tensor(value, dtype=torch.float32)
    return parameters


def brightness(image, x, y):
    """Mean of the channels at places in pixels."""
    return image.mean(0)[y.round().long(), x.round().long()]


def right_eye(points):
    """Centre and half width of an eye."""
    half = 0.5 * (points[AT("eye_outer_right"), 0] - points[AT("eye_inner_right"), 0]) / 0.95
    return points[AT("eye_centre_right")], half


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


def contrast(a, b):
    """Ratio of two colours' luminance, as web pages define it."""
    bright, dark = sorted((luminance(a).item(), luminance(b).item()), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def colours_of(image, points):
    """Median skin (3,), and the middle of the lower lip (3,)."""
    left, right = (points[AT(f"cheekbone_{side}"), 0].int() for side in ("left", "right"))
    top, bottom = points[AT("forehead"), 1].int(), points[AT("chin"), 1].int() - 8
    skin = image[:, top:bottom, left:right].flatten(1).median(1).values
    x, low = points[AT("lower_lip")].round().long()
    y = (0.55 * low + 0.45 * 0.5 * (low + points[AT("upper_lip"), 1])).round().long()
    return skin, image[:, y - 2 : y + 3, x - 2 : x + 3].mean((1, 2))


@pytest.mark.parametrize("gender", [0.1, 0.9])
@pytest.mark.parametrize("skin", [0.7, 0.85, 1.0])
def test_lips_follow_dark_skin(skin, gender):
    """Bare lips are a redder tone of the skin, and no lipstick shines out of a dark face."""
    rendering = facerender.render(
        faces_with(2, skin_colour=skin, gender=gender, makeup=[0, 1]), SIZE
    )
    for image, points in zip(rendering.image, rendering.landmarks, strict=True):
        around, lips = colours_of(image, points)
        red = linear(lips) / linear(around)
        assert red[0] > 1.05 * red[1]
        assert luminance(lips) + 0.05 < 1.2 * (luminance(around) + 0.05)
        assert lips.max() - lips.min() < 0.35


@pytest.mark.parametrize("power", [0.1, 0.6, 1.0])
def test_whites_do_not_stare_out_of_dark_faces(power):
    rendering = facerender.render(faces_with(1, skin_colour=1.0, light_power=power), SIZE)
    image, (centre, half) = rendering.image[0], right_eye(rendering.landmarks[0])
    around, _ = colours_of(image, rendering.landmarks[0])
    x = (centre[0] + 0.62 * half).round().long()
    y = centre[1].round().long()
    white = image[:, y - 3 : y + 4, x - 2 : x + 3].flatten(1)
    brightest = white[:, white.sum(0).argmax()]
    assert 1.5 < contrast(brightest, around) < 4.2


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


@pytest.mark.parametrize("smiling", [0.5, 1.0])
def test_mouths_stay_in_place_on_turned_heads(smiling):
    """Their far half is shorter than the near one, but not half as long."""
    points = facerender.render(faces_with(1, yaw=25.0, smiling=smiling), SIZE).landmarks[0, :, 0]
    middle = 0.5 * (points[AT("upper_lip")] + points[AT("lower_lip")])
    near, far = middle - points[AT("mouth_corner_left")], points[AT("mouth_corner_right")] - middle
    assert 0.55 * near < far < near
