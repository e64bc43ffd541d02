"""Opening: a database for a run, and the user's edge table in it."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...errors import explain, need
from ...input.tables import find_files, is_duckdb, is_path, is_spark
from .connections import DuckDB, Spark, Tables, quoted

#: What users call this engine.
SQL = "sql"

#: Of titles those that are wanted: new name -> title.
Pick = Callable[[Sequence[str]], dict[str, str]]


def open_database(name: str, source: Any, connection: Any, path: Path | None) -> Tables:
    """Open the database of a run: that of the user, or one that is started here."""
    if name == "DuckDB":
        return DuckDB(connection if is_duckdb(connection) else start_duckdb(path), path)
    session = connection if is_spark(connection) else None
    if is_spark(source):
        session = source.sparkSession
    if session is None:
        session = start_spark(str(connection))
    if path is None and not session.sparkContext.master.startswith("local"):
        raise ValueError(
            explain(
                f"Spark at {session.sparkContext.master} without a checkpoint",
                "a folder that the driver and every worker can read and write",
                "name one with checkpoint=: the tables of a run are kept there",
            )
        )
    return Spark(session, path)


def start_duckdb(path: str | Path | None, memory_limit: str | None = None) -> Any:
    """Start DuckDB in this process; what does not fit into memory goes to a folder beside the checkpoint."""
    spill = f"{path}.tmp" if path else os.path.join(tempfile.gettempdir(), f"reliac-{uuid.uuid4().hex[:8]}.tmp")
    config = {"temp_directory": spill, "preserve_insertion_order": "false"}
    duckdb = need("duckdb", "sql")
    try:
        return duckdb.connect(":memory:", config=config | ({"memory_limit": memory_limit} if memory_limit else {}))
    except duckdb.Error as error:
        raise ValueError(str(error)) from None


def start_spark(master: str) -> Any:
    """Start a session of Spark at a master."""
    sql = need("pyspark.sql", "spark")
    try:
        return sql.SparkSession.builder.master(master).appName("reliac").getOrCreate()
    except Exception as error:
        if "JAVA" not in str(error):
            raise
        raise OSError(
            explain(
                "Spark could not be started: it found no Java",
                "Java 17 or newer, in JAVA_HOME or on the path",
                "install it (Debian: apt-get install openjdk-17-jre-headless), or use DuckDB: leave connection out",
            )
        ) from None


def open_table(tables: Tables, name: str, source: Any, connection: Any, pick: Pick) -> None:
    """Make a table of some columns of what the user has: files, a table or frame of the database, an Arrow table."""
    if isinstance(tables, Spark):
        _open_in_spark(tables, name, source, connection, pick)
    elif isinstance(tables, DuckDB):
        _open_in_duckdb(tables, name, source, connection, pick)


def _open_in_duckdb(tables: DuckDB, name: str, source: Any, connection: Any, pick: Pick) -> None:
    arrow = need("pyarrow", "sql")
    make = tables.show
    if is_path(source):
        paths = ", ".join("'" + path.replace("'", "''") + "'" for path in find_files(source))
        rows = f"read_parquet([{paths}])"
    else:
        if isinstance(source, str):
            parts = ".".join(quoted(part) for part in source.split("."))
            source = connection.sql(f"SELECT * FROM {parts}")
        if is_duckdb(source):  # a stream of another connection can be read once
            source, make = arrow.RecordBatchReader.from_stream(source), tables.make
        rows = f"rows_of_{name}"
        tables.sql.register(rows, source)
    titles = tables.frame(f"SELECT * FROM {rows} LIMIT 0").columns if is_path(source) else source.schema.names
    columns = ", ".join(f"{quoted(title)} AS {new}" for new, title in pick(titles).items())
    make(name, f"SELECT {columns} FROM {rows}")


def _open_in_spark(tables: Spark, name: str, source: Any, connection: Any, pick: Pick) -> None:
    if is_path(source):
        frame = tables.session.read.parquet(*find_files(source))
    elif isinstance(source, str):
        frame = connection.table(source)
    elif is_spark(source):
        frame = source
    else:
        frame = tables.session.createDataFrame(source.to_table() if hasattr(source, "to_table") else source)
    functions = need("pyspark.sql.functions", "spark")
    chosen = [functions.col(quoted(title, "`")).alias(new) for new, title in pick(frame.columns).items()]
    tables.copy(name, frame.select(*chosen))
