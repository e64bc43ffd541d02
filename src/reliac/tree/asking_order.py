"""The methods of a tree that order its leaves, and that compare it with another tree; see :mod:`reliac.tree.asking`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..input.metrics import MetricLike
    from ..questions.agreement import TreeAgreement
    from .clustertree import ClusterTree


def order_leaves(
    self: ClusterTree,
    X: Any = None,
    *,
    metric: MetricLike | None = None,
    how: Literal["auto", "optimal", "quick"] = "auto",
    n_jobs: int | None = None,
) -> NDArray[np.intp]:
    """Return the objects in an order in which neighbours are near each other, and every cluster is contiguous.

    Any join may show its two parts in either order. ``leaf_order`` goes by the first object of each part; this one
    makes the sum of the distances between neighbours small.

    Parameters
    ----------
    X : the objects, in the order of the tree: rows, or with ``metric="precomputed"`` distances. Needed for a tree that
        comes from a file, or was made from a graph. Other data of the same objects are welcome.
    metric : None takes that of the tree.
    how : "optimal": the sum is the smallest that there is. It needs the distances of all pairs, and time that grows
        with the cube of n. "quick": of every cluster the eight shortest arrangements with different ends are kept; time
        and memory grow with n, and the sum is usually within a percent of the smallest. "auto" is optimal up to 5,000
        objects.
    n_jobs : number of threads; None and -1 take all cores. The result has the same bits for any number.

    The trees of a forest come in the order of ``labels()``. A tie of several clusters is a chain of joins here, in the
    order of their first objects, and only the parts of those joins change places.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [6.0], [1.0], [5.0]], "single")
    >>> tree.leaf_order.tolist()
    [0, 2, 1, 3]
    >>> tree.order_leaves().tolist()
    [0, 2, 3, 1]
    """
    from ..questions.ordering import order_leaves

    return order_leaves(self, X, metric, how, n_jobs)


def cophenetic_correlation(
    self: ClusterTree, X: Any = None, *, metric: MetricLike | None = None, seed: int = 0
) -> float:
    """Return how well the tree keeps distances: the correlation of those of all pairs with their cophenetic ones.

    1 is a tree whose joins are as far as the objects are; single trees have low values where clusters are long.

    Parameters
    ----------
    X : the objects, in the order of the tree: rows, or with ``metric="precomputed"`` distances. Needed for a tree that
        comes from a file, or was made from a graph.
    metric : None takes that of the tree.
    seed : for more than 3,000 objects two million pairs are taken by chance (20,000 objects with 100 others each, or
        all objects); the same seed takes the same.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [5.0]], "average")
    >>> round(tree.cophenetic_correlation(), 4)
    0.9707
    """
    from ..questions.cophenetic import correlate_with_objects

    return correlate_with_objects(self, X, metric, seed)


def agreement(self: ClusterTree, other: ClusterTree, *, exponent: float = 1.5, seed: int = 0) -> TreeAgreement:
    """Return how far this tree and another one of the same objects agree.

    Objects are matched by their names where both trees have names that are all different, else by their rows.
    (``reliac compare`` is something else: it makes several trees of one table, and compares one cut of them.)

    Parameters
    ----------
    other : a tree of the same objects, by another criterion, metric or data.
    exponent : of the entanglement.
    seed : for more than 3,000 objects the cophenetic correlation takes two million pairs by chance.

    Returns
    -------
    TreeAgreement
        ``cophenetic``: correlation of the distances at which pairs of objects come together; NaN for forests.

        ``fowlkes_mallows``: for every K in ``n_clusters``, from the fewest that both trees have to n, how far
        ``labels(K)`` of both agree, 0 to 1; pairs that both put together, divided by the geometric mean of those that
        each puts together. As ``sklearn.metrics.fowlkes_mallows_score``, for all K in O(n log n).

        ``robinson_foulds``: how many clusters are in one of the trees only, and ``robinson_foulds_share`` of the
        clusters of both, 0 to 1. A tie is one cluster. Single objects and a cluster of all objects do not count.

        ``entanglement``: how tangled the lines between equal leaves are when the trees face each other, 0 (none
        cross) to 1, as in dendextend. ``orders``: the leaves of both trees, turned so that it is small.

    Examples
    --------
    >>> import reliac
    >>> X = [[0.0], [1.0], [2.5], [6.0], [7.0]]
    >>> found = reliac.cluster(X, "single").agreement(reliac.cluster(X, "complete"))
    >>> found.robinson_foulds, found.entanglement
    (0, 0.0)
    >>> dict(zip(found.n_clusters.tolist(), found.fowlkes_mallows.tolist()))
    {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 0.0}
    """
    from ..questions.agreement import agreement

    return agreement(self, other, exponent, seed)


def plot_tanglegram(
    self: ClusterTree,
    other: ClusterTree,
    ax: Any = None,
    *,
    orders: tuple[Any, Any] | None = None,
    color_clusters: int | None = None,
    titles: tuple[str, str] | None = None,
) -> Any:
    """Draw this tree and another one of the same objects face to face, with a line from every object to itself.

    Parameters
    ----------
    other : a tree of the same objects, matched as in :meth:`agreement`; up to 2,000.
    ax : where to draw; None makes a figure.
    orders : the leaves of both trees from top to bottom; None turns them so that few lines cross.
    color_clusters : colour lines and branches by the clusters of ``labels(color_clusters)`` of this tree.
    titles : what to write above the trees; None writes criterion and metric.
    """
    from ..plots.tanglegram import plot_tanglegram

    return plot_tanglegram(self, other, ax, orders=orders, color_clusters=color_clusters, titles=titles)
