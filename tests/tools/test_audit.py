"""The audit fails on a known vulnerability, and never for lack of data."""

import importlib.util
import json
import subprocess

import pytest


@pytest.fixture
def audit(repository):
    spec = importlib.util.spec_from_file_location("audit", repository / ".ci" / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SKIPPED = {"name": "a", "skip_reason": "not found"}
CLEAN = {"name": "b", "version": "1", "vulns": []}
BAD = {"name": "c", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": []}]}


def advisory(severity):
    return {"name": "jquery", "severity": severity, "url": f"advisories/GHSA-{severity}"}


@pytest.mark.parametrize(
    ("python", "assets", "stops"),
    [
        ({}, {}, False),
        ({"dependencies": [SKIPPED]}, {}, False),
        ({"dependencies": [SKIPPED, CLEAN]}, {}, False),
        ({"dependencies": [BAD]}, {}, True),
        ({}, {"vulnerabilities": {"x": {"via": ["jquery", advisory("moderate")]}}}, False),
        ({}, {"vulnerabilities": {"x": {"via": [advisory("high")]}}}, True),
    ],
)
def test_only_what_is_known_and_not_accepted_stops_the_build(
    audit, monkeypatch, capsys, python, assets, stops
):
    monkeypatch.setattr(audit, "ask_pip_audit", lambda folder: python)
    monkeypatch.setattr(audit, "ask_npm", lambda folder: assets)
    with pytest.raises(SystemExit) as ended:
        audit.main()
    assert bool(ended.value.code) == stops
    assert ("skipped" in capsys.readouterr().out) == (not python or not assets)
    monkeypatch.setattr(audit, "ACCEPTED", {"PYSEC-1": "why", "GHSA-high": "why"})
    with pytest.raises(SystemExit) as ended:
        audit.main()
    assert not ended.value.code


def test_npm_is_asked_about_the_pinned_assets(audit, monkeypatch, tmp_path):
    npm = tmp_path / "npm"
    npm.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = audit ]; then echo \'{"vulnerabilities": {}}\'; else cat package.json; fi\n'
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert audit.ask_npm(tmp_path) == {"vulnerabilities": {}}
    asked = json.loads((tmp_path / "package.json").read_text())
    assert set(asked["dependencies"]) == {"mathjax", "@jupyter-widgets/html-manager"}


def test_a_command_that_prints_no_report_tells_of_no_advisory(audit, tmp_path):
    assert audit.ask(subprocess.run, ["echo", "no report"], tmp_path) == {}
    assert audit.ask(subprocess.run, [tmp_path / "missing"], tmp_path) == {}
