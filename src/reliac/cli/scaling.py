"""What a tree keeps of its table besides the numbers: the titles of its columns, and how --standardize scaled them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..input.numbers import Names
from ..input.objects import Vectors
from ..tree.clustertree import ClusterTree
from .columns import Table


def titles_of(table: Table) -> Names | None:
    """Return the titles of the columns of numbers; None where the file has none."""
    return np.array(table.columns, dtype=np.str_) if table.titled and table.columns else None


def with_titles(tree: ClusterTree, table: Table) -> ClusterTree:
    """Return a tree whose rows know the titles of their columns and how they were scaled, to be saved with them."""
    problem = tree.problem
    if problem is None or not isinstance(problem.objects, Vectors):
        return tree
    objects = replace(problem.objects, columns=titles_of(table), scaling=table.scaling)
    return replace(tree, problem=replace(problem, objects=objects))


def in_scale(table: Table) -> Table:
    """Return a table with columns of mean 0 and standard deviation 1, and what was taken off and divided by."""
    scaling = scaling_of(table.numbers)
    return replace(table, numbers=(table.numbers - scaling[0]) / scaling[1], scaling=scaling)


def scaling_of(numbers: Any) -> NDArray[np.float64]:
    """Return the mean of every column, and its deviation: 1 for a constant column, which becomes 0."""
    plain = isinstance(numbers, np.ndarray) and numbers.ndim == 2 and numbers.dtype.kind in "fiub"
    if not plain or not numbers.size:
        held = f"type {numbers.dtype}" if hasattr(numbers, "dtype") else f"type {type(numbers).__name__}"
        given = f"--standardize with a table of shape {numbers.shape} and {held}"
        raise ValueError(explain(given, "a table of numbers, with rows and columns", "leave --standardize out"))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = numbers.mean(axis=0, dtype=np.float64)
        centred = numbers - mean
        deviation = centred.std(axis=0)
        scaled = centred / np.where(deviation > 0, deviation, 1.0)
    if not np.isfinite(scaled).all() or not np.isfinite(deviation).all():
        column = int(np.argmax(~np.isfinite(deviation)))
        given = f"--standardize: the squares of column {column + 1} overflow"
        raise ValueError(explain(given, "numbers whose squares are numbers", "divide that column by a constant"))
    return np.stack((mean, np.where(deviation > 0, deviation, 1.0)))
