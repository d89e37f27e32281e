"""EG3D, for inference (Chan et al. 2022): a face as three planes, seen by any camera.

A StyleGAN2 network makes three planes of features from a style code. A point in space is projected
on all three; a small network turns the mean of their features into density and colour. Along each
ray these add up to a small image, which two more blocks enlarge. So the pose is a separate factor:
with another camera and the same code, nothing else changes.

The published renderer draws the depths of its samples at random. Here they are fixed, each in the
middle of its step, so that two images differ only by the factor that was varied. The planes are
read at (x, y), (x, z) and (z, x), as the published networks were trained.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from faceaudit.generators import stylegan2
from faceaudit.generators.stylegan2 import Dense, StyleBasedNetwork, blocks_of, enlarge, within
from faceaudit.utils.errors import InputError

PLANE_SIZE = 256
"""Height and width of the planes."""
FEATURES = 32
"""Features of each plane."""
HIDDEN = 64
"""Width of the small network that turns features into density and colour."""
SUPER_RESOLUTION = {512: ((256, 256), (128, 512)), 256: ((128, 128), (64, 256))}
"""Height of the images → channels and height of the two blocks that enlarge."""
ENLARGED = 128
"""Height and width of the input of those blocks."""
RAYS_AT_ONCE = 4096
"""Rays that are followed at a time."""
PLANE_AXES = ((0, 1), (0, 2), (2, 0))
"""Coordinates along the width and the height of every plane."""
FIELD_OF_VIEW = 18.837
"""Field of view of the published cameras, in degrees."""
RENDERING: dict[str, Any] = {
    "ray_start": 2.25,
    "ray_end": 3.3,
    "depth_resolution": 48,
    "depth_resolution_importance": 48,
    "box_warp": 1.0,
    "white_back": False,
    "decoder_lr_mul": 1.0,
    "c_scale": 0.0,
    "c_gen_conditioning_zero": False,
    "avg_camera_radius": 2.7,
    "avg_camera_pivot": (0.0, 0.0, 0.0),
    "sr_antialias": True,
    "superresolution_noise_mode": "none",
    "clamp_mode": "softplus",
    "disparity_space_sampling": False,
    "density_noise": 0,
}
"""Default options of rendering, under the names of the published files."""


@dataclass(frozen=True)
class EG3DConfig(stylegan2.StyleGAN2Config):
    """Sizes of an EG3D network, under the names of the published files.

    Attributes:
        resolution: height and width of the images in pixels, 256 or 512.
        channel_base, channel_max, conv_clamp: of the backbone.
        super_resolution_clamp: the largest absolute activation of the two last blocks.
        neural_resolution: height and width of the image of rays.
        rendering: options of rendering, see `RENDERING`.
    """

    conv_clamp: float | None = 256
    mapping_layers: int = 2
    super_resolution_clamp: float | None = 256
    neural_resolution: int = 64
    rendering: Mapping[str, Any] = field(default_factory=dict)


class EG3D(StyleBasedNetwork):
    """An EG3D generator, to be filled with weights by `load_state_dict`.

    Args:
        config: its sizes.

    Attributes:
        backbone: StyleGAN2 whose image is the three planes.
        z_dim, c_dim, w_dim, num_ws, resolution: lengths of codes, number of layers, pixels.
        image_bytes: size of the largest activation of one image.

    Raises:
        ValueError: a resolution or options of rendering that are not known here.

    Example:
        >>> EG3D(EG3DConfig(8, 0, 8, 128))
        Traceback (most recent call last):
        faceaudit.utils.errors.InputError: resolution is 128, one of 256, 512 was expected
    """

    kind = "eg3d"
    scene = ("yaw", "pitch")
    config: EG3DConfig

    def __init__(self, config: EG3DConfig) -> None:
        super().__init__()
        _require_resolution(config.resolution)
        self.config = config
        self.options = _rendering_options(config.rendering)
        self.z_dim = config.z_dim
        self.c_dim = config.c_dim
        self.w_dim = config.w_dim
        self.resolution = config.resolution
        planes = replace(config, resolution=PLANE_SIZE, image_channels=len(PLANE_AXES) * FEATURES)
        self.backbone = stylegan2.StyleGAN2(planes)
        self.num_ws = self.backbone.num_ws
        self.decoder = Decoder(self.options["decoder_lr_mul"])
        enlarging = replace(config, conv_clamp=config.super_resolution_clamp)
        # A container without code: the published weights are named `superresolution.block0.…`.
        self.superresolution = nn.Module()
        inputs = FEATURES
        blocks = SUPER_RESOLUTION[config.resolution]
        for i, (outputs, size) in enumerate(blocks):
            block = stylegan2.Block(enlarging, inputs, outputs, size, up=size > ENLARGED)
            self.superresolution.add_module(f"block{i}", block)
            inputs = outputs
        self.image_bytes = max(self.backbone.image_bytes, *(4 * c * size**2 for c, size in blocks))

    def mapping(self, z: Tensor, c: Tensor | None = None, psi: float = 1.0) -> Tensor:
        """Normal codes (n, z_dim) and conditions (n or 1, c_dim) → (n, num_ws, w_dim).

        The condition is a camera, the rest as of `stylegan2.Mapping`. Keep it, and vary only the
        camera of the view: another condition gives another face.
        """
        scale = 0.0 if self.options["c_gen_conditioning_zero"] else self.options["c_scale"]
        return self.backbone.mapping(z, None if c is None else c * scale, psi)

    def styles(self, ws: Tensor) -> dict[str, Tensor]:
        """Style codes (n, num_ws, w_dim) → styles of the backbone and of the last two blocks."""
        styles = {f"backbone.{name}": s for name, s in self.backbone.styles(ws).items()}
        for prefix, block in blocks_of(self.superresolution):
            for name, layer in block.layers():
                styles[f"{prefix}.{name}"] = layer.affine(ws[:, -1])
        return styles

    @torch.no_grad()
    def render(self, styles: dict[str, Tensor], **angles: float) -> Tensor:
        """Raw images (n, 3, resolution, resolution), about in [-1, 1], seen by one camera.

        Args:
            styles: as `styles` gives them.
            angles: yaw and pitch of the `camera`.
        """
        camera = self.camera(**angles)
        planes = self.backbone.render(within(styles, "backbone."))
        x = torch.stack([self._render_features(face_planes, camera) for face_planes in planes])
        image = x[:, :3].contiguous()
        if self.config.neural_resolution != ENLARGED:
            x = self._resize(x)
            image = self._resize(image)
        x = x.contiguous(memory_format=torch.channels_last)
        noisy = self.options["superresolution_noise_mode"] == "const"
        for name, block in blocks_of(self.superresolution):
            x, colours = block(x, within(styles, f"{name}."), noisy)
            image = (enlarge(image) if block.conv0.up else image) + colours
        return image.contiguous()

    def camera(self, yaw: float = 0.0, pitch: float = 0.0) -> Tensor:
        """A camera on a sphere around the head that looks at its pivot, (25,).

        The matrix from camera to world (4, 4), then that of its pinhole (3, 3).

        Args:
            yaw: degrees to the right of the image.
            pitch: degrees upwards, a true angle.

        Raises:
            ValueError: an angle that is not finite, or a camera right above or below, where it has
                no upright.
        """
        if not math.isfinite(yaw) or not -90 < pitch < 90:
            raise InputError(
                f"yaw {yaw} and pitch {pitch}: degrees were expected, pitch within 90",
                field="yaw and pitch",
                found=(yaw, pitch),
                expected="degrees, pitch within 90",
            )
        side = math.radians(yaw)
        rise = math.radians(pitch)
        towards = [math.sin(side) * math.cos(rise), math.sin(rise), math.cos(side) * math.cos(rise)]
        origin = self.options["avg_camera_radius"] * torch.tensor(towards, dtype=torch.float64)
        ahead = torch.tensor(self.options["avg_camera_pivot"], dtype=torch.float64) - origin
        ahead = ahead / ahead.norm()
        right = torch.linalg.cross(ahead, torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64))
        right = right / right.norm()
        world = torch.eye(4, dtype=torch.float64)
        world[:3] = torch.stack([right, torch.linalg.cross(ahead, right), ahead, origin], 1)
        # The published focal length, which takes the angle along the diagonal, with √2 as 1.414.
        focal = 1 / (math.tan(FIELD_OF_VIEW * 3.14159 / 360) * 1.414)
        pinhole = torch.tensor([focal, 0, 0.5, 0, focal, 0.5, 0, 0, 1], dtype=torch.float64)
        return torch.cat([world.flatten(), pinhole]).float().to(self.backbone.mapping.w_avg.device)

    def _resize(self, x: Tensor) -> Tensor:
        """Images or features (n, k, h, w) at the input size of the blocks that enlarge."""
        return functional.interpolate(
            x,
            size=(ENLARGED, ENLARGED),
            mode="bilinear",
            align_corners=False,
            antialias=self.options["sr_antialias"],
        )

    def _render_features(self, planes: Tensor, camera: Tensor) -> Tensor:
        """Image of features of one face, (32, height, width), from its planes."""
        size = self.config.neural_resolution
        planes = planes.reshape(len(PLANE_AXES), FEATURES, *planes.shape[1:])
        planes = planes.contiguous(memory_format=torch.channels_last)
        origin, directions = _directions(camera, size)
        batches = directions.split(RAYS_AT_ONCE)
        features = torch.cat([self._march(planes, origin, batch) for batch in batches])
        return features.t().reshape(FEATURES, size, size)

    def _march(self, planes: Tensor, origin: Tensor, directions: Tensor) -> Tensor:
        """Rays (r, 3) → features (r, 32) in [-1, 1]."""
        options = self.options

        def sample(depths: Tensor) -> tuple[Tensor, Tensor]:
            """Densities (r, k) and colours (r, k, 32) at depths (r, k) of the rays."""
            points = origin + depths[..., None] * directions[:, None]
            features = _sample_planes(planes, points.reshape(-1, 3) * (2 / options["box_warp"]))
            density, colours = self.decoder(features)
            return density.reshape(depths.shape), colours.reshape(*depths.shape, FEATURES)

        start = options["ray_start"]
        end = options["ray_end"]
        coarse = options["depth_resolution"]
        half = (end - start) / (coarse - 1) / 2  # each sample lies in the middle of its step
        marks = torch.linspace(start, end, coarse, device=directions.device)
        depths = (marks + half).repeat(len(directions), 1)
        density, colours = sample(depths)
        finer = options["depth_resolution_importance"]
        if finer:
            finer_depths = _importance(depths, _weights(depths, density), finer)
            finer_density, finer_colours = sample(finer_depths)
            depths, order = torch.cat([finer_depths, depths], 1).sort(1)
            density = torch.cat([finer_density, density], 1).gather(1, order)
            colours = torch.cat([finer_colours, colours], 1)
            colours = colours.gather(1, order[..., None].expand(-1, -1, FEATURES))
        weights = _weights(depths, density)
        features = (weights[:, None] @ _middles(colours))[:, 0]
        if options["white_back"]:
            features = features + 1 - weights.sum(1, keepdim=True)
        return 2 * features - 1


class Decoder(nn.Module):
    """Features (m, 32) → densities (m,) and colours (m, 32)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        first = Dense(FEATURES, HIDDEN, rate)
        last = Dense(HIDDEN, 1 + FEATURES, rate)
        self.net = nn.Sequential(first, nn.Softplus(), last)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.net(x)
        # A little beyond 0 and 1, so that black and white can be reached.
        return x[:, 0], torch.sigmoid(x[:, 1:]) * 1.002 - 0.001


