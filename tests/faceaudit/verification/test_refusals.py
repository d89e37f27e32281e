"""What is refused, and in which words."""

import numpy as np
import pandas as pd
import pytest

from faceaudit import verification
from faceaudit.utils.errors import InputError
from faceaudit.verification.composition import composition_effects

PAIRS = [0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0], list("abab")
ENDS = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
FEW = pd.DataFrame({"seed": range(6), "group": "european male"})


def rates(place, value):
    """Rates at a threshold with one of the arguments exchanged."""
    verification.fixed_threshold(*PAIRS[:place], value, *PAIRS[place + 1 :], 0.5)


def bands(vertices=ENDS, **options):
    verification.vertex_bootstrap(*PAIRS, vertices, **{"n_boot": 3, "seed": 0} | options)


def gaps(reference):
    rules = {"threshold": 0.5, "tolerance": 0.05, "reference": reference, "seed": 0}
    verification.disparities(*PAIRS, ENDS, **rules)


def composition(common):
    composition_effects([0, 1, 0, 1], [0, 0, 1, 1], list("abab"), ENDS, common)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: verification.similarity([[1, 1], [0, 0]], [[0, 1]]), "row 1 is all zeros"),
        (lambda: rates(0, [0.1, np.nan, 1, 1]), "similarity: row 1 is nan"),
        (lambda: rates(2, ["a", None, "b", "b"]), "'group', row 1 is nan, a group"),
        (lambda: bands(n_boot=1), "n_boot is 1, a whole number of at least 2"),
        (lambda: gaps("z"), "no reference group of z among a, b"),
        (lambda: verification.hcic([[0] * 8 + [5]]), "ratings: row 0, column 8 is 5, a whole"),
        (lambda: verification.is_match([[0, 1, 2, 3]], 0.3), "of 4 ratings none is left"),
        (lambda: composition(["x"]), "must be some, but not all, of"),
        (lambda: verification.image_pairs(FEW, seed=1), "has fewer than 7 prototypes"),
    ],
)
def test_input_that_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_errors_hold_what_is_at_fault():
    with pytest.raises(InputError) as caught:
        verification.image_pairs(FEW, seed=1)
    error = caught.value
    assert (error.field, error.found) == ("group 'european male'", 6)
    assert error.expected == "at least 7 prototypes"
