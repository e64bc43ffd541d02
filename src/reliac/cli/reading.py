"""Tables from files: text, Parquet, NumPy, SciPy, Matrix Market, PHYLIP; by path or standard input, gzipped or not."""

from __future__ import annotations

import csv
import gzip
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import DoesNotFit, Message, explain, need, unknown_name
from ..files import check_source, explained, path_of, read_all
from ..formats.arrays import Archive, Unusable, read_array
from ..formats.matrices import looks_like_phylip, read_phylip
from ..formats.sparse import holds_sparse, read_market, read_sparse
from ..input.numbers import Names, is_sparse
from ..machine import check_memory
from .columns import Choices, Sheet, Table, check_no_gaps, make_table, table_of
from .delimited import read_delimited

#: What files can be, with the extensions that mean it and what they hold; docs/files.md shows this table.
FORMATS = {
    "csv": ((".csv",), "a table, with commas, semicolons, tabs, bars or spaces between the cells"),
    "tsv": ((".tsv", ".tab"), "a table with tabs between the cells"),
    "parquet": ((".parquet", ".pq"), "a table (extra `parquet`)"),
    "arrow": ((".arrow", ".feather"), "a table (extra `parquet`)"),
    "npy": ((".npy",), "an array of numbers"),
    "npz": ((".npz",), "one array, or one named X, with y and names beside it; or what scipy.sparse.save_npz wrote"),
    "mtx": ((".mtx",), "a matrix in Matrix Market form, sparse or plain"),
    "phylip": ((".phy", ".phylip"), "distances: square, lower or upper triangle, names strict or relaxed"),
}
EXTENSIONS = {extension: name for name, (extensions, _) in FORMATS.items() for extension in extensions}

#: The first bytes of the binary formats.
MAGIC = {b"\x93NUM": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARRO": "arrow", b"%%Ma": "mtx"}
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
    try:
        if kind in ("npy", "npz"):
            return _read_arrays(stream, source, choices)
        if kind == "mtx":
            return _whole(read_market(stream), choices)
        if kind == "phylip":
            return table_of(read_phylip(stream.read().decode("utf-8-sig")))
        if kind in ("parquet", "arrow"):
            return make_table(_read_arrow(stream, source, kind), choices)
        return read_delimited(stream, kind, called(source), choices)
    except DoesNotFit:
        raise
    except MemoryError as error:  # a damaged file may ask for any amount
        advice = "check whether the file is damaged, or use a machine with more memory"
        raise MemoryError(_unreadable(source, kind, error, advice)) from None
    except Unusable as error:
        raise ValueError(_unreadable(source, kind, error, "check the file, or say what it is with --format")) from None
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
        with explained("Standard input cannot be read"):
            if sys.stdin is None:
                given = "Standard input is closed"
                raise OSError(explain(given, "a path, or - for standard input", "name a file, or pipe something in"))
            content = read_all(sys.stdin.buffer, called(source))
        yield _unpacked(content, source)
        return
    check_source(source, "a path, or - for standard input")
    told = explained(f"{path_of(source)} cannot be read")
    with ExitStack() as stack:
        with told:
            file = stack.enter_context(open(source, "rb"))
            about = os.fstat(file.fileno())
            check_memory(about.st_size, f"The file {source}")
            plain = file.seekable() and stat.S_ISREG(about.st_mode)  # a device may have no end
            stream: BinaryIO = file if plain else read_all(file, source)
        yield _unpacked(stream, source)


def _unpacked(stream: BinaryIO, source: str) -> BinaryIO:
    """Return what a gzip file holds, or the stream as it is."""
    start = stream.read(len(GZIP))
    stream.seek(0)
    if start != GZIP:
        return stream
    try:
        stream.seek(-4, os.SEEK_END)
        check_memory(int.from_bytes(stream.read(4), "little"), called(source))  # its length, but for whole 4 GiB
        stream.seek(0)
        with gzip.GzipFile(fileobj=stream) as packed:
            return read_all(packed, called(source))
    except MemoryError:
        raise
    except Exception as error:  # gzip and zlib have many kinds of errors for a damaged file
        raise ValueError(_unreadable(source, "gzip", error, "fetch or pack the file again")) from None


def extension(source: str) -> str:
    """Return the extension of a path in small letters, of data.csv.gz that of data.csv."""
    path = Path(source)
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _sniffed(stream: BinaryIO) -> str:
    """Tell the format from the first bytes; text is CSV, whose delimiter is found later."""
    start = stream.read(4096)
    stream.seek(0)
    if looks_like_phylip(start.decode("utf-8-sig", "replace")):
        return "phylip"
    return MAGIC.get(start[:4], "csv")


def called(source: str) -> str:
    """Return what a message calls the source."""
    return "Standard input" if source == "-" else source


def _unreadable(source: str, kind: str, error: Exception, advice: str) -> Message:
    return explain(f"{called(source)} cannot be read as {kind} ({error})", ", ".join(FORMATS), advice)


# --- Parquet, NPY, NPZ ---


def _read_arrow(stream: BinaryIO, source: str, kind: str) -> Sheet:
    """Read a Parquet file, or one that Arrow wrote (Feather)."""
    need("pyarrow", "parquet")
    try:
        return _arrow_sheet(stream, source, kind)
    except MemoryError:
        raise
    except Exception as error:  # Arrow, and the JSON that pandas puts in, have many kinds of errors for damage
        advice = "check the file: it may end too early; or say what it is with --format"
        raise ValueError(_unreadable(source, kind, error, advice)) from None


def _arrow_sheet(stream: BinaryIO, source: str, kind: str) -> Sheet:
    arrow = need("pyarrow", "parquet")
    if kind == "parquet":
        whole = need("pyarrow.parquet", "parquet").ParquetFile(stream)
        check_memory(2 * 8 * whole.metadata.num_rows * whole.metadata.num_columns, called(source))
        table = whole.read()
    else:
        table = need("pyarrow.ipc", "parquet").open_file(stream).read_all()
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
    arrays = _arrays_in(stream, source)
    numbers = arrays["X"]
    if is_sparse(numbers):
        return _whole(numbers, choices)
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


def _arrays_in(stream: BinaryIO, source: str) -> dict[str, NDArray[Any]]:
    """Return the one array as X, or X and what stands beside it; nothing else is unpacked."""
    if stream.read(2) != b"PK":
        return {"X": read_array(stream)}
    archive = Archive(stream)
    if holds_sparse(archive):
        return {"X": read_sparse(archive)}
    if "X" not in archive and len(archive.names) != 1:
        raise ValueError(
            explain(
                f"{called(source)} holds {len(archive.names)} arrays: {', '.join(archive.names) or 'none'}",
                "one array, or one named X, with y for the classes",
                "save it with numpy.savez(path, X=..., y=...)",
            )
        )
    if "X" not in archive:
        return {"X": archive.read(archive.names[0])}
    return {name: archive.read(name) for name in ("X", "y", "names") if name in archive}


def _whole(numbers: Any, choices: Choices) -> Table:
    """Return a matrix all of whose columns are data."""
    if not choices.takes_all:
        given = "A column was named, and a matrix has none but its data"
        raise ValueError(explain(given, "tables with titled columns", "leave that option out"))
    if not is_sparse(numbers):
        check_no_gaps(numbers, None, None)
    return Table(numbers, ())


def _texts_beside(arrays: dict[str, NDArray[Any]], name: str, n: int) -> Names | None:
    """Return an array that stands beside X as texts."""
    if name not in arrays:
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
