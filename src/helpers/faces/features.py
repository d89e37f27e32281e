"""Eyes, brows, lips and nostrils, painted analytically on the head: crisp at any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from helpers.faces.anatomy import Anatomy, Columns
from helpers.faces.camera import Light
from helpers.faces.colours import IRIS_ANCHORS, constant, hair_colour, hsv, ramp
from helpers.faces.marching import list_pixels
from helpers.faces.maths import Vector, bump, mix, smoothstep
from helpers.faces.textures import lookup, strands

LASH_COLOUR = (0.014, 0.011, 0.010)


@dataclass
class Surface:
    """What is known of the listed points of the heads while they are painted."""

    x: Tensor
    y: Tensor
    z: Tensor
    side: Tensor
    """|x|."""
    front: Tensor
    """1 on the front half of the head, 0 behind: features are painted on the front only."""
    edge: Tensor | float
    """Half width of an antialiased edge, in head units."""
    mottling: Tensor
    """Fine skin noise."""
    albedo: Tensor
    """(n, 3, k), linear light."""
    gloss: Tensor
    """Weight of the specular highlight."""
    glow: Tensor
    """Highlights added on top of the shading (catch lights)."""

    @contextmanager
    def part(self, wanted: Tensor) -> Iterator[Surface]:
        """A small part of the surface to paint on; what is painted appears here afterwards."""
        few = list_pixels(wanted)
        plain = ("x", "y", "z", "side", "front", "mottling", "gloss", "glow")
        listed = {name: few.gather(getattr(self, name)) for name in plain}
        wide = few.index[:, None].expand(-1, 3, -1)
        part = replace(self, albedo=self.albedo.gather(2, wide), **listed)
        yield part
        self.albedo = self.albedo.scatter(2, wide, part.albedo)
        self.gloss = self.gloss.scatter(1, few.index, part.gloss)
        self.glow = self.glow.scatter(1, few.index, part.glow)

    def cover(self, colour: Tensor, weight: Tensor) -> None:
        """Paint `colour` over the albedo."""
        self.albedo = mix(self.albedo, colour, weight[:, None])

    def darken(self, weight: Tensor) -> None:
        """Multiply the albedo by 1 - weight."""
        self.albedo = self.albedo * (1 - weight)[:, None]

    def shine(self, gloss: Tensor | float, weight: Tensor) -> None:
        """Blend the gloss towards a value."""
        self.gloss = mix(self.gloss, gloss, weight)


def start_surface(point: Vector, albedo: Tensor, mottling: Tensor, pixel: float) -> Surface:
    """A bare surface at the given points."""
    x, _, z = point
    front = smoothstep(0.05, 0.35, z)
    plain = torch.ones_like(x)
    return Surface(
        *point,
        x.abs(),
        front,
        max(0.7 * pixel, 0.006),
        mottling,
        albedo,
        plain,
        torch.zeros_like(x),
    )


def paint_nostrils(surface: Surface, head: Anatomy) -> None:
    """Soft dark ovals under the tip; only where the surface really lies at the nose's base."""
    nose = head.nose
    across = (surface.side - nose.width * 0.46) / (nose.width * 0.24)
    up = (surface.y - nose.base_y + 0.045) / 0.024
    surface.darken(0.48 * bump(across) * bump(up) * smoothstep(0.55, 0.80, surface.z))


def near_mouth(surface: Surface, head: Anatomy) -> Tensor:
    """Mask of the points on which `paint_lips` can have an effect."""
    mouth = head.mouth
    reach = 0.12 + 2.5 * surface.edge + mouth.upper + mouth.lower + mouth.opening
    beside, above = surface.side < 1.2 * mouth.width, (surface.y - mouth.y).abs() < reach
    return beside & above & (surface.front > 0)


def near_eyes(surface: Surface, head: Anatomy) -> Tensor:
    """Mask of the points on which `paint_eyes` can have an effect."""
    eyes = head.eyes
    reach = 1.5 * eyes.size + 2 * surface.edge
    beside, above = (surface.side - eyes.x).abs() < reach, (surface.y - eyes.y).abs() < reach
    return beside & above & (surface.front > 0)


