"""Sphere tracing: coarse on half the resolution, then refined on the pixels that matter.

The coarse march finds the pixels near a solid; only those are refined and shaded. Every image
gets a list of the same length, filled up with pixels that are marked invalid, so that a batch
stays one tensor and no image depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.faces.camera import HALF_EXTENT, Pose, Rays, camera_rays, plane_grid
from helpers.faces.maths import Vector, sliding_maximum, smoothstep

Field = Callable[[Tensor, Tensor, Tensor], Tensor]

FAR = 99.0
STEP_FACTOR = 0.92
"""Below one: the fields are distances to first order only."""
FIRST_STEPS = 4
"""Steps of all coarse rays, before those that matter are singled out."""
PASSED = 0.6
"""Coarse rays that are further away by then have missed."""
CONVERGED = 0.0001
"""Coarse rays nearer to the surface than this stay where they are."""
SETTLED = 0.005
"""Rays nearer to the surface than this have arrived."""
GONE = 0.25
"""Rays that have left the surface this far behind will not come back."""
SETTLE_STEPS = 6
MISS_MARGIN = 0.05
"""How near a coarse ray must pass for its pixels to be refined, in world units plus pixels."""


class View:
    """Pixel rays of a square image in both frames, at full and at half resolution."""

    def __init__(self, pose: Pose, size: int, device: torch.device) -> None:
        self.size, self.coarse_size = size, (size + 1) // 2
        self.pixel = 2 * HALF_EXTENT / size
        self.x, self.y = plane_grid(size, self.pixel, device)
        self.world = camera_rays(self.x, self.y)
        self.coarse_world = camera_rays(*plane_grid(self.coarse_size, 2 * self.pixel, device))
        self.head = pose.rays_to_head(self.world)
        self.coarse_head = pose.rays_to_head(self.coarse_world)

    def rays(self, in_head_frame: bool) -> tuple[Rays, Rays]:
        """Full and coarse rays in one of the frames."""
        if in_head_frame:
            return self.head, self.coarse_head
        return self.world, self.coarse_world

    def upsample(self, coarse: Tensor) -> Tensor:
        """Repeat values (n, coarse²) over the pixels (n, size²) they stand for."""
        image = coarse.reshape(len(coarse), self.coarse_size, self.coarse_size)
        image = image.repeat_interleave(2, 1).repeat_interleave(2, 2)
        return image[:, : self.size, : self.size].reshape(len(coarse), -1)

    def widen(self, coarse: Tensor) -> Tensor:
        """Maximum over 3 x 3 neighbours of a coarse image."""
        image = coarse.reshape(len(coarse), self.coarse_size, self.coarse_size)
        return sliding_maximum(sliding_maximum(image, 1, 1, -1), 1, 1, -2).flatten(1)


@dataclass(frozen=True)
class PixelList:
    """Some pixels of every image: positions (n, k) in the flattened image, and validity."""

    index: Tensor
    valid: Tensor

    def gather(self, image: Tensor) -> Tensor:
        """Values (n, k) of a flattened image (n or 1, size²)."""
        return image.expand(len(self.index), -1).gather(1, self.index)


def list_pixels(wanted: Tensor) -> PixelList:
    """Pixel lists from a mask (n, size²), padded to the longest row.

    All the padding of a row is one pixel that is not wanted, so that nothing meets it twice with
    different results.
    """
    counts = wanted.sum(1)
    valid = torch.arange(max(int(counts.max()), 1), device=wanted.device) < counts[:, None]
    index = wanted.byte().argmin(1, keepdim=True).repeat(1, valid.shape[1])
    index[valid] = wanted.nonzero()[:, 1]
    return PixelList(index, valid)


@dataclass(frozen=True)
class Hit:
    """Where rays meet a solid: distance, point and coverage (n, k) of the listed pixels."""

    pixels: PixelList
    rays: Rays
    distance: Tensor
    point: Vector
    coverage: Tensor

    def part(self, few: PixelList) -> Hit:
        """Some of the listed pixels; `few` counts them by their places in the list."""
        pixels = PixelList(few.gather(self.pixels.index), few.gather(self.pixels.valid) & few.valid)
        return Hit(
            pixels,
            self.rays.take(few.index),
            few.gather(self.distance),
            tuple(few.gather(p) for p in self.point),
            few.gather(self.coverage),
        )


def coarse_march(
    field: Field, rays: Rays, start: Tensor, steps: int, direction: int = 1
) -> tuple[Tensor, Tensor]:
    """Distance along coarse rays and nearest approach, both (n, coarse²)."""
    march = _March(field, direction, (-0.4, 0.7))
    state = march(rays, (start, torch.full_like(start, FAR)), FIRST_STEPS)
    # By now a ray is past the solid, or near it, or has arrived.
    nearby = (state[2].abs() > CONVERGED) & (state[2] < PASSED)
    distance, nearest, _ = march.again(rays, list_pixels(nearby), state, steps - FIRST_STEPS)
    return distance, nearest


def refine(
    field: Field,
    view: View,
    rays: Rays,
    pixels: PixelList,
    coarse_distance: Tensor,
    steps: int,
    settle: int = 0,
    direction: int = 1,
) -> Hit:
    """March the listed pixels at full resolution from the nearest of the coarse neighbours.

    `settle` is how often rays that have neither arrived nor gone get some more steps.
    """
    # Of the neighbouring coarse rays the one that stopped first: its start is outside the solid.
    first = -direction * view.widen(-direction * coarse_distance)
    distance = pixels.gather(view.upsample(first))
    rays = rays.take(pixels.index)
    march = _March(field, direction, (-0.3, 0.6))
    state = march(rays, (distance, torch.full_like(distance, FAR)), steps)
    # Rays that graze an edge on their way (the nose before the cheek) need more steps.
    for _ in range(settle):
        few = list_pixels(pixels.valid & (state[2].abs() > SETTLED) & (state[2] < GONE))
        state = march.again(rays, few, state, SETTLE_STEPS)
    distance, nearest, _ = state
    coverage = soft_coverage(nearest, view.pixel) * pixels.valid
    return Hit(pixels, rays, distance, rays.at(distance), coverage)


@dataclass(frozen=True)
class _March:
    """Some steps along rays; `direction` -1 marches towards the camera.

    The state of a march is distance, nearest approach so far, and the last field value.
    """

    field: Field
    direction: int
    limits: tuple[float, float]
    """The longest steps back and forth."""

    def __call__(self, rays: Rays, state: tuple[Tensor, ...], steps: int) -> tuple[Tensor, ...]:
        """The state after some steps of all rays."""
        distance, nearest = state[:2]
        for _ in range(steps):
            value = self.field(*rays.at(distance))
            nearest = torch.minimum(nearest, value)
            step = value.clamp(*self.limits)
            distance = torch.add(distance, step, alpha=self.direction * STEP_FACTOR)
        return distance, nearest, value

    def again(
        self, rays: Rays, few: PixelList, state: tuple[Tensor, ...], steps: int
    ) -> tuple[Tensor, ...]:
        """The state after some more steps of a few rays."""
        moved = self(rays.take(few.index), tuple(few.gather(part) for part in state), steps)
        return tuple(
            before.scatter(1, few.index, torch.where(few.valid, after, few.gather(before)))
            for before, after in zip(state, moved, strict=True)
        )


def soft_coverage(nearest: Tensor, pixel: float) -> Tensor:
    """Antialiased coverage from a ray's nearest approach to the surface."""
    width = max(pixel, 0.014)
    return 1 - smoothstep(0.45 * width, 1.25 * width, nearest)


def near_mask(view: View, nearest: Tensor, shown: Tensor | bool = True) -> Tensor:
    """Full-resolution mask (n, size²) of the pixels whose coarse rays pass close to a solid.

    `shown` tells of every coarse ray whether what it meets can be seen.
    """
    near = (nearest < MISS_MARGIN + view.pixel) & shown
    return view.upsample(view.widen(near.to(nearest.dtype))) > 0
