"""Edges on the command line: what --edges and the options beside it say, the table of --objects, and the run."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from ..api import cluster_edges
from ..engines.sql.opening import SQL, start_duckdb
from ..errors import explain
from ..input.numbers import is_sparse
from ..input.tables import is_parquet
from ..tree.clustertree import ClusterTree
from ..tree.exports import warn_if_repeated
from .columns import Choices, Table
from .options import AUTO, EDGES, Asked
from .reading import called, read_stream, read_table

#: Options about a table of vectors, which edges have no use for; the last two are about the table of --objects.
OF_VECTORS = (
    "neighbors",
    "metric",
    "precision",
    "standardize",
    "skip_column",
    "name_column",
    "label_column",
    "weights_column",
)
OF_OBJECTS = OF_VECTORS[-3:]


#: Options that --neighbors brings, or goes with.
OF_NEIGHBORS = ("neighbors", "join_components")


def in_database(asked: Asked) -> bool:
    """Tell whether edges are to be clustered by a database, which reads its files itself."""
    asked_for = asked.edges is not None and asked.engine == SQL
    if asked.memory_limit is not None and not asked_for:
        given = f"--memory-limit {asked.memory_limit} without --engine {SQL}"
        raise ValueError(explain(given, "a limit for edges in a database", f"add --engine {SQL}, or leave it out"))
    return asked_for and is_parquet(asked.file)


def cluster_in_database(asked: Asked, options: dict[str, Any]) -> ClusterTree:
    """Cluster Parquet files by DuckDB, without reading them here."""
    columns = None if asked.edges == AUTO else tuple(word.strip() for word in asked.edges.split(","))
    objects = _objects(asked)
    if objects is not None:
        options = {**options, "objects": objects.names, "weights": objects.weights}
    tree = cluster_edges(asked.file, columns=columns, **_limited(asked), **options)
    if isinstance(tree, ClusterTree):
        return tree
    given = f"A tree of {tree.n_objects} objects does not fit into memory"
    tree.close()
    raise MemoryError(explain(given, "a tree that fits", "use reliac.cluster_edges in Python, which gives a table"))


def _limited(asked: Asked) -> dict[str, Any]:
    """Return a connection with the limit on memory that was asked for."""
    if asked.memory_limit is None:
        return {}
    try:
        return {"connection": start_duckdb(asked.checkpoint, asked.memory_limit)}
    except ValueError as error:
        given = f"--memory-limit {asked.memory_limit}: {error}"
        raise ValueError(explain(given, "a size such as 500MB or 2GB", "write --memory-limit 2GB")) from None


def check_edges(asked: Asked) -> None:
    """Refuse options of graphs without --edges or --neighbors, and options of other tables with --edges."""
    if asked.edges is None:
        fitting = () if asked.neighbors is None else OF_NEIGHBORS
        given = [asked.typed(option) for option in asked.given(EDGES.options) if option.name not in fitting]
        if given:
            step = "add --edges if FILE lists pairs, or leave it out"
            raise ValueError(explain(f"{', '.join(given)} without --edges", "options of tables", step))
        return
    useless = [name for name in OF_VECTORS if getattr(asked, name) is not None]
    if asked.objects is not None:
        useless = [name for name in useless if name not in OF_OBJECTS]
    if useless:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in useless)
        about = "labels and weights are columns of the table that --objects names"
        step = "leave it out" if useless[0] not in OF_OBJECTS else "add --objects FILE"
        raise ValueError(explain(f"{flags} with --edges", f"options of graphs; {about}", step))


def cluster_asked_edges(asked: Asked, stream: BinaryIO, options: dict[str, Any]) -> tuple[ClusterTree, Table | None]:
    """Read the edges, and the objects if they are listed, and cluster; return the tree and the table of objects."""
    columns = () if asked.edges == AUTO else tuple(word.strip() for word in asked.edges.split(","))
    choices = Choices(header=asked.header, form="edges", edges=columns, similarity=bool(asked.similarity))
    table = read_stream(stream, asked.file, asked.format, choices)
    if table.are_distances:
        given = f"--edges with {called(asked.file)}, which holds distances of all pairs"
        raise ValueError(explain(given, "a table of edges, or a sparse matrix", "leave --edges out"))
    source, objects = table.numbers, _objects(asked)
    if objects is not None and is_sparse(source):
        given = f"--objects with {called(asked.file)}, a matrix whose rows are the objects"
        raise ValueError(explain(given, "--objects with a table of edges", "leave --objects out"))
    if objects is not None and objects.names is not None:
        source = (source[0].astype(np.str_), source[1].astype(np.str_), source[2])
        options = {**options, "objects": objects.names, "weights": objects.weights}
    tree = cluster_edges(source, **_limited(asked), **options)
    return tree if isinstance(tree, ClusterTree) else tree.to_tree(), objects


def _objects(asked: Asked) -> Table | None:
    """Return the table of --objects."""
    if asked.objects is None:
        return None
    choices = Choices(
        form="objects",
        name_column=asked.name_column,
        label_column=asked.label_column,
        weights_column=asked.weights_column,
    )
    table = read_table(asked.objects, None, choices)
    warn_if_repeated(table.names)
    return table
