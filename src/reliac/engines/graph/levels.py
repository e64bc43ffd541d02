"""Levels on a graph: a level costs the edges of the clusters that it joins and of those that lose their nearest."""

from __future__ import annotations

import numpy as np

from ...algorithm.links import Links
from ..compiled.formulas import shares_of_parts
from ..compiled.loading import bare_inlined, bare_inside, compiled, inside
from ..compiled.sets import top
from ..compiled.sorting import some_of, sorted_order, with_room
from ..compiled.spaces import join_space
from ..compiled.step import choose_links, groups_of
from .rows import SMALLEST, add_row, begin_row, refresh, search, write_row
from .steps import LEVEL, N_ALIVE, N_HEAP, N_LINKS, N_SEARCHED, push, refill, smallest_link

# Clusters go by slot. ``rows.object_of`` gives the first object of each; where an order matters objects are compared.

# --- the links of a level ---


@inside
def clusters_to_look_at(rows, steps, alpha, all_of_them):
    """Return the clusters whose links may be taken: those just searched, or all; for the smallest link only its first.

    With alpha = 1 a link between two clusters that were not searched was there at the level before, and was taken.
    """
    if alpha == 1.0 and not all_of_them:
        return steps.searched[: steps.counters[N_SEARCHED]].copy()
    if alpha == 0.0:
        for k in range(steps.counters[N_SEARCHED]):
            c = steps.searched[k]
            if rows.best[c] < np.inf:
                if steps.counters[N_HEAP] == len(steps.heap):
                    refill(rows, steps)
                    break
                push(rows, steps, rows.best[c], c)
        c = smallest_link(rows, steps)
        return np.full(1 if c >= 0 else 0, c)
    some, count = np.empty(steps.counters[N_ALIVE], np.int64), 0
    for c in range(len(rows.leader)):
        if rows.leader[c] == c:
            some[count] = c
            count += 1
    return some


@inside
def nearest_links(rows, room, steps, some, tie_factor, one):
    """Return the links of some clusters that are as near as the nearest of both sides; some may come twice.

    ``one``: a single link is wanted, that of the first cluster with its first nearest.
    """
    p, q, d, count = np.empty(2 * len(some), np.int64), np.empty(2 * len(some), np.int64), np.empty(2 * len(some)), 0
    object_of = rows.object_of
    best, stamp = rows.best, steps.counters[LEVEL] + 1
    for c in some:
        rows.looked[c] = stamp
    for c in some:
        if best[c] == np.inf:
            continue
        if one or not rows.tied[c]:
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
        if count + length > len(p):
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
    for c in some:
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


@bare_inside
def pair_between(rows, p, q):
    """Return the two nearest objects of two clusters, i of p and j of q, as i * n + j."""
    left, segment, found, smallest = np.int64(rows.used[p]), p, np.int64(-1), np.inf
    while left > 0:
        begin = rows.start[segment]
        for k in range(begin, min(begin + left, rows.start[segment + 1])):
            near = rows.stored[k] < smallest or (rows.stored[k] == smallest and rows.pair[k] < found)
            if near and top(rows.leader, np.int64(rows.other[k])) == q:
                found, smallest = rows.pair[k], rows.stored[k]
        left -= rows.start[segment + 1] - begin
        segment = np.int64(rows.following[segment])
    return found


@inside
def note_links(rows, steps, links):
    """Write down the links of a level."""
    for k in range(len(links.p)):
        at = steps.counters[N_LINKS] + k
        steps.p[at], steps.q[at] = rows.object_of[links.p[k]], rows.object_of[links.q[k]]
        steps.distance[at] = links.distance[k]
        steps.level[at] = steps.counters[LEVEL]
        if rows.reduction == SMALLEST and rows.listed:
            steps.pair[at] = pair_between(rows, links.p[k], links.q[k])
    steps.counters[N_LINKS] += len(links.p)


# --- joining ---


@inside
def weigh_parts(rows, parts, bounds):
    """Set the weight of every group and, where parts count alike, the factor of every part."""
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
    head, length = group[0], 0
    begin_row(room)
    for c in group:
        length = add_row(rows, room, c, length, head)
    for c in group[1:]:
        rows.following[rows.last[head]], rows.last[head] = c, rows.last[c]
    write_row(rows, room, head, length)
    return length


