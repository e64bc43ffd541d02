"""Given distances, square or condensed: what makes them acceptable."""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NotEuclideanWarning, explain, option
from ..machine import check_memory, in_threads, n_threads
from ..native.library import address, is_plain, library
from . import condensed
from .extremes import extremes
from .numbers import MEASURE, Names, check_finite

#: Differences below this share of the largest distance are rounding.
ROUNDING = 1e-8

#: The distances of at most this many objects are looked at to tell whether points can have them. Of 14 kinds that are
#: not Euclidean (other metrics, rounded or noisy numbers) 50 of 2,000 objects told every one; 200 objects take as long
#: as all levels of 500.
OBJECTS_LOOKED_AT = 64


def check_given(data: NDArray[Any], n_jobs: int | None = None) -> tuple[NDArray[Any], float]:
    """Check square or condensed distances; return them and the largest of them.

    What rounding can explain (negative by a hair, not quite symmetric) is set right in a copy: a square matrix comes
    back symmetric with a zero diagonal.
    """
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    _check_form(data)
    threads = n_threads(n_jobs)
    low, high, even = _look_through(data, threads) if data.ndim == 2 else (*extremes(data, threads), True)
    if not math.isfinite(high - low):
        check_finite(data, next_step=MEASURE)
    slack = rounding_of(data.dtype) * max(high, -low)
    if low < -slack:
        place = tuple(int(index) for index in np.unravel_index(int(data.argmin()), data.shape))
        raise ValueError(
            explain(
                f"Negative distance {low} at {place if len(place) > 1 else place[0]}",
                "distances of at least 0",
                "turn similarities into distances, for example 1 - similarity",
            )
        )
    if data.ndim == 2:
        data = _check_square(data, slack, even)
    if low < 0:
        data = np.maximum(data, 0)
    return data, high


def _check_form(data: NDArray[Any]) -> None:
    """Refuse what is neither a square nor a condensed matrix."""
    if data.ndim == 1:
        if condensed.count_objects(len(data)) is None:
            n = (1 + math.isqrt(1 + 8 * len(data))) // 2
            raise ValueError(
                explain(
                    f"A condensed matrix of length {len(data)}",
                    f"n(n-1)/2 numbers, for example {condensed.length_of(n)} for {n} objects",
                    "check with scipy.spatial.distance.squareform",
                )
            )
    elif data.ndim != 2 or data.shape[0] != data.shape[1] or not len(data):
        raise ValueError(
            explain(
                f"{option('metric', 'precomputed')} with data of shape {data.shape}",
                "a square (n, n) or condensed (n(n-1)/2,) matrix of distances",
                f"drop {option('metric', 'precomputed')} if the rows are vectors",
            )
        )


def rounding_of(dtype: np.dtype[Any]) -> float:
    """Return the share of the largest distance that is rounding: float32 rounds more."""
    return max(ROUNDING, 16.0 * float(np.finfo(dtype).eps))


def _look_through(data: NDArray[Any], threads: int) -> tuple[float, float, bool]:
    """Return the smallest and the largest entry of a square matrix, and whether it is symmetric to the bit."""
    rows, native = data.T if data.flags.f_contiguous else data, library()
    if data.dtype == np.float64 and is_plain(rows) and native is not None:
        low, high, even = _look_in_c(native, rows, threads)
        if even:  # else what it tells may be of one half only
            return low, high, even
    return _look_tile_by_tile(data, threads)


