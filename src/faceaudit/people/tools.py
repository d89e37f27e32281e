"""The tools that people answer in: tasks are written for them, and exports are found and read.

`TOOLS` has all that an audit does for a kind of tool. Exports about pairs of faces are read by
`faceaudit.annotations.pair_ratings`.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit import annotations, words
from faceaudit.annotations.ground_truth import MANIFEST
from faceaudit.annotations.ingest import Ingest
from faceaudit.annotations.label_studio import IMAGE_HEIGHT, labelling_config
from faceaudit.annotations.rating_page import write_pages
from faceaudit.annotations.schema import Scales
from faceaudit.file.parts import AnnotationTool, ToolKind, kinds_of
from faceaudit.file.specification import Specification
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import State, atomic, state, write_text

LABEL_STUDIO_IMAGE_URL = "/data/local-files/?d=faces/"
"""Where Label Studio serves the images of a task from."""
LABEL_STUDIO_PROJECT = {
    "title": "What do you see?",
    "sampling": "Uniform sampling",
    "enable_empty_annotation": False,
}
"""Settings of a project of Label Studio, besides its questions."""
KEPT_EXPORTS = 64
"""How many exports a process keeps as they were read. A study in a notebook is called again after
every stop, and needs the exports of all its stages each time."""


@dataclass(frozen=True)
class Tasks:
    """What people are to be asked in a tool.

    Attributes:
        pictures: name → uint8 (height, width, 3), all of one size, sorted by their names.
        questions: attribute → the answers that people choose from.
        people: of the audit file, with the tool.
        folder: for the files.
    """

    pictures: Mapping[str, np.ndarray]
    questions: Scales
    people: AnnotationTool
    folder: Path


@dataclass(frozen=True)
class Tool:
    """What an audit does for one kind of tool.

    Attributes:
        write_tasks: writes the files of tasks; returns what to do with them, as the middle of a
            sentence.
        read_export: takes the files of an export and the names of images, and reads the answers
            about these. Later calls may get the same tables, so change them in a copy.
        export_name: pattern of the names of the files of an export; of a job, the file in its
            folder that there is once it has ended.
        is_job: whether an export is the folder of a job, and is of all images.
    """

    write_tasks: Callable[[Tasks], str]
    read_export: Callable[[list[Path], list[str]], Ingest]
    export_name: str
    is_job: bool = False

    def find_export(self, place: Path, names: set[str]) -> list[Path]:
        """Find the files of an export that are about an audit's images.

        Args:
            place: a file, or a folder with files, of which those count that name one of the images:
                answers about earlier images may stay there.
            names: of the images.

        Returns:
            The files; of a job its folder; empty where there is nothing yet.
        """
        if self.is_job:
            return [place] if (place / self.export_name).is_file() else []
        if place.is_file():
            return [place]
        # Systems leave files that begin with a dot beside those that are copied.
        files = sorted(place.glob(f"[!.]{self.export_name}"))
        return [path for path in files if names & _words(path)]

    def files_to_hash(self, files: list[Path]) -> list[Path]:
        """The files whose hashes say which export was read: of a job, that in its folder."""
        return [file / self.export_name for file in files] if self.is_job else files


def tool_of(audit: Specification) -> AnnotationTool:
    """The tool that the people of an audit answer in.

    Raises:
        InputError: the people of the audit file answer in no tool.
    """
    people = audit.people
    if not isinstance(people, AnnotationTool):
        expected = f"one of {', '.join(kinds_of(AnnotationTool))}"
        raise InputError(
            f"{audit.path}: people.kind is {people.kind}, {expected} was expected",
            field="people.kind",
            found=people.kind,
            expected=expected,
        )
    return people


def _words(path: Path) -> frozenset[str]:
    """The words of a text file, among them the names of images; read again only after a change."""
    return _words_in_state(path, state(path))


@lru_cache(maxsize=KEPT_EXPORTS)
def _words_in_state(path: Path, _: State) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", path.read_text("utf8", "replace")))


# --- tasks


def _write_page(tasks: Tasks) -> str:
    """Pages that are opened in a browser, with the images in them."""
    pages = write_pages(tasks.pictures, tasks.questions, tasks.folder)
    return _instructions("tasks_of_page", tasks.people.raters, pages, pages > 1)


def _write_label_studio(tasks: Tasks) -> str:
    """The files of a project of Label Studio."""
    # It finds images in a folder below the one that it may serve, not in that itself.
    served = tasks.folder / "served"
    _write_pictures(tasks.pictures, served / "faces")
    rows = [
        {"data": {"image": f"{LABEL_STUDIO_IMAGE_URL}{name}.png", "image_id": name}}
        for name in tasks.pictures
    ]
    height, width, _ = next(iter(tasks.pictures.values())).shape
    config = labelling_config(tasks.questions, IMAGE_HEIGHT * width // height)
    raters = tasks.people.raters
    project = LABEL_STUDIO_PROJECT | {"label_config": config, "maximum_annotations": raters}
    write_text(tasks.folder / "tasks.json", json.dumps(rows, indent=1))
    write_text(tasks.folder / "config.xml", config)
    write_text(tasks.folder / "project.json", json.dumps(project, indent=1))
    return _instructions("tasks_of_label_studio", raters, shlex.quote(str(served.resolve())))


def _write_mturk(tasks: Tasks) -> str:
    """The tasks of a batch of Mechanical Turk, and the page that shows one."""
    _write_pictures(tasks.pictures, tasks.folder / "images")
    addresses = _addresses(tasks)
    table = pd.DataFrame({"image_id": list(tasks.pictures), "image_url": addresses})
    write_text(tasks.folder / "tasks.csv", table.to_csv(index=False))
    write_text(tasks.folder / "layout.html", _form(tasks.questions, "${image_url}"))
    return _instructions("tasks_of_mturk", tasks.people.raters, tasks.people.address)


def _write_ground_truth(tasks: Tasks) -> str:
    """The items of a labelling job of Ground Truth, and the page that shows one."""
    _write_pictures(tasks.pictures, tasks.folder / "images")
    lines = [json.dumps({"source-ref": address}) + "\n" for address in _addresses(tasks)]
    source = "{{ task.input.taskObject | grant_read_access }}"
    write_text(tasks.folder / "input.manifest", "".join(lines))
    write_text(tasks.folder / "template.liquid.html", _form(tasks.questions, source))
    return _instructions("tasks_of_ground_truth", tasks.people.raters, tasks.people.address)


def _write_pictures(pictures: Mapping[str, np.ndarray], folder: Path) -> None:
    """Write pictures (height, width, 3) as `<name>.png`, if an earlier run did not."""
    for name, picture in pictures.items():
        path = folder / f"{name}.png"
        # What an earlier run wrote is whole, unless the power was cut.
        is_there = path.exists() and path.stat().st_size > 0
        if not is_there:
            with atomic(path, durable=False) as temporary:
                image = Image.fromarray(np.ascontiguousarray(picture))
                # Quickly: a study has thousands of pictures, and files are larger by a tenth.
                image.save(temporary, "png", compress_level=1)


def _addresses(tasks: Tasks) -> list[str]:
    """The addresses that the images of tasks will have."""
    return [f"{tasks.people.address}{name}.png" for name in tasks.pictures]


def _form(questions: Scales, source: str) -> str:
    """The page of a task of Amazon's tools, which puts the address of an image at `source`."""
    return words.render_template("form.html.j2", questions=questions, source=source)


