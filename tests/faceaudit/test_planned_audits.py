"""Plans from Python that are made before there are pictures or answers."""

import inspect

import numpy as np
import pandas as pd
import pytest
import yaml

import faceaudit
from faceaudit.api import TableSettings
from faceaudit.planned_audits import ClassifierSettings, GeneratorSettings
from faceaudit.utils.errors import InputError
from faceworld.audit import pictures_of_the_world
from helpers.study import PATTERN, keywords_of

FACES = 40
SETTINGS = {
    "unit": "face",
    "axes": {"skin": ["light", "dark"]},
    "label": "smiling",
    "tolerance": 0.05,
}
ASKED = SETTINGS | {"input": {"size": 8, "range": [0, 255]}}
PLANNED = {
    faceaudit.table: (TableSettings, {"data", "previous", "say"}),
    faceaudit.classifier: (
        ClassifierSettings,
        {"images", "table", "previous", "folder", "device", "say"},
    ),
    faceaudit.generator: (GeneratorSettings, {"folder", "device", "say", "pictures"}),
}
"""Call → the keywords that its plan needs, and the other arguments of the call besides `plan`."""


def brightness(batch):
    return batch.mean((1, 2, 3)) / 255


@pytest.fixture
def table():
    rows = [
        (f"{face}-{skin}", face, skin, int(face >= FACES / 2))
        for face in range(FACES)
        for skin in ("light", "dark")
    ]
    return pd.DataFrame(rows, columns=["file", "face", "skin", "smiling"])


@pytest.fixture
def pictures(table):
    shade = 70 + 3 * table["face"] - 60 * (table["skin"] == "dark")
    return {
        file: np.full((8, 8, 3), one, np.uint8)
        for file, one in zip(table["file"], shade, strict=True)
    }


@pytest.mark.parametrize("place", ["object", "file", "folder"])
def test_the_plan_of_a_classifier_counts_once_there_are_pictures(table, pictures, tmp_path, place):
    plan = faceaudit.plan(FACES, power=0.9, model=brightness, **ASKED)
    where = {"version": "1", "say": list}
    if place == "object":
        where["plan"] = plan
    elif place == "file":
        where["plan"] = plan.save(tmp_path / "mine.json")
    else:
        plan.save(tmp_path / "plan.json")
    if place != "file":
        where["folder"] = tmp_path
    audit = faceaudit.classifier(brightness, pictures, table, **where, **ASKED)
    assert audit.report.plan.sha256 == plan.content["sha256"]
    assert audit.report.plan.departures == [] and not audit.report.plan.is_new


def test_what_departs_from_the_plan_of_a_classifier_is_named(table, pictures):
    plan = faceaudit.plan(FACES + 10, model="later.onnx", **ASKED)
    given = ASKED | {"tolerance": 0.2, "input": {"size": 8, "range": [0, 255], "channels": "bgr"}}
    audit = faceaudit.classifier(brightness, pictures, table, plan=plan, say=list, **given)
    assert audit.report.plan.departures == [
        "tolerance: 0.05 was planned, 0.2 was used",
        'model: "onnx" was planned, "python" was used',
        f"faces: {FACES + 10} was planned, {FACES} was used",
        'model.input.channels: "rgb" was planned, "bgr" was used',
        'model.kind: "onnx" was planned, "python" was used',
    ]


def test_the_plan_of_portraits_that_a_model_is_asked_about_counts(table, pictures):
    settings = ASKED | {"unit": None}
    plan = faceaudit.plan(model=brightness, **settings)
    audit = faceaudit.classifier(brightness, pictures, table, plan=plan, say=list, **settings)
    assert plan.units is None and audit.report.plan.departures == []


