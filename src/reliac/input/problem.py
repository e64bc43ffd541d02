"""Whatever a user passes -> a frozen Problem; every check and every message about input."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import LARGEST_ODD_WEIGHT, Criterion, get_criterion
from ..errors import explain, option
from .distances import agreeing_names, check_given, given_subset, note_if_not_euclidean, to_square
from .fingerprints import data_fingerprint, exact_fingerprint, function_fingerprint
from .metrics import EUCLIDEAN, METRICS, MetricLike, canonical_metric, pairwise
from .numbers import Names, check_unmasked, is_frame, is_sparse, titles_as_names, to_numbers
from .options import Stop, check_number, check_stop


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
            square = pairwise(self.vectors, "sqeuclidean" if self.criterion.geometric else self.metric)
            if METRICS.get(str(self.metric)) is None or METRICS[str(self.metric)].growth is None:
                _check_sums(self, float(square.max(initial=0.0)), "the largest distance")
            return square
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
        metric = function_fingerprint(self.metric) if callable(self.metric) else self.metric
        options = (self.criterion.name, metric, self.alpha, self.tie_tolerance, self.stop, self.n_objects)
        return exact_fingerprint(options, self.weights, self.vectors if self.given is None else self.given)

    def data_fingerprint(self) -> str:
        """Return a hash of the objects' values alone; see :func:`reliac.input.fingerprints.data_fingerprint`."""
        return data_fingerprint(self.vectors, self.given)


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
    n_jobs: int | None = None,
) -> Problem:
    """Check everything a user can pass to :func:`reliac.cluster`; cheap checks of options come first."""
    row = get_criterion(criterion)
    metric = canonical_metric(metric)
    _check_metric_fits(row, metric)
    alpha = check_number("alpha", alpha, 0.0, 1.0, "give 1 for all reliable links, 0 for the smallest one")
    tolerance = check_number("tie_tolerance", tie_tolerance, 0.0, 1.0, "give 0 for exact equality")
    vectors, given, names, n, largest = _objects(X, metric, n_jobs)
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
    _check_range(problem, largest)
    if given is not None and row.geometric:
        note_if_not_euclidean(given, n, row.name, stacklevel=3)
    return problem


# --- options ---


def _check_metric_fits(criterion: Criterion, metric: MetricLike) -> None:
    if not criterion.geometric or metric in (*EUCLIDEAN, "precomputed"):
        return
    name = metric if isinstance(metric, str) else "a callable"
    advice = f"use {option('criterion', 'average')}"
    if metric in ("cosine", "correlation"):
        advice = f"scale the rows to unit length and use {option('metric', 'sqeuclidean')}, or {advice}"
    raise ValueError(
        explain(
            f"{option('criterion', criterion.name)} with {option('metric', name)}: this criterion compares points "
            "in space",
            "metric 'sqeuclidean', 'euclidean' or 'precomputed' (Euclidean distances)",
            advice,
        )
    )


def _check_weights(weights: Any, n: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n)
    check_unmasked(weights)
    try:
        array = np.array(weights)  # a copy: the tree keeps it, and keeps it as it is
        if array.dtype.kind in "US":
            raise TypeError
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
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
    if math.log2(array.max()) + math.log2(n) > 1023:
        raise ValueError(
            explain(
                f"The sum of the weights overflows: they are up to {array.max():.3g}",
                "weights whose sum is a number",
                "divide the weights by the largest of them",
            )
        )
    return array


# --- objects ---


def _objects(
    X: Any, metric: MetricLike, n_jobs: int | None
) -> tuple[Any, NDArray[Any] | None, Names | None, int, float]:
    """Return vectors or given distances, row names, the number of objects, and the largest distance if given."""
    data, names = to_numbers(X, finite=metric != "precomputed")
    if metric == "precomputed":
        if is_sparse(data):
            raise TypeError(
                explain(
                    "A sparse matrix of distances: whether a missing entry means 0 or 'not linked' is not said",
                    "a dense square or condensed matrix",
                    "pass matrix.toarray() if missing means 0",
                )
            )
        if is_frame(X) and data.shape[0] == data.shape[1]:
            titles = titles_as_names(X.columns)
            names = agreeing_names(names, None if titles is None else titles[-len(data) :])
        given, n, largest = check_given(data, n_jobs)
        return None, given, names, n, largest
    _check_vectors(data, metric)
    return data, None, names, data.shape[0], 0.0


