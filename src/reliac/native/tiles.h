/* Searching: all clusters at once, tile by tile of the table, or one cluster. See folding.c. */

#ifndef RELIAC_TILES_H
#define RELIAC_TILES_H

#include "shortlists.h"

#define SOME 32         /* numbers that are compared at once */
#define ROUNDING 1e-14  /* more than a bound on one number can be off */
#define RUN 8           /* rows of a sample that stand together: a line of memory */
#define MOST_RUNS 64
#define FEW_WITHIN 4    /* of a sample, at least */
#define SAMPLED 32      /* rows that are compared with the sample at once */

#define BIT_(k) (uint64_t)1 << (k), (uint64_t)1 << (k + 1), (uint64_t)1 << (k + 2), (uint64_t)1 << (k + 3)
static const uint64_t BIT[SOME] = {BIT_(0), BIT_(4), BIT_(8), BIT_(12), BIT_(16), BIT_(20), BIT_(24), BIT_(28)};

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

/* Write down which of SOME columns from ``first`` on ``bits`` name. Returns how many they are. */
static inline int64_t named_columns(uint64_t bits, int64_t first, int32_t *found)
{
    int64_t count = 0;
#ifdef __GNUC__
    for (; bits; bits &= bits - 1) found[count++] = (int32_t)(first + __builtin_ctzll(bits));
#else
    for (; bits; bits >>= 1, first++) {
        found[count] = (int32_t)first;
        count += bits & 1;
    }
#endif
    return count;
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
    int64_t count = 0, c;
    for (c = first; c + SOME <= stop; c += SOME) {
        const double *r = row + c, *w = weights + c, *s = spreads + c, *b = limits + c;
        uint64_t bits = 0;
        FETCH_SOME(r + ahead);
        if (!plain.sums) {
            for (int k = 0; k < SOME; k++) bits |= r[k] <= larger(b[k], limit) ? BIT[k] : 0;
        } else if (!plain.offset) {
            for (int k = 0; k < SOME; k++) bits |= r[k] <= wider * (w[k] * larger(b[k], limit)) ? BIT[k] : 0;
        } else {
            for (int k = 0; k < SOME; k++)
                bits |= may_be_near(&plain, r[k], larger(b[k], limit), weight, wider, spread, w[k], s[k]) ? BIT[k] : 0;
        }
        if (bits) count += named_columns(bits, c, found + count);
    }
    for (; c < stop; c++) {
        found[count] = (int32_t)c;
        count += may_be_near(&plain, row[c], larger(limits[c], limit), weight, wider, spread, weights[c], spreads[c]);
    }
    return count;
}

/* The same where numbers are distances: those inside the limit of the row are written down, and those inside their own. */
FOR_ALL_PROCESSORS static void near_distances(int64_t first, int64_t stop, const double *restrict row, double limit,
                                              const double *restrict limits, int32_t *restrict in_row,
                                              int32_t *restrict in_column, int64_t *counts, int64_t ahead)
{
    int64_t rows = 0, columns = 0, c;
    for (c = first; c + SOME <= stop; c += SOME) {
        const double *r = row + c, *b = limits + c;
        uint64_t of_row = 0, of_column = 0;
        FETCH_SOME(r + ahead);
        for (int k = 0; k < SOME; k++) {
            of_row |= r[k] <= limit ? BIT[k] : 0;
            of_column |= r[k] <= b[k] ? BIT[k] : 0;
        }
        if (of_row) rows += named_columns(of_row, c, in_row + rows);
        if (of_column) columns += named_columns(of_column, c, in_column + columns);
    }
    for (; c < stop; c++) {
        in_row[rows] = in_column[columns] = (int32_t)c;
        rows += row[c] <= limit;
        columns += row[c] <= limits[c];
    }
    counts[0] = rows;
    counts[1] = columns;
}

/* Look at the numbers of row i from column ``first`` to ``stop``, which are distances: each belongs to the lists of both, if
   it is near. */
static void search_distances(Folding *f, Hand *hand, int64_t i, int64_t first, int64_t stop)
{
    const double *row = numbers_of(f, i, first, stop, hand->row);
    int32_t *in_row = hand->found, *in_column = hand->found_too;
    int64_t counts[2];
    near_distances(first, stop, row, f->limit[i], f->limit, in_row, in_column, counts, place_of(f, i + 1) - place_of(f, i));
    for (int64_t k = 0; k < counts[0]; k++) enter(f, i, in_row[k], row[in_row[k]]);
    for (int64_t k = 0; k < counts[1]; k++) enter(f, in_column[k], i, row[in_column[k]]);
}

/* The same where they are not. */
static void search_row(Folding *f, Hand *hand, const Criterion *criterion, int64_t i, int64_t first, int64_t stop)
{
    const double *row = numbers_of(f, i, first, stop, hand->row);
    int64_t count = near_columns(criterion, first, stop, row, f->limit[i], f->weight[i], f->spread[i], f->weight,
                                 f->spread, f->limit, hand->found, place_of(f, i + 1) - place_of(f, i));
    for (int64_t k = 0; k < count; k++) {
        int64_t c = hand->found[k];
        double distance = distance_of_stored(f, row[c], i, c);
        if (distance <= f->limit[i]) enter(f, i, c, distance);
        if (distance <= f->limit[c]) enter(f, c, i, distance);
    }
}

