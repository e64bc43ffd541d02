"""Neighbours in few dimensions: the tree of boxes of the spatial engine, whose bounds select and exact sums decide."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.metrics import Squares, unit_rows
from ...machine import in_threads
from ..compiled.loading import FEW, bare_inside, compiled, load
from ..vectors.boxes import Tree, box_bound, nearest
from ..vectors.shift import exact_shift
from ..vectors.spatial import built_tree
from .measuring import enter, from_squares, squared_gap

#: Rows that a thread searches at a time.
ROWS = 1024

#: Rows that are selected besides the k nearest.
BESIDES = 1


@compiled
def search(tree, form, start, stop, distances, indices):
    """Fill in the nearest rows of those at positions ``start`` to ``stop`` of the tree.

    ``distances``, ``indices`` (n, k). Bounds select a few more than k, which are measured; where what was left out may
    be as near as the last, all boxes within that distance are looked through.
    """
    points, slots, _, boxes, rules = tree
    d, k = points.shape[1] - 2, distances.shape[1]
    found, bounds = np.empty(k + BESIDES + 1, np.int64), np.empty(k + BESIDES + 1)
    stack, waiting = np.empty(rules.depth + 2, np.int64), np.empty(rules.depth + 2)
    for i in range(start, stop):
        own = slots[i]
        nearest(points, boxes, rules, points[i], i, found, bounds, stack, waiting)
        distances[own, :] = np.inf
        indices[own, :] = np.iinfo(np.int64).max
        for e in range(k + BESIDES):
            if found[e] >= 0:
                distance = from_squares(squared_gap(points[i], points[found[e]], d), form)
                enter(distances[own], indices[own], distance, np.int64(slots[found[e]]))
        if not distances[own, k - 1] < from_squares(bounds[k + BESIDES], form):
            search_ties(tree, form, i, distances[own], indices[own], stack)


@bare_inside
def search_ties(tree, form, i, distances, indices, stack):
    """Look through all boxes that may hold a row as near as the last of a list; ``stack``: room for the depth."""
    points, slots, _, boxes, rules = tree
    m, d, leaves, k = len(slots), points.shape[1] - 2, 1 << rules.depth, len(distances)
    limit = distances[k - 1]
    distances[:] = np.inf
    indices[:] = np.iinfo(np.int64).max
    stack[0], height = 1, 1
    while height:
        height -= 1
        node = stack[height]
        if from_squares(box_bound(boxes, rules, points[i], node), form) > min(limit, distances[k - 1]):
            continue
        if node < leaves:
            stack[height], stack[height + 1] = 2 * node, 2 * node + 1
            height += 2
            continue
        for j in range(((node - leaves) * m) >> rules.depth, ((node - leaves + 1) * m) >> rules.depth):
            if j != i:
                distance = from_squares(squared_gap(points[i], points[j], d), form)
                enter(distances, indices, distance, np.int64(slots[j]))


def nearest_by_boxes(
    rows: NDArray[Any], k: int, form: Squares, threads: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the k nearest other rows of every row and their distances. Near-linear in few dimensions."""
    load("neighbors by boxes", "", lambda: _search(np.random.default_rng(0).random((FEW, 2)), 2, Squares.ROOTED, 1))
    return _search(rows, k, form, threads)


def _search(rows: NDArray[Any], k: int, form: Squares, threads: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    n = len(rows)
    tree = _tree_of(rows, form, threads)
    indices, distances = np.empty((n, k), np.intp), np.empty((n, k))
    in_threads(
        lambda start: search(tree, int(form), start, min(start + ROWS, n), distances, indices),
        range(0, n, ROWS),
        threads,
    )
    return indices, distances


def _tree_of(rows: NDArray[Any], form: Squares, threads: int) -> Tree:
    """Build the tree of single rows: they weigh 1 and have no spread."""
    n, d = rows.shape
    points = np.zeros((n, d + 2))
    points[:, :d] = unit_rows(rows) if form is Squares.UNIT else rows
    points[:, :d] -= exact_shift(points[:, :d])  # without rounding: no difference changes by a bit
    points[:, d] = 1.0
    space = SimpleNamespace(by_size=False, scale=1.0)
    slots = np.arange(n, dtype=np.int32)
    return built_tree(space, points, slots, np.zeros(n), lambda work, nodes: in_threads(work, nodes, threads))
