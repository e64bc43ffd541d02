"""What levels on a graph leave behind, and the heap of clusters where links are taken one at a time."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.loading import bare_inside, inside

#: What the levels leave: links and, for the smallest distance, their ``pair`` of objects; the clusters ``searched`` at
#: the last level; ``heap``: clusters by the distance of their nearest, where links are taken one at a time.
Steps = namedtuple("Steps", "p q distance level pair searched heap heap_key counters")

#: Places in Steps.counters.
N_ALIVE, LEVEL, N_LINKS, N_SEARCHED, N_HEAP = range(5)


# --- links one at a time (alpha = 0): a heap of clusters, smallest distance first, then the smallest object ---


@bare_inside
def before(rows, steps, a, b):
    """Tell whether heap entry a comes before b."""
    if steps.heap_key[a] != steps.heap_key[b]:
        return steps.heap_key[a] < steps.heap_key[b]
    return rows.object_of[steps.heap[a]] < rows.object_of[steps.heap[b]]


@bare_inside
def swap(steps, a, b):
    """Exchange two entries of the heap."""
    steps.heap[a], steps.heap[b] = steps.heap[b], steps.heap[a]
    steps.heap_key[a], steps.heap_key[b] = steps.heap_key[b], steps.heap_key[a]


@bare_inside
def sink(rows, steps, a):
    """Move an entry down to where it belongs."""
    count = steps.counters[N_HEAP]
    while True:
        child = 2 * a + 1
        if child >= count:
            return
        if child + 1 < count and before(rows, steps, child + 1, child):
            child += 1
        if not before(rows, steps, child, a):
            return
        swap(steps, a, child)
        a = child


@bare_inside
def push(rows, steps, key, cluster):
    """Enter a cluster by the distance of its nearest."""
    a = steps.counters[N_HEAP]
    steps.heap[a], steps.heap_key[a] = cluster, key
    steps.counters[N_HEAP] = a + 1
    while a and before(rows, steps, a, (a - 1) // 2):
        swap(steps, a, (a - 1) // 2)
        a = (a - 1) // 2


@inside
def refill(rows, steps):
    """Drop entries that are out of date, where the heap is full of them."""
    steps.counters[N_HEAP] = 0
    for c in range(len(rows.leader)):
        if rows.leader[c] == c and rows.best[c] < np.inf:
            push(rows, steps, rows.best[c], c)


@inside
def smallest_link(rows, steps):
    """Return the cluster with the smallest link of all, the first one by number; -1 if there is none."""
    while steps.counters[N_HEAP]:
        c, key = np.int64(steps.heap[0]), steps.heap_key[0]
        if rows.leader[c] == c and rows.best[c] == key:
            return c
        last = steps.counters[N_HEAP] - 1
        swap(steps, 0, last)
        steps.counters[N_HEAP] = last
        sink(rows, steps, 0)
    return np.int64(-1)
