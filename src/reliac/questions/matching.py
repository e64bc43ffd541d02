"""The same objects in two trees: matched by their names, or by their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..tree.clustertree import ClusterTree

Indices = NDArray[np.intp]


def match_objects(tree: ClusterTree, other: Any) -> Indices:
    """Return for every object of ``other`` the same object of ``tree``.

    By names where both trees have some that are all different, else by the numbers of their rows in the input.
    """
    if not isinstance(other, ClusterTree):
        given = f"Another tree of type {type(other).__name__}"
        raise TypeError(explain(given, "a ClusterTree", "pass what reliac.cluster or reliac.load returned"))
    keys: list[Sequence[Any]] = [tree.objects.tolist(), other.objects.tolist()]
    kind = "rows"
    if tree.names is not None and other.names is not None:
        names = tree.names.tolist(), other.names.tolist()
        if all(len({*some}) == len(some) for some in names):
            keys, kind = list(names), "names"
    own, others = {key: place for place, key in enumerate(keys[0])}, {*keys[1]}
    missing = [key for key in keys[1] if key not in own] or [key for key in keys[0] if key not in others]
    if missing or len(keys[0]) != len(keys[1]):
        count = f"Trees of {tree.n_objects} and {other.n_objects} objects"
        where = f", matched by {kind}: {missing[0]!r} is in one of them only" if missing else f", matched by {kind}"
        step = "make both from the same rows; tree.subtree takes a part, and names= tells which rows are the same"
        raise ValueError(explain(count + where, "two trees of the same objects", step))
    return np.array([own[key] for key in keys[1]], dtype=np.intp)
