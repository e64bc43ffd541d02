"""The edges of clusters, as rows that are brought up to date only when they are read.

A row is a list of entries: another cluster, and what is known of the listed object pairs between the two: their sum (or
smallest, or largest) and their number. When clusters join, their rows become one; the rows of others keep the old
numbers of the parts. Whoever reads a row next looks up what the parts have become, and adds up entries that now mean
the same cluster.

Where vectors give the distance (``connectivity``) an entry only says that two clusters may be joined, and the distance
follows from their representatives.

The entries of a cluster lie in the places that its objects had at the beginning: a chain of segments, filled from the
first on. So no memory is ever allocated after the start.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.fetching import fetch
from ..compiled.loading import bare_inlined, bare_inside
from ..compiled.sets import top
from ..compiled.spaces import pair_distance
from ..compiled.step import may_join
from .brief import EVEN, add_brief, add_even, ask_for_leader, is_short, write_short
from .entries import LARGEST, SMALLEST, SUM, count_of, put_count

#: ``other``, ``stored``, ``count``, ``long_count`` (entries,): for how counts are kept see :func:`count_of`. For the
#: smallest distance also ``pair``, the two objects as i * n + j with i of this cluster. If ``brief`` an entry takes
#: less, in ``places`` and, only if ``scaled``, ``share`` (entries,), and ``form`` (n,) says how a row is written: see
#: ``brief.py``. Segment i is ``start[i] : start[i + 1]``; ``following[i]`` is the next one of its cluster
#: (-1: none), ``last[i]`` the last one. ``used`` (n,): places that the entries of a cluster take, which is their number
#: unless they are brief. ``leader`` (n,): what has become of a cluster. ``factor`` (n,), only if ``scaled``: what the
#: numbers of a part are multiplied by at this level, else 1. ``by_sizes``: see :func:`count_all_pairs`.
#: ``far``: M, infinite where distances are only compared. ``listed``: distances follow from listed pairs; else from
#: ``points``, the moments of clusters of vectors. ``limits``: which clusters may be joined, by their first objects.
#: Slots and counts are numbers of four bytes: levels wait for memory most.
Rows = namedtuple(
    "Rows",
    "other stored count long_count pair start following last used leader object_of factor weight best nearest tied "
    "looked points reduction far ignore scaled by_sizes listed brief places share form limits",
)

#: Places are numbered in four bytes.
LARGEST_BASE = 2**31 - 1

#: Memory is asked for so many rows before it is read, and what their entries lead to so many rows before; for so many
#: entries of a row; so many numbers of eight bytes come at once.
AHEAD, SOON, MOST_ASKED, AT_ONCE = 6, 2, 32, 8

#: Room for one row, and for one thread. ``place`` (n,) tells where a cluster stands in the row: at ``place - base[0]``,
#: if that is not negative. Every reading has a larger base, by the length ``base[1]`` of the row before, so that no
#: place has to be taken back. ``told`` (n,) marks neighbours while they are listed, so that none is listed twice.
Room = namedtuple("Room", "other stored count pair place base told")


@bare_inlined
def mean_distance(stored, count, product, far):
    """Return the average distance where missing pairs are at M; infinite where it is not below M."""
    distance = (stored + far * (product - count)) / product
    return distance if distance < far else np.inf


@bare_inside
def measure(rows, room, c, length):
    """Turn what the row in ``room`` stores into distances of cluster c; infinite where not below M, or forbidden.

    With sums, and M for missing pairs: (stored + M (w v - count)) / (w v). Largest: all pairs must be listed.
    """
    other, stored, count, weight, w, far = room.other, room.stored, room.count, rows.weight, rows.weight[c], rows.far
    if not rows.listed:
        for e in range(length):
            stored[e] = pair_distance(rows.points, c, np.int64(other[e]))
    elif rows.reduction == SUM and rows.ignore:
        for e in range(length):
            stored[e] /= count[e]
    elif rows.reduction == SUM:
        for e in range(length):
            stored[e] = mean_distance(stored[e], count[e], w * weight[other[e]], far)
    elif rows.reduction == LARGEST and not rows.ignore:
        for e in range(length):
            if count[e] < w * weight[other[e]]:
                stored[e] = np.inf
    if rows.limits.active:
        for e in range(length):
            if not may_join(rows.limits, np.int64(rows.object_of[c]), np.int64(rows.object_of[other[e]])):
                stored[e] = np.inf


@bare_inlined
def take_sums(rows, room, begin, end, length, c, base):
    """Add the entries from ``begin`` on to the row in ``room``, where they are sums; return its new length."""
    other, stored, leader, place = rows.other, rows.stored, rows.leader, room.place
    to, sums, counts, count, long_count = room.other, room.stored, room.count, rows.count, rows.long_count
    for k in range(begin, end):
        q = top(leader, np.int64(other[k]))
        e = place[q] - base
        if e >= 0:
            sums[e] += stored[k]
            counts[e] += count_of(count[k], long_count, k)
        elif q != c:
            place[q] = base + length
            to[length], sums[length], counts[length] = q, stored[k], count_of(count[k], long_count, k)
            length += 1
    return length


@bare_inside
def take_others(rows, room, begin, end, length, c, base, scale):
    """Add the entries from ``begin`` on to the row in ``room``, times ``scale``; return its new length."""
    for k in range(begin, end):
        q = top(rows.leader, np.int64(rows.other[k]))
        if q == c:
            continue
        stored, count = 0.0, 0.0
        if rows.listed:
            stored, count = rows.stored[k], 1.0
            if rows.reduction != SMALLEST:
                count = count_of(rows.count[k], rows.long_count, k)
        if rows.scaled and rows.listed:
            factor = scale * rows.factor[rows.other[k]]
            stored, count = stored * factor, count * factor
        e = room.place[q] - base
        if e < 0:
            room.place[q] = base + length
            room.other[length], room.stored[length], room.count[length] = q, stored, count
            if rows.listed and rows.reduction == SMALLEST:
                room.pair[length] = rows.pair[k]
            length += 1
            continue
        room.count[e] += count
        if rows.reduction == SUM:
            room.stored[e] += stored
        elif rows.reduction == LARGEST:
            room.stored[e] = max(room.stored[e], stored)
        elif rows.listed and (stored < room.stored[e] or (stored == room.stored[e] and rows.pair[k] < room.pair[e])):
            room.stored[e], room.pair[e] = stored, rows.pair[k]
    return length


@bare_inlined
def ask_ahead(rows, room, clusters, k):
    """Ask for what is read after the row of ``clusters[k]``: of rows still far where they begin, then their entries,
    and of those that come next what the entries lead to.
    """
    if k + 2 * AHEAD < len(clusters):
        c = clusters[k + 2 * AHEAD]
        fetch(rows.start, c)
        fetch(rows.used, c)
    if k + AHEAD < len(clusters):
        c = np.int64(clusters[k + AHEAD])
        first, short = rows.start[c], is_short(rows, c)
        last = first + min(MOST_ASKED, np.int64(rows.used[c]))
        fetch(rows.share, first)
        for e in range(first, last, 2 * AT_ONCE):
            if not short:
                fetch(rows.other, e)
                if rows.listed:
                    fetch(rows.count, e)
            if rows.listed:
                fetch(rows.stored, e)
                fetch(rows.stored, e + AT_ONCE)
    if k + SOON < len(clusters):
        c = np.int64(clusters[k + SOON])
        first, short = rows.start[c], is_short(rows, c)
        last = first + min(MOST_ASKED, np.int64(rows.used[c]))
        for e in range(first, min(last, rows.start[c + 1])):
            if short:
                ask_for_leader(rows, room, e)
                continue
            fetch(rows.leader, np.int64(rows.other[e]))
            fetch(rows.weight, np.int64(rows.other[e]))
            fetch(rows.factor, np.int64(rows.other[e]))
            fetch(room.place, np.int64(rows.other[e]))


@bare_inlined
def begin_row(room):
    """Forget the row in ``room``."""
    room.base[0] += room.base[1]
    room.base[1] = 1
    if room.base[0] >= LARGEST_BASE - len(room.place):
        room.base[0] = 0
        for c in range(len(room.place)):
            room.place[c] = -1


@bare_inside
def add_row(rows, room, p, length, c):
    """Add the entries of p to the row in ``room``, which belongs to cluster c; return its new length."""
    left, segment, base = np.int64(rows.used[p]), p, room.base[0]
    scale = rows.factor[p] if rows.scaled else 1.0
    plain = rows.listed and rows.reduction == SUM and not rows.scaled
    if is_short(rows, p):
        even = rows.form[p] == EVEN
        length = add_even(rows, room, p, length, c, base) if even else add_brief(rows, room, p, length, c, base)
        left = np.int64(0)
    while left > 0:
        begin = rows.start[segment]
        end = min(begin + left, rows.start[segment + 1])
        if plain:
            length = take_sums(rows, room, begin, end, length, c, base)
        else:
            length = take_others(rows, room, begin, end, length, c, base, scale)
        left -= rows.start[segment + 1] - begin
        segment = np.int64(rows.following[segment])
    room.base[1] = length + 1
    return length


@bare_inlined
def put_entry(to, k, room, e):
    """Write an entry of ``room`` into place k, with what these rows keep of one."""
    to.other[k] = room.other[e]
    if to.listed:
        to.stored[k] = room.stored[e]
        if to.reduction == SMALLEST:
            to.pair[k] = room.pair[e]
        else:
            put_count(to.count, k, to.long_count, k, room.count[e])


@bare_inside
def write_row(rows, room, c, length):
    """Write the row in ``room`` back to the segments of cluster c; segments that stay empty are forgotten."""
    if rows.brief and write_short(rows, room, c, length):
        return
    rows.used[c] = length
    e, segment = np.int64(0), c
    while True:
        for k in range(rows.start[segment], min(rows.start[segment] + length - e, rows.start[segment + 1])):
            put_entry(rows, k, room, e)
            e += 1
        if e == length:
            break
        segment = np.int64(rows.following[segment])
    rows.following[segment], rows.last[c] = -1, segment


@bare_inside
def keep_first(rows, room, c, length):
    """Bring the entries in ``room`` that are worth keeping to the front; return how many they are.

    By the largest distance, two clusters with a missing pair are never joined, whatever else they join: such entries
    are not written any more.
    """
    if not rows.listed or rows.reduction != LARGEST or rows.ignore:
        return length
    other, stored, count, kept = room.other, room.stored, room.count, 0
    for e in range(length):
        if count[e] >= rows.weight[c] * rows.weight[other[e]]:
            other[e], other[kept] = other[kept], other[e]
            stored[e], stored[kept] = stored[kept], stored[e]
            count[e], count[kept] = count[kept], count[e]
            kept += 1
    return kept


@bare_inlined
def count_all_pairs(rows, room, c, length):
    """Let an average along edges stand for all pairs of objects of two clusters: missing ones are as far as the listed.

    So when clusters join next, every part counts by its size.
    """
    other, stored, count, weight = room.other, room.stored, room.count, rows.weight
    for e in range(length):
        pairs = weight[c] * weight[other[e]]
        if count[e] != pairs:
            stored[e], count[e] = stored[e] / count[e] * pairs, pairs


@bare_inlined
def keep_row(rows, room, c, length):
    """Write the row in ``room``, to which all parts of cluster c were added, back to its segments."""
    if rows.by_sizes:
        count_all_pairs(rows, room, c, length)
    write_row(rows, room, c, keep_first(rows, room, c, length))


@bare_inlined
def refresh(rows, room, c):
    """Bring the row of cluster c up to date, into ``room`` and back; return its length."""
    begin_row(room)
    length = add_row(rows, room, c, np.int64(0), c)
    keep_row(rows, room, c, length)
    return length


@bare_inside
def search(rows, room, c, length, tie_factor):
    """Find the nearest of cluster c in its row in ``room``: the first by object among those that are equally near."""
    measure(rows, room, c, length)
    distance, best, nearest, count = room.stored, np.inf, c, 0
    for e in range(length):
        best = min(best, distance[e])
    if best < np.inf:
        bound, first = best * tie_factor, np.int64(-1)
        for e in range(length):
            if distance[e] <= bound:
                count += 1
                if distance[e] == best and (first < 0 or rows.object_of[room.other[e]] < first):
                    nearest, first = np.int64(room.other[e]), rows.object_of[room.other[e]]
    rows.best[c], rows.nearest[c], rows.tied[c] = best, nearest, count > 1
