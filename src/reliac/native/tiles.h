/* Searching: all clusters at once, tile by tile of the table, or one cluster. See folding.c. */

#ifndef RELIAC_TILES_H
#define RELIAC_TILES_H

#include "shortlists.h"

#define SOME 32         /* numbers that are compared at once */
#define ROUNDING 1e-14  /* more than a bound on one number can be off */

static inline double larger(double one, double other) { return one > other ? one : other; }

/* Let the SOME numbers of a line of memory on the way; what is not there does no harm. */
#ifdef __GNUC__
#define FETCH_SOME(numbers) \
    for (int line = 0; line < SOME; line += 8) __builtin_prefetch((numbers) + line)
#else
#define FETCH_SOME(numbers)
#endif

/* Whether the number of a row and a column may be inside the limit of one of the two. Nothing is divided: a distance is
   compared as soon as its numerator is. */
static inline int may_be_near(const Criterion *criterion, double number, double limit, double weight, double wider,
                              double spread, double w, double s)
{
    double twice, numerator;
    if (!criterion->sums) return number <= limit;
    if (!criterion->offset) return number <= wider * (w * limit);
    twice = 2.0 * weight * w;
    numerator = twice * number - (w * w * spread + weight * weight * s);
    return numerator <= limit * (twice * ((weight + w) * (1.0 + ROUNDING)));
}

/* Write down the columns from ``first`` to ``stop`` that may be near: inside the limit of the row, or inside their own.
   Returns how many they are. The next row, ``ahead`` of this one, is fetched meanwhile. */
FOR_ALL_PROCESSORS static int64_t near_columns(const Criterion *criterion, int64_t first, int64_t stop,
                                               const double *restrict row, double limit, double weight, double spread,
                                               const double *restrict weights, const double *restrict spreads,
                                               const double *restrict limits, int32_t *restrict found, int64_t ahead)
{
    const Criterion plain = *criterion;
    double wider = weight * (1.0 + ROUNDING);
    int64_t count = 0;
    for (int64_t c = first; c < stop; c += SOME) {
        int64_t end = c + SOME < stop ? c + SOME : stop, hits = c + SOME > stop;
        const double *r = row + c, *w = weights + c, *s = spreads + c, *b = limits + c;
        FETCH_SOME(r + ahead);
        if (hits) {
        } else if (!plain.sums) {
            for (int k = 0; k < SOME; k++) hits += r[k] <= larger(b[k], limit);
        } else if (!plain.offset) {
            for (int k = 0; k < SOME; k++) hits += r[k] <= wider * (w[k] * larger(b[k], limit));
        } else {
            for (int k = 0; k < SOME; k++)
                hits += may_be_near(&plain, r[k], larger(b[k], limit), weight, wider, spread, w[k], s[k]);
        }
        if (!hits) continue;
        for (int64_t k = c; k < end; k++) {
            found[count] = (int32_t)k;
            count += may_be_near(&plain, row[k], larger(limits[k], limit), weight, wider, spread, weights[k], spreads[k]);
        }
    }
    return count;
}

/* Look at the numbers of row i from column ``first`` to ``stop``: each belongs to the lists of both, if it is near. */
static void search_row(Folding *f, Hand *hand, const Criterion *criterion, int64_t i, int64_t first, int64_t stop)
{
    const double *row = numbers_of(f, i, first, stop, hand->row);
    int64_t count = near_columns(criterion, first, stop, row, f->limit[i], f->weight[i], f->spread[i], f->weight,
                                 f->spread, f->limit, hand->found, place_of(f, i + 1) - place_of(f, i));
    for (int64_t k = 0; k < count; k++) {
        int64_t c = hand->found[k];
        double distance = criterion->sums ? distance_of_stored(f, row[c], i, c) : row[c];
        if (distance <= f->limit[i]) enter(f, i, c, distance);
        if (distance <= f->limit[c]) enter(f, c, i, distance);
    }
}

/* --- all at once --- */

/* Write down which of ``count`` distances are within a limit. */
static int64_t within_limit(const double *distance, int64_t count, double limit, int32_t *found)
{
    int64_t number = 0;
    for (int64_t k = 0; k < count; k++) {
        found[number] = (int32_t)k;
        number += distance[k] <= limit;
    }
    return number;
}

