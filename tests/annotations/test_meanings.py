"""What an answer means: its attribute, and its level on the attribute's scale."""

import numpy as np
import pytest

from helpers.annotations.meanings import NO_LEVEL, as_compared, meanings
from helpers.annotations.raw import Answer

SCALES = {"age": ("Child", "Teen", "Adult"), "makeup": ("None", "1", "Full")}


def level(*answers, name: str | None = "age", numbered: bool = True) -> list[int]:
    kinds = [Answer(name, answer, "field") for answer in answers]
    return meanings(kinds, SCALES, {"alter": "age"}, numbered)[1].tolist()


def test_an_answer_is_about_one_attribute_under_its_name_or_another():
    kinds = [Answer(name, "Teen", None) for name in ("age", "alter", "makeup", "beauty", None)]
    attribute, _ = meanings(kinds, SCALES, {"alter": "age"}, True)
    assert attribute.tolist() == [0, 0, 1, -1, -1]
    assert attribute.dtype == np.int8


@pytest.mark.parametrize("answer", ["Teen", " teen ", "TEEN", 1, "1", " +1 ", "01"])
def test_levels_are_named_or_numbered(answer):
    assert level("Child", answer) == [0, 1]


def test_texts_of_digits_are_levels_only_where_a_format_has_them():
    unknown = NO_LEVEL["unknown level"]
    assert level("0", "1", 1, numbered=False) == [unknown, unknown, 1]
    assert level("1", name="makeup", numbered=False) == [1]  # a level's own name


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        *((value, "no readable answer") for value in (None, "", "  ")),
        *((value, "several levels") for value in (("Teen", "Adult"), ())),
        *((value, "unknown level") for value in ("Senior", "1.0", "--1", "½", "²", "=1+1")),
        *((value, "level outside the scale") for value in (-1, 3, "-1", "3", "9" * 5_000)),
        *((value, "level outside the scale") for value in (10**4_299, -(10**4_299))),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_gives_no_level(answer, reason):
    assert level(0, answer) == [0, NO_LEVEL[reason]]
    assert level(answer, name="beauty") == [NO_LEVEL["unknown attribute"]]
    assert level(answer, name=None) == [NO_LEVEL["no readable answer"]]


def test_numbers_counted_from_one_are_not_read_off_by_one():
    """They reach one beyond the last level and never 0; names beside them stay levels."""
    outside = NO_LEVEL["level outside the scale"]
    assert level("1", "2", "3", "Teen") == [outside, outside, outside, 1]
    assert level(1, 2, 3) == [outside] * 3  # as forms and pickles have them
    assert level(0, 1, 2, 3) == [0, 1, 2, outside]
    assert level(1, 2) == [1, 2]
    assert level(1, 2, 3, numbered=False) == [1, 2, outside]  # ratings, which are levels already


def test_labels_are_compared_without_blanks_and_capitals():
    assert as_compared(" Young Adult ") == as_compared("young adult")
