"""Light on head, neck and clothes, and the backdrop."""

from __future__ import annotations

import math

from numpy import float32

from facerender.camera import HALF_EXTENT
from facerender.colours import Colour, blend, dim, hsv
from facerender.compiled import formula, loop
from facerender.geometry import head_distances
from facerender.maths import add, bump, clamp, dot, mix, scale, smoothstep, unit

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

    # On dark skin the form is told by what reflects at the surface, as little comes from below it.
    depth = clamp(1.0 - 2.2 * albedo.green, 0.0, 1.0)
    # It is a broad sheen: small bright spots would make dark skin look wet.
    gloss = 0.10 * toward_half**9 * (1.0 + 0.8 * depth)
    gloss += 0.08 * toward_half**40 * (1.0 - 0.6 * depth)
    fresnel = 0.09 * (1.0 - facing) ** 3
    away = clamp(0.3 - light.head.x * normal.x, 0.0, 1.0)
    rim = (0.20 + 0.34 * depth) * light.key * away * (1.0 - facing) ** 2
    rim *= smoothstep(-0.6, 0.1, normal.y)  # what faces down has no light behind it
    sky_gloss = 0.030 * depth * max(dot(normal, light.up), 0.0) * occlusion
    sheen = 0.9 * light.key * gloss * surface.gloss * shadow
    sheen += (0.55 * (fresnel + rim) * occlusion + light.ambient * sky_gloss) * hair_light
    glow = surface.glow * light.key
    return Colour(
        red + sheen * (0.40 + 0.60 * albedo.red) + glow,
        green + sheen * (0.38 + 0.62 * albedo.green) + glow,
        blue + sheen * (0.34 + 0.66 * albedo.blue) + glow,
    )


@formula
def torso_light(point, normal, face, light, skin, clothing, shadow, clearance, pixel):
    """Linear-light colour of neck and clothes.

    `shadow` is what passes the head of the key light, `clearance` the room between there and jaw.
    """
    x, y, side = point.x, point.y, abs(point.x)
    toward_light = dot(normal, light.world)
    open_sky = mix(0.38, 1.0, smoothstep(-0.10, 0.42, clearance))
    sky = light.ambient * (0.7 + 0.3 * normal.y) * open_sky
    key = light.key * shadow * (0.35 + 0.65 * open_sky)
    # Two cords run from behind the ears to the pit of the neck, with hollows beside them.
    cord = 0.10 + 0.75 * max(y + 1.50, 0.0)
    hollows = 0.10 * bump((side - cord - 0.07) / 0.06)
    hollows += 0.16 * bump(x / 0.08) * bump((y + 1.47) / 0.08)
    muscles = 1.0 - hollows * smoothstep(-1.05, -1.25, y)
    # What reflects at the surface, without which a dark neck is redder than its face.
    haze = 0.008 * clamp(1.0 - 2.2 * skin.green, 0.0, 1.0)
    skin = Colour(skin.red + haze, skin.green + haze, skin.blue + haze)
    neck = Colour(
        skin.red * (key * wrapped(toward_light, 0.38) + sky) * muscles,
        skin.green * (key * wrapped(toward_light, 0.22) + sky) * muscles,
        skin.blue * (key * wrapped(toward_light, 0.17) + sky) * muscles,
    )
    neckline = -1.60 + 0.36 * (x / 0.62) ** 2 - 0.08 * (1.0 - face.gender) * bump(x / 0.3)
    cloth = smoothstep(0.7 * pixel, -0.7 * pixel, y - neckline)
    seam = 1.0 - 0.25 * bump((y - neckline + 0.075) / 0.012)
    collar = (1.0 - 0.30 * bump((y - neckline) / 0.03) * cloth) * seam
    on_neck = 1.0 - 0.30 * smoothstep(0.09, 0.0, y - neckline)
    shade = (key * wrapped(toward_light, 0.15) + sky) * collar
    return blend(dim(neck, on_neck), dim(clothing, shade), cloth)


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
