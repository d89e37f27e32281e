"""Validators name the argument, its value and what was expected."""

import numpy as np
import pytest

from helpers.utils.checks import check_range


@pytest.mark.parametrize(
    ("ends", "inside", "outside"),
    [("[]", (0, 0.5, 1), (-0.1, 1.1)), ("[)", (0, 0.9), (1, np.nan)), ("(]", (0.1, 1), (0, 2))],
)
def test_ends_of_a_range_are_included_or_not(ends, inside, outside):
    assert [check_range("share", value, 0, 1, ends) for value in inside] == list(inside)
    for value in outside:
        with pytest.raises(ValueError, match=f"share is {value}, a number in .0, 1. was expected"):
            check_range("share", value, 0, 1, ends)


def test_a_range_takes_numbers_only():
    with pytest.raises(ValueError, match="share is 'a', a number was expected"):
        check_range("share", "a", 0, 1)
