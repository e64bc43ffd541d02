"""Graphs: the edges of clusters in rows that shrink, all levels in compiled code; see ``rows.py`` and ``levels.py``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.limits import join_groups, make_limits
from ...algorithm.links import Groups, Links
from ...errors import InvariantError
from ...input.graph import Connected, Graph
from ...input.numbers import is_sparse
from ...input.objects import rows_of
from ...input.problem import Problem
from ..compiled.loading import FEW, load
from ..compiled.rules import make_rules
from ..vectors.moments import Moments, make_moments, refusal
from .levels import LEVEL, N_ALIVE, N_LINKS, Steps, advance, catch_up, search_all
from .rows import LARGEST, SMALLEST, SUM, Room, Rows

#: How kernels know a reduction.
REDUCTIONS: dict[np.ufunc, int] = {np.minimum: SMALLEST, np.maximum: LARGEST, np.add: SUM}

#: Compiled code returns to Python after so many entries were read: for progress and Ctrl-C.
ENTRIES_BEFORE_PAUSE = 2**24

#: With so many edges it pays to number the objects anew.
WORTH_AN_ORDER = 50_000


class GraphEngine:
    """The criteria that follow from distances of pairs, on the listed pairs of a graph, in one thread."""

    name = "graph"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        del n_jobs
        _load(problem)
        self.problem = problem
        n = problem.n_objects
        self.rows = _make_rows(problem, *_near_each_other(_graph_of(problem)))
        self.room = _make_room(n)
        heap = 3 * n if problem.alpha == 0.0 else 1
        single = self.rows.reduction == SMALLEST
        self.steps = Steps(
            p=np.empty(n, np.int64),
            q=np.empty(n, np.int64),
            distance=np.empty(n),
            level=np.empty(n, np.int64),
            pair=np.empty(n if single else 1, np.int64),
            searched=np.empty(n, np.int64),
            heap=np.empty(heap, np.int64),
            heap_key=np.empty(heap),
            counters=np.array([n, 0, 0, 0, 0]),
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
        """Both directions of every edge, 20 bytes each, and as much while they are put in order; what objects need."""
        width = rows_of(problem.objects).shape[1] if isinstance(problem.objects, Connected) else 0
        return 80 * _graph_of(problem).n_edges + (250 + 16 * width) * problem.n_objects

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
        catch_up(self.rows, self.room, self.steps, slot_of[groups.parts], bounds)

    def levels(self, level: int) -> Iterator[Batch]:
        """Develop all levels, in as few calls of compiled code as patience allows."""
        steps, rules, n = self.steps, make_rules(self.problem, limits=self.rows.limits), self.problem.n_objects
        steps.counters[LEVEL] = level
        search_all(self.rows, self.room, steps, rules.tie_factor)
        sets, told, done = np.arange(n), 0, False
        while not done:
            done = advance(self.rows, self.room, steps, rules, sets, ENTRIES_BEFORE_PAUSE)
            new = slice(told, int(steps.counters[N_LINKS]))
            told = new.stop
            pairs = None
            if self.rows.reduction == SMALLEST and self.rows.listed:
                pairs = np.column_stack(np.divmod(steps.pair[new], n)).astype(np.intp)
            if new.stop > new.start:
                yield Batch(steps.level[new], Links(steps.p[new], steps.q[new], steps.distance[new]), pairs)


def _graph_of(problem: Problem) -> Graph:
    """Return the graph, after every other kind was refused."""
    if isinstance(problem.objects, Connected):
        return problem.objects.graph
    if not isinstance(problem.objects, Graph):
        raise InvariantError(f"the graph engine was given {type(problem.objects).__name__}: please report this")
    return problem.objects


def _near_each_other(graph: Graph) -> tuple[Graph, NDArray[np.int64]]:
    """Number the objects of a large graph so that those with an edge have near numbers, for the cache.

    Returns the graph in the new order, and the object of every slot.
    """
    if graph.n_edges < WORTH_AN_ORDER:
        return graph, np.arange(graph.n)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    starts = graph.starts.astype(np.int32) if len(graph.ends) < 2**31 else graph.starts
    matrix = csr_array((graph.distances, graph.ends, starts), shape=(graph.n, graph.n))
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True).astype(np.int64)
    slot_of = np.empty(graph.n, np.int32)
    slot_of[order] = np.arange(graph.n, dtype=np.int32)
    given = {"counts": graph.counts, "pairs": graph.pairs}
    more = {
        name: csr_array((entries, graph.ends, starts), shape=matrix.shape)[order].data
        for name, entries in given.items()
        if entries is not None
    }
    matrix = matrix[order]
    return replace(
        graph, starts=matrix.indptr.astype(np.int64), ends=slot_of[matrix.indices], distances=matrix.data, **more
    ), order


def _make_rows(problem: Problem, graph: Graph, object_of: NDArray[np.int64]) -> Rows:
    """Copy the edges into rows: the numbers that pairs of objects store."""
    row, n, weight = problem.criterion, problem.n_objects, problem.weights[object_of]
    reduction, listed = REDUCTIONS[row.reduction], isinstance(problem.objects, Graph)
    stored, count, pair = np.empty(1), np.empty(1), np.empty(1, np.int64)
    joined = graph.counts is not None  # before: entries are sums over pairs of objects, and all weights count
    weighed = joined or (reduction == SUM and not row.equal_parts)
    if listed:
        p, stored = np.repeat(np.arange(n), np.diff(graph.starts)), graph.distances.astype(np.float64)
        if graph.pairs is not None:
            pair = graph.pairs.copy()
        elif reduction == SMALLEST:
            pair = object_of[p] * n + object_of[graph.ends]
        elif graph.counts is not None:
            count = graph.counts.copy()
        else:
            count = weight[p] * weight[graph.ends] if weighed else np.ones(len(stored))
            stored *= count
    return Rows(
        other=graph.ends.copy(),
        stored=stored,
        count=count,
        pair=pair,
        start=graph.starts,
        following=np.full(n, -1),
        last=np.arange(n),
        used=np.diff(graph.starts),
        leader=np.arange(n),
        object_of=object_of,
        factor=np.ones(n),
        weight=weight if weighed else np.ones(n),
        best=np.full(n, np.inf),
        nearest=np.arange(n),
        tied=np.zeros(n, np.bool_),
        looked=np.zeros(n, np.int64),
        points=_points_of(problem, object_of),
        reduction=reduction,
        far=graph.far(row),
        ignore=graph.missing == "ignore",
        scaled=row.equal_parts,
        listed=listed,
        limits=make_limits(problem.constraints, n),
    )


def _points_of(problem: Problem, object_of: NDArray[np.int64]) -> Moments:
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


def _make_room(n: int) -> Room:
    """Return room for one row: at most an entry for every other cluster."""
    return Room(
        other=np.empty(n, np.int64),
        stored=np.empty(n),
        count=np.empty(n),
        pair=np.empty(n, np.int64),
        place=np.empty(n, np.int64),
        stamp=np.zeros(n, np.int64),
        number=np.zeros(1, np.int64),
    )


def _load(problem: Problem) -> None:
    """Load the compiled code with a few objects, and say so if it must be compiled first."""

    def run_few() -> None:
        engine = GraphEngine(problem.made_up(FEW))
        for _ in engine.levels(0):
            pass

    load(GraphEngine.name, "", run_few)
