"""A reader of parts: what is taken out of renders, and that it is noticed."""

import numpy as np
import pandas as pd
import pytest

import facerender
from helpers import models
from helpers.models import part_reader
from helpers.models.part_reader import PARTS


@pytest.fixture(scope="module")
def known():
    return models.decorrelated_faces(40, seed=3)


@pytest.fixture(scope="module")
def renders(known):
    return (255 * facerender.render(known, 64).image).round().byte().numpy()


def missing(n, *parts):
    return pd.DataFrame(False, range(n), list(PARTS)).assign(**dict.fromkeys(parts, True))


def places(known, *names):
    points = facerender.landmarks_of(known, 64)
    return points[:, [facerender.LANDMARK_NAMES.index(name) for name in names]].mean(1)


@pytest.mark.parametrize(
    ("part", "around"),
    [
        ("left eye", ("eye_centre_left",)),
        ("right eye", ("eye_centre_right",)),
        ("mouth", ("upper_lip", "lower_lip")),
    ],
)
def test_a_part_is_taken_out_where_it_is_and_nothing_else(known, renders, part, around):
    changed = part_reader.without_parts(renders, known, missing(40, part), seed=1) != renders
    far = 0
    for image, (x, y) in zip(changed.any(1), places(known, *around), strict=True):
        rows, columns = np.nonzero(image)
        assert image.any()
        far = max(far, np.abs(columns - x).max(), np.abs(rows - y).max())
    assert far < 12  # pixels of 64
    nothing = part_reader.without_parts(renders, known, missing(40), seed=1)
    np.testing.assert_array_equal(nothing, renders)


def test_what_is_filled_in_has_the_colours_of_its_edges():
    image = np.full((3, 32, 32), 90.0)
    image[:, 12:20, 12:20] = 255
    np.testing.assert_allclose(part_reader._filled(image, 12, 20, 12, 20), 90)
    image[:] = np.arange(32)  # a slope stays a slope
    np.testing.assert_allclose(
        part_reader._filled(image, 12, 20, 12, 20), image[:, 12:20, 12:20], atol=0.5
    )


def test_an_image_does_not_depend_on_those_after_it(known, renders):
    every = missing(40, *PARTS)
    whole = part_reader.without_parts(renders, known, every, seed=1)
    few = part_reader.without_parts(renders[:5], known[:5], every[:5], seed=1)
    np.testing.assert_array_equal(whole[:5], few)


def test_other_numbers_of_rows_are_refused(known, renders):
    with pytest.raises(ValueError, match="got 40, 40 and 3"):
        part_reader.without_parts(renders, known, missing(3), seed=1)


def test_a_missing_part_is_noticed(tmp_path):
    known = models.decorrelated_faces(1_000, seed=5)
    images = (255 * facerender.render(known, 64).image).round().byte().numpy()
    taught, asked = slice(800), slice(800, None)
    reader = part_reader.train_part_reader(
        images[taught], known[taught], tmp_path / "parts", seed=1, epochs=8
    )
    sets = part_reader.with_and_without(images[asked], known[asked], seed=2)
    found = {name: part_reader.all_found(reader, few).mean() for name, few in sets.items()}
    assert found["renders"] > 0.6
    for part in PARTS:
        assert found[f"no {part}"] < found["renders"] - 0.3
