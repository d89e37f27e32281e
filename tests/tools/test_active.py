"""Which environment make uses: an active one only if it holds the package of the same checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAID = "The active environment does not hold this checkout's package: .venv is used instead."


@pytest.fixture
def check(tmp_path):
    """What `make check` would run and says while an environment is active; and the checkout."""
    checkout = tmp_path / "my checkout"
    for name in ("src", "notebooks", "profiles", "tools"):
        shutil.copytree(ROOT / name, checkout / name)
    for name in ("Makefile", "requirements.lock", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout)

    def run(source=None, active="VIRTUAL_ENV", **more):
        python = tmp_path / "bin" / "python"
        python.parent.mkdir(exist_ok=True)
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        outer = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")
        environment = {k: v for k, v in os.environ.items() if k[:4] != "MAKE" and k not in outer}
        environment["PATH"] = f"{python.parent}:{environment['PATH']}"
        environment |= ({active: str(tmp_path)} if source else {}) | more
        options = {"cwd": checkout, "capture_output": True, "text": True, "check": True}
        return subprocess.run(["make", "--dry-run", "check"], env=environment, **options).stdout

    return run, checkout


def test_an_active_environment_is_used_if_it_holds_this_checkout(check, tmp_path):
    run, checkout = check
    for active in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        steps = run(checkout / "src", active)
        assert "\npython tools/check.py" in steps and ".venv" not in steps
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "helpers.py").write_text("raise ImportError")
    for source, said in ((ROOT / "src", 1), (tmp_path / "none", 1), (None, 0)):
        steps = run(source)
        assert steps.count(SAID) == said and "\n.venv/bin/python tools/check.py" in steps
    assert SAID not in run(ROOT / "src", MAKELEVEL="1")
