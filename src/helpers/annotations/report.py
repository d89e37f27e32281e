"""The report of what was not taken as it was: one table for all formats. Chapter 6 shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.annotations.raw import Answer, Source

COLUMNS = ["reason", "unit", "count", "dropped", "answers", "file", "place", "field"]
_MOST = 5
"""Reasons that an error names."""
_PLAIN = re.compile(r"\w[\w .,:;()'-]{0,79}")
"""Names that no browser and no spreadsheet takes for more than a text."""


class Counted:
    """Rows of the report, added reason by reason.

    Args:
        sources: the files.
        visits: all assignments, with the number of their file and their place in it.
        visit: assignment of every answer.
        kind: place of every answer in `kinds`.
        kinds: the different answers.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        visits: pd.DataFrame,
        visit: np.ndarray,
        kind: np.ndarray,
        kinds: Sequence[Answer],
    ) -> None:
        self._sources, self._visits, self._visit = sources, visits, visit
        self._kind, self._kinds = kind, kinds
        self._answers = np.bincount(visit, minlength=len(visits))
        self._rows: list[dict[str, Any]] = []

    def of_visits(self, reason: str, dropped: bool, found: np.ndarray) -> None:
        """Count assignments, given by their numbers."""
        answers = int(self._answers[found].sum()) if dropped else 0
        self._add(reason, "assignment", len(found), dropped, answers)
        if len(found):
            field = self._sources[self._visits["file"].iloc[found[0]]].fields.get(reason)
            self._example(found[0], field)

    def of_answers(self, reason: str, found: np.ndarray) -> None:
        """Count answers that are dropped, given by their numbers."""
        self._add(reason, "answer", len(found), True, len(found))
        if len(found):
            self._example(self._visit[found[0]], self._kinds[self._kind[found[0]]].field)

    def silence(self, reason: str, silent: np.ndarray, fields: Sequence[str]) -> None:
        """Count questions without an answer: True in assignments × attributes."""
        self._add(reason, "answer", int(silent.sum()))
        if silent.any():
            visit = int(silent.any(axis=1).argmax())
            self._example(visit, fields[int(silent[visit].argmax())])

    def of_files(self, reason: str, useful: np.ndarray) -> None:
        """Count files without a good answer; `useful`: the assignments that have one."""
        files = set(self._visits["file"].to_numpy()[useful].tolist())
        found = [one for number, one in enumerate(self._sources) if number not in files]
        self._add(reason, "file", len(found))
        if found:
            self._rows[-1]["file"] = found[0].path.name

    def of_notes(self, reason: str, unit: str) -> None:
        """Count what is no assignment."""
        noted = [one for one in self._sources if reason in one.notes.found]
        self._add(reason, unit, sum(one.notes.found[reason][0] for one in noted))
        if noted:
            self._rows[-1] |= {
                "file": noted[0].path.name,
                "place": place_text(noted[0].notes.found[reason][1]),
                "field": noted[0].fields.get(reason),
            }

    def table(self, kept: int) -> pd.DataFrame:
        """The report, with the totals in its `attrs`."""
        table = pd.DataFrame(self._rows, columns=COLUMNS)
        table = table.astype({"file": "object", "place": "object", "field": "object"})
        table.attrs["totals"] = {
            "rows": len(self._visits),
            "answers": len(self._visit),
            "people": int(self._visits["annotator"].nunique()),
            "kept": kept,
        }
        return table

    def _add(
        self, reason: str, unit: str, count: int, dropped: bool = False, answers: int = 0
    ) -> None:
        row = {"reason": reason, "unit": unit, "count": count, "dropped": dropped}
        self._rows.append(row | {"answers": answers})

    def _example(self, visit: int, field: str | None) -> None:
        file, place = self._visits["file"].iloc[visit], self._visits["place"].iloc[visit]
        example = {"file": self._sources[file].path.name, "place": place_text(place)}
        self._rows[-1] |= example | {"field": _field_text(field)}


def _field_text(field: str | None) -> str | None:
    """A field as the report shows it; its name stands in the file, and may be anything."""
    plain = field is None or _PLAIN.fullmatch(field)
    return field if plain else "a name that cannot be shown"


def place_text(place: Any) -> str:
    """A place in words: a number is that of a row."""
    return place if isinstance(place, str) else f"row {place}"


def nothing_usable(
    sources: Sequence[Source], table: pd.DataFrame, known: Iterable[str]
) -> ValueError:
    """The error for files of which nothing is kept: how many of what, and where the first is.

    Args:
        sources: the files.
        table: their report.
        known: attributes, for answers about others.
    """

    def other(row: Any) -> str:
        unknown = row.reason == "unknown attribute"
        return f": {row.field}; known are {', '.join(known)}" if unknown else ""

    more = f" and {len(sources) - 1} more" * (len(sources) > 1)
    found = table[(table["count"] > 0) & (table["unit"] != "file")]
    why = [
        f"{row.count} × {row.reason}"
        + (f" (first at {row.place}{other(row)})" if isinstance(row.place, str) else "")
        for row in found.itertuples()
    ][:_MOST]
    rows = table.attrs["totals"]["rows"]
    return ValueError(
        f"{sources[0].path}{more}: nothing usable in {rows} assignment{'s' * (rows != 1)}"
        + (f": {'; '.join(why)}" if why else "")
    )
