"""Whatever holds a table of numbers -> a checked array and the names of its rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, shown
from ..machine import n_threads
from .device_rows import DeviceRows, lives_on_device
from .extremes import extremes

Names = NDArray[np.str_]

#: Texts that say "no value here", in small letters.
MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})

#: Titles that polars gives to columns without one.
COUNTED_TITLE = re.compile(r"column_\d+")


# --- what a value is ---


def is_sparse(data: object) -> bool:
    """Tell whether this is a scipy sparse matrix or array."""
    return hasattr(data, "tocsr") and hasattr(data, "nnz")


def is_frame(data: object) -> bool:
    """Tell whether this is a pandas or polars frame."""
    return hasattr(data, "to_numpy") and hasattr(data, "columns")


def in_one_line(data: Any) -> bool:
    """Tell whether this is a line of numbers, as condensed distances are; texts in a line are objects."""
    if hasattr(data, "shape"):
        kind = getattr(getattr(data, "dtype", None), "kind", "f")
        return len(data.shape) == 1 and kind not in "USV" and (kind != "O" or all(isinstance(x, Real) for x in data))
    return isinstance(data, Sequence) and bool(len(data)) and all(isinstance(x, Real) for x in data)


def is_number(text: str) -> bool:
    """Tell whether a text is a number; Python reads 1_2 as 12, but in a table it is a name."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.strip().lower() not in MISSING


def are_names(values: Sequence[Any]) -> bool:
    """Tell whether a column holds distinct words: texts that are no numbers, not even as people write them (1,000)."""
    return (
        all(isinstance(value, str) and bool(value.strip()) for value in values)
        and len(set(values)) == len(values)
        and not any(is_number(re.sub(r"(?<=\d)[,' ](?=\d)|[\s%$€£]", "", value)) for value in values)
    )


def first_not_finite(numbers: Any) -> tuple[tuple[int, ...], Any] | None:
    """Return the first place that holds NaN or infinity and what is there, or None."""
    if isinstance(numbers, DeviceRows):
        if np.isfinite(numbers.sum()):
            return None
        numbers = numbers.host
    if is_sparse(numbers):
        if np.isfinite(numbers.data).all():
            return None
        first = int(np.flatnonzero(~np.isfinite(numbers.data))[0])
        row = int(np.searchsorted(numbers.indptr, first, side="right")) - 1
        return (row, int(numbers.indices[first])), numbers.data[first]
    if numbers.dtype.kind != "f" or np.isfinite(extremes(numbers, n_threads(None))).all():
        return None
    place = tuple(int(index) for index in np.argwhere(~np.isfinite(numbers))[0])
    return place, numbers[place]


# --- tables ---


def to_numbers(data: Any, finite: bool = True, gaps: bool = False) -> tuple[Any, Names | None]:
    """Return the numbers of an array, a frame or a sparse matrix, uncopied where possible, and the row names.

    float32, float64, integers and booleans stay what they are; float16 becomes float32; sparse becomes CSR. With
    ``finite=False`` an array is left for the caller to look through; with ``gaps`` NaN is allowed.
    """
    if lives_on_device(data):
        rows = DeviceRows(data)
        if finite and not gaps:
            check_finite(rows)
            return rows, None
        data = rows.host
    if is_sparse(data):
        return _sparse_numbers(data), None
    if is_frame(data):
        return _frame_numbers(data, gaps)
    check_unmasked(data)
    numbers = _array_numbers(data)
    if finite:
        check_finite(numbers, gaps=gaps)
    return numbers, None


#: What to do about a number that is missing, or is none, in a table of rows and in a matrix of distances.
FILL = (
    "drop that row, or fill the gap (for example with sklearn.impute.SimpleImputer), or leave it and compare what both "
    "rows have: metric='nan_euclidean' or 'gower' with criterion='average'"
)
REPLACE = "drop that row, or put a finite number there"
MEASURE = "drop that object, or put its distance there; where pairs have none, pass the others to reliac.cluster_edges"


def check_finite(numbers: Any, columns: Any = None, gaps: bool = False, next_step: str | None = None) -> None:
    """Refuse NaN and infinity, naming the first row and column that hold one; with ``gaps`` infinity only."""
    found = first_not_finite(np.where(np.isnan(numbers), 0.0, numbers) if gaps and not is_sparse(numbers) else numbers)
    if found is None:
        return
    place, value = found
    raise ValueError(
        explain(
            f"X contains {'NaN' if np.isnan(value) else 'infinity'} (first at {_where(place, columns)})",
            "finite numbers",
            next_step or (FILL if np.isnan(value) else REPLACE),
        )
    )


