"""EG3D, for inference (Chan et al. 2022): a face as three planes, seen by any camera.

A StyleGAN2 network makes three planes of features from a style code. A point in space looks itself
up in all three; a small network turns the mean of what it finds into density and colour. Along each
ray these add up to a small image, which two more blocks enlarge. So the pose is a factor of its own
that changes nothing else: vary the camera, and keep the code.

The published renderer draws the depths of its samples at random. Here they are fixed, each in the
middle of its step, so that two images differ by what was varied alone. The planes are looked up at
(x, y), (x, z) and (z, x), as the published networks were trained.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from faceaudit.generators import stylegan2
from faceaudit.generators.stylegan2 import Dense, enlarge, within

BACKBONE, FEATURES, HIDDEN = 256, 32, 64
"""Height of the planes, features of each, width of the small network."""
SUPER_RESOLUTION = {512: ((256, 256), (128, 512)), 256: ((128, 128), (64, 256))}
"""Height of the images → channels and height of the two blocks that enlarge."""
ENLARGED = 128
"""Height of what those blocks take."""
RAYS = 4096
"""That are followed at a time."""
PLANES = ((0, 1), (0, 2), (2, 0))
"""Coordinates along the width and the height of every plane."""
FIELD_OF_VIEW = 18.837
"""Of the published cameras, in degrees."""
RENDERING: dict[str, Any] = {
    **{"ray_start": 2.25, "ray_end": 3.3, "depth_resolution": 48},
    **{"depth_resolution_importance": 48, "box_warp": 1.0, "white_back": False},
    **{"decoder_lr_mul": 1.0, "c_scale": 0.0, "c_gen_conditioning_zero": False},
    **{"avg_camera_radius": 2.7, "avg_camera_pivot": (0.0, 0.0, 0.0), "sr_antialias": True},
    **{"superresolution_noise_mode": "none", "clamp_mode": "softplus"},
    **{"disparity_space_sampling": False, "density_noise": 0},
}
"""How rays are followed where a file says nothing, under the names of the published files."""


@dataclass(frozen=True)
class Config(stylegan2.Config):
    """Sizes of an EG3D network, under the names of the published files.

    Attributes:
        resolution: height and width of the images in pixels, 256 or 512.
        channel_base, channel_max, conv_clamp: of the backbone.
        super_resolution_clamp: the largest absolute activation of the two last blocks.
        neural_resolution: height and width of the image of rays.
        rendering: how rays are followed, see `RENDERING`.
    """

    conv_clamp: float | None = 256
    mapping_layers: int = 2
    super_resolution_clamp: float | None = 256
    neural_resolution: int = 64
    rendering: Mapping[str, Any] = field(default_factory=dict)


class EG3D(nn.Module):
    """An EG3D generator, to be filled with weights by `load_state_dict`.

    Args:
        config: its sizes.

    Attributes:
        backbone: StyleGAN2 whose image is the three planes.
        z_dim, c_dim, w_dim, num_ws, resolution: lengths of codes, number of layers, pixels.
        image_bytes: of the largest activation that one image takes.

    Raises:
        ValueError: a resolution or options of rendering that are not known here.

    Example:
        >>> EG3D(Config(8, 0, 8, 128))
        Traceback (most recent call last):
        ValueError: resolution is 128, one of 256, 512 was expected
    """

    kind, scene = "eg3d", ("yaw", "pitch")

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.options = config, _options(config)
        self.z_dim, self.c_dim, self.w_dim = config.z_dim, config.c_dim, config.w_dim
        self.resolution = config.resolution
        planes = replace(config, resolution=BACKBONE, image_channels=len(PLANES) * FEATURES)
        self.backbone = stylegan2.StyleGAN2(planes)
        self.num_ws = self.backbone.num_ws
        self.decoder = Decoder(self.options["decoder_lr_mul"])
        enlarging = replace(config, conv_clamp=config.super_resolution_clamp)
        self.superresolution, inputs = nn.Module(), FEATURES
        blocks = SUPER_RESOLUTION[config.resolution]
        for i, (outputs, size) in enumerate(blocks):
            block = stylegan2.Block(enlarging, inputs, outputs, size, up=size > ENLARGED)
            self.superresolution.add_module(f"block{i}", block)
            inputs = outputs
        self.image_bytes = max(self.backbone.image_bytes, *(4 * c * size**2 for c, size in blocks))

    def mapping(self, z: Tensor, c: Tensor | None = None, psi: float = 1.0) -> Tensor:
        """Normal codes (n, z_dim) and conditions (n or 1, c_dim) → (n, num_ws, w_dim).

        The condition is a camera, the rest as of `stylegan2.Mapping`. Keep it, and vary only the
        camera of the view: with another condition it is another face.
        """
        scale = 0.0 if self.options["c_gen_conditioning_zero"] else self.options["c_scale"]
        return self.backbone.mapping(z, None if c is None else c * scale, psi)

    def styles(self, ws: Tensor) -> dict[str, Tensor]:
        """Style codes (n, num_ws, w_dim) → styles of the backbone and of the last two blocks."""
        found = {f"backbone.{name}": s for name, s in self.backbone.styles(ws).items()}
        for prefix, block in self.superresolution.named_children():
            for name, layer in block.named_children():
                found[f"{prefix}.{name}"] = layer.affine(ws[:, -1])
        return found

    @torch.no_grad()
    def render(self, styles: dict[str, Tensor], **angles: float) -> Tensor:
        """Raw images (n, 3, resolution, resolution), about in [-1, 1], seen by one camera.

        Args:
            styles: as `styles` gives them.
            angles: yaw and pitch of the `camera`.
        """
        camera = self.camera(**angles)
        planes = self.backbone.render(within(styles, "backbone."))
        x = torch.stack([self._rays(of_face, camera) for of_face in planes])
        image = x[:, :3].contiguous()
        if self.config.neural_resolution != ENLARGED:
            shape = {"size": (ENLARGED, ENLARGED), "mode": "bilinear", "align_corners": False}
            shape |= {"antialias": self.options["sr_antialias"]}
            x, image = (functional.interpolate(each, **shape) for each in (x, image))
        x = x.contiguous(memory_format=torch.channels_last)
        noisy = self.options["superresolution_noise_mode"] == "const"
        for name, block in self.superresolution.named_children():
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
            raise ValueError(f"yaw {yaw} and pitch {pitch}: degrees were expected, pitch within 90")
        side, rise = math.radians(yaw), math.radians(pitch)
        place = [math.sin(side) * math.cos(rise), math.sin(rise), math.cos(side) * math.cos(rise)]
        origin = self.options["avg_camera_radius"] * torch.tensor(place, dtype=torch.float64)
        ahead = torch.tensor(self.options["avg_camera_pivot"], dtype=torch.float64) - origin
        ahead = ahead / ahead.norm()
        right = torch.linalg.cross(ahead, torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64))
        right = right / right.norm()
        world = torch.eye(4, dtype=torch.float64)
        world[:3] = torch.stack([right, torch.linalg.cross(ahead, right), ahead, origin], 1)
        # The published focal length: sides are measured along the diagonal, with √2 as 1.414.
        focal = 1 / (math.tan(FIELD_OF_VIEW * 3.14159 / 360) * 1.414)
        pinhole = torch.tensor([focal, 0, 0.5, 0, focal, 0.5, 0, 0, 1], dtype=torch.float64)
        return torch.cat([world.flatten(), pinhole]).float().to(self.backbone.mapping.w_avg.device)

    def _rays(self, planes: Tensor, camera: Tensor) -> Tensor:
        """What the rays find in the planes of one face, (32, height, width)."""
        size = self.config.neural_resolution
        planes = planes.reshape(len(PLANES), FEATURES, *planes.shape[1:])
        planes = planes.contiguous(memory_format=torch.channels_last)
        origin, directions = _directions(camera, size)
        features = torch.cat([self._march(planes, origin, some) for some in directions.split(RAYS)])
        return features.t().reshape(FEATURES, size, size)

    def _march(self, planes: Tensor, origin: Tensor, directions: Tensor) -> Tensor:
        """Rays (r, 3) → features (r, 32) in [-1, 1]."""
        options = self.options

        def look(depths: Tensor) -> tuple[Tensor, Tensor]:
            points = origin + depths[..., None] * directions[:, None]
            found = _looked_up(planes, points.reshape(-1, 3) * (2 / options["box_warp"]))
            density, colours = self.decoder(found)
            return density.reshape(depths.shape), colours.reshape(*depths.shape, FEATURES)

        start, end, coarse = options["ray_start"], options["ray_end"], options["depth_resolution"]
        half = (end - start) / (coarse - 1) / 2  # each sample lies in the middle of its step
        marks = torch.linspace(start, end, coarse, device=directions.device)
        depths = (marks + half).repeat(len(directions), 1)
        density, colours = look(depths)
        if finer := options["depth_resolution_importance"]:
            more = _importance(depths, _weights(depths, density), finer)
            both = [look(more), (density, colours)]
            depths, order = torch.cat([more, depths], 1).sort(1)
            density = torch.cat([one for one, _ in both], 1).gather(1, order)
            colours = torch.cat([one for _, one in both], 1)
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
        first, last = Dense(FEATURES, HIDDEN, rate), Dense(HIDDEN, 1 + FEATURES, rate)
        self.net = nn.Sequential(first, nn.Softplus(), last)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.net(x)
        # A little beyond 0 and 1, so that black and white can be reached.
        return x[:, 0], torch.sigmoid(x[:, 1:]) * 1.002 - 0.001


def _options(config: Config) -> dict[str, Any]:
    """How rays are followed; what is not done here is refused."""
    if config.resolution not in SUPER_RESOLUTION:
        known = ", ".join(map(str, sorted(SUPER_RESOLUTION)))
        raise ValueError(f"resolution is {config.resolution}, one of {known} was expected")
    options = RENDERING | {k: v for k, v in config.rendering.items() if k in RENDERING}
    for name in ("clamp_mode", "disparity_space_sampling", "density_noise"):
        if options[name] != (wanted := RENDERING[name]):
            raise ValueError(f"rendering: {name} is {options[name]!r}, {wanted!r} was expected")
    return options


def _directions(camera: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Where the camera is, (3,), and the unit directions of its rays row by row, (size², 3)."""
    world, pinhole = camera[:16].reshape(4, 4), camera[16:].reshape(3, 3)
    at = (torch.arange(size, device=camera.device) + 0.5) / size
    y, x = (each.flatten() for each in torch.meshgrid(at, at, indexing="ij"))
    down = (y - pinhole[1, 2]) / pinhole[1, 1]
    across = (x - pinhole[0, 2] - pinhole[0, 1] * down) / pinhole[0, 0]
    ahead = torch.stack([across, down, torch.ones_like(x)], 1)
    return world[:3, 3], functional.normalize(ahead @ world[:3, :3].t(), dim=1)


