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


def group_of(nodeid: str) -> str:
    """What runs in one process: `share-2` of a test's parameters, or else its file."""
    share = re.search(r"\bshare-\d+", nodeid)
    file = nodeid.split("::", 1)[0]
    return f"{file} {share[0]}" if share else file


class FilesAndShares(LoadFileScheduling):
    """Gives each process whole files, so that tests share fixtures, and shares of long tests."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FilesAndShares:
    # xdist would begin with the files of many tests, and end with the longest ones.
    config.option.loadscopereorder = False
    return FilesAndShares(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups with a slow test come first, so that no process works alone for long at the end."""
    slow = {group_of(item.nodeid) for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: group_of(item.nodeid) not in slow)


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
