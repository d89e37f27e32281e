"""The script of the page on recognisers, with a small generator in place of EG3D."""

import re

import generator_files as files
import matplotlib.image as mpimg
import numpy as np
import pandas as pd
from onnx_made import save

from helpers import generators, verification
from helpers.generators import stylegan2

SIZES = "SAMPLED, SEEDS, KEPT, SIZE = 300, 40, 3, 16\n"
ANSWERS = ["male", "african", "east asian", "european", "smiling", "age"]

READ = [
    ("Flatten", ["images"], "pixels", {"axis": 1}),
    ("MatMul", ["pixels", "axis"], "along", {}),
    ("Add", ["along", "middle"], "answer", {}),
]


def test_the_script_of_the_page_runs(repository, tmp_path, monkeypatch, capsys):
    text = (repository / "book" / "audit-a-recogniser.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    smaller = re.sub(r"^SAMPLED, .*\n", SIZES, script, flags=re.MULTILINE)

    smaller = smaller.replace('"eg3d"', '"stylegan2"')
    network = stylegan2.StyleGAN2(stylegan2.Config(**files.CONFIG | {"w_dim": 16}))
    weights = stylegan2.draw_weights(network, seed=4).state_dict()
    content = files.dumps(files.with_others(files.ada(weights=weights, w_dim=16)))
    (tmp_path / "faces.pkl").write_bytes(content)

    synthesize = stylegan2.StyleGenerator.synthesize
    turned = lambda self, w, yaw=0.0: (synthesize(self, w) + yaw / 300).clamp(0, 1)  # noqa: E731
    monkeypatch.setattr(stylegan2.StyleGenerator, "synthesize", turned)
    monkeypatch.setattr(stylegan2.StyleGAN2, "scene", ("yaw", "pitch"))
    made = generators.load_generator("stylegan2", weights=tmp_path / "faces.pkl", truncation=0.7)
    seen = made.synthesize(made.sample(300, seed=1)).flatten(1).numpy()
    # What each reads off the pixels is of its own, and half of the faces are on either side.
    axes = np.linalg.svd(seen - seen.mean(0), full_matrices=False)[2]
    for name, axis in zip(ANSWERS, axes, strict=False):
        values = seen @ axis
        scale = np.float32(1 / values.std())
        middle = np.float32([-np.median(values)]) * scale
        numbers = {"axis": axis[:, None].astype(np.float32) * scale, "middle": middle}
        save(tmp_path / f"{name}.onnx", READ, ["answer"], numbers)
    monkeypatch.chdir(tmp_path)
    exec(compile(smaller, "audit-a-recogniser.md", "exec"), {"__name__": "script"})
    assert "3 of 40 seeds are kept" in capsys.readouterr().out
    table = pd.read_csv("people.csv")
    people, images = table["prototype"].nunique(), table.groupby("prototype").size()
    assert people and people % 6 == 0 and set(images) == {13}  # the variants of light are left out
    assert set(table["group"]) == {*verification.GROUPS} and "light" not in {*table["attribute"]}
    pictures = np.stack([np.asarray(mpimg.imread(name)) for name in table["file"]])
    assert pictures.shape == (len(table), 16, 16, 3)
    turned = pictures.mean((1, 2, 3))[table["attribute"] == "pose"].reshape(people, 4)
    assert (np.diff(turned, axis=1) > 0).all()  # the more a head is turned, the brighter it is here
