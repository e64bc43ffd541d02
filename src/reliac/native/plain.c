/* A few objects in one call: from the numbers of an array to the links of a tree, or to the matrix that SciPy has.

   A hundred objects are done in less time than Python takes for a few calls, so nothing is left to it but numbers that it
   has to complain about, and ties that this code cannot settle.
*/

#include "sorting.h"

#define FAR 1e90 /* larger numbers are looked at by Python: sums of their squares may leave the range of floats */
#define LANES 16 /* pairs of rows that are compared side by side */
#define SOME_COLUMNS 32 /* that are compared before the next ones are looked at */

/* --- distances --- */

/* Whether all numbers are between ``least`` and FAR; those that are none are not. ``largest``: of all numbers. */
FOR_WIDE_PROCESSORS static int are_plain(int64_t count, const double *values, double least, double *largest)
{
    double high[LANES], odd[LANES];
    int64_t k = 0;
    for (int j = 0; j < LANES; j++) {
        high[j] = -INFINITY;
        odd[j] = 0.0;
    }
    for (; k + LANES <= count; k += LANES)
        for (int j = 0; j < LANES; j++) {
            double value = values[k + j];
            odd[j] = value >= least && value <= FAR ? odd[j] : 1.0;
            high[j] = value > high[j] ? value : high[j];
        }
    for (; k < count; k++) {
        odd[0] = values[k] >= least && values[k] <= FAR ? odd[0] : 1.0;
        high[0] = values[k] > high[0] ? values[k] : high[0];
    }
    for (int j = 1; j < LANES; j++) {
        odd[0] += odd[j];
        high[0] = high[j] > high[0] ? high[j] : high[0];
    }
    *largest = high[0];
    return odd[0] == 0.0;
}

/* Add to the squared distances of row i and the rows after it what d columns say, or (``begins``) start with that;
   ``across`` (d, n + LANES): these columns, one after the other. */
FOR_WIDE_PROCESSORS static void compare_row(int64_t n, int64_t d, int64_t i, int begins, const double *restrict across,
                                            double *restrict squares)
{
    int64_t width = n + LANES;
    for (int64_t j = i + 1; j < n; j += LANES) {
        int64_t count = n - j < LANES ? n - j : LANES;
        double sum[LANES] = {0.0};
        if (!begins) memcpy(sum, squares + j, (size_t)count * sizeof(double));
        for (int64_t c = 0; c < d; c++) {
            const double *column = across + c * width;
            for (int k = 0; k < LANES; k++) sum[k] += (column[i] - column[j + k]) * (column[i] - column[j + k]);
        }
        if (count == LANES)
            memcpy(squares + j, sum, sizeof sum); /* of a size that the compiler knows, which is no call */
        else
            memcpy(squares + j, sum, (size_t)count * sizeof(double));
    }
}

/* Write the squared distances of rows (n, d), condensed. Columns are added up in their order, some at a time: as many as stay
   in the cache for all rows. */
static int compare_rows(int64_t n, int64_t d, const double *rows, double *condensed)
{
    int64_t width = n + LANES;
    double *across = calloc((size_t)((d < SOME_COLUMNS ? d : SOME_COLUMNS) * width), sizeof(double));
    if (!across) return NO_MEMORY;
    for (int64_t first = 0; first < d; first += SOME_COLUMNS) {
        int64_t count = d - first < SOME_COLUMNS ? d - first : SOME_COLUMNS;
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < count; c++) across[c * width + i] = rows[i * d + first + c];
        for (int64_t i = 0; i < n - 1; i++) compare_row(n, count, i, first == 0, across, condensed + place_less(n, i));
    }
    free(across);
    return 0;
}

FOR_WIDE_PROCESSORS static void take_roots(int64_t count, double *values)
{
    for (int64_t k = 0; k < count; k++) values[k] = sqrt(values[k]);
}

FOR_WIDE_PROCESSORS static void take_squares(int64_t count, const double *values, double *squares)
{
    for (int64_t k = 0; k < count; k++) squares[k] = values[k] * values[k];
}

/* --- rows of the matrix --- */

/* Write links, found in the order of levels, as rows in the order of their distances if ``sorted``. TIED if that is no
   order of joins: rounding has made a cluster nearer than its parts; or if distances are equal and must not be
   (``untied``). ``made`` (3, n - 1): see nodes.c; ``number`` (2n - 1,) and ``places`` (2n,): room. */
