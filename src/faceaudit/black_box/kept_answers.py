"""Answers of a model that computes here, kept by image and by model (chapter 20)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from faceaudit.black_box.answers import Answers
from faceaudit.black_box.journal import Journal, image_key
from faceaudit.black_box.local_models import LocalModel
from helpers.models.training import check_images
from helpers.utils.checks import check_whole


def ask_and_keep(
    model: LocalModel,
    images: np.ndarray,
    folder: str | Path,
    *,
    points: np.ndarray | None = None,
    batch: int = 256,
) -> Answers:
    """Ask a model about images that it has not answered yet, and keep what it says.

    Every batch is on the disk before the next one begins. What another version of the model
    answered is in a file of its own and is not used.

    Args:
        model: the one that is asked.
        images: uint8 (n, 3, height, width), an array or a memory map; the same image is asked
            about once.
        folder: where answers are kept, `<hash of the model>.jsonl`.
        points: (n, 5, 2), for `align` "arcface"; other points are another image.
        batch: images between two writes.

    Returns:
        Answers and reasons of all images, in their order.

    Raises:
        ValueError: as of the model; what it answered before is kept.

    Example:
        >>> import numpy as np, tempfile
        >>> from faceaudit import black_box
        >>> model = black_box.python_model(lambda x: x.mean((1, 2, 3)) / 255, version="1")
        >>> images = np.zeros((3, 3, 8, 8), np.uint8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     black_box.ask_and_keep(model, images, folder).values.tolist()
        [0.0, 0.0, 0.0]
    """
    check_images(images)
    check_whole("batch", batch, least=1)
    given = [None] * len(images) if points is None else list(np.asarray(points, float))
    if len(given) != len(images):
        raise ValueError(f"points: {len(given)} rows for {len(images)} images")
    keys = [image_key(*both) for both in zip(images, given, strict=True)]
    path = Path(folder, f"{model.hash[:32]}.jsonl")
    with Journal(path, {"model": model.hash}) as journal:
        first = {key: row for row, key in reversed(list(enumerate(keys)))}
        missing = sorted(row for key, row in first.items() if key not in journal.entries)
        for at in range(0, len(missing), batch):
            rows = missing[at : at + batch]
            answers = model.ask(images[rows], None if points is None else np.asarray(points)[rows])
            both = zip(answers.values, answers.reasons, strict=True)
            said = {keys[row]: _packed(*one) for row, one in zip(rows, both, strict=True)}
            journal.add_all(said)
        return _gathered([journal.entries[key] for key in keys])


def _packed(value: np.ndarray, reason: str) -> dict[str, Any]:
    """An answer as JSON: a number as it is, a vector as the base64 of its bytes."""
    if reason:
        return {"reason": str(reason)}
    if np.ndim(value) == 0:
        return {"answer": float(value)}
    single = value.astype("<f4")
    exact = single if (single == value).all() else value.astype("<f8")
    return {"vector": base64.b64encode(exact.tobytes()).decode(), "type": exact.dtype.str}


def _gathered(entries: list[dict[str, Any]]) -> Answers:
    reasons = np.array([entry.get("reason", "") for entry in entries], str)
    values = [_unpacked(entry) for entry in entries]
    width = max((value.shape for value in values), default=())
    filled = np.full((len(entries), *width), np.nan)
    for row, value in enumerate(values):
        if value.shape == width:
            filled[row] = value
    return Answers(filled, reasons)


def _unpacked(entry: dict[str, Any]) -> np.ndarray:
    if "vector" in entry:
        return np.frombuffer(base64.b64decode(entry["vector"]), entry["type"]).astype(float)
    return np.array(entry.get("answer", np.nan), float)
