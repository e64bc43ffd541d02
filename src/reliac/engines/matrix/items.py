"""A matrix of given distances as a space: clusters are lists of its items, distances are reduced when asked for.

The pairs of clusters p < q (by slot) are always summed in the same order, so a distance has the same bits from both
sides, for any number of threads. Whole rows (``rows.py``) are summed as is quickest, to lower bounds.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.condensed import row_start
from ..compiled.formulas import ADD, from_sums, shares_of_parts
from ..compiled.loading import bare_inlined, inside
from ..compiled.spaces import register_space

#: The matrix lies flat: entry (i, j) with i < j is base[offset_of_row[i] + j], square or condensed.
Table = namedtuple(
    "Table",
    "base offset_of_row square squared factor first_item last_item next_item "
    "weight spread reduction offset by_size equal_parts",
)


@bare_inlined
def stored_pair(space, p, q):
    """Reduce the entries between two clusters; the one with the smaller slot is the outer loop."""
    base, offset_of_row, next_item, factor = space.base, space.offset_of_row, space.next_item, space.factor
    total = 0.0
    i = space.first_item[min(p, q)]
    while i >= 0:
        part = 0.0
        j = space.first_item[max(p, q)]
        while j >= 0:
            value = np.float64(base[offset_of_row[i] + j] if i < j else base[offset_of_row[j] + i])
            if space.squared:
                value *= value
            if space.reduction == ADD:
                part += factor[j] * value
            else:
                total = max(total, value)
            j = next_item[j]
        if space.reduction == ADD:
            total += factor[i] * part
        i = next_item[i]
    return total


@bare_inlined
def table_pair(space, p, q):
    """Return the distance of two clusters."""
    i, j = space.first_item[min(p, q)], space.first_item[max(p, q)]
    if space.next_item[i] < 0 and space.next_item[j] < 0:  # fast path without loops: the loads of several pairs overlap
        at = space.offset_of_row[i] + j if i < j else space.offset_of_row[j] + i
        stored = np.float64(space.base[at])
        if space.squared:
            stored *= stored
        if space.reduction == ADD:
            stored = space.factor[i] * (space.factor[j] * stored)
    else:
        stored = stored_pair(space, p, q)
    if space.reduction != ADD:
        return stored
    w, s = space.weight, space.spread
    return from_sums(stored, s[p], s[q], w[p], w[q], space.offset, space.by_size)


@inside
def table_join(space, parts):
    """Chain the items of the parts; sums inside the group and weights follow."""
    head = parts[0]
    if space.reduction == ADD:
        weights = space.weight[parts]
        if space.equal_parts:
            factors, total = shares_of_parts(weights)
        else:
            factors, total = np.ones(len(parts)), weights.sum()
        if space.offset:
            inside = 0.0
            for a in range(len(parts)):
                inside += factors[a] * factors[a] * space.spread[parts[a]]
                for b in range(a):
                    inside += 2.0 * factors[a] * factors[b] * stored_pair(space, parts[a], parts[b])
            space.spread[head] = inside
        if space.equal_parts:
            for a in range(len(parts)):
                i = space.first_item[parts[a]]
                while i >= 0:
                    space.factor[i] *= factors[a]
                    i = space.next_item[i]
        space.weight[head] = total
    for part in parts[1:]:
        space.next_item[space.last_item[head]] = space.first_item[part]
        space.last_item[head] = space.last_item[part]
        space.first_item[part] = -1


register_space(Table, lambda space, p, q: table_pair(space, p, q), lambda space, parts: table_join(space, parts))


def flat(matrix: NDArray[Any], n: int) -> dict[str, Any]:
    """Return the first n rows of a square matrix, or a condensed one, as one run of numbers, and where rows begin."""
    row = np.arange(n, dtype=np.int64)  # n * n is more than 32 bits hold
    offset = row * matrix.shape[1] if matrix.ndim == 2 else row_start(n, row) - row - 1
    return {"base": matrix.reshape(-1), "offset_of_row": offset, "square": matrix.ndim == 2}
