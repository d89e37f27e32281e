"""StyleGAN2, for inference (Karras et al. 2020): style codes in, images out, on any device.

A mapping network turns a normal code z into a style code w. Every layer of the synthesis network
reads w through an affine map of its own. Its style s scales the input channels of a convolution,
and a factor that follows from it brings every output channel back to unit variance:

    s = A w / √w_dim + a
    d_o = 1 / √(Σ_i s_i² Σ_kk W²_oikk + 1e-8)
    y_o = d_o Σ_i W_oi ∗ (s_i x_i)

Here s and d scale the activations, which is the same as scaling the weights. Channels lie last in
memory. Names of weights are those of the published files, so that such a file fills a network.

`StyleGenerator` makes a network, this one or EG3D, a `faceaudit.generators.Generator`. Its images
depend on two choices of the user: how far codes are drawn towards the mean (truncation), and the
precision of the computation. Both are arguments, and the card records them.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from faceaudit.utils import seeding
from faceaudit.utils.arguments import check_range, require_members, resolve_device
from faceaudit.utils.errors import InputError

RECTIFIER_SLOPE = 0.2
"""Slope of all leaky rectifiers."""
RECTIFIER_GAIN = math.sqrt(2)
"""Factor after a leaky rectifier that keeps the variance."""
EPSILON = 1e-8
"""Added to sums of squares before their root is divided by."""
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CHUNK_BYTES = 2**27
"""Bytes of the largest activation on a CPU: one image of 1024 pixels at a time, eight of 256."""


@dataclass(frozen=True)
class StyleGAN2Config:
    """Sizes of a StyleGAN2 network, under the names of the published files.

    Attributes:
        z_dim: length of a normal code.
        c_dim: length of a condition, 0 for none.
        w_dim: length of a style code.
        resolution: height and width of the images in pixels, a power of two from 4 on.
        image_channels: 3 for RGB, 1 for grey.
        channel_base: channels of a layer times its resolution.
        channel_max: the most channels of a layer.
        conv_clamp: the largest absolute activation; None for no limit.
        mapping_layers: layers of the mapping network.
        lr_multiplier: factor of the learning rate with which the mapping network was trained.
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
        """Resolutions of the blocks: 4, 8, … up to that of the images."""
        return [2**k for k in range(2, self.resolution.bit_length())]


class StyleBasedNetwork(nn.Module):
    """What `StyleGenerator` uses of a network; `StyleGAN2` and `eg3d.EG3D` have it.

    Attributes:
        kind: a key of `checkpoints.NETWORKS`.
        scene: names of the scene parameters that `render` takes.
        card: where the weights come from; only of a network that was read from a file.
        config: sizes of the network.
        z_dim, c_dim, w_dim, num_ws, resolution: lengths of codes, number of layers, pixels.
        image_bytes: size of the largest activation of one image.
        mapping: normal codes (n, z_dim), conditions and psi → style codes (n, num_ws, w_dim).
        styles: style codes (n, num_ws, w_dim) → the styles of every layer, by its name.
        render: styles and scene parameters → raw images (n, 3, resolution, resolution).
        camera: of `eg3d.EG3D` alone, yaw and pitch → the camera (25,), which is its condition.
    """

    kind: str
    scene: tuple[str, ...]
    card: dict[str, Any]
    config: StyleGAN2Config
    z_dim: int
    c_dim: int
    w_dim: int
    num_ws: int
    resolution: int
    image_bytes: int
    mapping: Callable[..., Tensor]
    styles: Callable[[Tensor], dict[str, Tensor]]
    render: Callable[..., Tensor]
    camera: Callable[..., Tensor]


Network = TypeVar("Network", bound=StyleBasedNetwork)


