"""Light on head, neck and clothes, and the backdrop."""

from __future__ import annotations

import math

from numpy import float32

from helpers.faces.camera import HALF_EXTENT
from helpers.faces.colours import Colour, blend, dim, hsv
from helpers.faces.compiled import formula, loop
from helpers.faces.geometry import head_distances
from helpers.faces.maths import add, bump, clamp, dot, mix, scale, smoothstep, unit

SHADOW_STEPS = 4


@formula
def wrapped(cosine, wrap):
    """Diffuse light that reaches around the edge of a body, as under skin."""
    return max((cosine + wrap) / (1.0 + wrap), 0.0)


@loop
def soft_shadows(x, y, z, count, points, head, light, passed):
    """Light that passes the head towards the key light, 0.4 to 1, at places (count,)."""
    reach = float32(0.06)
    for i in range(count):
        passed[i] = 1.0
    for _ in range(SHADOW_STEPS):
        step = scale(light.head, reach)
        for i in range(count):
            points.x[i], points.y[i], points.z[i] = x[i] + step.x, y[i] + step.y, z[i] + step.z
        head_distances(points, count, head)
        for i in range(count):
            passed[i] = min(passed[i], 0.70 + 1.15 * points.distance[i] / reach)
        reach *= 2.0
    for i in range(count):
        passed[i] = 0.42 + 0.58 * smoothstep(0.0, 1.0, passed[i])


@formula
def head_light(surface, view, normal, light, shadow, hair_light, occlusion):
    """Linear-light colour of skin: wrapped diffuse per channel, ambient, gloss, rim."""
    albedo = surface.albedo
    half = unit(add(light.head, view))
    toward_light, toward_half = dot(normal, light.head), max(dot(normal, half), 0.0)
    facing = clamp(dot(normal, view), 0.0, 1.0)

    # Red light travels further under the skin: a wider wrap and a lighter shadow.
    key = light.key * hair_light * (0.4 + 0.6 * occlusion)
    red_shadow = math.sqrt(shadow) * math.sqrt(math.sqrt(shadow))
    sky = light.ambient * (0.74 + 0.26 * dot(normal, light.up)) * occlusion * hair_light
    sky += 0.14 * light.key * smoothstep(-0.2, -0.9, normal.y)  # bounces off the chest
    red = albedo.red * (key * wrapped(toward_light, 0.42) * red_shadow + sky)
    green = albedo.green * (key * wrapped(toward_light, 0.26) * shadow + sky)
    blue = albedo.blue * (key * wrapped(toward_light, 0.20) * shadow + sky)

    gloss = (0.10 * toward_half**12 + 0.08 * toward_half**44) * surface.gloss * shadow
    fresnel = 0.09 * (1.0 - facing) ** 3
    rim = 0.20 * light.key * clamp(0.3 - light.head.x * normal.x, 0.0, 1.0) * (1.0 - facing) ** 2
    sheen = 0.9 * light.key * gloss + 0.55 * (fresnel + rim) * occlusion
    glow = surface.glow * light.key
    return Colour(
        red + sheen * (0.35 + 0.65 * albedo.red) + glow,
        green + sheen * (0.35 + 0.65 * albedo.green) + glow,
        blue + sheen * (0.35 + 0.65 * albedo.blue) + glow,
    )


@formula
def torso_light(point, normal, face, light, skin, clothing, pixel):
    """Linear-light colour of neck and clothes."""
    x, y = point.x, point.y
    toward_light = dot(normal, light.world)
    sky = light.ambient * (0.7 + 0.3 * normal.y)
    # The head shades the neck: darkest under the jaw, lighter further down and to the sides.
    below = y + 0.25 * max(abs(x) - 0.3, 0.0) + 0.10 * light.world.y
    under_jaw = mix(0.42, 1.0, smoothstep(-0.95, -1.5, below))
    neck = Colour(
        skin.red * (light.key * wrapped(toward_light, 0.38) + sky) * under_jaw,
        skin.green * (light.key * wrapped(toward_light, 0.22) + sky) * under_jaw,
        skin.blue * (light.key * wrapped(toward_light, 0.17) + sky) * under_jaw,
    )
    neckline = -1.70 + 0.42 * (x / 0.62) ** 2 - 0.10 * (1.0 - face.gender) * bump(x / 0.3)
    cloth = smoothstep(0.7 * pixel, -0.7 * pixel, y - neckline)
    collar = 1.0 - 0.40 * bump((y - neckline) / 0.05) * cloth
    shade = (light.key * wrapped(toward_light, 0.15) + sky) * collar
    return blend(neck, dim(clothing, shade), cloth)


@formula
def wall_colour(face):
    """Linear-light colour of the studio's wall."""
    return hsv(face.background_hue, 0.22, 0.14 + 0.72 * face.background_value)


@formula
def backdrop(x, y, wall, light):
    """The wall with a vignette and a glow from the key light."""
    x_part, y_part = x / HALF_EXTENT, y / HALF_EXTENT
    vignette = 1.0 - 0.30 * (0.6 * x_part**2 + 0.7 * (y_part - 0.24) ** 2)
    glow = 1.0 + 0.25 * bump((x - 0.4 * light.world.x) / 1.1) * bump((y - 0.2) / 1.2)
    return dim(wall, vignette * glow)
