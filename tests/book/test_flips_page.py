"""The script of the page on flips, with a small generator and small classifiers in its place."""

import re

import generator_files as files
import numpy as np
import pandas as pd
from onnx_made import means

from helpers import generators
from helpers.generators import stylegan2

SIZES = "SAMPLED, WALKED, OF_EACH, SIZE = 400, 30, 60, 32\n"


def test_the_script_of_the_page_runs(repository, tmp_path, monkeypatch, capsys):
    text = (repository / "book" / "audit-flips.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    smaller = re.sub(r"^SAMPLED, .*\n", SIZES, script, flags=re.MULTILINE)
    assert smaller != script
    network = stylegan2.StyleGAN2(stylegan2.Config(**files.CONFIG))
    weights = stylegan2.draw_weights(network, seed=4).state_dict()
    content = files.dumps(files.with_others(files.ada(weights=weights)))
    (tmp_path / "faces.pkl").write_bytes(content)
    made = generators.load_generator("stylegan2", weights=tmp_path / "faces.pkl", truncation=0.7)
    shares = np.median(made.synthesize(made.sample(400, seed=1)).mean((2, 3)), axis=0)
    for name, one in {"smiles": 0, "Smiling": 0, "Male": 1, "Young": 2}.items():
        row, other = np.zeros((3, 1)), (one + 1) % 3
        row[one], row[other] = 400, -400 * shares[one] / shares[other]  # half are on either side
        means(tmp_path / f"{name}.onnx", row)
    monkeypatch.chdir(tmp_path)
    exec(compile(smaller, "audit-flips.md", "exec"), {"__name__": "script"})
    assert capsys.readouterr().out.count("is told by held-out codes") == 2
    curves = pd.read_csv("flips.csv")
    assert set(curves["attribute"]) == {"Male", "Young"} and curves["λ"].nunique() == 5
    moved = curves[(curves["λ"] == 1) & (curves["measure"] == "net")]
    assert moved["estimate"].abs().max() > 0 and (curves["n"] <= 30).all()
