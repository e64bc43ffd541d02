"""The square matrix of the dense engine: how long its rows are, and the numbers it begins with."""

from __future__ import annotations

import numpy as np

from ..compiled.loading import compiled, inside
from ..matrix.items import ADD

#: Numbers that a pass over a row takes at once; rows are a multiple of it long.
CHUNK = 32


@compiled
def padded_width(places):
    """Return the length of a row: whole chunks, and no power of two, whose columns would share one line of cache."""
    width = (places + CHUNK - 1) // CHUNK * CHUNK
    return width if width % 512 else width + CHUNK


@compiled
def euclidean_square(points, stored, width, root):
    """Fill the matrix with squared Euclidean distances, or their roots. ``points`` (d, n): one column per object.

    The terms of every pair are added one after the other, as SciPy does: the bits are the same. Cost: n^2 d / 2.
    """
    d, n = points.shape
    for left in range(0, n, 256):
        right = min(left + 256, n)
        for i in range(right):
            start = max(left, i + 1)
            row = stored[i * width + start : i * width + right]
            row[:] = 0.0
            k = 0
            while k + 4 <= d:
                a, b, c, e = points[k, i], points[k + 1, i], points[k + 2, i], points[k + 3, i]
                t, u, v, w = points[k, start:], points[k + 1, start:], points[k + 2, start:], points[k + 3, start:]
                for j in range(len(row)):
                    value = row[j] + (t[j] - a) * (t[j] - a)
                    value += (u[j] - b) * (u[j] - b)
                    value += (v[j] - c) * (v[j] - c)
                    row[j] = value + (w[j] - e) * (w[j] - e)
                k += 4
            while k < d:
                a, t = points[k, i], points[k, start:]
                for j in range(len(row)):
                    row[j] += (t[j] - a) * (t[j] - a)
                k += 1
            if root:
                for j in range(len(row)):
                    row[j] = np.sqrt(row[j])
    mirror(stored, n, width)


@inside
def mirror(stored, n, width):
    """Copy the upper half below the diagonal, in blocks for the cache."""
    for top in range(0, n, 32):
        for left in range(0, top + 32, 32):
            for i in range(top, min(top + 32, n)):
                for j in range(left, min(left + 32, i)):
                    stored[i * width + j] = stored[j * width + i]


@compiled
def close_square(square, n, width):
    """Make the padding and the diagonal infinite; weigh pairs where objects have weights."""
    stored, weight = square.stored, square.weight
    plain = True
    for i in range(n):
        plain = plain and weight[i] == 1.0
    for i in range(n):
        row = stored[i * width : (i + 1) * width]
        if square.reduction == ADD and not plain:
            for j in range(n):
                row[j] *= weight[i] * weight[j]
        row[n:] = np.inf
        row[i] = np.inf
