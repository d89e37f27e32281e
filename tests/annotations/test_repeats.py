"""Copies, later versions and several answers of one name, on assignments written by hand."""

import numpy as np
import pandas as pd
import pytest

from helpers.annotations.raw import TIMES
from helpers.annotations.repeats import duplicates, older_versions


def table(*rows: dict) -> pd.DataFrame:
    """Assignments, of image a by w at one time unless a row says otherwise."""
    usual = {"image_id": "a", "annotator": "w", "submitted_at": "2025-10-09T07:30", "job": "1"}
    frame = pd.DataFrame([usual | {"updated_at": None} | row for row in rows])
    times = {name: pd.to_datetime(frame[name], utc=True) for name in ("submitted_at", "updated_at")}
    frame = frame.assign(**times).astype(dict.fromkeys(times, TIMES))
    return frame.astype(dict.fromkeys(("image_id", "annotator", "job"), "category"))


def at(minute: int) -> str:
    return f"2025-10-09T07:{minute}"


@pytest.mark.parametrize(
    ("rows", "older"),
    [
        ([{"updated_at": at(31)}, {"updated_at": at(32)}], [True, False]),
        ([{"updated_at": at(32)}, {"updated_at": at(31)}], [False, True]),
        ([{}, {"updated_at": at(31)}], [True, False]),  # as it was created
        ([{"updated_at": at(31)}] * 2, [False, False]),  # copies
        ([{}, {"updated_at": at(31), "annotator": "v"}], [False, False]),
        ([{}, {"updated_at": at(31), "image_id": "b"}], [False, False]),
        ([{}, {"updated_at": at(31), "job": "2"}], [False, False]),
        ([{"job": None}, {"updated_at": at(31), "job": None}], [True, False]),
        ([{}, {"updated_at": at(41), "submitted_at": at(40)}], [False, False]),
        ([{"submitted_at": None}] * 2, [False, False]),
        ([{"annotator": None}, {"annotator": None, "updated_at": at(31)}], [False, False]),
    ],
)
def test_older_is_what_was_updated_before_another_version(rows, older):
    assert older_versions(table(*rows)).tolist() == older


def found(rows: list[dict], *answers: tuple[int, int], bad: int | None = None):
    """Repeated answers and assignments, of (assignment, attribute) in the files' order."""
    visit, attribute = np.array(answers, dtype=np.int32).T
    good = np.arange(len(answers)) != bad
    repeated, again = duplicates(table(*rows), visit, attribute.astype(np.int8), good)
    return repeated.tolist(), again.tolist()


def test_a_second_answer_is_the_later_one_wherever_it_stands():
    rows = [{"submitted_at": at(40)}, {"submitted_at": at(30)}]
    assert found(rows, (0, 0), (0, 1), (1, 0)) == ([0], [0])
    assert found(rows[::-1], (0, 0), (1, 0), (1, 1)) == ([1], [1])
    assert found([{}, {}], (0, 0), (1, 0)) == ([1], [])  # copies, of which the first is kept
    assert found(rows, (0, 0), (1, 0), bad=1) == ([], [])


@pytest.mark.parametrize("order", [(0, 3, 0), (3, 0, 0), (0, 0, 3), (3, 3, 0)])
def test_one_assignment_may_answer_a_question_twice(order):
    """In any order, as people answer."""
    second = order.index(max(order, key=order.count), order.index(max(order, key=order.count)) + 1)
    answers = [(1, attribute) for attribute in order]
    rows = [{"image_id": "b"}, {}]
    assert found(rows, (0, 3), (0, 0), *answers) == ([2 + second], [])


def test_nothing_is_repeated_where_nothing_is_answered():
    repeated, again = duplicates(
        table({}), np.empty(0, np.int32), np.empty(0, np.int8), np.empty(0, bool)
    )
    assert repeated.size == again.size == 0
