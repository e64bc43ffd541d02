"""An edge table in a database becomes the edges of level 0; what is wrong with it is said with an example."""

from __future__ import annotations

import logging
import math
from typing import Any, NamedTuple

from ...errors import explain, option
from . import statements as sql
from .connections import State, Tables
from .statements import Form, number

logger = logging.getLogger("reliac")

#: What settles two different distances of one pair.
SETTLED = {"error": "min(d)", "min": "min(d)", "max": "max(d)", "mean": "sum(d) / count(*)"}


class Reading(NamedTuple):
    """How an edge table is read; the options are those of ``cluster_edges``."""

    similarity: bool
    duplicates: str
    missing: float | str
    n: int | None = None  # objects are 0 to n - 1
    listed: bool = False  # ``listed(place, name)`` holds all objects


# --- statements ---


def given(columns: list[str], source: str) -> str:
    """``given(a, b, v)``: the three columns of an edge table, by their quoted names."""
    a, b, v = columns
    return f"SELECT {a} AS a, {b} AS b, {v} AS v FROM {source}"


#: One row that tells this table from others, most likely.
FINGERPRINT = "SELECT count(*), min(a), max(a), min(b), max(b), min(v), max(v) FROM given"


def bad_row(similarity: bool) -> str:
    """A row that has no end, or no finite distance of at least 0."""
    value = "CAST(v AS DOUBLE)"
    negative = "" if similarity else f" OR {value} < 0"
    wrong = f"isnan({value}) OR abs({value}) = {number(math.inf)}{negative}"
    return f"SELECT a, b, v FROM given WHERE a IS NULL OR b IS NULL OR v IS NULL OR {wrong} LIMIT 1"


#: Every object that an edge names.
ENDS = "SELECT a AS name FROM given UNION SELECT b AS name FROM given"

#: ``objects(i, name)``: the objects in the order of their names, numbered from 0.
NUMBERED = f"SELECT CAST(row_number() OVER (ORDER BY name) - 1 AS BIGINT) AS i, name FROM ({ENDS}) AS ends"

#: ``objects(i, name)``: the objects that are listed, in their order.
LISTED = "SELECT CAST(row_number() OVER (ORDER BY place, name) - 1 AS BIGINT) AS i, name FROM listed"

#: ``objects(i)``: whole numbers are their own numbers.
NUMBERS = f"SELECT CAST(name AS BIGINT) AS i FROM ({ENDS}) AS ends"


def counted(n: int) -> str:
    """``objects(i)``: 0 to n - 1."""
    return f"SELECT CAST(i AS BIGINT) AS i FROM range({n}) AS counted(i)"


def named_ends(key: str) -> str:
    """Edges, and the numbers of their objects: NULL for one that is not known. ``key``: what objects go by."""
    return f"""
        SELECT a.i AS p, b.i AS q, g.v, g.a, g.b FROM given AS g
        LEFT JOIN objects AS a ON g.a = a.{key} LEFT JOIN objects AS b ON g.b = b.{key}"""


#: Edges whose objects are whole numbers.
NUMBERS_AS_ENDS = "SELECT CAST(a AS BIGINT) AS p, CAST(b AS BIGINT) AS q, v FROM given"


def unknown_object(key: str) -> str:
    """An edge that names an object that is not listed, and whether it is the first one."""
    return f"SELECT a, b, p IS NULL FROM ({named_ends(key)}) AS numbered WHERE p IS NULL OR q IS NULL LIMIT 1"


def pairs(numbered: str, similarity: bool, duplicates: str) -> str:
    """``pairs(p, q, d, e)``: every pair once, p < q, with its distance, and the largest that was given for it.

    Similarities become the largest of all minus each.
    """
    d = "(SELECT max(v) FROM given) - v" if similarity else "v"
    return f"""
        SELECT least(p, q) AS p, greatest(p, q) AS q, {SETTLED[duplicates]} AS d, max(d) AS e
        FROM (SELECT p, q, CAST({d} AS DOUBLE) AS d FROM ({numbered}) AS numbered) AS measured
        WHERE p <> q GROUP BY least(p, q), greatest(p, q)"""


#: A pair with two distances.
DIFFERENT = "SELECT p, q, d, e FROM pairs WHERE d < e LIMIT 1"

#: One row: the number of pairs, the largest distance, the number of edges from an object to itself, and of objects.
SIZES = """
    SELECT (SELECT count(*) FROM pairs), (SELECT max(d) FROM pairs), (SELECT count(*) FROM given WHERE a = b),
           (SELECT count(*) FROM objects)"""

