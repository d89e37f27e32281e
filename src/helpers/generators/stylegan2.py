"""StyleGAN2, for inference (Karras et al. 2020): style codes in, images out, on any device.

A style scales the input channels of a convolution, and a factor that follows from it brings every
output channel back to unit variance:

    s = A w / √w_dim + a
    d_o = 1 / √(Σ_i s_i² Σ_kk W²_oikk + 1e-8)
    y_o = d_o Σ_i W_oi ∗ (s_i x_i)

In small layers weights are more than activations, so there s and d scale the activations; in large
ones they scale the weights. Large layers are computed in strips of rows: on a CPU half the time of
a large image goes into fetching fresh memory, and a strip stays in the cache from one operation to
the next. Channels lie last in memory. Names of weights are those of the published files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
from helpers.utils import seeding

SMALL = 64
"""Up to this resolution a layer is computed for all images and all rows at once."""
ROWS = 64
"""Of a strip, on a CPU; even."""

Noise = Callable[[str, "Convolution"], "Tensor | None"]
"""Name of a layer and the layer → noise (1 or n, 1, height, width), or None."""


@dataclass(frozen=True)
class Config:
    """Sizes of a StyleGAN2 network, under the names of the published files.

    Attributes:
        z_dim: length of a normal code.
        c_dim: length of a condition, 0 for none.
        w_dim: length of a style code.
        resolution: height and width of the images in pixels, a power of two.
        image_channels: 3 for RGB.
        channel_base: channels of a layer times its resolution.
        channel_max: the most channels of a layer.
        conv_clamp: the largest absolute activation; None for any.
        mapping_layers: layers of the mapping network.
        lr_multiplier: what its weights were trained with.

    Example:
        >>> Config(z_dim=512, c_dim=0, w_dim=512, resolution=1024).channels(1024)
        32
    """

    z_dim: int
    c_dim: int
    w_dim: int
    resolution: int
    image_channels: int = 3
    channel_base: int = 32768
    channel_max: int = 512
    conv_clamp: float | None = None
    mapping_layers: int = 8
    lr_multiplier: float = 0.01

    def channels(self, resolution: int) -> int:
        """Channels of the layers of that resolution."""
        return min(self.channel_base // resolution, self.channel_max)

    @property
    def resolutions(self) -> list[int]:
        """Of the blocks: 4, 8, … up to that of the images."""
        return [2**k for k in range(2, int(math.log2(self.resolution)) + 1)]


class StyleGAN2(nn.Module):
    """A StyleGAN2 generator, to be filled with weights by `load_state_dict`.

    Args:
        config: its sizes.

    Attributes:
        mapping: normal codes z to style codes, see `style_layers.Mapping`.
        synthesis: style codes to raw images, see `Synthesis`.
        z_dim, c_dim, w_dim, num_ws, resolution: lengths of codes, number of layers, pixels.

    Raises:
        ValueError: a resolution that is no power of two from 4 on.

    Example:
        >>> network = StyleGAN2(Config(z_dim=8, c_dim=0, w_dim=8, resolution=16, channel_base=64))
        >>> ws = network.mapping(torch.ones(2, 8))
        >>> tuple(ws.shape), tuple(network.synthesis(ws).shape)
        ((2, 6, 8), (2, 3, 16, 16))
    """

    kind = "stylegan2"

    def __init__(self, config: Config) -> None:
        super().__init__()
        resolution = config.resolution
        if resolution < 4 or resolution & (resolution - 1):
            raise ValueError(f"resolution is {resolution}, a power of two from 4 on was expected")
        self.config = config
        self.z_dim, self.c_dim, self.w_dim = config.z_dim, config.c_dim, config.w_dim
        self.resolution, self.num_ws = resolution, 2 * len(config.resolutions)
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
        """Of the largest activation that one image takes."""
        return self.synthesis.image_bytes

    def styles(self, ws: Tensor) -> dict[str, Tensor]:
        """Style codes (n, num_ws, w_dim) → the styles of every layer, (n, its input channels).

        This is the space S (Wu et al. 2021), those of colour before their 1/√channels.
        """
        return self.synthesis.styles(ws)

    def synthesis_from_styles(
        self, styles: dict[str, Tensor], noise_mode: str = "const", seed: int = 0, first: int = 0
    ) -> Tensor:
        """Raw images of styles as `styles` gives them; see `Synthesis.forward`."""
        return self.synthesis.render(styles, noise_mode, seed, first)


class Convolution(nn.Module):
    """A modulated 3×3 convolution with noise, bias and leaky rectifier; `up` doubles the size."""

    def __init__(
        self, inputs: int, outputs: int, resolution: int, w_dim: int, clamp: float | None, up: bool
    ) -> None:
        super().__init__()
        self.up, self.clamp = up, clamp
        self.affine = Dense(w_dim, inputs, centre=1.0)
        self.weight = _kernels(outputs, inputs, 3, up)
        self.bias = _weights(outputs)
        self.register_buffer("noise_const", torch.zeros(resolution, resolution))
        self.noise_strength = _weights()
        self.register_buffer("squares", torch.zeros(inputs, outputs), persistent=False)
        self.register_load_state_dict_post_hook(_square)

    def factors(self, style: Tensor) -> Tensor:
        """√2 d, (n, outputs): the rectifier's gain is part of it."""
        return GAIN * (style.square() @ self.squares + EPSILON).rsqrt()

    def noise(self, values: Tensor) -> Tensor:
        return values * (GAIN * self.noise_strength)

    def whole(self, x: Tensor, style: Tensor, noise: Tensor | None) -> Tensor:
        """All images at once, whose activations are scaled."""
        x = x * _planes(style, x)
        weight, factor, bias = self.weight.to(x), _planes(self.factors(style), x), self._bias(x)
        if self.up:
            x = functional.conv_transpose2d(x, weight.transpose(0, 1), stride=2)
            x = _smooth(x, _filter(x).expand(len(bias), 1, 4, 4), None, (1, 1))
        else:
            x = functional.conv2d(x, weight, padding=1)
        return self.rectify(x.mul_(factor).add_(bias[:, None, None]), noise)

    def kernel(self, style: Tensor, x: Tensor) -> Callable[[Tensor], Tensor]:
        """The convolution of one image with its own weights, without padding rows.

        Args:
            style: (1, inputs).
            x: of the type and on the device wanted.

        Returns:
            A function of rows (1, inputs, h, width): h - 2 rows, or with `up`, of twice the width,
            those from the second one's on, 2 h - 4 in all.
        """
        factor, bias = self.factors(style)[0, :, None, None, None], self._bias(x)
        weight = self.weight * style[:, :, None, None]
        if not self.up:
            weight = (weight * factor).to(x)
            return lambda rows: functional.conv2d(rows, weight, bias, padding=(0, 1))
        weight = weight.to(x).transpose(0, 1)
        smoothing = (_filter(factor) * factor).to(x)

        def enlarged(rows: Tensor) -> Tensor:
            wide = functional.conv_transpose2d(rows, weight, stride=2, padding=(1, 0))
            return _smooth(wide, smoothing, bias, (0, 1))

        return enlarged

    def rectify(self, x: Tensor, noise: Tensor | None) -> Tensor:
        """What follows the convolution, in place; the gain is in x and noise already."""
        if noise is not None:
            x.add_(noise)
        functional.leaky_relu_(x, SLOPE)
        return x if self.clamp is None else x.clamp_(-self.clamp, self.clamp)

    def _bias(self, x: Tensor) -> Tensor:
        return (GAIN * self.bias).to(x)


