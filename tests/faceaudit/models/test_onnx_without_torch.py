"""An ONNX file is audited on pictures where the extra [onnx] is all that is installed."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from onnx_made import means
from PIL import Image
from refused_imports import REFUSING

from faceaudit import read_report

NOT_INSTALLED = (
    "torch",
    "safetensors",
    "sklearn",
    "requests",
    "urllib3",
    "msgspec",
    "pyarrow",
    "helpers",
    "faceworld",
)
AUDITS = ("matched", "found", "recogniser")
PROGRAM = f"""{REFUSING}
import numpy as np
import pandas as pd
from PIL import Image

import faceaudit
from faceaudit.__main__ import main

for name in sys.argv[2:]:
    assert main(["run", f"{{name}}.yml"]) == 0, name
table = pd.read_csv("pictures.csv")
audit = faceaudit.classifier(
    "red.onnx",
    {{file: np.asarray(Image.open(file)) for file in table["file"]}},
    table,
    unit="person",
    axes={{"skin": ["light", "dark"]}},
    label="label",
    classes=["female", "male"],
    tolerance=0.05,
    input={{"size": 8}},
)
assert audit.report.effects == faceaudit.read_report("matched/report.json").effects
assert "torch" not in sys.modules
"""
COMMON = {"question": "?", "design": {"tolerance": 0.05}}
OF_CLASSIFIER = {
    "axes": {"skin": ["light", "dark"]},
    "classes": ["female", "male"],
    "model": {"kind": "onnx", "path": "red.onnx", "input": {"size": 8}},
}
PEOPLE, PICTURES = 30, 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures of 12 by 20 pixels, two of each person, with tables and audit files beside them."""
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(1)
    rows = []
    for person in range(PEOPLE):
        colour = random.integers(40, 215, 3)
        for skin in ("light", "dark"):
            file = f"{person}-{skin}.png"
            noise = random.normal(0, 20, (20, 12, 3))
            pixels = (colour + noise + 40 * (skin == "dark")).clip(0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / file)
            label = "male" if colour[0] > 127 else "female"
            group = "a" if person % 2 else "b"
            rows.append((file, person, skin, label, group))
    columns = ["file", "person", "skin", "label", "group"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "pictures.csv", index=False)
    means(folder / "red.onnx", [[1], [0], [0]])
    means(folder / "colour.onnx", np.eye(3))
    matched = OF_CLASSIFIER | {
        "generator": {"kind": "images", "table": "pictures.csv"},
        "people": {"kind": "table"},
        "columns": {"unit": "person"},
    }
    found = OF_CLASSIFIER | {
        "kind": "portraits",
        "images": "pictures.csv",
        "columns": {"image": "file", "identity": "person"},
    }
    recogniser = {
        "kind": "verification",
        "images": "pictures.csv",
        "reference": "a",
        "columns": {"image": "file", "identity": "person"},
        "model": {
            "kind": "onnx",
            "path": "colour.onnx",
            "input": {"size": [8, 6], "keep_aspect": True, "pad": 0},
            "threshold": 0.95,
        },
    }
    for name, content in zip(AUDITS, (matched, found, recogniser), strict=True):
        text = json.dumps(COMMON | content | {"name": name})  # which is YAML
        (folder / f"{name}.yml").write_text(text, encoding="utf-8")
    return folder


def test_pictures_are_audited_without_torch(folder):
    command = [sys.executable, "-c", PROGRAM, ",".join(NOT_INSTALLED), *AUDITS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    images = PEOPLE * PICTURES
    for name in AUDITS:
        assert read_report(folder / name / "report.json").data["images"] == images
    # The mean red of the middle squares, as Pillow scales them.
    table = pd.read_csv(folder / "matched" / "images.csv").set_index("image_id")
    for file, score in table["score"].items():
        with Image.open(folder / file) as picture:
            red = picture.crop((0, 4, 12, 16)).resize((8, 8), Image.Resampling.BILINEAR)
        assert score == pytest.approx(np.asarray(red)[..., 0].mean() / 255, abs=0.002)
