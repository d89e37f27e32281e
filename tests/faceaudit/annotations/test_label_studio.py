import csv
import io
import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from simulated import counts, perceived_scores

from faceaudit.annotations import (
    ATTRIBUTES,
    count_tensor,
    labelling_config,
    read_label_studio,
    scores,
    standard_deviation,
    write_label_studio,
)
from faceaudit.annotations.label_studio import write_export
from faceaudit.annotations.schema import hash_annotator
from faceworld import crowd


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


# The server sorts the columns of a table, so that nothing tells an answer from data.
TABLE = [
    *("age", "annotation_id", "annotator", "created_at", "gender", "id", "image", "lead_time"),
    *("makeup", "skin_colour", "updated_at"),
]
SEVERAL = json.dumps({"choices": ["Adult", "Teen"]})
TABLE_ROW = [
    *(SEVERAL, 902, "3.0", "2025-10-09T07:30:20Z", "Male", 17, "/data/upload/1/0042.jpg", 3.1),
    *("", json.dumps([{"rating": 5}]), ""),
]
ASKED = ["gender", "skin_colour", "age", "makeup"]


@pytest.mark.parametrize(("name", "delimiter"), [("export.csv", ","), ("export.tsv", "\t")])
def test_csv_and_tsv_exports(tmp_path, name, delimiter):
    path = tmp_path / name
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerows([TABLE, TABLE_ROW])
    frame, report = read_label_studio(path, questions=ASKED, stars={"skin_colour": 6})
    assert frame[["image_id", "attribute", "level"]].to_numpy().tolist() == [
        ["0042", "gender", 4],
        ["0042", "skin_colour", 4],
    ]
    assert set(frame["annotator_id"]) == {hash_annotator(3, "helpers")}  # not a new person "3.0"
    assert counts(report) == {"several levels": 1, "no answer": 1}
    assert report.set_index("reason").loc["no answer", "place"] == "row 2"


def flat(data: dict, answers: dict, **about) -> dict:
    """A record as JSON_MIN has it: data, id, answers, and what is said about the annotation."""
    about = {"annotation_id": 902, "created_at": "2025-10-09T07:30:20Z"} | about
    return data | {"id": 17} | answers | {"annotator": 3} | about


def test_task_data_named_like_an_attribute_is_no_answer(tmp_path):
    """The intended level, say: taken for an answer, a manipulation check would prove itself."""
    intended = {"image_id": "a", "gender": "Female"}
    record = flat(intended, {"perceived_gender": "Male"})
    path = write(tmp_path, json.dumps([record]))
    with pytest.raises(ValueError, match=r"task 17: found 'gender' in the .*data.*`questions`"):
        read_label_studio(path)
    rename = {"perceived_gender": "gender"}
    frame, report = read_label_studio(path, questions=list(rename), rename=rename)
    assert frame[["attribute", "level"]].to_numpy().tolist() == [["gender", 4]]
    assert counts(report) == {}
    # Of one name, the server writes the answer where the data stood.
    both = write(tmp_path, json.dumps([flat(intended, {})]), "both.json")
    with pytest.raises(ValueError, match=r"both.json: task 17: found 'gender' .*full JSON"):
        read_label_studio(both, questions=["gender"])
    full = export(annotation([choice("Male", "gender")]), data=intended)
    frame, _ = read_label_studio(write(tmp_path, json.dumps([full]), "full.json"))
    assert frame["level"].tolist() == [4]


