"""Outlier scores: how late, or how far away, an object comes together with others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, option
from .walks import first_objects, group_tops, parents

if TYPE_CHECKING:
    from .clustertree import ClusterTree

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: The score that ranks outliers best, by the table "Outlier scores" of ``reliac reproduce`` (docs/paper.md): what the
#: detector and the command line take where nothing is said.
BEST = "distance of 10"
#: The criterion whose trees it ranks them best with, by the same table.
BEST_CRITERION = "single"

_PATTERN = re.compile(r"(level|distance)(?:[ _-]of[ _-](\d+))?")


class Score(NamedTuple):
    """What an object is scored by: the level or the distance at which its cluster first holds so many objects."""

    scale: str  # "level" or "distance"
    size: int  # 2: the object's first join

    def of_tree(self, n: int) -> Score:
        """Return the score with a size that says something among n objects.

        At most a quarter of them, since a cluster of so many is a crowd, and in a small tree all objects would have the
        score of its root; but 3 of few objects, and 2 of fewer than 6.
        """
        return self._replace(size=max(2, min(self.size, max(3, n // 4), n // 2)))

    def in_words(self) -> str:
        """Say what the score of an object is."""
        largest = "largest distance" if self.scale == "distance" else "number of levels"
        when = f"its cluster first holds {self.size} objects" if self.size > 2 else "it first joins another object"
        return f"the score of an object is the {self.scale} at which {when}, divided by the tree's {largest}"


def read_score(by: Any) -> Score:
    """Read "level", "distance", "level of 10" or "distance of 10"; hyphens may stand for the spaces."""
    found = _PATTERN.fullmatch(by) if isinstance(by, str) else None
    if found is None or (found[2] and int(found[2]) < 2):
        raise ValueError(
            explain(
                option("by", by),
                "'level', 'distance', 'level of m' or 'distance of m', with m a whole number of at least 2",
                f"write {option('by', BEST.replace(' ', '-'))}, or another m",  # a form that needs no quotes in a shell
            )
        )
    return Score(found[1], int(found[2] or 2))


def outlier_scores(tree: ClusterTree, by: Any) -> Floats:
    """Score the objects; see :meth:`reliac.ClusterTree.outlier_scores`."""
    return score_objects(tree, read_score(by).of_tree(tree.n_objects))


def score_objects(tree: ClusterTree, score: Score) -> Floats:
    """Score the objects by the level or the distance at which the cluster of each first holds enough of them."""
    if score.scale == "distance":
        return distance_scores(tree, growing_distances(tree, score.size))
    return level_scores(tree, np.append(tree.links["level"], tree.n_levels + 1)[growing_links(tree, score.size)])


def level_scores(tree: ClusterTree, levels: NDArray[Any]) -> Floats:
    """Turn levels into scores: shares of the number of levels, at most 1."""
    return np.minimum(levels / max(tree.n_levels, 1), 1.0)


def distance_scores(tree: ClusterTree, distances: Floats) -> Floats:
    """Turn distances into scores: shares of the tree's largest distance; never (infinity) is 1."""
    largest = float(tree.links["distance"].max(initial=0.0)) or 1.0
    return np.where(np.isinf(distances), 1.0, distances / largest)


def growing_links(tree: ClusterTree, size: int) -> Indices:
    """Return for every object the link that first gives its cluster so many objects; len(links) if none does.

    The clusters below that size whose next join reaches it hold every object once; in leaf order each is one stretch.
    """
    n, top = tree.n_objects, tree.n_objects + len(tree.links)
    parent = parents(tree)
    parent[parent < 0] = top
    sizes = np.concatenate((np.ones(n, dtype=np.intp), tree.links["size"], [n + size]))
    position = np.empty(n, dtype=np.intp)
    position[tree.leaf_order] = np.arange(n)
    small = np.flatnonzero(sizes[:top] < size)
    last = small[sizes[parent[small]] >= size]
    last = last[np.argsort(position[first_objects(tree)[last]])]
    found = np.empty(n, dtype=np.intp)
    found[tree.leaf_order] = np.repeat(parent[last] - n, sizes[last])
    return found


def growing_distances(tree: ClusterTree, size: int) -> Floats:
    """Return the distance at which each object's cluster first holds so many objects; infinite if it never does."""
    if size < 2:
        return np.zeros(tree.n_objects)
    return np.asarray(np.append(tree.links["distance"], np.inf)[growing_links(tree, size)])


# --- the first join ---


def join_partners(tree: ClusterTree) -> Indices:
    """Return the object that each object first joins, or the first one of the cluster that it joins; -1 for none.

    The links of the single criterion know the two objects that are near each other, so there it is that one.
    """
    ends = np.stack((tree.links["left"], tree.links["right"]), axis=1)
    facing = first_objects(tree)[ends] if tree.object_pairs is None else tree.object_pairs
    partner = np.full(tree.n_objects, -1, dtype=np.intp)
    for side in (0, 1):
        row = np.flatnonzero(ends[:, side] < tree.n_objects)
        lone = ends[row, side]
        pair = facing[row]
        partner[lone] = np.where(pair[:, 0] == lone, pair[:, 1], pair[:, 0])
    return partner


def join_sizes(tree: ClusterTree) -> Indices:
    """Return how many objects each object is together with, itself included, after the level of its first join."""
    return np.append(tree.links["size"][group_tops(tree)], 1)[growing_links(tree, 2)]