class ToRGB(nn.Module):
    """Channels to colours: a modulated 1×1 convolution without demodulation."""

    def __init__(self, inputs: int, outputs: int, w_dim: int, clamp: float | None) -> None:
        super().__init__()
        self.clamp, self.gain = clamp, 1 / math.sqrt(inputs)
        self.affine = Dense(w_dim, inputs, centre=1.0)
        self.weight = _kernels(outputs, inputs, 1)
        self.bias = _weights(outputs)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Activations (n, inputs, h, width), styles (n, inputs) → float32 (n, outputs, …)."""
        weights = self.weight * (self.gain * style)[:, None, :, None, None]
        bias = self.bias.to(x)
        parts = zip(x.split(1), weights.to(x), strict=True)
        y = [functional.conv2d(one, weight, bias) for one, weight in parts]
        y = (torch.cat(y) if len(y) > 1 else y[0]).float()
        return y if self.clamp is None else y.clamp_(-self.clamp, self.clamp)


class Block(nn.Module):
    """The layers of one resolution; the first block starts from a constant."""

    def __init__(
        self, config: Config, inputs: int, outputs: int, resolution: int, up: bool = True
    ) -> None:
        super().__init__()
        self.resolution, self.outputs = resolution, outputs
        common = {"w_dim": config.w_dim, "clamp": config.conv_clamp}
        if inputs:
            self.conv0 = Convolution(inputs, outputs, resolution, up=up, **common)
        else:
            self.const = _weights(outputs, 4, 4)
        self.conv1 = Convolution(outputs, outputs, resolution, up=False, **common)
        self.torgb = ToRGB(outputs, config.image_channels, **common)

    def forward(
        self, x: Tensor, styles: dict[str, Tensor], noise: Noise, keep: bool
    ) -> tuple[Tensor | None, Tensor]:
        """Activations, if they are kept, and colours, in the way that suits the size."""
        if self.resolution <= SMALL or not self.conv0.up:
            return self.whole(x, styles, noise)
        return self.strips(x, styles, noise, keep)

    def layers(self) -> Iterator[tuple[str, Convolution | ToRGB]]:
        """Those that read a style, in order, by name."""
        return ((name, layer) for name, layer in self.named_children())

    def whole(self, x: Tensor, styles: dict[str, Tensor], noise: Noise) -> tuple[Tensor, Tensor]:
        """All images and rows at once: activations and colours."""
        for name, layer in self.layers():
            if name != "torgb":
                x = layer.whole(x, styles[name], noise(name, layer))
        return x, self.torgb(x, styles["torgb"])

    def strips(
        self, x: Tensor, styles: dict[str, Tensor], noise: Noise, keep: bool
    ) -> tuple[Tensor | None, Tensor]:
        """The same image by image, in strips of rows; activations only if they are kept.

        A row of `conv1` reads the rows beside it, and rows of `conv0` up to two before and after
        theirs of the smaller image. What lies outside the image is zero.
        """
        n, size = len(x), self.resolution
        drawn = [noise(name, layer) for name, layer in self.layers() if name != "torgb"]
        kept = _empty(x, n, self.outputs, size) if keep else None
        colours = _empty(self.torgb.bias, n, len(self.torgb.bias), size)
        rows = ROWS if x.device.type == "cpu" else size
        for i in range(n):
            of_one = {name: style[i : i + 1] for name, style in styles.items()}
            first = self.conv0.kernel(of_one["conv0"], x)
            second = self.conv1.kernel(of_one["conv1"], x)
            own = [None if each is None else each[min(i, len(each) - 1)] for each in drawn]
            for a in range(0, size, rows):
                b = min(a + rows, size)
                low, high = max(a - 1, 0), min(b + 1, size)
                y = first(_rows(x[i : i + 1], a // 2 - 2, b // 2 + 2))
                y = y[:, :, low - a + 2 : high - a + 2]
                y = self.conv0.rectify(y, None if own[0] is None else own[0][:, low:high])
                y = second(_rows(y, a - 1 - low, b + 1 - low))
                y = self.conv1.rectify(y, None if own[1] is None else own[1][:, a:b])
                if kept is not None:
                    kept[i, :, a:b] = y[0]
                colours[i, :, a:b] = self.torgb(y, of_one["torgb"])[0]
        return kept, colours


class Synthesis(nn.Module):
    """Style codes → raw images, about in [-1, 1].

    Attributes:
        precision: what convolutions compute in; styles and colours are float32 always.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.precision = config, torch.float32
        for resolution in config.resolutions:
            inputs = config.channels(resolution // 2) if resolution > 4 else 0
            block = Block(config, inputs, config.channels(resolution), resolution)
            self.add_module(f"b{resolution}", block)

    def blocks(self) -> Iterator[tuple[str, Block]]:
        return self.named_children()

    @property
    def image_bytes(self) -> int:
        return max(4 * block.outputs * block.resolution**2 for _, block in self.blocks())

    def styles(self, ws: Tensor) -> dict[str, Tensor]:
        """See `StyleGAN2.styles`."""
        config = self.config
        check_codes(ws, 2 * len(config.resolutions), config.w_dim)
        found, place = {}, 0
        for prefix, block in self.blocks():
            for name, layer in block.layers():
                # Colours share their code with the next block's first layer.
                found[f"{prefix}.{name}"] = layer.affine(ws[:, place])
                place += name != "torgb"
        return found

    def forward(
        self, ws: Tensor, noise_mode: str = "const", seed: int = 0, first: int = 0
    ) -> Tensor:
        """Raw images, float32 (n, 3, resolution, resolution).

        Args:
            ws: style codes (n, num_ws, w_dim).
            noise_mode: "const" for the network's own noise, the same in all images; "none";
                "random" for noise that depends on the seed and the image's number alone.
            seed: of random noise.
            first: the number of the first image.
        """
        return self.render(self.styles(ws), noise_mode, seed, first)

    @torch.no_grad()
    def render(
        self, styles: dict[str, Tensor], noise_mode: str = "const", seed: int = 0, first: int = 0
    ) -> Tensor:
        """Raw images of styles."""
        check_noise(noise_mode)
        self._check_styles(styles)
        n = len(styles["b4.conv1"])
        start = self.b4.const.to(self.precision).expand(n, -1, -1, -1)
        x, image = start.contiguous(memory_format=torch.channels_last), None
        for prefix, block in self.blocks():
            own = {name: styles[f"{prefix}.{name}"] for name, _ in block.layers()}

            def noise(name: str, layer: Convolution, prefix: str = prefix) -> Tensor | None:
                drawn = _noise(layer, f"{prefix}.{name}", noise_mode, seed, range(first, first + n))
                return None if drawn is None else drawn.to(self.precision)

            x, colours = block(x, own, noise, block.resolution < self.config.resolution)
            image = colours if image is None else enlarge(image).add_(colours)
        return image.contiguous()

    def _check_styles(self, styles: dict[str, Tensor]) -> None:
        n = None
        for prefix, block in self.blocks():
            for name, layer in block.layers():
                style, inputs = styles.get(f"{prefix}.{name}"), layer.weight.shape[1]
                n = len(style) if n is None and style is not None else n
                if style is None or tuple(style.shape) != (n, inputs):
                    found = "missing" if style is None else tuple(style.shape)
                    place = f"{prefix}.{name}"
                    raise ValueError(f"styles of {place} must be (n, {inputs}), not {found}")


def _weights(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape), requires_grad=False)


