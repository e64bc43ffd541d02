/* Short lists that prove who is nearest. See folding.c.

   The list of a cluster holds some others, and everyone who is not in it is at least the *radius* away. A distance in it
   is exact, or a lower bound: joins elsewhere never bring anybody nearer than the nearer of the two parts was (reducible
   criteria). So only entries that may be the nearest are computed anew. When the nearest is inside the radius it is
   proven; else the cluster is *unsure*, and is searched.
*/

#ifndef RELIAC_SHORTLISTS_H
#define RELIAC_SHORTLISTS_H

#include "folding.h"

#define TRIES 16        /* ... to find a limit */
#define MOST_LISTED 256 /* more entries than a list has room for */

/* --- making a list of many candidates --- */

static inline Entry *list_of(const Folding *f, int64_t p) { return f->lists + p * 2 * (f->length + 1); }

static inline int comes_before(Entry one, Entry other)
{
    return one.distance < other.distance || (one.distance == other.distance && one.other < other.other);
}

/* Bring the ``kept`` nearest of ``count`` entries to the front: quickselect, of what is left the middle one splits. */
static void nearest_first(Entry *list, int64_t count, int64_t kept)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        Entry middle = list[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (comes_before(list[i], middle)) i++;
            while (comes_before(middle, list[j])) j--;
            if (i > j) break;
            Entry one = list[i];
            list[i++] = list[j];
            list[j--] = one;
        }
        if (kept <= j)
            high = j;
        else if (kept >= i)
            low = i;
        else
            return;
    }
}

/* Find a limit that at least ``kept`` of ``count`` distances are within, and at most ``most``; INFINITY if there was none
   after a few tries. Distances are only counted, which is much quicker than to put them in order. */
FOR_ALL_PROCESSORS static double limit_of_some(const double *restrict distance, int64_t count, int64_t kept, int64_t most)
{
    double low = 0.0, high = INFINITY, limit = distance[count / 2] < INFINITY ? distance[count / 2] : distance[0];
    for (int round = 0; round < TRIES; round++) {
        int64_t within = 0;
        for (int64_t k = 0; k < count; k++) within += distance[k] <= limit;
        if (within >= kept && within <= most) return limit;
        if (within < kept)
            low = limit;
        else
            high = limit;
        limit = high == INFINITY ? 1.5 * low : 0.4 * low + 0.6 * high;
    }
    return INFINITY;
}

/* Make room in a full list: the nearest ``kept`` stay, and a few more. Returns a limit that all of them are within. */
static double make_place(Entry *list, int32_t *count, int64_t kept)
{
    double distance[MOST_LISTED], limit;
    int64_t full = *count, left = 0;
    for (int64_t k = 0; k < full; k++) distance[k] = list[k].distance;
    limit = limit_of_some(distance, full, kept, kept + kept / 4);
    if (limit == INFINITY) { /* many are as near as each other */
        nearest_first(list, full, kept);
        limit = list[0].distance;
        for (int64_t k = 1; k < kept; k++) limit = list[k].distance > limit ? list[k].distance : limit;
        *count = (int32_t)kept;
        return limit;
    }
    for (int64_t k = 0; k < full; k++) {
        list[left] = list[k];
        left += distance[k] <= limit;
    }
    *count = (int32_t)left;
    return limit;
}

/* Enter one more candidate. When there is no more room those that are not among the nearest go, and the limit falls. */
static inline void enter(Folding *f, int64_t p, int64_t other, double distance)
{
    Entry *list = list_of(f, p);
    int64_t kept = f->length + 1;
    list[f->count[p]++] = (Entry){distance, (int32_t)other, (int32_t)seen(&f->level)};
    if (f->count[p] == 2 * kept) f->limit[p] = make_place(list, &f->count[p], kept);
}

/* Cut a list: who is dropped is at least as far as the nearest of them. */
static void cut_list(Folding *f, int64_t p)
{
    Entry *list = list_of(f, p);
    int64_t count = f->count[p];
    if (count <= f->length) return;
    nearest_first(list, count, f->length);
    for (int64_t k = f->length; k < count; k++)
        if (list[k].distance < f->radius[p]) f->radius[p] = list[k].distance;
    f->count[p] = (int32_t)f->length;
}

/* After all were searched the list holds everyone, or the nearest; these are exact, so they tell who is nearest. */
static void finish_list(Folding *f, int64_t p)
{
    const Entry *list = list_of(f, p);
    double best = INFINITY;
    f->radius[p] = INFINITY;
    cut_list(f, p);
    for (int64_t k = 0; k < f->count[p]; k++) {
        if (list[k].distance < best) {
            best = list[k].distance;
            f->near[p] = list[k].other;
            f->tied[p] = 0;
        } else if (list[k].distance == best) {
            f->tied[p] = 1;
        }
    }
    f->best[p] = best;
    f->unsure[p] = 0;
}

/* --- bounds --- */

/* A distance, made larger by more than rounding can be: sums of up to n numbers, and where spreads are taken off the
   terms can be as large as the largest squared distance. */
static inline double widened(const Folding *f, int64_t p, double distance)
{
    if (!f->criterion.sums) return distance;
    if (!f->criterion.offset) return distance * (1.0 + f->slack);
    return distance + f->slack * f->weight[p];
}

