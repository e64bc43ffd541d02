"""Neighbours in many dimensions: float32 products of blocks select, float64 decides.

A product gives a lower bound of a distance. A little more than k rows with the smallest bounds are selected and
measured exactly. If the k-th of them is nearer than the smallest bound left out, they are the nearest. Else, where rows
are tied or float32 cannot tell them apart, float64 products find all rows whose bound is within that distance, and all
of these are measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.metrics import Squares, unit_rows
from ...machine import in_threads
from ..compiled.loading import FEW, bare, load
from ..compiled.products import one_blas_thread, product_floor, product_share, times_transposed
from ..compiled.scanning import CHUNK, scan_values
from .measuring import ROOTED, UNIT, enter, from_squares, settle, squared_gap

#: Rows and columns of one block product: small enough for the cache of one core.
ROWS, COLUMNS = 256, 2048

#: Rows that are selected besides the k nearest.
BESIDES = 5

#: Rows of a table that is read at once; and those that its middle is found from.
READ, MIDDLE = 4096, 1001


@bare
def select(products, first, own, bound, place):
    """Keep for every row of a block the smallest products, but for its own. One pass.

    ``products`` (rows, columns), columns from ``first`` on, rows from ``own`` on; ``bound``, ``place`` (rows, s).
    """
    for i in range(products.shape[0]):
        scan_values(products[i], first, own + i, bound[i], place[i])


@bare
def measure_within(products, limit, left, right, first, own, form, distances, indices):
    """Measure all pairs of a block whose product is within the limit of the row, and keep the nearest.

    ``products`` (m, columns), ``limit`` (m,), ``left`` (m, d), ``right`` (columns, d), columns from ``first`` on;
    ``own`` (m,): the rows themselves; ``distances``, ``indices`` (m, k).
    """
    d, columns = left.shape[1], products.shape[1]
    for i in range(len(left)):
        for start in range(0, columns, CHUNK):
            stop, hits = min(start + CHUNK, columns), 0
            for j in range(start, stop):
                hits += products[i, j] <= limit[i]
            for j in range(start, stop if hits else start):
                if products[i, j] <= limit[i] and first + j != own[i]:
                    distance = from_squares(squared_gap(left[i], right[j], d), form)
                    enter(distances[i], indices[i], distance, np.int64(first + j))


class Packed:
    """The rows as products need them: centred, scaled, in float32, with their squares in one more column.

    What products may be off by, a share of the squares and very little besides, is taken off them: sums of products and
    squares are lower bounds then, and a row far from all others spoils nothing but its own.
    """

    def __init__(self, rows: NDArray[Any], form: Squares) -> None:
        self.rows, self.form = rows, int(form)
        n, self.d = rows.shape
        reads = [slice(at, at + READ) for at in range(0, n, READ)]
        # medians and not means: a row far away would move the centre away from all others
        self.centre = np.median(self.exact(np.linspace(0, n - 1, min(n, MIDDLE)).astype(np.intp)), axis=0)
        largest = max(float(np.abs(self.exact(some) - self.centre).max()) for some in reads) * self.d**0.5
        self.unit = 2.0 ** np.ceil(np.log2(largest)) if largest else 1.0
        self.packed, self.square = np.empty((n, self.d + 1), np.float32), np.empty(n)
        for some in reads:
            self.packed[some], self.square[some] = self.pack(self.exact(some), np.float32)

    def exact(self, some: Any) -> NDArray[np.float64]:
        """Return some rows as they are compared, in float64."""
        rows = self.rows[some]
        return unit_rows(rows) if self.form == UNIT else np.ascontiguousarray(rows, dtype=np.float64)

    def pack(self, exact: NDArray[np.float64], kind: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rows for products of a number type, (m, d + 1), and their squares, less what these may be off by."""
        packed = np.empty((len(exact), self.d + 1))
        np.subtract(exact, self.centre, out=packed[:, : self.d])
        packed[:, : self.d] /= self.unit
        packed[:, self.d] = np.einsum("ij,ij->i", packed[:, : self.d], packed[:, : self.d])
        packed[:, self.d] *= 1 - product_share(self.d, kind)
        packed[:, self.d] -= product_floor(self.d, kind)
        return packed, packed[:, self.d]

    def left(self, packed: NDArray[Any]) -> NDArray[Any]:
        """Return what times a packed row y gives |y|^2 - 2 x y."""
        left = packed * packed.dtype.type(-2)
        left[:, self.d] = 1
        return left

    @property
    def rounding(self) -> float:
        """The share by which a measured sum of squares may be off."""
        return (self.d + 8) * 2.0**-51

    def reach(self, bound: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for lower bounds of squares in our unit lower bounds of distances as they are measured."""
        squares = np.maximum(bound, 0.0) * self.unit**2 * (1.0 - self.rounding)
        return np.asarray(np.sqrt(squares) if self.form == ROOTED else 0.5 * squares if self.form == UNIT else squares)

    def within(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for measured distances what no square in our unit of a row so near is above."""
        squares = distances**2 if self.form == ROOTED else 2.0 * distances if self.form == UNIT else distances
        with np.errstate(divide="ignore", over="ignore"):  # squares of tiny numbers are 0, and then all rows are near
            return np.asarray((squares * (1.0 + 2.0 * self.rounding) + 1e-300) / self.unit**2)


def nearest_by_products(
    rows: NDArray[Any], k: int, form: Squares, threads: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the k nearest other rows of every row and their distances. About n^2 d operations in float32."""
    load_products()
    return _search(rows, k, form, threads)


def load_products() -> None:
    """Load the compiled code, once a process."""
    load("neighbors by products", "", _run_few)


def _run_few() -> None:
    rows = np.random.default_rng(0).random((FEW, 12))
    _search(np.vstack((rows, rows[:3])), 2, Squares.ROOTED, 1)
    few = Packed(rows, Squares.ROOTED)
    settle_ties(few, np.arange(2), np.full((2, 2), 1.0), np.zeros((2, 2), np.intp))


def _search(rows: NDArray[Any], k: int, form: Squares, threads: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    n = len(rows)
    indices, distances, proven = np.empty((n, k), np.intp), np.empty((n, k)), np.empty(n, np.bool_)
    with one_blas_thread():
        packed = Packed(rows, form)

        def fill(start: int) -> None:
            some = slice(start, min(start + ROWS, n))
            _search_block(packed, some, distances[some], indices[some], proven[some])

        in_threads(fill, range(0, n, ROWS), threads)
        left = np.flatnonzero(~proven)

        def fill_tied(start: int) -> None:
            some = left[start : start + ROWS]
            distances[some], indices[some] = settle_ties(packed, some, distances[some], indices[some])

        in_threads(fill_tied, range(0, len(left), ROWS), threads)
    return indices, distances


def _search_block(packed: Packed, some: slice, distances: Any, indices: Any, proven: Any) -> None:
    """Fill in the neighbours of a block of rows, and which of them are proven."""
    n, count = len(packed.packed), some.stop - some.start
    selected = min(indices.shape[1] + BESIDES, n - 1)
    bound = np.full((count, selected + 1), np.inf, np.float32)
    place = np.full((count, selected + 1), -1)
    left = packed.left(packed.packed[some])
    for start in range(0, n, COLUMNS):
        select(times_transposed(left, packed.packed[start : start + COLUMNS]), start, some.start, bound, place)
    square = packed.square[some]
    reach = packed.reach(bound[:, -1].astype(np.float64) + square)
    place = np.ascontiguousarray(place[:, :-1])
    others = packed.exact(place.ravel()).reshape(count, selected, packed.d)
    settle(packed.exact(some), others, place, reach, packed.form, distances, indices, proven)


def settle_ties(
    packed: Packed, some: NDArray[np.intp], distances: NDArray[np.float64], indices: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the neighbours of some rows, given as many others: all that may be as near as the last are measured."""
    exact = packed.exact(some)
    own, square = packed.pack(exact, np.float64)
    left, limit = packed.left(own), packed.within(distances[:, -1]) - square
    distances, indices = np.full_like(distances, np.inf), np.full_like(indices, np.iinfo(np.int64).max)
    for start in range(0, len(packed.packed), COLUMNS):
        right = packed.exact(slice(start, start + COLUMNS))
        products = times_transposed(left, packed.pack(right, np.float64)[0])
        measure_within(products, limit, exact, right, start, some, packed.form, distances, indices)
    return distances, indices
