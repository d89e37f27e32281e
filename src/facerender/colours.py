"""Colour: sRGB transfer, hue, pigment ramps and the tone map. All shading is in linear light."""

from __future__ import annotations

import math
from collections import namedtuple

from numpy import float32, int32

from facerender.compiled import formula
from facerender.maths import clamp, exp, mix, power, sin, smoothstep

Colour = namedtuple("Colour", "red green blue")
"""Linear light."""


def _anchors(srgb: str) -> tuple[Colour, ...]:
    """Logarithms of the linear light of 8-bit sRGB colours."""
    shares = [[value / 255 for value in bytes.fromhex(colour)] for colour in srgb.split()]
    linear = [
        [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in c] for c in shares
    ]
    return tuple(Colour(*(math.log(max(value, 1e-3)) for value in colour)) for colour in linear)


SKIN_ANCHORS = _anchors("faddc9 eec8ac d8a884 b07c58 7c523a 4b2f1f")
"""Of the albedo of Fitzpatrick types I to VI."""
HAIR_ANCHORS = _anchors("161314 30221c 5c3c28 8c5430 c4965c e8c88c")
IRIS_ANCHORS = _anchors("26160e 4a2c18 704e28 626e48 5c7c96")
GREY_HAIR = Colour(0.42, 0.42, 0.43)


@formula
def blend(a, b, weight):
    """Linear interpolation from colour `a` (weight 0) to `b` (weight 1)."""
    return Colour(
        mix(a.red, b.red, weight), mix(a.green, b.green, weight), mix(a.blue, b.blue, weight)
    )


@formula
def dim(colour, factor):
    """A colour times a number."""
    return Colour(colour.red * factor, colour.green * factor, colour.blue * factor)


@formula
def absorb(colour, amount, pigment):
    """What a pigment leaves of a colour (Lambert and Beer); `pigment` is its absorption."""
    return Colour(
        colour.red * exp(-amount * pigment.red),
        colour.green * exp(-amount * pigment.green),
        colour.blue * exp(-amount * pigment.blue),
    )


@formula
def to_linear(srgb):
    """One channel of sRGB in [0, 1] to linear light."""
    return srgb / 12.92 if srgb <= 0.04045 else power((srgb + 0.055) / 1.055, 2.4)


@formula
def to_srgb(linear):
    """One channel of linear light to sRGB, clipped to [0, 1]."""
    linear = clamp(linear, 0.0, 1.0)
    curve = 1.055 * power(max(linear, 1e-6), 1.0 / 2.4) - 0.055
    return 12.92 * linear if linear <= 0.0031308 else curve


@formula
def tone_map(linear):
    """Soft shoulder that keeps bright skin from clipping."""
    linear = max(linear, 0.0)
    return 1.187 * linear * (1.0 + 0.02 * linear) / (1.0 + 0.55 * linear)


@formula
def ramp(anchors, position):
    """Linear-light colour at `position` in [0, 1], log-linear between anchors."""
    last = len(anchors) - 1
    place = clamp(position, 0.0, 1.0) * float32(last)
    lower = min(int32(place), int32(last - 1))
    weight = place - float32(lower)
    a, b = anchors[lower], anchors[lower + 1]
    return Colour(
        exp(mix(a.red, b.red, weight)),
        exp(mix(a.green, b.green, weight)),
        exp(mix(a.blue, b.blue, weight)),
    )


@formula
def _wheel(hue, offset, saturation, value):
    turned = hue * 6.0 + offset
    turned = turned - 6.0 if turned >= 6.0 else turned
    share = clamp(abs(turned - 3.0) - 1.0, 0.0, 1.0)
    return to_linear(clamp(value * (1.0 + saturation * (share - 1.0)), 0.0, 1.0))


@formula
def hsv(hue, saturation, value):
    """Linear-light colour from hue (0 to 1), saturation and value."""
    return Colour(
        _wheel(hue, 0.0, saturation, value),
        _wheel(hue, 4.0, saturation, value),
        _wheel(hue, 2.0, saturation, value),
    )


@formula
def hair_colour(face):
    """Linear-light hair colour, greying from middle age on."""
    pigment = ramp(HAIR_ANCHORS, face.hair_colour)
    return blend(pigment, GREY_HAIR, 0.9 * smoothstep(0.58, 1.0, face.age))


@formula
def clothing_colour(face):
    """Linear-light colour of clothes and head coverings."""
    saturation = 0.35 + 0.15 * sin(9.0 * face.texture_seed)
    return hsv(face.clothing, saturation, 0.475 + 0.225 * sin(5.0 * face.texture_seed))
