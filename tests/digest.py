"""A small part of every layer of the book, computed and compared with the numbers of record.

    python tests/digest.py              compare with digest.json; 1 and the names of what differs
    python tests/digest.py --write      renew digest.json, after a change that is meant
    python tests/digest.py --emulated   compare on another processor, by qemu-x86_64-static

Layers that train draw their own images, so that other faces leave them as they are. All is small,
as an emulated processor multiplies and adds a hundred times more slowly.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import helpers  # which sets the pins; what follows is set before numpy, too

INSIDE = "DIGEST_IS_EMULATED"
if INSIDE in os.environ:  # Debian's qemu 7.2 computes numpy's argsort with AVX2 wrongly
    os.environ["NPY_DISABLE_CPU_FEATURES"] += " X86_V3"

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import facerender
from faceaudit.effects import resampling, risk_differences, risks
from faceaudit.latents import directions, orthogonalization
from faceaudit.utils import seeding
from facerender import parameters, textures
from faceworld import crowd, known_truth, networks, populations, wgan
from faceworld.networks import architectures, recognisers

RECORD = Path(__file__).with_suffix(".json")
PROCESSOR = "Haswell"  # that is emulated: the oldest that has AVX2
ATTRIBUTES = ("age", "smiling", "makeup", "gender")
LAYERS: dict[str, Callable[[], Iterable]] = {}


def layer(function: Callable[[], Iterable]) -> Callable[[], Iterable]:
    """Decorator of a function that returns arrays; its name is the layer's."""
    LAYERS[function.__name__.replace("_", " ")] = function
    return function


def random(*shape: int, stage: str = "digest") -> np.ndarray:
    return seeding.rng(1, stage).standard_normal(shape)


def pictures(n: int, size: int = 32) -> np.ndarray:
    return seeding.rng(1, "digest: pictures").integers(0, 256, (n, 3, size, size), dtype=np.uint8)


def shown(n: int) -> torch.Tensor:
    return populations.sample("celeba-like", n, seed=1).parameters


def weights(network: torch.nn.Module) -> list[torch.Tensor]:
    return list(network.state_dict().values())


@cache
def the_world() -> known_truth.KnownTruthGenerator:
    small = mock.patch.multiple(known_truth, LATENT_DIM=192, CALIBRATION_CODES=512)
    with small, mock.patch.object(known_truth, "_CALIBRATION", known_truth.calibration()):
        return known_truth.KnownTruthGenerator()


@layer
def world_geometry():
    world = the_world()
    return *world.exact_hyperplanes(ATTRIBUTES), world.exact_directions(ATTRIBUTES)


@layer
def codes_and_crowd():
    world = the_world()
    with mock.patch.object(known_truth, "LATENT_DIM", 192):
        codes = world.sample(40, seed=1)
    seen = facerender.visible_scores(world.parameters(codes))
    answers = crowd.annotate(seen, 5, seed=1, stage="digest")
    return codes, world.parameters(codes), shown(40), seen, crowd.mean_scores(answers)


@layer
def face_records():
    return [np.array(parameters.records(shown(200)).tolist())]


@layer
def hair_and_textures():
    return textures.textures(2)


@layer
def rendered_pixels():
    drawn = facerender.render(shown(8), 64)
    return *vars(drawn).values(), drawn.image.mul(255).round().to(torch.uint8)


@layer
def predictions():
    torch.manual_seed(1)
    found = []
    with torch.no_grad():
        for network in (architectures.SmallNet(), architectures.ResNet50()):
            found.append(network.eval()(torch.from_numpy(pictures(2)).float() / 255))
    learned = wgan.WGANGenerator()
    made = learned.synthesize(learned.sample(2, seed=1))
    return *found, made, learned.encode(made)


@layer
def trained_classifier():
    with TemporaryDirectory() as folder:
        path, labels = Path(folder, "a.safetensors"), np.arange(20) % 2
        model = networks.train_classifier(pictures(20), labels, path, seed=1, epochs=3)
    return weights(model.network)


@layer
def trained_recogniser():
    with TemporaryDirectory() as folder:
        path, labels = Path(folder, "a.safetensors"), np.arange(12) % 4
        made = {"loss": "arcface", "epochs": 3, "seed": 1}
        model = recognisers.train_recogniser(pictures(12), labels, path, **made)
    return weights(model.network)


