"""What is checked about the measured axis."""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image

from faceaudit.latents.directions import Hyperplanes
from published import checks, sheet
from published.faces import Faces, Fitted
from published.products import Network
from published.study import Images, Told

LEVELS = ("low", "middle", "high")


def images_at_levels(count):
    """Every face at three levels, and its controls."""
    table = pd.DataFrame(
        {
            "transect": np.repeat(range(count), 5),
            "skin": [*LEVELS, "", "low"] * count,
            "exposure": ["", "", "", "", "darkened"] * count,
        }
    )
    return Images(table, np.zeros((5 * count, 3, 64, 64), np.uint8))


def test_landmarks_are_compared_in_distances_of_the_eyes(tmp_path, monkeypatch):
    """The mesh says that all points of dark faces lie a tenth of that distance further right."""
    points = np.zeros((6, 68, 2))
    points[:, checks.POINT_OF_MESH[263], 0] = 40.0
    shift = np.tile([0.0, 0.0, 4.0], 2)
    answers = {}
    for mesh, dlib in checks.POINT_OF_MESH.items():
        answers[f"x of landmark {mesh}"] = points[:, dlib, 0] + shift
        answers[f"y of landmark {mesh}"] = points[:, dlib, 1].copy()
    answers["y of landmark 1"][0] = np.nan  # it finds no face there
    monkeypatch.setattr(Faces, "landmarks", lambda self, images: points[: len(images)])
    told = Told(answers, np.full(6, ""))
    monkeypatch.setattr(checks, "answers_of", lambda network, pixels, folder: told)
    compared = checks.landmarks_beside_mesh(images_at_levels(2), Faces(tmp_path))
    assert [compared[level]["images"] for level in LEVELS] == [1, 2, 2]
    assert [compared[level]["median distance"] for level in LEVELS] == [0, 0, 0.1]
    assert compared["high"]["shift"] == [0.1, 0]


def test_sides_without_a_score_are_counted(tmp_path, monkeypatch):
    """Of the second image and the last it tells no score, of the second it says a side."""
    answers = {
        "P(male)": np.array([0.2, np.nan, 0.8, np.nan]),
        "says male": np.array([0.0, 1.0, 1.0, np.nan]),
    }
    monkeypatch.setattr(
        checks, "answers_of", lambda network, pixels, folder: Told(answers, np.full(4, ""))
    )
    monkeypatch.setattr(checks, "NETWORKS", (Network("package", {"P(male)": "one"}),))
    found = checks.sides_without_score(images_at_levels(1), Faces(tmp_path))
    assert found == {"one": {"images": 1, "male": 1}}


class Codes:
    """Draws codes whose coordinates have standard deviations 1 and 2."""

    def sample(self, n, seed):
        drawn = np.random.default_rng(seed).normal(size=(n, 2)) * [1, 2]
        return torch.from_numpy(drawn)


def test_steps_count_in_standard_deviations_of_random_codes(tmp_path, monkeypatch):
    lightness = Hyperplanes(("L",), np.array([[-1.0, 0.0]]), np.zeros(1))
    fitted = Fitted(lightness, pd.Series([1.0], ["L"]), np.zeros((3, 3)))
    monkeypatch.setattr(Faces, "generator", Codes())
    monkeypatch.setattr(Faces, "fitted", fitted)
    planes = Hyperplanes(("skin_colour", "gender"), np.array([[3.0, 0], [0, 5.0]]), np.zeros(2))
    low = np.zeros((4, 2))
    high = low + np.array([2.0, 1.0])
    beside = checks.beside_given_planes(low, high, planes, Faces(tmp_path))
    assert beside["skin_colour"]["cosine"] == -1
    assert_allclose(beside["skin_colour"]["step in sd"], 2, rtol=0.1)
    assert beside["gender"]["cosine"] == 0
    assert_allclose(beside["gender"]["step in sd"], 0.5, rtol=0.1)


@pytest.mark.parametrize(("count", "shown"), [(3, 2), (12, sheet.FACES)])
def test_a_sheet_shows_the_first_faces(count, shown, tmp_path, monkeypatch):
    monkeypatch.setattr(sheet, "SHEET", tmp_path / "faces.jpg")
    written = sheet.write(images_at_levels(count))
    assert written == [face for face in range(count) if face not in sheet.LEFT_OUT][:shown]
    assert len(written) == shown
    with Image.open(tmp_path / "faces.jpg") as picture:
        assert picture.size == (5 * sheet.SIDE, shown * sheet.SIDE)
