"""Searches for what is nearest outside a row's own component: bounds for many rows, all that is within for a few."""

from __future__ import annotations

from typing import Any, NamedTuple

from .device import torch
from .search import ROWS, Search


class Leaving(NamedTuple):
    """Edges that leave components: from a row to one of another component, and their squared lengths."""

    row: Any
    other: Any
    distance: Any

    def where(self, which: Any) -> Leaving:
        """Return some of them."""
        return Leaving(*(column[which] for column in self))


class OutsideSearch(Search):
    """Searches among all rows, each of which is in a component; rows are their own slots and places."""

    def minima(self, rows: Any, component: Any, limit: Any) -> Any:
        """Return for rows (m,) how far all rows of other components are, at least; known up to a bit above the limit.

        ``component`` (n,), ``limit`` (m,). Rows of one component should stand together.
        """
        packed, found, scale = self._packed_columns(), [], self.scale
        for some, most in zip(rows.split(ROWS), limit.split(ROWS), strict=True):
            tau = (most / scale * (1 + 1e-4)).float().clamp(min=1e-30, max=1e30)
            found.append(packed.outside(some, component, tau).double() * (scale * (1 - 1e-6)))
        return torch().cat(found)

    def within(self, rows: Any, component: Any, limit: Any) -> tuple[Leaving, Any]:
        """Return all edges from rows (m,) to other components that are no longer than the limit of the row, ties too.

        Where the nearest row outside is nearer than the limit (m,), that is the limit instead; limits are returned.
        """
        bound = self.bounds(rows)
        bound.masked_fill_(component[rows, None] == component[None, :], torch().inf)
        limit = torch().minimum(limit, self.moments.distances(rows, bound.argmin(1)))
        at, other = (bound <= limit[:, None] / (self.scale * (1 - 1e-9))).nonzero(as_tuple=True)
        distance = self.moments.distances(rows[at], other)
        return Leaving(rows[at], other, distance).where(distance <= limit[at]), limit

    def blocks(self, rows: Any) -> Any:
        """Return rows in blocks for :func:`within`."""
        return self._blocks(rows)
