"""ClusterTree: the result of a run. Its invariants (:mod:`reliac.tree.building`) are checked when one is made."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..calls import explain_methods
from ..input.options import check_switch
from . import (
    asking,
    asking_cuts,
    asking_more,
    asking_order,
    asking_scores,
    asking_typical,
    cuts,
    exports,
    levels,
    outliers,
    walks,
)
from .building import check_invariants
from .levels import SpanningTree

if TYPE_CHECKING:
    from ..input.metrics import MetricLike
    from ..input.objects import Objects
    from ..input.problem import Problem
    from ..run.history import Progress

Order = Literal["distance", "level"]


@explain_methods
@dataclass(frozen=True, eq=False, repr=False)
class ClusterTree:
    """A hierarchy of clusters, with levels; possibly a forest, where the run stopped early.

    Attributes
    ----------
    n_objects : number of objects
    links : structured array (left, right, distance, level, size), in level order, inside a level by distance
    names : row names, or None
    objects : row numbers in the input that the tree was made from
    weights : one number per object
    parameters : criterion, metric, alpha and the other options of the run
    engine, reason : which engine ran, and why
    fingerprint : a hash of the data, by which ``develop`` recognises it
    problem : the checked input, which refers to X and does not copy it; None for a tree from a file
    kept : the data that its file kept (``save(path, data=True)``), for a tree from a file; else None
    lists : what searches found, for :meth:`extend` and :meth:`without`; None unless ``keep_lists`` asked for it
    """

    n_objects: int
    links: NDArray[np.void]
    objects: NDArray[np.intp]
    weights: NDArray[np.float64]
    names: NDArray[np.str_] | None = None
    object_pairs: NDArray[np.intp] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    engine: str = ""
    reason: str = ""
    fingerprint: str = ""
    problem: Problem | None = None
    kept: Objects | None = None
    lists: Mapping[str, NDArray[Any]] | None = None

    def __post_init__(self) -> None:
        """Check the invariants, and keep them: the arrays become read-only."""
        check_invariants(self)
        self._freeze()

    def _freeze(self) -> None:
        for array in (self.links, self.names, self.objects, self.weights, self.object_pairs):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def of_sound_links(cls, **fields: Any) -> ClusterTree:
        """Make a tree of links that were checked as they were made (``reliac_are_links``): nobody looks again."""
        tree = cls.__new__(cls)
        tree.__dict__.update(fields)
        tree._freeze()
        return tree

    def __repr__(self) -> str:
        """Return a small table: objects, levels, clusters per level, engine and why."""
        return levels.table_of_levels(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the data out of a pickle; what is computed on demand can be computed again."""
        fields = self.__dataclass_fields__
        return {name: value for name, value in self.__dict__.items() if name in fields} | {"problem": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a pickle's fields; arrays come out of it writable, and become read-only again."""
        self.__dict__.update(state)
        self._freeze()

    def __copy__(self) -> ClusterTree:
        """Share everything: nothing of it can change."""
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> ClusterTree:
        """Share the read-only arrays and the data, which may be large; a copy can be developed as its original."""
        return replace(self, parameters=copy.deepcopy(self.parameters, memo))

    # --- levels and clusters ---

    @property
    def n_levels(self) -> int:
        """The number of steps of the algorithm."""
        return int(self.links["level"][-1]) if len(self.links) else 0

    @property
    def n_clusters(self) -> int:
        """The number of clusters at the last level: 1 unless the run stopped early."""
        return self.n_objects - len(self.links)

    @property
    def n_components(self) -> int:
        """The number of trees: more than 1 for a forest, where the run stopped early or a graph has several parts."""
        return self.n_clusters

    @cached_property
    def cluster_counts(self) -> NDArray[np.intp]:
        """The number of clusters at level 0, 1, ..., n_levels."""
        joins = np.bincount(self.links["level"], minlength=self.n_levels + 1)
        return np.asarray(self.n_objects - np.cumsum(joins))

    @cached_property
    def monotone_distances(self) -> NDArray[np.float64]:
        """The distance of every link, or the largest below it where that is larger (inversions)."""
        return walks.monotone_distances(self)

    @cached_property
    def leaf_order(self) -> NDArray[np.intp]:
        """The objects in an order in which every cluster is contiguous."""
        return walks.leaf_order(self)

    def labels(
        self,
        n_clusters: int | Iterable[int] | None = None,
        *,
        level: int | Iterable[int] | None = None,
        distance: float | Iterable[float] | None = None,
        by: Order = "distance",
        max_size: int | None = None,
        min_size: int | None = None,
        small: Literal["stay", "drop"] = "stay",
        named: bool = False,
    ) -> Any:
        """Return the cluster of every object, numbered 0, 1, ... by each cluster's first object.

        Parameters
        ----------
        n_clusters, level, distance : one of them: exactly so many clusters (nested), the clusters of a level, or joins
            up to a distance; without any, the clusters of the last level. A list of numbers gives an array with one
            column for each.
        by : "distance" undoes the largest joins first, "level" the last: what early stopping gives.
        max_size : clusters of more objects are taken apart, down the tree, until none has more.
        min_size : what becomes of clusters of fewer objects is said by ``small``.
        small : "stay": in their parent. A join of which some part is too small is not undone, so the parts beside it
            stay too; a whole tree stays as it is, and ``max_size`` goes first. "drop": they are in no cluster, -1.
        named : return a pandas Series with the row names as its index; of several cuts a DataFrame, a column each.

        What one step joins counts as one join, so ``max_size`` and ``min_size`` do not depend on the order of the rows.
        Objects count once, whatever their weights; those that must be together stay so, whatever ``max_size`` says.

        Examples
        --------
        >>> import reliac
        >>> tree = reliac.cluster([[0.0], [1.0], [2.5], [9.0], [10.0], [30.0]], "single")
        >>> tree.labels([2, 3]).T.tolist()
        [[0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 2]]
        >>> tree.labels(max_size=3).tolist()
        [0, 0, 0, 1, 1, 2]
        >>> tree.labels(3, min_size=2, small="drop").tolist()
        [0, 0, 0, 1, 1, -1]
        """
        cut = cuts.asked_cut(n_clusters, level, distance)
        labels = cuts.labels(self, cut, by, cuts.check_sizes(max_size, min_size, small))
        return exports.named_labels(self, labels, cut.value) if check_switch("named", named) else labels

    def clusters(
        self, level: int | None = None, *, n_clusters: int | None = None, named: bool = False
    ) -> list[NDArray[Any]]:
        """Return the clusters of a level (or ``n_clusters`` of them) as arrays of objects, or of their names."""
        objects = self.object_names if check_switch("named", named) else np.arange(self.n_objects)
        return cuts.members(self.labels(n_clusters, level=level), objects)

    @property
    def object_names(self) -> NDArray[np.str_]:
        """The row names, or the row numbers as text."""
        return self.objects.astype(np.str_) if self.names is None else self.names

    # --- what the levels tell ---

    @cached_property
    def join_levels(self) -> NDArray[np.intp]:
        """The level at which each object first joins another; n_levels + 1 if it never does."""
        return levels.join_levels(self)

    @cached_property
    def join_distances(self) -> NDArray[np.float64]:
        """The distance at which each object first joins another; infinite if it never does."""
        return outliers.growing_distances(self, 2)

    @cached_property
    def join_partners(self) -> NDArray[np.intp]:
        """The object that each object first joins, or the first one of the cluster that it joins; -1 if it never does.

        In trees of the single criterion it is the object that it is nearest to.
        """
        return outliers.join_partners(self)

    def outlier_scores(self, by: str = "level") -> NDArray[np.float64]:
        """Return a number for every object: the higher, the more it is an outlier.

        Parameters
        ----------
        by : "level" is the paper's score: the level at which the object first joins another, divided by the number of
            levels. "distance" takes the distance of that join instead, divided by the largest distance of the tree.

            "level of 10" and "distance of 10", or another number m of at least 2, take the level or distance at which
            the object's cluster first holds at least 10 objects, the object itself included. So a small group of
            outliers near each other does not pass as normal: that its members have joined each other counts nothing
            until there are 10 of them. m = 2 is the first join. The m that counts is at most a quarter of the objects
            (of fewer than 16 objects 3, of fewer than 6 objects 2). Objects count once, whatever their weights.

        Objects that never join so many (a run that stopped early) have the score 1. By the report's table of areas
        under the ROC curve (docs/paper.md) "distance of 10" with the single criterion ranks outliers best, and "level"
        finds little but lone ones.

        Examples
        --------
        >>> import reliac
        >>> tree = reliac.cluster([[0.0], [1.0], [5.0], [6.5], [60.0], [60.5]], "single", metric="euclidean")
        >>> tree.outlier_scores().round(2).tolist()
        [0.33, 0.33, 0.33, 0.33, 0.33, 0.33]
        >>> tree.outlier_scores(by="distance of 3").round(2).tolist()  # the last two have only each other
        [0.07, 0.07, 0.07, 0.07, 1.0, 1.0]
        """
        return outliers.outlier_scores(self, by)

    def spanning_tree(self) -> SpanningTree:
        """Return the minimum spanning tree (single criterion): pairs of objects, weights, levels.

        A forest where the run stopped early.
        """
        return levels.spanning_tree(self)

    def cophenetic(self, pairs: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the distance at which two objects come together; infinite if they never do.

        ``pairs``: (m, 2) objects; None: all pairs, condensed as SciPy has them.
        """
        return walks.cophenetic(self, pairs)

    def develop(
        self,
        clusters: Iterable[int] | int | None = None,
        *,
        X: Any = None,
        metric: MetricLike | None = None,
        connectivity: Any = None,
        n_clusters: int | None = None,
        max_level: int | None = None,
        max_distance: float | None = None,
        n_jobs: int | None = None,
        progress: bool | Literal["json"] | Callable[[Progress], None] | None = None,
    ) -> ClusterTree:
        """Go on from an early-stopped tree with some of its clusters only (labels as ``labels()`` gives them).

        The result is a tree of those clusters' objects: the levels made so far, then those that a run on the
        chosen clusters gives. ``max_level`` counts all levels of the result from 0, those made before included.

        ``X`` is needed only for a tree that comes from a file or a pickle, ``metric`` only if such a tree was made with
        a function, and ``connectivity`` only if it was made with one. A tree made in this process keeps a reference to
        its X: do not change X in place before developing. Data other than the tree's own are refused.

        ``n_jobs`` and ``progress`` are those of :func:`reliac.cluster`.
        """
        from ..run.develop import develop

        data, rules = (X, metric, connectivity), (n_clusters, max_level, max_distance)
        return develop(self, clusters, data, rules, n_jobs, progress)

    # --- questions ---

    branches = asking_cuts.branches
    subtree = asking_cuts.subtree
    path = asking_cuts.path
    siblings = asking_cuts.siblings
    order_leaves = asking_order.order_leaves
    cophenetic_correlation = asking_order.cophenetic_correlation
    agreement = asking_order.agreement
    plot_tanglegram = asking_order.plot_tanglegram
    predict = asking.predict
    extend = asking_more.extend
    without = asking_more.without
    medoids = asking_typical.medoids
    exemplars = asking_typical.exemplars
    summary = asking_typical.summary
    scores = asking_scores.scores
    stability = asking_scores.stability
    suggest = asking_scores.suggest

    # --- other forms ---

    def linkage_matrix(self, order: Order = "distance") -> NDArray[np.float64]:
        """Return SciPy's linkage matrix Z, rows sorted by distance or left in level order."""
        return exports.linkage_matrix(self, order)

    def to_newick(self, lengths: bool = True, *, plain_names: bool = False, comments: bool = False) -> str:
        """Return the tree in Newick form, ties as polytomies; a forest gives one line per tree, as ``labels()`` counts.

        The path between two leaves is as long as their cophenetic distance; where a join is nearer than one below
        it (an inversion), as long as the larger of the two, since branches cannot have negative lengths.

        ``plain_names``: names without quotes, with _ for what Newick does not allow in them. ``comments``: level, size
        and distance of every node, as ``[&level=2,size=5,distance=1.5]``.
        """
        exports.warn_if_repeated(self.names)
        return exports.newick(self, lengths, plain_names, comments)

    def to_nexus(self, lengths: bool = True, *, plain_names: bool = False, comments: bool = False) -> str:
        """Return objects and trees as a NEXUS file; the options are those of :meth:`to_newick`."""
        exports.warn_if_repeated(self.names)
        return exports.nexus(self, lengths, plain_names, comments)

    def to_json(self) -> str:
        """Return everything as JSON; :meth:`from_json` reads it."""
        from .storage import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> ClusterTree:
        """Read what :meth:`to_json` wrote."""
        from .storage import read_tree

        return read_tree(text, "The JSON text").tree

    def to_networkx(self) -> Any:
        """Return a networkx.DiGraph with edges from each node to its parts."""
        return exports.networkx_graph(self)

    def to_frame(self) -> Any:
        """Return the links as a pandas DataFrame."""
        return exports.frame(self)

    def save(self, path: str | os.PathLike[str], *, data: bool = False) -> None:
        """Write the tree to a file that :func:`reliac.load` reads; no pickle, never a half-written file.

        ``data=True`` also keeps the rows (or the matrix of distances) that the tree was made from, and the titles of
        their columns: the tree that is read then answers what needs them (``predict``, ``summary``, ``develop``).
        """
        from .storage import save

        save(self, path, data)

    # --- pictures ---

    def plot(
        self, ax: Any = None, *, max_leaves: int = 60, color_clusters: int | None = None, order: Any = None
    ) -> Any:
        """Draw a dendrogram (extra ``plot``); trees above ``max_leaves`` objects show their top part only.

        ``order``: the objects from left to right, as :meth:`order_leaves` gives them; None is ``leaf_order``.
        """
        from ..plots.dendrogram import plot_tree

        return plot_tree(self, ax, max_leaves=max_leaves, color_clusters=color_clusters, order=order)

    def plot_levels(self, axes: Sequence[Any] | None = None) -> Any:
        """Draw the clusters per level and their sizes (extra ``plot``)."""
        from ..plots.levels import plot_levels

        return plot_levels(self, axes)

    plot_scores = asking_scores.plot_scores
