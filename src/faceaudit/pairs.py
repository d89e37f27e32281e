"""A recogniser's tables, read and checked: pairs with similarities, or images of identities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from faceaudit.examples import make_example_faces
from faceaudit.parts import Http
from faceaudit.plausibility import require_alike
from faceaudit.specification import Specification
from faceaudit.tables import Rows
from helpers.artifacts.lineage import ROOT
from helpers.generators.batches import synthesize_to_store
from helpers.generators.image_set import ImageSet

EXAMPLE = ROOT / "build" / "audits" / "example-faces.csv"
"""Table of `audits/verification.yml`: the run makes its faces if there are none yet."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of images and the recogniser's similarity of each.

    Attributes:
        frame: a row per pair: group, first, second (identities, or units of matched ones), same (0
            or 1), similarity.
        source: of the pairs.
        images: of a recogniser that was asked, a row per image: image, identity, group, unit,
            enrolled (0 or 1) and failed_call (0 or 1: why there is no embedding); None of a table
            of pairs.
        left_out: pairs with an image that has no embedding.
    """

    frame: pd.DataFrame
    source: str
    images: pd.DataFrame | None = None
    left_out: int = 0


def from_pairs(table: str | Path | pd.DataFrame, specification: Specification) -> Pairs:
    """Read a table of pairs, as the audit file describes it.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        specification: whose `columns` and `reference` count.

    Returns:
        The pairs.

    Raises:
        ValueError: a column that is missing, an identity, a label or a similarity that is none,
            similarities that are all alike, one group only, or a reference that is no group.

    Example:
        >>> one = Specification(
        ...     name="mine", kind="verification", question="?", pairs="pairs.csv", reference="a",
        ...     model={"kind": "table", "threshold": 0.5}, design={"tolerance": 0.05},
        ... )
        >>> pairs = {"group": ["a", "b"], "first": [1, 1], "second": [1, 2], "same": [1, 0]}
        >>> from_pairs(pd.DataFrame(pairs | {"similarity": [0.9, 0.1]}), one).frame.shape
        (2, 5)
    """
    rows, columns = Rows.read(table), specification.columns
    own = [columns.group, columns.first, columns.second, columns.same, columns.similarity]
    rows.require(own)
    group, first, second, same, _ = (rows.texts(column) for column in own)
    similarity = rows.numbers(columns.similarity)
    rows.refuse(~np.isfinite(similarity), columns.similarity, "a finite similarity")
    same = same.map({"0": 0, "1": 1, "False": 0, "True": 1, "0.0": 0, "1.0": 1})
    rows.refuse(same.isna(), columns.same, "1 (the same person) or 0")
    if (similarity == similarity.iloc[0]).all():
        raise ValueError(
            f"{rows.source}: column {columns.similarity!r} is {similarity.iloc[0]:g} for every "
            "pair; is it the right column?"
        )
    _require_groups(group, specification.reference, rows.source)
    found = {"group": group, "first": first, "second": second, "same": same.astype(int)}
    found = pd.DataFrame(found | {"similarity": similarity})
    require_alike(found, rows.source)
    return Pairs(found, rows.source)


@dataclass(frozen=True)
class Faces:
    """Images of identities, in the order of their names, whatever that of the table is.

    Attributes:
        frame: a row per image: image (its file), identity, group and unit.
        source: the table.
        pictures: the files.
        order: row of `frame` → row of the table.
        points: of `columns.points`, five a face, (n, 5, 2), NaN where there is no face; or None.
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

    Identities are the units, unless `columns.unit` names a column that says which identities of
    different groups are matched, such as faces that were made of one seed.

    Raises:
        ValueError: a column, a name or a file that is missing; an image twice; an identity in two
            groups; no two images of one identity; no two identities in one group; a group only, or
            a reference that is no group; points that are none.
    """
    table, columns = specification.beside(specification.images), specification.columns
    if table.resolve() == EXAMPLE:
        make_example_faces(table)
    rows = Rows.read(table)
    own = {"image": columns.image, "identity": columns.identity, "group": columns.group}
    own["unit"] = columns.unit if "unit" in columns.model_fields_set else columns.identity
    rows.require([*own.values(), *(columns.points or [])])
    frame = pd.DataFrame({name: rows.texts(column) for name, column in own.items()})
    _require_one(frame, rows, own)
    _require_groups(frame["group"], specification.reference, rows.source)
    if not frame["identity"].duplicated().any():
        raise ValueError(f"{table}: no identity has two images, so that nobody can be recognised")
    if (frame.groupby("group")["identity"].nunique() < 2).all():
        raise ValueError(f"{table}: no group has two identities, so that nobody can be mixed up")
    # What is sent over the network has the size that the file says; other models scale themselves.
    size = specification.size if isinstance(specification.model, Http) else None
    pictures = ImageSet(table, {}, unit=columns.image, file=columns.image, size=size)
    order = np.argsort(frame["image"].to_numpy(str), kind="stable")
    points = None if columns.points is None else _points(rows, columns.points)[order]
    return Faces(frame.iloc[order].reset_index(drop=True), str(table), pictures, order, points)


def _require_groups(groups: pd.Series, reference: str, source: str) -> None:
    """Raise ValueError where there is no group to compare the reference with."""
    if reference not in set(groups):
        raise ValueError(
            f"{source}: the reference {reference!r} is none of the groups "
            f"{', '.join(sorted(set(groups)))}"
        )
    if groups.nunique() < 2:
        raise ValueError(f"{source}: one group only; at least two are compared")


def _require_one(frame: pd.DataFrame, rows: Rows, own: dict[str, str]) -> None:
    """Refuse an identity of two groups or units, and two identities of a unit in one group."""
    for keys, of in (
        (["identity"], "group"),
        (["identity"], "unit"),
        (["unit", "group"], "identity"),
    ):
        first = frame.groupby(keys, sort=False)[of].transform("first")
        bad = first != frame[of]
        if bad.any():
            row = bad.idxmax()
            told = " ".join(f"{name} {frame[name][row]!r}" for name in keys)
            rows.refuse(bad, own[of], f"{first[row]!r}, the {of} of {told} in another row,")


def _points(rows: Rows, columns: list[str]) -> np.ndarray:
    """Five points a face, (n, 5, 2); NaN where all cells are empty."""
    found = pd.DataFrame({name: rows.numbers(name) for name in columns})
    silent = rows.frame[columns].isna().all(axis=1)
    for name in columns:
        rows.refuse(found[name].isna() & ~silent, name, "a coordinate in pixels")
    return found.to_numpy(float).reshape(-1, 5, 2)
