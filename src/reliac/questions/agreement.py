"""How far two trees of the same objects agree: in their clusters, their cuts, their distances and their leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..input.options import check_number
from ..tree.clustertree import ClusterTree
from ..tree.cuts import join_order
from ..tree.walks import parents, roots_in_order
from .cophenetic import correlate_trees
from .matching import match_objects

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Rounds in which two orders of leaves are turned towards each other, at most.
ROUNDS = 20


@dataclass(frozen=True, eq=False)
class TreeAgreement:
    """What two trees of the same objects have in common; see :meth:`reliac.ClusterTree.agreement`."""

    n_objects: int
    cophenetic: float  # NaN where a tree is a forest
    pairs_sampled: int | None  # None: all pairs
    n_clusters: Indices  # K = fewest, ..., n
    fowlkes_mallows: Floats  # for each of these K
    robinson_foulds: int
    robinson_foulds_share: float
    entanglement: float
    orders: tuple[Indices, Indices]  # of the leaves of both trees, each by its own numbers

    def __repr__(self) -> str:
        """Return a small table of all measures, B_k at a few K."""
        told = {
            "cophenetic correlation": f"{self.cophenetic:.4f}",
            "Robinson-Foulds": f"{self.robinson_foulds} clusters in one tree only, {self.robinson_foulds_share:.4f}",
            "entanglement": f"{self.entanglement:.4f}",
        }
        if self.pairs_sampled is not None:
            told["cophenetic correlation"] += f" (of {self.pairs_sampled} sampled pairs)"
        if np.isnan(self.cophenetic):
            told["cophenetic correlation"] = "none: some pairs never come together, or all do at one distance"
        few = [k for k in (2, 3, 5, 10, 20, 50) if self.n_clusters[0] <= k < self.n_objects]
        told |= {f"Fowlkes-Mallows, K={k}": f"{self.fowlkes_mallows[k - self.n_clusters[0]]:.4f}" for k in few}
        lines = [f"  {name:<24}{value}" for name, value in told.items()]
        return "\n".join([f"Agreement of two trees of {self.n_objects} objects", *lines])


def agreement(tree: ClusterTree, other: ClusterTree, exponent: float, seed: int) -> TreeAgreement:
    """Compare two trees; see :meth:`reliac.ClusterTree.agreement`."""
    check_number("exponent", exponent, 1e-6, 100.0, "leave it out for 1.5")
    same = match_objects(tree, other)
    correlation, pairs = correlate_trees(tree, other, same, seed)
    differ, share = robinson_foulds(tree, other, same)
    orders = untangled(tree, other, same, exponent)
    counts, values = fowlkes_mallows(tree, other, same)
    tangle = entanglement(orders[0], same[orders[1]], exponent)
    return TreeAgreement(tree.n_objects, correlation, pairs, counts, values, differ, share, tangle, orders)


# --- clusters ---


def robinson_foulds(tree: ClusterTree, other: ClusterTree, same: Indices) -> tuple[int, float]:
    """Return the number of clusters that only one of the trees has, and its share of the clusters of both.

    A tie is one cluster, not a chain of joins; single objects, and a cluster of all objects, do not count. In the leaf
    order of one tree its clusters are runs, so a cluster of the other one is among them only if it is a run too, from
    the same place to the same place (Day 1985): O(n).
    """
    n = tree.n_objects
    place = np.empty(n, dtype=np.intp)
    place[tree.leaf_order] = np.arange(n)
    own = _runs(tree, place)
    others = _runs(other, place[same])
    shared = len(own & others)  # runs that other objects interrupt are longer than their sizes, and equal none
    differ = len(own) + len(others) - 2 * shared
    return differ, differ / (len(own) + len(others)) if own or others else 0.0


def _runs(tree: ClusterTree, place: Indices) -> set[tuple[int, int, int]]:
    """Return for every cluster of 2 to n - 1 objects the first and last of their places, and their number."""
    n, links = tree.n_objects, tree.links
    low, high = place.tolist(), place.tolist()
    for left, right in zip(links["left"].tolist(), links["right"].tolist(), strict=True):
        low.append(min(low[left], low[right]))
        high.append(max(high[left], high[right]))
    level = np.concatenate((np.zeros(n, dtype=np.int64), links["level"]))
    above = parents(tree)[n:]
    whole = np.flatnonzero((above < 0) | (level[above] != level[n:])).tolist()  # not joined on in the same step
    size = links["size"].tolist()
    return {(low[n + row], high[n + row], size[row]) for row in whole if size[row] < n}


# --- cuts ---


def fowlkes_mallows(tree: ClusterTree, other: ClusterTree, same: Indices) -> tuple[Indices, Floats]:
    """Return K, from the fewest clusters that both trees have to n, and B_k of ``labels(K)`` of both trees.

    B_k = T / sqrt(P Q) with T the pairs of objects that both cuts put together, P and Q those that either does; 0
    where nothing is together. A step from K to K - 1 joins two clusters in each tree. Of the table that counts objects
    in common the smaller row (or column) is added to the larger one: O(n log n) for all K.
    """
    n, fewest = tree.n_objects, max(tree.n_clusters, other.n_clusters)
    rows, columns = _Side(tree), _Side(other)
    rows.shared = {own: {column: 1} for column, own in enumerate(same.tolist())}
    columns.shared = {column: {own: 1} for column, own in enumerate(same.tolist())}
    together, found = 0, [0.0]
    for step in range(n - fewest):
        together += rows.join(step, columns) + columns.join(step, rows)
        found.append(together / (rows.pairs * columns.pairs) ** 0.5)
    return np.arange(fewest, n + 1), np.array(found[::-1])


class _Side:
    """The clusters of one tree while it is cut at fewer and fewer clusters."""

    def __init__(self, tree: ClusterTree) -> None:
        n = tree.n_objects
        self.order = join_order(tree, "distance").tolist()
        self.left, self.right = tree.links["left"].tolist(), tree.links["right"].tolist()
        self.size = [1] * n + tree.links["size"].tolist()
        self.row_of = list(range(n)) + [0] * len(tree.links)  # which row of the table a node has
        self.shared: dict[int, dict[int, int]] = {}  # rows: clusters of the other side, and objects in common
        self.pairs = 0  # of objects that are together

    def join(self, step: int, opposite: _Side) -> int:
        """Join the next two clusters; return how many more pairs of objects are now together on both sides."""
        link = self.order[step]
        left, right = self.left[link], self.right[link]
        self.pairs += self.size[left] * self.size[right]
        into, gone = self.row_of[left], self.row_of[right]
        if len(self.shared[into]) < len(self.shared[gone]):
            into, gone = gone, into
        self.row_of[len(self.row_of) - len(self.left) + link] = into
        row, more = self.shared[into], 0
        for column, count in self.shared.pop(gone).items():
            both = row.get(column, 0)
            more += both * count
            row[column] = both + count
            mirrored = opposite.shared[column]
            del mirrored[gone]
            mirrored[into] = both + count
        return more


# --- leaves ---


def entanglement(order: Indices, other: Indices, exponent: float) -> float:
    """Return how far apart the places of the same objects are in two orders: 0 for equal ones, 1 for one reversed.

    The sum of ``|difference of places| ** exponent``, divided by that of an order and its reverse, as in dendextend.
    """
    n = len(order)
    place = np.empty(n, dtype=np.float64)
    place[other] = np.arange(n)
    most = np.sum(np.abs(np.arange(n) - np.arange(n)[::-1]) ** exponent)
    return float(np.sum(np.abs(np.arange(n) - place[order]) ** exponent) / most) if most else 0.0


def untangled(tree: ClusterTree, other: ClusterTree, same: Indices, exponent: float) -> tuple[Indices, Indices]:
    """Return orders of the leaves of both trees that are turned towards each other, in turns, as long as that helps."""
    n = tree.n_objects
    back = np.empty(n, dtype=np.intp)
    back[same] = np.arange(n)
    first, second = tree.leaf_order, _towards(other, tree.leaf_order, back)
    least = entanglement(first, same[second], exponent)
    for _ in range(ROUNDS):
        turned = _towards(tree, second, same)
        turned_other = _towards(other, turned, back)
        found = entanglement(turned, same[turned_other], exponent)
        if not found < least:
            break
        first, second, least = turned, turned_other, found
    return first, second


def _towards(tree: ClusterTree, order: Indices, name: Indices) -> Indices:
    """Order the leaves of a tree after an order of the other one: at each join the part that comes first on average.

    ``name``: what this tree calls the objects of the other one.
    """
    n, links = tree.n_objects, tree.links
    place = np.empty(n, dtype=np.intp)
    place[name[order]] = np.arange(n)
    total, size = place.tolist(), [1] * n + links["size"].tolist()
    parts = []
    for left, right in zip(links["left"].tolist(), links["right"].tolist(), strict=True):
        total.append(total[left] + total[right])
        parts.append((left, right) if total[left] * size[right] <= total[right] * size[left] else (right, left))
    roots = roots_in_order(tree).tolist()
    stack = sorted(roots, key=lambda root: -total[root] / size[root])
    made = []
    while stack:
        node = stack.pop()
        if node < n:
            made.append(node)
        else:
            stack += reversed(parts[node - n])
    return np.array(made, dtype=np.intp)
