"""Lists for a run on other rows, and of one: what the engine keeps of its searches, and how earlier ones help them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import EarlierLists, Found
from ...algorithm.criteria import Radius
from ...input.problem import Problem
from ..lists.engine import ListEngine
from ..lists.entries import LEVEL, N_GROUPS
from ..lists.levels import ROUNDING
from ..lists.reusing import Helper, Known, Record, enter_known
from .packing import Among

#: Rows of a block with few columns, at most, and of a block where few are searched, at least.
MOST_ROWS, FEWEST_ROWS = 1024, 16


class HelpedEngine(ListEngine):
    """Keeps lists as they are made, and fills lists by what an earlier run knows.

    A subclass brings the packed means of clusters and the search of one block.
    """

    helps_others = True  # whether lists can be kept for a run on other rows: slots are objects
    kinds: tuple[Any, ...]
    unit: float
    columns: NDArray[np.int64]
    means: NDArray[Any]
    weights: NDArray[np.float64]

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        self.record: Record | None = None  # where lists are kept for a run on other rows
        self.helper: Helper | None = None  # lists of such a run

    def _search_block(
        self, slots: NDArray[np.int64], among: Among, push: bool, within: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[Any], Any]:
        """Fill the lists of some clusters; ``within``: only with what is nearer than that, as far as there is room."""
        raise NotImplementedError

    def keep_lists(self) -> None:
        """Keep the lists that searches make from now on."""
        self.record = Record() if self.helps_others else None

    def _gather(self) -> None:
        """Make the lists of new clusters; keep those that prove something: what is not searched is not kept there."""
        super()._gather()
        if self.record is not None:
            lists, work = self.lists, self.work
            new = work.parts[work.bounds[: work.counters[N_GROUPS]]]
            self._keep(new[lists.best[new] * self.problem.tie_factor < lists.radius[new]])

    def _keep(self, slots: NDArray[np.int64]) -> None:
        """Keep the lists of some clusters."""
        assert self.record is not None
        radius = self.lowered(np.maximum(self.lists.radius[slots], 0.0), slots)
        self.record.add(int(self.work.counters[LEVEL]), self.lists, self.nodes, slots, radius)

    def kept_lists(self) -> Found:
        """Return the lists kept."""
        return self.record.whole() if self.record else {}

    def use_lists(self, earlier: EarlierLists) -> None:
        """Let lists of another run help searches."""
        can_help = self.helps_others and len(earlier.found.get("levels", ())) and np.float32 in self.kinds
        if can_help:
            self.helper = Helper(earlier, *self._what_stays())
            self.helper.forget(np.flatnonzero(self.nodes.node_of != np.arange(self.problem.n_objects)))

    def _what_stays(self) -> tuple[bool, bool]:
        """Tell whether clusters put together of others come no nearer than those, and whether only as pairs."""
        rule = self.problem.criterion.radius
        by_mean, by_pairs = rule is Radius.MEAN, rule is Radius.WARD and self.problem.tie_factor == 1.0
        return by_mean or by_pairs, not by_mean

    def lowered(self, radius: NDArray[np.float64], slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return radii of clusters less what the rounding of this run may have added to distances.

        A mean of up to n rows is off by at most n roundings of its largest, and a distance is a squared length.
        """
        space, n = self.space, self.problem.n_objects
        error = 8.0 * n * float(np.finfo(np.float64).eps) * self.unit * np.sqrt(space.scale)
        length = np.sqrt(radius) * (1.0 - ROUNDING) - error * (np.sqrt(space.weight[slots]) if space.by_size else 1.0)
        return np.asarray(np.maximum(length, 0.0) ** 2)

    def _search_with_help(self, slots: NDArray[np.int64], helper: Helper) -> NDArray[np.int64]:
        """Fill lists by what an earlier run knows, and a search among changed clusters; return who is left."""
        left, level = np.ones(self.problem.n_objects, bool), int(self.work.counters[LEVEL])
        helper.catch_up(level, self.work)
        for places in helper.lists_of(slots, level):
            for known in helper.known(level, slots, np.where(left[slots], places, -1)):
                left[known.slots[~self._search_changed(known, helper)]] = False
        return slots[left[slots]]

    def _search_changed(self, known: Known, helper: Helper) -> NDArray[np.bool_]:
        """Fill the lists of clusters that have earlier ones; tell which of them still prove nothing."""
        new = np.flatnonzero(known.changed[self.columns] & (self.nodes.node_of[self.columns] >= 0))
        among = Among(self.means, self.columns[new], self.means[new], self.weights[new])
        radius, failed = self.lowered(known.radius, known.slots), np.ones(len(known.slots), bool)

        def fill(some: slice) -> None:
            slots, told = known.slots[some], (known.places[some], radius[some])
            self._search_block(slots, among, push=False, within=radius[some])
            enter_known(
                self.space, self.lists, self.nodes, helper.kept, slots, told,
                known.changed, self.problem.tie_factor, failed[some],
            )  # fmt: skip

        pieces = [slice(*ends) for ends in pairwise(self._shares(len(failed), MOST_ROWS))]
        self.in_threads(fill, pieces, lambda some, _: self.done_with(known.slots[some][~failed[some]]))
        return failed

    def _shares(self, n_rows: int, most: int) -> list[int]:
        """Return where blocks of rows begin and end: equal ones, and as many for each thread, unless they are few."""
        blocks = self.threads * -(-n_rows // (self.threads * most))
        blocks = max(1, min(blocks, n_rows // FEWEST_ROWS))
        return [n_rows * k // blocks for k in range(blocks + 1)]
