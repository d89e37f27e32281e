"""Perspective camera, head pose and light directions.

World frame: x to the image's right, y up, z towards the camera; the torso stands still in it.
Head frame: the world turned by yaw (about y) and pitch (about x) around a pivot in the neck.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.faces.maths import Vector

HALF_EXTENT = 1.55
"""Half of the world's width seen in the plane z = 0."""
CAMERA_HEIGHT = -0.10
CAMERA_DISTANCE = 7.5
PIVOT = (0.0, -0.45, -0.25)


@dataclass(frozen=True)
class Rays:
    """Rays of a set of pixels, each a point and a unit direction: (n or 1, k)."""

    origin: Vector
    direction: Vector

    def at(self, distance: Tensor) -> Vector:
        """Points at a distance along the rays."""
        return tuple(
            torch.addcmul(o, d, distance) for o, d in zip(self.origin, self.direction, strict=True)
        )

    def take(self, index: Tensor) -> Rays:
        """The rays of a list of pixels, `index` (n, k)."""
        rows = len(index)
        direction = tuple(d.expand(rows, -1).gather(1, index) for d in self.direction)
        return Rays(self.origin, direction)


class Pose:
    """Rotation between world and head frames, per image."""

    def __init__(self, yaw: Tensor, pitch: Tensor) -> None:
        yaw, pitch = torch.deg2rad(yaw), torch.deg2rad(pitch)
        self.cos_yaw, self.sin_yaw = torch.cos(yaw), torch.sin(yaw)
        self.cos_pitch, self.sin_pitch = torch.cos(pitch), torch.sin(pitch)

    def turn_to_head(self, vector: Vector) -> Vector:
        """A direction of the world, in head coordinates."""
        x, y, z = vector
        x, z = self.cos_yaw * x - self.sin_yaw * z, self.sin_yaw * x + self.cos_yaw * z
        y, z = self.cos_pitch * y - self.sin_pitch * z, self.sin_pitch * y + self.cos_pitch * z
        return x, y, z

    def turn_to_world(self, vector: Vector) -> Vector:
        """A direction of the head, in world coordinates."""
        x, y, z = vector
        y, z = self.cos_pitch * y + self.sin_pitch * z, -self.sin_pitch * y + self.cos_pitch * z
        x, z = self.cos_yaw * x + self.sin_yaw * z, -self.sin_yaw * x + self.cos_yaw * z
        return x, y, z

    def to_head(self, point: Vector) -> Vector:
        """A point of the world, in head coordinates."""
        x, y, z = self.turn_to_head(tuple(p - c for p, c in zip(point, PIVOT, strict=True)))
        return x + PIVOT[0], y + PIVOT[1], z + PIVOT[2]

    def to_world(self, point: Vector) -> Vector:
        """A point of the head, in world coordinates."""
        x, y, z = self.turn_to_world(tuple(p - c for p, c in zip(point, PIVOT, strict=True)))
        return x + PIVOT[0], y + PIVOT[1], z + PIVOT[2]

    def rays_to_head(self, rays: Rays) -> Rays:
        """Rays of the world, in head coordinates."""
        return Rays(self.to_head(rays.origin), self.turn_to_head(rays.direction))


def plane_grid(size: int, pitch: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """World x and y, (1, size²), of pixel centres in the plane z = 0, rows from the top."""
    steps = (torch.arange(size, device=device) + 0.5) * pitch
    y, x = torch.meshgrid(CAMERA_HEIGHT + HALF_EXTENT - steps, steps - HALF_EXTENT, indexing="ij")
    return x.reshape(1, -1), y.reshape(1, -1)


def camera_rays(x: Tensor, y: Tensor) -> Rays:
    """World rays from the camera through points (x, y) of the plane z = 0."""
    zero = x.new_zeros(1, 1)
    rise = y - CAMERA_HEIGHT
    length = torch.sqrt(x * x + rise * rise + CAMERA_DISTANCE**2)
    direction = (x / length, rise / length, -CAMERA_DISTANCE / length)
    return Rays((zero, zero + CAMERA_HEIGHT, zero + CAMERA_DISTANCE), direction)


def project(point: Vector, size: int) -> Tensor:
    """Pixel coordinates (n, k, 2), x right and y down, of world points."""
    x, y, z = point
    magnification = CAMERA_DISTANCE / (CAMERA_DISTANCE - z)
    column = (x * magnification / HALF_EXTENT + 1) * size / 2
    row = (1 - (y - CAMERA_HEIGHT) * magnification / HALF_EXTENT) * size / 2
    return torch.stack([column, row], -1)


@dataclass(frozen=True)
class Light:
    """Key and ambient light; unit directions in the world and in the head frame, each (n, 1)."""

    world: Vector
    head: Vector
    up: Vector
    """World's up in the head frame."""
    key: Tensor
    ambient: Tensor


def make_light(azimuth: Tensor, elevation: Tensor, power: Tensor, pose: Pose) -> Light:
    """Light from angles in degrees and power in [0, 1]; ambient light fills what the key lacks."""
    azimuth, elevation = torch.deg2rad(azimuth), torch.deg2rad(elevation)
    flat = torch.cos(elevation)
    world = (torch.sin(azimuth) * flat, torch.sin(elevation), torch.cos(azimuth) * flat)
    zero = torch.zeros_like(azimuth)
    up = pose.turn_to_head((zero, zero + 1, zero))
    key, ambient = 0.35 + 1.05 * power, 0.50 - 0.14 * power
    return Light(world, pose.turn_to_head(world), up, key, ambient)
