"""How rows begin: objects that have an edge get near slots, for the cache, and the edges are copied in that order."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.loading import compiled
from .rows import SMALLEST

#: Edges as a graph lists them. Empty: ``weight``, if all objects weigh 1; ``counts`` and ``pairs``, if edges are
#: between objects and not yet between clusters.
Listed = namedtuple("Listed", "starts ends distances counts pairs weight slot_of")


@compiled
def walk(starts, ends):
    """Return the objects in the order of a walk that takes all neighbours of one object before those of the next."""
    n = len(starts) - 1
    order, seen, count = np.empty(n, np.int64), np.zeros(n, np.bool_), 0
    for first in range(n):
        if seen[first]:
            continue
        order[count], seen[first], at, count = first, True, count, count + 1
        while at < count:
            i = order[at]
            at += 1
            for k in range(starts[i], starts[i + 1]):
                j = ends[k]
                if not seen[j]:
                    order[count], seen[j] = j, True
                    count += 1
    return order


@compiled
def fill_share(edges, rows, first, last):
    """Write the edges of objects into the rows of some slots. Other threads can do other slots."""
    n, weighed, counted, paired = len(edges.slot_of), len(edges.weight) > 0, len(edges.counts) > 0, len(edges.pairs) > 0
    for slot in range(first, last):
        i, at = rows.object_of[slot], rows.start[slot]
        for k in range(edges.starts[i], edges.starts[i + 1]):
            j = np.int64(edges.ends[k])
            rows.other[at] = edges.slot_of[j]
            if rows.listed and rows.reduction == SMALLEST:
                rows.stored[at], rows.pair[at] = edges.distances[k], edges.pairs[k] if paired else i * n + j
            elif rows.listed and counted:
                rows.stored[at], rows.count[at] = edges.distances[k], edges.counts[k]
            elif rows.listed:
                count = edges.weight[i] * edges.weight[j] if weighed else 1.0
                rows.stored[at], rows.count[at] = edges.distances[k] * count, count
            at += 1
