"""How the weights of the learned generator were made: its training, its encoder's, and its gate.

Run `python benchmarks/learned_generator.py FOLDER [--device cuda]`; it takes over an hour on two
cores, goes on where it was interrupted, and leaves `wgan.safetensors` and `wgan.json` in the
folder, beside a sheet of samples that shows how far it is. Copied into `src/faceworld`
they are the weights that chapter 13 audits. With `--photographs FOLDER` it learns from aligned
pictures of yours, and no gate is asked.

The critic learns to tell renders from samples as well as a function of slope one can, the generator
to close the gap (sensitivity, section 4.1, eq 1). There are two critics, of the whole picture and
of the face, each with a slope of its own: what is wrong with a mouth counts for as much as what is
wrong with a wall. Then the encoder learns to find the code of a sample (eq 2), and for a render one
that brings it back. Every step's draws depend on (seed, step) alone.

In the end three questions are asked, and the answers stand on the card of the weights: do codes
tell smiling renders from others, have samples two eyes and a mouth, and do samples lie among
renders where a classifier of smiles looks?
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as functional
from PIL import Image
from scipy.ndimage import gaussian_filter
from statsmodels.stats.proportion import proportion_confint
from torch import Tensor, nn

import facerender
from faceaudit.generators import realism
from faceaudit.generators.image_cache import content_key
from faceaudit.generators.weights import write_weights
from faceaudit.sensitivity.vectors import as_uint8, attribute_vector, balanced_rows
from faceaudit.utils import seeding
from faceaudit.utils.files import file_hash
from faceworld import celeba, networks, populations, wgan
from faceworld.networks.photographs import decoded
from faceworld.networks.training import read_checkpoint, write_checkpoint
from faceworld.rendering import render_to_store
from faceworld.wgan import NATIVE_SIZE, SLOPE, WGAN_LATENT_DIM, Scaled, face, linear

POPULATION, FACES, SEED = "celeba-like", 20_000, 20200715
"""The renders that the shipped weights were trained on."""
SHEET = (4, 10)
WHOLE, CLOSE = (3, 16, 32, 64, 128), (3, 32, 64, 128)
"""Channels of a critic's look at the picture and at the face; a step halves height and width."""
HIDDEN = 128
"""Of the layer before a critic's answer."""
SHOWN = 448_000
"""How many renders the critics are shown."""
BATCH = 16
"""Few: at this budget many steps teach more than exact ones."""
RATE = 1.5e-3
"""Of all networks; in the second half it falls to nearly nothing."""
PENALTY = 10.0
PENALTY_EVERY = 4
"""The penalty is computed in every fourth step, four times as strongly (Karras et al. 2020)."""
DRIFT = 1e-3
"""Weight of the critic's squared answers, which keeps them near zero."""
AVERAGE = 20_000
"""The generator that is kept is an average over about as many samples."""

ENCODER_SHOWN = 128_000
ENCODER_BATCH = 64
ENCODER_RATE = 1.5e-3
LIKENESS = 5.0
"""Weight of the squared error of renders that come back; the face counts twice."""

CHECKPOINT_SECONDS = 60.0
KINDS = (".jpg", ".jpeg", ".png")


def halve(inputs: int, outputs: int) -> Scaled:
    """A 4×4 convolution that halves height and width."""
    operation = partial(functional.conv2d, stride=2, padding=1)
    return Scaled(operation, (outputs, inputs, 4, 4), inputs * 16, outputs)


class Critic(nn.Module):
    """How real a look (n, 3, height, width) seems: (n,). One is for pictures, one for faces."""

    def __init__(self, widths: tuple[int, ...], cells: int) -> None:
        super().__init__()
        layers = [(halve(*pair), nn.LeakyReLU(SLOPE)) for pair in pairwise(widths)]
        self.shrink = nn.Sequential(*chain(*layers))
        self.answer = nn.Sequential(
            linear((widths[-1] + 1) * cells, HIDDEN),
            nn.LeakyReLU(SLOPE),
            linear(HIDDEN, 1, gain=1.0),
        )
        self.to(memory_format=torch.channels_last)

    def forward(self, look: Tensor) -> Tensor:
        x = self.shrink(look)
        spread = x.std(0).mean().expand(len(x), 1, *x.shape[2:])
        return self.answer(torch.cat([x, spread], 1).flatten(1))[:, 0]


