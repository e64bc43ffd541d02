"""Parts of a tree: the tree of one cluster, the way of an object to the root, and who a cluster joins next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, shown, unknown_name
from ..input.constraints import Constraints
from ..input.objects import Distances
from ..input.options import Stop, check_count
from ..machine import check_memory
from ..run.history import history_of
from ..tree.building import LINK, make_links
from ..tree.clustertree import ClusterTree
from ..tree.cuts import Cut, labels_of_links, one_cut
from ..tree.keeping import held_objects
from ..tree.walks import at_or_below, group_tops, parents

#: One step of a path: a link, and the node that it makes.
STEP = np.dtype([("node", "<i8"), *((name, LINK[name]) for name in LINK.names or ())])


def subtree(tree: ClusterTree, cluster: Any, cut: Cut, by: str) -> ClusterTree:
    """Return the tree of one cluster; see :meth:`reliac.ClusterTree.subtree`."""
    labels = labels_of_links(tree, one_cut(tree, cut, by))
    objects = np.flatnonzero(labels == _check_cluster(cluster, labels))
    held = held_objects(tree)
    if isinstance(held, Distances):
        size = held.matrix.nbytes * len(objects) ** 2 // tree.n_objects**2
        check_memory(size, f"A copy of the distances of {len(objects)} objects", "take a smaller cluster")
    problem = None if tree.problem is None else tree.problem.subset(objects, Stop())
    kept = None if tree.kept is None else tree.kept.subset(objects)
    data = kept if problem is None else problem.objects
    level, links, pairs = history_of(tree, objects).whole()
    return replace(
        tree,
        n_objects=len(objects),
        links=make_links(len(objects), links.p, links.q, links.distance, level),
        objects=tree.objects[objects],
        weights=tree.weights[objects],
        names=None if tree.names is None else tree.names[objects],
        object_pairs=None if tree.object_pairs is None else pairs,
        parameters=_parameters(tree, objects),
        reason=f"a cluster of a tree of {tree.n_objects} objects",
        fingerprint="" if data is None else data.data_fingerprint(),
        problem=problem,
        kept=kept,
        lists=None,
    )


def _parameters(tree: ClusterTree, objects: NDArray[np.intp]) -> dict[str, Any]:
    """Return the options of a run, with constraints by the numbers that objects have in the part."""
    known = dict(tree.parameters)
    must, cannot = (
        np.array(known.pop(name, None) or [], np.intp).reshape(-1, 2) for name in ("must_link", "cannot_link")
    )
    left = Constraints(must, cannot, known.pop("max_size", None)).subset(objects, tree.n_objects)
    return known | (left.options if left else {})


def _check_cluster(cluster: Any, labels: NDArray[np.intp]) -> int:
    return check_count("cluster", cluster, 0, int(labels.max()), "give a number that labels() of the same cut has")


def path(tree: ClusterTree, thing: Any) -> NDArray[np.void]:
    """Return the links from an object to its root; see :meth:`reliac.ClusterTree.path`."""
    n, above = tree.n_objects, parents(tree)
    node, rows = int(above[object_number(tree, thing)]), []
    while node >= 0:
        rows.append(node - n)
        node = int(above[node])
    steps = np.empty(len(rows), dtype=STEP)
    steps["node"] = np.array(rows, dtype=np.intp) + n
    for name in LINK.names or ():
        steps[name] = tree.links[name][rows]
    return steps


def object_number(tree: ClusterTree, thing: Any) -> int:
    """Return the number of an object that is given by its number or its name."""
    if not isinstance(thing, str):
        return check_count("object", thing, 0, tree.n_objects - 1, "give a row of tree.labels(), or a name")
    rows = np.flatnonzero(tree.object_names == thing)
    if len(rows) == 1:
        return int(rows[0])
    if len(rows):
        given = f"{len(rows)} objects have the name {shown(thing)}"
        raise ValueError(explain(given, "names that one object has", f"give its number, such as {rows[0]}"))
    raise ValueError(unknown_name("object", thing, tree.object_names[:20].tolist()))


def siblings(tree: ClusterTree, cluster: Any, cut: Cut, by: str) -> NDArray[np.intp]:
    """Return the clusters of a cut that the next step joins with one of them; see :meth:`ClusterTree.siblings`."""
    kept = one_cut(tree, cut, by)
    labels = labels_of_links(tree, kept)
    number = _check_cluster(cluster, labels)
    n, above = tree.n_objects, parents(tree)
    first = int(np.argmax(labels == number))
    node = first
    while above[node] >= 0 and kept[above[node] - n]:
        node = int(above[node])
    if above[node] < 0:  # a whole tree
        return np.empty(0, dtype=np.intp)
    marked = np.zeros(len(tree.links), dtype=bool)
    marked[group_tops(tree, ~kept)[above[node] - n]] = True
    together = labels_of_links(tree, kept | at_or_below(tree, marked))
    found = np.unique(labels[together == together[first]])
    return np.asarray(found[found != number])
