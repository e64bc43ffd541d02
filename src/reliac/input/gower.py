"""A table for Gower's distance: the types of its columns say how each of them is compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from .mixed import MixedRows, with_features
from .numbers import Names, check_finite, column_values, frame_columns, is_frame, is_missing, is_sparse, to_numbers

#: Differences of numbers up to this size are numbers.
LARGEST = 1e300


class Column(NamedTuple):
    """One column as numbers, NaN where nothing is; ranks and codes are whole numbers from 0 on."""

    values: NDArray[np.float64]
    by_equality: bool = False


def mixed_rows(X: Any) -> tuple[MixedRows, Names | None]:
    """Return a table of numbers, ranks and codes by the types of its columns, and the names of its rows.

    An array has numbers in all columns, or booleans. Of a part of a mixed table the ranges are found anew.
    """
    if isinstance(X, MixedRows):
        return with_features(np.array(X), X.features.by_equality), None
    if is_sparse(X):
        given = "A sparse matrix with metric 'gower'"
        raise TypeError(explain(given, "an array, or a pandas or polars frame", "pass X.toarray() if it is small"))
    if not is_frame(X):
        numbers, _ = to_numbers(X, gaps=True)
        titles = list(range(numbers.shape[1])) if numbers.ndim == 2 else [0]
        columns = numbers.T if numbers.ndim == 2 else [numbers]
        return of_columns(titles, [Column(column.astype(np.float64), column.dtype == bool) for column in columns]), None
    given_columns, names = frame_columns(X)
    titles = [title for title, _ in given_columns]
    return of_columns(titles, [_read(series, title) for title, series in given_columns], len(X)), names


def of_columns(titles: Sequence[Any], columns: Sequence[Column], rows: int = 0) -> MixedRows:
    """Put columns side by side, and find their ranges."""
    numbers = np.column_stack([column.values for column in columns]) if columns else np.empty((rows, 0))
    check_finite(numbers, titles, gaps=True)
    large = np.argwhere(np.abs(numbers) > LARGEST)
    if len(large):
        row, column = (int(place) for place in large[0])
        given = f"{numbers[row, column]:.3g} at row {row}, column {str(titles[column])!r}"
        raise ValueError(explain(given, f"numbers up to {LARGEST:.0e}", "divide that column by a constant"))
    return with_features(numbers, np.array([column.by_equality for column in columns], dtype=bool))


def categories(values: Iterable[Any]) -> Column:
    """Return values that are compared by equality as codes, the same in any order of the rows."""
    listed = [None if is_missing(value) else value for value in values]
    code = {value: place for place, value in enumerate(sorted({*listed} - {None}, key=str))}
    return Column(np.array([np.nan if value is None else code[value] for value in listed], dtype=np.float64), True)


def _read(series: Any, title: Any) -> Column:
    """Read a column by its type: pandas and polars both."""
    kind = str(getattr(series, "dtype", ""))
    if hasattr(getattr(series, "cat", None), "codes"):  # pandas
        if not series.cat.ordered:
            return categories(series.to_list())
        codes = np.asarray(series.cat.codes, dtype=np.float64)
        return Column(np.where(codes < 0, np.nan, codes))
    if kind.startswith("Enum"):  # polars: categories in the order in which they were declared
        return Column(np.array(series.to_physical().to_numpy(), dtype=np.float64))
    if kind.startswith("Categorical"):
        return categories(series.to_list())
    values = column_values(series)
    if values.dtype.kind in "biuf":
        return Column(values.astype(np.float64), kind == "boolean" or values.dtype.kind == "b")
    if values.dtype.kind in "OUT":
        return _of_objects(values.tolist(), title)
    raise TypeError(_neither(title, f"it is of type {kind}"))


def _of_objects(values: list[Any], title: Any) -> Column:
    """Read Python objects: all of them texts, all booleans, or all numbers."""
    present = [value for value in values if not is_missing(value)]
    kinds = [_kind(value) for value in present]
    odd = next((place for place, kind in enumerate(kinds) if not kind or kind != kinds[0]), None)
    if odd is not None:
        raise TypeError(_neither(title, f"it holds {present[odd]!r:.40}" + (" beside others" if kinds[odd] else "")))
    if kinds and kinds[0] == "number":
        return Column(np.array([np.nan if is_missing(value) else float(value) for value in values]))
    return categories(values)


def _kind(value: Any) -> str:
    """Tell what a Python object is compared as; nothing if it cannot be."""
    kinds = {"text": (str,), "boolean": (bool, np.bool_), "number": (Real,)}
    return next((name for name, types in kinds.items() if isinstance(value, types)), "")


def _neither(title: Any, found: str) -> str:
    return explain(
        f"Column {str(title)!r} cannot be compared by 'gower': {found}",
        "columns of numbers, booleans, texts, or categories (ordered or not), one type in a column",
        f"turn column {str(title)!r} into numbers or categories, or drop it",
    )
