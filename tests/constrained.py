"""The definition of clustering with constraints, on member lists and in fractions: all pairs, and nothing clever."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from oracle import DISTANCE, components, join, numbers, share, squared

Pair = tuple[int, int]
Made = tuple[int, frozenset[int], Any]


def allowed(p: Iterable[int], q: Iterable[int], cannot: Iterable[Pair], max_size: float) -> bool:
    """Tell whether two sets of objects may be one cluster."""
    together = {*p, *q}
    return len(together) <= max_size and not any(i in together and j in together for i, j in cannot)


def from_points(X: np.ndarray[Any, Any], criterion: str, weight: Any = None) -> tuple[Any, Any]:
    """Return the distance of two clusters of points, by squares, and how parts become one; both exact."""
    points, one = numbers(X)
    d = [[squared(x, y) for y in points] for x in points]
    weights = [one] * len(d) if weight is None else [one * int(value) for value in weight]
    return lambda p, q: DISTANCE[criterion](points, d, p, q, weights), lambda parts: join(parts, criterion, weights)


def by_definition(
    n: int,
    distance: Callable[[Any, Any], Any],
    joined: Callable[[list[Any]], Any],
    *,
    must: list[Pair] = [],  # noqa: B006 (never changed)
    cannot: list[Pair] = [],  # noqa: B006
    max_size: float = np.inf,
    alpha: float = 1.0,
    tol: float = 0,
) -> list[Made]:
    """Return (level, objects, distance) of every cluster that is made. ``distance`` is None where there is no link."""
    clusters: dict[int, Any] = {i: {i: Fraction(1)} for i in range(n)}
    made: list[Made] = []

    def establish(level: int, groups: list[tuple[set[int], Any]]) -> None:
        for group, length in groups:
            cluster = joined([clusters.pop(part) for part in sorted(group)])
            clusters[min(group)] = cluster
            made.append((level, frozenset(cluster), length))

    level = 0
    if any(i != j for i, j in must):
        level = 1
        establish(level, [(group, 0) for group in components([pair for pair in must if pair[0] != pair[1]])])
    while True:
        length = {
            (p, q): distance(clusters[p], clusters[q])
            for p, q in combinations(sorted(clusters), 2)
            if allowed(clusters[p], clusters[q], cannot, max_size)
        }
        length = {pair: here for pair, here in length.items() if here is not None}
        near = {p: min(here for pair, here in length.items() if p in pair) for pair in length for p in pair}
        factor = 1 + tol
        reliable = sorted((h, p, q) for (p, q), h in length.items() if h <= near[p] * factor and h <= near[q] * factor)
        if not reliable:
            return made
        level += 1
        taken = share(reliable, alpha, tol)
        for tie in components([(p, q) for _, p, q in taken]):
            links = sorted((p, q) for _, p, q in taken if p in tie)
            smallest = min(here for here, p, q in taken if p in tie)
            groups: list[set[int]] = [{p} for p in tie]
            for p, q in links:
                one, other = (next(group for group in groups if end in group) for end in (p, q))
                objects = [[i for part in group for i in clusters[part]] for group in (one, other)]
                if one is not other and allowed(*objects, cannot, max_size):
                    groups.remove(other)
                    one |= other
            establish(level, [(group, smallest) for group in groups if len(group) > 1])


def check_made(tree: Any, expected: list[Made]) -> None:
    """Compare the clusters that every level of a tree makes, and at which distance."""
    levels = [{frozenset(c.tolist()) for c in tree.clusters(level)} for level in range(tree.n_levels + 1)]
    found = {(level, c) for level in range(1, len(levels)) for c in levels[level] - levels[level - 1]}
    assert found == {(level, objects) for level, objects, _ in expected}
    heights = {(level, objects): here for level, objects, here in expected}
    for row, link in enumerate(tree.links):
        labels = tree.labels(level=int(link["level"]))
        objects = frozenset(np.flatnonzero(labels == labels[_member(tree, row)]).tolist())
        assert np.isclose(link["distance"], float(heights[int(link["level"]), objects]), rtol=1e-12)


def _member(tree: Any, row: int) -> int:
    """Return an object of the cluster that a link makes."""
    node = tree.n_objects + row
    while node >= tree.n_objects:
        node = int(tree.links["left"][node - tree.n_objects])
    return node


def violations(labels: np.ndarray[Any, Any], must: Any, cannot: Any, max_size: float) -> list[str]:
    """Return what a partition breaks."""
    broken = [f"{i} and {j} are apart" for i, j in must if labels[i] != labels[j]]
    broken += [f"{i} and {j} are together" for i, j in cannot if labels[i] == labels[j]]
    return broken + ["too large"] * bool(np.bincount(labels).max() > max_size)


def some_constraints(n: int, seed: int) -> dict[str, Any]:
    """Return constraints that do not contradict each other: any mixture of the three kinds, some of them tight."""
    rng = np.random.default_rng(seed)
    pairs = [tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(3 + n // 2)]
    must, cannot = pairs[: rng.integers(0, 4)], pairs[4 : 4 + rng.integers(0, max(1, n // 2))]
    groups = components(must)
    cannot = [(i, j) for i, j in cannot if not any(i in group and j in group for group in groups)]
    least = max([1, *map(len, groups)])
    max_size = None if rng.random() < 0.4 and must + cannot else int(rng.integers(least, max(least + 1, n // 2)))
    return {"must_link": must, "cannot_link": cannot, "max_size": max_size}


def defined(constraints: dict[str, Any]) -> dict[str, Any]:
    """Return constraints by the names that the definition has for them."""
    size = constraints["max_size"]
    return {
        "must": constraints["must_link"],
        "cannot": constraints["cannot_link"],
        "max_size": np.inf if size is None else size,
    }
