"""The nearest neighbours of all objects as a table, and the graph that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, option
from .graph import Graph, in_rows
from .metrics import MetricLike, metric_name
from .numbers import Names

#: What a tree says about the neighbours that it was made from: how many, and the seed if they are approximate.
ORIGIN = ("neighbors", "approximate")


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest other rows of every row: their indices and distances, (n, k) each, the nearest first.

    :func:`reliac.neighbors` makes it. Neighbours that another library has found can be put into one by hand: where
    two rows list each other, their distance is the smaller of the two.
    """

    indices: NDArray[np.intp]
    distances: NDArray[Any]
    metric: MetricLike = "euclidean"
    approximate: int | None = None  # the seed of an approximate search; None: they are exact

    def __post_init__(self) -> None:
        """Refuse tables that do not list neighbours."""
        object.__setattr__(self, "indices", np.asarray(self.indices))
        object.__setattr__(self, "distances", np.asarray(self.distances))
        shape, kinds = self.indices.shape, (self.indices.dtype.kind, self.distances.dtype.kind)
        if len(shape) != 2 or self.distances.shape != shape or kinds[0] not in "iu" or kinds[1] not in "fiu":
            raise ValueError(
                explain(
                    f"Neighbours of shapes {shape} and {self.distances.shape}, {self.indices.dtype} and "
                    f"{self.distances.dtype}",
                    "whole numbers and distances of one shape, (rows, neighbours)",
                    "let reliac.neighbors(X, k) find them",
                )
            )
        own = np.arange(len(self.indices))[:, None]
        bad = (self.indices < 0) | (self.indices >= len(self.indices)) | (self.indices == own)
        bad |= ~(np.isfinite(self.distances) & (self.distances >= 0))
        if bad.any():
            i, e = (int(place) for place in np.argwhere(bad)[0])
            raise ValueError(
                explain(
                    f"Row {i} has the neighbour {self.indices[i, e]} at distance {self.distances[i, e]}",
                    f"other rows, 0 to {len(self.indices) - 1}, at finite distances of at least 0",
                    "drop the row itself, and what was not found",
                )
            )

    @property
    def k(self) -> int:
        """The number of neighbours of a row."""
        return int(self.indices.shape[1])

    def __repr__(self) -> str:
        """Say what was found, not all of it."""
        how = "exact" if self.approximate is None else f"approximate, seed {self.approximate}"
        return f"Neighbors: {self.k} of each of {len(self.indices)} rows, metric {metric_name(self.metric)!r}, {how}"

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
        """Return the pairs of which at least one lists the other as rows of a graph: starts, ends, distances."""
        n = len(self.indices)
        p, q = np.repeat(np.arange(n), self.k), self.indices.ravel().astype(np.int64)
        key = np.minimum(p, q) * n + np.maximum(p, q)
        order = np.argsort(key, kind="stable")
        key, distance = key[order], self.distances.ravel()[order]
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        key, distance = key[starts], np.minimum.reduceat(distance, starts)
        return in_rows(key // n, key % n, distance, n)

    def graph(self) -> Any:
        """Return the neighbours as a symmetric scipy sparse array of distances.

        Rows i and j have an entry if at least one of the two lists the other. Distances of 0 are entries too.
        """
        from scipy.sparse import csr_array

        n = len(self.indices)
        starts, ends, distances = self.edges()
        p, places = np.repeat(np.arange(n, dtype=np.int32), np.diff(starts)), np.arange(len(ends))
        both = csr_array((np.r_[places, places], (np.r_[ends, p], np.r_[p, ends])), shape=(n, n))
        return csr_array((distances[both.data], both.indices, both.indptr), shape=(n, n))


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighborGraph(Graph):
    """The graph of nearest neighbours: what every row lists, and who lists it."""

    k: int
    metric: str  # its name
    approximate: int | None = None

    labelled: ClassVar[bool] = False  # the user knows rows

    @property
    def how_to_join(self) -> str:
        """Say what joins components."""
        return f"have the components joined in the end: {option('join_components', True)}"

    @property
    def options(self) -> dict[str, Any]:
        """What missing pairs mean, and where the listed ones come from."""
        seed = {} if self.approximate is None else {"approximate": self.approximate}
        return {**super().options, "neighbors": self.k, **seed, "metric": self.metric}


def graph_of(found: Neighbors, names: Names | None) -> NeighborGraph:
    """Return neighbours as a graph."""
    starts, ends, distances = found.edges()
    name = metric_name(found.metric)
    return NeighborGraph(starts, ends, distances, names=names, k=found.k, metric=name, approximate=found.approximate)


def check_found(found: Neighbors, n: int, metric: MetricLike) -> Neighbors:
    """Refuse neighbours of other rows, or of another metric."""
    if len(found.indices) != n:
        raise ValueError(
            explain(
                f"neighbors of {len(found.indices)} rows for {n} rows",
                "those of the same rows",
                "find them again with reliac.neighbors(X, k)",
            )
        )
    if found.metric != metric:
        raise ValueError(
            explain(
                f"{option('metric', metric_name(metric))} with neighbors that were found by metric "
                f"{metric_name(found.metric)!r}",
                "one metric for both",
                f"pass {option('metric', metric_name(found.metric))}, or find the neighbours again",
            )
        )
    return found
