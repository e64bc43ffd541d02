"""Problems that ``max_distance`` lets fall apart: their components are solved separately, in threads, to the same tree.

No link leads from one component to another (:mod:`reliac.engines.components`), so what a cluster's nearest neighbours
are depends on its own component only, as far as links are short enough to be established. With alpha=1 level l of the
whole is what level l is in every component. With alpha=0 every step takes the smallest link of all: the smallest of the
components' next ones.
"""

from __future__ import annotations

import heapq
import os
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..algorithm.contract import Batch, EarlierLists, Found
from ..algorithm.links import Indices
from ..engines.choice import choose
from ..engines.components import find_components, may_fall_apart
from ..input.options import check_switch
from ..input.problem import Problem
from ..tree.clustertree import ClusterTree
from .groups import level_by_level, part_of, run_groups, some_pairs
from .history import History
from .solve import Run, cluster_problem


def cluster_by_parts(
    problem: Problem,
    engine: Any = "auto",
    n_jobs: Any = None,
    progress: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_lists: bool = False,
    earlier_lists: EarlierLists | None = None,
) -> ClusterTree:
    """Solve a problem, component by component where that saves work; the options are those of :func:`cluster_problem`.

    A run with a checkpoint, or by an engine that the user names, is one run on all objects.
    """
    keep_lists = check_switch("keep_lists", keep_lists)
    if problem.objects.on_device and not getattr(choose(problem, engine).engine, "reads_device", False):
        problem = replace(problem, objects=problem.objects.at_home())
    if isinstance(engine, str) and engine == "auto" and checkpoint is None and may_fall_apart(problem):
        with Run(problem, n_jobs, None).keeping_what_is_done():
            parts = find_components(problem, n_jobs)
        if parts is not None:
            run = PartsRun(problem, n_jobs, progress)
            with run.keeping_what_is_done():
                return run.whole_tree_of(parts, {} if keep_lists else None)
    return cluster_problem(problem, engine, n_jobs, progress, checkpoint, keep_lists, earlier_lists)


class PartsRun(Run):
    """A run on the parts of a problem. If it is stopped no level is complete: there are no links yet."""

    def whole_tree_of(self, parts: list[Indices], lists: Found | None) -> ClusterTree:
        """Run all parts, by the distances that engines compare: those of the user may be equal where these are not."""
        problem = self.problem
        stop = replace(problem.stop, max_distance=problem.longest)
        compared = replace(problem, metric=problem.compared_metric, stop=stop)
        choice = choose(part_of(compared, max(parts, key=len)))
        text = f"{len(parts)} components under max_distance, each by itself; the largest: {choice.reason}"
        self.choice = choice._replace(reason=text)
        done = History()
        found: list[History] = []
        for batches in run_groups(compared, parts, self.n_jobs):
            found.append(_history(batches))
            done.add(found[-1].whole())
            self.tell(max(part.last_level for part in found), problem.n_objects - done.n_links)
        one_link = problem.alpha == 0.0
        level, links, pairs = _one_by_one(found, stop.max_level) if one_link else level_by_level(done.whole())
        self.history.add(Batch(level, links._replace(distance=problem.heights(links.distance)), pairs))
        return self.tree(lists)


def _history(batches: list[Batch]) -> History:
    made = History()
    for batch in batches:
        made.add(batch)
    return made


def _one_by_one(parts: list[History], max_level: float) -> Batch:
    """Put the links of parts that take one link at a time into one order: always the smallest of their next ones.

    Ties go to the smallest objects. Inside a part the order stays, also where a sum rounds below the one before.
    """
    made = _history([part.whole() for part in parts])
    _, links, pairs = made.whole()
    starts = np.cumsum([0, *(part.n_links for part in parts)])
    columns = [column.tolist() for column in (links.distance, links.p, links.q)]
    rows = list(zip(*columns, range(made.n_links), strict=True))
    merged = heapq.merge(*(rows[start:stop] for start, stop in pairwise(starts.tolist())))
    order = np.fromiter((row for *_, row in merged), np.intp, made.n_links)[: int(min(max_level, made.n_links))]
    return Batch(np.arange(1, len(order) + 1), links.take(order), some_pairs(pairs, order))
