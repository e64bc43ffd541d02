"""Constraints: objects that must be together, objects that must not, and how many objects a cluster may hold.

What they mean (``docs/constraints.md``), here and nowhere else:

* Objects that a chain of must-links joins are one cluster from the beginning: level 1 of the tree, at distance 0.
* A link is *allowed* if no cannot-link leads from one of its clusters to the other, and the two have at most
  ``max_size`` objects together. Only allowed links are candidates: nearest neighbours, and so reliable links, are
  among them.
* Ties: the links of a group are taken one after the other, in the order of their objects, and what has become
  forbidden by those taken before is left out.
"""

from __future__ import annotations

import math
import numbers
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, option, shown, unknown_name
from .numbers import Names
from .objects import Objects
from .options import check_count

#: Rows of two objects.
Pairs = NDArray[np.intp]

#: Up to so many names are told where one is not known.
NAMES_TOLD = 50

#: Of a long chain of must-links so many objects are shown.
SHOWN = 8


@dataclass(frozen=True, eq=False)
class Constraints:
    """Checked constraints, by numbers of objects; they do not contradict each other."""

    must: Pairs  # (m, 2), the smaller first, sorted, each once; those that join something when taken in this order
    cannot: Pairs  # (k, 2), the smaller first, sorted, each once
    max_size: int | None = None  # None: any

    @property
    def options(self) -> dict[str, Any]:
        """What was asked for, in numbers and lists: shown and kept with the tree."""
        given = {"must_link": self.must.tolist(), "cannot_link": self.cannot.tolist(), "max_size": self.max_size}
        return {name: value for name, value in given.items() if value}

    def subset(self, objects: NDArray[np.intp], n: int) -> Constraints | None:
        """Return what is left of the constraints among some of n objects, by their new numbers."""
        must, cannot = (_renumbered(pairs, objects, n) for pairs in (self.must, self.cannot))
        return _if_any(Constraints(_in_order(must), _in_order(cannot), self.max_size))


def make_constraints(objects: Objects, must_link: Any, cannot_link: Any, max_size: Any) -> Constraints | None:
    """Check what a user passes; None if nothing is asked for."""
    if must_link is None and cannot_link is None and max_size is None:
        return None
    if max_size is not None:
        step = "give the number of objects that a cluster may hold, or leave it out"
        max_size = check_count("max_size", max_size, 1, math.inf, step)
    must, cannot = (read_pairs(name, pairs, objects) for name, pairs in _named(must_link, cannot_link))
    itself = np.flatnonzero(cannot[:, 0] == cannot[:, 1])
    if len(itself):
        one = _called(objects, cannot[itself[0], 0])
        raise ValueError(
            explain(f"cannot_link: a pair of {one} with itself", "pairs of two different objects", "drop that pair")
        )
    must, cannot = _joining(_in_order(must[must[:, 0] != must[:, 1]]), objects.n), _in_order(cannot)
    made = Constraints(must, cannot, max_size)
    _check_no_contradiction(made, objects)
    return _if_any(made)


def check_not_split(constraints: Constraints | None, n_clusters: int, n: int) -> None:
    """Refuse a number of clusters that must-linked objects would have to be split for."""
    most = n if constraints is None else n - len(constraints.must)
    if n_clusters > most:
        raise ValueError(
            explain(
                f"{option('n_clusters', n_clusters)}: must-links leave {most} clusters of {n} objects",
                f"1 to {most} clusters",
                "ask for fewer, or drop must-links",
            )
        )


def _named(must_link: Any, cannot_link: Any) -> tuple[tuple[str, Any], tuple[str, Any]]:
    return ("must_link", must_link), ("cannot_link", cannot_link)


def pairs_among(rows: NDArray[np.intp], objects: Objects, must_link: Any, cannot_link: Any) -> dict[str, Pairs]:
    """Return the pairs of some rows, by their numbers among these; pairs of other rows are left out."""
    given = _named(must_link, cannot_link)
    return {name: _renumbered(read_pairs(name, pairs, objects), rows, objects.n) for name, pairs in given}


def _renumbered(pairs: Pairs, objects: NDArray[np.intp], n: int) -> Pairs:
    """Return the pairs among some of n objects, by their new numbers."""
    number = np.full(n, -1)
    number[objects] = np.arange(len(objects))
    pairs = number[pairs]
    return pairs[(pairs >= 0).all(axis=1)]


def _if_any(made: Constraints) -> Constraints | None:
    return made if made.options else None


def _in_order(pairs: Pairs) -> Pairs:
    """Return pairs with the smaller object first, sorted, each once."""
    return np.unique(np.sort(pairs, axis=1), axis=0) if len(pairs) else pairs


def _joining(pairs: Pairs, n: int) -> Pairs:
    """Return those of some pairs that still join something when taken one after the other: a forest."""
    if not len(pairs):
        return pairs  # a list of all objects would take more memory than they do
    leader, kept = list(range(n)), []

    def top(i: int) -> int:
        while leader[i] != i:
            leader[i] = i = leader[leader[i]]
        return i

    for row, (i, j) in enumerate(pairs.tolist()):
        a, b = top(i), top(j)
        if a != b:
            leader[max(a, b)] = min(a, b)
            kept.append(row)
    return pairs[kept]


# --- what a user passes ---


