/* Whether points can have some distances. */

#include "shared.h"

#define MOST 64  /* objects that are looked at, at most */
#define PIVOTS 4 /* rows that are taken off the others together, which reads and writes these less often */

/* Take row k off row i, both of a symmetric matrix, from column ``first`` on. */
static inline void take_off(double *restrict row, const double *restrict pivot, int64_t k, int64_t i, int64_t first)
{
    double share = pivot[i] / pivot[k];
    for (int64_t j = first; j < MOST; j++) row[j] -= share * pivot[j];
}

/* Eliminate row after row of a symmetric matrix (MOST, MOST), as for a Cholesky factor: 1 if every pivot is above 0. What is
   below the diagonal is not looked at, and overwritten. */
FOR_WIDE_PROCESSORS static int is_positive(double *restrict matrix)
{
    for (int64_t k = 0; k < MOST; k += PIVOTS) {
        double *one = matrix + k * MOST, *two = one + MOST, *three = two + MOST, *four = three + MOST;
        if (!(one[k] > 0.0)) return 0;
        take_off(two, one, k, k + 1, k);
        if (!(two[k + 1] > 0.0)) return 0;
        take_off(three, one, k, k + 2, k);
        take_off(three, two, k + 1, k + 2, k);
        if (!(three[k + 2] > 0.0)) return 0;
        take_off(four, one, k, k + 3, k);
        take_off(four, two, k + 1, k + 3, k);
        take_off(four, three, k + 2, k + 3, k);
        if (!(four[k + 3] > 0.0)) return 0;
        for (int64_t i = k + PIVOTS; i < MOST; i++) {
            double a = one[i] / one[k], b = two[i] / two[k + 1], c = three[i] / three[k + 2], d = four[i] / four[k + 3];
            double *row = matrix + i * MOST;
            for (int64_t j = i / PIVOTS * PIVOTS; j < MOST; j++) /* from where registers begin */
                row[j] -= a * one[j] + b * two[j] + c * three[j] + d * four[j];
        }
    }
    return 1;
}

/* Look at the distances of m of n objects: their squares, centred both ways, have no eigenvalue below minus ``tolerance``
   times the largest: 1; if that is not sure: 0. The twin of _surely_positive in input/distances.py, which says more.
   ``across``: numbers from one row to the next, or 0 if ``given`` is condensed. */
EXPORTED int64_t reliac_surely_points(int64_t n, const double *given, int64_t across, int64_t m, const int64_t *objects,
                                      double tolerance)
{
    double matrix[MOST * MOST] = {0.0}, mean[MOST] = {0.0}, all = 0.0, largest = 0.0;
    if (m < 1 || m > MOST) return 0;
    for (int64_t a = 0; a < m; a++) {
        int64_t i = objects[a], row = across ? i * across : place_less(n, i);
        for (int64_t b = a + 1; b < m; b++) {
            double distance = given[row + objects[b]];
            matrix[a * MOST + b] = matrix[b * MOST + a] = distance * distance;
        }
    }
    for (int64_t a = 0; a < m; a++) {
        for (int64_t b = 0; b < m; b++) mean[b] += matrix[a * MOST + b];
    }
    for (int64_t a = 0; a < m; a++) {
        mean[a] /= (double)m;
        all += mean[a] / (double)m;
    }
    for (int64_t a = 0; a < m; a++) {
        for (int64_t b = 0; b < m; b++) matrix[a * MOST + b] = (mean[a] + mean[b] - all - matrix[a * MOST + b]) / 2.0;
        if (matrix[a * MOST + a] > largest) largest = matrix[a * MOST + a];
    }
    for (int64_t a = 0; a < m; a++) matrix[a * MOST + a] += 0.5 * tolerance * largest;
    for (int64_t a = m; a < MOST; a++) matrix[a * MOST + a] = 1.0; /* nobody is there, and nobody is taken off */
    return is_positive(matrix);
}
