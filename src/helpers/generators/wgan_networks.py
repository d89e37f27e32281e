"""The networks of the learned generator: generator, critic and encoder, grown from 16 to 64 pixels.

Progressive growing (Karras et al. 2018) with the arithmetic of a DCGAN (Radford et al. 2016): one
strided convolution per doubling of the size, the last of them to colours. Weights are scaled at run
time, so that all layers learn at one rate; the generator normalises every pixel's channels, the
critic sees how much a batch varies.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

LATENT_DIM = 128
SIZE = 64
CHANNELS = {4: 128, 8: 112, 16: 64, 32: 32}
"""Channels at every size; twice the size is reached in colours."""
SIZES = (16, 32, 64)
"""Of images."""
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

    def __init__(self, inputs: int, outputs: int, gain: float = math.sqrt(2)) -> None:
        # Every output pixel is reached by 2×2 of the 4×4 taps.
        super().__init__((inputs, outputs, 4, 4), inputs * 4, outputs, gain)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight * self.scale
        return functional.conv_transpose2d(x, weight, self.bias, stride=2, padding=1)


class Halve(_Scaled):
    """A 4×4 convolution that halves height and width."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__((outputs, inputs, 4, 4), inputs * 16, outputs, math.sqrt(2))

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight * self.scale, self.bias, stride=2, padding=1)


def _leaky(x: Tensor) -> Tensor:
    return functional.leaky_relu(x, SLOPE)


def _normalise(x: Tensor) -> Tensor:
    """Every pixel's channels scaled to unit mean square."""
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-8)


class Generator(nn.Module):
    """Codes z (n, 128) → images (n, 3, size, size) in about [-1, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Linear(LATENT_DIM, CHANNELS[4] * 16)
        self.grow = nn.ModuleDict(
            {str(s): Double(CHANNELS[s // 2], CHANNELS[s]) for s in CHANNELS if s > 4}
        )
        self.colour = nn.ModuleDict({str(s): Double(CHANNELS[s // 2], 3, gain=1.0) for s in SIZES})
        self.to(memory_format=torch.channels_last)

    def forward(self, z: Tensor, size: int = SIZE, fade: float = 1.0) -> Tensor:
        """Images of `size`; with `fade` below 1 mixed with those of half the size, enlarged."""
        x = _normalise(_leaky(self.first(z).reshape(len(z), CHANNELS[4], 4, 4)))
        for step in (s for s in CHANNELS if 4 < s < size):
            before, x = x, _normalise(_leaky(self.grow[str(step)](x)))
        image = self.colour[str(size)](x)
        if fade < 1:
            coarse = self.colour[str(size // 2)](before)
            image = torch.lerp(functional.interpolate(coarse, scale_factor=2.0), image, fade)
        return image


class Critic(nn.Module):
    """Images (n, 3, size, size) → how real they look (n,)."""

    def __init__(self) -> None:
        super().__init__()
        self.colour = nn.ModuleDict({str(s): Halve(3, CHANNELS[s // 2]) for s in SIZES})
        self.shrink = nn.ModuleDict(
            {str(s): Halve(CHANNELS[s], CHANNELS[s // 2]) for s in CHANNELS if s > 4}
        )
        self.last = nn.Sequential(
            Linear((CHANNELS[4] + 1) * 16, CHANNELS[4]),
            nn.LeakyReLU(SLOPE),
            Linear(CHANNELS[4], 1, gain=1.0),
        )
        self.to(memory_format=torch.channels_last)

    def forward(self, image: Tensor, fade: float = 1.0) -> Tensor:
        size = image.shape[-1]
        x = _leaky(self.colour[str(size)](image))
        if fade < 1:
            x = _leaky(self.shrink[str(size // 2)](x))
            coarse = functional.avg_pool2d(image, 2)
            x = torch.lerp(_leaky(self.colour[str(size // 2)](coarse)), x, fade)
            size //= 2
        for step in (s for s in reversed(CHANNELS) if 4 < s < size):
            x = _leaky(self.shrink[str(step)](x))
        spread = x.std(0).mean().expand(len(x), 1, 4, 4)
        return self.last(torch.cat([x, spread], 1).flatten(1))[:, 0]


class Encoder(nn.Module):
    """Images (n, 3, 64, 64) in [-1, 1] → codes z (n, 128)."""

    WIDTHS = (24, 48, 96, 144)

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in zip((3, *self.WIDTHS), self.WIDTHS, strict=False):
            convolution = nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.LeakyReLU(SLOPE)]
        self.features = nn.Sequential(*layers)
        self.code = nn.Linear(self.WIDTHS[-1] * 16, LATENT_DIM)
        self.to(memory_format=torch.channels_last)

    def forward(self, image: Tensor) -> Tensor:
        return self.code(self.features(image).flatten(1))
