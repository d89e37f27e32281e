"""What the pages on audits tell people to write is an audit file; what they tell to run, runs."""

import json
import re
import shlex

import yaml
from pretended_audits import OF_TABLE, pretended_table

from faceaudit import Specification
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
    text = "\n".join(blocks(repository, "sh"))
    commands = re.findall(r"python -m faceaudit (.*)", text)
    assert {command.split()[0] for command in commands} == {"run", "gate"}
    for command in commands:
        parser().parse_args(shlex.split(command, comments=True))
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)
    assert targets and all(f"\n{target}:" in makefile for target in targets)


def test_the_lines_on_retraining_find_whom_it_helped(repository, tmp_path, monkeypatch):
    (lines,) = [k for k in blocks(repository, "python", ["audit-a-table"]) if "version" in k]
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits/mine.yml").write_text(json.dumps(OF_TABLE), encoding="utf-8")
    for name, effect in {"old": 0.3, "new": 0.0}.items():
        table = pretended_table(250, effect, seed=1)
        table.to_csv(tmp_path / f"audits/{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(lines, names)
    changed = names["changed"]
    assert changed.index[changed["p_holm"] < 0.05].tolist() == [(1, 0)]  # dark, female
    assert changed.loc[(1, 0), "low"] < -0.3 < changed.loc[(1, 0), "high"]
