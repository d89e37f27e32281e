"""The rules that hold for every format, on raw records written by hand."""

from pathlib import Path

import pytest
from simulated import counts

from faceaudit.annotations.ingest import RawAnswers, validate

GOOD = {"named": "a", "seconds": 3.5, "submitted_at": "2025-10-09T07:30:20Z", "job": "1"}


def ingest(*changes: dict, **about):
    """Ingest one answer per change to a good one, each of an assignment and annotator of its own.

    A change with several `answers` is one assignment.
    """
    export = RawAnswers("test")
    export.begin(Path("folder/file.csv"))
    for number, change in enumerate(changes):
        visit = {"place": f"row {number + 2}", "annotator": f"w{number}"} | GOOD | change
        single = [(visit.pop("attribute", "gender"), visit.pop("level", "Male"))]
        answers = visit.pop("answers", single)
        export.add([(name, level, f"field {name}") for name, level in answers], **visit)
    return validate(export, "salt", **about)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "rejected"}, "rejected assignment"),
        ({"status": "cancelled"}, "cancelled assignment"),
        ({"job": "2"}, "other job"),
        ({"named": None}, "missing image"),
        ({"named": []}, "unusable image id"),
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
    assert row["unit"] == "assignment" or row["field"] == "field gender"


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


def test_a_question_that_others_answered_is_missed():
    both = {"answers": [("gender", "Male"), ("age", "Teen")]}
    frame, report = ingest(both, {}, {"answers": []})
    assert len(frame) == 3
    assert counts(report) == {"no answer": 3}
    row = report.set_index("reason").loc["no answer"]
    assert row[["place", "dropped", "answers"]].tolist() == ["row 3", False, 0]
    _, report = ingest(both, {"attribute": "beauty"})
    assert counts(report) == {"unknown attribute": 1, "no answer": 2}


@pytest.mark.parametrize(
    ("cell", "seconds", "reported"),
    [
        (3.5, 3.5, 0),
        ("3.5", 3.5, 0),
        (0, 0.0, 0),
        (24 * 3600, 86_400.0, 0),
        (None, None, 0),
        (" ", None, 0),
        ("NaN", None, 0),
        (-5, None, 1),
        ("soon", None, 1),
        ("3,5", None, 1),
        (24 * 3600 + 1, None, 1),
        (10**400, None, 1),
        ("inf", None, 1),
        (True, None, 1),
        ([3], None, 1),
    ],
)
def test_seconds_that_cannot_be_are_counted_and_the_answer_is_kept(cell, seconds, reported):
    frame, report = ingest({}, {"seconds": cell})
    assert frame["level"].tolist() == [4, 4]
    read = frame["seconds"].tolist()[1]
    assert read == seconds or (seconds is None and read != read)
    row = report.set_index("reason").loc["seconds that cannot be"]
    assert row["count"] == reported
    assert (row["dropped"], row["unit"], row["answers"]) == (False, "assignment", 0)
    assert row["place"] == ("row 3" if reported else None)


@pytest.mark.parametrize("name", ["3.0", "3,00", 3.0, 3, " 3 "])
def test_a_number_that_a_spreadsheet_wrote_is_no_new_person(name):
    frame, report = ingest({"annotator": "3"}, {"annotator": name})
    assert frame["annotator_id"].nunique() == len(frame) == 1
    assert counts(report) == {"duplicate": 1}


def test_names_that_end_in_a_number_are_different_people():
    frame, _ = ingest({"annotator": "team1"}, {"annotator": "team1.0"})
    assert frame["annotator_id"].nunique() == 2


def test_a_level_that_a_spreadsheet_wrote_is_that_level():
    assert ingest({"level": "3.0"}).frame["level"].tolist() == [3]


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


def test_several_answers_of_one_name_are_told():
    later = {"annotator": "w", "submitted_at": "2025-10-10T07:30:20Z"}
    both = {"answers": [("gender", "Male"), ("age", "Teen")]}
    frame, report = ingest({"annotator": "w"} | both, later | both, later | {"named": "b"} | both)
    assert len(frame) == 4
    assert counts(report) == {"duplicate": 2, "several answers of one name": 1}
    row = report.set_index("reason").loc["several answers of one name"]
    assert row[["place", "dropped", "answers"]].tolist() == ["row 3", False, 0]
    # One question a visit: nothing is answered twice.
    _, report = ingest({"annotator": "w"}, later | {"attribute": "age", "level": "Teen"})
    assert counts(report) == {"no answer": 2}


@pytest.mark.parametrize(
    ("known", "named", "address", "image_id"),
    [
        (None, 7, None, "7"),
        (None, None, "https://host.example/a/0042_L1.jpg?sig=1", "0042_L1"),
        (None, None, "/data/local-files/?d=images/a%20b.png", "a b"),
        (None, None, r"C:\faces\0042.png", "0042"),
        (None, "a", "IMG_7.png", "a"),
        (None, None, "data:image/png;base64,AAAA/0042.png", "missing image"),
        (None, None, "https://host.example/view?id=0042", "missing image"),
        (None, None, "other/good.png", "ambiguous image name"),
        *((None, name, None, "unusable image id") for name in (["a"], "nan", "../x", "<b>a</b>")),
        (["a"], None, "/data/upload/1/52cdb83f-a.png", "a"),
        (["a%20b", "a b"], "a%20b", None, "a%20b"),
        (["a b"], "a%20b", None, "a b"),
        (["c d"], None, "/data/upload/1/42cdb83f-c_d.png", "c d"),
        (["a+é(1)"], None, "/data/upload/1/42cdb83f-aé1.png", "a+é(1)"),
        (["c d", "c_d"], None, "1/42cdb83f-c_d.png", "ambiguous image name"),
        (["c d"], None, "c_d.png", "unknown image"),
        (["Zo\u00eb"], "Zoe\u0308", None, "Zo\u00eb"),
        (["Zoe\u0308"], "Zo\u00eb", None, "Zoe\u0308"),
        (["Zo\u00eb"], None, "https://a.org/Zoe%CC%88.png", "Zo\u00eb"),
        (["Zo\u00eb"], "Zoe%CC%88", None, "Zo\u00eb"),
        (["Zo\u00eb 1"], None, "upload/1/0a1b2c3d-Zoe_1.png", "Zo\u00eb 1"),
        (["faces/b"], None, "/data/local-files/?d=faces/b.png", "faces/b"),
        (["a"], "17", "x/a.png", "a"),
        (["a", "b"], "a", "x/b.png", "image id and file are two images"),
    ],
)
def test_which_image_it_is(known, named, address, image_id):
    good = {"named": None, "address": "good/good.png"}
    known = None if known is None else [*known, "good"]
    frame, report = ingest(good, {"named": named, "address": address}, known=known)
    images = frame["image_id"].astype("str").tolist()
    assert (images, counts(report)) in ((["good", image_id], {}), (["good"], {image_id: 1}))
