"""The methods of a tree for more data, or less; see :mod:`reliac.tree.asking`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..input.metrics import MetricLike
    from ..run.history import Progress
    from .clustertree import ClusterTree


def extend(
    self: ClusterTree,
    X_new: Any,
    *,
    weights: Any = None,
    names: Any = None,
    X: Any = None,
    metric: MetricLike | None = None,
    n_clusters: int | None = None,
    max_level: int | None = None,
    max_distance: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Literal["json"] | Callable[[Progress], None] | None = None,
) -> ClusterTree:
    """Return the tree of more rows: those of this tree first, then the new ones.

    It is the tree of ``reliac.cluster`` on all rows with the options of this tree, bit for bit. After a run with
    ``keep_lists=True`` by the vectors engine a few rows more take a fraction of a fresh run, since most of what its
    searches found is still true; the tree that is returned keeps its own lists. Any other tree is made by a fresh run.
    ``reason`` says which it was.

    Parameters
    ----------
    X_new : (m, d) rows with the columns of the tree's rows, in a frame by their titles where the tree's rows had titles
        too. For a tree of given distances (m, n + m): for each new object its distances to the n objects of the tree,
        then to the m new ones.
    weights : how often each new row counts; once if left out.
    names : a text for every new row; needed where the tree has names, unless a frame brings them.
    X, metric : the data, for a tree from a file that was saved without them, and the function, if it was made with one.
    n_clusters, max_level, max_distance : where to stop, instead of where the run of this tree was to stop. A tree from
        a file does not know that: give it again.
    n_jobs, progress : as in :func:`reliac.cluster`.

    Rows that were scaled before they were compared (``reliac cluster --standardize``) stay as they are, and new rows
    are scaled by the same numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import reliac
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> tree = reliac.cluster(X[:190], "ward", engine="vectors", keep_lists=True)
    >>> more = tree.extend(X[190:])
    >>> np.array_equal(more.links, reliac.cluster(X, "ward", engine="vectors").links)
    True
    >>> more.reason
    'asked for; 10 rows more: helped by lists that were kept'
    """
    from ..questions.extending import extend as extended

    rules = (n_clusters, max_level, max_distance)
    return extended(self, X_new, weights, names, (X, metric), rules, n_jobs, progress)


def without(
    self: ClusterTree,
    rows: Any,
    *,
    X: Any = None,
    metric: MetricLike | None = None,
    n_clusters: int | None = None,
    max_level: int | None = None,
    max_distance: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Literal["json"] | Callable[[Progress], None] | None = None,
) -> ClusterTree:
    """Return the tree of fewer rows: those that stay, in their order, with numbers from 0.

    It is the tree of ``reliac.cluster`` on these rows with the options of this tree, bit for bit; of constraints those
    among rows that stay. What it costs is said at :meth:`extend`.

    Parameters
    ----------
    rows : the rows that go: their numbers or names, one or several, or an array with True for each of them.
    X, metric, n_clusters, max_level, max_distance, n_jobs, progress : as in :meth:`extend`.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> tree.without([4]).cluster_counts.tolist()
    [4, 2, 1]
    """
    from ..questions.extending import without as reduced

    return reduced(self, rows, (X, metric), (n_clusters, max_level, max_distance), n_jobs, progress)
