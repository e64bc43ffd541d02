"""Pure functions of a tree: labels, levels, spanning tree, outliers, layouts. No recursion anywhere."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import explain, option, unknown_name
from ..input.options import check_count, check_number

if TYPE_CHECKING:
    from .clustertree import ClusterTree

#: One link: the two nodes it joins, their distance, its level, and how many objects are below it.
LINK = np.dtype([("left", "<i8"), ("right", "<i8"), ("distance", "<f8"), ("level", "<i8"), ("size", "<i8")])

#: Trees of more objects than this are walked in compiled code.
LARGE = 100_000

#: Levels that a printed tree shows before it leaves out the middle ones.
LEVELS_SHOWN = 12


class SpanningTree(NamedTuple):
    """A minimum spanning tree, or forest: pairs of objects, their distances, the levels that linked them."""

    pairs: NDArray[np.intp]
    weights: NDArray[np.float64]
    levels: NDArray[np.intp]


def make_links(
    n: int, p: NDArray[np.intp], q: NDArray[np.intp], distance: NDArray[np.float64], level: NDArray[np.intp]
) -> NDArray[np.void]:
    """Turn joins, each given by an object of either side, into links between nodes. O(n) on average."""
    links = np.zeros(len(p), dtype=LINK)
    links["distance"], links["level"] = distance, level
    ends = p.astype(np.int64), q.astype(np.int64)
    made: list[Any]
    if n <= LARGE:  # lists are quicker than arrays in plain Python
        made = [[0] * len(p) for _ in range(3)]
        sets: list[Any] = [*(end.tolist() for end in ends), *(list(range(n)) for _ in range(3)), [1] * n]
        _join_nodes(*sets, *made)
    else:  # the same lines, compiled
        made = [np.zeros(len(p), np.int64) for _ in range(3)]
        compiled(_join_nodes)(*ends, np.arange(n), np.arange(n), np.arange(n), np.ones(n, np.int64), *made)
    links["left"], links["right"], links["size"] = made
    return links


def _join_nodes(p: Any, q: Any, root: Any, node: Any, first: Any, size: Any, left: Any, right: Any, sizes: Any) -> None:
    """Follow joins with sets of objects: their node, first object and size. Lists or arrays of integers."""
    n = len(root)
    for row in range(len(p)):
        a, b = p[row], q[row]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if first[a] > first[b]:
            a, b = b, a
        left[row], right[row] = node[a], node[b]
        sizes[row] = size[a] + size[b]
        low = first[a]
        if size[a] < size[b]:
            a, b = b, a
        root[b] = a
        node[a] = n + row
        size[a] = sizes[row]
        first[a] = low


@cache
def compiled(function: Any) -> Any:
    """Return a loop over arrays as machine code, for trees so large that plain Python would take seconds."""
    import numba

    return numba.njit(cache=True)(function)


def first_objects(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the first object of every node: on the left, always."""
    first = list(range(tree.n_objects))
    for left in tree.links["left"].tolist():
        first.append(first[left])
    return np.array(first, dtype=np.intp)


