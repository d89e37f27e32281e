"""Tasks for people, in the files of the tool that an audit file names.

An image is called by a hash that tells neither the face it belongs to nor its levels, and the order
is that of these names, so that nobody who answers sees which images belong together.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit.parts import Export
from faceaudit.plan import write_text
from helpers.annotations.class_page import write_page
from helpers.annotations.label_studio import labelling_config
from helpers.annotations.schema import ATTRIBUTES, heading
from helpers.artifacts import atomic

ON_A_PAGE = 100
"""Images of one page: what a person answers about in an hour, and a phone can hold."""
SERVED = "/data/local-files/?d=faces/"
"""Where Label Studio serves the images of a task from."""


class PeopleNeeded(Exception):
    """An audit waits for people; its text says what was written and what to do.

    Example:
        >>> str(PeopleNeeded("Send page.html to five people."))
        'Send page.html to five people.'
    """


def hidden_names(images: np.ndarray) -> list[str]:
    """Names for images that tell nothing but what they show: hashes of their pixels.

    Two images that are alike have one name and are asked about once; an image that is made anew and
    looks otherwise has another, so that no answer is taken for one about it.

    Args:
        images: uint8 (n, 3, height, width).

    Returns:
        A name each.

    Example:
        >>> hidden_names(np.zeros((1, 3, 8, 8), np.uint8))[0][:1]
        'i'
    """
    # The letter keeps a name of digits from being read as a number.
    return [
        f"i{blake2b(np.ascontiguousarray(image), digest_size=6).hexdigest()}" for image in images
    ]


def asked_about(folder: Path) -> set[str]:
    """Names of the images that the tasks in a folder are about; none where there are no tasks.

    Args:
        folder: of `write_tasks`.

    Returns:
        The names.

    Example:
        >>> asked_about(Path("nowhere"))
        set()
    """
    files = (path.read_text(encoding="utf-8") for path in folder.glob("*.*") if path.is_file())
    return {name for text in files for name in re.findall(r"\bi[0-9a-f]{12}\b", text)}


def write_tasks(
    images: np.ndarray,
    names: Sequence[str],
    attributes: Sequence[str],
    people: Export,
    folder: Path,
) -> str:
    """Write what people need to answer, for the tool that the audit file names.

    Args:
        images: uint8 (n, 3, height, width).
        names: of the images, of `hidden_names`.
        attributes: that are asked about, of `helpers.annotations.ATTRIBUTES`.
        people: of the audit file.
        folder: where the files go.

    Returns:
        What to do with the files, as the middle of a sentence.

    Example:
        >>> import tempfile
        >>> page = Export(kind="page")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_tasks(np.zeros((1, 3, 8, 8), np.uint8), ["a"], ["age"], page, Path(folder))
        'give page-1.html to at least 5 people, who open it in a browser and save their answers'
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = {name: row for row, name in enumerate(names)}
    shown = [(name, images[rows[name]].transpose(1, 2, 0)) for name in sorted(rows)]
    write = {
        "label-studio": _label_studio,
        "mturk": _mturk,
        "ground-truth": _ground_truth,
        "page": _pages,
    }[people.kind]
    return write(shown, list(attributes), people, folder)


Shown = list[tuple[str, np.ndarray]]


def _label_studio(shown: Shown, attributes: list[str], people: Export, folder: Path) -> str:
    # The server finds images in a folder below the one that it may serve, and not in that itself.
    _save_images(shown, folder / "served" / "faces")
    view = ElementTree.fromstring(labelling_config())
    questions = view[1]
    # A question is a heading and its choices.
    for title, choices in list(zip(questions[::2], questions[1::2], strict=True)):
        if choices.get("name") not in attributes:
            questions.remove(title)
            questions.remove(choices)
    config = ElementTree.tostring(view, encoding="unicode") + "\n"
    tasks = [{"data": {"image": f"{SERVED}{name}.png", "image_id": name}} for name, _ in shown]
    project = {
        "title": "What do you see?",
        "label_config": config,
        "maximum_annotations": people.raters,
        "enable_empty_annotation": False,
        "sampling": "Uniform sampling",
    }
    write_text(folder / "config.xml", config)
    write_text(folder / "tasks.json", json.dumps(tasks, indent=1) + "\n")
    write_text(folder / "project.json", json.dumps(project, indent=1) + "\n")
    root = shlex.quote(str((folder / "served").resolve()))
    return (
        "start Label Studio with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true "
        f"LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={root} label-studio start, make a project of "
        "project.json (or by hand, with config.xml) and import tasks.json, "
        f"have {people.raters} people answer about each image, and export JSON"
    )


def _mturk(shown: Shown, attributes: list[str], people: Export, folder: Path) -> str:
    _save_images(shown, folder / "images")
    names = [name for name, _ in shown]
    address = str(people.address)
    batch = {"image_id": names, "image_url": [f"{address}{name}.png" for name in names]}
    write_text(folder / "tasks.csv", pd.DataFrame(batch).to_csv(index=False))
    write_text(folder / "layout.html", _form(attributes, "${image_url}"))
    return (
        f"put the files of images at {address}, make an MTurk project with layout.html and "
        f"{people.raters} assignments a task, publish a batch of tasks.csv, and download its "
        "results as CSV"
    )


def _ground_truth(shown: Shown, attributes: list[str], people: Export, folder: Path) -> str:
    _save_images(shown, folder / "images")
    address = str(people.address)
    lines = [json.dumps({"source-ref": f"{address}{name}.png"}) for name, _ in shown]
    write_text(folder / "input.manifest", "\n".join(lines) + "\n")
    source = "{{ task.input.taskObject | grant_read_access }}"
    write_text(folder / "template.liquid.html", _form(attributes, source))
    return (
        f"put the files of images at {address}, start a custom labelling job of SageMaker Ground "
        f"Truth with input.manifest, template.liquid.html and {people.raters} workers an item, "
        "and copy the job's output, with manifests and annotations in it"
    )


def _pages(shown: Shown, attributes: list[str], people: Export, folder: Path) -> str:
    questions = {name: ATTRIBUTES[name] for name in attributes}
    starts = range(0, len(shown), ON_A_PAGE)
    for number, start in enumerate(starts, 1):
        with atomic(folder / f"page-{number}.html") as temporary:
            write_page(dict(shown[start : start + ON_A_PAGE]), questions, temporary)
    kept = {f"page-{number + 1}.html" for number in range(len(starts))}
    for path in folder.glob("page-*.html"):
        if path.name not in kept:  # of tasks that were more
            path.unlink()
    each = "page-1.html" if len(starts) == 1 else f"each of page-1.html to page-{len(starts)}.html"
    return (
        f"give {each} to at least {people.raters} people, who open it in a browser and save their "
        "answers"
    )


def _form(attributes: list[str], source: str) -> str:
    """A form of Amazon's elements: the image, and a list to choose from for every question."""
    rows = [
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>',
        "<crowd-form>",
        f'<p><img src="{source}" width="256" alt="the face to look at"></p>',
    ]
    for name in attributes:
        rows += [
            f'<p><label>{html.escape(heading(name))}: <select name="{name}" required>',
            '<option value="">choose …</option>',
            *(f"<option>{html.escape(level)}</option>" for level in ATTRIBUTES[name]),
            "</select></label></p>",
        ]
    return "\n".join([*rows, "</crowd-form>", ""])


def _save_images(shown: Shown, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in shown:
        path = folder / f"{name}.png"
        if not path.exists():  # an earlier run that was interrupted wrote it whole
            with atomic(path) as temporary:
                Image.fromarray(np.ascontiguousarray(image)).save(temporary, "png")
