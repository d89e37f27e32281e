"""Faces are steered to targets, in a world that answers each face's steps in its own way."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.measured_axis import fit_measures, steer
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError

NAMES = ["lightness", "redness", "background"]
DIMENSIONS = 20


def world(n, seed=0):
    """Measures of n faces: curved, mixed, and with a slope that is the face's own."""
    normals = seeding.rng(seed, "normals").normal(size=(3, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    own = seeding.rng(seed, "slopes").uniform(0.5, 1.6, (n, 3))

    def measure(codes):
        straight = codes @ normals.T * own[: len(codes)]
        mixed = straight + 0.3 * straight[:, ::-1]
        return pd.DataFrame(20 * (mixed + 0.1 * mixed**2) + 50, columns=NAMES)

    return measure


@pytest.fixture
def faces():
    n = 300
    measure = world(n)
    codes = seeding.rng(1, "codes").normal(size=(n, DIMENSIONS))
    measures = measure(codes)
    return measure, codes, fit_measures(codes, measures), measures.std()


def targets_of(faces, **values):
    _, codes, _, _ = faces
    return pd.DataFrame(np.nan, range(len(codes)), NAMES).assign(**values)


def test_planes_tell_measures_in_standard_deviations(faces):
    measure, codes, planes, scale = faces
    expected = (measure(codes) - measure(codes).mean()) / scale
    found = planes.decision_values(codes)
    for name, column in zip(NAMES, found.T, strict=True):
        assert np.corrcoef(expected[name], column)[0, 1] > 0.8
    assert set(planes.scores) == set(NAMES)


def test_faces_reach_their_targets_and_hold_the_rest(faces):
    measure, codes, planes, scale = faces
    targets = targets_of(faces, lightness=60.0, redness=55.0)
    steered = steer(measure, codes, targets, planes, scale, rounds=6)
    left = steered.measured - targets.fillna(measure(codes))
    assert (left.abs().median() < 0.01 * scale).all()
    assert (left.abs() < 0.2 * scale).all(axis=1).mean() > 0.98
    pd.testing.assert_frame_equal(steered.measured, measure(steered.codes))
    directions = dual_basis(planes.normals)
    assert_allclose(steered.codes, codes + steered.steps[list(planes.names)] @ directions)


def test_rounds_come_nearer(faces):
    measure, codes, planes, scale = faces
    steered = steer(measure, codes, targets_of(faces, lightness=60.0), planes, scale, rounds=5)
    medians = np.median(steered.distances, axis=1)
    assert (np.diff(medians) < 0).all()
    assert medians[-1] < medians[0] / 20


def test_a_face_does_not_depend_on_the_others(faces):
    measure, codes, planes, scale = faces
    targets = targets_of(faces, lightness=60.0)
    together = steer(measure, codes, targets, planes, scale)
    for count in (1, 5, 70):
        some = steer(measure, codes[:count], targets[:count], planes, scale)
        assert_array_equal(some.steps, together.steps[:count])


def test_a_face_that_cannot_be_measured_stays(faces):
    measure, codes, planes, scale = faces

    def blind(codes):
        measures = measure(codes)
        measures.iloc[0] = np.nan
        return measures

    steered = steer(blind, codes, targets_of(faces, lightness=60.0), planes, scale)
    assert_allclose(steered.codes[0], codes[0])
    assert steered.measured.iloc[0].isna().all()
    assert steered.measured.iloc[1:].notna().all(axis=None)


def test_targets_of_another_shape_are_refused(faces):
    measure, codes, planes, scale = faces
    with pytest.raises(InputError, match="targets"):
        steer(measure, codes, targets_of(faces)[:3], planes, scale)


def test_planes_of_one_measure_are_enough():
    planes = Hyperplanes(("lightness",), np.array([[1.0, 0.0]]), np.zeros(1))

    def measure(codes):
        return pd.DataFrame({"lightness": 2 * codes[:, 0]})

    targets = pd.DataFrame({"lightness": [3.0, -3.0]})
    steered = steer(measure, np.zeros((2, 2)), targets, planes, pd.Series({"lightness": 1.0}))
    assert_allclose(steered.codes, [[1.5, 0], [-1.5, 0]], atol=1e-6)
