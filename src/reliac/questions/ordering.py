"""Which leaves stand beside each other: orders of the leaves in which neighbours are near each other.

Every cluster may turn its two parts round, so a tree of n objects has 2^(n-1) orders. The optimal one has the smallest
sum of distances between neighbours (Bar-Joseph, Gifford and Jaakkola 2001; the order of evaluation that makes it n^3 is
from Bar-Joseph and others, Technical Report 2001). The quick one keeps a few arrangements of every cluster only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import known_name
from ..input.condensed import place_of, to_square
from ..input.metrics import MetricLike, Squares, dense, squares_of, unit_rows
from ..input.objects import Objects, Vectors
from ..machine import check_jobs, check_memory, in_threads, n_threads
from ..tree.clustertree import ClusterTree
from ..tree.walks import roots_in_order
from .given import measure, objects_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Up to so many objects the order is optimal, unless another one is asked for.
MOST = 5000

#: What the optimal order of n objects takes at once, divided by n^2: distances in two forms, and blocks of them.
BYTES_TO_ORDER = 32

#: Up to so many objects NumPy is done before compiled code is loaded.
NOT_WORTH_LOADING = 400

#: Sums that are worth a second thread, and rows of them that a thread takes at a time.
WORTH_TWO_THREADS, ROWS = 2e7, 64

#: Arrangements that are kept of every cluster in the quick order.
ARRANGEMENTS = 8

#: Links between two looks for Ctrl-C.
AT_ONCE = 10_000


def order_leaves(tree: ClusterTree, X: Any, metric: Any, how: str, n_jobs: int | None) -> Indices:
    """Order the leaves; see :meth:`reliac.ClusterTree.order_leaves`."""
    known_name("order", how, ["auto", "optimal", "quick"])
    check_jobs(n_jobs)
    objects, metric = objects_of(tree, X, metric, "order_leaves({})")
    if how == "auto":
        how = "optimal" if tree.n_objects <= MOST else "quick"
    if how == "optimal":
        return _optimal(tree, objects, metric, n_threads(n_jobs))
    return _quick(tree, objects, metric)


# --- optimal ---


class _Nodes:
    """The nodes of a tree as runs of places in its leaf order: where each begins, its halves, and where it ends."""

    def __init__(self, tree: ClusterTree) -> None:
        n, links = tree.n_objects, tree.links
        self.order = tree.leaf_order
        place = np.empty(n, dtype=np.intp)
        place[self.order] = np.arange(n)
        first, size = place.tolist(), [1] * n + links["size"].tolist()
        for left in links["left"].tolist():
            first.append(first[left])
        self.n, self.first, self.stop = n, first, [a + b for a, b in zip(first, size, strict=True)]
        self.half = [*first[:n], *(self.stop[left] for left in links["left"].tolist())]
        self.left, self.right = ([-1] * n + links[side].tolist() for side in ("left", "right"))

    def run(self, node: int) -> slice:
        """Return the places of a node's objects."""
        return slice(self.first[node], self.stop[node])

    def halves(self, node: int) -> list[tuple[slice, slice]]:
        """Return both parts of a cluster, each with the other one."""
        first, half, stop = self.first[node], self.half[node], self.stop[node]
        return [(slice(first, half), slice(half, stop)), (slice(half, stop), slice(first, half))]

    def opposite(self, node: int, place: int) -> slice:
        """Return where the arrangement of a node can end that begins at a place: in its other part."""
        if node < self.n:
            return slice(place, place + 1)
        return next(other for own, other in self.halves(node) if own.start <= place < own.stop)


def _optimal(tree: ClusterTree, objects: Objects, metric: MetricLike, threads: int) -> Indices:
    """Find the shortest arrangement for every two ends of every cluster, from below; then go down from the best.

    ``path[i, j]``: distance of two objects until the cluster in which they meet is made; from then on the length of the
    shortest arrangement of that cluster that begins with one of them and ends with the other. O(n^3) time at most.
    """
    n = tree.n_objects
    step = "ask for how='quick', which needs no distances of all pairs"
    check_memory(BYTES_TO_ORDER * n**2, f"The optimal order of {n} objects", step)
    distances = objects.condensed_distances(metric)
    nodes = _Nodes(tree)
    path = to_square(distances, n)[np.ix_(nodes.order, nodes.order)]
    product = _plain_product if n <= NOT_WORTH_LOADING else _compiled_product(threads)
    for node in range(n, n + len(tree.links)):
        left, right = nodes.left[node], nodes.right[node]
        l_run, r_run = nodes.run(left), nodes.run(right)
        meeting = np.ascontiguousarray(path[l_run, r_run])
        if left >= n:
            before, meeting = meeting, np.empty_like(meeting)
            for own, other in nodes.halves(left):
                inner = slice(other.start - l_run.start, other.stop - l_run.start)
                meeting[own.start - l_run.start : own.stop - l_run.start] = product(path[own, other], before[inner])
        if right >= n:
            before, meeting = meeting, np.empty_like(meeting)
            for own, other in nodes.halves(right):
                inner = slice(other.start - r_run.start, other.stop - r_run.start)
                meeting[:, own.start - r_run.start : own.stop - r_run.start] = product(
                    before[:, inner], path[other, own]
                )
        path[l_run, r_run] = meeting
        path[r_run, l_run] = meeting.T
    return _go_down(tree, nodes, path, distances)


