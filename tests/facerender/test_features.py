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
