"""A table with one row of numbers per object: what makes it acceptable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, option
from ..machine import n_threads
from .extremes import extremes
from .metrics import METRICS, MetricLike
from .misreadings import refuse_adjacency, refuse_edges
from .numbers import is_sparse

#: Computed distances are symmetric up to this share of the largest: float32 has seven digits.
ROUNDING = 1e-6

#: Rows of a table that are compared with its columns at once.
STRIP = 64


def check_vectors(data: Any, metric: MetricLike) -> None:
    """Refuse what is no table, what looks like distances, and rows that the metric cannot compare."""
    check_shape(data.shape)
    rows, columns = data.shape
    if is_sparse(data):
        refuse_adjacency(data)
    else:
        refuse_edges(data)
    if not is_sparse(data) and rows == columns > 2 and looks_like_distances(data):
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
        check_directions(data, row.name, row.constant_rows)


def check_shape(shape: tuple[int, ...], fewest: tuple[int, int] = (1, 1), condensed: bool = True) -> None:
    """Refuse what has not two dimensions, and fewer rows or columns than so many. The words are scikit-learn's.

    ``condensed``: whether distances of one dimension may be given with ``metric="precomputed"``.
    """
    if len(shape) != 2 and 0 not in shape:
        given = f"Expected 2D array, got {len(shape)}D array instead: X of shape {shape}"
        raise ValueError(explain(given, "a table with one row per object", _as_table(len(shape), condensed)))
    for count, least, called in zip(shape, fewest, ("sample(s)", "feature(s)"), strict=False):
        if count < least:
            given = f"{count} {called} (shape={shape}) while a minimum of {least} is required"
            words = ["one" if number == 1 else "two" if number == 2 else str(number) for number in fewest]
            allowed = f"at least {words[0]} row{'s' * (fewest[0] > 1)} and {words[1]} column{'s' * (fewest[1] > 1)}"
            raise ValueError(explain(given, allowed, "check the filter or file that the data came from"))


def _as_table(dimensions: int, condensed: bool) -> str:
    """Say how an array of other than two dimensions becomes a table."""
    if not dimensions:
        return "pass a list of rows"
    if dimensions > 2:
        return "make one row of every object with X.reshape(len(X), -1)"
    square = "" if condensed else "scipy.spatial.distance.squareform(X) with "
    return (
        "Reshape your data with X.reshape(-1, 1) if it is one feature, or X.reshape(1, -1) if it is one object; pass "
        f"{square}{option('metric', 'precomputed')} if it is a condensed distance matrix"
    )


def looks_like_distances(data: NDArray[Any]) -> bool:
    """Tell whether a square table is symmetric and zero on its diagonal, up to what computing distances rounds."""
    low, high = extremes(data, n_threads(None))
    rounding = high * ROUNDING if data.dtype.kind == "f" else 0.0
    if not high > 0 or low < -rounding or np.abs(data.diagonal()).max() > rounding:
        return False
    numbers = data if data.dtype.kind == "f" else data.astype(np.float64)
    strips = (slice(start, start + STRIP) for start in range(0, len(data), STRIP))
    return all((np.abs(numbers[strip] - numbers[:, strip].T) <= rounding).all() for strip in strips)


def check_directions(data: Any, metric: str, constant_rows: bool) -> None:
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


def largest_difference(data: Any) -> float:
    """Return a bound of the difference of any two numbers: twice the largest. Gaps count nothing."""
    values = data.data if is_sparse(data) else data
    low, high = extremes(values, n_threads(None))
    if high != high:
        low, high = extremes(values[~np.isnan(values)], 1)
    return 2.0 * max(abs(low), abs(high))
