"""Equal rows: who they are, and the links that they have. They need no search, and where there are many, none will do.

k equal rows have k(k-1)/2 links of distance 0, all tied. Engines that keep links in lists would run out of room, so
they let the first of equal rows stand for all of them, and join the others to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.links import Links
from ..input.objects import rows_of
from ..input.problem import Problem

#: A difference whose square is a normal number, with room for what it may be divided by.
SMALLEST_GAP = 1e-140

#: Rows that are looked at first to see whether rows repeat.
ROWS_LOOKED_AT = 1000


def find_twins(vectors: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return for each row the first row equal to it; None if no row repeats.

    Equal rows have equal projections, so one sort of n numbers tells almost always. O(n d + n log n).
    """
    n, d = vectors.shape
    direction = np.random.default_rng(0).uniform(1.0, 2.0, size=(d,))
    projection: NDArray[np.float64] = np.zeros(n)
    for k in range(d):  # column by column: the same operations for every row, whatever BLAS would do
        projection += vectors[:, k] * direction[k]
    values = np.sort(projection)
    if not (values[1:] == values[:-1]).any():
        return None
    order = np.argsort(projection, kind="stable")
    ordered = vectors[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    if ((projection[order[1:]] == projection[order[:-1]]) & ~same).any():  # different rows, same projection
        order = np.lexsort(vectors.T[::-1])
        ordered = vectors[order]
        same = (ordered[1:] == ordered[:-1]).all(axis=1)
    if not same.any():
        return None
    starts = np.r_[True, ~same]
    first = np.empty(n, np.int64)
    first[order] = order[starts][np.cumsum(starts) - 1]  # both sorts are stable: the first of a run is the smallest
    return first


def differences_vanish(vectors: NDArray[Any], first: NDArray[np.int64]) -> bool:
    """Tell whether rows may be different and yet at distance 0: by differences whose squares are too small to be told.

    ``first``: for each row the first equal to it, as :func:`find_twins` returns. O(n d log n), seldom asked for.
    """
    gaps = np.diff(np.sort(vectors[np.unique(first)], axis=0), axis=0)
    return bool(((gaps > 0.0) & (gaps < SMALLEST_GAP)).any())


def often_repeated(vectors: NDArray[Any], times: int) -> NDArray[np.int64] | None:
    """Return for each row the first row equal to it, if some row is there more than so many times.

    None also if evenly spaced rows are all different: then rows do not repeat that often. And None if different rows
    may be at distance 0 too.
    """
    n = len(vectors)
    if n > ROWS_LOOKED_AT and find_twins(vectors[np.linspace(0, n - 1, ROWS_LOOKED_AT).astype(np.int64)]) is None:
        return None
    first = find_twins(vectors)
    if first is None or np.bincount(first).max() <= times or differences_vanish(vectors, first):
        return None
    return first


def first_links(problem: Problem) -> Links:
    """Return the links of equal rows where they are the first of a run that takes one link at a time; else none.

    They are the smallest, and ties are taken by the smaller and the larger index: the first of equal rows joins all
    others, one by one, before the next that has any does so.
    """
    none = Links(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    if problem.alpha > 0.0 or problem.constraints or not problem.objects.are_points(problem.metric):
        return none
    if problem.criterion.reduction is np.minimum or problem.tie_tolerance or (problem.weights != 1.0).any():
        return none
    rows, stop = rows_of(problem.objects), problem.stop
    first = find_twins(rows)
    if first is None or differences_vanish(rows, first):
        return none
    others = np.argsort(first, kind="stable")
    others = others[first[others] != others][: int(min(problem.n_objects - stop.n_clusters, stop.max_level))]
    return Links(first[others], others, np.zeros(len(others)))
