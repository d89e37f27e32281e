"""The verification route without a model: a table of pairs with similarities, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.plausibility import require_alike
from faceaudit.reading import read_table, refuse_rows, require_named
from faceaudit.specification import Specification


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

    Example:
        >>> Pairs(pd.DataFrame({"same": [0, 1]}), "pairs.csv").frame["same"].sum().item()
        1
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
    source = "the table" if isinstance(table, pd.DataFrame) else str(table)
    raw, columns = read_table(table, source), specification.columns
    names = ["group", "first", "second", "same", "similarity"]
    own = {name: getattr(columns, name) for name in names}
    require_named(raw, [*own.values()], source)
    found = raw[[*own.values()]].set_axis(names, axis=1)
    for column in own.values():
        refuse_rows(raw[column].isna(), raw[column], source, "a value")
    similarity = pd.to_numeric(found["similarity"], errors="coerce")
    bad = ~np.isfinite(similarity)
    refuse_rows(bad, raw[columns.similarity], source, "a finite similarity")
    code = {"0": 0, "1": 1, "False": 0, "True": 1, "0.0": 0, "1.0": 1}
    same = found["same"].astype(str).map(code)
    refuse_rows(same.isna(), raw[columns.same], source, "1 (the same person) or 0")
    if (similarity == similarity.iloc[0]).all():
        raise ValueError(
            f"{source}: column {columns.similarity!r} is {similarity.iloc[0]:g} for every pair; is "
            "it the right column?"
        )
    found = found.astype({"group": str, "first": str, "second": str})
    require_groups(found["group"], specification.reference, source)
    found = found.assign(same=same.astype(int), similarity=similarity)
    require_alike(found, source)
    return Pairs(found, source)


def require_groups(groups: pd.Series, reference: str, source: str) -> None:
    """Raise ValueError where there is nothing to compare the reference with.

    Args:
        groups: of the rows of a table.
        reference: the group that the others are compared with.
        source: of the table.

    Example:
        >>> require_groups(pd.Series(["a", "b"]), "a", "faces.csv")
    """
    if reference not in set(groups):
        raise ValueError(
            f"{source}: the reference {reference!r} is none of the groups "
            f"{', '.join(sorted(set(groups)))}"
        )
    if groups.nunique() < 2:
        raise ValueError(f"{source}: one group only; at least two are compared")
