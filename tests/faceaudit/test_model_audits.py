"""Audits from Python that ask a model about images: equal to the audit file, kept, plain errors."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from onnx_made import means
from PIL import Image

import faceaudit
from faceaudit.run import Folders, run_audit
from faceaudit.utils.errors import InputError
from faceworld.audit import pictures_of_the_world

MODELS = """
import numpy as np
import torch

SEEN = []
BIAS = 0.0

def paler(x):
    SEEN.append(len(x))
    return (x[:, 0] - x[:, 1] / 2).mean((1, 2)) + 45 / 255

def brighter(x): return x[:, 0].mean((1, 2)) / 255

def of_a_file_of_weights(x): return x[:, 0].mean((1, 2)) * (1 - BIAS)

def corner(x): return x[:, :, 8:, 8:].mean((1, 2, 3))

class Colours:
    latent_dim, size, device = 4, 16, torch.device("cpu")

    def sample(self, n, seed):
        return torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))

    def synthesize(self, w):
        return torch.sigmoid(w[:, :3])[:, :, None, None].expand(-1, 3, 16, 16).clone()
"""
NOT_COMPARED = {"made", "plan", "provenance"}
"""Parts of a report with dates, hashes and names of files."""
AXES = {"skin": ["light", "dark"]}
SETTINGS = {
    "axes": AXES,
    "label": "says",
    "classes": ["female", "male"],
    "tolerance": 0.05,
    "question": "?",
    "say": list,
    "outcomes": ["error", "fnr", "selection"],
}
PYTHON = {"input": {"size": 16}, "version": "1"}
OF_FILE = {
    "name": "audit",
    "question": "?",
    "axes": AXES,
    "classes": ["female", "male"],
    "outcomes": ["error", "fnr", "selection"],
    "design": {"tolerance": 0.05},
}
SET = OF_FILE | {
    "attribute": "says",
    "generator": {"kind": "images", "table": "index.csv"},
    "people": {"kind": "table"},
    "columns": {"label": "says"},
}
FOUND = OF_FILE | {
    "kind": "portraits",
    "images": "index.csv",
    "columns": {"image": "file", "label": "says"},
}


@pytest.fixture
def models(module):
    module("models_of_test", MODELS)
    return __import__("models_of_test")


@pytest.fixture
def pictures(home):
    """Sixty units; the label says which half of the reds a picture is of."""
    draw = np.random.default_rng(1)
    rows = []
    for unit in range(60):
        red = int(draw.integers(30, 225))
        for level, name in enumerate(("light", "dark")):
            file = f"{unit}-{name}.png"
            Image.new("RGB", (20, 16), (red, 90 + 40 * level, 90)).save(home / file)
            rows.append((file, unit, name, "male" if red > 127 else "female"))
    table = pd.DataFrame(rows, columns=["file", "unit", "skin", "says"])
    table.to_csv(home / "index.csv", index=False)
    return table


def by_file(home, content, **arguments):
    """The report of an audit file, beside the pictures."""
    path = home / "audit.yml"
    path.write_text(json.dumps(content), encoding="utf-8")
    folders = Folders(home / "by-file", home / "by-file" / "kept")
    return run_audit(path, list, folders=folders, **arguments)


def said(report):
    """What a report says, without dates, hashes and the name of the table."""
    content = report.model_dump(mode="json", exclude=NOT_COMPARED)
    del content["data"]["source"]
    return json.dumps(content).replace("the table", "index.csv")


@pytest.mark.parametrize(("content", "unit"), [(SET, "unit"), (FOUND, None)])
def test_a_function_gives_what_the_audit_file_gives(home, models, pictures, content, unit):
    block = {"kind": "python", "function": "models_of_test:paler", **PYTHON}
    report = by_file(home, content | {"model": block})
    settings = SETTINGS | PYTHON | {"unit": unit}
    audit = faceaudit.classifier(models.paler, home, pictures, **settings)
    assert said(audit.report) == said(report) and audit.gate() == faceaudit.gate(report)[0]
    assert audit.report.provenance["model"] == report.provenance["model"]
    assert audit.report.provenance["generator"] == report.provenance["generator"]
    arrays = {file: np.asarray(Image.open(home / file)) for file in pictures["file"]}
    of_arrays = faceaudit.classifier(models.paler, arrays, pictures, **settings)
    assert said(of_arrays.report) == said(report)
    shuffled = pictures.sample(frac=1, random_state=1)
    by_images = faceaudit.classifier(models.paler, arrays, shuffled, **settings).effects
    pd.testing.assert_frame_equal(by_images, audit.effects)


@pytest.mark.parametrize(
    ("of_file", "of_call", "told"),
    [({}, {}, "says"), ({"attribute": "gender"}, {"attribute": "gender"}, "gender")],
)
def test_what_the_model_tells_is_called_as_the_labels_are_unless_it_is_named(
    home, models, pictures, of_file, of_call, told
):
    block = {"kind": "python", "function": "models_of_test:paler", **PYTHON}
    unnamed = {key: value for key, value in SET.items() if key != "attribute"}
    report = by_file(home, unnamed | of_file | {"model": block})
    settings = SETTINGS | PYTHON | {"unit": "unit"} | of_call
    audit = faceaudit.classifier(models.paler, home, pictures, **settings)
    assert report.data["tells"] == audit.report.data["tells"] == told
    assert said(audit.report) == said(report)


@pytest.mark.parametrize("content", [SET, FOUND])
def test_columns_of_raters_are_labels_of_pictures(home, models, pictures, content):
    raters = {"first": pictures["says"], "second": pictures["says"].where(pictures.index > 5)}
    rated = pictures.assign(**raters)
    rated.to_csv(home / "index.csv", index=False)
    columns = {key: name for key, name in content["columns"].items() if key != "label"}
    columns["answers"] = [*raters]
    block = {"kind": "python", "function": "models_of_test:paler", **PYTHON}
    report = by_file(home, content | {"columns": columns, "model": block})
    unit = None if content is FOUND else "unit"
    settings = SETTINGS | PYTHON | {"label": [*raters], "unit": unit}
    if content is SET:
        settings["attribute"] = "says"
    audit = faceaudit.classifier(models.paler, home, rated, **settings)
    assert said(audit.report) == said(report)


def test_a_file_gives_what_the_audit_file_gives_with_its_doubts(home, pictures):
    wave = [("Sin", ["answer"], "wave", {})]  # right in the range from -1 to 1 only
    means(home / "waves.onnx", [[1.5], [0], [0]], wave, outputs=("wave",))
    parts = {
        "input": {"size": 16, "range": [0, 255], "crop": [0, 0, 0.5, 1], "keep_aspect": False},
        "output": {"activation": "sigmoid"},
    }
    block = {"kind": "onnx", "path": "waves.onnx", "threshold": 0.6, **parts}
    report = by_file(home, SET | {"model": block})
    settings = SETTINGS | parts | {"unit": "unit", "threshold": 0.6}
    audit = faceaudit.classifier(home / "waves.onnx", home, pictures, **settings)
    assert said(audit.report) == said(report)
    assert "preparation" in {doubt.name for doubt in audit.report.doubts}
    assert audit.report.provenance["model"] == report.provenance["model"]
    audit.save(home / "saved")
    assert faceaudit.verify(home / "saved" / "report.json")[0] == 0
    assert audit.sheet["columns"] == ["light", "dark"]


def test_answers_and_the_plan_are_kept_in_a_folder(home, models, pictures):
    folder = home / "kept"
    settings = SETTINGS | PYTHON | {"unit": "unit", "folder": folder}
    first = faceaudit.classifier(models.paler, home, pictures, **settings)
    asked = sum(models.SEEN)
    again = faceaudit.classifier(models.paler, home, pictures, **settings)
    checks = sum(models.SEEN) - asked
    different = len({Path(home / file).read_bytes() for file in pictures["file"]})
    assert asked - checks == different, "a picture was asked about again"
    assert checks == 2 * 64, "the docstring says how many are asked in every call"
    assert said(again.report) == said(first.report)
    assert again.report.plan.sha256 == first.report.plan.sha256 and again.report.plan.kept
    moved = faceaudit.classifier(models.paler, home, pictures, **settings | {"tolerance": 0.5})
    assert moved.report.plan.departures == ["tolerance: 0.05 was planned, 0.5 was used"]
    relabelled = pictures.assign(says=pictures["says"].where(pictures.index != 3, "female"))
    relabelled = faceaudit.classifier(models.paler, home, relabelled, **settings)
    assert relabelled.report.plan.departures == [
        "the table: not every image has the label that it had when the plan was made"
    ]
    plan = faceaudit.AuditPlan.read(folder / "plan.json")
    for given in (plan, folder / "plan.json"):
        settings = settings | {"plan": given, "folder": None, "tolerance": 0.5}
        held = faceaudit.classifier(models.paler, home, pictures, **settings)
        assert held.report.plan.departures == moved.report.plan.departures
    settings = settings | {"plan": plan, "folder": home / "other"}
    held = faceaudit.classifier(models.paler, home, pictures, **settings)
    assert held.report.plan.departures == moved.report.plan.departures


@pytest.mark.parametrize("door", ["call", "file"])
@pytest.mark.parametrize("unit", ["unit", None])
def test_answers_of_another_model_that_has_the_same_version_are_not_taken(
    home, models, pictures, monkeypatch, door, unit
):
    """A notebook cell that is run again defines another function of the same name (A2)."""
    function = "models_of_test:of_a_file_of_weights"
    content = (SET if unit else FOUND) | {
        "model": {"kind": "python", "function": function, **PYTHON}
    }
    settings = SETTINGS | PYTHON | {"unit": unit, "folder": home / "kept"}

    def audit(version="1"):
        if door == "file":
            return by_file(home, content, model_version=version)
        function = models.of_a_file_of_weights
        return faceaudit.classifier(function, home, pictures, **settings | {"version": version})

    audit()
    monkeypatch.setattr(models, "BIAS", 1e-5)
    audit()  # a difference of rounding
    monkeypatch.setattr(models, "BIAS", 0.1)
    with pytest.raises(InputError) as raised:
        audit()
    assert "of the version '1' about 64 of 64 images are not those that " in str(raised.value)
    key = "model.version" if door == "file" else "version"
    assert f"; change {key}, or keep the answers in another folder" in str(raised.value)
    assert "\n" not in str(raised.value) and raised.value.field == key
    audit("2")


def test_a_call_without_a_folder_leaves_no_file(home, models, pictures, monkeypatch):
    (home / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(home / "temporary"))
    before = sorted(home.rglob("*.png")), sorted(home.glob("*"))
    said_to_user = []
    settings = SETTINGS | PYTHON | {"unit": "unit", "say": said_to_user.append}
    faceaudit.classifier(models.paler, home, pictures, **settings)
    assert (sorted(home.rglob("*.png")), sorted(home.glob("*"))) == before
    assert not any((home / "temporary").iterdir())
    assert [line.partition(":")[0] for line in said_to_user] == [
        "faces",
        "people",
        "model",
        "model",
    ]


@pytest.mark.parametrize("unit", ["unit", None])
@pytest.mark.parametrize("outcomes", [["error", "fnr", "selection"], ["score"]])
def test_a_constant_decider_has_the_report_of_a_table_with_its_answers(pictures, unit, outcomes):
    shades = enumerate(pictures["file"])
    arrays = {file: np.full((16, 16, 3), shade, np.uint8) for shade, file in shades}
    settings = SETTINGS | {"unit": unit, "outcomes": outcomes}
    settings |= {"label": "says" if "error" in outcomes else None}
    asked = faceaudit.classifier(
        lambda batch: np.full(len(batch), 0.3), arrays, pictures, **settings | PYTHON
    )
    told = pictures.assign(score=0.3)
    of_table = faceaudit.table(told, image="file", score="score", **settings)
    for audit in (asked, of_table):
        doubts = {doubt.name: doubt.sentence for doubt in audit.report.doubts}
        assert doubts["constant"].startswith("The model says “female” of all 120 images"), doubts
        assert ("though their labels differ" in doubts["constant"]) == ("error" in outcomes)
        assert audit.gate() == 1
    pd.testing.assert_frame_equal(asked.effects, of_table.effects)
    # Of one class, too: without a score between 0 and 1 the decisions could all be right.
    if unit is not None and "error" in outcomes:
        of_one_class = told.assign(says="female")
        audit = faceaudit.table(of_one_class, image="file", score="score", **settings)
        assert [doubt.name for doubt in audit.report.doubts] == ["constant"]
        of_one_class["score"] = 0.0
        audit = faceaudit.table(of_one_class, image="file", score="score", **settings)
        assert not audit.report.doubts


class Answers:
    """A model that is an object, as networks are."""

    def __call__(self, batch):
        return batch[:, 0].mean((1, 2)) / 255


@pytest.mark.parametrize("model", [Answers(), lambda batch: batch[:, 0].mean((1, 2)) / 255])
def test_a_function_needs_no_name_that_can_be_imported(home, models, pictures, model):
    given = SETTINGS | {"unit": "unit", "input": {"size": 16, "range": [0, 255]}}
    audit = faceaudit.classifier(model, home, pictures, **given)
    named = faceaudit.classifier(models.brighter, home, pictures, **given)
    pd.testing.assert_frame_equal(audit.effects, named.effects)
    assert audit.report.provenance["model"]["function"].startswith(f"{__name__}:")
    assert audit.report.provenance["model"]["version"] == "not given"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": None}, "label is missing; with score, the column of the right answers"),
        (
            {"label": None, "outcomes": ["fpr"]},
            "outcomes begins with fpr; the first outcome must be",
        ),
        ({"contrasts": "all"}, "contrasts is 'all'"),
        ({"label": "truth"}, "the table: no column 'truth'; it has file"),
        ({"image": "name"}, "the table: no column 'name'; it has file"),
        ({"input": {"range": [0, 255]}}, "input.size is missing"),
        ({"input": {"size": 16, "rnage": 3}}, "rnage is no key here (did you mean range?)"),
        ({"output": {"index": 2}}, "output.index is 2, but there are 1 numbers an image"),
        ({"version": None, "folder": "kept"}, "version is missing: folder keeps the answers of"),
        ({"threshold": 2}, "threshold is 2, a score from 0 to 1"),
        ({"images": "elsewhere"}, "the table: no file '0-light.png' in elsewhere"),
        ({"images": {}}, "the table: no picture '0-light.png' among those that are given"),
        ({"model": "gone.onnx"}, "gone.onnx: no such file; model must name an ONNX file"),
        ({"model": "index.csv"}, "index.csv: no ONNX model that onnxruntime"),
        ({"model": lambda batch: batch.nothing}, "failed on images of the shape [64, 3, 16, 16]"),
        ({"plan": "gone.json"}, "gone.json: no such plan"),
    ],
)
def test_an_argument_that_cannot_be_used_is_one_sentence(
    home, models, pictures, monkeypatch, changes, message
):
    monkeypatch.chdir(home)
    usual = {"model": models.paler, "images": home, "table": pictures, "unit": "unit"}
    with pytest.raises(InputError) as raised:
        faceaudit.classifier(**usual | SETTINGS | PYTHON | changes)
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.zeros((3, 8, 8), np.uint8), r"uint8 of the shape \(3, 8, 8\)"),
        (np.zeros((8, 8, 3)), r"float64 of the shape \(8, 8, 3\)"),
        (np.zeros((8, 8), np.uint8), r"uint8 of the shape \(8, 8\)"),
    ],
)
def test_an_array_that_is_no_picture_is_named(models, pictures, array, found):
    arrays = dict.fromkeys(pictures["file"], np.zeros((8, 8, 3), np.uint8)) | {"7-dark.png": array}
    with pytest.raises(InputError, match=f"the table: picture '7-dark.png' is {found}, uint8 of"):
        faceaudit.classifier(models.paler, arrays, pictures, unit="unit", **SETTINGS, **PYTHON)


# --- generators

IN_THE_WORLD = {
    "question": "?",
    "axes": ["skin_colour", "gender"],
    "annotated": ["makeup"],
    "classes": ["female", "male"],
    "outcomes": ["error", "selection"],
    "generator": {"kind": "known-truth", "base_faces": 20},
    "people": {"kind": "simulated"},
}


def test_the_face_world_gives_what_the_audit_file_gives(home, models):
    block = {"kind": "python", "version": "1", "input": {"size": 16, "range": [0, 255]}}
    of_file = block | {"function": "models_of_test:brighter"}
    design = {"tolerance": 0.05, "transects": 20}
    content = IN_THE_WORLD | {"name": "audit", "model": of_file, "design": design}
    report = by_file(home, content, pictures=pictures_of_the_world)
    audit = faceaudit.generator(
        **IN_THE_WORLD,
        **design,
        model=block | {"function": models.brighter},
        folder=home / "kept",
        pictures=pictures_of_the_world,
        say=list,
    )
    assert said(audit.report) == said(report)
    assert all(row.truth is not None for row in audit.report.effects)
    assert audit.report.provenance["model"] == report.provenance["model"]


def colours(home, models, of_file, people):
    """Arguments of an audit of a generator that is an object; in a file they are its names."""
    planes = {"names": ["skin_colour"], "normals": np.eye(1, 4, 1), "intercepts": [0]}
    np.savez(home / "planes.npz", **planes)
    corner = {"kind": "python", "version": "1", "input": {"size": 16}}
    corner["function"] = "models_of_test:corner" if of_file else models.corner
    answer = {**corner, "input": {"size": 16, "range": [0, 255]}}
    answer["function"] = "models_of_test:brighter" if of_file else models.brighter
    return {
        "question": "?",
        "axes": {"skin_colour": ["light", "dark"]},
        "generator": {
            "kind": "python",
            "object": "models_of_test:Colours" if of_file else models.Colours(),
            "version": "1",
            "samples": 50,
            "hyperplanes": "planes.npz",
        },
        "people": people or {"kind": "reader", "models": {"gender": corner}},
        "model": answer,
    }


def test_objects_of_python_give_what_the_audit_file_gives(home, models, monkeypatch):
    monkeypatch.chdir(home)
    design = {"tolerance": 0.05, "transects": 12}
    of_file = colours(home, models, True, None)
    report = by_file(home, of_file | {"name": "audit", "design": design})
    sentences = []
    audit = faceaudit.generator(
        **colours(home, models, False, None), **design, folder="kept", say=sentences.append
    )
    assert said(audit.report) == said(report)
    assert audit.report.provenance["generator"] == report.provenance["generator"]
    assert not any(line.startswith("code: ") for line in sentences), "it was imported already"
    plan = json.loads(Path("kept/plan.json").read_text(encoding="utf-8"))
    assert plan["generator"]["object"] == "models_of_test:Colours"
    directions = np.load("kept/directions.npz")
    assert directions["names"].tolist() == ["skin_colour"]
    assert directions["normals"].tolist() == np.eye(1, 4, 1).tolist()
    faces, images = np.load("kept/base_codes.npy"), np.load("kept/transects_codes.npy")
    middle = (images[::2] + images[1::2]) / 2
    np.testing.assert_allclose(np.delete(middle, 1, axis=1), np.delete(faces, 1, axis=1), atol=1e-6)
    np.testing.assert_allclose(faces @ np.eye(4)[1], 0, atol=1e-6)
    # The reader's answers about what the model tells, which labels were made from.
    assert ((audit.frame["gender"] > 0.5) == (audit.frame["label"] == 1)).all()


def test_a_generator_waits_for_people_in_its_folder(home, models, monkeypatch):
    monkeypatch.chdir(home)
    settings = colours(home, models, False, {"kind": "page"})
    settings |= {"tolerance": 0.05, "transects": 4, "folder": home / "kept", "say": list}
    with pytest.raises(faceaudit.PeopleNeeded, match="kept/people/transects/tasks"):
        faceaudit.generator(**settings)
    assert any((home / "kept/people/transects/tasks").iterdir())
    assert (home / "kept/plan.json").is_file() and "models_of_test" in sys.modules


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generator": {"kind": "known-truth"}}, "in a checkout of the book"),
        ({"generator": {"kind": "python", "object": 3, "version": "1"}}, "generator.object is 3"),
        ({"model": {"kind": "table"}}, "model.kind is table, but no table is given"),
        ({"axes": "skin_colour"}, "axes is 'skin_colour', attributes with"),
    ],
)
def test_a_block_that_cannot_be_used_is_one_sentence(home, changes, message):
    model = {"kind": "python", "function": len, "version": "1", "input": {"size": 16}}
    usual = IN_THE_WORLD | {"model": model, "tolerance": 0.05, "transects": 4, "folder": home}
    with pytest.raises(InputError) as raised:
        faceaudit.generator(**usual | changes, say=list)
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("unit", ["face", None])
def test_a_model_is_audited_without_labels(unit):
    """Dark pictures lie below the threshold, whatever is right."""
    rows, pictures = [], {}
    for face in range(40):
        for skin, loss in (("light", 0), ("dark", 60)):
            rows.append((f"{face}-{skin}", face, skin))
            pictures[f"{face}-{skin}"] = np.full((8, 8, 3), 90 + 2 * face - loss, np.uint8)
    audit = faceaudit.classifier(
        lambda batch: batch.mean((1, 2, 3)) / 255,
        pictures,
        pd.DataFrame(rows, columns=["file", "face", "skin"]),
        unit=unit,
        axes=AXES,
        tolerance=0.05,
        outcomes=["selection", "score", "no_face"],
        input={"size": 8, "range": [0, 255]},
        say=list,
    )
    selected = {
        skin: [pixels.mean() > 127.5 for name, pixels in pictures.items() if skin in name]
        for skin in ("light", "dark")
    }
    expected = np.mean(selected["dark"]) - np.mean(selected["light"])
    assert audit.averages["estimate"].item() == pytest.approx(expected)
    by_outcome = audit.outcomes.set_index("outcome")["estimate"]
    assert by_outcome["score"] == pytest.approx(-60 / 255) and by_outcome["no_face"] == 0
    assert audit.gate() == 1 and audit.report.people == []
