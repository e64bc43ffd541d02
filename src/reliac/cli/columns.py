"""The columns of a file -> a table: which column names the rows, which labels them, which hold numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, unknown_name
from ..formats.matrices import Named, from_pairs
from ..input.condensed import count_objects
from ..input.distances import agreeing_names
from ..input.edges import ENDS, VALUES
from ..input.gower import Column, categories, of_columns
from ..input.misreadings import refuse_named_edges
from ..input.numbers import MISSING, Names, are_names, first_not_finite, is_number, titles_as_names


@dataclass(frozen=True, eq=False)
class Table:
    """The numbers of a file with the names of its columns; names, classes and weights of its rows if it has them."""

    numbers: Any  # an array, or a sparse matrix; of edges their ends and numbers; of pairs their ends
    columns: tuple[str, ...]
    names: Names | None = None
    labels: Names | None = None
    weights: NDArray[Any] | None = None
    are_distances: bool = False  # the format says so, whatever the user says
    titled: bool = False  # the columns have titles of their own
    scaling: NDArray[np.float64] | None = None  # (2, d): what --standardize took off and divided by


#: What the rows of a file are: objects with their numbers, edges between objects, objects with no more than names, or
#: pairs of objects.
Form = Literal["table", "edges", "objects", "pairs"]


@dataclass(frozen=True, eq=False)
class Choices:
    """What the user says about a file; None and () leave it to the file."""

    header: bool | None = None
    name_column: str | None = None
    label_column: str | None = None
    weights_column: str | None = None
    skip_columns: Sequence[str] = ()
    distances: bool = False  # the numbers are distances of objects, not vectors
    gaps: bool = False  # values may be missing
    mixed: bool = False  # columns of texts are categories
    form: Form = "table"
    edges: Sequence[str] = ()  # the columns of an edge table: two ends and a number
    similarity: bool = False  # that number is a similarity

    @property
    def takes_all(self) -> bool:
        """Whether the user says of no column what it is."""
        asked = (self.name_column, self.label_column, self.weights_column)
        return not (any(asked) or self.skip_columns or self.edges)

    @property
    def columns(self) -> set[str]:
        """The columns that the user speaks of by name."""
        asked = {self.name_column, self.label_column, self.weights_column, *self.skip_columns, *self.edges}
        if self.form == "edges":  # a and b may be objects in the first line; this is a title
            asked.add(VALUES[self.similarity])
        return {column for column in asked if column and not is_number(column)}


@dataclass(frozen=True, eq=False)
class Sheet:
    """The columns of a file as they stand, before anyone says which are names, labels or numbers."""

    columns: list[str]
    cells: Sequence[Any]  # for each column a list of texts or an array
    lines: list[int] | None = None  # the line of the file where each row starts
    header: bool = False
    index: int | None = None  # a column that only names the rows and is never data
    block: NDArray[Any] | None = None  # the same cells as one array, where the file holds one


def make_table(sheet: Sheet, choices: Choices) -> Table:
    """Tell names, labels and numbers apart."""
    if choices.form == "edges":
        return Table(_edges_of(sheet, choices), ())
    if choices.form == "objects":
        return _objects_of(sheet, choices)
    if choices.form == "pairs":
        return Table(_pairs_of(sheet), ())
    if choices.distances and choices.takes_all and _are_pairs(sheet):
        left, right = (list(map(str, _texts(sheet, place, complete=True))) for place in (0, 1))
        return table_of(from_pairs(left, right, _numbers_of(sheet, 2)))
    labels_at, names_at, weights_at = (
        None if column is None else find_column(sheet.columns, column)
        for column in (choices.label_column, choices.name_column, choices.weights_column)
    )
    apart = {find_column(sheet.columns, column) for column in choices.skip_columns} | {labels_at, weights_at}
    if names_at is None:
        names_at = sheet.index if sheet.index is not None else _first_column_of_names(sheet, apart)
    apart |= {names_at, sheet.index}
    kept = [place for place in range(len(sheet.columns)) if place not in apart]
    if not kept:
        among = f" of {', '.join(sheet.columns)}" if sheet.columns else ": there is no column"
        raise ValueError(
            explain(
                f"No column of numbers is left{among}",
                "at least one column besides names, labels, weights and skipped ones",
                "check --name-column, --label-column, --weights-column and --skip-column",
            )
        )
    numbers = _features_of(sheet, kept, choices)
    names = None if names_at is None else _texts(sheet, names_at)
    labels = None if labels_at is None else _texts(sheet, labels_at, complete=True)
    weights = None if weights_at is None else _numbers_of(sheet, weights_at)
    titles = tuple(sheet.columns[place] for place in kept)
    table = Table(numbers, titles, names, labels, weights, titled=sheet.header)
    if not choices.distances:
        return table
    return _as_distances(table, titled=sheet.header and choices.name_column is None)


def _features_of(sheet: Sheet, kept: list[int], choices: Choices) -> NDArray[Any]:
    """Return some columns as one table of numbers; categories are codes, and gaps NaN, where these are allowed."""
    titles = [sheet.columns[place] for place in kept]
    if choices.mixed:
        return of_columns(titles, [_feature(sheet, place) for place in kept])
    if sheet.block is not None and len(kept) == len(sheet.columns):
        numbers = sheet.block
    else:
        numbers = np.column_stack([_numbers_of(sheet, place, choices.gaps) for place in kept])
    if not choices.gaps:
        check_no_gaps(numbers, titles, sheet.lines)
    return numbers


def _feature(sheet: Sheet, place: int) -> Column:
    """Return one column as numbers, or as categories if none of its cells is a number."""
    cells = sheet.cells[place]
    texts = [cell.strip() for cell in cells] if isinstance(cells, list) else []
    present = [text for text in texts if text.lower() not in MISSING]
    if not present or any(map(is_number, present)):
        return Column(_numbers_of(sheet, place, gaps=True).astype(np.float64))
    return categories(None if text.lower() in MISSING else text for text in texts)


def _are_pairs(sheet: Sheet) -> bool:
    """Tell whether three columns hold a pair of objects and a distance in every row."""
    if len(sheet.columns) != 3 or sheet.block is not None or len(sheet.cells[0]) < 2:
        return False
    are_texts = [not all(is_number(str(cell)) for cell in sheet.cells[place]) for place in (0, 1, 2)]
    if are_texts[0] != are_texts[1] or are_texts[2]:
        return False
    first = [str(sheet.cells[place][place]).strip() for place in range(min(3, len(sheet.cells[0])))]
    square = len(sheet.cells[0]) == 3 and all(is_number(cell) and float(cell) == 0 for cell in first)
    return not square


def _edges_of(sheet: Sheet, choices: Choices) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the two ends and the number of every edge."""
    a, b, number = edge_columns(sheet.columns, sheet.header, choices)
    values = _numbers_of(sheet, number)
    check_no_gaps(values[:, None], [sheet.columns[number]], sheet.lines)
    below = np.flatnonzero(values < 0)
    if len(below) and not choices.similarity:
        where = _place(int(below[0]), sheet.columns[number], sheet.lines)
        given = f"The distance {values[below[0]]:g} at {where}"
        raise ValueError(explain(given, "distances of at least 0", "correct it, or add --similarity if these are none"))
    ends = [_ends(sheet, place) for place in (a, b)]
    if any(end.dtype.kind == "U" for end in ends):
        ends = [end.astype(np.str_) for end in ends]
    return ends[0], ends[1], values


