"""Minimum spanning trees of vectors of many dimensions: block products select, exact distances decide.

A first sweep lists for each row its nearest rows: products give lower bounds, whatever is not selected is at least as
far as the smallest bound left out. What the lists prove is joined. The components that are left have many rows each
(the lists of a small one have rows outside it), so there are few of them, and a second sweep can afford a table with
the smallest product of every pair of components. Pairs that may matter by that table are measured exactly.
At most two sweeps, whatever the data; the second one only reads what does not belong to the largest component.
"""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import TooManyTies
from ...input.metrics import METRICS, Squares
from ..compiled.loading import bare, bare_inlined
from ..compiled.products import product_error, times_transposed
from ..compiled.sorting import insert
from .findings import Findings
from .forest import Edges, Forest
from .prim import edges_of_matrix

#: The kind of distances that are not squares of differences, as kernels know it.
COSINE = int(Squares.UNIT)

#: Rows and columns of one block product: small enough for the cache of one core.
ROWS, COLUMNS = 256, 2048

#: Neighbours listed for each row.
LISTED = 12

#: Components for which a table of all pairs is made.
MOST_COMPONENTS = 8192

#: Pairs that are measured, for each component.
MOST_PAIRS = 16

#: The shares of the time that are gone when the first sweep is done, the second, and all pairs are measured.
AFTER_FIRST, AFTER_SECOND, AFTER_PAIRS = 0.8, 0.9, 1.0


@bare_inlined
def inner_product(points, x, y):
    """Return the inner product of two rows, every bit as SciPy gives it: even and odd columns apart. O(d)."""
    even = odd = 0.0
    whole = points.shape[1] // 2 * 2
    for k in range(0, whole, 2):
        even += points[x, k] * points[y, k]
        odd += points[x, k + 1] * points[y, k + 1]
    total = even + odd
    return total + points[x, whole] * points[y, whole] if whole < points.shape[1] else total


@bare_inlined
def measure(points, norms, kind, x, y):
    """Return the distance of two rows, every bit as SciPy gives it: squares in order of the columns. O(d)."""
    if kind == COSINE:
        cosine = inner_product(points, x, y) / (norms[x] * norms[y])
        return 1.0 - min(1.0, max(-1.0, cosine))
    total = 0.0
    for k in range(points.shape[1]):
        t = points[x, k] - points[y, k]
        total += t * t
    return total


@bare
def lengths(points, out):
    """Compute the length of every row."""
    for x in range(len(points)):
        out[x] = np.sqrt(inner_product(points, x, x))


@bare
def select_outside(products, first, own, component, bound, place):
    """Keep for each row of a block the smallest products with other components, sorted.

    ``products`` (rows, columns), the columns from ``first`` on; ``bound``, ``place`` (rows, k). One pass, and a second
    one over the 64 columns where something was found.
    """
    last = bound.shape[1] - 1
    for i in range(products.shape[0]):
        row = products[i]
        for start in range(0, len(row), 64):
            stop, hits, threshold = min(start + 64, len(row)), 0, bound[i, last]
            for j in range(start, stop):
                hits += row[j] < threshold
            for j in range(start, stop if hits else start):
                if row[j] < bound[i, last] and component[first + j] != own[i]:
                    insert(bound[i], place[i], 0, last, row[j], first + j)


@bare
def decide(points, norms, kind, first, place, reach, values):
    """Measure what was selected, ``place`` (rows, k); infinite if not nearer than the reach. O(k d) a row."""
    for i in range(len(place)):
        for e in range(place.shape[1]):
            value = measure(points, norms, kind, first + i, place[i, e]) if place[i, e] >= 0 else np.inf
            values[i, e] = value if value < reach[i] else np.inf


@bare
def smallest_by_component(products, offset, own, starts, c0, first, lanes, out):
    """Lower ``out`` (components of rows, components of columns) to the smallest number of every pair.

    ``own``: row of ``out`` for each row. ``starts``: where the columns of each component begin, and the end; columns
    from ``first`` on, which is in component ``c0``. ``lanes`` (16,): room. One pass.
    """
    end = first + products.shape[1]
    for i in range(products.shape[0]):
        row, c, start = products[i], c0, first
        while start < end:
            stop = min(starts[c + 1], end)
            lanes[:] = np.inf
            whole = start + (stop - start) // 16 * 16
            for j in range(start, whole, 16):
                for lane in range(16):
                    value = row[j - first + lane]
                    lanes[lane] = value if value < lanes[lane] else lanes[lane]
            least = lanes[0]
            for lane in range(1, 16):
                least = min(least, lanes[lane])
            for j in range(whole, stop):
                least = min(least, row[j - first])
            out[own[i], c] = min(out[own[i], c], least + offset[i])
            c, start = c + 1, stop


