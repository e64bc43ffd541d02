"""Clusters of columns: features that are alike are pooled, with the parameters of scikit-learn's transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ..calls import explain_calls
from ..errors import explain
from ..input.metrics import MetricLike
from ..tree.cuts import members
from .clustering import Agglomeration
from .tables import check_table


class ReliableFeatureAgglomeration(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Agglomeration):  # type: ignore[misc]
    """Merge features that are alike: reliable agglomerative clustering of the columns.

    The parameters are those of :class:`sklearn.cluster.FeatureAgglomeration`, so that changing the import is enough.
    Each cluster of columns becomes one column, numbered by its first one.

    Parameters
    ----------
    pooling_func : callable, default=np.mean
        Turns the columns of a cluster into one: takes an (n, m) array and ``axis=1`` and returns n numbers.
    n_clusters, metric, memory, connectivity, compute_full_tree, linkage, distance_threshold, compute_distances, alpha,
    tie_tolerance, n_jobs, progress, checkpoint, max_level
        As in :class:`ReliableAgglomerativeClustering`, with columns for rows.

    Attributes
    ----------
    labels_ : (n_features,) array, the cluster of every column
    n_clusters_, n_leaves_, n_connected_components_, children_, distances_, levels_, tree_ :
        As in :class:`ReliableAgglomerativeClustering`; the objects of the tree are the columns, by their names.
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Examples
    --------
    >>> from reliac import ReliableFeatureAgglomeration
    >>> X = [[0.0, 0.1, 5.0], [1.0, 1.1, 4.0], [2.0, 2.1, 3.0]]
    >>> model = ReliableFeatureAgglomeration(2).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 1]
    >>> model.transform(X).round(2).tolist()
    [[0.05, 5.0], [1.05, 4.0], [2.05, 3.0]]
    """

    @explain_calls()
    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: MetricLike = "euclidean",
        memory: Any = None,
        connectivity: Any = None,
        compute_full_tree: bool | str = "auto",
        linkage: str = "ward",
        pooling_func: Callable[..., Any] = np.mean,
        distance_threshold: float | None = None,
        compute_distances: bool = False,
        alpha: float = 1.0,
        tie_tolerance: float = 0.0,
        n_jobs: int | None = None,
        progress: Any = None,
        checkpoint: Any = None,
        max_level: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.pooling_func = pooling_func
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances
        self.alpha = alpha
        self.tie_tolerance = tie_tolerance
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.max_level = max_level

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = False
        return tags

    def fit(self, X: Any, y: Any = None) -> ReliableFeatureAgglomeration:
        """Build the tree of the columns of X and cut it; ``y`` is ignored."""
        numbers = check_table(self, X, sparse=False, gaps=False, ensure_min_features=2, ensure_min_samples=1)
        columns = np.ascontiguousarray(numbers.T)
        self._check_cut(len(columns), "features")
        names = getattr(self, "feature_names_in_", None)
        self.labels_ = self._fit_tree(columns, columns, self._neighbours(columns), names=names)
        self._n_features_out = self.n_clusters_
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Pool the columns of every cluster: (n, n_features) becomes (n, n_clusters_)."""
        check_is_fitted(self)
        numbers = check_table(self, X, reset=False, sparse=False, gaps=False)
        groups = members(self.labels_, np.arange(len(self.labels_)))
        return np.stack([np.asarray(self.pooling_func(numbers[:, columns], axis=1)) for columns in groups], axis=1)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Give every column the values of its cluster: (n, n_clusters_) becomes (n, n_features)."""
        check_is_fitted(self)
        pooled = check_array(X, dtype=None)
        if pooled.shape[1] != self.n_clusters_:
            raise ValueError(
                explain(
                    f"X has {pooled.shape[1]} columns",
                    f"one for each of the {self.n_clusters_} clusters",
                    "pass what transform() returned",
                )
            )
        return np.asarray(pooled[:, self.labels_])
