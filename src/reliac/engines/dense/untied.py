"""Levels without ties on the square matrix: rows are brought up to date only when they are read.

A level that joins a few clusters changes columns in every row. Here that waits: joins are written down in a log, and a
row is brought up to date only when it is read, that is, when its cluster is joined or its list of the nearest proves
nothing any more (``shortlists.py``). Two clusters at the same smallest distance end this: ``levels.py`` goes on.
"""

from __future__ import annotations

import numpy as np

from ...algorithm.links import Links
from ..compiled.formulas import ADD, from_sums
from ..compiled.loading import bare_inside, compiled, inside
from ..compiled.sorting import some_of, with_room
from ..compiled.step import sorted_links, within
from .filling import CHUNK, padded_width
from .levels import (
    FEWEST,
    FREE,
    KEPT,
    NEW,
    close_gaps,
    pack_row,
    places_left,
    reduce_pairs,
    reduce_rows,
    share_parts,
    spread_parts,
)
from .shortlists import (
    LENGTH,
    N_JOINS,
    N_PAIRS,
    Hits,
    enter_hits,
    find_hits,
    forget_joined,
    is_tied,
    list_nearest,
    make_room,
)
from .square import LEVEL, N_ALIVE, N_LINKS, N_PLACES, N_SEARCHED, WIDTH, distances_of

#: Joins that a row has not seen from which on it pays to fetch it in order.
MANY = 16

#: Lists that a new cluster is usually entered into; there is more room if it is needed.
USUAL_HITS = 32

#: Pack the matrix when this share of its places is left.
PACK_LATE = 0.6

#: What :func:`advance_without_ties` says: all is done; the nearest of some cluster are tied; Python may tell progress;
#: pairs wait to be joined, by :func:`join_pairs` and :func:`enter_hits`.
DONE, TIED, PAUSE, SHARE = range(4)


@bare_inside
def fetch(row):
    """Read one number of every line of memory, so that the processor fetches the row in order; their sum is of no use.

    Numbers that are read here and there would be waited for one by one.
    """
    a = b = c = d = 0.0
    for j in range(0, len(row), CHUNK):
        a, b, c, d = a + row[j], b + row[j + 8], c + row[j + 16], d + row[j + 24]
    return a + b + c + d


@bare_inside
def bring_up_to_date(square, lists, r, joins, width):
    """Reduce the columns of a row for the joins that it has not seen, up to so many."""
    seen = lists.version[r]
    if seen < joins:
        row = square.stored[r * width : (r + 1) * width]
        if joins - seen > MANY and fetch(row) < 0.0:  # never: distances are at least 0
            return
        first, second, factors = lists.first[seen:joins], lists.second[seen:joins], lists.factors[2 * seen : 2 * joins]
        reduce_pairs(row, first, second, factors, square.reduction, not square.equal_parts)
        lists.version[r] = joins


