"""Tables from files: CSV, TSV, Parquet, NPY and NPZ, by path or from standard input, gzipped or not."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, need, unknown_name
from ..files import check_source
from ..input.numbers import Names
from .columns import Choices, Sheet, Table, check_no_gaps, make_table
from .delimited import read_delimited

FORMATS = ("csv", "tsv", "parquet", "npy", "npz")
EXTENSIONS = {f".{name}": name for name in FORMATS} | {".tab": "tsv", ".pq": "parquet"}

#: The first bytes of the binary formats.
MAGIC = {b"\x93NUM": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet"}
GZIP = b"\x1f\x8b"


def read_table(source: str, file_format: str | None = None, choices: Choices | None = None) -> Table:
    """Read a table; ``source`` is a path, or ``-`` for standard input.

    The format follows from ``file_format``, the extension, or the first bytes, in this order.
    """
    with opened(source) as stream:
        return read_stream(stream, source, file_format, choices)


def read_stream(stream: BinaryIO, source: str, file_format: str | None = None, choices: Choices | None = None) -> Table:
    """Read a table from what :func:`opened` gives."""
    choices = Choices() if choices is None else choices
    if file_format is not None and file_format not in FORMATS:
        raise ValueError(unknown_name("format", file_format, FORMATS))
    kind = file_format or EXTENSIONS.get(extension(source)) or _sniffed(stream)
    if kind in ("npy", "npz"):
        return _read_arrays(stream, source, choices)
    if kind == "parquet":
        return make_table(_read_parquet(stream, source), choices)
    try:
        return read_delimited(stream, kind, called(source), choices)
    except UnicodeDecodeError as error:
        advice = "save it as UTF-8, or say what it is with --format"
        raise ValueError(_unreadable(source, kind, error, advice)) from None
    except csv.Error as error:
        advice = "look at that line, or say what the file is with --format"
        raise ValueError(_unreadable(source, kind, error, advice)) from None


# --- opening ---


@contextmanager
def opened(source: str) -> Iterator[BinaryIO]:
    """Open a path or standard input for reading bytes, unpacked; what cannot be rewound is read into memory."""
    if source == "-":
        yield _unpacked(io.BytesIO(sys.stdin.buffer.read()), source)
        return
    check_source(source, "a path, or - for standard input")
    with open(source, "rb") as file:
        yield _unpacked(file if file.seekable() else io.BytesIO(file.read()), source)


def _unpacked(stream: BinaryIO, source: str) -> BinaryIO:
    """Return what a gzip file holds, or the stream as it is."""
    start = stream.read(len(GZIP))
    stream.seek(0)
    if start != GZIP:
        return stream
    try:
        with gzip.GzipFile(fileobj=stream) as packed:
            return io.BytesIO(packed.read())
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(_unreadable(source, "gzip", error, "fetch or pack the file again")) from None


def extension(source: str) -> str:
    """Return the extension of a path in small letters, of data.csv.gz that of data.csv."""
    path = Path(source)
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _sniffed(stream: BinaryIO) -> str:
    """Tell the format from the first bytes; text is CSV, whose delimiter is found later."""
    start = stream.read(4)
    stream.seek(0)
    return MAGIC.get(start, "csv")


def called(source: str) -> str:
    """Return what a message calls the source."""
    return "Standard input" if source == "-" else source


def _unreadable(source: str, kind: str, error: Exception, advice: str) -> str:
    return explain(f"{called(source)} cannot be read as {kind} ({error})", ", ".join(FORMATS), advice)


# --- Parquet, NPY, NPZ ---


def _read_parquet(stream: BinaryIO, source: str) -> Sheet:
    parquet, arrow = need("pyarrow.parquet", "parquet"), need("pyarrow", "parquet")
    try:
        table = parquet.read_table(stream)
    except (ValueError, OSError) as error:
        raise ValueError(
            _unreadable(source, "parquet", error, "check the file, or say what it is with --format")
        ) from None
    columns = [str(name) for name in table.column_names]
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    named = len(index) == 1 and index[0] in columns  # pandas keeps a plain row counter as a dict, not as a column
    cells = [_arrow_cells(column, arrow) for column in table.columns]
    return Sheet(columns, cells, header=True, index=columns.index(index[0]) if named else None)


def _arrow_cells(column: Any, arrow: Any) -> Any:
    """Return numbers as an array with NaN for what is missing, anything else as texts."""
    kind = column.type
    if arrow.types.is_boolean(kind):
        column = column.cast(arrow.uint8())
    elif arrow.types.is_decimal(kind):
        column = column.cast(arrow.float64())
    elif not (arrow.types.is_integer(kind) or arrow.types.is_floating(kind)):
        return ["" if value is None else str(value) for value in column.to_pylist()]
    return column.to_numpy()


def _read_arrays(stream: BinaryIO, source: str, choices: Choices) -> Table:
    """Read an NPY file, or an NPZ file with one array or one named X (and y: the classes, names: the row names)."""
    try:
        loaded = np.load(stream, allow_pickle=False)
        arrays = {"X": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        advice = "save plain arrays of numbers with numpy.save or numpy.savez"
        raise ValueError(_unreadable(source, "npy or npz", error, advice)) from None
    if "X" not in arrays and len(arrays) != 1:
        raise ValueError(
            explain(
                f"{called(source)} holds {len(arrays)} arrays: {', '.join(arrays) or 'none'}",
                "one array, or one named X, with y for the classes",
                "save it with numpy.savez(path, X=..., y=...)",
            )
        )
    numbers = arrays.get("X", next(iter(arrays.values())))
    if numbers.ndim != 2:
        check_no_gaps(numbers, None, None)
        return Table(numbers, ())
    columns = [str(place) for place in range(1, numbers.shape[1] + 1)]
    own_labels = choices.label_column == "y" and "y" in arrays
    table = make_table(
        Sheet(columns, list(numbers.T), block=numbers), replace(choices, label_column=None) if own_labels else choices
    )
    labels = _texts_beside(arrays, "y", len(numbers)) if table.labels is None else table.labels
    names = _texts_beside(arrays, "names", len(numbers)) if table.names is None else table.names
    return replace(table, labels=labels, names=names)


def _texts_beside(arrays: dict[str, NDArray[Any]], name: str, n: int) -> Names | None:
    """Return an array that stands beside X as texts."""
    if name not in arrays or len(arrays) == 1:
        return None
    if arrays[name].shape != (n,):
        raise ValueError(
            explain(
                f"Array {name} has shape {arrays[name].shape} and X has {n} rows",
                f"shape ({n},)",
                "save one entry per row",
            )
        )
    return arrays[name].astype(np.str_)
