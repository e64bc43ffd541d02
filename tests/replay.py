"""Given input and tree, verify every level from the objects up: nearest, reliable, share, components, distances.

Nothing of the engines is used: the distances of a new cluster are computed from its members, and comparisons allow for
rounding, so it works on any real data, ties or not.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.distance import pdist, squareform

ROUNDING = 1e-9


def groups_by_level(tree):
    """The groups of every level: (objects of each part, distance)."""
    members = {i: np.array([i]) for i in range(tree.n_objects)}
    levels = []
    for level in range(1, tree.n_levels + 1):
        groups = {}  # node -> list of parts
        for row in np.flatnonzero(tree.links["level"] == level):
            left, right = int(tree.links["left"][row]), int(tree.links["right"][row])
            parts = [part for end in (left, right) for part in groups.pop(end, (None, [members.get(end)]))[1]]
            groups[tree.n_objects + row] = (float(tree.links["distance"][row]), parts)
            members[tree.n_objects + row] = np.concatenate(parts)
        levels.append([(parts, distance) for distance, parts in groups.values()])
    return levels


class Clusters:
    """Objects and shares of every cluster, and the reduced distances between them, all from the objects' distances.

    What is between two clusters that are not joined is kept; it has not changed.
    """

    def __init__(self, criterion, base, weights):
        self.criterion, self.base, self.weights = criterion, base, weights
        self.members = {i: (np.array([i]), np.array([1.0])) for i in range(len(base))}  # by first object
        self.heads = list(self.members)
        self.between = base.copy()  # of the clusters in the order of heads: smallest, largest, or mean by shares

    def distances(self):
        """Distances of all clusters as the criterion defines them, infinite on the diagonal."""
        d = self.between.copy()
        if self.criterion in ("centroid", "median", "ward"):
            inside = d.diagonal() / 2
            d = np.maximum(d - (inside[:, None] + inside[None, :]), 0)  # symmetric to the bit
        if self.criterion == "ward":
            sizes = np.array([self.weights[self.members[head][0]].sum() for head in self.heads])
            d *= sizes[:, None] * sizes[None, :] / (sizes[:, None] + sizes[None, :])
        np.fill_diagonal(d, np.inf)
        return d

    def join(self, groups):
        """Make one cluster of every group of heads: by parts (weighted, median) or by objects (all others)."""
        for group in groups:
            parts = [self.members.pop(head) for head in group]
            objects = np.concatenate([part for part, _ in parts])
            if self.criterion in ("weighted", "median"):
                shares = np.concatenate([share / len(parts) for _, share in parts])
            else:
                shares = self.weights[objects] / self.weights[objects].sum()
            self.members[int(objects.min())] = (objects, shares)
        new = {min(group) for group in groups}
        heads = sorted(self.members)
        kept = [row for row, head in enumerate(heads) if head not in new]
        between = np.empty((len(heads), len(heads)))
        old = np.searchsorted(self.heads, [heads[row] for row in kept])
        between[np.ix_(kept, kept)] = self.between[np.ix_(old, old)]
        self.heads = heads
        for row in np.flatnonzero([head in new for head in heads]):
            between[row] = between[:, row] = self.reduced(*self.members[heads[row]])
        self.between = between

    def reduced(self, objects, shares):
        """From one cluster to all clusters, itself included, over all pairs of objects."""
        order = np.concatenate([self.members[head][0] for head in self.heads])
        starts = np.cumsum([0, *(len(self.members[head][0]) for head in self.heads)])[:-1]
        if self.criterion in ("single", "complete"):
            reduction = np.minimum if self.criterion == "single" else np.maximum
            return reduction.reduceat(reduction.reduce(self.base[objects])[order], starts)
        all_shares = np.concatenate([self.members[head][1] for head in self.heads])
        return np.add.reduceat((shares @ self.base[objects])[order] * all_shares, starts)


def replay(tree, X, *, metric="sqeuclidean", alpha=1.0, weights=None, partial_last=False, max_distance=math.inf):
    """Raise AssertionError at the first level that does not follow from the definition."""
    criterion = tree.parameters["criterion"]
    geometric = criterion in ("centroid", "median", "ward")
    if metric == "precomputed":
        base = np.asarray(X, dtype=float)
        base = squareform(base) if base.ndim == 1 else base
        base = base**2 if geometric else base
    else:
        base = squareform(pdist(np.asarray(X, dtype=float), "sqeuclidean" if geometric else metric))
    n = tree.n_objects
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    clusters = Clusters(criterion, base, weights)
    slack = ROUNDING * base.max()
    factor = {"ward": 2.0}.get(criterion, 1.0)

    def height(d):
        return np.sqrt(factor * d) if geometric and metric != "sqeuclidean" else d

    levels = groups_by_level(tree)
    for number, groups in enumerate(levels, 1):
        heads, d = clusters.heads, clusters.distances()
        smallest = d.min(axis=1)
        near = d <= smallest[:, None] * (1 + ROUNDING) + slack
        reliable = near & near.T  # with rounding: may hold a little more than the definition
        strict = (d <= smallest[:, None]) & (d <= smallest[None, :])
        position = {head: row for row, head in enumerate(heads)}
        group_of = np.full(len(heads), -1)
        for g, (parts, distance) in enumerate(groups):
            rows = np.array([position[int(part.min())] for part in parts])
            for part, row in zip(parts, rows, strict=True):
                assert set(part) == set(clusters.members[heads[row]][0]), f"level {number}: a part is no cluster"
            group_of[rows] = g
            inside = reliable[np.ix_(rows, rows)]
            reached = {0}
            while True:
                more = set(np.flatnonzero(inside[list(reached)].any(axis=0))) | reached
                if more == reached:
                    break
                reached = more
            assert len(reached) == len(rows), f"level {number}: a group is not connected by reliable links"
            links = d[np.ix_(rows, rows)][inside]
            assert np.allclose(height(links.min()), distance, rtol=1e-7, atol=height(slack)), (
                f"level {number}: distance"
            )
            assert distance <= max_distance
        p, q = np.nonzero(np.triu(strict))
        joined = (group_of[p] >= 0) & (group_of[p] == group_of[q])
        if alpha == 0:
            sizes_of_groups = [len(parts) for parts, _ in groups]
            assert sizes_of_groups == [2], f"level {number}: the standard strategy takes one link"
            assert groups[0][1] <= height(d.min()) * (1 + 1e-7) + height(slack)
        elif not (partial_last and number == len(levels)):
            order = np.sort(d[p, q])
            last = order[math.ceil(alpha * len(order) - 1e-9) - 1]
            must = (d[p, q] <= last) & (height(d[p, q]) <= max_distance)
            assert joined[must].all(), f"level {number}: a reliable link was left out"
            free = d[p, q] > last * (1 + ROUNDING) + slack
            assert not joined[free].any(), f"level {number}: a link beyond the share was established"
        clusters.join([[int(part.min()) for part in parts] for parts, _ in groups])
    return len(levels)
