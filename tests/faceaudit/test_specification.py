"""The audit file: what is wrong with it is said in one sentence."""

import pytest
import yaml

from faceaudit.specification import read_specification

OF_A_CLASSIFIER = "{name: a, question: '?', axes: [gender], design: {tolerance: 0.05}}"
OF_A_RECOGNISER = """{name: a, kind: verification, question: '?', images: faces.csv, reference: a,
    model: {kind: onnx, path: r.onnx, input: {size: 8}, threshold: 0.8},
    design: {tolerance: 0.1}}"""
# What the file says besides, and how the sentence begins.
FAULTS_OF_A_CLASSIFIER = """
nmae: 1 | nmae is no key here (did you mean name?); allowed are name, kind
design: {toleranse: 0.05} | design.toleranse is no key here (did you mean tolerance?); allowed
design: {tolerance: 5} | design.tolerance is 5, less than 1 was expected
design: {} | design.tolerance is missing
design: 3 | design is 3, keys with values was expected
model: {kind: onx} | model.kind is onx, one of 'onnx', 'python', 'http', 'table' was expected
model: {path: x} | model.kind is missing
model: {kind: onnx, path: x} | model.input is missing
model: {kind: onnx, path: x, input: {size: 8, sise: 1}} | model.input.sise is no key here (did you
model: {kind: table, threshold: 2} | model.threshold is 2, a score from 0 to 1 was expected
model: {kind: table, fmr: 0.1} | model.fmr is 0.1, a threshold of a classifier was expected
model: {kind: python, function: f, version: "1", input: {size: 8}} | model.function is 'f', module:
people: {kind: simulated, rater: 3} | people.rater is no key here (did you mean raters?)
people: {kind: simulated, raters: 0} | people.raters is 0, greater than or equal to 1 was expected
people: {kind: table} | people.kind is table with generator known-truth, one of simulated, label-
people: {kind: mturk} | people.address is missing, the address that your images will have, https:
{people: {kind: page}, annotated: [shoes]} | attribute, axes or annotated is 'shoes', people are
people: {kind: reader, models: {age: {kind: table}}} | people.models.age.kind is table, one of 'onnx
people: {kind: reader, models: {age: {kind: onnx, path: x, inputs: 1}}} | people.models.age.inputs
generator: {kind: eg3d, weights: f.pkl} | people.kind is missing with generator eg3d, one of label-s
generator: {kind: images, table: a.csv} | people.kind is missing with generator images, one of tabl
generator: {kind: eg3d, weights: f, held: {gender: 1.2}} | generator.held.gender is 1.2, less than 1
generator: {kind: eg3d, weights: f, quantiles: [0.9, 0.1]} | generator.quantiles is [0.9, 0.1], 0 <
kind: guess | kind is 'guess', 'classification' or 'verification' was expected
axes: [] | axes is empty, at least one attribute of two levels was expected
axes: [a, b, c, d, e, f] | axes is 6 attributes with the placebos, at most 5 was expected
axes: {skin: [fair, medium, dark]} | axes.skin is ['fair', 'medium', 'dark'], two of the levels
axes: {skin: [0, 1]} | axes.skin.0 is 0, a text (put quotes around it: YAML takes no, off or 0 for
axes: [{skin: [a, b]}] | axes is [{'skin': ['a', 'b']}], a name with its two levels, as in axes: {sk
placebos: [gender] | placebos is also an axis, other attributes was expected
target: {name: users, table: u.csv, by: [age]} | target.by is 'age', one of the axes was expected
name: My Audit | name is 'My Audit', small letters, digits and hyphens was expected
question: "" | question is '', a text that is not empty was expected
classes: [a, b, c] | classes is ['a', 'b', 'c'], a list of at most 2 was expected
annotated: [a, a] | annotated is ['a', 'a'], every name once was expected
reference: a | reference is given, which a classification does not take; it takes name, kind
{images: a.csv, people: {kind: simulated}} | images is given besides generator or people: a table
{images: a.csv, model: {kind: onnx, path: x, input: {size: 8}}} | model.kind is onnx, table, with
"""
FAULTS_OF_A_RECOGNISER = """
axes: [gender] | axes is given, which a verification of images does not take; it takes name, kind
pairs: p.csv | pairs is given besides images, either a table of pairs or images
columns: {same: s} | columns.same is given, which a verification of images does not take
columns: {points: [x, y]} | columns.points is ['x', 'y'], a list of at least 10 was expected
design: {tolerance: 0.1, transects: 9} | design.transects is given, which a verification of images
reference: null | reference is missing, the name of a group was expected
model: {kind: table, threshold: 0.5} | model.kind is table, a model that can be asked, with images,
model: {kind: onnx, path: r, input: {size: 8}} | model is without one threshold, either model.thres
model: {kind: onnx, path: r, input: {size: 8}, threshold: 2} | model.threshold is 2, a cosine simila
model: {kind: onnx, path: r, input: {}, fmr: 0.1} | model.input.size is missing, it, or the preset
model: {kind: onnx, path: r, input: {preset: sface}, fmr: 0.1} | faces are aligned by five points
model: {kind: onnx, path: r, input: {preset: sface, size: 8}, fmr: 0.1} | model.input.size is set by
model: {kind: onnx, path: r, input: {size: 8, detector: y}, fmr: 0.1} | model.input.detector is give
"""
CASES = [
    (yaml.safe_load(whole), *case.split(" | "))
    for whole, cases in (
        (OF_A_CLASSIFIER, FAULTS_OF_A_CLASSIFIER),
        (OF_A_RECOGNISER, FAULTS_OF_A_RECOGNISER),
    )
    for case in cases.strip().splitlines()
]


@pytest.mark.parametrize("name", ["example", "study", "table", "verification"])
def test_files_that_ship_can_be_read(repository, name):
    one = read_specification(repository / "audits" / f"{name}.yml")
    assert one.name == name and one.beside("x.csv") == repository / "audits" / "x.csv"


@pytest.mark.parametrize(("whole", "change", "told"), CASES)
def test_a_fault_names_file_field_and_what_is_allowed(tmp_path, whole, change, told):
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(whole | yaml.safe_load(change)), encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        read_specification(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: {told}") and "\n" not in message, message


@pytest.mark.parametrize(
    ("text", "told"), [("a: [1", "line 1: this is no YAML"), ("- 1", "keys and values were exp")]
)
def test_what_is_no_audit_file(tmp_path, text, told):
    path = tmp_path / "mine.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=told):
        read_specification(path)
