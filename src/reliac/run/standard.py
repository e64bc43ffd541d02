"""The standard strategy on a few objects without ties: there SciPy's own compiled code gives the same tree, at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..input.problem import Problem

#: Above so many objects our own compiled code is worth its loading ...
MOST = 1500

#: ... and above so many, where every step of ours joins many pairs, looking for ties takes longer than an engine.
MOST_LOOKED_AT = 300


def linkage_without_ties(problem: Problem) -> NDArray[np.float64] | None:
    """Return SciPy's linkage matrix of a small problem; None if there may be ties, or if it is not a case for SciPy.

    Without ties there is one standard tree, whoever makes it; heights agree up to rounding. Ties are where strategies
    differ, and ours are settled by the order of the objects: then the matrix is made by an engine.
    """
    row, squares = problem.criterion, problem.metric == "sqeuclidean"
    most = MOST if row.reduction is np.minimum or not row.reducible else MOST_LOOKED_AT
    if not 2 < problem.n_objects <= most or (row.geometric and squares):
        return None
    distances = np.asarray(problem.objects.condensed_distances(problem.metric), np.float64)
    if row.reduction is not np.minimum and may_tie(distances, row.reduction is np.add, row.geometric):
        return None
    from scipy.cluster.hierarchy import linkage

    matrix = np.asarray(linkage(distances, row.name))
    return None if _repeat(matrix[:, 2]) else matrix


def may_tie(distances: NDArray[np.float64], summed: bool, geometric: bool) -> bool:
    """Tell whether links may be equally long: some distances are, or sums of them may be since all are whole numbers.

    ``geometric``: their squares are what is summed.
    """
    if summed and _whole(distances * distances if geometric else distances):
        return True
    return _repeat(distances)


def _whole(values: NDArray[Any]) -> bool:
    """Tell whether values are whole numbers up to rounding; most others are told by the first of them."""
    for some in (values[:16], values):
        if (np.abs(some - np.rint(some)) > 1e-9 * np.maximum(some, 1.0)).any():
            return False
    return True


def _repeat(values: NDArray[Any]) -> bool:
    """Tell whether a value occurs twice."""
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())
