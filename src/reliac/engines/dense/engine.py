"""A few thousand objects: the whole matrix in the cache, all levels in one call of compiled code.

Where lists and their searches would cost more than they save, the matrix of stored numbers is reduced in place, and
only the rows of new clusters and of those whose nearest was joined are searched again; see ``levels.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.limits import join_groups as join_limits
from ...algorithm.limits import make_limits
from ...algorithm.links import Groups, Indices, Links, groups_of, nearest_objects
from ...input.condensed import fill_square
from ...input.metrics import Squares, squares_of
from ...input.objects import Distances, rows_of
from ...input.problem import Problem
from ..compiled.formulas import euclidean_square, reduction_of
from ..compiled.loading import FEW, load
from ..compiled.rules import make_rules
from .filling import close_square, padded_width
from .levels import advance, join_groups, search_all
from .square import LEVEL, N_ALIVE, N_LINKS, N_PLACES, WIDTH, Square, Steps

#: Up to so many objects this engine is the quickest ...
MOST = 2000

#: ... or so many, where distances are given: lists need no copy of them.
MOST_GIVEN = 1500

#: Compiled code returns to Python after so many numbers were read: for progress and Ctrl-C.
NUMBERS_BEFORE_PAUSE = 2**27


class DenseEngine:
    """Any criterion (single only with constraints) on a square matrix, given or computed, in one thread."""

    name = "dense"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        del n_jobs  # for so few objects one thread is done before others have started
        _load(problem)
        self.problem = problem
        self.members: dict[int, Indices] = {}  # the objects of every cluster, where the smallest distance counts
        row, n = problem.criterion, problem.n_objects
        width = padded_width(n)
        weight, best = np.ones(width), np.full(width, -np.inf)
        if row.reduction is np.add and not row.equal_parts:
            weight[:n] = problem.weights
        best[:n] = np.inf
        self.square = Square(
            stored=np.empty(n * width),
            slot=np.arange(n),
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
            limits=make_limits(problem.constraints, n),
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
        self._fill(width)

    def _fill(self, width: int) -> None:
        """Write the numbers that pairs of objects store into the matrix."""
        problem, n, stored = self.problem, self.problem.n_objects, self.square.stored
        if problem.objects.are_points(problem.metric):
            vectors = rows_of(problem.objects)
            root = squares_of(problem.compared_metric) is Squares.ROOTED
            euclidean_square(np.ascontiguousarray(vectors.T, np.float64), stored, width, root)
        elif isinstance(problem.objects, Distances):
            square = stored.reshape(n, width)[:, :n]
            fill_square(square, problem.objects.matrix, n)
            if problem.criterion.geometric:
                square *= square
        else:
            stored.reshape(n, width)[:, :n] = problem.base_distances()
        if problem.criterion.reduction is np.minimum:  # where the two nearest objects of every link are looked up
            self.base = stored.reshape(n, width)[:, :n].copy()
            self.members = dict(enumerate(np.arange(n)[:, None]))
        close_square(self.square, n, width)

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say no to single, whose links need object pairs; with constraints these are looked up afterwards."""
        single = problem.criterion.reduction is np.minimum
        return "it keeps no object pairs" if single and not problem.constraints else None

    @staticmethod
    def suits(problem: Problem) -> bool:
        """While the matrix stays in the cache; where lists do badly: one link a level, with searches or ties.

        And with constraints, which no engine with lists can do.
        """
        if problem.constraints:
            return True
        n, objects = problem.n_objects, problem.objects
        if n <= MOST_GIVEN or not isinstance(objects, Distances) or (n > MOST and problem.alpha > 0.0):
            return n <= MOST
        return not problem.criterion.reducible or _many_are_equal(objects.matrix)

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
        if self.square.limits.active:
            join_limits(self.square.limits, groups)
        join_groups(self.square, self.steps, groups.parts, np.append(groups.starts, len(groups.parts)), 1.0)

    def levels(self, level: int) -> Iterator[Batch]:
        """Develop all levels, in as few calls of compiled code as patience allows."""
        steps, counters, rules = self.steps, self.steps.counters, make_rules(self.problem, limits=self.square.limits)
        counters[LEVEL] = level
        search_all(self.square, steps, rules.tie_factor)
        leader, told, done = np.arange(self.problem.n_objects), 0, self.n_clusters < 2
        while not done:
            done = advance(self.square, steps, rules, leader, NUMBERS_BEFORE_PAUSE)
            new = slice(told, int(counters[N_LINKS]))
            told = new.stop
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
        for _ in DenseEngine(problem.made_up(FEW)).levels(0):
            pass

    load(DenseEngine.name, "", run_few)


def _many_are_equal(given: NDArray[Any]) -> bool:
    """Tell whether of a thousand distances, evenly spaced, more than half have been seen before."""
    flat = given.ravel(order="K")
    sample = flat[np.linspace(0, flat.size - 1, 1000).astype(np.int64)]
    return len(np.unique(sample)) < 500
