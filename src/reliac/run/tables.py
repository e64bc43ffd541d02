"""A run in a database: from an edge table to a tree, or to a table of links where a tree would not fit."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.contract import Batch
from ..algorithm.criteria import Criterion, get_criterion
from ..engines.sql import home, reading
from ..engines.sql.connections import State, Tables, explained, is_ours
from ..engines.sql.levels import Run
from ..engines.sql.opening import open_database, open_table
from ..engines.sql.reading import Reading
from ..engines.sql.statements import Form
from ..errors import Interrupted, explain, known_name, need
from ..files import check_target, path_of
from ..input.edges import check_missing
from ..input.graph import check_far, refuse_points
from ..input.options import check_number, check_stop
from ..input.ordering import DUPLICATES
from ..input.overflow import check_sums
from ..input.tables import Place, as_arrow, is_duckdb, is_parquet, is_path, is_spark, pick_columns
from ..tree.clustertree import ClusterTree
from ..tree.treetable import TreeTable, tree_of_links
from .history import History, Progress
from .locking import Lock
from .outlook import Outlook
from .progress import make_reporter
from .reaching import check_reached


class Wanted(NamedTuple):
    """What a user wants of an edge table: the options of ``cluster_edges``."""

    criterion: Any
    missing: Any
    columns: Sequence[str] | None
    objects: Any
    similarity: bool
    duplicates: str
    alpha: Any
    n_clusters: Any
    max_level: Any
    max_distance: Any


def cluster_table(
    source: Any, place: Place, wanted: Wanted, connection: Any, checkpoint: Any, progress: Any
) -> ClusterTree | TreeTable:
    """Cluster an edge table where it lives; the options are those of :func:`reliac.cluster_edges`."""
    criterion = get_criterion(wanted.criterion)
    refuse_points(criterion)
    known_name("duplicates", wanted.duplicates, DUPLICATES)
    wanted = wanted._replace(
        criterion=criterion,
        missing=check_missing(wanted.missing),
        alpha=check_number("alpha", wanted.alpha, 0.0, 1.0, "give 1 for all reliable links, 0 for the smallest one"),
    )
    report, finish = make_reporter(progress)
    path, complete = _checked_path(checkpoint, place), False
    with _locked(path), explained(f"{place.name} cannot go on", path is not None):
        tables = open_database(place.name, source, connection, path)
        kept = False
        try:
            work = TableRun(tables, place, wanted, report)
            result = work.run(source, connection)
            kept = isinstance(result, TreeTable)
            complete = True
            return result
        finally:
            finish(complete)
            if not kept:
                tables.close(remove=complete or (path is None))


def _checked_path(checkpoint: Any, place: Place) -> Path | None:
    """Return where the tables of a run are kept; refuse what cannot be a file of DuckDB, or a folder of Spark."""
    if checkpoint is None:
        return None
    name = path_of(checkpoint)
    path = Path(name).absolute()
    if place.name == "DuckDB":
        check_target(path, "checkpoint ")
    elif "://" in name or not path.parent.is_dir() or (path.exists() and not path.is_dir()):
        raise FileNotFoundError(
            explain(
                f"checkpoint {name} cannot be a folder here",
                "a folder, or the name of a new one in a folder that exists, that the driver and all workers share",
                "make the folder around it, or mount the storage",
            )
        )
    elif path.exists() and not all(is_ours(entry.name) for entry in path.iterdir()):
        raise FileExistsError(
            explain(
                f"checkpoint {name} is a folder with other files",  # it is removed when the run is complete
                "a folder for this run alone",
                f"name a new folder, such as {path / 'run'}",
            )
        )
    return path


@contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Let nobody else use a checkpoint meanwhile."""
    if path is None:
        yield
        return
    lock = Lock(path)
    lock.take()
    try:
        yield
    finally:
        lock.give_back()


