"""Where a new row belongs: the cluster of a cut that it alone would be nearest to, by the tree's own criterion."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engines.compiled.products import one_blas_thread
from ..errors import explain, option
from ..input.connectivity import follows_from_vectors
from ..input.mixed import MixedRows
from ..input.objects import Vectors
from ..input.options import check_number, check_switch
from ..input.problem import Problem
from ..machine import in_threads, n_threads
from ..run.progress import ProgressLine
from ..tree.clustertree import ClusterTree
from .bymeans import ByMeans
from .bymembers import ByMembers
from .newrows import new_distances, new_rows
from .partition import Floats, Indices, partition
from .training import is_along_graph, problem_of_distances, training_problem

#: Blocks of new rows between two looks at progress and Ctrl-C, for every thread.
BLOCKS_AT_ONCE = 32


def predict(
    tree: ClusterTree,
    new: Any,
    labels: Indices,
    X: Any = None,
    metric: Any = None,
    max_distance: float | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
    wants_distance: bool = False,
) -> tuple[Indices, Floats | None]:
    """Return the nearest cluster of every new row, and its distance if wanted; see :meth:`ClusterTree.predict`."""
    refuse_graphs(tree)
    check_switch("return_distance", wants_distance)
    step = "give the distance beyond which a new row belongs to no cluster"
    limit = math.inf if max_distance is None else check_number("max_distance", max_distance, 0.0, math.inf, step)
    own = tree.parameters.get("metric")
    if "precomputed" in (own, metric if isinstance(metric, str) else None):
        problem = problem_of_distances(tree, X, "predict(X_new, {})")
        return nearest_clusters(problem, tree, labels, new_distances(new, tree), True, limit, n_jobs, progress)
    problem = training_problem(tree, X, metric, "predict(X_new, {})")
    _check_rows(problem.objects)
    rows = new_rows(new, problem)
    limited = wants_distance or max_distance is not None
    return nearest_clusters(problem, tree, labels, rows, False, limit if limited else None, n_jobs, progress)


def refuse_graphs(tree: ClusterTree) -> None:
    """Refuse trees made along a graph: a new row has no edges."""
    if not is_along_graph(tree):
        return
    raise ValueError(
        explain(
            "New rows for a tree that was made along a graph: they have no edges, and nothing says whom they may join",
            "trees of vectors, or of the distances of all pairs",
            "make a tree without the graph, or make this one again with the new rows in the graph",
        )
    )


def _check_rows(objects: object) -> None:
    """Refuse objects that new rows of numbers cannot be compared with."""
    given = None
    if not isinstance(objects, Vectors):
        given = "New objects for a tree whose objects are no rows of numbers, but were compared by a function"
    elif isinstance(objects.rows, MixedRows):
        given = "New rows for a tree of metric 'gower', which does not keep what its codes of categories stand for"
    if given:
        allowed = f"their distances to all objects of the tree, with {option('metric', 'precomputed')}"
        raise ValueError(explain(given, allowed, "compare them with the objects yourself, and pass the distances"))


def nearest_clusters(
    problem: Problem,
    tree: ClusterTree,
    labels: Indices,
    new: Any,
    given: bool,
    limit: float | None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> tuple[Indices, Floats | None]:
    """Return for every new row the cluster it is nearest to, -1 beyond a limit, and its distance.

    ``new``: checked rows, or with ``given`` their distances to all objects. Without a limit no distance is measured.
    """
    clusters = partition(tree, labels, problem.criterion, problem.weights)
    with one_blas_thread():
        by_means = not given and follows_from_vectors(problem.criterion, problem.metric)
        count = new.shape[0]
        judge = ByMeans(problem, clusters, count) if by_means else ByMembers(problem, clusters, given)
        found, distances = np.empty(count, np.intp), None if limit is None else np.empty(count)

        def place(some: slice | Indices, start: int) -> None:
            found[some], far = judge.nearest(new[some], start, distances is not None)
            if distances is not None and far is not None:
                distances[some] = problem.heights(far)

        step = judge.block_rows
        starts = range(0, count, step)
        run_blocks(lambda at: place(slice(at, at + step), at), starts, n_jobs, progress, f"{count} new rows")
        if isinstance(judge, ByMeans) and len(left := judge.waiting()):
            place(left, 0)
    if distances is not None and limit is not None:
        found[distances > limit] = -1
    return found, distances


def run_blocks(work: Callable[[int], None], starts: range, n_jobs: int | None, progress: Any, what: str) -> None:
    """Do the work of blocks in threads, a few at a time, so that Ctrl-C is heard and progress is told."""
    threads = n_threads(n_jobs)
    tell, finish = _teller(progress, what)
    step, complete = BLOCKS_AT_ONCE * threads, False
    try:
        for at in range(0, len(starts), step):
            in_threads(work, starts[at : at + step], threads)
            tell(min(1.0, (at + step) / len(starts)))
        complete = True
    finally:
        finish(complete)


def _teller(progress: Any, what: str) -> tuple[Callable[[float], None], Callable[[bool], None]]:
    """Return what to call with the share that is done, and what to call at the end."""
    if progress is None or progress is False:
        return (lambda _: None), (lambda _: None)
    if progress is True:
        line, begun = ProgressLine(), time.monotonic()
        return (lambda share: line.show(share, what, time.monotonic() - begun, share >= 1.0)), line.close
    if callable(progress):
        return progress, (lambda _: None)
    allowed = "True, False, None, or a function of the share that is done"
    raise TypeError(explain(option("progress", progress), allowed, f"pass {option('progress', True)} for a bar"))
