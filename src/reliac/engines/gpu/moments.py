"""The moments of clusters on the device: the numbers of :mod:`reliac.engines.vectors.moments`, with the same bits.

Every distance that decides anything is computed by the formula written there, in float64 and in the same order of
operations, so a tree has the same bits whoever computed it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.criteria import MeanForm
from ...input.device_rows import DeviceRows
from ...input.metrics import Squares, squares_of, unit_rows
from ...input.numbers import is_sparse
from ...input.objects import rows_of
from ...input.problem import Problem
from ...machine import in_threads
from ..vectors.cells import rank_pivots
from ..vectors.moments import Moments
from ..vectors.shift import shift_within
from .device import is_gpu, to_device, torch

#: Pairs that are measured, and rows that are joined, at a time.
PAIRS, ROWS = 2**22, 2**18


def has_kernels(device: Any) -> bool:
    """Tell whether kernels of our own run on the device: Triton is installed, and it is a GPU or Triton interprets."""
    if not is_gpu(device) and os.environ.get("TRITON_INTERPRET") != "1":
        return False
    try:
        from . import kernels  # noqa: F401
    except ImportError:
        return False
    return True


class DeviceMoments:
    """Sums (n, d, padded to fours), weights, first equal rows and spreads (n,) of the clusters in all slots."""

    in_order = False  # whether squares are added up column after column, and not as four sums

    def __init__(self, sums: Any, weight: Any, row: Any, spread: Any, like: Moments) -> None:
        """``like``: what kind of moments they are; its arrays are not looked at."""
        self.sums, self.weight, self.row, self.spread = sums, weight, row, spread
        self.with_spread, self.by_size, self.scale = bool(like.with_spread), bool(like.by_size), float(like.scale)
        self.device = sums.device
        self.kernels = has_kernels(self.device)

    def distances(self, p: Any, q: Any) -> Any:
        """Return the exact distances of pairs of slots, (m,)."""
        pieces = [self._distances(p[at : at + PAIRS], q[at : at + PAIRS]) for at in range(0, len(p), PAIRS)]
        return pieces[0] if len(pieces) == 1 else torch().cat(pieces) if pieces else self.weight.new_empty(0)

    def table(self, rows: Any, slots: Any) -> Any:
        """Return the distances of rows (m,) to slots (m, k); infinite where there is no slot (-1)."""
        p = rows[:, None].expand_as(slots).reshape(-1)
        found = self.distances(p, slots.clamp(min=0).reshape(-1)).view(slots.shape)
        return torch().where(slots >= 0, found, torch().inf)

    def _distances(self, p: Any, q: Any) -> Any:
        if self.kernels:
            from .kernels import of_pairs

            return of_pairs(self, p, q, whole=True)
        wp, wq = self.weight[p], self.weight[q]
        total = self._across(p, q) if self.in_order else self._by_fours(p, q)
        if self.with_spread:
            total = total + (wq * wq * self.spread[p] + wp * wp * self.spread[q])
        product = wp * wq
        found = self.scale * (total / (product * (wp + wq) if self.by_size else product * product))
        return torch().where(self.row[p] == self.row[q], 0.0, found)

    def _by_fours(self, p: Any, q: Any) -> Any:
        """Return the sum of squares as four sums: the order is fixed, so is every bit."""
        wp, wq = self.weight[p, None], self.weight[q, None]
        four = torch().zeros(len(p), 4, dtype=torch().float64, device=self.device)
        for k in range(0, self.sums.shape[1], 4):
            gap = wq * self.sums[p, k : k + 4] - wp * self.sums[q, k : k + 4]
            four = four + gap * gap
        return (four[:, 0] + four[:, 1]) + (four[:, 2] + four[:, 3])

    def join(self, heads: Any, parts: Any) -> None:
        """Join each part (m,) to its head (m,), all different; sums, weights and spreads go to the head."""
        for at in range(0, len(heads), ROWS):
            self._join(heads[at : at + ROWS], parts[at : at + ROWS])

    def _join(self, p: Any, q: Any) -> None:
        wp, wq = self.weight[p], self.weight[q]
        if self.with_spread:  # pairs across: the mean distance times the number of pairs
            across = self._across(p, q) + (wq * wq * self.spread[p] + wp * wp * self.spread[q])
            self.spread[p] = self.spread[p] + (self.spread[q] + across / (wp * wq))
        self.sums[p] = self.sums[p] + self.sums[q]
        self.weight[p] = wp + wq
        self.row[p] = torch().where(self.row[p] == self.row[q], self.row[p], -1 - p)

    def gaps(self, p: Any, q: Any) -> Any:
        """Return the squared distances of single rows, added up column after column as SciPy does."""
        pieces = [self._across(p[at : at + PAIRS], q[at : at + PAIRS]) for at in range(0, len(p), PAIRS)]
        return torch().cat(pieces)

    def _across(self, p: Any, q: Any) -> Any:
        """Return the sum of squares, column after column, as joins on the CPU add it up."""
        if self.kernels:
            from .kernels import of_pairs

            return of_pairs(self, p, q, whole=False)
        wp, wq = self.weight[p], self.weight[q]
        total = torch().zeros(len(p), dtype=torch().float64, device=self.device)
        for k in range(self.sums.shape[1]):
            gap = wq * self.sums[p, k] - wp * self.sums[q, k]
            total = total + gap * gap
        return total

    def shift(self) -> None:
        """Move single rows, all alike, by what can be taken off each column without rounding."""
        shift = _shift(self.sums)
        if shift.any():
            self.sums -= to_device(shift, self.device)

    def put(self, slots: NDArray[np.int64], host: Moments) -> None:
        """Copy the moments of some slots from the host."""
        at = to_device(slots, self.device)
        self.sums[at] = to_device(host.sums[slots], self.device)
        self.weight[at] = to_device(host.weight[slots], self.device)
        self.row[at] = to_device(host.row[slots], self.device)
        if self.with_spread:
            self.spread[at] = to_device(host.spread[slots], self.device)


def mirror_of(host: Moments, device: Any, threads: int) -> DeviceMoments:
    """Return a copy of moments on the device."""
    sums, weight, row, spread = (
        to_device(array, device, threads) for array in (host.sums, host.weight, host.row, host.spread)
    )
    return DeviceMoments(sums, weight, row, spread, host)


def kind_of_moments(problem: Problem) -> Moments:
    """Return what kind of moments a problem has, without their arrays."""
    row, squares, none = problem.criterion, squares_of(problem.metric), np.empty(0)
    spreads = row.mean_form is MeanForm.SPREADS
    scale = 0.5 if squares is Squares.UNIT else 1.0
    return Moments(none, none, none, none, spreads, row.by_size, row.equal_parts, scale)


#: What rows are that are compared by squared differences, and by nothing else.
KIND_OF_ROWS = Moments(None, None, None, None, with_spread=False, by_size=False, equal_parts=False, scale=1.0)


def fresh_moments(problem: Problem, device: Any, threads: int) -> tuple[DeviceMoments, Any]:
    """Make the moments of single objects of weight 1 on the device, near ones close together.

    Returned besides: the object of every slot. The same numbers as :func:`reliac.engines.vectors.moments.make_moments`.
    """
    rows = rows_of(problem.objects)
    rows = rows.toarray() if is_sparse(rows) else rows
    moments, object_of = single_rows(rows, squares_of(problem.metric), device, threads, kind_of_moments(problem))
    moments.shift()
    return moments, object_of


def single_rows(
    rows: Any, form: Squares, device: Any, threads: int, like: Moments | None = None
) -> tuple[DeviceMoments, Any]:
    """Put rows on the device as clusters of one, near ones close together; return the row of every slot besides."""
    return place_rows(upload(compared_rows(rows, form, threads), device, threads), like)


def compared_rows(rows: Any, form: Squares, threads: int) -> Any:
    """Return the rows whose squared differences are compared; those of unit length are made on the host."""
    return _unit_rows(np.asarray(rows), threads) if form is Squares.UNIT else rows


def upload(rows: Any, device: Any, threads: int) -> Any:
    """Return rows on the device; what is there already is not copied."""
    return rows.tensor.to(device) if isinstance(rows, DeviceRows) else to_device(rows, device, threads)


def place_rows(vectors: Any, like: Moments | None = None) -> tuple[DeviceMoments, Any]:
    """Make clusters of one of rows that are on the device, as :func:`single_rows` does."""
    (n, d), device = vectors.shape, vectors.device
    row_of = order_by_cells(vectors)
    sums = torch().zeros(n, -(-d // 4) * 4, dtype=torch().float64, device=device)
    for at in range(0, n, ROWS):
        sums[at : at + ROWS, :d] = vectors[row_of[at : at + ROWS]]
    like = KIND_OF_ROWS if like is None else like
    ones = torch().ones(n, dtype=torch().float64, device=device)
    spread = torch().zeros(n if like.with_spread else 1, dtype=torch().float64, device=device)
    return DeviceMoments(sums, ones, torch().arange(n, device=device), spread, like), row_of


def _unit_rows(rows: NDArray[Any], threads: int) -> NDArray[np.float64]:
    """Scale rows to unit length on the host: the order in which squares are summed decides about bits."""
    out = np.empty(rows.shape)

    def scale(start: int) -> None:
        out[start : start + 4096] = unit_rows(rows[start : start + 4096])

    in_threads(scale, range(0, len(rows), 4096), threads)
    return out


def _shift(vectors: Any) -> NDArray[np.float64]:
    """Return what can be taken off each column without rounding."""
    low, high = (np.asarray(end(0).double().cpu().numpy()) for end in (vectors.amin, vectors.amax))

    def whole(some: Any) -> NDArray[np.bool_]:
        parts = [(part.round() == part).all(0) for part in some.split(ROWS)]
        return np.asarray(torch().stack(parts).all(0).cpu().numpy())

    return shift_within(low, high, lambda some: whole(vectors[:1000])[some], lambda some: whole(vectors)[some])


#: Cells, at most, and those of the coarser ones; rows for a cell, on average at least.
CELLS, COARSE, ROWS_OF_CELL = 4096, 256, 512


def order_by_cells(vectors: Any) -> Any:
    """Return an order of rows in which near ones come close together: by the nearest of some pivots.

    Pivots are ordered by the nearest of a few coarse ones, and these as Ward would draw them. Rows far from all of
    them, as noise is, come last: among the others they would make every stretch of rows a wide one. O(n d pivots).
    """
    n, device = len(vectors), vectors.device
    count = min(CELLS, n // ROWS_OF_CELL)
    if count < 2:
        return torch().arange(n, device=device)
    chosen = np.random.default_rng(0).choice(n, count, replace=False)
    pivots = vectors[to_device(chosen, device)].float()
    square = (pivots * pivots).sum(1)
    cell, far = [], []
    for part in vectors.split(2**16):
        rows = part.float()
        nearest, at = (square - 2 * rows @ pivots.T).min(1)
        cell.append(at)
        far.append(nearest + (rows * rows).sum(1))
    cell, far = torch().cat(cell), torch().cat(far)
    top = min(count, COARSE)
    coarse = to_device(rank_pivots(pivots[:top].double().cpu().numpy()), device)[
        (square[:top] - 2 * pivots @ pivots[:top].T).argmin(1)
    ][cell]
    by_far = far.sort().indices
    by_far = by_far[coarse[by_far].sort(stable=True).indices]
    size = torch().bincount(coarse, minlength=top)
    middle = far[by_far][(size.cumsum(0) - (size + 1) // 2).clamp(min=0, max=n - 1)]  # the median of each coarse cell
    outside = (far > 2 * middle[coarse]).long()
    return ((outside * top + coarse) * count + cell).argsort(stable=True)
