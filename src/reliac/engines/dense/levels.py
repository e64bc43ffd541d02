"""A square matrix of stored numbers, reduced in place level by level: the compiled side of the dense engine.

Clusters go by place, their row and column in the matrix, in the order of their first objects. Places of clusters
that are gone hold infinity, and when many are gone the matrix is packed. Rows are padded to whole chunks, so that
every pass over a row runs in vector instructions.
"""

from __future__ import annotations

import numpy as np

from ...algorithm.links import Links
from ..compiled.formulas import ADD, MAXIMUM, MINIMUM, from_sums, shares_of_parts
from ..compiled.loading import bare_inlined, bare_inside, compiled, inside
from ..compiled.scanning import nearest_in
from ..compiled.sorting import some_of, with_room
from ..compiled.step import choose_links, groups_of
from .filling import padded_width
from .square import LEVEL, N_ALIVE, N_LINKS, N_PLACES, N_SEARCHED, WIDTH, distances_of
from .ties import choose_from_rows

#: Pack the matrix when this share of its places is left.
PACK = 0.7

#: Numbers of a row that are read in the time of one in a column.
STRIDE = 16

#: More links than this for every place are not listed any more.
MANY_TIES = 16

#: Fewer places than this are not packed any more.
FEWEST = 64

#: Marks of places: no cluster any more; nothing changed; the nearest was joined; a new cluster.
FREE, KEPT, LEFT, NEW = -1, 0, 1, 2


@bare_inside
def meet(best, nearest, tied, r, values, tie_factor):
    """Tell all others how near a new cluster is: it may be nearer than their nearest, or as near."""
    hits = 0
    for c in range(len(values)):
        hits += values[c] <= best[c] * tie_factor
    if not hits:
        return
    for c in range(len(values)):
        if values[c] <= best[c] * tie_factor and values[c] < np.inf:
            nearer = values[c] < best[c]
            tied[c] = not nearer or tie_factor > 1.0
            if nearer:
                best[c], nearest[c] = values[c], r


@inside
def search_row(square, steps, r, tie_factor):
    """Find the nearest of one cluster; if it is new, let it meet the others. O(width)."""
    best, nearest, tied = square.best, square.nearest, square.tied
    values = distances_of(square, r, steps.counters[WIDTH], steps.row)
    best[r], nearest[r], tied[r] = nearest_in(values, tie_factor, steps.scratch)
    if steps.mark[r] == NEW:
        meet(best, nearest, tied, r, values, tie_factor)
    steps.mark[r] = KEPT
    steps.searched[steps.counters[N_SEARCHED]] = r
    steps.counters[N_SEARCHED] += 1


@compiled
def search_all(square, steps, tie_factor):
    """Search the rows of all clusters: how the levels begin."""
    steps.counters[N_SEARCHED] = 0
    for r in range(steps.counters[N_PLACES]):
        if steps.mark[r] != FREE:
            steps.mark[r] = KEPT
            search_row(square, steps, r, tie_factor)


@inside
def rows_to_look_at(square, steps, alpha):
    """Return the clusters whose links may be taken: those just searched, or all; for the smallest link only its first.

    With alpha = 1 a link between two clusters that were not searched was there at the level before, and was taken.
    """
    counters, best = steps.counters, square.best
    if alpha == 1.0:
        return steps.searched[: counters[N_SEARCHED]]
    rows, count, smallest = np.empty(counters[N_PLACES], np.int64), 0, np.inf
    for r in range(len(rows)):
        if best[r] == -np.inf or (alpha == 0.0 and best[r] >= smallest):
            continue
        if alpha == 0.0:
            count, smallest = 0, best[r]
        rows[count] = r
        count += 1
    return rows[:count]


