"""Entries of candidate lists: where they lie, how they are kept true, and who follows whom.

Clusters go by slot in all arrays, the slot of their first object; an entry holds the cluster's node, which dies when
it is joined, so that stale entries are seen at once. An engine may number the slots so that neighbours lie close
together in memory: ``object_of`` tells the object, and wherever an order matters, objects are compared, not slots.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba.extending import overload

from ...algorithm.criteria import equal_shares
from ..compiled.loading import bare_inlined, bare_inside, compiled, inside

#: Entries that a list keeps when it is cut.
LIST_LENGTH = 16

Lists = namedtuple("Lists", "nodes distances start count room radius best")
Nodes = namedtuple("Nodes", "parent slot_of node_of following mark object_of")

#: Columns of Nodes.following: whom a cluster follows, who else does so, and the first of those who follow it; -1: none.
TARGET, AFTER, BEFORE, FIRST = range(4)

#: Every array here and in the tuples above is handed to nearly all functions, which takes time to compile: ``searched``
#: also holds clusters to be searched and pushed, and links are found where those of the next level will be written.
Work = namedtuple("Work", "touched searched parts bounds p q distance level counters")

#: Marks of one thread: ``seen`` (n,) holds the newest stamp a slot was seen with.
Scratch = namedtuple("Scratch", "seen stamp")

#: Places in Work.counters. LOOKED_AT counts the touched clusters that were looked at since they were touched; FOLLOWED
#: tells whether followers are known; N_FOUND counts the links found for the next level, or is one of those below.
N_ALIVE, N_NODES, N_TOUCHED, N_SEARCHED, N_LINKS, LEVEL, REFRESHED, N_PUSHES, N_GROUPS, LOOKED_AT, FOLLOWED, N_FOUND = (
    range(12)
)

#: Links were not looked for in threads yet; or they were, and ties left no room for them.
NOT_YET, NO_ROOM = -1, -2


def pair_distance(space, p, q):
    """Return the exact distance of the clusters in slots p and q; each space brings its own."""
    raise NotImplementedError


def join_space(space, parts):
    """Make the clusters in ``parts`` one, in the slot of the first; each space brings its own."""
    raise NotImplementedError


SPACES: dict = {}


@overload(pair_distance)
def _pair_distance(space, p, q):
    return SPACES[space.instance_class][0]


@overload(join_space)
def _join_space(space, parts):
    return SPACES[space.instance_class][1]


def register_space(space_type, pair, join):
    """Say how a space (a named tuple of arrays) measures and joins clusters."""
    SPACES[space_type] = (pair, join)


shares_of_parts = inside(equal_shares)


@bare_inlined
def living(nodes, node):
    """Follow a node to the living cluster that holds it now; paths are halved on the way.

    Threads do so at the same time: what one has read is what it writes, for it never takes a cluster that lives for one
    that does not.
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


@bare_inside
def sort_entries(node, distance, first, count):
    """Sort entries by distance: insertion over falling gaps (Shell), so short runs are quick and long ones not slow."""
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap:
        for i in range(first + gap, first + count):
            n, d = node[i], distance[i]
            j = i - gap
            while j >= first and distance[j] > d:
                node[j + gap], distance[j + gap] = node[j], distance[j]
                j -= gap
            node[j + gap], distance[j + gap] = n, d
        gap //= 3


@inside
def sorted_order(major, minor):
    """Return the order by ``major``, then by ``minor``: a merge sort from the bottom up.

    One sort for all needs: NumPy's sorts are compiled anew for every type, and take seconds each. Values move along
    with their places, so that every pass reads and writes in order.
    """
    n = len(major)
    order, value, width = np.empty(n, np.int64), np.empty(n, major.dtype), 1
    next_order, next_value = np.empty(n, np.int64), np.empty(n, major.dtype)
    for k in range(n):
        order[k], value[k] = k, major[k]
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            a, b = start, middle
            for k in range(start, stop):
                left = a < middle
                if left and b < stop:
                    left = value[a] < value[b] or (value[a] == value[b] and minor[order[a]] <= minor[order[b]])
                i = a if left else b
                next_order[k], next_value[k] = order[i], value[i]
                a, b = a + left, b + (not left)
        order, next_order, value, next_value, width = next_order, order, next_value, value, 2 * width
    return order


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


@bare_inlined
def insert_entry(lists, first, count, node, distance):
    """Enter a cluster into the sorted list of ``count`` entries that begins at ``first``."""
    e = first + count
    while e > first and lists.distances[e - 1] > distance:
        lists.nodes[e], lists.distances[e] = lists.nodes[e - 1], lists.distances[e - 1]
        e -= 1
    lists.nodes[e], lists.distances[e] = node, distance


@bare_inside
def push(lists, nodes, work, r, node, distance):
    """Enter a new cluster into the list of r if it lies inside the radius, and touch r."""
    if enter(lists, r, node, distance):
        touch(nodes, work, r)


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
        insert_entry(lists, first, count, node, distance)
        count += 1
    lists.count[r] = count
    return True
