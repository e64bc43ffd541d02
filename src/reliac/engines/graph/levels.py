"""Levels on a graph: a level costs the edges of the clusters that it joins and of those that lose their nearest."""

from __future__ import annotations

import numpy as np

from ...algorithm.links import Links
from ..compiled.loading import compiled, inside
from ..compiled.sets import top
from ..compiled.sorting import some_of, sorted_order, with_room
from ..compiled.step import choose_links, groups_of
from .contraction import clusters_left
from .joining import join_groups
from .one_link import join_one_by_one
from .rows import begin_row, refresh, search
from .steps import LEVEL, N_ALIVE, N_SEARCHED, note_link

# Clusters go by slot. ``rows.object_of`` gives the first object of each; where an order matters objects are compared.

# --- the links of a level ---


@inside
def clusters_to_look_at(rows, steps, alpha):
    """Return the clusters whose links may be taken: those just searched, or all.

    With alpha = 1 a link between two clusters that were not searched was there at the level before, and was taken.
    """
    return steps.searched[: steps.counters[N_SEARCHED]] if alpha == 1.0 else clusters_left(rows).astype(np.int32)


@inside
def nearest_links(rows, room, steps, some, tie_factor):
    """Return the links of some clusters that are as near as the nearest of both sides; some may come twice.

    There is always room for one link of each cluster that is still to be looked at; those with ties make room for more.
    """
    p, q, d, count = np.empty(len(some), np.int32), np.empty(len(some), np.int32), np.empty(len(some)), 0
    object_of = rows.object_of
    best, stamp = rows.best, steps.counters[LEVEL] + 1
    for k in range(len(some)):
        rows.looked[some[k]] = stamp
    for k in range(len(some)):
        c = np.int64(some[k])
        if best[c] == np.inf:
            continue
        if not rows.tied[c]:
            o = np.int64(rows.nearest[c])
            mutual = rows.nearest[o] == c  # then both have added up the same numbers, maybe in another order
            if mutual and o < c and rows.looked[o] == stamp and not rows.tied[o]:
                continue  # o has told it
            if mutual or best[c] <= best[o] * tie_factor:
                p[count], q[count] = (c, o) if object_of[c] < object_of[o] else (o, c)
                d[count] = min(best[c], best[o]) if mutual else best[c]
                count += 1
            continue
        length = refresh(rows, room, c)
        search(rows, room, c, length, tie_factor)
        bound = best[c] * tie_factor
        if count + length + len(some) - k > len(p):
            more = len(p) + length
            p, q, d = with_room(p, count, more), with_room(q, count, more), with_room(d, count, more)
        for e in range(length):
            o, value = np.int64(room.other[e]), room.stored[e]
            told_by_o = o < c and rows.tied[o] and rows.looked[o] == stamp
            if value <= bound and value <= best[o] * tie_factor and not told_by_o:
                p[count], q[count] = (c, o) if object_of[c] < object_of[o] else (o, c)
                d[count] = value
                count += 1
    return Links(p[:count], q[:count], d[:count])


@inside
def count_far_links(rows, room, some, tie_factor):
    """Count the reliable links of length M: pairs without a link below M that have nothing nearer.

    They are never taken, but are among the links of which a share is taken.
    """
    count, near = 0, 0
    for k in range(len(some)):
        c = np.int64(some[k])
        if rows.best[c] * tie_factor < rows.far:
            continue
        count += 1
        if rows.best[c] == np.inf:
            continue
        length = refresh(rows, room, c)
        search(rows, room, c, length, tie_factor)
        for e in range(length):
            o = np.int64(room.other[e])
            near += o < c and room.stored[e] < np.inf and rows.best[o] * tie_factor >= rows.far
    if rows.limits.active:
        near += count_forbidden(rows, room, some, tie_factor)
    return count * (count - 1) // 2 - near


@inside
def count_forbidden(rows, room, some, tie_factor):
    """Count the pairs of clusters with nothing nearer than M that may not be joined: they are no links at all.

    Those that are too large together follow from sorted sizes; the others have a cannot-link, and are met along it.
    """
    limits, count, sizes = rows.limits, 0, np.empty(len(some))
    among, far = np.zeros(len(limits.leader), np.bool_), 0
    for c in some:
        if rows.best[c] * tie_factor >= rows.far:
            among[rows.object_of[c]], sizes[far] = True, limits.size[rows.object_of[c]]
            far += 1
    sizes = some_of(sizes, sorted_order(sizes[:far], np.zeros(far, np.int64)))
    fits = 0  # so many of the smallest clusters may be joined with the one looked at, the largest first
    for k in range(far - 1, -1, -1):
        while fits < far and sizes[fits] + sizes[k] <= limits.max_size:
            fits += 1
        count += max(k - fits, 0)
    for c in some:
        own, segment = rows.object_of[c], limits.head[rows.object_of[c]]
        begin_row(room)
        while among[own] and segment >= 0:
            for e in range(limits.starts[segment], limits.starts[segment + 1]):
                o = top(limits.leader, limits.other[e])
                new, room.place[o] = room.place[o] < room.base[0], room.base[0]
                count += new and o < own and among[o] and limits.size[o] + limits.size[own] <= limits.max_size
            segment = limits.following[segment]
    return count


@compiled
def take_level(rows, room, steps, rules, sets):
    """Choose the links of the next level and write them down; return the groups that they join, none at the end."""
    counters, tie_factor = steps.counters, rules.tie_factor
    left = counters[N_ALIVE] - rules.n_clusters
    if left <= 0 or counters[LEVEL] >= rules.max_level:
        return np.empty(0, np.int64), np.zeros(1, np.int64)
    some = clusters_to_look_at(rows, steps, rules.alpha)
    nearest = nearest_links(rows, room, steps, some, tie_factor)
    if len(nearest.p) == 0:  # before the end all are looked at: rounding may have hidden a link
        some = clusters_left(rows).astype(np.int32)
        nearest = nearest_links(rows, room, steps, some, tie_factor)
    longer = count_far_links(rows, room, some, tie_factor) if rules.alpha < 1.0 and rows.far < np.inf else 0
    links = choose_links(nearest, rows.object_of, rules, sets, left, longer)
    if len(links.p) == 0:
        return np.empty(0, np.int64), np.zeros(1, np.int64)
    counters[LEVEL] += 1
    for k in range(len(links.p)):
        note_link(rows, steps, np.int64(links.p[k]), np.int64(links.q[k]), links.distance[k])
    return groups_of(links, rows.object_of, sets)


@compiled
def advance(rows, room, steps, rules, sets, fewest, most, patience):
    """Run levels; tell whether all is done.

    Before that they stop when fewer than ``fewest`` clusters are left, when the last level searched more than ``most``
    rows, and when about ``patience`` entries were read.
    """
    read = 0
    if rules.alpha == 0.0:
        return join_one_by_one(rows, room, steps, rules, fewest, patience)
    while read <= patience and steps.counters[N_ALIVE] >= fewest and steps.counters[N_SEARCHED] <= most:
        parts, bounds = take_level(rows, room, steps, rules, sets)
        if len(parts) == 0:
            return True
        read += join_groups(rows, room, steps, parts, bounds, rules.tie_factor)
    return False