@inside
def nearest_links(square, steps, rows, tie_factor):
    """Return the links of some clusters that are as near as the nearest of both sides, and whether these are all.

    Some may come twice. Where ties are many, the rest is left out.
    """
    width, n = steps.counters[WIDTH], steps.counters[N_PLACES]
    best, tied, looked, stamp = square.best, square.tied, square.looked, steps.counters[LEVEL] + 1
    p, q, d, count = np.empty(2 * len(rows), np.int64), np.empty(2 * len(rows), np.int64), np.empty(2 * len(rows)), 0
    for r in rows:
        looked[r] = stamp
    for r in rows:
        if not tied[r]:
            c = square.nearest[r]
            if c >= 0 and best[r] <= best[c] * tie_factor:
                p[count], q[count], d[count] = min(r, c), max(r, c), best[r]
                count += 1
            continue
        values, bound = distances_of(square, r, width, steps.row), best[r] * tie_factor
        if count > MANY_TIES * n:
            return Links(p[:count], q[:count], d[:count]), False
        if count + n > len(p):
            more = len(p) + n
            p, q, d = with_room(p, count, more), with_room(q, count, more), with_room(d, count, more)
        for c in range(n):
            told_by_c = c < r and tied[c] and looked[c] == stamp
            if values[c] <= bound and values[c] <= best[c] * tie_factor and not told_by_c:
                p[count], q[count], d[count] = min(r, c), max(r, c), values[c]
                count += 1
    return Links(p[:count], q[:count], d[:count]), True


@inside
def share_parts(square, parts, bounds):
    """Return the factor of every part in its group's sums; the weights of groups follow."""
    factors = np.empty(len(parts))
    for g in range(len(bounds) - 1):
        group, factor = parts[bounds[g] : bounds[g + 1]], factors[bounds[g] : bounds[g + 1]]
        total = 0.0
        for a in range(len(group)):
            factor[a] = 1.0
            total += square.weight[group[a]]
        if square.equal_parts:
            shares, total = shares_of_parts(some_of(square.weight, group))
            for a in range(len(group)):
                factor[a] = shares[a]
        square.weight[group[0]] = total
    return factors


@bare_inside
def spread_parts(square, group, factor, between, width):
    """Sum up what lies between the parts of a group, and inside them: the spread of the group follows.

    ``between``: the place of the part whose row has the number of two parts; -1 if every row has.
    """
    stored, spread, inside = square.stored, square.spread, 0.0
    if square.offset:
        for a in range(len(group)):
            inside += factor[a] * factor[a] * spread[group[a]]
            for b in range(a):
                i, j = (group[b], group[a]) if between == group[b] else (group[a], group[b])
                inside += 2.0 * factor[a] * factor[b] * stored[i * width + j]
    spread[group[0]] = inside


@bare_inlined
def smaller(a, b):
    """Return the smaller of two distances; an infinite one, a forbidden link, counts more than any other."""
    return max(a, b) if max(a, b) == np.inf else min(a, b)


@bare_inside
def reduce_rows(square, parts, bounds, factors, width):
    """Reduce the rows of every group's parts to the row of its first."""
    stored = square.stored
    for g in range(len(bounds) - 1):
        head = parts[bounds[g]]
        row, f = stored[head * width : (head + 1) * width], factors[bounds[g]]
        for k in range(bounds[g] + 1, bounds[g + 1]):
            other, e = stored[parts[k] * width : (parts[k] + 1) * width], factors[k]
            if square.reduction == MAXIMUM:
                for c in range(width):
                    row[c] = other[c] if other[c] > row[c] else row[c]
            elif square.reduction == MINIMUM:
                for c in range(width):
                    row[c] = smaller(row[c], other[c])
            else:
                for c in range(width):
                    row[c] = f * row[c] + e * other[c]
                f = 1.0


@bare_inside
def reduce_pairs(row, first, second, factors, reduction, plain):
    """Reduce the columns of pairs in one row; the second of a pair becomes free."""
    if reduction == MINIMUM:
        for k in range(len(first)):
            row[first[k]], row[second[k]] = smaller(row[first[k]], row[second[k]]), np.inf
    elif reduction == MAXIMUM:
        for k in range(len(first)):
            a, b = row[first[k]], row[second[k]]
            row[first[k]], row[second[k]] = a if a > b else b, np.inf
    elif plain:
        for k in range(len(first)):
            row[first[k]] += row[second[k]]
            row[second[k]] = np.inf
    else:
        for k in range(len(first)):
            row[first[k]] = factors[2 * k] * row[first[k]] + factors[2 * k + 1] * row[second[k]]
            row[second[k]] = np.inf


