"""Graphs: the edges of clusters in rows that shrink, all levels in compiled code; see ``rows.py`` and ``levels.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.limits import join_groups, make_limits
from ...algorithm.links import Groups, Links
from ...errors import InvariantError
from ...input.connectivity import Connected
from ...input.graph import Graph
from ...input.numbers import is_sparse
from ...input.objects import rows_of
from ...input.problem import Problem
from ...machine import deal_out, n_threads
from ..compiled.loading import FEW, load, only_read
from ..compiled.rules import Rules, make_rules
from ..vectors.moments import Moments, make_moments, refusal
from .contraction import clusters_left, contract, fewest_clusters, is_due
from .entries import LARGEST, SMALLEST, SUM, scattered_memory
from .filling import Listed, fill_share, walk
from .joining import begin_join, catch_up, end_join, hear, join_share, search_share
from .levels import advance, take_level
from .rows import Room, Rows
from .steps import LEVEL, N_ALIVE, N_LINKS, N_SEARCHED, Steps

#: How kernels know a reduction.
REDUCTIONS: dict[np.ufunc, int] = {np.minimum: SMALLEST, np.maximum: LARGEST, np.add: SUM}

#: Compiled code returns to Python after so many entries were read: for progress and Ctrl-C.
ENTRIES_BEFORE_PAUSE = 2**24

#: What a thread needs for every object: see _make_room.
BYTES_OF_ROOM = 33

#: Levels that search more rows than this are done in threads.
WORTH_THREADS = 2000

#: With so many edges it pays to number the objects anew.
WORTH_AN_ORDER = 50_000


class GraphEngine:
    """The criteria that follow from distances of pairs, on the listed pairs of a graph; large levels in threads."""

    name = "graph"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        _load(problem)
        self.problem = problem
        n = problem.n_objects
        self.rows = _make_rows(problem)
        self.threads = _threads_for(n, n_jobs)
        self.rooms = [_make_room(n) for _ in range(self.threads)]
        with ThreadPoolExecutor(self.threads) as self.pool:
            self._fill_rows()
        single = self.rows.reduction == SMALLEST
        self.steps = Steps(
            p=np.empty(n, np.int32),
            q=np.empty(n, np.int32),
            distance=np.empty(n),
            level=np.empty(n, np.int32),
            pair=np.empty(n if single else 1, np.int64),
            searched=np.empty(n, np.int32),
            first=np.empty(n if problem.alpha == 0.0 else 1, np.int32),
            counters=np.array([n, 0, 0, 0]),
        )

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say no to everything but graphs; with vectors, to distances that do not follow from means and spreads."""
        if isinstance(problem.objects, Connected):
            return refusal(problem)
        return None if isinstance(problem.objects, Graph) else "it works on the edges of a graph"

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Every graph, but for the smallest distance, where spanning trees tell more quickly."""
        listed = isinstance(problem.objects, Graph)
        compared = problem.criterion.reduction is not np.minimum or problem.tie_tolerance > 0.0
        return compared or not listed or problem.constraints is not None

    @staticmethod
    def memory(problem: Problem) -> int:
        """Both directions of every edge, 8 to 24 bytes each, some put aside at times; objects; rooms of threads.

        Of float32 distances weighted takes 9 bytes each where links hardly tie, and 17 where many do.
        """
        width = rows_of(problem.objects).shape[1] if isinstance(problem.objects, Connected) else 0
        whole, brief = _counts_are_whole(problem), _is_brief(problem)
        bytes_an_edge = 30 if brief and whole else 45 if brief or whole else 60
        n, edges = problem.n_objects, _graph_of(problem).n_edges
        return bytes_an_edge * edges + n * (180 + 16 * width + BYTES_OF_ROOM * _threads_for(n, None))

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""
        return int(self.steps.counters[N_ALIVE])

    def join(self, groups: Groups) -> None:
        """Join groups before the first search: how a new engine catches up with levels made earlier."""
        slot_of = np.empty(self.problem.n_objects, np.int64)
        slot_of[self.rows.object_of] = np.arange(self.problem.n_objects)
        bounds = np.append(groups.starts, len(groups.parts))
        if self.rows.limits.active:
            join_groups(self.rows.limits, groups)
        catch_up(self.rows, self.rooms[0], self.steps, slot_of[groups.parts], bounds)

    def _fill_rows(self) -> None:
        """Copy the edges into the rows. Counts of 1 come last: then the memory of edges that were let go is free."""
        graph, number = _graph_of(self.problem), 0 if self.rows.reduction == SMALLEST else len(self.rows.stored)
        weight = np.empty(0) if (self.rows.weight == 1.0).all() else self.problem.weights
        ones = not self.rows.brief and graph.counts is None and len(weight) == 0
        if not ones and not self.rows.brief:
            self.rows = self.rows._replace(count=np.empty(number, np.int32))
        self._copy_edges(graph, weight)
        graph.let_go()
        if ones:
            self.rows = self.rows._replace(count=np.ones(number, np.int32))

    def _copy_edges(self, graph: Graph, weight: NDArray[np.float64]) -> None:
        """Copy the edges into the rows, but for counts that are all 1."""
        rows = self.rows
        slot_of = np.empty(graph.n, np.int32)
        slot_of[rows.object_of] = np.arange(graph.n, dtype=np.int32)
        edges = Listed(
            only_read(graph.starts),
            only_read(graph.ends),
            only_read(graph.distances),
            counts=np.empty(0) if graph.counts is None else graph.counts,
            pairs=np.empty((0, 2), np.int64) if graph.pairs is None else graph.pairs,
            weight=weight,
            slot_of=slot_of,
        )
        self._in_threads(lambda _, first, last: fill_share(edges, rows, first, last), graph.n)

    def levels(self, level: int) -> Iterator[Batch]:
        """Develop all levels."""
        with ThreadPoolExecutor(self.threads) as self.pool:  # its threads stay from level to level
            yield from self._levels(level)

    def _levels(self, level: int) -> Iterator[Batch]:
        """Do large levels in threads, the others in as few calls of compiled code as patience allows."""
        steps, rules, n = self.steps, make_rules(self.problem, limits=self.rows.limits), self.problem.n_objects
        steps.counters[LEVEL] = level
        self._search(clusters_left(self.rows), rules.tie_factor)
        sets, told, done = np.empty(n, np.int32), 0, False
        most = WORTH_THREADS if self.threads > 1 and self.problem.alpha > 0.0 else n
        while not done:
            if is_due(self.rows, self.n_clusters):
                self.rows = contract(self.rows, self.rooms[0], steps)
            if steps.counters[N_SEARCHED] > most:
                done = self._join_in_threads(rules, sets)
            else:
                fewest = fewest_clusters(self.rows)
                done = advance(self.rows, self.rooms[0], steps, rules, sets, fewest, most, ENTRIES_BEFORE_PAUSE)
            new = slice(told, int(steps.counters[N_LINKS]))
            told = new.stop
            pairs = None
            if self.rows.reduction == SMALLEST and self.rows.listed:
                pairs = np.column_stack(np.divmod(steps.pair[new], n)).astype(np.intp)
            if new.stop > new.start:
                yield Batch(steps.level[new], Links(steps.p[new], steps.q[new], steps.distance[new]), pairs)

    def _search(self, some: NDArray[np.int64], tie_factor: float) -> None:
        """Search some clusters, all that are new at this level."""
        self.steps.counters[N_SEARCHED] = len(some)
        self.steps.searched[: len(some)] = some
        some = self.steps.searched[: len(some)]
        self._in_threads(
            lambda room, first, last: search_share(self.rows, room, some[first:last], tie_factor), len(some)
        )

    def _join_in_threads(self, rules: Rules, sets: NDArray[np.int32]) -> bool:
        """Run one level, its joins and searches in threads; tell whether all is done."""
        rows, steps, factor = self.rows, self.steps, rules.tie_factor
        parts, bounds = take_level(rows, self.rooms[0], steps, rules, sets)
        groups = len(bounds) - 1
        if not groups:
            return True
        begin_join(rows, steps, parts, bounds)
        for told, head_of in self._in_threads(
            lambda room, first, last: join_share(rows, room, parts, bounds, first, last, factor), groups
        ):
            hear(rows, steps, told, head_of)
        lost = steps.searched[groups : steps.counters[N_SEARCHED]]
        self._in_threads(lambda room, first, last: search_share(rows, room, lost[first:last], factor), len(lost))
        end_join(rows, steps, parts)
        return False

    def _in_threads(self, work: Callable[[Room, int, int], Any], count: int) -> list[Any]:
        """Do some work on shares of ``count`` things, each thread with a room of its own; results in order."""
        bounds = np.linspace(0, count, len(self.rooms) + 1).astype(np.int64)
        shares = range(len(self.rooms))

        def one(t: int) -> Any:
            return work(self.rooms[t], bounds[t], bounds[t + 1])

        return [one(0)] if len(shares) == 1 else deal_out(self.pool, one, shares, self.threads)


def _graph_of(problem: Problem) -> Graph:
    """Return the graph, after every other kind was refused."""
    if isinstance(problem.objects, Connected):
        return problem.objects.graph
    if not isinstance(problem.objects, Graph):
        raise InvariantError(f"the graph engine was given {type(problem.objects).__name__}: please report this")
    return problem.objects


def _make_rows(problem: Problem) -> Rows:
    """Return rows whose edges are still to be filled in; objects of a large graph that have an edge get near slots."""
    row, n, graph = problem.criterion, problem.n_objects, _graph_of(problem)
    reduction, listed = REDUCTIONS[row.reduction], isinstance(problem.objects, Graph)
    slots, entries = np.arange(n, dtype=np.int32), 2 * graph.n_edges
    order = walk(only_read(graph.starts), only_read(graph.ends)) if graph.n_edges >= WORTH_AN_ORDER else slots.copy()
    used = (np.diff(graph.starts) + np.bincount(graph.ends, minlength=n)).astype(np.int32)[order]
    start = np.zeros(n + 1, np.int64)
    np.cumsum(used, out=start[1:])
    joined = graph.counts is not None  # before: entries are sums over pairs of objects, and all weights count
    weighed = joined or (reduction == SUM and not row.equal_parts)
    brief = _is_brief(problem)
    shares = entries if brief and row.equal_parts else 0
    stored, pairs = np.empty(listed * entries), listed * (reduction == SMALLEST) * entries
    return Rows(
        other=scattered_memory(shares, np.int32) if brief else np.empty(entries, np.int32),  # if brief, for wide rows
        stored=stored,
        count=scattered_memory(shares, np.int32),  # likewise; else for now
        long_count=_long_counts(problem, len(stored)),
        pair=np.empty(pairs, np.int64),
        start=start,
        following=np.full(n, -1, np.int32),
        last=slots.copy(),
        used=used,
        leader=slots.copy(),
        object_of=order,
        factor=np.ones(n if row.equal_parts else 0),
        weight=problem.weights[order] if weighed else np.ones(n),
        best=np.full(n, np.inf),
        nearest=slots,
        tied=np.zeros(n, np.bool_),
        looked=np.zeros(n, np.int32),
        points=_points_of(problem, order),
        reduction=reduction,
        far=graph.far(row),
        ignore=graph.missing == "ignore",
        scaled=row.equal_parts,
        by_sizes=_by_sizes(problem),
        listed=listed,
        brief=brief,
        places=stored.view(np.int32),
        share=np.zeros(shares, np.uint8),
        form=np.zeros(n if brief else 0, np.uint8),
        limits=make_limits(problem.constraints, n),
    )


def _points_of(problem: Problem, object_of: NDArray[np.int32]) -> Moments:
    """Return the vectors that give the distance, in the order of slots; of a graph alone a stand-in."""
    if not isinstance(problem.objects, Connected):
        return Moments(np.zeros((1, 4)), np.ones(1), np.zeros(1, np.int64), np.zeros(1), False, False, False, 1.0)
    rows = rows_of(problem.objects)
    moments = make_moments(problem, rows.toarray() if is_sparse(rows) else rows)
    return moments._replace(
        sums=moments.sums[object_of],
        weight=moments.weight[object_of],
        row=moments.row[object_of],
        spread=moments.spread[object_of] if moments.with_spread else moments.spread,
    )


def _threads_for(n: int, n_jobs: int | None) -> int:
    return n_threads(n_jobs) if n >= WORTH_THREADS else 1


def _make_room(n: int) -> Room:
    """Return room for one row: at most an entry for every other cluster."""
    return Room(
        other=np.empty(n, np.int32),
        stored=np.empty(n),
        count=np.empty(n),
        pair=np.empty(n, np.int64),
        place=np.full(n, -1, np.int32),
        base=np.zeros(2, np.int64),
        told=np.zeros(n, np.bool_),
    )


def _load(problem: Problem) -> None:
    """Load the compiled code with a few objects, and say so if it must be compiled first."""

    def run_few() -> None:
        for _ in GraphEngine(problem.made_up(FEW)).levels(0):
            pass

    load(GraphEngine.name, "", run_few)


def _long_counts(problem: Problem, entries: int) -> NDArray[np.float64]:
    """Return room for counts that four bytes cannot hold: none, of a few entries, or with weights maybe of most."""
    if _counts_are_whole(problem):
        return np.empty(0)
    return scattered_memory(entries, np.float64) if (problem.weights == 1.0).all() else np.empty(entries)


def _by_sizes(problem: Problem) -> bool:
    """Tell whether an entry stands for all pairs of objects of two clusters, however few are listed."""
    row = problem.criterion
    return _graph_of(problem).by_sizes and row.reduction is np.add and not row.equal_parts


def _counts_are_whole(problem: Problem) -> bool:
    """Tell whether the edges between two clusters are counted, and not weighed: then four bytes hold every count."""
    graph, row = _graph_of(problem), problem.criterion
    weighed = row.reduction is np.add and isinstance(problem.objects, Graph) and not (problem.weights == 1.0).all()
    parts = (row.equal_parts and row.reduction is np.add) or _by_sizes(problem)
    return graph.counts is None and graph.n_edges <= np.iinfo(np.int32).max and not (weighed or parts)


def _is_brief(problem: Problem) -> bool:
    """Tell whether an entry of one edge can do without a count and with a distance of four bytes."""
    graph, row = _graph_of(problem), problem.criterion
    compared = row.reduction is np.minimum or not isinstance(problem.objects, Graph)
    alone = row.equal_parts and graph.counts is None  # weights of objects do not count then
    return not compared and graph.distances.dtype == np.float32 and (alone or _counts_are_whole(problem))
