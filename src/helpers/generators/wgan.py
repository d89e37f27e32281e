"""The learned generator: a small Wasserstein GAN trained on renders, with an encoder.

Nobody tells it what a face is made of. Like a GAN of photographs it leaves artefacts, its codes
have no known attributes, and an image's code can only be estimated, by a network trained to do
so (sensitivity, section 4.1). `helpers.sensitivity.train_wgan` trains it and says from what.
Chapter 15 walks through its latent space.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from helpers.artifacts import weights as files
from helpers.generators.wgan_networks import LATENT_DIM, SIZE, Encoder, Generator
from helpers.utils import seeding
from helpers.utils.checks import check_whole
from helpers.utils.devices import resolve_device

SHIPPED = Path(__file__).with_name("wgan.safetensors")
"""Trained weights that come with the package; `wgan.json` beside them says how they were made."""
BATCH = 64


class WGANGenerator:
    """Turn codes z (n, 128), standard normal, into images and, approximately, back.

    Args:
        device: "cpu" or "cuda".
        size: of the images. The networks know 64 pixels; other sizes are interpolated.
        weights: `.safetensors` with its `.json`, as `save` writes them.

    Raises:
        ValueError: weights that are missing, damaged, of another shape or type, or not finite; a
            size that is no integer or too small.

    Example:
        >>> from helpers import generators
        >>> learned = generators.WGANGenerator()
        >>> images = learned.synthesize(learned.sample(2, seed=1))
        >>> tuple(images.shape), tuple(learned.encode(images).shape)
        ((2, 3, 64, 64), (2, 128))
    """

    latent_dim = LATENT_DIM

    def __init__(self, device: str = "cpu", size: int = SIZE, weights: Path = SHIPPED) -> None:
        check_whole("size", size, 16)
        self.device, self.size = resolve_device(device), size
        networks = _networks()
        stored, self.card = files.read(weights, "generator")
        files.fill(networks, stored, weights, "generator")
        self._generator, self._encoder = networks.to(self.device).eval().requires_grad_(False)

    def sample(self, n: int, seed: int) -> Tensor:
        """Codes z, float32 (n, 128); code i depends on the seed and i alone."""
        return codes(n, seed).to(self.device)

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images, float32 (n, 3, size, size) in [0, 1].

        Raises:
            ValueError: a scene parameter, as a learned generator has none, or codes of another
                shape or kind.
        """
        if scene:
            raise ValueError(f"the learned generator has no scene parameters: {sorted(scene)}")
        w = torch.as_tensor(w, dtype=torch.float32, device=self.device)
        if w.ndim != 2 or w.shape[1] != LATENT_DIM or not len(w):
            raise ValueError(f"codes must be (n, {LATENT_DIM}), not {tuple(w.shape)}")
        if not w.isfinite().all():
            raise ValueError("codes must be finite")
        parts = [self._generator(z) for z in w.split(BATCH)]
        images = (torch.cat(parts).clamp(-1, 1) + 1) / 2
        return _resized(images, self.size).clamp(0, 1)

    def encode(self, images: Tensor) -> Tensor:
        """Codes z, float32 (n, 128), whose images look about like these (sensitivity, eq 2).

        Args:
            images: float (n, 3, height, width) in [0, 1].

        Raises:
            ValueError: images of another shape or range.
        """
        try:
            images = torch.as_tensor(images)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"images must be a tensor or an array ({error})") from error
        if images.ndim != 4 or images.shape[1] != 3 or not images.numel():
            raise ValueError(f"images must be (n, 3, height, width), not {tuple(images.shape)}")
        if not torch.is_floating_point(images):
            raise ValueError(f"images must be float in [0, 1], not {images.dtype}")
        if not (inside := (images >= 0) & (images <= 1)).all():
            row = int(inside.flatten(1).all(1).logical_not().nonzero()[0])
            raise ValueError(f"images must be in [0, 1]; image {row} is not, or not a number")
        native = _resized(images.to(self.device).float(), SIZE) * 2 - 1
        return torch.cat([self._encoder(part) for part in native.split(BATCH)])


def codes(n: int, seed: int) -> Tensor:
    """Standard normal codes, float32 (n, 128)."""
    return torch.from_numpy(seeding.normals(seed, "wgan: z", range(n), LATENT_DIM)).float()


def save(generator: nn.Module, encoder: nn.Module, path: Path, recipe: dict) -> None:
    """Write both networks' weights, with how they were made, for `WGANGenerator` to read."""
    files.write(nn.ModuleList([generator, encoder]), path, recipe)


def _networks() -> nn.ModuleList:
    with torch.random.fork_rng(devices=[]):  # the random start is replaced at once
        return nn.ModuleList([Generator(), Encoder()])


def _resized(images: Tensor, size: int) -> Tensor:
    if images.shape[-2:] == (size, size):
        return images
    return functional.interpolate(images, (size, size), mode="bilinear", antialias=True)
