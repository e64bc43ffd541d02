"""The way from a fine cut to a coarse one: cuts are nested, so each step joins two clusters and changes nothing else.

Scores of many numbers of clusters follow these steps, and what a step does not change is not computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..tree.clustertree import ClusterTree
from ..tree.cuts import join_order, labels_of_links
from ..tree.walks import first_objects

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Merging(NamedTuple):
    """The clusters of the finest of some cuts, and the steps that join them into those of the coarsest.

    Clusters have numbers: those of the finest cut 0..k-1, and the one that step j makes k + j. In ``order`` every one
    of them is one stretch. ``steps`` joins clusters by their slots: a cluster of the finest cut has its own number as
    slot, and what a step makes takes the slot of its left part.
    """

    order: Indices  # the objects, cluster by cluster
    starts: Indices  # where each cluster begins in that order, those of the finest cut first
    stops: Indices
    steps: list[tuple[int, int]]
    rows: Indices  # the links that the steps stand for

    @property
    def finest(self) -> int:
        """The number of clusters of the finest cut."""
        return len(self.starts) - len(self.steps)

    @property
    def slots(self) -> Indices:
        """The slot of every place in the order, in the finest cut."""
        k = self.finest
        slots = np.empty(len(self.order), dtype=np.intp)
        for slot, (start, stop) in enumerate(zip(self.starts[:k].tolist(), self.stops[:k].tolist(), strict=True)):
            slots[start:stop] = slot
        return slots


def merging(tree: ClusterTree, finest: int, coarsest: int, by: str) -> Merging:
    """Return the steps from ``finest`` clusters to ``coarsest``; both are cuts that the tree has."""
    n = tree.n_objects
    joins = join_order(tree, by)
    rows = joins[n - finest : n - coarsest]
    kept = np.zeros(len(tree.links), dtype=bool)
    kept[joins[: n - finest]] = True
    first = first_objects(tree)
    labels = labels_of_links(tree, kept, first)
    order = tree.leaf_order
    begins = np.flatnonzero(np.r_[True, np.diff(labels[order]) != 0])
    starts, stops = np.empty(finest, dtype=np.intp), np.empty(finest, dtype=np.intp)
    starts[labels[order[begins]]], stops[labels[order[begins]]] = begins, np.r_[begins[1:], n]
    steps = list(zip(*(labels[first[tree.links[side][rows]]].tolist() for side in ("left", "right")), strict=True))
    begin, end = starts.tolist(), stops.tolist()
    made: list[tuple[int, int]] = []
    for left, right in steps:
        begin[left], end[left] = min(begin[left], begin[right]), max(end[left], end[right])
        made.append((begin[left], end[left]))
    extents = np.array(made, dtype=np.intp).reshape(-1, 2)
    return Merging(order, np.append(starts, extents[:, 0]), np.append(stops, extents[:, 1]), steps, rows)
