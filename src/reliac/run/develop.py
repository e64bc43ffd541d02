"""Going on from an early-stopped tree with some of its clusters, by the data that the tree was made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..engines.choice import choose
from ..errors import explain, option, other_values
from ..input.constraints import make_constraints
from ..input.edges import make_graph
from ..input.graph import Graph
from ..input.metrics import canonical_metric, metric_name
from ..input.objects import Distances
from ..input.options import check_count, check_stop
from ..input.problem import Problem, make_problem
from ..machine import check_jobs, check_memory
from ..tree.clustertree import ClusterTree
from .history import history_of
from .neighbors import graph_again
from .reaching import check_reached
from .solve import CALLABLE, solve


def develop(
    tree: ClusterTree,
    clusters: Any,
    data: tuple[Any, Any, Any],
    rules: tuple[Any, Any, Any],
    n_jobs: Any = None,
    progress: Any = None,
) -> ClusterTree:
    """Go on with some clusters of an early-stopped tree; see :meth:`reliac.ClusterTree.develop`.

    ``data``: X, metric and connectivity, where the tree does not hold them. ``rules``: where to stop, as (n_clusters,
    max_level, max_distance).
    """
    check_jobs(n_jobs)
    wanted = _wanted_clusters(tree, clusters)
    problem = problem_of(tree, *data, n_jobs)
    objects = np.flatnonzero(np.isin(tree.labels(), wanted))
    if isinstance(problem.objects, Distances):  # those of the chosen objects are copied
        size = problem.objects.matrix.nbytes * len(objects) ** 2 // problem.n_objects**2
        check_memory(size, f"A copy of the distances of {len(objects)} objects", "develop fewer clusters at once")
    part = problem.subset(objects, check_stop(len(objects), *rules))
    if part.stop.n_clusters > len(wanted):
        raise ValueError(
            explain(
                f"{option('n_clusters', rules[0])} with {len(wanted)} clusters to start from",
                f"1 to {len(wanted)}",
                "use labels(n_clusters=...) to split; developing only joins",
            )
        )
    made = solve(part, choose(part), history_of(tree, objects), n_jobs, progress, objects=tree.objects[objects])
    check_reached(made, rules[0])
    return made


def _wanted_clusters(tree: ClusterTree, clusters: Any) -> list[int]:
    """Return the labels of the clusters to develop; one, several in any container, or None for all."""
    step = "give labels as tree.labels() gives them"
    if clusters is None:
        return list(range(tree.n_clusters))
    if isinstance(clusters, np.ndarray):
        clusters = clusters.ravel().tolist()
    elif hasattr(clusters, "nnz") or not isinstance(clusters, Iterable):  # a sparse matrix is no list of labels
        clusters = [clusters]
    wanted = {check_count("cluster", label, 0, tree.n_clusters - 1, step) for label in clusters}
    if not wanted:
        raise ValueError(explain("develop() got no clusters", "one cluster or more", step))
    return sorted(wanted)


def problem_of(
    tree: ClusterTree, X: Any, metric: Any, connectivity: Any, n_jobs: int | None, asked: str = "develop(clusters, {})"
) -> Problem:
    """Return the problem that a tree solves, from the tree, its file, or made again from X; refuse other data.

    ``asked`` is the call that messages show, with the argument that it lacks in place of the braces.
    """
    problem = tree.problem
    if problem is None or X is not None:
        X = tree.kept if X is None else X
        if X is None:
            raise ValueError(
                explain(
                    "This tree comes from a file and does not hold its data",
                    f"{asked.format('X=...')} with the rows that the tree was made from",
                    "pass the data as X, or save the tree with save(path, data=True)",
                )
            )
        weights = None if (tree.weights == 1).all() else tree.weights
        kept = ("alpha", "tie_tolerance", "precision")
        options = {name: tree.parameters[name] for name in kept if name in tree.parameters}
        options["criterion"] = tree.parameters.get("criterion")
        measure = metric_of(tree, metric, asked)
        if "missing" in tree.parameters:
            X, measure = _graph_of(tree, X, measure, n_jobs), "precomputed"
        _check_connectivity(tree, connectivity)
        options["connectivity"] = connectivity
        problem = make_problem(X, metric=measure, weights=weights, n_jobs=n_jobs, **options)
        nameless = replace(problem.objects, names=None)  # the tree has numbers of objects
        constraints = (tree.parameters.get(name) for name in ("must_link", "cannot_link", "max_size"))
        problem = replace(problem, constraints=make_constraints(nameless, *constraints))
    elif metric is not None and canonical_metric(metric) != problem.metric:
        raise ValueError(_other_metric(tree, metric))
    elif connectivity is not None:
        given = "connectivity without X, for a tree that holds its data and its graph"
        raise ValueError(explain(given, "connectivity with X, for a tree from a file", "leave connectivity out"))
    if problem.n_objects != tree.n_objects:
        raise ValueError(
            explain(
                f"X has {problem.n_objects} rows",
                f"the {tree.n_objects} rows of the tree",
                "pass the same data",
            )
        )
    if tree.fingerprint and problem.objects.data_fingerprint() != tree.fingerprint:
        raise ValueError(other_values("X holds"))
    return problem if tree.names is None else replace(problem, objects=replace(problem.objects, names=tree.names))


def _graph_of(tree: ClusterTree, X: Any, metric: Any, n_jobs: int | None) -> Graph:
    """Return the graph that a tree was made from: of its edges, or of its rows or their neighbours."""
    known = tree.parameters
    if "neighbors" in known:
        return graph_again(X, known["neighbors"], metric, known.get("approximate"), n_jobs)
    names = np.arange(tree.n_objects).astype(np.str_) if tree.names is None else tree.names
    return make_graph(X, missing=known["missing"]).ordered_as(names)


def _check_connectivity(tree: ClusterTree, connectivity: Any) -> None:
    """Refuse a tree made along a graph without that graph, and a graph for any other tree."""
    made_along = "connectivity" in tree.parameters and "join_components" not in tree.parameters
    if made_along == (connectivity is not None):
        return
    if made_along:
        given, allowed = "This tree was made with connectivity, a graph that no file holds", "connectivity=G"
        raise ValueError(explain(given, f"develop(clusters, X=..., {allowed})", "pass the same graph as connectivity"))
    given = "connectivity for a tree that was made without"
    raise ValueError(explain(given, "the data that the tree was made from", "leave connectivity out"))


def metric_of(tree: ClusterTree, metric: Any, asked: str) -> Any:
    """Return the metric of a tree from a file; a function is not in the file."""
    stored = str(tree.parameters.get("metric"))
    if metric is None and stored.startswith(CALLABLE):
        raise ValueError(
            explain(
                f"This tree was made with a function as metric, {stored.removeprefix(CALLABLE)}, which no file holds",
                f"{asked.format('X=..., metric=...')} with that function",
                "pass the function as metric",
            )
        )
    if metric is None:
        return stored
    ours = canonical_metric(metric)
    if callable(ours) != stored.startswith(CALLABLE) or (isinstance(ours, str) and ours != stored):
        raise ValueError(_other_metric(tree, metric))
    return metric


def _other_metric(tree: ClusterTree, metric: Any) -> str:
    return explain(
        f"metric {metric_name(metric)!r} for a tree of metric {tree.parameters.get('metric')!r}",
        "the metric that the tree was made with",
        "leave it out, or make another tree with reliac.cluster",
    )
