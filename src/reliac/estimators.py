"""The scikit-learn estimators: faces of :func:`reliac.cluster`, no algorithm of their own."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, OutlierMixin
from sklearn.utils.validation import check_is_fitted, check_memory, validate_data

from .algorithm.criteria import get_criterion
from .api import cluster
from .errors import explain
from .input.metrics import MetricLike, canonical_metric
from .input.numbers import check_finite, check_unmasked, is_frame, is_sparse, to_numbers
from .input.options import check_count, check_number
from .tree.clustertree import ClusterTree
from .tree.placing import climber, distances_to_training, row_fingerprints

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class ReliableAgglomerativeClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Agglomerative clustering that merges all pairs of mutually nearest clusters at every step.

    The parameters are those of :class:`sklearn.cluster.AgglomerativeClustering`, so that changing the import is
    enough. Without ties the partitions of ward, complete, average and single are the same too. With ties this
    estimator still gives one answer whatever the order of the rows. What comes on top is the levels: after which
    step of the algorithm each merge was made.

    Labels are numbered by each cluster's first row, so they may differ from scikit-learn's by a renaming.

    Parameters
    ----------
    n_clusters : int or None, default=2
        The number of clusters to cut the tree into; None if ``distance_threshold`` is given.
    metric : str or callable, default="euclidean"
        A metric that ``scipy.spatial.distance.pdist`` knows, "l1", "l2", "manhattan", a function of two rows, or
        "precomputed": X is then a square matrix of distances. Ward, centroid and median need "euclidean",
        "sqeuclidean" or "precomputed".
    memory : str, object with the joblib.Memory interface, or None, default=None
        Where to cache the tree. A tree that comes from the cache does not hold its data (``tree_.problem``).
    connectivity : None
        Not supported: anything but None is refused.
    compute_full_tree : "auto" or bool, default="auto"
        False stops when ``n_clusters`` clusters are left. The partition is then what the steps have made so far
        (``tree_.labels(n_clusters, by="level")`` of the full tree), which can differ from undoing the largest
        merges. "auto" builds the full tree, as True does.
    linkage : {"ward", "complete", "average", "single", "weighted", "centroid", "median"}, default="ward"
        How the distance of two clusters follows from the distances of their rows: reliac's criterion.
    distance_threshold : float or None, default=None
        The distance at or above which clusters are not merged; needs ``n_clusters=None`` and the full tree. Where
        a merge is nearer than one below it (centroid, median) it counts as far as that one.
    compute_distances : bool, default=False
        Accepted so that changing the import works; distances are always there.
    alpha : float, default=1.0
        The share of the smallest reliable links that each step establishes; 0 is the standard strategy.
    tie_tolerance : float, default=0.0
        Distances that differ by this share count as equal.

    Attributes
    ----------
    labels_ : (n,) array, the cluster of every row
    n_clusters_, n_leaves_, n_connected_components_ : int
    children_ : (n - 1, 2) array, the nodes that each merge joins; node n + i is made by merge i. Sorted by
        distance, except with ``compute_full_tree=False``: then n - n_clusters rows in the order of the levels
    distances_ : (n - 1,) array, the distance of every merge
    levels_ : (n - 1,) array, the level of every merge
    tree_ : ClusterTree, with everything else
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Examples
    --------
    >>> from reliac import ReliableAgglomerativeClustering
    >>> X = [[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]]
    >>> model = ReliableAgglomerativeClustering().fit(X)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.levels_.tolist()  # both columns of three are tied: one step joins each of them
    [1, 1, 1, 1, 2]
    """

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: MetricLike = "euclidean",
        memory: Any = None,
        connectivity: Any = None,
        compute_full_tree: bool | str = "auto",
        linkage: str = "ward",
        distance_threshold: float | None = None,
        compute_distances: bool = False,
        alpha: float = 1.0,
        tie_tolerance: float = 0.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances
        self.alpha = alpha
        self.tie_tolerance = tie_tolerance

    def __sklearn_tags__(self) -> Any:
        return _describe_input(super().__sklearn_tags__(), self.metric)

    def fit(self, X: Any, y: Any = None) -> ReliableAgglomerativeClustering:
        """Build the tree of the rows of X and cut it; ``y`` is ignored.

        X is an (n, d) array, frame or sparse matrix, or with ``metric="precomputed"`` an (n, n) matrix of distances.
        The index of a pandas frame becomes the names of the tree's objects, unless it only counts the rows.
        """
        numbers = _check_table(self, X)
        self._check_cut(numbers.shape[0])
        data = X if is_frame(X) else numbers  # a frame carries the names of its rows
        options = {"metric": self.metric, "alpha": self.alpha, "tie_tolerance": self.tie_tolerance}
        stop = None if self.compute_full_tree else self.n_clusters
        self.tree_ = check_memory(self.memory).cache(cluster)(data, self.linkage, n_clusters=stop, **options)
        self.n_leaves_ = self.tree_.n_objects
        self.n_connected_components_ = 1
        if self.n_clusters is not None:
            self.n_clusters_ = int(self.n_clusters)
        else:
            self.n_clusters_ = int(np.count_nonzero(self.tree_.monotone_distances >= self.distance_threshold)) + 1
        # A tree that stopped early has n_clusters_ clusters at its last level, and this cuts nothing.
        self.labels_ = self.tree_.labels(self.n_clusters_)
        self.children_, self.distances_, self.levels_ = _merges(self.tree_, by_distance=bool(self.compute_full_tree))
        return self

    def _check_cut(self, n: int) -> None:
        """Refuse what cannot be cut before any work is done; the rules are scikit-learn's."""
        if self.connectivity is not None:
            given = "connectivity was given: a graph that says which clusters may merge"
            raise ValueError(explain(given, "connectivity=None", "use sklearn.cluster.AgglomerativeClustering"))
        if self.compute_full_tree not in ("auto", True, False):
            given = f"compute_full_tree={self.compute_full_tree!r}"
            raise ValueError(explain(given, "'auto', True or False", "leave it out to build the full tree"))
        given = f"n_clusters={self.n_clusters!r} and distance_threshold={self.distance_threshold!r}"
        if (self.n_clusters is None) == (self.distance_threshold is None):
            allowed = "Exactly one of n_clusters and distance_threshold has to be set, and the other needs to be None"
            raise ValueError(explain(given, allowed, "pass n_clusters=None to cut at a distance"))
        if self.n_clusters is not None:
            check_count("n_clusters", self.n_clusters, 1, n, f"ask for no more clusters than the {n} samples")
            return
        check_number("distance_threshold", self.distance_threshold, 0.0, np.inf, "give the distance to cut at")
        if not self.compute_full_tree:
            allowed = "compute_full_tree must be True if distance_threshold is set"
            raise ValueError(explain(f"compute_full_tree=False, {given}", allowed, "leave compute_full_tree out"))


class ReliableOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Outliers are the objects that join others late.

    Every step of reliable agglomerative clustering joins all clusters that are each other's nearest neighbour. An
    object inside a dense region finds such a partner in the first few steps. An isolated one has a nearest
    neighbour too, but is nobody's, so it stays alone for many levels. Its outlier score is the level at which it
    first joins another, divided by the number of levels. No radius and no number of neighbours has to be chosen.

    The score tells isolated objects, not small groups: two outliers near each other join early and pass as normal.
    Scores are shares of levels, so many objects have equal ones, and where the tree has only a few levels
    ``contamination="auto"`` says little.

    A new row is scored without changing the tree. Let its nearest training row be at distance delta. The row gets
    the first level at which that training row's cluster merges at no less than two objects delta apart would: until
    then the cluster finds nearer partners. Of several nearest rows the one with the lowest level counts. A row
    farther out than the last merge scores 1. A row from inside the tree would often have joined a little earlier, so
    more new rows are flagged than ``contamination`` says, in few dimensions two or three times as many.

    A training row gets its own score again. Only ``alpha=0`` can differ: it joins equal rows one after the other, and
    all of them then get the score of the first.

    Parameters
    ----------
    linkage : {"average", "single", "complete", "weighted", "centroid", "median", "ward"}, default="average"
        All rank planted outliers about equally well. Average takes every metric and is a middle way for
        ``contamination="auto"``: single makes many levels and flags more, ward few and misses more.
    metric : str or callable, default="euclidean"
        As in :class:`ReliableAgglomerativeClustering`. With "precomputed", ``fit`` takes the (n, n) distances of
        the training rows and the other methods (n_new, n) distances to them.
    contamination : float in (0, 0.5] or "auto", default=0.1
        The share of training rows to flag: of rows with equal scores none where all would be too many. "auto" flags
        scores above 0.5, that is rows that join in the second half of the levels.
    alpha, tie_tolerance : float
        As in :func:`reliac.cluster`.

    Attributes
    ----------
    tree_ : ClusterTree of the training rows
    join_levels_ : (n,) array, the level at which each training row first joins another
    outlier_scores_ : (n,) array, join level / number of levels: the higher, the more an outlier
    offset_ : float, rows with ``score_samples`` below it are outliers
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Examples
    --------
    >>> from reliac import ReliableOutlierDetector
    >>> X = [[0.0], [1.0], [2.5], [3.6], [5.2], [6.1], [20.0]]
    >>> detector = ReliableOutlierDetector(contamination="auto").fit(X)
    >>> detector.join_levels_.tolist()
    [1, 1, 1, 1, 1, 1, 4]
    >>> detector.predict([[2.0], [20.0], [40.0]]).tolist()
    [1, -1, -1]
    """

    def __init__(
        self,
        linkage: str = "average",
        *,
        metric: MetricLike = "euclidean",
        contamination: float | str = 0.1,
        alpha: float = 1.0,
        tie_tolerance: float = 0.0,
    ) -> None:
        self.linkage = linkage
        self.metric = metric
        self.contamination = contamination
        self.alpha = alpha
        self.tie_tolerance = tie_tolerance

    def __sklearn_tags__(self) -> Any:
        return _describe_input(super().__sklearn_tags__(), self.metric)

    def fit(self, X: Any, y: Any = None) -> ReliableOutlierDetector:
        """Build the tree of the rows of X and set the offset; ``y`` is ignored."""
        numbers = _check_table(self, X)
        share = _check_contamination(self.contamination)
        data = X if is_frame(X) else numbers  # a frame carries the names of its rows
        options: dict[str, Any] = {"metric": self.metric, "alpha": self.alpha, "tie_tolerance": self.tie_tolerance}
        self.tree_ = cluster(data, self.linkage, **options)
        self.join_levels_ = self.tree_.join_levels
        self.outlier_scores_ = self.tree_.outlier_scores()
        # A score that occurs, not one between two: rows with equal scores then fall on one side, exactly.
        self.offset_ = -0.5 if share is None else float(np.quantile(-self.outlier_scores_, share, method="higher"))
        self._training_rows = None if _is_given(self.metric) else numbers
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Indices:
        """Fit and return -1 for the outliers among the rows of X, 1 for the others."""
        self.fit(X)
        return np.where(-self.outlier_scores_ >= self.offset_, 1, -1)

    def predict(self, X: Any) -> Indices:
        """Return -1 for outliers, 1 for the others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def decision_function(self, X: Any) -> Floats:
        """Return ``score_samples(X) - offset_``: below 0 for outliers."""
        return self.score_samples(X) - self.offset_

    def score_samples(self, X: Any) -> Floats:
        """Return minus the outlier score of every row: the higher, the more normal; from -1 to just below 0."""
        check_is_fitted(self)
        numbers = _check_table(self, X, reset=False)
        levels_above = climber(self.tree_)
        metric = canonical_metric(self.metric)
        by_size = get_criterion(self.linkage).by_size
        scale = 0.5 if by_size and metric == "sqeuclidean" else 1.0  # Ward's form for two objects: |x - y|^2 / 2
        levels = np.empty(numbers.shape[0], dtype=np.intp)
        for rows, distances in distances_to_training(numbers, self._training_rows, metric):
            smallest = distances.min(axis=1)
            row, nearest = np.nonzero(distances <= smallest[:, None] * (1.0 + self.tie_tolerance))
            found = levels_above(nearest, scale * smallest[row])
            levels[rows] = np.minimum.reduceat(found, np.searchsorted(row, np.arange(len(smallest))))
        self._recognise_training_rows(numbers, levels)
        return -np.minimum(levels / max(self.tree_.n_levels, 1), 1.0)

    def _recognise_training_rows(self, numbers: Any, levels: Indices) -> None:
        """Give rows that equal a training row its level: some metrics round a row's distance to itself above 0."""
        if self._training_rows is None:
            return
        known: dict[bytes, int] = {}
        for row, level in zip(row_fingerprints(self._training_rows), self.join_levels_.tolist(), strict=True):
            known[row] = min(level, known.get(row, level))
        for place, row in enumerate(row_fingerprints(numbers)):
            levels[place] = known.get(row, levels[place])


