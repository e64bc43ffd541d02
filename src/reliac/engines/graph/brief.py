"""Rows of float32 distances in half the memory: an entry takes eight bytes as long as it stands for one edge.

A row has one of three forms.

* ``BRIEF``: an entry of one edge is one place, the other cluster and the distance. An entry of several edges is two:
  the other cluster, as -1 - number, and how many edges there are; then their sum (or largest). There is always room
  for that, since it has come from two entries or more. The two places may lie in different segments.
* ``EVEN``: every entry is two places of one segment. Rows take this form as soon as there is room, which is soon after
  the first joins: nothing has to be told apart, and they are read and written more quickly.
* ``WIDE``: entries are written as those of float64 distances are, into memory that is touched only then.

Wide rows there are only where parts count alike. Joins halve what an edge counts, again and again, or make it three
times as much, and ``share`` says what it counts, in a byte beside each place of one edge: see :func:`share_of`. What no
byte can tell takes an entry of two places, and for these there may be no room. A row that finds room later is not wide
any more.

``places`` and ``stored`` are the same memory, seen as two whole numbers of four bytes a place and as one of eight.
"""

from __future__ import annotations

import numpy as np

from ..compiled.fetching import fetch
from ..compiled.loading import bare_inlined, bare_inside
from ..compiled.sets import top
from .entries import SUM, count_of, put_count

#: How a row is written.
BRIEF, EVEN, WIDE = range(3)

#: Of a float64, how many bits come after the exponent, and the exponent of 1.
FRACTION, ONE = 52, 1023

#: The smallest share of an edge that a byte tells is 1/2 to this power.
MOST_HALVINGS = 61


@bare_inlined
def is_short(rows, c):
    """Tell whether the row of cluster c is in ``places``."""
    return rows.brief and rows.form[c] != WIDE


@bare_inlined
def share_of(code):
    """Return what an edge counts by its byte: 1, 5/4, 6/4 or 7/4 by the last two bits, halved as the other six say.

    0 stands for 1. The largest two numbers of six bits are -2 and -1: doubled twice, and once.
    """
    halved, quarters = np.int64(code) >> 2, np.int64(code) & 3
    halved -= 64 if halved > MOST_HALVINGS else 0
    return np.int64(((ONE - halved) << FRACTION) | (quarters << (FRACTION - 2))).view(np.float64)


@bare_inlined
def code_of(stored, count, scaled):
    """Return the byte for what a single edge counts; -1 if ``count`` and ``stored`` are not of such an edge, or if no
    byte tells it.

    Several edges may look like one. Then their entry may be written like that of one: nothing is lost.
    """
    if not scaled:
        return np.int64(0) if count == 1.0 else np.int64(-1)
    bits = np.float64(count).view(np.int64)
    halved, quarters, rest = ONE - (bits >> FRACTION), (bits >> (FRACTION - 2)) & 3, bits & ((1 << (FRACTION - 2)) - 1)
    told = (rest == 0) & (halved >= -2) & (halved <= MOST_HALVINGS)
    single = told and np.float64(np.float32(stored / count)) * count == stored
    return ((halved & 63) << 2) | quarters if single else np.int64(-1)


@bare_inlined
def next_place(rows, segment, k, last):
    """Return the next place of a cluster from k on, and the end of its segment; segment -1 says that there is none."""
    while k == last:
        segment = np.int64(rows.following[segment])
        if segment < 0:
            break
        k, last = rows.start[segment], rows.start[segment + 1]
    return segment, k, last


@bare_inlined
def enter(rows, room, other, value, count, scale, length, c, base):
    """Add an entry to the row in ``room``, which belongs to cluster c, times ``scale``; return its new length."""
    if rows.scaled:
        factor = scale * rows.factor[other]
        value, count = value * factor, count * factor
    q = top(rows.leader, other)
    e = room.place[q] - base
    if e >= 0:
        room.count[e] += count
        room.stored[e] = room.stored[e] + value if rows.reduction == SUM else max(room.stored[e], value)
    elif q != c:
        room.place[q] = base + length
        room.other[length], room.stored[length], room.count[length] = q, value, count
        length += 1
    return length


@bare_inside
def add_brief(rows, room, p, length, c, base):
    """Add the brief entries of p to the row in ``room``, which belongs to cluster c; return its new length."""
    left, segment, k, scale = np.int64(rows.used[p]), p, rows.start[p], rows.factor[p] if rows.scaled else 1.0
    while left > 0:
        end = min(k + left, rows.start[segment + 1])
        left -= end - k
        while k < end:
            other, short = np.int64(rows.places[2 * k]), rows.places[2 * k + 1]
            if other >= 0:
                count = share_of(rows.share[k]) if rows.scaled else 1.0
                value = np.float64(np.int32(short).view(np.float32)) * count
            else:
                other, count = -1 - other, count_of(short, rows.long_count, k)
                k += 1
                if k == end:  # the second place is the first one of the next segment
                    segment, k, _ = next_place(rows, segment, k, k)
                    end, left = k + 1, left - 1
                value = rows.stored[k]
            k += 1
            length = enter(rows, room, other, value, count, scale, length, c, base)
        segment, k, _ = next_place(rows, segment, k, rows.start[segment + 1])
    return length


