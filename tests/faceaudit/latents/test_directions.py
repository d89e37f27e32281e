"""Fitted hyperplanes against planted ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV

from faceaudit.latents import directions
from faceaudit.latents.directions import Hyperplanes, fit_hyperplanes, fit_ridge, fit_svm

RNG = np.random.default_rng(0)
W = RNG.standard_normal((600, 24))
PLANTED = np.linalg.qr(RNG.standard_normal((24, 2)))[0].T
SCORES = pd.DataFrame(
    {
        "age": np.clip(0.5 + 0.15 * (W @ PLANTED[0] + 0.4), 0, 1),
        "makeup": 1 / (1 + np.exp(-3 * (W @ PLANTED[1] - 0.8))),
    }
)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_ridge_finds_the_planted_hyperplane():
    plane = fit_ridge(W, SCORES["age"])
    assert cosine(plane.normal, PLANTED[0]) > 0.99
    assert plane.intercept / np.linalg.norm(plane.normal) == pytest.approx(0.4, abs=0.05)
    assert plane.score > 0.95


def test_ridge_zero_is_a_score_of_one_half():
    plane = fit_ridge(W, SCORES["age"])
    predicted = RidgeCV(alphas=directions.RIDGE_ALPHAS).fit(W, SCORES["age"]).predict(W)
    np.testing.assert_allclose(W @ plane.normal + plane.intercept, predicted - 0.5, atol=1e-12)


def test_fit_hyperplanes_collects_both_kinds():
    planes = fit_hyperplanes(W, SCORES, continuous=["age"], binary={"makeup": 0.5})
    assert planes.names == ("age", "makeup")
    ridge = fit_ridge(W, SCORES["age"])
    svm = fit_svm(W, SCORES["makeup"], 0.5)
    np.testing.assert_array_equal(planes.normals, [ridge.normal, svm.normal])
    np.testing.assert_array_equal(planes.intercepts, [ridge.intercept, svm.intercept])
    assert planes.scores == {"age": ridge.score, "makeup": svm.score}
    with pytest.raises(ValueError, match="no score of smiling among age, makeup"):
        fit_hyperplanes(W, SCORES, continuous=["age"], binary={"smiling": 0.5})


@pytest.fixture
def planes() -> Hyperplanes:
    normals = np.array([[3.0, 4.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -0.5]])
    return Hyperplanes(("age", "gender", "hair"), normals, np.array([5.0, -1.0, 0.0]), {"age": 0.9})


def test_unit_planes_measure_signed_distance(planes):
    w = RNG.standard_normal((5, 3))
    lengths = np.array([5.0, 2.0, 0.5])
    unit = planes.unit()
    np.testing.assert_allclose(np.linalg.norm(unit.normals, axis=1), 1)
    np.testing.assert_allclose(unit.decision_values(w), planes.decision_values(w) / lengths)
    assert unit.scores == planes.scores


def test_save_and_load(planes, tmp_path):
    path = tmp_path / "hyperplanes.npz"
    planes.save(path)
    with np.load(path) as arrays:
        read = Hyperplanes.from_arrays(arrays)
    assert (read.names, read.scores) == (planes.names, planes.scores)
    np.testing.assert_array_equal(read.normals, planes.normals)
    np.testing.assert_array_equal(read.intercepts, planes.intercepts)