def edge_columns(columns: Sequence[str], titled: bool, choices: Choices) -> list[int]:
    """Return the places of the two ends and the number: those asked for, the usual titles, or the first three."""
    usual = (*ENDS, VALUES[choices.similarity])
    asked = choices.edges or (usual if titled and {*usual} <= {*columns} else ())
    if len(asked) == 3:
        return [find_column(columns, column) for column in asked]
    if asked or titled or len(columns) < 3:
        given = f"--edges {','.join(asked)}" if asked else f"An edge table with columns {', '.join(columns)}"
        allowed = f"columns {','.join(usual)}, or three that are named; without a header the first three"
        raise ValueError(explain(given, allowed, "name the two ends and the number: --edges A,B,NUMBER"))
    return [0, 1, 2]


def _ends(sheet: Sheet, place: int) -> NDArray[Any]:
    """Return the objects at one end of edges: whole numbers where all are written as such, else texts as they stand."""
    cells = np.asarray(sheet.cells[place]) if not isinstance(sheet.cells[place], list) else None
    if cells is not None and cells.dtype.kind == "f":
        check_no_gaps(cells[:, None], [sheet.columns[place]], sheet.lines)
        return cells.astype(np.int64) if (cells == np.floor(cells)).all() else cells.astype(np.str_)
    if cells is not None and cells.dtype.kind in "iu":
        return cells
    texts = _texts(sheet, place, complete=True)
    try:
        numbers = texts.astype(np.int64)
    except (ValueError, OverflowError):
        return texts
    return numbers if (numbers.astype(np.str_) == texts).all() else texts  # 007 is a name


def _objects_of(sheet: Sheet, choices: Choices) -> Table:
    """Return names, and classes and weights where they are asked for; the first column holds the names."""
    names_at = find_column(sheet.columns, choices.name_column) if choices.name_column else sheet.index or 0
    names = _texts(sheet, names_at, complete=True)
    labels, weights = (
        None if column is None else find_column(sheet.columns, column)
        for column in (choices.label_column, choices.weights_column)
    )
    return Table(
        np.empty((len(names), 0)),
        (),
        names,
        None if labels is None else _texts(sheet, labels, complete=True),
        None if weights is None else _numbers_of(sheet, weights),
    )


