/* A large table of clusters that is folded level by level: what threads share, how they wait for each other, and who is
   near whom. See folding.c. */

#ifndef RELIAC_FOLDING_H
#define RELIAC_FOLDING_H

#include <stddef.h>
#include <string.h>

#include "criterion.h"

#if defined(__STDC_NO_ATOMICS__) || defined(_MSC_VER)
typedef volatile int64_t Shared; /* one thread, and the one that waits for it */
#define MOST_THREADS 1
static inline int64_t take(Shared *count) { return (*count)++; }
static inline int64_t seen(Shared *count) { return *count; }
static inline void set(Shared *count, int64_t value) { *count = value; }
static inline void let_others_run(void) {}
#else
#include <sched.h>
#include <stdatomic.h>
typedef _Atomic int64_t Shared;
#define MOST_THREADS 64
static inline int64_t take(Shared *count) { return atomic_fetch_add(count, 1); }
static inline int64_t seen(Shared *count) { return atomic_load(count); }
static inline void set(Shared *count, int64_t value) { atomic_store(count, value); }
static inline void let_others_run(void) { sched_yield(); }
#endif

#define ROUNDS 2000 /* how often a thread looks whether it has waited long enough before it lets others run */

/* Who is nearest, as one thread has seen it. */
typedef struct {
    double *best;       /* (m,): the distance of the nearest */
    int32_t *near;      /* (m,): which cluster that is */
    unsigned char *tied; /* (m,): whether another one is as near */
} Nearest;

/* What a thread has for itself. */
typedef struct {
    Nearest nearest;
    double *row;    /* (m,): the numbers of the parts of a cluster, joined */
    double *folded; /* (m,): these, with the columns of pairs joined too */
    double *late;   /* numbers that belong into rows above: see fold_strip */
    int32_t *open;  /* the pairs whose rows they belong into */
} Hand;

/* Rows that stay side by side: the first of them, and where it comes to. */
typedef struct {
    int64_t from, first;
} Run;

/* What stands before memory that was allocated: where the piece before it is. As large as whatever comes after it needs. */
typedef union Room {
    union Room *before;
    double number;
    int64_t whole;
} Room;

typedef struct {
    Criterion criterion;
    int64_t n, m;         /* objects; clusters now */
    const void *given;    /* distances: of float32 or float64, condensed or square */
    int single, squared;  /* whether they are float32; whether their squares count */
    int64_t across;       /* numbers from one row to the next if the matrix is square; 0: condensed */
    double *own, *spare;  /* stored numbers of the clusters, condensed, once something was joined */
    double *weight, *spread;
    int64_t *name;        /* (m,): the first object of each cluster */
    Nearest nearest;
    int64_t folds;        /* m after the level that is being made */
    int32_t *head, *second; /* (folds,): the rows that a new row is made of; second: NONE for one that stays alone */
    int32_t *pair, *pairs_before; /* (pairs,): new rows of two; (folds + 1,): how many of them come before a row */
    Run *runs;            /* (runs + 1,): in the order of rows; the last one is the end */
    int32_t *run_of;      /* (folds,): the run that the row after this one is in */
    int64_t n_runs;
    int64_t n_pairs, *place; /* (m,): where a row has come to */
    int64_t n_clusters, few, thin;
    double max_level, longest;
    int64_t *links;       /* (3, n): level, and the two clusters by their first objects */
    double *distance;     /* (n,) */
    int threads;
    Hand *hands;
    Room *rooms;          /* all that was allocated, but for the table */
    int end;              /* why the work has ended: below */
    Shared count, level;  /* links so far; the level they are of */
    Shared next, done;    /* strips that were taken; that are written, none before them missing */
    Shared waiting, turn; /* threads that wait for the others; how often all have met */
    Shared started;       /* whether it is known how many threads there are */
    Shared stopped;       /* whether somebody wants no more levels */
} Folding;

