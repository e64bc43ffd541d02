"""Many small problems at once: one tree for every group of rows.

Groups of up to ``SIDE_BY_SIDE`` rows are put side by side into tables (:mod:`reliac.engines.small.tables`), or into one
list of edges, so that a level of many groups costs as many calls of NumPy as a level of one. Larger groups are run one
by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithm.contract import Batch
from ..algorithm.links import Indices, Links
from ..calls import explain_methods
from ..engines.choice import Choice, choose
from ..engines.small.engine import levels_side_by_side
from ..errors import explain, shown
from ..input.numbers import is_frame, is_missing
from ..input.options import check_count
from ..input.problem import Problem
from ..machine import free_memory, in_threads, n_threads
from ..tree.clustertree import ClusterTree, Order
from .history import History
from .solve import Run, make_tree

#: Groups of more rows than this are run one by one.
SIDE_BY_SIDE = 200

#: Tables side by side hold about so many numbers: they fit into the cache, and into every list of ties.
AT_ONCE = 2**16

#: So many pieces of work are dealt out to each thread, before it is told how far they are.
AT_A_TIME = 8

#: So many groups are named where one is asked for that is not there.
SHOWN = 5

#: Bytes that an engine takes for a pair of objects, at most: a matrix, two more while it is made, a copy of the input.
BYTES_A_PAIR = 32


@explain_methods
@dataclass(frozen=True, eq=False, repr=False)
class GroupTrees(Mapping[Hashable, ClusterTree]):
    """The trees of groups of rows: a mapping from a group to its tree, and labels for all rows.

    ``trees[group]`` is the tree that :func:`reliac.cluster` gives for the rows of that group alone; its ``objects`` are
    their numbers in X. Groups come in the order of their first rows.
    """

    problem: Problem
    rows: Mapping[Hashable, Indices]  # of each group, in order
    history: History  # the links of all groups, by numbers of rows in X
    _made: dict[Hashable, ClusterTree] = field(default_factory=dict)

    def __getitem__(self, group: Hashable) -> ClusterTree:
        """Return the tree of a group."""
        if group not in self.rows:
            some = ", ".join(map(shown, islice(self.rows, SHOWN)))
            more = f" and {len(self) - SHOWN} more" if len(self) > SHOWN else ""
            raise KeyError(explain(f"No group {shown(group)}", some + more, "take one of list(trees)"))
        if group not in self._made:
            self._made[group] = self._make(group)
        return self._made[group]

    def __iter__(self) -> Iterator[Hashable]:
        """Go through the groups."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.rows)

    def __repr__(self) -> str:
        """Say how many groups, rows and clusters there are."""
        n = self.problem.n_objects
        counts = (len(self), "group"), (n, "row"), (n - self.history.n_links, "cluster")
        groups, rows, clusters = (f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts)
        return f"GroupTrees of {groups}: {rows}, {clusters} at the last levels"

    def labels(
        self,
        n_clusters: int | None = None,
        *,
        level: int | None = None,
        distance: float | None = None,
        by: Order = "distance",
    ) -> NDArray[np.intp]:
        """Return the cluster of every row of X: one numbering for all groups, by each cluster's first row.

        No cluster holds rows of two groups. ``n_clusters`` is the number of clusters in every group, or all its rows
        where it has fewer; ``level`` (of a group that has fewer levels, the last) and ``distance`` cut all groups
        alike; without any, the clusters are those of the last levels.
        """
        if n_clusters is None:
            return np.asarray(self.forest.labels(level=level, distance=distance, by=by))
        check_count("n_clusters", n_clusters, 1, np.inf, "give the number of clusters in every group")
        found = np.empty(self.problem.n_objects, dtype=np.intp)
        for group, rows in self.rows.items():
            count = max(self[group].n_clusters, min(n_clusters, len(rows)))
            found[rows] = rows[0] + self[group].labels(count, level=level, distance=distance, by=by) * len(found)
        _, first, label = np.unique(found, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[label.ravel()])

    @cached_property
    def forest(self) -> ClusterTree:
        """All trees side by side as one forest of the rows of X: level l holds what step l did in every group."""
        history = History()
        history.add(level_by_level(self.history.whole()))
        return make_tree(self.problem, history, _side_by_side(len(self)))

    @cached_property
    def _by_group(self) -> tuple[Batch, NDArray[np.intp], dict[Hashable, int]]:
        """All links, group after group, where each group begins, and the number of each group."""
        number_of_row = np.empty(self.problem.n_objects, dtype=np.intp)
        for number, rows in enumerate(self.rows.values()):
            number_of_row[rows] = number
        level, links, pairs = self.history.whole()
        order = np.argsort(number_of_row[links.p], kind="stable")
        starts = np.searchsorted(number_of_row[links.p][order], np.arange(len(self) + 1))
        batch = Batch(level[order], links.take(order), some_pairs(pairs, order))
        return batch, starts, {group: number for number, group in enumerate(self.rows)}

    def _make(self, group: Hashable) -> ClusterTree:
        (level, links, pairs), starts, number = self._by_group
        rows = self.rows[group]
        own = slice(*starts[number[group] : number[group] + 2])
        local = Links(np.searchsorted(rows, links.p[own]), np.searchsorted(rows, links.q[own]), links.distance[own])
        history = History()
        history.add(Batch(level[own], local, None if pairs is None else np.searchsorted(rows, pairs[own])))
        part = part_of(self.problem, rows)
        choice = choose(part) if len(rows) > SIDE_BY_SIDE else _side_by_side(len(self))
        return make_tree(part, history, choice, rows)