class TableRun:
    """One run in a database: what it reads, how far it is, what it leaves."""

    def __init__(self, tables: Tables, place: Place, wanted: Wanted, report: Any) -> None:
        self.tables, self.place, self.wanted, self.report = tables, place, wanted, report
        self.rest = History()  # links that were found at home
        self.note = ""

    def run(self, source: Any, connection: Any) -> ClusterTree | TreeTable:
        """Read the table, or go on from the levels that are there; develop all levels; return the tree."""
        tables = self.tables
        try:
            self._open(source, connection)
            run = Run(tables, self._form())
            if not self.state.get("begun"):
                reading.make_edges(tables, run.form)
                tables.done(self.state | {"begun": True})
            self._develop(run)
        except KeyboardInterrupt:
            if not self.state.get("begun"):
                raise
            raise Interrupted(self._tree()) from None
        result = self._result()
        check_reached(result, self.wanted.n_clusters)
        return result

    @property
    def state(self) -> State:
        """What the database knows of the run."""
        return self.tables.state

    # --- the beginning ---

    def _open(self, source: Any, connection: Any) -> None:
        """Open the edge table; read it, or compare it with the one that an earlier run has read."""
        tables, wanted = self.tables, self.wanted
        table = isinstance(source, str) and connection is not None and not is_path(source)
        if not (table or is_parquet(source) or is_duckdb(source) or is_spark(source)):
            source = as_arrow(source, wanted.columns, wanted.similarity)

        def pick(titles: Sequence[str]) -> dict[str, str]:
            return dict(zip("abv", pick_columns(titles, wanted.columns, wanted.similarity), strict=True))

        open_table(tables, "given", source, connection, pick)
        plan = Reading(wanted.similarity, wanted.duplicates, wanted.missing)
        plan = plan._replace(**self._list_objects(connection))
        stops = [str(stop) for stop in (wanted.n_clusters, wanted.max_level, wanted.max_distance)]
        options = [wanted.criterion.name, wanted.alpha, *plan, *stops]
        whole = reading.check_types(tables)
        told = tables.value(reading.facts(wanted.similarity))
        fingerprint = hashlib.sha256(json.dumps([options, [str(value) for value in told]]).encode()).hexdigest()
        if self.state and self.state["fingerprint"] != fingerprint:
            raise ValueError(
                explain(
                    f"The checkpoint {tables.folder} belongs to other data or options",
                    "the checkpoint of the same call, or a name that does not exist yet",
                    "give another name, or delete this one to start anew",
                )
            )
        if not self.state:
            known = reading.number_edges(tables, plan, whole, told)
            self.state.update(known, fingerprint=fingerprint)  # written down with the edges of level 0

    def _list_objects(self, connection: Any) -> dict[str, Any]:
        """Make ``listed(place, name)`` of the objects, if they were given; return how they are known."""
        objects, arrow = self.wanted.objects, need("pyarrow", "sql")
        if objects is None:
            return {}
        if isinstance(objects, range) and objects.start == 0 and objects.step == 1:
            return {"n": len(objects)}
        if isinstance(objects, str) or is_path(objects) or is_duckdb(objects) or is_spark(objects):
            table = objects
        elif hasattr(objects, "columns") or hasattr(objects, "count_rows"):
            table = arrow.table(objects) if not hasattr(objects, "count_rows") else objects
        else:
            names = arrow.array(np.asarray(objects).tolist())
            self.tables.put("listed", arrow.table({"place": np.arange(len(names)), "name": names}))
            self._check_listed()
            return {"listed": True}

        def pick(titles: Sequence[str]) -> dict[str, str]:
            if len(titles) != 1:
                raise ValueError(
                    explain(f"objects= with columns {', '.join(titles)}", "a table of one column", "pass one column")
                )
            return {"name": titles[0]}

        open_table(self.tables, "listed_names", table, connection, pick)
        self.tables.make("listed", "SELECT 0 AS place, name FROM listed_names")
        self._check_listed()
        return {"listed": True}

    def _check_listed(self) -> None:
        if self.tables.value("SELECT name FROM listed GROUP BY name HAVING count(*) > 1 LIMIT 1"):
            raise ValueError(explain("objects= lists an object twice", "every object once", "drop one of the two"))

    def _form(self) -> Form:
        """Return what statements depend on, after checks that need the data."""
        wanted, n, largest = self.wanted, int(self.state["n_objects"]), float(self.state["largest"])
        criterion: Criterion = wanted.criterion
        far: float | None = math.inf
        if wanted.missing == "ignore":
            far = None
        elif criterion.reduction is np.add:
            far = largest if wanted.missing == "far" else float(wanted.missing)
            check_far(wanted.missing, far, largest)
        if criterion.reduction is np.add:
            bound = largest if far is None else far
            check_sums(criterion, "precomputed", np.broadcast_to(np.float64(1.0), n), bound, "the largest edge")
        stop = check_stop(n, wanted.n_clusters, wanted.max_level, wanted.max_distance)
        return Form(criterion, far, float(wanted.alpha), stop)

    # --- the levels ---

    def _develop(self, run: Run) -> None:
        """Develop levels in the database until the rest fits here, then here."""
        self.outlook = Outlook(self.state["n_objects"], run.form.stop)
        for _ in run.levels(home.fits):
            self._tell(run)
        stop = run.form.stop
        if run.n_clusters <= stop.n_clusters or run.level >= stop.max_level or not home.fits(run):
            return
        before = run.level
        for batch in home.finish(run):
            self.rest.add(batch)
            self._tell(run)
        if not before:
            self.note = "all of it fitted into memory"
        elif self.rest.n_links:
            self.note = f"levels 1 to {before} there, the rest in memory"

    def _tell(self, run: Run) -> None:
        level, left = max(run.level, self.rest.last_level), run.n_clusters - self.rest.n_links
        share, seconds_left = self.outlook.look(left, level)
        n, target = self.state["n_objects"], run.form.stop.n_clusters
        self.report(Progress(level, left, n, target, self.outlook.seconds, 1.0, share, seconds_left))

    # --- the end ---

    def _result(self) -> ClusterTree | TreeTable:
        """Return the tree, or the table of links where that does not fit."""
        if home.tree_fits(self.tables, self.state["n_objects"]):
            return self._tree()
        if self.rest.n_links:
            self._append(self.rest.whole())
        return TreeTable(self.tables, self._parameters(), self.place.name, self._reason())

    def _append(self, batch: Batch) -> None:
        """Write links that were found here into the table."""
        columns = dict(zip(("p", "q", "distance"), batch.links, strict=True)) | {"level": batch.level}
        if batch.object_pairs is not None and len(batch.object_pairs):
            columns |= {"i": batch.object_pairs[:, 0], "j": batch.object_pairs[:, 1]}
        self.tables.put("rest", need("pyarrow", "sql").table(columns))
        self.tables.append("links", "SELECT * FROM rest")
        count = self.state["n_links"] + self.rest.n_links
        self.tables.done(self.state | {"level": self.rest.last_level, "n_links": count})
        self.rest = History()

    def _tree(self) -> ClusterTree:
        more = self.rest.whole() if self.rest.n_links else None
        return tree_of_links(self.tables, self._parameters(), f"sql ({self.place.name})", self._reason(), more)

    def _reason(self) -> str:
        return "; ".join(filter(None, (self.place.reason, f"{self.state['n_edges']} edges", self.note)))

    def _parameters(self) -> dict[str, Any]:
        wanted = self.wanted
        return {
            "criterion": wanted.criterion.name,
            "metric": "precomputed",
            "alpha": wanted.alpha,
            "tie_tolerance": 0.0,
            "missing": wanted.missing,
        }
