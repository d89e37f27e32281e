"""The gate and the command line, by their exit codes and lines."""

import subprocess
import sys

import pytest

from helpers.audit.__main__ import main
from helpers.audit.gates import gate
from helpers.audit.report_json import write_json


def with_verdicts(report, *verdicts):
    rows = [
        row.model_copy(update={"verdict": verdict})
        for row, verdict in zip(report.effects, verdicts, strict=False)
    ]
    return report.model_copy(update={"effects": rows})


@pytest.mark.parametrize(
    ("verdicts", "fail_on", "code", "lines"),
    [
        (["within", "within"], "exceeds", 0, 0),
        (["within", "within"], "inconclusive", 0, 0),
        (["within", "inconclusive"], "exceeds", 0, 0),
        (["within", "inconclusive"], "inconclusive", 2, 1),
        (["within", "not estimable"], "inconclusive", 2, 1),
        (["exceeds", "inconclusive", "exceeds"], "exceeds", 1, 2),
        (["exceeds", "inconclusive", "exceeds"], "inconclusive", 1, 3),
        ([], "exceeds", 2, 1),
    ],
)
def test_codes_and_a_line_for_each_cell(report, tmp_path, capsys, verdicts, fail_on, code, lines):
    changed = with_verdicts(report, *verdicts)
    found = gate(changed, fail_on)
    assert (found[0], len(found[1])) == (code, lines)
    path = write_json(changed, tmp_path / "report.json")
    assert main(["gate", str(path), "--fail-on", fail_on]) == code
    assert len(capsys.readouterr().out.splitlines()) == max(lines, 1)


def test_a_missing_or_damaged_report_is_code_2(tmp_path, capsys):
    path = tmp_path / "report.json"
    assert main(["gate", str(path)]) == 2
    path.write_text("{", encoding="utf-8")
    assert main(["gate", str(path)]) == 2
    assert "damaged" in capsys.readouterr().out


def test_run_plan_and_faults_on_the_command_line(audit_file, capsys):
    assert main(["plan", str(audit_file)]) == 0
    assert "plan: written to" in capsys.readouterr().out
    assert main(["run", str(audit_file)]) == 0
    out = capsys.readouterr().out
    assert "plan: kept as it was" in out and "report: " in out and "comparisons" in out
    folder = audit_file.parent / "build" / "audits" / "small"
    assert sorted(path.name for path in folder.iterdir()) == [
        "model_card.md",
        "report.html",
        "report.json",
    ]
    assert main(["gate", str(folder / "report.json")]) == 1
    (audit_file.parent / "faces.csv").unlink()
    assert main(["run", str(audit_file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("audit: ") and "no such table" in error and error.count("\n") == 1


@pytest.mark.parametrize("command", [[], ["gate"], ["run"]])
def test_help_is_readable(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    out = capsys.readouterr().out
    assert left.value.code == 0 and "python -m helpers.audit" in out
    if command == ["gate"]:
        assert "exit codes:" in out and "--fail-on" in out


def test_the_module_runs():
    done = subprocess.run(
        [sys.executable, "-m", "helpers.audit", "gate", "nowhere.json"], capture_output=True
    )
    assert done.returncode == 2 and b"no such report" in done.stdout
