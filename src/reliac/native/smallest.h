/* The search for the smallest of many numbers. */

#ifndef RELIAC_SMALLEST_H
#define RELIAC_SMALLEST_H

#include "shared.h"

#define LANES 16 /* smallest numbers that are looked for side by side */
#define BLOCK 64 /* numbers that are compared at once */

/* The smallest of m numbers, where it is for the first time, and whether it is there again. */
FOR_ALL_PROCESSORS static double smallest_of(int64_t m, const double *restrict values, int64_t *where, int *again)
{
    double lane[LANES], best;
    int64_t c, count = 0, first = m;
    for (int k = 0; k < LANES; k++) lane[k] = INFINITY;
    for (c = 0; c + LANES <= m; c += LANES)
        for (int k = 0; k < LANES; k++) lane[k] = values[c + k] < lane[k] ? values[c + k] : lane[k];
    best = lane[0];
    for (int k = 1; k < LANES; k++) best = lane[k] < best ? lane[k] : best;
    for (; c < m; c++) best = values[c] < best ? values[c] : best;
    for (c = 0; c < m; c += BLOCK) { /* in blocks, most of which do not have it */
        int64_t here = 0, end = c + BLOCK < m ? c + BLOCK : m;
        for (int64_t i = c; i < end; i++) here += values[i] == best;
        if (here && first == m)
            for (first = c; values[first] != best; first++) {}
        count += here;
    }
    *where = first;
    *again = count > 1;
    return best;
}

#endif
