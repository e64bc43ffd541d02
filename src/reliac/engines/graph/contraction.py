"""Contraction: what is left of a graph is written anew, without gaps, so that later levels read memory in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled.loading import compiled
from ..vectors.moments import Moments
from .rows import SMALLEST, Room, Rows, add_row, begin_row
from .steps import N_SEARCHED, Steps

#: A graph is contracted when clusters have become fewer than this share of its slots ...
SHARE_LEFT = 0.3

#: ... while it has more than so many slots: smaller ones stay in the cache anyway.
FEWEST_SLOTS = 4096


@compiled
def move_rows(rows, room, alive, slot_of, other, stored, count, pair, start):
    """Write the rows of the clusters ``alive`` one after the other, brought up to date, others by their new slots."""
    at = 0
    for c in alive:
        begin_row(room)
        length = add_row(rows, room, c, 0, c)
        for e in range(length):
            other[at + e] = slot_of[room.other[e]]
            if rows.listed:
                stored[at + e] = room.stored[e]
                if rows.reduction == SMALLEST:
                    pair[at + e] = room.pair[e]
                else:
                    count[at + e] = room.count[e]
        at += length
        start[slot_of[c] + 1] = at
    return at


def fewest_clusters(rows: Rows) -> int:
    """Return the number of clusters below which the rows should be written anew."""
    return int(SHARE_LEFT * len(rows.leader)) if len(rows.leader) > FEWEST_SLOTS else 0


def is_due(rows: Rows, n_clusters: int) -> bool:
    """Tell whether enough clusters have joined since the rows were written."""
    return n_clusters < fewest_clusters(rows)


def contract(rows: Rows, room: Room, steps: Steps) -> Rows:
    """Return rows with one slot for every cluster, in the old order."""
    leader = rows.leader
    while (leader[leader] != leader).any():
        leader = leader[leader]
    alive = np.flatnonzero(leader == np.arange(len(leader)))
    slot_of = np.full(len(leader), -1, np.int32)
    slot_of[alive] = np.arange(len(alive))
    slot_of = slot_of[leader]
    entries = int(rows.used[alive].sum())
    start = np.zeros(len(alive) + 1, np.int64)

    def as_long(array: NDArray[Any]) -> NDArray[Any]:
        return np.empty(entries if len(array) else 0, array.dtype)

    moved = as_long(rows.other), as_long(rows.stored), as_long(rows.count), as_long(rows.pair)
    entries = move_rows(rows, room, alive, slot_of, *moved, start)
    other, stored, count, pair = (array[:entries] for array in moved)
    new = np.arange(len(alive), dtype=np.int32)
    searched = slot_of[steps.searched[: steps.counters[N_SEARCHED]]]
    steps.searched[: len(searched)], steps.counters[N_SEARCHED] = searched, len(searched)
    return rows._replace(
        other=other,
        stored=stored,
        count=count,
        pair=pair,
        start=start,
        following=np.full(len(alive), -1, np.int32),
        last=new.copy(),
        used=np.diff(start).astype(np.int32),
        leader=new.copy(),
        object_of=rows.object_of[alive],
        factor=np.ones(len(alive) if rows.scaled else 0),
        weight=rows.weight[alive],
        best=rows.best[alive],
        nearest=slot_of[rows.nearest[alive]],
        tied=rows.tied[alive],
        looked=rows.looked[alive],
        points=rows.points if rows.listed else _move_points(rows.points, alive),
    )


def _move_points(points: Moments, alive: NDArray[np.intp]) -> Moments:
    """Return the moments of the clusters that are left; those of different rows are known by their new slots."""
    row = points.row[alive]
    return points._replace(
        sums=points.sums[alive],
        weight=points.weight[alive],
        row=np.where(row < 0, -1 - np.arange(len(alive)), row),
        spread=points.spread[alive] if points.with_spread else points.spread,
    )
