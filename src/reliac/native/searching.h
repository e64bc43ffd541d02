/* A small table of clusters: what is kept of them, who is near whom, and the links of a level. See tables.c. */

#ifndef RELIAC_SEARCHING_H
#define RELIAC_SEARCHING_H

#include "criterion.h"
#include "smallest.h"

#define MANY_TIES 8   /* links of a level, for every object */
#define MOST_KEPT 512 /* clusters whose distances are kept beside the sums that they follow from */

typedef struct {
    int64_t p, q;
    double distance;
} Link;

typedef struct {
    Criterion criterion;
    int64_t n, m;                     /* objects; columns of the table as it lies in memory now, some of them empty */
    double *stored, *weight, *spread; /* (m, m), (m,), (m,): spread is the diagonal */
    double *smallest;                 /* (m,): of every cluster the distance of its nearest */
    double *distance;                 /* (m,): room for the distances of one cluster */
    double *found;                    /* (m,): room for numbers of new clusters */
    double *corner;                   /* room for the pairs of new clusters */
    double *kept, *room_to_keep;      /* (m, m): of sums the distances that they stand for; NULL: they are computed anew */
    int64_t *near, *tied;             /* (m,): the nearest, the first by index; whether another one is as near */
    int64_t *name;                    /* (m,): the first object */
    int64_t *alive, count;            /* the rows that are not gone, in order, and their number */
    int64_t *part, *next;             /* (m,): of a new cluster the second of its parts, GONE for parts themselves, else
                                         NONE; of a part the one that follows in its group, or NONE */
    int64_t *moved;                   /* (m,): room; where a row has come to, or which group it is in */
    int64_t *fresh, n_fresh;          /* new clusters */
    int64_t *lost, n_lost;            /* others that are to be searched again */
    int64_t *their_near;              /* (m,): room for the nearest of new clusters */
    int64_t *unsure;                  /* (m,): whether ``smallest`` is only a bound: see smallest_link */
    int met_ties;                     /* whether some cluster had several nearest */
    Link *links;
} Table;

enum { NONE = -1, GONE = -2 };

/* --- who is near whom --- */

FOR_WIDE_PROCESSORS static void distances_from_sums(const Criterion *criterion, int64_t m, const double *restrict stored,
                                                    double spread, double weight, const double *restrict spreads,
                                                    const double *restrict weights, double *restrict distance)
{
    const Criterion rule = *criterion;
    for (int64_t c = 0; c < m; c++)
        distance[c] = distance_from_sums(&rule, stored[c], spread, weight, spreads[c], weights[c]);
}

FOR_WIDE_PROCESSORS static int some_not_larger(int64_t m, const double *restrict values, const double *restrict bounds)
{
    int64_t count = 0;
    for (int64_t c = 0; c < m; c++) count += values[c] <= bounds[c];
    return count > 0;
}

/* Write the distances of the cluster in row r to all others, infinite to itself. */
static void write_distances(Table *t, int64_t r, double *distance)
{
    distances_from_sums(&t->criterion, t->m, t->stored + r * t->m, t->spread[r], t->weight[r], t->spread, t->weight, distance);
    distance[r] = INFINITY;
}

/* The distances of the cluster in row r to all others; infinite to itself. */
static const double *distances_of(Table *t, int64_t r)
{
    if (!t->criterion.sums) return t->stored + r * t->m;
    if (t->kept) return t->kept + r * t->m;
    write_distances(t, r, t->distance);
    return t->distance;
}

/* The same of a new cluster, of which nothing is kept yet. */
static const double *distances_of_new(Table *t, int64_t r)
{
    double *own;
    if (!t->kept) return distances_of(t, r);
    own = t->kept + r * t->m;
    write_distances(t, r, own);
    for (int64_t a = 0; a < t->count; a++) t->kept[t->alive[a] * t->m + r] = own[t->alive[a]];
    return own;
}

/* Search all objects. As long as all weigh 1 and have no spread the distance is what is stored, and half of it by size:
   no formula is needed. */
static void first_search(Table *t)
{
    double times = t->criterion.by_size ? 0.5 : 1.0;
    int plain = 1, again;
    for (int64_t r = 0; r < t->m; r++) plain &= t->weight[r] == 1.0 && t->spread[r] == 0.0;
    for (int64_t r = 0; r < t->m; r++) {
        double *row = t->stored + r * t->m, own = row[r];
        if (plain) {
            row[r] = INFINITY;
            t->smallest[r] = times * smallest_of(t->m, row, &t->near[r], &again);
            row[r] = own;
        } else {
            t->smallest[r] = smallest_of(t->m, distances_of(t, r), &t->near[r], &again);
        }
        t->met_ties |= t->tied[r] = again;
    }
}

/* A new cluster in row r has these distances to others: who has it as its nearest now, or among them? One link at a time
   (``later``) the first by index is enough; else they are searched again. */
