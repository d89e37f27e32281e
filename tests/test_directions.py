"""Fitted hyperplanes against planted ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.svm import LinearSVC

from helpers import directions
from helpers.directions import Hyperplanes, fit_hyperplanes, fit_ridge, fit_svm

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
    predicted = RidgeCV(alphas=directions.ALPHAS).fit(W, SCORES["age"]).predict(W)
    np.testing.assert_allclose(W @ plane.normal + plane.intercept, predicted - 0.5, atol=1e-12)


def test_svm_finds_the_planted_boundary_at_the_threshold():
    assert cosine(fit_svm(W, SCORES["makeup"], 0.5).normal, PLANTED[1]) > 0.98
    plane = fit_svm(W, SCORES["makeup"], 0.5, c=100)  # hardly regularised: the classes separate
    assert plane.intercept / np.linalg.norm(plane.normal) == pytest.approx(-0.8, abs=0.05)
    assert plane.score > 0.95


def test_svm_score_is_balanced():
    """Scores without relation to the latent get one half, however rare the positives."""
    noise = RNG.permutation(np.arange(600) < 60).astype(float)
    assert fit_svm(W, noise, 0.5).score == pytest.approx(0.5, abs=0.1)


def test_svm_is_scikit_learns():
    model = LinearSVC(C=0.3, dual=False, class_weight="balanced")
    model.fit(W, SCORES["makeup"] > 0.4)
    plane = fit_svm(W, SCORES["makeup"], 0.4, c=0.3)
    np.testing.assert_allclose(plane.normal, model.coef_[0])
    assert plane.intercept == pytest.approx(model.intercept_[0])


def test_svm_names_an_attribute_with_too_few_positives():
    rare = pd.Series(np.arange(600) < 3, name="facial_hair", dtype=float)
    with pytest.raises(ValueError, match="facial_hair: 3 of 600 scores are above 0.5 and 597 are"):
        fit_svm(W, rare, 0.5)
    with pytest.raises(ValueError, match="facial_hair: 600 of 600"):
        fit_svm(W, rare, -1)


def test_scores_must_be_numbers_and_match_the_latents():
    holes = SCORES["age"].where(SCORES.index != 17)
    with pytest.raises(ValueError, match="'age', row 17 is nan, a finite number was"):
        fit_ridge(W, holes)
    with pytest.raises(ValueError, match=r"age: shape \(600,\), expected \(599,\)"):
        fit_ridge(W[1:], SCORES["age"])
    with pytest.raises(ValueError, match="latents: row 2, column 0 is inf"):
        fit_ridge(np.where(np.arange(600)[:, None] == 2, np.inf, W), SCORES["age"])
    with pytest.raises(ValueError, match="^scores: "):
        fit_ridge(W, np.zeros(3))


def test_fit_hyperplanes_collects_both_kinds():
    planes = fit_hyperplanes(W, SCORES, continuous=["age"], binary={"makeup": 0.5})
    assert planes.names == ("age", "makeup")
    ridge, svm = fit_ridge(W, SCORES["age"]), fit_svm(W, SCORES["makeup"], 0.5)
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


def test_cosines(planes):
    expected = [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]]
    found = directions.cosines(planes)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert list(found.index) == list(found.columns) == ["age", "gender", "hair"]


def test_select_keeps_the_order_asked_for(planes):
    chosen = planes.select(["hair", "age"])
    assert chosen.names == ("hair", "age")
    np.testing.assert_array_equal(chosen.intercepts, [0, 5])
    assert chosen.scores == {"age": 0.9}
    with pytest.raises(ValueError, match="no hyperplane of makeup among age, gender, hair"):
        planes.select(["makeup"])


def test_join_puts_the_others_last(planes):
    both = planes.select(["hair"]).join(planes.select(["age"]))
    assert both.names == ("hair", "age") and both.scores == {"age": 0.9}
    np.testing.assert_array_equal(both.normals, planes.select(["hair", "age"]).normals)
    with pytest.raises(ValueError, match="not distinct"):
        planes.join(planes)


def test_save_and_load(planes, tmp_path):
    path = tmp_path / "hyperplanes.npz"
    planes.save(path)
    with np.load(path) as arrays:
        read = Hyperplanes.from_arrays(arrays)
    assert (read.names, read.scores) == (planes.names, planes.scores)
    np.testing.assert_array_equal(read.normals, planes.normals)
    np.testing.assert_array_equal(read.intercepts, planes.intercepts)


def test_arrays_that_are_missing_are_named():
    with pytest.raises(ValueError, match="hyperplanes without intercepts"):
        Hyperplanes.from_arrays({"names": ["age"], "normals": np.ones((1, 2))})


def test_arrays_must_fit_together():
    with pytest.raises(ValueError, match=r"normals: shape \(3, 4\), expected \(2, D\)"):
        Hyperplanes(("a", "b"), np.ones((3, 4)), np.zeros(2))
    with pytest.raises(ValueError, match=r"intercepts: shape \(3,\), expected \(2,\)"):
        Hyperplanes(("a", "b"), np.eye(2), np.zeros(3))
    with pytest.raises(ValueError, match="not distinct"):
        Hyperplanes(("a", "a"), np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match="hyperplanes of b are not finite"):
        Hyperplanes(("a", "b"), np.eye(2), np.array([0, np.nan]))
