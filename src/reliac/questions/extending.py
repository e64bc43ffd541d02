"""More data, or less: the tree of a fresh run on all rows, for about the price of searching what is new.

What searches of the first run have found is still true of clusters that the same joins have made in both runs
(:mod:`reliac.engines.lists.reusing`). It only saves searches: every distance is measured again, and every bit of the
result is that of a fresh run. Where nothing was kept, a fresh run is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import EarlierLists, Found
from ..engines.choice import ASKED
from ..errors import explain, option
from ..input.condensed import to_square
from ..input.metrics import allows_gaps
from ..input.mixed import MixedRows
from ..input.numbers import Names, is_sparse, to_numbers
from ..input.objects import Distances, Objects, Vectors, check_names, make_distances
from ..input.options import Stop, check_stop
from ..input.problem import Problem, check_weights
from ..machine import check_jobs, check_memory
from ..run.develop import problem_of
from ..run.parts import cluster_by_parts
from ..run.reaching import check_reached
from ..tree.clustertree import ClusterTree
from ..tree.walks import first_objects, parents
from .newrows import Titled, new_rows
from .parts import object_number
from .training import is_along_graph

Indices = NDArray[np.intp]

#: Where to stop: n_clusters, max_level, max_distance, as the user gives them.
Rules = tuple[Any, Any, Any]


def extend(
    tree: ClusterTree,
    new: Any,
    weights: Any,
    names: Any,
    data: tuple[Any, Any],
    rules: Rules,
    n_jobs: Any = None,
    progress: Any = None,
) -> ClusterTree:
    """Return the tree of all rows, the tree's own first; see :meth:`reliac.ClusterTree.extend`.

    ``data``: X and metric, where the tree does not hold them.
    """
    check_jobs(n_jobs)
    _check_kind(tree, "extend")
    problem = problem_of(tree, *data, None, n_jobs, "extend(X_new, {})")
    _check_objects(problem.objects, problem, "extend")
    by_distances = isinstance(problem.objects, Distances)
    objects = _more_distances(problem.objects, new) if by_distances else _more_rows(problem, new)
    n, count = problem.n_objects, objects.n - problem.n_objects
    objects = replace(objects, names=_all_names(problem.objects.names, new, names, count, problem))
    whole = replace(
        problem,
        objects=objects,
        weights=np.concatenate((problem.weights, check_weights(weights, count) if count else np.empty(0))),
        stop=_stop(tree, problem, objects.n, rules),
    )
    objects.check_range(whole.criterion, whole.metric, whole.weights)
    objects.warn_if_unfit(whole.criterion, stacklevel=5)
    return _run(tree, whole, np.arange(n), (rules[0], n_jobs, progress), f"{count} rows more")


def without(
    tree: ClusterTree, rows: Any, data: tuple[Any, Any], rules: Rules, n_jobs: Any = None, progress: Any = None
) -> ClusterTree:
    """Return the tree of the rows that stay; see :meth:`reliac.ClusterTree.without`."""
    check_jobs(n_jobs)
    _check_kind(tree, "without")
    gone = _which(tree, rows)
    problem = problem_of(tree, *data, None, n_jobs, "without(rows, {})")
    _check_objects(problem.objects, problem, "without")
    kept = np.flatnonzero(~gone)
    if isinstance(problem.objects, Distances):  # those of the rows that stay are copied
        size = problem.objects.matrix.nbytes * len(kept) ** 2 // tree.n_objects**2
        check_memory(size, f"A copy of the distances of {len(kept)} objects", "pass the distances as float32")
    part = problem.subset(kept, _stop(tree, problem, len(kept), rules))
    place = np.full(tree.n_objects, -1)
    place[kept] = np.arange(len(kept))
    return _run(tree, part, place, (rules[0], n_jobs, progress), f"{int(gone.sum())} rows fewer")


# --- what can be extended ---


def _check_kind(tree: ClusterTree, asked: str) -> None:
    """Refuse trees made along a graph, and those of a part of the rows."""
    given = None
    if is_along_graph(tree):
        given = f"{asked}() of a tree that was made along a graph: other rows have other edges"
        step = "make the graph of all rows, and the tree from it"
    elif not np.array_equal(tree.objects, np.arange(tree.n_objects)):
        given = f"{asked}() of a tree of some rows of its data only, as develop() and subtree() give"
        step = f"call {asked}() on the tree of all rows"
    if given:
        raise ValueError(explain(given, "trees of vectors, or of the distances of all pairs, with all rows", step))


def _check_objects(objects: Objects, problem: Problem, asked: str) -> None:
    """Refuse objects that were turned into numbers or distances by what a table as a whole says."""
    given = None
    if isinstance(objects, Distances) and problem.metric != "precomputed":
        given = f"{asked}() of a tree whose objects were compared by a function: it keeps only their distances"
    elif isinstance(objects, Vectors) and isinstance(objects.rows, MixedRows):
        given = f"{asked}() of a tree of metric 'gower', whose ranges and categories are those of the whole table"
    if given:
        raise ValueError(
            explain(given, "trees of rows of numbers, or of given distances", "make the tree of all rows anew")
        )


def _stop(tree: ClusterTree, problem: Problem, n: int, rules: Rules) -> Stop:
    """Return where to stop: by the rules given, or else by those of the run that made the tree."""
    if any(rule is not None for rule in rules):
        return check_stop(n, *rules)
    if tree.problem is None and tree.n_clusters > 1 and problem.constraints is None:
        raise ValueError(
            explain(
                f"A tree from a file that stopped early, at {tree.n_clusters} clusters: it does not say by which rule",
                "n_clusters, max_level or max_distance",
                "give the rule that the tree was made with",
            )
        )
    stop = problem.stop if tree.problem is not None else Stop()
    return check_stop(n, stop.n_clusters, None, None) if stop.n_clusters > 1 else stop


def _which(tree: ClusterTree, rows: Any) -> NDArray[np.bool_]:
    """Return which rows go: given by numbers or names, or by True for each that goes."""
    gone = np.zeros(tree.n_objects, bool)
    several = isinstance(rows, Iterable) and not isinstance(rows, str)
    listed = np.asarray(rows).ravel().tolist() if hasattr(rows, "dtype") else list(rows) if several else [rows]
    if len(listed) == tree.n_objects and all(isinstance(row, (bool, np.bool_)) for row in listed):
        gone[:] = listed
    else:
        gone[[object_number(tree, row) for row in listed]] = True
    if gone.all():
        given = f"without() all {tree.n_objects} rows"
        raise ValueError(explain(given, "fewer rows than the tree has", "leave at least one row"))
    return gone


# --- all rows ---


def _more_rows(problem: Problem, new: Any) -> Vectors:
    """Return the rows of a tree and new ones below them."""
    objects = problem.objects
    assert isinstance(objects, Vectors)
    rows = new_rows(new, problem)
    if is_sparse(rows) != objects.sparse:
        kinds = ("a dense table", "a sparse matrix")
        raise ValueError(
            explain(
                f"New rows as {kinds[is_sparse(rows)]} for a tree of {kinds[objects.sparse]}",
                f"{kinds[objects.sparse]}",
                f"convert them: {'scipy.sparse.csr_array(X_new)' if objects.sparse else 'X_new.toarray()'}",
            )
        )
    if not objects.sparse:
        return replace(objects, rows=np.concatenate((objects.rows, rows)))
    from scipy.sparse import vstack

    return replace(objects, rows=vstack((objects.rows, rows), format="csr"))


def _more_distances(objects: Objects, new: Any) -> Distances:
    """Return given distances of all objects: those of the tree, and new rows of distances to all old and new ones."""
    assert isinstance(objects, Distances)
    numbers, _ = to_numbers(new, finite=False)
    numbers = np.asarray(numbers.toarray() if is_sparse(numbers) else numbers)
    n, count = objects.n, len(numbers)
    if numbers.ndim != 2 or numbers.shape[1] != n + count:
        raise ValueError(
            explain(
                f"New distances of shape {numbers.shape} for a tree of {n} objects",
                f"({count}, {n + count}): for each new object its distances to the {n} objects of the tree, then to "
                "the new ones",
                "pass the last rows of the matrix of all distances",
            )
        )
    kind = np.result_type(objects.matrix, numbers)
    check_memory(2 * kind.itemsize * (n + count) ** 2, f"The distances of {n + count} objects")
    square = np.empty((n + count, n + count), kind)
    square[:n, :n] = to_square(objects.matrix, n)
    square[n:], square[:n, n:] = numbers, numbers[:, :n].T
    return make_distances(square)


def _all_names(known: Names | None, new: Any, names: Any, count: int, problem: Problem) -> Names | None:
    """Return the names of all rows; where the tree has names, new rows need them too."""
    if known is None:
        if names is not None:
            given = "names for new rows of a tree whose objects have none"
            raise ValueError(explain(given, "names for all objects, or for none", "leave names out"))
        return None
    brought = check_names(names, count) if names is not None else _names_of(new, problem)
    if brought is None:
        raise ValueError(
            explain(
                "New rows without names for a tree whose objects have names",
                "a frame with names, or names=[...] for the new rows",
                "pass one name for every new row",
            )
        )
    return np.concatenate((known, brought))


def _names_of(new: Any, problem: Problem) -> Names | None:
    if isinstance(new, Titled):
        return None
    by_distances = isinstance(problem.objects, Distances)
    return to_numbers(new, finite=False)[1] if by_distances else to_numbers(new, gaps=allows_gaps(problem.metric))[1]


# --- the run ---


def _run(tree: ClusterTree, problem: Problem, place: Indices, how: tuple[Any, Any, Any], change: str) -> ClusterTree:
    """Make the tree of a problem with what the run of another tree has found; ``place``: the numbers of its rows now.

    ``how``: n_clusters as asked for, n_jobs and progress.
    """
    n_clusters, n_jobs, progress = how
    engine = tree.engine if tree.reason.startswith(ASKED) else "auto"
    earlier = _earlier_lists(tree, place, problem.n_objects) if tree.lists else None
    made = cluster_by_parts(problem, engine, n_jobs, progress, None, tree.lists is not None, earlier)
    check_reached(made, n_clusters)
    if tree.lists is None:
        note = f"{option('keep_lists', True)} was not asked for"
    else:
        note = "" if earlier and made.lists else f"the engines {tree.engine} and {made.engine} share no lists"
    how_made = f"a fresh run, since {note}" if note else "helped by lists that were kept"
    return replace(made, reason=f"{made.reason}; {change}: {how_made}")


def _earlier_lists(tree: ClusterTree, place: Indices, n: int) -> EarlierLists:
    """Return the lists of a tree and its joins by the numbers that rows have now; rows that are gone leave them."""
    assert tree.lists is not None
    kept = dict(tree.lists)
    if kept and (place != np.arange(len(place))).any():  # else the rows of the tree come first, as they were
        kept = _renumbered(kept, place)
    nodes = np.full(n, -1)
    nodes[place[place >= 0]] = np.flatnonzero(place >= 0)
    birth = np.concatenate((np.zeros(tree.n_objects, np.int64), tree.links["level"]))
    death = np.full(len(birth), np.iinfo(np.int64).max)
    for side in ("left", "right"):
        death[tree.links[side]] = tree.links["level"]
    return EarlierLists(kept, tree.n_objects, nodes, place[first_objects(tree)], parents(tree), birth, death)


def _renumbered(kept: Found, place: Indices) -> Found:
    """Return lists by new numbers of rows, without those that are gone."""
    clusters, entries = place[kept["clusters"]], place[kept["entries"]]
    stays = clusters >= 0
    owner = np.repeat(np.arange(len(clusters)), kept["counts"])
    there = stays[owner] & (entries >= 0)
    return {
        "levels": kept["levels"][stays],
        "clusters": clusters[stays],
        "counts": np.bincount(owner[there], minlength=len(clusters))[stays],
        "radius": kept["radius"][stays],
        "entries": entries[there],
    }
