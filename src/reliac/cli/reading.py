"""Tables from files: CSV, TSV, Parquet, NPY and NPZ, by path or from standard input, gzipped or not."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, need, unknown_name
from ..files import check_source
from ..input.numbers import MISSING, Names, is_number
from .columns import Choices, Sheet, Table, check_no_gaps, make_table

FORMATS = ("csv", "tsv", "parquet", "npy", "npz")
EXTENSIONS = {f".{name}": name for name in FORMATS} | {".tab": "tsv", ".pq": "parquet"}

#: The first bytes of the binary formats.
MAGIC = {b"\x93NUM": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet"}
GZIP = b"\x1f\x8b"

#: What can part the cells of a line, the first that fits first; spaces may come in runs.
DELIMITERS = (";", "\t", ",", "|", " ")
KNOWN_DELIMITERS = "comma, semicolon, tab, | or spaces"

#: A cell in quotes, which may hold delimiters and line ends.
QUOTED = re.compile(r'(?:^|(?<=[;\t,| \n]))"[^"]*(?:""[^"]*)*"?')

#: A number as spreadsheets write it where the semicolon parts the cells.
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")

#: Rows below the first line that are looked at to tell whether it is a header, and bytes to find the delimiter.
ROWS_LOOKED_AT = 1000
BYTES_LOOKED_AT = 2**16


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
    sheet = _read_parquet(stream, source) if kind == "parquet" else _read_text(stream, kind, source, choices)
    return make_table(sheet, choices)


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


# --- text ---


def _read_text(stream: BinaryIO, kind: str, source: str, choices: Choices) -> Sheet:
    rows, lines = _rows_of_text(stream, kind, source)
    if not rows:
        raise ValueError(
            explain(f"{called(source)} is empty", "at least one row of numbers", "check where it comes from")
        )
    header = _looks_like_header(rows, choices) if choices.header is None else choices.header
    body, lines = (rows[1:], lines[1:]) if header else (rows, lines)
    if not body:
        raise ValueError(
            explain(
                f"{called(source)} holds a header and no rows",
                "at least one row below the header",
                "pass --no-header if the first line is a row",
            )
        )
    width = len(body[0])
    titles = [cell.strip() for cell in rows[0]] if header else []
    if len(titles) == width - 1:  # R leaves out the title of the row names
        titles = ["", *titles]
    for line, row in zip([1, *lines], [titles or body[0], *body], strict=True):
        if len(row) != width:
            raise ValueError(
                explain(
                    f"{called(source)}: line {line} has {len(row)} cells, line {lines[0]} has {width}",
                    "the same number of cells in every line",
                    f"correct that line, or check the delimiter ({KNOWN_DELIMITERS})",
                )
            )
    unnamed_first = header and width > 1 and not titles[0] and any(titles)
    columns = [title or str(place) for place, title in enumerate(titles, 1)] or list(map(str, range(1, width + 1)))
    cells = [list(column) for column in zip(*body, strict=True)]
    return Sheet(columns, cells, lines, header, 0 if unnamed_first else None)


def _rows_of_text(stream: BinaryIO, kind: str, source: str) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not blank, and the line at which each starts (a quoted cell may span lines)."""
    rows: list[list[str]] = []
    lines: list[int] = []
    delimiter = "\t" if kind == "tsv" else _delimiter(stream)
    next_line = 1
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        reader = _parsed(text, delimiter)
        try:
            for row in reader:
                if len(row) > 1 or (row and row[0].strip()):
                    rows.append(_with_points(row) if delimiter == ";" else row)
                    lines.append(next_line)
                next_line = reader.line_num + 1
        except UnicodeDecodeError as error:
            advice = "save it as UTF-8, or say what it is with --format"
            raise ValueError(_unreadable(source, kind, error, advice)) from None
        except csv.Error as error:
            advice = f"look at line {next_line}, or say what the file is with --format"
            raise ValueError(_unreadable(source, kind, error, advice)) from None
    return rows, lines


def _parsed(text: Iterable[str], delimiter: str) -> Any:
    """Return a reader of rows; spaces may come in runs, and before and after the cells."""
    if delimiter == " ":
        lines = (line.strip() + "\n" for line in text)
        return csv.reader(lines, delimiter=" ", skipinitialspace=True)
    return csv.reader(text, delimiter=delimiter)


def _delimiter(stream: BinaryIO) -> str:
    """Return the mark that occurs equally often in every line, outside quotes; a header may have one less, as in R.

    Where none does, the one that most lines have: reading then tells which line is wrong.
    """
    sample = stream.read(BYTES_LOOKED_AT)
    stream.seek(0)
    text = QUOTED.sub('""', sample.decode("utf-8-sig", "replace"))
    lines = [line.strip(" \r") for line in text.split("\n") if line.strip()]
    lines = lines[:-1] if len(sample) == BYTES_LOOKED_AT and len(lines) > 1 else lines
    if not lines:
        return ","
    counts = {
        mark: [len(re.findall(re.escape(mark) + "+" * (mark == " "), line)) for line in lines] for mark in DELIMITERS
    }
    for mark, (first, *below) in counts.items():
        usual = below[0] if below else first
        if usual and set(below) <= {usual} and first in (usual, usual - 1):
            _check_commas(mark, first, lines)
            return mark
    most = max(DELIMITERS[:-1], key=lambda mark: sum(map(bool, counts[mark])))
    return most if any(counts[most]) else ","


def _check_commas(mark: str, first: int, lines: list[str]) -> None:
    """Refuse lines like 1,000 below a single title: the comma may part thousands, decimals or cells."""
    if mark == "," and not first and all(map(DECIMAL_COMMA.fullmatch, lines[1:])):
        raise ValueError(
            explain(
                f"Lines like {lines[1]!r} below the single title {lines[0]!r}",
                "a title for every column, and numbers without commas",
                "write the numbers without commas, or give both columns a title",
            )
        )


def _with_points(row: list[str]) -> list[str]:
    """Write 1,5 as 1.5."""
    return [cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell for cell in row]


def _looks_like_header(rows: list[list[str]], choices: Choices) -> bool:
    """Tell whether the first line holds titles: some cell is not a number, and the column below is numbers."""
    first, below = [cell.strip() for cell in rows[0]], rows[1 : 1 + ROWS_LOOKED_AT]
    text = [cell.lower() not in MISSING and not is_number(cell) for cell in first]
    if not below:
        return all(text)
    if not any(text):  # ",101,102" above distances: the corner over two sets of numeric names
        return choices.distances and not first[0] and bool(below[0][0].strip())
    if len(first) == len(below[0]) - 1 or choices.columns & set(first):
        return True
    columns = zip(*below, strict=False)
    return any(is_text and _mostly_numbers(column) for is_text, column in zip(text, columns, strict=False))


def _mostly_numbers(cells: Sequence[str]) -> bool:
    """Tell whether most cells that hold anything hold a number; a few mistakes do not change what a column is."""
    found = [is_number(cell) for cell in cells if cell.strip().lower() not in MISSING]
    return 2 * sum(found) > len(found)


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
