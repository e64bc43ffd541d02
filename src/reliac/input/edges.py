"""Edge tables: whatever lists pairs of objects and their distances becomes a :class:`~reliac.input.graph.Graph`."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, known_name, shown, unknown_name
from ..machine import check_memory
from .edgefiles import read_edge_file
from .graph import MISSING, Graph, number_ends
from .halves import upper_half
from .misreadings import is_graph
from .numbers import Names, check_unmasked, is_missing, is_sparse
from .options import check_number
from .ordering import DUPLICATES, in_order

logger = logging.getLogger("reliac")

#: Titles that are understood where columns are not named.
ENDS, VALUES = ("a", "b"), {False: "distance", True: "similarity"}

#: Objects are numbered in four bytes.
MOST_OBJECTS = 2**31 - 1

#: What reading a graph takes, at least; the engine that is chosen is asked later what it needs.
BYTES_OF_OBJECT, BYTES_OF_EDGE = 24, 40

#: Attributes of a networkx edge that are read as its distance, the first that is there.
ATTRIBUTES = ("distance", "weight")


class EdgeTable(NamedTuple):
    """Three columns as a user gave them, and the objects if these are known."""

    a: NDArray[Any]
    b: NDArray[Any]
    value: NDArray[Any]
    objects: Any = None


def make_graph(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    objects: Any = None,
    similarity: bool = False,
    duplicates: str = "error",
    missing: float | str = "far",
) -> Graph:
    """Check an edge table from any source, and return it as a graph; the options are those of ``cluster_edges``."""
    missing = check_missing(missing)
    known_name("duplicates", duplicates, DUPLICATES)
    table = read_edges(source, columns, similarity)
    value = _check_values(table, similarity)
    p, q, names, n = number_objects(table, table.objects if objects is None else objects)
    if not n:
        raise ValueError(explain("An edge table without a row", "one edge or more", "list the objects with objects="))
    loops = p == q
    if loops.any():
        logger.warning("%d edges from an object to itself were dropped", int(loops.sum()))
        p, q, value = p[~loops], q[~loops], value[~loops]
    check_size(n, len(p))
    p, q = np.ascontiguousarray(p, np.int32), np.ascontiguousarray(q, np.int32)  # half the memory
    put_in_order = partial(in_order, p, q, np.ascontiguousarray(value), n, duplicates, names)
    own = isinstance(source, tuple) and all(a is b for a, b in zip(source, put_in_order.args, strict=False))
    del p, q, value
    graph = Graph(*put_in_order(), missing=missing, names=names)
    if own and graph.ends is not put_in_order.args[1]:  # the tree keeps the user's arrays instead of a sorted copy
        graph.make_again_by(put_in_order)
    return graph


def check_missing(missing: Any) -> float | str:
    """Return what pairs without an edge mean: one of the words, or a distance."""
    if isinstance(missing, str):
        if missing not in MISSING:
            raise ValueError(unknown_name("missing", missing, MISSING))
        return missing
    return check_number("missing", missing, 0.0, np.inf, "give the distance of pairs without an edge")


def check_titles(columns: Any) -> Sequence[str] | None:
    """Return the titles of the two ends and the distance as they were given, or None."""
    listed = isinstance(columns, (list, tuple)) and len(columns) == 3 and all(isinstance(one, str) for one in columns)
    if columns is None or listed:
        return columns  # type: ignore[no-any-return]
    step = "name the two ends and the distance, as columns=('a', 'b', 'distance')"
    raise TypeError(explain(f"columns={shown(columns)}", "the names of three columns", step))


# --- from where ---


def read_edges(source: Any, columns: Sequence[str] | None, similarity: bool) -> EdgeTable:
    """Return the columns of an edge table: arrays, a frame, an Arrow table, a sparse matrix, a graph, or a file."""
    if is_sparse(source):
        return _from_sparse(source)
    if is_graph(source):
        return _from_networkx(source)
    if isinstance(source, (str, os.PathLike)):
        source = read_edge_file(source, ENDS if columns is None else columns[:2])
    if hasattr(source, "collect"):
        given = f"An edge table that is not computed yet ({type(source).__name__})"
        raise TypeError(explain(given, "a frame, or an Arrow table", "collect it first, with .collect()"))
    titles = getattr(source, "column_names", None) or getattr(source, "columns", None)
    if titles is not None:
        return _from_frame(source, [str(title) for title in titles], columns, similarity)
    return _from_arrays(source)


def _from_sparse(matrix: Any) -> EdgeTable:
    """Return the stored entries of a square sparse matrix; an entry of zero that is stored is a distance of zero."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            explain(
                f"A sparse matrix of shape {matrix.shape} as a graph",
                "a square one: entry (i, j) is the distance of objects i and j",
                "leave metric='precomputed' out if the rows are vectors",
            )
        )
    try:
        half = upper_half(matrix)
        if half is not None:
            return EdgeTable(*half, range(matrix.shape[0]))
        coo = matrix.tocoo()
    except ValueError as error:  # indices out of range, where SciPy has not looked before
        given = f"A sparse matrix of shape {matrix.shape} that contradicts itself: {error}"
        raise ValueError(explain(given, "entries inside the matrix", "make the matrix again")) from None
    return EdgeTable(coo.row, coo.col, coo.data, range(matrix.shape[0]))


