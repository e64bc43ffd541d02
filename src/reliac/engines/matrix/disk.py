"""A way past memory: the matrix engine with its matrices in temporary files on disk."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.metrics import comes_in_blocks, metric_name
from ...input.objects import Vectors, rows_of
from ...input.problem import Problem
from ...machine import free_addresses
from .engine import BLOCK, MatrixEngine, memory_of_rows


class DiskEngine(MatrixEngine):
    """Distances computed once from vectors, written to a file, and read in the order they lie there.

    The first search and every contraction are one pass over the file each; searches in between read single rows.
    """

    name = "disk"

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say no without vectors (given distances are in memory already), and where the disk is too small."""
        if not isinstance(problem.objects, Vectors):
            return "the given distances are in memory already"
        if not comes_in_blocks(problem.objects.rows, problem.metric):
            return f"metric {metric_name(problem.metric)!r} of these data is not computed in blocks"
        size = problem.objects.matrix_type.itemsize * problem.n_objects**2
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if size > free:
            return (
                f"it needs {size / 2**30:.1f} GiB of disk in {tempfile.gettempdir()}, {free / 2**30:.1f} GiB are free"
            )
        if size > (free := free_addresses()):
            return (
                f"it maps files of {size / 2**30:.1f} GiB, and this process may map {free / 2**30:.1f} GiB (ulimit -v)"
            )
        return MatrixEngine.refuses(problem)

    @staticmethod
    def memory(problem: Problem) -> int:
        """What the matrix engine holds beside its matrix, a block of it to shrink it by, the vectors in float64."""
        n, d = rows_of(problem.objects).shape
        return memory_of_rows(n) + 8 * n * (min(n, BLOCK) + d)

    def allocate(self, shape: tuple[int, int], kind: Any) -> NDArray[Any]:
        """Return an array that lives in a file without a name: it is gone with the process, crash or not."""
        with tempfile.TemporaryFile() as file:  # the mapping stays when the file is closed
            return np.memmap(file, dtype=kind, shape=shape)
