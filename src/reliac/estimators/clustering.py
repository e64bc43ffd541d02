"""Clusters of rows, with the parameters of scikit-learn's agglomerative clustering; what clusters of columns share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..calls import explain_calls
from ..errors import explain, shown
from ..input.connectivity import connectivity_entries
from ..input.constraints import pairs_among
from ..input.graph import ADD_EDGES, check_components
from ..input.metrics import MetricLike, canonical_metric
from ..input.numbers import frame_columns, is_frame
from ..input.objects import Distances, Vectors
from ..input.options import check_count, check_number
from ..questions.newrows import new_distances, new_rows
from ..questions.predict import nearest_clusters, refuse_graphs
from ..questions.training import problem_with
from ..tree.clustertree import ClusterTree
from ..tree.exports import linkage_rows
from .tables import (
    check_table,
    describe_input,
    distances_between_tables,
    grow_tree,
    is_given,
    rows_that_count,
    takes_whole_table,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Agglomeration(BaseEstimator):  # type: ignore[misc]
    """What clustering rows and clustering columns share: the rules of a cut, and the attributes of a tree."""

    n_clusters: int | None
    distance_threshold: float | None
    max_level: int | None
    compute_full_tree: bool | str
    connectivity: Any
    metric: MetricLike

    def __sklearn_tags__(self) -> Any:
        return describe_input(super().__sklearn_tags__(), self.metric)

    def _fit_tree(self, data: Any, numbers: Any, neighbours: Any = None, **options: Any) -> Indices:
        """Build the tree of the rows, set the attributes that describe it, and return the labels of its objects.

        ``neighbours``: who may be joined, as a square sparse matrix; None for all.
        """
        self.n_connected_components_ = 1 if neighbours is None else self._count_components(neighbours)
        stop = None if self.compute_full_tree else self.n_clusters
        options |= {} if neighbours is None else {"connectivity": neighbours}
        tree = self.tree_ = grow_tree(self, data, numbers, n_clusters=stop, **options)
        self.n_leaves_ = tree.n_objects
        # Along a graph joins come nearer, and scikit-learn, which joins one pair after the other, cuts in that order.
        in_turn = neighbours is not None and self.alpha == 0.0
        if self.max_level is not None:
            self.n_clusters_ = tree.n_clusters
        elif self.n_clusters is not None:
            self.n_clusters_ = int(self.n_clusters)
        else:
            distances = tree.links["distance"] if in_turn else tree.monotone_distances
            longer = distances >= np.float64(self.distance_threshold)
            self.n_clusters_ = int(np.count_nonzero(longer)) + tree.n_clusters
        whole = bool(self.compute_full_tree) and self.max_level is None
        self.children_, self.distances_, self.levels_ = _merges(tree, by_distance=whole and not in_turn)
        # A tree that stopped early has n_clusters_ clusters at its last level, and this cuts nothing.
        labels: Indices = tree.labels(self.n_clusters_, by="level" if in_turn else "distance")
        return labels

    def _neighbours(self, numbers: Any) -> Any:
        """Return who may be joined as a square sparse matrix; None if no graph was given."""
        if self.connectivity is None:
            return None
        given = self.connectivity(numbers) if callable(self.connectivity) else self.connectivity
        return connectivity_entries(given, numbers.shape[0]).tocsr()

    def _count_components(self, neighbours: Any) -> int:
        """Count the parts that nothing joins; refuse fewer clusters than that."""
        from scipy.sparse.csgraph import connected_components

        edges = neighbours.astype(bool)
        edges.data[:] = True  # an entry of zero that is stored is an edge
        count = int(connected_components(edges, directed=False, return_labels=False))
        if self.n_clusters is not None:
            check_components(self.n_clusters, count, neighbours.shape[0], ADD_EDGES)
        return count

    def _check_cut(self, n: int, what: str = "samples") -> None:
        """Refuse what cannot be cut before any work is done; the rules are scikit-learn's."""
        full = self.compute_full_tree  # an array is neither equal to a word nor to True
        if not isinstance(full, (str, bool, np.bool_, Integral)) or full not in ("auto", True, False):
            given = f"compute_full_tree={shown(full)}"
            raise ValueError(explain(given, "'auto', True or False", "leave it out to build the full tree"))
        given = f"n_clusters={self.n_clusters!r} and distance_threshold={self.distance_threshold!r}"
        if self.max_level is not None:
            given += f" and max_level={self.max_level!r}"
        if sum(rule is not None for rule in (self.n_clusters, self.distance_threshold, self.max_level)) != 1:
            allowed = (
                "Exactly one of n_clusters and distance_threshold has to be set, and the other needs to be None; or "
                "max_level alone"
            )
            raise ValueError(explain(given, allowed, "pass n_clusters=None to cut at a distance or a level"))
        if self.max_level is not None:
            check_count("max_level", self.max_level, 0, np.inf, "give the number of steps to make")
        elif self.n_clusters is not None:
            check_count("n_clusters", self.n_clusters, 1, n, f"ask for no more clusters than the {n} {what}")
        else:
            check_number("distance_threshold", self.distance_threshold, 0.0, np.inf, "give the distance to cut at")
            if not self.compute_full_tree:
                allowed = "compute_full_tree must be True if distance_threshold is set"
                raise ValueError(explain(f"compute_full_tree=False, {given}", allowed, "leave compute_full_tree out"))


