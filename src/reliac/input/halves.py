"""A sparse matrix of distances mostly says each of them twice, as (i, j) and as (j, i): half of it is the graph.

That half is already as a graph keeps its edges: nothing has to be sorted, which takes most of the time and the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Rows that are looked at in one go: what that takes beside the matrix is little.
ROWS_AT_ONCE = 2**16

Half = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]


def upper_half(matrix: Any) -> Half | None:
    """Return rows, columns and numbers above the diagonal if what is below it says the same; None for all else.

    All else are matrices whose rows or columns are not stored in order, with each entry once, and nothing on the
    diagonal. Of a symmetric matrix rows and columns are the same.
    """
    from scipy.sparse import csr_array

    if matrix.format not in ("csr", "csc") or matrix.nnz % 2 or not matrix.has_canonical_format:
        return None
    n, starts, ends = matrix.shape[0], matrix.indptr, matrix.indices
    if not _is_sound(matrix, n):  # SciPy does not look, and would write where no memory is its own
        return None
    above = _count_above(matrix, n)
    if above is None:
        return None
    first = np.concatenate(([0], np.cumsum(above)))
    row = np.repeat(np.arange(n, dtype=np.int32), above)
    column, number = np.empty(len(row), np.int32), np.empty(len(row), matrix.data.dtype)
    for some in _pieces(n):
        after, entries = _after_diagonal(matrix, some)
        here = slice(first[some.start], first[some.stop])
        column[here], number[here] = ends[entries][after], matrix.data[entries][after]
    by_column = csr_array((number, column, first), shape=(n, n)).tocsc()
    below = np.diff(starts) - above
    if not np.array_equal(np.diff(by_column.indptr), below):
        return None
    for some in _pieces(n):
        after, entries = _after_diagonal(matrix, some)
        here = slice(by_column.indptr[some.start], by_column.indptr[some.stop])
        same = np.array_equal(by_column.indices[here], ends[entries][~after])
        if not same or not np.array_equal(by_column.data[here], matrix.data[entries][~after]):
            return None
    return row, column, number


def _is_sound(matrix: Any, n: int) -> bool:
    """Tell whether entries are inside, and numbers finite and not below 0; else who reads all says what is wrong."""
    ends, numbers = matrix.indices, matrix.data
    if len(ends) != len(numbers) or matrix.indptr[-1] > len(ends):
        return False
    return not len(ends) or bool(ends.min() >= 0 and ends.max() < n and numbers.min() >= 0 and numbers.max() < np.inf)


def _pieces(n: int) -> list[slice]:
    """Return shares of the rows."""
    return [slice(first, min(n, first + ROWS_AT_ONCE)) for first in range(0, n, ROWS_AT_ONCE)]


def _after_diagonal(matrix: Any, some: slice) -> tuple[NDArray[np.bool_], slice]:
    """Tell which entries of some rows are above the diagonal, and where the entries of these rows are."""
    starts = matrix.indptr
    row = np.repeat(np.arange(some.start, some.stop), np.diff(starts[some.start : some.stop + 1]))
    entries = slice(starts[some.start], starts[some.stop])
    return matrix.indices[entries] > row, entries


def _count_above(matrix: Any, n: int) -> NDArray[np.int64] | None:
    """Count the entries above the diagonal in every row; None if there are not as many below it, or some on it."""
    above = np.empty(n, np.int64)
    for some in _pieces(n):
        after, entries = _after_diagonal(matrix, some)
        sums = np.concatenate(([0], np.cumsum(after)))
        bounds = matrix.indptr[some.start : some.stop + 1] - entries.start
        above[some] = np.diff(sums[bounds])
    return above if 2 * above.sum() == matrix.nnz else None
