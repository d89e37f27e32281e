"""StyleGAN3, T and R, for inference (Karras et al. 2021): style codes in, images out.

Layers act on signals rather than on pixels. The first one draws sinusoids, rotated and translated
as the style code wants; every further one convolves, goes up to a finer grid by a low-pass filter,
applies the rectifier there, and comes down again by another filter, so that no pixel is tied to a
place. There is no noise. The filters stand in the published files, and so do the names of weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from helpers.generators.style_layers import (
    EPSILON,
    GAIN,
    SLOPE,
    Dense,
    Mapping,
    check_codes,
    check_noise,
)

FINER = 2
"""The grid of the rectifier is so many times finer than the finer one of input and output."""


@dataclass(frozen=True)
class Config:
    """Sizes of a StyleGAN3 network, under the names of the published files.

    Attributes:
        z_dim: length of a normal code.
        c_dim: length of a condition, 0 for none.
        w_dim: length of a style code.
        resolution: height and width of the images in pixels.
        image_channels: 3 for RGB.
        channel_base: channels of a layer times twice its cutoff frequency.
        channel_max: the most channels of a layer.
        num_layers: layers between the sinusoids and the colours.
        num_critical: the last of them, which keep all frequencies that pixels can have.
        first_cutoff: cutoff frequency of the first layer, in cycles an image.
        first_stopband: stopband of the first layer.
        last_stopband_rel: stopband of the last layer in units of its cutoff.
        margin_size: pixels around the image that layers compute in addition.
        output_scale: of the image.
        conv_kernel: height and width of the kernels, 3 (T) or 1 (R).
        use_radial_filters: whether filters that go down are round (R).
        filter_size: taps of a filter for each step of its factor.
        conv_clamp: the largest absolute activation; None for any.
        mapping_layers: layers of the mapping network.
        lr_multiplier: what its weights were trained with.

    Example:
        >>> config = Config(z_dim=512, c_dim=0, w_dim=512, resolution=1024)
        >>> [(layer.size, layer.channels) for layer in config.layers()][-3:]
        [(1044, 32), (1024, 32), (1024, 3)]
    """

    z_dim: int
    c_dim: int
    w_dim: int
    resolution: int
    image_channels: int = 3
    channel_base: int = 32768
    channel_max: int = 512
    num_layers: int = 14
    num_critical: int = 2
    first_cutoff: float = 2
    first_stopband: float = 2**2.1
    last_stopband_rel: float = 2**0.3
    margin_size: int = 10
    output_scale: float = 0.25
    conv_kernel: int = 3
    use_radial_filters: bool = False
    filter_size: int = 6
    conv_clamp: float | None = 256
    mapping_layers: int = 2
    lr_multiplier: float = 0.01

    def layers(self) -> list[Plan]:
        """Grids of all layers and, last, of the colours (section 3.2 and appendix C)."""
        final = self.resolution / 2
        count = np.arange(self.num_layers + 1) / (self.num_layers - self.num_critical)
        along = np.minimum(count, 1)
        cutoffs = self.first_cutoff * (final / self.first_cutoff) ** along
        last = final * self.last_stopband_rel
        stopbands = self.first_stopband * (last / self.first_stopband) ** along
        rates = np.exp2(np.ceil(np.log2(np.minimum(2 * stopbands, self.resolution))))
        sizes = rates + 2 * self.margin_size
        sizes[-2:] = self.resolution
        channels = np.rint(np.minimum(self.channel_base / 2 / cutoffs, self.channel_max))
        channels[-1] = self.image_channels
        found = zip(rates, sizes, channels, cutoffs, strict=True)
        return [Plan(int(r), int(s), int(c), float(f)) for r, s, c, f in found]


@dataclass(frozen=True)
class Plan:
    """A layer's grid: samples an image, height with margins, channels, cutoff frequency."""

    rate: int
    size: int
    channels: int
    cutoff: float


