"""Faults that once gave a confident report: refused, or a doubt that closes the gate."""

import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from pretended_audits import pretended_table

import faceaudit
from faceaudit import PeopleNeeded, gate
from faceaudit.__main__ import main
from faceaudit.pairs import from_pairs
from faceaudit.people import hidden_names
from faceaudit.report_page import page
from faceaudit.run import powers, run_audit
from faceaudit.specification import Specification, read_specification
from helpers import annotations
from helpers.annotations import crowd

TABLE = {
    "name": "small",
    "question": "?",
    "axes": {"skin": ("light", "dark"), "gender": ("female", "male")},
    "classes": ("female", "male"),
    "images": "faces.csv",
    "design": {"tolerance": 0.05},
}


def report_of(table, **changes):
    one = Specification(**(TABLE | changes))
    data = faceaudit.from_table(table, one)
    plan = faceaudit.make_plan(one, data.frame["unit"].nunique())
    return faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)


def doubts(report):
    return {one.name: one.sentence for one in report.doubts}


@pytest.fixture
def table():
    return pretended_table(120, 0.1, seed=3)


@pytest.mark.parametrize(("base", "name"), [(0.46, "errors"), (0.75, "reversed")])
def test_errors_of_guessing_and_of_exchanged_classes(base, name):
    table = pretended_table(200, 0.05, seed=3, base=base)
    report = report_of(table)
    assert [*doubts(report)] == [name] and doubts(report)[name] in page(report)
    assert gate(report)[0] == 1 and any(name in line for line in gate(report)[1])
    taken = report_of(table, accept=[name])
    assert taken.doubts[0].accepted and "authors of the audit accept this" in page(taken)


@pytest.mark.parametrize("outcome", ["error", "no answer"])
def test_a_placebo_that_matters_is_doubted(outcome):
    table = pd.concat(
        [
            pretended_table(80, 0.0, seed=k).assign(clothes=k, image_id=range(k, 640, 2))
            for k in (0, 1)
        ]
    )
    blue = (table["clothes"] == 1) & (table["unit"] % 2 == 0)
    score = (1 - table["score"]) if outcome == "error" else np.nan
    table["score"] = table["score"].where(~blue, score)
    report = report_of(table, placebos={"clothes": ("0", "1")})
    assert [*doubts(report)] == ["placebo"] and gate(report)[0] == 1
    assert "In doubt" in page(report)


def test_a_recogniser_that_hardly_tells_people_apart_is_doubted():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"same": np.tile([1, 0], 200), "similarity": random.random(400)})
    frame = frame.assign(group="a", first=np.arange(400), second=np.arange(400) + 1 - frame["same"])
    frame = pd.concat([frame, frame.assign(group="b", first=-frame["first"] - 1)])
    one = Specification(
        **{"name": "pairs", "kind": "verification", "question": "?", "pairs": "pairs.csv"},
        reference="a",
        model={"kind": "table", "threshold": 0.5},
        design={"tolerance": 0.05},
    )
    data, plan = from_pairs(frame, one), faceaudit.make_plan(one)
    report = faceaudit.build_report(data, faceaudit.analyse_pairs(data, plan), plan, plan)
    assert [*doubts(report)] == ["chance"] and gate(report)[0] == 1
    distances = frame.assign(similarity=0.5 * frame["similarity"] - 0.4 * frame["same"])
    with pytest.raises(ValueError, match="pairs of one person are less similar .* a distance"):
        from_pairs(distances, one)


MODELS = """
import numpy as np
import torch

def waves(x):  # right in the range from -1 to 1 only
    return 0.5 + 0.5 * np.sin(1.5 * x[:, 0].mean((1, 2)))

def red(x): return x[:, 0].mean((1, 2))

class Colours:
    latent_dim, size, device = 4, 16, torch.device("cpu")

    def sample(self, n, seed):
        return torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))

    def synthesize(self, w):
        return torch.sigmoid(w[:, :3])[:, :, None, None].expand(-1, 3, 16, 16).clone()
"""
FILE = """\
name: doubted
question: Does darker skin make the model err more often?
axes: {skin_colour: [light, dark]}
attribute: gender
classes: [female, male]
design: {tolerance: 0.05, transects: 12}
"""


