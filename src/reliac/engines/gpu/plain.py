"""The search in plain torch: on any device that torch knows, the CPU too. Float32 products select.

A product gives a lower bound of each distance.
"""

from __future__ import annotations

from typing import Any

from .columns import STRETCH, Candidates, Columns
from .device import exact_products, torch
from .listing import GROUP, smallest

#: Numbers of a block of products.
BLOCK = 2**28


class PlainSearch:
    """Columns packed for products; padded to whole groups."""

    def __init__(self, columns: Columns) -> None:
        n, d = columns.rows.shape
        self.columns, padding = columns, -n % GROUP
        pad = torch().nn.functional.pad
        self.rows = pad(columns.rows, (0, 0, 0, padding))
        # error of |x|^2 + |y|^2 - 2 x y: at most delta (|x|^2 + |y|^2), since 2 |x| |y| is no more than that
        delta = (d + 16) * 2.0**-22 + STRETCH
        square = columns.square * (1 - delta) + columns.extra - columns.slack / 2
        self.square = pad(square, (0, padding), value=torch().inf)
        self.inverse = pad(columns.inverse, (0, padding), value=1.0)

    def nearest(self, own: Any, k: int, least: int = 0) -> Candidates:
        """Return for some columns the k columns with the smallest lower bounds, and the smallest bound left out.

        ``least``: never fewer than k are returned, if there are so many.
        """
        step = max(1, BLOCK // len(self.rows))
        with exact_products():
            parts = [self._nearest(own[at : at + step], k) for at in range(0, len(own), step)]
        return Candidates(*(torch().cat(part) for part in zip(*parts, strict=True)))

    def outside(self, own: Any, group: Any, tau: Any) -> Any:
        """Return for some columns how far, at least, all columns of other groups are. ``tau`` is not needed here."""
        del tau
        theirs = torch().nn.functional.pad(group, (0, len(self.rows) - len(group)), value=-1)
        step, parts = max(1, BLOCK // len(self.rows)), []
        with exact_products():
            for some in own.split(step):
                bound = self._bounds(some).masked_fill_(group[some, None] == theirs[None, :], torch().inf)
                parts.append(bound.amin(1))
        return torch().cat(parts) * (self.columns.factor * (1 - 1e-6))

    def _bounds(self, own: Any) -> Any:
        """Return lower bounds of the squared distances of some columns to all; infinite to themselves."""
        bound = torch().addmm(self.square[None, :], self.rows[own], self.rows.T, alpha=-2 * (1 - STRETCH))
        bound += self.square[own, None]
        bound[torch().arange(len(own), device=own.device), own] = torch().inf
        bound.clamp_(min=0)
        if self.columns.weighted:
            bound /= self.inverse[own, None] + self.inverse[None, :]
        return bound

    def _nearest(self, own: Any, k: int) -> Candidates:
        columns, m = self.columns, len(own)
        best, places = smallest(self._bounds(own), k + 1)
        places = torch().where(best < torch().inf, places, -1)[:, :k]
        sure = torch().ones(m, dtype=torch().bool, device=own.device)
        return Candidates(places, best[:, k] * (columns.factor * (1 - 1e-6)), sure)
