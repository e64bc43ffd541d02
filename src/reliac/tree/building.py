"""Building a tree: what a link is, how joins become links, and the invariants that hold for every tree.

Nodes 0..n-1 are the objects, node n+i is made by link i. The invariants:

1. A link joins two different nodes that exist before it; no node is joined twice.
2. Levels start at 1, never fall, and leave no number out.
3. Distances are finite and at least 0; inside a level they never fall, and inside a group they are equal.
4. Sizes count objects: a link's size is the sum of the sizes of the two nodes it joins.
5. Names, weights and row numbers, where given, have one entry per object; a spanning tree has one pair of objects
   per link, each of them an object of the tree.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvariantError
from ..native.library import address, is_plain, library

if TYPE_CHECKING:
    from .clustertree import ClusterTree

#: One link: the two nodes it joins, their distance, its level, and how many objects are below it.
LINK = np.dtype([("left", "<i8"), ("right", "<i8"), ("distance", "<f8"), ("level", "<i8"), ("size", "<i8")])

#: Trees of more objects than this are built in compiled code.
LARGE = 20_000


def make_links(
    n: int, p: NDArray[np.intp], q: NDArray[np.intp], distance: NDArray[np.float64], level: NDArray[np.intp]
) -> NDArray[np.void]:
    """Turn joins, each given by an object of either side, into links between nodes. O(n) on average."""
    links = np.zeros(len(p), dtype=LINK)
    links["distance"], links["level"] = distance, level
    ends, made = np.array((p, q), np.int64), np.zeros((3, len(p)), np.int64)
    if (native := library()) is not None and native.reliac_nodes(n, len(p), address(ends), address(made)) >= 0:
        pass  # done, by the same lines in C
    elif n <= LARGE:  # lists are quicker than arrays in plain Python
        sets: list[Any] = [*ends.tolist(), *(list(range(n)) for _ in range(3)), [1] * n, *made.tolist()]
        _join_nodes(*sets)
        made = np.array(sets[-3:], np.int64)
    else:  # the same lines, compiled
        _compiled(_join_nodes)(*ends, np.arange(n), np.arange(n), np.arange(n), np.ones(n, np.int64), *made)
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


def with_root(tree: ClusterTree, distance: float, n_clusters: int, one_by_one: bool) -> ClusterTree:
    """Join the trees of a forest at one distance until ``n_clusters`` are left: in one level, or in one each."""
    first = np.flatnonzero(np.diff(np.maximum.accumulate(np.r_[-1, tree.labels()])))  # of every tree its first object
    count = len(first) - n_clusters
    if count <= 0:
        return tree
    from .walks import first_objects

    before = first_objects(tree)
    links, level = tree.links, tree.n_levels + 1
    whole = make_links(
        tree.n_objects,
        np.r_[before[links["left"]], np.full(count, first[0])],
        np.r_[before[links["right"]], first[1 : count + 1]],
        np.r_[links["distance"], np.full(count, distance)],
        np.r_[links["level"], level + np.arange(count) if one_by_one else np.full(count, level)],
    )
    return replace(tree, links=whole, object_pairs=None)


@cache
def _compiled(function: Any) -> Any:
    """Return a loop over arrays as machine code, for trees so large that plain Python would take seconds."""
    from ..engines.compiled.loading import compiled

    return compiled(function)


def check_invariants(tree: ClusterTree) -> None:
    """Raise InvariantError, naming the number of the invariant, if the arrays do not describe a tree."""
    n, links = tree.n_objects, tree.links
    if n < 1 or links.dtype != LINK or links.ndim != 1 or not len(links) < n:
        raise InvariantError(f"not a tree of {n} objects: {links.shape} links of type {links.dtype}")
    # First of all, since below arrays of n entries are made: what has one entry per object proves that n is true.
    for name in ("names", "weights", "objects"):
        array = getattr(tree, name)
        if array is not None and array.shape != (n,):
            raise InvariantError(f"invariant 5: {name} must have one entry per object, {n}, not shape {array.shape}")
    pairs = tree.object_pairs
    if pairs is not None and pairs.shape != (len(links), 2):
        raise InvariantError("invariant 5: a spanning tree must have one pair of objects per link")
    if not len(links) or _are_links(n, links, pairs):
        return
    _check_links(n, *(links[name] for name in ("left", "right", "level", "distance", "size")))
    if pairs is not None and ((pairs < 0).any() or (pairs >= n).any()):
        raise InvariantError("invariant 5: the objects of a spanning tree must be numbers from 0 to n - 1")


def _are_links(n: int, links: NDArray[np.void], pairs: NDArray[np.intp] | None) -> bool:
    """Tell whether C code finds nothing wrong with links; without C code, or if it does, NumPy has to look."""
    native = library()
    if native is None or not is_plain(links) or (pairs is not None and not is_plain(pairs)):
        return False
    return bool(native.reliac_are_links(n, len(links), address(links), None if pairs is None else address(pairs)))


def _check_links(n: int, left: Any, right: Any, level: Any, distance: Any, size: Any) -> None:
    """Check the links of a tree, one or more; ``native/nodes.c`` has a twin."""
    ends, made = np.concatenate((left, right)), np.arange(n, n + len(left))
    if ends.min() < 0 or (left >= made).any() or (right >= made).any() or np.bincount(ends).max() > 1:
        raise InvariantError("invariant 1: a link must join two existing nodes, each node at most once")
    steps = level[1:] - level[:-1]
    if level[0] != 1 or ((steps != 0) & (steps != 1)).any():
        raise InvariantError("invariant 2: levels must start at 1, never fall and leave no number out")
    if not 0.0 <= distance.min() <= distance.max() < np.inf:  # NaN is neither
        raise InvariantError("invariant 3: distances must be finite and at least 0")
    if ((distance[1:] < distance[:-1]) & (steps == 0)).any():
        raise InvariantError("invariant 3: distances must not fall inside a level")
    for part in (left, right):
        inner = (part >= n).nonzero()[0]
        below = part[inner] - n
        if ((level[inner] == level[below]) & (distance[inner] != distance[below])).any():
            raise InvariantError("invariant 3: the links of a group must have one distance")
    sizes = np.concatenate((np.ones(n, dtype=np.int64), size))
    if (sizes[left] + sizes[right] != size).any():
        raise InvariantError("invariant 4: a link's size must be the sum of its parts' sizes")
