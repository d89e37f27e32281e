"""Eyes, brows, lips and nostrils, painted analytically on the head: crisp at any size."""

from __future__ import annotations

import math

from helpers.faces.anatomy import lip_line
from helpers.faces.colours import IRIS_ANCHORS, Colour, absorb, blend, dim, hsv, ramp
from helpers.faces.compiled import formula
from helpers.faces.maths import bump, clamp, mix, power, sign, sin, smoothstep
from helpers.faces.skin import Surface, cover, darken, shine

LASH = Colour(0.014, 0.011, 0.010)
TEETH = Colour(0.88, 0.85, 0.80)
EYE_WHITE = Colour(0.80, 0.77, 0.75)
TEAR_DUCT = Colour(0.62, 0.30, 0.27)
LIP_BLOOD = Colour(0.10, 0.60, 0.46)


@formula
def paint_nostrils(surface, place, nose):
    """Soft dark ovals under the tip; only where the surface really lies at the nose's base."""
    across = (place.side - nose.width * 0.46) / (nose.width * 0.24)
    up = (place.y - nose.base_y + 0.045) / 0.024
    return darken(surface, 0.48 * bump(across) * bump(up) * smoothstep(0.55, 0.80, place.z))


@formula
def near_mouth(place, mouth):
    """Whether `paint_lips` can have an effect."""
    reach = 0.12 + 2.5 * place.edge + mouth.upper + mouth.lower + mouth.opening
    beside, above = place.side < 1.2 * mouth.width, abs(place.y - mouth.y) < reach
    return beside and above and place.front > 0.0


@formula
def near_eyes(place, eyes):
    """Whether `paint_eyes` can have an effect."""
    reach = 1.5 * eyes.size + 2.0 * place.edge
    beside, above = abs(place.side - eyes.x) < reach, abs(place.y - eyes.y) < reach
    return beside and above and place.front > 0.0


@formula
def near_brows(place, eyes):
    """Whether `paint_brows` can have an effect."""
    beside = abs(place.side - eyes.x) < 0.26
    return beside and abs(place.y - eyes.brow_y) < 0.32 + place.edge and place.front > 0.0


@formula
def lip_colour(face, traits, skin):
    """Colour of the lips: skin with blood, under lipstick."""
    natural = absorb(skin, 0.72 + 0.30 * face.haemoglobin - 0.16 * traits.male, LIP_BLOOD)
    shade = 0.965 + 0.03 * sin(3.0 * face.texture_seed)
    lipstick = dim(hsv(shade, 0.78, 0.74), 1.0 - 0.25 * face.skin_colour)
    return blend(natural, lipstick, 0.85 * smoothstep(0.05, 0.8, face.makeup))


@formula
def paint_lips(surface, place, mouth, lips, makeup):
    """Lips, teeth and the line between the lips; `lips` is their colour."""
    y, front, edge = place.y, place.front, place.edge
    across = place.side / mouth.width
    line = lip_line(mouth, across)
    arch = max(1.0 - across * across, 1e-5)
    bow = 1.0 - 0.20 * bump(across / 0.16) + 0.10 * bump((across - 0.30) / 0.2)
    top = line + mouth.upper * power(arch, 0.75) * bow
    gap_bottom = line - mouth.opening * power(arch, 0.8)
    bottom = gap_bottom - mouth.lower * power(arch, 0.62)
    soft = 1.5 * edge
    inside = smoothstep(soft, -soft, y - top) * smoothstep(-soft, soft, y - bottom)
    inside *= smoothstep(1.03, 0.95, across) * front
    surface = cover(surface, lips, inside * (0.70 + 0.25 * makeup))
    surface = shine(surface, 1.5 + 1.4 * makeup, inside)

    opened = smoothstep(0.02, 0.05, mouth.opening)
    in_mouth = smoothstep(edge, -edge, y - line) * smoothstep(-edge, edge, y - gap_bottom)
    in_mouth *= opened * smoothstep(0.97, 0.86, across) * front
    surface = cover(surface, dim(TEETH, teeth_light(across, line - y, mouth)), in_mouth)

    # The seam is a shadow between two soft lips: broad and light, deepest near the corners.
    seam = bump((y - line) / (0.013 + 0.5 * edge)) * smoothstep(1.05, 0.90, across)
    depth = 0.36 + 0.16 * bump((across - 0.85) / 0.25)
    surface = darken(surface, seam * depth * (1.0 - 0.6 * in_mouth) * front)
    lower_seam = bump((y - gap_bottom) / (0.010 + 0.5 * edge))
    return darken(surface, 0.35 * lower_seam * opened * smoothstep(0.97, 0.85, across) * front)


@formula
def teeth_light(across, below, mouth):
    """Light on the teeth, `below` the line between the lips: less to the sides and the ends."""
    height = clamp(below / (mouth.opening + 1e-3), 0.0, 1.0)
    light = (1.0 - 0.5 * across**3) * (0.62 + 0.38 * smoothstep(0.0, 0.35, height))
    return light * (1.0 - 0.45 * smoothstep(0.75, 1.0, height))


@formula
def eye_shadow_colour(face):
    """Colour of the make-up on the lids."""
    hue = 0.75 + 0.25 * sin(7.0 * face.texture_seed)
    return dim(hsv(hue, 0.45, 0.40), 1.0 - 0.5 * face.skin_colour)


@formula
def iris_colour(face):
    """Colour of the iris in even light."""
    return ramp(IRIS_ANCHORS, 0.25 + 0.12 * face.iris)


