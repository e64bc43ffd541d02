"""Who is typical of a cluster: members by how near they are to its mean, or to all other members."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..algorithm.criteria import CRITERIA
from ..errors import explain
from ..input.metrics import Squares, squares_of
from ..input.objects import Distances, Vectors, rows_of
from ..input.options import check_switch
from ..input.problem import Problem
from ..tree.clustertree import ClusterTree
from .bymeans import ByMeans
from .bymembers import BLOCK
from .given import measure
from .partition import Floats, Indices, Partition, partition_by_objects
from .training import training_problem


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
    ends = np.minimum(clusters.sizes, min(count, len(clusters.labels)))
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
    distances, far = measure(problem.objects, problem.metric), np.zeros(len(clusters.labels))
    for cluster in range(clusters.n_clusters):
        members = clusters.members(cluster)
        step = max(1, BLOCK // len(members))
        for start in range(0, len(members) if len(members) > 1 else 0, step):
            some = members[start : start + step]
            far[some] = distances(some, members) @ clusters.factor[members]
    return far


def spreads(problem: Problem, clusters: Partition, medoids: Indices) -> Floats:
    """Return the mean distance of the members of every cluster to its medoid, by their weights. O(n) distances."""
    distances, found = measure(problem.objects, problem.metric), np.zeros(clusters.n_clusters)
    for cluster in np.flatnonzero(clusters.sizes > 1).tolist():
        members = clusters.members(cluster)
        for start in range(0, len(members), BLOCK):
            some = members[start : start + BLOCK]
            found[cluster] += clusters.factor[some] @ distances(some, medoids[cluster : cluster + 1])[:, 0]
    return np.asarray(found / clusters.weight)
