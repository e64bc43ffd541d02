"""Certified candidate lists: the shared heart of the fast engines.

Every cluster keeps a short list of clusters with exact distances, and a radius: everything that is not in the
list is at least the radius away. While the best entry lies strictly inside the radius the nearest neighbour is
proven, ties included, and nothing is searched. The levels run here, in compiled code, until some list runs dry;
then the engine searches those clusters and the levels go on.

Why a list stays true. A join never comes closer to a third cluster than the nearer of its parts was (reducible
criteria), so joins elsewhere leave radii alone, and an entry that points to a joined cluster is followed to its
new home and measured anew, but only when it matters: when it was the best. A joined cluster's list is the union
of its parts' lists, its radius follows the criterion's own update. Where joins can come closer (centroid, median,
groups of three and more under Ward), the new cluster is searched and pushed into every list that it enters.

Clusters go by slot (their first object) in all arrays; an entry holds the cluster's node, which dies when it is
joined, so that stale entries are seen at once.
"""

from __future__ import annotations

from collections import namedtuple

import numba as nb
import numpy as np

from ..links import share_count
from .entries import (
    LEVEL,
    LIST_LENGTH,
    N_ALIVE,
    N_GROUPS,
    N_LINKS,
    N_PUSHES,
    N_SEARCHED,
    N_TOUCHED,
    REFRESHED,
    compiled,
    follow,
    inlined,
    join_space,
    living,
    make_node,
    pair_distance,
    refresh,
    sort_entries,
    sorted_order,
    touch,
    unfollow,
)

#: Radii are deflated by this share of what they were computed from.
ROUNDING = 1e-12

#: Why :func:`advance` came back: nothing left to join, lists to fill, time to report, or lists to do in threads.
DONE, SEARCH, PAUSE, REFRESH, GATHER = range(5)

#: Levels that touch or make more clusters than this have their lists done in threads.
THICK = 512

#: How the radii of the parts of a group give the radius of the group.
RADIUS_MIN, RADIUS_MAX, RADIUS_MEAN, RADIUS_PLAIN_MEAN, RADIUS_WARD, RADIUS_NONE = range(6)

Rules = namedtuple("Rules", "alpha tie_factor n_clusters max_level max_value radius_rule smallest_weight level_out")

count_of_share = nb.njit(cache=True, nogil=True)(share_count)


@inlined
def certified(lists, work, rules, r):
    """Tell whether the nearest neighbours of r are proven, all that tie included."""
    if lists.count[r] == 0:
        return work.counters[N_ALIVE] == 1
    return lists.best[r] * rules.tie_factor < lists.radius[r] or (
        lists.radius[r] == np.inf and lists.count[r] == work.counters[N_ALIVE] - 1
    )


@compiled
def group_radius(space, lists, rules, parts, distance):
    """Return the radius of a group from the radii of its parts; -1 if the group must be searched."""
    rule = rules.radius_rule
    if rule == RADIUS_NONE or (rule == RADIUS_WARD and len(parts) > 2):
        return -1.0
    smallest, largest, total, weight, weighted = np.inf, 0.0, 0.0, 0.0, 0.0
    for part in parts:
        r, w = lists.radius[part], space.weight[part]
        smallest, largest = min(smallest, r), max(largest, r)
        total, weight, weighted = total + r, weight + w, weighted + r * w
    if rule == RADIUS_MIN:
        return smallest
    if rule == RADIUS_MAX or total == np.inf:  # a part that lists everybody lends its list
        return largest
    if rule == RADIUS_MEAN:
        return weighted / weight * (1 - ROUNDING)
    if rule == RADIUS_PLAIN_MEAN:
        return total / len(parts) * (1 - ROUNDING)
    x = rules.smallest_weight  # the bound is monotone in the third cluster's weight: its ends are x and infinity
    near = (weighted + x * total - x * distance) / (weight + x)
    return min(near, total - distance) - ROUNDING * total


@compiled
def gather_list(space, lists, nodes, scratch, parts):
    """Give the joined cluster the union of its parts' lists, measured anew and cut to the nearest."""
    head = parts[0]
    own, radius = nodes.node_of[head], lists.radius[head]
    scratch.stamp[0] += 1
    stamp, seen = scratch.stamp[0], scratch.seen
    total = 0
    for part in parts:
        total += lists.count[part]
    node_found, distance_found = np.empty(total, np.int32), np.empty(total, np.float64)
    found = 0
    for part in parts:
        for e in range(lists.start[part], lists.start[part] + lists.count[part]):
            node = living(nodes, lists.nodes[e])
            slot = nodes.slot_of[node]
            if node == own or seen[slot] == stamp:
                continue
            seen[slot] = stamp
            distance = pair_distance(space, head, slot)
            if distance < radius:
                node_found[found], distance_found[found] = node, distance
                found += 1
    sort_entries(node_found, distance_found, 0, found)
    if found > LIST_LENGTH:
        radius = lists.radius[head] = distance_found[LIST_LENGTH]
        found = LIST_LENGTH
        while found and distance_found[found - 1] >= radius:
            found -= 1
    first = lists.start[head]
    for e in range(found):
        lists.nodes[first + e], lists.distances[first + e] = node_found[e], distance_found[e]
    lists.count[head] = found


