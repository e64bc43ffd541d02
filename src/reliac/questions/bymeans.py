"""New rows against the means of clusters: block products select, float64 decides.

For a new row x, a cluster of weight w, sum s and spread h (the sum of squared distances of its pairs) the distance is

    N = sum_k (w x_k - s_k)^2  [+ h for average],   divided by w (w + 1) (by size, |x| = 1) or by w^2.

Nothing in it cancels, and on whole numbers it is exact, so ties are ties. Float32 products give it up to a known error:
where the nearest cluster is nearer than any other by more than that, it is proven. Else float64 products, whose error
is far smaller, leave the few clusters that may be the nearest, and these are measured by the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import MeanForm
from ..engines.compiled.products import product_error, times_transposed
from ..input.metrics import Squares, dense, squares_of, unit_rows
from ..input.numbers import is_sparse
from ..input.objects import rows_of
from ..input.problem import Problem
from .partition import Floats, Indices, Partition

#: Rows, and columns (clusters), of one block product: it is looked through while it is in the cache.
BLOCK_ROWS, COLUMNS = 768, 1024

#: From so many products on loading compiled code, which takes less than a second, is worth it.
WORTH_LOADING = 2**28

#: Tables of numbers in float64 that are held at once have about this many.
BLOCK = 2**20

#: Rows of numbers from this to its inverse are safe in float32, and so many roundings are few.
SMALL, MOST_ROUNDING = 1e-9, 0.01

#: New rows are looked at in at least so many pieces, of at most so many products.
PIECES, AT_ONCE = 64, 2**24

#: So few rows of a piece that float32 cannot decide are decided later, together with those of other pieces.
FEW = 64


class ByMeans:
    """Clusters as sums, weights and spreads, and the same as products need them."""

    def __init__(self, problem: Problem, clusters: Partition, new_rows: int = 0) -> None:
        self.row, self.rows, self.clusters = problem.criterion, rows_of(problem.objects), clusters
        self.new_rows, self.later = new_rows, list[Indices]()
        self.compiled = load_compiled() if new_rows * clusters.n_clusters >= WORTH_LOADING else None
        self.unit_length = squares_of(problem.metric) is Squares.UNIT
        self.sparse = is_sparse(self.rows)
        self.weight = clusters.weight
        self.shift, self.whole = self._middle()
        self.sums, squares = self._sum_up()
        self.spread = np.zeros(len(self.weight))
        if self.row.mean_form is MeanForm.SPREADS:
            self.spread = self._spreads(squares)
        self._pack()

    @property
    def block_rows(self) -> int:
        """The number of new rows that are looked at together."""
        most = min(self.new_rows // PIECES, BLOCK // self.rows.shape[1], AT_ONCE // len(self.weight))
        pieces = -(-self.new_rows // max(BLOCK_ROWS, most))
        return max(1, -(-self.new_rows // (pieces + pieces % 2)) if pieces > 1 else self.new_rows)  # as many for each

    # --- what is known of the clusters ---

    def exact(self, rows: Any) -> Any:
        """Return rows as they are compared: in float64, of unit length where only directions count, and moved."""
        if self.sparse:
            return _sparse_rows(rows, self.unit_length)
        numbers = unit_rows(dense(rows)) if self.unit_length else dense(rows)
        return numbers - self.shift

    def _pieces(self, order: Indices | None = None) -> Iterator[Any]:
        """Give the places of the tree's rows, some at a time."""
        n, step = self.rows.shape[0], max(1, BLOCK // self.rows.shape[1] if not self.sparse else BLOCK)
        for start in range(0, n, step):
            yield slice(start, start + step) if order is None else order[start : start + step]

    def _middle(self) -> tuple[Any, bool]:
        """Return what is taken off all rows, a whole number for whole numbers, and whether they are whole.

        It changes no distance, and sums of small numbers lose fewer bits. Sparse rows stay where they are.
        """
        if self.sparse:
            values = self.rows.data
            return 0.0, not self.unit_length and bool((values == np.rint(values)).all())
        self.shift, whole, total = 0.0, not self.unit_length, np.zeros(self.rows.shape[1])
        for some in self._pieces():
            block = self.exact(self.rows[some])
            whole = whole and bool((block == np.rint(block)).all())
            total += block.sum(axis=0)
        middle = total / self.rows.shape[0]
        with np.errstate(over="ignore"):
            rounded = middle.astype(np.float32).astype(np.float64)  # rows in float32 can be moved by the same
        middle = np.where(np.isfinite(rounded), rounded, middle)
        return (np.rint(middle) if whole else middle), whole

    def _sum_up(self) -> tuple[Any, Floats]:
        """Return for every cluster the sum of its rows, and of their squares, each times the object's factor."""
        count, factor = self.clusters.n_clusters, self.clusters.factor
        squares = np.zeros(count)
        if self.sparse:
            from scipy.sparse import csr_array

            rows = self.exact(self.rows)
            shape = (count, rows.shape[0])
            by_cluster = csr_array((factor, (self.clusters.labels, np.arange(rows.shape[0]))), shape=shape)
            return (by_cluster @ rows).tocsr(), by_cluster @ _squared(rows)
        sums = np.zeros((count, self.rows.shape[1]))
        for some in self._pieces(self.clusters.order):
            block, label = self.exact(self.rows[some]), self.clusters.labels[some]
            first = np.flatnonzero(np.diff(label, prepend=-1))
            sums[label[first]] += np.add.reduceat(block * factor[some, None], first, axis=0)
            squares[label[first]] += np.add.reduceat(_squared(block) * factor[some], first)
        return sums, squares

    def _spreads(self, squares: Floats) -> Floats:
        """Return for every cluster the sum of w_i w_j |x_i - x_j|^2 over its pairs: exact on whole numbers."""
        if self.whole or self.sparse:
            return np.maximum(self.weight * squares - _squared(self.sums), 0.0)
        means, around = self.sums / self.weight[:, None], np.zeros(len(squares))
        for some in self._pieces(self.clusters.order):
            label = self.clusters.labels[some]
            first = np.flatnonzero(np.diff(label, prepend=-1))
            gaps = _squared(self.exact(self.rows[some]) - means[label]) * self.clusters.factor[some]
            around[label[first]] += np.add.reduceat(gaps, first)
        return self.weight * around

    def measure(self, rows: Any, labels: Indices) -> Floats:
        """Return the distance of each row, as :meth:`exact` gives it, to one cluster, as engines compare it."""
        weight, result = self.weight[labels], np.empty(len(labels))
        step = max(1, BLOCK // rows.shape[1] if not self.sparse else BLOCK)
        for start in range(0, len(labels), step):
            some = slice(start, start + step)
            own = weight[some]
            if self.sparse:
                from scipy.sparse import diags_array

                gap = diags_array(own) @ rows[some] - self.sums[labels[some]]
            else:
                gap = own[:, None] * rows[some] - self.sums[labels[some]]
            result[some] = _squared(gap)
        return self._divided(result, labels)

    def _divided(self, gaps: Floats, labels: Indices) -> Floats:
        """Turn sums of (w x_k - s_k)^2 into distances."""
        weight = self.weight[labels]
        distance = (gaps + self.spread[labels]) / (weight * (weight + 1.0 if self.row.by_size else weight))
        return distance * (0.5 if self.unit_length else 1.0)

    # --- products ---

    def _pack(self) -> None:
        """Make what times (x, 1, |x|^2) gives the distance; by size every cluster has a factor w / (w + 1)."""
        share = self.weight / (self.weight + 1.0) if self.row.by_size else np.ones(len(self.weight))
        if self.sparse:
            from scipy.sparse import diags_array

            means = (diags_array(1.0 / self.weight) @ self.sums).tocsr()
        else:
            means = self.sums / self.weight[:, None]
        size = _squared(means) + self.spread / self.weight**2
        self.longest = float(np.sqrt(size.max(initial=0.0)))
        self.unit = 2.0 ** np.ceil(np.log2(self.longest)) if self.longest else 1.0
        if self.sparse:
            self.right: Any = ((diags_array(-2.0 * share / self.unit) @ means).T.tocsc(), share, share * size)
            return
        d = self.rows.shape[1]
        self.right = np.empty((len(share), d + 2))
        self.right[:, :d] = means * (-2.0 * share / self.unit)[:, None]
        self.right[:, d], self.right[:, d + 1] = share * size / self.unit**2, share
        self._pack_float32(means, share)

    def _pack_float32(self, means: Floats, share: Floats) -> None:
        """Make the same for float32 rows; they are taken as they are if moving and scaling them would gain little."""
        spread, moved = self.spread / self.weight**2, means + self.shift
        size = _squared(moved) + spread
        longest = float(np.sqrt(size.max(initial=0.0)))
        self.as_they_are = not self.unit_length and longest <= 2.0 * self.longest and SMALL < self.longest < 1.0 / SMALL
        if self.as_they_are:
            self.longest32 = longest
        else:
            moved, size, self.longest32 = means / self.unit, self.right[:, -2] / share, self.longest / self.unit
        with np.errstate(over="ignore"):
            self.shift32 = np.asarray(self.shift, np.float32)
        self.right32 = (moved * (-2.0 * share)[:, None]).astype(np.float32)
        self.base32, self.share32 = (share * size).astype(np.float32), share.astype(np.float32)

    def nearest(self, new: Any, first: int, with_distance: bool) -> tuple[Indices, Floats | None]:
        """Return the nearest cluster of every new row, of tied ones the first, and its distance if wanted.

        A few rows that float32 cannot decide wait until all others are done: see :meth:`waiting`.
        """
        labels, proven = self._by_float32(new)
        left = np.flatnonzero(~proven)
        if 0 < len(left) <= FEW and new.shape[0] < self.new_rows:
            self.later.append(first + left)
        else:
            labels[left] = self._decide(new, left)
        return labels, self._measure_new(new, labels) if with_distance else None

    def waiting(self) -> Indices:
        """Return the places of new rows that were not decided: pass these rows to :meth:`nearest` together."""
        places, self.later, self.new_rows = [np.empty(0, np.intp), *self.later], [], 0
        return np.concatenate(places)

    def _decide(self, new: Any, left: Indices) -> Indices:
        """Return the nearest clusters of some new rows by float64."""
        step = max(1, BLOCK // len(self.weight))
        pieces = [left[start : start + step] for start in range(0, len(left), step)]
        return np.concatenate([np.empty(0, np.intp), *(self._by_float64(self.exact(new[some])) for some in pieces)])

    def _measure_new(self, new: Any, labels: Indices) -> Floats:
        """Return the distance of each new row to one cluster."""
        if self.compiled is None or self.sparse:
            return self.measure(self.exact(new), labels)
        ready = self.unit_length or new.dtype not in (np.float32, np.float64)
        rows, shift = (self.exact(new), np.zeros(new.shape[1])) if ready else (new, self.shift)
        return self._divided(self.compiled.gaps(rows, shift, labels, self.weight, self.sums), labels)

    def _by_float32(self, new: Any) -> tuple[Indices, NDArray[np.bool_]]:
        """Return the cluster with the smallest product for every row, and whether it is proven to be the nearest."""
        count, clusters = new.shape[0], len(self.weight)
        if self.sparse or clusters == 1:
            return np.zeros(count, np.intp), np.full(count, clusters == 1)
        plain = isinstance(new, np.ndarray) and new.dtype == np.float32 and not self.unit_length
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large for float32 is decided in float64
            if self.as_they_are:
                rows = new if plain else dense(new).astype(np.float32)
            elif plain:
                rows = (new - self.shift32) * np.float32(1.0 / self.unit)
            else:
                rows = (self.exact(new) / self.unit).astype(np.float32)
            scan = self.compiled.scan if self.compiled else plain_scan
            label, best, second, square = scan(rows, self.right32, self.base32, self.share32)
            return label, second.astype(np.float64) - best > 2.0 * self._error32(np.sqrt(square.astype(np.float64)))

    def _error32(self, norms: Floats) -> Floats:
        """Return how far values of a scan may be off for rows of these norms.

        With u one rounding, of half an eps: a product of d terms is off by d u |x| |m|, its rounded numbers by u each,
        and |x|^2 of d terms by d u |x|^2. Then three numbers are added, which together are at most (|x| + |m|)^2.
        """
        d, u = self.rows.shape[1], 0.5 * float(np.finfo(np.float32).eps)
        if d * u > MOST_ROUNDING:
            return np.full(len(norms), np.inf)
        squares = norms**2 if self.row.by_size else 0.0
        every = 2.0 * (d + 6) * norms * self.longest32 + (d + 6) * squares + 6.0 * (norms + self.longest32) ** 2
        return np.asarray((1.0 + 4.0 * MOST_ROUNDING) * u * every)

    def _error(self, squares: Floats) -> Floats:
        return product_error(np.sqrt(squares), self.longest / self.unit, self.rows.shape[1] + 2, np.float64)

    def _by_float64(self, rows: Any) -> Indices:
        """Return the nearest cluster of every moved row: all that may be nearest are measured."""
        if self.sparse:
            products, share, size = self.right
            square = _squared(rows) / self.unit**2
            values = (rows @ products).toarray() / self.unit + size / self.unit**2 + np.outer(square, share)
            error = self._error(square)
        else:
            left, square = packed(rows / self.unit)
            values, error = times_transposed(left, self.right), self._error(square)
        limit = values.min(axis=1) + 2.0 * error
        row, cluster = np.nonzero(values <= limit[:, None])
        return first_smallest(row, cluster, self.measure_pairs(rows, row, cluster))

    def measure_pairs(self, rows: Any, row: Indices, cluster: Indices) -> Floats:
        """Return the distances of some pairs of a row and a cluster, some at a time."""
        step = max(1, BLOCK // rows.shape[1] if not self.sparse else BLOCK)
        pieces = [slice(start, start + step) for start in range(0, len(row), step)]
        return np.concatenate([self.measure(rows[row[some]], cluster[some]) for some in pieces])


# --- the two smallest values of every row ---

#: What is found of every row: the place of its smallest value, that value, the smallest of all others, and |x|^2.
Found = tuple[Indices, NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]

#: Takes rows, what they are multiplied with, what is added to the products, and what of |x|^2; all in float32.
Scan = Callable[[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]], Found]


def packed(rows: Floats) -> tuple[Floats, Floats]:
    """Return rows for products, (x, 1, |x|^2), and |x|^2: clusters have a factor for it, or it is the same for all."""
    left, square = np.ones((len(rows), rows.shape[1] + 2)), _squared(rows)
    left[:, :-2], left[:, -1] = rows, square
    return left, square


def plain_scan(
    rows: NDArray[np.float32], right: NDArray[np.float32], base: NDArray[np.float32], share: NDArray[np.float32]
) -> Found:
    """Multiply rows with clusters, and find the two smallest values of every row; at least two clusters."""
    label, (best, second) = np.zeros(len(rows), np.intp), np.full((2, len(rows)), np.inf, np.float32)
    square = np.einsum("ij,ij->i", rows, rows)
    for at in range(0, len(rows), BLOCK_ROWS):
        some = slice(at, at + BLOCK_ROWS)
        every = np.arange(len(rows[some]))
        for start in range(0, len(right), COLUMNS):
            part = slice(start, start + COLUMNS)
            values = times_transposed(rows[some], right[part]) + base[part] + share[part] * square[some, None]
            place = values.argmin(axis=1)
            value = values[every, place]
            values[every, place] = np.inf
            nearer, next_one = value < best[some], np.minimum(second[some], values.min(axis=1))
            second[some] = np.minimum(next_one, np.where(nearer, best[some], value))
            label[some] = np.where(nearer, start + place, label[some])
            best[some] = np.minimum(best[some], value)
    return label, best, second, square


class Compiled(NamedTuple):
    """What compiled code does for many new rows."""

    scan: Scan
    gaps: Callable[[NDArray[Any], Floats, Indices, Floats, Floats], Floats]


@cache
def load_compiled() -> Compiled:
    """Return the scan, which takes little longer than the products in it, and the distances of rows to one cluster."""
    from ..engines.compiled.loading import load, only_read
    from ..engines.compiled.scanning import squared_gaps, two_smallest

    def scan(
        rows: NDArray[np.float32], right: NDArray[np.float32], base: NDArray[np.float32], share: NDArray[np.float32]
    ) -> Found:
        label, (best, second, square) = np.zeros(len(rows), np.int32), np.full((3, len(rows)), np.inf, np.float32)
        room = np.empty(BLOCK_ROWS * COLUMNS, np.float32)
        for at in range(0, len(rows), BLOCK_ROWS):
            some = slice(at, at + BLOCK_ROWS)
            block = rows[some]
            np.einsum("ij,ij->i", block, block, out=square[some])
            for start in range(0, len(right), COLUMNS):
                part = slice(start, min(start + COLUMNS, len(right)))
                products = room[: (part.stop - start) * len(block)].reshape(part.stop - start, len(block))
                np.matmul(right[part], block.T, out=products)
                two_smallest(products, start, base, share, square[some], label[some], best[some], second[some])
        return label.astype(np.intp), best, second, square

    def gaps(rows: NDArray[Any], shift: Floats, labels: Indices, weight: Floats, sums: Floats) -> Floats:
        out = np.empty(len(rows))
        squared_gaps(only_read(np.ascontiguousarray(rows)), shift, labels, weight, sums, out)
        return out

    def few() -> None:
        small, one = np.zeros((2, 1), np.float32), np.zeros(2, np.float32)
        scan(small, small, one, one)
        for kind in (np.float32, np.float64):
            gaps(np.zeros((2, 1), kind), np.zeros(1), np.zeros(2, np.intp), np.ones(1), np.zeros((1, 1)))

    load("predict", "", few)
    return Compiled(scan, gaps)


def first_smallest(row: Indices, cluster: Indices, distance: Floats) -> Indices:
    """Return for every row the first cluster at its smallest distance; pairs are sorted by row, then by cluster."""
    begin = np.flatnonzero(np.diff(row, prepend=-1))
    smallest = np.repeat(np.minimum.reduceat(distance, begin), np.diff(np.append(begin, len(row))))
    hit = np.flatnonzero(distance == smallest)
    return cluster[hit[np.flatnonzero(np.diff(row[hit], prepend=-1))]]


def _squared(rows: Any) -> Floats:
    """Return the squared length of every row."""
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _sparse_rows(rows: Any, unit_length: bool) -> Any:
    """Return sparse rows in float64, scaled to unit length where asked for."""
    from scipy.sparse import csr_array, diags_array

    numbers = csr_array(rows, dtype=np.float64)
    return (diags_array(1.0 / np.sqrt(_squared(numbers))) @ numbers).tocsr() if unit_length else numbers
