/* From links between clusters to nodes of a tree. */

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
