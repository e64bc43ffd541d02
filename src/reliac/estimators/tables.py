"""What estimators take: tables that scikit-learn and reliac both accept, metrics of whole tables, weights of rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_memory, validate_data

from ..algorithm.criteria import get_criterion
from ..api import cluster
from ..errors import explain
from ..files import path_of
from ..input.gower import mixed_rows
from ..input.metrics import allows_gaps, metric_name
from ..input.misreadings import is_graph, refuse_named_edges
from ..input.numbers import check_finite, check_unmasked, is_frame, is_sparse, to_numbers
from ..input.problem import check_metric_fits
from ..input.things import things_of
from ..input.vectors import check_shape
from ..tree.clustertree import ClusterTree

#: Options of cluster() that change how it runs and not its result: a tree that was kept may be one of other values.
RUN_OPTIONS = ["n_jobs", "progress", "checkpoint"]


def is_given(metric: object) -> bool:
    """Tell whether X holds distances."""
    return isinstance(metric, str) and metric.lower() == "precomputed"


def describe_input(tags: Any, metric: object) -> Any:
    """Tell scikit-learn what X may be."""
    tags.input_tags.pairwise = is_given(metric)
    tags.input_tags.sparse = not is_given(metric)
    tags.input_tags.allow_nan = allows_gaps(metric)
    return tags


def check_table(
    estimator: Any, X: Any, *, reset: bool = True, sparse: bool = True, gaps: bool = True, **options: Any
) -> Any:
    """Return X as an array or CSR matrix of its own number type; ``reset`` is True in fit, False after it.

    With ``gaps`` values may be missing where the metric allows it, and "gower" takes columns of other types.
    """
    mixed = gaps and isinstance(estimator.metric, str) and estimator.metric == "gower"
    gaps = gaps and allows_gaps(estimator.metric)
    accepted = "csr" if sparse and not is_given(estimator.metric) else False
    check_unmasked(X)
    _refuse_no_table(X, estimator.metric)
    if is_frame(X) and not mixed:
        _check_columns(X, gaps)  # names the columns that scikit-learn would turn from text into numbers, or only count
    fewest = options.get("ensure_min_samples", 1 + reset), options.get("ensure_min_features", 1)
    X = _in_shape(X, fewest)
    options = {"accept_sparse": accepted, "ensure_min_samples": fewest[0], **options}
    numbers = _validated(estimator, X, reset=reset, dtype=None, ensure_all_finite=False, **options)
    # Text that scikit-learn lets through, NaN and infinity are refused here, with a message that names the row.
    if mixed:
        return mixed_rows(X)[0]
    numbers = numbers if is_sparse(numbers) else to_numbers(numbers, gaps=gaps)[0]
    check_finite(numbers, columns=getattr(estimator, "feature_names_in_", None), gaps=gaps)
    return numbers


def _refuse_no_table(X: Any, metric: object) -> None:
    """Refuse what only :func:`reliac.cluster` takes, or nobody, where scikit-learn would speak of its shape."""
    if X is None or isinstance(X, (str, bytes, os.PathLike)):
        to_numbers(X)  # says what to do
    refuse_named_edges(X)
    if is_graph(X):
        given = f"X is a graph ({type(X).__name__})"
        step = "use reliac.cluster_edges, which takes graphs"
        raise TypeError(explain(given, "a table, or a square matrix of distances", step))
    in_a_row = isinstance(X, (list, tuple)) or getattr(X, "ndim", 2) == 1
    things = things_of(X) if callable(metric) and in_a_row else None
    if things is not None:
        given = f"X holds {len(things.items)} objects that are no rows of numbers"
        step = (
            "use reliac.cluster, which takes them with a function as metric, or pass their distances as 'precomputed'"
        )
        raise TypeError(explain(given, "a table with one row of numbers per object", step))


def _in_shape(X: Any, fewest: tuple[int, int]) -> Any:
    """Return a table, a list as an array; refuse other shapes, and fewer rows or columns than so many."""
    if not hasattr(X, "shape"):
        X = to_numbers(X, finite=False)[0]
    if getattr(getattr(X, "dtype", None), "kind", "f") != "c":  # of complex numbers something else is to be said
        check_shape(tuple(X.shape), fewest, condensed=False)
    return X


def _validated(estimator: Any, X: Any, reset: bool, **options: Any) -> Any:
    """Let scikit-learn look at a table; what it has to say of new rows that do not fit gets its other two parts."""
    try:
        return validate_data(estimator, X, reset=reset, **options)
    except ValueError as error:
        if reset:
            raise
        given, name = str(error).rstrip(), type(estimator).__name__
        allowed = f"the columns that {name}.fit was given, in their order"
        raise ValueError(explain(given, allowed, "pass these columns, or fit again")) from None


def _check_columns(frame: Any, gaps: bool) -> None:
    """Refuse what is not a number by the name of its column; no column names the rows here."""
    numbers, _ = to_numbers(frame, gaps=gaps)
    if numbers.shape[1] < frame.shape[1]:
        column = str(frame.columns[0])
        raise TypeError(
            explain(
                f"Column {column!r} is not numeric: {frame[column][0]!r} in row 0",
                "numbers or booleans in every column",
                f"drop column {column!r}, or encode it as numbers",
            )
        )


# --- metrics of whole tables ---


def takes_whole_table(metric: object) -> bool:
    """Tell whether a metric is a function as scikit-learn has them: of a table, giving the distances of all its rows.

    It can be called with one argument. A function that needs two gets two rows.
    """
    if not callable(metric):
        return False
    try:
        parameters = signature(metric).parameters.values()
    except (TypeError, ValueError):  # some compiled functions do not tell
        return False
    places = [one for one in parameters if one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    needed = [one for one in places if one.default is Parameter.empty]
    return bool(places) and len(needed) <= 1


def distances_in_table(metric: Callable[..., Any], table: Any) -> NDArray[Any]:
    """Return the square matrix of distances that a function of the whole table gives."""
    n = table.shape[0]
    distances = np.asarray(metric(table))
    if distances.shape != (n, n):
        raise ValueError(
            explain(
                f"Metric {metric_name(metric)!r} gives shape {distances.shape} for a table of {n} rows",
                f"the distances of all rows, shape ({n}, {n}), or a function that needs two arguments, two rows",
                "correct the function, or give its second argument no default value",
            )
        )
    return distances


def distances_between_tables(metric: Callable[..., Any], new: Any, training: Any) -> NDArray[Any]:
    """Return the distances of new rows to training rows by a function of whole tables."""
    try:
        signature(metric).bind(new, training)
    except TypeError:  # it takes one table only
        both = np.vstack([part.toarray() if is_sparse(part) else part for part in (new, training)])
        return distances_in_table(metric, both)[: new.shape[0], new.shape[0] :]
    return np.asarray(metric(new, training))


# --- from a table to a tree ---


def rows_that_count(weights: Any, n: int) -> tuple[NDArray[Any] | None, NDArray[np.intp]]:
    """Return the weights above 0 and the rows that have them; weights that are no such thing are left to cluster()."""
    every = np.arange(n)
    if weights is None:
        return None, every
    array = np.asarray(weights)
    if array.shape != (n,) or array.dtype.kind not in "biuf" or not (array >= 0).all():
        return array, every
    rows = np.flatnonzero(array)
    if not len(rows):
        raise ValueError(explain("All sample weights are zero", "some weights above 0", "leave sample_weight out"))
    return array[rows], rows


def grow_tree(estimator: Any, data: Any, numbers: Any, **options: Any) -> ClusterTree:
    """Run cluster() with the parameters of an estimator, or take what its memory holds of an earlier run.

    ``data`` are what the user gave where that has names, ``numbers`` the checked numbers in it.
    """
    metric = estimator.metric
    if takes_whole_table(metric):
        check_metric_fits(get_criterion(estimator.linkage), metric)
        if is_frame(data):
            options["names"] = to_numbers(data)[1]
        data, metric = distances_in_table(metric, numbers), "precomputed"
    same = ("alpha", "tie_tolerance", "max_level", *RUN_OPTIONS)
    options |= {"metric": metric, **{name: getattr(estimator, name) for name in same}}
    memory = getattr(estimator, "memory", None)
    if isinstance(memory, str):
        path_of(memory, "memory=")
    remembered = check_memory(memory).cache(cluster, ignore=RUN_OPTIONS)
    tree: ClusterTree = remembered(data, estimator.linkage, **options)
    return tree
