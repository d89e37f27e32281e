"""The null control: errors at its rate, whatever the face looks like."""

import numpy as np
import pytest

from helpers import models


def null_frame(n=1500, cells=8):
    item = np.arange(n * cells)
    label = np.random.default_rng(0).integers(0, 2, n * cells)
    return label, item, item // cells


def test_null_control_errs_at_its_rate_with_the_stated_correlation():
    label, item, transect = null_frame()
    score = models.null_control(label, item, transect, rate=0.1, icc=0.2, seed=1)
    error = ((score > 0.5) != label).reshape(-1, 8).astype(float)
    assert error.mean() == pytest.approx(0.1, abs=0.012)
    # One-way ANOVA estimator of the intraclass correlation.
    between, within = 8 * error.mean(1).var(ddof=1), error.var(1, ddof=1).mean()
    assert (between - within) / (between + 7 * within) == pytest.approx(0.2, abs=0.04)
    assert score.min() >= 0 and score.max() <= 1


def test_null_control_knows_item_and_transect_only():
    label, item, transect = null_frame(50)
    settings = {"rate": 0.3, "icc": 0.1, "seed": 1}
    wrong = (models.null_control(label, item, transect, **settings) > 0.5) != label
    flipped = (models.null_control(1 - label, item, transect, **settings) > 0.5) != 1 - label
    np.testing.assert_array_equal(wrong, flipped)
    part = slice(13, None, 5)
    again = models.null_control(label[part], item[part], transect[part], **settings)
    np.testing.assert_array_equal((again > 0.5) != label[part], wrong[part])


def test_null_control_refuses_impossible_settings():
    with pytest.raises(ValueError, match="a number in .0, 1. was expected"):
        models.null_control([0, 1], [0, 1], [0, 0], rate=0.0, icc=0.1, seed=0)
    with pytest.raises(ValueError, match="different number"):
        models.null_control([0, 1], [3, 3], [0, 0], rate=0.1, icc=0.1, seed=0)
