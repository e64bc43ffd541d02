"""The clusters of a cut as a criterion sees them: their objects, what each counts, and their weights."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import Criterion, equal_shares
from ..tree import cuts
from ..tree.clustertree import ClusterTree
from ..tree.walks import first_objects

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Partition(NamedTuple):
    """A cut of a tree. ``factor[i] / weight[labels[i]]`` is the share of object i in its cluster's means."""

    labels: Indices  # (n,) from 0 to K - 1, each of which occurs
    order: Indices  # (n,) the objects, cluster after cluster
    starts: Indices  # (K,) where each cluster begins in that order
    factor: Floats  # (n,)
    weight: Floats  # (K,)

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.starts)

    @property
    def sizes(self) -> Indices:
        """The number of objects of every cluster."""
        return np.diff(np.append(self.starts, len(self.order)))

    def members(self, cluster: int) -> Indices:
        """Return the objects of a cluster."""
        start = int(self.starts[cluster])
        return self.order[start : start + int(self.sizes[cluster])]


def labels_of_one_cut(tree: ClusterTree, n_clusters: Any, level: Any, distance: Any, by: Any) -> Indices:
    """Return the labels of a cut, as :meth:`ClusterTree.labels` gives them; refuse several cuts at once."""
    cut = cuts.asked_cut(n_clusters, level, distance)
    cuts.one_cut(tree, cut, by)
    return cuts.labels(tree, cut, by)


def partition_by_objects(labels: Indices, weights: Floats) -> Partition:
    """Return the clusters with every object counting by its weight."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max(initial=-1) + 1))
    return Partition(labels, order, starts, weights, np.bincount(labels, weights=weights).astype(np.float64))


def partition(tree: ClusterTree, labels: Indices, criterion: Criterion, weights: Floats) -> Partition:
    """Return the clusters that labels of a cut stand for, with the shares that the criterion gives their objects.

    By objects (ward, centroid, average) an object counts by its weight. With equal parts (weighted, median) every part
    of a join counts alike, whatever its size and weights: a join of two halves the shares of both, and a tie that joins
    k clusters at once divides them by k. Where a cut leaves only some clusters of such a tie together, these.
    """
    if not criterion.equal_parts:
        return partition_by_objects(labels, weights)
    plain = partition_by_objects(labels, np.ones(len(labels)))
    factor, weight = _equal_factors(tree, labels)
    return plain._replace(factor=factor, weight=weight)


@lru_cache(maxsize=2**12)
def _shares(weights: tuple[float, ...]) -> tuple[list[float], float]:
    factors, total = equal_shares(np.array(weights))
    return factors.tolist(), total


def _equal_factors(tree: ClusterTree, labels: Indices) -> tuple[Floats, Floats]:
    """Return the factor of every object, and the weight of every cluster, where parts count alike.

    Groups are followed upwards to find their weights and the factors of their parts, then downwards to multiply these.
    """
    n, links, first = tree.n_objects, tree.links, first_objects(tree)
    left, right, level = (links[name].tolist() for name in ("left", "right", "level"))
    kept = (labels[first[links["left"]]] == labels[first[links["right"]]]).tolist()
    parts: dict[int, list[int]] = {}  # of the groups that are not yet part of a larger one of their level
    weight = [1.0] * (n + len(links))
    tops: list[tuple[int, list[int], list[float]]] = []
    inside = [False] * (n + len(links))  # whether the group of a node goes on above it
    for row in range(len(links)):
        for end in (left[row], right[row]) if kept[row] else ():
            inside[end] = end >= n and level[end - n] == level[row]
    for row in range(len(links)):
        if not kept[row]:
            continue
        mine = [parts.pop(end, [end]) for end in (left[row], right[row])]
        longer, other = sorted(mine, key=len, reverse=True)
        longer += other
        if inside[n + row]:
            parts[n + row] = longer
            continue
        factors, weight[n + row] = _shares(tuple(weight[part] for part in longer))
        tops.append((n + row, longer, factors))
    factor = [1.0] * (n + len(links))
    cluster_weight = np.ones(int(labels.max(initial=-1)) + 1)
    below = [False] * (n + len(links))
    for node, group, factors in reversed(tops):
        if not below[node]:
            cluster_weight[labels[first[node]]] = weight[node]
        for part, share in zip(group, factors, strict=True):
            factor[part] = factor[node] * share
            below[part] = True
    return np.array(factor[:n]), cluster_weight
