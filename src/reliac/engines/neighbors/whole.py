"""Neighbours from whole rows of distances, a block of rows at a time: for every metric, by NumPy and SciPy alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.condensed import to_square
from ...input.metrics import MetricLike, pairwise, whole_rows
from ...input.objects import Distances, Objects, rows_of
from ...machine import in_threads

#: Distances that a thread computes at a time.
BLOCK = 2**17


def nearest_in_whole_rows(
    objects: Objects, k: int, metric: MetricLike, threads: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the k nearest other objects of every object and their distances. O(n^2) distances."""
    n, rows = objects.n, _row_maker(objects, metric)
    indices, distances = np.empty((n, k), np.intp), np.empty((n, k))
    step = max(1, BLOCK // n)

    def fill(start: int) -> None:
        some = slice(start, min(start + step, n))
        block = rows(some)
        block[np.arange(len(block)), np.arange(some.start, some.stop)] = np.inf  # nobody is a neighbour of itself
        indices[some], distances[some] = smallest(block, k)

    in_threads(fill, range(0, n, step), threads)
    return indices, distances


def _row_maker(objects: Objects, metric: MetricLike) -> Callable[[slice], NDArray[Any]]:
    """Return what gives a new block of rows of distances."""
    if isinstance(metric, str) and not isinstance(objects, Distances):
        return whole_rows(rows_of(objects), metric)
    square = (
        to_square(objects.matrix, objects.n) if isinstance(objects, Distances) else pairwise(rows_of(objects), metric)
    )
    return lambda some: square[some].astype(np.float64)


def smallest(block: NDArray[np.float64], k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the places of the k smallest numbers of every row, sorted, of equal ones the first; and the numbers."""
    last = np.partition(block, k - 1, axis=1)[:, k - 1 : k]
    row, column = np.nonzero(block <= last)
    value = block[row, column]
    order = np.lexsort((value, row))  # stable, and columns come in order
    rank = np.arange(len(row)) - np.searchsorted(row, np.arange(len(block)))[row]
    kept = order[rank < k]  # rows are sorted already, so ranks are those of the sorted values
    return column[kept].reshape(-1, k), value[kept].reshape(-1, k)
