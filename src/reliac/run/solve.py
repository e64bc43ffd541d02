"""One run, from a problem to its tree: who runs it, what it writes down, and what is left when it is stopped."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import Batch, Engine, TooManyTies
from ..algorithm.links import groups_of
from ..engines.choice import ENGINES, Choice, choose, relief
from ..engines.repeats import first_links
from ..errors import Interrupted, InvariantError, unknown_name
from ..input.metrics import metric_name
from ..input.problem import Problem
from ..machine import check_jobs
from ..tree.building import make_links
from ..tree.clustertree import ClusterTree
from .checkpoint import Checkpoint
from .history import History, Progress, history_of
from .progress import make_reporter

#: Engines that get no help with equal rows: the reference, and the one that is done before they are found.
PLAIN = ("literal", "small")

#: What stands before the name of a metric that was a function.
CALLABLE = "callable "


def cluster_problem(
    problem: Problem,
    engine: Any = "auto",
    n_jobs: Any = None,
    progress: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ClusterTree:
    """Solve a problem; the options are those of :func:`reliac.cluster`."""
    if not isinstance(engine, str):
        raise TypeError(unknown_name("engine", engine, [*ENGINES, "auto"]))
    check_jobs(n_jobs)
    choice = choose(problem, engine)
    keeper = None if checkpoint is None else Checkpoint(checkpoint, problem)
    earlier = keeper.resume() if keeper else None
    history = history_of(earlier) if earlier else History()
    return solve(problem, choice, history, n_jobs, progress, keeper)


def solve(
    problem: Problem,
    choice: Choice,
    history: History,
    n_jobs: int | None,
    progress: Any,
    keeper: Checkpoint | None = None,
    objects: NDArray[np.intp] | None = None,
) -> ClusterTree:
    """Run from where ``history`` stands and make the tree; ``objects`` are the row numbers that it shows."""
    report, finish = make_reporter(progress)
    fingerprint = problem.objects.data_fingerprint()

    def tree() -> ClusterTree:
        return make_tree(problem, history, choice, objects, fingerprint)

    def after_level(state: Progress) -> None:
        report(state)
        if keeper and keeper.due():
            keeper.write(tree())

    try:
        choice = run(problem, choice, n_jobs, history, after_level)
        whole = tree()
    except KeyboardInterrupt:
        raise _interrupted(tree(), keeper) from None
    finally:
        finish()
    if keeper:
        keeper.remove()
    return whole


def run(
    problem: Problem, choice: Choice, n_jobs: int | None, history: History, report: Callable[[Progress], None]
) -> Choice:
    """Catch up with ``history``, then let the engine develop the clusters and write down what it establishes.

    An engine that ties overwhelm is relieved by another one, from the level reached. Returns the choice of the engine
    that finished.
    """
    started, n, stop = time.monotonic(), problem.n_objects, problem.stop

    def write(batch: Batch) -> None:
        history.add(batch)
        left, seconds = n - history.n_links, time.monotonic() - started
        report(Progress(history.last_level, left, n, stop.n_clusters, seconds))

    engine = choice.engine(problem, n_jobs)
    if not history.batches and engine.name not in PLAIN:
        links = first_links(problem)
        if len(links.p):
            # Parts of equal size are halved again and again, which is exact. Joining k parts at once divides by k,
            # which rounds: so not where parts count alike.
            history.at_once = 0 if problem.criterion.equal_parts else len(links.p)
            write(Batch(np.arange(1, len(links.p) + 1), links, None))
    try:
        _develop(problem, engine, history, write)
    except TooManyTies:
        choice = relief(problem)._replace(reason=f"ties left the {choice.engine.name} engine no room")
        engine = choice.engine(problem, n_jobs)
        _develop(problem, engine, history, write)
    left = n - history.n_links
    stopped = left <= stop.n_clusters or history.last_level >= stop.max_level or stop.max_distance < math.inf
    if not stopped and not problem.objects.may_end_in_forest:
        raise InvariantError(
            f"the {engine.name} engine found no reliable link among {left} clusters: please report this"
        )
    return choice


def _develop(problem: Problem, engine: Engine, history: History, write: Callable[[Batch], None]) -> None:
    """Join what was joined before, then write down the engine's levels with the distances that the user sees."""
    for links in history.by_level():
        engine.join(groups_of(links, problem.n_objects))
    for batch in engine.levels(history.last_level):
        heights = problem.heights(batch.links.distance)
        write(batch._replace(links=batch.links._replace(distance=heights)))


def _interrupted(partial: ClusterTree, keeper: Checkpoint | None) -> Interrupted:
    """Keep the levels done in the checkpoint, if that works, and in the exception, always."""
    try:
        if keeper:
            keeper.write(partial)
    except OSError as error:
        return Interrupted(partial, note=f"the checkpoint could not be written ({error})")
    return Interrupted(partial)


def make_tree(
    problem: Problem,
    history: History,
    choice: Choice,
    objects: NDArray[np.intp] | None = None,
    fingerprint: str | None = None,
) -> ClusterTree:
    """Make the tree of the links in ``history``; ``fingerprint``: of the data, if it is known already."""
    level, links, pairs = history.whole()
    name = metric_name(problem.metric)
    return ClusterTree(
        n_objects=problem.n_objects,
        links=make_links(problem.n_objects, links.p, links.q, links.distance, level),
        names=problem.objects.names,
        objects=np.arange(problem.n_objects) if objects is None else objects,
        weights=problem.weights,
        object_pairs=pairs if problem.criterion.reduction is np.minimum else None,
        parameters={
            "criterion": problem.criterion.name,
            "metric": name if isinstance(problem.metric, str) else f"{CALLABLE}{name}",
            "alpha": problem.alpha,
            "tie_tolerance": problem.tie_tolerance,
        },
        engine=choice.engine.name,
        reason=choice.reason,
        fingerprint=problem.objects.data_fingerprint() if fingerprint is None else fingerprint,
        problem=problem,
    )
