"""The objects that a question about a tree goes by: those that the tree was made from, or others of the same number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..input.condensed import place_of
from ..input.graph import Graph
from ..input.metrics import MetricLike, Squares, between, canonical_metric, dense, options_of, squares_of
from ..input.mixed import MixedRows
from ..input.numbers import is_sparse
from ..input.objects import Distances, Objects, make_objects, rows_of
from ..run.develop import metric_of
from ..tree.clustertree import ClusterTree
from .bymembers import row_measurer
from .training import training_problem

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def objects_of(tree: ClusterTree, X: Any, metric: Any, asked: str) -> tuple[Objects, MetricLike]:
    """Return objects that can be compared, and their metric: the tree's own, or X.

    X need not be the data of the tree, but holds its objects in their order. Without ``metric`` its rows are compared
    as the tree says. ``asked`` is the call that messages show, with braces in place of the argument that it lacks.
    """
    if X is None:
        problem = training_problem(tree, None, None, asked)
        objects, own = problem.objects, problem.metric
    else:
        own = metric_of(tree, None, asked) if metric is None else canonical_metric(metric)
        objects = make_objects(X, own)
    metric = own if metric is None else canonical_metric(metric)
    if isinstance(objects, Graph):
        given = "The tree of a graph, in which only some pairs have a distance"
        raise ValueError(explain(given, "rows, or distances of all pairs", "pass them as X, with their metric"))
    if objects.n != tree.n_objects:
        given = f"X holds {objects.n} objects"
        raise ValueError(explain(given, f"the {tree.n_objects} objects of the tree, in their order", "pass those"))
    return objects, metric


def measure(objects: Objects, metric: MetricLike) -> Callable[[Indices, Indices], Floats]:
    """Return a function that gives the distances of some objects to others, as the user sees them."""
    if isinstance(objects, Distances):
        return lambda some, others: _look_up(objects, some, others)
    rows = rows_of(objects)
    if isinstance(rows, MixedRows):
        return lambda some, others: between(rows[some], rows[others], metric)
    if is_sparse(rows) and squares_of(metric) is not Squares.NONE:
        return lambda some, others: row_measurer(rows[others], metric)(rows[some])
    options = options_of(rows, metric)
    return lambda some, others: between(dense(rows[some]), dense(rows[others]), metric, **options)


def _look_up(objects: Distances, some: Indices, others: Indices) -> Floats:
    """Look up given distances, in either form of matrix; an object is at distance 0 of itself."""
    matrix: NDArray[Any] = objects.matrix
    if matrix.ndim == 2:
        return np.asarray(matrix[np.ix_(some, others)], dtype=np.float64)
    i, j = np.minimum(some[:, None], others), np.maximum(some[:, None], others)
    place = np.where(i == j, 0, place_of(objects.n, i, np.maximum(j, i + 1)))
    return np.where(i == j, 0.0, matrix[np.minimum(place, len(matrix) - 1)] if len(matrix) else 0.0)
