"""Sets of clusters that grow together: each is known by its leader, the smallest number in it."""

from __future__ import annotations

from .loading import bare_inlined


@bare_inlined
def top(leader, i):
    """Find the leader of a set; paths are halved on the way."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = leader[i]
    return i


@bare_inlined
def unite(leader, a, b):
    """Make one set of two, given by their leaders."""
    leader[max(a, b)] = min(a, b)
