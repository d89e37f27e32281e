"""Shared by all tests: the repository, artifacts of a test in its own folder, one browser."""

from collections.abc import Iterator
from pathlib import Path

import browser
import hypothesis
import pytest
from matplotlib import pyplot as plt
from playwright.sync_api import Browser

from helpers import figures

# A busy machine is no failure.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


@pytest.fixture
def repository() -> Path:
    return Path(__file__).parents[1]


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
