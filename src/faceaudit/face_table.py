"""A table of images of known identities, for a recogniser that is asked: read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from faceaudit.example_recogniser import make_example_faces
from faceaudit.pairs import require_groups
from faceaudit.parts import Http
from faceaudit.reading import read_table, refuse_rows, require_named
from faceaudit.specification import Specification
from helpers.artifacts.lineage import ROOT
from helpers.generators.batches import synthesize_to_store
from helpers.generators.image_set import ImageSet

EXAMPLE = ROOT / "build" / "audits" / "example-faces.csv"
"""Table of the file that ships: the run makes its faces if there are none yet."""


@dataclass(frozen=True)
class Faces:
    """Images of identities, in the order of their names, whatever that of the table is.

    Attributes:
        frame: a row per image: image (its file), identity, group and unit.
        source: the table.
        pictures: the files.
        order: row of `frame` → row of the table.
        points: of `columns.points`, five a face, (n, 5, 2), NaN where there is no face; or None.

    Example:
        >>> Faces.__dataclass_fields__["frame"].type
        'pd.DataFrame'
    """

    frame: pd.DataFrame
    source: str
    pictures: ImageSet
    order: np.ndarray
    points: np.ndarray | None

    def pixels(self, folder: Path) -> np.ndarray:
        """All images, read once and kept in a folder: uint8 (n, 3, height, width)."""
        folder.mkdir(parents=True, exist_ok=True)
        codes = self.pictures.codes[torch.from_numpy(self.order)]
        return synthesize_to_store(self.pictures, codes, folder / "images.npy")


def open_faces(specification: Specification) -> Faces:
    """Read the table of images that a verification names, and find the files.

    Args:
        specification: whose `columns` and `reference` count. Identities are the units, unless
            `columns.unit` names a column that says which identities of different groups are
            matched, such as faces that were made of one seed.

    Returns:
        The images.

    Raises:
        ValueError: a column, a name or a file that is missing; an image twice; an identity in two
            groups; no two images of one identity; no two identities in one group; a group only, or
            a reference that is no group; points that are none.

    Example:
        >>> one = Specification(
        ...     name="mine", kind="verification", question="?", images="nowhere.csv",
        ...     reference="a", design={"tolerance": 0.1},
        ...     model={"kind": "onnx", "path": "r.onnx", "input": {"size": 64}, "threshold": 0.5},
        ... )
        >>> open_faces(one)
        Traceback (most recent call last):
        ValueError: nowhere.csv: no such table; the path is relative to the audit file
    """
    table, columns = specification.beside(specification.images), specification.columns
    if table.resolve() == EXAMPLE:
        make_example_faces(table)
    source = str(table)
    raw = read_table(table, source)
    own = {"image": columns.image, "identity": columns.identity, "group": columns.group}
    own["unit"] = columns.unit if "unit" in columns.model_fields_set else columns.identity
    named = [*dict.fromkeys(own.values())]
    require_named(raw, [*named, *(columns.points or [])], source)
    for column in named:
        refuse_rows(raw[column].isna(), raw[column], source, "a value")
    frame = pd.DataFrame({name: raw[column].astype(str) for name, column in own.items()})
    _require_one(frame, raw, own, source)
    require_groups(frame["group"], specification.reference, source)
    _require_pairs(frame, source)
    # What is sent over the network has the size that the file says; other models scale themselves.
    size = specification.model.size if isinstance(specification.model, Http) else None
    pictures = ImageSet(table, {}, unit=columns.image, file=columns.image, size=size)
    points = None if columns.points is None else _points(raw[columns.points], source)
    order = np.argsort(frame["image"].to_numpy(str), kind="stable")
    points = None if points is None else points[order]
    return Faces(frame.iloc[order].reset_index(drop=True), source, pictures, order, points)


def _require_one(frame: pd.DataFrame, raw: pd.DataFrame, own: dict[str, str], source: str) -> None:
    """Refuse an identity of two groups or units, and two identities of a unit in one group."""
    for key, of in (("identity", "group"), ("identity", "unit"), (["unit", "group"], "identity")):
        first = frame.groupby(key, sort=False)[of].transform("first")
        bad = first != frame[of]
        if bad.any():
            row = bad.idxmax()
            told = " ".join(f"{name} {frame[name][row]!r}" for name in pd.Series(key))
            expected = f"{first[row]!r}, the {of} of {told} in another row,"
            refuse_rows(bad, raw[own[of]], source, expected)


def _require_pairs(frame: pd.DataFrame, source: str) -> None:
    """Refuse a table that makes no pair of one person, or none of two people of a group."""
    if not frame["identity"].duplicated().any():
        raise ValueError(f"{source}: no identity has two images, so that nobody can be recognised")
    if (frame.groupby("group")["identity"].nunique() < 2).all():
        raise ValueError(f"{source}: no group has two identities, so that nobody can be mixed up")


def _points(values: pd.DataFrame, source: str) -> np.ndarray:
    """Five points a face, (n, 5, 2); NaN where all cells are empty."""
    found = values.apply(pd.to_numeric, errors="coerce")
    empty = values.isna().all(axis=1)
    for name in values:
        refuse_rows(found[name].isna() & ~empty, values[name], source, "a coordinate in pixels")
    return found.to_numpy(float).reshape(-1, 5, 2)
