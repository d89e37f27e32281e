"""The learned generator: the protocol, weights on disk, and what it refuses."""

import json
import re
from hashlib import sha256

import pytest
import safetensors.torch
import torch

from helpers import generators
from helpers.generators import wgan
from helpers.generators.wgan_networks import Encoder, Generator


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
        with pytest.raises(ValueError, match="size is .*, a whole number of at least 16"):
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
            ({"1.code.3.bias": torch.full((128,), torch.nan)}, "1.code.3.bias holds values"),
            (
                {"1.code.3.bias": torch.zeros(128).half()},
                "1.code.3.bias has type torch.float16, exp",
            ),
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
