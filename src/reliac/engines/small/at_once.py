"""Small problems: all levels at once, in C, where the package was built with a C compiler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.criteria import Criterion, two_alike
from ...algorithm.links import Links
from ...input.problem import Problem
from ...native.library import address, library

#: What a run takes for every pair of objects, at most: the table, and while it is made or contracted two more.
BYTES_OF_A_PAIR = 24

#: More objects than this are left to code that tells how far it is, and stops on Ctrl-C.
MOST_OBJECTS = 5000


def can_do(problem: Problem) -> bool:
    """Tell whether a problem is one for the library, and it is there."""
    if problem.alpha not in (0.0, 1.0) or problem.tie_tolerance or not 2 <= problem.n_objects <= MOST_OBJECTS:
        return False
    return library() is not None


def meaning_of(criterion: Criterion) -> tuple[bool, bool, bool, float, float]:
    """Return what C code has to know of a criterion: see ``native/criterion.h``."""
    factor, joint = two_alike() if criterion.equal_parts else (1.0, 0.0)
    return criterion.reduction is np.add, criterion.offset, criterion.by_size, factor, joint


def levels_of_table(
    problem: Problem,
    stored: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    level: int = 0,
) -> Batch | None:
    """Run all levels of a table of stored numbers, which is overwritten; None if ties are left to NumPy.

    ``weight``: of the clusters that the table is of, after so many levels; links go by their places.
    """
    n, stop = len(stored), problem.stop
    links, distance = np.empty((3, n), np.int64), np.empty(n)
    if weight is None:
        weight = np.ones(n) if problem.criterion.equal_parts else problem.weights.copy()
    count = library().reliac_levels(
        *(n, address(stored), address(weight), *meaning_of(problem.criterion)),
        *(problem.alpha == 0.0, True, stop.n_clusters, stop.max_level - level, problem.longest),
        *(address(links), address(distance)),
    )
    if count < 0:
        return None
    levels, p, q = links[:, :count]
    return Batch(levels + level, Links(p, q, distance[:count]), None)


def levels_of_edges(problem: Problem, distances: NDArray[np.float64]) -> Batch | None:
    """Run all levels by the smallest distance, given all distances, condensed; None if something was tied."""
    n, stop = problem.n_objects, problem.stop
    found, distance = np.empty((5, n), np.int64), np.empty(n)
    count = library().reliac_single(
        *(n, address(distances), problem.alpha == 0.0, n - stop.n_clusters, stop.max_level, problem.longest),
        *(address(found), address(distance)),
    )
    if count < 0:
        return None
    level, p, q = found[:3, :count]
    return Batch(level, Links(p, q, distance[:count]), found[3:, :count].T)
