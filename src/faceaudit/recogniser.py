"""The verification route with a recogniser that is asked: its embeddings, and pairs of them.

Which pairs are compared follows from the table of images, the cap and the seed, so it is fixed
before the model is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.answers import NO_FACE, Answers
from faceaudit.models import embed, model_of
from faceaudit.pairs import Pairs, open_faces
from faceaudit.plausibility import doubts_of_preparation, require_alike
from faceaudit.specification import Specification
from helpers.utils import seeding
from helpers.verification import similarity


def ask_recogniser(
    specification: Specification, folder: Path, say: Callable[[str], None]
) -> tuple[Pairs, dict[str, Any]]:
    """Ask the recogniser of an audit file about its images, and pair them.

    Args:
        specification: of the audit.
        folder: of the audit's artifacts, which keeps images and answers.
        say: takes a sentence after every stage.

    Returns:
        The pairs, and what the report says of the model and the images.

    Raises:
        ValueError: a fault of the table, an image or the model.

    Example:
        >>> one = Specification(
        ...     name="mine", kind="verification", question="?", images="nowhere.csv",
        ...     reference="a", design={"tolerance": 0.1},
        ...     model={"kind": "onnx", "path": "r.onnx", "input": {"size": 64}, "threshold": 0.5},
        ... )
        >>> ask_recogniser(one, Path("kept"), print)
        Traceback (most recent call last):
        ValueError: nowhere.csv: no such table; the path is relative to the audit file
    """
    faces = open_faces(specification)
    pixels, frame = faces.pixels(folder), faces.frame
    people, groups = frame["identity"].nunique(), frame["group"].nunique()
    say(f"faces: {len(frame):,} images of {people:,} identities in {groups} groups")
    model = model_of(specification)
    answers = embed(model, pixels, folder / "answers", faces.points)
    silent = int((answers.reasons != "").sum())
    say(f"model: {len(frame) - silent:,} embeddings, {silent:,} images without one")
    data = from_embeddings(answers, frame, specification, faces.source)
    say(f"pairs: {len(data.frame):,}, and {data.left_out:,} left out for want of an embedding")
    doubts = doubts_of_preparation(
        model, pixels, frame["identity"], specification.design.seed, faces.points
    )
    return data, {"model": model.card(), "generator": faces.pictures.card, "doubts": doubts}


def from_embeddings(
    answers: Answers, images: pd.DataFrame, specification: Specification, source: str
) -> Pairs:
    """Pairs of images with the cosine similarity of their embeddings.

    A face without an embedding is a failure to enrol, and its pairs are left out.

    Args:
        answers: of `embed`, a row per image.
        images: image, identity, group and unit, as of `Faces`.
        specification: whose `design` says how many impostors are drawn, and by which seed.
        source: of the images.

    Returns:
        The pairs.

    Raises:
        ValueError: an embedding of zeros, which has no direction.

    Example:
        >>> one = Specification(
        ...     name="mine", kind="verification", question="?", images="faces.csv",
        ...     reference="a", design={"tolerance": 0.1},
        ...     model={"kind": "onnx", "path": "r.onnx", "input": {"size": 64}, "threshold": 0.5},
        ... )
        >>> images = pd.DataFrame({"image": [*"pqr"], "identity": [*"xxy"], "group": "a"})
        >>> vectors = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
        >>> answers = Answers(vectors, np.array(["", "", ""]))
        >>> found = from_embeddings(answers, images.assign(unit=images["identity"]), one, "faces")
        >>> found.frame[["first", "second", "same", "similarity"]].values.tolist()
        [['x', 'x', 1, 1.0], ['x', 'y', 0, 0.0], ['x', 'y', 0, 0.0]]
    """
    enrolled = answers.reasons == ""
    vectors = np.where(enrolled[:, None], answers.values, 1.0)
    if (empty := ~vectors.any(axis=1)).any():
        name = images["image"].iloc[int(empty.argmax())]
        raise ValueError(
            f"{source}: the model's embedding of {name!r} is nothing but zeros, which has no "
            "direction; is it the right model output?"
        )
    design = specification.design
    drawn = draw_pairs(images, design.impostors, design.seed)
    ends = drawn[["first", "second"]].to_numpy()
    whole = enrolled[ends].all(axis=1)
    unit, kept = images["unit"].to_numpy(), ends[whole]
    groups = pd.CategoricalDtype(sorted(set(images["group"])))
    frame = pd.DataFrame(
        {
            "group": drawn["group"][whole].astype(groups),
            "first": unit[kept[:, 0]],
            "second": unit[kept[:, 1]],
            "same": drawn["same"][whole],
            "similarity": similarity(vectors, kept),
        }
    ).reset_index(drop=True)
    require_alike(frame, source)
    failed = ~enrolled & (answers.reasons != NO_FACE)
    images = images.assign(enrolled=enrolled.astype(int), failed_call=failed.astype(int))
    return Pairs(frame, source, images, int((~whole).sum()))


def draw_pairs(images: pd.DataFrame, impostors: int, seed: int) -> pd.DataFrame:
    """Which images are compared: all pairs of one identity, and impostors of one group.

    Like is compared with like, as in NIST's FRTE: two people of different groups are easy to tell
    apart, and would hide who is mixed up within a group. Where a group has more impostor pairs than
    wanted, so many are drawn, each with the same probability; draws depend on the names of images,
    identities and groups, not on the order of the rows.

    Args:
        images: image, identity and group.
        impostors: of each group, at most.
        seed: of the draws.

    Returns:
        A row per pair: group, first and second (rows of the images, numbered from 0), same (1 for
        one identity, 0 for two).

    Example:
        >>> images = pd.DataFrame({"image": [*"pqrs"], "identity": [*"xxyy"], "group": "a"})
        >>> draw_pairs(images, impostors=3, seed=1)["same"].tolist()
        [1, 1, 0, 0, 0]
    """
    numbered = images.reset_index(drop=True).sort_values(["group", "identity", "image"])
    parts = []
    for group, own in numbered.groupby("group", sort=True):
        codes, _ = pd.factorize(own["identity"])
        sizes = np.bincount(codes)
        start = (np.cumsum(sizes) - sizes)[codes]  # where the images of an identity begin
        within = np.arange(len(own)) - start
        random = seeding.rng(seed, f"audit/impostors/{group}")
        total = int(start.sum())
        few = min(impostors, total)
        chosen = np.sort(random.choice(total, few, replace=False)) if total else np.arange(0)
        genuine = _with_earlier(start, within, np.arange(within.sum()))
        others = _with_earlier(np.zeros_like(start), start, chosen)
        rows = own.index.to_numpy()[np.concatenate([genuine, others])]
        same = np.repeat([1, 0], [len(genuine), len(others)])
        parts.append(
            pd.DataFrame({"group": group, "first": rows[:, 0], "second": rows[:, 1], "same": same})
        )
    return pd.concat(parts, ignore_index=True)


def _with_earlier(start: np.ndarray, count: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Some of the pairs (m, 2) of every image with the `count` ones from `start` on, by number."""
    ends = np.cumsum(count)
    later = np.searchsorted(ends, chosen, side="right")
    return np.stack([chosen - (ends - count)[later] + start[later], later], axis=1)
