"""Tables as text: CSV, TSV and their relatives, line by line, or by Arrow where a file is large.

Both readers give the same table. Arrow only speaks where all is well: whatever it or the table it makes complains
about is read again line by line, which says what is wrong, and at which line.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..formats.matrices import read_triangle
from ..input.numbers import MISSING, is_number
from .columns import Choices, Sheet, Table, edge_columns, find_column, make_table, table_of

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

#: Bytes from which on Arrow is worth its import: below, reading line by line takes a fifth of a second at most.
LARGE = 2**20


class _Head(NamedTuple):
    """What the first rows tell about a table."""

    columns: list[str]
    first: int  # the first row that is no header
    names: int | None  # a first column without a title, which names the rows


def read_delimited(stream: BinaryIO, kind: str, called: str, choices: Choices) -> Table:
    """Read a table; ``called`` is what messages call its source.

    Raises UnicodeDecodeError and csv.Error for what is no text or no table, ValueError for what is no good table.
    """
    delimiter = "\t" if kind == "tsv" else _delimiter(stream)
    table = _triangle(stream, delimiter) if choices.distances and choices.takes_all else None
    if table is not None:
        return table
    if stream.seek(0, os.SEEK_END) >= LARGE and delimiter != " " and choices.form in ("table", "edges"):
        table = _by_arrow(stream, delimiter, called, choices)
    return make_table(_by_lines(stream, delimiter, called, choices), choices) if table is None else table


def _triangle(stream: BinaryIO, delimiter: str) -> Table | None:
    """Return a lower triangle of distances; None for a table whose rows are equally long."""
    for mark in (delimiter, " "):
        some = _rows_of(stream, mark, 4)[0]
        lengths = [max((place for place, cell in enumerate(row, 1) if cell.strip()), default=0) for row in some]
        if len(set(lengths[-2:])) > 1:
            found = read_triangle(_rows_of(stream, mark)[0])
            if found is not None:
                return table_of(found)
    return None


# --- by Arrow ---


def _by_arrow(stream: BinaryIO, delimiter: str, called: str, choices: Choices) -> Table | None:
    """Return the table, or None where pyarrow is missing or anything is not as it should be."""
    try:
        import pyarrow
        from pyarrow import csv as arrow
    except ImportError:
        return None
    try:
        rows, lines = _rows_of(stream, delimiter, 1 + ROWS_LOOKED_AT)
        head = _head_of(rows, called, choices)
        first = rows[head.first]
        if len(first) != len(head.columns):
            return None
        asked = [choices.name_column, choices.label_column, *choices.skip_columns]
        texts = {head.names, *(find_column(head.columns, column) for column in asked if column is not None)}
        if choices.form == "edges":
            texts |= {*edge_columns(head.columns, head.first > 0, choices)[:2]}
        elif choices.distances and len(first) == 3:
            texts |= {0, 1}  # distances in a list: two objects and how far they are apart
        kinds = {
            str(place): pyarrow.string() if place in texts or not is_number(cell) else pyarrow.float64()
            for place, cell in enumerate(first)
        }
        stream.seek(0)
        found = arrow.read_csv(
            stream,
            arrow.ReadOptions(column_names=list(kinds), skip_rows=lines[head.first] - 1),
            arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow.ConvertOptions(column_types=kinds, null_values=[]),
        )
        cells = [
            _numbers_of(column) if kind == pyarrow.float64() else _read_commas(column.to_pylist(), delimiter)
            for kind, column in zip(kinds.values(), found.columns, strict=True)
        ]
        return make_table(Sheet(head.columns, cells, None, head.first > 0, head.names), choices)
    except (ValueError, csv.Error):
        return None


def _numbers_of(column: Any) -> NDArray[np.float64]:
    """Return a column of Arrow without gaps as an array; its own to_numpy would import pandas first."""
    return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks])


# --- line by line ---


def _by_lines(stream: BinaryIO, delimiter: str, called: str, choices: Choices) -> Sheet:
    rows, lines = _rows_of(stream, delimiter)
    head = _head_of(rows, called, choices)
    body, lines = rows[head.first :], lines[head.first :]
    for line, row in zip([1, *lines], [head.columns, *body], strict=True):
        if len(row) != len(body[0]):
            raise ValueError(
                explain(
                    f"{called}: line {line} has {len(row)} cells, line {lines[0]} has {len(body[0])}",
                    "the same number of cells in every line",
                    f"correct that line, or check the delimiter ({KNOWN_DELIMITERS}); a triangle of distances needs "
                    "--metric precomputed",
                )
            )
    cells = [list(column) for column in zip(*body, strict=True)]
    return Sheet(head.columns, cells, lines, head.first > 0, head.names)


def _rows_of(stream: BinaryIO, delimiter: str, most: int | None = None) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not blank, and the line at which each starts (a quoted cell may span lines)."""
    rows: list[list[str]] = []
    lines: list[int] = []
    next_line = 1
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    reader = _parsed(text, delimiter)
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                rows.append(_read_commas(row, delimiter))
                lines.append(next_line)
            next_line = reader.line_num + 1
            if len(rows) == most:
                break
    except csv.Error as error:
        raise csv.Error(f"line {next_line}: {error}") from None
    finally:
        text.detach()  # the stream stays open, for another reader
    return rows, lines


def _parsed(text: Iterable[str], delimiter: str) -> Any:
    """Return a reader of rows; spaces may come in runs, and before and after the cells."""
    if delimiter == " ":
        lines = (line.strip() + "\n" for line in text)
        return csv.reader(lines, delimiter=" ", skipinitialspace=True)
    return csv.reader(text, delimiter=delimiter)


def _read_commas(cells: list[str], delimiter: str) -> list[str]:
    """Write 1,5 as 1.5 where the semicolon parts the cells."""
    if delimiter != ";":
        return cells
    return [cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell for cell in cells]


# --- what the first lines tell ---


def _delimiter(stream: BinaryIO) -> str:
    """Return the mark that occurs equally often in every line, outside quotes; a header may have one less, as in R.

    Where none does, the one that most lines have: reading then tells which line is wrong.
    """
    stream.seek(0)
    sample = stream.read(BYTES_LOOKED_AT)
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


def _head_of(rows: list[list[str]], called: str, choices: Choices) -> _Head:
    """Name the columns, by the titles above them or by counting."""
    if not rows:
        raise ValueError(explain(f"{called} is empty", "at least one row of numbers", "check where it comes from"))
    header = _looks_like_header(rows, choices) if choices.header is None else choices.header
    if not header:
        return _Head(list(map(str, range(1, len(rows[0]) + 1))), 0, None)
    if len(rows) == 1:
        raise ValueError(
            explain(
                f"{called} holds a header and no rows",
                "at least one row below the header",
                "pass --no-header if the first line is a row",
            )
        )
    titles = [cell.strip() for cell in rows[0]]
    if len(titles) == len(rows[1]) - 1:  # R leaves out the title of the row names
        titles = ["", *titles]
    unnamed_first = len(rows[1]) > 1 and not titles[0] and any(titles)
    columns = [title or str(place) for place, title in enumerate(titles, 1)]
    return _Head(columns, 1, 0 if unnamed_first else None)


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
