"""Condensed form: the upper triangle of a square matrix, row after row, without the diagonal.

The row of object i begins with its distance to i + 1 and ends with its distance to n - 1. Every formula that finds a
distance in this form is here.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..native.library import address, is_plain, library

Number = TypeVar("Number", int, NDArray[np.intp])


#: The distances of up to so many objects are picked at once.
FEW = 500


def length_of(n: int) -> int:
    """Return the number of pairs of n objects."""
    return n * (n - 1) // 2


def count_objects(length: int) -> int | None:
    """Return the number of objects that have so many pairs; None if no number of objects has."""
    n = (1 + math.isqrt(1 + 8 * length)) // 2
    return n if length_of(n) == length else None


def row_start(n: int, i: Number) -> Number:
    """Return where the row of object i begins: at its distance to i + 1."""
    return n * i - i * (i + 1) // 2


def place_of(n: int, i: Number, j: Number) -> Number:
    """Return where the distance of i and j is; i must be smaller than j."""
    return row_start(n, i) + (j - i - 1)


def pair_at(n: int, place: int) -> tuple[int, int]:
    """Return the two objects, i < j, whose distance is at a place."""
    starts = row_start(n, np.arange(n - 1))
    i = int(np.searchsorted(starts, place, side="right")) - 1
    return i, i + 1 + place - int(starts[i])


def pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the two objects of every pair, in the order of the condensed form."""
    i, j = np.triu_indices(n, 1)
    return i, j


# --- matrices in either form ---


def later_distances(matrix: NDArray[Any], n: int, i: int) -> NDArray[Any]:
    """Return the distances of object i to all objects after it, from a square or condensed matrix; a view."""
    if matrix.ndim == 2:
        return matrix[i, i + 1 :]
    start = row_start(n, i)
    return matrix[start : start + n - 1 - i]


def to_square(matrix: NDArray[Any], n: int) -> NDArray[Any]:
    """Return a new square matrix from square or condensed distances, in their own float type."""
    if matrix.ndim == 2:
        return matrix.copy()
    if n > 1 and matrix.dtype == np.float64 and is_plain(matrix) and (native := library()) is not None:
        square = np.empty((n, n))
        native.reliac_unfold(n, address(matrix), address(square))
        return square
    from scipy.spatial.distance import squareform

    return np.asarray(squareform(matrix, checks=False)) if n > 1 else np.zeros((n, n), dtype=matrix.dtype)


def to_condensed(matrix: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the condensed form of square or condensed distances; what is condensed already is not copied."""
    return matrix if matrix.ndim == 1 else np.concatenate([matrix[i, i + 1 :] for i in range(n)])


def subset(matrix: NDArray[Any], n: int, objects: NDArray[np.intp]) -> NDArray[Any]:
    """Return the distances of some objects, in the form they were given."""
    if matrix.ndim == 2:
        return matrix[np.ix_(objects, objects)]
    if len(objects) > FEW and (np.diff(objects) > 0).all():  # row by row: no indices of all pairs are held
        rows = (place_of(n, objects[k : k + 1], objects[k + 1 :]) for k in range(len(objects)))
        return np.concatenate([matrix[row] for row in rows])
    p, q = pairs(len(objects))
    i, j = np.minimum(objects[p], objects[q]), np.maximum(objects[p], objects[q])
    return np.asarray(matrix[place_of(n, i, j)])
