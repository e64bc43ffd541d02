"""How good a clustering is: scores against known classes, and the standard strategy against the reliable one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .api import cluster
from .calls import explain_calls, refuse_unknown_options
from .errors import explain, option
from .input.metrics import MetricLike
from .input.objects import make_distances
from .input.options import check_count, check_number
from .input.problem import make_problem
from .run.solve import cluster_problem
from .tree.clustertree import ClusterTree, Order
from .tree.cuts import how_to_join

#: Options of cluster() that say how to run and not what.
_RUN_OPTIONS = ("engine", "n_jobs", "progress", "checkpoint")


@dataclass(frozen=True)
class StrategyRow:
    """One strategy of a comparison; scores are None without classes, agreement and sizes without a cut."""

    alpha: float
    name: str  # "standard", "reliable" or "alpha 0.5"
    n_levels: int
    seconds: float
    sizes: tuple[int, ...]  # of the clusters, largest first
    ami: float | None
    ari: float | None
    v: float | None
    agreement: float | None  # adjusted Rand index with the clusters of the standard strategy
    silhouette: float | None = None  # these three: as ClusterTree.scores has them, None where they are not defined
    calinski_harabasz: float | None = None
    davies_bouldin: float | None = None


@explain_calls()
def scores(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Compare clusters with known classes; 1 is a perfect match.

    ``ami``: mutual information adjusted for chance, divided by the larger entropy; ``ari``: pairs of objects that
    both put together or apart, adjusted for chance; ``v``: harmonic mean of homogeneity and completeness.

    Examples
    --------
    >>> from reliac.evaluate import scores
    >>> scores(["a", "a", "b", "b"], [1, 1, 0, 0])
    {'ami': 1.0, 'ari': 1.0, 'v': 1.0}
    """
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, v_measure_score

    classes, clusters = _numbered(truth, "truth"), _numbered(labels, "labels")
    if len(classes) != len(clusters):
        raise ValueError(
            explain(
                f"{len(classes)} classes and {len(clusters)} labels",
                "one of each for every object",
                "pass both for the same rows, in the same order",
            )
        )
    with warnings.catch_warnings():  # many small clusters are a normal result here
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        return {
            "ami": float(adjusted_mutual_info_score(classes, clusters, average_method="max")),
            "ari": float(adjusted_rand_score(classes, clusters)),
            "v": float(v_measure_score(classes, clusters)),
        }


@explain_calls()
def cophenetic_correlation(tree: ClusterTree, distances: ArrayLike) -> float:
    """Correlate the distances at which objects come together with their own (square or condensed) distances.

    Examples
    --------
    >>> import reliac
    >>> from reliac.evaluate import cophenetic_correlation
    >>> tree = reliac.cluster([[0.0], [1.0], [5.0]], "average", metric="euclidean")
    >>> round(cophenetic_correlation(tree, [1.0, 5.0, 4.0]), 4)
    0.9707
    """
    if not isinstance(tree, ClusterTree):
        raise TypeError(explain(f"A tree of type {type(tree).__name__}", "a ClusterTree", "pass what cluster returned"))
    given = make_distances(distances)
    n = given.n
    if n != tree.n_objects:
        raise ValueError(
            explain(
                f"Distances of {n} objects, and a tree of {tree.n_objects}",
                "distances of the tree's objects",
                "pass the matrix that the tree was made from",
            )
        )
    check_has_root(tree)
    return correlation(given.condensed_distances("precomputed"), tree.cophenetic())


def check_has_root(tree: ClusterTree) -> None:
    """Refuse a forest, in which some pairs of objects have no distance."""
    if tree.n_clusters > 1:
        raise ValueError(
            explain(
                f"A forest of {tree.n_clusters} trees: some objects never come together",
                "trees that end with one cluster",
                how_to_join(tree),
            )
        )


def correlation(own: NDArray[np.float64], met: NDArray[np.float64]) -> float:
    """Return the correlation of two sets of distances; refuse those that are all equal."""
    if len(own) < 2 or not np.ptp(own) or not np.ptp(met):
        raise ValueError(
            explain(
                "A correlation of numbers that are all equal",
                "three objects or more, at different distances",
                "use data with more than one distance",
            )
        )
    return float(np.corrcoef(own, met)[0, 1])


