"""Tasks for people: what they are asked, the files for them, and the exports that come back."""

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit import words
from faceaudit.annotations.ground_truth import MANIFEST
from faceaudit.annotations.label_studio import IMAGE_HEIGHT, labelling_config
from faceaudit.annotations.rating_page import write_pages
from faceaudit.annotations.schema import hidden_names
from faceaudit.file.parts import AnnotationTool
from faceaudit.file.specification import Specification
from faceaudit.utils.files import atomic, write_text

LABEL_STUDIO_IMAGE_URL = "/data/local-files/?d=faces/"
"""Where Label Studio serves the images of a task from."""
Questions = Mapping[str, Sequence[str]]
"""Attribute → the answers that people choose from."""
EXPORT_PATTERNS = {"label-studio": "*.json", "page": "*.json", "mturk": "*.csv"}
"""Kind of people → names of the files of their export."""
LABEL_STUDIO_PROJECT = {
    "title": "What do you see?",
    "sampling": "Uniform sampling",
    "enable_empty_annotation": False,
}
"""Settings of a project of Label Studio, besides its questions."""
MAX_UNANSWERED_SHARE = 0.1
"""Share of images that may stay without an answer ("cannot say"); with more, people are missing."""


class PeopleNeeded(Exception):
    """An audit waits for people; its text says what was written and what to do."""


# --- people's answers


class Questionnaire:
    """What people are asked about images, and the folders of their tasks and answers.

    Args:
        images: uint8 (n, 3, height, width).
        questions: attribute → the answers that people choose from.
        audit: whose `people` are asked.
        folder: of the audit's artifacts.
        stage: of an audit that asks several times, else "".

    Attributes:
        people: of the audit file, the tool that they work in.
        names: of the images, in their order.
        files: of the export; empty where there is none yet.
    """

    def __init__(
        self,
        images: np.ndarray,
        questions: Questions,
        audit: Specification,
        folder: Path,
        stage: str,
    ) -> None:
        self.people = audit.people
        self.names = hidden_names(images)
        self._images = images
        self._questions = questions
        self._tasks = folder / "people" / stage / "tasks"
        self._answers = folder / "people" / stage / "answers"
        if self.people.export is not None:
            self._answers = Path(os.path.normpath(audit.beside(self.people.export))) / stage
        self.files = _export_files(self.people.kind, self._answers, set(self.names))

    def require(self, is_missing: np.ndarray, subject: str, question: str) -> None:
        """Stop where more than `MAX_UNANSWERED_SHARE` of the images have no answer.

        Args:
            is_missing: (n,) whether an image has no answer.
            subject: what the images are in the message, such as "images" or "pairs".
            question: what is asked about them in the message.

        Raises:
            PeopleNeeded: see `people_needed`.
        """
        if is_missing.mean() > MAX_UNANSWERED_SHARE:
            raise self.people_needed(is_missing, subject, question)

    def people_needed(self, is_missing: np.ndarray, subject: str, question: str) -> PeopleNeeded:
        """Write tasks about images without an answer; the error says where they are.

        The arguments are those of `require`.
        """
        if self.people.export is None:
            self._answers.mkdir(parents=True, exist_ok=True)
        # An export of one file is of all images.
        is_single_export = self.people.kind == "ground-truth" or not self._answers.is_dir()
        rows = np.arange(len(is_missing)) if is_single_export else np.flatnonzero(is_missing)
        names = [self.names[row] for row in rows]
        instructions = write_tasks(
            self._images[rows], names, self._questions, self.people, self._tasks
        )
        counts = (int(is_missing.sum()), len(is_missing), subject, question)
        replaced_files = is_single_export and self.files
        sentences = words.render_sentences(
            "people_needed", counts, self._tasks, instructions, self._answers, replaced_files
        )
        return PeopleNeeded(*sentences)


