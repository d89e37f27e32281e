"""The six groups and where they lie in the ancestry plane."""

import numpy as np
import pytest

from facerender.parameters import ANCESTRY_REFERENCES
from helpers import identities


def test_groups_are_six_and_split_into_their_parts():
    ancestry, male = identities.split(identities.GROUPS)
    assert len(set(identities.GROUPS)) == 6
    assert ancestry.tolist() == [a for a in ANCESTRY_REFERENCES for _ in range(2)]
    assert male.tolist() == [False, True] * 3
    with pytest.raises(ValueError, match="row 1: unknown group 'martian'"):
        identities.split(["african male", "martian"])


def test_a_group_is_nearest_to_its_own_reference():
    points = identities.ancestry_point(identities.ANCESTRIES)
    assert identities.nearest_ancestry(points).tolist() == [0, 1, 2]
    scattered = np.random.default_rng(0).normal(size=(50, 2))
    references = np.array(list(ANCESTRY_REFERENCES.values()))
    expected = np.linalg.norm(scattered[:, None] - references, axis=2).argmin(1)
    np.testing.assert_array_equal(identities.nearest_ancestry(scattered), expected)
