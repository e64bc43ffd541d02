"""Silhouettes of many cuts at once: (b - a) / max(a, b), with a how far an object is from its own cluster and b how far
from the nearest other one. A step of a merging changes one column of what each object knows about the clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..input import condensed
from ..input.metrics import METRICS, MetricLike, between, dense, options_of, whole_rows
from ..input.numbers import is_sparse
from ..input.objects import Distances, Objects, Vectors
from ..machine import check_memory
from .merging import Floats, Indices, Merging

#: Distances are worked on in blocks of about this many numbers.
BLOCK = 2**21


class Rivals:
    """Of some objects the nearest cluster that is not their own, while clusters are joined.

    ``table``: how far each object is from the cluster of each slot; ``own``: the slot of its own cluster. Both are
    written to.
    """

    def __init__(self, table: Floats, own: Indices) -> None:
        self.table, self.own = table, own
        self.table[np.arange(len(own)), own] = np.inf
        self.which = table.argmin(axis=1)
        self.best = table[np.arange(len(own)), self.which]

    def join(self, left: int, right: int, column: Floats) -> None:
        """Join two slots; ``column``: how far the objects are from what they make."""
        self.own[self.own == right] = left
        mine = self.own == left
        self.table[:, left], self.table[:, right] = np.where(mine, np.inf, column), np.inf
        again = mine | (self.which == left) | (self.which == right)
        closer = ~again & (column < self.best)
        self.best[closer], self.which[closer] = column[closer], left
        rows = np.flatnonzero(again)
        self.which[rows] = self.table[rows].argmin(axis=1)
        self.best[rows] = self.table[rows, self.which[rows]]


def silhouettes(
    rivals: Rivals,
    own: Floats,
    merge: Merging,
    masses: Floats,
    weights: Floats,
    wanted: set[int],
    joined: Callable[[int, int, Indices], tuple[Floats, Floats]],
    sums: tuple[Floats, Floats],
) -> None:
    """Add the silhouettes of some objects, and their squares, to the sums after every step.

    ``own``: how far each object is from its own cluster; ``joined``: of a step, how far all of them are from the
    cluster that it makes, and how far its members are. In a cluster of mass 1 or less an object has the silhouette 0.
    """
    k = merge.finest
    lonely = masses <= 1.0
    alone = lonely[rivals.own]
    for step in range(len(merge.steps) + 1):
        if k - step in wanted and k - step > 1:
            larger = np.maximum(own, rivals.best)
            found = np.divide(rivals.best - own, larger, out=np.zeros(len(own)), where=(larger > 0) & ~alone)
            sums[0][step] += weights @ found
            sums[1][step] += weights @ found**2
        if step < len(merge.steps):
            left, right = merge.steps[step]
            members = np.flatnonzero((rivals.own == left) | (rivals.own == right))
            column, own[members] = joined(step, left, members)
            alone[members] = lonely[k + step]
            rivals.join(left, right, column)


def silhouettes_by_distances(
    distances: Callable[[Indices], Floats], places: Indices, weights: Floats, merge: Merging, wanted: set[int]
) -> tuple[Floats, Floats]:
    """Return the mean silhouette of the objects at some places after every step, and its deviation between objects.

    ``distances``: of some places, how far they are from all places in the order of the merging. A row of weight w
    counts as w equal rows, so in its own cluster there are w - 1 others at distance 0.
    """
    k, slots = merge.finest, merge.slots
    mass = np.array([weights[a:b].sum() for a, b in zip(merge.starts, merge.stops, strict=True)])
    sums = np.zeros(len(merge.steps) + 1), np.zeros(len(merge.steps) + 1)
    order = np.argsort(merge.starts[:k])
    uneven = bool((weights != 1.0).any())
    step = max(1, BLOCK // len(slots))
    for begin in range(0, len(places), step):
        some = places[begin : begin + step]
        found = distances(some) * weights if uneven else distances(some)
        totals = np.empty((len(some), k))
        totals[:, order] = np.add.reduceat(found, merge.starts[:k][order], axis=1)
        _add_block(totals, slots[some], weights[some], mass, merge, wanted, sums)
    count = weights[places].sum()
    mean = sums[0] / count
    return mean, np.sqrt(np.maximum(sums[1] / count - mean**2, 0.0))


def _add_block(
    totals: Floats,
    own: Indices,
    weights: Floats,
    mass: Floats,
    merge: Merging,
    wanted: set[int],
    sums: tuple[Floats, Floats],
) -> None:
    """Follow the steps with sums of distances to clusters: those to a new cluster are the sums of two columns."""
    k = merge.finest
    others = np.where(mass > 1.0, mass - 1.0, np.inf)
    rivals = Rivals(totals / mass[:k], own.copy())
    inside = totals[np.arange(len(own)), own] / others[own]
    slot_sums = totals.copy()

    def joined(step: int, left: int, members: Indices) -> tuple[Floats, Floats]:
        slot_sums[:, left] += slot_sums[:, merge.steps[step][1]]
        column = slot_sums[:, left]
        return column / mass[k + step], column[members] / others[k + step]

    silhouettes(rivals, inside, merge, mass, weights, wanted, joined, sums)


# --- distances, row by row ---


def distance_rows(objects: Objects, metric: MetricLike, order: Indices) -> Callable[[Indices], Floats]:
    """Return a function of places in an order: the distances of the objects there to all, in the same order."""
    if isinstance(objects, Distances):
        return _given_rows(objects.matrix, objects.n, order)
    if isinstance(objects, Vectors) and not is_sparse(objects.rows):
        gaps = isinstance(metric, str) and METRICS[metric].gaps  # such rows know more than numbers
        table = (objects.rows if gaps else dense(objects.rows))[order]
        options = options_of(table, metric)
        return lambda places: between(table[places], table, metric, **options)
    if isinstance(objects, Vectors) and isinstance(metric, str):
        of_slice = whole_rows(objects.rows[order], metric)
        return lambda places: np.vstack([of_slice(slice(place, place + 1)) for place in places.tolist()])
    return _given_rows(objects.condensed_distances(metric), objects.n, order)


def _given_rows(matrix: Any, n: int, order: Indices) -> Callable[[Indices], Floats]:
    if matrix.ndim == 1:
        step = "score fewer objects, or pass the distances as a square matrix"
        check_memory(matrix.itemsize * n**2, f"A square matrix of the distances of {n} objects", step)
        matrix = condensed.to_square(matrix, n)
    return lambda places: np.asarray(matrix[order[places]][:, order], dtype=np.float64)


def picked(n: int, sample: int, seed: int) -> Indices:
    """Return so many of n places, in order; the same for the same seed."""
    return np.sort(np.random.default_rng(seed).choice(n, size=sample, replace=False)).astype(np.intp)
