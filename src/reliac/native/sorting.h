/* Numbers in order, with what they belong to. */

#ifndef RELIAC_SORTING_H
#define RELIAC_SORTING_H

#include <string.h>

#include "shared.h"

#define RUN 8 /* numbers that are put in order one by one */

typedef struct {
    double distance;
    int64_t which;
} Place;

/* Sort by distance; what is equal keeps its order. ``room`` (count,). The sort of the C library calls a function for every
   two that it compares, which takes longer than the tree of a hundred objects. */
static inline void sort_places(int64_t count, Place *places, Place *room)
{
    Place *from = places, *to = room;
    for (int64_t begin = 0; begin < count; begin += RUN) {
        int64_t end = begin + RUN < count ? begin + RUN : count;
        for (int64_t k = begin + 1; k < end; k++) {
            Place moving = places[k];
            int64_t at = k;
            for (; at > begin && moving.distance < places[at - 1].distance; at--) places[at] = places[at - 1];
            places[at] = moving;
        }
    }
    for (int64_t run = RUN; run < count; run *= 2) { /* two runs in order become one */
        Place *other = from;
        for (int64_t begin = 0; begin < count; begin += 2 * run) {
            int64_t middle = begin + run < count ? begin + run : count, end = middle + run < count ? middle + run : count;
            int64_t a = begin, b = middle, k = begin;
            while (a < middle && b < end) { /* without a branch: nobody can guess which is smaller */
                int second = from[b].distance < from[a].distance;
                to[k++] = from[second ? b : a];
                b += second;
                a += !second;
            }
            while (a < middle) to[k++] = from[a++];
            while (b < end) to[k++] = from[b++];
        }
        from = to;
        to = other;
    }
    if (from != places) memcpy(places, from, (size_t)count * sizeof(Place));
}

#endif
