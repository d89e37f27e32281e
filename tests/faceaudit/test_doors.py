"""Every door of an audit from its file to its report: images, generators, and kinds of models."""

import numpy as np
import pandas as pd
import pytest
from face_endpoint import FaceEndpoint
from PIL import Image

from faceaudit.run import run_audit

HEAD = """\
name: doors
question: Does darker skin make the model err more often?
axes: {skin_colour: [light, dark]}
classes: [female, male]
design: {tolerance: 0.05, transects: 12}
"""
WORLD = "generator: {kind: known-truth, base_faces: 20}\n"
PYTHON = 'model: {kind: python, function: "models_of_test:%s", version: "1", input: {size: 16}}\n'
MODELS = "def red(x): return x[:, 0].mean((1, 2))\n"


@pytest.fixture
def write(home, module):
    """Write an audit file, with the models and the generator of the test beside it."""
    module("models_of_test", MODELS)

    def written(text):
        path = home / "doors.yml"
        path.write_text(HEAD + text, encoding="utf-8")
        return path

    return written


def test_http(write):
    with FaceEndpoint() as endpoint:
        model = (
            f"model: {{kind: http, url: '{endpoint.url}', read: faces.0.gender.p_male, "
            "version: '1', size: 32, max_calls: 100, per_second: 1000}\n"
        )
        report = run_audit(write(WORLD + model))
        assert endpoint.calls == len(set(endpoint.answered)) <= 24 + 40
        again = run_audit(write(WORLD + model))
        assert endpoint.calls == len(set(endpoint.answered)), "no image is asked about twice"
    assert again.effects == report.effects and report.data["images"] == 24
    assert report.provenance["model"]["kind"] == "remote"


@pytest.fixture
def image_table(home):
    """Twelve units, each with a light and a dark image, in a folder with a table."""
    draw, rows = np.random.default_rng(1), []
    for unit in range(12):
        colour = draw.integers(60, 200, 3)
        for level, name in enumerate(("light", "dark")):
            file = f"{unit}-{name}.png"
            colours = (colour + np.array([30, 0, -30]) * level).clip(0, 255)
            Image.new("RGB", (32, 32), tuple(map(int, colours))).save(home / file)
            rows.append((file, unit, name, "male" if unit % 2 else "female"))
    table = pd.DataFrame(rows, columns=["file", "unit", "skin_colour", "label"])
    table.to_csv(home / "index.csv", index=False)
    return table


SET = "generator: {kind: images, table: index.csv}\n"


def test_a_folder_of_images_with_labels(write, image_table):
    path = write(SET + "people: {kind: table}\n" + PYTHON % "red")
    report = run_audit(path)
    wrong = {}
    for row in image_table.itertuples():
        red = np.asarray(Image.open(path.parent / row.file))[0, 0, 0] / 255
        wrong.setdefault(row.skin_colour, []).append((red > 0.5) != (row.label == "male"))
    expected = np.mean(wrong["dark"]) - np.mean(wrong["light"])
    assert report.effects[0].estimate == pytest.approx(expected)
    assert report.plan.content["sizes"]["units"] == 12 and report.data["source"] == "index.csv"
    assert report.provenance["generator"]["images"] == 24
