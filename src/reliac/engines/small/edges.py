"""The smallest distance between clusters: levels on the edges of all minimum spanning trees, in plain Python.

Two objects come together at their *cophenetic* distance: the largest step on the best way from one to the other. SciPy
computes it. An edge is in some minimum spanning tree exactly if it is as long as that, so one comparison finds all of
them, ties included. Only such edges can become reliable links.

What makes the levels easy: a cluster that is complete below a distance w has nothing nearer than its edges of length w.
So such an edge is reliable as soon as both of its ends are complete, one level after the later of the two.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.links import Indices, Links, joining_links
from ...input.condensed import row_start

#: As many edges of one length, or more, are joined by SciPy and not one after the other.
MANY_EDGES = 200


class Edges(NamedTuple):
    """Pairs of objects, sorted by distance, then by i and j; i < j."""

    i: Indices
    j: Indices
    distance: NDArray[np.float64]

    def take(self, which: Any) -> Edges:
        """Return some of the edges."""
        return Edges(self.i[which], self.j[which], self.distance[which])


def spanning_edges(distances: NDArray[np.float64], n: int) -> Edges:
    """Return every edge that is in some minimum spanning tree of n objects, given all their distances, condensed."""
    if n < 2:
        return Edges(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    from scipy.cluster import hierarchy

    place = np.flatnonzero(distances == hierarchy.cophenet(hierarchy.single(distances)))
    starts = row_start(n, np.arange(n))
    i = np.searchsorted(starts, place, side="right") - 1
    edges = Edges(i, place - starts[i] + i + 1, distances[place])
    return edges.take(np.argsort(edges.distance, kind="stable"))  # places come by i and j


def edges_side_by_side(distances: NDArray[np.float64], sizes: Indices) -> Edges:
    """Return the same of many problems at once, largest first: (k, m, m), infinite where a problem has no objects."""
    table, i, j = np.nonzero(np.triu(distances == longest_steps(distances, sizes), 1))
    edges = Edges(i, j, distances[table, i, j])
    first = (np.cumsum(sizes) - sizes)[table]
    return Edges(i + first, j + first, edges.distance).take(np.argsort(edges.distance, kind="stable"))


def longest_steps(distances: NDArray[np.float64], sizes: Indices) -> NDArray[np.float64]:
    """Return the cophenetic distances of many problems at once, largest first.

    Every problem grows a minimum spanning tree from its first object on, all of them by one object at a time. The way
    from a new object leads over the one that it is tied to: its longest step is the tie, or one of those from there on.
    """
    k, m = distances.shape[:2]
    longest = np.zeros((k, m, m))
    nearest, tied_to = distances[:, 0].copy(), np.zeros((k, m), np.intp)  # of each object outside: the nearest inside
    nearest[:, 0] = np.inf
    inside = np.zeros((k, m), np.bool_)
    inside[:, 0] = True
    for count in range(1, m):
        k = int(np.count_nonzero(sizes > count))  # the problems that have an object left
        every = np.arange(k)
        new = nearest[:k].argmin(axis=1)
        steps = np.maximum(longest[every, tied_to[every, new]], nearest[every, new][:, None])
        longest[every, new] = longest[every, :, new] = steps  # of objects still outside: written again when they come
        longest[every, new, new] = 0.0
        inside[every, new] = True
        nearest[every, new] = np.inf
        nearer = (distances[every, new] < nearest[:k]) & ~inside[:k]
        np.copyto(nearest[:k], distances[every, new], where=nearer)
        np.copyto(tied_to[:k], new[:, None], where=nearer)
    return longest


class Forest:
    """The clusters that edges have made so far, by their first objects, and the links that made them."""

    def __init__(self, first: Indices, level: int) -> None:
        self.first: list[int] = first.tolist()  # of an object: an earlier one of its cluster, itself for the first
        self.ready = [level] * len(self.first)  # the level that made the cluster of each first object
        self.level = level
        self.links: list[tuple[int, float, int, int, int, int]] = []  # level, distance, p, q, object in p, object in q

    def find(self, x: int) -> int:
        """Return the first object of the cluster of x."""
        first = self.first
        while first[x] != x:
            first[x] = first[first[x]]
            x = first[x]
        return x

    def batch(self, most: int, last_level: float) -> Batch:
        """Return the links in the order of levels, distances and indices: so many at most, up to a level."""
        return _batch(sorted(link for link in self.links if link[0] <= last_level)[:most])

    def batch_of_each(self, sizes: Indices, n_clusters: int, last_level: float) -> Batch:
        """Return the same of many problems side by side, given their sizes and how many clusters each is left with."""
        problem = np.repeat(np.arange(len(sizes)), sizes).tolist()
        room = (sizes - n_clusters).tolist()
        kept = []
        for link in sorted(link for link in self.links if link[0] <= last_level):
            if room[problem[link[2]]] > 0:
                room[problem[link[2]]] -= 1
                kept.append(link)
        return _batch(kept)


def _batch(links: list[tuple[int, float, int, int, int, int]]) -> Batch:
    level, distance, p, q, i, j = zip(*links, strict=True) if links else ((),) * 6
    pairs = np.array((i, j), dtype=np.intp).T.reshape(-1, 2)
    ends = np.array(p, dtype=np.intp), np.array(q, dtype=np.intp)
    return Batch(np.array(level, dtype=np.intp), Links(*ends, np.array(distance, dtype=np.float64)), pairs)


def take_all(forest: Forest, edges: Edges) -> None:
    """Let every level take all reliable links."""
    find, first, ready, links = forest.find, forest.first, forest.ready, forest.links
    for distance, some in groupby(zip(*(column.tolist() for column in edges), strict=True), key=lambda edge: edge[2]):
        tied = [(find(i), find(j), i, j) for i, j, _ in some]
        if len(tied) == 1:
            p, q, i, j = tied[0]
            if p != q:
                level = max(ready[p], ready[q]) + 1
                if p > q:
                    p, q, i, j = q, p, j, i
                links.append((level, distance, p, q, i, j))
                first[q], ready[p] = p, level
            continue
        levels: dict[int, list[tuple[int, int]]] = {}
        for p, q, i, j in tied:
            if p != q:
                levels.setdefault(max(ready[p], ready[q]) + 1, []).append((i, j))
        for level in sorted(levels):
            _take_tied(forest, levels[level], level, distance)


def _take_tied(forest: Forest, edges: list[tuple[int, int]], level: int, distance: float) -> None:
    """Join all clusters that equally long edges link in one level."""
    between = _clusters_linked(forest, edges)
    pairs = sorted(between)
    if len(pairs) >= MANY_EDGES:
        p, q = np.array(pairs, dtype=np.intp).T
        kept = joining_links(Links(p, q, np.arange(len(pairs))), len(forest.first)).distance
        pairs = [pairs[row] for row in kept.tolist()]
    joined = []
    for p, q in pairs:
        a, b = forest.find(p), forest.find(q)
        if a != b:
            forest.links.append((level, distance, p, q, *between[p, q]))
            forest.first[max(a, b)] = min(a, b)
            joined.append(p)
    for p in joined:
        forest.ready[forest.find(p)] = level


def _clusters_linked(forest: Forest, edges: list[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the pairs of clusters p < q that edges link, each with its first two objects: one in p, one in q."""
    between: dict[tuple[int, int], tuple[int, int]] = {}
    for i, j in edges:
        p, q = forest.find(i), forest.find(j)
        if p != q:
            link, objects = ((p, q), (i, j)) if p < q else ((q, p), (j, i))
            between[link] = min(between.get(link, objects), objects)
    return between


