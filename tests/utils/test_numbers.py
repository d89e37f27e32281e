"""Numbers as the pages tell them."""

import pytest

from helpers.utils.numbers import in_points


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (0.0532, "+5.3"),
        (-0.0304, "-3.0"),
        (0.0, "+0.0"),
        (-0.0, "+0.0"),
        (0.0004, "+0.04"),  # above zero, and told so
        (-0.0004, "-0.04"),
        (-1e-9, "+0.00"),
        (0.0005001, "+0.1"),
        (float("nan"), "+nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_small_differences_keep_their_sign(rate, told):
    assert in_points(rate) == told
