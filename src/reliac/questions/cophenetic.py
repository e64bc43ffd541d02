"""How well the distances of a tree fit others: those of its objects, or those of another tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluate import check_has_root, correlation
from ..input.condensed import length_of, pairs
from ..input.options import check_count
from ..tree.clustertree import ClusterTree
from .given import measure, objects_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Up to so many objects all pairs count.
MOST = 3000

#: Of more objects: so many of them, each with so many others.
SAMPLED, PARTNERS = 20_000, 100


def correlate_with_objects(tree: ClusterTree, X: Any, metric: Any, seed: int) -> float:
    """Correlate a tree with its objects; see :meth:`reliac.ClusterTree.cophenetic_correlation`."""
    check_has_root(tree)
    seed = check_count("seed", seed, 0, 2**32 - 1, "leave it out for 0")
    objects, metric = objects_of(tree, X, metric, "cophenetic_correlation({})")
    if tree.n_objects <= MOST:
        return correlation(objects.condensed_distances(metric), tree.cophenetic())
    p, q = sampled_pairs(tree.n_objects, seed)
    distances = measure(objects, metric)
    own = [distances(p[at : at + 1], q[at : at + PARTNERS])[0] for at in range(0, len(p), PARTNERS)]
    return correlation(np.concatenate(own), tree.cophenetic(np.column_stack((p, q))))


def correlate_trees(tree: ClusterTree, other: ClusterTree, same: Indices, seed: int) -> tuple[float, int | None]:
    """Correlate the distances at which objects come together in two trees; return how many pairs were sampled, too.

    NaN where objects never come together, or all do at one distance; None where all pairs count.
    """
    seed = check_count("seed", seed, 0, 2**32 - 1, "leave it out for 0")
    n = tree.n_objects
    p, q = pairs(n) if n <= MOST else sampled_pairs(n, seed)
    if tree.n_clusters > 1 or other.n_clusters > 1:
        return float("nan"), None
    back = np.empty(n, dtype=np.intp)
    back[same] = np.arange(n)
    met = tree.cophenetic(np.column_stack((p, q)))
    met_there = other.cophenetic(np.column_stack((back[p], back[q])))
    sampled = None if len(p) == length_of(n) else len(p)
    if n < 3 or not np.ptp(met) or not np.ptp(met_there):
        return float("nan"), sampled
    return correlation(met, met_there), sampled


def sampled_pairs(n: int, seed: int) -> tuple[Indices, Indices]:
    """Return pairs of different objects by chance: some objects, in order, each with PARTNERS others."""
    rng = np.random.default_rng(seed)
    some = np.sort(rng.choice(n, min(n, SAMPLED), replace=False))
    p = np.repeat(some, PARTNERS)
    q = rng.integers(0, n - 1, len(p))
    return p, q + (q >= p)
