"""What is refused, and in which words."""

import numpy as np
import pandas as pd
import pytest

from helpers import verification
from helpers.verification.pairs import walk_to_score

PAIRS = [0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0], list("abab")
ENDS = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
FEW = pd.DataFrame({"seed": range(6), "group": "european male"})
BOTH = [0, 1, 0, 1], [0, 0, 1, 1], list("abab"), ENDS


def changed(place, value, of=PAIRS):
    """The arguments with one of them exchanged."""
    return [*of[:place], value, *of[place + 1 :]]


def bands(vertices=ENDS, **options):
    verification.vertex_bootstrap(*PAIRS, vertices, **{"n_boot": 3, "seed": 0} | options)


def gaps(**options):
    rules = {"threshold": 0.5, "tolerance": 0.05, "reference": "a", "seed": 0}
    verification.disparities(*PAIRS, ENDS, **rules | options)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: verification.similarity([[1, 1], [0, 0]], [[0, 1]]), "row 1 is all zeros"),
        (lambda: verification.similarity([[1, np.nan]], [[0, 0]]), "row 0, column 1 is nan"),
        (lambda: verification.similarity(np.eye(2), [[0, 1], [0, 4]]), r"row 1: images \[0, 4\]"),
        (lambda: verification.fixed_threshold(*PAIRS, np.nan), "threshold: nan where a similarity"),
        (
            lambda: verification.fixed_threshold(*changed(0, [0.1, np.nan, 1, 1]), 0.5),
            "similarity: row 1 is nan",
        ),
        (lambda: verification.fixed_threshold(*changed(1, [0, 2, 0, 1]), 0.5), "row 1 is 2"),
        (
            lambda: verification.fixed_threshold(*changed(2, ["a", None, "b", "b"]), 0.5),
            "'group', row 1 is nan, a group",
        ),
        (lambda: verification.fixed_threshold(*changed(2, ["a"]), 0.5), r"group: shape \(1,\)"),
        (lambda: bands(fmr=[1.0]), r"a number in \(0, 1\) was expected"),
        (lambda: bands(n_boot=1), "n_boot is 1, a whole number of at least 2"),
        (lambda: bands(ENDS[1:]), r"identities \(4, 2\)"),
        (lambda: bands([[0, 0], [1, np.nan], [0, 1], [1, 0]]), "row 1: an identity is missing"),
        (lambda: bands(0 * ENDS), "at least two clusters"),
        (lambda: gaps(reference="z"), "the reference 'z' is none of the groups"),
        (lambda: gaps(threshold=np.nan), "threshold: nan where a similarity"),
        (lambda: verification.hcic([[0] * 8 + [5]]), "ratings: row 0, column 8 is 5, a whole"),
        (lambda: verification.hcic([[0.5] + [0.0] * 8]), "row 0, column 0 is 0.5, a whole"),
        (lambda: verification.hcic([[0.0] * 8 + [np.nan]]), "row 0, column 8 is nan, a whole"),
        (lambda: verification.hcic([0, 1, 2]), r"shape \(3,\)"),
        (lambda: verification.is_match([[0, 1, 2, 3]], 0.3), "2 lowest and 2 highest of 4"),
        (lambda: verification.is_match([[0] * 9], 1.2), r"in \[0, 1\]"),
        (lambda: verification.composition_effects(*BOTH, ["x"]), "must be some, but not all, of"),
        (
            lambda: verification.composition_effects(*changed(1, [0, 0, 2, 1], BOTH), ["a"]),
            "control: row 2 is 2, 0 or 1",
        ),
        (
            lambda: verification.training_effects([BOTH[0]], [BOTH[1]], *BOTH[2:], ["a"]),
            "one training: how trainings differ takes two",
        ),
        (lambda: verification.image_pairs(FEW, seed=1), "has 6 prototypes; .* at least 7"),
        (lambda: verification.max_min_selection(np.zeros((3, 1, 1, 2)), 4), "4 seeds are wanted"),
        (
            lambda: walk_to_score(np.zeros((2, 1)), np.ones(1), lambda w: 0 * w[:, 0], 0.8),
            "row 0 does not score 0.8",
        ),
    ],
)
def test_input_that_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
