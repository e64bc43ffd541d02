/* All levels of a large table of given distances, while many clusters are left.

   One search of the whole table makes a short list for every cluster: the nearest, and a radius that all others are
   beyond (shortlists.h). Levels follow from the lists alone, with a few numbers of the table here and there. Lists wear
   out: where one no longer tells who is nearest that cluster is searched again, in the rows of the table that it has.
   When that has become too much work the table is *folded*: written anew, much smaller, with the rows and columns of
   every cluster joined, and all clusters are searched (strips.h, tiles.h). So the table is read twice or so, and what is
   written is a fraction of it.

   Threads take pieces of work in order. All of them run reliac_folding_work from its beginning to its end. What they find
   does not depend on their number.
*/

#ifdef __linux__
#define _GNU_SOURCE
#include <sys/mman.h>
#endif

#include "strips.h"

#define CHUNK 64 /* clusters that a thread takes at a time */
#define SHARE 16 /* one in so many rows may be searched before the table is folded instead */

/* --- a level --- */

typedef struct {
    double distance;
    int64_t p, q;
} Link;

static int by_distance(const void *one, const void *other)
{
    const Link *a = one, *b = other;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    return a->p < b->p ? -1 : a->p > b->p;
}

/* Find the reliable links; tell why there is no further level, or no such one. */
static int64_t reliable_pairs(Folding *f, Link *links)
{
    int64_t pairs = 0;
    if (f->m <= f->n_clusters || (double)seen(&f->level) >= f->max_level) f->end = FINISHED;
    for (int64_t a = 0; a < f->m && f->end == GOING; a++) {
        int64_t p = f->alive[a], q = f->near[p];
        if (f->tied[p]) f->end = MET_TIES;
        if (q > p && f->near[q] == p && f->best[p] <= f->longest) links[pairs++] = (Link){f->best[p], p, q};
    }
    if (f->end != GOING) return 0;
    if (pairs == 0)
        f->end = FINISHED;
    else if (f->m <= f->few || f->m - pairs < f->n_clusters)
        f->end = THIN;
    return f->end == GOING ? pairs : 0;
}

static void note_links(Folding *f, Link *links, int64_t pairs)
{
    int64_t count = seen(&f->count_of_links), level = seen(&f->level) + 1;
    qsort(links, (size_t)pairs, sizeof(Link), by_distance);
    for (int64_t k = 0; k < pairs; k++) {
        f->links[count + k] = level;
        f->links[f->n + count + k] = f->name[links[k].p];
        f->links[2 * f->n + count + k] = f->name[links[k].q];
        f->distance[count + k] = links[k].distance;
    }
    set(&f->level, level);
    set(&f->count_of_links, count + pairs);
}

/* Put the rows of q among those of p, in order, and say whose they are. */
static void join_members(Folding *f, int64_t p, int64_t q)
{
    int32_t one = f->next[p], other = (int32_t)q, at = (int32_t)p;
    for (int64_t i = q; i != NONE; i = f->next[i]) f->owner[i] = (int32_t)p;
    while (one != NONE || other != NONE) {
        int32_t *first = other == NONE || (one != NONE && one < other) ? &one : &other;
        f->next[at] = *first;
        at = *first;
        *first = f->next[at];
    }
    f->last[p] = at;
    f->size[p] += f->size[q];
    if (f->criterion.factor == 1.0) return;
    for (int64_t i = p; i != NONE; i = f->next[i]) f->share[i] *= f->criterion.factor;
}

/* Join two clusters; what is known of the parts is kept until the list of the new cluster is made. */
static void join_pair(Folding *f, Link link, double stored)
{
    const Criterion *criterion = &f->criterion;
    int64_t p = link.p, q = link.q;
    f->spread[p] = joined(criterion, joined(criterion, f->spread[p], stored), joined(criterion, stored, f->spread[q]));
    f->first_weight[p] = f->weight[p];
    f->weight[p] = criterion->joint > 0.0 ? criterion->joint : f->weight[p] + f->weight[q];
    f->second[p] = (int32_t)q;
    f->joined_at[p] = link.distance;
    join_members(f, p, q);
    f->born[p] = (int32_t)seen(&f->level);
}

/* Make the next level from what is known of everyone's nearest, or find out that there is none. One thread does this while
   the others wait. */
static void take_level(Folding *f)
{
    Link *links = (Link *)f->hands[0].late;
    int64_t pairs, left = 0;
    f->squares = f->squared;
    if (seen(&f->stopped)) f->end = THIN;
    pairs = f->end == GOING ? reliable_pairs(f, links) : 0;
    if (f->end != GOING) return;
    note_links(f, links, pairs);
    for (int64_t k = 0; k < pairs; k++) {
        double stored = f->criterion.sums ? stored_pair(f, links[k].p, links[k].q) : 0.0;
        join_pair(f, links[k], stored);
    }
    for (int64_t a = 0; a < f->m; a++)
        if (f->owner[f->alive[a]] == f->alive[a]) f->alive[left++] = f->alive[a];
    f->m = left;
}

