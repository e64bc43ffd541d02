"""Given distances: the matrix is only read, never written; clusters are lists of its items.

A cluster's distance to another is reduced from the entries between their items when it is asked for. When 60 % of
the clusters are left, one streaming pass contracts the matrix to one item per cluster, so lists of items stay
short.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import comes_in_blocks, fill_block
from ..problem import Problem
from .entries import remeasure
from .lists import SEARCH_LENGTH, ListEngine, nearest_of_row
from .scans import merge_scans, scan_condensed, scan_square
from .table import (
    ADD,
    MAXIMUM,
    MINIMUM,
    Table,
    contract_rows,
    fill_lists,
    flat,
    fold,
    pack_columns,
    places_of_items,
    push_rows,
    row_of_distances,
    search_rows,
)

#: Contract when this share of the items is left as clusters.
CONTRACT = 0.6

#: The same for condensed input, whose columns are slow to read, where every new cluster is searched: at once.
CONTRACT_AT_ONCE = 0.95

#: Rows whose distances are held at once when new clusters are pushed into lists.
ROWS = 64

#: Rows of distances computed from vectors at once.
BLOCK = 256


class MatrixEngine(ListEngine):
    """Any criterion but single on given distances, or on distances computed once from vectors."""

    name = "matrix"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        row, n = problem.criterion, problem.n_objects
        base, squared = self._base(problem)
        weight = np.ones(n) if row.equal_parts or row.reduction is not np.add else problem.weights.copy()
        self.plain = bool((weight == weight[0]).all())
        self.space = Table(
            **flat(base, n),
            squared=squared,
            factor=weight.copy(),
            first_item=np.arange(n),
            last_item=np.arange(n),
            next_item=np.full(n, -1),
            weight=weight,
            spread=np.zeros(n),
            reduction=MINIMUM if row.reduction is np.minimum else MAXIMUM if row.reduction is np.maximum else ADD,
            offset=row.offset,
            by_size=row.by_size,
            equal_parts=row.equal_parts,
        )
        self.untouched = True

    def _base(self, problem: Problem) -> tuple[NDArray[Any], bool]:
        """Return the matrix to read, and whether its entries still have to be squared."""
        if problem.given is not None:
            return np.ascontiguousarray(problem.given), problem.criterion.geometric
        metric = "sqeuclidean" if problem.criterion.geometric else problem.metric
        if not comes_in_blocks(problem.vectors, metric):
            return problem.base_distances(), False
        n = problem.n_objects
        base = self.allocate((n, n), np.float64)
        with ThreadPoolExecutor(self.threads) as self.pool:
            self.in_threads(lambda at: fill_block(base, problem.vectors, metric, at), range(0, n, BLOCK))
        return base, False

    def allocate(self, shape: tuple[int, int], kind: Any) -> NDArray[Any]:
        """Return room for a matrix."""
        return np.empty(shape, kind)

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say no to single, whose links need object pairs."""
        return "it keeps no object pairs" if problem.criterion.reduction is np.minimum else None

    @staticmethod
    def memory(problem: Problem) -> int:
        """The contracted matrix; computed distances, if there are none given; lists."""
        n = problem.n_objects
        computed = 0 if problem.given is not None else 8 * n * n
        square = problem.given is None or problem.given.ndim == 2
        contracted = int(MatrixEngine._share(problem, square) ** 2 * 8 * n * n)
        return contracted + computed + n * (12 * SEARCH_LENGTH + 300)

    @staticmethod
    def _share(problem: Problem, square: bool) -> float:
        """Return the share of items left as clusters at which the matrix is contracted."""
        return CONTRACT if square or problem.criterion.reducible else CONTRACT_AT_ONCE

    def search(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill lists from whole rows."""
        self.searches += len(slots)
        if self.untouched and self.plain and len(slots) == self.n_clusters == len(self.space.factor):
            columns, failed = self.alive, self._first_search(slots)
        else:
            self._contract()
            columns = self.alive
            failed = self._search_and_push(slots, columns) if push else self._search_rows(slots, columns)
        self.untouched = False
        for r in failed:
            out = np.empty(len(columns))
            row_of_distances(self.space, r, pack_columns(self.space, columns), np.empty(len(self.space.factor)), out)
            place, distance, radius = nearest_of_row(out, self.problem.tie_factor)
            self.set_list(int(r), columns[place], distance, radius)

    def _first_search(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scan the untouched matrix: every criterion starts in the order of the plain distances."""
        base, n = self.space.base, len(slots)
        shape = (n, SEARCH_LENGTH + 1)
        bound, place = np.full(shape, np.inf, base.dtype), np.full(shape, -1, np.int32)
        if self.space.square:
            self.in_threads(
                lambda at: scan_square(base, n, at, bound[at : at + 256], place[at : at + 256]), range(0, n, 256)
            )
        else:
            # as many pairs for each thread
            cuts = [round(n * (1 - (1 - k / self.threads) ** 0.5)) for k in range(self.threads + 1)]
            scans = [(bound, place)] + [(bound.copy(), place.copy()) for _ in cuts[2:]]
            self.in_threads(lambda k: scan_condensed(base, n, cuts[k], cuts[k + 1], *scans[k]), range(len(scans)))
            for other in scans[1:]:
                merge_scans(bound, place, *other)
        failed = np.zeros(n, bool)
        factor = self.problem.tie_factor
        pieces = [slice(at, at + 1024) for at in range(0, n, 1024)]
        self.in_threads(
            lambda some: fill_lists(
                self.space, self.lists, self.nodes, slots[some], slots, place[some], factor, failed[some]
            ),
            pieces,
        )
        return slots[failed]

    def _search_rows(self, slots: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        failed, tie_factor = np.zeros(len(slots), bool), self.problem.tie_factor
        packed = pack_columns(self.space, columns)

        def work(some: NDArray[np.intp]) -> None:
            flags, row = failed[some[0] : some[-1] + 1], np.empty((1, len(columns)))
            search_rows(self.space, self.lists, self.nodes, slots[some], packed, row, SEARCH_LENGTH, tie_factor, flags)

        self.in_threads(work, np.array_split(np.arange(len(slots)), min(len(slots), 4 * self.threads)))
        return slots[failed]

    def _search_and_push(self, slots: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        failed, tie_factor = np.zeros(len(slots), bool), self.problem.tie_factor
        old = ~np.isin(columns, slots)
        packed = pack_columns(self.space, columns)
        rows = np.empty((min(ROWS, len(slots)), len(columns)))

        def work(some: NDArray[np.intp]) -> None:
            flags, space = failed[some[0] : some[-1] + 1], rows[some[0] % ROWS : some[-1] % ROWS + 1]
            search_rows(
                self.space, self.lists, self.nodes, slots[some], packed, space, SEARCH_LENGTH, tie_factor, flags
            )

        for start in range(0, len(slots), ROWS):
            some = np.arange(start, min(start + ROWS, len(slots)))
            self.in_threads(work, np.array_split(some, min(len(some), self.threads)))
            push_rows(self.lists, self.nodes, self.work, slots[some], columns, rows, old)
        return slots[failed]

    def _contract(self) -> None:
        """Make one item of every cluster, when enough items have gone; measure all lists anew on the new matrix."""
        space, n = self.space, len(self.space.factor)
        if self.n_clusters > self._share(self.problem, space.square) * n or n < 256:
            return
        columns = self.alive
        m = len(columns)
        kind = space.base.dtype if space.reduction != ADD else np.dtype(np.float64)
        place = places_of_items(space, columns)
        target = self.allocate((m, m), kind)
        self.in_threads(lambda at: contract_rows(space, columns, place, at, target[at : at + 64]), range(0, m, 64))
        # rows near the end are longer: deal them out in turn
        self.in_threads(lambda at: fold(target, at, min(at + 64, m), space.reduction), range(0, m, 64)[::-1])
        first = np.full(len(space.first_item), -1)
        first[columns] = np.arange(m)
        self.space = space._replace(
            **flat(target, m), squared=False, factor=np.ones(m), first_item=first, last_item=first.copy(),
            next_item=np.full(m, -1),
        )  # fmt: skip
        remeasure(self.space, self.lists, self.nodes, self.work, self.scratch[0], columns)
