"""Colours of skin, against published values and against Matplotlib's own numbers of sRGB."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from faceaudit.images.skin_colour import (
    lab_of_srgb,
    linear_light,
    monk_tones,
    nearest_monk_tone,
    srgb_of_light,
    typology_angle,
)

# CIELAB as the scale's authors publish it (skintone.google), of tones 1 to 10.
PUBLISHED = [
    (94.211, 1.503, 5.422),
    (92.275, 2.061, 7.28),
    (93.091, 0.216, 14.205),
    (87.573, 0.459, 17.748),
    (77.902, 3.471, 23.136),
    (55.142, 7.783, 26.74),
    (42.47, 12.325, 20.53),
    (30.678, 11.667, 13.335),
    (21.069, 2.69, 5.964),
    (14.61, 1.482, 3.525),
]


def test_tones_are_those_that_are_published():
    assert_allclose(monk_tones(), PUBLISHED, atol=0.02)


@pytest.mark.parametrize(
    ("colour", "lab"),
    [
        ((1, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 1, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 1), (32.30, 79.19, -107.86)),
        ((0, 0, 0), (0, 0, 0)),
        ((0.01, 0.01, 0.01), (0.70, 0, 0)),
    ],
)
def test_colours_have_their_known_coordinates(colour, lab):
    assert_allclose(lab_of_srgb(colour), lab, atol=0.02)


@given(st.floats(0, 1))
def test_light_and_srgb_are_inverse(value):
    assert srgb_of_light(linear_light(value)) == pytest.approx(value, abs=1e-6)


def test_angles_fall_from_the_lightest_to_the_darkest_skin():
    angles = typology_angle(monk_tones().loc[4:])
    assert (np.diff(angles) < 0).all()
    assert angles[0] > 55 > 28 > angles[2]  # "very light" begins at 55 degrees, "tan" at 28


def test_every_tone_is_nearest_to_itself():
    assert nearest_monk_tone(monk_tones()).tolist() == list(range(1, 11))
