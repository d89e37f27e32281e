"""Sets of a generator's images: what is in their key, and what is refused."""

import numpy as np
import pytest
import torch

from faceaudit.generators.image_cache import synthesize_to_store


class Grey:
    """Images of one grey each, which is the code."""

    latent_dim = 1
    size = 4

    def __init__(self, card=None, size=4):
        self.device, self.card, self.size = torch.device("cpu"), card or {}, size
        self.calls = 0

    def synthesize(self, w, **scene):
        self.calls += 1
        side = self.size or 5
        return w.reshape(-1, 1, 1, 1).expand(-1, 3, side, 4) * scene.get("light", 1)


CODES = np.array([[0.0], [0.2], [1.0], [3.0]])


def made(path, generator, codes=CODES, **options):
    return synthesize_to_store(generator, codes, path / "made.npy", **options)


def test_images_are_those_of_the_generator(tmp_path):
    images = made(tmp_path, Grey(), chunk=3)
    assert images.shape == (4, 3, 4, 4)
    assert images[:, 0, 0, 0].tolist() == [0, 51, 255, 255]


def test_a_finished_set_is_read_and_another_is_made(tmp_path):
    made(tmp_path, Grey({"psi": 1}))
    kept = Grey({"psi": 1})
    made(tmp_path, kept)
    assert kept.calls == 0
    for other, options in ((Grey({"psi": 0.7}), {}), (Grey({"psi": 1}), {"light": 0.5})):
        made(tmp_path, other, **options)
        assert other.calls


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not numbers"):
        made(tmp_path, Grey(), CODES * np.nan)
