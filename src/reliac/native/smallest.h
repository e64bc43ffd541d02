/* The search for the smallest of many numbers. */

#ifndef RELIAC_SMALLEST_H
#define RELIAC_SMALLEST_H

#include "shared.h"

#define LANES 8                  /* numbers that are looked at side by side, at most: of so many there is no rest */
#define ONCE ((int64_t)1 << 32) /* more than the sum of all places in a row of a table */

/* The smallest of m numbers, where it is for the first time, and whether it is there again. Without branches: those that
   depend on numbers take longer than a look at all of them. */
FOR_WIDE_PROCESSORS static double smallest_of(int64_t m, const double *restrict values, int64_t *where, int *again)
{
    double best = INFINITY;
    int64_t found = 0;
    SIDE_BY_SIDE(reduction(min : best))
    for (int64_t c = 0; c < m; c++) best = values[c] < best ? values[c] : best;
    for (int64_t c = 0; c < m; c++) found += values[c] == best ? ONCE + c : 0; /* how often, and the sum of the places */
    *again = found >= 2 * ONCE;
    *where = found % ONCE; /* the place, if there is only one */
    if (*again)
        for (*where = 0; values[*where] != best; ++*where) {}
    return best;
}

/* So many numbers, and empty ones behind them until there is no rest. */
static inline int64_t without_rest(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

#endif
