"""Moving all vectors together changes no distance, and small numbers lose fewer bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Tells which of some columns hold whole numbers only, (those columns,).
AreWhole = Callable[[NDArray[np.intp]], NDArray[np.bool_]]


def exact_shift(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what can be taken off each column without rounding. O(n d)."""

    def whole(rows: NDArray[np.float64]) -> AreWhole:
        return lambda columns: np.array([(np.rint(rows[:, k]) == rows[:, k]).all() for k in columns], bool)

    return shift_within(vectors.min(axis=0), vectors.max(axis=0), whole(vectors[:1000]), whole(vectors))


def shift_within(
    low: NDArray[np.float64], high: NDArray[np.float64], begin_whole: AreWhole, are_whole: AreWhole
) -> NDArray[np.float64]:
    """Return the shift of columns whose numbers are within ``low`` and ``high``: their middle, where all is far from 0.

    A column that spans less than its distance from zero loses no bit (Sterbenz); others are left alone, but for
    whole numbers, which a whole number shifts exactly. ``begin_whole`` tells of the first rows only: most columns are
    seen there not to be whole, at once.
    """
    middle = np.rint((low + high) / 2)
    whole = begin_whole(np.arange(len(low))) & (np.maximum(-low, high) < 2**51)
    unsure = np.flatnonzero(whole & (low < high))
    if len(unsure):
        whole[unsure] = are_whole(unsure)
    far = np.minimum(np.abs(low), np.abs(high)) * 2 >= np.maximum(np.abs(low), np.abs(high))
    far &= np.sign(low) == np.sign(high)
    middle = np.where(far & ~whole, low, middle)
    return np.where(whole | far, middle, 0.0)