def _from_networkx(graph: Any) -> EdgeTable:
    """Return the edges of a networkx graph, with the attribute ``distance`` or else ``weight``."""
    if graph.is_directed():
        raise ValueError(
            explain("A directed graph", "an undirected one", "pass graph.to_undirected(), or an edge table")
        )
    edges = list(graph.edges(data=True))
    found = [name for name in ATTRIBUTES if edges and name in edges[0][2]]
    if edges and not found:
        raise ValueError(
            explain(
                f"Edges without distances: the first has the attributes {sorted(edges[0][2])}",
                "edges with an attribute 'distance' or 'weight'",
                "set one of them",
            )
        )
    value = np.array([data.get(found[0], np.nan) for _, _, data in edges] if edges else [], np.float64)
    ends = [[edge[side] for edge in edges] for side in range(2)]
    return EdgeTable(_as_labels(ends[0]), _as_labels(ends[1]), value, list(graph.nodes))


def _as_labels(values: list[Any]) -> NDArray[Any]:
    """Return labels as an array, objects where they are of several types."""
    kinds = {type(value) for value in values}
    if kinds <= {int} or kinds <= {str}:
        return np.array(values)
    labels = np.empty(len(values), object)
    labels[:] = values
    return labels


def _from_frame(frame: Any, titles: list[str], columns: Sequence[str] | None, similarity: bool) -> EdgeTable:
    """Return three columns of a frame or an Arrow table, by their names."""
    wanted = list(columns) if columns is not None else [*ENDS, VALUES[similarity]]
    if len(wanted) != 3 or any(titles.count(name) != 1 for name in wanted):
        raise ValueError(
            explain(
                f"An edge table with columns {', '.join(titles)}",
                f"columns {', '.join(wanted)}" if len(wanted) == 3 else "the names of three columns",
                "name the two ends and the distance with columns=(a, b, distance)",
            )
        )
    return EdgeTable(*(_column(frame[name]) for name in wanted))


def _column(column: Any) -> NDArray[Any]:
    """Return a column of a frame as an array; a missing value becomes NaN or None."""
    return np.asarray(column.to_numpy())


def _given_column(column: Any) -> NDArray[Any]:
    """Return a column that was given as such; labels of several numbers or texts each stay whole."""
    check_unmasked(column)
    if isinstance(column, list) and any(isinstance(label, tuple) for label in column):
        return _as_labels(column)
    return np.asarray(column)


