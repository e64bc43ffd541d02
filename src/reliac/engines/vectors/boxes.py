"""A k-d tree of clusters that knows the criterion: boxes of means, with weights, spreads and radii.

The tree is complete and lies in arrays like a heap: node 1 is the root, node i has the children 2i and 2i + 1, and
node i of depth l holds the positions from ``(i - 2^l) m >> l`` to ``(i + 1 - 2^l) m >> l``.

With ``m`` the mean, ``w`` the weight and ``e`` the spread per pair (average; else 0) of a cluster, a node bounds the
distance of every cluster in it from p by the gap between m_p and the box of its means,

    gap^2 w_p w / (w_p + w)   (by size; grows with w, so the smallest weight counts)     or     gap^2 + e_p + e.

Bounds only say where to look. They are deflated by what rounding could have added: boxes are wider by ``margin``, an
absolute error of means and of differences of sums, and values shrink by a relative one. What is found is measured by
``pair_distance``.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.loading import bare, bare_inlined, bare_inside, compiled
from ..compiled.sorting import insert, select
from ..compiled.spaces import pair_distance
from ..lists.entries import enter
from ..lists.levels import ROUNDING

#: points (m, d + 2): mean, weight, spread per pair; slots (m,): -1 if gone; place (n,): position of a slot, -1 if none.
#: boxes (2^(depth + 1), 2 d + 3): lowest and highest means, smallest weight and spread, largest radius.
Tree = namedtuple("Tree", "points slots place boxes rules")

#: depth; by_size; margin: what boxes are wider by; shrink: the scale of distances, deflated.
TreeRules = namedtuple("TreeRules", "depth by_size margin shrink")

#: Clusters in a leaf: more than half of this, at most this.
LEAF = 12

#: Below this, numbers lose bits, and relative errors mean nothing.
TINY = 1e-290

#: The smallest weight of no clusters: above all weights (their fourth power is finite), and no infinity to divide.
HEAVY = 1e150


def new_tree(space, points, slots, n):
    """Return a tree of m clusters that is still to be split and fitted. O(m d) memory.

    Rounding: a mean is off by half an eps of itself, a difference of weighted sums by two halves, so 8 eps of the
    largest coordinate are plenty for any difference. Means of later clusters lie between those of their parts.
    """
    m, columns = points.shape
    depth = max(0, int(np.ceil(np.log2(m / LEAF))))
    boxes = np.empty((2 << depth, 2 * (columns - 2) + 3))
    margin = 8 * float(np.finfo(np.float64).eps) * float(np.abs(points[:, :-2]).max(initial=0.0))
    rules = TreeRules(depth, bool(space.by_size), margin, float(space.scale) * (1.0 - ROUNDING))
    return Tree(points, slots, np.full(n, -1, np.int32), boxes, rules)


# --- building ---


@bare_inside
def widest(points, start, stop):
    """Return the column of means that spans most. O((stop - start) d)."""
    best, span = 0, -1.0
    for k in range(points.shape[1] - 2):
        low = high = points[start, k]
        for i in range(start + 1, stop):
            low, high = min(low, points[i, k]), max(high, points[i, k])
        if high - low > span:
            best, span = k, high - low
    return best


@compiled
def split(tree, top, top_depth, stop_depth):
    """Split the subtree of ``top`` at medians of the widest column, down to ``stop_depth``. O(m d) a depth."""
    points, slots, place = tree.points, tree.slots, tree.place
    m = len(slots)
    stack = [(top, top_depth)]
    while len(stack):
        node, depth = stack.pop()
        j = node - (1 << depth)
        start, stop = (j * m) >> depth, ((j + 1) * m) >> depth
        if depth < stop_depth:
            select(points, slots, start, stop, ((2 * j + 1) * m) >> (depth + 1), widest(points, start, stop))
            stack.append((2 * node, depth + 1))
            stack.append((2 * node + 1, depth + 1))
        elif depth == tree.rules.depth:
            for i in range(start, stop):
                place[slots[i]] = i


# --- keeping boxes true ---


@bare_inside
def fit(tree, radius, node, new):
    """Compute the box of a node anew, from its clusters (a leaf) or its children; tell whether it changed.

    ``new`` (2 d + 3,): room. Of an empty leaf the lowest are infinite, so that every gap is.
    """
    points, slots, _, boxes, rules = tree
    d, m, first = points.shape[1] - 2, len(slots), 1 << rules.depth
    new[:] = np.inf
    new[d : 2 * d] = -np.inf
    new[2 * d], new[2 * d + 2] = HEAVY, -1.0
    if node < first:
        for child in range(2 * node, 2 * node + 2):
            for k in range(2 * d + 2):
                least = k < d or k >= 2 * d
                new[k] = min(new[k], boxes[child, k]) if least else max(new[k], boxes[child, k])
            new[2 * d + 2] = max(new[2 * d + 2], boxes[child, 2 * d + 2])
    else:
        for i in range(((node - first) * m) >> rules.depth, ((node - first + 1) * m) >> rules.depth):
            if slots[i] >= 0:
                for k in range(d):
                    new[k] = min(new[k], points[i, k] - rules.margin)
                    new[d + k] = max(new[d + k], points[i, k] + rules.margin)
                new[2 * d] = min(new[2 * d], points[i, d])
                new[2 * d + 1] = min(new[2 * d + 1], points[i, d + 1])
                new[2 * d + 2] = max(new[2 * d + 2], radius[slots[i]])
    changed = False
    for k in range(2 * d + 3):
        changed |= boxes[node, k] != new[k]
        boxes[node, k] = new[k]
    return changed


@compiled
def fit_all(tree, radius, top, stop_depth):
    """Compute all boxes of the subtree of ``top`` down to a depth, children before parents. O(m d)."""
    new, first, count = np.empty(tree.boxes.shape[1]), top, 1
    while first < 1 << stop_depth:
        first, count = 2 * first, 2 * count
    while count:
        for node in range(first, first + count):
            fit(tree, radius, node, new)
        first, count = first // 2, count // 2


@bare
def update(tree, space, node_of, changed):
    """Bring changed clusters up to date: gone, or with a new mean. ``changed``: slots, repeats allowed."""
    points, slots, place, _, _ = tree
    d = points.shape[1] - 2
    for slot in changed:
        i = place[slot]
        if i < 0:
            continue
        if node_of[slot] < 0:
            slots[i], points[i, 0] = -1, np.inf  # infinitely far from everything
            continue
        w = space.weight[slot]
        for k in range(d):
            points[i, k] = space.sums[slot, k] / w
        points[i, d] = w
        points[i, d + 1] = space.spread[slot] / (w * w) if space.with_spread else 0.0


@compiled
def refit(tree, radius, changed):
    """Compute the boxes above changed clusters anew. Cost: a leaf and a path of boxes each; all if many changed."""
    _, slots, place, boxes, rules = tree
    if 8 * len(changed) > len(slots):
        fit_all(tree, radius, np.int64(1), rules.depth)
        return
    new = np.empty(boxes.shape[1])
    for slot in changed:
        if place[slot] >= 0:
            node = (1 << rules.depth) + (((place[slot] + 1) << rules.depth) - 1) // len(slots)
            while node and fit(tree, radius, node, new):
                node >>= 1


# --- searching ---


@bare_inlined
def lower_bound(rules, gap, w_p, e_p, w, e):
    """Return a number that no distance with this squared gap, weight and spread falls below, rounding included."""
    value = gap * (w_p * w / (w_p + w)) if rules.by_size else gap + (e_p + e)
    return max(value * rules.shrink - TINY, 0.0)


@bare_inlined
def box_bound(boxes, rules, point, node):
    """Bound the distances of a cluster (its row of points) from all in a node; infinite if all are gone. O(d)."""
    d = len(point) - 2
    gap = 0.0
    for k in range(d):
        t = max(max(boxes[node, k] - point[k], point[k] - boxes[node, d + k]), 0.0)
        gap += t * t
    return lower_bound(rules, gap, point[d], point[d + 1], boxes[node, 2 * d], boxes[node, 2 * d + 1])


@bare_inlined
def point_bound(points, rules, point, i):
    """Bound the distance of a cluster from the one at position i; infinite if that is gone. O(d)."""
    d = len(point) - 2
    gap = 0.0
    for k in range(d):
        t = max(abs(point[k] - points[i, k]) - rules.margin, 0.0)
        gap += t * t
    return lower_bound(rules, gap, point[d], point[d + 1], points[i, d], points[i, d + 1])


@bare_inlined
def scan_leaf(points, rules, point, own, start, stop, found, bounds):
    """Enter the positions of a leaf into those found so far, sorted by bound; the farthest falls out."""
    last = len(found) - 1
    for i in range(start, stop):
        bound = point_bound(points, rules, point, i)
        if bound < bounds[last] and i != own:
            insert(bounds, found, 0, last, bound, i)


@bare_inside
def nearest(points, boxes, rules, point, own, found, bounds, stack, waiting):
    """Find the positions with the smallest bounds: the own leaf first, then the other side of each node above it.

    ``found``, ``bounds`` (k,): on return sorted, infinite where there are fewer; everything else is at least as far
    as the last bound. ``stack``, ``waiting``: nodes to visit, and their bounds; room for the depth of the tree.
    """
    m, last, depth = len(points), len(found) - 1, rules.depth
    leaves = 1 << depth
    bounds[:] = np.inf
    found[:] = -1
    home = leaves + ((own + 1) * leaves - 1) // m
    stack[0], waiting[0], height = home, 0.0, 1
    while True:
        while height:
            height -= 1
            node, bound = stack[height], waiting[height]
            while bound < bounds[last]:
                if node >= leaves:
                    start, stop = ((node - leaves) * m) >> depth, ((node - leaves + 1) * m) >> depth
                    scan_leaf(points, rules, point, own, start, stop, found, bounds)
                    break
                near, far = 2 * node, 2 * node + 1
                bound, other = box_bound(boxes, rules, point, near), box_bound(boxes, rules, point, far)
                if other < bound:
                    near, far, bound, other = far, near, other, bound
                if other < bounds[last]:
                    stack[height], waiting[height] = far, other
                    height += 1
                node = near
        if home == 1:
            return
        stack[0], waiting[0], height = home ^ 1, box_bound(boxes, rules, point, home ^ 1), 1
        home >>= 1


@compiled
def search_lists(tree, space, lists, node_of, some, length, tie_factor, ties):
    """Fill the lists of some clusters. Bounds select ``length`` + 1, ``pair_distance`` measures them.

    The last bound is the radius. ``ties`` (len(some),): where what was left out may tie with the nearest, a distance
    that all ties are within; elsewhere -1.
    """
    found, bounds = np.empty(length + 1, np.int64), np.empty(length + 1)
    stack, waiting = np.empty(tree.rules.depth + 2, np.int64), np.empty(tree.rules.depth + 2)
    fill_lists(tree, space, lists, node_of, some, tie_factor, ties, found, bounds, stack, waiting)


@bare_inside
def fill_lists(tree, space, lists, node_of, some, tie_factor, ties, found, bounds, stack, waiting):
    """Do what :func:`search_lists` promises; the last four arrays are room."""
    points, slots, place, boxes, rules = tree
    length = len(found) - 1
    for i in range(len(some)):
        r = some[i]
        nearest(points, boxes, rules, points[place[r]], place[r], found, bounds, stack, waiting)
        first, count, radius, least = lists.start[r], 0, bounds[length], np.inf
        for e in range(length):
            if found[e] < 0:
                break
            q = slots[found[e]]
            distance = pair_distance(space, r, q)
            least = min(least, distance)
            if distance < radius:
                insert(lists.distances, lists.nodes, first, first + count, distance, node_of[q])
                count += 1
        lists.count[r], lists.radius[r] = count, radius
        ties[i] = least * tie_factor if radius <= least * tie_factor < np.inf else -1.0


@compiled
def tied(tree, space, r, limit):
    """Return the slots and distances of all clusters within ``limit`` of r, and the smallest distance beyond.

    Cost: the boxes that reach inside, and those on the way to the next beyond.
    """
    points, slots, place, boxes, rules = tree
    m, leaves, point = len(slots), 1 << rules.depth, points[place[r]]
    count, beyond = 0, np.inf
    found, distances = np.empty(64, np.int64), np.empty(64)
    stack, height = np.empty(rules.depth + 2, np.int64), 1
    stack[0] = 1
    while height:
        height -= 1
        node = stack[height]
        bound = box_bound(boxes, rules, point, node)
        if bound > limit and bound >= beyond:
            continue
        if node < leaves:
            nearer = box_bound(boxes, rules, point, 2 * node + 1) < box_bound(boxes, rules, point, 2 * node)
            stack[height], stack[height + 1] = 2 * node + 1 - nearer, 2 * node + nearer
            height += 2
            continue
        for i in range(((node - leaves) * m) >> rules.depth, ((node - leaves + 1) * m) >> rules.depth):
            q = np.int64(slots[i])
            if q < 0 or q == r:
                continue
            distance = pair_distance(space, r, q)
            if distance > limit:
                beyond = min(beyond, distance)
                continue
            if count == len(found):
                found = np.concatenate((found, np.empty_like(found)))
                distances = np.concatenate((distances, np.empty_like(distances)))
            found[count], distances[count] = q, distance
            count += 1
    return found[:count], distances[:count], beyond


@compiled
def reached(tree, space, radius, some):
    """Return the pairs (new cluster, cluster) whose distance is inside the radius of the second.

    Subtrees whose largest radius is not above the lower bound are left out. Clusters that are being searched have
    radius -1: no one is inside it.
    """
    points, slots, place, boxes, rules = tree
    pairs, count = np.empty((16 + 16 * len(some), 2), np.int64), 0
    m, leaves, column = len(slots), 1 << rules.depth, boxes.shape[1] - 1
    stack = np.empty(rules.depth + 2, np.int64)
    for c in some:
        point = points[place[c]]
        stack[0], height = 1, 1
        while height:
            height -= 1
            node = stack[height]
            if box_bound(boxes, rules, point, node) >= boxes[node, column]:
                continue
            if node < leaves:
                stack[height], stack[height + 1] = 2 * node, 2 * node + 1
                height += 2
                continue
            for i in range(((node - leaves) * m) >> rules.depth, ((node - leaves + 1) * m) >> rules.depth):
                q = np.int64(slots[i])
                if q < 0 or point_bound(points, rules, point, i) >= radius[q]:
                    continue
                if pair_distance(space, c, q) < radius[q]:
                    if count == len(pairs):
                        pairs = np.concatenate((pairs, np.empty_like(pairs)))
                    pairs[count, 0], pairs[count, 1] = c, q
                    count += 1
    return pairs[:count]


@bare
def push_pairs(space, lists, nodes, pairs, first, stop, entered):
    """Enter new clusters into the lists they reach, of slots from ``first`` to ``stop``; tell which were entered."""
    for k in range(len(pairs)):
        c, r = pairs[k]
        if first <= r < stop:
            entered[k] = enter(lists, r, nodes.node_of[c], pair_distance(space, c, r))
