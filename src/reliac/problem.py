"""Whatever a user passes -> a frozen Problem; every check and every message about input."""

from __future__ import annotations

import hashlib
import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .criteria import Criterion, get_criterion
from .distances import check_given, given_subset, to_square
from .errors import explain
from .metrics import EUCLIDEAN, METRICS, MetricLike, canonical_metric, pairwise
from .tables import Names, is_sparse, to_numbers


@dataclass(frozen=True)
class Stop:
    """Where a run stops early; the defaults stop nothing."""

    n_clusters: int = 1
    max_level: float = math.inf
    max_distance: float = math.inf


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked input: the objects (vectors or given distances), how they are compared, and when to stop."""

    n_objects: int
    vectors: Any  # (n, d) array or CSR matrix, or None
    given: NDArray[Any] | None  # square (n, n) or condensed (n(n-1)/2,) distances, or None
    criterion: Criterion
    metric: MetricLike
    alpha: float
    tie_tolerance: float
    weights: NDArray[np.float64]
    stop: Stop
    names: Names | None

    @property
    def rooted(self) -> bool:
        """Whether engines compare squared distances while the user sees their roots."""
        return self.criterion.geometric and self.metric != "sqeuclidean"

    @property
    def tie_factor(self) -> float:
        """What a smallest distance is multiplied by to give the largest that counts as tied with it."""
        return (1.0 + self.tie_tolerance) ** (2 if self.rooted else 1)

    def heights(self, distances: NDArray[Any]) -> NDArray[np.float64]:
        """Turn the distances that engines compare into those the user sees."""
        distances = np.asarray(distances, dtype=np.float64)
        return np.sqrt(self.criterion.height_factor * distances) if self.rooted else distances

    def base_distances(self) -> NDArray[Any]:
        """Return a new square matrix of the objects' distances, squared where the criterion speaks of points."""
        if self.given is None:
            return pairwise(self.vectors, "sqeuclidean" if self.criterion.geometric else self.metric)
        square = to_square(self.given, self.n_objects)
        if self.criterion.geometric:
            square = square.astype(np.float64) ** 2
        return square

    def subset(self, objects: NDArray[np.intp], stop: Stop) -> Problem:
        """Return the problem of some of the objects."""
        return replace(
            self,
            n_objects=len(objects),
            vectors=None if self.vectors is None else self.vectors[objects],
            given=None if self.given is None else given_subset(self.given, self.n_objects, objects),
            weights=self.weights[objects],
            names=None if self.names is None else self.names[objects],
            stop=stop,
        )

    def fingerprint(self) -> str:
        """Return a hash of the data and of everything that shapes the tree."""
        if callable(self.metric):
            metric = getattr(self.metric, "__qualname__", type(self.metric).__qualname__)
        else:
            metric = self.metric
        options = (self.criterion.name, metric, self.alpha, self.tie_tolerance, self.stop, self.n_objects)
        digest = hashlib.sha256(repr(options).encode())
        digest.update(self.weights.tobytes())
        data: Any = self.vectors if self.given is None else self.given
        for array in (data.data, data.indices, data.indptr) if is_sparse(data) else (data,):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
        return digest.hexdigest()


def make_problem(
    X: Any,
    criterion: Any = "ward",
    *,
    metric: Any = "sqeuclidean",
    alpha: Any = 1.0,
    n_clusters: Any = None,
    max_level: Any = None,
    max_distance: Any = None,
    weights: Any = None,
    tie_tolerance: Any = 0.0,
) -> Problem:
    """Check everything a user can pass to :func:`reliac.cluster`; cheap checks of options come first."""
    row = get_criterion(criterion)
    metric = canonical_metric(metric)
    _check_metric_fits(row, metric)
    alpha = check_number("alpha", alpha, 0.0, 1.0, "1 merges all reliable links, 0 only the smallest")
    tolerance = check_number("tie_tolerance", tie_tolerance, 0.0, 1.0, "0 means exact equality, 1e-9 is typical")
    vectors, given, names, n = _objects(X, metric)
    stop = check_stop(n, n_clusters, max_level, max_distance)
    problem = Problem(
        n_objects=n,
        vectors=vectors,
        given=given,
        criterion=row,
        metric=metric,
        alpha=alpha,
        tie_tolerance=tolerance,
        weights=_check_weights(weights, n),
        stop=stop,
        names=names,
    )
    _check_squares(problem)
    return problem