def test_one_report_for_all_formats(tmp_path):
    """Empty answers, second results of one control and tasks without annotation."""
    result = [choice("Male"), choice("Female"), choice([], "age"), choice("Full", "makeup")]
    other = [choice("Teen", "age"), choice("Male"), choice("Full", "makeup")]
    tasks = [
        export(annotation(result), data={"image_id": "a"}),
        export(annotation(other, id=2, completed_by=2), data={"image_id": "a"}),
        export(data={"image_id": "b"}) | {"id": 3},
    ]
    records = [
        flat({"image_id": "a"}, {"gender": ["Male", "Female"], "makeup": "Full"}),
        flat({"image_id": "a"}, {"age": "Teen", "gender": "Male", "makeup": "Full"}, annotator=2),
        flat({"image_id": "b"}, {}, annotation_id=None, annotator=None),
    ]
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    table = csv.DictWriter(text, sorted(names), restval="")
    table.writeheader()
    for record in records:
        second = {"gender": json.dumps(["Male", "Female"])} if "age" not in record else {}
        table.writerow(record | (second if "gender" in record else {}))
    questions = ["gender", "age", "makeup"]
    ingests = [
        read_label_studio(write(tmp_path, text, name), questions=questions)
        for text, name in (
            (json.dumps(tasks), "full.json"),
            (json.dumps(records), "min.json"),
            (text.getvalue(), "table.csv"),
        )
    ]
    for frame, report in ingests:
        assert counts(report) == {"duplicate": 1, "no answer": 1, "task without annotation": 1}
        assert sorted(zip(frame["attribute"], frame["level"], strict=True)) == [
            *(("age", 1), ("gender", 4), ("gender", 4), ("makeup", 2), ("makeup", 2))
        ]
    places = [ingest.report.set_index("reason").loc["no answer", "place"] for ingest in ingests]
    assert places == ["task 1, annotation 1", "task 17, annotation 902", "row 2"]


def test_choices_called_one_to_five_are_counted_from_one(tmp_path):
    tasks = [
        export(annotation([choice(str(number))]), data={"image_id": str(number)})
        for number in range(1, 6)
    ]
    path = write(tmp_path, json.dumps(tasks))
    with pytest.raises(ValueError, match="nothing usable in 5 assignments: 5 × unknown level"):
        read_label_studio(path)
    frame, _ = read_label_studio(path, questions={"gender": list("12345")})
    assert frame["level"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="'gender': 5 choices with different names were expected"):
        read_label_studio(path, questions={"gender": list("1234")})
    with pytest.raises(ValueError, match="'beauty' is no attribute"):
        read_label_studio(path, questions=["beauty"])


def test_several_files_are_read_as_one(tmp_path):
    def task(name: str, *people: int):
        tasks = [export(*(annotation([choice("Male")], completed_by=who) for who in people))]
        return write(tmp_path, json.dumps(tasks), name)

    paths = [task("a.json", 1, 2), task("b.json", 2, 3), write(tmp_path, "[]", "empty.json")]
    together = read_label_studio(paths)
    assert len(together.frame) == 3
    assert counts(together.report) == {"duplicate": 1, "nothing usable in a file": 1}
    where = together.report.set_index("reason")
    assert where.loc["duplicate", "file"] == "b.json"
    assert where.loc["nothing usable in a file", "file"] == "empty.json"
    assert together.frame["source"].tolist() == [
        *(["label_studio:a.json"] * 2),
        "label_studio:b.json",
    ]


def test_a_data_url_in_a_cell_is_read_over(tmp_path):
    text = io.StringIO()
    row = list(TABLE_ROW)
    row[TABLE.index("image")] = "data:image/png;base64," + "A" * 200_000
    csv.writer(text).writerows([TABLE, TABLE_ROW, row])
    path = write(tmp_path, text.getvalue(), "export.csv")
    assert counts(read_label_studio(path, questions=["gender"]).report) == {"missing image": 1}


PICTURE = "data:image/png;base64," + "A" * 140_000


def test_a_picture_in_the_file_has_the_name_of_its_image_id(tmp_path):
    record = flat({"image": PICTURE, "image_id": "a"}, {"gender": "Male"}, lead_time=3)
    full = export(annotation([choice("Male")]), data={"image": PICTURE, "image_id": "a"})
    table = io.StringIO()
    writer = csv.DictWriter(table, list(record))
    writer.writeheader()
    writer.writerow(record)
    texts = {"full.json": json.dumps([full]), "min.json": json.dumps([record])}
    for name, text in (texts | {"table.csv": table.getvalue()}).items():
        path = write(tmp_path, text, name)
        frame, report = read_label_studio(path, questions=["gender"], known_images=["a"])
        assert frame[["image_id", "level"]].to_numpy().tolist() == [["a", 4]]
        assert counts(report) == {}
    del full["data"]["image_id"]
    path = write(tmp_path, json.dumps([full]))
    with pytest.raises(ValueError, match="1 × missing image .* stands in the file .* image_id"):
        read_label_studio(path)


def stars(rating: int, name: str = "skin_colour") -> dict:
    return {"from_name": name, "type": "rating", "value": {"rating": rating}}


