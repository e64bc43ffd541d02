/* All levels of a few objects by the smallest distance, where nothing is tied: what engines/small/edges.py does.

   The minimum spanning tree knows everything. Its edges are taken from the shortest on: a cluster that is complete below
   a length has nothing nearer than its edge of that length, which is reliable one level after both ends are complete.
*/

#include "smallest.h"
#include "sorting.h"

typedef struct {
    int64_t i, j;
    double distance;
} Edge;

typedef struct {
    int64_t level, edge, p, q, i, j;
} Link;

/* What is known of the objects outside the tree, in their order, and room for what is made of it. */
typedef struct {
    double *near;             /* (n + LANES,): the distance to the nearest object in the tree; infinite behind them */
    int64_t *inner, *outside; /* (n,): which that is, and the object itself */
    int64_t *column;          /* (n,): where its row begins: see place_less */
    Place *places, *room;     /* (n,): edges in order */
    Edge *grown, *edges;      /* (n,): as they were found, and in order */
    Link *taken, *links;      /* (n,): in the order of their edges, and in that of their levels */
} Desk;

/* Take object x from the ``next``-th place of those outside into the tree, which leaves ``left`` of them; those that are nearer to x
   than to all others in the tree note that. Returns whether some are as near as before. */
FOR_WIDE_PROCESSORS static int take_in(int64_t n, int64_t left, int64_t x, int64_t next, const double *restrict distances,
                                       double *restrict near, int64_t *restrict inner, int64_t *restrict outside,
                                       int64_t *restrict column)
{
    const double *own = distances + place_less(n, x), *others = distances + x;
    int64_t tied = 0;
    for (int64_t k = 0; k < next; k++) {
        double distance = others[column[k]], before = near[k];
        tied |= distance == before;
        inner[k] = distance < before ? x : inner[k];
        near[k] = distance < before ? distance : before;
    }
    for (int64_t k = next; k < left; k++) { /* these move by one place */
        double distance = own[outside[k + 1]], before = near[k + 1];
        tied |= distance == before;
        inner[k] = distance < before ? x : inner[k + 1];
        near[k] = distance < before ? distance : before;
        outside[k] = outside[k + 1];
        column[k] = column[k + 1];
    }
    return tied != 0;
}

/* Grow the minimum spanning tree from object 0 on (Prim), and write its edges by length. TIED if another tree could be as
   short: equal distances count as ties wherever they are met on the way. */
static int grow_tree(int64_t n, const double *distances, Desk *desk)
{
    int64_t next = 0, x = 0;
    for (int64_t k = 0; k < n + LANES; k++) desk->near[k] = INFINITY;
    for (int64_t k = 0; k < n; k++) {
        desk->outside[k] = k;
        desk->column[k] = place_less(n, k);
        desk->inner[k] = 0;
    }
    for (int64_t left = n - 1, count = 0; left > 0; left--, count++) {
        int again;
        if (take_in(n, left, x, next, distances, desk->near, desk->inner, desk->outside, desk->column)) return TIED;
        desk->near[left] = INFINITY;
        desk->places[count] = (Place){smallest_of(without_rest(left), desk->near, &next, &again), count};
        if (again) return TIED;
        x = desk->outside[next];
        desk->grown[count] = (Edge){desk->inner[next], x, desk->places[count].distance};
    }
    sort_places(n - 1, desk->places, desk->room);
    for (int64_t k = 0; k < n - 1; k++) {
        desk->edges[k] = desk->grown[desk->places[k].which];
        if (k && desk->edges[k].distance == desk->edges[k - 1].distance) return TIED;
    }
    return 0;
}

/* Take edges up to a length, all reliable ones at every level, or the shortest one, and write them by level; return the
   number of links. */
static int64_t take_edges(int64_t n, double longest, int only_smallest, Desk *desk)
{
    int64_t count = 0, *first = desk->outside, *ready = desk->inner, *begin = desk->column;
    for (int64_t x = 0; x < n; x++) {
        first[x] = x;
        ready[x] = begin[x] = 0;
    }
    for (; count < n - 1 && desk->edges[count].distance <= longest; count++) {
        int64_t i = desk->edges[count].i, j = desk->edges[count].j, p = top(first, i), q = top(first, j);
        int64_t level = only_smallest ? count + 1 : (ready[p] > ready[q] ? ready[p] : ready[q]) + 1;
        desk->taken[count] = p < q ? (Link){level, count, p, q, i, j} : (Link){level, count, q, p, j, i};
        first[p < q ? q : p] = p < q ? p : q;
        ready[p < q ? p : q] = level;
        begin[level]++;
    }
    for (int64_t level = 1, before = 0; level < n; level++) { /* how many are on a level becomes where they begin */
        int64_t here = begin[level];
        begin[level] = before;
        before += here;
    }
    for (int64_t k = 0; k < count; k++) desk->links[begin[desk->taken[k].level]++] = desk->taken[k];
    return count;
}

/* Run the levels of n objects, given their distances, condensed. Returns the number of links, ``most_links`` at most, of which
   ``found`` (5, n) tells: the level, the two clusters by their first objects, and the nearest objects of both; and
   ``distance`` (n,). */
EXPORTED int64_t reliac_single(int64_t n, const double *distances, int32_t only_smallest, int64_t most_links, double max_level,
                               double longest, int64_t *found, double *distance)
{
    size_t most = (size_t)(n > 0 ? n : 1);
    size_t of_an_object = 3 * sizeof(int64_t) + 2 * (sizeof(Place) + sizeof(Edge) + sizeof(Link));
    Desk desk = {.near = malloc((most + LANES) * sizeof(double) + most * of_an_object)};
    int64_t count, taken = 0;
    if (!desk.near) return NO_MEMORY;
    desk.inner = (int64_t *)(desk.near + most + LANES);
    desk.outside = desk.inner + most;
    desk.column = desk.outside + most;
    desk.places = (Place *)(desk.column + most);
    desk.room = desk.places + most;
    desk.grown = (Edge *)(desk.room + most);
    desk.edges = desk.grown + most;
    desk.taken = (Link *)(desk.edges + most);
    desk.links = desk.taken + most;
    count = grow_tree(n, distances, &desk);
    if (count != TIED) count = take_edges(n, longest, only_smallest, &desk);
    for (; taken < count && taken < most_links && (double)desk.links[taken].level <= max_level; taken++) {
        const Link *link = &desk.links[taken];
        found[taken] = link->level;
        found[n + taken] = link->p;
        found[2 * n + taken] = link->q;
        found[3 * n + taken] = link->i;
        found[4 * n + taken] = link->j;
        distance[taken] = desk.edges[link->edge].distance;
    }
    free(desk.near);
    return count < 0 ? count : taken;
}
