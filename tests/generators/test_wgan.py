"""The learned generator: networks, training, weights on disk, and what it refuses."""

import json
import re
from hashlib import sha256

import numpy as np
import pytest
import safetensors.torch
import torch
from torch.nn import functional

from helpers import artifacts, generators
from helpers.generators import train_wgan, wgan, wgan_training
from helpers.generators.wgan_networks import Critic, Encoder, Generator
from helpers.generators.wgan_training import BATCH, AdversarialTraining, EncoderTraining

PHASES = ((16, 3 * BATCH, 0), (32, 4 * BATCH, 2 * BATCH))


@pytest.fixture(scope="module")
def renders():
    return np.random.default_rng(1).integers(0, 256, (40, 3, 64, 64), dtype=np.uint8)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "wgan.safetensors"
    torch.manual_seed(2)
    wgan.save(Generator(), Encoder(), path, {"seed": 2})
    return path


def rewrite(path, **changed):
    """Change weights, and the card with them."""
    state = safetensors.torch.load(path.read_bytes()) | changed
    data = safetensors.torch.save({k: v for k, v in state.items() if v is not None})
    path.write_bytes(data)
    path.with_suffix(".json").write_text(json.dumps({"sha256": sha256(data).hexdigest()}))


class TestNetworks:
    @pytest.mark.parametrize(("size", "fade"), [(16, 1.0), (32, 0.25), (64, 0.25), (64, 1.0)])
    def test_every_size_grows_and_is_judged(self, size, fade):
        images = Generator()(torch.randn(3, 128), size, fade)
        assert images.shape == (3, 3, size, size)
        assert Critic()(images, fade).shape == (3,)

    def test_a_size_without_weight_is_the_smaller_one_enlarged(self):
        z, network = torch.randn(2, 128), Generator()
        small = functional.interpolate(network(z, 16), scale_factor=2.0)
        assert torch.allclose(network(z, 32, fade=0.0), small, atol=1e-6)

    def test_weights_fit_the_package(self):
        count = sum(v.numel() for v in wgan._networks().state_dict().values())
        assert 4 * count < 16 * 2**20


class TestTraining:
    def test_moments_follow_the_phases(self):
        sizes = [wgan_training.moment(step, PHASES).size for step in range(7)]
        assert sizes == [16] * 3 + [32] * 4
        assert wgan_training.moment(0, PHASES).fade == 1
        assert wgan_training.moment(3, PHASES).fade == 0
        rates = [wgan_training.moment(step, PHASES).rate for step in range(3, 7)]
        assert rates == sorted(rates, reverse=True)
        assert rates[-1] < rates[0]
        with pytest.raises(ValueError, match="after the last phase"):
            wgan_training.moment(7, PHASES)

    def test_the_penalty_is_the_squared_excess_of_the_slope(self, renders):
        training = AdversarialTraining(renders, 1, PHASES)
        weights = torch.rand(3 * 16 * 16)
        training.critic = lambda images, fade: images.flatten(1) @ weights
        found = training._excess_slope(torch.rand(3, 3, 16, 16), 1.0)
        assert found.item() == pytest.approx((weights.norm().item() - 1) ** 2, rel=1e-4)

    def test_an_interrupted_training_gives_the_same_networks(self, renders, tmp_path, monkeypatch):
        monkeypatch.setattr(wgan_training, "CHECKPOINT_SECONDS", -1.0)
        whole = AdversarialTraining(renders, 5, PHASES)
        wgan_training.run(whole, tmp_path / "new", lambda _: None)
        assert whole.step == whole.steps == 7

        folder = tmp_path / "broken"
        folder.mkdir()
        broken = AdversarialTraining(renders, 5, PHASES)

        def stop(line):
            if "step 4 of 7" in line:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            wgan_training.run(broken, folder, stop)
        resumed = AdversarialTraining(renders, 5, PHASES)
        lines = []
        wgan_training.run(resumed, folder, lines.append)
        assert lines[0].startswith("generator: step 5 of 7")
        for kept, again in zip(
            whole.average.parameters(), resumed.average.parameters(), strict=True
        ):
            assert torch.equal(kept, again)

    def test_a_damaged_checkpoint_is_named(self, renders, tmp_path):
        (tmp_path / "generator.checkpoint").write_bytes(b"nothing")
        with pytest.raises(ValueError, match="generator.checkpoint: damaged checkpoint"):
            wgan_training.run(AdversarialTraining(renders, 5, PHASES), tmp_path)

    def test_losses_that_are_no_numbers_stop_the_training(self, renders):
        training = AdversarialTraining(renders, 5, PHASES)
        with torch.no_grad():
            training.critic.last[2].bias.fill_(float("nan"))
        with pytest.raises(FloatingPointError, match="step 0"):
            training.advance()

    def test_the_encoder_learns(self):
        torch.manual_seed(1)
        training = EncoderTraining(Generator(), seed=3, shown=64 * 30)
        first = training.advance()["squared error"]
        while training.step < training.steps:
            last = training.advance()["squared error"]
        assert last < first

    def test_the_command_leaves_weights_a_card_and_a_sheet(self, tmp_path, monkeypatch):
        monkeypatch.setattr(train_wgan, "FACES", 4)
        monkeypatch.setattr(wgan_training, "PHASES", ((16, BATCH, 0), (32, BATCH, BATCH)))
        monkeypatch.setattr(train_wgan.os, "cpu_count", lambda: 1)
        monkeypatch.setattr(wgan_training, "ENCODER_SHOWN", 64)
        path = train_wgan.train(tmp_path / "training")
        generator = wgan.WGANGenerator(weights=path)
        assert generator.card["generator_steps"] == 2
        assert generator.synthesize(generator.sample(2, 1)).shape == (2, 3, 64, 64)
        assert (tmp_path / "training" / "contact_sheet.png").stat().st_size > 1000

    def test_without_training_the_stage_takes_the_shipped_weights(self, artifacts_folder):
        train_wgan.main(["--profile", "smoke"])
        path = artifacts.load("learned_generator", "wgan.safetensors", "smoke")
        assert path.read_bytes() == wgan.SHIPPED.read_bytes()
        assert artifacts.load("learned_generator", "results.json", "smoke")["trained"] is False
        assert wgan.WGANGenerator(weights=path).card["command"].endswith("--train")


