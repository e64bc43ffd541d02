"""Edge tables that may not fit into memory: what a source is, where it lives, and how large it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob, has_magic
from typing import Any, NamedTuple

import numpy as np

from ..errors import amount, explain, need, option
from ..machine import free_memory
from .edgefiles import ARROW, PARQUET, TEXT, read_edge_file
from .edges import ENDS, VALUES, read_edges
from .misreadings import is_graph
from .numbers import is_sparse

#: Bytes that a row of an edge table takes in memory, from reading it to the end of a run.
BYTES_A_ROW = 250

#: Tables that need more than this share of the free memory go to a database.
SHARE = 0.5


class Place(NamedTuple):
    """The database that an edge table goes to, and why."""

    name: str  # "DuckDB" or "Spark"
    reason: str


# --- what it is ---


def is_duckdb(thing: object) -> bool:
    """Tell whether this is a connection or a relation of DuckDB."""
    return _module(thing) in ("duckdb", "_duckdb")


def is_spark(thing: object) -> bool:
    """Tell whether this is a session or a frame of Spark."""
    return _module(thing) == "pyspark"


def is_master(connection: object) -> bool:
    """Tell whether this is the address of a Spark master, as text."""
    return isinstance(connection, str) and connection.startswith(("local", "spark://", "yarn", "k8s://"))


def is_path(source: object) -> bool:
    """Tell whether this names files, and no table."""
    if not isinstance(source, str):
        return isinstance(source, os.PathLike)
    return source.lower().endswith((*PARQUET, *ARROW, *TEXT)) or has_magic(source) or os.sep in source


def is_parquet(source: object) -> bool:
    """Tell whether this names Parquet files, which databases read by themselves."""
    return is_path(source) and (os.fspath(source).lower().endswith(PARQUET) or has_magic(os.fspath(source)))  # type: ignore[call-overload]


def _module(thing: object) -> str:
    return type(thing).__module__.partition(".")[0]


def place_of(source: Any, connection: Any, engine: str) -> Place | None:
    """Tell which database an edge table goes to; None if it is read into memory."""
    if connection is not None and not (is_duckdb(connection) or is_spark(connection) or is_master(connection)):
        raise TypeError(
            explain(
                f"connection of type {type(connection).__name__}",
                "a DuckDB connection, a SparkSession, or the address of a Spark master such as 'local[2]'",
                "leave it out: DuckDB is then started here",
            )
        )
    if not isinstance(engine, str) or engine not in ("auto", "sql"):
        return None
    if is_spark(source) or is_spark(connection) or is_master(connection):
        return Place("Spark", "the edges are in Spark" if is_spark(source) else "its session was given")
    if is_duckdb(source) or is_duckdb(connection):
        return Place("DuckDB", "the edges are in DuckDB" if is_duckdb(source) else "its connection was given")
    if engine == "sql":
        return Place("DuckDB", "asked for")
    needed, free = BYTES_A_ROW * count_rows(source), free_memory()
    if needed <= SHARE * free:
        return None
    return Place("DuckDB", f"the edges need about {amount(needed)} in memory, and {amount(free)} are free")


def refuse_in_database(**options: Any) -> None:
    """Refuse options that statements do not know."""
    for name, value in options.items():
        if value is not None and value is not False and not (isinstance(value, float) and value == 0.0):
            raise ValueError(
                explain(
                    f"{name} for an edge table in a database: its statements do not know it",
                    "criterion, missing, alpha, n_clusters, max_level, max_distance, duplicates, similarity, objects",
                    f"leave it out, or read the edges into memory with {option('engine', 'graph')}",
                )
            )


def count_rows(source: Any) -> int:
    """Return the number of rows of an edge table, or about so many; 0 if that is known only when it is read."""
    if isinstance(source, (str, os.PathLike)):
        if not is_parquet(source):
            return 0
        try:
            return int(need("pyarrow.dataset", "sql").dataset(find_files(source), format="parquet").count_rows())
        except ValueError:  # damaged, which whoever reads it explains; Arrow's errors are of this kind
            return 0
    if hasattr(source, "count_rows"):
        return int(source.count_rows())
    if is_sparse(source):
        return int(source.nnz)
    if is_graph(source):
        return int(source.number_of_edges())
    rows = source[0] if isinstance(source, tuple) and source else source
    return len(rows) if hasattr(rows, "__len__") else 0


def find_files(source: str | os.PathLike[str]) -> list[str]:
    """Return the files that a path or a pattern names."""
    name = os.fspath(source)
    paths = sorted(glob(name, recursive=True)) if has_magic(name) and not os.path.exists(name) else [name]
    if not paths or not os.path.exists(paths[0]):
        raise FileNotFoundError(
            explain(f"There is no file {name!r:.300}", "a file, or a pattern that fits one", "check the name")
        )
    if os.path.isdir(paths[0]):
        raise IsADirectoryError(
            explain(f"{name!r} is a folder", "files", f"name those in it: {os.path.join(name, '*.parquet')!r}")
        )
    return paths


# --- reading it ---


def pick_columns(titles: Sequence[str], columns: Sequence[str] | None, similarity: bool) -> list[str]:
    """Return the titles of the two ends and of the distance; refuse a table that has not all of them."""
    wanted = list(columns) if columns is not None else [*ENDS, VALUES[similarity]]
    if len(wanted) != 3 or any(name not in titles for name in wanted):
        raise ValueError(
            explain(
                f"An edge table with columns {', '.join(titles)}",
                f"columns {', '.join(map(str, wanted))}" if len(wanted) == 3 else "the names of three columns",
                "name the two ends and the distance with columns=(a, b, distance)",
            )
        )
    return wanted


def as_arrow(source: Any, columns: Sequence[str] | None, similarity: bool) -> Any:
    """Return an edge table in memory as something that databases read: an Arrow table, a dataset or a stream."""
    arrow = need("pyarrow", "sql")
    if isinstance(source, (str, os.PathLike)):
        return read_edge_file(source, (columns or ENDS)[:2])
    if hasattr(source, "count_rows") or isinstance(source, arrow.Table):
        return source
    if hasattr(source, "columns") and hasattr(source, "__arrow_c_stream__"):  # pandas, polars
        names = pick_columns([str(title) for title in source.columns], columns, similarity)
        return arrow.table(source[names])
    table = read_edges(source, columns, similarity)
    names = list(columns) if columns is not None else [*ENDS, VALUES[similarity]]
    try:
        return arrow.table(dict(zip(names, (table.a, table.b, np.asarray(table.value)), strict=True)))
    except arrow.ArrowInvalid as error:
        raise TypeError(
            explain(f"Objects of several types: {error}", "objects of one type", "write all of them as text")
        ) from None


def into_memory(source: Any, connection: Any) -> Any:
    """Return an edge table that lives elsewhere, or in several files, as an Arrow table; others as they are."""
    if isinstance(source, str) and connection is not None and not is_path(source):
        parts = [part.replace('"', '""') for part in source.split(".")]
        source = (
            connection.table(source)
            if is_spark(connection)
            else connection.sql("SELECT * FROM " + ".".join(f'"{part}"' for part in parts))
        )
    if is_spark(source):
        return source.toArrow()
    if is_duckdb(source):
        return source.to_arrow_table()
    if isinstance(source, (str, os.PathLike)) and has_magic(os.fspath(source)):
        return need("pyarrow.dataset", "sql").dataset(find_files(source), format="parquet").to_table()
    return source.to_table() if hasattr(source, "to_table") and hasattr(source, "count_rows") else source
