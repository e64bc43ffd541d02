"""The vectors engine with a GPU: searches there, and thick levels too; the same links, bit for bit.

A run begins on the device: lists and levels are there (``levels.py``), and the host hears of links only. Where levels
become thin, or something rare comes up, lists and clusters are handed over, and the lists on the CPU go on with them;
from then on the device searches for them where that is worth asking. Runs that cannot begin on the device (alpha below
1, weights, median, rows that repeat often, a run that goes on) have their levels on the CPU throughout. Where there is
little to do, the CPU does all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch, Found
from ...algorithm.links import Groups, Links
from ...input.metrics import Squares, squares_of, unit_rows
from ...input.numbers import is_sparse
from ...input.objects import rows_of
from ...input.problem import Problem
from ..compiled.loading import FEW, load
from ..compiled.rules import make_rules
from ..lists.engine import SEARCH_LENGTH
from ..lists.entries import LEVEL, N_ALIVE, N_LINKS, N_NODES
from ..repeats import ROWS_LOOKED_AT, find_twins
from ..vectors.engine import VectorsEngine
from ..vectors.spatial import SpatialEngine
from .columns import Frame, Skipping, bytes_of_rows, make_frame
from .device import no_room, the_device, to_device, to_host, why_not, worth_starting
from .failures import OnDevice
from .levels import RULES, DeviceLevels
from .listing import DeviceLists
from .moments import DeviceMoments, fresh_moments, kind_of_moments, mirror_of, order_by_cells
from .search import Search

#: Squared differences of one search in the midst of a run from which the device is asked; and of one whose clusters are
#: entered into the lists of others, which takes the CPU longer.
WORTH_ASKING, WORTH_ASKING_TO_PUSH = 2e7, 2e6

#: Squared differences of all pairs from which the device is used at all: with fewer, starting its kernels takes about
#: as long as the whole work on the CPU.
WORTH_USING = 1e9

#: Bytes on the device for each object besides its numbers, and for what is searched at a time.
BYTES, BYTES_AT_A_TIME = 700, 2**31


class GpuEngine(VectorsEngine):
    """Ward, centroid, median, and average of squared Euclidean or cosine distances, on a GPU."""

    name = "gpu"
    helps_others = False

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        super().__init__(problem, n_jobs)
        self.device = the_device()
        self.moments: DeviceMoments | None = None
        self.mirrored = 0  # links whose joins the device knows
        self.by_cells: Any = None  # slots on the device, near ones close together
        self.frame: Frame | None = None
        self.skipping, self.handed_over = Skipping(), False
        self.little_to_do = not _worth_using(problem)

    def _make_space(self) -> None:
        """Wait: where the device begins, the host needs no moments."""
        self.space: Any = None

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what the vectors engine cannot do either, why there is no device, or what does not fit on it."""
        reason = VectorsEngine.refuses(problem) or why_not()
        if reason is None and _worth_using(problem):  # else asking for free memory takes longer than the work
            reason = no_room(GpuEngine.device_memory(problem))
        return reason

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether the work is worth starting a device; in few dimensions boxes are better."""
        if VectorsEngine.refuses(problem) or not VectorsEngine.suits(problem) or SpatialEngine.suits(problem):
            return False
        n, d = rows_of(problem.objects).shape
        return worth_starting(n * n * d)

    @staticmethod
    def memory(problem: Problem) -> int:
        """Estimate what the host needs: lists, and the sums of clusters that are handed over."""
        n, d = rows_of(problem.objects).shape
        return int(n * (12 * SEARCH_LENGTH + 450 + 8 * d))

    @staticmethod
    def device_memory(problem: Problem) -> int:
        """Estimate what the device needs: sums in float64, means in float32 and halves, lists, what is searched."""
        n, d = rows_of(problem.objects).shape
        return int(bytes_of_rows(n, d) + n * BYTES + min(BYTES_AT_A_TIME, 64 * n * d))

    def _load(self) -> None:
        """Load the compiled code of the vectors engine, which goes on where the device leaves off."""
        few = self.problem.made_up(FEW)
        load(VectorsEngine.name, self.problem.objects.number_type, lambda: VectorsEngine(few, 1).run_all())

    # --- levels ---

    def join(self, groups: Groups) -> None:
        """Join groups before the first search: on the CPU, which will go on from there."""
        self._need_space()
        super().join(groups)

    def levels(self, level: int) -> Iterator[Batch]:
        """Develop all levels: from the first on on the device, if it can; then by the lists on the CPU."""
        try:
            with OnDevice(VectorsEngine.name):
                if self._can_begin_on_device(level):
                    yield from self._levels_on_device()
                    level = int(self.work.counters[LEVEL])
                if self.n_clusters > 1:
                    self._need_space()
                    yield from super().levels(level)
        finally:  # an engine may be kept alive for a while, by what points back to it: not the device's memory
            self.moments = self.by_cells = self.frame = None

    def _can_begin_on_device(self, level: int) -> bool:
        """Tell whether it is worth it, nothing was joined, each level takes all links, and rows hardly repeat."""
        problem = self.problem
        if level or self.earlier or self.space is not None or problem.alpha < 1.0 or (problem.weights != 1.0).any():
            return False
        if problem.criterion.equal_parts or int(problem.criterion.radius) not in RULES:
            return False
        n = problem.n_objects
        if self.little_to_do or n <= problem.stop.n_clusters or problem.stop.max_level <= 0:
            return False
        rows = rows_of(problem.objects)[np.linspace(0, n - 1, min(n, ROWS_LOOKED_AT)).astype(np.intp)]
        some = rows.toarray() if is_sparse(rows) else rows
        return find_twins(unit_rows(some) if squares_of(problem.metric) is Squares.UNIT else some) is None

    def _levels_on_device(self) -> Iterator[Batch]:
        """Develop levels there, and take the clusters over when it does not go on."""
        self.moments, object_of = fresh_moments(self.problem, self.device, self.threads)
        levels, searched = DeviceLevels(self.moments, object_of, make_rules(self.problem)), 0

        def tell(rows: Any) -> None:
            nonlocal searched
            searched += len(rows)
            self.tell(self.usual_pace._replace(searched=min(1.0, searched / self.problem.n_objects)))

        self.tell(self.usual_pace._replace(searched=0.0))
        for p, q, distance in levels.levels(tell):
            self.work.counters[N_ALIVE] = len(levels.alive)
            links = Links(to_host(object_of[p]), to_host(object_of[q]), to_host(distance))
            yield Batch(np.full(len(links.p), levels.level), links, None)
        self.first_search_done = True
        self.work.counters[LEVEL] = levels.level
        if self.n_clusters > 1:
            self._take_over(levels)

    def _take_over(self, levels: DeviceLevels) -> None:
        """Let the lists on the CPU go on: slots, nodes and lists are the same there."""
        moments, nodes, counters, alive = levels.moments, self.nodes, self.work.counters, to_host(levels.alive)
        sums = np.empty(tuple(moments.sums.shape))
        for at in range(0, len(alive), 2**18):
            sums[alive[at : at + 2**18]] = to_host(moments.sums[levels.alive[at : at + 2**18]])
        self.space = kind_of_moments(self.problem)._replace(
            sums=sums, weight=to_host(moments.weight), row=to_host(moments.row), spread=to_host(moments.spread)
        )
        nodes.object_of[:] = levels.objects
        nodes.node_of[:], nodes.slot_of[:] = to_host(levels.node_of), to_host(levels.slot_of)
        nodes.parent[: levels.n_nodes] = to_host(levels.parents())
        found = levels.entries[levels.alive], levels.distances[levels.alive], levels.radius[levels.alive]
        self._fill(alive, *map(to_host, found))
        self.lists.best[:] = np.inf
        self.lists.best[alive] = self.lists.distances[self.lists.start[alive]]
        counters[N_ALIVE], counters[N_NODES] = len(alive), levels.n_nodes
        self.searches += levels.searched
        self.by_cells, self.frame, self.skipping = levels.alive, levels.frame, levels.skipping
        self.stand_ins, self.handed_over = alive, True
        self._choose_unit()

    def _begin(self, alive: NDArray[np.int64]) -> None:
        """Search all clusters, unless they came with lists."""
        if not self.handed_over:
            super()._begin(alive)

    def found(self, n_clusters: int) -> Found | None:
        """Return the lists on the CPU; while the device makes the levels, links are all that is kept."""
        return {} if self.space is None else super().found(n_clusters)

    # --- searches for the lists on the CPU ---

    def _need_space(self) -> None:
        """Make the moments on the host, where clusters are joined."""
        if self.space is None:
            super()._make_space()

    def search(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill lists by searches on the device, or on the CPU where that is quicker."""
        squares = len(slots) * self.n_clusters * self.space.sums.shape[1]
        if self.little_to_do or squares < (WORTH_ASKING_TO_PUSH if push else WORTH_ASKING):
            super().search(slots, push)
            return
        self.searches += len(slots)
        self.unsure[slots] = True
        search = self._search_as_they_are()
        rows = to_device(slots, self.device)

        def keep(some: Any, lists: DeviceLists) -> None:
            at, places = to_host(some), to_host(lists.slots)
            entries = np.where(places >= 0, self.nodes.node_of[places], -1)
            self._fill(at, entries, to_host(lists.distances), to_host(lists.radius))
            self.done_with(at)

        left = to_host(search.lists(rows, keep))
        if len(left):
            self._pack()
            self._search_one_by_one(left)
        if push:
            own = np.arange(self.problem.n_objects)
            for some in search.few_at_a_time(rows):
                radius = self.lists.radius.copy()
                radius[slots] = -np.inf  # what is searched needs no push
                pairs = search.reached(some, to_device(radius, self.device))
                self.push_into_lists(np.column_stack([to_host(x) for x in pairs]), own, own)

    def _search_as_they_are(self) -> Search:
        """Bring the moments on the device up to date, and return a search among all that may be found."""
        if self.moments is None:
            self.moments = mirror_of(self.space, self.device, self.threads)
        done, self.mirrored = self.mirrored, int(self.work.counters[N_LINKS])
        taken, node_of = self.work.taken, self.nodes.node_of
        changed = np.unique(np.r_[taken.p[done : self.mirrored], taken.q[done : self.mirrored]])
        if len(changed):
            self.moments.put(changed[node_of[changed] >= 0], self.space)
        if self.by_cells is None:
            everyone = to_device(self.alive, self.device)
            means = (self.moments.sums / self.moments.weight[:, None]).float()
            self.by_cells = everyone[order_by_cells(means[everyone])]
            self.frame = make_frame(self.moments, everyone)
        findable = np.zeros(len(node_of), bool)
        findable[self.findable()] = True
        living = self.by_cells[to_device(findable, self.device)[self.by_cells]]
        assert self.frame is not None
        return Search(self.moments, living, self.frame, self.problem.tie_factor, self.skipping)

    def _fill(
        self,
        slots: NDArray[np.int64],
        entries: NDArray[np.int32],
        distances: NDArray[np.float64],
        radius: NDArray[np.float64],
    ) -> None:
        """Write lists (m, SEARCH_LENGTH), nearest first; infinite distances end them."""
        lists = self.lists
        places = lists.start[slots][:, None] + np.arange(SEARCH_LENGTH)
        lists.nodes[places], lists.distances[places] = entries, distances
        lists.count[slots], lists.radius[slots] = (distances < np.inf).sum(axis=1), radius


def _worth_using(problem: Problem) -> bool:
    """Tell whether there is enough to search for a device."""
    n, d = rows_of(problem.objects).shape
    return bool(float(n) * n * d >= WORTH_USING)
