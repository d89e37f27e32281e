"""The learned generator: the protocol, weights on disk, its training, and what it refuses."""

import json
from hashlib import sha256

import numpy as np
import pytest
import safetensors.torch
import torch

from helpers import generators
from helpers.generators import wgan, wgan_training
from helpers.generators.wgan import Encoder, Generator, face
from helpers.generators.wgan_training import BATCH, AdversarialTraining, EncoderTraining


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "wgan.safetensors"
    torch.manual_seed(2)
    wgan.save(Generator(), Encoder(), path, {"seed": 2})
    return path


@pytest.mark.parametrize("size", [32, 64])
def test_the_protocol_is_kept(saved, size):
    generator = wgan.WGANGenerator(size=size, weights=saved)
    assert isinstance(generator, generators.Generator)
    codes = generator.sample(70, seed=4)
    assert torch.equal(codes[:3], generator.sample(3, seed=4))
    images = generator.synthesize(codes)
    assert images.shape == (70, 3, size, size)
    assert 0 <= images.min() < images.max() <= 1
    assert torch.allclose(images[65:], generator.synthesize(codes[65:]), atol=1e-5)
    assert torch.allclose(generator.encode(images)[65:], generator.encode(images[65:]), atol=1e-4)


def test_shipped_weights_load_by_name():
    generator = generators.load_generator("wgan")
    assert wgan.SHIPPED.stat().st_size < 16 * 2**20
    assert {"command", "renders", "seed"} <= generator.card.keys()


def test_a_code_scales_and_shifts_every_channel_of_a_size():
    grow = Generator().grow[0]
    x, z = torch.randn(2, 128, 4, 4), torch.randn(2, 128)
    plain = grow(x, torch.zeros_like(z))  # biases start at zero: scale 1, shift 0
    torch.testing.assert_close(plain.mean(1), torch.zeros(2, 8, 8), atol=1e-5, rtol=0)
    scale, shift = grow.style(z).chunk(2, dim=1)
    expected = plain * (1 + scale[..., None, None]) + shift[..., None, None]
    torch.testing.assert_close(grow(x, z), expected)


# --- training


@pytest.fixture(scope="module")
def renders():
    return np.random.default_rng(1).integers(0, 256, (40, 3, 64, 64), dtype=np.uint8)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(wgan_training, "SHOWN", 7 * BATCH)
    monkeypatch.setattr(wgan_training, "ENCODER_SHOWN", 64 * 30)
    monkeypatch.setattr(wgan_training, "CHECKPOINT_SECONDS", -1.0)


def test_the_penalty_is_the_squared_excess_of_both_slopes(renders):
    training = AdversarialTraining(renders, 1)
    images = torch.rand(3, 3, 64, 64)
    weights = [torch.rand(look[0].numel()) / 50 for look in (images, face(images))]
    training.critics = [lambda look, w=w: look.flatten(1) @ w for w in weights]
    expected = sum((w.norm().item() - 1) ** 2 for w in weights)
    assert training._excess_slope(images).item() == pytest.approx(expected, rel=1e-4)


def test_an_interrupted_training_gives_the_same_networks(renders, tmp_path, short):
    whole = AdversarialTraining(renders, 5)
    wgan_training.run(whole, tmp_path / "new", lambda _: None)
    assert whole.step == whole.steps == 7

    def stop(line):
        if "step 4 of 7" in line:
            raise KeyboardInterrupt

    folder, lines = tmp_path / "broken", []
    with pytest.raises(KeyboardInterrupt):
        wgan_training.run(AdversarialTraining(renders, 5), folder, stop)
    resumed = AdversarialTraining(renders, 5)
    wgan_training.run(resumed, folder, lines.append)
    assert lines[0].startswith("generator: step 5 of 7")
    for kept, again in zip(whole.average.parameters(), resumed.average.parameters(), strict=True):
        assert torch.equal(kept, again)


def test_losses_that_are_no_numbers_stop_the_training(renders, short):
    training = AdversarialTraining(renders, 5)
    with torch.no_grad():
        training.critics[0].answer[2].bias.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="step 0"):
        training.advance()


def test_the_encoder_learns(renders, short):
    torch.manual_seed(1)
    training = EncoderTraining(Generator(), renders, seed=3)
    first = training.advance()
    while training.step < training.steps:
        last = training.advance()
    assert all(last[name] < first[name] for name in first)


# --- refusals


WEIGHTS = {
    r"0.first.bias has shape \(3,\), expected": {"0.first.bias": torch.zeros(3)},
    "1.code.3.bias holds values": {"1.code.3.bias": torch.full((128,), torch.nan)},
    "1.code.3.bias has type torch.float16": {"1.code.3.bias": torch.zeros(128).half()},
    "0.first.bias is missing": {"0.first.bias": None},
    "surplus is unknown": {"surplus": torch.zeros(1)},
}


@pytest.mark.parametrize("message", WEIGHTS)
def test_weights_of_another_network_are_refused(saved, message):
    state = safetensors.torch.load(saved.read_bytes()) | WEIGHTS[message]
    data = safetensors.torch.save({k: v for k, v in state.items() if v is not None})
    saved.write_bytes(data)
    saved.with_suffix(".json").write_text(json.dumps({"sha256": sha256(data).hexdigest()}))
    with pytest.raises(ValueError, match=f"wgan.safetensors: no weights of a .*{message}"):
        wgan.WGANGenerator(weights=saved)


def test_files_that_do_not_belong_together_are_refused(saved):
    whole = saved.read_bytes()
    for content, message in ((whole[:-4] + b"abcd", "json describes: their SHA"), (b"", "SHA")):
        saved.write_bytes(content)
        with pytest.raises(ValueError, match=f"wgan.safetensors: .*{message}"):
            wgan.WGANGenerator(weights=saved)
    saved.with_suffix(".json").unlink()
    with pytest.raises(ValueError, match="no readable generator with its .json beside it"):
        wgan.WGANGenerator(weights=saved)


LEARNED = wgan.WGANGenerator
REFUSED = {
    "size is 64.5, a whole number of at least 16": lambda: LEARNED(size=64.5),
    r"no scene parameters: \['yaw'\]": lambda: LEARNED().synthesize(torch.ones(1, 128), yaw=0.0),
    r"codes must be \(n, 128\), not \(2, 64\)": lambda: LEARNED().synthesize(torch.zeros(2, 64)),
    "codes must be finite": lambda: LEARNED().synthesize(torch.full((1, 128), torch.nan)),
    r"must be \(n, 3, height, width\)": lambda: LEARNED().encode(torch.zeros(3, 64, 64)),
    r"float in \[0, 1\], not torch.uint8": lambda: LEARNED().encode(
        torch.zeros(1, 3, 64, 64, dtype=torch.uint8)
    ),
    r"in \[0, 1\]; image 1 is not, or not a number": lambda: LEARNED().encode(
        torch.stack([torch.zeros(3, 64, 64), torch.full((3, 64, 64), torch.nan)])
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
