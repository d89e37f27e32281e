"""Camera, poses, light directions, and sphere tracing.

World frame: x to the image's right, y up, z towards the camera; the torso stands still in it.
Head frame: the world turned by yaw (about y) and pitch (about x) around a pivot in the neck.

Rays march on half the resolution first, which finds the pixels near a solid; only those are
listed, refined and shaded. A solid is a loop that computes the distances of points, and the
constants that it takes.
"""

from __future__ import annotations

import math
from collections import namedtuple

from numpy import float32, uint8

from facerender.compiled import formula, loop
from facerender.maths import Vector, add, along, at, clamp, put_at, smoothstep, subtract, widen
from facerender.skull import distances

HALF_EXTENT = 1.55
"""Half of the world's width seen in the plane z = 0."""
CAMERA_HEIGHT = -0.10
CAMERA_DISTANCE = 7.5
PIVOT = Vector(0.0, -0.45, -0.25)
DEGREE = math.pi / 180


Pose = namedtuple("Pose", "cos_yaw sin_yaw cos_pitch sin_pitch")
"""Rotation between world and head frames."""


Light = namedtuple("Light", "world head up key ambient")
"""Key and ambient light; unit directions in the world and in the head frame.

*up*: world's up in the head frame.
"""


View = namedtuple("View", "size pixel")
"""The pixels of a square image.

*pixel*: width of a pixel in the plane z = 0.
"""


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
    return add(turn_to_head(pose, subtract(point, PIVOT)), PIVOT)


@formula
def to_world(pose, point):
    """A point of the head, in world coordinates."""
    return add(turn_to_world(pose, subtract(point, PIVOT)), PIVOT)


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
UNTURNED = Pose(1.0, 0.0, 1.0, 0.0)
MISS_MARGIN = 0.05
"""How near a coarse ray must pass for its pixels to be refined, in world units plus pixels."""


Directions = namedtuple("Directions", "x y z")
"""Unit directions of all rays of an image, arrays (size²,)."""


Rays = namedtuple("Rays", "pixel x y z distance nearest value")
"""Listed rays on their way; arrays (k,).

*pixel*: place of the ray's pixel in the flattened image, or in a longer list; int32; *distance*:
from the camera; *nearest*: the least distance from the solid so far; *value*: the last distance
from the solid.
"""


Coarse = namedtuple("Coarse", "distance nearest near wide first")
"""What the rays of half the resolution found; arrays (coarse², ).

*near*: 1 where a ray passes close to the solid, else 0; *wide*: to compute in, as the next.
"""


Tracer = namedtuple("Tracer", "full coarse world coarse_world rays few points found squares")
"""Room for the rays of one image.

*full*: in the head's frame; *found*: a `Coarse`; *squares*: the same memory as `found`, with arrays
(coarse, coarse). Python makes them: where a loop reshapes an array to sides that only the run
knows, numba compares an unsigned size with a signed one, and turns both into doubles.
"""


@loop
def point_directions(directions, view, pose):
    """Directions of all pixels in the head's frame; without turning, in the world's."""
    for row in range(view.size):
        start = row * view.size
        y = plane_y(view, float32(row))
        for column in range(view.size):
            turned = turn_to_head(pose, ray_direction(plane_x(view, float32(column)), y))
            put_at(directions, start + column, turned)


@formula
def soft_edges(pixel):
    """Where an antialiased edge begins and ends, in distances from the surface."""
    width = max(pixel, 0.014)
    return 0.45 * width, 1.25 * width


@formula
def coverage(nearest, edges):
    """Opacity along a ray from its nearest approach to the surface."""
    return 1.0 - smoothstep(edges[0], edges[1], nearest)


@loop
def march(rays, count, origin, points, solid, steps, direction, back, forth):
    """Take some steps along rays; `direction` -1 marches towards the camera.

    `back` and `forth` are the longest steps.
    """
    for _ in range(steps):
        walk(rays, count, origin, points)
        distances(points, count, solid)
        for i in range(count):
            value = points.distance[i]
            rays.nearest[i] = min(rays.nearest[i], value)
            rays.value[i] = value
            rays.distance[i] += direction * STEP_FACTOR * clamp(value, back, forth)


