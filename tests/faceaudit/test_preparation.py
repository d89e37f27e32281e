"""Preparations against Pillow and scikit-learn; wrong ones are noticed."""

from contextlib import closing

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score
from torch.nn import functional

from faceaudit.checks import better_preparation, check_preparation
from faceaudit.file.parts import Preparation
from faceaudit.models.answers import AnswerCache, Reading, ask_and_keep, image_key
from faceaudit.models.local import LocalModel
from faceaudit.utils.pictures import scaled

IMAGES = np.random.default_rng(7).integers(0, 256, (24, 3, 16, 16)).astype(np.uint8)


def test_channels_range_mean_and_spread():
    mean = (0.485, 0.456, 0.406)
    std = (0.229, 0.224, 0.225)
    preparation = Preparation(size=16, mean=mean, std=std)
    expected = (IMAGES / 255 - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    ready = preparation(IMAGES)
    assert ready.dtype == np.float32
    np.testing.assert_allclose(ready, expected, atol=1e-5)
    # Mean and spread stand in the network's order of channels.
    bgr = Preparation(size=16, channels="bgr", range=(0, 255), mean=(104, 117, 123))(IMAGES)
    np.testing.assert_allclose(bgr[:, 0], IMAGES[:, 2] - 104.0, atol=1e-4)
    np.testing.assert_allclose(bgr[:, 2], IMAGES[:, 0] - 123.0, atol=1e-4)


def test_sizes_are_changed_as_pillow_does():
    image = np.broadcast_to(np.linspace(0, 255, 64).astype(np.uint8), (1, 3, 64, 64)).copy()
    ready = Preparation(size=24, range=(0, 255))(image)
    pillow = Image.fromarray(image[0].transpose(1, 2, 0)).resize((24, 24), Image.BILINEAR)
    assert np.abs(ready[0] - np.asarray(pillow).transpose(2, 0, 1)).max() <= 1


@pytest.mark.parametrize("sides", [(8, 8), (24, 10), (31, 17), (64, 64)])
def test_networks_are_shown_what_torch_would_scale(sides):
    pixels = np.random.default_rng(5).integers(0, 256, (4, 3, 24, 20)).astype(np.float32)
    options = {"mode": "bilinear", "antialias": True}
    expected = functional.interpolate(torch.from_numpy(pixels), sides, **options)
    np.testing.assert_allclose(scaled(pixels, sides), expected, rtol=0, atol=0.005)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_images_are_cut_to_the_proportions_of_the_network(layout):
    images = np.random.default_rng(2).integers(0, 256, (3, 3, 40, 30)).astype(np.uint8)
    two_sides = Preparation(size=[16, 16], range=(0, 255), layout=layout)
    square = Preparation(size=16, range=(0, 255), layout=layout)
    assert two_sides == square, "two sides that agree are one"
    np.testing.assert_array_equal(square(images), square(images[:, :, 5:35]))
    tall = Preparation(size=(32, 20), range=(0, 255), layout=layout)(images)
    assert tall.shape == ((3, 3, 32, 20) if layout == "nchw" else (3, 32, 20, 3))
    whole = Preparation(size=[40, 25], range=(0, 255))(images)
    np.testing.assert_array_equal(whole, images[:, :, :, 2:27], "what fits is not scaled")


# --- a box, grey, and whole pictures, against Pillow

PHOTOGRAPH = np.random.default_rng(3).integers(0, 256, (2, 3, 52, 40)).astype(np.uint8)


def pillow(image):
    return Image.fromarray(image.transpose(1, 2, 0))


def channels_first(picture):
    return np.atleast_3d(np.asarray(picture)).transpose(2, 0, 1)


@pytest.mark.parametrize(
    ("box", "pixels"),
    [
        ((0.0, 0.1, 0.9, 0.9), (0, 5, 36, 47)),
        ((0.26, 0.25, 0.5, 1.0), (10, 13, 20, 52)),
        ((0.99, 0.0, 1.0, 0.001), (39, 0, 40, 1)),
    ],
)
@pytest.mark.parametrize("keep_aspect", [None, True, False])
def test_a_box_is_cut_before_the_rest_is_done(box, pixels, keep_aspect):
    shape = {"size": (24, 20), "range": (0, 255), "keep_aspect": keep_aspect}
    if keep_aspect:
        shape["pad"] = 9
    cut = np.stack([channels_first(pillow(image).crop(pixels)) for image in PHOTOGRAPH])
    ready = Preparation(crop=list(box), **shape)(PHOTOGRAPH)
    np.testing.assert_array_equal(ready, Preparation(**shape)(cut))


def test_images_that_are_made_have_enough_pixels_in_the_box():
    assert Preparation(size=198, crop=(0, 0.1, 0.9, 0.9)).sides_before_crop == (248, 220)
    assert Preparation(size=(112, 96)).sides_before_crop == (112, 96)


@pytest.mark.parametrize("sides", [(24, 24), (24, 60), (60, 24), (52, 40), (31, 17)])
@pytest.mark.parametrize("grey", [True, False])
def test_whole_pictures_are_padded_as_pillow_does_or_stretched(sides, grey):
    height, width = sides
    given = {"size": sides, "range": (0, 255), "grey": grey}
    padded = Preparation(**given, keep_aspect=True, pad=114)(PHOTOGRAPH)
    stretched = Preparation(**given, keep_aspect=False)(PHOTOGRAPH)
    assert padded.shape == stretched.shape == (2, 1 if grey else 3, height, width)
    for row, image in enumerate(PHOTOGRAPH):
        picture = pillow(image).convert("L") if grey else pillow(image)
        colour = 114 if grey else (114, 114, 114)
        expected = ImageOps.pad(picture, (width, height), Image.Resampling.BILINEAR, colour)
        assert np.abs(padded[row] - channels_first(expected)).max() <= 1.5
        expected = picture.resize((width, height), Image.Resampling.BILINEAR)
        assert np.abs(stretched[row] - channels_first(expected)).max() <= 1.5


def test_grey_is_the_luma_of_pillow():
    shades = np.random.default_rng(1).integers(0, 256, (1, 3, 200, 200)).astype(np.uint8)
    expected = channels_first(pillow(shades[0]).convert("L"))
    grey = Preparation(size=200, range=(0, 255), grey=True)(shades)
    np.testing.assert_array_equal(grey[0], expected)
    # With a mean for each channel of three, all three are the same.
    three = Preparation(size=200, range=(0, 255), grey=True, mean=(1, 2, 3))(shades)
    np.testing.assert_array_equal(three[0], np.concatenate([expected - 1.0 * k for k in (1, 2, 3)]))
    last = Preparation(size=200, range=(0, 255), grey=True, layout="nhwc")(shades)
    np.testing.assert_array_equal(last[..., 0], grey[:, 0])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"crop": (0.5, 0, 0.4, 1)}, "left, top, right, bottom from 0 to 1"),
        ({"crop": (0, 0, 1, 1.2)}, "left, top, right, bottom from 0 to 1"),
        ({"keep_aspect": True}, "pad is missing, the pixel value around an image"),
        ({"keep_aspect": False, "pad": 0}, "pad is given without keep_aspect: true; give both"),
        ({"pad": 0}, "pad is given without keep_aspect: true; give both, or neither"),
        ({"keep_aspect": True, "pad": 256}, "less than or equal to 255"),
        ({"grey": True, "channels": "bgr"}, "channels is bgr, but a grey image has one channel"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(keys, message):
    with pytest.raises(ValueError, match=message):
        Preparation(size=8, **keys)


def test_models_that_were_asked_before_there_were_these_keys_keep_their_hash():
    assert set(Preparation(size=8).model_dump()) == {
        "size",
        "channels",
        "layout",
        "range",
        "mean",
        "std",
    }
    given = {"crop": (0, 0.1, 0.9, 0.9), "keep_aspect": False, "grey": True}
    assert given.items() <= Preparation(size=8, **given).model_dump().items()


def test_answers_are_kept_by_what_a_model_sees(tmp_path):
    class Counting:
        def __init__(self):
            self.seen = 0

        def __call__(self, ready):
            self.seen += len(ready)
            return ready.mean((1, 2, 3))

    chance = np.random.default_rng(5)
    tall = chance.integers(0, 256, (6, 3, 20, 16)).astype(np.uint8)
    counting = Counting()
    model_of_means = LocalModel("m", {}, Reading(), Preparation(size=8), counting)
    answers = ask_and_keep(model_of_means, tall, tmp_path)
    np.testing.assert_array_equal(answers.values, model_of_means.ask(tall).values)
    seen = counting.seen
    same_middle = np.concatenate([chance.integers(0, 256, (6, 3, 2, 16)), tall[:, :, 2:]], axis=2)
    again = ask_and_keep(model_of_means, same_middle.astype(np.uint8), tmp_path)
    assert counting.seen == seen, "another margin is no other picture"
    np.testing.assert_array_equal(again.values, answers.values)
    # Answers about whole pictures, of a time when they were squeezed, are not taken for these.
    with closing(AnswerCache(tmp_path / "old", model_of_means.hash)) as cache:
        cache.add([image_key(image) for image in tall], np.full(6, 0.5), [""] * 6)
    after_old = ask_and_keep(model_of_means, tall, tmp_path / "old")
    np.testing.assert_array_equal(after_old.values, answers.values)
    # Square pictures keep the names that they had.
    square = tall[:, :, :16]
    with closing(AnswerCache(tmp_path / "square", model_of_means.hash)) as cache:
        cache.add([image_key(image) for image in square], np.full(6, 0.5), [""] * 6)
    seen = counting.seen
    assert (ask_and_keep(model_of_means, square, tmp_path / "square").values == 0.5).all()
    assert counting.seen == seen


# --- the check of a preparation


def coloured(n, seed):
    """Faces of class 1 are redder on the whole, and darker."""
    chance = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    colour = chance.normal(110, 25, (n, 3, 1, 1))
    colour[:, 0, 0, 0] += 30 * labels
    return (colour + chance.normal(0, 20, (n, 3, 8, 8))).clip(0, 255).astype(np.uint8), labels


def network(ready):
    """Trained on RGB in [0, 1]: its unit is saturated by 0–255, and not by −1–1."""
    means = ready.mean((2, 3))
    return np.tanh(3 * (means[:, 0] - 0.5 * means[:, 1] - 0.5 * means[:, 2]))


def model(compute=network, reading=None, **fields):
    reading = reading or Reading(activation="sigmoid")
    return LocalModel("faces.onnx", {}, reading, Preparation(**{"size": 8} | fields), compute)


def test_the_right_preparation_is_left_alone():
    for seed in range(5):
        images, labels = coloured(100, seed)
        table = check_preparation(model(), images, labels)
        assert table["gain"].iloc[0] == table["low"].iloc[0] == 0
        assert better_preparation(table) == ""
    assert len(table) == 6
    auc = roc_auc_score(labels, model().ask(images).values)
    assert table["separation"].iloc[0] == pytest.approx(auc)


@pytest.mark.parametrize(
    ("wrong", "n", "pixels"),
    [
        ({"channels": "bgr"}, 100, ("as declared", "0 to 1", "−1 to 1")),
        ({"range": (0, 255)}, 200, ("0 to 1", "−1 to 1")),
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        {"size": 8},
        {"size": (8, 6)},
        {"size": 8, "crop": (0.1, 0, 0.9, 0.6)},
        {"size": (8, 10), "keep_aspect": True, "pad": 100},
    ],
)
def test_another_preparation_is_warned_of(wrong, n, pixels, shape):
    images, labels = coloured(n, 9)
    table = check_preparation(model(**wrong, **shape), images, labels)
    assert better_preparation(table).startswith("with the preparation rgb, pixels ")
    best = table.loc[table["separation"].idxmax()]
    assert best["channels"] == "rgb" and best["pixels"] in pixels and best["low"] > 0


def test_a_recogniser_is_judged_by_people():
    chance = np.random.default_rng(4)
    people = np.repeat(np.arange(12), 5)
    looks = chance.uniform(20, 235, (12, 3, 1, 1))[people]
    images = (looks + chance.normal(0, 12, (60, 3, 8, 8))).clip(0, 255).astype(np.uint8)

    def vectors(ready):  # what lies beyond [−1, 1] is lost
        return np.concatenate([ready.mean((2, 3)).clip(-1, 1), np.full((len(ready), 1), 0.2)], 1)

    right, wrong = (model(vectors, Reading("embedding"), range=r) for r in ((-1, 1), (0, 255)))
    assert better_preparation(check_preparation(right, images, people)) == ""
    table = check_preparation(wrong, images, people)
    assert "preparation rgb, pixels" in better_preparation(table)
    assert table["separation"].iloc[0] == pytest.approx(0.5)


def test_a_recogniser_of_distances_is_judged_by_distances():
    """Vectors of one direction, which tell people by their lengths: cosines do not see them."""
    chance = np.random.default_rng(4)
    people = np.repeat(np.arange(12), 5)
    looks = chance.uniform(20, 235, (12, 1, 1, 1))[people]
    images = (looks + chance.normal(0, 12, (60, 3, 8, 8))).clip(0, 255).astype(np.uint8)

    def lengths(ready):  # what lies beyond [−1, 1] is lost
        return 2.0 ** np.round(4 * ready.mean((1, 2, 3)).clip(-1, 1))[:, None] * np.ones(2)

    right, wrong = (model(lengths, Reading("embedding"), range=r) for r in ((-1, 1), (0, 255)))
    assert better_preparation(check_preparation(right, images, people, True)) == ""
    table = check_preparation(wrong, images, people, True)
    assert "preparation rgb, pixels" in better_preparation(table)
    assert table["separation"].iloc[0] == pytest.approx(0.5)
    assert better_preparation(check_preparation(wrong, images, people)) == ""


def test_ranges_that_leave_distances_in_order_are_no_doubt():
    """Colours as vectors: a shift of all colours changes cosines, and no order of distances."""
    chance = np.random.default_rng(5)
    people = np.repeat(np.arange(15), 4)
    looks = chance.uniform(60, 195, (15, 3, 1, 1))[people]
    images = (looks + chance.normal(0, 90, (60, 3, 8, 8))).clip(0, 255).astype(np.uint8)
    declared = model(lambda ready: ready.mean((2, 3)), Reading("embedding"), range=(0, 1))
    by_distance = check_preparation(declared, images, people, True)
    np.testing.assert_allclose(by_distance["gain"], 0, atol=1e-3)
    rows, columns = np.triu_indices(60, 1)
    apart = cdist(*2 * [images.mean((2, 3))])[rows, columns]
    expected = roc_auc_score(people[rows] == people[columns], -apart)
    assert by_distance["separation"].iloc[0] == pytest.approx(expected, abs=1e-3)
    assert np.ptp(check_preparation(declared, images, people)["separation"]) > 0.01