def _kernels(outputs: int, inputs: int, size: int, transposed: bool = False) -> nn.Parameter:
    """Weights (outputs, inputs, size, size), in memory as the convolution reads them.

    A transposed convolution reads (inputs, outputs, size, size); both have channels last.
    """
    shape = (inputs, outputs) if transposed else (outputs, inputs)
    weight = torch.zeros(*shape, size, size).contiguous(memory_format=torch.channels_last)
    return nn.Parameter(weight.transpose(0, 1) if transposed else weight, requires_grad=False)


def _square(layer: Convolution, _: object) -> None:
    """Once weights are read: Σ_kk W², whose product with s² gives every demodulation."""
    layer.squares.copy_(layer.weight.square().sum((2, 3)).t())


def _planes(values: Tensor, like: Tensor) -> Tensor:
    """(n, channels) → (n, channels, 1, 1)."""
    return values[:, :, None, None].to(like)


def _filter(like: Tensor) -> Tensor:
    """[1, 3, 3, 1] ⊗ [1, 3, 3, 1] / 16, (1, 1, 4, 4), which halves a doubling's four-fold sum."""
    line = torch.tensor([1.0, 3.0, 3.0, 1.0]).to(like) / 4
    return torch.outer(line, line)[None, None]


def _smooth(x: Tensor, weight: Tensor, bias: Tensor | None, padding: tuple[int, int]) -> Tensor:
    """Every channel with its own filter."""
    return functional.conv2d(x, weight, bias, padding=padding, groups=x.shape[1])


