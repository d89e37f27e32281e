"""The command that leaves the learned generator: trained anew, or as it came."""

from helpers import artifacts
from helpers.generators import wgan, wgan_training
from helpers.generators.wgan_training import BATCH
from helpers.sensitivity import train_wgan


def test_the_command_leaves_weights_a_card_and_a_sheet(tmp_path, monkeypatch):
    monkeypatch.setattr(train_wgan, "FACES", 4)
    monkeypatch.setattr(wgan_training, "PHASES", ((16, BATCH, 0), (32, BATCH, BATCH)))
    monkeypatch.setattr(train_wgan.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(wgan_training, "ENCODER_SHOWN", 64)
    path = train_wgan.train(tmp_path / "training")
    generator = wgan.WGANGenerator(weights=path)
    assert generator.card["generator_steps"] == 2
    assert generator.synthesize(generator.sample(2, 1)).shape == (2, 3, 64, 64)
    assert (tmp_path / "training" / "contact_sheet.png").stat().st_size > 1000


def test_without_training_the_stage_takes_the_shipped_weights(artifacts_folder):
    train_wgan.main(["--profile", "smoke"])
    path = artifacts.load("learned_generator", "wgan.safetensors", "smoke")
    assert path.read_bytes() == wgan.SHIPPED.read_bytes()
    assert artifacts.load("learned_generator", "results.json", "smoke")["trained"] is False
    assert wgan.WGANGenerator(weights=path).card["command"].endswith("--train")
