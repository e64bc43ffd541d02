"""Columns of products in an order of cells, and a ball around every tile of them: far tiles are not looked at.

A search keeps of every row the nearest columns so far. A tile is left out if its ball is farther from all rows of a
block than what they have found already: then none of its columns can be among the nearest, and the radius that a search
proves, the distance of the first column that is not kept, holds for all of them too. Of a tile that is wide, as tiles
of noise are, columns are left out one by one, if they are too far from a ball around the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled.products import product_floor, product_share, times_transposed

#: Columns of a tile, and how many tiles a search looks at first; then twice as many, and so on.
TILE, FIRST_TILES = 128, 16

#: Columns of which an order is made, and down to which it is used: with fewer hardly a tile is far from all rows.
WORTH_ORDERING, WORTH_SKIPPING = 25_000, 4_000

#: Rows for each pivot of the order, and pivots at most.
ROWS_OF_CELL, MOST_CELLS = 256, 512

#: Rows of a cell belong to it up to a squared distance of so many times that of the nearest twentieth.
FAR, NEAREST = 2, 20

#: Blocks of rows after which skipping is given up if they have left out less than this share of the columns.
BLOCKS_TO_TRY, WORTH_A_BALL = 32, 0.1

#: Columns of neighbouring tiles are chosen one by one if that leaves out this share of them.
WORTH_CHOOSING = 0.5

#: By how much distances and balls are off for rounding in float32: a share of them, and of the lengths of rows.
ROUNDING, ABSOLUTE = 1e-5, 1e-6

#: Columns that are fitted into their balls at a time.
PLACES = 2**14

InThreads = Callable[[Callable[[int], Any], Sequence[int]], Any]
Limit = Callable[[], NDArray[np.float32]]
Some = slice | NDArray[np.int64]


def rank_pivots(pivots: NDArray[Any]) -> NDArray[np.int64]:
    """Return for every pivot its place in an order in which near ones come close together: as Ward draws them."""
    from scipy.cluster.hierarchy import leaves_list, ward

    rank = np.empty(len(pivots), np.int64)
    rank[leaves_list(ward(pivots.astype(np.float64)))] = np.arange(len(pivots))
    return rank


def order_by_cells(means: NDArray[np.float32], in_threads: InThreads) -> NDArray[np.int64]:
    """Return an order of rows in which near ones come close together: by the nearest of some pivots. O(n d pivots).

    Rows far from all pivots, as noise is, come last: among the others they would make every ball a wide one.
    """
    n = len(means)
    count = min(MOST_CELLS, n // ROWS_OF_CELL)
    pivots = means[np.random.default_rng(0).choice(n, count, replace=False)]
    square = np.einsum("ij,ij->i", pivots, pivots)
    cell, far = np.empty(n, np.int64), np.empty(n, np.float32)

    def assign(start: int) -> None:
        rows = means[start : start + 1024]
        distances = square - 2 * times_transposed(rows, pivots)
        nearest = distances.argmin(1)
        cell[start : start + 1024] = nearest
        far[start : start + 1024] = distances[np.arange(len(rows)), nearest] + np.einsum("ij,ij->i", rows, rows)

    in_threads(assign, range(0, n, 1024))
    by_far = np.lexsort((far, cell))
    size = np.bincount(cell, minlength=count)
    near = far[by_far[np.minimum(np.cumsum(size) - size + size // NEAREST, n - 1)]]
    return np.lexsort((rank_pivots(pivots)[cell], far > FAR * near[cell]))


class Points(NamedTuple):
    """Packed rows: representatives with one more column, their squares, what spreads add at least, and weights."""

    rows: NDArray[np.float32]
    square: NDArray[np.float32]
    spread: NDArray[np.float32]
    weight: NDArray[np.float32]


def points_of(rows: NDArray[np.float32], weight: NDArray[Any]) -> Points:
    """Return rows (m, d + 1), whose last column is squares plus spreads, as points."""
    square = _squares(rows[:, :-1])
    spread = np.maximum(rows[:, -1] * np.float32(1 - ROUNDING) - square, 0)
    return Points(rows, square, spread, weight.astype(np.float32))


def _rounding(points: Points) -> NDArray[np.float32]:
    """Return how far points may be from the means that they stand for."""
    return np.asarray(np.sqrt(points.square) * np.float32(ABSOLUTE))


def _squares(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


class Balls(NamedTuple):
    """Balls, and the least spread and weight of what is inside."""

    centres: NDArray[np.float32]  # (count, d + 1), 0 in the last column
    radius: NDArray[np.float32]
    spread: NDArray[np.float32]
    weight: NDArray[np.float32]

    def include(self, points: Points, ball: NDArray[np.int64]) -> None:
        """Make balls wide enough for points; ``ball`` (m,): in which one each belongs."""
        radius = np.sqrt(_squares((points.rows - self.centres[ball])[:, :-1]))
        lost = np.float32(np.sqrt(product_floor(points.rows.shape[1], np.float32)))
        np.maximum.at(self.radius, ball, radius * np.float32(1 + ROUNDING) + _rounding(points) + lost)
        np.minimum.at(self.spread, ball, points.spread)
        np.minimum.at(self.weight, ball, points.weight)


def empty_balls(count: int, width: int) -> Balls:
    """Return balls with nothing inside: infinitely far from everything."""
    nothing = [np.full(count, value, np.float32) for value in (-np.inf, np.inf, np.inf)]
    return Balls(np.zeros((count, width), np.float32), *nothing)


def least_distances(balls: Balls, points: Points, by_size: bool) -> NDArray[np.float32]:
    """Return (balls, points) the least that distances of points and what is in balls can be, spreads included.

    What is returned is a little less, for rounding.
    """
    width = points.rows.shape[1]
    sure = np.float32(1 - product_share(width, np.float32))
    least = times_transposed(balls.centres * np.float32(-2), points.rows)
    least += (_squares(balls.centres) * sure)[:, None]
    least += points.square * sure - np.float32(4 * product_floor(width, np.float32))
    np.sqrt(np.maximum(least, 0, out=least), out=least)
    least -= balls.radius[:, None]
    least -= _rounding(points)
    np.maximum(least, 0, out=least)
    least *= least
    least *= np.float32(1 - 4 * ROUNDING)
    least += balls.spread[:, None]
    least += points.spread
    if by_size:
        least /= (1 / points.weight + (1 / balls.weight)[:, None]) * np.float32(1 + 2 * ROUNDING)
    return least


class Tiles:
    """Packed columns by tiles, with a ball around each: tells which columns a block of rows has to look at.

    ``means`` (N, d + 1): representatives and, in the last column, their squares plus spreads, ``gone`` or more if a
    column is not to be found. ``weights`` (N,). Both may change; :meth:`moved` is told where.
    """

    def __init__(self, means: NDArray[np.float32], weights: NDArray[np.float64], gone: float) -> None:
        count, d = -(-len(means) // TILE), means.shape[1] - 1
        self.means, self.weights = means, weights
        self.points, self.balls = points_of(means, weights), empty_balls(count, d + 1)
        living = means[:, d] < gone
        for t in range(count):
            tile = slice(t * TILE, (t + 1) * TILE)
            self.balls.centres[t, :d] = means[tile, :d][living[tile]].sum(0) / max(1, living[tile].sum())
        self.moved(np.flatnonzero(living))
        self.blocks = self.looked_at = self.possible = 0

    def moved(self, places: NDArray[np.int64]) -> None:
        """Make balls wide enough for columns that were put there or have moved; they stay wide until made anew."""
        for start in range(0, len(places), PLACES):
            some = places[start : start + PLACES]
            points = points_of(self.means[some], self.weights[some])
            self.balls.include(points, some // TILE)
            for array, new in zip(self.points[1:], points[1:], strict=True):
                array[some] = new

    @property
    def worth_it(self) -> bool:
        """Whether enough columns were left out so far; in the beginning, as if they were."""
        return self.blocks < BLOCKS_TO_TRY or self.looked_at < (1 - WORTH_A_BALL) * self.possible

    def needed(self, rows: Points, by_size: bool, limit: Limit, reach: NDArray[Any] | None) -> Iterator[Some]:
        """Yield the columns that a block of rows has to look at, the nearest tiles first.

        ``limit``: tells how far the nearest of each row reach by now. ``reach`` (N,): how far columns want to be told
        of rows, or None.
        """
        least = least_distances(self.balls, rows, by_size)
        widest = None if reach is None else np.maximum.reduceat(reach, np.arange(0, len(reach), TILE))
        todo, size, done = np.argsort(least.min(1), kind="stable"), FIRST_TILES, 0
        around: Balls | None = None  # the ball of the rows, as long as it helps
        while len(todo):
            near_ones = _runs(np.sort(todo[:size]))
            runs: list[Some] = [*near_ones]
            if around is not None:
                runs = self._choose(near_ones, around, by_size, limit().max(), reach)
            for run in runs:
                done += run.stop - run.start if isinstance(run, slice) else len(run)
                yield run
            if size == FIRST_TILES:
                around = self._ball_around(rows)
            elif all(isinstance(run, slice) for run in runs):
                around = None
            todo, size = todo[size:], 2 * size
            near = least[todo] < limit()
            if widest is not None:
                near |= least[todo] < widest[todo, None]
            todo = todo[near.any(1)]
        # threads may lose a count: it only tells whether looking for balls is worth it
        self.blocks, self.looked_at = self.blocks + 1, self.looked_at + done
        self.possible += len(self.means)

    def _ball_around(self, rows: Points) -> Balls:
        ball = empty_balls(1, rows.rows.shape[1])
        ball.centres[0, :-1] = rows.rows[:, :-1].mean(0)
        ball.include(rows, np.zeros(len(rows.rows), np.int64))
        return ball

    def _choose(self, runs: list[slice], around: Balls, by_size: bool, farthest: Any, reach: Any) -> list[Some]:
        """Leave out columns of runs that are too far from the ball around all rows, where they are many."""
        whole: list[Some] = []
        single: list[NDArray[np.int64]] = []
        for run in runs:
            columns = Points(*(array[run] for array in self.points))
            least = least_distances(around, columns, by_size)[0]
            places = np.flatnonzero(least < (farthest if reach is None else np.maximum(farthest, reach[run])))
            if len(places) > WORTH_CHOOSING * len(least):
                whole.append(run)
            else:
                single.append(places + run.start)
        return [*whole, np.concatenate(single)] if single else whole


class Visits:
    """The columns that a block of rows looks at, as many at a time as go into one product.

    Gives them, a slice or chosen places, and what places begin with there: chosen columns get places after all others.
    """

    def __init__(self, n: int, runs: Iterable[Some], most: int) -> None:
        self.n, self.runs, self.most = n, runs, most
        self.chosen: list[NDArray[np.int64]] = []

    def __iter__(self) -> Iterator[tuple[Some, int]]:
        for run in self.runs:
            if isinstance(run, slice):
                for start in range(run.start, run.stop, self.most):
                    yield slice(start, min(start + self.most, run.stop)), start
            else:
                for start in range(0, len(run), self.most):
                    first = self.n + sum(map(len, self.chosen))
                    self.chosen.append(run[start : start + self.most])
                    yield self.chosen[-1], first

    def columns(self, places: NDArray[Any]) -> NDArray[Any]:
        """Return the columns of places; -1 stays."""
        if not self.chosen:
            return places
        chosen = np.concatenate(self.chosen).astype(places.dtype)
        return np.where(places < self.n, places, chosen[np.maximum(places - self.n, 0)])


def _runs(tiles: NDArray[np.int64]) -> list[slice]:
    """Return runs of columns of sorted tiles."""
    breaks = np.flatnonzero(np.diff(tiles) > 1)
    first, last = tiles[np.r_[0, breaks + 1]], tiles[np.r_[breaks, len(tiles) - 1]]
    return [slice(a * TILE, (b + 1) * TILE) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
