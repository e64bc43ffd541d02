"""Single rows on the device: which are equal, and their distances with the bits of the spanning engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..repeats import find_twins
from .device import to_host, torch
from .moments import KIND_OF_ROWS, DeviceMoments, place_rows


class DevicePoints(DeviceMoments):
    """Single rows; differences are squared and added up column after column."""

    in_order = True

    def __init__(self, rows: DeviceMoments) -> None:
        super().__init__(rows.sums, rows.weight, rows.row, rows.spread, KIND_OF_ROWS)


def place_points(vectors: Any) -> tuple[DevicePoints, Any]:
    """Return rows as points, near ones close together, and which row is where."""
    rows, row_of = place_rows(vectors)
    rows.shift()
    return DevicePoints(rows), row_of


def twins_on_device(rows: NDArray[Any], vectors: Any) -> NDArray[np.int64] | None:
    """Return for each row the first row equal to it; None if no row repeats. ``vectors``: the same, on the device.

    Equal rows have equal projections. Only rows whose projection is there twice are looked at on the host.
    """
    n, d = rows.shape
    direction = np.random.default_rng(0).uniform(1.0, 2.0, size=(d,)).tolist()
    projection = torch().zeros(n, dtype=torch().float64, device=vectors.device)
    for k in range(d):  # one operation after the other: the same rounding for every row
        projection += vectors[:, k].double() * direction[k]
    values, order = projection.sort(stable=True)
    same = torch().zeros(n + 1, dtype=torch().bool, device=vectors.device)
    same[1:-1] = values[1:] == values[:-1]
    some = np.sort(to_host(order[same[1:] | same[:-1]]))
    first_of_some = find_twins(rows[some]) if len(some) else None
    if first_of_some is None:
        return None
    first = np.arange(n)
    first[some] = some[first_of_some]
    return first
