"""linkage() by its other names in SciPy and fastcluster: a function for each criterion, and one for vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algorithm.criteria import get_criterion
from .api import CriterionName, linkage
from .errors import explain
from .input.metrics import MetricLike
from .input.misreadings import refuse_for_linkage

Matrix = NDArray[np.float64]

#: The criteria that fastcluster offers for vectors, since they need no matrix of distances.
OF_VECTORS = ("single", "ward", "centroid", "median")


def linkage_vector(
    X: Any, method: CriterionName | str = "single", metric: MetricLike = "euclidean", extraarg: Any = None
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


def single(y: Any) -> Matrix:
    """Return ``linkage(y, "single")``: clusters are as far apart as their nearest two objects."""
    return linkage(y, "single")


def complete(y: Any) -> Matrix:
    """Return ``linkage(y, "complete")``: clusters are as far apart as their farthest two objects."""
    return linkage(y, "complete")


def average(y: Any) -> Matrix:
    """Return ``linkage(y, "average")`` (UPGMA): the mean distance over all pairs of objects."""
    return linkage(y, "average")


def weighted(y: Any) -> Matrix:
    """Return ``linkage(y, "weighted")`` (WPGMA): the plain mean of the two parts' distances."""
    return linkage(y, "weighted")


def centroid(y: Any) -> Matrix:
    """Return ``linkage(y, "centroid")`` (UPGMC): the distance of the means."""
    return linkage(y, "centroid")


def median(y: Any) -> Matrix:
    """Return ``linkage(y, "median")`` (WPGMC): the distance of the means of the two parts' means."""
    return linkage(y, "median")


def ward(y: Any) -> Matrix:
    """Return ``linkage(y, "ward")``: how much joining adds to the sum of squares inside clusters.

    Examples
    --------
    >>> import reliac
    >>> reliac.ward([[0.0], [1.0], [3.0]]).round(3).tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.887, 3.0]]
    """
    return linkage(y, "ward")
