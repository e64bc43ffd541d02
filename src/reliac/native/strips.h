/* Strips of rows of a large table: how they are searched for the first time, and folded. See folding.c. */

#ifndef RELIAC_STRIPS_H
#define RELIAC_STRIPS_H

#include "folding.h"

#define STRIP 16   /* rows that a thread takes at a time */
#define CHUNK 4096 /* given distances that are turned into stored numbers at once */
#define NONE (-1)

/* --- rows of the table as it is --- */

/* Where the number of row i and column j > i is, less j. */
static inline int64_t place_of(const Folding *f, int64_t i)
{
    if (!f->own && f->across) return i * f->across;
    return place_less(f->m, i);
}

static void squares(int64_t first, int64_t stop, double *out)
{
    for (int64_t j = first; j < stop; j++) out[j] *= out[j];
}

/* The numbers of row i, columns ``first`` to ``stop``, so that number j is at place j: where they lie, or in ``out``. */
static const double *numbers_of(const Folding *f, int64_t i, int64_t first, int64_t stop, double *out)
{
    int64_t at = place_of(f, i);
    if (f->own) return f->own + at;
    if (!f->single && !f->squared) return (const double *)f->given + at;
    if (f->single)
        for (int64_t j = first; j < stop; j++) out[j] = ((const float *)f->given)[at + j];
    else
        memcpy(out + first, (const double *)f->given + at + first, (size_t)(stop - first) * sizeof(double));
    if (f->squared) squares(first, stop, out);
    return out;
}

static double number_of(const Folding *f, int64_t i, int64_t j)
{
    int64_t at = i < j ? place_of(f, i) + j : place_of(f, j) + i;
    double value;
    if (f->own) return f->own[at];
    value = f->single ? ((const float *)f->given)[at] : ((const double *)f->given)[at];
    return f->squared ? value * value : value;
}

/* --- the first search --- */

/* Look at the rows of a strip of objects. All weigh 1 and have no spread, so stored numbers are in the order of
   distances. */
static void search_strip(Folding *f, Hand *hand, int64_t first)
{
    static const Criterion plain = {0, 0, 0, 1.0, 0.0};
    int64_t last = first + STRIP < f->m ? first + STRIP : f->m;
    for (int64_t i = first; i < last; i++)
        for (int64_t begin = i + 1; begin < f->m; begin += CHUNK) {
            int64_t end = begin + CHUNK < f->m ? begin + CHUNK : f->m;
            const double *row = numbers_of(f, i, begin, end, hand->row);
            search_row(&plain, &hand->nearest, i, begin, end, row, f->weight, f->spread);
        }
}

/* --- folding --- */

FOR_ALL_PROCESSORS static void join_two(const Criterion *criterion, int64_t first, int64_t stop, const double *one,
                                        const double *other, double *out)
{
    if (criterion->sums)
        for (int64_t j = first; j < stop; j++) out[j] = one[j] * criterion->factor + other[j] * criterion->factor;
    else
        for (int64_t j = first; j < stop; j++) out[j] = one[j] > other[j] ? one[j] : other[j];
}

/* The numbers of the parts of new cluster a, joined: number j > head is at place j. Of a pair the row of the second part
   has nothing before its own column: what is stored there in other rows comes from them (``late``). */
static const double *joined_rows(const Folding *f, Hand *hand, int64_t a)
{
    int64_t p = f->head[a], q = f->second[a];
    const double *one = numbers_of(f, p, p + 1, f->m, hand->row), *other;
    if (q == NONE) return one;
    other = numbers_of(f, q, q + 1, f->m, hand->folded); /* not in use yet */
    if (f->criterion.sums)
        for (int64_t j = p + 1; j <= q; j++) hand->row[j] = one[j] * f->criterion.factor;
    else if (one != hand->row)
        memcpy(hand->row + p + 1, one + p + 1, (size_t)(q - p) * sizeof(double));
    join_two(&f->criterion, q + 1, f->m, one, other, hand->row);
    return hand->row;
}

