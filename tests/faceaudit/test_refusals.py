"""What the audit refuses, each in one sentence that names the place and what is allowed."""

import json

import numpy as np
import pytest
import yaml
from pretended_audits import OF_TABLE, pretend, pretended_table

from faceaudit import keep_plan
from faceaudit.designs.matched import MatchedImages
from faceaudit.file.specification import Specification, read_specification
from faceaudit.report.gate import gate
from faceaudit.report.schema import read_report
from faceaudit.utils.errors import InputError

OF_A_CLASSIFIER = "{name: a, question: '?', axes: [gender], design: {tolerance: 0.05}}"
OF_A_CALIBRATION = """{name: a, axes: [gender], question: '?', design: {tolerance: 0.05},
    generator: {kind: eg3d, weights: f}, people: {kind: page}, calibration: {}}"""
OF_A_RECOGNISER = """{name: a, kind: verification, question: '?', images: faces.csv, reference: a,
    model: {kind: onnx, path: r.onnx, input: {size: 8}, threshold: 0.8},
    design: {tolerance: 0.1}}"""
# What the file says besides, and how the sentence begins.
FAULTS_OF_A_CLASSIFIER = """
nmae: 1 | nmae is no key here (did you mean name?); allowed are name, kind
design: {tolerance: 5} | design.tolerance is 5, a number below 1 was expected
design: {tolerance: 0} | design.tolerance is 0, a number above 0 was expected
design: {tolerance: 0.05, power: 1} | design.power is 1, a number below 1 was expected
policy: {unanswered: 1.5} | policy.unanswered is 1.5, 1 or less was expected
design: {} | design.tolerance is missing
model: {kind: onx} | model.kind is onx, one of 'onnx', 'python', 'http', 'node', 'table' was
model: {path: x} | model.kind is missing
model: {kind: onnx, path: x, input: {size: 8, sise: 1}} | model.input.sise is no key here (did you
model: {kind: onnx, path: x, input: {size: [112, 96, 3]}} | model.input.size is [112, 96, 3], a numb
model: {kind: onnx, path: x, input: {size: 0}} | model.input.size is 0, a number of pixels, or heig
model: {kind: onnx, path: x, input: {size: true}} | model.input.size is True, a number of pixels
model: {kind: onnx, path: x, input: {size: 8}, output: {classes: [true, false]}} | model.output.cla
model: {kind: onnx, path: x, input: {size: 8}, output: {index: true}} | model.output.index is True
model: {kind: onnx, path: x, input: {size: 8}, output: {classes: [7]}} | model.output.classes is [7]
model: {kind: onnx, path: x, input: {size: 8}, output: {classes: [7, 7]}} | model.output.classes is
model: {kind: onnx, path: x, input: {size: 8}, output: {classes: [7, -1]}} | model.output.classes.1
model: {kind: onnx, path: x, input: {size: 8}, output: {classes: [7, 8], index: 7}} | model.output.i
model: {kind: onnx, path: x, input: {size: 8}, output: {classes: [7, 8, 9]}} | model.output.index is
model: {kind: onnx, path: x, input: {size: 8, keep_aspect: true}} | model.input.pad is missing, the
model: {kind: onnx, path: x, input: {size: 8, crop: [1, 0, 0, 1]}} | model.input.crop is [1, 0, 0, 1
model: {kind: onnx, path: x, input: {size: 8, grey: 1}} | model.input.grey is 1, true or false was
model: {kind: onnx, path: x, input: {size: 8}, distance: euclidean} | model.distance is given, but o
model: {kind: onnx, path: x, input: {size: 8}, distance: l1} | model.distance is 'l1', 'euclidean' w
model: {kind: table, threshold: 2} | model.threshold is 2, a score from 0 to 1 was expected
model: {kind: table, fmr: 0.01} | model.fmr is given, but the answers of a classifier have a thres
people: {kind: table} | people.kind is table; with generator known-truth, it must be simulated, l
people: {kind: mturk} | people.address is missing, the address that your images will have, https:
{people: {kind: page}, annotated: [shoes]} | attribute, axes or annotated is 'shoes', one of gender
people: {kind: reader, models: {age: {kind: table}}} | people.models.age.kind is table, one of 'onnx
generator: {kind: images, table: a.csv} | people.kind is missing; with generator images, it must be
generator: {kind: eg3d, weights: f, quantiles: [0.9, 0.1]} | generator.quantiles is [0.9, 0.1], 0 <
calibration: {rounds: 4} | calibration is given with generator known-truth; it needs stylegan2, eg
axes: fair | axes is 'fair', attributes with their levels, such as {'skin': ['light', 'dark
axes: [{skin: [light, dark]}] | axes is [{'skin': ['light', 'dark']}], attributes with their levels
axes: {skin: fair} | axes.skin is 'fair', a list of two names or more, such as ['light', 'dark'], wa
axes: {skin: [fair]} | axes.skin is ['fair'], a list of two names or more, such as ['light', 'd
classes: male | classes is 'male', a list of two names or more, such as ['light', 'dark'], was
name: My Audit | name is 'My Audit', small letters, digits and hyphens, such as my-audit, was
name: null | name is empty, a text
accept: errors | accept is 'errors', a list was expected
design: {tolerance: five} | design.tolerance is 'five', a number was expected
design: {tolerance: 0.05, transects: 2.5} | design.transects is 2.5, a whole number was expected
policy: {faces: 1} | policy.faces is 1, 2 or more was expected
images: 5 | images is 5, the path of a file was expected
model: {kind: python, function: a b, version: "1", input: {size: 8}} | model.function is 'a b', a mo
axes: [] | axes has 0 attributes with the placebos; it may have 1 to 5
axes: {skin: [a, b, c, d, e, f, g, h, i, j, k]} | axes.skin is ['a', 'b', 'c', 'd', 'e', 'f', 'g',
axes: {skin: [0, 1]} | axes.skin.0 is 0, a text was expected; put quotes around it, since YAML takes
placebos: [gender] | placebos has gender, which is an axis too; keep it in one of them
target: {name: users, table: u.csv, by: [age]} | target.by is 'age', one of the axes was expected
{images: a.csv, columns: {score: p, decision: d}} | columns.decision is given besides columns.sco
reference: a | reference is no key of a classification, which takes name, kind
{images: a.csv, people: {kind: simulated}} | images is given besides generator, people or calibr
{images: a.csv, model: {kind: onnx, path: x, input: {size: 8}}} | model.kind is onnx, but images n
{images: a.csv, columns: {decision: d}, outcomes: [error, score]} | outcomes has score, but columns
{images: a.csv, columns: {number: years}} | columns.number is given, but other outcomes are counted
{images: a.csv, outcomes: [selection], target: {name: u, table: u.csv}} | target is given with the f
outcomes: [selection] | outcomes begins with selection, but people are asked what is right; put err
columns: {weight: w} | columns.weight is given, but weights go with a table of answers alone, under
{images: a.csv, columns: {weight: w}, target: {name: u, table: u.csv}} | columns.weight is given bes
"""
# Of a generator of one's own, whose directions are brought to their targets.
FAULTS_OF_A_CALIBRATION = """
calibration: {crop: [0.3, 0.3, 0.2, 0.8]} | calibration.crop is [0.3, 0.3, 0.2, 0.8], left, top
calibration: {readers: [{kind: onnx, paht: x}]} | calibration.readers.0.paht is no key here (did you
people: {kind: page, raters: 1} | people is page with one answer about each image; a calibration ne
"""
FAULTS_OF_A_RECOGNISER = """
axes: [gender] | axes is no key of a verification of images, which takes name, kin
reference: null | reference is missing, the name of a group was expected
model: {kind: table, threshold: 0.5} | model.kind is table, a model that can be asked, with images,
model: {kind: onnx, path: r, input: {size: 8}} | model has neither threshold nor fmr; it needs one
{people: {kind: page, raters: 4}} | people.raters is 4; HCIC drops four answers, so that 5 or more
model: {kind: onnx, path: r, input: {size: 8}, threshold: 0, output: {classes: [0, 1]}} | model.out
model: {kind: onnx, path: r, input: {size: 8}, threshold: 2} | model.threshold is 2, a cosine
"""
CASES = [
    (yaml.safe_load(whole), *case.split(" | "))
    for whole, cases in (
        (OF_A_CLASSIFIER, FAULTS_OF_A_CLASSIFIER),
        (OF_A_CALIBRATION, FAULTS_OF_A_CALIBRATION),
        (OF_A_RECOGNISER, FAULTS_OF_A_RECOGNISER),
    )
    for case in cases.strip().splitlines()
]


