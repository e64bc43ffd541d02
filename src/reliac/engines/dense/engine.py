"""A few thousand objects: the whole matrix in the cache, all levels in one call of compiled code.

Where long lists and their searches would cost more than they save, the matrix of stored numbers is reduced in place.
Without ties short lists tell the nearest, and rows are read when clusters are joined (``shortlists.py``). With ties
rows of new clusters and of those whose nearest was joined are searched again (``levels.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch, Clusters
from ...algorithm.limits import join_groups as join_limits
from ...algorithm.limits import make_limits
from ...algorithm.links import Groups, Indices, Links, groups_of, nearest_objects
from ...input.distances import many_are_equal
from ...input.metrics import Squares, squares_of
from ...input.objects import Distances, rows_of
from ...input.problem import Problem
from ...machine import in_threads, n_threads
from ..compiled.formulas import ADD, STRIP, euclidean_square, mirror_rows, reduction_of
from ..compiled.loading import FEW, load, only_read
from ..compiled.rules import Rules, make_rules
from .filling import fill_later, padded_width
from .levels import advance, join_groups, search_all
from .shortlists import N_PAIRS, Shortlists, enter_hits, make_shortlists
from .square import LEVEL, N_ALIVE, N_LINKS, N_PLACES, WIDTH, Square, Steps
from .untied import DONE, PAUSE, SHARE, TIED, advance_without_ties, join_pairs, prove_nearest

#: Up to so many objects this engine is the quickest; above that, where other engines would search every new cluster.
MOST = 2000

#: Fewer objects than this are done sooner by one thread than threads are started.
WORTH_THREADS = 1000

#: Pairs of clusters that have more numbers than this in their rows are joined in threads: a quarter of a millisecond.
WORTH_SHARING = 100_000

#: Compiled code returns to Python after so many numbers were read: for progress and Ctrl-C.
NUMBERS_BEFORE_PAUSE = 2**27


class DenseEngine:
    """Any criterion (single only with constraints) on a square matrix, given or computed."""

    name = "dense"

    def __init__(self, problem: Problem, n_jobs: int | None = None, left: Clusters | None = None) -> None:
        """Begin with every object as a cluster of its own, or with the clusters that another engine has left."""
        _load(problem)
        self.threads = n_threads(n_jobs) if problem.n_objects >= WORTH_THREADS else 1
        self.told = 0  # links that were handed on
        self.problem = problem
        self.limits = make_limits(problem.constraints, problem.n_objects)
        self.members: dict[int, Indices] = {}  # the objects of every cluster, where the smallest distance counts
        row, n = problem.criterion, problem.n_objects if left is None else len(left.weight)
        width = padded_width(n)
        weight, best = np.ones(width), np.full(width, -np.inf)
        if row.reduction is np.add and not row.equal_parts:
            weight[:n] = problem.weights if left is None else left.weight
        best[:n] = np.inf
        self.square = Square(
            stored=np.empty(n * width),
            slot=np.arange(n) if left is None else left.name.astype(np.intp),
            weight=weight,
            spread=np.zeros(width),
            best=best,
            nearest=np.zeros(n, np.int64),
            tied=np.zeros(n, np.bool_),
            looked=np.zeros(n, np.int64),
            reduction=reduction_of(row),
            offset=row.offset,
            by_size=row.by_size,
            equal_parts=row.equal_parts,
            reducible=row.reducible,
        )
        self.steps = Steps(
            p=np.empty(n, np.int64),
            q=np.empty(n, np.int64),
            distance=np.empty(n),
            level=np.empty(n, np.int64),
            searched=np.empty(n, np.int64),
            mark=np.zeros(n, np.int8),
            row=np.empty(width),
            scratch=np.empty(width),
            counters=np.zeros(6, np.int64),
        )
        self.steps.counters[[N_ALIVE, N_PLACES, WIDTH]] = n, n, width
        if left is None:
            self._fill(width)
        else:
            self._take_over(left, width)

    def _take_over(self, left: Clusters, width: int) -> None:
        """Write what was stored of clusters into the matrix."""
        rows, n = self.square.stored.reshape(-1, width), len(left.weight)
        rows[:, :n], rows[:, n:] = left.stored, np.inf
        if self.square.reduction == ADD:
            self.square.spread[:n] = left.stored.diagonal()
        np.fill_diagonal(rows, np.inf)

    def _fill(self, width: int) -> None:
        """Write the numbers that pairs of objects store into the matrix."""
        problem, n, stored = self.problem, self.problem.n_objects, self.square.stored
        if problem.objects.are_points(problem.metric):
            vectors = rows_of(problem.objects)
            root = squares_of(problem.compared_metric) is Squares.ROOTED
            euclidean_square(np.ascontiguousarray(vectors.T, np.float64), stored, width, root)
        elif isinstance(problem.objects, Distances):
            given, strips = problem.objects.matrix, range(0, n, STRIP)
            in_threads(partial(self._fill_given, given, width, problem.criterion.geometric), strips, self.threads)
            if given.ndim == 1:
                in_threads(lambda at: mirror_rows(stored, width, at, min(at + STRIP, n)), strips, self.threads)
        else:
            stored.reshape(n, width)[:, :n] = problem.base_distances()
        if problem.criterion.reduction is np.minimum:  # where the two nearest objects of every link are looked up
            self.base = stored.reshape(n, width)[:, :n].copy()
            self.members = dict(enumerate(np.arange(n)[:, None]))
        self._close(stored.reshape(n, width))

    def _close(self, rows: NDArray[np.float64]) -> None:
        """Make the padding, the diagonal and what is forbidden infinite; weigh pairs where objects have weights."""
        n, weight, limits = len(rows), self.square.weight, self.limits
        np.fill_diagonal(rows, np.inf)  # first of all: it may hold what was in memory before
        if self.square.reduction == ADD and (weight != 1.0).any():
            for i in range(n):
                rows[i, :n] *= weight[i] * weight[:n]
        rows[:, n:] = np.inf
        if limits.max_size < 2:
            rows[:] = np.inf
        elif limits.active:
            rows[np.repeat(np.arange(n), np.diff(limits.starts)), limits.other] = np.inf

    def _fill_given(self, given: NDArray[Any], width: int, squared: bool, at: int) -> None:
        """Write given distances, or their squares, into some rows of the matrix."""
        stored, n = self.square.stored, self.problem.n_objects
        stop = min(at + STRIP, n)
        if given.ndim == 1:
            fill_later(only_read(np.ascontiguousarray(given)), n, stored, width, at, stop, squared)
            return
        rows = stored.reshape(n, width)[at:stop, :n]
        if squared:
            np.multiply(given[at:stop], given[at:stop], out=rows, dtype=np.float64)
        else:
            rows[:] = given[at:stop]

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say no to single, whose links need object pairs; with constraints these are looked up afterwards."""
        single = problem.criterion.reduction is np.minimum
        return "it keeps no object pairs" if single and not problem.constraints else None

    @staticmethod
    def suits(problem: Problem) -> bool:
        """While the matrix stays in the cache; where lists do badly: with searches of all new clusters, or with ties.

        And with constraints, which no engine with lists can do.
        """
        if problem.constraints:
            return True
        n, objects, searched = problem.n_objects, problem.objects, not problem.criterion.reducible
        if n <= MOST or not isinstance(objects, Distances):
            return n <= MOST
        if problem.alpha == 0.0:
            return searched or many_are_equal(objects.matrix)
        all_links = problem.alpha == 1.0 and problem.tie_tolerance == 0.0
        return searched and all_links and not many_are_equal(objects.matrix)

    @staticmethod
    def memory(problem: Problem) -> int:
        """The matrix, and while it is filled from anything but points and given distances two more."""
        filled_in_place = problem.objects.are_points(problem.metric) or isinstance(problem.objects, Distances)
        n, pairs = problem.n_objects, problem.criterion.reduction is np.minimum
        return (8 * (1 + pairs) if filled_in_place else 24) * n**2 + 700 * n

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""
        return int(self.steps.counters[N_ALIVE])

    def join(self, groups: Groups) -> None:
        """Join groups before the first search: how a new engine catches up with levels made earlier."""
        self._join_members(groups)
        if self.limits.active:
            join_limits(self.limits, groups)
        bounds = np.append(groups.starts, len(groups.parts))
        join_groups(self.square, self.steps, self.limits, groups.parts, bounds, 1.0)

    def levels(self, level: int) -> Iterator[Batch]:
        """Develop all levels, in as few calls of compiled code as patience allows."""
        self.steps.counters[LEVEL] = level
        rules = make_rules(self.problem, limits=self.limits)
        if self.n_clusters < 2:
            return
        if rules.alpha == 1.0 and rules.tie_factor == 1.0 and not self.limits.active:
            done = yield from self._levels_without_ties(rules)
            if done:
                return
        yield from self._levels_with_ties(rules)

    def _levels_without_ties(self, rules: Rules) -> Generator[Batch, None, bool]:
        """Develop levels by short lists, until all is done or the nearest of some cluster are tied; tell which."""
        square, steps, n = self.square, self.steps, int(self.steps.counters[N_PLACES])
        lists = make_shortlists(n, int(steps.counters[WIDTH]))
        plain = bool((square.weight == 1.0).all()) and not steps.counters[N_LINKS] and self.n_clusters == n
        plain = plain and not square.spread.any()
        most = WORTH_SHARING if self.threads > 1 else sys.maxsize

        def ties_of_strip(at: int) -> int:
            return int(prove_nearest(square, steps, lists, plain, at, min(at + STRIP, n))[1])

        if ties_of_strip(0) or any(in_threads(ties_of_strip, range(STRIP, n, STRIP), self.threads)):
            return False
        status = PAUSE
        with ThreadPoolExecutor(self.threads) as pool:  # starts no thread before it is used
            while status not in (DONE, TIED):
                status = advance_without_ties(square, steps, lists, rules, most, NUMBERS_BEFORE_PAUSE)
                if status == SHARE:
                    self._join_pairs(lists, pool)
                yield from self._new_links()
        return status == DONE

    def _join_pairs(self, lists: Shortlists, pool: ThreadPoolExecutor) -> None:
        """Join the pairs of a level in threads; what they find is entered into lists in a fixed order."""
        pairs = int(lists.counts[N_PAIRS])
        shares = max(self.threads, pairs // STRIP)
        cuts = [pairs * k // shares for k in range(shares + 1)]
        for hits in pool.map(partial(join_pairs, self.square, self.steps, lists), cuts[:-1], cuts[1:]):
            enter_hits(lists, hits)

    def _levels_with_ties(self, rules: Rules) -> Iterator[Batch]:
        """Develop all other levels: rows are searched whose nearest have changed."""
        search_all(self.square, self.steps, rules.tie_factor)
        leader, done = np.arange(self.problem.n_objects), False
        while not done:
            done = advance(self.square, self.steps, rules, leader, NUMBERS_BEFORE_PAUSE)
            yield from self._new_links()

    def _new_links(self) -> Iterator[Batch]:
        """Hand on the links that were established since the last time."""
        steps, new = self.steps, slice(self.told, int(self.steps.counters[N_LINKS]))
        self.told = new.stop
        if new.stop > new.start:
            links = Links(steps.p[new], steps.q[new], steps.distance[new])
            yield Batch(steps.level[new], links, self._object_pairs(steps.level[new], links))

    def _object_pairs(self, level: Indices, links: Links) -> NDArray[np.intp] | None:
        """Return for each link its two nearest objects, where the smallest distance counts. O(n^2) for all levels."""
        if not self.members:
            return None
        pairs = np.empty((len(level), 2), dtype=np.intp)
        for some in np.split(np.arange(len(level)), np.flatnonzero(np.diff(level)) + 1):
            for k in some.tolist():
                pairs[k] = nearest_objects(self.base, self.members[links.p[k]], self.members[links.q[k]])
            self._join_members(groups_of(links.take(some), self.problem.n_objects))
        return pairs

    def _join_members(self, groups: Groups) -> None:
        for parts in np.split(groups.parts, groups.starts[1:]) if self.members else ():
            self.members[parts[0]] = np.sort(np.concatenate([self.members.pop(part) for part in parts.tolist()]))


def _load(problem: Problem) -> None:
    """Load the compiled code with a few objects, and say so if it must be compiled first."""
    if problem.n_objects <= FEW:
        return

    def run_few() -> None:
        euclidean_square(np.zeros((1, 2)), np.zeros(64), 32, False)
        for kind in (np.float32, np.float64):
            fill_later(only_read(np.zeros(1, kind)), 2, np.zeros(64), 32, 0, 2, False)
        mirror_rows(np.zeros(64), 32, 0, 2)
        few = replace(problem.made_up(FEW), alpha=1.0, tie_tolerance=0.0)
        for _ in DenseEngine(few).levels(0):
            pass
        again = DenseEngine(few)
        for _ in again._levels_with_ties(make_rules(few, limits=again.limits)):
            pass

    load(DenseEngine.name, "", run_few)
