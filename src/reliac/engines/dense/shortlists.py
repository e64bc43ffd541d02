"""Short lists of the nearest of every cluster, for levels without ties: how they are made and kept (``untied.py``).

A list holds a few clusters with their distances, and a radius: whatever is not in the list is at least that far away,
as the matrix has it. New clusters are entered into the lists of all others that they fall inside of, so nothing is
assumed about the criterion.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..compiled.loading import bare, bare_inside, inside
from ..compiled.sorting import insert
from .filling import CHUNK
from .levels import KEPT
from .square import N_PLACES

#: Entries of a list.
LENGTH = 8

#: Sets of places whose smallest distances tell how far the nearest reach.
SETS = 2 * CHUNK

#: ``distance``, ``place`` (places, LENGTH + 1): the entries, sorted, ``count`` (places,) of them, and room for one.
#: ``radius`` (width,): minus infinity for places that no new cluster is to be entered into; ``reach`` (places,): what
#: it will be for new ones. ``first``, ``second``, ``factors``: the log of joins since the matrix was packed;
#: ``version`` (places,): how many of them a row has seen. ``counts``: see below.
Shortlists = namedtuple("Shortlists", "distance place count radius reach version first second factors counts")

#: Places in Shortlists.counts: the length of the log, and pairs of this level that follow in it.
N_JOINS, N_PAIRS = range(2)

#: New clusters that are nearer than the radius of some others: of each of these the place, and the distance.
Hits = namedtuple("Hits", "place new distance")


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
        counts=np.zeros(2, np.int64),
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
    for j in range(width - whole):
        smallest[j] = values[whole + j] if values[whole + j] < smallest[j] else smallest[j]
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


@bare_inside
def is_tied(lists, r):
    """Tell whether the nearest of a cluster are tied; so many may be that none is in the list."""
    return lists.count[r] == 0 or (lists.count[r] > 1 and lists.distance[r, 0] == lists.distance[r, 1])


@bare_inside
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
    for j in range(width - whole):
        inside = radius[whole + j] - values[whole + j]
        within[j] = inside if inside > within[j] else within[j]
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
