"""Pickles of arrays as numpy writes them; the authors' own file where it is at hand."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from faceaudit.annotations import ATTRIBUTES
from faceaudit.datasets import read_published, read_published_planes
from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils import seeding

# Levels by attribute, as the page beside the authors' file says.
PUBLISHED = {
    "hair-length": 5,
    "ethnicity": 6,
    "age": 6,
    "gender": 5,
    "skin-color": 6,
    "makeup": 4,
    "facial-hair": 5,
}

LEVELS = {"gender": np.array([[0, 4, 2], [1, 1, 9]]), "skin_color": np.array([[5, 5], [0, -1]])}


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
    by_reason = report.set_index("reason")
    assert by_reason.loc["level outside the scale", "count"] == 2
    assert by_reason.loc["level outside the scale", "place"] == "gender, row 1, column 2"


def test_the_names_and_scales_are_those_of_the_authors_file(tmp_path):
    rng = seeding.rng(1, "tests: published")
    levels = {name: rng.integers(0, most, (5000, 7)) for name, most in PUBLISHED.items()}
    frame, report = read_published(write(tmp_path, levels))
    assert len(frame) == 6 * 5000 * 7
    assert report.set_index("reason")["count"]["unknown attribute"] == 5000 * 7
    for name, highest in frame.groupby("attribute", observed=True)["level"].max().items():
        assert highest == len(ATTRIBUTES[name]) - 1


@pytest.mark.parametrize("private", [True, False], ids=["of version 0.22", "of version 0.21"])
def test_planes_are_those_of_the_models(tmp_path, private):
    rng = seeding.rng(2, "tests: published")
    codes = rng.standard_normal((60, 512))
    score = rng.uniform(size=60)
    models = {"A": Ridge(10.0).fit(codes, score), "G": LinearSVC().fit(codes, score > 0.5)}
    for letter, model in models.items():
        content = pickle.dumps(model, 3)
        assert content.count(b"._ridge\n") + content.count(b"._classes\n") == 1
        if not private:  # the modules had other names then
            content = content.replace(b"._ridge\n", b".ridge\n").replace(b"._classes", b".classes")
        (tmp_path / f"{letter}_W.pkl").write_bytes(content)
    published = read_published_planes(tmp_path)
    assert len(published["missing"]) == 7 and not {"age", "gender"} & {*published["missing"]}
    planes = Hyperplanes.from_arrays(published)
    assert planes.names == ("age", "gender")
    values = np.column_stack([models["A"].predict(codes), models["G"].decision_function(codes)])
    np.testing.assert_allclose(planes.decision_values(codes), values, rtol=0, atol=1e-9)
    (tmp_path / "H_W.pkl").write_bytes(pickle.dumps(Ridge().fit(codes[:, :3], score), 3))
    with pytest.raises(ValueError, match=r"H_W.pkl.*expected 512 numbers, as in A_W.pkl.*found 3"):
        read_published_planes(tmp_path)


def test_no_other_class_is_a_plane(tmp_path):
    with pytest.raises(ValueError, match="no file such as A_W.pkl"):
        read_published_planes(tmp_path)
    (tmp_path / "H_W.pkl").write_bytes(pickle.dumps(Path("x")))
    with pytest.raises(ValueError, match=r"H_W.pkl.*Ridge or LinearSVC.*asks for pathlib"):
        read_published_planes(tmp_path)
