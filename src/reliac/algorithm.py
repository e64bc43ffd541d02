"""The loop of the paper (Algorithm 1): levels, alpha, stopping. It does not know where the data lives."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .engines.base import Engine
from .links import Links, groups_of, joining_links, level_out, reliable_links, smallest_share
from .problem import Problem


@dataclass(frozen=True)
class Progress:
    """How far a run has come, told after every level."""

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
    """The links established so far, level by level, with the distances that the user sees."""

    levels: list[tuple[int, Links, NDArray[np.intp] | None]] = field(default_factory=list)

    @property
    def last_level(self) -> int:
        """The number of the newest level."""
        return self.levels[-1][0] if self.levels else 0


def run(problem: Problem, engine: Engine, history: History, report: Callable[[Progress], None]) -> None:
    """Develop the clusters level by level until one is left or a stopping rule holds; write into ``history``."""
    n, stop, started = problem.n_objects, problem.stop, time.monotonic()
    level = history.last_level
    while engine.n_clusters > stop.n_clusters and level < stop.max_level:
        links = reliable_links(engine.nearest(), n)
        links = smallest_share(links, problem.alpha, problem.tie_factor)
        links = links.take(problem.heights(links.distance) <= stop.max_distance)
        if problem.tie_tolerance:
            links = level_out(links, n)
        links = joining_links(links, n).take(slice(0, engine.n_clusters - stop.n_clusters))
        if not len(links.p):
            break
        level += 1
        pairs = engine.object_links(links) if problem.criterion.reduction is np.minimum else None
        history.levels.append((level, links._replace(distance=problem.heights(links.distance)), pairs))
        engine.join(groups_of(links, n))
        report(Progress(level, engine.n_clusters, n, stop.n_clusters, time.monotonic() - started))


def replay(engine: Engine, history: History, n: int) -> None:
    """Bring a new engine to the state after ``history``, without searching."""
    for _, links, _ in history.levels:
        engine.join(groups_of(links, n))
