"""What betrays a generated image: local warps, ringing, blotches, a water-drop ring."""

from __future__ import annotations

import math
from collections import namedtuple

from numpy import float32

from facerender.compiled import formula, loop
from facerender.maths import box_mean, clamp, cos, exp, mix, sin, smoothstep
from facerender.textures import bilinear, lookup

Spoiler = namedtuple("Spoiler", "torn right up blotch tint warped blurred sums")
"""Room to spoil an image in; arrays (size, size)."""


@formula
def step_at(i, size):
    """Place of a row or column, from -1 to 1."""
    return 2.0 * float32(i) / float32(size - 1) - 1.0


@loop
def fill_noise(out, mottle, layer, frequency, seed):
    """A layer of noise over the image."""
    size = len(out)
    for row in range(size):
        v = step_at(row, size) * frequency + seed * (layer * 0.7 + 0.4)
        for column in range(size):
            u = step_at(column, size) * frequency + seed * (layer + 1.3)
            out[row, column] = lookup(mottle, u, v)


@formula
def reflected(place, last):
    """A place on [0, last], as in a mirror at either end."""
    place = abs(place)
    return clamp(last - abs(last - place), 0.0, last)


@formula
def drop_ring(x, y, seed):
    """Waves around a point, as of a water drop."""
    across, up = x - 0.6 * sin(11.0 * seed), y - 0.6 * cos(7.0 * seed)
    square = across * across + up * up
    return sin(34.0 * math.sqrt(square)) * exp(-square / (0.28 * 0.28))


@loop
def spoil(image, face, mottle, spoiler):
    """Spoil an image (3, size, size) in [0, 1], where the face has artefacts."""
    amount, seed = face.artefacts, face.texture_seed
    if amount <= 0.0:
        return
    size = len(spoiler.torn)
    last = float32(size - 1)
    fill_noise(spoiler.torn, mottle, 1.0, 0.25, seed)
    fill_noise(spoiler.right, mottle, 2.0, 0.35, seed)
    fill_noise(spoiler.up, mottle, 3.0, 0.35, seed)
    fill_noise(spoiler.blotch, mottle, 4.0, 0.22, seed)
    for channel in range(3):
        fill_noise(spoiler.tint, mottle, 5.0 + float32(channel), 0.1, seed)
        for row in range(size):
            for column in range(size):
                torn = 0.10 * smoothstep(0.3, 1.5, spoiler.torn[row, column]) * amount
                x = float32(column) + 0.5 * last * torn * spoiler.right[row, column]
                y = float32(row) + 0.5 * last * torn * spoiler.up[row, column]
                x, y = reflected(x, last), reflected(y, last)
                spoiler.warped[row, column] = bilinear(image[channel], x, y)
        box_mean(spoiler.warped, spoiler.blurred, 2, spoiler.sums)
        for row in range(size):
            y = step_at(row, size)
            for column in range(size):
                warped, blurred = spoiler.warped[row, column], spoiler.blurred[row, column]
                ringing = warped + 1.6 * amount * (warped - blurred)
                tint = 0.22 * spoiler.tint[row, column] + blurred
                weight = 0.75 * amount * smoothstep(1.0, 1.7, spoiler.blotch[row, column])
                drop = drop_ring(step_at(column, size), y, seed)
                spoiled = mix(ringing, tint, weight) + 0.28 * amount * drop
                image[channel, row, column] = clamp(spoiled, 0.0, 1.0)
