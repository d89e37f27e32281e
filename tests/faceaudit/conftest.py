"""An audit of a small table, for all tests of the audit."""

import json
import sys

import pytest
from pretended_audits import OF_TABLE, pretend, pretended_table

import faceaudit


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of its own for artifacts, reports and the audit file."""
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path / "artifacts"))
    monkeypatch.setattr("faceworld.audit.ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def module(home, monkeypatch):
    """Write a module that audit files can name."""
    monkeypatch.syspath_prepend(home)

    def written(name, text):
        monkeypatch.delitem(sys.modules, name, raising=False)
        (home / f"{name}.py").write_text(text, encoding="utf-8")

    return written


@pytest.fixture
def audit_file(home):
    """The file of an audit, with its table beside it."""
    pretended_table(units=80, effect=0.4, seed=1).to_csv(home / "faces.csv", index=False)
    path = home / "small.yml"
    path.write_text(json.dumps(OF_TABLE), encoding="utf-8")  # which is YAML
    return path


@pytest.fixture(scope="session")
def analysed():
    """Images, plan and tables of an audit with one planted effect."""
    data, plan = pretend(units=300, effect=0.25, seed=1)
    return data, plan, data.analyse(plan)


@pytest.fixture(scope="session")
def report(analysed):
    """The report of that audit."""
    data, plan, tables = analysed
    return faceaudit.build_report(data, tables, plan, plan)
