"""The whole way in the face world, with a model whose bias is known, and a truth to compare."""

import subprocess
import sys

import numpy as np
import pytest

from faceworld.audit import run_audit

FILE = """\
name: world
question: Does darker skin make the model err more often?
generator: {kind: known-truth, base_faces: 40}
axes: [skin_colour, gender]
annotated: [makeup]
classes: [female, male]
model: {kind: python, function: "prejudiced:answer", version: "1",
  input: {size: 16, range: [0, 255]}}
design: {tolerance: 0.05, transects: 30}
"""
# By the brightness of the middle of the face: dark skin is called male.
MODEL = """
import numpy as np
CALLS = []
def answer(images):
    CALLS.append(len(images))
    middle = np.asarray(images, dtype=float)[:, :, 6:11, 6:11].mean((1, 2, 3)) / 255
    return np.clip(1.0 - middle, 0, 1)
"""


@pytest.fixture
def world_file(home, module):
    module("prejudiced", MODEL)
    path = home / "world.yml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_from_file_to_report_with_the_truth_beside(world_file):
    report = run_audit(world_file)
    assert report.data["images"] == 120 and report.plan.kept
    assert all(row.truth is not None for row in [*report.effects, *report.averages])
    skin = [row for row in report.effects if row.axis == "skin_colour"]
    assert [np.sign(row.truth) for row in skin] == [1, -1], "dark skin is called male"
    for row in skin:
        assert row.low - 0.25 < row.truth < row.high + 0.25
    assert report.provenance["model"]["version"] == "1"
    assert report.leakage and abs(report.leakage[0].estimate) < 0.05
    asked = sum(sys.modules["prejudiced"].CALLS)
    # Beside what the check of the model asks, there are 120 images and 160 of the truth.
    again = run_audit(world_file)
    assert again.effects == report.effects and again.plan.sha256 == report.plan.sha256
    assert sum(sys.modules["prejudiced"].CALLS) == 2 * asked - 280, "asked again"


def test_a_table_is_audited_without_torch(audit_file):
    code = "import sys; from pathlib import Path; from faceaudit.run import Folders, run_audit; "
    code += (
        "_, file, home = sys.argv; folders = Folders(Path(home, 'report'), Path(home, 'kept')); "
    )
    code += "run_audit(file, folders=folders); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, audit_file, audit_file.parent], check=True)