@layer
def trained_encoder():
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    import learned_generator

    torch.manual_seed(1)
    with mock.patch.object(learned_generator, "ENCODER_BATCH", 2):
        generator, renders = wgan.GeneratorNetwork(), pictures(40, 64)
        training = learned_generator.EncoderTraining(generator, renders, seed=1)
        for _ in range(2):
            training.advance()
    return weights(training.encoder)


@layer
def planes():
    w = random(400, 64)
    score = 0.5 + 0.1 * w[:, :3] + 0.1 * random(400, 3, stage="digest: noise")
    ridge, svm = directions.fit_ridge(w, score[:, 0]), directions.fit_svm(w, score[:, 1], 0.5)
    normals = np.stack([ridge.normal, svm.normal, w[0]])
    found = orthogonalization.dual_basis(normals), orthogonalization.variance_inflation(normals)
    logistic = LogisticRegression(max_iter=500).fit(w, score[:, 2] > 0.5)
    logits = directions.fit_fractional(w, pd.DataFrame(score.clip(0, 1)))
    return *ridge, *svm, *found, logistic.coef_, logits.normals, logits.intercepts


@layer
def effects_and_bootstrap():
    draw = seeding.rng(1, "digest: outcomes")
    group, unit = draw.integers(0, 2, 800), np.arange(800) // 4
    error = draw.random(800) < 0.2 + 0.1 * group
    frame = {"dark": group, "error": error.astype(float), "unit": unit, "half": unit % 2}
    table = risk_differences(pd.DataFrame(frame), "error", "dark", cluster="unit", adjust=["half"])
    sums = resampling.resampled_sums(random(200, 3), range(100), seed=1)
    patterns = np.array([[0.0], [1.0]])
    trials = 1 + np.abs(random(100, 2))
    fitted = risks.fit_logits(patterns, trials, trials * draw.random((100, 2)))
    return table.drop(columns=["verdict", "reason"]).to_numpy(float), sums, fitted


def of(name: str) -> str:
    """Hash of a layer's numbers, bit for bit, on one thread: sums depend on how many share them."""
    found = hashlib.sha256()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1), torch.random.fork_rng(devices=[]):
        for array in map(np.ascontiguousarray, LAYERS[name]()):
            found.update(f"{array.dtype.str} {array.shape}".encode())
            found.update(array)
    torch.set_num_threads(threads)
    return found.hexdigest()[:16]


def compare(write: bool) -> int:
    """Compute all layers, a line for each; 1 if any is not as recorded."""
    recorded = {} if write else json.loads(RECORD.read_text())
    found, differ = {}, []
    for name in LAYERS:
        started = time.monotonic()
        found[name] = of(name)
        as_recorded = write or found[name] == recorded.get(name)
        differ += [] if as_recorded else [name]
        said = "written" if write else "as recorded" if as_recorded else "DIFFERS"
        print(f"{name:22} {found[name]}  {said}  {time.monotonic() - started:.0f} s", flush=True)
    if write:
        RECORD.write_text(json.dumps(found, indent=2) + "\n")
    elif differ:
        again = "python tests/digest.py --write, if the change is meant"
        print(f"not as recorded: {', '.join(differ)} ({again})", file=sys.stderr)
    return int(bool(differ))


def target(processor: str) -> dict[str, str]:
    """Variables with which numba compiles for another processor, and keeps what it compiled."""
    kept = Path(*helpers.__path__).parents[1] / "build" / "emulated"
    names = {"NUMBA_CPU_NAME": processor.lower(), "NUMBA_CPU_FEATURES": ""}
    return names | {"NUMBA_CACHE_DIR": str(kept)}


def emulated() -> int:
    """Compare on a processor that qemu emulates, where compiling would take an hour: the renderer
    is compiled here, for that processor, and loaded there."""
    environment = os.environ | target(PROCESSOR)
    compiling = "from facerender.rendering import compile_renderer as c; c()"
    subprocess.run([sys.executable, "-c", compiling], env=environment, check=True)
    command = ["qemu-x86_64-static", "-cpu", PROCESSOR, sys.executable, __file__]
    # qemu says of every feature that it lacks, none of which is used.
    done = subprocess.run(command, env=environment | {INSIDE: "1"}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(emulated() if "--emulated" in sys.argv else compare("--write" in sys.argv))
