"""Square tables of stored pair numbers that shrink as clusters are joined: one problem, or many small ones at once.

``stored`` has shape (k, m, m): k problems side by side, m rows for each. A cluster's *place* is the number of its row
among all k m of them. Places without a cluster (a smaller problem has fewer, a cluster was joined) are *empty*:
infinitely far from everything. :mod:`reliac.algorithm.criteria` says what is stored, and how it gives a distance.

Two things make it quick. A level that joins many pairs contracts its tables: rows are added and moved in whole runs of
memory, first the rows and then, after turning the table over, the columns. A level that joins few clusters writes their
rows and columns in place, and looks again only at the rows that are *stale*: those of new clusters, those whose nearest
was joined, and those that a new cluster has come as near to as their nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import TooManyTies
from ...algorithm.criteria import Criterion, Floats, join_pair_weights, join_weights, link_distance
from ...algorithm.links import Groups, Indices, Links, reliable_links

#: Rows are searched in blocks of about this many numbers, which fit into the cache.
BLOCK = 2**15

#: Many tables are turned into distances so many numbers at a time: all that is computed on the way stays in the cache.
TABLES_BLOCK = 2**13

#: Tables with up to so many rows are searched anew at every level: less work than to find out what is stale.
FEW_ROWS = 200

#: A level that joins a smaller share of the clusters than one in so many leaves the table as large as it is.
FEW_JOINS = 3

#: More ties than this per cluster, and than this in all, are left to the literal engine.
MANY_TIES = 32
AND_IN_ALL = 100_000


class Tables:
    """Stored numbers, weights and names of clusters, and everyone's nearest."""

    def __init__(
        self, criterion: Criterion, stored: NDArray[Any], weight: Floats, names: Indices, tie_factor: float
    ) -> None:
        self.criterion = criterion
        self.sums = criterion.reduction is np.add
        self.tie_factor = tie_factor
        self.alike = criterion.equal_parts and bool((weight == 1.0).all())  # as long as pairs are joined
        self._begin(stored, weight.ravel(), names.ravel())

    def _begin(self, stored: NDArray[Any], weight: Floats, names: Indices) -> None:
        """Take these tables; nothing is known about who is near whom."""
        self.stored, self.weight = stored, weight
        self.names = names  # of the cluster at each place: its first object; -1 for empty places
        self.k, self.m = stored.shape[:2]
        self.small = self.k != 1 or self.m <= FEW_ROWS  # so small, or so many, that all rows are searched every time
        self.rows = stored.reshape(self.k * self.m, self.m)
        self.diagonal = stored.reshape(self.k, self.m * self.m)[:, :: self.m + 1]  # a view
        self.alive = np.arange(len(names)) if self.k == 1 else (names >= 0).nonzero()[0]
        if not self.sums:
            self.diagonal[:] = np.inf
        elif len(self.alive) < len(names):
            self.diagonal[names.reshape(self.k, self.m) < 0] = 0.0  # infinity less infinity is no number
        self.tied = self.alive[:0]  # those with several nearest
        if not self.small:
            self.near = np.zeros(len(names), np.intp)
            self.smallest = np.full(len(names), -np.inf, dtype=stored.dtype)
            self.fresh = self.alive  # new clusters: searched first
            self.stale = self.alive[:0]  # others that are to be searched again

    def places_of(self, names: Indices) -> Indices:
        """Return where the clusters of these names are; for a single table."""
        return self.alive[np.searchsorted(self.names[self.alive], names)]

    @property
    def unfinished(self) -> bool:
        """Whether a table has more than one cluster."""
        return len(self.alive) > self.k

    # --- who is near whom ---

    def distances(self, places: Indices) -> Floats:
        """Distances of some clusters of a single table to all of it, (len(places), m); infinite to themselves."""
        run = slice(places[0], places[-1] + 1)
        stored = self.rows[run] if run.stop - run.start == len(places) else self.rows[places]
        if not self.sums:
            return stored
        spread, weight = self.diagonal[0], self.weight
        distances = link_distance(self.criterion, stored, spread[places, None], spread, weight[places, None], weight)
        distances.reshape(-1)[np.arange(0, distances.size, self.m) + places] = np.inf
        return distances

    def _all_distances(self) -> Floats:
        """Distances inside all tables, (k m, m); those of empty places are infinite."""
        if not self.sums:
            return self.rows
        if self.k == 1:
            distances = self._of_tables(slice(1))
        else:
            distances, at_once = np.empty(self.stored.shape), max(1, TABLES_BLOCK // self.m**2)
            for some in (slice(start, start + at_once) for start in range(0, self.k, at_once)):
                distances[some] = self._of_tables(some)
        distances.reshape(self.k, -1)[:, :: self.m + 1] = np.inf
        return distances.reshape(self.rows.shape)

    def _of_tables(self, some: slice) -> Floats:
        """Distances inside some of the tables, (tables, m, m); from a place to itself they mean nothing."""
        spread, weight = self.diagonal[some], self.weight.reshape(self.k, self.m)[some]
        sides = spread[:, :, None], spread[:, None], weight[:, :, None], weight[:, None]
        return link_distance(self.criterion, self.stored[some], *sides)

    def _search_all(self) -> Links | None:
        """Look at all rows. Return all links of tied rows, None if no row is tied."""
        distances = self._all_distances()
        cells, starts, first = distances.reshape(-1), np.arange(0, distances.size, self.m), None
        column = distances.argmin(axis=1)
        cell = starts + column
        self.smallest, self.near = cells[cell], column
        if self.k > 1:
            first = np.arange(len(column)) // self.m * self.m  # the first place of each row's table
            self.near = column + first
        cells[cell] = np.inf
        second = distances.min(axis=1)
        limit = self.smallest if self.tie_factor == 1.0 else self.smallest * self.tie_factor
        tied = second <= limit
        if self.k > 1:
            tied &= second < np.inf  # empty places are no ties
        some_tied = tied.any()
        if some_tied or not self.sums:  # else these distances were made for this search alone
            cells[cell] = self.smallest
        if not some_tied:
            self.tied = self.alive[:0]
            return None
        self.tied = tied.nonzero()[0]
        row, found = (distances[self.tied] <= limit[self.tied, None]).nonzero()
        row = self.tied[row]
        return Links(row, found if first is None else found + first[row], distances[row, found])

    def search(self) -> Links | None:
        """Look at the rows that must be looked at. Return all links of tied rows, None if no row is tied."""
        if self.small:
            return self._search_all()
        ties: list[Links] = []
        known = None if len(self.fresh) == len(self.alive) else self.smallest.copy()
        for some in self.blocks(self.fresh):
            self.look(some, ties, known)
        if len(self.stale):
            for some in self.blocks(np.unique(self.stale)):
                self.look(some, ties)
        self.fresh = self.stale = self.tied = self.alive[:0]
        if not ties:
            return None
        links = Links(*(np.concatenate(column) for column in zip(*ties, strict=True)))
        self.tied = np.unique(links.p)
        return links

    def blocks(self, places: Indices) -> list[Indices]:
        """Split rows so that the distances of a block fit into the cache."""
        at_once = max(1, BLOCK // self.m)
        return [places[start : start + at_once] for start in range(0, len(places), at_once)]

    def look(self, places: Indices, ties: list[Links] | None, known: Floats | None = None) -> None:
        """Find the nearest of some clusters of a single table, the first by index.

        ``ties``: gets the links of those with several. ``known``: the smallest distances before. To whom one of these
        clusters has come as near as that, becomes stale.
        """
        distances = self.distances(places)
        cells, starts = distances.reshape(-1), np.arange(0, distances.size, self.m)
        column = distances.argmin(axis=1)
        smallest = cells[starts + column]
        self.near[places], self.smallest[places] = column, smallest
        if known is not None:
            near = np.any(distances <= known * self.tie_factor, axis=0)
            self.stale = np.concatenate((self.stale, np.flatnonzero(near)))
        if ties is None:
            return
        limit = smallest if self.tie_factor == 1.0 else smallest * self.tie_factor
        cells[starts + column] = np.inf
        second = distances.min(axis=1)
        cells[starts + column] = smallest
        if (second <= limit).any():
            row, found = ((distances <= limit[:, None]) & (second <= limit)[:, None]).nonzero()
            ties.append(Links(places[row], found, distances[row, found]))
            self._check_room(sum(len(links.p) for links in ties))

    def reliable(self) -> tuple[Links, bool]:
        """Return the links whose two ends are nearest to each other, p < q, and whether some cluster has several."""
        ties = self.search()
        alive, near = self.alive, self.near
        if ties is None:
            q = near if len(alive) == len(near) else near[alive]
            found = ((near[q] == alive) & (q > alive)).nonzero()[0]
            p = alive[found]
            return Links(p, q[found], self.smallest[p]), False
        self._check_room(len(ties.p))
        single = np.setdiff1d(alive, self.tied, assume_unique=True)
        columns = zip((single, near[single], self.smallest[single]), ties, strict=True)
        return reliable_links(Links(*map(np.concatenate, columns)), len(near)), True

    def _check_room(self, ties: int) -> None:
        if ties > max(MANY_TIES * len(self.alive), AND_IN_ALL):
            raise TooManyTies("more ties than a list of links should hold")

    # --- joining ---

    def join_pairs(self, p: Indices, q: Indices) -> None:
        """Make one cluster of every pair of places p < q, no place twice; p in order."""
        if not self.small and FEW_JOINS * len(p) < len(self.alive):
            self.join(Groups(np.column_stack((p, q)).ravel(), np.arange(0, 2 * len(p), 2)))
            return
        factors, self.weight[p] = join_pair_weights(self.criterion, self.weight[p], self.weight[q], self.alike)
        self.names[q] = -1
        if self.small:
            self.contract(p, q, factors)
            return
        before = self.near, self.smallest, self.tied
        self._mark(p, np.concatenate((p, q)), self.contract(p, q, factors), *before)

    def join(self, groups: Groups) -> None:
        """Make one cluster of every group of places: rows and columns are written in place."""
        parts, starts, heads = groups.parts, groups.starts, groups.heads
        factors, weight = join_weights(self.criterion, self.weight[parts], starts)
        gone = np.setdiff1d(parts, heads, assume_unique=True)
        columns = heads // self.m, slice(None), heads % self.m
        new = self._reduced(self.rows[parts], starts, factors)
        if self.k == 1:
            corner = self._reduced(new.take(parts, axis=1).T, starts, factors)
            new[:, heads] = np.maximum(corner, corner.T)  # the same bits on both sides
        else:
            self.stored[columns] = new
            # The parts' rows hold, in the columns of new clusters, what those are reduced to: so this reduces both.
            new = self.rows[heads] = self._reduced(self.rows[parts], starts, factors)
            new = np.maximum(new, self.stored[columns])
        self.rows[heads] = new
        self.stored[columns] = new
        self.rows[gone] = np.inf
        self.stored[gone // self.m, :, gone % self.m] = np.inf
        for some in (gone, heads)[: 1 if self.sums else 2]:
            self.diagonal[some // self.m, some % self.m] = 0.0 if self.sums else np.inf
        self.weight[heads] = weight
        self.alike = self.alike and bool((weight == 1.0).all())
        self.names[gone] = -1
        self.alive = np.setdiff1d(self.alive, gone, assume_unique=True)
        if self.small:
            self.contract(gone[:0], gone[:0], factors[:0])
            return
        before, kept, searched = (self.near, self.smallest, self.tied), None, not len(self.fresh)
        if 2 * len(self.alive) < self.m:
            kept = self.contract(gone[:0], gone[:0], factors[:0])
        if searched or self.small:
            self._mark(heads, parts, kept, *before)
        else:  # joined before the first search, to catch up with an earlier run: nothing is known yet
            self.fresh = self.alive

    def _reduced(self, rows: NDArray[Any], starts: Indices, factors: Floats) -> NDArray[Any]:
        """Return one row for every group, given the rows of the parts: what ``reduceat`` does, but quick."""
        reduction: Any = self.criterion.reduction
        if self.criterion.equal_parts:
            rows = rows * factors[:, None]
        if len(rows) == 2 * len(starts):
            return np.asarray(reduction(rows[::2], rows[1::2]))
        sizes, total = np.diff(np.append(starts, len(rows))), rows[starts]
        for part in range(1, int(sizes.max())):
            some = np.flatnonzero(sizes > part)
            total[some] = reduction(total[some], rows[starts[some] + part])
        return total

    def contract(self, p: Indices, q: Indices, factors: Floats) -> Indices:
        """Move what is alive together, joining the rows and columns of p and q on the way; return who stays.

        Tables that are down to one cluster are left out.
        """
        k, m, kept = self.k, self.m, (self.names >= 0).nonzero()[0]
        if k == 1:
            new, to, width = np.searchsorted(kept, p), kept, len(kept)
            half = self._joined(self.rows, 0, kept, q, new, factors)
            whole = self._joined(half, 1, kept, q, new, factors)[None]
        else:
            count = np.bincount(kept // m, minlength=k)
            kept, lasting = kept[count[kept // m] > 1], count[p // m] > 1
            p, q, factors = p[lasting], q[lasting], factors[lasting]
            table, count = np.cumsum(count > 1) - 1, count[count > 1]
            k, width = len(count), int(count.max(initial=0))
            to = table[kept // m] * width + np.arange(len(kept)) - np.repeat(np.cumsum(count) - count, count)
            new = np.searchsorted(kept, p)
            half = _spaced(self._joined(self.rows, 0, kept, q, new, factors), to, k * width)
            turned = np.ascontiguousarray(half.reshape(k, width, m).transpose(0, 2, 1)).reshape(k * m, width)
            here, there = (table[places // m] * m + places % m for places in (kept, q))
            whole = _spaced(self._joined(turned, 0, here, there, new, factors), to, k * width)
            whole = whole.reshape(k, width, width)
        if self.sums and len(p):
            whole = np.maximum(whole, whole.transpose(0, 2, 1))  # the same bits on both sides
        names, weight = self.names[kept], self.weight[kept]
        if len(kept) < k * width:
            names, weight = np.full(k * width, -1), np.ones(k * width)
            names[to], weight[to] = self.names[kept], self.weight[kept]
        self._begin(whole, weight, names)
        return kept

    def _joined(
        self, table: NDArray[Any], axis: int, kept: Indices, q: Indices, new: Indices, factors: Floats
    ) -> NDArray[Any]:
        """Return the kept rows of a table (or columns, axis 1), those at ``new`` reduced with the rows q."""
        moved = table.take(kept, axis=axis)
        if len(q):
            some: Any = new if axis == 0 else (slice(None), new)
            one, other = moved[some], table.take(q, axis=axis)
            if self.criterion.equal_parts:
                one *= factors[:, :1] if axis == 0 else factors[:, 0]
                other *= factors[:, 1:] if axis == 0 else factors[:, 1]
            moved[some] = self.criterion.reduction(one, other)
        return moved

    def _mark(
        self, heads: Indices, parts: Indices, kept: Indices | None, near: Indices, smallest: Floats, tied: Indices
    ) -> None:
        """Say whose rows must be searched again after a join, and keep what is known about the others.

        ``near``, ``smallest``, ``tied``: as before, by places of then; ``kept``: who stayed, if all have moved since.
        """
        if self.small:
            return
        changed = np.zeros(len(near), dtype=bool)
        changed[parts] = True
        lost = changed[near]
        lost[tied] = True
        smallest[lost | changed] = -np.inf  # no one comes as near as that: they are searched anyway
        if kept is None:
            self.fresh, self.stale = heads, self.alive[(lost & ~changed)[self.alive]]
            return
        moved = np.full(len(near), -1)
        moved[kept] = self.alive
        self.near, self.smallest = moved[near[kept]], smallest[kept]
        self.fresh, self.stale = moved[heads], (lost & ~changed)[kept].nonzero()[0]


def _spaced(rows: NDArray[Any], to: Indices, height: int) -> NDArray[Any]:
    """Put rows where they belong; the others are those of empty places, infinitely far from everything."""
    if len(rows) == height:
        return rows
    spaced = np.full((height, rows.shape[1]), np.inf, dtype=rows.dtype)
    spaced[to] = rows
    return spaced