static void tell_others(Table *t, int64_t r, const double *distance, int later)
{
    if (!some_not_larger(t->m, distance, t->smallest)) return;
    for (int64_t a = 0; a < t->count; a++) {
        int64_t c = t->alive[a];
        if (distance[c] > t->smallest[c]) continue;
        if (!later) {
            t->lost[t->n_lost++] = c;
            t->smallest[c] = -INFINITY; /* nobody comes as near as that: it is entered once */
        } else if (distance[c] < t->smallest[c] || (!t->unsure[c] && r < t->near[c])) {
            t->smallest[c] = distance[c];
            t->near[c] = r;
            t->unsure[c] = 0;
        }
    }
}

/* Search new clusters, then those that have lost their nearest, or have one more. */
static void search(Table *t, int later)
{
    int again;
    for (int64_t k = 0; k < t->n_fresh; k++) t->smallest[t->fresh[k]] = -INFINITY; /* nobody comes as near as that */
    for (int64_t k = 0; k < t->n_lost; k++) t->smallest[t->lost[k]] = -INFINITY;
    for (int64_t k = 0; k < t->n_fresh; k++) {
        const double *distance = distances_of_new(t, t->fresh[k]);
        t->found[k] = smallest_of(t->m, distance, &t->their_near[k], &again);
        t->met_ties |= t->tied[t->fresh[k]] = again;
        tell_others(t, t->fresh[k], distance, later);
    }
    for (int64_t k = 0; k < t->n_fresh; k++) {
        t->smallest[t->fresh[k]] = t->found[k];
        t->near[t->fresh[k]] = t->their_near[k];
    }
    for (int64_t k = 0; k < t->n_lost; k++) {
        int64_t r = t->lost[k];
        t->smallest[r] = smallest_of(t->m, distances_of(t, r), &t->near[r], &again);
        t->met_ties |= t->tied[r] = again;
    }
}

/* --- the links of a level: what they mean is said in algorithm/links.py, where they have the same names --- */

static int by_distance(const void *one, const void *other)
{
    const Link *a = one, *b = other;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    if (a->p != b->p) return a->p < b->p ? -1 : 1;
    return a->q < b->q ? -1 : a->q > b->q;
}

/* All links whose two clusters are among each other's nearest, p < q, none longer than ``longest``. */
static int64_t reliable_links(Table *t, double longest)
{
    int64_t count = 0, room = MANY_TIES * t->n;
    for (int64_t a = 0; a < t->count; a++) {
        int64_t p = t->alive[a];
        double smallest = t->smallest[p];
        const double *distance;
        if (smallest > longest) continue;
        if (!t->tied[p]) {
            int64_t q = t->near[p];
            if (count == room) return TIED;
            /* q has p among its nearest; if p is its only one both find the link, and the smaller notes it */
            if (t->smallest[q] == smallest && (q > p || t->tied[q]))
                t->links[count++] = p < q ? (Link){p, q, smallest} : (Link){q, p, smallest};
            continue;
        }
        distance = distances_of(t, p);
        for (int64_t b = a + 1; b < t->count; b++) {
            int64_t q = t->alive[b];
            if (distance[q] != smallest || t->smallest[q] != smallest || !t->tied[q]) continue;
            if (count == room) return TIED;
            t->links[count++] = (Link){p, q, smallest};
        }
    }
    return count;
}

/* Sort links and keep those that still join two clusters when taken one after the other (Kruskal), ``most`` at most.
   ``moved`` tells the groups afterwards. */
static int64_t joining_links(Table *t, int64_t count, int64_t most)
{
    int64_t kept = 0;
    if (count > 1) qsort(t->links, (size_t)count, sizeof(Link), by_distance);
    for (int64_t a = 0; a < t->count; a++) t->moved[t->alive[a]] = t->alive[a];
    for (int64_t k = 0; k < count && kept < most; k++) {
        int64_t p = top(t->moved, t->links[k].p), q = top(t->moved, t->links[k].q);
        if (p == q) continue;
        t->moved[p < q ? q : p] = p < q ? p : q;
        t->links[kept++] = t->links[k];
    }
    return kept;
}

/* The smallest link of all, the first by index; its distance is not above ``longest``. Who has lost its nearest to a join
   keeps its distance as a bound: no one else is nearer. It is searched again only when that bound is the smallest of all
   (Müllner 2011, the generic algorithm). */
static int64_t smallest_link(Table *t, double longest)
{
    for (;;) {
        int64_t p = t->alive[0];
        int again;
        for (int64_t a = 1; a < t->count; a++)
            if (t->smallest[t->alive[a]] < t->smallest[p]) p = t->alive[a];
        if (!t->unsure[p]) {
            if (t->smallest[p] > longest) return 0;
            t->links[0] = (Link){p, t->near[p], t->smallest[p]};
            return 1;
        }
        t->smallest[p] = smallest_of(t->m, distances_of(t, p), &t->near[p], &again);
        t->unsure[p] = 0;
    }
}

#endif
