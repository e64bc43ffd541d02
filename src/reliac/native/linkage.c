/* The linkage matrix of a few objects in one call: from the numbers of an array to the rows that SciPy has.

   A hundred objects are done in less time than Python takes for a few calls, so nothing is left to it but numbers that it
   has to complain about, and ties that this code cannot settle.
*/

#include <string.h>

#include "shared.h"

#define FAR 1e90 /* larger numbers are looked at by Python: sums of their squares may leave the range of floats */
#define LANES 16 /* pairs of rows that are compared side by side */

/* --- distances --- */

static int are_plain(int64_t count, const double *values, double least)
{
    int64_t others = 0;
    for (int64_t k = 0; k < count; k++) others += !(values[k] >= least && values[k] <= FAR); /* what is no number, too */
    return others == 0;
}

/* Squared distances of row i to the rows from ``first`` on; ``across`` (d, n + LANES): the rows, column by column. */
FOR_ALL_PROCESSORS static void compare_row(int64_t n, int64_t d, int64_t i, int64_t first, const double *restrict across,
                                           double *restrict squares)
{
    int64_t width = n + LANES;
    for (int64_t j = first; j < n; j += LANES) {
        double sum[LANES] = {0.0};
        for (int64_t c = 0; c < d; c++) {
            const double *column = across + c * width;
            for (int k = 0; k < LANES; k++) sum[k] += (column[i] - column[j + k]) * (column[i] - column[j + k]);
        }
        memcpy(squares + j, sum, (size_t)(n - j < LANES ? n - j : LANES) * sizeof(double));
    }
}

/* Write the squared distances of rows (n, d), condensed; columns are added up in their order. */
static int compare_rows(int64_t n, int64_t d, const double *rows, double *condensed)
{
    int64_t width = n + LANES;
    double *across = calloc((size_t)(d * width), sizeof(double));
    if (!across) return NO_MEMORY;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < d; c++) across[c * width + i] = rows[i * d + c];
    for (int64_t i = 0; i < n - 1; i++) compare_row(n, d, i, i + 1, across, condensed + place_less(n, i));
    free(across);
    return 0;
}

static void take_roots(int64_t count, double *values)
{
    for (int64_t k = 0; k < count; k++) values[k] = sqrt(values[k]);
}

static void take_squares(int64_t count, const double *values, double *squares)
{
    for (int64_t k = 0; k < count; k++) squares[k] = values[k] * values[k];
}

/* --- rows of the matrix --- */

typedef struct {
    double distance;
    int64_t link;
} Place;

static int by_distance(const void *one, const void *other)
{
    const Place *a = one, *b = other;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    return a->link < b->link ? -1 : a->link > b->link;
}

/* Write links, found in the order of levels, as rows in the order of their distances if ``sorted``. TIED if that is no
   order of joins: rounding has made a cluster nearer than its parts; or if distances are equal and must not be
   (``untied``). ``made`` (3, n - 1): see nodes.c; ``number`` (2n - 1,) and ``places`` (n - 1,): room. */
