"""What levels on a graph leave behind."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.loading import bare_inlined, bare_inside
from ..compiled.sets import top
from .entries import SMALLEST

#: What the levels leave: links and, for the smallest distance, their ``pair`` of objects; the clusters ``searched`` at
#: the last level; ``first``: who has the smallest link, where links are taken one at a time (see ``one_link.py``).
Steps = namedtuple("Steps", "p q distance level pair searched first counters")

#: Places in Steps.counters.
N_ALIVE, LEVEL, N_LINKS, N_SEARCHED = range(4)


@bare_inside
def pair_between(rows, p, q):
    """Return the two nearest objects of two clusters, i of p and j of q, as i * n + j."""
    left, segment, found, smallest = np.int64(rows.used[p]), p, np.int64(-1), np.inf
    while left > 0:
        begin = rows.start[segment]
        for k in range(begin, min(begin + left, rows.start[segment + 1])):
            near = rows.stored[k] < smallest or (rows.stored[k] == smallest and rows.pair[k] < found)
            if near and top(rows.leader, np.int64(rows.other[k])) == q:
                found, smallest = rows.pair[k], rows.stored[k]
        left -= rows.start[segment + 1] - begin
        segment = np.int64(rows.following[segment])
    return found


@bare_inlined
def note_link(rows, steps, p, q, distance):
    """Write down a link of this level."""
    at = steps.counters[N_LINKS]
    steps.p[at], steps.q[at] = rows.object_of[p], rows.object_of[q]
    steps.distance[at], steps.level[at] = distance, steps.counters[LEVEL]
    if rows.reduction == SMALLEST and rows.listed:
        steps.pair[at] = pair_between(rows, p, q)
    steps.counters[N_LINKS] += 1
