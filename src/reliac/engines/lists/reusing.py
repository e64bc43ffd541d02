"""Lists that outlive their run: kept as they were made, and of use to a run on more or fewer rows.

A list that was made at some level says: of all clusters of that level, those that are not in the list are at least the
radius away. A cluster of another run is *true* if it was made by the very joins that made a cluster of the earlier run.
So for a true cluster the list still tells all about clusters that are put together, join by join, of whole clusters of
that level: those whose parts are all beyond the radius are beyond it too, since a join comes no nearer than its parts.
Only the others, the *changed* ones, are searched. With a few rows more or less most clusters of the first levels are
unchanged, and the first levels are where searches cost most.

A join comes no nearer than its parts, for these reasons. By average a distance is a mean of those of the parts,
whatever they are. By Ward a pair that is joined at a distance up to the radius r stays beyond r if both parts are. A
pair that is joined at a larger distance h was nearer to each other than to any cluster beside it: all of those are at
least h away, then and later. That is so as long as pairs are joined: what three or more make at once, unless they are
equal, is changed for good. Where a join may come nearer (centroid, median, ties by tolerance) only true clusters of
the same level are unchanged.

A kept radius holds on paper: the rounding of the run that found it is taken off, and the run that uses it takes off its
own. Clusters go by slots, which in the engine that does this are objects.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import EarlierLists, Found
from ..compiled.loading import bare
from ..compiled.sets import top
from ..compiled.spaces import pair_distance
from .entries import LIST_LENGTH, N_LINKS, Lists, Nodes, Work, enter, living

#: A search is kept, and helped by earlier ones, if it compares at least one in so many of all pairs of objects: others
#: cost no more than finding out which clusters are unchanged.
SMALLEST_SHARE = 1000

#: Lists that ties have made longer than this are not kept.
MOST_ENTRIES = 2 * LIST_LENGTH

#: Levels after that of a search whose lists are read too: a cluster may be made earlier than in the earlier run.
AHEAD = 3

#: Levels for which lists usually prove something.
NEAR = 3

#: Lists of levels before, or after, a search that are worth a search among changed clusters of their own.
FEWEST_LISTS = 16


def is_worth(n_slots: int, n_clusters: int, n: int) -> bool:
    """Tell whether a search is large enough to be kept, or to be helped."""
    return n_slots * n_clusters * SMALLEST_SHARE >= n * n


@bare
def copy_entries(lists, nodes, slots, entries):
    """Copy the entries of some lists, list after list, by slots."""
    at = 0
    for i in range(len(slots)):
        first = lists.start[slots[i]]
        for e in range(first, first + lists.count[slots[i]]):
            entries[at] = nodes.slot_of[lists.nodes[e]]
            at += 1


class Record:
    """The lists that a run has made, level by level."""

    def __init__(self) -> None:
        self.pieces: list[Found] = []

    def add(
        self, level: int, lists: Lists, nodes: Nodes, slots: NDArray[np.int64], radius: NDArray[np.float64]
    ) -> None:
        """Keep the lists of some clusters; ``radius``: theirs, on paper.

        A single entry at distance 0 may be the first of many that were left out: such a list is not kept.
        """
        count, nearest = lists.count[slots], lists.distances[lists.start[slots]]
        kept = (count <= MOST_ENTRIES) & ((count > 1) | ((count == 1) & (nearest > 0.0))) & (radius > 0.0)
        entries = np.empty(int(count[kept].sum()), np.int32)
        copy_entries(lists, nodes, slots[kept], entries)
        self.pieces.append(
            {
                "levels": np.full(np.count_nonzero(kept), level, np.int32),
                "clusters": slots[kept].astype(np.int32),
                "counts": count[kept],
                "radius": radius[kept],
                "entries": entries,
            }
        )

    def whole(self) -> Found:
        """Return all lists as arrays; no arrays if none were kept."""
        names = self.pieces[0] if self.pieces else {}
        return {name: np.concatenate([piece[name] for piece in self.pieces]) for name in names}


#: What became of clusters since the run began. For every slot: ``node``, the node of the earlier tree that it truly is,
#: or -1; it is put together of whole clusters of the earlier levels from ``since`` on and before ``until``; ``made``,
#: the level at which it was made; ``into``, the slot that it was joined into, or itself. For every node of the earlier
#: tree ``parent``, ``birth`` and ``death``: the levels from which on, and before which, it was a cluster.
Traces = namedtuple("Traces", "node since until made into parent birth death")

#: The lists of an earlier run: where the entries of each begin, how many, and all entries, by objects.
Kept = namedtuple("Kept", "starts counts entries")


@bare
def trace(traces, p, q, level, distance, composed, pairs_only):
    """Follow links: which clusters are still true, or at least put together of whole ones.

    ``composed``: whether clusters that are put together count at all; ``pairs_only``: only if pairs were joined, or
    equal clusters. O(links).
    """
    node, since, until, made, into = traces.node, traces.since, traces.until, traces.made, traces.into
    for k in range(len(p)):
        a, b = top(into, p[k]), top(into, q[k])
        if a == b:
            continue
        head, other = min(a, b), max(a, b)
        several = made[a] == level[k] or made[b] == level[k]
        into[other], made[head] = head, level[k]
        up = np.int64(-1)
        if node[a] >= 0 and node[b] >= 0 and traces.parent[node[a]] == traces.parent[node[b]]:
            up = traces.parent[node[a]]
        if composed and not (pairs_only and several and distance[k] > 0.0):
            since[head], until[head] = max(since[a], since[b]), min(until[a], until[b])
        else:
            up = -1 if composed else up
            since[head] = until[head] = 0 if up < 0 else traces.birth[up]
        if up >= 0:
            until[head] = traces.death[up]
        node[head] = up


class Known(NamedTuple):
    """What earlier lists tell about clusters of now."""

    slots: NDArray[np.int64]  # true clusters that have a list
    places: NDArray[np.int64]  # which list each has
    radius: NDArray[np.float64]  # unchanged clusters that are not in it are at least so far, on paper
    changed: NDArray[np.bool_]  # for every slot whether its cluster is changed, for any of these lists


def no_lists(n: int) -> EarlierLists:
    """Return lists without entries of n rows, and a tree without links: to load what works on them."""
    rows, none = np.arange(n), np.zeros(n, np.int64)
    found = {"levels": none, "clusters": rows, "counts": none, "radius": np.ones(n), "entries": none[:0]}
    return EarlierLists(found, n, rows, rows, np.full(n, -1), none, none + 1)


class Helper:
    """The lists of an earlier run, read level by level as the run goes on, and what became of its clusters."""

    def __init__(self, earlier: EarlierLists, composed: bool, pairs_only: bool) -> None:
        found, n = earlier.found, len(earlier.nodes)
        order = np.argsort(found["levels"], kind="stable")
        starts = np.cumsum(found["counts"]) - found["counts"]
        self.levels, self.clusters, self.radius = (found[name][order] for name in ("levels", "clusters", "radius"))
        self.kept = Kept(starts[order], found["counts"][order].astype(np.int64), found["entries"].astype(np.int64))
        self.earlier, self.rules = earlier, (composed, pairs_only)
        node = earlier.nodes.copy()
        until = np.where(node >= 0, earlier.death[node], 0)
        slots = np.arange(n)
        self.traces = Traces(
            node, np.zeros(n, np.int64), until, np.full(n, -1), slots, earlier.parent, earlier.birth, earlier.death
        )
        self.followed = 0  # links
        self.node_then = node.copy()  # the node that begins with a row, at the level that was read last
        self.latest = np.full(len(earlier.parent) + 1, -1)  # of every node the last list that was read; -1 has none
        self.before = np.empty(len(self.levels), np.int64)  # of every list the one before it of the same node
        self.lists_read = self.joins_read = 0

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Take clusters for changed ones that were joined before the run could be followed."""
        self.traces.node[slots] = -1
        self.traces.until[slots] = 0

    def catch_up(self, level: int, work: Work) -> None:
        """Follow the run up to a level, and read the lists of the earlier one a little further."""
        links = slice(self.followed, int(work.counters[N_LINKS]))
        self.followed = links.stop
        taken = work.taken
        trace(self.traces, taken.p[links], taken.q[links], work.level[links], taken.distance[links], *self.rules)
        self._read(level + AHEAD)

    def lists_of(self, slots: NDArray[np.int64], level: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each cluster the place of a list, and of another one for those where it proves nothing; -1: none.

        The first is the latest up to the level, unless that is old and there is one after it: for later levels more
        clusters are changed.
        """
        place, later = self.latest[self.traces.node[slots]], np.full(len(slots), -1)
        while True:
            back = (place >= 0) & (self.levels[place] > level)
            if not back.any():
                break
            later, place = np.where(back, place, later), np.where(back, self.before[place], place)
        nearer = (later >= 0) & ((place < 0) | (level - self.levels[place] > NEAR))
        return np.where(nearer, later, place), np.where(nearer, -1, later)

    def known(self, level: int, slots: NDArray[np.int64], place: NDArray[np.int64]) -> Iterator[Known]:
        """Tell what lists at some places know about clusters of a level.

        Lists of this level, of earlier and of later ones go apart: fewer clusters are changed for the earlier ones.
        """
        slots, place = slots[place >= 0], place[place >= 0]
        away = self.levels[place] - level
        for side in (np.flatnonzero(away == 0), np.flatnonzero(away < 0), np.flatnonzero(away > 0)):
            if len(side) < FEWEST_LISTS:
                continue
            levels, since, until = self.levels[place[side]], self.traces.since, self.traces.until
            changed = (since > levels.min()) | (until <= levels.max())
            yield Known(slots[side], place[side], self.radius[place[side]], changed)

    def _read(self, level: int) -> None:
        """Read the lists of levels up to one."""
        earlier, birth = self.earlier, self.earlier.birth
        stop = int(np.searchsorted(self.levels, level, side="right"))
        while self.lists_read < stop:
            one = self.levels[self.lists_read]
            joined = int(np.searchsorted(birth, one, side="right"))
            some = slice(max(self.joins_read, earlier.n_rows), joined)
            there = earlier.first[some] >= 0
            self.node_then[earlier.first[some][there]] = np.arange(some.start, max(some.start, some.stop))[there]
            lists = slice(self.lists_read, int(np.searchsorted(self.levels, one, side="right")))
            nodes = self.node_then[self.clusters[lists]]
            self.before[lists], self.latest[nodes] = self.latest[nodes], np.arange(lists.start, lists.stop)
            self.joins_read, self.lists_read = joined, lists.stop


@bare
def enter_known(space, lists, nodes, kept, slots, known, changed, tie_factor, failed):
    """Enter what earlier lists know into new ones, which know the rest; note those that prove nothing in ``failed``.

    ``known``: places of the earlier lists, and their radii, lowered by rounding. Entries that were joined are followed;
    what is changed is in the new list already. Cost: one exact distance an entry.
    """
    places, radius = known
    for i in range(len(slots)):
        r = slots[i]
        first, begin = lists.start[r], kept.starts[places[i]]
        lists.radius[r] = min(lists.radius[r], radius[i])
        while lists.count[r] and lists.distances[first + lists.count[r] - 1] >= lists.radius[r]:
            lists.count[r] -= 1
        for e in range(begin, begin + kept.counts[places[i]]):
            node = np.int64(living(nodes, kept.entries[e]))
            q = np.int64(nodes.slot_of[node])
            if changed[q] or q == r:
                continue
            again = False
            if node != kept.entries[e]:  # several entries may have been joined
                for other in range(first, first + lists.count[r]):
                    again = again or lists.nodes[other] == node
            if not again:
                enter(lists, r, np.int32(node), pair_distance(space, r, q))
        proven = lists.count[r] > 0 and lists.distances[first] * tie_factor < lists.radius[r]
        failed[i] = not proven
