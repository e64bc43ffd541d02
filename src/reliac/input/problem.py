"""Whatever a user passes -> a frozen Problem: the objects, how they are compared, and when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import Criterion, get_criterion
from ..errors import explain, option
from .connectivity import connect
from .constraints import Constraints, check_not_split, make_constraints
from .edges import make_graph
from .fingerprints import function_fingerprint
from .metrics import EUCLIDEAN, MetricLike, canonical_metric, compared_metric, squares_of
from .misreadings import is_graph, lists_all_pairs
from .numbers import check_unmasked, is_sparse
from .objects import Objects, make_objects
from .options import Stop, check_number, check_precision, check_stop
from .overflow import check_sums


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked input: the objects, how they are compared, and when to stop."""

    objects: Objects
    criterion: Criterion
    metric: MetricLike
    alpha: float
    tie_tolerance: float
    weights: NDArray[np.float64]
    stop: Stop
    constraints: Constraints | None = None  # None: everything may be joined

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return self.objects.n

    @property
    def may_end_in_forest(self) -> bool:
        """Whether a run may end with several clusters although nothing stopped it."""
        return self.objects.may_end_in_forest or self.constraints is not None

    @cached_property
    def rooted(self) -> bool:
        """Whether engines compare squared distances while the user sees their roots."""
        return (self.criterion.geometric and self.metric == "precomputed") or self.compared_metric != self.metric

    @cached_property
    def compared_metric(self) -> MetricLike:
        """The metric whose distances engines compare."""
        return compared_metric(self.metric, self.criterion.by_squares)

    @cached_property
    def tie_factor(self) -> float:
        """What a smallest distance is multiplied by to give the largest that counts as tied with it."""
        return (1.0 + self.tie_tolerance) ** (2 if self.rooted else 1)

    def heights(self, distances: NDArray[Any]) -> NDArray[np.float64]:
        """Turn the distances that engines compare into those the user sees."""
        distances = np.asarray(distances, dtype=np.float64)
        return np.sqrt(self.criterion.height_factor * distances) if self.rooted else distances

    @cached_property
    def longest(self) -> float:
        """The largest compared distance whose height is within ``max_distance``, and within what the objects allow."""
        cap = min(self.stop.max_distance, self.objects.longest(self.criterion))
        if not self.rooted or not math.isfinite(cap):
            return cap
        with np.errstate(over="ignore"):  # the square of a very large limit is infinite, and lowered at once
            value = np.float64(cap) ** 2 / self.criterion.height_factor
            if not np.isfinite(value):  # no distance that a float can hold is as long
                return math.inf
            while self.heights(np.array([value]))[0] > cap:
                value = np.nextafter(value, 0.0)
            while self.heights(np.array([np.nextafter(value, np.inf)]))[0] <= cap:
                value = np.nextafter(value, np.inf)
        return float(value)

    def allows(self, distances: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which of the distances that engines compare are within ``max_distance``."""
        return np.asarray(distances, dtype=np.float64) <= self.longest  # float32 would round the limit

    def base_distances(self) -> NDArray[Any]:
        """Return a new square matrix of the objects' distances as engines compare them."""
        return self._checked(self.objects.base_distances(self.criterion, self.metric))

    def condensed_distances(self) -> NDArray[np.float64]:
        """Return distances that are only compared, as engines compare them, condensed; do not write to them."""
        return self._checked(self.objects.condensed_distances(self.compared_metric))

    def _checked(self, distances: NDArray[Any]) -> NDArray[Any]:
        """Refuse distances that are too large for sums of them, where no check was possible before."""
        if not self.objects.is_bounded(self.metric):
            largest = float(distances.max(initial=0.0))
            check_sums(self.criterion, self.metric, self.weights, largest, "the largest distance")
        return distances

    def subset(self, objects: NDArray[np.intp], stop: Stop) -> Problem:
        """Return the problem of some of the objects."""
        return replace(
            self,
            objects=self.objects.subset(objects),
            weights=self.weights[objects],
            stop=stop,
            constraints=self.constraints and self.constraints.subset(objects, self.n_objects),
        )

    def made_up(self, count: int) -> Problem:
        """Return a problem of so many objects that runs through the same compiled code: of the same kind, made up.

        The user's own rows may be too few for the metric to compare them, and the metric may be a slow function.
        """
        plain = self.metric == "precomputed" or squares_of(self.metric)
        return replace(
            self,
            objects=self.objects.made_up(count),
            metric=self.metric if plain else EUCLIDEAN[0],
            weights=np.ones(count),
            stop=Stop(),
            constraints=None,
        )

    def fingerprint(self) -> str:
        """Return a hash of the data and of everything that shapes the tree."""
        metric = function_fingerprint(self.metric) if callable(self.metric) else self.metric
        precision = self.objects.matrix_type.name
        options = (self.criterion.name, metric, self.alpha, self.tie_tolerance, precision, self.stop, self.n_objects)
        if self.constraints is None:
            return self.objects.exact_fingerprint(options, self.weights)
        given = self.constraints
        return self.objects.exact_fingerprint((*options, given.max_size), self.weights, given.must, given.cannot)


def make_problem(
    X: Any,
    criterion: Any = "ward",
    *,
    metric: Any = "euclidean",
    alpha: Any = 1.0,
    n_clusters: Any = None,
    max_level: Any = None,
    max_distance: Any = None,
    weights: Any = None,
    tie_tolerance: Any = 0.0,
    names: Any = None,
    connectivity: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    max_size: Any = None,
    precision: Any = "float64",
    n_jobs: int | None = None,
) -> Problem:
    """Check everything a user can pass to :func:`reliac.cluster`; cheap checks of options come first."""
    row = get_criterion(criterion)
    metric = canonical_metric(metric)
    check_metric_fits(row, metric)
    alpha = check_number("alpha", alpha, 0.0, 1.0, "give 1 for all reliable links, 0 for the smallest one")
    tolerance = check_number("tie_tolerance", tie_tolerance, 0.0, 1.0, "give 0 for exact equality")
    objects = _make_objects(X, metric, names, n_jobs).with_precision(check_precision(precision))
    if connectivity is not None:
        objects = connect(objects, row, metric, connectivity)
    stop = check_stop(objects.n, n_clusters, max_level, max_distance)
    constraints = make_constraints(objects, must_link, cannot_link, max_size)
    if n_clusters is not None:
        objects.check_count(stop.n_clusters)
        check_not_split(constraints, stop.n_clusters, objects.n)
    problem = Problem(
        objects=objects,
        criterion=row,
        metric=metric,
        alpha=alpha,
        tie_tolerance=tolerance,
        weights=check_weights(weights, objects.n),
        stop=stop,
        constraints=constraints,
    )
    objects.check_range(row, metric, problem.weights)
    objects.warn_if_unfit(row, stacklevel=4)
    return problem


def _make_objects(X: Any, metric: MetricLike, names: Any, n_jobs: int | None) -> Objects:
    """Return the objects that X holds, of whatever kind; those that are checked already are taken as they are."""
    if isinstance(X, Objects):
        return X.named(names)
    if metric == "precomputed" and (is_graph(X) or (is_sparse(X) and not lists_all_pairs(X))):
        return make_graph(X).named(names)
    return make_objects(X, metric, names, n_jobs)


# --- options ---


def check_metric_fits(criterion: Criterion, metric: MetricLike) -> None:
    """Refuse a metric that gives no distances of points where the criterion compares points."""
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


def check_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Return one positive number for each of n rows; ones where none are given."""
    if weights is None:
        return np.ones(n)
    check_unmasked(weights)
    try:
        array = np.array(weights)  # a copy: the tree keeps it, and keeps it as it is
        if array.dtype.kind in "USc":
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
