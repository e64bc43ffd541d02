"""linkage() and its other names in SciPy and fastcluster: a function for each criterion, and one for vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algorithm.criteria import get_criterion
from .api import CriterionName, cluster
from .calls import explain_calls
from .errors import explain
from .input.condensed import count_objects
from .input.metrics import MetricLike
from .input.misreadings import refuse_for_linkage
from .input.numbers import in_one_line
from .input.options import check_switch
from .input.problem import make_problem
from .machine import check_memory
from .run.plain import linkage_of_array
from .run.solve import cluster_problem
from .run.standard import may_tie, small_linkage, turned
from .tree.levels import has_ties

Matrix = NDArray[np.float64]

#: The criteria that fastcluster offers for vectors, since they need no matrix of distances.
OF_VECTORS = ("single", "ward", "centroid", "median")

#: What the optimal ordering of n objects takes, divided by n^2: distances in three forms, and blocks of them.
BYTES_TO_ORDER = 36


@explain_calls(beside=cluster)
def linkage(
    y: Any,
    method: CriterionName | str = "single",
    metric: MetricLike = "euclidean",
    optimal_ordering: bool = False,
    *,
    preserve_input: bool = True,
) -> Matrix:
    """Return the linkage matrix of the standard strategy: a drop-in for SciPy's and fastcluster's ``linkage``.

    Parameters
    ----------
    y : (n, d) vectors, or a condensed (n(n-1)/2,) matrix of distances.
    method : "single", "complete", "average", "weighted", "centroid", "median" or "ward".
    metric : for vectors, the name of a metric or a function.
    optimal_ordering : turn clusters so that the sum of distances between neighbouring leaves is the smallest.
    preserve_input : accepted for fastcluster's sake; the input is never written to.

    Examples
    --------
    >>> import reliac
    >>> reliac.linkage([[0.0], [1.0], [3.0]], "average").tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.5, 3.0]]
    """
    del preserve_input
    row, optimal_ordering = get_criterion(method), check_switch("optimal_ordering", optimal_ordering)
    if not optimal_ordering and (matrix := linkage_of_array(y, row, metric)) is not None:
        return matrix
    refuse_for_linkage(y, metric)
    condensed = in_one_line(y)
    if optimal_ordering:
        shape = y.shape if hasattr(y, "shape") else np.shape(y)
        rows = int(shape[0]) if shape else 0  # what has no rows is refused below
        n = count_objects(rows) or 0 if condensed else rows
        check_memory(BYTES_TO_ORDER * n**2, f"The optimal ordering of {n} objects", "leave out optimal_ordering")
    problem = make_problem(y, row.name, metric="precomputed" if condensed else metric)
    matrix = small_linkage(problem)
    if matrix is None:
        by_level = row.reducible and not may_tie(problem)  # all reliable links at once: the same tree, sooner
        tree = cluster_problem(replace(problem, alpha=1.0 if by_level else 0.0))
        if by_level and has_ties(tree):  # a tie joins three at once: not what the standard strategy does
            tree = cluster_problem(replace(problem, alpha=0.0))
        matrix = tree.linkage_matrix("distance" if row.reducible else "level")
    return turned(matrix, problem.objects.condensed_distances(problem.metric)) if optimal_ordering else matrix


@explain_calls(beside=cluster)
def linkage_vector(
    X: Any,
    method: CriterionName | str = "single",
    metric: MetricLike = "euclidean",
    extraarg: Any = None,
) -> Matrix:
    """Return the linkage matrix of vectors: a drop-in for fastcluster's ``linkage_vector``.

    Parameters
    ----------
    X : (n, d) vectors; never distances.
    method : "single", "ward", "centroid" or "median", which need no matrix of distances.
    metric : for "single" any metric of :func:`reliac.cluster`; the others need "euclidean".
    extraarg : accepted for fastcluster's sake; only None.

    Examples
    --------
    >>> import reliac
    >>> reliac.linkage_vector([[0.0], [1.0], [3.0]]).tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.0, 3.0]]
    """
    name = get_criterion(method).name
    if name not in OF_VECTORS:
        allowed = ", ".join(OF_VECTORS)
        raise ValueError(explain(f"method={method!r} of vectors alone", allowed, "use reliac.linkage for all criteria"))
    if extraarg is not None:
        given = "extraarg was given, a parameter of a metric"
        raise ValueError(explain(given, "extraarg=None", "pass the metric as a function of two rows"))
    refuse_for_linkage(X, metric)
    if getattr(X, "ndim", 2) == 1 or (not hasattr(X, "shape") and np.ndim(X) == 1):
        given = "One row of numbers: a condensed matrix of distances"
        raise ValueError(explain(given, "vectors of shape (n, d)", "use reliac.linkage for distances"))
    return linkage(X, name, metric)


@explain_calls(beside=cluster)
def single(y: Any) -> Matrix:
    """Return ``linkage(y, "single")``: clusters are as far apart as their nearest two objects."""
    return linkage(y, "single")


@explain_calls(beside=cluster)
def complete(y: Any) -> Matrix:
    """Return ``linkage(y, "complete")``: clusters are as far apart as their farthest two objects."""
    return linkage(y, "complete")


@explain_calls(beside=cluster)
def average(y: Any) -> Matrix:
    """Return ``linkage(y, "average")`` (UPGMA): the mean distance over all pairs of objects."""
    return linkage(y, "average")


@explain_calls(beside=cluster)
def weighted(y: Any) -> Matrix:
    """Return ``linkage(y, "weighted")`` (WPGMA): the plain mean of the two parts' distances."""
    return linkage(y, "weighted")


@explain_calls(beside=cluster)
def centroid(y: Any) -> Matrix:
    """Return ``linkage(y, "centroid")`` (UPGMC): the distance of the means."""
    return linkage(y, "centroid")


@explain_calls(beside=cluster)
def median(y: Any) -> Matrix:
    """Return ``linkage(y, "median")`` (WPGMC): the distance of the means of the two parts' means."""
    return linkage(y, "median")


@explain_calls(beside=cluster)
def ward(y: Any) -> Matrix:
    """Return ``linkage(y, "ward")``: how much joining adds to the sum of squares inside clusters.

    Examples
    --------
    >>> import reliac
    >>> reliac.ward([[0.0], [1.0], [3.0]]).round(3).tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.887, 3.0]]
    """
    return linkage(y, "ward")
