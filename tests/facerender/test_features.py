"""Eyes, mouth, beard and skin as a reader sees them, at the size of the book's portraits."""

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


@pytest.mark.parametrize("skin", [0.1, 0.5, 0.9])
def test_whites_lie_in_the_shadow_of_the_lid(skin):
    rendering = facerender.render(faces_with(1, skin_colour=skin, eye_tilt=0.0), SIZE)
    image, (centre, half) = rendering.image[0], right_eye(rendering.landmarks[0])
    x = centre[0] + half * torch.tensor([-0.62, 0.62])
    below, above = (brightness(image, x, centre[1] - half * up) for up in (-0.02, 0.20))
    assert (above < 0.92 * below).all()
    assert below.max() < 0.85, "whites glow"


def test_the_upper_lid_covers_the_top_of_the_iris():
    """Where white shows above the iris, eyes stare."""
    drawn = populations.sample("fairface-like", 60, seed=2).parameters
    for name in ("yaw", "pitch", "glasses", "artefacts", "makeup"):
        drawn[:, facerender.INDEX[name]] = 0.0
    drawn[:, facerender.INDEX["skin_colour"]] = 0.95  # what is bright there is white, and no skin
    rendering = facerender.render(drawn, SIZE)
    for image, points in zip(rendering.image, rendering.landmarks, strict=True):
        centre, half = right_eye(points)
        above = brightness(image, centre[0], centre[1] - 0.50 * half)
        beside = brightness(image, centre[0] + 0.62 * half, centre[1])
        assert above < 0.8 * beside


def test_nobody_scowls_who_does_not_frown():
    """Less of a smile moves the mouth at once, and the brows late."""
    points = facerender.render(faces_with(3, smiling=[0.5, 0.3, 0.0]), SIZE).landmarks
    brow = points[:, AT("brow_inner_right"), 1] - points[:, AT("eye_centre_right"), 1]
    corner = points[:, AT("mouth_corner_right"), 1]
    assert brow[1] - brow[0] < 0.3
    assert corner[1] - corner[0] > 1.0
    assert corner[2] - corner[1] > 2.0


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


def test_a_sweep_of_gender_can_be_seen():
    steps = torch.linspace(0, 1, 5)
    for skin in (0.1, 0.5, 0.9):
        images = facerender.render(faces_with(5, gender=steps, skin_colour=skin), 64).image
        changed = (images.diff(dim=0).abs().amax(1) > 0.03).float().mean((1, 2))
        assert (changed > 0.04).all()
        assert ((images[0] - images[-1]).abs().amax(1) > 0.05).float().mean() > 0.12


def test_beards_are_hairs_and_no_stripes():
    """Stripes change across and not along; short hairs do both."""
    rendering = facerender.render(faces_with(1, facial_hair=0.9, gender=0.9, skin_colour=0.2), SIZE)
    points = rendering.landmarks[0]
    x, y = points[AT("chin")].round().long().tolist()
    beard = rendering.image[0].mean(0)[y - 26 : y - 6, x - 20 : x + 20]
    across, along = beard.diff(dim=1).abs().mean(), beard.diff(dim=0).abs().mean()
    assert along > 0.4 * across
    assert beard.std() > 0.01


def test_stubble_is_a_shade_and_a_beard_is_not():
    parameters = faces_with(4, facial_hair=[0.0, 0.25, 0.5, 0.9], gender=0.9, skin_colour=0.2)
    rendering = facerender.render(parameters, 64)
    x, y = rendering.landmarks[0, AT("chin")].round().long().tolist()
    chins = rendering.image[:, :, y - 6 : y - 1, x - 4 : x + 5].mean((1, 2, 3))
    assert (chins.diff() < -0.01).all()


def test_the_head_shades_its_neck():
    rendering = facerender.render(faces_with(1, light_azimuth=0.0, hair_length=0.0), SIZE)
    x, y = rendering.landmarks[0, AT("chin")].round().long().tolist()
    neck = rendering.image[0].mean(0)[:, x - 5 : x + 6].mean(1)
    jaw = rendering.head_mask[0, :, x].nonzero().max().item()
    assert neck[jaw + 4] < 0.85 * neck[jaw + 32]
    assert y <= jaw + 2


def test_dark_skin_keeps_its_form():
    """Highlights and shadows on a dark face differ by as much as on a light one."""
    rendering = facerender.render(faces_with(2, skin_colour=[0.15, 0.95], light_azimuth=50.0), SIZE)
    left, right = (rendering.landmarks[:, AT(f"cheekbone_{side}")] for side in ("left", "right"))
    ratios = []
    for image, dark, light in zip(rendering.image, left, right, strict=True):
        ratios.append(brightness(image, *light) / brightness(image, *dark))
    assert ratios[1] > ratios[0] > 1


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
