"""Minimum spanning trees of points in few dimensions: Boruvka's rounds through a k-d tree.

The tree is perfect: the points are halved at the median of the widest side until at most WIDTH are left in a leaf, node
m has children 2m and 2m + 1, leaves come last. Queries run leaf by leaf: all points of a leaf share one walk through
the tree, and a leaf's coordinates lie so that one instruction compares a point with all points of a leaf.

First the nearest neighbours of all points are listed and joined as far as that proves anything. Then, round after
round, every component but the largest searches the lightest edges that leave it: a walk skips subtrees inside the own
component and what lies beyond the lightest edge found so far. About O(n log n) for points without heavy ties.

Pruning needs no slack: gaps between boxes are summed in the same order as distances, and rounding is monotone.
"""

from __future__ import annotations

from collections import namedtuple
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import TooManyTies
from ..compiled.loading import bare, bare_inlined, bare_inside, compiled
from ..compiled.sorting import insert, select
from .findings import Findings
from .forest import Edges, Forest

#: Points in a leaf.
WIDTH = 8

#: Neighbours listed for each point before the rounds begin.
LISTED = 6

#: Pieces of work in one round; the same for any number of threads, so that a run can go on with another number.
PIECES = 64

#: The shares of the time that are gone when the tree is built, and when all neighbours are listed.
AFTER_TREE, AFTER_LISTS = 0.2, 0.5

#: No component has these numbers: a walk that skips no component, and points of several components.
NO_COMPONENT, SEVERAL = -2, -3

#: ``blocks`` (leaves, d, WIDTH): coordinates, infinite where a leaf has none. ``low``, ``high`` (2 leaves, d): boxes.
#: ``object_at`` (leaves * WIDTH,): which point lies at a place, -1 for none.
Tree = namedtuple("Tree", "blocks low high object_at")

#: For each place the component, a lower bound of the distance to all outside it, and who is that near (-1: unknown).
#: ``best`` (at places that lead components): the lightest edge that is known to leave. ``kin`` of a node: the component
#: of all its points, -1 if they differ.
Round = namedtuple("Round", "component bound nearest best kin")

#: Room for one walk: nodes to visit and how far they are; where the walk is; what one point and a leaf are compared by.
Room = namedtuple("Room", "stack gaps walk square wanted bound")


def make_room() -> Room:
    """Return room for the walks of one thread."""
    stack, walk, wanted = np.empty(128, np.int64), np.empty(2, np.int64), np.empty(WIDTH, np.int64)
    return Room(stack, np.empty(128), walk, np.empty(WIDTH), wanted, np.empty(WIDTH))


