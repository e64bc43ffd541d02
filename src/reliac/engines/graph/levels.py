"""Levels on a graph: a level costs the edges of the clusters that it joins and of those that lose their nearest."""

from __future__ import annotations

import numpy as np

from ...algorithm.links import Links
from ..compiled.loading import bare_inlined, compiled, inside
from ..compiled.sets import top
from ..compiled.sorting import order_of_numbers, some_of, sorted_order, with_room
from ..compiled.step import choose_links, groups_of, joining_links
from .contraction import clusters_left
from .joining import join_groups
from .one_link import join_one_by_one
from .rows import begin_row, refresh, search
from .steps import LEVEL, N_ALIVE, N_SEARCHED, note_link

#: Where more clusters than this, and than this share, have several that are nearest, most of their links join nothing.
MANY, MANY_OF = 4096, 0.25

# Clusters go by slot. ``rows.object_of`` gives the first object of each; where an order matters objects are compared.

# --- the links of a level ---


@inside
def clusters_to_look_at(rows, steps, alpha):
    """Return the clusters whose links may be taken: those just searched, or all.

    With alpha = 1 a link between two clusters that were not searched was there at the level before, and was taken.
    """
    return steps.searched[: steps.counters[N_SEARCHED]] if alpha == 1.0 else clusters_left(rows).astype(np.int32)


@bare_inlined
def only_link(rows, steps, c, tie_factor):
    """Return the cluster that c is linked with, and the distance, if only one is nearest to c; -1 if there is none.

    A link is as near as the nearest of both sides. Where the other side was looked at before, and tells it, there is
    none.
    """
    best, o = rows.best, np.int64(rows.nearest[c])
    mutual = rows.nearest[o] == c  # then both have added up the same numbers, maybe in another order
    told_by_o = mutual and o < c and rows.looked[o] == steps.counters[LEVEL] + 1 and not rows.tied[o]
    if best[c] == np.inf or told_by_o or not (mutual or best[c] <= best[o] * tie_factor):
        return np.int64(-1), np.inf
    return o, min(best[c], best[o]) if mutual else best[c]


@inside
def tied_links(rows, room, c, tie_factor):
    """Bring those that cluster c is linked with to the front of ``room``, also if several are nearest; return how many.

    Both sides tell a link: what they have added up may differ by rounding, so one may find the link where the other
    does not. The cluster whose nearest is nearest of all always does, so a level always takes a link.
    """
    told, length = 0, refresh(rows, room, c)
    search(rows, room, c, length, tie_factor)
    bound = rows.best[c] * tie_factor
    for e in range(length):
        o, value = np.int64(room.other[e]), room.stored[e]
        if value < np.inf and value <= bound and value <= rows.best[o] * tie_factor:
            room.other[told], room.stored[told] = o, value
            told += 1
    return told


@inside
def nearest_links(rows, room, steps, some, rules):
    """Return the links of some clusters that are as near as the nearest of both sides; some may come twice.

    There is always room for one link of each cluster that is still to be looked at; those with ties make room for more.
    Where very many tie, and all links are taken, only those that join something are returned.
    """
    tied = 0
    for c in some:
        rows.looked[c] = steps.counters[LEVEL] + 1
        tied += rows.tied[c]
    all_taken = rules.alpha == 1.0 and rules.tie_factor == 1.0 and not rules.limits.active
    if all_taken and tied > MANY and tied > MANY_OF * len(some):
        return joining_ties(rows, room, steps, some)
    p, q, d, count = np.empty(len(some), np.int32), np.empty(len(some), np.int32), np.empty(len(some)), 0
    for k in range(len(some)):
        c = np.int64(some[k])
        if rows.tied[c]:
            told = tied_links(rows, room, c, rules.tie_factor)
        else:
            o, value = only_link(rows, steps, c, rules.tie_factor)
            room.other[0], room.stored[0], told = o, value, np.int64(o >= 0)
        if count + told + len(some) - k > len(p) + 1:
            more = len(p) + told + len(p) // 8
            p, q, d = with_room(p, count, more), with_room(q, count, more), with_room(d, count, more)
        for e in range(told):
            o = np.int64(room.other[e])
            p[count], q[count] = (c, o) if rows.object_of[c] < rows.object_of[o] else (o, c)
            d[count] = room.stored[e]
            count += 1
    return Links(p[:count], q[:count], d[:count])


@inside
def joining_ties(rows, room, steps, some):
    """Return of the links of some clusters those that join something when they are taken in order, first by distance.

    Only links that no other link of their two clusters is shorter than count, so those of a group are all equally long,
    and the order of objects decides. Links are collected, and when there is no room for more, those that join nothing
    are dropped: this takes a few numbers for every cluster, and not for every edge.
    """
    smallest, clusters, objects = np.full(len(rows.leader), np.inf), len(rows.leader), len(steps.p)
    for c in some:
        for e in range(tied_links(rows, room, np.int64(c), 1.0)):
            o, value = np.int64(room.other[e]), room.stored[e]
            smallest[c], smallest[o] = min(smallest[c], value), min(smallest[o], value)
    p, q, count = np.empty(clusters + clusters // 2, np.int32), np.empty(clusters + clusters // 2, np.int32), 0
    leader = np.empty(objects, np.int32)
    for c in some:
        for e in range(tied_links(rows, room, np.int64(c), 1.0)):
            o, most = np.int64(room.other[e]), min(smallest[c], smallest[room.other[e]])
            if room.stored[e] <= most < np.inf:
                if count == len(p):
                    count = drop_useless(p, q, count, leader)
                i, j = rows.object_of[c], rows.object_of[o]
                p[count], q[count] = min(i, j), max(i, j)
                count += 1
    count = drop_useless(p, q, count, leader)
    slot_of = leader
    for c in range(clusters):
        slot_of[rows.object_of[c]] = c
    p, q = some_of(slot_of, p[:count]), some_of(slot_of, q[:count])
    return Links(p, q, some_of(smallest, p))


@inside
def drop_useless(p, q, count, leader):
    """Keep those of the first pairs of objects that join two sets when they are taken in order; return how many."""
    order = order_of_numbers(p[:count], q[:count])
    ordered = Links(some_of(p, order), some_of(q, order), np.empty(0))
    kept = joining_links(ordered, leader)
    for k in range(len(kept)):
        p[k], q[k] = ordered.p[kept[k]], ordered.q[kept[k]]
    return len(kept)


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
    nearest = nearest_links(rows, room, steps, some, rules)
    if len(nearest.p) == 0:  # before the end all are looked at: rounding may have hidden a link
        some = clusters_left(rows).astype(np.int32)
        nearest = nearest_links(rows, room, steps, some, rules)
    longer = count_far_links(rows, room, some, tie_factor) if rules.alpha < 1.0 and not rows.ignore else 0
    links = choose_links(nearest, rows.object_of, rules, sets, left, longer)
    if len(links.p) == 0:
        return np.empty(0, np.int64), np.zeros(1, np.int64)
    parts, bounds = groups_of(links, rows.object_of, sets)  # before the links are noted: each takes memory
    counters[LEVEL] += 1
    for k in range(len(links.p)):
        note_link(rows, steps, np.int64(links.p[k]), np.int64(links.q[k]), links.distance[k])
    return parts, bounds


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