class StyleGAN2(StyleBasedNetwork):
    """A StyleGAN2 generator, to be filled with weights by `load_state_dict`.

    Args:
        config: its sizes.

    Attributes:
        mapping: normal codes z (n, z_dim) to style codes (n, num_ws, w_dim), see `Mapping`.
        synthesis: style codes to raw images (n, 3, resolution, resolution), about in [-1, 1].
        z_dim, c_dim, w_dim, num_ws, resolution: lengths of codes, number of layers, pixels.
        image_bytes: size of the largest activation of one image.

    Example:
        >>> config = StyleGAN2Config(z_dim=8, c_dim=0, w_dim=8, resolution=16, channel_base=64)
        >>> network = StyleGAN2(config)
        >>> ws = network.mapping(torch.ones(2, 8))
        >>> tuple(ws.shape), tuple(network.synthesis(ws).shape)
        ((2, 6, 8), (2, 3, 16, 16))
    """

    kind = "stylegan2"
    scene = ()
    mapping: "Mapping"

    def __init__(self, config: StyleGAN2Config) -> None:
        super().__init__()
        self.config = config
        self.resolution = config.resolution
        self.z_dim = config.z_dim
        self.c_dim = config.c_dim
        self.w_dim = config.w_dim
        self.num_ws = 2 * len(config.resolutions)
        self.mapping = Mapping(config, self.num_ws)
        self.synthesis = Synthesis(config)
        self.image_bytes = max(4 * config.channels(size) * size**2 for size in config.resolutions)
        self.styles = self.synthesis.styles
        self.render = self.synthesis.render


class Dense(nn.Module):
    """A linear layer with scaled weights: x Wᵀ·rate/√inputs + rate·b.

    Args:
        inputs: length of x.
        outputs: length of the result.
        rate: factor of the learning rate with which it was trained.
        centre: value of the bias before it is read from a file.
    """

    def __init__(self, inputs: int, outputs: int, rate: float = 1.0, centre: float = 0.0) -> None:
        super().__init__()
        self.weight = weights(outputs, inputs)
        self.bias = weights(outputs, value=centre)
        self.rate = rate
        self.gain = rate / math.sqrt(inputs)

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight.t(), beta=self.rate, alpha=self.gain)


class Mapping(nn.Module):
    """Normal codes z (n, z_dim) → style codes (n, num_ws, w_dim), one for each layer."""

    w_avg: Tensor

    def __init__(self, config: StyleGAN2Config, num_ws: int) -> None:
        super().__init__()
        self.z_dim = config.z_dim
        self.c_dim = config.c_dim
        self.num_ws = num_ws
        self.layers = config.mapping_layers
        width = config.w_dim
        if self.c_dim:
            self.embed = Dense(self.c_dim, width)
        inputs = self.z_dim + width * bool(self.c_dim)
        for i in range(self.layers):
            self.add_module(f"fc{i}", Dense(width if i else inputs, width, config.lr_multiplier))
        self.register_buffer("w_avg", torch.zeros(width))

    def forward(self, z: Tensor, c: Tensor | None = None, psi: float = 1.0) -> Tensor:
        """Style codes, drawn towards the mean one.

        Args:
            z: (n, z_dim).
            c: conditions (n, c_dim), or (1, c_dim) for all; None where the network takes none.
            psi: truncation, w_avg + psi (w - w_avg).
        """
        x = _normalised(z)
        if self.c_dim:
            x = torch.cat([x, _normalised(self.embed(c)).expand(len(z), -1)], 1)
        for i in range(self.layers):
            x = (
                functional.leaky_relu(self.get_submodule(f"fc{i}")(x), RECTIFIER_SLOPE)
                * RECTIFIER_GAIN
            )
        ws = x[:, None].repeat(1, self.num_ws, 1)
        if psi != 1:
            ws = self.w_avg.lerp(ws, psi)
        return ws


