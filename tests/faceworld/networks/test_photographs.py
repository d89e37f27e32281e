"""`make train`: faces of the face world in the layouts of two data sets, from files to audit."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pretended_gpu
import pytest
import torch
from PIL import Image

from faceaudit.models.local import OnnxNetwork
from faceworld import audit, celeba, populations
from faceworld.networks import AuditedModel, classifiers, photographs, predict, training
from faceworld.rendering import render_to_store

SIZE, N = 32, 60
SMALL = {"architecture": "small", "size": SIZE, "epochs": 3, "seed": 5, "device": "cpu"}


def write_celeba(folder: Path, n: int, size: int) -> Path:
    """Faces and tables as CelebA has them, higher than wide; every fifth for validation."""
    drawn = populations.sample("celeba-like", n, seed=1).parameters
    folder.mkdir()
    images = render_to_store(drawn, size, folder / "rendered.npy")
    (folder / "img_align_celeba").mkdir()
    names = [f"{number:06}.jpg" for number in range(1, n + 1)]
    for image, name in zip(images, names, strict=True):
        tall = np.pad(image.transpose(1, 2, 0), ((4, 4), (0, 0), (0, 0)))
        Image.fromarray(tall).save(folder / "img_align_celeba" / name, quality=95)
    answers = celeba.celeba_attributes(drawn) * 2 - 1
    others = {f"Other_{number}": -1 for number in range(40 - answers.shape[1])}
    answers = answers.assign(**others)
    rows = answers.set_axis(names).to_csv(sep=" ", header=False)
    (folder / "list_attr_celeba.txt").write_text(f"{n}\n{' '.join(answers)} \n{rows}")
    parts = [1 if k % 5 == 0 else 2 if k % 10 == 1 else 0 for k in range(n)]
    lines = (f"{name} {part}\n" for name, part in zip(names, parts, strict=True))
    (folder / "list_eval_partition.txt").write_text("".join(lines))
    return folder


def read(folder: Path, name: str = "celeba") -> tuple[pd.DataFrame, pd.DataFrame]:
    table, _ = photographs.SETS[name](folder)
    return photographs.readable(table, folder)


@pytest.fixture(scope="module")
def faces(tmp_path_factory) -> Path:
    return write_celeba(tmp_path_factory.mktemp("sets") / "celeba", N, SIZE)


@pytest.fixture
def table(faces):
    return read(faces)[0]


@pytest.fixture(scope="module")
def uninterrupted(faces, tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "gender.safetensors"
    table, _ = read(faces)
    said = {"source": "CelebA", "terms": "research"}
    return *photographs.train_on_photographs(table, faces, path, said, **SMALL), path


def test_celeba_becomes_a_table_and_squares(faces, table, tmp_path):
    assert table["split"].value_counts().to_dict() == {"train": 42, "validation": 12}
    drawn = populations.sample("celeba-like", N, seed=1).parameters
    kept = table["image"].str[-10:-4].astype(int) - 1
    truth = celeba.celeba_attributes(drawn).iloc[kept].reset_index(drop=True)
    assert (table["label"] == truth["Male"]).all() and "Male" not in table
    assert (table["Smiling"] == truth["Smiling"]).all()
    rendered = np.load(faces / "rendered.npy")[kept]
    squares = photographs.decoded(table, faces, SIZE, tmp_path / "a.npy")
    assert np.abs(squares.astype(float) - rendered).mean() < 4, "the middle, but for JPEG"
    assert photographs.decoded(table, faces, 16, tmp_path / "a.npy").shape == (54, 3, 16, 16)


def test_fairface_becomes_a_table(tmp_path):
    for name, genders in (("train", ["Female", "Male", "unsure"]), ("val", ["Male", "Female"])):
        (tmp_path / name).mkdir()
        files = [f"{name}/{k + 1}.jpg" for k in range(len(genders))]
        for file in files:
            Image.fromarray(np.full((20, 20, 3), 90, np.uint8)).save(tmp_path / file)
        frame = pd.DataFrame({"file": files, "age": "20-29", "gender": genders, "race": "Black"})
        frame["service_test"] = True
        frame.to_csv(tmp_path / f"fairface_label_{name}.csv", index=False)
    kept, lost = read(tmp_path, "fairface")
    assert kept["image"].tolist() == ["train/1.jpg", "train/2.jpg", "val/1.jpg", "val/2.jpg"]
    assert kept["label"].tolist() == [0, 1, 1, 0]
    assert kept["split"].tolist() == ["train", "train", "validation", "validation"]
    assert {*kept} == {"image", "label", "split", "sha256", "age", "race"}
    card = photographs.SETS["fairface"](tmp_path)[1]
    assert lost.empty and card["train"]["dropped"] == {"unknown label: gender": 1}
    assert card["source"] == "FairFace" and "kept" not in card and "version" not in card
    assert [card[split]["kept"] for split in photographs.SPLITS] == [2, 2]


def test_celeba_without_its_partition_is_told(faces, tmp_path):
    (tmp_path / "list_attr_celeba.txt").write_bytes((faces / "list_attr_celeba.txt").read_bytes())
    with pytest.raises(ValueError, match=r"expected list_eval_partition\.txt, found no such file"):
        read(tmp_path)


def test_images_that_cannot_be_read_are_left_out_by_reason(faces, table, tmp_path):
    (tmp_path / "img_align_celeba").mkdir()
    for file in table["image"]:
        (tmp_path / file).write_bytes((faces / file).read_bytes())
    whole = (faces / table["image"][7]).read_bytes()
    (tmp_path / table["image"][7]).write_bytes(whole[: len(whole) // 2])
    (tmp_path / table["image"][9]).write_text("<html>404</html>")
    (tmp_path / table["image"][3]).unlink()
    kept, lost = photographs.readable(table.drop(columns="sha256"), tmp_path)
    assert kept.equals(table.drop([3, 7, 9]).reset_index(drop=True))
    assert photographs.describe_left_out(lost) == [
        f"2 left out, damaged or no image (the first: {table['image'][7]})",
        f"1 left out, no such file (the first: {table['image'][3]})",
    ]
    with pytest.raises(ValueError, match="female for train, .*; 54 left out, no such"):
        photographs.readable(table.drop(columns="sha256"), tmp_path / "elsewhere")


def test_pictures_that_lie_on_their_side_are_learnt_upright(faces, table, tmp_path):
    """Cameras say by a tag how they were held; the same pixels without tag are what it means."""
    (tmp_path / "img_align_celeba").mkdir()
    tag = Image.Exif()
    tag[0x0112] = 6
    for number, file in enumerate(table["image"]):
        with Image.open(faces / file) as image:
            lying = image.transpose(Image.Transpose.ROTATE_90) if number % 2 else image.copy()
        exif = tag if number % 2 else None
        lying.save(tmp_path / file, format="png", exif=exif)  # by content, whatever the name says
    kept, lost = photographs.readable(table.drop(columns="sha256"), tmp_path)
    assert lost.empty
    turned = photographs.decoded(kept, tmp_path, SIZE, tmp_path / "turned.npy")
    upright = photographs.decoded(table, faces, SIZE, tmp_path / "upright.npy")
    np.testing.assert_array_equal(turned, upright)


def test_pictures_that_an_audit_would_refuse_are_left_out_by_reason(faces, table, tmp_path):
    (tmp_path / "img_align_celeba").mkdir()
    for file in table["image"]:
        (tmp_path / file).write_bytes((faces / file).read_bytes())
    ghost = Image.new("RGBA", (SIZE, SIZE), (9, 9, 9, 100))
    ghost.save(tmp_path / table["image"][2], format="png")
    deep = Image.fromarray(np.zeros((SIZE, SIZE), np.uint16))
    deep.save(tmp_path / table["image"][4], format="png")
    kept, lost = photographs.readable(table.drop(columns="sha256"), tmp_path)
    assert kept["image"].tolist() == table.drop([2, 4])["image"].tolist()
    assert lost["reason"].tolist() == ["transparent in places", "pixels of more than 8 bits"]


def test_each_image_is_varied_by_draws_of_its_own():
    task = photographs.PhotographTask(4, 1e-3, 0.0, training.two_steps)
    rows, key = np.array([3, 11, 5, 8]), (1, "training: images of epoch 2")
    together = task.variation(rows, 40, None, key)
    for k, row in enumerate(rows):
        alone = task.variation(np.array([row]), 40, None, key)
        for one, all_ in zip(
            alone, (together[0][:, k], *(x[k] for x in together[1:])), strict=True
        ):
            np.testing.assert_array_equal(one.ravel(), all_.ravel())
    moved, mirrored, colour, contrast = task.variation(np.arange(2000), 40, None, key)
    assert {*moved.ravel()} == {-2, -1, 0, 1, 2} and 0.45 < mirrored.mean() < 0.55
    assert colour.min() < 0.8 and colour.max() > 1.2 and np.abs(contrast - 1).max() <= 0.2
    (other, *_) = task.variation(np.arange(2000), 40, None, (1, "training: images of epoch 3"))
    assert (other != moved).mean() > 0.7


def test_a_variation_does_to_pixels_what_it_says():
    images = torch.arange(4800).remainder(199).to(torch.uint8).reshape(1, 3, 40, 40)
    factors = np.full((1, 3, 1, 1), 0.5, np.float32), np.ones((1, 1, 1, 1), np.float32)
    told = np.array([[[2]], [[-1]]]), np.array([[True]]), *factors
    down, across = np.clip(np.arange(40) + 2, 0, 39), np.clip(np.arange(39, -1, -1) - 1, 0, 39)
    expected = images[0][:, down][:, :, across] / 255
    torch.testing.assert_close(training.augment(images, told[:2])[0], expected)
    torch.testing.assert_close(training.augment(images, told)[0], expected / 2)


def test_the_result_is_a_model_with_its_card(faces, uninterrupted):
    model, errors, path = uninterrupted
    card = json.loads(path.with_suffix(".json").read_text())
    assert card["source"] == "CelebA" and card["terms"] == "research" and card["versions"]["torch"]
    assert card["recipe"]["schedule"] == "one_cycle" and len(card["data_sha256"]) == 64
    assert card["images"] == {"train": 42, "validation": 12}
    again = AuditedModel.read(path)  # as chapters read theirs
    shown = np.load(path.with_name("gender.validation.npy"))
    np.testing.assert_array_equal(predict(again, shown), predict(model, shown))
    by_gender = errors[errors["attribute"].isna()]
    label = read(faces)[0].query("split == 'validation'")["label"].to_numpy()
    wrong = (predict(model, shown) > 0.5) != label
    assert by_gender["gender"].tolist() == ["female", "male"]
    assert by_gender["n"].tolist() == np.bincount(label).tolist()
    assert by_gender["errors"].tolist() == np.bincount(label, wrong).tolist()
    assert len(pd.read_csv(path.with_suffix(".csv"))) == len(errors)
    smiling = errors[errors["attribute"] == "Smiling"]
    assert smiling["n"].sum() == 12 and {*smiling["level"]} == {True, False}


def test_a_training_is_taken_up_in_the_middle_of_an_epoch(faces, table, tmp_path, monkeypatch):
    # Batches of 14, three an epoch.
    small = classifiers.BinaryTask(14, 4e-3, 1e-2, training.one_cycle)
    monkeypatch.setitem(photographs.RECIPES, "small", small)
    whole = photographs.train_on_photographs(
        table, faces, tmp_path / "whole.safetensors", {}, **SMALL
    )[0]
    monkeypatch.setattr(training, "KEEP_EVERY", 0)  # seconds: after every step
    stops_at, real, steps = 4, photographs.PhotographTask.loss, []

    def power_cut(self, *arguments):
        if len(steps) == stops_at:
            raise KeyboardInterrupt
        steps.append(arguments[-1])
        return real(self, *arguments)

    monkeypatch.setattr(photographs.PhotographTask, "loss", power_cut)
    with pytest.raises(KeyboardInterrupt):
        photographs.train_on_photographs(table, faces, tmp_path / "cut.safetensors", {}, **SMALL)
    stops_at = -1
    model, _ = photographs.train_on_photographs(
        table, faces, tmp_path / "cut.safetensors", {}, **SMALL
    )
    assert steps == sorted({*steps}) and len(steps) == 9, "no step is done twice"
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, model.network.state_dict()[name]), name
    assert model.curve.equals(whole.curve)


def test_a_pretended_gpu_learns_the_same(faces, table, uninterrupted, tmp_path, monkeypatch):
    model, _, _ = uninterrupted
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    with pretended_gpu.present():
        settings = SMALL | {"device": "cuda"}
        there, _ = photographs.train_on_photographs(
            table, faces, tmp_path / "a.safetensors", {}, **settings
        )
        curve = there.curve
    np.testing.assert_allclose(curve, model.curve, atol=1e-4)


def command(faces: Path, artifacts: Path) -> subprocess.Popen:
    arguments = [
        sys.executable,
        "-m",
        "faceworld.networks.photographs",
        "celeba",
        faces,
        "--profile",
        "smoke",
    ]
    environment = os.environ | {"HELPERS_ARTIFACTS": str(artifacts), "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(arguments, env=environment, **pipes)


@pytest.mark.slow
def test_a_killed_command_goes_on_and_its_model_is_audited(faces, tmp_path, monkeypatch):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = command(faces, killed)
    checkpoint = killed / "train" / "smoke" / "gender-celeba.checkpoint"
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert checkpoint.exists() and not checkpoint.with_suffix(".safetensors").exists()
    (said, progress), _ = (command(faces, folder).communicate() for folder in (killed, whole))
    one, other = (f / "train" / "smoke" / "gender-celeba.safetensors" for f in (killed, whole))
    assert one.read_bytes() == other.read_bytes()
    assert "54 images" in said and "Wilson" in said and "epoch 10 of 10" in progress
    assert "epoch 1 of 10" not in progress

    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path / "artifacts"))
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    shown = np.load(other.with_name("gender-celeba.validation.npy"))
    logits = OnnxNetwork(other.with_suffix(".onnx"))(shown / np.float32(255))[:, 0]
    answers = predict(AuditedModel.read(other), shown)
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), answers, atol=1e-5)
    # So few steps leave answers far from one half, on the same side of it.
    described = said.splitlines()[-1].removesuffix("}") + f", threshold: {np.median(answers)}}}"
    file = tmp_path / "trained.yml"
    file.write_text(f"""\
name: trained
question: Does hair length change how often the model errs?
generator: {{kind: known-truth, base_faces: 40}}
axes: [hair_length, gender]
annotated: [makeup]
classes: [female, male]
{described}
design: {{tolerance: 0.05, transects: 30}}
""")
    report = audit.run_audit(file)
    assert report.data["images"] == 120 and report.effects
    assert report.provenance["model"]["file"] == "gender-celeba.onnx"
