"""The script of the page on recognisers: an EG3D file and networks of the public ones' inputs."""

import re
from pathlib import Path

import generator_files as files
import matplotlib.image as mpimg
import numpy as np
import pandas as pd
import pytest
from onnx import TensorProto, helper
from onnx_made import means, save
from PIL import Image

import faceworld
from faceaudit.generators import eg3d
from faceaudit.utils import seeding
from faceaudit.verification.prototypes import LIGHTS
from faceworld import people as invented
from helpers.artifacts.lineage import ROOT

SEEDS = 12
KEPT = 2
SIZES = f"SAMPLED, SEEDS, KEPT, SIZE = 300, {SEEDS}, {KEPT}, 16\n"
"""Most of the time goes into the 6 × 17 pictures of each seed that is kept."""

ANSWERS = ["male", "african", "east asian", "european", "smiling", "age"]
DELETED = {1, 4}
DARK, HAIR = 0.35, 0.45
"""Up to where a pixel's mean is background in the small segmentation, and from where it is hair."""

READ = [
    ("Flatten", ["images"], "pixels", {"axis": 1}),
    ("MatMul", ["pixels", "axis"], "along", {}),
    ("Add", ["along", "middle"], "answer", {}),
]


def script() -> str:
    text = (ROOT / "book" / "audit-a-recogniser.md").read_text(encoding="utf-8")
    # The longest block is the script; another one shows a call.
    found = max(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL), key=len)
    return re.sub(r"^SAMPLED, .*\n", SIZES, found, flags=re.MULTILINE)


def segmentation(path):
    """Scores of 19 classes: background of dark pixels, skin of others, hair of bright ones."""
    # Undoes mean and spread, and each line through a threshold is highest beyond it.
    spread, middle = np.array([0.229, 0.224, 0.225]), np.array([0.485, 0.456, 0.406])
    slopes, biases = np.zeros(19), np.full(19, -100.0)
    slopes[[0, 1, 17]], biases[[0, 1, 17]] = (0, 1, 2), (0, -DARK, -DARK - HAIR)
    weight = (slopes[:, None] * spread / 3)[:, :, None, None].astype(np.float32)
    numbers = {"weight": weight, "bias": (biases + slopes * middle.mean()).astype(np.float32)}
    nodes = [("Conv", ["images", "weight", "bias"], "answer", {})]
    save(path, nodes, ["answer"], numbers, shape=(1, 3, 512, 512))


