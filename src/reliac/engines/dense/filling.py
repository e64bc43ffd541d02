"""The square matrix of the dense engine: how long its rows are, and the numbers it begins with."""

from __future__ import annotations

import numpy as np

from ..compiled.formulas import row_start
from ..compiled.loading import bare, compiled

#: Numbers that a pass over a row takes at once; rows are a multiple of it long.
CHUNK = 32


@compiled
def padded_width(places):
    """Return the length of a row: whole chunks, and no power of two, whose columns would share one line of cache."""
    width = (places + CHUNK - 1) // CHUNK * CHUNK
    return width if width % 512 else width + CHUNK


@bare
def fill_later(given, n, stored, width, start, stop, squared):
    """Write what stands after the diagonal in rows ``start`` to ``stop`` of the matrix from a condensed one.

    Of squares, if asked for. The rest is copied from there (``mirror_rows``). Cost: the rows.
    """
    for i in range(start, stop):
        at, row = row_start(n, i), stored[i * width + i + 1 : i * width + n]
        values = given[at : at + n - i - 1]
        if squared:
            for j in range(len(row)):
                row[j] = np.float64(values[j]) * np.float64(values[j])
        else:
            for j in range(len(row)):
                row[j] = values[j]