static int write_rows(int64_t n, int sorted, int untied, const int64_t *made, const double *distance, int64_t *number,
                      Place *places, double *matrix)
{
    int64_t count = n - 1;
    for (int64_t k = 0; k < count; k++) places[k] = (Place){distance[k], k};
    if (sorted) sort_places(count, places, places + n); /* found one after the other: equal ones keep that order */
    for (int64_t x = 0; x < n; x++) number[x] = x;
    for (int64_t k = 0; k < count; k++) number[n + places[k].which] = n + k;
    for (int64_t k = 0; k < count; k++) {
        int64_t link = places[k].which, a = number[made[link]], b = number[made[count + link]];
        double *row = matrix + 4 * k;
        if (untied && k && places[k].distance == places[k - 1].distance) return TIED;
        if ((a > b ? a : b) >= n + k) return TIED;
        row[0] = (double)(a < b ? a : b);
        row[1] = (double)(a < b ? b : a);
        row[2] = places[k].distance;
        row[3] = (double)made[2 * count + link];
    }
    return 0;
}

/* What of a criterion matters here: see criterion.h and algorithm/criteria.py. The twin of Meaning in run/plain.py. */
typedef struct {
    int32_t smallest, reducible, sums, offset, by_size;
    double factor, joint, height_factor;
} Meaning;

/* Everything that is needed on the way. */
typedef struct {
    int64_t n;
    double largest;         /* of the numbers that were given */
    const double *compared; /* (pairs,): distances as they are compared, condensed */
    double *room;           /* where the room for all that follows begins */
    double *own;            /* (pairs,): distances as they are compared, if they are not what was given */
    double *table, *weight; /* (n, n), (n,): for levels, but not by the smallest distance */
    double *distance;       /* (n,): of the links that were found */
    int64_t *links;         /* (5, n): these links, as reliac_levels or reliac_single have them */
    int64_t *ends, *made;   /* (2, n - 1), (3, n - 1): see nodes.c */
    int64_t *number;        /* (2n - 1,): room for the numbers of nodes */
    Place *places;          /* (2n,): room for rows in order */
} Desk;

/* Make room, in one piece: see make_room in tables.c. */
static int clear(Desk *desk, size_t own, size_t table)
{
    size_t n = (size_t)desk->n;
    desk->room = malloc((own + table + 2 * n) * sizeof(double) + 12 * n * sizeof(int64_t) + 2 * n * sizeof(Place));
    if (!desk->room) return NO_MEMORY;
    desk->own = desk->room;
    desk->table = desk->own + own;
    desk->weight = desk->table + table;
    desk->distance = desk->weight + n;
    desk->links = (int64_t *)(desk->distance + n);
    desk->ends = desk->links + 5 * n;
    desk->made = desk->ends + 2 * n;
    desk->number = desk->made + 3 * n;
    desk->places = (Place *)(desk->number + 2 * n);
    return 0;
}

/* Turn what is given into distances as they are compared; make room. Returns 0, or why Python has to do it. */
static int64_t prepare(Desk *desk, int64_t n, int64_t columns, const double *given, int squares, int smallest)
{
    size_t pairs = (size_t)(n * (n - 1) / 2);
    int own = columns || squares;
    *desk = (Desk){.n = n, .compared = given};
    if (!are_plain(columns ? n * columns : (int64_t)pairs, given, columns ? -FAR : 0.0, &desk->largest))
        return NONSENSE;
    if (clear(desk, own ? pairs : 0, smallest ? 0 : (size_t)(n * n))) return NO_MEMORY;
    if (own) desk->compared = desk->own;
    if (columns && compare_rows(n, columns, given, desk->own)) return NO_MEMORY;
    if (columns && !squares) take_roots((int64_t)pairs, desk->own);
    if (!columns && squares) take_squares((int64_t)pairs, given, desk->own);
    return 0;
}

/* Find all links of every level, or (``one``) one link at a time, and the nodes that they join; ``ties``: 0 if a tie ends the
   work, with TIED. Returns n - 1, or why there are none. */
