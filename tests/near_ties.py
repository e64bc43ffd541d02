"""Problems of floats near ties, and whether the trees that engines make of them differ by rounding only.

Every level of a tree is checked from its objects. A link that is reliable whatever rounding does must be there, one
that rounding cannot make reliable must not. What lies between may go either way, and later levels follow from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform

from problems import CRITERIA, GEOMETRIC
from references import takers
from reliac import cluster
from replay import Clusters, groups_by_level

#: How far rounding may move a distance: this share of it, and this share of the largest distance of two objects.
ROUNDING, SLACK = 1e-12, 1e-14


@dataclass
class NearTies:
    """One problem: points, a criterion, and the other arguments of cluster."""

    kind: str
    points: np.ndarray
    criterion: str
    options: dict


def decimals(rng, n, d):
    """Few different decimals: sums that are equal on paper differ in the last bits."""
    return rng.integers(0, 5, size=(n, d)) / 10


def signed_zeros(rng, n, d):
    """Decimals, zeros and minus zeros."""
    return rng.choice([0.0, -0.0, 0.1, -0.3], size=(n, d))


def rank_one(rng, n, d):
    """Multiples of one row: distances are products that round differently."""
    return rng.integers(1, 8, size=(n, 1)) * rng.normal(size=(1, d))


def duplicates(rng, n, d):
    """Few different rows, each several times."""
    return (rng.integers(0, 30, size=(max(2, n // 3), d)) / 10)[rng.integers(0, max(2, n // 3), size=n)]


KINDS = (decimals, signed_zeros, rank_one, duplicates)


def near_tie_problem(seed):
    """The problem of a seed: kind, criterion, alpha, tolerance, weights and stopping all vary."""
    rng = np.random.default_rng(seed)
    make, criterion = KINDS[seed % len(KINDS)], CRITERIA[seed // len(KINDS) % len(CRITERIA)]
    n, d = int(rng.integers(4, 26)), int(rng.integers(1, 5))
    options = {
        "metric": rng.choice(["sqeuclidean", "euclidean"]).item(),
        "alpha": rng.choice([0.0, 0.3, 0.5, 1.0]).item(),
        "tie_tolerance": rng.choice([0.0, 0.0, 0.01, 0.5]).item(),
        "weights": rng.choice([1.0, 2.0, 3.0, 0.1], size=n) if rng.random() < 0.5 else None,
        "n_clusters": int(rng.integers(1, n + 1)) if rng.random() < 0.3 else None,
    }
    return NearTies(make.__name__, make(rng, n, d), criterion, options)


def trees(problem):
    """The tree of every engine that takes the problem, by name."""
    names = takers(problem.points, problem.criterion, **problem.options)
    return {name: cluster(problem.points, problem.criterion, engine=name, **problem.options) for name in names}


def same_links(tree, other):
    """Tell whether two trees join the same clusters at the same levels, at the same heights but for rounding."""
    if len(tree.links) != len(other.links):
        return False
    same = all(np.array_equal(tree.links[name], other.links[name]) for name in ("left", "right", "level"))
    scale = max(1e-300, other.links["distance"].max(initial=0.0))
    return same and np.allclose(tree.links["distance"], other.links["distance"], rtol=1e-9, atol=1e-7 * scale)


def fault_of(problem, tree):
    """Say at which level a tree differs from the definition by more than rounding; None if nowhere."""
    options, criterion = problem.options, problem.criterion
    rooted = criterion in (*GEOMETRIC, "single", "complete") and options["metric"] == "euclidean"
    compared = "sqeuclidean" if rooted or criterion in GEOMETRIC else options["metric"]
    base = squareform(pdist(problem.points, compared))
    weights = np.ones(len(base)) if options["weights"] is None else options["weights"]
    clusters, slack = Clusters(criterion, base, weights), SLACK * len(base) * base.max() * max(1.0, weights.max()) ** 2
    tie_factor = (1 + options["tie_tolerance"]) ** (2 if rooted else 1)
    levels = groups_by_level(tree)
    for number, groups in enumerate(levels, 1):
        d = clusters.distances()
        last = number == len(levels) and options["n_clusters"] is not None
        fault = _fault_of_level(clusters, d, groups, options["alpha"], tie_factor, slack, last)
        if fault:
            return f"level {number}: {fault}"
        clusters.join([[int(part.min()) for part in parts] for parts, _ in groups])
    if len(clusters.heads) != (options["n_clusters"] or 1):
        return "the wrong number of clusters"
    return None


def _fault_of_level(clusters, d, groups, alpha, tie_factor, slack, last_level):
    smallest = d.min(axis=1) * tie_factor
    more, less = smallest * (1 + ROUNDING) + slack, smallest * (1 - ROUNDING) - slack
    may = (d <= more[:, None]) & (d <= more[None, :])
    only = (d <= more[:, None]).sum(axis=1) == 1
    sure = (d <= less[:, None]) & (d <= less[None, :]) | (may & only[:, None] & only[None, :])
    low, high = _limits(d[np.triu(may)], d[np.triu(sure)], alpha, tie_factor, slack)
    position, group_of = {head: row for row, head in enumerate(clusters.heads)}, np.full(len(d), -1)
    for g, (parts, _) in enumerate(groups):
        rows = np.array([position[int(part.min())] for part in parts])
        if sum(map(len, parts)) != sum(len(clusters.members[clusters.heads[row]][0]) for row in rows):
            return "a part is no cluster"
        group_of[rows] = g
        if not _connected((may & (d <= high))[np.ix_(rows, rows)]):
            return "a group is not connected by links that may be reliable and within the share"
    if alpha == 0:
        return None if [len(parts) for parts, _ in groups] == [2] else "the standard strategy takes one link"
    p, q = np.nonzero(np.triu(sure) & (d <= low))
    if not last_level and ((group_of[p] < 0) | (group_of[p] != group_of[q])).any():
        return "a reliable link was left out"
    return None


def _limits(may, sure, alpha, tie_factor, slack):
    """Return up to which distance links must be taken, and up to which they may; rounding moves the count of links."""
    if alpha == 0:
        return -math.inf, may.min() * (1 + ROUNDING) + slack
    may, sure = np.sort(may), np.sort(sure)
    fewest, most = (max(1, math.ceil(alpha * len(some) - 1e-9)) for some in (sure, may))
    low = may[fewest - 1] * tie_factor * (1 - ROUNDING) - slack
    high = sure[most - 1] * tie_factor * (1 + ROUNDING) + slack if most <= len(sure) else math.inf
    return low, high


def _connected(inside):
    reached = {0}
    while True:
        more = set(np.flatnonzero(inside[list(reached)].any(axis=0)).tolist()) | reached
        if more == reached:
            return len(reached) == len(inside)
        reached = more