def _plain_product(a: Floats, b: Floats) -> Floats:
    """Return the smallest a[i, m] + b[m, k] over all m."""
    out = np.full((len(a), b.shape[1]), np.inf)
    for m in range(len(b)):
        np.minimum(out, a[:, m, None] + b[m], out=out)
    return out


def _compiled_product(threads: int) -> Callable[[Floats, Floats], Floats]:
    """Return the same in compiled code, in threads."""
    from ..engines.compiled.loading import load
    from ..engines.compiled.ordering import made_up_work, min_plus

    load("ordering", "", made_up_work)

    def product(a: Floats, b: Floats) -> Floats:
        a, b, out = np.ascontiguousarray(a), np.ascontiguousarray(b), np.full((len(a), b.shape[1]), np.inf)
        worth = a.size * b.shape[1] > WORTH_TWO_THREADS
        starts = range(0, len(a), ROWS)
        in_threads(lambda at: min_plus(a[at : at + ROWS], b, out[at : at + ROWS]), starts, threads if worth else 1)
        return out

    return product


def _go_down(tree: ClusterTree, nodes: _Nodes, path: Floats, distances: Floats) -> Indices:
    """Take the best two ends of every tree, and find those of its clusters that they follow from."""
    n, order = tree.n_objects, nodes.order
    made: list[int] = []
    for root in roots_in_order(tree).tolist():
        ends = (nodes.first[root], nodes.first[root])
        if root >= n:
            own, other = nodes.halves(root)[0]
            block = path[own, other]
            row, column = np.unravel_index(int(block.argmin()), block.shape)
            ends = (own.start + int(row), other.start + int(column))
        stack = [(root, *ends)]
        while stack:
            node, first, last = stack.pop()
            if node < n:
                made.append(int(order[first]))
                continue
            sides = [nodes.left[node], nodes.right[node]]
            sides = sides if first < nodes.half[node] else sides[::-1]  # the part that holds the first end
            m, k = nodes.opposite(sides[0], first), nodes.opposite(sides[1], last)
            i, j = order[m][:, None], order[k]
            gap = distances[place_of(n, np.minimum(i, j), np.maximum(i, j))]
            total = path[first, m][:, None] + gap + path[k, last]
            row, column = np.unravel_index(int(total.argmin()), total.shape)
            stack += [(sides[1], k.start + int(column), last), (sides[0], first, m.start + int(row))]
    return np.array(made, dtype=np.intp)


# --- quick ---


def _quick(tree: ClusterTree, objects: Objects, metric: MetricLike) -> Indices:
    """Keep a few short arrangements of every cluster, with different ends. O(n) distances for trees of any depth."""
    from ..engines.compiled.loading import load, only_read
    from ..engines.compiled.ordering import arrange, arrange_all, made_up_work

    load("ordering", "", made_up_work)
    n, count = tree.n_objects, len(tree.links)
    left, right = (np.ascontiguousarray(tree.links[side]) for side in ("left", "right"))
    ends = np.zeros((n + count, ARRANGEMENTS, 2), np.int64)
    ends[:n, 0] = np.arange(n)[:, None]
    cost, chosen = np.zeros((n + count, ARRANGEMENTS)), np.zeros((n + count, ARRANGEMENTS), np.int64)
    counts, gaps = np.ones(n + count, np.int64), np.zeros((2 * ARRANGEMENTS, 2 * ARRANGEMENTS))
    form = squares_of(metric)
    if form and isinstance(objects, Vectors) and not objects.sparse:
        rows = unit_rows(objects.rows) if form is Squares.UNIT else dense(objects.rows)
        for start in range(0, count, AT_ONCE):
            stop = min(start + AT_ONCE, count)
            arrange_all(only_read(rows), int(form), left, right, ends, cost, chosen, counts, gaps, start, stop)
    else:
        gap = measure(objects, metric)
        for link, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            block = gap(ends[a, : counts[a]].ravel(), ends[b, : counts[b]].ravel())
            gaps[: len(block), : block.shape[1]] = block
            arrange(ends, cost, chosen, counts, n + link, a, b, gaps)
    return _turned(tree, chosen)


def _turned(tree: ClusterTree, chosen: NDArray[np.int64]) -> Indices:
    """Follow the shortest arrangement of every tree down to its objects."""
    n, left, right = tree.n_objects, tree.links["left"].tolist(), tree.links["right"].tolist()
    made: list[int] = []
    for root in roots_in_order(tree).tolist():
        stack = [(root, 0, False)]  # a node, which of its arrangements, and whether that is turned round
        while stack:
            node, which, turned = stack.pop()
            if node < n:
                made.append(node)
                continue
            pair, turns = divmod(int(chosen[node, which]), 4)
            a, b = divmod(pair, chosen.shape[1])
            # The left part ends where it meets: at its end s, so it is turned round if that is its first one.
            parts = [(left[node - n], a, turns < 2), (right[node - n], b, turns % 2 == 1)]
            if turned:
                parts = [(part, kind, not flipped) for part, kind, flipped in reversed(parts)]
            stack += reversed(parts)
    return np.array(made, dtype=np.intp)
