"""The study's images and rows: images that hold their codes, and models that are made here."""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose

from faceaudit.images.skin_colour import linear_light
from faceaudit.latents.directions import Hyperplanes
from faceaudit.models.answers import ModelAnswers
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError
from published import faces as faces_module
from published import study
from published.faces import LEVELS, Faces, Fitted
from published.measures import MEASURES
from published.planes import read_planes
from published.products import Network

LENGTH = 24
NORMALS = seeding.rng(0, "normals").normal(size=(len(MEASURES), LENGTH)) / np.sqrt(LENGTH)
MEANS = np.where(np.array(MEASURES) == "L", 60.0, 10.0)


def pictures_of(codes):
    """Images (n, 3, 8, 8) whose first bytes are the code."""
    content = np.zeros((len(codes), 3 * 8 * 8), np.uint8)
    codes = np.ascontiguousarray(codes, np.float32)
    content[:, : 4 * LENGTH] = codes.view(np.uint8).reshape(len(codes), -1)
    return content.reshape(-1, 3, 8, 8)


def codes_of(pictures):
    content = pictures.reshape(len(pictures), -1)[:, : 4 * LENGTH]
    return np.ascontiguousarray(content).view(np.float32)


def measures_of(pictures):
    """Each grows with its own direction, and a little more than in proportion."""
    along = codes_of(pictures) @ NORMALS.T
    return pd.DataFrame(MEANS + 8 * along + 0.3 * along**2, columns=list(MEASURES))


class Codes:
    """Draws codes; `Faces.images` is replaced."""

    def sample(self, n, seed):
        return torch.from_numpy(seeding.normals(seed, "codes", range(n), LENGTH)).float()


