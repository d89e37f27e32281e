"""Answers that were given before: copies, later versions, and several of one name.

Chapter 6 reads files with them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

_VISIT = ["image_id", "annotator"]
_ANNOTATION = [*_VISIT, "submitted_at", "job"]


def older_versions(visits: pd.DataFrame) -> np.ndarray:
    """Which assignments are earlier states of another one, bool.

    One annotation keeps its annotator, its image and the time when it was created. Whoever changes
    it, or takes it back, makes a version that was updated later, and only the last one counts.
    Without a time of its own a version is as it was created. Versions that were updated at one time
    are copies, and no older than each other.
    """
    older = np.zeros(len(visits), dtype=bool)
    again = visits.duplicated(_VISIT, keep=False) & visits[_ANNOTATION[:-1]].notna().all(axis=1)
    some = visits.loc[again, [*_ANNOTATION, "updated_at"]]
    updated = some["updated_at"].fillna(some["submitted_at"])
    columns = [some[name] for name in _ANNOTATION]
    latest = updated.groupby(columns, dropna=False, observed=True).transform("max")
    older[np.flatnonzero(again)] = (updated < latest).to_numpy()
    return older


def duplicates(
    visits: pd.DataFrame, visit: np.ndarray, attribute: np.ndarray, good: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What annotators had answered before.

    Returns:
        Numbers of the good answers to a question that their annotators had answered. Numbers of the
        assignments that gave such an answer at another time than the one that is kept: one person
        came back, or two have one name. Assignments of one time are copies.
    """
    # Few assignments repeat another one or a question: only their answers are compared.
    again = visits.duplicated(_VISIT, keep=False).to_numpy(copy=True)
    again[_asked_twice(visit, attribute)] = True
    number = np.flatnonzero(good & again[visit])
    found = visits.loc[visit[number], [*_VISIT, "submitted_at"]]
    found = found.set_axis(number).assign(attribute=attribute[number], visit=visit[number])
    ordered = found.sort_values("submitted_at", kind="stable")
    question = ["image_id", "attribute", "annotator"]
    repeated = ordered.duplicated(question).to_numpy()
    group = ordered.groupby(question).ngroup().to_numpy()
    kept = np.flatnonzero(~repeated)
    first = np.empty(len(kept), np.int64)
    first[group[kept]] = kept
    first = ordered.iloc[first[group]]
    elsewhere = ordered["visit"].to_numpy() != first["visit"].to_numpy()
    elsewhen = ordered["submitted_at"].to_numpy() != first["submitted_at"].to_numpy()
    at_another_time = ordered["visit"].to_numpy()[repeated & elsewhere & elsewhen]
    return np.sort(ordered.index[repeated].to_numpy(dtype=np.int64)), np.unique(at_another_time)


def _asked_twice(visit: np.ndarray, attribute: np.ndarray) -> np.ndarray:
    """Assignments that answer one question more than once, where their answers stand together."""
    found = [np.empty(0, visit.dtype)]
    for code in range(attribute.max(initial=-1) + 1):
        own = visit[attribute == code]
        found.append(own[1:][own[1:] == own[:-1]])
    return np.concatenate(found)
