"""Eyes, brows, lips and nostrils, painted analytically on the head: crisp at any size."""

from __future__ import annotations

import math

from facerender.anatomy import lip_line
from facerender.colours import IRIS_ANCHORS, Colour, absorb, blend, dim, hsv, ramp
from facerender.compiled import formula
from facerender.maths import blob, bump, clamp, cos, exp, floor, mix, power, sign, sin, smoothstep
from facerender.skin import Surface, cover, darken, shine

LASH = Colour(0.014, 0.011, 0.010)
TEETH = Colour(0.73, 0.67, 0.57)
MOUTH = Colour(0.115, 0.030, 0.026)
EYE_WHITE = Colour(0.66, 0.61, 0.58)
TEAR_DUCT = Colour(0.55, 0.26, 0.23)
DARK_IRIS = Colour(0.026, 0.012, 0.006)
LIP_BLOOD = Colour(0.10, 0.66, 0.50)
IRIS_RADIUS, PUPIL_RADIUS = 0.43, 0.17
"""In half widths of the eye: 12 mm of iris in an eye 28 mm wide, and a pupil in daylight."""
TOOTH = 0.072
"""Width of an upper front tooth, in head units (8 mm)."""


@formula
def paint_nostrils(surface, place, nose):
    """Soft dark ovals under the tip; only where the surface really lies at the nose's base."""
    across = (place.side - nose.width * 0.46) * (1.0 / (nose.width * 0.24))
    up = (place.y - nose.base_y + 0.045) * (1.0 / 0.024)
    return darken(
        surface, 0.62 * exp(-(across * across + up * up)) * smoothstep(0.55, 0.80, place.z)
    )


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
    """Colour of the lips: skin with blood, under lipstick, which is no brighter than suits skin."""
    natural = absorb(skin, 0.76 + 0.30 * face.haemoglobin - 0.26 * traits.male, LIP_BLOOD)
    natural = dim(natural, 1.0 - 0.18 * traits.beard)
    shade = 0.965 + 0.03 * sin(3.0 * face.texture_seed)
    worn = worn_on(skin)
    lipstick = blend(dim(hsv(shade, 0.75, 0.71), worn), natural, 0.04 + 0.56 * (1.0 - worn))
    return blend(natural, lipstick, 0.92 * smoothstep(0.05, 0.8, face.makeup))


@formula
def worn_on(skin):
    """How bright cosmetics are beside skin: a red for light skin is a wine red for dark skin."""
    return power(skin.red, 0.7)


@formula
def white_beside(skin, white):
    """A white of eyes or teeth, which gets part of its light, a warm one, from the skin around."""
    share = min(0.36 + 0.74 * math.sqrt(skin.green), 1.0)
    green, blue = white.green * power(share, 1.1), white.blue * power(share, 1.35)
    return Colour(white.red * share, green, blue)


@formula
def paint_lips(surface, place, mouth, lips, teeth, makeup):
    """Lips, teeth and the line between the lips; `lips` and `teeth` are their colours."""
    y, front, edge = place.y, place.front, place.edge
    across = place.side * (1.0 / mouth.width)
    line = lip_line(mouth, across)
    arch = max(1.0 - across * across, 1e-5)
    bow = 1.0 - 0.20 * bump(across, 0.16) + 0.10 * bump(across - 0.30, 0.2)
    top = line + mouth.upper * power(arch, 0.75) * bow
    gap_bottom = line - mouth.opening * power(arch, 0.8)
    bottom = gap_bottom - mouth.lower * power(arch, 0.62)
    soft = 2.0 * edge
    inside = smoothstep(soft, -soft, y - top) * smoothstep(-soft, soft, y - bottom)
    inside *= smoothstep(1.03, 0.90, across) * front

    # Light from above: the upper lip turns away from it, the lower one shows its swell.
    up, down = (y - line) / (top - line + 1e-3), (gap_bottom - y) / (gap_bottom - bottom + 1e-3)
    swell = bump(down - 0.42, 0.30) * smoothstep(0.95, 0.25, across)
    roundness = (
        0.94 - 0.24 * smoothstep(1.0, 0.0, up)
        if y > line
        else (0.86 + 0.20 * swell - 0.12 * smoothstep(0.7, 1.0, down))
    )
    surface = cover(surface, dim(lips, roundness), inside * (0.74 + 0.22 * makeup))
    # The same highlight looks wet on dark lips, and greys them.
    wet = (1.0 + (1.4 + 1.6 * makeup) * swell + makeup) * math.sqrt(lips.red)
    surface = shine(surface, wet, inside)

    opened = smoothstep(0.02, 0.05, mouth.opening)
    in_mouth = smoothstep(edge, -edge, y - line) * smoothstep(-edge, edge, y - gap_bottom)
    in_mouth *= opened * smoothstep(0.99, 0.90, across) * front
    within = in_the_mouth(place.side, across, line, y, mouth, teeth, edge)
    surface = cover(surface, within, in_mouth)
    surface = shine(surface, 0.5, in_mouth)

    # The seam is a shadow between two soft lips: broad and light, deepest near the corners.
    seam = bump(y - line, 0.011 + 0.5 * edge) * smoothstep(1.06, 0.90, across)
    depth = 0.44 + 0.20 * bump(across - 0.88, 0.2)
    surface = darken(surface, seam * depth * (1.0 - 0.7 * in_mouth) * front)
    corner = blob(across - 1.0, 0.09, y - line, 0.022)
    below = bump(y - bottom + 0.020, 0.022) * smoothstep(0.75, 0.2, across)
    return darken(surface, (0.22 * corner + 0.13 * below) * front)


