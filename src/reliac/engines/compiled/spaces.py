"""Spaces: what measures and joins clusters. Each engine with lists brings one, a named tuple of arrays."""

from __future__ import annotations

from numba.extending import overload


def pair_distance(space, p, q):
    """Return the exact distance of the clusters in slots p and q; each space brings its own."""
    raise NotImplementedError


def join_space(space, parts):
    """Make the clusters in ``parts`` one, in the slot of the first; each space brings its own."""
    raise NotImplementedError


SPACES: dict = {}


@overload(pair_distance)
def _pair_distance(space, p, q):
    return SPACES[space.instance_class][0]


@overload(join_space)
def _join_space(space, parts):
    return SPACES[space.instance_class][1]


def register_space(space_type, pair, join):
    """Say how a space (a named tuple of arrays) measures and joins clusters."""
    SPACES[space_type] = (pair, join)
