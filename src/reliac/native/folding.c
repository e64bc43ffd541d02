/* Levels that join many clusters of a large table: the whole table is folded at every level.

   Stored numbers are kept once for every pair of clusters, condensed. A level reads the rows of both parts of a new
   cluster, joins them, joins the columns of all pairs in them, and writes one row: the table shrinks where it lies. On
   the way everyone's nearest is found. So a level costs one pass over a table that is smaller every time, and nothing
   else is kept. Where a level joins few clusters that is too much: others go on from there.

   Threads take strips of rows in order. All of them run reliac_folding_work from its beginning to its end.
*/

#ifdef __linux__
#define _GNU_SOURCE
#include <sys/mman.h>
#endif

#include "strips.h"

#define SMALL 2500    /* a table of so many clusters is written to another place: threads need not wait for each other */

/* --- from level to level --- */

/* Enter what all threads have found into one. */
static void merge_nearest(Folding *f, double times)
{
    Nearest *all = &f->nearest;
    for (int t = 0; t < f->threads; t++) {
        const Nearest *one = &f->hands[t].nearest;
        for (int64_t c = 0; c < f->m; c++) {
            if (one->best[c] > all->best[c]) continue;
            if (one->best[c] < all->best[c]) {
                all->best[c] = one->best[c];
                all->near[c] = one->near[c];
                all->tied[c] = one->tied[c];
            } else if (one->tied[c] || one->near[c] != all->near[c]) {
                all->tied[c] = 1;
            }
        }
    }
    for (int64_t c = 0; c < f->m; c++) all->best[c] *= times;
}

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
    const Nearest *nearest = &f->nearest;
    int64_t pairs = 0;
    if (f->m <= f->n_clusters || (double)seen(&f->level) >= f->max_level) f->end = FINISHED;
    for (int64_t p = 0; p < f->m && f->end == GOING; p++) {
        int64_t q = nearest->near[p];
        if (nearest->tied[p]) f->end = MET_TIES;
        if (q > p && nearest->near[q] == p && nearest->best[p] <= f->longest)
            links[pairs++] = (Link){nearest->best[p], p, q};
    }
    if (f->end != GOING) return 0;
    if (pairs == 0)
        f->end = FINISHED;
    else if (f->m <= f->few || pairs * f->thin < f->m || f->m - pairs < f->n_clusters)
        f->end = THIN;
    return f->end == GOING ? pairs : 0;
}

static void note_links(Folding *f, Link *links, int64_t pairs)
{
    int64_t count = seen(&f->count), level = seen(&f->level) + 1;
    qsort(links, (size_t)pairs, sizeof(Link), by_distance);
    for (int64_t k = 0; k < pairs; k++) {
        f->links[count + k] = level;
        f->links[f->n + count + k] = f->name[links[k].p];
        f->links[2 * f->n + count + k] = f->name[links[k].q];
        f->distance[count + k] = links[k].distance;
    }
    set(&f->level, level);
    set(&f->count, count + pairs);
}

/* Where the nearest of a cluster that stays alone has come to, and how far that is now. */
static double distance_of_nearest(const Folding *f, int64_t c, int64_t near, double weight, double spread)
{
    int64_t p = f->head[near], q = f->second[near];
    double stored = joined(&f->criterion, number_of(f, c, p), number_of(f, c, q));
    if (!f->criterion.sums) return stored;
    return distance_from_sums(&f->criterion, stored, f->spread[c], f->weight[c], spread, weight);
}

