import csv
import json
import tracemalloc
from xml.etree import ElementTree

import pandas as pd
import pytest
from simulated import perceived_scores

from helpers.annotations import (
    crowd,
    label_studio,
    labelling_config,
    read_label_studio,
    scores,
    text,
    write_label_studio,
)
from helpers.annotations.schema import ATTRIBUTES, hash_annotator

FULL = """[{"id":17,"data":{"image":"x/0042_L1.png","image_id":"0042_L1"},"annotations":[
 {"id":901,"completed_by":4,"was_cancelled":false,"ground_truth":false,
 "created_at":"2025-10-09T07:30:20.5Z","updated_at":"2025-10-09T07:31:00Z","lead_time":8.421,
 "result":[{"id":"p","from_name":"gender","to_name":"img","type":"choices",
 "value":{"choices":["Probably female"]}},
 {"id":"q","from_name":"skin","to_name":"img","type":"rating","value":{"rating":4}}]}],
 "predictions":[]}]"""
MIN = """[{"image":"x/a.png","image_id":"0042_L1","id":17,"gender":"In between",
 "skin":[{"rating":5}],"annotator":"b@example.org","annotation_id":902,
 "created_at":"2025-10-09T07:30:20Z","updated_at":"2025-10-09T07:30:20Z","lead_time":3.1}]"""


@pytest.fixture
def perceived() -> pd.DataFrame:
    return perceived_scores()


def write(tmp_path, text: str, name: str = "export.json"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def export(*annotations: dict, data: dict | None = None, **task) -> dict:
    image = {"image": "images/a.png"} if data is None else data
    return {"id": 1, "data": image, "annotations": list(annotations), **task}


def annotation(result: list, **about) -> dict:
    about = {"completed_by": 1, "created_at": "2025-10-09T07:30:20Z"} | about
    return {"id": 1, "was_cancelled": False, "lead_time": 1.0, "result": result} | about


def choice(label: str | list, name: str = "gender") -> dict:
    labels = [label] if isinstance(label, str) else label
    return {"from_name": name, "type": "choices", "value": {"choices": labels}}


def counts(report: pd.DataFrame) -> dict[str, int]:
    found = report[report["count"] > 0]
    return dict(zip(found["reason"], found["count"], strict=True))


def test_full_export(tmp_path):
    frame, report = read_label_studio(write(tmp_path, FULL), rename={"skin": "skin_colour"})
    assert frame["attribute"].tolist() == ["gender", "skin_colour"]
    assert frame["level"].tolist() == [1, 3]
    assert set(frame["image_id"]) == {"0042_L1"}
    assert set(frame["annotator_id"]) == {hash_annotator(4, "helpers")}
    assert frame["seconds"].tolist() == [8.421, 8.421]
    assert set(frame["submitted_at"]) == {pd.Timestamp("2025-10-09T07:30:20.5Z")}
    assert set(frame["source"]) == {"label_studio:export.json"}
    assert counts(report) == {}


def test_min_export(tmp_path):
    frame, report = read_label_studio(write(tmp_path, MIN), rename={"skin": "skin_colour"})
    assert dict(zip(frame["attribute"], frame["level"], strict=True)) == {
        "gender": 2,
        "skin_colour": 4,
    }
    assert set(frame["annotator_id"]) == {hash_annotator("b@example.org", "helpers")}
    assert counts(report) == {"e-mail as annotator id": 1}


def test_csv_export(tmp_path):
    path = tmp_path / "export.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        about = [
            "annotation_id",
            "annotator",
            "created_at",
            "id",
            "image",
            "lead_time",
            "updated_at",
        ]
        writer.writerow([*about, "gender", "skin_colour", "age", "makeup"])
        about = [902, 3, "2025-10-09T07:30:20Z", 17, "/data/upload/1/0042.jpg", 3.1, ""]
        several = json.dumps({"choices": ["Adult", "Teen"]})
        writer.writerow([*about, "Male", json.dumps([{"rating": 5}]), several, ""])
    frame, report = read_label_studio(path)
    assert frame[["image_id", "attribute", "level"]].to_numpy().tolist() == [
        ["0042", "gender", 4],
        ["0042", "skin_colour", 4],
    ]
    assert counts(report) == {"several levels": 1, "no readable answer": 1}
    assert set(report["line"].dropna()) == {2}


