"""New rows against all members of clusters: the smallest, the largest or the mean of their distances.

Where the metric follows from squared differences, float64 products of blocks give distances up to a known error. The
smallest, the largest and the mean of numbers are off by no more than the numbers are, so the same error holds for the
distances to clusters: a cluster that is nearer than all others by more than that is proven to be the nearest. The other
rows, where clusters tie or nearly so, are measured by the metric itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import link_distance
from ..engines.compiled.products import product_error, times_transposed
from ..errors import explain
from ..input.condensed import subset, to_square
from ..input.metrics import MetricLike, Squares, between, dense, options_of, squares_of, unit_rows, whole_rows
from ..input.numbers import is_sparse
from ..input.objects import Distances, rows_of
from ..input.problem import Problem
from ..tree.placing import blocks, check_distances
from .bymeans import first_smallest
from .partition import Floats, Indices, Partition

#: Tables of distances are made in blocks of about this many numbers.
BLOCK = 2**20

#: So many new rows are looked at together at least: products of single rows would be slow.
FEWEST = 8

#: Columns of one block product.
COLUMNS = 2048


class ByMembers:
    """Clusters as lists of their objects; distances come from a metric, or are given."""

    def __init__(self, problem: Problem, clusters: Partition, given: bool) -> None:
        self.problem, self.clusters, self.row = problem, clusters, problem.criterion
        self.spread = _spreads_of_given(problem, clusters) if given and self.row.geometric else np.zeros(1)
        self.squared = given and self.row.geometric  # given distances are those of points, and squares are compared
        metric = problem.compared_metric
        self.rows: Callable[[Any], Floats] = dense if given else row_measurer(rows_of(problem.objects), metric)
        packs = not given and squares_of(metric) is not Squares.NONE and not is_sparse(rows_of(problem.objects))
        self.packed = _Packed(rows_of(problem.objects), clusters.order, squares_of(metric)) if packs else None

    @property
    def block_rows(self) -> int:
        """The number of new rows that are looked at together."""
        return max(FEWEST, BLOCK // len(self.clusters.order))

    def nearest(self, new: Any, first: int, with_distance: bool) -> tuple[Indices, Floats | None]:
        """Return the nearest cluster of every new row, of tied ones the first, and its distance if wanted.

        ``first`` is the number of the first of these rows.
        """
        if self.packed is None:
            return self._measured(new, first)
        if self.row.reduction is np.minimum:
            return self._by_nearest_object(new)
        products, error = self.packed.distances(new)
        found = self._reduced(products, self.clusters.order, self.clusters.starts)
        labels, best = found.argmin(axis=1), found.min(axis=1)
        error += 4.0 * self.clusters.sizes.max() * np.finfo(np.float64).eps * best  # sums of many numbers round too
        near = np.count_nonzero(found <= (best + 2.0 * error)[:, None], axis=1)
        tied = np.flatnonzero(near != 1)
        if len(tied):
            labels[tied] = self._measured(new[tied], first)[0]
        return labels, self._measure(new, labels) if with_distance else None

    def _by_nearest_object(self, new: Any) -> tuple[Indices, Floats]:
        """Return the cluster of the nearest object: all objects that may be the nearest are measured."""
        assert self.packed is not None
        products, error = self.packed.distances(new)
        limit = products.min(axis=1, initial=np.inf) + 2.0 * error
        row, place = np.nonzero(products <= limit[:, None])
        distance = self.packed.measure(new, row, place)
        begin = np.flatnonzero(np.diff(row, prepend=-1))
        smallest = np.minimum.reduceat(distance, begin) if len(row) else np.zeros(0)
        labels = first_smallest(row, self.clusters.labels[self.clusters.order[place]], distance)
        return labels, smallest

    def _measure(self, new: Any, labels: Indices) -> Floats:
        """Return the distance of each new row to one cluster, by the metric itself."""
        distance, training = np.empty(len(labels)), rows_of(self.problem.objects)
        for label in np.unique(labels):
            mine, members = np.flatnonzero(labels == label), self.clusters.members(int(label))
            step = max(1, BLOCK // len(members))
            for start in range(0, len(mine), step):
                some = mine[start : start + step]
                block = between(dense(new[some]), dense(training[members]), self.problem.compared_metric)
                distance[some] = self._reduced(block, members, np.zeros(1, np.intp), slice(label, label + 1))[:, 0]
        return distance

    def _measured(self, new: Any, first: int) -> tuple[Indices, Floats]:
        """Return the nearest cluster and its distance, by the metric itself."""
        labels, distances = np.empty(new.shape[0], np.intp), np.empty(new.shape[0])
        for start in range(0, new.shape[0], self.block_rows):
            some = slice(start, start + self.block_rows)
            block = self.rows(new[some])
            check_distances(block, first + start, "new row")
            block = block[:, self.clusters.order]
            found = self._reduced(block**2 if self.squared else block, self.clusters.order, self.clusters.starts)
            labels[some] = found.argmin(axis=1)
            distances[some] = found.min(axis=1)
        return labels, distances

    def _reduced(self, block: Floats, objects: Indices, starts: Indices, which: slice = slice(None)) -> Floats:
        """Turn distances to objects, cluster after cluster, into distances to clusters."""
        if self.row.reduction is np.add:
            block = block * self.clusters.factor[objects]
        stored = self.row.reduction.reduceat(block, starts, axis=1)
        spread = self.spread if len(self.spread) == 1 else self.spread[which]
        return np.asarray(link_distance(self.row, stored, spread, np.zeros(1), self.clusters.weight[which], np.ones(1)))


def _spreads_of_given(problem: Problem, clusters: Partition) -> Floats:
    """Return for every cluster the sum of f_i f_j d_ij^2 over all pairs of its objects, either way round."""
    objects = problem.objects
    assert isinstance(objects, Distances)
    spread = np.zeros(clusters.n_clusters)
    for cluster in range(clusters.n_clusters):
        members = clusters.members(cluster)
        if len(members) > 1:
            own = to_square(subset(objects.matrix, objects.n, members), len(members)).astype(np.float64)
            factor = clusters.factor[members]
            spread[cluster] = factor @ (own**2 @ factor)
    return spread


def row_measurer(training: Any, metric: MetricLike) -> Callable[[Any], Floats]:
    """Return a function of new rows: their distances to all training rows, by the metric itself."""
    if is_sparse(training) and isinstance(metric, str) and squares_of(metric) is not Squares.NONE:
        return lambda new: _between_sparse(new, training, metric)
    options = options_of(training, metric)

    def measure(new: Any) -> Floats:
        some, parts = dense(new), blocks(*training.shape)
        try:
            return np.hstack([between(some, dense(training[part]), metric, **options) for part in parts])
        except Exception as error:  # a function may fail in any way
            given = f"The metric cannot compare these new rows ({type(error).__name__}: {error})"
            raise ValueError(explain(given, "rows like those of the tree", "look at the new rows")) from error

    return measure


def _between_sparse(new: Any, training: Any, metric: str) -> Floats:
    """Return the distances of sparse rows by their products, as they are computed for the rows of one table."""
    from scipy.sparse import csr_array, vstack

    both = vstack([csr_array(training), csr_array(new)]).tocsr()
    rows = whole_rows(both, metric)
    return rows(slice(training.shape[0], both.shape[0]))[:, : training.shape[0]]


class _Packed:
    """The rows of the tree as products need them: moved to their middle, in float64, with their squares."""

    def __init__(self, rows: NDArray[Any], order: Indices, form: Squares) -> None:
        self.form, self.rows, self.order = form, rows, order
        exact = self._exact(rows[order])
        self.middle = exact.mean(axis=0)
        exact -= self.middle
        self.square = np.einsum("ij,ij->i", exact, exact)
        self.longest, self.right = float(np.sqrt(self.square.max())), exact

    def _exact(self, rows: Any) -> Floats:
        return unit_rows(dense(rows)) if self.form is Squares.UNIT else dense(rows)

    def distances(self, new: Any) -> tuple[Floats, Floats]:
        """Return the distances of new rows to all objects, cluster after cluster, and how far they may be off."""
        left = self._exact(new) - self.middle
        square = np.einsum("ij,ij->i", left, left)
        products = np.empty((len(left), len(self.right)))
        for start in range(0, len(self.right), COLUMNS):
            some = slice(start, start + COLUMNS)
            products[:, some] = times_transposed(left, self.right[some])
        products *= -2.0
        products += self.square
        products += square[:, None]
        np.maximum(products, 0.0, out=products)
        error = product_error(np.sqrt(square), self.longest, left.shape[1], np.float64)
        if self.form is Squares.ROOTED:
            np.sqrt(products, out=products)
            error = np.sqrt(error)  # the roots of two squares differ by no more than the root of their difference
        elif self.form is Squares.UNIT:
            products *= 0.5
        return products, error

    def measure(self, new: Any, row: Indices, place: Indices) -> Floats:
        """Return the distances of pairs of a new row and an object, by its place, as squares that are compared."""
        distance, step = np.empty(len(row)), max(1, BLOCK // self.right.shape[1])
        exact = self._exact(new)
        for start in range(0, len(row), step):
            some = slice(start, start + step)
            gap = exact[row[some]] - self._exact(self.rows[self.order[place[some]]])
            distance[some] = np.einsum("ij,ij->i", gap, gap)
        return distance * (0.5 if self.form is Squares.UNIT else 1.0)
