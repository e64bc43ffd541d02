"""Algorithm 1 on a NumPy matrix: small inputs, and what a reader reads first.

Each step looks up every cluster's nearest neighbours and reduces rows of one table. The only economy is that
a row is searched again only if it has to be: a row is *stale* when its cluster is new, when one of its
nearest neighbours is gone, or when a new cluster is as near as its nearest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import Batch
from ..algorithm.criteria import Floats, join_weights, link_distance
from ..algorithm.limits import join_groups, make_limits
from ..algorithm.links import Groups, Indices, Links, components, joining_links, nearest_objects
from ..input.problem import Problem

#: Rows are searched in blocks of about this many numbers.
BLOCK = 2**22

#: More ties than this per cluster are thinned out, where that cannot change a level.
MANY_TIES = 32


class LiteralEngine:
    """One table of stored pair numbers (see :mod:`reliac.algorithm.criteria`), one weight per cluster."""

    name = "literal"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        del n_jobs  # NumPy's own threads are all there are
        self.problem = problem
        self.criterion = problem.criterion
        n = problem.n_objects
        base = problem.base_distances()
        self.base = base.copy() if self.criterion.reduction is np.minimum else base
        self.table = base
        self.weight = np.ones(n) if self.criterion.equal_parts else problem.weights.copy()
        if self.criterion.reduction is np.add:
            self.table = self.table.astype(np.float64, copy=False)
            if (self.weight != 1).any():
                self.table *= self.weight[:, None] * self.weight[None, :]
        self.cluster_of = np.arange(n)  # of each object
        self.alive = np.arange(n)
        self.smallest = np.full(n, np.inf, dtype=self.table.dtype)
        self.neighbours = Links(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, self.table.dtype))
        self.stale = self.alive
        self.thinned = False  # whether links were left out that a later level may need
        self.one_by_one = problem.alpha == 0.0 and problem.tie_tolerance == 0.0
        self.first = np.zeros(n, np.intp)  # one by one: the first of each cluster's nearest, by index
        self.limits = make_limits(problem.constraints, n) if problem.constraints else None
        self.apart = np.zeros((n if self.limits else 0, n), dtype=bool)  # clusters with a cannot-link between them
        if problem.constraints:
            p, q = problem.constraints.cannot.T
            self.apart[p, q] = self.apart[q, p] = True

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Nothing: it does every problem that fits into memory."""
        return None

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Always, when nothing else does."""
        return True

    @staticmethod
    def memory(problem: Problem) -> int:
        """The table, and while it is made and reduced a second one (a third one for single); blocks of rows."""
        tables = 3 if problem.criterion.reduction is np.minimum else 2
        blocks = (
            1 + 2 * (problem.criterion.reduction is np.add) + 3 * problem.criterion.offset
        )  # while sums are divided
        numbers = problem.n_objects**2
        apart = numbers if problem.constraints else 0
        return 8 * (tables * numbers + blocks * min(numbers, BLOCK)) + apart + 500 * problem.n_objects

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""
        return len(self.alive)

    def levels(self, level: int) -> Iterator[Batch]:
        """Run the loop of the paper."""
        from ..algorithm.loop import step_by_step

        return step_by_step(self.problem, self, level, self.limits)

    def nearest(self) -> Links:
        """For every cluster p all clusters at its smallest distance, ties included, as links p-q.

        Where links are taken one by one, only the first of them: the smallest link of all, the first by index, is among
        those, from both sides.
        """
        if self.one_by_one:
            for rows in self._blocks(self.stale):
                distances = self.distances(rows)
                self.first[rows], self.smallest[rows] = self.alive[distances.argmin(axis=1)], distances.min(axis=1)
            self.stale = self.stale[:0]
            links = Links(self.alive, self.first[self.alive], self.smallest[self.alive])
            return links.take(np.isfinite(links.distance))
        found, count = [self.neighbours], len(self.neighbours.p)
        for rows in self._blocks(self.stale):
            found.append(self._search(rows))
            count += len(found[-1].p)
            if count > MANY_TIES * len(self.smallest) and self._may_thin():
                found, self.thinned = [self._thinned()], True
                break
        self.stale = self.stale[:0]
        self.neighbours = _together(found)
        return self.neighbours

    def _may_thin(self) -> bool:
        """Tell whether a level takes all links: then a forest of equal links says as much as all."""
        return self.problem.alpha == 1.0 and self.problem.tie_tolerance == 0.0 and self.limits is None

    def _thinned(self) -> Links:
        """Return a spanning forest of the reliable links, and each cluster's link to its first nearest neighbour.

        Where all distances are equal there are n^2 reliable links; the forest connects the same groups with fewer than
        n. All links of a connected group are equally long (exact ties), so the forest can be grown block by block, by
        the first links in order of their indices. It holds for one level only: a link that was left out because it was
        not reliable may become so at the next.
        """
        n = len(self.smallest)
        for rows in self._blocks(self.alive):
            self.smallest[rows] = self.distances(rows).min(axis=1)
        forest = Links(*(column[:0] for column in self.neighbours))
        firsts, group = [], np.arange(n, dtype=np.int32)
        for rows in self._blocks(self.alive):
            links = self._search(rows)
            firsts.append(links.take(np.flatnonzero(np.diff(links.p, prepend=-1))))
            reliable = (links.p < links.q) & (links.distance == self.smallest[links.q])
            forest = joining_links(_together([forest, links.take(reliable & (group[links.p] != group[links.q]))]), n)
            group = components(forest, n)
        links = _together([*firsts, forest, Links(forest.q, forest.p, forest.distance)])
        return links.take(np.unique(links.p * n + links.q, return_index=True)[1])

    def _blocks(self, rows: Indices) -> list[Indices]:
        """Split rows so that the distances of a block fit into the cache."""
        at_once = max(1, BLOCK // max(1, len(self.alive)))
        return [rows[start : start + at_once] for start in range(0, len(rows), at_once)]

    def _search(self, rows: Indices) -> Links:
        """Scan whole rows: all clusters as near as the nearest."""
        distances = self.distances(rows)
        self.smallest[rows] = smallest = distances.min(axis=1, initial=np.inf)
        with np.errstate(invalid="ignore"):
            tied = (distances <= smallest[:, None] * self.problem.tie_factor) & np.isfinite(distances)
        row, column = np.nonzero(tied)
        return Links(rows[row], self.alive[column], distances[row, column])

    def distances(self, rows: Indices) -> Floats:
        """Distances of some clusters to all clusters, (len(rows), n_clusters); infinite to themselves."""
        spread = self.table.diagonal()
        distances = link_distance(
            self.criterion,
            self.table[np.ix_(rows, self.alive)],
            spread[rows, None],
            spread[None, self.alive],
            self.weight[rows, None],
            self.weight[None, self.alive],
        )
        distances[rows[:, None] == self.alive[None, :]] = np.inf
        if self.limits is not None:
            sizes = self.limits.size[rows, None] + self.limits.size[None, self.alive]
            distances[self.apart[np.ix_(rows, self.alive)] | (sizes > self.limits.max_size)] = np.inf
        return distances

    def object_links(self, links: Links) -> NDArray[np.intp]:
        """For each link its two nearest objects; ties to the smallest indices."""
        pairs = np.empty((len(links.p), 2), dtype=np.intp)
        for row, (p, q) in enumerate(zip(links.p, links.q, strict=True)):
            i, j = np.flatnonzero(self.cluster_of == p), np.flatnonzero(self.cluster_of == q)
            pairs[row] = nearest_objects(self.base, i, j)
        return pairs

    def join(self, groups: Groups) -> None:
        """Reduce the parts' rows and columns to those of their group, and mark what must be searched again."""
        parts, starts, heads = groups.parts, groups.starts, groups.heads
        factors, weights = join_weights(self.criterion, self.weight[parts], starts)
        reduce = self.criterion.reduction
        rows = self.table[parts]
        if self.criterion.equal_parts:
            rows *= factors[:, None]
        rows = reduce.reduceat(rows, starts, axis=0)
        corner = rows[:, parts]
        if self.criterion.equal_parts:
            corner *= factors
        corner = reduce.reduceat(corner, starts, axis=1)
        rows[:, heads] = np.triu(corner) + np.triu(corner, 1).T  # the same bits on both sides
        self.table[heads] = rows
        self.table[:, heads] = rows.T
        self.weight[heads] = weights
        if self.limits is not None:
            join_groups(self.limits, groups)
            self._keep_apart(groups)

        gone = np.setdiff1d(parts, heads, assume_unique=True)
        becomes = np.arange(len(self.cluster_of))
        becomes[parts] = np.repeat(heads, np.diff(np.append(starts, len(parts))))
        self.cluster_of = becomes[self.cluster_of]
        self.alive = np.setdiff1d(self.alive, gone, assume_unique=True)
        self._mark_stale(parts, heads, gone)

    def _keep_apart(self, groups: Groups) -> None:
        """Let a group be apart from everything that one of its parts is apart from."""
        parts, starts, heads = groups.parts, groups.starts, groups.heads
        rows = np.logical_or.reduceat(self.apart[parts], starts, axis=0)
        rows[:, heads] = np.logical_or.reduceat(rows[:, parts], starts, axis=1)
        self.apart[heads] = rows
        self.apart[:, heads] = rows.T

    def _mark_stale(self, parts: Indices, heads: Indices, gone: Indices) -> None:
        if self.thinned:
            self.stale, self.thinned = self.alive, False
            self.neighbours = self.neighbours.take(slice(0, 0))
            return
        changed = np.zeros(len(self.smallest), dtype=bool)
        changed[parts] = True
        if self.one_by_one:
            waiting = np.intersect1d(self.stale, self.alive, assume_unique=True)  # joins may come before any search
            self.stale = np.unique(np.concatenate([waiting, heads, self._without_first(changed, heads)]))
            return
        stale = np.zeros(len(self.smallest), dtype=bool)
        stale[heads] = True
        stale[self.neighbours.p[changed[self.neighbours.q]]] = True
        for some in self._blocks(heads):
            distances = self.distances(some)
            near = (distances <= self.smallest[self.alive] * self.problem.tie_factor).any(axis=0)
            stale[self.alive[near]] = True
        stale[gone] = False
        self.stale = np.flatnonzero(stale)
        self.neighbours = self.neighbours.take(~(stale | changed)[self.neighbours.p])

    def _without_first(self, changed: NDArray[np.bool_], heads: Indices) -> Indices:
        """Let new clusters be the first of the nearest where they are, and return who has lost its first."""
        lost = changed[self.first[self.alive]]
        for head in heads:
            distances = self.distances(np.array([head]))[0]
            nearest, first = self.smallest[self.alive], self.first[self.alive]
            takes = (distances < nearest) | ((distances == nearest) & (head <= first))
            self.first[self.alive[takes]], self.smallest[self.alive[takes]] = head, distances[takes]
            lost &= ~takes
        return self.alive[lost]


def _together(some: list[Links]) -> Links:
    return Links(*(np.concatenate(column) for column in zip(*some, strict=True)))
