/* A hash of numbers, by which data are recognised. */

#include <string.h>

#include "shared.h"

/* The sum of the bits of numbers, mixed with their places: the twin of _mixed in input/fingerprints.py, bit for bit. */
FOR_WIDE_PROCESSORS static uint64_t mixed(int64_t count, const double *numbers)
{
    uint64_t sum = 0, place = 0;
    for (int64_t k = 0; k < count; k++) {
        double number = numbers[k] + 0.0; /* -0.0 becomes 0.0 */
        uint64_t word;
        memcpy(&word, &number, sizeof word);
        word += place += 0x9E3779B97F4A7C15u;
        word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93u;
        word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93u;
        sum += word;
    }
    return sum;
}

/* A function that others call is not made for several processors itself. */
EXPORTED int64_t reliac_mixed(int64_t count, const double *numbers) { return (int64_t)mixed(count, numbers); }
