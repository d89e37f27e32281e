"""Sums and maxima over windows of an image."""

from __future__ import annotations

from numpy import float32

from facerender.compiled import loop


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
    share = 1.0 / float32((2 * radius + 1) * (2 * radius + 1))
    for row in range(rows):
        for column in range(columns):
            sums[row, column], mean[row, column] = 0.0, 0.0
        for shift in range(-radius, radius + 1):
            other = min(max(row + shift, 0), rows - 1)
            for column in range(columns):
                sums[row, column] += image[other, column]
        for shift in range(-radius, radius + 1):
            for column in range(columns):
                other = min(max(column + shift, 0), columns - 1)
                mean[row, column] += sums[row, other]
        for column in range(columns):
            mean[row, column] *= share
