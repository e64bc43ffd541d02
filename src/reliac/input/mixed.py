"""Distances of rows that may have gaps: only what both rows of a pair have counts.

Sums over the shared columns are divided once, at the end. So pairs whose sums and counts are equal on paper have equal
distances in floats, wherever the sums themselves are exact: on whole numbers, ranks, categories and booleans.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Rows that are compared with all others at once: their sums stay in the cache.
STRIP = 16

#: Sums of whole numbers are exact up to here.
EXACT = 2**53


class Features(NamedTuple):
    """How the columns of a table are compared: column j adds ``|a - b| / over[j] * times[j]``, at most ``whole``.

    For ``by_equality`` |a - b| counts as 1 where it is not 0.
    """

    by_equality: NDArray[np.bool_]
    over: NDArray[np.float64]
    times: NDArray[np.float64]
    whole: float


class MixedRows(np.ndarray[Any, Any]):
    """A table of numbers, ranks and codes of categories, NaN where a value is missing, that knows its features.

    Parts of it know them too: the range of a column is that of the whole table.
    """

    features: Features

    def __array_finalize__(self, whole: Any) -> None:
        """Take the features along."""
        self.features = getattr(whole, "features", None)  # type: ignore[assignment]


def with_features(numbers: NDArray[np.float64], by_equality: NDArray[np.bool_]) -> MixedRows:
    """Return a table whose numbers are compared by their ranges, and whose codes by equality.

    Shares of ranges are added as multiples of 1 / ``whole``. That is the least common multiple of the ranges of columns
    of whole numbers, as long as sums of such multiples are exact: small ranges come first.
    """
    columns = numbers.shape[1]
    low, high = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
    span = np.where(by_equality | ~(high > low), 1.0, high - low)
    is_whole = (np.isnan(numbers) | (numbers == np.floor(numbers))).all(axis=0) & (np.abs(high) + np.abs(low) < EXACT)
    over, whole = span.copy(), 1
    for column in np.argsort(span, kind="stable").tolist():
        multiple = math.lcm(whole, int(span[column])) if is_whole[column] else EXACT
        if multiple * columns < EXACT:
            whole, over[column] = multiple, 1.0
    times = np.where(over == 1.0, whole / np.where(over == 1.0, span, 1.0), float(whole))
    rows = numbers.view(MixedRows)
    rows.features = Features(by_equality, over, times, float(whole))
    return rows


def gower_between(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean share of its range by which a feature differs, over the features that both rows have.

    NaN where there is no such feature. Both are parts of one :class:`MixedRows`.
    """
    features: Features = some.features  # type: ignore[attr-defined]

    def part(gap: NDArray[np.float64], column: int) -> None:
        if features.by_equality[column]:
            np.minimum(gap, 1.0, out=gap)
        if features.over[column] != 1.0:
            gap /= features.over[column]
        if features.times[column] != 1.0:
            gap *= features.times[column]

    sums, counts = _over_shared(some, others, part)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / (features.whole * counts))


def nan_euclidean_between(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the root of the mean squared difference over the columns that both rows have, times the columns.

    NaN where there is no such column.
    """

    def square(gap: NDArray[np.float64], _: int) -> None:
        gap *= gap

    sums, counts = _over_shared(some, others, square)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(sums * some.shape[1] / counts))


def _over_shared(
    some: NDArray[Any], others: NDArray[Any], part: Callable[[NDArray[np.float64], int], None]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for every two rows the sum over the columns that both have, and their number.

    ``part`` turns |a - b| of a column into what is added, in place. Columns are added in their order, so the sums have
    the same bits whatever rows stand beside them.
    """
    a, b = (np.asarray(rows, dtype=np.float64).T.copy() for rows in (some, others))
    no_a, no_b = np.isnan(a), np.isnan(b)
    gaps: NDArray[np.bool_] = np.logical_or(no_a.any(axis=1), no_b.any(axis=1))
    sums, counts = np.zeros((2, a.shape[1], b.shape[1]))
    counts += len(a)
    room = np.empty((STRIP, b.shape[1]))
    for start in range(0, a.shape[1], STRIP):
        strip = slice(start, min(start + STRIP, a.shape[1]))
        gap = room[: strip.stop - start]
        for column in range(len(a)):
            np.subtract(a[column, strip, None], b[column], out=gap)
            np.abs(gap, out=gap)
            part(gap, column)
            if gaps[column]:
                np.fmax(gap, 0.0, out=gap)  # what is missing adds nothing
                counts[strip] -= no_a[column, strip, None] | no_b[column]
            sums[strip] += gap
    return sums, counts
