"""All kernels that find edges, on a few objects: how their compiled code is loaded, whatever the input will be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ...input.condensed import to_condensed
from ...input.graph import Graph, in_rows
from ...input.metrics import Squares
from ..compiled.formulas import euclidean_square
from .boruvka import edges_of_points
from .findings import Findings
from .forest import Forest, as_edges, thin
from .given import edges_by_components
from .listed import edges_of_graph
from .prim import edges_of_matrix
from .sweeps import COSINE, Sweep, edges_by_products, join_components, join_lists

#: Groups of points far apart, and points in each: more than lists are long, so that groups are searched by themselves.
GROUPS, POINTS = 3, 16


def find_few_edges() -> None:
    """Find the edges of a few points by every means, and of their distances in every form and number type."""
    n, generator = GROUPS * POINTS, np.random.default_rng(0)
    points = generator.random((n, 2)) + 100.0 * (np.arange(n) % GROUPS)[:, None]
    square = np.empty((n, n))
    np.fill_diagonal(square, 0.0)
    euclidean_square(np.ascontiguousarray(points.T), square.reshape(-1), n, False)
    with ThreadPoolExecutor(1) as pool:
        edges_of_points(points, pool)
        edges_by_products(points, COSINE, pool)
        for number in (np.float32, np.float64):
            sweep = Sweep(points, np.ones(1), int(Squares.PLAIN), number)
            forest, findings = Forest(np.arange(n)), Findings()
            join_lists(sweep, forest, pool, findings)
            join_components(sweep, forest, pool, findings)
            for given in _forms(square.astype(number), n):
                edges_of_matrix(given, n)
                edges_by_components(given.reshape(-1), n, given.ndim == 2, 2, pool)

    many = as_edges(np.zeros(n, np.int32), np.ones(n, np.int32), square[0])
    for integer in (np.int32, np.int64):  # as graphs have them, and as all others do
        thin(many._replace(i=many.i.astype(integer), j=many.j.astype(integer)), np.arange(2))
    p, q = np.triu_indices(n, 1)
    for number in (np.float32, np.float64):
        edges_of_graph(Graph(*in_rows(p, q, square[p, q].astype(number), n)))


def _forms(square: NDArray[np.floating], n: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    return square, to_condensed(square, n)
