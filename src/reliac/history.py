"""A run and what it has established so far: links batch by batch, progress, catching up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .engines import relief
from .engines.base import Batch, Engine, TooManyTies
from .links import Links, groups_of
from .problem import Problem


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
        """Go through the links level by level."""
        level, links, _ = self.whole()
        for rows in split_runs(level):
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
    try:
        _develop(problem, engine, history, report, started)
    except TooManyTies:
        engine = relief(problem).engine(problem)
        _develop(problem, engine, history, report, started)
    left, stop = problem.n_objects - history.n_links, problem.stop
    if left > stop.n_clusters and history.last_level < stop.max_level and stop.max_distance == math.inf:
        raise RuntimeError(f"the {engine.name} engine found no reliable link among {left} clusters: please report this")
    return engine.name


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
