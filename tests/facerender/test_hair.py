"""The hairline: soft, and no strip of other skin beside it."""

import pytest
import torch
import torch.nn.functional as functional

import facerender

SIZE = 256
AT = facerender.LANDMARK_NAMES.index


def faces_with(n: int, **values) -> torch.Tensor:
    parameters = facerender.defaults(n)
    for name, value in values.items():
        parameters[:, facerender.INDEX[name]] = torch.as_tensor(value, dtype=torch.float32)
    return parameters


@pytest.mark.parametrize("skin", [0.1, 0.6])
def test_no_strip_beside_long_hair(skin):
    """From the temple to the hair the skin darkens slowly, and nowhere at one edge."""
    parameters = faces_with(
        1, hair_length=0.7, skin_colour=skin, light_azimuth=0.0, hair_colour=0.0, age=0.4
    )
    rendering = facerender.render(parameters, SIZE)
    brow = rendering.landmarks[0, AT("brow_outer_right")].round().long()
    row = rendering.image[0].mean(0)[brow[1] - 16, SIZE // 2 :]
    hair = (row < 0.5 * row[0]).nonzero()[0].item()
    temple = row[: hair - 4]
    assert temple.diff().abs().max() < 0.05 * row[0]
    assert (temple[12:] < 1.02 * temple[:-12]).all()


def test_short_hair_thins_out_over_several_pixels():
    parameters = faces_with(1, hair_length=0.2, skin_colour=0.1, hair_colour=0.0)
    rendering = facerender.render(parameters, SIZE)
    column = rendering.image[0].mean(0)[:, SIZE // 2 - 20 : SIZE // 2 + 20]
    forehead = int(rendering.landmarks[0, AT("forehead"), 1])
    band = column[forehead - 40 : forehead]
    between = (band > band.min() + 0.15) & (band < band.max() - 0.15)
    assert between.float().sum(0).mean() > 3


def test_volume_of_shaved_hair_is_nothing():
    bald = faces_with(2, hair_length=0.02, hair_volume=[-2.0, 2.0])
    masks = facerender.render(bald, SIZE).head_mask
    assert (masks[0] - masks[1]).abs().max() < 0.05


def test_the_hem_of_a_covering_is_sharp():
    covered = float(facerender.HAIR_STYLES.index("covered"))
    parameters = faces_with(1, hair_style=covered, skin_colour=0.1, clothing=0.6, texture_seed=0.5)
    image = facerender.render(parameters, SIZE).image[0].mean(0)[:, SIZE // 2]
    assert image[: SIZE // 2].diff().max() > 0.08


def test_styles_can_be_told_apart_at_128_pixels():
    """Coils and plaits are rougher than straight hair, and tied hair ends in a bun."""
    names = ("straight", "afro", "braids", "tied back")
    styles = [facerender.HAIR_STYLES.index(name) for name in names]
    rendering = facerender.render(
        faces_with(4, hair_style=styles, hair_length=0.5, skin_colour=0.8, hair_colour=0.1), 128
    )
    grey, mask = rendering.image.mean(1), rendering.head_mask
    fine = (grey - functional.avg_pool2d(grey[:, None], 5, 1, 2)[:, 0]).abs()
    hair = functional.max_pool2d(1 - mask[:, None], 7, 1, 3)[:, 0] < 0.5
    hair[:, 45:] = False  # below begins the face
    rough = (fine * hair).sum((1, 2)) / (grey * hair).sum((1, 2))
    assert rough[1:3].min() > 1.5 * rough[0]
    assert rough[3] < rough[0]
    assert mask[3, 9].sum() < 0.7 * mask[0, 9].sum()
