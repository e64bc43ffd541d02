"""Few dimensions: the moments of the vectors engine, searched through a k-d tree that knows the criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from ..tables import is_sparse
from .boxes import Tree, fit_all, new_tree, push_pairs, reached, search_lists, split, tied, update
from .entries import N_LINKS
from .lists import SEARCH_LENGTH
from .vectors import VectorsEngine

#: More dimensions than this, and boxes exclude too little.
MOST_DIMENSIONS = 16

#: Up to so many it is taken without being asked for.
FEW_DIMENSIONS = 7

#: The tree is built anew when no more than this share of its clusters is left.
REBUILD = 0.7

#: Searches in one piece of work for a thread; subtrees of this depth are built in threads.
PIECE, SUBTREE_DEPTH = 2048, 3


class SpatialEngine(VectorsEngine):
    """Ward, centroid, median and average in few dimensions: near-linear time, O(n (d + k)) memory."""

    name = "spatial"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        self.tree: Tree | None = None
        self.synced = 0  # links whose joins the tree knows
        self.searched = np.empty(0, np.int64)  # slots whose radii it does not know yet

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what a tree of boxes cannot do, besides what moments cannot."""
        reason = VectorsEngine.refuses(problem)
        if reason is None and is_sparse(problem.vectors):
            return "it needs a dense table"
        if reason is None and problem.vectors.shape[1] > MOST_DIMENSIONS:
            return f"{problem.vectors.shape[1]} dimensions are more than {MOST_DIMENSIONS}"
        return reason

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether boxes exclude enough: in pure noise they stop doing so at about eight dimensions."""
        return bool(problem.vectors.shape[1] <= FEW_DIMENSIONS)

    @staticmethod
    def memory(problem: Problem) -> int:
        """Estimate sums, lists, and the tree: points twice while it is built, boxes for every sixth of them."""
        n, d = problem.vectors.shape
        return int(n * (8 * (-(-d // 4) * 4) + 12 * SEARCH_LENGTH + 200 + 2 * 8 * (d + 3) + 8 * (2 * d + 3) / 3))

    def search(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill lists through the tree; with ``push``, first find whose lists the new clusters enter."""
        self.searches += len(slots)
        self.lists.radius[slots] = -1.0  # what is searched needs no push
        tree = self._synced_tree(slots)
        slots = slots[np.argsort(tree.place[slots])]  # neighbours after one another: their boxes stay in cache
        pieces = [slots[start : start + PIECE] for start in range(0, len(slots), PIECE)]
        space, lists = self.space, self.lists
        pairs = self.in_threads(lambda some: reached(tree, space, lists.radius, some), pieces) if push else []
        ties = np.concatenate(self.in_threads(self._search_piece, pieces))
        for some in pairs:
            push_pairs(space, self.lists, self.nodes, self.work, some)
        self._search_ties(slots[ties >= 0], ties[ties >= 0])
        self.searched = slots

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

    # --- the tree ---

    def _synced_tree(self, slots: NDArray[np.int64]) -> Tree:
        """Return the tree with all joins and radii up to now; a new one when too many clusters are gone."""
        space, nodes, radius = self.space, self.nodes, self.lists.radius
        if self.tree is None:
            alive = self.alive
            self.tree = self._built(self._rows(alive), alive.astype(np.int32))
            self.synced = int(self.work.counters[N_LINKS])
            if len(alive) == self.problem.n_objects:
                self._number_slots_as_in_tree()
            return self.tree
        done, self.synced = self.synced, int(self.work.counters[N_LINKS])
        work = self.work
        changed = np.concatenate((work.p[done : self.synced], work.q[done : self.synced], self.searched, slots))
        rebuild = self.n_clusters <= REBUILD * len(self.tree.slots)
        update(self.tree, space, nodes.node_of, radius, changed, not rebuild)
        if rebuild:
            left = self.tree.slots >= 0
            self.tree = self._built(self.tree.points[left], self.tree.slots[left])
        return self.tree

    def _built(self, points: NDArray[np.float64], slots: NDArray[np.int32]) -> Tree:
        """Build a tree: the top in one thread, the subtrees in all."""
        tree = new_tree(self.space, points, slots, self.problem.n_objects)
        depth = tree.rules.depth
        top = min(SUBTREE_DEPTH, depth)
        split(tree, 1, 0, top)
        if top < depth:
            self.in_threads(lambda node: split(tree, node, top, depth), range(1 << top, 2 << top))
        fit_all(tree, self.lists.radius)
        return tree

    def _number_slots_as_in_tree(self) -> None:
        """Give neighbours slots close together: what a level reads then lies close together in memory."""
        tree, space = self.tree, self.space
        assert tree is not None
        order = tree.slots.astype(np.int64)
        self.nodes.object_of[:] = order
        spread = space.spread[order] if space.with_spread else space.spread
        self.space = space._replace(sums=space.sums[order], weight=space.weight[order], spread=spread)
        tree.slots[:] = tree.place[:] = np.arange(len(order))

    def _rows(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return mean, weight and spread per pair of clusters."""
        space, d = self.space, self.problem.vectors.shape[1]
        weight = space.weight[slots]
        rows = np.zeros((len(slots), d + 2))
        np.divide(space.sums[slots, :d], weight[:, None], out=rows[:, :d])
        rows[:, d] = weight
        if space.with_spread:
            rows[:, d + 1] = space.spread[slots] / weight**2
        return rows