/* Say which rows a new row is made of, and what is known of its cluster; rows keep their order. */
static void plan_rows(Folding *f, double *weight, double *spread)
{
    Nearest *nearest = &f->nearest;
    const Criterion *criterion = &f->criterion;
    int64_t a = 0;
    f->n_pairs = f->n_runs = 0;
    for (int64_t p = 0; p < f->m; p++) {
        int64_t q = nearest->near[p];
        int pair = nearest->near[q] == p && nearest->best[p] <= f->longest;
        if (pair && q < p) {
            f->place[p] = f->place[q];
            continue;
        }
        f->place[p] = a;
        if (a == 0 || p != f->head[a - 1] + 1) f->runs[f->n_runs++] = (Run){p, a};
        f->run_of[a] = (int32_t)(f->n_runs - 1); /* its own run; below that of the row after it */
        f->head[a] = (int32_t)p;
        f->second[a] = pair ? (int32_t)q : NONE;
        f->pairs_before[a] = (int32_t)f->n_pairs;
        f->name[a] = f->name[p];
        weight[a] = f->weight[p];
        spread[a] = f->spread[p];
        if (pair) {
            double stored = number_of(f, p, q);
            f->pair[f->n_pairs++] = (int32_t)a;
            weight[a] = criterion->joint > 0.0 ? criterion->joint : f->weight[p] + f->weight[q];
            spread[a] = joined(criterion, joined(criterion, f->spread[p], stored), joined(criterion, stored, f->spread[q]));
        }
        a++;
    }
    f->pairs_before[a] = (int32_t)f->n_pairs;
    f->runs[f->n_runs] = (Run){f->m, a};
    for (int64_t b = 0; b < a; b++) { /* rows are read from the column after their own */
        f->run_of[b] = b + 1 < a ? f->run_of[b + 1] : (int32_t)f->n_runs;
    }
    for (int64_t b = 0; b < a; b++) {
        int64_t p = f->head[b], near = f->place[nearest->near[p]];
        if (f->second[b] != NONE) {
            nearest->best[b] = INFINITY;
            near = NONE;
        } else {
            double best = nearest->best[p];
            if (f->second[near] != NONE) best = distance_of_nearest(f, p, near, weight[near], spread[near]);
            nearest->best[b] = best;
        }
        nearest->near[b] = (int32_t)near;
        nearest->tied[b] = 0;
    }
}

/* Memory for a table that will be written from its beginning to its end; in large pages, if the system has any. */
static double *room_for_table(int64_t clusters)
{
    size_t size = (size_t)clusters * (size_t)(clusters - 1) / 2 * sizeof(double) + sizeof(double);
#ifdef __linux__
    void *room = NULL;
    if (size < ((size_t)1 << 25)) return malloc(size); /* is had again without a page fault */
    if (posix_memalign(&room, (size_t)1 << 21, size)) return NULL;
    madvise(room, size, MADV_HUGEPAGE); /* where that is not known nothing is lost */
    return room;
#else
    return malloc(size);
#endif
}

/* Take up what the last level has found, and plan the next one; ``times``: what a number that was found is to be
   multiplied by to be a distance. One thread does this while the others wait. */
static void plan_level(Folding *f, double times)
{
    double *weight = f->hands[0].row, *spread = f->hands[0].folded;
    Link *links = (Link *)f->hands[0].late;
    int64_t pairs;
    merge_nearest(f, times);
    if (seen(&f->stopped)) f->end = THIN;
    pairs = f->end == GOING ? reliable_pairs(f, links) : 0;
    if (f->end != GOING) return;
    f->folds = f->m - pairs;
    if (!f->own || f->folds <= SMALL) { /* else the table shrinks where it lies */
        if (!(f->spare = room_for_table(f->folds))) {
            f->spare = f->own;
            f->end = WITHOUT_MEMORY;
            return;
        }
    }
    note_links(f, links, pairs);
    plan_rows(f, weight, spread);
    memcpy(f->weight, weight, (size_t)f->folds * sizeof(double));
    memcpy(f->spread, spread, (size_t)f->folds * sizeof(double));
}

/* Begin a search with what is known. */
static void begin_search(const Folding *f, Hand *hand, int64_t clusters)
{
    memcpy(hand->nearest.best, f->nearest.best, (size_t)clusters * sizeof(double));
    memcpy(hand->nearest.near, f->nearest.near, (size_t)clusters * sizeof(int32_t));
    memcpy(hand->nearest.tied, f->nearest.tied, (size_t)clusters);
}

/* The largest number of threads that may take part. */
EXPORTED int64_t reliac_most_threads(void) { return MOST_THREADS; }

/* Say how many threads there are, numbered from 0, once all of them run: no more than were asked for at the beginning. A
   system may refuse some, and the others would wait for them. Those with larger numbers return at once: with 0, all. What
   was said first holds. */
EXPORTED int64_t reliac_folding_start(Folding *f, int64_t threads)
{
    if (seen(&f->started)) return 0;
    if (threads < f->threads) f->threads = (int)threads;
    set(&f->started, 1);
    return threads;
}