def _merges(tree: ClusterTree, by_distance: bool) -> tuple[Indices, Floats, Indices]:
    """Return the children, distances and levels of the merges, by distance or by level."""
    if not by_distance:
        children = np.stack((tree.links["left"], tree.links["right"]), axis=1).astype(np.intp)
        return np.sort(children, axis=1), tree.links["distance"].copy(), tree.links["level"].astype(np.intp)
    matrix = linkage_rows(tree, "distance")
    order = np.argsort(tree.monotone_distances, kind="stable")
    return matrix[:, :2].astype(np.intp), matrix[:, 2].copy(), tree.links["level"][order].astype(np.intp)


def _fitted(model: Any) -> bool:
    """Raise NotFittedError for a model without a tree."""
    check_is_fitted(model)
    return True


class ReliableAgglomerativeClustering(ClusterMixin, Agglomeration):  # type: ignore[misc]
    """Agglomerative clustering that merges all pairs of mutually nearest clusters at every step.

    The parameters are those of :class:`sklearn.cluster.AgglomerativeClustering`, so that changing the import is
    enough. Without ties the partitions of ward, complete, average and single are the same too. With ties this
    estimator still gives one answer whatever the order of the rows. What comes on top is the levels: after which
    step of the algorithm each merge was made.

    Labels are numbered by each cluster's first row, so they may differ from scikit-learn's by a renaming.

    Parameters
    ----------
    n_clusters : int or None, default=2
        The number of clusters to cut the tree into; None if ``distance_threshold`` or ``max_level`` is given.
    metric : str or callable, default="euclidean"
        A metric that ``scipy.spatial.distance.pdist`` knows, "l1", "l2", "manhattan", a function, or "precomputed":
        X is then a square matrix of distances. A function that needs two arguments gets two rows and returns their
        distance. One that can be called with one argument, as those in ``sklearn.metrics.pairwise``, gets the whole
        table and returns all distances. Ward, centroid and median need "euclidean", "sqeuclidean" or "precomputed".
        With "nan_euclidean" and "gower" values may be missing, and "gower" compares columns of any types.
    memory : str, object with the joblib.Memory interface, or None, default=None
        Where to cache the tree. A tree that comes from the cache does not hold its data (``tree_.problem``).
    connectivity : array, sparse matrix, callable or None, default=None
        A graph that says who may be joined: a square matrix whose entries are edges, or a function that makes one of
        X, such as ``functools.partial(kneighbors_graph, n_neighbors=5)``. Ward, centroid and median, and average of
        "sqeuclidean" or "cosine", compare clusters by their vectors; the others by the distances of the edges between
        them, as scikit-learn does (docs/graphs.md). Unlike there the graph is never completed: what no path of edges
        joins stays apart, and ``n_clusters`` below the number of its connected components is an error. With
        ``alpha=0`` ward, complete and single give scikit-learn's tree, merge for merge, and the last merges are undone
        first, as there, also where an earlier one is larger.
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
    n_jobs : int or None, default=None
        The number of threads; None and -1 take all cores. The result has the same bits for any number.
    progress : bool, callable or None, default=None
        True for a bar on standard error, or a function that gets a ``reliac.Progress``.
    checkpoint : path or None, default=None
        A file that keeps the levels done; after a crash the same call goes on from there.
    max_level : int or None, default=None
        Stop after so many levels: the clusters are those of that level. Needs ``n_clusters=None``.
    must_link, cannot_link : list of pairs of rows or None, default=None
        Rows, by number or name, that are in one cluster from the beginning, or never.
    max_size : int or None, default=None
        No cluster has more rows than this. Fewer clusters than the constraints leave are an error.

    Attributes
    ----------
    labels_ : (n,) array, the cluster of every row; -1 for rows of ``sample_weight`` 0, which take no part
    n_clusters_, n_leaves_, n_connected_components_ : int
    children_ : (n - 1, 2) array, the nodes that each merge joins; node n + i is made by merge i. Sorted by
        distance, except where the run stops early (``compute_full_tree=False``, ``max_level``): then n - n_clusters
        rows in the order of the levels. With ``connectivity`` one row less for every further component, and with
        ``alpha=0`` in the order in which merges were made, as in scikit-learn
    distances_ : (n - 1,) array, the distance of every merge
    levels_ : (n - 1,) array, the level of every merge
    tree_ : ClusterTree, with everything else; ``tree_.predict`` cuts elsewhere, and gives distances
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
    >>> model.predict([[0, 0], [12, 3]]).tolist()
    [0, 1]
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
        distance_threshold: float | None = None,
        compute_distances: bool = False,
        alpha: float = 1.0,
        tie_tolerance: float = 0.0,
        n_jobs: int | None = None,
        progress: Any = None,
        checkpoint: Any = None,
        max_level: int | None = None,
        must_link: Any = None,
        cannot_link: Any = None,
        max_size: int | None = None,
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
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.max_level = max_level
        self.must_link = must_link
        self.cannot_link = cannot_link
        self.max_size = max_size

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ReliableAgglomerativeClustering:
        """Build the tree of the rows of X and cut it; ``y`` is ignored.

        X is an (n, d) array, frame or sparse matrix, or with ``metric="precomputed"`` an (n, n) matrix of distances.
        The index of a pandas frame becomes the names of the tree's objects, unless it only counts the rows.

        ``sample_weight`` says how often each row counts: a row of weight 3 as three equal rows that have joined
        already. Rows of weight 0 take no part: they get the label -1, and ``tree_`` is that of the other rows; edges
        of ``connectivity`` to such a row join nothing.
        """
        numbers = check_table(self, X)
        n = numbers.shape[0]
        weights, rows = rows_that_count(sample_weight, n)
        self._check_cut(len(rows))
        neighbours = self._neighbours(numbers)
        data, names = (X if is_frame(X) else numbers), None  # a frame carries the names of its rows
        constraints = {name: getattr(self, name) for name in ("must_link", "cannot_link", "max_size")}
        if len(rows) < n:
            own = frame_columns(X)[1] if is_frame(X) else None
            whole = Vectors(numbers, names=own)
            constraints |= pairs_among(rows, whole, self.must_link, self.cannot_link)
            names = None if own is None else own[rows]
            data = numbers = numbers[np.ix_(rows, rows)] if is_given(self.metric) else numbers[rows]
            neighbours = None if neighbours is None else neighbours[rows][:, rows]
        self.labels_ = np.full(n, -1, dtype=np.intp)
        self.labels_[rows] = self._fit_tree(
            data, numbers, neighbours, weights=weights, **constraints, **({} if names is None else {"names": names})
        )
        self._training = numbers
        return self

    # It is there once there are clusters. (A check of scikit-learn compares the numbers of predicted labels, for
    # rows in two orders. Ours follow the first rows of clusters, so a model without any must not promise to predict.)
    @available_if(_fitted)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Indices:
        """Return for every row the cluster of ``labels_`` that it, as a single row, is nearest to by the linkage.

        See :meth:`reliac.ClusterTree.predict`. With ``metric="precomputed"`` X holds the (n_new, n) distances to the
        rows of ``fit``. A row of ``fit`` need not get its own label back. With ``connectivity`` it is refused: new rows
        have no edges.
        """
        refuse_graphs(self.tree_)
        numbers = check_table(self, X, reset=False)
        counted = np.flatnonzero(self.labels_ >= 0)
        given = is_given(self.metric) or takes_whole_table(self.metric)
        if given:
            if is_given(self.metric):
                numbers = numbers[:, counted]
            else:
                numbers = distances_between_tables(self.metric, numbers, self._training)  # type: ignore[arg-type]
            numbers = new_distances(numbers, self.tree_)
            problem = problem_with(self.tree_, Distances(self._training, 0.0), "precomputed")
        else:
            problem = problem_with(self.tree_, Vectors(self._training), canonical_metric(self.metric))
            numbers = new_rows(numbers, problem)
        return nearest_clusters(problem, self.tree_, self.labels_[counted], numbers, given, None, self.n_jobs)[0]
