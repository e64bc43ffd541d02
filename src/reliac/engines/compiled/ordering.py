"""Kernels that order the leaves of a tree: sums of distances along rows of objects, as small as they can be."""

from __future__ import annotations

import math

import numpy as np

from .loading import bare, bare_inside, only_read

#: Numbers of a row, and rows, that are worked on at once: they stay in the cache.
COLUMNS, ROWS = 512, 32


@bare
def min_plus(a, b, out):
    """Lower ``out`` (r, c) to the smallest a[i, m] + b[m, k] over all m; ``a`` (r, s), ``b`` (s, c). Costs r s c."""
    for left in range(0, out.shape[1], COLUMNS):
        right = min(out.shape[1], left + COLUMNS)
        for top in range(0, len(b), ROWS):
            bottom = min(len(b), top + ROWS)
            for i in range(len(a)):
                row, m = out[i, left:right], top
                while m + 4 <= bottom:  # four at once: the row is read and written once
                    a0, a1, a2, a3 = a[i, m], a[i, m + 1], a[i, m + 2], a[i, m + 3]
                    b0, b1 = b[m, left:right], b[m + 1, left:right]
                    b2, b3 = b[m + 2, left:right], b[m + 3, left:right]
                    for k in range(len(row)):
                        low = a0 + b0[k]
                        other = a1 + b1[k]
                        low = low if low < other else other
                        other = a2 + b2[k]
                        low = low if low < other else other
                        other = a3 + b3[k]
                        low = low if low < other else other
                        row[k] = low if low < row[k] else row[k]
                    m += 4
                while m < bottom:
                    a0, b0 = a[i, m], b[m, left:right]
                    for k in range(len(row)):
                        low = a0 + b0[k]
                        row[k] = low if low < row[k] else row[k]
                    m += 1


# --- a few arrangements of every cluster ---


@bare_inside
def copy_entry(ends, cost, chosen, node, source, target):
    """Copy one arrangement of a cluster to another place of its list."""
    ends[node, target, 0], ends[node, target, 1] = ends[node, source, 0], ends[node, source, 1]
    cost[node, target], chosen[node, target] = cost[node, source], chosen[node, source]


@bare_inside
def enter_arrangement(ends, cost, chosen, node, count, first, last, total, how):
    """Put an arrangement of a cluster into its list, the shortest first; of those with equal ends the shortest stays.

    Returns the number of arrangements in the list now.
    """
    most = cost.shape[1]
    for c in range(count):
        if ends[node, c, 0] == first and ends[node, c, 1] == last:
            if total >= cost[node, c]:
                return count
            for later in range(c, count - 1):  # taken out, and entered again where it belongs
                copy_entry(ends, cost, chosen, node, later + 1, later)
            count -= 1
            break
    place = count
    while place > 0 and cost[node, place - 1] > total:
        place -= 1
    if place == most:
        return count
    for later in range(min(count, most - 1), place, -1):
        copy_entry(ends, cost, chosen, node, later - 1, later)
    ends[node, place, 0], ends[node, place, 1], cost[node, place], chosen[node, place] = first, last, total, how
    return min(count + 1, most)


@bare
def arrange(ends, cost, chosen, counts, node, left, right, gaps):
    """Find the shortest arrangements of a cluster, one for every two ends, from those of its two parts.

    ``gaps[2a + s, 2b + t]``: distance of end s of the left part's arrangement a and end t of the right part's b. An
    arrangement may be turned round, so that end s of the left part and end t of the right part meet. ``chosen`` keeps
    a, b, s and t in one number.
    """
    count, most = 0, cost.shape[1]
    for a in range(counts[left]):
        for b in range(counts[right]):
            for s in range(2 if ends[left, a, 0] != ends[left, a, 1] else 1):
                for t in range(2 if ends[right, b, 0] != ends[right, b, 1] else 1):
                    total = cost[left, a] + cost[right, b] + gaps[2 * a + s, 2 * b + t]
                    if count == most and total >= cost[node, most - 1]:
                        continue
                    how = ((a * most + b) * 2 + s) * 2 + t
                    first, last = ends[left, a, 1 - s], ends[right, b, 1 - t]
                    count = enter_arrangement(ends, cost, chosen, node, count, first, last, total, how)
    counts[node] = count


@bare
def arrange_all(rows, form, lefts, rights, ends, cost, chosen, counts, gaps, start, stop):
    """Arrange the clusters that some links make, after those below them, by vectors.

    ``form`` 1: squared distances of the rows, 2: plain ones, 3: half the squares.
    """
    n, d = rows.shape
    for link in range(start, stop):
        left, right = lefts[link], rights[link]
        for a in range(2 * counts[left]):
            i = ends[left, a // 2, a % 2]
            for b in range(2 * counts[right]):
                j = ends[right, b // 2, b % 2]
                total = 0.0
                for k in range(d):
                    total += (rows[i, k] - rows[j, k]) ** 2
                if form == 2:
                    total = math.sqrt(total)
                elif form == 3:
                    total *= 0.5
                gaps[a, b] = total
        arrange(ends, cost, chosen, counts, n + link, left, right, gaps)


def made_up_work() -> None:
    """Call every kernel once with the types that it is called with."""
    square = np.ones((1, 1))
    min_plus(square, square, square.copy())
    few = np.ones((3, 1, 2), np.int64), np.zeros((3, 1)), np.zeros((3, 1), np.int64), np.ones(3, np.int64)
    arrange(*few, 2, 0, 1, np.ones((2, 2)))
    ends = np.array([0]), np.array([1])
    arrange_all(only_read(np.ones((2, 1))), 2, *ends, *few, np.ones((2, 2)), 0, 1)
