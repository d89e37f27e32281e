"""The rules that hold for every format, on raw records written by hand."""

from pathlib import Path

import pandas as pd
import pytest

from helpers.annotations import raw
from helpers.annotations.ingest import DROPPED, NOTED, validate
from helpers.annotations.raw import Notes, Source, parts
from helpers.annotations.schema import ATTRIBUTES, COLUMNS, hash_annotator

GOOD = {
    "image_id": "a",
    "email": False,
    "seconds": 3.5,
    "submitted_at": "2025-10-09T07:30:20Z",
    "problem": None,
    "job": "1",
    "updated_at": None,
    "account": None,
    "other_name": None,
}


def ingest(*changes: dict, **about):
    """Ingest one answer per change to a good one, each of an assignment and annotator of its own.

    A change with several `answers` is one assignment.
    """
    visits = []
    for number, change in enumerate(changes):
        visit = {"place": f"row {number + 2}", "annotator": f"w{number}"} | GOOD | change
        answers = visit.pop(
            "answers", [(visit.pop("attribute", "gender"), visit.pop("level", "Male"))]
        )
        of = [(name, level, f"field {name}") for name, level in answers]
        visits.append((tuple(visit[name] for name in raw.Visit._fields), of))
    fields = dict.fromkeys(DROPPED | NOTED, "assignment field")
    source = Source(Path("folder/file.csv"), parts(visits), fields, Notes())
    return validate([source], "test", "salt", **about)


def counts(report: pd.DataFrame) -> dict[str, int]:
    found = report[report["count"] > 0]
    return dict(zip(found["reason"], found["count"], strict=True))


def test_a_good_record_becomes_a_tidy_row():
    frame, report = ingest({})
    assert tuple(frame.columns) == COLUMNS
    row = frame.iloc[0]
    assert row[["image_id", "attribute", "level"]].tolist() == ["a", "gender", 4]
    assert row["annotator_id"] == hash_annotator("w0", "salt")
    assert row["submitted_at"] == pd.Timestamp("2025-10-09T07:30:20Z")
    assert row["source"] == "test:file.csv"
    assert counts(report) == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"problem": "rejected assignment"}, "rejected assignment"),
        ({"problem": "cancelled assignment"}, "cancelled assignment"),
        ({"job": "2"}, "other job"),
        ({"problem": "missing image"}, "missing image"),
        ({"problem": "unknown image"}, "unknown image"),
        ({"annotator": None}, "missing annotator"),
        ({"level": None}, "no readable answer"),
        ({"level": " "}, "no readable answer"),
        ({"level": ("Male", "Female")}, "several levels"),
        ({"level": "Manly"}, "unknown level"),
        ({"level": "rating 3.5"}, "unknown level"),
        ({"level": 5}, "level outside the scale"),
        ({"level": "-1"}, "level outside the scale"),
        ({"annotator": "w0"}, "duplicate"),
    ],
)
def test_a_bad_record_is_dropped_and_counted_with_its_place(change, reason):
    frame, report = ingest({}, change, {})
    assert len(frame) == 2
    assert counts(report) == {reason: 1}
    row = report.set_index("reason").loc[reason]
    assert row["dropped"]
    assert (row["file"], row["place"], row["answers"]) == ("file.csv", "row 3", 1)
    assert row["field"] == ("field gender" if row["unit"] == "answer" else "assignment field")


def test_an_answer_is_counted_once_under_its_first_reason():
    bad = {"problem": "rejected assignment", "level": "Manly", "annotator": None}
    assert counts(ingest({}, bad).report) == {"rejected assignment": 1}


def test_assignments_are_counted_once_however_many_answers_they_hold():
    answers = [(name, labels[0]) for name, labels in ATTRIBUTES.items()]
    one = ingest({"answers": answers}, {"problem": "rejected assignment", "answers": answers})
    assert counts(one.report) == {"rejected assignment": 1}
    assert one.report.set_index("reason").loc["rejected assignment", "answers"] == len(ATTRIBUTES)
    assert one.totals.to_dict() == {"rows": 2, "answers": 16, "people": 2, "kept": 8}


