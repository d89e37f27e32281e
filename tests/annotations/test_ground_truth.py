"""A labelling job's folder in the shapes that the service documents."""

import json

from simulated import counts

from helpers.annotations import read_ground_truth


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
    manifest.write_text("".join(json.dumps(one) + "\n" for one in items), encoding="utf-8")
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
    found = counts(report)
    assert found == {"several levels": 1, "no answer": 5, "unreadable time": 1}
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
