"""The smallest values of long runs of numbers, and where they are; what every search comes down to."""

from __future__ import annotations

import numpy as np

from .formulas import row_start
from .loading import bare, bare_inlined, bare_inside
from .sorting import insert

#: Values compared at once: a run of fixed length becomes vector instructions, one of varying length does not.
CHUNK, EIGHTH = 64, 8

#: One in so many entries is in the sample that tells how near the nearest of an object are: the third smallest of the
#: sample is about the 24th of all. Fewer entries than wanted only make a list shorter.
EVERY, SAMPLED = 8, 3

#: Entries noted of an object before the limit is lowered.
ROOM = 40


@bare_inside
def scan_values(values, first, own, bound, place):
    """Keep the smallest of a run of values, but for the one at ``own``.

    A chunk is compared as a whole; in one that holds a small value, so are its eighths, and only then single values.
    """
    last = len(bound) - 1
    for start in range(0, len(values), CHUNK):
        chunk, threshold, hits = values[start : start + CHUNK], bound[last], 0
        if len(chunk) == CHUNK:
            for j in range(CHUNK):
                hits += chunk[j] < threshold
            if not hits:
                continue
        for begin in range(0, len(chunk), EIGHTH):
            part, threshold, hits = chunk[begin : begin + EIGHTH], bound[last], 0
            if len(part) == EIGHTH:
                for j in range(EIGHTH):
                    hits += part[j] < threshold
                if not hits:
                    continue
            for j in range(len(part)):
                where = first + start + begin + j
                if part[j] < bound[last] and where != own:
                    insert(bound, place, 0, last, part[j], where)


@bare
def sample_rows(base, n, first, stop, bound, place):
    """The smallest entries of a sample of rows ``first`` to ``stop`` of a condensed matrix, seen from both sides.

    Of every row one short run in EVERY is read, and of every column one row in EVERY: a sample of the same share for
    all objects. What it keeps of an object, a few entries, tells how near its nearest are: see :func:`scan_condensed`.
    """
    last = bound.shape[1] - 1
    for i in range(first, stop):
        at = row_start(n, i)
        values = base[at : at + n - i - 1]
        sample_run(values, i % EVERY * EIGHTH, i + 1, -1, bound[i], place[i])
        if i % EVERY:
            continue
        for start in range(0, len(values), EIGHTH):
            part = values[start : start + EIGHTH]
            for c in range(len(part)):
                j = i + 1 + start + c
                if part[c] < bound[j, last]:
                    insert(bound[j], place[j], 0, last, part[c], i)


@bare_inside
def sample_run(values, begin, first, own, bound, place):
    """Keep the smallest of one short run in EVERY, but for the value at ``own``."""
    last = len(bound) - 1
    for start in range(begin, len(values) - EIGHTH + 1, EVERY * EIGHTH):
        part, threshold, hits = values[start : start + EIGHTH], bound[last], 0
        for c in range(EIGHTH):
            hits += part[c] < threshold
        if hits:
            for c in range(EIGHTH):
                where = first + start + c
                if part[c] < bound[last] and where != own:
                    insert(bound, place, 0, last, part[c], where)


@bare_inside
def note(bound, place, count, limit, x, value, where, length):
    """Note an entry of object x. Where there is no room, keep the ``length`` smallest; the last is the new limit."""
    if count[x] == bound.shape[1]:
        values, places = bound[x], place[x]
        for e in range(1, len(values)):
            insert(values, places, 0, e, values[e], places[e])
        count[x] = length
        limit[x] = min(limit[x], values[length - 1])
        if not value < limit[x]:
            return
    bound[x, count[x]], place[x, count[x]] = value, where
    count[x] += 1


@bare
def scan_square(base, n, first, length, bound, place, count, near, near_place):
    """Note the smallest entries of rows ``first``, first + 1, ... of a square matrix; see :func:`scan_condensed`.

    The limit of a row is the last entry that ``near`` (rows, SAMPLED) keeps of a sample of it.
    """
    limit = near[:, SAMPLED - 1]
    for x in range(len(bound)):
        i = first + x
        values = base[i * n : (i + 1) * n]
        sample_run(values, i % EVERY * EIGHTH, 0, i, near[x], near_place[x])
        for start in range(0, n, CHUNK):
            chunk, own, hits = values[start : start + CHUNK], limit[x], 0
            if len(chunk) == CHUNK:
                for j in range(CHUNK):
                    hits += chunk[j] < own
                if not hits:
                    continue
            for j in range(len(chunk)):
                if chunk[j] < limit[x] and start + j != i:
                    note(bound, place, count, limit, x, chunk[j], start + j, length)


