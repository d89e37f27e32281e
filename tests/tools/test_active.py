"""Which environment make uses: an active one only if it holds the package of the same checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAID = "The active environment does not hold this checkout's package: .venv is used instead."


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What make reads of the repository, in a folder whose name has a space."""
    folder = tmp_path_factory.mktemp("check") / "my checkout"
    for name in ("src", "notebooks", "profiles", "tools"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("Makefile", "requirements.lock", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def check(checkout, tmp_path):
    """What `make check` would run and says while an environment is active."""

    def run(source=None, active="VIRTUAL_ENV", **more):
        python = tmp_path / "bin" / "python"
        python.parent.mkdir(exist_ok=True)
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        outer = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")
        environment = {k: v for k, v in os.environ.items() if k[:4] != "MAKE" and k not in outer}
        environment["PATH"] = f"{python.parent}:{environment['PATH']}"
        environment |= {active: str(tmp_path)} if source else {}
        command = ["make", "--dry-run", "check"]
        return subprocess.run(
            command,
            cwd=checkout,
            capture_output=True,
            text=True,
            check=True,
            env=environment | more,
        ).stdout

    return run


@pytest.mark.parametrize("active", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_an_active_environment_with_this_checkout_is_used(check, checkout, active):
    steps = check(checkout / "src", active)
    assert "\npython tools/check.py" in steps
    assert ".venv" not in steps


def test_an_active_environment_with_another_checkout_is_not(check):
    steps = check(ROOT / "src")
    assert steps.splitlines()[0] == SAID
    assert "\n.venv/bin/python tools/check.py" in steps
    assert SAID not in check(ROOT / "src", MAKELEVEL="1")


def test_an_active_environment_without_the_package_is_not(check, tmp_path):
    (tmp_path / "helpers.py").write_text("raise ImportError")
    steps = check(tmp_path)
    assert steps.count(SAID) == 1
    assert "\n.venv/bin/python tools/check.py" in steps


def test_without_an_active_environment_nothing_is_said(check):
    steps = check()
    assert SAID not in steps
    assert "\n.venv/bin/python tools/check.py" in steps
