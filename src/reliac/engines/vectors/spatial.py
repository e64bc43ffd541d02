"""Few dimensions: the moments of the vectors engine, searched through a k-d tree that knows the criterion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Pace
from ...input.numbers import is_sparse
from ...input.objects import rows_of
from ...input.problem import Problem
from ..lists.engine import SEARCH_LENGTH
from ..lists.entries import N_LINKS
from .boxes import Tree, fit_all, new_tree, push_pairs, reached, refit, search_lists, split, tied, update
from .engine import VectorsEngine

#: More dimensions than this, and boxes exclude too little.
MOST_DIMENSIONS = 16

#: Up to so many it is taken without being asked for.
FEW_DIMENSIONS = 7

#: The tree is built anew when no more than this share of its clusters is left.
REBUILD = 0.7

#: Lists or points changed in a loop that are worth a second thread.
WORTH_TWO_THREADS = 2000

#: Searches in one piece of work for a thread, at least and at most; subtrees of this depth are built in threads.
SMALL_PIECE, PIECE, SUBTREE_DEPTH = 256, 2048, 3

#: The share of the first search that building the tree takes.
SHARE_OF_BUILDING = 0.2


class SpatialEngine(VectorsEngine):
    """Ward, centroid, median and average in few dimensions: near-linear time, O(n (d + k)) memory."""

    name = "spatial"
    helps_others = False
    usual_pace = Pace(1.0, after=1.3, rising=2.2)

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        self.tree: Tree | None = None
        self.synced = 0  # links whose joins the tree knows
        self.searched = np.empty(0, np.int64)  # slots whose radii it does not know yet

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what a tree of boxes cannot do, besides what moments cannot."""
        reason = VectorsEngine.refuses(problem)
        if reason is not None:
            return reason
        rows = rows_of(problem.objects)
        if is_sparse(rows):
            return "it needs a dense table"
        d = rows.shape[1]
        return f"{d} dimensions are more than {MOST_DIMENSIONS}" if d > MOST_DIMENSIONS else None

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether boxes exclude enough: in pure noise they stop doing so at about eight dimensions."""
        return bool(rows_of(problem.objects).shape[1] <= FEW_DIMENSIONS)

    @staticmethod
    def memory(problem: Problem) -> int:
        """Estimate sums, lists, and the tree: points twice while it is built, boxes for every sixth of them."""
        n, d = rows_of(problem.objects).shape
        return int(n * (8 * (-(-d // 4) * 4) + 12 * SEARCH_LENGTH + 350 + 2 * 8 * (d + 3) + 8 * (2 * d + 3) / 3))

    def search_what_is_rare(self, slots: NDArray[np.int64]) -> None:
        """Search new clusters, enter them into all lists, and find what is tied with them."""
        self.search(slots, push=False)
        self.lists.radius[:] = np.inf
        self.search(slots[:2], push=True)
        self._search_ties(slots[:2], np.full(2, np.inf))

    def search(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill lists through the tree; with ``push``, first find whose lists the new clusters enter."""
        self.searches += len(slots)
        self.unsure[slots] = True
        self.lists.radius[slots] = -1.0  # what is searched needs no push
        tree = self._synced_tree(slots)
        # neighbours after one another: their boxes stay in cache; and often they are so already, which "stable" sees
        slots = slots[np.argsort(tree.place[slots], kind="stable")]
        size = max(SMALL_PIECE, min(PIECE, len(slots) // (2 * self.threads)))
        pieces = [slots[start : start + size] for start in range(0, len(slots), size)]
        space, lists = self.space, self.lists
        pairs = self.in_threads(lambda some: reached(tree, space, lists.radius, some), pieces) if push else []
        ties = np.concatenate(
            self.in_threads(self._search_piece, pieces, lambda some, ties: self.done_with(some[ties < 0]))
        )
        if push:
            self._push(np.concatenate(pairs))
        self._search_ties(slots[ties >= 0], ties[ties >= 0])
        self.searched = slots

    def _push(self, pairs: NDArray[np.int64]) -> None:
        """Enter new clusters into the lists that they reach; every thread has lists of its own."""
        entered, shares = np.zeros(len(pairs), bool), self._shares_of(len(pairs))
        cuts = np.linspace(0, len(self.leader), shares + 1).astype(np.int64)
        self.in_threads(
            lambda k: push_pairs(self.space, self.lists, self.nodes, pairs, cuts[k], cuts[k + 1], entered),
            range(shares),
        )
        self.touch(np.unique(pairs[entered, 1]))

    def _shares_of(self, count: int) -> int:
        """Return how many threads a loop over small things is worth."""
        return self.threads if count > WORTH_TWO_THREADS else 1

    def _search_piece(self, some: NDArray[np.int64]) -> NDArray[np.float64]:
        ties = np.empty(len(some))
        factor = self.problem.tie_factor
        search_lists(self.tree, self.space, self.lists, self.nodes.node_of, some, SEARCH_LENGTH, factor, ties)
        return ties

    def _search_ties(self, slots: NDArray[np.int64], limits: NDArray[np.float64]) -> None:
        """Make lists that hold a whole tie, too long for the usual room."""

        def collect(place: int) -> tuple[NDArray[Any], NDArray[Any], float]:
            found, distances, radius = tied(self.tree, self.space, slots[place], limits[place])
            order = np.lexsort((found, distances))
            return found[order], distances[order], radius

        for start in range(0, len(slots), 256):
            some = range(start, min(start + 256, len(slots)))
            for place, (found, distances, radius) in zip(some, self.in_threads(collect, some), strict=True):
                self.set_list(int(slots[place]), found, distances, radius)
            self.done_with(slots[some.start : some.stop])

    def guess_pace(self, slots: NDArray[np.int64]) -> Pace:
        """Expect what is usual: searches cost little here."""
        return self.usual_pace

    def pace(self) -> Pace:
        """Tell how far the first search is: the tree is built when it tells first."""
        pace = super().pace()
        return pace._replace(searched=SHARE_OF_BUILDING + (1.0 - SHARE_OF_BUILDING) * pace.searched)

    def take_over(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Fill in lists; slots are numbered before, and the tree does not know these radii yet."""
        if self.n_clusters == self.problem.n_objects and self._repeated_rows() is None:
            self._synced_tree(np.empty(0, np.int64))
        known, pushed = super().take_over()
        self.searched = known
        return known, pushed

    # --- the tree ---

    def _synced_tree(self, slots: NDArray[np.int64]) -> Tree:
        """Return the tree with all joins and radii up to now; a new one when too many clusters are gone."""
        space, nodes, radius = self.space, self.nodes, self.lists.radius
        if self.tree is None:
            found = self.findable()
            self.tree = self._built(self._rows(found), found.astype(np.int32))
            self.synced = int(self.work.counters[N_LINKS])
            if len(found) == self.problem.n_objects:
                self._number_slots_as_in_tree()
            return self.tree
        done, self.synced = self.synced, int(self.work.counters[N_LINKS])
        taken = self.work.taken
        changed = np.concatenate((taken.p[done : self.synced], taken.q[done : self.synced], self.searched, slots))
        tree = self.tree
        pieces = np.array_split(changed, self._shares_of(len(changed)))
        self.in_threads(lambda some: update(tree, space, nodes.node_of, some), pieces)
        if self.n_clusters <= REBUILD * len(tree.slots):
            left = tree.slots >= 0
            self.tree = self._built(tree.points[left], tree.slots[left])
        else:
            refit(tree, radius, changed)
        return self.tree

    def _built(self, points: NDArray[np.float64], slots: NDArray[np.int32]) -> Tree:
        return built_tree(self.space, points, slots, self.lists.radius, self.in_threads)

    def _number_slots_as_in_tree(self) -> None:
        """Give neighbours slots close together: what a level reads then lies close together in memory."""
        tree, space = self.tree, self.space
        assert tree is not None
        order = tree.slots.astype(np.int64)
        self.nodes.object_of[:] = order
        spread = space.spread[order] if space.with_spread else space.spread
        kept = {"sums": space.sums[order], "weight": space.weight[order], "row": space.row[order]}
        self.space = space._replace(**kept, spread=spread)
        tree.slots[:] = tree.place[:] = np.arange(len(order))

    def _rows(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return mean, weight and spread per pair of clusters."""
        space, d = self.space, rows_of(self.problem.objects).shape[1]
        weight = space.weight[slots]
        rows = np.zeros((len(slots), d + 2))
        np.divide(space.sums[slots, :d], weight[:, None], out=rows[:, :d])
        rows[:, d] = weight
        if space.with_spread:
            rows[:, d + 1] = space.spread[slots] / weight**2
        return rows


def built_tree(
    space: Any,
    points: NDArray[np.float64],
    slots: NDArray[np.int32],
    radius: NDArray[np.float64],
    in_threads: Callable[[Callable[[int], None], Sequence[int]], Any],
) -> Tree:
    """Build a tree: the top depth by depth, the subtrees below it each in one thread."""
    tree = new_tree(space, points, slots, len(radius))
    depth = tree.rules.depth
    top = min(SUBTREE_DEPTH, depth)

    def build(node: int) -> None:
        at = node.bit_length() - 1
        split(tree, node, at, at + 1 if at < top else depth)
        if at == top:
            fit_all(tree, radius, node, depth)

    for at in range(top + 1):
        in_threads(build, range(1 << at, 2 << at))
    fit_all(tree, radius, 1, top)
    return tree