#: ``joined(i, g, n)`` of level 0: every object is a cluster of its own, and counts once.
FIRST_CLUSTERS = "SELECT i, i AS g, CAST(1 AS DOUBLE) AS n FROM objects"


def first_edges(form: Form) -> str:
    """``edges`` of level 0."""
    if form.smallest:
        return "SELECT p, q, d, p AS i, q AS j FROM pairs"
    one = "CAST(1 AS DOUBLE)"
    return sql.with_distances(form, f"SELECT p, q, d AS s, {one} AS c, {one} AS w FROM pairs")


def no_links(form: Form) -> str:
    """``links``, still empty."""
    more = ", p AS i, q AS j" if form.smallest else ""
    return f"SELECT p, q, d AS distance, p AS level{more} FROM pairs WHERE p < 0 AND p > 0"


# --- reading ---


def number_edges(tables: Tables, reading: Reading) -> State:
    """Check ``given``, make ``objects`` and ``pairs`` of it, and return what is known of them."""
    whole = _check_types(tables.fetch("SELECT * FROM given LIMIT 0").schema)
    _check_rows(tables, reading.similarity)
    named, counts = not whole or reading.listed, whole and reading.n is not None
    if named:
        tables.keep("objects", LISTED if reading.listed else NUMBERED)
    else:
        tables.keep("objects", counted(reading.n) if reading.n is not None else NUMBERS)
    key = "name" if named else "i"
    unknown = tables.value(unknown_object(key)) if reading.listed or counts else None
    if unknown:
        name = unknown[0] if unknown[2] else unknown[1]
        raise ValueError(
            explain(f"An edge names {name!r}", "the objects in objects=", "add it there, or leave objects= out")
        )
    numbered = named_ends(key) if named else NUMBERS_AS_ENDS
    tables.make("pairs", pairs(numbered, reading.similarity, reading.duplicates))
    _check_pairs(tables, reading.duplicates, named)
    n_edges, largest, loops, n = tables.value(SIZES)
    if not n:
        raise ValueError(explain("An edge table without a row", "one edge or more", "list the objects with objects="))
    if loops:
        logger.warning("%d edges from an object to itself were dropped", loops)
    return {"n_objects": n, "n_edges": n_edges, "largest": largest or 0.0, "named": named, "level": 0, "n_links": 0}


def make_edges(tables: Tables, form: Form) -> None:
    """Make the tables of level 0."""
    tables.keep("edges", first_edges(form))
    if form.weighed:
        tables.keep("joined", FIRST_CLUSTERS)
    tables.keep("links", no_links(form))


def _check_types(schema: Any) -> bool:
    """Tell whether the ends are whole numbers; refuse ends of two types, and distances that are no numbers."""
    from pyarrow import types

    kinds = [schema.field(name).type for name in "abv"]
    kinds = [kind.value_type if types.is_dictionary(kind) else kind for kind in kinds]
    whole = [types.is_integer(kind) and not types.is_uint64(kind) for kind in kinds[:2]]
    if kinds[0] != kinds[1] and not all(whole):
        raise ValueError(
            explain(
                f"The two ends of edges are of different types, {kinds[0]} and {kinds[1]}",
                "two columns of one type",
                "cast one of them",
            )
        )
    value = kinds[2]
    if not (types.is_integer(value) or types.is_floating(value) or types.is_decimal(value)):
        raise TypeError(
            explain(f"Distances that are no numbers, but {value}", "one number for every edge", "cast the third column")
        )
    return all(whole)


def _check_rows(tables: Tables, similarity: bool) -> None:
    row = tables.value(bad_row(similarity))
    if row:
        called, least = ("similarity", "") if similarity else ("distance", " of at least 0")
        raise ValueError(
            explain(
                f"The edge from {row[0]!r} to {row[1]!r} has the {called} {row[2]}",
                f"two objects and a finite number{least} in every row",
                "drop the row: a pair that is not listed needs no number",
            )
        )


def _check_pairs(tables: Tables, duplicates: str, named: bool) -> None:
    row = tables.value(DIFFERENT) if duplicates == "error" else None
    if row:
        pair = row[:2]
        if named:
            pair = tuple(tables.value(f"SELECT name FROM objects WHERE i = {i}")[0] for i in pair)
        raise ValueError(
            explain(
                f"The pair {pair} has the distances {row[2]} and {row[3]}",
                "one distance for a pair",
                f"settle it with {option('duplicates', 'min')}, 'max' or 'mean'",
            )
        )
