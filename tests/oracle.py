"""The definition, on member lists, from the points. Slow, exact on integers (fractions), and nothing clever."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

Cluster = dict  # object -> its share in the cluster; the shares sum to 1


def numbers(table):
    """Python's own numbers, and the one that shares are made of: exact (fractions) where all numbers are whole."""
    whole = all(float(value).is_integer() for row in table for value in row)
    kind, one = (int, Fraction(1)) if whole else (float, 1.0)
    return [[kind(value) for value in row] for row in table], one


def squared(x, y):
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def mean(points, p):
    return [sum(share * points[i][k] for i, share in p.items()) for k in range(len(points[0]))]


def pair_mean(d, p, q):
    return sum(s * t * d[i][j] for i, s in p.items() for j, t in q.items())


def between_means(points, d, p, q):
    """Squared distance of two representatives, from points or, without points, from squared distances."""
    if points is not None:
        return squared(mean(points, p), mean(points, q))
    return max(pair_mean(d, p, q) - (pair_mean(d, p, p) + pair_mean(d, q, q)) / 2, 0)


def ward(points, d, p, q, weight):
    a, b = sum(weight[i] for i in p), sum(weight[i] for i in q)
    return a * b / (a + b) * between_means(points, d, p, q)


DISTANCE = {
    "single": lambda points, d, p, q, weight: min(d[i][j] for i in p for j in q),
    "complete": lambda points, d, p, q, weight: max(d[i][j] for i in p for j in q),
    "average": lambda points, d, p, q, weight: pair_mean(d, p, q),
    "weighted": lambda points, d, p, q, weight: pair_mean(d, p, q),
    "centroid": lambda points, d, p, q, weight: between_means(points, d, p, q),
    "median": lambda points, d, p, q, weight: between_means(points, d, p, q),
    "ward": ward,
}
EQUAL_PARTS = ("weighted", "median")


def join(parts, criterion, weight):
    """One cluster of several: by parts (weighted, median) or by objects (all others)."""
    if criterion in EQUAL_PARTS:
        return {i: share / len(parts) for part in parts for i, share in part.items()}
    members = [i for part in parts for i in part]
    total = sum(weight[i] for i in members)
    return {i: weight[i] / total for i in members}


def components(links):
    """Connected components of links, each a set of clusters."""
    groups = []
    for p, q in links:
        touched = [group for group in groups if p in group or q in group]
        groups = [group for group in groups if group not in touched] + [set().union({p, q}, *touched)]
    return groups


def share(reliable, alpha, tol):
    """Of the reliable links (distance, p, q), sorted, those that a step takes."""
    if alpha == 0:
        return reliable[:1]
    last = reliable[math.ceil(Fraction(str(alpha)) * len(reliable)) - 1][0]
    return [link for link in reliable if link[0] <= last * (1 + tol)]


def oracle(criterion, points=None, d=None, weight=None, *, alpha=1.0, n_clusters=1, max_level=math.inf,
           max_distance=math.inf, tol=0):  # fmt: skip
    """Return the levels: for each a list of (objects of a new cluster, distance), as sets and numbers.

    ``d``: distances of the objects, squared ones for centroid, median and ward; from ``points`` if missing.
    """
    if points is not None:
        points, one = numbers(points)
        d = [[squared(x, y) for y in points] for x in points]
    else:
        d, one = numbers(d)
    weight = [one] * len(d) if weight is None else [one * value for value in numbers([weight])[0][0]]
    clusters = {i: {i: one} for i in range(len(d))}  # by first object
    length = {}  # (p, q) -> distance, as long as neither of them is joined
    levels = []
    while len(clusters) > n_clusters and len(levels) < max_level:
        for p, q in combinations(sorted(clusters), 2):
            if (p, q) not in length:
                length[p, q] = DISTANCE[criterion](points, d, clusters[p], clusters[q], weight)
        near = {p: min(length[min(p, q), max(p, q)] for q in clusters if q != p) * (1 + tol) for p in clusters}
        reliable = sorted((here, p, q) for (p, q), here in length.items() if here <= near[p] and here <= near[q])
        established, groups = [], []
        for distance, p, q in share(reliable, alpha, tol):
            wider = components([*established, (p, q)])
            before, after = (sum(len(group) - 1 for group in some) for some in (groups, wider))
            if distance <= max_distance and before < after <= len(clusters) - n_clusters:
                established, groups = [*established, (p, q)], wider
        if not established:
            break
        new = []
        for group in groups:
            distance = min(length[p, q] for p, q in established if p in group)
            cluster = join([clusters.pop(part) for part in sorted(group)], criterion, weight)
            clusters[min(group)] = cluster
            new.append((frozenset(cluster), distance))
        joined = set().union(*groups)
        length = {(p, q): here for (p, q), here in length.items() if p not in joined and q not in joined}
        levels.append(new)
    return levels
