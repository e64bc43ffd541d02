"""What the levels of a tree tell: when objects join, the spanning tree, and a table of the levels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, option

if TYPE_CHECKING:
    from .clustertree import ClusterTree

#: Levels that a printed tree shows before it leaves out the middle ones.
LEVELS_SHOWN = 12


class SpanningTree(NamedTuple):
    """A minimum spanning tree, or forest: pairs of objects, their distances, the levels that linked them."""

    pairs: NDArray[np.intp]
    weights: NDArray[np.float64]
    levels: NDArray[np.intp]


def join_levels(tree: ClusterTree) -> NDArray[np.intp]:
    """Return the level at which each object first joins another; n_levels + 1 if it never does."""
    level = np.full(tree.n_objects + len(tree.links), tree.n_levels + 1, dtype=np.intp)
    level[tree.links["left"]] = tree.links["level"]
    level[tree.links["right"]] = tree.links["level"]
    return level[: tree.n_objects]


def spanning_tree(tree: ClusterTree) -> SpanningTree:
    """Return the object pairs that the links of the single criterion stand for."""
    if tree.object_pairs is None:
        criterion = tree.parameters.get("criterion")
        if criterion == "single":
            given = "The components were joined by a root, for which there are no edges"
            raise ValueError(explain(given, "forests as edges make them", "leave join_components out"))
        raise ValueError(
            explain(
                f"A tree of criterion {criterion!r} has no spanning tree",
                option("criterion", "single"),
                "make the tree with the single criterion",
            )
        )
    return SpanningTree(tree.object_pairs, tree.links["distance"].copy(), tree.links["level"].astype(np.intp))


def level_rows(tree: ClusterTree) -> list[tuple[int, int, int, float | None, float | None]]:
    """Return for every level its number, its clusters, its joins, and their smallest and largest distance."""
    first = np.searchsorted(tree.links["level"], np.arange(1, tree.n_levels + 2)).tolist()
    counts, distance = tree.cluster_counts.tolist(), tree.links["distance"].tolist()
    return [
        (0, tree.n_objects, 0, None, None),
        *(
            (level, counts[level], end - start, distance[start], distance[end - 1])
            for level, (start, end) in enumerate(pairwise(first), 1)
        ),
    ]


def table_of_levels(tree: ClusterTree) -> str:
    """Return a small table of the tree: objects, levels, clusters per level, engine and why."""
    shown = {name: _in_short(value) for name, value in tree.parameters.items() if value is not None}
    parameters = ", ".join(f"{name} {value}" for name, value in shown.items())
    clusters = "1 cluster" if tree.n_clusters == 1 else f"{tree.n_clusters} clusters"
    lines = [
        f"ClusterTree of {tree.n_objects} objects: {tree.n_levels} levels, {clusters} at the last",
        f"  {parameters}",
        f"  engine {tree.engine} ({tree.reason})",
        "  level  clusters  joins  smallest distance  largest distance",
    ]
    half = LEVELS_SHOWN // 2
    for level, count, joins, smallest, largest in level_rows(tree):
        if tree.n_levels > LEVELS_SHOWN and half <= level <= tree.n_levels - half:
            if level == half:
                lines.append(f"    ...  ({tree.n_levels - 2 * half + 1} levels)")
            continue
        row = f"  {level:5d}  {count:8d}"
        lines.append(row if not level else f"{row}  {joins:5d}  {smallest:17.6g}  {largest:16.6g}")
    return "\n".join(lines)


def _in_short(value: object) -> object:
    """Return the number of pairs in place of a list of them."""
    return f"{len(value)} pair{'s'[: len(value) != 1]}" if isinstance(value, list) else value


def has_ties(tree: ClusterTree) -> bool:
    """Tell whether some step joined three clusters or more at once."""
    level = np.concatenate((np.zeros(tree.n_objects, dtype=np.int64), tree.links["level"]))
    return bool(
        ((level[tree.links["left"]] == tree.links["level"]) | (level[tree.links["right"]] == tree.links["level"])).any()
    )