def test_a_rating_is_read_if_its_number_of_stars_is_given(tmp_path):
    """Ten stars of which nobody gave more than six cannot be told from six stars."""
    ratings = {"pale": 1, "light": 2, "dark": 6}
    tasks = [export(annotation([stars(r)]), data={"image_id": name}) for name, r in ratings.items()]
    path = write(tmp_path, json.dumps(tasks))
    with pytest.raises(ValueError, match=r"export.json: task 1, .* 'skin_colour' has .*stars=\{"):
        read_label_studio(path)
    frame = read_label_studio(path, stars={"skin_colour": 10}).frame
    score = scores(frame)["skin_colour"]
    assert score.to_dict() == pytest.approx({"pale": 0, "light": 1 / 9, "dark": 5 / 9})
    frame = read_label_studio(path, stars={"skin_colour": 6}).frame
    assert frame["level"].tolist() == [0, 1, 5]
    assert frame["level"].dtype == "int64"
    with pytest.raises(ValueError, match="task 1, .* has a rating of 6 of 5 stars"):
        read_label_studio(path, stars={"skin_colour": 5})
    with pytest.raises(ValueError, match="stars of 'skin_colour': a whole number from 2 to 100"):
        read_label_studio(path, stars={"skin_colour": 1})


def test_stars_and_choices_about_one_image_have_one_mean(tmp_path):
    """A level of a choice and a place between two levels stand on one scale."""
    visits = [
        annotation([stars(4)], completed_by=1),
        annotation([stars(7)], completed_by=2),
        annotation([choice("Black", "skin_colour")], completed_by=3),
    ]
    task = export(*visits, data={"image_id": "a"})
    path = write(tmp_path, json.dumps([task]))
    frame = read_label_studio(path, stars={"skin_colour": 10}).frame
    answers = np.array([3 / 9, 6 / 9, 1])
    assert scores(frame).loc["a", "skin_colour"] == pytest.approx(answers.mean())
    (count,) = count_tensor(frame)[1].values()
    assert count.sum() == 3
    assert standard_deviation(count)[0] == pytest.approx(answers.std(ddof=1))


def test_stars_about_a_question_that_is_no_attribute_are_counted(tmp_path):
    task = export(annotation([stars(7, "beauty"), choice("Male")]))
    frame, report = read_label_studio(write(tmp_path, json.dumps([task])))
    assert frame["level"].tolist() == [4]
    assert counts(report) == {"unknown attribute": 1}


def box(name: str, x: int) -> dict:
    where = {"x": x, "y": 10, "width": 20, "height": 30, "rotation": 0}
    value = where | {"rectanglelabels": ["Face"]}
    return {"id": name, "from_name": "face", "type": "rectanglelabels", "value": value}


def of_box(region: dict, label: str) -> dict:
    where = {key: region["value"][key] for key in ("x", "y", "width", "height", "rotation")}
    return choice(label) | {"id": region["id"], "value": where | {"choices": [label]}}


LEFT = box("L", 5)
RIGHT = box("R", 60)


def test_answers_about_several_regions_of_an_image_are_left_out(tmp_path):
    """Two people in one picture have no single answer, whoever of the raters saw both."""
    both = [LEFT, of_box(LEFT, "Female"), RIGHT, of_box(RIGHT, "Male")]
    only_left = [LEFT, of_box(LEFT, "Female")]
    one_of_two = [LEFT, RIGHT, of_box(RIGHT, "Male")]
    of_image = [LEFT, RIGHT, choice("In between")]
    tasks = [
        export(annotation(both), annotation(only_left, completed_by=2), data={"image_id": "two"}),
        export(annotation(one_of_two), data={"image_id": "unanswered"}),
        export(annotation(only_left), data={"image_id": "single"}),
        export(annotation(of_image), data={"image_id": "whole image"}),
        export(annotation([choice("Male")]), data={"image_id": "no region"}),
    ]
    tasks = [task | {"id": number} for number, task in enumerate(tasks, start=1)]
    frame, report = read_label_studio(write(tmp_path, json.dumps(tasks)))
    levels = dict(zip(frame["image_id"], frame["level"], strict=True))
    assert levels == {"single": 0, "whole image": 2, "no region": 4}
    row = report.set_index("reason").loc["several regions"]
    assert row[["count", "answers", "dropped"]].tolist() == [4, 4, True]
    assert row[["place", "field"]].tolist() == ["task 1, annotation 1", "gender"]
    assert "duplicate" not in counts(report)


