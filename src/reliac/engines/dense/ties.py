"""The links of a level where there are too many ties to list: rows are read one after the other, and no link is kept.

Every link is met once, from the row of its first cluster, in the order of the rows and along each of them. In a group
all links count as equally long, so that is the order in which Kruskal's rule wants them, and what joins two clusters
can be told at once. What a share of the links is, a count of their distances tells before.
"""

from __future__ import annotations

import numpy as np

from ...algorithm.links import Links
from ..compiled.loading import inside
from ..compiled.sets import top, unite
from ..compiled.step import allows, share_count, sorted_links, take
from .square import N_PLACES, WIDTH, distances_of

#: Distances are counted by so many bits of theirs at a time.
DIGIT = 16


@inside
def links_of_row(square, steps, r, tie_factor, limit, found):
    """Write down the later clusters that have a reliable link to r, not longer than a limit.

    Returns the distances of r to all, and how many were found. O(width).
    """
    best, n, count = square.best, steps.counters[N_PLACES], 0
    values, bound = distances_of(square, r, steps.counters[WIDTH], steps.row), min(best[r] * tie_factor, limit)
    for c in range(r + 1, n):
        found[count] = c
        count += values[c] <= bound and values[c] <= best[c] * tie_factor
    return values, count


@inside
def longest_of_share(square, steps, alpha, tie_factor):
    """Return the longest distance that the share alpha of all reliable links may have.

    Bits of distances, which are never below 0, are in the order of the distances. The first bits of the last link that
    is within the share follow from how many links begin with which bits; then those that follow, and so on, until only
    one distance begins so. Cost: a pass over all rows if few distances are different, four at most.
    """
    found, bits, wanted, n = np.empty(steps.counters[N_PLACES] + 1, np.int64), np.int64(0), 0, steps.counters[N_PLACES]
    counts, low, high = np.empty(2**DIGIT, np.int64), np.empty(2**DIGIT), np.empty(2**DIGIT)
    for shift in range(64 - DIGIT, -1, -DIGIT):
        counts[:], low[:], high[:] = 0, np.inf, -np.inf
        for r in range(n):
            if np.isinf(square.best[r]):
                continue
            values, count = links_of_row(square, steps, r, tie_factor, np.inf, found)
            all_bits = values.view(np.int64)
            for k in range(count):
                value, here = values[found[k]], max(all_bits[found[k]], 0) >> shift  # minus 0 is 0
                if shift + DIGIT == 64 or here >> DIGIT == bits:
                    digit = here & (2**DIGIT - 1)
                    counts[digit] += 1
                    low[digit], high[digit] = min(low[digit], value), max(high[digit], value)
        if shift + DIGIT == 64:
            links = 0
            for digit in range(len(counts)):
                links += counts[digit]
            wanted = share_count(alpha, links)
        digit = 0
        while counts[digit] < wanted:
            wanted -= counts[digit]
            digit += 1
        if low[digit] == high[digit]:
            return low[digit] * tie_factor
        bits = bits << DIGIT | digit
    return np.inf


@inside
def choose_from_rows(square, steps, rules, leader, most):
    """Return what :func:`..compiled.step.choose_links` would, of all reliable links, with room for one a cluster.

    All clusters are looked at. A link of two that have not changed since the level before was taken there, or is too
    long. Cost: one pass over all rows, and for a share those that find its longest link.
    """
    n, limit, count = steps.counters[N_PLACES], rules.max_value, 0
    if rules.alpha < 1.0:
        limit = min(limit, longest_of_share(square, steps, rules.alpha, rules.tie_factor))
    found, p, q, shortest = np.empty(n + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    for r in range(n):
        leader[r], shortest[r] = r, np.inf
    for r in range(n):
        if np.isinf(square.best[r]):
            continue
        values, more = links_of_row(square, steps, r, rules.tie_factor, limit, found)
        for k in range(more):
            c = found[k]
            a, b = top(leader, r), top(leader, c)
            shortest[a] = min(shortest[a], shortest[b], values[c])
            joins = allows(rules.limits, square.slot[r], square.slot[c]) if rules.limits.active else a != b
            if joins:
                p[count], q[count] = r, c
                count += 1
            if a != b:
                unite(leader, a, b)
                shortest[min(a, b)] = shortest[a]
    distance = np.empty(count)
    for k in range(count):
        distance[k] = shortest[top(leader, p[k])]
    links = Links(p[:count], q[:count], distance)
    return take(links, sorted_links(links, square.slot)[:most])
