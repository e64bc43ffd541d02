"""One step on arrays: reliable links, the smallest share of them, and the groups they form. Owns the tie rule."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


class Links(NamedTuple):
    """Pairs of clusters and their distances. A cluster goes by the index of its first object."""

    p: Indices
    q: Indices
    distance: NDArray[Any]

    def take(self, which: Any) -> Links:
        """Return some of the links."""
        return Links(self.p[which], self.q[which], self.distance[which])


class Groups(NamedTuple):
    """The clusters that one step joins, group after group; a group goes by the index of its first part."""

    parts: Indices  # clusters, sorted inside each group
    starts: Indices  # where each group begins in parts

    @property
    def heads(self) -> Indices:
        """The index each group has as a cluster of the next level."""
        return self.parts[self.starts]


def reliable_links(nearest: Links, n: int) -> Links:
    """Keep the links whose two clusters are among each other's nearest, each once, with p < q.

    ``nearest`` lists for every cluster p all clusters q at its smallest distance, ties included.
    """
    key = nearest.p * n + nearest.q
    mirrored = nearest.q * n + nearest.p
    return nearest.take((nearest.p < nearest.q) & np.isin(mirrored, key))


def smallest_share(links: Links, alpha: float, tie_factor: float, longer: int = 0) -> Links:
    """Keep the ceil(alpha * m) smallest of m links and those tied with the last one; alpha=0: the very smallest.

    The result is sorted by distance, then by the smaller and the larger index. ``longer``: so many of the m links are
    not given, since they are longer than all others and will not be taken.
    """
    if len(links.p) < 2:
        return links
    links = links.take(np.lexsort((links.q, links.p, links.distance)))
    if alpha == 0.0:
        return links.take(slice(0, 1))
    count = share_count(alpha, len(links.p) + longer)
    if count >= len(links.p):
        return links
    last = links.distance[count - 1]
    return links.take(links.distance <= last * tie_factor)


def share_count(alpha: float, count: int) -> int:
    """Return ceil(alpha * count), at least 1; rounding in the product (0.07 * 100) adds none."""
    return max(1, math.ceil(alpha * count - 1e-9))


def joining_links(links: Links, n: int) -> Links:
    """Keep of sorted links those that still join two clusters when taken one after the other (Kruskal's rule).

    What stays is a forest on the groups, and its first k links are what stopping after k joins would take.
    """
    if _all_distinct(links):
        return links
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    rank = np.arange(1.0, len(links.p) + 1.0)  # distinct weights: the forest is unique and follows the order
    graph = coo_array((rank, (links.p, links.q)), shape=(n, n)).tocsr()
    kept = np.sort(minimum_spanning_tree(graph).data).astype(np.intp) - 1
    return links.take(kept)


def level_out(links: Links, n: int) -> Links:
    """Give every link of a group the smallest distance in it; with a tie tolerance they can differ a little."""
    if _all_distinct(links):
        return links
    group = components(links, n)[links.p]
    order = np.lexsort((links.distance, group))
    first = np.r_[True, np.diff(group[order]) > 0]
    distance = links.distance.copy()
    distance[order] = links.distance[order][first][np.cumsum(first) - 1]
    links = links._replace(distance=distance)
    return links.take(np.lexsort((links.q, links.p, distance)))


def groups_of(links: Links, n: int) -> Groups:
    """Return the connected components of the links that hold more than one cluster."""
    if _all_distinct(links):
        order = np.argsort(links.p)
        parts = np.column_stack((links.p[order], links.q[order])).ravel()
        return Groups(parts, np.arange(0, len(parts), 2))
    group = components(links, n)
    parts = np.unique(np.r_[links.p, links.q])
    order = np.argsort(group[parts], kind="stable")
    parts = parts[order]
    starts = np.flatnonzero(np.r_[True, np.diff(group[parts]) != 0])
    return Groups(parts, starts)


def nearest_objects(base: NDArray[Any], i: Indices, j: Indices) -> tuple[int, int]:
    """Return the two nearest of some objects i and others j, by a square matrix; ties to the smallest indices."""
    first, second = divmod(int(base[np.ix_(i, j)].argmin()), len(j))
    return int(i[first]), int(j[second])


def _all_distinct(links: Links) -> bool:
    """Tell whether no cluster has two links: then every link is a group, as always without ties."""
    ends = np.sort(np.concatenate((links.p, links.q)))
    return not (ends[1:] == ends[:-1]).any()


def components(links: Links, n: int) -> NDArray[np.int32]:
    """Number the connected components of n clusters: the same for two clusters that a path of links joins."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(links.p)), (links.p, links.q)), shape=(n, n)).tocsr()
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return labels