@formula
def paint_eyes(surface, place, eyes, face, light, shadow, iris):
    """Eye shadow, lids, white, iris, pupil, lashes and catch light.

    `shadow` and `iris` are colours. In units of the eye's half width, `across` runs from the nose
    to the temple and `up` from the line between the corners.
    """
    front, makeup = place.front, face.makeup
    edge = place.edge / eyes.size
    across = (place.side - eyes.x) / eyes.size
    up = (place.y - eyes.y) / eyes.size - eyes.tilt * across
    arch = max(1.0 - across * across, 1e-5)
    upper_lid = eyes.opening * power(arch, 0.62) * (1.0 - 0.10 * across)
    lower_lid = -eyes.opening * 0.62 * power(arch, 0.80) * (1.0 + 0.08 * across)
    below_lid = up - upper_lid
    far = abs(across)

    lid = smoothstep(0.0, 0.25, up - upper_lid * 0.9) * smoothstep(0.95, 0.35, up)
    lid *= smoothstep(1.35, 0.85, far) * front
    surface = cover(surface, shadow, 0.62 * lid * smoothstep(0.1, 1.0, makeup))
    surface = darken(surface, 0.12 * lid * (1.0 - makeup))
    crease = bump((below_lid - 0.20) / (0.06 + 0.4 * edge)) * smoothstep(1.25, 0.9, far)
    surface = darken(surface, 0.32 * crease * front)

    opened = smoothstep(-edge, edge, -below_lid) * smoothstep(-edge, edge, up - lower_lid)
    opened *= smoothstep(1.02, 0.95, far) * front
    surface = cover(surface, eyeball(across, up, below_lid, edge, iris), opened)
    surface = shine(surface, 0.9, opened)
    surface = paint_lashes(surface, across, up, below_lid, lower_lid, edge, front, face)
    tear_duct = bump((across + 0.93) / 0.09) * bump(up / 0.12)
    surface = cover(surface, TEAR_DUCT, 0.4 * tear_duct * front)

    # The same light reflects at the same place in both eyes; `across` is mirrored, so undo that.
    offset = 0.16 * sign(light.head.x) * sign(place.x)
    catch = bump((across - offset) / 0.09) * bump((up - 0.17) / 0.09)
    return Surface(surface.albedo, surface.gloss, surface.glow + 0.75 * catch * opened)


@formula
def paint_lashes(surface, across, up, below_lid, lower_lid, edge, front, face):
    """Upper lashes, the wing of an eyeliner, lower lashes."""
    makeup, far = face.makeup, abs(across)
    thickness = 0.045 + 0.065 * makeup + 0.030 * (1.0 - face.gender)
    upper = bump((below_lid - 0.01) / (thickness + 0.3 * edge)) * smoothstep(1.16, 1.0, far)
    surface = cover(surface, LASH, clamp(upper * (0.76 + 0.2 * makeup) * front, 0.0, 1.0))
    wing = bump((up - 0.42 * (across - 0.9) - 0.02) / 0.05) * smoothstep(0.9, 1.0, across)
    wing *= smoothstep(1.45, 1.1, across) * smoothstep(0.35, 0.9, makeup)
    surface = cover(surface, LASH, 0.8 * wing * front)
    lower = bump((up - lower_lid + 0.01) / (0.035 + 0.02 * makeup + 0.3 * edge))
    return darken(surface, (0.28 + 0.3 * makeup) * lower * smoothstep(1.05, 0.9, far) * front)


@formula
def eyeball(across, up, below_lid, edge, iris):
    """Colour of white, iris and pupil, shaded by the upper lid."""
    lid_shadow = smoothstep(-0.30, 0.08, below_lid)
    white_light = (1.0 - 0.40 * smoothstep(0.4, 1.0, abs(across))) * (1.0 - 0.50 * lid_shadow)
    radius = math.sqrt(across * across + (up - 0.02) ** 2 + 1e-9)
    limbal_ring = 1.0 - 0.70 * smoothstep(0.40, 0.53, radius)
    iris_light = (0.60 + smoothstep(0.12, 0.45, radius)) * limbal_ring
    iris_light *= 1.0 - 0.42 * lid_shadow
    in_iris = smoothstep(0.51 + edge, 0.51 - edge, radius)
    ball = blend(dim(EYE_WHITE, white_light), dim(iris, iris_light), in_iris)
    return dim(ball, 1.0 - 0.95 * smoothstep(0.21 + edge, 0.21 - edge, radius))


@formula
def paint_brows(surface, place, eyes, traits, hair, hairs):
    """Brows: a soft arch of hairs that thins towards the temple; a frown draws it down inside.

    `hair` is the hair's colour, `hairs` fine noise.
    """
    along = (place.side - eyes.x - 0.005) / 0.215
    # A relaxed brow starts a little lower than its arch and ends at about its start's height.
    bend = (along - 0.15) ** 2 * mix(0.45, 1.15, smoothstep(-0.3, 0.6, along))
    middle = eyes.brow_y + eyes.brow_arch * (1.0 - bend) - 0.030
    middle += 0.020 * traits.smile - 0.036 * traits.frown * smoothstep(0.3, -1.0, along)
    half = eyes.brow_thickness * (1.0 - 0.62 * smoothstep(0.0, 1.0, along))
    half *= 0.72 + 0.28 * smoothstep(-1.05, -0.55, along)
    soft = 0.016 + 0.6 * place.edge
    distance = abs(place.y - middle) + 0.006 * hairs
    weight = smoothstep(half + soft, half - soft, distance) * smoothstep(-1.15, -0.80, along)
    weight *= smoothstep(1.12, 0.70, along) * place.front
    density = 0.66 + 0.08 * hairs - 0.16 * traits.child
    surface = cover(surface, dim(hair, 0.75), clamp(weight * density, 0.0, 0.92))
    return shine(surface, 0.4, weight)
