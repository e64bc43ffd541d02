"""How rows begin: objects that have an edge get near slots, for the cache, and the edges are copied in that order."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.fetching import fetch
from ..compiled.loading import bare_inlined, compiled, inside
from .entries import SMALLEST, put_count

#: Edges as a graph lists them, each once. Empty: ``weight``, if all objects weigh 1; ``counts`` and ``pairs``, if edges
#: are between objects and not yet between clusters.
Listed = namedtuple("Listed", "starts ends distances counts pairs weight slot_of")

#: Memory is asked for so many objects before it is read; so many distances come with one request.
AHEAD, AT_ONCE = 8, 8


@compiled
def walk(starts, ends):
    """Return the objects in the order of a walk that takes all neighbours of one object before those of the next."""
    n = len(starts) - 1
    first, earlier = earlier_neighbours(starts, ends)
    order, seen, count = np.empty(n, np.int32), np.zeros(n, np.bool_), 0
    for begin in range(n):
        if seen[begin]:
            continue
        order[count], seen[begin], at, count = begin, True, count, count + 1
        while at < count:
            i = order[at]
            ask_ahead(starts, ends, first, earlier, order, at, count)
            at += 1
            for k in range(first[i], first[i + 1]):
                count += visit(earlier[k], order, seen, count)
            for k in range(starts[i], starts[i + 1]):
                count += visit(ends[k], order, seen, count)
    return order


@bare_inlined
def ask_ahead(starts, ends, first, earlier, order, at, count):
    """Ask for the neighbours of an object that the walk comes to soon, and where those of a later one begin."""
    if at + 2 * AHEAD < count:
        i = np.int64(order[at + 2 * AHEAD])
        fetch(starts, i)
        fetch(first, i)
    if at + AHEAD < count:
        i = order[at + AHEAD]
        fetch(ends, starts[i])
        fetch(earlier, first[i])


@bare_inlined
def visit(j, order, seen, count):
    """Enter an object that was not there before; return how many were entered."""
    if seen[j]:
        return 0
    order[count], seen[j] = j, True
    return 1


@inside
def earlier_neighbours(starts, ends):
    """Return the neighbours of every object that come before it, in order: where those of each begin, and they."""
    n = len(starts) - 1
    first, earlier = np.zeros(n + 1, np.int64), np.empty(len(ends), np.int32)
    for j in ends:
        first[j] += 1
    for j in range(1, n + 1):
        first[j] += first[j - 1]
    for i in range(n - 1, -1, -1):  # backwards: then ``first`` ends up where each begins
        for k in range(starts[i + 1] - 1, starts[i] - 1, -1):
            first[ends[k]] -= 1
            earlier[first[ends[k]]] = i
    return first, earlier


@compiled
def fill_share(edges, rows, first, last):
    """Write the edges into the rows of some slots, in the order of slots. Other threads can do other slots."""
    place, object_of, starts, n = rows.start[first:last].copy(), rows.object_of, edges.starts, len(rows.object_of)
    for slot in range(n):
        if slot + 4 * AHEAD < n:
            fetch(starts, np.int64(object_of[slot + 4 * AHEAD]))
        if slot + 2 * AHEAD < n:
            k = starts[object_of[slot + 2 * AHEAD]]
            fetch(edges.ends, k)
            fetch(edges.distances, k)
            fetch(edges.distances, k + AT_ONCE)
        if slot + AHEAD < n:
            i = np.int64(object_of[slot + AHEAD])
            for k in range(starts[i], starts[i + 1]):
                fetch(edges.slot_of, np.int64(edges.ends[k]))
        i, here = np.int64(object_of[slot]), first <= slot < last
        for k in range(edges.starts[i], edges.starts[i + 1]):
            j = np.int64(edges.ends[k])
            other = np.int64(edges.slot_of[j])
            if here:
                enter(edges, rows, k, 0, i, j, other, place[slot - first])
                place[slot - first] += 1
            if first <= other < last:
                enter(edges, rows, k, 1, j, i, slot, place[other - first])
                place[other - first] += 1


@bare_inlined
def enter(edges, rows, k, side, i, j, other, at):
    """Write edge k, seen from object i, as an entry that leads to object j in slot ``other``."""
    if rows.brief:
        rows.places[2 * at], rows.places[2 * at + 1] = other, np.float32(edges.distances[k]).view(np.int32)
        return
    rows.other[at] = other
    if not rows.listed:
        return
    rows.stored[at] = edges.distances[k]
    if rows.reduction == SMALLEST:
        rows.pair[at] = edges.pairs[k, side] if len(edges.pairs) else i * len(edges.slot_of) + j
    elif len(edges.counts):
        put_count(rows.count, at, rows.long_count, at, edges.counts[k])
    elif len(edges.weight):
        product = edges.weight[i] * edges.weight[j]
        put_count(rows.count, at, rows.long_count, at, product)
        rows.stored[at] *= product
