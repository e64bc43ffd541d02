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


def _wrong(similarity: bool) -> str:
    """The condition of a row that has no end, or no finite distance of at least 0."""
    value = "CAST(v AS DOUBLE)"
    negative = "" if similarity else f" OR {value} < 0"
    missing = "a IS NULL OR b IS NULL OR v IS NULL"
    return f"({missing} OR isnan({value}) OR abs({value}) = {number(math.inf)}{negative})"


def facts(similarity: bool) -> str:
    """One row: how many rows are wrong, how many lead from an object to itself; what tells this table from others."""
    counts = ", ".join(f"sum(CASE WHEN {which} THEN 1 ELSE 0 END)" for which in (_wrong(similarity), "a = b"))
    return f"SELECT {counts}, count(*), min(a), max(a), min(b), max(b), min(v), max(v) FROM given"


def wrong_row(similarity: bool) -> str:
    """A row that is wrong."""
    return f"SELECT a, b, v FROM given WHERE {_wrong(similarity)} LIMIT 1"


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

#: One row: the number of pairs, the largest distance, and how many pairs have two distances.
SIZES = "SELECT count(*), max(d), sum(CASE WHEN d < e THEN 1 ELSE 0 END) FROM pairs"

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


def number_edges(tables: Tables, reading: Reading, whole: bool, told: tuple[Any, ...]) -> State:
    """Make ``objects`` and ``pairs`` of ``given``, and return what is known of them; ``told``: its facts."""
    if told[0]:
        raise ValueError(_wrong_row(tables.value(wrong_row(reading.similarity)), reading.similarity))
    if told[1]:
        logger.warning("%d edges from an object to itself were dropped", told[1])
    named, counts = not whole or reading.listed, whole and reading.n is not None
    if named:
        tables.keep("objects", LISTED if reading.listed else NUMBERED)
    else:
        tables.keep("objects", counted(reading.n) if reading.n is not None else NUMBERS)
    n = tables.count("objects")
    if not n:
        raise ValueError(explain("An edge table without a row", "one edge or more", "list the objects with objects="))
    key = "name" if named else "i"
    unknown = tables.value(unknown_object(key)) if reading.listed or counts else None
    if unknown:
        name = unknown[0] if unknown[2] else unknown[1]
        raise ValueError(
            explain(f"An edge names {name!r}", "the objects in objects=", "add it there, or leave objects= out")
        )
    numbered = named_ends(key) if named else NUMBERS_AS_ENDS
    tables.make("pairs", pairs(numbered, reading.similarity, reading.duplicates))
    n_edges, largest, different = tables.value(SIZES)
    if different and reading.duplicates == "error":
        raise ValueError(_two_distances(tables, named))
    return {"n_objects": n, "n_edges": n_edges, "largest": largest or 0.0, "named": named, "level": 0, "n_links": 0}


def make_edges(tables: Tables, form: Form) -> None:
    """Make the tables of level 0."""
    tables.keep("edges", first_edges(form))
    tables.keep("joined", FIRST_CLUSTERS)
    tables.keep("links", no_links(form))


def check_types(tables: Tables) -> bool:
    """Tell whether the ends are whole numbers; refuse ends of two types, and distances that are no numbers."""
    from pyarrow import types

    schema = tables.fetch("SELECT * FROM given LIMIT 0").schema
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


def _wrong_row(row: tuple[Any, ...], similarity: bool) -> str:
    """Say what is wrong with a row."""
    called, least = ("similarity", "") if similarity else ("distance", " of at least 0")
    return explain(
        f"The edge from {row[0]!r} to {row[1]!r} has the {called} {row[2]}",
        f"two objects and a finite number{least} in every row",
        "drop the row: a pair that is not listed needs no number",
    )


def _two_distances(tables: Tables, named: bool) -> str:
    """Say which pair has two distances."""
    p, q, *distances = tables.value(DIFFERENT)
    pair = (p, q)
    if named:
        pair = tuple(tables.value(f"SELECT name FROM objects WHERE i = {i}")[0] for i in pair)
    return explain(
        f"The pair {pair} has the distances {distances[0]} and {distances[1]}",
        "one distance for a pair",
        f"settle it with {option('duplicates', 'min')}, 'max' or 'mean'",
    )