/* The distances of row i to columns ``first`` to ``stop``. */
FOR_ALL_PROCESSORS static void distances_to(const Folding *f, const Criterion *criterion, int64_t i, int64_t first,
                                            int64_t stop, const double *restrict numbers, double *restrict out)
{
    const Criterion plain = *criterion;
    const double *restrict w = f->weight, *restrict s = f->spread;
    double weight = w[i], spread = s[i];
    for (int64_t c = first; c < stop; c++)
        out[c] = plain.sums ? distance_from_sums(&plain, numbers[c], spread, weight, s[c], w[c]) : numbers[c];
}

/* Begin the lists of the rows of a tile on the diagonal with the nearest in the tile: they tell limits for all others. */
static void begin_lists(Folding *f, Hand *hand, const Criterion *criterion, int64_t first, int64_t stop)
{
    int64_t kept = f->length + 1;
    double *above = hand->row, *apart = hand->other;
    for (int64_t i = first; i < stop; i++) {
        double limit = INFINITY;
        for (int64_t j = first; j < i; j++) above[j] = number_of(f, j, i);
        distances_to(f, criterion, i, first, i, above, apart);
        distances_to(f, criterion, i, i + 1, stop, numbers_of(f, i, i + 1, stop, above), apart);
        apart[i] = INFINITY;
        if (stop - first > 2 * kept) limit = limit_of_some(apart + first, stop - first, kept, kept + kept / 2);
        f->limit[i] = limit;
        int64_t count = within_limit(apart + first, stop - first, limit < INFINITY ? limit : DBL_MAX, hand->found);
        for (int64_t k = 0; k < count; k++) {
            int64_t c = first + hand->found[k];
            if (apart[c] <= f->limit[i]) enter(f, i, c, apart[c]);
        }
    }
}

/* Take a tile whose two blocks of rows nobody is at work on; those on the diagonal come first, since they tell limits for
   all others. Returns 0 when no tile is left; tiles are numbered by diagonals. */
static int take_tile(Folding *f, int64_t *one, int64_t *other)
{
    for (int left = 1; left;) {
        while (take(&f->lock)) let_others_run();
        left = 0;
        for (int64_t k = f->untaken; k < f->blocks * f->blocks; k++) {
            int64_t i = k % f->blocks, j = i + k / f->blocks;
            if (f->taken[k] || j >= f->blocks) {
                f->untaken += k == f->untaken;
                continue;
            }
            left = 1;
            if (f->busy[i] || f->busy[j]) continue;
            f->busy[i] = f->busy[j] = f->taken[k] = 1;
            set(&f->lock, 0);
            *one = i;
            *other = j;
            return 1;
        }
        set(&f->lock, 0);
        if (left) let_others_run();
    }
    return 0;
}

static void leave_tile(Folding *f, int64_t one, int64_t other)
{
    while (take(&f->lock)) let_others_run();
    f->busy[one] = f->busy[other] = 0;
    set(&f->lock, 0);
}

/* Prepare a search of all. Threads work on different blocks, and every number is seen once, whoever sees it: lists do not
   depend on the number of threads. */
static void begin_search(Folding *f)
{
    f->block = (f->rows / (4 * f->threads) + SOME) / SOME * SOME;
    if (f->block > LARGEST_BLOCK) f->block = LARGEST_BLOCK;
    f->blocks = (f->rows + f->block - 1) / f->block;
    f->untaken = f->searched = 0;
    f->squares = 0;
    memset(f->busy, 0, (size_t)f->blocks);
    memset(f->taken, 0, (size_t)(f->blocks * f->blocks));
    for (int64_t p = 0; p < f->rows; p++) {
        f->limit[p] = INFINITY;
        f->count[p] = 0;
    }
}