class Convolution(nn.Module):
    """A modulated 3×3 convolution with noise, bias and leaky rectifier; `up` doubles the size."""

    noise_const: Tensor

    def __init__(
        self, config: StyleGAN2Config, inputs: int, outputs: int, size: int, up: bool
    ) -> None:
        super().__init__()
        self.up = up
        self.clamp = config.conv_clamp
        self.affine = Dense(config.w_dim, inputs, centre=1.0)
        self.weight = _kernels(outputs, inputs, 3, up)
        self.bias = weights(outputs)
        self.register_buffer("noise_const", torch.zeros(size, size))
        self.noise_strength = weights()

    def forward(self, x: Tensor, style: Tensor, noisy: bool = True) -> Tensor:
        """Activations (n, inputs, h, w), styles (n, inputs) → (n, outputs, h, w) or twice that."""
        squares = self.weight.square().sum((2, 3)).t().contiguous()
        # The rectifier's gain is part of factor, bias and noise.
        factor = RECTIFIER_GAIN * (style.square() @ squares + EPSILON).rsqrt()
        bias = (RECTIFIER_GAIN * self.bias).to(x)
        x = x * _planes(style, x)
        weight = self.weight.to(x)
        if self.up:
            x = _smoothed(functional.conv_transpose2d(x, weight.transpose(0, 1), stride=2))
        else:
            x = functional.conv2d(x, weight, padding=1)
        x = x.mul_(_planes(factor, x)).add_(bias[:, None, None])
        if noisy:
            x.add_((self.noise_const * (RECTIFIER_GAIN * self.noise_strength)).to(x))
        functional.leaky_relu_(x, RECTIFIER_SLOPE)
        return x if self.clamp is None else x.clamp_(-self.clamp, self.clamp)


class ToRGB(nn.Module):
    """Channels to colours: a modulated 1×1 convolution without demodulation."""

    def __init__(self, config: StyleGAN2Config, inputs: int) -> None:
        super().__init__()
        self.clamp = config.conv_clamp
        self.gain = 1 / math.sqrt(inputs)
        self.affine = Dense(config.w_dim, inputs, centre=1.0)
        self.weight = _kernels(config.image_channels, inputs, 1)
        self.bias = weights(config.image_channels)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Activations (n, inputs, h, width), styles (n, inputs) → float32 (n, outputs, …)."""
        if _on_gpu(x):  # one convolution for all images, since each start costs time there
            x = x * _planes(self.gain * style, x)
            y = functional.conv2d(x, self.weight.to(x), self.bias.to(x)).float()
            return y if self.clamp is None else y.clamp_(-self.clamp, self.clamp)
        image_weights = (self.weight * (self.gain * style)[:, None, :, None, None]).to(x)
        bias = self.bias.to(x)
        images = zip(x.split(1), image_weights, strict=True)
        y = torch.cat([functional.conv2d(image, weight, bias) for image, weight in images]).float()
        return y if self.clamp is None else y.clamp_(-self.clamp, self.clamp)


class Block(nn.Module):
    """The layers of one resolution; without inputs, it starts from a constant."""

    def __init__(
        self, config: StyleGAN2Config, inputs: int, outputs: int, size: int, up=True
    ) -> None:
        super().__init__()
        if inputs:
            self.conv0 = Convolution(config, inputs, outputs, size, up)
        else:
            self.const = weights(outputs, 4, 4)
        self.conv1 = Convolution(config, outputs, outputs, size, up=False)
        self.torgb = ToRGB(config, outputs)

    def forward(self, x: Tensor, styles: dict[str, Tensor], noisy=True) -> tuple[Tensor, Tensor]:
        """Activations and colours; styles by the layer's name in the block."""
        for name, layer in self.layers():
            if name != "torgb":
                x = layer(x, styles[name], noisy)
        return x, self.torgb(x, styles["torgb"])

    def layers(self) -> Iterator[tuple[str, Convolution | ToRGB]]:
        """Name and layer, in the order of the computation."""
        for name, layer in self.named_children():
            assert isinstance(layer, Convolution | ToRGB)  # a block has no other parts
            yield name, layer


def blocks_of(part: nn.Module) -> Iterator[tuple[str, Block]]:
    """Name and block of a part of a network that has blocks alone, in the order of resolutions."""
    for name, block in part.named_children():
        assert isinstance(block, Block)
        yield name, block


