"""Who is typical of a cluster: members by how near they are to its mean, or to all other members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import CRITERIA
from ..errors import explain
from ..input.condensed import place_of
from ..input.metrics import Squares, between, dense, options_of, squares_of
from ..input.mixed import MixedRows
from ..input.numbers import is_sparse
from ..input.objects import Distances, Vectors, rows_of
from ..input.options import check_switch
from ..input.problem import Problem
from ..tree.clustertree import ClusterTree
from .bymeans import ByMeans
from .bymembers import BLOCK, row_measurer
from .partition import Floats, Indices, Partition, partition_by_objects
from .training import training_problem

#: The distances of some objects to some others, as the user sees them.
Measure = Callable[[Indices, Indices], Floats]


def typical_members(
    tree: ClusterTree, labels: Indices, count: int, exact: Any, X: Any, metric: Any, asked: str
) -> list[Indices]:
    """Return the most typical members of every cluster, at most so many, the most typical first."""
    problem = training_problem(tree, X, metric, asked)
    check_compared(problem)
    return most_typical(problem, partition_by_objects(labels, tree.weights), count, check_switch("exact", exact))


def check_compared(problem: Problem) -> None:
    """Refuse objects of which not all pairs have a distance."""
    if not isinstance(problem.objects, (Vectors, Distances)):
        raise ValueError(
            explain(
                f"Typical members in a tree of {problem.objects.called}: only listed pairs have a distance",
                "trees of vectors, or of the distances of all pairs",
                "pass vectors, or all distances, to reliac.cluster",
            )
        )


def most_typical(problem: Problem, clusters: Partition, count: int, exact: bool) -> list[Indices]:
    """Return for every cluster its members by how far they are from its middle; of equally near ones the first."""
    far = _from_means(problem, clusters) if _by_means(problem, exact) else _from_members(problem, clusters)
    pair = clusters.starts[clusters.sizes == 2]
    one, other = clusters.order[pair], clusters.order[pair + 1]
    even = clusters.factor[one] == clusters.factor[other]
    far[one[even]] = far[other[even]]  # the two of a pair are equally far from its middle, whatever rounding says
    order = np.lexsort((far, clusters.labels))  # stable: of equal ones the first object
    ends = np.minimum(clusters.sizes, count)
    return [order[start : start + end] for start, end in zip(clusters.starts.tolist(), ends.tolist(), strict=True)]


def _by_means(problem: Problem, exact: bool) -> bool:
    """Tell whether means say who is typical: always where squares are summed, and by plain distances unless exact."""
    squares = squares_of(problem.metric) if isinstance(problem.objects, Vectors) else Squares.NONE
    return squares is not Squares.NONE and (squares.mean_form or not exact)


def _from_means(problem: Problem, clusters: Partition) -> Floats:
    """Return how far every object is from the mean of its cluster, squared. O(n d)."""
    judge = ByMeans(replace(problem, criterion=CRITERIA["centroid"]), clusters)
    rows, far = rows_of(problem.objects), np.empty(len(clusters.labels))
    step = max(1, BLOCK // rows.shape[1])
    for start in range(0, len(far), step):
        some = slice(start, start + step)
        far[some] = judge.measure(judge.exact(rows[some]), clusters.labels[some])
    return far


def _from_members(problem: Problem, clusters: Partition) -> Floats:
    """Return for every object the sum of its distances to the members of its cluster, by their weights."""
    measure, far = measurer(problem), np.zeros(len(clusters.labels))
    for cluster in range(clusters.n_clusters):
        members = clusters.members(cluster)
        step = max(1, BLOCK // len(members))
        for start in range(0, len(members) if len(members) > 1 else 0, step):
            some = members[start : start + step]
            far[some] = measure(some, members) @ clusters.factor[members]
    return far


def measurer(problem: Problem) -> Measure:
    """Return a function of some objects and others: their distances, by the metric of the tree."""
    objects, metric = problem.objects, problem.metric
    if isinstance(objects, Distances):
        return lambda some, others: _given(objects, some, others)
    rows = rows_of(objects)
    if isinstance(rows, MixedRows):
        return lambda some, others: between(rows[some], rows[others], metric)
    if is_sparse(rows) and squares_of(metric) is not Squares.NONE:
        return lambda some, others: row_measurer(rows[others], metric)(rows[some])
    options = options_of(rows, metric)
    return lambda some, others: between(dense(rows[some]), dense(rows[others]), metric, **options)


def _given(objects: Distances, some: Indices, others: Indices) -> Floats:
    """Look up given distances, in either form of matrix."""
    matrix: NDArray[Any] = objects.matrix
    if matrix.ndim == 2:
        return matrix[np.ix_(some, others)].astype(np.float64)
    i, j = np.minimum(some[:, None], others), np.maximum(some[:, None], others)
    place = np.where(i == j, 0, place_of(objects.n, i, np.maximum(j, i + 1)))
    return np.where(i == j, 0.0, matrix[np.minimum(place, len(matrix) - 1)] if len(matrix) else 0.0)


def spreads(problem: Problem, clusters: Partition, medoids: Indices) -> Floats:
    """Return the mean distance of the members of every cluster to its medoid, by their weights. O(n) distances."""
    measure, found = measurer(problem), np.zeros(clusters.n_clusters)
    for cluster in np.flatnonzero(clusters.sizes > 1).tolist():
        members = clusters.members(cluster)
        for start in range(0, len(members), BLOCK):
            some = members[start : start + BLOCK]
            found[cluster] += clusters.factor[some] @ measure(some, medoids[cluster : cluster + 1])[:, 0]
    return np.asarray(found / clusters.weight)
