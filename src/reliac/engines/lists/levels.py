"""Certified candidate lists: the levels that the vectors, spatial and matrix engines share.

Every cluster keeps a short list of clusters with exact distances, and a radius: everything that is not in the
list is at least the radius away. While the best entry lies strictly inside the radius the nearest neighbour is
proven, ties included, and nothing is searched. ``docs/how-it-works.md`` has pictures.

Why a list stays true. A join never comes closer to a third cluster than the nearer of its parts was (reducible
criteria), so joins elsewhere leave radii alone, and an entry that points to a joined cluster is followed to its
new home and measured anew, but only when it matters: when it was the best. A joined cluster's list is the union
of its parts' lists, its radius follows the criterion's own update. Where joins can come closer (centroid, median,
groups of three and more under Ward), the new cluster is searched and pushed into every list that it enters.

A level, in :func:`advance`:

1. look at the touched clusters: refresh their lists, note whose nearest neighbour is not proven;
2. take the reliable links, and note the groups they form;
3. join the groups: a group's radius follows from its parts;
4. touch the new clusters and all whose nearest neighbour was joined; make the lists of the new clusters.

:func:`advance` runs level after level and comes back to Python with a status where it needs something:

========  ==========================================  ==================================  ==============================
status    why it came back                            who acts (``engine.py``)            what that leaves
========  ==========================================  ==================================  ==============================
DONE      one cluster is left, or a rule says stop    nobody                              ``taken``: all links
PAUSE     enough clusters were looked at              nobody: progress is told, Ctrl-C    nothing changed
SEARCH    ``searched``: lists prove nothing there     ``search(..., push=False)``         new lists and radii of these
PUSH      ``pushed``: new clusters without a radius   ``search(..., push=True)``          their lists, entries in lists
                                                                                          of others, those ``touched``
REFRESH   many are ``touched``: step 1 in threads     ``do_share`` for each thread        lists up to date, REFRESHED
LINKS     many are ``touched``: step 2 in threads     ``do_share`` for each thread        ``found``; N_FOUND (NO_ROOM)
GATHER    many groups were joined: step 4 in threads  ``do_share`` for each thread        lists of the new clusters,
                                                                                          ``touched``; REFRESHED unless
                                                                                          there are clusters to push
========  ==========================================  ==================================  ==============================

How clusters, slots and entries are laid out: ``entries.py``. The links of a level: ``reliable.py``.
"""

from __future__ import annotations

import numpy as np

from ..compiled.loading import bare, bare_inlined, bare_inside, inside
from ..compiled.rules import (
    RADIUS_LARGEST,
    RADIUS_MEAN,
    RADIUS_NONE,
    RADIUS_PLAIN_MEAN,
    RADIUS_SMALLEST,
    RADIUS_WARD,
)
from ..compiled.scanning import CHUNK
from ..compiled.sorting import sort_entries
from ..compiled.spaces import join_space, pair_distance
from .entries import (
    FIRST,
    FOLLOWED,
    LEVEL,
    LIST_LENGTH,
    LOOKED_AT,
    N_ALIVE,
    N_FOUND,
    N_GROUPS,
    N_NODES,
    N_PUSHED,
    N_SEARCHED,
    N_TOUCHED,
    N_WAITING,
    NO_ROOM,
    NOT_YET,
    REFRESHED,
    TARGET,
    follow,
    living,
    make_node,
    mark_now,
    refresh,
    touch,
    unfollow,
)
from .reliable import find_links, take_links

#: Radii are deflated by this share of what they were computed from.
ROUNDING = 1e-12

#: Why :func:`advance` came back, see above.
DONE, PAUSE, SEARCH, PUSH, REFRESH, LINKS, GATHER = range(7)

#: A step for threads besides these: all lists are measured anew, after a space has changed its arithmetic.
REMEASURE = 7

#: Levels that touch more clusters than this look at them in threads: fewer are done sooner than threads are woken.
MANY = 2048

#: Levels that make more clusters than this are done in threads, where ...
THICK = 512

#: ... so many slots are looked at for every cluster made, at most.
SPARSE = 2048