def _looked_up(planes: Tensor, points: Tensor) -> Tensor:
    """Bilinear mean over the planes at points (m, 3) in [-1, 1], zero outside: (m, features)."""
    places = torch.stack([points[:, axes] for axes in PLANES])[:, None]
    return functional.grid_sample(planes, places, align_corners=False)[:, :, 0].mean(0).t()


def _middles(x: Tensor) -> Tensor:
    """Means of neighbouring samples (r, k, …)."""
    return (x[:, :-1] + x[:, 1:]) / 2


def _weights(depths: Tensor, density: Tensor) -> Tensor:
    """How much each step of a ray (r, k) is seen, (r, k - 1)."""
    density = functional.softplus(_middles(density) - 1)
    clear = torch.exp(-density * depths.diff(dim=1))
    passed = torch.cumprod(clear + 1e-10, 1)
    return (1 - clear) * torch.cat([torch.ones_like(passed[:, :1]), passed[:, :-1]], 1)


def _importance(depths: Tensor, weights: Tensor, count: int) -> Tensor:
    """More depths where more is seen, (r, count), at the quantiles (i + ½) / count."""
    smooth = functional.max_pool1d(weights[:, None], 2, 1, padding=1)
    smooth = functional.avg_pool1d(smooth, 2, 1)[:, 0] + 0.01
    share = smooth[:, 1:-1] + 1e-5
    share = share / share.sum(1, keepdim=True)
    reached = functional.pad(share.cumsum(1), (1, 0))
    u = (torch.arange(count, device=depths.device) + 0.5) / count
    above = torch.searchsorted(reached, u.repeat(len(depths), 1), right=True)
    below, above = (above - 1).clamp(min=0), above.clamp(max=share.shape[1])
    bins = _middles(depths)
    low, high = reached.gather(1, below), reached.gather(1, above)
    width = high - low
    width = torch.where(width < 1e-5, 1.0, width)
    near, far = bins.gather(1, below), bins.gather(1, above)
    return near + (u - low) / width * (far - near)