def _instructions(macro: str, *values: object) -> str:
    """What to do with the files of tasks, by the macro of the templates for the tool."""
    (sentence,) = words.render_sentences(macro, *values)
    return sentence


# --- exports


def _read_label_studio(files: list[Path], names: list[str]) -> Ingest:
    """The answers about images; files are read again only after a change."""
    states = tuple(state(file) for file in files)
    return _read_label_studio_in_states(tuple(files), states, tuple(names))


@lru_cache(maxsize=KEPT_EXPORTS)
def _read_label_studio_in_states(
    files: tuple[Path, ...], _: tuple[State, ...], names: tuple[str, ...]
) -> Ingest:
    return annotations.read_label_studio(files, known_images=names)


def _read_mturk(files: list[Path], names: list[str]) -> Ingest:
    return annotations.read_mturk(files, known_images=names)


def _read_ground_truth(files: list[Path], names: list[str]) -> Ingest:
    (folder,) = files
    return annotations.read_ground_truth(folder, known_images=names)


TOOLS: dict[ToolKind, Tool] = {
    "label-studio": Tool(_write_label_studio, _read_label_studio, "*.json"),
    "page": Tool(_write_page, _read_label_studio, "*.json"),
    "mturk": Tool(_write_mturk, _read_mturk, "*.csv"),
    "ground-truth": Tool(_write_ground_truth, _read_ground_truth, str(MANIFEST), is_job=True),
}
"""Kind of tool of the audit file → what an audit does for it."""
