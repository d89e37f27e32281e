"""The training of the learned generator: its critics, taking it up again, its encoder, its gate."""

import sys
from pathlib import Path

import numpy as np
import pretended_gpu
import pytest
import torch
from PIL import Image

from faceworld import wgan

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import learned_generator as made
from learned_generator import AdversarialTraining


@pytest.fixture(scope="module")
def renders():
    return np.random.default_rng(1).integers(0, 256, (40, 3, 64, 64), dtype=np.uint8)


@pytest.fixture
def short(monkeypatch):
    short = {"FACES": 4, "SHOWN": 3 * made.BATCH}
    short |= {"ENCODER_BATCH": 8, "ENCODER_SHOWN": 8 * 25}
    short |= {"TRAINED": 60, "EPOCHS": 1, "EACH": 20, "SAMPLES": 12, "CHECKPOINT_SECONDS": -1.0}
    for name, value in short.items():
        monkeypatch.setattr(made, name, value)
    monkeypatch.setattr(made.os, "cpu_count", lambda: 1)


def test_an_interrupted_training_gives_the_same_networks(renders, tmp_path, short):
    whole = AdversarialTraining(renders, 5)
    made.run(whole, tmp_path / "new", lambda _: None)
    assert whole.step == whole.steps == 3

    def stop(line):
        if "step 1 of 3" in line:
            raise KeyboardInterrupt

    folder, lines = tmp_path / "broken", []
    with pytest.raises(KeyboardInterrupt):
        made.run(AdversarialTraining(renders, 5), folder, stop)
    resumed = AdversarialTraining(renders, 5)
    made.run(resumed, folder, lines.append)
    assert lines[0].startswith("generator: step 2 of 3")
    for kept, again in zip(whole.average.parameters(), resumed.average.parameters(), strict=True):
        assert torch.equal(kept, again)


def test_the_command_leaves_weights_and_a_card_with_the_gate(short, tmp_path):
    with pretended_gpu.present():
        generator = wgan.WGANGenerator(weights=made.main(tmp_path, "cuda"))
    gate = generator.card["gate"]
    assert generator.card["generator_steps"] == 3 and set(gate) == {"smiling", "parts", "quality"}
    assert set(gate["parts"]) == {"renders", "no left eye", "no right eye", "no mouth", "samples"}
    assert gate["parts"]["samples"]["n"] == 12
    assert (tmp_path / "contact_sheet.png").stat().st_size > 1000


def test_it_learns_from_photographs_of_ones_own(renders, tmp_path, short):
    for number, pixels in enumerate(renders[:20]):
        (tmp_path / "own" / "more").mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(pixels.transpose(1, 2, 0)).resize((80, 100))
        picture.save(tmp_path / "own" / ("more" if number % 2 else "") / f"{number}.png")
    path = made.main(tmp_path / "made", photographs=tmp_path / "own")
    generator = wgan.WGANGenerator(weights=path)
    for number in range(4):
        (tmp_path / "own" / "more" / f"{2 * number + 1}.png").unlink()
    again = wgan.WGANGenerator(weights=made.main(tmp_path / "made", photographs=tmp_path / "own"))
    assert again.card["photographs"] == 16, "and nothing is left of the training before"
    codes = generator.sample(2, seed=1)
    assert not torch.equal(again.synthesize(codes), generator.synthesize(codes))
    assert generator.card["photographs"] == 20 and "gate" not in generator.card
    assert generator.synthesize(generator.sample(2, seed=1)).shape == (2, 3, 64, 64)
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="none: 0 JPEG or PNG files, 16 were expected"):
        made.main(tmp_path / "made", photographs=tmp_path / "none")
