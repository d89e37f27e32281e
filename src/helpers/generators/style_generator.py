"""A style-based network behind the book's protocol: codes w in, images in [0, 1] out.

What a network makes of one normal code depends on decisions that a user takes: how far codes are
drawn towards the mean (truncation), where its noise comes from, how precisely it computes. They are
part of what an audit is about, so they are arguments, and the card has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.utils import seeding
from helpers.utils.checks import check_range, resolve_device

NOISE = ("const", "none", "random")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CHUNK_BYTES = 2**27
"""Of the largest activation: one image of 1024 pixels at a time, eight of 256."""


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
        >>> from helpers.generators import stylegan2
        >>> config = stylegan2.Config(z_dim=8, c_dim=0, w_dim=8, resolution=16, channel_base=64)
        >>> network = stylegan2.draw_weights(stylegan2.StyleGAN2(config), seed=1)
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
        for name, value, known in (("noise", noise, NOISE), ("precision", precision, PRECISIONS)):
            if value not in known:
                raise ValueError(f"{name} {value!r} is not one of {', '.join(known)}")
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
        parts = self._codes(w).split(self._at_a_time())
        return self._images(map(self.network.styles, parts), scene)

    def styles(self, w: Tensor) -> dict[str, Tensor]:
        """The styles of all layers, the space S: layer → (n, channels); w as of `synthesize`."""
        return self.network.styles(self._codes(w))

    def synthesize_styles(self, styles: dict[str, Tensor], **scene: float) -> Tensor:
        """Images of styles as `styles` gives them, float32 (n, 3, size, size) in [0, 1].

        Raises:
            ValueError: styles that are missing or of another shape, or a scene parameter that the
                network does not know.
        """
        given = {name: self._numbers(rows, f"styles of {name}") for name, rows in styles.items()}
        n = len(next(iter(given.values()), ()))
        for name, wanted in self.styles(torch.zeros(1, self.latent_dim)).items():
            shape = tuple(given[name].shape) if name in given else "missing"
            if shape != (n, wanted.shape[1]):
                raise ValueError(f"styles of {name} must be ({n}, {wanted.shape[1]}), not {shape}")
        split = [rows.split(self._at_a_time()) for rows in given.values()]
        parts = (dict(zip(given, part, strict=True)) for part in zip(*split, strict=True))
        return self._images(parts, scene)

    def _at_a_time(self) -> int:
        return max(1, CHUNK_BYTES // self.network.image_bytes)

    def _images(self, parts: Iterable[dict[str, Tensor]], scene: dict[str, float]) -> Tensor:
        """Images of styles in parts that fit into memory."""
        known = self.network.scene
        if unknown := sorted(set(scene) - set(known)):
            kind, there = self.network.kind, list(known)
            raise ValueError(f"{kind} has no scene parameters {unknown}; there are {there}")
        images, first = [], 0
        for styles in parts:
            raw = self.network.render(styles, self.noise, first, **scene)
            images.append(((raw + 1) / 2).clamp_(0, 1))
            first += len(raw)
        return torch.cat(images)

    def _codes(self, w: Tensor) -> Tensor:
        """Codes of any of the three shapes as (n, num_ws, latent_dim)."""
        w = self._numbers(w, "codes")
        layers, length = self.num_ws, self.latent_dim
        if w.shape[1:] == (length,):
            return w[:, None].expand(-1, layers, -1)
        if w.shape[1:] in ((layers * length,), (layers, length)):
            return w.reshape(-1, layers, length)
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
        """The condition as (1, c_dim); None where the network takes none."""
        wanted = self.network.c_dim
        if condition is None and wanted and self.network.kind == "eg3d":
            condition = self.network.camera().tolist()
        found = () if condition is None else torch.as_tensor(condition, dtype=torch.float32)
        if len(found) != wanted:
            raise ValueError(f"condition: {wanted} numbers were expected, found {len(found)}")
        return found[None].to(self.device) if wanted else None
