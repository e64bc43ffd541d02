/* One look through given distances: the smallest, the largest, and whether a square matrix is symmetric. Memory is what this
   takes long for, so each number is read once, with what comes next on the way. */

#include <string.h>

#include "shared.h"

#define TILE 32 /* rows and columns of a square matrix that are compared with their mirror image at once */
#define LINE 8  /* numbers that come from memory together */

#ifdef __GNUC__
#define FETCH(number) __builtin_prefetch(number)
#else
#define FETCH(number)
#endif

typedef struct {
    double low, high;
    double odd; /* a sum that is 0 unless some number is infinite, or none */
} Seen;

FOR_WIDE_PROCESSORS static void look_at(int64_t count, const double *restrict numbers, Seen *seen)
{
    double low = seen->low, high = seen->high, odd = seen->odd;
    SIDE_BY_SIDE(reduction(min : low) reduction(max : high) reduction(+ : odd))
    for (int64_t k = 0; k < count; k++) {
        low = numbers[k] < low ? numbers[k] : low;
        high = numbers[k] > high ? numbers[k] : high;
        odd += numbers[k] - numbers[k];
    }
    *seen = (Seen){low, high, odd};
}

static int64_t tell(Seen seen, double *extremes)
{
    extremes[0] = seen.odd == 0.0 ? seen.low : NAN;
    extremes[1] = seen.odd == 0.0 ? seen.high : NAN;
    return seen.odd == 0.0;
}

/* Tell the smallest and the largest of ``count`` numbers, NaN if one is not finite. */
EXPORTED int64_t reliac_extremes(int64_t count, const double *numbers, double *extremes)
{
    Seen seen = {INFINITY, -INFINITY, 0.0};
    look_at(count, numbers, &seen);
    return tell(seen, extremes);
}

/* Fetch the lines of a tile that stand in one row of it, and those of its mirror image. */
static inline void fetch_row(int64_t n, const double *tile, const double *mirror, int64_t row)
{
    FETCH(tile + row * n + TILE - 1);
    FETCH(mirror + row * n + TILE - 1);
    for (int64_t k = 0; k < TILE; k += LINE) {
        FETCH(tile + row * n + k);
        FETCH(mirror + row * n + k);
    }
}

static inline uint64_t bits_of(const double *number)
{
    uint64_t bits;
    memcpy(&bits, number, sizeof bits);
    return bits;
}

/* The bits in which the numbers of a tile differ from those of its mirror image: eight columns of it are rows there. */
static uint64_t differing(int64_t n, const double *restrict tile, const double *restrict mirror, int64_t rows,
                          int64_t columns)
{
    uint64_t bits = 0;
    int64_t whole = columns / LINE * LINE;
    for (int64_t j = 0; j < whole; j += LINE)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < LINE; k++) bits |= bits_of(tile + i * n + j + k) ^ bits_of(mirror + (j + k) * n + i);
    for (int64_t j = whole; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) bits |= bits_of(tile + i * n + j) ^ bits_of(mirror + j * n + i);
    return bits;
}

/* Look at rows ``first`` to ``stop`` of a square matrix of n rows, from the diagonal on, and at their mirror image. Returns
   whether the two are equal to the bit; if not, ``extremes`` may tell of one of them only. */
EXPORTED int64_t reliac_look(int64_t n, const double *numbers, int64_t first, int64_t stop, double *extremes)
{
    Seen seen = {INFINITY, -INFINITY, 0.0};
    uint64_t bits = 0;
    for (int64_t i = first; i < stop; i += TILE) {
        int64_t rows = i + TILE < stop ? TILE : stop - i;
        for (int64_t j = i; j < n; j += TILE) {
            int64_t columns = j + TILE < n ? TILE : n - j, next = j + TILE;
            for (int64_t r = 0; r < rows; r++) {
                if (next + TILE <= n) fetch_row(n, numbers + i * n + next, numbers + next * n + i, r);
                look_at(columns, numbers + (i + r) * n + j, &seen);
            }
            bits |= differing(n, numbers + i * n + j, numbers + j * n + i, rows, columns);
        }
    }
    tell(seen, extremes);
    return bits == 0;
}
