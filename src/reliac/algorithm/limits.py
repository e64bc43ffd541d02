"""Which clusters may be joined, while they grow: the constraints of :mod:`reliac.input.constraints` at work.

Clusters go by their first object. The functions are plain Python on arrays, and compiled as they stand by the fast
engines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..input.constraints import Constraints
from .links import Groups, Links


class Limits(NamedTuple):
    """Clusters as sets of objects, their sizes, and the objects that they must not be joined with.

    Object i has the cannot-links ``other[starts[i] : starts[i + 1]]``. Those of a cluster are a chain of objects that
    have some: ``head`` is the first, ``tail`` the last, ``following`` the next one (-1: none).
    """

    leader: Any  # (n,) of each object one on the way to the first object of its cluster
    size: Any  # (n,) objects of the cluster
    count: Any  # (n,) cannot-links of the cluster
    head: Any  # (n,)
    tail: Any  # (n,)
    following: Any  # (n,)
    starts: Any  # (n + 1,)
    other: Any  # (2 k,)
    max_size: int
    active: bool  # False: everything is allowed, and the arrays mean nothing


def make_limits(constraints: Constraints | None, n: int) -> Limits:
    """Return the limits of n objects, each by itself; without constraints a stand-in of the same types."""
    n = n if constraints else 1
    pairs = np.empty((0, 2), np.int64) if constraints is None else constraints.cannot.astype(np.int64)
    ends, others = np.concatenate((pairs, pairs[:, ::-1])).T
    count = np.bincount(ends, minlength=n).astype(np.int64)
    head = np.where(count > 0, np.arange(n), -1)
    size = constraints.max_size if constraints else None
    return Limits(
        leader=np.arange(n),
        size=np.ones(n, np.int64),
        count=count,
        head=head,
        tail=head.copy(),
        following=np.full(n, -1),
        starts=np.concatenate(([0], np.cumsum(count))),
        other=others[np.argsort(ends, kind="stable")],
        max_size=2**62 if size is None else size,
        active=constraints is not None,
    )


def may_join(limits: Any, a: int, b: int) -> bool:
    """Tell whether two clusters may become one. Costs the cannot-links of the one that has fewer."""
    if limits.size[a] + limits.size[b] > limits.max_size:
        return False
    if limits.count[a] > limits.count[b]:
        a, b = b, a
    segment, leader = limits.head[a], limits.leader
    while segment >= 0:
        for k in range(limits.starts[segment], limits.starts[segment + 1]):
            i = limits.other[k]
            while leader[i] != i:
                leader[i] = leader[leader[i]]
                i = leader[i]
            if i == b:
                return False
        segment = limits.following[segment]
    return True


def join_limits(limits: Any, a: int, b: int) -> None:
    """Note that the clusters of two objects are one; nothing happens if they are already."""
    leader = limits.leader
    while leader[a] != a:
        leader[a] = leader[leader[a]]
        a = leader[a]
    while leader[b] != b:
        leader[b] = leader[leader[b]]
        b = leader[b]
    if a == b:
        return
    if a > b:
        a, b = b, a
    leader[b] = a
    limits.size[a] += limits.size[b]
    limits.count[a] += limits.count[b]
    if limits.head[b] >= 0:
        if limits.head[a] >= 0:
            limits.following[limits.tail[a]] = limits.head[b]
        else:
            limits.head[a] = limits.head[b]
        limits.tail[a] = limits.tail[b]


def join_groups(limits: Limits, groups: Groups) -> None:
    """Note that every group is one cluster."""
    sizes = np.diff(np.append(groups.starts, len(groups.parts)))
    for head, part in zip(np.repeat(groups.heads, sizes).tolist(), groups.parts.tolist(), strict=True):
        join_limits(limits, head, part)


def allowed_links(links: Links, limits: Limits) -> Links:
    """Keep of sorted links those that join two clusters, and are allowed, when taken one after the other.

    This is Kruskal's rule with constraints; what is kept is joined in ``limits`` at once.
    """
    kept, leader = [], limits.leader
    for k, (a, b) in enumerate(zip(links.p.tolist(), links.q.tolist(), strict=True)):
        while leader[a] != a:
            a = leader[a]
        while leader[b] != b:
            b = leader[b]
        if a != b and may_join(limits, a, b):
            join_limits(limits, a, b)
            kept.append(k)
    return links.take(np.array(kept, np.intp))
