"""A matrix of given distances as a space: clusters are lists of its items, distances are reduced when asked for.

The pairs of clusters p < q (by slot) are always summed in the same order, so a distance has the same bits from both
sides, for any number of threads; a contraction, which sums in another order, is followed by measuring all lists anew.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..criteria import distance_from_sums
from .entries import compiled, inlined, insert_entry, pair_distance, push, register_space, shares_of_parts
from .scans import scan_values

MINIMUM, MAXIMUM, ADD = range(3)

#: The matrix lies flat: entry (i, j) with i < j is base[offset_of_row[i] + j], square or condensed.
Table = namedtuple(
    "Table",
    "base offset_of_row square squared factor first_item last_item next_item "
    "weight spread reduction offset by_size equal_parts",
)

#: Weights are above zero: a check for that would keep loops from vector instructions.
from_sums = nb.njit(cache=True, nogil=True, forceinline=True, error_model="numpy")(distance_from_sums)


@inlined
def stored_between(base, offset_of_row, square, squared, next_item, factor, reduction, a, b, a_outer):
    """Reduce the entries between the items of two clusters, from their first items a and b.

    The rows of a are read. Sums have a fixed order: ``a_outer`` tells whose items the outer sum runs over.
    """
    total = np.inf if reduction == MINIMUM else 0.0
    outer = a if a_outer else b
    while outer >= 0:
        part = 0.0
        inner = b if a_outer else a
        while inner >= 0:
            i, j = (outer, inner) if a_outer else (inner, outer)
            value = np.float64(base[offset_of_row[i] + j] if square or i < j else base[offset_of_row[j] + i])
            if squared:
                value *= value
            if reduction == ADD:
                part += factor[inner] * value
            elif reduction == MAXIMUM:
                total = max(total, value)
            else:
                total = min(total, value)
            inner = next_item[inner]
        if reduction == ADD:
            total += factor[outer] * part
        outer = next_item[outer]
    return total


@inlined
def stored_pair(space, p, q):
    """Reduce the entries between two clusters; the one with the smaller slot is the outer loop."""
    return stored_between(
        space.base, space.offset_of_row, space.square, space.squared, space.next_item, space.factor, space.reduction,
        space.first_item[min(p, q)], space.first_item[max(p, q)], True,
    )  # fmt: skip


@inlined
def table_pair(space, p, q):
    """Return the distance of two clusters."""
    i, j = space.first_item[min(p, q)], space.first_item[max(p, q)]
    if space.next_item[i] < 0 and space.next_item[j] < 0:  # one entry: no loops, so that many can be on their way
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


@compiled
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


@compiled
def read_row(space, r, scratch):
    """Reduce the rows of the items of r: for every item j the number that a cluster of j alone would store.

    Cost: one pass over each row. ``scratch`` (items,) is filled.
    """
    base, offset_of_row, reduction = space.base, space.offset_of_row, space.reduction
    n = len(scratch)
    scratch[:] = np.inf if reduction == MINIMUM else 0.0
    i = space.first_item[r]
    while i >= 0:
        f, at = space.factor[i], offset_of_row[i]
        start = 0 if space.square else i + 1
        values, target = base[at + start : at + n], scratch[start:]  # what lies side by side in memory
        if space.squared:
            for j in range(len(values)):
                target[j] += f * (np.float64(values[j]) * np.float64(values[j]))
        elif reduction == ADD:
            for j in range(len(values)):
                target[j] += f * values[j]
        elif reduction == MAXIMUM:
            for j in range(len(values)):
                target[j] = values[j] if values[j] > target[j] else target[j]
        else:
            for j in range(len(values)):
                target[j] = values[j] if values[j] < target[j] else target[j]
        for j in range(0 if start else i, i):  # condensed: the other half of the row, one entry per line of memory
            value = np.float64(base[offset_of_row[j] + i])
            if space.squared:
                value *= value
            if reduction == ADD:
                scratch[j] += f * value
            else:
                scratch[j] = max(scratch[j], value) if reduction == MAXIMUM else min(scratch[j], value)
        i = space.next_item[i]


#: What rows of distances read of their columns, side by side: item, weight, spread, and which have several items.
Columns = namedtuple("Columns", "slots item weight spread several")


@compiled
def pack_columns(space, slots):
    """Gather what rows of distances to these clusters need. O(columns)."""
    item, several, count = np.empty(len(slots), np.uint32), np.empty(len(slots), np.int64), 0
    for c in range(len(slots)):
        item[c] = j = space.first_item[slots[c]]
        if space.next_item[j] >= 0 or space.factor[j] != 1.0:
            several[count] = c
            count += 1
    return Columns(slots, item, space.weight[slots], space.spread[slots], several[:count])


@compiled
def row_of_distances(space, r, columns, scratch, out):
    """Distances of one cluster to the clusters in ``columns``; infinite to itself.

    A cluster of one item takes its number from the reduced row, whose sums were made in the same order.
    """
    reduction, offset, by_size = space.reduction, space.offset, space.by_size
    mine, wr, sr = space.first_item[r], space.weight[r], space.spread[r]
    item, weight, spread = columns.item, columns.weight, columns.spread
    read_row(space, r, scratch)
    if reduction != ADD:
        for c in range(len(item)):
            out[c] = scratch[item[c]]
    elif not offset:
        for c in range(len(item)):
            out[c] = scratch[item[c]] / (wr * weight[c])
    else:
        for c in range(len(item)):
            out[c] = from_sums(scratch[item[c]], sr, spread[c], wr, weight[c], offset, by_size)
    next_item, factor = space.next_item, space.factor
    plain = reduction != ADD or (next_item[mine] < 0 and factor[mine] == 1.0)
    for c in columns.several:
        q, j = columns.slots[c], np.int64(item[c])
        if q == r:
            continue
        if not (plain or q < r):
            stored = stored_between(
                space.base,
                space.offset_of_row,
                space.square,
                space.squared,
                next_item,
                factor,
                reduction,
                mine,
                j,
                r < q,
            )
        elif reduction == ADD:  # the reduced row holds the inner sums
            stored = factor[j] * scratch[j]
            while next_item[j] >= 0:
                j = next_item[j]
                stored += factor[j] * scratch[j]
        else:
            stored = scratch[j]
            while next_item[j] >= 0:
                j = next_item[j]
                stored = max(stored, scratch[j]) if reduction == MAXIMUM else min(stored, scratch[j])
        out[c] = from_sums(stored, sr, spread[c], wr, weight[c], offset, by_size) if reduction == ADD else stored
    out[np.searchsorted(columns.slots, r)] = np.inf


@compiled
def fill_lists(space, lists, nodes, slots, columns, place, tie_factor, failed):
    """Measure what was selected and make the lists; everything else is at least as far as the last one selected."""
    last = place.shape[1] - 1
    for k in range(len(slots)):
        r = slots[k]
        first, count, radius = lists.start[r], 0, np.inf
        if place[k, last] >= 0:
            radius = pair_distance(space, r, columns[place[k, last]])
        for e in range(last):
            if place[k, e] < 0:
                break
            q = columns[place[k, e]]
            distance = pair_distance(space, r, q)
            if distance < radius:
                insert_entry(lists, first, count, nodes.node_of[q], distance)
                count += 1
        lists.count[r], lists.radius[r] = count, radius
        failed[k] = radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@compiled
def list_from_row(lists, nodes, r, slots, row, bound, place, tie_factor):
    """Fill one list from its whole row; tell whether ties leave it unproven. ``bound``, ``place`` (k + 1,): scratch."""
    bound[:], place[:] = np.inf, -1
    scan_values(row, 0, -1, bound, place)
    last = len(bound) - 1
    first, count = lists.start[r], 0
    radius = bound[last]
    while count < last and place[count] >= 0 and bound[count] < radius:
        lists.nodes[first + count] = nodes.node_of[slots[place[count]]]
        lists.distances[first + count] = bound[count]
        count += 1
    lists.count[r], lists.radius[r] = count, radius
    return radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@compiled
def search_rows(space, lists, nodes, slots, columns, rows, length, tie_factor, failed):
    """Fill the lists of some clusters from their whole rows, which are left in ``rows`` (one, or one a slot)."""
    scratch = np.empty(len(space.factor))
    bound, place = np.empty(length + 1), np.empty(length + 1, np.int32)
    for k in range(len(slots)):
        row = rows[min(k, len(rows) - 1)]
        row_of_distances(space, slots[k], columns, scratch, row)
        failed[k] = list_from_row(lists, nodes, slots[k], columns.slots, row, bound, place, tie_factor)


@compiled
def push_rows(lists, nodes, work, slots, columns, rows, old):
    """Enter new clusters into the lists whose radius they fall inside; ``old`` (columns,) are those not searched."""
    for k in range(len(slots)):
        node = nodes.node_of[slots[k]]
        for c in range(len(columns)):
            r = columns[c]
            if rows[k, c] < lists.radius[r] and old[c]:
                push(lists, nodes, work, r, node, rows[k, c])


@compiled
def contract_rows(space, columns, place_of_item, first, target):
    """Sum up, for rows ``first``, first + 1, ... of the contracted matrix, the entries (i, j) with i in the row, j > i.

    Every entry of the base is read once, in the order it lies in memory; the two halves of a pair are joined by
    :func:`fold`. ``place_of_item`` (items,): the contracted column of each item.
    """
    base, factor, reduction = space.base, space.factor, space.reduction
    n, start = len(factor), np.inf if reduction == MINIMUM else 0.0
    for k in range(len(target)):
        row = target[k]
        row[:] = start
        i = space.first_item[columns[first + k]]
        while i >= 0:
            f, at = factor[i], space.offset_of_row[i]
            values, places, g = base[at + i + 1 : at + n], place_of_item[i + 1 :], factor[i + 1 :]
            if reduction == MAXIMUM:
                for j in range(len(values)):
                    row[places[j]] = values[j] if values[j] > row[places[j]] else row[places[j]]
            elif reduction == MINIMUM:
                for j in range(len(values)):
                    row[places[j]] = values[j] if values[j] < row[places[j]] else row[places[j]]
            elif space.squared:
                for j in range(len(values)):
                    row[places[j]] += f * g[j] * (values[j] * values[j])
            else:
                for j in range(len(values)):
                    row[places[j]] += f * g[j] * values[j]
            i = space.next_item[i]


@compiled
def places_of_items(space, columns):
    """Return for each item the place of its cluster among ``columns``."""
    place = np.empty(len(space.factor), np.uint32)  # unsigned: no check for negative indices in the inner loop
    for c in range(len(columns)):
        i = space.first_item[columns[c]]
        while i >= 0:
            place[i] = c
            i = space.next_item[i]
    return place


@compiled
def fold(matrix, first, stop, reduction):
    """Join entry (i, j) and (j, i) for rows ``first`` to ``stop`` and columns before them, in blocks for the cache."""
    for top in range(first, stop, 64):
        for left in range(0, min(top + 64, stop), 64):
            for i in range(top, min(top + 64, stop)):
                for j in range(left, min(left + 64, i)):
                    if reduction == ADD:
                        value = matrix[i, j] + matrix[j, i]
                    elif reduction == MAXIMUM:
                        value = max(matrix[i, j], matrix[j, i])
                    else:
                        value = min(matrix[i, j], matrix[j, i])
                    matrix[i, j] = matrix[j, i] = value


def flat(matrix: NDArray[Any], n: int) -> dict[str, Any]:
    """Return a square or condensed matrix as one run of numbers, and where its rows begin."""
    row = np.arange(n)
    offset = row * n if matrix.ndim == 2 else n * row - row * (row + 1) // 2 - row - 1
    return {"base": matrix.reshape(-1), "offset_of_row": offset, "square": matrix.ndim == 2}
