"""The rules that hold for every format, on raw records written by hand."""

from pathlib import Path

import pandas as pd
import pytest

from helpers.annotations.ingest import (
    DROPPED,
    NOTED,
    RAW_COLUMNS,
    image_id_of,
    is_email,
    raw_frame,
    validate,
)
from helpers.annotations.schema import ATTRIBUTES, COLUMNS, hash_annotator

GOOD = {
    "image_id": "a",
    "attribute": "gender",
    "answer": "Male",
    "annotator": "w1",
    "email": False,
    "seconds": 3.5,
    "submitted_at": "2025-10-09T07:30:20Z",
    "status": "accepted",
    "job": "1",
    "line": 2,
}


def ingest(*changes: dict, part: int = 100):
    """Ingest one record per change to a good one, each an assignment and annotator of its own."""
    records = []
    for number, change in enumerate(changes):
        own = {"assignment": number, "annotator": f"w{number}", "line": number + 2}
        record = GOOD | own | change
        record["field"] = f"field {record['attribute']}"
        records.append(tuple(record[name] for name in RAW_COLUMNS))
    fields = dict.fromkeys(DROPPED | NOTED, "assignment field")
    parts = (raw_frame(records[at : at + part]) for at in range(0, len(records), part))
    return validate(parts, Path("folder/file.csv"), "test", "salt", fields)


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
        ({"status": "rejected"}, "rejected assignment"),
        ({"status": "cancelled"}, "cancelled assignment"),
        ({"job": "2"}, "other job"),
        ({"image_id": None}, "missing image"),
        ({"image_id": "  "}, "missing image"),
        ({"annotator": None}, "missing annotator"),
        ({"attribute": "beauty"}, "unknown attribute"),
        ({"attribute": None, "answer": None}, "no readable answer"),
        ({"answer": " "}, "no readable answer"),
        ({"answer": ("Male", "Female")}, "several levels"),
        ({"answer": "Manly"}, "unknown level"),
        ({"answer": "rating 3.5"}, "unknown level"),
        ({"answer": 5}, "level outside the scale"),
        ({"answer": "-1"}, "level outside the scale"),
        ({"annotator": "w0"}, "duplicate"),
    ],
)
def test_a_bad_record_is_dropped_and_counted_with_its_place(change, reason):
    frame, report = ingest({}, change, {})
    assert len(frame) == 2
    assert counts(report) == {reason: 1}
    row = report.set_index("reason").loc[reason]
    assert row["dropped"]
    assert (row["file"], row["line"]) == ("file.csv", 3)
    field = f"field {change.get('attribute', 'gender')}"
    assert row["field"] == (field if row["unit"] == "answer" else "assignment field")


def test_an_answer_is_counted_once_under_its_first_reason():
    _, report = ingest({}, {"status": "rejected", "answer": "Manly", "image_id": None})
    assert counts(report) == {"rejected assignment": 1}


def test_assignments_are_counted_once_however_many_answers_they_hold():
    rejected = {"status": "rejected", "assignment": 0}
    frame, report = ingest(*(rejected | {"attribute": attribute} for attribute in ATTRIBUTES))
    assert frame.empty
    assert tuple(frame.columns) == COLUMNS
    assert counts(report) == {"rejected assignment": 1}


def test_of_duplicates_the_one_submitted_first_is_kept():
    late, early = {"answer": "Male"}, {"answer": "Female", "submitted_at": "2025-10-08T00:00:00Z"}
    frame, report = ingest(late | {"annotator": "w"}, early | {"annotator": "w"})
    assert frame["level"].tolist() == [0]
    assert counts(report) == {"duplicate": 1}
    same_time, _ = ingest({"annotator": "w"}, {"annotator": "w", "answer": "Female"})
    assert same_time["level"].tolist() == [4]


def test_a_rejected_answer_does_not_make_the_next_one_a_duplicate():
    frame, report = ingest({"annotator": "w", "status": "rejected"}, {"annotator": "w"})
    assert len(frame) == 1
    assert counts(report) == {"rejected assignment": 1}


def test_problems_are_found_across_parts():
    """What one part alone does not show: the job of most, and an annotator's second visit."""
    alike = {"annotator": "w", "image_id": "a"}
    changes = [alike, {"job": "2"}, {"job": "2"}, {"job": "2", "attribute": "beauty"}]
    changes += [alike | {"job": "2"}, alike | {"job": "2", "answer": "Female"}]
    changes += [alike | {"job": "2", "submitted_at": "2025-10-08T00:00:00Z"}]
    for together in (ingest(*changes), ingest(*changes, part=2), ingest(*changes, part=1)):
        assert counts(together.report) == {"other job": 1, "unknown attribute": 1, "duplicate": 2}
        assert together.frame["level"].tolist() == [4, 4, 4]
        assert together.report.set_index("reason").loc["duplicate", "line"] == 6


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


@pytest.mark.parametrize("answer", ["probably male", " Probably male ", "3", 3])
def test_levels_may_be_names_or_indices(answer):
    frame, _ = ingest({"answer": answer})
    assert frame["level"].tolist() == [3]


def test_every_reason_is_reported_even_when_it_did_not_occur():
    _, report = ingest({})
    assert report["reason"].tolist() == [*DROPPED, *NOTED]


def test_hashes_depend_on_the_salt_and_not_on_the_type_of_the_id():
    assert hash_annotator(4, "a") == hash_annotator("4", "a")
    assert hash_annotator("4", "a") != hash_annotator("4", "b")
    assert len(hash_annotator("4", "")) == 16


@pytest.mark.parametrize(
    ("data", "image_id"),
    [
        ({"id": "x", "url": "y.png"}, "x"),
        ({"url": "https://host.example/a/0042_L1.jpg?sig=1"}, "0042_L1"),
        ({"url": "/data/local-files/?d=images/0042.png"}, "0042"),
        ({}, None),
    ],
)
def test_the_image_is_its_id_or_its_file_name(data, image_id):
    assert image_id_of(data, "id", "url") == image_id


def test_what_counts_as_an_email():
    assert is_email(" b@example.org ")
    assert not is_email("A1B2")
    assert not is_email(4)
