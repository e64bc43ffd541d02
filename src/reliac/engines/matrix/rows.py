"""Whole rows of a matrix: what a cluster's distances to all others are at least, and lists made of that.

A row is summed in the order that is quickest, which rounds differently from the fixed order of pairs. So a row holds
lower bounds, and what it selects is measured pair by pair.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.formulas import ADD, from_sums
from ..compiled.loading import bare, bare_inlined, bare_inside, compiled, inside
from ..compiled.scanning import CHUNK, EIGHTH, EVERY, SAMPLED, sample_run, scan_values
from ..compiled.sorting import insert, sorted_order
from ..compiled.spaces import pair_distance
from ..lists.entries import enter
from .items import entry_distance

#: Half the distance of 1 to the next larger number.
UNIT = 2.0**-53

#: Rows of a condensed matrix whose entries in one column are read together.
TOGETHER = 8

#: In rows longer than this a sample tells first how near the nearest are.
ENOUGH_TO_SAMPLE = 400

#: What rows of distances read of their columns, side by side: item, weight, spread, and which have several items; and
#: for every item the ``place`` of its cluster among the columns (0 for those gone, whose factor is 0).
Columns = namedtuple("Columns", "slots item weight spread several place")


def pack_columns(space, slots):
    """Gather what rows of distances to these clusters need. O(columns), and O(items) where many have several items."""
    item = space.first_item[slots]
    several = np.flatnonzero((space.next_item[item] >= 0) | (space.factor[item] != 1.0))
    place = np.zeros(len(space.factor), np.uint32)  # unsigned: no check for negative indices in the inner loop
    if len(several):
        place_items(space.first_item, space.next_item, slots, place)
    else:
        place[item] = np.arange(len(slots), dtype=np.uint32)
    return Columns(slots, item.astype(np.uint32), space.weight[slots], space.spread[slots], several, place)


@bare
def place_items(first_item, next_item, slots, place):
    """Note for each item the place of its cluster among some clusters."""
    for c in range(len(slots)):
        i = first_item[slots[c]]
        while i >= 0:
            place[i] = c
            i = next_item[i]


@inside
def read_rows(space, slots, sums):
    """Reduce the rows of the items of each cluster: for every item j the number that a cluster of j alone would store.

    Cost: one pass over each row. ``sums`` (clusters, items) is filled. Returns how many rows were read.
    """
    base, offset_of_row, reduction = space.base, space.offset_of_row, space.reduction
    n, count = sums.shape[1], 0
    for k in range(len(slots)):
        i = space.first_item[slots[k]]
        fresh = space.square and reduction == ADD and not space.squared  # the first row is copied, not added to zeros
        if not fresh:
            sums[k] = 0.0
        while i >= 0:
            f, at = space.factor[i], offset_of_row[i]
            start = 0 if space.square else i + 1
            values, target = base[at + start : at + n], sums[k, start:]  # what lies side by side in memory
            if space.squared:
                for j in range(len(values)):
                    target[j] += f * (np.float64(values[j]) * np.float64(values[j]))
            elif fresh:
                fresh = False
                for j in range(len(values)):
                    target[j] = f * values[j]
            elif reduction == ADD:
                for j in range(len(values)):
                    target[j] += f * values[j]
            else:
                for j in range(len(values)):
                    target[j] = values[j] if values[j] > target[j] else target[j]
            count += 1
            i = space.next_item[i]
    if not space.square:
        read_columns(space, slots, sums)
    return count


@inside
def read_columns(space, slots, sums):
    """The other half of the rows of a condensed matrix: entries one above the other, a few rows at a time."""
    base, offset_of_row, reduction = space.base, space.offset_of_row, space.reduction
    items, owner, count = np.empty(sums.shape[1], np.int64), np.empty(sums.shape[1], np.int64), 0
    for k in range(len(slots)):
        i = space.first_item[slots[k]]
        while i >= 0:
            items[count], owner[count] = i, k
            count += 1
            i = space.next_item[i]
    order = sorted_order(items[:count], owner[:count])
    begin = 0
    for top in range(0, items[order[count - 1]], TOGETHER):
        while items[order[begin]] <= top:
            begin += 1
        for e in range(begin, count):
            i, k = items[order[e]], owner[order[e]]
            f = space.factor[i]
            for j in range(top, min(top + TOGETHER, i)):
                value = np.float64(base[offset_of_row[j] + i])
                if space.squared:
                    value *= value
                sums[k, j] = sums[k, j] + f * value if reduction == ADD else max(sums[k, j], value)


@bare_inside
def reduce_items(space, columns, sums, out):
    """Reduce one number for each item to one for each column."""
    item, place, factor = columns.item, columns.place, space.factor
    if len(columns.several) == 0:
        for c in range(len(item)):
            out[c] = sums[item[c]]
        return
    out[:] = 0.0
    if space.reduction == ADD:
        for j in range(len(sums)):
            out[place[j]] += factor[j] * sums[j]
    else:
        for j in range(len(sums)):
            out[place[j]] = sums[j] if sums[j] > out[place[j]] else out[place[j]]


@bare_inside
def lower_bounds(space, r, columns, sums, out):
    """Turn the reduced rows of r into what its distances to ``columns`` are at least; infinite to itself.

    Two ways to sum m numbers that are not negative differ by at most about 2 m units of the sum.
    """
    reduction, offset, by_size = space.reduction, space.offset, space.by_size
    wr, item, weight, spread = space.weight[r], columns.item, columns.weight, columns.spread
    margin = 4.0 * UNIT * (len(space.factor) + 16)
    less, more = 1.0 - margin, 1.0 + margin
    sr = space.spread[r] * more
    reduce_items(space, columns, sums, out)
    if reduction == ADD and not offset:
        for c in range(len(item)):
            out[c] = less * out[c] / (wr * weight[c])
    elif reduction == ADD:
        for c in range(len(item)):
            out[c] = from_sums(less * out[c], sr, more * spread[c], wr, weight[c], offset, by_size)
    low, high = 0, len(columns.slots) - 1
    while low < high:  # where r is itself
        middle = (low + high) // 2
        if columns.slots[middle] < r:
            low = middle + 1
        else:
            high = middle
    out[low] = np.inf


@bare_inlined
def fill_list(space, lists, nodes, r, slots, place, radius, tie_factor):
    """Measure what was selected and make a list of what lies inside the radius; tell whether ties leave it unproven."""
    first, count = lists.start[r], np.int64(0)
    for e in range(len(place) - 1):
        if place[e] < 0:
            break
        q = slots[place[e]]
        distance = pair_distance(space, r, q)
        if distance < radius:
            insert(lists.distances, lists.nodes, first, first + count, distance, nodes.node_of[q])
            count += 1
    lists.count[r], lists.radius[r] = count, radius
    return radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@bare
def fill_lists(space, lists, nodes, slots, columns, bound, place, tie_factor, failed):
    """Make lists of what the first scan found: everything else is at least as far as the last entry of an object.

    Every cluster is one object yet, so that distances follow from the entries found and nothing is read again.
    """
    last = place.shape[1] - 1
    for k in range(len(slots)):
        r, radius, count = slots[k], np.inf, np.int64(0)
        first = lists.start[r]
        if place[k, last] >= 0:
            radius = entry_distance(space, r, columns[place[k, last]], bound[k, last])
        for e in range(last):
            if place[k, e] < 0:
                break
            q = columns[place[k, e]]
            distance = entry_distance(space, r, q, bound[k, e])
            if distance < radius:
                insert(lists.distances, lists.nodes, first, first + count, distance, nodes.node_of[q])
                count += 1
        lists.count[r], lists.radius[r] = count, radius
        failed[k] = radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@compiled
def search_rows(space, lists, nodes, slots, columns, sums, rows, length, tie_factor, failed, limit, hits):
    """Fill the lists of some clusters from their whole rows, of which ``rows`` keeps the last; count rows read.

    ``hits`` (rows, chunks of columns) tells where a row is below ``limit``, if that is not empty.
    """
    bound, place, near, read = np.empty(length + 1), np.empty(length + 1, np.int32), np.empty(SAMPLED), 0
    for start in range(0, len(slots), len(sums)):
        some = slots[start : start + len(sums)]
        read += read_rows(space, some, sums)
        for k in range(len(some)):
            row = rows[min(k, len(rows) - 1)]
            lower_bounds(space, some[k], columns, sums[k], row)
            near[:] = np.inf
            if len(row) > ENOUGH_TO_SAMPLE:  # where few are left, a list of all of them is worth more
                sample_run(row, some[k] % EVERY * EIGHTH, 0, -1, near, place)
            bound[:], place[:] = near[SAMPLED - 1], -1
            scan_values(row, 0, -1, bound, place)
            failed[start + k] = fill_list(space, lists, nodes, some[k], columns.slots, place, bound[length], tie_factor)
            for chunk in range((len(limit) + CHUNK - 1) // CHUNK):
                first = chunk * CHUNK
                values, limits, count = row[first : first + CHUNK], limit[first : first + CHUNK], 0
                if len(values) == CHUNK:
                    for c in range(CHUNK):
                        count += values[c] < limits[c]
                hits[k, chunk] = count > 0 or len(values) < CHUNK
    return read


@bare
def measure_ties(space, slots, columns, tie_factor, rows, radius):
    """Measure whatever may tie with the nearest of some clusters, in rows of bounds that :func:`search_rows` has kept.

    Below its ``radius`` a row then holds exact distances; what else it holds is a bound that is not below the radius.
    """
    for k in range(len(slots)):
        row, nearest, reach = rows[k], 0, np.inf
        for c in range(len(row)):
            if row[c] < row[nearest]:
                nearest = c
        tied = pair_distance(space, slots[k], columns[nearest]) * tie_factor if row[nearest] < np.inf else 0.0
        for c in range(len(row)):
            if row[c] <= tied:
                row[c] = pair_distance(space, slots[k], columns[c])
            elif row[c] < reach:
                reach = row[c]
        radius[k] = reach


@bare
def push_rows(space, lists, nodes, slots, columns, rows, limit, hits, first, stop, entered):
    """Enter new clusters into the lists, of the chunks of columns from ``first`` to ``stop``, that they fall inside.

    ``limit`` (columns,) holds the radii of the lists that may be entered, and is kept up to date; ``hits`` as
    :func:`search_rows` left it; ``entered`` (columns,) tells which lists have changed.
    """
    for k in range(len(slots)):
        node, row = nodes.node_of[slots[k]], rows[k]
        for chunk in range(first, stop):
            if not hits[k, chunk]:
                continue
            for c in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, len(row))):
                if row[c] < limit[c] and enter(lists, columns[c], node, pair_distance(space, columns[c], slots[k])):
                    entered[c] = True
                    limit[c] = lists.radius[columns[c]]
