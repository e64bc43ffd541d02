"""All edges of all minimum spanning trees of given distances, read twice in the order in which they lie in memory.

1. One pass finds the nearest few objects of every object, and how far they reach.
2. Along these edges components grow as far as they are proven (:func:`reliac.engines.spanning.forest.absorb`).
3. A second pass reduces the matrix to the smallest distance of every two components.
4. Prim's scan of this small matrix tells which components are linked, ties included.
5. Every such link becomes the pairs of objects that are at its distance.

Where ties leave too many components, Prim's scan of the whole matrix is as good.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import TooManyTies
from ...machine import n_threads
from ..compiled.formulas import row_start
from ..compiled.loading import bare, only_read
from ..compiled.nearest import nearest_entries
from .forest import Edges, Forest, Twins, most_edges
from .prim import edges_of_matrix

#: Up to so many objects are scanned by Prim's rule at once.
SCANNED_AT_ONCE = 1500

#: Neighbours of every object that the first pass keeps.
NEIGHBOURS = 12

#: Components that may be left, at most: objects for each.
OBJECTS_OF_COMPONENT = 8

#: Rows that a thread reduces at a time: Ctrl-C is answered in between.
ROWS = 512


def memory_of_given(n: int) -> int:
    """Estimate the bytes: what every thread finds of every object, and a small matrix for each thread, and two more."""
    threads = n_threads(None)
    matrices = (threads + 2) * 8 * (n // OBJECTS_OF_COMPONENT) ** 2
    return (500 * threads + 400) * n + (matrices if n > SCANNED_AT_ONCE else 0)


def edges_of_given(given: NDArray[Any], n: int, threads: int) -> tuple[Edges, Twins | None]:
    """Return all edges that are in some minimum spanning tree of square or condensed distances."""
    if n <= SCANNED_AT_ONCE:
        return edges_of_matrix(given, n)
    base = np.ascontiguousarray(given.T if given.flags.f_contiguous else given).reshape(-1)
    with ThreadPoolExecutor(threads) as pool:
        edges = edges_by_components(base, n, given.ndim == 2, threads, pool)
    return edges_of_matrix(given, n) if edges is None else (edges, None)


def edges_by_components(
    base: NDArray[Any], n: int, square: bool, threads: int, pool: ThreadPoolExecutor
) -> Edges | None:
    """Find the edges in the five steps above; None where ties are in the way."""

    def in_threads(function: Any, pieces: Any) -> list[Any]:
        return list(pool.map(function, pieces))

    base = only_read(base)
    bound, place = nearest_entries(base, n, square, NEIGHBOURS, threads, in_threads)
    reach = np.where(place[:, -1] < 0, np.inf, bound[:, -1].astype(np.float64))
    i, j, weight = np.empty(bound.size, np.int64), np.empty(bound.size, np.int64), np.empty(bound.size)
    count = list_edges(bound, place, reach, i, j, weight)
    forest = Forest(np.arange(n))
    forest.join(i[:count], j[:count], weight[:count], reach.copy())
    if forest.n_components == 1:
        return forest.edges()
    if forest.n_components > n // OBJECTS_OF_COMPONENT:
        return None
    label = np.unique(forest.component, return_inverse=True)[1].astype(np.uint32)
    links = _links_of_components(base, n, square, label, forest.n_components, in_threads)
    if links is None:
        return None
    members, start = np.argsort(label, kind="stable"), np.searchsorted(np.sort(label), np.arange(label.max() + 2))
    pairs, pair_weight = np.empty((4 * len(links.i) + n, 2), np.int64), np.empty(4 * len(links.i) + n)
    count = pairs_of_links(base, n, square, links, members, start, pairs, pair_weight)
    if count > len(pairs):
        if count + n > most_edges(n):
            return None
        pairs, pair_weight = np.empty((count, 2), np.int64), np.empty(count)
        pairs_of_links(base, n, square, links, members, start, pairs, pair_weight)
    forest.found.append((pairs[:count, 0], pairs[:count, 1], pair_weight[:count]))
    return forest.edges()


def _links_of_components(
    base: NDArray[Any], n: int, square: bool, label: NDArray[np.uint32], components: int, in_threads: Any
) -> Edges | None:
    """Return the links of components that are in some minimum spanning tree of them; None if too many tie."""
    smallest: list[NDArray[Any]] = []  # one matrix for each thread that is at work: taken from here and put back

    def share(first: int) -> None:
        try:
            own = smallest.pop()
        except IndexError:
            own = np.full((components, components), np.inf, base.dtype)
        reduce_rows_to_smallest(base, n, square, label, first, min(first + ROWS, n - 1), own)
        smallest.append(own)

    in_threads(share, range(0, n - 1, ROWS))
    matrix = smallest[0]
    for other in smallest[1:]:
        np.minimum(matrix, other, out=matrix)
    matrix = np.minimum(matrix, matrix.T)
    np.fill_diagonal(matrix, 0)
    try:
        links, twins = edges_of_matrix(matrix, components)
    except TooManyTies:
        return None
    return links if twins is None else None


@bare
def list_edges(bound, place, reach, i, j, weight):
    """Write down the pairs of objects that are nearer than one of them reaches, each once; return how many."""
    count, last = 0, bound.shape[1] - 1
    for x in range(len(bound)):
        for e in range(last):
            y = np.int64(place[x, e])
            if y < 0 or bound[x, e] >= reach[x]:
                break
            if x > y and bound[x, e] < reach[y]:  # y lists x, and writes it down
                continue
            i[count], j[count], weight[count] = x, y, bound[x, e]
            count += 1
    return count


@bare
def reduce_rows_to_smallest(base, n, square, label, first, stop, smallest):
    """Keep the smallest entry (i, j), first <= i < stop, j > i, of every two components. Cost: one pass."""
    for i in range(first, stop):
        at = i * n + i + 1 if square else row_start(n, i)
        values, places, row = base[at : at + n - i - 1], label[i + 1 :], smallest[label[i]]
        for j in range(len(values)):
            if values[j] < row[places[j]]:
                row[places[j]] = values[j]


@bare
def pairs_of_links(base, n, square, links, members, start, pairs, weight):
    """Write down the pairs of objects at the distance of a link of their components; return how many there are."""
    count = 0
    for k in range(len(links.i)):
        a, b = links.i[k], links.j[k]
        for x in members[start[a] : start[a + 1]]:
            for y in members[start[b] : start[b + 1]]:
                i, j = min(x, y), max(x, y)
                value = base[i * n + j] if square else base[row_start(n, i) + j - i - 1]
                if value == links.weight[k]:
                    if count < len(weight):
                        pairs[count, 0], pairs[count, 1], weight[count] = i, j, value
                    count += 1
    return count
