"""The square matrix of the dense engine: how long its rows are, and the numbers it begins with."""

from __future__ import annotations

import numpy as np

from ..compiled.formulas import row_start
from ..compiled.loading import bare, compiled

#: Numbers that a pass over a row takes at once; rows are a multiple of it long.
CHUNK = 32

#: Columns below the diagonal that are written together: what is read for them stays in the cache.
TILE = 8


@compiled
def padded_width(places):
    """Return the length of a row: whole chunks, and no power of two, whose columns would share one line of cache."""
    width = (places + CHUNK - 1) // CHUNK * CHUNK
    return width if width % 512 else width + CHUNK


@bare
def fill_rows(given, n, stored, width, start, stop, squared):
    """Write rows ``start`` to ``stop`` of the matrix from a condensed one; of squares, if asked for. Cost: the rows."""
    for i in range(start, stop):
        at, row = row_start(n, i) - i - 1, stored[i * width : i * width + n]
        row[i] = 0.0
        for j in range(i + 1, n):
            value = np.float64(given[at + j])
            row[j] = value * value if squared else value
    for left in range(0, stop, TILE):
        for i in range(max(start, left + 1), stop):
            at, row = row_start(n, left) - left - 1 + i, stored[i * width : i * width + n]
            for j in range(left, min(left + TILE, i)):
                value = np.float64(given[at])
                row[j] = value * value if squared else value
                at += n - j - 2
