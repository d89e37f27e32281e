"""Skin: pigment, blood, wrinkles, beard, and the light on the head, neck and clothes."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.faces.anatomy import Anatomy, Columns
from helpers.faces.camera import Light
from helpers.faces.colours import SKIN_ANCHORS, constant, hair_colour, hsv, ramp
from helpers.faces.features import (
    Surface,
    near_eyes,
    near_mouth,
    paint_brows,
    paint_eyes,
    paint_lips,
    paint_nostrils,
    start_surface,
)
from helpers.faces.geometry import Head, Torso
from helpers.faces.marching import Hit
from helpers.faces.maths import Vector, add, bump, dot, field_normal, mix, scale, smoothstep, unit
from helpers.faces.textures import clouds, lookup, mottle, strands

BLOOD_ABSORPTION = (0.02, 0.30, 0.24)
NORMAL_STEP = 0.014
SHADOW_STEPS = 4


def skin_albedo(columns: Columns) -> Tensor:
    """Even skin (n, 3, 1): six Fitzpatrick anchors times the absorption of blood."""
    anchors = ramp(SKIN_ANCHORS, columns("skin_colour"))
    blood = (columns("haemoglobin") - 0.5)[:, None]
    return anchors * torch.exp(-blood * constant(BLOOD_ABSORPTION, anchors.device))


def wrapped(cosine: Tensor, wrap: float) -> Tensor:
    """Diffuse light that reaches around the edge of a body, as under skin."""
    return ((cosine + wrap) / (1 + wrap)).clamp_min(0)


def soft_shadow(field: Head, point: Vector, light: Light) -> Tensor:
    """Light that passes the head towards the key light, 0.4 to 1."""
    reach, clear = 0.06, torch.ones_like(point[0])
    for _ in range(SHADOW_STEPS):
        distance = field(*add(point, scale(light.head, reach)))
        clear = torch.minimum(clear, 0.70 + 1.15 * distance / reach)
        reach *= 2.0
    return 0.42 + 0.58 * smoothstep(0, 1, clear)


def paint_head(
    hit: Hit, head: Anatomy, columns: Columns, light: Light, skin: Tensor, pixel: float
) -> Surface:
    """Albedo, gloss and glow of the listed points of the heads."""
    x, y, _ = hit.point
    seed = 0.61803 * columns("texture_seed")
    noise = mottle(x.device)
    fine = lookup(noise, 1.7 * x + seed, 1.7 * y)
    broad = lookup(noise, 0.5 * x + seed, 0.5 * y + 0.7 * seed)
    tint = 0.030 * broad + 0.022 * fine * (1 + 2.2 * head.traits.old)
    albedo = skin * torch.exp(-tint[:, None] * constant((0.6, 1.0, 1.2), x.device))
    surface = start_surface(hit.point, albedo, fine, pixel)
    surface.gloss = (1 - 0.35 * head.traits.old) * (0.85 + 0.15 * fine)
    _paint_blood(surface, head, columns)
    _paint_age(surface, head, broad, seed)
    _paint_beard(surface, head, columns, seed)
    paint_nostrils(surface, head)
    with surface.part(near_mouth(surface, head)) as part:
        paint_lips(part, head, columns, skin)
    with surface.part(near_eyes(surface, head)) as part:
        paint_eyes(part, head, columns, light)
    paint_brows(surface, head, columns)
    return surface


def _paint_blood(surface: Surface, head: Anatomy, columns: Columns) -> None:
    """Redder cheeks, nose and ears; blusher."""
    side, y = surface.side, surface.y
    blood = 0.75 * bump((side - 0.42) / 0.22) * bump((y + 0.30) / 0.20)
    blood = blood + 0.6 * bump(side / 0.16) * bump((y - head.nose.base_y - 0.05) / 0.12)
    blood = blood * (1 + 0.6 * head.traits.child)
    blusher = columns("makeup") * bump((side - 0.46) / 0.17) * bump((y + 0.22) / 0.14)
    amount = 0.20 * blood * (0.6 + 0.8 * columns("haemoglobin")) + 0.38 * blusher
    amount = amount * surface.front + 0.06 * bump((side - head.skull.ear_x) / 0.12)
    redden = constant((0.0, 0.62, 0.48), y.device)
    surface.albedo = surface.albedo * torch.exp(-amount[:, None] * redden)


def _paint_age(surface: Surface, head: Anatomy, broad: Tensor, seed: Tensor) -> None:
    """Forehead lines, crow's feet, folds, bags and age spots; the frown line."""
    side, y = surface.side, surface.y
    traits, eyes, nose, mouth = head.traits, head.eyes, head.nose, head.mouth
    lines = torch.zeros_like(y)
    for i, height in enumerate((0.47, 0.56, 0.65)):
        wave = 0.02 * torch.sin(6 * surface.x + 2 * i) + 0.03 * side * side
        lines = lines + bump((y - height - wave) / 0.012) * (0.7 + 0.3 * broad)
    lines = 0.8 * lines * smoothstep(0.48, 0.25, side)
    beyond, above = side - eyes.x - 1.12 * eyes.size, y - eyes.y
    fan = smoothstep(0.0, 0.03, beyond) * smoothstep(0.15, 0.08, beyond)
    for slope in (-0.35, 0.0, 0.35):
        lines = lines + fan * bump((above - slope * beyond) / 0.010)
    down = (y - nose.base_y - 0.02) / (mouth.y - 0.10 - nose.base_y)
    along = nose.width + 0.03 + (0.17 + 0.05 * traits.smile) * down
    fold = bump((side - along) / 0.020) * smoothstep(-0.1, 0.15, down) * smoothstep(1.3, 0.8, down)
    across = side - eyes.x
    bag = bump((above + 0.62 * eyes.size + 0.05 + 0.35 * across * across) / 0.014)
    lines = lines + fold + 0.8 * bag * bump(across / 0.11)
    frown_line = bump((side - 0.055) / 0.014) * bump((y - eyes.brow_y + 0.02) / 0.07)
    weight = (0.36 * lines * traits.old + 0.35 * frown_line * traits.frown) * surface.front
    ink = constant((0.8, 1.0, 1.0), y.device)
    surface.albedo = surface.albedo * torch.exp(-weight[:, None] * ink)
    spots = lookup(mottle(y.device), 1.1 * surface.x + 2 * seed, 1.1 * y)
    surface.darken(0.20 * traits.old * smoothstep(1.5, 2.4, spots))


