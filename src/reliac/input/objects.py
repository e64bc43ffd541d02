"""The kinds of input: vectors, or given distances. A problem holds one of them as ``problem.objects``.

What depends on the kind is a method here, so the rest of the code asks the objects and not what they are made of. Only
engines look inside (``rows``, ``matrix``), after they have refused the kinds that they cannot do.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import Criterion
from ..errors import InvariantError, explain, option, shown
from . import condensed
from .device_rows import DeviceRows
from .distances import agreeing_names, check_given, note_if_not_euclidean
from .fingerprints import distances_fingerprint, exact_fingerprint, vectors_fingerprint
from .gower import mixed_rows
from .metrics import (
    EUCLIDEAN,
    METRICS,
    MetricLike,
    allows_gaps,
    compare_all,
    compared_metric,
    pairwise,
    pairwise_condensed,
    rounded,
)
from .misreadings import refuse_edges, refuse_graph, refuse_named_edges
from .numbers import Names, is_frame, is_sparse, titles_as_names, to_numbers
from .overflow import check_sums
from .things import Things, things_of
from .vectors import check_vectors, largest_difference

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, eq=False)
class Objects(ABC):
    """The checked objects of a problem, of whatever kind."""

    names: Names | None = field(default=None, kw_only=True)
    matrix_type: np.dtype[Any] = field(default=np.dtype(np.float64), kw_only=True)  # of a matrix, if one is computed

    #: Whether a run may end with several clusters although nothing stopped it, since some pairs have no distance.
    may_end_in_forest: ClassVar[bool] = False

    #: What messages call objects of this kind.
    called: ClassVar[str] = "these objects"

    #: Whether whole numbers that a user gives for objects are their names, where they have names.
    labelled: ClassVar[bool] = False

    #: What to try if the problem fits into no engine's memory.
    how_to_fit: ClassVar[str]

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of objects."""

    @property
    @abstractmethod
    def number_type(self) -> str:
        """What compiled code that reads the numbers themselves depends on; empty if they are converted before."""

    @abstractmethod
    def subset(self, objects: NDArray[np.intp]) -> Self:
        """Return some of the objects, with their names."""

    @abstractmethod
    def made_up(self, count: int) -> Self:
        """Return so many objects of the same kind and number type with values that mean nothing."""

    @abstractmethod
    def data_fingerprint(self) -> str:
        """Return a hash of the values, whatever holds them; cheap: of large data evenly spaced rows count."""

    @abstractmethod
    def exact_fingerprint(self, options: object, *more: NDArray[Any]) -> str:
        """Return a hash of options, of further arrays, and of every byte of the objects."""

    @abstractmethod
    def base_distances(self, criterion: Criterion, metric: MetricLike) -> NDArray[Any]:
        """Return a new square matrix of all distances as engines compare them."""

    @abstractmethod
    def condensed_distances(self, metric: MetricLike) -> NDArray[np.float64]:
        """Return the distances of all pairs as the user sees them, in SciPy's condensed form."""

    @abstractmethod
    def is_bounded(self, metric: MetricLike) -> bool:
        """Tell whether :meth:`check_range` can bound the distances before they are computed."""

    @abstractmethod
    def check_range(self, criterion: Criterion, metric: MetricLike, weights: NDArray[np.float64]) -> None:
        """Refuse objects and weights whose sums leave the range of float64, as far as that is known before a run."""

    @abstractmethod
    def warn_if_unfit(self, criterion: Criterion, stacklevel: int) -> None:
        """Warn if the criterion takes the objects as something that they are not."""

    @abstractmethod
    def are_points(self, metric: MetricLike) -> bool:
        """Tell whether the objects are a dense table of points whose Euclidean distances the metric gives."""

    @abstractmethod
    def equal_at_zero(self, metric: MetricLike) -> bool:
        """Tell whether objects at distance 0 of the same object are at distance 0 of each other."""

    @property
    def engines(self) -> tuple[str, ...] | None:
        """The engines that can work on these objects; None: ask them."""
        return None

    def longest(self, criterion: Criterion) -> float:
        """Return the largest distance that a link may have."""
        return math.inf

    @property
    def options(self) -> dict[str, Any]:
        """What of the objects shapes the tree and is no number: shown and kept with the tree."""
        return {}

    def check_count(self, n_clusters: int) -> None:
        """Refuse a number of clusters that these objects cannot be joined to."""
        return

    def with_precision(self, kind: np.dtype[Any]) -> Self:
        """Return the same objects, with the type of a matrix of distances if one is computed."""
        if kind != np.float64:
            raise ValueError(
                explain(
                    f"{option('precision', str(kind))} with given distances, which keep their own type",
                    f"{option('precision', 'float64')}, the default, where distances are given",
                    "leave it out, and pass the distances themselves as float32 to save memory",
                )
            )
        return self

    @property
    def on_device(self) -> bool:
        """Whether they are in the memory of a device."""
        return False

    def at_home(self) -> Self:
        """Return the same objects in the memory of the host."""
        return self

    def named(self, names: Any) -> Self:
        """Return the same objects with other names, checked; None leaves them as they are."""
        return self if names is None else replace(self, names=check_names(names, self.n))