def take_one_by_one(forest: Forest, edges: Edges) -> None:
    """Let every level take the smallest link; of equal ones the first by index.

    That is one of the first cluster that has any. Joined, it is still the first, so it takes all it can reach before
    the next cluster's turn comes.
    """
    for distance, some in groupby(zip(*(column.tolist() for column in edges), strict=True), key=lambda edge: edge[2]):
        others: dict[int, list[tuple[int, int, int]]] = {}  # of a cluster: another, its own object, the other's object
        for i, j, _ in some:
            p, q = forest.find(i), forest.find(j)
            if p != q:
                others.setdefault(p, []).append((q, i, j))
                others.setdefault(q, []).append((p, j, i))
        for p in sorted(others):
            if forest.first[p] == p:
                _take_all_in_reach(forest, p, others, distance)


def _take_all_in_reach(forest: Forest, p: int, others: dict[int, list[tuple[int, int, int]]], distance: float) -> None:
    """Let cluster p take those it is linked to, and those that they are linked to, the first by index at every step."""
    waiting = [q for q, _, _ in others[p]]
    heapify(waiting)
    while waiting:
        q = heappop(waiting)
        if forest.find(q) == p:
            continue
        i, j = min((i, j) for r, j, i in others[q] if forest.find(r) == p)  # of p's objects the first
        forest.level += 1
        forest.links.append((forest.level, distance, p, q, i, j))
        forest.first[q] = p
        for r, _, _ in others[q]:
            if forest.find(r) != p:
                heappush(waiting, r)


class EdgeSteps:
    """The clusters and the edges between them, for the loop that takes a share of the reliable links."""

    def __init__(self, first: Indices, edges: Edges) -> None:
        self.first, self.edges = first.copy(), edges

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""
        return int(np.count_nonzero(self.first == np.arange(len(self.first))))

    def nearest(self) -> Links:
        """For every cluster all clusters at its smallest distance."""
        n = len(self.first)
        self.edges = self.edges.take(self.first[self.edges.i] != self.first[self.edges.j])
        p, q, distance = self.first[self.edges.i], self.first[self.edges.j], self.edges.distance
        smallest = np.full(n, np.inf)
        np.minimum.at(smallest, p, distance)
        np.minimum.at(smallest, q, distance)
        links = Links(np.concatenate((p, q)), np.concatenate((q, p)), np.tile(distance, 2))
        links = links.take(links.distance == smallest[links.p])
        return links.take(np.unique(links.p * n + links.q, return_index=True)[1])

    def object_links(self, links: Links) -> NDArray[np.intp]:
        """For each link its two nearest objects; ties to the smallest indices."""
        n, (i, j, distance) = len(self.first), self.edges
        p, q = self.first[i], self.first[j]
        i, j = np.where(p < q, i, j), np.where(p < q, j, i)
        key = np.minimum(p, q) * n + np.maximum(p, q)
        order = np.lexsort((j, i, distance, key))
        row = order[np.searchsorted(key[order], links.p * n + links.q)]
        return np.column_stack((i[row], j[row]))

    def join(self, groups: Any) -> None:
        """Make every group one cluster."""
        becomes = np.arange(len(self.first))
        becomes[groups.parts] = np.repeat(groups.heads, np.diff(np.append(groups.starts, len(groups.parts))))
        self.first = becomes[self.first]