def paint_lips(surface: Surface, head: Anatomy, columns: Columns, skin: Tensor) -> None:
    """Lips, teeth and the line between the lips."""
    mouth, front, edge = head.mouth, surface.front, surface.edge
    makeup = columns("makeup")
    across = surface.side / mouth.width
    line = mouth.line(across)
    arch = (1 - across * across).clamp_min(1e-5)
    bow = 1 - 0.20 * bump(across / 0.16) + 0.10 * bump((across - 0.30) / 0.2)
    top = line + mouth.upper * arch**0.75 * bow
    gap_bottom = line - mouth.opening * arch**0.8
    bottom = gap_bottom - mouth.lower * arch**0.62
    soft = 1.5 * edge
    inside = smoothstep(soft, -soft, surface.y - top) * smoothstep(-soft, soft, surface.y - bottom)
    inside = inside * smoothstep(1.03, 0.95, across) * front

    redness = 0.72 + 0.30 * columns("haemoglobin") - 0.16 * head.traits.male
    natural = skin * torch.exp(-constant((0.10, 0.60, 0.46), skin.device) * redness[:, None])
    shade = 0.965 + 0.03 * torch.sin(3 * columns("texture_seed"))
    lipstick = hsv(shade, 0.78, 0.74) * (1 - 0.25 * columns("skin_colour"))[:, None]
    lips = mix(natural, lipstick, 0.85 * smoothstep(0.05, 0.8, makeup)[:, None])
    surface.cover(lips, inside * (0.70 + 0.25 * makeup))
    surface.shine(1.5 + 1.4 * makeup, inside)

    opened = smoothstep(0.02, 0.05, mouth.opening)
    mouth_inside = smoothstep(edge, -edge, surface.y - line)
    mouth_inside = mouth_inside * smoothstep(-edge, edge, surface.y - gap_bottom)
    mouth_inside = mouth_inside * opened * smoothstep(0.97, 0.86, across) * front
    height = ((line - surface.y) / (mouth.opening + 1e-3)).clamp(0, 1)
    teeth_light = (1 - 0.5 * across**3) * (0.62 + 0.38 * smoothstep(0.0, 0.35, height))
    teeth_light = teeth_light * (1 - 0.45 * smoothstep(0.75, 1.0, height))
    teeth = constant((0.88, 0.85, 0.80), skin.device) * teeth_light[:, None]
    surface.cover(teeth, mouth_inside)

    # The seam is a shadow between two soft lips: broad and light, deepest near the corners.
    seam = bump((surface.y - line) / (0.013 + 0.5 * edge)) * smoothstep(1.05, 0.90, across)
    depth = 0.36 + 0.16 * bump((across - 0.85) / 0.25)
    surface.darken(seam * depth * (1 - 0.6 * mouth_inside) * front)
    lower_seam = bump((surface.y - gap_bottom) / (0.010 + 0.5 * edge))
    surface.darken(0.35 * lower_seam * opened * smoothstep(0.97, 0.85, across) * front)


def paint_eyes(surface: Surface, head: Anatomy, columns: Columns, light: Light) -> None:
    """Eye shadow, lids, white, iris, pupil, lashes and catch light."""
    eyes, front = head.eyes, surface.front
    makeup, skin_colour = columns("makeup"), columns("skin_colour")
    edge = surface.edge / eyes.size
    across = (surface.side - eyes.x) / eyes.size
    up = (surface.y - eyes.y) / eyes.size - eyes.tilt * across
    arch = (1 - across * across).clamp_min(1e-5)
    upper_lid = eyes.opening * arch**0.62 * (1 - 0.10 * across)
    lower_lid = -eyes.opening * 0.62 * arch**0.80 * (1 + 0.08 * across)
    below_lid = up - upper_lid
    far = across.abs()

    lid = smoothstep(0.0, 0.25, up - upper_lid * 0.9) * smoothstep(0.95, 0.35, up)
    lid = lid * smoothstep(1.35, 0.85, far) * front
    hue = 0.75 + 0.25 * torch.sin(7 * columns("texture_seed"))
    shadow = hsv(hue, 0.45, 0.40) * (1 - 0.5 * skin_colour)[:, None]
    surface.cover(shadow, 0.62 * lid * smoothstep(0.1, 1.0, makeup))
    surface.darken(0.12 * lid * (1 - makeup))
    crease = bump((below_lid - 0.20) / (0.06 + 0.4 * edge)) * smoothstep(1.25, 0.9, far)
    surface.darken(0.32 * crease * front)

    opened = smoothstep(-edge, edge, -below_lid) * smoothstep(-edge, edge, up - lower_lid)
    opened = opened * smoothstep(1.02, 0.95, far) * front
    surface.cover(_eyeball(across, up, below_lid, edge, columns), opened)
    surface.shine(0.9, opened)

    lash = constant(LASH_COLOUR, up.device)
    thickness = 0.045 + 0.065 * makeup + 0.030 * (1 - columns("gender"))
    upper = bump((below_lid - 0.01) / (thickness + 0.3 * edge)) * smoothstep(1.16, 1.0, far)
    surface.cover(lash, (upper * (0.76 + 0.2 * makeup) * front).clamp(0, 1))
    wing = bump((up - 0.42 * (across - 0.9) - 0.02) / 0.05) * smoothstep(0.9, 1.0, across)
    wing = wing * smoothstep(1.45, 1.1, across) * smoothstep(0.35, 0.9, makeup)
    surface.cover(lash, 0.8 * wing * front)
    lower = bump((up - lower_lid + 0.01) / (0.035 + 0.02 * makeup + 0.3 * edge))
    surface.darken((0.28 + 0.3 * makeup) * lower * smoothstep(1.05, 0.9, far) * front)
    tear_duct = bump((across + 0.93) / 0.09) * bump(up / 0.12)
    surface.cover(constant((0.62, 0.30, 0.27), up.device), 0.4 * tear_duct * front)

    # The same light reflects at the same place in both eyes; `across` is mirrored, so undo that.
    offset = 0.16 * torch.sign(light.head[0]) * torch.sign(surface.x)
    catch = bump((across - offset) / 0.09) * bump((up - 0.17) / 0.09)
    surface.glow = surface.glow + 0.75 * catch * opened


