"""One step, compiled: the twin of :mod:`reliac.algorithm.links`. The same functions by the same names, in one order.

Links are a :class:`~reliac.algorithm.links.Links` of arrays. Clusters go by slot; ``object_of`` gives the first object
of each, and wherever an order matters objects are compared. ``leader`` (n,) is room for sets of slots: it need not be
set before, and tells after :func:`joining_links` which slots are connected. A test compares the two twins on generated
links.
"""

from __future__ import annotations

import numpy as np

from ...algorithm.limits import join_limits as join_limits_in_python
from ...algorithm.limits import may_join as may_join_in_python
from ...algorithm.links import Links
from ...algorithm.links import share_count as share_count_in_python
from .loading import bare_inside, inside
from .sets import top, unite
from .sorting import order_of_numbers, some_of, sorted_order

share_count = bare_inside(share_count_in_python)
may_join = bare_inside(may_join_in_python)
join_limits = bare_inside(join_limits_in_python)


@inside
def take(links, which):
    """Return some of the links."""
    return Links(some_of(links.p, which), some_of(links.q, which), some_of(links.distance, which))


@inside
def sorted_links(links, object_of):
    """Return the order of links by distance, then by the smaller and the larger object."""
    key = np.empty(len(links.p), np.int64)
    for k in range(len(links.p)):
        key[k] = (object_of[links.p[k]] << 32) + object_of[links.q[k]]
    return sorted_order(links.distance, key)


@inside
def reliable_links(nearest, object_of, tie_factor):
    """Keep the links whose two clusters are among each other's nearest, each once, sorted.

    ``nearest`` has for clusters p links to clusters at their smallest distance, the smaller object first; a link may be
    there twice, seen from both sides. A link is kept if no other link of its two clusters is shorter. That also
    settles what rounding does: it may bring a new cluster a little closer to others than its parts were, and those need
    not know of it yet. Then they have a link to their nearest as they know it, and a shorter one to the new cluster.
    """
    p, q, distance, order = nearest.p, nearest.q, nearest.distance, sorted_links(nearest, object_of)
    smallest, kept = np.empty(len(object_of)), 0
    for k in order[::-1]:
        smallest[p[k]] = smallest[q[k]] = distance[k]  # the last one written is the smallest
    for k in order:
        if kept and p[k] == p[order[kept - 1]] and q[k] == q[order[kept - 1]]:
            continue
        if distance[k] <= min(smallest[p[k]], smallest[q[k]]) * tie_factor:
            order[kept] = k
            kept += 1
    return take(nearest, order[:kept])


@bare_inside
def smallest_share(distance, alpha, tie_factor, longer=0):
    """Return how many of sorted links are taken: ceil(alpha * m) of m, and those tied with the last one; alpha=0: one.

    ``distance``: theirs, sorted. ``longer``: so many of the m links are not given, since they are longer than all
    others and will not be taken.
    """
    if alpha == 0.0 or len(distance) == 0:
        return min(len(distance), 1)
    count = share_count(alpha, len(distance) + longer)
    if count >= len(distance):
        return len(distance)
    return within(distance, distance[count - 1] * tie_factor)


@bare_inside
def within(distance, most):
    """Return how many of sorted distances are at most ``most``."""
    count = len(distance)
    while count and distance[count - 1] > most:
        count -= 1
    return count


@inside
def joining_links(links, leader):
    """Return which of sorted links still join two clusters when taken one after the other (Kruskal's rule)."""
    which, count = np.empty(len(links.p), np.int32), 0
    for k in range(len(links.p)):
        leader[links.p[k]], leader[links.q[k]] = links.p[k], links.q[k]
    for k in range(len(links.p)):
        a, b = top(leader, links.p[k]), top(leader, links.q[k])
        if a != b:
            unite(leader, a, b)
            which[count] = k
            count += 1
    return which[:count]


@bare_inside
def allows(limits, i, j):
    """Tell whether a link of the clusters of two objects joins something and is allowed; if so, note that it does."""
    a, b = top(limits.leader, i), top(limits.leader, j)
    if a == b or not may_join(limits, a, b):
        return False
    join_limits(limits, a, b)
    return True


@inside
def allowed_links(links, object_of, limits):
    """Return which of sorted links join two clusters, and are allowed, when taken one after the other.

    What is kept is joined in ``limits`` at once; the twin is in :mod:`reliac.algorithm.limits`.
    """
    which, count = np.empty(len(links.p), np.int32), 0
    for k in range(len(links.p)):
        if allows(limits, object_of[links.p[k]], object_of[links.q[k]]):
            which[count] = k
            count += 1
    return which[:count]


@inside
def level_out(links, object_of, leader):
    """Give every link of a group the smallest distance in it; with a tie tolerance they can differ a little."""
    joining_links(links, leader)
    smallest, distance = np.empty(len(leader)), np.empty(len(links.p))
    for k in range(len(links.p)):
        smallest[top(leader, links.p[k])] = np.inf
    for k in range(len(links.p)):
        group = top(leader, links.p[k])
        smallest[group] = min(smallest[group], links.distance[k])
    for k in range(len(links.p)):
        distance[k] = smallest[top(leader, links.p[k])]
    links = Links(links.p, links.q, distance)
    return take(links, sorted_links(links, object_of))


@inside
def groups_of(links, object_of, leader):
    """Return the clusters that links join, group after group, each sorted by first object; where groups begin, and end.

    Groups are sorted by the smallest slot that one of their clusters has.
    """
    joining_links(links, leader)
    end, place, ends = np.empty(min(2 * len(links.p), len(object_of)), np.int32), np.empty(len(object_of), np.int32), 0
    for k in range(len(links.p)):
        for c in (links.p[k], links.q[k]):
            known = 0 <= place[c] < ends and end[place[c]] == c  # whatever stood in ``place`` before
            if not known:
                end[ends], place[c], ends = c, ends, ends + 1
    head, first = np.empty(ends, np.int32), np.empty(ends, np.int32)
    for k in range(ends):
        head[k], first[k] = top(leader, end[k]), object_of[end[k]]
    order = order_of_numbers(head, first)
    parts, bounds, groups = np.empty(ends, np.int64), np.empty(len(links.p) + 1, np.int64), 0
    for k in range(ends):
        parts[k] = end[order[k]]
        if k == 0 or head[order[k]] != head[order[k - 1]]:
            bounds[groups] = k
            groups += 1
    bounds[groups] = ends
    return parts, bounds[: groups + 1]


@inside
def choose_links(nearest, object_of, rules, leader, most, longer=0):
    """Return the links that a level takes, at most so many, sorted: the verbs of :func:`reliac.algorithm.loop`.

    ``longer``: reliable links that are too long to be taken and are not among ``nearest``.
    """
    links = reliable_links(nearest, object_of, rules.tie_factor)
    count = smallest_share(links.distance, rules.alpha, rules.tie_factor, longer)
    count = within(links.distance[:count], rules.max_value)
    links = Links(links.p[:count], links.q[:count], links.distance[:count])
    if rules.level_out:
        links = level_out(links, object_of, leader)
    if rules.limits.active:
        return take(links, allowed_links(links, object_of, rules.limits)[:most])
    return take(links, joining_links(links, leader)[:most])
