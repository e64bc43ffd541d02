"""The data that a tree was made from, for whoever asks something that the links alone do not tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithm.criteria import get_criterion
from ..errors import explain, option
from ..input.metrics import MetricLike
from ..input.objects import Distances, Objects
from ..input.options import Stop
from ..input.problem import Problem
from ..run.develop import metric_of, problem_of
from ..tree.clustertree import ClusterTree

#: What stands among the parameters of trees that were made along a graph.
GRAPHS = ("missing", "neighbors", "connectivity")


def is_along_graph(tree: ClusterTree) -> bool:
    """Tell whether a graph said which objects have a distance, or may be joined."""
    return any(name in tree.parameters for name in GRAPHS)


def training_problem(tree: ClusterTree, X: Any, metric: Any, asked: str) -> Problem:
    """Return the checked input of a tree: its own, what its file kept, or X, which has to be the same data.

    ``asked`` is the call that messages show, with braces in place of the argument that it lacks.
    """
    if X is None and tree.problem is None and tree.kept is not None:
        return problem_with(tree, tree.kept, metric_of(tree, metric, asked))
    return problem_of(tree, X, metric, None, None, asked)


def problem_with(tree: ClusterTree, objects: Objects, metric: MetricLike) -> Problem:
    """Return a record of what a tree was made from, to ask and not to run: nothing is checked again."""
    return Problem(
        objects=objects,
        criterion=get_criterion(tree.parameters.get("criterion")),
        metric=metric,
        alpha=float(tree.parameters.get("alpha", 1.0)),
        tie_tolerance=float(tree.parameters.get("tie_tolerance", 0.0)),
        weights=tree.weights,
        stop=Stop(),
    )


def problem_of_distances(tree: ClusterTree, X: Any, asked: str) -> Problem:
    """Return a problem whose new objects come as distances to all objects of the tree.

    Means of points need the distances inside the clusters too; other criteria need nothing but the tree.
    """
    criterion = get_criterion(tree.parameters.get("criterion"))
    if not criterion.geometric:
        return problem_with(tree, Distances(np.zeros(0), 0.0), "precomputed")
    if tree.parameters.get("metric") != "precomputed":
        raise ValueError(
            explain(
                f"Distances of new rows for a tree of vectors, {option('criterion', criterion.name)}: this criterion "
                "compares points",
                "new rows with the columns of the tree's own rows",
                "pass the rows themselves, and leave metric out",
            )
        )
    return training_problem(tree, X, None, asked)
