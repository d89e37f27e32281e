"""A report is computed once more from its rows, and every difference is told."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretended_table

from faceaudit import verify
from faceaudit.__main__ import main
from faceaudit.run import run_audit

PLACEBO = {"axes": {"skin": ("light", "dark")}, "placebos": {"gender": ("female", "male")}}
PORTRAITS = {"kind": "portraits", "design": {"tolerance": 0.05}}
PAIRS = {
    "kind": "verification",
    "pairs": "faces.csv",
    "reference": "a",
    "model": {"kind": "table", "fmr": 0.1},
}


def audited(folder, table, leave_out=(), **changes):
    """Run an audit of a table in a folder; gives the path of its report."""
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / "faces.csv", index=False)
    text = {key: value for key, value in (OF_TABLE | changes).items() if key not in leave_out}
    (folder / "small.yml").write_text(json.dumps(text), encoding="utf-8")
    run_audit(folder / "small.yml", lambda _: None)
    return folder / "small" / "report.json"


def with_gaps(table):
    """Every seventh image has no answer."""
    return table.assign(score=table["score"].where(np.arange(len(table)) % 7 > 0))


def pairs():
    """Pairs of two groups of 20 people, in the second of which strangers look more alike."""
    random = np.random.default_rng(1)
    rows = []
    for group, shift in (("a", 0.0), ("b", 0.9)):
        for one in range(20):
            for _ in range(4):
                rows.append((group, f"{group}{one}", f"{group}{one}", 1, 3 + random.normal()))
                other = f"{group}{(one + 1) % 20}"
                rows.append((group, f"{group}{one}", other, 0, shift - 1 + random.normal()))
    return pd.DataFrame(rows, columns=["group", "first", "second", "same", "similarity"])


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        (with_gaps(pretended_table(60, 0.4, seed=1)), {}),
        (pretended_table(60, 0.4, seed=1), PLACEBO | {"design": {"tolerance": 0.05, "seed": 3}}),
        (with_gaps(pretended_table(60, 0.4, seed=1)), PORTRAITS),
    ],
    ids=["matched", "placebo", "portraits"],
)
def test_a_report_as_it_was_written_is_verified(tmp_path, capsys, table, changes):
    if "placebos" in changes:
        table = table.assign(label=table["unit"] % 2)
        agrees = np.random.default_rng(1).random(len(table)) < 0.9
        table["score"] = np.where(agrees == (table["label"] == 1), 0.8, 0.1)
    path = audited(tmp_path, table, **changes)
    assert main(["verify", str(path)]) == 0
    assert capsys.readouterr().out.startswith("verified: ")


def test_a_report_that_departed_from_its_plan_is_verified_by_what_it_says(tmp_path):
    table = pretended_table(60, 0.4, seed=1)
    audited(tmp_path, table)
    path = audited(tmp_path, table, design={"tolerance": 0.2}, policy={"faces": 80})
    assert verify(path)[0] == 0


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_pairs_are_verified_from_their_table(tmp_path, missing):
    table = pairs()
    not_enrolled = np.random.default_rng(2).random(len(table)) < missing * (table["group"] == "b")
    table["similarity"] = table["similarity"].mask(not_enrolled)
    path = audited(tmp_path, table, leave_out=("axes", "classes", "images"), **PAIRS)
    assert verify(path)[0] == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    assert len(content["missing_pairs"]) == (4 if missing else 0)
    for row in content["missing_pairs"]:
        row["missing"] = 0
    changed = tmp_path / "small" / "changed.json"
    changed.write_text(json.dumps(content), encoding="utf-8")
    lines = verify(changed)[1]
    assert sum("missing_pairs" in line for line in lines) == (2 if missing else 0)
    table = tmp_path / "faces.csv"
    table.write_text(table.read_text("utf-8").replace("b7,b8", "b7,b9"), "utf-8")
    code, (line,) = verify(path)
    assert code == 3 and "this is not the table that the report was made from" in line


def test_a_report_of_other_rows_is_told(tmp_path):
    """G9: a report that agrees with itself, and not with its rows."""
    biased = audited(tmp_path / "biased", pretended_table(300, 0.4, seed=1))
    good = audited(tmp_path / "good", pretended_table(300, 0.0, seed=1))
    shutil.copy(good, biased)
    assert main(["gate", str(biased), "--fail-on", "exceeds"]) == 0
    code, lines = verify(biased)
    assert code == 3
    assert any("effects (skin, female): estimate is" in line for line in lines)
    assert "small: the verdict of the audit is 'within', its rows give 'exceeds'" in [
        line.replace("inconclusive", "within") for line in lines
    ]


def test_an_edited_row_or_doubt_is_told(tmp_path):
    path = audited(tmp_path, pretended_table(60, 0.0, seed=1, base=0.8))
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    content["rates"][0]["errors"] += 1
    content["doubts"] = []
    path.write_text(json.dumps(content), encoding="utf-8")
    code, lines = verify(path)
    assert code == 3 and len(lines) == 2
    assert lines[0].startswith("small: rates (light, female): errors is")
    assert lines[1].startswith(
        "small: the report does not tell the doubt 'reversed': The model errs"
    )


def test_an_edited_error_does_not_follow_from_score_and_label(tmp_path):
    path = audited(tmp_path, pretended_table(60, 0.3, seed=1))
    rows = pd.read_csv(path.with_name("images.csv"))
    rows["error"] = 0
    rows.to_csv(path.with_name("images.csv"), index=False)
    code, (line,) = verify(path)
    assert code == 3 and "does not follow from its score and its label" in line


def test_rows_that_are_not_there_are_told(tmp_path):
    path = audited(tmp_path, pretended_table(60, 0.3, seed=1))
    path.with_name("images.csv").unlink()
    code, (line,) = verify(path)
    assert code == 3 and "the rows of the report are not there" in line
    path = audited(tmp_path / "found", pretended_table(60, 0.3, seed=1), **PORTRAITS)
    audit_file = tmp_path / "found" / "small.yml"
    elsewhere = audit_file.rename(audit_file.with_name("renamed.yml"))
    code, (line,) = verify(path)
    assert code == 3 and "say where it is with --file" in line
    assert main(["verify", str(path), "--file", str(elsewhere)]) == 0


@pytest.mark.parametrize("rows_left", [None, 0])
def test_a_table_without_rows_is_told(tmp_path, rows_left):
    path = audited(tmp_path, pretended_table(60, 0.3, seed=1))
    table = path.with_name("images.csv")
    header, _, _ = table.read_text(encoding="utf-8").partition("\n")
    table.write_text("" if rows_left is None else f"{header}\n", encoding="utf-8")
    assert verify(path) == (3, [f"{table}: the table has no rows"])


def test_a_report_without_a_comparison_is_told(tmp_path):
    """It said “not enough values to unpack”."""
    path = audited(tmp_path, pretended_table(60, 0.3, seed=1))
    content = json.loads(path.read_text(encoding="utf-8"))
    content |= {"effects": [], "averages": [], "missing": []}
    path.write_text(json.dumps(content), encoding="utf-8")
    assert verify(path) == (3, ["small: the report has no comparison to judge"])


@pytest.mark.parametrize("command", ["gate", "run"])
def test_who_reads_the_output_may_close_it(tmp_path, monkeypatch, capfd, command):
    """`| head` ended with “audit: [Errno 32] Broken pipe”."""
    path = audited(tmp_path, pretended_table(60, 0.4, seed=1))
    asked = path if command == "gate" else tmp_path / "small.yml"
    expected = main([command, str(asked)])
    capfd.readouterr()
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        assert main([command, str(asked)]) == expected
    monkeypatch.undo()
    assert capfd.readouterr().err == ""
