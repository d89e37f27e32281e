"""Pictures from files: decoded as they are shown, and cut to their middle."""

import numpy as np
import pytest
from PIL import Image

from faceaudit.file.parts import Preparation
from faceaudit.images import ImageSet
from faceaudit.utils.pictures import UnreadablePicture, cut, middle, read_picture
from faceworld.networks import photographs


def written(path, height, width, seed=1, **options):
    """A picture of random pixels."""
    drawn = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    Image.fromarray(drawn).save(path, **options)
    return drawn


@pytest.mark.parametrize(
    ("size", "shape", "rows", "columns"),
    [
        ((218, 178), (1, 1), (20, 198), (0, 178)),
        ((178, 218), (224, 224), (0, 178), (20, 198)),
        ((5, 4), (1, 1), (0, 4), (0, 4)),
        ((64, 64), (32, 32), (0, 64), (0, 64)),
        ((112, 112), (112, 96), (0, 112), (8, 104)),
        ((112, 96), (112, 96), (0, 112), (0, 96)),
        ((60, 90), (112, 96), (0, 60), (19, 70)),
        ((96, 48), (112, 96), (20, 76), (0, 48)),
        ((1, 1), (112, 96), (0, 1), (0, 1)),
    ],
)
def test_the_middle_has_the_proportions_of_the_shape(size, shape, rows, columns):
    assert middle(*size, shape) == (slice(*rows), slice(*columns))


@pytest.mark.parametrize(("height", "width"), [(45, 36), (36, 45), (60, 45), (37, 44), (40, 40)])
def test_training_and_audits_see_the_same_part_of_a_picture(tmp_path, height, width):
    drawn = written(tmp_path / "one.png", height, width)
    (tmp_path / "table.csv").write_text("file\none.png\n")
    image_set = ImageSet(tmp_path / "table.csv", {}, unit="file")
    pixels = image_set.synthesize(image_set.codes).mul(255).round().numpy().astype(np.uint8)
    audited = Preparation(size=20, range=(0, 255))(pixels)[0]
    files = np.array([str(tmp_path / "one.png")])
    taught = photographs._squares(files, 20)[0]
    # One rounds to whole grey levels, and on the way between both directions.
    assert np.abs(audited - taught).max() <= 1.5
    side = min(height, width)
    top = (height - side) // 2
    left = (width - side) // 2
    square = Image.fromarray(drawn[top : top + side, left : left + side])
    scaled = np.asarray(square.resize((20, 20), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(taught, scaled.transpose(2, 0, 1))
    # What is sent over a network is cut by the same rule, and scaled by another filter.
    sent = ImageSet(tmp_path / "table.csv", {}, unit="file", size=20)
    lanczos = np.asarray(square.resize((20, 20), Image.Resampling.LANCZOS))
    images = sent.synthesize(sent.codes).mul(255).round().numpy()[0]
    np.testing.assert_array_equal(images, lanczos.transpose(2, 0, 1))
    assert ("cut_from" in sent.card) == (height != width)
    assert "cut_from" not in image_set.card


@pytest.mark.parametrize("tag", range(1, 9))
def test_pictures_are_turned_as_their_tag_says(tmp_path, tag):
    """Tag 0x0112 says how the camera was held; a picture without tag is the one to come back to."""
    upright = Image.fromarray(written(tmp_path / "plain.png", 12, 9))
    turned = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[tag]
    exif = Image.Exif()
    exif[0x0112] = tag
    lying = upright if turned is None else upright.transpose(turned)
    lying.save(tmp_path / "lying.png", exif=exif)
    picture = read_picture(tmp_path / "lying.png")
    assert picture.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(picture), np.asarray(upright))


REFUSED = [
    (lambda path: path.write_bytes(b"<html>"), "no readable image", "damaged or no image"),
    (
        lambda path: Image.fromarray(np.zeros((4, 4), np.uint16)).save(path),
        "I;16 pixels, expected 8 bits",
        "pixels of more than 8 bits",
    ),
    (
        lambda path: Image.new("RGBA", (4, 4), (9, 9, 9, 100)).save(path),
        "transparent in places",
        "transparent in places",
    ),
]


@pytest.mark.parametrize(("write", "message", "reason"), REFUSED)
def test_what_gives_no_picture_has_a_reason(tmp_path, write, message, reason):
    write(tmp_path / "bad.png")
    with pytest.raises(UnreadablePicture, match=message) as raised:
        read_picture(tmp_path / "bad.png")
    assert raised.value.reason == reason
    with pytest.raises(FileNotFoundError):
        read_picture(tmp_path / "missing.png")


def test_a_picture_that_fits_is_not_changed_by_a_cut():
    square = Image.fromarray(np.arange(300).reshape(10, 10, 3).astype(np.uint8))
    np.testing.assert_array_equal(np.asarray(cut(square)), np.asarray(square))
