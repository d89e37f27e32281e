"""Who says what images show: people who answer in a tool, a classifier in their place, or a table.

An image is called by a hash that tells neither the face it belongs to nor its levels, and tasks are
in the order of these names, so that nobody who answers sees which images belong together. Where
there is no export yet, tasks are written and the audit stops; the next run reads what lies in the
place that the sentence names.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit.answers import BlackBox
from faceaudit.models import ask, model_of
from faceaudit.parts import Export, InTable, Reader
from faceaudit.specification import Specification
from faceaudit.tables import Rows
from helpers import annotations, errors
from helpers.annotations.amazon import MANIFEST
from helpers.annotations.class_page import write_page
from helpers.annotations.ingest import Ingest
from helpers.annotations.label_studio import labelling_config
from helpers.annotations.schema import ATTRIBUTES, heading
from helpers.artifacts import atomic
from helpers.artifacts.lineage import file_hash

ON_A_PAGE = 100
"""Images of one page: what a person answers about in an hour, and a phone can hold."""
SERVED = "/data/local-files/?d=faces/"
"""Where Label Studio serves the images of a task from."""
ENDINGS = {"label-studio": "*.json", "page": "*.json", "mturk": "*.csv"}
UNANSWERED = 0.1
"""Share of images that may stay without an answer ("cannot say"); with more, people are missing."""


class PeopleNeeded(Exception):
    """An audit waits for people; its text says what was written and what to do."""


@dataclass(frozen=True)
class Said:
    """What people, or a classifier in their place, said of images.

    Attributes:
        scores: a row per image, a column per attribute that was asked about, mean answers in
            [0, 1]; NaN where nobody answered.
        about: of the part `people` of the report.
        limits: of the report, a sentence each.
    """

    scores: pd.DataFrame
    about: dict[str, Any] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)

    def labelled(self, index: pd.DataFrame, specification: Specification) -> pd.DataFrame:
        """The images with their labels (majority of the attribute) and annotated columns."""
        scores = self.scores[specification.attribute].reset_index(drop=True)
        label = pd.Series(np.nan, index.index)
        known = scores.notna().to_numpy()
        label[known] = errors.majority(scores[known]).to_numpy()
        more = {name: self.scores[name].to_numpy() for name in specification.annotated}
        return index.assign(label=label, **more)


def said_of(
    specification: Specification,
    images: np.ndarray,
    attributes: Sequence[str],
    folder: Path,
    model: BlackBox,
    say: Callable[[str], None],
    stage: str = "",
) -> Said:
    """What people, a reader or the table of an audit say of images.

    Args:
        specification: of the audit.
        images: uint8 (n, 3, height, width), as people see them.
        attributes: that are asked about.
        folder: of the audit's artifacts.
        model: under audit, which may not be its own judge.
        say: takes a sentence on who it was.
        stage: "samples" or "transects", of an audit that asks twice.

    Raises:
        PeopleNeeded: people have to answer first.
        ValueError: a fault of the table, an export or a reader.
    """
    people = specification.people
    if isinstance(people, InTable):
        said, who = _in_table(specification), "labels stand in the table"
    elif isinstance(people, Reader):
        said = _read_off(images, attributes, specification, folder / "answers", model)
        who = "a classifier read the images in their place"
    else:
        said = people_said(images, attributes, specification, folder, stage)
        who = f"{said.about['people']} people gave {said.about['answers']:,} answers"
    say(f"people: {who}")
    return said


def _in_table(specification: Specification) -> Said:
    """Labels (as scores of 0 and 1) and annotated scores that stand in the table of images."""
    rows = Rows.read(specification.beside(specification.generator.table))
    labelled = specification.columns.answers or [specification.columns.label]
    rows.require([*labelled, *specification.annotated])
    scores = rows.shares(specification.annotated)
    scores[specification.attribute] = rows.labels(labelled, specification.classes)
    return Said(pd.DataFrame(scores).reset_index(drop=True), {"kind": "table"})


def _read_off(
    images: np.ndarray,
    attributes: Sequence[str],
    specification: Specification,
    folder: Path,
    audited: BlackBox,
) -> Said:
    """What classifiers read off images; their own threshold becomes the middle of the scale."""
    scores, cards = {}, {}
    for name in attributes:
        given = specification.people.models[name]
        model = model_of(specification, given)
        if model.hash == audited.hash:
            raise ValueError(
                f"{specification.path}: people.models.{name} is the model under audit, which would "
                "agree with itself everywhere; give another classifier, or people"
            )
        scores[name] = np.interp(ask(model, images, folder), [0, given.cut, 1], [0, 0.5, 1])
        cards[name] = model.card()
    limit = (
        f"No people looked at these images: a classifier read {_listed(attributes)}. Where it "
        "errs, and errs more often for some faces than for others, its errors stand in the report "
        "as errors of the model under audit, or hide them."
    )
    return Said(pd.DataFrame(scores), {"kind": "reader", "models": cards}, [limit])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names)


# --- people's answers


def people_said(
    images: np.ndarray,
    attributes: Sequence[str],
    specification: Specification,
    folder: Path,
    stage: str = "",
) -> Said:
    """Answers of people who work in a tool, or their tasks and a sentence where there are none yet.

    Images that are in no task, since they were made anew, get tasks of their own.

    Raises:
        PeopleNeeded: there is no export yet, or too many images have no answer in it.
        ValueError: an export that is none, in one sentence.
    """
    people, own = specification.people, folder / "people" / stage
    tasks, place = own / "tasks", own / "answers"
    if people.export is not None:
        place = Path(os.path.normpath(specification.beside(people.export))) / stage
    names = hidden_names(images)
    files = _exports(people.kind, place)
    if not files:
        told = write_tasks(images, names, attributes, people, tasks)
        if people.export is None:
            place.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in place.glob("[!.]*")) if people.kind in ENDINGS else []
        other = f" ({others[0]} in it is no {ENDINGS[people.kind]})" if others else ""
        raise PeopleNeeded(
            f"people: tasks for {len(set(names))} images are in {tasks}: {told}; put what you get "
            f"into {place}{other}, then run the same command again"
        )
    asked, single = asked_about(tasks), people.kind == "ground-truth" or not place.is_dir()

    def asked_anew(rows: Sequence[int]) -> PeopleNeeded:
        rows = range(len(names)) if single else rows  # a single export is of all images
        lacking = [names[row] for row in rows]
        told = write_tasks(images[[*rows]], lacking, attributes, people, tasks)
        return PeopleNeeded(
            f"people: {place} has answers about other images than those of the audit as it is now, "
            "whose file, generator or earlier answers were changed; undo that, or go on: tasks for "
            f"{len(set(lacking))} images are in {tasks}: {told}; put what you get "
            f"{'in place of' if single else 'beside'} what is there, then run the same command "
            "again"
        )

    try:
        ingest = _read(people.kind, files, names)
    except ValueError:
        if asked and asked.isdisjoint(names):
            raise asked_anew(range(len(names))) from None
        raise
    frame = ingest.frame[ingest.frame["attribute"].isin(attributes)]
    scores = annotations.scores(frame).reindex(index=names, columns=[*attributes])
    silent = scores.isna()
    worst = silent.mean().idxmax()
    if silent[worst].mean() > UNANSWERED:
        rows = np.flatnonzero(silent[worst])
        if asked and not asked.issuperset(names[row] for row in rows):
            raise asked_anew(rows)
        raise PeopleNeeded(
            f"people: {silent[worst].sum()} of {len(names)} images have no answer about {worst} in "
            f"{place} yet: let people go on in the tool, put the export there in place of an "
            "earlier one of these tasks, then run the same command again"
        )
    counts = {name: count for name, count in silent.sum().items() if count}
    told = _listed([f"{count} about {name}" for name, count in counts.items()])
    limits = [f"People left images without an answer: {told}."] if counts else []
    return Said(scores, _about(people, ingest, frame, files), limits)


def _exports(kind: str, place: Path) -> list[Path]:
    """The files of an export, or the folder of a job; none where nothing is there yet."""
    if kind == "ground-truth":
        return [place] if (place / MANIFEST).is_file() else []
    if place.is_file():
        return [place]
    # Systems leave files that begin with a dot beside those that are copied.
    return sorted(place.glob(f"[!.]{ENDINGS[kind]}"))


def _read(kind: str, files: list[Path], known: Sequence[str]) -> Ingest:
    if kind == "ground-truth":
        return annotations.read_ground_truth(files[0], known_images=known)
    if kind == "mturk":
        return annotations.read_mturk(files, known_images=known)
    return annotations.read_label_studio(files, known_images=known)


def _about(
    people: Export, ingest: Ingest, frame: pd.DataFrame, files: list[Path]
) -> dict[str, Any]:
    """What the report says of the people."""
    counts = annotations.count_tensor(frame)[1]
    columns = ["images", "raters", "sd", "alpha", "alpha_low", "alpha_high", "reason"]
    agreement = annotations.agreement_table(counts)[columns].reset_index()
    found = ingest.report.query("count > 0")[["reason", "unit", "count", "dropped"]]
    if people.kind == "ground-truth":
        files = [files[0] / MANIFEST]
    return {
        "kind": people.kind,
        "people": int(frame["annotator_id"].nunique()),
        "answers": len(frame),
        "wanted": people.raters,
        "ingest": found.to_dict("records"),
        "agreement": agreement.to_dict("records"),
        "files": {file.name: file_hash(file) for file in files},
    }


# --- people's tasks


def hidden_names(images: np.ndarray) -> list[str]:
    """Names for images (n, 3, height, width) that tell what they show alone: hashes of the pixels.

    Two images that are alike have one name and are asked about once; an image that is made anew and
    looks otherwise has another, so that no answer is taken for one about it.
    """
    # The letter keeps a name of digits from being read as a number.
    return [
        f"i{blake2b(np.ascontiguousarray(image), digest_size=6).hexdigest()}" for image in images
    ]


def asked_about(tasks: Path) -> set[str]:
    """Names of the images that the tasks in a folder are about."""
    files = (path.read_text(encoding="utf-8") for path in tasks.glob("*.*") if path.is_file())
    return {name for text in files for name in re.findall(r"\bi[0-9a-f]{12}\b", text)}


def write_tasks(
    images: np.ndarray,
    names: Sequence[str],
    attributes: Sequence[str],
    people: Export,
    folder: Path,
) -> str:
    """Write what people need to answer about images (n, 3, height, width), for the file's tool.

    Returns what to do with the files, as the middle of a sentence.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = {name: row for row, name in enumerate(names)}
    shown = {name: images[rows[name]].transpose(1, 2, 0) for name in sorted(rows)}
    if people.kind == "page":
        return _pages(shown, attributes, people.raters, folder)
    # Label Studio finds images in a folder below the one that it may serve, and not in that itself.
    served = "served/faces" if people.kind == "label-studio" else "images"
    _save_images(shown, folder / served)
    write = {"label-studio": _label_studio, "mturk": _mturk, "ground-truth": _ground_truth}
    files, told = write[people.kind]([*shown], attributes, people, folder)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return told


