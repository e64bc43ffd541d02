"""A run and what it has established so far: links batch by batch, progress, catching up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import Batch, Engine, TooManyTies
from ..algorithm.links import Links, groups_of
from ..engines.choice import relief
from ..errors import InvariantError
from ..input.metrics import EUCLIDEAN
from ..input.numbers import differences_vanish, find_twins, is_sparse
from ..input.problem import Problem


@dataclass(frozen=True)
class Progress:
    """How far a run has come, told after every level, or after every few where levels are quick."""

    level: int
    n_clusters: int  # left now
    n_objects: int
    target: int  # clusters at which the run stops at the latest
    seconds: float  # since the start

    @property
    def share(self) -> float:
        """The share of joins done, from 0 to 1."""
        return (self.n_objects - self.n_clusters) / max(1, self.n_objects - self.target)

    @property
    def seconds_left(self) -> float:
        """An estimate: the joins that are left take as long as those done."""
        return self.seconds * (1.0 - self.share) / max(self.share, 1e-9)


@dataclass
class History:
    """The links established so far, with the distances that the user sees."""

    batches: list[Batch] = field(default_factory=list)
    at_once: int = 0  # an engine that catches up may join along so many of the first links in one step

    @property
    def last_level(self) -> int:
        """The number of the newest level."""
        return int(self.batches[-1].level[-1]) if self.batches else 0

    @property
    def n_links(self) -> int:
        """The number of links."""
        return sum(len(batch.level) for batch in self.batches)

    def whole(self) -> Batch:
        """Return all links as one batch."""
        empty = np.empty(0, np.intp)
        every = [Batch(empty, Links(empty, empty, np.empty(0)), np.empty((0, 2), np.intp)), *self.batches]
        pairs = [batch.object_pairs for batch in every if batch.object_pairs is not None]
        return Batch(
            np.concatenate([batch.level for batch in every]),
            Links(*(np.concatenate(column) for column in zip(*(batch.links for batch in every), strict=True))),
            np.concatenate(pairs),
        )

    def by_level(self) -> Iterator[Links]:
        """Go through the links level by level, as far as that makes a difference."""
        level, links, _ = self.whole()
        for rows in split_runs(np.maximum(level, level[self.at_once - 1]) if self.at_once else level):
            yield links.take(rows)


def split_runs(values: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the positions of each run of equal values."""
    if not len(values):
        return []
    return np.split(np.arange(len(values)), np.flatnonzero(np.diff(values)) + 1)


def run(problem: Problem, engine: Engine, history: History, report: Callable[[Progress], None]) -> str:
    """Catch up with ``history``, then let the engine develop the clusters and write down what it establishes.

    An engine that ties overwhelm is relieved by another one, from the level reached. Returns the name of the
    engine that finished.
    """
    started = time.monotonic()
    if not history.batches and engine.name != "literal":  # which is to find them itself
        _take_equal_rows(problem, history)
        if history.batches:
            left, seconds = problem.n_objects - history.n_links, time.monotonic() - started
            report(Progress(history.last_level, left, problem.n_objects, problem.stop.n_clusters, seconds))
    try:
        _develop(problem, engine, history, report, started)
    except TooManyTies:
        engine = relief(problem).engine(problem)
        _develop(problem, engine, history, report, started)
    left, stop = problem.n_objects - history.n_links, problem.stop
    if left > stop.n_clusters and history.last_level < stop.max_level and stop.max_distance == math.inf:
        raise InvariantError(
            f"the {engine.name} engine found no reliable link among {left} clusters: please report this"
        )
    return engine.name


def _take_equal_rows(problem: Problem, history: History) -> None:
    """Where links are taken one at a time, write down those of equal rows: nothing has to be searched for them.

    They are the smallest, and ties are taken by the smaller and the larger index: the first of equal rows joins all
    others, one by one, before the next that has any does so.
    """
    vectors, n, stop = problem.vectors, problem.n_objects, problem.stop
    if problem.alpha > 0.0 or vectors is None or is_sparse(vectors) or problem.metric not in EUCLIDEAN:
        return
    if problem.criterion.reduction is np.minimum or problem.tie_tolerance or (problem.weights != 1.0).any():
        return
    first = find_twins(vectors)
    if first is None or differences_vanish(vectors, first):
        return
    others = np.argsort(first, kind="stable")
    others = others[first[others] != others][: int(min(n - stop.n_clusters, stop.max_level))]
    if len(others):
        links = Links(first[others], others, np.zeros(len(others)))
        history.batches.append(Batch(np.arange(1, len(others) + 1), links, None))
        # not where parts count alike: halves of halves of equal rows are exact, shares of a hundredth are not
        history.at_once = 0 if problem.criterion.equal_parts else len(others)


def _develop(
    problem: Problem, engine: Engine, history: History, report: Callable[[Progress], None], started: float
) -> None:
    for links in history.by_level():
        engine.join(groups_of(links, problem.n_objects))
    left, target = problem.n_objects - history.n_links, problem.stop.n_clusters
    for batch in engine.levels(history.last_level):
        heights = problem.heights(batch.links.distance)
        history.batches.append(batch._replace(links=batch.links._replace(distance=heights)))
        left -= len(batch.level)
        report(Progress(int(batch.level[-1]), left, problem.n_objects, target, time.monotonic() - started))