def level_by_level(batch: Batch) -> Batch:
    """Sort links of all groups by level, then by distance and objects."""
    level, links, pairs = batch
    order = np.lexsort((links.q, links.p, links.distance, level))
    return Batch(level[order], links.take(order), some_pairs(pairs, order))


def some_pairs(pairs: NDArray[np.intp] | None, which: Indices) -> NDArray[np.intp] | None:
    """Return the nearest objects of some links, where they are known."""
    return None if pairs is None or not len(pairs) else pairs[which]


def _side_by_side(groups: int) -> Choice:
    from ..engines.small.engine import SmallEngine

    return Choice(SmallEngine, f"{groups} groups side by side")


def cluster_groups(problem: Problem, groups: Any, n_jobs: int | None = None) -> GroupTrees:
    """Cluster the rows of every group by themselves; see :func:`reliac.cluster_groups`."""
    rows = rows_of_groups(groups, problem.n_objects)
    history = History()
    for batches in run_groups(problem, list(rows.values()), n_jobs):
        for batch in batches:
            history.add(batch)
    return GroupTrees(problem, rows, history)


def run_groups(problem: Problem, groups: list[Indices], n_jobs: int | None) -> Iterator[list[Batch]]:
    """Run groups of rows by themselves, in threads; yield the links of some after the other, by numbers of rows in X.

    A group that is more than one thread's share of the work is run by all threads, the others one by each.
    """
    threads = n_threads(n_jobs)
    together = problem.alpha == 1.0 and not (problem.tie_tolerance and problem.criterion.reduction is np.minimum)
    few = [some for some in groups if 1 < len(some) <= SIDE_BY_SIDE and together]
    many = [some for some in groups if len(some) > 1 and not (len(some) <= SIDE_BY_SIDE and together)]
    many.sort(key=len, reverse=True)
    work = sum(len(some) ** 2 for some in groups)
    while many and threads > 1 and threads * len(many[0]) ** 2 > work:
        yield _run(problem, [many.pop(0)], together, n_jobs)
    pieces = [*([some] for some in many), *_pieces(few)]
    if many:
        threads = max(1, min(threads, free_memory() // (BYTES_A_PAIR * len(many[0]) ** 2)))
    for at in range(0, len(pieces), AT_A_TIME * threads):
        some = pieces[at : at + AT_A_TIME * threads]
        yield from in_threads(lambda piece: _run(problem, piece, together, 1), some, threads)


def rows_of_groups(groups: Any, n: int) -> dict[Hashable, Indices]:
    """Return the rows of every group, in the order of their first rows."""
    given = groups.tolist() if hasattr(groups, "tolist") else groups
    in_order = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping, Set)) and not is_frame(given)
    labels = list(given) if in_order else None
    if labels is None or len(labels) != n:
        count = f" of type {type(groups).__name__}" if labels is None else f": {len(labels)} labels"
        step = "pass a list of labels, or a column, such as X['user']"
        raise ValueError(explain(f"groups{count} for {n} rows", "one label for every row, in their order", step))
    number: dict[Hashable, int] = {}
    try:
        codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.intp)
    except TypeError:
        raise TypeError(
            explain(
                "groups: a label that is no simple value",
                "numbers or texts",
                "pass one label for every row in one line",
            )
        ) from None
    for label, code in number.items():
        if not isinstance(label, str) and (is_missing(label) or label != label):  # NaN is not equal to itself
            row = int(np.argmax(codes == code))
            raise ValueError(
                explain(f"groups: row {row} has no label", "a label for every row", "drop that row, or name a group")
            )
    order = np.argsort(codes, kind="stable")
    return dict(zip(number, np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True))


def _pieces(groups: list[Indices]) -> list[list[Indices]]:
    """Put groups of similar sizes together, as many as fit into tables of ``AT_ONCE`` numbers."""
    pieces: list[list[Indices]] = []
    for rows in sorted(groups, key=len, reverse=True):
        if not pieces or (len(pieces[-1]) + 1) * len(pieces[-1][0]) ** 2 > AT_ONCE:
            pieces.append([])
        pieces[-1].append(rows)
    return pieces


def part_of(problem: Problem, rows: Indices) -> Problem:
    """Return the problem of one group: no more clusters are asked for than it has rows."""
    stop = problem.stop
    if len(rows) < stop.n_clusters:
        stop = replace(stop, n_clusters=len(rows))
    return problem.subset(rows, stop)


def _run(problem: Problem, piece: list[Indices], together: bool, n_jobs: int | None) -> list[Batch]:
    """Run some groups; return their links with the distances that the user sees, by numbers of rows in X."""
    parts = [part_of(problem, rows) for rows in piece]
    if not together or len(piece[0]) > SIDE_BY_SIDE:
        run = Run(parts[0], n_jobs, None, choose(parts[0]))
        run.run()
        batches = run.history.batches
    else:
        batches = [
            Batch(level, Links(p, q, problem.heights(distance)), pairs)
            for level, (p, q, distance), pairs in levels_side_by_side(problem, parts)
        ]
    row = np.concatenate(piece)
    return [
        Batch(level, Links(row[links.p], row[links.q], links.distance), None if pairs is None else row[pairs])
        for level, links, pairs in batches
    ]