@bare_inside
def reduce_groups(row, parts, bounds, factors, reduction):
    """Reduce the columns of groups of any size in one row."""
    for g in range(len(bounds) - 1):
        head = parts[bounds[g]]
        total = factors[bounds[g]] * row[head]
        for k in range(bounds[g] + 1, bounds[g + 1]):
            value = factors[k] * row[parts[k]]
            if reduction == ADD:
                total += value
            else:
                total = smaller(total, value) if reduction == MINIMUM else max(total, value)
            row[parts[k]] = np.inf
        row[head] = total


@inside
def renew_rows(square, steps, limits, parts, bounds, factors, tie_factor):
    """Reduce the columns of groups in every row, and search it, if it has to be, while it is in the cache.

    The number of two groups is taken from the row of the earlier one, so that both sides have the same bits.
    """
    stored, width, groups, g = square.stored, steps.counters[WIDTH], len(bounds) - 1, 0
    pairs = len(parts) == 2 * groups
    first, second = np.empty(groups, np.uint32), np.empty(groups, np.uint32)  # unsigned: no check for negative indices
    for k in range(groups):
        first[k], second[k] = parts[bounds[k]], parts[bounds[k] + 1]
    steps.counters[N_SEARCHED] = 0
    for r in range(steps.counters[N_PLACES]):
        if steps.mark[r] == FREE:
            continue
        row = stored[r * width : (r + 1) * width]
        if pairs:
            reduce_pairs(row, first, second, factors, square.reduction, not square.equal_parts)
        else:
            reduce_groups(row, parts, bounds, factors, square.reduction)
        if steps.mark[r] == NEW:
            for k in range(g):
                row[first[k]] = stored[first[k] * width + r]
            g += 1
        if limits.active:
            places = steps.counters[N_PLACES] if steps.mark[r] == NEW else 0
            forbid_large(square.slot, limits, row, r, places, first)
        if steps.mark[r] == LEFT and (pairs or not square.offset) and still_nearest(square, steps, r):
            steps.mark[r] = KEPT
        if steps.mark[r] != KEPT:
            search_row(square, steps, r, tie_factor)


@bare_inside
def forbid_large(slot, limits, row, r, places, heads):
    """Make links of r infinitely long that would join too many objects: to the first places, and to new clusters."""
    size, most = limits.size, limits.max_size
    own = size[slot[r]]
    for c in range(places):
        if own + size[slot[c]] > most:
            row[c] = np.inf
    for c in heads:
        if own + size[slot[c]] > most:
            row[c] = np.inf


@bare_inside
def still_nearest(square, steps, r):
    """Tell whether the nearest of r, now joined, is as near as it was, and so still the nearest.

    True only of criteria whose joins come no closer to others than their parts were; under ties it saves most searches.
    """
    if not square.reducible:
        return False
    c = square.nearest[r]
    if steps.mark[c] == FREE:
        c = square.nearest[c]  # the first of its group
    distance = square.stored[r * steps.counters[WIDTH] + c]
    if square.reduction == ADD:
        w, s = square.weight, square.spread
        distance = from_sums(distance, s[r], s[c], w[r], w[c], square.offset, square.by_size)
    if distance > square.best[r]:
        return False
    square.best[r], square.nearest[r] = distance, c
    return True


@compiled
def join_groups(square, steps, limits, parts, bounds, tie_factor):
    """Join groups of clusters, and find the nearest of all whose nearest may have changed. O(places) for each group.

    ``limits``: what is forbidden.
    """
    counters, mark, best = steps.counters, steps.mark, square.best
    factors = share_parts(square, parts, bounds)
    for g in range(len(bounds) - 1):
        some = slice(bounds[g], bounds[g + 1])
        spread_parts(square, parts[some], factors[some], np.int64(-1), counters[WIDTH])
    reduce_rows(square, parts, bounds, factors, counters[WIDTH])
    for k in range(len(parts)):
        mark[parts[k]] = NEW
    for r in range(counters[N_PLACES]):
        if mark[r] == KEPT and square.nearest[r] >= 0 and mark[square.nearest[r]] == NEW:
            mark[r] = LEFT
    for g in range(len(bounds) - 1):
        best[parts[bounds[g]]] = -np.inf  # not to be met before it is searched
        for k in range(bounds[g] + 1, bounds[g + 1]):
            r = parts[k]
            mark[r], square.weight[r], square.spread[r], best[r] = FREE, 1.0, 0.0, -np.inf
            square.nearest[r] = parts[bounds[g]]
    counters[N_ALIVE] -= len(parts) - len(bounds) + 1
    renew_rows(square, steps, limits, parts, bounds, factors, tie_factor)
    return (counters[N_SEARCHED] + len(parts)) * counters[WIDTH] + STRIDE * counters[N_PLACES]


