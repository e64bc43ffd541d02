"""The smallest values of long runs of numbers, and where they are; what every search comes down to."""

from __future__ import annotations

import numpy as np

from .loading import compiled
from .sorting import insert

#: Values compared at once: a run of fixed length becomes vector instructions, one of varying length does not.
CHUNK, EIGHTH = 64, 8


@compiled
def scan_values(values, first, own, bound, place):
    """Keep the smallest of a run of values, but for the one at ``own``.

    A chunk is compared as a whole; in one that holds a small value, so are its eighths, and only then single values.
    """
    last = len(bound) - 1
    for start in range(0, len(values), CHUNK):
        chunk, threshold, hits = values[start : start + CHUNK], bound[last], 0
        if len(chunk) == CHUNK:
            for j in range(CHUNK):
                hits += chunk[j] < threshold
            if not hits:
                continue
        for begin in range(0, len(chunk), EIGHTH):
            part, threshold, hits = chunk[begin : begin + EIGHTH], bound[last], 0
            if len(part) == EIGHTH:
                for j in range(EIGHTH):
                    hits += part[j] < threshold
                if not hits:
                    continue
            for j in range(len(part)):
                where = first + start + begin + j
                if part[j] < bound[last] and where != own:
                    insert(bound, place, 0, last, part[j], where)


@compiled
def scan_square(base, n, first, bound, place):
    """The smallest entries of rows ``first``, first + 1, ... of a square matrix."""
    for i in range(len(bound)):
        scan_values(base[(first + i) * n : (first + i + 1) * n], 0, first + i, bound[i], place[i])


@compiled
def scan_condensed(base, n, first, stop, bound, place):
    """The smallest entries of all rows, from rows ``first`` to ``stop`` of a condensed matrix, seen from both sides."""
    last = bound.shape[1] - 1
    threshold = bound[:, last].copy()
    for i in range(first, stop):
        at = n * i - i * (i + 1) // 2
        values, others = base[at : at + n - i - 1], threshold[i + 1 :]
        for start in range(0, len(values), CHUNK):
            own, chunk, limits = bound[i, last], values[start : start + CHUNK], others[start : start + CHUNK]
            hits = 0
            if len(chunk) == CHUNK:
                for j in range(CHUNK):
                    hits += (chunk[j] < own) | (chunk[j] < limits[j])
                if not hits:
                    continue
            for begin in range(0, len(chunk), EIGHTH):
                own, part, limit = bound[i, last], chunk[begin : begin + EIGHTH], limits[begin : begin + EIGHTH]
                hits = 0
                if len(part) == EIGHTH:
                    for j in range(EIGHTH):
                        hits += (part[j] < own) | (part[j] < limit[j])
                    if not hits:
                        continue
                for j in range(len(part)):
                    other = i + 1 + start + begin + j
                    if part[j] < bound[i, last]:
                        insert(bound[i], place[i], 0, last, part[j], other)
                    if part[j] < limit[j]:
                        insert(bound[other], place[other], 0, last, part[j], i)
                        limit[j] = bound[other, last]
        threshold[i] = bound[i, last]


@compiled
def merge_scans(bound, place, other_bound, other_place):
    """Join two sets of smallest entries."""
    last = bound.shape[1] - 1
    for i in range(len(bound)):
        for e in range(last + 1):
            if other_bound[i, e] < bound[i, last]:
                insert(bound[i], place[i], 0, last, other_bound[i, e], np.int64(other_place[i, e]))


@compiled
def smallest_of(values, scratch):
    """Return the smallest of an even number of values, folded in halves: long loops become vector instructions.

    ``scratch``: room for half of them.
    """
    half = len(values) // 2
    low, high = values[:half], values[half:]
    for j in range(half):
        scratch[j] = low[j] if low[j] < high[j] else high[j]
    while half > 1 and half % 2 == 0:
        half //= 2
        low, high = scratch[:half], scratch[half : 2 * half]
        for j in range(half):
            low[j] = low[j] if low[j] < high[j] else high[j]
    smallest = np.inf
    for j in range(half):
        smallest = min(smallest, scratch[j])
    return smallest


@compiled
def nearest_in(values, tie_factor, scratch):
    """Return the smallest value, the first place that has it (-1 if it is infinite), and whether others tie."""
    smallest = smallest_of(values, scratch)
    bound, count, where = smallest * tie_factor, 0, 0
    for c in range(len(values)):
        near = values[c] <= bound
        count += near
        where += c * near
    if smallest == np.inf:
        return smallest, -1, False
    if count > 1:  # otherwise the sum of places is the place
        where = 0
        while values[where] > smallest:
            where += 1
    return smallest, where, count > 1
