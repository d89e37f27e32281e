"""A tiny repository with the real package and runner, and two chapters that take seconds."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]

FIRST = '''# %% tags=["parameters"]
profile = "smoke"
device = "cpu"
seed = 1
n_transects = 10

# %%
import time

import numpy as np

from faceaudit.generators.image_cache import fill_image_store
from faceaudit.utils import noise
from helpers.artifacts import Stage

stage = Stage("01_first", profile=profile, device=device, seed=seed)


# %%
def make(rows):
    """Grey images, a little slow."""
    time.sleep(0.1)
    return np.broadcast_to((255 * rows).astype(np.uint8).reshape(-1, 1, 1, 1), (len(rows), 3, 8, 8))


rows = np.linspace(0, 1, 40, dtype=np.float32)
images = fill_image_store(stage.path("images.npy"), rows, make, (3, 8, 8), key="grey", chunk=1)

# %%
stage.save("numbers.npy", noise.AMOUNT * images.mean(axis=(1, 2, 3)))
stage.finish({"mean": float(images.mean())})
'''
SECOND = """# %% tags=["parameters"]
profile = "smoke"
device = "cpu"
seed = 1

# %%
import ipywidgets
import pandas as pd

from helpers.artifacts import Stage
from helpers.figures import shades

stage = Stage("02_second", profile=profile, device=device, seed=seed)
numbers = stage.load("01_first", "numbers.npy")

# %%
stage.save("double.npy", 2 * numbers)
stage.finish({"sum": float(numbers.sum())})
"""
SHARED = "tools.quiet ipykernel.kernelapp ipywidgets pandas"
"""What these two chapters use of the libraries that kernels share."""


class Repository:
    """The tiny repository, and what can be done with it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.artifacts = folder, folder / "artifacts" / "smoke"
        self.environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        self.environment.pop("HELPERS_ARTIFACTS", None)

    def start(self, *options: str, stage: str = "02_second", **environment: str):
        """Start the runner in a session of its own."""
        command = [sys.executable, "tools/run.py", "smoke", *(options or ("--stage", stage))]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # not ignored
        )

    def run(self, *options: str, status: int = 0, **environment: str) -> str:
        """Run it to its end; its words."""
        process = self.start(*options, **environment)
        words, _ = process.communicate(timeout=180)
        assert process.returncode == status, words
        return words

    def processes(self) -> list[psutil.Process]:
        """All processes that were started here, by the path in their environment."""
        mine = f"PYTHONPATH={self.folder / 'src'}"
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                process = psutil.Process(int(path.parent.name))
                ours = mine in path.read_text(errors="replace").split("\0")
                found += [process] if ours and process.status() != psutil.STATUS_ZOMBIE else []
            except (OSError, psutil.Error):
                continue
        return found

    def survivors(self, seconds: float = 15.0) -> list[psutil.Process]:
        """Processes that are still there after some seconds at most."""
        until = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.1)
        return left

    def kernel(self, seconds: float = 60.0) -> psutil.Process:
        """The kernel of a chapter that writes images: the youngest process that has its log."""
        until, folder = time.monotonic() + seconds, self.artifacts / "01_first"
        while time.monotonic() < until:
            holders = [p for p in self.processes() if _has_open(p, "01_first.log")]
            if holders and (folder / "images.npy.progress.json").is_file():
                return max(holders, key=lambda p: p.create_time())
            time.sleep(0.05)
        raise AssertionError("no kernel")

    def files(self) -> dict[str, bytes]:
        """What the stages left."""
        names = ["images.npy", "numbers.npy", "double.npy", "results.json"]
        paths = (p for name in names for p in self.artifacts.glob(f"*/{name}"))
        return {str(p.relative_to(self.artifacts)): p.read_bytes() for p in paths}


def _has_open(process: psutil.Process, name: str) -> bool:
    try:
        return any(
            Path(os.readlink(fd)).name == name for fd in Path(f"/proc/{process.pid}/fd").iterdir()
        )
    except OSError:
        return False


@contextmanager
def laid(folder: Path) -> Iterator[Repository]:
    """A repository whose processes are ended afterwards."""
    repository = Repository(folder)
    try:
        yield repository
    finally:
        for process in repository.processes():
            process.send_signal(signal.SIGKILL)


def write_repository(folder: Path) -> None:
    for part in ("src", "tools", "profiles"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / "01_first.py").write_text(FIRST)
    (folder / "notebooks" / "02_second.py").write_text(SECOND)
    (folder / "src/faceaudit/utils/noise.py").write_text("AMOUNT = 1.0\n")
    (folder / "src/helpers/figures/shades.py").write_text("GREY = 0.5\n")


def share_few_libraries(folder: Path) -> None:
    """Let kernels share what the two chapters use alone; the other imports take most of a run.

    For tests that end no process while it imports.
    """
    kernels = folder / "tools" / "kernels.py"
    pattern, text = r'(?<=\nLIBRARIES = """)[^"]*', kernels.read_text()
    text, found = re.subn(pattern, SHARED, text)
    assert found == 1
    kernels.write_text(text)


@pytest.fixture
def tiny(tmp_path) -> Iterator[Repository]:
    """A repository in which nothing has run."""
    write_repository(tmp_path / "repository")
    with laid(tmp_path / "repository") as repository:
        yield repository


@pytest.fixture
def quick(tiny) -> Repository:
    """A repository in which nothing has run, and whose kernels share few libraries."""
    share_few_libraries(tiny.folder)
    return tiny


@pytest.fixture(scope="session")
def complete(tmp_path_factory) -> Path:
    """The folder of a repository in which both chapters have run."""
    folder = tmp_path_factory.mktemp("ran") / "repository"
    write_repository(folder)
    share_few_libraries(folder)
    with laid(folder) as repository:
        repository.run()
    return folder


@pytest.fixture
def finished(complete, tmp_path) -> Iterator[Repository]:
    """A repository in which both chapters have run; times of files are kept."""
    shutil.copytree(complete, tmp_path / "finished", symlinks=True)
    with laid(tmp_path / "finished") as repository:
        yield repository


def pytest_terminal_summary(terminalreporter):
    """After `make faults`, leave for the book how often what was provoked, and what held."""
    config = terminalreporter.config.option
    if "FAULTS" not in os.environ or config.keyword or config.file_or_dir != ["tests/faults"]:
        return
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from record import write_rows

    counts: dict[str, list[int]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            if report.when == "call" and "test_faults" in report.nodeid:
                name = report.nodeid.split("::")[1].partition("[")[0]
                counts.setdefault(name, [0, 0])[outcome == "failed"] += 1
    rows = [
        {"what": name.removeprefix("test_").replace("_", " "), "provoked": sum(n), "held": n[0]}
        for name, n in counts.items()
    ]
    write_rows("faults", {"promises": len(rows)}, rows, ["papermill", "psutil"])
