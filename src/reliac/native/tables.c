/* All levels of one small table: what tables.py, levels.py and one_by_one.py in engines/small do.

   Every number has the bits that NumPy gives it, so no product and sum may be fused (-ffp-contract=off). What is left to
   NumPy (TIED): groups of three or more where parts count alike, whose shares are not halves, and very many ties.

   A table has m rows of m numbers. A row whose cluster was joined into another one is "gone": infinitely far from all.
*/

#include "searching.h"

/* --- joining --- */

FOR_WIDE_PROCESSORS static void join_rows(const Criterion *criterion, int64_t m, double *one, const double *other)
{
    if (criterion->sums)
        for (int64_t c = 0; c < m; c++) one[c] = one[c] * criterion->factor + other[c] * criterion->factor;
    else
        for (int64_t c = 0; c < m; c++) one[c] = one[c] > other[c] ? one[c] : other[c];
}

/* Make groups of the links of a level, each a chain of parts in order, and note who is to be searched because of that. */
static int begin_join(Table *t)
{
    int64_t kept = 0, *last = t->their_near; /* room: of every group the part that was found last */
    t->n_fresh = t->n_lost = 0;
    for (int64_t a = 0; a < t->count; a++) {
        int64_t r = t->alive[a], head = top(t->moved, r);
        if (head == r) continue;
        if (t->part[head] == NONE) {
            t->part[head] = r;
            t->fresh[t->n_fresh++] = head;
        } else if (t->criterion.joint > 0.0) {
            return TIED;
        } else {
            t->next[last[head]] = r;
        }
        last[head] = r;
        t->part[r] = GONE;
        t->next[r] = NONE;
    }
    for (int64_t a = 0; a < t->count; a++) {
        int64_t r = t->alive[a];
        if (t->part[r] == GONE) continue;
        t->alive[kept++] = r;
        if (t->part[r] < 0 && (t->tied[r] || t->part[t->near[r]] != NONE)) t->lost[t->n_lost++] = r;
    }
    t->count = kept;
    for (int64_t k = 0; k < t->n_fresh; k++) {
        int64_t p = t->fresh[k];
        for (int64_t q = t->part[p]; q != NONE; q = t->next[q])
            t->weight[p] = t->criterion.joint > 0.0 ? t->criterion.joint : t->weight[p] + t->weight[q];
    }
    return 0;
}

/* The same for one link, the smallest of all, in one pass. Who loses its nearest is searched later. */
static void begin_join_of_one(Table *t)
{
    const Link *link = t->links;
    int64_t kept = 0, p = link->p < link->q ? link->p : link->q, q = link->p < link->q ? link->q : link->p;
    t->part[p] = q;
    t->part[q] = GONE;
    t->next[q] = NONE;
    t->fresh[0] = p;
    t->n_fresh = 1;
    t->n_lost = 0;
    for (int64_t a = 0; a < t->count; a++) {
        int64_t r = t->alive[a], near = t->near[r];
        t->alive[kept] = r;
        kept += r != q;
        t->unsure[r] |= near == p || near == q;
    }
    t->count = kept;
    t->weight[p] = t->criterion.joint > 0.0 ? t->criterion.joint : t->weight[p] + t->weight[q];
    t->unsure[p] = 0;
}

/* Add the rows of its parts to the row of a new cluster. */
static void join_parts(Table *t, int64_t p)
{
    for (int64_t q = t->part[p]; q != NONE; q = t->next[q])
        join_rows(&t->criterion, t->m, t->stored + p * t->m, t->stored + q * t->m);
}

/* What the numbers of a row become where the columns of group p are joined. */
static double joined_parts(const Table *t, const double *row, int64_t p)
{
    double value = row[p];
    for (int64_t q = t->part[p]; q != NONE; q = t->next[q]) value = joined(&t->criterion, value, row[q]);
    return value;
}