class AdversarialTraining:
    """The generator (with its running average, which is what is kept) against the critics.

    Images are renders, uint8 (n, 3, 64, 64); the seed is of first weights and every step's draws.
    """

    name = "generator"
    parts = ("generator", "critics", "average", "generator_optimizer", "critic_optimizer")

    def __init__(self, images: np.ndarray, seed: int, device: torch.device | str = "cpu") -> None:
        self.images, self.seed, self.device = images, seed, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.generator = wgan.GeneratorNetwork().to(device)
            looks = zip((WHOLE, CLOSE), wgan.CELLS, strict=True)
            self.critics = nn.ModuleList(Critic(*look) for look in looks).to(device)
        self.average = copy.deepcopy(self.generator).requires_grad_(False)
        self.generator_optimizer = _adam(self.generator)
        self.critic_optimizer = _adam(self.critics)
        self.steps, self.step = SHOWN // BATCH, 0

    def advance(self) -> dict[str, float]:
        """One step of the critics, one of the generator."""
        rate = RATE * min(1.0, 2.0 * (1 - self.step / self.steps) + 0.02)
        for optimizer in (self.generator_optimizer, self.critic_optimizer):
            optimizer.param_groups[0]["lr"] = rate
        draw = seeding.rng(self.seed, "wgan: training", self.step)
        real = _drawn(self.images, BATCH, draw, self.device)
        z = torch.from_numpy(draw.standard_normal((BATCH, WGAN_LATENT_DIM), dtype=np.float32))
        fake = self.generator(z.to(self.device))
        gap = self._teach_critics(real, fake.detach(), draw)
        self.critics.requires_grad_(False)
        _descend(self.generator_optimizer, -self._judged(fake).mean())
        self.critics.requires_grad_(True)
        if not np.isfinite(gap):
            raise FloatingPointError(f"step {self.step}: the critics' gap is {gap}")
        self._update_average()
        self.step += 1
        return {"gap": gap}

    def _judged(self, images: Tensor) -> Tensor:
        """What the critics say in sum, (n,)."""
        of_picture, of_face = self.critics
        return of_picture(images) + of_face(face(images))

    def _teach_critics(self, real: Tensor, fake: Tensor, draw: np.random.Generator) -> float:
        on_real, on_fake = self._judged(real), self._judged(fake)
        gap = on_real.mean() - on_fake.mean()
        loss = DRIFT * on_real.square().mean() - gap
        if self.step % PENALTY_EVERY == 0:
            part = torch.from_numpy(draw.random((BATCH, 1, 1, 1), dtype=np.float32))
            between = torch.lerp(real, fake, part.to(self.device))
            loss = loss + PENALTY_EVERY * PENALTY * self._excess_slope(between)
        _descend(self.critic_optimizer, loss)
        return gap.item()

    def _excess_slope(self, images: Tensor) -> Tensor:
        """Mean squared difference of each critic's slope from one, in sum."""
        seen = [look.requires_grad_() for look in (images, face(images).clone())]
        answers = [critic(look).sum() for critic, look in zip(self.critics, seen, strict=True)]
        slopes = torch.autograd.grad(answers, seen, create_graph=True)
        return sum((slope.flatten(1).norm(dim=1) - 1).square().mean() for slope in slopes)

    @torch.no_grad()
    def _update_average(self) -> None:
        # Early on the average must not remember the random start.
        kept = min(1 - BATCH / AVERAGE, self.step / (self.step + 20))
        pairs = zip(self.average.parameters(), self.generator.parameters(), strict=True)
        for average, new in pairs:
            average.lerp_(new, 1 - kept)