@pytest.mark.parametrize(("whole", "change", "told"), CASES)
def test_an_audit_file(tmp_path, whole, change, told):
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(whole | yaml.safe_load(change)), encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        read_specification(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: {told}") and "\n" not in message, message


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "My Audit"}, "name is 'My Audit', small letters, digits and hyphens, such as "),
        ({"axes": "fair"}, "axes is 'fair', attributes with their levels"),
        ({"desgn": 1}, "desgn is no key here (did you mean design?)"),
        ({"design": {}}, "design.tolerance is missing"),
    ],
)
def test_a_specification_in_python(change, told):
    """G14: pydantic's own lines were raised."""
    with pytest.raises(InputError) as raised:
        Specification(**OF_TABLE | change)
    assert str(raised.value).startswith(told) and "\n" not in str(raised.value)


@pytest.mark.parametrize("content", ["[1, 2]", "a text"])
def test_a_file_without_keys(tmp_path, content):
    with pytest.raises(InputError, match="the file is .*, a mapping of keys to values was"):
        read_specification(written(tmp_path / "mine.yml", content))


OWN = Specification(**OF_TABLE)
# A change of the table's text, and what is told.
FAULTS_OF_A_TABLE = [
    ("label,score", "label,p", "no column 'score'; it has image_id, unit, skin"),
    ("5-dark-male,5,dark,male,", "5-dark-male,5,da\n", "row 25: expected a comma-separated table"),
    ("1-dark-male,", '"1-dark-male,', "the whole file: expected a comma-separated table"),
    (",", ";", "no column 'image_id', 'unit', 'skin', 'gender', 'label', 'score'; it has image"),
    ("1-dark-male,", "0-dark-male,", "row 9 is '0-dark-male', as row 5 is; name an image once"),
    ("1-dark-male,1,dark,", "1-dark-male,1,medium,", "9 is 'medium', 'light' or 'dark' was exp"),
    ("1-dark-male,1,dark,male,1", "1-dark-male,1,dark,male,woman", "9 is 'woman', a label, 'fe"),
    ("1-dark-male,1,dark,male,1", "1-dark-male,1,dark,male,", "'label', row 9 is empty, a label"),
    ("1-dark-male,1,", "1-dark-male,,", "'unit', row 9 is empty, the name of a matched face"),
    ("1-dark-male,1,dark,male,1,", "1-dark-male,1,dark,male,1,4", "a score from 0 to 1 (are these"),
    ("1-dark-male,1,dark,", "1-dark-male,1,light,", "unit '1' has two images at skin 'light'"),
    ("1-dark-male,1,", "1-dark-male,7,", "unit '1' lacks the image at skin 'dark', gender 'male'"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "told"), FAULTS_OF_A_TABLE)
