"""Edges between objects, and the forest that grows along those that are proven to be in a minimum spanning tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Found, TooManyTies
from ..compiled.loading import compiled
from ..compiled.sets import top, unite


class Edges(NamedTuple):
    """Edges between objects; ``copies`` says how many links of clusters one stands for."""

    i: NDArray[Any]
    j: NDArray[Any]
    weight: NDArray[Any]
    copies: NDArray[Any]


class Twins(NamedTuple):
    """Objects at one distance, the smallest of all, from all others of their class."""

    first: NDArray[np.int64]  # of the class of each object
    distance: float


def most_edges(n: int) -> int:
    """Return the number of edges above which ties have to be handled in another way."""
    return max(64 * n, 2**20)


def as_edges(i: NDArray[Any], j: NDArray[Any], weight: NDArray[Any]) -> Edges:
    """Return edges with i < j."""
    i, j = i.astype(np.int64, copy=False), j.astype(np.int64, copy=False)
    return Edges(np.minimum(i, j), np.maximum(i, j), weight.astype(np.float64, copy=False), np.ones(len(i), np.int64))


@compiled
def connect_ends(i, j, leader):
    """Join the components of ``leader`` (n,) along edges."""
    for e in range(len(i)):
        unite(leader, top(leader, np.int64(i[e])), top(leader, np.int64(j[e])))


@compiled
def apart(i, j, leader):
    """Tell which edges lead from one component of ``leader`` (n,) to another."""
    leads = np.empty(len(i), np.bool_)
    for e in range(len(i)):
        leads[e] = top(leader, np.int64(i[e])) != top(leader, np.int64(j[e]))
    return leads


def thin(edges: Edges, leader: NDArray[np.intp]) -> Edges:
    """Drop most edges that no minimum spanning tree has: shorter ones connect their ends. ``leader``: as clusters are.

    The shortest ones, about as many as there are objects, connect much; what lies inside needs no sorting.
    """
    leader, some, kept = leader.copy(), len(leader), []
    while len(edges.weight) > 3 * some:
        near = edges.weight <= np.partition(edges.weight, some)[some]
        kept.append(Edges(*(column[near] for column in edges)))
        connect_ends(kept[-1].i, kept[-1].j, leader)
        far = apart(edges.i, edges.j, leader)  # those just kept are inside now
        if len(kept) == 1 and len(kept[0].i) + np.count_nonzero(far) == len(far):  # they have been thinned before
            return edges
        edges = Edges(*(column[far] for column in edges))
    return Edges(*(np.concatenate(columns) for columns in zip(*kept, edges, strict=True))) if kept else edges


@compiled
def absorb(i, j, weight, leader, reach, hook, out):
    """Join components along proven edges and note every edge that is in some minimum spanning tree.

    Edges come sorted by weight. ``reach`` of a component (at its leader): all edges that leave it and are lighter than
    that are here. A component is open below its reach: there its lightest edges are known, ties included, and all of
    them are noted. Two closed components never join, since lighter edges between them may be missing; so neither may
    open ones between them do it, which happens if ties lead to several closed components: such ones close and wait.
    ``hook`` (n,) is -1. ``out``: places of noted edges. Returns their number. O(E) finds.
    """
    count = start = 0
    side = np.empty((len(i), 2), np.int64)
    while start < len(i):
        w, stop = weight[start], start
        while stop < len(i) and weight[stop] == w:
            side[stop, 0], side[stop, 1] = top(leader, i[stop]), top(leader, j[stop])
            stop += 1
        # case 1: both components are open. All their edges as light as this are known: join, and stay open.
        for e in range(start, stop):
            a, b = side[e]
            if a != b and reach[a] > w and reach[b] > w:
                out[count] = e
                count += 1
                a, b = top(leader, a), top(leader, b)
                unite(leader, a, b)
                reach[min(a, b)] = min(reach[a], reach[b])
        # case 2: one is closed. Note which one the open component would hook on to; -2: there are several.
        for e in range(start, stop):
            a, b = side[e]
            if a != b and (reach[a] > w) != (reach[b] > w):
                opened, closed = (top(leader, a), b) if reach[a] > w else (top(leader, b), a)
                hook[opened] = closed if hook[opened] == -1 or hook[opened] == closed else -2
        # case 2a: it is one only. Its edges of this weight are in some minimum spanning tree: note them all.
        for e in range(start, stop):
            a, b = side[e]
            if a == b or (reach[a] > w) == (reach[b] > w):
                continue
            opened = top(leader, a) if reach[a] > w else top(leader, b)
            if hook[opened] >= 0:
                out[count] = e
                count += 1
        # case 2b: join to the one. Case 2c: of several, lighter edges may link them unseen, so close and wait.
        # case 3: both are closed. Lighter edges between them may be missing: nothing is done.
        for e in range(start, stop):
            for s in range(2):
                r = side[e, s]
                if hook[r] != -1:
                    closed, hook[r] = hook[r], -1
                    if closed == -2:
                        reach[r] = w
                    else:
                        closed = top(leader, closed)
                        reach[min(r, closed)] = min(reach[r], reach[closed])
                        unite(leader, r, closed)
        start = stop
    return count


@compiled
def name_components(leader, component):
    """Name the component of every place that has one; return their number and the largest. O(n) finds."""
    size, count, largest = np.zeros(len(leader), np.int64), 0, -1
    for x in range(len(leader)):
        if component[x] >= 0:
            c = component[x] = top(leader, x)
            count += c == x
            size[c] += 1
            if largest < 0 or size[c] > size[largest]:
                largest = c
    return count, largest


class Forest:
    """Components of objects, and the edges that joined them. Builders may keep objects in places of their own."""

    def __init__(self, object_at: NDArray[np.int64]) -> None:
        self.object_at = object_at  # -1 where a place is empty
        self.leader = np.arange(len(object_at))
        self.component = np.where(object_at >= 0, self.leader, -1)
        self.hook = np.full(len(object_at), -1)
        self.n_components = int((object_at >= 0).sum())
        self.largest = -1
        self.most = most_edges(self.n_components)
        self.found: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []

    def join(self, i: NDArray[Any], j: NDArray[Any], weight: NDArray[Any], reach: NDArray[np.float64]) -> None:
        """Join along proven edges, see :func:`absorb`; ``reach`` is that of each component, at its leader."""
        order = np.argsort(weight)
        i, j, weight = i[order].astype(np.int64, copy=False), j[order].astype(np.int64, copy=False), weight[order]
        kept = np.empty(len(i), np.int64)
        kept = kept[: absorb(i, j, weight, self.leader, reach, self.hook, kept)]
        self.found.append((i[kept], j[kept], weight[kept]))
        if sum(len(edges[0]) for edges in self.found) > self.most:
            raise TooManyTies(f"more than {self.most} tied edges are in some minimum spanning tree")
        self.n_components, self.largest = name_components(self.leader, self.component)

    def found_so_far(self) -> Found:
        """Return the edges noted so far, as they are here."""
        return dict(zip(("from", "to", "distance"), map(np.concatenate, zip(*self.found, strict=True)), strict=True))

    def go_on_from(self, found: Found) -> None:
        """Join along the edges that an earlier forest of the same objects had noted, if there are any."""
        if "distance" in found:
            self.join(found["from"], found["to"], found["distance"], np.full(len(self.leader), np.inf))

    def edges(self) -> Edges:
        """Return all edges found."""
        i, j, weight = (np.concatenate(column) for column in zip(*self.found, strict=True))
        return as_edges(self.object_at[i], self.object_at[j], weight)
