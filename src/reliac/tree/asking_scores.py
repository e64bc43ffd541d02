"""The methods of a tree that tell how many clusters there are; see :mod:`reliac.tree.asking`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..input.metrics import MetricLike
    from ..questions.suggestion import Suggestion
    from ..run.history import Progress
    from .clustertree import ClusterTree, Order


def scores(
    self: ClusterTree,
    X: Any = None,
    n_clusters: int | Iterable[int] | None = None,
    *,
    metric: MetricLike | None = None,
    by: Order = "distance",
    silhouette: Literal["auto", "exact", "sampled", "none"] = "auto",
    sample: int = 1000,
    seed: int = 0,
) -> Any:
    """Return scores of the cuts into many numbers of clusters, computed along the tree and not cut by cut.

    Parameters
    ----------
    X : the rows of the tree's objects, in their order; None takes what the tree was made from. Distances with
        ``metric="precomputed"``.
    n_clusters : the numbers of clusters, such as ``range(2, 51)``; None takes 2 to 20.
    metric : by which silhouettes compare; None takes the tree's own. The other scores are Euclidean.
    by : the cuts, as in :meth:`labels`.
    silhouette : "auto" is exact up to 10,000 objects, and for given distances; beyond, the exact silhouettes of
        ``sample`` objects are averaged, picked by ``seed``.

    Returns
    -------
    A pandas DataFrame with a row for every number of clusters; ``attrs`` says how silhouettes were computed, and why
    columns are absent. A number is NaN where a score is not defined (one cluster, or as many as objects).

    ======================  ============================================================================================
    within, between         sums of squared distances to the means of the clusters, and of these to the mean of all
    calinski_harabasz       (between / (K - 1)) / (within / (n - K)); large is good; infinite where within is 0
    davies_bouldin          mean over clusters of the largest (spread + spread) / distance of means; small is good
    silhouette              mean of (b - a) / max(a, b): a the mean distance to the object's own cluster, b to the
                            nearest other; ``silhouette_error`` is the standard error of a sample
    simplified_silhouette   the same with the distances to the means of the clusters, of all objects
    distance, gap           the distance of the next join, and how far it is above the last one that is kept
    level_lifetime          how many levels the clusters live, from the step that makes one to the one that joins it
                            with others; mean over objects
    ======================  ============================================================================================

    They equal scikit-learn's. A row of weight w counts as w equal rows, which is what scikit-learn would be given;
    levels and gaps take no weights. Given distances have no means, so there silhouettes are the only score besides
    those of the tree alone, and a graph has only the latter.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [10.0], [11.5], [30.0], [31.0]])
    >>> found = tree.scores(n_clusters=[2, 3, 4])
    >>> found["silhouette"].round(3).tolist()
    [0.783, 0.901, 0.614]
    >>> found.attrs["silhouette"]
    'exact, by euclidean'
    """
    from ..questions.scores import measured, score_table

    options: dict[str, Any] = {"by": by, "silhouette": silhouette, "sample": sample, "seed": seed}
    return score_table(self, measured(self, X, metric), n_clusters, **options).frame()


def stability(
    self: ClusterTree,
    X: Any = None,
    n_clusters: int | Iterable[int] | None = None,
    *,
    share: float = 0.8,
    repeats: int = 20,
    seed: int = 0,
    metric: MetricLike | None = None,
    by: Order = "distance",
    n_jobs: int | None = None,
    progress: bool | Literal["json"] | Callable[[Progress], None] | None = None,
) -> Any:
    """Return how far cuts stay the same when some of the objects are left out.

    Random parts of the objects are clustered as the whole was, their trees are cut into as many clusters, and these are
    compared with the tree's own clusters by the adjusted Rand index (1 equal, 0 as by chance) on the objects of the
    part.

    Parameters
    ----------
    X, metric : only for a tree that does not hold its data; other data is refused.
    n_clusters : the numbers of clusters; None takes 2 to 20.
    share : the share of the objects in each part.
    repeats : how many parts.
    seed : what the parts follow from; the same seed gives the same numbers.
    by : the cuts, as in :meth:`labels`.
    n_jobs, progress : as in :func:`reliac.cluster`; progress counts parts.

    Returns
    -------
    A pandas DataFrame with a row for every number of clusters: mean (``stability``), standard deviation and smallest
    value over the parts. A part that has no such cut does not count.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [1.5], [10.0], [11.0], [11.5], [12.0]])
    >>> tree.stability(n_clusters=2, repeats=5)["stability"].tolist()
    [1.0]
    """
    from ..questions.stability import stability_table

    how: dict[str, Any] = {"share": share, "repeats": repeats, "seed": seed, "by": by}
    return stability_table(self, (X, metric), n_clusters, n_jobs=n_jobs, progress=progress, **how).frame()


def suggest(
    self: ClusterTree,
    X: Any = None,
    n_clusters: Iterable[int] | None = None,
    *,
    repeats: int = 0,
    metric: MetricLike | None = None,
    by: Order = "distance",
    sample: int = 1000,
    seed: int = 0,
) -> Suggestion:
    """Suggest a number of clusters, with the reason, the next best number, and what speaks against it.

    Four scores have a say: silhouette, Calinski-Harabasz, Davies-Bouldin, and the distance gap as a share of the
    distance of the next join; with ``repeats`` stability too. The number that most of them are best at is taken; of
    equal ones, or where no two agree, the one with the best place on average. No score is right on all data: look at
    :meth:`plot_scores`, and at what the clusters mean to you.

    Parameters
    ----------
    X, n_clusters, metric, by, sample, seed : as in :meth:`scores`.
    repeats : cluster so many random parts of the objects, and let stability have a say, see :meth:`stability`; 0: none.

    Returns
    -------
    Suggestion
        ``n_clusters``, ``reason``, ``doubts``, ``runner_up``, ``votes`` and ``scores``; it prints as a few lines.

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [10.0], [11.5], [30.0], [31.0]])
    >>> tree.suggest()
    3 clusters (next best: 4)
      silhouette, Calinski-Harabasz and distance gap are best at 3, of 4 cuts into 2 to 5 clusters.
      The scores disagree: Davies-Bouldin for 5.
      score                best at        at 3        at 4
      silhouette                 3     0.90147     0.61393
      Calinski-Harabasz          3      656.53      620.81
      Davies-Bouldin             5      0.1024    0.046013
      distance gap               3     0.89652     0.33333
    """
    from ..questions.suggestion import suggestion_for

    return suggestion_for(self, X, n_clusters, repeats=repeats, metric=metric, by=by, sample=sample, seed=seed)


def plot_scores(
    self: ClusterTree,
    X: Any = None,
    n_clusters: Iterable[int] | None = None,
    axes: Sequence[Any] | None = None,
    **options: Any,
) -> Any:
    """Draw the scores of many numbers of clusters, one panel each, and the number that they speak for (extra ``plot``).

    Parameters
    ----------
    X, n_clusters, options : as in :meth:`suggest`.
    axes : the panels to draw in, one for each score that there is; None makes a figure.
    """
    from ..plots.scores import plot_suggestion

    return plot_suggestion(self.suggest(X, n_clusters, **options), axes)
