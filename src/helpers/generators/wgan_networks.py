"""The networks of the learned generator, for images of 64 pixels: generator, critic and encoder.

The arithmetic of a DCGAN (Radford et al. 2016): one strided convolution per doubling of the size.
Weights are scaled at run time, so that all layers learn at one rate, the generator normalises every
pixel's channels, and the critic sees how much a batch varies (Karras et al. 2018). The code enters
the generator at every size, as the scale and the shift of each channel (Karras et al. 2019), which
spares it to carry a colour through the layers.

A mouth is a few pixels of 64, and most of a picture is hair, clothes and wall. So critics and
encoder look twice: at the whole picture, the encoder at half its size, and at the face in it.
"""

from __future__ import annotations

import math
from itertools import chain, pairwise

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

LATENT_DIM = 128
SIZE = 64
GROWN = {4: 128, 8: 112, 16: 64, 32: 48, 64: 16}
"""The generator's channels at every size."""
WHOLE, CLOSE = (3, 16, 32, 64, 128), (3, 32, 64, 128)
"""Channels of a look at the picture and at the face; each step halves height and width."""
CELLS = 4 * 4, 4 * 5
"""That are left of a picture and of a face."""
HIDDEN = 128
"""Of the layer before a critic's answer."""
FACE = (slice(24, 56), slice(12, 52))
"""Rows and columns where the face is, as faces are aligned."""
SLOPE = 0.2


class _Scaled(nn.Module):
    """A layer whose standard normal weights are multiplied by He's constant when they are used."""

    def __init__(self, shape: tuple[int, ...], fan_in: int, outputs: int, gain: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.scale = gain / math.sqrt(fan_in)


class Linear(_Scaled):
    """(n, inputs) → (n, outputs)."""

    def __init__(self, inputs: int, outputs: int, gain: float = math.sqrt(2)) -> None:
        super().__init__((outputs, inputs), inputs, outputs, gain)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight * self.scale, self.bias)


class Double(_Scaled):
    """A 4×4 transposed convolution that doubles height and width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        # Every output pixel is reached by 2×2 of the 4×4 taps.
        super().__init__((inputs, outputs, 4, 4), inputs * 4, outputs, math.sqrt(2))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight * self.scale
        return functional.conv_transpose2d(x, weight, self.bias, stride=2, padding=1)


class Colour(_Scaled):
    """A 3×3 convolution to red, green and blue."""

    def __init__(self, inputs: int) -> None:
        super().__init__((3, inputs, 3, 3), inputs * 9, 3, gain=1.0)

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight * self.scale, self.bias, padding=1)


class Halve(_Scaled):
    """A 4×4 convolution that halves height and width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__((outputs, inputs, 4, 4), inputs * 16, outputs, math.sqrt(2))

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight * self.scale, self.bias, stride=2, padding=1)


def _leaky(x: Tensor) -> Tensor:
    return functional.leaky_relu(x, SLOPE)


def _normalise(x: Tensor) -> Tensor:
    """Every pixel's channels shifted and scaled to mean zero and unit mean square."""
    # Channels lie last in memory, where this is one pass; the root mean square alone takes five.
    return functional.layer_norm(x.movedim(1, -1), x.shape[1:2]).movedim(-1, 1)


class Grow(nn.Module):
    """Doubles the size; the code scales and shifts what comes of it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.enlarge = Double(inputs, outputs)
        self.style = Linear(LATENT_DIM, 2 * outputs, gain=0.5)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        scale, shift = self.style(z)[:, :, None, None].chunk(2, dim=1)
        return torch.addcmul(shift, _normalise(_leaky(self.enlarge(x))), 1 + scale)


class Generator(nn.Module):
    """Codes z (n, 128) → images (n, 3, 64, 64) in about [-1, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Linear(LATENT_DIM, GROWN[4] * 16)
        self.grow = nn.ModuleList(Grow(*pair) for pair in pairwise(GROWN.values()))
        self.colour = Colour(GROWN[SIZE])
        self.to(memory_format=torch.channels_last)

    def forward(self, z: Tensor) -> Tensor:
        x = _normalise(_leaky(self.first(z).reshape(len(z), GROWN[4], 4, 4)))
        for grow in self.grow:
            x = grow(x, z)
        return self.colour(x)


def face(images: Tensor) -> Tensor:
    """The face in images (n, 3, 64, 64): (n, 3, 32, 40)."""
    return images[(..., *FACE)]


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


def critics() -> nn.ModuleList:
    """One of the whole picture, one of the face."""
    return nn.ModuleList([Critic(WHOLE, CELLS[0]), Critic(CLOSE, CELLS[1])])


class Encoder(nn.Module):
    """Images (n, 3, 64, 64) in [-1, 1] → codes z (n, 128)."""

    WIDTHS = (3, 32, 64, 96)

    def __init__(self) -> None:
        super().__init__()
        self.whole, self.close = (nn.Sequential(*self._layers()) for _ in range(2))
        self.code = nn.Sequential(
            nn.Linear(self.WIDTHS[-1] * sum(CELLS), 3 * LATENT_DIM, bias=False),
            nn.BatchNorm1d(3 * LATENT_DIM),
            nn.LeakyReLU(SLOPE),
            nn.Linear(3 * LATENT_DIM, LATENT_DIM),
        )
        self.to(memory_format=torch.channels_last)

    def _layers(self) -> list[nn.Module]:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(self.WIDTHS):
            convolution = nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.LeakyReLU(SLOPE)]
        return [*layers, nn.Flatten()]

    def forward(self, image: Tensor) -> Tensor:
        small = functional.avg_pool2d(image, 2)
        return self.code(torch.cat([self.whole(small), self.close(face(image))], 1))
