"""The learned generator: a small Wasserstein GAN trained on renders, with an encoder.

Nobody tells it what a face is made of. Like a GAN of photographs it leaves artefacts, its codes
have no known attributes, and an image's code can only be estimated, by a network trained to do
so (sensitivity, section 4.1). `helpers.sensitivity.train_wgan` trains it and says from what.

The arithmetic is that of a DCGAN (Radford et al. 2016): one strided convolution per doubling of the
size. Weights are scaled at run time, so that all layers learn at one rate, the generator normalises
every pixel's channels, and the critic sees how much a batch varies (Karras et al. 2018). The code
enters the generator at every size, as the scale and the shift of each channel (Karras et al. 2019),
which spares it to carry a colour through the layers. A mouth is a few pixels of 64, and most of a
picture is hair, clothes and wall. So critics and encoder look twice: at the whole picture, the
encoder at half its size, and at the face in it.
"""

from __future__ import annotations

import math
from itertools import chain, pairwise
from pathlib import Path

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from helpers.artifacts import weights as files
from helpers.utils import seeding
from helpers.utils.checks import check_whole, resolve_device

SHIPPED = Path(__file__).with_name("wgan.safetensors")
"""Trained weights that come with the package; `wgan.json` beside them says how they were made."""
BATCH = 64
LATENT_DIM = 128
SIZE = 64
GROWN = {4: 128, 8: 112, 16: 64, 32: 48, 64: 16}
"""The generator's channels at every size."""
WHOLE, CLOSE = (3, 16, 32, 64, 128), (3, 32, 64, 128)
"""Channels of a critic's look at the picture and at the face; a step halves height and width."""
ENCODED = (3, 32, 64, 96)
"""Channels of both looks of the encoder."""
CELLS = 4 * 4, 4 * 5
"""That are left of a picture and of a face."""
HIDDEN = 128
"""Of the layer before a critic's answer."""
FACE = (slice(24, 56), slice(12, 52))
"""Rows and columns where the face is, as faces are aligned."""
SLOPE = 0.2


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
        with torch.random.fork_rng(devices=[]):  # the random start is replaced at once
            networks = nn.ModuleList([Generator(), Encoder()])
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
        images = torch.as_tensor(images)
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


class Scaled(nn.Module):
    """A layer whose standard normal weights are multiplied by He's constant when they are used."""

    def __init__(
        self, shape: tuple[int, ...], fan_in: int, outputs: int, gain: float = math.sqrt(2)
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.scale = gain / math.sqrt(fan_in)


class Linear(Scaled):
    """(n, inputs) → (n, outputs)."""

    def __init__(self, inputs: int, outputs: int, gain: float = math.sqrt(2)) -> None:
        super().__init__((outputs, inputs), inputs, outputs, gain)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight * self.scale, self.bias)


class Double(Scaled):
    """A 4×4 transposed convolution that doubles height and width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        # Every output pixel is reached by 2×2 of the 4×4 taps.
        super().__init__((inputs, outputs, 4, 4), inputs * 4, outputs)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight * self.scale
        return functional.conv_transpose2d(x, weight, self.bias, stride=2, padding=1)


class Colour(Scaled):
    """A 3×3 convolution to red, green and blue."""

    def __init__(self, inputs: int) -> None:
        super().__init__((3, inputs, 3, 3), inputs * 9, 3, gain=1.0)

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight * self.scale, self.bias, padding=1)


class Halve(Scaled):
    """A 4×4 convolution that halves height and width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__((outputs, inputs, 4, 4), inputs * 16, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight * self.scale, self.bias, stride=2, padding=1)


class Grow(nn.Module):
    """Doubles the size; the code scales and shifts what comes of it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.enlarge = Double(inputs, outputs)
        self.style = Linear(LATENT_DIM, 2 * outputs, gain=0.5)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        scale, shift = self.style(z)[:, :, None, None].chunk(2, dim=1)
        return torch.addcmul(shift, _rectified(self.enlarge(x)), 1 + scale)


class Generator(nn.Module):
    """Codes z (n, 128) → images (n, 3, 64, 64) in about [-1, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Linear(LATENT_DIM, GROWN[4] * 16)
        self.grow = nn.ModuleList(Grow(*pair) for pair in pairwise(GROWN.values()))
        self.colour = Colour(GROWN[SIZE])
        self.to(memory_format=torch.channels_last)

    def forward(self, z: Tensor) -> Tensor:
        x = _rectified(self.first(z).reshape(len(z), GROWN[4], 4, 4))
        for grow in self.grow:
            x = grow(x, z)
        return self.colour(x)


class Critic(nn.Module):
    """How real a look (n, 3, height, width) seems: (n,). One is for pictures, one for faces."""

    def __init__(self, widths: tuple[int, ...], cells: int) -> None:
        super().__init__()
        layers = [(Halve(*pair), nn.LeakyReLU(SLOPE)) for pair in pairwise(widths)]
        self.shrink = nn.Sequential(*chain(*layers))
        self.answer = nn.Sequential(
            Linear((widths[-1] + 1) * cells, HIDDEN),
            nn.LeakyReLU(SLOPE),
            Linear(HIDDEN, 1, gain=1.0),
        )
        self.to(memory_format=torch.channels_last)

    def forward(self, look: Tensor) -> Tensor:
        x = self.shrink(look)
        spread = x.std(0).mean().expand(len(x), 1, *x.shape[2:])
        return self.answer(torch.cat([x, spread], 1).flatten(1))[:, 0]


class Encoder(nn.Module):
    """Images (n, 3, 64, 64) in [-1, 1] → codes z (n, 128)."""

    def __init__(self) -> None:
        super().__init__()
        self.whole, self.close = (nn.Sequential(*self._layers()) for _ in range(2))
        self.code = nn.Sequential(
            nn.Linear(ENCODED[-1] * sum(CELLS), 3 * LATENT_DIM, bias=False),
            nn.BatchNorm1d(3 * LATENT_DIM),
            nn.LeakyReLU(SLOPE),
            nn.Linear(3 * LATENT_DIM, LATENT_DIM),
        )
        self.to(memory_format=torch.channels_last)

    def _layers(self) -> list[nn.Module]:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(ENCODED):
            convolution = nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.LeakyReLU(SLOPE)]
        return [*layers, nn.Flatten()]

    def forward(self, image: Tensor) -> Tensor:
        small = functional.avg_pool2d(image, 2)
        return self.code(torch.cat([self.whole(small), self.close(face(image))], 1))


def face(images: Tensor) -> Tensor:
    """The face in images (n, 3, 64, 64): (n, 3, 32, 40)."""
    return images[(..., *FACE)]


def _rectified(x: Tensor) -> Tensor:
    """After a leaky rectifier, every pixel's channels at mean zero and unit mean square."""
    # Channels lie last in memory, where this is one pass; the root mean square alone takes five.
    x = functional.leaky_relu(x, SLOPE).movedim(1, -1)
    return functional.layer_norm(x, x.shape[-1:]).movedim(-1, 1)


def _resized(images: Tensor, size: int) -> Tensor:
    if images.shape[-2:] == (size, size):
        return images
    return functional.interpolate(images, (size, size), mode="bilinear", antialias=True)
