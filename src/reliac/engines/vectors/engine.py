"""Vectors without a matrix: sums, weights and spreads of clusters; searches by block products.

Float32 products select, the formula of ``moments.py`` decides: a product gives a lower bound of each distance,
everything not selected is at least the smallest bound left out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Pace
from ...input.numbers import is_sparse
from ...input.objects import Vectors, rows_of
from ...input.problem import Problem
from ...machine import in_threads, n_threads
from ..compiled.products import times_transposed
from ..lists.engine import SEARCH_LENGTH, nearest_of_row
from ..lists.entries import N_LINKS
from ..lists.reusing import Helper, is_worth, no_lists
from ..repeats import often_repeated
from .blocks import decide, exact_row, push_pairs, select_block
from .cells import WORTH_ORDERING, WORTH_SKIPPING, Tiles, Visits, order_by_cells, points_of
from .helped import HelpedEngine
from .moments import make_moments, refusal
from .packing import GONE, READ, Among, Block, packed_means

#: Rows and columns of one block product: small enough for the cache of one core.
ROWS, COLUMNS = 128, 2048

#: Pairs of new clusters and lists that they may enter which are worth one more thread.
WORTH_A_THREAD = 2000


#: Where distances go by size, weights are multiplied in float32 if all together are at most so many times the smallest.
RANGE_OF_WEIGHTS = 1e15


class VectorsEngine(HelpedEngine):
    """Ward, centroid, median, and average of squared Euclidean or cosine distances, in O(n (d + k)) memory."""

    name = "vectors"
    keeps_lists = True
    usual_pace = Pace(1.0, after=0.5, rising=1.8, falling=2.0)

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        self.stand_ins = np.arange(problem.n_objects)  # whom searches find, as long as they live
        self.columns = np.empty(0, np.int64)
        self.cell_order: NDArray[np.int64] | None = None  # clusters in an order in which near ones come close together
        self.tiles: Tiles | None = None  # of the columns in that order
        self.packed = 0
        self.radius_before = np.empty(0)
        # Products by size take weights in a unit that makes the smallest about 1: else they could be so small that
        # float32 rounds lower bounds up. A power of two, which changes no bit.
        least = float(problem.weights.min()) if problem.criterion.by_size else 1.0
        self.weight_unit = 2.0 ** np.floor(np.log2(least))
        in_range = not problem.criterion.by_size or problem.weights.sum() <= RANGE_OF_WEIGHTS * least
        self.kinds = (np.float32, np.float64) if in_range else (np.float64,)  # of products, the quickest first
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
        self._search_by_products(slots, self._all_columns(np.float64), push=True)
        self._search_one_by_one(slots)
        self._search_with_help(slots, Helper(no_lists(self.problem.n_objects), *self._what_stays()))
        self.keep_lists()
        if self.record is not None:
            self._keep(slots)

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
        self.record = self.helper = None  # lists that leave equal rows out tell nothing of other rows
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
        worth, left = not push and is_worth(len(slots), self.n_clusters, self.problem.n_objects), slots
        if worth and self.helper is not None:
            self._pack()
            left = self._search_with_help(slots, self.helper)
        if len(left):
            self._pack(in_order=2 * len(left) > self.n_clusters >= WORTH_ORDERING)
            self._search_columns(left, push)
        if self.record is not None and worth:
            self._keep(slots)

    def _search_columns(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill lists by looking at all clusters."""
        self.radius_before = self.lists.radius[self.columns]
        self.radius_before[self.position[slots]] = -np.inf  # what is searched needs no push
        if self.cell_order is not None:
            slots = slots[np.argsort(self.position[slots])]
        for kind in self.kinds:
            if not len(slots):
                return
            slots = self._search_by_products(slots, self._all_columns(kind), push)
            push = False
        if len(slots):
            self._search_one_by_one(slots)

    def _all_columns(self, kind: Any) -> Among:
        means = self.means if kind is np.float32 else self.means64()
        return Among(means, self.columns, means, self.weights)

    def _search_by_products(self, slots: NDArray[np.int64], among: Among, push: bool) -> NDArray[np.int64]:
        blocks = [slots[start:stop] for start, stop in pairwise(self._shares(len(slots), ROWS))]
        results = self.in_threads(
            lambda block: self._search_block(block, among, push),
            blocks,
            lambda block, result: self.done_with(block[~result[0]]),
        )
        if push:
            starts = np.cumsum([0, *map(len, blocks[:-1])])
            pairs = np.concatenate(
                [pairs + np.array([start, 0]) for start, (_, pairs) in zip(starts, results, strict=True)]
            )
            self.push_into_lists(pairs, slots, self.columns)
        return np.concatenate([block[failed] for block, (failed, _) in zip(blocks, results, strict=True)])

    def push_into_lists(self, pairs: NDArray[np.int64], slots: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Enter new clusters into lists that they may belong to, in threads; touch those whose lists have changed."""
        shares = min(self.threads, 1 + len(pairs) // WORTH_A_THREAD)
        cuts = np.linspace(0, len(columns), shares + 1).astype(np.int64)
        entered = np.zeros(len(columns), bool)

        def share(k: int) -> None:
            push_pairs(self.space, self.lists, self.nodes, pairs, slots, columns, cuts[k], cuts[k + 1], entered)

        self.in_threads(share, range(shares))
        self.touch(columns[entered])

    def _search_block(
        self, slots: NDArray[np.int64], among: Among, push: bool, within: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[Any], Any]:
        """Fill the lists of some clusters; ``within``: only with what is nearer than that, as far as there is room."""
        block = self._make_block(slots, among, push, within)
        kind, weights = among.means.dtype.type, among.weights.astype(among.means.dtype)
        with np.errstate(over="ignore"):  # too far for this number type is as good as infinite
            radius = (self.radius_before / block.scale * (1 + 1e-6)).astype(kind) if push else np.empty(0, kind)
        bound = np.repeat(block.limit[:, None], SEARCH_LENGTH + 1, axis=1)
        place = np.full(bound.shape, -1, np.int32)
        reached = np.zeros((len(slots) * (64 if push else 0) + 1, 2), np.int64)
        while True:
            visits = self._visits(block, among, bound, radius if push else None)
            for some, first in visits:
                products = times_transposed(block.left, among.others[some])
                if not isinstance(some, slice):  # places tell nobody where it finds itself
                    products[block.own[:, None] == some] = GONE
                select_block(
                    products, first, block.own, block.offset, block.weight, weights[some], block.by_size, bound, place,
                    radius[some] if push else radius, push, reached,
                )  # fmt: skip
            if reached[-1, 0] < len(reached):
                break
            reached = np.zeros((int(reached[-1, 0]) + 2, 2), np.int64)
            bound[:], place[:] = np.inf, -1
        pairs = reached[: reached[-1, 0]]
        place, pairs[:, 1] = visits.columns(place), visits.columns(pairs[:, 1])
        if not block.by_size:
            bound = (bound + block.offset[:, None]) * block.share[:, None]
        failed, factor = np.zeros(len(slots), bool), self.problem.tie_factor
        decide(self.space, self.lists, self.nodes, slots, among.columns, bound, place, block.scale, factor, failed)
        return failed, pairs

    def _make_block(
        self, slots: NDArray[np.int64], among: Among, push: bool, within: NDArray[np.float64] | None
    ) -> Block:
        """Prepare some rows for products with columns."""
        space, kind, d = self.space, among.means.dtype.type, self.space.sums.shape[1]
        own = self.position[slots]
        rows = among.means[own]
        if among.columns is not self.columns:
            own = np.full(len(slots), -1)
        offset, left = rows[:, d].copy(), rows * kind(-2)
        left[:, d] = 1
        weight, one = (space.weight[slots] / self.weight_unit).astype(kind), kind(self.weights[0])
        scale = space.scale * self.unit**2 * self.weight_unit * (1 - 16 * float(np.finfo(kind).eps))
        by_size = space.by_size and (push or not self.equal_weights)  # equal weights do not change the order
        share = weight * one / (weight + one) if space.by_size and not by_size else np.ones(1, kind)
        limit = np.full(len(slots), np.inf) if within is None else within / (scale * share)
        if not by_size:
            limit = limit - offset + 1e-6 * np.abs(offset)
        with np.errstate(over="ignore"):
            limit = (limit + 1e-6 * np.abs(limit)).astype(kind)
        return Block(own, rows, left, offset, weight, by_size, share, scale, limit)

    def _visits(self, block: Block, among: Among, bound: NDArray[Any], reach: NDArray[Any] | None) -> Visits:
        """Tell which columns a block of rows looks at: all, or those near enough."""
        n, tiles = len(among.columns), self.tiles
        if tiles is None or not tiles.worth_it or among.others is not self.means:
            return Visits(n, [slice(0, n)], COLUMNS)
        points = points_of(block.rows, block.weight)
        offset = 0 if block.by_size else block.offset
        return Visits(n, tiles.needed(points, block.by_size, lambda: bound[:, -1] + offset, reach), COLUMNS)

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

    def _pack(self, in_order: bool = False) -> None:
        """Bring the float32 means up to date: rows of joined clusters, and all rows when a third is gone.

        ``in_order``: put near rows close together, if that was not done before.
        """
        done, self.packed = self.packed, int(self.work.counters[N_LINKS])
        in_order = in_order and self.cell_order is None
        if self.n_clusters < 0.7 * len(self.columns) or not len(self.columns) or in_order:
            self.columns = self.findable()
            if self.cell_order is not None:
                self.columns = self.cell_order = self.cell_order[self.nodes.node_of[self.cell_order] >= 0]
            self.means = self._means(self.columns, np.float32)
            if in_order:
                order = order_by_cells(self.means[:, :-1], self.in_threads)
                self.columns, self.means = self.columns[order], self.means[order]
                self.cell_order = self.columns
            self.position = np.full(self.problem.n_objects, -1, np.int64)
            self.position[self.columns] = np.arange(len(self.columns))
            self.weights = self.space.weight[self.columns] / self.weight_unit
            useful = in_order or (self.tiles is not None and self.tiles.worth_it)
            useful = useful and len(self.columns) >= WORTH_SKIPPING
            self.tiles = Tiles(self.means, self.weights, GONE) if useful else None
        else:
            changed = np.unique(np.r_[self.work.taken.p[done : self.packed], self.work.taken.q[done : self.packed]])
            changed = changed[self.position[changed] >= 0]
            gone = self.nodes.node_of[changed] < 0
            self.means[self.position[changed[gone]], :-1] = 0
            self.means[self.position[changed[gone]], -1] = GONE
            kept = changed[~gone]
            self.means[self.position[kept]] = self._means(kept, np.float32)
            self.weights[self.position[kept]] = self.space.weight[kept] / self.weight_unit
            if self.tiles is not None:
                self.tiles.moved(self.position[kept])
        self.equal_weights = bool((self.weights == self.weights[0]).all())

    def _means(self, slots: NDArray[np.int64], kind: Any) -> NDArray[Any]:
        return packed_means(self.space, slots, self.unit, kind, self.in_threads)

    def means64(self) -> NDArray[np.float64]:
        """Return the packed means in float64."""
        means = self._means(self.columns, np.float64)
        means[self.nodes.node_of[self.columns] < 0, -1] = GONE
        return means
