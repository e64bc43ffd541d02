"""The metrics, one row each, and the distances of all objects from vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations
from itertools import pairwise as pairwise_of
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvariantError, explain, option, unknown_name
from ..machine import check_memory
from .condensed import length_of, pair_at, to_condensed, to_square
from .mixed import gower_between, nan_euclidean_between
from .products import blocks_of_products, from_products

MetricLike = str | Callable[[NDArray[Any], NDArray[Any]], float]

#: Columns of a block of distances that is computed at once.
COLUMNS_AT_ONCE = 4096


class Squares(IntEnum):
    """How a metric follows from the squared differences of two rows, so that products of blocks can search it."""

    NONE = 0
    PLAIN = 1  # their sum
    ROOTED = 2  # the root of their sum
    UNIT = 3  # half their sum, for rows scaled to unit length

    @property
    def mean_form(self) -> bool:
        """Whether the mean over the pairs of two clusters follows from their means and spreads."""
        return self in (Squares.PLAIN, Squares.UNIT)


@dataclass(frozen=True)
class Metric:
    """One metric by the name that ``scipy.spatial.distance.pdist`` knows it by."""

    name: str
    zero_rows: bool = True  # a row of zeros has a distance
    constant_rows: bool = True  # a row of equal values has a distance
    by_products: bool = False  # follows from inner products, which sparse rows give cheaply
    growth: float | None = None  # at most the largest difference of two numbers times columns**growth; None: unknown
    by_pairs: bool = True  # the distance of two rows does not depend on the others
    squares: Squares = Squares.NONE  # how it follows from squared differences
    gaps: bool = False  # values may be missing: rows are compared by what both have


_ROWS = (
    Metric("sqeuclidean", by_products=True, growth=0.5, squares=Squares.PLAIN),
    Metric("euclidean", by_products=True, growth=0.5, squares=Squares.ROOTED),
    Metric("cosine", zero_rows=False, by_products=True, squares=Squares.UNIT),
    Metric("cityblock", growth=1.0),
    Metric("correlation", zero_rows=False, constant_rows=False),
    Metric("chebyshev", growth=0.0),
    Metric("minkowski", growth=0.5),
    Metric("seuclidean", by_pairs=False),
    Metric("mahalanobis", by_pairs=False),
    Metric("braycurtis"),
    Metric("canberra"),
    Metric("jensenshannon", zero_rows=False),
    Metric("hamming"),
    Metric("jaccard"),
    Metric("dice"),
    Metric("rogerstanimoto"),
    Metric("russellrao"),
    Metric("sokalsneath"),
    Metric("yule"),
    Metric("nan_euclidean", growth=0.5, gaps=True),
    Metric("gower", gaps=True),
)

METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}

#: Other spellings that SciPy and scikit-learn users write.
ALIASES = {"l1": "cityblock", "manhattan": "cityblock", "l2": "euclidean", "matching": "hamming"}

#: The metrics whose distances are those of points in space, squared and plain.
EUCLIDEAN = ("sqeuclidean", "euclidean")


def squares_of(metric: MetricLike) -> Squares:
    """Return how a metric follows from squared differences; a function does not."""
    return METRICS[metric].squares if isinstance(metric, str) and metric in METRICS else Squares.NONE


def allows_gaps(metric: object) -> bool:
    """Tell whether rows may have missing values: the metric compares what both rows have."""
    return isinstance(metric, str) and metric in METRICS and METRICS[metric].gaps


def compared_metric(metric: MetricLike, by_squares: bool) -> MetricLike:
    """Return the metric whose distances engines compare: ``by_squares``, squared Euclidean distances for plain ones.

    Ties are decided on these. Squares are exact on whole numbers; their roots can be equal by rounding only.
    """
    return EUCLIDEAN[0] if by_squares and metric in EUCLIDEAN else metric


def canonical_metric(metric: object) -> MetricLike:
    """Return the metric's own name, or the callable as it is."""
    if callable(metric):
        return metric
    name = ALIASES.get(str(metric).lower(), str(metric).lower())
    if not isinstance(metric, str) or (name not in METRICS and name != "precomputed"):
        raise ValueError(unknown_name("metric", metric, [*METRICS, "precomputed"]))
    return name