def _require_resolution(resolution: int) -> None:
    """Raise InputError for a height of images that no two last blocks are known for."""
    if resolution not in SUPER_RESOLUTION:
        known = ", ".join(map(str, sorted(SUPER_RESOLUTION)))
        raise InputError(
            f"resolution is {resolution}, one of {known} was expected",
            field="resolution",
            found=resolution,
            expected=f"one of {known}",
        )


def _rendering_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of rendering, with defaults; those that are not in `RENDERING` are left out.

    Raises:
        InputError: an option that this package does not support.
    """
    options = RENDERING | {name: value for name, value in given.items() if name in RENDERING}
    for name in ("clamp_mode", "disparity_space_sampling", "density_noise"):
        supported = RENDERING[name]
        if options[name] != supported:
            raise InputError(
                f"rendering: {name} is {options[name]!r}, {supported!r} was expected",
                field=f"rendering: {name}",
                found=options[name],
                expected=repr(supported),
            )
    return options


def _directions(camera: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Position of the camera, (3,), and the unit directions of its rays row by row, (size², 3)."""
    world = camera[:16].reshape(4, 4)
    pinhole = camera[16:].reshape(3, 3)
    centres = (torch.arange(size, device=camera.device) + 0.5) / size
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    y = y.flatten()
    x = x.flatten()
    down = (y - pinhole[1, 2]) / pinhole[1, 1]
    across = (x - pinhole[0, 2] - pinhole[0, 1] * down) / pinhole[0, 0]
    ahead = torch.stack([across, down, torch.ones_like(x)], 1)
    return world[:3, 3], functional.normalize(ahead @ world[:3, :3].t(), dim=1)


