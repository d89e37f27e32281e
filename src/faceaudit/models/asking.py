"""Which model an audit file names, and asking it."""

from pathlib import Path

import numpy as np

from faceaudit.file.parts import Http, ModelSettings
from faceaudit.file.specification import Specification
from faceaudit.models import answers
from faceaudit.models.answers import BlackBox, Reading
from faceaudit.models.local import SAME, TRIED, LocalModel, local_model
from faceaudit.utils.errors import fault


def model_of(
    specification: Specification, given: ModelSettings | None = None, device: str = "cpu"
) -> BlackBox:
    """The model that an audit file describes, or another one of the file, such as a reader's."""
    recogniser = given is None and specification.kind == "verification"
    given, gives = given or specification.model, "embedding" if recogniser else "probability"
    if isinstance(given, Http):
        from faceaudit.models.http import RemoteModel  # with requests

        return RemoteModel(given, Reading(gives), specification.design.seed)
    return local_model(given, specification.beside(Path()), gives, device)


def ask(model: BlackBox, images: np.ndarray, folder: Path) -> np.ndarray:
    """Probabilities (n,) of images, NaN where there is no answer; none is asked about again."""
    score, _ = answers.ask_and_keep(model, images, folder)
    answers.require_answers(score, model.name)
    return score


def check_model(model: BlackBox, images: np.ndarray) -> None:
    """Ask a model about 64 of the images twice, in other company, and refuse what is no model.

    The second time the images come in batches of one, two, three …, from the last to the first. A
    model on the network is not tried, and its answers are judged as they come.
    """
    if not isinstance(model, LocalModel):
        return
    images = images[np.unique(np.linspace(0, len(images) - 1, TRIED).astype(int))]
    first, _ = model.ask(images)
    answers.require_answers(first, model.name)
    starts = np.arange(1, len(images)).cumsum()
    for rows in np.split(np.arange(len(images))[::-1], starts[starts < len(images)]):
        again, _ = model.ask(images[rows])
        close = {"rtol": SAME, "atol": SAME, "equal_nan": True}
        if again.shape != first[rows].shape or not np.allclose(again, first[rows], **close):
            raise fault("two_answers", model.name)
