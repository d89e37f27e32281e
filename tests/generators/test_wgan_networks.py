"""Networks of the learned generator: what they take and give, and that the weights fit."""

import torch

from helpers.generators import wgan
from helpers.generators.wgan_networks import SIZE, Encoder, Generator, critics, face


def test_samples_are_judged_and_encoded():
    images = Generator()(torch.randn(3, 128))
    assert images.shape == (3, 3, SIZE, SIZE)
    of_picture, of_face = critics()
    assert of_picture(images).shape == of_face(face(images)).shape == (3,)
    assert Encoder().eval()(images).shape == (3, 128)


def test_a_code_scales_and_shifts_every_channel_of_a_size():
    grow = Generator().grow[0]
    x, z = torch.randn(2, 128, 4, 4), torch.randn(2, 128)
    plain = grow(x, torch.zeros_like(z))  # biases start at zero: scale 1, shift 0
    torch.testing.assert_close(plain.mean(1), torch.zeros(2, 8, 8), atol=1e-5, rtol=0)
    scale, shift = grow.style(z).chunk(2, dim=1)
    expected = plain * (1 + scale[..., None, None]) + shift[..., None, None]
    torch.testing.assert_close(grow(x, z), expected)


def test_critics_see_how_much_a_batch_varies():
    of_face = critics()[1]
    one = torch.randn(1, 3, 32, 40)
    alike, unlike = one.expand(4, -1, -1, -1), torch.cat([one, torch.randn(3, 3, 32, 40)])
    assert of_face(alike)[0].item() != of_face(unlike)[0].item()


def test_weights_fit_the_package():
    count = sum(v.numel() for v in wgan._networks().state_dict().values())
    assert 4 * count < 16 * 2**20
