"""The edges of clusters, as rows that are brought up to date only when they are read.

A row is a list of entries: another cluster, and what is known of the listed object pairs between the two: their sum (or
smallest, or largest) and their number. When clusters join, their rows become one; the rows of others keep the old
numbers of the parts. Whoever reads a row next looks up what the parts have become, and adds up entries that now mean
the same cluster.

Where vectors give the distance (``connectivity``) an entry only says that two clusters may be joined, and the distance
follows from their representatives.

The entries of a cluster lie in the places that its objects had at the beginning: a chain of segments, filled from the
first on. So no memory is ever allocated after the start.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.loading import bare_inside
from ..compiled.sets import top
from ..compiled.spaces import pair_distance
from ..compiled.step import may_join

#: How entries of one cluster are put together.
SMALLEST, LARGEST, SUM = range(3)

#: ``other``, ``stored``, ``count`` (entries,); for the smallest distance also ``pair``, the two objects as i * n + j
#: with i of this cluster. Segment i is ``start[i] : start[i + 1]``; ``following[i]`` is the next one of its cluster
#: (-1: none), ``last[i]`` the last one. ``used`` (n,): entries of a cluster. ``leader`` (n,): what has become of a
#: cluster. ``factor`` (n,): what the numbers of a part are multiplied by at this level, else 1. ``far``: M, infinite
#: where distances are only compared. ``listed``: distances follow from listed pairs; else from ``points``, the moments
#: of clusters of vectors. ``limits``: which clusters may be joined, by their first objects.
Rows = namedtuple(
    "Rows",
    "other stored count pair start following last used leader object_of factor weight best nearest tied looked "
    "points reduction far ignore scaled listed limits",
)

#: Room for one row: ``place`` (n,) tells where a cluster stands in it, if its ``stamp`` is the number of this reading.
Room = namedtuple("Room", "other stored count pair place stamp number")


@bare_inside
def link_distance(rows, p, q, stored, count):
    """Return the distance of two clusters; infinite where it is not below M.

    With sums, and M for missing pairs: (stored + M (w v - count)) / (w v). Largest: all pairs must be listed.
    """
    if not rows.listed:
        return pair_distance(rows.points, p, q)
    product = rows.weight[p] * rows.weight[q]
    if rows.reduction == SUM:
        if rows.ignore:
            return stored / count
        distance = (stored + rows.far * (product - count)) / product
        return distance if distance < rows.far else np.inf
    if rows.reduction == LARGEST and not rows.ignore and count < product:
        return np.inf
    return stored


@bare_inside
def take_entry(rows, room, k, length, c, scale):
    """Add entry k to the row in ``room``, times ``scale``; return its new length."""
    q = top(rows.leader, np.int64(rows.other[k]))
    if q == c:
        return length
    stored, count = 0.0, 0.0
    if rows.listed:
        stored, count = rows.stored[k], 1.0 if rows.reduction == SMALLEST else rows.count[k]
    if rows.scaled and rows.listed:
        scale *= rows.factor[rows.other[k]]
        stored, count = stored * scale, count * scale
    if room.stamp[q] != room.number[0]:
        room.stamp[q], room.place[q] = room.number[0], length
        room.other[length], room.stored[length], room.count[length] = q, stored, count
        if rows.reduction == SMALLEST:
            room.pair[length] = rows.pair[k]
        return length + 1
    e = room.place[q]
    room.count[e] += count
    if rows.reduction == SUM:
        room.stored[e] += stored
    elif rows.reduction == LARGEST:
        room.stored[e] = max(room.stored[e], stored)
    elif stored < room.stored[e] or (stored == room.stored[e] and rows.pair[k] < room.pair[e]):
        room.stored[e], room.pair[e] = stored, rows.pair[k]
    return length


@bare_inside
def add_row(rows, room, p, length, c):
    """Add the entries of p to the row in ``room``, which belongs to cluster c; return its new length."""
    left, segment, scale = rows.used[p], p, rows.factor[p]
    while left > 0:
        begin = rows.start[segment]
        for k in range(begin, min(begin + left, rows.start[segment + 1])):
            length = take_entry(rows, room, k, length, c, scale)
        left -= rows.start[segment + 1] - begin
        segment = rows.following[segment]
    return length


@bare_inside
def write_row(rows, room, c, length):
    """Write the row in ``room`` back to the segments of cluster c; segments that stay empty are forgotten."""
    rows.used[c] = length
    e, segment = 0, c
    while True:
        for k in range(rows.start[segment], min(rows.start[segment] + length - e, rows.start[segment + 1])):
            rows.other[k] = room.other[e]
            if rows.listed:
                rows.stored[k] = room.stored[e]
                if rows.reduction == SMALLEST:
                    rows.pair[k] = room.pair[e]
                else:
                    rows.count[k] = room.count[e]
            e += 1
        if e == length:
            break
        segment = rows.following[segment]
    rows.following[segment], rows.last[c] = -1, segment


@bare_inside
def refresh(rows, room, c):
    """Bring the row of cluster c up to date, into ``room`` and back; return its length."""
    room.number[0] += 1
    length = add_row(rows, room, c, 0, c)
    write_row(rows, room, c, length)
    return length


@bare_inside
def search(rows, room, c, length, tie_factor):
    """Find the nearest of cluster c in its row in ``room``: the first by object among those that are equally near."""
    best, nearest, bound = np.inf, c, np.inf
    for e in range(length):
        q = np.int64(room.other[e])
        d = link_distance(rows, c, q, room.stored[e], room.count[e])
        if rows.limits.active and not may_join(rows.limits, rows.object_of[c], rows.object_of[q]):
            d = np.inf
        room.stored[e] = d
        if d < best or (d < np.inf and d == best and rows.object_of[q] < rows.object_of[nearest]):
            best, nearest = d, q
    count = 0
    if best < np.inf:
        bound = best * tie_factor
        for e in range(length):
            count += room.stored[e] <= bound
    rows.best[c], rows.nearest[c], rows.tied[c] = best, nearest, count > 1