def test_of_duplicates_the_one_submitted_first_is_kept():
    early = {"level": "Female", "submitted_at": "2025-10-08T00:00:00Z", "annotator": "w"}
    frame, report = ingest({"annotator": "w"}, early)
    assert frame["level"].tolist() == [0]
    assert counts(report) == {"duplicate": 1, "several answers of one name": 1}
    same_time, _ = ingest({"annotator": "w"}, {"annotator": "w", "level": "Female"})
    assert same_time["level"].tolist() == [4]
    within, report = ingest({"answers": [("gender", "Male"), ("gender", "Female")]})
    assert within["level"].tolist() == [4]
    assert counts(report) == {"duplicate": 1}


def test_a_rejected_answer_does_not_make_the_next_one_a_duplicate():
    rejected = {"annotator": "w", "problem": "rejected assignment"}
    frame, report = ingest(rejected, {"annotator": "w"})
    assert len(frame) == 1
    assert counts(report) == {"rejected assignment": 1}


def test_a_question_that_others_answered_is_missed():
    both = {"answers": [("gender", "Male"), ("age", "Teen")]}
    frame, report = ingest(both, {}, {"answers": []})
    assert len(frame) == 3
    assert counts(report) == {"no answer": 3}
    row = report.set_index("reason").loc["no answer"]
    assert row[["place", "field", "dropped", "answers"]].tolist() == [
        "row 3",
        "field age",
        False,
        0,
    ]
    _, report = ingest(both, {"attribute": "beauty"})
    assert counts(report) == {"unknown attribute": 1, "no answer": 2}


def test_problems_are_found_across_parts(monkeypatch):
    """What one part alone does not show: the job of most, and an annotator's second visit."""
    alike = {"annotator": "w", "image_id": "a"}
    changes = [alike, {"job": "2"}, {"job": "2"}, {"job": "2", "attribute": "beauty"}]
    changes += [alike | {"job": "2"}, alike | {"job": "2", "level": "Female"}]
    changes += [alike | {"job": "2", "submitted_at": "2025-10-08T00:00:00Z"}]
    for part in (10_000, 2, 1):
        monkeypatch.setattr(raw, "PART", part)
        one = ingest(*changes)
        expected = {"other job": 1, "unknown attribute": 1, "duplicate": 2, "no answer": 1}
        expected["several answers of one name"] = 2
        assert counts(one.report) == expected
        assert one.frame["level"].tolist() == [4, 4, 4]
        assert one.report.set_index("reason").loc["duplicate", "place"] == "row 6"


def test_the_job_with_most_assignments_is_kept():
    frame, report = ingest({"job": "1"}, {"job": "2"}, {"job": "2"}, {"job": None})
    assert len(frame) == 3
    assert counts(report) == {"other job": 1}


def test_an_email_is_counted_kept_and_nowhere_in_clear():
    frame, report = ingest({"annotator": "ann@example.org", "email": True}, {})
    assert len(frame) == 2
    assert counts(report) == {"e-mail as annotator id": 1}
    assert not report.set_index("reason").loc["e-mail as annotator id", "dropped"]
    assert "@" not in frame.to_csv() + report.to_csv()


def test_an_unreadable_time_is_noted_and_the_answer_kept():
    frame, report = ingest({"submitted_at": "yesterday"}, {})
    assert frame["submitted_at"].isna().tolist() == [True, False]
    assert counts(report) == {"unreadable time": 1}


def test_no_file_at_all_is_an_error():
    with pytest.raises(ValueError, match="no files to read"):
        validate([], "test", "salt")