class EncoderTraining:
    """Regression of the code on the image that a finished generator makes of it.

    Renders teach it, too: what the generator makes of their codes shall be like them. An encoder
    that has seen samples alone finds in a render what samples have, and smiles are what they have
    least of.
    """

    name = "encoder"
    parts = ("encoder", "optimizer")

    def __init__(
        self,
        generator: nn.Module,
        images: np.ndarray,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.generator, self.images = generator.eval(), images
        self.seed, self.device = seed, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = wgan.EncoderNetwork().to(device)
        self.optimizer = _adam(self.encoder, betas=(0.9, 0.999))
        self.steps, self.step = ENCODER_SHOWN // ENCODER_BATCH, 0

    def advance(self) -> dict[str, float]:
        """One step down the squared errors of the codes and of the renders that come back."""
        self.optimizer.param_groups[0]["lr"] = ENCODER_RATE * (1.01 - self.step / self.steps)
        draw = seeding.rng(self.seed, "wgan: encoder", self.step)
        codes = draw.standard_normal((ENCODER_BATCH, WGAN_LATENT_DIM), dtype=np.float32)
        z = torch.from_numpy(codes).to(self.device)
        renders = _drawn(self.images, ENCODER_BATCH, draw, self.device)
        with torch.no_grad():
            samples = self.generator(z).clamp(-1, 1)
        found, read = self.encoder.train()(torch.cat([samples, renders])).chunk(2)
        again = self.generator(read)
        unlike = functional.mse_loss(again, renders)
        unlike = unlike + functional.mse_loss(face(again), face(renders))
        missed = functional.mse_loss(found, z)
        _descend(self.optimizer, missed + LIKENESS * unlike)
        self.step += 1
        return {"squared error": missed.item(), "of renders": unlike.item()}


Training = AdversarialTraining | EncoderTraining


def run(training: Training, folder: Path, report: Callable[[str], None] = print) -> None:
    """Take all steps that are left; a checkpoint a minute, and a line of progress with it."""
    path, seen = folder / f"{training.name}.checkpoint", content_key(training.images)
    saved = read_checkpoint(path)
    if saved and saved["images"] == seen:  # those of other images are begun anew
        for name in training.parts:
            getattr(training, name).load_state_dict(saved["states"][name])
        training.step = saved["step"]
    then, first = time.monotonic(), training.step
    while training.step < training.steps:
        told = training.advance()
        if (now := time.monotonic()) - then > CHECKPOINT_SECONDS:
            # Larger sizes are slower, so only the last minute tells what is to come.
            left = (now - then) / (training.step - first) * (training.steps - training.step)
            then, first = now, training.step
            _save(training, path, seen)
            numbers = ", ".join(f"{name} {value:.3g}" for name, value in told.items())
            report(
                f"{training.name}: step {training.step} of {training.steps}, {numbers}, "
                f"about {left / 60:.0f} minutes left at this pace"
            )
    _save(training, path, seen)


def _save(training: Training, path: Path, images: str) -> None:
    states = {name: getattr(training, name).state_dict() for name in training.parts}
    write_checkpoint(path, {"step": training.step, "images": images, "states": states})


def _drawn(
    images: np.ndarray, count: int, draw: np.random.Generator, device: torch.device | str
) -> Tensor:
    """A batch of renders in [-1, 1], half of them mirrored."""
    rows = draw.integers(len(images), size=count)
    x = torch.from_numpy(images[rows]).to(device).float() / 127.5 - 1
    mirrored = torch.from_numpy(draw.random(count) < 0.5).to(device)
    x = torch.where(mirrored[:, None, None, None], x.flip(3), x)
    return x.contiguous(memory_format=torch.channels_last)


def _adam(network: nn.Module, betas: tuple[float, float] = (0.0, 0.99)) -> torch.optim.Adam:
    # Fused: its square roots are rounded alike on all processors, those of the default are not.
    return torch.optim.Adam(network.parameters(), betas=betas, fused=True)


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# --- the gate

UNSEEN = SEED + 1
"""Faces of the gate are others than those that the generator saw."""
TRAINED, EPOCHS = 10_000, 7
"""Renders that the classifier of smiles and the reader of parts learn from, and how often."""
EACH = 2_000
"""Codes of smiling renders, and as many of others, for the vector of smiles."""
TRAINING_SHARE, SAMPLES, NEIGHBOURS, BLUR = 0.8, 1_000, 3, 0.02
PARTS = {
    "left eye": ("eye_inner_left", "eye_outer_left", "eye_centre_left"),
    "right eye": ("eye_inner_right", "eye_outer_right", "eye_centre_right"),
    "mouth": ("mouth_corner_left", "mouth_corner_right", "upper_lip", "lower_lip"),
}
"""What is looked for; left and right are the image's."""
MARGIN, STAIN = 0.025, 0.06
"""Around the landmarks of a part, and standard deviation of a blur, in image sizes."""


def examine(generator: wgan.WGANGenerator, folder: Path, seed: int, device: str = "cpu") -> dict:
    """Held-out accuracy of a vector of smiles, shares of images with all parts, and precision and
    recall in the eyes of a classifier; renders and networks are kept in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    population = populations.sample(POPULATION, TRAINED + 2 * EACH + 2 * SAMPLES, seed)
    renders = render_to_store(
        population.parameters, NATIVE_SIZE, folder / "renders.npy", device=device
    )
    smiles = celeba.celeba_attributes(population.parameters)[["Smiling"]]
    taught, asked = slice(TRAINED), slice(TRAINED, None)
    settings = {"seed": seed, "epochs": EPOCHS, "device": device}
    labels = smiles["Smiling"].to_numpy()[taught].astype(int)
    path = folder / "smiling.safetensors"
    classifier = networks.train_classifier(renders[taught], labels, path, **settings)
    made = as_uint8(generator.synthesize(generator.sample(SAMPLES, seed)))
    return {
        "smiling": _smiling(generator, renders[asked], smiles[asked].reset_index(drop=True), seed),
        "parts": _parts(made, folder, settings),
        "quality": _quality(classifier, renders[-2 * SAMPLES :], made),
    }


def _smiling(
    generator: wgan.WGANGenerator, renders: np.ndarray, smiles: pd.DataFrame, seed: int
) -> dict[str, float]:
    codes = generator.encode(torch.from_numpy(renders.copy()).float() / 255).cpu().numpy()
    each = min(EACH, *smiles["Smiling"].value_counts())
    rows = balanced_rows(smiles, "Smiling", each, (), None, seed)
    vector = attribute_vector(codes, *rows, TRAINING_SHARE, seed, "Smiling")
    names = {"estimate": "accuracy", "low": "low", "high": "high", "n": "n_test"}
    return {name: round(float(getattr(vector, of)), 4) for name, of in names.items()}


def _quality(
    classifier: networks.AuditedModel, renders: np.ndarray, made: np.ndarray
) -> dict[str, dict[str, float]]:
    real, other = np.array_split(renders, 2)
    blurred = gaussian_filter(other, (0, 0, BLUR * NATIVE_SIZE, BLUR * NATIVE_SIZE))
    sets = {"other renders": other, "renders, blurred": blurred, "samples": made}
    reference = networks.features(classifier, real)
    table = {}
    for name, images in sets.items():
        cloud = networks.features(classifier, images)
        found = realism.precision_recall(reference, cloud, NEIGHBOURS)
        table[name] = dict(zip(("precision", "recall"), np.round(found, 4).tolist(), strict=True))
    return table


def _parts(made: np.ndarray, folder: Path, settings: dict) -> dict[str, dict[str, float]]:
    """Shares of images in which two eyes and a mouth are found: of renders, of renders without a
    part, and of samples. The reader learns from renders half of which lack a part."""
    seed = settings["seed"]
    known = networks.decorrelated_faces(TRAINED + SAMPLES, seed)
    renders = render_to_store(known, NATIVE_SIZE, folder / "known.npy", device=settings["device"])
    drawn = seeding.uniforms(seed, "parts to learn", range(TRAINED), len(PARTS))
    missing = pd.DataFrame(drawn < [0.3, 0.3, 0.5], columns=list(PARTS))  # half lack an eye
    seen = without_parts(renders[:TRAINED], known[:TRAINED], missing, seed)
    eyes = ~missing[["left eye", "right eye"]].any(axis=1)
    targets = pd.DataFrame({"two eyes": eyes, "mouth": ~missing["mouth"]}).astype(float)
    reader = networks.train_reader(seen, targets, folder / "parts.safetensors", **settings)
    sets = {"renders": renders[TRAINED:]}
    for part in PARTS:
        missing = pd.DataFrame(False, range(SAMPLES), list(PARTS)).assign(**{part: True})
        sets[f"no {part}"] = without_parts(renders[TRAINED:], known[TRAINED:], missing, seed)
    sets["samples"] = made
    return {name: _share((reader(images) >= 0.5).all(axis=1)) for name, images in sets.items()}


def _share(found: pd.Series) -> dict[str, float]:
    """A share with its Wilson interval of 95%: estimate, low, high, n."""
    low, high = proportion_confint(found.sum(), len(found), method="wilson")
    values = {"estimate": found.mean(), "low": low, "high": high, "n": len(found)}
    return {name: round(float(value), 4) for name, value in values.items()}


def without_parts(
    images: np.ndarray, parameters: Tensor, missing: pd.DataFrame, seed: int
) -> np.ndarray:
    """Renders without the parts that are missing: every second one is filled in from the edges of
    its place, the others are blurred until only a stain is left."""
    size = images.shape[-1]
    places = _places(parameters, size)
    stained = seeding.uniforms(seed, "missing parts", range(len(images)), len(PARTS)) < 0.5
    made = images.copy()
    for row, column in np.argwhere(missing[list(PARTS)].to_numpy()):
        image, (top, bottom, left, right) = made[row], places[row, column]
        here = np.s_[:, top:bottom, left:right]
        if stained[row, column]:
            image[here] = gaussian_filter(image.astype(float), (0, *2 * [STAIN * size]))[here]
        else:
            image[here] = _filled(image.astype(float), top, bottom, left, right)
    return made


def _places(parameters: Tensor, size: int) -> np.ndarray:
    """Rows and columns that the parts take: top, bottom, left, right, int (n, parts, 4)."""
    points = facerender.landmarks_of(parameters, size)
    places = []
    for names in PARTS.values():
        few = points[:, [facerender.LANDMARK_NAMES.index(name) for name in names]]
        low, high = few.min(1) - MARGIN * size, few.max(1) + MARGIN * size
        ends = [low[:, 1], high[:, 1], low[:, 0], high[:, 0]]
        places.append(np.stack(ends, 1).round().astype(int).clip(1, size - 1))
    return np.stack(places, 1)


def _filled(image: np.ndarray, top: int, bottom: int, left: int, right: int) -> np.ndarray:
    """A place filled in from its four edges, in straight lines across and down."""
    down = np.linspace(0, 1, bottom - top)[:, None]
    across = np.linspace(0, 1, right - left)
    rows, columns = np.s_[:, top:bottom], np.s_[:, :, left:right]
    above, below = (image[columns][:, [line]] for line in (top - 1, bottom))
    before, after = (image[rows][:, :, [line]] for line in (left - 1, right))
    vertical = above + (below - above) * down
    horizontal = before + (after - before) * across
    return (vertical + horizontal) / 2


# --- the command


def main(folder: Path, device: str = "cpu", photographs: Path | None = None) -> Path:
    """Train both networks, examine them, and write weights and card; gives the weights' path.

    The gate asks what is known of renders, so a generator of photographs goes through none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if photographs:
        renders = squares_of(photographs, folder / "photographs.npy")
    else:
        parameters = populations.sample(POPULATION, FACES, SEED).parameters
        renders = render_to_store(parameters, NATIVE_SIZE, folder / "renders.npy", device=device)
    torch.set_num_threads(os.cpu_count() or 1)
    adversarial = AdversarialTraining(renders, SEED, device=device)

    def report(line: str) -> None:
        print(line, flush=True)
        write_sheet(adversarial, folder / "contact_sheet.png")

    run(adversarial, folder, report)
    report("generator: finished")
    encoding = EncoderTraining(adversarial.average, renders, SEED, device=device)
    run(encoding, folder, lambda line: print(line, flush=True))
    path, card = folder / "wgan.safetensors", recipe(adversarial, encoding)
    trained = nn.ModuleList([adversarial.average, encoding.encoder])
    if photographs:
        del card["renders"]
        write_weights(trained, path, card | {"photographs": len(renders)})
        return path
    write_weights(trained, path, card)
    generator = wgan.WGANGenerator(device, weights=path)
    torch.set_num_threads(1)  # how many there are changes what the gate's networks learn
    gate = examine(generator, folder / "examination", UNSEEN, device)
    write_weights(trained, path, card | {"gate": gate})
    return path


def squares_of(photographs: Path, path: Path) -> np.ndarray:
    """The middle squares of a folder's JPEG and PNG files, uint8 (n, 3, 64, 64)."""
    files = sorted(f for f in photographs.rglob("*") if f.suffix.lower() in KINDS)
    if len(files) < BATCH:
        raise ValueError(f"{photographs}: {len(files)} JPEG or PNG files, {BATCH} were expected")
    names = [str(file.relative_to(photographs)) for file in files]
    table = pd.DataFrame({"image": names, "sha256": list(map(file_hash, files))})
    return decoded(table, photographs, NATIVE_SIZE, path)


def recipe(adversarial: AdversarialTraining, encoding: EncoderTraining) -> dict[str, object]:
    """What the card says of how the weights came about."""
    return {
        "command": "python benchmarks/learned_generator.py FOLDER",
        "renders": f"populations.sample({POPULATION!r}, {FACES}, {SEED}), {NATIVE_SIZE} px, "
        "half mirrored",
        "loss": "Wasserstein with gradient penalty (sensitivity, eq 1), of the picture and of the "
        "face; encoder: eq 2, and renders that come back",
        "generator_steps": adversarial.step,
        "encoder_steps": encoding.step,
        "seed": SEED,
        "torch": torch.__version__,
    }


def write_sheet(training: AdversarialTraining, path: Path) -> None:
    """Samples of the averaged generator, as a PNG."""
    rows, columns = SHEET
    codes = wgan.codes(rows * columns, SEED).to(training.device)
    with torch.no_grad():
        samples = training.average(codes).clamp(-1, 1).cpu().numpy()
    pixels = ((samples + 1) * 127.5).astype(np.uint8)
    grid = pixels.reshape(rows, columns, 3, NATIVE_SIZE, NATIVE_SIZE).transpose(0, 3, 1, 4, 2)
    Image.fromarray(grid.reshape(rows * NATIVE_SIZE, columns * NATIVE_SIZE, 3)).save(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu", help="where to train: cpu or cuda")
    parser.add_argument(
        "--photographs", type=Path, help="a folder to learn from, in place of renders"
    )
    main(**vars(parser.parse_args()))
