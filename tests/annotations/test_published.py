"""Pickles of arrays as numpy writes them; the authors' own file where it is at hand."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from helpers.annotations import read_published

LEVELS = {
    "gender": np.array([[0, 4, 2], [1, 1, 9]]),
    "skin_color": np.array([[5, 5], [0, -1]]),
}


def write(tmp_path, content: object, protocol: int = 4) -> Path:
    path = tmp_path / "annotations.pkl"
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", range(2, 6))
def test_arrays_are_read_whatever_the_protocol(tmp_path, protocol):
    frame, report = read_published(write(tmp_path, LEVELS, protocol))
    assert frame["attribute"].tolist() == ["gender"] * 5 + ["skin_colour"] * 3
    assert frame["level"].tolist() == [0, 4, 2, 1, 1, 5, 5, 0]
    assert set(frame["image_id"]) == {"0", "1"}
    assert frame["annotator_id"].nunique() == 5
    found = report.set_index("reason")
    assert found.loc["level outside the scale", "count"] == 2
    assert found.loc["level outside the scale", "place"] == "gender, row 1, column 2"
