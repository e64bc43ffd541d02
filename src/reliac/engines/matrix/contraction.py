"""One item for every cluster: contracting a matrix, and keeping one that is ours up to date in place."""

from __future__ import annotations

import numpy as np

from ..compiled.formulas import ADD
from ..compiled.loading import bare, bare_inside, compiled

#: Side of the squares in which a matrix is turned over, for the cache.
TILE = 32


@bare
def contract_rows(space, columns, first, target, sums):
    """Sum up, for rows ``first``, first + 1, ... of the contracted matrix, the entries (i, j) with i in the row, j > i.

    Every entry of the base is read once, in the order it lies in memory: the rows of a cluster's items are reduced to
    one (in ``sums``, items), and that to one number a column. The two halves of a pair are joined by :func:`fold`.
    """
    for k in range(len(target)):
        row, i = target[k], np.int64(columns.item[first + k])
        reduce_upper(space, i, sums)
        row[:] = 0.0
        values, places, factor = sums[i:], columns.place[i:], space.factor[i:]
        if space.reduction == ADD:
            for j in range(len(values)):
                row[places[j]] += factor[j] * values[j]
        else:
            for j in range(len(values)):
                row[places[j]] = values[j] if values[j] > row[places[j]] else row[places[j]]


@bare_inside
def reduce_upper(space, i, sums):
    """Reduce the entries (i, j), j > i, of item i, the first of a cluster, and of those that follow it there."""
    base, n, reduction = space.base, len(sums), space.reduction
    sums[i:] = 0.0
    while i >= 0:
        f, at = space.factor[i], space.offset_of_row[i]
        values, target = base[at + i + 1 : at + n], sums[i + 1 :]
        if reduction != ADD:
            for j in range(len(values)):
                target[j] = values[j] if values[j] > target[j] else target[j]
        elif space.squared:
            for j in range(len(values)):
                target[j] += f * (np.float64(values[j]) * np.float64(values[j]))
        else:
            for j in range(len(values)):
                target[j] += f * np.float64(values[j])
        i = space.next_item[i]


@bare
def pick_rows(matrix, items, first, target):
    """Copy the entries between ``items``, of rows ``first``, first + 1, ... of them, where nothing is to be summed."""
    for k in range(len(target)):
        row, picked = matrix[items[first + k]], target[k]
        for c in range(len(items)):
            picked[c] = row[items[c]]


@bare
def fold(matrix, first, stop, reduction):
    """Join entry (i, j) and (j, i) for rows ``first`` to ``stop`` and columns before them, in tiles for the cache."""
    for top in range(first, stop, TILE):
        for left in range(0, min(top + TILE, stop), TILE):
            for i in range(top, min(top + TILE, stop)):
                for j in range(left, min(left + TILE, i)):
                    a, b = matrix[i, j], matrix[j, i]
                    matrix[i, j] = matrix[j, i] = a + b if reduction == ADD else max(a, b)


@bare
def join_rows(space, matrix, slots, some):
    """Add up the rows of each of ``some`` new clusters in place, in the row of its first item; then its columns.

    ``slots``: all new clusters, whose columns are added up too. Columns of items that are gone keep numbers of no use.
    """
    factor, next_item, n = space.factor, space.next_item, len(space.factor)
    for r in some:
        i = space.first_item[r]
        row, f = matrix[i, :n], factor[i]
        for j in range(n):
            row[j] *= f
        while next_item[i] >= 0:
            i = next_item[i]
            other, f = matrix[i, :n], factor[i]
            for j in range(n):
                row[j] += f * other[j]
        for q in slots:
            j = first = space.first_item[q]
            stored = factor[j] * row[j]
            while next_item[j] >= 0:
                j = next_item[j]
                stored += factor[j] * row[j]
            row[first] = stored


@bare
def turn_over(matrix, new, is_new, items):
    """Copy the rows ``new`` into the columns of ``items``; of two new ones, the earlier row counts."""
    for start in range(0, len(items), TILE):
        some = items[start : start + TILE]
        for h in new:
            row = matrix[h]
            for c in some:
                if c > h or not is_new[c]:
                    matrix[c, h] = row[c]


@bare
def settle(space, slots):
    """Make the first item of each cluster its only one; the others are gone, and count for nothing."""
    for r in slots:
        i = first = space.first_item[r]
        while i >= 0:
            space.factor[i] = 0.0
            i = space.next_item[i]
        space.last_item[r], space.next_item[first], space.factor[first] = first, -1, 1.0


@compiled
def items_of(space, slots):
    """Return the items of some clusters."""
    items, count = np.empty(len(space.factor), np.int64), 0
    for r in slots:
        i = space.first_item[r]
        while i >= 0:
            items[count] = i
            count += 1
            i = space.next_item[i]
    return items[:count]
