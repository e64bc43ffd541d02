"""Given distances: the matrix is only read, never written; clusters are lists of its items.

A cluster's distance to another is reduced from the entries between their items when it is asked for. When 40 % of
the clusters are left (70 % where many rows are read), one streaming pass contracts the matrix to one item per
cluster, so lists of items stay short. The contracted matrix is the engine's own: it shrinks in place, and where every
new cluster is searched anyway (centroid, median), rows are joined in it as clusters are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.criteria import CRITERIA
from ...input.distances import side_by_side
from ...input.metrics import COLUMNS_AT_ONCE, comes_in_blocks, fill_block, mirror_block
from ...input.objects import Distances, rows_of
from ...input.problem import Problem
from ...machine import n_threads
from ..compiled.formulas import ADD, reduction_of
from ..compiled.nearest import nearest_entries
from ..compiled.scanning import CHUNK
from ..lists.engine import SEARCH_LENGTH, ListEngine
from .contraction import contract_rows, fold, items_of, join_rows, pick_rows, settle, turn_over
from .items import Table, flat
from .rows import fill_lists, measure_ties, pack_columns, push_rows, search_rows

#: Contract when this share of the items is left as clusters ...
CONTRACT_LATE = 0.4

#: ... or this share, where half as many rows as there are items were read since the last time ...
CONTRACT_EARLY = 0.7

#: ... of a condensed matrix a sixteenth of that: half of a row lies one entry in each line of memory.
STRIDED = 16

#: Where every new cluster is searched (centroid, median): contract at this share of the items ...
CONTRACT = 0.6

#: ... or at once, if the matrix is condensed ...
CONTRACT_AT_ONCE = 0.95

#: ... or when clusters of several items had their rows read so often that it would have paid: rows per item.
WORTH_CONTRACTING = 2

#: Fewer items than this are left as they are.
FEWEST_ITEMS = 256

#: Rows of distances held at once by each thread.
ROWS = 32

#: Rows of distances computed from vectors at once, or contracted in place.
BLOCK = 256

#: Entries written one to a line of memory that are worth a second thread: a millisecond's work.
WORTH_TWO_THREADS = 200_000

#: Rows that one thread takes at a time.
STRIP = 64


class MatrixEngine(ListEngine):
    """Any criterion but single on given distances, or on distances computed once from vectors."""

    name = "matrix"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        row, n = problem.criterion, problem.n_objects
        self.own: NDArray[Any] | None = None  # a square matrix that may be written to
        base, squared = self._base(problem)
        weight = np.ones(n) if row.equal_parts or row.reduction is not np.add else problem.weights.copy()
        self.plain = bool((weight == weight[0]).all())
        self.space = Table(
            **flat(base, n),
            squared=squared,
            factor=weight.copy(),
            first_item=np.arange(n, dtype=np.int64),
            last_item=np.arange(n, dtype=np.int64),
            next_item=np.full(n, -1, np.int64),
            weight=weight,
            spread=np.zeros(n),
            reduction=reduction_of(row),
            offset=row.offset,
            by_size=row.by_size,
            equal_parts=row.equal_parts,
        )
        self.untouched = True
        self.rows_read = 0  # since the last contraction
        self.extra_rows = 0  # of these, beyond one for each cluster
        self.sums = [np.empty(ROWS * n) for _ in range(self.threads)]
        self.rows = [np.empty(ROWS * n) for _ in range(self.threads)]  # of bounds: the last that a thread has searched

    def _base(self, problem: Problem) -> tuple[NDArray[Any], bool]:
        """Return the matrix to read, and whether its entries still have to be squared."""
        if isinstance(problem.objects, Distances):
            return side_by_side(problem.objects.matrix), problem.criterion.geometric
        metric, rows = problem.compared_metric, rows_of(problem.objects)
        if not comes_in_blocks(rows, metric):
            self.own = problem.base_distances()
            return self.own, False
        n = problem.n_objects
        base = self.allocate((n, n), problem.objects.matrix_type)
        with ThreadPoolExecutor(self.threads) as self.pool:
            self.in_threads(lambda at: fill_block(base, rows, metric, at, BLOCK), range(0, n, BLOCK))
            self.in_threads(lambda at: mirror_block(base, at, BLOCK), range(0, n, BLOCK))
        self.own = base
        return base, False

    def search_what_is_rare(self, slots: NDArray[np.int64]) -> None:
        """Search among many ties, and run a criterion whose joins come nearer: it joins in place, and enters new
        clusters into the lists of others.
        """
        self._search_ties(slots, slots)
        row = next(row for row in CRITERIA.values() if not row.reducible)
        metric = "precomputed" if isinstance(self.problem.objects, Distances) else "euclidean"
        for _ in type(self)(replace(self.problem, criterion=row, metric=metric), 1).levels(0):
            pass

    def allocate(self, shape: tuple[int, int], kind: Any) -> NDArray[Any]:
        """Return room for a matrix."""
        return np.empty(shape, kind)

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say no to single, whose links need object pairs, and to constraints."""
        if problem.constraints:
            return "its lists of the nearest could hold nothing but forbidden links"
        return "it keeps no object pairs" if problem.criterion.reduction is np.minimum else None

    @staticmethod
    def memory(problem: Problem) -> int:
        """The contracted matrix, or computed distances if there are none given; lists; rows."""
        n, objects, size = problem.n_objects, problem.objects, 8.0 * problem.n_objects**2
        if not isinstance(objects, Distances):
            in_blocks = comes_in_blocks(rows_of(objects), problem.metric)
            size *= objects.matrix_type.itemsize / 8 if in_blocks else 1.5  # else condensed first
        else:
            given = objects.matrix
            if problem.criterion.reducible:
                size *= CONTRACT_EARLY**2
            size += 0 if given.flags.c_contiguous or given.flags.f_contiguous else given.nbytes
        return int(size) + memory_of_rows(n)

    def run_all(self) -> None:
        """Run all levels, and search a row."""
        super().run_all()
        self._search_rows(self.alive, self.alive)

    def search(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill lists from whole rows."""
        self.searches += len(slots)
        if self.untouched and self.plain and len(slots) == self.n_clusters == len(self.space.factor):
            columns, failed = self.alive, self._first_search(slots)
        else:
            columns = self.alive
            if self.own is not None and push and not self.problem.criterion.reducible:
                self._join_in_place(slots, columns)
            self._contract(len(slots))
            failed = self._search_and_push(slots, columns) if push else self._search_rows(slots, columns)
        self.untouched = False
        if len(failed):
            self._search_ties(np.sort(failed), columns)

    def _first_search(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scan the untouched matrix: every criterion starts in the order of the plain distances."""
        n = len(slots)
        bound, place = nearest_entries(
            self.space.base, n, self.space.square, SEARCH_LENGTH, self.threads, self.in_threads
        )
        failed = np.zeros(n, bool)
        factor = self.problem.tie_factor
        pieces = [slice(at, at + 1024) for at in range(0, n, 1024)]
        self.in_threads(
            lambda some: fill_lists(
                self.space, self.lists, self.nodes, slots[some], slots, bound[some], place[some], factor, failed[some]
            ),
            pieces,
        )
        return slots[failed]

    def _search_rows(self, slots: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Fill lists from whole rows, each thread its share."""
        pieces = self._dealt_out(slots)
        return self._search_pieces(pieces, columns, np.empty(0), 1)[0]

    def _search_ties(self, slots: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Fill lists for which there are more ties than a search keeps."""

        def share(k: int) -> NDArray[np.float64]:
            radius = np.empty(len(pieces[k]))
            measure_ties(self.space, pieces[k], columns, self.problem.tie_factor, rows[k], radius)
            return radius

        for at in range(0, len(slots), ROWS * self.threads):  # lists are made as rows come: ties may leave no room
            pieces = self._dealt_out(slots[at : at + ROWS * self.threads])
            _, rows, _ = self._search_pieces(pieces, columns, np.empty(0), ROWS)
            for piece, some, radii in zip(pieces, rows, self.in_threads(share, range(len(pieces))), strict=True):
                for r, row, radius in zip(piece, some, radii, strict=True):
                    place = np.flatnonzero(row < radius)
                    place = place[np.argsort(row[place], kind="stable")]
                    self.set_list(int(r), columns[place], row[place], float(radius))

    def _dealt_out(self, slots: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Deal slots out to the threads; copied, so that kernels meet one kind of array and are compiled once."""
        return [slots[k :: self.threads].copy() for k in range(min(len(slots), self.threads))]

    def _search_and_push(self, slots: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Fill the lists of new clusters, and enter the clusters into the lists of others that they belong to."""
        is_new = np.zeros(len(self.leader), bool)
        is_new[slots] = True
        limit = np.where(is_new[columns], -np.inf, self.lists.radius[columns])
        all_failed, entered = [], np.zeros(len(columns), bool)
        for start in range(0, len(slots), ROWS * self.threads):
            some = slots[start : start + ROWS * self.threads]
            pieces = np.array_split(some, min(len(some), self.threads))
            failed, rows, hits = self._search_pieces(pieces, columns, limit, ROWS)
            self._push_pieces(pieces, columns, rows, limit, hits, entered)
            all_failed.append(failed)
        self.touch(columns[entered])
        return np.concatenate(all_failed)

    def _push_pieces(
        self,
        pieces: list[NDArray[np.int64]],
        columns: NDArray[np.int64],
        rows: list[NDArray[np.float64]],
        limit: NDArray[np.float64],
        hits: list[NDArray[np.bool_]],
        entered: NDArray[np.bool_],
    ) -> None:
        """Enter all pieces, in order, into the lists of columns; every thread has lists of its own."""
        cuts = np.linspace(0, hits[0].shape[1], self.threads + 1).astype(int)

        def share(t: int) -> None:
            for k, piece in enumerate(pieces):
                push_rows(
                    self.space, self.lists, self.nodes, piece, columns, rows[k], limit, hits[k],
                    cuts[t], cuts[t + 1], entered,
                )  # fmt: skip

        self.in_threads(share, range(self.threads))

    def _search_pieces(
        self, pieces: list[NDArray[np.int64]], columns: NDArray[np.int64], limit: NDArray[np.float64], n_rows: int
    ) -> tuple[NDArray[np.int64], list[NDArray[np.float64]], list[NDArray[np.bool_]]]:
        """Search one piece in each thread; return the clusters left unproven, the last rows of each, and hits."""
        space, packed, items = self.space, pack_columns(self.space, columns), len(self.space.factor)
        n_chunks = -(-len(limit) // CHUNK)
        failed = [np.zeros(len(piece), bool) for piece in pieces]
        counts = [min(n_rows, len(piece)) for piece in pieces]
        rows = [room[: c * len(columns)].reshape(c, -1) for c, room in zip(counts, self.rows, strict=False)]
        hits = [np.empty((len(row), n_chunks), bool) for row in rows]

        def share(k: int) -> int:
            sums, factor = self.sums[k][: ROWS * items].reshape(ROWS, items), self.problem.tie_factor
            read = search_rows(
                space, self.lists, self.nodes, pieces[k], packed, sums, rows[k], SEARCH_LENGTH, factor,
                failed[k], limit, hits[k],
            )  # fmt: skip
            return int(read)

        read = sum(self.in_threads(share, range(len(pieces))))
        self.extra_rows += read - sum(map(len, pieces))
        return np.concatenate([piece[flags] for piece, flags in zip(pieces, failed, strict=True)]), rows, hits

    def _join_in_place(self, slots: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Join the rows and columns of new clusters in the engine's own matrix: one item for every cluster again."""
        assert self.own is not None
        space, own = self.space, self.own
        self.in_threads(lambda some: join_rows(space, own, slots, some), self._dealt_out(slots))
        settle(space, slots)
        new, items = space.first_item[slots], items_of(space, columns)
        is_new = np.zeros(len(space.factor), bool)
        is_new[new] = True
        threads = self.threads if len(slots) * len(items) > WORTH_TWO_THREADS else 1
        self.in_threads(lambda some: turn_over(own, new, is_new, some), np.array_split(items, threads))

    def _worth_contracting(self, to_search: int) -> bool:
        """Tell whether most items have gone; or many, and the rows read since the last time would have paid for it.

        ``to_search``: clusters whose rows are about to be read.
        """
        items, clusters, reducible = len(self.space.factor), self.n_clusters, self.problem.criterion.reducible
        if items < FEWEST_ITEMS:
            return False
        if not reducible:
            share = CONTRACT if self.space.square else CONTRACT_AT_ONCE
            return clusters <= share * items or self.extra_rows > WORTH_CONTRACTING * items
        self.rows_read += to_search * items // clusters
        worth = self.rows_read * (1 if self.space.square else STRIDED) > items // 2
        return clusters <= (CONTRACT_EARLY if worth else CONTRACT_LATE) * items

    def _contract(self, to_search: int) -> None:
        """Make one item of every cluster; measure all lists anew on the new matrix."""
        if not self._worth_contracting(to_search):
            return
        space, columns = self.space, self.alive
        m, kind = len(columns), self.space.base.dtype if self.space.reduction != ADD else np.dtype(np.float64)
        if self.own is not None:
            own = self._shrink(self.own, columns)
        else:
            own = self.own = self.allocate((m, m), kind)
            packed = pack_columns(space, columns)
            self._by_rows(m, lambda some: contract_rows(space, packed, some.start, own[some], self._one_row()))
            self._fold(own, m)
        first = np.full(len(space.first_item), -1)
        first[columns] = np.arange(m)
        self.space = space._replace(
            **flat(own, m), squared=False, factor=np.ones(m), first_item=first, last_item=first.copy(),
            next_item=np.full(m, -1),
        )  # fmt: skip
        self.extra_rows = self.rows_read = 0
        self.remeasure()

    def _shrink(self, own: NDArray[Any], columns: NDArray[np.int64]) -> NDArray[Any]:
        """Contract the engine's own matrix in place: the rows of items that are needed yet lie behind."""
        space, m, items = self.space, len(columns), self.space.first_item[columns]
        packed = pack_columns(space, columns)
        single = bool((space.next_item[items] < 0).all() and (space.factor[items] == 1.0).all())
        block = np.empty((min(BLOCK, m), m), own.dtype)

        def fill(some: slice) -> None:
            if single:
                pick_rows(own, items, top + some.start, block[some])
            else:
                contract_rows(space, packed, top + some.start, block[some], self._one_row())

        def move(some: slice) -> None:
            rows[some] = block[some]

        for top in range(0, m, BLOCK):
            rows = own[top : min(top + BLOCK, m), :m]
            self._by_rows(len(rows), fill)
            self._by_rows(len(rows), move)
        if not single:
            self._fold(own, m)
        return own

    def _one_row(self) -> NDArray[np.float64]:
        """Return room for one number of each item."""
        return np.empty(len(self.space.factor))

    def _fold(self, own: NDArray[Any], m: int) -> None:
        """Join the halves of pairs; rows near the end are longer: deal them out from there."""
        reduction = self.space.reduction
        self.in_threads(lambda at: fold(own, at, min(at + STRIP, m), reduction), range(0, m, STRIP)[::-1])

    def _by_rows(self, count: int, work: Callable[[slice], Any]) -> None:
        """Do some work on all rows, a strip at a time, in threads."""
        self.in_threads(work, [slice(at, min(at + STRIP, count)) for at in range(0, count, STRIP)])


def memory_of_rows(n: int) -> int:
    """Estimate the bytes beside a matrix: lists; rows of every thread, and blocks of them while it is filled."""
    filled = 16 * min(n, BLOCK) * min(n, COLUMNS_AT_ONCE)
    return n * (12 * SEARCH_LENGTH + 300) + (16 * ROWS * n + filled) * n_threads(None)
