"""Which model an audit file names, and asking it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from faceaudit.file.parts import Http, ModelSettings, NodePackage, TableOfScores, one_of, require
from faceaudit.file.specification import Specification
from faceaudit.models.answers import (
    ANSWERS_FILE,
    ANSWERS_FOLDER,
    BlackBox,
    Reading,
    answers_kept_before,
    ask_and_keep,
    require_answers,
)
from faceaudit.models.local import ANSWER_TOLERANCE, CHECKED_IMAGES, LocalModel, local_model
from faceaudit.utils.errors import InputError, require_extra

KEPT_TOLERANCE = 1e-3
"""Kept answers may differ by so much: a GPU, or another machine or library, rounds otherwise."""


def model_of(
    specification: Specification, part: ModelSettings | None = None, device: str = "cpu"
) -> BlackBox:
    """Open a model that an audit file describes.

    Args:
        specification: of the audit.
        part: of the audit file that describes the model, such as a reader's; by default the model
            under audit.
        device: "cpu" or "cuda", where the network of a file computes.
    """
    gives = "probability"
    if part is None:
        part = specification.model
        if specification.kind == "verification":
            gives = "embedding"
    if isinstance(part, Http):
        require_extra("http", "requests")
        from faceaudit.models.http import RemoteModel  # with requests

        return RemoteModel(part, Reading(gives), specification.design.seed)
    if isinstance(part, NodePackage):
        from faceaudit.models.node import SHARES, NodeModel

        require(part.read in SHARES, "model.read", part.read, f"a score, {one_of(SHARES)},")
        return NodeModel(part, specification.beside(part.folder))
    assert not isinstance(part, TableOfScores)  # an audit of scores in a table asks no model
    return local_model(part, specification.beside(Path()), gives, device)


def ask(model: BlackBox, images: np.ndarray, folder: Path) -> np.ndarray:
    """Probabilities (n,) of images, NaN where there is no answer; none is asked about again."""
    scores, _ = ask_and_keep(model, images, folder)
    require_answers(scores, model.name)
    return scores


def has_rows(folder: Path) -> bool:
    """Whether a folder of answers has a row of any model, be it of an answer or of a failed call.

    The folder itself says little: it is made before a model is asked, which can fail as long as an
    extra is not installed.
    """
    path = folder / ANSWERS_FILE
    if not path.is_file():
        return False
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        try:
            (found,) = connection.execute("SELECT EXISTS (SELECT 1 FROM calls)").fetchone()
        except sqlite3.DatabaseError:  # what is damaged may have held answers
            return True
    return bool(found)


def is_constant(scores: np.ndarray) -> bool:
    """Whether two scores or more of (n,) are there, and all of them are equal."""
    answered = scores[~np.isnan(scores)]
    return len(answered) > 1 and np.ptp(answered) == 0


def require_judged_answers(model: BlackBox, answers: np.ndarray) -> None:
    """Raise InputError where an audit cannot judge the answers of its model.

    A classifier may say the same of all images: its report names it as a constant decider
    (`faceaudit.checks`), as it does where the answers are in a table. A recogniser may not, since
    equal vectors make every pair as similar as every other.

    Args:
        model: under audit.
        answers: (n,) probabilities or (n, d) vectors.
    """
    if model.reading.gives == "embedding" or not is_constant(answers):
        require_answers(answers, model.name)


def check_model(
    model: BlackBox, images: np.ndarray, folder: Path, people_follow: bool = False
) -> None:
    """Ask a model twice about 64 of the images, in batches of other images the second time.

    The second time the images come in batches of one, two, three …, from the last to the first.
    Answers that were kept before have to be those that the model gives now. A model on the network
    is not tried, and its answers are judged as they come.

    Args:
        model: under audit.
        images: uint8 (n, 3, height, width).
        folder: of the audit, which keeps the answers.
        people_follow: whether people are asked next. Their time is not spent on a model that says
            the same of all images, whose report would need no label.

    Raises:
        InputError: the model gives no answers, or two to one image, or another one than the answer
            that is kept; or the same one to every image, where no report can or should be made of
            that.
    """
    if not isinstance(model, LocalModel):
        return
    rows = np.unique(np.linspace(0, len(images) - 1, CHECKED_IMAGES).astype(int))
    images = images[rows]
    first, _ = model.ask(images)
    if people_follow:
        require_answers(first, model.name)
    else:
        require_judged_answers(model, first)
    starts = np.arange(1, len(images)).cumsum()
    backwards = np.arange(len(images))[::-1]
    for batch in np.split(backwards, starts[starts < len(images)]):
        second, _ = model.ask(images[batch])
        if not _same_answers(first[batch], second, ANSWER_TOLERANCE):
            raise InputError(
                f"{model.name}: two answers for the same image in two batches; it must answer the "
                "same every time: turn off dropout, batch statistics and random augmentation",
                field=model.name,
                expected="the same answer to an image every time",
            )
    _require_kept_answers(model, images, first, folder)


def _require_kept_answers(
    model: LocalModel, images: np.ndarray, answers: np.ndarray, folder: Path
) -> None:
    """Raise InputError where a model answers otherwise now than it did when answers were kept.

    Args:
        model: under audit.
        images: uint8 (n, 3, height, width).
        answers: that the model gives about them now.
        folder: of the audit.
    """
    were_kept, kept = answers_kept_before(model, images, folder / ANSWERS_FOLDER)
    differs = [
        not _same_answers(was, now, KEPT_TOLERANCE)
        for was, now in zip(kept.values, answers[were_kept], strict=True)
    ]
    if any(differs):
        version = model.description.get("version")
        named = f" of the version {version!r}" if version else ""
        raise InputError(
            f"{model.name}: its answers{named} about {sum(differs)} of {len(differs)} images are "
            f"not those that {folder} keeps; change model.version, or keep the answers in another "
            "folder",
            field="model.version",
            found=version,
            expected="the answers that were kept, or another version",
        )


def _same_answers(first: np.ndarray, second: np.ndarray, tolerance: float) -> bool:
    """Whether two answers about the same images are equal up to rounding."""
    if np.isnan(first).all() and np.isnan(second).all():  # of faces that are not found, no vectors
        return True
    return first.shape == second.shape and np.allclose(
        second, first, rtol=tolerance, atol=tolerance, equal_nan=True
    )
