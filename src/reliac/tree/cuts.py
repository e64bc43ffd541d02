"""Cuts: which objects are together, at a number of clusters, a level or a distance, and within which sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, known_name, option
from ..input.options import check_count, check_number
from ..machine import check_memory
from .walks import at_or_below, ends_of, first_objects, group_tops

if TYPE_CHECKING:
    from .clustertree import ClusterTree

Kept = NDArray[np.bool_]  # which links a cut keeps; with a link all links below it are kept

#: What a label takes where several cuts are asked for: in a column of its own, and in the table of all.
BYTES_OF_A_LABEL = 16


class Sizes(NamedTuple):
    """How many objects the clusters of a cut may have, and what becomes of those that have too few."""

    largest: float = math.inf
    smallest: int = 1
    small: str = "stay"  # in their parent, or "drop"


class Cut(NamedTuple):
    """The one cut that is asked for, or several of its kind: n_clusters, level or distance; else the last level."""

    name: str = ""
    value: Any = None  # a list of numbers where several are asked for


def asked_cut(n_clusters: Any, level: Any, distance: Any) -> Cut:
    """Return the cut that is asked for; refuse two at once."""
    given = {"n_clusters": n_clusters, "level": level, "distance": distance}
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) > 1:
        raise ValueError(
            explain(
                f"labels() got {' and '.join(asked)}",
                "one of n_clusters, level, distance",
                "drop all but one",
            )
        )
    for name, value in asked.items():
        several = isinstance(value, Iterable) and not isinstance(value, str) and getattr(value, "ndim", 1) > 0
        return Cut(name, [*value] if several else value)
    return Cut()


def labels(tree: ClusterTree, cut: Cut, by: str, sizes: Sizes | None = None) -> NDArray[np.intp]:
    """Label the objects; see :meth:`reliac.ClusterTree.labels`. Several cuts are columns."""
    several = isinstance(cut.value, list)
    if several:
        what = f"The labels in {len(cut.value)} cuts of {tree.n_objects} objects"
        check_memory(BYTES_OF_A_LABEL * tree.n_objects * len(cut.value), what, "ask for fewer cuts at once")
    kept, first = cutter(tree, cut.name, by), first_objects(tree)
    columns = [_labels(tree, kept(one), sizes or Sizes(), first) for one in (cut.value if several else [cut.value])]
    if not columns:
        raise ValueError(explain(f"labels() got no {cut.name}", "one cut or more", "give numbers in the list"))
    return np.column_stack(columns) if several else columns[0]


def one_cut(tree: ClusterTree, cut: Cut, by: str) -> Kept:
    """Return the links that a cut keeps; refuse several cuts."""
    if isinstance(cut.value, list):
        raise ValueError(explain(f"{len(cut.value)} cuts at once", f"one {cut.name}", "ask for one after the other"))
    return cutter(tree, cut.name, by)(cut.value)


def cutter(tree: ClusterTree, name: str, by: str) -> Callable[[Any], Kept]:
    """Return a function of a number of clusters, a level or a distance: which links that cut keeps."""
    known_name("order", by, ["distance", "level"])
    if name == "n_clusters":
        order = join_order(tree, by)

        def first_joins(count: Any) -> Kept:
            kept = np.ones(len(tree.links), dtype=bool)
            kept[order[tree.n_objects - check_n_clusters(tree, count) :]] = False
            return kept

        return first_joins
    if name == "level":
        step = "count from 0, the single objects, to n_levels, the last"
        return lambda level: tree.links["level"] <= check_count("level", level, 0, tree.n_levels, step)
    if name == "distance":
        step = "give the distance above which joins are undone"
        return lambda most: tree.monotone_distances <= check_number("distance", most, 0.0, math.inf, step)
    return lambda _: np.ones(len(tree.links), dtype=bool)


def join_order(tree: ClusterTree, by: str) -> NDArray[np.intp]:
    """Return the links in the order in which cuts into fewer and fewer clusters keep them."""
    by_distance = known_name("order", by, ["distance", "level"]) == "distance"
    return np.argsort(tree.monotone_distances, kind="stable") if by_distance else np.arange(len(tree.links))


def check_n_clusters(tree: ClusterTree, count: Any) -> int:
    """Return a number of clusters that the tree has a cut for."""
    step = "ask for a number in this range" if tree.n_clusters == 1 else f"to get fewer, {how_to_join(tree)}"
    most = tree.n_objects - int(np.count_nonzero(_fixed(tree)))
    return check_count("n_clusters", count, tree.n_clusters, most, step)


def how_to_join(tree: ClusterTree) -> str:
    """Say what joins the trees of a forest: going on where the run stopped early, or changing what keeps them apart."""
    if tree.parameters.get("cannot_link") or tree.parameters.get("max_size"):
        return "go on with tree.develop() if the run stopped early, or drop constraints"
    if "connectivity" in tree.parameters:
        step = f"add edges that join the parts of the graph, or {option('join_components', True)}"
        return f"go on with tree.develop() if the run stopped early, or {step}"
    if "neighbors" in tree.parameters and "join_components" not in tree.parameters:
        return (
            f"go on with tree.develop() if the run stopped early, or join the parts: {option('join_components', True)}"
        )
    if "missing" in tree.parameters:
        step = f"let reliac.cluster_edges join the parts of the graph: {option('join_components', True)}"
        return f"go on with tree.develop() if the run stopped early, or {step}"
    return "go on with tree.develop()"


def _fixed(tree: ClusterTree) -> Kept:
    """Tell which joins no cut undoes: those of objects that must be together, level 1."""
    return np.asarray((tree.links["level"] == 1) & bool(tree.parameters.get("must_link")))


# --- sizes ---


def check_sizes(max_size: Any, min_size: Any, small: Any) -> Sizes:
    """Check what a user says about the sizes of clusters."""
    largest: float = math.inf
    if max_size is not None:
        largest = check_count("max_size", max_size, 1, math.inf, "give the most objects that a cluster may have")
    smallest = 1
    if min_size is not None:
        smallest = check_count("min_size", min_size, 1, math.inf, "give the fewest objects that a cluster may have")
    if smallest > largest:
        given = f"{option('min_size', min_size)} and {option('max_size', max_size)} contradict"
        raise ValueError(explain(given, f"a min_size from 1 to {largest:.0f}", "lower min_size, or raise max_size"))
    return Sizes(largest, smallest, known_name("word for small clusters", small, ["stay", "drop"]))


def sized(tree: ClusterTree, kept: Kept, sizes: Sizes) -> Kept:
    """Undo joins that make clusters too large, then keep those that have too small a part. A group is one join."""
    links = tree.links
    if sizes.largest < math.inf:
        kept = kept & ((links["size"][group_tops(tree, kept)] <= sizes.largest) | _fixed(tree))
    if sizes.smallest > 1 and sizes.small == "stay":
        undone = ~kept
        top = group_tops(tree, undone)
        may_stay = (
            undone & (_smallest_parts(tree, undone, top) < sizes.smallest) & (links["size"][top] <= sizes.largest)
        )
        kept = kept | at_or_below(tree, may_stay)
    return kept


def _smallest_parts(tree: ClusterTree, undone: Kept, top: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for every link the size of the smallest part that the undone part of its group joins."""
    n, links = tree.n_objects, tree.links
    size = np.concatenate((np.ones(n, dtype=np.intp), links["size"]))
    own = np.concatenate((np.full(n, -1), np.where(undone, top, -1)))  # the undone group that a node is made by
    least = np.full(len(links), n + 1, dtype=np.intp)
    for end in (links["left"], links["right"]):
        is_part = own[end] != top
        np.minimum.at(least, top[is_part], size[end[is_part]])
    return least[top]


