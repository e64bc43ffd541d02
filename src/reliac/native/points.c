/* Whether points can have some distances. */

#include "shared.h"

#define MOST 64 /* objects that are looked at, at most */

/* Eliminate row after row of a symmetric matrix, as for a Cholesky factor: 1 if every pivot is above 0. */
FOR_ALL_PROCESSORS static int is_positive(int64_t m, double *matrix)
{
    for (int64_t k = 0; k < m; k++) {
        const double *row = matrix + k * m;
        if (!(row[k] > 0.0)) return 0;
        for (int64_t i = k + 1; i < m; i++) {
            double *other = matrix + i * m, share = row[i] / row[k];
            for (int64_t j = i; j < m; j++) other[j] -= share * row[j];
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
    double matrix[MOST * MOST], mean[MOST], all = 0.0, largest = 0.0;
    if (m < 1 || m > MOST) return 0;
    for (int64_t a = 0; a < m; a++) {
        int64_t i = objects[a], row = across ? i * across : place_less(n, i);
        matrix[a * m + a] = 0.0;
        for (int64_t b = a + 1; b < m; b++) {
            double distance = given[row + objects[b]];
            matrix[a * m + b] = matrix[b * m + a] = distance * distance;
        }
    }
    for (int64_t a = 0; a < m; a++) {
        mean[a] = 0.0;
        for (int64_t b = 0; b < m; b++) mean[a] += matrix[a * m + b];
        mean[a] /= (double)m;
        all += mean[a] / (double)m;
    }
    for (int64_t a = 0; a < m; a++) {
        for (int64_t b = 0; b < m; b++) matrix[a * m + b] = (mean[a] + mean[b] - all - matrix[a * m + b]) / 2.0;
        if (matrix[a * m + a] > largest) largest = matrix[a * m + a];
    }
    for (int64_t a = 0; a < m; a++) matrix[a * m + a] += 0.5 * tolerance * largest;
    return is_positive(m, matrix);
}