Written = tuple[dict[str, str], str]
"""Files by name, and what to do with them."""


def _label_studio(
    names: list[str], attributes: Sequence[str], people: Export, folder: Path
) -> Written:
    view = ElementTree.fromstring(labelling_config())
    questions = view[1]
    # A question is a heading and its choices.
    for title, choices in list(zip(questions[::2], questions[1::2], strict=True)):
        if choices.get("name") not in attributes:
            questions.remove(title)
            questions.remove(choices)
    config = ElementTree.tostring(view, encoding="unicode") + "\n"
    tasks = [{"data": {"image": f"{SERVED}{name}.png", "image_id": name}} for name in names]
    project = {
        "title": "What do you see?",
        "label_config": config,
        "maximum_annotations": people.raters,
        "enable_empty_annotation": False,
        "sampling": "Uniform sampling",
    }
    files = {
        "config.xml": config,
        "tasks.json": json.dumps(tasks, indent=1) + "\n",
        "project.json": json.dumps(project, indent=1) + "\n",
    }
    root = shlex.quote(str((folder / "served").resolve()))
    return files, (
        "start Label Studio with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true "
        f"LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={root} label-studio start, make a project of "
        "project.json (or by hand, with config.xml) and import tasks.json, "
        f"have {people.raters} people answer about each image, and export JSON"
    )