def _is_given(metric: object) -> bool:
    """Tell whether X holds distances."""
    return isinstance(metric, str) and metric.lower() == "precomputed"


def _describe_input(tags: Any, metric: object) -> Any:
    """Tell scikit-learn what X may be."""
    tags.input_tags.pairwise = _is_given(metric)
    tags.input_tags.sparse = not _is_given(metric)
    return tags


def _check_table(estimator: Any, X: Any, *, reset: bool = True) -> Any:
    """Return X as an array or CSR matrix of its own number type; ``reset`` is True in fit, False after it."""
    options = {"accept_sparse": False if _is_given(estimator.metric) else "csr", "ensure_min_samples": 1 + reset}
    check_unmasked(X)
    if is_frame(X):
        _check_columns(X)  # names the columns that scikit-learn would turn from text into numbers, or only count
    numbers = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False, **options)
    # Text that scikit-learn lets through, NaN and infinity are refused here, with a message that names the row.
    numbers = numbers if is_sparse(numbers) else to_numbers(numbers)[0]
    check_finite(numbers, columns=getattr(estimator, "feature_names_in_", None))
    return numbers


def _check_columns(frame: Any) -> None:
    """Refuse what is not a number by the name of its column; no column names the rows here."""
    numbers, _ = to_numbers(frame)
    if numbers.shape[1] < frame.shape[1]:
        column = str(frame.columns[0])
        raise TypeError(
            explain(
                f"Column {column!r} is not numeric: {frame[column][0]!r} in row 0",
                "numbers or booleans in every column",
                f"drop column {column!r}, or encode it as numbers",
            )
        )


def _check_contamination(contamination: Any) -> float | None:
    """Return the share of outliers, None for "auto"."""
    if isinstance(contamination, str) and contamination == "auto":
        return None
    if not isinstance(contamination, Real) or not 0.0 < contamination <= 0.5:  # type: ignore[operator]
        hint = "pass the share of outliers that you expect, for example 0.05"
        raise ValueError(explain(f"contamination={contamination!r}", "a number in (0, 0.5], or 'auto'", hint))
    return float(contamination)


def _merges(tree: ClusterTree, by_distance: bool) -> tuple[Indices, Floats, Indices]:
    """Return the children, distances and levels of the merges, by distance or by level."""
    if not by_distance:
        children = np.stack((tree.links["left"], tree.links["right"]), axis=1).astype(np.intp)
        return np.sort(children, axis=1), tree.links["distance"].copy(), tree.links["level"].astype(np.intp)
    matrix = tree.linkage_matrix("distance")
    order = np.argsort(tree.monotone_distances, kind="stable")
    return matrix[:, :2].astype(np.intp), matrix[:, 2].copy(), tree.links["level"][order].astype(np.intp)
