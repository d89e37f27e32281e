"""The learned generator: the protocol, weights on disk, and what it refuses."""

import json
from hashlib import sha256

import pytest
import safetensors.torch
import torch

import faceworld
from faceaudit import generators
from faceaudit.generators.weights import write_weights
from faceworld import wgan
from faceworld.wgan import EncoderNetwork, GeneratorNetwork


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "wgan.safetensors"
    torch.manual_seed(2)
    write_weights(torch.nn.ModuleList([GeneratorNetwork(), EncoderNetwork()]), path, {"seed": 2})
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
    generator = faceworld.load_generator("wgan")
    assert wgan.TRAINED_WEIGHTS.stat().st_size < 16 * 2**20
    assert {"command", "renders", "seed", "gate"} <= generator.card.keys()
    # The reader of parts that judged the samples can tell.
    parts = generator.card["gate"]["parts"]
    assert parts["renders"]["estimate"] > 0.9
    assert all(found["estimate"] < 0.1 for name, found in parts.items() if name.startswith("no "))


WEIGHTS = {
    "size mismatch for 0.first.bias": {"0.first.bias": torch.zeros(3)},
    "Missing key.*0.first.bias": {"0.first.bias": None},
}


@pytest.mark.parametrize("message", WEIGHTS)
def test_weights_of_another_network_are_refused(saved, message):
    state = safetensors.torch.load(saved.read_bytes()) | WEIGHTS[message]
    data = safetensors.torch.save({k: v for k, v in state.items() if v is not None})
    saved.write_bytes(data)
    with pytest.raises(ValueError, match="its SHA-256 is not that"):
        wgan.WGANGenerator(weights=saved)
    saved.with_suffix(".json").write_text(json.dumps({"sha256": sha256(data).hexdigest()}))
    with pytest.raises(ValueError, match=f"wgan.safetensors: .*{message}"):
        wgan.WGANGenerator(weights=saved)


def test_scenes_are_refused():
    with pytest.raises(ValueError, match=r"no scene parameters: \['yaw'\]"):
        wgan.WGANGenerator().synthesize(torch.ones(1, 128), yaw=0.0)