def pairwise(vectors: Any, metric: MetricLike) -> NDArray[np.float64]:
    """Return the (n, n) distances of all rows, in float64, symmetric to the bit, with a zero diagonal."""
    if _by_products(vectors, metric):
        return from_products(vectors, str(metric))
    return to_square(pairwise_condensed(vectors, metric), vectors.shape[0])


def squares_side_by_side(parts: Sequence[NDArray[Any]], root: bool) -> NDArray[np.float64]:
    """Return the squared Euclidean distances, or their roots, inside each of many small tables of the same columns.

    Shape (tables, rows, rows), as many rows as the largest table has; infinite where a table has fewer. The terms of
    every pair are added one after the other, as SciPy does: the bits are those of :func:`pairwise`, without a call
    for every table.
    """
    sizes = np.array([len(part) for part in parts])
    filled = np.arange(sizes.max()) < sizes[:, None]
    rows, column = np.concatenate(parts), np.zeros(filled.shape)
    squares = np.zeros((*filled.shape, filled.shape[1]))
    for numbers in rows.T:
        column[filled] = numbers
        gap = column[:, :, None] - column[:, None]
        gap *= gap
        squares += gap
    squares[~filled] = squares.transpose(0, 2, 1)[~filled] = np.inf
    return np.sqrt(squares, out=squares) if root else squares


def pairwise_condensed(vectors: Any, metric: MetricLike) -> NDArray[np.float64]:
    """Return the distances of all pairs of rows in condensed form, in float64."""
    from scipy.spatial.distance import pdist

    if _by_products(vectors, metric):
        return to_condensed(from_products(vectors, str(metric)), vectors.shape[0])
    if hasattr(vectors, "tocsr"):
        vectors = vectors.toarray()
    if callable(metric):
        condensed = _by_calls(vectors, metric)
    elif allows_gaps(metric):
        condensed = _in_blocks(vectors, metric)
    else:
        try:
            if squares_of(metric) is Squares.UNIT:
                condensed = 0.5 * pdist(unit_rows(vectors), "sqeuclidean")
            else:
                condensed = np.asarray(pdist(vectors, metric), dtype=np.float64)
        except (np.linalg.LinAlgError, ValueError, TypeError) as error:
            raise ValueError(_cannot_compare(metric, len(vectors), error)) from error
    smallest = _check_computed(condensed, metric, len(vectors))
    return condensed if smallest > 0.0 else np.maximum(condensed, 0.0, out=condensed)  # no -0.0 either


def unit_rows(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rows in float64, scaled to unit length.

    The cosine distance of two rows is half the squared distance of these. One minus their product is the same on paper,
    but nearly parallel rows lose all digits there: see "Rounding" in ``docs/how-it-works.md``.
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float64)
    power = np.frexp(np.abs(rows).max(axis=1))[1]
    rows = np.asarray(np.ldexp(rows, -power[:, None]))  # exact, and squares stay in the range of floats
    with np.errstate(invalid="ignore"):  # a row of zeros has no direction and no distance; who calls says so
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows


