"""Edited portraits in a world of four grey values, whose codes are read exactly or with a bias."""

import numpy as np
import pytest

from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils.errors import InputError
from faceworld.scorecard.counted_gap import draw_donors
from faceworld.scorecard.counted_people import LEVELS, Axis, edit_portraits

PLANE = Hyperplanes(("skin",), np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([-100.0]))
AXIS = Axis(PLANE, np.array([1.0, 0.0, 0.0, 0.0]))


def draw(codes):
    """Pictures of two by two pixels, a pixel for each coordinate."""
    return np.repeat(codes.round().astype(np.uint8).reshape(-1, 1, 2, 2), 3, axis=1)


def read(pictures):
    return pictures[:, 0].reshape(len(pictures), -1).astype(float)


def read_too_high(pictures):
    """The third value is read seven too high."""
    return read(pictures) + np.array([0, 0, 7, 0])


@pytest.fixture
def people():
    codes = np.random.default_rng(1).integers(60, 120, (6, 4)).astype(float)
    group = np.array(["light", "dark", "dark", "light", "dark", "light"])
    return codes, draw_donors(group, seed=4), group


def test_each_person_of_a_level_gives_equally_often(people):
    _, donors, group = people
    for place, level in enumerate(LEVELS):
        assert sorted(donors[:, place]) == sorted(np.flatnonzero(group == level).repeat(2))
    assert (donors == draw_donors(group, seed=4)).all()


def test_portraits_get_their_donors_values_and_keep_the_rest(people):
    codes, donors, _ = people
    edits = edit_portraits(draw(codes), donors, AXIS, read, draw)
    np.testing.assert_array_equal(edits.redrawn, draw(codes))
    for place in (0, 1):
        moved = read(edits.pairs[:, place])
        np.testing.assert_allclose(AXIS.values(moved), AXIS.values(codes)[donors[:, place]])
        np.testing.assert_array_equal(moved[:, 1:], codes[:, 1:])


def test_what_cannot_be_read_stays_on_the_portrait(people):
    codes, donors, _ = people
    portraits = draw(codes)
    misread = edit_portraits(portraits, donors, AXIS, read_too_high, draw)
    known = edit_portraits(portraits, donors, AXIS, read, draw)
    assert (misread.pairs != known.pairs).any()
    np.testing.assert_array_equal(misread.on(portraits), known.on(portraits))


def test_colours_end_where_pictures_end():
    codes = np.array([[250.0, 100, 0, 0], [100.0, 100, 0, 0]])
    donors = np.array([[1, 0], [1, 0]])
    edits = edit_portraits(draw(codes), donors, AXIS, read, draw)
    brighter = draw(codes + np.array([5, 0, 0, 0]))
    assert edits.on(brighter)[1, 1, 0, 0, 0] == 255
    assert edits.on(brighter)[0, 0, 0, 0, 0] == 105


def test_other_arrays_than_pictures_are_refused(people):
    codes, donors, _ = people
    with pytest.raises(InputError, match="images must be uint8"):
        edit_portraits(draw(codes).astype(float), donors, AXIS, read, draw)


def test_an_axis_along_a_step_of_any_length_reaches_the_values(people):
    codes, _, _ = people
    axis = Axis.of_step(PLANE, np.array([3.0, 1.0, 0.0, -2.0]))
    moved = axis.move(codes, np.full(6, 40.0))
    np.testing.assert_allclose(axis.values(moved), 40)
    np.testing.assert_allclose((moved - codes)[:, 3], -2 * (moved - codes)[:, 1])