@pytest.mark.parametrize("with_place", [True, False])
def test_answers_of_two_people_about_places_apart_are_left_out(tmp_path, with_place):
    """Each drew one rectangle, and an answer has its place or the id of its region alone."""

    def one_region(region: dict, label: str, person: int, **about) -> dict:
        answer = of_box(region, label)
        if not with_place:
            answer["value"] = {"choices": [label]}
        return annotation([region, answer], completed_by=person, **about)

    left_answer = one_region(LEFT, "Female", 1)
    near = box("N", 15)
    turned = box("T", 60)
    turned["value"]["rotation"] = 30
    tasks = {
        "apart": [left_answer, one_region(RIGHT, "Male", 2)],
        "overlap": [left_answer, one_region(near, "Male", 2)],
        "cancelled": [left_answer, one_region(RIGHT, "Male", 2, was_cancelled=True)],
        "turned": [left_answer, one_region(turned, "Male", 2)],
        "whole image": [left_answer, annotation([choice("Male")], completed_by=2)],
    }
    records = [
        export(*annotations, data={"image_id": name}) | {"id": number}
        for number, (name, annotations) in enumerate(tasks.items(), start=1)
    ]
    frame, report = read_label_studio(write(tmp_path, json.dumps(records)))
    sizes = frame.groupby("image_id", observed=True).size().to_dict()
    assert sizes == {"overlap": 2, "cancelled": 1, "turned": 2, "whole image": 2}
    assert counts(report)["several regions"] == 2


@pytest.mark.parametrize("place", [{"imageDataURL": "data:image/png;base64,{}"}, {}])
def test_regions_of_any_kind_are_told_apart(tmp_path, place):
    """A bit mask says where it lies as no other region does, and an answer has its id alone."""
    results = []
    for name, label in (("L", "Female"), ("R", "Male")):
        where = {key: text.format(name) for key, text in place.items()}
        value = where | {"bitmasklabels": ["Face"]}
        results.append({"id": name, "from_name": "face", "type": "bitmasklabels", "value": value})
        results.append(choice(label) | {"id": name})
    tasks = [
        export(annotation(results), data={"image_id": "two"}) | {"id": 1},
        export(annotation(results[2:]), data={"image_id": "single"}) | {"id": 2},
    ]
    frame, report = read_label_studio(write(tmp_path, json.dumps(tasks)))
    assert dict(zip(frame["image_id"], frame["level"], strict=True)) == {"single": 4}
    reasons = counts(report)
    assert reasons["several regions"] == 2 and "duplicate" not in reasons


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_short_formats_tell_of_several_regions_too(tmp_path, kind):
    """They leave the region of a choice out, and say what was drawn."""
    drawn = [LEFT["value"], RIGHT["value"]]
    records = [
        flat({"image_id": "two"}, {"face": drawn, "gender": ["Female", "Male"]}),
        flat({"image_id": "single"}, {"face": drawn[:1], "gender": "Male"}),
        flat({"image_id": "twice"}, {"face": drawn[:1], "gender": ["Male", "Female"]}),
    ]
    text = json.dumps(records)
    if kind == "csv":
        table = io.StringIO()
        writer = csv.DictWriter(table, list(records[0]))
        writer.writeheader()
        for record in records:
            cells = {k: v if isinstance(v, str) else json.dumps(v) for k, v in record.items()}
            writer.writerow(cells)
        text = table.getvalue()
    path = write(tmp_path, text, f"export.{kind}")
    frame, report = read_label_studio(path, questions=["gender"])
    levels = dict(zip(frame["image_id"], frame["level"], strict=True))
    assert levels == {"single": 4, "twice": 4}
    reasons = counts(report)
    assert (reasons["several regions"], reasons["duplicate"]) == (2, 1)


