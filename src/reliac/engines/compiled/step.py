"""The reliable links of a level and the groups they form, compiled; :mod:`reliac.algorithm.links` says it on arrays."""

from __future__ import annotations

import numpy as np

from ...algorithm.links import share_count
from ..lists.entries import LEVEL, N_ALIVE, N_FOUND, N_GROUPS, N_LINKS, N_TOUCHED, NOT_YET, mark_now, sorted_order
from .loading import bare_inlined, bare_inside, inside

count_of_share = bare_inside(share_count)


@inside
def rows_to_look_at(work, rules, n):
    """Return the slots whose links may be new: those touched, or all where links of earlier levels are left."""
    if rules.alpha == 1.0:
        return work.touched[: work.counters[N_TOUCHED]]
    rows = np.empty(n, np.int64)
    for r in range(n):
        rows[r] = r
    return rows


@inside
def reliable_links(lists, nodes, work, rules, n):
    """Return the reliable links that may be new, in the order of the clusters they were seen from.

    A link is reliable if it is as near as the nearest of both sides. Links that became reliable since the last
    level have a touched cluster on one side. Entries of clusters that were joined are skipped: in a list that was
    not touched they are no nearer than the best, and if they tie, the new cluster's own list has the link. A link
    that the other side begins its list with is left to that side, if it comes later; others may come twice.
    """
    if work.counters[N_FOUND] >= 0:
        first, stop = work.counters[N_LINKS], work.counters[N_LINKS] + work.counters[N_FOUND]
        return work.p[first:stop].copy(), work.q[first:stop].copy(), work.distance[first:stop].copy()
    rows = rows_to_look_at(work, rules, n)
    room, count = 0, len(rows)
    p, q, d = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    while room < count:  # without ties there are fewer links than rows, and once is enough
        room = count
        p, q, d = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
        count = fill_links(lists, nodes, rules, rows, mark_now(work), p, q, d)
    return p[:count], q[:count], d[:count]


@bare_inside
def find_links(lists, nodes, work, rules, first, stop):
    """Look for the links of some of the touched clusters, and tell how many there are.

    They are left where the links of the next level will be written, as far from there as the clusters are from the
    first touched one, if there is room.
    """
    begin, end = work.counters[N_LINKS] + first, work.counters[N_LINKS] + stop
    p, q, d = work.p[begin:end], work.q[begin:end], work.distance[begin:end]
    return fill_links(lists, nodes, rules, work.touched[first:stop], mark_now(work), p, q, d)


@bare_inside
def fill_links(lists, nodes, rules, rows, stamp, p, q, d):
    """Fill in the links of :func:`reliable_links`, as far as there is room; tell how many there are."""
    count, object_of = 0, nodes.object_of
    for k in range(len(rows)):
        r = rows[k]
        if nodes.node_of[r] < 0:
            continue
        first = lists.start[r]
        for e in range(first, first + ties_of(lists, rules, r)):
            distance, node = lists.distances[e], lists.nodes[e]
            c = nodes.slot_of[node]
            if nodes.parent[node] >= 0 or distance > lists.best[c] * rules.tie_factor:
                continue
            a, b = r, c
            if object_of[c] < object_of[r]:
                other = lists.start[c]
                seen = rules.alpha != 1.0 or nodes.mark[c] == stamp
                if seen and lists.nodes[other] == nodes.node_of[r] and lists.distances[other] == distance:
                    continue
                a, b = c, r
            if count < len(p):
                p[count], q[count], d[count] = a, b, distance
            count += 1
    return count


@inside
def sorted_links(object_of, p, q, d):
    """Return the order of links by distance, then by the smaller and the larger object."""
    key, n = np.empty(len(p), np.int64), len(object_of)
    for k in range(len(p)):
        key[k] = object_of[p[k]] * n + object_of[q[k]]
    return sorted_order(d, key)


@bare_inside
def all_distinct(scratch, p, q):
    """Tell whether no cluster has two links: then every link is a group, as always without ties."""
    scratch.stamp[0] += 1
    stamp, seen = scratch.stamp[0], scratch.seen
    for k in range(len(p)):
        if seen[p[k]] == stamp or seen[q[k]] == stamp:
            return False
        seen[p[k]] = seen[q[k]] = stamp
    return True


@bare_inlined
def ties_of(lists, rules, r):
    """Count the entries of r that tie with its best."""
    bound, first, count = lists.best[r] * rules.tie_factor, lists.start[r], 0
    while count < lists.count[r] and lists.distances[first + count] <= bound:
        count += 1
    return count