static int64_t find_links(const Desk *desk, const Meaning *meaning, int one, int ties)
{
    int64_t n = desk->n, found;
    if (meaning->smallest) {
        found = reliac_single(n, desk->compared, one, n - 1, INFINITY, INFINITY, desk->links, desk->distance);
    } else {
        reliac_unfold(n, desk->compared, desk->table);
        for (int64_t x = 0; x < n; x++) desk->weight[x] = 1.0;
        found = reliac_levels(n, desk->table, desk->weight, meaning->sums, meaning->offset, meaning->by_size, meaning->factor,
                              meaning->joint, one, ties, 1, INFINITY, INFINITY, desk->links, desk->distance);
    }
    if (found != n - 1) return found < 0 ? found : NONSENSE;
    memcpy(desk->ends, desk->links + n, (size_t)(n - 1) * sizeof(int64_t));
    memcpy(desk->ends + n - 1, desk->links + 2 * n, (size_t)(n - 1) * sizeof(int64_t));
    return reliac_nodes(n, n - 1, desk->ends, desk->made);
}

/* The height of what was compared: just that, or (``rooted``) the root of so many times that. */
static double height_of(const Meaning *meaning, int rooted, double distance)
{
    return rooted ? sqrt(meaning->height_factor * distance) : distance;
}

/* --- the matrix of the standard strategy --- */

/* Of all reliable links of every level, which is the standard one if nothing is tied (``all``), or of one link at a time. */
static int64_t make_matrix(const Desk *desk, const Meaning *meaning, int all, double *matrix)
{
    int64_t found = find_links(desk, meaning, !all, !all);
    if (found > 0 && write_rows(desk->n, meaning->reducible, all, desk->made, desk->distance, desk->number, desk->places, matrix))
        return TIED;
    return found;
}

/* Write the linkage matrix (n - 1, 4) of the standard strategy, ties by index. ``given``: rows (n, columns), or, with no
   columns, condensed distances. ``squares``: whether the squares of (Euclidean) distances are compared; ``rooted``: see
   height_of. Returns n - 1, or why Python has to do it. */
EXPORTED int64_t reliac_linkage(int64_t n, int64_t columns, const double *given, int32_t squares, int32_t rooted,
                                const Meaning *meaning, double *matrix)
{
    Desk desk;
    int64_t found = prepare(&desk, n, columns, given, squares, meaning->smallest);
    if (found == 0) found = meaning->reducible ? make_matrix(&desk, meaning, 1, matrix) : TIED;
    if (found == TIED) found = make_matrix(&desk, meaning, 0, matrix);
    for (int64_t k = 0; k < found; k++) matrix[4 * k + 2] = height_of(meaning, rooted, matrix[4 * k + 2]);
    free(desk.room);
    return found;
}

/* --- the links of a tree --- */

/* What else is found out on the way. The twin of Told in run/plain.py. */
typedef struct {
    double largest;       /* of the numbers that were given */
    int64_t mixed, sound; /* their hash: see mixing.c; whether the links are those of a tree: see nodes.c */
} Told;

/* Write the links (n - 1,) of a whole tree, of all reliable ones of every level or (``one``) of one at a time; by the smallest
   distance also the nearest objects of both sides, ``pairs`` (n - 1, 2). ``step``: of the rows that are hashed. The other arguments
   are those of reliac_linkage; heights are roots where squares are compared. Returns n - 1, or why Python has to do it. */
EXPORTED int64_t reliac_tree(int64_t n, int64_t columns, const double *given, int32_t squares, const Meaning *meaning,
                             int32_t one, int64_t step, Record *links, int64_t *pairs, Told *told)
{
    Desk desk;
    int64_t found = prepare(&desk, n, columns, given, squares, meaning->smallest), count = n - 1;
    if (found == 0) found = find_links(&desk, meaning, one, 1);
    for (int64_t k = 0; k < found; k++) {
        links[k] = (Record){desk.made[k], desk.made[count + k], height_of(meaning, squares, desk.distance[k]), desk.links[k],
                            desk.made[2 * count + k]};
        if (!meaning->smallest) continue;
        pairs[2 * k] = desk.links[3 * n + k];
        pairs[2 * k + 1] = desk.links[4 * n + k];
    }
    free(desk.room);
    if (found != count) return found;
    *told = (Told){desk.largest, reliac_mixed(n, columns, step, given), reliac_are_links(n, count, links, pairs)};
    return found;
}