def between(
    some: NDArray[Any], others: NDArray[Any], metric: MetricLike, **options: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the distances of some rows to others, the same bits as :func:`pairwise` has for them."""
    from scipy.spatial.distance import cdist

    if allows_gaps(metric):
        return gower_between(some, others) if metric == "gower" else nan_euclidean_between(some, others)
    if squares_of(metric) is Squares.UNIT:
        return np.asarray(0.5 * cdist(unit_rows(some), unit_rows(others), "sqeuclidean"))
    return np.asarray(np.maximum(cdist(some, others, metric, **options), 0.0))


def options_of(rows: Any, metric: MetricLike) -> dict[str, NDArray[np.float64]]:
    """Return what a metric takes from all rows; SciPy would take it from the rows at hand."""
    if metric == "seuclidean":
        return {"V": np.var(dense(rows), axis=0, ddof=1)}
    if metric == "mahalanobis":
        return {"VI": np.linalg.inv(np.atleast_2d(np.cov(dense(rows).T))).T}
    return {}


def dense(rows: Any) -> NDArray[np.float64]:
    """Return rows as a plain array in float64."""
    return np.asanyarray(rows.toarray() if hasattr(rows, "tocsr") else rows, dtype=np.float64, order="C")


def distances_along(rows: Any, p: NDArray[Any], q: NDArray[Any], metric: MetricLike) -> NDArray[np.float64]:
    """Return the distances of some pairs of rows, in float64; ``p`` is sorted. One row is compared with many at once.

    A function is called with the row of ``p`` first.
    """
    distances = np.empty(len(p))
    bounds = np.flatnonzero(np.r_[True, p[1:] != p[:-1], True]) if len(p) else np.zeros(1, np.intp)
    try:
        options = options_of(rows, metric)
        for start, stop in pairwise_of(bounds.tolist()):
            others = dense(rows[q[start:stop]])
            distances[start:stop] = between(dense(rows[p[start : start + 1]]), others, metric, **options)[0]
    except Exception as error:  # a function may fail in any way, and metrics in some
        raise ValueError(
            explain(
                f"Metric {metric_name(metric)!r} cannot compare rows that connectivity makes neighbours "
                f"({type(error).__name__}: {error})",
                "data that the metric is defined for, or a function of two rows that returns a number",
                f"choose another metric, or pass distances with {option('metric', 'precomputed')}",
            )
        ) from error
    bad = np.flatnonzero(~(np.isfinite(distances) & (distances >= 0.0)))
    if len(bad):
        raise ValueError(_no_distance(metric, distances[bad[0]], int(p[bad[0]]), int(q[bad[0]])))
    return distances


def _by_products(vectors: Any, metric: MetricLike) -> bool:
    """Tell whether rows are sparse and the metric follows from their inner products."""
    return hasattr(vectors, "tocsr") and isinstance(metric, str) and METRICS[metric].by_products


def compare_all(items: Sequence[Any], metric: MetricLike) -> NDArray[np.float64]:
    """Return the condensed distances of objects of any kind, by a function of two of them."""
    if not callable(metric):
        raise InvariantError("only a function compares objects that are no numbers")
    step = "compare a sample of the objects, or use a machine with more memory"
    check_memory(8 * length_of(len(items)), f"A matrix of the distances of {len(items)} objects", step)
    condensed = _by_calls(items, metric)
    _check_computed(condensed, metric, len(items))
    return np.maximum(condensed, 0.0, out=condensed)


def rounded(distances: NDArray[np.float64], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return distances in a type of the user's choice; refuse those that it cannot hold."""
    _check_range(distances, kind)
    return distances.astype(kind, copy=False)


def _check_range(distances: NDArray[np.float64], kind: np.dtype[Any]) -> None:
    if kind == distances.dtype:
        return
    largest = float(distances.max(initial=0.0))
    most = float(np.finfo(kind).max)
    if math.isfinite(largest) and largest > most:
        raise ValueError(
            explain(
                f"Compared distances are up to {largest:.3g}, too large for {kind}",
                f"at most {most:.3g}; of Euclidean distances the squares are compared",
                f"divide the data by a constant, or use {option('precision', 'float64')}",
            )
        )


def comes_in_blocks(vectors: Any, metric: MetricLike) -> bool:
    """Tell whether distances can be computed block by block, with the same result as all at once."""
    return isinstance(metric, str) and METRICS[metric].by_pairs and not hasattr(vectors, "tocsr")


def whole_rows(vectors: Any, metric: str) -> Callable[[slice], NDArray[np.float64]]:
    """Return a function that gives the distances of some rows to all: the bits that :func:`pairwise` has for them."""
    if _by_products(vectors, metric):
        blocks = blocks_of_products(vectors, metric)
        return lambda some: blocks(some, 0)
    table = vectors.toarray() if hasattr(vectors, "tocsr") else vectors
    try:
        options = options_of(table, metric)
    except np.linalg.LinAlgError as error:
        raise ValueError(_cannot_compare(metric, len(table), error)) from error

    def rows(some: slice) -> NDArray[np.float64]:
        mine = table[some]  # some metrics round otherwise from the other side: the earlier row comes first
        earlier = between(table[: some.start], mine, metric, **options).T if some.start else mine[:, :0]
        block = np.hstack((earlier, between(mine, table[some.start :], metric, **options)))
        own = np.triu(block[:, some], 1)
        block[:, some] = own + own.T
        if not np.isfinite(block).all():
            p, q = (int(index) for index in np.argwhere(~np.isfinite(block))[0])
            raise ValueError(_no_distance(metric, block[p, q], some.start + p, q))
        return block

    return rows


def fill_block(target: NDArray[Any], vectors: NDArray[Any], metric: MetricLike, start: int, rows: int = 256) -> None:
    """Write the distances of some rows to all later ones into a square matrix; :func:`mirror_block` does the rest.

    Rows are written as they lie in memory, so that fresh memory is taken a little at a time.
    """
    stop = min(start + rows, len(vectors))
    for left in range(start, len(vectors), COLUMNS_AT_ONCE):
        right = min(left + COLUMNS_AT_ONCE, len(vectors))
        block = between(vectors[start:stop], vectors[left:right], metric)
        if left == start:  # the same bits on both sides, and nothing from a row to itself
            own = np.triu(block[:, : stop - start], 1)
            block[:, : stop - start] = own + own.T
        if not np.isfinite(block).all():
            p, q = (int(index) for index in np.argwhere(~np.isfinite(block))[0])
            raise ValueError(_no_distance(metric, block[p, q], start + p, left + q))
        _check_range(block, target.dtype)
        target[start:stop, left:right] = block


def mirror_block(target: NDArray[Any], start: int, rows: int = 256) -> None:
    """Copy into some rows of a square matrix what stands in their columns, above the diagonal."""
    stop = min(start + rows, len(target))
    for left in range(0, start, rows):
        target[start:stop, left : left + rows] = target[left : left + rows, start:stop].T


def _by_calls(vectors: Sequence[Any] | NDArray[Any], metric: Callable[..., float]) -> NDArray[np.float64]:
    """Call a function for every pair of rows; where it fails, name the two."""
    n = len(vectors)
    condensed = np.empty(length_of(n))
    for place, (p, q) in enumerate(combinations(range(n), 2)):
        try:
            condensed[place] = metric(vectors[p], vectors[q])
        except Exception as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
            raise ValueError(
                explain(
                    f"Metric {metric_name(metric)!r} fails for rows {p} and {q} ({why})",
                    "a function of two rows that returns a number",
                    f"correct the function, or pass distances with {option('metric', 'precomputed')}, such as a "
                    "function of the whole table gives",
                )
            ) from error
    return condensed


def _in_blocks(vectors: NDArray[Any], metric: MetricLike) -> NDArray[np.float64]:
    """Compare some rows with all later ones at a time."""
    n, step = len(vectors), 256
    parts = [np.empty(0)]
    for start in range(0, n, step):
        block = between(vectors[start : start + step], vectors[start:], metric)
        parts += [row[place + 1 :] for place, row in enumerate(block)]
    return np.concatenate(parts)


def _check_computed(condensed: NDArray[np.float64], metric: MetricLike, n: int) -> float:
    """Refuse distances that are not numbers, naming the first pair of rows; return the smallest."""
    if not len(condensed):
        return 0.0
    smallest, largest = float(condensed.min()), float(condensed.max())
    if -1e-12 <= smallest <= largest < np.inf:  # NaN is neither
        return smallest
    first = int(np.flatnonzero(~(np.isfinite(condensed) & (condensed >= -1e-12)))[0])
    raise ValueError(_no_distance(metric, condensed[first], *pair_at(n, first)))


def _cannot_compare(metric: MetricLike, n: int, error: Exception) -> str:
    return explain(
        f"Metric {metric!r} cannot compare these {n} rows ({error})",
        "data that the metric is defined for",
        f"choose another metric, or pass distances with {option('metric', 'precomputed')}",
    )


def _no_distance(metric: MetricLike, value: float, p: int, q: int) -> str:
    if allows_gaps(metric) and value != value:
        return explain(
            f"Rows {p} and {q} have no value in common, and metric {metric!r} compares what both rows have",
            "rows of which every two have a column where neither is missing",
            f"drop row {p} or {q}, or fill some of the gaps",
        )
    return explain(
        f"Metric {metric_name(metric)!r} gives {value} for rows {p} and {q}",
        "finite distances of at least 0",
        "scale or clean these rows, or choose another metric",
    )


def metric_name(metric: MetricLike) -> str:
    """Return what a metric goes by."""
    return metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
