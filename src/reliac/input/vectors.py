"""A table with one row of numbers per object: what makes it acceptable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, option
from ..machine import n_threads
from .metrics import METRICS, MetricLike
from .misreadings import refuse_adjacency, refuse_edges
from .numbers import extremes, is_sparse


def check_vectors(data: Any, metric: MetricLike) -> None:
    """Refuse what is no table, what looks like distances, and rows that the metric cannot compare."""
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
    if is_sparse(data):
        refuse_adjacency(data)
    else:
        refuse_edges(data)
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
        check_directions(data, row.name, row.constant_rows)


def _looks_like_distances(data: NDArray[Any]) -> bool:
    return bool(not data.diagonal().any() and data.any() and (data >= 0).all() and (data == data.T).all())


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