@dataclass(frozen=True, eq=False)
class Vectors(Objects):
    """One row of numbers per object, compared by a metric."""

    rows: Any  # (n, d) array, CSR matrix, or MixedRows
    columns: Names | None = field(default=None, kw_only=True)  # the titles of the table, where it has any
    scaling: NDArray[np.float64] | None = field(default=None, kw_only=True)  # (2, d): taken off, then divided by

    how_to_fit: ClassVar[str] = "cluster a sample of the rows, or use a machine with more memory"

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether the rows are a sparse matrix."""
        return is_sparse(self.rows)

    @property
    def on_device(self) -> bool:
        """Whether the rows are in the memory of a device."""
        return isinstance(self.rows, DeviceRows)

    def at_home(self) -> Self:
        """Return the same rows in the memory of the host."""
        return replace(self, rows=self.rows.host) if self.on_device else self

    @property
    def number_type(self) -> str:
        """The type of a computed matrix where it is not the usual one; vectors themselves are converted to float64."""
        return "" if self.matrix_type == np.float64 else str(self.matrix_type)

    def subset(self, objects: NDArray[np.intp]) -> Self:
        """Return some of the rows, with their names."""
        return replace(self, rows=self.rows[objects], names=None if self.names is None else self.names[objects])

    def made_up(self, count: int) -> Self:
        """Return points in a plane."""
        return replace(self, rows=np.random.default_rng(0).random((count, 2)), names=None, columns=None, scaling=None)

    def with_precision(self, kind: np.dtype[Any]) -> Self:
        """Return the same rows, with the type of a matrix of distances if one is computed."""
        return replace(self, matrix_type=kind)

    def data_fingerprint(self) -> str:
        """Return a hash of the values; see :func:`reliac.input.fingerprints.vectors_fingerprint`."""
        return vectors_fingerprint(self.rows)

    def exact_fingerprint(self, options: object, *more: NDArray[Any]) -> str:
        """Return a hash of options, of further arrays, and of every byte of the rows."""
        return exact_fingerprint(options, *more, self.rows)

    def base_distances(self, criterion: Criterion, metric: MetricLike) -> NDArray[Any]:
        """Compare all pairs of rows; by squares where these give the same tree."""
        return rounded(pairwise(self.rows, compared_metric(metric, criterion.by_squares)), self.matrix_type)

    def condensed_distances(self, metric: MetricLike) -> NDArray[np.float64]:
        """Compare all pairs of rows."""
        return pairwise_condensed(self.rows, metric)

    def is_bounded(self, metric: MetricLike) -> bool:
        """Tell whether the metric's row says how distances grow with the numbers."""
        return isinstance(metric, str) and METRICS[metric].growth is not None

    def check_range(self, criterion: Criterion, metric: MetricLike, weights: NDArray[np.float64]) -> None:
        """Bound the distances by the largest number in the table, where the metric says how they follow from it."""
        growth = METRICS[metric].growth if isinstance(metric, str) else None
        if growth is not None:
            largest = largest_difference(self.rows) * self.rows.shape[1] ** growth
            check_sums(criterion, metric, weights, largest, "the span of the data")

    def warn_if_unfit(self, criterion: Criterion, stacklevel: int) -> None:
        """Stay silent: a metric that the criterion cannot take was refused before."""

    def are_points(self, metric: MetricLike) -> bool:
        """Tell whether the table is dense and the metric Euclidean, squared or not, to the last bit."""
        return metric in EUCLIDEAN and not self.sparse and self.matrix_type == np.float64

    def equal_at_zero(self, metric: MetricLike) -> bool:
        """Tell whether the metric is one we know; a function may give 0 to any pair, and gaps hide differences."""
        return isinstance(metric, str) and not allows_gaps(metric)