class Synthesis(nn.Module):
    """Style codes → raw images, about in [-1, 1].

    Attributes:
        precision: type of the convolutions; styles and colours are always float32.
        b4: the first block, of 4 × 4 pixels; those of other resolutions are called likewise.
    """

    b4: Block

    def __init__(self, config: StyleGAN2Config) -> None:
        super().__init__()
        self.precision = torch.float32
        inputs = 0
        for resolution in config.resolutions:
            outputs = config.channels(resolution)
            self.add_module(f"b{resolution}", Block(config, inputs, outputs, resolution))
            inputs = outputs

    def styles(self, ws: Tensor) -> dict[str, Tensor]:
        """Style codes (n, num_ws, w_dim) → the styles of every layer, (n, its input channels).

        This is the space S (Wu et al. 2021). Styles of colours lack their factor 1/√channels.
        """
        styles = {}
        place = 0
        for prefix, block in blocks_of(self):
            for name, layer in block.layers():
                # Colours share their code with the next block's first layer.
                styles[f"{prefix}.{name}"] = layer.affine(ws[:, place])
                place += name != "torgb"
        return styles

    def forward(self, ws: Tensor) -> Tensor:
        """Raw images, float32 (n, 3, resolution, resolution), of style codes (n, num_ws, w_dim).

        All have the network's own noise.
        """
        return self.render(self.styles(ws))

    @torch.no_grad()
    def render(self, styles: dict[str, Tensor]) -> Tensor:
        """Raw images of styles as `styles` gives them."""
        start = self.b4.const.to(self.precision).expand(len(styles["b4.conv1"]), -1, -1, -1)
        x = start.contiguous(memory_format=torch.channels_last)
        image = None
        for prefix, block in blocks_of(self):
            x, colours = block(x, within(styles, f"{prefix}."))
            image = colours if image is None else enlarge(image).add_(colours)
        assert image is not None  # every network has the block b4
        return image.contiguous()


def draw_network_weights(network: Network, seed: int) -> Network:
    """Draw a network's weights at random, about as before a training.

    Such a network serves to test code without a trained one. Each weight depends only on the seed,
    its name and its shape.

    Args:
        network: StyleGAN2 or EG3D.
        seed: of the draws.

    Returns:
        The same network.

    Example:
        >>> config = StyleGAN2Config(z_dim=8, c_dim=0, w_dim=8, resolution=8, channel_base=64)
        >>> network = draw_network_weights(StyleGAN2(config), seed=1)
        >>> bool(network.synthesis(network.mapping(torch.ones(1, 8))).std() > 0)
        True
    """
    rates = {
        f"{name}.weight": layer.rate
        for name, layer in network.named_modules()
        if isinstance(layer, Dense)
    }
    state = network.state_dict()
    for name, value in state.items():
        drawn = seeding.normals(seed, f"weights: {name}", [0], max(value.numel(), 1))
        drawn = torch.from_numpy(drawn).float().reshape(value.shape)
        if name.endswith((".weight", ".const", "_const")):
            state[name] = drawn / rates.get(name, 1.0)
        elif name.endswith((".bias", "_strength", "w_avg")):
            state[name] = value.cpu() + 0.1 * drawn
    network.load_state_dict(state)
    return network


def enlarge(image: Tensor) -> Tensor:
    """Twice the height and width: zeros between the pixels, then the filter."""
    channels = image.shape[1]
    weight = _filter(image).expand(channels, 1, 4, 4)
    return functional.conv_transpose2d(image, weight, stride=2, padding=1, groups=channels)


