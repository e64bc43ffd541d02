"""Generated graphs, and the definition of clustering one: listed pairs only, or points that are neighbours."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np


class Part(NamedTuple):
    """A cluster: its objects, and the point that stands for it where parts count alike."""

    objects: frozenset[int]
    point: tuple[Fraction, ...]


Made = tuple[int, frozenset[int], Fraction]
Edges = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]


def random_edges(n: int, m: int, largest: int, seed: int) -> Edges:
    """Return about m different pairs of n objects, with whole distances from 1 on: ties are frequent."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(0, n, m), rng.integers(0, n, m)
    low, high = np.minimum(p, q)[p != q], np.maximum(p, q)[p != q]
    key = np.unique(low * n + high)
    return key // n, key % n, rng.integers(1, largest, len(key)).astype(float)


def star(n: int) -> Edges:
    """Return a hub with n - 1 others at growing distances."""
    return np.zeros(n - 1, int), np.arange(1, n), np.arange(1.0, n)


def chain(n: int) -> Edges:
    """Return a chain with growing gaps: one link a level."""
    return np.arange(n - 1), np.arange(1, n), np.arange(1.0, n)


def grid(side: int) -> Edges:
    """Return a square grid, all edges equally long."""
    number = np.arange(side * side).reshape(side, side)
    p = np.r_[number[:, :-1].ravel(), number[:-1].ravel()]
    q = np.r_[number[:, 1:].ravel(), number[1:].ravel()]
    return p, q, np.ones(len(p))


def split(n: int) -> Edges:
    """Return two graphs that nothing joins, and an object without an edge between them."""
    p, q, d = random_edges(n, 3 * n, 9, 5)
    return np.r_[p, p + n + 1], np.r_[q, q + n + 1], np.r_[d, d]


GRAPHS: dict[str, tuple[int, Edges]] = {
    "few": (6, random_edges(6, 8, 4, 0)),
    "thin": (40, random_edges(40, 50, 5, 1)),
    "tied": (40, random_edges(40, 200, 4, 2)),
    "thick": (40, random_edges(40, 900, 30, 3)),
    "distinct": (40, random_edges(40, 200, 10**6, 4)),
    "star": (12, star(12)),
    "chain": (15, chain(15)),
    "grid": (25, grid(5)),
    "split": (31, split(15)),
}


def ignoring_missing(n: int, edges: Edges, criterion: str, alpha: float) -> list[Made]:
    """Develop a graph by the definition, on sets of objects and in fractions: listed pairs only."""
    listed = {(int(p), int(q)): Fraction(float(d)) for p, q, d in zip(*edges, strict=True)}
    reduce = {"single": min, "complete": max, "average": lambda d: sum(d, Fraction(0)) / len(d)}[criterion]

    def distance(a: Part, b: Part) -> Fraction | None:
        found = [
            d
            for (p, q), d in listed.items()
            if (p in a.objects and q in b.objects) or (q in a.objects and p in b.objects)
        ]
        return reduce(found) if found else None

    return by_definition([Part(frozenset([i]), ()) for i in range(n)], distance, alpha)


