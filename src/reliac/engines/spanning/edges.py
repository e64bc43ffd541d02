"""All edges of all minimum spanning trees, by the fastest means for the input.

Small inputs: Prim's scan, which reads every row once (``prim.py``). Given distances: the nearest of every object, and
Prim's scan of what they leave (``given.py``). Few dimensions: a k-d tree (``boruvka.py``). Many dimensions: block
products (``sweeps.py``). All but the first find the lightest edges that leave each component and let
:func:`reliac.engines.spanning.forest.absorb` join what is proven.

Rows that repeat are taken out first: k twins have k(k-1)/2 links of distance 0, and k-1 of them are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import TooManyTies
from ...input.graph import Graph
from ...input.metrics import Squares, squares_of, unit_rows
from ...input.objects import Distances, Vectors
from ...input.problem import Problem
from ...machine import n_threads
from ..compiled.formulas import euclidean_square
from ..compiled.products import one_blas_thread
from ..repeats import find_twins
from .findings import Findings
from .forest import Edges, Twins
from .given import edges_of_given, memory_of_given
from .listed import edges_of_graph
from .prim import edges_of_matrix

#: Vectors of at most this many rows are compared pair by pair: nothing to search, little to compile.
SMALL = 2048

#: Vectors of at most this many dimensions may be searched by a k-d tree.
FEW_DIMENSIONS = 10

#: With more objects than this in 5 dimensions a k-d tree is faster than products, and with each further dimension it
#: takes so many times more (measured: the two are equally fast there).
OBJECTS_FOR_A_TREE, MORE_A_DIMENSION = 50_000, 2.2

#: Objects that lists of neighbours join to a component, at least; and components for whose table memory is set aside.
OBJECTS_OF_COMPONENT, COMPONENTS = 12, 4096


def spanning_edges(problem: Problem, threads: int, findings: Findings) -> tuple[Edges, Twins | None]:
    """Return all edges that are in some minimum spanning tree of the objects, but for links of twins.

    ``findings``: what an earlier run found, and this one finds.
    """
    if isinstance(problem.objects, Graph):  # nothing to find: the replay drops what is in no spanning tree
        return edges_of_graph(problem.objects), None
    return findings.all_edges(lambda: _search_edges(problem, threads, findings))


def _search_edges(problem: Problem, threads: int, findings: Findings) -> tuple[Edges, Twins | None]:
    n, objects, metric = problem.n_objects, problem.objects, problem.compared_metric
    if isinstance(objects, Distances):  # few numbers are copied, so that kernels meet one type and are compiled once
        return edges_of_given(np.array(objects.matrix, np.float64) if n <= SMALL else objects.matrix, n, threads)
    if not isinstance(objects, Vectors) or objects.sparse or not squares_of(metric):
        return edges_of_matrix(problem.base_distances(), n)
    by_direction = squares_of(metric) is Squares.UNIT
    vectors = unit_rows(objects.rows) if by_direction else objects.rows

    def search(own: NDArray[np.int64] | None) -> Edges:
        return edges_of_vectors(vectors if own is None else vectors[own], threads, findings)

    return edges_of_distinct_rows(find_twins(vectors), by_direction, search)


def edges_of_distinct_rows(
    first: NDArray[np.int64] | None, by_direction: bool, search: Callable[[NDArray[np.int64] | None], Edges]
) -> tuple[Edges, Twins | None]:
    """Return the edges of objects, given for each the first with an equal row; None if no row repeats.

    ``search`` finds the edges of the rows with these numbers (None: of all), by squared distances.
    """
    own = np.flatnonzero(first == np.arange(len(first))) if first is not None else None
    edges = search(own)
    if by_direction:
        edges = edges._replace(weight=0.5 * edges.weight)
    if first is None or own is None:
        return edges, None
    if (edges.weight == 0.0).any():
        raise TooManyTies("different rows at distance 0, which squares of differences cannot tell from equal ones")
    return edges._replace(i=own[edges.i], j=own[edges.j]), Twins(first, 0.0)


def edges_of_vectors(rows: NDArray[Any], threads: int, findings: Findings) -> Edges:
    """Choose by size and dimension who finds the edges by squared distances of distinct rows."""
    n, d = rows.shape
    if n <= SMALL:
        square = np.empty((n, n))
        np.fill_diagonal(square, 0.0)
        columns = np.ascontiguousarray(rows.T, np.float64)
        euclidean_square(columns, square.reshape(-1), n, False)
        return edges_of_matrix(square, n)[0]
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        if by_tree(n, d):
            from .boruvka import edges_of_points

            return edges_of_points(rows, pool, findings)
        from .sweeps import edges_by_products

        return edges_by_products(rows, int(Squares.PLAIN), pool, findings)


def by_tree(n: int, d: int) -> bool:
    """Tell whether a k-d tree searches such vectors faster than products do."""
    return d <= FEW_DIMENSIONS and n > OBJECTS_FOR_A_TREE * MORE_A_DIMENSION ** (d - 5)


def memory_of_edges(problem: Problem) -> int:
    """Estimate the bytes for finding the edges: a matrix only where there is no other way."""
    n = problem.n_objects
    objects = problem.objects
    if isinstance(objects, Graph):
        return 16 * objects.n_edges + 120 * min(objects.n_edges, 4 * n)  # most are left out before they are sorted
    if isinstance(objects, Distances):
        return memory_of_given(n) + (8 * objects.matrix.size if n <= SMALL else 0)  # a copy
    if not isinstance(objects, Vectors) or objects.sparse or not squares_of(problem.metric):
        return 16 * n**2 + 200 * n
    d, by_direction = objects.rows.shape[1], squares_of(problem.metric) is Squares.UNIT
    found = n * ((28 if by_direction else 20) * d + 700)  # rows of unit length are a copy
    if n <= SMALL:
        return found + 8 * n**2
    if by_tree(n, d):
        return found
    from .sweeps import COLUMNS, ROWS

    blocks = 4 * min(n, ROWS) * min(n, COLUMNS) * n_threads(None)
    return found + blocks + 16 * min(n // OBJECTS_OF_COMPONENT, COMPONENTS) ** 2


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