@bare_inlined
def certified(lists, work, rules, r):
    """Tell whether the nearest neighbours of r are proven, all that tie included."""
    if lists.count[r] == 0:
        return work.counters[N_ALIVE] == 1
    return lists.best[r] * rules.tie_factor < lists.radius[r] or (
        lists.radius[r] == np.inf and lists.count[r] == work.counters[N_ALIVE] - 1
    )


@bare_inside
def group_radius(space, lists, rules, parts):
    """Return the radius of a group from the radii of its parts; -1 if the group must be searched."""
    rule = rules.radius_rule
    if rule == RADIUS_NONE or (rule == RADIUS_WARD and len(parts) > 2):
        return -1.0
    smallest, largest, total, weight, weighted = np.inf, 0.0, 0.0, 0.0, 0.0
    for part in parts:
        r, w = lists.radius[part], space.weight[part]
        smallest, largest = min(smallest, r), max(largest, r)
        total, weight, weighted = total + r, weight + w, weighted + r * w
    if rule == RADIUS_SMALLEST:
        return smallest
    if rule == RADIUS_LARGEST or total == np.inf:  # an infinite radius means a complete list: so is the union's
        return largest
    if rule == RADIUS_MEAN:
        return weighted / weight * (1 - ROUNDING)
    if rule == RADIUS_PLAIN_MEAN:
        return total / len(parts) * (1 - ROUNDING)
    distance = lists.best[parts[0]] * rules.tie_factor  # that of the pair, at most
    x = rules.smallest_weight  # the bound is monotone in the third cluster's weight: its ends are x and infinity
    near = (weighted + x * total - x * distance) / (weight + x)
    return min(near, total - distance) - ROUNDING * total


@inside
def gather_list(space, lists, nodes, scratch, parts):
    """Give the joined cluster the union of its parts' lists, measured anew and cut to the nearest."""
    total = 0
    for part in parts:
        total += lists.count[part]
    gather_entries(space, lists, nodes, scratch, parts, np.empty(total, np.int32), np.empty(total, np.float64))


@bare_inside
def gather_entries(space, lists, nodes, scratch, parts, node_found, distance_found):
    """Fill the list of a joined cluster; the last two arrays are room for all that its parts list."""
    head, found, begin = parts[0], np.int64(0), np.int64(0)
    own, radius = nodes.node_of[head], lists.radius[head]
    scratch.stamp[0] += 1
    stamp, seen = scratch.stamp[0], scratch.seen
    for part in parts:
        for e in range(lists.start[part], lists.start[part] + lists.count[part]):
            node = living(nodes, lists.nodes[e])
            slot = np.int64(nodes.slot_of[node])
            if node == own or seen[slot] == stamp:
                continue
            seen[slot] = stamp
            distance = pair_distance(space, head, slot)
            if distance < radius:
                node_found[found], distance_found[found] = node, distance
                found += 1
    sort_entries(node_found, distance_found, begin, found)
    if found > LIST_LENGTH:
        radius = lists.radius[head] = distance_found[LIST_LENGTH]
        found = LIST_LENGTH
        while found and distance_found[found - 1] >= radius:
            found -= 1
    first = lists.start[head]
    for e in range(found):
        lists.nodes[first + e], lists.distances[first + e] = node_found[e], distance_found[e]
    lists.count[head], lists.best[head] = found, distance_found[0] if found else np.inf


@bare_inside
def join_groups(space, lists, nodes, work, rules):
    """Join the groups that were noted; those that must be searched are noted in ``work.pushed``.

    The lists come afterwards (:func:`gather_groups`), since groups of one level may be each other's neighbours.
    """
    for g in range(work.counters[N_GROUPS]):
        parts = work.parts[work.bounds[g] : work.bounds[g + 1]]
        radius = group_radius(space, lists, rules, parts)
        if work.counters[FOLLOWED]:
            for part in parts:
                unfollow(nodes, part)
        make_node(nodes, work, parts)
        for part in parts:
            lists.best[part] = np.inf  # until its list is made, and for good where the slot is free
        lists.radius[parts[0]] = radius
        join_space(space, parts)
        if radius < 0:
            work.pushed[work.counters[N_PUSHED]] = parts[0]
            work.counters[N_PUSHED] += 1