def by_sizes(n: int, edges: Edges, alpha: float, sizes: np.ndarray[Any, Any]) -> list[Made]:
    """Develop an average along edges: the mean over the parts of two clusters that are neighbours, by object pairs."""
    single = [frozenset([i]) for i in range(n)]
    met: dict[frozenset[frozenset[int]], Fraction | None] = {frozenset(pair): None for pair in combinations(single, 2)}
    for p, q, d in zip(*edges, strict=True):
        met[frozenset((single[int(p)], single[int(q)]))] = Fraction(float(d))
    clusters = set(single)

    def parts(cluster: frozenset[int]) -> list[frozenset[int]]:
        inside = [c for c in clusters if c < cluster]
        clusters.add(cluster)
        return [c for c in inside if not any(c < other for other in inside)]

    def size(cluster: frozenset[int]) -> int:
        return sum(int(sizes[i]) for i in cluster)

    def distance(a: Part, b: Part) -> Fraction | None:
        p, q = a.objects, b.objects
        if frozenset((p, q)) not in met:
            # at the level before the pairs of one of these three were there: only q has joined, only p, or both
            for some in (product([p], parts(q)), product(parts(p), [q]), product(parts(p), parts(q))):
                pairs = list(some)
                if pairs and all(frozenset(pair) in met for pair in pairs):
                    break
            listed = [(size(i) * size(j), d) for i, j in pairs if (d := met[frozenset((i, j))]) is not None]
            total = sum((count * d for count, d in listed), Fraction(0))
            met[frozenset((p, q))] = total / sum(count for count, _ in listed) if listed else None
        return met[frozenset((p, q))]

    return by_definition([Part(cluster, ()) for cluster in single], distance, alpha)


def among_neighbours(X: np.ndarray[Any, Any], edges: Edges, criterion: str, alpha: float) -> list[Made]:
    """Develop points of which only neighbours may be joined, by the definition and in fractions; squared distances."""
    pairs = {frozenset((int(p), int(q))) for p, q in zip(*edges[:2], strict=True)}
    points = [tuple(Fraction(float(value)) for value in row) for row in X]

    def square(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> Fraction:
        return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))

    def mean(parts: list[tuple[Fraction, ...]]) -> tuple[Fraction, ...]:
        return tuple(sum(column, Fraction(0)) / len(parts) for column in zip(*parts, strict=True))

    def distance(a: Part, b: Part) -> Fraction | None:
        if not any(frozenset((p, q)) in pairs for p in a.objects for q in b.objects):
            return None
        if criterion == "median":
            return square(a.point, b.point)
        if criterion == "average":
            found = [square(points[p], points[q]) for p in a.objects for q in b.objects]
            return sum(found, Fraction(0)) / len(found)
        between = square(mean([points[p] for p in a.objects]), mean([points[q] for q in b.objects]))
        sizes = len(a.objects), len(b.objects)
        return between * sizes[0] * sizes[1] / sum(sizes) if criterion == "ward" else between

    return by_definition([Part(frozenset([i]), points[i]) for i in range(len(X))], distance, alpha, mean)


def by_definition(
    clusters: list[Part],
    distance: Callable[[Part, Part], Fraction | None],
    alpha: float,
    mean: Callable[[list[tuple[Fraction, ...]]], tuple[Fraction, ...]] = lambda points: (),
) -> list[Made]:
    """Develop clusters level by level. Returns (level, objects, distance) of every cluster that is made."""
    made: list[Made] = []
    level = 0
    while True:
        found = {(a, b): distance(clusters[a], clusters[b]) for a, b in combinations(range(len(clusters)), 2)}
        known = {pair: d for pair, d in found.items() if d is not None}
        nearest = {c: min(d for pair, d in known.items() if c in pair) for pair in known for c in pair}
        reliable = sorted((d, a, b) for (a, b), d in known.items() if d == nearest[a] == nearest[b])
        if not reliable:
            return made
        count = 1 if alpha == 0 else max(1, -int(-(Fraction(str(alpha)) * len(reliable)) // 1))
        taken = reliable[:1] if alpha == 0 else [link for link in reliable if link[0] <= reliable[count - 1][0]]
        level += 1
        group = list(range(len(clusters)))
        for _, a, b in taken:
            group = [group[a] if g == group[b] else g for g in group]
        height = {group[a]: d for d, a, b in taken}
        following = []
        for g in sorted(set(group)):
            parts = [clusters[c] for c in range(len(clusters)) if group[c] == g]
            whole = Part(frozenset().union(*(part.objects for part in parts)), mean([part.point for part in parts]))
            following.append(whole if len(parts) > 1 else parts[0])
            if len(parts) > 1:
                made.append((level, whole.objects, height[g]))
        clusters = sorted(following, key=lambda part: min(part.objects))