def _eyeball(
    across: Tensor, up: Tensor, below_lid: Tensor, edge: Tensor, columns: Columns
) -> Tensor:
    """Colour (n, 3, k) of white, iris and pupil, shaded by the upper lid."""
    lid_shadow = smoothstep(-0.30, 0.08, below_lid)
    white_light = (1 - 0.40 * smoothstep(0.4, 1.0, across.abs())) * (1 - 0.50 * lid_shadow)
    white = constant((0.80, 0.77, 0.75), up.device) * white_light[:, None]
    radius = torch.sqrt(across * across + (up - 0.02) ** 2 + 1e-9)
    limbal_ring = 1 - 0.70 * smoothstep(0.40, 0.53, radius)
    iris_light = (0.60 + 1.0 * smoothstep(0.12, 0.45, radius)) * limbal_ring
    iris_light = iris_light * (1 - 0.42 * lid_shadow)
    iris = ramp(IRIS_ANCHORS, 0.25 + 0.21 * columns("iris")) * iris_light[:, None]
    ball = mix(white, iris, smoothstep(0.51 + edge, 0.51 - edge, radius)[:, None])
    return ball * (1 - 0.95 * smoothstep(0.21 + edge, 0.21 - edge, radius))[:, None]


def paint_brows(surface: Surface, head: Anatomy, columns: Columns) -> None:
    """Brows: a soft arch of hairs that thins towards the temple; a frown draws it down inside."""
    eyes, traits = head.eyes, head.traits
    along = (surface.side - eyes.x - 0.005) / 0.215
    hairs = lookup(
        strands(along.device),
        0.5 * surface.side + 0.35 * surface.y + columns("texture_seed"),
        0.1 * surface.y,
    )
    # A relaxed brow starts a little lower than its arch and ends at about its start's height.
    bend = (along - 0.15) ** 2 * mix(0.45, 1.15, smoothstep(-0.3, 0.6, along))
    middle = eyes.brow_y + eyes.brow_arch * (1 - bend) - 0.030
    middle = middle - 0.036 * traits.frown * smoothstep(0.3, -1.0, along)
    middle = middle + 0.020 * traits.smile
    half = eyes.brow_thickness * (1 - 0.62 * smoothstep(0.0, 1.0, along))
    half = half * (0.72 + 0.28 * smoothstep(-1.05, -0.55, along))
    soft = 0.016 + 0.6 * surface.edge
    distance = (surface.y - middle).abs() + 0.006 * hairs
    weight = smoothstep(half + soft, half - soft, distance) * smoothstep(-1.15, -0.80, along)
    weight = weight * smoothstep(1.12, 0.70, along) * surface.front
    colour = 0.75 * hair_colour(columns("hair_colour"), columns("age"))
    density = 0.66 + 0.08 * hairs - 0.16 * traits.child
    surface.cover(colour, (weight * density).clamp(0, 0.92))
    surface.shine(0.4, weight)