def within(styles: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Styles of the part of the network with this prefix, under their names in that part."""
    return {k.removeprefix(prefix): s for k, s in styles.items() if k.startswith(prefix)}


def weights(*shape: int, value: float = 0.0) -> nn.Parameter:
    """Weights before they are read from a file."""
    return nn.Parameter(torch.full(shape, value), requires_grad=False)


def _kernels(outputs: int, inputs: int, size: int, transposed: bool = False) -> nn.Parameter:
    """Weights (outputs, inputs, size, size), in memory as the convolution reads them.

    A transposed convolution reads (inputs, outputs, size, size); both have channels last.
    """
    shape = (inputs, outputs) if transposed else (outputs, inputs)
    weight = torch.zeros(*shape, size, size).contiguous(memory_format=torch.channels_last)
    return nn.Parameter(weight.transpose(0, 1) if transposed else weight, requires_grad=False)


def _normalised(x: Tensor) -> Tensor:
    """Every row scaled to a mean square of one."""
    return x * (x.square().mean(1, keepdim=True) + EPSILON).rsqrt()


def _planes(values: Tensor, like: Tensor) -> Tensor:
    """(n, channels) → (n, channels, 1, 1)."""
    return values[:, :, None, None].to(like)


def _on_gpu(x: Tensor) -> bool:
    return x.device.type == "cuda" and torch.backends.cudnn.is_available()


def _smoothed(x: Tensor) -> Tensor:
    """Maps (n, channels, h + 1, w + 1) through the filter, padded by one: (n, channels, h, w)."""
    if not _on_gpu(x):
        smoothing = _filter(x).expand(x.shape[1], 1, 4, 4)
        return functional.conv2d(x, smoothing, padding=1, groups=x.shape[1])
    x = functional.pad(x, (1, 1, 1, 1))  # a GPU adds faster than it convolves single channels
    for axis in (2, 3):
        a, b, c, d = (x.narrow(axis, k, x.shape[axis] - 3) for k in range(4))
        x = (a + d).add_(b + c, alpha=3)
    return x.div_(16)


def _filter(like: Tensor) -> Tensor:
    """The filter [1, 3, 3, 1] ⊗ [1, 3, 3, 1] / 16, (1, 1, 4, 4), used when the size is doubled."""
    line = torch.tensor([1.0, 3.0, 3.0, 1.0]).to(like) / 4
    return torch.outer(line, line)[None, None]


class StyleGenerator:
    """Turn style codes w (n, w_dim), or one code a layer, into images.

    Args:
        network: StyleGAN2 or EG3D, with its weights.
        device: "cpu" or "cuda".
        truncation: psi; codes are w_avg + psi (w - w_avg). Less than 1 narrows the population. None
            takes the value of the network's card, or 1 without one.
        precision: "float32" or "bfloat16", which is faster and coarser (StyleGAN2 only). None takes
            that of the network's card, or "float32" without one.

    Attributes:
        network: the same, on the device.
        latent_dim: length w_dim of a code.
        num_ws: layers that read a code.
        size: height and width of the images in pixels.
        card: the source of the network, and the arguments.

    Raises:
        ValueError: an argument outside its range, or a conditional StyleGAN2.

    Example:
        >>> config = StyleGAN2Config(z_dim=8, c_dim=0, w_dim=8, resolution=16, channel_base=64)
        >>> network = draw_network_weights(StyleGAN2(config), seed=1)
        >>> generator = StyleGenerator(network, truncation=0.7)
        >>> codes = generator.sample(2, seed=1)
        >>> tuple(codes.shape), tuple(generator.synthesize(codes).shape)
        ((2, 8), (2, 3, 16, 16))
    """

    def __init__(
        self,
        network: StyleBasedNetwork,
        device: str = "cpu",
        truncation: float | None = None,
        precision: str | None = None,
    ) -> None:
        card: dict[str, Any] = getattr(network, "card", {})
        psi: float = card.get("psi", 1.0) if truncation is None else truncation
        precision_name: str = card.get("precision", "float32") if precision is None else precision
        check_range("truncation", psi, 0, 1)
        known = PRECISIONS if isinstance(network, StyleGAN2) else ("float32",)
        require_members([precision_name], known, "precision")
        self.device = resolve_device(device)
        self.network = network.to(self.device).eval().requires_grad_(False)
        self.truncation = psi
        self.latent_dim = network.w_dim
        self.num_ws = network.num_ws
        self.size = network.resolution
        if isinstance(network, StyleGAN2):
            network.synthesis.precision = PRECISIONS[precision_name]
        if network.c_dim and isinstance(network, StyleGAN2):
            raise InputError(
                "a conditional network; it can be audited as kind: python, by your code",
                field="network",
                found="a conditional network",
                expected="a network without conditions",
            )
        # The condition of EG3D is a camera from the front.
        self._condition = network.camera()[None] if network.c_dim else None
        self.card: dict[str, Any] = card | {
            "psi": psi,
            "noise": "const",
            "precision": precision_name,
            "kind": network.kind,
            "condition": None if self._condition is None else self._condition[0].tolist(),
        }
        if self.device.type == "cuda":  # with tf32, factors have ten bits after the point
            self.card["tf32"] = torch.backends.cudnn.allow_tf32

    def sample(self, n: int, seed: int) -> Tensor:
        """Style codes, float32 (n, latent_dim); code i depends on the seed and i alone."""
        return self.map(self.normal_codes(n, seed))

    def normal_codes(self, n: int, seed: int) -> Tensor:
        """The codes z that `sample` maps, float32 (n, z_dim)."""
        drawn = seeding.normals(seed, "style-based generator: z", range(n), self.network.z_dim)
        return torch.from_numpy(drawn).float().to(self.device)

    def map(self, z: Tensor) -> Tensor:
        """Normal codes (n, z_dim) → style codes (n, latent_dim), truncated."""
        z = torch.as_tensor(z, dtype=torch.float32, device=self.device)
        return self.network.mapping(z, self._condition, self.truncation)[:, 0]

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images, float32 (n, 3, size, size) in [0, 1].

        Args:
            w: (n, latent_dim) in W; or a code for every layer, W+, as (n, num_ws, latent_dim) or
                flat as (n, num_ws * latent_dim).
            scene: for EG3D only, `yaw` and `pitch` of the camera, in degrees.

        Raises:
            ValueError: a scene parameter that the network does not know, or codes of another shape.
        """
        parts = self._codes(w).split(self._at_a_time())
        return self._images(map(self.network.styles, parts), scene)

    def styles(self, w: Tensor) -> dict[str, Tensor]:
        """The styles of all layers, the space S: layer → (n, channels); w as of `synthesize`."""
        return self.network.styles(self._codes(w))

    def synthesize_styles(self, styles: dict[str, Tensor], **scene: float) -> Tensor:
        """Images of styles as `styles` gives them, float32 (n, 3, size, size) in [0, 1].

        Raises:
            ValueError: a scene parameter that the network does not know.
        """
        each = self._at_a_time()
        split = [rows.to(self.device, torch.float32).split(each) for rows in styles.values()]
        parts = (dict(zip(styles, part, strict=True)) for part in zip(*split, strict=True))
        return self._images(parts, scene)

    def rounding(self, n: int = 8) -> dict[str, float]:
        """How far images of n codes are from those in float32: largest and mean, in grey levels."""
        assert isinstance(self.network, StyleGAN2)  # EG3D has no coarser precision
        codes = self.sample(n, seed=0)
        layers = self.network.synthesis
        images = self.synthesize(codes)
        precision = layers.precision
        try:
            layers.precision = torch.float32
            distance = 255 * (images - self.synthesize(codes)).abs()
        finally:
            layers.precision = precision
        return {"largest": float(distance.max()), "mean": float(distance.mean())}

    def _at_a_time(self) -> int:
        """Images whose largest activations fit into CHUNK_BYTES, or a sixteenth of a GPU's memory.

        A layer has a few copies of its activations at a time, and two threads make images.
        """
        memory = CHUNK_BYTES
        if self.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self.device)
            memory = free // 16
        return max(1, memory // self.network.image_bytes)

    def _images(self, parts: Iterable[dict[str, Tensor]], scene: dict[str, float]) -> Tensor:
        """Images of styles in parts that fit into memory."""
        known = list(self.network.scene)
        unknown = sorted(set(scene) - set(known))
        if unknown:
            raise InputError(
                f"{self.network.kind} has no scene parameters {unknown}; there are {known}",
                field="scene",
                found=unknown,
                expected=str(known),
            )
        images = []
        for styles in parts:
            raw = self.network.render(styles, **scene)
            # Images of a grey network get three equal channels.
            images.append(((raw + 1) / 2).clamp_(0, 1).expand(-1, 3, -1, -1))
        return torch.cat(images)

    def _codes(self, w: Tensor) -> Tensor:
        """Codes of any of the three shapes as (n, num_ws, latent_dim)."""
        w = torch.as_tensor(w, dtype=torch.float32, device=self.device)
        layers = self.num_ws
        length = self.latent_dim
        if w.shape[1:] == (length,):
            return w[:, None].expand(-1, layers, -1)
        if w.shape[1:] in ((layers * length,), (layers, length)):
            return w.reshape(-1, layers, length)
        shapes = f"(n, {length}), (n, {layers}, {length}) or (n, {layers * length})"
        raise InputError(
            f"codes must be {shapes}, not {tuple(w.shape)}",
            field="w",
            found=tuple(w.shape),
            expected=shapes,
        )
