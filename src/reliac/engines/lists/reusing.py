"""Lists that outlive their run: kept as searches made them, and of use to a run on more or fewer rows.

A list that a search made at some level says: of all clusters of that level, those that are not in the list are at least
the radius away. A cluster of another run is *unchanged* if it has the same rows. So of the unchanged clusters the list
still tells all that is near, and only the changed ones have to be searched. With a few rows more or less most clusters
of the first levels are unchanged, and the first levels are where searches cost most.

A kept radius holds on paper: the rounding of the run that found it is taken off, and the run that uses it takes off its
own.
Clusters go by slots, which in the engine that does this are objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import EarlierLists, Found
from ..compiled.loading import bare
from ..compiled.spaces import pair_distance
from .entries import LIST_LENGTH, Lists, Nodes, enter
from .keeping import entries_of, living_nodes

#: A search is kept, and helped by earlier ones, if it compares at least one in so many of all pairs of objects: others
#: cost no more than finding out which clusters are unchanged.
SMALLEST_SHARE = 1000

#: Lists that ties have made longer than this are not kept.
MOST_ENTRIES = 2 * LIST_LENGTH


def is_worth(n_slots: int, n_clusters: int, n: int) -> bool:
    """Tell whether a search is large enough to be kept, or to be helped."""
    return n_slots * n_clusters * SMALLEST_SHARE >= n * n


class Record:
    """The lists that searches of a run have made, level by level."""

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
        counts, entry_nodes = entries_of(lists, slots[kept])
        self.pieces.append(
            {
                "levels": np.full(len(counts), level, np.int32),
                "clusters": slots[kept].astype(np.int32),
                "counts": counts.astype(np.int32),
                "radius": radius[kept],
                "entries": nodes.slot_of[entry_nodes],
            }
        )

    def whole(self) -> Found:
        """Return all lists as arrays; no arrays if none were kept."""
        names = self.pieces[0] if self.pieces else {}
        return {name: np.concatenate([piece[name] for piece in self.pieces]) for name in names}


class Known(NamedTuple):
    """What earlier lists of one level tell about clusters of now."""

    slots: NDArray[np.int64]  # unchanged clusters that have such a list
    changed: NDArray[np.bool_]  # for every slot whether its cluster is changed
    radius: NDArray[np.float64]  # of each list: unchanged clusters that are not in it are at least so far, on paper
    starts: NDArray[np.int64]  # where the entries of each list begin, and one more for the end
    entries: NDArray[np.int64]  # unchanged clusters


class Helper:
    """Earlier lists, ordered so that those of a cluster are found at once."""

    def __init__(self, earlier: EarlierLists) -> None:
        found, self.clusters_at = earlier.found, earlier.clusters_at
        self.n_levels = int(found["levels"].max(initial=0)) + 1
        order = np.lexsort((found["levels"], found["clusters"]))
        self.levels, self.clusters = found["levels"][order].astype(np.int64), found["clusters"][order].astype(np.int64)
        self.keys = self.clusters * self.n_levels + self.levels
        self.counts, self.radius = found["counts"][order].astype(np.int64), found["radius"][order]
        self.starts = (np.cumsum(found["counts"]) - found["counts"])[order]
        self.entries = found["entries"]

    def known(self, level: int, nodes: Nodes, slots: NDArray[np.int64], n_clusters: int) -> Iterator[Known]:
        """Tell what lists know about some clusters of a level: by the earlier level nearest to it that has one.

        Not by levels whose lists are too few.
        """
        place = self._nearest(slots, level)
        has_list = place >= 0
        slots, place = slots[has_list], place[has_list]
        levels, counts = np.unique(self.levels[place], return_counts=True)
        now = nodes.slot_of[living_nodes(nodes.parent)[: len(nodes.node_of)]]
        for one in (one for one, count in zip(levels, counts, strict=True) if is_worth(count, n_clusters, len(now))):
            changed = changed_since(self.clusters_at(int(one)), now)
            fitting = (self.levels[place] == one) & ~changed[slots]
            yield self._lists(slots[fitting], place[fitting], changed)

    def _nearest(self, slots: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """Return for each cluster the place of its list of the nearest level; -1 if it has none."""
        if not len(self.keys):
            return np.full(len(slots), -1)
        after = np.searchsorted(self.keys, slots * self.n_levels + min(level, self.n_levels - 1))
        both = np.clip(np.array([after, after - 1]), 0, len(self.keys) - 1)
        apart = np.where(self.clusters[both] == slots, np.abs(self.levels[both] - level), self.n_levels)
        best = both[apart.argmin(axis=0), np.arange(len(slots))]
        return np.where(self.clusters[best] == slots, best, -1)

    def _lists(self, slots: NDArray[np.int64], place: NDArray[np.int64], changed: NDArray[np.bool_]) -> Known:
        """Put together the lists of some clusters, without entries that are changed."""
        counts = self.counts[place]
        ends = np.cumsum(counts)
        at = np.arange(counts.sum()) + np.repeat(self.starts[place] - (ends - counts), counts)
        entries = self.entries[at].astype(np.int64)
        gone = changed[entries]
        if not gone.any():
            return Known(slots, changed, self.radius[place], np.append(0, ends), entries)
        starts = np.append(0, ends - np.append(0, np.cumsum(gone))[ends])
        return Known(slots, changed, self.radius[place], starts, entries[~gone])


def changed_since(then: NDArray[np.int64], now: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell for every object whether no cluster begins with it now, or one with other members than it had then.

    ``then``, ``now``: for each object the first of its cluster; -1 for objects that were not there, or whose cluster
    had members that are gone. A member that is elsewhere makes both clusters changed.
    """
    elsewhere = then != now
    changed = now != np.arange(len(now))
    changed[now[elsewhere]] = True
    before = then[elsewhere]
    changed[before[before >= 0]] = True
    return changed


@bare
def enter_known(space, lists, nodes, slots, starts, entries, radius, tie_factor, failed):
    """Enter what earlier lists know into new ones, which know the rest; note those that prove nothing in ``failed``.

    ``radius``: of the earlier lists, lowered by rounding. Cost: one exact distance an entry.
    """
    for i in range(len(slots)):
        r = slots[i]
        first = lists.start[r]
        lists.radius[r] = min(lists.radius[r], radius[i])
        while lists.count[r] and lists.distances[first + lists.count[r] - 1] >= lists.radius[r]:
            lists.count[r] -= 1
        for e in range(starts[i], starts[i + 1]):
            q = entries[e]
            enter(lists, r, nodes.node_of[q], pair_distance(space, r, q))
        proven = lists.count[r] > 0 and lists.distances[first] * tie_factor < lists.radius[r]
        failed[i] = not proven
