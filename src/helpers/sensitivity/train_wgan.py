"""The learned generator of the book: the weights that come with the package, or new ones.

    python -m helpers.sensitivity.train_wgan --profile laptop [--train [--device cuda]]

The stage `artifacts/<profile>/learned_generator/` holds `wgan.safetensors` and its card,
`wgan.json`. With `--train` (`make reproduce TRAIN=1`) the networks are trained from nothing on
celeba-like renders. Checkpoints are kept, so an interrupted training goes on where it stopped;
a contact sheet beside them shows how far it is. In the end the generator is held against its gate
(`examination`), and the card says what came out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from helpers.artifacts import Stage, atomic, kept
from helpers.generators import wgan, wgan_training
from helpers.generators.wgan import SIZE
from helpers.generators.wgan_training import AdversarialTraining, EncoderTraining
from helpers.sensitivity import examination
from helpers.world import populations
from helpers.world.batches import render_to_store

POPULATION, FACES, SEED = "celeba-like", 20_000, 20200715
"""The renders that the shipped weights were trained on, whatever the profile."""
UNSEEN = SEED + 1
"""The examination's faces are others."""
SHEET = (4, 10)


def train(folder: Path, device: str = "cpu") -> Path:
    """Train both networks; everything that is made on the way stays in `folder`.

    Returns:
        The weights, `wgan.safetensors`, with their card beside them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parameters = populations.sample(POPULATION, FACES, SEED).parameters
    renders = render_to_store(parameters, SIZE, folder / "renders.npy", device=device)
    torch.set_num_threads(os.cpu_count() or 1)

    adversarial = AdversarialTraining(renders, SEED, device=device)

    def report(line: str) -> None:
        print(line, flush=True)
        write_sheet(adversarial, folder / "contact_sheet.png")

    wgan_training.run(adversarial, folder, report)
    report("generator: finished")
    encoding = EncoderTraining(adversarial.average, renders, SEED, device=device)
    wgan_training.run(encoding, folder, lambda line: print(line, flush=True))
    path, card = folder / "wgan.safetensors", recipe(adversarial, encoding)
    wgan.save(adversarial.average, encoding.encoder, path, card)
    trained = wgan.WGANGenerator(device, weights=path)
    torch.set_num_threads(1)  # how many there are changes what the examination's networks learn
    gate = examination.examine(trained, folder / "examination", UNSEEN, device)
    wgan.save(adversarial.average, encoding.encoder, path, card | {"gate": gate})
    return path


def recipe(adversarial: AdversarialTraining, encoding: EncoderTraining) -> dict[str, object]:
    """What the card says of how the weights came about."""
    return {
        "command": "python -m helpers.sensitivity.train_wgan --profile laptop --train",
        "renders": f"populations.sample({POPULATION!r}, {FACES}, {SEED}), {SIZE} px, half mirrored",
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
    grid = pixels.reshape(rows, columns, 3, SIZE, SIZE).transpose(0, 3, 1, 4, 2)
    with atomic(path) as temporary:
        sheet = grid.reshape(rows * SIZE, columns * SIZE, 3)
        Image.fromarray(sheet).save(temporary, "png")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True)
    parser.add_argument("--train", action="store_true", help="train instead of using what is there")
    parser.add_argument("--device", default="cpu", help="where to train: cpu or cuda")
    asked = parser.parse_args(arguments)
    stage = Stage("learned_generator", profile=asked.profile, device=asked.device, seed=SEED)
    # Checkpoints of other code are not mixed with these.
    code = kept.made_by(Path(__file__))[:12]
    made = train(stage.folder / "training" / code, asked.device) if asked.train else wgan.SHIPPED
    for suffix in (".safetensors", ".json"):
        with atomic(stage.path(f"wgan{suffix}")) as temporary:
            shutil.copyfile(made.with_suffix(suffix), temporary)
    generator = wgan.WGANGenerator(weights=stage.path("wgan.safetensors"))
    stage.finish({"trained": asked.train, "recipe": generator.card})


if __name__ == "__main__":
    main(sys.argv[1:])
