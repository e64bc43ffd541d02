"""Links one at a time (alpha = 0): always the smallest of all, ties to the smallest objects.

Clusters play a knock-out tournament: of two the one whose nearest is nearer goes on, and who is left has the smallest
link. Slots are the leaves of a tree, ``steps.first[k]`` says who has won below node k, and node k has the children 2k
and 2k + 1. When the nearest of a cluster changes, only games that it has won or now wins are played again.
"""

from __future__ import annotations

import numpy as np

from ..compiled.loading import bare_inlined, bare_inside, inside
from ..compiled.step import allows
from .joining import EQUAL, LOST, hear_equal, join_rows, weigh_parts, what_changes
from .rows import refresh, search
from .steps import LEVEL, N_ALIVE, note_link


@bare_inlined
def winner(rows, steps, k):
    """Return who wins at node k: the cluster whose nearest is nearer, then the one with the smaller first object."""
    slots = len(rows.leader)
    a = np.int64(steps.first[2 * k]) if 2 * k < slots else 2 * k - slots
    b = np.int64(steps.first[2 * k + 1]) if 2 * k + 1 < slots else 2 * k + 1 - slots
    if rows.best[a] == rows.best[b]:
        return a if rows.object_of[a] < rows.object_of[b] else b
    return a if rows.best[a] < rows.best[b] else b


@bare_inside
def play_all(rows, steps):
    """Play all games. O(slots)."""
    for c in range(len(rows.leader)):
        if rows.leader[c] != c:
            rows.best[c] = np.inf
    for k in range(len(rows.leader) - 1, 0, -1):
        steps.first[k] = winner(rows, steps, k)


@bare_inside
def play_again(rows, steps, c):
    """Play the games of a cluster whose nearest has changed, up to the first that it neither won nor wins."""
    k = (len(rows.leader) + c) >> 1
    while k:
        before, steps.first[k] = steps.first[k], winner(rows, steps, k)
        if steps.first[k] == before and before != c:
            return
        k >>= 1


@inside
def join_pair(rows, room, steps, pair, bounds, tie_factor):
    """Join two clusters, search the new one and those that it means something for. Returns how many entries were read.

    What :func:`reliac.engines.graph.joining.join_share` does, for a level that is a single link.
    """
    head, gone, lost = pair[0], pair[1], 0
    weigh_parts(rows, pair, bounds)
    rows.best[gone] = np.inf
    read = length = join_rows(rows, room, pair)
    search(rows, room, head, length, tie_factor)
    for e in range(length):
        c = np.int64(room.other[e])
        change = what_changes(rows, c, room.stored[e], head)
        if change == LOST:
            steps.searched[lost] = c
            lost += 1
        elif change == EQUAL:
            hear_equal(rows, c, head)
    for k in range(lost):
        c = np.int64(steps.searched[k])
        length = refresh(rows, room, c)
        search(rows, room, c, length, tie_factor)
        play_again(rows, steps, c)
        read += length
    for c in pair:
        play_again(rows, steps, c)
        if rows.scaled:
            rows.factor[c] = 1.0
    return read


@inside
def join_one_by_one(rows, room, steps, rules, fewest, patience):
    """Take the smallest link, again and again; tell whether all is done. When it stops: see ``levels.advance``."""
    counters, pair, bounds, read = steps.counters, np.empty(2, np.int64), np.array([0, 2]), 0
    play_all(rows, steps)
    while read <= patience and counters[N_ALIVE] >= fewest:
        c = np.int64(steps.first[1]) if len(rows.leader) > 1 else np.int64(0)
        o, distance = np.int64(rows.nearest[c]), rows.best[c]
        ended = counters[N_ALIVE] <= rules.n_clusters or counters[LEVEL] >= rules.max_level
        if ended or distance == np.inf or distance > rules.max_value:
            return True
        pair[0], pair[1] = (c, o) if rows.object_of[c] < rows.object_of[o] else (o, c)
        if rules.limits.active and not allows(rules.limits, rows.object_of[pair[0]], rows.object_of[pair[1]]):
            return True
        counters[LEVEL] += 1
        mutual = rows.nearest[o] == c  # then both have added up the same numbers, maybe in another order
        note_link(rows, steps, pair[0], pair[1], min(distance, rows.best[o]) if mutual else distance)
        read += join_pair(rows, room, steps, pair, bounds, rules.tie_factor)
        counters[N_ALIVE] -= 1
    return False
