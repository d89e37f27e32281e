"""Skin: pigment, blood, the marks of age, beard."""

from __future__ import annotations

import math
from collections import namedtuple

from facerender.anatomy import lip_line
from facerender.colours import SKIN_ANCHORS, Colour, absorb, blend, dim, ramp
from facerender.compiled import formula
from facerender.maths import blob, bump, clamp, mix, power, sin, smoothstep

BLOOD = Colour(0.02, 0.30, 0.24)
"""Absorption of blood in even skin, and of what shines through at thin places."""
PALEST = 0.38
"""Haemoglobin at which skin has the anchors' own colour; much less makes light skin grey."""
BLUSH = Colour(0.0, 0.62, 0.48)
MOTTLING = Colour(0.6, 1.0, 1.2)
WRINKLE = Colour(0.8, 1.0, 1.0)


Place = namedtuple("Place", "x y z side front edge")
"""A point of the head's surface, as the painters of skin and features see it.

*side*: |x|; *front*: 1 on the front half of the head, 0 behind: features are painted on the front
only; *edge*: half width of an antialiased edge, in head units.
"""


Surface = namedtuple("Surface", "albedo gloss glow")
"""What is painted there.

*gloss*: weight of the specular highlight; *glow*: highlights added on top of the shading (catch
lights).
"""


@formula
def place_at(x, y, z, pixel):
    """The place of a point."""
    return Place(x, y, z, abs(x), smoothstep(0.05, 0.35, z), max(0.7 * pixel, 0.006))


@formula
def cover(surface, colour, weight):
    """Paint a colour over the albedo."""
    return Surface(blend(surface.albedo, colour, weight), surface.gloss, surface.glow)


@formula
def darken(surface, weight):
    """Multiply the albedo by 1 - weight."""
    return Surface(dim(surface.albedo, 1.0 - weight), surface.gloss, surface.glow)


@formula
def shine(surface, gloss, weight):
    """Blend the gloss towards a value."""
    return Surface(surface.albedo, mix(surface.gloss, gloss, weight), surface.glow)


@formula
def skin_albedo(face):
    """Even skin: six Fitzpatrick anchors times the absorption of blood."""
    blood = face.haemoglobin - PALEST
    return absorb(ramp(SKIN_ANCHORS, face.skin_colour), blood, BLOOD)


@formula
def bare_skin(skin, fine, broad, old):
    """Mottled skin; `fine` and `broad` are noise."""
    tint = 0.030 * broad + 0.022 * fine * (1.0 + 2.2 * old)
    gloss = (1.0 - 0.35 * old) * (0.85 + 0.15 * fine)
    return Surface(absorb(skin, tint, MOTTLING), gloss, 0.0)


@formula
def paint_blood(surface, place, anatomy, face):
    """Redder cheeks, nose and ears; blusher."""
    side, y = place.side, place.y
    blood = 0.75 * blob(side - 0.42, 0.22, y + 0.30, 0.20)
    blood += 0.6 * blob(side, 0.16, y - anatomy.nose.base_y - 0.05, 0.12)
    blood *= 1.0 + 0.6 * anatomy.traits.child
    blusher = face.makeup * blob(side - 0.46, 0.17, y + 0.22, 0.14)
    amount = 0.20 * blood * (0.6 + 0.8 * face.haemoglobin) + 0.38 * blusher
    on_ear = bump(side - anatomy.skull.ear_x, 0.12)
    amount = amount * place.front + 0.06 * on_ear
    albedo = absorb(surface.albedo, amount, BLUSH)
    # The bowl of the ear is a shadow, and so is the groove below its rim.
    hollow = blob(y + 0.06, 0.10, place.z + 0.25 * y + 0.07, 0.07)
    hollow *= smoothstep(0.0, 0.03, side - anatomy.skull.ear_x)
    return Surface(dim(albedo, 1.0 - 0.40 * hollow), surface.gloss, surface.glow)


@formula
def forehead_line(place, number, broad):
    """One of three lines across the forehead."""
    wave = 0.02 * sin(6.0 * place.x + 2.0 * number) + 0.03 * place.side * place.side
    return bump(place.y - (0.47 + 0.09 * number) - wave, 0.012) * (0.7 + 0.3 * broad)


@formula
def crows_feet(place, eyes):
    """Three lines that fan out beside an eye."""
    beyond, above = place.side - eyes.x - 1.12 * eyes.size, place.y - eyes.y
    fan = smoothstep(0.0, 0.03, beyond) * smoothstep(0.15, 0.08, beyond)
    lines = bump(above + 0.35 * beyond, 0.010) + bump(above, 0.010)
    return fan * (lines + bump(above - 0.35 * beyond, 0.010))