@bare_inside
def touch_followers(nodes, work):
    """Touch the groups just joined and all who followed a part of them. O(those)."""
    for g in range(work.counters[N_GROUPS]):
        for k in range(work.bounds[g], work.bounds[g + 1]):
            part = work.parts[k]
            while nodes.following[part, FIRST] >= 0:
                r = np.int64(nodes.following[part, FIRST])
                unfollow(nodes, r)
                touch(nodes, work, r)
        touch(nodes, work, work.parts[work.bounds[g]])


@bare_inside
def touch_slots(space, lists, nodes, work, scratch, first, stop):
    """Do as :func:`touch_followers` for the slots from ``first`` to ``stop``, by looking at all of them.

    They are left in ``work.touched`` from ``first`` on; returned is how many. Unless new clusters are still to be
    pushed into lists, the lists of those that are not new are refreshed at once.
    """
    counters, count, stamp = work.counters, first, mark_now(work)
    oldest = counters[N_NODES] - counters[N_GROUPS]  # of the new nodes
    for r in range(first, stop):
        if nodes.node_of[r] < 0:
            continue
        if nodes.node_of[r] < oldest:
            if lists.count[r] and nodes.parent[lists.nodes[lists.start[r]]] < 0:
                continue
            if not counters[N_PUSHED]:
                refresh(space, lists, nodes, scratch, r, np.bool_(True), np.bool_(False))
        nodes.mark[r] = stamp
        work.touched[count] = r
        count += 1
    return count - first


@bare_inside
def follow_all(lists, nodes):
    """Let all follow their nearest neighbours, after levels that looked at all. O(n)."""
    for r in range(len(nodes.node_of)):
        nodes.following[r, TARGET] = nodes.following[r, FIRST] = -1
    for r in range(len(nodes.node_of)):
        if nodes.node_of[r] >= 0 and lists.count[r]:
            follow(nodes, r, nodes.slot_of[lists.nodes[lists.start[r]]])


@bare_inside
def gather_groups(space, lists, nodes, work, scratch, first, stop):
    """Make the lists of some of the groups just joined."""
    for g in range(first, stop):
        parts = work.parts[work.bounds[g] : work.bounds[g + 1]]
        if lists.radius[parts[0]] < 0:
            lists.count[parts[0]] = 0
        else:
            gather_list(space, lists, nodes, scratch, parts)


@bare_inlined
def look_at(lists, nodes, work, rules, r):
    """Note whether r must be searched, or whom it follows."""
    if not certified(lists, work, rules, r):
        work.searched[work.counters[N_SEARCHED]] = r
        work.counters[N_SEARCHED] += 1
    elif lists.count[r] and work.counters[FOLLOWED]:
        follow(nodes, r, nodes.slot_of[lists.nodes[lists.start[r]]])


@bare_inside
def look_up(space, lists, nodes, work, rules, scratch):
    """Refresh the lists of touched clusters, note those that must be searched, and see who follows whom.

    After a search only what was searched is looked at again.
    """
    counters = work.counters
    searched, counters[N_SEARCHED] = counters[N_SEARCHED] if counters[LOOKED_AT] else 0, 0
    for k in range(searched):
        r = work.searched[k]
        lists.best[r] = lists.distances[lists.start[r]] if lists.count[r] else np.inf
        look_at(lists, nodes, work, rules, r)
    for k in range(counters[LOOKED_AT], counters[N_TOUCHED]):
        r = work.touched[k]
        if nodes.node_of[r] >= 0:
            if not counters[REFRESHED]:
                refresh(space, lists, nodes, scratch, r, rules.radius_rule != RADIUS_NONE, np.bool_(False))
            look_at(lists, nodes, work, rules, r)
    counters[REFRESHED], counters[LOOKED_AT] = 0, counters[N_TOUCHED]


