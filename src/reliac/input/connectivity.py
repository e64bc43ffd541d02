"""Connectivity: a graph that says who may be joined, while vectors or given distances say how far apart objects are.

Where the distance of two clusters follows from their vectors alone (means and spreads), every pair of their objects
counts: :class:`Connected`. Elsewhere the pairs that are edges count, as in scikit-learn: every edge
gets the distance of its two objects, and from there on it is a graph whose missing pairs are ignored. For an average a
missing pair is taken to be as far as the listed ones of the same two parts: a part counts by its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import CRITERIA, Criterion, MeanForm
from ..errors import explain, option
from .condensed import place_of
from .fingerprints import exact_fingerprint
from .graph import EDGES_HASHED, ON_GRAPHS, Graph, check_components, in_rows, join_by_rows
from .metrics import METRICS, MetricLike, compared_metric, distances_along, squares_of
from .numbers import is_sparse
from .objects import Distances, Objects, Vectors
from .overflow import check_sums

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, eq=False, kw_only=True)
class Connected(Vectors):
    """Vectors that give the distance, and a graph that says who may be joined: only neighbours.

    A join can come closer to a third cluster than its parts were. What no path of edges joins stays apart.
    """

    starts: NDArray[np.int64]  # (n + 1,): where the later neighbours of each object begin
    ends: NDArray[np.int32]  # (m,): the neighbours

    may_end_in_forest: ClassVar[bool] = True
    called: ClassVar[str] = "vectors with connectivity"

    @property
    def engines(self) -> tuple[str, ...] | None:
        """The one for graphs."""
        return ("graph",)

    @property
    def options(self) -> dict[str, Any]:
        """Say that there was a graph."""
        return {"connectivity": "given"}

    @property
    def graph(self) -> Graph:
        """The neighbours as a graph whose distances mean nothing."""
        return Graph(self.starts, self.ends, np.zeros(len(self.ends), np.float32), missing="ignore")

    @property
    def n_components(self) -> int:
        """The number of connected components."""
        return self.graph.n_components

    def check_count(self, n_clusters: int) -> None:
        """Refuse fewer clusters than connected components."""
        check_components(n_clusters, self.graph.n_components, self.n, join_by_rows())

    def subset(self, objects: NDArray[np.intp]) -> Self:
        """Return some of the rows, with the edges between them."""
        part = self.graph.subset(objects)
        return replace(super().subset(objects), starts=part.starts, ends=part.ends)

    def made_up(self, count: int) -> Self:
        """Return points in a plane, in a chain."""
        chain = self.graph.made_up(count)
        return replace(super().made_up(count), starts=chain.starts, ends=chain.ends)

    def data_fingerprint(self) -> str:
        """Return a hash of the vectors and of the edges."""
        return exact_fingerprint(super().data_fingerprint(), self.starts[:: max(1, self.n // EDGES_HASHED)], self.ends)

    def exact_fingerprint(self, options: object, *more: NDArray[Any]) -> str:
        """Return a hash of options, of further arrays, of the vectors and the edges."""
        return super().exact_fingerprint(options, *more, self.starts, self.ends)

    def equal_at_zero(self, metric: MetricLike) -> bool:
        """Tell that equal rows need not be neighbours."""
        return False

    def are_points(self, metric: MetricLike) -> bool:
        """Tell that not all pairs may be joined."""
        return False


@dataclass(frozen=True, eq=False)
class AlongEdges(Graph):
    """Objects that were compared along the edges of a graph only; its distances are those that engines compare."""

    by_sizes: ClassVar[bool] = True
    labelled: ClassVar[bool] = False  # the user knows rows

    @property
    def how_to_join(self) -> str:
        """Say what joins components besides edges."""
        return join_by_rows()

    @property
    def options(self) -> dict[str, Any]:
        """Say that there was a graph."""
        return {"connectivity": "given"}

    def check_range(self, criterion: Criterion, metric: MetricLike, weights: NDArray[np.float64]) -> None:
        """Refuse sums beyond float64."""
        if criterion.reduction is np.add and len(self.distances):
            check_sums(criterion, "precomputed", weights, self.largest, "the largest distance along an edge")


def follows_from_vectors(criterion: Criterion, metric: MetricLike) -> bool:
    """Tell whether the distance of two clusters follows from means and spreads of their vectors."""
    if criterion.mean_form is MeanForm.MEANS:
        return metric != "precomputed"
    return criterion.mean_form is MeanForm.SPREADS and squares_of(metric).mean_form


def connect(objects: Objects, criterion: Criterion, metric: MetricLike, connectivity: Any) -> Objects:
    """Return objects of which only neighbours may be joined, as scikit-learn's ``connectivity`` says it.

    ``connectivity``: a square array or sparse matrix whose stored entries (of an array: those that are not zero) are
    edges, or a function that makes one of the vectors. Either direction of an edge is enough.
    """
    if not isinstance(objects, (Vectors, Distances)):
        raise ValueError(
            explain(
                f"connectivity with {objects.called}, which says itself who may be joined",
                "connectivity with vectors, or with a full matrix of distances",
                "leave connectivity out",
            )
        )
    p, q = neighbours(objects, connectivity)
    if isinstance(objects, Vectors) and follows_from_vectors(criterion, metric):
        starts, ends, _ = in_rows(p, q, np.zeros(len(p), np.float32), objects.n)
        return Connected(
            objects.rows,
            starts=starts,
            ends=ends,
            names=objects.names,
            matrix_type=objects.matrix_type,
            columns=objects.columns,
        )
    if criterion.geometric:
        raise ValueError(
            explain(
                f"connectivity with {option('criterion', criterion.name)} and given distances",
                f"vectors; or given distances and {', '.join(ON_GRAPHS)}",
                f"pass the vectors, or use {option('criterion', 'average')}",
            )
        )
    distance = _measure(objects, p, q, compared_metric(metric, criterion.by_squares))
    edges = in_rows(p, q, distance, objects.n)
    return AlongEdges(*edges, missing="ignore", names=objects.names, matrix_type=objects.matrix_type)


def neighbours(objects: Vectors | Distances, connectivity: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs that may be joined, p < q, sorted, each once."""
    n = objects.n
    if callable(connectivity):
        connectivity = connectivity(objects.rows if isinstance(objects, Vectors) else objects.matrix)
    entries = connectivity_entries(connectivity, n)
    p, q = entries.row.astype(np.int64), entries.col.astype(np.int64)
    key = np.sort((np.minimum(p, q) * n + np.maximum(p, q))[p != q])  # nearly in order: np.unique takes longer
    key = key[np.diff(key, prepend=-1) > 0]
    return key // n, key % n


