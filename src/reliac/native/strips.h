/* Strips of rows of a large table: how they are folded. See folding.c. */

#ifndef RELIAC_STRIPS_H
#define RELIAC_STRIPS_H

#include "tiles.h"

#define STRIP 16   /* rows that a thread takes at a time */
#define AHEAD 8    /* rows further on are fetched from memory meanwhile */

/* Wait until the place of a new row is free: rows are read in strips, those of the first strip that is not done and all
   after it. */
static void wait_for_place(Folding *f, int64_t a, int64_t strip)
{
    int64_t end = place_less(f->m, a) + f->m;
    for (;;) {
        int64_t done = seen(&f->done), r;
        if (done >= strip) return;
        r = f->alive[done * STRIP];
        if (end <= place_less(f->rows, r) + r + 1) return;
        let_others_run();
    }
}

/* Let the numbers of a new row and a strip on the way. */
static inline void fetch_strip(const Folding *f, int64_t row, int64_t first)
{
#ifdef __GNUC__
    const double *numbers = f->spare + place_less(f->m, row) + first;
    __builtin_prefetch(numbers, 1);
    __builtin_prefetch(numbers + STRIP / 2, 1);
    __builtin_prefetch(numbers + STRIP - 1, 1);
#endif
}

/* Make the new rows of a strip. A cluster's later rows lie below others, whose numbers for it are in their own rows, and
   belong into the row of the cluster, above: these are *late*, the other half of each pair. They are put aside, and
   entered when the rows above are written. */
static void fold_strip(Folding *f, Hand *hand, int64_t strip)
{
    int64_t first = strip * STRIP, last = first + STRIP < f->m ? first + STRIP : f->m, n_open = 0;
    for (int64_t b = 0; b < last; b++) /* clusters some row of which is yet to come */
        if (f->last[f->alive[b]] > f->alive[first]) hand->open[n_open++] = (int32_t)b;
    for (int64_t a = first; a < last; a++) {
        int64_t p = f->alive[a];
        double *to = f->spare + place_less(f->m, a), *late = hand->late + (a - first);
        const double *row = joined_rows(f, hand, p);
        memset(hand->sums, 0, (size_t)f->m * sizeof(double));
        join_columns(f, p + 1, f->rows, row, f->place, hand->sums);
        for (int64_t k = 0; k < n_open; k++) late[k * STRIP] = hand->sums[hand->open[k]];
        if (f->spare == f->own) wait_for_place(f, a, strip);
        memcpy(to + a + 1, hand->sums + a + 1, (size_t)(f->m - a - 1) * sizeof(double));
    }
    wait_until(&f->done, strip);
    set(&f->done, strip + 1);
    for (int64_t k = 0; k < n_open; k++) {
        int64_t b = hand->open[k];
        double *row = f->spare + place_less(f->m, b), *late = hand->late + k * STRIP;
        if (k + AHEAD < n_open) fetch_strip(f, hand->open[k + AHEAD], first);
        for (int64_t a = first > b ? first : b + 1; a < last; a++)
            row[a] = added(&f->criterion, row[a], late[a - first]);
    }
}

/* --- the whole table --- */

/* Say which rows become which; the first table is written to a place of its own, later ones shrink where they lie. */
static void plan_fold(Folding *f)
{
    f->spare = f->own ? f->own : large_room((size_t)f->m * (size_t)(f->m - 1) / 2 * sizeof(double) + sizeof(double));
    if (!f->spare) {
        f->end = WITHOUT_MEMORY;
        return;
    }
    for (int64_t a = 0; a < f->m; a++) f->place[f->alive[a]] = (int32_t)a;
    for (int64_t i = 0; i < f->rows; i++) f->place[i] = f->place[f->owner[i]]; /* owners come first */
}

/* From now on every cluster is one row. */
static void take_folded(Folding *f)
{
    for (int64_t a = 0; a < f->m; a++) {
        int64_t p = f->alive[a];
        f->weight[a] = f->weight[p];
        f->spread[a] = f->spread[p];
        f->name[a] = f->name[p];
        f->alive[a] = f->owner[a] = f->last[a] = (int32_t)a;
        f->next[a] = NONE;
        f->size[a] = 1;
        f->share[a] = 1.0;
        f->born[a] = 0;
    }
    f->own = f->spare;
    f->rows = f->m;
}

/* Write the table anew, one row for every cluster. */
static void fold(Folding *f, Hand *hand, int first)
{
    int64_t strip;
    meet(f);
    if (first) plan_fold(f);
    meet(f);
    if (f->end == WITHOUT_MEMORY) return;
    while ((strip = take(&f->taken_next)) * STRIP < f->m) fold_strip(f, hand, strip);
    meet(f);
    if (first) {
        take_folded(f);
        begin_search(f);
    }
    meet(f);
}

#endif
