"""Small inputs with NumPy, SciPy and a little C: they are done before compiled code is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch, TooManyTies
from ...algorithm.links import Groups
from ...algorithm.loop import step_by_step
from ...input.condensed import to_square
from ...input.metrics import Squares, squares_of, squares_side_by_side
from ...input.objects import rows_of
from ...input.problem import Problem
from .at_once import BYTES_OF_A_PAIR, can_do, levels_of_edges, levels_of_table
from .edges import EdgeSteps, Forest, edges_side_by_side, spanning_edges, take_all, take_one_by_one
from .levels import all_at_once
from .one_by_one import one_by_one
from .tables import AND_IN_ALL, MANY_TIES, Tables

#: Many small tables of up to so many columns are compared at once; a call for each costs as much as 60 columns do.
FEW_COLUMNS = 32


class SmallEngine:
    """Tables that shrink, or the edges of all minimum spanning trees where the smallest distance counts."""

    name = "small"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        del n_jobs  # too little work to be shared
        self.problem = problem
        n = problem.n_objects
        self.first = np.arange(n)  # of each object the first one of its cluster, or one on the way there
        self.by_edges = _by_edges(problem)

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what tables and edges cannot tell."""
        if problem.may_end_in_forest:
            return "some pairs may have no distance, or be forbidden"
        if _by_edges(problem) and problem.tie_tolerance:
            return "with a tie tolerance links count that are in no minimum spanning tree"
        return None

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether it should be taken: only for small inputs, and those are not asked about."""
        return False

    @staticmethod
    def memory(problem: Problem) -> int:
        """The table, and while it is made or contracted two more."""
        return BYTES_OF_A_PAIR * problem.n_objects**2

    def join(self, groups: Groups) -> None:
        """Make every group one cluster, to catch up with levels that were made before."""
        sizes = np.diff(np.append(groups.starts, len(groups.parts)))
        self.first[groups.parts] = np.repeat(groups.heads, sizes)
        if not self.by_edges:
            self.tables.join(Groups(self.tables.places_of(groups.parts), groups.starts))

    @cached_property
    def tables(self) -> Tables:
        """The distances, and everyone's nearest."""
        return make_tables([self.problem])

    def levels(self, level: int) -> Iterator[Batch]:
        """Run level after level."""
        if level == 0 and (found := self.levels_at_once()) is not None:
            return iter((found,))
        if self.by_edges:
            return self._levels_of_edges(level)
        alone = self.problem.alpha == 0.0 and self.problem.tie_tolerance == 0.0
        return (one_by_one if alone else all_at_once)(self.problem, self.tables, level)

    def levels_at_once(self) -> Batch | None:
        """Return all levels, by C code; None if this is no case for it, or something is tied.

        By the smallest distance that is every tie; else only some are left to NumPy.
        """
        problem = self.problem
        if not can_do(problem):
            return None
        if self.by_edges:
            return levels_of_edges(problem, np.require(problem.condensed_distances(), np.float64, ["C", "A"]))
        stored = _stored(problem, problem.base_distances())
        return levels_of_table(problem, np.require(stored, np.float64, ["C", "A"]))

    def _levels_of_edges(self, level: int) -> Iterator[Batch]:
        problem, stop, n = self.problem, self.problem.stop, self.problem.n_objects
        first = self.first
        while (first[first] != first).any():
            first = first[first]
        left = int(np.count_nonzero(first == np.arange(n))) - stop.n_clusters
        if left <= 0 or level >= stop.max_level:
            return
        edges = spanning_edges(problem.condensed_distances(), n)
        edges = edges.take(first[edges.i] != first[edges.j])
        if len(edges.i) > max(MANY_TIES * n, AND_IN_ALL):
            raise TooManyTies("more edges of the same length than a list should hold")
        if 0.0 < problem.alpha < 1.0:  # longer links are not taken, but they count among those that a share is taken of
            yield from step_by_step(problem, EdgeSteps(first, edges), level)
            return
        forest = Forest(first, level)
        (take_all if problem.alpha else take_one_by_one)(forest, edges.take(edges.distance <= problem.longest))
        yield forest.batch(left, stop.max_level)


def levels_side_by_side(problem: Problem, parts: list[Problem]) -> Iterator[Batch]:
    """Run many small problems at once, parts of one that takes all reliable links; names count the objects of all.

    The largest part comes first.
    """
    if not _by_edges(problem):
        yield from all_at_once(problem, make_tables(parts), 0)
        return
    sizes = np.array([part.n_objects for part in parts])
    edges = edges_side_by_side(distances_side_by_side(parts), sizes)
    forest = Forest(np.arange(sizes.sum()), 0)
    take_all(forest, edges.take(edges.distance <= problem.longest))
    yield forest.batch_of_each(sizes, problem.stop.n_clusters, problem.stop.max_level)


def make_tables(problems: list[Problem]) -> Tables:
    """Put the distances of problems that differ in their objects only side by side; names count the objects of all."""
    criterion, width = problems[0].criterion, max(problem.n_objects for problem in problems)
    if len(problems) == 1:
        stored = _stored(problems[0], problems[0].base_distances())[None]
        weight, names = problems[0].weights.copy(), np.arange(width)
    else:
        stored = distances_side_by_side(problems)
        weight, names = np.ones((len(problems), width)), np.full((len(problems), width), -1)
        offset = 0
        for place, problem in enumerate(problems):
            n = problem.n_objects
            stored[place, :n, :n] = _stored(problem, stored[place, :n, :n])
            weight[place, :n] = problem.weights
            names[place, :n] = np.arange(offset, offset + n)
            offset += n
    if criterion.equal_parts:
        weight[...] = 1.0
    return Tables(criterion, stored, weight, names, problems[0].tie_factor)


def distances_side_by_side(problems: list[Problem]) -> NDArray[Any]:
    """Return the distances inside problems that differ in their objects only, (problems, objects, objects).

    Where a problem has fewer objects than the largest one they are infinite.
    """
    first, sizes = problems[0], [problem.n_objects for problem in problems]
    if first.objects.are_points(first.metric):
        parts = [rows_of(problem.objects) for problem in problems]
        if parts[0].shape[1] <= FEW_COLUMNS:
            return squares_side_by_side(parts, squares_of(first.compared_metric) is Squares.ROOTED)
    distances = np.full((len(problems), max(sizes), max(sizes)), np.inf)
    for table, problem, n in zip(distances, problems, sizes, strict=True):
        table[:n, :n] = to_square(problem.condensed_distances(), n) if _by_edges(problem) else problem.base_distances()
    return distances


def _stored(problem: Problem, base: NDArray[Any]) -> NDArray[Any]:
    """Turn a table of distances into the numbers that are stored for every pair of objects."""
    if problem.criterion.reduction is not np.add:
        return base
    base = base.astype(np.float64, copy=False)
    if not problem.criterion.equal_parts and (problem.weights != 1.0).any():
        base *= problem.weights[:, None] * problem.weights[None, :]
    return base


def _by_edges(problem: Problem) -> bool:
    """Tell whether the smallest distance counts: then a spanning tree knows everything."""
    return problem.criterion.reduction is np.minimum