def _export_files(kind: str, place: Path, names: set[str]) -> list[Path]:
    """Find the files of an export that are about an audit's images.

    Args:
        kind: of the tool.
        place: a file, or a folder with files, of which those count that name one of the images:
            answers about earlier images may stay there.
        names: of the images.

    Returns:
        The files; of Ground Truth the folder of the job; empty where there is nothing yet.
    """
    is_job = kind == "ground-truth"
    file = place / MANIFEST if is_job else place
    if file.is_file():
        return [place]
    if is_job:
        return []
    # Systems leave files that begin with a dot beside those that are copied.
    files = sorted(place.glob(f"[!.]{EXPORT_PATTERNS[kind]}"))
    return [path for path in files if names & _words(path)]


def _words(path: Path) -> set[str]:
    """The words of a text file, among them the names of images."""
    return set(re.findall(r"\w+", path.read_text("utf8", "replace")))


# --- people's tasks


def write_tasks(
    images: np.ndarray, names: list[str], questions: Questions, people: AnnotationTool, folder: Path
) -> str:
    """Write what people need to answer about images, for the tool that the audit file names.

    Args:
        images: uint8 (n, 3, height, width).
        names: of the images; those of equal images are equal.
        questions: attribute → the answers that people choose from.
        people: of the audit file, with the tool.
        folder: for the files.

    Returns:
        What to do with the files, as the middle of a sentence.
    """
    rows = {name: row for row, name in enumerate(names)}
    pictures = {name: images[rows[name]].transpose(1, 2, 0) for name in sorted(rows)}
    pages = 0
    if people.kind == "page":
        pages = write_pages(pictures, questions, folder)
    else:
        # Label Studio finds images in a folder below the one that it may serve, not in that itself.
        place = "served/faces" if people.kind == "label-studio" else "images"
        _write_pictures(pictures, folder / place)
        width = IMAGE_HEIGHT * images.shape[3] // images.shape[2]  # two faces get twice the width
        for name, text in _task_files(list(pictures), questions, people, width).items():
            write_text(folder / name, text)
    served = shlex.quote(str((folder / "served").resolve()))
    return words.render_sentences("tasks", people, served, pages, pages > 1)[0]


def _write_pictures(pictures: Mapping[str, np.ndarray], folder: Path) -> None:
    """Write pictures (height, width, 3) as `<name>.png`, if an earlier run did not."""
    for name, picture in pictures.items():
        path = folder / f"{name}.png"
        if not path.exists():  # an earlier run that was interrupted wrote it whole
            with atomic(path) as temporary:
                Image.fromarray(np.ascontiguousarray(picture)).save(temporary, "png")


def _task_files(
    names: list[str], questions: Questions, people: AnnotationTool, width: int
) -> dict[str, str]:
    """The files of a tool besides images: name → text. Pictures are shown this wide, in pixels."""
    if people.kind == "label-studio":
        return _label_studio_files(names, questions, people.raters, width)
    addresses = [f"{people.address}{name}.png" for name in names]
    if people.kind == "mturk":
        tasks = pd.DataFrame({"image_id": names, "image_url": addresses})
        return {
            "tasks.csv": tasks.to_csv(index=False),
            "layout.html": _form(questions, "${image_url}"),
        }
    lines = [json.dumps({"source-ref": address}) + "\n" for address in addresses]
    source = "{{ task.input.taskObject | grant_read_access }}"
    return {"input.manifest": "".join(lines), "template.liquid.html": _form(questions, source)}


def _label_studio_files(
    names: list[str], questions: Questions, raters: int, width: int
) -> dict[str, str]:
    """The files of a project of Label Studio: name → text."""
    tasks = [
        {"data": {"image": f"{LABEL_STUDIO_IMAGE_URL}{name}.png", "image_id": name}}
        for name in names
    ]
    config = labelling_config(questions, width)
    project = LABEL_STUDIO_PROJECT | {"label_config": config, "maximum_annotations": raters}
    return {
        "tasks.json": json.dumps(tasks, indent=1),
        "config.xml": config,
        "project.json": json.dumps(project, indent=1),
    }


def _form(questions: Questions, source: str) -> str:
    """The page of a task of Amazon's tools, which puts the address of an image at `source`."""
    return words.render_template("form.html.j2", questions=questions, source=source)