@bare
def build(points, order, low, high, node, levels):
    """Order the points below a node, ``levels`` levels deep, and find the boxes. O(n d) a level."""
    n, leaves, d = len(points), len(low) // 2, points.shape[1]
    depth = 0
    while node >> (depth + 1):
        depth += 1
    for below in range(levels):
        span = leaves >> (depth + below)  # leaves under a node
        for m in range(node << below, (node + 1) << below):
            leaf = m * span - leaves
            first, last = leaf * n // leaves, (leaf + span) * n // leaves
            axis = 0
            for k in range(d):
                low[m, k], high[m, k] = np.inf, -np.inf
            for x in range(first, last):
                for k in range(d):
                    low[m, k], high[m, k] = min(low[m, k], points[x, k]), max(high[m, k], points[x, k])
            for k in range(d):
                if high[m, k] - low[m, k] > high[m, axis] - low[m, axis]:
                    axis = k
            if span > 1:
                select(points, order, first, last, (leaf + span // 2) * n // leaves, axis)


@bare
def fill_blocks(points, order, blocks, object_at):
    """Copy ordered points into the leaves."""
    n, leaves = len(points), len(blocks)
    for leaf in range(leaves):
        first, last = leaf * n // leaves, (leaf + 1) * n // leaves
        for x in range(first, last):
            object_at[leaf * WIDTH + x - first] = order[x]
            for k in range(points.shape[1]):
                blocks[leaf, k, x - first] = points[x, k]


@bare_inlined
def gap(tree, a, b):
    """Squared distance of the boxes of two nodes, summed as distances are."""
    total = 0.0
    for k in range(tree.low.shape[1]):
        t = max(tree.low[a, k] - tree.high[b, k], tree.low[b, k] - tree.high[a, k])
        if t > 0:
            total += t * t
    return total


@bare_inside
def next_leaf(tree, kin, own, component, room, limit):
    """Return the next leaf of a walk within ``limit`` that is not all in ``component``; -1 at the end.

    The walk starts at leaf node ``own``; it climbs and looks at what lies on the other side, near things first.
    ``room.walk``: the node climbed to, and the size of the stack.
    """
    leaves, walk, stack, gaps = len(tree.blocks), room.walk, room.stack, room.gaps
    while True:
        while walk[1]:
            walk[1] -= 1
            node, distance = stack[walk[1]], gaps[walk[1]]
            if distance > limit or kin[node] == component:
                continue
            if node >= leaves:
                return node - leaves
            near, far = 2 * node, 2 * node + 1
            gap_near, gap_far = gap(tree, own, near), gap(tree, own, far)
            if gap_far < gap_near:
                near, far, gap_near, gap_far = far, near, gap_far, gap_near
            size = walk[1]
            stack[size], gaps[size], stack[size + 1], gaps[size + 1] = far, gap_far, near, gap_near
            walk[1] += 2
        if walk[0] <= 1:
            return -1
        stack[0], walk[1] = walk[0] ^ 1, 1
        gaps[0] = gap(tree, own, walk[0] ^ 1)
        walk[0] >>= 1


@bare_inlined
def squares(tree, leaf, other, slot, limit, out):
    """Squared distances of one point to all of a leaf, summed in order of the axes; returns how many are in limit."""
    for s in range(WIDTH):
        out[s] = 0.0
    for k in range(tree.blocks.shape[1]):
        x = tree.blocks[other, k, slot]
        for s in range(WIDTH):
            t = tree.blocks[leaf, k, s] - x
            out[s] += t * t
    hits = 0
    for s in range(WIDTH):
        hits += out[s] <= limit
    return hits


@bare
def list_neighbours(tree, kin, first, last, places, values, room):
    """Find the nearest neighbours of all points in leaves ``first`` to ``last``; (n places, LISTED), sorted."""
    walk, square, leaves, end = room.walk, room.square, len(tree.blocks), values.shape[1] - 1
    for own in range(first, last):
        walk[0], walk[1] = leaves + own, 0
        leaf = own
        while leaf >= 0:
            limit = 0.0
            for slot in range(WIDTH):
                x = own * WIDTH + slot
                if tree.object_at[x] < 0:
                    break
                bound = values[x, end]
                hits = squares(tree, leaf, own, slot, bound, square)
                for s in range(WIDTH if hits else 0):
                    if square[s] <= bound and leaf * WIDTH + s != x:
                        value = square[s]
                        if value < values[x, end]:
                            insert(values[x], places[x], 0, end, value, leaf * WIDTH + s)
                limit = max(limit, values[x, end])
            leaf = next_leaf(tree, kin, leaves + own, NO_COMPONENT, room, limit)


@bare
def begin_round(tree, now, places, values, largest):
    """Bring kin, and what is known of each point, up to date with the components. O(n)."""
    component, leaves = now.component, len(tree.blocks)
    now.best[:] = np.inf
    for leaf in range(leaves):
        now.kin[leaves + leaf] = component[leaf * WIDTH]
        for x in range(leaf * WIDTH, (leaf + 1) * WIDTH):
            if tree.object_at[x] >= 0 and component[x] != component[leaf * WIDTH]:
                now.kin[leaves + leaf] = -1
    for node in range(leaves - 1, 0, -1):
        now.kin[node] = now.kin[2 * node] if now.kin[2 * node] == now.kin[2 * node + 1] else -1
    for x in range(len(component)):
        c, y = component[x], now.nearest[x]
        if c < 0 or c == largest:
            continue
        if y < 0 or component[y] == c:
            y = -1
            for e in range(values.shape[1]):
                if values[x, e] < np.inf and component[places[x, e]] != c:
                    y = places[x, e]
                    now.bound[x] = values[x, e]
                    break
            now.nearest[x] = y
            if y < 0:
                now.bound[x] = max(now.bound[x], values[x, -1])
        if y >= 0:
            now.best[c] = min(now.best[c], now.bound[x])
            now.best[component[y]] = min(now.best[component[y]], now.bound[x])


@bare
def search_outside(tree, now, largest, first, last, room):
    """Find for the points of some leaves who is nearest outside the component, where that can still matter.

    Leaf by leaf, in four steps:

    1. Who has to search: points outside the largest component that do not know who is nearest outside their own, and
       whose bound allows an edge as light as the lightest that is known to leave the component.
    2. One walk for all of them, from their own leaf outwards. Subtrees beyond the farthest bound are skipped, and,
       if all who search are in one component, subtrees that are inside it.
    3. At every leaf each of them compares itself with all points there and keeps the nearest outside.
    4. What was found lowers ``best`` of the component; where nothing was found the bound is proven to be too low.

    Other threads lower ``best`` at the same time. It is never below the lightest edge, so a point at the end of a
    lightest edge always searches.
    """
    walk, square, wanted, bound, leaves = room.walk, room.square, room.wanted, room.bound, len(tree.blocks)
    for own in range(first, last):
        count, common = 0, NO_COMPONENT
        for x in range(own * WIDTH, (own + 1) * WIDTH):
            c = now.component[x]
            if c >= 0 and c != largest and now.nearest[x] < 0 and now.bound[x] <= now.best[c]:
                wanted[count], bound[count] = x, now.best[c]
                common = c if count == 0 or common == c else SEVERAL
                count += 1
        if count == 0:
            continue
        walk[0], walk[1] = leaves + own, 0
        leaf = own
        while leaf >= 0:
            limit = 0.0
            for w in range(count):
                x = wanted[w]
                most = bound[w]
                hits = squares(tree, leaf, own, x - own * WIDTH, most, square)
                for s in range(WIDTH if hits else 0):
                    y = leaf * WIDTH + s
                    if square[s] <= most and now.component[y] != now.component[x] and now.component[y] >= 0:
                        value = square[s]
                        if value < bound[w] or (value == bound[w] and now.nearest[x] < 0):
                            bound[w], now.nearest[x] = value, y
                limit = max(limit, bound[w])
            leaf = next_leaf(tree, now.kin, leaves + own, common, room, limit)
        for w in range(count):
            x = wanted[w]
            c = now.component[x]
            now.bound[x] = bound[w] if now.nearest[x] >= 0 else np.nextafter(bound[w], np.inf)
            if now.nearest[x] >= 0 and bound[w] < now.best[c]:
                now.best[c] = bound[w]


@bare
def lightest_of(now, largest):
    """Set ``best`` to the lightest edge that leaves each component that searched, infinite for others. O(n)."""
    for x in range(len(now.best)):
        now.best[x] = np.inf
    for x in range(len(now.best)):
        c = now.component[x]
        if c >= 0 and c != largest and now.nearest[x] >= 0:
            now.best[c] = min(now.best[c], now.bound[x])


@bare_inside
def ties_of_point(tree, now, places, values, x, found, room):
    """Find all points outside the component of x at the distance of the nearest. Returns their number.

    From the list where it reaches farther, else by a short walk.
    """
    c, best, count = now.component[x], now.bound[x], 0
    if best < values[x, -1]:
        for e in range(values.shape[1]):
            if values[x, e] == best and now.component[places[x, e]] != c:
                found[count] = places[x, e]
                count += 1
        return count
    walk, square, leaves, own, limit = room.walk, room.square, len(tree.blocks), x // WIDTH, best
    walk[0], walk[1] = leaves + own, 0
    leaf = own
    while leaf >= 0:
        hits = squares(tree, leaf, own, x - own * WIDTH, limit, square)
        for s in range(WIDTH if hits else 0):
            y = leaf * WIDTH + s
            if now.component[y] == c or now.component[y] < 0:
                continue
            if square[s] == best:
                if count < len(found):
                    found[count] = y
                count += 1
        leaf = next_leaf(tree, now.kin, leaves + own, c, room, limit)
    return count


@compiled
def lightest_edges(tree, now, places, values, largest, first, edges, room):
    """List all edges as light as the lightest that leaves a component, each once.

    Goes on from point ``first`` while there is room in ``edges`` (E, 2); returns the number of edges and where it
    stopped. Cost: one list or one short walk for each point at the end of such an edge.
    """
    count, found = 0, np.empty(256, np.int64)
    for x in range(first, len(now.best)):
        c = now.component[x]
        if c < 0 or c == largest or now.nearest[x] < 0 or now.bound[x] > now.best[c]:
            continue
        ties = ties_of_point(tree, now, places, values, x, found, room)
        if ties > len(found):
            found = np.empty(2 * ties, np.int64)
            ties = ties_of_point(tree, now, places, values, x, found, room)
        if count + ties > len(edges):
            return count, x
        for y in found[:ties]:
            if x < y or now.best[now.component[y]] != now.best[c]:  # else y has it on its own list
                edges[count, 0], edges[count, 1] = x, y
                count += 1
    return count, len(now.best)


def make_tree(points: NDArray[Any], pool: Executor) -> Tree:
    """Build the tree; the four subtrees below the top in threads. O(n d log n)."""
    n, d = points.shape
    levels = max(2, int(np.ceil(np.log2(n / WIDTH))))
    leaves = 2**levels
    points, order = np.array(points, np.float64, order="C"), np.arange(n)
    low, high = np.empty((2 * leaves, d)), np.empty((2 * leaves, d))
    build(points, order, low, high, 1, 2)
    list(pool.map(lambda node: build(points, order, low, high, node, levels - 1), range(4, 8)))
    blocks, object_at = np.full((leaves, d, WIDTH), np.inf), np.full(leaves * WIDTH, -1)
    fill_blocks(points, order, blocks, object_at)
    return Tree(blocks, low, high, object_at)


def edges_of_points(points: NDArray[Any], pool: Executor, findings: Findings | None = None) -> Edges:
    """Return all edges of all minimum spanning trees of distinct points."""
    findings = Findings() if findings is None else findings
    tree = make_tree(points, pool)
    leaves, size = len(tree.blocks), len(tree.object_at)
    bounds = np.linspace(0, leaves, PIECES + 1).astype(int)
    pieces = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    places = findings.room("places", (size, LISTED), np.int32, -1)
    values = findings.room("values", (size, LISTED), np.float64, np.inf)
    kin = np.full(2 * leaves, -1)

    def list_piece(piece: tuple[int, int]) -> None:
        own = slice(piece[0] * WIDTH, piece[1] * WIDTH)
        places[own], values[own] = -1, np.inf  # a checkpoint may hold a piece that another thread was in the midst of
        list_neighbours(tree, kin, *piece, places, values, make_room())

    findings.in_blocks("lists", pool, list_piece, pieces, (AFTER_TREE, AFTER_LISTS))
    forest = Forest(tree.object_at)
    forest.go_on_from(findings.arrays)
    now = Round(
        component=forest.component,
        bound=np.zeros(size),
        nearest=np.full(size, -1),
        best=np.full(size, np.inf),
        kin=kin,
    )
    n = forest.n_components
    while forest.n_components > 1:
        largest = forest.largest
        begin_round(tree, now, places, values, largest)
        list(pool.map(lambda piece: search_outside(tree, now, largest, *piece, make_room()), pieces))  # noqa: B023
        lightest_of(now, largest)
        i, j = all_lightest(tree, now, places, values, largest, forest.most)
        reach = np.where(now.best < np.inf, np.nextafter(now.best, np.inf), 0.0)
        forest.join(i, j, now.best[now.component[i]], reach)
        findings.arrays |= forest.found_so_far()
        findings.tell(1.0 - (1.0 - AFTER_LISTS) * float(np.log(forest.n_components) / np.log(n)))
    return forest.edges()


def all_lightest(
    tree: Tree, now: Round, places: NDArray[Any], values: NDArray[Any], largest: int, most: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Collect :func:`lightest_edges`, piece by piece, since their number is not known before."""
    first, total, found = 0, 0, [np.empty((0, 2), np.int32)]
    while first < len(now.best):
        edges = np.empty((max(2**16, len(now.best) - first, 2 * total), 2), np.int32)
        count, first = lightest_edges(tree, now, places, values, largest, first, edges, make_room())
        found.append(edges[:count])
        total += count
        if total > most:
            raise TooManyTies(f"more than {most} tied edges leave components")
    pairs = np.concatenate(found)
    return pairs[:, 0], pairs[:, 1]
