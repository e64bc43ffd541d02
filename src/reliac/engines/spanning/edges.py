"""All edges of all minimum spanning trees, by the fastest means for the input.

Given distances and small inputs: Prim's scan, which reads every row once. Few dimensions: a k-d tree
(``boruvka.py``). Many dimensions: block products (``sweeps.py``). The last two search for
the lightest edges that leave each component and let :func:`absorb` join what is proven, until one component is left.

Rows that repeat are taken out first: k twins have k(k-1)/2 links of distance 0, and k-1 of them are enough.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import TooManyTies
from ...input.metrics import EUCLIDEAN, Squares, squares_of
from ...input.objects import Distances, Vectors
from ...input.problem import Problem
from ..compiled.formulas import euclidean_square
from ..compiled.loading import bare_inlined, compiled
from ..compiled.products import one_blas_thread
from ..compiled.scanning import CHUNK
from ..compiled.sets import top, unite
from ..repeats import find_twins

#: Vectors of at most this many rows are compared pair by pair: nothing to search, little to compile.
SMALL = 2048

#: Vectors of at most this many dimensions may be searched by a k-d tree.
FEW_DIMENSIONS = 10

#: Compiled code returns to Python after so many distances were read: for Ctrl-C.
DISTANCES_BEFORE_PAUSE = 2**28


class Edges(NamedTuple):
    """Edges between objects; ``copies`` says how many links of clusters one stands for."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    weight: NDArray[np.float64]
    copies: NDArray[np.int64]


class Twins(NamedTuple):
    """Objects at one distance, the smallest of all, from all others of their class."""

    first: NDArray[np.int64]  # of the class of each object
    distance: float


def spanning_edges(problem: Problem, threads: int) -> tuple[Edges, Twins | None]:
    """Return all edges that are in some minimum spanning tree of the objects, but for links of twins."""
    n, objects, metric = problem.n_objects, problem.objects, problem.metric
    if isinstance(objects, Distances):  # few numbers are copied, so that kernels meet one type and are compiled once
        return edges_of_matrix(np.array(objects.matrix, np.float64) if n <= SMALL else objects.matrix, n)
    if not isinstance(objects, Vectors) or objects.sparse or not squares_of(metric):
        return edges_of_matrix(problem.base_distances(), n)
    vectors = objects.rows
    first = find_twins(vectors) if metric in EUCLIDEAN else None
    own = np.flatnonzero(first == np.arange(n)) if first is not None else np.arange(n)
    rows = vectors[own] if first is not None else vectors
    twins = Twins(first, 0.0) if first is not None else None
    edges = edges_of_vectors(rows, int(squares_of(metric)), problem, threads)
    if twins is not None and (edges.weight == 0.0).any():
        raise TooManyTies("different rows at distance 0, which squares of differences cannot tell from equal ones")
    return edges._replace(i=own[edges.i], j=own[edges.j]), twins


def edges_of_vectors(rows: NDArray[Any], kind: int, problem: Problem, threads: int) -> Edges:
    """Choose by size and dimension; rows are distinct unless compared by direction."""
    n, d = rows.shape
    if n <= SMALL and kind == Squares.UNIT:
        return edges_of_matrix(Vectors(rows).base_distances(problem.criterion, problem.metric), n)[0]
    if n <= SMALL:
        square = np.empty((n, n))
        np.fill_diagonal(square, 0.0)
        columns = np.ascontiguousarray(rows.T, np.float64)
        euclidean_square(columns, square.reshape(-1), n, kind == Squares.ROOTED)
        return edges_of_matrix(square, n)[0]
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        # the bound was measured: below, products are faster
        if kind != Squares.UNIT and d <= FEW_DIMENSIONS and n > 50_000 * 2.2 ** (d - 5):
            from .boruvka import edges_of_points

            return edges_of_points(rows, kind, pool, threads)
        from .sweeps import edges_by_products

        return edges_by_products(rows, kind, pool)


def memory_of_edges(problem: Problem) -> int:
    """Estimate the bytes for finding the edges: a matrix only where there is no other way."""
    n = problem.n_objects
    objects = problem.objects
    if isinstance(objects, Distances):
        return 200 * n
    if not isinstance(objects, Vectors) or objects.sparse or not squares_of(problem.metric):
        return 16 * n**2 + 200 * n
    return 16 * min(n, SMALL) ** 2 + n * (20 * objects.rows.shape[1] + 400) + 2**28 * (n > SMALL)