@bare_inside
def first_of_smallest(lists, object_of):
    """Return the slot whose nearest is nearest of all; of several, that of the first object. O(n), in vectors."""
    best, found = lists.best, 0
    for start in range(0, len(best), CHUNK):
        chunk, hits = best[start : start + CHUNK], 0
        for k in range(len(chunk)):
            hits += chunk[k] <= best[found]
        if hits:
            for r in range(start, min(start + CHUNK, len(best))):
                if best[r] < best[found] or (best[r] == best[found] and object_of[r] < object_of[found]):
                    found = r
    return found


@bare_inside
def find_smallest(space, lists, nodes, work, rules, scratch):
    """Find the one link that is taken where alpha is 0: the smallest, the first by its smaller and its larger object.

    The smaller object is the first that has a nearest so near, and its list knows the larger one once it is refreshed.
    """
    object_of, links = nodes.object_of, work.found
    r = np.int64(first_of_smallest(lists, object_of))
    refresh(space, lists, nodes, scratch, r, rules.radius_rule != RADIUS_NONE, np.bool_(False))
    found, first = r, lists.start[r]
    for e in range(first, first + lists.count[r]):
        c = np.int64(nodes.slot_of[lists.nodes[e]])
        if lists.distances[e] == lists.best[r] and (found == r or object_of[c] < object_of[found]):
            found = c
    links.p[0], links.q[0], links.distance[0], work.counters[N_FOUND] = r, found, lists.best[r], 1


@bare
def do_share(step, space, lists, nodes, work, rules, scratch, first, stop, first_slot, stop_slot):
    """Do one thread's share of a step: of the groups just joined and all slots (GATHER), or of touched clusters.

    One function for all steps: each that Python calls takes more time to compile. Returned is how many were found.
    """
    if step == GATHER:
        gather_groups(space, lists, nodes, work, scratch, first, stop)
        return touch_slots(space, lists, nodes, work, scratch, first_slot, stop_slot)
    if step == LINKS:
        return find_links(lists, nodes, work, rules, first, stop)
    for k in range(first, stop):
        if nodes.node_of[work.touched[k]] >= 0:
            follow_joined = rules.radius_rule != RADIUS_NONE
            refresh(space, lists, nodes, scratch, work.touched[k], follow_joined, step == REMEASURE)
    return stop - first


@bare
def advance(space, lists, nodes, work, rules, leader, scratch, patience):
    """Run levels until Python is needed, or until about ``patience`` clusters were looked at; return the status.

    Cost of a level: what changed, not n; for alpha below 1 also the reliable links that wait, of which it takes the
    share alpha; one pass over all clusters where it is 0.
    """
    counters, done = work.counters, 0
    while True:
        # the rules come before any search: where the first level is cut short, equal rows may be left that no search
        # finds
        if counters[N_ALIVE] <= rules.n_clusters or counters[LEVEL] >= rules.max_level:
            return DONE
        if counters[N_PUSHED]:
            return PUSH
        if counters[N_TOUCHED] - counters[LOOKED_AT] > MANY and not counters[REFRESHED]:
            return REFRESH
        look_up(space, lists, nodes, work, rules, scratch)
        if counters[N_SEARCHED]:
            return SEARCH
        if done > patience:
            return PAUSE
        at_all = rules.alpha == 0.0 or counters[N_WAITING] == NO_ROOM
        done += (len(leader) // 16 if at_all else counters[N_TOUCHED] + counters[N_WAITING]) + 1
        if rules.alpha == 0.0:
            find_smallest(space, lists, nodes, work, rules, scratch)
        if rules.alpha == 1.0 and counters[N_TOUCHED] > MANY and counters[N_FOUND] == NOT_YET:
            return LINKS
        if take_links(lists, nodes, work, rules, scratch, leader) == 0:
            return DONE
        counters[LEVEL] += 1
        counters[N_TOUCHED] = counters[LOOKED_AT] = 0
        thick = counters[N_GROUPS] > max(THICK, len(leader) // SPARSE)
        if not thick and not counters[FOLLOWED]:
            follow_all(lists, nodes)
        counters[FOLLOWED] = not thick
        join_groups(space, lists, nodes, work, rules)
        if thick:
            return GATHER
        touch_followers(nodes, work)
        gather_groups(space, lists, nodes, work, scratch, np.int64(0), counters[N_GROUPS])
