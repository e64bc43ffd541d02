"""Neighbours in many dimensions on a GPU: searched there, measured there with the bits that the CPU gives.

What float32 cannot prove, rows that tie or that it cannot tell apart, is settled by float64 products, also there: all
rows whose lower bound is within the distance of the last neighbour found so far are measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.metrics import Squares
from ..gpu.columns import Candidates, Columns, Skipping, make_frame
from ..gpu.device import the_device, to_host, torch
from ..gpu.failures import OnDevice
from ..gpu.moments import DeviceMoments, single_rows
from ..gpu.search import Search, pack_columns
from .products import BESIDES

#: Rows that are searched and measured at a time, and pairs that are settled so.
AT_A_TIME, PAIRS = 2**17, 2**24


def nearest_on_device(rows: Any, k: int, form: Squares, threads: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the k nearest other rows of every row and their distances, the same as the CPU finds."""
    n = len(rows)
    with OnDevice():
        moments, row_of = single_rows(rows, form, the_device(), threads)
        everyone = torch().arange(n, device=moments.device)
        frame = make_frame(moments, everyone)
        skipping = Skipping()
        packed = pack_columns(Columns(moments, everyone, frame), skipping)
        indices = torch().empty(n, k, dtype=torch().int64, device=moments.device)
        squares = torch().empty(n, k, dtype=torch().float64, device=moments.device)
        left = []
        for some in everyone.split(AT_A_TIME):
            found = packed.nearest(some, min(k + BESIDES, n - 1), least=k)
            near, gaps = _measured(moments, row_of, some, found, k)
            indices[row_of[some]], squares[row_of[some]] = near, gaps
            reach = found.bound.double() * frame.unit**2 * (1 - 1e-6 - _rounding(moments))
            left.append(some[~(found.sure & (gaps[:, -1] < reach))])
        search = Search(moments, everyone, frame, 1.0, skipping)
        unproven = torch().cat(left)
        for some in unproven.split(max(1, PAIRS // n)) if len(unproven) else ():
            near, gaps = _settled(moments, row_of, search, some, squares[row_of[some], -1], k)
            indices[row_of[some]], squares[row_of[some]] = near, gaps
    gaps = to_host(squares)  # roots are taken here: those of torch can be off by a bit
    gaps = np.sqrt(gaps) if form is Squares.ROOTED else 0.5 * gaps if form is Squares.UNIT else gaps
    return to_host(indices), gaps


def _rounding(moments: DeviceMoments) -> float:
    """Return the share by which a measured square may be off, twice."""
    return float((moments.sums.shape[1] + 8) * 2.0**-50)


def _measured(moments: DeviceMoments, row_of: Any, rows: Any, found: Candidates, k: int) -> tuple[Any, Any]:
    """Measure candidates; return the k nearest and their squares, of equally near ones those that come first."""
    places = found.places.clamp(min=0)
    squares = moments.gaps(rows[:, None].expand_as(places).reshape(-1), places.reshape(-1)).view(places.shape)
    squares = torch().where(found.places >= 0, squares, torch().inf)
    others, order = row_of[places].sort(1)
    squares, by_square = squares.gather(1, order).sort(dim=1, stable=True)
    return others.gather(1, by_square)[:, :k], squares[:, :k]


def _settled(moments: DeviceMoments, row_of: Any, search: Search, rows: Any, farthest: Any, k: int) -> tuple[Any, Any]:
    """Return the k nearest of rows and their squares; ``farthest``: k others are known to be within these squares."""
    bounds = search.bounds(rows) * search.scale
    near = (bounds <= farthest[:, None] * (1 + _rounding(moments))) & torch().isfinite(bounds)
    line, place = near.nonzero(as_tuple=True)
    other, order = row_of[place].sort()
    line, place = line[order], place[order]
    square, order = moments.gaps(rows[line], place).sort(stable=True)
    line, order_of_lines = line[order].sort(stable=True)
    other, square = other[order][order_of_lines], square[order_of_lines]
    start = torch().searchsorted(line, torch().arange(len(rows), device=line.device))
    kept = torch().arange(len(line), device=line.device) - start[line] < k
    return other[kept].view(-1, k), square[kept].view(-1, k)
