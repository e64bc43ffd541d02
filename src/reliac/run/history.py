"""What a run has established so far: links batch by batch, and how far that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import Batch
from ..algorithm.links import Links
from ..tree.clustertree import ClusterTree
from ..tree.walks import first_objects


@dataclass(frozen=True)
class Progress:
    """How far a run has come: told after every level, or after every few where levels are quick, and during searches.

    Attributes
    ----------
    level : levels done
    n_clusters : clusters left now
    n_objects : clusters at the start
    target : clusters at which the run stops at the latest
    seconds : since the start of this call
    searched : the share of the first search that is done; 1 from the first level on
    share : the share of the whole run that is done, an estimate; it never falls
    seconds_left : an estimate; infinite before anything is known
    """

    level: int
    n_clusters: int
    n_objects: int
    target: int
    seconds: float
    searched: float
    share: float
    seconds_left: float


@dataclass
class History:
    """The links established so far, with the distances that the user sees."""

    batches: list[Batch] = field(default_factory=list, init=False)
    n_links: int = field(default=0, init=False)
    last_level: int = field(default=0, init=False)  # the number of the newest level
    at_once: int = 0  # an engine that catches up may join along so many of the first links in one step

    def add(self, batch: Batch) -> None:
        """Write down the links of further levels."""
        if len(batch.level):
            self.batches.append(batch)
            self.n_links += len(batch.level)
            self.last_level = int(batch.level[-1])

    def whole(self) -> Batch:
        """Return all links as one batch."""
        empty = np.empty(0, np.intp)
        every = [Batch(empty, Links(empty, empty, np.empty(0)), np.empty((0, 2), np.intp)), *self.batches]
        pairs = [batch.object_pairs for batch in every if batch.object_pairs is not None]
        return Batch(
            np.concatenate([batch.level for batch in every]),
            Links(*(np.concatenate(column) for column in zip(*(batch.links for batch in every), strict=True))),
            np.concatenate(pairs),
        )

    def by_level(self) -> Iterator[Links]:
        """Go through the links level by level, as far as that makes a difference."""
        if not self.batches:
            return
        level, links, _ = self.whole()
        for rows in split_runs(np.maximum(level, level[self.at_once - 1]) if self.at_once else level):
            yield links.take(rows)


def each_level(batch: Batch) -> Iterator[Batch]:
    """Go through the levels of a batch."""
    for rows in split_runs(batch.level):
        pairs = None if batch.object_pairs is None else batch.object_pairs[rows]
        yield Batch(batch.level[rows], batch.links.take(rows), pairs)


def history_of(tree: ClusterTree, objects: NDArray[np.intp] | None = None) -> History:
    """Return the levels of a tree, all of them or those of some whole clusters, with the objects renumbered.

    The clusters may be those of any cut: what joins them with others is left out.
    """
    first = first_objects(tree)
    p, q = first[tree.links["left"]], first[tree.links["right"]]
    number = np.arange(tree.n_objects)
    kept = np.ones(len(p), dtype=bool)
    if objects is not None:
        number = np.full(tree.n_objects, -1)
        number[objects] = np.arange(len(objects))
        kept = (number[p] >= 0) & (number[q] >= 0)
    rows = np.flatnonzero(kept)
    level = np.concatenate(
        [np.full(len(part), count) for count, part in enumerate(split_runs(tree.links["level"][rows]), 1)] or [rows]
    )
    links = Links(number[p[rows]], number[q[rows]], tree.links["distance"][rows])
    history = History()
    history.add(Batch(level, links, None if tree.object_pairs is None else number[tree.object_pairs[rows]]))
    return history


def split_runs(values: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the positions of each run of equal values."""
    if not len(values):
        return []
    return np.split(np.arange(len(values)), np.flatnonzero(np.diff(values)) + 1)
