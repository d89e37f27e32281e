"""What the parts of all files hold, in few bytes. Chapter 6 reads millions of answers so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from helpers.annotations.raw import TIMES, Answer, Numbers, Source

_GROUPS = ("image_id", "annotator", "problem", "job", "account", "other_name")
"""What several assignments have in common, which is kept once."""
_EMPTY = {"place": "object", "email": "bool"}
_EMPTY |= {"seconds": "float64", "submitted_at": TIMES, "updated_at": TIMES}
_EMPTY |= dict.fromkeys(_GROUPS, "category") | {"file": "int32"}


class Gathered(NamedTuple):
    """All assignments, the assignment and the kind of every answer, and the kinds."""

    visits: pd.DataFrame
    visit: np.ndarray
    kind: np.ndarray
    kinds: list[Answer]


def gathered(sources: Sequence[Source]) -> Gathered:
    """Read all files; the assignments' columns are those of `raw.Visit`, and the file's number."""
    visits, kinds, seen = [], Numbers(), 0
    numbers, codes = np.empty(0, np.int32), np.empty(0, np.int32)
    for file, one in enumerate(sources):
        for part in one.parts:
            own = part.visits
            columns = {name: own[name].astype("str").astype("category") for name in _GROUPS}
            if own["place"].dtype.kind not in "iu":
                columns["place"] = own["place"].astype("str")
            visits.append(own.assign(file=np.int32(file), **columns))
            merged = np.array([kinds[kind] for kind in part.kinds], dtype=np.int32)
            _append(codes, merged[part.code] if len(merged) else part.code)
            _append(numbers, part.visit + np.int32(seen))
            seen += len(own)
    return Gathered(_joined(visits), numbers, codes, [Answer(*kind) for kind in kinds])


def _append(numbers: np.ndarray, more: np.ndarray) -> None:
    """Lengthen an array in its place: a list of pieces, and all of them, would take it twice."""
    length = len(numbers)
    numbers.resize(length + len(more), refcheck=False)
    numbers[length:] = more


def _joined(pieces: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all parts, which are emptied; categories are those of any part."""
    if not pieces:
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _EMPTY.items()})
    columns = {}
    for name in list(pieces[0]):
        values = [piece.pop(name) for piece in pieces]
        if name in _GROUPS:
            columns[name] = union_categoricals(values)
        else:
            columns[name] = pd.concat(values, ignore_index=True)
    return pd.DataFrame(columns)
