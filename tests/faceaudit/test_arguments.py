"""What is given to functions and cannot be used: one sentence that names the argument."""

import re

import numpy as np
import pandas as pd
import pytest
from pretended_audits import pretended_table

import faceaudit
from faceaudit.utils.errors import InputError

WORDS_OF_FILES = re.compile(r"\b(columns|design|model)\.[a-z]|YAML|audit file|audit\.yml|under ")
"""What only writers of an audit file know."""
OF_TABLE = {
    "unit": "unit",
    "axes": {"skin": ["light", "dark"], "gender": ["female", "male"]},
    "label": "label",
    "score": "score",
    "tolerance": 0.05,
}
OF_PAIRS = {
    **{name: name for name in ("group", "first", "second", "same", "similarity")},
    "reference": "a",
    "threshold": 0.5,
    "tolerance": 0.05,
}


def pairs_of_two_groups():
    random = np.random.default_rng(1)
    rows = [
        (group, f"{group}{i}", f"{group}{j}", int(i == j), random.normal(0.3 + 0.4 * (i == j), 0.1))
        for group in "ab"
        for i in range(8)
        for j in range(i, 8)
    ]
    return pd.DataFrame(rows, columns=["group", "first", "second", "same", "similarity"])


@pytest.fixture(scope="module")
def frame():
    return pretended_table(20, 0.1, seed=1)


@pytest.fixture(scope="module")
def audit(frame):
    return faceaudit.table(frame, **OF_TABLE)


def refusal(call, *arguments, **keywords):
    """The sentence of an error, which has no word of audit files."""
    with pytest.raises(InputError) as error:
        call(*arguments, **keywords)
    sentence = str(error.value)
    assert not WORDS_OF_FILES.search(sentence), sentence
    assert not WORDS_OF_FILES.search(f"{error.value.field} {error.value.expected}")
    return sentence


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"axes": {}}, "axes is empty, axes with their levels were expected"),
        ({"axes": None}, "axes is None, a mapping of each axis to its levels was expected"),
        ({"axes": {"skin": 3}}, "axes.skin is of type int, a list of names was expected"),
        ({"axes": {"skin": ["light"]}}, "axes.skin is ['light'], a list of two names or more"),
        ({"axes": {3: ["a", "b"]}}, "the axis 3 is of type int, the name of a column as text"),
        ({"plan": {}}, "plan is of type dict, what faceaudit.plan gives, or its path, was"),
        ({"policy": "x"}, "policy is of type str, a mapping of demands to their limits"),
        ({"tolerance": "x"}, "tolerance is 'x', a number was expected"),
        ({"tolerance": None}, "tolerance is empty, a number was expected"),
        ({"threshold": "x"}, "threshold is 'x', a number was expected"),
        ({"unit": 5}, "unit is 5, a text was expected"),
        ({"unit": "nope"}, "no column 'nope'; it has image_id, unit, skin, gender, label, score"),
        ({"classes": 5}, "classes is of type int, a list of names was expected"),
        ({"outcomes": 5}, "outcomes is of type int, a list of names was expected"),
        ({"accept": 5}, "accept is of type int, a list of names was expected"),
        ({"unit": None, "ignore": ["x"]}, "ignore is of type list, a mapping of columns to the"),
        ({"placebos": 5}, "placebos is of type int, a mapping of each axis to its levels was"),
        ({"seed": "x"}, "seed is 'x', a whole number was expected"),
        ({"tolerance": 0.95}, "tolerance is 0.95, a number below 0.89 was expected"),
        ({"label": []}, "label is [], one name or more was expected"),
        ({"score": "label"} | {"pred": "label"}, "pred and score are given, one of them was"),
        ({"unit": None, "adjustment": "match"}, "adjustment is 'match', 'regression', 'aipw' or"),
        (
            {"unit": None, "adjustment": "aipw", "axes": {"skin": ["light", "dark"]}},
            "adjustment is aipw with one axis and no covariate, another axis, or covariates",
        ),
        ({"unit": None, "covariates": ["unit", "unit"]}, "covariates is ['unit', 'unit'], a list"),
        ({"unit": None, "covariates": ["skin"]}, "covariates: the column 'skin' is an axis too"),
    ],
)
def test_an_argument_of_a_table(frame, changes, told):
    sentence = refusal(faceaudit.table, frame, **(OF_TABLE | changes))
    assert told in sentence


def test_columns_that_are_listed_are_those_of_the_frame(frame):
    """Where rows are numbered, `image_id` is none of them."""
    sentence = refusal(
        faceaudit.table, frame.drop(columns="image_id"), **OF_TABLE | {"unit": "nope"}
    )
    assert sentence.endswith("it has unit, skin, gender, label, score"), sentence


def test_a_gate_names_its_argument(audit):
    assert refusal(audit.gate, "x") == (
        "fail_on is 'x', one of 'exceeds', 'inconclusive' or None was expected"
    )


PICTURES = {"model": len, "images": {}, "input": {"size": 8}}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model": object()}, "model is of type object, a function, or the path of an ONNX file,"),
        ({"input": {"size": 0}}, "input.size is 0, a number of pixels"),
        ({"input": None}, "input is empty, a mapping of keys to values was expected"),
        ({"output": {"index": "x"}}, "output.index is 'x'"),
        ({"unit": "nope"}, "no column 'nope'; it has image_id, unit, skin"),
        ({"label": []}, "label is [], one name or more was expected"),
    ],
)
def test_an_argument_of_a_classifier(frame, changes, told):
    settings = {key: value for key, value in OF_TABLE.items() if key != "score"}
    settings |= PICTURES | {"table": frame, "image": "image_id"} | changes
    assert told in refusal(faceaudit.classifier, **settings)


