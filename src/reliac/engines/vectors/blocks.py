"""Blocks of products: what they select, the exact distances that decide, and whose lists new clusters enter."""

from __future__ import annotations

import numpy as np

from ..compiled.loading import bare
from ..compiled.scanning import CHUNK, scan_values
from ..compiled.sorting import insert
from ..compiled.spaces import pair_distance
from ..lists.entries import enter


@bare
def select_block(products, first, own, offset, weight, weights, by_size, bound, place, radius, wanted, reached):
    """Take from a block of products the smallest lower bounds of each row.

    ``products`` (rows, columns): extra_q - 2 m_p m_q. ``offset`` (rows,): what added to it makes a lower bound of the
    squared distance of the representatives; by size it is added here, otherwise, being the same for a whole row,
    later. ``bound``, ``place`` (rows, k + 1): the smallest so far, sorted, and their columns. ``radius`` (columns,):
    where ``wanted``, columns whose bound is inside it are noted in ``reached`` (pairs of row and column, their count in
    the last row). Cost: one pass over the block; chunks without a small value are only compared.
    """
    zero = products[0, 0] * 0
    for i in range(products.shape[0]):
        row, c, w = products[i], offset[i], weight[i]
        if by_size:
            for j in range(len(row)):
                row[j] = max(row[j] + c, zero) * (w * weights[j] / (w + weights[j]))
            c = zero
        scan_values(row, first, own[i], bound[i], place[i])
        if not wanted:
            continue
        for start in range(0, len(row), CHUNK):
            chunk, limits, hits = row[start : start + CHUNK], radius[start : start + CHUNK], 0
            if len(chunk) == CHUNK:
                for j in range(CHUNK):
                    hits += chunk[j] + c < limits[j]
            if hits or len(chunk) < CHUNK:
                for j in range(len(chunk)):
                    if chunk[j] + c < limits[j] and first + start + j != own[i]:
                        if reached[-1, 0] < len(reached) - 1:
                            reached[reached[-1, 0], 0] = i
                            reached[reached[-1, 0], 1] = first + start + j
                        reached[-1, 0] += 1


@bare
def decide(space, lists, nodes, slots, columns, bound, place, scale, tie_factor, failed):
    """Measure what was selected, exactly, and make the lists; note the rows that stay unproven in ``failed``.

    Cost: k exact distances a row.
    """
    last = bound.shape[1] - 1
    for i in range(len(slots)):
        r = slots[i]
        first, count = lists.start[r], np.int64(0)
        radius = bound[i, last] * scale if place[i, last] >= 0 else np.inf
        for e in range(last):
            if place[i, e] < 0:
                break
            q = columns[place[i, e]]
            # gone: usually farther than all others, but not where weights are far apart; among some it may find itself
            if nodes.node_of[q] < 0 or q == r:
                continue
            distance = pair_distance(space, r, q)
            if distance < radius:
                insert(lists.distances, lists.nodes, first, first + count, distance, nodes.node_of[q])
                count += 1
        lists.count[r], lists.radius[r] = count, radius
        failed[i] = radius < np.inf and (count == 0 or lists.distances[first] * tie_factor >= radius)


@bare
def push_pairs(space, lists, nodes, pairs, slots, columns, first, stop, entered):
    """Measure new clusters against those whose radius they may have entered, and enter them.

    ``pairs`` (m, 2): places in ``slots``, new clusters, and in ``columns``. Only the columns from ``first`` to ``stop``
    are seen to: every thread has lists of its own. ``entered`` (columns,) tells which lists have changed.
    """
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        if j < first or j >= stop:
            continue
        r, c = columns[j], slots[i]
        if nodes.node_of[r] >= 0 and enter(lists, r, nodes.node_of[c], pair_distance(space, c, r)):
            entered[j] = True


@bare
def exact_row(space, r, columns, out):
    """Distances of one cluster to all, one by one."""
    for j in range(len(columns)):
        out[j] = np.inf if columns[j] == r else pair_distance(space, r, columns[j])