def _sample_planes(planes: Tensor, points: Tensor) -> Tensor:
    """Features (m, 32) at points (m, 3) in [-1, 1]: the mean over the planes, zero outside."""
    places = torch.stack([points[:, axes] for axes in PLANE_AXES])[:, None]
    return functional.grid_sample(planes, places, align_corners=False)[:, :, 0].mean(0).t()


def _middles(x: Tensor) -> Tensor:
    """Means of neighbouring samples (r, k, …)."""
    return (x[:, :-1] + x[:, 1:]) / 2


def _weights(depths: Tensor, density: Tensor) -> Tensor:
    """Weight of each step of the rays in their colours, (r, k - 1), from samples (r, k)."""
    density = functional.softplus(_middles(density) - 1)
    clear = torch.exp(-density * depths.diff(dim=1))
    passed = torch.cumprod(clear + 1e-10, 1)
    return (1 - clear) * torch.cat([torch.ones_like(passed[:, :1]), passed[:, :-1]], 1)


def _importance(depths: Tensor, weights: Tensor, count: int) -> Tensor:
    """Further depths (r, count) where the weights (r, k - 1) are large.

    They are the quantiles (i + ½) / count of the distribution that the smoothed weights define.
    """
    smooth = functional.max_pool1d(weights[:, None], 2, 1, padding=1)
    smooth = functional.avg_pool1d(smooth, 2, 1)[:, 0] + 0.01
    share = smooth[:, 1:-1] + 1e-5
    share = share / share.sum(1, keepdim=True)
    reached = functional.pad(share.cumsum(1), (1, 0))
    u = (torch.arange(count, device=depths.device) + 0.5) / count
    above = torch.searchsorted(reached, u.repeat(len(depths), 1), right=True)
    below = (above - 1).clamp(min=0)
    above = above.clamp(max=share.shape[1])
    bins = _middles(depths)
    low = reached.gather(1, below)
    high = reached.gather(1, above)
    width = high - low
    width = torch.where(width < 1e-5, 1.0, width)
    near = bins.gather(1, below)
    far = bins.gather(1, above)
    return near + (u - low) / width * (far - near)
