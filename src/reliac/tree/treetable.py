"""TreeTable: the result of a run in a database where a tree would not fit into memory. It stays where the data is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithm.contract import Batch
from ..calls import explain_methods
from ..engines.sql.connections import Tables
from ..engines.sql.levels import connect
from ..errors import explain, known_name
from ..files import path_of
from ..input.options import check_count, check_number
from .building import make_links
from .clustertree import ClusterTree, Order


@explain_methods
class TreeTable:
    """The links of a tree as a table in DuckDB or Spark: p, q, distance, level.

    ``p`` and ``q`` are the first objects of the two clusters that a link joins, as numbers of the table of objects.
    """

    problem = None  # the data is in the database

    def __init__(self, tables: Tables, parameters: Mapping[str, Any], engine: str, reason: str) -> None:
        self.tables, self.parameters, self.engine, self.reason = tables, dict(parameters), engine, reason

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return int(self.tables.state["n_objects"])

    @property
    def n_levels(self) -> int:
        """The number of steps of the algorithm."""
        return int(self.tables.state["level"])

    @property
    def n_clusters(self) -> int:
        """The number of clusters at the last level."""
        return self.n_objects - int(self.tables.state["n_links"])

    @property
    def links(self) -> Any:
        """The links, in level order, as a frame of the database."""
        return self.tables.frame("SELECT p, q, distance, level FROM links ORDER BY level, distance, p, q")

    @property
    def objects(self) -> Any:
        """The objects, as a frame of the database: ``i``, and ``name`` where they have names."""
        return self.tables.frame("SELECT * FROM objects ORDER BY i")

    def __repr__(self) -> str:
        """Say how large it is, and where."""
        return (
            f"TreeTable of {self.n_objects} objects: {self.n_levels} levels, {self.n_clusters} clusters at the last\n"
            f"  {', '.join(f'{name} {value}' for name, value in self.parameters.items())}\n"
            f"  engine sql ({self.engine}: {self.reason}), in {self.tables.folder or 'memory'}"
        )

    def labels(
        self,
        n_clusters: int | None = None,
        *,
        level: int | None = None,
        distance: float | None = None,
        by: Order = "distance",
    ) -> Any:
        """Return a frame of the database: every object, and its cluster, numbered by each cluster's first object.

        The options are those of :meth:`ClusterTree.labels`; the clusters are computed where the table is.
        """
        tables = self.tables
        tables.make("tied", f"SELECT p, q FROM ({self._kept(n_clusters, level, distance, by)}) AS kept")
        tables.make("groups", "SELECT i, i AS g FROM objects")
        connect(tables)
        tables.make(
            "numbers", "SELECT g, CAST(row_number() OVER (ORDER BY g) - 1 AS BIGINT) AS cluster FROM groups WHERE i = g"
        )
        name = "name" if self.tables.state["named"] else "i"
        return tables.frame(
            f"SELECT o.{name} AS object, n.cluster FROM objects AS o JOIN groups AS x ON o.i = x.i "
            "JOIN numbers AS n ON x.g = n.g ORDER BY o.i"
        )

    def _kept(self, n_clusters: int | None, level: int | None, distance: float | None, by: str) -> str:
        """The links that a cut keeps; see :func:`reliac.tree.cuts.labels`."""
        if sum(value is not None for value in (n_clusters, level, distance)) > 1:
            raise ValueError(
                explain("labels() got several cuts", "one of n_clusters, level, distance", "drop all but one")
            )
        known_name("order", by, ["distance", "level"])
        if n_clusters is not None:
            step = "ask for a number in this range"
            count = self.n_objects - check_count("n_clusters", n_clusters, self.n_clusters, self.n_objects, step)
            order = "distance, level" if by == "distance" else "level, distance"
            return f"SELECT * FROM links ORDER BY {order}, p, q LIMIT {count}"
        if level is not None:
            last = check_count("level", level, 0, self.n_levels, "count from 0, the single objects, to n_levels")
            return f"SELECT * FROM links WHERE level <= {last}"
        if distance is not None:
            step = "give the distance above which joins are undone"
            most = check_number("distance", distance, 0.0, np.inf, step)
            return f"SELECT * FROM links WHERE distance <= CAST('{most!r}' AS DOUBLE)"
        return "SELECT * FROM links"

    def to_tree(self) -> ClusterTree:
        """Fetch everything, as a tree in memory."""
        return tree_of_links(self.tables, self.parameters, f"sql ({self.engine})", self.reason)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a folder: ``links`` and ``objects`` as Parquet files, and what else is known as ``tree.json``."""
        folder = Path(path_of(path))
        if folder.exists():
            raise FileExistsError(
                explain(f"{folder} is there already", "the name of a new folder", "choose another name, or remove it")
            )
        folder.mkdir()
        for name, frame in (("links", self.links), ("objects", self.objects)):
            target = str(folder / f"{name}.parquet")
            frame.write_parquet(target) if hasattr(frame, "write_parquet") else frame.write.parquet(target)
        header = {"n_objects": self.n_objects, "n_levels": self.n_levels, "parameters": self.parameters}
        (folder / "tree.json").write_text(json.dumps(header | {"engine": self.engine, "reason": self.reason}))

    def close(self) -> None:
        """Leave the database. Without a checkpoint the table is gone then."""
        self.tables.close(remove=self.tables.folder is None)


def tree_of_links(
    tables: Tables, parameters: Mapping[str, Any], engine: str, reason: str, more: Batch | None = None
) -> ClusterTree:
    """Fetch the links and objects of a database, and make a tree of them; ``more``: links that come after these."""
    n, named = int(tables.state["n_objects"]), bool(tables.state["named"])
    links = tables.fetch("SELECT * FROM links ORDER BY level, distance, p, q")
    p, q, distance, level = (links[name].to_numpy() for name in ("p", "q", "distance", "level"))
    pairs = np.column_stack([links[name].to_numpy() for name in "ij"]) if "i" in links.column_names else None
    if more is not None:
        p, q, distance = (np.concatenate(two) for two in zip((p, q, distance), more.links, strict=True))
        level = np.concatenate((level, more.level))
        if pairs is not None and more.object_pairs is not None:
            pairs = np.concatenate((pairs, more.object_pairs))
    objects = tables.fetch("SELECT * FROM objects ORDER BY i")
    ids = objects["i"].to_numpy()
    names = np.array([str(name) for name in objects["name"].to_pylist()], np.str_) if named else None
    if not named and (ids[0] != 0 or ids[-1] != n - 1):  # numbers with gaps are names
        names = ids.astype(np.str_)
        p, q = np.searchsorted(ids, p), np.searchsorted(ids, q)
        pairs = None if pairs is None else np.searchsorted(ids, pairs)
    return ClusterTree(
        n_objects=n,
        links=make_links(n, p, q, distance, level),
        names=names,
        objects=np.arange(n),
        weights=np.ones(n),
        object_pairs=pairs,
        parameters=parameters,
        engine=engine,
        reason=reason,
    )
