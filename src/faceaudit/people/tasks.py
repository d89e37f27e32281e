"""Tasks for people: what they are asked, the files for them, and the exports that come back."""

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit import words
from faceaudit.annotations.ground_truth import MANIFEST
from faceaudit.annotations.label_studio import IMAGE_HEIGHT, labelling_config
from faceaudit.annotations.rating_page import write_pages
from faceaudit.annotations.schema import hidden_names
from faceaudit.file.parts import Export
from faceaudit.file.specification import Specification
from faceaudit.utils.files import atomic, write_text

SERVED = "/data/local-files/?d=faces/"
"""Where Label Studio serves the images of a task from."""
Questions = Mapping[str, Sequence[str]]
ENDINGS = {"label-studio": "*.json", "page": "*.json", "mturk": "*.csv"}
PROJECT = {"title": "What do you see?", "sampling": "Uniform sampling"}
MOST_UNANSWERED = 0.1
"""Share of images that may stay without an answer ("cannot say"); with more, people are missing."""


class PeopleNeeded(Exception):
    """An audit waits for people; its text says what was written and what to do."""


# --- people's answers


class Questionnaire:
    """What people are asked about images (n, 3, height, width), and the place of their answers.

    Attributes:
        names: of the images.
        files: of the export; none where there is none yet.
    """

    def __init__(
        self, images: np.ndarray, asks: Questions, audit: Specification, folder: Path, stage: str
    ) -> None:
        self.people, self._images, self._questions = audit.people, images, asks
        self._own = folder / "people" / stage
        self._place, self.names = self._own / "answers", hidden_names(images)
        if self.people.export is not None:
            self._place = Path(os.path.normpath(audit.beside(self.people.export))) / stage
        self.files = _exports(self.people.kind, self._place, {*self.names})

    def require(self, silent: np.ndarray, *what: str) -> None:
        """Stop with tasks for what has no answer (n,), where that is too much.

        `what` says what they are, and what is asked about.
        """
        if silent.mean() <= MOST_UNANSWERED:
            return
        people, place, tasks = self.people, self._place, self._own / "tasks"
        if people.export is None:
            place.mkdir(parents=True, exist_ok=True)
        # An export of one file is of all images.
        single = people.kind == "ground-truth" or not place.is_dir()
        rows = np.arange(len(silent)) if single else np.flatnonzero(silent)
        names = [self.names[row] for row in rows]
        todo = write_tasks(self._images[rows], names, self._questions, people, tasks)
        counts = int(silent.sum()), len(silent), *what
        old = single and self.files
        raise PeopleNeeded(
            *words.render_sentences("people_needed", counts, tasks, todo, place, old)
        )


def _exports(kind: str, place: Path, names: set[str]) -> list[Path]:
    """The files of an export, or the folder of a job; none where nothing is there yet.

    Of a folder, files with one of these images: answers about earlier ones may stay there.
    """
    if (place / MANIFEST if kind == "ground-truth" else place).is_file():
        return [place]
    # Systems leave files that begin with a dot beside those that are copied.
    found = [] if kind == "ground-truth" else sorted(place.glob(f"[!.]{ENDINGS[kind]}"))
    return [one for one in found if names & {*re.findall(r"\w+", one.read_text("utf8", "replace"))}]


# --- people's tasks


def write_tasks(
    images: np.ndarray, names: list[str], questions: Questions, people: Export, folder: Path
) -> str:
    """Write what people need to answer about images (n, 3, height, width), for the file's tool.

    Returns what to do with the files, as the middle of a sentence.
    """
    rows = {name: row for row, name in enumerate(names)}
    shown = {name: images[rows[name]].transpose(1, 2, 0) for name in sorted(rows)}
    pages = 0
    if people.kind == "page":
        pages = write_pages(shown, questions, folder)
    else:
        # Label Studio finds images in a folder below the one that it may serve, not in that itself.
        served = "served/faces" if people.kind == "label-studio" else "images"
        for name, image in shown.items():
            path = folder / served / f"{name}.png"
            if not path.exists():  # an earlier run that was interrupted wrote it whole
                with atomic(path) as temporary:
                    Image.fromarray(np.ascontiguousarray(image)).save(temporary, "png")
        width = IMAGE_HEIGHT * images.shape[3] // images.shape[2]  # two faces have twice the room
        for name, text in _task_files([*shown], questions, people, width).items():
            write_text(folder / name, text)
    root = shlex.quote(str((folder / "served").resolve()))
    return words.render_sentences("tasks", people, root, pages)[0]


def _task_files(
    names: list[str], questions: Questions, people: Export, width: int
) -> dict[str, str]:
    """The files of a tool besides images: name → text."""
    form = partial(words.render_template, "form.html.j2", questions=questions)
    if people.kind == "label-studio":
        tasks = [{"data": {"image": f"{SERVED}{name}.png", "image_id": name}} for name in names]
        config = labelling_config(questions, width)
        project = PROJECT | {"label_config": config, "maximum_annotations": people.raters}
        texts = {"tasks.json": json.dumps(tasks, indent=1), "config.xml": config}
        return texts | {"project.json": json.dumps(project, indent=1)}
    addresses = [f"{people.address}{name}.png" for name in names]
    if people.kind == "mturk":
        batch = pd.DataFrame({"image_id": names, "image_url": addresses})
        return {"tasks.csv": batch.to_csv(index=False), "layout.html": form(source="${image_url}")}
    lines = "".join(json.dumps({"source-ref": address}) + "\n" for address in addresses)
    source = "{{ task.input.taskObject | grant_read_access }}"
    return {"input.manifest": lines, "template.liquid.html": form(source=source)}
