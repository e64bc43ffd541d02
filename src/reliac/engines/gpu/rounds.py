"""Boruvka's rounds on the device: every component joins along the lightest edges that leave it, all that tie included.

Every row has a list and a radius: all rows outside its component that are nearer than the radius are on the list, or
among the edges that were found to leave. First the nearest neighbours of all rows are listed, which proves most joins.
A component is proven if no row of it has a radius within its lightest edge. Where too few are, rows are searched:
a product with all columns of other components raises their radius, and the few that may still have a lightest edge are
compared with all rows. The largest component never searches: others join it.

What is proven is joined on the host, by the same :class:`reliac.engines.spanning.forest.Forest` as on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...algorithm.contract import TooManyTies
from ..lists.engine import SEARCH_LENGTH
from ..spanning.forest import Edges, Forest
from .columns import Skipping, make_frame
from .device import to_device, to_host, torch
from .listing import DeviceLists
from .outside import Leaving, OutsideSearch
from .points import DevicePoints

#: Pairs of rows up to which all of them are compared in float64 at once.
FEW_PAIRS = 2**28

#: Components that a round must join, one in so many; else rows are searched first.
ENOUGH = 16

#: The share of the time that is gone when all neighbours are listed.
AFTER_LISTS = 0.6


class Rounds:
    """Rows on the device, what is known of their neighbours, and the forest on the host."""

    def __init__(self, points: DevicePoints, row_of: Any, tell: Callable[[float], None]) -> None:
        """``row_of``: which row is where. ``tell`` hears the share of the work that is done."""
        n, device = len(row_of), points.device
        self.points, self.tell, self.device = points, tell, device
        everyone = torch().arange(n, device=device)
        self.search = OutsideSearch(points, everyone, make_frame(points, everyone), 1.0, Skipping())
        self.entries = torch().full((n, SEARCH_LENGTH), -1, dtype=torch().int32, device=device)
        self.distances = torch().full((n, SEARCH_LENGTH), torch().inf, dtype=torch().float64, device=device)
        self.radius = torch().zeros(n, dtype=torch().float64, device=device)
        self.leaving = Leaving(everyone[:0], everyone[:0], self.radius[:0])
        self.forest = Forest(to_host(row_of))
        self.component = everyone
        self.active = everyone  # rows outside the largest component
        self.best = self.radius  # at leaders of components: their lightest edge that is known

    def edges(self) -> Edges:
        """Return all edges of all minimum spanning trees."""
        self._list_all()
        while self.forest.n_components > 1:
            before = self.forest.n_components
            self._begin_round()
            self._join()
            if before - self.forest.n_components < max(1, before // ENOUGH) and self.forest.n_components > 1:
                self._begin_round()
                self._prove_all()
                self._join()
            left = float(np.log(self.forest.n_components) / np.log(len(self.radius)))
            self.tell(1.0 - (1.0 - AFTER_LISTS) * left)
        return self.forest.edges()

    def _list_all(self) -> None:
        """List the nearest neighbours of every row; lists that ties fill stay unproven, and are searched later."""
        done, n = 0, len(self.radius)

        def keep(rows: Any, lists: DeviceLists) -> None:
            nonlocal done
            self.entries[rows], self.distances[rows] = lists.slots.int(), lists.distances
            self.radius[rows] = lists.radius
            done += len(rows)
            self.tell(AFTER_LISTS * min(1.0, done / n))

        self.search.lists(self.active, keep)

    # --- one round ---

    def _begin_round(self) -> None:
        """Bring components up to date, and find the lightest edge known to leave each but the largest."""
        forest = self.forest
        self.component = to_device(forest.component, self.device)
        self.active = (self.component != forest.largest).nonzero()[:, 0]
        self.leaving = self.leaving.where(self.component[self.leaving.row] != self.component[self.leaving.other])
        self.best = torch().full_like(self.radius, torch().inf)
        self._lower(self.active, self._listed_outside(self.active).amin(1))
        self._lower(self.leaving.row, self.leaving.distance)

    def _listed_outside(self, rows: Any) -> Any:
        """Return the distances on the lists of rows, infinite to those of their own component."""
        entries = self.entries[rows]
        inside = (entries < 0) | (self.component[entries.clamp(min=0)] == self.component[rows, None])
        return self.distances[rows].masked_fill_(inside, torch().inf)

    def _lower(self, rows: Any, distance: Any) -> None:
        self.best.scatter_reduce_(0, self.component[rows], distance, "amin")

    def _unproven(self, rows: Any) -> Any:
        """Return those of some rows that may have an edge to leave by, as light as the lightest known, or lighter."""
        return rows[self.radius[rows] <= self.best[self.component[rows]]]

    def _join(self) -> None:
        """Join components that are proven along all their lightest edges."""
        proven = torch().ones(len(self.radius), dtype=torch().bool, device=self.device)
        proven[self.component[self._unproven(self.active)]] = False
        if self.forest.largest >= 0:
            proven[self.forest.largest] = False
        rows = self.active[proven[self.component[self.active]]]
        limit = self.best[self.component]
        at, entry = (self._listed_outside(rows) == limit[rows, None]).nonzero(as_tuple=True)
        leaving = self.leaving
        more = leaving.where((leaving.distance == limit[leaving.row]) & proven[self.component[leaving.row]])
        row = torch().cat((rows[at], more.row))
        other = torch().cat((self.entries[rows[at], entry].long(), more.other))
        pair, order = (torch().minimum(row, other) * len(limit) + torch().maximum(row, other)).sort()
        once = torch().ones_like(pair, dtype=torch().bool)
        once[1:] = pair[1:] != pair[:-1]  # most are seen from both sides
        row, other = row[order[once]], other[order[once]]
        reach = torch().where(proven, torch().nextafter(self.best, self.best.new_tensor(torch().inf)), 0.0)
        self.forest.join(*(to_host(column) for column in (row, other, limit[row], reach)))

    # --- searches ---

    def _prove_all(self) -> None:
        """Search until the lightest edges of all components but the largest are known."""
        rows = self._unproven(self.active)
        self._look(self._first_of(rows[self.best[self.component[rows]] == torch().inf]))
        rows = self._unproven(rows)
        if len(rows) * len(self.radius) > FEW_PAIRS:
            rows = rows[self.component[rows].sort(stable=True).indices]
            limit = self.best[self.component[rows]]
            self.radius[rows] = torch().maximum(self.radius[rows], self.search.minima(rows, self.component, limit))
            rows = self._unproven(rows)
        self._look(self._first_of(rows))
        self._look(rows)

    def _first_of(self, rows: Any) -> Any:
        """Return of the rows of each component the one with the smallest radius."""
        rows = rows[self.radius[rows].sort(stable=True).indices]
        component, order = self.component[rows].sort(stable=True)
        first = torch().ones_like(component, dtype=torch().bool)
        first[1:] = component[1:] != component[:-1]
        return rows[order[first]]

    def _look(self, rows: Any) -> None:
        """Find all edges that leave by rows, up to the lightest known; rows that cannot have any are left out."""
        for block in self.search.blocks(rows):
            some = self._unproven(block)
            if not len(some):
                continue
            found, limit = self.search.within(some, self.component, self.best[self.component[some]])
            self.radius[some] = torch().nextafter(limit, limit.new_tensor(torch().inf))
            self.leaving = Leaving(*(torch().cat(both) for both in zip(self.leaving, found, strict=True)))
            self._lower(found.row, found.distance)
            if len(self.leaving.row) > 2 * self.forest.most:
                raise TooManyTies(f"more than {self.forest.most} tied edges leave components")
