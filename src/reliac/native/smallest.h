/* The search for the smallest of many numbers. */

#ifndef RELIAC_SMALLEST_H
#define RELIAC_SMALLEST_H

#include "shared.h"

/* The smallest of m numbers, where it is for the first time, and whether it is there again. Without branches: those that
   depend on numbers take longer than a look at all of them. */
FOR_WIDE_PROCESSORS static double smallest_of(int64_t m, const double *restrict values, int64_t *where, int *again)
{
    const double *later = values + m / 2;
    double best = INFINITY, other = INFINITY;
    int64_t count = 0, sum = 0;
    SIDE_BY_SIDE(reduction(min : best, other))
    for (int64_t c = 0; c < m / 2; c++) {
        best = values[c] < best ? values[c] : best;
        other = later[c] < other ? later[c] : other;
    }
    if (m % 2) other = values[m - 1] < other ? values[m - 1] : other;
    best = other < best ? other : best;
    for (int64_t c = 0; c < m; c++) {
        count += values[c] == best;
        sum += values[c] == best ? c : 0; /* of the places where it is: the place, if there is only one */
    }
    if (count > 1)
        for (sum = 0; values[sum] != best; sum++) {}
    *where = count ? sum : m;
    *again = count > 1;
    return best;
}

#endif