static int write_rows(int64_t n, int sorted, int untied, const int64_t *made, const double *distance, int64_t *number,
                      Place *places, double *matrix)
{
    int64_t count = n - 1;
    for (int64_t k = 0; k < count; k++) places[k] = (Place){distance[k], k};
    if (sorted) qsort(places, (size_t)count, sizeof(Place), by_distance);
    for (int64_t x = 0; x < n; x++) number[x] = x;
    for (int64_t k = 0; k < count; k++) number[n + places[k].link] = n + k;
    for (int64_t k = 0; k < count; k++) {
        int64_t link = places[k].link, a = number[made[link]], b = number[made[count + link]];
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

/* What of a criterion matters here: see criterion.h and algorithm/criteria.py. */
typedef struct {
    int smallest, sums, offset, by_size, reducible;
    double factor, joint;
} Meaning;

/* Room for everything that is needed on the way. */
typedef struct {
    double *table, *weight, *distance;
    int64_t *links, *made, *number;
    Place *places;
} Desk;

/* One linkage matrix, of condensed distances as they are compared: of all reliable links of every level, which is the
   standard one if nothing is tied (``all``), or of one link at a time. Returns n - 1, or why there is none. */
static int64_t make_matrix(int64_t n, const double *condensed, const Meaning *meaning, int all, const Desk *desk,
                           double *matrix)
{
    int64_t found;
    if (meaning->smallest) {
        found = reliac_single(n, condensed, !all, n - 1, INFINITY, INFINITY, desk->links, desk->distance);
    } else {
        reliac_unfold(n, condensed, desk->table);
        for (int64_t x = 0; x < n; x++) desk->weight[x] = 1.0;
        found = reliac_levels(n, desk->table, desk->weight, meaning->sums, meaning->offset, meaning->by_size, meaning->factor,
                              meaning->joint, !all, !all, 1, INFINITY, INFINITY, desk->links, desk->distance);
    }
    if (found != n - 1) return found < 0 ? found : NONSENSE;
    memmove(desk->links, desk->links + n, (size_t)(n - 1) * sizeof(int64_t)); /* both ends, side by side */
    memmove(desk->links + n - 1, desk->links + 2 * n, (size_t)(n - 1) * sizeof(int64_t));
    found = reliac_nodes(n, n - 1, desk->links, desk->made);
    if (found < 0) return found;
    if (write_rows(n, meaning->reducible, all, desk->made, desk->distance, desk->number, desk->places, matrix)) return TIED;
    return n - 1;
}

static int64_t find_matrix(int64_t n, const double *condensed, const Meaning *meaning, const Desk *desk, double *matrix)
{
    int64_t found = TIED;
    if (meaning->reducible) found = make_matrix(n, condensed, meaning, 1, desk, matrix);
    if (found == TIED) found = make_matrix(n, condensed, meaning, 0, desk, matrix);
    return found;
}

/* Write the linkage matrix (n - 1, 4) of the standard strategy, ties by index. ``given``: rows (n, columns), or, with no
   columns, condensed distances. ``squares``: whether the squares of (Euclidean) distances are compared; heights are what is
   compared, or the root of so many times that: ``height_factor``, if it is not 0. Returns n - 1, or why Python has to do
   it. */
EXPORTED int64_t reliac_linkage(int64_t n, int64_t columns, const double *given, int32_t squares, double height_factor,
                                int32_t smallest, int32_t reducible, int32_t sums, int32_t offset, int32_t by_size,
                                double factor, double joint, double *matrix)
{
    Meaning meaning = {smallest, sums, offset, by_size, reducible, factor, joint};
    size_t most = (size_t)n, pairs = most * (most - 1) / 2;
    int64_t found = NO_MEMORY;
    double *compared = NULL, *numbers;
    int64_t *whole;
    Desk desk;
    if (!are_plain(columns ? n * columns : (int64_t)pairs, given, columns ? -FAR : 0.0)) return NONSENSE;
    numbers = malloc((2 * most + (smallest ? 0 : most * most)) * sizeof(double));
    whole = malloc(10 * most * sizeof(int64_t));
    desk = (Desk){numbers ? numbers + 2 * most : NULL, numbers, numbers ? numbers + most : NULL, whole,
                  whole ? whole + 5 * most : NULL, whole ? whole + 8 * most : NULL, malloc(most * sizeof(Place))};
    if (columns || squares) compared = malloc(pairs * sizeof(double));
    if (numbers && whole && desk.places && (compared || !(columns || squares))) {
        found = 0;
        if (columns) {
            found = compare_rows(n, columns, given, compared);
            if (!squares) take_roots((int64_t)pairs, compared);
        } else if (squares) {
            take_squares((int64_t)pairs, given, compared);
        }
        if (found == 0) found = find_matrix(n, compared ? compared : given, &meaning, &desk, matrix);
    }
    if (height_factor > 0.0)
        for (int64_t k = 0; k < found; k++) matrix[4 * k + 2] = sqrt(height_factor * matrix[4 * k + 2]);
    free(numbers);
    free(whole);
    free(desk.places);
    free(compared);
    return found;
}
