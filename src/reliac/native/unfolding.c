/* From the condensed form of a matrix of distances to the square one. */

#include "shared.h"

#define SIDE 32 /* rows and columns of a block: what is written across them stays in the cache */

/* Write condensed distances of n objects into ``square`` (n, n), both halves; the diagonal is zero. */
EXPORTED int64_t reliac_unfold(int64_t n, const double *condensed, double *square)
{
    for (int64_t first = 0; first < n; first += SIDE)
        for (int64_t begin = first; begin < n; begin += SIDE) {
            int64_t last = first + SIDE < n ? first + SIDE : n, end = begin + SIDE < n ? begin + SIDE : n;
            for (int64_t i = first; i < last; i++) {
                const double *row = condensed + place_less(n, i); /* the distance of i and j is row[j] */
                for (int64_t j = begin > i ? begin : i + 1; j < end; j++) square[i * n + j] = square[j * n + i] = row[j];
            }
        }
    for (int64_t i = 0; i < n; i++) square[i * n + i] = 0.0;
    return n;
}
