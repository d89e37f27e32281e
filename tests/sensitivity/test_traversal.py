"""Images along attribute vectors: which code and which step stands where."""

import numpy as np
import pytest
import torch

from helpers.sensitivity.traversal import BATCH, as_uint8, traverse


class Pale:
    """Every image shows the first two numbers of its code, as levels of 255."""

    latent_dim = 3
    device = torch.device("cpu")

    def __init__(self) -> None:
        self.asked = []

    def synthesize(self, w):
        self.asked.append(w)
        levels = torch.cat([w[:, :2], torch.zeros(len(w), 1)], 1) / 255
        return levels[:, :, None, None].expand(-1, -1, 4, 5)


def test_images_stand_by_code_and_step():
    z = torch.tensor([[10.0, 20, 0], [30, 40, 0], [50, 60, 1]])
    images = traverse(Pale(), z, [1.0, -2, 0.5], [-2, 0, 3, 1])
    assert images.shape == (3, 4, 3, 4, 5) and images.dtype == np.uint8
    for i, code in enumerate(z):
        for j, step in enumerate((-2, 0, 3, 1)):
            level = [code[0] + step, code[1] - 2 * step, 0]
            assert (images[i, j] == np.array(level)[:, None, None]).all()


def test_no_step_is_the_sample_itself():
    generator, z = Pale(), torch.randn(5, 3, generator=torch.manual_seed(0))
    images = traverse(generator, z, np.ones(3), [-1, 0, 1])
    moved = generator.asked[0].reshape(5, 3, 3)
    assert torch.equal(moved[:, 1], z) and moved.dtype == z.dtype
    np.testing.assert_array_equal(images[:, 1], as_uint8(generator.synthesize(z)))


def test_long_walks_are_drawn_in_parts():
    generator, z = Pale(), 200 * torch.rand(BATCH, 3, generator=torch.manual_seed(0))
    images = traverse(generator, z, [1.0, 2, 3], [0, 1, 2])
    assert max(map(len, generator.asked)) == BATCH
    for row in (0, BATCH // 3, BATCH - 1):  # in the first part and in the last
        np.testing.assert_array_equal(
            images[row], traverse(Pale(), z[[row]], [1.0, 2, 3], [0, 1, 2])[0]
        )


def test_levels_are_rounded_and_clipped():
    levels = torch.tensor([-0.1, 0.0, 0.4 / 255, 0.6 / 255, 254.6 / 255, 1.0, 1.1])
    images = as_uint8(levels[:, None, None, None].expand(-1, 3, 2, 2))
    assert images.dtype == np.uint8
    assert images[:, 0, 0, 0].tolist() == [0, 0, 0, 1, 255, 255, 255]
    assert (images == images[:, :1, :1, :1]).all()


def test_no_gradient_is_kept():
    generator = Pale()
    traverse(generator, torch.ones(2, 3, requires_grad=True), np.ones(3), [0.0])
    assert not generator.asked[0].requires_grad


@pytest.mark.parametrize("direction", [np.ones(2), np.ones((1, 3)), 1.0, np.full(3, np.nan)])
def test_a_direction_of_another_length_or_without_numbers_is_refused(direction):
    shape = str(np.shape(direction)).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=rf"finite direction for codes \(4, 3\), got {shape}"):
        traverse(Pale(), torch.zeros(4, 3), direction, [0, 1])
