"""Scores of clusters by their means: sums of squares, Calinski-Harabasz, Davies-Bouldin, the simplified silhouette.

Rows are centred first, and a mean is found from its cluster's own first row, so that data far from 0 loses no digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..input.metrics import between, dense
from ..input.numbers import is_sparse
from .merging import Floats, Merging
from .silhouettes import Rivals, silhouettes

#: Rows are worked on in blocks of about this many numbers.
BLOCK = 2**19


class Rows:
    """Vectors in the order of a merging, as centred dense blocks; weights are how often each row counts."""

    def __init__(self, rows: Any, weights: Floats, merge: Merging) -> None:
        self.table = rows[merge.order] if is_sparse(rows) else dense(rows)[merge.order]
        self.weights = weights[merge.order]
        self.width = int(rows.shape[1])
        self.centre = np.zeros(self.width)
        self.centre = self.mean(0, len(self.weights))
        if not is_sparse(rows):
            self.table -= self.centre
            self.centre = np.zeros(self.width)

    def blocks(self, start: int, stop: int, across: int = 0) -> Iterator[tuple[slice, Floats]]:
        """Give the rows of a stretch, some at a time; ``across``: how many numbers are made of each."""
        step = max(1, BLOCK // max(1, self.width, across))
        for begin in range(start, stop, step):
            place = slice(begin, min(begin + step, stop))
            yield place, dense(self.table[place]) - self.centre if self.centre.any() else dense(self.table[place])

    def mean(self, start: int, stop: int) -> Floats:
        """Return the weighted mean of a stretch; that of equal rows is the row itself, to the last bit."""
        first = next(self.blocks(start, start + 1))[1][0]
        total = np.zeros(self.width)
        for place, rows in self.blocks(start, stop):
            total += self.weights[place] @ (rows - first)
        return np.asarray(first + total / self.weights[start:stop].sum())

    def squares(self, start: int, stop: int, mean: Floats) -> float:
        """Return the weighted sum of squared distances of a stretch to a point."""
        return float(
            sum(self.weights[place] @ ((rows - mean) ** 2).sum(axis=1) for place, rows in self.blocks(start, stop))
        )


class Means:
    """The mean and the mass of every cluster of a merging, and the sum of squares inside those of every cut."""

    def __init__(self, rows: Rows, merge: Merging) -> None:
        k = merge.finest
        self.masses = np.array([rows.weights[a:b].sum() for a, b in zip(merge.starts, merge.stops, strict=True)])
        self.points = np.empty((len(merge.starts), rows.width))
        within = 0.0
        for cluster, (start, stop) in enumerate(zip(merge.starts[:k].tolist(), merge.stops[:k].tolist(), strict=True)):
            self.points[cluster] = rows.mean(start, stop)
            within += rows.squares(start, stop, self.points[cluster])
        self.within = [within]  # of the finest cut, then after each step
        number = list(range(k))  # the cluster that has each slot
        for made, (left, right) in enumerate(merge.steps, k):
            a, b = number[left], number[right]
            share = self.masses[b] / self.masses[made]
            apart = self.points[b] - self.points[a]
            self.points[made] = self.points[a] + share * apart
            within += float(self.masses[a] * share * (apart @ apart))
            self.within.append(within)
            number[left] = made


def scores_by_means(rows: Rows, merge: Merging, wanted: set[int]) -> dict[str, Floats]:
    """Return the scores by means after 0, 1, 2, ... steps; NaN where they are not defined, or not wanted.

    ``wanted``: the numbers of clusters for which all scores are computed.
    """
    means = Means(rows, merge)
    k, steps = merge.finest, len(merge.steps)
    counts = k - np.arange(steps + 1)
    total = rows.squares(0, len(rows.weights), np.zeros(rows.width))
    within = np.array(means.within)
    between_clusters = np.where(counts > 1, np.maximum(total - within, 0.0), 0.0)
    spread, simplified = _pass_over_rows(rows, merge, means, wanted)
    bouldin = np.full(steps + 1, np.nan)
    for step, value in _davies_bouldin(merge, means, spread):
        bouldin[step] = value
    freedom = rows.weights.sum() - counts
    with np.errstate(divide="ignore", invalid="ignore"):  # one cluster; clusters of equal rows
        harabasz = np.where(freedom > 0, (between_clusters / (counts - 1)) / (within / freedom), np.nan)
    return {
        "within": within,
        "between": between_clusters,
        "calinski_harabasz": harabasz,
        "davies_bouldin": bouldin,
        "simplified_silhouette": simplified,
    }


def _davies_bouldin(merge: Merging, means: Means, spread: Floats) -> Iterator[tuple[int, float]]:
    """Give the Davies-Bouldin score after every step, from a table of which a step changes one row and one column.

    The ratio of two clusters is (spread of one + spread of the other) / distance of their means; the score is the mean
    over clusters of the largest. Clusters with one mean have the ratio 0, as in scikit-learn.
    """
    k = merge.finest
    points, spreads = means.points[:k].copy(), spread[:k].copy()
    table = np.zeros((k, k))
    for slot in range(k):
        table[slot, slot + 1 :] = _ratios(points, spreads, slot, slice(slot + 1, k))
    table += table.T
    left_over = np.ones(k, dtype=bool)
    for step in range(len(merge.steps) + 1):
        count = k - step
        if count > 1:
            yield step, float(table.max(axis=1).sum() / count)
        if step < len(merge.steps):
            left, right = merge.steps[step]
            points[left], spreads[left] = means.points[k + step], spread[k + step]
            left_over[right] = False
            table[right], table[:, right] = 0.0, 0.0
            row = _ratios(points, spreads, left, slice(0, k)) * left_over
            row[left] = 0.0
            table[left], table[:, left] = row, row


def _ratios(points: Floats, spreads: Floats, slot: int, others: slice) -> Floats:
    apart = np.sqrt(((points[others] - points[slot]) ** 2).sum(axis=1))
    both = spreads[others] + spreads[slot]
    return np.asarray(np.divide(both, apart, out=np.zeros(len(both)), where=apart > 0))


def _pass_over_rows(rows: Rows, merge: Merging, means: Means, wanted: set[int]) -> tuple[Floats, Floats]:
    """Compare every row with every mean once: the mean distance inside every cluster, and simplified silhouettes."""
    starts, stops, k = merge.starts, merge.stops, merge.finest
    inside, slots = np.zeros(len(starts)), merge.slots
    total, squared = np.zeros(len(merge.steps) + 1), np.zeros(len(merge.steps) + 1)
    for place, block in rows.blocks(0, len(slots), across=len(starts)):
        distance = between(block, means.points, "euclidean")
        weight = rows.weights[place]
        for cluster in np.flatnonzero((starts < place.stop) & (stops > place.start)).tolist():
            part = slice(max(starts[cluster] - place.start, 0), stops[cluster] - place.start)
            inside[cluster] += weight[part] @ distance[part, cluster]
        rivals = Rivals(distance[:, :k].copy(), slots[place].copy())
        own = distance[np.arange(len(block)), slots[place]]

        def joined(step: int, left: int, members: Any, distance: Floats = distance) -> tuple[Floats, Floats]:
            column = distance[:, k + step]
            return column, column[members]

        silhouettes(rivals, own, merge, means.masses, weight, wanted, joined, (total, squared))
    return inside / means.masses, total / rows.weights.sum()
