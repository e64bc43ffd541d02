"""What compiled searches share: the distance of two rows to the last bit, and lists sorted by distance and index."""

from __future__ import annotations

import numpy as np

from ...input.metrics import Squares
from ..compiled.loading import bare, bare_inlined

#: How kernels know what follows from a sum of squared differences.
ROOTED, UNIT = int(Squares.ROOTED), int(Squares.UNIT)


@bare_inlined
def from_squares(total, form):
    """Return the distance that a sum of squared differences stands for. Never falls where the sum grows."""
    if form == ROOTED:
        return np.sqrt(total)
    return 0.5 * total if form == UNIT else total


@bare_inlined
def squared_gap(left, right, d):
    """Return the sum of squared differences, every bit as SciPy gives it: in the order of the columns. O(d)."""
    total = 0.0
    for c in range(d):
        t = left[c] - right[c]
        total += t * t
    return total


@bare_inlined
def enter(distances, indices, distance, index):
    """Enter a row into a list sorted by distance, then index; the last falls out. Nothing happens if it is farther."""
    e = len(distances) - 1
    if distance > distances[e] or (distance == distances[e] and index > indices[e]):
        return
    while e and (distances[e - 1] > distance or (distances[e - 1] == distance and indices[e - 1] > index)):
        distances[e], indices[e] = distances[e - 1], indices[e - 1]
        e -= 1
    distances[e], indices[e] = distance, index


@bare
def settle(left, right, places, reach, form, distances, indices, proven):
    """Measure what was selected, keep the nearest, and tell whether these are proven to be the nearest of all.

    ``left`` (m, d): rows; ``right`` (m, s, d): those selected for each; ``places`` (m, s): their indices, below 0 if
    none. ``reach`` (m,): no other row is nearer than this. ``distances``, ``indices`` (m, k): filled. O(m s (d + k)).
    """
    d, last = left.shape[1], distances.shape[1] - 1
    for i in range(len(left)):
        distances[i, :] = np.inf
        indices[i, :] = np.iinfo(np.int64).max
        for e in range(places.shape[1]):
            if places[i, e] >= 0:
                distance = from_squares(squared_gap(left[i], right[i, e], d), form)
                enter(distances[i], indices[i], distance, np.int64(places[i, e]))
        proven[i] = distances[i, last] < reach[i]
