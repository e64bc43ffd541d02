"""The standard strategy on one table: every level takes the smallest link, of equal ones the first by index.

Everyone's nearest is kept, the first by index. Who has lost it to a join keeps its distance as a bound: no one else is
nearer. It is searched again only when that bound is the smallest of all (Müllner 2011, the generic algorithm).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.criteria import join_weights
from ...algorithm.links import Links
from ...input.problem import Problem
from .tables import Tables

#: Tables in which this share of the rows is empty are made smaller.
EMPTY = 0.5

_START = np.zeros(1, np.intp)


def one_by_one(problem: Problem, tables: Tables, level: int) -> Iterator[Batch]:
    """Take links until a stopping rule holds."""
    stop = problem.stop
    left = len(tables.alive) - stop.n_clusters
    tables.near = np.zeros(len(tables.names), np.intp)
    tables.smallest = np.full(len(tables.names), np.inf, dtype=tables.stored.dtype)
    for some in tables.blocks(tables.alive):
        tables.look(some, None)
    lost = np.zeros(len(tables.names), dtype=bool)  # whose smallest distance is only a bound
    gone = len(tables.names) - len(tables.alive)
    while left > 0 and level < stop.max_level:
        p = int(tables.smallest.argmin())
        if lost[p]:
            tables.look(np.array([p]), None)
            lost[p] = False
            continue
        q, distance = int(tables.near[p]), tables.smallest[p]
        if not problem.allows(distance):
            break
        level, left, gone = level + 1, left - 1, gone + 1
        yield Batch(np.array([level]), Links(tables.names[[p]], tables.names[[q]], np.array([distance])), None)
        _join_two(tables, p, q)
        _notice(tables, lost, p, q)
        if gone > max(EMPTY * tables.m, 32):
            lost, gone = _contract(tables, lost), 0


def _join_two(tables: Tables, p: int, q: int) -> None:
    """Write the row and the column of a new cluster at place p, and empty place q."""
    reduction, rows = tables.criterion.reduction, tables.rows[[p, q]]
    if tables.criterion.equal_parts:
        factors, tables.weight[p : p + 1] = join_weights(tables.criterion, tables.weight[[p, q]], _START)
        rows *= factors[:, None]
        row = reduction(rows[0], rows[1])
        own = row[p] * factors[0] + row[q] * factors[1]
    else:
        tables.weight[p] += tables.weight[q]
        row = reduction(rows[0], rows[1])
        own = row[p] + row[q]
    row[p], row[q] = own if tables.sums else np.inf, np.inf
    square = tables.stored[0]
    square[q] = square[:, q] = np.inf
    square[p] = square[:, p] = row
    if tables.sums:
        square[q, q] = 0.0
    tables.names[q] = -1


def _notice(tables: Tables, lost: NDArray[np.bool_], p: int, q: int) -> None:
    """Let the new cluster at p be the nearest of whom it is, and note who has lost its nearest."""
    near, smallest = tables.near, tables.smallest
    distance = tables.distances(np.array([p]))[0]
    lost |= (near == p) | (near == q)
    nearer = distance < smallest
    takes = np.flatnonzero(nearer | ((distance == smallest) & (p < near) & ~lost))
    near[takes], smallest[takes], lost[takes] = p, distance[takes], False
    near[p] = distance.argmin()
    smallest[p], lost[p] = distance[near[p]], False
    near[q], smallest[q], lost[q] = q, np.inf, False


def _contract(tables: Tables, lost: NDArray[np.bool_]) -> NDArray[Any]:
    """Leave out the empty places; what is known about the others goes along."""
    near, smallest = tables.near, tables.smallest
    none = _START[:0]
    kept = tables.contract(none, none, np.empty((0, 2)))
    moved = np.zeros(len(near), np.intp)
    moved[kept] = np.arange(len(kept))
    tables.near, tables.smallest = moved[near[kept]], smallest[kept]
    return lost[kept]
