"""Pickles of arrays as numpy writes them; the authors' own file where it is at hand."""

import os
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


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"gender": np.array([["a"]])}, "something else than numbers"),
        ({"gender": np.array([[None]], dtype=object)}, "something else than numbers"),
        ({"gender": [[1]]}, "expected a pickled dictionary"),
        ([1], "expected a pickled dictionary"),
        ({1: np.array([[1]])}, "without a name"),
        ({"gender": np.array([1])}, "'gender': expected images × raters, found 1 dimensions"),
        ({"gender": np.zeros((10**9, 0), "i1")}, "'gender': .*found no numbers"),
        ({"gen\n\x1b[2Jder": np.array([[1]])}, "without a name that can be printed"),
        ({"beauty": np.array([[1]])}, "nothing usable in 1 assignment: 1 × unknown attribute"),
        ({}, "nothing usable"),
    ],
)
def test_other_content_is_an_error(tmp_path, content, found):
    with pytest.raises(ValueError, match=f"annotations.pkl: .*{found}"):
        read_published(write(tmp_path, content))


@pytest.mark.parametrize("text", ["gender,age\n1,2\n", '{"gender": [[1]]}', "a text", "<html>"])
def test_a_text_file_is_one_clear_sentence(tmp_path, text):
    path = tmp_path / "annotations.csv"
    path.write_text(text)
    with pytest.raises(
        ValueError, match=r"annotations.csv: expected .* no pickle that can be read"
    ):
        read_published(path)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_files_that_are_cut_off_or_ask_for_a_call(tmp_path, protocol):
    whole = pickle.dumps(LEVELS, protocol)
    path = write(tmp_path, {"gender": Path("x")}, protocol)
    for content in (path.read_bytes(), whole[:10], whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="annotations.pkl: expected a pickled dictionary of"):
            read_published(path)


@pytest.mark.parametrize("path", ["a\0b.pkl", "a\ud800.pkl"])
def test_what_is_no_path_is_one_clear_sentence(path):
    with pytest.raises(ValueError, match="is no path: it has a character"):
        read_published(path)


def test_a_fortran_array_and_floats(tmp_path):
    levels = np.asfortranarray([[0.0, 1.0, np.nan], [2.0, 0.5, 4.0]])
    frame, report = read_published(write(tmp_path, {"gender": levels}))
    assert frame["level"].tolist() == [0, 1, 2, 4]
    assert report.set_index("reason").loc["no readable answer", "count"] == 2


@pytest.mark.skipif("HELPERS_REAL_DATA" not in os.environ, reason="HELPERS_REAL_DATA is not set")
def test_the_published_answers(tmp_path):
    """HELPERS_REAL_DATA: a folder with the authors' arrays, `stylegan2_ffhq_annotations.npz`."""
    folder = Path(os.environ["HELPERS_REAL_DATA"])
    with np.load(folder / "stylegan2_ffhq_annotations.npz") as arrays:
        levels = {name: arrays[name] for name in arrays.files}
    frame, report = read_published(write(tmp_path, levels, 3))
    assert len(frame) == 5000 * (9 + 3 * 7)
    assert set(frame["attribute"]) == {"gender", "hair_length", "skin_colour", "age"}
    assert report.query("dropped")["count"].sum() == 0
