"""A style-based network behind the book's protocol: codes w in, images in [0, 1] out.

What a network makes of one normal code depends on decisions that a user takes: how far codes are
drawn towards the mean (truncation), where its noise comes from, how precisely it computes. They are
part of what an audit is about, so they are arguments, and the card has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.generators.style_layers import check_noise
from helpers.utils import seeding
from helpers.utils.checks import check_range
from helpers.utils.devices import resolve_device

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CHUNK_BYTES = 2**27
"""Of the largest activation: one image of 1024 pixels at a time, eight of 256."""
NOISE_SEED = 0


class StyleGenerator:
    """Turn style codes w (n, w_dim), or one code a layer, into images.

    Args:
        network: StyleGAN2 or EG3D, with its weights.
        device: "cpu" or "cuda".
        truncation: psi; codes are w_avg + psi (w - w_avg). Less than 1 narrows the population.
            None, here as for the next two, is what the network's card says, or else 1.
        noise: "const", the default, is the network's own and part of what it shows of a code;
            "none"; "random" depends on the number of the image in a call.
        precision: "float32", the default, or "bfloat16", which is faster and coarser (StyleGAN2
            only).
        condition: what a conditional network is told of every code, (c_dim,). EG3D is told a camera
            from the front if nothing else.

    Attributes:
        network: the same, on the device.
        latent_dim: length w_dim of a code.
        num_ws: layers that read a code.
        size: height and width of the images in pixels.
        card: where the network comes from, and the arguments.

    Raises:
        ValueError: an argument outside its range, or a condition of another length.

    Example:
        >>> from helpers.generators import stylegan2, style_layers
        >>> config = stylegan2.Config(z_dim=8, c_dim=0, w_dim=8, resolution=16, channel_base=64)
        >>> network = style_layers.draw_weights(stylegan2.StyleGAN2(config), seed=1)
        >>> generator = StyleGenerator(network, truncation=0.7)
        >>> codes = generator.sample(2, seed=1)
        >>> tuple(codes.shape), tuple(generator.synthesize(codes).shape)
        ((2, 8), (2, 3, 16, 16))
    """

    def __init__(
        self,
        network: nn.Module,
        device: str = "cpu",
        truncation: float | None = None,
        noise: str | None = None,
        precision: str | None = None,
        condition: Sequence[float] | None = None,
    ) -> None:
        card = getattr(network, "card", {})
        truncation = card.get("psi", 1.0) if truncation is None else truncation
        noise = card.get("noise", "const") if noise is None else noise
        precision = card.get("precision", "float32") if precision is None else precision
        check_range("truncation", truncation, 0, 1)
        check_noise(noise)
        if precision not in PRECISIONS:
            raise ValueError(f"precision {precision!r} is not one of {', '.join(PRECISIONS)}")
        if precision != "float32" and network.kind != "stylegan2":
            raise ValueError(f"{network.kind} computes in float32 only, not in {precision}")
        self.device = resolve_device(device)
        self.network = network.to(self.device).eval().requires_grad_(False)
        self.truncation, self.noise = truncation, noise
        self.latent_dim, self.num_ws = network.w_dim, network.num_ws
        self.size = network.resolution
        if network.kind == "stylegan2":
            network.synthesis.precision = PRECISIONS[precision]
        self._condition = self._conditioned(condition)
        self.card: dict[str, Any] = card | {
            "kind": network.kind,
            "psi": truncation,
            "noise": noise,
            "precision": precision,
            "condition": None if self._condition is None else self._condition[0].tolist(),
        }

    def sample(self, n: int, seed: int) -> Tensor:
        """Style codes, float32 (n, latent_dim); code i depends on the seed and i alone."""
        return self.map(self.normal_codes(n, seed))

    def normal_codes(self, n: int, seed: int) -> Tensor:
        """The codes z that `sample` maps, float32 (n, z_dim)."""
        drawn = seeding.normals(seed, "style-based generator: z", range(n), self.network.z_dim)
        return torch.from_numpy(drawn).float().to(self.device)

    def map(self, z: Tensor) -> Tensor:
        """Normal codes (n, z_dim) → style codes (n, latent_dim), truncated.

        Raises:
            ValueError: codes of another shape, or not finite.
        """
        z = self._numbers(z, "codes z")
        return self.network.mapping(z, self._condition, self.truncation)[:, 0]

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images, float32 (n, 3, size, size) in [0, 1].

        Args:
            w: (n, latent_dim) in W; or a code for every layer, W+, as (n, num_ws, latent_dim) or
                flat as (n, num_ws * latent_dim).
            scene: EG3D alone knows some: `yaw` and `pitch` of the camera, in degrees.

        Raises:
            ValueError: a scene parameter that the network does not know, or codes of another shape
                or not finite.
        """
        return self._images(self._view(scene), self._codes(w))

    def styles(self, w: Tensor) -> dict[str, Tensor]:
        """The styles of all layers, the space S: layer → (n, channels); w as of `synthesize`."""
        return self.network.styles(self._codes(w))

    def synthesize_styles(self, styles: dict[str, Tensor], **scene: float) -> Tensor:
        """Images of styles as `styles` gives them, float32 (n, 3, size, size) in [0, 1].

        Raises:
            ValueError: styles that are missing or of another shape, or a scene parameter that the
                network does not know.
        """
        render = self._view(scene, styles=True)
        names = list(styles)
        columns = [self._numbers(styles[name], f"styles of {name}") for name in names]
        if not columns or len({len(column) for column in columns}) != 1 or not len(columns[0]):
            raise ValueError("styles must be of the same number of images in all layers")
        return self._images(
            lambda part, first: render(dict(zip(names, part, strict=True)), first), *columns
        )

    def _images(self, render: Any, *inputs: Tensor) -> Tensor:
        """Rendered in chunks that fit into memory; the rows of all inputs go together."""
        step = max(1, CHUNK_BYTES // self.network.image_bytes)
        images = []
        for first in range(0, len(inputs[0]), step):
            parts = [each[first : first + step] for each in inputs]
            raw = render(parts[0] if len(parts) == 1 else parts, first)
            images.append(raw.add_(1).div_(2).clamp_(0, 1))
        return torch.cat(images)

    def _view(self, scene: dict[str, float], styles: bool = False) -> Any:
        """Codes or styles, and the number of the first → raw images."""
        if self.network.kind == "eg3d":
            return self.network.viewed(scene, self.noise, NOISE_SEED, styles)
        if scene:
            raise ValueError(f"{self.network.kind} has no scene parameters: {sorted(scene)}")
        draw = self.network.synthesis_from_styles if styles else self.network.synthesis
        return lambda part, first: draw(part, self.noise, NOISE_SEED, first)

    def _codes(self, w: Tensor) -> Tensor:
        """Codes of any of the three shapes as (n, num_ws, latent_dim)."""
        w = self._numbers(w, "codes")
        layers, length = self.num_ws, self.latent_dim
        if w.ndim == 2 and w.shape[1] == length:
            return w[:, None].expand(-1, layers, -1)
        if w.ndim == 2 and w.shape[1] == layers * length:
            return w.reshape(-1, layers, length)
        if w.ndim == 3 and w.shape[1:] == (layers, length):
            return w
        shapes = f"(n, {length}), (n, {layers}, {length}) or (n, {layers * length})"
        raise ValueError(f"codes must be {shapes}, not {tuple(w.shape)}")

    def _numbers(self, values: Tensor, name: str) -> Tensor:
        values = torch.as_tensor(values, dtype=torch.float32, device=self.device)
        if values.ndim < 2 or not len(values):
            raise ValueError(f"{name}: at least one row was expected, found {tuple(values.shape)}")
        if not values.isfinite().all():
            raise ValueError(f"{name} must be finite")
        return values

    def _conditioned(self, condition: Sequence[float] | None) -> Tensor | None:
        """The condition as (1, c_dim)."""
        if condition is None and self.network.kind == "eg3d" and self.network.c_dim:
            condition = self.network.camera().tolist()
        if not self.network.c_dim:
            if condition is not None:
                raise ValueError("the network takes no condition")
            return None
        found = None if condition is None else torch.as_tensor(condition, dtype=torch.float32)
        if found is None or found.shape != (self.network.c_dim,):
            shape = "none" if found is None else tuple(found.shape)
            raise ValueError(f"condition: ({self.network.c_dim},) was expected, found {shape}")
        return found[None].to(self.device)