@inside
def places_left(steps):
    """Return the places that are not free, and what each place becomes when the gaps are closed; -1 if it is free."""
    kept, m = np.empty(steps.counters[N_ALIVE], np.uint32), 0  # unsigned: no check for negative indices
    becomes = np.empty(steps.counters[N_PLACES], np.int64)
    for r in range(len(becomes)):
        becomes[r] = -1
        if steps.mark[r] != FREE:
            becomes[r], kept[m] = m, r
            m += 1
    return kept, becomes


@bare_inside
def pack_row(stored, kept, i, width, narrow):
    """Move the numbers of one row to their new places: they only ever move towards the front."""
    r = np.int64(kept[i])
    row, target = stored[r * width : (r + 1) * width], stored[i * narrow : (i + 1) * narrow]
    for j in range(len(kept)):
        target[j] = row[kept[j]]
    for j in range(len(kept), narrow):
        target[j] = np.inf


@bare_inside
def close_gaps(square, steps, kept, becomes):
    """Move what is known of clusters to their new places, after their rows."""
    counters, m = steps.counters, len(kept)
    for i in range(m):
        r = kept[i]
        square.slot[i], square.weight[i], square.spread[i] = square.slot[r], square.weight[r], square.spread[r]
        nearest = square.nearest[r]
        square.best[i], square.tied[i] = square.best[r], square.tied[r]
        square.nearest[i] = becomes[nearest] if nearest >= 0 else -1
        square.looked[i], steps.mark[i] = 0, KEPT
    for i in range(m, counters[WIDTH]):
        square.best[i], square.weight[i], square.spread[i] = -np.inf, 1.0, 0.0
    for k in range(counters[N_SEARCHED]):
        steps.searched[k] = becomes[steps.searched[k]]
    counters[N_PLACES], counters[WIDTH] = m, padded_width(m)


@inside
def pack(square, steps):
    """Close the gaps that joined clusters have left, in place. O(n^2)."""
    kept, becomes = places_left(steps)
    narrow = padded_width(len(kept))
    for i in range(len(kept)):
        pack_row(square.stored, kept, i, steps.counters[WIDTH], narrow)
    close_gaps(square, steps, kept, becomes)


@compiled
def advance(square, steps, rules, leader, patience):
    """Run levels until the rules say stop, or until about ``patience`` numbers were read; tell whether all is done."""
    counters, done = steps.counters, 0
    while done <= patience:
        left = counters[N_ALIVE] - rules.n_clusters
        if left <= 0 or counters[LEVEL] >= rules.max_level:
            return True
        rows = rows_to_look_at(square, steps, rules.alpha)
        links, all_of_them = nearest_links(square, steps, rows, rules.tie_factor)
        if all_of_them:
            links = choose_links(links, square.slot, rules, leader, left)
        else:
            links = choose_from_rows(square, steps, rules, leader, left)
        if len(links.p) == 0:
            return True
        counters[LEVEL] += 1
        for k in range(len(links.p)):
            at = counters[N_LINKS] + k
            steps.p[at], steps.q[at] = square.slot[links.p[k]], square.slot[links.q[k]]
            steps.distance[at], steps.level[at] = links.distance[k], counters[LEVEL]
        counters[N_LINKS] += len(links.p)
        parts, bounds = groups_of(links, square.slot, leader)
        done += join_groups(square, steps, rules.limits, parts, bounds, rules.tie_factor)
        if counters[N_ALIVE] < PACK * counters[N_PLACES] and counters[N_PLACES] > FEWEST:
            pack(square, steps)
    return False
