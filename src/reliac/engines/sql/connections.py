"""Where tables live: a DuckDB database or Parquet folders of Spark. Nothing else knows which of the two it is.

Tables made with ``make`` last for a level. Those made with ``keep`` and ``append``, and the state of the run, are there
for whoever comes after ``done``, and only then: a transaction of DuckDB, or a file of Spark that says which folders are
valid, written whole or not at all. What a killed run left half-written is never read.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...errors import explain, need
from ...files import write_atomically

#: How the names of our Parquet folders end; others are left alone.
ENDING = ".reliac"

#: A table of more folders than this is listed by a job of Spark; links are a folder for every level.
MANY_FOLDERS = 1000

#: What a run writes down with its tables.
State = dict[str, Any]


def quoted(name: str, mark: str = '"') -> str:
    """Return a name of a column or table as SQL writes it, whatever it holds. Marks of Spark are backticks."""
    return mark + name.replace(mark, 2 * mark) + mark


def is_ours(entry: str) -> bool:
    """Tell by its name whether a run in Spark has made what lies in its folder."""
    return entry.endswith(ENDING) or "state.json" in entry


class DuckDB:
    """Tables of a database that is attached to a connection: a file, or in memory and spilled when memory is short.

    ``folder`` is where tables are if they outlast this process, ``state`` what ``done`` was told last by whichever run,
    ``limit`` how many bytes the database may use here.
    """

    name = "DuckDB"

    def __init__(self, connection: Any, path: Path | None) -> None:
        self.folder, self.database = path, f"reliac_{uuid.uuid4().hex[:8]}"
        self.sql = connection.cursor()
        self.home, limit = self.value("SELECT current_database(), current_setting('memory_limit')")
        size, unit = limit.split()
        self.limit = float(size) * 2.0 ** {"KiB": 10, "MiB": 20, "GiB": 30}.get(unit, 40)
        place = str(path or ":memory:").replace("'", "''")
        self.sql.execute(f"ATTACH '{place}' AS {self.database}; USE {self.database}")
        self.sql.execute("CREATE TABLE IF NOT EXISTS state (text VARCHAR)")
        row = self.value("SELECT text FROM state")
        self.state: State = json.loads(row[0]) if row else {}
        self.sql.execute("BEGIN")

    def make(self, name: str, query: str) -> None:
        """Make a table for this level: a temporary one."""
        self.sql.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    remake = make  # a table that is made from itself, again and again

    def show(self, name: str, query: str) -> None:
        """Give a query a name, to be computed where it is read: a temporary view."""
        self.sql.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def keep(self, name: str, query: str) -> None:
        """Make, or replace, a table for the levels to come, in the attached database."""
        self.sql.execute(f"CREATE OR REPLACE TABLE {self.database}.{name} AS {query}")

    def append(self, name: str, query: str) -> None:
        """Add rows to a table that is kept."""
        self.sql.execute(f"INSERT INTO {self.database}.{name} {query}")

    def put(self, name: str, rows: Any) -> None:
        """Make a table for this level of an Arrow table."""
        self.sql.register("incoming_rows", rows)
        self.make(name, "SELECT * FROM incoming_rows")
        self.sql.unregister("incoming_rows")

    def value(self, query: str) -> tuple[Any, ...]:
        """Return the row of a query that has at most one; nothing if it has none."""
        return next(iter(self.sql.execute(query).fetchall()), ())

    def count(self, name: str) -> int:
        """Return the number of rows of a table that is kept."""
        return int(self.value(f"SELECT count(*) FROM {self.database}.{name}")[0])

    def fetch(self, query: str) -> Any:
        """Return all rows of a query as an Arrow table."""
        return self.frame(query).to_arrow_table()

    def frame(self, query: str) -> Any:
        """Return a query as the database's own frame, not computed yet: a relation."""
        return self.sql.sql(query)

    def done(self, state: State) -> None:
        """End a level: what was kept holds from now on, and what it replaces is removed."""
        self.sql.execute("CREATE OR REPLACE TABLE state AS SELECT ? AS text", [json.dumps(state)])
        self.sql.execute("COMMIT")
        self.state = dict(state)
        self.sql.execute("BEGIN")

    def close(self, remove: bool) -> None:
        """Leave the database; ``remove``: nothing that was kept is needed any more."""
        with suppress(need("duckdb", "sql").Error):  # a connection that is closed has left already
            self.sql.execute("ROLLBACK")
            self.sql.execute(f"USE {quoted(self.home)}")
            self.sql.execute(f"DETACH {self.database}")
            self.sql.close()
        if remove and self.folder:
            for path in (self.folder, self.folder.with_name(f"{self.folder.name}.wal")):
                path.unlink(missing_ok=True)