def enlarge(image: Tensor) -> Tensor:
    """Twice the height and width: zeros between the pixels, then the filter."""
    channels = image.shape[1]
    weight = _filter(image).expand(channels, 1, 4, 4)
    return functional.conv_transpose2d(image, weight, stride=2, padding=1, groups=channels)


def _rows(x: Tensor, first: int, last: int) -> Tensor:
    """Rows from `first` up to `last`; zeros where there are none."""
    above, below = max(-first, 0), max(last - x.shape[2], 0)
    rows = x[:, :, max(first, 0) : min(last, x.shape[2])]
    return functional.pad(rows, (0, 0, above, below)) if above or below else rows


def _empty(like: Tensor, n: int, channels: int, size: int) -> Tensor:
    made = {"dtype": like.dtype, "device": like.device, "memory_format": torch.channels_last}
    return torch.empty((n, channels, size, size), **made)


def _noise(layer: Convolution, name: str, mode: str, seed: int, items: range) -> Tensor | None:
    """Noise of a layer, (1 or n, 1, height, width)."""
    if mode == "none":
        return None
    values = layer.noise_const[None, None]
    if mode == "random":
        drawn = seeding.normals(seed, f"noise: {name}", items, values.numel())
        values = torch.from_numpy(drawn).to(values).reshape(len(items), *values.shape[1:])
    return layer.noise(values)