@compiled
def join_share(rows, room, parts, bounds, first, last, tie_factor):
    """Join the groups from ``first`` on and search the new clusters; tell who may have another nearest by that.

    Returns clusters, and with each a new cluster that is as near to it as its nearest was, or -1: it is to be searched.
    Whoever had a part as its nearest is in the row of the new cluster. If that is as near as the part was it stays the
    nearest: a join comes no closer. Where vectors give the distance it can: then those that it has come closer to are
    searched too. Only the rows of these groups are written, so that other threads can do other groups.
    """
    told, head_of, count = np.empty(64, np.int64), np.empty(64, np.int64), 0
    eager = rows.scaled and rows.listed
    for g in range(first, last):
        head = parts[bounds[g]]
        length = join_rows(rows, room, parts[bounds[g] : bounds[g + 1]])
        search(rows, room, head, length, tie_factor)
        if count + length > len(told):
            told, head_of = with_room(told, count, 2 * count + length), with_room(head_of, count, 2 * count + length)
        for e in range(length):
            c = np.int64(room.other[e])
            if rows.looked[c] == -1:
                continue
            nearer = not rows.listed and room.stored[e] <= rows.best[c]
            equal = room.stored[e] == rows.best[c] and not eager and not nearer
            lost = rows.leader[rows.nearest[c]] == head  # one step: the nearest was there before this level
            if equal or lost or eager or nearer:
                told[count], head_of[count] = c, head if equal else -1
                count += 1
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
        c, head = told[k], head_of[k]
        if rows.looked[c] == -1:
            continue
        if head < 0:
            rows.looked[c] = -1
            steps.searched[counters[N_SEARCHED]] = c
            counters[N_SEARCHED] += 1
        elif (
            top(rows.leader, np.int64(rows.nearest[c])) == head
            or rows.object_of[head] < rows.object_of[rows.nearest[c]]
        ):
            rows.nearest[c] = head


@compiled
def search_share(rows, room, some, tie_factor):
    """Bring the rows of some clusters up to date and search them. Other threads can do others."""
    for c in some:
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
    if rows.scaled and rows.listed:
        for c in range(len(rows.leader)):
            if rows.leader[c] == c and rows.looked[c] != -1:
                refresh(rows, room, c)
    for c in parts:
        rows.looked[c] = 0
        if rows.scaled:
            rows.factor[c] = 1.0
    steps.counters[N_ALIVE] -= len(parts) - len(bounds) + 1


@compiled
def take_level(rows, room, steps, rules, sets):
    """Choose the links of the next level and write them down; return the groups that they join, none at the end."""
    counters, one = steps.counters, rules.alpha == 0.0
    left = counters[N_ALIVE] - rules.n_clusters
    if left <= 0 or counters[LEVEL] >= rules.max_level:
        return np.empty(0, np.int64), np.zeros(1, np.int64)
    some = clusters_to_look_at(rows, steps, rules.alpha, False)
    nearest = nearest_links(rows, room, steps, some, rules.tie_factor, one)
    if len(nearest.p) == 0 and not one:  # before the end all are looked at: rounding may have hidden a link
        some = clusters_to_look_at(rows, steps, rules.alpha, True)
        nearest = nearest_links(rows, room, steps, some, rules.tie_factor, one)
    longer = 0
    if 0.0 < rules.alpha < 1.0 and rows.far < np.inf:
        longer = count_far_links(rows, room, some, rules.tie_factor)
    alone = one and not rules.limits.active and len(nearest.p) == 1 and nearest.distance[0] <= rules.max_value
    links = nearest if alone else choose_links(nearest, rows.object_of, rules, sets, left, longer)
    if len(links.p) == 0:
        return np.empty(0, np.int64), np.zeros(1, np.int64)
    counters[LEVEL] += 1
    note_links(rows, steps, links)
    if alone:  # as below, without sorting
        return np.array([links.p[0], links.q[0]]), np.array([0, 2])
    return groups_of(links, rows.object_of, sets)


@compiled
def advance(rows, room, steps, rules, sets, fewest, most, patience):
    """Run levels; tell whether all is done.

    Before that they stop when fewer than ``fewest`` clusters are left, when the last level searched more than ``most``
    rows, and when about ``patience`` entries were read.
    """
    read = 0
    while read <= patience and steps.counters[N_ALIVE] >= fewest and steps.counters[N_SEARCHED] <= most:
        parts, bounds = take_level(rows, room, steps, rules, sets)
        if len(parts) == 0:
            return True
        read += join_groups(rows, room, steps, parts, bounds, rules.tie_factor)
    return False