def test_rejected_input_is_counted_and_the_rest_kept(tmp_path):
    tasks = [
        export(annotation([choice("Male"), choice("Lots", "makeup"), choice("a", "beauty")])),
        export(annotation([], was_cancelled=True), data={"image_id": "b"}),
        export(annotation([choice("Male")]), data={"other": 1}),
        export(annotation([choice("Female")], id=2), annotation([choice(["Male", "Female"])])),
        export(
            annotation([{"from_name": "age", "type": "rating", "value": {"rating": 7}}]),
            annotation([{"from_name": "age", "type": "rating", "value": {"rating": 0}}]),
            annotation([{"from_name": "age", "type": "rating", "value": {"rating": 2.5}}]),
            annotation([{"from_name": "age", "type": "rating", "value": {"rating": True}}]),
            annotation([{"from_name": "age", "type": "textarea", "value": {"text": ["old"]}}]),
            annotation([choice("Teen", "age")], completed_by=None),
        ),
    ]
    text = "[" + ",\n".join(json.dumps(task) for task in tasks) + "]"
    frame, report = read_label_studio(write(tmp_path, text))
    assert frame[["image_id", "attribute", "level"]].to_numpy().tolist() == [["a", "gender", 4]]
    assert counts(report) == {
        "cancelled assignment": 1,
        "missing image": 1,
        "missing annotator": 1,
        "unknown attribute": 1,
        "no readable answer": 1,
        "several levels": 1,
        "unknown level": 3,
        "level outside the scale": 2,
        "duplicate": 1,
    }
    where = report.set_index("reason")
    assert where.loc["cancelled assignment", ["line", "field"]].tolist() == [2, "was_cancelled"]
    assert where.loc["unknown level", ["line", "field"]].tolist() == [1, "makeup"]


def test_other_projects_are_dropped(tmp_path):
    tasks = [
        export(annotation([choice("Male")]), data={"image_id": str(i)}, project=1 + (i == 0))
        for i in range(3)
    ]
    frame, report = read_label_studio(write(tmp_path, json.dumps(tasks)))
    assert frame["image_id"].tolist() == ["1", "2"]
    assert counts(report) == {"other job": 1}


