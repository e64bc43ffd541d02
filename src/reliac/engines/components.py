"""Components under ``max_distance``: objects of two different ones are farther apart than any link may be.

Where the distance of two clusters lies between the distances of their objects, no link leads from one component to
another, at any level: each can be solved by itself. It does no harm if two components are taken for one, so distances
count as within the limit that are a little above it. That covers all rounding: distances computed by another formula
than the engine's, and sums of many of them.

Squared differences: the levels of the criterion that takes the smallest distance, up to the limit, say what hangs
together, and no matrix is needed. Other distances are looked at once, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import TooManyTies
from ..algorithm.criteria import CRITERIA
from ..algorithm.links import Indices, Links, components
from ..errors import DoesNotFit
from ..input.condensed import later_distances
from ..input.metrics import between, comes_in_blocks, squares_of
from ..input.objects import Distances, Vectors, rows_of
from ..input.options import Stop
from ..input.problem import Problem
from ..machine import free_memory, in_threads, n_threads
from .choice import choose, get_engine

#: Engines that need time and memory for every pair of objects.
BY_PAIRS = ("literal", "small", "dense", "folding", "matrix", "disk")

#: Up to so many objects the whole problem is solved before components are found.
FEW = 1500

#: Components are worth it if they have at most this share of all pairs of objects.
WORTH = 0.5

#: Rows that are looked at first, evenly spaced: they tell where one component has nearly everything.
SAMPLE = 256

#: Rows that a thread looks at in one piece, at most, and numbers of a block.
ROWS, BLOCK = 256, 2**22

#: The distances of a row to later ones, for some rows one after the other: (row, distances).
LaterOnes = Callable[[Indices], Iterator[tuple[int, NDArray[Any]]]]


class _CannotCompare(Exception):
    """Some objects have no distance: the engine that meets them says so."""


def may_fall_apart(problem: Problem) -> bool:
    """Tell whether components may be solved separately, and whether that can save anything.

    Not with 0 < alpha < 1, since the share is taken of the links of all components. Nor with constraints, a tie
    tolerance, or a metric that takes something from all rows.
    """
    objects, cap = problem.objects, problem.stop.max_distance
    if problem.n_objects <= FEW or not np.isfinite(cap) or not problem.criterion.between_pairs:
        return False
    if problem.alpha not in (0.0, 1.0) or problem.tie_tolerance or problem.constraints:
        return False
    if type(objects) is Distances:
        by_pairs = problem.longest < objects.largest
    else:
        by_pairs = type(objects) is Vectors and comes_in_blocks(objects.rows, problem.metric)
    return by_pairs and _needs_all_pairs(problem)


def _needs_all_pairs(problem: Problem) -> bool:
    """Tell whether the whole problem needs a matrix, or does not fit into memory."""
    try:
        return choose(problem).engine.name in BY_PAIRS
    except DoesNotFit:
        return True


def find_components(problem: Problem, n_jobs: int | None) -> list[Indices] | None:
    """Return the objects of every component, sorted; None if solving them separately would not save much."""
    n, threads, wide = problem.n_objects, n_threads(n_jobs), _widened(problem)
    later = _later_ones(wide)
    label: NDArray[Any] = np.arange(n)
    rows = max(1, min(ROWS, BLOCK // n))
    pieces = np.split(np.arange(n), range(rows, n, rows))

    def unite(some: list[Indices], known: NDArray[Any]) -> NDArray[Any]:
        return _united(known, in_threads(lambda one: _near_pairs(later, one, known, wide.longest), some, threads))

    try:
        label = unite([np.arange(0, n, -(-n // SAMPLE))], label)
        if squares_of(problem.metric) and _worth(label):
            found = _by_smallest(wide, n_jobs)
            label, pieces = (label, pieces) if found is None else (found, [])
        for at in range(0, len(pieces), threads):
            if not _worth(label):
                return None
            label = unite(pieces[at : at + threads], label)
    except _CannotCompare:
        return None
    if not _worth(label):
        return None
    return np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])


def _widened(problem: Problem) -> Problem:
    """Return the problem with a limit that is above all distances that rounding could bring within the limit.

    A sum over n^2 pairs is off by at most n^2 roundings, a distance by one for each column and a few more.
    """
    objects = problem.objects
    columns = objects.rows.shape[1] if isinstance(objects, Vectors) else 0
    share = 2.0**-50 * (problem.n_objects**2 + columns + 8)
    if objects.matrix_type == np.float32:
        share += 2.0**-22
    return replace(problem, stop=Stop(max_distance=problem.stop.max_distance * (1.0 + share) + 1e-150))


def _worth(label: NDArray[Any]) -> bool:
    """Tell whether components as they are now have few enough of all pairs; while they grow they get more."""
    sizes = np.bincount(label).astype(np.float64)
    return bool((sizes**2).sum() <= WORTH * len(label) ** 2)


def _by_smallest(wide: Problem, n_jobs: int | None) -> NDArray[np.int32] | None:
    """Number the components by a spanning forest; None if there is no room for it, or for its ties."""
    row = next(row for row in CRITERIA.values() if row.reduction is np.minimum)
    problem, engine = replace(wide, criterion=row, alpha=1.0), get_engine("spanning")
    if engine.memory(problem) > free_memory():
        return None
    try:
        batches = list(engine(problem, n_jobs).levels(0))
    except TooManyTies:
        return None
    n, empty = problem.n_objects, np.empty(0, np.intp)
    ends = ([empty, *(getattr(batch.links, name) for batch in batches)] for name in ("p", "q"))
    p, q = map(np.concatenate, ends)
    return components(Links(p, q, np.empty(len(p))), n)


# --- looking at all pairs ---


def _later_ones(problem: Problem) -> LaterOnes:
    """Return what gives the distances of rows to all later ones, as engines compare them."""
    objects, n, metric = problem.objects, problem.n_objects, problem.compared_metric
    if isinstance(objects, Distances):
        matrix = objects.matrix.T if objects.matrix.flags.f_contiguous else objects.matrix
        return lambda some: ((i, later_distances(matrix, n, i)) for i in some.tolist())
    vectors = rows_of(objects)

    def compare(some: Indices) -> Iterator[tuple[int, NDArray[Any]]]:
        first = int(some[0])
        block = between(vectors[some], vectors[first:], metric)
        if not np.isfinite(block.sum()):
            raise _CannotCompare
        for k, i in enumerate(some.tolist()):
            yield i, block[k, i - first + 1 :]

    return compare


def _near_pairs(later: LaterOnes, some: Indices, label: NDArray[Any], limit: float) -> tuple[Indices, Indices]:
    """Return pairs of some objects and later ones within the limit, as far as they are not known to hang together."""
    known, ends = label.copy(), []
    for i, distances in later(some):
        # the limit in the type of the distances, rounded up: a limit of another type would have them converted
        most = np.nextafter(distances.dtype.type(limit), distances.dtype.type(np.inf))
        j = i + 1 + np.flatnonzero((distances <= most) & (known[i + 1 :] != known[i]))
        known[j] = known[i]
        ends.append((np.full(len(j), i), j))
    p, q = (np.concatenate(column) for column in zip(*ends, strict=True))
    return p, q


def _united(label: NDArray[Any], found: list[tuple[Indices, Indices]]) -> NDArray[Any]:
    """Return the numbers of components after pairs were found to hang together."""
    p, q = (label[np.concatenate(column)] for column in zip(*found, strict=True))
    return components(Links(p, q, np.empty(len(p))), len(label))[label] if len(p) else label
