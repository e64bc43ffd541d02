"""The methods of a tree that cut it branch by branch, or take parts of it; see :mod:`reliac.tree.asking`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..input.options import check_switch
from . import cuts, exports

if TYPE_CHECKING:
    from .clustertree import ClusterTree, Order


def branches(
    self: ClusterTree,
    by: Literal["lifetime", "inconsistency"] = "lifetime",
    *,
    min_size: int | None = None,
    threshold: float | None = None,
    depth: int | None = None,
    named: bool = False,
) -> Any:
    """Return the cluster of every object by a cut that decides in each branch for itself how deep it goes.

    Parameters
    ----------
    by : "lifetime" chooses the clusters with the largest excess of mass. Go down from the top: a cluster C is born at
        the distance where what holds it falls apart, and loses objects as parts of fewer than ``min_size`` objects fall
        off; it ends where it falls into two or more larger parts, or into none. Its excess of mass is::

            E(C) = sum over its objects x of (distance at which C is born - distance at which x leaves C)

        Of all sets of clusters that do not overlap the one with the largest sum of E is taken; where a cluster has as
        much as the best choice inside it, the cluster itself. Objects that are in none of them get -1. A whole tree is
        no choice unless nothing in it falls into two large parts; the trees of a forest are, born at the largest
        distance of all. A join counts at least as far as those below it.

        "inconsistency" keeps a join whose coefficient is at most ``threshold``, as are those of all joins below it:
        (distance - mean) / deviation of the join and the joins down to ``depth`` levels below it, itself counted
        (SciPy's ``inconsistent``, and ``fcluster`` with this criterion). Cuts at larger thresholds hold those at
        smaller ones.
    min_size : for "lifetime", the fewest objects of a cluster; 5 unless given.
    threshold, depth : for "inconsistency"; 1.0 and 2 unless given. With depth 2 no coefficient is above 1.155.
    named : return a pandas Series with the row names as its index.

    Examples
    --------
    >>> import reliac
    >>> near, wide, alone = [[0.0], [0.1], [0.2], [0.4]], [[20.0], [22.0], [23.0], [27.0]], [[60.0]]
    >>> tree = reliac.cluster(near + wide + alone, "average")
    >>> tree.branches(min_size=3).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, -1]
    >>> tree.branches("inconsistency", threshold=1.1).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 2]
    """
    from ..questions.branches import branches as found

    labels = found(self, by, min_size=min_size, threshold=threshold, depth=depth)
    return exports.named_labels(self, labels) if check_switch("named", named) else labels


def subtree(
    self: ClusterTree,
    cluster: int,
    n_clusters: int | None = None,
    *,
    level: int | None = None,
    distance: float | None = None,
    by: Order = "distance",
) -> ClusterTree:
    """Return the tree of one cluster: a tree of its own, with the objects of that cluster only.

    Parameters
    ----------
    cluster : its number in ``labels()`` of the same cut.
    n_clusters, level, distance, by : the cut, as in :meth:`labels`; without one the trees of a forest are the clusters.

    The links are those of the whole tree, with the same distances. Levels are numbered anew from 1, without the numbers
    of steps that joined nothing in this cluster; steps that were one stay one, and their order stays. ``objects`` has
    the row numbers in the input, and where the tree holds its data the part holds those of its objects.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [2.5], [9.0], [10.0], [30.0]], "single")
    >>> part = tree.subtree(1, n_clusters=3)
    >>> part.objects.tolist(), part.links["distance"].tolist()
    ([3, 4], [1.0])
    """
    from ..questions.parts import subtree as found

    return found(self, cluster, cuts.asked_cut(n_clusters, level, distance), by)


def path(self: ClusterTree, object: int | str) -> NDArray[np.void]:
    """Return the links on the way from an object to the root, the first join first.

    Parameters
    ----------
    object : its number, or its name.

    Returns
    -------
    A structured array: ``node``, the number of the cluster that a link makes, and the fields of ``links``. Empty for an
    object that joins nothing.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [2.5], [9.0], [10.0], [30.0]], "single")
    >>> steps = tree.path(2)
    >>> steps["distance"].tolist(), steps["size"].tolist()
    ([1.5, 6.5, 20.0], [3, 5, 6])
    """
    from ..questions.parts import path as found

    return found(self, object)


def siblings(
    self: ClusterTree,
    cluster: int,
    n_clusters: int | None = None,
    *,
    level: int | None = None,
    distance: float | None = None,
    by: Order = "distance",
) -> NDArray[np.intp]:
    """Return the clusters of a cut that come together with one of them in its next join, by their numbers.

    One if the cluster joins another of the same cut; several where a tie joins them at once, or where they have become
    one before that join; none for a whole tree.

    Parameters
    ----------
    cluster : its number in ``labels()`` of the same cut.
    n_clusters, level, distance, by : the cut, as in :meth:`labels`.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [2.5], [9.0], [10.0], [30.0]], "single")
    >>> tree.siblings(2, n_clusters=3).tolist()  # the last object joins all the others
    [0, 1]
    """
    from ..questions.parts import siblings as found

    return found(self, cluster, cuts.asked_cut(n_clusters, level, distance), by)
