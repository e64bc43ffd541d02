"""Distances of all pairs as text: PHYLIP, lower triangles, and tables with a row for each pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..input.condensed import length_of, pair_at, place_of
from ..input.numbers import is_number
from ..machine import check_memory
from .arrays import Unusable


class Named(NamedTuple):
    """Distances, square or condensed, and the names of the objects if the file has them."""

    distances: NDArray[np.float64]
    names: list[str] | None


#: How many distances stand in row i of n, by the form of a PHYLIP matrix, and where the first of them belongs.
_FORMS: dict[str, tuple[Callable[[int, int], int], Callable[[int], int]]] = {
    "square": (lambda i, n: n, lambda i: 0),
    "lower triangle": (lambda i, n: i, lambda i: 0),
    "lower triangle with diagonal": (lambda i, n: i + 1, lambda i: 0),
    "upper triangle": (lambda i, n: n - 1 - i, lambda i: i + 1),
    "upper triangle with diagonal": (lambda i, n: n - i, lambda i: i),
}

#: Names of strict PHYLIP files take so many characters, blanks included.
_NAME_WIDTH = 10


# --- PHYLIP ---


def looks_like_phylip(start: str) -> bool:
    """Tell from its first lines whether a text is a PHYLIP matrix: a count alone, and below it no column of numbers."""
    lines = [line for line in start.splitlines() if line.strip()][:4]
    if len(lines) < 2 or not lines[0].strip().isdecimal() or any(mark in line for line in lines for mark in ",;|"):
        return False
    return any(len(line.split()) > 1 or not is_number(line) for line in lines[1:])


def read_phylip(text: str) -> Named:
    """Read a matrix of PHYLIP: the number of objects, then for each its name and its distances, in any of the forms."""
    lines = [line for line in text.splitlines() if line.strip()]
    head = lines[0].split() if lines else []
    if len(head) == 2 and all(word.isdecimal() for word in head):
        raise Unusable("it holds sequences, not distances")
    if len(head) != 1 or not head[0].isdecimal():
        raise Unusable("it does not begin with the number of objects")
    n = int(head[0]) if len(head[0]) < 10 else 10**9
    if not 1 <= n < len(lines):
        raise Unusable(f"it declares {head[0][:20]} objects, and has {len(lines) - 1} lines of distances")
    for strict in (False, True):
        for length, first in _FORMS.values():
            found = _rows_of(lines[1:], n, length, strict)
            if found is not None:
                names, rows = found
                return Named(_filled(rows, [first(i) for i in range(n)], n), names)
    raise Unusable(f"its lines are in none of the forms that are known ({', '.join(_FORMS)})")


def _rows_of(
    lines: list[str], n: int, length: Callable[[int, int], int], strict: bool
) -> tuple[list[str], list[NDArray[np.float64]]] | None:
    """Return names and rows if all lines are of one form; a row may go on in the next line."""
    names: list[str] = []
    rows: list[NDArray[np.float64]] = []
    at = 0
    for i in range(n):
        if at == len(lines):
            return None
        line, at = lines[at], at + 1
        name, cells = (line[:_NAME_WIDTH].strip(), line[_NAME_WIDTH:].split()) if strict else _split(line)
        while len(cells) < length(i, n) and at < len(lines):
            cells, at = cells + lines[at].split(), at + 1
        if len(cells) != length(i, n) or not all(map(is_number, cells)):
            return None
        names.append(name)
        rows.append(np.array(cells, dtype=np.float64))
    return (names, rows) if at == len(lines) else None


def _split(line: str) -> tuple[str, list[str]]:
    name, *cells = line.split()
    return name, cells


def _filled(rows: Sequence[NDArray[np.float64]], first: Sequence[int], n: int) -> NDArray[np.float64]:
    """Return a square matrix from rows that begin at some place; what only one half has is mirrored."""
    check_memory(2 * 8 * n * n, f"A matrix of {n} objects")
    square = np.zeros((n, n))
    for i, (row, start) in enumerate(zip(rows, first, strict=True)):
        square[i, start : start + len(row)] = row
    if all(len(row) == n for row in rows):
        return square
    return square + square.T - np.diag(square.diagonal())


# --- triangles ---


def read_triangle(table: Sequence[Sequence[str]]) -> Named | None:
    """Read the rows of a lower triangle, with or without names, titles and diagonal; None if they are none.

    Without a diagonal the row of the first object is empty, and may be left out, as R does.
    """
    rows = [_without_blanks(row) for row in table]
    titles: list[str] = []
    if len(rows) > 1 and len(rows[0]) > 1 and not any(map(is_number, rows[0])):
        titles, rows = [cell for cell in rows[0] if cell], rows[1:]
    named = any(row and not is_number(row[0]) for row in rows)
    names = [row[0] for row in rows if row] if named else None
    numbers = [row[1:] if named else row for row in rows]
    if len(rows) < 2 or not all(map(is_number, chain(*numbers))):
        return None
    values = [np.array(row, dtype=np.float64) for row in numbers]
    lengths, m = [len(row) for row in values], len(values)
    if lengths == list(range(m)) and named:
        return Named(_filled(values, [0] * m, m), names)
    if lengths != list(range(1, m + 1)):
        return None
    if not any(row[-1] for row in values):  # each row ends with the distance of an object to itself
        return Named(_filled(values, [0] * m, m), names or (titles if len(titles) == m else None))
    if names is not None and not titles:
        raise Unusable(f"its first row is that of {names[0]!r}, and the object before it has no name")
    whole = None if names is None else [titles[0], *names]
    return Named(_filled([np.empty(0), *values], [0] * (m + 1), m + 1), whole)


def _without_blanks(row: Sequence[str]) -> list[str]:
    """Return the cells up to the last that holds anything."""
    cells = [cell.strip() for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return cells


# --- pairs ---


def from_pairs(left: Sequence[Any], right: Sequence[Any], distances: NDArray[Any]) -> Named:
    """Return the condensed distances of a table (a, b, distance) that lists all pairs, in either order or in both."""
    names = list(dict.fromkeys(chain.from_iterable(zip(left, right, strict=True))))
    if all(is_number(name) for name in names):
        names.sort(key=float)
    place = {name: at for at, name in enumerate(names)}
    n = len(names)
    i = np.fromiter((place[name] for name in left), np.intp, len(left))
    j = np.fromiter((place[name] for name in right), np.intp, len(right))
    same = i == j
    if (np.asarray(distances)[same] != 0).any():
        raise Unusable(f"the distance of {names[i[np.flatnonzero(same)[0]]]!r} to itself is not 0")
    low, high, values = np.minimum(i, j)[~same], np.maximum(i, j)[~same], np.asarray(distances, np.float64)[~same]
    places = place_of(n, low, high)
    order = np.argsort(places, kind="stable")
    places, values = places[order], values[order]
    again = np.flatnonzero(np.diff(places) == 0)
    differ = again[values[again] != values[again + 1]]
    if len(differ):
        p, q = pair_at(n, int(places[differ[0]]))
        both = f"{values[differ[0]]:g} and {values[differ[0] + 1]:g}"
        raise Unusable(f"the pair {names[p]!r}, {names[q]!r} has two distances, {both}")
    kept = np.delete(np.arange(len(places)), again + 1)
    if len(kept) != length_of(n):
        gap = np.flatnonzero(places[kept] != np.arange(len(kept)))
        p, q = pair_at(n, int(gap[0]) if len(gap) else len(kept))
        raise Unusable(
            f"it lists {len(kept):,} of {length_of(n):,} pairs of {n} objects: {names[p]!r}, {names[q]!r} is missing"
        )
    return Named(values[kept], names)
