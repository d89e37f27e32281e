"""Measures of drawn faces, whose colours and landmarks are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from faceaudit.images.skin_colour import lab_of_srgb
from published.measures import MEASURES, measure, skin_pixels

SIDE = 512
SKIN = np.array([200, 150, 120], np.uint8)
HAIR = np.array([60, 40, 30], np.uint8)
BACKGROUND = np.array([90, 120, 200], np.uint8)


def face_points(shift=0.0, width=1.0):
    """68 points of a face that looks straight ahead, its nose moved to one side by `shift`."""
    points = np.zeros((68, 2))
    angle = np.linspace(np.pi, 0, 17)
    points[:17] = np.c_[256 + 130 * width * np.cos(angle), 270 + 160 * np.sin(angle)]
    points[17:27, 0] = np.linspace(160, 352, 10)
    points[17:27, 1] = 215
    points[27:31] = np.c_[np.full(4, 256 + shift), np.linspace(235, 300, 4)]
    points[31:36] = np.c_[np.linspace(232, 280, 5) + shift, np.full(5, 320)]
    for first, x in ((36, 200), (42, 312)):
        points[first : first + 6] = np.c_[x + np.array([-20, -8, 8, 20, 8, -8]), [240] * 6]
    points[48:68] = np.c_[np.linspace(215, 297, 20), np.full(20, 365)]
    points[48], points[54], points[51], points[57] = (215, 365), (297, 365), (256, 355), (256, 378)
    points[62], points[66] = (256, 362), (256, 368)
    return points


@pytest.fixture
def drawn():
    image = np.empty((SIDE, SIDE, 3), np.uint8)
    image[:] = BACKGROUND
    image[60:470, 110:402] = HAIR
    image[140:440, 120:392] = SKIN
    return image.transpose(2, 0, 1)


def test_colours_are_those_of_the_places(drawn):
    measures = measure(drawn[None], face_points()[None]).iloc[0]
    for name, colour in (("", SKIN), ("background ", BACKGROUND), ("hair ", HAIR)):
        found = measures[[f"{name}L", f"{name}a", f"{name}b"]]
        assert_allclose(found, lab_of_srgb(colour / 255), atol=1e-9)


def test_specks_on_the_skin_change_no_measure(drawn):
    expected = measure(drawn[None], face_points()[None])
    specks = np.random.default_rng(0).random((SIDE, SIDE)) < 0.2
    drawn[:, specks] = 255
    found = measure(drawn[None], face_points()[None])
    assert_allclose(found[["L", "a", "b"]], expected[["L", "a", "b"]])


def test_pose_and_proportions_follow_the_points(drawn):
    straight, turned, wide = (
        measure(drawn[None], points[None]).iloc[0]
        for points in (face_points(), face_points(shift=25), face_points(width=1.2))
    )
    assert abs(straight["yaw"]) < 0.01 < turned["yaw"]
    assert wide["jaw"] == pytest.approx(1.2 * straight["jaw"], rel=0.01)
    assert straight["mouth"] == pytest.approx(6 / 112)
    assert straight["nose"] == pytest.approx(48 / 112)


def test_a_head_that_is_cut_off_is_measured_at_the_edge(drawn):
    points = face_points()
    points[:, 1] -= 170
    assert measure(drawn[None], points[None]).notna().all(axis=None)


def test_all_measures_have_names():
    assert len(set(MEASURES)) == len(MEASURES) == 15


def test_skin_is_taken_from_cheeks_and_forehead(drawn):
    pixels = skin_pixels(drawn, face_points())
    assert (pixels == SKIN).all()
    assert len(pixels) > 1000
