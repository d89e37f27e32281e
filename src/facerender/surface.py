"""The image under construction, the places where rays met a solid, and the light on them."""

from __future__ import annotations

from collections import namedtuple

from numpy import float32

from facerender.colours import Colour, blend, dim, hsv
from facerender.compiled import formula, loop
from facerender.maths import Vector, add, along, at, blob, mix, put_at, scale, smoothstep, unit
from facerender.rays import HALF_EXTENT, coverage
from facerender.skull import distances, head_distances

OPAQUE = 0.999
"""What lies behind a layer of more opacity than this is not computed."""


Canvas = namedtuple("Canvas", "red green blue head depth")
"""Linear light, a head channel and the depth of what is shown; arrays (size²,).

*head*: 1 on the head, ears, hair and headwear, 0 elsewhere.
"""


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


_CORNERS = ((1.0, -1.0, -1.0), (-1.0, -1.0, 1.0), (-1.0, 1.0, -1.0), (1.0, 1.0, 1.0))
TETRAHEDRON = tuple(Vector(*corner) for corner in _CORNERS)


Hits = namedtuple(
    "Hits",
    "pixel x y z ray_x ray_y ray_z normal_x normal_y normal_z distance opacity red green blue "
    "gloss glow shadow hair_light noise noise_2 noise_3",
)
"""Listed places, one after the other; arrays (k,).

*pixel*: place in the flattened image, or in a longer list; int32; *ray_x*: the ray's direction;
*distance*: from the camera; *gloss*: weight of the specular highlight; *glow*: highlights added
on top of the shading (catch lights); *shadow*: what passes of the key light; *hair_light*: what
passes of all light below the hair; *noise*: a texture's value there, as the next two.
"""


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
    put_at(hits, k, at(points, i))
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
            put_at(points, i, along(at(hits, i), corner, step))
        distances(points, count, solid)
        for i in range(count):
            hits.normal_x[i] += corner.x * points.distance[i]
            hits.normal_y[i] += corner.y * points.distance[i]
            hits.normal_z[i] += corner.z * points.distance[i]
    for i in range(count):
        normal = unit(normal_of(hits, i))
        hits.normal_x[i], hits.normal_y[i], hits.normal_z[i] = normal.x, normal.y, normal.z


SHADOW_STEPS = 4


@formula
def wrapped(cosine, wrap):
    """Diffuse light that reaches around the edge of a body, as under skin."""
    return max((cosine + wrap) * (1.0 / (1.0 + wrap)), 0.0)


@loop
def soft_shadows(places, count, points, head, light, passed):
    """Light that passes the head towards the key light, 0.4 to 1, at the first `count` places."""
    reach = float32(0.06)
    for i in range(count):
        passed[i] = 1.0
    for _ in range(SHADOW_STEPS):
        step = scale(light.head, reach)
        for i in range(count):
            put_at(points, i, add(at(places, i), step))
        head_distances(points, count, head)
        for i in range(count):
            passed[i] = min(passed[i], 0.70 + (1.15 / reach) * points.distance[i])
        reach *= 2.0
    for i in range(count):
        passed[i] = 0.42 + 0.58 * smoothstep(0.0, 1.0, passed[i])


@formula
def wall_colour(face):
    """Linear-light colour of the studio's wall."""
    return hsv(face.background_hue, 0.22, 0.14 + 0.72 * face.background_value)


@formula
def backdrop(x, y, wall, light):
    """The wall with a vignette and a glow from the key light."""
    x_part, y_part = x * (1.0 / HALF_EXTENT), y * (1.0 / HALF_EXTENT)
    vignette = 1.0 - 0.30 * (0.6 * x_part**2 + 0.7 * (y_part - 0.24) ** 2)
    glow = 1.0 + 0.25 * blob(x - 0.4 * light.world.x, 1.1, y - 0.2, 1.2)
    return dim(wall, vignette * glow)
