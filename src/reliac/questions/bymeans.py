"""New rows against the means of clusters: block products select, float64 decides.

For a new row x, a cluster of weight w, sum s and spread h (the sum of squared distances of its pairs) the distance is

    N = sum_k (w x_k - s_k)^2  [+ h for average],   divided by w (w + 1) (by size, |x| = 1) or by w^2.

Nothing in it cancels, and on whole numbers it is exact, so ties are ties. Float32 products give it up to a known error:
where the nearest cluster is nearer than any other by more than that, it is proven. Else float64 products, whose error
is far smaller, leave the few clusters that may be the nearest, and these are measured by the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import MeanForm
from ..engines.compiled.products import product_error, times_transposed
from ..input.metrics import Squares, dense, squares_of, unit_rows
from ..input.numbers import is_sparse
from ..input.objects import rows_of
from ..input.problem import Problem
from .partition import Floats, Indices, Partition

#: Rows, and columns (clusters), of one block product: it is looked through while it is in the cache of one core.
BLOCK_ROWS, COLUMNS = 768, 512

#: From so many products on loading compiled code, which takes less than a second, is worth it.
WORTH_LOADING = 2**28

#: Tables of numbers in float64 that are held at once have about this many.
BLOCK = 2**20

#: New rows are looked at in at least so many pieces, of at most so many products: the few rows of a piece that float32
#: cannot decide are decided together.
PIECES, AT_ONCE = 64, 2**24


class ByMeans:
    """Clusters as sums, weights and spreads, and the same as products need them."""

    def __init__(self, problem: Problem, clusters: Partition, new_rows: int = 0) -> None:
        self.row, self.rows, self.clusters = problem.criterion, rows_of(problem.objects), clusters
        self.new_rows = new_rows
        self.scan = compiled_scan() if new_rows * clusters.n_clusters >= WORTH_LOADING else plain_scan
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
        most: int = min(self.new_rows // PIECES, BLOCK // self.rows.shape[1], AT_ONCE // len(self.weight))
        return max(1, most // BLOCK_ROWS) * BLOCK_ROWS

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
            result[some] = (_squared(gap) + self.spread[labels[some]]) / (
                own * (own + 1.0 if self.row.by_size else own)
            )
        return result * (0.5 if self.unit_length else 1.0)

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
            self.right32 = None
            return
        d = self.rows.shape[1]
        self.right = np.empty((len(share), d + 2))
        self.right[:, :d] = means * (-2.0 * share / self.unit)[:, None]
        self.right[:, d], self.right[:, d + 1] = share * size / self.unit**2, share
        self.right32 = self.right.astype(np.float32)
        with np.errstate(over="ignore"):
            self.shift32 = np.asarray(self.shift, np.float32)

    def nearest(self, new: Any, first: int, with_distance: bool) -> tuple[Indices, Floats | None]:
        """Return the nearest cluster of every new row, of tied ones the first, and its distance if wanted."""
        del first  # rows from which no finite distance follows were refused before
        labels, proven = self._by_float32(new)
        left = np.flatnonzero(~proven)
        step = max(1, BLOCK // len(self.weight))
        for start in range(0, len(left), step):
            some = left[start : start + step]
            labels[some] = self._by_float64(self.exact(new[some]))
        return labels, self.measure(self.exact(new), labels) if with_distance else None

    def _by_float32(self, new: Any) -> tuple[Indices, NDArray[np.bool_]]:
        """Return the cluster with the smallest product for every row, and whether it is proven to be the nearest."""
        count, clusters = new.shape[0], len(self.weight)
        if self.right32 is None or clusters == 1:
            return np.zeros(count, np.intp), np.full(count, clusters == 1)
        plain = isinstance(new, np.ndarray) and new.dtype == np.float32 and not self.unit_length
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large for float32 is decided in float64
            rows = new if plain else (self.exact(new) / self.unit).astype(np.float32)
            shift, scale = (self.shift32, 1.0 / self.unit) if plain else (np.zeros_like(self.shift32), 1.0)
            label, best, second, square = self.scan(rows, shift, np.float32(scale), self.right32)
            return label, second.astype(np.float64) - best > 2.0 * self._error(square.astype(np.float64), np.float32)

    def _error(self, squares: Floats, kind: Any) -> Floats:
        return product_error(np.sqrt(squares), self.longest / self.unit, self.rows.shape[1] + 2, kind)

    def _by_float64(self, rows: Any) -> Indices:
        """Return the nearest cluster of every moved row: all that may be nearest are measured."""
        if self.sparse:
            products, share, size = self.right
            square = _squared(rows) / self.unit**2
            values = (rows @ products).toarray() / self.unit + size / self.unit**2 + np.outer(square, share)
            error = self._error(square, np.float64)
        else:
            left, square = packed(rows / self.unit)
            values, error = times_transposed(left, self.right), self._error(square, np.float64)
        limit = values.min(axis=1) + 2.0 * error
        row, cluster = np.nonzero(values <= limit[:, None])
        return first_smallest(row, cluster, self.measure_pairs(rows, row, cluster))

    def measure_pairs(self, rows: Any, row: Indices, cluster: Indices) -> Floats:
        """Return the distances of some pairs of a row and a cluster, some at a time."""
        step = max(1, BLOCK // rows.shape[1] if not self.sparse else BLOCK)
        pieces = [slice(start, start + step) for start in range(0, len(row), step)]
        return np.concatenate([self.measure(rows[row[some]], cluster[some]) for some in pieces])


# --- the two smallest products of every row ---

#: What is found of every row: the place of its smallest product, that product, the smallest of all others, and |x|^2.
Found = tuple[Indices, NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]

#: Takes rows, what is taken off them, what they are then multiplied by, and clusters; all in float32.
Scan = Callable[[NDArray[np.float32], NDArray[np.float32], np.float32, NDArray[np.float32]], Found]


def packed(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows for products, (x, 1, |x|^2), and |x|^2: clusters have a factor for it, or it is the same for all."""
    left, square = np.ones((len(rows), rows.shape[1] + 2), rows.dtype), _squared(rows)
    left[:, :-2], left[:, -1] = rows, square
    return left, square


