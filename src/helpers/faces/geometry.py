"""The head and the torso as signed distance fields; the face's relief as a displacement map.

The skull is a smooth union of ellipsoids. Brow ridge, sockets, nose, lips, cheeks and folds are
a frontal height map per image, subtracted from the distance where the surface faces forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from helpers.faces.anatomy import Anatomy, Skull
from helpers.faces.maths import box_mean, bump, mix, sliding_maximum, smooth_min, smoothstep
from helpers.faces.quadrics import Ellipsoids
from helpers.faces.textures import sample_grid

RELIEF_WIDTH, RELIEF_HEIGHT = 56, 120
RELIEF_X = 1.0
RELIEF_BOTTOM, RELIEF_TOP = -1.40, 0.95


@dataclass(frozen=True)
class Relief:
    """The face's relief on |x| in [0, 1], y in [-1.4, 0.95].

    `height` is displacement towards the camera. `slowness` scales the field down where the relief
    is steep, so that marching does not overshoot. `occlusion` darkens concave places.
    """

    channels: Tensor
    """(n, 3, rows, columns): height, slowness, occlusion."""

    def sample(self, x: Tensor, y: Tensor, first: int, last: int) -> Tensor:
        """Channels first..last (exclusive) at head coordinates, (n, last - first, k)."""
        u = x.abs().mul_(2 / RELIEF_X).sub_(1)
        v = (y - RELIEF_BOTTOM).mul_(2 / (RELIEF_TOP - RELIEF_BOTTOM)).sub_(1)
        return sample_grid(self.channels[:, first:last], u, v)


def face_relief(head: Anatomy) -> Relief:
    """Relief map of every head."""
    device = head.mouth.y.device
    x = torch.linspace(0, RELIEF_X, RELIEF_WIDTH, device=device)[None, None, :]
    y = torch.linspace(RELIEF_BOTTOM, RELIEF_TOP, RELIEF_HEIGHT, device=device)[None, :, None]
    wide = _Widened(head)
    height = _brow_and_eyes(wide, x, y) + _nose(wide, x, y) + _mouth(wide, x, y)
    height = height + _cheeks(wide, x, y)
    return Relief(torch.stack([height, _slowness(height), _occlusion(height)], 1))


class _Widened:
    """The same anatomy with every quantity shaped (n, 1, 1), to broadcast over a map."""

    def __init__(self, head: Anatomy) -> None:
        for part in ("traits", "eyes", "nose", "mouth"):
            source = getattr(head, part)
            fields = {k: v[:, :, None] for k, v in vars(source).items()}
            setattr(self, part, type(source)(**fields))


def _brow_and_eyes(head: _Widened, x: Tensor, y: Tensor) -> Tensor:
    traits, eyes = head.traits, head.eyes
    ridge = (0.040 + 0.030 * traits.male) * (1 - 0.7 * traits.child)
    height = ridge * bump((y - 0.225) / 0.10) * bump((x - 0.25) / 0.28)
    socket = 0.120 + 0.015 * traits.male - 0.03 * traits.child
    height = height - socket * bump((x - eyes.x + 0.02) / 0.21) * bump((y - eyes.y - 0.02) / 0.13)
    across, up = (x - eyes.x) / (eyes.size * 0.95), (y - eyes.y) / (eyes.size * 0.80)
    ball = 0.110 * torch.exp(-((across * across + up * up) ** 1.3))
    bag = 0.012 + 0.028 * traits.old
    hollow = bag * bump((y - eyes.y + 0.135) / 0.04) * bump((x - eyes.x + 0.03) / 0.14)
    return height + ball - hollow


def _nose(head: _Widened, x: Tensor, y: Tensor) -> Tensor:
    nose = head.nose
    down = ((y - nose.root_y) / (nose.base_y - nose.root_y)).clamp(0, 1.3)
    # Straight bridge, then the tip stands out; the base turns under over a short distance.
    profile = torch.where(down < 1, 0.30 * down + 0.56 * down**1.6 + 0.14 * down**6, 1.0)
    profile = profile * smoothstep(nose.base_y - 0.12, nose.base_y + 0.05, y)
    half_width = mix(0.075, 0.70 * nose.width, smoothstep(0.35, 1.0, down))
    bridge = nose.projection * profile * torch.exp(-((x / half_width) ** 2).clamp_max(30))
    tip = 0.030 * bump(x / 0.085) * bump((y - nose.base_y - 0.05) / 0.085)
    wings = 0.068 * bump((x - nose.width * 0.80) / (nose.width * 0.38))
    wings = wings * bump((y - nose.base_y - 0.025) / 0.068)
    root = 0.030 * bump(x / 0.09) * bump((y - nose.root_y) / 0.07)
    return bridge + tip + wings - root


def _mouth(head: _Widened, x: Tensor, y: Tensor) -> Tensor:
    mouth = head.mouth
    across = x / mouth.width
    line = mouth.line(across)
    muzzle = 0.050 * bump(x / (mouth.width * 1.25)) * bump((y - mouth.y) / 0.20)
    within = smoothstep(1.10, 0.30, across)
    upper = 0.042 * within * bump((y - line - mouth.upper * 0.55) / (mouth.upper * 0.80))
    lower_y = line - mouth.lower * 0.55 - mouth.opening
    lower = 0.058 * within * bump((y - lower_y) / (mouth.lower * 0.80))
    seam_width = 0.026 + mouth.opening * 0.4
    seam = 0.034 * smoothstep(1.15, 0.8, across) * bump((y - line + mouth.opening / 2) / seam_width)
    philtrum = 0.014 * bump(x / 0.035) * bump((y - mouth.y - 0.15) / 0.06)
    below = 0.036 * bump(x / 0.24) * bump((y - mouth.y + 0.185 + mouth.opening) / 0.06)
    corners = 0.018 * bump((x - mouth.width * 1.06) / 0.05) * bump((y - line) / 0.06)
    return muzzle + upper + lower - seam - philtrum - below - corners


def _cheeks(head: _Widened, x: Tensor, y: Tensor) -> Tensor:
    traits, nose, mouth = head.traits, head.nose, head.mouth
    apple = 0.060 * traits.smile + 0.055 * traits.child
    height = apple * bump((x - 0.40) / 0.21) * bump((y + 0.34) / 0.17)
    down = (y - nose.base_y - 0.02) / (mouth.y - 0.08 - nose.base_y)
    along = nose.width + 0.03 + (0.17 + 0.05 * traits.smile) * down
    crease = bump((x - along) / 0.05) * smoothstep(-0.15, 0.1, down) * smoothstep(1.25, 0.8, down)
    depth = 0.004 + 0.024 * traits.smile + 0.034 * traits.old
    hollow = 0.025 * traits.old * bump((x - 0.46) / 0.12) * bump((y + 0.42) / 0.22)
    return height - depth * crease - hollow


def _slowness(height: Tensor) -> Tensor:
    rows = (RELIEF_TOP - RELIEF_BOTTOM) / (RELIEF_HEIGHT - 1)
    columns = RELIEF_X / (RELIEF_WIDTH - 1)
    slope_y, slope_x = torch.gradient(height, spacing=(rows, columns), dim=(1, 2))
    steepness = slope_x.square_().add_(slope_y.square_())
    steepest = sliding_maximum(sliding_maximum(steepness, 4, 4, -1), 4, 4, -2)
    return steepest.add_(1).rsqrt_().clamp_min_(0.36)


def _occlusion(height: Tensor) -> Tensor:
    """Ambient occlusion from how far a place lies below its surroundings, at two scales."""
    far = (box_mean(height, 6) - height).clamp_min_(0)
    near = (box_mean(height, 3) - height).clamp_min_(0)
    return far.mul_(-2.2).sub_(near, alpha=4.2).exp_()


class Head:
    """Distance field of a batch of heads, in the head frame."""

    def __init__(self, head: Anatomy, relief: Relief) -> None:
        self.relief = relief
        self._ellipsoids = _head_ellipsoids(head.skull)

    def _solids(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Distances to the bare skull, and to the ears."""
        side = x.abs()
        # Ears lean back: their depth is measured along a slanted axis.
        lean = torch.add(z, y, alpha=0.25).add_(side, alpha=0.45)
        solid, jaw, angle, chin, cheek, shell, bowl = self._ellipsoids(side, y, z, lean)
        solid = smooth_min(solid, jaw, 0.30)
        for part in (angle, chin, cheek):
            solid = smooth_min(solid, part, 0.26)
        return solid, torch.maximum(shell, -bowl)

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """Signed distance, first order, with relief and ears."""
        return self._displaced(x, y, z)[0]

    def cautious(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """The distance scaled so that steps of its size never cross the relief."""
        distance, slowness = self._displaced(x, y, z)
        return distance * slowness

    def _displaced(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        relief = self.relief.sample(x, y, 0, 2)
        solid, ears = self._solids(x, y, z)
        solid = solid.addcmul_(relief[:, 0], smoothstep(0.05, 0.40, z), value=-1)
        return smooth_min(solid, ears, 0.05), relief[:, 1]

    def occlusion(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """Ambient occlusion of the relief, 1 away from the face."""
        return mix(1.0, self.relief.sample(x, y, 2, 3)[:, 0], smoothstep(0.05, 0.35, z))


def _head_ellipsoids(skull: Skull) -> Ellipsoids:
    """Cranium, jaw, its angles, chin, cheeks, and the ears' shells and bowls.

    Coordinates are |x|, y, z and the slanted depth of the ears.
    """
    angle, cheek = skull.angle_size, skull.cheek_size
    # The slanted depth z + 0.25 y + 0.45 |x| at the middle of an ear.
    lean = 0.45 * skull.ear_x - 0.1125
    centres_and_radii = (
        ((0, 0.28, -0.14, 0), (*skull.cranium, inf)),
        ((0, -0.36, 0.10, 0), (*skull.jaw, inf)),
        ((skull.angle_x, skull.angle_y, 0.06, 0), (angle, angle * 1.25, angle * 1.5, inf)),
        ((0, skull.chin_y, 0.50, 0), (*skull.chin, inf)),
        ((skull.cheek_x, skull.cheek_y, 0.36, 0), (cheek, cheek * 0.9, cheek * 1.2, inf)),
        ((skull.ear_x, -0.04, 0, lean), (0.060, 0.20, inf, 0.12)),
        ((skull.ear_x + 0.055, -0.02, 0, lean + 0.07), (0.035, 0.12, inf, 0.06)),
    )
    return Ellipsoids(*zip(*centres_and_radii, strict=True), like=skull.width)


class Torso:
    """Distance field of neck and shoulders, in the world frame."""

    def __init__(self, head: Anatomy) -> None:
        self.skull = skull = head.skull
        radii = (skull.shoulder_width, 0.88, 0.66)
        self._shoulders = Ellipsoids([(0, -2.42, -0.30)], [radii], like=skull.width)

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """Signed distance, first order."""
        lean = torch.add(z, y, alpha=0.10).add_(0.32)
        neck = (x * x).addcmul_(lean, lean).add_(1e-6).sqrt_().sub_(self.skull.neck_radius)
        ends = (y + 1.35).abs_().sub_(0.85)
        (shoulders,) = self._shoulders(x, y, z)
        return smooth_min(torch.maximum(neck, ends), shoulders, 0.36)
