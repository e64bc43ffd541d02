"""The nearest objects of all objects, from one pass over a matrix of distances, in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scanning import ROOM, SAMPLED, merge_scans, sample_rows, scan_condensed, scan_square, sort_found

#: Calls a function on pieces of work, in threads.
InThreads = Callable[[Callable[[Any], Any], Sequence[Any]], Any]

#: Rows of a square matrix that a thread takes at a time.
ROWS = 64

#: Objects whose entries a thread sorts at a time.
OBJECTS = 1024

#: Entries that each thread reads before Python is asked for Ctrl-C.
ENTRIES = 2**27


def nearest_entries(
    base: NDArray[Any], n: int, square: bool, length: int, threads: int, in_threads: InThreads
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return numbers and places (n, ``length`` + 1) of up to ``length`` smallest entries of every object, sorted.

    ``base``: a square or condensed matrix, flat. Places are -1 after the last entry found. The number in the last
    column tells how far they reach: all entries below it are there (if its own place is -1: all entries).
    """
    bound, place = np.empty((n, length + 1), base.dtype), np.empty((n, length + 1), np.int32)
    if not square:
        _nearest_condensed(base, n, bound, place, threads, in_threads)
        return bound, place

    def share(at: int) -> None:
        some = slice(at, min(at + ROWS, n))
        (found, found_place, count), (near, near_place) = _room(1, some.stop - at, base.dtype)
        scan_square(base, n, at, length + 1, found[0], found_place[0], count[0], near[0], near_place[0])
        sort_found(found, found_place, count, near[0], near_place[0], bound[some], place[some], 0, some.stop - at)

    in_threads(share, range(0, n, ROWS))
    return bound, place


def _nearest_condensed(
    base: NDArray[Any], n: int, bound: NDArray[Any], place: NDArray[np.int32], threads: int, in_threads: InThreads
) -> None:
    """Fill in the nearest from a condensed matrix: a few rounds, in each of which every thread reads as many pairs."""
    rounds, length = 1 + len(base) // (ENTRIES * threads), bound.shape[1]
    parts = rounds * threads
    cuts = [round(n * (1 - (1 - k / parts) ** 0.5)) for k in range(parts + 1)]
    (found, found_place, count), (near, near_place) = _room(threads, n, base.dtype)

    def sample(k: int) -> None:
        t = k % threads
        sample_rows(base, n, cuts[k], cuts[k + 1], near[t], near_place[t])

    def scan(k: int) -> None:
        t = k % threads
        scan_condensed(base, n, cuts[k], cuts[k + 1], length, found[t], found_place[t], count[t], limit)

    def sort(at: int) -> None:  # whole arrays are passed: parts of them would be another type to compile for
        stop = min(at + OBJECTS, n)
        sort_found(found, found_place, count, near[0], near_place[0], bound, place, at, stop)

    for start in range(0, parts, threads):
        in_threads(sample, range(start, start + threads))
    for t in range(1, threads):
        merge_scans(near[0], near_place[0], near[t], near_place[t])
    limit = near[0, :, -1].copy()
    for start in range(0, parts, threads):
        in_threads(scan, range(start, start + threads))
    in_threads(sort, range(0, n, OBJECTS))


def _room(threads: int, rows: int, kind: Any) -> tuple[tuple[NDArray[Any], ...], tuple[NDArray[Any], ...]]:
    """Return room for what threads find of rows (numbers, places, how many), and for samples (numbers, places)."""
    shape, few = (threads, rows, ROOM), (threads, rows, SAMPLED)
    found = np.empty(shape, kind), np.empty(shape, np.int32), np.zeros((threads, rows), np.int32)
    return found, (np.full(few, np.inf, kind), np.full(few, -1, np.int32))
