"""Stages that wait for people: tasks are written, exports are read, nothing is asked twice."""

import json

import numpy as np
import pandas as pd
import pytest

from faceaudit import annotations
from faceaudit.annotations import ATTRIBUTES
from faceaudit.annotations.schema import hidden_names
from faceaudit.file.parts import Reader
from faceaudit.file.specification import read_specification
from faceaudit.models.asking import model_of
from faceaudit.people.labels import ask_for_labels, labels_by_people
from faceaudit.people.tasks import PeopleNeeded
from faceaudit.utils.errors import InputError
from faceworld import crowd

FILE = """\
name: asked
question: Does darker skin make the model err more often?
generator: {{kind: known-truth, base_faces: 20}}
axes: [skin_colour]
annotated: [makeup]
classes: [female, male]
people: {{kind: {kind}, raters: 3, size: 32{address}}}
model: {{kind: python, function: "brightness_model:answer", version: "1", input: {{size: 32}}}}
design: {{tolerance: 0.05, transects: 12}}
"""
MODEL = "import numpy as np\ndef answer(x):\n    return np.clip(1 - x.mean((1, 2, 3)), 0, 1)\n"
IMAGES = np.random.default_rng(0).integers(0, 256, (6, 3, 32, 32)).astype(np.uint8)
ADDRESS = {"mturk": ", address: 'https://b/'", "ground-truth": ", address: 's3://b/'"}


@pytest.fixture
def write_audit(home, module):
    module("brightness_model", MODEL)

    def written(kind):
        path = home / "asked.yml"
        path.write_text(FILE.format(kind=kind, address=ADDRESS.get(kind, "")), encoding="utf-8")
        return path

    return written


def answers_about(names, seed=1):
    scores = pd.DataFrame({"gender": np.linspace(0.1, 0.9, len(names)), "makeup": 0.2}, index=names)
    return crowd.annotate(scores, 3, seed=seed, stage="people test")


def write_ground_truth(answers, names, folder):
    """A job's output as the service leaves it."""
    lines = [
        {"source-ref": f"s3://b/{name}.png", "faces": 1, "faces-metadata": {}} for name in names
    ]
    manifest = folder / "manifests/output/output.manifest"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("\n".join(map(json.dumps, lines)))
    for number, name in enumerate(names):
        accepted = answers[(answers["image_id"] == name) & (answers["status"] == "accepted")]
        answers_of_workers = [
            {
                "workerId": row.worker_id,
                "answerContent": {
                    attribute: ATTRIBUTES[attribute][getattr(row, attribute)]
                    for attribute in ("gender", "makeup")
                },
            }
            for row in accepted.itertuples()
        ]
        file = folder / f"annotations/worker-response/iteration-1/{number}/a.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"answers": answers_of_workers}))


WRITE = {
    "label-studio": lambda answers, names, at: annotations.write_label_studio(
        answers, at / "export.json"
    ),
    "page": lambda answers, names, at: annotations.write_label_studio(answers, at / "one.json"),
    "mturk": lambda answers, names, at: annotations.write_mturk(answers, at / "batch.csv"),
    "ground-truth": write_ground_truth,
}
LEFT = {
    "label-studio": ["config.xml", "project.json", "served", "tasks.json"],
    "page": ["page-1.html"],
    "mturk": ["images", "layout.html", "tasks.csv"],
    "ground-truth": ["images", "input.manifest", "template.liquid.html"],
}


@pytest.mark.parametrize("kind", WRITE)
def test_tasks_are_written_once_and_their_export_is_read(write_audit, home, kind):
    audit = read_specification(write_audit(kind))
    with pytest.raises(PeopleNeeded) as stop:
        labels_by_people(IMAGES, ["gender", "makeup"], audit, home)
    message = str(stop.value)
    assert "\n" not in message and message.endswith("then run the same command again")
    tasks = home / "people" / "tasks"
    assert sorted(path.name for path in tasks.iterdir()) == LEFT[kind]
    text = "".join(path.read_text() for path in tasks.iterdir() if path.is_file())
    names = hidden_names(IMAGES)
    assert all(name in text for name in names)
    assert "Showy" in text and "Broad smile" not in text, "only what the audit needs is asked"
    answers = answers_about(names)
    WRITE[kind](answers, names, home / "people" / "answers")
    labels = labels_by_people(IMAGES, ["gender", "makeup"], audit, home)
    good = answers[answers["status"] == "accepted"]
    expected = crowd.mean_scores(answers).loc[names, "gender"]
    assert np.allclose(labels.scores["gender"], expected)
    assert labels.people_record["people"] == good["worker_id"].nunique()
    assert [row["attribute"] for row in labels.people_record["agreement"]] == ["gender", "makeup"]
    labelled = labels.add_to(pd.DataFrame({"image_id": range(6)}), audit)
    assert labelled["label"].tolist() == (expected >= 0.5).astype(float).tolist()


def test_images_without_an_answer_get_tasks_of_their_own(write_audit, home):
    audit = read_specification(write_audit("page"))
    names = hidden_names(IMAGES)
    place = home / "people" / "answers"
    place.mkdir(parents=True)
    annotations.write_label_studio(answers_about(names[:3]), place / "one.json")
    with pytest.raises(PeopleNeeded, match="3 of 6 images have no answer about gender"):
        labels_by_people(IMAGES, ["gender", "makeup"], audit, home)
    text = (home / "people" / "tasks" / "page-1.html").read_text()
    assert [name in text for name in names] == [False] * 3 + [True] * 3
    annotations.write_label_studio(answers_about(names[3:], 2), place / "two.json")
    assert labels_by_people(IMAGES, ["gender", "makeup"], audit, home).scores.notna().all(axis=None)


def test_a_model_that_would_judge_itself_is_refused_by_its_field(write_audit, home):
    audit = read_specification(write_audit("page"))
    readers = Reader(kind="reader", models={"gender": audit.model.model_dump()})
    audit = audit.model_copy(update={"people": readers})
    with pytest.raises(InputError, match="would agree with itself everywhere") as raised:
        ask_for_labels(audit, IMAGES, ["gender"], home, model_of(audit), print)
    error = raised.value
    assert (error.field, error.found, error.expected) == (
        "people.models.gender",
        "the model under audit",
        "another classifier",
    )
