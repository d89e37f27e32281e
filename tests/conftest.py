"""Shared by all tests: the repository on the path, artifacts of a test in its own folder."""

from collections.abc import Iterator
from pathlib import Path

import helpers  # noqa: F401  it sets the pins, and numpy is imported after

# isort: split
import browser
import hypothesis
import matplotlib
import pytest
from matplotlib import pyplot as plt
from playwright.sync_api import Browser

from helpers import figures

ROOT = Path(__file__).parents[1]
matplotlib.use("agg")
# A busy machine is no failure.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


@pytest.fixture
def repository() -> Path:
    return ROOT


@pytest.fixture
def artifacts_folder(tmp_path, monkeypatch) -> Path:
    """Artifacts go to a fresh folder instead of the repository's."""
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path))
    return tmp_path


@pytest.fixture
def book_style():
    """Figures in the book's look, closed afterwards."""
    with plt.rc_context():
        figures.style()
        yield
    plt.close("all")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a process: a second would not start beside it."""
    with browser.chromium() as one:
        yield one