def _check_vectors(data: Any, metric: MetricLike) -> None:
    if data.ndim != 2:
        raise ValueError(
            explain(
                f"Expected 2D array, got {data.ndim}D array instead: X of shape {data.shape}",
                "a table with one row per object",
                "Reshape your data with X.reshape(-1, 1) if it is one feature, or X.reshape(1, -1) if it is one "
                f"object; pass {option('metric', 'precomputed')} if it is a condensed distance matrix",
            )
        )
    rows, columns = data.shape
    if not rows or not columns:
        raise ValueError(
            explain(
                f"{0 if not rows else columns} {'sample(s)' if not rows else 'feature(s)'} (shape=({rows}, {columns})) "
                "while a minimum of 1 is required",
                "at least one row and one column",
                "check the filter or file that the data came from",
            )
        )
    if not is_sparse(data) and rows == columns > 2 and _looks_like_distances(data):
        raise ValueError(
            explain(
                f"X of shape {data.shape} is symmetric with a zero diagonal: it looks like a distance matrix, and "
                f"{option('metric', metric)} would read its rows as vectors",
                f"vectors, or distances with {option('metric', 'precomputed')}",
                f"pass {option('metric', 'precomputed')}; if the rows really are vectors, append a constant column",
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
                f"Row {first} is {kind}, and {option('metric', metric)} is not defined for it",
                f"rows that are not {kind}",
                f"drop row {first}, or use {option('metric', 'euclidean')}",
            )
        )


def _check_range(problem: Problem, largest: float) -> None:
    """Refuse, before any work, data and weights whose sums leave the range of float64."""
    if problem.given is not None:
        if problem.criterion.reduction is np.add and problem.given.size:
            _check_sums(problem, largest, "the largest given distance")
        return
    row = METRICS.get(problem.metric) if isinstance(problem.metric, str) else None
    if row is None or row.growth is None:  # base_distances looks at the distances themselves
        return
    values = problem.vectors.data if is_sparse(problem.vectors) else problem.vectors
    span = 2.0 * max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0
    _check_sums(problem, span * problem.vectors.shape[1] ** row.growth, "the span of the data")


def _check_sums(problem: Problem, largest: float, place: str) -> None:
    """Refuse a largest distance whose sums, or those of its square, cannot be held; counted in powers of two.

    Sums of distances are at most W^2 d, with W the weight of all objects. Where points are spoken of, sums of squares
    are multiplied by weights once more: at most 4 W^4 d^2.
    """
    criterion = problem.criterion
    times_squared = 2 if criterion.geometric or problem.metric in EUCLIDEAN else 1
    times_weighted = 0 if criterion.reduction is not np.add else 4 if criterion.geometric else 2
    heaviest, lightest = float(problem.weights.max()), float(problem.weights.min())
    if criterion.equal_parts:
        weight_bits, lightest = math.log2(LARGEST_ODD_WEIGHT), 1.0
    else:
        weight_bits = math.log2(heaviest) + math.log2(problem.n_objects)
    if times_weighted * math.log2(lightest) < -1000:
        raise ValueError(
            explain(
                f"Products of weights underflow: the smallest weight is {lightest:.3g}",
                "weights that differ less",
                "divide the weights by the smallest of them",
            )
        )
    room = (1021.0 - times_weighted * weight_bits) / times_squared
    if largest > 0 and not math.log2(largest) <= room:
        weights = "" if (problem.weights == 1).all() else ", or the weights by theirs"
        raise ValueError(
            explain(
                f"{'Squares' if times_squared == 2 else 'Sums'} overflow: {place} is up to {largest:.3g}",
                f"at most {2.0**room:.3g} for this many objects and their weights",
                f"divide the data by a constant, for example by its largest value{weights}",
            )
        )