def parents(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the parent of every node, -1 for roots."""
    made = np.arange(tree.n_objects, tree.n_objects + len(tree.links))
    parent = np.full(tree.n_objects + len(tree.links), -1, dtype=np.intp)
    parent[tree.links["left"]] = made
    parent[tree.links["right"]] = made
    return parent


def monotone_distances(tree: ClusterTree) -> NDArray[np.float64]:
    """Return for every link the largest distance at or below it."""
    n = tree.n_objects
    height = [0.0] * n + tree.links["distance"].tolist()
    for row, (left, right) in enumerate(zip(tree.links["left"].tolist(), tree.links["right"].tolist(), strict=True)):
        height[n + row] = max(height[n + row], height[left], height[right])
    return np.array(height[n:], dtype=np.float64)


# --- clusters ---


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
    if by not in ("distance", "level"):
        raise ValueError(unknown_name("order", by, ["distance", "level"]))
    kept = np.ones(len(tree.links), dtype=bool)
    if n_clusters is not None:
        step = "ask for a number in this range" if tree.n_clusters == 1 else "go on with tree.develop() to get fewer"
        count = check_count("n_clusters", n_clusters, tree.n_clusters, tree.n_objects, step)
        order = np.argsort(tree.monotone_distances, kind="stable") if by == "distance" else np.arange(len(kept))
        kept[order[tree.n_objects - count :]] = False
    elif level is not None:
        step = "count from 0, the single objects, to n_levels, the last"
        kept = tree.links["level"] <= check_count("level", level, 0, tree.n_levels, step)
    elif distance is not None:
        step = "give the distance above which joins are undone"
        kept = tree.monotone_distances <= check_number("distance", distance, 0.0, math.inf, step)
    return _labels_of_links(tree, kept)


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


# --- levels ---


def join_levels(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the level at which each object first joins another; n_levels + 1 if it never does."""
    level = np.full(tree.n_objects + len(tree.links), tree.n_levels + 1, dtype=np.intp)
    level[tree.links["left"]] = tree.links["level"]
    level[tree.links["right"]] = tree.links["level"]
    return level[: tree.n_objects]


def outlier_scores(tree: ClusterTree) -> NDArray[np.float64]:
    """Return join level / n_levels, at most 1."""
    return np.minimum(tree.join_levels / max(tree.n_levels, 1), 1.0)


def spanning_tree(tree: ClusterTree) -> SpanningTree:
    """Return the object pairs that the links of the single criterion stand for."""
    if tree.object_pairs is None:
        criterion = tree.parameters.get("criterion")
        raise ValueError(
            explain(
                f"A tree of criterion {criterion!r} has no spanning tree",
                option("criterion", "single"),
                "make the tree with the single criterion",
            )
        )
    return SpanningTree(tree.object_pairs, tree.links["distance"].copy(), tree.links["level"].astype(np.intp))


# --- layout ---


def leaf_order(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the objects in an order in which every cluster is contiguous, trees by their first object."""
    n = tree.n_objects
    size = [1] * n + tree.links["size"].tolist()
    position = [0] * (n + len(tree.links))
    roots = np.flatnonzero(parents(tree) < 0)
    offset = 0
    for root in roots[np.argsort(first_objects(tree)[roots])].tolist():
        position[root] = offset
        offset += size[root]
    left, right = tree.links["left"].tolist(), tree.links["right"].tolist()
    for row in range(len(tree.links) - 1, -1, -1):
        start = position[n + row]
        position[left[row]] = start
        position[right[row]] = start + size[left[row]]
    order = np.empty(n, dtype=np.intp)
    order[position[:n]] = np.arange(n)
    return order


def boundaries(tree: ClusterTree) -> NDArray[np.intp]:
    """Return for each two neighbours in leaf order the link that brings them together, or len(links) for none."""
    n = tree.n_objects
    size = np.concatenate((np.ones(n, dtype=np.intp), tree.links["size"]))
    start = np.empty(n + len(tree.links), dtype=np.intp)
    start[tree.leaf_order] = np.arange(n)
    start = start[first_objects(tree)]
    between = np.full(max(n - 1, 0), len(tree.links), dtype=np.intp)
    left = tree.links["left"]
    between[start[left] + size[left] - 1] = np.arange(len(tree.links))
    return between


def cophenetic(tree: ClusterTree, pairs: ArrayLike | None) -> NDArray[np.float64]:
    """Look up the link that first holds both objects: the last one made between them in leaf order.

    Range maxima over blocks of doubling length (n log n memory) answer every pair in constant time.
    """
    n = tree.n_objects
    if pairs is None:
        i, j = np.triu_indices(n, 1)
    else:
        table = np.asarray(pairs)
        if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
            given = f"pairs of shape {table.shape} and type {table.dtype}"
            raise ValueError(explain(given, "whole numbers of shape (m, 2)", "pass rows (i, j)"))
        outside = np.flatnonzero(((table < 0) | (table >= n)).any(axis=1))
        if len(outside):
            given = f"Pair {tuple(table[outside[0]].tolist())} in row {outside[0]} of pairs"
            raise ValueError(explain(given, f"rows (i, j) of objects from 0 to {n - 1}", "correct or drop that pair"))
        i, j = table[:, 0], table[:, 1]
    position = np.empty(n, dtype=np.intp)
    position[tree.leaf_order] = np.arange(n)
    low, high = np.minimum(position[i], position[j]), np.maximum(position[i], position[j])
    same = low == high
    highest = [boundaries(tree)]
    while 2 ** len(highest) <= n - 1:
        half = 2 ** (len(highest) - 1)
        highest.append(np.maximum(highest[-1][:-half], highest[-1][half:]))
    distance = np.append(tree.links["distance"], np.inf)
    result = np.zeros(len(low))
    scale = np.zeros(len(low), dtype=np.intp)
    scale[~same] = np.log2(high[~same] - low[~same]).astype(np.intp)
    for power, block in enumerate(highest):
        some = ~same & (scale == power)
        link = np.maximum(block[low[some]], block[high[some] - 2**power])
        result[some] = distance[link]
    return result


def level_rows(tree: ClusterTree) -> list[tuple[int, int, int, float | None, float | None]]:
    """Return for every level its number, its clusters, its joins, and their smallest and largest distance."""
    first = np.searchsorted(tree.links["level"], np.arange(1, tree.n_levels + 2)).tolist()
    counts, distance = tree.cluster_counts.tolist(), tree.links["distance"].tolist()
    return [
        (0, tree.n_objects, 0, None, None),
        *(
            (level, counts[level], end - start, distance[start], distance[end - 1])
            for level, (start, end) in enumerate(pairwise(first), 1)
        ),
    ]


def summary(tree: ClusterTree) -> str:
    """Return a small table of the tree: objects, levels, clusters per level, engine and why."""
    parameters = ", ".join(f"{name} {value}" for name, value in tree.parameters.items() if value is not None)
    clusters = "1 cluster" if tree.n_clusters == 1 else f"{tree.n_clusters} clusters"
    lines = [
        f"ClusterTree of {tree.n_objects} objects: {tree.n_levels} levels, {clusters} at the last",
        f"  {parameters}",
        f"  engine {tree.engine} ({tree.reason})",
        "  level  clusters  joins  smallest distance  largest distance",
    ]
    half = LEVELS_SHOWN // 2
    for level, count, joins, smallest, largest in level_rows(tree):
        if tree.n_levels > LEVELS_SHOWN and half <= level <= tree.n_levels - half:
            if level == half:
                lines.append(f"    ...  ({tree.n_levels - 2 * half + 1} levels)")
            continue
        row = f"  {level:5d}  {count:8d}"
        lines.append(row if not level else f"{row}  {joins:5d}  {smallest:17.6g}  {largest:16.6g}")
    return "\n".join(lines)


def has_ties(tree: ClusterTree) -> bool:
    """Tell whether some step joined three clusters or more at once."""
    level = np.concatenate((np.zeros(tree.n_objects, dtype=np.int64), tree.links["level"]))
    return bool(
        ((level[tree.links["left"]] == tree.links["level"]) | (level[tree.links["right"]] == tree.links["level"])).any()
    )
