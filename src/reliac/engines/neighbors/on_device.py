"""Neighbours in many dimensions on a GPU: searched there, measured there with the bits that the CPU gives.

What stays unproven, rows that tie or that float32 cannot tell apart, is settled on the CPU as in ``products.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.metrics import Squares
from ...machine import in_threads
from ..compiled.products import one_blas_thread
from ..gpu.columns import Candidates, Columns, make_frame
from ..gpu.device import the_device, to_host, torch
from ..gpu.failures import on_device
from ..gpu.moments import DeviceMoments, single_rows
from ..gpu.search import pack_columns
from .products import BESIDES, ROWS, Packed, load_products, settle_ties

#: Rows that are searched and measured at a time.
AT_A_TIME = 2**17


def nearest_on_device(rows: Any, k: int, form: Squares, threads: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the k nearest other rows of every row and their distances, the same as the CPU finds."""
    n = len(rows)
    indices, distances, proven = np.empty((n, k), np.intp), np.empty((n, k)), np.empty(n, np.bool_)
    with on_device():
        moments, object_of = single_rows(rows, form, the_device(), threads)
        everyone = torch().arange(n, device=moments.device)
        frame = make_frame(moments, everyone)
        search = pack_columns(Columns(moments, everyone, frame))
        for some in everyone.split(AT_A_TIME):
            found = search.nearest(some, min(k + BESIDES, n - 1), least=k)
            gaps, places, sure = _measured(moments, object_of, some, found, k, form, frame.unit)
            at = to_host(object_of[some])
            indices[at], distances[at], proven[at] = places, gaps, sure
    left = np.flatnonzero(~proven)
    if len(left):
        load_products()
        with one_blas_thread():
            packed = Packed(np.asarray(rows), form)

            def fill_tied(start: int) -> None:
                some = left[start : start + ROWS]
                distances[some], indices[some] = settle_ties(packed, some, distances[some], indices[some])

            in_threads(fill_tied, range(0, len(left), ROWS), threads)
    return indices, distances


def _measured(
    moments: DeviceMoments, object_of: Any, rows: Any, found: Candidates, k: int, form: Squares, unit: float
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Measure candidates; return the k nearest, of equally near ones those with the smaller index, and who is sure."""
    there = found.places >= 0
    places = found.places.clamp(min=0)
    squares = moments.gaps(rows[:, None].expand_as(places).reshape(-1), places.reshape(-1)).view(places.shape)
    squares = torch().where(there, squares, torch().inf)
    others, order = object_of[places].sort(1)
    squares, by_gap = squares.gather(1, order).sort(dim=1, stable=True)
    others, squares = others.gather(1, by_gap)[:, :k], squares[:, :k]
    rounding = (moments.sums.shape[1] + 8) * 2.0**-51
    reach = found.bound.double() * unit**2 * (1 - 1e-6 - 2 * rounding)
    sure = found.sure & (squares[:, -1] < reach)
    gaps = to_host(squares)  # roots are taken here: those of torch can be off by a bit
    gaps = np.sqrt(gaps) if form is Squares.ROOTED else 0.5 * gaps if form is Squares.UNIT else gaps
    return gaps, to_host(others), to_host(sure)