@formula
def cheek_fold(place, anatomy):
    """The fold from the nose to the corner of the mouth."""
    nose, mouth = anatomy.nose, anatomy.mouth
    down = (place.y - nose.base_y - 0.02) * (1.0 / (mouth.y - 0.10 - nose.base_y))
    along = nose.width + 0.03 + (0.17 + 0.05 * anatomy.traits.smile) * down
    fold = bump(place.side - along, 0.028)
    return 0.75 * fold * smoothstep(-0.15, 0.35, down) * smoothstep(1.3, 0.8, down)


@formula
def eye_bag(place, eyes):
    """The line below an eye."""
    across, above = place.side - eyes.x, place.y - eyes.y
    bag = bump(above + 0.62 * eyes.size + 0.05 + 0.35 * across * across, 0.014)
    return bag * bump(across, 0.11)


@formula
def paint_wrinkles(surface, place, anatomy, broad):
    """Forehead lines, crow's feet, folds, bags; the frown line."""
    lines = forehead_line(place, 0.0, broad) + forehead_line(place, 1.0, broad)
    lines = 0.8 * (lines + forehead_line(place, 2.0, broad)) * smoothstep(0.48, 0.25, place.side)
    lines += crows_feet(place, anatomy.eyes) + cheek_fold(place, anatomy)
    lines += 0.8 * eye_bag(place, anatomy.eyes)
    frown = blob(place.side - 0.055, 0.014, place.y - anatomy.eyes.brow_y + 0.02, 0.07)
    weight = 0.40 * lines * anatomy.traits.old + 0.14 * frown * anatomy.traits.knit
    albedo = absorb(surface.albedo, weight * place.front, WRINKLE)
    return Surface(albedo, surface.gloss, surface.glow)


@formula
def paint_age_spots(surface, spots, old):
    """Dark spots where the noise is high."""
    return darken(surface, 0.20 * old * smoothstep(1.5, 2.4, spots))


@formula
def beard_place(place, anatomy):
    """Where a beard grows: chin, moustache and side whiskers, 0 to 1."""
    x, y, side, mouth = place.x, place.y, place.side, anatomy.mouth
    slope = max(side - 0.28, 0.0)
    chin = smoothstep(-0.28, -0.58, y - 0.55 * slope)
    middle = lip_line(mouth, side / mouth.width) + 0.5 * (mouth.upper - mouth.lower - mouth.opening)
    half = 0.5 * (mouth.upper + mouth.lower + mouth.opening)
    across, up = x / (mouth.width * 1.04), (y - middle) / half
    around = math.sqrt(across * across + up * up + 1e-9)
    chin *= smoothstep(0.85, 1.10, around) * smoothstep(-0.07, -0.26, y - 0.6 * slope)
    bend = 0.5 * side * side
    moustache = bump(y - mouth.y - mouth.upper - 0.060 + bend, 0.050)
    moustache *= smoothstep(0.34, 0.20, side)
    moustache *= smoothstep(anatomy.nose.base_y - 0.02, anatomy.nose.base_y - 0.09, y)
    whiskers = smoothstep(0.52, 0.66, side) * smoothstep(0.10, -0.25, y)
    whiskers *= smoothstep(-0.1, 0.15, place.z)
    return max(max(chin, moustache), 0.8 * whiskers) * smoothstep(-0.35, 0.0, place.z)


@formula
def paint_beard(surface, place, anatomy, hair, hairs):
    """Stubble first, then a full beard; `hairs` are single hairs, `hair` is their colour."""
    full = anatomy.traits.beard
    grown = full * power(max(beard_place(place, anatomy), 1e-5), 1.5 - 0.7 * full)
    # Hairs that are finer than a pixel are seen as a tint: this is 1 at 400 pixels, 0.26 at 64.
    hairs = hairs * 0.010 / (0.004 + place.edge)
    tint = 0.92 * grown * (1.0 + 0.25 * hairs)
    single = smoothstep(-0.50, 0.40, 1.8 * grown - 0.85 + 0.25 * hairs)
    weight = 0.95 * clamp(max(tint, single * smoothstep(0.15, 0.5, grown)), 0.0, 1.0)
    colour = dim(hair, 0.85 * clamp(1.05 + 0.28 * hairs, 0.4, 2.0))
    return shine(cover(surface, colour, weight), 0.35, weight)