@compiled
def reliable_links(lists, nodes, rules, rows, n):
    """Return the reliable links of some clusters, sorted by distance, then by the smaller and the larger index.

    A link is reliable if it is as near as the nearest of both sides. Links that became reliable since the last
    level have a touched cluster on one side. Entries of clusters that were joined are skipped: in a list that was
    not touched they are no nearer than the best, and if they tie, the new cluster's own list has the link.
    """
    count = 0
    for k in range(len(rows)):
        count += ties_of(lists, rules, rows[k])
    key, d = np.empty(count, np.int64), np.empty(count, np.float64)
    count = 0
    for k in range(len(rows)):
        r = rows[k]
        first = lists.start[r]
        for e in range(first, first + ties_of(lists, rules, r)):
            distance, node = lists.distances[e], lists.nodes[e]
            q = nodes.slot_of[node]
            if nodes.parent[node] < 0 and distance <= lists.best[q] * rules.tie_factor:
                key[count], d[count] = min(r, q) * n + max(r, q), distance
                count += 1
    return unique_links(key[:count], d[:count], n)


@compiled
def unique_links(key, d, n):
    """Sort links by distance, then by ``key`` (p n + q for p < q); of those seen from both sides keep one."""
    order, count, kept = sorted_order(d, key), len(key), 0
    p, q, distance = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.float64)
    for k in range(count):
        if k == 0 or key[order[k]] != key[order[k - 1]]:
            p[kept], q[kept], distance[kept] = key[order[k]] // n, key[order[k]] % n, d[order[k]]
            kept += 1
    return p[:kept], q[:kept], distance[:kept]


@compiled
def ties_of(lists, rules, r):
    """Count the entries of r that tie with its best."""
    bound, first, count = lists.best[r] * rules.tie_factor, lists.start[r], 0
    while count < lists.count[r] and lists.distances[first + count] <= bound:
        count += 1
    return count


@compiled
def top(leader, i):
    """Find the leader of a set, halving paths."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = leader[i]
    return i


@compiled
def joining(p, q, most, leader):
    """Keep of sorted links those that join two sets when taken in order, at most ``most``; set leaders of slots."""
    keep = np.empty(len(p), np.int64)
    count = 0
    for row in range(len(p)):
        leader[p[row]], leader[q[row]] = p[row], q[row]
    for row in range(len(p)):
        if count >= most:
            break
        a, b = top(leader, p[row]), top(leader, q[row])
        if a != b:
            leader[max(a, b)] = min(a, b)
            keep[count] = row
            count += 1
    return keep[:count]


@compiled
def count_within(d, bound):
    """Count the sorted distances up to a bound, by halving; NumPy's search takes a second to compile."""
    low, high = 0, len(d)
    while low < high:
        middle = (low + high) // 2
        if d[middle] <= bound:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def choose_links(p, q, d, rules, n, leader, most):
    """Take the share alpha of sorted links, within the largest distance, that join clusters."""
    if rules.alpha == 0.0:
        p, q, d = p[:1], q[:1], d[:1]
    elif rules.alpha < 1.0 and len(p):
        last = d[count_of_share(rules.alpha, len(p)) - 1] * rules.tie_factor
        taken = count_within(d, last)
        p, q, d = p[:taken], q[:taken], d[:taken]
    within = count_within(d, rules.max_value)
    p, q, d = p[:within], q[:within], d[:within]
    if rules.level_out:
        joining(p, q, len(p), leader)
        lowest = np.full(n, np.inf)
        for k in range(len(p)):
            group = top(leader, p[k])
            lowest[group] = min(lowest[group], d[k])
        level = np.empty(len(p))
        for k in range(len(p)):
            level[k] = lowest[top(leader, p[k])]
        order = sorted_order(level, p * n + q)
        p, q, d = some_of(p, order), some_of(q, order), some_of(level, order)
    keep = joining(p, q, most, leader)
    return some_of(p, keep), some_of(q, keep), some_of(d, keep)


@compiled
def some_of(values, which):
    """Return some of the values."""
    result = np.empty(len(which), values.dtype)
    for k in range(len(which)):
        result[k] = values[which[k]]
    return result


