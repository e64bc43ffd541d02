"""Where everything in a picture of a tree goes: coordinates and texts, without any drawing. No recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..input.options import check_count
from .walks import check_order, first_objects, parents

if TYPE_CHECKING:
    from .clustertree import ClusterTree

#: Names longer than this lose their middle.
LONGEST_NAME = 24

#: Neighbouring leaves are 1 apart; neighbouring trees of a forest this much more.
TREE_GAP = 0.75

#: Half the width of the triangle that stands for the hidden joins of a cluster.
TRIANGLE = 0.3

#: The quantiles of the cluster sizes that :func:`level_sizes` gives.
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


class Dendrogram(NamedTuple):
    """A drawing of a tree, or of its top part. Leaves stand on the x axis, heights are the true distances."""

    paths: NDArray[np.float64]  # (m, 4, 2): a bracket for every link shown, a triangle for every cluster not opened
    nodes: NDArray[np.intp]  # (m,) the node that each path draws
    leaves: NDArray[np.intp]  # (k,) the node at each leaf, from left to right
    positions: NDArray[np.float64]  # (k,) their places on the x axis
    texts: list[str]  # (k,) an object's name, or [size]
    roots: NDArray[np.float64]  # (t, 2) the tops of the trees


def dendrogram(tree: ClusterTree, max_leaves: int = 60, order: ArrayLike | None = None) -> Dendrogram:
    """Lay out a tree with at most ``max_leaves`` leaves, joins with the largest distances shown first.

    Leaves are the clusters of ``tree.labels(max_leaves)``. A forest of more trees than that shows the largest ones,
    unopened. Leaves come as in ``order``, or as in ``tree.leaf_order``. Costs O(n) beside the labels.
    """
    most = check_count("max_leaves", max_leaves, 1, np.inf, "give the number of leaves to show")
    links, n = tree.links, tree.n_objects
    first = first_objects(tree)
    labels = tree.labels(min(max(most, tree.n_clusters), n))
    shown = np.flatnonzero(labels[first[links["left"]]] != labels[first[links["right"]]])
    roots = np.flatnonzero(parents(tree) < 0)
    ends = np.concatenate((roots, links["left"][shown], links["right"][shown]))
    size = np.concatenate((np.ones(n, dtype=np.int64), links["size"]))
    height = np.concatenate((np.zeros(n), links["distance"]))

    leaves = _largest(np.setdiff1d(ends, n + shown), size, most)
    rank = np.empty(n, dtype=np.intp)
    rank[tree.leaf_order if order is None else check_order(tree, order)] = np.arange(n)
    leaves = leaves[np.argsort(rank[first[leaves]])]
    tree_of_object = tree.labels()
    positions = _spread(tree_of_object[first[leaves]])

    centre = dict(zip(leaves.tolist(), positions.tolist(), strict=True))
    brackets = _brackets(tree, shown, centre, height)
    closed = leaves[leaves >= n]
    tops = [root for root in roots.tolist() if root in centre]
    return Dendrogram(
        paths=np.concatenate((_triangles(closed, centre, height), brackets)),
        nodes=np.concatenate((closed, n + shown)),
        leaves=leaves,
        positions=positions,
        texts=_texts(tree, leaves, size),
        roots=np.array([(centre[root], height[root]) for root in tops], dtype=np.float64).reshape(-1, 2),
    )


def clusters_of_nodes(tree: ClusterTree, nodes: NDArray[np.intp], n_clusters: int) -> NDArray[np.intp]:
    """Return for each node the cluster of ``tree.labels(n_clusters)`` that holds it, -1 if it spans several."""
    labels = tree.labels(n_clusters)
    first = first_objects(tree)
    found: NDArray[np.intp] = labels[first[nodes]]
    inner = np.flatnonzero(nodes >= tree.n_objects)
    # Cuts are nested, so a node lies inside one cluster as soon as the last join in it does.
    right = tree.links["right"][nodes[inner] - tree.n_objects]
    found[inner[labels[first[right]] != found[inner]]] = -1
    return found


def level_sizes(tree: ClusterTree, levels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the QUANTILES of the cluster sizes at some levels, (len(levels), 5). Costs O(n) a level."""
    n = tree.n_objects
    size = np.concatenate((np.ones(n, dtype=np.int64), tree.links["size"]))
    made = np.concatenate((np.zeros(n, dtype=np.int64), tree.links["level"]))
    above = parents(tree)
    joined = np.where(above < 0, tree.n_levels + 1, made[above])
    alive = ((made <= level) & (level < joined) for level in levels.tolist())
    return np.array([np.quantile(size[some], QUANTILES) for some in alive]).reshape(-1, len(QUANTILES))


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Bring a name onto one line and cut out its middle where it is too long.

    >>> shorten("a rather long name of an object", 15)
    'a rather …bject'
    """
    line = " ".join(name.split())
    if len(line) <= longest:
        return line
    tail = (longest - 1) * 2 // 5
    return line[: longest - 1 - tail] + "…" + line[len(line) - tail :]


def _largest(nodes: NDArray[np.intp], size: NDArray[np.int64], most: int) -> NDArray[np.intp]:
    return nodes[np.argsort(-size[nodes], kind="stable")[:most]]


def _spread(trees: NDArray[np.intp]) -> NDArray[np.float64]:
    """Place leaves side by side, with a gap where one tree ends and the next begins."""
    steps = np.where(np.diff(trees) != 0, 1.0 + TREE_GAP, 1.0)
    return np.concatenate(([0.0], np.cumsum(steps)))


def _brackets(
    tree: ClusterTree, shown: NDArray[np.intp], centre: dict[int, float], height: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw every shown link as a bracket over its two parts; write the middles into ``centre``.

    The links of one group lie at one height and look like one long bar. Its stem rises from the middle of the
    bar, so that a tie of many does not lean to one side.
    """
    n, level = tree.n_objects, tree.links["level"]
    paths = np.empty((len(shown), 4, 2))
    span: dict[int, tuple[float, float]] = {}
    for place, row in enumerate(shown.tolist()):
        left, right, distance = (tree.links[name][row].item() for name in ("left", "right", "distance"))
        x_left, x_right = centre[left], centre[right]
        paths[place] = ((x_left, height[left]), (x_left, distance), (x_right, distance), (x_right, height[right]))
        bars = [(x_left, x_right)]
        bars += [span[part] for part in (left, right) if part in span and level[part - n] == level[row]]
        low, high = min(map(min, bars)), max(map(max, bars))
        span[n + row] = low, high
        centre[n + row] = (low + high) / 2.0
    return paths


def _triangles(closed: NDArray[np.intp], centre: dict[int, float], height: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw every unopened cluster as a triangle as high as its last join."""
    x = np.array([centre[node] for node in closed.tolist()])
    paths = np.zeros((len(closed), 4, 2))
    paths[:, 0, 0] = paths[:, 3, 0] = x
    paths[:, 1, 0], paths[:, 2, 0] = x - TRIANGLE, x + TRIANGLE
    paths[:, 0, 1] = paths[:, 3, 1] = height[closed]
    return paths


def _texts(tree: ClusterTree, leaves: NDArray[np.intp], size: NDArray[np.int64]) -> list[str]:
    n = tree.n_objects
    names = tree.object_names
    return [shorten(str(names[node])) if node < n else f"[{size[node]}]" for node in leaves.tolist()]
