"""Cuts: which objects are together, at a number of clusters, a level or a distance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, known_name, option
from ..input.options import check_count, check_number

if TYPE_CHECKING:
    from .clustertree import ClusterTree


def labels(
    tree: ClusterTree, n_clusters: int | None, level: int | None, distance: float | None, by: str
) -> NDArray[np.intp]:
    """Label the objects; see :meth:`reliac.ClusterTree.labels`."""
    given = {"n_clusters": n_clusters, "level": level, "distance": distance}
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise ValueError(
            explain(
                f"labels() got {' and '.join(asked)}",
                "one of n_clusters, level, distance",
                "drop all but one",
            )
        )
    known_name("order", by, ["distance", "level"])
    kept = np.ones(len(tree.links), dtype=bool)
    if n_clusters is not None:
        step = "ask for a number in this range" if tree.n_clusters == 1 else f"to get fewer, {how_to_join(tree)}"
        count = check_count("n_clusters", n_clusters, tree.n_clusters, tree.n_objects - _fixed(tree), step)
        order = np.argsort(tree.monotone_distances, kind="stable") if by == "distance" else np.arange(len(kept))
        kept[order[tree.n_objects - count :]] = False
    elif level is not None:
        step = "count from 0, the single objects, to n_levels, the last"
        kept = tree.links["level"] <= check_count("level", level, 0, tree.n_levels, step)
    elif distance is not None:
        step = "give the distance above which joins are undone"
        kept = tree.monotone_distances <= check_number("distance", distance, 0.0, math.inf, step)
    return _labels_of_links(tree, kept)


def how_to_join(tree: ClusterTree) -> str:
    """Say what joins the trees of a forest: going on where the run stopped early, or changing what keeps them apart."""
    if tree.parameters.get("cannot_link") or tree.parameters.get("max_size"):
        return "go on with tree.develop() if the run stopped early, or drop constraints"
    if "connectivity" in tree.parameters:
        step = f"add edges that join the parts of the graph, or {option('join_components', True)}"
        return f"go on with tree.develop() if the run stopped early, or {step}"
    if "neighbors" in tree.parameters and "join_components" not in tree.parameters:
        return (
            f"go on with tree.develop() if the run stopped early, or join the parts: {option('join_components', True)}"
        )
    if "missing" in tree.parameters:
        step = f"let reliac.cluster_edges join the parts of the graph: {option('join_components', True)}"
        return f"go on with tree.develop() if the run stopped early, or {step}"
    return "go on with tree.develop()"


def _fixed(tree: ClusterTree) -> int:
    """Return the number of joins that no cut undoes: those of objects that must be together, level 1."""
    return int(np.count_nonzero(tree.links["level"] == 1)) if tree.parameters.get("must_link") else 0


def _labels_of_links(tree: ClusterTree, kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Label the objects by the links that are kept; with a link all links below it must be kept."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = tree.n_objects
    rows = np.flatnonzero(kept)
    ends = np.concatenate((tree.links["left"][rows], tree.links["right"][rows]))
    made = np.tile(rows + n, 2)
    nodes = n + len(tree.links)
    graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends, made)), shape=(nodes, nodes)).tocsr()
    component = connected_components(graph, directed=False)[1][:n]
    _, first, inverse = np.unique(component, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def members(labels: NDArray[np.intp], objects: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the objects of every label."""
    order = np.argsort(labels, kind="stable")
    return np.split(objects[order], np.cumsum(np.bincount(labels))[:-1])
