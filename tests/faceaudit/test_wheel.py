"""The wheel that people install: what is in it, its size, and that the core needs no more."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pretended_audits import pretended_table
from refused_imports import REFUSING

import faceaudit

MOST_BYTES = 1_000_000
NOT_INSTALLED = (
    "torch",
    "onnxruntime",
    "onnx",
    "sklearn",
    "safetensors",
    "requests",
    "urllib3",
    "msgspec",
    "IPython",
    "ipywidgets",
    "seaborn",
    "numba",
    "psutil",
    "distributed",
    "helpers",
    "faceworld",
    "facerender",
)
"""What an environment with the wheel alone does without."""
PROGRAM = f"""{REFUSING}
sys.path.insert(0, sys.argv[2])

import pandas as pd
import faceaudit
from faceaudit.__main__ import main

assert faceaudit.__file__.startswith(sys.argv[2])
frame = pd.read_csv("faces.csv")
settings = dict(axes=dict(skin=["light", "dark"]), tolerance=0.05, label="label")
audit = faceaudit.table(frame, unit="unit", score="score", **settings)
audit.save("report")
assert main(["gate", "report/report.json"]) == audit.gate()
faceaudit.table(frame, unit=None, score="score", **settings)

assert main(["example", "first"]) == 0
for name in ("pairs", "portraits", "table"):
    assert main(["run", f"first/{{name}}.yml"]) == 0, name
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    repository = Path(__file__).parents[2]
    folder = tmp_path_factory.mktemp("wheel")
    checkout = folder / "checkout"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(repository / "src", checkout / "src", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(repository / name, checkout)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(checkout)]
    subprocess.run(command, check=True)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_has_the_method_and_no_book(wheel):
    assert wheel.stat().st_size <= MOST_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"faceaudit", wheel.name.rsplit("-py3", 1)[0] + ".dist-info"}
    assert {"faceaudit/py.typed", "faceaudit/templates/report.html.j2"} <= set(names)
    assert "faceaudit/effects/__init__.pyi" in names
    tables = {name for name in names if name.endswith(".csv")}
    assert len(tables) == 4
    assert all(name.startswith("faceaudit/examples/invented-") for name in tables)
    entry_points = next(name for name in names if name.endswith("entry_points.txt"))
    text = zipfile.ZipFile(wheel).read(entry_points).decode()
    assert "faceaudit = faceaudit.__main__:run_from_command_line" in text


def test_the_wheel_alone_audits_tables_pairs_and_portraits(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    table = pretended_table(60, 0.3, seed=1)
    table[table["gender"] == "female"].to_csv(tmp_path / "faces.csv", index=False)
    command = [sys.executable, "-c", PROGRAM, ",".join(NOT_INSTALLED), str(tmp_path / "site")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("pairs", "portraits", "table"):
        assert faceaudit.read_report(tmp_path / "first" / name / "report.json").verdict == "exceeds"