def test_an_object_in_a_block_that_is_no_function_is_one_sentence(tmp_path):
    block = {"kind": "python", "function": object(), "version": "1", "input": {"size": 8}}
    with pytest.raises(
        InputError, match=r"model\.function is <.*>, a function, or an object"
    ) as raised:
        faceaudit.generator(
            {"kind": "known-truth"},
            people={"kind": "simulated"},
            model=block,
            axes=["skin_colour"],
            tolerance=0.05,
            folder=tmp_path,
        )
    assert "YAML" not in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"threshold": None}, "threshold or fmr: none of them is given, one of them was expected"),
        ({"fmr": 0.1}, "threshold or fmr: both are given, one of them was expected"),
        ({"threshold": "x"}, "threshold is 'x', a number was expected"),
        ({"group": None}, "group is empty, a text was expected"),
        ({"policy": "x"}, "policy is of type str, a mapping"),
        ({"accept": "x"}, "accept is 'x', a list of names was expected"),
        ({"plan": {}}, "plan is of type dict, what faceaudit.plan gives, or its path, was"),
        (
            {"similarity": None, "distance": "similarity"},
            "is this a similarity? Give its column as similarity, or check which pairs",
        ),
    ],
)
def test_an_argument_of_pairs(changes, told):
    assert told in refusal(faceaudit.pairs, pairs_of_two_groups(), **(OF_PAIRS | changes))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"n": "x"}, "n is 'x', a whole number of at least 2 was expected"),
        ({"power": 2}, "power is 2, a number below 1 was expected"),
        ({"outcomes": ["score"]}, "the number of faces is missing"),
    ],
)
def test_an_argument_of_a_plan(changes, told):
    assert told in refusal(faceaudit.plan, **(OF_TABLE | changes))


@pytest.mark.parametrize("missing", ["tolerance", "axes"])
def test_a_plan_without_what_it_needs(missing):
    settings = {name: value for name, value in OF_TABLE.items() if name != missing}
    with pytest.raises(TypeError, match=f"missing a required keyword argument: '{missing}'"):
        faceaudit.plan(**settings)


def test_a_keyword_of_a_plan_that_is_misspelt():
    with pytest.raises(TypeError, match="'tolerence'; did you mean 'tolerance'?"):
        faceaudit.plan(**OF_TABLE, tolerence=0.05)


def test_two_columns_of_one_name(frame):
    doubled = pd.concat([frame, frame[["skin"]]], axis=1)
    told = "the table: several columns have the name 'skin'; keep or rename one"
    assert refusal(faceaudit.table, doubled, **OF_TABLE) == told
    of_categories = OF_TABLE | {"axes": ["skin"]}
    assert "axes: 'skin' is given without levels" in refusal(
        faceaudit.table, doubled, **of_categories
    )
    pairs = pairs_of_two_groups()
    doubled_pairs = pd.concat([pairs, pairs[["similarity"]]], axis=1)
    assert "the name 'similarity'" in refusal(faceaudit.pairs, doubled_pairs, **OF_PAIRS)
    # Columns that no argument names do no harm.
    others = pd.concat([frame, frame[["score"]].set_axis(["x"], axis=1)], axis=1)
    others = pd.concat([others, others[["x"]]], axis=1)
    assert faceaudit.table(others, **OF_TABLE).verdict


def test_a_path_in_place_of_a_frame():
    told = "data is the path 'faces.csv', a data frame was expected; read the table first, as with"
    assert refusal(faceaudit.table, "faces.csv", **OF_TABLE).startswith(told)
    assert refusal(faceaudit.pairs, "faces.csv", **OF_PAIRS).startswith(told)


def test_versions_that_are_no_audits(audit):
    told = "new is of type NoneType, an audit was expected, as faceaudit.table gives it"
    assert refusal(faceaudit.compare, audit, None) == told
    assert "old is of type Report" in refusal(faceaudit.compare, audit.report, audit)


def test_a_folder_that_is_a_file(audit, tmp_path):
    file = tmp_path / "report"
    file.write_text("mine", encoding="utf-8")
    told = f"{file}: this is a file, a folder was expected"
    assert refusal(audit.save, file) == refusal(audit.save, file / "mine") == told
    assert file.read_text(encoding="utf-8") == "mine"
    planned = faceaudit.plan(**OF_TABLE)
    assert refusal(planned.save, tmp_path).endswith(
        "this is a folder, the path of a file was expected"
    )


def test_two_images_of_one_cell_are_named_by_their_rows(frame):
    again = pd.concat([frame, frame.iloc[[5]].assign(image_id="again")], ignore_index=True)
    assert "rows 5 and 80; keep one, or rename the unit" in refusal(
        faceaudit.table, again, **OF_TABLE
    )


def test_names_of_columns_are_not_taken_for_keys(frame):
    named = frame.rename(columns={"score": "model.threshold"})
    with pytest.raises(InputError, match=r"no column 'columns\.label'; it has .* model\.thresh"):
        faceaudit.table(
            named, **(OF_TABLE | {"score": "model.threshold", "label": "columns.label"})
        )