@bare
def scan_condensed(base, n, first, stop, length, bound, place, count, limit):
    """Note for all objects the entries below their limits, from rows ``first`` to ``stop`` of a condensed matrix.

    ``limit`` (n,): an estimate from a sample of how far about ``length`` entries reach. Where more are found than
    there is room for, the limit falls. Threads share the limits and may write them at the same time: a limit that is
    too high costs time only, and the smallest ``length`` entries are below all of them.
    """
    for i in range(first, stop):
        at = row_start(n, i)
        values, others = base[at : at + n - i - 1], limit[i + 1 :]
        for start in range(0, len(values), CHUNK):
            own, chunk, limits, hits = limit[i], values[start : start + CHUNK], others[start : start + CHUNK], 0
            if len(chunk) == CHUNK:
                for j in range(CHUNK):
                    hits += chunk[j] < (own if own > limits[j] else limits[j])
                if not hits:
                    continue
            for begin in range(0, len(chunk), EIGHTH):
                part, parts_limits, hits = chunk[begin : begin + EIGHTH], limits[begin : begin + EIGHTH], 0
                if len(part) == EIGHTH:
                    for j in range(EIGHTH):
                        hits += part[j] < (own if own > parts_limits[j] else parts_limits[j])
                    if not hits:
                        continue
                for j in range(len(part)):
                    other = i + 1 + start + begin + j
                    if part[j] < limit[i]:
                        note(bound, place, count, limit, i, part[j], other, length)
                    if part[j] < parts_limits[j]:
                        note(bound, place, count, limit, other, part[j], i, length)


@bare
def merge_scans(bound, place, other_bound, other_place):
    """Join two sets of smallest entries."""
    last = bound.shape[1] - 1
    for i in range(len(bound)):
        for e in range(last + 1):
            if other_bound[i, e] < bound[i, last]:
                insert(bound[i], place[i], 0, last, other_bound[i, e], np.int64(other_place[i, e]))


@bare
def sort_found(found, found_place, count, near, near_place, bound, place, first, stop):
    """Sort what threads have found of objects ``first`` to ``stop`` into ``bound`` and ``place``.

    ``found``, ``found_place`` (threads, objects, room), ``count`` (threads, objects). The last entry of an object tells
    how far the others reach, all that are nearer: it is the first of those left out, or the limit from the sample.
    """
    last = bound.shape[1] - 1
    for x in range(first, stop):
        bound[x, :], place[x, :] = np.inf, -1
        for t in range(len(found)):
            for e in range(count[t, x]):
                if found[t, x, e] < bound[x, last]:
                    insert(bound[x], place[x], 0, last, found[t, x, e], np.int64(found_place[t, x, e]))
        if place[x, last] < 0:
            bound[x, last], place[x, last] = near[x, SAMPLED - 1], near_place[x, SAMPLED - 1]


@bare_inside
def smallest_of(values, scratch):
    """Return the smallest of an even number of values, folded in halves: long loops become vector instructions.

    ``scratch``: room for half of them.
    """
    half = len(values) // 2
    low, high = values[:half], values[half:]
    for j in range(half):
        scratch[j] = low[j] if low[j] < high[j] else high[j]
    while half > 1 and half % 2 == 0:
        half //= 2
        low, high = scratch[:half], scratch[half : 2 * half]
        for j in range(half):
            low[j] = low[j] if low[j] < high[j] else high[j]
    smallest = np.inf
    for j in range(half):
        smallest = min(smallest, scratch[j])
    return smallest


@bare_inside
def nearest_in(values, tie_factor, scratch):
    """Return the smallest value, the first place that has it (-1 if it is infinite), and whether others tie."""
    smallest = smallest_of(values, scratch)
    bound, count, where = smallest * tie_factor, 0, 0
    for c in range(len(values)):
        near = values[c] <= bound
        count += near
        where += c * near
    if smallest == np.inf:
        return smallest, -1, False
    if count > 1:  # otherwise the sum of places is the place
        where = 0
        while values[where] > smallest:
            where += 1
    return smallest, where, count > 1


