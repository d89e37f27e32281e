"""What is accepted, and that errors name the place, the value and what was expected."""

import numpy as np
import pandas as pd
import pytest
import torch

from faceaudit.utils import arguments
from faceaudit.utils.arguments import as_binary, as_rates, as_scores, resolve_device
from faceaudit.utils.errors import InputError


def column(*values, index=None):
    return pd.Series(values, index, dtype=object, name="error")


@pytest.mark.parametrize(
    ("check", "args", "message"),
    [
        ("as_binary", ([0, 0.3], "label"), "label: row 1 is 0.3, 0 or 1 was expected"),
        ("as_binary", (column(0, None, index=[2, 4]),), "'error', row 4 is None, 0 or 1 was"),
        ("as_rates", (column(0, 1.5, index=[7, 4]),), r"'error', row 4 is 1.5, a number in \[0, 1"),
        (
            "as_scores",
            (column(0.1, None, index=["a", "b"]),),
            r"row 'b' is None, a score in \[0, 1",
        ),
        ("as_probabilities", ([0.5, 1.5], "x"), "x: row 1 is 1.5, a probability in .*logits"),
        ("as_probabilities", ([0.5, np.nan], "x"), r"x: row 1 is nan, .* was expected$"),
        ("as_finite", ([0, np.inf, np.inf], "x"), r"x: row 1 is inf, a finite .*\(2 such values\)"),
        ("as_finite", ([], "x"), r"x: shape \(0,\), at least one row"),
        ("as_finite", ([[0, 1], [np.nan, 2]], "x", 2), "x: row 1, column 0 is nan"),
        ("check_range", ("alpha", 1, 0, 1, "()"), "alpha is 1, a number in .0, 1. was"),
        ("check_range", ("share", np.nan, 0, 1), "share is nan, a number"),
        ("resolve_device", ("gpu",), "unknown DEVICE=gpu"),
    ],
)
def test_what_is_refused(check, args, message):
    with pytest.raises(ValueError, match=message):
        getattr(arguments, check)(*args)


def test_an_error_says_place_value_and_what_was_expected():
    with pytest.raises(InputError) as raised:
        as_rates(column(0, 1.5, index=[7, 4]))
    error = raised.value
    assert (error.field, error.found) == ("column 'error', row 4", 1.5)
    assert error.expected == "a number in [0, 1]"
    with pytest.raises(InputError) as raised:
        arguments.check_range("alpha", 1, 0, 1, "()")
    error = raised.value
    assert (error.field, error.found, error.expected) == ("alpha", 1, "a number in (0, 1)")


def test_what_is_accepted():
    np.testing.assert_array_equal(as_binary(np.array([True, False])), [1, 0])
    whole = column(True, 0, 0.25, None, pd.NA)
    np.testing.assert_array_equal(as_rates(whole), [1, 0, 0.25, np.nan, np.nan])
    for dtype in ("boolean", "Int64", "float32", bool):
        np.testing.assert_array_equal(as_rates(pd.Series([1, 0], dtype=dtype)), [1, 0])
    np.testing.assert_array_equal(as_scores(pd.Series([0.1 + 0.2, 1])), [0.3, 1])
    latents = arguments.as_finite(torch.ones(2, 3), "latents", ndim=2)
    assert latents.dtype == np.float64 and latents.shape == (2, 3)
    ones = np.ones(3)
    arguments.as_finite(ones, "x")[0] = 2
    assert ones[0] == 1  # what was passed is not what is returned
    for value in (0.5, np.float32(0.5), 1):
        assert arguments.check_range("alpha", value, 0, 1, "(]") == value
    arguments.require_shape(np.ones((2, 3)), "n", (2, -1))


def test_a_gpu_is_there_or_a_sentence_says_that_it_is_not(monkeypatch):
    assert resolve_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("cuda:1").index == 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="^DEVICE=cuda asked for, but torch sees no GPU; run with"):
        resolve_device("cuda")
