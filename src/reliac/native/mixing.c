/* A hash of numbers, by which data are recognised. */

#include <string.h>

#include "shared.h"

/* The sum of the bits of numbers, mixed with their places: the twin of _mixed in input/fingerprints.py, bit for bit. So many
   numbers come before them. */
FOR_WIDE_PROCESSORS static uint64_t mixed(int64_t count, const double *numbers, int64_t before)
{
    uint64_t sum = 0, step = 0x9E3779B97F4A7C15u, place = (uint64_t)before * step;
    for (int64_t k = 0; k < count; k++) {
        double number = numbers[k] + 0.0; /* -0.0 becomes 0.0 */
        uint64_t word;
        memcpy(&word, &number, sizeof word);
        word += place += step;
        word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93u;
        word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93u;
        sum += word;
    }
    return sum;
}

/* The same of every ``step``-th row of a table of n rows, one after the other: of ``columns`` numbers each, or, with none, of the
   condensed distances of n objects. */
EXPORTED int64_t reliac_mixed(int64_t n, int64_t columns, int64_t step, const double *numbers)
{
    uint64_t sum = 0;
    int64_t all = columns ? n * columns : n * (n - 1) / 2, before = 0;
    if (step == 1) return (int64_t)mixed(all, numbers, 0);
    for (int64_t i = 0; i < (columns ? n : n - 1); i += step) {
        int64_t count = columns ? columns : n - 1 - i;
        sum += mixed(count, numbers + (columns ? i * columns : place_less(n, i) + i + 1), before);
        before += count;
    }
    return (int64_t)sum;
}