/* Join rows and columns where they are: for levels that join few clusters. */
static void join_in_place(Table *t)
{
    int64_t m = t->m, h = t->n_fresh;
    for (int64_t k = 0; k < h; k++) join_parts(t, t->fresh[k]);
    for (int64_t j = 0; j < h; j++)
        for (int64_t k = 0; k < h; k++)
            t->corner[j * h + k] = joined_parts(t, t->stored + t->fresh[j] * m, t->fresh[k]);
    for (int64_t k = 0; k < h; k++) {
        int64_t p = t->fresh[k];
        double *row = t->stored + p * m;
        for (int64_t j = 0; j < h; j++) { /* the larger of both: the same bits on both sides */
            double one = t->corner[k * h + j], other = t->corner[j * h + k];
            row[t->fresh[j]] = one > other ? one : other;
            for (int64_t q = t->part[t->fresh[j]]; q != NONE; q = t->next[q]) row[q] = INFINITY;
        }
        if (t->criterion.sums)
            t->spread[p] = row[p];
        else
            row[p] = INFINITY;
        for (int64_t a = 0; a < t->count; a++) {
            int64_t r = t->alive[a];
            if (t->part[r] >= 0) continue;
            t->stored[r * m + p] = row[r];
            for (int64_t q = t->part[p]; q != NONE; q = t->next[q]) t->stored[r * m + q] = INFINITY;
            for (int64_t q = t->kept ? t->part[p] : NONE; q != NONE; q = t->next[q]) t->kept[r * m + q] = INFINITY;
        }
        for (int64_t q = t->part[p]; q != NONE; q = t->next[q]) {
            t->spread[q] = 0.0;
            t->smallest[q] = -INFINITY;
        }
    }
}

/* Write the rows and columns that are not gone to the front of a table, row by row, with empty columns behind them, in which
   all is infinite. A row is written where it, or one before it, was: those that are still to be read lie behind. */
static void move_row(const Table *t, double *table, int64_t a, int64_t width, int64_t wide)
{
    const double *row = table + t->alive[a] * t->m;
    double *to = table + a * wide;
    for (int64_t b = 0; b < width; b++) to[b] = row[t->alive[b]]; /* never written before it is read */
    for (int64_t b = width; b < wide; b++) to[b] = INFINITY;
}

/* The same for the stored numbers, joined on the way. */
static void contract_stored(Table *t, int64_t width, int64_t wide)
{
    for (int64_t a = 0; a < width; a++) {
        int64_t r = t->alive[a];
        if (t->part[r] >= 0) join_parts(t, r);
        for (int64_t k = 0; k < t->n_fresh; k++) t->found[k] = joined_parts(t, t->stored + r * t->m, t->fresh[k]);
        move_row(t, t->stored, a, width, wide);
        for (int64_t k = 0; k < t->n_fresh; k++) t->stored[a * wide + t->moved[t->fresh[k]]] = t->found[k];
    }
    for (int64_t j = 0; j < t->n_fresh; j++) /* the larger of both: the same bits on both sides */
        for (int64_t k = 0; k < j; k++) {
            double *one = t->stored + t->moved[t->fresh[j]] * wide + t->moved[t->fresh[k]];
            double *other = t->stored + t->moved[t->fresh[k]] * wide + t->moved[t->fresh[j]];
            *one = *other = *one > *other ? *one : *other;
        }
}

/* Write what is known of clusters to the front, and their new places. */
static void contract_clusters(Table *t, int64_t width, int64_t wide)
{
    for (int64_t a = 0; a < width; a++) {
        int64_t r = t->alive[a];
        t->weight[a] = t->weight[r];
        t->smallest[a] = t->smallest[r];
        t->tied[a] = t->tied[r];
        t->name[a] = t->name[r];
        t->near[a] = t->near[r];
        t->unsure[a] = t->unsure[r];
        t->alive[a] = a;
        t->spread[a] = t->criterion.sums ? t->stored[a * wide + a] : 0.0;
        if (!t->criterion.sums) t->stored[a * wide + a] = INFINITY;
        t->found[a] = (double)t->unsure[a]; /* marks those whose nearest is not known */
        t->part[a] = NONE;
    }
    for (int64_t a = width; a < wide; a++) { /* nobody is there */
        t->weight[a] = 1.0;
        t->spread[a] = 0.0;
        t->smallest[a] = -INFINITY;
    }
    for (int64_t k = 0; k < t->n_fresh; k++) t->found[t->fresh[k] = t->moved[t->fresh[k]]] = 1.0;
    for (int64_t k = 0; k < t->n_lost; k++) t->found[t->lost[k] = t->moved[t->lost[k]]] = 1.0;
    for (int64_t a = 0; a < width; a++) t->near[a] = t->found[a] > 0.0 ? a : t->moved[t->near[a]];
}

/* Join, and write what is not gone to the front. From then on distances are kept, if they stay in the cache. */
static void contract(Table *t)
{
    int64_t width = t->count, wide = without_rest(width) <= t->m ? without_rest(width) : width;
    for (int64_t a = 0; a < width; a++) t->moved[t->alive[a]] = a;
    contract_stored(t, width, wide);
    for (int64_t a = 0; a < width && t->kept; a++) move_row(t, t->kept, a, width, wide);
    contract_clusters(t, width, wide);
    t->m = wide;
    if (!t->criterion.sums || t->kept || wide > MOST_KEPT) return;
    t->kept = t->room_to_keep;
    for (int64_t a = 0; a < width; a++) write_distances(t, a, t->kept + a * wide);
}