def test_the_plan_of_portraits_in_a_table_counts(table):
    scored = table.assign(score=[0.3, 0.8, 0.6, 0.2] * (len(table) // 4))
    settings = SETTINGS | {"unit": None, "score": "score"}
    plan = faceaudit.plan(**settings)
    assert "the levels of skin are compared" in repr(plan)
    assert faceaudit.table(scored, plan=plan, **settings).report.plan.departures == []


PAIRS = {
    "group": "group",
    "first": "first",
    "second": "second",
    "same": "same",
    "reference": "one",
    "similarity": "similarity",
    "fmr": 0.01,
    "tolerance": 0.02,
}


def test_the_plan_of_pairs_counts(tmp_path):
    rng = np.random.default_rng(1)
    row = np.arange(800)
    same = row % 2
    # Four pairs of each person, two of them with the next person of the group.
    person = row // 4
    frame = pd.DataFrame(
        {
            "group": np.where(row < 400, "one", "other"),
            "first": person,
            "second": person + (1 - same),
            "same": same,
            "similarity": rng.normal(same, 0.3),
        }
    )
    plan = faceaudit.plan(**PAIRS)
    assert "compared with those of one" in repr(plan) and "0.01 of the pairs" in repr(plan)
    path = plan.save(tmp_path / "plan.json")
    kept = faceaudit.pairs(frame, plan=path, **PAIRS)
    assert kept.report.plan.departures == []
    assert kept.rates["group"].tolist() == ["one", "other"]
    assert kept.rates["positives"].tolist() == [200, 200]
    moved = faceaudit.pairs(frame, plan=path, **PAIRS | {"tolerance": 0.1})
    assert moved.report.plan.departures == ["tolerance: 0.02 was planned, 0.1 was used"]


def test_a_number_of_faces_is_refused_where_all_that_were_found_count():
    with pytest.raises(InputError, match="n is 50; an audit of pairs takes all that were found"):
        faceaudit.plan(50, **PAIRS)
    with pytest.raises(InputError, match="an audit of portraits takes all that were found"):
        faceaudit.plan(50, score="score", **SETTINGS | {"unit": None})
    with pytest.raises(InputError, match="power is 0.9; an audit of pairs takes all"):
        faceaudit.plan(power=0.9, **PAIRS)
    with pytest.raises(TypeError, match="missing a required keyword argument: 'first'"):
        faceaudit.plan(group="group", tolerance=0.02)
    with pytest.raises(TypeError, match="did you mean 'similarity'"):
        faceaudit.plan(similarit="s", **PAIRS)


def test_a_planned_power_is_no_departure_of_a_table(table):
    scored = table.assign(score=0.3, image_id=table["file"])
    scored.loc[::3, "score"] = 0.8
    plan = faceaudit.plan(FACES, power=0.9, score="score", **SETTINGS)
    audit = faceaudit.table(scored, plan=plan, score="score", **SETTINGS)
    assert audit.report.plan.departures == []
    assert audit.report.plan.content["power"] == 0.9


def test_the_plan_of_a_generator_counts(tmp_path):
    settings = {
        "generator": {"kind": "known-truth", "base_faces": 20},
        "people": {"kind": "simulated"},
        "model": {
            "kind": "python",
            "function": brightness,
            "version": "1",
            "input": {"size": 16, "range": [0, 255]},
        },
        "axes": ["skin_colour"],
        "tolerance": 0.1,
    }
    plan = faceaudit.plan(20, **settings)
    assert plan.content["sha256"] != faceaudit.plan(30, **settings).content["sha256"]
    audit = faceaudit.generator(
        **settings,
        transects=20,
        plan=plan,
        folder=tmp_path,
        say=list,
        pictures=pictures_of_the_world,
    )
    assert audit.report.plan.sha256 == plan.content["sha256"]
    assert audit.report.plan.departures == []
    with pytest.raises(InputError, match="n is 20 and transects is 30; both are the number"):
        faceaudit.plan(20, transects=30, **settings)
    assert faceaudit.plan(transects=30, **settings).units == 30


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SETTINGS | {"score": "p", "contrast": "adjacent"}, "unexpected keyword argument 'contr"),
        (ASKED, "unexpected keyword argument 'input'"),
        (SETTINGS | {"model": brightness}, "missing a required keyword argument: 'input'"),
        (ASKED | {"model": brightness, "pred": "p"}, "unexpected keyword argument 'pred'"),
        ({"generator": {}, "axes": [], "unit": "face"}, "unexpected keyword argument 'unit'"),
    ],
)
def test_a_keyword_of_another_audit_is_refused(settings, message):
    with pytest.raises(TypeError, match=message):
        faceaudit.plan(**settings)


@pytest.mark.parametrize("call", PLANNED, ids=lambda call: call.__name__)
def test_a_plan_takes_every_keyword_that_decides_about_an_audit(call):
    settings, others = PLANNED[call]
    arguments = inspect.signature(call).parameters
    assert arguments.keys() - others - {"plan"} == settings.__annotations__.keys()


def test_calls_of_images_have_the_same_defaults():
    of_table, of_classifier = (
        inspect.signature(call).parameters for call in (faceaudit.table, faceaudit.classifier)
    )
    both = of_table.keys() & of_classifier.keys()
    differing = {name for name in both if of_table[name].default != of_classifier[name].default}
    # A table of pictures names files, and a classifier counts what is said where none is given;
    # a table takes seconds, and so tells its stages on request alone.
    assert differing == {"image", "outcomes", "say"}


def test_the_keywords_of_an_audit_file_make_its_plan():
    content = faceaudit.plan(**keywords_of(PATTERN)).content
    of_file = faceaudit.make_plan(faceaudit.read_specification(PATTERN))
    assert faceaudit.departures(of_file, content, {}) == []
    assert content["sizes"] == of_file["sizes"]
    assert yaml.safe_load(PATTERN.read_text(encoding="utf-8"))["name"] == content["name"]