/* Bring the lists of new clusters, and of those whose nearest was joined, up to date. */
static void refresh_all(Folding *f, Hand *hand)
{
    int32_t level = (int32_t)seen(&f->level);
    int64_t chunk;
    while ((chunk = take(&f->taken_next)) * CHUNK < f->m) {
        int64_t last = (chunk + 1) * CHUNK < f->m ? (chunk + 1) * CHUNK : f->m;
        for (int64_t a = chunk * CHUNK; a < last; a++) {
            int64_t p = f->alive[a], near = f->near[p];
            if (f->born[p] == level)
                join_lists(f, hand, p);
            else if (f->owner[near] == near && f->born[near] != level)
                continue;
            refresh(f, p);
        }
    }
}

/* Tell what is to be done before the next level can be made. */
static void look_ahead(Folding *f)
{
    int64_t rows = 0;
    f->queued = 0;
    for (int64_t a = 0; a < f->m; a++) {
        int64_t p = f->alive[a];
        if (!f->unsure[p]) continue;
        f->queue[f->queued++] = (int32_t)p;
        rows += f->size[p];
    }
    f->todo = f->queued == 0 ? NOTHING : (f->searched + rows) * SHARE <= f->rows ? SEARCH : FOLD;
    if (f->todo == SEARCH) f->searched += rows;
    if (f->todo == FOLD && f->m * f->thin > f->rows * (f->thin - 1)) f->end = THIN;
}

/* --- threads --- */

/* The largest number of threads that may take part. */
EXPORTED int64_t reliac_most_threads(void) { return MOST_THREADS; }

/* Say how many threads there are, numbered from 0, once all of them run: no more than were asked for at the beginning. A
   system may refuse some, and the others would wait for them. Those with larger numbers return at once: with 0, all. What
   was said first holds. */
EXPORTED int64_t reliac_folding_start(Folding *f, int64_t threads)
{
    if (seen(&f->started)) return 0;
    if (threads < f->threads) f->threads = (int)threads;
    if (f->threads > 0) begin_search(f);
    set(&f->started, 1);
    return threads;
}

/* Run levels, as one of f->threads threads, the others of which do the same. Returns why the work has ended. */
EXPORTED int64_t reliac_folding_work(Folding *f, int64_t thread)
{
    Hand *hand;
    int first = thread == 0;
    int64_t k;
    wait_until(&f->started, 1);
    if (thread >= f->threads) return f->end;
    hand = &f->hands[thread];
    search_all(f, hand);
    for (;;) {
        meet(f);
        if (first) take_level(f);
        meet(f);
        if (f->end != GOING) break;
        refresh_all(f, hand);
        meet(f);
        if (first) look_ahead(f);
        meet(f);
        if (f->end != GOING) break;
        if (f->todo == SEARCH)
            while ((k = take(&f->taken_next)) < f->queued) search_cluster(f, hand, f->queue[k]);
        if (f->todo != FOLD) continue;
        fold(f, hand, first);
        if (f->end != GOING) break;
        search_all(f, hand);
    }
    if ((f->end == THIN || f->end == MET_TIES) && f->m < f->rows && !seen(&f->stopped)) fold(f, hand, first);
    return f->end;
}

/* --- beginning and end --- */

/* Memory that is let go at the end. */
static void *room(Folding *f, int64_t count, size_t size)
{
    Room *found = large_room(sizeof(Room) + (size_t)(count > 0 ? count : 1) * size);
    if (!found) {
        f->end = WITHOUT_MEMORY;
        return NULL;
    }
    found->before = f->rooms;
    f->rooms = found;
    return found + 1;
}

EXPORTED int64_t reliac_folding_end(Folding *f)
{
    if (!f) return 0;
    while (f->rooms) {
        Room *one = f->rooms;
        f->rooms = one->before;
        free(one);
    }
    free(f->own ? f->own : f->spare);
    free(f);
    return 0;
}