# --- from links to labels ---


def _labels(tree: ClusterTree, kept: Kept, sizes: Sizes, first: NDArray[np.intp]) -> NDArray[np.intp]:
    found = labels_of_links(tree, sized(tree, kept, sizes), first)
    return without_small(found, sizes.smallest if sizes.small == "drop" else 1)


def labels_of_links(tree: ClusterTree, kept: Kept, first: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Label the objects by the links that are kept; with a link all links below it must be kept.

    The first object of the right side of a link points to that of its left side, which is before it. An object is the
    first of a right side once at most, so following the pointers leads to the first object of its cluster.
    """
    first = first_objects(tree) if first is None else first
    leader = np.arange(tree.n_objects)
    leader[first[tree.links["right"][kept]]] = first[tree.links["left"][kept]]
    leader = ends_of(leader)
    return (np.cumsum(leader == np.arange(tree.n_objects)) - 1)[leader]


def without_small(labels: NDArray[np.intp], smallest: int) -> NDArray[np.intp]:
    """Number clusters of fewer objects -1, and the others without gaps."""
    if smallest <= 1:
        return labels
    enough = np.bincount(labels) >= smallest
    return np.where(enough, np.cumsum(enough) - 1, -1)[labels]


def members(labels: NDArray[np.intp], objects: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the objects of every label."""
    if labels.ndim != 1:
        raise ValueError(explain(f"clusters() got {labels.shape[1]} cuts", "one cut", "ask for one after the other"))
    order = np.argsort(labels, kind="stable")
    return np.split(objects[order], np.cumsum(np.bincount(labels))[:-1])