@loop
def walk(rays, count, origin, points):
    """The points that rays have reached."""
    for i in range(count):
        put_at(points, i, along(origin, at(rays, i), rays.distance[i]))


@formula
def copy_ray(source, i, target, k):
    """Copy a ray with what it has met, but its pixel."""
    put_at(target, k, at(source, i))
    target.distance[k], target.nearest[k] = source.distance[i], source.nearest[i]


@loop
def march_on(rays, count, tracer, origin, solid, steps, direction, ends, back, forth):
    """Take some more steps along those rays that are `ends` = (near, far) from the solid."""
    few, number = tracer.few, 0
    for i in range(count):
        if abs(rays.value[i]) > ends[0] and rays.value[i] < ends[1]:
            few.pixel[number] = i
            copy_ray(rays, i, few, number)
            number += 1
    march(few, number, origin, tracer.points, solid, steps, direction, back, forth)
    for k in range(number):
        i = few.pixel[k]
        rays.distance[i], rays.nearest[i] = few.distance[k], few.nearest[k]
        rays.value[i] = few.value[k]


@loop
def coarse_march(tracer, directions, origin, solid, start, steps, direction):
    """Fill `tracer.found` with the distances of the coarse rays and their nearest approaches."""
    rays, found, count = tracer.rays, tracer.found, len(directions.x)
    for i in range(count):
        put_at(rays, i, at(directions, i))
        rays.distance[i], rays.nearest[i] = start, FAR
    march(rays, count, origin, tracer.points, solid, FIRST_STEPS, direction, -0.4, 0.7)
    # By now a ray is past the solid, or near it, or has arrived.
    ends = (CONVERGED, PASSED)
    steps = steps - FIRST_STEPS
    march_on(rays, count, tracer, origin, solid, steps, direction, ends, -0.4, 0.7)
    for i in range(count):
        found.distance[i], found.nearest[i] = rays.distance[i], rays.nearest[i]


@loop
def mark_near(squares, view, wanted):
    """Mark the pixels (uint8, size²) whose coarse rays, or their neighbours, are near."""
    wide = squares.wide
    widen(squares.near, wide, squares.first)
    for row in range(view.size):
        for column in range(view.size):
            wanted[row * view.size + column] = uint8(wide[row >> 1, column >> 1] > 0.0)


@loop
def near_rays(found, view):
    """Say in `found.near` which coarse rays pass close to the solid."""
    for i in range(len(found.near)):
        found.near[i] = 1.0 if found.nearest[i] < MISS_MARGIN + view.pixel else 0.0


@loop
def list_rays(tracer, directions, wanted, view, direction):
    """List the wanted pixels' rays in `tracer.rays`; returns how many they are.

    They start where of the neighbouring coarse rays the first stopped: that is outside the solid.
    """
    found, rays, count = tracer.found, tracer.rays, 0
    for i in range(len(found.near)):
        found.near[i] = -direction * found.distance[i]
    first = tracer.squares.wide
    widen(tracer.squares.near, first, tracer.squares.first)
    for row in range(view.size):
        for column in range(view.size):
            pixel = row * view.size + column
            if wanted[pixel]:
                rays.pixel[count] = pixel
                put_at(rays, count, at(directions, pixel))
                rays.distance[count] = -direction * first[row >> 1, column >> 1]
                rays.nearest[count] = FAR
                count += 1
    return count


@loop
def refine(tracer, count, origin, solid, steps, settle, direction):
    """March the listed rays at full resolution; `tracer.points` are where they end.

    `settle` is how often rays that have neither arrived nor gone get some more steps.
    """
    rays = tracer.rays
    march(rays, count, origin, tracer.points, solid, steps, direction, -0.3, 0.6)
    # Rays that graze an edge on their way (the nose before the cheek) need more steps.
    ends = (SETTLED, GONE)
    for _ in range(settle):
        march_on(rays, count, tracer, origin, solid, SETTLE_STEPS, direction, ends, -0.3, 0.6)
    walk(rays, count, origin, tracer.points)