def _look_in_c(native: Any, data: NDArray[np.float64], threads: int) -> tuple[float, float, bool]:
    n, tile = len(data), 32  # rows that are looked at together
    share = max(1, 2**18 // (n * tile)) * tile

    def look(first: int) -> tuple[float, float, bool]:
        found = np.empty(2)
        even = native.reliac_look(n, address(data), first, min(first + share, n), address(found))
        return float(found[0]), float(found[1]), bool(even)

    low, high, even = zip(*in_threads(look, range(0, n, share), threads), strict=True)
    return float(np.min(low)), float(np.max(high)), all(even)


def _look_tile_by_tile(data: NDArray[Any], threads: int) -> tuple[float, float, bool]:
    """Do without C code."""

    def look(strip: list[tuple[slice, slice]]) -> tuple[float, float, bool]:
        low, high, even = [], [], True
        for rows, columns in strip:
            tile, mirrored = data[rows, columns], data[columns, rows].T
            same = bool((tile == mirrored).all())
            low += [some.min() for some in (tile, mirrored)[: 2 - same]]
            high += [some.max() for some in (tile, mirrored)[: 2 - same]]
            even = even and same
        return np.min(low), np.max(high), even

    low, high, even = zip(*in_threads(look, _tiles(len(data)), threads), strict=True)
    return float(np.min(low)), float(np.max(high)), all(even)


def _check_square(data: NDArray[Any], slack: float, even: bool) -> NDArray[Any]:
    diagonal = data.diagonal()
    if (diagonal > slack).any():
        first = int(np.argmax(diagonal > slack))
        raise ValueError(
            explain(
                f"The distance of object {first} to itself is {diagonal[first]}",
                "a zero diagonal",
                "turn similarities into distances, or set it with numpy.fill_diagonal(D, 0)",
            )
        )
    for rows, columns in itertools.chain.from_iterable([] if even else _tiles(len(data))):
        apart = np.argwhere(np.abs(data[rows, columns] - data[columns, rows].T) > slack)
        if len(apart):
            i, j = int(apart[0, 0]) + rows.start, int(apart[0, 1]) + columns.start
            raise ValueError(
                explain(
                    f"Not symmetric: D[{i}, {j}] = {data[i, j]} but D[{j}, {i}] = {data[j, i]}",
                    "D equal to its transpose",
                    "make it so with (D + D.T) / 2",
                )
            )
    if not even or diagonal.any():  # rounding only: make it exact, in a copy
        step = "make the matrix symmetric with a zero diagonal yourself, in place"
        check_memory(2 * data.nbytes, f"A symmetric copy of the distances of {len(data)} objects", step)
        data = data / 2 + data.T / 2
        np.fill_diagonal(data, 0)
    return data


def many_are_equal(given: NDArray[Any]) -> bool:
    """Tell whether of a thousand distances, evenly spaced, more than half have been seen before."""
    sample = given.flat[np.linspace(0, given.size - 1, 1000).astype(np.int64)]
    return len(np.unique(sample)) < 500


def side_by_side(given: NDArray[Any]) -> NDArray[Any]:
    """Return the matrix with rows side by side in memory; it is symmetric, so columns will do."""
    return np.require(given.T if given.flags.f_contiguous else given, requirements=["C", "A"])


def _tiles(n: int, size: int = 512) -> list[list[tuple[slice, slice]]]:
    """Return strips of tiles, on and above the diagonal of a square matrix: two of them fit into the cache together."""
    cuts = [slice(at, at + size) for at in range(0, n, size)]
    return [[(rows, columns) for columns in cuts[k:]] for k, rows in enumerate(cuts)]


def agreeing_names(rows: Names | None, columns: Names | None) -> Names | None:
    """Return the one set of names that stands beside and above square distances; refuse two that differ."""
    if rows is None or columns is None:
        return columns if rows is None else rows
    differ = np.flatnonzero(rows != columns) if len(rows) == len(columns) else np.arange(1)
    if len(differ):
        first = int(differ[0])
        same = "in the same order" if sorted(rows) == sorted(columns) else "with the same names"
        raise ValueError(
            explain(
                f"Row {first + 1} of the distances is '{rows[first]}', column {first + 1} '{columns[first]}'",
                f"rows and columns {same}",
                "sort one like the other" if same.endswith("order") else "rename one like the other, or drop one",
            )
        )
    return rows


def note_if_not_euclidean(given: NDArray[Any], n: int, criterion: str, stacklevel: int) -> None:
    """Warn if no points can have these distances: their doubly centred squares have a negative eigenvalue.

    All distances are looked at for up to 64 objects; above that those of 64 objects, evenly spaced, so that the check
    takes a tenth of a millisecond, and matrices that fail only elsewhere pass.
    """
    objects, tolerance = _looked_at(n), max(1e-8, 100.0 * float(np.finfo(given.dtype).eps))
    if given.dtype == np.float64 and is_plain(given) and (native := library()) is not None:
        across = n if given.ndim == 2 else 0
        if native.reliac_surely_points(n, address(given), across, len(objects), address(objects), tolerance):
            return
    centred = _centred_squares(given if len(objects) == n else condensed.subset(given, n, objects), len(objects))
    if _surely_positive(centred, tolerance):
        return
    with _one_thread():  # small work, which several threads on a busy machine make slow
        eigenvalues = np.linalg.eigvalsh(centred)
    if eigenvalues[0] < -tolerance * np.abs(eigenvalues).max():
        warnings.warn(
            explain(
                f"The given distances cannot be Euclidean, and criterion {criterion!r} takes them as such: "
                "squared distances that come out negative count as 0",
                "any distances, but heights mean lengths only for Euclidean ones",
                f"use {option('criterion', 'average')} or 'complete' for distances of other kinds",
            ),
            NotEuclideanWarning,
            stacklevel=stacklevel + 1,
        )


@lru_cache(maxsize=64)
def _looked_at(n: int) -> NDArray[np.int64]:
    """Return the objects, evenly spaced, whose distances are looked at."""
    objects = np.linspace(0, n - 1, min(n, OBJECTS_LOOKED_AT)).astype(np.int64)
    objects.flags.writeable = False
    return objects


def _centred_squares(given: NDArray[Any], n: int) -> NDArray[np.float64]:
    """Return the products of points, seen from their centre, that have these distances: if all is well."""
    squares = condensed.to_square(given, n).astype(np.float64) ** 2
    centred = squares - squares.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    return np.asarray(centred / -2.0)


def _one_thread() -> Any:
    """Let BLAS use one thread inside the block. Which libraries there are is found out once: it takes a millisecond."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _surely_positive(matrix: NDArray[np.float64], tolerance: float) -> bool:
    """Tell whether no eigenvalue can be below minus ``tolerance`` times the largest; in doubt, say no.

    ``native/points.c`` does the same in a tenth of the time.

    A Cholesky factor of the matrix with half of that added to the diagonal proves it at a tenth of the cost of the
    eigenvalues. The largest eigenvalue is at least the largest entry of the diagonal.
    """
    with contextlib.suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(matrix + 0.5 * tolerance * matrix.diagonal().max() * np.eye(len(matrix)))
        return True
    return False
