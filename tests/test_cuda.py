"""DEVICE=cuda, on a pretended GPU: what takes a device does there what it does on the CPU.

Chapters take renders and networks from the smoke book, as `make smoke` leaves it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pretended_gpu
import pytest
import run
import torch

import facerender
import faceworld
from faceworld import networks, populations
from faceworld.rendering import render_to_store
from helpers import artifacts
from helpers.artifacts import RESULTS, lineage

# What a chapter says of devices without computing on one.
NAMES_A_DEVICE = re.compile(r"^(?:device = .*|stage = Stage\(.*)$", re.MULTILINE)


def gives_a_device(stage: str) -> bool:
    """Whether a chapter gives its device to more than the record of its stage."""
    source = lineage.source_of(stage).read_text(encoding="utf-8")
    return bool(re.search(r"\bdevice\b|\bload_all\(stage\b", NAMES_A_DEVICE.sub("", source)))


# Numbers of those that do more with tensors than have faces rendered.
COMPUTE = [s for s in lineage.stages() if re.match("02|1[1-5]|n0[4678]", s) and gives_a_device(s)]
SHARES = 3
"""Parts of these chapters that run in processes of their own (`conftest.FilesAndShares`)."""


@pytest.fixture
def gpu():
    with pretended_gpu.present():
        yield


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, (24, 3, 64, 64), dtype=np.uint8)


def test_faces_are_drawn(gpu, tmp_path):
    people = populations.sample("celeba-like", 6, seed=0).parameters
    sets = [render_to_store(people, 24, tmp_path / name, device=name) for name in ("cpu", "cuda")]
    assert np.abs(np.subtract(*sets, dtype=int)).max() <= 1
    here, there = (facerender.landmarks_of(people.to(name), 24) for name in ("cpu", "cuda"))
    np.testing.assert_allclose(there, here, atol=1e-3)


@pytest.mark.parametrize("name", ["known-truth", "wgan"])
def test_generators_draw(gpu, name):
    here, there = (faceworld.load_generator(name, device, 32) for device in ("cpu", "cuda"))
    codes = there.sample(3, seed=1)
    pictures = there.synthesize(codes)
    assert codes.is_cuda and pictures.is_cuda
    torch.testing.assert_close(pictures.cpu(), here.synthesize(here.sample(3, seed=1)))


@pytest.mark.parametrize("kind", ["small", "resnet50", "arcface", "sphereface", "reader"])
def test_networks_are_trained_and_answer(gpu, images, tmp_path, kind):
    def answers(device):
        common = {"path": tmp_path / device, "epochs": 1, "seed": 0, "device": device}
        people = np.arange(24) // 2
        if kind == "reader":
            seen = pd.DataFrame({"red": images[:, 0].mean((1, 2)) / 255})
            return networks.train_reader(images, seen, held_out=(images, seen), **common)(images)
        if kind in ("arcface", "sphereface"):
            job = {"images": images, "labels": people, "held_out": (images, people), "loss": kind}
            return networks.train_recognisers([job | common])[0](images)
        job = {"images": images, "labels": people % 2, "architecture": kind}
        networks.train_classifiers([job | common])
        return networks.predict(networks.AuditedModel.read(common["path"], device), images)

    np.testing.assert_allclose(answers("cuda"), answers("cpu"), rtol=0, atol=1e-4)


def run_on_gpu(folder: Path, steps: list[str]) -> None:
    program = Path(__file__).with_name("chapters_on_gpu.py")
    threads = dict.fromkeys(run.THREADS, "1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program, "smoke", *steps],
        env=os.environ | threads | {"HELPERS_ARTIFACTS": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES), ids=lambda share: f"share-{share}")
def test_chapters_find_what_they_find_on_the_cpu(tmp_path, share):
    chapters = COMPUTE[share::SHARES]
    for chapter in chapters:
        if reason := artifacts.why_stage_is_stale(chapter, "smoke"):
            pytest.skip(f"the smoke book is not up to date ({reason}): run `make smoke`")
    smoke = artifacts.root() / "smoke"
    shutil.copytree(smoke, tmp_path / "smoke")
    run_on_gpu(tmp_path, chapters)
    for chapter in chapters:
        found = (folder / chapter / RESULTS for folder in (smoke, tmp_path / "smoke"))
        here, there = (path.read_text(encoding="utf-8") for path in found)
        assert there == here, chapter