def _from_arrays(source: Any) -> EdgeTable:
    """Return three arrays of the same length, or the columns of one array."""
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.shape[1] == 3:
        ends = source[:, :2]
        if source.dtype.kind == "f" and (ends == np.floor(ends)).all():
            ends = ends.astype(np.int64)
        return EdgeTable(ends[:, 0], ends[:, 1], source[:, 2])
    if isinstance(source, list):  # a list of edges; three arrays come as a tuple
        source = _columns_of(source)
    if isinstance(source, tuple) and len(source) == 3:
        a, b, value = (_given_column(column) for column in source)
        if a.ndim == b.ndim == value.ndim == 1 and len(a) == len(b) == len(value):
            return EdgeTable(a, b, value)
    raise TypeError(
        explain(
            f"An edge table as {type(source).__name__}",
            "three arrays (a, b, distance) of one length, a frame, an Arrow table, a file, a sparse matrix or a graph",
            "pass (a, b, distance)",
        )
    )


def _columns_of(edges: list[Any]) -> Any:
    """Turn a list of edges (a, b, distance) into three columns; what may be three columns itself is refused."""
    rows = [tuple(edge) for edge in edges if isinstance(edge, (tuple, list)) or getattr(edge, "ndim", 0) == 1]
    if not edges:
        return (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    if len(rows) != len(edges) or any(len(row) != 3 for row in rows):
        return edges
    if len(edges) == 3 and not all(isinstance(edge, tuple) for edge in edges):
        raise ValueError(
            explain(
                "A list of three lists of three: three edges, or the three columns of three edges?",
                "a tuple of three columns, or a list of tuples (a, b, distance)",
                "write tuple(edges) if these are columns, [tuple(edge) for edge in edges] if they are edges",
            )
        )
    a, b, value = zip(*rows, strict=True)
    return _as_labels(list(a)), _as_labels(list(b)), np.array(value)


# --- checks ---


def _check_values(table: EdgeTable, similarity: bool) -> NDArray[Any]:
    """Return distances as floats; similarities become the largest of them minus each."""
    value = np.asarray(table.value)
    if value.dtype.kind not in "fiub":
        value = np.array([_as_number(item, row, VALUES[similarity]) for row, item in enumerate(value.tolist())], float)
    value = value if value.dtype in (np.float32, np.float64) else value.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(value))
    if not len(bad) and not similarity:
        bad = np.flatnonzero(value < 0)
    if len(bad):
        row = int(bad[0])
        raise ValueError(
            explain(
                f"Row {row} of the edge table has the {VALUES[similarity]} {value[row]}",
                "finite numbers" if similarity else "finite numbers of at least 0",
                "drop the row: a pair that is not listed needs no number",
            )
        )
    return value.max(initial=0.0) - value if similarity else value


def _as_number(value: Any, row: int, what: str) -> float:
    """Return what a row says as a number; what is missing becomes NaN, and is told with its row."""
    if is_missing(value):
        return np.nan
    if not isinstance(value, (str, bytes)):
        with suppress(TypeError, ValueError):
            return float(value)
    raise TypeError(
        explain(
            f"Row {row} of the edge table has the {what} {shown(value, 40)}",
            "numbers",
            "correct the row, or name another column with columns=(a, b, number)",
        )
    )


def number_objects(table: EdgeTable, objects: Any) -> tuple[NDArray[Any], NDArray[Any], Names | None, int]:
    """Number the objects at the ends of edges; return the ends as numbers, the objects' names and their count."""
    for side, ends in enumerate((table.a, table.b)):
        empty = np.flatnonzero(_are_missing(ends))
        if len(empty):
            raise ValueError(
                explain(
                    f"Row {int(empty[0])} of the edge table has no {('first', 'second')[side]} object",
                    "two objects for every edge",
                    "drop the row",
                )
            )
    if isinstance(objects, (str, bytes)) or not (objects is None or hasattr(objects, "__iter__")):
        given = f"objects={shown(objects, 40)}"
        raise TypeError(explain(given, "a list of all objects", "list them, or pass range(n) for 0 to n - 1"))
    if hasattr(objects, "__len__"):
        check_size(len(objects), len(table.a))
    table = table._replace(a=_without_fractions(table.a), b=_without_fractions(table.b))
    if table.a.dtype.kind in "iu" and table.b.dtype.kind in "iu":
        return _number_integers(table, objects)
    return _number_labels(table, objects)


