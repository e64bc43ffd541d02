"""Lists that outlive their process: packed by objects, and filled in again by an engine that has caught up.

Only who is in a list is kept, not how far away: distances are measured anew, which costs little beside the search that
found them, and every radius holds for the clusters as they are now. A list that is not kept is empty with radius 0: it
proves nothing, so its cluster is searched like any other whose list proves nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Found
from ...errors import explain
from .entries import Lists, Nodes

#: The arrays that hold clusters.
_CLUSTERS = ("clusters", "entries", "pushed")


def pack_lists(lists: Lists, nodes: Nodes, unsure: NDArray[np.bool_], pushed: NDArray[np.int64]) -> Found:
    """Return the lists of all clusters but the ``unsure`` ones, whose lists are being written, and ``pushed``.

    The latter are new and not yet entered into the lists of others. Clusters go by their first objects. O(entries).
    """
    known = (nodes.node_of >= 0) & ~unsure & (lists.count > 0)
    known[pushed] = False
    slots = np.flatnonzero(known)
    counts, entry_nodes = entries_of(lists, slots)
    object_of = nodes.object_of.astype(np.int32)
    return {
        "clusters": object_of[slots],
        "counts": counts.astype(np.int32),
        "radius": lists.radius[slots],
        "entries": object_of[nodes.slot_of[living_nodes(nodes.parent)[entry_nodes]]],
        "pushed": object_of[pushed],
    }


def entries_of(lists: Lists, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return how many entries some lists have, and the nodes of all of them, list after list."""
    counts = lists.count[slots].astype(np.int64)
    return counts, lists.nodes[_places(lists.start[slots], counts)]


def unpack_lists(engine: Any, found: Found) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fill lists of an engine with what was packed; return the slots that have lists now, and those to be pushed.

    Distances are still to be measured. New clusters that are to be pushed will enter the lists that they belong to, so
    there they are left out.
    """
    nodes, n = engine.nodes, len(engine.nodes.object_of)
    slot_of_object = np.empty(n, np.int64)
    slot_of_object[nodes.object_of] = np.arange(n)
    _check(found, n)
    clusters, entries, pushed = (slot_of_object[found[name]] for name in _CLUSTERS)
    if not all((nodes.node_of[some] >= 0).all() for some in (clusters, entries, pushed)):
        raise _unfit()
    owner = np.repeat(np.arange(len(clusters)), found["counts"])
    kept = ~np.isin(entries, pushed)
    owner, entries = owner[kept], entries[kept]
    counts = np.bincount(owner, minlength=len(clusters))
    for place in np.flatnonzero(counts > engine.lists.room[clusters]):
        engine.give_room(int(clusters[place]), int(counts[place]))
    engine.lists.nodes[_places(engine.lists.start[clusters], counts)] = nodes.node_of[entries]
    engine.lists.count[clusters], engine.lists.radius[clusters] = counts, found["radius"]
    return clusters, pushed


def _check(found: Found, n: int) -> None:
    """Refuse arrays that cannot be lists of n objects."""
    if not {*_CLUSTERS, "counts", "radius"} <= found.keys():
        raise _unfit()
    counts, radius = found["counts"], found["radius"]
    whole = all(found[name].dtype.kind == "i" and found[name].ndim == 1 for name in (*_CLUSTERS, "counts"))
    if not whole or not len(found["clusters"]) == len(counts) == len(radius) or (counts < 0).any():
        raise _unfit()
    inside = all(((found[name] >= 0) & (found[name] < n)).all() for name in _CLUSTERS)
    if not inside or counts.sum() != len(found["entries"]) or not (radius > 0).all():
        raise _unfit()


def _unfit() -> ValueError:
    return ValueError(
        explain(
            "The checkpoint is damaged: it holds lists of clusters that are not there",
            "a checkpoint as it was written",
            "delete its file to start anew",
        )
    )


def _places(start: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of all entries of some lists, list after list."""
    return np.repeat(start - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def living_nodes(parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for every node the living one that holds it now. O(n log of the longest path)."""
    home = np.where(parent < 0, np.arange(len(parent)), parent)
    while True:
        further = home[home]
        if (further == home).all():
            return home
        home = further
