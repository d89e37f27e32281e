"""What is refused: damaged files of every format, and arguments that mean nothing."""

import json
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulated import perceived_scores

from faceaudit.annotations import (
    agreement,
    count_tensor,
    pair_ratings,
    read_ground_truth,
    read_label_studio,
    read_mturk,
    write_page,
)
from faceaudit.datasets import read_published
from faceaudit.utils.errors import InputError
from faceworld import crowd

CHOICE = {"from_name": "gender", "value": {"choices": ["Male"]}}
VISIT = {"id": 7, "completed_by": 1, "created_at": "2025-10-09T07:30:20Z", "result": [CHOICE]}
TASK = {"id": 3, "data": {"image_id": "a"}, "annotations": [VISIT]}
FLAT = {"image_id": "a", "id": 3, "gender": "Male", "annotator": 1, "annotation_id": 7}
FULL = json.dumps([TASK, TASK])
MIN = json.dumps([FLAT, FLAT])
BATCH = "HITTypeId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,Input.image_id,"
BATCH += "Answer.age\nT,W,Approved,Thu Oct 09 07:30:20 UTC 2025,9,a,Teen\n"
TABLE = "annotation_id,annotator,image_id,gender\n1,2,a,Male\n1,3,a,Male\n"
ITEM = '{"source-ref": "s3://b/a.jpg", "gender": 0, "gender-metadata": {}}\n'
SAID = '{"answers": [{"workerId": "w", "answerContent": {"crowd-image-classifier": {}}}]}'
ARRAY = pickle.dumps({"gender": np.array([[0, 4], [1, 1]])})

read_asked = partial(read_label_studio, questions=["gender"])
read_pairs = partial(
    pair_ratings.read_pair_export,
    pairs=pd.DataFrame({"kind": ["negative"]}, index=["x"]),
    n_raters=1,
)


def utf16(text: str) -> bytes:
    return text.encode("utf-16")


@pytest.mark.parametrize(
    ("read", "content", "place", "words"),
    [
        (read_label_studio, "", "line 1", "an empty file"),
        (read_label_studio, FULL[:-40], "line 1", "Input data was truncated"),
        (read_label_studio, '[{"id": 1,\n"data": {},}]', "line 2", "JSON is malformed"),
        (read_label_studio, json.dumps(TASK), "line 1", "Expected `array`, got `object`"),
        (read_label_studio, '[{"id": 1}]', "task 1 of the file", "missing required field `data`"),
        (read_label_studio, FULL.replace('"result"', '"x"'), "task 1 of", r"`result` .*\[0\]"),
        (read_label_studio, FULL.replace("Male", "\xe9").encode("latin-1"), "task 1", "decode"),
        (read_label_studio, MIN.replace('"annotator"', '"who"'), "task 3", "without 'annotator'"),
        (read_label_studio, MIN.replace('"id"', '"x"', 1), "task 1 of the file", "no 'id' between"),
        (read_label_studio, TABLE, "row 1", "give `questions`"),
        (read_asked, utf16(TABLE), "row 1", "no CSV .*utf-8"),
        (read_asked, BATCH, "row 1", "no column annotation_id"),
        (read_asked, TABLE + "1,2,3\n", "row 4", "Expected 4 columns, got 3"),
        (read_asked, TABLE + '"1,2', "the whole file", "odd number of quot"),
        (read_label_studio, "[]", "nothing usable in 0 assignments", ""),
        (read_label_studio, FULL.replace("image_id", "pair_id"), "nothing usable", "missing image"),
        (read_label_studio, FULL.replace("gender", "sex"), "nothing usable", "is sex; known are g"),
        (
            read_pairs,
            FULL,
            "nothing usable in 2 assignments",
            "2 × (missing pair|missing image|unknown image)",
        ),
        (read_mturk, BATCH.replace("Answer.", ""), "row 1", r"no column Answer\.\*"),
        (read_mturk, BATCH.partition("\n")[0], "row 1", "no row below it"),
        (read_published, ARRAY[:-9], "the whole file", "something else"),
        (read_published, pickle.dumps({"age": Path("x")}), "the whole file", "it asks for pathlib"),
        (read_published, pickle.dumps({"age": np.array([1])}), "'age'", "int64 of 1 axes"),
    ],
)
def test_a_damaged_file_gives_one_clear_sentence(tmp_path, read, content, place, words):
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=rf"^{path}: {place}.*{words}") as refused:
        read(path)
    assert "\n" not in str(refused.value).strip()


