"""The links of a level, read off the lists, and the groups they form; what a step means is :mod:`..compiled.step`."""

from __future__ import annotations

import numpy as np

from ...algorithm.links import Links
from ..compiled.loading import bare_inlined, bare_inside, inside
from ..compiled.sorting import some_of
from ..compiled.step import choose_links, groups_of, smallest_share, sorted_links, within
from .entries import LEVEL, N_ALIVE, N_FOUND, N_GROUPS, N_LINKS, N_TOUCHED, N_WAITING, NO_ROOM, NOT_YET, mark_now


@inside
def rows_to_look_at(work, n):
    """Return the slots whose links may be new: those touched, or all where ties left no room for links that wait."""
    if work.counters[N_WAITING] != NO_ROOM:
        return work.touched[: work.counters[N_TOUCHED]]
    rows = np.empty(n, np.int64)
    for r in range(n):
        rows[r] = r
    return rows


@inside
def some_links(links, first, stop):
    """Return the links from one place to another."""
    return Links(links.p[first:stop], links.q[first:stop], links.distance[first:stop])


@inside
def nearest_links(lists, nodes, work, rules, n):
    """Return the reliable links, those that wait first, then new ones as they were seen; some come twice.

    Links that became reliable since the last level have a touched cluster on one side. A link that waits is as good as
    on the day it was found if none of its clusters was touched; otherwise it is found again, if it is still there.
    """
    if work.counters[N_FOUND] >= 0:
        return some_links(work.found, 0, work.counters[N_FOUND])
    kept, rows = still_waiting(nodes, work), rows_to_look_at(work, n)
    room, count = -1, len(rows)
    links = some_links(work.found, 0, 0)
    while room < count:  # without ties there are fewer links than rows, and once is enough
        room = count
        links = Links(np.empty(kept + room, np.int64), np.empty(kept + room, np.int64), np.empty(kept + room))
        every = work.counters[N_WAITING] == NO_ROOM
        count = fill_links(lists, nodes, rules, rows, mark_now(work), every, some_links(links, kept, kept + room))
    for k in range(kept):
        links.p[k], links.q[k] = work.waiting.p[k], work.waiting.q[k]
        links.distance[k] = work.waiting.distance[k]
    return some_links(links, 0, kept + count)


@bare_inside
def still_waiting(nodes, work):
    """Forget the links that wait and have a cluster that was joined or touched; return how many are left."""
    waiting, mark, stamp, kept = work.waiting, nodes.mark, mark_now(work), 0
    for k in range(max(work.counters[N_WAITING], 0)):
        p, q = waiting.p[k], waiting.q[k]
        if nodes.node_of[p] >= 0 and nodes.node_of[q] >= 0 and mark[p] != stamp and mark[q] != stamp:
            waiting.p[kept], waiting.q[kept], waiting.distance[kept] = p, q, waiting.distance[k]
            kept += 1
    return kept


@bare_inside
def let_wait(work, links):
    """Keep the reliable links of a level for the next one, as far as there is room; those taken will be forgotten."""
    waiting = work.waiting
    work.counters[N_WAITING] = len(links.p) if len(links.p) <= len(waiting.p) else NO_ROOM
    for k in range(max(work.counters[N_WAITING], 0)):
        waiting.p[k], waiting.q[k], waiting.distance[k] = links.p[k], links.q[k], links.distance[k]


@bare_inside
def find_links(lists, nodes, work, rules, first, stop):
    """Look for the links of some of the touched clusters, and tell how many there are.

    They are left in ``work.found`` from ``first`` on, as far as there is room up to ``stop``.
    """
    found = Links(work.found.p[first:stop], work.found.q[first:stop], work.found.distance[first:stop])
    return fill_links(lists, nodes, rules, work.touched[first:stop], mark_now(work), np.bool_(False), found)


@bare_inside
def fill_links(lists, nodes, rules, rows, stamp, every, links):
    """Fill in the links of some clusters that are as near as the nearest of both sides; tell how many there are.

    Entries of clusters that were joined are skipped: in a list that was not touched they are no nearer than the best,
    and if they tie, the new cluster's own list has the link. A link that the other side begins its list with is left to
    that side, if it is looked at too: if it is marked with ``stamp``, or ``every`` cluster is. What does not fit into
    ``links`` is only counted.
    """
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
                seen = every or nodes.mark[c] == stamp
                if seen and lists.nodes[other] == nodes.node_of[r] and lists.distances[other] == distance:
                    continue
                a, b = c, r
            if count < len(links.p):
                links.p[count], links.q[count], links.distance[count] = a, b, distance
            count += 1
    return count


@bare_inlined
def ties_of(lists, rules, r):
    """Count the entries of r that tie with its best."""
    bound, first, count = lists.best[r] * rules.tie_factor, lists.start[r], 0
    while count < lists.count[r] and lists.distances[first + count] <= bound:
        count += 1
    return count


@bare_inside
def all_distinct(scratch, links):
    """Tell whether no cluster has two links: then every link is a group, as always without ties."""
    scratch.stamp[0] += 1
    stamp, seen = scratch.stamp[0], scratch.seen
    for k in range(len(links.p)):
        if seen[links.p[k]] == stamp or seen[links.q[k]] == stamp:
            return False
        seen[links.p[k]] = seen[links.q[k]] = stamp
    return True


@inside
def note_pairs(work, links, order):
    """Note the groups where every link is one, in the order in which links were found: neighbours come together."""
    taken = np.empty(len(links.p), np.bool_)
    taken[:] = False
    for k in range(len(order)):
        taken[order[k]] = True
    count = 0
    for k in range(len(links.p)):
        if taken[k]:
            work.bounds[count // 2] = count
            work.parts[count], work.parts[count + 1] = links.p[k], links.q[k]
            count += 2
    work.bounds[count // 2] = count
    work.counters[N_GROUPS] = count // 2


@inside
def note_groups(work, links, object_of, leader):
    """Note the groups that links form, the parts of each sorted by their first object."""
    parts, bounds = groups_of(links, object_of, leader)
    for k in range(len(parts)):
        work.parts[k] = parts[k]
    for g in range(len(bounds)):
        work.bounds[g] = bounds[g]
    work.counters[N_GROUPS] = len(bounds) - 1


@inside
def take_links(lists, nodes, work, rules, scratch, leader):
    """Find the links of the next level, write them down in order, and note the groups they form; tell how many.

    Where every link is a group of its own, as always without ties, sorting them says it all.
    """
    counters, object_of = work.counters, nodes.object_of
    most = counters[N_ALIVE] - rules.n_clusters
    links = nearest_links(lists, nodes, work, rules, len(leader))
    if len(work.waiting.p):
        let_wait(work, links)
    order = np.empty(0, np.int32)
    if all_distinct(scratch, links):
        order = sorted_links(links, object_of)
        distance = some_of(links.distance, order)
        count = within(distance[: smallest_share(distance, rules.alpha, rules.tie_factor)], rules.max_value)
        order = order[: min(count, most)]
        note_pairs(work, links, order)
    else:
        links = choose_links(links, object_of, rules, leader, most)
        note_groups(work, links, object_of, leader)
        order = np.empty(len(links.p), np.int32)
        for k in range(len(order)):
            order[k] = k
    first, taken = counters[N_LINKS], work.taken
    for k in range(len(order)):
        i = order[k]
        taken.p[first + k], taken.q[first + k] = links.p[i], links.q[i]
        taken.distance[first + k], work.level[first + k] = links.distance[i], counters[LEVEL] + 1
    counters[N_LINKS] += len(order)
    counters[N_FOUND] = NOT_YET
    return len(order)
