"""A labelling job's folder in the shapes that the service documents."""

import json

import pytest
from simulated import counts

from faceaudit.annotations import read_ground_truth


def item(name: str, label: object = 0, **about) -> dict:
    metadata = {"class-name": "Female", "confidence": 0.8, "human-annotated": "yes"} | about
    metadata |= {"type": "groundtruth/image-classification", "job-name": "labeling-job/gender"}
    return {"source-ref": f"s3://bucket/{name}.jpg", "gender": label, "gender-metadata": metadata}


def answer(content: object, worker: str = "w", **about) -> dict:
    times = {
        "acceptanceTime": "2020-12-28T18:59:15.191Z",
        "submissionTime": "2020-12-28T18:59:58.321Z",
        "timeSpentInSeconds": 40.543,
    }
    identity = {"identityData": {"identityProviderType": "Cognito", "sub": "s"}}
    return (
        times | {"workerId": worker, "workerMetadata": identity, "answerContent": content} | about
    )


def single(label: object, worker: str = "w") -> dict:
    return answer({"crowd-image-classifier": {"label": label}}, worker)


def job(folder, items: list[dict], responses: dict[str, object]):
    manifest = folder / "manifests/output/output.manifest"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("".join(json.dumps(line) + "\n" for line in items), encoding="utf-8")
    for name, content in responses.items():
        file = folder / "annotations/worker-response/iteration-1" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_answers_belong_to_the_item_of_their_number(tmp_path):
    """One item has no file, one has two, and "10" comes before "2" in the order of names."""
    items = [item(f"{number:04}") for number in range(11)]
    responses = {
        "0/2020-12-28.json": {"answers": [single("Female", "a"), single("Male", "b")]},
        "2/2020-12-28.json": {"answers": [single("Male", "a")]},
        "2/2020-12-29.json": {"answers": [single("In between", "b")]},
        "10/2020-12-28.json": {"answers": [single("Probably male", "a")]},
    }
    frame, report = read_ground_truth(job(tmp_path, items, responses))
    assert frame[["image_id", "level"]].to_numpy().tolist() == [
        *(["0000", 0], ["0000", 4], ["0002", 4], ["0002", 2], ["0010", 3])
    ]
    assert set(frame["attribute"]) == {"gender"}
    assert set(frame["seconds"]) == {40.543}
    assert frame["submitted_at"].notna().all()
    assert counts(report) == {"task without annotation": 8}
    assert report.set_index("reason").loc["task without annotation", "place"] == "item 1"


def test_every_shape_of_an_answer(tmp_path):
    form = {"gender": {"Male": True, "Female": False}, "age": {"label": "Teen"}}
    old = {"workerId": "d", "answerContent": {"crowd-image-classifier": {"label": "Male"}}}
    both = answer({"gender": {"Male": True, "Female": True}}, "c")
    answers = [single("Male", "a"), both, single("", "g"), old, answer(form, "e")]
    responses = {"0/a.json": {"answers": answers}}
    frame, report = read_ground_truth(job(tmp_path, [item("x")], responses))
    assert frame["attribute"].tolist() == ["gender"] * 3 + ["age"]
    assert frame["level"].tolist() == [4, 4, 4, 1]
    reasons = counts(report)
    assert reasons == {"several levels": 1, "no answer": 5, "unreadable time": 1}
    assert report.set_index("reason").loc["several levels", "place"] == "item 0, answer 2"


def test_failed_items_and_bad_rows_are_counted(tmp_path):
    failed = item("broken") | {"gender-metadata": {"failure-reason": "ClientError: no image"}}
    del failed["gender"]
    responses = {
        "0/a.json": {"answers": [single("Male"), single("Manly", "v"), single(None, "u")]},
        "7/a.json": {"answers": [single("Male")]},
    }
    frame, report = read_ground_truth(job(tmp_path, [item("x"), failed], responses))
    assert len(frame) == 1
    assert counts(report) == {
        "missing image": 1,
        "no readable answer": 1,
        "unknown level": 1,
        "failed item": 1,
        "task without annotation": 1,
    }
    where = report.set_index("reason")
    assert where.loc["failed item", "place"] == "item 1"
    assert where.loc["missing image", "place"] == "item 7, answer 1"


def other(label: str, job_name: str, creation_date: str, **about) -> dict:
    """A label of another job, which a line has kept."""
    metadata = {"class-name": "Adult", "type": "groundtruth/image-classification"}
    metadata |= {"job-name": f"labeling-job/{job_name}", "creation-date": creation_date}
    return {label: 3, f"{label}-metadata": metadata | about}


ONE = {"0/a.json": {"answers": [single("Male", "a"), single("Female", "b")]}}
EARLY = "2018-10-18T22:18:13.527256"
LATE = "2018-10-19T08:00:00.000000"


def chained(folder, name: str, first: dict, second: dict, responses=ONE):
    """The folder of a job called `name`, of which each item has two labels."""
    (folder / name).mkdir()
    line = {"source-ref": "s3://bucket/x.jpg"} | first | second
    return job(folder / name, [line], responses)