def _pairs_of(sheet: Sheet) -> list[tuple[str, str]]:
    """Return pairs of objects as texts."""
    if len(sheet.columns) != 2:
        given = f"Pairs of objects in {len(sheet.columns)} columns"
        raise ValueError(explain(given, "two columns, an object in each", "write a pair in every line: ann,bob"))
    left, right = (_texts(sheet, place, complete=True).tolist() for place in (0, 1))
    return list(zip(left, right, strict=True))


def table_of(found: Named) -> Table:
    """Return the table of a file that can hold nothing but distances."""
    names = None if found.names is None else np.array(found.names, dtype=np.str_)
    return Table(found.distances, (), names, are_distances=True)


def _first_column_of_names(sheet: Sheet, apart: set[int | None]) -> int | None:
    """Return the first column if it holds distinct words and no number."""
    cells = sheet.cells[0] if sheet.columns else []
    if 0 in apart or len(sheet.columns) < 2 or not isinstance(cells, list):
        return None
    return 0 if are_names(cells) else None


def _numbers_of(sheet: Sheet, place: int, gaps: bool = False) -> NDArray[Any]:
    """Return one column as numbers, or name the first cell that is none; with ``gaps`` a missing one is NaN."""
    cells = sheet.cells[place]
    if not isinstance(cells, list):
        return np.asarray(cells)
    if gaps:
        cells = ["nan" if cell.strip().lower() in MISSING else cell for cell in cells]
    try:
        if "_" not in "".join(cells):
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        pass
    row = next(row for row, cell in enumerate(cells) if not (is_number(cell) or (gaps and cell == "nan")))
    column, cell = sheet.columns[place], cells[row].strip()
    if cell.lower() in MISSING:
        raise ValueError(_missing(_place(row, column, sheet.lines), repr(cell) if cell else "empty"))
    shown = cell if len(cell) <= 40 else cell[:37] + "..."
    _refuse_edges(sheet)
    raise ValueError(
        explain(
            f"Column {column!r} is not numeric: {shown!r} at {_place(row, None, sheet.lines)}",
            "numbers in every column",
            "pass --label-column, --name-column or --skip-column for a column of text, or correct the cell "
            "(write 1000, not 1,000)",
        )
    )


def _refuse_edges(sheet: Sheet) -> None:
    """Refuse a table of edges between named objects, where a column of names was expected to hold numbers."""
    if _are_pairs(sheet):
        left, right, values = ([str(cell).strip() for cell in cells] for cells in sheet.cells)
        refuse_named_edges([*zip(left, right, map(float, values), strict=True)])


def _place(row: int, column: str | None, lines: list[int] | None) -> str:
    line = "" if lines is None else f" (line {lines[row]})"
    return f"row {row + 1}{line}" + ("" if column is None else f", column {column!r}")


def _missing(where: str, what: str) -> str:
    return explain(
        f"A value is missing or not finite: {what} at {where}", "finite numbers", "drop the row, or fill the gap"
    )


def check_no_gaps(numbers: NDArray[Any], columns: Sequence[str] | None, lines: list[int] | None) -> None:
    """Refuse NaN and infinity, naming row, line and column, counted from 1."""
    found = first_not_finite(numbers)
    if found is not None:
        (row, *column), value = found
        raise ValueError(_missing(_place(row, columns[column[0]] if columns and column else None, lines), str(value)))


def _texts(sheet: Sheet, place: int, complete: bool = False) -> Names:
    """Return one column as texts; ``complete`` refuses empty ones."""
    texts = [str(cell).strip() for cell in sheet.cells[place]]
    if complete and "" in texts:
        raise ValueError(_missing(_place(texts.index(""), sheet.columns[place], sheet.lines), "empty"))
    return np.array(texts, dtype=np.str_)


def _as_distances(table: Table, titled: bool) -> Table:
    """Read the titles above a square matrix as names; make one line or one column of distances condensed."""
    rows, columns = table.numbers.shape
    if rows == columns:
        titles = titles_as_names(table.columns) if titled else None
        return replace(table, names=agreeing_names(table.names, titles))
    one_line = table.labels is None and table.weights is None and 1 in (rows, columns)
    if one_line and count_objects(rows * columns) is not None:
        return Table(table.numbers.ravel(), ())
    return table


def find_column(columns: Sequence[str], wanted: str) -> int:
    """Return the place of a column given by name, or by position: 1 is the first, -1 the last."""
    count = columns.count(wanted)
    if count > 1:
        raise ValueError(
            explain(f"{count} columns are named {wanted!r}", "a name that occurs once", "give its position: 1, 2, ...")
        )
    if count:
        return columns.index(wanted)
    try:
        position = int(wanted)
    except ValueError:
        raise ValueError(unknown_name("column", wanted, columns)) from None
    if position == 0 or abs(position) > len(columns):
        raise ValueError(
            explain(
                f"Column {position} of {len(columns)}",
                f"1 to {len(columns)}, or -1 to -{len(columns)} from the end",
                "count from 1, or give the column's name",
            )
        )
    return position - 1 if position > 0 else len(columns) + position
