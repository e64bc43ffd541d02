"""Methods of a tree: who is typical of its clusters, and what each of them is like (see :mod:`reliac.tree.asking`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..input.options import check_switch

if TYPE_CHECKING:
    from ..input.metrics import MetricLike
    from .clustertree import ClusterTree, Order


def medoids(
    self: ClusterTree,
    n_clusters: int | None = None,
    *,
    level: int | None = None,
    distance: float | None = None,
    by: Order = "distance",
    exact: bool = False,
    named: bool = False,
    X: Any = None,
    metric: MetricLike | None = None,
) -> NDArray[Any]:
    """Return the most typical object of every cluster, in the order of the labels.

    With metric "euclidean", "sqeuclidean" or "cosine" it is the member nearest to the mean of the cluster (for cosine
    of directions); one pass over the rows. For "sqeuclidean" and "cosine" it is also the member whose distances to the
    others have the smallest sum. With every other metric, with given distances, and with ``exact=True``, the smallest
    sum is looked for; that takes all distances inside the clusters. Weights count. Of equally typical members it is the
    first. Examples are in :meth:`exemplars`.

    Parameters
    ----------
    n_clusters, level, distance, by : the cut, as in :meth:`labels`.
    exact : the smallest sum of distances, for metric "euclidean" too.
    named : return the names of the objects.
    X, metric : the data that the tree was made from, and the function that compared them, for a tree from a file that
        was saved without (``save(path, data=True)`` keeps the data).
    """
    from ..questions.partition import labels_of_one_cut
    from ..questions.typical import typical_members

    labels = labels_of_one_cut(self, n_clusters, level, distance, by)
    found = np.concatenate(typical_members(self, labels, 1, exact, X, metric, "medoids({})"))
    return self.object_names[found] if check_switch("named", named) else found


def exemplars(
    self: ClusterTree,
    k: int = 5,
    n_clusters: int | None = None,
    *,
    level: int | None = None,
    distance: float | None = None,
    by: Order = "distance",
    exact: bool = False,
    named: bool = False,
    X: Any = None,
    metric: MetricLike | None = None,
) -> list[NDArray[Any]]:
    """Return the k most typical objects of every cluster, the most typical first; all of a smaller cluster.

    The first of them is the medoid, and the others follow by what makes it one: see :meth:`medoids`, which has the same
    options.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [1.8], [3.0], [20.0], [21.0]])
    >>> tree.medoids(2).tolist()
    [2, 4]
    >>> [members.tolist() for members in tree.exemplars(3, 2)]
    [[2, 1, 0], [4, 5]]
    """
    from ..input.options import check_count
    from ..questions.partition import labels_of_one_cut
    from ..questions.typical import typical_members

    count = check_count("k", k, 1, np.inf, "give the number of members to show")
    labels = labels_of_one_cut(self, n_clusters, level, distance, by)
    found = typical_members(self, labels, count, exact, X, metric, "exemplars(k, {})")
    return [self.object_names[members] for members in found] if check_switch("named", named) else found


def summary(
    self: ClusterTree,
    n_clusters: int | None = None,
    *,
    level: int | None = None,
    distance: float | None = None,
    by: Order = "distance",
    classes: Sequence[Any] | NDArray[Any] | None = None,
    features: int = 3,
    exact: bool = False,
    X: Any = None,
    metric: MetricLike | None = None,
) -> Any:
    """Return a pandas frame with one row per cluster, in the order of the labels.

    ========================== =========================================================================================
    column                     what it says
    ========================== =========================================================================================
    size, weight               number of objects; sum of their weights, where these are not all 1
    birth_level, end_level     the level that made the cluster (0: an object), and the one that joins it to another;
                               n_levels + 1 if none does
    birth_distance,            the distances of these two joins, none below those under it; the end is infinitely far
    end_distance, lifetime     if it never comes. Their difference
    medoid, medoid_name        its most typical object (:meth:`medoids`): number and name
    spread                     mean distance of its members to the medoid, by weights
    feature_1, difference_1,   the columns in which it differs most from all other objects: the difference of the two
    ...                        means, divided by the standard deviation inside the two (pooled, by weights)
    class ...                  how many of its objects are of each class
    ========================== =========================================================================================

    Medoids, spreads and features need the data. They are left out for a tree from a file that does not hold these,
    features also where there are no columns of numbers (given distances, metric "gower"). One pass over the rows,
    unless medoids take all distances.

    Parameters
    ----------
    n_clusters, level, distance, by : the cut, as in :meth:`labels`.
    classes : known classes of the objects, one each.
    features : how many features to show; 0 for none.
    exact, X, metric : as in :meth:`medoids`.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0, 5.0], [1.0, 4.0], [1.8, 5.0], [20.0, 5.0], [21.0, 4.0]])
    >>> table = tree.summary(2, features=1, classes=["a", "a", "b", "b", "b"])
    >>> table[["size", "birth_level", "end_level", "medoid", "feature_1", "class a", "class b"]].values.tolist()
    [[3, 2, 3, 1, '0', 2, 1], [2, 1, 3, 3, '0', 0, 2]]
    """
    from ..errors import need
    from ..questions.partition import labels_of_one_cut
    from ..questions.summary import summary_columns

    pandas = need("pandas", "frames")
    labels = labels_of_one_cut(self, n_clusters, level, distance, by)
    columns = summary_columns(self, labels, classes, features, exact, X, metric)
    return pandas.DataFrame(columns).rename_axis("cluster")