/* Make the lists of all clusters, each of which is one row of the table. */
static void search_all(Folding *f, Hand *hand)
{
    static const Criterion plain = {0, 0, 0, 1.0, 0.0};
    /* As long as all weigh 1 and have no spread stored numbers are in the order of distances; by size these are halves. */
    const Criterion *criterion = f->own ? &f->criterion : &plain;
    double times = criterion == &plain && f->criterion.by_size ? 0.5 : 1.0;
    int64_t one, other, k;
    while (take_tile(f, &one, &other)) {
        int64_t last = (one + 1) * f->block, stop = (other + 1) * f->block;
        if (last > f->rows) last = f->rows;
        if (stop > f->rows) stop = f->rows;
        if (one == other) begin_lists(f, hand, criterion, other * f->block, stop);
        else
            for (int64_t i = one * f->block; i < last; i++) search_row(f, hand, criterion, i, other * f->block, stop);
        leave_tile(f, one, other);
    }
    meet(f);
    while ((k = take(&f->taken_next)) < f->blocks) {
        int64_t last = (k + 1) * f->block < f->rows ? (k + 1) * f->block : f->rows;
        for (int64_t p = k * f->block; p < last; p++) {
            Entry *list = list_of(f, p);
            for (int64_t e = 0; e < f->count[p]; e++) list[e].distance *= times * (f->squared && !f->own ? list[e].distance : 1.0);
            finish_list(f, p);
        }
    }
}

/* --- one cluster --- */

/* Join row ``from`` of the table, columns ``first`` to ``stop``, into ``sums``. */
static void add_row(const Folding *f, int64_t first, int64_t stop, const double *from, double share, double *sums)
{
    if (f->criterion.sums)
        for (int64_t j = first; j < stop; j++) sums[j] += share * from[j];
    else
        for (int64_t j = first; j < stop; j++) sums[j] = sums[j] > from[j] ? sums[j] : from[j];
}

/* The numbers of the rows of cluster p, joined: number j > p is at place j. Rows have nothing before their own column:
   that belongs to the other half of a pair. */
static const double *joined_rows(const Folding *f, Hand *hand, int64_t p)
{
    const double *row = numbers_of(f, p, p + 1, f->rows, hand->row);
    if (f->next[p] == NONE) return row;
    if (f->share[p] != 1.0)
        for (int64_t j = p + 1; j < f->rows; j++) hand->row[j] = f->share[p] * row[j];
    else if (row != hand->row)
        memcpy(hand->row + p + 1, row + p + 1, (size_t)(f->rows - p - 1) * sizeof(double));
    for (int64_t i = f->next[p]; i != NONE; i = f->next[i])
        add_row(f, i + 1, f->rows, numbers_of(f, i, i + 1, f->rows, hand->other), f->share[i], hand->row);
    return hand->row;
}

/* Join the columns ``first`` to ``stop`` of a row by the clusters that ``to`` names. */
static void join_columns(const Folding *f, int64_t first, int64_t stop, const double *row, const int32_t *to, double *sums)
{
    if (f->criterion.sums)
        for (int64_t j = first; j < stop; j++) sums[to[j]] += f->share[j] * row[j];
    else
        for (int64_t j = first; j < stop; j++) sums[to[j]] = larger(sums[to[j]], row[j]);
}

/* The numbers of column i above the diagonal, so that number j < i is at place j: where they lie, or in ``out``. */
static const double *column_of(const Folding *f, int64_t i, double *out)
{
    if (!f->own && f->across) return numbers_of(f, i, 0, i, out); /* a square matrix has them in its rows, too */
    for (int64_t j = 0; j < i; j++) out[j] = number_of(f, j, i);
    return out;
}

/* Make the list of one cluster anew: all rows of the table that it has, from both sides. */
static void search_cluster(Folding *f, Hand *hand, int64_t p)
{
    double *half = hand->sums, *other_half = hand->late, *part = hand->late + f->rows;
    const double *row = joined_rows(f, hand, p);
    memset(half, 0, (size_t)f->rows * sizeof(double));
    memset(other_half, 0, (size_t)f->rows * sizeof(double));
    join_columns(f, p + 1, f->rows, row, f->owner, half);
    for (int64_t i = p; i != NONE; i = f->next[i]) {
        const double *column = column_of(f, i, hand->row);
        memset(part, 0, (size_t)f->rows * sizeof(double));
        join_columns(f, 0, i, column, f->owner, part);
        add_row(f, 0, f->rows, part, f->share[i], other_half);
    }
    f->limit[p] = INFINITY;
    f->count[p] = 0;
    for (int64_t a = 0; a < f->m; a++) {
        int64_t q = f->alive[a];
        double distance = distance_of_stored(f, added(&f->criterion, half[q], other_half[q]), p, q);
        if (q != p && distance <= f->limit[p]) enter(f, p, q, distance);
    }
    finish_list(f, p);
}

#endif
