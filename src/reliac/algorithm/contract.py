"""The contract of an engine: who is near whom, and what joining does to that. Nothing else differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..input.problem import Problem
from .links import Groups, Indices, Links


class Batch(NamedTuple):
    """The links of one level, or of several in a row, with the distances that engines compare."""

    level: Indices  # of every link, never falling
    links: Links
    object_pairs: NDArray[np.intp] | None  # for each link its two nearest objects (single criterion)


class TooManyTies(MemoryError):
    """More ties at a nearest distance than an engine has room for; another engine goes on from there."""


class LeftToOthers(Exception):
    """An engine cannot go on; the one that it names, or whom ``auto`` takes without it, goes on from there."""

    def __init__(self, heir: str | None, why: str) -> None:
        super().__init__(why)
        self.heir = heir


class NoRoom(LeftToOthers, MemoryError):
    """An engine ran out of memory of its own, as on a device."""


class Clusters(NamedTuple):
    """Clusters that are left, m of them, and what is stored of every pair: what one engine leaves to another."""

    stored: NDArray[np.float64]  # (m, m); where sums are stored, those inside each cluster are on the diagonal
    weight: NDArray[np.float64]
    name: NDArray[np.int64]  # the first object of each


class Engine(Protocol):
    """The clusters of one level, and how the next levels come about.

    A cluster goes by the index of its first object, for ever: a group keeps the smallest index of its parts.
    """

    name: str

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        """Begin with every object as a cluster of its own."""

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say why this engine cannot do the problem; None if it can."""

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether ``auto`` should take this engine for a problem that it can do."""

    @staticmethod
    def memory(problem: Problem) -> int:
        """Estimate the bytes that a run allocates beyond its input."""

    def join(self, groups: Groups) -> None:
        """Make every group one cluster, to catch up with levels that were made before."""

    def levels(self, level: int) -> Iterator[Batch]:
        """Develop the clusters from ``level`` on until the problem's stopping rules hold, batch after batch."""


class Pace(NamedTuple):
    """How far an engine has come with what takes its time; the time that is left is estimated from it.

    ``after``, ``rising`` and ``falling`` say what is expected, from measured runs. A run that turns out otherwise is
    believed more and more. When the share u of all joins is done, so is 1 - (1 - u^rising)^falling of the levels' work.
    """

    searched: float  # the share of the first search that is done, from 0 to 1
    after: float  # what all levels are expected to take, in units of the whole first search
    rising: float = 1.0  # above 1: the first joins take less than those in the middle
    falling: float = 1.0  # above 1: the last joins take less


#: What an engine may find before it is stopped: arrays by name, which another process can go on with.
Found = dict[str, NDArray[Any]]


@runtime_checkable
class LongEngine(Protocol):
    """What an engine may have besides, if its first search can take long: it tells its pace, and is not lost if killed.

    The run puts its own function into ``tell`` before the levels begin. The engine calls it every now and then, in the
    thread that asked for the levels. Then, after each batch, and after Ctrl-C, ``found`` is asked for.
    """

    tell: Callable[[Pace], None]

    def found(self, n_clusters: int) -> Found | None:
        """Return what was found and took long, and is of use to a run that has so many clusters left.

        None if the engine is between two states, or ahead of that number; no arrays if it never tells.
        """

    def go_on_from(self, found: Found) -> None:
        """Take over what an earlier run of the same problem found, after its levels have been joined."""


class EarlierLists(NamedTuple):
    """Lists that another run has made, and the tree that it made, by the numbers that rows have now.

    ``found``: ``levels`` (of each list the level it was made at), ``clusters``, ``counts`` (entries of each list),
    ``radius`` and ``entries``, clusters by their first rows. The nodes of the tree are its ``n_rows`` rows, then what
    links make, in order: for every node ``first``, its first row now (-1 if that is gone), ``parent`` (-1: none), and
    the levels from which on, ``birth``, and before which, ``death``, it was a cluster. ``nodes``: of every row of now
    the row that it was in that tree, -1 for new ones.
    """

    found: Found
    n_rows: int
    nodes: NDArray[np.int64]
    first: NDArray[np.int64]
    parent: NDArray[np.int64]
    birth: NDArray[np.int64]
    death: NDArray[np.int64]


@runtime_checkable
class ListKeeper(Protocol):
    """What an engine may have besides, if what its searches find is of use to a run on more or fewer rows."""

    def keep_lists(self) -> None:
        """Keep the lists that searches make from now on."""

    def kept_lists(self) -> Found:
        """Return the lists kept, as :class:`EarlierLists` has them; no arrays if there are none."""

    def use_lists(self, earlier: EarlierLists) -> None:
        """Let lists of another run help searches."""


class SteppingEngine(Protocol):
    """An engine that answers step by step, for the loop in :mod:`reliac.algorithm.loop`."""

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""

    def nearest(self) -> Links:
        """For every cluster p all clusters at its smallest distance, ties included, as links p-q."""

    def object_links(self, links: Links) -> NDArray[np.intp]:
        """For each link (p, q) its two nearest objects, (len(links), 2); ties to the smallest indices.

        Asked only of criteria that take the smallest distance.
        """

    def join(self, groups: Groups) -> None:
        """Make every group one cluster; on return its parts are gone."""