def test_a_chained_job_is_read_by_its_own_label(tmp_path):
    def attributes(folder, **more):
        return set(read_ground_truth(folder, **more).frame["attribute"])

    age = other("age", "age-job", LATE)
    gender = other("gender", "gender-job", LATE)
    # The service's folder has the name of the job, in whatever order the labels stand.
    assert attributes(chained(tmp_path, "gender-job", gender, age)) == {"gender"}
    # In a folder that somebody called otherwise, the label that was made last.
    early = other("age", "age-job", EARLY)
    assert attributes(chained(tmp_path, "copied", gender, early)) == {"gender"}
    # Else the one whose levels workers named.
    assert attributes(chained(tmp_path, "equal", gender, age)) == {"gender"}
    # "None" is a level of both.
    beard = other("facial_hair", "one", LATE)
    makeup = other("makeup", "two", LATE)
    responses = {"0/a.json": {"answers": [single("None")]}}
    unclear = chained(tmp_path, "unclear", beard, makeup, responses)
    words = "output.manifest: line 1: 2 labels with metadata, 'facial_hair', 'makeup'; give `label`"
    with pytest.raises(ValueError, match=words):
        read_ground_truth(unclear)
    assert attributes(unclear, label="makeup") == {"makeup"}
    with pytest.raises(ValueError, match="expected the label 'age', found labels 'facial_hair'"):
        read_ground_truth(unclear, label="age")


def test_metadata_of_the_input_are_no_label(tmp_path):
    camera = {"camera": "x", "camera-metadata": {"iso": 100, "creation-date": LATE}}
    items = [item("x") | camera, camera | item("y")]
    responses = ONE | {"1/a.json": {"answers": [single("Male")]}}
    frame, _ = read_ground_truth(job(tmp_path, items, responses))
    assert frame["attribute"].tolist() == ["gender"] * 3


MANY = "crowd-image-classifier-multi-select"


@pytest.mark.parametrize(
    ("content", "level"),
    [
        ({"crowd-image-classifier": {"label": 0}}, 0),
        ({MANY: {"labels": ["Probably male"]}}, 3),
        ({"category": {"label": "Probably male"}}, 3),
        ({"crowd-classifier": {"label": "Probably male"}, "comments": "a beard"}, 3),
        ({"Gender": {"Female": False, "Probably male": True}}, 3),
        # Buttons that stand alone in a form, with and without a value.
        ({"Female": {"on": False}, "Probably male": {"on": True}}, 3),
        ({"button 1": {"Female": False}, "button 2": {"Probably male": True}}, 3),
        (json.dumps({"crowd-image-classifier": {"label": "Probably male"}}), 3),
    ],
)
def test_a_job_about_gender_alone_in_every_shape(tmp_path, content, level):
    responses = {"0/a.json": {"answers": [answer(content)]}}
    frame, report = read_ground_truth(job(tmp_path, [item("x")], responses))
    assert frame[["attribute", "level"]].to_numpy().tolist() == [["gender", level]]
    assert "no answer" not in counts(report)


def test_an_answer_as_the_service_hands_it_to_a_consolidation(tmp_path):
    content = json.dumps({"crowd-image-classifier": {"label": "Male"}})
    record = {"workerId": "w", "annotationData": {"content": content}}
    responses = {"0/a.json": {"answers": [record]}}
    frame, _ = read_ground_truth(job(tmp_path, [item("x")], responses))
    assert frame["level"].tolist() == [4]


def test_several_labels_of_one_worker_are_no_level(tmp_path):
    choices = [
        answer({MANY: {"labels": ["Female", "Male"]}}, "a"),
        answer({MANY: {"labels": []}}, "b"),
    ]
    responses = {"0/a.json": {"answers": [*choices, single("Male", "c")]}}
    frame, report = read_ground_truth(job(tmp_path, [item("x")], responses))
    assert frame["level"].tolist() == [4]
    assert counts(report) == {"several levels": 1, "no answer": 1}


def test_two_choices_without_a_questions_name_are_not_guessed(tmp_path):
    two = {"first": {"label": "Male"}, "second": {"label": "Female"}}
    responses = {"0/a.json": {"answers": [answer(two), single("Male", "v")]}}
    frame, report = read_ground_truth(job(tmp_path, [item("x")], responses))
    assert frame["level"].tolist() == [4]
    assert counts(report) == {"unknown attribute": 2, "no answer": 1}


def test_a_number_is_that_of_the_jobs_own_list(tmp_path):
    """Categories in another order than the levels: taken for levels they would be turned over."""
    responses = {"0/a.json": {"answers": [answer({"crowd-image-classifier": {"label": 0}})]}}
    folder = job(tmp_path, [item("x", 1)], responses)
    with pytest.raises(ValueError, match="1 × no readable answer"):
        read_ground_truth(folder)  # the manifest says that 1 is "Female"
    (folder / "annotation-tool").mkdir()
    labels = {"labels": [{"label": "Male"}, {"label": "Female"}]}
    (folder / "annotation-tool/data.json").write_text(json.dumps(labels), encoding="utf-8")
    assert read_ground_truth(folder).frame["level"].tolist() == [4]