@pytest.fixture
def faces(tmp_path, monkeypatch):
    monkeypatch.setattr(faces_module, "FITTED", 600)
    monkeypatch.setattr(Faces, "generator", Codes())
    monkeypatch.setattr(Faces, "images", lambda self, codes, name: pictures_of(codes))
    monkeypatch.setattr(Faces, "measured", lambda self, pictures: measures_of(pictures))
    monkeypatch.setattr(Faces, "darkened", lambda self, images, twins: images // 2)
    return Faces(tmp_path, fits=True)


def steered_part(faces, chosen, name="measured"):
    steered = study.steer_faces(faces, chosen, seed=5, name=name)
    return study.measured_part(faces, steered.steps, seed=5, name=name)


def test_faces_have_the_tones_lightness_and_what_is_held(faces):
    steered = study.steer_faces(faces, range(30), seed=5, name="measured")
    assert steered.card["asked to take part"] == 30
    part = study.measured_part(faces, steered.steps, seed=5, name="measured")
    assert len(part.card["faces"]) >= 28
    for place, level in enumerate(LEVELS):
        found = part.card["by level"][level]
        assert_allclose(found["mean"]["L"], faces.fitted.skin_targets[place, 0], atol=0.5)
        assert found["sd"]["L"] < 1
        held = [value for name, value in found["change in sd"].items() if name not in "Lab"]
        assert max(np.abs(held)) < 0.1


def test_images_of_a_face_are_told_apart(faces):
    part = steered_part(faces, [3, 8])
    table = part.images.table
    assert len(table) == len(part.images.pixels) == 2 * 5
    assert table["image"].is_unique
    of_one = table[table["transect"] == 8]
    assert of_one["study"].tolist() == 3 * ["measured"] + ["random", "placebo"]
    assert of_one["skin"].tolist() == ["low", "middle", "high", "", "low"]
    assert of_one["image"].iloc[0] == "measured-00008-low"
    assert of_one["exposure"].iloc[-1] == "darkened"


def test_recorded_steps_draw_the_same_pictures_of_the_first_faces(faces, tmp_path):
    steered = study.steer_faces(faces, range(10), seed=5, name="measured")
    whole = study.measured_part(faces, steered.steps, seed=5, name="measured")
    steered.steps.to_csv(tmp_path / "steps.csv", index=False)
    first = pd.read_csv(tmp_path / "steps.csv").iloc[: 2 * len(LEVELS)]
    part = study.measured_part(faces, first, seed=5, name="measured")
    of_first = whole.images.table["transect"].isin(first["transect"]).to_numpy()
    assert part.images.table["image"].tolist() == whole.images.table["image"][of_first].tolist()
    drawn = (part.images.table["exposure"] == "").to_numpy()
    expected = whole.images.pixels[of_first][drawn]
    assert_allclose(codes_of(part.images.pixels[drawn]), codes_of(expected), atol=1e-5)


def test_random_axes_move_no_measure_and_are_as_long(faces):
    low = seeding.normals(1, "low", range(20), LENGTH)
    high = low + seeding.normals(1, "step", range(20), LENGTH)
    numbers = np.arange(100, 120)
    moved = faces.along_random_axes(numbers, low, high, seed=3)
    assert_allclose((moved - low) @ faces.fitted.planes.normals.T, 0, atol=1e-9)
    lengths = np.linalg.norm(moved - low, axis=1)
    assert_allclose(lengths, np.linalg.norm(high - low, axis=1))
    alone = faces.along_random_axes(numbers[7:9], low[7:9], high[7:9], seed=3)
    assert_allclose(alone, moved[7:9])


def test_planes_of_measures_are_kept(faces, tmp_path):
    faces.fitted.save(tmp_path / "measures.npz")
    kept = Fitted.read(tmp_path / "measures.npz")
    assert kept.card() == faces.fitted.card()
    assert_allclose(kept.planes.normals, faces.fitted.planes.normals)
    with pytest.raises(InputError, match=r"other.npz is missing; python -m published --write"):
        Fitted.read(tmp_path / "other.npz")


def test_planes_give_the_papers_decision_values(faces):
    names = ("skin_colour", "age", "hair_length", "gender")
    normals = seeding.rng(2, "planes").normal(size=(4, LENGTH))
    planes = Hyperplanes(names, normals, np.zeros(4))
    part = study.part_by_planes(faces, planes, [2, 5, 6], seed=5)
    moved = (part.images.table["exposure"] == "").to_numpy()
    table = part.images.table[moved]
    values = planes.decision_values(codes_of(part.images.pixels[moved]))
    for axis, column in (("skin_colour", "skin"), ("hair_length", "hair"), ("gender", "gender")):
        ends = dict(zip(("low", "high"), study.AXES_OF_PLANES[axis], strict=True))
        assert_allclose(values[:, names.index(axis)], table[column].map(ends), atol=1e-4)
    age = values[:, 1].reshape(3, 8)
    assert_allclose(age, age[:, :1].repeat(8, axis=1), atol=1e-4)
    assert table["image"].iloc[1] == "planes-00002-low-low-high"
    scaled = measures_of(part.images.pixels[moved]) / faces.fitted.scale
    dark = (table["skin"] == "high").to_numpy()
    change = (scaled[dark].mean() - scaled[~dark].mean()).round(3).to_dict()
    assert part.card["change in sd"]["skin"] == pytest.approx(change)
    control = part.images.table[~moved]
    assert len(control) == 3 * 4
    assert (control["skin"] == "low").all()
    assert control["image"].iloc[1] == "planes-00002-low-low-high-darkened"
    light = (table["skin"] == "low").to_numpy()
    assert_allclose(part.images.pixels[~moved], part.images.pixels[moved][light] // 2)


class Judge:
    """A model of two answers."""

    def all_answers(self, answers):
        shares, ages = answers.values.T  # noqa: PD011  of a named tuple
        return {"P(male)": shares, "age": ages}


@pytest.fixture
def networks(monkeypatch):
    networks = (Network("package", {"P(male)": "one", "age": "two"}),)
    monkeypatch.setattr(study, "NETWORKS", networks)
    monkeypatch.setattr(study, "opened", lambda network: Judge())

    def kept_answers(model, pixels, folder):
        """It finds no face on the first image, and tells no gender of the second."""
        values = np.c_[np.linspace(0, 1, len(pixels)), np.linspace(20, 60, len(pixels))]
        reasons = np.full(len(pixels), "", dtype=object)
        values[0], reasons[0] = np.nan, "no face found"
        values[1, 0] = np.nan
        return ModelAnswers(values, reasons)

    monkeypatch.setattr(study, "kept_answers", kept_answers)
    return networks


def test_the_record_has_a_row_an_image_a_model_and_an_outcome(faces, networks):
    part = steered_part(faces, [3, 8])
    rows = pd.concat(study.record_of(part.images, faces))
    assert list(rows) == study.COLUMNS
    assert len(rows) == 2 * len(part.images.table)
    of_one = rows[rows["model"] == "one"]
    assert of_one["state"].tolist()[:3] == ["no face", "abstained", "answered"]
    assert rows[rows["model"] == "two"]["state"].tolist()[:2] == ["no face", "answered"]
    assert of_one["value"].isna().tolist()[:3] == [True, True, False]


def test_whoever_a_network_calls_young_takes_no_part(faces, networks, monkeypatch):
    """Of every 50 candidates the first has no face, and those up to the 7th are too young."""
    monkeypatch.setattr(study, "AGES_ASKED", ("two",))
    monkeypatch.setattr(study, "CANDIDATES_AT_A_TIME", 50)
    chosen = study.adults(faces, n=60, seed=5, name="measured")
    assert chosen == [*range(7, 50), *range(57, 74)]


def test_the_repeated_study_has_no_controls(faces):
    part = steered_part(faces, [3, 8], "repeated")
    assert part.images.table["study"].tolist() == 6 * ["repeated"]
    assert part.images.table["image"].iloc[0] == "repeated-00003-low"


def test_light_is_dimmed_to_that_of_the_twin(tmp_path, monkeypatch):
    monkeypatch.setattr(Faces, "landmarks", lambda self, images: np.zeros((len(images), 68, 2)))
    monkeypatch.setattr(faces_module, "skin_pixels", lambda image, points: image.reshape(3, -1).T)
    image = np.full((1, 3, 4, 4), 200, np.uint8)
    twin = np.full((1, 3, 4, 4), 90, np.uint8)
    faces = Faces(tmp_path)
    assert_allclose(linear_light(faces.darkened(image, twin) / 255), linear_light(twin / 255), 0.02)
    np.testing.assert_array_equal(faces.darkened(twin, image), twin)  # never brighter


def test_a_file_that_has_no_planes_is_named(tmp_path):
    path = tmp_path / "planes.pkl"
    path.write_bytes(b"anything")
    with pytest.raises(InputError, match=r"planes.pkl is no file of hyperplanes"):
        read_planes(path, ["age"], length=3)
    planes = Hyperplanes(("age",), np.eye(3)[:1], np.zeros(1))
    planes.save(tmp_path / "planes.npz")
    assert read_planes(tmp_path / "planes.npz", ["age"], length=3).names == ("age",)


def test_planes_of_another_generator_or_without_an_axis_are_named(tmp_path):
    path = tmp_path / "planes.npz"
    Hyperplanes(("age",), np.eye(3)[:1], np.zeros(1)).save(path)
    message = r"planes.npz has planes of codes with 3 numbers, the generator's codes have 512"
    with pytest.raises(InputError, match=message):
        read_planes(path, ["age"], length=512)
    with pytest.raises(InputError, match=r"planes.npz has no plane of gender; it has age"):
        read_planes(path, ["age", "gender"], length=3)