@bare
def squared_gaps(rows, shift, labels, weight, sums, out):
    """Sum for every row x of a cluster of weight w and sum s the squares of w (x_k - shift_k) - s_k.

    Eight sums at a time become vector instructions; the order is fixed, so is every bit.
    """
    d = rows.shape[1]
    whole = d // EIGHTH * EIGHTH
    for i in range(len(rows)):
        row, w, s = rows[i], weight[labels[i]], sums[labels[i]]
        a = b = c = e = f = g = h = o = 0.0
        for k in range(0, whole, EIGHTH):
            a += (w * (row[k] - shift[k]) - s[k]) ** 2
            b += (w * (row[k + 1] - shift[k + 1]) - s[k + 1]) ** 2
            c += (w * (row[k + 2] - shift[k + 2]) - s[k + 2]) ** 2
            e += (w * (row[k + 3] - shift[k + 3]) - s[k + 3]) ** 2
            f += (w * (row[k + 4] - shift[k + 4]) - s[k + 4]) ** 2
            g += (w * (row[k + 5] - shift[k + 5]) - s[k + 5]) ** 2
            h += (w * (row[k + 6] - shift[k + 6]) - s[k + 6]) ** 2
            o += (w * (row[k + 7] - shift[k + 7]) - s[k + 7]) ** 2
        for k in range(whole, d):
            a += (w * (row[k] - shift[k]) - s[k]) ** 2
        out[i] = ((a + b) + (c + e)) + ((f + g) + (h + o))


@bare_inlined
def smaller(x, y):
    """Return the smaller of two numbers: one instruction."""
    return x if x < y else y


@bare_inlined
def keep_two(value, where, label, best, second):
    """Return the place of the smaller of two values, both of them, and the next one: no branch, for many at once."""
    larger = value if value > best else best
    return np.int32(where) if value < best else label, smaller(value, best), smaller(larger, second)


@bare
def two_smallest(products, first, base, share, square, label, best, second):
    """Keep of every column of a block its smallest value and the one after it, with those of the blocks before.

    ``products`` (clusters, rows): of each pair; the value of a pair is the product plus ``base`` of the cluster plus
    its ``share`` of ``square`` (rows,). ``label`` (rows,): the cluster of the smallest; clusters are counted from
    ``first`` on. Columns are independent of each other, so this becomes vector instructions. Of eight clusters only the
    smallest value counts at first; when the block is done, the eight that hold the smallest are looked at once more.
    Cost: one pass.
    """
    whole = len(products) // EIGHTH * EIGHTH
    for q in range(0, whole, EIGHTH):
        at, some, b, s = first + q, products[q : q + EIGHTH], base[first + q :], share[first + q :]
        p1, p2, p3, p4, p5, p6, p7, p8 = some[0], some[1], some[2], some[3], some[4], some[5], some[6], some[7]
        b1, b2, b3, b4, b5, b6, b7, b8 = b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]
        s1, s2, s3, s4, s5, s6, s7, s8 = s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
        for i in range(len(label)):
            x = square[i]
            low = smaller(p1[i] + b1 + s1 * x, p2[i] + b2 + s2 * x)
            two = smaller(p3[i] + b3 + s3 * x, p4[i] + b4 + s4 * x)
            three = smaller(p5[i] + b5 + s5 * x, p6[i] + b6 + s6 * x)
            four = smaller(p7[i] + b7 + s7 * x, p8[i] + b8 + s8 * x)
            value = smaller(smaller(low, two), smaller(three, four))
            label[i], best[i], second[i] = keep_two(value, at, label[i], best[i], second[i])
    for q in range(whole, len(products)):
        one, b1, s1 = products[q], base[first + q], share[first + q]
        for i in range(len(label)):
            label[i], best[i], second[i] = keep_two(
                one[i] + b1 + s1 * square[i], first + q, label[i], best[i], second[i]
            )
    for i in range(len(label)):
        begin = label[i] - first
        if 0 <= begin < whole:
            low, high, found = products[begin, i] + base[label[i]] + share[label[i]] * square[i], second[i], begin
            for q in range(begin + 1, begin + EIGHTH):
                value = products[q, i] + base[first + q] + share[first + q] * square[i]
                found, low, high = keep_two(value, q, np.int32(found), low, high)
            label[i], second[i] = first + found, high
