"""Levels on the device: the certified lists of :mod:`reliac.engines.lists`, kept there, all clusters at once.

A level takes the same four steps: look who is unproven and search it, take the reliable links, join, and follow entries
of joined clusters to where they live now. It costs some hundred operations of torch, whatever it joins. So thin levels,
and all that is rare (a level that a rule stops in, ties that fill a list), are left to the lists on the CPU, which go
on from the same lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.links import Links
from ..compiled.rules import RADIUS_MEAN, RADIUS_NONE, RADIUS_WARD, Rules
from ..lists.engine import SEARCH_LENGTH
from ..lists.entries import LIST_LENGTH
from ..lists.levels import ROUNDING
from .columns import Skipping, make_frame
from .device import to_device, to_host, torch
from .listing import DeviceLists, make_lists
from .moments import DeviceMoments
from .search import Search
from .ties import settle_links

#: Radius rules that the device knows.
RULES = (RADIUS_NONE, RADIUS_MEAN, RADIUS_WARD)

#: Levels with fewer links, where fewer clusters are left, are thin: the CPU is quicker.
THIN_LINKS, FEW_CLUSTERS = 64, 20_000


class DeviceLevels:
    """Clusters and their lists on the device; slots, nodes and lists as :mod:`reliac.engines.lists.entries` has them.

    ``head``: for every slot the slot of the cluster that holds it now.
    """

    def __init__(self, moments: DeviceMoments, object_of: Any, rules: Rules) -> None:
        n, self.device = len(object_of), moments.device
        self.moments, self.object_of, self.rules = moments, object_of, rules
        self.alive = torch().arange(n, device=self.device)
        self.node_of = torch().arange(n, dtype=torch().int32, device=self.device)
        self.slot_of = torch().arange(2 * n, dtype=torch().int32, device=self.device)
        self.head = torch().arange(n, dtype=torch().int32, device=self.device)
        self.entries = torch().full((n, SEARCH_LENGTH), -1, dtype=torch().int32, device=self.device)
        self.distances = torch().full((n, SEARCH_LENGTH), torch().inf, dtype=torch().float64, device=self.device)
        self.radius = torch().zeros(n, dtype=torch().float64, device=self.device)
        self.frame = make_frame(moments, self.alive)
        self.objects = to_host(object_of)
        self.n_nodes, self.level, self.skipping = n, 0, Skipping()
        self.searched = 0  # rows searched, in all

    def parents(self) -> Any:
        """Return for every node made so far the living one that holds it now; -1 if it lives itself."""
        made = torch().arange(self.n_nodes, dtype=torch().int32, device=self.device)
        home = self.node_of[self.head[self.slot_of[: self.n_nodes].long()].long()]
        return torch().where(home == made, -1, home)

    # --- searches ---

    def search(self, rows: Any, tell: Callable[[Any], None] = lambda rows: None) -> bool:
        """Search clusters whose lists prove nothing; tell whether all are proven now."""
        self.searched += len(rows)
        search = Search(self.moments, self.alive, self.frame, self.rules.tie_factor, self.skipping)

        def keep(some: Any, lists: DeviceLists) -> None:
            self._keep(some, lists)
            tell(some)

        return not len(search.lists(rows, keep))

    def _keep(self, rows: Any, lists: DeviceLists) -> None:
        entries = torch().where(lists.slots >= 0, self.node_of[lists.slots.clamp(min=0)], -1)
        self.entries[rows], self.distances[rows], self.radius[rows] = entries, lists.distances, lists.radius

    # --- one level ---

    def unproven(self, rows: Any) -> Any:
        """Return those whose nearest neighbours are not proven."""
        return rows[~(self.distances[rows, 0] * self.rules.tie_factor < self.radius[rows])]

    def links(self, touched: Any) -> tuple[Any, Any, Any]:
        """Return the reliable links of touched clusters, by distance and objects; slots p, q, p with the smaller."""
        factor = self.rules.tie_factor
        distances, entries = self.distances[touched], self.entries[touched]
        other = self.slot_of[entries.clamp(min=0)].long()
        reliable = (entries >= 0) & (distances <= distances[:, :1] * factor) & (self.node_of[other] == entries)
        reliable &= distances <= self.distances[:, 0][other] * factor
        row, entry = reliable.nonzero(as_tuple=True)
        p, q, distance = touched[row], other[row, entry], distances[row, entry]
        swapped = self.object_of[p] > self.object_of[q]
        p, q = torch().where(swapped, q, p), torch().where(swapped, p, q)
        key, order = (self.object_of[p] * len(self.node_of) + self.object_of[q]).sort()
        once = torch().ones_like(key, dtype=torch().bool)
        once[1:] = key[1:] != key[:-1]  # most are seen from both sides
        order = order[once]
        order = order[distance[order].sort(stable=True).indices]
        return p[order], q[order], distance[order]

    def joined_radius(self, p: Any, q: Any) -> Any:
        """Return the radius of each pair once it is joined; as ``group_radius`` of the lists on the CPU."""
        rp, rq, wp, wq = self.radius[p], self.radius[q], self.moments.weight[p], self.moments.weight[q]
        total, weight, weighted = rp + rq, wp + wq, rp * wp + rq * wq
        if self.rules.radius_rule == RADIUS_MEAN:
            radius = weighted / weight * (1 - ROUNDING)
        else:
            distance, x = self.distances[p, 0] * self.rules.tie_factor, self.rules.smallest_weight
            near = (weighted + x * total - x * distance) / (weight + x)
            radius = torch().minimum(near, total - distance) - ROUNDING * total
        return torch().where(torch().isinf(total), torch().maximum(rp, rq), radius)

    def join_pairs(self, p: Any, q: Any) -> Any:
        """Join q to p, pair by pair; return the slots of those that must be searched.

        Where a radius follows from those of the parts, lists are the unions of their parts' lists.
        """
        if not len(p):
            return p
        known = None
        if self.rules.radius_rule != RADIUS_NONE:
            known = torch().cat((self.entries[p], self.entries[q]), 1), self.joined_radius(p, q)
        self.moments.join(p, q)
        self._rename(p, q, p)
        if known is None:
            self._forget(p)
            return p
        self.follow(p, *known)
        return p[:0]

    def _forget(self, rows: Any) -> None:
        """Empty the lists of clusters that must be searched."""
        self.entries[rows], self.distances[rows], self.radius[rows] = -1, torch().inf, 0.0

    def join_groups(self, groups: list[NDArray[np.int64]]) -> Any:
        """Join groups of three and more, part after part; return their slots, which must be searched."""
        for k in range(1, max((len(parts) for parts in groups), default=0)):
            some = [parts for parts in groups if len(parts) > k]
            self.moments.join(self._slots([parts[0] for parts in some]), self._slots([parts[k] for parts in some]))
        heads = self._slots([parts[0] for parts in groups])
        if groups:
            gone = self._slots(np.concatenate([parts[1:] for parts in groups]))
            self._rename(
                heads, gone, self._slots(np.concatenate([parts[:1].repeat(len(parts) - 1) for parts in groups]))
            )
            self._forget(heads)
        return heads

    def _slots(self, slots: Any) -> Any:
        return to_device(np.asarray(slots, np.int64), self.device)

    def _rename(self, heads: Any, gone: Any, to: Any) -> None:
        """Give heads new nodes; what is gone lives where ``to`` says."""
        new = self.n_nodes + torch().arange(len(heads), dtype=torch().int32, device=self.device)
        self.n_nodes += len(heads)
        self.node_of[heads], self.node_of[gone] = new, -1
        self.slot_of[new.long()] = heads.int()
        self.head[gone] = to.int()
        self.head = self.head[self.head.long()]

    def follow(self, rows: Any, entries: Any, radius: Any) -> None:
        """Make lists from entries (m, k): follow them to where they live, each once, and measure them."""
        home = torch().where(entries >= 0, self.head[self.slot_of[entries.clamp(min=0)].long()], -1)
        self._keep(rows, make_lists(self.moments, rows, home, radius))

    def push(self, new: Any) -> Any:
        """Enter new clusters, which may come nearer than their parts, into the lists they belong to; return whose.

        Some at a time: where they are near to everybody, the first ones fill the lists, and the others stay outside.
        """
        if not len(new):
            return new
        search = Search(self.moments, self.alive, self.frame, self.rules.tie_factor, self.skipping)
        return torch().cat([self._push(search, some) for some in search.few_at_a_time(new)])

    def _push(self, search: Search, new: Any) -> Any:
        cluster, row = search.reached(new, self.radius)
        distance = self.moments.distances(row, cluster)
        near = (distance < self.radius[row]).nonzero()[:, 0]
        near = near[distance[near].sort().indices]
        near = near[row[near].sort(stable=True).indices]
        if not len(near):
            return near
        rows, at, count = row[near].unique_consecutive(return_inverse=True, return_counts=True)
        rank = torch().arange(len(near), device=self.device) - (count.cumsum(0) - count)[at]
        some = rank <= SEARCH_LENGTH  # no list keeps more
        near, at, rank = near[some], at[some], SEARCH_LENGTH + rank[some]
        pad, more = torch().nn.functional.pad, int(rank.max()) + 1 - SEARCH_LENGTH
        distances = pad(self.distances[rows], (0, more), value=torch().inf)
        entries = pad(self.entries[rows], (0, more), value=-1)
        distances[at, rank], entries[at, rank] = distance[near], self.node_of[cluster[near]]
        distances, order = distances.sort(1)
        entries = entries.gather(1, order)
        radius = torch().where(distances[:, SEARCH_LENGTH] < torch().inf, distances[:, LIST_LENGTH], self.radius[rows])
        distances = torch().where(distances < radius[:, None], distances, torch().inf)[:, :SEARCH_LENGTH]
        self.entries[rows] = torch().where(distances < torch().inf, entries[:, :SEARCH_LENGTH], -1)
        self.distances[rows], self.radius[rows] = distances, radius
        return rows

    # --- all levels ---

    def levels(self, tell: Callable[[Any], None]) -> Iterator[tuple[Any, Any, Any]]:
        """Develop levels until the CPU should go on, or one cluster is left; give the links of each, by slots."""
        if not self.search(self.alive, tell):
            return
        touched = self.alive
        while len(self.alive) > 1:
            unproven = self.unproven(touched)
            if len(unproven) and not self.search(unproven):
                return
            p, q, distance = self.links(touched)
            groups: list[NDArray[np.int64]] = []
            pairs = p, q
            if len(torch().cat((p, q)).unique()) < 2 * len(p):
                p, q, distance, pairs, groups = self._settle(p, q, distance)
            if self._must_hand_over(p, distance):
                return
            self.level += 1
            made = self.n_nodes
            new = torch().cat((self.join_groups(groups), self.join_pairs(*pairs)))
            self.alive = self.alive[self.node_of[self.alive] >= 0]
            pushed = self.push(new) if self.rules.radius_rule != RADIUS_MEAN else new[:0]
            touched = self._touched(made, pushed)
            yield p, q, distance

    def _must_hand_over(self, p: Any, distance: Any) -> bool:
        """Tell whether the level with these links is one for the CPU: thin, or a rule ends the run within it."""
        left, rules = len(self.alive), self.rules
        if not len(p) or left - len(p) < rules.n_clusters or self.level >= rules.max_level:
            return True
        return float(distance[-1]) > rules.max_value or (len(p) < THIN_LINKS and left < FEW_CLUSTERS)

    def _settle(self, p: Any, q: Any, distance: Any) -> tuple[Any, Any, Any, tuple[Any, Any], list[NDArray[np.int64]]]:
        """Choose, where links tie, those that join clusters; return them, pairs, and groups of three and more."""
        links = Links(*(to_host(x) for x in (p, q, distance)))
        links, parts, bounds = settle_links(links, self.objects, self.rules, len(self.alive))
        size = np.diff(bounds)
        first = bounds[:-1][size == 2]
        large = size > 2
        groups = [parts[a:b] for a, b in zip(bounds[:-1][large], bounds[1:][large], strict=True)]
        pairs = self._slots(parts[first]), self._slots(parts[first + 1])
        return self._slots(links.p), self._slots(links.q), to_device(links.distance, self.device), pairs, groups

    def _touched(self, made: int, pushed: Any) -> Any:
        """Return the new clusters and all whose nearest neighbour was joined, their lists up to date."""
        nearest = self.entries[self.alive, 0]
        stale = (nearest < 0) | (self.node_of[self.slot_of[nearest.clamp(min=0)].long()] != nearest)
        new = self.node_of[self.alive] >= made
        old = self.alive[stale & ~new]
        if len(old):
            self.follow(old, self.entries[old], self.radius[old])
        touched = stale | new
        if len(pushed):
            mark = torch().zeros(len(self.node_of), dtype=torch().bool, device=self.device)
            mark[pushed] = True
            touched |= mark[self.alive]
        return self.alive[touched]
