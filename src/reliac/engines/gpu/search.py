"""Certified lists for some clusters: candidates by float32, what float32 cannot tell apart by float64; all measured.

Float32 or float64 products only select. What is listed is measured by :mod:`.moments`, and a radius says how far
everything else is at least.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lists.engine import SEARCH_LENGTH
from .columns import Candidates, Columns, Frame, Skipping
from .device import torch
from .failures import in_batches
from .listing import DeviceLists, make_lists, smallest
from .moments import DeviceMoments

#: Up to so many columns, or numbers of a table of products, float64 is quick enough.
FEW_COLUMNS, FEW_PRODUCTS = 4096, 2**26

#: Numbers of a block of float64 products; on the CPU blocks are smaller.
PRODUCTS, PRODUCTS_ON_CPU = 2**27, 2**22

#: Numbers of a block where pairs are looked for, each of which may be one: some 80 bytes each.
REACHED = 2**25

#: Rows that are searched between two looks at Ctrl-C and progress.
ROWS = 2**17


def pack_columns(columns: Columns, skipping: Skipping) -> Any:
    """Return the quickest search that runs on the device of some columns: by kernels, or in plain torch."""
    if columns.kernels:
        from .loading import load_kernels
        from .sift import SiftSearch

        load_kernels(columns.rows.shape[1], columns.rows.device)
        return SiftSearch(columns, skipping)
    from .plain import PlainSearch

    return PlainSearch(columns)


class Search:
    """Searches among the living clusters, as they are now."""

    def __init__(
        self, moments: DeviceMoments, living: Any, frame: Frame, tie_factor: float, skipping: Skipping
    ) -> None:
        """``living``: their slots (N,), in an order that keeps near ones close together."""
        self.moments, self.living, self.frame, self.tie_factor = moments, living, frame, tie_factor
        self.place_of = torch().full((len(moments.weight),), -1, dtype=torch().int64, device=moments.device)
        self.place_of[living] = torch().arange(len(living), device=moments.device)
        self.skipping = skipping
        self._packed: Any = None
        self._exact: tuple[Any, Any, Any] | None = None

    def lists(self, rows: Any, done: Callable[[Any, DeviceLists], None]) -> Any:
        """Make the lists of some clusters and hand them on, some at a time; return those that stay unproven.

        Unproven is what ties with more clusters than a list holds; it is handed on, too.
        """
        left = [rows[:0]]
        few = len(self.living) <= FEW_COLUMNS or len(rows) * len(self.living) <= FEW_PRODUCTS

        def search(some: Any) -> None:
            if few:
                left.append(self._by_float64(some, done))
                return
            found = self._packed_columns().nearest(self.place_of[some], SEARCH_LENGTH)
            lists = self._measured(some, found, self.scale * (1 - 1e-6))
            proven = found.sure & self.proves(lists)
            done(some, lists)
            if not bool(proven.all()):
                left.append(self._by_float64(some[~proven], done))

        in_batches(rows, ROWS, search)
        return torch().cat(left)

    def proves(self, lists: DeviceLists) -> Any:
        """Tell whose nearest neighbours are proven, all that tie included."""
        return lists.distances[:, 0] * self.tie_factor < lists.radius

    @property
    def scale(self) -> float:
        """What squared distances in the frame are multiplied by to be those that engines compare."""
        return self.moments.scale * self.frame.unit**2

    def _packed_columns(self) -> Any:
        if self._packed is None:
            self._packed = pack_columns(Columns(self.moments, self.living, self.frame), self.skipping)
        return self._packed

    def _measured(self, rows: Any, found: Candidates, scale: float) -> DeviceLists:
        """Measure candidates; keep those inside the radius, the nearest first."""
        slots = torch().where(found.places >= 0, self.living[found.places.clamp(min=0)], -1)
        return make_lists(self.moments, rows, slots, found.bound.double() * scale)

    # --- float64 products ---

    def _means(self) -> tuple[Any, Any, Any]:
        """Return the means in float64, what each adds to squared distances, at least, and inverse weights.

        Errors are at most a share of (|x| + |c|)^2 + (|y| + |c|)^2, c the centre of the frame, and taken off there.
        """
        if self._exact is None:
            moments, frame, weight = self.moments, self.frame, self.moments.weight[self.living]
            means = moments.sums[self.living]  # a copy, changed in place: there may be no room for a second one
            means /= weight[:, None] * frame.unit
            means -= frame.centre
            norm = torch().linalg.vector_norm(means, dim=1)
            square = norm**2 - (means.shape[1] + 16) * 2.0**-49 * (norm + frame.norm) ** 2
            if moments.with_spread:
                square += moments.spread[self.living] / (weight * frame.unit) ** 2 * (1 - 2.0**-49)
            self._exact = means, square, 1 / weight
        return self._exact

    def bounds(self, own: Any) -> Any:
        """Return lower bounds of the squared distances of some columns to all, (m, N); infinite to themselves."""
        means, square, inverse = self._means()
        bound = torch().addmm(square[None, :], means[own], means.T, alpha=-2)
        bound += square[own, None]
        bound.clamp_(min=0)
        if self.moments.by_size:
            bound /= inverse[own, None] + inverse[None, :]
        bound[torch().arange(len(own), device=own.device), own] = torch().inf
        return bound

    def _blocks(self, rows: Any) -> Any:
        most = PRODUCTS if self.moments.kernels else PRODUCTS_ON_CPU
        return rows.split(max(1, most // len(self.living)))

    def _by_float64(self, rows: Any, done: Callable[[Any, DeviceLists], None]) -> Any:
        left, n = [rows[:0]], len(self.living)
        count = min(SEARCH_LENGTH + 1, n)
        for some in self._blocks(rows):
            best, places = smallest(self.bounds(self.place_of[some]), count)
            places = torch().where(best < torch().inf, places, -1)[:, :SEARCH_LENGTH]
            beyond = best[:, -1] if count > SEARCH_LENGTH else torch().full_like(best[:, 0], torch().inf)
            found = Candidates(places, beyond, None)
            lists = self._measured(some, found, self.scale * (1 - 1e-12))
            done(some, lists)
            left.append(some[~self.proves(lists)])
        return torch().cat(left)

    def few_at_a_time(self, rows: Any) -> Any:
        """Return rows in blocks for :func:`reached`: all clusters may be within reach of a row."""
        return rows.split(max(1, REACHED // len(self.living)))

    def reached(self, rows: Any, radius: Any) -> tuple[Any, Any]:
        """Return pairs of a row and a living cluster, by slots, that may be nearer than the radius of the latter.

        ``radius`` (n,): of all slots. All pairs that are so near are among them; none of a cluster with itself.
        """
        limit = radius[self.living] / (self.scale * (1 - 1e-9))
        row, place = (self.bounds(self.place_of[rows]) < limit[None, :]).nonzero(as_tuple=True)
        return rows[row], self.living[place]
