"""Small formulas of single numbers, and of vectors, that the renderer's modules share.

The processor has no instruction for exp, log, sine and arctangent, and calling a library keeps a
loop from being vectorised: here they are polynomials, right to about one in a million.

What is divided by a number that all points share is multiplied by one over it instead: that is
computed once, and a division takes as long as ten products.
"""

from __future__ import annotations

import math
from collections import namedtuple

from numpy import float32, int32

from facerender.compiled import formula, loop

LOG_2 = math.log(2)
# The logarithm of 2 in two parts, the first of which times a small whole number is exact.
_LOG_2_HIGH, _LOG_2_LOW = 0.693359375, -2.12194440e-4
_WHOLE = 1.5 * 2**23
PI = math.pi
_TURN_HIGH, _TURN_LOW = 6.28125, 2 * math.pi - 6.28125


Vector = namedtuple("Vector", "x y z")
"""A point or a direction."""


@formula
def clamp(x, low, high):
    """`x`, but neither below `low` nor above `high`."""
    return min(max(x, low), high)


@formula
def smoothstep(start, end, x):
    """0 at `start`, 1 at `end` (which may be the smaller), with flat ends."""
    t = clamp((x - start) * (1.0 / (end - start)), 0.0, 1.0)
    return (3.0 - 2.0 * t) * t * t


@formula
def mix(a, b, weight):
    """Linear interpolation from `a` (weight 0) to `b` (weight 1)."""
    return a + (b - a) * weight


@formula
def smooth_min(a, b, width):
    """Polynomial smooth minimum: the union of two solids with a fillet of size `width`.

    A minimum is the mean less half of |a - b|; a parabola rounds |a - b| off where it is small.
    """
    apart = abs(a - b)
    rounded = apart * apart * (0.5 / width) if apart < width else apart - 0.5 * width
    return 0.5 * (a + b) - 0.5 * rounded - 0.25 * width


@formula
def floor(x):
    """The next whole number below, as a float."""
    whole = float32(int32(x))
    return whole - (1.0 if x < whole else 0.0)


@formula
def exp(x):
    """Exponential function; zero below -80."""
    x = float32(clamp(x, -80.0, 80.0))
    # So large a float has no room for a fraction: the sum is a whole number in its last bits.
    shifted = x * (1.0 / LOG_2) + _WHOLE
    halvings = shifted - _WHOLE
    r = x - halvings * _LOG_2_HIGH - halvings * _LOG_2_LOW
    series = 0.5 + r * (0.16666667 + r * (0.041666667 + r * (0.0083333333 + r * 0.0013888889)))
    # A power of two is its exponent, shifted to where a float keeps it.
    power_of_two = int32((float32(shifted).view(int32) + int32(127)) << int32(23)).view(float32)
    return (1.0 + r * (1.0 + r * series)) * power_of_two


@formula
def log(x):
    """Natural logarithm of a positive number."""
    bits = float32(x).view(int32)
    # x = fraction * 2 ** exponent with a fraction around one, from 0.7 to 1.4.
    exponent = (bits - int32(0x3F3504F3)) >> int32(23)
    fraction = int32(bits - (exponent << int32(23))).view(float32)
    # log f = 2 artanh s, with the series of artanh.
    s = (fraction - 1.0) / (fraction + 1.0)
    q = s * s
    series = 0.66666667 + q * (0.4 + q * (0.28571429 + q * 0.22222222))
    return float32(exponent) * LOG_2 + s * (2.0 + q * series)


@formula
def power(x, exponent):
    """A positive number to any power."""
    return exp(exponent * log(x))


@formula
def bump(x, width):
    """Gaussian exp(-(x / width)²)."""
    x = x * (1.0 / width)
    return exp(-x * x)


@formula
def blob(x, width, y, height):
    """Gaussian of two directions, the product of two bumps."""
    x, y = x * (1.0 / width), y * (1.0 / height)
    return exp(-(x * x + y * y))


