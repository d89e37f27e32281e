"""Shared by all tests: the repository, artifacts of a test in its own folder, one browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import browser
import hypothesis
import pytest
from matplotlib import pyplot as plt
from playwright.sync_api import Browser
from xdist.scheduler import LoadFileScheduling

from helpers import figures

# A busy machine is no failure.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


class FilesAndShares(LoadFileScheduling):
    """Gives each process whole files, so that tests share fixtures, and shares of long tests."""

    def _split_scope(self, nodeid: str) -> str:
        """What runs in one process: `share-2` of a test's parameters, or else its file."""
        share = re.search(r"\bshare-\d+", nodeid)
        file = super()._split_scope(nodeid)
        return f"{file} {share[0]}" if share else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FilesAndShares:
    return FilesAndShares(config, log)


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
