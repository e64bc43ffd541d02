"""The square matrix of the dense engine: how long its rows are, and the numbers it begins with."""

from __future__ import annotations

import numpy as np

from ..compiled.formulas import ADD
from ..compiled.loading import compiled

#: Numbers that a pass over a row takes at once; rows are a multiple of it long.
CHUNK = 32


@compiled
def padded_width(places):
    """Return the length of a row: whole chunks, and no power of two, whose columns would share one line of cache."""
    width = (places + CHUNK - 1) // CHUNK * CHUNK
    return width if width % 512 else width + CHUNK


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
        if square.limits.max_size < 2:
            row[:] = np.inf
        elif square.limits.active:
            for k in range(square.limits.starts[i], square.limits.starts[i + 1]):
                row[square.limits.other[k]] = np.inf
