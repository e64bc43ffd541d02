"""The Python side of the candidate lists: memory, threads, and the to and fro of levels and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch, Found, Pace, TooManyTies
from ...algorithm.links import Groups, Links, groups_of
from ...input.objects import Distances
from ...input.problem import Problem
from ...machine import deal_out, free_memory, n_threads
from ..compiled.loading import FEW, Watch, load
from ..compiled.products import one_blas_thread
from ..compiled.rules import make_rules
from .entries import (
    LEVEL,
    LIST_LENGTH,
    LOOKED_AT,
    N_ALIVE,
    N_FOUND,
    N_GROUPS,
    N_LINKS,
    N_NODES,
    N_PUSHED,
    N_SEARCHED,
    N_TOUCHED,
    NO_ROOM,
    NOT_YET,
    REFRESHED,
    Lists,
    Nodes,
    Scratch,
    catch_up,
    mark_of_level,
    new_work,
)
from .keeping import pack_lists, unpack_lists
from .levels import DONE, GATHER, LINKS, PAUSE, PUSH, REFRESH, REMEASURE, SEARCH, advance, do_share

#: Entries that a search finds for each list; a little more than a list keeps when it is cut.
SEARCH_LENGTH = LIST_LENGTH + 4

#: Compiled code returns to Python after it has looked at about so many clusters: for progress and Ctrl-C.
CLUSTERS_BEFORE_PAUSE = 100_000

#: Entries of a list, on average, up to which lists are quicker under ties than a matrix that is given.
FEW_TIES = 60

#: The share of the first search after which lists tell what is to be expected of the levels.
ENOUGH_TO_GUESS = 0.05

#: Touched clusters that are worth a thread more.
WORTH_WAKING = 1024

#: Fewer objects than this are done sooner by one thread than threads are started.
WORTH_THREADS = 2000


class ListEngine:
    """Levels by certified lists. A subclass brings a space (what measures and joins) and a search."""

    name = "lists"
    space: Any
    keeps_lists = False  # whether its searches say which lists are done, so that lists can be kept in a file
    usual_pace = Pace(1.0, after=1.0)  # what the levels take beside the first search, measured

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        self.problem = problem
        n = problem.n_objects
        self.threads = n_threads(n_jobs) if n >= WORTH_THREADS else 1
        length = n * SEARCH_LENGTH
        self.lists = Lists(
            nodes=np.zeros(length, np.int32),
            distances=np.zeros(length, np.float64),
            start=np.arange(n, dtype=np.int64) * SEARCH_LENGTH,
            count=np.zeros(n, np.int32),
            room=np.full(n, SEARCH_LENGTH, np.int32),
            radius=np.zeros(n),
            best=np.full(n, np.inf),
        )
        self.end_of_lists = length
        self.most_entries = 400 * n + 2**24
        given = isinstance(problem.objects, Distances)
        if (problem.alpha == 0.0 or given) and (8 if given else 24) * n**2 < free_memory():
            self.most_entries = FEW_TIES * n  # under ties a whole matrix costs less
        self.nodes = Nodes(
            parent=np.full(2 * n, -1, np.int32),
            slot_of=np.r_[np.arange(n, dtype=np.int32), np.zeros(n, np.int32)],
            node_of=np.arange(n, dtype=np.int32),
            following=np.full((n, 4), -1, np.int32),
            mark=np.zeros(n, np.int64),
            object_of=np.arange(n),
        )
        self.work = new_work(n, n if 0.0 < problem.alpha < 1.0 else 0)
        self.work.counters[N_ALIVE] = self.work.counters[N_NODES] = n
        self.work.counters[N_FOUND] = NOT_YET
        self.leader = np.arange(n, dtype=np.int64)
        self.scratch = [Scratch(np.zeros(n, np.int64), np.zeros(1, np.int64)) for _ in range(self.threads)]
        self.told = 0  # links that were handed on
        self.searches = 0  # rows searched
        self.tell: Callable[[Pace], None] = lambda pace: None
        self.earlier: Found = {}  # what an earlier run has found
        self.unsure = np.zeros(n, bool)  # whose lists a search is at work on
        self.pushing = np.empty(0, np.int64)  # new clusters that are being entered into the lists of others
        self.settled = True  # whether all new clusters have lists, but for those to be pushed
        self.first_search_done = self.guessed = False

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether it should be taken: always, unless an engine says otherwise."""
        return True

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""
        return int(self.work.counters[N_ALIVE])

    @property
    def alive(self) -> NDArray[np.intp]:
        """The slots of the clusters, sorted."""
        return np.flatnonzero(self.nodes.node_of >= 0)

    def join(self, groups: Groups) -> None:
        """Join groups before the first search: how a new engine catches up with levels made earlier."""
        for parts in np.split(groups.parts, groups.starts[1:]):
            catch_up(self.space, self.nodes, self.work, parts)

    def search(self, slots: NDArray[np.int64], push: bool) -> None:
        """Fill the lists of some clusters; with ``push``, also enter them into the lists that they belong to."""
        raise NotImplementedError

    def search_all(self, slots: NDArray[np.int64]) -> None:
        """Fill the lists of all clusters that have none: how the levels begin."""
        if len(slots):
            self.search(slots, push=False)

    def _load(self) -> None:
        """Load the compiled code with a few objects, so that a run is not held up by it later."""
        few = self.problem.made_up(FEW)
        load(self.name, self.problem.objects.number_type, lambda: type(self)(few, 1).run_all())

    def run_all(self) -> None:
        """Run all levels, and what a few objects may not come to."""
        self.join(groups_of(Links(np.array([0]), np.array([1]), np.zeros(1)), self.problem.n_objects))
        for _ in self.levels(0):
            pass
        self.in_shares(REFRESH)
        few = type(self)(self.problem, 1)
        few.search_what_is_rare(few.alive)

    def search_what_is_rare(self, slots: NDArray[np.int64]) -> None:
        """Search in all ways that only some inputs need: all that a new engine can, after it was made."""

    def levels(self, level: int) -> Iterator[Batch]:
        """Develop all levels; compiled code and what it asks for take turns (the table in ``levels.py``)."""
        alive, stop = self.alive, self.problem.stop
        if len(alive) <= stop.n_clusters or level >= stop.max_level:
            return
        self._load()
        self.work.counters[LEVEL] = level
        self.rules = make_rules(self.problem, float(self.space.weight[alive].min()))
        answers: dict[int, Callable[[], None]] = {
            SEARCH: self._search_unproven,
            PUSH: self._search_new,
            REFRESH: self._refresh,
            LINKS: self._find_links,
        }
        with Watch(self.name), one_blas_thread(), ThreadPoolExecutor(self.threads) as self.pool:
            self._begin(alive)
            self.touch(alive)
            status = PAUSE
            while status != DONE:
                space, lists, nodes, work = self.space, self.lists, self.nodes, self.work
                self.settled = False
                status = advance(
                    space, lists, nodes, work, self.rules, self.leader, self.scratch[0], CLUSTERS_BEFORE_PAUSE
                )
                if status == GATHER:  # first of all: without lists new clusters cannot be kept
                    self._gather()
                self.settled = True
                yield from self._new_links()
                if status in answers:
                    answers[status]()
                self.tell(self.pace())

    def _begin(self, alive: NDArray[np.int64]) -> None:
        """Take over the lists of an earlier run, and search those that it had not come to."""
        self.tell(self.usual_pace._replace(searched=0.0))
        known, pushed = self.take_over() if self.earlier else (np.empty(0, np.int64), np.empty(0, np.int64))
        if len(known):
            self.remeasure()
        if not len(pushed):  # else those come first, and then the levels ask for the lists that are missing
            self.search_all(np.setdiff1d(alive, known, assume_unique=True) if len(known) else alive)
        self.first_search_done = True
        self.tell(self.pace())

    def _new_links(self) -> Iterator[Batch]:
        """Hand on the links that were established since the last time."""
        new = slice(self.told, int(self.work.counters[N_LINKS]))
        self.told = new.stop
        if new.stop > new.start:
            taken, object_of = self.work.taken, self.nodes.object_of
            links = Links(object_of[taken.p[new]], object_of[taken.q[new]], taken.distance[new])
            yield Batch(self.work.level[new], links, None)

    # --- progress, and what another process can go on with ---

    def pace(self) -> Pace:
        """Tell how far the first search is, and what is to be expected of the levels."""
        left = 0 if self.first_search_done else np.count_nonzero(self.unsure)
        return self.usual_pace._replace(searched=1.0 - left / max(1, self.n_clusters))

    def done_with(self, slots: NDArray[np.int64]) -> None:
        """Note that a search has made some lists; the run may now tell its progress, and keep what was found."""
        self.unsure[slots] = False
        if not self.guessed and not self.first_search_done and self.pace().searched > ENOUGH_TO_GUESS:
            self.guessed, self.usual_pace = True, self.guess_pace(slots)
        self.tell(self.pace())

    def guess_pace(self, slots: NDArray[np.int64]) -> Pace:
        """Return what is to be expected of the levels, after some first lists were seen."""
        return self.usual_pace

    def found(self, n_clusters: int) -> Found | None:
        """Return the lists, if the engine keeps any; None while new clusters are without lists."""
        if not self.keeps_lists:
            return {}
        if not self.settled or n_clusters != self.n_clusters:
            return None
        waiting = self.work.pushed[: self.work.counters[N_PUSHED]]
        return pack_lists(self.lists, self.nodes, self.unsure, np.r_[self.pushing, waiting])

    def go_on_from(self, found: Found) -> None:
        """Take over lists; they are filled in when the levels begin."""
        self.earlier = found

    def take_over(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Fill in the lists of an earlier run; return the slots that have lists now, and those to be pushed."""
        known, pushed = unpack_lists(self, self.earlier)
        self.earlier = {}
        self.work.pushed[: len(pushed)], self.work.counters[N_PUSHED] = pushed, len(pushed)
        self.lists.radius[pushed] = -1.0
        return known, pushed

    # --- what compiled code asks for ---

    def _search_unproven(self) -> None:
        """Search the clusters whose lists prove nothing any more."""
        self.search(self.work.searched[: self.work.counters[N_SEARCHED]].copy(), push=False)

    def _search_new(self) -> None:
        """Search new clusters, and enter them into the lists that they belong to."""
        slots = self.work.pushed[: self.work.counters[N_PUSHED]].copy()
        self.work.counters[N_PUSHED] = 0
        self.pushing = slots
        self.search(slots, push=True)
        self.pushing = slots[:0]

    def _refresh(self) -> None:
        """Refresh the lists of touched clusters."""
        self.in_shares(REFRESH, int(self.work.counters[LOOKED_AT]))
        self.work.counters[REFRESHED] = 1

    def in_shares(self, step: int, start: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Do a step, each thread its share of touched clusters from ``start`` on, or of new clusters and all slots.

        Returns where the shares begin and end, those of the slots too, and how many each found.
        """
        work = self.work
        stop = int(work.counters[N_GROUPS if step == GATHER else N_TOUCHED])
        # a share for a thread that is woken up for less takes longer than it saves
        shares = self.threads if step == GATHER else min(self.threads, max(1, (stop - start) // WORTH_WAKING))
        parts = np.arange(shares + 1)
        cuts, slots = start + (stop - start) * parts // shares, len(self.leader) * parts // shares

        def share(k: int) -> int:
            ends = cuts[k], cuts[k + 1], slots[k], slots[k + 1]
            return int(do_share(step, self.space, self.lists, self.nodes, work, self.rules, self.scratch[k], *ends))

        return cuts, slots, self.in_threads(share, range(shares))

    def _find_links(self) -> None:
        """Find the reliable links of touched clusters."""
        work, found = self.work, NO_ROOM
        cuts, _, counts = self.in_shares(LINKS)
        if (counts <= np.diff(cuts)).all():
            found = max(_close_ranks(array, cuts, counts) for array in work.found)
        work.counters[N_FOUND] = found

    def _gather(self) -> None:
        """Make the lists of new clusters, and touch all whose nearest neighbour may have changed."""
        _, slots, counts = self.in_shares(GATHER)
        self.work.counters[N_TOUCHED] = _close_ranks(self.work.touched, slots, counts)
        self.work.counters[REFRESHED] = self.work.counters[N_PUSHED] == 0

    def touch(self, slots: NDArray[np.int64]) -> None:
        """Touch clusters whose lists have changed, each given once."""
        counters, mark, stamp = self.work.counters, self.nodes.mark, mark_of_level(self.work)
        new = slots[mark[slots] != stamp]
        mark[new] = stamp
        self.work.touched[counters[N_TOUCHED] : counters[N_TOUCHED] + len(new)] = new
        counters[N_TOUCHED] += len(new)

    def remeasure(self) -> None:
        """Measure all lists anew, after their space has changed its arithmetic; all are to be looked at again."""
        self.touch(self.alive)
        self.in_shares(REMEASURE)
        self.work.counters[LOOKED_AT] = 0

    def give_room(self, slot: int, length: int) -> None:
        """Move a list to the end of the buffer if it needs more room; the buffer grows by half when full."""
        if length <= self.lists.room[slot]:
            return
        if self.end_of_lists + length > len(self.lists.nodes):
            size = max(len(self.lists.nodes) * 3 // 2, self.end_of_lists + length)
            if size > self.most_entries:
                raise TooManyTies(f"ties fill {size} list entries")
            nodes, distances = np.zeros(size, np.int32), np.zeros(size)
            nodes[: len(self.lists.nodes)] = self.lists.nodes
            distances[: len(self.lists.nodes)] = self.lists.distances
            self.lists = self.lists._replace(nodes=nodes, distances=distances)
        self.lists.start[slot], self.lists.room[slot] = self.end_of_lists, length
        self.end_of_lists += length

    def set_list(self, r: int, slots: NDArray[np.int64], distances: NDArray[np.float64], radius: float) -> None:
        """Replace a list.

        If very many are at distance 0, the first is enough where a level takes all links, or one: they are each other's
        nearest, and joining them pair by pair in order means joining each to the first. Not so of given distances, and
        of those a function makes: there what is at distance 0 of the same need not be at distance 0 of each other.
        """
        equal_rows = distances[-1] == 0 and self.problem.objects.equal_at_zero(self.problem.metric)
        if equal_rows and len(slots) > SEARCH_LENGTH and self.problem.alpha in (0.0, 1.0):
            slots, distances = slots[[np.argmin(self.nodes.object_of[slots])]], distances[:1]
        self.give_room(r, len(slots))
        first = self.lists.start[r]
        self.lists.nodes[first : first + len(slots)] = self.nodes.node_of[slots]
        self.lists.distances[first : first + len(slots)] = distances
        self.lists.count[r], self.lists.radius[r] = len(slots), radius

    def in_threads(
        self, function: Callable[[Any], Any], pieces: Sequence[Any], then: Callable[[Any, Any], None] | None = None
    ) -> list[Any]:
        """Call a function on pieces of work, in the pool if there are several.

        ``then`` is called in this thread with every piece and its result, in order, as soon as it is there.
        """
        several = len(pieces) > 1 and self.threads > 1
        if several and then is None:
            return deal_out(self.pool, function, pieces, self.threads)
        coming: Any = self.pool.map(function, pieces) if several else (function(piece) for piece in pieces)
        results = []
        with closing(coming):  # if something goes wrong here, what has not begun is left
            for piece, result in zip(pieces, coming, strict=True):
                results.append(result)
                if then is not None:
                    then(piece, result)
        return results


def _close_ranks(array: NDArray[Any], cuts: NDArray[np.int64], counts: Sequence[int]) -> int:
    """Move what the shares left at their beginnings to the beginning of the first; return how many there are."""
    end = cuts[0]
    for start, count in zip(cuts, counts, strict=False):
        array[end : end + count] = array[start : start + count]
        end += count
    return int(end - cuts[0])


def nearest_of_row(distances: NDArray[np.float64], tie_factor: float) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Return a certified list of one full row: the nearest, at least all that tie with the nearest, and a radius."""
    finite = int(np.isfinite(distances).sum())
    if finite <= SEARCH_LENGTH:
        place = np.argsort(distances, kind="stable")[:finite]
        return place, distances[place], np.inf
    limit = np.partition(distances, SEARCH_LENGTH)[SEARCH_LENGTH]
    tied = distances.min() * tie_factor
    if tied >= limit:
        beyond = distances[distances > tied]
        limit = float(beyond.min()) if len(beyond) else np.inf
    place = np.flatnonzero(distances < limit)
    place = place[np.argsort(distances[place], kind="stable")]
    return place, distances[place], float(limit)