@pytest.mark.parametrize(
    ("manifest", "answers", "words"),
    [
        (" \n", SAID, "output.manifest: line 1: expected .*malformed|truncated"),
        (ITEM + ITEM[:-9], SAID, "output.manifest: line 2: .*truncated"),
        (ITEM.replace("-metadata", ""), SAID, "output.manifest: line 1: .*0 labels with metadata"),
        (ITEM, SAID[:-9], "a.json: line 1: .*truncated"),
        (ITEM, SAID, "nothing usable in 1 assignment: 1 × no readable answer"),
    ],
)
def test_a_damaged_job_gives_one_clear_sentence(tmp_path, manifest, answers, words):
    files = {"manifests/output/output.manifest": manifest}
    files["annotations/worker-response/iteration-1/0/a.json"] = answers
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=words):
        read_ground_truth(tmp_path)


GREY = np.zeros((4, 4, 3), np.uint8)
YES_NO = {"q": ("no", "yes")}
SEEN = perceived_scores().head(5)
ANSWERS = pd.DataFrame({"image_id": ["a", "b"], "attribute": "age", "level": [0, 5]})
ANSWERS = ANSWERS.assign(annotator_id="w", seconds=1.0)


def page(images, questions=YES_NO):
    return lambda path: write_page(images, questions, path / "page.html")


def crowd_of(**change):
    return lambda _: crowd.annotate(**({"perceived": SEEN, "n_raters": 3} | KEYS | change))


KEYS = {"seed": 1, "stage": "test"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: read_label_studio([]), "no files to read"),
        (page({}), "no images"),
        (page({"x": GREY / 255}), r"image 'x': uint8 .* not float64"),
        (page({"x": GREY}, {"q": ("no", "No")}), "question 'q': .* different names"),
        (crowd_of(perceived=SEEN.rename(columns={"age": "beauty"})), "attribute 'beauty'"),
        (lambda _: pair_ratings.read_pair_export("x", pd.DataFrame(), 0), "n_raters is 0"),
        (lambda _: count_tensor(ANSWERS.assign(attribute="beauty")), "unknown attribute 'beauty'"),
        (lambda _: count_tensor(ANSWERS.assign(attribute="makeup")), "level of makeup outside"),
        (lambda _: agreement.screen_raters(ANSWERS.assign(level=9)), "level of age outside"),
        (lambda _: agreement.screen_raters(ANSWERS, gold={("a", "hat"): [1]}), "gold question"),
    ],
)
def test_an_argument_that_means_nothing_is_refused(tmp_path, call, words):
    with pytest.raises(ValueError, match=words):
        call(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "field", "found", "expected"),
    [
        (
            page({"x": GREY}, {"q": ("no", "No")}),
            "question 'q'",
            ("no", "No"),
            "a list of 2 to 9 levels with different names",
        ),
        (page({}), "images", None, "at least one"),
        (
            lambda _: count_tensor(ANSWERS.assign(level=9)),
            "level of age",
            9,
            "0 ... 5",
        ),
        (
            lambda _: agreement.screen_raters(ANSWERS, gold={("a", "hat"): [1]}),
            "gold",
            ("a", "hat"),
            "questions that were answered",
        ),
        (
            lambda _: read_label_studio([], questions=["hat"]),
            "questions",
            "hat",
            "an attribute",
        ),
    ],
)
def test_an_error_says_what_is_at_fault(tmp_path, call, field, found, expected):
    with pytest.raises(InputError) as raised:
        call(tmp_path)
    assert raised.value.field == field
    assert raised.value.found == found
    assert raised.value.expected == expected
