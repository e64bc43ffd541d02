"""Prim's scan of a matrix: every row is read once, and all edges of all minimum spanning trees are noted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import TooManyTies
from ..compiled.formulas import row_start
from ..compiled.loading import bare, bare_inlined, bare_inside, only_read
from ..compiled.scanning import CHUNK
from .forest import Edges, Twins, as_edges, most_edges

#: Distances read in compiled code before it returns to Python: Ctrl-C.
DISTANCES_BEFORE_PAUSE = 2**28


@bare_inside
def nearest_outside(key, lanes):
    """Return the smallest number and its first place. Sixteen lanes let the compiler compare several at once."""
    lanes[:] = np.inf
    whole = len(key) // 16 * 16
    for start in range(0, whole, 16):
        for lane in range(16):
            value = key[start + lane]
            lanes[lane] = value if value < lanes[lane] else lanes[lane]
    least = lanes[0]
    for lane in range(1, 16):
        least = min(least, lanes[lane])
    for x in range(whole, len(key)):
        least = min(least, key[x])
    for x in range(len(key)):
        if key[x] == least:
            return least, x
    return least, -1


@bare_inside
def load_row(condensed, n, v, row):
    """Copy the distances of object v from condensed form. The first v lie far apart in memory."""
    place = v - 1
    for x in range(v):
        row[x] = condensed[place]
        place += n - x - 2
    row[v] = 0
    start = row_start(n, v)
    values, others = condensed[start : start + n - v - 1], row[v + 1 :]
    for x in range(len(values)):
        others[x] = values[x]


@bare_inlined
def compare_chunk(row, key, highest, floor, last, slack, length):
    """Bring some keys and highest edges up to date; count the edges that may be noted."""
    hits = 0
    for x in range(length):
        h = highest[x] if highest[x] > last else last
        k = key[x] if key[x] < row[x] else row[x]
        highest[x], key[x] = h, k if k > floor[x] else floor[x]
        hits += (row[x] - slack <= h) & (floor[x] > 0)
    return hits


@bare_inside
def compare_row(row, key, floor, highest, last, v, slack, found, weight, count):
    """Bring keys and highest edges up to date with the row of v; note edges to visited objects. Returns their number.

    ``key``: distance to the nearest visited object (infinite once visited, by ``floor``). ``highest``: the heaviest
    edge on the tree's path from a visited object to v, which is the heaviest taken since it was visited. An edge to v
    is in some minimum spanning tree iff it is as long as that (or, with ``slack``, may be for all that is known).
    Three passes in one, a chunk of objects at a time.
    """
    for start in range(0, len(row), CHUNK):
        stop = min(start + CHUNK, len(row))
        d, k, h, f = row[start:stop], key[start:stop], highest[start:stop], floor[start:stop]
        if stop - start == CHUNK:  # a number known beforehand: vector instructions
            hits = compare_chunk(d, k, h, f, last, slack, CHUNK)
        else:
            hits = compare_chunk(d, k, h, f, last, slack, stop - start)
        if hits:
            for x in range(start, stop):
                if row[x] - slack <= highest[x] and floor[x] > 0 and x != v and row[x] < np.inf:
                    if count < len(weight):
                        found[count, 0], found[count, 1], weight[count] = min(x, v), max(x, v), row[x]
                    count += 1
    return count


@bare
def scan(square, condensed, row, key, floor, highest, lanes, counters, slack, found, weight, steps):
    """Take up to ``steps`` steps of Prim's rule, while there is room for the edges of one more.

    ``square`` (n, n) or ``condensed`` distances, the other one empty. counters: objects visited, edges found.
    Cost: n reads a step.
    """
    n = len(key)
    for _ in range(min(steps, n - counters[0])):
        if counters[1] + n > len(weight):
            return
        least, v = nearest_outside(key, lanes)
        if least == np.inf:  # nothing left in reach: begin anew, with the first that was not visited
            v = 0
            while floor[v] > 0:
                v += 1
        floor[v], key[v] = np.inf, np.inf
        counters[0] += 1
        if len(square):
            line = square[v]
        else:
            load_row(condensed, n, v, row)
            line = row
        counters[1] = compare_row(line, key, floor, highest, least, v, slack, found, weight, counters[1])
        highest[v] = 0


def edges_of_matrix(given: NDArray[Any], n: int, slack: float = 0.0) -> tuple[Edges, Twins | None]:
    """Scan square or condensed distances, as they are: O(n) memory beyond the edges.

    With ``slack``: all edges that may be in a minimum spanning tree if distances differ by that much at most.
    """
    kind = given.dtype
    square, condensed = only_read(np.empty((0, 0), kind)), only_read(np.empty(0, kind))
    if given.ndim == 2:
        square = only_read(given if given.flags.c_contiguous else np.ascontiguousarray(given.T))
    else:
        condensed = only_read(np.ascontiguousarray(given))
    row, floor, highest = np.zeros(n, kind), np.zeros(n, kind), np.zeros(n, kind)
    key, lanes, counters = np.full(n, np.inf, kind), np.empty(16, kind), np.zeros(2, np.int64)
    found, weight = np.empty((4 * n, 2), np.int64), np.empty(4 * n, kind)
    while counters[0] < n:
        count = int(counters[1])
        if count + n > len(weight):
            if count > most_edges(n):
                return edges_if_all_equal(given, n)
            found = np.concatenate((found, np.empty((len(found) + n, 2), np.int64)))
            weight = np.concatenate((weight, np.empty(len(weight) + n, kind)))
        steps = max(1, DISTANCES_BEFORE_PAUSE // n)
        scan(square, condensed, row, key, floor, highest, lanes, counters, kind.type(slack), found, weight, steps)
    count = int(counters[1])
    return as_edges(found[:count, 0], found[:count, 1], weight[:count]), None


def edges_if_all_equal(given: NDArray[Any], n: int) -> tuple[Edges, Twins | None]:
    """Return no edges but one class of twins if all distances are equal; the commonest way to have too many ties."""
    distance = given[0, 1] if given.ndim == 2 else given[0]
    equal = (np.count_nonzero(row == distance) for row in given) if given.ndim == 2 else [(given == distance).sum()]
    none = np.empty(0, np.int64)
    if sum(equal) == given.size - n * (given.ndim == 2 and distance != 0):  # the diagonal is 0
        return as_edges(none, none, np.empty(0)), Twins(np.zeros(n, np.int64), float(distance))
    raise TooManyTies(f"more than {most_edges(n)} tied edges are in some minimum spanning tree")