@bare_inside
def add_even(rows, room, p, length, c, base):
    """Add the entries of p, all of two places, to the row in ``room`` of cluster c; return its new length."""
    left, segment, scale = np.int64(rows.used[p]), p, rows.factor[p] if rows.scaled else 1.0
    while left > 0:
        begin, last = rows.start[segment], rows.start[segment + 1]
        for k in range(begin, min(begin + left, last) - 1, 2):
            other, count = np.int64(rows.places[2 * k]), count_of(rows.places[2 * k + 1], rows.long_count, k)
            length = enter(rows, room, other, rows.stored[k + 1], count, scale, length, c, base)
        left -= last - begin
        segment = np.int64(rows.following[segment])
    return length


@bare_inlined
def places_for(room, length, scaled):
    """Return how many places the row in ``room`` takes if it is brief."""
    places = length
    for e in range(length):
        places += code_of(room.stored[e], room.count[e], scaled) < 0
    return places


@bare_inlined
def put_brief(to, k, room, e, code):
    """Write an entry of ``room`` into place k: one edge with its byte, or the first half of an entry."""
    if code < 0:
        to.places[2 * k] = -1 - room.other[e]
        put_count(to.places, 2 * k + 1, to.long_count, k, room.count[e])
    else:
        distance = np.float32(room.stored[e] / room.count[e])
        to.places[2 * k], to.places[2 * k + 1] = room.other[e], distance.view(np.int32)
        if to.scaled and to.share[k] != code:  # zeros that are only read take no memory
            to.share[k] = code


@bare_inlined
def put_even(to, k, room, e):
    """Write an entry of ``room`` into two places from k on."""
    to.places[2 * k], to.stored[k + 1] = room.other[e], room.stored[e]
    put_count(to.places, 2 * k + 1, to.long_count, k, room.count[e])


@bare_inside
def write_brief(rows, room, c, length):
    """Write the row in ``room`` back to the segments of cluster c; segments that stay empty are forgotten.

    Tells whether they have places enough; if not, they hold nothing of use.
    """
    segment, k, last, used = c, rows.start[c], rows.start[c + 1], 0
    for e in range(length):
        code = code_of(room.stored[e], room.count[e], rows.scaled)
        segment, k, last = next_place(rows, segment, k, last)
        if segment < 0:
            return False
        put_brief(rows, k, room, e, code)
        k, used = k + 1, used + 1
        if code < 0:
            segment, k, last = next_place(rows, segment, k, last)
            if segment < 0:
                return False
            rows.stored[k] = room.stored[e]
            k, used = k + 1, used + 1
    rows.used[c] = used
    rows.following[segment], rows.last[c] = -1, segment
    return True


@bare_inside
def write_even(rows, room, c, length):
    """Write the row in ``room`` back to the segments of cluster c, two places for every entry, if they have so many.

    Tells whether they have. A segment's last place may be left over; it counts among those that are used.
    """
    segment, pairs = c, length
    while pairs > 0 and segment >= 0:
        pairs -= (rows.start[segment + 1] - rows.start[segment]) >> 1
        segment = np.int64(rows.following[segment])
    if pairs > 0:
        return False
    segment, k, last, before = c, rows.start[c], rows.start[c + 1], 0
    for e in range(length):
        while k + 2 > last:
            before += last - rows.start[segment]
            segment = np.int64(rows.following[segment])
            k, last = rows.start[segment], rows.start[segment + 1]
        put_even(rows, k, room, e)
        k += 2
    rows.used[c] = before + k - rows.start[segment]
    rows.following[segment], rows.last[c] = -1, segment
    return True


@bare_inlined
def write_short(rows, room, c, length):
    """Write the row in ``room`` back to the segments of cluster c as long as it has room there, and tell whether."""
    if write_even(rows, room, c, length):
        rows.form[c] = EVEN
    elif write_brief(rows, room, c, length):
        rows.form[c] = BRIEF
    else:
        rows.form[c] = WIDE
    return rows.form[c] != WIDE


@bare_inside
def store_short(room, length, to, at, form):
    """Write the row in ``room`` to places from ``at`` on; return how many it takes."""
    k = at
    for e in range(length):
        if form == EVEN:
            put_even(to, k, room, e)
            k += 2
            continue
        code = code_of(room.stored[e], room.count[e], to.scaled)
        put_brief(to, k, room, e, code)
        k += 1
        if code < 0:
            to.stored[k] = room.stored[e]
            k += 1
    return k - at


@bare_inlined
def ask_for_leader(rows, room, k):
    """Ask for what is known of the cluster that place k leads to; the second place of an entry leads nowhere."""
    other = np.int64(rows.places[2 * k])
    other = max(other, -1 - other)
    if other < len(rows.leader):
        fetch(rows.leader, other)
        fetch(rows.weight, other)
        fetch(rows.factor, other)
        fetch(room.place, other)
