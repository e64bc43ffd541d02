"""Contraction: what is left of a graph is written anew, without gaps, so that later levels read memory in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled.loading import bare_inlined, compiled
from ..compiled.sets import top
from ..vectors.moments import Moments
from .brief import BRIEF, EVEN, WIDE, places_for, store_short
from .entries import IS_LONG, SMALLEST
from .rows import Room, Rows, add_row, begin_row, put_entry
from .steps import N_SEARCHED, Steps

#: A graph is contracted when clusters have become fewer than this share of its slots ...
SHARE_LEFT = 0.3

#: ... while it has more than so many slots: smaller ones stay in the cache anyway.
FEWEST_SLOTS = 4096


@bare_inlined
def store_row(rows, room, c, slot_of, to, at):
    """Write the row of cluster c, brought up to date, to places from ``at`` on, others by their new slots.

    Returns how many it takes, no more than before, and its form.
    """
    begin_row(room)
    length = add_row(rows, room, c, np.int64(0), c)
    for e in range(length):
        room.other[e] = slot_of[room.other[e]]
    form = WIDE
    if rows.brief and 2 * length <= rows.used[c]:
        form = EVEN
    elif rows.brief and places_for(room, length, rows.scaled) <= rows.used[c]:
        form = BRIEF
    if form != WIDE:
        return store_short(room, length, to, at, form), form
    for e in range(length):
        put_entry(to, at + e, room, e)
    return length, form


@bare_inlined
def fetch_entry(rows, aside, e, k, form):
    """Copy an entry that was put aside to place k. If brief, bit by bit: it may be two whole numbers, or one sum."""
    if form != WIDE:
        rows.places[2 * k], rows.places[2 * k + 1] = aside.places[2 * e], aside.places[2 * e + 1]
        if rows.scaled:
            rows.share[k] = aside.share[e]
            if aside.places[2 * e + 1] == IS_LONG:
                rows.long_count[k] = aside.long_count[e]
        return
    rows.other[k] = aside.other[e]
    if rows.listed:
        rows.stored[k] = aside.stored[e]
        if rows.reduction == SMALLEST:
            rows.pair[k] = aside.pair[e]
        else:
            rows.count[k] = aside.count[e]
            if aside.count[e] == IS_LONG:
                rows.long_count[k] = aside.long_count[e]


@compiled
def lie_in_front(rows, alive):
    """Tell of clusters whether some of their entries lie where rows are written that come before theirs."""
    in_front, before = np.zeros(len(alive), np.bool_), 0
    for k in range(len(alive)):
        left, segment = np.int64(rows.used[alive[k]]), alive[k]
        while left > 0:
            in_front[k] |= rows.start[segment] < before
            left -= rows.start[segment + 1] - rows.start[segment]
            segment = np.int64(rows.following[segment])
        before += np.int64(rows.used[alive[k]])
    return in_front


@compiled
def move_rows(rows, room, some, slot_of, to, start, kept, aside, aside_start):
    """Write the rows of some clusters to the front of ``to``, one after the other, others by their new slots.

    They are brought up to date, or, where they are ``kept`` in ``aside``, were when they were put there. ``to`` may be
    ``rows`` itself: then forms are written to the front as well, and a cluster's slot is never before its new one.
    """
    at, put = 0, 0
    for k in range(len(some)):
        if kept[k]:
            first, length, form = aside_start[put], aside_start[put + 1] - aside_start[put], np.int64(WIDE)
            if rows.brief:
                form = np.int64(aside.form[put])
            for e in range(length):
                fetch_entry(to, aside, first + e, at + e, form)
            put += 1
        else:
            length, form = store_row(rows, room, np.int64(some[k]), slot_of, to, at)
        if rows.brief:
            to.form[k] = form
        at += length
        start[k + 1] = at
    return at


@compiled
def clusters_left(rows):
    """Return the clusters that are left, in order."""
    count, leader = 0, rows.leader
    for c in range(len(leader)):
        count += leader[c] == c
    alive, count = np.empty(count, np.int64), 0
    for c in range(len(leader)):
        if leader[c] == c:
            alive[count] = c
            count += 1
    return alive


@compiled
def tell_slots(rows, slot_of):
    """Give to all slots the new slot of their cluster, which leaders have already."""
    for c in range(len(slot_of)):
        slot_of[c] = slot_of[top(rows.leader, np.int64(c))]


def fewest_clusters(rows: Rows) -> int:
    """Return the number of clusters below which the rows should be written anew."""
    return int(SHARE_LEFT * len(rows.leader)) if len(rows.leader) > FEWEST_SLOTS else 0


def is_due(rows: Rows, n_clusters: int) -> bool:
    """Tell whether enough clusters have joined since the rows were written."""
    return n_clusters < fewest_clusters(rows)


def contract(rows: Rows, room: Room, steps: Steps) -> Rows:
    """Return rows with one slot for every cluster, in the old order."""
    alive = clusters_left(rows)
    slot_of = np.empty(len(rows.leader), np.int32)
    slot_of[alive] = np.arange(len(alive), dtype=np.int32)
    tell_slots(rows, slot_of)
    start = _write_rows(rows, room, alive, slot_of)
    new = np.arange(len(alive), dtype=np.int32)
    searched = slot_of[steps.searched[: steps.counters[N_SEARCHED]]]
    steps.searched[: len(searched)], steps.counters[N_SEARCHED] = searched, len(searched)
    return rows._replace(
        places=rows.stored.view(np.int32),  # of what is left of them
        form=rows.form[: len(alive)].copy(),
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


def _write_rows(rows: Rows, room: Room, alive: NDArray[np.intp], slot_of: NDArray[np.int32]) -> NDArray[np.int64]:
    """Write the rows of the clusters that are left to the front of the arrays, and give back the memory behind them."""
    in_front = lie_in_front(rows, alive)
    size = int(rows.used[alive[in_front]].sum())

    def as_long(array: NDArray[Any]) -> NDArray[Any]:
        return np.empty(size if len(array) else 0, array.dtype)

    columns = {name: getattr(rows, name) for name in ("other", "stored", "count", "long_count", "pair", "share")}
    some, nowhere = alive[in_front], np.zeros(len(alive), np.bool_)
    aside = rows._replace(
        **{name: as_long(column) for name, column in columns.items()}, form=np.empty(len(some), np.uint8)
    )
    aside = aside._replace(places=aside.stored.view(np.int32))
    aside_start, start = np.zeros(len(some) + 1, np.int64), np.zeros(len(alive) + 1, np.int64)
    move_rows(rows, room, some, slot_of, aside, aside_start, nowhere, aside, aside_start)
    entries = move_rows(rows, room, alive, slot_of, rows, start, in_front, aside, aside_start)
    for column in columns.values():
        shrink(column, min(entries, len(column)))
    return start


def shrink(array: NDArray[Any], entries: int) -> None:
    """Give back the memory behind the first entries. The caller vouches that nobody else looks at the array.

    Scattered memory stays as it is: hardly any of it has been touched.
    """
    if array.flags.owndata:
        array.resize(entries, refcheck=False)


def _move_points(points: Moments, alive: NDArray[np.intp]) -> Moments:
    """Return the moments of the clusters that are left; those of different rows are known by their new slots."""
    row = points.row[alive]
    return points._replace(
        sums=points.sums[alive],
        weight=points.weight[alive],
        row=np.where(row < 0, -1 - np.arange(len(alive)), row),
        spread=points.spread[alive] if points.with_spread else points.spread,
    )
