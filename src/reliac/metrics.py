"""The metrics, one row each, and the distances of all objects from vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import explain, unknown_name

MetricLike = str | Callable[[NDArray[Any], NDArray[Any]], float]

#: Sparse rows whose distance keeps less than this share of their squares are subtracted instead of multiplied.
CANCELLATION = 1e-4


@dataclass(frozen=True)
class Metric:
    """One metric by the name that ``scipy.spatial.distance.pdist`` knows it by."""

    name: str
    zero_rows: bool = True  # a row of zeros has a distance
    constant_rows: bool = True  # a row of equal values has a distance
    by_products: bool = False  # follows from inner products, which sparse rows give cheaply


_ROWS = (
    Metric("sqeuclidean", by_products=True),
    Metric("euclidean", by_products=True),
    Metric("cosine", zero_rows=False, by_products=True),
    Metric("cityblock"),
    Metric("correlation", zero_rows=False, constant_rows=False),
    Metric("chebyshev"),
    Metric("minkowski"),
    Metric("seuclidean"),
    Metric("mahalanobis"),
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
)

METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}

#: Other spellings that SciPy and scikit-learn users write.
ALIASES = {"l1": "cityblock", "manhattan": "cityblock", "l2": "euclidean", "matching": "hamming"}

#: The metrics whose distances are those of points in space, up to a square.
EUCLIDEAN = ("sqeuclidean", "euclidean")


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
    from scipy.spatial.distance import pdist, squareform

    row = METRICS.get(metric) if isinstance(metric, str) else None
    if hasattr(vectors, "tocsr"):
        if row is not None and row.by_products:
            return _from_products(vectors, row.name)
        vectors = vectors.toarray()
    try:
        condensed = np.asarray(pdist(vectors, metric), dtype=np.float64)
    except (np.linalg.LinAlgError, ValueError, TypeError) as error:
        raise ValueError(
            explain(
                f"Metric {_name_of(metric)!r} cannot compare these {len(vectors)} rows ({error})",
                "data that the metric is defined for",
                "choose another metric, or pass distances with metric='precomputed'",
            )
        ) from error
    _check_computed(condensed, metric, len(vectors))
    return np.asarray(squareform(np.maximum(condensed, 0.0, out=condensed), checks=False))


def _from_products(vectors: Any, name: str) -> NDArray[np.float64]:
    """Distances of sparse rows from their inner products; rows that nearly coincide are subtracted."""
    rows = vectors.tocsr().astype(np.float64)
    if name == "cosine":
        from scipy.sparse import diags_array

        rows = (diags_array(1.0 / np.sqrt(_squares(rows))) @ rows).tocsr()
    products = (rows @ rows.T).toarray()
    squares = products.diagonal()
    total = squares[:, None] + squares[None, :]
    distances = np.maximum(total - 2.0 * products, 0.0)
    p, q = np.nonzero(np.triu(distances <= CANCELLATION * total, 1))
    for start in range(0, len(p), 4096):
        some = slice(start, start + 4096)
        distances[p[some], q[some]] = _squares(rows[p[some]] - rows[q[some]])
    distances = np.triu(distances, 1)
    distances += distances.T
    if name == "cosine":
        return np.asarray(distances / 2.0)  # |u - v|^2 = 2 - 2 cos for unit rows
    return np.sqrt(distances) if name == "euclidean" else np.asarray(distances)


def _squares(rows: Any) -> NDArray[np.float64]:
    """Return the squared length of every sparse row."""
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()


def _check_computed(condensed: NDArray[np.float64], metric: MetricLike, n: int) -> None:
    """Refuse distances that are not numbers, naming the first pair of rows."""
    if np.isfinite(condensed).all() and not (condensed < -1e-12).any():
        return
    first = int(np.flatnonzero(~(np.isfinite(condensed) & (condensed >= -1e-12)))[0])
    p, q = (int(index[first]) for index in np.triu_indices(n, 1))
    raise ValueError(
        explain(
            f"Metric {_name_of(metric)!r} gives {condensed[first]} for rows {p} and {q}",
            "finite distances of at least 0",
            "scale or clean these rows, or choose another metric",
        )
    )


def _name_of(metric: MetricLike) -> str:
    return metric if isinstance(metric, str) else getattr(metric, "__name__", "the callable")
