"""Given input and tree, verify every level from the objects up: nearest, reliable, share, components, distances.

Nothing of the engines is used: cluster distances are computed from the members with matrix products, and
comparisons allow for rounding, so it works on any real data, ties or not.
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


def distances_between(criterion, base, shares, sizes):
    """Distances of all clusters from the objects' (squared) distances; ``shares`` is (clusters, objects)."""
    if criterion in ("single", "complete"):
        reduce = np.minimum if criterion == "single" else np.maximum
        order = np.argsort(np.argmax(shares > 0, axis=0), kind="stable")
        starts = np.r_[0, np.cumsum((shares > 0).sum(axis=1))[:-1]]
        rows = reduce.reduceat(base[np.ix_(order, order)], starts, axis=0)
        return reduce.reduceat(rows, starts, axis=1)
    mean = shares @ base @ shares.T
    if criterion in ("average", "weighted"):
        return mean
    inside = mean.diagonal() / 2
    between = np.maximum(mean - inside[:, None] - inside[None, :], 0)
    if criterion == "ward":
        between *= sizes[:, None] * sizes[None, :] / (sizes[:, None] + sizes[None, :])
    return between


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
    clusters = {i: (np.array([i]), np.array([1.0])) for i in range(n)}  # first object -> members, shares
    factor = {"ward": 2.0}.get(criterion, 1.0)

    def height(d):
        return np.sqrt(factor * d) if geometric and metric != "sqeuclidean" else d

    levels = groups_by_level(tree)
    for number, groups in enumerate(levels, 1):
        heads = sorted(clusters)
        shares = np.zeros((len(heads), n))
        for row, head in enumerate(heads):
            shares[row, clusters[head][0]] = clusters[head][1]
        sizes = np.array([weights[clusters[head][0]].sum() for head in heads])
        d = distances_between(criterion, base, shares, sizes)
        d = np.triu(d, 1) + np.triu(d, 1).T  # a matrix product need not be symmetric to the bit
        np.fill_diagonal(d, np.inf)
        slack = ROUNDING * base.max()
        smallest = d.min(axis=1)
        near = d <= smallest[:, None] * (1 + ROUNDING) + slack
        reliable = near & near.T  # with rounding: may hold a little more than the definition
        strict = (d <= smallest[:, None]) & (d <= smallest[None, :])
        position = {head: row for row, head in enumerate(heads)}
        group_of = np.full(len(heads), -1)
        for g, (parts, distance) in enumerate(groups):
            rows = np.array([position[int(part.min())] for part in parts])
            for part, row in zip(parts, rows, strict=True):
                assert set(part) == set(clusters[heads[row]][0]), f"level {number}: a part is no cluster"
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
        for parts, _ in groups:
            mine = [clusters.pop(int(part.min())) for part in parts]
            objects = np.concatenate([m for m, _ in mine])
            if criterion in ("weighted", "median"):
                share = np.concatenate([s / len(mine) for _, s in mine])
            else:
                share = weights[objects] / weights[objects].sum()
            clusters[int(objects.min())] = (objects, share)
    return len(levels)