@formula
def in_the_mouth(side, across, line, y, mouth, teeth, edge):
    """Colour behind the lips: the upper row of teeth, and the dark below and beside it."""
    # Their edges lie on a line that bends less than the lips.
    reach = 0.80 * mouth.opening * (1.0 - 0.35 * across * across)
    end = mouth.y - 0.30 * mouth.curve + 0.45 * mouth.curve * across * across - reach
    # The middle two are the widest; those further back are seen from the side.
    number = side / TOOTH + 0.35 * (side / TOOTH - 1.0) * smoothstep(0.8, 3.5, side / TOOTH)
    from_gap = number - floor(number + 0.5)
    gap = bump(from_gap * TOOTH, 0.005 + 0.6 * edge) * 0.006 / (0.006 + edge)
    rounded = end + 0.048 * from_gap * from_gap * smoothstep(0.5, 0.2, abs(from_gap))
    light = (1.0 - 0.25 * gap) * (1.0 - 0.72 * smoothstep(0.35, 1.0, across))
    light *= 0.62 + 0.38 * smoothstep(0.0, 0.028, line - y)
    tooth = smoothstep(-edge, edge, y - rounded)
    return blend(MOUTH, dim(teeth, light), tooth)


@formula
def eye_shadow_colour(face, skin):
    """Colour of the make-up on the lids."""
    hue = 0.75 + 0.25 * sin(7.0 * face.texture_seed)
    return dim(hsv(hue, 0.45, 0.40), worn_on(skin))


@formula
def iris_colour(face):
    """Colour of the iris in even light: dark brown in dark faces."""
    iris = ramp(IRIS_ANCHORS, 0.25 + 0.12 * face.iris)
    return blend(iris, DARK_IRIS, 0.8 * smoothstep(0.4, 1.0, face.skin_colour))


@formula
def paint_eyes(surface, place, eyes, face, light, shadow, white, iris):
    """Eye shadow, lids, white, iris, pupil, lashes and catch light.

    `shadow`, `white` and `iris` are colours. In units of the eye's half width, `across` runs from
    the nose to the temple and `up` from the line between the corners.
    """
    front, edge = place.front, place.edge / eyes.size
    across = (place.side - eyes.x) / eyes.size
    up = (place.y - eyes.y) / eyes.size - eyes.tilt * across
    arch = max(1.0 - across * across, 1e-5)
    upper_lid = eyes.opening * power(arch, 0.58) * (1.0 - 0.10 * across)
    lower_lid = -eyes.opening * 0.64 * power(arch, 0.85) * (1.0 + 0.12 * across)
    above_lid, above_lower, far = up - upper_lid, up - lower_lid, abs(across)

    surface = paint_lids(surface, across, above_lid, above_lower, edge, front, face, shadow)
    opened = smoothstep(edge, -edge, above_lid) * smoothstep(-edge, edge, above_lower)
    opened *= smoothstep(1.02, 0.95, far) * front
    ball = eyeball(across, up, above_lid, above_lower, edge, white, iris)
    surface = cover(surface, ball, opened)
    surface = shine(surface, 0.2, opened)
    surface = paint_lashes(surface, across, up, above_lid, above_lower, edge, front, face)
    tear_duct = blob(across + 0.93, 0.10, up + 0.02, 0.10)
    surface = cover(surface, TEAR_DUCT, 0.55 * tear_duct * front)

    # The same light reflects at the same place in both eyes; `across` is mirrored, so undo that.
    offset = 0.15 * sign(light.head.x) * sign(place.x)
    catch = blob(across - offset, 0.075, up - 0.14, 0.075)
    return Surface(surface.albedo, surface.gloss, surface.glow + 0.8 * catch * opened)


@formula
def paint_lids(surface, across, above_lid, above_lower, edge, front, face, shadow):
    """The upper lid up to its crease, under eye shadow, and the moist rim of the lower one."""
    makeup, far = face.makeup, abs(across)
    lid = smoothstep(-0.05, 0.10, above_lid) * smoothstep(0.75, 0.20, above_lid)
    lid *= smoothstep(1.35, 0.85, far) * front
    surface = cover(surface, shadow, 0.62 * lid * smoothstep(0.1, 1.0, makeup))
    # The crease lies closer to the lid at its ends; above it, the fold overhangs.
    from_crease = above_lid - 0.27 + 0.10 * across * across
    crease = bump(from_crease, 0.055 + 0.4 * edge) * smoothstep(1.30, 0.75, far)
    fold = smoothstep(-0.25, 0.0, from_crease) * smoothstep(0.04, 0.0, from_crease)
    surface = darken(surface, (0.36 * crease + 0.12 * fold * smoothstep(1.2, 0.7, far)) * front)
    rim = bump(above_lower + 0.05, 0.05 + 0.3 * edge) * smoothstep(1.0, 0.8, far)
    surface = cover(surface, blend(surface.albedo, TEAR_DUCT, 0.35), 0.6 * rim * front)
    below = bump(above_lower + 0.30, 0.14) * smoothstep(1.15, 0.5, far)
    return darken(surface, 0.10 * below * front)


