"""What style-based generators share: dense layers, the mapping network, weights at random.

A mapping network turns a normal code z into a style code w; every layer of the synthesis network
then reads w through an affine map of its own (Karras et al. 2019, 2020). Names of weights are those
of the published files, so that such a file fills a network directly. Everything is for inference.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from helpers.utils import seeding

SLOPE, GAIN = 0.2, math.sqrt(2)
"""Of all leaky rectifiers: their slope, and the factor that keeps the variance."""
EPSILON = 1e-8
NOISE_MODES = ("const", "none", "random")


class Dense(nn.Module):
    """A linear layer whose weights are scaled when it is used: x Wᵀ·rate/√inputs + rate·b.

    Args:
        inputs, outputs: lengths of codes.
        rate: the learning rate's multiplier that the weights were trained with.
        centre: about what the bias was before training.
    """

    def __init__(self, inputs: int, outputs: int, rate: float = 1.0, centre: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs), requires_grad=False)
        self.bias = nn.Parameter(torch.full((outputs,), centre), requires_grad=False)
        self.rate, self.gain = rate, rate / math.sqrt(inputs)

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight.t(), beta=self.rate, alpha=self.gain)


class Mapping(nn.Module):
    """Normal codes z (n, z_dim) → style codes (n, num_ws, w_dim), one for each layer (Karras 2020).

    Args:
        z_dim, c_dim, w_dim: lengths of normal codes, conditions (0 for none) and style codes.
        num_ws: layers that read a style code.
        layers: of the network itself.
        rate: see `Dense`.
    """

    def __init__(
        self, z_dim: int, c_dim: int, w_dim: int, num_ws: int, layers: int, rate: float
    ) -> None:
        super().__init__()
        self.z_dim, self.c_dim, self.num_ws, self.layers = z_dim, c_dim, num_ws, layers
        if c_dim:
            self.embed = Dense(c_dim, w_dim)
        inputs = z_dim + w_dim * bool(c_dim)
        for i in range(layers):
            self.add_module(f"fc{i}", Dense(inputs if i == 0 else w_dim, w_dim, rate))
        self.register_buffer("w_avg", torch.zeros(w_dim))

    def forward(
        self, z: Tensor, c: Tensor | None = None, psi: float = 1.0, cutoff: int | None = None
    ) -> Tensor:
        """Style codes, drawn towards the mean one in the first `cutoff` layers.

        Args:
            z: (n, z_dim).
            c: conditions (n, c_dim), or (1, c_dim) for all; None where the network takes none.
            psi: truncation, w_avg + psi (w - w_avg).
            cutoff: layers that are truncated; None for all.

        Raises:
            ValueError: codes or conditions of another shape.
        """
        if z.ndim != 2 or z.shape[1] != self.z_dim:
            raise ValueError(f"codes z must be (n, {self.z_dim}), not {tuple(z.shape)}")
        x = _normalised(z)
        if self.c_dim:
            x = torch.cat([x, self._condition(c).expand(len(z), -1)], 1)
        elif c is not None and c.numel():
            raise ValueError("the network takes no condition c")
        for i in range(self.layers):
            x = nn.functional.leaky_relu(self.get_submodule(f"fc{i}")(x), SLOPE) * GAIN
        ws = x[:, None].repeat(1, self.num_ws, 1)
        if psi != 1:
            ws[:, :cutoff] = self.w_avg.lerp(ws[:, :cutoff], psi)
        return ws

    def _condition(self, c: Tensor | None) -> Tensor:
        if c is None or c.ndim != 2 or c.shape[1] != self.c_dim:
            found = "none" if c is None else tuple(c.shape)
            raise ValueError(f"the network wants conditions c (n, {self.c_dim}), not {found}")
        return _normalised(self.embed(c))


def _normalised(x: Tensor) -> Tensor:
    """Every row scaled to a mean square of one."""
    return x * (x.square().mean(1, keepdim=True) + EPSILON).rsqrt()


def check_codes(ws: Tensor, num_ws: int, w_dim: int) -> None:
    """Raise ValueError unless style codes are (n, num_ws, w_dim)."""
    if ws.ndim != 3 or tuple(ws.shape[1:]) != (num_ws, w_dim):
        raise ValueError(f"style codes must be (n, {num_ws}, {w_dim}), not {tuple(ws.shape)}")


def check_noise(mode: str) -> None:
    """Raise ValueError unless it is a mode of the noise."""
    if mode not in NOISE_MODES:
        raise ValueError(f"noise {mode!r} is not one of {', '.join(NOISE_MODES)}")


def draw_weights(network: nn.Module, seed: int) -> nn.Module:
    """The network with weights drawn at random, about as before a training.

    It stands in for a real one where only the way through it matters. Each weight depends on the
    seed, its name and its shape alone.

    Args:
        network: StyleGAN2 or EG3D.
        seed: of the draws.

    Returns:
        The same network.

    Example:
        >>> from helpers.generators import stylegan2
        >>> config = stylegan2.Config(z_dim=8, c_dim=0, w_dim=8, resolution=8, channel_base=64)
        >>> network = draw_weights(stylegan2.StyleGAN2(config), seed=1)
        >>> images = network.synthesis(network.mapping(torch.ones(1, 8)))
        >>> tuple(images.shape), bool(images.std() > 0)
        ((1, 3, 8, 8), True)
    """
    rates = {f"{name}.weight": m.rate for name, m in network.named_modules() if hasattr(m, "rate")}
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
