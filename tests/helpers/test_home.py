"""Without a home folder and without shared memory a page runs and draws, and is printed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import browser
import pytest

import helpers

SPARE = Path(*helpers.__path__).parents[1] / "build" / "home"
# Names by which libraries find another folder than the home.
ELSEWHERE = ("XDG_", "MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_", "JOBLIB_")
# What a chapter imports and does: it draws, and shares work out among processes.
CHAPTER = """# %% tags=["parameters"]
profile = "laptop"

# %%
import matplotlib.pyplot as plt
from IPython.display import Markdown
from joblib import delayed
from myst_nb import glue
from sklearn.linear_model import Ridge

from faceaudit import annotations
from faceaudit.latents import directions
from helpers import figures
from helpers.parallel import processes

figures.style()
figure, axes = plt.subplots(figsize=(2, 2))
axes.plot([1, 2], [3, 4])
Markdown("a *table*")

# %%
print(processes(2)(delayed(abs)(number) for number in (-1, -2)))
"""
RUNNER = """
import sys
from pathlib import Path
sys.path[:0] = ["tools"]
import run, execute
source, out = map(Path, sys.argv[1:])
execute.execute(source, out, "smoke", "cpu", out.with_suffix(".log"))
"""
# As in a container whose user has a number, but no name.
UNKNOWN_USER = """
import pwd

def unknown(number):
    raise KeyError(number)

pwd.getpwuid = unknown
import os, helpers
from IPython.paths import get_ipython_dir
from jupyter_core.paths import jupyter_runtime_dir
import matplotlib
print(os.environ["HOME"], matplotlib.get_cachedir(), sep="\\n")
print(get_ipython_dir(), jupyter_runtime_dir(), sep="\\n")
"""


@pytest.fixture
def homeless(tmp_path):
    """Variables with a home folder that no user can make."""
    (tmp_path / "file").write_text("")
    usual = {name: value for name, value in os.environ.items() if not name.startswith(ELSEWHERE)}
    return usual | {"HOME": str(tmp_path / "file" / "home")}


@pytest.fixture(scope="module")
def unshared():
    """The beginning of a command that runs with a /dev/shm that cannot be written, or of any."""
    mount = "mount -t tmpfs -o ro none /dev/shm"
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    possible = (
        shutil.which("unshare")
        and not subprocess.run([*command, "true"], check=False, capture_output=True).returncode
    )
    return command if possible else []


def test_a_page_runs_and_draws(homeless, unshared, repository, tmp_path):
    source, out = tmp_path / "n.py", tmp_path / "n.ipynb"
    source.write_text(CHAPTER)
    command = [*unshared, sys.executable, "-c", RUNNER, str(source), str(out)]
    subprocess.run(command, env=homeless, cwd=repository, check=True)
    cells = json.loads(out.read_text())["cells"]
    shown = [output for cell in cells for output in cell.get("outputs", [])]
    assert [output.get("name") for output in shown] == [None, None, "stdout"]  # and no warning
    assert "image/svg+xml" in shown[1]["data"]
    assert "".join(shown[2]["text"]) == "[1, 2]\n"


@pytest.mark.skipif(browser.PROGRAM is None, reason="there is no chromium")
def test_a_page_is_printed(homeless, unshared, tmp_path):
    page = tmp_path / "Größe & Maß 'ä'" / "page.html"
    page.parent.mkdir()
    page.write_text("<!doctype html><title>Page</title><p>Text")
    pdf = page.with_suffix(".pdf")
    command = [*unshared, sys.executable, "-m", "helpers.pdf", str(page), str(pdf)]
    subprocess.run(command, env=homeless | {"CHROMIUM": browser.PROGRAM}, check=True)
    assert pdf.read_bytes().startswith(b"%PDF")


def test_an_unknown_user_has_folders(homeless):
    del homeless["HOME"]
    command = [sys.executable, "-c", UNKNOWN_USER]
    done = subprocess.run(command, env=homeless, check=True, capture_output=True, text=True)
    home, *folders = map(Path, done.stdout.splitlines())
    assert home == SPARE and not done.stderr
    assert all(SPARE in folder.parents for folder in folders)


def test_a_home_that_can_be_written_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert helpers.spare_home() is None
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert helpers.spare_home() == SPARE
