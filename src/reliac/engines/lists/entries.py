"""Entries of candidate lists: where they lie, how they are kept true, and who follows whom.

Clusters go by slot in all arrays, the slot of their first object; an entry holds the cluster's node, which dies when
it is joined, so that stale entries are seen at once. An engine may number the slots so that neighbours lie close
together in memory: ``object_of`` tells the object, and wherever an order matters, objects are compared, not slots.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ...algorithm.links import Links
from ..compiled.loading import bare_inlined, bare_inside, compiled
from ..compiled.sorting import insert, sort_entries
from ..compiled.spaces import join_space, pair_distance

#: Entries that a list keeps when it is cut.
LIST_LENGTH = 16

Lists = namedtuple("Lists", "nodes distances start count room radius best")
Nodes = namedtuple("Nodes", "parent slot_of node_of following mark object_of")

#: Columns of Nodes.following; -1 is none. TARGET: whom a cluster follows, its nearest neighbour. AFTER, BEFORE: its
#: neighbours in the list of all who follow that one. FIRST: the first of those who follow the cluster itself.
TARGET, AFTER, BEFORE, FIRST = range(4)

#: What one step hands to the next. ``touched``: clusters whose nearest neighbour may have changed. ``searched``: those
#: whose lists prove nothing any more. ``pushed``: new clusters that must be searched and entered into the lists of
#: others. ``parts``, ``bounds``: the groups that are joined, as :func:`reliac.engines.compiled.step.groups_of` has
#: them. ``found``: reliable links that may be taken. ``waiting``: those that a level found and left, where it takes a
#: share of them only. ``taken``, ``level``: all links established so far.
Work = namedtuple("Work", "touched searched pushed parts bounds found waiting taken level counters")

#: Marks of one thread: ``seen`` (n,) holds the newest stamp a slot was seen with.
Scratch = namedtuple("Scratch", "seen stamp")

#: Places in Work.counters. N_TOUCHED to N_WAITING count what the arrays of Work hold (N_FOUND may also be NOT_YET or
#: NO_ROOM, N_WAITING too the latter). LOOKED_AT: how many of the touched clusters were looked at since they were
#: touched; REFRESHED: whether the lists of the others are up to date already; FOLLOWED: whether followers are known
#: (:func:`follow`).
N_ALIVE, N_NODES, LEVEL, N_TOUCHED, N_SEARCHED, N_PUSHED, N_GROUPS, N_FOUND, N_LINKS, N_WAITING = range(10)
LOOKED_AT, REFRESHED, FOLLOWED, N_COUNTERS = range(10, 14)

#: Links were not looked for in threads yet; or ties left no room for them.
NOT_YET, NO_ROOM = -1, -2


def new_work(n, n_waiting):
    """Return room for the steps of n clusters, and for so many links that wait."""

    def room(count):
        return Links(np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count))

    touched, searched, pushed, parts = (np.empty(n, np.int64) for _ in range(4))
    bounds, level, counters = np.empty(n + 1, np.int64), np.empty(n, np.int64), np.zeros(N_COUNTERS, np.int64)
    return Work(touched, searched, pushed, parts, bounds, room(n), room(n_waiting), room(n), level, counters)


@bare_inlined
def living(nodes, node):
    """Follow a node to the living cluster that holds it now; paths are halved on the way.

    Several threads may do so at once. That is safe: a thread writes only what it has read, and a cluster that lives is
    never taken for one that was joined.
    """
    parent = nodes.parent
    up = parent[node]
    while up >= 0:
        above = parent[up]
        if above >= 0:
            parent[node] = above
        node, up = up, above
    return node


@bare_inlined
def unfollow(nodes, r):
    """Take r out of the followers of its nearest neighbour. O(1)."""
    following = nodes.following
    if following[r, TARGET] < 0:
        return
    before, after = following[r, BEFORE], following[r, AFTER]
    if before >= 0:
        following[before, AFTER] = after
    else:
        following[following[r, TARGET], FIRST] = after
    if after >= 0:
        following[after, BEFORE] = before
    following[r, TARGET] = -1


@bare_inlined
def follow(nodes, r, q):
    """Note that q is the nearest neighbour of r. O(1)."""
    unfollow(nodes, r)
    following = nodes.following
    first = following[q, FIRST]
    following[r, TARGET], following[r, BEFORE], following[r, AFTER] = q, -1, first
    if first >= 0:
        following[first, BEFORE] = r
    following[q, FIRST] = r


def mark_of_level(work):
    """Return what marks the clusters that were touched at this level."""
    return -(work.counters[LEVEL] + 2)


mark_now = bare_inlined(mark_of_level)


@bare_inlined
def touch(nodes, work, r):
    """Put r on the list of clusters whose nearest neighbour may have changed; once."""
    stamp = mark_now(work)
    if nodes.mark[r] != stamp:
        nodes.mark[r] = stamp
        work.touched[work.counters[N_TOUCHED]] = r
        work.counters[N_TOUCHED] += 1


@bare_inside
def refresh(space, lists, nodes, scratch, r, follow_joined, anew):
    """Bring the list of r up to date: follow joined entries, measure them anew, sort, find the best.

    Where every new cluster is pushed into the lists it belongs to, joined entries need not be followed and are
    dropped. With ``anew`` all are followed and measured: their space has changed its arithmetic. Cost: one exact
    distance for each entry that was joined since and is not listed already.
    """
    first, radius, own = lists.start[r], lists.radius[r], nodes.node_of[r]
    stop = first + lists.count[r]
    stale = anew
    scratch.stamp[0] += 1
    stamp, seen = scratch.stamp[0], scratch.seen
    for e in range(first, stop):
        if nodes.parent[lists.nodes[e]] >= 0:
            stale = True
        elif not anew:
            seen[nodes.slot_of[lists.nodes[e]]] = stamp
    if stale:
        kept = first
        for e in range(first, stop):
            node, distance = lists.nodes[e], lists.distances[e]
            if anew or nodes.parent[node] >= 0:
                node = living(nodes, node)
                slot = np.int64(nodes.slot_of[node])
                if not (anew or follow_joined) or node == own or seen[slot] == stamp:
                    continue
                seen[slot] = stamp
                distance = pair_distance(space, r, slot)
            if distance < radius:
                lists.nodes[kept], lists.distances[kept] = node, distance
                kept += 1
        lists.count[r] = kept - first
        sort_entries(lists.nodes, lists.distances, first, kept - first)
    lists.best[r] = lists.distances[first] if lists.count[r] else np.inf


@bare_inlined
def make_node(nodes, work, parts):
    """Let the parts die and a new node take the slot of the first."""
    node = work.counters[N_NODES]
    work.counters[N_NODES] += 1
    work.counters[N_ALIVE] -= len(parts) - 1
    for part in parts:
        nodes.parent[nodes.node_of[part]] = node
        nodes.node_of[part] = -1
    nodes.node_of[parts[0]], nodes.slot_of[node] = node, parts[0]


@compiled
def catch_up(space, nodes, work, parts):
    """Join one group without lists: how an engine takes over levels that were made before."""
    make_node(nodes, work, parts)
    join_space(space, parts)


@bare_inside
def enter(lists, r, node, distance):
    """Enter a cluster into the list of r if it lies inside the radius, and say so; a full list drops its farthest."""
    if distance >= lists.radius[r]:
        return False
    first, count = lists.start[r], lists.count[r]
    if count == lists.room[r]:
        count -= 1
        lists.radius[r] = lists.distances[first + count]
        while count and lists.distances[first + count - 1] >= lists.radius[r]:
            count -= 1
    if distance < lists.radius[r]:
        insert(lists.distances, lists.nodes, first, first + count, distance, node)
        count += 1
    lists.count[r] = count
    return True