def connectivity_entries(connectivity: Any, n: int) -> Any:
    """Return a checked matrix of neighbours as a sparse one in coordinate form."""
    from scipy.sparse import coo_array

    if not is_sparse(connectivity):
        try:
            array = np.asarray(connectivity)
            if array.dtype.kind not in "biuf":
                raise TypeError
        except (TypeError, ValueError):
            raise TypeError(
                explain(
                    f"connectivity of type {type(connectivity).__name__}",
                    "a square array or sparse matrix of numbers, or a function of X that returns one",
                    "make one, for example with sklearn.neighbors.kneighbors_graph",
                )
            ) from None
        if not array.ndim == 2:
            raise ValueError(_wrong_shape(array.shape, n))
        connectivity = coo_array(array)
    if connectivity.shape != (n, n):
        raise ValueError(_wrong_shape(connectivity.shape, n))
    entries = connectivity.tocoo()
    bad = np.flatnonzero(~np.isfinite(entries.data)) if entries.data.dtype.kind == "f" else np.zeros(0, np.intp)
    if len(bad):
        place = (int(entries.row[bad[0]]), int(entries.col[bad[0]]))
        raise ValueError(
            explain(
                f"connectivity holds {entries.data[bad[0]]} at {place}",
                "numbers: an entry says that two rows may be joined",
                "leave the entry out, or make it 1",
            )
        )
    return entries


def _wrong_shape(shape: tuple[int, ...], n: int) -> str:
    return explain(
        f"connectivity of shape {shape} for {n} rows",
        f"a matrix of shape ({n}, {n}): entry (i, j) says that rows i and j may be joined",
        "make it from the same rows, for example with sklearn.neighbors.kneighbors_graph",
    )


def _measure(objects: Vectors | Distances, p: NDArray[np.int64], q: NDArray[np.int64], metric: MetricLike) -> Any:
    """Return the distance of every pair."""
    if isinstance(objects, Distances):
        given = objects.matrix
        return given[p, q] if given.ndim == 2 else given[place_of(objects.n, p, q)]
    return distances_along(objects.rows, p, q, metric).astype(objects.matrix_type, copy=False)


# --- what is compared, for every criterion ---


def meanings() -> str:
    """Return what the distance of two clusters is, for every criterion and meaning: the table of docs/graphs.md."""
    lines = ['| criterion | `missing="far"` | `missing="ignore"` | `connectivity=` |', "|---|---|---|---|"]
    for row in CRITERIA.values():
        lines.append("| " + " | ".join([row.name, *_meanings_on_graphs(row), _meaning_along_edges(row)]) + " |")
    return "\n".join(lines)


def _meanings_on_graphs(row: Criterion) -> tuple[str, ...]:
    if row.name not in ON_GRAPHS:
        return ("refused: a graph has no points",) * 2
    cells: dict[np.ufunc, tuple[str, str]] = {
        np.minimum: ("the smallest edge between the two", "the same"),
        np.maximum: ("the largest edge if all pairs are edges, else they are not joined", "the largest edge"),
        np.add: ("(sum of edges + M * missing pairs) / all pairs", "sum of edges / number of edges"),
    }
    alike = ", every part of a cluster counting alike" if row.equal_parts else ""
    return tuple(cell + alike for cell in cells[row.reduction])


def _meaning_along_edges(row: Criterion) -> str:
    """Say which pairs count, as :func:`connect` decides it for each metric."""
    of_vectors = [metric for metric in METRICS if follows_from_vectors(row, metric)]
    if not of_vectors:
        return 'as `missing="ignore"`: the edges have the distances of their objects'
    formula = f"`{row.formula}`".replace("|", r"\|")  # a bar would end the cell
    if row.geometric:
        return f"{formula}, of all vectors of the two"
    names = " and ".join(f"`{metric}`" for metric in of_vectors)
    return f"{names}: {formula}, all pairs; other metrics: the mean over parts with an edge, each by its size"