def test_a_table_as_text(tmp_path, before, after, told):
    path, text = tmp_path / "faces.csv", pretended_table(6, 0.3, seed=1).to_csv(index=False)
    path.write_text(text.replace(before, after, -1 if before == "," else 1), encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        MatchedImages.from_table(path, OWN)
    message = str(raised.value)
    assert message.startswith(f"{path}: ") and told in message and "\n" not in message, message


OLD, PLAN = pretend(8, 0.3, seed=1)
TABLE = pretended_table(6, 0.3, seed=1)


def read(table):
    return MatchedImages.from_table(table, OWN)


def written(path, content):
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (lambda _: read(TABLE.assign(unit=TABLE["image_id"])), "every unit has one"),
        (lambda _: read(TABLE.assign(score=np.nan)), "'score' has no answer at all"),
        (lambda at: read_specification(written(at, "a: [1")), "line 1: this is no YAML"),
        (lambda at: read_report(at), "no such report"),
        (lambda at: read_report(written(at, '{"name": 1}')), "the report is damaged or of another"),
        (lambda at: gate(at, "nothing"), "fail_on is 'nothing', one of 'exceeds', 'inconclusive'"),
        (
            lambda at: keep_plan(PLAN, written(at, json.dumps(PLAN | {"tolerance": 0.2}))),
            "the plan is damaged or was changed after it was made",
        ),
    ],
)  # fmt: skip
def test_what_else_is_refused(tmp_path, refused, told):
    with pytest.raises(ValueError) as raised:
        refused(tmp_path / "file")
    assert told in str(raised.value)


