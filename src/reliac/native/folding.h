/* Given distances of many objects: what threads share, how they wait for each other, and the numbers of a table. See
   folding.c. */

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

#define LARGE_ROOM ((size_t)1 << 22)
#define ROUNDS 50000 /* how often a thread looks whether it has waited long enough before it lets others run */
#define LARGEST_BLOCK 1024 /* rows and columns of a tile */
#define NONE (-1)

/* A short list: clusters, and their distances. ``since`` says at which level a distance was computed; it is exact as long
   as that cluster has not been joined later. Otherwise, and with NONE, it is a lower bound. */
typedef struct {
    double *distance;
    int32_t *other, *since;
} List;

/* What a thread has for itself. */
typedef struct {
    double *row;    /* (n,): the numbers of the parts of a cluster, joined */
    double *other;  /* (n,): room for the numbers of one part */
    double *sums;   /* (n,): these, with the columns of every cluster joined too */
    double *late;   /* numbers that belong into rows above: see fold_strip */
    int32_t *open;  /* the clusters whose rows they belong into */
    int32_t *found, *found_too; /* (LARGEST_BLOCK,): columns of a tile that may be near */
    int32_t *mark;  /* (n,): room; of every cluster its place in a list that is being made, or NONE */
    double *sample; /* (SAMPLED, (MOST_RUNS + 1) RUN): see begin_lists */
} Hand;

/* What stands before memory that was allocated: where the piece before it is. As large as whatever comes after it needs. */
typedef union Room {
    union Room *before;
    double number;
    int64_t whole;
} Room;

typedef struct {
    Criterion criterion;
    int64_t n, rows, m;   /* objects; rows of the table as it lies in memory; clusters now */
    const void *given;    /* distances: of float32 or float64, condensed or square */
    int single, squared;  /* whether they are float32; whether their squares count ... */
    int squares;          /* ... and are what is read now: the first search needs the order only */
    int64_t across;       /* numbers from one row to the next if the matrix is square; 0: condensed */
    double *own, *spare;  /* stored numbers of the rows, condensed, once the table was folded; the one being written */
    /* of rows. A cluster goes by its first row. */
    int32_t *owner, *next; /* the cluster that a row is in; the row that follows in that cluster, or NONE */
    double *share;        /* what the numbers of a row are multiplied by in its cluster */
    int32_t *place;       /* the row of the next table that a row becomes a part of */
    /* of clusters */
    int64_t *alive;       /* (m,): in order */
    double *weight, *spread;
    int64_t *name;        /* the first object */
    int32_t *size, *last; /* the number of rows; the last of them */
    int32_t *born;        /* the level at which it was joined; 0: not since the table was folded */
    int32_t *second;      /* of a new cluster the second of its parts */
    double *joined_at, *first_weight; /* ... the distance of its parts, and the weight of the first */
    /* who is near: certified lists, see shortlists.h */
    List lists;           /* (rows, 2 (length + 1)) each */
    int32_t *count;       /* entries */
    double *radius;       /* who is not in the list is at least as far as this */
    double *limit;        /* while all are searched: what is farther than this does not belong into the list */
    int64_t length;       /* entries that a list is cut to */
    double *best;         /* the distance of the nearest */
    int32_t *near;        /* which cluster that is */
    unsigned char *tied;  /* whether another one is as near */
    unsigned char *unsure; /* whether the list does not tell who is nearest */
    int32_t *queue;       /* (queued,): clusters that are unsure */
    int64_t queued, searched; /* rows that were searched since the table was folded */
    double slack;         /* more than rounding can change a distance by: see widened */
    /* tiles of a search of all: see tiles.h */
    int64_t block, blocks; /* rows of a block, and their number */
    unsigned char *busy, *taken; /* (blocks,), (blocks^2,) */
    int64_t untaken;      /* tiles before this one are taken */
    Shared lock;
    /* stops, results */
    int64_t n_clusters, few, thin;
    double max_level, longest;
    int64_t *links;       /* (3, n): level, and the two clusters by their first objects */
    double *distance;     /* (n,) */
    int threads;
    Hand *hands;
    Room *rooms;          /* all that was allocated, but for the table */
    int end, todo;        /* why the work has ended, and what comes next: below */
    Shared count_of_links, level; /* links so far; the level they are of */
    Shared taken_next, done; /* pieces of work that were taken; that are done, none before them missing */
    Shared waiting, turn; /* threads that wait for the others; how often all have met */
    Shared started;       /* whether it is known how many threads there are */
    Shared stopped;       /* whether somebody wants no more levels */
} Folding;

