"""Matched images on disk for an audit: a folder and a table, shown to a model of any kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.crowd_answers import Said
from faceaudit.parts import Http, Images
from faceaudit.reading import as_levels, read_table, refuse_rows, require_named
from faceaudit.specification import Specification
from faceaudit.tables import as_annotated, as_labels, require_complete
from helpers.generators.batches import synthesize_to_store
from helpers.generators.image_set import FILE, ImageSet


def open_image_set(specification: Specification) -> ImageSet:
    """The images that an audit file names, with the levels of its axes and placebos.

    Args:
        specification: of the audit, whose generator is of kind images. The table has a column
            `file`, the column of units (`columns.unit`), and one for each axis, with its levels by
            name or as 0 and 1.

    Returns:
        The images.

    Raises:
        ValueError: a fault of the table or an image, in one sentence.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     generator={"kind": "images", "table": "nowhere.csv"}, people={"kind": "table"},
        ... )
        >>> open_image_set(one)
        Traceback (most recent call last):
        ValueError: nowhere.csv: no such table; the path is relative to the audit file
    """
    table, raw = _table(specification)
    axes = {**specification.axes, **specification.placebos}
    unit = specification.columns.unit
    require_named(raw, [FILE, unit, *axes], str(table))
    refuse_rows(raw[unit].isna(), raw[unit], str(table), "the name of a matched face")
    index = pd.DataFrame({"image_id": raw[FILE], "transect": raw[unit]}).astype(str)
    for axis, names in axes.items():
        index[f"{axis}_level"] = as_levels(raw[axis], names, str(table))
    # What is sent over the network has the size that the file says; other models scale themselves.
    size = specification.size if isinstance(specification.model, Http) else None
    # The set brings the pictures alone: levels and faults are read as those of any other table.
    found = ImageSet(table, {}, unit=FILE, size=size)
    found.index = index.reset_index(drop=True)
    require_complete(set_index(found), axes, specification.design.incomplete, str(table))
    return found


def set_index(images: ImageSet) -> pd.DataFrame:
    """Images of a set as an audit names them: image_id (the file), unit, and levels.

    Args:
        images: of `open_image_set`.

    Returns:
        A row per image.

    Example:
        >>> set_index(type("Set", (), {"index": pd.DataFrame({"transect": [7]})}))["unit"].tolist()
        ['7']
    """
    return images.index.rename(columns={"transect": "unit"}).astype({"unit": str})


def set_pixels(images: ImageSet, folder: Path) -> np.ndarray:
    """All images of a set, read once and kept.

    Args:
        images: of `open_image_set`.
        folder: of the audit's artifacts.

    Returns:
        uint8 (n, 3, height, width).

    Example:
        >>> from helpers import generators
        >>> import tempfile
        >>> learned = generators.load_generator("wgan", size=16)
        >>> learned.codes = learned.sample(2, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     set_pixels(learned, Path(folder)).shape
        (2, 3, 16, 16)
    """
    folder.mkdir(parents=True, exist_ok=True)
    return synthesize_to_store(images, images.codes, folder / "images.npy")


def said_in_table(specification: Specification) -> Said:
    """Labels and annotated scores that stand in the table of images.

    Args:
        specification: of the audit, whose people are of kind table. The label is in
            `columns.label`, or the answers of raters are in `columns.answers`.

    Returns:
        The label as a score of 0 or 1 (NaN where raters tie), and the annotated scores.

    Raises:
        ValueError: a column that is missing, or a cell that is no label or score.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...     generator={"kind": "images", "table": "nowhere.csv"}, people={"kind": "table"},
        ... )
        >>> said_in_table(one)
        Traceback (most recent call last):
        ValueError: nowhere.csv: no such table; the path is relative to the audit file
    """
    table, raw = _table(specification)
    labelled = specification.columns.answers or [specification.columns.label]
    require_named(raw, [*labelled, *specification.annotated], str(table))
    scores = {name: as_annotated(raw[name], str(table)) for name in specification.annotated}
    scores[specification.attribute] = as_labels(raw[labelled], specification.classes, str(table))
    return Said(pd.DataFrame(scores).reset_index(drop=True), {"kind": "table"})


def _table(specification: Specification) -> tuple[Path, pd.DataFrame]:
    """Where the table of images lies, and what is in it."""
    source = specification.generator
    assert isinstance(source, Images)
    table = specification.beside(source.table)
    return table, read_table(table, str(table))