/* --- all at once --- */

/* The distances of row i to ``count`` rows, from stored numbers; ``weights`` and ``spreads`` are of those rows. */
FOR_ALL_PROCESSORS static void make_distances(const Folding *f, int64_t i, int64_t count, const double *restrict weights,
                                              const double *restrict spreads, double *restrict numbers)
{
    const Criterion plain = f->criterion;
    double weight = f->weight[i], spread = f->spread[i];
    for (int64_t c = 0; c < count; c++)
        numbers[c] = distance_from_sums(&plain, numbers[c], spread, weight, spreads[c], weights[c]);
}

/* The numbers between rows ``first`` to ``stop`` and a run of RUN rows from s on: row by row of the first, ``across`` apart.
   A row that is in the run itself has no numbers. */
static void sample_run(const Folding *f, Hand *hand, int64_t first, int64_t stop, int64_t s, int64_t across, double *out)
{
    for (int64_t i = first; i < stop && i < s; i++)
        memcpy(out + (i - first) * across, numbers_of(f, i, s, s + RUN, hand->row) + s, RUN * sizeof(double));
    for (int64_t i = first > s ? first : s; i < stop && i < s + RUN; i++)
        for (int64_t k = 0; k < RUN; k++) out[(i - first) * across + k] = INFINITY;
    if (stop <= s + RUN) return;
    if (first < s + RUN) out += (s + RUN - first) * across, first = s + RUN;
    for (int64_t k = 0; k < RUN; k++) {
        const double *row = numbers_of(f, s + k, first, stop, hand->row);
        for (int64_t i = first; i < stop; i++) out[(i - first) * across + k] = row[i];
    }
}

/* Begin the lists of rows ``first`` to ``stop`` with a limit that a few of a sample are within: some runs of rows, evenly
   spaced. So about as many entries as are wanted are within the limit of a list; where they are too many it falls. */
static void begin_lists(Folding *f, Hand *hand, const Criterion *criterion, int64_t first, int64_t stop)
{
    int64_t runs = f->rows / (RUN * RUN) < MOST_RUNS ? f->rows / (RUN * RUN) : MOST_RUNS, count = runs * RUN, wanted;
    int64_t across = count + RUN; /* rows that are 4096 bytes apart would push each other out of the cache */
    double *weights = hand->sums, *spreads = hand->other, *sample = hand->sample;
    wanted = 2 * (f->length + 1) * count / f->rows;
    if (wanted < FEW_WITHIN) wanted = FEW_WITHIN;
    for (int64_t r = 0; r < runs; r++) {
        int64_t s = r * (f->rows / runs);
        sample_run(f, hand, first, stop, s, across, sample + r * RUN);
        memcpy(weights + r * RUN, f->weight + s, RUN * sizeof(double));
        memcpy(spreads + r * RUN, f->spread + s, RUN * sizeof(double));
    }
    for (int64_t i = first; i < stop; i++, sample += across) {
        f->count[i] = 0;
        f->limit[i] = INFINITY;
        if (count < 2 * wanted) continue;
        if (criterion->sums) make_distances(f, i, count, weights, spreads, sample);
        f->limit[i] = limit_of_some(sample, count, wanted, wanted + wanted / 3 + 1);
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
}

/* Look at all numbers of a tile. */
static void search_tile(Folding *f, Hand *hand, const Criterion *criterion, int64_t one, int64_t other)
{
    int64_t last = (one + 1) * f->block, stop = (other + 1) * f->block;
    if (last > f->rows) last = f->rows;
    if (stop > f->rows) stop = f->rows;
    for (int64_t i = one * f->block; i < last; i++) {
        int64_t first = one == other ? i + 1 : other * f->block;
        if (criterion->sums)
            search_row(f, hand, criterion, i, first, stop);
        else
            search_distances(f, hand, i, first, stop);
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
    while ((k = take(&f->taken_next)) * SAMPLED < f->rows)
        begin_lists(f, hand, criterion, k * SAMPLED, (k + 1) * SAMPLED < f->rows ? (k + 1) * SAMPLED : f->rows);
    meet(f);
    while (take_tile(f, &one, &other)) {
        search_tile(f, hand, criterion, one, other);
        leave_tile(f, one, other);
    }
    meet(f);
    while ((k = take(&f->taken_next)) < f->blocks) {
        int64_t last = (k + 1) * f->block < f->rows ? (k + 1) * f->block : f->rows;
        for (int64_t p = k * f->block; p < last; p++) {
            double *distance = list_of(f, p).distance;
            int64_t squared = f->squared && !f->own;
            for (int64_t e = 0; e < f->count[p]; e++) distance[e] *= times * (squared ? distance[e] : 1.0);
            f->limit[p] *= times * (squared ? f->limit[p] : 1.0);
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
    const double *numbers = f->own ? f->own : f->given;
    int64_t at = place_less(f->rows, 0) + i;
    if (!f->own && f->across) return numbers_of(f, i, 0, i, out); /* a square matrix has them in its rows, too */
    if (!f->own && f->single) {
        for (int64_t j = 0; j < i; j++) out[j] = number_of(f, j, i);
        return out;
    }
    for (int64_t j = 0; j < i; at += f->rows - 2 - j++) out[j] = numbers[at]; /* so short that many are on the way at once */
    if (!f->own && f->squares) copy_squares(i, out, out);
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
