"""Edge tables in files: Parquet, Arrow and CSV, as Arrow tables. Objects keep the names that are written there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..errors import explain, how_to_install
from ..files import check_source

#: What a file may be, by the end of its name.
PARQUET, ARROW, TEXT = (".parquet", ".pq"), (".arrow", ".feather"), (".csv", ".tsv")


def read_edge_file(path: str | os.PathLike[str], ends: Sequence[str]) -> Any:
    """Read a file as an Arrow table; ``ends``: the titles of the two columns that name objects."""
    name = os.fspath(path).lower()
    if not name.endswith((*PARQUET, *ARROW, *TEXT)):
        known = ", ".join((*PARQUET, *ARROW, *TEXT))
        raise ValueError(
            explain(f"An edge table in {os.fspath(path)!r}", f"the extensions {known}", "convert the file")
        )
    check_source(path, "the path of an edge table")
    try:
        import pyarrow
    except ImportError:
        raise ModuleNotFoundError(
            explain("Edge tables in files need pyarrow", "an environment with it", how_to_install("parquet"))
        ) from None
    try:
        return _read(path, name, ends)
    except (pyarrow.ArrowInvalid, OSError, MemoryError) as error:  # Arrow has all of them for a damaged file
        raise ValueError(
            explain(
                f"{os.fspath(path)!r} is no table: {error}",
                "a file with columns a, b and distance",
                "check the last rows: the file may end in the middle of one",
            )
        ) from None


def _read(path: str | os.PathLike[str], name: str, ends: Sequence[str]) -> Any:
    import pyarrow
    from pyarrow import csv

    if name.endswith(PARQUET):
        from pyarrow import parquet

        return parquet.read_table(path)
    if name.endswith(ARROW):
        from pyarrow import feather

        return feather.read_table(path)
    # Texts, since 007 and 7 are two names; and only an empty cell is missing, since NA and null may be names too.
    convert = csv.ConvertOptions(
        column_types={end: pyarrow.string() for end in ends}, null_values=[""], strings_can_be_null=True
    )
    parse = csv.ParseOptions(delimiter="\t" if name.endswith(".tsv") else ",")
    table = csv.read_csv(os.fspath(path), parse_options=parse, convert_options=convert)
    places = [table.column_names.index(end) for end in ends if end in table.column_names]
    numbers = [_whole_numbers(table.column(place)) for place in places]
    if all(column is not None for column in numbers):
        for place, column in zip(places, numbers, strict=True):
            table = table.set_column(place, table.column_names[place], column)
    return table


def _whole_numbers(column: Any) -> Any:
    """Return texts as whole numbers if all are written as these are; else None."""
    import pyarrow
    from pyarrow import compute

    if column.null_count:  # told later, with its row
        return None
    try:
        numbers = column.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return None
    return numbers if compute.all(compute.equal(numbers.cast(pyarrow.string()), column)).as_py() is not False else None