@explain_calls()
def compare_strategies(
    X: Any,
    y: ArrayLike | None = None,
    criterion: str = "ward",
    *,
    metric: MetricLike = "euclidean",
    alphas: Iterable[float] = (0.0, 1.0),
    n_clusters: int | None = None,
    by: Order = "distance",
    **options: Any,
) -> list[StrategyRow]:
    """Run several strategies on the same data and compare their clusters and their cost.

    Parameters
    ----------
    X, criterion, metric, options : as in :func:`reliac.cluster`
    y : the class of every object, if known
    alphas : 0 is the standard strategy, 1 the reliable one
    n_clusters : how many clusters to compare; None for as many as ``y`` has classes
    by : how the trees are cut, as in ``ClusterTree.labels``

    Examples
    --------
    >>> from reliac.evaluate import compare_strategies
    >>> rows = compare_strategies([[0.0], [1.0], [5.0], [6.0], [20.0]], [0, 0, 1, 1, 2])
    >>> [(row.name, row.n_levels, row.sizes, row.ari) for row in rows]
    [('standard', 4, (2, 2, 1), 1.0), ('reliable', 3, (2, 2, 1), 1.0)]
    """
    known = [*signature(compare_strategies).parameters, *signature(make_problem).parameters, *_RUN_OPTIONS]
    known = [name for name in dict.fromkeys(known) if name not in ("X", "y", "options", "alpha")]
    unknown = {name: value for name, value in options.items() if name not in known}
    refuse_unknown_options("compare_strategies", unknown, known)
    run_options = {name: options.pop(name) for name in _RUN_OPTIONS if name in options}
    if not isinstance(alphas, Iterable) or isinstance(alphas, (str, bytes)):
        given = f"{option('alphas', alphas)} is no list of numbers"
        raise TypeError(explain(given, "numbers from 0 to 1", "pass a list, such as [0, 0.5, 1]"))
    wanted = [check_number("alpha", alpha, 0.0, 1.0, "give 0 for standard, 1 for reliable") for alpha in alphas]
    problem = make_problem(X, criterion, metric=metric, n_jobs=run_options.get("n_jobs"), **options)
    classes = None if y is None else _numbered(y, "y")
    if classes is not None and len(classes) != problem.n_objects:
        given = f"{len(classes)} classes for {problem.n_objects} objects"
        raise ValueError(explain(given, "one class for every object", "pass y for the same rows, in the same order"))
    if n_clusters is None and classes is not None:
        n_clusters = len(np.unique(classes))
    if n_clusters is not None:
        step = "ask for no more clusters than objects, and no fewer than the run leaves"
        check_count("n_clusters", n_clusters, problem.stop.n_clusters, problem.n_objects, step)
    standard: NDArray[np.intp] | None = None
    cluster([[0.0], [1.0], [3.0]], criterion)  # so that no strategy pays for importing SciPy
    rows: dict[float, StrategyRow] = {}
    for alpha in dict.fromkeys([0.0, *wanted]) if n_clusters is not None else dict.fromkeys(wanted):
        started = time.perf_counter()
        tree = cluster_problem(replace(problem, alpha=alpha), **run_options)
        seconds = time.perf_counter() - started
        labels = None if n_clusters is None else tree.labels(n_clusters, by=by)
        standard = labels if standard is None else standard  # the standard strategy runs first
        rows[alpha] = replace(_row(tree, seconds, labels, classes, standard), **_cut_scores(tree, n_clusters, by))
    return [rows[alpha] for alpha in wanted]


def _row(
    tree: ClusterTree,
    seconds: float,
    labels: NDArray[np.intp] | None,
    classes: NDArray[np.intp] | None,
    standard: NDArray[np.intp] | None,
) -> StrategyRow:
    alpha = float(tree.parameters["alpha"])
    name = {0.0: "standard", 1.0: "reliable"}.get(alpha, f"alpha {alpha:g}")
    sizes = () if labels is None else tuple(sorted(np.bincount(labels).tolist(), reverse=True))
    found = {} if labels is None or classes is None else scores(classes, labels)
    agreement = None if labels is None or standard is None else scores(standard, labels)["ari"]
    return StrategyRow(
        alpha=alpha,
        name=name,
        n_levels=tree.n_levels,
        seconds=seconds,
        sizes=sizes,
        ami=found.get("ami"),
        ari=found.get("ari"),
        v=found.get("v"),
        agreement=agreement,
    )


def _cut_scores(tree: ClusterTree, n_clusters: int | None, by: Order) -> dict[str, Any]:
    """Return the scores of one cut that need no classes; nothing without a cut."""
    if n_clusters is None:
        return {}
    from .questions.scores import measured, score_table

    found = score_table(tree, measured(tree), [n_clusters], by=by).columns
    wanted = ("silhouette", "calinski_harabasz", "davies_bouldin")
    return {name: found[name][0] for name in wanted if name in found and not np.isnan(found[name][0])}


def _numbered(values: ArrayLike, what: str) -> NDArray[np.intp]:
    """Number the classes 0, 1, ...; any kind of value will do."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise ValueError(
            explain(f"{what} of shape {array.shape}", "one entry per object", "pass a list or a one-dimensional array")
        )
    return np.unique(array, return_inverse=True)[1]