static void make_room(Folding *f)
{
    int64_t n = f->n, blocks = 4 * f->threads + n / LARGEST_BLOCK + 1, listed = 2 * (f->length + 1);
    f->hands = room(f, f->threads, sizeof(Hand));
    f->owner = room(f, n, sizeof(int32_t));
    f->next = room(f, n, sizeof(int32_t));
    f->share = room(f, n, sizeof(double));
    f->place = room(f, n, sizeof(int32_t));
    f->alive = room(f, n, sizeof(int64_t));
    f->weight = room(f, n, sizeof(double));
    f->spread = room(f, n, sizeof(double));
    f->name = room(f, n, sizeof(int64_t));
    f->size = room(f, n, sizeof(int32_t));
    f->last = room(f, n, sizeof(int32_t));
    f->born = room(f, n, sizeof(int32_t));
    f->second = room(f, n, sizeof(int32_t));
    f->joined_at = room(f, n, sizeof(double));
    f->first_weight = room(f, n, sizeof(double));
    f->lists.distance = room(f, n * listed, sizeof(double));
    f->lists.other = room(f, n * listed, sizeof(int32_t));
    f->lists.since = room(f, n * listed, sizeof(int32_t));
    f->count = room(f, n, sizeof(int32_t));
    f->radius = room(f, n, sizeof(double));
    f->limit = room(f, n, sizeof(double));
    f->best = room(f, n, sizeof(double));
    f->near = room(f, n, sizeof(int32_t));
    f->tied = room(f, n, 1);
    f->unsure = room(f, n, 1);
    f->queue = room(f, n, sizeof(int32_t));
    f->busy = room(f, blocks, 1);
    f->taken = room(f, blocks * blocks, 1);
    for (int t = 0; t < f->threads && f->end == GOING; t++) {
        Hand *hand = &f->hands[t];
        hand->row = room(f, n, sizeof(double));
        hand->other = room(f, n + listed, sizeof(double));
        hand->sums = room(f, n + 2 * listed, sizeof(double));
        hand->late = room(f, STRIP * (n / 2 + 1), sizeof(double));
        hand->open = room(f, n, sizeof(int32_t));
        hand->found = room(f, LARGEST_BLOCK + SOME, sizeof(int32_t));
        hand->found_too = room(f, LARGEST_BLOCK + SOME, sizeof(int32_t));
        hand->mark = room(f, n, sizeof(int32_t));
        hand->sample = room(f, SAMPLED * (MOST_RUNS + 1) * RUN, sizeof(double));
        if (f->end == GOING) memset(hand->mark, NONE, (size_t)n * sizeof(int32_t));
    }
}

/* Prepare the levels of n objects that weigh 1 each. ``given``: distances, ``single`` if float32, ``across`` the numbers of
   a row if the matrix is square and 0 if condensed, ``squared`` if their squares count; none is above ``largest``. Lists
   are cut to ``length`` entries. The work ends when ``few`` clusters are left, or a table is to be folded that has lost
   fewer than one in ``thin`` clusters. ``links`` (3, n) and ``distance`` (n,) get what is found. Returns NULL if there is
   no memory. */
EXPORTED Folding *reliac_folding_begin(int64_t n, const void *given, int32_t single, int32_t squared, int64_t across,
                                       int32_t sums, int32_t offset, int32_t by_size, double factor, double joint,
                                       int64_t n_clusters, double max_level, double longest, double largest,
                                       int64_t length, int64_t few, int64_t thin, int64_t threads, int64_t *links,
                                       double *distance)
{
    Folding *f = calloc(1, sizeof(Folding));
    if (!f) return NULL;
    *f = (Folding){.criterion = {sums, offset, by_size, factor, joint}, .n = n, .rows = n, .m = n, .given = given,
                   .single = single, .squared = squared, .across = across, .n_clusters = n_clusters,
                   .max_level = max_level, .longest = longest, .length = length, .few = few, .thin = thin,
                   .links = links, .distance = distance};
    f->threads = threads < MOST_THREADS ? (int)threads : MOST_THREADS;
    f->slack = 8.0 * (double)n * DBL_EPSILON * (offset ? largest * largest : 1.0);
    make_room(f);
    if (f->end != GOING) {
        reliac_folding_end(f);
        return NULL;
    }
    for (int64_t x = 0; x < n; x++) {
        f->weight[x] = 1.0;
        f->spread[x] = 0.0;
        f->name[x] = f->alive[x] = x;
        f->owner[x] = f->last[x] = (int32_t)x;
        f->next[x] = NONE;
        f->size[x] = 1;
        f->share[x] = 1.0;
        f->born[x] = 0;
        f->near[x] = (int32_t)x;
        f->tied[x] = 0;
    }
    return f;
}

/* The number of links so far. */
EXPORTED int64_t reliac_folding_count(Folding *f) { return seen(&f->count_of_links); }

/* Let the work end after this level. */
EXPORTED int64_t reliac_folding_stop(Folding *f)
{
    set(&f->stopped, 1);
    return 0;
}

/* What is left, (m,) clusters: their stored numbers, ``square`` (m, m) with spreads on the diagonal, weights and first
   objects; returns m. Nothing is written if no level was made, or ``square`` is NULL. */
EXPORTED int64_t reliac_folding_left(Folding *f, double *square, double *weight, int64_t *name)
{
    if (!square || !f->own) return f->m;
    reliac_unfold(f->m, f->own, square);
    for (int64_t a = 0; a < f->m; a++) {
        square[a * f->m + a] = f->spread[a];
        weight[a] = f->weight[a];
        name[a] = f->name[a];
    }
    return f->m;
}
