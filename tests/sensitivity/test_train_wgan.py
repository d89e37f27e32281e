"""The command that leaves the learned generator: trained anew, or as it came."""

from helpers import artifacts
from helpers.generators import wgan, wgan_training
from helpers.generators.wgan_training import BATCH
from helpers.sensitivity import examination, train_wgan


def test_the_command_leaves_weights_a_card_and_a_sheet(tmp_path, monkeypatch):
    monkeypatch.setattr(train_wgan, "FACES", 4)
    monkeypatch.setattr(wgan_training, "SHOWN", 2 * BATCH)
    monkeypatch.setattr(train_wgan.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(wgan_training, "ENCODER_SHOWN", 64)
    for name, value in {"TRAINED": 60, "EPOCHS": 1, "EACH": 20, "SAMPLES": 12}.items():
        monkeypatch.setattr(examination, name, value)
    path = train_wgan.train(tmp_path / "training")
    generator = wgan.WGANGenerator(weights=path)
    assert generator.card["generator_steps"] == 2
    gate = generator.card["gate"]
    assert set(gate) == {"smiling", "parts", "quality"}
    assert 0 <= gate["smiling"]["low"] <= gate["smiling"]["estimate"] <= gate["smiling"]["high"]
    assert set(gate["parts"]) == {"renders", "no left eye", "no right eye", "no mouth", "samples"}
    assert gate["parts"]["samples"]["n"] == 12
    assert set(gate["quality"]) == {"other renders", "renders, blurred", "samples"}
    assert generator.synthesize(generator.sample(2, 1)).shape == (2, 3, 64, 64)
    assert (tmp_path / "training" / "contact_sheet.png").stat().st_size > 1000


def test_without_training_the_stage_takes_the_shipped_weights(artifacts_folder):
    train_wgan.main(["--profile", "smoke"])
    path = artifacts.load("learned_generator", "wgan.safetensors", "smoke")
    assert path.read_bytes() == wgan.SHIPPED.read_bytes()
    assert artifacts.load("learned_generator", "results.json", "smoke")["trained"] is False
    assert wgan.WGANGenerator(weights=path).card["command"].endswith("--train")
