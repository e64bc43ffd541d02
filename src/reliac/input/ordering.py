"""Edges in the order in which a graph keeps them: the smaller end first, sorted, each once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, option
from .graph import EDGES_AT_ONCE, EdgeRows, in_rows
from .numbers import Names

#: What settles two different distances of one pair.
DUPLICATES = {"error": None, "min": np.minimum, "max": np.maximum, "mean": np.add}


def in_order(
    p: NDArray[np.int32], q: NDArray[np.int32], value: NDArray[Any], n: int, duplicates: str, names: Names | None
) -> EdgeRows:
    """Return edges in any order as the rows of a graph: the arrays themselves where they are in order already."""
    if not (p < q).all():
        p, q = np.minimum(p, q), np.maximum(p, q)
    p, q, value = each_once(p, q, value, n, duplicates, names)
    return in_rows(p, q, value, n)


def each_once(
    p: NDArray[Any], q: NDArray[Any], value: NDArray[Any], n: int, duplicates: str, names: Names | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Sort edges, and settle pairs that are listed more than once."""
    if are_sorted(p, q):
        return p, q, value
    order = np.argsort(p.astype(np.int64) * n + q, kind="stable")
    p, q, value = p[order], q[order], value[order]
    del order
    first = np.r_[True, (p[1:] != p[:-1]) | (q[1:] != q[:-1])]
    starts = np.flatnonzero(first)
    if len(starts) < len(p):
        reduction, differ = DUPLICATES[duplicates], np.flatnonzero(~first[1:] & (value[1:] != value[:-1]))
        if reduction is None and len(differ):
            i, j = int(p[differ[0]]), int(q[differ[0]])
            pair = (i, j) if names is None else (str(names[i]), str(names[j]))
            raise ValueError(
                explain(
                    f"The pair {pair} has the distances {value[differ[0]]} and {value[differ[0] + 1]}",
                    "one distance for a pair",
                    f"settle it with {option('duplicates', 'min')}, 'max' or 'mean'",
                )
            )
        settled = (reduction or np.minimum).reduceat(value, starts)
        value = settled / np.diff(np.append(starts, len(p))) if duplicates == "mean" else settled
        p, q = p[starts], q[starts]
    return p, q, value


def are_sorted(p: NDArray[np.int32], q: NDArray[np.int32]) -> bool:
    """Tell whether pairs are sorted, each once."""
    for first in range(0, len(p), EDGES_AT_ONCE):
        a, b = p[first : first + EDGES_AT_ONCE + 1], q[first : first + EDGES_AT_ONCE + 1]
        if not ((a[1:] > a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] > b[:-1]))).all():
            return False
    return True
