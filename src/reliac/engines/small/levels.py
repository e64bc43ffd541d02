"""The loop of the paper on tables: the steps of :mod:`reliac.algorithm.loop`, with short cuts where nothing is tied."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...algorithm.contract import Batch
from ...algorithm.links import Indices, Links, groups_of, joining_links, level_out, smallest_share
from ...input.problem import Problem
from .tables import Tables


def all_at_once(problem: Problem, tables: Tables, level: int) -> Iterator[Batch]:
    """Let every level take all reliable links of a table, or a share of them."""
    stop = problem.stop
    while tables.unfinished and level < stop.max_level:
        links, tied = tables.reliable()
        links = smallest_share(links, problem.alpha, problem.tie_factor)
        if stop.max_distance < math.inf:
            links = links.take(problem.allows(links.distance))
        if tied:
            if problem.tie_tolerance:
                links = level_out(links, len(tables.names))
            links = joining_links(links, len(tables.names))
        if stop.n_clusters > 1:
            links = links.take(_within_reach(tables, links, stop.n_clusters))
        if not len(links.p):
            break
        level += 1
        names = Links(tables.names[links.p], tables.names[links.q], links.distance)
        yield Batch(np.full(len(links.p), level), names, None)
        if len(tables.alive) - len(links.p) == tables.k:  # one cluster is left of each: nothing to be joined further
            return
        if tied:
            tables.join(groups_of(links, len(tables.names)))
        else:
            order = np.argsort(links.p) if len(links.p) > 1 else slice(1)  # most levels have one link
            tables.join_pairs(links.p[order], links.q[order])


def _within_reach(tables: Tables, links: Links, n_clusters: int) -> Indices:
    """Return the first links of every table that leave so many clusters."""
    table = links.p // tables.m
    room = np.bincount(tables.alive // tables.m, minlength=tables.k) - n_clusters
    order = np.argsort(table, kind="stable")
    starts = np.searchsorted(table[order], np.arange(tables.k))
    rank = np.empty(len(table), np.intp)
    rank[order] = np.arange(len(table)) - starts[table[order]]
    return np.flatnonzero(rank < room[table])