@pytest.mark.parametrize("incomplete", ["pairs", "refuse"])
def test_a_cell_without_an_image(incomplete):
    """G14: the frame has no rows."""
    design = {"tolerance": 0.05, "incomplete": incomplete}
    cell = (TABLE["skin"] == "dark") & (TABLE["gender"] == "male")
    sentence = "there is no image at skin 'dark', gender 'male', of any unit; add these images"
    with pytest.raises(InputError, match=sentence):
        MatchedImages.from_table(TABLE[~cell], Specification(**OF_TABLE | {"design": design}))
    with pytest.raises(InputError, match="no image at skin 'dark', gender 'female', of any unit"):
        MatchedImages.from_table(
            TABLE[TABLE["skin"] == "light"], Specification(**OF_TABLE | {"design": design})
        )


def in_a_file(folder, **changes):
    content = yaml.safe_dump(yaml.safe_load(OF_A_CLASSIFIER) | changes)
    return read_specification(written(folder, content))


@pytest.mark.parametrize(
    ("refused", "field", "found", "expected"),
    [
        (
            lambda at: in_a_file(at, design={"tolerance": 5}),
            "design.tolerance",
            "5",
            "a number below 1",
        ),
        (
            lambda at: in_a_file(at, model={"kind": "onx"}),
            "model.kind",
            "onx",
            "one of 'onnx', 'python', 'http', 'node', 'table'",
        ),
        (
            lambda at: in_a_file(at, placebos=["gender"]),
            "placebos",
            "also an axis",
            "other attributes",
        ),
        (
            lambda _: read(TABLE.assign(skin=TABLE["skin"].replace("dark", "brown"))),
            "column 'skin', row 4",
            "brown",
            "'light' or 'dark'",
        ),
        (
            lambda _: read(TABLE.drop(columns="score")),
            "score",
            "image_id, unit, skin, gender, label",
            "a column 'score'",
        ),
        (
            lambda _: read(TABLE.iloc[1:]),
            "unit '0'",
            "no image at skin 'light', gender 'female'",
            "an image at every combination of levels",
        ),
    ],
)
def test_a_fault_has_its_place_its_value_and_what_was_expected(
    tmp_path, refused, field, found, expected
):
    with pytest.raises(InputError) as raised:
        refused(tmp_path / "file")
    error = raised.value
    assert (error.field, error.found, error.expected) == (field, found, expected)


@pytest.mark.parametrize(
    ("key", "line"), [("design: {tolerance: 0.3}", 7), ("axes: {skin: [light, dark]}", 7)]
)
def test_a_key_that_is_given_twice_is_no_choice_of_the_last(tmp_path, key, line):
    file = tmp_path / "audit.yml"
    lines = ["name: mine", "question: '?'", "images: a.csv", "axes: {skin: [a, b]}"]
    lines += ["design: {tolerance: 0.05}", "model: {kind: table}", key]
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=f"line {line}: the key .* is given twice; keep one"):
        read_specification(file)
    file.write_text("\n".join(lines[:-1]), encoding="utf-8")
    assert read_specification(file).design.tolerance == 0.05
