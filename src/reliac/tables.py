"""Whatever holds a table of numbers -> a checked array and the names of its rows."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import explain

Names = NDArray[np.str_]


def is_sparse(data: object) -> bool:
    """Tell whether this is a scipy sparse matrix or array."""
    return hasattr(data, "tocsr") and hasattr(data, "nnz")


def is_frame(data: object) -> bool:
    """Tell whether this is a pandas or polars frame."""
    return hasattr(data, "columns") and hasattr(data, "to_numpy")


def to_numbers(data: Any) -> tuple[Any, Names | None]:
    """Return the numbers of an array, a frame or a sparse matrix, uncopied where possible, and the row names.

    float32, float64, integers and booleans stay what they are; float16 becomes float32; sparse becomes CSR.
    """
    if is_sparse(data):
        return _sparse_numbers(data), None
    if is_frame(data):
        return _frame_numbers(data)
    return _array_numbers(data), None


def check_finite(numbers: Any, what: str = "X", columns: Any = None) -> None:
    """Refuse NaN and infinity, naming the first row and column that hold one."""
    if is_sparse(numbers):
        if np.isfinite(numbers.data).all():
            return
        first = int(np.flatnonzero(~np.isfinite(numbers.data))[0])
        where: tuple[int, ...] = (
            int(np.searchsorted(numbers.indptr, first, side="right")) - 1,
            int(numbers.indices[first]),
        )
        value = numbers.data[first]
    else:
        if numbers.dtype.kind != "f" or np.isfinite(numbers).all():
            return
        where = tuple(int(index) for index in np.argwhere(~np.isfinite(numbers))[0])
        value = numbers[where]
    place = f"position {where[0]}"
    if len(where) == 2:
        column = where[1] if columns is None else repr(str(columns[where[1]]))
        place = f"row {where[0]}, column {column}"
    raise ValueError(
        explain(
            f"{what} contains {'NaN' if np.isnan(value) else 'infinity'} (first at {place})",
            "finite numbers",
            "drop that row, or fill the gap (for example with sklearn.impute.SimpleImputer)",
        )
    )


def _sparse_numbers(data: Any) -> Any:
    numbers = data.tocsr()
    if numbers.dtype.kind not in "fiub":
        raise TypeError(_not_real(f"A sparse matrix of dtype {numbers.dtype}"))
    check_finite(numbers)
    return numbers


def _array_numbers(data: Any) -> NDArray[Any]:
    try:
        numbers = np.asarray(data)
    except ValueError as error:
        raise ValueError(
            explain(
                f"The rows do not form a table ({error})",
                "rows of equal length",
                "check the lengths of the rows",
            )
        ) from None
    if numbers.dtype.kind == "O":
        numbers = _numbers_from_objects(numbers)
    numbers = _plain_dtype(numbers, f"An array of dtype {numbers.dtype}")
    check_finite(numbers)
    return numbers


def _plain_dtype(numbers: NDArray[Any], given: str) -> NDArray[Any]:
    """Keep float32, float64, integers and booleans; widen float16; narrow long double; refuse the rest."""
    if numbers.dtype.kind == "c":
        raise ValueError(
            explain(
                f"{given}: Complex data not supported",
                "real numbers",
                "pass real and imaginary parts as columns",
            )
        )
    if numbers.dtype.kind not in "fiub":
        raise TypeError(_not_real(given))
    if numbers.dtype.kind == "f" and numbers.dtype not in (np.float32, np.float64):
        return numbers.astype(np.float32 if numbers.dtype.itemsize < 4 else np.float64)
    return numbers


def _not_real(given: str) -> str:
    return explain(given, "real numbers or booleans", "encode text and dates as numbers, or drop those columns")


def _numbers_from_objects(objects: NDArray[Any]) -> NDArray[Any]:
    """Read an array of Python objects as numbers, naming the first place that holds none."""
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError) as error:
        for place, value in np.ndenumerate(objects):
            try:
                float(value)
            except (TypeError, ValueError):
                where = f"row {place[0]}" + (f", column {place[1]}" if len(place) > 1 else "")
                kind = type(error)
                message = f"Text or objects in the data: {value!r} at {where} ({error})"
                raise kind(_not_real(message)) from None
        raise


def _frame_numbers(frame: Any) -> tuple[NDArray[Any], Names | None]:
    names = _index_names(frame)
    columns = list(frame.columns)
    if not hasattr(frame, "index") and columns and names is None:
        names = _first_column_names(frame, columns[0])
        columns = columns[1:] if names is not None else columns
    if len(set(columns)) != len(columns):
        twice = next(str(column) for column in columns if columns.count(column) > 1)
        raise ValueError(explain(f"Two columns are called {twice!r}", "distinct column names", "rename one of them"))
    arrays = [_column_numbers(frame[column], column) for column in columns]
    if not arrays:
        return np.empty((len(frame), 0)), names
    numbers = np.column_stack([array.astype(np.result_type(*arrays), copy=False) for array in arrays])
    check_finite(numbers, columns=columns)
    return numbers, names


def _index_names(frame: Any) -> Names | None:
    """Return a pandas index as text, unless it only counts the rows."""
    index = getattr(frame, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return np.array([str(name) for name in index], dtype=np.str_)


def _first_column_names(frame: Any, column: Any) -> Names | None:
    """Return the row names of a frame without an index: a first column of distinct words, none a number."""
    values = frame[column].to_numpy()
    if values.dtype.kind not in "OUT" or not all(isinstance(value, str) for value in values):
        return None
    if len(set(values)) != len(values) or any(_reads_as_number(value) for value in values):
        return None
    return np.array(values, dtype=np.str_)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _column_numbers(series: Any, column: Any) -> NDArray[Any]:
    """Return one column as numbers; text is refused with the column's name."""
    if str(series.dtype) in ("Float32", "Float64", "boolean") or str(series.dtype).startswith(("Int", "UInt")):
        try:
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        except TypeError:  # polars has these names too, and no such arguments
            values = series.to_numpy()
    else:
        values = series.to_numpy()
    if values.dtype.kind == "O":
        with contextlib.suppress(TypeError, ValueError):
            values = np.array([np.nan if value is None else value for value in values]).astype(np.float64)
    if values.dtype.kind not in "fiub":
        row, value = next((i, v) for i, v in enumerate(values) if not _is_number(v))
        raise TypeError(
            explain(
                f"Column {str(column)!r} is not numeric: {value!r} in row {row}",
                "numbers or booleans in every column",
                f"drop column {str(column)!r}, encode it as numbers, or make it the row names (set_index)",
            )
        )
    return _plain_dtype(values, f"Column {str(column)!r} of dtype {values.dtype}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_))