@formula
def paint_lashes(surface, across, up, above_lid, above_lower, edge, front, face):
    """Upper lashes, the wing of an eyeliner, lower lashes."""
    makeup, far = face.makeup, abs(across)
    dense = 0.5 * makeup + 0.5 * (1.0 - face.gender)
    line = bump(above_lid - 0.01, 0.050 + 0.040 * makeup + 0.015 * dense + 0.3 * edge)
    line *= smoothstep(1.14, 1.0, far)
    # Single lashes fan out, longest towards the temple.
    length = (0.10 + 0.16 * dense) * smoothstep(-0.9, 0.7, across) + 0.02
    single = 0.5 + 0.5 * cos(34.0 * (across - 0.35 * above_lid * across))
    fan = smoothstep(length, 0.3 * length, above_lid) * smoothstep(-0.02, 0.03, above_lid)
    fan *= single * smoothstep(1.20, 1.0, far) * (0.35 + 0.45 * dense)
    weight = clamp(max(line * (0.80 + 0.18 * makeup), fan) * front, 0.0, 1.0)
    surface = cover(surface, LASH, weight)
    wing = bump(up - 0.42 * (across - 0.9) - 0.02, 0.05) * smoothstep(0.9, 1.0, across)
    wing *= smoothstep(1.45, 1.1, across) * smoothstep(0.35, 0.9, makeup)
    surface = cover(surface, LASH, 0.8 * wing * front)
    lower = bump(above_lower + 0.03, 0.045 + 0.02 * makeup + 0.3 * edge)
    lower *= 0.55 + 0.45 * smoothstep(-0.4, 0.6, across)
    return darken(surface, (0.26 + 0.34 * makeup) * lower * smoothstep(1.05, 0.9, far) * front)


@formula
def eyeball(across, up, above_lid, above_lower, edge, white, iris):
    """Colour of white, iris and pupil: a ball in the shadow of its lids and lashes."""
    lid_shadow = smoothstep(-0.34, 0.02, above_lid)
    ball_light = (1.0 - 0.50 * smoothstep(0.25, 1.05, abs(across))) * (1.0 - 0.58 * lid_shadow)
    ball_light *= 0.78 + 0.22 * smoothstep(0.0, 0.16, above_lower)
    radius = math.sqrt(across * across + (up - 0.03) ** 2 + 1e-9)
    limbal_ring = 1.0 - 0.70 * smoothstep(0.72 * IRIS_RADIUS, IRIS_RADIUS, radius)
    # Light that enters from above brightens the lower half.
    iris_light = (0.62 + 0.7 * smoothstep(0.10, 0.38, radius)) * limbal_ring
    iris_light *= (1.0 - 0.45 * lid_shadow) * (1.0 + 0.6 * smoothstep(0.08, -0.35, up))
    in_iris = smoothstep(IRIS_RADIUS + edge, IRIS_RADIUS - edge, radius)
    ball = blend(dim(white, ball_light), dim(iris, iris_light), in_iris)
    return dim(ball, 1.0 - 0.95 * smoothstep(PUPIL_RADIUS + edge, PUPIL_RADIUS - edge, radius))


@formula
def paint_brows(surface, place, eyes, traits, hair, hairs):
    """Brows: a soft arch of hairs that thins towards the temple; a frown draws it up inside.

    `hair` is the hair's colour, `hairs` fine noise.
    """
    along = (place.side - eyes.x - 0.005) / 0.215
    # A relaxed brow starts a little lower than its arch and ends at about its start's height.
    bend = (along - 0.15) ** 2 * mix(0.45, 1.15, smoothstep(-0.3, 0.6, along))
    middle = eyes.brow_y + eyes.brow_arch * (1.0 - bend) - 0.030
    middle += 0.020 * traits.smile + 0.016 * traits.knit * smoothstep(0.3, -1.0, along)
    half = eyes.brow_thickness * (1.0 - 0.62 * smoothstep(0.0, 1.0, along))
    half *= 0.72 + 0.28 * smoothstep(-1.05, -0.55, along)
    soft = 0.016 + 0.6 * place.edge
    distance = abs(place.y - middle) + 0.007 * hairs
    weight = smoothstep(half + soft, half - soft, distance) * smoothstep(-1.15, -0.80, along)
    weight *= smoothstep(1.12, 0.70, along) * place.front
    density = 0.68 + 0.09 * hairs - 0.16 * traits.child
    surface = cover(surface, dim(hair, 0.70), clamp(weight * density, 0.0, 0.92))
    return shine(surface, 0.4, weight)
