"""What people answer in the real Label Studio is what `read_label_studio` finds in its exports.

Three people who were invited annotate images that came by import, from a synchronised folder and
as uploads. They skip, change their minds, delete, begin and answer twice. Every answer is noted
when it is sent, and looked for in every format.
"""

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from faceaudit.annotations import (
    ATTRIBUTES,
    labelling_config,
    read_label_studio,
    write_label_studio,
)
from faceaudit.annotations.schema import hash_annotator
from faceworld import crowd

IMPORTED = [f"{number:05d}_L{number % 3}" for number in range(7)]
SYNCHRONISED = ["00100", "a b", "ä%20+&"]
UPLOADED = ["00200", "c_1", "c d", "é+(1)"]
UNTOUCHED = IMPORTED[6]
IMAGES = IMPORTED + SYNCHRONISED + UPLOADED
SERVERS_FORMATS = ("JSON", "JSON_MIN", "CSV", "TSV")
ANSWER = ["image_id", "annotator_id", "attribute"]


def results(levels: dict[str, int | tuple[int, ...]]) -> list[dict]:
    """Answers as the labelling screen sends them; several levels where a tuple stands."""
    return [
        {
            "from_name": name,
            "to_name": "img",
            "type": "choices",
            "value": {"choices": [ATTRIBUTES[name][one] for one in np.atleast_1d(level)]},
        }
        for name, level in levels.items()
    ]


class Study:
    """A project on the server, and what was sent to it."""

    def __init__(self, server, title: str, data: Sequence[dict] = ()) -> None:
        self.owner = server.owner
        about = {"title": title, "maximum_annotations": 30, "enable_empty_annotation": False}
        about["label_config"] = labelling_config()
        self.number: int = self.owner.post("/api/projects", about)["id"]
        self.path = f"/api/projects/{self.number}"
        self.tasks: dict[str, int] = {}
        if data:
            tasks = [{"data": one} for one in data]
            made = self.owner.post(f"{self.path}/import?return_task_ids=1", tasks)
            ids = [one["image_id"] for one in data]
            self.tasks = dict(zip(ids, made["task_ids"], strict=True))
        self.visits: dict[int, dict] = {}
        self.draw = random.Random(17)

    def synchronise(self, folder: Path) -> None:
        """Tasks from a folder, as the owner makes them under *Cloud storage*."""
        content = {"project": self.number, "path": str(folder), "use_blob_urls": True}
        storage = self.owner.post("/api/storages/localfiles", content)["id"]
        self.owner.post(f"/api/storages/localfiles/{storage}/sync")
        stored = {task["id"]: task["storage_filename"] for task in self.listed()}
        self.tasks |= {Path(name).stem: task for task, name in stored.items() if name}

    def upload(self, path: Path) -> str:
        """A task from an image file; gives the address that the server made up for it."""
        file = {"name": path.name, "mimeType": "image/png", "buffer": path.read_bytes()}
        self.owner.ask("POST", f"{self.path}/import", multipart={"file": file})
        (task,) = [one for one in self.listed() if one["id"] not in self.tasks.values()]
        self.tasks[path.stem] = task["id"]
        return task["data"]["image"]

    def listed(self) -> list[dict]:
        """The project's tasks, as the server lists them."""
        return self.owner.get(f"/api/tasks?project={self.number}&page_size=1000")["tasks"]

    def levels(self) -> dict[str, int]:
        return {name: self.draw.randrange(len(levels)) for name, levels in ATTRIBUTES.items()}

    def content(self, levels: dict) -> dict:
        return {"result": results(levels), "lead_time": round(self.draw.uniform(2, 60), 3)}

    def annotate(self, person, image: str, levels: dict, **about) -> int:
        """Answer a task; gives the annotation's number."""
        path = f"/api/tasks/{self.tasks[image]}/annotations/?project={self.number}"
        content = self.content(levels) | {"was_cancelled": False} | about
        made = person.post(path, content)
        self.visits[made["id"]] = {"image": image, "person": person.number}
        return self._note(levels, content, made)

    def change(self, person, annotation: int, levels: dict, **about) -> None:
        """Answer again what was answered or skipped."""
        content = self.content(levels) | about
        self._note(levels, content, person.patch(f"/api/annotations/{annotation}/", content))

    def delete(self, person, annotation: int) -> None:
        person.ask("DELETE", f"/api/annotations/{annotation}/")
        del self.visits[annotation]

    def _note(self, levels: dict, content: dict, made: dict) -> int:
        self.visits[made["id"]] |= {
            "levels": {} if made["was_cancelled"] else levels,
            "seconds": content["lead_time"],
            "submitted_at": pd.Timestamp(made["created_at"]),  # the server's clock
        }
        return made["id"]

    def expected(self) -> pd.DataFrame:
        """The answers that count: of one person's about one image those given first."""
        rows = [
            {
                "image_id": visit["image"],
                "annotator_id": hash_annotator(visit["person"], "helpers"),
                "attribute": name,
                "level": level,
                "seconds": visit["seconds"],
                "submitted_at": visit["submitted_at"],
            }
            for visit in self.visits.values()
            for name, level in visit["levels"].items()
            if not isinstance(level, tuple)
        ]
        return pd.DataFrame(rows).sort_values("submitted_at").drop_duplicates(ANSWER)

    def export(self, folder: Path, kind: str, options: str = "") -> Path:
        """A file as the owner gets it from the server under *Export*."""
        path = folder / f"{kind}{'_all' * bool(options)}.{kind.split('_')[0].lower()}"
        answer = self.owner.ask("GET", f"{self.path}/export?exportType={kind}{options}")
        path.write_bytes(answer.body())
        return path

    def snapshot(self, folder: Path) -> Path:
        """An export that the server makes in the background, with people instead of numbers."""
        everybody = {"usual": True, "ground_truth": True, "skipped": True}
        whole = {name: {"only_id": False} for name in ("drafts", "annotations__completed_by")}
        content = {"annotation_filter_options": everybody, "serialization_options": whole}
        export = self.owner.post(f"{self.path}/exports/", content)["id"]
        patience = time.monotonic() + 60
        while self.owner.get(f"{self.path}/exports/{export}")["status"] != "completed":
            assert time.monotonic() < patience
            time.sleep(0.2)
        path = folder / "snapshot.json"
        path.write_bytes(self.owner.ask("GET", f"{self.path}/exports/{export}/download").body())
        return path


