"""Rows of float32 distances in half the memory: an entry takes eight bytes as long as it stands for one edge.

An entry of one edge is one place: the other cluster and the distance. An entry of several edges is two: the other
cluster, as -1 - number, and how many edges there are; then their sum (or largest). There is always room for it, since
it has come from two entries or more. The two places may lie in different segments.

``other`` and ``stored`` are the same memory, seen as two whole numbers of four bytes a place and as one of eight.
"""

from __future__ import annotations

import numpy as np

from ..compiled.fetching import fetch
from ..compiled.loading import bare_inlined, bare_inside
from ..compiled.sets import top


@bare_inside
def add_brief(rows, room, p, length, c, adds):
    """Add the entries of p to the row in ``room``, which belongs to cluster c; return its new length."""
    to, stored, counts, place, base = room.other, room.stored, room.count, room.place, room.base[0]
    left, segment, told, count = np.int64(rows.used[p]), p, np.int64(-1), np.int64(1)
    while left > 0:
        begin = rows.start[segment]
        for k in range(begin, min(begin + left, rows.start[segment + 1])):
            if told >= 0:  # by the place before
                other, value, told = told, rows.stored[k], np.int64(-1)
            else:
                other = np.int64(rows.other[2 * k])
                if other < 0:
                    told, count = -1 - other, np.int64(rows.other[2 * k + 1])
                    continue
                value, count = np.float64(np.int32(rows.other[2 * k + 1]).view(np.float32)), np.int64(1)
            q = top(rows.leader, other)
            e = place[q] - base
            if e >= 0:
                counts[e] += count
                stored[e] = stored[e] + value if adds else max(stored[e], value)
            elif q != c:
                place[q] = base + length
                to[length], stored[length], counts[length] = q, value, count
                length += 1
        left -= rows.start[segment + 1] - begin
        segment = np.int64(rows.following[segment])
    return length


@bare_inlined
def put_brief(to, k, room, e, second):
    """Write an entry of ``room`` into place k, or what belongs into its second place."""
    if second:
        to.stored[k] = room.stored[e]
    elif room.count[e] > 1:
        to.other[2 * k], to.other[2 * k + 1] = -1 - room.other[e], room.count[e]
    else:
        to.other[2 * k], to.other[2 * k + 1] = room.other[e], np.float32(room.stored[e]).view(np.int32)


@bare_inside
def write_brief(rows, room, c, length):
    """Write the row in ``room`` back to the segments of cluster c; segments that stay empty are forgotten."""
    segment, k, last, used = c, rows.start[c], rows.start[c + 1], 0
    for e in range(length):
        for second in range(2 if room.count[e] > 1 else 1):
            while k == last:
                segment = np.int64(rows.following[segment])
                k, last = rows.start[segment], rows.start[segment + 1]
            put_brief(rows, k, room, e, second)
            k, used = k + 1, used + 1
    rows.used[c] = used
    rows.following[segment], rows.last[c] = -1, segment


@bare_inside
def store_brief(room, length, to, at):
    """Write the row in ``room`` to places from ``at`` on; return how many it takes."""
    k = at
    for e in range(length):
        for second in range(2 if room.count[e] > 1 else 1):
            put_brief(to, k, room, e, second)
            k += 1
    return k - at


@bare_inlined
def ask_for_leader(rows, k):
    """Ask for what is known of the cluster that place k leads to; the second place of an entry leads nowhere."""
    other = np.int64(rows.other[2 * k])
    other = max(other, -1 - other)
    if other < len(rows.leader):
        fetch(rows.leader, other)
        fetch(rows.weight, other)
