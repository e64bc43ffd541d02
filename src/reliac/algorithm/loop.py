"""The loop of the paper (Algorithm 1): levels, alpha, stopping. It does not know where the data lives.

Engines that answer step by step use it as it stands. The fast engines run the same loop in compiled code (``levels.py``
in the rooms ``lists`` and ``dense``, ``replay.py`` in ``spanning``), because levels that join a single pair must not
cost a round trip each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..input.problem import Problem
from .contract import Batch, SteppingEngine
from .limits import Limits, allowed_links
from .links import groups_of, joining_links, level_out, reliable_links, smallest_share


def step_by_step(problem: Problem, engine: SteppingEngine, level: int, limits: Limits | None = None) -> Iterator[Batch]:
    """Develop the clusters level by level until none may be joined or a stopping rule holds.

    ``limits``: which clusters may be joined, where the problem has constraints.
    """
    n, stop = problem.n_objects, problem.stop
    while engine.n_clusters > stop.n_clusters and level < stop.max_level:
        links = reliable_links(engine.nearest(), n)
        links = smallest_share(links, problem.alpha, problem.tie_factor)
        links = links.take(problem.allows(links.distance))
        if problem.tie_tolerance:
            links = level_out(links, n)
        links = joining_links(links, n) if limits is None else allowed_links(links, limits)
        links = links.take(slice(0, engine.n_clusters - stop.n_clusters))
        if not len(links.p):
            break
        level += 1
        pairs = engine.object_links(links) if problem.criterion.reduction is np.minimum else None
        yield Batch(np.full(len(links.p), level), links, pairs)
        engine.join(groups_of(links, n))