def plain_scan(
    rows: NDArray[np.float32], shift: NDArray[np.float32], scale: np.float32, right: NDArray[np.float32]
) -> Found:
    """Multiply rows with clusters, and find the two smallest products of every row; at least two clusters."""
    label, (best, second) = np.zeros(len(rows), np.intp), np.full((2, len(rows)), np.inf, np.float32)
    left, square = packed((rows - shift) * scale)
    for at in range(0, len(rows), BLOCK_ROWS):
        some = slice(at, at + BLOCK_ROWS)
        every = np.arange(len(left[some]))
        for start in range(0, len(right), COLUMNS):
            products = times_transposed(left[some], right[start : start + COLUMNS])
            place = products.argmin(axis=1)
            value = products[every, place]
            products[every, place] = np.inf
            nearer, next_one = value < best[some], np.minimum(second[some], products.min(axis=1))
            second[some] = np.minimum(next_one, np.where(nearer, best[some], value))
            label[some] = np.where(nearer, start + place, label[some])
            best[some] = np.minimum(best[some], value)
    return label, best, second, square


def compiled_scan() -> Scan:
    """Return the same in compiled code, which takes a tenth of the time of the products for all but them."""
    from ..engines.compiled.loading import load, only_read
    from ..engines.compiled.scanning import pack_columns, two_smallest

    def scan(
        rows: NDArray[np.float32], shift: NDArray[np.float32], scale: np.float32, right: NDArray[np.float32]
    ) -> Found:
        d = rows.shape[1]
        label, (best, second, square) = np.zeros(len(rows), np.int32), np.full((3, len(rows)), np.inf, np.float32)
        room = np.empty(BLOCK_ROWS * (COLUMNS + d + 2), np.float32)
        for at in range(0, len(rows), BLOCK_ROWS):
            some = slice(at, at + BLOCK_ROWS)
            block = only_read(np.ascontiguousarray(rows[some]))
            count = len(block)
            left = room[: (d + 2) * count].reshape(d + 2, count)
            pack_columns(block, only_read(shift), scale, left, square[some])
            for start in range(0, len(right), COLUMNS):
                part = right[start : start + COLUMNS]
                products = room[left.size : left.size + len(part) * count].reshape(len(part), count)
                np.matmul(part, left, out=products)
                two_smallest(products, start, label[some], best[some], second[some])
        return label.astype(np.intp), best, second, square

    few = np.zeros((2, 1), np.float32)
    load("predict", "", lambda: scan(few, few[0], np.float32(1.0), np.zeros((2, 3), np.float32)))
    return scan


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
