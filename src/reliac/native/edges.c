/* All levels of a few objects by the smallest distance, where nothing is tied: what engines/small/edges.py does.

   The minimum spanning tree knows everything. Its edges are taken from the shortest on: a cluster that is complete below
   a length has nothing nearer than its edge of that length, which is reliable one level after both ends are complete.
*/

#include "smallest.h"

typedef struct {
    int64_t i, j;
    double distance;
} Edge;

typedef struct {
    int64_t level, edge, p, q, i, j;
} Link;

static int by_distance(const void *one, const void *other)
{
    const Edge *a = one, *b = other;
    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

static int by_level(const void *one, const void *other)
{
    const Link *a = one, *b = other;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    return a->edge < b->edge ? -1 : a->edge > b->edge; /* edges are sorted by distance */
}

/* Grow the minimum spanning tree from object 0 on (Prim). TIED if another tree could be as short: equal distances count
   as ties wherever they are met on the way. ``near`` (n,), ``outside``, ``inner`` (n,): room. */
static int grow_tree(int64_t n, const double *distances, double *near, int64_t *outside, int64_t *inner, Edge *edges)
{
    int64_t left = n - 1, x = 0;
    for (int64_t k = 0; k < left; k++) {
        outside[k] = k + 1;
        near[k] = INFINITY;
    }
    for (int64_t count = 0; left > 0; count++) {
        int64_t next, row = place_less(n, x);
        int again;
        for (int64_t k = 0; k < left; k++) {
            int64_t c = outside[k];
            double distance = distances[c > x ? row + c : place_less(n, c) + x];
            if (distance > near[k]) continue;
            if (distance == near[k]) return TIED;
            near[k] = distance;
            inner[k] = x;
        }
        edges[count].distance = smallest_of(left, near, &next, &again);
        if (again) return TIED;
        edges[count].i = inner[next];
        edges[count].j = x = outside[next];
        left--;
        near[next] = near[left];
        inner[next] = inner[left];
        outside[next] = outside[left];
    }
    qsort(edges, (size_t)(n - 1), sizeof(Edge), by_distance);
    for (int64_t k = 1; k < n - 1; k++)
        if (edges[k].distance == edges[k - 1].distance) return TIED;
    return 0;
}

/* Take edges up to a length, all reliable ones at every level, or the shortest one; return the number of links. */
static int64_t take_edges(int64_t n, const Edge *edges, double longest, int only_smallest, int64_t *first, int64_t *ready,
                          Link *links)
{
    int64_t count = 0;
    for (int64_t x = 0; x < n; x++) {
        first[x] = x;
        ready[x] = 0;
    }
    for (; count < n - 1 && edges[count].distance <= longest; count++) {
        int64_t i = edges[count].i, j = edges[count].j, p = top(first, i), q = top(first, j);
        int64_t level = only_smallest ? count + 1 : (ready[p] > ready[q] ? ready[p] : ready[q]) + 1;
        links[count] = p < q ? (Link){level, count, p, q, i, j} : (Link){level, count, q, p, j, i};
        first[p < q ? q : p] = p < q ? p : q;
        ready[p < q ? p : q] = level;
    }
    qsort(links, (size_t)count, sizeof(Link), by_level);
    return count;
}

/* Run the levels of n objects, given their distances, condensed. Returns the number of links, ``most`` at most, of which
   ``found`` (5, n) tells: the level, the two clusters by their first objects, and the nearest objects of both; and
   ``distance`` (n,). */
EXPORTED int64_t reliac_single(int64_t n, const double *distances, int32_t only_smallest, int64_t most, double max_level,
                               double longest, int64_t *found, double *distance)
{
    size_t room = (size_t)(n > 0 ? n : 1);
    double *near = malloc(room * sizeof(double));
    int64_t *places = malloc(2 * room * sizeof(int64_t)), count = NO_MEMORY, taken = 0;
    Edge *edges = malloc(room * sizeof(Edge));
    Link *links = malloc(room * sizeof(Link));
    if (near && places && edges && links) {
        count = grow_tree(n, distances, near, places, places + room, edges);
        if (count != TIED) count = take_edges(n, edges, longest, only_smallest, places, places + room, links);
        for (; taken < count && taken < most && (double)links[taken].level <= max_level; taken++) {
            const Link *link = &links[taken];
            found[taken] = link->level;
            found[n + taken] = link->p;
            found[2 * n + taken] = link->q;
            found[3 * n + taken] = link->i;
            found[4 * n + taken] = link->j;
            distance[taken] = edges[link->edge].distance;
        }
    }
    free(near);
    free(places);
    free(edges);
    free(links);
    return count < 0 ? count : taken;
}