@formula
def sin(x):
    """Sine of an angle in radians."""
    turns = floor(x * (0.5 / PI) + 0.5)
    x = x - turns * _TURN_HIGH - turns * _TURN_LOW
    x = PI - x if x > 0.5 * PI else x
    x = -PI - x if x < -0.5 * PI else x
    q = x * x
    series = -0.16666667 + q * (0.0083333310 + q * (-0.00019840874 + q * 2.7525562e-06))
    return x + x * q * series


@formula
def cos(x):
    """Cosine of an angle in radians."""
    return sin(x + 0.5 * PI)


@formula
def atan2(y, x):
    """Angle of the point (x, y), from -pi to pi."""
    long, short = max(abs(x), abs(y)), min(abs(x), abs(y))
    a = short / max(long, 1e-12)
    q = a * a
    series = 0.042504989 + q * (-0.015956903 + q * 0.0028236390)
    series = -0.14202736 + q * (0.10634793 + q * (-0.074890092 + q * series))
    series = -0.33333102 + q * (0.19992696 + q * series)
    angle = a + a * q * series
    angle = 0.5 * PI - angle if abs(y) > abs(x) else angle
    angle = PI - angle if x < 0.0 else angle
    return -angle if y < 0.0 else angle


@formula
def sign(x):
    """-1, 0 or 1."""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


@formula
def at(places, i):
    """The i-th of arrays x, y, z."""
    return Vector(places.x[i], places.y[i], places.z[i])


@formula
def put_at(places, i, vector):
    """Set the i-th of arrays x, y, z."""
    places.x[i], places.y[i], places.z[i] = vector.x, vector.y, vector.z


@formula
def along(start, direction, distance):
    """The point that far from the start."""
    return add(start, scale(direction, distance))


@formula
def dot(a, b):
    """Scalar product."""
    return a.x * b.x + a.y * b.y + a.z * b.z


@formula
def add(a, b):
    """Sum of two vectors."""
    return Vector(a.x + b.x, a.y + b.y, a.z + b.z)


@formula
def subtract(a, b):
    """Difference of two vectors."""
    return Vector(a.x - b.x, a.y - b.y, a.z - b.z)


@formula
def scale(a, factor):
    """A vector times a number."""
    return Vector(a.x * factor, a.y * factor, a.z * factor)


@formula
def unit(a):
    """The vector scaled to length one."""
    return scale(a, 1.0 / math.sqrt(dot(a, a) + 1e-12))


@loop
def widen(image, wide, work):
    """Maximum over 3 x 3 neighbours of a square image (size, size)."""
    size = len(image)
    for row in range(size):
        above, below = max(row - 1, 0), min(row + 1, size - 1)
        for column in range(size):
            of_two = max(image[above, column], image[below, column])
            work[row, column] = max(of_two, image[row, column])
        for column in range(1, size - 1):
            of_two = max(work[row, column - 1], work[row, column + 1])
            wide[row, column] = max(of_two, work[row, column])
        wide[row, 0] = max(work[row, 0], work[row, 1])
        wide[row, size - 1] = max(work[row, size - 2], work[row, size - 1])


@loop
def box_mean(image, mean, radius, sums):
    """Mean over a square window of an image (rows, columns), the border repeated.

    `sums` (rows, columns) is to compute in.
    """
    rows, columns = image.shape
    last, end = rows - 1, columns - 1
    share, first = 1.0 / float32((2 * radius + 1) * (2 * radius + 1)), float32(radius + 1)
    for column in range(columns):
        sums[0, column] = first * image[0, column]
    for shift in range(1, radius + 1):
        for column in range(columns):
            sums[0, column] += image[min(shift, last), column]
    for row in range(1, rows):
        left, entered = max(row - radius - 1, 0), min(row + radius, last)
        for column in range(columns):
            sums[row, column] = sums[row - 1, column] + image[entered, column] - image[left, column]
    for row in range(rows):
        window = first * sums[row, 0]
        for shift in range(1, radius + 1):
            window += sums[row, min(shift, end)]
        for column in range(columns):
            mean[row, column] = share * window
            window += sums[row, min(column + radius + 1, end)] - sums[row, max(column - radius, 0)]
