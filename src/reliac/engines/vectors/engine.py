"""Vectors without a matrix: sums, weights and spreads of clusters; searches by block products.

Float32 products select, the formula of ``moments.py`` decides: a product gives a lower bound of each distance,
everything not selected is at least the smallest bound left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Pace
from ...input.numbers import is_sparse
from ...input.objects import Vectors, rows_of
from ...input.problem import Problem
from ...machine import in_threads, n_threads
from ..compiled.loading import bare
from ..compiled.products import product_error, times_transposed
from ..compiled.scanning import CHUNK, scan_values
from ..compiled.sorting import insert
from ..compiled.spaces import pair_distance
from ..lists.engine import SEARCH_LENGTH, ListEngine, nearest_of_row
from ..lists.entries import N_LINKS, push
from ..repeats import often_repeated
from .moments import make_moments, refusal

#: Rows and columns of one block product: small enough for the cache of one core.
ROWS, COLUMNS = 128, 2048

#: Rows that are read at a time, where all are.
READ = 2**14

#: What stands for the square of a cluster that is gone: farther than anything, and no infinity to multiply.
GONE = 1e30


@bare
def select_block(products, first, own, offset, weight, weights, by_size, bound, place, radius, wanted, reached):
    """Take from a block of products the smallest lower bounds of each row.

    ``products`` (rows, columns): extra_q - 2 m_p m_q. ``offset`` (rows,): what added to it makes a lower bound of the
    squared distance of the representatives; by size it is added here, otherwise, being the same for a whole row,
    later. ``bound``, ``place`` (rows, k + 1): the smallest so far, sorted, and their columns. ``radius`` (columns,):
    where ``wanted``, columns whose bound is inside it are noted in ``reached`` (pairs of row and column, their count in
    the last row). Cost: one pass over the block; chunks without a small value are only compared.
    """
    zero = products[0, 0] * 0
    for i in range(products.shape[0]):
        row, c, w = products[i], offset[i], weight[i]
        if by_size:
            for j in range(len(row)):
                row[j] = max(row[j] + c, zero) * (w * weights[j] / (w + weights[j]))
            c = zero
        scan_values(row, first, own[i], bound[i], place[i])
        if not wanted:
            continue
        for start in range(0, len(row), CHUNK):
            chunk, limits, hits = row[start : start + CHUNK], radius[start : start + CHUNK], 0
            if len(chunk) == CHUNK:
                for j in range(CHUNK):
                    hits += chunk[j] + c < limits[j]
            if hits or len(chunk) < CHUNK:
                for j in range(len(chunk)):
                    if chunk[j] + c < limits[j] and first + start + j != own[i]:
                        if reached[-1, 0] < len(reached) - 1:
                            reached[reached[-1, 0], 0] = i
                            reached[reached[-1, 0], 1] = first + start + j
                        reached[-1, 0] += 1


@bare
def decide(space, lists, nodes, slots, columns, bound, place, scale, tie_factor, failed):
    """Measure what was selected, exactly, and make the lists; note the rows that stay unproven in ``failed``.

    Cost: k exact distances a row.
    """
    last = bound.shape[1] - 1
    for i in range(len(slots)):
        r = slots[i]
        first, count = lists.start[r], np.int64(0)
        # clusters that are gone come last: if one is selected, every living cluster is
        radius = bound[i, last] * scale
        if place[i, last] < 0 or nodes.node_of[columns[place[i, last]]] < 0:
            radius = np.inf
        for e in range(last):
            if place[i, e] < 0:
                break
            q = columns[place[i, e]]
            if nodes.node_of[q] < 0:
                break
            distance = pair_distance(space, r, q)
            if distance < radius:
                insert(lists.distances, lists.nodes, first, first + count, distance, nodes.node_of[q])
                count += 1
        lists.count[r], lists.radius[r] = count, radius
        failed[i] = radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@bare
def push_all(space, lists, nodes, work, pairs, slots, columns):
    """Measure new clusters against those whose radius they may have entered, and enter them."""
    for i, j in pairs:
        r, c = columns[j], slots[i]
        if nodes.node_of[r] < 0:
            continue
        push(lists, nodes, work, r, nodes.node_of[c], pair_distance(space, c, r))


@bare
def exact_row(space, r, columns, out):
    """Distances of one cluster to all, one by one."""
    for j in range(len(columns)):
        out[j] = np.inf if columns[j] == r else pair_distance(space, r, columns[j])


class VectorsEngine(ListEngine):
    """Ward, centroid, median, and average of squared Euclidean or cosine distances, in O(n (d + k)) memory."""

    name = "vectors"
    keeps_lists = True
    usual_pace = Pace(1.0, after=0.5, rising=1.8, falling=2.0)

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        self.stand_ins = np.arange(problem.n_objects)  # whom searches find, as long as they live
        self.columns = np.empty(0, np.int64)
        self.packed = 0
        self._make_space()

    def _make_space(self) -> None:
        """Make every object a cluster of its own."""
        rows = rows_of(self.problem.objects)
        self.space = make_moments(self.problem, rows.toarray() if is_sparse(rows) else rows)
        self._choose_unit()

    def _choose_unit(self) -> None:
        """Choose the unit that means are packed in."""

        def longest(start: int) -> float:
            some = living[start : start + READ]
            means = self.space.sums[some] / self.space.weight[some, None]
            return float(np.sqrt(np.einsum("ij,ij->i", means, means).max()))

        living = self.alive
        largest = max(in_threads(longest, range(0, len(living), READ), self.threads), default=0.0)
        self.unit = 2.0 ** np.ceil(np.log2(largest)) if largest else 1.0

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what cannot be had from sums and spreads alone, or with lists."""
        if problem.constraints:
            return "its lists of the nearest could hold nothing but forbidden links"
        return refusal(problem) if isinstance(problem.objects, Vectors) else "it needs vectors"

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether distances are cheap to compute again: with more features than objects, once is enough."""
        n, d = rows_of(problem.objects).shape
        return bool(d <= n)

    @staticmethod
    def memory(problem: Problem) -> int:
        """Sums in float64, twice more while they are made and means later; lists, and the blocks of all threads."""
        n, d = rows_of(problem.objects).shape
        return n * (24 * d + 12 * SEARCH_LENGTH + 450) + 16 * min(n, ROWS) * min(n, COLUMNS) * n_threads(None)

    def guess_pace(self, slots: NDArray[np.int64]) -> Pace:
        """Expect more searches where lists prove little: where their radii are hardly larger than nearest distances.

        Measured: sizes make radii fall faster as clusters join.
        """
        lists, seen = self.lists, slots[self.lists.count[slots] > 0]
        logs = [np.log2(np.clip(x, 1e-300, 1e300)) for x in (lists.radius[seen], lists.distances[lists.start[seen]])]
        ratio = float(np.median(logs[0] - logs[1])) if len(seen) else 1.0
        fixed, searches = (0.3, 0.2) if self.space.by_size else (0.2, 0.09)
        return self.usual_pace._replace(after=fixed + searches / max(ratio, 0.2))

    def search_what_is_rare(self, slots: NDArray[np.int64]) -> None:
        """Search by float64 products, enter new clusters into the lists of others, and measure one by one."""
        self._pack()
        self.radius_before = np.full(len(slots), np.inf)
        self._search_by_products(slots, self.means64(), push=True)
        self._search_one_by_one(slots)

    def search_all(self, slots: NDArray[np.int64]) -> None:
        """Search all clusters; where rows repeat so often that ties would fill lists, the first of equal rows only.

        Equal rows are each other's nearest, and all of them are joined at the first level. Until then the first stands
        in for them in the lists of others, each of them lists the first, and the first one of them: that joins them, in
        the order in which all their links would. What they are near to besides is searched when they are one.
        """
        first = self._repeated_rows()
        if first is None:
            super().search_all(slots)
            return
        self.stand_ins = np.flatnonzero(first == np.arange(len(first)))
        super().search_all(np.intersect1d(self.stand_ins, slots, assume_unique=True))
        others = np.flatnonzero(first != np.arange(len(first)))
        nearest = first.copy()
        nearest[first[others]] = others
        twins = np.flatnonzero(nearest != np.arange(len(first)))
        start = self.lists.start[twins]
        self.lists.nodes[start], self.lists.distances[start] = self.nodes.node_of[nearest[twins]], 0.0
        self.lists.count[twins], self.lists.radius[twins] = 1, np.finfo(np.float64).tiny

    def findable(self) -> NDArray[np.int64]:
        """Return the slots of clusters that searches may find: all, from the first level on."""
        return self.stand_ins[self.nodes.node_of[self.stand_ins] >= 0]

    def _repeated_rows(self) -> NDArray[np.int64] | None:
        """Return for each row the first equal to it, if some repeat more often than a list is long, and all join."""
        if self.problem.alpha != 1.0 or self.n_clusters < self.problem.n_objects or (self.space.weight != 1.0).any():
            return None
        return often_repeated(self.space.sums, SEARCH_LENGTH)

    def search(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill lists by float32 products; what they cannot prove by float64 products, then one by one."""
        self.searches += len(slots)
        self.unsure[slots] = True
        self._pack()
        self.radius_before = self.lists.radius[self.columns]
        self.radius_before[self.position[slots]] = -np.inf  # what is searched needs no push
        for means in (self.means, None):
            slots = self._search_by_products(slots, self.means64() if means is None else means, push)
            push = False
            if not len(slots):
                return
        self._search_one_by_one(slots)

    def _search_by_products(self, slots: NDArray[np.int64], means: NDArray[Any], push: bool) -> NDArray[np.int64]:
        blocks = [slots[start : start + ROWS] for start in range(0, len(slots), ROWS)]
        results = self.in_threads(
            lambda block: self._search_block(block, means, push),
            blocks,
            lambda block, result: self.done_with(block[~result[0]]),
        )
        for block, (_, pairs) in zip(blocks, results, strict=True):
            if push and len(pairs):
                push_all(self.space, self.lists, self.nodes, self.work, pairs, block, self.columns)
        return np.concatenate([block[failed] for block, (failed, _) in zip(blocks, results, strict=True)])

    def _search_block(self, slots: NDArray[np.int64], means: NDArray[Any], push: bool) -> tuple[NDArray[Any], Any]:
        space, kind, d = self.space, means.dtype.type, self.space.sums.shape[1]
        own = self.position[slots]
        left = means[own]
        extra = left[:, d].copy()
        left *= kind(-2)
        left[:, d] = 1
        norm = np.sqrt(np.maximum(extra, 0)).astype(np.float64)
        error = product_error(norm, self.largest_norm, d, kind)
        offset = (extra.astype(np.float64) - error).astype(kind)
        weight = space.weight[slots].astype(kind)
        bound = np.full((len(slots), SEARCH_LENGTH + 1), np.inf, kind)
        place = np.full((len(slots), SEARCH_LENGTH + 1), -1, np.int32)
        scale = space.scale * self.unit**2 * (1 - 16 * float(np.finfo(kind).eps))
        weights = self.weights.astype(kind)
        by_size = space.by_size and (push or not self.equal_weights)  # equal weights do not change the order
        with np.errstate(over="ignore"):  # too far for this number type is as good as infinite
            radius = (self.radius_before / scale * (1 + 1e-6)).astype(kind)
        reached = np.zeros((len(slots) * (64 if push else 0) + 1, 2), np.int64)
        while True:
            for start in range(0, len(self.columns), COLUMNS):
                tile = slice(start, start + COLUMNS)
                products = times_transposed(left, means[tile])
                select_block(
                    products, start, own, offset, weight, weights[tile], by_size, bound, place,
                    radius[tile], push, reached,
                )  # fmt: skip
            if reached[-1, 0] < len(reached):
                break
            reached = np.zeros((int(reached[-1, 0]) + 2, 2), np.int64)
            bound[:], place[:] = np.inf, -1
        if not by_size:
            bound += offset[:, None]
            if space.by_size:
                bound *= (weight * weights[0] / (weight + weights[0]))[:, None]
        failed = np.zeros(len(slots), bool)
        factor = self.problem.tie_factor
        decide(space, self.lists, self.nodes, slots, self.columns, bound, place, scale, factor, failed)
        return failed, reached[: reached[-1, 0]]

    def _search_one_by_one(self, slots: NDArray[np.int64]) -> None:
        """Exact rows, for ties that fill a whole list and for data that products cannot resolve."""

        def measure(r: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
            out = np.empty(len(self.columns))
            exact_row(self.space, r, self.columns, out)
            out[self.nodes.node_of[self.columns] < 0] = np.inf
            return nearest_of_row(out, self.problem.tie_factor)

        for start in range(0, len(slots), 256):
            some = slots[start : start + 256]
            for r, (place, distance, radius) in zip(some, self.in_threads(measure, list(some)), strict=True):
                self.set_list(int(r), self.columns[place], distance, radius)
            self.done_with(some)

    # --- the packed copy that products read ---

    def _pack(self) -> None:
        """Bring the float32 means up to date: rows of joined clusters, and all rows when a third is gone."""
        done, self.packed = self.packed, int(self.work.counters[N_LINKS])
        if self.n_clusters < 0.7 * len(self.columns) or not len(self.columns):
            self.columns = self.findable()
            self.position = np.full(self.problem.n_objects, -1, np.int64)
            self.position[self.columns] = np.arange(len(self.columns))
            self.means = self._means(self.columns, np.float32)
            self.weights = self.space.weight[self.columns]
        else:
            changed = np.unique(np.r_[self.work.taken.p[done : self.packed], self.work.taken.q[done : self.packed]])
            changed = changed[self.position[changed] >= 0]
            gone = self.nodes.node_of[changed] < 0
            self.means[self.position[changed[gone]], :-1] = 0
            self.means[self.position[changed[gone]], -1] = GONE
            kept = changed[~gone]
            self.means[self.position[kept]] = self._means(kept, np.float32)
            self.weights[self.position[kept]] = self.space.weight[kept]
        self.equal_weights = bool((self.weights == self.weights[0]).all())
        extra = self.means[:, -1]
        self.largest_norm = float(np.sqrt(extra[extra < GONE].max(initial=0)))

    def _means(self, slots: NDArray[np.int64], kind: Any) -> NDArray[Any]:
        """Return the representatives of clusters and, in one more column, their squares plus the spread inside."""
        means = self.space.sums[slots] / (self.space.weight[slots, None] * self.unit)
        extra = np.einsum("ij,ij->i", means, means)
        if self.space.with_spread:
            extra += self.space.spread[slots] / (self.space.weight[slots] * self.unit) ** 2
        return np.column_stack((means, extra)).astype(kind)

    def means64(self) -> NDArray[np.float64]:
        """Return the packed means in float64."""
        means = self._means(self.columns, np.float64)
        means[self.nodes.node_of[self.columns] < 0, -1] = GONE
        return means
