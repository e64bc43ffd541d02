"""Levels on the edges of all minimum spanning trees, in compiled code.

Call the connected pieces of the edges lighter than w the parts of weight w. The lightest edge that leaves a cluster
weighs w iff the cluster is made of whole parts. So an edge of weight w between two parts is a reliable link from the
moment that both parts are complete, and a part is complete when the edges inside it have joined it. The replay
counts that down: whatever becomes complete wakes its own edges, so a level costs what changed and the whole replay
O(E log E) for E edges, however many levels there are.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.loading import bare_inlined, bare_inside, compiled, inside
from ..compiled.sets import top, unite
from ..compiled.sorting import some_of, sorted_order
from ..compiled.step import share_count

#: Edges (i, j) with i < j sorted by weight, i, j. ``rank`` numbers the weights, ``copies`` says how many links an edge
#: stands for. ``child`` (E, 2): the parts that it links; ``group``: the part that they make. Parts are nodes: clusters
#: of the start, then groups. ``missing``: joins until a group is whole. ``edge_of[first[a]:first[a + 1]]``: a's edges.
Nest = namedtuple("Nest", "i j weight rank copies child group missing first edge_of")
State = namedtuple("State", "leader ready new heap heap_key heap_pair p q distance level pair counters")

#: Places in State.counters; N_RELIABLE counts the reliable links that wait in the heap, N_LONELY the clusters that no
#: edge leaves. COUNTS_FAR: whether pairs of these are reliable links too, longer than all edges.
N_ALIVE, N_NEW, N_HEAP, N_LINKS, LEVEL, N_RELIABLE, N_LONELY, COUNTS_FAR, N_COUNTERS = range(9)


@compiled
def nest_edges(i, j, rank, leader, child, group, missing):
    """Find the parts that every edge links and the group that they make: Kruskal's rule, weight by weight.

    ``leader`` (n,): the first object of the cluster of each object; on return of each connected piece. Edges inside a
    part get child -1. Returns the number of nodes. O(E) finds.
    """
    nodes = len(leader)
    node_of = np.arange(nodes)
    start = 0
    while start < len(i):
        stop, first_new = start, nodes
        while stop < len(i) and rank[stop] == rank[start]:
            a, b = top(leader, i[stop]), top(leader, j[stop])
            child[stop, 0], child[stop, 1] = (node_of[a], node_of[b]) if a != b else (-1, -1)
            stop += 1
        for e in range(start, stop):
            a, b = top(leader, i[e]), top(leader, j[e])
            group[e] = a != b  # for now: whether this edge joins
            unite(leader, a, b)
        for e in range(start, stop):
            if child[e, 0] < 0:
                continue
            root = top(leader, i[e])
            if node_of[root] < first_new:
                node_of[root] = nodes
                missing[nodes] = 0
                nodes += 1
            missing[node_of[root]] += group[e]
            group[e] = node_of[root]
        start = stop
    return nodes


@compiled
def index_edges(child, first, edge_of):
    """List the edges of every node, node after node. O(E)."""
    for e in range(len(child)):
        first[child[e, 0] + 1] += 1
        first[child[e, 1] + 1] += 1
    for a in range(1, len(first)):
        first[a] += first[a - 1]
    place = first[:-1].copy()
    for e in range(len(child)):
        for side in range(2):
            edge_of[place[child[e, side]]] = e
            place[child[e, side]] += 1


@inside
def wake(nest, state):
    """Return the edges whose parts are both complete now. Cost: the edges of what became complete."""
    total = 0
    for a in state.new[: state.counters[N_NEW]]:
        total += nest.first[a + 1] - nest.first[a]
        state.counters[N_LONELY] += nest.first[a + 1] == nest.first[a]
    found, count = np.empty(total, np.int64), 0
    for a in state.new[: state.counters[N_NEW]]:
        state.ready[a] = True
        for place in range(nest.first[a], nest.first[a + 1]):
            e = nest.edge_of[place]
            if state.ready[nest.child[e, 0] + nest.child[e, 1] - a]:
                found[count] = e
                count += 1
    state.counters[N_NEW] = 0
    return found[:count]


@bare_inside
def name_link(nest, state, e):
    """Return the clusters p < q that an edge links and its objects in that order, each pair as one number."""
    n = len(state.leader)
    i, j = nest.i[e], nest.j[e]
    p, q = top(state.leader, i), top(state.leader, j)
    return (p * n + q, i * n + j) if p < q else (q * n + p, j * n + i)


@inside
def new_links(nest, state):
    """Return the links that became reliable, each once: rows (edge, rank, clusters, objects), sorted.

    Where several edges of one weight link the same two clusters, the link goes by its first pair of objects.
    """
    edges = wake(nest, state)
    key, pair = np.empty(len(edges), np.int64), np.empty(len(edges), np.int64)
    for s in range(len(edges)):
        key[s], pair[s] = name_link(nest, state, edges[s])
    links, kept = np.empty((len(edges), 4), np.int64), 0
    for s in sorted_order(some_of(nest.rank, edges), key):
        rank, again = nest.rank[edges[s]], kept > 0
        if again:
            again = links[kept - 1, 1] == rank and links[kept - 1, 2] == key[s]
        if again and links[kept - 1, 3] <= pair[s]:
            continue
        kept += not again
        links[kept - 1, 0], links[kept - 1, 1], links[kept - 1, 2], links[kept - 1, 3] = edges[s], rank, key[s], pair[s]
    return links[:kept]


@bare_inside
def before(nest, state, s, t):
    """Tell whether entry s of the heap comes before entry t: by distance, clusters, objects."""
    a, b = nest.rank[state.heap[s]], nest.rank[state.heap[t]]
    if a != b:
        return a < b
    if state.heap_key[s] != state.heap_key[t]:
        return state.heap_key[s] < state.heap_key[t]
    return state.heap_pair[s] < state.heap_pair[t]


@bare_inlined
def swap(state, s, t):
    """Swap two entries of the heap."""
    state.heap[s], state.heap[t] = state.heap[t], state.heap[s]
    state.heap_key[s], state.heap_key[t] = state.heap_key[t], state.heap_key[s]
    state.heap_pair[s], state.heap_pair[t] = state.heap_pair[t], state.heap_pair[s]


@bare_inside
def push_link(nest, state, e, key, pair):
    """Put a link on the heap. O(log E)."""
    s = state.counters[N_HEAP]
    state.heap[s], state.heap_key[s], state.heap_pair[s] = e, key, pair
    state.counters[N_HEAP] += 1
    while s and before(nest, state, s, (s - 1) // 2):
        swap(state, s, (s - 1) // 2)
        s = (s - 1) // 2


@bare_inside
def pop_link(nest, state):
    """Take the first link off the heap. O(log E)."""
    last = state.counters[N_HEAP] - 1
    swap(state, 0, last)
    state.counters[N_HEAP] = last
    s = 0
    while 2 * s + 1 < last:
        t = 2 * s + 1
        if t + 1 < last and before(nest, state, t + 1, t):
            t += 1
        if not before(nest, state, t, s):
            break
        swap(state, s, t)
        s = t
    return state.heap[last], state.heap_key[last], state.heap_pair[last]


@bare_inside
def establish(nest, state, links, max_value, n_clusters):
    """Join along sorted links as long as they join two clusters; note what becomes complete. Returns the joins."""
    n, counters, joins = len(state.leader), state.counters, 0
    for s in range(len(links)):
        e, key, pair = links[s, 0], links[s, 2], links[s, 3]
        if nest.weight[e] > max_value or counters[N_ALIVE] <= n_clusters:
            break
        a, b = top(state.leader, nest.i[e]), top(state.leader, nest.j[e])
        if a == b:
            continue
        unite(state.leader, a, b)
        row = counters[N_LINKS]
        state.p[row], state.q[row], state.distance[row] = key // n, key % n, nest.weight[e]
        state.pair[row, 0], state.pair[row, 1] = pair // n, pair % n
        state.level[row] = counters[LEVEL] + 1
        counters[N_LINKS] += 1
        counters[N_ALIVE] -= 1
        joins += 1
        nest.missing[nest.group[e]] -= 1
        if nest.missing[nest.group[e]] == 0:
            state.new[counters[N_NEW]] = nest.group[e]
            counters[N_NEW] += 1
    return joins


@inside
def take_share(nest, state, alpha, max_value):
    """Take the ceil(alpha m) smallest of m reliable links off the heap, and those tied with the last one.

    A tie is taken whole, and a cluster joins nothing but ties of its smallest distance: links that stay keep their
    names. Links above ``max_value`` count, but stay; so do those of lonely clusters, if they count.
    """
    for e, _, key, pair in new_links(nest, state):
        push_link(nest, state, e, key, pair)
        state.counters[N_RELIABLE] += nest.copies[e]
    lonely = state.counters[N_LONELY] * state.counters[COUNTS_FAR]
    wanted = share_count(alpha, state.counters[N_RELIABLE] + lonely * (lonely - 1) // 2)
    taken, count, links = 0, 0, np.empty((16, 4), np.int64)
    while state.counters[N_HEAP]:
        e = state.heap[0]
        if nest.weight[e] > max_value or (taken >= wanted and nest.rank[e] != links[count - 1, 1]):
            break
        if count == len(links):
            longer = np.empty((2 * count, 4), np.int64)
            for k in range(4 * count):  # copying rows at once, Numba compiles texts of errors besides, for 4 seconds
                longer[k // 4, k % 4] = links[k // 4, k % 4]
            links = longer
        links[count, 0], links[count, 2], links[count, 3] = pop_link(nest, state)
        links[count, 1] = nest.rank[e]
        taken += nest.copies[e]
        count += 1
    state.counters[N_RELIABLE] -= taken
    return links[:count]


@inside
def take_first(nest, state):
    """Take the one smallest link; ties go to the smallest pair of clusters.

    Among links of one weight the cluster of the smallest index absorbs all that it can reach, one by one, before any
    other pair comes first. So only what it absorbs gets a new name, and each edge enters the heap at most three times.
    """
    edges = wake(nest, state)
    for e in edges:
        key, pair = name_link(nest, state, e)
        push_link(nest, state, e, key, pair)
    n = len(state.leader)
    one = np.empty((1, 4), np.int64)
    while state.counters[N_HEAP]:
        e, key, pair = pop_link(nest, state)
        if top(state.leader, nest.i[e]) == top(state.leader, nest.j[e]):
            continue
        one[0, 0], one[0, 1], one[0, 2], one[0, 3] = e, nest.rank[e], key, pair
        p, q = key // n, key % n
        absorbed = nest.child[e, 0] if top(state.leader, nest.i[e]) == q else nest.child[e, 1]
        for place in range(nest.first[absorbed], nest.first[absorbed + 1]):
            e = nest.edge_of[place]
            if state.ready[nest.child[e, 0] + nest.child[e, 1] - absorbed]:
                key, pair = name_link(nest, state, e)
                other = key // n + key % n - q
                if other != p:
                    i, j = (pair // n, pair % n) if key // n == q else (pair % n, pair // n)  # i in q, j in the other
                    push_link(nest, state, e, min(p, other) * n + max(p, other), i * n + j if p < other else j * n + i)
        return one
    return one[:0]


@compiled
def replay_all(nest, state, alpha, n_clusters, max_level, max_value, patience):
    """Run levels that take all reliable links, until the rules say stop or enough was done; tell which."""
    counters, done = state.counters, 0
    while counters[N_ALIVE] > n_clusters and counters[LEVEL] < max_level:
        if done > patience:
            return False
        links = new_links(nest, state)
        if establish(nest, state, links, max_value, n_clusters) == 0:
            return True
        counters[LEVEL] += 1
        done += len(links) + 1
    return True


@compiled
def replay_share(nest, state, alpha, n_clusters, max_level, max_value, patience):
    """Run levels that take a share of the links (alpha = 0: one), as :func:`replay_all` does."""
    counters, done = state.counters, 0
    while counters[N_ALIVE] > n_clusters and counters[LEVEL] < max_level:
        if done > patience:
            return False
        links = take_share(nest, state, alpha, max_value) if alpha else take_first(nest, state)
        if establish(nest, state, links, max_value, n_clusters) == 0:
            return True
        counters[LEVEL] += 1
        done += len(links) + 1
    return True