def drawn(folder: Path, names: list[str]) -> Path:
    """A folder with a small picture for every name."""
    folder.mkdir()
    for number, name in enumerate(names):
        Image.new("RGB", (64, 64), (20 * number, 120, 200)).save(folder / f"{name}.png")
    return folder


def as_written(folder: Path, images: list[str]) -> list[dict]:
    """Data of tasks as `write_label_studio` writes them, at addresses of the server's own."""
    shown = pd.DataFrame(0.5, index=images, columns=list(ATTRIBUTES))
    write_label_studio(crowd.annotate(shown, 1, seed=1, stage="test"), folder / "tasks.json")
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    address = "/data/local-files/?d=imported/{}.png"
    return [t["data"] | {"image": address.format(t["data"]["image_id"])} for t in tasks]


@pytest.fixture(scope="module")
def people(server) -> list:
    return [server.sign_up(name) for name in ("ann", "bob", "cy")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def study(server, people, folder) -> Study:
    ann, bob, cy = people
    drawn(server.files / "imported", IMPORTED)
    study = Study(server, "Three people", as_written(folder, IMPORTED))
    study.synchronise(drawn(server.files / "synchronised", SYNCHRONISED))
    uploads = drawn(folder / "uploads", UPLOADED)
    addresses = [study.upload(uploads / f"{name}.png") for name in UPLOADED]
    assert not any(Path(address).stem in UPLOADED for address in addresses)  # they are renamed

    assert set(study.tasks) == set(IMAGES)

    made = {}
    for image in sorted({*IMAGES} - {UNTOUCHED}):
        for name, person in zip("abc", people, strict=True):
            made[image, name] = study.annotate(person, image, study.levels())
    first, second, third, fourth, fifth, sixth = IMPORTED[:6]
    # Twice the same task; two questions unanswered; one answered with two levels.
    study.annotate(ann, first, study.levels())
    study.change(bob, made[first, "b"], {"gender": 0, "age": 5})
    study.change(cy, made[first, "c"], study.levels() | {"makeup": (0, 3)})
    # Skipped without and with answers; skipped and answered after all.
    study.change(ann, made[second, "a"], {}, was_cancelled=True)
    study.change(bob, made[second, "b"], study.levels(), was_cancelled=True)
    study.change(cy, made[second, "c"], {}, was_cancelled=True)
    study.change(cy, made[second, "c"], study.levels(), was_cancelled=False)
    # Deleted, and begun anew as a draft; changed by its author, and by the owner.
    study.delete(bob, made[third, "b"])
    draft = {"result": results(study.levels()), "lead_time": 3.0}
    bob.post(f"/api/tasks/{study.tasks[third]}/drafts?project={study.number}", draft)
    study.change(cy, made[third, "c"], study.levels())
    study.change(server.owner, made[fourth, "a"], study.levels())
    # What a model says is no answer, and a mark as ground truth changes none.
    for image in (fifth, sixth, UNTOUCHED):
        guess = {"task": study.tasks[image], "result": results(study.levels()), "score": 0.9}
        server.owner.post("/api/predictions/", guess | {"model_version": "guess"})
    server.owner.patch(f"/api/annotations/{made[fifth, 'c']}/", {"ground_truth": True})
    return study


def compared(expected: pd.DataFrame, frame: pd.DataFrame) -> pd.Series:
    """How many answers were sent and found, and how many of them are wrong."""
    found = frame.astype(dict.fromkeys(ANSWER, "str")).set_index(ANSWER)
    assert not found.index.duplicated().any()
    sent = expected.set_index(ANSWER)
    both = sent.index.intersection(found.index)
    about = ["level", "submitted_at"]
    same = (sent.loc[both, about] == found.loc[both, about]).all(axis=1)
    same &= np.isclose(sent.loc[both, "seconds"], found.loc[both, "seconds"], atol=1e-6)
    counts = {"sent": len(sent), "found": len(found), "wrong": int((~same).sum())}
    counts["lost"] = len(sent) - len(both)
    counts["never sent"] = len(found) - len(both)
    return pd.Series(counts)


def counted(report: pd.DataFrame) -> dict[str, int]:
    return {reason: n for reason, n in zip(report["reason"], report["count"], strict=True) if n}


@pytest.fixture(scope="module")
def exports(study, folder) -> dict[str, Path]:
    paths = [study.export(folder, kind) for kind in SERVERS_FORMATS]
    paths += [study.export(folder, kind, "&download_all_tasks=true") for kind in SERVERS_FORMATS]
    paths.append(study.snapshot(folder))
    return {path.stem: path for path in paths}


def test_every_answer_comes_back_from_every_format(study, exports, capsys):
    rows = {}
    for name, path in exports.items():
        frame, _ = read_label_studio(path, questions=ATTRIBUTES, known_images=IMAGES)
        rows[name] = compared(study.expected(), frame)
    table = pd.DataFrame(rows).T.rename_axis("export")
    with capsys.disabled():
        print(f"\n\n{table.to_string()}\n")
    assert (table[["wrong", "lost", "never sent"]] == 0).all(axis=None)
    assert (table["sent"] > 250).all()


@pytest.mark.parametrize("name", ["JSON", "JSON_all", "snapshot"])
def test_full_exports_report_what_is_no_answer(exports, name):
    _, report = read_label_studio(exports[name], questions=ATTRIBUTES, known_images=IMAGES)
    found = counted(report)
    assert found["cancelled assignment"] == 2
    assert found["duplicate"] == len(ATTRIBUTES)
    assert found["several levels"] == 1
    assert found["no answer"] == len(ATTRIBUTES) - 2
    assert found["ground-truth annotation"] == 1
    assert found["draft"] == 1
    assert found.get("task without annotation", 0) == (name != "JSON")


def test_data_called_like_a_question_is_no_answer(server, people, folder, tmp_path):
    planned = [one | {"gender": "Male"} for one in as_written(tmp_path, IMPORTED)]
    study = Study(server, "With planned levels", planned)
    for person in people:
        for image in IMPORTED:
            study.annotate(person, image, study.levels())
    study.annotate(people[0], IMPORTED[0], {"age": 2})
    for visit in list(study.visits)[:4]:
        study.change(server.owner, visit, {"age": 1})  # they say nothing about gender
    for kind in ("JSON", "CSV", "TSV"):
        frame, _ = read_label_studio(study.export(tmp_path, kind), questions=ATTRIBUTES)
        assert compared(study.expected(), frame)[["wrong", "lost", "never sent"]].sum() == 0, kind
    # The server puts answers into the data's place, and leaves the data where there is no answer.
    with pytest.raises(ValueError, match="JSON_MIN.json: task .*'gender'"):
        read_label_studio(study.export(tmp_path, "JSON_MIN"), questions=ATTRIBUTES)


def test_the_server_takes_the_files_that_are_written_here(server, tmp_path):
    shown = pd.DataFrame(0.5, index=IMPORTED, columns=list(ATTRIBUTES))
    answers = crowd.annotate(shown, 4, seed=1, stage="test")
    written = tmp_path / "crowd.json"
    write_label_studio(answers, written)
    study = Study(server, "From a file")
    content = {"name": written.name, "mimeType": "application/json", "buffer": written.read_bytes()}
    taken = study.owner.ask("POST", f"{study.path}/import", multipart={"file": content}).json()
    assert taken["task_count"] == len(IMPORTED)
    assert taken["annotation_count"] == len(answers)
    frame, report = read_label_studio(study.export(tmp_path, "JSON"))
    expected, expected_report = read_label_studio(written)
    assert sorted_answers(frame) == sorted_answers(expected)
    assert counted(report) == counted(expected_report)


def sorted_answers(frame: pd.DataFrame) -> list:
    return sorted(frame[[*ANSWER, "level", "seconds"]].itertuples(index=False, name=None))
