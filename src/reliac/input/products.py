"""Distances of sparse rows by their inner products, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Tables of products are made in blocks of about this many numbers.
BLOCK = 2**22

#: Sparse rows whose distance keeps less than this share of their squares are subtracted instead of multiplied.
CANCELLATION = 1e-4


def from_products(vectors: Any, name: str) -> NDArray[np.float64]:
    """Distances of sparse rows from their inner products, block by block, so that no second table of them is held."""
    n, blocks = vectors.shape[0], blocks_of_products(vectors, name)
    distances = np.zeros((n, n))
    for start in range(0, n, max(1, BLOCK // n)):
        some = slice(start, min(start + max(1, BLOCK // n), n))
        block = np.triu(blocks(some, start), 1)
        distances[some, start:] = block
        distances[start:, some] += block.T
    return distances


def blocks_of_products(vectors: Any, name: str) -> Callable[[slice, int], NDArray[np.float64]]:
    """Return a function that gives the distances of some sparse rows to all from ``first`` on, and 0 to themselves.

    They come from inner products; rows that nearly coincide are subtracted.
    """
    rows = vectors.tocsr().astype(np.float64)
    if name == "cosine":
        from scipy.sparse import diags_array

        rows = (diags_array(1.0 / np.sqrt(_squares(rows))) @ rows).tocsr()
    squares, columns = _squares(rows), rows.T.tocsc()

    def block(some: slice, first: int) -> NDArray[np.float64]:
        total = squares[some, None] + squares[None, first:]
        found = np.maximum(total - 2.0 * (rows[some] @ columns[:, first:]).toarray(), 0.0)
        own = np.arange(some.start, some.stop)
        found[own - some.start, own - first] = 0.0
        p, q = np.nonzero(found <= CANCELLATION * total)
        for at in range(0, len(p), 4096):
            i, j = p[at : at + 4096], q[at : at + 4096]
            found[i, j] = _squares(rows[some.start + i] - rows[first + j])
        if name == "cosine":
            found /= 2.0  # |u - v|^2 = 2 - 2 cos for unit rows
        elif name == "euclidean":
            np.sqrt(found, out=found)
        return np.asarray(found)

    return block


def _squares(rows: Any) -> NDArray[np.float64]:
    """Return the squared length of every sparse row."""
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