@compiled
def groups_of_links(p, q, d, leader):
    """Return the clusters that links join, group after group, sorted; where groups begin (and end); their distances."""
    ends, heads = np.empty(2 * len(p), np.int64), np.empty(2 * len(p), np.int64)
    for row in range(len(p)):
        ends[2 * row], ends[2 * row + 1] = p[row], q[row]
        heads[2 * row] = heads[2 * row + 1] = top(leader, p[row])
    order = sorted_order(heads, ends)
    bounds, distance_of = np.empty(len(p) + 1, np.int64), np.empty(len(p))
    parts, count, groups = np.empty(2 * len(p), np.int64), 0, 0
    for k in range(len(order)):
        new_group = k == 0 or heads[order[k]] != heads[order[k - 1]]
        if new_group:
            bounds[groups], distance_of[groups] = count, d[order[k] // 2]
            groups += 1
        if new_group or ends[order[k]] != ends[order[k - 1]]:
            parts[count] = ends[order[k]]
            count += 1
    bounds[groups] = count
    return parts[:count], bounds[: groups + 1], distance_of[:groups]


@compiled
def join_groups(space, lists, nodes, work, rules, p, q, d, leader):
    """Join the groups that the links form, and touch all whose nearest neighbour may have changed.

    The lists come afterwards (:func:`gather_groups`), since groups of one level may be each other's neighbours. Groups
    that must be searched are noted in ``work.pushes``.
    """
    ends, bounds, distance_of = groups_of_links(p, q, d, leader)
    for g in range(len(bounds) - 1):
        parts = ends[bounds[g] : bounds[g + 1]]
        radius = group_radius(space, lists, rules, parts, distance_of[g])
        for part in parts:
            unfollow(nodes, part)
        make_node(nodes, work, parts)
        lists.radius[parts[0]] = radius
        join_space(space, parts)
    for g in range(len(bounds) - 1):
        work.bounds[g] = bounds[g]
        for k in range(bounds[g], bounds[g + 1]):
            part = work.parts[k] = ends[k]
            while nodes.follower_first[part] >= 0:
                r = nodes.follower_first[part]
                unfollow(nodes, r)
                touch(nodes, work, r)
        head = ends[bounds[g]]
        touch(nodes, work, head)
        if lists.radius[head] < 0:
            work.pushes[work.counters[N_PUSHES]] = head
            work.counters[N_PUSHES] += 1
    work.counters[N_GROUPS] = len(bounds) - 1
    work.bounds[len(bounds) - 1] = len(ends)


@compiled
def gather_groups(space, lists, nodes, work, scratch, first, stop):
    """Make the lists of some of the groups just joined; different threads take different groups."""
    for g in range(first, stop):
        parts = work.parts[work.bounds[g] : work.bounds[g + 1]]
        if lists.radius[parts[0]] < 0:
            lists.count[parts[0]] = 0
        else:
            gather_list(space, lists, nodes, scratch, parts)


@compiled
def rows_to_look_at(nodes, work, rules, n):
    """Return the clusters whose links may be new: those touched, or all where links of earlier levels are left."""
    everything = rules.alpha != 1.0
    rows, count = np.empty(n if everything else work.counters[N_TOUCHED], np.int64), 0
    for k in range(len(rows)):
        r = k if everything else work.touched[k]
        if nodes.node_of[r] >= 0:
            rows[count] = r
            count += 1
    return rows[:count]


@compiled
def look_up(space, lists, nodes, work, rules, scratch):
    """Refresh the lists of touched clusters, note those that must be searched, and see who follows whom."""
    counters = work.counters
    counters[N_SEARCHED] = 0
    for k in range(counters[N_TOUCHED]):
        r = work.touched[k]
        if nodes.node_of[r] < 0:
            continue
        if not counters[REFRESHED]:
            refresh(space, lists, nodes, scratch, r, rules.radius_rule != RADIUS_NONE)
        if not certified(lists, work, rules, r):
            work.searched[counters[N_SEARCHED]] = r
            counters[N_SEARCHED] += 1
        elif lists.count[r]:
            follow(nodes, r, nodes.slot_of[lists.nodes[lists.start[r]]])
    counters[REFRESHED] = 0


@compiled
def advance(space, lists, nodes, work, rules, leader, scratch, patience):
    """Run levels until a list runs dry (SEARCH), the rules say stop (DONE), or enough was done (PAUSE).

    Where a level is thick, come back to have lists refreshed (REFRESH) or gathered (GATHER) in threads. Cost of a
    level: what changed, not n (alpha=1); all living clusters for smaller alpha.
    """
    counters, n, done = work.counters, len(lists.best), 0
    while True:
        if counters[N_PUSHES]:
            return SEARCH
        if counters[N_TOUCHED] > THICK and not counters[REFRESHED]:
            return REFRESH
        look_up(space, lists, nodes, work, rules, scratch)
        if counters[N_SEARCHED]:
            return SEARCH
        if counters[N_ALIVE] <= rules.n_clusters or counters[LEVEL] >= rules.max_level:
            return DONE
        if done > patience:
            return PAUSE
        rows = rows_to_look_at(nodes, work, rules, n)
        p, q, d = reliable_links(lists, nodes, rules, rows, n)
        p, q, d = choose_links(p, q, d, rules, n, leader, counters[N_ALIVE] - rules.n_clusters)
        if len(p) == 0:
            return DONE
        done += len(rows) + 1
        counters[LEVEL] += 1
        counters[N_TOUCHED] = 0
        first = counters[N_LINKS]
        for k in range(len(p)):
            work.p[first + k], work.q[first + k] = p[k], q[k]
            work.distance[first + k], work.level[first + k] = d[k], counters[LEVEL]
        counters[N_LINKS] += len(p)
        join_groups(space, lists, nodes, work, rules, p, q, d, leader)
        if counters[N_GROUPS] > THICK:
            return GATHER
        gather_groups(space, lists, nodes, work, scratch, 0, counters[N_GROUPS])
