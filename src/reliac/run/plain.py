"""A few vectors, or condensed distances, in a plain array: one call of C code gives their tree, or a linkage matrix.

Who clusters a hundred objects waits for the calls of Python around the work more than for the work. So plain arrays
have a way of their own, past :func:`reliac.input.problem.make_problem` and the engines. C code looks at the numbers;
whatever it does not like, and whatever has options, goes the usual way, which gives the same tree, bit for bit, or says
what is wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import Criterion, get_criterion
from ..engines.choice import done_at_once, may_be_done_at_once
from ..engines.small.at_once import meaning_of
from ..input.condensed import count_objects
from ..input.distances import note_if_not_euclidean
from ..input.fingerprints import plain_fingerprint, plain_step
from ..input.misreadings import refuse_edges
from ..input.objects import Distances, Objects, Vectors
from ..input.options import Stop
from ..input.problem import Problem
from ..input.vectors import looks_like_distances
from ..native.library import address, is_plain, library
from ..tree.building import LINK
from ..tree.clustertree import ClusterTree
from .solve import tree_of_links

#: What rules are if they are not given; the metric and alpha are looked at by themselves.
USUAL_RULES: dict[Any, Any] = {
    **dict.fromkeys(("n_clusters", "max_level", "max_distance", "weights", "names", "connectivity"), None),
    **dict.fromkeys(("must_link", "cannot_link", "max_size", "n_jobs"), None),
    "tie_tolerance": 0.0,
    "precision": "float64",
}

#: The same of neighbors, join_components, engine, progress, checkpoint and keep_lists.
USUAL_RUN: tuple[Any, ...] = (None, False, "auto", None, None, False)

#: What stops a run: nothing.
TO_THE_END = Stop()


class Meaning(ctypes.Structure):
    """What C code has to know of a criterion: see ``native/plain.c``."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("smallest", "reducible", "sums", "offset", "by_size")),
        *((name, ctypes.c_double) for name in ("factor", "joint", "height_factor")),
    )


class Told(ctypes.Structure):
    """What C code finds out besides the links of a tree: see ``native/plain.c``."""

    _fields_ = (("largest", ctypes.c_double), ("mixed", ctypes.c_int64), ("sound", ctypes.c_int64))


class Plain(NamedTuple):
    """Rows of numbers with so many columns; or condensed distances, with none."""

    numbers: NDArray[np.float64]
    n: int
    columns: int


def plain_array(y: Any, given: bool) -> Plain | None:
    """Tell whether y is a plain array of a few vectors, or of condensed distances (``given``)."""
    if type(y) is not np.ndarray or y.dtype != np.float64 or not is_plain(y) or library() is None:
        return None
    if y.ndim == 1 and given:
        n, columns = count_objects(len(y)) or 0, 0
    elif y.ndim == 2 and not given and y.size:
        n, columns = y.shape
    else:
        return None
    if not may_be_done_at_once(n) or (n == columns and looks_like_distances(y)):  # that is refused, with reasons
        return None
    refuse_edges(y)
    return Plain(y, n, columns)


def linkage_of_array(y: Any, criterion: Criterion, metric: object) -> NDArray[np.float64] | None:
    """Return the linkage matrix of the standard strategy; None if a problem has to be made of y."""
    given = getattr(y, "ndim", 0) == 1
    if not given and not (isinstance(metric, str) and metric == "euclidean"):  # an array is equal to nothing
        return None
    plain = plain_array(y, given)
    if plain is None:
        return None
    by_squares = _by_squares(plain, criterion)
    matrix = linkage_in_c(plain, criterion, by_squares, by_squares)
    if matrix is not None:
        _note_if_unfit(plain, criterion)
    return matrix


def tree_of_array(y: Any, criterion: Any, rules: dict[str, Any], run_options: tuple[Any, ...]) -> ClusterTree | None:
    """Return the whole tree if nothing was asked for but a metric and alpha, 0 or 1; None if y has to go the usual way.

    ``rules``: what :func:`make_problem` takes. ``run_options``: the others, in the order of their usual values here.
    """
    metric, alpha, row = rules["metric"], rules["alpha"], get_criterion(criterion)
    if not _are(run_options, USUAL_RUN) or not _are(map(rules.__getitem__, USUAL_RULES), USUAL_RULES.values()):
        return None
    if type(alpha) is not float or alpha not in (0.0, 1.0):
        return None
    if not isinstance(metric, str) or metric not in ("euclidean", "precomputed"):
        return None
    plain = plain_array(y, metric == "precomputed")
    found = None if plain is None else _links_in_c(plain, row, alpha == 0.0)
    if plain is None or found is None:
        return None
    links, pairs, told = found
    _note_if_unfit(plain, row)
    objects: Objects = Vectors(rows=y) if plain.columns else Distances(matrix=y, largest=told.largest)
    problem = Problem(objects, row, metric, alpha, 0.0, np.ones(plain.n), TO_THE_END)
    fingerprint = plain_fingerprint(plain.n, plain.columns, told.mixed)
    choice, sound = done_at_once(plain.n), bool(told.sound)
    return tree_of_links(problem, links, pairs, choice, fingerprint=fingerprint, sound=sound)


def _are(options: Iterable[Any], usual: Iterable[Any]) -> bool:
    """Tell whether options have their usual values; what is of another type, such as an array, is not compared."""
    for given, value in zip(options, usual, strict=True):
        if given is not value and (type(given) is not type(value) or given != value):
            return False
    return True


@cache
def _meaning(name: str) -> Any:
    """Return where C code finds what it has to know of a criterion."""
    row = get_criterion(name)
    meaning = Meaning(row.reduction is np.minimum, row.reducible, *meaning_of(row), row.height_factor)
    return ctypes.byref(meaning)


def linkage_in_c(plain: Plain, criterion: Criterion, squared: bool, rooted: bool) -> NDArray[np.float64] | None:
    """Let C code make a linkage matrix; None if it cannot."""
    matrix = np.empty((plain.n - 1, 4))
    found = library().reliac_linkage(
        *(plain.n, plain.columns, address(plain.numbers), squared, rooted, _meaning(criterion.name), address(matrix))
    )
    return matrix if found == plain.n - 1 else None


def _links_in_c(
    plain: Plain, criterion: Criterion, one: bool
) -> tuple[NDArray[np.void], NDArray[np.intp] | None, Told] | None:
    """Let C code make the links of a tree, with single also the pairs of objects that they join; None if it cannot.

    The third is what else it has found out.
    """
    n, columns = plain.n, plain.columns
    links, told = np.empty(n - 1, LINK), Told()
    pairs = np.empty((n - 1, 2), np.int64) if criterion.reduction is np.minimum else None
    found = library().reliac_tree(
        *(n, columns, address(plain.numbers), _by_squares(plain, criterion), _meaning(criterion.name), one),
        *(plain_step(n, columns), address(links), None if pairs is None else address(pairs), ctypes.byref(told)),
    )
    return (links, pairs, told) if found == n - 1 else None


def _by_squares(plain: Plain, criterion: Criterion) -> bool:
    """Tell whether squares are compared: of vectors wherever these give the same tree, of given distances if needed."""
    return criterion.by_squares if plain.columns else criterion.geometric


def _note_if_unfit(plain: Plain, criterion: Criterion) -> None:
    """Warn the caller of the public function, two calls above, of distances that no points can have."""
    if criterion.geometric and not plain.columns:
        note_if_not_euclidean(plain.numbers, plain.n, criterion.name, stacklevel=5)
