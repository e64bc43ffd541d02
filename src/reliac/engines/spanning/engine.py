"""The smallest distance between clusters: levels replayed on the edges of all minimum spanning trees.

An edge of weight w is in some minimum spanning tree iff lighter edges alone do not connect its ends. Only such edges
can ever be reliable links, and one spanning tree is not enough: under ties it lacks links. ``edges.py`` finds all of
them by the fastest means for the input, ``replay.py`` replays the levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch, Found, Pace
from ...algorithm.links import Groups, Links
from ...input.graph import Graph
from ...input.problem import Problem
from ...machine import n_threads
from ..compiled.loading import FEW, load
from .edges import memory_of_edges, spanning_edges, star_edges
from .few import find_few_edges
from .findings import Findings
from .forest import Edges, Twins, thin
from .replay import (
    COUNTS_FAR,
    LEVEL,
    N_ALIVE,
    N_COUNTERS,
    N_LINKS,
    N_NEW,
    Nest,
    State,
    index_edges,
    nest_edges,
    replay_all,
    replay_share,
)

#: Compiled code returns to Python after it has looked at so many edges: for progress and Ctrl-C.
EDGES_BEFORE_PAUSE = 200_000

#: What the levels take, measured, in units of the search for edges.
LEVELS_AFTER_SEARCH = 0.05


class SpanningEngine:
    """Levels on the edges of all minimum spanning trees."""

    name = "spanning"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        self.problem = problem
        self.threads = n_threads(n_jobs)
        self.leader = np.arange(problem.n_objects)
        self.findings = Findings(self._searched)
        self.tell: Callable[[Pace], None] = lambda pace: None

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what spanning trees cannot tell."""
        if problem.criterion.reduction is not np.minimum:
            return f"{problem.criterion.name} does not take the smallest distance"
        if problem.constraints:
            return "where a link is forbidden others count that are in no minimum spanning tree"
        if problem.tie_tolerance:
            return "with a tie tolerance links count that are in no minimum spanning tree"
        return None

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether it should be taken: always."""
        return True

    @staticmethod
    def memory(problem: Problem) -> int:
        """The edges, what finds them, and the replay."""
        return memory_of_edges(problem) + 300 * problem.n_objects

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""
        return int((self.leader == np.arange(len(self.leader))).sum())

    def join(self, groups: Groups) -> None:
        """Make every group one cluster, to catch up with levels that were made before."""
        sizes = np.diff(np.append(groups.starts, len(groups.parts)))
        self.leader[groups.parts] = np.repeat(groups.heads, sizes)

    def _searched(self, share: float) -> None:
        self.tell(Pace(share, after=LEVELS_AFTER_SEARCH))

    def found(self, n_clusters: int) -> Found | None:
        """Return what is known of the edges; it is the same for all levels."""
        del n_clusters
        return self.findings.arrays

    def go_on_from(self, found: Found) -> None:
        """Take over what an earlier run knew of the edges."""
        self.findings.arrays = dict(found)

    def _edges(self, leader: NDArray[np.intp]) -> Edges:
        """Find the edges, and tell that they are found; no name here holds them any longer than their user does."""
        found = star_edges(*self._find_edges(), leader)
        self._searched(1.0)
        return found

    def _run_few(self) -> None:
        """Run all compiled code with a few objects: whatever the input is, nothing is compiled later."""
        find_few_edges()
        few = self.problem.made_up(FEW)
        for alpha in (1.0, 0.5):
            for _ in SpanningEngine(replace(few, alpha=alpha), 1).levels(0):
                pass

    def _find_edges(self) -> tuple[Edges, Twins | None]:
        return spanning_edges(self.problem, self.threads, self.findings)

    def levels(self, level: int) -> Iterator[Batch]:
        """Find the edges, then replay the levels on them."""
        problem, stop = self.problem, self.problem.stop
        if self.n_clusters <= stop.n_clusters or level >= stop.max_level:
            return
        load(SpanningEngine.name, "", self._run_few)
        self._searched(0.0)
        leader = roots(self.leader)
        nest = make_nest(self._edges(leader), leader)
        state = make_state(nest, leader, level, 0 if problem.alpha == 1.0 else 3 if problem.alpha == 0.0 else 1)
        state.counters[COUNTS_FAR] = isinstance(problem.objects, Graph) and problem.objects.counts_far
        cap = problem.longest
        replay = replay_all if problem.alpha == 1.0 else replay_share
        told, done = 0, False
        while not done:
            done = replay(nest, state, problem.alpha, stop.n_clusters, float(stop.max_level), cap, EDGES_BEFORE_PAUSE)
            new = slice(told, int(state.counters[N_LINKS]))
            told = new.stop
            if new.stop > new.start:
                links = Links(state.p[new], state.q[new], state.distance[new])
                yield Batch(state.level[new], links, state.pair[new])


def make_nest(edges: Edges, leader: NDArray[np.intp]) -> Nest:
    """Sort the edges and find the parts that they link, given the cluster of each object.

    There can be a few times as many edges as objects: what is done with is let go at once.
    """
    columns: list[NDArray[Any]] = list(thin(edges, leader))
    del edges
    _sort_edges(columns)
    i, j, weight = columns[:3]
    rank = np.cumsum(np.r_[0, weight[1:] > weight[:-1]]) if len(weight) else np.zeros(0, np.int64)
    node = np.int32 if 2 * len(leader) < 2**31 else np.int64
    child, group = np.empty((len(rank), 2), node), np.empty(len(rank), node)
    missing = np.zeros(2 * len(leader), np.int64)
    nodes = nest_edges(i, j, rank, leader.copy(), child, group, missing)
    kept = child[:, 0] >= 0
    columns[3:] = [rank, columns[3], child, group]
    del i, j, weight, rank, child, group
    if not kept.all():
        for k in range(len(columns)):
            columns[k] = columns[k][kept]
    first, edge_of = np.zeros(nodes + 1, np.int64), np.empty(2 * len(columns[0]), np.int64)
    index_edges(columns[5], first, edge_of)
    return Nest._make([*columns, missing, first, edge_of])


def _sort_edges(columns: list[NDArray[Any]]) -> None:
    """Sort edges by weight, then by i and j: one column after the other, each in place of what it was."""
    i, j, weight = columns[:3]
    order = np.argsort(weight)
    ordered = weight[order]
    if (ordered[1:] == ordered[:-1]).any():
        order = np.lexsort((j, i, weight))
    del i, j, weight, ordered
    for k in range(len(columns)):
        columns[k] = columns[k][order]


def make_state(nest: Nest, leader: NDArray[np.intp], level: int, entries: int) -> State:
    """Begin the replay: every cluster is complete. ``entries``: how often an edge may enter the heap."""
    n, nodes, size = len(leader), len(nest.first) - 1, entries * len(nest.i)
    clusters = np.flatnonzero(leader == np.arange(n))
    room = max(len(clusters) - 1, 0)
    state = State(
        leader=leader.copy(),
        ready=np.zeros(nodes, np.bool_),
        new=np.zeros(nodes, np.int64),
        heap=np.empty(size, np.int64),
        heap_key=np.empty(size, np.int64),
        heap_pair=np.empty(size, np.int64),
        p=np.empty(room, np.int64),
        q=np.empty(room, np.int64),
        distance=np.empty(room),
        level=np.empty(room, np.int64),
        pair=np.empty((room, 2), np.int64),
        counters=np.zeros(N_COUNTERS, np.int64),
    )
    state.new[: len(clusters)] = clusters
    state.counters[N_NEW] = state.counters[N_ALIVE] = len(clusters)
    state.counters[LEVEL] = level
    return state


def roots(leader: NDArray[np.intp]) -> NDArray[np.intp]:
    """Follow every object to the first object of its cluster."""
    while True:
        further = leader[leader]
        if (further == leader).all():
            return further
        leader = further
