"""One row per cluster: how large it is, when it came and went, who is typical of it, and what sets it apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..input.metrics import allows_gaps
from ..input.mixed import MixedRows
from ..input.numbers import is_sparse
from ..input.objects import Vectors
from ..input.options import check_count, check_switch
from ..input.problem import Problem
from ..tree.clustertree import ClusterTree
from ..tree.keeping import held_objects
from ..tree.walks import first_objects, parents
from .partition import Floats, Indices, Partition, partition_by_objects
from .training import training_problem
from .typical import check_compared, most_typical, spreads

#: Tables of numbers that are held at once have about this many.
BLOCK = 2**20

#: The columns of a summary, by their titles.
Columns = dict[str, Any]


def summary_columns(
    tree: ClusterTree,
    labels: Indices,
    classes: Any = None,
    features: Any = 3,
    exact: Any = False,
    X: Any = None,
    metric: Any = None,
) -> Columns:
    """Return the columns of :meth:`ClusterTree.summary`; those that need the data only where these are at hand."""
    wanted = check_count("features", features, 0, np.inf, "give the number of features to show, or 0")
    exact, counted = check_switch("exact", exact), _class_counts(classes, labels)
    clusters = partition_by_objects(labels, tree.weights)
    columns: Columns = {"size": clusters.sizes}
    if (tree.weights != 1).any():
        columns["weight"] = clusters.weight
    columns |= _life(tree, labels)
    if X is not None or held_objects(tree) is not None:
        problem = training_problem(tree, X, metric, "summary({})")
        check_compared(problem)
        medoids = np.concatenate(most_typical(problem, clusters, 1, exact))
        columns |= {"medoid": medoids, "medoid_name": tree.object_names[medoids]}
        columns["spread"] = spreads(problem, clusters, medoids)
        columns |= _apart(problem, clusters, wanted)
    return columns | counted


def _life(tree: ClusterTree, labels: Indices) -> Columns:
    """Return level and distance at which every cluster was made and joined to another; never is infinitely far."""
    n, links, first = tree.n_objects, tree.links, first_objects(tree)
    count = int(labels.max(initial=-1)) + 1
    node = np.empty(count, np.intp)
    node[labels[::-1]] = np.arange(n)[::-1]  # of a cluster of one object, that object
    kept = np.flatnonzero(labels[first[links["left"]]] == labels[first[links["right"]]])
    node[labels[first[links["left"][kept]]]] = n + kept  # later links stand above earlier ones
    above = parents(tree)[node]
    level = np.concatenate((np.zeros(n, np.intp), links["level"], [tree.n_levels + 1]))
    distance = np.concatenate((np.zeros(n), tree.monotone_distances, [np.inf]))
    birth, end = distance[node], distance[above]  # no parent is -1: the last place
    return {
        "birth_level": level[node],
        "end_level": level[above],
        "birth_distance": birth,
        "end_distance": end,
        "lifetime": end - birth,
    }


def _class_counts(classes: Any, labels: Indices) -> Columns:
    """Return how many objects of every class each cluster has."""
    if classes is None:
        return {}
    values = [str(value) for value in classes] if np.ndim(classes) == 1 else []
    if len(values) != len(labels):
        given = f"{len(values)} classes" if values else f"classes of shape {np.shape(classes)}"
        raise ValueError(explain(f"{given} for {len(labels)} objects", "one class for every object", "pass as many"))
    names, code = np.unique(np.array(values, dtype=np.str_), return_inverse=True)
    table = np.zeros((int(labels.max(initial=-1)) + 1, len(names)), np.intp)
    np.add.at(table, (labels, code), 1)
    return {f"class {name}": table[:, place] for place, name in enumerate(names.tolist())}


# --- what sets clusters apart ---


def _apart(problem: Problem, clusters: Partition, wanted: int) -> Columns:
    """Return for every cluster the features in which its members differ most from all others."""
    objects = problem.objects
    if not isinstance(objects, Vectors) or isinstance(objects.rows, MixedRows) or not wanted:
        return {}
    width, count = objects.rows.shape[1], clusters.n_clusters
    wanted = min(wanted, width)
    titles = np.array([str(place) for place in range(width)]) if objects.columns is None else objects.columns
    place, difference = np.zeros((count, wanted), np.intp), np.full((count, wanted), np.nan)
    if count > 1:
        sums = _Sums(problem, clusters)
        for cluster in range(count):
            found = sums.difference(cluster)
            place[cluster] = np.argsort(-np.abs(found), kind="stable")[:wanted]
            difference[cluster] = found[place[cluster]]
    columns: Columns = {}
    for rank in range(wanted):
        columns[f"feature_{rank + 1}"] = titles[place[:, rank]] if count > 1 else np.array([""])
        columns[f"difference_{rank + 1}"] = difference[:, rank]
    return columns


class _Sums:
    """Sums of the columns, and of their squares, over every cluster: one pass over the rows."""

    plain: Any  # (K, d), sparse where the rows are
    squared: Any
    count: Any  # (K, 1) weights; where values are missing, (K, d)

    def __init__(self, problem: Problem, clusters: Partition) -> None:
        rows = problem.objects.rows  # type: ignore[attr-defined]
        shape = (clusters.n_clusters, rows.shape[1])
        if is_sparse(rows):
            self.plain, self.squared, self.count = _sums_of_sparse(rows, clusters)
        else:
            self.gaps = allows_gaps(problem.metric)
            self.plain, self.squared = np.zeros(shape), np.zeros(shape)
            self.count = np.zeros(shape) if self.gaps else clusters.weight[:, None]
            self._of_rows(rows, clusters)
        self.total = [np.asarray(table.sum(axis=0)).ravel() for table in (self.count, self.plain, self.squared)]

    def _of_rows(self, rows: NDArray[Any], clusters: Partition) -> None:
        step = max(1, BLOCK // rows.shape[1])
        middle = np.nan_to_num(np.asarray(rows[:step], dtype=np.float64)).mean(axis=0)  # small numbers lose fewer bits
        for start in range(0, len(rows), step):
            some = clusters.order[start : start + step]
            label, weight = clusters.labels[some], clusters.factor[some, None]
            first = np.flatnonzero(np.diff(label, prepend=-1))
            block = np.asarray(rows[some], dtype=np.float64) - middle
            there = ~np.isnan(block) if self.gaps else None
            if there is not None:
                block[~there] = 0.0
                self.count[label[first]] += np.add.reduceat(there * weight, first, axis=0)
            self.plain[label[first]] += np.add.reduceat(block * weight, first, axis=0)
            self.squared[label[first]] += np.add.reduceat(block**2 * weight, first, axis=0)

    def difference(self, cluster: int) -> Floats:
        """Return for every column the mean of a cluster less that of all others, in units of their deviation.

        The deviation is the root of the mean variance inside the two, by weights. Without any, what differs is
        infinitely far.
        """
        picked = [table[[cluster]] for table in (self.count, self.plain, self.squared)]
        own = [np.asarray(row.toarray() if is_sparse(row) else row).ravel() for row in picked]
        rest = [total - part for total, part in zip(self.total, own, strict=True)]
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = own[1] / own[0] - rest[1] / rest[0]
            inside = sum(np.maximum(squares - sums**2 / count, 0.0) for count, sums, squares in (own, rest))
            deviation = np.sqrt(inside / self.total[0])
            return np.nan_to_num(np.where(gap == 0, 0.0, gap / deviation), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _sums_of_sparse(rows: Any, clusters: Partition) -> tuple[Any, Any, Any]:
    """Return the same sums of a sparse table, sparse, and the weights of the clusters."""
    from scipy.sparse import csr_array

    n, numbers = rows.shape[0], csr_array(rows, dtype=np.float64)
    by_cluster = csr_array((clusters.factor, (clusters.labels, np.arange(n))), shape=(clusters.n_clusters, n))
    squares = by_cluster @ numbers.multiply(numbers)
    return (by_cluster @ numbers).tocsr(), squares.tocsr(), clusters.weight[:, None]