/* Copy the numbers of a row that stay, from new column a + 1 on: they lie in runs, since only second parts go. A short
   run is copied as eight numbers, whatever its length; what is too much is overwritten by the next run. */
static inline void close_gaps(const Folding *f, int64_t a, const double *row, double *folded)
{
    int64_t k = f->run_of[a], b = a + 1;
    for (; k < f->n_runs; k++) {
        const Run *run = &f->runs[k];
        const double *from = row + run->from + (b - run->first);
        int64_t end = f->runs[k + 1].first;
        if (end + 8 > f->folds) {
            memcpy(folded + b, from, (size_t)(end - b) * sizeof(double));
            b = end;
        } else {
            for (; b < end; b += 8, from += 8) memcpy(folded + b, from, 8 * sizeof(double));
            b = end;
        }
    }
}

/* Join the columns of pairs in a row, from new column a + 1 on. */
static void fold_columns(const Folding *f, int64_t a, const double *row, double *folded)
{
    close_gaps(f, a, row, folded);
    for (int64_t k = f->pairs_before[a + 1]; k < f->n_pairs; k++) {
        int64_t b = f->pair[k];
        folded[b] = joined(&f->criterion, folded[b], row[f->second[b]]);
    }
}

/* Wait until the place of a new row is free: rows are read in strips, those of the first strip that is not done and all
   after it. */
static void wait_for_place(Folding *f, int64_t a, int64_t strip)
{
    int64_t end = place_less(f->folds, a) + f->folds;
    for (;;) {
        int64_t done = seen(&f->done), r;
        if (done >= strip) return;
        r = f->head[done * STRIP];
        if (end <= place_less(f->m, r) + r + 1) return;
        let_others_run();
    }
}

/* Make the new rows of a strip. A pair's second row lies below others, whose numbers for it are in their own rows, and
   belong into the row of the pair, above: these are *late*. They are put aside, and entered when the rows above are
   written. Until then the rows of pairs are not complete: they are searched afterwards, all others at once. */
static void fold_strip(Folding *f, Hand *hand, int64_t strip)
{
    int64_t first = strip * STRIP, last = first + STRIP < f->folds ? first + STRIP : f->folds, n_open = 0;
    for (int64_t k = 0; k < f->pairs_before[last]; k++) /* of pairs before, those whose second row is yet to come */
        if (f->second[f->pair[k]] > f->head[first]) hand->open[n_open++] = f->pair[k];
    for (int64_t a = first; a < last; a++) {
        const double *row = joined_rows(f, hand, a);
        double *to = f->spare + place_less(f->folds, a), *folded = f->spare == f->own ? hand->folded : to;
        double *late = hand->late + (a - first), factor = f->criterion.sums ? f->criterion.factor : 1.0;
        fold_columns(f, a, row, folded);
        for (int64_t k = 0; k < n_open; k++) {
            int64_t q = f->second[hand->open[k]];
            late[k * STRIP] = q > f->head[a] ? row[q] * factor : 0.0;
        }
        if (f->second[a] == NONE)
            search_row(&f->criterion, &hand->nearest, a, a + 1, f->folds, folded, f->weight, f->spread);
        if (folded == to) continue;
        wait_for_place(f, a, strip);
        memcpy(to + a + 1, folded + a + 1, (size_t)(f->folds - a - 1) * sizeof(double));
    }
    wait_until(&f->done, strip);
    set(&f->done, strip + 1);
    for (int64_t k = 0; k < n_open; k++) {
        int64_t b = hand->open[k];
        double *row = f->spare + place_less(f->folds, b), *late = hand->late + k * STRIP;
        for (int64_t a = first > b ? first : b + 1; a < last; a++) {
            if (f->criterion.sums)
                row[a] += late[a - first];
            else if (late[a - first] > row[a])
                row[a] = late[a - first];
        }
    }
}

#endif