@inside
def top(leader, i):
    """Find the leader of a set, halving paths."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = leader[i]
    return i


@inside
def joining(p, q, leader):
    """Keep of sorted links those that join two sets when taken in order; set leaders of slots."""
    keep, count = np.empty(len(p), np.int64), 0
    for row in range(len(p)):
        leader[p[row]], leader[q[row]] = p[row], q[row]
    for row in range(len(p)):
        a, b = top(leader, p[row]), top(leader, q[row])
        if a != b:
            leader[max(a, b)] = min(a, b)
            keep[count] = row
            count += 1
    return keep[:count]


@inside
def smallest_links(order, d, rules):
    """Take the share alpha of sorted links, within the largest distance."""
    count = len(order)
    if rules.alpha == 0.0:
        count = min(count, 1)
    elif rules.alpha < 1.0 and count:
        last = d[order[count_of_share(rules.alpha, count) - 1]] * rules.tie_factor
        while d[order[count - 1]] > last:
            count -= 1
    while count and d[order[count - 1]] > rules.max_value:
        count -= 1
    return order[:count]


@inside
def nearest_only(p, q, d, order, rules, n):
    """Keep of sorted links those that no other link of theirs is shorter than: a group is of one distance.

    Rounding may bring a new cluster a little closer to others than its parts were. They need not know of it yet: then
    they have a link to their nearest as they know it, and a shorter one to the new cluster.
    """
    lowest, kept = np.empty(n), 0
    for k in order[::-1]:
        lowest[p[k]] = lowest[q[k]] = d[k]  # the smallest comes last
    for k in order:
        if d[k] <= min(lowest[p[k]], lowest[q[k]]) * rules.tie_factor:
            order[kept] = k
            kept += 1
    return order[:kept]


@inside
def untie(p, q, d, order, object_of, rules, leader, most):
    """Choose from links that tie: each once, those that join clusters, at most ``most``; return them sorted."""
    kept = 0
    for k in range(len(order)):  # seen from both sides: keep one
        i, j = order[k], order[kept - 1]
        if kept == 0 or p[i] != p[j] or q[i] != q[j]:
            order[kept] = i
            kept += 1
    order = smallest_links(nearest_only(p, q, d, order[:kept], rules, len(leader)), d, rules)
    p, q, d = some_of(p, order), some_of(q, order), some_of(d, order)
    if rules.level_out:
        joining(p, q, leader)
        lowest = np.empty(len(leader))
        for k in range(len(p)):
            lowest[p[k]] = lowest[q[k]] = np.inf
        for k in range(len(p)):
            group = top(leader, p[k])
            lowest[group] = min(lowest[group], d[k])
        for k in range(len(p)):
            d[k] = lowest[top(leader, p[k])]
        order = sorted_links(object_of, p, q, d)
        p, q, d = some_of(p, order), some_of(q, order), some_of(d, order)
    keep = joining(p, q, leader)[:most]
    return some_of(p, keep), some_of(q, keep), some_of(d, keep)


@inside
def some_of(values, which):
    """Return some of the values."""
    result = np.empty(len(which), values.dtype)
    for k in range(len(which)):
        result[k] = values[which[k]]
    return result


@inside
def note_pairs(work, p, q, order):
    """Note the groups where every link is one, in the order of the links as they were found: near ones together."""
    taken = np.empty(len(p), np.bool_)
    taken[:] = False
    for k in range(len(order)):
        taken[order[k]] = True
    count = 0
    for k in range(len(p)):
        if taken[k]:
            work.bounds[count // 2] = count
            work.parts[count], work.parts[count + 1] = p[k], q[k]
            count += 2
    work.bounds[count // 2] = count
    work.counters[N_GROUPS] = count // 2


@inside
def groups_of_links(object_of, p, q, leader):
    """Return the clusters that links join, group after group, each sorted by first object; where groups begin, and end.

    Groups are sorted by the smallest number that one of their clusters goes by.
    """
    joining(p, q, leader)
    end, head = np.empty(2 * len(p), np.int64), np.empty(2 * len(p))
    for row in range(len(p)):
        end[2 * row], end[2 * row + 1] = p[row], q[row]
        head[2 * row] = head[2 * row + 1] = top(leader, p[row])
    order = sorted_order(head, some_of(object_of, end))
    parts, bounds, count, groups = np.empty(2 * len(p), np.int64), np.empty(len(p) + 1, np.int64), 0, 0
    for k in range(len(order)):
        new_group = k == 0 or head[order[k]] != head[order[k - 1]]
        if new_group:
            bounds[groups] = count
            groups += 1
        if new_group or end[order[k]] != end[order[k - 1]]:
            parts[count] = end[order[k]]
            count += 1
    bounds[groups] = count
    return parts[:count], bounds[: groups + 1]


@inside
def note_groups(nodes, work, p, q, leader):
    """Note the groups that links form, the parts of each sorted by their first object."""
    parts, bounds = groups_of_links(nodes.object_of, p, q, leader)
    for k in range(len(parts)):
        work.parts[k] = parts[k]
    for g in range(len(bounds)):
        work.bounds[g] = bounds[g]
    work.counters[N_GROUPS] = len(bounds) - 1


@inside
def choose_links(lists, nodes, work, rules, scratch, leader):
    """Find the links of the next level, write them down in order, and note the groups they form; tell how many.

    Taken are the reliable ones: the share alpha of them, within the largest distance, as many as the rules allow.
    """
    counters = work.counters
    most = counters[N_ALIVE] - rules.n_clusters
    p, q, d = reliable_links(lists, nodes, work, rules, len(leader))
    order = sorted_links(nodes.object_of, p, q, d)
    if all_distinct(scratch, p, q):
        order = smallest_links(order, d, rules)[:most]
        note_pairs(work, p, q, order)
    else:
        p, q, d = untie(p, q, d, order, nodes.object_of, rules, leader, most)
        note_groups(nodes, work, p, q, leader)
        order = np.empty(len(p), np.int64)
        for k in range(len(p)):
            order[k] = k
    first = counters[N_LINKS]
    for k in range(len(order)):
        i = order[k]
        work.p[first + k], work.q[first + k] = p[i], q[i]
        work.distance[first + k], work.level[first + k] = d[i], counters[LEVEL] + 1
    counters[N_LINKS] += len(order)
    counters[N_FOUND] = NOT_YET
    return len(order)
