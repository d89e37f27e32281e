"""What the modules without a room refuse, and in which words."""

import numpy as np
import pandas as pd
import pytest

from faceaudit.effects.error_rates import discretize, stratified_errors
from faceaudit.effects.resampling import as_codes, cluster_codes
from faceaudit.latents.directions import Hyperplanes, fit_ridge, fit_svm
from faceaudit.latents.orthogonalization import dual_basis, leakage
from faceaudit.latents.transects import grid, index, project

W = np.random.default_rng(0).standard_normal((50, 3))
RARE = pd.Series(np.arange(50) < 3, name="facial_hair", dtype=float)
AXES, FACES = np.eye(3)[:2], pd.DataFrame({"skin": ["light", None], "error": [0, 2]})
SAME = {"a": pd.DataFrame({"a": [0.2], "b": [0.5]})}


def cells(directions):
    return grid(W, AXES, np.zeros(2), directions, [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit_svm(W, RARE, 0.5), "facial_hair: 3 of 50 scores are above 0.5 and 47 are"),
        (lambda: fit_ridge(W, RARE.where(RARE.index != 17)), "'facial_hair', row 17 is nan"),
        (lambda: fit_ridge(W[1:], RARE), r"shape \(50,\), expected \(49,\)"),
        (lambda: Hyperplanes(("a", "a"), np.eye(2), np.zeros(2)), r"expected \(1, D\)"),
        (lambda: dual_basis([[1, 0, 0], [0, 1, 0], [-2, 0, 0]]), r"rows \[0, 2\] are linearly"),
        (lambda: dual_basis([[1, 0], [0, 0]]), r"\[1\] are zero"),
        (lambda: leakage(SAME, SAME), "moving along a leaves its own score unchanged"),
        (lambda: project(W, AXES[[0, 0]], np.zeros(2)), r"rows \[0, 1\] are linearly dependent"),
        (lambda: cells(np.eye(3)[[0, 2]]), r"directions \[1\] run along their hyperplanes"),
        (lambda: index(1, {"age": np.arange(11)}), "at most ten fit a digit"),
        (lambda: stratified_errors(FACES, "skin"), "'skin', row 1 is"),
        (lambda: stratified_errors(FACES[["error"]].assign(skin=1), "skin"), "row 1 is 2, 0 or 1"),
        (lambda: discretize(pd.Series([0.1, 1.2], name="x"), [0.5], ["a", "b"]), "'x', row 1"),
        (lambda: cluster_codes(pd.Series(["a", None], [3, 4])), "row 4 has no cluster"),
        (lambda: as_codes(["a", None], 2), "row 1 has no cluster"),
    ],
)
def test_input_that_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
