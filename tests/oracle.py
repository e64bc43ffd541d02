"""The definition, on member lists, from the points. Slow, exact on integers (fractions), and nothing clever."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

Cluster = dict  # object -> its share in the cluster; the shares sum to 1


def exact(value):
    """Integers become fractions, so that equal means equal; floats stay floats."""
    return Fraction(int(value)) if float(value).is_integer() else float(value)


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


def oracle(
    criterion,
    points=None,
    d=None,
    weight=None,
    alpha=1.0,
    n_clusters=1,
    max_level=math.inf,
    max_distance=math.inf,
    tol=0,
):
    """Return the levels: for each a list of (objects of a new cluster, distance), as sets and numbers.

    ``d``: distances of the objects, squared ones for centroid, median and ward; from ``points`` if missing.
    """
    if points is not None:
        points = [[exact(value) for value in row] for row in points]
        d = [[squared(x, y) for y in points] for x in points]
    else:
        d = [[exact(value) for value in row] for row in d]
    weight = [Fraction(1)] * len(d) if weight is None else [exact(value) for value in weight]
    clusters = {i: {i: Fraction(1)} for i in range(len(d))}  # by first object
    levels = []
    while len(clusters) > n_clusters and len(levels) < max_level:
        length = {}
        for p, q in combinations(sorted(clusters), 2):
            length[p, q] = length[q, p] = DISTANCE[criterion](points, d, clusters[p], clusters[q], weight)
        smallest = {p: min(length[p, q] for q in clusters if q != p) for p in clusters}
        reliable = [
            (length[p, q], p, q)
            for p, q in combinations(sorted(clusters), 2)
            if length[p, q] <= smallest[p] * (1 + tol) and length[p, q] <= smallest[q] * (1 + tol)
        ]
        reliable.sort()
        if alpha == 0:
            taken = reliable[:1]
        else:
            last = reliable[math.ceil(Fraction(str(alpha)) * len(reliable)) - 1][0]
            taken = [link for link in reliable if link[0] <= last * (1 + tol)]
        established = []
        for distance, p, q in taken:
            before = sum(len(group) - 1 for group in components(established))
            after = sum(len(group) - 1 for group in components([*established, (p, q)]))
            if distance <= max_distance and before < after <= len(clusters) - n_clusters:
                established.append((p, q))
        if not established:
            break
        new = []
        for group in components(established):
            distance = min(length[p, q] for p, q in established if p in group)
            cluster = join([clusters.pop(part) for part in sorted(group)], criterion, weight)
            clusters[min(group)] = cluster
            new.append((frozenset(cluster), distance))
        levels.append(new)
    return levels
