"""Runs that end with more clusters than were asked for: a graph or constraints leave no fewer."""

from __future__ import annotations

import math

from ..errors import explain, option
from ..input.graph import Graph
from ..input.problem import Problem
from ..tree.clustertree import ClusterTree
from ..tree.cuts import how_to_join
from ..tree.treetable import TreeTable


def check_reached(tree: ClusterTree | TreeTable, n_clusters: int | None) -> None:
    """Refuse a number of clusters that a complete run has not come down to, and say how many there are."""
    if n_clusters is None or tree.n_clusters <= n_clusters:
        return
    count = tree.n_clusters
    if tree.problem is not None and tree.problem.constraints:
        given, step = f"the constraints leave {count} clusters", "ask for more, or drop constraints"
    elif isinstance(tree, ClusterTree) and tree.problem and not _ends_below_far(tree.problem):
        given, step = f"no edge joins the {count} clusters that are left", f"ask for more, or {how_to_join(tree)}"
    else:
        given = (
            f"the edges join the objects to {count} clusters, which are as far from each other as pairs without an edge"
        )
        root = option("join_components", True)
        step = f"ask for more, give a larger {option('missing', 'M')}, or join the rest with {root}"
    raise ValueError(explain(f"{option('n_clusters', n_clusters)}: {given}", f"{count} clusters or more", step))


def _ends_below_far(problem: Problem) -> bool:
    """Tell whether clusters may be left because they are as far from each other as pairs without an edge."""
    return isinstance(problem.objects, Graph) and math.isfinite(problem.objects.far(problem.criterion))


def check_may_have_root(problem: Problem) -> None:
    """Refuse to join everything at the end where something must not be joined, or not so far."""
    if problem.stop.max_level < math.inf or problem.stop.max_distance < math.inf:
        raise ValueError(
            explain(
                f"{option('join_components', True)} with a rule that stops early: a root comes after the last join",
                f"{option('join_components', True)} with a whole tree, or with a number of clusters",
                "leave one of them out",
            )
        )
    if problem.constraints and (len(problem.constraints.cannot) or problem.constraints.max_size):
        raise ValueError(
            explain(
                f"{option('join_components', True)} with cannot_link or max_size: a root would join what is forbidden",
                "constraints without a root, or must-links alone",
                "leave one of them out; the forest that is left is tree.clusters()",
            )
        )
