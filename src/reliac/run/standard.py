"""Linkage matrices of the standard strategy.

On a few objects our C code gives the matrix at once, and a tree need not be made. Where the package was built without
it SciPy's own compiled code gives the same tree if nothing is tied. The order of the leaves is ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import Criterion
from ..engines.choice import NOT_WORTH_LOADING
from ..engines.small.at_once import meaning_of
from ..input.condensed import count_objects
from ..input.distances import note_if_not_euclidean
from ..input.misreadings import refuse_edges
from ..input.problem import Problem
from ..native.library import address, is_plain, library
from ..tree.building import make_links
from ..tree.clustertree import ClusterTree

#: Of more objects so many are looked at for distances that occur twice ...
OBJECTS_LOOKED_AT = 64

#: ... of which float32 has as many by chance.
BY_CHANCE = 4


def linkage_of_array(y: Any, criterion: Criterion, metric: object) -> NDArray[np.float64] | None:
    """Return the linkage matrix of a few vectors, or condensed distances, in a plain array: one call of C code.

    None for all that is not plain, or has to be complained about: a problem is made of it.
    """
    if type(y) is not np.ndarray or y.dtype != np.float64 or not is_plain(y) or library() is None:
        return None
    if y.ndim == 1:
        n, columns = count_objects(len(y)) or 0, 0
    elif y.ndim == 2 and y.size and isinstance(metric, str) and metric == "euclidean":
        n, columns = y.shape
    else:
        return None
    if not 2 < n <= NOT_WORTH_LOADING or n == columns:  # that may be a square matrix of distances
        return None
    refuse_edges(y)
    by_squares = criterion.by_squares if columns else criterion.geometric
    matrix = _in_c(n, y, columns, criterion, by_squares, by_squares)
    if matrix is not None and criterion.geometric and not columns:
        note_if_not_euclidean(y, n, criterion.name, stacklevel=3)
    return matrix


def small_linkage(problem: Problem) -> NDArray[np.float64] | None:
    """Return the linkage matrix of a small problem; None where an engine has to make it, one link at a time.

    Without ties there is one standard tree, whoever makes it; heights agree up to rounding. Ties are where strategies
    differ, and ours are settled by the order of the objects.
    """
    if not 2 < problem.n_objects <= NOT_WORTH_LOADING:
        return None
    if library() is None:
        return _by_scipy(problem)
    distances = np.require(problem.condensed_distances(), np.float64, ["C", "A"])
    squared = problem.criterion.geometric and problem.metric == "precomputed"
    return _in_c(problem.n_objects, distances, 0, problem.criterion, squared, problem.rooted)


def _in_c(
    n: int, given: NDArray[np.float64], columns: int, criterion: Criterion, squared: bool, rooted: bool
) -> NDArray[np.float64] | None:
    """Let C code make the matrix: of rows with so many columns, or of condensed distances. None if it cannot."""
    matrix = np.empty((n - 1, 4))
    found = library().reliac_linkage(
        *(n, columns, address(given), squared, criterion.height_factor if rooted else 0.0),
        *(criterion.reduction is np.minimum, criterion.reducible, *meaning_of(criterion), address(matrix)),
    )
    return matrix if found == n - 1 else None


def _by_scipy(problem: Problem) -> NDArray[np.float64] | None:
    """Return SciPy's matrix, after a look for ties."""
    row, squares = problem.criterion, problem.metric == "sqeuclidean"
    if row.geometric and squares:
        return None
    distances = np.asarray(problem.objects.condensed_distances(problem.metric), np.float64)
    if row.reduction is not np.minimum and distances_tie(distances, row.reduction is np.add, row.geometric):
        return None
    from scipy.cluster.hierarchy import linkage

    matrix = np.asarray(linkage(distances, row.name))
    return None if _repeats(matrix[:, 2]) else matrix


def may_tie(problem: Problem) -> bool:
    """Tell whether ties are likely, in a problem of which :func:`small_linkage` has made no matrix.

    Ties may decide a tree without joining three clusters at once. Of a few objects they are the reason that there is no
    matrix. Of many objects some are looked at: rounded or whole numbers have distances that occur twice.
    """
    n = problem.n_objects
    if n <= NOT_WORTH_LOADING:
        return True
    some = problem.objects.subset(np.linspace(0, n - 1, OBJECTS_LOOKED_AT).astype(np.intp))
    distances = some.condensed_distances(problem.metric)
    by_chance = BY_CHANCE if "float32" in problem.objects.number_type else 0
    return _repeats(distances[distances > 0.0]) > by_chance


def distances_tie(distances: NDArray[np.float64], summed: bool, geometric: bool) -> bool:
    """Tell whether links may be equally long: some distances are, or sums of them may be since all are whole numbers.

    ``geometric``: their squares are what is summed.
    """
    if summed and _whole(distances * distances if geometric else distances):
        return True
    return _repeats(distances) > 0


def _whole(values: NDArray[Any]) -> bool:
    """Tell whether values are whole numbers up to rounding; most others are told by the first of them."""
    for some in (values[:16], values):
        if (np.abs(some - np.rint(some)) > 1e-9 * np.maximum(some, 1.0)).any():
            return False
    return True


def _repeats(values: NDArray[Any]) -> int:
    """Count how often a value occurs again."""
    ordered = np.sort(values)
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def turned(matrix: NDArray[np.float64], distances: NDArray[Any]) -> NDArray[np.float64]:
    """Return a linkage matrix with the parts of its rows turned so that leaves are in the optimal order.

    ``distances``: of all pairs, condensed. Of two optimal orders, one of which is the other backwards, the one in which
    object 0 comes before the last object.
    """
    n = len(matrix) + 1
    if n == 1:
        return matrix
    ends, first = matrix[:, :2].astype(np.intp).tolist(), list(range(n))
    for left, _ in ends:
        first.append(first[left])
    p, q = (np.array([first[row[side]] for row in ends], np.intp) for side in (0, 1))
    links = make_links(n, p, q, matrix[:, 2], np.arange(1, n))
    tree = ClusterTree(n, links, np.arange(n), np.ones(n))
    order = tree.order_leaves(distances, metric="precomputed", how="optimal")
    place = np.argsort(order)
    begin = (place if place[0] <= place[-1] else n - 1 - place).tolist()
    for row in ends:
        row.sort(key=begin.__getitem__)
        begin.append(begin[row[0]])
    return np.column_stack((np.array(ends, np.float64).reshape(-1, 2), matrix[:, 2:]))