class TestGenerator:
    def test_the_protocol_is_kept(self, saved):
        generator = wgan.WGANGenerator(weights=saved)
        assert isinstance(generator, generators.Generator)
        codes = generator.sample(70, seed=4)
        assert torch.equal(codes[:3], generator.sample(3, seed=4))
        images = generator.synthesize(codes)
        assert images.shape == (70, 3, 64, 64)
        assert images.min() >= 0
        assert images.max() <= 1
        assert torch.allclose(images[65:], generator.synthesize(codes[65:]), atol=1e-5)
        assert torch.allclose(
            generator.encode(images)[65:], generator.encode(images[65:]), atol=1e-4
        )

    def test_other_sizes_are_interpolated(self, saved):
        small = wgan.WGANGenerator(size=32, weights=saved)
        images = small.synthesize(small.sample(2, 1))
        assert images.shape == (2, 3, 32, 32)
        assert small.encode(images).shape == (2, 128)

    def test_shipped_weights_load_by_name(self):
        generator = generators.load_generator("wgan")
        assert generator.latent_dim == 128
        assert wgan.SHIPPED.stat().st_size < 16 * 2**20
        assert {"command", "renders", "seed"} <= generator.card.keys()

    def test_scenes_and_wrong_images_are_refused(self, saved):
        generator = wgan.WGANGenerator(weights=saved)
        with pytest.raises(ValueError, match="no scene parameters: \\['yaw'\\]"):
            generator.synthesize(generator.sample(1, 1), yaw=0.0)
        with pytest.raises(ValueError, match=re.escape("must be (n, 3, height, width)")):
            generator.encode(torch.zeros(3, 64, 64))
        for wrong in (255.0, torch.nan):
            images = torch.zeros(2, 3, 64, 64)
            images[1, 0, 5, 5] = wrong
            with pytest.raises(ValueError, match="in \\[0, 1\\]; image 1 is not, or not a number"):
                generator.encode(images)
        with pytest.raises(ValueError, match="float in \\[0, 1\\], not torch.uint8"):
            generator.encode(torch.zeros(1, 3, 64, 64, dtype=torch.uint8))
        with pytest.raises(ValueError, match="must be a tensor or an array"):
            generator.encode("images")
        with pytest.raises(ValueError, match="must be .*not \\(0, 3, 64, 64\\)"):
            generator.encode(torch.zeros(0, 3, 64, 64))

    @pytest.mark.parametrize("size", [0, 64.5, "64", None])
    def test_wrong_sizes_are_refused(self, size):
        with pytest.raises(ValueError, match="size must be an integer of at least 16"):
            generators.load_generator("wgan", size=size)

    @pytest.mark.parametrize(
        ("codes", "message"),
        [
            (torch.zeros(2, 64), "must be (n, 128), not (2, 64)"),
            (torch.zeros(128), "must be (n, 128), not (128,)"),
            (torch.full((1, 128), torch.nan), "must be finite"),
        ],
    )
    def test_wrong_codes_are_refused(self, saved, codes, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            wgan.WGANGenerator(weights=saved).synthesize(codes)


class TestWeights:
    def test_a_wrong_hash(self, saved):
        saved.write_bytes(saved.read_bytes()[:-4] + b"abcd")
        with pytest.raises(ValueError, match="wgan.safetensors: .*wgan.json describes: their SHA"):
            wgan.WGANGenerator(weights=saved)

    def test_a_missing_card(self, saved):
        saved.with_suffix(".json").unlink()
        with pytest.raises(ValueError, match="no readable generator with its .json beside it"):
            wgan.WGANGenerator(weights=saved)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"0.first.bias": torch.zeros(3)}, "0.first.bias has shape \\(3,\\), expected"),
            ({"1.code.bias": torch.full((128,), torch.nan)}, "1.code.bias holds values"),
            ({"1.code.bias": torch.zeros(128).half()}, "1.code.bias has type torch.float16, exp"),
            ({"0.first.bias": None}, "0.first.bias is missing"),
            ({"surplus": torch.zeros(1)}, "surplus is unknown"),
        ],
    )
    def test_weights_of_another_network(self, saved, changed, message):
        rewrite(saved, **changed)
        with pytest.raises(ValueError, match=f"wgan.safetensors: no weights of a .*{message}"):
            wgan.WGANGenerator(weights=saved)

    def test_not_a_safetensors_file(self, saved):
        saved.write_bytes(b"text")
        card = {"sha256": sha256(b"text").hexdigest()}
        saved.with_suffix(".json").write_text(json.dumps(card))
        with pytest.raises(ValueError, match="no weights of a generator"):
            wgan.WGANGenerator(weights=saved)
