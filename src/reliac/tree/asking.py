"""The methods of a tree that answer questions: their words for users; the answers are made in :mod:`reliac.questions`.

They are functions whose first argument is the tree. :class:`ClusterTree` names each of them as a method of its own, and
each imports what it needs when it is called, so that a tree alone stays light.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..input.metrics import MetricLike
    from .clustertree import ClusterTree, Order

# --- new rows ---


def predict(
    self: ClusterTree,
    X_new: Any,
    n_clusters: int | None = None,
    *,
    level: int | None = None,
    distance: float | None = None,
    by: Order = "distance",
    return_distance: bool = False,
    max_distance: float | None = None,
    X: Any = None,
    metric: MetricLike | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[float], None] | None = None,
) -> Any:
    """Return for every new row the cluster that it, as a single object, is nearest to; the tree stays as it is.

    The clusters are those of ``labels(n_clusters, level=..., distance=..., by=...)``, by the same numbers. The distance
    of a new row x, which counts once, to a cluster is that of the tree's criterion, as the tree shows distances:

    * single, complete, average: the smallest, the largest, the mean distance to the members, by their weights;
    * weighted: the mean in which every part of a join counts alike, so members of small parts count more: two parts
      that were joined count one half each, k parts that one step joined 1 / k, and so on down to the members;
    * centroid: the distance to the mean of the members; median: to the mean of the parts' representatives;
    * ward: sqrt(2 w / (w + 1)) times the distance to the mean of a cluster of weight w. Large clusters are a little
      farther away than small ones, up to the factor sqrt(2) from one object to many. (With metric "sqeuclidean":
      w / (w + 1) times the squared distance.)

    Of clusters that are equally near the one with the smallest label is taken. A row of the tree itself need not get
    back its own label: the cluster that it is in may not be the one that it alone is nearest to.

    Parameters
    ----------
    X_new : (m, d) array, frame or sparse matrix with the columns of the tree's rows; in a frame they are found by
        their titles where the tree's rows had titles too. For a tree of given distances, or with
        ``metric="precomputed"``, an (m, n) matrix of distances to all objects of the tree.
    n_clusters, level, distance, by : the cut, as in :meth:`labels`.
    return_distance : also return the distance to that cluster.
    max_distance : rows that are farther away than this from all clusters get the label -1.
    X : the data that the tree was made from, for a tree from a file that was saved without them.
    metric : the function, for a tree from a file that was made with one; or "precomputed".
    n_jobs : number of threads; None and -1 take all cores. The result has the same bits for any number.
    progress : True for a bar, or a function that gets the share that is done.

    Returns
    -------
    labels : (m,) array of whole numbers
    distances : (m,) array, with ``return_distance=True``

    Trees made along a graph are refused: a new row has no edges. Constraints of the tree's own objects (``must_link``,
    ``max_size``) say nothing about new ones.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [5.0], [6.5]])
    >>> tree.predict([[2.0], [4.0], [30.0]], n_clusters=2).tolist()
    [0, 1, 1]
    >>> labels, distances = tree.predict([[2.0], [30.0]], 2, return_distance=True, max_distance=10)
    >>> labels.tolist(), distances.round(2).tolist()
    ([0, -1], [1.73, 28.0])
    """
    from ..questions.partition import labels_of_one_cut
    from ..questions.predict import predict as place

    labels = labels_of_one_cut(self, n_clusters, level, distance, by)
    found, distances = place(self, X_new, labels, X, metric, max_distance, n_jobs, progress, return_distance)
    return (found, distances) if return_distance else found
