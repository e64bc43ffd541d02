"""Generated graphs, and the definition of clustering one where pairs that are not listed do not count."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

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


def ignoring_missing(n: int, edges: Edges, criterion: str, alpha: float) -> list[tuple[int, frozenset[int], Fraction]]:
    """Develop a graph by the definition, on sets of objects and in fractions: listed pairs only.

    Returns (level, objects, distance) of every cluster that is made.
    """
    listed = {(int(p), int(q)): Fraction(float(d)) for p, q, d in zip(*edges, strict=True)}
    clusters = [frozenset([i]) for i in range(n)]
    made, level = [], 0
    while True:
        distance = {}
        for a, b in combinations(range(len(clusters)), 2):
            between = [d for (p, q), d in listed.items() if (p in clusters[a]) != (q in clusters[a]) and
                       (p in clusters[b]) != (q in clusters[b]) and {p, q} <= clusters[a] | clusters[b]]  # fmt: skip
            if between:
                reduce = {"single": min, "complete": max, "average": lambda d: sum(d, Fraction(0)) / len(d)}[criterion]
                distance[a, b] = reduce(between)
        nearest = {c: min(d for pair, d in distance.items() if c in pair) for pair in distance for c in pair}
        reliable = sorted((d, a, b) for (a, b), d in distance.items() if d == nearest[a] == nearest[b])
        if not reliable:
            return made
        count = 1 if alpha == 0 else max(1, -int(-(Fraction(str(alpha)) * len(reliable)) // 1))
        taken = reliable[:1] if alpha == 0 else [link for link in reliable if link[0] <= reliable[count - 1][0]]
        level += 1
        group = list(range(len(clusters)))
        for _, a, b in taken:
            group = [group[a] if g == group[b] else g for g in group]
        height = {group[a]: d for d, a, b in taken}
        for g in sorted(set(group)):
            parts = [clusters[c] for c in range(len(clusters)) if group[c] == g]
            if len(parts) > 1:
                made.append((level, frozenset().union(*parts), height[g]))
        clusters = sorted((frozenset().union(*(clusters[c] for c in range(len(clusters)) if group[c] == g))
                           for g in set(group)), key=min)  # fmt: skip
