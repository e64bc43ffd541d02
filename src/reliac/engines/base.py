"""The contract of an engine: who is near whom, and what joining does to that. Nothing else differs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..links import Groups, Links
from ..problem import Problem


class Engine(Protocol):
    """The clusters of one level, and their distances.

    A cluster goes by the index of its first object, for ever: a group keeps the smallest index of its parts.
    """

    name: str

    def __init__(self, problem: Problem) -> None:
        """Begin with every object as a cluster of its own."""

    @staticmethod
    def memory(problem: Problem) -> int:
        """Estimate the bytes that a run allocates beyond its input."""

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