def most_edges(n: int) -> int:
    """Return the number of edges above which ties have to be handled in another way."""
    return max(64 * n, 2**20)


def as_edges(i: NDArray[Any], j: NDArray[Any], weight: NDArray[Any]) -> Edges:
    """Return edges with i < j."""
    i, j = i.astype(np.int64, copy=False), j.astype(np.int64, copy=False)
    return Edges(np.minimum(i, j), np.maximum(i, j), weight.astype(np.float64, copy=False), np.ones(len(i), np.int64))


# --- twins ---


def star_edges(edges: Edges, twins: Twins | None, leader: NDArray[np.intp]) -> Edges:
    """Add for each class of twins a star over its clusters: the first is linked to every other one.

    All links of a class tie at the smallest distance of all. Taken in order of their indices they join as the star
    does, and its t-th edge stands for t links, so that their number comes out right: k(k-1)/2.
    """
    if twins is None:
        return edges
    objects = np.arange(len(leader))
    order = np.lexsort((objects, leader, twins.first))
    kind, cluster = twins.first[order], leader[order]
    fresh = np.r_[True, (kind[1:] != kind[:-1]) | (cluster[1:] != cluster[:-1])]
    order, kind = order[fresh], kind[fresh]  # the first object of every cluster in every class
    hub = np.r_[True, kind[1:] != kind[:-1]]
    start = np.flatnonzero(hub)[np.cumsum(hub) - 1]
    t = (np.arange(len(order)) - start)[~hub]
    star = Edges(order[start][~hub], order[~hub], np.full(len(t), twins.distance), t)
    return Edges(*(np.concatenate(columns) for columns in zip(edges, star, strict=True)))


# --- Prim's scan ---


@compiled
def nearest_outside(key):
    """Return the smallest number and its first place. Lanes let the compiler compare several at once."""
    lanes = np.full(16, np.inf, key.dtype)
    whole = len(key) // 16 * 16
    for start in range(0, whole, 16):
        for lane in range(16):
            value = key[start + lane]
            lanes[lane] = value if value < lanes[lane] else lanes[lane]
    least = lanes.min()
    for x in range(whole, len(key)):
        least = min(least, key[x])
    for x in range(len(key)):
        if key[x] == least:
            return least, x
    return least, -1


@compiled
def load_row(condensed, n, v, row):
    """Copy the distances of object v from condensed form. The first v lie far apart in memory."""
    place = v - 1
    for x in range(v):
        row[x] = condensed[place]
        place += n - x - 2
    row[v] = 0
    start = n * v - v * (v + 1) // 2
    row[v + 1 :] = condensed[start : start + n - v - 1]


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


@compiled
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


