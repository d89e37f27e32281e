"""Every field of a preparation does what it says, and each wrong one is named."""

import numpy as np
import pytest
from PIL import Image

from faceaudit.black_box import Preparation


def test_channels_scale_mean_and_spread(images):
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    ready = Preparation(mean=mean, std=std)(images)
    expected = (images / 255 - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    assert ready.dtype == np.float32
    np.testing.assert_allclose(ready, expected, atol=1e-5)
    # Mean and spread stand in the network's order of channels.
    bgr = Preparation(channels="bgr", scale=1.0, mean=(104, 117, 123))(images)
    np.testing.assert_allclose(bgr[:, 0], images[:, 2] - 104.0, atol=1e-4)
    np.testing.assert_allclose(bgr[:, 2], images[:, 0] - 123.0, atol=1e-4)


def test_layout_and_mirror(images):
    nchw, nhwc = (Preparation(layout=layout) for layout in ("nchw", "nhwc"))
    np.testing.assert_array_equal(nhwc(images).transpose(0, 3, 1, 2), nchw(images))
    for one in (nchw, nhwc):
        np.testing.assert_array_equal(one.mirrored(one(images)), one(images[..., ::-1]))


def test_a_crop_is_the_part_that_the_box_says(images):
    ready = Preparation(align="crop", box=(0.25, 0, 0.75, 0.5), scale=1.0)(images)
    np.testing.assert_array_equal(ready, images[:, :, :8, 4:12])


def test_sizes_are_changed_as_pillow_does():
    smooth = np.linspace(0, 255, 64).astype(np.uint8)
    image = np.broadcast_to(smooth, (1, 3, 64, 64)).copy()
    ready = Preparation(24, scale=1.0)(image)
    pillow = Image.fromarray(image[0].transpose(1, 2, 0)).resize((24, 24), Image.BILINEAR)
    assert np.abs(ready[0] - np.asarray(pillow).transpose(2, 0, 1)).max() <= 1


def test_the_card_is_plain_and_complete():
    card = Preparation(32, mean=(1, 2, 3), box=(0, 0, 1, 0.5), align="crop").card()
    assert card == {
        "size": 32, "channels": "rgb", "scale": 1 / 255, "mean": [1.0, 2.0, 3.0], "std": 1.0,
        "layout": "nchw", "align": "crop", "box": [0.0, 0.0, 1.0, 0.5], "flip_average": False,
    }  # fmt: skip
    assert Preparation(**card).card() == card


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", 0), ("size", 1.5), ("channels", "RGB"), ("scale", 0), ("scale", -1),
        ("scale", "1/255"), ("mean", (0.5, 0.5)), ("mean", "half"), ("mean", float("nan")),
        ("std", 0), ("std", (1, 1, 0)), ("layout", "chw"), ("align", "umeyama"),
        ("box", (0, 0, 2, 1)), ("box", (0.5, 0, 0.5, 1)), ("box", 3), ("flip_average", 1),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(field, value):
    with pytest.raises(ValueError, match=f"preparation.{field} is"):
        Preparation(**{field: value})


def test_alignment_needs_a_size_and_points(images):
    with pytest.raises(ValueError, match="arcface, which needs a size, 112"):
        Preparation(align="arcface")
    with pytest.raises(ValueError, match="needs five points of every face"):
        Preparation(112, align="arcface")(images)