def _mturk(names: list[str], attributes: Sequence[str], people: Export, _: Path) -> Written:
    batch = {"image_id": names, "image_url": [f"{people.address}{name}.png" for name in names]}
    files = {
        "tasks.csv": pd.DataFrame(batch).to_csv(index=False),
        "layout.html": _form(attributes, "${image_url}"),
    }
    return files, (
        f"put the files of images at {people.address}, make an MTurk project with layout.html and "
        f"{people.raters} assignments a task, publish a batch of tasks.csv, and download its "
        "results as CSV"
    )


def _ground_truth(names: list[str], attributes: Sequence[str], people: Export, _: Path) -> Written:
    lines = [json.dumps({"source-ref": f"{people.address}{name}.png"}) for name in names]
    source = "{{ task.input.taskObject | grant_read_access }}"
    files = {
        "input.manifest": "\n".join(lines) + "\n",
        "template.liquid.html": _form(attributes, source),
    }
    return files, (
        f"put the files of images at {people.address}, start a custom labelling job of SageMaker "
        f"Ground Truth with input.manifest, template.liquid.html and {people.raters} workers an "
        "item, and copy the job's output, with manifests and annotations in it"
    )


def _pages(
    shown: dict[str, np.ndarray], attributes: Sequence[str], raters: int, folder: Path
) -> str:
    for path in folder.glob("page-*.html"):  # of tasks that may have been more
        path.unlink()
    questions, images = {name: ATTRIBUTES[name] for name in attributes}, [*shown.items()]
    starts = range(0, len(images), ON_A_PAGE)
    for number, start in enumerate(starts, 1):
        with atomic(folder / f"page-{number}.html") as temporary:
            write_page(dict(images[start : start + ON_A_PAGE]), questions, temporary)
    each = "page-1.html" if len(starts) == 1 else f"each of page-1.html to page-{len(starts)}.html"
    return (
        f"give {each} to at least {raters} people, who open it in a browser and save their answers"
    )


def _form(attributes: Sequence[str], source: str) -> str:
    """A form of Amazon's elements: the image, and a list to choose from for every question."""
    rows = [
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>',
        "<crowd-form>",
        f'<p><img src="{source}" width="256" alt="the face to look at"></p>',
    ]
    for name in attributes:
        levels = "".join(f"<option>{html.escape(level)}</option>\n" for level in ATTRIBUTES[name])
        rows.append(
            f'<p><label>{html.escape(heading(name))}: <select name="{name}" required>\n'
            f'<option value="">choose …</option>\n{levels}</select></label></p>'
        )
    return "\n".join([*rows, "</crowd-form>", ""])


def _save_images(shown: dict[str, np.ndarray], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in shown.items():
        path = folder / f"{name}.png"
        if not path.exists():  # an earlier run that was interrupted wrote it whole
            with atomic(path) as temporary:
                Image.fromarray(np.ascontiguousarray(image)).save(temporary, "png")
