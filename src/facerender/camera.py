"""Perspective camera, head pose and light directions.

World frame: x to the image's right, y up, z towards the camera; the torso stands still in it.
Head frame: the world turned by yaw (about y) and pitch (about x) around a pivot in the neck.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from facerender.compiled import formula
from facerender.maths import Vector

HALF_EXTENT = 1.55
"""Half of the world's width seen in the plane z = 0."""
CAMERA_HEIGHT = -0.10
CAMERA_DISTANCE = 7.5
PIVOT = Vector(0.0, -0.45, -0.25)
DEGREE = math.pi / 180


class Pose(NamedTuple):
    """Rotation between world and head frames."""

    cos_yaw: float
    sin_yaw: float
    cos_pitch: float
    sin_pitch: float


class Light(NamedTuple):
    """Key and ambient light; unit directions in the world and in the head frame."""

    world: Vector
    head: Vector
    up: Vector
    """World's up in the head frame."""
    key: float
    ambient: float


class View(NamedTuple):
    """The pixels of a square image."""

    size: int
    pixel: float
    """Width of a pixel in the plane z = 0."""


@formula
def head_pose(face):
    """The pose of a face."""
    yaw, pitch = DEGREE * face.yaw, DEGREE * face.pitch
    return Pose(math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch))


@formula
def turn_to_head(pose, v):
    """A direction of the world, in head coordinates."""
    x = pose.cos_yaw * v.x - pose.sin_yaw * v.z
    z = pose.sin_yaw * v.x + pose.cos_yaw * v.z
    return Vector(
        x, pose.cos_pitch * v.y - pose.sin_pitch * z, pose.sin_pitch * v.y + pose.cos_pitch * z
    )


@formula
def turn_to_world(pose, v):
    """A direction of the head, in world coordinates."""
    y = pose.cos_pitch * v.y + pose.sin_pitch * v.z
    z = pose.cos_pitch * v.z - pose.sin_pitch * v.y
    return Vector(pose.cos_yaw * v.x + pose.sin_yaw * z, y, pose.cos_yaw * z - pose.sin_yaw * v.x)


@formula
def to_head(pose, point):
    """A point of the world, in head coordinates."""
    turned = turn_to_head(pose, Vector(point.x - PIVOT.x, point.y - PIVOT.y, point.z - PIVOT.z))
    return Vector(turned.x + PIVOT.x, turned.y + PIVOT.y, turned.z + PIVOT.z)


@formula
def to_world(pose, point):
    """A point of the head, in world coordinates."""
    turned = turn_to_world(pose, Vector(point.x - PIVOT.x, point.y - PIVOT.y, point.z - PIVOT.z))
    return Vector(turned.x + PIVOT.x, turned.y + PIVOT.y, turned.z + PIVOT.z)


@formula
def plane_x(view, column):
    """World x of a column's pixel centres in the plane z = 0."""
    return (column + 0.5) * view.pixel - HALF_EXTENT


@formula
def plane_y(view, row):
    """World y of a row's pixel centres in the plane z = 0; rows count from the top."""
    return CAMERA_HEIGHT + HALF_EXTENT - (row + 0.5) * view.pixel


@formula
def ray_direction(x, y):
    """Unit direction from the camera to the point (x, y) of the plane z = 0, in the world."""
    rise = y - CAMERA_HEIGHT
    shorter = 1.0 / math.sqrt(x * x + rise * rise + CAMERA_DISTANCE * CAMERA_DISTANCE)
    return Vector(x * shorter, rise * shorter, -CAMERA_DISTANCE * shorter)


@formula
def project(view, point):
    """Pixel coordinates, x right and y down, of a world point."""
    magnified = CAMERA_DISTANCE / (CAMERA_DISTANCE - point.z) / view.pixel
    column = point.x * magnified + HALF_EXTENT / view.pixel
    row = HALF_EXTENT / view.pixel - (point.y - CAMERA_HEIGHT) * magnified
    return column, row


@formula
def make_light(face, pose):
    """Light from angles in degrees and power in [0, 1]; ambient light fills what the key lacks."""
    azimuth, elevation = DEGREE * face.light_azimuth, DEGREE * face.light_elevation
    flat = math.cos(elevation)
    world = Vector(math.sin(azimuth) * flat, math.sin(elevation), math.cos(azimuth) * flat)
    up = turn_to_head(pose, Vector(0.0, 1.0, 0.0))
    key, ambient = 0.35 + 1.05 * face.light_power, 0.50 - 0.14 * face.light_power
    return Light(world, turn_to_head(pose, world), up, key, ambient)
