/* What the C files share: how functions are seen from outside, for which processors, and what they return. */

#ifndef RELIAC_SHARED_H
#define RELIAC_SHARED_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* Loops over rows are compiled twice, and the wider registers are used where a processor has them. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_ALL_PROCESSORS __attribute__((target_clones("avx2", "default")))
#else
#define FOR_ALL_PROCESSORS
#endif

/* The same three times, for small tables: the widest registers take a row of a hundred numbers in a few steps. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_WIDE_PROCESSORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define FOR_WIDE_PROCESSORS FOR_ALL_PROCESSORS
#endif

/* Before a loop: its rounds are independent but for what ``clause`` says, so they may be done side by side. */
#if defined(__GNUC__)
#define SIDE_BY_SIDE_(words) _Pragma(#words)
#define SIDE_BY_SIDE(clause) SIDE_BY_SIDE_(omp simd clause)
#else
#define SIDE_BY_SIDE(clause)
#endif

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "numbers would be rounded otherwise than NumPy rounds them"
#endif

/* The first of the set that x is in, where every member leads to an earlier one; ways are halved. */
static inline int64_t top(int64_t *leader, int64_t x)
{
    while (leader[x] != x) x = leader[x] = leader[leader[x]];
    return x;
}

/* Where the distance of i and j > i is in the condensed form, less j: the twin of place_of in input/condensed.py. */
static inline int64_t place_less(int64_t n, int64_t i) { return n * i - i * (i + 1) / 2 - i - 1; }

/* One link, as LINK in tree/building.py has it. */
typedef struct {
    int64_t left, right;
    double distance;
    int64_t level, size;
} Record;

/* See unfolding.c, tables.c, edges.c, nodes.c and mixing.c. */
EXPORTED int64_t reliac_unfold(int64_t n, const double *condensed, double *square);
EXPORTED int64_t reliac_levels(int64_t n, double *stored, double *weight, int32_t sums, int32_t offset, int32_t by_size,
                               double factor, double joint, int32_t only_smallest, int32_t ties, int64_t n_clusters,
                               double max_level, double longest, int64_t *links, double *distance);
EXPORTED int64_t reliac_single(int64_t n, const double *distances, int32_t only_smallest, int64_t most_links, double max_level,
                               double longest, int64_t *found, double *distance);
EXPORTED int64_t reliac_nodes(int64_t n, int64_t count, const int64_t *ends, int64_t *made);
EXPORTED int64_t reliac_are_links(int64_t n, int64_t count, const Record *links, const int64_t *pairs);
EXPORTED int64_t reliac_mixed(int64_t n, int64_t columns, int64_t step, const double *numbers);

/* What a function returns instead of a number of links, when NumPy has to do it: something is tied; there is no memory;
   what was given makes no sense, of which Python tells more. */
enum { TIED = -1, NO_MEMORY = -2, NONSENSE = -3 };

#endif
