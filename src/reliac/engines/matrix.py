"""Given distances: the matrix is only read, never written; clusters are lists of its items.

A cluster's distance to another is reduced from the entries between their items when it is asked for. When 60 % of
the clusters are left, one streaming pass contracts the matrix to one item per cluster, so lists of items stay
short. The pairs of clusters p < q (by slot) are always summed in the same order, so a distance has the same bits
from both sides, for any number of threads; a contraction, which sums in another order, is followed by measuring
all lists anew.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..criteria import distance_from_sums
from ..problem import Problem
from .candidates import compiled, pair_distance, push, register_space, remeasure, shares_of_parts
from .lists import SEARCH_LENGTH, ListEngine, nearest_of_row

#: Contract when this share of the items is left as clusters.
CONTRACT = 0.6

#: The same for condensed input, whose columns are slow to read: soon.
CONTRACT_CONDENSED = 0.8

#: Rows whose distances are held at once when new clusters are pushed into lists.
ROWS = 64

MINIMUM, MAXIMUM, ADD = range(3)

#: The matrix lies flat: entry (i, j) with i < j is base[offset_of_row[i] + j], square or condensed.
Table = namedtuple(
    "Table", "base offset_of_row square squared factor first_item last_item next_item weight spread reduction offset by_size equal_parts"
)

from_sums = nb.njit(cache=True, nogil=True)(distance_from_sums)


@compiled
def stored_between(base, offset_of_row, square, squared, next_item, factor, reduction, a, b, a_outer):
    """Reduce the entries between the items of two clusters, from their first items a and b.

    The rows of a are read. Sums have a fixed order: ``a_outer`` tells whose items the outer sum runs over.
    """
    total = np.inf if reduction == MINIMUM else 0.0
    outer = a if a_outer else b
    while outer >= 0:
        part = 0.0
        inner = b if a_outer else a
        while inner >= 0:
            i, j = (outer, inner) if a_outer else (inner, outer)
            value = np.float64(base[offset_of_row[i] + j] if square or i < j else base[offset_of_row[j] + i])
            if squared:
                value *= value
            if reduction == ADD:
                part += factor[inner] * value
            elif reduction == MAXIMUM:
                total = max(total, value)
            else:
                total = min(total, value)
            inner = next_item[inner]
        if reduction == ADD:
            total += factor[outer] * part
        outer = next_item[outer]
    return total


@compiled
def stored_pair(space, p, q):
    """Reduce the entries between two clusters; the one with the smaller slot is the outer loop."""
    return stored_between(
        space.base, space.offset_of_row, space.square, space.squared, space.next_item, space.factor, space.reduction,
        space.first_item[min(p, q)], space.first_item[max(p, q)], True,
    )  # fmt: skip


@compiled
def table_pair(space, p, q):
    """Return the distance of two clusters."""
    stored = stored_pair(space, p, q)
    if space.reduction != ADD:
        return stored
    w, s = space.weight, space.spread
    return from_sums(stored, s[p], s[q], w[p], w[q], space.offset, space.by_size)


@compiled
def table_join(space, parts):
    """Chain the items of the parts; sums inside the group and weights follow."""
    head = parts[0]
    if space.reduction == ADD:
        weights = space.weight[parts]
        if space.equal_parts:
            factors, total = shares_of_parts(weights)
        else:
            factors, total = np.ones(len(parts)), weights.sum()
        if space.offset:
            inside = 0.0
            for a in range(len(parts)):
                inside += factors[a] * factors[a] * space.spread[parts[a]]
                for b in range(a):
                    inside += 2.0 * factors[a] * factors[b] * stored_pair(space, parts[a], parts[b])
            space.spread[head] = inside
        if space.equal_parts:
            for a in range(len(parts)):
                i = space.first_item[parts[a]]
                while i >= 0:
                    space.factor[i] *= factors[a]
                    i = space.next_item[i]
        space.weight[head] = total
    for part in parts[1:]:
        space.next_item[space.last_item[head]] = space.first_item[part]
        space.last_item[head] = space.last_item[part]
        space.first_item[part] = -1


register_space(Table, lambda space, p, q: table_pair(space, p, q), lambda space, parts: table_join(space, parts))


@compiled
def read_row(space, r, scratch):
    """Reduce the rows of the items of r: for every item j the number that a cluster of j alone would store.

    Cost: one pass over each row. ``scratch`` (items,) is filled.
    """
    base, offset_of_row, reduction = space.base, space.offset_of_row, space.reduction
    n = len(scratch)
    scratch[:] = np.inf if reduction == MINIMUM else 0.0
    i = space.first_item[r]
    while i >= 0:
        f, at = space.factor[i], offset_of_row[i]
        start = 0 if space.square else i + 1  # what lies side by side in memory
        if reduction == ADD:
            for j in range(start, n):
                scratch[j] += f * base[at + j]
        elif reduction == MAXIMUM:
            for j in range(start, n):
                value = base[at + j]
                scratch[j] = value if value > scratch[j] else scratch[j]
        else:
            for j in range(start, n):
                value = base[at + j]
                scratch[j] = value if value < scratch[j] else scratch[j]
        for j in range(0 if start else i, i):  # condensed: the other half of the row, one entry per line of memory
            value = np.float64(base[offset_of_row[j] + i])
            if reduction == ADD:
                scratch[j] += f * value
            else:
                scratch[j] = max(scratch[j], value) if reduction == MAXIMUM else min(scratch[j], value)
        i = space.next_item[i]


@compiled
def row_of_distances(space, r, columns, scratch, out):
    """Distances of one cluster to the clusters in ``columns``; infinite to itself.

    A cluster of one item takes its number from the reduced row, whose sums were made in the same order.
    """
    base, offset_of_row, square, squared = space.base, space.offset_of_row, space.square, space.squared
    first_item, next_item, factor, weight, spread = (
        space.first_item, space.next_item, space.factor, space.weight, space.spread,
    )  # fmt: skip
    reduction, offset, by_size = space.reduction, space.offset, space.by_size
    if not squared:
        read_row(space, r, scratch)
    mine, wr, sr = first_item[r], weight[r], spread[r]
    for c in range(len(columns)):
        q = columns[c]
        j = first_item[q]
        if q == r:
            out[c] = np.inf
            continue
        if squared or next_item[j] >= 0 or factor[j] != 1.0:
            stored = stored_between(
                base, offset_of_row, square, squared, next_item, factor, reduction, mine, j, r < q
            )
        else:
            stored = scratch[j]
        out[c] = stored
        if reduction == ADD:
            out[c] = from_sums(stored, sr, spread[q], wr, weight[q], offset, by_size)


@compiled
def insert(bound, place, i, value, where):
    """Enter a value into the sorted row i of the smallest values."""
    e = bound.shape[1] - 1
    while e > 0 and bound[i, e - 1] > value:
        bound[i, e], place[i, e] = bound[i, e - 1], place[i, e - 1]
        e -= 1
    bound[i, e], place[i, e] = value, where


@compiled
def scan_values(values, first, i, own, bound, place):
    """Keep the smallest of a run of values in row i; chunks that hold none are passed over quickly."""
    last = bound.shape[1] - 1
    for start in range(0, len(values), 64):
        stop = min(start + 64, len(values))
        threshold = bound[i, last]
        hits = 0
        for j in range(start, stop):
            hits += values[j] < threshold
        if hits:
            for j in range(start, stop):
                if values[j] < bound[i, last] and first + j != own:
                    insert(bound, place, i, values[j], first + j)


@compiled
def scan_square(base, n, first, bound, place):
    """The smallest entries of rows ``first``, first + 1, ... of a square matrix."""
    for i in range(len(bound)):
        scan_values(base[(first + i) * n : (first + i + 1) * n], 0, i, first + i, bound, place)


@compiled
def scan_condensed(base, n, first, stop, bound, place):
    """The smallest entries of all rows, from rows ``first`` to ``stop`` of a condensed matrix, seen from both sides."""
    last = bound.shape[1] - 1
    threshold = bound[:, last].copy()
    for i in range(first, stop):
        at = n * i - i * (i + 1) // 2
        values = base[at : at + n - i - 1]
        scan_values(values, i + 1, i, -1, bound, place)
        threshold[i] = bound[i, last]
        others = threshold[i + 1 :]
        for start in range(0, len(values), 64):
            end = min(start + 64, len(values))
            hits = 0
            for j in range(start, end):
                hits += values[j] < others[j]
            if hits:
                for j in range(start, end):
                    if values[j] < others[j]:
                        insert(bound, place, i + 1 + j, values[j], i)
                        others[j] = bound[i + 1 + j, last]


@compiled
def merge_scans(bound, place, other_bound, other_place):
    """Join two sets of smallest entries."""
    last = bound.shape[1] - 1
    for i in range(len(bound)):
        for e in range(last + 1):
            if other_bound[i, e] < bound[i, last]:
                insert(bound, place, i, other_bound[i, e], other_place[i, e])


@compiled
def fill_lists(space, lists, nodes, slots, columns, place, tie_factor, failed):
    """Measure what was selected and make the lists; everything else is at least as far as the last one selected."""
    last = place.shape[1] - 1
    for k in range(len(slots)):
        r = slots[k]
        first, count, radius = lists.start[r], 0, np.inf
        if place[k, last] >= 0:
            radius = pair_distance(space, r, columns[place[k, last]])
        for e in range(last):
            if place[k, e] < 0:
                break
            q = columns[place[k, e]]
            distance = pair_distance(space, r, q)
            if distance < radius:
                j = first + count
                while j > first and lists.distances[j - 1] > distance:
                    lists.nodes[j], lists.distances[j] = lists.nodes[j - 1], lists.distances[j - 1]
                    j -= 1
                lists.nodes[j], lists.distances[j] = nodes.node_of[q], distance
                count += 1
        lists.count[r], lists.radius[r] = count, radius
        failed[k] = radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@compiled
def list_from_row(lists, nodes, r, columns, row, bound, place, tie_factor):
    """Fill one list from its whole row; tell whether ties leave it unproven. ``bound``, ``place`` (1, k + 1): scratch."""
    bound[:], place[:] = np.inf, -1
    scan_values(row, 0, 0, -1, bound, place)
    last = bound.shape[1] - 1
    first, count = lists.start[r], 0
    radius = bound[0, last]
    while count < last and place[0, count] >= 0 and bound[0, count] < radius:
        lists.nodes[first + count] = nodes.node_of[columns[place[0, count]]]
        lists.distances[first + count] = bound[0, count]
        count += 1
    lists.count[r], lists.radius[r] = count, radius
    return radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@compiled
def search_rows(space, lists, nodes, slots, columns, rows, tie_factor, failed):
    """Fill the lists of some clusters from their whole rows, which are left in ``rows`` (one, or one a slot)."""
    scratch = np.empty(len(space.factor))
    bound, place = np.empty((1, lists.room[0] + 1)), np.empty((1, lists.room[0] + 1), np.int32)
    for k in range(len(slots)):
        row = rows[min(k, len(rows) - 1)]
        row_of_distances(space, slots[k], columns, scratch, row)
        failed[k] = list_from_row(lists, nodes, slots[k], columns, row, bound, place, tie_factor)


@compiled
def push_rows(lists, nodes, work, slots, columns, rows, old):
    """Enter new clusters into the lists whose radius they fall inside; ``old`` (columns,) are those not searched."""
    for k in range(len(slots)):
        node = nodes.node_of[slots[k]]
        for c in range(len(columns)):
            r = columns[c]
            if rows[k, c] < lists.radius[r] and old[c]:
                push(lists, nodes, work, r, node, rows[k, c])


@compiled
def contract_rows(space, columns, place_of_item, first, target):
    """Sum up, for rows ``first``, first + 1, ... of the contracted matrix, the entries (i, j) with i in the row, j > i.

    Every entry of the base is read once, in the order it lies in memory; the two halves of a pair are joined by
    :func:`fold`. ``place_of_item`` (items,): the contracted column of each item.
    """
    base, factor, reduction = space.base, space.factor, space.reduction
    n, start = len(factor), np.inf if reduction == MINIMUM else 0.0
    for k in range(len(target)):
        row = target[k]
        row[:] = start
        i = space.first_item[columns[first + k]]
        while i >= 0:
            f, at = space.factor[i], space.offset_of_row[i]
            if reduction == MAXIMUM:
                for j in range(i + 1, n):
                    c = place_of_item[j]
                    row[c] = max(row[c], base[at + j])
            elif reduction == MINIMUM:
                for j in range(i + 1, n):
                    c = place_of_item[j]
                    row[c] = min(row[c], base[at + j])
            elif space.squared:
                for j in range(i + 1, n):
                    row[place_of_item[j]] += f * factor[j] * (base[at + j] * base[at + j])
            else:
                for j in range(i + 1, n):
                    row[place_of_item[j]] += f * factor[j] * base[at + j]
            i = space.next_item[i]


@compiled
def places_of_items(space, columns):
    """Return for each item the place of its cluster among ``columns``."""
    place = np.empty(len(space.factor), np.int32)
    for c in range(len(columns)):
        i = space.first_item[columns[c]]
        while i >= 0:
            place[i] = c
            i = space.next_item[i]
    return place


@compiled
def fold(matrix, first, stop, reduction):
    """Join entry (i, j) and (j, i) for rows ``first`` to ``stop`` and columns before them, in blocks for the cache."""
    for top in range(first, stop, 64):
        for left in range(0, min(top + 64, stop), 64):
            for i in range(top, min(top + 64, stop)):
                for j in range(left, min(left + 64, i)):
                    if reduction == ADD:
                        value = matrix[i, j] + matrix[j, i]
                    elif reduction == MAXIMUM:
                        value = max(matrix[i, j], matrix[j, i])
                    else:
                        value = min(matrix[i, j], matrix[j, i])
                    matrix[i, j] = matrix[j, i] = value


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
            reduction={np.minimum: MINIMUM, np.maximum: MAXIMUM}.get(row.reduction, ADD),
            offset=row.offset,
            by_size=row.by_size,
            equal_parts=row.equal_parts,
        )
        self.untouched = True

    @staticmethod
    def _base(problem: Problem) -> tuple[NDArray[Any], bool]:
        """Return the matrix to read, and whether its entries still have to be squared."""
        if problem.given is not None:
            return np.ascontiguousarray(problem.given), problem.criterion.geometric
        return problem.base_distances(), False

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say no to single, whose links need object pairs."""
        return "it keeps no object pairs" if problem.criterion.reduction is np.minimum else None

    @staticmethod
    def memory(problem: Problem) -> int:
        """The contracted matrix; computed distances, if there are none given; lists."""
        n = problem.n_objects
        computed = 0 if problem.given is not None else 16 * n * n
        return int(CONTRACT**2 * 8 * n * n) + computed + n * (12 * SEARCH_LENGTH + 300)

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
            row_of_distances(self.space, r, columns, np.empty(len(self.space.factor)), out)
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

        def work(some: NDArray[np.intp]) -> None:
            flags, row = failed[some[0] : some[-1] + 1], np.empty((1, len(columns)))
            search_rows(self.space, self.lists, self.nodes, slots[some], columns, row, tie_factor, flags)

        self.in_threads(work, np.array_split(np.arange(len(slots)), min(len(slots), 4 * self.threads)))
        return slots[failed]

    def _search_and_push(self, slots: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        failed, tie_factor = np.zeros(len(slots), bool), self.problem.tie_factor
        old = ~np.isin(columns, slots)
        rows = np.empty((min(ROWS, len(slots)), len(columns)))

        def work(some: NDArray[np.intp]) -> None:
            flags, space = failed[some[0] : some[-1] + 1], rows[some[0] % ROWS : some[-1] % ROWS + 1]
            search_rows(self.space, self.lists, self.nodes, slots[some], columns, space, tie_factor, flags)

        for start in range(0, len(slots), ROWS):
            some = np.arange(start, min(start + ROWS, len(slots)))
            self.in_threads(work, np.array_split(some, min(len(some), self.threads)))
            push_rows(self.lists, self.nodes, self.work, slots[some], columns, rows, old)
        return slots[failed]

    def _contract(self) -> None:
        """Make one item of every cluster, when enough items have gone; measure all lists anew on the new matrix."""
        space, n = self.space, len(self.space.factor)
        if self.n_clusters > (CONTRACT if space.square else CONTRACT_CONDENSED) * n or n < 256:
            return
        columns = self.alive
        m = len(columns)
        kind = space.base.dtype if space.reduction != ADD else np.dtype(np.float64)
        place = places_of_items(space, columns)
        target = np.empty((m, m), kind)
        self.in_threads(lambda at: contract_rows(space, columns, place, at, target[at : at + 64]), range(0, m, 64))
        # rows near the end are longer: deal them out in turn
        self.in_threads(lambda at: fold(target, at, min(at + 64, m), space.reduction), range(0, m, 64)[::-1])
        first = np.full(len(space.first_item), -1)
        first[columns] = np.arange(m)
        self.space = space._replace(
            **flat(target, m), squared=False, factor=np.ones(m), first_item=first, last_item=first.copy(),
            next_item=np.full(m, -1),
        )  # fmt: skip
        remeasure(self.space, self.lists, self.nodes, self.work, columns)


def flat(matrix: NDArray[Any], n: int) -> dict[str, Any]:
    """Return a square or condensed matrix as one run of numbers, and where its rows begin."""
    row = np.arange(n)
    offset = row * n if matrix.ndim == 2 else n * row - row * (row + 1) // 2 - row - 1
    return {"base": matrix.reshape(-1), "offset_of_row": offset, "square": matrix.ndim == 2}