def check_size(n: int, m: int) -> None:
    """Refuse more objects than can be numbered, or than there is memory for, before anything of that size is made."""
    what, step = f"A graph of {n} objects and {m} edges", "cluster the components one by one, or fewer objects"
    if n > MOST_OBJECTS:
        raise ValueError(explain(what, f"at most {MOST_OBJECTS} objects", step))
    check_memory(BYTES_OF_OBJECT * n + BYTES_OF_EDGE * m, what, step)


def _without_fractions(ends: NDArray[Any]) -> NDArray[Any]:
    """Return objects that are whole numbers in a column of floats, as frames have them, as integers."""
    if ends.dtype == np.uint64 and len(ends) and ends.max() > np.iinfo(np.int64).max:
        return ends.astype(object)  # names, not numbers of objects
    whole = ends.dtype.kind == "f" and np.isfinite(ends).all() and (ends == np.floor(ends)).all()
    return ends.astype(np.int64) if whole and np.abs(ends).max(initial=0.0) < 2**53 else ends


def _are_missing(ends: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell where nothing stands; an empty text is nothing too."""
    if ends.dtype.kind == "U":
        return np.asarray(np.char.str_len(ends) == 0)
    if ends.dtype.kind in "mM":
        return np.asarray(np.isnat(ends))
    if ends.dtype.kind == "f":
        return np.asarray(np.isnan(ends))
    if ends.dtype.kind == "O":
        return np.array([is_missing(end) for end in ends.tolist()], dtype=bool)
    return np.zeros(len(ends), dtype=bool)


def _number_integers(table: EdgeTable, objects: Any) -> tuple[NDArray[Any], NDArray[Any], Names | None, int]:
    """Take whole numbers as they are where they count the objects; others are names."""
    a, b = table.a, table.b
    if isinstance(objects, range) and objects.start == 0 and objects.step == 1:
        for end in (a, b):
            if end.min(initial=0) < 0 or end.max(initial=0) >= max(1, len(objects)):
                row = int(np.flatnonzero((end < 0) | (end >= len(objects)))[0])
                given = f"Row {row} of the edge table names object {end[row]}, and there are {len(objects)}"
                step = "correct the row, or list all objects with objects="
                raise ValueError(explain(given, f"objects from 0 to {len(objects) - 1}", step))
        return a, b, None, len(objects)
    if objects is None:
        every, p, q = number_ends(a, b)
        return p, q, None if p is a else every.astype(np.str_), len(every)
    return _number_labels(table, objects)


def _number_labels(table: EdgeTable, objects: Any) -> tuple[NDArray[Any], NDArray[Any], Names | None, int]:
    """Number labels of any type in the order of ``objects``, or in their own order."""
    ends = [table.a.tolist(), table.b.tolist()]
    if objects is None:
        seen = set(ends[0]) | set(ends[1])
        listed = sorted(seen, key=lambda label: (str(type(label)), label))
    else:
        listed = objects.tolist() if isinstance(objects, np.ndarray) else list(objects)
    number = {label: place for place, label in enumerate(listed)}
    if len(number) != len(listed):
        places = {label: place for place, label in reversed(list(enumerate(listed)))}
        twice = next(label for place, label in enumerate(listed) if places[label] != place)
        raise ValueError(explain(f"objects= lists {twice!r} twice", "every object once", "drop one of the two"))
    for side in range(2):
        unknown = next((row for row, label in enumerate(ends[side]) if label not in number), None)
        if unknown is not None:
            raise ValueError(
                explain(
                    f"Row {unknown} of the edge table names {ends[side][unknown]!r}",
                    "the objects in objects=",
                    "add it there, or leave objects= out",
                )
            )
    p, q = (np.array([number[label] for label in side], np.int64) for side in ends)
    return p, q, np.array([str(label) for label in listed], np.str_), len(listed)
