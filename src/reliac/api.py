"""cluster(), linkage(), load(): translate arguments, nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import views
from .history import History, Progress, run, split_runs
from .checkpoint import Checkpoint
from .criteria import get_criterion
from .engines import Choice, choose
from .engines.base import Batch
from .errors import Interrupted, explain
from .links import Links
from .metrics import MetricLike
from .problem import Problem, check_count, check_stop, make_problem
from .progress import make_reporter
from .storage import load_fields
from .tree import ClusterTree

CriterionName = Literal["single", "complete", "average", "weighted", "centroid", "median", "ward"]


def cluster(
    X: Any,
    criterion: CriterionName | str = "ward",
    *,
    metric: MetricLike = "sqeuclidean",
    alpha: float = 1.0,
    n_clusters: int | None = None,
    max_level: int | None = None,
    max_distance: float | None = None,
    weights: Any = None,
    tie_tolerance: float = 0.0,
    engine: str = "auto",
    n_jobs: int | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ClusterTree:
    """Cluster objects by merging, at every step, all pairs of clusters that are each other's nearest neighbour.

    Parameters
    ----------
    X : (n, d) array, pandas or polars frame, scipy sparse matrix; with ``metric="precomputed"`` a square (n, n)
        or condensed (n(n-1)/2,) matrix of distances.
    criterion : "single", "complete", "average", "weighted", "centroid", "median" or "ward".
    metric : the name of a metric that ``scipy.spatial.distance.pdist`` knows, a function of two vectors, or
        "precomputed". Centroid, median and ward need "sqeuclidean", "euclidean" or "precomputed", and take given
        distances as Euclidean ones.
    alpha : share of the smallest reliable links that each step establishes; 1 is the reliable strategy, 0 the
        standard one (a single link a step).
    n_clusters : stop when exactly this many clusters are left.
    max_level, max_distance : stop after so many levels; never establish a longer link.
    weights : how often each row counts; a row of weight 3 is three equal rows.
    tie_tolerance : distances that differ by this share count as equal.
    engine : "auto" or the name of an engine.
    n_jobs : number of threads, as in joblib.
    progress : True for a line on standard error, or a function that gets a ``Progress`` after every level.
    checkpoint : a file that keeps the levels done; after a crash the same call goes on from there.

    Returns
    -------
    ClusterTree

    Examples
    --------
    >>> import reliac
    >>> tree = reliac.cluster([[0.0], [1.0], [5.0], [6.0], [20.0]])
    >>> tree.cluster_counts.tolist()
    [5, 3, 2, 1]
    >>> tree.labels(3).tolist()
    [0, 0, 1, 1, 2]
    >>> tree.join_levels.tolist()  # the last object joins last: an outlier
    [1, 1, 1, 1, 3]
    """
    problem = make_problem(
        X,
        criterion,
        metric=metric,
        alpha=alpha,
        n_clusters=n_clusters,
        max_level=max_level,
        max_distance=max_distance,
        weights=weights,
        tie_tolerance=tie_tolerance,
    )
    _check_jobs(n_jobs)
    choice = choose(problem, engine)
    keeper = None if checkpoint is None else Checkpoint(checkpoint, problem)
    earlier = keeper.resume() if keeper else None
    history = _history_of(earlier) if earlier else History()
    return _run(problem, choice, history, n_jobs, progress, keeper)


def linkage(
    y: Any,
    method: CriterionName | str = "single",
    metric: MetricLike = "euclidean",
    optimal_ordering: bool = False,
    *,
    preserve_input: bool = True,
) -> NDArray[np.float64]:
    """Return the linkage matrix of the standard strategy: a drop-in for SciPy's and fastcluster's ``linkage``.

    Parameters
    ----------
    y : (n, d) vectors, or a condensed (n(n-1)/2,) matrix of distances.
    method : "single", "complete", "average", "weighted", "centroid", "median" or "ward".
    metric : for vectors, the name of a metric or a function.
    optimal_ordering : reorder the matrix so that neighbouring leaves are near each other (SciPy's routine).
    preserve_input : accepted for fastcluster's sake; the input is never written to.

    Examples
    --------
    >>> import reliac
    >>> reliac.linkage([[0.0], [1.0], [3.0]], "average").tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 2.5, 3.0]]
    """
    del preserve_input
    condensed = getattr(y, "ndim", None) == 1 or (not hasattr(y, "shape") and np.ndim(y) == 1)
    options: dict[str, Any] = {"metric": "precomputed" if condensed else metric}
    row = get_criterion(method)
    tree = cluster(y, method, alpha=1.0 if row.reducible else 0.0, **options)
    if row.reducible and views.has_ties(tree):  # a tie joins three at once: not what the standard strategy does
        tree = cluster(y, method, alpha=0.0, **options)
    matrix = tree.linkage_matrix("distance" if row.reducible else "level")
    if optimal_ordering and len(matrix):
        from scipy.cluster.hierarchy import optimal_leaf_ordering

        matrix = np.asarray(optimal_leaf_ordering(matrix, y, metric=metric))
    return matrix


def load(path: str | os.PathLike[str]) -> ClusterTree:
    """Read a tree that ``ClusterTree.save`` (or ``to_json``) wrote."""
    fields, _ = load_fields(path)
    try:
        return ClusterTree(**fields)
    except ValueError as error:
        raise ValueError(
            explain(
                f"{os.fspath(path)} holds no valid tree ({error})",
                "files written by ClusterTree.save",
                "save it anew",
            )
        ) from None


def develop(
    tree: ClusterTree,
    clusters: Iterable[int] | int | None,
    X: Any,
    n_clusters: int | None,
    max_level: int | None,
    max_distance: float | None,
) -> ClusterTree:
    """Go on with some clusters of an early-stopped tree; see :meth:`reliac.ClusterTree.develop`."""
    problem = _problem_of(tree, X)
    labels = tree.labels()
    chosen = range(tree.n_clusters) if clusters is None else np.atleast_1d(np.asarray(clusters)).tolist()
    hint = "labels as tree.labels() gives them"
    wanted = sorted({check_count("cluster", label, 0, tree.n_clusters - 1, hint) for label in chosen})
    if not wanted:
        raise ValueError(explain("develop() got no clusters", "one cluster or more", hint))
    objects = np.flatnonzero(np.isin(labels, wanted))
    part = problem.subset(objects, check_stop(len(objects), n_clusters, max_level, max_distance))
    if part.stop.n_clusters > len(wanted):
        raise ValueError(
            explain(
                f"n_clusters={n_clusters} with {len(wanted)} clusters to start from",
                f"1 to {len(wanted)}",
                "developing only joins; use labels(n_clusters=...) to split",
            )
        )
    history = _history_of(tree, objects)
    return _run(part, choose(part), history, None, None, None, tree.objects[objects])


def _run(
    problem: Problem,
    choice: Choice,
    history: History,
    n_jobs: int | None,
    progress: Any,
    keeper: Checkpoint | None,
    objects: NDArray[np.intp] | None = None,
) -> ClusterTree:
    """Run the loop from where ``history`` stands and make the tree."""
    report, finish = make_reporter(progress)

    def tree() -> ClusterTree:
        return _make_tree(problem, history, choice, objects)

    def after_level(state: Progress) -> None:
        report(state)
        if keeper and keeper.due():
            keeper.write(tree())

    try:
        run(problem, choice.engine(problem, n_jobs), history, after_level)
    except KeyboardInterrupt:
        partial = tree()
        if keeper:
            keeper.write(partial)
        raise Interrupted(partial) from None
    finally:
        finish()
    if keeper:
        keeper.remove()
    return tree()


def _make_tree(problem: Problem, history: History, choice: Choice, objects: NDArray[np.intp] | None) -> ClusterTree:
    level, links, pairs = history.whole()
    metric = problem.metric if isinstance(problem.metric, str) else getattr(problem.metric, "__name__", "callable")
    return ClusterTree(
        n_objects=problem.n_objects,
        links=views.make_links(problem.n_objects, links.p, links.q, links.distance, level),
        names=problem.names,
        objects=np.arange(problem.n_objects) if objects is None else objects,
        weights=problem.weights,
        object_pairs=pairs if problem.criterion.reduction is np.minimum else None,
        parameters={
            "criterion": problem.criterion.name,
            "metric": metric,
            "alpha": problem.alpha,
            "tie_tolerance": problem.tie_tolerance,
        },
        engine=choice.engine.name,
        reason=choice.reason,
        problem=problem,
    )


def _history_of(tree: ClusterTree, objects: NDArray[np.intp] | None = None) -> History:
    """Return the levels of a tree, all of them or those of some whole clusters, with the objects renumbered."""
    first = views.first_objects(tree)
    p, q = first[tree.links["left"]], first[tree.links["right"]]
    number = np.arange(tree.n_objects)
    kept = np.ones(len(p), dtype=bool)
    if objects is not None:
        number = np.full(tree.n_objects, -1)
        number[objects] = np.arange(len(objects))
        kept = number[p] >= 0
    rows = np.flatnonzero(kept)
    level = np.concatenate(
        [np.full(len(part), count) for count, part in enumerate(split_runs(tree.links["level"][rows]), 1)] or [rows]
    )
    links = Links(number[p[rows]], number[q[rows]], tree.links["distance"][rows])
    pairs = None if tree.object_pairs is None else number[tree.object_pairs[rows]]
    return History([Batch(level, links, pairs)] if len(rows) else [])


def _problem_of(tree: ClusterTree, X: Any) -> Problem:
    """Return the problem that a tree solves, from the tree itself or made again from X."""
    if tree.problem is not None and X is None:
        return tree.problem
    if X is None:
        raise ValueError(
            explain(
                "This tree comes from a file and does not hold its data",
                "develop(clusters, X=...) with the rows that the tree was made from",
                "pass the data as X",
            )
        )
    weights = None if (tree.weights == 1).all() else tree.weights
    problem = make_problem(X, weights=weights, **tree.parameters)
    if problem.n_objects != tree.n_objects:
        raise ValueError(
            explain(
                f"X has {problem.n_objects} rows",
                f"the {tree.n_objects} rows of the tree",
                "pass the same data",
            )
        )
    return problem


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise ValueError(
            explain(
                f"n_jobs={n_jobs!r}",
                "None, a positive number, or -1 for all cores",
                "leave it out for the default",
            )
        )
