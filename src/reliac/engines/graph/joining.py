"""Joining on a graph: rows become one, and those whose nearest may be another one now are told and searched."""

from __future__ import annotations

import numpy as np

from ..compiled.formulas import shares_of_parts
from ..compiled.loading import bare_inlined, compiled, inside
from ..compiled.sets import top
from ..compiled.sorting import some_of, with_room
from ..compiled.spaces import join_space
from .rows import add_row, ask_ahead, begin_row, keep_row, refresh, search
from .steps import N_ALIVE, N_SEARCHED

#: What a join means for a neighbour of the new cluster: nothing; that is as near as its nearest; it must be searched.
NOTHING, EQUAL, LOST = range(3)


@inside
def weigh_parts(rows, parts, bounds):
    """Set the weight of every group and, where parts count alike, the factor of every part; the first part leads."""
    for g in range(len(bounds) - 1):
        group = parts[bounds[g] : bounds[g + 1]]
        if not rows.listed:
            join_space(rows.points, group)
        elif rows.scaled:
            shares, rows.weight[group[0]] = shares_of_parts(some_of(rows.weight, group))
            for k in range(len(group)):
                rows.factor[group[k]] = shares[k]
        else:
            for c in group[1:]:
                rows.weight[group[0]] += rows.weight[c]
        for c in group[1:]:
            rows.leader[c] = group[0]


@bare_inlined
def join_rows(rows, room, group):
    """Put the rows of a group together, in ``room`` and in the segments of its first part; return the length."""
    head, length = group[0], np.int64(0)
    begin_row(room)
    for c in group:
        length = add_row(rows, room, c, length, head)
    for c in group[1:]:
        rows.following[rows.last[head]], rows.last[head] = c, rows.last[c]
    keep_row(rows, room, head, length)
    return length


@bare_inlined
def what_changes(rows, c, distance, head):
    """Tell what a new cluster ``head`` means for its neighbour c at some distance.

    Whoever had a part as its nearest is in the row of the new cluster. If that is as near as the part was it stays the
    nearest: a join comes no closer. Where vectors give the distance it can: then those that it has come closer to are
    searched too. Where parts count alike, or by their sizes, all neighbours have other numbers now.
    """
    nearer = not rows.listed and distance <= rows.best[c]
    if nearer or (rows.scaled and rows.listed) or rows.by_sizes:
        return LOST
    if distance == rows.best[c]:
        return EQUAL
    lost = rows.leader[rows.nearest[c]] == head  # one step: the nearest was there before this level
    return LOST if lost else NOTHING


@bare_inlined
def hear_equal(rows, c, head):
    """Note a new cluster that is as near to c as its nearest: in place of its part, or the first of both by object."""
    nearest = np.int64(rows.nearest[c])
    if top(rows.leader, nearest) == head or rows.object_of[head] < rows.object_of[nearest]:
        rows.nearest[c] = head


@compiled
def join_share(rows, room, parts, bounds, first, last, tie_factor):
    """Join the groups from ``first`` on and search the new clusters; tell who may have another nearest by that.

    Returns clusters, and with each a new cluster that is as near to it as its nearest was, or -1: it is to be searched.
    Only the rows of these groups are written, so that other threads can do other groups.
    """
    told, head_of, count = np.empty(64, np.int32), np.empty(64, np.int32), 0
    for g in range(first, last):
        head = parts[bounds[g]]
        for k in range(bounds[g], bounds[g + 1]):
            ask_ahead(rows, room, parts, k)
        length = join_rows(rows, room, parts[bounds[g] : bounds[g + 1]])
        search(rows, room, head, length, tie_factor)
        if count + length > len(told):
            told, head_of = with_room(told, count, 2 * count + length), with_room(head_of, count, 2 * count + length)
        for e in range(length):
            c = np.int64(room.other[e])
            known = rows.looked[c] == -1 or room.told[c]  # that it is to be searched
            change = NOTHING if known else what_changes(rows, c, room.stored[e], head)
            if change != NOTHING:
                told[count], head_of[count] = c, head if change == EQUAL else -1
                room.told[c] = change == LOST
                count += 1
    for k in range(count):
        room.told[told[k]] = False
    return told[:count], head_of[:count]


@compiled
def begin_join(rows, steps, parts, bounds):
    """Weigh the groups that are joined, and mark the new clusters: they are searched anyway."""
    weigh_parts(rows, parts, bounds)
    groups = len(bounds) - 1
    steps.counters[N_SEARCHED] = groups
    steps.counters[N_ALIVE] -= len(parts) - groups
    for g in range(groups):
        steps.searched[g] = parts[bounds[g]]
        rows.looked[parts[bounds[g]]] = -1


@compiled
def hear(rows, steps, told, head_of):
    """Enter those that are to be searched, each once; a new cluster that is as near as the nearest may be the first."""
    counters = steps.counters
    for k in range(len(told)):
        c, head = np.int64(told[k]), np.int64(head_of[k])
        if rows.looked[c] == -1:
            continue
        if head < 0:
            rows.looked[c] = -1
            steps.searched[counters[N_SEARCHED]] = c
            counters[N_SEARCHED] += 1
        else:
            hear_equal(rows, c, head)


@compiled
def search_share(rows, room, some, tie_factor):
    """Bring the rows of some clusters up to date and search them. Other threads can do others."""
    for k in range(len(some)):
        ask_ahead(rows, room, some, k)
        c = np.int64(some[k])
        search(rows, room, c, refresh(rows, room, c), tie_factor)


@compiled
def end_join(rows, steps, parts):
    """Take back the marks; return about how many entries the level has read."""
    read = 0
    for k in range(steps.counters[N_SEARCHED]):
        rows.looked[steps.searched[k]] = 0
        read += rows.used[steps.searched[k]]
    if rows.scaled:
        for c in parts:
            rows.factor[c] = 1.0
    return read


@inside
def join_groups(rows, room, steps, parts, bounds, tie_factor):
    """Join groups; search new clusters and those that have lost their nearest. Returns how many entries were read."""
    groups = len(bounds) - 1
    begin_join(rows, steps, parts, bounds)
    told, head_of = join_share(rows, room, parts, bounds, 0, groups, tie_factor)
    hear(rows, steps, told, head_of)
    search_share(rows, room, steps.searched[groups : steps.counters[N_SEARCHED]], tie_factor)
    return end_join(rows, steps, parts)


@compiled
def catch_up(rows, room, steps, parts, bounds):
    """Join groups that were made before, without a search."""
    weigh_parts(rows, parts, bounds)
    for g in range(len(bounds) - 1):
        join_rows(rows, room, parts[bounds[g] : bounds[g + 1]])
        rows.looked[parts[bounds[g]]] = -1  # its row has seen the factors of this level
    if (rows.scaled and rows.listed) or rows.by_sizes:
        for c in range(len(rows.leader)):
            if rows.leader[c] == c and rows.looked[c] != -1:
                refresh(rows, room, c)
    for c in parts:
        rows.looked[c] = 0
        if rows.scaled:
            rows.factor[c] = 1.0
    steps.counters[N_ALIVE] -= len(parts) - len(bounds) + 1