def _paint_beard(surface: Surface, head: Anatomy, columns: Columns, seed: Tensor) -> None:
    """Beard, moustache and side whiskers: stubble first, then a full beard."""
    x, y, side, mouth = surface.x, surface.y, surface.side, head.mouth
    slope = (side - 0.28).clamp_min(0)
    chin = smoothstep(-0.28, -0.58, y - 0.55 * slope)
    around = torch.sqrt((x / (mouth.width * 1.12)) ** 2 + ((y - mouth.y + 0.02) / 0.15) ** 2 + 1e-9)
    chin = chin * smoothstep(0.0, 0.30, around - 0.80) * smoothstep(-0.07, -0.26, y - 0.6 * slope)
    bend = 0.5 * side * side
    moustache = bump((y - mouth.y - mouth.upper - 0.070 + bend) / 0.050)
    moustache = moustache * smoothstep(0.34, 0.20, side)
    moustache = moustache * smoothstep(head.nose.base_y - 0.02, head.nose.base_y - 0.09, y)
    whiskers = smoothstep(0.50, 0.62, side) * smoothstep(0.12, -0.05, y)
    whiskers = whiskers * smoothstep(-0.1, 0.15, surface.z)
    place = torch.maximum(torch.maximum(chin, moustache), 0.8 * whiskers)
    place = place * smoothstep(-0.35, 0.0, surface.z)
    drift = 0.012 * lookup(clouds(x.device), 0.8 * x + seed, 0.8 * y)
    hairs = lookup(strands(x.device), 0.42 * x + seed + drift, 0.3 * y)
    full = smoothstep(0.05, 0.9, columns("facial_hair"))
    weight = place.clamp_min(1e-5) ** (1.5 - 0.7 * full) * full * (1 + 0.16 * hairs)
    weight = 0.93 * weight.clamp(0, 1)
    colour = 0.85 * hair_colour(columns("hair_colour"), columns("age"))
    surface.cover(colour * (1.05 + 0.15 * hairs)[:, None].clamp(0.4, 2), weight)
    surface.shine(0.3, weight)


