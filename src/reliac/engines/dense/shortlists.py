"""Levels without ties on the square matrix: short lists of the nearest, and rows that are brought up to date when read.

A level that joins a few clusters changes columns in every row. Here that waits: joins are written down in a log, and a
row is brought up to date only when it is read, that is, when its cluster is joined or its list proves nothing any more.
Every cluster has a list of its nearest and a radius: whatever is not in the list is at least that far away, as the
matrix has it. New clusters read their whole row and are entered into the lists of all others that they fall inside of,
so nothing is assumed about the criterion. Two clusters at the same smallest distance end this: ``levels.py`` goes on.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ...algorithm.links import Links
from ..compiled.formulas import ADD, from_sums
from ..compiled.loading import bare, bare_inside, compiled, inside
from ..compiled.sorting import insert, some_of, with_room
from ..compiled.step import smallest_share, sorted_links, within
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
from .square import LEVEL, N_ALIVE, N_LINKS, N_PLACES, N_SEARCHED, WIDTH, distances_of

#: Entries of a list.
LENGTH = 8

#: Sets of places whose smallest distances tell how far the nearest reach.
SETS = 2 * CHUNK

#: Joins that a row has not seen from which on it pays to fetch it in order.
MANY = 16

#: Lists that a new cluster is usually entered into; there is more room if it is needed.
USUAL_HITS = 32

#: Pack the matrix when this share of its places is left.
PACK_LATE = 0.6

#: ``distance``, ``place`` (places, LENGTH + 1): the entries, sorted, ``count`` (places,) of them, and room for one.
#: ``radius`` (width,): minus infinity for places that no new cluster is to be entered into; ``reach`` (places,): what
#: it will be for new ones. ``first``, ``second``, ``factors``: the log of joins since the matrix was packed; ``version``
#: (places,): how many of them a row has seen. ``counts``: see below.
Shortlists = namedtuple("Shortlists", "distance place count radius reach version first second factors counts")

#: Places in Shortlists.counts: the length of the log, pairs of this level that follow in it, and clusters whose nearest
#: are tied.
N_JOINS, N_PAIRS, N_TIED = range(3)

#: New clusters that are nearer than the radius of some others: of each of these the place, and the distance.
Hits = namedtuple("Hits", "place new distance")

#: What :func:`advance_without_ties` says: all is done; Python may tell progress, and see whether there are ties; pairs
#: wait to be joined, by :func:`join_pairs` and :func:`enter_hits`.
DONE, PAUSE, SHARE = range(3)


def make_shortlists(n: int, width: int) -> Shortlists:
    """Return room for the lists of n clusters."""
    return Shortlists(
        distance=np.empty((n, LENGTH + 1)),
        place=np.empty((n, LENGTH + 1), np.int32),
        count=np.zeros(n, np.int32),
        radius=np.full(width, -np.inf),
        reach=np.empty(n),
        version=np.zeros(n, np.int64),
        first=np.empty(n, np.uint32),
        second=np.empty(n, np.uint32),
        factors=np.empty(2 * n),
        counts=np.zeros(3, np.int64),
    )


@inside
def make_room():
    """Return room for one number a set, and for a few sorted ones."""
    return np.empty(SETS), np.empty(LENGTH + 1)


@bare_inside
def limit_of(smallest, sorted_ones):
    """Return the smallest of the numbers that LENGTH others are below, or equal to; ``sorted_ones``: room."""
    sorted_ones[:] = np.inf
    for j in range(len(smallest)):
        e = LENGTH
        if smallest[j] < sorted_ones[e]:
            while e > 0 and sorted_ones[e - 1] > smallest[j]:
                sorted_ones[e] = sorted_ones[e - 1]
                e -= 1
            sorted_ones[e] = smallest[j]
    return sorted_ones[LENGTH]


@bare_inside
def list_nearest(lists, r, values, room):
    """Make the list of a cluster from all its distances; tell how far it reaches. O(width).

    Every SETS-th place is in one set. The smallest of each set are found in vector instructions; of these, one has
    LENGTH others below it: all that is nearer lies in their sets. Only those are looked at number by number.
    """
    distance, place, smallest, width = lists.distance[r], lists.place[r], room[0], len(values)
    smallest[:] = np.inf
    whole = width // SETS * SETS
    for start in range(0, whole, SETS):
        some = values[start : start + SETS]
        for j in range(SETS):
            smallest[j] = some[j] if some[j] < smallest[j] else smallest[j]
    for j in range(whole, width):
        smallest[j - whole] = min(values[j], smallest[j - whole])
    limit = limit_of(smallest, room[1]) if width > 4 * SETS else np.inf
    distance[:], place[:] = limit, -1
    for j in range(SETS):
        if smallest[j] < distance[LENGTH]:
            for c in range(j, width, SETS):
                if values[c] < distance[LENGTH]:
                    insert(distance, place, 0, LENGTH, values[c], np.int32(c))
    count = 0
    while count < LENGTH and place[count] >= 0:
        count += 1
    lists.count[r] = count
    return distance[LENGTH]


@compiled
def list_all(square, steps, lists, plain, start, stop):
    """List the nearest of some clusters: how the levels begin.

    ``plain``: all are single objects of weight 1, whose distances are in the order of the numbers that they store.
    """
    width, weight, spread = steps.counters[WIDTH], square.weight, square.spread
    row, room = np.empty(width), make_room()
    for r in range(start, stop):
        if steps.mark[r] == FREE:
            continue
        steps.mark[r] = KEPT
        values = square.stored[r * width : (r + 1) * width] if plain else distances_of(square, r, width, row)
        lists.radius[r] = list_nearest(lists, r, values, room)
        if plain and square.reduction == ADD:
            w, s, offset, by_size = weight[r], spread[r], square.offset, square.by_size
            for e in range(lists.count[r]):
                lists.distance[r, e] = from_sums(lists.distance[r, e], s, s, w, w, offset, by_size)
            lists.radius[r] = from_sums(lists.radius[r], s, s, w, w, offset, by_size)


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
def find_hits(lists, r, values, room, hits, count):
    """Note the clusters that a new one is nearer to than their radius, sets as in a search; tell how many there are."""
    within, radius, width = room[0], lists.radius, len(values)
    within[:] = -np.inf
    whole = width // SETS * SETS
    for start in range(0, whole, SETS):
        some, limits = values[start : start + SETS], radius[start : start + SETS]
        for j in range(SETS):
            inside = limits[j] - some[j]  # not a number where both are infinite: not above anything
            within[j] = inside if inside > within[j] else within[j]
    for j in range(whole, width):
        within[j - whole] = max(radius[j] - values[j], within[j - whole])
    for j in range(SETS):
        if within[j] > 0.0:
            for c in range(j, width, SETS):
                if values[c] < radius[c]:
                    hits.place[count], hits.new[count], hits.distance[count] = c, r, values[c]
                    count += 1
    return count


@bare
def enter_hits(lists, hits):
    """Enter new clusters into the lists of those that they are near to."""
    for k in range(len(hits.place)):
        c, distance = hits.place[k], hits.distance[k]
        if not distance < lists.radius[c]:  # it was lowered meanwhile
            continue
        count = lists.count[c]
        insert(lists.distance[c], lists.place[c], 0, np.int64(count), distance, hits.new[k])
        if count == LENGTH:
            lists.radius[c] = lists.distance[c, LENGTH]
        else:
            lists.count[c] = count + 1


@bare_inside
def forget_joined(steps, lists):
    """Take the clusters that were joined, and are new, from all lists."""
    for r in range(steps.counters[N_PLACES]):
        if steps.mark[r] != KEPT:
            continue
        distance, place, kept = lists.distance[r], lists.place[r], 0
        for e in range(lists.count[r]):
            if steps.mark[place[e]] == KEPT:
                distance[kept], place[kept] = distance[e], place[e]
                kept += 1
        lists.count[r] = kept


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
    distance = some_of(links.distance, order)
    count = within(distance[: smallest_share(distance, rules.alpha, rules.tie_factor)], rules.max_value)
    return links, order[: min(count, steps.counters[N_ALIVE] - rules.n_clusters)]


@inside
def note_joins(square, steps, lists, parts):
    """Write the joins of pairs down, and what that makes of their clusters, before any row is joined.

    Of two rows, the one that has seen more joins has the number of both clusters: it has seen how they were made.
    """
    joins, groups, width = lists.counts[N_JOINS], len(parts) // 2, steps.counters[WIDTH]
    factors = share_parts(square, parts, np.arange(0, 2 * groups + 1, 2))
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
    width, room, bounds, count = steps.counters[WIDTH], make_room(), np.arange(0, 4, 2), 0
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


@inside
def prove_nearest(square, steps, lists, row, room):
    """List the nearest of clusters anew whose lists prove nothing any more; tell how many; count ties."""
    width, searched = steps.counters[WIDTH], 0
    for r in range(steps.counters[N_PLACES]):
        if steps.mark[r] == FREE:
            continue
        if lists.count[r] == 0 or lists.distance[r, 0] >= lists.radius[r]:
            bring_up_to_date(square, lists, r, lists.counts[N_JOINS], width)
            values = distances_of(square, r, width, row)
            lists.radius[r] = list_nearest(lists, r, values, room)
            searched += 1
        tied = lists.count[r] == 0 or (lists.count[r] > 1 and lists.distance[r, 0] == lists.distance[r, 1])
        lists.counts[N_TIED] += tied and steps.counters[N_ALIVE] > 1
    return searched


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
    taken = np.zeros(len(links.p), np.bool_)
    counters[LEVEL] += len(order) > 0
    for k in range(len(order)):
        i, at = order[k], counters[N_LINKS] + k
        taken[i] = True
        steps.p[at], steps.q[at] = square.slot[links.p[i]], square.slot[links.q[i]]
        steps.distance[at], steps.level[at] = links.distance[i], counters[LEVEL]
    counters[N_LINKS] += len(order)
    parts, count = np.empty(2 * len(order), np.int64), 0
    for k in range(len(links.p)):
        if taken[k]:
            parts[count], parts[count + 1] = links.p[k], links.q[k]
            count += 2
    note_joins(square, steps, lists, parts)
    forget_joined(steps, lists)
    return len(order)


@compiled
def advance_without_ties(square, steps, lists, rules, most, patience):
    """Run levels until the rules say stop, a nearest is tied, or about ``patience`` numbers were read; tell which.

    Pairs that have more than ``most`` numbers in their rows are left to threads.
    """
    counters, counts, done = steps.counters, lists.counts, 0
    room, row = make_room(), np.empty(counters[WIDTH])
    while done <= patience:
        if counts[N_PAIRS]:  # threads have joined them
            end_of_joins(steps, lists)
        done += counters[WIDTH] * prove_nearest(square, steps, lists, row, room) + LENGTH * counters[N_PLACES]
        if counts[N_TIED]:
            return PAUSE
        if counters[N_ALIVE] < PACK_LATE * counters[N_PLACES] and counters[N_PLACES] > FEWEST:
            pack_lists(square, steps, lists)
        if counters[N_ALIVE] <= rules.n_clusters or counters[LEVEL] >= rules.max_level:
            return DONE
        if begin_level(square, steps, lists, rules) == 0:
            return DONE
        if counts[N_PAIRS] * counters[WIDTH] > most:
            return SHARE
        enter_hits(lists, join_pairs(square, steps, lists, 0, counts[N_PAIRS]))
        done += 2 * counts[N_PAIRS] * counters[WIDTH]
    return PAUSE


@compiled
def bring_all_up_to_date(square, steps, lists):
    """Leave all rows as if every level had changed all columns: for levels with ties."""
    for r in range(steps.counters[N_PLACES]):
        if steps.mark[r] != FREE:
            bring_up_to_date(square, lists, r, lists.counts[N_JOINS], steps.counters[WIDTH])
