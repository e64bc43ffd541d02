/* From links between clusters to nodes of a tree, and whether links are those of a tree. */

#include "shared.h"

/* Joins, each given by an object of either side, become links between nodes: the twin of _join_nodes in
   tree/building.py, which says what is what. ``ends`` (2, count): an object of either side; ``made`` (3, count): the
   two nodes and the size of what they become. */
EXPORTED int64_t reliac_nodes(int64_t n, int64_t count, const int64_t *ends, int64_t *made)
{
    const int64_t *p = ends, *q = ends + count;
    int64_t *left = made, *right = made + count, *sizes = made + 2 * count;
    size_t room = (size_t)(n > 0 ? n : 1);
    int64_t *root = malloc(4 * room * sizeof(int64_t)), *node, *first, *size;
    if (!root) return NO_MEMORY;
    node = root + room;
    first = node + room;
    size = first + room;
    for (int64_t x = 0; x < n; x++) {
        root[x] = node[x] = first[x] = x;
        size[x] = 1;
    }
    for (int64_t row = 0; row < count; row++) {
        int64_t a = p[row], b = q[row], low;
        if (a < 0 || a >= n || b < 0 || b >= n) {
            count = NONSENSE;
            break;
        }
        a = top(root, a);
        b = top(root, b);
        if (first[a] > first[b]) {
            int64_t other = a;
            a = b;
            b = other;
        }
        left[row] = node[a];
        right[row] = node[b];
        sizes[row] = size[a] + size[b];
        low = first[a];
        if (size[a] < size[b]) {
            int64_t other = a;
            a = b;
            b = other;
        }
        root[b] = a;
        node[a] = n + row;
        size[a] = sizes[row];
        first[a] = low;
    }
    free(root);
    return count;
}

/* Whether links (count,) between nodes of n objects are those of a tree, and ``pairs`` (count, 2), unless it is NULL, objects: the
   twin of what tree/building.py checks, and says what is wrong if something is. Returns 1 if all is well. */
EXPORTED int64_t reliac_are_links(int64_t n, int64_t count, const Record *links, const int64_t *pairs)
{
    char *joined = calloc((size_t)(n + count), 1);
    int64_t good = joined != NULL;
    for (int64_t k = 0; pairs && k < 2 * count; k++) good = good && pairs[k] >= 0 && pairs[k] < n;
    for (int64_t k = 0; k < count && good; k++) {
        const Record *link = links + k;
        int64_t ends[2] = {link->left, link->right}, size = 0;
        int same_level = k > 0 && link->level == links[k - 1].level;
        good = link->distance >= 0.0 && link->distance < INFINITY && link->level == (k ? links[k - 1].level + !same_level : 1) &&
               !(same_level && link->distance < links[k - 1].distance);
        for (int side = 0; side < 2 && good; side++) {
            int64_t end = ends[side];
            good = end >= 0 && end < n + k && !joined[end];
            if (!good) break;
            joined[end] = 1;
            if (end >= n && links[end - n].level == link->level) good = links[end - n].distance == link->distance;
            size += end < n ? 1 : links[end - n].size;
        }
        good = good && size == link->size;
    }
    free(joined);
    return good;
}