def read_pairs(name: str, pairs: Any, objects: Objects) -> Pairs:
    """Return pairs of objects as numbers, (m, 2)."""
    if pairs is None:
        return np.empty((0, 2), np.intp)
    given = pairs.to_numpy() if hasattr(pairs, "to_numpy") else pairs
    given = given.tolist() if isinstance(given, np.ndarray) else given
    try:
        rows = [tuple(pair) for pair in given if not isinstance(pair, str)]
        if len(rows) != len(given) or any(len(row) != 2 for row in rows):
            raise TypeError
    except TypeError:
        raise TypeError(
            explain(f"{name}={shown(pairs, 60)}", "a list of pairs of objects", "pass [(0, 5), (2, 3)], or an array")
        ) from None
    number = _numbers_by_name(objects.names)
    found = [[_number_of(name, end, objects, number) for end in row] for row in rows]
    return np.array(found, np.intp).reshape(-1, 2)


def _numbers_by_name(names: Names | None) -> dict[str, int]:
    """Return the number of the object of every name; -1 for a name that several have."""
    if names is None:
        return {}
    number: dict[str, int] = {}
    for i, name in enumerate(names.tolist()):
        number[name] = -1 if name in number else i
    return number


def _number_of(name: str, end: Any, objects: Objects, number: dict[str, int]) -> int:
    """Return the number of an object, given by its number or its name.

    A text is a name, or where objects have no names a number. In a graph whose objects have labels numbers are labels.
    """
    whole = isinstance(end, numbers.Integral) and not isinstance(end, bool)
    if objects.names is not None and (isinstance(end, str) or (whole and objects.labelled)):
        place = number.get(str(end))
        if place is None:
            raise ValueError(_unknown(name, str(end), number))
        if place < 0:
            raise ValueError(
                explain(
                    f"{name}: several objects have the name {str(end)!r}", "names that one object has", "use numbers"
                )
            )
        return place
    if isinstance(end, str) and end.strip().isdecimal():
        whole, end = True, int(end)
    if not whole:
        allowed = "numbers of objects" if objects.names is None else "names or numbers of objects"
        raise TypeError(explain(f"{name}: {shown(end, 40)} is no object", allowed, "count objects from 0"))
    if not 0 <= end < objects.n:
        raise ValueError(
            explain(f"{name}: object {end} of {objects.n}", f"0 to {objects.n - 1}", "count objects from 0")
        )
    return int(end)


def _unknown(name: str, end: str, number: dict[str, int]) -> str:
    """Say that no object has a name; of many names only a few are told."""
    if len(number) <= NAMES_TOLD:
        return unknown_name(f"object in {name}", end, number)
    few = ", ".join(list(number)[:3])
    return explain(f"Unknown object in {name} {end!r}", f"names of objects: {few}, ...", "check how names are written")


# --- contradictions ---


def _check_no_contradiction(made: Constraints, objects: Objects) -> None:
    """Refuse must-links that join too many objects, or two that must not be joined."""
    following: dict[int, list[int]] = {}
    for i, j in made.must.tolist():
        following.setdefault(i, []).append(j)
        following.setdefault(j, []).append(i)
    for i, j in made.cannot.tolist():
        chain = _chain(following, i, j) if i in following and j in following else None
        if chain:
            raise ValueError(
                explain(
                    f"cannot_link has {_called(objects, i)} and {_called(objects, j)}, which must_link joins: "
                    f"{_written(objects, chain)}",
                    "pairs in cannot_link that no chain of must-links joins",
                    "drop that pair, or one of these must-links",
                )
            )
    seen: set[int] = set()
    for i in following if made.max_size is not None else ():
        group = [] if i in seen else _reached(following, i)
        seen |= set(group)
        if made.max_size is not None and len(group) > made.max_size:
            raise ValueError(
                explain(
                    f"{option('max_size', made.max_size)}, and must_link joins {len(group)} objects: "
                    f"{_written(objects, sorted(group), ', ')}",
                    f"must-links that join at most {made.max_size} objects",
                    f"give a larger max_size, or drop the must-link of {_called(objects, group[0])} and "
                    f"{_called(objects, group[1])} or another of these",
                )
            )


def _reached(following: dict[int, list[int]], start: int) -> list[int]:
    """Return all objects that must-links join to one, itself first."""
    return list(_came_from(following, start))


def _came_from(following: dict[int, list[int]], start: int) -> dict[int, int]:
    """Return, for every object that must-links join to one, the object before it on the shortest way."""
    before, waiting = {start: start}, deque([start])
    while waiting:
        i = waiting.popleft()
        for j in following[i]:
            if j not in before:
                before[j] = i
                waiting.append(j)
    return before


def _chain(following: dict[int, list[int]], start: int, end: int) -> list[int] | None:
    """Return the shortest chain of must-links from one object to another; None if there is none."""
    before = _came_from(following, end)
    if start not in before:
        return None
    chain = [start]
    while chain[-1] != end:
        chain.append(before[chain[-1]])
    return chain


def _called(objects: Objects, i: int) -> str:
    return str(i) if objects.names is None else repr(str(objects.names[i]))


def _written(objects: Objects, chain: list[int], mark: str = " - ") -> str:
    """Write objects one after the other; of many the first and the last."""
    words = [_called(objects, i) for i in chain]
    return mark.join(words if len(words) <= SHOWN else [*words[: SHOWN - 2], "...", words[-1]])
