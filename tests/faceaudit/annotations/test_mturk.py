import csv

import numpy as np
import pandas as pd
import pytest
from simulated import counts, perceived_scores

from faceaudit.annotations import ATTRIBUTES, mturk, read_mturk, write_mturk
from faceaudit.annotations.ingest import times
from faceaudit.annotations.schema import hash_annotator
from faceworld import crowd

FIXED = list(mturk.FIXED_COLUMNS)
ROW = dict.fromkeys(FIXED, "") | {
    "HITId": "3H",
    "HITTypeId": "3T",
    "AssignmentId": "3A",
    "WorkerId": "A1",
    "AssignmentStatus": "Approved",
    "SubmitTime": "Thu Oct 09 07:30:20 UTC 2025",
    "WorkTimeInSeconds": "12",
    "Input.image_url": "https://host.example/0042.png",
}


@pytest.fixture
def perceived() -> pd.DataFrame:
    return perceived_scores()


def write(tmp_path, *rows: dict):
    path = tmp_path / "batch.csv"
    rows = [ROW | {"WorkerId": f"A{number}"} | row for number, row in enumerate(rows)]
    columns = list(dict.fromkeys(column for row in rows for column in [*row, "Approve", "Reject"]))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    "answers",
    [
        {"Answer.gender": "Probably male", "Answer.age": "Teen"},
        {"Answer.gender.label": "Probably male", "Answer.age.label": "Teen"},
        {"Answer.taskAnswers": '[{"gender":{"label":"Probably male"},"age":{"label":"Teen"}}]'},
        {"Answer.taskAnswers": '[{"gender":"Probably male"},{"age":1}]'},
        {"Answer.gender": "3", "Answer.age": "1"},
        # Radio buttons of a form.
        {"Answer.taskAnswers": '[{"gender":{"Probably male":true,"Male":false},"age":{"1":true}}]'},
        {
            "Answer.gender.Probably male": "true",
            "Answer.gender.Male": "false",
            "Answer.age.Teen": "TRUE",
        },
    ],
)
def test_every_spelling_of_the_answers(tmp_path, answers):
    frame, report = read_mturk(write(tmp_path, answers))
    assert frame[["image_id", "attribute", "level"]].to_numpy().tolist() == [
        ["0042", "gender", 3],
        ["0042", "age", 1],
    ]
    assert set(frame["annotator_id"]) == {hash_annotator("A0", "helpers")}
    assert frame["seconds"].tolist() == [12.0, 12.0]
    assert set(frame["submitted_at"]) == {pd.Timestamp("2025-10-09T07:30:20Z")}
    assert set(frame["source"]) == {"mturk:batch.csv"}
    assert counts(report) == {}


def test_a_batch_as_downloaded(tmp_path):
    """The header names Approve and Reject, and the rows end before them: 31 cells under 33."""
    columns = [*FIXED, "Input.image_url", "Input.n", "Answer.gender", "Answer.age.label"]
    good = ROW | {"Input.n": "1", "Answer.gender": "Male", "Answer.age.label": "Teen"}
    path = tmp_path / "batch.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow([*columns, "Approve", "Reject"])
        for worker in ("A1", "A2"):
            writer.writerow([(good | {"WorkerId": worker})[name] for name in columns])
    frame, report = read_mturk(path)
    assert frame["level"].tolist() == [4, 1, 4, 1]
    assert counts(report) == {}
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow([*(good[name] for name in columns), "x", ""])
    with pytest.raises(ValueError, match="row 4: .*Expected 31 columns, got 33"):
        read_mturk(path)


def batches(*types: dict) -> list[dict]:
    """Two rows of each type of HIT, about images of their own."""
    return [
        {"HITTypeId": f"3T{number}", "Title": "Describe a face", "Answer.gender": "Male"}
        | {"Input.image_url": f"https://host.example/{number}{copy}.png"}
        | hit_type
        for number, hit_type in enumerate(types)
        for copy in range(2)
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"Reward": "$0.09"},
        {"Title": "Describe a face, quick"},
        {"Answer.age": "Teen"},
        {"Title": "", "Input.batch": ""},
    ],
)
def test_batches_of_one_study_are_one_job(tmp_path, other):
    """MTurk gives a new HITTypeId as soon as the reward is raised."""
    frame, report = read_mturk(write(tmp_path, *batches({}, other, {})))
    assert frame["image_id"].nunique() == 6
    assert "other job" not in counts(report)


@pytest.mark.parametrize(
    "other",
    [
        {"Title": "Is it real?", "Answer.gender": "", "Answer.fakeness": "Not sure"},
        {"Answer.gender": "", "Answer.fakeness": "Not sure"},
        {"Title": "Hear a voice", "Input.image_url": "", "Input.sound_url": "x/1.wav"},
        {"Title": "Hear a voice", "Input.sound_url": "x/1.wav"},
        {"Title": "Describe a dog", "Answer.age": "Teen"},
    ],
)
def test_another_job_in_the_file_is_told_apart(tmp_path, other):
    frame, report = read_mturk(write(tmp_path, *batches({}, other, {})))
    assert set(frame["image_id"]) == {"00", "01", "20", "21"}
    assert counts(report)["other job"] == 2