# --- options ---


def check_number(name: str, value: Any, low: float, high: float, hint: str) -> float:
    """Return a number between ``low`` and ``high`` as float."""
    allowed = f"a number from {low:g} to {high:g}" if math.isfinite(high) else f"a number of at least {low:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(explain(f"{name}={value!r} is not a number", allowed, hint))
    if not low <= float(value) <= high:
        raise ValueError(explain(f"{name}={value!r}", allowed, hint))
    return float(value)


def check_count(name: str, value: Any, low: int, high: float, hint: str) -> int:
    """Return a whole number between ``low`` and ``high`` as int."""
    allowed = f"a whole number from {low} to {high:g}" if math.isfinite(high) else f"a whole number of at least {low}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(explain(f"{name}={value!r} is not a whole number", allowed, hint))
    if not low <= int(value) <= high:
        raise ValueError(explain(f"{name}={value!r}", allowed, hint))
    return int(value)


def check_stop(n: int, n_clusters: Any, max_level: Any, max_distance: Any) -> Stop:
    """Return where to stop; ``n_clusters`` promises exactly K clusters, so it excludes the other two rules."""
    if n_clusters is not None and (max_level is not None or max_distance is not None):
        other = "max_level" if max_level is not None else "max_distance"
        raise ValueError(
            explain(
                f"n_clusters={n_clusters!r} and {other} contradict: the first promises exactly that many clusters, "
                "the second may stop before",
                "n_clusters alone, or max_level and max_distance",
                f"drop one of them, or stop by {other} and cut with tree.labels(n_clusters=...)",
            )
        )
    if n_clusters is not None:
        n_clusters = check_count("n_clusters", n_clusters, 1, n, f"there are {n} objects to put into clusters")
    if max_level is not None:
        max_level = check_count("max_level", max_level, 0, math.inf, "each level is one step of the algorithm")
    if max_distance is not None:
        max_distance = check_number("max_distance", max_distance, 0.0, math.inf, "links above it are never made")
    return Stop(
        1 if n_clusters is None else n_clusters,
        math.inf if max_level is None else max_level,
        math.inf if max_distance is None else max_distance,
    )


def _check_metric_fits(criterion: Criterion, metric: MetricLike) -> None:
    if not criterion.geometric or metric in (*EUCLIDEAN, "precomputed"):
        return
    name = metric if isinstance(metric, str) else "a callable"
    advice = "use criterion='average'"
    if metric in ("cosine", "correlation"):
        advice = "scale the rows to unit length and use metric='sqeuclidean', or use criterion='average'"
    raise ValueError(
        explain(
            f"criterion={criterion.name!r} with metric={name!r}: this criterion compares points in space",
            "metric 'sqeuclidean', 'euclidean' or 'precomputed' (Euclidean distances)",
            advice,
        )
    )