@dataclass(frozen=True, eq=False)
class Distances(Objects):
    """Given distances of all pairs, as one matrix."""

    matrix: NDArray[Any]  # square (n, n) or condensed (n(n-1)/2,)
    largest: float  # no distance is larger

    how_to_fit: ClassVar[str] = "pass the distances as float32 or condensed, pass vectors instead, or cluster a sample"

    @cached_property
    def n(self) -> int:
        """The number of objects that the matrix is about."""
        return len(self.matrix) if self.matrix.ndim == 2 else condensed.count_objects(len(self.matrix)) or 0

    @property
    def number_type(self) -> str:
        """The type of the numbers, the form of the matrix, and whether it may be written to."""
        return f"{self.matrix.dtype} {self.matrix.ndim} {self.matrix.flags.writeable}"

    def subset(self, objects: NDArray[np.intp]) -> Self:
        """Return the distances of some objects, in the form they were given, with their names."""
        names = None if self.names is None else self.names[objects]
        return replace(self, matrix=condensed.subset(self.matrix, self.n, objects), names=names)

    def made_up(self, count: int) -> Self:
        """Return the distances of points on a line, in a matrix of the same form and type."""
        matrix = np.abs(np.subtract.outer(np.arange(count) ** 2, np.arange(count) ** 2)).astype(self.matrix.dtype)
        if self.matrix.ndim == 1:
            matrix = condensed.to_condensed(matrix, count)
        matrix.flags.writeable = self.matrix.flags.writeable
        return replace(self, matrix=matrix, names=None)

    def data_fingerprint(self) -> str:
        """Return a hash of the values; see :func:`reliac.input.fingerprints.distances_fingerprint`."""
        return distances_fingerprint(self.matrix, self.n)

    def exact_fingerprint(self, options: object, *more: NDArray[Any]) -> str:
        """Return a hash of options, of further arrays, and of every byte of the matrix."""
        return exact_fingerprint(options, *more, self.matrix)

    def base_distances(self, criterion: Criterion, metric: MetricLike) -> NDArray[Any]:
        """Return the matrix in square form; squared, in float64, where the criterion speaks of points."""
        square = condensed.to_square(self.matrix, self.n)
        if not criterion.geometric:
            return square
        square = square.astype(np.float64, copy=False)  # a copy of what was given in any case
        square *= square
        return square

    def condensed_distances(self, metric: MetricLike) -> NDArray[np.float64]:
        """Return the matrix in condensed form."""
        return np.asarray(condensed.to_condensed(self.matrix, self.n), dtype=np.float64)

    def is_bounded(self, metric: MetricLike) -> bool:
        """Tell that the largest distance is known."""
        return True

    def check_range(self, criterion: Criterion, metric: MetricLike, weights: NDArray[np.float64]) -> None:
        """Bound sums by the largest distance; where distances are only compared there are no sums."""
        if criterion.reduction is np.add and self.matrix.size:
            check_sums(criterion, metric, weights, self.largest, "the largest given distance")

    def warn_if_unfit(self, criterion: Criterion, stacklevel: int) -> None:
        """Warn if a criterion that speaks of points gets distances that no points can have."""
        if criterion.geometric:
            note_if_not_euclidean(self.matrix, self.n, criterion.name, stacklevel + 1)

    def are_points(self, metric: MetricLike) -> bool:
        """Tell that there is no table of points."""
        return False

    def equal_at_zero(self, metric: MetricLike) -> bool:
        """Tell that nothing makes given distances consistent."""
        return False


def rows_of(objects: Objects) -> Any:
    """Return the table of vectors, for engines that have refused every other kind."""
    if not isinstance(objects, Vectors):
        raise InvariantError(f"an engine for vectors was given {type(objects).__name__}: please report this")
    return objects.rows


# --- from what a user passes ---


def make_objects(X: Any, metric: MetricLike, names: Any = None, n_jobs: int | None = None) -> Objects:
    """Check whatever a user passes and return it as one of the kinds; ``names`` replace those that X brings."""
    refuse_graph(X)
    if metric == "precomputed":
        return make_distances(X, n_jobs).named(names)
    things = things_of(X) if callable(metric) else None
    made: Objects = make_vectors(X, metric) if things is None else make_compared(things, metric)
    return made.named(names)


def make_vectors(X: Any, metric: MetricLike) -> Vectors:
    """Check a table with one row per object."""
    if metric == "gower":
        rows, names = mixed_rows(X)
    else:
        refuse_named_edges(X)
        rows, names = to_numbers(X, gaps=allows_gaps(metric))
    check_vectors(rows, metric)
    return Vectors(rows, names=names, columns=column_titles(X, rows.shape[1]))


def column_titles(X: Any, count: int) -> Names | None:
    """Return the titles of the columns of numbers in a frame: the last so many, since names of rows come first."""
    return titles_as_names(list(X.columns)[-count:]) if is_frame(X) and count else None


def make_compared(things: Things, metric: MetricLike) -> Distances:
    """Compare objects that are no numbers, such as texts, by a function: from here on only their distances count."""
    matrix = compare_all(things.items, metric)
    return Distances(matrix, float(matrix.max(initial=0.0)), names=things.names)


def make_distances(X: Any, n_jobs: int | None = None) -> Distances:
    """Check a square or condensed matrix of distances."""
    refuse_named_edges(X)
    data, names = to_numbers(X, finite=False)
    if is_sparse(data):
        data = np.asarray(data.toarray())
    refuse_edges(data)
    if is_frame(X) and data.shape[0] == data.shape[1]:
        titles = titles_as_names(X.columns)
        names = agreeing_names(names, None if titles is None else titles[-len(data) :])
    matrix, largest = check_given(data, n_jobs)
    return Distances(matrix, largest, names=names)


def check_names(names: Any, n: int) -> Names:
    """Return one name per object as texts, in an array of their own."""
    several = isinstance(names, Iterable) and not isinstance(names, str) and getattr(names, "ndim", 1) == 1
    listed = [str(name) for name in names] if several else []
    if len(listed) != n:
        given = f"{len(listed)} names" if listed else f"names={shown(names, 40)}"
        raise ValueError(
            explain(f"{given} for {n} objects", "one name for every object", "pass a list of texts, one for each row")
        )
    return np.array(listed, dtype=np.str_)