@bare
def measure_near(points, norms, kind, products, limit, rows, columns, best, found):
    """Measure the pairs of a block whose product is within the limit of the row; keep those as near as the nearest.

    ``found`` (E, 2): as many of these pairs as it holds. ``best`` (2,): their distance and number, kept from block to
    block.
    """
    count = int(best[1])
    for i in range(len(rows)):
        for j in range(len(columns)):
            if products[i, j] <= limit[i]:
                value = measure(points, norms, kind, rows[i], columns[j])
                if value < best[0]:
                    best[0], count = value, 0
                if value == best[0]:
                    if count < len(found):
                        found[count, 0], found[count, 1] = rows[i], columns[j]
                    count += 1
    best[1] = count


class Sweep:
    """The rows as products need them: centred, scaled, in one float type, with their squares in one more column."""

    def __init__(self, points: NDArray[np.float64], norms: NDArray[np.float64], kind: int, number: Any) -> None:
        self.points, self.norms, self.kind, self.number = points, norms, kind, number
        d = points.shape[1]
        packed = points / norms[:, None] if kind == COSINE else points - points.mean(axis=0)
        largest = float(np.abs(packed).max()) * d**0.5
        self.unit = 2.0 ** np.ceil(np.log2(largest)) if largest else 1.0
        packed /= self.unit
        square = np.einsum("ij,ij->i", packed, packed)
        self.right = np.column_stack((packed, square)).astype(number)
        self.square = square
        length = np.sqrt(square)
        self.error = product_error(length, float(length.max()), d, number)  # of each row's products, at most

    def products(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Return |y|^2 - 2 x y, (rows, columns)."""
        left = self.right[rows].copy()
        left[:, :-1] *= -2
        left[:, -1] = 1
        return times_transposed(left, self.right[columns])

    def value(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for lower bounds of squares in our unit lower bounds of distances as they are measured."""
        squares = np.maximum(squares, 0.0) * self.unit**2
        rounding = (self.points.shape[1] + 8) * 2.0**-51
        if self.kind == COSINE:
            return np.asarray(np.maximum(squares * (0.5 - rounding) - rounding, 0.0))
        return np.asarray(squares * (1.0 - rounding))

    def list_rows(self, first: int, component: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """List the nearest rows outside their component for a block of rows: places, distances, reach."""
        rows = slice(first, min(first + ROWS, len(component)))
        own = component[rows]
        bound = np.full((len(own), LISTED + 1), np.inf, self.number)
        place = np.full((len(own), LISTED + 1), -1)
        for start in range(0, len(component), COLUMNS):
            select_outside(self.products(rows, slice(start, start + COLUMNS)), start, own, component, bound, place)
        reach = self.value(bound[:, -1] + self.square[rows] - self.error[rows])
        values = np.empty((len(own), LISTED))
        decide(self.points, self.norms, self.kind, first, place[:, :LISTED], reach, values)
        return place[:, :LISTED], values, reach


def edges_by_products(rows: NDArray[Any], kind: int, pool: Executor, findings: Findings | None = None) -> Edges:
    """Return all edges of all minimum spanning trees of the rows."""
    findings = Findings() if findings is None else findings
    points = np.array(rows, np.float64, order="C")
    norms = np.ones(len(points) if kind == COSINE else 1)
    if kind == COSINE:
        lengths(points, norms)
    forest = Forest(np.arange(len(points)))
    for number in (np.float32, np.float64):
        sweep = Sweep(points, norms, kind, number)
        join_lists(sweep, forest, pool, findings)
        if forest.n_components <= MOST_COMPONENTS and join_components(sweep, forest, pool, findings):
            return forest.edges()
    # more near duplicates than products can tell apart: all distances, one by one
    from scipy.spatial.distance import pdist

    name = next(row.name for row in METRICS.values() if row.squares == kind)
    return edges_of_matrix(np.maximum(pdist(points, name), 0.0), len(points))[0]


def join_lists(sweep: Sweep, forest: Forest, pool: Executor, findings: Findings) -> None:
    """First sweep: list the nearest rows of every row and join what that proves."""
    n, component, step = len(sweep.points), forest.component, np.dtype(sweep.number).name
    place = findings.room(f"{step} places", (n, LISTED), np.int32, -1)
    values = findings.room(f"{step} values", (n, LISTED), np.float64, np.inf)
    reach = findings.room(f"{step} reach", (n,), np.float64, 0.0)

    def fill(first: int) -> None:
        rows = slice(first, first + ROWS)
        place[rows], values[rows], reach[rows] = sweep.list_rows(first, component)

    findings.in_blocks(f"{step} lists", pool, fill, range(0, n, ROWS), (0.0, AFTER_FIRST))
    i, e = np.nonzero(values < np.inf)
    j, weight = place[i, e].astype(np.int64), values[i, e]
    once = (i < j) | (weight >= reach[j])  # else it is on the other row's list too
    reach_of = np.full(n, np.inf)
    np.minimum.at(reach_of, component, reach)
    forest.join(i[once], j[once], weight[once], reach_of)


def join_components(sweep: Sweep, forest: Forest, pool: Executor, findings: Findings) -> bool:
    """Second sweep: a table of all pairs of components, then exact distances where the table leaves a doubt.

    Returns whether all is joined; not if the table leaves too many doubts.
    """
    if forest.n_components == 1:
        return True
    names, component = np.unique(forest.component, return_inverse=True)
    size = np.bincount(component)
    rank = np.empty(len(names), np.int64)
    rank[np.argsort(size, kind="stable")] = np.arange(len(names))  # the largest comes last and is no row
    order = np.argsort(rank[component], kind="stable")
    starts = np.r_[0, np.cumsum(np.sort(size, kind="stable"))]
    sweep = reorder(sweep, order)
    table = component_table(sweep, starts, pool, findings)
    slack = 2.0 * float(sweep.error.max()) * 2.0
    try:
        pairs = edges_of_matrix(table, len(names), slack)[0]
    except TooManyTies:
        return False
    if not 0 < len(pairs.i) <= MOST_PAIRS * len(names):
        return False
    found = measured_pairs(sweep, starts, pairs, table[pairs.i, pairs.j] + slack, pool, findings)
    ends = order[np.concatenate([pair for pair, _ in found])]
    weight = np.concatenate([np.full(len(pair), value) for pair, value in found])
    forest.join(ends[:, 0], ends[:, 1], weight, np.full(len(order), np.inf))
    return True


def measured_pairs(
    sweep: Sweep,
    starts: NDArray[np.int64],
    pairs: Edges,
    limit: NDArray[np.float64],
    pool: Executor,
    findings: Findings,
) -> list[tuple[NDArray[Any], float]]:
    """Return for pairs of components their nearest pairs of rows, and how far these are."""
    work = (np.diff(starts)[pairs.i] * np.diff(starts)[pairs.j]).astype(np.float64)
    gone = AFTER_SECOND + (AFTER_PAIRS - AFTER_SECOND) * np.cumsum(work) / work.sum()

    def measure_pair(k: int) -> tuple[NDArray[Any], float]:
        a, b = pairs.i[k], pairs.j[k]
        return nearest_pairs(sweep, starts[a], starts[a + 1], starts[b], starts[b + 1], float(limit[k]))

    found = []
    with closing(pool.map(measure_pair, range(len(work)))) as results:  # type: ignore[type-var]
        for share, result in zip(gone, results, strict=True):
            found.append(result)
            findings.tell(float(share))
    return found


def reorder(sweep: Sweep, order: NDArray[np.int64]) -> Sweep:
    """Return the same sweep with its rows in another order."""
    other = Sweep.__new__(Sweep)
    other.__dict__.update(sweep.__dict__)
    for name in ("points", "right", "square", "error"):
        setattr(other, name, getattr(sweep, name)[order])
    if len(sweep.norms) > 1:
        other.norms = sweep.norms[order]
    return other


def component_table(sweep: Sweep, starts: NDArray[np.int64], pool: Executor, findings: Findings) -> NDArray[np.float64]:
    """Return the smallest |x - y|^2 by products of every pair of components, (m, m); rows come in their order."""
    m, step = len(starts) - 1, np.dtype(sweep.number).name
    table = findings.room(f"{step} table", (m, m), np.float64, np.inf)

    def block(first: int) -> tuple[int, NDArray[np.float64]]:
        rows = slice(first, min(first + ROWS, int(starts[m - 1])))
        component = np.searchsorted(starts, np.arange(rows.start, rows.stop), side="right") - 1
        out = np.full((component[-1] - component[0] + 1, m), np.inf)
        for start in range(int(starts[component[0] + 1]), int(starts[m]), COLUMNS):
            columns = slice(start, min(start + COLUMNS, int(starts[m])))
            products = sweep.products(rows, columns)
            c0 = int(np.searchsorted(starts, start, side="right")) - 1
            own, lanes = component - component[0], np.empty(16, sweep.number)
            smallest_by_component(products, sweep.square[rows], own, starts, c0, start, lanes, out)
        return int(component[0]), out

    def enter(result: tuple[int, NDArray[np.float64]]) -> None:
        first, out = result
        np.minimum(table[first : first + len(out)], out, out=table[first : first + len(out)])

    blocks = range(0, int(starts[m - 1]), ROWS)
    findings.in_blocks(f"{step} pairs", pool, block, blocks, (AFTER_FIRST, AFTER_SECOND), enter)
    table = np.triu(table, 1)
    table += table.T
    return table


def nearest_pairs(sweep: Sweep, a: int, a_end: int, b: int, b_end: int, limit: float) -> tuple[NDArray[Any], float]:
    """Return all nearest pairs of rows of two components, and their distance. ``limit``: products that may be it."""
    room, best = 64, np.array([np.inf, 0.0])
    while True:
        found = np.empty((room, 2), np.int64)
        best[:] = np.inf, 0.0
        for first in range(a, a_end, ROWS):
            rows = np.arange(first, min(first + ROWS, a_end))
            for start in range(b, b_end, COLUMNS):
                columns = np.arange(start, min(start + COLUMNS, b_end))
                products = sweep.products(slice(rows[0], rows[-1] + 1), slice(start, columns[-1] + 1))
                within = limit - sweep.square[rows]
                measure_near(
                    sweep.points, sweep.norms, sweep.kind, products, within, rows, columns, best, found
                )  # fmt: skip
        if best[1] <= room:
            return found[: int(best[1])], float(best[0])
        room = 2 * int(best[1])
