"""The audit file: what is wrong with it is said in one sentence."""

import pytest
import yaml

from faceaudit.specification import Specification, read_specification
from helpers.artifacts.lineage import ROOT

GOOD = {"name": "a", "question": "?", "axes": ["gender"], "design": {"tolerance": 0.05}}


@pytest.mark.parametrize("name", ["example", "table", "verification"])
def test_files_that_ship_can_be_read(name):
    assert read_specification(ROOT / "audits" / f"{name}.yml").name == name


def test_the_file_of_the_specification_has_every_door():
    onnx = {"kind": "onnx", "path": "m.onnx", "input": {"size": 64, "std": [0.2, 0.2, 0.2]}}
    generator = {"kind": "stylegan2", "weights": "f.pkl"}
    one = Specification(**GOOD, generator=generator, people={"kind": "page"}, model=onnx)
    assert (one.generator.truncation, one.threshold, one.people.raters) == (0.7, 0.5, 5)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"nmae": 1}, "nmae is no key here (did you mean name?); allowed are name, kind"),
        ({"design": {"toleranse": 0.05}}, "design.toleranse is no key here (did you mean toler"),
        ({"design": {"tolerance": 5}}, "design.tolerance is 5, less than 1 was expected"),
        ({"design": {}}, "design.tolerance is missing"),
        ({"design": 3}, "design is 3, keys with values was expected"),
        ({"model": {"kind": "onx"}}, "model.kind is onx, one of 'onnx', 'python', 'http', 'table'"),
        (
            {"model": {"kind": "torch", "path": "m.pt2", "input": {"size": 8}}},
            "model.kind is torch, one of 'onnx', 'python', 'http', 'table' was expected",
        ),
        ({"model": {"kind": "onnx", "path": "x"}}, "model.input is missing"),
        (
            {"model": {"kind": "onnx", "path": "x", "input": {"size": 8, "sise": 1}}},
            "model.input.sise is no key here (did you mean size?); allowed are size, channels",
        ),
        ({"people": {"kind": "simulated", "rater": 3}}, "people.rater is no key here (did you"),
        ({"people": {"kind": "simulated", "raters": 0}}, "people.raters is 0, greater than or eq"),
        ({"kind": "guess"}, "kind is 'guess', 'classification' or 'verification' was expected"),
        ({"axes": []}, "axes is empty, at least one attribute of two levels was expected"),
        ({"axes": {"a": ["x", "x"]}}, "axes.a is ('x', 'x'), two different levels was expected"),
        ({"placebos": ["gender"]}, "placebos is also an axis, other attributes was expected"),
        ({"axes": [*"abcdef"]}, "axes is 6 attributes with the placebos, at most 5 was expected"),
        ({"kind": "verification"}, "pairs is missing, either a table of pairs or images"),
        (
            {"images": "a.csv", "people": {"kind": "simulated"}},
            "images is given besides generator or people: a table brings its own images",
        ),
        (
            {"images": "a.csv", "model": {"kind": "python", "function": "a:b", "version": "1",
                                          "input": {"size": 8}}},
            "model.kind is python, table, with images was expected",
        ),
        ({"name": "My Audit"}, "name is 'My Audit', small letters, digits and hyphens was exp"),
        ({"name": 7}, "name is 7, a text (put quotes around it: YAML takes no, off or 0 for so"),
        ({"question": ""}, "question is '', a text that is not empty was expected"),
        ({"question": ["?"]}, "question is ['?'], a text (put quotes"),
        (
            {"axes": {"skin": ["fair", "medium", "dark"]}},
            "axes.skin is ['fair', 'medium', 'dark'], two of the levels (write one audit for each",
        ),
        ({"classes": ["a", "b", "c"]}, "classes is ['a', 'b', 'c'], a list of at most 2 was exp"),
        ({"classes": [False, True]}, "classes.0 is False, a text (put quotes around it: YAML"),
        ({"axes": {"skin": [0, 1]}}, "axes.skin.0 is 0, a text (put quotes around it: YAML"),
        (
            {"axes": [{"skin": ["light", "dark"]}]},
            "axes is [{'skin': ['light', 'dark']}], a name with its two levels, as in axes: {skin: "
            "[light, dark]}, was expected",
        ),
        ({"placebos": [False]}, "placebos is [False], a name with its two levels, as in axes: {sk"),
        ({"annotated": ["a", "a"]}, "annotated is ['a', 'a'], every name once was expected"),
        (
            {"columns": {"answers": ["r1", "r1"]}},
            "columns.answers is ['r1', 'r1'], every name once was expected",
        ),
        ({"columns": {"points": ["x"]}}, "columns.points is ['x'], a list of at least 10 was exp"),
        (
            {"model": {"kind": "python", "function": "answer", "version": "1",
                       "input": {"size": 8}}},
            "model.function is 'answer', module:name was expected",
        ),
        (
            {"model": {"kind": "http", "url": "localhost", "read": "p", "version": "1", "size": 8,
                       "max_calls": 1}},
            "model.url is 'localhost', an address that starts with http:// or https:// was",
        ),
        (
            {"generator": {"kind": "eg3d", "weights": "f.pkl"}},
            "people.kind is missing with generator eg3d, one of label-studio, mturk",
        ),
        (
            {"generator": {"kind": "images", "table": "a.csv"}},
            "people.kind is missing with generator images, one of table, label-studio, "
            "mturk, ground-truth, page, reader was expected",
        ),
        (
            {"generator": {"kind": "images", "table": "a.csv"}, "people": {"kind": "simulated"}},
            "people.kind is simulated with generator images, one of table, label-studio",
        ),
        (
            {"people": {"kind": "table"}},
            "people.kind is table with generator known-truth, one of simulated, labe",
        ),
        ({"people": {"kind": "mturk"}}, "people.address is missing, the address that your images"),
        (
            {"people": {"kind": "page"}, "annotated": ["shoes"]},
            "attribute, axes or annotated is 'shoes', people are asked about gender, facial_hair",
        ),
        (
            {"people": {"kind": "reader", "models": {"age": {
                "kind": "onnx", "path": "r.onnx", "input": {"size": 8, "sise": 1}}}}},
            "people.models.age.input.sise is no key here (did you mean size?); allowed are size",
        ),
        (
            {"people": {"kind": "reader", "models": {"age": {"kind": "table"}}}},
            "people.models.age.kind is table, one of 'onnx', 'python', 'http' was expected",
        ),
        (
            {"people": {"kind": "reader", "models": {"age": {
                "kind": "onnx", "path": "r.onnx", "input": {"size": 8}}}}},
            "people.models.gender is missing, a model of its own was expected",
        ),
    ],
)  # fmt: skip
def test_a_fault_names_file_field_and_what_is_allowed(tmp_path, change, told):
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(GOOD | change), encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        read_specification(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: {told}") and "\n" not in message, message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [1", "this is no YAML"),
        ("- 1", "keys and values were expected"),
        ("", "None"),
    ],
)
def test_what_is_no_audit_file(tmp_path, text, told):
    path = tmp_path / "mine.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=told):
        read_specification(path)


def test_paths_are_beside_the_file(tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(GOOD | {"images": "faces.csv"}), encoding="utf-8")
    one = read_specification(path)
    assert one.beside(one.images) == tmp_path / "faces.csv"