@pytest.fixture
def write(home, monkeypatch):
    """Write an audit file, with models beside it."""
    monkeypatch.syspath_prepend(home)
    monkeypatch.delitem(sys.modules, "doubted_models", raising=False)
    (home / "doubted_models.py").write_text(MODELS, encoding="utf-8")

    def written(text):
        path = home / "doubted.yml"
        path.write_text(FILE + text, encoding="utf-8")
        return path

    return written


def model(function, **given):
    told = {"size": 16} | given
    return (
        f'model: {{kind: python, function: "doubted_models:{function}", version: "1", '
        f"input: {told}}}\n"
    ).replace("'", "")


SET = "generator: {kind: images, table: index.csv}\npeople: {kind: table}\n"


def pictures(home):
    """Sixty units; the label says which half of the reds an image is of."""
    draw, rows = np.random.default_rng(1), []
    for unit in range(60):
        red = int(draw.integers(30, 225))
        for level, name in enumerate(("light", "dark")):
            file = f"{unit}-{name}.png"
            Image.new("RGB", (16, 16), (red, 90 + 40 * level, 90)).save(home / file)
            rows.append((file, unit, name, "male" if red > 127 else "female"))
    table = pd.DataFrame(rows, columns=["file", "unit", "skin_colour", "label"])
    table.to_csv(home / "index.csv", index=False)


def test_a_range_that_is_not_the_training_s_is_doubted(write, home):
    pictures(home)
    wrong = run_audit(write(SET + model("waves", range=[0, 255])))
    assert "it separates faces better (1.000)" in doubts(wrong)["preparation"]
    assert gate(wrong)[0] == 1
    right = run_audit(write(SET + model("waves", range=[-1, 1])))
    assert doubts(right) == {} and gate(right)[0] == 1, "the range was mended after the plan"
    assert gate(right, allow_departures=True)[0] == 0
    assert right.plan.departures == [
        "model.input.range: [0.0, 255.0] was planned, [-1.0, 1.0] was used"
    ]


def test_answers_that_fit_no_image_stop_the_audit_before_people_are_asked_again(write, home):
    text = (
        'generator: {kind: python, object: "doubted_models:Colours", version: "1", samples: 60}\n'
        "people: {kind: page, export: handed-in}\n" + model("red")
    )
    said, place = [], home / "handed-in" / "samples"
    with pytest.raises(PeopleNeeded):
        run_audit(write(text))
    images = np.load(home / "artifacts" / "audits" / "doubted" / "samples.npy")
    random = np.random.default_rng(2).random((len(images), 2))
    seen = pd.DataFrame(random, hidden_names(images), ["gender", "skin_colour"])
    place.mkdir(parents=True)
    answers = crowd.annotate(seen, 3, seed=1, stage="samples")
    annotations.write_label_studio(answers, place / "all.json")
    with pytest.raises(
        ValueError, match=r"skin colour −?0\.\d\d, and the plan asks for 0\.1; peop"
    ):
        run_audit(write(text), said.append)
    assert any(line.startswith("directions: ") and "gender" in line for line in said)
    assert not (home / "artifacts/audits/doubted/people/transects").exists()
    with pytest.raises(PeopleNeeded, match="people/transects/tasks"):
        run_audit(write(text + "accept: [direction]\n"))


def test_what_a_file_makes_this_machine_do_is_said_before_it_is_done(write, home, capsys):
    (home / "doubted_models.py").write_text("print('imported')\n", encoding="utf-8")
    pictures(home)
    assert main(["run", str(write(SET + model("red")))]) == 3
    out = capsys.readouterr().out
    assert out.index("code: this audit file imports doubted_models:red") < out.index("imported")
    http = (
        "model: {kind: http, url: 'https://api.example.org/v1?key=hidden', read: p, version: '1', "
        "size: 32, max_calls: 9, headers: {Authorization: 'env:API_KEY', X-Kind: plain}}\n"
    )
    assert [*powers(read_specification(write(SET + http)))] == [
        "network: images are sent to api.example.org, with the headers Authorization (env:API_KEY)"
    ]
    plan = faceaudit.make_plan(read_specification(write(SET + http)))
    assert "hidden" not in str(plan) and "plain" not in str(plan)