def check_unmasked(data: Any) -> None:
    """Refuse an array whose mask hides values, naming the first."""
    if not isinstance(data, np.ma.MaskedArray) or data.dtype.names or not np.ma.getmaskarray(data).any():
        return
    place = tuple(int(index) for index in np.argwhere(np.ma.getmaskarray(data))[0])
    raise ValueError(
        explain(
            f"A value is masked (first at {_where(place)})",
            "arrays without masked values",
            "drop that row, or fill the gap with X.filled(value)",
        )
    )


def _where(place: tuple[int, ...], columns: Any = None) -> str:
    if len(place) != 2:
        return f"position {place[0]}" if len(place) == 1 else f"place {place}"
    return f"row {place[0]}, column {place[1] if columns is None else repr(str(columns[place[1]]))}"


def _sparse_numbers(data: Any) -> Any:
    numbers = data.tocsr()
    if numbers.dtype.kind not in "fiub":
        raise TypeError(_not_real(f"A sparse matrix of dtype {numbers.dtype}"))
    check_finite(numbers)
    return numbers


def _array_numbers(data: Any) -> NDArray[Any]:
    if isinstance(data, (str, bytes, os.PathLike)):
        raise TypeError(_one_text(data))
    try:
        numbers = np.asarray(data)
    except (TypeError, AttributeError, KeyError, RuntimeError):  # what cannot be an array has many ways to say so
        raise TypeError(_no_table(data)) from None
    except ValueError as error:
        raise ValueError(
            explain(
                f"The rows do not form a table ({error})",
                "rows of equal length",
                "check the lengths of the rows",
            )
        ) from None
    if numbers.dtype.kind == "O":
        if not numbers.ndim:
            raise TypeError(_no_table(data))
        numbers = _numbers_from_objects(numbers)
    if numbers.dtype.kind in "UST" and numbers.size:
        raise TypeError(_texts(numbers))
    return _plain_dtype(numbers, f"An array of dtype {numbers.dtype}")


def _no_table(data: Any) -> str:
    step = "pass a list of rows"
    if hasattr(data, "collect"):
        step = "collect it first, with X.collect()"
    elif hasattr(data, "__iter__"):
        step = "turn it into a list of rows, for example with list(...)"
    return explain(
        f"X is of type {type(data).__name__}",
        "an array, a list of rows, a pandas or polars frame, or a scipy sparse matrix",
        step,
    )


def _one_text(data: Any) -> str:
    """Say that a text, or the name of a file, is no table."""
    name = data if isinstance(data, bytes) else os.fspath(data)
    return explain(
        f"X is one text, {shown(name)}, and not a table",
        "the data itself: an array, a list of rows, a frame or a sparse matrix",
        "if it names a file, read it first, for example with pandas.read_csv, or run 'reliac cluster FILE' in a shell; "
        "texts that a function compares go into a list",
    )


def _texts(texts: NDArray[Any]) -> str:
    """Say which text stands where a number should; numbers that were read as texts are told as such."""
    words = [text.decode("latin-1") if isinstance(text, bytes) else str(text) for text in texts.flat]
    first = next((place for place, word in enumerate(words) if not is_number(word)), None)
    place = np.unravel_index(first or 0, texts.shape)
    found = f"{words[first or 0]!r:.40} at {_where(tuple(map(int, place)))}"
    if first is None:
        step = "turn them into numbers, with numpy.asarray(X, dtype=float)"
        return explain(f"X holds numbers that are written as texts: {found}", "real numbers or booleans", step)
    return _not_real(f"X holds texts: {found}")


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
    return explain(
        given,
        "real numbers or booleans",
        "encode text and dates as numbers, drop those columns, or pass a function of two objects as metric",
    )


def _as_float(value: Any) -> float:
    """Read a Python object as a number; a text is none, even where it looks like one."""
    if isinstance(value, (str, bytes)):
        raise ValueError(f"could not convert string to float: {value!r}")
    return float(value)