/* Why the work ends: not yet; nothing is left to do; few clusters are left, or joined in so many levels that others do
   better; the nearest of a cluster are tied; there is no memory. */
enum { GOING, FINISHED, THIN, MET_TIES, WITHOUT_MEMORY };

/* What is to be done before a level: nothing; search clusters whose lists do not tell; fold the table. */
enum { NOTHING, SEARCH, FOLD };

/* --- memory --- */

/* Memory, in large pages if it is much and the system has any: it is cleared page by page when it is first written to. */
static void *large_room(size_t size)
{
#ifdef __linux__
    void *room = NULL;
    if (size < LARGE_ROOM) return malloc(size); /* is had again without a page fault */
    if (posix_memalign(&room, (size_t)1 << 21, size)) return NULL;
    madvise(room, size, MADV_HUGEPAGE); /* where that is not known nothing is lost */
    return room;
#else
    return malloc(size);
#endif
}

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
        set(&f->taken_next, 0);
        set(&f->done, 0);
        set(&f->turn, turn + 1);
    }
}

/* --- numbers of the table as it is --- */

/* Where the number of row i and column j > i is, less j. */
static inline int64_t place_of(const Folding *f, int64_t i)
{
    if (!f->own && f->across) return i * f->across;
    return place_less(f->rows, i);
}

FOR_ALL_PROCESSORS static void copy_squares(int64_t count, const double *from, double *out)
{
    for (int64_t j = 0; j < count; j++) out[j] = from[j] * from[j];
}

FOR_ALL_PROCESSORS static void copy_single(int64_t count, const float *restrict from, int squared, double *restrict out)
{
    for (int64_t j = 0; j < count; j++) out[j] = from[j];
    if (squared)
        for (int64_t j = 0; j < count; j++) out[j] *= out[j];
}

/* The numbers of row i, columns ``first`` to ``stop``, so that number j is at place j: where they lie, or in ``out``. */
static const double *numbers_of(const Folding *f, int64_t i, int64_t first, int64_t stop, double *out)
{
    int64_t at = place_of(f, i);
    if (f->own) return f->own + at;
    if (!f->single && !f->squares) return (const double *)f->given + at;
    if (f->single)
        copy_single(stop - first, (const float *)f->given + at + first, f->squares, out + first);
    else
        copy_squares(stop - first, (const double *)f->given + at + first, out + first);
    return out;
}

/* The number of rows i < j. */
static inline double number_of(const Folding *f, int64_t i, int64_t j)
{
    int64_t at = place_of(f, i) + j;
    double value;
    if (f->own) return f->own[at];
    value = f->single ? ((const float *)f->given)[at] : ((const double *)f->given)[at];
    return f->squares ? value * value : value;
}

/* --- numbers of clusters ---

   The number of clusters p and q is the sum of two halves, since every pair of rows is stored once. One half has all
   pairs whose row in p comes first: for each row of q the sum over the rows of p that come before it, and the sum of
   these. The other half is the same with p and q exchanged. This order of summation is the same wherever numbers are
   joined, one pair at a time or in whole rows, so equal pairs have equal bits from either side. */

static inline double added(const Criterion *criterion, double sum, double number)
{
    if (criterion->sums) return sum + number;
    return sum > number ? sum : number;
}

static double half_of_pair(const Folding *f, int64_t p, int64_t q)
{
    const Criterion *criterion = &f->criterion;
    double half = 0.0;
    for (int64_t j = q; j != NONE; j = f->next[j]) {
        double sum = 0.0;
        for (int64_t i = p; i != NONE && i < j; i = f->next[i])
            sum = added(criterion, sum, f->share[i] * number_of(f, i, j));
        half = added(criterion, half, f->share[j] * sum);
    }
    return half;
}

static double stored_pair(const Folding *f, int64_t p, int64_t q)
{
    if (f->size[p] == 1 && f->size[q] == 1) return p < q ? number_of(f, p, q) : number_of(f, q, p);
    return added(&f->criterion, half_of_pair(f, p, q), half_of_pair(f, q, p));
}

static inline double distance_of_stored(const Folding *f, double stored, int64_t p, int64_t q)
{
    if (!f->criterion.sums) return stored;
    return distance_from_sums(&f->criterion, stored, f->spread[p], f->weight[p], f->spread[q], f->weight[q]);
}

#endif