@pytest.mark.parametrize(
    ("completed_by", "identity", "emails"),
    [
        (4, 4, 0),
        ({"id": 4, "email": "ann@example.org"}, 4, 1),
        ({"email": "ann@example.org"}, "ann@example.org", 1),
        ("ann@example.org", "ann@example.org", 1),
    ],
)
def test_annotators_are_hashed_and_emails_counted(tmp_path, completed_by, identity, emails):
    tasks = [export(annotation([choice("Male")], completed_by=completed_by))]
    frame, report = read_label_studio(write(tmp_path, json.dumps(tasks)), salt="s")
    assert frame["annotator_id"].tolist() == [hash_annotator(identity, "s")]
    assert counts(report).get("e-mail as annotator id", 0) == emails


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("", 1, "an empty file"),
        ('[{"id": 1,\n"data": {},}]', 2, "no JSON"),
        ('{"id": 1}', 1, "no JSON list"),
        ('[{"id": 1}]', 1, "a task without data and annotations"),
        ("[1]", 1, "a JSON int"),
        ('[{"data": {}, "annotations": []}\n{}]', 2, "does not go on"),
        ('[{"data": {}, "annotations": []},\n', 2, "no JSON"),
        ('[{"data": {}, "annotations": []},\n{"data": {}}]', 2, "a task without data"),
        ('[{"data": {}, "annotations": [{}]}]', 1, "an annotation without a list of results"),
        ('[{"annotation_id": 1, "annotator": 1},\n{"id": 3}]', 2, "an annotation without"),
        ("<html>\n</html>", 1, "columns <html>"),
        ("HITId,WorkerId\n1,2\n", 1, "columns HITId, WorkerId"),
        ("annotation_id,annotator\n1,2\n1,2,3\n", 3, "3 cells under 2 column names"),
        ("[\n" + "[" * 100_000, 2, "JSON that is nested too deeply"),
        ('[\n{"id": %s}]' % ("9" * 4_301), 2, "an integer of thousands of digits"),
        ('[\n{"id": "\\ud800"}]', 2, "a lone surrogate"),
        ('[{"data": {}, "annotations": []}]\n"more"', 2, "text after the end of the list"),
    ],
)
def test_another_format_is_an_error_naming_file_line_and_expectation(tmp_path, text, line, found):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=rf"export.json: line {line}: expected .*{found}"):
        read_label_studio(path)


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_exports_that_were_joined_are_read_to_the_end(tmp_path, between):
    images = [export(annotation([choice("Male")]), data={"image_id": name}) for name in "abcd"]
    lists = [images[:1], [], images[1:3], [{"data": {}, "annotations": [1]}]]
    text = between.join(map(json.dumps, lists[:3]))
    frame, report = read_label_studio(write(tmp_path, text))
    assert frame["image_id"].tolist() == ["a", "b", "c"]
    assert counts(report) == {}
    line = 1 + 3 * len(between)
    with pytest.raises(ValueError, match=f"line {line}: .*an annotation without a list of results"):
        read_label_studio(write(tmp_path, between.join(map(json.dumps, lists))))


def test_an_emoji_in_two_escapes_is_no_lone_surrogate(tmp_path):
    tasks = [export(annotation([choice("Male")]), data={"image_id": "\N{GRINNING FACE}"})]
    frame, _ = read_label_studio(write(tmp_path, json.dumps(tasks)))
    assert frame["image_id"].tolist() == ["\N{GRINNING FACE}"]


@pytest.mark.parametrize(
    ("where", "value", "found"),
    [
        ("lead_time", 10**400, {}),
        ("lead_time", [1], {}),
        ("created_at", 17, {"unreadable time": 1}),
        ("rating", -(10**4_300 - 1), {"level outside the scale": 1}),
        ("rating", 10**4_300 - 1, {"level outside the scale": 1}),
        ("choice", "9" * 5_000, {"level outside the scale": 1}),
    ],
    ids=str,
)
def test_numbers_beyond_reason_are_counted_not_raised(tmp_path, where, value, found):
    answers = {"rating": {"rating": value}, "choice": {"choices": [value]}}
    result = {"from_name": "age", "value": answers.get(where, {"choices": ["Teen"]})}
    tasks = [export(annotation([result], **({} if where in answers else {where: value})))]
    frame, report = read_label_studio(write(tmp_path, json.dumps(tasks)))
    assert counts(report) == found
    assert len(frame) == 1 - found.get("level outside the scale", 0)
    assert where != "lead_time" or frame["seconds"].isna().all()


def test_bytes_that_are_not_text_are_an_error(tmp_path):
    path = tmp_path / "image.png"
    path.write_bytes(b"PNG\n\xff\xfe\x00")
    with pytest.raises(ValueError, match="image.png: line 2: .* not UTF-8"):
        read_label_studio(path)


def test_an_export_without_tasks_is_empty_and_not_an_error(tmp_path):
    frame, report = read_label_studio(write(tmp_path, "[]"))
    assert frame.empty
    assert counts(report) == {}


