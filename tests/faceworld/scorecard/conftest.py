"""Errors that several tests of the scorecard share."""

import numpy as np
import pytest


@pytest.fixture
def pool() -> np.ndarray:
    """Errors of 300 faces: skin harms one gender as much as it helps the other."""
    rng = np.random.default_rng(3)
    rates = np.array([[[0.1, 0.3], [0.1, 0.3]], [[0.3, 0.1], [0.3, 0.1]]])
    own = rng.normal(0, 0.05, (300, 1, 1, 1))
    return (rng.random((300, 2, 2, 2)) < rates + own).astype(float)