class Spark:
    """The same as Parquet folders that every worker can reach; tables of one level are computed when they are read.

    A worker that dies loses computed rows, and Spark computes them again from the folders of the level before.
    """

    name = "Spark"
    limit = math.inf  # nobody said: what the driver may fetch follows from its free memory

    def __init__(self, session: Any, path: Path | None) -> None:
        self.folder: Path | None = path
        self.place = Path(tempfile.mkdtemp(prefix="reliac-")) if path is None else path
        self.place.mkdir(exist_ok=True)
        self.session = session.newSession()  # its settings and the names of tables are ours
        self.session.conf.set("spark.sql.shuffle.partitions", max(2, session.sparkContext.defaultParallelism))
        self.session.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", MANY_FOLDERS)
        self.made: list[Any] = []
        mark = self.place / "state.json"
        self.state: State = json.loads(mark.read_text()) if mark.exists() else {}
        self.tables: dict[str, list[str]] = self.state.pop("tables", {})
        for name, folders in self.tables.items():
            self._show(name, folders, self.session.read)

    def make(self, name: str, query: str) -> None:
        """A view that is computed when it is first read, and then remembered."""
        self.made.append(self.frame(query).persist())
        self.made[-1].createOrReplaceTempView(name)

    def remake(self, name: str, query: str) -> None:
        """A new folder: a view would have the statements of all times before in it, twice as many every time."""
        self.copy(name, self.frame(query))

    def keep(self, name: str, query: str) -> None:
        """A new folder; the one before stays until the level is done."""
        self.tables[name] = self.copy(name, self.frame(query))

    def append(self, name: str, query: str) -> None:
        """One more folder of the table."""
        self.tables[name] = self.copy(name, self.frame(query), self.tables[name])

    def copy(self, name: str, frame: Any, before: Sequence[str] = ()) -> list[str]:
        """Write a frame, which may be one of the user's session, and show it as a table after the folders before it."""
        folders = [*before, f"{name}-{uuid.uuid4().hex[:12]}{ENDING}"]
        frame.write.parquet(str(self.place / folders[-1]))
        self._show(name, folders, self.session.read.schema(frame.schema))  # or a job would look into the files for it
        return folders

    def _show(self, name: str, folders: list[str], reader: Any) -> None:
        reader.parquet(*(str(self.place / folder) for folder in folders)).createOrReplaceTempView(name)

    def put(self, name: str, rows: Any) -> None:
        """A view of rows that the driver holds."""
        self.session.createDataFrame(rows).createOrReplaceTempView(name)

    def value(self, query: str) -> tuple[Any, ...]:
        """See :class:`DuckDB`."""
        return tuple(next(iter(self.frame(query).collect()), ()))

    def count(self, name: str) -> int:
        """Files know how many rows they have: no job is needed."""
        dataset = need("pyarrow.dataset", "spark").dataset
        return sum(dataset(str(self.place / folder)).count_rows() for folder in self.tables[name])

    def fetch(self, query: str) -> Any:
        """See :class:`DuckDB`."""
        return self.frame(query).toArrow()

    def frame(self, query: str) -> Any:
        """A DataFrame."""
        return self.session.sql(query)

    def done(self, state: State) -> None:
        """Write the mark, and remove folders that it does not name: of levels that are over, or half-written ones."""
        write_atomically(self.place / "state.json", json.dumps(state | {"tables": self.tables}))
        self.state = dict(state)
        while self.made:
            self.made.pop().unpersist()
        for path in self.place.glob(f"*{ENDING}"):
            if not any(path.name in folders for folders in self.tables.values()):
                shutil.rmtree(path, ignore_errors=True)

    def close(self, remove: bool) -> None:
        """Remove the folder, if it is not needed."""
        if remove:
            shutil.rmtree(self.place, ignore_errors=True)


#: What levels and results ask of a database is what the two have alike.
Tables = DuckDB | Spark


# --- what a database says, in our words ---

#: Words in the messages of databases, and what to do about what they say. The first that fits counts.
_STEPS = {
    "space left": "free some space on the disk",
    "temp_directory_size": "free some space on the disk, or raise max_temp_directory_size",
    "file too large": "free some space on the disk",
    "out of memory": "raise the memory limit, or give the database a temp_directory to spill to",
    "permission denied": "choose another file or folder, or change its mode",
    "already closed": "open the connection again",
    "shut down": "start a new SparkSession",
    "no files found": "check the name and the folder",
    "path does not exist": "check the name and the folder",
    "does not exist": "check the name of the table, and pass the connection that knows it",
    "could not set lock": "wait until the run that uses this file has ended, or give another file name",
    "not a valid duckdb": "give the name of a checkpoint, or of a file that does not exist yet",
}


@contextmanager
def explained(what: str, outlasts: bool) -> Iterator[None]:
    """Say in three parts what a database has to say; ``outlasts``: levels that are done are kept in a checkpoint."""
    try:
        yield
    except Exception as error:
        module = type(error).__module__.partition(".")[0]
        if module not in ("duckdb", "_duckdb", "pyspark", "py4j"):
            raise
        text = str(error)
        step = next((step for words, step in _STEPS.items() if words in text.lower()), "see what it says")
        later = "; the same call then goes on from the last level that was done" if outlasts else ""
        kind = OSError if isinstance(error, OSError) or step.startswith(("free", "choose")) else ValueError
        first = " ".join(text.partition("JVM stacktrace")[0].split())
        raise kind(explain(f"{what}: {first:.300}", "a database that can be read and written", step + later)) from error
