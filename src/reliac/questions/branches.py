"""Cuts that decide branch by branch: by how long clusters live, or by how far a join stands out from those below it.

Both decide by the tree alone and without recursion; a group that one step joins is one join where lifetimes count.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, known_name, option
from ..input.options import check_count, check_number
from ..tree.clustertree import ClusterTree
from ..tree.cuts import labels_of_links
from ..tree.walks import ends_of, group_tops, parents

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

#: The options of each way to decide, and their defaults.
OPTIONS: dict[str, dict[str, Any]] = {
    "lifetime": {"min_size": 5},
    "inconsistency": {"threshold": 1.0, "depth": 2},
}


def branches(tree: ClusterTree, by: Any, **given: Any) -> Indices:
    """Label the objects; see :meth:`reliac.ClusterTree.branches`. Options that are None have their defaults."""
    known = OPTIONS[known_name("way to cut branches", by, OPTIONS)]
    for name, value in given.items():
        if value is not None and name not in known:
            fitting = ", ".join(way for way, names in OPTIONS.items() if name in names)
            given_text = f"{option(name, value)} with {option('by', by)}"
            raise ValueError(explain(given_text, f"{', '.join(known)}", f"leave it out, or use by={fitting!r}"))
    chosen = known | {name: value for name, value in given.items() if value is not None}
    if by == "lifetime":
        return by_lifetime(tree, check_count("min_size", chosen["min_size"], 1, tree.n_objects, "give a smaller one"))
    step = "give the largest coefficient that a join may have inside a cluster"
    threshold = check_number("threshold", chosen["threshold"], -math.inf, math.inf, step)
    depth = check_count("depth", chosen["depth"], 1, math.inf, "2 compares a join with the two below it")
    return by_inconsistency(tree, threshold, depth)


# --- inconsistency ---


def by_inconsistency(tree: ClusterTree, threshold: float, depth: int) -> Indices:
    """Keep the joins that stand out by at most ``threshold``, and above none that stands out more."""
    undone = (inconsistency(tree, depth) > threshold).tolist()
    for row, parent in enumerate((parents(tree)[tree.n_objects :] - tree.n_objects).tolist()):
        if undone[row] and parent >= 0:  # a link stands before the one above it
            undone[parent] = True
    return labels_of_links(tree, ~np.array(undone, dtype=bool))


def inconsistency(tree: ClusterTree, depth: int = 2) -> Floats:
    """Return for every link how far its distance stands out: (distance - mean) / deviation, as SciPy has it.

    Mean and (sample) deviation are those of the link and the links below it down to ``depth`` levels of the tree, its
    own counted; where all of them are equal the coefficient is 0. One pass for each level: a link adds its distance to
    those of the links above it.
    """
    count, distance = len(tree.links), tree.links["distance"]
    number, shift, squares = np.zeros(count), np.zeros(count), np.zeros(count)
    uneven = np.zeros(count, dtype=bool)  # one of them differs; equal numbers have no deviation, rounded or not
    steps = list(_upwards(parents(tree)[tree.n_objects :] - tree.n_objects, depth))
    for upper, lower in steps:
        number += np.bincount(upper, minlength=count)
        shift += np.bincount(upper, weights=distance[lower] - distance[upper], minlength=count)
        uneven[upper[distance[upper] != distance[lower]]] = True
    mean = distance + shift / np.maximum(number, 1.0)
    for upper, lower in steps:
        squares += np.bincount(upper, weights=(distance[lower] - mean[upper]) ** 2, minlength=count)
    deviation = np.sqrt(squares / np.maximum(number - 1.0, 1.0))
    standing_out = np.zeros(count)
    np.divide(distance - mean, deviation, out=standing_out, where=uneven & (deviation > 0.0))
    return standing_out


def _upwards(above: Indices, depth: int) -> Any:
    """Give pairs of links: each with itself, then with the one above it, and so on, ``depth`` times."""
    lower = upper = np.arange(len(above))
    for _ in range(depth):
        if not len(upper):
            return
        yield upper, lower
        higher = above[upper]
        lower, upper = lower[higher >= 0], higher[higher >= 0]


# --- lifetime ---


class Condensed(NamedTuple):
    """The clusters that are large enough, each from where it begins to where it ends; small parts only fall off.

    ``head``: of every node that is large enough the highest node of its cluster; ``excess``: of every such head.
    """

    up: Indices  # the node above every node, -1 for none
    head: Indices
    heads: Indices
    excess: Floats


def by_lifetime(tree: ClusterTree, min_size: int) -> Indices:
    """Choose the clusters, none inside another, whose excess of mass is largest in all; of equal choices the larger."""
    found = condensed(tree, min_size)
    chosen = _best_choice(tree, found)
    node = np.arange(len(found.up))
    stops = chosen | (found.up < 0)
    end = ends_of(np.where(stops, node, found.up))[: tree.n_objects]
    _, first, inverse = np.unique(end, return_index=True, return_inverse=True)
    kept = chosen[end[first]]
    rank = np.full(len(first), -1)
    order = np.argsort(np.where(kept, first, tree.n_objects), kind="stable")[: int(kept.sum())]
    rank[order] = np.arange(len(order))
    return rank[inverse]


def condensed(tree: ClusterTree, min_size: int) -> Condensed:
    """Follow every cluster of at least ``min_size`` objects down until it falls into two such clusters, or none.

    A group that one step joins is one node. A node with one large part goes on as that part.
    """
    n, links = tree.n_objects, tree.links
    nodes = np.arange(n + len(links))
    top = group_tops(tree)
    parent = parents(tree)
    up = np.where(parent < 0, -1, n + np.append(top, 0)[np.maximum(parent - n, -1)])
    size = np.concatenate((np.ones(n, dtype=np.intp), links["size"]))
    height = np.concatenate((np.zeros(n), tree.monotone_distances))
    large = (size >= min_size) & np.concatenate((np.ones(n, dtype=bool), top == np.arange(len(links))))
    below = large & (up >= 0)
    parts = np.bincount(up[below], minlength=len(nodes))
    goes_on = below & (parts[up] == 1)
    head = ends_of(np.where(goes_on, up, nodes))
    leaving = size - np.bincount(up[goes_on], weights=size[goes_on], minlength=len(nodes))
    birth = np.where(up >= 0, height[up], height.max())  # a whole tree: when the last join of all trees is made
    excess = np.bincount(head[large], weights=((birth[head] - height) * leaving)[large], minlength=len(nodes))
    return Condensed(up, head, np.flatnonzero(large & (head == nodes)), np.asarray(excess, dtype=np.float64))


def _best_choice(tree: ClusterTree, found: Condensed) -> Flags:
    """Tell which nodes are chosen: from below, a cluster if it has at least the excess of the best choice inside it."""
    inside = dict.fromkeys(found.heads.tolist(), 0.0)
    parts = set()
    best: dict[int, bool] = {}
    for node in found.heads.tolist():  # a node stands before the one above it
        above, own = int(found.up[node]), float(found.excess[node])
        whole = above < 0 and tree.n_clusters == 1  # all objects in one cluster: only if nothing else is there
        best[node] = node not in parts or (own >= inside[node] and not whole)
        if above >= 0:
            parts.add(int(found.head[above]))
            inside[int(found.head[above])] += own if best[node] else inside[node]
    chosen = np.zeros(len(found.up), dtype=bool)
    taken: dict[int, bool] = {}
    for node in reversed(found.heads.tolist()):
        above = int(found.up[node])
        covered = above >= 0 and taken[int(found.head[above])]
        chosen[node] = best[node] and not covered
        taken[node] = covered or best[node]
    return chosen
