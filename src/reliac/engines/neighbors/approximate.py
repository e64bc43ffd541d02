"""Approximate neighbours: a library finds candidates, and the distances are ours, to the last bit.

faiss parts the rows into lists, each around a centre, and looks for the neighbours of a row in the lists whose centres
are nearest to it. That is exact inside those lists, so the same seed gives the same neighbours for any number of
threads. (Libraries that walk along a graph are quicker on some data, but a graph that threads build together comes out
otherwise each time, or with each number of threads.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import explain, need, option
from ...input.metrics import METRICS, MetricLike, metric_name, squares_of
from ...input.objects import Objects, Vectors
from ...machine import in_threads, n_threads
from ..compiled.products import one_blas_thread
from .measuring import settle
from .nearest import Nearest, check_room
from .products import ROWS, Packed, load_products, settle_ties

#: Lists that a row is looked for in.
LISTS_READ = 8

#: Rounds that look for the centres, and rows that these are made from, for each list.
ROUNDS, ROWS_FOR_A_CENTRE = 10, 64


def find_approximately(objects: Objects, k: int, metric: MetricLike, seed: int, n_jobs: int | None = None) -> Nearest:
    """Find most of the k nearest other rows of every row; the same for the same seed, whatever the threads."""
    form = squares_of(metric)
    if not isinstance(objects, Vectors) or objects.sparse or not form:
        raise ValueError(
            explain(
                f"approximate neighbours by {option('metric', metric_name(metric))}",
                f"dense rows and metric {', '.join(row.name for row in METRICS.values() if row.squares)}",
                "leave approximate out",
            )
        )
    library, threads = need("faiss", "approximate"), n_threads(n_jobs)
    check_room(objects, k, metric, threads, 2)
    load_products()
    packed = Packed(objects.rows, form)
    with _threads(library, threads):
        candidates = _candidates(library, np.ascontiguousarray(packed.packed[:, :-1]), k, seed)
    return _measured(packed, candidates, k, threads)


def _candidates(library: Any, rows: NDArray[np.float32], k: int, seed: int) -> NDArray[np.int64]:
    """Return k + 1 rows that are near each row, itself mostly among them; -1 where there are fewer."""
    n, d = rows.shape
    centres = library.IndexFlatL2(d)
    index = library.IndexIVFFlat(centres, d, max(1, round(n**0.5)))
    index.cp.seed, index.cp.niter = seed % 2**31, ROUNDS
    index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, ROWS_FOR_A_CENTRE
    index.train(rows)
    index.add(rows)
    index.nprobe = LISTS_READ
    return np.asarray(index.search(rows, k + 1)[1])


@contextmanager
def _threads(library: Any, threads: int) -> Iterator[None]:
    """Let the library use so many threads, and afterwards as many as before."""
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(threads)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


def _measured(packed: Packed, candidates: NDArray[np.int64], k: int, threads: int) -> Nearest:
    """Measure candidates (n, c), and keep the k nearest other rows; where there are fewer, all rows are measured."""
    n = len(packed.rows)
    indices, distances, enough = np.empty((n, k), np.intp), np.empty((n, k)), np.empty(n, np.bool_)

    def fill(start: int) -> None:
        some = slice(start, min(start + ROWS, n))
        place = np.where(candidates[some] == np.arange(some.start, some.stop)[:, None], -1, candidates[some])
        others = packed.exact(place.ravel()).reshape(*place.shape, packed.d)
        reach = np.full(len(place), np.inf)
        settle(packed.exact(some), others, place, reach, packed.form, distances[some], indices[some], enough[some])

    in_threads(fill, range(0, n, ROWS), threads)
    left = np.flatnonzero(~enough)
    with one_blas_thread():
        for start in range(0, len(left), ROWS):
            some = left[start : start + ROWS]
            distances[some], indices[some] = settle_ties(packed, some, distances[some], indices[some])
    return Nearest(indices, distances)
