"""What is refused, and in which words."""

import numpy as np
import pandas as pd
import pytest

from faceaudit.sensitivity import flips
from faceaudit.sensitivity.vectors import balanced_rows

HALF = np.full(3, 0.5)
FACES = pd.DataFrame({"Young": [1, 0, 1, 0], "Male": [1, 1, 1, 0], "Smiling": [1, 0, 0, 1]})
LOGITS = "scores_after: row 1 is -2.31, a probability in .*; does the classifier return logits"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flips(HALF, [0.1, -2.31, 0.1], 0.5), LOGITS),
        (lambda: flips(HALF, HALF[1:], 0.5), r"scores_after: shape \(2,\), expected \(3,\) as of"),
        (lambda: balanced_rows(FACES, "Young", 2, ("Male",), None, 1), "1 of each class are alike"),
    ],
)
def test_input_that_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