@inside
def links_of_lists(square, steps, lists, rules):
    """Return the links that a level takes, and their order: clusters that begin each other's list, without ties."""
    n, count = steps.counters[N_PLACES], 0
    p, q, d = np.empty(n // 2, np.int64), np.empty(n // 2, np.int64), np.empty(n // 2)
    for r in range(n):
        if steps.mark[r] == FREE:
            continue
        c = lists.place[r, 0]
        if r < c and lists.place[c, 0] == r:
            p[count], q[count], d[count] = r, c, lists.distance[r, 0]
            count += 1
    links = Links(p[:count], q[:count], d[:count])
    order = sorted_links(links, square.slot)
    count = within(some_of(links.distance, order), rules.max_value)
    return links, order[: min(count, steps.counters[N_ALIVE] - rules.n_clusters)]


@inside
def note_joins(square, steps, lists, parts, bounds):
    """Write the joins of pairs down, and what that makes of their clusters, before any row is joined.

    Of two rows, the one that has seen more joins has the number of both clusters: it has seen how they were made.
    """
    joins, groups, width = lists.counts[N_JOINS], len(parts) // 2, steps.counters[WIDTH]
    factors = share_parts(square, parts, bounds)
    for g in range(groups):
        pair, factor = parts[2 * g : 2 * g + 2], factors[2 * g : 2 * g + 2]
        r, other = pair[0], pair[1]
        knows = r if lists.version[r] > lists.version[other] else other
        spread_parts(square, pair, factor, knows, width)
        lists.first[joins + g], lists.second[joins + g] = r, other
        lists.factors[2 * (joins + g)], lists.factors[2 * (joins + g) + 1] = factor[0], factor[1]
        steps.mark[r], steps.mark[other] = NEW, FREE
        square.weight[other], square.spread[other], square.best[other] = 1.0, 0.0, -np.inf
        lists.radius[r] = lists.radius[other] = -np.inf
    lists.counts[N_PAIRS] = groups
    steps.counters[N_ALIVE] -= groups


@inside
def join_rows(square, lists, g, bounds, width):
    """Reduce the rows of pair g to the row of its first cluster, and the columns of all pairs in it.

    What two new clusters store has the same bits in both rows: the rows of the earlier pair are added up first. So in
    the rows of a later pair the columns of the earlier ones come first, then the rows, then the other columns.
    """
    at = lists.counts[N_JOINS] + g
    pair, factor = np.empty(2, np.int64), lists.factors[2 * at : 2 * at + 2]
    pair[0], pair[1] = lists.first[at], lists.second[at]
    bring_up_to_date(square, lists, pair[0], at, width)
    bring_up_to_date(square, lists, pair[1], at, width)
    reduce_rows(square, pair, bounds, factor, width)
    bring_up_to_date(square, lists, pair[0], lists.counts[N_JOINS] + lists.counts[N_PAIRS], width)
    return pair[0]


@compiled
def join_pairs(square, steps, lists, start, stop):
    """Join some pairs, and list the nearest of the new clusters; return whose lists these are to be entered into.

    Threads may do this at the same time: only the rows and lists of the pairs are written.
    """
    width, room, bounds, count = steps.counters[WIDTH], make_room(), np.empty(2, np.int64), np.int64(0)
    bounds[0], bounds[1] = 0, 2
    out, length = np.empty(width), USUAL_HITS * (stop - start) + width
    hits = Hits(np.empty(length, np.int32), np.empty(length, np.int32), np.empty(length))
    for g in range(start, stop):
        r = join_rows(square, lists, g, bounds, width)
        values = distances_of(square, r, width, out)
        lists.reach[r] = list_nearest(lists, r, values, room)
        if count + width > len(hits.place):
            more = len(hits.place)
            hits = Hits(
                with_room(hits.place, count, more),
                with_room(hits.new, count, more),
                with_room(hits.distance, count, more),
            )
        count = find_hits(lists, r, values, room, hits, count)
    return Hits(hits.place[:count], hits.new[:count], hits.distance[:count])


@bare_inside
def end_of_joins(steps, lists):
    """Let the new clusters of a level be as all others."""
    joins = lists.counts[N_JOINS]
    for g in range(joins, joins + lists.counts[N_PAIRS]):
        r = lists.first[g]
        lists.radius[r], steps.mark[r] = lists.reach[r], KEPT
    lists.counts[N_JOINS] += lists.counts[N_PAIRS]
    lists.counts[N_PAIRS] = 0


@compiled
def prove_nearest(square, steps, lists, plain, start, stop):
    """List the nearest of some clusters anew if their lists prove nothing; tell of how many, and how many are tied.

    ``plain``: all are single objects of weight 1, whose distances are in the order of the numbers that they store.
    """
    width, row, room, searched, tied = steps.counters[WIDTH], np.empty(steps.counters[WIDTH]), make_room(), 0, 0
    for r in range(start, stop):
        if steps.mark[r] == FREE:
            continue
        if lists.count[r] == 0 or lists.distance[r, 0] >= lists.radius[r]:
            bring_up_to_date(square, lists, r, lists.counts[N_JOINS], width)
            values = square.stored[r * width : (r + 1) * width] if plain else distances_of(square, r, width, row)
            lists.radius[r] = list_nearest(lists, r, values, room)
            if plain and square.reduction == ADD:
                w, s, offset, by_size = square.weight[r], square.spread[r], square.offset, square.by_size
                for e in range(lists.count[r]):
                    lists.distance[r, e] = from_sums(lists.distance[r, e], s, s, w, w, offset, by_size)
                lists.radius[r] = from_sums(lists.radius[r], s, s, w, w, offset, by_size)
            searched += 1
        tied += is_tied(lists, r)
    return searched, tied


@inside
def pack_lists(square, steps, lists):
    """Close the gaps that joined clusters have left in the matrix, whose rows are brought up to date, and in lists."""
    kept, becomes = places_left(steps)
    width, narrow = steps.counters[WIDTH], padded_width(len(kept))
    for i in range(len(kept)):
        r = np.int64(kept[i])
        bring_up_to_date(square, lists, r, lists.counts[N_JOINS], width)
        pack_row(square.stored, kept, i, width, narrow)
        for e in range(lists.count[r]):
            lists.distance[i, e], lists.place[i, e] = lists.distance[r, e], becomes[lists.place[r, e]]
        lists.count[i], lists.radius[i], lists.version[i] = lists.count[r], lists.radius[r], 0
    lists.radius[len(kept) :] = -np.inf
    lists.counts[N_JOINS] = steps.counters[N_SEARCHED] = 0
    square.nearest[:] = -1
    close_gaps(square, steps, kept, becomes)


@inside
def begin_level(square, steps, lists, rules):
    """Write down the links of the next level, and note the pairs that they join; tell how many."""
    counters = steps.counters
    links, order = links_of_lists(square, steps, lists, rules)
    counters[LEVEL] += len(order) > 0
    for k in range(len(order)):
        i, at = order[k], counters[N_LINKS] + k
        steps.mark[links.p[i]] = NEW
        steps.p[at], steps.q[at] = square.slot[links.p[i]], square.slot[links.q[i]]
        steps.distance[at], steps.level[at] = links.distance[i], counters[LEVEL]
    counters[N_LINKS] += len(order)
    parts, bounds, count = np.empty(2 * len(order), np.int64), np.empty(len(order) + 1, np.int64), 0
    for k in range(len(links.p)):  # in the order of their places
        if steps.mark[links.p[k]] == NEW:
            parts[2 * count], parts[2 * count + 1], bounds[count] = links.p[k], links.q[k], 2 * count
            count += 1
    bounds[count] = 2 * count
    note_joins(square, steps, lists, parts, bounds)
    forget_joined(steps, lists)
    return len(order)


@bare_inside
def bring_all_up_to_date(square, steps, lists):
    """Leave all rows as if every level had changed all columns: for levels with ties."""
    for r in range(steps.counters[N_PLACES]):
        if steps.mark[r] != FREE:
            bring_up_to_date(square, lists, r, lists.counts[N_JOINS], steps.counters[WIDTH])


@compiled
def advance_without_ties(square, steps, lists, rules, most, patience):
    """Run levels until the rules say stop, a nearest is tied, or about ``patience`` numbers were read; tell which.

    Pairs that have more than ``most`` numbers in their rows are left to threads.
    """
    counters, counts, done = steps.counters, lists.counts, 0
    while done <= patience:
        if counts[N_PAIRS]:  # threads have joined them
            end_of_joins(steps, lists)
        searched, tied = prove_nearest(square, steps, lists, np.bool_(False), np.int64(0), counters[N_PLACES])
        done += counters[WIDTH] * searched + LENGTH * counters[N_PLACES]
        if tied and counters[N_ALIVE] > 1:
            bring_all_up_to_date(square, steps, lists)
            return TIED
        if counters[N_ALIVE] < PACK_LATE * counters[N_PLACES] and counters[N_PLACES] > FEWEST:
            pack_lists(square, steps, lists)
        if counters[N_ALIVE] <= rules.n_clusters or counters[LEVEL] >= rules.max_level:
            return DONE
        if begin_level(square, steps, lists, rules) == 0:
            return DONE
        if counts[N_PAIRS] * counters[WIDTH] > most:
            return SHARE
        enter_hits(lists, join_pairs(square, steps, lists, np.int64(0), counts[N_PAIRS]))
        done += 2 * counts[N_PAIRS] * counters[WIDTH]
    return PAUSE