def test_another_key_of_the_image_is_named_or_given(tmp_path):
    data = {"photo": "s3://bucket/faces/001.png", "batch": "spring"}
    records = {
        "full.json": [export(annotation([choice("Male")]), data=data)],
        "min.json": [flat(data, {"gender": "Male"})],
    }
    for name, content in records.items():
        path = write(tmp_path, json.dumps(content), name)
        words = f"{name}: .*has photo, batch where image, image_id was looked for; `image_key`"
        with pytest.raises(ValueError, match=words):
            read_label_studio(path, questions=["gender"])
        for key in ("photo", "$photo"):
            frame, _ = read_label_studio(path, questions=["gender"], image_key=key)
            assert frame["image_id"].tolist() == ["001"]


def test_a_server_has_no_account_for_who_answers(tmp_path, perceived):
    """A server refuses an import that names an account it does not have, and keeps `meta`."""
    path = tmp_path / "crowd.json"
    write_label_studio(crowd.annotate(perceived[:5], 3, seed=1, stage="test"), path)
    tasks = json.loads(path.read_text(encoding="utf-8"))
    visits = [visit for task in tasks for visit in task["annotations"]]
    assert not any("completed_by" in visit for visit in visits)
    before = read_label_studio(path).frame
    for visit in visits:
        visit["completed_by"] = 1  # as a server exports them again: who imported did it all
    after = read_label_studio(write(tmp_path, json.dumps(tasks), "crowd.json")).frame
    pd.testing.assert_frame_equal(after, before)


def test_an_attribute_may_have_any_name(tmp_path, perceived):
    """Among others one that is no name of Python's, such as a column with a blank."""
    answers = crowd.annotate(perceived[:5], 3, seed=1, stage="test")
    path = tmp_path / "crowd.json"
    scales = {"hair length": ATTRIBUTES["hair_length"]}
    about = {"item": "image", "to_name": "img", "data": {name: {} for name in perceived.index}}
    write_export(
        answers.rename(columns={"hair_length": "hair length"}), path, scales=scales, **about
    )
    tasks = json.loads(path.read_text(encoding="utf-8"))
    results = [
        result for task in tasks for visit in task["annotations"] for result in visit["result"]
    ]
    sent = answers.loc[answers["status"] != "cancelled", "hair_length"]
    levels = [ATTRIBUTES["hair_length"][level] for level in sent]
    assert {result["from_name"] for result in results} == {"hair length"}
    assert sorted(result["value"]["choices"][0] for result in results) == sorted(levels)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda answers: answers.drop(columns=list(ATTRIBUTES)),
            "no column of answers, .*'gender'",
        ),
        (lambda answers: answers.drop(columns="rater"), r"no column \['rater'\]"),
        (lambda answers: answers.drop(columns="image_id"), r"no column \['image_id'\]"),
        (lambda answers: answers.assign(image_id=None), "'image_id', row 0 is None, an id was"),
    ],
)
def test_a_table_without_answers_is_not_written(tmp_path, perceived, change, words):
    answers = crowd.annotate(perceived[:5], 3, seed=1, stage="test")
    with pytest.raises(ValueError, match=words):
        write_label_studio(change(answers), tmp_path / "crowd.json")
    assert not (tmp_path / "crowd.json").exists()


def test_attributes_are_asked_one_at_a_time_and_read_together(tmp_path):
    """As the transects paper asks: a project, and an export, per attribute."""
    levels = {"gender": 4, "makeup": 1}
    exports = []
    for project, (name, level) in enumerate(levels.items(), start=1):
        config = ElementTree.fromstring(labelling_config({name: ATTRIBUTES[name]}))
        assert [choices.get("name") for choices in config.iter("Choices")] == [name]
        record = {"annotation_id": project, "annotator": "x", "image_id": "a", "id": 1}
        record |= {name: ATTRIBUTES[name][level], "created_at": "2025-10-09T07:30:20Z"}
        exports.append(write(tmp_path, json.dumps([record]), f"{name}.json"))
    frame = read_label_studio(exports, questions=list(levels)).frame
    assert dict(zip(frame["attribute"], frame["level"], strict=True)) == levels


def test_the_configuration_offers_exactly_the_scales():
    view = ElementTree.fromstring(labelling_config())
    offered = {
        choices.get("name"): tuple(choice.get("value") for choice in choices)
        for choices in view.iter("Choices")
    }
    assert offered == ATTRIBUTES
    image = {"name": "img", "value": "$image", "width": "256px"}
    assert [element.attrib for element in view.iter("Image")] == [image]
    assert {choices.get("toName") for choices in view.iter("Choices")} == {"img"}
