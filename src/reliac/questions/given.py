"""The objects that a question about a tree goes by: those that the tree was made from, or others of the same number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..input.condensed import place_of
from ..input.graph import Graph
from ..input.metrics import MetricLike, between, canonical_metric, dense, options_of
from ..input.objects import Distances, Objects, make_objects, rows_of
from ..run.solve import CALLABLE
from ..tree.clustertree import ClusterTree

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def objects_of(tree: ClusterTree, X: Any, metric: Any, asked: str) -> tuple[Objects, MetricLike]:
    """Return objects that can be compared, and their metric: the tree's own, or X.

    X need not be the data of the tree, but holds its objects in their order. Without ``metric`` its rows are compared
    as the tree says. ``asked`` is the call that messages name.
    """
    objects: Objects
    if X is None:
        if tree.problem is None:
            given = "This tree comes from a file and does not hold its data"
            raise ValueError(explain(given, f"{asked}(X)", "pass the rows, or their distances, as X"))
        objects, metric = tree.problem.objects, tree.problem.metric if metric is None else canonical_metric(metric)
    else:
        stored = str(tree.parameters.get("metric", "euclidean"))
        if metric is None and stored.startswith(CALLABLE):
            given = f"X without a metric, for a tree that was made with the function {stored.removeprefix(CALLABLE)}"
            raise ValueError(explain(given, "a metric by its name, or a function", f"write {asked}(X, metric=...)"))
        metric = canonical_metric(stored if metric is None else metric)
        objects = make_objects(X, metric)
    if isinstance(objects, Graph):
        given = f"{asked} of a tree of a graph, in which only some pairs have a distance"
        raise ValueError(explain(given, "rows, or distances of all pairs", "pass them as X, with their metric"))
    if objects.n != tree.n_objects:
        given = f"X holds {objects.n} objects"
        raise ValueError(explain(given, f"the {tree.n_objects} objects of the tree, in their order", "pass those"))
    return objects, metric


def measure(objects: Objects, metric: MetricLike) -> Callable[[Indices, Indices], Floats]:
    """Return a function that gives the distances of some objects to others."""
    if isinstance(objects, Distances):
        matrix, n = objects.matrix, objects.n

        def look_up(some: Indices, others: Indices) -> Floats:
            if matrix.ndim == 2:
                return np.asarray(matrix[np.ix_(some, others)], dtype=np.float64)
            i, j = np.minimum(some[:, None], others), np.maximum(some[:, None], others)
            return np.asarray(matrix[place_of(n, i, j)], dtype=np.float64)

        return look_up
    rows = rows_of(objects)
    options = options_of(rows, metric)
    return lambda some, others: between(dense(rows[some]), dense(rows[others]), metric, **options)
