"""Nearest neighbours of rows, and clustering on the graph that they make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..algorithm.criteria import get_criterion
from ..calls import explain_calls
from ..engines.choice import choose
from ..engines.neighbors.nearest import ENGINES, find_nearest
from ..errors import explain, option, unknown_name
from ..input.connectivity import Connected
from ..input.graph import ON_GRAPHS, Graph
from ..input.metrics import MetricLike, canonical_metric
from ..input.neighbors import ORIGIN, NeighborGraph, Neighbors, check_found, graph_of
from ..input.objects import Objects, make_objects
from ..input.options import check_count, check_switch
from ..input.problem import Problem, make_problem
from ..machine import check_jobs
from ..tree.clustertree import ClusterTree
from .history import history_of
from .reaching import check_reached
from .solve import cluster_problem, solve


@explain_calls()
def neighbors(
    X: Any,
    k: int,
    metric: MetricLike = "euclidean",
    *,
    approximate: bool = False,
    seed: int = 0,
    engine: str = "auto",
    n_jobs: int | None = None,
) -> Neighbors:
    """Find the k nearest other rows of every row.

    Parameters
    ----------
    X : (n, d) array, pandas or polars frame, scipy sparse matrix; with ``metric="precomputed"`` a square or condensed
        matrix of distances. float32 stays float32.
    k : how many, 1 to n - 1.
    metric : any that :func:`reliac.cluster` knows. "euclidean", "sqeuclidean" and "cosine" of dense rows have fast
        searches: a tree in few dimensions, products of blocks in many. Others take all distances, a block at a time.
    approximate : let faiss (extra ``approximate``) look for them: it finds most of them, sooner. Distances are exact
        all the same. Dense rows and the three metrics with fast searches only.
    seed : of the approximate search; the same seed gives the same result.
    engine : "cpu", "gpu" (extra ``gpu``: dense rows and the three metrics with fast searches), or "auto": a GPU where
        there is one and it is sooner done. The result has the same bits.
    n_jobs : number of threads; None and -1 take all cores. The result has the same bits for any number.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances``, (n, k) each: the nearest first, of equally near ones the one with the smaller
        index, never the row itself. ``graph()`` is a symmetric sparse matrix of them.

    Examples
    --------
    >>> import reliac
    >>> found = reliac.neighbors([[0.0], [1.0], [5.0], [6.5]], 2)
    >>> found.indices.tolist()
    [[1, 2], [0, 2], [3, 1], [2, 1]]
    >>> found.distances.tolist()
    [[1.0, 5.0], [1.0, 4.0], [1.5, 4.0], [1.5, 5.5]]
    """
    metric = canonical_metric(metric)
    check_jobs(n_jobs)
    step = "leave it out for 0"
    approximate, seed = check_switch("approximate", approximate), check_count("seed", seed, 0, 2**32 - 1, step)
    if not isinstance(engine, str) or engine not in ENGINES:
        raise ValueError(unknown_name("engine", engine, ENGINES))
    objects = make_objects(X, metric, None, n_jobs)
    return search(objects, k, metric, seed if approximate else None, n_jobs, engine)


def search(
    objects: Objects, k: Any, metric: MetricLike, seed: int | None, n_jobs: int | None, engine: str = "auto"
) -> Neighbors:
    """Find the neighbours of checked objects, exactly or, with a seed, approximately."""
    if objects.n < 2:
        raise ValueError(explain("neighbours of a single row", "two rows or more", "check where the rows came from"))
    k = check_count("k", k, 1, objects.n - 1, "ask for fewer neighbours than there are rows")
    if seed is None:
        return Neighbors(*find_nearest(objects, k, metric, n_jobs, engine), metric)
    from ..engines.neighbors.approximate import find_approximately

    return Neighbors(*find_approximately(objects, k, metric, seed, n_jobs), metric, seed)


def graph_again(X: Any, k: Any, metric: MetricLike, seed: int | None, n_jobs: int | None) -> NeighborGraph:
    """Return the graph that a tree was made from: of its neighbours, or of its rows, searched again."""
    found = X if isinstance(X, Neighbors) else search(make_objects(X, metric, None, n_jobs), k, metric, seed, n_jobs)
    return graph_of(found, None)


def cluster_along(
    X: Any,
    criterion: Any,
    neighbors: Any,
    join_components: Any,
    rules: dict[str, Any],
    how: tuple[Any, Any, Any, Any],
) -> ClusterTree:
    """Cluster rows along a graph, of neighbours or given as connectivity; see :func:`reliac.cluster`.

    ``rules``: options of the problem. ``how``: engine, n_jobs, progress and checkpoint. Components are joined by going
    on with the rows themselves, all pairs allowed, from the clusters that the graph leaves; not where a level or a
    distance stops the run.
    """
    join_components = check_switch("join_components", join_components)
    name, n_jobs, metric = get_criterion(criterion).name, how[1], canonical_metric(rules["metric"])
    _check_options(name, neighbors, rules)
    objects: Objects = make_objects(X, metric, rules["names"], n_jobs)
    rules = {**rules, "names": None}
    on_graph, along = {**rules}, objects
    if neighbors is not None:
        given = isinstance(neighbors, Neighbors)
        found = check_found(neighbors, objects.n, metric) if given else search(objects, neighbors, metric, None, n_jobs)
        along, on_graph["metric"] = graph_of(found, objects.names), "precomputed"
    if not join_components:
        tree = cluster_problem(make_problem(along, name, **on_graph), *how)
        check_reached(tree, rules["n_clusters"])
        return tree
    whole = make_problem(objects, name, **{**rules, "connectivity": None})
    part = make_problem(along, name, **{**on_graph, "n_clusters": None})
    assert isinstance(part.objects, (Graph, Connected))
    fewest = max(whole.stop.n_clusters, part.objects.n_components)
    tree = cluster_problem(replace(part, stop=replace(whole.stop, n_clusters=fewest)), *how)
    stopped = rules["max_level"] is not None or rules["max_distance"] is not None
    if not stopped and tree.n_clusters > whole.stop.n_clusters:
        tree = _joined(tree, whole, n_jobs, how[2])
        check_reached(tree, rules["n_clusters"])
    return tree


def _joined(tree: ClusterTree, whole: Problem, n_jobs: int | None, progress: Any) -> ClusterTree:
    """Go on with the rows themselves from the clusters that a graph leaves, and say so."""
    joined = solve(whole, choose(whole), history_of(tree), n_jobs, progress)
    note = {key: tree.parameters[key] for key in (*ORIGIN, "connectivity") if key in tree.parameters}
    reason = f"graph to {tree.n_clusters} clusters by engine {tree.engine}, then {joined.reason}"
    return replace(joined, parameters={**joined.parameters, **note, "join_components": True}, reason=reason)


def _check_options(criterion: str, neighbors: Any, rules: dict[str, Any]) -> None:
    """Refuse what does not go together with neighbours, before they are searched."""
    if neighbors is None:
        if rules["connectivity"] is None:
            raise ValueError(
                explain(
                    f"{option('join_components', True)} without a graph",
                    "it together with neighbors or connectivity, or in reliac.cluster_edges",
                    "give neighbors=k, or leave join_components out: without a graph all rows are joined",
                )
            )
        return
    shown = neighbors if not isinstance(neighbors, Neighbors) else neighbors.k
    if rules["connectivity"] is not None:
        raise ValueError(
            explain(
                f"{option('neighbors', shown)} and connectivity: edges with distances, and edges without",
                "one of the two",
                "drop neighbors if the rows shall give the distance of clusters, connectivity if edges shall",
            )
        )
    if criterion not in ON_GRAPHS:
        raise ValueError(
            explain(
                f"{option('criterion', criterion)} with {option('neighbors', shown)}: this criterion compares points, "
                "and a graph has the distances of listed pairs only",
                f"criteria {', '.join(ON_GRAPHS)}",
                f"let the graph say who may be joined: connectivity=reliac.neighbors(X, {shown}).graph()",
            )
        )