def test_another_column_of_the_image_is_named_or_given(tmp_path):
    row = {"Input.img_url": "x/0042.png", "Input.batch": "b", "Answer.gender": "Male"}
    text = write(tmp_path, row).read_text(encoding="utf-8")
    path = tmp_path / "other.csv"
    path.write_text(text.replace("Input.image_url", "Input.place"), encoding="utf-8")
    words = "Input.img_url, Input.batch where Input.image_url, Input.image_id was looked for"
    with pytest.raises(ValueError, match=words):
        read_mturk(path)
    assert read_mturk(path, image_key="img_url").frame["image_id"].tolist() == ["0042"]


@pytest.mark.parametrize(("yes", "no"), [("TRUE", "FALSE"), ("T", "F"), ("True", "False")])
def test_buttons_as_excel_r_and_python_write_them(tmp_path, yes, no):
    row = {"Answer.gender.Female": no, "Answer.gender.Male": yes}
    frame, report = read_mturk(write(tmp_path, row))
    assert frame["level"].tolist() == [4]
    assert counts(report) == {}


def test_a_picture_in_a_cell_has_the_name_of_its_image_id(tmp_path):
    picture = "data:image/png;base64," + "A" * 140_000
    row = {"Input.image_url": picture, "Input.image_id": "a", "Answer.gender": "Male"}
    frame, report = read_mturk(write(tmp_path, row))
    assert frame["image_id"].tolist() == ["a"]
    assert counts(report) == {}


def test_a_file_that_a_spreadsheet_saved(tmp_path):
    """Columns without a name and rows without a text at the end; a text there is no such cell."""
    text = write(tmp_path, {"Answer.gender": "Male"}).read_text(encoding="utf-8")
    lines = [line + ",," for line in text.splitlines()]
    lines += ["," * lines[0].count(",")] * 2
    path = tmp_path / "saved.csv"
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
    frame, report = read_mturk(path)
    assert frame["level"].tolist() == [4]
    assert counts(report) == {}
    lines[1] += "see me"
    path.write_text("\n".join(lines), encoding="utf-8")
    place = lines[0].count(",") + 1
    with pytest.raises(ValueError, match=f"row 2: .*'see me' in column {place}, .* no name"):
        read_mturk(path)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("Thu Oct 09 07:30:20 UTC 2025", "2025-10-09T07:30:20Z"),
        ("Thu Oct 09 07:30:20 utc 2025", "2025-10-09T07:30:20Z"),
        ("Thu Oct 09 07:30:20 PDT 2025", "2025-10-09T14:30:20Z"),
        ("Thu Oct 09 07:30:20 GMT 2025", "2025-10-09T07:30:20Z"),
        ("Thu Oct 09 07:30:20 UTC-03:30 2025", "2025-10-09T11:00:20Z"),
        ("Thu Oct 09 07:30:20 GMT+05:30 2025", "2025-10-09T02:00:20Z"),
        ("Thu Oct 09 07:30:20 -0330 2025", "2025-10-09T11:00:20Z"),
        ("2025-10-09T07:30:20Z", "2025-10-09T07:30:20Z"),
        ("2025-10-09 07:30:20+02:00", "2025-10-09T05:30:20Z"),
        ("Thu Oct 09 07:30:20 XYZ 2025", None),
        ("Thu Oct 09 07:30:20 UTC 1969", None),
        ("9999-12-31T23:59:59Z", None),
        ("2025-10-09", None),
        ("", None),
    ],
)
def test_times_with_zone_tokens(text, utc):
    (time,) = times([text])
    assert pd.isna(time) if utc is None else time == pd.Timestamp(utc)


def test_what_the_crowd_answers_is_what_is_read(tmp_path, perceived):
    answers = crowd.annotate(perceived, 5, seed=1, stage="test")
    path = tmp_path / "crowd.csv"
    write_mturk(answers, path)
    header = pd.read_csv(path, nrows=0).columns.tolist()
    assert len(header) == 27 + 2 + len(ATTRIBUTES) + 2
    frame, report = read_mturk(path)
    accepted = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    worker_hash = [hash_annotator(worker, "helpers") for worker in accepted["worker_id"]]
    accepted = accepted.assign(annotator_id=worker_hash)
    expected = accepted.set_index(["image_id", "annotator_id"]).sort_index()
    wide = frame.pivot_table("level", ["image_id", "annotator_id"], "attribute")[list(ATTRIBUTES)]
    assert wide.index.tolist() == expected.index.tolist()
    assert (wide.to_numpy() == expected[list(ATTRIBUTES)].to_numpy()).all()
    first = frame.drop_duplicates(["image_id", "annotator_id"])
    first = first.set_index(["image_id", "annotator_id"]).sort_index()
    assert (first["submitted_at"] == expected["submitted_at"]).all()
    assert np.abs(first["seconds"] - expected["seconds"]).max() <= 0.5
    reasons = counts(report)
    assert reasons["rejected assignment"] == (answers["status"] == "rejected").sum() > 0
    assert reasons["duplicate"] == 8 * (answers["visit"] == 1).sum() > 0
    assert "cancelled assignment" not in reasons


def test_answers_called_like_missing_values_are_answers(tmp_path):
    """pandas would read some of them as nothing."""
    rows = [{"Answer.facial_hair": "None", "WorkerId": who} for who in ("A1", "N/A", "null", "nan")]
    frame, report = read_mturk(write(tmp_path, *rows))
    assert frame["level"].tolist() == [0]
    assert counts(report) == {"missing annotator": 3}