class StyleGAN3(nn.Module):
    """A StyleGAN3 generator, to be filled with weights by `load_state_dict`.

    Args:
        config: its sizes.

    Attributes:
        mapping: normal codes z to style codes, see `style_layers.Mapping`.
        synthesis: style codes to raw images, see `Synthesis`.
        z_dim, c_dim, w_dim, num_ws, resolution: lengths of codes, number of layers, pixels.

    Example:
        >>> small = {"num_layers": 4, "channel_base": 64, "margin_size": 4}
        >>> network = StyleGAN3(Config(z_dim=8, c_dim=0, w_dim=8, resolution=16, **small))
        >>> ws = network.mapping(torch.ones(2, 8))
        >>> tuple(ws.shape), tuple(network.synthesis(ws).shape)
        ((2, 6, 8), (2, 3, 16, 16))
    """

    kind = "stylegan3"

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.z_dim, self.c_dim, self.w_dim = config.z_dim, config.c_dim, config.w_dim
        self.resolution, self.num_ws = config.resolution, config.num_layers + 2
        self.mapping = Mapping(
            config.z_dim,
            config.c_dim,
            config.w_dim,
            self.num_ws,
            config.mapping_layers,
            config.lr_multiplier,
        )
        self.synthesis = Synthesis(config)

    @property
    def image_bytes(self) -> int:
        """Of the largest activation that one image takes, on the rectifier's grid."""
        return max(
            4 * plan.channels * (FINER * plan.size) ** 2 for plan in self.config.layers()[:-1]
        )

    def styles(self, ws: Tensor) -> dict[str, Tensor]:
        """Style codes (n, num_ws, w_dim) → the styles of every layer, (n, its input channels).

        Those of the input are the four numbers of its rotation and translation.
        """
        return self.synthesis.styles(ws)

    def synthesis_from_styles(
        self, styles: dict[str, Tensor], noise_mode: str = "const", seed: int = 0, first: int = 0
    ) -> Tensor:
        """Raw images of styles as `styles` gives them; see `Synthesis.forward`."""
        check_noise(noise_mode)
        return self.synthesis.render(styles)


class Input(nn.Module):
    """Sinusoids of fixed frequencies, rotated and translated; weights then mix them."""

    def __init__(self, w_dim: int, plan: Plan) -> None:
        super().__init__()
        self.plan, channels = plan, plan.channels
        self.affine = Dense(w_dim, 4)
        self.weight = nn.Parameter(torch.zeros(channels, channels), requires_grad=False)
        self.register_buffer("transform", torch.eye(3))
        self.register_buffer("freqs", torch.zeros(channels, 2))
        self.register_buffer("phases", torch.zeros(channels))

    def forward(self, style: Tensor) -> Tensor:
        """Styles (cosine, sine, x, y), (n, 4) → (n, channels, size, size)."""
        plan = self.plan
        style = style / style[:, :2].norm(dim=1, keepdim=True)
        cosine, sine, x, y = style.unbind(1)
        turn = torch.stack([cosine, -sine, sine, cosine], 1).reshape(-1, 2, 2)
        shift = -turn @ torch.stack([x, y], 1)[:, :, None]
        # A point of the image, moved by the user's transform, then by the code's.
        linear = turn @ self.transform[:2, :2]
        offset = turn @ self.transform[:2, 2:] + shift
        phases = self.phases + (self.freqs @ offset)[:, :, 0]
        freqs = self.freqs @ linear
        room = plan.rate / 2 - plan.cutoff
        amplitudes = (1 - (freqs.norm(dim=2) - plan.cutoff) / room).clamp(0, 1)
        at = (torch.arange(plan.size, device=style.device) + 0.5 - plan.size / 2) / plan.rate
        columns, rows = (freqs[:, None, :, k] * at[:, None] for k in (0, 1))
        cycles = rows[:, :, None] + columns[:, None] + phases[:, None, None]
        waves = torch.sin(2 * math.pi * cycles) * amplitudes[:, None, None]
        return (waves @ (self.weight.t() / math.sqrt(plan.channels))).movedim(3, 1)