def test_nothing_usable_is_an_error_that_says_why():
    bad = [{"level": "Manly"}, {"level": "Manly"}, {"problem": "missing image"}]
    why = r"1 × missing image .first at row 4.; 2 × unknown level .first at row 2.$"
    with pytest.raises(ValueError, match=rf"file.csv: nothing usable in 3 assignments: {why}"):
        ingest(*bad)


def test_every_reason_is_reported_even_when_it_did_not_occur():
    _, report = ingest({})
    assert report["reason"].tolist() == [*DROPPED, *NOTED]


def test_hashes_depend_on_the_salt_and_not_on_the_type_of_the_id():
    assert hash_annotator(4, "a") == hash_annotator("4", "a")
    assert hash_annotator("4", "a") != hash_annotator("4", "b")
    assert len(hash_annotator("4", "")) == 16


VERSION = {"annotator": "w", "submitted_at": "2025-10-09T07:30:20Z"}


def test_of_versions_of_one_annotation_the_one_updated_last_counts():
    first = VERSION | {"level": "Female", "updated_at": "2025-10-09T07:31:00Z"}
    last = VERSION | {"level": "In between", "updated_at": "2025-10-09T07:32:00+00:00"}
    for changes in ((first, last), (last, first)):
        frame, report = ingest(*changes)
        assert frame["level"].tolist() == [2]
        assert counts(report) == {"older version": 1}
    other_job = last | {"job": "2"}
    assert counts(ingest(first, first, other_job).report) == {"other job": 1, "duplicate": 1}


def test_a_later_version_that_takes_the_answer_back_counts():
    answered = VERSION | {"updated_at": "2025-10-09T07:31:00Z"}
    later = {"updated_at": "2025-10-09T07:33:00Z"}
    skipped = VERSION | later | {"problem": "cancelled assignment", "answers": []}
    frame, report = ingest(answered, skipped, {})
    assert len(frame) == 1
    assert counts(report) == {"older version": 1, "cancelled assignment": 1}
    again = answered | {"updated_at": "2025-10-09T07:34:00Z"}
    frame, report = ingest(skipped, again)
    assert len(frame) == 1
    assert counts(report) == {"older version": 1}


def test_several_answers_of_one_name_are_told():
    later = {"annotator": "w", "submitted_at": "2025-10-10T07:30:20Z"}
    both = {"answers": [("gender", "Male"), ("age", "Teen")]}
    frame, report = ingest(
        {"annotator": "w"} | both, later | both, later | {"image_id": "b"} | both
    )
    assert len(frame) == 4
    assert counts(report) == {"duplicate": 2, "several answers of one name": 1}
    row = report.set_index("reason").loc["several answers of one name"]
    assert row[["place", "dropped", "answers"]].tolist() == ["row 3", False, 0]
    # One question a visit: nothing is answered twice.
    _, report = ingest({"annotator": "w"}, later | {"attribute": "age", "level": "Teen"})
    assert counts(report) == {"no answer": 2}


def test_people_of_one_name_and_two_accounts_are_two():
    ann, ben = ({"annotator": "3", "account": f"{name}@example.org"} for name in ("ann", "ben"))
    frame, report = ingest(ann, ben | {"level": "Female"}, ann | {"image_id": "b"})
    assert len(frame) == 3
    assert frame["annotator_id"].nunique() == 2
    assert counts(report) == {"one name of several accounts": 3}
    assert "@" not in frame.to_csv() + report.to_csv()
    alone, report = ingest(ann, {"annotator": "3", "image_id": "b"})
    assert set(alone["annotator_id"]) == {hash_annotator("3", "salt")}
    assert counts(report) == {}


def test_an_id_and_a_file_of_two_images_are_dropped_and_other_names_noted():
    swapped = {"other_name": "b"}
    frame, report = ingest(swapped, {"image_id": "b"}, {"other_name": "IMG_1"})
    assert len(frame) == 2
    assert counts(report) == {"image id and file are two images": 1, "image id unlike its file": 1}
    assert ingest({"image_id": None, "problem": "missing image"}, {}).report["count"].sum() == 1
