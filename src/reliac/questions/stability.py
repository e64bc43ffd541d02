"""How stable cuts are: trees of random parts of the objects, and how far their cuts agree with those of the whole."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..input.options import Stop, check_count, check_number
from ..run.develop import problem_of
from ..run.history import Progress
from ..run.progress import ProgressLine, make_reporter
from ..run.solve import cluster_problem
from ..tree.clustertree import ClusterTree, Order
from .scores import ScoreTable, checked_counts

#: More trees than this nobody waits for.
MOST_REPEATS = 10**6


def stability_table(
    tree: ClusterTree,
    data: tuple[Any, Any],
    n_clusters: Any = None,
    *,
    share: Any = 0.8,
    repeats: Any = 20,
    seed: Any = 0,
    by: Order = "distance",
    n_jobs: int | None = None,
    progress: Any = None,
) -> ScoreTable:
    """Cluster parts of the objects again and again; see :meth:`reliac.ClusterTree.stability`.

    ``data``: X and metric, where the tree does not hold them.
    """
    counts = checked_counts(tree, n_clusters)
    part = check_number("share", share, 0.0, 1.0, "give the share of the objects that each repeat takes, such as 0.8")
    times = check_count("repeats", repeats, 1, MOST_REPEATS, "give the number of parts that are clustered")
    random = np.random.default_rng(check_count("seed", seed, 0, np.inf, "give a whole number"))
    size = max(2, int(np.ceil(part * tree.n_objects)))
    tell, close = _teller(progress, times)
    problem = problem_of(tree, *data, None, n_jobs, "stability({})")
    cuts = tree.labels(counts, by=by)
    found = np.full((times, len(counts)), np.nan)
    done = False
    try:
        for repeat in range(times):
            some = np.sort(random.choice(tree.n_objects, size=min(size, tree.n_objects), replace=False))
            other = cluster_problem(problem.subset(some, Stop()), n_jobs=n_jobs)
            found[repeat] = [_agreement(other, count, by, cuts[some, place]) for place, count in enumerate(counts)]
            tell(repeat + 1)
        done = True
    finally:
        close(done)
    with warnings.catch_warnings():  # a cut that no part has
        warnings.simplefilter("ignore", RuntimeWarning)
        columns = {
            "stability": np.nanmean(found, axis=0).tolist(),
            "deviation": np.nanstd(found, axis=0).tolist(),
            "smallest": np.nanmin(found, axis=0).tolist(),
        }
    told = f"adjusted Rand index of the tree's cuts and those of {times} trees of {min(size, tree.n_objects)} of its "
    return ScoreTable(counts, columns, {"stability": f"{told}{tree.n_objects} objects (seed {seed}), on their objects"})


def _agreement(other: ClusterTree, count: int, by: Order, labels: Any) -> float:
    """Return how far the cut of another tree of some objects agrees with their labels; NaN if it has no such cut."""
    from sklearn.metrics import adjusted_rand_score

    try:
        found = other.labels(count, by=by)
    except ValueError:  # too few objects, or a forest of more trees
        return np.nan
    return float(adjusted_rand_score(labels, found))


def _teller(progress: Any, times: int) -> tuple[Callable[[int], None], Callable[[bool], None]]:
    """Return what to call after every repeat, and at the end; see ``progress`` of :func:`reliac.cluster`."""
    report, close = make_reporter(progress)
    started = time.perf_counter()

    def tell(done: int) -> None:
        seconds = time.perf_counter() - started
        if isinstance(report, ProgressLine):
            report.show(done / times, f"part {done} of {times}", seconds, done == times)
            return
        left = seconds * (times - done) / done
        report(Progress(done, times - done, times, 0, seconds, 1.0, done / times, left))

    return tell, close
