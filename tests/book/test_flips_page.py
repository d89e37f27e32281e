"""The scripts of the page on flips, with small networks and a folder in the form of CelebA's."""

import os
import re

import generator_files as files
import numpy as np
import pandas as pd
import pytest
from onnx_made import means
from PIL import Image
from simulated import CELEBA_NAMES as NAMES

import faceworld
from faceaudit.generators import stylegan2
from faceaudit.utils import seeding
from faceworld import celeba, populations, wgan
from faceworld.rendering import render_to_store

SHOWN = ["Heavy_Makeup", "Male", "No_Beard", "Smiling", "Wearing_Lipstick", "Young"]
"""Those that are told of renders here; the others are drawn."""
TRAINING, TEST, OF_EACH = 500, 100, 30
WALKED = 8
"""Codes that are walked along each of 39 vectors: most of the images that are made here."""

SIZES = "SAMPLED, WALKED, OF_EACH, SIZE = 400, 30, 60, 32\n"


def test_the_script_of_the_page_runs(repository, tmp_path, monkeypatch, capsys):
    text = (repository / "book" / "audit-flips.md").read_text(encoding="utf-8")
    script, _ = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    smaller = re.sub(r"^SAMPLED, .*\n", SIZES, script, flags=re.MULTILINE)
    assert smaller != script
    network = stylegan2.StyleGAN2(stylegan2.StyleGAN2Config(**files.CONFIG))
    weights = stylegan2.draw_network_weights(network, seed=4).state_dict()
    content = files.dumps(files.with_others(files.ada(weights=weights)))
    (tmp_path / "faces.pkl").write_bytes(content)
    made = faceworld.load_generator("stylegan2", weights=tmp_path / "faces.pkl", truncation=0.7)
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


def folder_like_celebas(path) -> pd.DataFrame:
    """Text files and JPEGs of 178 × 218 as CelebA has them; what the attributes are."""
    count = TRAINING + TEST
    drawn = populations.sample("celeba-like", count, seed=3)
    known = celeba.celeba_attributes(drawn.parameters)[SHOWN].to_dict("series")
    toss = seeding.rng(3, "tests: attributes").random((count, len(NAMES))) < 0.5
    labels = pd.DataFrame({n: known.get(n, toss[:, k]) for k, n in enumerate(NAMES)}).astype(bool)
    labels.index = [f"{row:06d}.jpg" for row in range(1, count + 1)]
    (path / "img_align_celeba").mkdir(parents=True)
    faces = render_to_store(drawn.parameters, 64, path.parent / "faces.npy")
    for name, face in zip(labels.index, faces, strict=True):
        picture = Image.new("RGB", (178, 218))
        picture.paste(Image.fromarray(face.transpose(1, 2, 0)).resize((178, 178)), (0, 20))
        picture.save(path / "img_align_celeba" / name, quality=95)
    rows = [" ".join([n, *np.where(r, "1", "-1")]) for n, r in labels.T.items()]
    text = "\n".join([str(count), " ".join(NAMES), *rows])
    (path / "list_attr_celeba.txt").write_text(text + "\n", encoding="utf-8")
    parts = [f"{name} {0 if row < TRAINING else 2}\n" for row, name in enumerate(labels.index)]
    (path / "list_eval_partition.txt").write_text("".join(parts), encoding="utf-8")
    return labels


@pytest.mark.slow
def test_the_script_for_celeba_has_all_forty_attributes(repository, tmp_path, monkeypatch):
    text = (repository / "book" / "audit-flips.md").read_text(encoding="utf-8")
    _, script = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    sizes = f"WALKED, OF_EACH, SIZE = {WALKED}, {OF_EACH}, 64\n"
    script = re.sub(r"^WALKED, .*\n", sizes, script, flags=re.MULTILINE)
    script = script.replace('Path("made/wgan.safetensors")', repr(wgan.TRAINED_WEIGHTS)).replace(
        "PosixPath(", "Path("
    )
    labels = folder_like_celebas(tmp_path / "celeba")
    means(tmp_path / "smiles.onnx", [[60.0], [-60.0], [0.0]])  # redder than green
    monkeypatch.chdir(tmp_path)
    os.system(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0])
    assert sorted(os.listdir("celeba/training")) == [*labels.index[:TRAINING]]
    exec(compile(script, "audit-flips.md", "exec"), {"__name__": "script"})
    taught, asked = labels[:TRAINING].astype(float), labels[TRAINING:]
    found = pd.read_csv("correlations.csv", index_col=0)
    assert [*found] == [*found.index] == NAMES
    np.testing.assert_allclose(found, np.corrcoef(taught.to_numpy().T), atol=1e-12)
    said = np.load("test.npy").astype(float).mean((2, 3)) @ [60, -60, 0] >= 0
    wrong, goatee = said != asked["Smiling"], asked["Goatee"]
    errors = pd.read_csv("errors.csv", index_col=0)
    assert len(errors) == 81 and np.isclose(errors.loc["all", "accuracy"], 1 - wrong.mean())
    for has in (False, True):
        rows = goatee == has
        right = [1 - wrong[rows].mean(), wrong[rows & ~asked["Smiling"]].mean()]
        right.append(wrong[rows & asked["Smiling"]].mean())
        np.testing.assert_allclose(errors.loc[f"Goatee={has:d}"], right)
    accuracy = pd.read_csv("accuracy.csv", index_col=0)["accuracy"]
    assert [*accuracy.index] == NAMES
    # Codes tell what is shown, and what was drawn by a toss they do not.
    assert accuracy[["Heavy_Makeup", "Male"]].min() > 0.6
    assert (
        0.3 < accuracy.drop(SHOWN).mean() < 0.7 and accuracy["Male"] > accuracy.drop(SHOWN).mean()
    )
    curves = pd.read_csv("flips.csv")
    assert set(curves["attribute"]) == {*NAMES} - {"Male"} and (curves["n"] <= WALKED).all()