def _numbers_from_objects(objects: NDArray[Any]) -> NDArray[Any]:
    """Read an array of Python objects as numbers, naming the first place that holds none."""
    numbers = np.empty(objects.shape)
    for place, value in np.ndenumerate(objects):
        try:
            numbers[place] = np.nan if _is_missing(value) else _as_float(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            shown = f"{value!r:.40}" if not isinstance(value, int) else f"a number of {value.bit_length()} bits"
            where = f"row {place[0]}" + (f", column {place[1]}" if len(place) > 1 else "")
            raise kind(_not_real(f"Text or objects in the data: {shown} at {where} ({error})")) from None
    return numbers


# --- frames ---


def _frame_numbers(frame: Any, gaps: bool) -> tuple[NDArray[Any], Names | None]:
    columns, names = frame_columns(frame)
    arrays = [_column_numbers(series, title) for title, series in columns]
    if not arrays:
        return np.empty((len(frame), 0)), names
    numbers = np.column_stack([array.astype(np.result_type(*arrays), copy=False) for array in arrays])
    check_finite(numbers, [title for title, _ in columns], gaps)
    return numbers, names


def frame_columns(frame: Any) -> tuple[list[tuple[Any, Any]], Names | None]:
    """Return the titles and columns of a frame that hold data, and the names of its rows."""
    names = index_names(frame)
    columns = list(frame.columns)
    if not hasattr(frame, "index") and len(columns) > 1:
        names = _first_column_names(frame, columns[0])
        columns = columns[1:] if names is not None else columns
    if len(set(columns)) != len(columns):
        twice = next(str(column) for column in columns if columns.count(column) > 1)
        raise ValueError(explain(f"Two columns are called {twice!r}", "distinct column names", "rename one of them"))
    first = len(frame.columns) - len(columns)
    return [(title, _column_at(frame, first + place)) for place, title in enumerate(columns)], names


def index_names(frame: Any) -> Names | None:
    """Return a pandas index as text, unless it only counts the rows."""
    index = getattr(frame, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return np.array([str(name) for name in index], dtype=np.str_)


def titles_as_names(columns: Iterable[Any]) -> Names | None:
    """Return the titles of columns as text, unless they only count the columns."""
    titles = [str(title) for title in columns]
    if titles == [str(place) for place in range(len(titles))] or all(map(COUNTED_TITLE.fullmatch, titles)):
        return None
    return np.array(titles, dtype=np.str_)


def _first_column_names(frame: Any, column: Any) -> Names | None:
    """Return the row names of a frame without an index: a first column of distinct words."""
    values = frame[column].to_numpy()
    if values.dtype.kind not in "OUT" or not are_names(values):
        return None
    return np.array(values, dtype=np.str_)


def _column_at(frame: Any, place: int) -> Any:
    """Return a column by its place: titles may be missing, or be lists."""
    return frame.iloc[:, place] if hasattr(frame, "iloc") else frame[frame.columns[place]]


def _column_numbers(series: Any, column: Any) -> NDArray[Any]:
    """Return one column as numbers; anything else is refused with the column's name."""
    values = column_values(series)
    if values.dtype.kind in "fiub":
        return _plain_dtype(values, "")
    found, step = f"it is of type {getattr(series, 'dtype', type(series).__name__)}", "encode it as numbers"
    if values.dtype.kind == "O":
        numbers = np.empty(len(values))
        for row, value in sorted(enumerate(values), key=lambda one: isinstance(one[1], str) and is_number(one[1])):
            try:
                numbers[row] = np.nan if _is_missing(value) else _as_float(value)
            except (TypeError, ValueError, OverflowError):
                found = f"{value!r:.40} in row {row}"
                if all(_is_missing(text) or (isinstance(text, str) and is_number(text)) for text in values):
                    how = ".cast(float)" if hasattr(series, "cast") else "pandas.to_numeric"
                    step = f"turn its texts into numbers with {how}"
                break
        else:
            return numbers
    raise TypeError(
        explain(
            f"Column {str(column)!r} is not numeric: {found}",
            "numbers or booleans in every column",
            f"drop column {str(column)!r}, {step}, or make it the row names (set_index)",
        )
    )


def _is_missing(value: Any) -> bool:
    """Tell whether a value is None, or what pandas puts where nothing is."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_missing(value: Any) -> bool:
    """Tell whether nothing stands in a cell: None, NaN, what pandas puts there, or an empty text."""
    return _is_missing(value) or (isinstance(value, float) and value != value) or value == ""


def column_values(series: Any) -> NDArray[Any]:
    """Return a column as an array, what is missing as NaN; pandas' nullable float32 stays float32."""
    kind = str(getattr(series, "dtype", ""))
    if kind in ("Float32", "Float64", "boolean") or kind.startswith(("Int", "UInt")):
        try:
            dtype = np.float32 if kind == "Float32" else np.float64
            return np.asarray(series.to_numpy(dtype=dtype, na_value=np.nan))
        except TypeError:  # polars has these names too, and no such arguments
            pass
    return np.asarray(series.to_numpy())
