"""The image under construction, and the places where rays met a solid while they are coloured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import float32, int32

from facerender.colours import Colour, blend
from facerender.compiled import formula, loop
from facerender.geometry import distances
from facerender.marching import coverage
from facerender.maths import Vector, mix, unit

OPAQUE = 0.999
"""What lies behind a layer of more opacity than this is not computed."""


class Canvas(NamedTuple):
    """Linear light, a head channel and the depth of what is shown; arrays (size²,)."""

    red: np.ndarray
    green: np.ndarray
    blue: np.ndarray
    head: np.ndarray
    """1 on the head, ears, hair and headwear, 0 elsewhere."""
    depth: np.ndarray


@loop
def make_canvas(count):
    """Room for an image of `count` pixels."""
    rows = np.empty((5, count), float32)
    return Canvas(rows[0], rows[1], rows[2], rows[3], rows[4])


@formula
def put(canvas, pixel, colour):
    """Set a pixel's colour."""
    canvas.red[pixel], canvas.green[pixel] = colour.red, colour.green
    canvas.blue[pixel] = colour.blue


@formula
def over(canvas, pixel, colour, opacity, head):
    """Blend a layer over a pixel; `head` goes to the head channel."""
    below = Colour(canvas.red[pixel], canvas.green[pixel], canvas.blue[pixel])
    put(canvas, pixel, blend(below, colour, opacity))
    canvas.head[pixel] = mix(canvas.head[pixel], head, opacity)


@formula
def occlude(canvas, pixel, distance, opacity):
    """Record the depth of a layer where it is opaque."""
    if opacity > 0.5:
        canvas.depth[pixel] = distance


TETRAHEDRON = (
    Vector(1.0, -1.0, -1.0),
    Vector(-1.0, -1.0, 1.0),
    Vector(-1.0, 1.0, -1.0),
    Vector(1.0, 1.0, 1.0),
)


class Hits(NamedTuple):
    """Listed places, one after the other; arrays (k,)."""

    pixel: np.ndarray
    """Place in the flattened image, or in a longer list; int32."""
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    ray_x: np.ndarray
    """The ray's direction."""
    ray_y: np.ndarray
    ray_z: np.ndarray
    normal_x: np.ndarray
    normal_y: np.ndarray
    normal_z: np.ndarray
    distance: np.ndarray
    """From the camera."""
    opacity: np.ndarray
    red: np.ndarray
    green: np.ndarray
    blue: np.ndarray
    gloss: np.ndarray
    """Weight of the specular highlight."""
    glow: np.ndarray
    """Highlights added on top of the shading (catch lights)."""
    shadow: np.ndarray
    """What passes of the key light."""
    hair_light: np.ndarray
    """What passes of all light below the hair."""
    noise: np.ndarray
    """A texture's value there, as the next two."""
    noise_2: np.ndarray
    noise_3: np.ndarray


@loop
def make_hits(count):
    """Room for `count` places."""
    r = np.empty((21, count), float32)
    pixel = np.empty(count, int32)
    near = (r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9])
    far = (r[10], r[11], r[12], r[13], r[14], r[15], r[16], r[17], r[18], r[19], r[20])
    return Hits(pixel, *near, *far)


@formula
def point_of(hits, i):
    """The place of a hit."""
    return Vector(hits.x[i], hits.y[i], hits.z[i])


@formula
def view_of(hits, i):
    """Direction from a hit to the camera."""
    return Vector(-hits.ray_x[i], -hits.ray_y[i], -hits.ray_z[i])


@formula
def normal_of(hits, i):
    """Unit normal of the surface at a hit."""
    return Vector(hits.normal_x[i], hits.normal_y[i], hits.normal_z[i])


@formula
def colour_of(hits, i):
    """The colour of a hit."""
    return Colour(hits.red[i], hits.green[i], hits.blue[i])


@formula
def set_colour(hits, i, colour):
    """Set the colour of a hit."""
    hits.red[i], hits.green[i], hits.blue[i] = colour.red, colour.green, colour.blue


@formula
def take(hits, k, rays, points, i):
    """Make a hit of a ray that has ended."""
    hits.pixel[k] = rays.pixel[i]
    hits.x[k], hits.y[k], hits.z[k] = points.x[i], points.y[i], points.z[i]
    hits.ray_x[k], hits.ray_y[k], hits.ray_z[k] = rays.x[i], rays.y[i], rays.z[i]
    hits.distance[k] = rays.distance[i]


@loop
def take_hits(hits, rays, points, count, edges):
    """Make hits of the rays that have met a solid, and of those between its `edges`.

    Returns how many they are.
    """
    kept = 0
    for i in range(count):
        opacity = coverage(rays.nearest[i], edges)
        if opacity > 0.0:
            take(hits, kept, rays, points, i)
            hits.opacity[kept] = opacity
            kept += 1
    return kept


@loop
def find_normals(hits, count, points, solid, step):
    """Unit gradients of a solid's distance from four samples at a tetrahedron's corners."""
    for i in range(count):
        hits.normal_x[i], hits.normal_y[i], hits.normal_z[i] = 0.0, 0.0, 0.0
    for number in range(4):
        corner = TETRAHEDRON[number]
        for i in range(count):
            points.x[i] = hits.x[i] + step * corner.x
            points.y[i] = hits.y[i] + step * corner.y
            points.z[i] = hits.z[i] + step * corner.z
        distances(points, count, solid)
        for i in range(count):
            hits.normal_x[i] += corner.x * points.distance[i]
            hits.normal_y[i] += corner.y * points.distance[i]
            hits.normal_z[i] += corner.z * points.distance[i]
    for i in range(count):
        normal = unit(normal_of(hits, i))
        hits.normal_x[i], hits.normal_y[i], hits.normal_z[i] = normal.x, normal.y, normal.z