/* The bound that follows for a new cluster from bounds for its two parts, which are ``apart`` from each other. ``weight``:
   of the third cluster, 0 for any. The rule is that of the distances themselves; see group_radius in
   engines/lists/levels.py. */
static double joined_bound(const Criterion *criterion, double one_weight, double one, double other_weight, double other,
                           double apart, double weight)
{
    double both = one_weight + other_weight, lightest, heaviest;
    if (!criterion->sums) return one > other ? one : other;
    if (criterion->joint > 0.0) return 0.5 * one + 0.5 * other;
    if (!criterion->offset) return (one_weight * one + other_weight * other) / both;
    if (one <= 0.0 || other <= 0.0) return 0.0; /* a squared distance below 0 counts as 0, so 0 tells nothing */
    if (one == INFINITY || other == INFINITY) return INFINITY;
    if (weight > 0.0)
        return ((one_weight + weight) * one + (other_weight + weight) * other - weight * apart) / (both + weight);
    lightest = ((one_weight + 1.0) * one + (other_weight + 1.0) * other - apart) / (both + 1.0);
    heaviest = one + other - apart;
    return lightest < heaviest ? lightest : heaviest;
}

/* --- lists from level to level --- */

static inline int is_exact(const Folding *f, Entry entry)
{
    return entry.since >= f->born[entry.other] && f->owner[entry.other] == entry.other;
}

static inline void drop(Folding *f, int64_t p, int64_t k)
{
    Entry *list = list_of(f, p);
    list[k] = list[--f->count[p]];
}

/* Follow entry k to the cluster it is in now, and compute its distance; other entries for that cluster go. */
static void make_exact(Folding *f, Hand *hand, int64_t p, int64_t k)
{
    Entry *list = list_of(f, p);
    int64_t other = f->owner[list[k].other];
    double distance;
    for (int64_t i = f->count[p] - 1; i >= 0; i--) {
        if (i == k || f->owner[list[i].other] != other) continue;
        if (k == f->count[p] - 1) k = i; /* the last one takes its place */
        drop(f, p, i);
    }
    distance = distance_of_stored(f, stored_pair(f, hand, p, other), p, other);
    if (distance < f->radius[p])
        list[k] = (Entry){distance, (int32_t)other, (int32_t)seen(&f->level)};
    else
        drop(f, p, k);
}

/* Find out who is nearest to p, or that its list does not tell. */
static void refresh(Folding *f, Hand *hand, int64_t p)
{
    const Entry *list = list_of(f, p);
    for (;;) {
        double best = INFINITY, reach;
        int64_t nearest = NONE, doubtful = NONE, count = f->count[p];
        for (int64_t k = 0; k < count; k++) {
            if (list[k].distance >= best) continue;
            best = list[k].distance;
            nearest = k;
        }
        f->unsure[p] = 1;
        if (nearest == NONE) return;
        if (!is_exact(f, list[nearest])) {
            make_exact(f, hand, p, nearest);
            continue;
        }
        f->best[p] = best;
        f->near[p] = list[nearest].other;
        f->tied[p] = 0;
        reach = widened(f, p, best);
        for (int64_t k = 0; k < count && doubtful == NONE; k++) {
            if (k == nearest || list[k].distance > reach) continue;
            if (!is_exact(f, list[k]))
                doubtful = k;
            else if (list[k].distance == best)
                f->tied[p] = 1;
        }
        if (doubtful == NONE) {
            f->unsure[p] = reach >= f->radius[p];
            return;
        }
        make_exact(f, hand, p, doubtful);
    }
}

/* Make the list of a new cluster: everyone in the lists of its two parts, with bounds. */
static void join_lists(Folding *f, Hand *hand, int64_t p)
{
    const Criterion *criterion = &f->criterion;
    int64_t parts[2] = {p, f->second[p]}, found = 0, kept = 0;
    double weights[2] = {f->first_weight[p], f->weight[parts[1]]}, apart = f->joined_at[p];
    double radii[2] = {f->radius[p], f->radius[parts[1]]};
    Entry *both = (Entry *)hand->sums, *list = list_of(f, p); /* room: distances to the first part ... */
    double *other = hand->other;                             /* ... and to the second */
    for (int side = 0; side < 2; side++) {
        const Entry *old = list_of(f, parts[side]);
        for (int64_t k = 0; k < f->count[parts[side]]; k++) {
            int32_t cluster = f->owner[old[k].other], at = hand->mark[cluster];
            double *bound;
            if (cluster == p) continue;
            if (at == NONE) {
                at = hand->mark[cluster] = (int32_t)found++;
                both[at] = (Entry){radii[0], cluster, NONE};
                other[at] = radii[1];
            }
            bound = side == 0 ? &both[at].distance : &other[at];
            if (old[k].distance < *bound) *bound = old[k].distance;
        }
    }
    f->radius[p] = joined_bound(criterion, weights[0], radii[0], weights[1], radii[1], apart, 0.0);
    for (int64_t k = 0; k < found; k++) {
        int32_t cluster = both[k].other;
        hand->mark[cluster] = NONE;
        both[k].distance = joined_bound(criterion, weights[0], both[k].distance, weights[1], other[k], apart,
                                        f->weight[cluster]);
        if (both[k].distance < f->radius[p]) list[kept++] = both[k];
    }
    f->count[p] = (int32_t)kept;
    cut_list(f, p);
}

#endif