def light_head(
    surface: Surface, hit: Hit, field: Head, light: Light, shadow: Tensor, hair_shadow: Tensor
) -> Tensor:
    """Linear-light colour (n, 3, k): wrapped diffuse per channel, ambient, gloss, rim."""
    normal = field_normal(field, hit.point, NORMAL_STEP)
    view = scale(hit.rays.direction, -1)
    half = unit(add(light.head, view))
    toward_light, toward_half = dot(normal, light.head), dot(normal, half).clamp_min(0)
    facing = dot(normal, view).clamp(0, 1)
    occlusion = field.occlusion(*hit.point)

    # Red light travels further under the skin: a wider wrap and a lighter shadow.
    diffuse = torch.stack([wrapped(toward_light, w) for w in (0.42, 0.26, 0.20)], 1)
    passed = torch.stack([shadow**0.75, shadow, shadow], 1)
    direct = (
        light.key[:, None] * diffuse * passed * (hair_shadow * (0.4 + 0.6 * occlusion))[:, None]
    )
    sky = light.ambient * (0.74 + 0.26 * dot(normal, light.up)) * occlusion * hair_shadow
    bounce = 0.14 * light.key * smoothstep(-0.2, -0.9, normal[1])  # from the chest
    colour = surface.albedo * (direct + (sky + bounce)[:, None])

    gloss = (0.10 * toward_half**12 + 0.08 * toward_half**44) * surface.gloss * shadow
    fresnel = 0.09 * (1 - facing) ** 3
    rim = 0.20 * light.key * (0.3 - light.head[0] * normal[0]).clamp(0, 1) * (1 - facing) ** 2
    sheen = 0.9 * light.key * gloss + 0.55 * (fresnel + rim) * occlusion
    colour = colour + sheen[:, None] * (0.35 + 0.65 * surface.albedo)
    return colour + (surface.glow * light.key)[:, None]


def light_torso(
    hit: Hit, torso: Torso, columns: Columns, light: Light, skin: Tensor, pixel: float
) -> Tensor:
    """Linear-light colour (n, 3, k) of neck and clothes."""
    x, y, _ = hit.point
    normal = field_normal(torso, hit.point, 0.02)
    toward_light = dot(normal, light.world)
    sky = light.ambient * (0.7 + 0.3 * normal[1])
    # The head shades the neck: darkest under the jaw, lighter further down and to the sides.
    below = y + 0.25 * (x.abs() - 0.3).clamp_min(0) + 0.10 * light.world[1]
    under_jaw = mix(0.42, 1.0, smoothstep(-0.95, -1.5, below))
    diffuse = torch.stack([wrapped(toward_light, w) for w in (0.38, 0.22, 0.17)], 1)
    neck = skin * ((light.key[:, None] * diffuse + sky[:, None]) * under_jaw[:, None])

    neckline = -1.70 + 0.42 * (x.abs() / 0.62) ** 2
    neckline = neckline - 0.10 * (1 - columns("gender")) * bump(x / 0.3)
    cloth = smoothstep(0.7 * pixel, -0.7 * pixel, y - neckline)
    collar = 1 - 0.40 * bump((y - neckline) / 0.05) * cloth
    shade = (light.key * wrapped(toward_light, 0.15) + sky) * collar
    return mix(neck, clothing_colour(columns) * shade[:, None], cloth[:, None])


def clothing_colour(columns: Columns) -> Tensor:
    """Linear-light colour (n, 3, 1) of clothes and head coverings."""
    seed = columns("texture_seed")
    saturation = 0.20 + 0.30 * (0.5 + 0.5 * torch.sin(9 * seed))
    return hsv(columns("clothing"), saturation, 0.25 + 0.45 * (0.5 + 0.5 * torch.sin(5 * seed)))


def background(x: Tensor, y: Tensor, columns: Columns, light: Light, half_extent: float) -> Tensor:
    """Linear-light studio backdrop (n, 3, k) with a vignette and a glow from the key light."""
    hue = columns("background_hue")
    wall = hsv(hue, 0.22, 0.14 + 0.72 * columns("background_value"))
    x_part, y_part = x / half_extent, y / half_extent
    vignette = 1 - 0.30 * (0.6 * x_part**2 + 0.7 * (y_part - 0.24) ** 2)
    glow = 1 + 0.25 * bump((x - 0.4 * light.world[0]) / 1.1) * bump((y - 0.2) / 1.2)
    return wall * (vignette * glow)[:, None]