/* Join along the links of a level. */
static int join(Table *t, int64_t n_links, int only_smallest)
{
    int64_t before = t->count;
    if (only_smallest)
        begin_join_of_one(t);
    else if (begin_join(t) == TIED)
        return TIED;
    if (3 * n_links >= before || 2 * t->count < t->m) {
        contract(t);
    } else {
        join_in_place(t);
        for (int64_t k = 0; k < t->n_fresh; k++) t->part[t->fresh[k]] = NONE; /* of those that are gone nobody asks */
    }
    return 0;
}

/* --- all levels --- */

/* Everything in one piece: several large ones make the system take memory back after every call, and clear it anew. */
static int make_room(Table *t, int64_t n)
{
    size_t most = (size_t)(n > 0 ? n : 1), corner = most / 3 + 1, kept = most < MOST_KEPT ? most : MOST_KEPT;
    size_t numbers = 4 * most + corner * corner + (t->criterion.sums ? kept * kept : 0);
    char *room = malloc(numbers * sizeof(double) + 11 * most * sizeof(int64_t) + MANY_TIES * most * sizeof(Link));
    int64_t *places = (int64_t *)(room + numbers * sizeof(double));
    if (!room) return NO_MEMORY;
    t->spread = (double *)room;
    t->smallest = t->spread + most;
    t->distance = t->spread + 2 * most;
    t->found = t->spread + 3 * most;
    t->corner = t->spread + 4 * most;
    t->room_to_keep = t->corner + corner * corner;
    t->near = places;
    t->name = places + most;
    t->alive = places + 2 * most;
    t->part = places + 3 * most;
    t->moved = places + 4 * most;
    t->fresh = places + 5 * most;
    t->lost = places + 6 * most;
    t->their_near = places + 7 * most;
    t->unsure = places + 8 * most;
    t->next = places + 9 * most;
    t->tied = places + 10 * most;
    t->links = (Link *)(places + 11 * most);
    return 0;
}

/* Run the levels of a table of n objects, which is overwritten, and so are the weights. Returns the number of links, of
   which ``links`` (3, n), the level and the two clusters by their first objects, and ``distance`` (n,) tell; TIED or
   NO_MEMORY if NumPy has to do it. ``ties``: 0 if the first tie ends the work, with TIED. */
EXPORTED int64_t reliac_levels(int64_t n, double *stored, double *weight, int32_t sums, int32_t offset, int32_t by_size,
                               double factor, double joint, int32_t only_smallest, int32_t ties, int64_t n_clusters,
                               double max_level, double longest, int64_t *links, double *distance)
{
    Table table = {.criterion = {sums, offset, by_size, factor, joint}, .n = n, .m = n, .stored = stored, .weight = weight};
    Table *t = &table;
    int64_t count = 0, last = 0;
    if (make_room(t, n)) return NO_MEMORY;
    t->count = n;
    for (int64_t r = 0; r < n; r++) {
        t->name[r] = t->alive[r] = r;
        t->part[r] = NONE;
        t->unsure[r] = 0;
        t->spread[r] = sums ? stored[r * n + r] : 0.0;
        if (!sums) stored[r * n + r] = INFINITY;
    }
    while (t->count > n_clusters && (double)last < max_level) {
        int64_t n_links;
        if (last)
            search(t, only_smallest);
        else
            first_search(t);
        if (t->met_ties && !ties) {
            count = TIED;
            break;
        }
        n_links = only_smallest ? smallest_link(t, longest) : reliable_links(t, longest);
        if (n_links > 0 && !only_smallest) n_links = joining_links(t, n_links, t->count - n_clusters);
        if (n_links == TIED) count = TIED;
        if (n_links <= 0) break;
        last++;
        for (int64_t k = 0; k < n_links; k++, count++) {
            links[count] = last;
            links[n + count] = t->name[t->links[k].p];
            links[2 * n + count] = t->name[t->links[k].q];
            distance[count] = t->links[k].distance;
        }
        if (t->count - n_links == 1) break;
        if (join(t, n_links, only_smallest) == TIED) {
            count = TIED;
            break;
        }
    }
    free(t->spread); /* where the room begins */
    return count;
}
