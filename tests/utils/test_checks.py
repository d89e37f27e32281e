"""What is accepted, and that errors name the place, the value and what was expected."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.utils import checks
from helpers.utils.checks import as_binary, as_rates, as_scores, check_range


def test_binary_accepts_booleans_and_arrays():
    np.testing.assert_array_equal(as_binary(np.array([True, False])), [1, 0])
    with pytest.raises(ValueError, match="label: row 1 is 0.3, 0 or 1 was expected"):
        as_binary([0, 0.3], "label")
    with pytest.raises(ValueError, match="error: row 0 is '0', 0 or 1 was"):
        as_binary(["0", "1"])
    with pytest.raises(ValueError, match="'error', row 4 is None, 0 or 1 was"):
        as_binary(pd.Series([0, None], [2, 4], dtype=object, name="error"))


def test_rates_are_numbers_between_zero_and_one_or_missing():
    whole = pd.Series([True, 0, 0.25, None, pd.NA], dtype=object, name="error")
    np.testing.assert_array_equal(as_rates(whole), [1, 0, 0.25, np.nan, np.nan])
    for dtype in ("boolean", "Int64", "float32", bool):
        np.testing.assert_array_equal(as_rates(pd.Series([1, 0], dtype=dtype)), [1, 0])
    for value, shown in ((1.5, "1.5"), (-1, "-1"), ("0", "'0'"), (np.inf, "inf")):
        bad = pd.Series([0, value], [7, 4], dtype=object, name="error")
        with pytest.raises(ValueError, match=f"'error', row 4 is {shown}, a number in \\[0, 1"):
            as_rates(bad)


@pytest.mark.parametrize("value", [np.nan, None, 1.2, "0.5"])
def test_scores_are_numbers_between_zero_and_one(value):
    bad = pd.Series([0.1, value], ["a", "b"], dtype=object, name="makeup")
    with pytest.raises(ValueError, match="'makeup', row 'b' is .*, a score in \\[0, 1\\] was"):
        as_scores(bad)
    np.testing.assert_array_equal(as_scores(pd.Series([0.1 + 0.2, 1])), [0.3, 1])


@pytest.mark.parametrize(
    ("check", "values", "message"),
    [
        ("as_probabilities", [0.5, 1.5], "x: row 1 is 1.5, a probability in .*logits"),
        ("as_probabilities", [0.5, np.nan], r"x: row 1 is nan, .* was expected$"),
        ("as_changes", [-2, 0], "x: row 0 is -2, a change in .*of probabilities"),
        ("as_finite", [0, np.inf, np.inf], r"x: row 1 is inf, a finite .*\(2 such values\)"),
        ("as_finite", ["a"], "x: row 0 is 'a', a finite number was expected"),
        ("as_finite", [[1, 2]], r"x: shape \(1, 2\), expected 1 axes"),
        ("as_finite", [], r"x: shape \(0,\), at least one row"),
    ],
)
def test_numbers_of_arrays(check, values, message):
    with pytest.raises(ValueError, match=message):
        getattr(checks, check)(values, "x")


def test_numbers_of_a_matrix_name_row_and_column():
    with pytest.raises(ValueError, match="latents: row 1, column 0 is nan"):
        checks.as_finite([[0, 1], [np.nan, 2]], "latents", ndim=2)
    found = checks.as_finite(torch.ones(2, 3), "latents", ndim=2)
    assert found.dtype == np.float64 and found.shape == (2, 3)


def test_what_was_passed_is_not_what_is_returned():
    given = np.ones(3)
    checks.as_finite(given, "x")[0] = 2
    assert given[0] == 1


def test_numbers_of_settings():
    for good in (0.5, np.float32(0.5)):
        assert checks.check_range("alpha", good, 0, 1, "()") == good
    for call, message in (
        (lambda: checks.check_number("n", "a"), "n is 'a', a number was expected"),
        (lambda: checks.check_range("alpha", 1, 0, 1, "()"), "alpha is 1, a number in .0, 1. was"),
        (lambda: checks.check_positive("price", np.inf), "price is inf, a positive number"),
        (lambda: checks.check_whole("raters", 2.5, 1), "raters is 2.5, a whole number of at least"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_steps_are_distinct_and_one_per_column():
    np.testing.assert_array_equal(checks.as_steps([1, 0], 2), [1, 0])
    for steps, message in (([0, 1], "2 steps for 3 columns"), ([0, 1, 1], "all distinct")):
        with pytest.raises(ValueError, match=message):
            checks.as_steps(steps, 3)


def test_frames_and_shapes():
    frame = pd.DataFrame({"transect": [0, 0], "skin": ["light", None]})
    for call, message in (
        (lambda: checks.require_columns(frame, ["age"]), r"no column \['age'\]; it has"),
        (lambda: checks.require_rows(frame.iloc[:0]), "no rows"),
        (lambda: checks.require_present(frame["skin"], "a level"), "'skin', row 1 is nan, a level"),
        (lambda: checks.require_distinct(frame, ["transect"], "place"), "in one place: .*0"),
        (lambda: checks.require_members(["b"], {"a": 1}, "score"), "no score of b among a"),
        (lambda: checks.require_shape(np.ones((2, 3)), "n", (3, -1)), r"expected \(3, D\)"),
        (lambda: checks.require_alike(np.ones(2), "x", np.ones(3), "y"), r"\(3,\) as of y"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    checks.require_shape(np.ones((2, 3)), "n", (2, -1))


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