/* Why the work ends: not yet; nothing is left to do; too few links in a level, or too few clusters, for whole tables; the
   nearest of a cluster are tied; there is no memory. */
enum { GOING, FINISHED, THIN, MET_TIES, WITHOUT_MEMORY };

/* --- waiting --- */

static void wait_until(Shared *count, int64_t value)
{
    for (int64_t round = 0; seen(count) < value; round++)
        if (round > ROUNDS) let_others_run();
}

/* Wait until all threads are here. */
static void meet(Folding *f)
{
    int64_t turn = seen(&f->turn);
    if (take(&f->waiting) + 1 < f->threads) {
        wait_until(&f->turn, turn + 1);
    } else {
        set(&f->waiting, 0);
        set(&f->next, 0);
        set(&f->done, 0);
        set(&f->turn, turn + 1);
    }
}

/* --- who is near whom --- */

#define SOME 32     /* numbers that are compared at once */
#define SLACK 1e-14 /* more than a bound can be off by rounding */

static inline double larger(double one, double other) { return one > other ? one : other; }

/* From column c on, the first of SOME columns of which one may be as near to the cluster of the row as its nearest, or as
   that column's own nearest. Nothing is divided: a distance is compared as soon as its numerator is. */
FOR_ALL_PROCESSORS static int64_t next_near(const Criterion *criterion, int64_t c, int64_t m, const double *restrict row,
                                            double near, double weight, double spread, const double *restrict weights,
                                            const double *restrict spreads, const double *restrict best)
{
    double wider = weight * (1.0 + SLACK);
    for (; c + SOME <= m; c += SOME) {
        int64_t hits = 0;
        const double *r = row + c, *w = weights + c, *s = spreads + c, *b = best + c;
        if (!criterion->sums) {
            for (int k = 0; k < SOME; k++) hits += r[k] <= larger(b[k], near);
        } else if (!criterion->offset) {
            for (int k = 0; k < SOME; k++) hits += r[k] <= wider * (w[k] * larger(b[k], near));
        } else if (criterion->by_size) {
            for (int k = 0; k < SOME; k++) {
                double twice = 2.0 * weight * w[k];
                double numerator = twice * r[k] - (w[k] * w[k] * spread + weight * weight * s[k]);
                hits += numerator <= larger(b[k], near) * (twice * ((weight + w[k]) * (1.0 + SLACK)));
            }
        } else {
            for (int k = 0; k < SOME; k++) {
                double twice = 2.0 * weight * w[k];
                double numerator = twice * r[k] - (w[k] * w[k] * spread + weight * weight * s[k]);
                hits += numerator <= larger(b[k], near) * (twice * (wider * w[k]));
            }
        }
        if (hits) return c;
    }
    return c;
}

/* One more cluster, at this distance. */
static inline void note(Nearest *nearest, int64_t of, int64_t other, double distance)
{
    if (distance < nearest->best[of]) {
        nearest->best[of] = distance;
        nearest->near[of] = (int32_t)other;
        nearest->tied[of] = 0;
    } else if (distance == nearest->best[of] && nearest->near[of] != other) {
        nearest->tied[of] = 1;
    }
}

/* Look at the numbers of cluster a and all clusters from ``first`` to ``stop``, and note who is near whom. */
static void search_row(const Criterion *criterion, Nearest *nearest, int64_t a, int64_t first, int64_t stop,
                       const double *row, const double *weight, const double *spread)
{
    for (int64_t c = first; c < stop;) {
        c = next_near(criterion, c, stop, row, nearest->best[a], weight[a], spread[a], weight, spread, nearest->best);
        for (int64_t end = c + SOME < stop ? c + SOME : stop; c < end; c++) {
            double distance = row[c];
            if (criterion->sums)
                distance = distance_from_sums(criterion, row[c], spread[a], weight[a], spread[c], weight[c]);
            if (distance > nearest->best[a] && distance > nearest->best[c]) continue;
            note(nearest, a, c, distance);
            note(nearest, c, a, distance);
        }
    }
}

#endif