def test_what_the_crowd_answers_is_what_is_read(tmp_path, perceived):
    answers = crowd.annotate(perceived, 5, seed=1, stage="test")
    path = tmp_path / "crowd.json"
    write_label_studio(answers, path)
    frame, report = read_label_studio(path)
    accepted = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    wide = frame.pivot_table("level", ["image_id", "annotator_id"], "attribute")
    accepted = accepted.assign(
        annotator_id=[hash_annotator(r, "helpers") for r in accepted["rater"]]
    )
    expected = accepted.set_index(["image_id", "annotator_id"])[list(ATTRIBUTES)].sort_index()
    assert wide.index.tolist() == expected.index.tolist()
    assert (wide[list(ATTRIBUTES)].to_numpy() == expected.to_numpy()).all()
    found = counts(report)
    assert found["cancelled assignment"] == (answers["status"] != "accepted").sum() > 0
    assert found["duplicate"] == 8 * (answers["visit"] == 1).sum() > 0
    assert found["e-mail as annotator id"] == (answers["rater"] == 1).sum() > 0
    assert frame["seconds"].isin(answers["seconds"]).all()
    assert frame["submitted_at"].isin(answers["submitted_at"]).all()
    assert scores(frame).index.tolist() == sorted(perceived.index)


def test_files_and_tables_do_not_depend_on_the_parts(tmp_path, perceived, monkeypatch):
    answers = crowd.annotate(perceived[:50], 3, seed=1, stage="test")
    answers = answers.sample(frac=1, random_state=0)  # an image's answers need not stand together
    together, apart = tmp_path / "crowd.json", tmp_path / "parts" / "crowd.json"
    apart.parent.mkdir()
    write_label_studio(answers, together)
    frame, report = read_label_studio(together)
    monkeypatch.setattr(label_studio, "_TASKS", 7)
    monkeypatch.setattr(label_studio, "_ANNOTATIONS", 7)
    write_label_studio(answers, apart)
    assert apart.read_bytes() == together.read_bytes()
    for found, expected in zip(read_label_studio(apart), (frame, report), strict=True):
        pd.testing.assert_frame_equal(found, expected)


def test_memory_is_that_of_the_answers_not_of_the_export(tmp_path, perceived, monkeypatch):
    monkeypatch.setattr(label_studio, "_TASKS", 20)
    monkeypatch.setattr(label_studio, "_ANNOTATIONS", 20)
    monkeypatch.setattr(text, "_BLOCK", 2**14)

    def peak(images: int) -> int:
        """Bytes held at most while so many images are written and read."""
        many = pd.concat([perceived] * (1 + images // len(perceived)))[:images]
        many.index = [f"image-{number}" for number in range(images)]
        answers = crowd.annotate(many, 3, seed=1, stage="test")
        tracemalloc.start()
        try:
            write_label_studio(answers, tmp_path / "crowd.json")
            read_label_studio(tmp_path / "crowd.json")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = 100, 300
    kilobytes = (peak(many) - peak(few)) / (many - few) / 1000
    assert kilobytes < 8  # an image; in parts that hold the whole export they take twelve


def test_the_configuration_offers_exactly_the_scales():
    view = ElementTree.fromstring(labelling_config())
    offered = {
        choices.get("name"): tuple(choice.get("value") for choice in choices)
        for choices in view.iter("Choices")
    }
    assert offered == ATTRIBUTES
    image = {"name": "img", "value": "$image", "width": "256px"}
    assert [one.attrib for one in view.iter("Image")] == [image]
    assert {choices.get("toName") for choices in view.iter("Choices")} == {"img"}


def test_names_in_the_configuration_are_text_and_no_markup(monkeypatch):
    names = ('<Choice value="x" />', 'a "quoted" & plain one')
    monkeypatch.setattr(label_studio, "ATTRIBUTES", {"hair_&_<b>": names})
    view = ElementTree.fromstring(labelling_config())
    assert [one.get("value") for one in view.iter("Choice")] == list(names)
    assert [one.get("name") for one in view.iter("Choices")] == ["hair_&_<b>"]
    assert [one.get("value") for one in view.iter("Header")] == ["Hair & <b>"]
