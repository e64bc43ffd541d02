"""When what is left fits into memory it is fetched, and the graph engine goes on from that level: the same tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.links import Links
from ...input.graph import Graph, in_rows, number_ends
from ...input.options import Stop
from ...input.problem import Problem
from ...machine import free_memory
from ..choice import get_engine
from . import statements as sql
from .connections import Tables
from .levels import Run

#: What is left is fetched if it needs at most this share of the free memory, and of what the database may use.
SHARE = 0.5

#: Bytes that an edge and a cluster take while they are fetched, sorted and developed.
BYTES_AN_EDGE, BYTES_A_CLUSTER = 200, 300


def room(tables: Tables) -> float:
    """Return how many bytes what is fetched may take."""
    return SHARE * min(free_memory(), tables.limit)


def fits(run: Run) -> bool:
    """Tell whether what is left can be fetched and finished here."""
    edges = run.n_edges
    return bool(edges * BYTES_AN_EDGE + min(run.n_clusters, 2 * edges) * BYTES_A_CLUSTER <= room(run.tables))


def tree_fits(tables: Tables, n: int) -> bool:
    """Tell whether a tree of n objects can be made here."""
    return BYTES_A_CLUSTER * n <= room(tables)


def finish(run: Run) -> Iterator[Batch]:
    """Fetch what is left, and develop it to the end; yields links between first objects, as they are numbered there."""
    rows = run.tables.fetch("SELECT * FROM edges ORDER BY p, q")
    problem, names, pairs = _problem_of(run, rows)
    engine = get_engine("graph")(problem)
    for batch in engine.levels(run.level):
        places = None
        if pairs is not None and batch.object_pairs is not None:  # the engine has taken the number apart: see below
            places = pairs[batch.object_pairs[:, 0] * problem.n_objects + batch.object_pairs[:, 1]]
        links = batch.links
        yield Batch(batch.level, Links(names[links.p], names[links.q], links.distance), places)


def _problem_of(run: Run, rows: Any) -> tuple[Problem, NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the problem that is left, the first object of each of its objects, and object pairs by their numbers."""
    form, stop = run.form, run.form.stop
    names, p, q = number_ends(rows["p"].to_numpy(), rows["q"].to_numpy())
    lonely = run.n_clusters - len(names)  # without an edge, and of a share of the links they count nonetheless
    added = lonely if 0.0 < form.alpha < 1.0 else 0
    n = len(names) + added
    stored = rows["d" if form.smallest else "s"].to_numpy()
    weights, counts, pairs, numbers = np.ones(n), None, None, None
    if form.smallest:
        ends = np.column_stack((rows["i"].to_numpy(), rows["j"].to_numpy()))
        pairs, places = np.unique(np.concatenate((ends, ends[:, ::-1])), axis=0, return_inverse=True)
        numbers = np.ascontiguousarray(places.reshape(2, -1).T)  # there, and back
    elif run.level:  # at level 0 every edge is one pair
        counts = rows["c"].to_numpy()
        clusters = run.tables.fetch(f"SELECT i, n FROM {sql.CLUSTERS} AS c ORDER BY i")
        at = np.searchsorted(clusters["i"].to_numpy(), names)
        weights[: len(names)] = clusters["n"].to_numpy()[at]
    missing = "ignore" if form.far is None else "far" if np.isinf(form.far) else form.far
    graph = Graph(*in_rows(p, q, stored, n), missing=missing, counts=counts, pairs=numbers)
    rest = Stop(max(1, stop.n_clusters - lonely + added), stop.max_level, stop.max_distance)
    return Problem(graph, form.criterion, "precomputed", form.alpha, 0.0, weights, rest), names, pairs