def _check_weights(weights: Any, n: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n)
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            explain(
                f"weights of type {type(weights).__name__}",
                f"{n} positive numbers",
                "pass one number per row",
            )
        ) from None
    if array.shape != (n,):
        raise ValueError(
            explain(f"weights of shape {array.shape} for {n} rows", f"shape ({n},)", "pass one number per row")
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if len(bad):
        raise ValueError(
            explain(
                f"weight {array[bad[0]]} of row {bad[0]}",
                "finite weights above 0",
                "drop rows that count nothing",
            )
        )
    return array


# --- objects ---


def _objects(X: Any, metric: MetricLike) -> tuple[Any, NDArray[Any] | None, Names | None, int]:
    """Return vectors or given distances, row names and the number of objects."""
    data, names = to_numbers(X)
    if metric == "precomputed":
        if is_sparse(data):
            raise TypeError(
                explain(
                    "A sparse matrix of distances: whether a missing entry means 0 or 'not linked' is not said",
                    "a dense square or condensed matrix",
                    "pass matrix.toarray() if missing means 0",
                )
            )
        return None, *check_given(data, names)
    _check_vectors(data, metric)
    return data, None, names, data.shape[0]


def _check_vectors(data: Any, metric: MetricLike) -> None:
    if data.ndim != 2:
        raise ValueError(
            explain(
                f"Expected 2D array, got {data.ndim}D array instead: X of shape {data.shape}",
                "a table with one row per object",
                "Reshape your data with X.reshape(-1, 1) if it is one feature, or X.reshape(1, -1) if it is one "
                "object; pass metric='precomputed' if it is a condensed distance matrix",
            )
        )
    rows, columns = data.shape
    if not rows or not columns:
        raise ValueError(
            explain(
                f"{0 if not rows else columns} {'sample(s)' if not rows else 'feature(s)'} (shape=({rows}, {columns})) "
                "while a minimum of 1 is required.",
                "at least one row and one column",
                "check the filter or file that the data came from",
            )
        )
    if not is_sparse(data) and rows == columns > 2 and _looks_like_distances(data):
        raise ValueError(
            explain(
                f"X of shape {data.shape} is symmetric with a zero diagonal: it looks like a distance matrix, and "
                f"metric={metric!r} would read its rows as vectors",
                "vectors, or distances with metric='precomputed'",
                "pass metric='precomputed'; if the rows really are vectors, append a constant column",
            )
        )
    row = METRICS.get(metric) if isinstance(metric, str) else None
    if row is not None and not (row.zero_rows and row.constant_rows):
        _check_directions(data, row.name, row.constant_rows)


def _looks_like_distances(data: NDArray[Any]) -> bool:
    return bool(not data.diagonal().any() and data.any() and (data >= 0).all() and (data == data.T).all())


def _check_directions(data: Any, metric: str, constant_rows: bool) -> None:
    """Refuse rows without a direction: zeros, and for correlation rows of one value."""
    if is_sparse(data):
        empty = np.asarray(abs(data).sum(axis=1)).ravel() == 0
        if not constant_rows:
            empty |= np.ptp(data.toarray(), axis=1) == 0
    else:
        empty = ~data.any(axis=1) if constant_rows else (data == data[:, :1]).all(axis=1)
    if empty.any():
        first = int(np.flatnonzero(empty)[0])
        kind = "all zero" if constant_rows else "constant"
        raise ValueError(
            explain(
                f"Row {first} is {kind}, and metric={metric!r} is not defined for it",
                f"rows that are not {kind}",
                f"drop row {first}, or use metric='euclidean'",
            )
        )


def _check_squares(problem: Problem) -> None:
    """Refuse data whose squared distances, summed over all pairs, leave the range of float64."""
    limit = np.finfo(np.float64).max / max(float(problem.weights.sum()), 2.0) ** 4
    if problem.given is not None:
        if not problem.criterion.geometric or not problem.given.size:
            return
        largest = float(problem.given.max())
        place = "the largest given distance"
    elif problem.metric in EUCLIDEAN:
        values = problem.vectors.data if is_sparse(problem.vectors) else problem.vectors
        largest = 2.0 * float(max(abs(float(values.max())), abs(float(values.min())))) if values.size else 0.0
        largest *= math.sqrt(problem.vectors.shape[1])
        place = "the span of the data"
    else:
        return
    if largest > math.sqrt(limit):
        raise ValueError(
            explain(
                f"Squares overflow: {place} is up to {largest:.3g}",
                f"at most {math.sqrt(limit):.3g} for this many objects",
                "divide the data by a constant, for example by its largest value",
            )
        )