def relighting(path):
    """Luminance and 0.1 of the light's coefficient from above, 0.05 of that from the right."""
    nodes = [
        helper.make_node("Conv", ["light", "shares"], ["more"]),
        helper.make_node("Add", ["luminance", "more"], ["answer"]),
        helper.make_node("Identity", ["light"], ["seen"]),
    ]
    shapes = {"luminance": [1, 1, 512, 512], "light": [1, 9, 1, 1]}
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, v) for n, v in shapes.items()]
    seen = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("answer", "seen")]
    held = [helper.make_tensor("shares", 1, [1, 9, 1, 1], [0, 0, 0.1, 0.05, 0, 0, 0, 0, 0])]
    graph = helper.make_graph(nodes, "test", inputs, seen, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def write_files(tmp_path, monkeypatch) -> None:
    """A small EG3D file, and those of the networks."""
    monkeypatch.setattr(eg3d, "PLANE_SIZE", 16)
    monkeypatch.setattr(eg3d, "ENLARGED", 8)
    monkeypatch.setattr(eg3d, "SUPER_RESOLUTION", {16: ((8, 8), (6, 16))})
    part, _ = files.eg3d(16, 48, 4, depth_resolution=6, depth_resolution_importance=6)
    (tmp_path / "faces.pkl").write_bytes(files.dumps(files.with_others(part)))
    generator = faceworld.load_generator("eg3d", weights=tmp_path / "faces.pkl", truncation=0.7)
    seen = generator.synthesize(generator.sample(300, seed=1)).flatten(1).numpy()
    # What each reads off the pixels is of its own, and half of the faces are on either side.
    axes = np.linalg.svd(seen - seen.mean(0), full_matrices=False)[2]
    for name, axis in zip(ANSWERS, axes, strict=False):
        values = seen @ axis
        scale = np.float32(1 / values.std())
        middle = np.float32([-np.median(values)]) * scale
        numbers = {"axis": axis[:, None].astype(np.float32) * scale, "middle": middle}
        save(tmp_path / f"{name}.onnx", READ, ["answer"], numbers)
    matrix = 100 * seeding.rng(1, "tests: mesh").random((3, 3 * 468))
    means(tmp_path / "mesh.onnx", matrix, shape=(1, 3, 192, 192))
    segmentation(tmp_path / "parsing.onnx")
    relighting(tmp_path / "relighting.onnx")


def delete(prompt: str) -> str:
    """What a person does with the sheets."""
    sheets = sorted(Path("sheets").iterdir())
    Path("sheets", ".DS_Store").touch()
    assert len(sheets) == SEEDS and mpimg.imread(sheets[0]).shape == (16, 6 * 16, 3)
    for seed in DELETED:
        Path("sheets", f"{seed}.png").unlink()
    return ""


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the script of the page has made, run in a folder of its own."""
    folder, made = tmp_path_factory.mktemp("page"), {"__name__": "script"}
    with pytest.MonkeyPatch.context() as monkeypatch:
        write_files(folder, monkeypatch)
        monkeypatch.setattr("builtins.input", delete)
        monkeypatch.chdir(folder)
        exec(compile(script(), "audit-a-recogniser.md", "exec"), made)
        yield made


def pictures(folder: str) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(f"{folder}/people.csv")
    return table, np.stack([mpimg.imread(f"{folder}/{name}") for name in table["file"]])


@pytest.mark.slow
def test_the_script_of_the_page_makes_the_people(names):
    assert KEPT < len(names["left"]) <= SEEDS - len(DELETED)
    assert not DELETED & {*names["left"]} and {*names["kept"]} <= {*names["left"]}
    assert names["points"].shape == (6 * len(names["left"]), 468, 3)
    table, whole = pictures("whole")
    assert table["seed"].nunique() == KEPT and table["prototype"].nunique() == 6 * KEPT
    assert set(table["group"]) == {*invented.GROUPS}
    assert set(table.groupby("prototype").size()) == {17}
    assert whole.shape == (6 * KEPT * 17, 16, 16, 3)
    # A made head is white where the segmentation says so, and as the generator made it elsewhere.
    bald, (codes, _) = pictures("without hair")[1], names["made"][0]
    heads = names["generator"].synthesize(codes).permute(0, 2, 3, 1).numpy()
    shade, first = heads.mean(-1), (table["attribute"] == "prototype").to_numpy()
    near = np.minimum(abs(shade - DARK), abs(shade - HAIR)) < 0.03
    for shown, kept in ((whole, shade > DARK), (bald, (shade > DARK) & (shade < HAIR))):
        assert (shown[first] == 1).all(-1)[~kept & ~near].all()
        assert abs(shown[first] - heads)[kept & ~near].max() < 0.01
        assert 0.02 < (kept & ~near).mean() < 0.98
    assert (bald == 1).mean() > (whole == 1).mean()
    # A face that is turned by a right angle stands upright in its aligned picture.
    assert len([*Path("without hair/aligned").glob("*.png")]) == 6 * KEPT * 17
    points, picture = np.zeros((468, 3)), Image.new("RGB", (200, 200))
    points[names["VERTICES"], :2] = [[[150 - y, x + 20]] for x, y in names["PLACES"]]
    picture.paste("red", [round(at) + d for d in (-3, 3) for at in points[4, :2]])
    red = np.argwhere(np.asarray(names["aligned"](picture, points))[..., 0] > 128).mean(0)
    np.testing.assert_allclose(red[::-1], 3 * np.array(names["PLACES"][2]), atol=3)


def test_lights_come_from_where_they_are_meant(names):
    images = np.full((1, 3, 16, 16), 120, np.uint8)
    lit = {name: names["relit"](images, *angles, 0.7).mean() for name, angles in LIGHTS.items()}
    assert lit["up"] > lit["right"] + 1 > 122 and lit["down"] < lit["left"] + 1 < 120
    # On a sphere a light's shading is brightest where it comes from: x right, y away, z up.
    normals = seeding.rng(2, "tests: sphere").standard_normal((20_000, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    x, y, z = normals.T
    for azimuth, elevation in LIGHTS.values():
        order = [1 + 0 * x, y, z, x, y * x, y * z, 3 * z**2 - 1, x * z, x**2 - y**2]
        root = np.sqrt([1, 3, 3, 3, 15, 15, 5 / 4, 15, 15 / 4]) / 2
        brightest = normals[(names["lamp"](azimuth, elevation) @ (root[:, None] * order)).argmax()]
        a, e = np.radians([azimuth, elevation])
        there = np.array([np.cos(e) * np.sin(a), -np.cos(e) * np.cos(a), np.sin(e)])
        assert brightest @ there > 0.99
