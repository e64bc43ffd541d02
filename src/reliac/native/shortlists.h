/* Short lists that prove who is nearest. See folding.c.

   The list of a cluster holds some others, and everyone who is not in it is at least the *radius* away. A distance in it
   is exact, or a lower bound: joins elsewhere never bring anybody nearer than the nearer of the two parts was (reducible
   criteria). So only entries that may be the nearest are computed anew. When the nearest is inside the radius it is
   proven; else the cluster is *unsure*, and is searched.
*/

#ifndef RELIAC_SHORTLISTS_H
#define RELIAC_SHORTLISTS_H

#include "folding.h"
#include "smallest.h"

#define TRIES 16 /* ... to find a limit */

/* --- making a list of many candidates --- */

static inline List list_of(const Folding *f, int64_t p)
{
    int64_t at = p * 2 * (f->length + 1);
    return (List){f->lists.distance + at, f->lists.other + at, f->lists.since + at};
}

static inline int comes_before(double one, int32_t one_other, double distance, int32_t other)
{
    return one < distance || (one == distance && one_other < other);
}

/* Bring the ``kept`` nearest of ``count`` to the front: quickselect, of what is left the middle one splits. */
static void nearest_first(double *distance, int32_t *other, int64_t count, int64_t kept)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        double middle = distance[low + (high - low) / 2];
        int32_t whose = other[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (comes_before(distance[i], other[i], middle, whose)) i++;
            while (comes_before(middle, whose, distance[j], other[j])) j--;
            if (i > j) break;
            double apart = distance[i];
            int32_t one = other[i];
            distance[i] = distance[j];
            other[i++] = other[j];
            distance[j] = apart;
            other[j--] = one;
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

/* Bring those within a limit to the front. Returns how many they are. */
static int64_t within_first(double *distance, int32_t *other, int64_t count, double limit)
{
    int64_t left = 0;
    for (int64_t k = 0; k < count; k++) {
        double apart = distance[k];
        distance[left] = apart;
        other[left] = other[k];
        left += apart <= limit;
    }
    return left;
}

/* The smallest of some distances beyond a limit. */
FOR_ALL_PROCESSORS static double least_beyond(const double *restrict distance, int64_t count, double limit)
{
    double least = INFINITY;
    SIDE_BY_SIDE(reduction(min : least))
    for (int64_t k = 0; k < count; k++) {
        double apart = distance[k] > limit ? distance[k] : INFINITY;
        least = apart < least ? apart : least;
    }
    return least;
}

/* Fill a list up with distances that nobody looks for: then none is left over when several are looked at together. */
static inline void fill_up(double *distance, int64_t count)
{
    for (int64_t k = count; k < without_rest(count); k++) distance[k] = INFINITY;
}

/* Keep the ``kept`` nearest of ``count``. Returns how many there are; ``radius`` falls to the nearest that is dropped. */
static int64_t cut(double *distance, int32_t *other, int64_t count, int64_t kept, double *radius)
{
    double limit;
    if (count <= kept) return count;
    fill_up(distance, count);
    limit = limit_of_some(distance, without_rest(count), kept, kept);
    if (limit < INFINITY) {
        double least = least_beyond(distance, without_rest(count), limit);
        if (least < *radius) *radius = least;
        return within_first(distance, other, count, limit);
    }
    nearest_first(distance, other, count, kept); /* some are as near as each other */
    for (int64_t k = kept; k < count; k++)
        if (distance[k] < *radius) *radius = distance[k];
    return kept;
}

/* Make room in a full list: the nearest ``kept`` stay, and a few more. Returns a limit that all of them are within. */
static double make_place(double *distance, int32_t *other, int32_t *count, int64_t kept)
{
    double limit = limit_of_some(distance, *count, kept, kept + kept / 4);
    if (limit < INFINITY) {
        *count = (int32_t)within_first(distance, other, *count, limit);
        return limit;
    }
    nearest_first(distance, other, *count, kept); /* many are as near as each other */
    limit = distance[0];
    for (int64_t k = 1; k < kept; k++) limit = distance[k] > limit ? distance[k] : limit;
    *count = (int32_t)kept;
    return limit;
}

/* Enter one more candidate. When there is no more room those that are not among the nearest go, and the limit falls. */
static inline void enter(Folding *f, int64_t p, int64_t other, double distance)
{
    int64_t kept = f->length + 1, at = p * 2 * kept, count = f->count[p]++;
    f->lists.distance[at + count] = distance;
    f->lists.other[at + count] = (int32_t)other;
    if (count + 1 == 2 * kept)
        f->limit[p] = make_place(f->lists.distance + at, f->lists.other + at, &f->count[p], kept);
}

/* After all were searched the list holds everyone within its limit, and maybe others; these are exact, so they tell who is
   nearest. Only the nearest stay. */
static void finish_list(Folding *f, int64_t p)
{
    List list = list_of(f, p);
    int32_t level = (int32_t)seen(&f->level);
    int64_t where, count;
    int again;
    f->radius[p] = f->limit[p];
    f->count[p] = (int32_t)cut(list.distance, list.other, f->count[p], f->length, &f->radius[p]);
    count = f->count[p];
    for (int64_t k = 0; k < count; k++) list.since[k] = level;
    fill_up(list.distance, count);
    f->best[p] = smallest_of(without_rest(count), list.distance, &where, &again);
    f->tied[p] = (unsigned char)again;
    if (count > 0) f->near[p] = list.other[where];
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

static inline int is_exact(const Folding *f, List list, int64_t k)
{
    return list.since[k] >= f->born[list.other[k]] && f->owner[list.other[k]] == list.other[k];
}

static inline void drop(Folding *f, List list, int64_t p, int64_t k)
{
    int64_t last = --f->count[p];
    list.distance[k] = list.distance[last];
    list.distance[last] = INFINITY;
    list.other[k] = list.other[last];
    list.since[k] = list.since[last];
}

/* Whether a list has an entry for a cluster that is no older than that. */
FOR_ALL_PROCESSORS static int32_t is_listed(const int32_t *restrict others, const int32_t *restrict since, int64_t count,
                                            int32_t other, int32_t born)
{
    int32_t listed = 0;
    for (int64_t k = 0; k < count; k++) listed |= (others[k] == other) & (since[k] >= born);
    return listed;
}

/* Follow entry k to the cluster it is in now, and compute its distance; if that is in the list already the entry goes. */
static void make_exact(Folding *f, int64_t p, int64_t k)
{
    List list = list_of(f, p);
    int32_t other = f->owner[list.other[k]], born = f->born[other];
    double distance;
    if (is_listed(list.other, list.since, f->count[p], other, born)) {
        drop(f, list, p, k);
        return;
    }
    distance = distance_of_stored(f, stored_pair(f, p, other), p, other);
    if (distance >= f->radius[p]) {
        drop(f, list, p, k);
        return;
    }
    list.distance[k] = distance;
    list.other[k] = other;
    list.since[k] = (int32_t)seen(&f->level);
}

FOR_ALL_PROCESSORS static int64_t count_within(const double *restrict distance, int64_t count, double limit)
{
    int64_t within = 0;
    for (int64_t k = 0; k < count; k++) within += distance[k] <= limit;
    return within;
}

/* Find out who is nearest to p, or that its list does not tell. */
static void refresh(Folding *f, int64_t p)
{
    List list = list_of(f, p);
    f->unsure[p] = 1;
    while (f->count[p] > 0) {
        int64_t count = f->count[p], nearest, doubtful = NONE;
        int again;
        double best = smallest_of(without_rest(count), list.distance, &nearest, &again), reach;
        if (!is_exact(f, list, nearest)) {
            make_exact(f, p, nearest);
            continue;
        }
        f->best[p] = best;
        f->near[p] = list.other[nearest];
        f->tied[p] = 0;
        reach = widened(f, p, best);
        if (count_within(list.distance, without_rest(count), reach) > 1)
            for (int64_t k = 0; k < count && doubtful == NONE; k++) {
                if (k == nearest || list.distance[k] > reach) continue;
                if (!is_exact(f, list, k))
                    doubtful = k;
                else if (list.distance[k] == best)
                    f->tied[p] = 1;
            }
        if (doubtful == NONE) {
            f->unsure[p] = reach >= f->radius[p];
            return;
        }
        make_exact(f, p, doubtful);
    }
}

/* Make the list of a new cluster: everyone in the lists of its two parts, with bounds. It may be half as long again as
   those of a search, which lasts longer and costs little. */
static void join_lists(Folding *f, Hand *hand, int64_t p)
{
    const Criterion *criterion = &f->criterion;
    int64_t parts[2] = {p, f->second[p]}, found = 0, kept = 0;
    double weights[2] = {f->first_weight[p], f->weight[parts[1]]}, apart = f->joined_at[p];
    double radii[2] = {f->radius[p], f->radius[parts[1]]};
    double *bounds[2] = {hand->sums, hand->other}; /* room: distances to the first part, and to the second */
    int32_t *clusters = hand->found;
    List list = list_of(f, p);
    for (int side = 0; side < 2; side++) {
        List old = list_of(f, parts[side]);
        for (int64_t k = 0; k < f->count[parts[side]]; k++) {
            int32_t cluster = f->owner[old.other[k]], at = hand->mark[cluster];
            if (cluster == p) continue;
            if (at == NONE) {
                at = hand->mark[cluster] = (int32_t)found;
                clusters[found] = cluster;
                bounds[0][found] = radii[0];
                bounds[1][found++] = radii[1];
            }
            if (old.distance[k] < bounds[side][at]) bounds[side][at] = old.distance[k];
        }
    }
    f->radius[p] = joined_bound(criterion, weights[0], radii[0], weights[1], radii[1], apart, 0.0);
    for (int64_t k = 0; k < found; k++) {
        int32_t cluster = clusters[k];
        hand->mark[cluster] = NONE;
        bounds[0][kept] = joined_bound(criterion, weights[0], bounds[0][k], weights[1], bounds[1][k], apart,
                                       f->weight[cluster]);
        clusters[kept] = cluster;
        kept += bounds[0][kept] < f->radius[p];
    }
    kept = cut(bounds[0], clusters, kept, f->length + f->length / 2, &f->radius[p]);
    f->count[p] = (int32_t)kept;
    memcpy(list.distance, bounds[0], (size_t)kept * sizeof(double));
    memcpy(list.other, clusters, (size_t)kept * sizeof(int32_t));
    for (int64_t k = 0; k < kept; k++) list.since[k] = NONE;
    fill_up(list.distance, kept);
}

#endif