/* Run levels, as one of f->threads threads, the others of which do the same. Returns why the work has ended. */
EXPORTED int64_t reliac_folding_work(Folding *f, int64_t thread)
{
    Hand *hand;
    double times = f->criterion.by_size ? 0.5 : 1.0;
    int64_t k;
    wait_until(&f->started, 1);
    if (thread >= f->threads) return f->end;
    hand = &f->hands[thread];
    begin_search(f, hand, f->m);
    while ((k = take(&f->next)) * STRIP < f->m) search_strip(f, hand, k * STRIP);
    for (;; times = 1.0) {
        meet(f);
        if (thread == 0) plan_level(f, times);
        meet(f);
        if (f->end != GOING) break;
        begin_search(f, hand, f->folds);
        while ((k = take(&f->next)) * STRIP < f->folds) fold_strip(f, hand, k);
        meet(f);
        if (thread == 0) {
            if (f->own != f->spare) free(f->own);
            f->own = f->spare;
            f->m = f->folds;
        }
        meet(f);
        while ((k = take(&f->next)) < f->n_pairs) {
            int64_t a = f->pair[k];
            const double *row = f->own + place_less(f->m, a);
            search_row(&f->criterion, &hand->nearest, a, a + 1, f->m, row, f->weight, f->spread);
        }
    }
    return f->end;
}

/* --- beginning and end --- */

/* Memory that is let go at the end. */
static void *room(Folding *f, int64_t count, size_t size)
{
    Room *found = malloc(sizeof(Room) + (size_t)(count > 0 ? count : 1) * size);
    if (!found) {
        f->end = WITHOUT_MEMORY;
        return NULL;
    }
    found->before = f->rooms;
    f->rooms = found;
    return found + 1;
}

static void make_nearest(Folding *f, Nearest *nearest)
{
    nearest->best = room(f, f->n, sizeof(double));
    nearest->near = room(f, f->n, sizeof(int32_t));
    nearest->tied = room(f, f->n, 1);
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

/* Prepare the levels of n objects that weigh 1 each. ``given``: distances, ``single`` if float32, ``across`` the numbers of
   a row if the matrix is square and 0 if condensed, ``squared`` if their squares count. The work ends when ``few`` clusters
   are left, or a level joins fewer pairs than one in ``thin`` clusters. ``links`` (3, n) and ``distance``
   (n,) get what is found. Returns NULL if there is no memory. */
EXPORTED Folding *reliac_folding_begin(int64_t n, const void *given, int32_t single, int32_t squared, int64_t across,
                                       int32_t sums, int32_t offset, int32_t by_size, double factor, double joint,
                                       int64_t n_clusters, double max_level, double longest, int64_t few,
                                       int64_t thin, int64_t threads, int64_t *links, double *distance)
{
    Folding *f = calloc(1, sizeof(Folding));
    int64_t most = n / 2 + 1;
    if (!f) return NULL;
    *f = (Folding){.criterion = {sums, offset, by_size, factor, joint}, .n = n, .m = n, .given = given, .single = single,
                   .squared = squared, .across = across, .n_clusters = n_clusters, .max_level = max_level,
                   .longest = longest, .few = few, .thin = thin, .links = links, .distance = distance};
    f->threads = threads < MOST_THREADS ? (int)threads : MOST_THREADS;
    f->hands = room(f, f->threads, sizeof(Hand));
    f->weight = room(f, n, sizeof(double));
    f->spread = room(f, n, sizeof(double));
    f->name = room(f, n, sizeof(int64_t));
    f->place = room(f, n, sizeof(int64_t));
    f->head = room(f, n, sizeof(int32_t));
    f->second = room(f, n, sizeof(int32_t));
    f->pairs_before = room(f, n + 1, sizeof(int32_t));
    f->pair = room(f, most, sizeof(int32_t));
    f->runs = room(f, most + 1, sizeof(Run));
    f->run_of = room(f, n, sizeof(int32_t));
    make_nearest(f, &f->nearest);
    if (f->end == GOING) {
        for (int t = 0; t < f->threads; t++) {
            Hand *hand = &f->hands[t];
            make_nearest(f, &hand->nearest);
            hand->row = room(f, n, sizeof(double));
            hand->folded = room(f, n, sizeof(double));
            hand->late = room(f, STRIP * most, sizeof(double));
            hand->open = room(f, most, sizeof(int32_t));
        }
    }
    if (f->end != GOING) {
        reliac_folding_end(f);
        return NULL;
    }
    for (int64_t x = 0; x < n; x++) {
        f->weight[x] = 1.0;
        f->spread[x] = 0.0;
        f->name[x] = x;
        f->nearest.best[x] = INFINITY;
        f->nearest.near[x] = NONE;
        f->nearest.tied[x] = 0;
    }
    return f;
}

/* The number of links so far. */
EXPORTED int64_t reliac_folding_count(Folding *f) { return seen(&f->count); }

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