@compiled
def scan(square, condensed, row, key, floor, highest, counters, slack, found, weight, steps):
    """Take up to ``steps`` steps of Prim's rule, while there is room for the edges of one more.

    ``square`` (n, n) or ``condensed`` distances, the other one empty. counters: objects visited, edges found.
    Cost: n reads a step.
    """
    n = len(key)
    for _ in range(min(steps, n - counters[0])):
        if counters[1] + n > len(weight):
            return
        least, v = nearest_outside(key)
        if least == np.inf:
            v = np.argmin(floor)  # nothing left in reach: begin anew
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
    square, condensed = np.empty((0, 0), kind), np.empty(0, kind)
    if given.ndim == 2:
        square = given if given.flags.c_contiguous else np.ascontiguousarray(given.T)
    else:
        condensed = np.ascontiguousarray(given)
    row, floor, highest = np.zeros(n, kind), np.zeros(n, kind), np.zeros(n, kind)
    key, counters = np.full(n, np.inf, kind), np.zeros(2, np.int64)
    found, weight = np.empty((4 * n, 2), np.int64), np.empty(4 * n, kind)
    while counters[0] < n:
        count = int(counters[1])
        if count + n > len(weight):
            if count > most_edges(n):
                return edges_if_all_equal(given, n)
            found = np.concatenate((found, np.empty((len(found) + n, 2), np.int64)))
            weight = np.concatenate((weight, np.empty(len(weight) + n, kind)))
        steps = max(1, DISTANCES_BEFORE_PAUSE // n)
        scan(square, condensed, row, key, floor, highest, counters, kind.type(slack), found, weight, steps)
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


# --- joining what is proven ---


@compiled
def absorb(i, j, weight, leader, reach, hook, out):
    """Join components along proven edges and note every edge that is in some minimum spanning tree.

    Edges come sorted by weight. ``reach`` of a component (at its leader): all edges that leave it and are lighter than
    that are here. A component is open below its reach: there its lightest edges are known, ties included, and all of
    them are noted. Two closed components never join, since lighter edges between them may be missing; so neither may
    open ones between them do it, which happens if ties lead to several closed components: such ones close and wait.
    ``hook`` (n,) is -1. ``out``: places of noted edges. Returns their number. O(E) finds.
    """
    count = start = 0
    side = np.empty((len(i), 2), np.int64)
    while start < len(i):
        w, stop = weight[start], start
        while stop < len(i) and weight[stop] == w:
            side[stop, 0], side[stop, 1] = top(leader, i[stop]), top(leader, j[stop])
            stop += 1
        for e in range(start, stop):  # both open: join, and stay open
            a, b = side[e]
            if a != b and reach[a] > w and reach[b] > w:
                out[count] = e
                count += 1
                a, b = top(leader, a), top(leader, b)
                unite(leader, a, b)
                reach[min(a, b)] = min(reach[a], reach[b])
        for e in range(start, stop):  # one closed: note where the open one would hook on, -2 for several places
            a, b = side[e]
            if a != b and (reach[a] > w) != (reach[b] > w):
                opened, closed = (top(leader, a), b) if reach[a] > w else (top(leader, b), a)
                hook[opened] = closed if hook[opened] == -1 or hook[opened] == closed else -2
        for e in range(start, stop):
            a, b = side[e]
            if a == b or (reach[a] > w) == (reach[b] > w):
                continue
            opened = top(leader, a) if reach[a] > w else top(leader, b)
            if hook[opened] >= 0:
                out[count] = e
                count += 1
        for e in range(start, stop):
            for s in range(2):
                r = side[e, s]
                if hook[r] != -1:
                    closed, hook[r] = hook[r], -1
                    if closed == -2:
                        reach[r] = w
                    else:
                        closed = top(leader, closed)
                        reach[min(r, closed)] = min(reach[r], reach[closed])
                        unite(leader, r, closed)
        start = stop
    return count


@compiled
def name_components(leader, component):
    """Name the component of every place that has one; return their number and the largest. O(n) finds."""
    size, count, largest = np.zeros(len(leader), np.int64), 0, -1
    for x in range(len(leader)):
        if component[x] >= 0:
            c = component[x] = top(leader, x)
            count += c == x
            size[c] += 1
            if largest < 0 or size[c] > size[largest]:
                largest = c
    return count, largest


class Forest:
    """Components of objects, and the edges that joined them. Builders may keep objects in places of their own."""

    def __init__(self, object_at: NDArray[np.int64]) -> None:
        self.object_at = object_at  # -1 where a place is empty
        self.leader = np.arange(len(object_at))
        self.component = np.where(object_at >= 0, self.leader, -1)
        self.hook = np.full(len(object_at), -1)
        self.n_components = int((object_at >= 0).sum())
        self.largest = -1
        self.most = most_edges(self.n_components)
        self.found: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []

    def join(self, i: NDArray[Any], j: NDArray[Any], weight: NDArray[Any], reach: NDArray[np.float64]) -> None:
        """Join along proven edges, see :func:`absorb`; ``reach`` is that of each component, at its leader."""
        order = np.argsort(weight)
        i, j, weight = i[order], j[order], weight[order]
        kept = np.empty(len(i), np.int64)
        kept = kept[: absorb(i, j, weight, self.leader, reach, self.hook, kept)]
        self.found.append((i[kept], j[kept], weight[kept]))
        if sum(len(edges[0]) for edges in self.found) > self.most:
            raise TooManyTies(f"more than {self.most} tied edges are in some minimum spanning tree")
        self.n_components, self.largest = name_components(self.leader, self.component)

    def edges(self) -> Edges:
        """Return all edges found."""
        i, j, weight = (np.concatenate(column) for column in zip(*self.found, strict=True))
        return as_edges(self.object_at[i], self.object_at[j], weight)
