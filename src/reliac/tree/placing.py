"""New rows against a tree: how far they are from its objects, and the outlier score that they would have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..input.metrics import MetricLike, between, dense, options_of
from .clustertree import ClusterTree
from .outliers import Score, distance_scores, growing_distances, level_scores, score_objects
from .walks import parents

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Tables of distances, and rows made dense, are worked on in blocks of about this many numbers.
BLOCK = 2**22


def scores_of_new(tree: ClusterTree, score: Score) -> Callable[[Indices, Floats], Floats]:
    """Return a function of objects and distances: the outlier score of a new object so near to each of them.

    At distance 0 it is the score of the object itself. Else the new object and the cluster of its neighbour together
    hold enough objects once that cluster has one less than asked for: by distance then, or at the distance of the two
    if that is larger; by level at the first link of the neighbour's cluster that is also as far or farther.
    """
    score = score.of_tree(tree.n_objects)
    own = score_objects(tree, score)
    if score.scale == "level":
        levels = climber(tree, score.size - 1)

        def place(objects: Indices, distance: Floats) -> Floats:
            return np.where(distance == 0.0, own[objects], level_scores(tree, levels(objects, distance)))
    else:
        company = growing_distances(tree, score.size - 1)

        def place(objects: Indices, distance: Floats) -> Floats:
            found = distance_scores(tree, np.maximum(distance, company[objects]))
            return np.where(distance == 0.0, own[objects], found)

    return place


def climber(tree: ClusterTree, size: int) -> Callable[[Indices, Floats], Indices]:
    """Return a function of objects and distances: the level of the first link above each that is as far or farther.

    Links that make clusters below ``size`` objects are passed over. It climbs in jumps of ..., 4, 2, 1 links, so a tree
    of depth h takes log2(h) arrays of 2n numbers and as many steps. Heights never fall on the way up
    (:attr:`ClusterTree.monotone_distances`), and sizes grow; above the roots is one last node.
    """
    top = tree.n_objects + len(tree.links)
    parent = np.append(parents(tree), top)
    parent[parent < 0] = top
    jumps = [parent]
    while (jumps[-1] < top).any():
        jumps.append(jumps[-1][jumps[-1]])
    height = np.concatenate((np.zeros(tree.n_objects), tree.monotone_distances, [np.inf]))
    height[tree.n_objects : top][tree.links["size"] < size] = -np.inf
    level = np.concatenate((np.zeros(tree.n_objects), tree.links["level"], [tree.n_levels + 1])).astype(np.intp)

    def levels(objects: Indices, distance: Floats) -> Indices:
        node = objects
        for jump in reversed(jumps):
            node = np.where(height[jump[node]] < distance, jump[node], node)
        return np.asarray(level[parent[node]])

    return levels


def distances_to_training(numbers: Any, training: Any, metric: MetricLike) -> Iterator[tuple[slice, Floats]]:
    """Give the distances of new rows to all training rows, some rows at a time; without ``training`` they are X."""
    options = options_of(training, metric)
    for rows in blocks(numbers.shape[0], max(numbers.shape[1], 0 if training is None else training.shape[0])):
        distances = some = dense(numbers[rows])
        if training is not None:
            parts = [between(some, dense(training[part]), metric, **options) for part in blocks(*training.shape)]
            distances = np.hstack(parts)
        check_distances(distances, rows.start, "row")
        yield rows, distances


def check_distances(distances: NDArray[Any], first: int, called: str) -> None:
    """Refuse distances to training rows that are no such thing; ``first`` is the number of their first row."""
    if np.isfinite(distances).all() and (distances >= 0).all():
        return
    row, other = (int(index) for index in np.argwhere(~(np.isfinite(distances) & (distances >= 0)))[0])
    given = f"The distance of {called} {first + row} to training row {other} is {distances[row, other]}"
    raise ValueError(explain(given, "finite distances of at least 0", f"drop or correct row {first + row}"))


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Cut so many rows of so many numbers into blocks."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def row_fingerprints(numbers: Any) -> Iterator[bytes]:
    """Give a short hash of every row; equal rows have equal ones, whatever the type that holds them."""
    for rows in blocks(*numbers.shape):
        block = dense(numbers[rows]) + 0.0  # -0.0 becomes 0.0
        yield from (blake2b(row.data, digest_size=16).digest() for row in block)
