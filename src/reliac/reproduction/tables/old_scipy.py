"""The standard strategy with the rules for ties that stand behind the printed figures.

Found by trying rules until all places agreed, and, as far as we know, that of old versions of SciPy's ``linkage``: of
several smallest pairs the first in row order is joined, and the joint cluster takes the place of the later of its two
parts. The single criterion goes through Sibson's pointer representation (SLINK, 1973). Today's SciPy breaks ties in
other ways; where nothing ties, all of them give the same tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.criteria import get_criterion

Floats = NDArray[np.float64]

#: Distances of a joint cluster from those of its parts ``a`` and ``b``, which have sizes ``m`` and ``n`` and are
#: ``d`` apart; the others have sizes ``k``.
_UPDATES: dict[str, Callable[[Floats, Floats, float, float, float, Floats], Any]] = {
    "complete": lambda a, b, d, m, n, k: np.maximum(a, b),
    "average": lambda a, b, d, m, n, k: (m * a + n * b) / (m + n),
    "weighted": lambda a, b, d, m, n, k: 0.5 * (a + b),
    "centroid": lambda a, b, d, m, n, k: _root((m * a * a + n * b * b - m * n * d * d / (m + n)) / (m + n)),
    "ward": lambda a, b, d, m, n, k: _ward(a, b, d, m, n, k, 1.0 / (k + m + n)),
}


def linkage_by_first_pair(squared: Floats, criterion: str) -> Floats:
    """Return the linkage matrix of the standard strategy, from squared Euclidean distances (n, n).

    As in the printed tables the criteria that speak of points work on plain distances, the others on squared ones.
    """
    distances = np.sqrt(squared) if get_criterion(criterion).geometric else squared
    return _pointers(distances) if criterion == "single" else _pairs(distances, _UPDATES[criterion])


def _root(values: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(values, 0.0)))  # rounding can leave less than nothing


def _ward(a: Floats, b: Floats, d: float, m: float, n: float, k: Floats, share: Floats) -> Floats:
    """Multiply by the share first: on Hayes Roth, rounding decides between distances that are equal on paper."""
    return _root((k + m) * share * a * a + (k + n) * share * b * b - k * share * d * d)


def _pairs(distances: Floats, update: Callable[..., Any]) -> Floats:
    """Join the first smallest pair again and again. O(n^2) memory, usually O(n^2) time.

    ``smallest[i]`` is the smallest distance to a later place and ``partner[i]`` the first place that has it.
    """
    n = len(distances)
    D = np.array(distances, dtype=np.float64)
    np.fill_diagonal(D, np.inf)
    node, size, alive = np.arange(n), np.ones(n), np.ones(n, dtype=bool)
    smallest, partner = np.full(n, np.inf), np.zeros(n, dtype=np.intp)

    def look(i: int) -> None:
        if i + 1 < n:
            partner[i] = i + 1 + int(D[i, i + 1 :].argmin())
            smallest[i] = D[i, partner[i]]

    for i in range(n):
        look(i)
    steps = np.zeros((n - 1, 4))
    for step in range(n - 1):
        x = int(smallest.argmin())
        y = int(partner[x])
        distance = float(smallest[x])
        steps[step] = (*sorted((node[x], node[y])), distance, size[x] + size[y])
        joined = update(D[x], D[y], distance, size[x], size[y], size)
        alive[x] = False
        joined[~alive] = np.inf
        joined[y] = np.inf
        D[x], D[:, x], D[y], D[:, y] = np.inf, np.inf, joined, joined
        smallest[x], node[y], size[y] = np.inf, n + step, size[x] + size[y]
        before = np.flatnonzero(alive[:y])
        lost = before[(partner[before] == x) | (partner[before] == y)]
        tied = (joined[before] == smallest[before]) & (y < partner[before])
        nearer = before[(joined[before] < smallest[before]) | tied]
        smallest[nearer], partner[nearer] = joined[nearer], y
        for i in (*lost.tolist(), y):
            smallest[i] = np.inf
            look(i)
    return steps


def _pointers(distances: Floats) -> Floats:
    """Single linkage by Sibson's pointers, its joins sorted by distance, equal ones in the order of their objects."""
    n = len(distances)
    target: list[int] = []  # the last object of the cluster that an object joins ...
    height: list[float] = []  # ... and how far away that is
    for new, row in enumerate(distances.tolist()):
        reach = row[:new]
        for j in range(new):
            t, h, m = target[j], height[j], reach[j]
            if h >= m:
                target[j], height[j], m = new, m, h
            reach[t] = min(reach[t], m)
        target.append(new)
        height.append(np.inf)
        for j in range(new):
            if height[j] >= height[target[j]]:
                target[j] = new
    order = np.argsort(height, kind="stable")[: n - 1]
    node, size = list(range(n)), [1] * n
    steps = np.zeros((n - 1, 4))
    for step, j in enumerate(order.tolist()):
        t = target[j]
        steps[step] = (*sorted((node[j], node[t])), height[j], size[j] + size[t])
        node[t], size[t] = n + step, size[j] + size[t]
    return steps
