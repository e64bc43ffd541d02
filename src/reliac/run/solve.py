"""Runs: from a problem to its tree, and from an early-stopped tree to the levels after it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import Batch
from ..algorithm.links import Links
from ..engines.choice import ENGINES, Choice, choose, get_engine
from ..errors import Interrupted, explain, option, unknown_name
from ..input.metrics import canonical_metric, metric_name
from ..input.options import check_count, check_stop
from ..input.problem import Problem, make_problem
from ..machine import check_jobs
from ..tree import views
from ..tree.clustertree import ClusterTree
from .checkpoint import Checkpoint
from .history import History, Progress, run, split_runs
from .progress import make_reporter

#: What stands before the name of a metric that was a function.
CALLABLE = "callable "


def cluster_problem(
    problem: Problem,
    engine: Any = "auto",
    n_jobs: Any = None,
    progress: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ClusterTree:
    """Solve a problem; the options are those of :func:`reliac.cluster`."""
    if not isinstance(engine, str):
        raise TypeError(unknown_name("engine", engine, [*ENGINES, "auto"]))
    check_jobs(n_jobs)
    choice = choose(problem, engine)
    keeper = None if checkpoint is None else Checkpoint(checkpoint, problem)
    earlier = keeper.resume() if keeper else None
    history = _history_of(earlier) if earlier else History()
    return _run(problem, choice, history, n_jobs, progress, keeper)


def develop(tree: ClusterTree, clusters: Any, X: Any, metric: Any, rules: tuple[Any, Any, Any]) -> ClusterTree:
    """Go on with some clusters of an early-stopped tree; see :meth:`reliac.ClusterTree.develop`."""
    wanted = _wanted_clusters(tree, clusters)
    problem = _problem_of(tree, X, metric)
    objects = np.flatnonzero(np.isin(tree.labels(), wanted))
    part = problem.subset(objects, check_stop(len(objects), *rules))
    if part.stop.n_clusters > len(wanted):
        raise ValueError(
            explain(
                f"{option('n_clusters', rules[0])} with {len(wanted)} clusters to start from",
                f"1 to {len(wanted)}",
                "use labels(n_clusters=...) to split; developing only joins",
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
    fingerprint = problem.data_fingerprint()

    def tree() -> ClusterTree:
        return _make_tree(problem, history, choice, fingerprint, objects)

    def after_level(state: Progress) -> None:
        report(state)
        if keeper and keeper.due():
            keeper.write(tree())

    try:
        finished_by = run(problem, choice.engine(problem, n_jobs), history, after_level)
        if finished_by != choice.engine.name:
            choice = Choice(get_engine(finished_by), f"ties left the {choice.engine.name} engine no room")
        whole = tree()
    except KeyboardInterrupt:
        raise _interrupted(tree(), keeper) from None
    finally:
        finish()
    if keeper:
        keeper.remove()
    return whole


def _interrupted(partial: ClusterTree, keeper: Checkpoint | None) -> Interrupted:
    """Keep the levels done in the checkpoint, if that works, and in the exception, always."""
    try:
        if keeper:
            keeper.write(partial)
    except OSError as error:
        return Interrupted(partial, note=f"the checkpoint could not be written ({error})")
    return Interrupted(partial)


def _make_tree(
    problem: Problem, history: History, choice: Choice, fingerprint: str, objects: NDArray[np.intp] | None
) -> ClusterTree:
    level, links, pairs = history.whole()
    name = metric_name(problem.metric)
    return ClusterTree(
        n_objects=problem.n_objects,
        links=views.make_links(problem.n_objects, links.p, links.q, links.distance, level),
        names=problem.names,
        objects=np.arange(problem.n_objects) if objects is None else objects,
        weights=problem.weights,
        object_pairs=pairs if problem.criterion.reduction is np.minimum else None,
        parameters={
            "criterion": problem.criterion.name,
            "metric": name if isinstance(problem.metric, str) else f"{CALLABLE}{name}",
            "alpha": problem.alpha,
            "tie_tolerance": problem.tie_tolerance,
        },
        engine=choice.engine.name,
        reason=choice.reason,
        fingerprint=fingerprint,
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


# --- what to develop ---


def _wanted_clusters(tree: ClusterTree, clusters: Any) -> list[int]:
    """Return the labels of the clusters to develop; one, several in any container, or None for all."""
    step = "give labels as tree.labels() gives them"
    if clusters is None:
        return list(range(tree.n_clusters))
    if not isinstance(clusters, Iterable):
        clusters = [clusters]
    elif isinstance(clusters, np.ndarray):
        clusters = clusters.ravel().tolist()
    wanted = {check_count("cluster", label, 0, tree.n_clusters - 1, step) for label in clusters}
    if not wanted:
        raise ValueError(explain("develop() got no clusters", "one cluster or more", step))
    return sorted(wanted)


def _problem_of(tree: ClusterTree, X: Any, metric: Any) -> Problem:
    """Return the problem that a tree solves, from the tree itself or made again from X; refuse other data."""
    problem = tree.problem
    if problem is None or X is not None:
        if X is None:
            raise ValueError(
                explain(
                    "This tree comes from a file and does not hold its data",
                    "develop(clusters, X=...) with the rows that the tree was made from",
                    "pass the data as X",
                )
            )
        weights = None if (tree.weights == 1).all() else tree.weights
        options = {name: tree.parameters[name] for name in ("alpha", "tie_tolerance") if name in tree.parameters}
        options["criterion"] = tree.parameters.get("criterion")
        problem = make_problem(X, metric=_metric_of(tree, metric), weights=weights, **options)
    elif metric is not None and canonical_metric(metric) != problem.metric:
        raise ValueError(_other_metric(tree, metric))
    if problem.n_objects != tree.n_objects:
        raise ValueError(
            explain(
                f"X has {problem.n_objects} rows",
                f"the {tree.n_objects} rows of the tree",
                "pass the same data",
            )
        )
    if tree.fingerprint and problem.data_fingerprint() != tree.fingerprint:
        raise ValueError(
            explain(
                "X holds other values than when the tree was made",
                "the data that the tree was made from, unchanged",
                "pass that data as X, or make the tree again with reliac.cluster",
            )
        )
    return problem if tree.names is None else replace(problem, names=tree.names)


def _metric_of(tree: ClusterTree, metric: Any) -> Any:
    """Return the metric of a tree from a file; a function is not in the file."""
    stored = str(tree.parameters.get("metric"))
    if metric is None and stored.startswith(CALLABLE):
        raise ValueError(
            explain(
                f"This tree was made with a function as metric, {stored.removeprefix(CALLABLE)}, which no file holds",
                "develop(clusters, X=..., metric=...) with that function",
                "pass the function as metric",
            )
        )
    if metric is None:
        return stored
    asked = canonical_metric(metric)
    if callable(asked) != stored.startswith(CALLABLE) or (isinstance(asked, str) and asked != stored):
        raise ValueError(_other_metric(tree, metric))
    return metric


def _other_metric(tree: ClusterTree, metric: Any) -> str:
    return explain(
        f"metric {metric_name(metric)!r} for a tree of metric {tree.parameters.get('metric')!r}",
        "the metric that the tree was made with",
        "leave it out, or make another tree with reliac.cluster",
    )
