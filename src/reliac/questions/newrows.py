"""New rows, or their distances to the objects of a tree: checked, and with columns in the order of the tree's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..input.extremes import extremes
from ..input.metrics import METRICS, allows_gaps
from ..input.numbers import Names, check_finite, is_sparse, to_numbers
from ..input.objects import Vectors, column_titles
from ..input.problem import Problem
from ..input.vectors import check_directions
from ..machine import n_threads
from ..tree.clustertree import ClusterTree
from ..tree.placing import check_distances

#: So many names are shown in a message.
SHOWN = 5


class Titled(NamedTuple):
    """A table of numbers, and the titles of its columns where it has any: what a frame is, without its package."""

    numbers: Any
    titles: Names | None


def _read(X: Any, **how: bool) -> Titled:
    """Return the numbers of a table, and the titles of their columns."""
    if isinstance(X, Titled):
        return Titled(to_numbers(X.numbers, **how)[0], X.titles)
    numbers = to_numbers(X, **how)[0]
    return Titled(numbers, column_titles(X, numbers.shape[1]) if numbers.ndim == 2 else None)


def new_rows(X: Any, problem: Problem) -> Any:
    """Return new rows as an array or a CSR matrix whose columns are those of the tree's own rows, scaled as they were.

    Where both have titles, columns are taken by these, in any order.
    """
    objects, metric = problem.objects, problem.metric
    assert isinstance(objects, Vectors)
    gaps = allows_gaps(metric)
    numbers, titles = _read(X, finite=gaps, gaps=gaps)
    _check_table(numbers, f"rows with the {objects.rows.shape[1]} columns of the tree")
    largest = 0.0 if gaps else _largest(numbers)
    if objects.columns is not None and titles is not None:
        numbers = numbers[:, _places(titles.tolist(), objects.columns.tolist(), "columns")]
    elif numbers.shape[1] != objects.rows.shape[1]:
        named = "" if objects.columns is None else f": {_listed(objects.columns.tolist())}"
        raise ValueError(
            explain(
                f"New rows with {numbers.shape[1]} columns",
                f"the {objects.rows.shape[1]} columns that the tree was made from{named}",
                "pass rows with these columns",
            )
        )
    if objects.scaling is not None:
        shift, divisor = objects.scaling
        numbers = ((numbers.toarray() if is_sparse(numbers) else numbers) - shift) / divisor
        largest = 0.0 if gaps else _largest(numbers)
    row = METRICS.get(metric) if isinstance(metric, str) else None
    if not numbers.shape[0]:
        return numbers
    if row is not None and not (row.zero_rows and row.constant_rows):
        check_directions(numbers, row.name, row.constant_rows)
    if not gaps:  # one row as far out as any of them stands for all
        Vectors(np.full((1, numbers.shape[1]), largest)).check_range(problem.criterion, metric, problem.weights)
    return numbers


def _largest(numbers: Any) -> float:
    """Return the largest number of a table, whatever its sign; refuse NaN and infinity. One look at the table."""
    low, high = extremes(numbers.data if is_sparse(numbers) else numbers, n_threads(None))
    if not (math.isfinite(low) and math.isfinite(high)):
        check_finite(numbers)
    return max(abs(low), abs(high))


def new_distances(X: Any, tree: ClusterTree) -> NDArray[Any]:
    """Return the distances of new rows to all objects of a tree, as (m, n) numbers of at least 0.

    In a frame with titles they are taken by the names of the tree's objects, in any order.
    """
    n = tree.n_objects
    numbers, titles = _read(X, finite=False)
    numbers = np.asarray(numbers.toarray()) if is_sparse(numbers) else numbers
    allowed = f"distances to all {n} objects of the tree, one row for every new row"
    _check_table(numbers, allowed)
    if titles is not None and tree.names is not None and len(set(tree.names.tolist())) == n:
        numbers = numbers[:, _places(titles.tolist(), tree.names.tolist(), "objects")]
    elif numbers.shape[1] != n:
        raise ValueError(
            explain(f"Distances of new rows to {numbers.shape[1]} objects", allowed, "pass one column for every object")
        )
    check_distances(numbers, 0, "new row")
    return np.asarray(numbers)


def _check_table(numbers: Any, allowed: str) -> None:
    if numbers.ndim != 2:
        given = f"New rows of shape {numbers.shape}: expected 2D array, got {numbers.ndim}D array instead"
        step = "Reshape your data with X.reshape(1, -1) if it is one row, or X.reshape(-1, 1) if it is one column"
        raise ValueError(explain(given, allowed, step))


def _places(titles: list[str], wanted: list[str], what: str) -> list[int] | slice:
    """Return where the wanted columns stand; refuse a frame that lacks some, or has others."""
    if titles == wanted:
        return slice(None)
    missing = [name for name in wanted if name not in {*titles}]
    strange = [name for name in titles if name not in {*wanted}]
    if missing or strange:
        told = [f"without {what} {_listed(missing)}"] if missing else []
        told += [f"with {what} {_listed(strange)} that the tree does not have"] if strange else []
        step = f"drop {_listed(strange)}" if not missing else f"pass a frame that has {_listed(missing)}"
        raise ValueError(
            explain(f"New rows {' and '.join(told)}", f"the {what} of the tree, in any order: {_listed(wanted)}", step)
        )
    place = {name: at for at, name in enumerate(titles)}
    return [place[name] for name in wanted]


def _listed(names: Sequence[str] | Names) -> str:
    """Return some names as a text, shortened where there are many."""
    shown = ", ".join(repr(str(name)) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
