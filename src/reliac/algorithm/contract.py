"""The contract of an engine: who is near whom, and what joining does to that. Nothing else differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

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
    """More ties at a nearest distance than an engine has room for; the literal engine goes on from there."""


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
