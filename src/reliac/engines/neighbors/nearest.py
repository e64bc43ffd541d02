"""The k nearest other rows of every row: which search finds them, and what equal rows mean for it.

Whatever the search, the result is the same to the last bit: distances are those of the metric's table, and of equally
near rows the first come first.

* few dimensions: a tree of boxes (``boxes.py``);
* many dimensions: float32 products of blocks select, float64 decides (``products.py``), on a GPU where that is worth it
  (``on_device.py``);
* other metrics, given distances, few rows, and lists of a quarter of all rows: whole rows of distances (``whole.py``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import explain, option
from ...input.metrics import MetricLike, squares_of
from ...input.numbers import is_sparse
from ...input.objects import Distances, Objects, Vectors
from ...machine import check_memory, n_threads
from ..repeats import often_repeated
from .whole import BLOCK, nearest_in_whole_rows

#: Who may search: the CPU, a GPU, or whichever is sooner done.
ENGINES = ("auto", "cpu", "gpu")

#: Up to so many columns boxes exclude enough.
FEW_DIMENSIONS = 9

#: Differences of numbers that whole rows compute in about 0.05 s: less than it takes to load compiled code.
NOT_WORTH_LOADING = 5e7

#: Numbers whose squares, and sums of them, are in the range of floats.
LARGEST = 1e145


class Nearest(NamedTuple):
    """The nearest other rows of every row, (n, k) each: nearest first, of equally near ones the first."""

    indices: NDArray[np.intp]
    distances: NDArray[np.float64]


def find_nearest(
    objects: Objects, k: int, metric: MetricLike, n_jobs: int | None = None, engine: str = "cpu"
) -> Nearest:
    """Find the k nearest other objects of every object, exactly; ``engine`` is one of ENGINES."""
    threads = n_threads(n_jobs)
    if not isinstance(objects, (Vectors, Distances)):
        raise TypeError(
            explain("A graph lists the neighbours that it has", "vectors or distances of all pairs", "pass one of them")
        )
    check_room(objects, k, metric, threads)
    how = _way(objects, k, metric)
    if engine == "gpu" or (engine == "auto" and how == "products" and _worth_a_device(objects)):
        _check_device(objects, k, metric)
        how = "device"
    if how != "device":
        objects = objects.at_home()
    if how == "whole rows":
        return Nearest(*nearest_in_whole_rows(objects, k, metric, threads))
    rows = objects.rows  # type: ignore[union-attr]
    first = often_repeated(rows, k)
    if first is None:
        return _searched(rows, k, metric, how, threads)
    return _with_repeats(rows, k, metric, threads, first, engine)


def check_room(objects: Objects, k: int, metric: MetricLike, threads: int, times: int = 1) -> None:
    """Refuse what does not fit into memory; ``times``: how much more than usual is held."""
    size = times * _memory(objects, k, metric, threads)
    check_memory(size, f"Finding {k} neighbours of {objects.n} rows", objects.how_to_fit)


def _way(objects: Objects, k: int, metric: MetricLike) -> str:
    """Choose a search."""
    if not isinstance(objects, Vectors) or not squares_of(metric) or is_sparse(objects.rows):
        return "whole rows"
    n, d = objects.rows.shape
    if n * n * d <= NOT_WORTH_LOADING or 4 * k > n:
        return "whole rows"
    if max(abs(float(objects.rows.max())), abs(float(objects.rows.min()))) > LARGEST:
        return "whole rows"
    return "boxes" if d <= FEW_DIMENSIONS else "products"


def _worth_a_device(objects: Objects) -> bool:
    from ..gpu.device import worth_starting

    n, d = objects.rows.shape  # type: ignore[attr-defined]
    return worth_starting(n * n * d)


def _check_device(objects: Objects, k: int, metric: MetricLike) -> None:
    """Refuse what no device can search."""
    from ..gpu.columns import bytes_of_rows
    from ..gpu.device import no_room, why_not

    reason = why_not()
    if not isinstance(objects, Vectors) or not squares_of(metric) or objects.sparse:
        reason = f"it takes dense rows and 'euclidean', 'sqeuclidean' or 'cosine', not {option('metric', metric)}"
    elif reason is None:
        n, d = objects.rows.shape
        reason = no_room(bytes_of_rows(n, d) + 100 * n * k)
    if reason is not None:
        raise ValueError(
            explain(
                f"A search on a GPU cannot do this: {reason}",
                f"engines {', '.join(ENGINES)}",
                f"use {option('engine', 'cpu')}",
            )
        )


def _memory(objects: Objects, k: int, metric: MetricLike, threads: int) -> int:
    """Estimate the bytes that are needed beyond the rows: the result, what is searched, and blocks of all threads."""
    n, result = objects.n, 16 * objects.n * k
    way = _way(objects, k, metric)
    if way == "whole rows":
        whole = 0 if isinstance(objects, Vectors) and not callable(metric) else 8 * n * n
        dense = 8 * n * objects.rows.shape[1] if isinstance(objects, Vectors) and objects.sparse else 0
        return result + whole + dense + 24 * min(BLOCK, n * n) * threads
    d = objects.rows.shape[1]  # type: ignore[attr-defined]
    return result + (8 * n * (3 * d + 8) if way == "boxes" else 4 * n * (d + 4) + 2**25 * threads)


def _searched(rows: NDArray[Any], k: int, metric: MetricLike, how: str, threads: int) -> Nearest:
    """Search by compiled code, which is imported now."""
    if how == "boxes":
        from .boxes import nearest_by_boxes

        return Nearest(*nearest_by_boxes(rows, k, squares_of(metric), threads))
    if how == "device":
        from .on_device import nearest_on_device

        return Nearest(*nearest_on_device(rows, k, squares_of(metric), threads))
    from .products import nearest_by_products

    return Nearest(*nearest_by_products(rows, k, squares_of(metric), threads))


# --- rows that repeat more often than a list is long ---


def _with_repeats(
    rows: NDArray[Any], k: int, metric: MetricLike, threads: int, first: NDArray[np.int64], engine: str
) -> Nearest:
    """Search the first of equal rows only, and let all rows equal to a neighbour be neighbours.

    ``first``: for every row the first equal to it. The k nearest different rows are enough: each stands for one row or
    more, and among equally near ones those whose first row comes first have k rows before any row of the others.
    """
    own, which = np.unique(first, return_inverse=True)
    few = min(k, len(own) - 1)
    found = find_nearest(Vectors(rows[own]), few, metric, threads, engine) if few else None
    members = np.argsort(which, kind="stable")
    size = np.bincount(which)
    start = np.cumsum(size) - size
    indices, distances = np.empty((len(rows), k), np.intp), np.empty((len(rows), k))
    step = max(1, 2**20 // (k + 1) ** 2)
    for at in range(0, len(own), step):
        some = np.arange(at, min(at + step, len(own)))
        groups, gaps = some[:, None], np.zeros((len(some), 1))
        if found is not None:
            groups = np.hstack((groups, found.indices[some]))
            gaps = np.hstack((gaps, found.distances[some]))
        near, far = _first_members(groups, gaps, members, start, size, k + 1)
        mine = np.flatnonzero((which >= at) & (which < some[-1] + 1))
        table, gap = near[which[mine] - at], far[which[mine] - at]
        kept = table != mine[:, None]
        kept[kept.all(axis=1), -1] = False  # the row itself is farther down: one too many is listed
        indices[mine], distances[mine] = table[kept].reshape(-1, k), gap[kept].reshape(-1, k)
    return Nearest(indices, distances)


def _first_members(
    groups: NDArray[np.intp],
    gaps: NDArray[np.float64],
    members: NDArray[np.intp],
    start: NDArray[np.intp],
    size: NDArray[np.intp],
    count: int,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return for every line of groups the ``count`` nearest members of them, and how far they are."""
    taken = np.minimum(size[groups], count).ravel()
    line = np.repeat(np.repeat(np.arange(len(groups)), groups.shape[1]), taken)
    offset = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    member = members[np.repeat(start[groups].ravel(), taken) + offset]
    gap = np.repeat(gaps.ravel(), taken)
    order = np.lexsort((member, gap, line))
    rank = np.arange(len(order)) - np.searchsorted(line, np.arange(len(groups)))[line]
    kept = order[rank < count]  # ``line`` is sorted, so ranks are those of the sorted members
    return member[kept].reshape(-1, count), gap[kept].reshape(-1, count)
