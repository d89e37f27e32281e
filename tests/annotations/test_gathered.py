"""The assignments and answers of all parts of all files, as one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.annotations import raw
from helpers.annotations.gathered import gathered
from helpers.annotations.raw import Notes, Source, Visit, parts

USUAL = {"email": False, "seconds": 1.0, "submitted_at": "2025-10-09T07:30:20Z"}


def visit(place: str, image_id: str | None, annotator: str | None, **about) -> tuple:
    named = dict.fromkeys(Visit._fields) | USUAL | about
    named |= {"place": place, "image_id": image_id, "annotator": annotator}
    return tuple(named.values())


def source(*visits: tuple) -> Source:
    return Source(Path("file"), parts(visits), {}, Notes())


MALE, TEEN = ("gender", "Male", "gender"), ("age", "Teen", "age")


@pytest.mark.parametrize("part", [1, 2, 10_000])
def test_parts_and_files_are_put_together_in_their_order(monkeypatch, part):
    monkeypatch.setattr(raw, "PART", part)
    first = source(
        (visit("p", "b", "w", account="w@example.org"), [MALE, TEEN]),
        (visit("q", None, None, problem="missing image"), []),
        (visit("r", "a", "v", other_name="c"), [TEEN]),
    )
    second = source((visit("s", "b", "v", job="7"), [TEEN, MALE]))
    found = gathered([first, second])
    plain = found.visits.astype("object").where(found.visits.notna(), None)
    assert plain["place"].tolist() == list("pqrs")
    assert plain["image_id"].tolist() == ["b", None, "a", "b"]
    assert plain["annotator"].tolist() == ["w", None, "v", "v"]
    assert plain["problem"].tolist() == [None, "missing image", None, None]
    assert plain["account"].tolist() == ["w@example.org", None, None, None]
    assert plain["other_name"].tolist() == [None, None, "c", None]
    assert plain["job"].tolist() == [None, None, None, "7"]
    assert found.visits["file"].tolist() == [0, 0, 0, 1]
    assert found.visits.index.tolist() == [0, 1, 2, 3]
    assert found.visit.tolist() == [0, 0, 2, 3, 3]
    assert [found.kinds[code] for code in found.kind] == [MALE, TEEN, TEEN, TEEN, MALE]
    assert len(found.kinds) == 2
    assert set(found.visits["image_id"].cat.categories) == {"a", "b"}


def test_no_parts_give_the_same_columns():
    nothing, something = gathered([source()]), gathered([source((visit("p", "a", "w"), [MALE]))])
    assert set(nothing.visits) == set(something.visits)
    assert len(nothing.visits) == nothing.visit.size == nothing.kind.size == 0
    assert nothing.kinds == []


def test_what_assignments_have_in_common_is_kept_once():
    """Beside its place, an assignment takes fewer bytes than its two names."""
    long = "x" * 200
    people = source(*((visit("", f"{long}{k % 3}", f"{long}{k % 5}"), []) for k in range(2_000)))
    visits = gathered([people]).visits
    names = visits[["image_id", "annotator"]].memory_usage(index=False, deep=True)
    assert names.sum() < 10 * len(visits)
    numbered = visits.drop(columns="place").memory_usage(index=False, deep=True)
    assert numbered.sum() < 50 * len(visits)


def test_numbers_as_places_stay_numbers():
    frame = pd.DataFrame([visit("p", "a", "w")], columns=list(Visit._fields))
    times = {name: raw.iso_times(frame[name]) for name in ("submitted_at", "updated_at")}
    frame = frame.assign(place=np.array([7]), **times)
    part = raw.Part(frame, np.zeros(1, np.int32), np.zeros(1, np.int32), {MALE: 0})
    assert gathered([Source(Path("f"), [part], {}, Notes())]).visits["place"].tolist() == [7]
