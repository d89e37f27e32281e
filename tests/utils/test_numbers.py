"""Numbers as the pages tell them."""

import pytest

from helpers.claims import in_points, with_minus


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


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("-0.3", "−0.3"),
        ("(-.5 to -0.1)", "(−.5 to −0.1)"),
        ("-inf", "−inf"),
        ("−0.3", "−0.3"),
        ("<td>-1,200</td>", "<td>−1,200</td>"),
        ("celeba-like, 2020-07-15, 2-3, 1e-05, T_a-1, -- 5, - 5", None),
        ("[0.1]-2, f(x)-2, --2, -index", None),
    ],
)
def test_a_hyphen_before_a_number_becomes_a_minus(printed, told):
    assert with_minus(printed) == (told or printed)
