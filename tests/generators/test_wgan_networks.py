"""Networks of the learned generator: every size grows, and the weights fit the package."""

import pytest
import torch
from torch.nn import functional

from helpers.generators import wgan
from helpers.generators.wgan_networks import Critic, Generator


@pytest.mark.parametrize(("size", "fade"), [(16, 1.0), (32, 0.25), (64, 0.25), (64, 1.0)])
def test_every_size_grows_and_is_judged(size, fade):
    images = Generator()(torch.randn(3, 128), size, fade)
    assert images.shape == (3, 3, size, size)
    assert Critic()(images, fade).shape == (3,)


def test_a_size_without_weight_is_the_smaller_one_enlarged():
    z, network = torch.randn(2, 128), Generator()
    small = functional.interpolate(network(z, 16), scale_factor=2.0)
    assert torch.allclose(network(z, 32, fade=0.0), small, atol=1e-6)


def test_weights_fit_the_package():
    count = sum(v.numel() for v in wgan._networks().state_dict().values())
    assert 4 * count < 16 * 2**20
