"""Given distances, square or condensed: what makes them acceptable, and how one form becomes the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import explain
from .tables import Names

#: Relative differences below this between a matrix and its transpose are rounding.
ROUNDING = 1e-8


def check_given(data: NDArray[Any], names: Names | None) -> tuple[NDArray[Any], Names | None, int]:
    """Check square or condensed distances; a square matrix comes back symmetric with a zero diagonal."""
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    if data.size and float(data.min()) < 0:
        place = tuple(int(index) for index in np.unravel_index(int(data.argmin()), data.shape))
        raise ValueError(
            explain(
                f"Negative distance {data.min()} at {place if len(place) > 1 else place[0]}",
                "distances of at least 0",
                "turn similarities into distances, for example 1 - similarity",
            )
        )
    if data.ndim == 1:
        n = (1 + math.isqrt(1 + 8 * len(data))) // 2
        if n * (n - 1) // 2 != len(data):
            raise ValueError(
                explain(
                    f"A condensed matrix of length {len(data)}",
                    f"n(n-1)/2 numbers, for example {n * (n - 1) // 2} for {n} objects",
                    "check with scipy.spatial.distance.squareform",
                )
            )
        return data, names, n
    if data.ndim != 2 or data.shape[0] != data.shape[1] or not len(data):
        raise ValueError(
            explain(
                f"metric='precomputed' with data of shape {data.shape}",
                "a square (n, n) or condensed (n(n-1)/2,) matrix of distances",
                "drop metric='precomputed' if the rows are vectors",
            )
        )
    return _check_square(data), names, len(data)


def _check_square(data: NDArray[Any]) -> NDArray[Any]:
    scale = float(data.max())
    diagonal = data.diagonal()
    if (diagonal > ROUNDING * scale).any():
        first = int(np.argmax(diagonal > ROUNDING * scale))
        raise ValueError(
            explain(
                f"The distance of object {first} to itself is {diagonal[first]}",
                "a zero diagonal",
                "turn similarities into distances, or set it with numpy.fill_diagonal(D, 0)",
            )
        )
    uneven = data != data.T
    if uneven.any():
        p, q = np.nonzero(uneven)
        apart = np.abs(data[p, q] - data[q, p]) > ROUNDING * np.maximum(data[p, q], data[q, p])
        if apart.any():
            i, j = int(p[apart][0]), int(q[apart][0])
            raise ValueError(
                explain(
                    f"Not symmetric: D[{i}, {j}] = {data[i, j]} but D[{j}, {i}] = {data[j, i]}",
                    "D equal to its transpose",
                    "make it so with (D + D.T) / 2",
                )
            )
    if uneven.any() or diagonal.any():  # rounding only: make it exact, in a copy
        data = data / 2 + data.T / 2
        np.fill_diagonal(data, 0)
    return data


def to_square(given: NDArray[Any], n: int) -> NDArray[Any]:
    """Return a new square matrix from square or condensed distances, in their own float type."""
    if given.ndim == 2:
        return given.copy()
    square = np.zeros((n, n), dtype=given.dtype)
    upper = np.triu_indices(n, 1)
    square[upper] = given
    square.T[upper] = given
    return square


def given_subset(given: NDArray[Any], n: int, objects: NDArray[np.intp]) -> NDArray[Any]:
    """Return the distances of some objects, in the form they were given."""
    if given.ndim == 2:
        return given[np.ix_(objects, objects)]
    p, q = np.triu_indices(len(objects), 1)
    i, j = np.minimum(objects[p], objects[q]), np.maximum(objects[p], objects[q])
    return np.asarray(given[n * i - i * (i + 1) // 2 + (j - i - 1)])
