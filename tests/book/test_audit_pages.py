"""What the pages on audits tell people to write is an audit file; what they tell to run, runs."""

import re
import shlex
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image
from pretended_audits import pretended_table

from faceaudit import PeopleNeeded, Specification
from faceaudit.__main__ import parser

PAGES = ("audit-a-classifier", "audit-a-recogniser", "audit-a-table", "audit-portraits")
PAGES += ("bring-your-generator",)
SHORT = {"name": "mine", "question": "?", "axes": ["skin_colour"], "design": {"tolerance": 0.05}}
OF_RECOGNISER = {"kind": "verification", "images": "faces.csv", "reference": "a"}
OF_RECOGNISER |= {one: value for one, value in SHORT.items() if one != "axes"}
OF_PORTRAITS = SHORT | {"kind": "portraits", "images": "faces.csv", "columns": {"image": "file"}}
OF_PORTRAITS |= {"model": {"kind": "table"}}
SHORTEST = {"audit-a-recogniser": OF_RECOGNISER, "audit-portraits": OF_PORTRAITS}


def blocks(repository, language, pages=PAGES):
    for page in pages:
        text = (repository / "book" / f"{page}.md").read_text(encoding="utf-8")
        yield from re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_every_file_shown_is_an_audit_file(repository):
    counts = {}
    for page in PAGES:
        short = SHORTEST.get(page, SHORT)
        found = [yaml.safe_load(block) for block in blocks(repository, "yaml", [page])]
        counts[page] = len(found)
        for content in found:
            whole = content if "name" in content else short | content
            assert Specification.model_validate(whole).name
    assert sum(counts.values()) >= 17 and counts["audit-a-recogniser"] >= 3, counts


def test_every_command_shown_is_one(repository):
    text = "\n".join(blocks(repository, "sh", (*PAGES, "in-your-project")))
    commands = re.findall(r"python -m faceaudit (.*)", text)
    shown = {"example", "run", "gate", "verify", "side-by-side"}
    assert {command.split()[0] for command in commands} == shown
    for command in commands:
        parser().parse_args(shlex.split(command, comments=True))
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)
    assert targets and all(f"\n{target}:" in makefile for target in targets)


def test_the_lines_for_a_project_of_ones_own_run(repository, tmp_path, monkeypatch):
    names = {"unit": "face", "skin": "skin_colour", "label": "smiling", "score": "p_smiling"}
    table = pretended_table(400, 0.0, seed=1, base=0.02).rename(columns=names)
    table[table["gender"] == "female"].to_csv(tmp_path / "answers.csv", index=False)
    monkeypatch.chdir(tmp_path)
    found = {}
    cell, test, plan = blocks(repository, "python", ["in-your-project"])
    for lines in (cell, plan, test):
        exec(lines, found)
    found["test_the_model_errs_alike_on_light_and_dark_skin"]()
    assert found["audit"].gate() == 0 and (tmp_path / "report" / "report.html").is_file()


def test_the_lines_that_ask_a_classifier_run(repository, tmp_path, monkeypatch, capsys):
    """The model says that light faces smile, and so do half of all."""
    (tmp_path / "faces").mkdir()
    rows = []
    for person in range(40):
        for skin, brightness in (("light", 200), ("dark", 90)):
            file = f"{person}-{skin}.png"
            colour = (brightness + person % 7, brightness, brightness)
            Image.new("RGB", (32, 32), colour).save(tmp_path / "faces" / file)
            rows.append((file, person, skin, person % 2))
    columns = ["file", "person", "skin_colour", "smiling"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "faces/faces.csv", index=False)

    def predict(images):
        return 1 / (1 + np.exp(-images.mean((1, 2, 3))))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mymodel", SimpleNamespace(predict=predict))
    found = {}
    of_pictures, of_generator = [
        lines
        for lines in blocks(repository, "python", ["audit-a-classifier"])
        if "audit =" in lines
    ]
    exec(of_pictures, found)
    assert found["audit"].report.data["images"] == 80
    assert found["audit"].report.data["error_rate"] == 0.5
    assert (tmp_path / "answers/plan.json").is_file()
    assert found["audit"].verdict in capsys.readouterr().out
    with pytest.raises(PeopleNeeded, match="people/samples/tasks"):
        exec(of_generator, found | {"MyGenerator": Greys})


def test_the_lines_on_portraits_find_what_is_planted(repository, tmp_path, monkeypatch, capsys):
    names = {"unit": "person", "skin": "skin_colour", "gender": "hair_length", "score": "p_male"}
    table = pretended_table(250, 0.3, seed=1).rename(columns=names)
    table["hair_length"] = table["hair_length"].map({"female": "short", "male": "long"})
    for rater in ("anna", "ben", "chidi"):
        table[rater] = table["label"].map({0: "female", 1: "male"})
    table["age_group"] = np.where(table["person"].astype(str).str[-1] > "4", "young", "old")
    table["yaw"] = np.arange(len(table)) % 7
    (tmp_path / "audits").mkdir()
    table.to_csv(tmp_path / "audits/mine.csv", index=False)
    monkeypatch.chdir(tmp_path)
    found = {}
    (lines,) = blocks(repository, "python", ["audit-portraits"])
    exec(lines, found)
    audit = found["audit"]
    assert audit.report.kind == "portraits" and audit.report.data["no_label"] == 0
    cells = audit.effects.set_index(["axis", "cell"])["verdict"]
    assert cells["skin_colour"].eq("exceeds").any() and "exceeds" in capsys.readouterr().out
    models = {row.model for row in audit.report.adjusted}
    assert models == {"linear", "logistic", "none", "aipw"}


class Greys:
    latent_dim = 3

    def sample(self, n, seed):
        return np.random.default_rng(seed).normal(size=(n, 3))

    def synthesize(self, w):
        return w[:, :, None, None].sigmoid().expand(-1, -1, 32, 32)


def test_the_lines_on_frames_find_what_is_planted(repository, tmp_path, monkeypatch, capsys):
    names = {"unit": "face", "skin": "skin_colour", "gender": "hair_length"}
    names |= {"label": "smiling", "score": "p_smiling"}
    (tmp_path / "audits").mkdir()
    for name, effect in {"mine": 0.3, "old": 0.3, "new": 0.0}.items():
        table = pretended_table(250, effect, seed=1).rename(columns=names)
        table["hair_length"] = table["hair_length"].map({"female": "short", "male": "long"})
        table.to_csv(tmp_path / f"audits/{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    found = {}
    for lines in blocks(repository, "python", ["audit-a-table"]):
        exec(lines, found)
    assert found["audit"].verdict == "exceeds" and found["audit"].report.plan.departures == [
        "faces: 400 was planned, 250 was used"
    ]
    changes = found["changed"].changes.set_index("cell")
    beyond = changes[changes["verdict"] == "exceeds"]
    assert "dark, short" in beyond.index and (beyond["estimate"] < 0).all()
    assert changes.loc["dark, short", "low"] < -0.3 < changes.loc["dark, short", "high"]
    assert set(found["together"].averages["model"]) == {"old", "new"}
    assert (tmp_path / "audits/two-models/old/report.html").is_file()
    # The new version errs less, and its own audit of so few faces is undecided.
    assert found["changed"].code_of_comparison == 0 and found["changed"].gate() == 2
    assert "chances that the verdict" in capsys.readouterr().out