class Layer(nn.Module):
    """Convolution, up to the finer grid, rectifier, down to the grid of the output."""

    def __init__(self, config: Config, before: Plan, plan: Plan, to_rgb: bool, radial: bool):
        super().__init__()
        self.clamp, self.to_rgb = config.conv_clamp, to_rgb
        kernel = 1 if to_rgb else config.conv_kernel
        self.kernel, self.size = kernel, plan.size
        self.affine = Dense(config.w_dim, before.channels, centre=1.0)
        shape = (plan.channels, before.channels, kernel, kernel)
        weight = torch.zeros(shape).contiguous(memory_format=torch.channels_last)
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(plan.channels), requires_grad=False)
        self.register_buffer("magnitude_ema", torch.ones(()))
        if to_rgb:
            return
        between = FINER * max(before.rate, plan.rate)
        self.up, self.down = between // before.rate, between // plan.rate
        up, down = config.filter_size * self.up, config.filter_size * self.down
        self.register_buffer("up_filter", torch.zeros(up))
        self.register_buffer("down_filter", torch.zeros((down, down) if radial else down))
        wanted = (plan.size - 1) * self.down + 1 + up + down - 2
        margins = wanted - (before.size + kernel - 1) * self.up
        self.before = (margins + self.up) // 2
        self.after = margins - self.before

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Activations (n, inputs, h, w) and styles (n, inputs) → (n, outputs, size, size)."""
        gain = self.magnitude_ema.rsqrt()
        if self.to_rgb:
            style = style * (gain / math.sqrt(style.shape[1]))
            y = functional.conv2d(x * style[:, :, None, None], self.weight)
            return self._clamped(y.add_(self.bias[:, None, None]))
        weight = self.weight * self.weight.square().mean((1, 2, 3), keepdim=True).rsqrt()
        # Each image by its own mean, lest its neighbours in a batch matter.
        style = style * style.square().mean(1, keepdim=True).rsqrt()
        squares = weight.square().sum((2, 3)).t()
        factor = gain * (style.square() @ squares + EPSILON).rsqrt()
        x = functional.conv2d(x * style[:, :, None, None], weight, padding=self.kernel - 1)
        x = x.mul_(factor[:, :, None, None]).add_(self.bias[:, None, None])
        x = self._clamped(functional.leaky_relu_(self._finer(x), SLOPE).mul_(GAIN))
        return self._coarser(x)

    def _clamped(self, x: Tensor) -> Tensor:
        return x if self.clamp is None else x.clamp_(-self.clamp, self.clamp)

    def _finer(self, x: Tensor) -> Tensor:
        """Zeros between the pixels, margins, and the filter along rows and columns."""
        channels, taps = x.shape[1], len(self.up_filter)
        # What a transposed convolution pads is cut off from its whole result.
        cut = taps - 1 - self.before
        length = x.shape[2] * self.up + self.before + self.after - taps + 1
        line = (self.up * self.up_filter).expand(channels, 1, taps)
        for axis in (2, 3):
            stride, shape = [1, 1], [channels, 1, 1, 1]
            stride[axis - 2], shape[axis] = self.up, taps
            weight = line.reshape(shape)
            x = functional.conv_transpose2d(x, weight, stride=stride, groups=channels)
            x = _slice(x, axis, cut, cut + length)
        return x

    def _coarser(self, x: Tensor) -> Tensor:
        """The filter, of which every `down`-th value is computed."""
        channels, taps = x.shape[1], len(self.down_filter)
        if self.down_filter.ndim == 2:
            weight = self.down_filter.flip(0, 1).expand(channels, 1, taps, taps)
            return functional.conv2d(x, weight, stride=self.down, groups=channels)
        line = self.down_filter.flip(0).expand(channels, 1, taps)
        x = functional.conv2d(x, line[..., None], stride=(self.down, 1), groups=channels)
        return functional.conv2d(x, line[:, :, None], stride=(1, self.down), groups=channels)


class Synthesis(nn.Module):
    """Style codes → raw images, about in [-1, 1].

    `input.transform` (3, 3) moves the camera: a rotation or translation of image coordinates, which
    range from -0.5 to 0.5.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        plans = config.layers()
        self.input = Input(config.w_dim, plans[0])
        for i, plan in enumerate(plans):
            last = i == config.num_layers
            radial = config.use_radial_filters and i < config.num_layers - config.num_critical
            layer = Layer(config, plans[max(i - 1, 0)], plan, last, radial)
            self.add_module(f"L{i}_{plan.size}_{plan.channels}", layer)

    def layers(self) -> Iterator[tuple[str, nn.Module]]:
        """The input and all layers, by name."""
        return self.named_children()

    def styles(self, ws: Tensor) -> dict[str, Tensor]:
        """See `StyleGAN3.styles`."""
        check_codes(ws, self.config.num_layers + 2, self.config.w_dim)
        codes = zip(self.layers(), ws.unbind(1), strict=True)
        return {name: layer.affine(w) for (name, layer), w in codes}

    def forward(
        self, ws: Tensor, noise_mode: str = "const", seed: int = 0, first: int = 0
    ) -> Tensor:
        """Raw images, float32 (n, 3, resolution, resolution), of style codes (n, num_ws, w_dim).

        The network has no noise: of the mode no more is asked than that there is one, and seed and
        first number stay without effect.
        """
        check_noise(noise_mode)
        return self.render(self.styles(ws))

    @torch.no_grad()
    def render(self, styles: dict[str, Tensor]) -> Tensor:
        """Raw images of styles."""
        for name, layer in self.layers():
            if name not in styles or styles[name].shape[1:] != layer.affine.bias.shape:
                found = tuple(styles[name].shape) if name in styles else "missing"
                raise ValueError(
                    f"styles of {name} must be (n, {len(layer.affine.bias)}), not {found}"
                )
        x = self.input(styles["input"])
        for name, layer in self.layers():
            x = x if name == "input" else layer(x, styles[name])
        return (x * self.config.output_scale).contiguous()


def _slice(x: Tensor, axis: int, first: int, last: int) -> Tensor:
    """Places from `first` up to `last` along an axis, zeros where there are none."""
    size = x.shape[axis]
    x = x.narrow(axis, max(first, 0), min(last, size) - max(first, 0))
    margins = [0, 0, 0, 0]
    margins[2 * (3 - axis) : 2 * (3 - axis) + 2] = max(-first, 0), max(last - size, 0)
    return functional.pad(x, margins) if any(margins) else x
