"""Walks through a tree, up or down: parents, first objects, heights, the order of the leaves. No recursion anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import explain
from ..input.condensed import pairs as all_pairs
from ..machine import check_memory

if TYPE_CHECKING:
    from .clustertree import ClusterTree

#: What :func:`cophenetic` takes at once for all pairs of n objects, divided by n^2 (measured).
BYTES_OF_ALL_PAIRS = 34


def first_objects(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the first object of every node: on the left, always."""
    return ends_of(np.concatenate((np.arange(tree.n_objects), tree.links["left"])).astype(np.intp))


def parents(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the parent of every node, -1 for roots."""
    made = np.arange(tree.n_objects, tree.n_objects + len(tree.links))
    parent = np.full(tree.n_objects + len(tree.links), -1, dtype=np.intp)
    parent[tree.links["left"]] = made
    parent[tree.links["right"]] = made
    return parent


def roots_in_order(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the tops of the trees, in the order of their first objects: that of ``labels()``."""
    roots = np.flatnonzero(parents(tree) < 0)
    return roots[np.argsort(first_objects(tree)[roots])]


def links_above(tree: ClusterTree) -> NDArray[np.intp]:
    """Return for every link the one that joins what it makes; itself where nothing does."""
    above = parents(tree)[tree.n_objects :] - tree.n_objects
    return np.where(above < 0, np.arange(len(above)), above)


def ends_of(pointers: NDArray[np.intp]) -> NDArray[np.intp]:
    """Follow pointers until each reaches one that points to itself, in steps of doubling length."""
    while (pointers != (further := pointers[pointers])).any():
        pointers = further
    return pointers


def group_tops(tree: ClusterTree, among: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """Return for every link the last link of its group: what one step joins, or the part of it that is ``among``."""
    above, level = links_above(tree), tree.links["level"]
    together = level[above] == level
    if among is not None:
        together &= among & among[above]
    return ends_of(np.where(together, above, np.arange(len(above))))


def at_or_below(tree: ClusterTree, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which links are marked or have a marked one above them, in steps of doubling length."""
    found, above = marked.copy(), links_above(tree)
    while True:
        found |= found[above]
        further = above[above]
        if np.array_equal(further, above):
            return found
        above = further


def monotone_distances(tree: ClusterTree) -> NDArray[np.float64]:
    """Return for every link the largest distance at or below it."""
    n = tree.n_objects
    height = [0.0] * n + tree.links["distance"].tolist()
    for row, (left, right) in enumerate(zip(tree.links["left"].tolist(), tree.links["right"].tolist(), strict=True)):
        height[n + row] = max(height[n + row], height[left], height[right])
    return np.array(height[n:], dtype=np.float64)


def leaf_order(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the objects in an order in which every cluster is contiguous, trees by their first object."""
    n = tree.n_objects
    size = [1] * n + tree.links["size"].tolist()
    position = [0] * (n + len(tree.links))
    offset = 0
    for root in roots_in_order(tree).tolist():
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


def check_order(tree: ClusterTree, order: ArrayLike) -> NDArray[np.intp]:
    """Refuse an order of the objects in which some cluster is not contiguous."""
    n, objects = tree.n_objects, _as_array(order)
    step = "pass what tree.order_leaves() gives, or leave it out"
    if objects.shape != (n,) or objects.dtype.kind not in "iu" or not np.array_equal(np.sort(objects), np.arange(n)):
        given = f"An order of shape {objects.shape} and type {objects.dtype}"
        raise ValueError(explain(given, f"every object from 0 to {n - 1} once", step))
    place = np.empty(n, dtype=np.intp)
    place[objects] = np.arange(n)
    low, high, left, right = place.tolist(), place.tolist(), tree.links["left"], tree.links["right"]
    for row, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        low.append(min(low[a], low[b]))
        high.append(max(high[a], high[b]))
        if high[-1] - low[-1] >= tree.links["size"][row]:
            given = f"An order in which objects of other clusters stand between those of cluster {n + row}"
            raise ValueError(explain(given, "orders in which every cluster of the tree is contiguous", step))
    return objects.astype(np.intp)


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


def _as_array(values: Any) -> NDArray[Any]:
    """Return values as an array; what cannot be one becomes a single object, which no check lets pass."""
    try:
        return np.asarray(values)
    except Exception:  # an object says in its own way that it cannot be an array
        return np.array(None)


def cophenetic(tree: ClusterTree, pairs: ArrayLike | None) -> NDArray[np.float64]:
    """Look up the link that first holds both objects: the last one made between them in leaf order.

    Range maxima over blocks of doubling length (n log n memory) answer every pair in constant time.
    """
    n = tree.n_objects
    if pairs is None:
        step = "ask for the pairs that you need: tree.cophenetic(pairs)"
        check_memory(BYTES_OF_ALL_PAIRS * n**2, f"The distance of all pairs of {n} objects", step)
        i, j = all_pairs(n)
    else:
        table = _as_array(pairs)
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
