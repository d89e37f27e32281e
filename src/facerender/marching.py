"""Sphere tracing: coarse on half the resolution, then refined on the pixels that matter.

The coarse march finds the pixels near a solid; only those are listed, refined and shaded. A solid
is a loop that computes the distances of points, and the constants that it takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import float32, int32, uint8

from facerender.camera import Pose, plane_x, plane_y, ray_direction, turn_to_head
from facerender.compiled import formula, loop
from facerender.geometry import Points, distances
from facerender.maths import clamp, smoothstep, widen

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


class Directions(NamedTuple):
    """Unit directions of all rays of an image, arrays (size²,)."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray


class Rays(NamedTuple):
    """Listed rays on their way; arrays (k,)."""

    pixel: np.ndarray
    """Place of the ray's pixel in the flattened image, or in a longer list; int32."""
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    distance: np.ndarray
    """From the camera."""
    nearest: np.ndarray
    """The least distance from the solid so far."""
    value: np.ndarray
    """The last distance from the solid."""


class Coarse(NamedTuple):
    """What the rays of half the resolution found; arrays (coarse², )."""

    distance: np.ndarray
    nearest: np.ndarray
    near: np.ndarray
    """1 where a ray passes close to the solid, else 0."""
    wide: np.ndarray
    """To compute in, as the next."""
    first: np.ndarray


class Tracer(NamedTuple):
    """Room for the rays of one image."""

    full: Directions
    """In the head's frame."""
    coarse: Directions
    world: Directions
    coarse_world: Directions
    rays: Rays
    few: Rays
    points: Points
    found: Coarse


@loop
def make_directions(size):
    """Room for the directions of an image."""
    rows = np.empty((3, size * size), float32)
    return Directions(rows[0], rows[1], rows[2])


@loop
def make_rays(count):
    """Room for `count` rays."""
    rows = np.empty((6, count), float32)
    pixel = np.empty(count, int32)
    return Rays(pixel, rows[0], rows[1], rows[2], rows[3], rows[4], rows[5])


@loop
def make_points(count):
    """Room for `count` points."""
    rows = np.empty((6, count), float32)
    return Points(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5])


@loop
def make_tracer(size):
    """Room for the rays of an image of `size` pixels."""
    half = (size + 1) // 2
    found = np.empty((5, half * half), float32)
    room = max(size * size, half * half)
    return Tracer(
        make_directions(size),
        make_directions(half),
        make_directions(size),
        make_directions(half),
        make_rays(room),
        make_rays(room),
        make_points(room),
        Coarse(found[0], found[1], found[2], found[3], found[4]),
    )


@loop
def point_directions(directions, view, pose):
    """Directions of all pixels in the head's frame; without turning, in the world's."""
    for row in range(view.size):
        start = row * view.size
        y = plane_y(view, float32(row))
        for column in range(view.size):
            turned = turn_to_head(pose, ray_direction(plane_x(view, float32(column)), y))
            directions.x[start + column] = turned.x
            directions.y[start + column] = turned.y
            directions.z[start + column] = turned.z


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
        points.x[i] = origin.x + rays.x[i] * rays.distance[i]
        points.y[i] = origin.y + rays.y[i] * rays.distance[i]
        points.z[i] = origin.z + rays.z[i] * rays.distance[i]


@formula
def copy_ray(source, i, target, k):
    """Copy a ray with what it has met, but its pixel."""
    target.x[k], target.y[k], target.z[k] = source.x[i], source.y[i], source.z[i]
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
        rays.x[i], rays.y[i], rays.z[i] = directions.x[i], directions.y[i], directions.z[i]
        rays.distance[i], rays.nearest[i] = start, FAR
    march(rays, count, origin, tracer.points, solid, FIRST_STEPS, direction, -0.4, 0.7)
    # By now a ray is past the solid, or near it, or has arrived.
    ends = (CONVERGED, PASSED)
    steps = steps - FIRST_STEPS
    march_on(rays, count, tracer, origin, solid, steps, direction, ends, -0.4, 0.7)
    for i in range(count):
        found.distance[i], found.nearest[i] = rays.distance[i], rays.nearest[i]


@loop
def mark_near(found, view, wanted):
    """Mark the pixels (uint8, size²) whose coarse rays, or their neighbours, are near."""
    half = (view.size + 1) // 2
    shape = (half, half)
    wide = found.wide.reshape(shape)
    widen(found.near.reshape(shape), wide, found.first.reshape(shape))
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
    half = (view.size + 1) // 2
    shape = (half, half)
    for i in range(half * half):
        found.near[i] = -direction * found.distance[i]
    first = found.wide.reshape(shape)
    widen(found.near.reshape(shape), first, found.first.reshape(shape))
    for row in range(view.size):
        for column in range(view.size):
            pixel = row * view.size + column
            if wanted[pixel]:
                rays.pixel[count] = pixel
                rays.x[count], rays.y[count] = directions.x[pixel], directions.y[pixel]
                rays.z[count] = directions.z[pixel]
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
