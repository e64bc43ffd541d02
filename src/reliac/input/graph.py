"""The third kind of input: a graph. Only listed pairs, its edges, have a distance.

What a pair without an edge means is said by ``missing``:

* "far": it is farther than every edge. The tree is that of the matrix in which missing pairs have one far distance M,
  cut below M. Where distances are added up (average, weighted) M is the largest edge unless a number is given; where
  they are only compared (single, complete) no number is needed.
* "ignore": only listed pairs count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import CRITERIA, Criterion
from ..errors import explain, option, other_values
from .fingerprints import exact_fingerprint
from .metrics import MetricLike
from .numbers import Names
from .objects import Objects
from .overflow import check_sums

if TYPE_CHECKING:
    from typing import Self

#: What ``missing`` may be, besides a number.
MISSING = ("far", "ignore")

#: What a user of an estimator with ``connectivity`` can do about a graph of several parts.
ADD_EDGES = "add edges that join the components: connectivity is never completed"

#: Stands for M where distances are only compared, and no number is needed. A tie three times as long is no overflow.
BEYOND = float(np.finfo(np.float64).max) / 4

#: Edges that are looked at in one go: what that takes beside them is little.
EDGES_AT_ONCE = 2**20

#: Objects whose numbers go up to so many times the number of edges are numbered by a table: quicker than a search.
MOST_GAPS = 4

#: Of more edges than this evenly spaced ones are hashed.
EDGES_HASHED = 2**18

#: Up to so many objects the plain engine may fill in the whole matrix. It adds M up and divides, and what comes out may
#: be less than M by this share; a single edge between two clusters makes far more of a difference.
ADDED_UP, ROUNDING = 10_000, 1e-13

#: Edges as a graph keeps them: starts, ends and distances.
EdgeRows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]

#: The criteria whose distances follow from those of listed pairs alone.
ON_GRAPHS = tuple(name for name, row in CRITERIA.items() if not row.geometric)


@dataclass(frozen=True, eq=False)
class Graph(Objects):
    """Listed pairs p < q and their distances, each once, sorted: the upper half of a CSR matrix.

    Where the user's own arrays are like that already they are not copied; where they are in another order the copy can
    be let go.
    """

    starts: NDArray[np.int64]  # (n + 1,): where the edges of each object to later ones begin
    ends: NDArray[np.int32]  # (m,): the later object of each
    distances: NDArray[Any]  # (m,): float32 or float64
    missing: float | str = field(default="far", kw_only=True)  # "far", "ignore", or the far distance
    # Where objects are clusters that were joined elsewhere (weights tell their sizes): of every edge the number of
    # object pairs whose distances were added up, or only the two nearest objects as one number, twice: (m, 2), seen
    # from p and seen from q.
    counts: NDArray[np.float64] | None = field(default=None, kw_only=True)
    pairs: NDArray[np.int64] | None = field(default=None, kw_only=True)
    _again: Callable[[], EdgeRows] | None = field(default=None, init=False, repr=False)

    #: Whether an average is the mean over the parts of two clusters that have an edge, each pair of parts by the number
    #: of object pairs that it stands for, and not the mean over edges.
    by_sizes: ClassVar[bool] = False
    may_end_in_forest: ClassVar[bool] = True
    called: ClassVar[str] = "a graph"
    labelled: ClassVar[bool] = True
    how_to_fit: ClassVar[str] = "drop long edges, or cluster the components one by one"

    @property
    def n(self) -> int:
        """The number of objects."""
        return len(self.starts) - 1

    @property
    def n_edges(self) -> int:
        """The number of listed pairs."""
        return int(self.starts[-1])

    def make_again_by(self, put_in_order: Callable[[], EdgeRows]) -> None:
        """Tell what makes the edges anew, where they are a sorted copy of the user's arrays."""
        self.__dict__["_hash"] = self.data_fingerprint()
        object.__setattr__(self, "_again", put_in_order)

    def let_go(self) -> None:
        """Give back the memory of edges that can be made again; they are when somebody asks for them."""
        if self._again is not None:
            for name in ("ends", "distances"):
                self.__dict__.pop(name, None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make edges again that were let go, since Python asks here for what is not there; refuse other edges."""
            if name not in ("ends", "distances") or self._again is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            again = replace(self, **dict(zip(("starts", "ends", "distances"), self._again(), strict=True)))
            if again.n_edges != self.n_edges or again.data_fingerprint() != self.__dict__["_hash"]:
                raise ValueError(other_values("The arrays of edges hold"))
            self.__dict__["ends"], self.__dict__["distances"] = again.ends, again.distances
            return getattr(again, name)

    @property
    def number_type(self) -> str:
        """Empty: engines convert distances to float64 sums before compiled code reads them."""
        return ""

    @cached_property
    def largest(self) -> float:
        """The largest distance of an edge; 0 without edges."""
        return float(self.distances.max(initial=0.0))

    @property
    def engines(self) -> tuple[str, ...] | None:
        """Those for graphs; and the plain one where missing pairs have a distance."""
        return ("graph", "spanning") if self.missing == "ignore" else ("graph", "spanning", "literal")

    def far(self, criterion: Criterion) -> float:
        """Return the distance M of missing pairs; infinite where distances are only compared."""
        if self.missing == "ignore" or criterion.reduction is not np.add:
            return math.inf
        return self.largest if self.missing == "far" else float(self.missing)

    def longest(self, criterion: Criterion) -> float:
        """Return the largest distance below M: links as long as M say nothing."""
        far = self.far(criterion)
        if math.isinf(far):
            return BEYOND / 2 if self.counts_far else far
        below = float(np.nextafter(far, -math.inf))  # also of 0, the distance of a graph without edges
        return below if self.n > ADDED_UP else min(below, far * (1.0 - ROUNDING))

    @property
    def counts_far(self) -> bool:
        """Tell whether pairs without an edge are links, which may be among those of which a share is taken."""
        return self.missing != "ignore"

    @property
    def options(self) -> dict[str, Any]:
        """What missing pairs mean."""
        return {"missing": self.missing}

    @property
    def how_to_join(self) -> str:
        """Say what joins components besides edges."""
        return f"let reliac.cluster_edges join the components at the end: {option('join_components', True)}"

    @property
    def n_components(self) -> int:
        """The number of connected components."""
        return int(self.components().max(initial=-1)) + 1

    def root_distance(self, criterion: Criterion) -> float:
        """Return the distance at which what is left may be joined: M, or the largest edge where no number was given."""
        return self.largest if isinstance(self.missing, str) else float(self.missing)

    def check_count(self, n_clusters: int) -> None:
        """Refuse fewer clusters than connected components."""
        check_components(n_clusters, self.n_components, self.n, self.how_to_join)

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
        """Return every edge once: its two objects, the smaller first, and its distance."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.starts)), self.ends, self.distances

    def components(self) -> NDArray[np.int32]:
        """Number the connected components: the same number for objects that a path of edges joins."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        graph = csr_array((np.ones(len(self.ends), np.int8), self.ends, self.starts), shape=(self.n, self.n))
        labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
        return labels

    def subset(self, objects: NDArray[np.intp]) -> Self:
        """Return the edges between some objects, with their names. Missing pairs stay as far as they are here."""
        number = np.full(self.n, -1, np.int32)
        number[objects] = np.arange(len(objects), dtype=np.int32)
        names = None if self.names is None else self.names[objects]
        far = self.largest if self.missing == "far" else self.missing
        return replace(self.numbered(number, len(objects), names), missing=far)

    def ordered_as(self, names: Names) -> Self:
        """Return the graph with its objects in another order, further ones without an edge; as it is if some lack."""
        place = {name: row for row, name in enumerate(names.tolist())}
        own = np.arange(self.n).astype(np.str_) if self.names is None else self.names
        number = np.array([place.get(name, -1) for name in own.tolist()], np.int32)
        return self if (number < 0).any() else self.numbered(number, len(names), names)

    def numbered(self, number: NDArray[np.int32], n: int, names: Names | None) -> Self:
        """Return the graph of n objects with new numbers; an object of number -1 is left out, with its edges."""
        p, q, distance = self.edges()
        kept = np.flatnonzero((number[p] >= 0) & (number[q] >= 0))
        low, high = np.minimum(number[p[kept]], number[q[kept]]), np.maximum(number[p[kept]], number[q[kept]])
        order = np.argsort(low.astype(np.int64) * n + high)
        starts, ends, distances = in_rows(low[order], high[order], distance[kept[order]], n)
        return replace(self, starts=starts, ends=ends, distances=distances, names=names)

    def made_up(self, count: int) -> Self:
        """Return a chain."""
        p = np.arange(count - 1)
        starts, ends, distances = in_rows(p, p + 1, p + 1.0, count)
        counts = None if self.counts is None else np.ones(count - 1)
        pairs = None if self.pairs is None else np.column_stack((p, p))
        return replace(self, starts=starts, ends=ends, distances=distances, names=None, counts=counts, pairs=pairs)

    def data_fingerprint(self) -> str:
        """Return a hash of what missing pairs mean and of evenly spaced edges; cheap beside any run."""
        some = slice(None, None, max(1, len(self.ends) // EDGES_HASHED))
        size = (self._meaning, self.n, len(self.ends))
        return exact_fingerprint(size, self.ends[some], self.distances[some].astype(np.float64) + 0.0)

    def exact_fingerprint(self, options: object, *more: NDArray[Any]) -> str:
        """Return a hash of options, of further arrays, and of every byte of the edges."""
        edges = (self.starts, self.ends, self.distances.astype(np.float64) + 0.0)
        return exact_fingerprint((options, self._meaning), *more, *edges)

    @property
    def _meaning(self) -> str:
        """Tell what missing pairs mean, for fingerprints."""
        return f"{self.missing}, by sizes" if self.by_sizes else str(self.missing)

    def base_distances(self, criterion: Criterion, metric: MetricLike) -> NDArray[Any]:
        """Return the completed matrix: missing pairs are at M."""
        if self.missing == "ignore":
            raise ValueError(
                explain(
                    f"{option('missing', 'ignore')}: pairs without an edge have no distance",
                    "the graph engine",
                    f"use {option('engine', 'graph')}",
                )
            )
        far = self.far(criterion)
        square = np.full((self.n, self.n), BEYOND if math.isinf(far) else far)
        p, q, distance = self.edges()
        square[p, q] = square[q, p] = distance
        np.fill_diagonal(square, 0.0)
        return square

    def condensed_distances(self, metric: MetricLike) -> NDArray[np.float64]:
        """Refuse: not all pairs have a distance."""
        raise ValueError(
            explain("A graph lists some pairs only", "distances of all pairs", "pass vectors or a full matrix")
        )

    def is_bounded(self, metric: MetricLike) -> bool:
        """Tell that the largest distance is known."""
        return True

    def check_range(self, criterion: Criterion, metric: MetricLike, weights: NDArray[np.float64]) -> None:
        """Refuse criteria that need points, and sums beyond float64."""
        refuse_points(criterion)
        far = self.far(criterion)
        check_far(self.missing, far, self.largest)
        if criterion.reduction is np.add and len(self.distances):
            check_sums(criterion, metric, weights, self.largest if math.isinf(far) else far, "the largest edge")

    def warn_if_unfit(self, criterion: Criterion, stacklevel: int) -> None:
        """Stay silent."""

    def are_points(self, metric: MetricLike) -> bool:
        """Tell that there is no table of points."""
        return False

    def equal_at_zero(self, metric: MetricLike) -> bool:
        """Tell that nothing makes given distances consistent."""
        return False


def refuse_points(criterion: Criterion) -> None:
    """Refuse criteria that need points."""
    if criterion.geometric:
        raise ValueError(
            explain(
                f"{option('criterion', criterion.name)} on a graph: this criterion compares points in space",
                f"criteria {', '.join(ON_GRAPHS)}",
                f"use {option('criterion', 'average')}, or pass vectors and the graph as connectivity",
            )
        )


def check_far(missing: object, far: float, largest: float) -> None:
    """Refuse a distance of missing pairs that an edge exceeds."""
    if far < largest:
        raise ValueError(
            explain(
                f"{option('missing', missing)} with edges up to {largest:g}",
                "a distance of missing pairs that no edge exceeds",
                f"give a number of at least {largest:g}, or drop longer edges with max_distance",
            )
        )


def join_by_rows() -> str:
    """Say what joins the components of ``connectivity``."""
    return f"join what is left by the rows themselves: {option('join_components', True)}"


def check_components(n_clusters: int, components: int, n: int, step: str) -> None:
    """Refuse fewer clusters than connected components; ``step`` says what else joins them."""
    if n_clusters < components:
        raise ValueError(
            explain(
                f"{option('n_clusters', n_clusters)} for a graph of {components} connected components",
                f"{components} to {n} clusters",
                f"ask for more, or {step}",
            )
        )


def in_rows(p: NDArray[Any], q: NDArray[Any], distance: NDArray[Any], n: int) -> EdgeRows:
    """Return edges p < q, sorted by p and q, each once, as rows of a graph: starts, ends and distances. O(n + m)."""
    starts = np.zeros(n + 1, np.int64)
    for first in range(0, len(p), EDGES_AT_ONCE):
        some = p[first : first + EDGES_AT_ONCE]
        starts[some[0] + 1 : some[-1] + 2] += np.bincount(some - some[0])
    return np.cumsum(starts, out=starts), q.astype(np.int32, copy=False), distance


def number_ends(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Number whole numbers at the ends of edges; return them in order, and the ends: a and b where nothing changes."""
    low, high = min(int(end.min(initial=0)) for end in (a, b)), max(int(end.max(initial=0)) for end in (a, b))
    if low == 0 and high < MOST_GAPS * (len(a) + 1):
        present = np.zeros(high + 1 if len(a) else 0, np.bool_)
        present[a] = present[b] = True
        if present.all():
            return np.arange(len(present)), a, b
        number = np.cumsum(present) - 1
        return np.flatnonzero(present), number[a], number[b]
    ends = np.concatenate((a.astype(np.int64, copy=False), b.astype(np.int64, copy=False)))
    every, numbers = np.unique(ends, return_inverse=True)
    return every, numbers[: len(a)], numbers[len(a) :]
