"""The spanning engine with a GPU: edges of minimum spanning trees are found there, levels replayed as ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...input.metrics import Squares, squares_of
from ...input.objects import Vectors, rows_of
from ...input.problem import Problem
from ..lists.engine import SEARCH_LENGTH
from ..spanning.edges import by_tree, edges_of_distinct_rows, edges_of_vectors, spanning_edges
from ..spanning.engine import SpanningEngine
from ..spanning.forest import Edges, Twins
from .columns import bytes_of_rows
from .device import no_room, the_device, to_device, why_not, worth_starting
from .engine import BYTES_AT_A_TIME
from .failures import OnDevice
from .moments import compared_rows, upload
from .points import place_points, twins_on_device
from .rounds import Rounds

#: Up to so many objects the CPU finds the edges: starting the kernels of a round takes longer than that.
FEW = 4000

#: Bytes on the device for each object besides its numbers.
BYTES = 24 * SEARCH_LENGTH + 400


class GpuSpanningEngine(SpanningEngine):
    """Levels on the edges of all minimum spanning trees of vectors, which a GPU finds."""

    name = "gpu"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        few = problem.n_objects <= FEW
        super().__init__(replace(problem, objects=problem.objects.at_home()) if few else problem, n_jobs)

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what the spanning engine cannot do either, what is not compared by squares, or why there is no device."""
        reason = SpanningEngine.refuses(problem)
        if reason is None and not _by_squares(problem):
            reason = "the single criterion on a device takes dense vectors with euclidean, sqeuclidean or cosine"
        reason = reason or why_not()
        if reason is None and problem.n_objects > FEW:
            reason = no_room(device_memory(problem))
        return reason

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether the work is worth starting a device; in few dimensions a tree of boxes is better."""
        if SpanningEngine.refuses(problem) or not _by_squares(problem):
            return False
        n, d = _shape(problem)
        return not by_tree(n, d) and worth_starting(n * n * d)

    @staticmethod
    def memory(problem: Problem) -> int:
        """Estimate what the host needs: rows of unit length, the forest and the replay."""
        n, d = _shape(problem)
        if n <= FEW:
            return SpanningEngine.memory(problem)
        unit = 8 * d if squares_of(problem.metric) is Squares.UNIT else 0
        return int(n * (unit + 700))

    def _find_edges(self) -> tuple[Edges, Twins | None]:
        if self.problem.n_objects <= FEW:
            return spanning_edges(self.problem, self.threads, self.findings)
        return self.findings.all_edges(self._search)

    def _search(self) -> tuple[Edges, Twins | None]:
        form = squares_of(self.problem.metric)
        rows = compared_rows(rows_of(self.problem.objects), form, self.threads)
        vectors = upload(rows, the_device(), self.threads)

        def search(own: NDArray[np.int64] | None) -> Edges:
            if own is None:
                return edges_on_device(vectors, self.findings.tell)
            if len(own) <= FEW:
                return edges_of_vectors(rows[own], self.threads, self.findings)
            return edges_on_device(vectors[to_device(own, vectors.device)], self.findings.tell)

        first = twins_on_device(rows, vectors)
        return edges_of_distinct_rows(first, form is Squares.UNIT, search)

    def levels(self, level: int) -> Iterator[Batch]:
        """Find the edges on the device, then replay the levels on them."""
        with OnDevice(SpanningEngine.name):
            yield from super().levels(level)


def edges_on_device(vectors: Any, tell: Any) -> Edges:
    """Return all edges of all minimum spanning trees of distinct rows, by squared distances."""
    return Rounds(*place_points(vectors), tell).edges()


def device_memory(problem: Problem) -> int:
    """Estimate what the device needs: rows as given, in float64, float32 and halves, lists, what is searched."""
    n, d = _shape(problem)
    return int(bytes_of_rows(n, d) + n * (10 * d + BYTES) + min(BYTES_AT_A_TIME, 64 * n * d))


def _by_squares(problem: Problem) -> bool:
    objects = problem.objects
    return isinstance(objects, Vectors) and not objects.sparse and bool(squares_of(problem.metric))


def _shape(problem: Problem) -> tuple[int, int]:
    assert isinstance(problem.objects, Vectors)
    n, d = problem.objects.rows.shape
    return int(n), int(d)
