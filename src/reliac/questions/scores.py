"""Scores of cuts into many numbers of clusters at once, computed along the tree and not cut by cut."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import explain, known_name, need, option, shown
from ..input.graph import Graph
from ..input.metrics import MetricLike, canonical_metric, metric_name
from ..input.numbers import first_not_finite
from ..input.objects import Distances, Objects, Vectors, make_objects
from ..input.options import check_count
from ..machine import check_memory
from ..run.solve import CALLABLE
from ..tree.clustertree import ClusterTree
from ..tree.cuts import check_n_clusters, join_order
from ..tree.keeping import held_objects
from ..tree.walks import parents
from .means import Rows, scores_by_means
from .merging import Floats, Merging, merging
from .silhouettes import distance_rows, picked, silhouettes_by_distances

#: Silhouettes of more objects than this are sampled unless something else is asked for.
EXACT = 10_000

#: Numbers of clusters that are scored where none are given.
USUAL = range(2, 21)

#: What ``silhouette`` can be.
WAYS = ("auto", "exact", "sampled", "none")

#: The columns in their order, before those of the tree alone; and those that one cluster, or lone objects, do not have.
OF_MEANS = ("within", "between", "calinski_harabasz", "davies_bouldin")
OF_SILHOUETTES = ("silhouette", "silhouette_error", "simplified_silhouette")
OF_CUTS = {"calinski_harabasz", "davies_bouldin", *OF_SILHOUETTES}


@dataclass(frozen=True)
class ScoreTable:
    """Scores of some cuts: one number per cut in every column, and what is to be said about them."""

    counts: list[int]
    columns: dict[str, list[float]]
    notes: dict[str, str] = field(default_factory=dict)
    n_objects: int = 0  # of the tree; 0: not known

    def frame(self) -> Any:
        """Return a pandas DataFrame, with the notes in ``attrs``."""
        pandas = need("pandas", "frames")
        made = pandas.DataFrame(self.columns, index=pandas.Index(self.counts, name="n_clusters"))
        made.attrs.update(self.notes)
        return made


@dataclass(frozen=True)
class Measured:
    """What clusters are scored by: objects, how they are compared, and how often each counts."""

    objects: Objects | None  # None: by the tree alone
    metric: MetricLike
    weights: Floats


def score_table(
    tree: ClusterTree,
    data: Measured,
    n_clusters: Any = None,
    *,
    by: str = "distance",
    silhouette: Any = "auto",
    sample: Any = 1000,
    seed: Any = 0,
) -> ScoreTable:
    """Score cuts; see :meth:`reliac.ClusterTree.scores`."""
    counts = checked_counts(tree, n_clusters)
    known_name("way of silhouettes", silhouette, WAYS)
    size = check_count("sample", sample, 1, np.inf, "give the number of objects whose silhouettes are computed")
    start = check_count("seed", seed, 0, np.inf, "give a whole number that the sample follows from")
    merge = merging(tree, max(counts), min(counts), by)
    wanted = set(counts)
    columns: dict[str, Floats] = {}
    notes: dict[str, str] = {}
    lacking = _why_no_means(data)
    if lacking:
        notes["absent"] = f"sums of squares and what follows from them need {lacking}"
    elif isinstance(data.objects, Vectors):
        needed = 8 * (tree.n_objects * data.objects.rows.shape[1] * (not data.objects.sparse) + 3 * merge.finest**2)
        what = f"Scores of {merge.finest} clusters of {tree.n_objects} objects"
        check_memory(needed, what, "score fewer clusters, or a sample of the objects")
        columns |= scores_by_means(Rows(data.objects.rows, data.weights, merge), merge, wanted)
    columns |= _silhouette(data, merge, wanted, (silhouette, size, start), notes)
    steps = merge.finest - np.array(counts)
    undefined = np.isin(counts, (1, tree.n_objects))
    table = {name: columns[name][steps] for name in OF_MEANS + OF_SILHOUETTES if name in columns}
    for name in OF_CUTS & table.keys():
        table[name] = np.where(undefined, np.nan, table[name])
    table |= {name: column[steps] for name, column in scores_of_tree(tree, merge, by).items()}
    return ScoreTable(counts, {name: column.tolist() for name, column in table.items()}, notes, tree.n_objects)


def _why_no_means(data: Measured) -> str:
    """Say what clusters would need to have means; nothing if they have some."""
    if data.objects is None:  # by the tree alone, as was asked for
        return ""
    if not isinstance(data.objects, Vectors):
        return f"vectors, and not {'given distances' if isinstance(data.objects, Distances) else 'a graph'}"
    if data.metric == "gower":
        return "numbers, and not categories"
    return "rows without missing values" if first_not_finite(data.objects.rows) else ""


def _silhouette(
    data: Measured, merge: Merging, wanted: set[int], how: tuple[str, int, int], notes: dict[str, str]
) -> dict[str, Floats]:
    """Return the mean silhouette after every step, of all objects or of a sample, and say which."""
    way, sample, seed = how
    objects, n = data.objects, len(merge.order)
    if objects is None or way == "none" or isinstance(objects, Graph):
        if isinstance(objects, Graph):
            notes["silhouette"] = "absent: a graph lists the distances of some pairs only"
        return {}
    given = isinstance(objects, Distances)
    exact = way == "exact" or (way == "auto" and (given or n <= EXACT)) or sample >= n
    places = np.arange(n) if exact else picked(n, sample, seed)
    rows = distance_rows(objects, data.metric, merge.order)
    mean, deviation = silhouettes_by_distances(rows, places, data.weights[merge.order], merge, wanted)
    notes["silhouette"] = f"exact, by {'the given distances' if given else metric_name(data.metric)}"
    if exact:
        return {"silhouette": mean}
    notes["silhouette"] = (
        f"sampled: the exact ones, by {metric_name(data.metric)}, of {len(places)} of {n} objects (seed {seed}); "
        "silhouette_error is the standard error"
    )
    return {"silhouette": mean, "silhouette_error": deviation / np.sqrt(len(places))}


def scores_of_tree(tree: ClusterTree, merge: Merging, by: str) -> dict[str, Floats]:
    """Return what the tree alone tells about each cut: the next join, the gap before it, how many levels clusters live.

    The gap is the length of the range of distances t for which ``labels(distance=t)`` is this cut.
    """
    n, links = tree.n_objects, tree.links
    order = join_order(tree, by)
    height = tree.monotone_distances[order]
    lower = np.r_[0.0, np.maximum.accumulate(height)]  # of n clusters, n - 1, ...: the largest distance that is kept
    upper = np.r_[np.minimum.accumulate(height[::-1])[::-1], np.nan]  # the smallest that is undone
    cut = n - merge.finest + np.arange(len(merge.steps) + 1)
    gap = np.maximum(upper[cut] - lower[cut], 0.0)
    above = parents(tree)
    end = np.append(links["level"], tree.n_levels + 1)[np.where(above < 0, len(links), above - n)]
    begin = np.r_[np.zeros(n, dtype=np.intp), links["level"]]
    lived = (end - begin) * np.r_[np.ones(n, dtype=np.intp), links["size"]]
    kept = order[: n - merge.finest]
    inner = np.zeros(n + len(links), dtype=bool)  # nodes that the finest cut has joined further, and those not made yet
    inner[links["left"][kept]], inner[links["right"][kept]] = True, True
    inner[n + order[n - merge.finest :]] = True
    gained = lived[n + merge.rows] - lived[links["left"][merge.rows]] - lived[links["right"][merge.rows]]
    total = np.r_[lived[~inner].sum(), gained].cumsum()
    return {"distance": np.append(height, np.nan)[cut], "gap": gap, "level_lifetime": total / n}


# --- what a user passes ---


def checked_counts(tree: ClusterTree, n_clusters: Any) -> list[int]:
    """Return the numbers of clusters that are asked for: one, several, or the usual ones that the tree has."""
    if n_clusters is None:
        usual = [count for count in USUAL if tree.n_clusters <= count < tree.n_objects]
        if not usual:
            given = f"No number of clusters for a tree of {tree.n_objects} objects and {tree.n_clusters} clusters"
            raise ValueError(explain(given, "n_clusters=[...]", "name the numbers, or take a tree of more objects"))
        return usual
    if isinstance(n_clusters, numbers.Integral):
        n_clusters = [n_clusters]
    if isinstance(n_clusters, str) or not isinstance(n_clusters, Iterable):
        given = f"{option('n_clusters', n_clusters)} is no list of numbers"
        raise TypeError(explain(given, "whole numbers, such as range(2, 51)", "pass a range or a list"))
    counts = list(dict.fromkeys(check_n_clusters(tree, count) for count in n_clusters))
    if not counts:
        raise ValueError(explain("n_clusters is empty", "whole numbers, such as range(2, 51)", "name at least one"))
    return counts


def measured(tree: ClusterTree, X: Any = None, metric: Any = None) -> Measured:
    """Return what clusters are scored by: X if it is given, else what the tree was made from."""
    if X is None:
        objects = held_objects(tree)
        if objects is None:
            raise ValueError(
                explain(
                    "This tree comes from a file and does not hold its data",
                    "X, the rows of the tree's objects in their order, or their distances with metric='precomputed'",
                    "pass the data as X, or save the tree with save(path, data=True)",
                )
            )
        no_rows = isinstance(objects, (Distances, Graph))
        _check_metric(metric, no_rows)
        return Measured(objects, "precomputed" if no_rows else _metric_of(tree, metric), tree.weights)
    measure = _metric_of(tree, metric)
    if isinstance(X, (range, numbers.Integral)) or (measure != "precomputed" and _are_counts(X)):
        given = f"{shown(X)} in place of X"
        raise TypeError(explain(given, "X, then n_clusters", f"write n_clusters={shown(X)}"))
    objects = make_objects(X, measure)
    if objects.n != tree.n_objects:
        given = f"X has {objects.n} rows for a tree of {tree.n_objects} objects"
        raise ValueError(
            explain(given, f"{tree.n_objects} rows, in the order of the tree", "pass the rows of the tree")
        )
    return Measured(objects, measure, tree.weights)


def _are_counts(X: Any) -> bool:
    """Tell whether a list of whole numbers was passed where rows are expected."""
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(item, numbers.Integral) for item in X)


def _check_metric(metric: Any, no_rows: bool) -> None:
    """Refuse a metric that does not fit what the tree holds: rows are compared by one, distances are there."""
    if metric is None or (canonical_metric(metric) == "precomputed") == no_rows:
        return
    holds, allowed = ("distances", "'precomputed', or none") if no_rows else ("rows", "a metric that compares rows")
    given = f"{option('metric', metric)} for a tree that holds {holds} of its objects"
    raise ValueError(explain(given, allowed, "leave metric out, or pass other data of the same objects as X"))


def _metric_of(tree: ClusterTree, metric: Any) -> MetricLike:
    """Return the metric of silhouettes: the one given, or that of the tree."""
    if metric is not None:
        return canonical_metric(metric)
    if tree.problem is not None and not isinstance(tree.problem.objects, Graph):
        return tree.problem.metric
    stored = str(tree.parameters.get("metric", "euclidean"))
    if stored.startswith(CALLABLE):
        given = f"This tree was made with a function as metric, {shown(stored.removeprefix(CALLABLE))}"
        raise ValueError(explain(given, "scores(X, ..., metric=...)", "pass that function, or another metric"))
    return canonical_metric(stored)


def rows_of_table(table: ScoreTable) -> tuple[Sequence[str], list[list[Any]]]:
    """Return the titles and the rows of a table of scores, numbers that do not exist as empty cells."""
    columns = ["n_clusters", *table.columns]
    cells = zip(table.counts, *table.columns.values(), strict=True)
    return columns, [["" if isinstance(cell, float) and np.isnan(cell) else cell for cell in row] for row in cells]
